/* Translation through OpenFlow tables, case by case: flows and a packet as text, and the datapath actions and the mask that they come to.
 *
 * The meaning of the actions is that of ovs-actions(7); what a case says beyond it is said at the case. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/odp/odp-cookie.h"
#include "tests/unit/xlate-tables-kit.h"

#define MAX_FLOWS 12

static char actions_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out out;

static void translate(const struct xconfig *c, const struct flow *flow)
{
    kit_translate(c, flow, actions_memory, &out);
}

static struct xconfig *config(const char *const flows[MAX_FLOWS])
{
    return kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t 12:t", flows, MAX_FLOWS);
}

struct step {
    const char *packet, *actions;
    const char *mask; /* NULL: does not matter. */
};

static void check(const char *const flows[MAX_FLOWS], const struct step *steps, size_t n)
{
    struct xconfig *c = config(flows);

    for (size_t i = 0; i < n; i++) {
        struct flow flow = kit_packet(steps[i].packet);
        translate(c, &flow);
        char *actions = kit_actions_text(&out.actions), *mask = kit_mask_text(&flow, &out.mask);
        if (strcmp(actions, steps[i].actions) || (steps[i].mask && strcmp(mask, steps[i].mask))) {
            fail_msg("%s: %s with mask %s, not %s with %s", steps[i].packet, actions, mask, steps[i].actions,
                     steps[i].mask ? steps[i].mask : "any");
        }
        free(actions);
        free(mask);
    }
    xconfig_destroy(c);
}
#define FLOWS(...) (const char *const[MAX_FLOWS]){ __VA_ARGS__ }
#define CHECK(FLOWS, ...)                                     \
    do {                                                      \
        static const struct step steps[] = { __VA_ARGS__ };   \
        check(FLOWS, steps, ARRAY_SIZE(steps));               \
    } while (0)

#define TCP "tcp,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=1000,tp_dst=80"
#define TAGGED TCP ",dl_vlan=7,dl_vlan_pcp=0"

/* A later fragment has no ports: what its flow covers must not be all of TCP; nor is a flow for low port numbers one for fragments. */
static void who_looks_at_ports_looks_at_fragments(void **state UNUSED)
{
    CHECK(FLOWS("priority=2,tcp,tp_dst=22 actions=drop", "priority=1,ip actions=output:2"),
          { "tcp,in_port=1,nw_frag=later", "2", "tcp,nw_frag=yes" }, { "tcp,in_port=1,nw_frag=first,tp_dst=22", "2", "tcp,nw_frag=yes" },
          { TCP, "2", NULL });
}

static void outputs_and_drops(void **state UNUSED)
{
    CHECK(FLOWS("in_port=1 actions=output:2,output:3", "in_port=2 actions=drop", "in_port=3 actions=output:3,output:4,in_port"),
          { "ip,in_port=1", "2,3", "" }, { "ip,in_port=2", "drop", "" }, { "ip,in_port=3", "4,3", "" }, { "ip,in_port=4", "drop", "" });
}

static void only_what_decides_is_looked_at(void **state UNUSED)
{
    CHECK(FLOWS("priority=9,tcp,tp_dst=80 actions=output:2", "priority=5,ip,nw_dst=10.0.0.0/8 actions=output:3", "priority=1 actions=output:4"),
          { TCP, "2", NULL }, { "arp,in_port=1", "4", "arp" });
}

static void normal_floods_and_its_tags_are_those_of_the_ports(void **state UNUSED)
{
    CHECK(FLOWS("in_port=1 actions=normal,output:2"), { TCP, "2,3,4,2", "dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02" });
}

static void normal_sees_the_address_that_was_written(void **state UNUSED)
{
    CHECK(FLOWS("actions=mod_dl_dst:01:80:c2:00:00:01,normal"), { TCP, "drop", "" });
}

static void tables_follow_one_another(void **state UNUSED)
{
    CHECK(FLOWS("actions=load:5->NXM_NX_REG0[],resubmit(,1),output:4", "table=1,reg0=5 actions=output:2,resubmit(,2)",
                "table=1,reg0=6 actions=output:3", "table=2 actions=output:3,goto_table:3", "table=3,reg0=5 actions=output:2"),
          { TCP, "2,3,2,4", "" });
}

/* "The changes to the input port are just for searching: not visible to actions or to later lookups." */
static void resubmit_changes_the_input_port_for_the_search_only(void **state UNUSED)
{
    CHECK(FLOWS("in_port=1 actions=resubmit(3,1),output:3", "table=1,in_port=3 actions=output:1,output:3,resubmit(,2)",
                "table=2,in_port=1 actions=output:4"),
          { TCP, "3,4,3", "" });
}

/* "Whatever value is currently in the in_port field is both the port to which output will be dropped and the destination for in_port." */
static void in_port_is_a_field_that_outputs_go_by(void **state UNUSED)
{
    CHECK(FLOWS("in_port=1 actions=load:0->NXM_OF_IN_PORT[],output:1,output:2,in_port",
                "in_port=2 actions=load:3->NXM_OF_IN_PORT[],output:3,in_port,output:2"),
          { TCP, "1,2", "" }, { "in_port=2", "3,2", "" });
}

static void registers_narrow_nothing_but_what_they_were_moved_from_does(void **state UNUSED)
{
    CHECK(FLOWS("actions=move:NXM_OF_ETH_SRC[0..15]->NXM_NX_REG1[0..15],resubmit(,1)", "table=1,reg1=0x1/0x1 actions=output:2",
                "table=1,reg1=0x0/0x1 actions=output:3"),
          { TCP, "2", "dl_src=00:00:00:00:00:01/00:00:00:00:ff:ff" });
}

static void what_was_written_is_matched_without_a_look_at_the_packet(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=mod_nw_src:1.1.1.1,resubmit(,1)", "table=1,ip,nw_src=1.1.1.1 actions=output:2"),
          { TCP, "set(ipv4(src=1.1.1.1)),2", "ip" });
}

static void a_stack_gives_back_what_it_was_given(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=push:NXM_OF_IP_SRC[],push:NXM_OF_IP_DST[],pop:NXM_OF_IP_SRC[],pop:NXM_OF_IP_DST[],output:2"),
          { TCP, "set(ipv4(src=10.0.0.2,dst=10.0.0.1)),2", "ip,nw_src=10.0.0.1,nw_dst=10.0.0.2" });
}

static void an_action_set_is_done_in_its_own_order_and_at_the_end(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=output:4,write_actions(output:2,mod_dl_src:02:00:00:00:00:09),goto_table:1",
                "table=1,ip actions=output:4,write_actions(output:3,push_vlan:0x8100)"),
          { TCP, "4,4,push_vlan(vid=0,pcp=0),set(eth(src=02:00:00:00:00:09)),3", "ip,vlan_tci=0x0000" });
    CHECK(FLOWS("actions=write_actions(output:2),goto_table:1", "table=1 actions=clear_actions,write_actions(output:3)"), { TCP, "3", "" });
}

/* The earliest of group, output, resubmit, whatever the order in which they came into the set. */
static void an_output_in_the_action_set_comes_before_a_resubmit(void **state UNUSED)
{
    CHECK(FLOWS("actions=write_actions(output:2),goto_table:1", "table=1 actions=write_actions(resubmit(,3))", "table=3 actions=output:4"),
          { TCP, "2", "" });
}

/* "Actions in the action set are still executed." */
static void exit_ends_all_but_the_action_set(void **state UNUSED)
{
    CHECK(FLOWS("in_port=1 actions=write_actions(output:4),goto_table:1", "table=1 actions=resubmit(,2),output:3",
                "table=2 actions=output:2,exit,output:3"),
          { TCP, "2,4", "" });
}

static void a_clone_leaves_everything_as_it_was(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=clone(mod_dl_src:02:00:00:00:00:09,push_vlan:0x8100,output:2),output:3"),
          { TCP, "push_vlan(vid=0,pcp=0),set(eth(src=02:00:00:00:00:09)),2,pop_vlan,set(eth(src=02:00:00:00:00:01)),3",
            "ip,vlan_tci=0x0000,dl_src=02:00:00:00:00:01" });
    CHECK(FLOWS("actions=load:2->NXM_NX_REG0[],push:NXM_NX_REG0[],clone(pop:NXM_NX_REG1[],load:3->NXM_NX_REG0[],push:NXM_NX_REG0[]),"
                "pop:NXM_NX_REG2[],output:NXM_NX_REG2[]"),
          { TCP, "2", "" });
    CHECK(FLOWS("actions=write_actions(resubmit(,2)),goto_table:1", "table=1 actions=clone(resubmit(,3))",
                "table=2 actions=output:2", "table=3 actions=clear_actions,write_actions(output:3)"),
          { TCP, "2", "" });
    /* What was written in it and did not leave is not written later. */
    CHECK(FLOWS("ip actions=clone(mod_nw_src:1.1.1.1),output:3"), { TCP, "3", NULL });
}

static void a_ttl_is_decremented_or_ends_the_packet(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=output:2,dec_ttl,output:3"), { TCP, "2,set(ipv4(ttl=63)),3", "ip,nw_ttl=64" },
          { "ip,in_port=1,nw_ttl=1", "2", "ip,nw_ttl=1" });
}

static void tags(void **state UNUSED)
{
    CHECK(FLOWS("actions=strip_vlan,output:2"), { TCP, "2", NULL }, { TAGGED, "pop_vlan,2", NULL });
    CHECK(FLOWS("actions=push_vlan:0x88a8,set_field:0x1009->vlan_vid,output:2"),
          { TCP, "push_vlan(tpid=0x88a8,vid=9,pcp=0),2", NULL }, { TAGGED, "push_vlan(tpid=0x88a8,vid=9,pcp=0),2", NULL });
    CHECK(FLOWS("actions=mod_vlan_vid:9,output:2"), { TCP, "push_vlan(vid=9,pcp=0),2", NULL },
          { TAGGED, "pop_vlan,push_vlan(vid=9,pcp=0),2", NULL });
    CHECK(FLOWS("in_port=1 actions=output:3,strip_vlan,output:2,push_vlan:0x8100,output:4"),
          { TAGGED, "3,pop_vlan,2,push_vlan(vid=0,pcp=0),4", NULL });
}

/* Bit by bit, as load and move do: what is not written stays. */
static void a_tag_is_written_in_parts(void **state UNUSED)
{
    CHECK(FLOWS("actions=load:9->NXM_OF_VLAN_TCI[0..11],output:2"),
          { TCP ",dl_vlan=7,dl_vlan_pcp=3", "pop_vlan,push_vlan(vid=9,pcp=3),2", NULL }, { TCP, "2", NULL });
    CHECK(FLOWS("actions=load:0x1009->NXM_NX_REG0[0..15],move:NXM_NX_REG0[0..15]->NXM_OF_VLAN_TCI[],output:2"),
          { TCP, "push_vlan(vid=9,pcp=0),2", NULL });
    CHECK(FLOWS("actions=load:0->NXM_OF_VLAN_TCI[],output:2"), { TAGGED, "pop_vlan,2", NULL });
}

/* Another packet of the megaflow might have had another priority. */
static void a_priority_that_is_set_to_what_it_was_is_looked_at(void **state UNUSED)
{
    CHECK(FLOWS("actions=mod_vlan_pcp:0,output:2"), { TAGGED, "2", "dl_vlan=7,dl_vlan_pcp=0" },
          { TCP ",dl_vlan=7,dl_vlan_pcp=3", "pop_vlan,push_vlan(vid=7,pcp=0),2", "dl_vlan=7,dl_vlan_pcp=3" });
}

static void what_the_kernel_cannot_write_is_for_the_slow_path(void **state UNUSED)
{
    CHECK(FLOWS("arp actions=output:4,clone(load:2->NXM_OF_ARP_OP[],output:2,output:3),output:2"),
          { "arp,in_port=1,arp_op=1", "4,set(arp(op=2)),2,3,set(arp(op=1)),2", "arp,arp_op=1" });
    assert_int_equal(out.slow, ODP_SLOW_ACTION);
    attrbuf_clear(&out.actions);
    xlate_put_slow(&out, &out.actions);
    char *text = kit_actions_text(&out.actions);
    assert_string_equal(text, "userspace(pid=4294967295,slow_path(action))");
    free(text);
    /* Written, and never sent: no business of anybody's. */
    CHECK(FLOWS("arp actions=output:4,load:2->NXM_OF_ARP_OP[]"), { "arp,in_port=1,arp_op=1", "4", "arp" });
    assert_int_equal(out.slow, 0);
}

/* ---- Controllers. ---- */

#define TO(REST) "userspace(pid=4294967295,controller(" REST "))"

static void a_cookie_says_what_the_packet_does_not(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=load:5->NXM_NX_REG3[],write_metadata:0x17,goto_table:2", "table=2 actions=mod_nw_tos:32,output:2,controller:99,output:3"),
          { "ip,in_port=1", "set(ipv4(tos=0x20/0xfc)),2,"
            TO("reason=1,rule_cookie=0,controller_id=0,max_len=99,bridge=0,table=2,in_port=1,metadata=0x17,reg3=0x5") ",3", "ip" });
    CHECK(FLOWS("actions=controller(reason=invalid_ttl,id=7,userdata=01.02)"),
          { "in_port=1", TO("reason=2,rule_cookie=0,controller_id=7,max_len=65535,bridge=0,table=0,in_port=1,userdata=0102"), "" });
    /* A table's rule for what no other matches, and the action set. */
    CHECK(FLOWS("priority=0,actions=controller"),
          { "in_port=1", TO("reason=1,rule_cookie=0,controller_id=0,max_len=65535,bridge=0,table=0,in_port=1,flags=0x2"), "" });
    CHECK(FLOWS("in_port=1 actions=write_actions(controller),goto_table:1", "table=1 actions=drop"),
          { "in_port=1", TO("reason=3,rule_cookie=0,controller_id=0,max_len=65535,bridge=0,table=0,in_port=1"), "" });
    /* Behind a patch port it is the other bridge's, and that one's port. */
    CHECK(FLOWS("actions=output:5", "B:actions=controller"),
          { "in_port=1", TO("reason=1,rule_cookie=0,controller_id=0,max_len=65535,bridge=0,table=0,in_port=10"), "" });
}

static void who_misses_is_for_controllers_if_they_want_it(void **state UNUSED)
{
#define MISS(TABLE, MORE) TO("reason=0,rule_cookie=0,controller_id=0,max_len=65535,bridge=0,table=" TABLE ",in_port=1,flags=0x1" MORE)
    static const struct {
        const char *flow, *actions;
    } cases[] = {
        { "in_port=2 actions=drop", MISS("0", "") },
        { "actions=load:5->NXM_NX_REG0[],goto_table:3", MISS("3", ",reg0=0x5") },
        { "actions=resubmit(,3),output:2", "2" }, /* Who resubmits goes on. */
        { "ip actions=dec_ttl,output:2", TO("reason=2,rule_cookie=0,controller_id=0,max_len=65535,bridge=0,table=0,in_port=1") },
        { "ip actions=dec_ttl(3,4),output:2", TO("reason=2,rule_cookie=0,controller_id=3,max_len=65535,bridge=0,table=0,in_port=1") ","
                                              TO("reason=2,rule_cookie=0,controller_id=4,max_len=65535,bridge=0,table=0,in_port=1") },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (int wanted = 0; wanted < 2; wanted++) {
            struct xconfig *c = config(FLOWS(cases[i].flow));
            struct flow flow = kit_packet("ip,in_port=1,nw_ttl=1");
            assert_true(!wanted || tables_set_punts(c->bridges[0]->tables, TABLES_PUNT_MISS | TABLES_PUNT_TTL));
            translate(c, &flow);
            char *text = kit_actions_text(&out.actions);
            assert_string_equal(text, wanted || !strcmp(cases[i].actions, "2") ? cases[i].actions : "drop");
            free(text);
            xconfig_destroy(c);
        }
    }
}

static void the_port_id_is_that_of_the_port_that_it_came_in_by(void **state UNUSED)
{
    struct xconfig *c = config(FLOWS("actions=output:5", "B:actions=controller"));
    struct flow flow = kit_packet("in_port=2");

    xconfig_port_by_odp(c, flow.in_port)->upcall_pid = 1234;
    translate(c, &flow);
    char *text = kit_actions_text(&out.actions);
    assert_non_null(strstr(text, "userspace(pid=1234,"));
    free(text);
    xconfig_destroy(c);
}

static void packet_outs_do_what_they_say(void **state UNUSED)
{
    static const struct {
        uint16_t in_port;
        const char *acts, *expected;
    } cases[] = {
        { 1, "output:2,output:1,in_port", "2,1" },
        { OFPP_NONE_N, "all", "1,2,3,4,11,12" }, /* Through the patch port, too. */
        { OFPP_CONTROLLER_N, "normal", "1,2,3,4" },
        { 2, "normal", "1,3,4" },
        { 1, "table", "3" },
        { 2, "table", "drop" },
        { 2, "resubmit(1,0)", "3" },
        { 99, "controller", TO("reason=5,rule_cookie=0xffffffffffffffff,controller_id=0,max_len=65535,bridge=0,table=0,in_port=99") },
        { 1, "resubmit(,7)", TO("reason=5,rule_cookie=0,controller_id=0,max_len=65535,bridge=0,table=7,in_port=1") },
        { OFPP_LOCAL_N, "mod_dl_src:02:00:00:00:00:09,output:4", "set(eth(src=02:00:00:00:00:09)),4" },
    };
    struct xconfig *c = config(FLOWS("in_port=1 actions=output:3", "table=7 actions=controller"));

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf acts = BUF_INITIALIZER;
        struct flow flow = kit_packet("dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,dl_type=0x1234");
        assert_null(ofp_acts_scan(cases[i].acts, NULL, &acts));
        const struct xlate_packet_out po = { .in_port = { cases[i].in_port }, .flow = &flow, .acts = (const struct ofp_act *) acts.data, .acts_len = acts.len };
        attrbuf_init(&out.actions, actions_memory, sizeof actions_memory);
        rcu_read_lock();
        xlate_packet_out(c->bridges[0], &po, &out);
        rcu_read_unlock();
        char *text = kit_actions_text(&out.actions);
        if (strcmp(text, cases[i].expected)) {
            fail_msg("in_port=%u actions=%s: %s, not %s", cases[i].in_port, cases[i].acts, text, cases[i].expected);
        }
        /* Nobody is learned to be where no port is. */
        assert_true(cases[i].in_port < OFPP_MAX || !out.n_effects || out.effects[0].macs != c->bridges[0]->macs);
        free(text);
        buf_uninit(&acts);
    }
    xconfig_destroy(c);
}

static void a_second_bridge_has_a_packet_of_its_own(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=load:7->NXM_NX_REG0[],mod_nw_src:1.1.1.1,output:5,output:2", "B:reg0=7 actions=output:11",
                "B:ip,reg0=0,in_port=10 actions=mod_nw_src:2.2.2.2,mod_nw_dst:3.3.3.3,push_vlan:0x8100,output:12"),
          { TCP, "push_vlan(vid=0,pcp=0),set(ipv4(src=2.2.2.2,dst=3.3.3.3)),12,pop_vlan,set(ipv4(src=1.1.1.1,dst=10.0.0.2)),2", NULL });
}

static void metadata_is_matched_by_later_tables(void **state UNUSED)
{
    CHECK(FLOWS("actions=write_metadata:0x12/0xff,goto_table:1", "table=1,metadata=0x2/0xf actions=output:2"), { TCP, "2", "" });
}

static void an_output_may_be_what_a_field_says(void **state UNUSED)
{
    CHECK(FLOWS("tcp actions=output:NXM_OF_TCP_DST[]"), { "tcp,in_port=1,tp_dst=3", "3", "tcp,nw_frag=no,tp_dst=3" }, { "tcp,in_port=1,tp_dst=1", "drop", NULL });
}

/* What was output before stays; nothing more is done. */
static void loops_end(void **state UNUSED)
{
    CHECK(FLOWS("actions=output:2,resubmit(,0),resubmit(,0),output:3"), { "in_port=1",
          "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2", "" });
    assert_int_equal(out.verdict, XLATE_TOO_DEEP);
    CHECK(FLOWS("in_port=1 actions=clone(resubmit(,0))"), { "in_port=1", "drop", "" });
    assert_int_equal(out.verdict, XLATE_TOO_DEEP);
}

static void fill(struct xbridge *br, const char *format, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        char text[128];
        snprintf(text, sizeof text, format, i, i + 1, i + 1);
        kit_add_flow(br, text);
    }
}

static void *translate_deep(void *c)
{
    struct flow flow = kit_packet("ip,in_port=1");

    rcu_register_thread();
    translate(c, &flow);
    rcu_unregister_thread();
    return NULL;
}

/* As deep as tables may be: in a thread with half of the stack that threads have by default. */
static void deep(const char *format, const char *last, enum xlate_verdict verdict)
{
    struct xconfig *c = config(FLOWS(last));
    pthread_attr_t attr;
    pthread_t thread;

    fill(c->bridges[0], format, 250);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 4 << 20);
    assert_int_equal(pthread_create(&thread, &attr, translate_deep, c), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_int_equal(out.verdict, verdict);
    xconfig_destroy(c);
}

static void tables_may_be_as_deep_as_there_are_any(void **state UNUSED)
{
    deep("table=%u actions=goto_table:%u", "table=250 actions=output:2", XLATE_FORWARD);
    deep("table=%u actions=resubmit(,%u)", "table=250 actions=output:2", XLATE_FORWARD);
    deep("table=%u actions=resubmit(,%u)", "table=250 actions=resubmit(,0)", XLATE_TOO_DEEP);
    deep("table=%u actions=resubmit(,%u),goto_table:%u", "table=250 actions=resubmit(,0)", XLATE_TOO_DEEP);
}

/* A queue is a class of tc's. */
static void a_queue_is_the_priority_until_it_is_popped(void **state UNUSED)
{
    CHECK(FLOWS("actions=set_queue:3,output:2,output:3"), { TCP, "set(skb_priority(0x10004)),2,3", "" });
    CHECK(FLOWS("actions=pop_queue,output:2"), { TCP, "2", "" });
    CHECK(FLOWS("actions=set_queue:3,output:2,pop_queue,output:3"), { TCP ",skb_priority=0x5", "set(skb_priority(0x10004)),2,set(skb_priority(0x5)),3", "skb_priority=0x5" });
    CHECK(FLOWS("actions=set_queue:3,enqueue:4:7,output:2"), { TCP, "set(skb_priority(0x10008)),4,set(skb_priority(0x10004)),2", "" });
    CHECK(FLOWS("actions=enqueue:4:7,output:2"), { TCP, "set(skb_priority(0x10008)),4,set(skb_priority(0)),2", "skb_priority=0" });
    CHECK(FLOWS("actions=set_queue:65535,output:2"), { TCP, "2", "" });
}

static void what_translation_cannot_do_is_refused(void **state UNUSED)
{
    static const char *const refused[] = {
        "actions=load:5->NXM_NX_TUN_ID[]", "actions=set_field:1.1.1.1->tun_dst", "actions=load:5->NXM_NX_TUN_GBP_ID[]",
        "mpls actions=set_field:5->mpls_label", "actions=move:NXM_NX_REG0[]->NXM_NX_TUN_IPV4_DST[]",
        "actions=pop:NXM_NX_TUN_ID[]", "actions=clone(load:5->NXM_NX_TUN_ID[])", "actions=write_actions(set_field:5->tun_id)",
        "actions=controller(pause)", "actions=set_tunnel:5",
    };

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct buf acts = BUF_INITIALIZER;
        struct flow_mod fm = kit_flow_mod(refused[i], &acts);
        const char *name;
        if (xlate_acts_check(acts.data, acts.len, &name) == OFPERR_NONE) {
            fail_msg("%s: is let pass", refused[i]);
        }
        assert_int_equal(fm.command, FLOW_ADD);
        buf_uninit(&acts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_looks_at_ports_looks_at_fragments),
        cmocka_unit_test(outputs_and_drops),
        cmocka_unit_test(only_what_decides_is_looked_at),
        cmocka_unit_test(normal_floods_and_its_tags_are_those_of_the_ports),
        cmocka_unit_test(normal_sees_the_address_that_was_written),
        cmocka_unit_test(tables_follow_one_another),
        cmocka_unit_test(resubmit_changes_the_input_port_for_the_search_only),
        cmocka_unit_test(in_port_is_a_field_that_outputs_go_by),
        cmocka_unit_test(registers_narrow_nothing_but_what_they_were_moved_from_does),
        cmocka_unit_test(what_was_written_is_matched_without_a_look_at_the_packet),
        cmocka_unit_test(a_stack_gives_back_what_it_was_given),
        cmocka_unit_test(an_action_set_is_done_in_its_own_order_and_at_the_end),
        cmocka_unit_test(an_output_in_the_action_set_comes_before_a_resubmit),
        cmocka_unit_test(exit_ends_all_but_the_action_set),
        cmocka_unit_test(a_clone_leaves_everything_as_it_was),
        cmocka_unit_test(a_ttl_is_decremented_or_ends_the_packet),
        cmocka_unit_test(tags),
        cmocka_unit_test(a_tag_is_written_in_parts),
        cmocka_unit_test(a_priority_that_is_set_to_what_it_was_is_looked_at),
        cmocka_unit_test(what_the_kernel_cannot_write_is_for_the_slow_path),
        cmocka_unit_test(a_cookie_says_what_the_packet_does_not),
        cmocka_unit_test(who_misses_is_for_controllers_if_they_want_it),
        cmocka_unit_test(the_port_id_is_that_of_the_port_that_it_came_in_by),
        cmocka_unit_test(packet_outs_do_what_they_say),
        cmocka_unit_test(a_second_bridge_has_a_packet_of_its_own),
        cmocka_unit_test(metadata_is_matched_by_later_tables),
        cmocka_unit_test(an_output_may_be_what_a_field_says),
        cmocka_unit_test(loops_end),
        cmocka_unit_test(tables_may_be_as_deep_as_there_are_any),
        cmocka_unit_test(a_queue_is_the_priority_until_it_is_popped),
        cmocka_unit_test(what_translation_cannot_do_is_refused),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
