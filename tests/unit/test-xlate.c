/* Unit tests of translation: the NORMAL switch by tables of cases, the masks that one would write by hand, what is
 * learned, and patch ports.  Random bridges are tried in test-xlate-random.c. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/xlate-kit.h"

#define MAX_DELIVERIES 4096

static char actions_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out out;

static void translate(const struct xconfig *c, const struct flow *flow)
{
    kit_translate(c, flow, actions_memory, &out);
}

/* The case in hand, for messages. */
static const char *context = "";

static void check_text(const char *got, const char *expected)
{
    if (strcmp(got, expected)) {
        fail_msg("%s: got \"%s\", not \"%s\"", context, got, expected);
    }
}

/* Checks that the last translation delivers FLOW as EXPECTED says. */
static void check_deliveries(const struct flow *flow, const char *expected)
{
    static struct delivery d[MAX_DELIVERIES];
    int n = kit_run(&out.actions, flow, d, MAX_DELIVERIES);

    assert_true(n >= 0);
    char *text = kit_deliveries_text(d, n);
    check_text(text, expected);
    free(text);
}

static const char *mask_text(const struct flow *m)
{
    static char text[128];
    struct flow rest = *m;
    const struct eth_addr all = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    uint16_t tci = ntohs(m->vlan[0].tci);

    snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s", m->in_port.n == UINT32_MAX ? "port " : "",
             m->recirc_id == UINT32_MAX ? "recirc " : "", eth_addr_eq(m->eth_src, all) ? "src " : "",
             eth_addr_eq(m->eth_dst, all) ? "dst " : "", m->vlan[0].tpid == 0xffff ? "tpid " : "",
             (tci & 0x1fff) == 0x1fff ? "vid " : "", tci >> 13 == 7 ? "pcp " : "",
             m->vlan[1].tci == 0xffff && m->vlan[1].tpid == 0xffff ? "inner " : "");
    rest.in_port.n = rest.recirc_id = 0;
    memset(&rest.eth_src, 0, 6);
    memset(&rest.eth_dst, 0, 6);
    memset(rest.vlan, 0, sizeof rest.vlan);
    for (size_t i = 0; i < sizeof rest; i++) {
        assert_int_equal(((uint8_t *) &rest)[i], 0); /* And nothing else. */
    }
    return text;
}

#define MASK_L2 "port recirc src dst tpid vid "
#define MASK_IN "port recirc tpid vid "

struct normal_case {
    const char *ports;    /* As in xlate-kit.h. */
    const char *packet;   /* PORT/VID.PCP, to MAC 2. */
    uint32_t learned;     /* MAC 2 is at this bundle, in VLAN_LEARNED.  0: nowhere. */
    int vlan;             /* In which the packet is learned; -1: none. */
    const char *expected; /* Deliveries. */
    enum xlate_verdict verdict;
    const char *mask;
};

static void run_cases(const struct normal_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct normal_case *k = &cases[i];
        struct xconfig *c = xconfig_create();
        struct xbridge *br = kit_add_bridge(c, "br0", k->ports);
        struct flow flow = kit_flow(k->packet);

        context = xasprintf("case \"%s\" \"%s\" %u", k->ports, k->packet, k->learned);
        xconfig_seal(c);
        if (k->learned) {
            kit_learn(br, k->vlan, kit_mac(2), k->learned);
        }
        translate(c, &flow);
        check_deliveries(&flow, k->expected);
        check_text(xlate_verdict_text(out.verdict), xlate_verdict_text(k->verdict));
        check_text(mask_text(&out.mask), k->mask);
        assert_int_equal(out.n_effects, k->vlan >= 0);
        if (k->vlan >= 0) {
            assert_ptr_equal(out.effects[0].macs, br->macs);
            assert_true(eth_addr_eq(out.effects[0].mac, kit_mac(1)));
            assert_int_equal(out.effects[0].vlan, k->vlan);
            assert_int_equal(out.effects[0].bundle, flow.in_port.n);
        }
        xconfig_destroy(c);
        free((char *) context);
        context = "";
    }
    rcu_barrier();
}

static void vlans_are_kept_apart_and_tagged_as_documented(void **state)
{
    static const struct normal_case cases[] = {
        /* Plain ports: all trunks of everything. */
        { "1:t 2:t 3:t", "1", 0, 0, "2 3", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t 3:t", "1", 3, 0, "3", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t 3:t", "1/10", 0, 10, "2/10 3/10", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t 3:t", "1/10.5", 2, 10, "2/10.5", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t 3:t", "1", 1, 0, "", XLATE_SAME_PORT, MASK_L2 },
        { "1:t", "1", 0, 0, "", XLATE_NO_OUTPUT, MASK_L2 },
        /* Access: same tag talks, another does not; a trunk has it tagged. */
        { "1:a10 2:a10 3:a20 4:t", "1", 0, 10, "2 4/10", XLATE_FORWARD, MASK_L2 },
        { "1:a10 2:a10 3:a20 4:t", "4/10", 0, 10, "1 2", XLATE_FORWARD, MASK_L2 },
        { "1:a10 2:a10 3:a20 4:t", "4/20", 0, 20, "3", XLATE_FORWARD, MASK_L2 },
        { "1:a10 2:a10 3:a20 4:t", "4/30", 0, 30, "", XLATE_NO_OUTPUT, MASK_L2 },
        { "1:a10 2:a10 3:a20 4:t", "1/10", 0, -1, "", XLATE_VLAN, MASK_IN },
        { "1:a10 2:a10 3:a20 4:t", "1/20", 0, -1, "", XLATE_VLAN, MASK_IN },
        { "1:a10 2:a10 3:a20 4:t", "1", 3, 10, "", XLATE_NO_OUTPUT, MASK_L2 }, /* Learned where it cannot be. */
        { "1:a0 2:t 3:a10", "1", 0, 0, "2", XLATE_FORWARD, MASK_L2 },
        /* A frame that is only priority-tagged is one without a tag; its priority goes along. */
        { "1:a10 2:a10 4:t", "1/0.3", 0, 10, "2 4/10.3", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:a10 2:a10", "1/0.3", 0, 10, "2", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t 3:t?", "1/0.3", 0, 0, "2 3/0.3", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:t 2:t?", "1/0", 0, 0, "2", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:t 2:t^", "1/0", 0, 0, "2/0", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:a0^", "1", 0, 0, "2/0", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:a10?", "1/10.6", 0, 10, "2/0.6", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:t 2:a10?", "1/10", 0, 10, "2", XLATE_FORWARD, MASK_L2 "pcp " },
        /* Trunks of some VLANs. */
        { "1:t[10,20] 2:t[10] 3:t[20] 4:t", "1/10", 0, 10, "2/10 4/10", XLATE_FORWARD, MASK_L2 },
        { "1:t[10,20] 2:t[10] 3:t[20] 4:t", "2/20", 0, -1, "", XLATE_VLAN, MASK_IN },
        { "1:t[10,20] 2:t[10] 3:t[20] 4:t", "1", 0, -1, "", XLATE_VLAN, MASK_IN },
        { "1:t[0,10] 2:t[10] 4:t", "1", 0, 0, "4", XLATE_FORWARD, MASK_L2 },
        { "1:t[4095] 2:t", "1/4095", 0, 4095, "2/4095", XLATE_FORWARD, MASK_L2 },
        /* Native VLANs. */
        { "1:n10 2:u10 3:t 4:a10", "1", 0, 10, "2 3/10 4", XLATE_FORWARD, MASK_L2 },
        /* Popped for 2 and pushed again for 3: the push writes the packet's priority. */
        { "1:n10 2:u10 3:t 4:a10", "1/10", 0, 10, "2 3/10 4", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:n10 2:u10 3:t 4:a10", "2", 0, 10, "1/10 3/10 4", XLATE_FORWARD, MASK_L2 },
        { "1:n10 2:u10 3:t 4:a10", "2/20", 0, 20, "1/20 3/20", XLATE_FORWARD, MASK_L2 },
        { "1:n10[20] 2:u10[30] 3:t", "3/10", 0, 10, "1/10 2", XLATE_FORWARD, MASK_L2 },
        { "1:n10[20] 2:u10[30] 3:t", "3/20", 0, 20, "1/20", XLATE_FORWARD, MASK_L2 },
        { "1:n10[20] 2:u10[30] 3:t", "3/30", 0, 30, "2/30", XLATE_FORWARD, MASK_L2 },
        { "1:n10[20] 2:u10[30] 3:t", "1/30", 0, -1, "", XLATE_VLAN, MASK_IN },
        { "1:n10[20] 2:u10[30] 3:t", "3", 0, 0, "", XLATE_NO_OUTPUT, MASK_L2 },
        { "1:t 2:u10?", "1/10.4", 0, 10, "2/0.4", XLATE_FORWARD, MASK_L2 "pcp " },
        /* Tunnels of customer VLANs; the service tag gets the customer's priority. */
        { "1:q100 2:q100 3:t", "1", 0, 100, "2 3/q100", XLATE_FORWARD, MASK_L2 },
        { "1:q100 2:q100 3:t", "1/10", 2, 100, "2/10", XLATE_FORWARD, MASK_L2 },
        { "1:q100 3:t", "1/10.3", 0, 100, "3/q100.3/10.3", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:q100 2:q100[20] 3:t", "1/10", 0, 100, "3/q100/10", XLATE_FORWARD, MASK_L2 "pcp " },
        { "1:q100[10] 3:t", "1/20", 0, -1, "", XLATE_VLAN, MASK_IN },
        { "1:q100[10] 2:q100 3:t", "3/q100/10.2", 0, 100, "1/10.2 2/10.2", XLATE_FORWARD, MASK_L2 "inner " },
        { "1:q100[10] 2:q100 3:t", "3/q100/20", 0, 100, "2/20", XLATE_FORWARD, MASK_L2 "inner " },
        { "1:q100 2:t", "1/10/20", 0, 100, "2/q100/10/20", XLATE_FORWARD, MASK_L2 "pcp inner " },
        { "1:a10 2:t", "2/10/20", 0, 10, "1/20", XLATE_FORWARD, MASK_L2 "inner " },
    };

    run_cases(cases, ARRAY_SIZE(cases));
}

static void protected_and_unfloodable_ports_are_left_out(void **state)
{
    static const struct normal_case cases[] = {
        { "1:t! 2:t! 3:t", "1", 0, 0, "3", XLATE_FORWARD, MASK_L2 },
        { "1:t! 2:t! 3:t", "3", 0, 0, "1 2", XLATE_FORWARD, MASK_L2 },
        { "1:t! 2:t! 3:t", "1", 2, 0, "", XLATE_PROTECTED, MASK_L2 },
        { "1:t! 2:t! 3:t", "3", 2, 0, "2", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t- 3:t", "1", 0, 0, "3", XLATE_FORWARD, MASK_L2 },
        { "1:t 2:t- 3:t", "1", 2, 0, "2", XLATE_FORWARD, MASK_L2 },
        { "1:t! 2:t!", "1", 0, 0, "", XLATE_NO_OUTPUT, MASK_L2 },
    };

    run_cases(cases, ARRAY_SIZE(cases));
}

/* Whoever gets the tags that the packet has already gets it without an action before it. */
static void no_action_is_superfluous(void **state)
{
    static const struct {
        const char *ports, *packet;
        unsigned int n_actions;
    } cases[] = {
        { "1:t 2:t 3:t 4:t", "1/10", 3 },
        { "1:a10 2:a10 3:a10", "1", 2 },
        { "1:t 2:a10 3:a10", "1/10", 3 },  /* pop, 2, 3 */
        { "1:a10 2:a10 3:t 4:t", "1", 4 }, /* 2, push, 3, 4 */
        { "1:q100 2:t", "1/10", 2 },       /* push, 2 */
        { "1:t 2:q100 3:q100", "1/q100/10", 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct xconfig *c = xconfig_create();
        struct flow flow = kit_flow(cases[i].packet);
        struct nlattr *attr;
        unsigned int n = 0;

        kit_add_bridge(c, "br0", cases[i].ports);
        xconfig_seal(c);
        translate(c, &flow);
        mnl_attr_for_each_payload ((void *) attrbuf_data(&out.actions), attrbuf_len(&out.actions)) {
            n++;
        }
        assert_int_equal(n, cases[i].n_actions);
        xconfig_destroy(c);
    }
    rcu_barrier();
}

static void unknown_ports_and_secure_bridges_drop(void **state)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = kit_add_bridge(c, "br0", "1:t 2:t");
    struct flow flow = kit_flow("1/10");
    struct flow stranger = kit_flow("3/10");

    br->normal = false;
    xconfig_seal(c);
    translate(c, &flow);
    check_deliveries(&flow, "");
    assert_int_equal(out.verdict, XLATE_SECURE);
    assert_int_equal(out.n_effects, 0);
    assert_string_equal(mask_text(&out.mask), MASK_IN);
    translate(c, &stranger);
    check_deliveries(&stranger, "");
    assert_int_equal(out.verdict, XLATE_NO_PORT);
    assert_string_equal(mask_text(&out.mask), MASK_IN);
    translate(NULL, &flow);
    assert_int_equal(out.verdict, XLATE_NO_PORT);
    assert_int_equal(attrbuf_len(&out.actions), 0);
    assert_int_equal(out.n_effects, 0);
    xconfig_destroy(c);
    rcu_barrier();
}

static void reserved_multicast_is_forwarded_only_if_asked_for(void **state)
{
    static const struct {
        uint8_t last;
        bool reserved;
    } cases[] = { { 0, true }, { 0xf, true }, { 0x10, false } };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        struct xconfig *c = xconfig_create();
        struct xbridge *br = kit_add_bridge(c, "br0", "1:t 2:t");
        struct flow flow = kit_flow("1");
        bool dropped = cases[i / 2].reserved && !(i % 2);

        br->forward_bpdu = i % 2;
        xconfig_seal(c);
        flow.eth_dst = (struct eth_addr){ { 1, 0x80, 0xc2, 0, 0, cases[i / 2].last } };
        translate(c, &flow);
        check_deliveries(&flow, dropped ? "" : "2");
        assert_int_equal(out.verdict, dropped ? XLATE_RESERVED : XLATE_FORWARD);
        assert_int_equal(out.n_effects, !dropped);
        xconfig_destroy(c);
    }
    rcu_barrier();
}

static void flood_vlans_neither_learn_nor_use_what_was_learned(void **state)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = kit_add_bridge(c, "br0", "1:t 2:t 3:t");
    struct flow flow = kit_flow("1/10"), other = kit_flow("1/11");

    br->flood_vlans.bits[0] = 1 << 10;
    xconfig_seal(c);
    kit_learn(br, 10, kit_mac(2), 2);
    kit_learn(br, 11, kit_mac(2), 2);
    translate(c, &flow);
    check_deliveries(&flow, "2/10 3/10");
    assert_int_equal(out.n_effects, 0);
    assert_string_equal(mask_text(&out.mask), "port recirc dst tpid vid ");
    translate(c, &other);
    check_deliveries(&other, "2/11");
    assert_int_equal(out.n_effects, 1);
    xconfig_destroy(c);
    rcu_barrier();
}

static void group_addresses_are_flooded_and_never_learned(void **state)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = kit_add_bridge(c, "br0", "1:t 2:t 3:t");
    struct flow flow = kit_flow("1");

    xconfig_seal(c);
    memset(&flow.eth_dst, 0xff, 6);
    kit_learn(br, 0, flow.eth_dst, 2); /* Would be wrong; must do no harm. */
    translate(c, &flow);
    check_deliveries(&flow, "2 3");
    assert_int_equal(out.n_effects, 1);
    flow.eth_src.ea[0] = 3;
    translate(c, &flow);
    check_deliveries(&flow, "2 3");
    assert_int_equal(out.n_effects, 0);
    memset(&flow.eth_src, 0, 6);
    translate(c, &flow);
    assert_int_equal(out.n_effects, 0);
    xconfig_destroy(c);
    rcu_barrier();
}

static void an_address_at_a_bundle_that_is_gone_is_flooded(void **state)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = kit_add_bridge(c, "br0", "1:t 2:t 3:t");
    struct flow flow = kit_flow("1");

    kit_add_bridge(c, "br1", "11:t");
    xconfig_seal(c);
    kit_learn(br, 0, kit_mac(2), 99);
    translate(c, &flow);
    check_deliveries(&flow, "2 3");
    kit_learn(br, 0, kit_mac(2), 11); /* Of another bridge. */
    translate(c, &flow);
    check_deliveries(&flow, "2 3");
    xconfig_destroy(c);
    rcu_barrier();
}

/*  1, 2 -- br0 -- 3 ~patch~ 11 -- br1 -- 12, 13 */
static void patch_ports_lead_into_the_next_bridge(void **state)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br0 = kit_add_bridge(c, "br0", "1:a10 2:t 3:tp");
    struct xbridge *br1 = kit_add_bridge(c, "br1", "11:tp 12:a10 13:t[10]");
    struct flow flow = kit_flow("1"), back = kit_flow("13/10");

    xconfig_seal(c);
    translate(c, &flow); /* Not joined yet. */
    check_deliveries(&flow, "2/10");
    kit_join(c, 3, 11);
    translate(c, &flow);
    check_deliveries(&flow, "2/10 12 13/10");
    assert_int_equal(out.n_effects, 2);
    assert_ptr_equal(out.effects[0].macs, br0->macs);
    assert_int_equal(out.effects[0].bundle, 1);
    assert_ptr_equal(out.effects[1].macs, br1->macs);
    assert_int_equal(out.effects[1].bundle, 11);
    assert_int_equal(out.effects[1].vlan, 10);
    kit_learn(br0, 10, kit_mac(2), 3);
    kit_learn(br1, 10, kit_mac(2), 12);
    translate(c, &flow);
    check_deliveries(&flow, "12");
    translate(c, &back);
    check_deliveries(&back, "12");

    br1->normal = false;
    translate(c, &flow);
    check_deliveries(&flow, "");
    assert_int_equal(out.n_effects, 1);
    xconfig_destroy(c);
    rcu_barrier();
}

/* Loops of patch ports: a packet goes round a bounded number of times and no more; many parallel ones do not multiply.
 */
static void loops_of_patch_ports_end(void **state)
{
    for (uint32_t n_pairs = 2; n_pairs <= 12; n_pairs++) {
        struct xconfig *c = xconfig_create();
        struct flow flow = kit_flow("1");
        struct text ports[2];
        FILE *text[2] = { text_open(&ports[0]), text_open(&ports[1]) };

        for (uint32_t i = 0; i < n_pairs; i++) {
            fprintf(text[0], "%u:tp ", 100 + i);
            fprintf(text[1], "%u:tp ", 200 + i);
        }
        fprintf(text[0], "1:t 2:t");
        fprintf(text[1], "11:t");
        for (int i = 0; i < 2; i++) {
            char *s = text_close(&ports[i]);
            kit_add_bridge(c, i ? "br1" : "br0", s);
            free(s);
        }
        xconfig_seal(c);
        for (uint32_t i = 0; i < n_pairs; i++) {
            kit_join(c, 100 + i, 200 + i);
        }
        alarm(20); /* 2^60 translations would be longer. */
        translate(c, &flow);
        alarm(0);
        assert_true(out.n_effects <= XLATE_MAX_EFFECTS);
        xconfig_destroy(c);
    }
    rcu_barrier();
}

/* A bridge of very many ports: a flood that does not fit is dropped as a whole, and said so. */
static void a_flood_larger_than_the_kernel_takes_is_dropped_whole(void **state)
{
    enum { FITS = 7000, TOO_MANY = 9000 };

    for (uint32_t n = FITS; n <= TOO_MANY; n += TOO_MANY - FITS) {
        struct mac_table *macs = mac_table_create();
        struct xconfig *c = xconfig_create();
        struct xbridge *br = xconfig_add_bridge(c, "br0", macs);
        struct flow flow = kit_flow("1");

        for (uint32_t i = 1; i <= n; i++) {
            xbundle_add_port(xbridge_add_bundle(br, "p", i), "p", (ofp_port_t){ i }, (odp_port_t){ i });
        }
        xconfig_seal(c);
        translate(c, &flow);
        assert_false(out.actions.overflow);
        if (n == FITS) {
            assert_int_equal(out.verdict, XLATE_FORWARD);
            assert_int_equal(attrbuf_len(&out.actions), (n - 1) * 8);
        } else {
            assert_int_equal(out.verdict, XLATE_TOO_BIG);
            assert_int_equal(attrbuf_len(&out.actions), 0);
        }
        mac_table_unref(macs);
        xconfig_destroy(c);
    }
    rcu_barrier();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vlans_are_kept_apart_and_tagged_as_documented),
        cmocka_unit_test(protected_and_unfloodable_ports_are_left_out),
        cmocka_unit_test(no_action_is_superfluous),
        cmocka_unit_test(unknown_ports_and_secure_bridges_drop),
        cmocka_unit_test(reserved_multicast_is_forwarded_only_if_asked_for),
        cmocka_unit_test(flood_vlans_neither_learn_nor_use_what_was_learned),
        cmocka_unit_test(group_addresses_are_flooded_and_never_learned),
        cmocka_unit_test(an_address_at_a_bundle_that_is_gone_is_flooded),
        cmocka_unit_test(patch_ports_lead_into_the_next_bridge),
        cmocka_unit_test(loops_of_patch_ports_end),
        cmocka_unit_test(a_flood_larger_than_the_kernel_takes_is_dropped_whole),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return failed;
}
