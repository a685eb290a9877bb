/* Translation of what is about connections, and of packets that come back: flows and packets as text, and what they come to.
 *
 * A step is one packet; recirculation ids are numbered in the order in which they were first seen, and a later step may come back with
 * one.  Actions and their order are what the packaged daemon's ofproto/trace says of the same flows (with --ct-next), but for what a case says. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ofproto/ct-check.h"
#include "ofproto/recirc.h"
#include "tests/unit/xlate-tables-kit.h"

#define MAX_FLOWS 12
#define MAX_IDS   8

static char actions_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out out;
static uint32_t ids[MAX_IDS];
static unsigned int n_ids;

static void translate(const struct xconfig *c, const struct flow *flow)
{
    kit_translate(c, flow, actions_memory, &out);
}

static struct xconfig *config(const char *const flows[MAX_FLOWS])
{
    return kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t 12:t", flows, MAX_FLOWS);
}

static unsigned int number_of(uint32_t id)
{
    for (unsigned int i = 0; i < n_ids; i++) {
        if (ids[i] == id) {
            return i + 1;
        }
    }
    assert_true(n_ids < MAX_IDS);
    ids[n_ids++] = id;
    return n_ids;
}

/* TEXT, which is freed, with recirculation ids as numbers from 1. */
static char *with_numbers(char *text)
{
    struct text t;
    FILE *f = text_open(&t);

    for (const char *s = text; *s;) {
        if (!strncmp(s, "recirc(0x", 9)) {
            fprintf(f, "recirc(%u", number_of(strtoul(s + 7, (char **) &s, 16)));
        } else {
            fputc(*s++, f);
        }
    }
    free(text);
    return text_close(&t);
}

struct step {
    unsigned int id; /* With which it comes back; 0: it comes from its port. */
    const char *packet, *actions;
    const char *mask; /* NULL: does not matter. */
};

static void check(const char *const flows[MAX_FLOWS], const struct step *steps, size_t n)
{
    struct xconfig *c = config(flows);

    n_ids = 0;
    for (size_t i = 0; i < n; i++) {
        struct flow flow = kit_packet(steps[i].packet);
        assert_true(steps[i].id <= n_ids);
        flow.recirc_id = steps[i].id ? ids[steps[i].id - 1] : 0;
        translate(c, &flow);
        unsigned int n_recircs = 0;
        char *actions = with_numbers(kit_actions_text(&out.actions)), *mask = kit_mask_text(&flow, &out.mask);
        if (strcmp(actions, steps[i].actions) || (steps[i].mask && strcmp(mask, steps[i].mask))) {
            fail_msg("%zu: %s: %s with mask %s, not %s with %s", i, steps[i].packet, actions, mask, steps[i].actions,
                     steps[i].mask ? steps[i].mask : "any");
        }
        for (const char *s = actions; (s = strstr(s, "recirc(")) != NULL; s++) {
            n_recircs++;
        }
        assert_int_equal(out.n_recircs, n_recircs);
        assert_int_equal(out.mask.recirc_id, UINT32_MAX);
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

#define IP  "dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64"
#define TCP "tcp,in_port=1," IP ",tp_src=1000,tp_dst=80"
#define NEW TCP ",ct_state=+trk+new"
#define EST TCP ",ct_state=+trk+est"

/* The firewall of ovs-actions(7). */
static void a_firewall(void **state UNUSED)
{
    CHECK(FLOWS("priority=1 actions=drop", "priority=10,arp actions=normal", "priority=100,ip,ct_state=-trk actions=ct(table=1)",
                "table=1,in_port=1,ip,ct_state=+trk+new actions=ct(commit),output:2", "table=1,in_port=1,ip,ct_state=+trk+est actions=output:2",
                "table=1,in_port=2,ip,ct_state=+trk+new actions=drop", "table=1,in_port=2,ip,ct_state=+trk+est actions=output:1"),
          { 0, TCP, "ct,recirc(1)", "ct_state=-trk,ip" }, { 1, NEW, "ct(commit),2", "ct_state=+new+trk,ip" },
          { 1, EST, "2", "ct_state=-new+est+trk,ip" }, { 0, "tcp,in_port=2," IP, "ct,recirc(2)", "ct_state=-trk,ip" },
          { 2, "tcp,in_port=2," IP ",ct_state=+trk+new", "drop", NULL }, { 2, "tcp,in_port=2," IP ",ct_state=+trk+est+rpl", "1", NULL });
}

static void registers_come_back(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=load:2->NXM_NX_REG0[],load:7->OXM_OF_METADATA[],ct(table=1)",
                "ip,in_port=2 actions=load:3->NXM_NX_REG0[],ct(table=1)", "ip,in_port=3 actions=load:2->NXM_NX_REG0[],load:7->OXM_OF_METADATA[],ct(table=1)",
                "table=1,reg0=2,metadata=7,in_port=1 actions=output:NXM_NX_REG0[]", "table=1,reg0=3 actions=output:4,in_port",
                "table=1,reg0=2,metadata=7,in_port=3 actions=output:4"),
          { 0, TCP, "ct,recirc(1)", "ip" }, { 0, "ip,in_port=2", "ct,recirc(2)", "ip" }, { 0, "ip,in_port=3", "ct,recirc(3)", "ip" },
          { 0, TCP ",nw_tos=4", "ct,recirc(1)", "ip" }, { 1, TCP, "2", "" }, { 2, "ip,in_port=2", "4,2", "" }, { 3, "ip,in_port=3", "4", "" });
}

static void the_stack_and_the_action_set_come_back(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=push:NXM_OF_IN_PORT[],load:4->NXM_NX_REG5[],push:NXM_NX_REG5[],load:0->NXM_NX_REG5[],write_actions(output:3),"
                "goto_table:1", "table=1,ip actions=ct(table=2),clear_actions",
                "table=2 actions=pop:NXM_NX_REG1[],pop:NXM_NX_REG2[],resubmit(,3)", "table=3,reg1=4,reg2=1,reg5=0 actions=output:2"),
          { 0, TCP, "ct,recirc(1)", "ip" }, { 1, TCP, "2,3", "" });
}

/* Of what sends the packet away an action set does the first only, of output, resubmit, ct_clear and ct in this order; and it is done once. */
static void ct_in_an_action_set(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=write_actions(ct(table=1),mod_nw_tos:4)", "ip,in_port=2 actions=write_actions(ct(table=1),output:3)",
                "ip,in_port=3 actions=write_actions(ct(table=1),ct_clear)", "table=1 actions=write_actions(output:4)"),
          { 0, TCP, "set(ipv4(tos=0x4/0xfc)),ct,recirc(1)", "ip" }, { 1, TCP, "4", "" }, { 0, "ip,in_port=2", "3", "ip" },
          { 0, "ip,in_port=3", "drop", "ip" });
}

static void the_zone_may_come_from_a_field(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=load:5->NXM_NX_REG0[0..15],ct(zone=NXM_NX_REG0[0..15],table=1)", "tcp,in_port=2 actions=ct(zone=7,table=1)",
                "tcp,in_port=3 actions=ct(commit,zone=NXM_OF_TCP_DST[])", "table=1,ct_zone=5 actions=output:2", "table=1,ct_zone=7 actions=output:3"),
          { 0, TCP, "ct(zone=5),recirc(1)", "ip" }, { 1, TCP ",ct_zone=5", "2", "ct_zone=5" }, { 1, TCP ",ct_zone=7", "3", "ct_zone=7" },
          { 0, "tcp,in_port=2", "ct(zone=7),recirc(2)", "tcp" }, { 0, "tcp,in_port=3,tp_dst=80", "ct(commit,zone=80)", "tcp,nw_frag=no,tp_dst=80" });
}

static void commits_note_mark_and_label(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=ct(commit,exec(set_field:0x12/0xff->ct_mark,set_field:0x5->ct_label))",
                "ip,in_port=2 actions=load:9->NXM_NX_REG3[],ct(commit,force,zone=3,exec(move:NXM_NX_REG3[]->NXM_NX_CT_MARK[],load:1->NXM_NX_CT_LABEL[64..95]))",
                "tcp,in_port=3 actions=ct(commit,exec(move:NXM_OF_IP_SRC[]->NXM_NX_CT_LABEL[0..31]))",
                "ip,in_port=4 actions=ct(commit,exec(load:1->NXM_NX_CT_MARK[0],load:1->NXM_NX_CT_MARK[4..7]))"),
          { 0, TCP, "ct(commit,mark=0x12/0xff,label=0x5)", "ip" },
          { 0, "ip,in_port=2", "ct(force_commit,zone=3,mark=0x9/0xffffffff,label=0x10000000000000000/0xffffffff0000000000000000)", "ip" },
          { 0, "tcp,in_port=3,nw_src=10.0.0.1", "ct(commit,label=0xa000001/0xffffffff)", "tcp,nw_src=10.0.0.1" },
          { 0, "ip,in_port=4", "ct(commit,mark=0x11/0xf1)", "ip" });
}

static void nat_in_all_its_forms(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=ct(commit,nat(src=10.1.1.1-10.1.1.9:1000-2000,random)),output:2", "ip,in_port=2 actions=ct(table=1,nat)",
                "ip,in_port=3 actions=ct(commit,nat(dst=10.9.9.9:80,persistent),table=1)", "ipv6,in_port=1 actions=ct(commit,nat(src=fd00::1-fd00::9,hash))",
                "ipv6,in_port=2 actions=ct(commit,nat(dst=[fd00::1]:80-90))", "ip,in_port=4 actions=ct(commit,nat(src)),output:1"),
          { 0, TCP, "ct(commit,nat(src=10.1.1.1-10.1.1.9:1000-2000,random)),2", "ip" }, { 0, "ip,in_port=2", "ct(nat),recirc(1)", "ip" },
          { 0, "ip,in_port=3", "ct(commit,nat(dst=10.9.9.9:80,persistent)),recirc(2)", "ip" },
          { 0, "ipv6,in_port=1", "ct(commit,nat(src=fd00::1-fd00::9,hash))", "ipv6" },
          { 0, "ipv6,in_port=2", "ct(commit,nat(dst=[fd00::1]:80-90))", "ipv6" }, { 0, "ip,in_port=4", "ct(commit,nat(src)),1", "ip" });
}

static void helpers_go_by_name(void **state UNUSED)
{
    CHECK(FLOWS("tcp actions=ct(commit,alg=ftp),output:2", "udp actions=ct(commit,alg=tftp,zone=4),output:2"),
          { 0, TCP, "ct(commit,helper=ftp),2", "tcp" }, { 0, "udp,in_port=1", "ct(commit,zone=4,helper=tftp),2", "udp" });
}

/* What has been written is in the packet when conntrack sees it, and is what it has when it comes back. */
static void what_is_written_goes_first(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=mod_nw_dst:10.0.0.9,mod_vlan_vid:5,ct(table=1),output:2", "table=1,ip,nw_dst=10.0.0.9,dl_vlan=5 actions=strip_vlan,output:3"),
          { 0, TCP, "push_vlan(vid=5,pcp=0),set(ipv4(dst=10.0.0.9)),ct,recirc(1),2", "ip,vlan_tci=0x0000" },
          { 1, "tcp,in_port=1,nw_dst=10.0.0.9,dl_vlan=5,dl_vlan_pcp=0", "pop_vlan,3", NULL });
}

/* "The original instance continues independent processing; ct_state and other connection tracking metadata are cleared." */
static void the_other_fork_is_untracked(void **state UNUSED)
{
    CHECK(FLOWS("ip,ct_state=-trk actions=ct(table=1)", "table=1,ip,ct_state=+trk actions=ct(zone=2,table=2),resubmit(,2)",
                "table=2,ip,ct_state=-trk,ct_zone=0,ct_mark=0 actions=output:2", "table=2,ip,ct_state=+trk actions=output:3"),
          { 0, TCP, "ct,recirc(1)", NULL }, { 1, EST ",ct_zone=0,ct_mark=5", "ct(zone=2),recirc(2),2", "ct_state=+trk,ip" },
          { 2, EST ",ct_zone=2", "3", "ct_state=+trk,ct_zone=2,ct_mark=0,ip" });
}

static void ct_clear_hides_what_conntrack_said(void **state UNUSED)
{
    CHECK(FLOWS("ip,ct_state=-trk actions=ct(table=1)", "table=1,ip,ct_mark=7 actions=ct_clear,resubmit(,2)",
                "table=2,ct_state=0/0x3f,ct_mark=0,ct_zone=0 actions=output:2", "table=2 actions=output:3"),
          { 0, TCP, "ct,recirc(1)", NULL }, { 1, EST ",ct_mark=7,ct_zone=5", "ct_clear,2", "ct_mark=0x7,ip" });
}

/* A bridge behind a patch port freezes with its own port; the one before it goes on. */
static void behind_a_patch_port(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=output:5,output:2", "in_port=5 actions=output:3", "B:ip,in_port=10 actions=ct(table=1,zone=1),output:12",
                "B:table=1,in_port=10 actions=output:11,in_port"),
          { 0, TCP, "clone(ct(zone=1),recirc(1),12),2", NULL }, { 1, EST, "11,3", "" });
}

/* Words of the manual: the search is done with the addresses and ports of the connection's first direction, and the changes are not
 * visible to actions or later lookups. */
static void resubmit_with_the_original_direction(void **state UNUSED)
{
    CHECK(FLOWS("ip,ct_state=-trk actions=ct(table=1)", "table=1,ip,ct_state=+est actions=resubmit(,2,ct),output:3", "table=2,tcp,nw_dst=10.0.0.2,tp_dst=80 actions=resubmit(,3)",
                "table=2,priority=0 actions=output:4", "table=3,tcp,nw_src=10.0.0.2 actions=output:1"),
          { 0, "tcp,in_port=2", "ct,recirc(1)", NULL },
          { 1, "tcp,in_port=2,nw_src=10.0.0.2,nw_dst=10.0.0.1,tp_src=80,tp_dst=1000,ct_state=+trk+est+rpl,ct_nw_src=10.0.0.1,ct_nw_dst=10.0.0.2,"
               "ct_nw_proto=6,ct_tp_src=1000,ct_tp_dst=80",
            "1,3", "ct_state=+est,ct_nw_dst=10.0.0.2,ct_nw_proto=6,ct_tp_dst=80,tcp,nw_src=10.0.0.2" },
          { 1, "tcp,in_port=2,ct_state=+trk+est", "3", "ct_state=+est-inv+trk,ct_nw_proto=0,ip" });
}

static void clones_and_deep_tables_freeze_like_any(void **state UNUSED)
{
    CHECK(FLOWS("ip actions=load:1->NXM_NX_REG0[],clone(load:2->NXM_NX_REG0[],resubmit(,1)),resubmit(,1),output:2", "table=1,ip actions=ct(table=2)",
                "table=2,reg0=1 actions=output:3", "table=2,reg0=2 actions=output:4"),
          { 0, TCP, "clone(ct,recirc(1)),ct,recirc(2),2", "ip" }, { 1, TCP, "4", "" }, { 2, TCP, "3", "" });
}

/* What conntrack does to a copy is kept from what the rest of the list does, by the datapath's clone; unless there is no rest. */
static void what_a_copy_went_through_is_fenced_off(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=clone(ct(commit),output:3),output:2", "ip,in_port=2 actions=clone(ct(commit),output:3)",
                "ip,in_port=3 actions=clone(mod_nw_tos:4,push_vlan:0x8100,clone(ct(commit,zone=1),output:1),output:2),output:4",
                "ip,in_port=4 actions=output:1,clone(clone(ct(commit))),ct(commit,zone=2)", "B:ip actions=output:12"),
          { 0, TCP, "clone(ct(commit),3),2", "ip" }, { 0, "ip,in_port=2", "ct(commit),3", "ip" },
          { 0, "ip,in_port=3", "clone(clone(push_vlan(vid=0,pcp=0),set(ipv4(tos=0x4/0xfc)),ct(commit,zone=1),1),push_vlan(vid=0,pcp=0),"
                               "set(ipv4(tos=0x4/0xfc)),2),4", NULL },
          { 0, "ip,in_port=4", "1,clone(clone(ct(commit))),ct(commit,zone=2)", "ip" });
}

/* The next bridge sees a packet that was not tracked, and the first one, after it, what it was. */
static void bridges_do_not_see_each_others_connections(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1,ct_state=-trk actions=ct(table=1)", "table=1,ip actions=output:5,resubmit(,2)", "table=2,ip,ct_mark=5,ct_state=+trk actions=ct_clear,output:2",
                "B:ip,in_port=10,ct_state=-trk,ct_mark=0 actions=ct_clear,output:12", "B:priority=1 actions=drop"),
          { 0, TCP, "ct,recirc(1)", NULL }, { 1, EST ",ct_mark=5", "12,ct_clear,2", "ct_state=+trk,ct_mark=0x5,ip" });
}

/* A packet that no conntrack has seen needs no clearing, nor one twice. */
static void ct_clear_clears_what_there_is(void **state UNUSED)
{
    CHECK(FLOWS("ip,in_port=1 actions=ct_clear,ct(commit),ct_clear,ct(table=1),ct_clear,output:2", "table=1,ip actions=clone(ct_clear,output:3),ct_clear,ct_clear,output:2",
                "ip,in_port=2 actions=ct(table=2)", "table=2,ip actions=ct(commit,zone=1),resubmit(,3)", "table=3,ip,ct_state=-trk actions=ct_clear,output:1"),
          { 0, TCP, "ct(commit),ct,recirc(1),2", "ip" }, { 1, EST, "clone(ct_clear,3),ct_clear,2", "ip" }, { 0, "ip,in_port=2", "ct,recirc(2)", "ip" },
          { 2, "ip,in_port=2,ct_state=+trk+new", "ct(commit,zone=1),1", "ip" });
}

/* It was looked at, whatever it was: so the mask says that there is none, in the words in which the kernel knows that. */
static void a_packet_without_a_tuple_is_none_with_one(void **state UNUSED)
{
    CHECK(FLOWS("ip,ct_state=-trk actions=ct(table=1)", "ipv6,ct_state=-trk actions=ct(table=1)",
                "table=1,priority=2,ip,ct_state=+trk,ct_nw_src=10.0.0.0/8 actions=output:2", "table=1,priority=1,ct_state=+trk,ip actions=output:3",
                "table=1,priority=2,ipv6,ct_state=+trk,ct_ipv6_src=fc00::/8 actions=output:2", "table=1,priority=1,ct_state=+trk,ipv6 actions=output:3"),
          { 0, TCP, "ct,recirc(1)", NULL },
          { 1, TCP ",ct_state=+trk+inv", "3", "ct_state=+inv+trk,ct_nw_src=0.0.0.0/8,ct_nw_proto=0,ip" },
          { 1, NEW ",ct_nw_proto=6,ct_nw_src=10.0.0.1", "2", "ct_state=+trk,ct_nw_src=10.0.0.0/8,ct_nw_proto=6,ip" },
          { 1, "icmp6,in_port=1,icmp_type=135,ct_state=+trk+new", "3",
            "ct_state=-inv+trk,ct_nw_src=0.0.0.0/8,ct_nw_proto=0,icmp6,nw_frag=no,icmp_type=135" });
}

static void resubmit_for_the_tuple_looks_whether_there_is_one(void **state UNUSED)
{
    CHECK(FLOWS("ip,ct_state=-trk actions=ct(table=1)", "table=1,ip,ct_state=+trk actions=resubmit(,2,ct)", "table=2,ip actions=output:2"),
          { 0, TCP, "ct,recirc(1)", NULL }, { 1, TCP ",ct_state=+trk+inv", "drop", "ct_state=+inv+trk,ct_nw_proto=0,ip" },
          { 1, NEW ",ct_nw_proto=6,ct_nw_src=10.0.0.1", "2", "ct_state=+trk,ct_nw_proto=6,ip" });
}

/* ---- What is not known. ---- */

static void an_unknown_id_is_dropped_and_no_flow_is_made_of_it(void **state UNUSED)
{
    struct xconfig *c = config(FLOWS("actions=output:2"));
    struct flow flow = kit_packet(TCP);

    flow.recirc_id = 12345;
    translate(c, &flow);
    assert_int_equal(out.verdict, XLATE_NOT_KNOWN);
    assert_true(xlate_is_stray(out.verdict));
    assert_int_equal(attrbuf_len(&out.actions), 0);
    xconfig_destroy(c);
}

static void a_bridge_that_is_gone(void **state UNUSED)
{
    struct xconfig *c = config(FLOWS("ip,in_port=1 actions=output:5", "B:ip actions=ct(table=1)")), *d = xconfig_create();
    struct flow flow = kit_packet(TCP);

    translate(c, &flow);
    assert_int_equal(out.n_recircs, 1);
    flow.recirc_id = recirc_id(out.recircs[0]);
    kit_add_flow(kit_add_bridge(d, "a", "1:t 2:t"), "actions=output:2");
    xconfig_seal(d);
    translate(d, &flow);
    assert_int_equal(out.verdict, XLATE_BRIDGE_GONE);
    assert_int_equal(attrbuf_len(&out.actions), 0);
    xconfig_destroy(c);
    xconfig_destroy(d);
}

/* ---- What the datapath lacks. ---- */

static void what_the_datapath_lacks_is_refused(void **state UNUSED)
{
    static const struct {
        const char *flow;
        size_t lacks; /* Offset in struct dpif_features. */
        enum ofp_error error;
    } cases[] = {
#define LACKS(MEMBER) offsetof(struct dpif_features, MEMBER)
        { "ct_state=+trk,ip actions=drop", LACKS(ct_state), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ct_state=+snat,ip actions=drop", LACKS(ct_nat), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ct_zone=1 actions=drop", LACKS(ct_zone), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ct_mark=1 actions=drop", LACKS(ct_mark), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ct_label=1 actions=drop", LACKS(ct_label), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ct_state=+est,ip,ct_nw_src=10.0.0.1 actions=drop", LACKS(ct_orig_tuple), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ct_state=+est,ipv6,ct_ipv6_src=fd00::1 actions=drop", LACKS(ct_orig_tuple6), OFPERR_NXBMC_CT_DATAPATH_SUPPORT },
        { "ip actions=ct(commit)", LACKS(ct_state), OFPERR_NXBAC_CT_DATAPATH_SUPPORT },
        { "ip actions=ct(table=1)", LACKS(recirc), OFPERR_NXBAC_CT_DATAPATH_SUPPORT },
        { "ip actions=ct(commit,zone=1)", LACKS(ct_zone), OFPERR_NXBAC_CT_DATAPATH_SUPPORT },
        { "ip actions=ct(commit,nat(src=1.1.1.1))", LACKS(ct_nat), OFPERR_NXBAC_CT_DATAPATH_SUPPORT },
        { "ip actions=ct(commit,exec(load:1->NXM_NX_CT_MARK[]))", LACKS(ct_mark), OFPERR_NXBAC_CT_DATAPATH_SUPPORT },
        { "ip actions=clone(ct(commit,exec(load:1->NXM_NX_CT_LABEL[0])))", LACKS(ct_label), OFPERR_NXBAC_CT_DATAPATH_SUPPORT },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf acts = BUF_INITIALIZER;
        struct flow_mod fm = kit_flow_mod(cases[i].flow, &acts);
        struct dpif_features can;
        const char *what = NULL;

        memset(&can, true, sizeof can);
        assert_int_equal(ct_check(&fm.filter.match, acts.data, acts.len, &can, &what), OFPERR_NONE);
        *((bool *) &can + cases[i].lacks) = false;
        if (ct_check(&fm.filter.match, acts.data, acts.len, &can, &what) != cases[i].error) {
            fail_msg("%s: not refused with %s", cases[i].flow, ofp_error_name(cases[i].error));
        }
        assert_non_null(what);
        memset(&can, false, sizeof can); /* Who asks for nothing of it gets on without. */
        buf_uninit(&acts);
        fm = kit_flow_mod("tcp actions=mod_nw_tos:4,output:2", &acts);
        assert_int_equal(ct_check(&fm.filter.match, acts.data, acts.len, &can, &what), OFPERR_NONE);
        buf_uninit(&acts);
    }
}

static void without_ct_clear_and_eventmask_it_does_without(void **state UNUSED)
{
    struct xconfig *c = config(FLOWS("ip actions=ct(table=1)", "table=1,ip actions=ct_clear,ct(commit),output:2"));
    struct flow flow = kit_packet(TCP);

    translate(c, &flow);
    flow.recirc_id = recirc_id(out.recircs[0]);
    translate(c, &flow);
    size_t len = attrbuf_len(&out.actions);
    memset(&c->can, false, sizeof c->can);
    translate(c, &flow);
    char *actions = kit_actions_text(&out.actions);
    assert_string_equal(actions, "ct(commit),2");
    assert_int_equal(len - attrbuf_len(&out.actions), 4 + 8 + 8); /* CT_CLEAR, EVENTMASK, ZONE. */
    free(actions);
    xconfig_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_firewall),
        cmocka_unit_test(registers_come_back),
        cmocka_unit_test(the_stack_and_the_action_set_come_back),
        cmocka_unit_test(ct_in_an_action_set),
        cmocka_unit_test(the_zone_may_come_from_a_field),
        cmocka_unit_test(commits_note_mark_and_label),
        cmocka_unit_test(nat_in_all_its_forms),
        cmocka_unit_test(helpers_go_by_name),
        cmocka_unit_test(what_is_written_goes_first),
        cmocka_unit_test(the_other_fork_is_untracked),
        cmocka_unit_test(ct_clear_hides_what_conntrack_said),
        cmocka_unit_test(behind_a_patch_port),
        cmocka_unit_test(resubmit_with_the_original_direction),
        cmocka_unit_test(clones_and_deep_tables_freeze_like_any),
        cmocka_unit_test(what_a_copy_went_through_is_fenced_off),
        cmocka_unit_test(bridges_do_not_see_each_others_connections),
        cmocka_unit_test(ct_clear_clears_what_there_is),
        cmocka_unit_test(a_packet_without_a_tuple_is_none_with_one),
        cmocka_unit_test(resubmit_for_the_tuple_looks_whether_there_is_one),
        cmocka_unit_test(an_unknown_id_is_dropped_and_no_flow_is_made_of_it),
        cmocka_unit_test(a_bridge_that_is_gone),
        cmocka_unit_test(what_the_datapath_lacks_is_refused),
        cmocka_unit_test(without_ct_clear_and_eventmask_it_does_without),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    recirc_forget_all();
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
