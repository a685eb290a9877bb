/* Limits of upcalls a port, of an engine with its real threads on the simulated datapath.
 *
 *     p0 (limited)   p1        one bridge; every packet is from a host that nobody has seen, and so an upcall
 *
 * All limits here are one upcall a second, so that what gets through beyond the burst tells no more than how slow the machine
 * is: a second each. */
#include <config.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/thread.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/engine-private.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"

#define N_PORTS 2
#define BURST   20
#define FLOOD   500
/* Long enough for a loaded machine; only a failure takes it. */
#define PATIENCE_MS 20000

struct net {
    struct engine *e;
    struct engine_settings settings;
    struct mac_table *macs;
    odp_port_t odp[N_PORTS];
    unsigned int n_hosts;
    uint64_t limited_at; /* ms: when the bucket began. */
};

static const enum dispatch_wish modes[] = { DISPATCH_PER_CPU, DISPATCH_PER_PORT };

static void net_publish(struct net *net)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", net->macs);

    br->normal = true;
    for (unsigned int i = 0; i < N_PORTS; i++) {
        struct xbundle *b = xbridge_add_bundle(br, i ? "p1" : "p0", i + 1);
        b->vlan_mode = VLAN_TRUNK;
        b->trunks.any = true;
        b->floodable = true;
        xbundle_add_port(b, i ? "p1" : "p0", (ofp_port_t) { i + 1 }, net->odp[i]);
    }
    xconfig_seal(c);
    engine_set_config(net->e, c);
}

static void net_open(struct net *net)
{
    char *why = NULL;
    assert_int_equal(engine_create("sim", "limit", &net->settings, &net->e, &why), 0);
}

static void net_init(struct net *net, enum dispatch_wish dispatch)
{
    sim_reset(); /* A test that failed leaves its datapath behind. */
    *net = (struct net) { .settings = ENGINE_SETTINGS_DEFAULT, .macs = mac_table_create() };
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = 2;
    net->settings.n_revalidators = 1;
    net_open(net);
    for (unsigned int i = 0; i < N_PORTS; i++) {
        assert_int_equal(engine_port_add(net->e, i ? "p1" : "p0", DPIF_PORT_NETDEV, ODPP_NONE, &net->odp[i]), 0);
    }
    net_publish(net);
}

static void net_uninit(struct net *net)
{
    engine_destroy(net->e, true);
    mac_table_unref(net->macs);
    rcu_barrier();
    sim_reset();
}

static bool limit(struct net *net, uint32_t rate)
{
    struct port_limit l = { rate, BURST };
    net->limited_at = clock_msec();
    return engine_port_limit(net->e, net->odp[0], &l);
}

/* N hosts that were never heard of speak at PORT, on two CPUs. */
static void speak(struct net *net, unsigned int port, unsigned int n)
{
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };

    for (unsigned int i = 0; i < n; i++) {
        unsigned int host = net->n_hosts++;
        struct eth_addr src = { { 2, 0, host >> 24, host >> 16, host >> 8, host } };
        struct packet_build p;
        packet_build_eth(&p, src, broadcast, 0x88b5);
        packet_build_bytes(&p, NULL, 60 - p.len);
        sim_inject(engine_dpif(net->e), net->odp[port], i % 2, p.data, p.len);
    }
}

struct figures {
    uint32_t port;
    uint64_t received, drops, rate; /* Of the port. */
    uint64_t waiting;               /* Of all ports. */
};

static void add_figures(odp_port_t port, const struct port_stats *s, void *f_)
{
    struct figures *f = f_;
    if (port.n == f->port) {
        f->received += __atomic_load_n(&s->received, __ATOMIC_RELAXED);
        f->rate += __atomic_load_n(&s->drops[SCHED_DROP_rate], __ATOMIC_RELAXED);
        for (unsigned int i = 0; i < SCHED_N_DROPS; i++) {
            f->drops += __atomic_load_n(&s->drops[i], __ATOMIC_RELAXED);
        }
    }
}

static void figures(const struct net *net, unsigned int port, struct figures *f)
{
    *f = (struct figures) { .port = net->odp[port].n };
    for (unsigned int i = 0; i < net->e->n_handlers; i++) {
        struct handler_stats s;
        handler_get_stats(net->e->handlers[i], &s);
        handler_show_ports(net->e->handlers[i], add_figures, f);
        f->waiting += s.upcalls.received - s.upcalls.overload - s.wait.n;
    }
}

/* Waits until N upcalls of port I have come to the handlers that there are, and none waits.  Returns how many of them were dropped;
 * all of them for the rate.  (A port's own figures may lack what colleagues have served and its handler has not yet heard of.) */
static uint64_t await(const struct net *net, unsigned int i, uint64_t n)
{
    uint64_t end = clock_msec() + PATIENCE_MS;
    struct figures f;
    for (figures(net, i, &f); f.received != n || f.waiting; figures(net, i, &f)) {
        if (clock_msec() > end) {
            fail_msg("port %u: of %llu upcalls %llu came, %llu were dropped; %llu wait", f.port, (unsigned long long) n,
                     (unsigned long long) f.received, (unsigned long long) f.drops, (unsigned long long) f.waiting);
        }
        poll(NULL, 0, 1);
    }
    assert_int_equal(f.rate, f.drops);
    return f.drops;
}

/* Of FLOOD, a burst got through, and what may have been added since the limit began. */
static void check_limited(const struct net *net, uint64_t dropped)
{
    assert_in_range(FLOOD - dropped, BURST, BURST + (clock_msec() - net->limited_at) / 1000 + 1);
}

static void handlers_together_hold_a_port_to_its_rate_and_no_other(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m]);
        assert_true(limit(&net, 1));
        speak(&net, 0, FLOOD);
        speak(&net, 1, FLOOD);
        uint64_t dropped = await(&net, 0, FLOOD);
        check_limited(&net, dropped);
        assert_int_equal(await(&net, 1, FLOOD), 0);
        /* After a second there is one more, by the handlers' clock. */
        unsigned int more = 0;
        uint64_t end = clock_msec() + PATIENCE_MS;
        do {
            assert_true(clock_msec() < end);
            speak(&net, 0, 1);
            more++;
            poll(NULL, 0, 20);
        } while (await(&net, 0, FLOOD + more) - dropped == more);
        dropped += more - 1;
        /* It goes: all get through. */
        assert_true(limit(&net, 0));
        assert_false(limit(&net, 0));
        speak(&net, 0, FLOOD);
        assert_int_equal(await(&net, 0, 2 * FLOOD + more), dropped);
        net_uninit(&net);
    }
}

/* The number means another device now. */
static void a_port_under_a_number_used_again_has_no_limit(void **state)
{
    for (int m = 0; m < 4; m++) {
        struct net net;
        odp_port_t no;
        net_init(&net, modes[m % 2]);
        assert_true(limit(&net, 1));
        speak(&net, 0, FLOOD);
        check_limited(&net, await(&net, 0, FLOOD));
        if (m / 2) {
            assert_int_equal(engine_port_del(net.e, net.odp[0]), 0);
        } else {
            assert_int_equal(sim_port_vanish(engine_dpif(net.e), "p0"), 0);
            engine_port_gone(net.e, net.odp[0]);
        }
        assert_int_equal(engine_port_add(net.e, "p0", DPIF_PORT_NETDEV, net.odp[0], &no), 0);
        assert_int_equal(no.n, net.odp[0].n);
        speak(&net, 0, FLOOD + 1); /* Not as many as of the old one, which a handler may not have forgotten yet. */
        assert_int_equal(await(&net, 0, FLOOD + 1), 0);
        assert_true(limit(&net, 1)); /* It was none that was merely not felt. */
        net_uninit(&net);
    }
}

/* Else every change of a thread count would open the port again. */
static void a_limit_outlives_handlers_and_the_mode(void **state)
{
    struct net net;

    net_init(&net, DISPATCH_PER_CPU);
    assert_true(limit(&net, 1));
    speak(&net, 0, FLOOD);
    uint64_t dropped = await(&net, 0, FLOOD);
    net.settings.dispatch = DISPATCH_PER_PORT;
    net.settings.n_handlers = 3;
    assert_int_equal(engine_apply_settings(net.e, &net.settings), 0);
    speak(&net, 0, FLOOD);
    dropped += await(&net, 0, FLOOD); /* These handlers are new, and count from nothing; the bucket is the old one. */
    check_limited(&net, dropped - FLOOD);
    net_uninit(&net);
}

static void an_engine_begins_without_limits(void **state)
{
    struct net net;

    net_init(&net, DISPATCH_PER_CPU);
    assert_true(limit(&net, 1));
    engine_destroy(net.e, false);
    net_open(&net);
    for (unsigned int i = 0; i < N_PORTS; i++) {
        assert_int_equal(engine_port_adopt(net.e, net.odp[i]), 0);
    }
    net_publish(&net);
    speak(&net, 0, FLOOD);
    assert_int_equal(await(&net, 0, FLOOD), 0);
    assert_true(limit(&net, 1)); /* And whoever puts it in force again does so. */
    net_uninit(&net);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_together_hold_a_port_to_its_rate_and_no_other),
        cmocka_unit_test(a_port_under_a_number_used_again_has_no_limit),
        cmocka_unit_test(a_limit_outlives_handlers_and_the_mode),
        cmocka_unit_test(an_engine_begins_without_limits),
    };
    thread_main_init();
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return n_failed;
}
