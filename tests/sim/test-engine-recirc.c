/* Packets that come back, through an engine with its real threads on the simulated datapath: upcall, flow, recirculation, upcall, flow.
 *
 *     inside (p1) ── [ br0, a firewall: connections begin inside only ] ── outside (p2)
 *
 * Table 0 sends what is not tracked through conntrack, and with a register that names the other side to table 1. */
#include <config.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/thread.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/engine-private.h"
#include "ofproto/recirc.h"
#include "tests/unit/xlate-tables-kit.h"

#define INSIDE  1
#define OUTSIDE 2
#define PATCH   3
/* Long enough for a loaded machine; only a failure takes it. */
#define PATIENCE_MS 20000

static const char *const firewall[] = {
    "priority=9,ip,ct_state=-trk,in_port=1 actions=load:2->NXM_NX_REG0[],ct(table=1,zone=7)",
    "priority=9,ip,ct_state=-trk,in_port=2 actions=load:1->NXM_NX_REG0[],ct(table=1,zone=7)",
    "table=1,priority=9,ip,ct_state=+trk+new,in_port=1 actions=ct(commit,zone=7,exec(set_field:5->ct_mark)),output:NXM_NX_REG0[]",
    "table=1,priority=5,ip,ct_state=+trk+est,ct_mark=5,ct_zone=7 actions=output:NXM_NX_REG0[]",
    /* What packet-outs come back to: those that are from where they say they are. */
    "table=2,priority=9,ip,ct_state=+trk+new,in_port=0xffff,reg1=0xffff actions=NORMAL",
    "table=2,priority=9,ip,ct_state=+trk+new,in_port=0xfffd,reg1=0xfffd actions=NORMAL",
    "table=2,priority=9,ip,ct_state=+trk+new,in_port=3,reg1=3 actions=NORMAL",
};

struct net {
    struct engine *e;
    struct engine_settings settings;
    struct mac_table *macs;
    odp_port_t odp[OUTSIDE + 1];
    unsigned int n_out[OUTSIDE + 1]; /* Atomic: frames that left, by port. */
};

static void frame_left(odp_port_t port, const void *frame UNUSED, size_t len UNUSED, void *net_)
{
    struct net *net = net_;

    for (unsigned int i = INSIDE; i <= OUTSIDE; i++) {
        if (port.n == net->odp[i].n) {
            __atomic_add_fetch(&net->n_out[i], 1, __ATOMIC_RELAXED);
        }
    }
}

static void publish(struct net *net)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", net->macs);

    br->id = 77;
    for (unsigned int i = INSIDE; i <= OUTSIDE; i++) {
        struct xbundle *b = xbridge_add_bundle(br, i == INSIDE ? "p1" : "p2", i);
        b->vlan_mode = VLAN_TRUNK;
        b->trunks.any = true;
        b->floodable = true;
        xbundle_add_port(b, b->name, (ofp_port_t) { i }, net->odp[i]);
    }
    struct xbundle *patch = xbridge_add_bundle(br, "patch", PATCH);
    patch->vlan_mode = VLAN_TRUNK;
    patch->trunks.any = true;
    xbundle_add_port(patch, "patch", (ofp_port_t) { PATCH }, ODPP_NONE)->is_patch = true;
    for (unsigned int i = 0; i < ARRAY_SIZE(firewall); i++) {
        kit_add_flow(br, firewall[i]);
    }
    xconfig_seal(c);
    engine_set_config(net->e, c);
}

static void open_engine(struct net *net)
{
    char *why = NULL;

    assert_int_equal(engine_create("sim", "recirc", &net->settings, &net->e, &why), 0);
    sim_set_output_cb(engine_dpif(net->e), frame_left, net);
}

static void net_init(struct net *net, enum dispatch_wish dispatch)
{
    sim_reset(); /* A test that failed leaves its datapath behind. */
    *net = (struct net) { .settings = ENGINE_SETTINGS_DEFAULT, .macs = mac_table_create() };
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = 2;
    net->settings.n_revalidators = 1;
    open_engine(net);
    for (unsigned int i = INSIDE; i <= OUTSIDE; i++) {
        assert_int_equal(engine_port_add(net->e, i == INSIDE ? "p1" : "p2", DPIF_PORT_NETDEV, ODPP_NONE, &net->odp[i]), 0);
    }
    publish(net);
}

static void net_uninit(struct net *net)
{
    engine_destroy(net->e, true);
    mac_table_unref(net->macs);
    rcu_barrier();
    sim_reset();
}

/* A packet of connection N, from the inside or in answer, arrives on CPU. */
static void speak(struct net *net, unsigned int port, unsigned int n, unsigned int cpu)
{
    static const struct eth_addr in = { { 2, 0, 0, 0, 0, 1 } }, out = { { 2, 0, 0, 0, 0, 2 } };
    struct packet_build p;

    if (port == INSIDE) {
        packet_build_udp(&p, in, out, 0x0a000001, 0x0a000002, 1000 + n, 53, 20);
    } else {
        packet_build_udp(&p, out, in, 0x0a000002, 0x0a000001, 53, 1000 + n, 20);
    }
    sim_inject(engine_dpif(net->e), net->odp[port], cpu, p.data, p.len);
}

static uint64_t outcome(const struct net *net, size_t offset)
{
    uint64_t sum = 0;

    for (unsigned int i = 0; i < net->e->n_handlers; i++) {
        struct handler_stats s;
        handler_get_stats(net->e->handlers[i], &s);
        sum += *(const uint64_t *) ((const char *) &s.upcalls + offset);
    }
    return sum;
}
#define OUTCOME_OF(NET, NAME) outcome(NET, offsetof(struct upcall_stats, NAME))

/* Every upcall has had its end, with what followed from it. */
static bool is_quiet(const struct net *net)
{
    struct dpif_stats stats;

    assert_int_equal(dpif_get_stats(engine_session(net->e), &stats), 0);
    assert_int_equal(stats.n_lost, 0);
    return OUTCOME_OF(net, executed) + OUTCOME_OF(net, dropped) + OUTCOME_OF(net, send_failed) == stats.n_missed;
}

#define AWAIT(CONDITION)                                            \
    for (uint64_t end_ = clock_msec() + PATIENCE_MS; !(CONDITION);) { \
        assert_true(clock_msec() < end_);                           \
        poll(NULL, 0, 1);                                           \
    }

static unsigned int n_out(const struct net *net, unsigned int port) { return __atomic_load_n(&net->n_out[port], __ATOMIC_RELAXED); }

static uint64_t n_missed(const struct net *net)
{
    struct dpif_stats stats;

    assert_int_equal(dpif_get_stats(engine_session(net->e), &stats), 0);
    return stats.n_missed;
}

static uint64_t n_flows(const struct net *net)
{
    struct dpif_stats stats;

    assert_int_equal(dpif_get_stats(engine_session(net->e), &stats), 0);
    return stats.n_flows;
}

/* A connection from inside, with all of its flows: asked, answered, asked again. */
static void converse(struct net *net, unsigned int n)
{
    unsigned int in = n_out(net, INSIDE), out = n_out(net, OUTSIDE);

    speak(net, INSIDE, n, n % 2);
    AWAIT(n_out(net, OUTSIDE) == out + 1);
    speak(net, OUTSIDE, n, n % 2);
    AWAIT(n_out(net, INSIDE) == in + 1);
    speak(net, INSIDE, n, n % 2);
    AWAIT(n_out(net, OUTSIDE) == out + 2);
}

static const enum dispatch_wish modes[] = { DISPATCH_PER_CPU, DISPATCH_PER_PORT };

static void connections_begin_inside_only(void **state UNUSED)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m]);
        speak(&net, OUTSIDE, 0, 0);
        AWAIT(OUTCOME_OF(&net, executed) + OUTCOME_OF(&net, dropped) == 2 && is_quiet(&net)); /* Untracked, then new. */
        assert_int_equal(n_out(&net, INSIDE), 0);
        converse(&net, 1);
        AWAIT(is_quiet(&net));
        /* Of each side: untracked, new, established.  From now on nothing climbs. */
        assert_int_equal(n_flows(&net), 6);
        uint64_t missed = n_missed(&net);
        for (unsigned int n = 2; n < 20; n++) {
            converse(&net, n);
        }
        assert_int_equal(n_missed(&net), missed);
        speak(&net, OUTSIDE, 99, 0);
        assert_int_equal(n_out(&net, INSIDE), 19);
        net_uninit(&net);
    }
}

static bool waited;
static void note_wait(void *aux UNUSED) { __atomic_store_n(&waited, true, __ATOMIC_RELEASE); }

static void round_of(struct net *net)
{
    __atomic_store_n(&waited, false, __ATOMIC_RELEASE);
    engine_wait(net->e, note_wait, NULL);
    AWAIT(__atomic_load_n(&waited, __ATOMIC_ACQUIRE));
}

/* ---- Packet-outs. ---- */

static void packet_out(struct net *net, ofp_port_t in_port, unsigned int n, const char *actions)
{
    struct buf acts = BUF_INITIALIZER;
    struct packet_build p;

    packet_build_udp(&p, (struct eth_addr) { { 2, 0, 0, 0, 0, 1 } }, (struct eth_addr) { { 2, 0, 0, 0, 0, 2 } }, 0x0a000001, 0x0a000002, 1000 + n, 53,
                     20);
    assert_null(ofp_acts_scan(actions, NULL, &acts));
    const struct engine_packet_out po = { .bridge = 77, .in_port = in_port, .packet = p.data, .len = p.len,
                                          .acts = (const struct ofp_act *) acts.data, .acts_len = acts.len };
    assert_int_equal(engine_packet_out(net->e, &po), 0);
    buf_uninit(&acts);
}

/* From no port, and from a patch port, which the datapath does not have: the packet comes back all the same, with the port that OpenFlow knows it by; and
 * the flow that is made for it is right for the next one, and is found right by revalidation. */
static void a_packet_out_of_no_datapath_port_comes_back(void **state UNUSED)
{
    static const ofp_port_t from[] = { { OFPP_NONE_N }, { OFPP_CONTROLLER_N }, { PATCH } };

    for (unsigned int i = 0; i < 2 * ARRAY_SIZE(from); i++) {
        struct net net;
        struct sim_counts counts;
        char actions[64];

        net_init(&net, modes[i % 2]);
        snprintf(actions, sizeof actions, "load:%u->NXM_NX_REG1[],ct(table=2,zone=7)", (unsigned int) from[i / 2].n);
        for (unsigned int n = 1; n <= 3; n++) {
            packet_out(&net, from[i / 2], 1, actions);
            AWAIT(n_out(&net, OUTSIDE) == n && n_out(&net, INSIDE) == n);
        }
        AWAIT(is_quiet(&net));
        assert_int_equal(OUTCOME_OF(&net, not_known), 0);
        assert_int_equal(n_flows(&net), 1);
        assert_int_equal(n_missed(&net), 1);
        sim_get_counts(engine_dpif(net.e), &counts);
        assert_int_equal(counts.n_puts, 1);
        engine_revalidate(net.e);
        round_of(&net);
        round_of(&net);
        packet_out(&net, from[i / 2], 1, actions);
        AWAIT(n_out(&net, OUTSIDE) == 4 && n_out(&net, INSIDE) == 4);
        sim_get_counts(engine_dpif(net.e), &counts);
        assert_int_equal(counts.n_puts, 1);
        assert_int_equal(counts.n_dels, 0);
        net_uninit(&net);
    }
}

/* A flow that has gone from the datapath is known for a moment longer. */
static uint64_t n_ukeys(const struct net *net)
{
    struct engine_memory memory;

    engine_memory(net->e, &memory);
    return memory.n_ukeys;
}

/* A state is held by the flow that brings packets back, and goes some time after it. */
static void ids_live_as_long_as_flows(void **state UNUSED)
{
    struct net net;

    net_init(&net, DISPATCH_PER_CPU);
    converse(&net, 1);
    AWAIT(is_quiet(&net));
    assert_int_equal(recirc_count(), 2);
    for (unsigned int i = 0; i < 3 * RECIRC_LINGER; i++) {
        engine_watch(net.e);
    }
    assert_int_equal(recirc_count(), 2);
    converse(&net, 2);
    net.settings.max_idle_ms = 1;
    assert_int_equal(engine_apply_settings(net.e, &net.settings), 0);
    AWAIT(n_flows(&net) == 0 && n_ukeys(&net) == 0);
    rcu_barrier(); /* The ukeys are freed. */
    assert_int_equal(recirc_count(), 2);
    for (unsigned int i = 0; i < RECIRC_LINGER + 2; i++) {
        engine_watch(net.e);
    }
    assert_int_equal(recirc_count(), 0);
    net_uninit(&net);
}

/* Restarted, with nothing known of what was frozen: the flows of the predecessor stay, those that packets come back to, too; and go on forwarding. */
static void a_restart_keeps_the_flows(void **state UNUSED)
{
    struct net net;
    struct sim_counts before, after;

    net_init(&net, DISPATCH_PER_CPU);
    converse(&net, 1);
    AWAIT(is_quiet(&net));
    uint64_t flows = n_flows(&net);
    engine_destroy(net.e, false);
    rcu_barrier();
    for (unsigned int i = 0; i < RECIRC_LINGER + 2; i++) {
        recirc_tick(); /* What a process forgets when it ends. */
    }
    assert_int_equal(recirc_count(), 0);
    open_engine(&net);
    for (unsigned int i = INSIDE; i <= OUTSIDE; i++) {
        assert_int_equal(engine_port_adopt(net.e, net.odp[i]), 0);
    }
    sim_get_counts(engine_dpif(net.e), &before);
    uint64_t missed = n_missed(&net);
    publish(&net);
    struct engine_memory memory = { 0 };
    AWAIT((round_of(&net), engine_memory(net.e, &memory), memory.n_ukeys == flows));
    converse(&net, 2);
    sim_get_counts(engine_dpif(net.e), &after);
    assert_int_equal(n_missed(&net), missed);
    assert_int_equal(after.n_dels, before.n_dels);
    assert_int_equal(recirc_count(), 2);
    net_uninit(&net);
}

/* Somebody's flow sends packets where we know of nothing: dropped, counted, and no flow made of it. */
static void packets_of_an_unknown_id_are_dropped_and_counted(void **state UNUSED)
{
    struct net net;
    struct packet_build p;
    uint32_t key_memory[ODP_KEY_MAX_SIZE / 4], actions_memory[16];
    struct attrbuf key, actions;
    struct flow flow;

    net_init(&net, DISPATCH_PER_CPU);
    packet_build_udp(&p, (struct eth_addr) { { 2, 0, 0, 0, 0, 1 } }, (struct eth_addr) { { 2, 0, 0, 0, 0, 2 } }, 1, 2, 3, 4, 20);
    memset(&flow, 0, sizeof flow);
    flow.in_port = net.odp[INSIDE];
    attrbuf_init(&key, key_memory, sizeof key_memory);
    odp_key_put(&key, &flow);
    attrbuf_init(&actions, actions_memory, sizeof actions_memory);
    odp_put_recirc(&actions, 4711);
    struct dpif_op op = { .type = DPIF_OP_EXECUTE,
                          .execute = { .packet = p.data, .packet_len = p.len, .key = attrbuf_data(&key), .key_len = attrbuf_len(&key),
                                       .actions = attrbuf_data(&actions), .actions_len = attrbuf_len(&actions) } },
                   *ops[] = { &op };
    dpif_operate(engine_session(net.e), ops, 1);
    assert_int_equal(op.error, 0);
    AWAIT(OUTCOME_OF(&net, not_known) == 1);
    assert_int_equal(OUTCOME_OF(&net, dropped), 1);
    assert_int_equal(n_flows(&net), 0);
    net_uninit(&net);
}

/* A flow that packets come back to, of a predecessor whose other flows are gone: left alone for a while, then deleted. */
static void flows_of_an_unknown_id_are_deleted_in_the_end(void **state UNUSED)
{
    struct net net;
    uint32_t key_memory[ODP_KEY_MAX_SIZE / 4], mask_memory[ODP_KEY_MAX_SIZE / 4];
    struct attrbuf key, mask;
    struct flow flow, bits;

    net_init(&net, DISPATCH_PER_CPU);
    memset(&flow, 0, sizeof flow);
    memset(&bits, 0, sizeof bits);
    flow.in_port = net.odp[INSIDE];
    flow.recirc_id = 4711;
    flow.eth_type = htons(0x88b5);
    FLOW_MASK_FIELD(&bits, in_port);
    FLOW_MASK_FIELD(&bits, recirc_id);
    FLOW_MASK_FIELD(&bits, eth_type);
    FLOW_MASK_FIELD(&bits, vlan[0]);
    attrbuf_init(&key, key_memory, sizeof key_memory);
    odp_key_put(&key, &flow);
    attrbuf_init(&mask, mask_memory, sizeof mask_memory);
    odp_mask_put(&mask, &flow, &bits);
    struct dpif_op op = { .type = DPIF_OP_FLOW_PUT,
                          .flow = { .has_ufid = true, .ufid = odp_ufid(&flow, &bits), .key = attrbuf_data(&key), .key_len = attrbuf_len(&key),
                                    .mask = attrbuf_data(&mask), .mask_len = attrbuf_len(&mask) } },
                   *ops[] = { &op };
    dpif_operate(engine_session(net.e), ops, 1);
    assert_int_equal(op.error, 0);
    for (unsigned int i = 0; i < 3; i++) {
        round_of(&net);
    }
    assert_int_equal(n_flows(&net), 1);
    for (unsigned int i = 0; i <= RECIRC_LINGER; i++) {
        recirc_tick();
    }
    AWAIT((round_of(&net), n_flows(&net) == 0));
    net_uninit(&net);
}

static int forget(void **state UNUSED)
{
    for (unsigned int i = 0; i < RECIRC_LINGER + 2; i++) {
        recirc_tick();
    }
    assert_int_equal(recirc_count(), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(connections_begin_inside_only, forget),
        cmocka_unit_test_teardown(a_packet_out_of_no_datapath_port_comes_back, forget),
        cmocka_unit_test_teardown(ids_live_as_long_as_flows, forget),
        cmocka_unit_test_teardown(a_restart_keeps_the_flows, forget),
        cmocka_unit_test_teardown(packets_of_an_unknown_id_are_dropped_and_counted, forget),
        cmocka_unit_test_teardown(flows_of_an_unknown_id_are_deleted_in_the_end, forget),
    };

    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    recirc_forget_all();
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
