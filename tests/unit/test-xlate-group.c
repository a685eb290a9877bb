/* Groups in translation: which buckets a packet goes through, what it is afterwards, what was looked at, and what counts it. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ofproto/group.h"
#include "tests/unit/xlate-tables-kit.h"

static char actions_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct rule *rules[XLATE_MAX_RULES];
static struct xlate_out out;

static const struct ofp_group_selection no_selection;

struct one {
    const char *actions;
    uint16_t weight;
    unsigned int watch_port;  /* 0: none. */
    uint32_t watch_group;     /* 0: none. */
};

/* Makes group ID of BR be this. */
static void put_group(struct xbridge *br, uint32_t id, enum ofp_group_type type, const struct ofp_group_selection *selection,
                      const struct one *ones, size_t n)
{
    struct group *g = group_create(id, type, selection, n, NULL, 0);
    struct groups_txn gx;

    for (size_t i = 0; i < n; i++) {
        struct buf acts = BUF_INITIALIZER;
        const struct ofp_bucket b = {
            .id = i, .weight = ones[i].weight, .watch_port = ones[i].watch_port ? (ofp_port_t) { ones[i].watch_port } : OFPP_NONE,
            .watch_group = ones[i].watch_group ? ones[i].watch_group : OFPG_ANY,
        };
        char *error = ofp_acts_scan(ones[i].actions, NULL, &acts);
        if (error) {
            fail_msg("%s: %s", ones[i].actions, error);
        }
        group_add_bucket(g, &b, (const struct ofp_act *) acts.data, acts.len, 0);
        buf_uninit(&acts);
    }
    groups_begin(tables_groups(br->tables), &gx);
    groups_put(&gx, id, g);
    groups_commit(&gx);
    groups_end(&gx);
}
#define PUT(C, ID, TYPE, SELECTION, ...)                                                                     \
    do {                                                                                                     \
        static const struct one ones[] = { __VA_ARGS__ };                                                    \
        put_group((C)->bridges[0], ID, TYPE, SELECTION, ones, ARRAY_SIZE(ones));                             \
    } while (0)

static struct xconfig *config(const char *flow)
{
    const char *const flows[] = { flow, "table=1,actions=output:4" };

    return kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t", flows, 2);
}

/* Translates; the datapath's actions as text, to be freed. */
static char *translate(const struct xconfig *c, const struct flow *flow)
{
    kit_translate(c, flow, actions_memory, &out);
    out.rules = rules;
    rcu_read_lock();
    xlate(c, flow, &out);
    rcu_read_unlock();
    return kit_actions_text(&out.actions);
}

static void expect(const struct xconfig *c, const char *packet, const char *actions, const char *mask)
{
    struct flow flow = kit_packet(packet);
    char *now = translate(c, &flow), *looked = kit_mask_text(&flow, &out.mask);

    assert_string_equal(now, actions);
    if (mask) {
        assert_string_equal(looked, mask);
    }
    free(now);
    free(looked);
}

#define TCP "tcp,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=1000,tp_dst=80"

/* Each bucket's set in the order of an action set, of each kind the last; after it the packet is what it was. */
static void each_bucket_gets_the_packet_as_it_came(void **state UNUSED)
{
    struct xconfig *c = config("actions=group:1,output:2");

    PUT(c, 1, OFPGT_ALL, &no_selection, { .actions = "output:2,output:3,mod_dl_dst:02:00:00:00:00:09" }, { .actions = "drop" },
        { .actions = "resubmit(,1)" });
    expect(c, TCP, "set(eth(dst=02:00:00:00:00:09)),3,set(eth(dst=02:00:00:00:00:02)),4,2", NULL);
    const struct group *g = groups_find(tables_groups(c->bridges[0]->tables), 1);
    /* The rule, the group, three buckets, and table 1's rule in the third. */
    assert_int_equal(out.n_rules, 6);
    assert_ptr_equal(out.rules[1], g->rule);
    for (unsigned int i = 0; i < 3; i++) {
        assert_ptr_equal(out.rules[2 + i], g->buckets[i].rule);
    }
    xconfig_destroy(c);
}

static void a_group_that_is_not_there_does_nothing(void **state UNUSED)
{
    struct xconfig *c = config("actions=group:9,output:2");

    expect(c, TCP, "2", "");
    xconfig_destroy(c);
}

static void groups_that_lead_to_themselves_end(void **state UNUSED)
{
    struct xconfig *c = config("actions=output:2,group:1");

    PUT(c, 1, OFPGT_INDIRECT, &no_selection, { .actions = "group:2" });
    PUT(c, 2, OFPGT_ALL, &no_selection, { .actions = "group:1" }, { .actions = "group:1" });
    struct flow flow = kit_packet(TCP);
    free(translate(c, &flow));
    assert_int_equal(out.verdict, XLATE_TOO_DEEP);
    xconfig_destroy(c);
}

static void many_groups_that_watch_one_another_end(void **state UNUSED)
{
    struct xconfig *c = config("actions=group:1,output:2");

    for (uint32_t id = 1; id <= 20; id++) { /* Each watches ten others, by buckets that watch others: 10 to the 16th ways. */
        struct one ones[10];
        for (unsigned int i = 0; i < ARRAY_SIZE(ones); i++) {
            ones[i] = (struct one) { .actions = "output:3", .watch_group = 1 + (id + i) % 20 };
        }
        put_group(c->bridges[0], id, OFPGT_FF, &no_selection, ones, ARRAY_SIZE(ones));
    }
    expect(c, TCP, "2", "");
    xconfig_destroy(c);
}

static void the_first_live_bucket_takes_over(void **state UNUSED)
{
    struct xconfig *c = config("actions=group:1");
    struct xport *two = xbridge_port_by_ofp(c->bridges[0], (ofp_port_t) { 2 }), *three = xbridge_port_by_ofp(c->bridges[0], (ofp_port_t) { 3 });

    PUT(c, 1, OFPGT_FF, &no_selection, { .actions = "output:2", .watch_port = 2 }, { .actions = "output:3", .watch_group = 2 },
        { .actions = "output:4", .watch_port = 77 });
    PUT(c, 2, OFPGT_FF, &no_selection, { .actions = "drop", .watch_port = 3 });
    expect(c, TCP, "2", "");
    two->is_live = false;
    expect(c, TCP, "3", NULL);
    three->is_live = false;
    expect(c, TCP, "drop", NULL);
    /* Two that watch each other are not live by that. */
    PUT(c, 2, OFPGT_FF, &no_selection, { .actions = "drop", .watch_group = 1 });
    expect(c, TCP, "drop", NULL);
    two->is_live = true;
    expect(c, TCP, "2", NULL);
    xconfig_destroy(c);
}

#define SWAP(A, B)              \
    do {                        \
        __typeof__(A) a_ = (A); \
        (A) = (B);              \
        (B) = a_;               \
    } while (0)

#define N 2000
/* Which port each of N connections goes to; one way, or back. */
static void deal(const struct xconfig *c, unsigned int ports[N], bool back)
{
    for (unsigned int i = 0; i < N; i++) {
        struct flow flow = kit_packet(TCP);
        flow.tp_src = htons(1000 + i);
        if (back) {
            SWAP(flow.tp_src, flow.tp_dst);
            SWAP(flow.ip_src, flow.ip_dst);
            SWAP(flow.eth_src, flow.eth_dst);
        }
        char *actions = translate(c, &flow);
        ports[i] = strtoul(actions, NULL, 10);
        free(actions);
    }
}

static void connections_are_dealt_by_weight_and_stay(void **state UNUSED)
{
    static unsigned int before[N], back[N], after[N];
    struct xconfig *c = config("actions=group:1");
    unsigned int n[5] = { 0 }, moved = 0;

    PUT(c, 1, OFPGT_SELECT, &no_selection, { .actions = "output:2", .weight = 3, .watch_port = 2 }, { .actions = "output:3", .weight = 1 },
        { .actions = "output:4", .weight = 0 });
    deal(c, before, false);
    deal(c, back, true);
    assert_memory_equal(before, back, sizeof before); /* Both ways of a connection. */
    for (unsigned int i = 0; i < N; i++) {
        assert_true(before[i] == 2 || before[i] == 3);
        n[before[i]]++;
    }
    assert_in_range(n[2], N * 7 / 10, N * 8 / 10);
    /* A bucket dies: who was not in it stays where he was.  And all come back. */
    PUT(c, 1, OFPGT_SELECT, &no_selection, { .actions = "output:2", .weight = 1, .watch_port = 2 }, { .actions = "output:3", .weight = 1 },
        { .actions = "output:4", .weight = 2 });
    deal(c, before, false);
    xbridge_port_by_ofp(c->bridges[0], (ofp_port_t) { 2 })->is_live = false;
    deal(c, after, false);
    for (unsigned int i = 0; i < N; i++) {
        assert_true(after[i] == 3 || after[i] == 4);
        assert_true(before[i] == 2 || before[i] == after[i]);
        moved += before[i] == 2 && after[i] == 4;
    }
    assert_in_range(moved, N / 4 / 2, N / 4); /* Two thirds of them. */
    xconfig_destroy(c);
}

static void what_is_hashed_is_looked_at_and_no_more(void **state UNUSED)
{
    struct ofp_group_selection by_source = { .method = "hash", .n_fields = 2 };
    struct xconfig *c = config("actions=group:1");

    by_source.fields[0].field = ofp_field(OFP_FIELD_IP_SRC);
    ofp_value_put_u64(&by_source.fields[0].mask, 4, 0xffff0000);
    by_source.fields[1].field = ofp_field(OFP_FIELD_UDP_DST); /* A TCP packet has none. */
    ofp_value_put_u64(&by_source.fields[1].mask, 2, 0xffff);
    PUT(c, 1, OFPGT_SELECT, &by_source, { .actions = "output:2", .weight = 1 });
    expect(c, TCP, "2", "tcp,nw_src=10.0.0.0/16");
    PUT(c, 1, OFPGT_SELECT, &no_selection, { .actions = "output:2", .weight = 1 });
    expect(c, TCP, "2", "tcp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_frag=no,tp_src=1000,tp_dst=80");
    xconfig_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bucket_gets_the_packet_as_it_came),
        cmocka_unit_test(a_group_that_is_not_there_does_nothing),
        cmocka_unit_test(groups_that_lead_to_themselves_end),
        cmocka_unit_test(many_groups_that_watch_one_another_end),
        cmocka_unit_test(the_first_live_bucket_takes_over),
        cmocka_unit_test(connections_are_dealt_by_weight_and_stay),
        cmocka_unit_test(what_is_hashed_is_looked_at_and_no_more),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return failed;
}
