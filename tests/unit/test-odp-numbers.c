/* Datapath port numbers: the lowest that is free and rested. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ofproto/odp-numbers.h"

static uint32_t take(struct odp_numbers *o, uint64_t now)
{
    odp_port_t no = odp_numbers_suggest(o, now);
    odp_numbers_use(o, no);
    return no.n;
}

static void numbers_begin_at_1_and_are_the_lowest(void **state)
{
    struct odp_numbers o;
    odp_numbers_init(&o);
    assert_int_equal(take(&o, 0), 1);
    assert_int_equal(take(&o, 0), 2);
    odp_numbers_use(&o, (odp_port_t) { 3 }); /* Adopted. */
    assert_int_equal(take(&o, 0), 4);
    odp_numbers_uninit(&o);
}

static void a_number_rests_after_its_port_has_gone(void **state)
{
    struct odp_numbers o;
    odp_numbers_init(&o);
    take(&o, 0);
    take(&o, 0);
    odp_numbers_release(&o, (odp_port_t) { 1 }, 1000);
    odp_numbers_release(&o, (odp_port_t) { 1 }, 1000); /* Told twice: no harm. */
    assert_int_equal(odp_numbers_suggest(&o, 1000 + ODP_NUMBERS_REST_MS - 1).n, 3);
    assert_int_equal(odp_numbers_suggest(&o, 1000 + ODP_NUMBERS_REST_MS).n, 1);
    odp_numbers_uninit(&o);
}

static void a_number_in_use_again_is_not_woken_by_its_old_rest(void **state)
{
    struct odp_numbers o;
    odp_numbers_init(&o);
    take(&o, 0);
    odp_numbers_release(&o, (odp_port_t) { 1 }, 0);
    odp_numbers_use(&o, (odp_port_t) { 1 }); /* A predecessor's port, adopted by number. */
    assert_int_equal(odp_numbers_suggest(&o, 2 * ODP_NUMBERS_REST_MS).n, 2);
    odp_numbers_uninit(&o);

    /* Nor is the rest that follows cut short by it. */
    odp_numbers_init(&o);
    take(&o, 0);
    odp_numbers_release(&o, (odp_port_t) { 1 }, 0);
    odp_numbers_use(&o, (odp_port_t) { 1 });
    odp_numbers_release(&o, (odp_port_t) { 1 }, 10000);
    assert_int_equal(odp_numbers_suggest(&o, ODP_NUMBERS_REST_MS + 9999).n, 2);
    assert_int_equal(odp_numbers_suggest(&o, ODP_NUMBERS_REST_MS + 10000).n, 1);
    odp_numbers_uninit(&o);
}

static void when_all_rest_the_longest_rested_is_taken(void **state)
{
    struct odp_numbers o;
    odp_numbers_init(&o);
    for (uint32_t i = 1; i < ODP_NUMBERS_MAX; i++) {
        assert_int_equal(take(&o, 0), i);
    }
    assert_true(odp_port_eq(odp_numbers_suggest(&o, 0), ODPP_NONE));
    odp_numbers_release(&o, (odp_port_t) { 500 }, 10);
    odp_numbers_release(&o, (odp_port_t) { 400 }, 20);
    assert_int_equal(take(&o, 30), 500);
    assert_int_equal(take(&o, 30), 400);
    assert_true(odp_port_eq(odp_numbers_suggest(&o, 0), ODPP_NONE));
    odp_numbers_uninit(&o);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_begin_at_1_and_are_the_lowest),
        cmocka_unit_test(a_number_rests_after_its_port_has_gone),
        cmocka_unit_test(a_number_in_use_again_is_not_woken_by_its_old_rest),
        cmocka_unit_test(when_all_rest_the_longest_rested_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
