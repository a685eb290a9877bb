/* The engine, with its real threads on the simulated datapath: what tests of it are made of.
 *
 *         ┌──────────── engine ────────────┐
 *         │ handler0 … handlerN            │  sessions, channels, threads, epoll watches, datapath requests:
 *         │     ▲ channels                 │  each can be made to fail, by the linker's --wrap
 *         └─────┼──────────────────────────┘
 *           ┌───┴── sim datapath ──┐
 *          p0   p1   p2   …       pN    one bridge, all trunks
 *
 * Included by one .c a test program, after <cmocka.h>, which defines faults_clear(): a test that failed may have left some. */
#ifndef ENGINE_NET_KIT_H
#define ENGINE_NET_KIT_H 1

#include <poll.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/compiler.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dispatch.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/engine-private.h"
#include "ofproto/engine.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"
#include "tests/sim/sim-kit.h"

#define ETH_TYPE_TEST 0x88b5 /* IEEE: local experiments. */
#define MAX_PORTS 64
/* Long enough for a loaded machine; only a failure takes it. */
#define PATIENCE_MS 10000

static void faults_clear(void);

/* ---- Waiting. ---- */

/* Waits until DONE(AUX), LIMIT_MS at most.  What it waits for is made by other threads, most of which have nobody to tell: so it
 * looks every millisecond. */
static bool await_within(bool (*done)(const void *aux), const void *aux, unsigned int limit_ms)
{
    uint64_t end = clock_msec() + limit_ms;
    while (!done(aux)) {
        if (clock_msec() >= end) {
            return done(aux);
        }
        poll(NULL, 0, 1);
    }
    return true;
}

static bool await(bool (*done)(const void *aux), const void *aux) { return await_within(done, aux, PATIENCE_MS); }

static bool is_set(const void *flag) { return __atomic_load_n((const bool *) flag, __ATOMIC_ACQUIRE); }
static void set(bool *flag) { __atomic_store_n(flag, true, __ATOMIC_RELEASE); }

static inline bool has_fds(const void *n) { return count_fds() == *(const size_t *) n; }

/* ---- The network. ---- */

struct net {
    struct engine *e;
    struct engine_settings settings;
    struct mac_table *macs;
    odp_port_t odp[MAX_PORTS];
    unsigned int n_ports;
    unsigned int n_hosts; /* Source addresses used so far. */
    unsigned int n_out;   /* Atomic: frames that left. */
    bool stop_flood;      /* Atomic. */
};

static void frame_left(odp_port_t port, const void *frame, size_t len, void *net_)
{
    struct net *net = net_;
    __atomic_add_fetch(&net->n_out, 1, __ATOMIC_RELAXED);
}

static struct xconfig *net_config(struct net *net)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", net->macs);

    br->normal = true;
    for (unsigned int i = 0; i < net->n_ports; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        struct xbundle *b = xbridge_add_bundle(br, name, i + 1);
        b->vlan_mode = VLAN_TRUNK;
        b->trunks.any = true;
        b->floodable = true;
        xbundle_add_port(b, name, (ofp_port_t) { i + 1 }, net->odp[i]);
    }
    xconfig_seal(c);
    return c;
}

static void net_init(struct net *net, enum dispatch_wish dispatch, unsigned int n_handlers, unsigned int n_ports)
{
    char *why = NULL;

    sim_reset(); /* A test that failed leaves its datapath behind. */
    faults_clear();
    *net = (struct net) { .settings = ENGINE_SETTINGS_DEFAULT, .macs = mac_table_create() };
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = n_handlers;
    net->settings.n_revalidators = 1;
    assert_int_equal(engine_create("sim", "failures", &net->settings, &net->e, &why), 0);
    sim_set_output_cb(engine_dpif(net->e), frame_left, net);
    for (; net->n_ports < n_ports; net->n_ports++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", net->n_ports);
        assert_int_equal(engine_port_add(net->e, name, DPIF_PORT_NETDEV, ODPP_NONE, &net->odp[net->n_ports]), 0);
    }
}

/* The engine's threads begin here. */
static inline void net_start(struct net *net) { engine_set_config(net->e, net_config(net)); }

static void net_uninit(struct net *net)
{
    if (net->e) {
        engine_destroy(net->e, true);
    }
    mac_table_unref(net->macs);
    rcu_barrier();
    sim_reset();
}

static void inject(struct net *net, unsigned int port, unsigned int cpu)
{
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    unsigned int host = net->n_hosts++;
    struct eth_addr src = { { 2, 0, host >> 24, host >> 16, host >> 8, host } };
    struct packet_build p;

    packet_build_eth(&p, src, broadcast, ETH_TYPE_TEST);
    packet_build_bytes(&p, NULL, 60 - p.len);
    sim_inject(engine_dpif(net->e), net->odp[port], cpu, p.data, p.len);
}

struct out_wish {
    const struct net *net;
    unsigned int n;
};

static bool has_left(const void *wish_)
{
    const struct out_wish *wish = wish_;
    return __atomic_load_n(&wish->net->n_out, __ATOMIC_RELAXED) >= wish->n;
}

/* A host that was never heard of speaks at each port, on each CPU: all ports hear it, and nothing is lost. */
static inline void check_all_served(struct net *net, const char *when)
{
    struct out_wish wish = { .net = net, .n = 2 * net->n_ports * (net->n_ports - 1) };
    struct dpif_stats stats;

    __atomic_store_n(&net->n_out, 0, __ATOMIC_RELAXED);
    for (unsigned int i = 0; i < 2 * net->n_ports; i++) {
        inject(net, i / 2, i % 2);
    }
    bool all = await(has_left, &wish);
    assert_int_equal(dpif_get_stats(engine_session(net->e), &stats), 0);
    unsigned int n_out = __atomic_load_n(&net->n_out, __ATOMIC_RELAXED);
    if (!all || stats.n_lost || n_out != wish.n) {
        fail_msg("%s: %u frames left (not %u), the kernel lost %llu upcalls", when, n_out, wish.n,
                 (unsigned long long) stats.n_lost);
    }
}

static inline unsigned int n_handlers(struct net *net)
{
    struct engine_memory memory;
    engine_memory(net->e, &memory);
    return memory.n_handlers;
}

static void apply(struct net *net, enum dispatch_wish dispatch, unsigned int n)
{
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = n;
    engine_apply_settings(net->e, &net->settings);
}

static const enum dispatch_wish modes[] = { DISPATCH_PER_CPU, DISPATCH_PER_PORT };

#endif
