/* Handlers, revalidators and dispatch under a seeded scheduler: see sim-world.h.
 *
 * SLUICE_SEEDS (default 20) says how many seeds each test runs, SLUICE_SEED with which it begins.  A failure names its seed. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/rcu.h"
#include "lib/io/thread.h"
#include "tests/sim/sim-world.h"

static uint64_t first_seed(void)
{
    const char *s = getenv("SLUICE_SEED");
    return s ? strtoull(s, NULL, 0) : 1;
}

static unsigned int n_seeds(void)
{
    const char *s = getenv("SLUICE_SEEDS");
    return s ? atoi(s) : 20;
}

static const enum dpif_dispatch modes[] = { DPIF_DISPATCH_PER_CPU, DPIF_DISPATCH_PER_PORT };

/* Every host speaks, so that the switch knows where it is; then each speaks to each other one of its VLAN. */
static void probe_all(struct world *w)
{
    for (unsigned int h = 0; h < w->n_hosts; h++) {
        world_send(w, h, w->n_hosts);
        world_drain(w);
    }
    world_check_at_rest(w);
    unsigned int first = w->n_packets;
    for (unsigned int src = 0; src < w->n_hosts; src++) {
        for (unsigned int dst = 0; dst < w->n_hosts; dst++) {
            world_send(w, src, dst);
        }
        world_drain(w);
    }
    world_check_at_rest(w);
    for (unsigned int i = first; i < w->n_packets; i++) {
        const struct world_packet *p = &w->packets[i];
        unsigned int to = w->host_port[p->dst];
        bool reachable = to != p->in_port && to % w->n_vlans == p->in_port % w->n_vlans
                         && !odp_port_eq(w->odp[to], ODPP_NONE);
        uint64_t expected = reachable ? UINT64_C(1) << to : 0;
        /* An unknown destination (its port is not there, or in another VLAN) is flooded; a known one is not. */
        if (reachable ? p->out != expected : (to == p->in_port && p->out)) {
            fail_msg("seed %llu: host %u at port %u to host %u at port %u left by ports %#llx", (unsigned long long) w->seed,
                     p->src, p->in_port, p->dst, to, (unsigned long long) p->out);
        }
    }
}

static void one_step(struct world *w, bool changes)
{
    unsigned int step = world_random(w, changes ? 26 : 16);

    if (step < 6) {
        world_send(w, world_random(w, w->n_hosts), world_random(w, w->n_hosts + 1));
    } else if (step < 13) {
        world_run_handler(w, world_random(w, w->n_handlers));
    } else if (step < 15) {
        revalidators_run_once(w->revalidators);
    } else if (step < 16) {
        world_advance(w, world_random(w, 3000));
    } else if (step < 18) {
        world_move_host(w, world_random(w, w->n_hosts), world_random(w, w->n_ports));
    } else if (step < 20) {
        world_resize(w, 1 + world_random(w, 8));
    } else if (step < 21) {
        world_switch(w, modes[world_random(w, 2)]);
    } else if (step < 23) {
        world_port_del(w, world_random(w, w->n_ports));
    } else if (step < 25) {
        world_port_add(w, world_random(w, w->n_ports));
    } else if (world_random(w, 2)) {
        dpif_flow_flush(w->session); /* Somebody's ovs-dpctl del-flows. */
    } else {
        sim_set_fault(w->dpif, SIM_FAULT_PUT_EEXIST, 1);
    }
}

static void run(const struct world_setup *setup, unsigned int n_steps, bool changes, uint64_t slow_pids)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + n_seeds(); seed++) {
        struct world *w = world_create(seed, setup);
        for (unsigned int i = 0; i < n_steps; i++) {
            sim_set_fault(w->dpif, SIM_FAULT_SLOW_PIDS, slow_pids);
            one_step(w, changes);
        }
        sim_set_fault(w->dpif, SIM_FAULT_PUT_EEXIST, 0);
        for (unsigned int i = 0; i < w->n_ports; i++) {
            world_port_add(w, i);
        }
        probe_all(w);
        world_destroy(w);
    }
}

static void traffic_alone_is_switched_right_in_both_modes(void **state)
{
    for (int m = 0; m < 2; m++) {
        run(&(struct world_setup) { modes[m], 3, 6, 12, 2, 4 }, 600, false, 0);
    }
}

static void nothing_is_lost_or_wrong_while_everything_changes(void **state)
{
    for (int m = 0; m < 2; m++) {
        run(&(struct world_setup) { modes[m], 2, 6, 12, 2, 4 }, 1500, true, 0);
    }
}

static void a_cpu_number_above_all_others_has_a_handler(void **state)
{
    run(&(struct world_setup) { DPIF_DISPATCH_PER_CPU, 3, 4, 8, 1, 1 }, 300, true, 0);
}

/* The kernel goes on sending to port ids that it has been told to forget: a resize that closed a channel before it has been
 * read empty would lose these. */
static void a_kernel_slow_to_let_go_of_old_port_ids_loses_nothing(void **state)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + n_seeds(); seed++) {
        struct world *w = world_create(seed, &(struct world_setup) { DPIF_DISPATCH_PER_CPU, 8, 4, 8, 1, 8 });
        for (unsigned int i = 0; i < 30; i++) {
            sim_set_fault(w->dpif, SIM_FAULT_SLOW_PIDS, 4); /* As many as world_resize() sends meanwhile. */
            world_resize(w, 1 + world_random(w, 8));
            world_drain(w);
        }
        sim_set_fault(w->dpif, SIM_FAULT_SLOW_PIDS, 0);
        world_check_at_rest(w);
        world_destroy(w);
    }
}

static void flows_go_when_they_have_been_idle_for_max_idle(void **state)
{
    struct world *w = world_create(1, &(struct world_setup) { DPIF_DISPATCH_PER_CPU, 1, 2, 2, 1, 1 });
    world_send(w, 0, 1);
    world_send(w, 1, 0);
    world_check_at_rest(w);
    assert_int_equal(ukey_table_count(w->fc.ukeys), 2);
    world_advance(w, 9999);
    world_check_at_rest(w);
    assert_int_equal(ukey_table_count(w->fc.ukeys), 2);
    world_send(w, 0, 1); /* A hit: this one lives on. */
    world_advance(w, 1);
    world_check_at_rest(w);
    assert_int_equal(ukey_table_count(w->fc.ukeys), 1);
    world_advance(w, 10000);
    world_check_at_rest(w);
    assert_int_equal(ukey_table_count(w->fc.ukeys), 0);
    world_destroy(w);
}

/* The first packet to a known address puts a flow; the second of it in the same batch shares the translation. */
static void packets_of_one_flow_in_a_batch_are_translated_once(void **state)
{
    struct world *w = world_create(1, &(struct world_setup) { DPIF_DISPATCH_PER_CPU, 1, 2, 2, 1, 1 });
    struct handler_stats s;
    for (int i = 0; i < 10; i++) {
        world_send(w, 0, 1);
    }
    world_run_handler(w, 0);
    handler_get_stats(w->handlers[0], &s);
    assert_int_equal(s.upcalls.received, 10);
    assert_int_equal(s.upcalls.translated, 1);
    assert_int_equal(s.upcalls.grouped, 9);
    assert_int_equal(s.upcalls.installed, 1);
    assert_int_equal(s.upcalls.executed, 10);
    world_check_at_rest(w);
    world_destroy(w);
}

static void above_the_flow_limit_packets_go_on_without_flows(void **state)
{
    struct world *w = world_create(1, &(struct world_setup) { DPIF_DISPATCH_PER_CPU, 1, 2, 20, 1, 1 });
    w->fc.flow_limit = 5;
    for (unsigned int h = 0; h < 20; h++) {
        world_send(w, h, w->n_hosts);
        world_drain(w);
    }
    assert_int_equal(ukey_table_count(w->fc.ukeys), 5);
    for (unsigned int i = 0; i < w->n_packets; i++) {
        assert_int_not_equal(w->packets[i].out, 0);
    }
    world_check_at_rest(w);
    world_destroy(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_one_flow_in_a_batch_are_translated_once),
        cmocka_unit_test(flows_go_when_they_have_been_idle_for_max_idle),
        cmocka_unit_test(above_the_flow_limit_packets_go_on_without_flows),
        cmocka_unit_test(traffic_alone_is_switched_right_in_both_modes),
        cmocka_unit_test(nothing_is_lost_or_wrong_while_everything_changes),
        cmocka_unit_test(a_cpu_number_above_all_others_has_a_handler),
        cmocka_unit_test(a_kernel_slow_to_let_go_of_old_port_ids_loses_nothing),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
