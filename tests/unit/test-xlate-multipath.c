/* multipath, bundle, bundle_load, outputs that are truncated, and what depends on the packet's length. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>

#include "lib/odp/odp-cookie.h"
#include "lib/ofp/ofp-msg-port.h"
#include "tests/unit/xlate-tables-kit.h"

static char actions_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out out;

#define TCP "tcp,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=1000,tp_dst=80"
#define TCP6 "tcp6,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,ipv6_src=fe80::1,ipv6_dst=fe80::2,tp_src=1000,tp_dst=80"

static struct xconfig *config(const char *actions)
{
    char *flow = xasprintf("actions=%s", actions);
    const char *const flows[] = { flow, "table=1,reg0=0 actions=output:2", "table=1,reg0=1 actions=output:3", "table=1,reg0=2 actions=output:4" };
    struct xconfig *c = kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t", flows, ARRAY_SIZE(flows));

    free(flow);
    return c;
}

static struct xport *port(const struct xconfig *c, unsigned int no) { return xbridge_port_by_ofp(c->bridges[0], (ofp_port_t) { no }); }

/* The datapath's actions for PACKET, and what was looked at. */
static void expect(const struct xconfig *c, const char *packet, const char *actions, const char *mask)
{
    struct flow flow = kit_packet(packet);

    kit_translate(c, &flow, actions_memory, &out);
    char *now = kit_actions_text(&out.actions), *looked = kit_mask_text(&flow, &out.mask);
    assert_string_equal(now, actions);
    if (mask) {
        assert_string_equal(looked, mask);
    }
    free(now);
    free(looked);
}

static void check(const char *acts, const char *packet, const char *actions, const char *mask)
{
    struct xconfig *c = config(acts);

    expect(c, packet, actions, mask);
    xconfig_destroy(c);
}

static void truncation_is_of_one_output(void **state UNUSED)
{
    check("output(port=2,max_len=100),output:3", TCP, "trunc(100),2,3", "");
    check("output(port=2,max_len=100),output(port=3,max_len=200)", TCP, "trunc(100),2,trunc(200),3", "");
    check("mod_dl_dst:02:00:00:00:00:09,output(port=2,max_len=100),output(port=in_port,max_len=14)", TCP,
          "set(eth(dst=02:00:00:00:00:09)),trunc(100),2,trunc(14),1", NULL);
    check("output(port=1,max_len=100),output(port=5,max_len=100),output(port=77,max_len=100)", TCP, "drop", NULL);
}

static void truncation_obeys_the_port_and_the_datapath(void **state UNUSED)
{
    struct xconfig *c = config("output(port=2,max_len=100),output:3");

    port(c, 2)->config = OFPPC_NO_FWD;
    expect(c, TCP, "3", "");
    port(c, 2)->config = 0;
    c->can.trunc = false;
    expect(c, TCP, "3", "");
    xconfig_destroy(c);
}

#define N 1000
/* To which port each of N connections is output. */
static void deal(const char *acts, unsigned int ports[N])
{
    struct xconfig *c = config(acts);

    for (unsigned int i = 0; i < N; i++) {
        struct flow flow = kit_packet(TCP);
        flow.ip_src = htonl(0x0a000000 + i);
        kit_translate(c, &flow, actions_memory, &out);
        char *actions = kit_actions_text(&out.actions);
        ports[i] = strtoul(actions, NULL, 10);
        free(actions);
    }
    xconfig_destroy(c);
}

/* Links 0 to 2 stand for the ports 2 to 4: each gets about as many packets as another. */
static void links_are_chosen_evenly(void **state UNUSED)
{
    static const char *const algorithms[] = { "modulo_n,3,0", "hash_threshold,3,0", "hrw,3,0", "iter_hash,3,4", "iter_hash,3,99" };
    static unsigned int ports[N];

    for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++) {
        char *acts = xasprintf("multipath(nw_src,5,%s,NXM_NX_REG0[0..1]),resubmit(,1)", algorithms[i]);
        unsigned int n[5] = { 0 };
        deal(acts, ports);
        for (unsigned int k = 0; k < N; k++) {
            assert_in_range(ports[k], 2, 4);
            n[ports[k]]++;
        }
        for (unsigned int k = 2; k <= 4; k++) {
            assert_in_range(n[k], N / 4, N * 5 / 12);
        }
        free(acts);
    }
}

static void what_is_hashed_is_looked_at_and_no_more(void **state UNUSED)
{
    static const struct {
        const char *fields, *packet, *mask;
    } cases[] = {
        { "eth_src", TCP, "dl_src=02:00:00:00:00:01" },
        { "nw_src", TCP, "ip,nw_src=10.0.0.1" },
        { "nw_dst", TCP6, "ipv6,ipv6_dst=fe80::2" },
        { "nw_dst", "arp,in_port=1", "arp" },
        { "symmetric_l3", TCP, "ip,nw_src=10.0.0.1,nw_dst=10.0.0.2" },
        { "symmetric_l3l4", TCP, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_frag=no,tp_src=1000,tp_dst=80" },
        { "symmetric_l3l4", TCP6, "tcp6,ipv6_src=fe80::1,ipv6_dst=fe80::2,nw_frag=no,tp_src=1000,tp_dst=80" },
        { "symmetric_l3l4", "udp,in_port=1,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=5", "udp,nw_src=10.0.0.1,nw_dst=10.0.0.2" },
        { "symmetric_l3l4+udp", "udp,in_port=1,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=5,tp_dst=6",
          "udp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_frag=no,tp_src=5,tp_dst=6" },
        { "symmetric_l4", "arp,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02",
          "arp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *acts = xasprintf("multipath(%s,0,modulo_n,4,0,NXM_NX_REG0[]),output:2", cases[i].fields);
        check(acts, cases[i].packet, "2", cases[i].mask);
        free(acts);
    }
}

static void a_bundle_outputs_to_a_live_member(void **state UNUSED)
{
    struct xconfig *c = config("bundle(eth_src,0,active_backup,ofport,members:77,2,3),bundle_load(eth_src,0,active_backup,ofport,NXM_NX_REG0[],members:4),"
                               "output:NXM_NX_REG0[]");

    expect(c, TCP, "2,4", "");
    port(c, 2)->is_live = false;
    expect(c, TCP, "3,4", "");
    port(c, 4)->is_live = false; /* Then the register says 65535, which is no port. */
    expect(c, TCP, "3", "");
    port(c, 3)->is_live = false;
    expect(c, TCP, "drop", "");
    xconfig_destroy(c);
}

static void a_member_that_goes_moves_its_own_packets_only(void **state UNUSED)
{
    static unsigned int before[N], after[N];
    unsigned int n = 0;

    deal("bundle(nw_src,0,hrw,ofport,members:2,3,4)", before);
    deal("bundle(nw_src,0,hrw,ofport,members:2,3,77)", after);
    for (unsigned int i = 0; i < N; i++) {
        assert_true(before[i] == 4 || before[i] == after[i]);
        n += before[i] == 4;
    }
    assert_in_range(n, N / 4, N * 5 / 12);
}

/* Both branches, each with all that follows; and after them the packet as it was. */
static void what_follows_a_length_check_is_done_for_both_lengths(void **state UNUSED)
{
    static const char *const flows[] = {
        "actions=resubmit(,1),output:4",
        "table=1,actions=mod_dl_dst:02:00:00:00:00:09,check_pkt_larger(200)->NXM_NX_REG0[0],resubmit(,2),output:3",
        "table=2,reg0=1 actions=dec_ttl,output:2",
        "table=2,priority=1,actions=drop",
    };
    struct xconfig *c = kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t", flows, ARRAY_SIZE(flows));

    expect(c, TCP, "check_pkt_len(size=200,gt(set(eth(dst=02:00:00:00:00:09)),set(ipv4(ttl=63)),2,3),le(set(eth(dst=02:00:00:00:00:09)),3)),"
                   "set(eth(dst=02:00:00:00:00:09)),4", NULL);
    assert_int_equal(out.slow, 0);
    c->can.check_pkt_len = false;
    struct flow flow = kit_packet(TCP);
    kit_translate(c, &flow, actions_memory, &out);
    assert_true(out.slow & ODP_SLOW_ACTION);
    xconfig_destroy(c);
}

static void a_length_check_leads_on_and_ends_as_other_actions_do(void **state UNUSED)
{
    static const char *const flows[] = {
        "actions=check_pkt_larger(200)->NXM_NX_REG0[0],write_actions(output:4),goto_table:2",
        "table=2,reg0=1 actions=output:2,clear_actions",
        "table=2,priority=1,actions=output:3",
    };
    struct xconfig *c = kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t", flows, ARRAY_SIZE(flows));

    expect(c, TCP, "check_pkt_len(size=200,gt(2),le(3,4))", NULL);
    xconfig_destroy(c);
    /* A loop ends it; the datapath wants both branches all the same, of each. */
    static const char *const loop[] = { "actions=output:2,check_pkt_larger(200)->NXM_NX_REG0[0],resubmit(,1),output:3", "table=1,actions=output:4,resubmit(,1)" };
    c = kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t", loop, ARRAY_SIZE(loop));
    struct flow flow = kit_packet(TCP);
    kit_translate(c, &flow, actions_memory, &out);
    char *text = kit_actions_text(&out.actions);
    assert_int_equal(out.verdict, XLATE_TOO_DEEP);
    assert_non_null(strstr(text, "2,check_pkt_len(size=200,gt(4,4,"));
    const struct nlattr *a, *last = NULL;
    mnl_attr_for_each(a, out.actions.nlh, 0) {
        last = mnl_attr_get_type(a) == OVS_ACTION_ATTR_CHECK_PKT_LEN ? a : last;
    }
    unsigned int branches = 0;
    mnl_attr_for_each_nested(a, last) {
        branches |= 1u << mnl_attr_get_type(a);
    }
    assert_int_equal(branches, 1u << OVS_CHECK_PKT_LEN_ATTR_PKT_LEN | 1u << OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER
                                   | 1u << OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
    assert_null(strstr(text, "3"));
    free(text);
    xconfig_destroy(c);
    check("check_pkt_larger(200)->NXM_NX_REG0[0],output:2,exit", TCP, "check_pkt_len(size=200,gt(2),le(2))", NULL);
    check("check_pkt_larger(9)->NXM_NX_REG0[0],check_pkt_larger(8)->NXM_NX_REG0[1],output:NXM_NX_REG0[0..1]", TCP,
          "check_pkt_len(size=9,gt(check_pkt_len(size=8,gt(3),le(drop))),le(check_pkt_len(size=8,gt(2),le(drop))))", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncation_is_of_one_output),
        cmocka_unit_test(truncation_obeys_the_port_and_the_datapath),
        cmocka_unit_test(links_are_chosen_evenly),
        cmocka_unit_test(what_is_hashed_is_looked_at_and_no_more),
        cmocka_unit_test(a_bundle_outputs_to_a_live_member),
        cmocka_unit_test(a_member_that_goes_moves_its_own_packets_only),
        cmocka_unit_test(what_follows_a_length_check_is_done_for_both_lengths),
        cmocka_unit_test(a_length_check_leads_on_and_ends_as_other_actions_do),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
