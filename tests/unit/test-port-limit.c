/* Limits of upcalls a port: the bucket over a simulated clock, the table, and that no number of callers gets more than one. */
#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/io/thread.h"
#include "ofproto/port-limit.h"

#define SEC UINT64_C(1000000000)
#define MS  UINT64_C(1000000)
/* When the tests begin: not at 0, where nothing can be late. */
#define START (1000 * SEC)

static const odp_port_t p1 = { 1 }, p2 = { 2 };

static struct port_limit limit(uint32_t rate, uint32_t burst) { return (struct port_limit) { rate, burst }; }

/* How many of N that come at NOW get through. */
static uint64_t take_n(const struct port_limits *l, odp_port_t no, uint64_t now, uint64_t n)
{
    uint64_t taken = 0;
    while (n--) {
        taken += port_limits_take(l, no, now);
    }
    return taken;
}

/* A limit of RATE and BURST for port 1, its burst used up at START. */
static void set_and_empty(struct port_limits *l, uint32_t rate, uint32_t burst)
{
    assert_true(port_limits_set(l, p1, limit(rate, burst)));
    assert_int_equal(take_n(l, p1, START, burst + 10), burst);
}

static void without_a_limit_everything_gets_through(void **state)
{
    struct port_limits l = { 0 };

    assert_false(port_limits_any(&l));
    assert_int_equal(take_n(&l, p1, START, 100000), 100000);
    /* Nor does the limit of another port matter, nor a number that no port can have. */
    port_limits_set(&l, p2, limit(1, 1));
    assert_true(port_limits_any(&l));
    assert_int_equal(take_n(&l, p1, START, 100000), 100000);
    assert_int_equal(take_n(&l, (odp_port_t) { 65535 }, START, 1000), 1000);
    assert_int_equal(take_n(&l, ODPP_NONE, START, 1000), 1000);
    port_limits_uninit(&l);
}

static void a_full_bucket_lets_one_burst_through_and_then_the_rate(void **state)
{
    struct port_limits l = { 0 };

    set_and_empty(&l, 100, 20);
    /* One every ten milliseconds, not a nanosecond before. */
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(take_n(&l, p1, START + i * 10 * MS - 1, 1), 0);
        assert_int_equal(take_n(&l, p1, START + i * 10 * MS, 3), 1);
    }
    /* What is not used is saved, up to a burst. */
    uint64_t now = START + 10000 * MS;
    assert_int_equal(take_n(&l, p1, now += 70 * MS, 100), 7);
    assert_int_equal(take_n(&l, p1, now += 200 * MS, 100), 20);
    assert_int_equal(take_n(&l, p1, now += 3600 * SEC, 100), 20);
    port_limits_uninit(&l);
}

/* An offer of four times the rate, in passes of a millisecond each. */
static void the_rate_is_exact_whatever_it_is(void **state)
{
    static const uint32_t rates[] = { 1, 2, 3, 7, 64, 99, 100, 1000, 12345, 333333, 999983, 5000011, 9999999,
                                      10000000 };

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        struct port_limits l = { 0 };
        uint32_t rate = rates[i], burst = port_limit_default_burst(rate);
        uint64_t duration = rate > 100000 ? 200 : 10000, taken = 0, offered = 0; /* ms */
        set_and_empty(&l, rate, burst);
        for (uint64_t ms = 1; ms <= duration; ms++) {
            uint64_t due = ms * rate * 4 / 1000 + 1;
            taken += take_n(&l, p1, START + ms * MS, due - offered);
            offered = due;
        }
        /* Never more; at most 0.07% less, and the one that is due at the very end. */
        uint64_t most = duration * rate / 1000;
        assert_in_range(taken, most - MIN(most, most * 7 / 10000 + 1), most);
        port_limits_uninit(&l);
    }
}

static void a_burst_of_one_and_the_largest_hold(void **state)
{
    struct port_limits l = { 0 };

    set_and_empty(&l, 1, 1);
    assert_int_equal(take_n(&l, p1, START + SEC - 1, 1), 0);
    assert_int_equal(take_n(&l, p1, START + SEC, 5), 1);
    set_and_empty(&l, PORT_LIMIT_MAX_RATE, PORT_LIMIT_MAX_BURST);
    assert_int_equal(take_n(&l, p1, START + SEC / 10, PORT_LIMIT_MAX_RATE), PORT_LIMIT_MAX_RATE / 10);
    /* The longest that any bucket holds, in a machine that has been up for thirty years. */
    port_limits_set(&l, p2, limit(1, PORT_LIMIT_MAX_BURST));
    uint64_t old = 30 * 365 * 86400 * SEC;
    assert_int_equal(take_n(&l, p2, old, PORT_LIMIT_MAX_BURST + 1), PORT_LIMIT_MAX_BURST);
    assert_int_equal(take_n(&l, p2, old + SEC, 2), 1);
    port_limits_uninit(&l);
}

static void the_default_burst_is_a_tenth_of_a_second_but_not_less_than_64(void **state)
{
    assert_int_equal(port_limit_default_burst(1), 64);
    assert_int_equal(port_limit_default_burst(640), 64);
    assert_int_equal(port_limit_default_burst(650), 65);
    assert_int_equal(port_limit_default_burst(10000), 1000);
    assert_in_range(port_limit_default_burst(PORT_LIMIT_MAX_RATE), 1, PORT_LIMIT_MAX_BURST);
}

/* Several handlers, each with a time of its own: what any of them finds is never more than the rate allows, and a handler that is
 * behind takes nothing from those that are not. */
static void a_clock_that_goes_back_a_little_gives_nothing_away(void **state)
{
    struct port_limits l = { 0 };
    uint64_t taken = 0, latest = START;

    set_and_empty(&l, 1000, 10);
    for (uint64_t i = 0; i < 400000; i++) {
        uint64_t now = START + i * 25000; /* Ten seconds in all, up to five milliseconds behind. */
        now -= hash_u64(i, 1) % (5 * MS);
        now = MAX(now, START);
        latest = MAX(latest, now);
        taken += port_limits_take(&l, p1, now);
        assert_true(taken <= (latest - START) / MS);
    }
    assert_in_range(taken, 9990, 10000);
    /* Far back, too: nothing, until the time is there again. */
    assert_int_equal(take_n(&l, p1, START - 500 * SEC, 100), 0);
    assert_int_equal(take_n(&l, p1, latest + 50 * MS, 100), 10);
    port_limits_uninit(&l);
}

static void a_change_takes_effect_at_once(void **state)
{
    struct port_limits l = { 0 };

    set_and_empty(&l, 1, 1000);
    assert_true(port_limits_set(&l, p1, limit(1000, 10))); /* Or it would be empty for a quarter of an hour. */
    assert_int_equal(take_n(&l, p1, START, 100), 10);
    assert_int_equal(take_n(&l, p1, START + 10 * MS, 100), 10);
    assert_true(port_limits_set(&l, p1, limit(1000, 5)));
    assert_int_equal(take_n(&l, p1, START + 20 * MS, 100), 5);
    assert_true(port_limits_set(&l, p1, limit(0, 0)));
    assert_false(port_limits_any(&l));
    assert_int_equal(take_n(&l, p1, START + 20 * MS, 100000), 100000);
    port_limits_uninit(&l);
}

/* Else each reconfiguration would fill the bucket. */
static void the_same_limit_again_is_no_change_and_fills_nothing(void **state)
{
    struct port_limits l = { 0 };

    assert_false(port_limits_set(&l, p1, limit(0, 0)));
    assert_false(port_limits_set(&l, p1, limit(0, 17)));
    assert_false(port_limits_any(&l));
    set_and_empty(&l, 100, 20);
    assert_false(port_limits_set(&l, p1, limit(100, 20)));
    assert_int_equal(take_n(&l, p1, START, 100), 0);
    assert_true(port_limits_set(&l, p1, limit(0, 20)));
    assert_false(port_limits_set(&l, p1, limit(0, 20)));
    port_limits_uninit(&l);
}

static void ports_have_buckets_of_their_own_however_far_apart(void **state)
{
    static const uint32_t numbers[] = { 3, 0, 64, 63, 65534, 1000, 65535 };
    struct port_limits l = { 0 };

    for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) { /* The table grows, with what has been used of the buckets. */
        assert_true(port_limits_set(&l, (odp_port_t) { numbers[i] }, limit(1 + i, 10 + i)));
        assert_int_equal(take_n(&l, (odp_port_t) { numbers[i] }, START, 5), 5);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        odp_port_t no = { numbers[i] };
        assert_false(port_limits_set(&l, no, limit(1 + i, 10 + i)));
        assert_int_equal(take_n(&l, no, START, 100), 5 + i);
        assert_int_equal(take_n(&l, no, START + 2 * SEC + MS, 100), 2 * (1 + i)); /* And rates; one of three is rounded. */
    }
    assert_int_equal(take_n(&l, (odp_port_t) { 500 }, START, 1000), 1000);
    /* The last one to go takes the table with it. */
    for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        assert_true(port_limits_any(&l));
        assert_true(port_limits_set(&l, (odp_port_t) { numbers[i] }, limit(0, 0)));
    }
    assert_false(port_limits_any(&l));
    /* No port is numbered like that: nothing is kept of it. */
    assert_false(port_limits_set(&l, ODPP_NONE, limit(1, 1)));
    assert_false(port_limits_set(&l, (odp_port_t) { 65536 }, limit(1, 1)));
    assert_false(port_limits_any(&l));
    port_limits_uninit(&l);
}

/* ---- Threads. ---- */

#define N_TAKERS 4
#define RATE     100000
#define BURST    500
/* Of a tenth of a millisecond each. */
#define N_TICKS 5000

struct shared {
    struct port_limits l;
    uint64_t taken[N_TAKERS];
    unsigned int next;
    bool stop;
    pthread_barrier_t barrier;
};

/* A handler: each tick offers more than all of them may have. */
static void taker(struct thread *self UNUSED, void *s_)
{
    struct shared *s = s_;
    unsigned int me = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
    uint64_t taken = 0;

    pthread_barrier_wait(&s->barrier);
    for (uint64_t tick = 0; tick <= N_TICKS; tick++) {
        uint64_t now = START + tick * MS / 10;
        taken += take_n(&s->l, p1, now, tick ? 2 * RATE / 10000 : BURST);
    }
    s->taken[me] = taken;
}

static void threads_that_share_a_bucket_get_together_what_one_would(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct shared s = { 0 };
        struct thread *threads[N_TAKERS];
        uint64_t sum = 0;

        port_limits_set(&s.l, p1, limit(RATE, BURST));
        pthread_barrier_init(&s.barrier, NULL, N_TAKERS);
        for (int i = 0; i < N_TAKERS; i++) {
            threads[i] = thread_start("taker", taker, NULL, &s);
            assert_non_null(threads[i]);
        }
        for (int i = 0; i < N_TAKERS; i++) {
            thread_join(threads[i]);
        }
        for (int i = 0; i < N_TAKERS; i++) { /* Whoever is the first to run has the first place. */
            sum += s.taken[i];
        }
        /* All of it, and not one more: whoever came first offered enough at each tick. */
        assert_int_equal(sum, BURST + (uint64_t) RATE * N_TICKS / 10000);
        pthread_barrier_destroy(&s.barrier);
        port_limits_uninit(&s.l);
    }
}

/* Asks as long as it may, of ports whose limits come and go meanwhile. */
static void asker(struct thread *self UNUSED, void *s_)
{
    struct shared *s = s_;
    for (uint64_t i = 0; !__atomic_load_n(&s->stop, __ATOMIC_RELAXED); i++) {
        if (port_limits_any(&s->l)) {
            port_limits_take(&s->l, (odp_port_t) { i % 1000 }, START + i);
        }
    }
}

static void limits_change_under_those_who_ask(void **state)
{
    struct shared s = { 0 };
    struct thread *threads[2];

    for (int i = 0; i < 2; i++) {
        threads[i] = thread_start("asker", asker, NULL, &s);
        assert_non_null(threads[i]);
    }
    for (uint64_t i = 0; i < 20000; i++) { /* The table grows, shrinks to nothing, and grows again. */
        bool on = i / 100 % 3;
        port_limits_set(&s.l, (odp_port_t) { on ? hash_u64(i, 3) % 1000 : i % 1000 }, limit(on ? 1 + i % 5 : 0, 1 + i % 7));
        for (uint32_t no = 0; i % 5000 == 4999 && no < 1000; no++) {
            port_limits_set(&s.l, (odp_port_t) { no }, limit(0, 0));
        }
    }
    __atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        thread_join(threads[i]);
    }
    port_limits_uninit(&s.l);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_everything_gets_through),
        cmocka_unit_test(a_full_bucket_lets_one_burst_through_and_then_the_rate),
        cmocka_unit_test(the_rate_is_exact_whatever_it_is),
        cmocka_unit_test(a_burst_of_one_and_the_largest_hold),
        cmocka_unit_test(the_default_burst_is_a_tenth_of_a_second_but_not_less_than_64),
        cmocka_unit_test(a_clock_that_goes_back_a_little_gives_nothing_away),
        cmocka_unit_test(a_change_takes_effect_at_once),
        cmocka_unit_test(the_same_limit_again_is_no_change_and_fills_nothing),
        cmocka_unit_test(ports_have_buckets_of_their_own_however_far_apart),
        cmocka_unit_test(threads_that_share_a_bucket_get_together_what_one_would),
        cmocka_unit_test(limits_change_under_those_who_ask),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
