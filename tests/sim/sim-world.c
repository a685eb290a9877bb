/* See sim-world.h. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate.h"
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

void world_send(struct world *w, unsigned int src, unsigned int dst)
{
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    unsigned int in_port = w->host_port[src];
    struct packet_build p;

    if (odp_port_eq(w->odp[in_port], ODPP_NONE) || w->n_packets == WORLD_MAX_PACKETS) {
        return;
    }
    uint32_t number = w->n_packets++;
    w->packets[number] = (struct world_packet) { .src = src, .dst = dst, .in_port = in_port };
    packet_build_eth(&p, mac_of(src), dst == w->n_hosts ? broadcast : mac_of(dst), ETH_TYPE_TEST);
    packet_build_bytes(&p, &number, sizeof number);
    packet_build_bytes(&p, NULL, 60 - p.len);
    sim_inject(w->dpif, w->odp[in_port], world_random(w, w->n_cpus), p.data, p.len);
}

/* ---- Configuration. ---- */

struct garbage {
    struct rcu_head rcu;
    struct xconfig *config;
};

static void garbage_free(struct rcu_head *head)
{
    struct garbage *g = CONTAINER_OF(head, struct garbage, rcu);
    xconfig_destroy(g->config);
    free(g);
}

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
    struct garbage *g = xmalloc(sizeof *g);
    g->config = old;
    call_rcu(&g->rcu, garbage_free);
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
    assert_int_equal(dpif_port_add(w->session, name, DPIF_PORT_NETDEV, port.pid, odp_numbers_suggest(&w->numbers, w->now), &w->odp[i]), 0);
    odp_numbers_use(&w->numbers, w->odp[i]);
    assert_int_equal(dispatch_port_commit(w->dispatch, &port, w->odp[i]), 0);
    w->bundle[i] = w->next_bundle++;
    publish(w);
}

void world_port_del(struct world *w, unsigned int i)
{
    odp_port_t no = w->odp[i];

    if (odp_port_eq(no, ODPP_NONE)) {
        return;
    }
    for (unsigned int n = 0; n < w->n_packets; n++) {
        w->packets[n].to_be_lost |= w->packets[n].in_port == i && !w->packets[n].out;
    }
    w->odp[i] = ODPP_NONE;
    publish(w);
    mac_table_flush_bundle(w->macs, w->bundle[i]);
    assert_int_equal(dpif_port_del(w->session, no), 0);
    dispatch_port_del(w->dispatch, no);
    odp_numbers_release(&w->numbers, no, w->now);
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
        assert_int_equal(handler_create(&w->fc, d, i, &w->handlers[i]), 0);
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

/* Without threads, a hand-over that another handler has yet to do has to be done before the receiver is joined. */
static void settle_commands(struct world *w)
{
    for (unsigned int round = 0; round < 3; round++) {
        for (unsigned int h = 0; h < w->n_handlers; h++) {
            handler_run_once(w->handlers[h], 0);
        }
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
        handler_destroy(w->handlers[h], &w->total);
        w->handlers[h] = NULL;
    }
    w->n_handlers = n;
    dispatch_trim(w->dispatch);
}

void world_switch(struct world *w, enum dpif_dispatch mode)
{
    struct dispatch *old = w->dispatch;
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
    handlers_make(w, w->dispatch, 0, n);
    for (unsigned int h = 0; old && h < n; h++) {
        handler_destroy(old_handlers[h], &w->total);
    }
    dispatch_close(old);
}

/* ---- Creation. ---- */

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
    assert_int_equal(dpif_open("sim", "world", &w->dpif, NULL), 0);
    assert_int_equal(dpif_session_open(w->dpif, &w->session), 0);
    sim_set_output_cb(w->dpif, frame_left, w);
    w->fc = (struct flowcache) {
        .dpif = w->dpif, .ukeys = ukey_table_create(), .reval_seq = 1, .round = 1, .flow_limit = 200000,
        .max_idle_ms = 10000, .max_revalidator_ms = 500, .wake = kicked, .aux = w,
    };
    assert_int_equal(revalidators_create(&w->fc, &w->revalidators), 0);
    w->macs = mac_table_create();
    assert_int_equal(dispatch_open(w->dpif, w->session, s->mode, s->n_handlers, NULL, 0, &w->dispatch), 0);
    handlers_make(w, w->dispatch, 0, s->n_handlers);
    for (unsigned int i = 0; i < w->n_ports; i++) {
        w->odp[i] = ODPP_NONE;
    }
    for (unsigned int i = 0; i < w->n_ports; i++) {
        world_port_add(w, i);
    }
    for (unsigned int h = 0; h < w->n_hosts; h++) {
        w->host_port[h] = h % w->n_ports;
    }
    return w;
}

void world_destroy(struct world *w)
{
    for (unsigned int h = 0; h < w->n_handlers; h++) {
        handler_destroy(w->handlers[h], &w->total);
    }
    dispatch_close(w->dispatch);
    revalidators_destroy(w->revalidators);
    ukey_table_destroy(w->fc.ukeys);
    synchronize_rcu();
    xconfig_destroy(w->fc.config);
    mac_table_unref(w->macs);
    dpif_session_close(w->session);
    dpif_close(w->dpif);
    rcu_barrier();
    odp_numbers_uninit(&w->numbers);
    free(w);
    sim_reset();
    clock_hold(0);
}

/* ---- What must hold. ---- */

static void check_packets(struct world *w)
{
    struct handler_stats total = w->total;
    struct dpif_stats dp;
    struct sim_counts counts;

    for (unsigned int h = 0; h < w->n_handlers; h++) {
        struct handler_stats s;
        handler_get_stats(w->handlers[h], &s);
        handler_stats_add(&total, &s);
    }
    assert_int_equal(dpif_get_stats(w->session, &dp), 0);
    sim_get_counts(w->dpif, &counts);
    assert_int_equal(dp.n_lost, 0);
    assert_int_equal(total.upcalls.malformed + total.upcalls.alien_action, 0);
    /* Each upcall that was delivered to a channel has been received, and has had one end. */
    assert_int_equal(total.upcalls.received, counts.n_miss_upcalls);
    assert_int_equal(total.upcalls.executed + total.upcalls.dropped + total.upcalls.send_failed, counts.n_miss_upcalls);
    for (unsigned int i = 0; i < w->n_packets; i++) {
        const struct world_packet *p = &w->packets[i];
        if (p->doubled || p->strayed) {
            fail_msg("seed %llu: packet %u (host %u at port %u to host %u) %s", (unsigned long long) w->seed, i, p->src,
                     p->in_port, p->dst, p->doubled ? "left a port twice" : "left where it must not");
        }
    }
}

static void check_flow(struct world *w, const struct dpif_flow *f)
{
    static char memory[XLATE_ACTIONS_SIZE];
    struct flow flow, mask;
    struct xlate_out out;

    assert_int_equal(odp_key_to_flow(f->key, f->key_len, &flow), ODP_FIT_PERFECT);
    assert_int_equal(odp_mask_to_flow(f->mask, f->mask_len, &flow, &mask), ODP_FIT_PERFECT);
    attrbuf_init(&out.actions, memory, sizeof memory);
    xlate(w->fc.config, &flow, &out);
    if (attrbuf_len(&out.actions) != f->actions_len
        || memcmp(attrbuf_data(&out.actions), f->actions, f->actions_len)) {
        fail_msg("seed %llu: a flow from port %u has actions that are not what the tables say",
                 (unsigned long long) w->seed, flow.in_port.n);
    }
    assert_true(flow_mask_is_subset(&out.mask, &mask));
    rcu_read_lock();
    struct ukey *u = ukey_find(w->fc.ukeys, &f->ufid);
    assert_non_null(u);
    assert_int_equal(u->state, UKEY_INSTALLED);
    rcu_read_unlock();
}

static void check_flows(struct world *w)
{
    struct dpif_flow_dump *dump;
    struct dpif_flow flows[16];
    uint64_t n_flows = 0;
    int n;

    assert_int_equal(dpif_flow_dump_create(w->dpif, false, &dump), 0);
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    while ((n = dpif_flow_dump_next(t, flows, 16)) > 0) {
        for (int i = 0; i < n; i++) {
            check_flow(w, &flows[i]);
        }
        n_flows += n;
    }
    dpif_flow_dump_thread_destroy(t);
    assert_int_equal(dpif_flow_dump_destroy(dump), 0);
    assert_int_equal(n_flows, ukey_table_count(w->fc.ukeys));
}

void world_check_at_rest(struct world *w)
{
    world_drain(w);
    do {
        w->kicked = false;
        revalidators_run_once(w->revalidators);
    } while (w->kicked);
    check_packets(w);
    check_flows(w);
}
