/* The scheduler and limits of upcalls a second: who is held to them, and how what is dropped is counted. */
#include <config.h>

#include "tests/unit/sched-kit.h"

#define SEC UINT64_C(1000000000)
#define START (1000 * SEC)

static struct upcall ordinary(uint32_t port, uint32_t flow) { return (struct upcall) { port, flow, false, 200 }; }
static struct upcall arp(uint32_t port) { return (struct upcall) { port, 0, true, 200 }; }

static struct world *world_with_limit(uint32_t port, uint32_t rate, uint32_t burst)
{
    struct world *w = world_create();
    port_limits_set(&w->limits, (odp_port_t) { port }, (struct port_limit) { rate, burst });
    sched_set_time(&w->s, START);
    return w;
}

static uint64_t drops(const struct world *w, uint32_t port, enum sched_drop why)
{
    return queue_of(w, port)->stats.drops[why];
}

static void what_is_beyond_the_rate_is_dropped_and_counted_by_port(void **state)
{
    struct world *w = world_with_limit(1, 100, 20);

    for (uint32_t i = 0; i < 200; i++) { /* Flow by flow, in whichever slice: it is the port that has a rate. */
        assert_int_equal(send_upcall(w, ordinary(1, i)), i < 20 ? SCHED_KEPT : SCHED_DROP_rate);
        assert_int_equal(send_upcall(w, ordinary(2, i)), SCHED_KEPT);
    }
    for (int pass = 1; pass <= 10; pass++) { /* 25 a pass are due, of which the bucket holds 20. */
        sched_set_time(&w->s, START + pass * SEC / 4);
        for (uint32_t i = 0; i < 50; i++) {
            assert_int_equal(send_upcall(w, ordinary(1, i)), i < 20 ? SCHED_KEPT : SCHED_DROP_rate);
        }
    }
    assert_int_equal(drops(w, 1, SCHED_DROP_rate), 180 + 300);
    assert_int_equal(drops(w, 2, SCHED_DROP_rate), 0);
    assert_int_equal(w->s.drops[SCHED_DROP_rate], 480);
    assert_int_equal(queue_of(w, 1)->stats.received, 700);
    /* What got in is served as ever. */
    check_world(w);
    serve_all(w);
    world_destroy(w);
}

static void control_is_neither_held_to_the_rate_nor_uses_it_up(void **state)
{
    struct world *w = world_with_limit(1, 1, 10);

    for (int i = 0; i < 64; i++) {
        assert_int_equal(send_upcall(w, arp(1)), SCHED_KEPT);
    }
    assert_int_equal(send_upcall(w, arp(1)), SCHED_DROP_control); /* It has a bound of its own. */
    for (uint32_t i = 0; i < 30; i++) {
        assert_int_equal(send_upcall(w, ordinary(1, i)), i < 10 ? SCHED_KEPT : SCHED_DROP_rate);
    }
    serve_all(w);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(send_upcall(w, arp(1)), SCHED_KEPT);
    }
    assert_int_equal(drops(w, 1, SCHED_DROP_rate), 20);
    assert_int_equal(drops(w, 1, SCHED_DROP_control), 1);
    serve_all(w);
    world_destroy(w);
}

/* For what the lanes have no room for, a port does not pay. */
static void what_is_dropped_for_another_reason_uses_nothing_up(void **state)
{
    struct world *w = world_with_limit(1, 1, 1000000);

    flood(w, 1, 1, 200);
    uint32_t kept = w->ports[1].waiting;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(send_upcall(w, ordinary(1, i)), SCHED_DROP_share);
    }
    serve_all(w);
    assert_int_equal(drops(w, 1, SCHED_DROP_rate), 0);
    for (uint32_t i = kept; i < 1000000; i++) {
        assert_true(port_limits_take(&w->limits, (odp_port_t) { 1 }, START));
    }
    assert_int_equal(send_upcall(w, ordinary(1, 1)), SCHED_DROP_rate);
    world_destroy(w);
}

static void two_handlers_share_what_a_port_may(void **state)
{
    struct world *w = world_with_limit(1, 100, 20), *other = world_create();
    uint32_t kept = 0;

    other->s.limits = &w->limits;
    sched_set_time(&other->s, START - SEC / 1000); /* It has read its clock a little earlier. */
    for (uint32_t i = 0; i < 100; i++) {
        kept += send_upcall(w, ordinary(1, i)) == SCHED_KEPT;
        kept += send_upcall(other, ordinary(1, i)) == SCHED_KEPT;
    }
    assert_int_equal(kept, 20);
    assert_int_equal(drops(w, 1, SCHED_DROP_rate) + drops(other, 1, SCHED_DROP_rate), 180);
    assert_true(drops(other, 1, SCHED_DROP_rate) < 100);
    serve_all(w);
    serve_all(other);
    world_destroy(other);
    world_destroy(w);
}

static void a_limit_that_goes_lets_the_next_one_through(void **state)
{
    struct world *w = world_with_limit(1, 1, 1);

    assert_int_equal(send_upcall(w, ordinary(1, 1)), SCHED_KEPT);
    assert_int_equal(send_upcall(w, ordinary(1, 1)), SCHED_DROP_rate);
    port_limits_set(&w->limits, (odp_port_t) { 1 }, (struct port_limit) { 0 });
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(send_upcall(w, ordinary(1, i)), SCHED_KEPT);
    }
    serve_all(w);
    world_destroy(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_beyond_the_rate_is_dropped_and_counted_by_port),
        cmocka_unit_test(control_is_neither_held_to_the_rate_nor_uses_it_up),
        cmocka_unit_test(what_is_dropped_for_another_reason_uses_nothing_up),
        cmocka_unit_test(two_handlers_share_what_a_port_may),
        cmocka_unit_test(a_limit_that_goes_lets_the_next_one_through),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
