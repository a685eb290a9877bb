/* Which controllers are told of a packet, how it is called, and how many at a time; over real sockets. */
#include <config.h>

#include "lib/dpif/dpif.h"
#include "lib/nl/attrbuf.h"
#include "lib/ofp/ofp-listener.h"
#include "ofproto/controller-private.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/pin.h"
#include "tests/unit/io-kit.h"

#include <linux/openvswitch.h>

#define PACKET_IN 10 /* OFPT_. */

/* A controller's side, and the packet-ins that it has got. */
struct boss {
    struct ofp_listener *l;
    char *target;
    struct ofp_conn *conn;
    unsigned int n, reasons[64], ports[64]; /* Of OpenFlow 1.0. */
    unsigned int first[8];                  /* By port: which was the first of it, from 1. */
    unsigned int reason;                    /* Of the last, in later versions. */
    size_t len;
};

static void boss_message(struct ofp_conn *c UNUSED, const void *msg_, size_t len, void *b_)
{
    const uint8_t *msg = msg_;
    struct boss *b = b_;

    if (msg[1] == PACKET_IN) {
        b->reasons[b->n % 64] = msg[16];
        unsigned int port = b->ports[b->n % 64] = get_u16(msg + 14);
        if (port < ARRAY_SIZE(b->first) && !b->first[port]) {
            b->first[port] = b->n + 1;
        }
        b->reason = msg[14];
        b->len = len;
        b->n++;
    }
}

static void boss_closed(struct ofp_conn *c, int error UNUSED, const char *why UNUSED, void *b_)
{
    ((struct boss *) b_)->conn = NULL;
    ofp_conn_destroy(c);
}

static const struct ofp_conn_ops boss_ops = { .message = boss_message, .closed = boss_closed };

static void boss_accepted(struct ofp_listener *l UNUSED, struct ofp_conn *c, void *b_)
{
    struct boss *b = b_;

    b->conn = c;
    ofp_conn_set_ops(c, &boss_ops, b);
}

static void boss_open(struct boss *b, enum ofp_version version)
{
    const struct ofp_listener_config config = { .stream = { .dscp = -1 }, .conn = { .versions = 1u << version } };

    *b = (struct boss){ 0 };
    expect_no_error(ofp_listener_open(loop_base(), "ptcp:0:127.0.0.1", &config, boss_accepted, b, &b->l));
    b->target = xasprintf("tcp:127.0.0.1:%u", ofp_listener_port(b->l));
}

static void boss_close(struct boss *b)
{
    ofp_listener_destroy(b->l);
    ofp_conn_destroy(b->conn);
    free(b->target);
    turn();
}

static unsigned int n_changed;
static void tables_changed(void *aux UNUSED) { n_changed++; }
static const struct ofproto_ops bridge_ops = { .changed = tables_changed };

static void control(struct ofproto *o, struct boss *bosses, size_t n, unsigned int rate)
{
    struct controller_config configs[4];
    const struct control_config c = { .secure = true, .versions = OFPROTO_VERSIONS, .controllers = configs, .n = n };

    for (size_t i = 0; i < n; i++) {
        configs[i] = (struct controller_config){ .target = bosses[i].target, .async = true, .dscp = 48, .limits = { .rate = rate, .burst = 25 } };
    }
    ofproto_set_control(o, &c);
}

/* Tells of a packet of PORT. */
static void tell(uint32_t bridge, unsigned int port, unsigned int reason, unsigned int flags, unsigned int controller_id)
{
    static const uint8_t packet[200];
    uint32_t memory[16];
    struct attrbuf key;
    const struct odp_cookie cookie = { .kind = ODP_COOKIE_CONTROLLER, .bridge = bridge, .reason = reason, .flags = flags, .max_len = 20,
                                       .controller_id = controller_id, .in_port = { port } };

    attrbuf_init(&key, memory, sizeof memory);
    attrbuf_put_u32(&key, OVS_KEY_ATTR_IN_PORT, port);
    const struct dpif_upcall u = { .packet = packet, .packet_len = sizeof packet, .key = attrbuf_data(&key), .key_len = attrbuf_len(&key) };
    struct pin *p = pin_create(&u, &cookie);
    ofproto_packet_in(p);
    pin_destroy(p);
}

static void test_each_is_told_what_it_wants_by_the_name_of_its_version(void **state UNUSED)
{
    static const struct {
        unsigned int reason, flags, id;
        int told[3]; /* In 1.0, 1.3 and 1.5: the reason; -1: not at all. */
    } cases[] = {
        { OFPR_ACTION, 0, 0, { 1, 1, 1 } },
        { OFPR_NO_MATCH, ODP_COOKIE_MISS, 0, { 0, -1, -1 } },
        { OFPR_ACTION, ODP_COOKIE_TABLE_MISS, 0, { 1, 0, 0 } },
        { OFPR_INVALID_TTL, 0, 0, { -1, -1, -1 } },
        { OFPR_ACTION_SET, 0, 0, { 1, 1, 3 } },
        { OFPR_PACKET_OUT, 0, 0, { 1, 1, 5 } },
        { OFPR_ACTION, 0, 7, { -1, -1, -1 } },
        { 99, 0, 0, { 1, 1, 1 } },
    };
    struct ofproto *o = ofproto_create(loop_base(), "br0", &bridge_ops, NULL), *other = ofproto_create(loop_base(), "br1", &bridge_ops, NULL);
    struct boss b[3];

    assert_true(ofproto_id(o) && ofproto_id(o) != ofproto_id(other));
    boss_open(&b[0], OFP10_VERSION);
    boss_open(&b[1], OFP13_VERSION);
    boss_open(&b[2], OFP15_VERSION);
    control(o, b, 3, 0);
    UNTIL(o->conns && o->conns->next && o->conns->next->next && b[0].conn && b[1].conn && b[2].conn);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        unsigned int before[3] = { b[0].n, b[1].n, b[2].n };
        tell(ofproto_id(o), 3, cases[i].reason, cases[i].flags, cases[i].id);
        tell(ofproto_id(other), 3, OFPR_ACTION, 0, 0);
        tell(0, 3, OFPR_ACTION, 0, 0);
        for (unsigned int k = 0; k < 3; k++) {
            unsigned int expected = before[k] + (cases[i].told[k] >= 0);
            UNTIL(b[k].n >= expected);
            turn();
            assert_int_equal(b[k].n, expected);
            if (cases[i].told[k] >= 0) {
                assert_int_equal(k ? b[k].reason : b[k].reasons[(b[k].n - 1) % 64], cases[i].told[k]);
                assert_true(b[k].len > 200); /* All of the packet. */
            }
        }
    }
    ofproto_destroy(o);
    ofproto_destroy(other);
    for (unsigned int k = 0; k < 3; k++) {
        boss_close(&b[k]);
    }
}

static void test_tables_hand_up_what_somebody_wants(void **state UNUSED)
{
    struct ofproto *o = ofproto_create(loop_base(), "br0", &bridge_ops, NULL);
    struct boss b[2];

    boss_open(&b[0], OFP13_VERSION);
    boss_open(&b[1], OFP10_VERSION);
    control(o, b, 1, 0);
    UNTIL(b[0].conn && o->conns);
    assert_int_equal(tables_punts(o->tables), 0);
    control(o, b, 2, 0);
    UNTIL(o->conns->next);
    assert_int_equal(tables_punts(o->tables), TABLES_PUNT_MISS);
    UNTIL(b[1].conn && ofp_conn_version(b[1].conn));
    unsigned int before = n_changed;
    static const uint8_t set_config[12] = { 1, 9, 0, 12, 0, 0, 0, 1, 0, 4, 0, 128 }; /* Expired TTLs. */
    assert_int_equal(ofp_conn_send(b[1].conn, set_config, sizeof set_config, OFP_CONN_REPLY), 0);
    UNTIL(tables_punts(o->tables) == (TABLES_PUNT_MISS | TABLES_PUNT_TTL));
    assert_int_equal(n_changed, before + 1);
    tell(ofproto_id(o), 3, OFPR_INVALID_TTL, 0, 0);
    UNTIL(b[1].n == 1);
    control(o, b, 1, 0); /* The one that wanted it is gone. */
    UNTIL(!tables_punts(o->tables));
    ofproto_destroy(o);
    boss_close(&b[0]);
    boss_close(&b[1]);
}

static void note_status(const char *key, const char *value, void *text_)
{
    char **text = text_, *longer = xasprintf("%s%s=%s ", *text, key + strlen("packet-in-"), value);

    free(*text);
    *text = longer;
}

/* What is told of the limit: of misses nothing has come. */
static void expect_status(const struct ofconn *c, uint64_t bypassed, uint64_t queued, uint64_t dropped, uint64_t backlog)
{
    char *text = xstrdup("");
    char *expected = xasprintf("miss-bypassed=0 miss-queued=0 miss-dropped=0 miss-backlog=0 action-bypassed=%llu action-queued=%llu "
                               "action-dropped=%llu action-backlog=%llu ", (unsigned long long) bypassed, (unsigned long long) queued,
                               (unsigned long long) dropped, (unsigned long long) backlog);

    ofconn_put_rate_status(c, note_status, &text);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
}

static void test_a_rate_is_shared_by_ports(void **state UNUSED)
{
    struct ofproto *o = ofproto_create(loop_base(), "br0", &bridge_ops, NULL);
    struct boss b;

    boss_open(&b, OFP10_VERSION);
    control(o, &b, 1, 100);
    UNTIL(b.conn && o->conns);
    uint64_t now = clock_msec();
    clock_hold(now);
    for (unsigned int i = 0; i < 200; i++) {
        tell(ofproto_id(o), 1, OFPR_ACTION, 0, 0);
    }
    tell(ofproto_id(o), 2, OFPR_ACTION, 0, 0);
    UNTIL(b.n >= 25);
    turn();
    assert_int_equal(b.n, 25); /* The burst. */
    uint64_t drops = ofconn_rate_drops(o->conns);
    assert_true(drops >= 150 && drops < 176); /* The rest waits. */
    expect_status(o->conns, 25, 176, drops, 176 - drops);
    clock_hold(now + 20); /* Two credits: one for each port. */
    UNTIL(b.n >= 27);
    turn();
    assert_int_equal(b.n, 27);
    assert_int_equal(b.ports[25] + b.ports[26], 3);
    clock_hold(now + 10000);
    UNTIL(b.n == 201 - drops);
    expect_status(o->conns, 25, 176, drops, 0);
    assert_int_equal(ofconn_rate_drops(o->conns), drops);
    clock_hold(now + 100000); /* However long it was quiet, no more than the burst. */
    for (unsigned int i = 0; i < 40; i++) {
        tell(ofproto_id(o), 1, OFPR_ACTION, 0, 0);
    }
    UNTIL(b.n >= 226 - drops);
    turn();
    assert_int_equal(b.n, 226 - drops);
    control(o, &b, 1, 0); /* No limit any more. */
    for (unsigned int i = 0; i < 100; i++) {
        tell(ofproto_id(o), 1, OFPR_ACTION, 0, 0);
    }
    UNTIL(b.n == 341 - drops);
    char *nothing = xstrdup("");
    ofconn_put_rate_status(o->conns, note_status, &nothing);
    assert_string_equal(nothing, "");
    free(nothing);
    clock_hold(0);
    ofproto_destroy(o);
    boss_close(&b);
}

/* Nobody reads while a port floods: more than the output may have.  Then one packet of another port comes, and has not the flood before it. */
static void test_who_reads_slowly_has_ports_take_turns(void **state UNUSED)
{
    struct ofproto *o = ofproto_create(loop_base(), "br0", &bridge_ops, NULL);
    struct boss b;

    boss_open(&b, OFP10_VERSION);
    control(o, &b, 1, 0);
    UNTIL(o->conns && b.conn);
    for (unsigned int i = 0; i < 20000; i++) {
        tell(ofproto_id(o), 3, OFPR_ACTION, 0, 0);
    }
    assert_true(ofp_conn_backlog(o->conns->conn) < OFP_CONN_MAX_OUTPUT / 8);
    tell(ofproto_id(o), 4, OFPR_ACTION, 0, 0);
    uint64_t dropped = ofconn_rate_drops(o->conns);
    assert_true(dropped > 0);
    UNTIL(b.n >= 20001 - dropped);
    assert_true(b.first[4] > 0 && b.first[4] < 500);
    turn();
    assert_int_equal(b.n, 20001 - dropped); /* What waited has come, all of it, and nothing twice. */
    ofconn_set_limits(o->conns, 0, 0, 10); /* Only so many may wait. */
    for (unsigned int i = 0; i < 20000; i++) {
        tell(ofproto_id(o), 3, OFPR_ACTION, 0, 0);
    }
    assert_true(ofconn_rate_drops(o->conns) - dropped > 20000 - 1000);
    ofproto_destroy(o);
    boss_close(&b);
}

static int setup(void **state)
{
    int r = kit_setup(state);
    return r ? r : setenv("OVS_RUNDIR", kit_dir, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_told_what_it_wants_by_the_name_of_its_version),
        cmocka_unit_test(test_tables_hand_up_what_somebody_wants),
        cmocka_unit_test(test_a_rate_is_shared_by_ports),
        cmocka_unit_test(test_who_reads_slowly_has_ports_take_turns),
    };
    return cmocka_run_group_tests(tests, setup, kit_teardown);
}
