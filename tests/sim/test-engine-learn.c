/* Learning with real threads: handlers and revalidators of an engine on the simulated datapath, and this thread as main.
 *
 *     A ── p0 (1) [ br0 ] p1 (2) ── B        p2 (3)
 *
 * Table 0 learns who is behind a port into table 1, which floods to whom it does not know. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <event2/event.h>

#include "lib/base/clock.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine-private.h"
#include "ofproto/engine.h"
#include "ofproto/ofproto-private.h"
#include "tests/unit/xlate-tables-kit.h"

#define N_PORTS 3
/* Long enough for a loaded machine; only a failure takes it. */
#define PATIENCE_MS 20000
#define TCP_FIN 0x01
#define TCP_ACK 0x10

static const struct eth_addr mac_a = { { 2, 0, 0, 0, 0, 0xa } }, mac_b = { { 2, 0, 0, 0, 0, 0xb } };
static struct event_base *base;

struct net {
    struct engine *e;
    struct ofproto *ofproto;
    odp_port_t odp[N_PORTS];
    unsigned int n_out[N_PORTS]; /* Atomic: frames that left. */
};

static void frame_left(odp_port_t port, const void *frame UNUSED, size_t len UNUSED, void *net_)
{
    struct net *net = net_;

    for (unsigned int i = 0; i < N_PORTS; i++) {
        if (odp_port_eq(net->odp[i], port)) {
            __atomic_add_fetch(&net->n_out[i], 1, __ATOMIC_RELAXED);
        }
    }
}

static void tables_changed(void *net_)
{
    struct net *net = net_;

    engine_revalidate(net->e);
}

static bool no_stats(ofp_port_t port UNUSED, struct ofp_port_stats *ret UNUSED, void *net UNUSED) { return false; }

static const struct ofproto_ops ops = { .changed = tables_changed, .port_stats = no_stats };

static void add_flow(struct net *net, const char *text, unsigned int idle_timeout)
{
    struct buf acts = BUF_INITIALIZER;
    struct flow_mod fm = kit_flow_mod(text, &acts);

    fm.spec.idle_timeout = idle_timeout;
    assert_int_equal(kit_check(&fm, &acts), OFPERR_NONE);
    assert_int_equal(ofproto_flow_mod(net->ofproto, &fm), OFPERR_NONE);
    buf_uninit(&acts);
}

static void net_init(struct net *net)
{
    struct engine_settings settings = ENGINE_SETTINGS_DEFAULT;
    struct xconfig *c = xconfig_create();
    char *why = NULL;

    sim_reset();
    memset(net, 0, sizeof *net);
    settings.n_handlers = 2;
    settings.n_revalidators = 1;
    assert_int_equal(engine_create("sim", "learn", &settings, &net->e, &why), 0);
    sim_set_output_cb(engine_dpif(net->e), frame_left, net);
    net->ofproto = ofproto_create(base, "br0", &ops, net);
    struct xbridge *br = kit_add_bridge(c, "br0", "");
    br->tables = tables_ref(ofproto_tables(net->ofproto));
    for (unsigned int i = 0; i < N_PORTS; i++) {
        char name[] = { 'p', '0' + i, '\0' };
        assert_int_equal(engine_port_add(net->e, name, DPIF_PORT_NETDEV, ODPP_NONE, &net->odp[i]), 0);
        struct xbundle *b = xbridge_add_bundle(br, name, i + 1);
        b->vlan_mode = VLAN_TRUNK;
        b->trunks.any = true;
        b->floodable = true;
        xbundle_add_port(b, name, (ofp_port_t) { i + 1 }, net->odp[i]);
    }
    xconfig_seal(c);
    engine_set_config(net->e, c);
}

static void net_uninit(struct net *net)
{
    engine_destroy(net->e, true);
    ofproto_destroy(net->ofproto);
    rcu_barrier();
    sim_reset();
}

static void send_tcp(struct net *net, unsigned int port, struct eth_addr src, struct eth_addr dst, uint16_t tcp_flags)
{
    struct packet_build p;

    packet_build_tcp(&p, src, dst, 0x0a000001, 0x0a000002, 1000, 80, tcp_flags);
    sim_inject(engine_dpif(net->e), net->odp[port], 0, p.data, p.len);
}

/* Main's work until DONE(AUX).  What it waits for is made by threads of which some have nobody to tell. */
static bool await(struct net *net, bool (*done)(struct net *))
{
    for (uint64_t end = clock_msec() + PATIENCE_MS; !done(net);) {
        const struct timeval soon = { .tv_usec = 1000 };
        if (clock_msec() >= end) {
            return false;
        }
        event_base_loopexit(base, &soon);
        event_base_dispatch(base);
    }
    return true;
}

struct find {
    unsigned int n;
    struct rule *rule;
};

static bool note(struct rule *r, void *find_)
{
    struct find *f = find_;

    if (r->idle_timeout || r->table_id == 0) {
        f->n++;
        f->rule = r;
    }
    return true;
}

static struct find learned(struct net *net, uint8_t table)
{
    const struct tables *t = ofproto_tables(net->ofproto);
    struct find f = { .n = 0 };

    rcu_read_lock();
    tables_for_each(t, table, NULL, tables_version(t), note, &f);
    rcu_read_unlock();
    return f;
}

static bool has_one(struct net *net) { return learned(net, 1).n == 1; }
static bool has_two(struct net *net) { return learned(net, 1).n == 2; }
static bool is_fresh(struct net *net) { return rule_modified(learned(net, 1).rule) > 1; }
static bool is_shorter(struct net *net) { return learned(net, 0).rule->idle_timeout == 5; }

static unsigned int out(struct net *net, unsigned int port) { return __atomic_load_n(&net->n_out[port], __ATOMIC_RELAXED); }
static bool has_left_twice_at_p1(struct net *net) { return out(net, 1) >= 2; }

static bool round_ended; /* Atomic. */
static void round_ends(void *aux UNUSED) { __atomic_store_n(&round_ended, true, __ATOMIC_RELEASE); }
static bool has_round_ended(struct net *net UNUSED) { return __atomic_load_n(&round_ended, __ATOMIC_ACQUIRE); }

static void await_round(struct net *net)
{
    __atomic_store_n(&round_ended, false, __ATOMIC_RELAXED);
    engine_wait(net->e, round_ends, NULL);
    assert_true(await(net, has_round_ended));
}

static const char learn_src[] = "table=0 actions=learn(table=1,idle_timeout=600,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),resubmit(,1)";

static void what_is_learned_stays_fresh_while_the_datapath_forwards(void **state UNUSED)
{
    struct net net;

    net_init(&net);
    add_flow(&net, learn_src, 0);
    add_flow(&net, "table=1,priority=0 actions=FLOOD", 0);
    send_tcp(&net, 0, mac_a, mac_b, TCP_ACK);
    assert_true(await(&net, has_one));
    await_round(&net);
    struct rule *r = learned(&net, 1).rule;
    __atomic_store_n(&r->modified, 1, __ATOMIC_RELAXED);
    await_round(&net);
    await_round(&net);
    assert_int_equal(rule_modified(r), 1); /* Nobody has said it again. */
    send_tcp(&net, 0, mac_a, mac_b, TCP_ACK);
    await_round(&net);
    assert_true(await(&net, is_fresh));
    assert_int_equal(rule_packets(learned(&net, 1).rule), 0);
    net_uninit(&net);
}

static uint64_t n_missed(const struct net *net)
{
    struct dpif_stats stats;

    assert_int_equal(dpif_get_stats(engine_session(net->e), &stats), 0);
    return stats.n_missed;
}

/* The round that deletes a flow is the last to hear of its packets: those before its look, and those until the flow was gone. */
static void a_flow_that_is_deleted_teaches_by_its_last_packets(void **state UNUSED)
{
    for (unsigned int purge = 0; purge < 2; purge++) {
        struct net net;

        net_init(&net);
        add_flow(&net, learn_src, 0);
        add_flow(&net, "table=1,priority=0 actions=FLOOD", 0);
        send_tcp(&net, 0, mac_a, mac_b, TCP_ACK);
        assert_true(await(&net, has_one));
        await_round(&net);
        await_round(&net);
        send_tcp(&net, 0, mac_a, mac_b, TCP_ACK); /* What was learned has made the first flow too wide: a second one. */
        await_round(&net);
        await_round(&net);
        __atomic_store_n(&learned(&net, 1).rule->modified, 1, __ATOMIC_RELAXED);
        uint64_t missed = n_missed(&net);
        send_tcp(&net, 0, mac_a, mac_b, TCP_ACK);
        assert_int_equal(n_missed(&net), missed); /* Only the datapath has seen it. */
        if (purge) {
            assert_int_equal(engine_purge(net.e), 0);
        } else {
            add_flow(&net, "table=0,priority=65535,tcp,tcp_dst=81 actions=drop", 0); /* The flow covers too much now. */
            await_round(&net);
        }
        assert_true(await(&net, is_fresh));
        net_uninit(&net);
    }
}

static void the_flow_of_the_other_direction_is_put_right(void **state UNUSED)
{
    struct net net;

    net_init(&net);
    add_flow(&net, learn_src, 0);
    add_flow(&net, "table=1,priority=0 actions=FLOOD", 0);
    send_tcp(&net, 0, mac_a, mac_b, TCP_ACK); /* Nobody knows B: by all ports. */
    assert_true(await(&net, has_one));
    send_tcp(&net, 1, mac_b, mac_a, TCP_ACK);
    assert_true(await(&net, has_two));
    await_round(&net);
    await_round(&net);
    unsigned int n = out(&net, 2);
    assert_int_equal(n, 1);
    assert_int_equal(out(&net, 1), 1);
    send_tcp(&net, 0, mac_a, mac_b, TCP_ACK);
    assert_true(await(&net, has_left_twice_at_p1));
    assert_int_equal(out(&net, 2), n);
    net_uninit(&net);
}

static void a_fin_that_only_the_datapath_sees_shortens(void **state UNUSED)
{
    struct net net;

    net_init(&net);
    add_flow(&net, "table=0 actions=fin_timeout(idle_timeout=5),output:2", 600);
    send_tcp(&net, 0, mac_a, mac_b, TCP_ACK);
    await_round(&net);
    await_round(&net);
    assert_int_equal(learned(&net, 0).rule->idle_timeout, 600);
    send_tcp(&net, 0, mac_a, mac_b, TCP_ACK | TCP_FIN);
    assert_true(await(&net, is_shorter));
    net_uninit(&net);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_learned_stays_fresh_while_the_datapath_forwards),
        cmocka_unit_test(a_flow_that_is_deleted_teaches_by_its_last_packets),
        cmocka_unit_test(the_flow_of_the_other_direction_is_put_right),
        cmocka_unit_test(a_fin_that_only_the_datapath_sees_shortens),
    };

    rcu_register_thread();
    base = event_base_new();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
