/* What flows hand up: packets for controllers, which come to main, and packets that the kernel cannot do, which handlers do.  The engine with its
 * real threads, in both modes of dispatch, on the simulated datapath. */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "lib/odp/odp-actions.h"
#include "lib/pkt/packet.h"
#include "tests/sim/engine-net-kit.h"
#include "tests/unit/xlate-tables-kit.h"

static void faults_clear(void) { }

/* ---- Main's part: packets are taken out of the inbox by the test. ---- */

static unsigned int n_pins, n_pins_of[MAX_PORTS + 1]; /* By OpenFlow port. */
static struct odp_cookie last;

static void take(struct net *net)
{
    bool more = true;

    while (more) {
        struct pin *next;
        for (struct pin *p = pin_inbox_take(&net->e->pins, 64, &more); p; p = next) {
            next = p->next;
            n_pins++;
            n_pins_of[p->cookie.in_port.n]++;
            last = p->cookie;
            assert_int_equal(p->port.n, net->odp[p->cookie.in_port.n - 1].n);
            pin_destroy(p);
        }
    }
}

struct wish {
    struct net *net;
    unsigned int n;
};

static bool have_come(const void *wish_)
{
    const struct wish *wish = wish_;

    take(wish->net);
    return n_pins >= wish->n;
}

/* ---- A bridge with tables. ---- */

static struct tables *tables; /* Of the only bridge. */
static unsigned int n_replies; /* Atomic: ARP replies that left by port 0. */

static void watch(odp_port_t port, const void *frame, size_t len, void *net_)
{
    struct net *net = net_;
    struct flow flow;

    packet_extract(frame, len, &flow);
    if (flow.eth_type == htons(ETH_TYPE_ARP) && flow.arp_op == htons(2) && flow.arp_sha.ea[5] == 0x50) {
        __atomic_add_fetch(&n_replies, 1, __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&net->n_out, 1, __ATOMIC_RELAXED);
}

static void publish(struct net *net, const char *const *flows)
{
    struct xconfig *c = net_config(net);
    struct xbridge *br = c->bridges[0];

    br->id = 77;
    for (; *flows; flows++) {
        kit_add_flow(br, *flows);
    }
    tables = br->tables;
    engine_set_config(net->e, c);
}

/* Main has no loop here: it looks by itself. */
static void woken(void *aux UNUSED) { }

static void start(struct net *net, enum dispatch_wish mode, const char *const *flows)
{
    net_init(net, mode, 2, 4);
    sim_set_output_cb(engine_dpif(net->e), watch, net);
    net->e->pins.wake = woken;
    n_pins = n_replies = 0;
    memset(n_pins_of, 0, sizeof n_pins_of);
    publish(net, flows);
}

static void ask(struct net *net, unsigned int port, unsigned int target)
{
    struct packet_build p;

    packet_build_arp(&p, (struct eth_addr) { { 2, 0, 0, 0, 0, port + 1 } }, (struct eth_addr) { { 255, 255, 255, 255, 255, 255 } }, 1, 1, target);
    sim_inject(engine_dpif(net->e), net->odp[port], 0, p.data, p.len);
}

/* ---- */

static void the_first_packet_and_those_of_the_flow_come_to_main(void **state UNUSED)
{
    static const char *const flows[] = { "in_port=1 actions=load:5->NXM_NX_REG0[],controller(userdata=01),output:2", NULL };

    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        struct net net;
        start(&net, modes[m], flows);
        for (unsigned int n = 1; n <= 20; n++) {
            ask(&net, 0, 9);
            struct wish wish = { &net, n };
            assert_true(await(have_come, &wish));
        }
        assert_int_equal(n_pins, 20);
        assert_int_equal(last.bridge, 77);
        assert_int_equal(ntohl(last.regs[0]), 5);
        assert_int_equal(last.userdata.n, 1);
        struct out_wish out = { .net = &net, .n = 20 };
        assert_true(await(has_left, &out));
        /* A change of the mode: flows get the port ids of the new channels. */
        apply(&net, modes[!m], 2);
        bool done = false;
        engine_wait(net.e, (void (*)(void *)) set, &done);
        assert_true(await(is_set, &done));
        for (unsigned int n = 21; n <= 40; n++) {
            ask(&net, 0, 9);
            struct wish wish = { &net, n };
            assert_true(await(have_come, &wish));
        }
        net_uninit(&net);
    }
}

static void what_the_kernel_cannot_write_is_done_for_each_packet(void **state UNUSED)
{
    static const char *const flows[] = { "arp,arp_op=1 actions=load:2->NXM_OF_ARP_OP[],load:0x50->NXM_NX_ARP_SHA[],output:3,in_port", NULL };

    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        struct net net;
        start(&net, modes[m], flows);
        struct out_wish out = { .net = &net, .n = 2 };
        ask(&net, 0, 9);
        assert_true(await(has_left, &out));
        for (unsigned int i = 1; i < 50; i++) {
            ask(&net, 0, 9);
        }
        out.n = 100;
        assert_true(await(has_left, &out));
        assert_int_equal(__atomic_load_n(&n_replies, __ATOMIC_RELAXED), 100);

        struct handler_stats stats = { 0 };
        for (unsigned int i = 0; i < net.e->n_handlers; i++) {
            struct handler_stats one;
            handler_get_stats(net.e->handlers[i], &one);
            handler_stats_add(&stats, &one);
        }
        assert_int_equal(stats.upcalls.slow, 50);
        assert_int_equal(stats.upcalls.alien_action + stats.upcalls.send_failed + stats.upcalls.put_failed, 0);
        assert_int_equal(stats.upcalls.installed, 1); /* Once: not with each packet. */
        struct sim_counts counts;
        sim_get_counts(engine_dpif(net.e), &counts);
        assert_int_equal(counts.n_puts, 1);
        /* Revalidation finds the flow right as it is. */
        bool done = false;
        engine_revalidate(net.e);
        engine_wait(net.e, (void (*)(void *)) set, &done);
        assert_true(await(is_set, &done));
        struct table_stats table;
        tables_get_stats(tables, 0, &table);
        assert_int_equal(table.matches, 50); /* Each once, though each came up. */
        ask(&net, 0, 9);
        out.n = 102;
        assert_true(await(has_left, &out));
        sim_get_counts(engine_dpif(net.e), &counts);
        assert_int_equal(counts.n_puts, 1);
        assert_int_equal(counts.n_dels, 0);
        net_uninit(&net);
    }
}

struct seen {
    struct net *net;
    odp_port_t port;
    uint64_t received, dropped;
};

static void look(const struct pin_counts *c, void *seen_)
{
    struct seen *seen = seen_;

    if (odp_port_eq(c->port, seen->port)) {
        seen->received = c->received[OFPR_ACTION];
        seen->dropped = c->dropped[OFPR_ACTION];
    }
}

/* The kernel's queue may have been full of the flood: so again, until one has come as far as to us. */
static bool victim_is_heard(const void *seen_)
{
    struct seen *seen = (void *) seen_;

    inject(seen->net, 2, 1);
    pin_inbox_show(&seen->net->e->pins, look, seen);
    return seen->received > 0;
}

/* Main does not look while a port floods.  When it does, another port's packet has found room, and is not behind the flood. */
static void a_flood_of_one_port_does_not_starve_another(void **state UNUSED)
{
    static const char *const flows[] = { "actions=controller", NULL };
    struct net net;
    bool more;

    start(&net, DISPATCH_AUTO, flows);
    struct seen flood = { .net = &net, .port = net.odp[1] }, victim = { .net = &net, .port = net.odp[2] };
    for (unsigned int i = 0; i < 100000 && !flood.dropped; i++) {
        inject(&net, 1, 0);
        pin_inbox_show(&net.e->pins, look, &flood);
    }
    assert_true(flood.dropped > 0);
    assert_true(await(victim_is_heard, &victim));
    assert_int_equal(victim.dropped, 0);
    struct pin *p = pin_inbox_take(&net.e->pins, 2, &more);
    assert_int_equal(odp_port_eq(p->port, victim.port) + odp_port_eq(p->next->port, victim.port), 1);
    pin_destroy(p->next);
    pin_destroy(p);
    net_uninit(&net);
}

static void a_packet_out_is_carried_out_and_counted(void **state UNUSED)
{
    static const char *const flows[] = { "in_port=1 actions=output:3", NULL };
    struct buf acts = BUF_INITIALIZER;
    struct packet_build p;
    struct net net;

    start(&net, DISPATCH_AUTO, flows);
    packet_build_arp(&p, (struct eth_addr) { { 2 } }, (struct eth_addr) { { 4 } }, 1, 1, 2);
    assert_null(ofp_acts_scan("table,load:2->NXM_OF_ARP_OP[],load:0x50->NXM_NX_ARP_SHA[],output:4,controller", NULL, &acts));
    struct engine_packet_out po = { .bridge = 77, .in_port = { 1 }, .packet = p.data, .len = p.len,
                                    .acts = (const struct ofp_act *) acts.data, .acts_len = acts.len };
    assert_int_equal(engine_packet_out(net.e, &po), 0);
    assert_int_equal(net.n_out, 2);
    assert_int_equal(n_replies, 1);
    struct wish wish = { &net, 1 };
    assert_true(await(have_come, &wish));
    assert_int_equal(last.reason, OFPR_PACKET_OUT);
    po.bridge = 78;
    assert_int_equal(engine_packet_out(net.e, &po), -ENODEV);
    buf_uninit(&acts);
    net_uninit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_packet_and_those_of_the_flow_come_to_main),
        cmocka_unit_test(what_the_kernel_cannot_write_is_done_for_each_packet),
        cmocka_unit_test(a_flood_of_one_port_does_not_starve_another),
        cmocka_unit_test(a_packet_out_is_carried_out_and_counted),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
