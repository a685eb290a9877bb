/* Tables that are full: who is refused, and who goes.  What is expected is what the packaged daemon did with the same flows. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ofproto/evict.h"
#include "tests/unit/xlate-tables-kit.h"

static struct tables *tables;

static int set_up(void **state UNUSED)
{
    tables = tables_create();
    return 0;
}

static int tear_down(void **state UNUSED)
{
    tables_unref(tables);
    return 0;
}

/* A flow that matches port IN_PORT and Ethernet type TYPE (0: any). */
struct spec {
    unsigned int in_port, type, idle, hard, importance, flags;
};

static enum ofp_error add(struct tables_txn *x, struct spec s)
{
    struct flow_mod fm = { .command = FLOW_ADD, .filter = { .out_port = OFPP_NONE, .out_group = OFPG_ANY, .priority = 1 } };
    char *text = s.type ? xasprintf("in_port=%u,dl_type=%u", s.in_port, s.type) : xasprintf("in_port=%u", s.in_port);
    char *error = ofp_match_scan(text, &fm.filter.match);

    assert_null(error);
    free(text);
    fm.spec.idle_timeout = s.idle;
    fm.spec.hard_timeout = s.hard;
    fm.spec.importance = s.importance;
    fm.spec.flags = s.flags;
    return flow_mod_apply(x, &fm, 1000);
}

static enum ofp_error add_alone(struct spec s)
{
    struct tables_txn x;

    tables_begin(tables, &x);
    enum ofp_error error = add(&x, s);
    if (error) {
        tables_rollback(&x);
    } else {
        tables_commit(&x);
    }
    tables_end(&x);
    return error;
}

static bool note_ports(struct rule *r, void *ports_)
{
    struct match m;
    char *ports = ports_;

    cls_rule_get_match(&r->cls, &m);
    ports[strlen(ports)] = '0' + ntohs(m.flow.ofp_in_port);
    return true;
}

static int compare_chars(const void *a, const void *b) { return *(const char *) a - *(const char *) b; }

/* The ports of the flows that there are, sorted, as "1223". */
static void check(const char *expected)
{
    char ports[64] = "";

    rcu_read_lock();
    tables_for_each(tables, 0, NULL, tables_version(tables), note_ports, ports);
    rcu_read_unlock();
    qsort(ports, strlen(ports), 1, compare_chars);
    assert_string_equal(ports, expected);
    assert_int_equal(tables_n_rules(tables, 0), strlen(expected));
}

static struct table_policy *policy(uint32_t limit, bool evicts)
{
    struct table_policy *p = tables_policy(tables, 0);

    p->limited = true;
    p->flow_limit = limit;
    p->evicts = evicts;
    return p;
}

static void a_full_table_refuses_but_replaces(void **state UNUSED)
{
    policy(2, false);
    assert_int_equal(add_alone((struct spec) { .in_port = 1 }), OFPERR_NONE);
    assert_int_equal(add_alone((struct spec) { .in_port = 2, .idle = 10 }), OFPERR_NONE);
    assert_int_equal(add_alone((struct spec) { .in_port = 3 }), OFPERR_OFPFMFC_TABLE_FULL);
    assert_int_equal(add_alone((struct spec) { .in_port = 2, .idle = 20 }), OFPERR_NONE);
    check("12");
}

/* What the bridge itself needs, above all when no controller is there, takes no room. */
static void hidden_rules_need_no_room(void **state UNUSED)
{
    policy(0, false);
    assert_int_equal(add_alone((struct spec) { .in_port = 1, .flags = RULE_HIDDEN }), OFPERR_NONE);
    assert_int_equal(add_alone((struct spec) { .in_port = 2 }), OFPERR_OFPFMFC_TABLE_FULL);
    assert_int_equal(tables_n_rules(tables, 0), 0);
}

static void permanent_flows_stay(void **state UNUSED)
{
    policy(2, true);
    add_alone((struct spec) { .in_port = 1 });
    add_alone((struct spec) { .in_port = 2 });
    assert_int_equal(add_alone((struct spec) { .in_port = 3, .idle = 10 }), OFPERR_OFPFMFC_TABLE_FULL);
    check("12");
}

static void who_expires_soonest_goes(void **state UNUSED)
{
    policy(3, true);
    add_alone((struct spec) { .in_port = 1, .idle = 100 });
    add_alone((struct spec) { .in_port = 2, .idle = 50 });
    add_alone((struct spec) { .in_port = 3, .hard = 70 });
    add_alone((struct spec) { .in_port = 4, .idle = 200 });
    check("134");
    add_alone((struct spec) { .in_port = 5, .idle = 10 });
    check("145");
    add_alone((struct spec) { .in_port = 6 });
    check("146");
}

static void who_is_of_the_least_importance_goes_first(void **state UNUSED)
{
    policy(3, false)->evicts_by_mod = true;
    add_alone((struct spec) { .in_port = 1, .idle = 100, .importance = 3 });
    add_alone((struct spec) { .in_port = 2, .idle = 500, .importance = 2 });
    add_alone((struct spec) { .in_port = 3, .idle = 700, .importance = 2 });
    add_alone((struct spec) { .in_port = 4, .idle = 600, .importance = 5 });
    check("134");
}

/* A group is of those that may go. */
static void the_largest_group_loses(void **state UNUSED)
{
    struct table_policy *p = policy(6, true);

    p->groups = xcalloc(1, sizeof *p->groups);
    p->n_groups = 1;
    assert_null(ofp_subfield_scan("NXM_OF_IN_PORT[]", &p->groups[0]));
    for (unsigned int type = 1; type <= 3; type++) {
        add_alone((struct spec) { .in_port = 1, .type = type });
    }
    add_alone((struct spec) { .in_port = 1, .type = 4, .idle = 10 });
    add_alone((struct spec) { .in_port = 2, .type = 1, .idle = 100 });
    add_alone((struct spec) { .in_port = 2, .type = 2, .idle = 100 });
    add_alone((struct spec) { .in_port = 3, .type = 1, .idle = 5 });
    check("111123");

    struct tables_txn x;
    p->flow_limit = 4;
    tables_begin(tables, &x);
    evict_excess(&x, 0);
    assert_int_equal(x.n, 2);
    assert_true(x.changes[0].evicted && x.changes[1].evicted);
    tables_commit(&x);
    tables_end(&x);
    check("1112");
}

/* Importance counts within it only. */
static void the_largest_group_loses_even_if_it_matters_more(void **state UNUSED)
{
    struct table_policy *p = policy(8, true);

    p->groups = xcalloc(1, sizeof *p->groups);
    p->n_groups = 1;
    assert_null(ofp_subfield_scan("in_port", &p->groups[0]));
    for (unsigned int port = 1; port <= 6; port++) {
        add_alone((struct spec) { .in_port = port, .type = 1, .idle = 10, .importance = port == 4 ? 9 : 1 });
    }
    add_alone((struct spec) { .in_port = 4, .type = 2, .idle = 10, .importance = 9 });
    add_alone((struct spec) { .in_port = 7 });
    add_alone((struct spec) { .in_port = 8 });
    check("12345678");
}

static void a_bundle_that_fails_evicts_nobody(void **state UNUSED)
{
    struct tables_txn x;

    policy(3, true);
    add_alone((struct spec) { .in_port = 1, .idle = 100 });
    add_alone((struct spec) { .in_port = 2 });
    tables_begin(tables, &x);
    assert_int_equal(add(&x, (struct spec) { .in_port = 3, .idle = 10 }), OFPERR_NONE);
    assert_int_equal(add(&x, (struct spec) { .in_port = 4 }), OFPERR_NONE); /* For 3, */
    assert_int_equal(add(&x, (struct spec) { .in_port = 5 }), OFPERR_NONE); /* for 1. */
    assert_int_equal(add(&x, (struct spec) { .in_port = 6 }), OFPERR_OFPFMFC_TABLE_FULL);
    tables_rollback(&x);
    tables_end(&x);
    check("12");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_table_refuses_but_replaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hidden_rules_need_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(permanent_flows_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_expires_soonest_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_of_the_least_importance_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_largest_group_loses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_largest_group_loses_even_if_it_matters_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bundle_that_fails_evicts_nobody, set_up, tear_down),
    };

    rcu_register_thread();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
