/* Unit tests of vswitchd/port-numbers.c: who gets which OpenFlow number. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "vswitchd/port-numbers.h"

#define WISH(REQUEST, REMEMBERED, HAS) \
    { .request = (REQUEST), .remembered = (REMEMBERED), .number = { HAS } }
#define NONE 0xffff

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct port_numbers));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void new_ports_get_the_lowest_numbers_in_order(void **state)
{
    struct port_number_wish w[] = { WISH(-1, -1, NONE), WISH(-1, -1, NONE), { .is_local = true, .number = { NONE } } };

    port_numbers_assign(*state, w, 3);
    assert_int_equal(w[0].number.n, 1);
    assert_int_equal(w[1].number.n, 2);
    assert_int_equal(w[2].number.n, 0xfffe);
}

static void a_number_is_not_given_to_the_next_port(void **state)
{
    struct port_number_wish a[] = { WISH(-1, -1, NONE) }, b[] = { WISH(-1, -1, NONE) };

    port_numbers_assign(*state, a, 1);
    port_numbers_assign(*state, b, 1); /* A is gone. */
    assert_int_equal(b[0].number.n, 2);
}

static void a_live_port_keeps_its_number(void **state)
{
    struct port_number_wish w[] = { WISH(-1, 9, 5), WISH(-1, 5, NONE) };

    port_numbers_assign(*state, w, 2);
    assert_int_equal(w[0].number.n, 5);
    assert_int_equal(w[1].number.n, 1);
}

static void a_remembered_number_is_used_again(void **state)
{
    struct port_number_wish w[] = { WISH(-1, -1, NONE), WISH(-1, 1, NONE), WISH(-1, 65534, NONE) };

    port_numbers_assign(*state, w, 3);
    assert_int_equal(w[0].number.n, 2);
    assert_int_equal(w[1].number.n, 1);
    assert_int_equal(w[2].number.n, 3); /* 65534 is not for ordinary ports. */
}

static void a_request_moves_who_has_the_number_by_chance(void **state)
{
    struct port_number_wish w[] = { WISH(-1, -1, 3), WISH(3, -1, 4) };

    port_numbers_assign(*state, w, 2);
    assert_int_equal(w[1].number.n, 3);
    assert_int_equal(w[0].number.n, 1);
}

static void of_two_requests_the_holder_wins_and_the_other_gets_another(void **state)
{
    struct port_number_wish w[] = { WISH(77, -1, NONE), WISH(77, -1, 77) };

    port_numbers_assign(*state, w, 2);
    assert_int_equal(w[1].number.n, 77);
    assert_int_equal(w[0].number.n, 1);
}

static void requests_out_of_range_are_ignored(void **state)
{
    struct port_number_wish w[] = { WISH(0, -1, NONE), WISH(0xff00, -1, NONE), WISH(0xfeff, -1, NONE),
                                    WISH(-5, INT64_MAX, NONE) };

    port_numbers_assign(*state, w, 4);
    assert_int_equal(w[0].number.n, 1);
    assert_int_equal(w[1].number.n, 2);
    assert_int_equal(w[2].number.n, 0xfeff);
    assert_int_equal(w[3].number.n, 3);
}

static void numbers_are_reused_when_all_have_been_given(void **state)
{
    struct port_number_wish w[] = { WISH(-1, -1, NONE) };

    for (int i = 0; i < PORT_NUMBER_AUTO_MAX; i++) {
        w[0].number.n = NONE;
        port_numbers_assign(*state, w, 1);
        assert_int_equal(w[0].number.n, i + 1);
    }
    w[0].number.n = NONE;
    port_numbers_assign(*state, w, 1);
    assert_int_equal(w[0].number.n, 1);
}

static void more_ports_than_numbers_leaves_some_without(void **state)
{
    size_t n = OFPP_MAX + 10;
    struct port_number_wish *w = calloc(n, sizeof *w);

    for (size_t i = 0; i < n; i++) {
        /* Requests, so that the test does not take a quadratic time. */
        w[i] = (struct port_number_wish) WISH((int64_t) i + 1, -1, NONE);
    }
    port_numbers_assign(*state, w, n);
    assert_int_equal(w[OFPP_MAX - 2].number.n, OFPP_MAX - 1);
    assert_int_equal(w[n - 1].number.n, NONE);
    free(w);
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(new_ports_get_the_lowest_numbers_in_order),
        T(a_number_is_not_given_to_the_next_port),
        T(a_live_port_keeps_its_number),
        T(a_remembered_number_is_used_again),
        T(a_request_moves_who_has_the_number_by_chance),
        T(of_two_requests_the_holder_wins_and_the_other_gets_another),
        T(requests_out_of_range_are_ignored),
        T(numbers_are_reused_when_all_have_been_given),
        T(more_ports_than_numbers_leaves_some_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
