/* Handlers, revalidators and dispatch under a seeded scheduler: see sim-world.h.
 *
 * SLUICE_SEEDS (default 10) says how many seeds each test runs, SLUICE_SEED with which it begins.  A failure names its seed. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/io/thread.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"
#include "tests/sim/sim-kit.h"
#include "tests/sim/sim-world.h"

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

/* Something that the kernel does on a bad day. */
static void one_fault(struct world *w)
{
    static const enum sim_fault faults[] = {
        SIM_FAULT_PUT_EEXIST, SIM_FAULT_PUT_FAIL,  SIM_FAULT_REPLY_LOST, SIM_FAULT_DUMP_OMIT,
        SIM_FAULT_DUMP_FAIL,  SIM_FAULT_DUMP_REPEAT, SIM_FAULT_EVENTS_LOST,
    };
    sim_set_fault(w->dpif, faults[world_random(w, ARRAY_SIZE(faults))], 1 + world_random(w, 3));
}

static void one_change(struct world *w)
{
    unsigned int step = world_random(w, 15);

    if (step < 2) {
        world_move_host(w, world_random(w, w->n_hosts), world_random(w, w->n_ports));
    } else if (step < 4) {
        world_resize(w, 1 + world_random(w, 8));
    } else if (step < 5) {
        world_switch(w, modes[world_random(w, 2)]);
    } else if (step < 7) {
        world_port_del(w, world_random(w, w->n_ports));
    } else if (step < 9) {
        world_port_add(w, world_random(w, w->n_ports));
    } else if (step < 10) {
        world_port_vanish(w, world_random(w, w->n_ports));
    } else if (step < 11) {
        world_poll_ports(w);
    } else if (step < 13) {
        one_fault(w);
    } else if (step < 14) {
        dpif_flow_flush(w->session); /* Somebody's ovs-dpctl del-flows. */
    } else if (!world_random(w, 4)) {
        world_restart(w, modes[world_random(w, 2)], world_random(w, 2));
    }
}

static void one_step(struct world *w, bool changes)
{
    unsigned int step = world_random(w, changes ? 30 : 16);

    if (step < 6) {
        world_send(w, world_random(w, w->n_hosts), world_random(w, w->n_hosts + 1));
    } else if (step < 13) {
        world_run_handler(w, world_random(w, w->n_handlers));
    } else if (step < 15) {
        revalidators_run_once(w->revalidators);
    } else if (step < 16) {
        world_advance(w, world_random(w, 3000));
    } else {
        one_change(w);
    }
}

static void run(const struct world_setup *setup, unsigned int n_steps, bool changes)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + n_seeds(); seed++) {
        struct world *w = world_create(seed, setup);
        for (unsigned int i = 0; i < n_steps; i++) {
            one_step(w, changes);
        }
        world_heal(w);
        world_check_at_rest(w);
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
        run(&(struct world_setup) { modes[m], 3, 6, 12, 2, 4 }, 600, false);
    }
}

static void nothing_is_lost_or_wrong_while_everything_changes(void **state)
{
    for (int m = 0; m < 2; m++) {
        run(&(struct world_setup) { modes[m], 2, 6, 12, 2, 4 }, 1500, true);
    }
}

static void a_cpu_number_above_all_others_has_a_handler(void **state)
{
    run(&(struct world_setup) { DPIF_DISPATCH_PER_CPU, 3, 4, 8, 1, 1 }, 300, true);
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

/* ---- Handlers that help each other. ---- */

/* No flow is ever installed, so every packet is an upcall; bursts of some hosts make lanes that are worth lending.  Per port a port's
 * upcalls come by one channel, so whoever serves them, packets between two hosts keep their order. */
static void flows_keep_their_order_whoever_helps(void **state)
{
    uint64_t helps = 0, guests = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world *w = world_create(seed, &(struct world_setup) { DPIF_DISPATCH_PER_PORT, 5, 3, 24, 1, 1 });
        w->fc.flow_limit = 0;
        w->in_order = true;
        for (unsigned int step = 0; step < 200; step++) {
            unsigned int src = world_random(w, w->n_hosts);
            for (unsigned int n = world_random(w, 4) ? 0 : world_random(w, 60); n; n--) {
                world_send(w, world_random(w, 3) ? src : world_random(w, w->n_hosts), world_random(w, w->n_hosts));
            }
            world_run_handler(w, world_random(w, w->n_handlers));
            if (!world_random(w, 50)) {
                world_resize(w, 1 + world_random(w, 8));
            }
        }
        world_check_at_rest(w);
        for (unsigned int h = 0; h < w->n_handlers; h++) {
            struct handler_stats s;
            handler_get_stats(w->handlers[h], &s);
            helps += s.helps_taken;
            guests += s.guests_served;
        }
        world_destroy(w);
    }
    assert_true(helps > 100 && guests > 100); /* It was not for nothing. */
}

/* ---- Answers that were lost. ---- */

/* Four hosts at four ports that all know where the others are, and a flow from host 0 to host 1. */
static struct world *four_hosts(enum dpif_dispatch mode)
{
    struct world *w = world_create(1, &(struct world_setup) { mode, 1, 4, 4, 1, 1 });
    for (unsigned int h = 0; h < 4; h++) {
        world_send(w, h, w->n_hosts);
        world_drain(w);
    }
    world_send(w, 0, 1);
    world_check_at_rest(w);
    return w;
}

/* Host 1 moves to PORT and is heard there. */
static void host_1_speaks_at(struct world *w, unsigned int port)
{
    world_advance(w, 100);
    world_move_host(w, 1, port);
    world_send(w, 1, w->n_hosts);
    world_drain(w);
}

/* The flow was changed, we were not told, and then it has to be as it was before: what we think it is proves nothing. */
static void a_change_of_actions_whose_answer_was_lost_is_made_again(void **state)
{
    struct world *w = four_hosts(DPIF_DISPATCH_PER_CPU);
    host_1_speaks_at(w, 3);
    sim_set_fault(w->dpif, SIM_FAULT_REPLY_LOST, 50);
    revalidators_run_once(w->revalidators);
    world_heal(w);
    host_1_speaks_at(w, 1);
    world_check_at_rest(w);
    world_destroy(w);
}

/* Somebody deleted the flow, and packets go on coming up while no round notices (dumps fail): it is put again, with the actions of
 * that time.  What we thought it had is older than that. */
static void put_again(bool answered)
{
    struct world *w = four_hosts(DPIF_DISPATCH_PER_CPU);
    dpif_flow_flush(w->session);
    host_1_speaks_at(w, 3);
    world_advance(w, 2000);
    sim_set_fault(w->dpif, SIM_FAULT_REPLY_LOST, !answered);
    world_send(w, 0, 1);
    world_drain(w);
    host_1_speaks_at(w, 1);
    world_check_at_rest(w);
    world_destroy(w);
}

static void a_flow_that_was_put_again_is_not_held_to_have_the_old_actions(void **state)
{
    put_again(true);
}

static void a_flow_that_may_have_been_put_again_is_not_held_to_have_the_old_actions(void **state)
{
    put_again(false);
}

/* The handler believes that its flow is not there, and has no ukey for it. */
static void a_flow_whose_put_was_not_answered_is_adopted(void **state)
{
    struct world *w = four_hosts(DPIF_DISPATCH_PER_CPU);
    struct revalidators_stats stats;
    uint64_t n = ukey_table_count(w->fc.ukeys);

    sim_set_fault(w->dpif, SIM_FAULT_REPLY_LOST, 1);
    world_send(w, 2, 3);
    world_drain(w);
    assert_int_equal(ukey_table_count(w->fc.ukeys), n);
    world_check_at_rest(w);
    assert_int_equal(ukey_table_count(w->fc.ukeys), n + 1);
    revalidators_get_stats(w->revalidators, &stats);
    assert_int_equal(stats.adopted, 1);
    assert_int_equal(stats.modified, 0);
    world_destroy(w);
}

/* A dump that shows a flow not at all, or twice, or ends early, is no reason to forget it or to count it twice. */
static void flows_survive_dumps_that_are_wrong(void **state)
{
    static const enum sim_fault faults[] = { SIM_FAULT_DUMP_OMIT, SIM_FAULT_DUMP_REPEAT, SIM_FAULT_DUMP_FAIL };
    struct world *w = four_hosts(DPIF_DISPATCH_PER_CPU);
    struct revalidators_stats before, after;
    uint64_t n = ukey_table_count(w->fc.ukeys);

    for (unsigned int i = 0; i < ARRAY_SIZE(faults); i++) {
        sim_set_fault(w->dpif, faults[i], 3);
        revalidators_get_stats(w->revalidators, &before);
        revalidators_run_once(w->revalidators);
        revalidators_get_stats(w->revalidators, &after);
        world_heal(w);
        assert_int_equal(ukey_table_count(w->fc.ukeys), n);
        assert_int_equal(after.adopted + after.deleted, 0);
        if (faults[i] == SIM_FAULT_DUMP_REPEAT) {
            assert_int_equal(after.checked - before.checked, n);
        }
        world_check_at_rest(w);
    }
    world_destroy(w);
}

/* ---- A new daemon takes over. ---- */

#define MAX_FLOWS 256
struct flow_record {
    struct ufid ufid;
    uint64_t actions; /* Hash. */
};
struct snapshot {
    struct flow_record flows[MAX_FLOWS];
    size_t n;
    struct sim_counts counts;
};

static int record_compare(const void *a, const void *b) { return memcmp(a, b, sizeof(struct flow_record)); }

static void snapshot_take(struct world *w, struct snapshot *s)
{
    struct dpif_flow_dump *dump;
    struct dpif_flow f;

    memset(s, 0, sizeof *s);
    assert_int_equal(dpif_flow_dump_create(w->dpif, false, &dump), 0);
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    while (dpif_flow_dump_next(t, &f, 1) > 0) {
        assert_true(s->n < MAX_FLOWS);
        s->flows[s->n++] = (struct flow_record) { f.ufid, hash_bytes(f.actions, f.actions_len, 0) };
    }
    dpif_flow_dump_thread_destroy(t);
    assert_int_equal(dpif_flow_dump_destroy(dump), 0);
    qsort(s->flows, s->n, sizeof *s->flows, record_compare);
    sim_get_counts(w->dpif, &s->counts);
}

/* Eight hosts of which each has sent to each other one, twice: the second time by a flow. */
static struct world *busy_network(enum dpif_dispatch mode, struct snapshot *s)
{
    struct world *w = world_create(1, &(struct world_setup) { mode, 2, 4, 8, 1, 2 });
    probe_all(w);
    probe_all(w);
    snapshot_take(w, s);
    assert_true(s->n >= 8 * 7);
    return w;
}

/* The same flows, with the same actions, and not one that was put or deleted meanwhile. */
static void check_same_flows(struct world *w, const struct snapshot *before)
{
    struct snapshot after;
    snapshot_take(w, &after);
    assert_int_equal(after.n, before->n);
    assert_memory_equal(after.flows, before->flows, before->n * sizeof *before->flows);
    assert_int_equal(after.counts.n_puts, before->counts.n_puts);
    assert_int_equal(after.counts.n_dels, before->counts.n_dels);
}

static void a_new_daemon_leaves_flows_that_are_right_as_they_are(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct revalidators_stats stats;
        struct snapshot before;
        struct world *w = busy_network(modes[m], &before);

        world_restart(w, modes[!m], true);
        world_check_at_rest(w);
        check_same_flows(w, &before);
        revalidators_get_stats(w->revalidators, &stats);
        assert_int_equal(stats.adopted, before.n);
        assert_int_equal(stats.modified + stats.deleted, 0);

        /* Not one packet comes up, and the flows' age is that which they had. */
        probe_all(w);
        check_same_flows(w, &before);
        struct snapshot after;
        snapshot_take(w, &after);
        assert_int_equal(after.counts.n_miss_upcalls, before.counts.n_miss_upcalls);
        world_restart(w, modes[m], true);
        world_advance(w, 9999);
        world_check_at_rest(w);
        assert_int_equal(ukey_table_count(w->fc.ukeys), before.n);
        world_advance(w, 1);
        world_check_at_rest(w);
        assert_int_equal(ukey_table_count(w->fc.ukeys), 0);
        world_destroy(w);
    }
}

/* It learns from the flows themselves where the hosts are. */
static void a_new_daemon_that_knows_no_host_ends_with_the_flows_that_there_were(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct snapshot before;
        struct world *w = busy_network(modes[m], &before);
        world_restart(w, modes[!m], false);
        world_check_at_rest(w);
        check_same_flows(w, &before);
        world_destroy(w);
    }
}

/* Changes the actions of flow UFID in the datapath to none, behind everybody's back. */
static void spoil(struct world *w, const struct ufid *ufid)
{
    struct dpif_flow f;
    assert_int_equal(dpif_flow_get(w->session, ufid, NULL, 0, &f), 0);
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_MOD,
        .flow = { .has_ufid = true, .ufid = *ufid, .key = f.key, .key_len = f.key_len },
    };
    dpif_operate(w->session, (struct dpif_op *[]) { &op }, 1);
    assert_int_equal(op.error, 0);
}

static void a_new_daemon_corrects_the_flows_that_are_wrong_and_no_others(void **state)
{
    struct revalidators_stats stats;
    struct snapshot before;
    struct world *w = busy_network(DPIF_DISPATCH_PER_CPU, &before);

    for (unsigned int i = 0; i < 3; i++) {
        uint64_t drop = hash_bytes(NULL, 0, 0);
        assert_true(before.flows[i * 7].actions != drop);
        spoil(w, &before.flows[i * 7].ufid);
    }
    world_restart(w, DPIF_DISPATCH_PER_CPU, true);
    world_check_at_rest(w);
    check_same_flows(w, &before);
    revalidators_get_stats(w->revalidators, &stats);
    assert_int_equal(stats.modified, 3);
    world_destroy(w);
}

/* A flow that matches on less than translation looks at would treat packets alike that are not. */
static void a_new_daemon_deletes_a_flow_that_covers_too_much(void **state)
{
    struct world *w = four_hosts(DPIF_DISPATCH_PER_CPU);
    struct flow key = { .in_port = w->odp[2], .eth_type = htons(0x88b5) }, mask = { 0 };
    uint32_t key_memory[128], mask_memory[128];
    struct attrbuf key_attrs, mask_attrs;
    struct snapshot before;

    snapshot_take(w, &before);
    FLOW_MASK_FIELD(&mask, in_port);
    attrbuf_init(&key_attrs, key_memory, sizeof key_memory);
    odp_key_put(&key_attrs, &key);
    attrbuf_init(&mask_attrs, mask_memory, sizeof mask_memory);
    odp_mask_put(&mask_attrs, &key, &mask);
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_PUT,
        .flow = {
            .has_ufid = true, .ufid = { 4711, 4711 },
            .key = attrbuf_data(&key_attrs), .key_len = attrbuf_len(&key_attrs),
            .mask = attrbuf_data(&mask_attrs), .mask_len = attrbuf_len(&mask_attrs),
        },
    };
    dpif_operate(w->session, (struct dpif_op *[]) { &op }, 1);
    assert_int_equal(op.error, 0);

    world_restart(w, DPIF_DISPATCH_PER_CPU, true);
    world_check_at_rest(w);
    struct snapshot after;
    snapshot_take(w, &after);
    assert_int_equal(after.n, before.n);
    assert_memory_equal(after.flows, before.flows, before.n * sizeof *before.flows);
    assert_int_equal(after.counts.n_dels, before.counts.n_dels + 1);
    world_destroy(w);
}

/* A station that comes up changes what is right for the flows to it, and for no others. */
static void a_new_station_has_only_the_flows_to_it_translated_again(void **state)
{
    enum { N = 8, NEW = N - 1 };
    struct world *w = world_create(1, &(struct world_setup) { DPIF_DISPATCH_PER_CPU, 1, N, N, 1, 1 });
    struct revalidators_stats before, after;

    for (unsigned int round = 0; round < 2; round++) {
        for (unsigned int src = 0; src < NEW; src++) {
            for (unsigned int dst = 0; dst < N; dst++) {
                world_send(w, src, dst);
            }
            world_drain(w);
        }
        world_check_at_rest(w);
    }
    revalidators_get_stats(w->revalidators, &before);
    assert_true(before.n_flows >= NEW * NEW);
    world_send(w, NEW, 0);
    world_check_at_rest(w);
    revalidators_get_stats(w->revalidators, &after);
    assert_true(after.n_rounds > before.n_rounds && after.checked >= before.checked + before.n_flows);
    assert_int_equal(after.translated - before.translated, NEW); /* From each of the others, so far flooded. */
    assert_int_equal(after.modified - before.modified, NEW);

    /* It moves: again. */
    world_move_host(w, NEW, 0);
    world_send(w, NEW, 1);
    world_check_at_rest(w);
    revalidators_get_stats(w->revalidators, &before);
    assert_int_equal(before.translated - after.translated, NEW);
    world_destroy(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_one_flow_in_a_batch_are_translated_once),
        cmocka_unit_test(flows_go_when_they_have_been_idle_for_max_idle),
        cmocka_unit_test(above_the_flow_limit_packets_go_on_without_flows),
        cmocka_unit_test(a_new_station_has_only_the_flows_to_it_translated_again),
        cmocka_unit_test(flows_keep_their_order_whoever_helps),
        cmocka_unit_test(a_change_of_actions_whose_answer_was_lost_is_made_again),
        cmocka_unit_test(a_flow_that_was_put_again_is_not_held_to_have_the_old_actions),
        cmocka_unit_test(a_flow_that_may_have_been_put_again_is_not_held_to_have_the_old_actions),
        cmocka_unit_test(a_flow_whose_put_was_not_answered_is_adopted),
        cmocka_unit_test(flows_survive_dumps_that_are_wrong),
        cmocka_unit_test(a_new_daemon_leaves_flows_that_are_right_as_they_are),
        cmocka_unit_test(a_new_daemon_that_knows_no_host_ends_with_the_flows_that_there_were),
        cmocka_unit_test(a_new_daemon_corrects_the_flows_that_are_wrong_and_no_others),
        cmocka_unit_test(a_new_daemon_deletes_a_flow_that_covers_too_much),
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
