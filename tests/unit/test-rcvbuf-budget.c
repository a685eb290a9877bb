/* The arithmetic of receive queues: within the budget, fair, and cheap whatever comes and goes. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/rcvbuf-budget.h"

static void few_ports_have_the_longest_queues(void **state)
{
    for (size_t n = 0; n <= 16; n++) {
        assert_int_equal(rcvbuf_budget_share(n, RCVBUF_MAX), RCVBUF_MAX);
    }
    /* As the header promises: small upcalls of 1,280 bytes, in twice the value. */
    assert_true(2 * RCVBUF_MAX / 1280 >= 6500);
    assert_true(2 * RCVBUF_MIN / 1280 >= 200);
}

static void many_ports_keep_the_floor(void **state)
{
    assert_int_equal(rcvbuf_budget_share(513, RCVBUF_MAX), RCVBUF_MIN);
    assert_int_equal(rcvbuf_budget_share(10000, RCVBUF_MAX), RCVBUF_MIN);
    assert_int_equal(rcvbuf_budget_share(SIZE_MAX, RCVBUF_MAX), RCVBUF_MIN);
    assert_int_equal(rcvbuf_budget_share(10000, RCVBUF_MIN), RCVBUF_MIN);
}

/* Whatever the share was before. */
static void the_budget_is_kept_and_used(void **state)
{
    for (size_t current = RCVBUF_MIN; current <= RCVBUF_MAX; current *= 2) {
        for (size_t n = 1; n <= 2000; n++) {
            size_t share = rcvbuf_budget_share(n, current);
            assert_true(share >= RCVBUF_MIN && share <= RCVBUF_MAX);
            assert_true(share == RCVBUF_MIN || 2 * share * n <= RCVBUF_BUDGET);
            assert_true(share == RCVBUF_MAX || 2 * share * n > RCVBUF_BUDGET / 4);
            /* Asked again it says the same. */
            assert_int_equal(rcvbuf_budget_share(n, share), share);
        }
    }
}

/* What dispatch-port.c does: a queue is opened with the share that is then right; when that has changed, all are set
 * anew. */
struct play {
    size_t n, share, n_changes, n_calls;
};

static void play(struct play *p, size_t n)
{
    size_t share = rcvbuf_budget_share(n, p->share);
    p->n_changes++;
    p->n_calls += share != p->share ? n : 0;
    p->n = n;
    p->share = share;
}

static void a_port_costs_less_than_two_calls_whatever_comes_and_goes(void **state)
{
    struct play p = { .share = RCVBUF_MAX };
    for (size_t n = 1; n <= 10000; n++) {
        play(&p, n);
        assert_true(p.n_calls < 2 * p.n_changes);
    }
    for (size_t n = 9999; n > 0; n--) {
        play(&p, n);
        assert_true(p.n_calls < 2 * p.n_changes);
    }
    assert_int_equal(p.share, RCVBUF_MAX);

    /* Waves of all heights. */
    for (uint64_t i = 0; i < 2000; i++) {
        size_t height = hash_u64(i, 1) % 1200;
        while (p.n != height) {
            play(&p, p.n < height ? p.n + 1 : p.n - 1);
        }
        assert_true(p.n_calls < 2 * p.n_changes);
    }
}

static void a_port_that_comes_and_goes_costs_nothing(void **state)
{
    struct play p = { .share = RCVBUF_MAX };
    for (size_t n = 1; n <= 2000; n++) {
        play(&p, n);
        play(&p, n + 1);
        size_t before = p.n_calls;
        for (int i = 0; i < 10; i++) {
            play(&p, n);
            play(&p, n + 1);
        }
        assert_int_equal(p.n_calls, before);
        play(&p, n);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_ports_have_the_longest_queues),
        cmocka_unit_test(many_ports_keep_the_floor),
        cmocka_unit_test(the_budget_is_kept_and_used),
        cmocka_unit_test(a_port_costs_less_than_two_calls_whatever_comes_and_goes),
        cmocka_unit_test(a_port_that_comes_and_goes_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
