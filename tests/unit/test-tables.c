/* Tables of rules: what a transaction makes visible and when, what a rollback leaves, and what flow-mods mean (OpenFlow 1.3, 6.4). */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/xlate-tables-kit.h"

struct change {
    enum flow_mod_command command;
    const char *flow;
    uint16_t flags;
    uint64_t cookie, cookie_mask;
    unsigned int out_port, out_group; /* 0: any. */
    bool all_tables, may_add, sets_cookie;
    uint16_t idle, hard;
};

static enum ofp_error apply(struct tables_txn *x, const struct change *c, uint64_t now)
{
    struct buf acts = BUF_INITIALIZER;
    struct flow_mod fm = kit_flow_mod(c->flow, &acts);

    fm.command = c->command;
    fm.filter.strict = c->command == FLOW_MODIFY_STRICT || c->command == FLOW_DELETE_STRICT;
    fm.filter.cookie = c->cookie;
    fm.filter.cookie_mask = c->cookie_mask;
    fm.filter.out_port = c->out_port ? (ofp_port_t) { c->out_port } : OFPP_NONE;
    fm.filter.out_group = c->out_group ? c->out_group : OFPG_ANY;
    fm.filter.table_id = c->all_tables ? TABLE_ALL : fm.filter.table_id;
    fm.spec.flags = c->flags;
    fm.spec.cookie = c->cookie;
    fm.spec.idle_timeout = c->idle;
    fm.spec.hard_timeout = c->hard;
    fm.may_add = c->may_add;
    fm.sets_cookie = c->sets_cookie;
    enum ofp_error error = flow_mod_apply(x, &fm, now);
    buf_uninit(&acts);
    return error;
}

static enum ofp_error change(struct tables *t, struct change c)
{
    struct tables_txn x;

    tables_begin(t, &x);
    enum ofp_error error = apply(&x, &c, 1);
    if (error) {
        tables_rollback(&x);
    } else {
        tables_commit(&x);
    }
    tables_end(&x);
    return error;
}
#define ADD(T, FLOW, ...) assert_int_equal(change(T, (struct change) { FLOW_ADD, FLOW, ##__VA_ARGS__ }), OFPERR_NONE)
#define DO(T, ...) assert_int_equal(change(T, (struct change) { __VA_ARGS__ }), OFPERR_NONE)

/* "T.PRIORITY:ACTIONS;..." of all rules at VERSION, in the order of tables and priorities. */
struct lines {
    char *line[64];
    unsigned int n;
};

static bool put_line(struct rule *r, void *lines_)
{
    struct lines *l = lines_;
    struct text t;
    FILE *out = text_open(&t);

    fprintf(out, "%u.%05d:", r->table_id, cls_rule_priority(&r->cls));
    ofp_acts_print(out, rule_acts(r), r->acts_len, NULL);
    fprintf(out, "/%llu", (unsigned long long) r->cookie);
    l->line[l->n++] = text_close(&t);
    return true;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *) a, *(char *const *) b); }

static char *all_at(const struct tables *t, uint64_t version)
{
    struct lines l = { .n = 0 };
    struct text text;
    FILE *out = text_open(&text);

    rcu_read_lock();
    tables_for_each(t, TABLE_ALL, NULL, version, put_line, &l);
    rcu_read_unlock();
    qsort(l.line, l.n, sizeof l.line[0], by_text);
    for (unsigned int i = 0; i < l.n; i++) {
        fprintf(out, "%s%s", i ? " " : "", l.line[i]);
        free(l.line[i]);
    }
    return text_close(&text);
}

static void assert_at(const struct tables *t, uint64_t version, const char *expected)
{
    char *s = all_at(t, version);

    assert_string_equal(s, expected);
    free(s);
}

static void assert_rules(const struct tables *t, const char *expected) { assert_at(t, tables_version(t), expected); }

static struct rule *only_rule(const struct tables *t, int priority)
{
    struct match any;

    memset(&any, 0, sizeof any);
    rcu_read_lock();
    struct rule *r = tables_find(t, 0, &any, priority, tables_version(t));
    rcu_read_unlock();
    return r;
}

/* Who tells what there was, slowly, holds rules that have long been gone. */
static void a_rule_that_is_held_keeps_its_match(void **state UNUSED)
{
    struct tables *t = tables_create();
    struct match m;

    ADD(t, "priority=1,actions=output:1");
    struct rule *r = only_rule(t, 1);
    rule_ref(r);
    DO(t, FLOW_DELETE_STRICT, "priority=1,actions=drop");
    for (int i = 0; i < 4; i++) { /* Two grace periods take it out. */
        rcu_barrier();
    }
    assert_int_equal(cls_rule_priority(&r->cls), 1);
    cls_rule_get_match(&r->cls, &m);
    assert_int_equal(r->refs, 1);
    rule_unref(r);
    tables_unref(t);
}

static void changes_are_seen_at_once_and_not_before(void **state UNUSED)
{
    struct tables *t = tables_create();
    struct tables_txn x;

    ADD(t, "priority=1,actions=output:1");
    tables_begin(t, &x);
    assert_int_equal(apply(&x, &(struct change) { FLOW_ADD, "priority=2,actions=output:2" }, 1), OFPERR_NONE);
    assert_int_equal(apply(&x, &(struct change) { FLOW_DELETE_STRICT, "priority=1,actions=drop" }, 1), OFPERR_NONE);
    assert_rules(t, "0.00001:output:1/0");
    assert_at(t, x.version, "0.00002:output:2/0"); /* Its own. */
    tables_commit(&x);
    assert_rules(t, "0.00002:output:2/0");
    assert_int_equal(x.n, 2);
    assert_int_equal(x.changes[0].type, TABLES_ADDED);
    assert_int_equal(x.changes[1].type, TABLES_REMOVED);
    tables_end(&x);
    tables_unref(t);
}

static void a_rollback_leaves_everything_as_it_was(void **state UNUSED)
{
    struct tables *t = tables_create();
    static const char before[] = "0.00001:output:1/0 0.00002:output:2/0 0.00003:output:3/0";

    ADD(t, "priority=1,actions=output:1");
    ADD(t, "priority=2,actions=output:2");
    ADD(t, "priority=3,actions=output:3");
    for (int round = 0; round < 3; round++) { /* The version is used again. */
        struct tables_txn x;
        tables_begin(t, &x);
        apply(&x, &(struct change) { FLOW_ADD, "priority=9,actions=output:9" }, 1);
        apply(&x, &(struct change) { FLOW_DELETE_STRICT, "priority=9,actions=drop" }, 1);
        apply(&x, &(struct change) { FLOW_ADD, "priority=1,actions=output:8" }, 1);
        apply(&x, &(struct change) { FLOW_MODIFY, "actions=output:7" }, 1);
        apply(&x, &(struct change) { FLOW_DELETE_STRICT, "priority=2,actions=drop" }, 1);
        apply(&x, &(struct change) { FLOW_ADD, "priority=2,actions=output:6" }, 1);
        assert_at(t, x.version, "0.00001:output:7/0 0.00002:output:6/0 0.00003:output:7/0");
        tables_rollback(&x);
        tables_end(&x);
        assert_rules(t, before);
        if (round == 1) {
            rcu_barrier();
        }
    }
    ADD(t, "priority=9,actions=output:9");
    assert_rules(t, "0.00001:output:1/0 0.00002:output:2/0 0.00003:output:3/0 0.00009:output:9/0");
    struct table_stats s;
    rcu_barrier();
    rcu_barrier();
    tables_get_stats(t, 0, &s);
    assert_int_equal(s.n_rules, 4);
    tables_unref(t);
}

static void what_comes_and_goes_in_one_transaction_leaves_nothing(void **state UNUSED)
{
    struct tables *t = tables_create();
    struct tables_txn x;

    tables_begin(t, &x);
    apply(&x, &(struct change) { FLOW_ADD, "priority=1,actions=output:1", .idle = 5 }, 1);
    apply(&x, &(struct change) { FLOW_ADD, "priority=1,actions=output:2", .idle = 6 }, 1);
    apply(&x, &(struct change) { FLOW_DELETE, "actions=drop" }, 1);
    tables_commit(&x);
    tables_end(&x);
    assert_rules(t, "");
    tables_unref(t);
}

static void counts_survive_what_replaces_a_rule(void **state UNUSED)
{
    struct tables *t = tables_create();

    ADD(t, "priority=1,actions=output:1", .idle = 9, .flags = RULE_SEND_FLOW_REM);
    struct rule *old = only_rule(t, 1);
    rule_ref(old);
    rule_count(old, 3, 300, 77);
    DO(t, FLOW_MODIFY, "actions=output:2");
    struct rule *r = only_rule(t, 1);
    assert_ptr_not_equal(r, old);
    rule_count(old, 2, 200, 55); /* Late statistics. */
    assert_int_equal(rule_packets(r), 5);
    assert_int_equal(rule_bytes(r), 500);
    assert_int_equal(rule_used(r), 77);
    assert_int_equal(r->idle_timeout, 9);
    assert_int_equal(r->flags, RULE_SEND_FLOW_REM);
    assert_int_equal(r->serial, old->serial);
    ADD(t, "priority=1,actions=output:3");
    assert_int_equal(rule_packets(only_rule(t, 1)), 5);
    assert_int_equal(only_rule(t, 1)->idle_timeout, 0);
    ADD(t, "priority=1,actions=output:3", .flags = RULE_RESET_COUNTS);
    assert_int_equal(rule_packets(only_rule(t, 1)), 0);
    rcu_barrier();
    rcu_barrier();
    assert_true(rule_try_ref(old));
    rule_unref(old);
    rule_unref(old);
    tables_unref(t);
}

static void count_timed(struct rule *r, void *sum) { *(unsigned int *) sum += r->idle_timeout + 100 * r->hard_timeout; }

static unsigned int timed(struct tables *t)
{
    unsigned int sum = 0;

    tables_for_each_timed(t, count_timed, &sum);
    return sum;
}

static void rules_with_timeouts_are_listed_while_they_are_there(void **state UNUSED)
{
    struct tables *t = tables_create();

    ADD(t, "priority=1,actions=output:1", .idle = 1);
    ADD(t, "priority=2,actions=output:1", .hard = 2);
    ADD(t, "priority=3,actions=output:1");
    ADD(t, "priority=4,actions=output:1", .idle = 4);
    assert_int_equal(timed(t), 205);
    DO(t, FLOW_MODIFY, "actions=output:2");
    assert_int_equal(timed(t), 205);
    DO(t, FLOW_DELETE_STRICT, "priority=1,actions=drop");
    assert_int_equal(timed(t), 204);
    ADD(t, "priority=4,actions=output:1");
    assert_int_equal(timed(t), 200);
    DO(t, FLOW_DELETE, "actions=drop");
    assert_int_equal(timed(t), 0);
    tables_unref(t);
}

static void strict_means_just_that_rule_and_loose_all_more_specific_ones(void **state UNUSED)
{
    struct tables *t = tables_create();

    ADD(t, "priority=1,ip actions=output:1");
    ADD(t, "priority=2,tcp actions=output:1");
    ADD(t, "priority=3,arp actions=output:1");
    ADD(t, "table=1,priority=1,ip actions=output:1");
    DO(t, FLOW_MODIFY_STRICT, "priority=2,ip actions=output:9");
    assert_rules(t, "0.00001:output:1/0 0.00002:output:1/0 0.00003:output:1/0 1.00001:output:1/0");
    DO(t, FLOW_MODIFY_STRICT, "priority=1,ip actions=output:2");
    assert_rules(t, "0.00001:output:2/0 0.00002:output:1/0 0.00003:output:1/0 1.00001:output:1/0");
    DO(t, FLOW_MODIFY, "priority=99,ip actions=output:3");
    assert_rules(t, "0.00001:output:3/0 0.00002:output:3/0 0.00003:output:1/0 1.00001:output:1/0");
    DO(t, FLOW_DELETE, "ip actions=drop", .all_tables = true);
    assert_rules(t, "0.00003:output:1/0");
    DO(t, FLOW_DELETE, "table=1,actions=drop");
    assert_rules(t, "0.00003:output:1/0");
    DO(t, FLOW_DELETE_STRICT, "priority=3,arp actions=drop", .all_tables = true);
    assert_rules(t, "");
    tables_unref(t);
}

static void cookies_and_ports_say_which_rules_are_meant(void **state UNUSED)
{
    struct tables *t = tables_create();

    ADD(t, "priority=1,actions=output:1", .cookie = 0x11);
    ADD(t, "priority=2,actions=output:2", .cookie = 0x21);
    ADD(t, "priority=3,actions=clone(output:2)", .cookie = 0x22);
    DO(t, FLOW_MODIFY, "actions=output:5", .cookie = 0x10, .cookie_mask = 0xf0);
    assert_rules(t, "0.00001:output:5/17 0.00002:output:2/33 0.00003:clone(output:2)/34");
    DO(t, FLOW_MODIFY, "priority=1,actions=output:6", .cookie = 0x77, .sets_cookie = true);
    assert_rules(t, "0.00001:output:6/119 0.00002:output:6/119 0.00003:output:6/119");
    ADD(t, "priority=4,actions=clone(output:2)", .cookie = 0x78);
    DO(t, FLOW_DELETE, "actions=drop", .out_port = 2);
    assert_rules(t, "0.00001:output:6/119 0.00002:output:6/119 0.00003:output:6/119");
    DO(t, FLOW_DELETE, "actions=drop", .out_group = 7);
    DO(t, FLOW_DELETE, "actions=drop", .cookie = 1, .cookie_mask = UINT64_MAX);
    assert_rules(t, "0.00001:output:6/119 0.00002:output:6/119 0.00003:output:6/119");
    tables_unref(t);
}

static void an_overlap_is_refused_if_asked_for_but_the_same_match_is_none(void **state UNUSED)
{
    struct tables *t = tables_create();

    ADD(t, "priority=1,ip actions=output:1");
    assert_int_equal(change(t, (struct change) { FLOW_ADD, "priority=1,in_port=1 actions=output:2", .flags = RULE_CHECK_OVERLAP }),
                     OFPERR_OFPFMFC_OVERLAP);
    assert_rules(t, "0.00001:output:1/0");
    ADD(t, "priority=2,in_port=1 actions=output:2", .flags = RULE_CHECK_OVERLAP);
    ADD(t, "priority=1,arp actions=output:3", .flags = RULE_CHECK_OVERLAP);
    ADD(t, "priority=1,ip actions=output:4", .flags = RULE_CHECK_OVERLAP);
    assert_rules(t, "0.00001:output:3/0 0.00001:output:4/0 0.00002:output:2/0");
    tables_unref(t);
}

static void what_is_modified_and_not_there_may_be_added(void **state UNUSED)
{
    struct tables *t = tables_create();

    DO(t, FLOW_MODIFY, "priority=1,actions=output:1");
    assert_rules(t, "");
    DO(t, FLOW_MODIFY, "priority=1,actions=output:1", .may_add = true);
    DO(t, FLOW_MODIFY_STRICT, "table=3,priority=2,actions=output:1", .may_add = true);
    /* OpenFlow 1.0 names no table: the first. */
    DO(t, FLOW_MODIFY_STRICT, "priority=7,actions=output:1", .may_add = true, .all_tables = true);
    assert_rules(t, "0.00001:output:1/0 0.00007:output:1/0 3.00002:output:1/0");
    DO(t, FLOW_MODIFY, "actions=output:2", .may_add = true, .all_tables = true);
    assert_rules(t, "0.00001:output:2/0 0.00007:output:2/0 3.00002:output:2/0");
    tables_unref(t);
}

static void hidden_rules_and_their_table_are_no_business_of_controllers(void **state UNUSED)
{
    struct tables *t = tables_create();

    assert_int_equal(change(t, (struct change) { FLOW_ADD, "table=254,actions=drop" }), OFPERR_OFPBRC_EPERM);
    assert_int_equal(change(t, (struct change) { FLOW_ADD, "actions=drop", .all_tables = true }), OFPERR_OFPFMFC_BAD_TABLE_ID);
    ADD(t, "priority=1,actions=output:1", .flags = RULE_HIDDEN);
    DO(t, FLOW_DELETE, "actions=drop", .all_tables = true);
    DO(t, FLOW_MODIFY, "actions=output:2");
    assert_rules(t, "0.00001:output:1/0");
    tables_unref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_that_is_held_keeps_its_match),
        cmocka_unit_test(changes_are_seen_at_once_and_not_before),
        cmocka_unit_test(a_rollback_leaves_everything_as_it_was),
        cmocka_unit_test(what_comes_and_goes_in_one_transaction_leaves_nothing),
        cmocka_unit_test(counts_survive_what_replaces_a_rule),
        cmocka_unit_test(rules_with_timeouts_are_listed_while_they_are_there),
        cmocka_unit_test(strict_means_just_that_rule_and_loose_all_more_specific_ones),
        cmocka_unit_test(cookies_and_ports_say_which_rules_are_meant),
        cmocka_unit_test(an_overlap_is_refused_if_asked_for_but_the_same_match_is_none),
        cmocka_unit_test(what_is_modified_and_not_there_may_be_added),
        cmocka_unit_test(hidden_rules_and_their_table_are_no_business_of_controllers),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        rcu_barrier(); /* What callbacks call back in turn. */
    }
    rcu_unregister_thread();
    return failed;
}
