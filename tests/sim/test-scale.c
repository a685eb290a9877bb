/* Ten thousand ports, 128 CPUs, four nodes, under a seeded scheduler: see big-world.h.
 *
 * SLUICE_SEEDS (default 10) says how many seeds small worlds run, and a tenth of them worlds of full size; SLUICE_SEED with which they
 * begin.  A failure names its seed. */
#include <config.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/counter.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dispatch-provider.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/placement.h"
#include "lib/io/thread.h"
#include "ofproto/engine-private.h"
#include "ofproto/xlate-config.h"
#include "tests/sim/big-world.h"
#include "tests/sim/sim-kit.h"

#define HOT_PORTS 96 /* That most packets are sent from. */
#define SMALL_WORLD 400

static const enum dispatch_wish modes[] = { DISPATCH_PER_CPU, DISPATCH_PER_PORT };
/* As many ports as the limit of open files allows, where each has a channel. */
static unsigned int full_size;
#define LEAST_FULL_SIZE 2000 /* Fewer are no proof. */

static unsigned int size_in(enum dispatch_wish mode)
{
    if (mode == DISPATCH_PER_CPU) {
        return BIG_MAX_PORTS;
    }
    if (full_size < LEAST_FULL_SIZE) {
        print_message("skipped: the limit of open files (ulimit -Hn) allows fewer than %u ports\n", LEAST_FULL_SIZE);
        skip();
    }
    return full_size;
}

/* ---- Steps. ---- */

static unsigned int some_port(struct big_world *w)
{
    return big_random(w, 8) ? big_random(w, MIN(HOT_PORTS, w->n_ports)) : big_random(w, w->n_ports);
}

static void one_burst(struct big_world *w)
{
    unsigned int src = some_port(w), n = 20 + big_random(w, 150);
    enum big_frame frame = big_random(w, 3);
    uint64_t lost = w->n_lost;

    for (unsigned int i = 0; i < n; i++) {
        big_send(w, big_random(w, 3) ? src : some_port(w), big_random(w, BIG_TO_ALL + 1), frame);
    }
    w->n_overflows += w->n_lost > lost;
}

static void change_ports(struct big_world *w)
{
    unsigned int ports[8], n = 1 + big_random(w, ARRAY_SIZE(ports)), first = big_random(w, HOT_PORTS);

    for (unsigned int i = 0; i < n; i++) {
        ports[i] = (first + 7 * i) % w->n_ports;
    }
    if (big_random(w, 2)) {
        /* With something in their channels, and, as a channel may hold less than a batch serves, from several of them in lanes. */
        for (unsigned int i = big_random(w, 2) ? n * UPCALL_BATCH : 0; i > 0; i--) {
            big_send(w, ports[i % n], big_random(w, BIG_TO_ALL + 1), BIG_SMALL);
        }
        uint64_t n_read = w->n_read;
        for (unsigned int h = big_random(w, 2) ? w->engine->n_handlers : 0; h-- > 0 && w->n_read < n_read + UPCALL_BATCH + 1;) {
            big_run_handler(w, h);
        }
        big_ports_del(w, ports, n);
    } else {
        big_ports_add(w, ports, n);
    }
}

/* The kernel goes on sending to port ids that it has been told to forget, for as long as a grace period takes: as many upcalls as
 * then come. */
static void resize(struct big_world *w, bool slow)
{
    unsigned int n_online = big_machine_n_online();
    w->settings.n_handlers = big_random(w, 3) ? 1 + big_random(w, MIN(2 * n_online, BIG_N_CPUS)) : 0;
    if (slow && dispatch_mode(w->engine->dispatch) == DPIF_DISPATCH_PER_CPU
        && w->settings.n_handlers && w->settings.n_handlers < w->engine->n_handlers) {
        w->n_in_grace = 24;
        sim_set_fault(w->engine->dpif, SIM_FAULT_SLOW_PIDS, w->n_in_grace);
    }
    big_apply(w);
    sim_set_fault(w->engine->dpif, SIM_FAULT_SLOW_PIDS, 0);
}

static void change_machine(struct big_world *w)
{
    if (big_random(w, 2)) {
        big_machine_add(1 + big_random(w, 40));
    } else {
        big_machine_mask(w->random, 1 + big_random(w, big_machine_n_online()));
    }
    /* Main looks twice a second: upcalls of a new CPU come before it does. */
    for (unsigned int i = 0; i < 20; i++) {
        big_send(w, some_port(w), big_random(w, BIG_TO_ALL + 1), BIG_SMALL);
    }
    big_apply(w);
}

static void one_change(struct big_world *w)
{
    unsigned int step = big_random(w, 20);

    w->n_changes++;
    if (step < 6) {
        change_ports(w);
    } else if (step < 8) {
        big_port_vanish(w, some_port(w));
        sim_set_fault(w->engine->dpif, SIM_FAULT_EVENTS_LOST, big_random(w, 3));
    } else if (step < 9) {
        big_poll_ports(w);
    } else if (step < 11) {
        unsigned int host = some_port(w);
        w->ports[host].host_at = w->ports[host].first + big_random(w, w->ports[host].n_locals);
    } else if (step < 13) {
        sim_set_fault(w->engine->dpif, SIM_FAULT_CHANNEL_FULL, 1 + big_random(w, 10));
    } else if (step < 15) {
        resize(w, big_random(w, 2));
    } else if (step < 17) {
        change_machine(w);
    } else if (step < 18) {
        w->settings.dispatch = modes[big_random(w, 2)];
        big_apply(w);
    } else if (step < 19) {
        w->engine->fc.flow_limit = big_random(w, 2) ? 0 : 200000;
    } else {
        big_check_at_rest(w);
    }
    big_check_pids(w);
    if (big_random(w, 2)) {
        big_check_step(w);
        big_drain(w);
    }
}

static void one_step(struct big_world *w, unsigned int changes_of_1000)
{
    unsigned int step = big_random(w, 1000);

    if (step < changes_of_1000) {
        one_change(w);
    } else if (step < 980) {
        switch (step % 8) {
        case 0:
        case 1:
        case 2:
            big_send(w, some_port(w), big_random(w, BIG_TO_ALL + 1), BIG_SMALL);
            break;
        case 3:
        case 4:
        case 5:
        case 6:
            big_run_handler(w, big_random(w, w->engine->n_handlers));
            break;
        case 7:
            if (!big_random(w, 6)) {
                one_burst(w);
            }
            break;
        }
    } else if (step < 985) {
        big_revalidate(w);
    } else if (step < 990) {
        for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
            big_run_handler(w, h);
        }
    } else {
        big_advance(w, big_random(w, 6000));
    }
}

static void run(struct big_world *w, unsigned int n_steps, unsigned int changes_of_1000)
{
    for (unsigned int i = 0; i < n_steps; i++) {
        one_step(w, changes_of_1000);
        big_check_step(w);
    }
    for (int fault = 0; fault < SIM_N_FAULTS; fault++) {
        sim_set_fault(w->engine->dpif, fault, 0);
    }
    big_check_at_rest(w);
}

static void print_world(const struct big_world *w)
{
    print_message("    %s at last: %u packets, %llu by flows, %llu handled (%llu stale), lost %llu, dropped %llu, gone %llu; "
                  "%llu changes, %llu overflows, %llu numbers again; %u handlers, %llu lanes lent\n",
                  dispatch_mode_name(dispatch_mode(w->engine->dispatch)), w->n_packets,
                  (unsigned long long) w->n_hit, (unsigned long long) w->n_done, (unsigned long long) w->n_stale,
                  (unsigned long long) w->n_lost, (unsigned long long) w->n_dropped, (unsigned long long) w->n_gone,
                  (unsigned long long) w->n_changes, (unsigned long long) w->n_overflows,
                  (unsigned long long) w->n_reused, w->engine->n_handlers,
                  (unsigned long long) w->engine->retired.lanes_lent);
}

/* ---- Worlds in which everything changes. ---- */

static void small_worlds_keep_their_promises_while_everything_changes(void **state)
{
    uint64_t n_overflows = 0, n_stale = 0, n_gone = 0, n_dropped = 0, n_reused = 0;

    for (uint64_t seed = first_seed(); seed < first_seed() + n_seeds(); seed++) {
        big_machine_begin(seed, 4 + seed % 60);
        struct big_world *w = big_create(seed, SMALL_WORLD, modes[seed % 2], 0);
        run(w, 4000, 20);
        print_world(w);
        n_overflows += w->n_overflows;
        n_stale += w->n_stale;
        n_gone += w->n_gone;
        n_dropped += w->n_dropped;
        n_reused += w->n_reused;
        big_destroy(w);
    }
    assert_true(n_seeds() < 10 || (n_overflows && n_stale && n_gone && n_dropped && n_reused)); /* It was not for nothing. */
    big_machine_end();
}

static void worlds_of_full_size_keep_their_promises_while_everything_changes(void **state)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + MAX(n_seeds() / 10, 1); seed++) {
        for (unsigned int m = 0; m < ARRAY_SIZE(modes); m++) {
            big_machine_begin(seed, 60);
            struct big_world *w = big_create(seed, size_in(DISPATCH_PER_PORT), modes[m], 0);
            run(w, 4000, 8);
            print_world(w);
            big_destroy(w);
        }
    }
    big_machine_end();
}

/* An upcall is read after its port was deleted and its number has rested.  Whoever has the number next begins at nothing. */
static void late_upcalls_are_not_counted_to_the_next_port_of_their_number(void **state)
{
    for (unsigned int m = 0; m < ARRAY_SIZE(modes); m++) {
        const unsigned int late = 0, other = 5;
        big_machine_begin(1, 4);
        struct big_world *w = big_create(1, 8, modes[m], 0);
        odp_port_t no = w->ports[late].no;

        big_ports_del(w, &other, 1);
        big_send(w, late, BIG_TO_ALL, BIG_SMALL);
        big_ports_del(w, &late, 1);
        big_drain(w);
        assert_int_equal(w->n_stale, 1);
        for (unsigned int round = 0; round < 2; round++) {
            unsigned int port = round ? late : other;
            big_advance(w, 31000); /* More than ODP_NUMBERS_REST_MS. */
            big_ports_add(w, &port, 1);
            big_send(w, port, BIG_TO_ALL, BIG_SMALL);
            w->n_changes++;
            big_check_at_rest(w);
        }
        assert_int_equal(w->ports[late].no.n, no.n); /* It is not out of use for good. */
        big_destroy(w);
    }
    big_machine_end();
}

/* ---- The machine grows. ---- */

static void cpus_that_come_later_find_a_handler_before_anybody_has_heard_of_them(void **state)
{
    for (unsigned int m = 0; m < ARRAY_SIZE(modes); m++) {
        big_machine_begin(1, 3);
        struct big_world *w = big_create(1, SMALL_WORLD, modes[m], 0);
        unsigned int n_online = 3;
        do {
            big_check_placement(n_online);
            assert_int_equal(w->engine->n_handlers, n_online);
            big_check_pids(w);
            unsigned int n_added = big_machine_add(1 + big_random(w, 24));
            n_online += n_added;
            /* Of CPUs of all numbers; nobody has been told anything. */
            for (unsigned int src = 0; src < w->n_ports; src++) {
                big_send(w, src, BIG_TO_ALL, BIG_SMALL);
            }
            big_drain(w);
            big_check_step(w);
            big_apply(w);
            big_check_at_rest(w);
        } while (n_online < BIG_N_CPUS);
        assert_int_equal(w->n_lost + w->n_dropped + w->n_gone, 0);
        assert_int_equal(w->engine->n_handlers, BIG_N_CPUS);
        big_check_pids(w);
        big_destroy(w);
    }
    big_machine_end();
}

static void placement_is_even_on_every_such_machine(void **state)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + n_seeds(); seed++) {
        for (unsigned int n_online = 1; n_online <= BIG_N_CPUS; n_online += 1 + seed % 3) {
            big_machine_begin(seed, n_online);
            big_check_placement(n_online);
            big_machine_mask(seed + n_online, 1 + (seed + n_online * 31) % n_online);
            for (unsigned int n = 1; n <= PLACEMENT_MAX_HANDLERS; n = 2 * n + seed % 2) {
                big_check_placement(n);
            }
        }
    }
    big_machine_end();
}

/* ---- What it costs. ---- */

static bool would_wake(const struct dispatch_handler *h)
{
    struct pollfd epoll = { .fd = h->set.epoll_fd, .events = POLLIN };

    if (sleeper_is_woken(&h->sleeper)) {
        return true;
    }
    return h->set.epoll_fd >= 0 ? poll(&epoll, 1, 0) > 0 : poll(h->set.fds, h->set.n, 0) > 0;
}

/* Handlers that would be woken now.  *RET_FIRST: the first. */
static unsigned int n_ready(const struct big_world *w, unsigned int *ret_first)
{
    unsigned int n = 0;
    for (unsigned int h = w->engine->n_handlers; h-- > 0;) {
        if (would_wake(w->engine->dispatch->handlers[h])) {
            *ret_first = h;
            n++;
        }
    }
    return n;
}

static uint64_t counted(const char *name)
{
    uint64_t n;
    assert_true(counter_read(name, &n));
    return n;
}

struct cost {
    uint64_t wakeups, idle_wakeups, passes, batches, drains, receives, waits, most_woken;
};

/* What 500 upcalls of one port, each after the other, take of a network of N_PORTS. */
static struct cost cost_of_one_port(unsigned int n_ports, enum dispatch_wish mode)
{
    struct big_world *w = big_create(1, n_ports, mode, 0);
    struct cost c = { .receives = counted("channel_recv"), .waits = counted("dispatch_wait") };
    struct handler_stats sum = { 0 };
    struct xbridge *br = w->engine->fc.config->bridges[0];
    size_t n_bundles = br->n_bundles;
    unsigned int h = 0;

    w->engine->fc.flow_limit = 0;
    br->n_bundles = 0; /* A flood, which every other of them is, must not go through all of them. */
    for (unsigned int i = 0; i < 500; i++) {
        big_send(w, n_ports - 1, i % 2, BIG_SMALL);
        c.most_woken = MAX(c.most_woken, n_ready(w, &h));
        handler_run_once(w->engine->handlers[h], 0);
        big_tally(w, h);
        assert_int_equal(w->n_done, i + 1);
        assert_int_equal(n_ready(w, &h), 0);
    }
    br->n_bundles = n_bundles;
    c.receives = counted("channel_recv") - c.receives;
    c.waits = counted("dispatch_wait") - c.waits;
    for (h = 0; h < w->engine->n_handlers; h++) {
        struct handler_stats s;
        handler_get_stats(w->engine->handlers[h], &s);
        handler_stats_add(&sum, &s);
    }
    c.wakeups = sum.wakeups;
    c.idle_wakeups = sum.idle_wakeups;
    c.passes = sum.passes;
    c.batches = sum.batches;
    c.drains = sum.drains;
    big_check_at_rest(w);
    big_destroy(w);
    return c;
}

/* D1, D7: one is woken for each, and does with 10,000 ports what it does with 10. */
static void an_upcall_takes_the_same_steps_however_many_ports_there_are(void **state)
{
    for (unsigned int m = 0; m < ARRAY_SIZE(modes); m++) {
        big_machine_begin(1, BIG_N_CPUS);
        struct cost few = cost_of_one_port(10, modes[m]), many = cost_of_one_port(size_in(modes[m]), modes[m]);
        assert_memory_equal(&few, &many, sizeof few);
        assert_int_equal(many.most_woken, 1);
        assert_int_equal(many.wakeups, 500);
        assert_int_equal(many.idle_wakeups, 0);
        assert_int_equal(many.drains, 500);
        assert_int_equal(many.receives, 500);
        assert_int_equal(many.waits, 500);
    }
    big_machine_end();
}

/* D8 */
static void quiet_ports_wake_nobody(void **state)
{
    for (unsigned int m = 0; m < ARRAY_SIZE(modes); m++) {
        big_machine_begin(1, BIG_N_CPUS);
        struct big_world *w = big_create(1, size_in(modes[m]), modes[m], 0);
        unsigned int h;
        uint64_t receives = counted("channel_recv");

        for (unsigned int i = 0; i < 20; i++) {
            big_advance(w, 1000);
            assert_int_equal(n_ready(w, &h), 0);
            big_revalidate(w);
        }
        /* Nor does whoever looks all the same find anything. */
        big_drain(w);
        assert_int_equal(n_ready(w, &h), 0);
        for (h = 0; h < w->engine->n_handlers; h++) {
            struct handler_stats s;
            handler_get_stats(w->engine->handlers[h], &s);
            assert_int_equal(s.drains + s.batches + s.upcalls.received, 0);
        }
        assert_int_equal(counted("channel_recv"), receives);
        big_check_at_rest(w);
        big_destroy(w);
    }
    big_machine_end();
}

/* D9.  With all threads of such a machine: the handlers as ever, the revalidators as the daemon has them. */
static void descriptors_are_as_many_as_ports_and_cpus_and_64(void **state)
{
    for (unsigned int m = 0; m < ARRAY_SIZE(modes); m++) {
        big_machine_begin(1, BIG_N_CPUS);
        struct big_world *w = big_create(1, size_in(modes[m]), modes[m], 0);
        struct engine *e = w->engine;

        assert_int_equal(e->n_handlers, BIG_N_CPUS);
        assert_int_equal(revalidators_resize(e->revalidators, engine_wanted_revalidators(&e->settings)), 0);
        assert_int_equal(revalidators_n(e->revalidators), BIG_N_CPUS / 4 + 1);
        size_t n = big_check_fds(w);
        size_t most = BIG_N_CPUS + 64 + (modes[m] == DISPATCH_PER_PORT ? w->n_ports : 0);
        print_message("    %s: %zu descriptors, and %u of the daemon beside the engine; promised are %zu\n",
                      dispatch_mode_name(dispatch_mode(e->dispatch)), n, BIG_FDS_BESIDE, most);
        assert_true(n + BIG_FDS_BESIDE <= most);
        assert_int_equal(revalidators_resize(e->revalidators, 0), 0);
        big_check_at_rest(w);
        big_destroy(w);
    }
    big_machine_end();
}

/* D4 */
static void ports_with_equal_loads_give_handlers_equal_loads(void **state)
{
    static const unsigned int n_handlers[] = { 3, 7, 16, 60, 128 };

    for (unsigned int i = 0; i < ARRAY_SIZE(n_handlers); i++) {
        big_machine_begin(1, BIG_N_CPUS);
        struct big_world *w = big_create(1, 1000, DISPATCH_PER_PORT, n_handlers[i]);
        uint64_t most = 0;

        w->engine->fc.flow_limit = 0;
        /* Once more after the ports were dealt out to many, and anew to few. */
        for (unsigned int round = 1; round <= 2; round++) {
            for (unsigned int src = 0; src < 1000; src++) {
                for (unsigned int n = 0; n < 4; n++) {
                    big_send(w, src, n, BIG_SMALL);
                }
            }
            big_drain(w);
            for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
                most = MAX(most, w->tally[h].received);
            }
            assert_true(most * w->engine->n_handlers <= round * 4000 * 5 / 4);
            big_check_at_rest(w);
            w->settings.n_handlers = 128;
            big_apply(w);
            w->settings.n_handlers = n_handlers[i];
            big_apply(w);
        }
        big_destroy(w);
    }
    big_machine_end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_is_even_on_every_such_machine),
        cmocka_unit_test(cpus_that_come_later_find_a_handler_before_anybody_has_heard_of_them),
        cmocka_unit_test(an_upcall_takes_the_same_steps_however_many_ports_there_are),
        cmocka_unit_test(quiet_ports_wake_nobody),
        cmocka_unit_test(descriptors_are_as_many_as_ports_and_cpus_and_64),
        cmocka_unit_test(ports_with_equal_loads_give_handlers_equal_loads),
        cmocka_unit_test(late_upcalls_are_not_counted_to_the_next_port_of_their_number),
        cmocka_unit_test(small_worlds_keep_their_promises_while_everything_changes),
        cmocka_unit_test(worlds_of_full_size_keep_their_promises_while_everything_changes),
    };
    thread_main_init();
    full_size = big_ports_possible(BIG_MAX_PORTS);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
