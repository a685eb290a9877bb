/* Flow monitors: who is told of which change, in which order, also if he reads slowly: a client on a socket keeps a mirror of the tables by
 * what it is told, and in the end the mirror is equal.
 *
 * Clients speak 1.0 and 1.4, whose forms differ.  The random test takes its seed as the program's argument, and prints it when it fails. */
#include <config.h>

#include <errno.h>
#include <event2/util.h>
#include <sys/socket.h>

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/io/stream.h"
#include "ofproto/ofproto-private.h"
#include "tests/unit/io-kit.h"

#define N_TABLES 3
#define N_PRIORITIES 64
#define NO_COOKIE UINT64_MAX

enum { ALL_EVENTS = OFPFMF_INITIAL | OFPFMF_ADD | OFPFMF_REMOVED | OFPFMF_MODIFY, OWN = OFPFMF_NO_ABBREV };

struct client {
    uint8_t version;
    int fd;
    struct buf in;
    uint64_t mirror[N_TABLES][N_PRIORITIES]; /* Cookies. */
    unsigned int n[OFPFME_RESUMED + 1];      /* Updates, by event. */
    unsigned int n_errors, n_replies;        /* The last of a reply to a request that is no update. */
    uint32_t abbreviated;                    /* The last one's transaction id. */
    unsigned int reason, actions_len;        /* Of the last update. */
    unsigned int initials;                   /* Requests for what is there that are not answered. */
    bool paused;
    uint64_t seed;
};

static uint64_t only_seed;
static void tables_changed(void *aux UNUSED) {}
static const struct ofproto_ops bridge_ops = { .changed = tables_changed };

/* ---- The client. ---- */

static void client_send(struct client *c, const struct buf *b) { assert_int_equal(send(c->fd, b->data, b->len, 0), b->len); }

/* OUTPUT: the most that may wait. */
static void client_open(struct client *c, struct ofproto *o, uint8_t version, size_t output)
{
    const struct ofp_conn_config config = { .versions = 1u << version, .max_output = output };
    static const struct stream_options options = { .dscp = -1 };
    static const struct ofp_conn_ops no_ops;
    const uint8_t hello[8] = { version, 0, 0, 8 };
    struct stream *s;
    int fds[2], small = 1;

    *c = (struct client){ .version = version, .in = BUF_INITIALIZER };
    memset(c->mirror, 0xff, sizeof c->mirror);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    evutil_make_socket_nonblocking(fds[0]);
    expect_no_error(stream_accept(loop_base(), fds[0], "client", &options, NULL, NULL, &s));
    c->fd = fds[1];
    struct ofp_conn *conn = ofp_conn_create(loop_base(), s, &config, &no_ops, NULL);
    ofconn_accept(o, conn, NULL);
    assert_int_equal(send(c->fd, hello, sizeof hello, 0), sizeof hello);
    UNTIL(ofp_conn_version(conn) == version);
    o->conns->version = version;
}

static void client_close(struct client *c)
{
    close(c->fd);
    buf_uninit(&c->in);
}

static void rule_update(struct client *c, enum ofp_monitor_event event, const uint8_t *u, size_t len)
{
    bool old = c->version == OFP10_VERSION;
    unsigned int table = u[old ? 14 : 4], priority = get_u16(u + (old ? 6 : 10));
    uint64_t cookie = (uint64_t) get_u32(u + 16) << 32 | get_u32(u + 20);

    assert_true(table < N_TABLES && priority < N_PRIORITIES);
    uint64_t *known = &c->mirror[table][priority];
    if ((event == OFPFME_REMOVED || event == OFPFME_MODIFIED) && !c->initials && *known == NO_COOKIE) {
        fail_msg("seed %llu: table %u, priority %u: told of what it does not know", (unsigned long long) c->seed, table, priority);
    }
    *known = event == OFPFME_REMOVED ? NO_COOKIE : cookie;
    c->reason = old ? get_u16(u + 4) : u[5];
    c->actions_len = len - 24 - (old ? 0 : 8);
}

static void client_updates(struct client *c, const uint8_t *p, size_t len)
{
    for (size_t step; len; p += step, len -= step) {
        unsigned int event = get_u16(p + 2);
        step = get_u16(p);
        assert_true(step >= 8 && step <= len);
        event = c->version != OFP10_VERSION ? event : event == 3 ? OFPFME_ABBREV : event + OFPFME_ADDED;
        assert_true(event <= OFPFME_RESUMED);
        c->n[event]++;
        if (event == OFPFME_ABBREV) {
            c->abbreviated = get_u32(p + 4);
        } else if (event == OFPFME_PAUSED || event == OFPFME_RESUMED) {
            c->paused = event == OFPFME_PAUSED;
        } else {
            rule_update(c, event, p, step);
        }
    }
}

static void client_message(struct client *c, const uint8_t *m, size_t len)
{
    bool old = c->version == OFP10_VERSION;

    if (m[1] == 1) {
        c->n_errors++;
    } else if (old && m[1] == 4) { /* Nicira's: paused, resumed. */
        unsigned int event = get_u32(m + 12) == 22 ? OFPFME_PAUSED : OFPFME_RESUMED;
        c->n[event]++;
        c->paused = event == OFPFME_PAUSED;
    } else if (m[1] == (old ? 17 : 19)) {
        client_updates(c, m + (old ? 24 : 16), len - (old ? 24 : 16));
        if (get_u32(m + 4) && !(m[11] & 1)) {
            c->n_replies++;
            c->initials -= c->initials > 0;
        }
    }
}

/* Reads N bytes at most; returns whether there were any. */
static bool client_read(struct client *c, size_t n)
{
    ssize_t got = recv(c->fd, buf_put_uninit(&c->in, n), n, MSG_DONTWAIT);

    buf_truncate(&c->in, c->in.len - n + MAX(got, 0));
    while (c->in.len >= 8 && c->in.len >= get_u16(c->in.data + 2)) {
        size_t len = get_u16(c->in.data + 2);
        client_message(c, c->in.data, len);
        buf_pull(&c->in, len);
    }
    return got > 0;
}

static void client_read_all(struct client *c)
{
    unsigned int quiet = 0;

    while (quiet < 3) {
        turn();
        quiet = client_read(c, 65536) ? 0 : quiet + 1;
    }
}

static size_t begin(const struct client *c, struct buf *b, uint32_t xid)
{
    size_t start = b->len;

    buf_put_u8(b, c->version);
    buf_put_u8(b, c->version == OFP10_VERSION ? 16 : 18);
    buf_put_u16(b, 0);
    buf_put_u32(b, xid);
    buf_put_u16(b, c->version == OFP10_VERSION ? 0xffff : 16);
    buf_put_u16(b, 0);
    if (c->version == OFP10_VERSION) {
        buf_put_u32(b, NX_VENDOR_ID);
        buf_put_u32(b, 2);
    }
    buf_put_u32(b, 0);
    return start;
}

struct watch {
    uint32_t id;
    unsigned int flags, table;
    ofp_port_t out_port;
    unsigned int command; /* Of 1.4. */
    uint16_t in_port;     /* 0: any. */
};

static void put_watch(const struct client *c, struct buf *b, const struct watch *w)
{
    bool old = c->version == OFP10_VERSION;
    size_t match_len = w->in_port ? 6 : 0;

    buf_put_u32(b, w->id);
    if (old) {
        buf_put_u16(b, w->flags);
        buf_put_u16(b, w->out_port.n);
        buf_put_u16(b, match_len);
        buf_put_u8(b, w->table);
        buf_put_zeros(b, 5);
    } else {
        buf_put_u32(b, ofp_port_to_u32(w->out_port));
        buf_put_u32(b, OFPG_ANY);
        buf_put_u16(b, w->flags);
        buf_put_u8(b, w->table);
        buf_put_u8(b, w->command);
        buf_put_u16(b, 1);
        buf_put_u16(b, 4);
        buf_put_zeros(b, 4);
    }
    if (match_len) { /* NXM_OF_IN_PORT. */
        assert_true(old);
        buf_put_u32(b, 2);
        buf_put_u16(b, w->in_port);
        buf_put_zeros(b, 2);
    }
}

/* Sends one message with all N, and waits until it is answered. */
static void watch(struct client *c, const struct watch *w, size_t n)
{
    struct buf b = BUF_INITIALIZER;
    unsigned int answers = c->n_replies + c->n_errors;

    begin(c, &b, 0x1234);
    for (size_t i = 0; i < n; i++) {
        put_watch(c, &b, &w[i]);
    }
    buf_patch_u16(&b, 2, b.len);
    client_send(c, &b);
    buf_uninit(&b);
    UNTIL(client_read(c, 65536) && c->n_replies + c->n_errors > answers);
}

static void cancel(struct client *c, uint32_t id)
{
    struct buf b = BUF_INITIALIZER;

    buf_put_u32(&b, 0x01040014);
    buf_put_u32(&b, 77);
    buf_put_u32(&b, NX_VENDOR_ID);
    buf_put_u32(&b, 21);
    buf_put_u32(&b, id);
    client_send(c, &b);
    buf_uninit(&b);
    client_read_all(c);
}

/* A flow-mod of the client's own, in 1.0: COMMAND of a rule for anything in table 0. */
static void own_flow_mod(struct client *c, unsigned int command, unsigned int priority, uint32_t xid)
{
    struct buf b = BUF_INITIALIZER;

    buf_put_u32(&b, 0x010e0048);
    buf_put_u32(&b, xid);
    buf_put_u32(&b, 0x003fffff); /* Wildcards. */
    buf_put_zeros(&b, 36 + 6);
    buf_put_u16(&b, 5); /* Cookie. */
    buf_put_u16(&b, command);
    buf_put_u32(&b, 0);
    buf_put_u16(&b, priority);
    buf_put_u32(&b, UINT32_MAX);
    buf_put_u16(&b, OFPP_NONE.n);
    buf_put_u16(&b, 0);
    client_send(c, &b);
    buf_uninit(&b);
    client_read_all(c);
}

/* ---- Changes. ---- */

/* Makes one of rule (TABLE, PRIORITY), which outputs to PORT (0: nowhere), a part of X. */
static void change(struct tables_txn *x, enum flow_mod_command command, unsigned int table, int priority, uint64_t cookie, unsigned int port)
{
    struct ofp_act_output out = { .act = { .type = OFP_ACT_OUTPUT, .len = sizeof out }, .port = { port } };
    struct flow_mod *fm = xzalloc(sizeof *fm);

    fm->command = command;
    fm->filter = (struct rule_filter){ .table_id = table, .priority = priority, .strict = true, .out_port = OFPP_NONE, .out_group = OFPG_ANY };
    fm->spec = (struct rule_spec){ .cookie = cookie, .acts = &out.act, .acts_len = port ? sizeof out : 0 };
    fm->sets_cookie = true;
    assert_int_equal(flow_mod_apply(x, fm, 1), OFPERR_NONE);
    free(fm);
}

static void change_one(struct ofproto *o, enum flow_mod_command command, unsigned int table, int priority, uint64_t cookie, unsigned int port)
{
    struct tables_txn x;

    tables_begin(o->tables, &x);
    change(&x, command, table, priority, cookie, port);
    tables_commit(&x);
    ofproto_committed(o, &x, OFPRR_DELETE);
}

static struct ofproto *bridge_open(void) { return ofproto_create(loop_base(), "br0", &bridge_ops, NULL); }

#define EXPECT(C, INITIAL, ADDED, REMOVED, MODIFIED, ABBREV)                                                                                 \
    do {                                                                                                                                     \
        client_read_all(C);                                                                                                                  \
        assert_int_equal((C)->n[OFPFME_INITIAL], INITIAL);                                                                                   \
        assert_int_equal((C)->n[OFPFME_ADDED], ADDED);                                                                                       \
        assert_int_equal((C)->n[OFPFME_REMOVED], REMOVED);                                                                                   \
        assert_int_equal((C)->n[OFPFME_MODIFIED], MODIFIED);                                                                                 \
        assert_int_equal((C)->n[OFPFME_ABBREV], ABBREV);                                                                                     \
        memset((C)->n, 0, sizeof(C)->n);                                                                                                     \
    } while (0)

static void test_each_is_told_of_what_it_watches(void **state UNUSED)
{
    static const struct watch watches[] = {
        { 1, ALL_EVENTS, TABLE_ALL, { 0xffff }, 0, 0 },
        { 1, OFPFMF_ADD | OFPFMF_REMOVED | OFPFMF_MODIFY, 1, { 0xffff }, 0, 0 },
        { 1, OFPFMF_REMOVED | OFPFMF_INITIAL, TABLE_ALL, { 0xffff }, 0, 0 },
        { 1, ALL_EVENTS | OFPFMF_INSTRUCTIONS, TABLE_ALL, { 2 }, 0, 0 },
        { 1, ALL_EVENTS, TABLE_ALL, { 0xffff }, 0, 7 },
    };
    enum { N = sizeof watches / sizeof *watches };
    struct ofproto *o = bridge_open();
    struct client c[N];

    change_one(o, FLOW_ADD, 0, 1, 1, 2);
    change_one(o, FLOW_ADD, 1, 1, 1, 0);
    for (size_t i = 0; i < N; i++) {
        client_open(&c[i], o, OFP10_VERSION, 0);
        watch(&c[i], &watches[i], 1);
    }
    EXPECT(&c[0], 0, 2, 0, 0, 0);
    EXPECT(&c[1], 0, 0, 0, 0, 0);
    EXPECT(&c[2], 0, 2, 0, 0, 0);
    EXPECT(&c[3], 0, 1, 0, 0, 0);
    assert_int_equal(c[3].actions_len, 8);
    EXPECT(&c[4], 0, 0, 0, 0, 0);
    change_one(o, FLOW_ADD, 1, 1, 2, 0);           /* In another one's place: added. */
    change_one(o, FLOW_MODIFY_STRICT, 1, 1, 2, 0); /* Nothing new. */
    change_one(o, FLOW_MODIFY_STRICT, 1, 1, 3, 0); /* A cookie. */
    change_one(o, FLOW_MODIFY_STRICT, 0, 1, 1, 3); /* It did output to 2. */
    change_one(o, FLOW_MODIFY_STRICT, 0, 1, 1, 4); /* It does not, nor did it. */
    change_one(o, FLOW_DELETE_STRICT, 0, 1, 0, 0);
    EXPECT(&c[0], 0, 1, 1, 3, 0);
    EXPECT(&c[1], 0, 1, 0, 1, 0);
    EXPECT(&c[2], 0, 0, 1, 0, 0);
    assert_int_equal(c[2].reason, OFPRR_DELETE);
    EXPECT(&c[3], 0, 0, 0, 1, 0);
    EXPECT(&c[4], 0, 0, 0, 0, 0);
    ofproto_destroy(o);
    for (size_t i = 0; i < N; i++) {
        client_close(&c[i]);
    }
}

static void test_own_changes_are_told_shortly_unless_they_are_wanted(void **state UNUSED)
{
    static const struct watch all = { 1, ALL_EVENTS, TABLE_ALL, { 0xffff }, 0, 0 }, own = { 2, ALL_EVENTS | OWN, TABLE_ALL, { 0xffff }, 0, 0 };
    struct ofproto *o = bridge_open();
    struct client c, other;

    client_open(&c, o, OFP10_VERSION, 0);
    client_open(&other, o, OFP10_VERSION, 0);
    watch(&c, &all, 1);
    watch(&other, &all, 1);
    own_flow_mod(&c, 0, 1, 100);
    own_flow_mod(&c, 0, 2, 101);
    EXPECT(&c, 0, 0, 0, 0, 2);
    assert_int_equal(c.abbreviated, 101);
    EXPECT(&other, 0, 2, 0, 0, 0);
    own_flow_mod(&c, 3, 0, 102); /* Deletes both: once. */
    EXPECT(&c, 0, 0, 0, 0, 1);
    EXPECT(&other, 0, 0, 2, 0, 0);
    watch(&c, &own, 1);
    own_flow_mod(&c, 0, 3, 103);
    change_one(o, FLOW_ADD, 0, 4, 1, 0); /* Nobody's. */
    EXPECT(&c, 0, 2, 0, 0, 0);
    cancel(&c, 2);
    own_flow_mod(&c, 0, 5, 104);
    EXPECT(&c, 0, 0, 0, 0, 1);
    assert_int_equal(c.n_errors + other.n_errors, 0);
    ofproto_destroy(o);
    client_close(&c);
    client_close(&other);
}

static void test_a_request_is_carried_out_whole_or_not_at_all(void **state UNUSED)
{
    const struct watch one = { 1, ALL_EVENTS, 0, { 0xffff }, 0, 0 }, bad[] = { { 2, ALL_EVENTS, 1, { 0xffff }, 0, 0 }, one };
    const struct watch changes[] = { { 1, ALL_EVENTS, 1, { 0xffff }, OFPFMC_MODIFY, 0 },
                                     { 1, 0, 1, { 0xffff }, OFPFMC_DELETE, 0 },
                                     { 1, ALL_EVENTS, 2, { 0xffff }, OFPFMC_ADD, 0 } };
    const struct watch unknown = { 9, ALL_EVENTS, 2, { 0xffff }, OFPFMC_MODIFY, 0 };
    struct ofproto *o = bridge_open();
    struct client c, newer;

    client_open(&c, o, OFP10_VERSION, 0);
    watch(&c, &one, 1);
    watch(&c, bad, 2);
    assert_int_equal(c.n_errors, 1);
    change_one(o, FLOW_ADD, 0, 1, 1, 0);
    change_one(o, FLOW_ADD, 1, 1, 1, 0);
    EXPECT(&c, 0, 1, 0, 0, 0);
    cancel(&c, 2);
    assert_int_equal(c.n_errors, 2); /* It is not there. */
    cancel(&c, 1);
    assert_int_equal(c.n_errors, 2);
    client_open(&newer, o, OFP14_VERSION, 0);
    watch(&newer, &one, 1);
    EXPECT(&newer, 1, 0, 0, 0, 0);
    watch(&newer, &unknown, 1);
    assert_int_equal(newer.n_errors, 1);
    watch(&newer, changes, 1);
    EXPECT(&newer, 1, 0, 0, 0, 0);
    change_one(o, FLOW_DELETE_STRICT, 0, 1, 0, 0);
    change_one(o, FLOW_DELETE_STRICT, 1, 1, 0, 0);
    EXPECT(&newer, 0, 0, 1, 0, 0);
    watch(&newer, changes + 1, 2);
    change_one(o, FLOW_ADD, 1, 1, 1, 0);
    change_one(o, FLOW_ADD, 2, 1, 1, 0);
    EXPECT(&newer, 0, 1, 0, 0, 0);
    EXPECT(&c, 0, 0, 0, 0, 0);
    assert_int_equal(newer.n_errors, 1);
    ofproto_destroy(o);
    client_close(&c);
    client_close(&newer);
}

/* ---- Slow readers. ---- */

struct random {
    uint64_t seed, n;
};
static uint32_t rnd(struct random *r, uint32_t limit) { return hash_u64(r->n++, r->seed) % limit; }

struct truth {
    uint64_t cookie[N_TABLES][N_PRIORITIES];
};

static bool note_rule(struct rule *r, void *truth)
{
    ((struct truth *) truth)->cookie[r->table_id][cls_rule_priority(&r->cls)] = r->cookie;
    return true;
}

static void expect_mirror(struct client *c, struct ofproto *o)
{
    struct truth t;

    memset(&t, 0xff, sizeof t);
    rcu_read_lock();
    tables_for_each(o->tables, TABLE_ALL, NULL, tables_version(o->tables), note_rule, &t);
    rcu_read_unlock();
    for (unsigned int table = 0; table < N_TABLES; table++) {
        for (unsigned int p = 0; p < N_PRIORITIES; p++) {
            if (t.cookie[table][p] != c->mirror[table][p]) {
                fail_msg("seed %llu: table %u, priority %u: %llu, but was told %llu", (unsigned long long) c->seed, table, p,
                         (unsigned long long) t.cookie[table][p], (unsigned long long) c->mirror[table][p]);
            }
        }
    }
}

/* Some changes in one transaction. */
static void change_some(struct ofproto *o, struct random *r)
{
    unsigned int n = rnd(r, 8) ? 1 + rnd(r, 3) : 1 + rnd(r, 300);
    struct tables_txn x;

    tables_begin(o->tables, &x);
    for (unsigned int i = 0; i < n; i++) {
        static const enum flow_mod_command commands[] = { FLOW_ADD, FLOW_ADD, FLOW_MODIFY_STRICT, FLOW_DELETE_STRICT };
        change(&x, commands[rnd(r, 4)], rnd(r, N_TABLES), rnd(r, N_PRIORITIES), 1 + rnd(r, 1000), 1 + rnd(r, 100));
    }
    tables_commit(&x);
    ofproto_committed(o, &x, OFPRR_DELETE);
}

/* Asks for what is there; the answer comes when it comes. */
static void ask_more(struct client *c, uint32_t id)
{
    const struct watch w = { id, ALL_EVENTS | OWN | OFPFMF_INSTRUCTIONS, TABLE_ALL, { 0xffff }, 0, 0 };
    struct buf b = BUF_INITIALIZER;

    begin(c, &b, id);
    put_watch(c, &b, &w);
    buf_patch_u16(&b, 2, b.len);
    client_send(c, &b);
    buf_uninit(&b);
    c->initials++;
}

static void run_slow(uint64_t seed, unsigned int *n_pauses)
{
    struct random r = { .seed = seed };
    struct ofproto *o = bridge_open();
    struct client c;
    uint32_t id = 1;

    client_open(&c, o, rnd(&r, 2) ? OFP10_VERSION : OFP14_VERSION, 500 + rnd(&r, 4000));
    c.seed = seed;
    for (unsigned int i = 0; i < 100; i++) {
        change_some(o, &r);
    }
    ask_more(&c, id++);
    for (unsigned int i = 0; i < 300; i++) {
        unsigned int what = rnd(&r, 40);
        if (!what && id < 8) {
            ask_more(&c, id++);
        } else if (what < 25) {
            change_some(o, &r);
        } else {
            client_read(&c, 1 + rnd(&r, what == 25 ? 60000 : 3000));
        }
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
        assert_true(ofp_conn_backlog(o->conns->conn) < 200000);
    }
    client_read_all(&c);
    assert_int_equal(c.initials, 0);
    assert_int_equal(c.n_errors, 0);
    assert_false(c.paused);
    assert_int_equal(c.n[OFPFME_PAUSED], c.n[OFPFME_RESUMED]);
    *n_pauses += c.n[OFPFME_PAUSED];
    expect_mirror(&c, o);
    ofproto_destroy(o);
    client_close(&c);
    turn();
}

static void test_who_reads_slowly_catches_up(void **state UNUSED)
{
    unsigned int n_pauses = 0, n = only_seed ? 1 : 100;

    for (unsigned int i = 0; i < n; i++) {
        run_slow(only_seed ? only_seed : 1 + i, &n_pauses);
    }
    print_message("%u pauses\n", n_pauses);
    assert_true(only_seed || n_pauses > n);
}

/* What waits for a client that does not read does not grow by changes. */
static void test_who_does_not_read_costs_no_more_than_what_it_knows(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct random r = { .seed = 7 };
    struct client c;

    client_open(&c, o, OFP14_VERSION, 4096);
    ask_more(&c, 1);
    client_read_all(&c);
    for (unsigned int i = 0; i < 5000; i++) {
        change_some(o, &r);
        turn();
    }
    /* The bound, one message, and each rule that it knows deleted. */
    assert_true(ofp_conn_backlog(o->conns->conn) < 4096 + 65536 + N_TABLES * N_PRIORITIES * 100);
    ofproto_destroy(o); /* While it is paused. */
    client_close(&c);
}

static int setup(void **state)
{
    int r = kit_setup(state);
    return r ? r : setenv("OVS_RUNDIR", kit_dir, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_told_of_what_it_watches),
        cmocka_unit_test(test_own_changes_are_told_shortly_unless_they_are_wanted),
        cmocka_unit_test(test_a_request_is_carried_out_whole_or_not_at_all),
        cmocka_unit_test(test_who_reads_slowly_catches_up),
        cmocka_unit_test(test_who_does_not_read_costs_no_more_than_what_it_knows),
    };

    only_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    rcu_register_thread();
    return cmocka_run_group_tests(tests, setup, kit_teardown);
}
