/* The controllers of a bridge over real sockets: which connections stay, what a bridge does by itself, who is told
 * what, who looks on, and what is bounded. */
#include <config.h>

#include "lib/ofp/ofp-listener.h"
#include "lib/ofp/ofp-rconn.h"
#include "ofproto/controller-private.h"
#include "ofproto/ofproto-private.h"
#include "tests/unit/io-kit.h"

#define T0 1000000000ull /* ms: where the clock is held. */

/* A controller's side: what has connected to it, one at a time. */
struct boss {
    struct ofp_listener *l;
    char *target;
    struct ofp_conn *conn;
    unsigned int n_accepted, n_gone, n_port_status, n_other;
    unsigned int first_message; /* Type of. */
};

static void boss_message(struct ofp_conn *c UNUSED, const void *msg, size_t len UNUSED, void *b_)
{
    struct boss *b = b_;
    unsigned int type = ((const uint8_t *) msg)[1];

    b->first_message = b->n_port_status + b->n_other ? b->first_message : type;
    *(type == 12 ? &b->n_port_status : &b->n_other) += 1;
}

static void boss_closed(struct ofp_conn *c, int error UNUSED, const char *why UNUSED, void *b_)
{
    struct boss *b = b_;

    b->n_gone++;
    b->conn = b->conn == c ? NULL : b->conn;
    ofp_conn_destroy(c);
}

static const struct ofp_conn_ops boss_ops = { .message = boss_message, .closed = boss_closed };

static void boss_accepted(struct ofp_listener *l UNUSED, struct ofp_conn *c, void *b_)
{
    struct boss *b = b_;

    b->n_accepted++;
    ofp_conn_destroy(b->conn);
    b->conn = c;
    ofp_conn_set_ops(c, &boss_ops, b);
}

static void boss_open(struct boss *b, const char *at)
{
    const struct ofp_listener_config config = { .stream = { .dscp = -1 }, .conn = { .versions = OFPROTO_VERSIONS } };

    *b = (struct boss){ 0 };
    expect_no_error(ofp_listener_open(loop_base(), at, &config, boss_accepted, b, &b->l));
    b->target = xasprintf("tcp:127.0.0.1:%u", ofp_listener_port(b->l));
}

static void boss_close(struct boss *b)
{
    ofp_listener_destroy(b->l);
    ofp_conn_destroy(b->conn);
    free(b->target);
    turn();
}

/* The bridge. */
static unsigned int n_changes;
static void controllers_changed(void *aux UNUSED) { n_changes++; }
static void tables_changed(void *aux UNUSED) {}
static const struct ofproto_ops bridge_ops = { .changed = tables_changed, .controllers_changed = controllers_changed };

static struct ofproto *bridge_open(void) { return ofproto_create(loop_base(), "br0", &bridge_ops, NULL); }

static void bridge_close(struct ofproto *o)
{
    ofproto_destroy(o);
    turn();
}

static struct controller_config of(const char *target)
{
    return (struct controller_config){ .target = target, .async = true, .probe_msec = 5000, .dscp = 48 };
}

static void control(struct ofproto *o, bool secure, const struct controller_config *configs, size_t n)
{
    const struct control_config c = { .secure = secure, .versions = OFPROTO_VERSIONS, .controllers = configs, .n = n };
    ofproto_set_control(o, &c);
}

/* The rules of O: how many a controller sees, and whether the hidden one and that of a standalone bridge are there. */
struct rules {
    size_t seen;
    bool hidden, normal;
};

static bool note_rule(struct rule *r, void *rules_)
{
    struct rules *rules = rules_;

    if (r->flags & RULE_HIDDEN) {
        assert_true(cls_rule_priority(&r->cls) > UINT16_MAX);
        rules->hidden = true;
    } else {
        rules->seen++;
        rules->normal |= cls_rule_priority(&r->cls) == 0;
    }
    return true;
}

static struct rules rules_of(struct ofproto *o)
{
    struct rules rules = { 0 };

    tables_for_each(o->tables, TABLE_ALL, NULL, tables_version(o->tables), note_rule, &rules);
    return rules;
}

#define EXPECT_RULES(O, SEEN, NORMAL, HIDDEN)                                                                          \
    do {                                                                                                               \
        struct rules r_ = rules_of(O);                                                                                 \
        assert_int_equal(r_.seen, SEEN);                                                                               \
        assert_int_equal(r_.normal, NORMAL);                                                                           \
        assert_int_equal(r_.hidden, HIDDEN);                                                                           \
    } while (0)

static void add_rule(struct ofproto *o, int priority)
{
    struct flow_mod *fm = xzalloc(sizeof *fm);
    struct tables_txn x;

    fm->command = FLOW_ADD;
    fm->filter.priority = priority;
    tables_begin(o->tables, &x);
    assert_int_equal(flow_mod_apply(&x, fm, 0), OFPERR_NONE);
    tables_commit(&x);
    tables_end(&x);
    free(fm);
}

static char *dead_target(void)
{
    struct boss b;

    boss_open(&b, "ptcp:0:127.0.0.1");
    char *target = xstrdup(b.target);
    boss_close(&b);
    return target;
}

static void test_tables_begin_anew_with_the_way_of_working(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    char *dead = dead_target();
    struct controller_config c = of(dead), service = of(dead);
    service.service = true;

    control(o, false, NULL, 0);
    EXPECT_RULES(o, 1, true, false);
    add_rule(o, 5);
    control(o, false, NULL, 0);
    EXPECT_RULES(o, 2, true, false); /* Nothing has changed. */
    control(o, true, NULL, 0);
    EXPECT_RULES(o, 0, false, false);
    add_rule(o, 5);
    control(o, true, &c, 1);
    EXPECT_RULES(o, 0, false, false);
    add_rule(o, 5);
    control(o, false, &c, 1); /* The mode is another, but there is a controller. */
    EXPECT_RULES(o, 1, false, false);
    control(o, false, NULL, 0);
    EXPECT_RULES(o, 1, true, false);
    add_rule(o, 5);
    control(o, false, &service, 1); /* One that has no charge of it. */
    EXPECT_RULES(o, 2, true, false);
    bridge_close(o);
    free(dead);
}

static void test_a_standalone_bridge_forwards_by_itself_after_three_probes(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    char *dead[] = { dead_target(), dead_target() };
    struct controller_config c[] = { of(dead[0]), of(dead[1]) };
    c[0].probe_msec = 1000;
    c[1].probe_msec = 2000;

    clock_hold(T0);
    control(o, false, c, 2);
    add_rule(o, 7);
    clock_hold(T0 + 5999);
    ofproto_tick(o);
    EXPECT_RULES(o, 1, false, false);
    clock_hold(T0 + 6000);
    ofproto_tick(o);
    EXPECT_RULES(o, 0, false, true); /* What was there before is gone. */
    add_rule(o, 8);
    ofproto_tick(o);
    EXPECT_RULES(o, 1, false, true);
    control(o, false, c, 1);
    EXPECT_RULES(o, 1, false, true);
    control(o, true, c, 1);
    EXPECT_RULES(o, 1, false, false);
    ofproto_tick(o);
    EXPECT_RULES(o, 1, false, false);
    control(o, false, c, 1);
    ofproto_tick(o);
    EXPECT_RULES(o, 0, false, true);
    control(o, false, NULL, 0);
    EXPECT_RULES(o, 1, true, false);
    clock_hold(0);
    bridge_close(o);
    free(dead[0]);
    free(dead[1]);
}

static void test_a_controller_that_comes_ends_the_fallback(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    char *dead = dead_target();
    struct boss b;

    struct controller_config c[] = { of(dead), of(dead) };
    clock_hold(T0);
    control(o, false, c, 1);
    clock_hold(T0 + 15000);
    ofproto_tick(o);
    add_rule(o, 8);
    EXPECT_RULES(o, 1, false, true);
    boss_open(&b, "ptcp:0:127.0.0.1");
    c[1].target = b.target;
    control(o, false, c, 2);
    UNTIL(b.n_accepted);
    UNTIL(!o->fallback);
    EXPECT_RULES(o, 1, false, false);
    /* One of two is enough; three intervals begin when it goes. */
    clock_hold(T0 + 100000);
    ofproto_tick(o);
    EXPECT_RULES(o, 1, false, false);
    boss_close(&b);
    UNTIL(!controller_is_connected(o->controllers[1]));
    clock_hold(T0 + 114999);
    ofproto_tick(o);
    EXPECT_RULES(o, 1, false, false);
    clock_hold(T0 + 115000);
    ofproto_tick(o);
    EXPECT_RULES(o, 0, false, true);
    clock_hold(0);
    bridge_close(o);
    free(dead);
}

static void test_what_does_not_change_stays_connected(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct boss a, b;

    boss_open(&a, "ptcp:0:127.0.0.1");
    boss_open(&b, "ptcp:0:127.0.0.1");
    struct controller_config c[] = { of(a.target), of(b.target) };
    control(o, true, c, 1);
    UNTIL(a.conn && o->controllers[0]->conn);
    c[0].max_backoff_msec = 2000;
    c[0].probe_msec = 7000;
    c[0].limits.rate = 200;
    c[0].async = false;
    struct controller_config turned[] = { c[1], c[0] };
    control(o, true, turned, 2);
    UNTIL(b.conn && controller_is_connected(o->controllers[1]));
    control(o, false, c, 1);
    UNTIL(b.n_gone == 1);
    assert_int_equal(a.n_accepted, 1);
    assert_int_equal(a.n_gone, 0);
    assert_int_equal(o->controllers[0]->config.limits.rate, 200);
    /* Other versions are for another connection. */
    assert_int_equal(ofp_conn_version(a.conn), OFP15_VERSION);
    const struct control_config old = { .versions = 1u << OFP10_VERSION, .controllers = c, .n = 1 };
    ofproto_set_control(o, &old);
    UNTIL(a.n_accepted == 2);
    assert_int_equal(ofp_conn_version(a.conn), OFP10_VERSION);
    bridge_close(o);
    boss_close(&a);
    boss_close(&b);
}

/* ---- Status. ---- */

struct told {
    char state[16], last_error[200];
    bool since_connect, since_disconnect;
};

static void note_status(const char *key, const char *value, void *told_)
{
    struct told *t = told_;

    if (!strcmp(key, "state")) {
        snprintf(t->state, sizeof t->state, "%s", value);
    } else if (!strcmp(key, "last_error")) {
        snprintf(t->last_error, sizeof t->last_error, "%s", value);
    } else {
        *(!strcmp(key, "sec_since_connect") ? &t->since_connect : &t->since_disconnect) = true;
    }
}

static struct controller_status status_of(struct ofproto *o, const char *target, struct told *ret)
{
    struct controller_status s;

    *ret = (struct told){ 0 };
    assert_true(ofproto_controller_status(o, target, &s, note_status, ret));
    return s;
}

static void send_role(struct boss *b, uint32_t role, uint64_t generation)
{
    uint8_t msg[24] = { 6, 24, 0, 24, [7] = 9, [11] = role, [23] = generation };
    assert_int_equal(ofp_conn_send(b->conn, msg, sizeof msg, OFP_CONN_REPLY), 0);
}

static void test_status_says_how_it_is(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct boss a, b;
    struct controller_status s;
    struct told t;

    boss_open(&a, "ptcp:0:127.0.0.1");
    boss_open(&b, "ptcp:0:127.0.0.1");
    struct controller_config c[] = { of(a.target), of(b.target), of("tcp:no.such.host"), of("ptcp:0:127.0.0.1"),
                                     of("pfoo:1") };
    c[3].service = c[4].service = true;
    n_changes = 0;
    control(o, true, c, ARRAY_SIZE(c));
    UNTIL(o->controllers[0]->conn && o->controllers[1]->conn);
    assert_true(n_changes >= 2);
    s = status_of(o, a.target, &t);
    assert_true(s.connected && t.since_connect && !t.since_disconnect);
    assert_string_equal(s.role, "other");
    assert_string_equal(t.state, "ACTIVE");
    send_role(&a, 2, 1);
    UNTIL(a.n_other == 1);
    assert_string_equal(status_of(o, a.target, &t).role, "master");
    send_role(&b, 2, 2);
    UNTIL(b.n_other == 1);
    assert_string_equal(status_of(o, b.target, &t).role, "master");
    assert_string_equal(status_of(o, a.target, &t).role, "slave");
    s = status_of(o, "tcp:no.such.host", &t);
    assert_true(!s.connected && !s.role);
    assert_string_equal(t.state, "VOID");
    assert_non_null(strstr(t.last_error, "not resolved"));
    s = status_of(o, "ptcp:0:127.0.0.1", &t);
    assert_true(!s.connected && !s.role && !*t.last_error);
    s = status_of(o, "pfoo:1", &t);
    assert_true(!s.connected && *t.last_error);
    assert_false(ofproto_controller_status(o, "tcp:127.0.0.1:1", &s, note_status, &t));
    char *target = xstrdup(a.target);
    boss_close(&a);
    UNTIL(!o->controllers[0]->conn);
    s = status_of(o, target, &t);
    assert_true(!s.connected && !s.role && t.since_disconnect && *t.last_error);
    bridge_close(o);
    boss_close(&b);
    free(target);
}

/* ---- Being told. ---- */

static void change_ports(struct ofproto *o, unsigned int round)
{
    struct ofp_port p = { .port_no = { 1 }, .config = round & 1 };

    snprintf(p.name, sizeof p.name, "p1");
    ofproto_set_ports(o, &p, 1);
}

static void test_a_primary_is_told_and_a_service_asks(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct boss b[3];
    struct controller_config c[3];

    for (int i = 0; i < 3; i++) {
        boss_open(&b[i], "ptcp:0:127.0.0.1");
        c[i] = of(b[i].target);
    }
    c[1].service = true;
    c[2].async = false;
    control(o, true, c, 3);
    UNTIL(o->controllers[0]->conn && o->controllers[1]->conn && o->controllers[2]->conn);
    change_ports(o, 0);
    UNTIL(b[0].n_port_status == 1);
    /* An answer comes after whatever was sent before. */
    send_role(&b[1], 0, 0);
    send_role(&b[2], 0, 0);
    UNTIL(b[1].n_other == 1 && b[2].n_other == 1);
    assert_int_equal(b[1].n_port_status + b[2].n_port_status, 0);
    bridge_close(o);
    for (int i = 0; i < 3; i++) {
        boss_close(&b[i]);
    }
}

static void test_who_does_not_read_is_bounded_and_hurts_nobody(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct boss a, b;
    unsigned int round = 0;

    boss_open(&a, "ptcp:0:127.0.0.1");
    boss_open(&b, "ptcp:0:127.0.0.1");
    struct controller_config c[] = { of(a.target), of(b.target) };
    control(o, true, c, 2);
    UNTIL(o->controllers[0]->conn && o->controllers[1]->conn);
    ofp_conn_hold(a.conn);
    struct ofp_conn *stalled = o->controllers[0]->conn->conn;
    while (!ofp_conn_counters(stalled).dropped) {
        for (int i = 0; i < 200; i++) {
            change_ports(o, round++);
        }
        UNTIL(b.n_port_status == round);
        assert_true(ofp_conn_backlog(stalled) <= OFP_CONN_MAX_OUTPUT);
    }
    ofp_conn_release(a.conn);
    UNTIL(a.n_port_status + ofp_conn_counters(stalled).dropped == round);
    bridge_close(o);
    boss_close(&a);
    boss_close(&b);
}

/* ---- Passive ones. ---- */

struct visitor {
    struct ofp_rconn *r;
    unsigned int n_connected, n_disconnected, n_messages;
    uint8_t types[16];
};

static void visitor_connected(struct ofp_rconn *r UNUSED, struct ofp_conn *c UNUSED, void *v)
{
    ((struct visitor *) v)->n_connected++;
}
static void visitor_gone(struct ofp_rconn *r UNUSED, const char *why UNUSED, void *v)
{
    ((struct visitor *) v)->n_disconnected++;
}
static void visitor_message(struct ofp_rconn *r UNUSED, struct ofp_conn *c UNUSED, const void *msg, size_t len UNUSED,
                            void *v_)
{
    struct visitor *v = v_;
    if (v->n_messages < ARRAY_SIZE(v->types)) {
        v->types[v->n_messages] = ((const uint8_t *) msg)[1];
    }
    v->n_messages++;
}
static const struct ofp_rconn_ops visitor_ops = { .connected = visitor_connected,
                                                  .message = visitor_message,
                                                  .disconnected = visitor_gone };

static void visit(struct visitor *v, const char *target)
{
    const struct ofp_rconn_config config = { .stream = { .dscp = -1 }, .conn = { .versions = OFPROTO_VERSIONS } };

    *v = (struct visitor){ 0 };
    v->r = ofp_rconn_create(loop_base(), target, &config, &visitor_ops, v);
}

static void test_a_passive_controller_has_many_and_takes_them_along(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    char *path = kit_file("br0.extra"), *at = xasprintf("punix:%s", path);
    struct visitor v[2];
    struct told t;

    struct controller_config c = of(at);
    c.service = true;
    control(o, true, &c, 1);
    visit(&v[0], at + 1);
    visit(&v[1], at + 1);
    UNTIL(v[0].n_connected && v[1].n_connected && o->conns && o->conns->next);
    assert_true(status_of(o, at, &t).connected);
    assert_string_equal(t.state, "ACTIVE");
    control(o, true, NULL, 0);
    assert_null(o->conns);
    UNTIL(v[0].n_disconnected && v[1].n_disconnected);
    assert_int_equal(access(path, F_OK), -1);
    ofp_rconn_destroy(v[0].r);
    ofp_rconn_destroy(v[1].r);
    bridge_close(o);
    free(at);
    free(path);
}

static void test_a_passive_controller_that_cannot_listen_tries_again(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct boss taken;
    struct told t;

    boss_open(&taken, "ptcp:0:127.0.0.1");
    char *at = xasprintf("ptcp:%u:127.0.0.1", ofp_listener_port(taken.l));
    struct controller_config c = of(at);
    control(o, true, &c, 1);
    status_of(o, at, &t);
    assert_non_null(strstr(t.last_error, "Address already in use"));
    boss_close(&taken);
    ofproto_tick(o);
    status_of(o, at, &t);
    assert_string_equal(t.last_error, "");
    bridge_close(o);
    free(at);
}

/* ---- Looking on. ---- */

static void test_who_looks_on_sees_both_directions_of_the_master(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    char *target = xasprintf("unix:%s/br0.snoop", kit_dir);
    struct boss a, b;
    struct visitor v;

    ofproto_listen(o);
    control(o, true, NULL, 0);
    visit(&v, target);
    UNTIL(v.n_connected && v.n_disconnected); /* There is nothing to be seen. */
    ofp_rconn_destroy(v.r);

    boss_open(&a, "ptcp:0:127.0.0.1");
    boss_open(&b, "ptcp:0:127.0.0.1");
    struct controller_config c[] = { of(a.target), of(b.target) };
    control(o, true, c, 2);
    UNTIL(o->controllers[0]->conn && o->controllers[1]->conn);
    send_role(&b, 2, 1);
    UNTIL(b.n_other == 1);
    visit(&v, target);
    UNTIL(v.n_connected && o->snoopers);
    send_role(&a, 3, 2); /* Not looked at. */
    UNTIL(a.n_other == 1);
    send_role(&b, 0, 0);
    change_ports(o, 0);
    UNTIL(b.n_other == 2 && b.n_port_status == 1 && v.n_messages == 3);
    assert_int_equal(v.types[0] + v.types[1] + v.types[2], 24 + 25 + 12);
    /* It sees the next connection, too, and ends with the controller. */
    ofp_conn_destroy(b.conn);
    b.conn = NULL;
    UNTIL(b.n_accepted == 2 && o->controllers[1]->conn);
    send_role(&b, 0, 0);
    UNTIL(v.n_messages >= 5);
    assert_int_equal(v.n_disconnected, 0);
    control(o, true, c, 1);
    UNTIL(v.n_disconnected);
    ofp_rconn_destroy(v.r);
    bridge_close(o);
    boss_close(&a);
    boss_close(&b);
    free(target);
}

static int setup(void **state)
{
    int r = kit_setup(state);
    return r ? r : setenv("OVS_RUNDIR", kit_dir, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_begin_anew_with_the_way_of_working),
        cmocka_unit_test(test_a_standalone_bridge_forwards_by_itself_after_three_probes),
        cmocka_unit_test(test_a_controller_that_comes_ends_the_fallback),
        cmocka_unit_test(test_what_does_not_change_stays_connected),
        cmocka_unit_test(test_status_says_how_it_is),
        cmocka_unit_test(test_a_primary_is_told_and_a_service_asks),
        cmocka_unit_test(test_who_does_not_read_is_bounded_and_hurts_nobody),
        cmocka_unit_test(test_a_passive_controller_has_many_and_takes_them_along),
        cmocka_unit_test(test_a_passive_controller_that_cannot_listen_tries_again),
        cmocka_unit_test(test_who_looks_on_sees_both_directions_of_the_master),
    };
    return cmocka_run_group_tests(tests, setup, kit_teardown);
}
