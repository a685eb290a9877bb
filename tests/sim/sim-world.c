/* See sim-world.h. */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/pkt/flow.h"
#include "lib/pkt/packet-build.h"
#include "lib/pkt/packet.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"
#include "tests/sim/sim-world.h"

#define ETH_TYPE_TEST 0x88b5 /* IEEE: local experiments. */

unsigned int world_random(struct world *w, unsigned int n)
{
    w->random = hash_u64(w->random, w->seed);
    return w->random % n;
}

static uint16_t vlan_of(const struct world *w, unsigned int port) { return 10 + port % w->n_vlans; }

static struct eth_addr mac_of(unsigned int host) { return (struct eth_addr) { { 2, 0, 0, 0, host >> 8, host } }; }

static void kicked(void *w_)
{
    struct world *w = w_;
    w->kicked = true;
}

/* ---- Frames that leave. ---- */

static int port_index(const struct world *w, odp_port_t no)
{
    for (unsigned int i = 0; i < w->n_ports; i++) {
        if (odp_port_eq(w->odp[i], no)) {
            return i;
        }
    }
    return -1;
}

static void frame_left(odp_port_t no, const void *frame, size_t len, void *w_)
{
    struct world *w = w_;
    uint32_t number;

    memcpy(&number, (const char *) frame + 14, sizeof number);
    assert_true(number < w->n_packets);
    struct world_packet *p = &w->packets[number];
    int i = port_index(w, no);
    if (i < 0 || (unsigned int) i == p->in_port || vlan_of(w, i) != vlan_of(w, p->in_port)) {
        p->strayed = true;
        return;
    }
    p->doubled |= p->out >> i & 1;
    p->out |= UINT64_C(1) << i;
}

static uint64_t n_missed(struct world *w)
{
    struct dpif_stats stats;
    assert_int_equal(dpif_get_stats(w->session, &stats), 0);
    return stats.n_missed;
}

void world_send(struct world *w, unsigned int src, unsigned int dst)
{
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    unsigned int in_port = w->host_port[src];
    struct packet_build b;

    if (odp_port_eq(w->odp[in_port], ODPP_NONE) || w->vanished[in_port] || w->n_packets == WORLD_MAX_PACKETS) {
        return;
    }
    uint32_t number = w->n_packets++;
    struct world_packet *p = &w->packets[number];
    *p = (struct world_packet) { .src = src, .dst = dst, .in_port = in_port, .in_odp = w->odp[in_port] };
    packet_build_eth(&b, mac_of(src), dst == w->n_hosts ? broadcast : mac_of(dst), ETH_TYPE_TEST);
    packet_build_bytes(&b, &number, sizeof number);
    packet_build_bytes(&b, NULL, 60 - b.len);

    uint64_t missed = n_missed(w);
    p->expected = world_expected(w, src, dst, in_port);
    sim_inject(w->dpif, w->odp[in_port], world_random(w, w->n_cpus), b.data, b.len);
    p->queued = n_missed(w) != missed;
    if (!p->queued && p->out != p->expected) {
        struct flow flow = { .in_port = p->in_odp };
        assert_int_equal(packet_extract(b.data, b.len, &flow), 0);
        p->misled = world_has_right_flow(w, &flow);
    }
}

/* ---- Configuration. ---- */

static void publish(struct world *w)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", w->macs);

    br->normal = true;
    for (unsigned int i = 0; i < w->n_ports; i++) {
        if (!odp_port_eq(w->odp[i], ODPP_NONE)) {
            char name[16];
            snprintf(name, sizeof name, "p%u", i);
            struct xbundle *b = xbridge_add_bundle(br, name, w->bundle[i]);
            b->vlan_mode = VLAN_ACCESS;
            b->tag = vlan_of(w, i);
            b->floodable = true;
            xbundle_add_port(b, name, (ofp_port_t) { i + 1 }, w->odp[i]);
        }
    }
    xconfig_seal(c);
    struct xconfig *old = w->fc.config;
    c->version = old ? old->version + 1 : 1;
    rcu_assign_pointer(w->fc.config, c);
    flowcache_revalidate(&w->fc);
    xconfig_destroy_rcu(old);
}

void world_port_add(struct world *w, unsigned int i)
{
    struct dispatch_port port;
    char name[16];

    if (!odp_port_eq(w->odp[i], ODPP_NONE)) {
        return;
    }
    snprintf(name, sizeof name, "p%u", i);
    assert_int_equal(dispatch_port_prepare(w->dispatch, &port), 0);
    odp_port_t no = odp_numbers_suggest(&w->numbers, w->now);
    assert_int_equal(dpif_port_add(w->session, name, DPIF_PORT_NETDEV, port.pid, no, &w->odp[i]), 0);
    odp_numbers_use(&w->numbers, w->odp[i]);
    assert_int_equal(dispatch_port_commit(w->dispatch, &port, w->odp[i]), 0);
    w->bundle[i] = w->next_bundle++;
    publish(w);
}

/* Port I is gone from the datapath, or goes now: first nothing refers to it any more. */
static odp_port_t port_forget(struct world *w, unsigned int i)
{
    odp_port_t no = w->odp[i];
    w->odp[i] = ODPP_NONE;
    w->vanished[i] = false;
    publish(w);
    if (mac_table_flush_bundle(w->macs, w->bundle[i])) {
        flowcache_revalidate(&w->fc);
    }
    return no;
}

static void port_release(struct world *w, odp_port_t no)
{
    w->port_went = true;
    port_ledger_forget(&w->total_ports, no);
    dispatch_port_del(w->dispatch, no);
    for (unsigned int h = 0; h < w->n_handlers; h++) {
        handler_port_gone(w->handlers[h], no);
    }
    odp_numbers_release(&w->numbers, no, w->now);
}

void world_port_del(struct world *w, unsigned int i)
{
    world_poll_ports(w);
    if (!odp_port_eq(w->odp[i], ODPP_NONE)) {
        odp_port_t no = port_forget(w, i);
        assert_int_equal(dpif_port_del(w->session, no), 0);
        port_release(w, no);
    }
}

void world_port_vanish(struct world *w, unsigned int i)
{
    char name[16];

    if (!odp_port_eq(w->odp[i], ODPP_NONE) && !w->vanished[i]) {
        snprintf(name, sizeof name, "p%u", i);
        assert_int_equal(sim_port_vanish(w->dpif, name), 0);
        w->vanished[i] = true;
    }
}

static void port_event(enum dpif_port_event event, const struct dpif_port *port, void *w_)
{
    struct world *w = w_;
    int i = port_index(w, port->no);
    if (event == DPIF_PORT_EVENT_DELETED && i >= 0) {
        port_release(w, port_forget(w, i));
    }
}

/* Events were lost, or those of a predecessor: what is there decides. */
static void ports_compare(struct world *w)
{
    for (unsigned int i = 0; i < w->n_ports; i++) {
        struct dpif_port port;
        if (!odp_port_eq(w->odp[i], ODPP_NONE) && dpif_port_query_by_number(w->session, w->odp[i], &port)) {
            port_release(w, port_forget(w, i));
        }
    }
}

void world_poll_ports(struct world *w)
{
    int error;
    while ((error = dpif_port_poll(w->dpif, port_event, w)) != 0) {
        assert_int_equal(error, -ENOBUFS);
        ports_compare(w);
    }
    for (unsigned int i = 0; i < w->n_ports; i++) {
        assert_false(w->vanished[i]);
    }
}

void world_move_host(struct world *w, unsigned int host, unsigned int port) { w->host_port[host] = port; }

void world_advance(struct world *w, unsigned int msec)
{
    w->now += msec;
    sim_set_time(w->now);
    clock_hold(w->now);
}

/* ---- Threads that are none. ---- */

static void handlers_make(struct world *w, struct dispatch *d, unsigned int from, unsigned int to)
{
    for (unsigned int i = from; i < to; i++) {
        assert_int_equal(handler_create(&w->fc, d, w->crew, i, &w->handlers[i]), 0);
    }
}

void world_run_handler(struct world *w, unsigned int h)
{
    sim_set_thread_cpu(world_random(w, w->n_cpus));
    handler_run_once(w->handlers[h], 0);
}

void world_drain(struct world *w)
{
    for (unsigned int taken = 1, idle = 0; taken || idle < 2; idle = taken ? 0 : idle + 1) {
        taken = 0;
        for (unsigned int h = 0; h < w->n_handlers; h++) {
            taken += handler_run_once(w->handlers[h], 0);
        }
    }
}

/* A crew that helps whenever it can, so that small worlds show it. */
static struct crew *crew_make(struct world *w)
{
    struct crew *crew = crew_create(w->dpif);
    crew_set_helps(crew, true);
    crew->worth = (struct crew_worth) { .ns = 0, .upcalls = 2, .slice = 1 };
    return crew;
}

/* Without threads, what another handler has yet to hand over, a channel or a lane, has to be handed over before the receiver is
 * joined. */
static void settle_commands(struct world *w)
{
    unsigned int away = 0;
    for (unsigned int round = 0; round < 3 || away; round++) {
        away = 0;
        for (unsigned int h = 0; h < w->n_handlers; h++) {
            handler_run_once(w->handlers[h], 0);
        }
        for (unsigned int h = 0; h < w->n_handlers; h++) {
            away += handler_n_away(w->handlers[h]);
        }
        assert_true(round < 10000);
    }
}

void world_resize(struct world *w, unsigned int n)
{
    unsigned int old = w->n_handlers;

    assert_int_equal(dispatch_resize(w->dispatch, n), 0);
    if (n > old) {
        handlers_make(w, w->dispatch, old, n);
        w->n_handlers = n;
        return;
    }
    /* More may come up before the old ones are told. */
    for (unsigned int i = 0; i < 4; i++) {
        world_send(w, world_random(w, w->n_hosts), world_random(w, w->n_hosts));
    }
    settle_commands(w);
    for (unsigned int h = n; h < old; h++) {
        handler_destroy(w->handlers[h], &w->total, &w->total_ports);
        w->handlers[h] = NULL;
    }
    w->n_handlers = n;
    dispatch_trim(w->dispatch);
}

void world_switch(struct world *w, enum dpif_dispatch mode)
{
    struct dispatch *old = w->dispatch;
    struct crew *old_crew = w->crew;
    struct handler *old_handlers[DISPATCH_MAX_HANDLERS];
    unsigned int n = w->n_handlers;
    odp_port_t ports[WORLD_MAX_PORTS];
    size_t n_ports = 0;

    for (unsigned int i = 0; i < w->n_ports; i++) {
        if (!odp_port_eq(w->odp[i], ODPP_NONE)) {
            ports[n_ports++] = w->odp[i];
        }
    }
    settle_commands(w);
    memcpy(old_handlers, w->handlers, sizeof old_handlers);
    assert_int_equal(dispatch_open(w->dpif, w->session, mode, n, ports, n_ports, &w->dispatch), 0);
    w->crew = crew_make(w);
    handlers_make(w, w->dispatch, 0, n);
    for (unsigned int h = 0; old && h < n; h++) {
        handler_destroy(old_handlers[h], &w->total, &w->total_ports);
    }
    crew_unref(old_crew);
    dispatch_close(old);
}

/* ---- The daemon and its world. ---- */

static void daemon_start(struct world *w, enum dpif_dispatch mode)
{
    odp_port_t ports[WORLD_MAX_PORTS];
    size_t n_ports = 0;

    assert_int_equal(dpif_open("sim", "world", &w->dpif, NULL), 0);
    assert_int_equal(dpif_session_open(w->dpif, &w->session), 0);
    sim_set_output_cb(w->dpif, frame_left, w);
    w->fc = (struct flowcache) {
        .dpif = w->dpif, .ukeys = ukey_table_create(), .reval_seq = 1, .round = 1, .flow_limit = 200000,
        .max_idle_ms = 10000, .max_revalidator_ms = 500, .wake = kicked, .aux = w,
    };
    assert_int_equal(revalidators_create(&w->fc, &w->revalidators), 0);
    for (unsigned int i = 0; i < w->n_ports; i++) {
        if (!odp_port_eq(w->odp[i], ODPP_NONE)) {
            ports[n_ports++] = w->odp[i];
        }
    }
    assert_int_equal(dispatch_open(w->dpif, w->session, mode, w->n_handlers, ports, n_ports, &w->dispatch), 0);
    w->crew = crew_make(w);
    handlers_make(w, w->dispatch, 0, w->n_handlers);
    publish(w);
}

static void daemon_stop(struct world *w)
{
    settle_commands(w);
    for (unsigned int h = 0; h < w->n_handlers; h++) {
        handler_destroy(w->handlers[h], &w->total, &w->total_ports);
        w->handlers[h] = NULL;
    }
    crew_unref(w->crew);
    dispatch_close(w->dispatch);
    revalidators_destroy(w->revalidators);
    ukey_table_destroy(w->fc.ukeys);
    synchronize_rcu();
    xconfig_destroy(w->fc.config);
    dpif_session_close(w->session);
    dpif_close(w->dpif);
    rcu_barrier();
}

struct world *world_create(uint64_t seed, const struct world_setup *s)
{
    struct world *w = xzalloc(sizeof *w);

    w->seed = w->random = seed;
    w->n_ports = s->n_ports;
    w->n_hosts = s->n_hosts;
    w->n_vlans = s->n_vlans;
    w->n_cpus = s->n_cpus;
    w->n_handlers = s->n_handlers;
    w->next_bundle = 1;
    sim_reset(); /* A test that failed leaves its world behind. */
    world_advance(w, 1000000);
    odp_numbers_init(&w->numbers);
    w->macs = mac_table_create();
    for (unsigned int i = 0; i < w->n_ports; i++) {
        w->odp[i] = ODPP_NONE;
    }
    daemon_start(w, s->mode);
    for (unsigned int i = 0; i < w->n_ports; i++) {
        world_port_add(w, i);
    }
    for (unsigned int h = 0; h < w->n_hosts; h++) {
        w->host_port[h] = h % w->n_ports;
    }
    return w;
}

void world_restart(struct world *w, enum dpif_dispatch mode, bool keep_macs)
{
    daemon_stop(w);
    if (!keep_macs) {
        mac_table_unref(w->macs);
        w->macs = mac_table_create();
    }
    daemon_start(w, mode);
    ports_compare(w);
}

void world_heal(struct world *w)
{
    for (int fault = 0; fault < SIM_N_FAULTS; fault++) {
        sim_set_fault(w->dpif, fault, 0);
    }
}

void world_destroy(struct world *w)
{
    daemon_stop(w);
    port_ledger_uninit(&w->total_ports);
    mac_table_unref(w->macs);
    rcu_barrier();
    odp_numbers_uninit(&w->numbers);
    free(w);
    sim_reset();
    clock_hold(0);
}

/* ---- What has to be. ---- */

uint64_t world_expected(const struct world *w, unsigned int src, unsigned int dst, unsigned int in_port)
{
    uint32_t learned = 0;
    uint64_t expected = 0;

    if (dst < w->n_hosts) {
        rcu_read_lock();
        learned = mac_table_lookup(w->macs, vlan_of(w, in_port), mac_of(dst));
        rcu_read_unlock();
    }
    for (unsigned int i = 0; i < w->n_ports; i++) {
        if (!odp_port_eq(w->odp[i], ODPP_NONE) && vlan_of(w, i) == vlan_of(w, in_port)) {
            if (learned && learned == w->bundle[i]) {
                return i == in_port || w->vanished[i] ? 0 : UINT64_C(1) << i;
            }
            expected |= (uint64_t) (i != in_port && !w->vanished[i]) << i;
        }
    }
    return expected;
}
