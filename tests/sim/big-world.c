/* See big-world.h. */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/affinity.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/engine-private.h"
#include "ofproto/mac.h"
#include "tests/sim/big-world.h"
#include "tests/sim/sim-kit.h"

#define ETH_TYPE_TEST 0x88b5 /* IEEE: local experiments. */
#define NUMBER_AT 42         /* Where a packet's number is: behind what an ARP packet takes. */
#define JUMBO 9000
/* Numbers of CPUs on which packets come up: those that there can be, and some beyond. */
#define CPUS_SEEN (BIG_CPU_NUMBERS + 12)
/* Longer than this no upcall waits; odp-numbers.h counts on it. */
#define WAIT_MAX_MS 25000

static struct big_world *current; /* For what is called from within the engine. */

unsigned int big_random(struct big_world *w, unsigned int n)
{
    w->random = hash_u64(w->random, w->seed);
    return w->random % n;
}

void big_complain(struct big_world *w, uint32_t packet, const char *what)
{
    if (!w->complaint) {
        w->complaint = what;
        w->complaint_packet = packet;
    }
}

unsigned int big_ports_possible(unsigned int wanted)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    /* A channel is two descriptors in the simulation: the kernel's end is one.  And when the mode changes there are those of both. */
    rlim_t need = 2 * wanted + 3 * BIG_N_CPUS + 2 * 64;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? MAX(limit.rlim_cur, need) : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= need) {
        return wanted;
    }
    rlim_t spare = need - 2 * wanted;
    unsigned int possible = limit.rlim_cur > spare ? (limit.rlim_cur - spare) / 2 : 0;
    print_message("only %llu open files are allowed (ulimit -Hn), and %u ports with channels of their own take %llu: %u ports instead\n",
                  (unsigned long long) limit.rlim_cur, wanted, (unsigned long long) need, possible);
    return possible;
}

/* ---- Frames. ---- */

static struct eth_addr mac_of(unsigned int host) { return (struct eth_addr) { { 2, 0, 0, 0, host >> 8, host } }; }

static void frame_left(odp_port_t no, const void *frame, size_t len, void *w_)
{
    struct big_world *w = w_;
    uint32_t number;

    memcpy(&number, (const char *) frame + NUMBER_AT, sizeof number);
    assert_true(number < w->n_packets);
    struct big_packet *p = &w->packets[number];
    unsigned int out = w->by_odp[no.n], first = w->ports[p->in_port].first;

    if (out == BIG_NO_PORT || out == p->in_port || w->ports[out].first != first) {
        big_complain(w, number, "left where it must not");
    } else if (p->out >> (out - first) & 1) {
        big_complain(w, number, "left a port twice");
    } else if (p->state != BIG_HIT && p->state != BIG_KEPT) {
        big_complain(w, number, "left when nobody had it");
    } else {
        p->out |= 1u << (out - first);
    }
}

/* Makes the frame of packet NUMBER in BUF, JUMBO bytes long.  Returns its length. */
static size_t make_frame(uint8_t *buf, uint32_t number, unsigned int src, struct eth_addr dst, enum big_frame frame)
{
    struct packet_build b;

    if (frame == BIG_ARP) {
        packet_build_arp(&b, mac_of(src), dst, 1, 0x0a000000 + src, 0x0a000001);
    } else {
        packet_build_eth(&b, mac_of(src), dst, ETH_TYPE_TEST);
    }
    size_t len = frame == BIG_JUMBO ? JUMBO : 60;
    memset(buf, 0, len);
    memcpy(buf, b.data, b.len);
    memcpy(&buf[NUMBER_AT], &number, sizeof number);
    return len;
}

unsigned int big_expected(const struct big_world *w, const struct big_packet *p)
{
    const struct big_port *in = &w->ports[p->in_port];
    unsigned int expected = 0;
    uint32_t learned = 0;

    if (p->dst != BIG_TO_ALL) {
        rcu_read_lock();
        learned = mac_table_lookup(w->macs, in->vlan, mac_of(in->first + p->dst));
        rcu_read_unlock();
    }
    for (unsigned int i = 0; i < in->n_locals; i++) {
        const struct big_port *port = &w->ports[in->first + i];
        if (odp_port_eq(port->no, ODPP_NONE)) {
            continue;
        }
        unsigned int bit = in->first + i == p->in_port || port->vanished ? 0 : 1u << i;
        if (learned && learned == port->bundle) {
            return bit;
        }
        expected |= bit;
    }
    return expected;
}

/* A flow has seen to P.  If all flows are known to be right, so was it. */
static void check_hit(struct big_world *w, struct big_packet *p)
{
    if (w->quiet_seq == w->engine->fc.reval_seq && p->out != big_expected(w, p)) {
        big_complain(w, p - w->packets, "was misled by a flow that was held to be right");
    }
}

void big_send(struct big_world *w, unsigned int src, unsigned int dst, enum big_frame frame)
{
    static uint8_t buf[JUMBO];
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    unsigned int in_port = w->ports[src].host_at;
    struct big_port *in = &w->ports[in_port];
    struct dpif_stats before, after;

    dst = dst < in->n_locals ? dst : BIG_TO_ALL;
    if (odp_port_eq(in->no, ODPP_NONE) || in->vanished || w->n_packets == BIG_MAX_PACKETS) {
        return;
    }
    uint32_t number = w->n_packets++;
    struct big_packet *p = &w->packets[number];
    *p = (struct big_packet) { .gen = in->gen, .src = src, .in_port = in_port, .dst = dst, .state = BIG_HIT,
                               .is_arp = frame == BIG_ARP, .is_ordered = w->settled };
    size_t len = make_frame(buf, number, src, dst == BIG_TO_ALL ? broadcast : mac_of(in->first + dst), frame);
    assert_int_equal(dpif_get_stats(w->engine->session, &before), 0);
    unsigned int cpu = hash_u64(src * 8 + dst, w->seed) % CPUS_SEEN;
    sim_inject(w->engine->dpif, in->no, cpu, buf, len);
    assert_int_equal(dpif_get_stats(w->engine->session, &after), 0);

    assert_int_equal(after.n_hit + after.n_missed, before.n_hit + before.n_missed + 1);
    if (after.n_hit > before.n_hit) {
        w->n_hit++;
        check_hit(w, p);
    } else if (after.n_lost > before.n_lost) {
        p->state = BIG_LOST;
        w->n_lost++;
    } else {
        p->state = BIG_QUEUED;
        if (w->n_done + w->n_gone + w->n_dropped == w->n_queued) {
            w->waits_since = w->now;
        }
        w->n_queued++;
    }
}

/* ---- The engine without threads. ---- */

static void kicked(void *w_)
{
    struct big_world *w = w_;
    w->kicked = true;
}

void big_run_handler(struct big_world *w, unsigned int h)
{
    sim_set_thread_cpu(big_random(w, BIG_CPU_NUMBERS));
    handler_run_once(w->engine->handlers[h], 0);
    big_tally(w, h);
}

void big_drain(struct big_world *w)
{
    for (unsigned int taken = 1, idle = 0; taken || idle < 2; idle = taken ? 0 : idle + 1) {
        taken = 0;
        for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
            taken += handler_run_once(w->engine->handlers[h], 0);
        }
    }
    unsigned int away = 0;
    for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
        big_tally(w, h);
        away += handler_n_away(w->engine->handlers[h]);
    }
    w->settled |= !away && w->n_done + w->n_dropped + w->n_gone == w->n_queued;
}

void big_settle(struct big_world *w)
{
    unsigned int away = 0;
    for (unsigned int round = 0; round < 3 || away; round++) {
        assert_true(round < 100000);
        away = 0;
        for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
            handler_run_once(w->engine->handlers[h], 0);
        }
        for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
            away += handler_n_away(w->engine->handlers[h]);
        }
    }
    for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
        big_tally(w, h);
    }
}

/* The real one waits for the kernel's processors.  What it waits for happens here: upcalls that were on their way arrive, where the
 * kernel sent them by what it knew when they began. */
void __wrap_dispatch_kernel_grace_period(void);
void __wrap_dispatch_kernel_grace_period(void)
{
    struct big_world *w = current;
    if (w->n_in_grace) {
        dpif_flow_flush(w->engine->session); /* So that all of them come up. */
    }
    for (unsigned int n = w->n_in_grace, tries = 0; n && tries < 100000; tries++) {
        uint32_t before = w->n_packets;
        big_send(w, big_random(w, w->n_ports), big_random(w, BIG_TO_ALL + 1), BIG_SMALL);
        n -= w->n_packets > before;
    }
    w->n_in_grace = 0;
}

/* Crews that help whenever they can, so that small loads show it. */
static void crew_eager(struct big_world *w) { w->engine->crew->worth = (struct crew_worth) { .ns = 0, .upcalls = 4, .slice = 1 }; }

void big_apply(struct big_world *w)
{
    unsigned int old = w->engine->n_handlers;
    struct dispatch *before = w->engine->dispatch;

    big_settle(w);
    w->settled = false;
    assert_int_equal(engine_apply_settings(w->engine, &w->settings), 0);
    crew_eager(w);
    for (unsigned int i = 0; (w->engine->n_handlers < old || w->engine->dispatch != before) && i < w->n_ports; i++) {
        w->ports[i].whole = false;
    }
    memset(w->tally, 0, sizeof w->tally);
    memset(&w->sum, 0, sizeof w->sum);
    for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
        big_tally(w, h);
    }
    big_tally(w, ENGINE_MAX_THREADS);
}

void big_revalidate(struct big_world *w)
{
    uint64_t seq = w->engine->fc.reval_seq;
    revalidators_run_once(w->engine->revalidators);
    if (seq == w->engine->fc.reval_seq) {
        w->quiet_seq = seq;
    }
}

void big_advance(struct big_world *w, unsigned int msec)
{
    if (w->now + msec - w->waits_since > WAIT_MAX_MS) {
        big_drain(w);
        w->waits_since = w->now + msec;
    }
    w->now += msec;
    sim_set_time(w->now);
    clock_hold(w->now);
}

/* ---- The world. ---- */

static void make_vlans(struct big_world *w)
{
    unsigned int vlan = 0;
    for (unsigned int first = 0, n; first < w->n_ports; first += n) {
        n = 2 + big_random(w, 3);
        n = MIN(n, w->n_ports - first);
        vlan++;
        for (unsigned int i = first; i < first + n; i++) {
            w->ports[i] = (struct big_port) { .no = ODPP_NONE, .vlan = vlan, .first = first, .n_locals = n, .host_at = i };
        }
    }
    assert_true(vlan <= 4094);
}

struct big_world *big_create(uint64_t seed, unsigned int n_ports, enum dispatch_wish mode, unsigned int n_handlers)
{
    struct big_world *w = xzalloc(sizeof *w);
    char *error = NULL;

    current = w;
    w->seed = w->random = seed;
    w->n_ports = n_ports;
    w->ports = xcalloc(n_ports, sizeof *w->ports);
    w->by_odp = xcalloc(UINT16_MAX + 1, sizeof *w->by_odp);
    memset(w->by_odp, 0xff, (UINT16_MAX + 1) * sizeof *w->by_odp);
    w->was_used = xcalloc(UINT16_MAX + 1, sizeof *w->was_used);
    w->next_bundle = 1;
    w->settled = true;
    make_vlans(w);
    sim_reset(); /* A test that failed leaves its world behind. */
    w->now = w->waits_since = 1000000;
    big_advance(w, 0);
    w->macs = mac_table_create();
    mac_table_set_limits(w->macs, 4 * BIG_MAX_PORTS, 300);
    w->n_fds_before = count_fds();

    w->settings = (struct engine_settings) ENGINE_SETTINGS_DEFAULT;
    w->settings.dispatch = mode;
    w->settings.n_handlers = n_handlers;
    print_message("seed %llu: %u ports\n", (unsigned long long) seed, n_ports); /* Whatever fails from here on is its. */
    assert_int_equal(engine_create("sim", "big", &w->settings, &w->engine, &error), 0);
    w->engine->fc.wake = kicked;
    w->engine->fc.aux = w;
    crew_eager(w);
    sim_set_output_cb(w->engine->dpif, frame_left, w);
    unsigned int *all = xcalloc(n_ports, sizeof *all);
    for (unsigned int i = 0; i < n_ports; i++) {
        all[i] = i;
    }
    big_ports_add(w, all, n_ports);
    free(all);
    return w;
}

void big_destroy(struct big_world *w)
{
    big_settle(w);
    engine_destroy(w->engine, true);
    mac_table_unref(w->macs);
    rcu_barrier();
    free(w->ports);
    free(w->by_odp);
    free(w->was_used);
    free(w);
    current = NULL;
    sim_reset();
    clock_hold(0);
}
