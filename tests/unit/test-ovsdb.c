/* The database client, against the packaged ovsdb-server (in a directory of its own), and against servers that talk
 * nonsense.  Skipped as a whole where ovsdb-server is not installed. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/io/thread.h"
#include "lib/rpc/ovsdb.h"
#include "lib/rpc/rpc-socket.h"

#define SCHEMA "/usr/share/openvswitch/vswitch.ovsschema"
#define LOCK   "ovs_vswitchd"

static const struct ovsdb_table_spec tables[] = {
    { "Open_vSwitch",
      (const struct ovsdb_column_spec[]){
          { "next_cfg", OVSDB_READ },
          { "bridges", OVSDB_READ },
          { "other_config", OVSDB_READ },
          { "no_such_column", OVSDB_READ },
          { "cur_cfg", OVSDB_WRITE },
          { "iface_types", OVSDB_WRITE },
          { "statistics", OVSDB_WRITE },
          { "no_such_status", OVSDB_WRITE },
          { NULL, OVSDB_READ },
      } },
    { "Bridge",
      (const struct ovsdb_column_spec[]){
          { "name", OVSDB_READ },
          { "ports", OVSDB_READ },
          { "datapath_id", OVSDB_WRITE },
          { NULL, OVSDB_READ },
      } },
    { "Interface",
      (const struct ovsdb_column_spec[]){
          { "name", OVSDB_READ },
          { "ofport", OVSDB_WRITE },
          { "error", OVSDB_WRITE },
          { NULL, OVSDB_READ },
      } },
    { "No_Such_Table", (const struct ovsdb_column_spec[]){ { "name", OVSDB_READ }, { NULL, OVSDB_READ } } },
    { NULL, NULL },
};

static char dir[] = "/tmp/test-ovsdb-XXXXXX";
static char *remote, *conf_db, *sock;
static pid_t server;
static int tcp_port;
static unsigned int n_changed;

static void on_changed(void *aux)
{
    n_changed++;
    if (aux) {
        ++*(unsigned int *) aux;
    }
}

static const struct ovsdb_callbacks callbacks = { .changed = on_changed };

/* The server. */

static int run(const char *format, ...) PRINTF_FORMAT(1, 2);
static int run(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *command = xvasprintf(format, args);
    va_end(args);
    int status = system(command);
    free(command);
    return status;
}

static void start_server(void)
{
    char *unix_remote = xasprintf("--remote=punix:%s", sock),
         *tcp_remote = xasprintf("--remote=ptcp:%d:127.0.0.1", tcp_port);
    char *ctl = xasprintf("--unixctl=%s/s.ctl", dir);
    server = fork();
    if (!server) {
        execlp("ovsdb-server", "ovsdb-server", conf_db, unix_remote, tcp_remote, ctl, "-vconsole:off", "-vsyslog:off",
               NULL);
        _exit(127);
    }
    free(unix_remote);
    free(tcp_remote);
    free(ctl);
}

static void stop_server(int sig)
{
    if (server > 0) {
        kill(server, sig);
        waitpid(server, NULL, 0);
        server = 0;
    }
}

static void await_server(void)
{
    uint64_t deadline = clock_msec() + 20000;
    while (run("ovsdb-client --timeout=5 list-dbs %s >/dev/null 2>&1", remote)) {
        assert_true(clock_msec() < deadline);
        usleep(10000); /* Nothing to wait on: another process is to make a file. */
    }
}

/* Runs ovs-vsctl; it does not wait for a switch. */
#define vsctl(...) assert_int_equal(run("ovs-vsctl --db=\"$REMOTE\" --timeout=10 --no-wait " __VA_ARGS__), 0)

/* What a command prints, static. */
static const char *output(const char *format, ...) PRINTF_FORMAT(1, 2);
static const char *output(const char *format, ...)
{
    static char buf[4096];
    va_list args;
    va_start(args, format);
    char *command = xvasprintf(format, args);
    va_end(args);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    buf[fread(buf, 1, sizeof buf - 1, p)] = '\0';
    pclose(p);
    free(command);
    return buf;
}

/* The loop. */

static void wake_cb(evutil_socket_t fd, short what, void *aux) {}

/* Turns the loop until COND, at most 20 s. */
#define AWAIT(COND)                                                                                                    \
    do {                                                                                                               \
        uint64_t deadline_ = clock_msec() + 20000;                                                                     \
        while (!(COND)) {                                                                                              \
            if (clock_msec() > deadline_) {                                                                            \
                fail_msg("waited in vain for %s", #COND);                                                              \
            }                                                                                                          \
            event_base_loop(loop_base(), EVLOOP_ONCE);                                                                 \
        }                                                                                                              \
    } while (0)

/* Lets whatever is on its way arrive. */
static void settle(void)
{
    uint64_t end = clock_msec() + 150;
    AWAIT(clock_msec() >= end);
}

static int fresh_server(void **state)
{
    unlink(conf_db);
    if (run("ovsdb-tool create %s " SCHEMA, conf_db)) {
        return -1;
    }
    start_server();
    await_server();
    n_changed = 0;
    return run("ovs-vsctl --db=%s --timeout=10 --no-wait init", remote);
}

static int end_server(void **state)
{
    stop_server(SIGTERM);
    return 0;
}

static struct ovsdb *open_alive(void)
{
    struct ovsdb *db = ovsdb_open(remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    assert_false(ovsdb_is_alive(db));
    AWAIT(ovsdb_is_alive(db) && n_changed);
    return db;
}

static const struct ovsdb_row *ovs_row(const struct ovsdb *db) { return ovsdb_first(db, "Open_vSwitch"); }

struct outcome {
    unsigned int n;
    int error;
};

static void on_done(int error, void *o_)
{
    struct outcome *o = o_;
    o->n++;
    o->error = error;
}

/* Sets COLUMN of ROW to VALUE in a transaction of its own; returns whether it was worth one. */
static bool write_column(struct ovsdb *db, const struct ovsdb_row *row, const char *column, json_t *value,
                         struct outcome *o)
{
    struct ovsdb_txn *txn = ovsdb_txn_begin(db);
    ovsdb_txn_set(txn, row, column, value);
    return ovsdb_txn_commit(txn, on_done, o);
}

/* Tests with the real server. */

static void test_the_initial_copy_is_complete(void **state)
{
    vsctl("add-br br0 -- add-port br0 p1 -- set open . other_config:max-idle=20000");
    struct ovsdb *db = open_alive();
    assert_int_equal(n_changed, 1);
    assert_true(ovsdb_has_lock(db));
    assert_false(ovsdb_lock_contended(db));
    assert_int_equal(ovsdb_n_rows(db, "Open_vSwitch"), 1);
    assert_int_equal(ovsdb_n_rows(db, "Interface"), 2);
    assert_int_equal(ovsdb_n_rows(db, "No_Such_Table"), 0);
    assert_null(ovsdb_first(db, "No_Such_Table"));
    assert_string_equal(ovsdb_map_get(ovs_row(db), "other_config", "max-idle"), "20000");
    assert_int_equal(ovsdb_int(ovs_row(db), "no_such_column", 17), 17);

    const struct ovsdb_row *br = ovsdb_row_by_uuid(db, "Bridge", ovsdb_set_uuid(ovs_row(db), "bridges", 0));
    assert_non_null(br);
    assert_string_equal(ovsdb_str(br, "name", NULL), "br0");
    assert_int_equal(ovsdb_set_size(br, "ports"), 2);
    assert_null(ovsdb_next(db, br));
    assert_null(ovsdb_row_by_uuid(db, "Bridge", "x"));
    assert_null(ovsdb_row_by_uuid(db, "Bridge", NULL));
    unsigned int n = 0;
    for (const struct ovsdb_row *r = ovsdb_first(db, "Interface"); r; r = ovsdb_next(db, r)) {
        n++;
    }
    assert_int_equal(n, 2);
    assert_int_equal(ovsdb_n_cells(db), 1 * 8 + 1 * 3 + 2 * 3);
    ovsdb_close(db);
}

static void test_changes_are_told_with_their_rows_sequence(void **state)
{
    vsctl("add-br br0 -- add-br br1");
    struct ovsdb *db = open_alive();
    const struct ovsdb_row *br0 = ovsdb_first(db, "Bridge"), *br1 = ovsdb_next(db, br0);
    unsigned int seq = ovsdb_seq(db), seq0 = br0->seq, seq1 = br1->seq, n = n_changed;

    vsctl("add-port %s p1", ovsdb_str(br0, "name", NULL));
    AWAIT(n_changed > n);
    assert_true(ovsdb_seq(db) > seq);
    assert_int_equal(br0->seq, ovsdb_seq(db));
    assert_int_not_equal(br0->seq, seq0);
    assert_int_equal(br1->seq, seq1);

    /* A column that is ours to write changes no sequence, whoever writes it; its value is known nevertheless. */
    settle();
    n = n_changed;
    seq = ovsdb_seq(db);
    vsctl("set bridge br0 datapath_id=0000000000000001");
    AWAIT(!strcmp(ovsdb_str(br0, "datapath_id", ""), "0000000000000001") ||
          !strcmp(ovsdb_str(br1, "datapath_id", ""), "0000000000000001"));
    settle();
    assert_int_equal(n_changed, n);
    assert_int_equal(ovsdb_seq(db), seq);

    vsctl("del-br br0 -- del-br br1");
    AWAIT(ovsdb_n_rows(db, "Bridge") == 0);
    settle();
    assert_true(n_changed > n);
    assert_true(ovsdb_seq(db) > seq);
    ovsdb_close(db);
}

static void test_writes_arrive_and_equal_ones_are_dropped(void **state)
{
    struct ovsdb *db = open_alive();
    const struct ovsdb_row *r = ovs_row(db);
    struct outcome o = { 0 };
    const char *types[] = { "system", "internal" }, *reversed[] = { "internal", "system" };
    json_t *map = ovsdb_json_map();
    ovsdb_json_map_add(map, "cpu", json_string("2"));
    unsigned int n = n_changed;

    struct ovsdb_txn *txn = ovsdb_txn_begin(db);
    ovsdb_txn_set(txn, r, "cur_cfg", json_integer(5));
    ovsdb_txn_set(txn, r, "cur_cfg", json_integer(7)); /* The later one counts. */
    ovsdb_txn_set(txn, r, "iface_types", ovsdb_json_str_set(types, 2));
    ovsdb_txn_set(txn, r, "statistics", map);
    ovsdb_txn_set(txn, r, "no_such_status", json_integer(1));
    assert_true(ovsdb_txn_commit(txn, on_done, &o));
    assert_true(ovsdb_txn_pending(db));
    assert_int_equal(o.n, 0);
    AWAIT(o.n);
    assert_int_equal(o.error, 0);
    assert_false(ovsdb_txn_pending(db));
    assert_int_equal(ovsdb_int(r, "cur_cfg", 0), 7);
    assert_string_equal(output("ovs-vsctl --db=%s --no-wait get open . cur_cfg iface_types statistics", remote),
                        "7\n[internal, system]\n{cpu=\"2\"}\n");
    settle();
    assert_int_equal(n_changed, n); /* Our own writes do not wake us. */

    assert_false(write_column(db, r, "cur_cfg", json_integer(7), &o));
    assert_false(write_column(db, r, "cur_cfg", json_pack("[s,[i]]", "set", 7), &o));
    assert_false(write_column(db, r, "iface_types", ovsdb_json_str_set(reversed, 2), &o));
    assert_false(write_column(db, r, "no_such_status", json_integer(1), &o));
    assert_false(write_column(db, r, "not_in_the_specification", json_integer(1), &o));
    assert_false(ovsdb_txn_commit(ovsdb_txn_begin(db), on_done, &o));
    assert_int_equal(o.n, 1);

    /* An empty set empties a map too. */
    assert_true(write_column(db, r, "statistics", ovsdb_json_empty(), &o));
    AWAIT(o.n == 2);
    assert_int_equal(o.error, 0);
    assert_string_equal(output("ovs-vsctl --db=%s --no-wait get open . statistics", remote), "{}\n");
    ovsdb_close(db);
}

static void test_writes_during_a_transaction_are_merged_and_sent_after_it(void **state)
{
    struct ovsdb *db = open_alive();
    const struct ovsdb_row *r = ovs_row(db);
    struct outcome first = { 0 }, others = { 0 };
    assert_true(write_column(db, r, "cur_cfg", json_integer(1), &first));
    assert_false(write_column(db, r, "cur_cfg", json_integer(1), &others)); /* On its way already. */
    assert_true(write_column(db, r, "cur_cfg", json_integer(2), &others));
    assert_true(write_column(db, r, "cur_cfg", json_integer(0), &others)); /* What the copy still has. */
    assert_true(write_column(db, r, "statistics", json_pack("[s,[[s,s]]]", "map", "a", "b"), &others));
    AWAIT(others.n == 3);
    assert_int_equal(first.n, 1);
    assert_int_equal(first.error, 0);
    assert_int_equal(others.error, 0);
    assert_int_equal(ovsdb_int(r, "cur_cfg", -1), 0);
    assert_string_equal(output("ovs-vsctl --db=%s --no-wait get open . cur_cfg statistics", remote), "0\n{a=b}\n");
    ovsdb_close(db);
}

static void test_a_refused_transaction_says_so(void **state)
{
    struct ovsdb *db = open_alive();
    struct outcome o = { 0 };
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_string("seven"), &o));
    AWAIT(o.n);
    assert_int_equal(o.error, -EINVAL);
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(3), &o));
    AWAIT(o.n == 2);
    assert_int_equal(o.error, 0);
    ovsdb_close(db);
}

static void test_the_lock_is_waited_for(void **state)
{
    struct ovsdb *first = open_alive();
    unsigned int changed = 0;
    struct ovsdb_callbacks cb = { .changed = on_changed, .aux = &changed };
    struct ovsdb *second = ovsdb_open(remote, NULL, "Open_vSwitch", LOCK, tables, &cb);
    struct outcome o = { 0 };
    AWAIT(changed);
    assert_true(ovsdb_is_alive(second));
    assert_true(ovsdb_lock_contended(second));
    assert_false(ovsdb_has_lock(second));
    assert_true(write_column(second, ovs_row(second), "cur_cfg", json_integer(9), &o));
    AWAIT(o.n);
    assert_int_equal(o.error, -EAGAIN);
    changed = 0;
    ovsdb_close(first);
    AWAIT(changed);
    assert_true(ovsdb_has_lock(second));
    assert_false(ovsdb_lock_contended(second));
    assert_true(write_column(second, ovs_row(second), "cur_cfg", json_integer(9), &o));
    AWAIT(o.n == 2);
    assert_int_equal(o.error, 0);

    /* Stolen, as `ovsdb-client steal` does. */
    changed = 0;
    char *command = xasprintf("ovsdb-client --timeout=3 steal %s " LOCK " >/dev/null 2>&1 & echo $!", remote);
    pid_t thief = atoi(output("%s", command));
    free(command);
    AWAIT(changed);
    assert_true(ovsdb_lock_contended(second));
    assert_false(ovsdb_has_lock(second));
    AWAIT(ovsdb_has_lock(second)); /* When the thief's time is over. */
    assert_true(thief > 0);
    ovsdb_close(second);
}

static void test_a_restarted_server_is_found_again(void **state)
{
    vsctl("add-br br0 -- add-br br1");
    struct ovsdb *db = open_alive();
    struct outcome o = { 0 };
    const struct ovsdb_row *br0 = ovsdb_first(db, "Bridge");
    if (strcmp(ovsdb_str(br0, "name", ""), "br0")) {
        br0 = ovsdb_next(db, br0);
    }
    unsigned int n = n_changed, seq0 = br0->seq, seq = ovsdb_seq(db);

    /* A write whose outcome nobody will know. */
    kill(server, SIGSTOP);
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(4), &o));
    event_base_loop(loop_base(), EVLOOP_NONBLOCK);
    stop_server(SIGKILL);
    AWAIT(o.n);
    assert_int_equal(o.error, -EAGAIN);
    assert_false(ovsdb_is_alive(db));
    assert_false(ovsdb_has_lock(db));
    assert_int_equal(n_changed, n);
    assert_int_equal(ovsdb_n_rows(db, "Bridge"), 2); /* The old copy stays. */
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(4), &o));
    AWAIT(o.n == 2);
    assert_int_equal(o.error, -EAGAIN);

    unlink(sock);
    start_server();
    AWAIT(n_changed > n);
    assert_true(ovsdb_is_alive(db));
    assert_true(ovsdb_has_lock(db));
    settle();
    assert_int_equal(n_changed, n + 1);
    assert_int_equal(ovsdb_seq(db), seq); /* Nothing is different, so nobody need work. */
    assert_int_equal(br0->seq, seq0);     /* The row is the same one. */

    /* Changed while we could not see it. */
    stop_server(SIGKILL);
    AWAIT(!ovsdb_is_alive(db));
    n = n_changed;
    assert_int_equal(run("ovsdb-tool transact %s '[\"Open_vSwitch\",{\"op\":\"update\",\"table\":\"Open_vSwitch\","
                         "\"where\":[],\"row\":{\"bridges\":[\"set\",[[\"uuid\",\"%s\"]]]}}]' >/dev/null",
                         conf_db, br0->uuid),
                     0);
    start_server();
    AWAIT(n_changed > n);
    assert_int_equal(ovsdb_n_rows(db, "Bridge"), 1);
    assert_ptr_equal(ovsdb_first(db, "Bridge"), br0);
    assert_int_equal(br0->seq, seq0);
    assert_true(ovsdb_seq(db) > seq);
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(4), &o));
    AWAIT(o.n == 3);
    assert_int_equal(o.error, 0);
    ovsdb_close(db);
}

static void test_an_absent_server_is_waited_for(void **state)
{
    stop_server(SIGTERM);
    struct ovsdb *db = ovsdb_open(remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    settle();
    assert_int_equal(n_changed, 0);
    assert_null(ovsdb_first(db, "Bridge"));
    start_server();
    AWAIT(n_changed);
    assert_true(ovsdb_is_alive(db));

    n_changed = 0;
    ovsdb_reconnect(db);
    assert_false(ovsdb_is_alive(db));
    AWAIT(n_changed);
    assert_true(ovsdb_has_lock(db));
    ovsdb_close(db);
}

static void test_several_remotes_are_tried_in_turn_and_tcp_is_one(void **state)
{
    char *remotes = xasprintf("ssl:1.2.3.4:5,unix:/nonexistent/sock,tcp:127.0.0.1:%d", tcp_port);
    struct ovsdb *db = ovsdb_open(remotes, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    free(remotes);
    uint64_t start = clock_msec();
    AWAIT(n_changed);
    assert_true(clock_msec() - start < 900); /* No pause but after a whole round. */
    ovsdb_close(db);

    db = ovsdb_open("nonsense", NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    settle();
    assert_false(ovsdb_is_alive(db));
    ovsdb_close(db);
    db = ovsdb_open(remote, NULL, "No_Such_Database", LOCK, tables, &callbacks);
    settle();
    assert_false(ovsdb_is_alive(db));
    ovsdb_close(db);
}

static void close_it(void *dbp_)
{
    struct ovsdb **dbp = dbp_;
    ovsdb_close(*dbp);
    *dbp = NULL;
}

static void test_closing_at_any_moment(void **state)
{
    struct outcome o = { 0 };
    struct ovsdb *db;
    struct ovsdb_callbacks cb = { .changed = close_it, .aux = &db };
    db = ovsdb_open(remote, NULL, "Open_vSwitch", LOCK, tables, &cb);
    AWAIT(!db);

    db = open_alive();
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(1), &o));
    assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(2), &o));
    ovsdb_close(db);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.error, -EAGAIN);
    for (int turns = 0; turns < 20; turns++) {
        db = ovsdb_open(remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
        for (int i = 0; i < turns; i++) {
            event_base_loop(loop_base(), EVLOOP_NONBLOCK);
        }
        ovsdb_close(db);
    }
    ovsdb_close(NULL);
}

/* Tests with servers that are none. */

struct fake {
    int listener;
    const char *const *replies; /* To the first request, the second...; ends with NULL. */
    pthread_t thread;
};

#define GOOD_SCHEMA                                                                                                    \
    "{\"id\":1,\"error\":null,\"result\":{\"name\":\"Open_vSwitch\",\"tables\":{\"Open_vSwitch\":{\"columns\":{"       \
    "\"next_cfg\":{\"type\":\"integer\"},\"bridges\":{\"type\":{\"key\":\"uuid\"}},\"other_config\":{\"type\":"        \
    "{\"key\":\"string\",\"value\":\"string\"}},\"cur_cfg\":{\"type\":\"integer\"}}}}}}"
#define GOOD_LOCK "{\"id\":2,\"error\":null,\"result\":{\"locked\":true}}"
#define MONITOR(ROW)                                                                                                   \
    "{\"id\":3,\"error\":null,\"result\":{\"Open_vSwitch\":{\"00000000-0000-0000-0000-000000000001\":" ROW "}}}"
#define GOOD_MONITOR MONITOR("{\"new\":{\"next_cfg\":1,\"bridges\":[\"set\",[]]}}")

/* Serves one connection: a reply to each request, until the client has had enough. */
static void *fake_main(void *f_)
{
    struct fake *f = f_;
    int fd = accept(f->listener, NULL, NULL);
    for (int i = 0; fd >= 0; i++) {
        json_error_t error;
        json_t *request = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, &error);
        if (!request) {
            break;
        }
        json_decref(request);
        if (*f->replies) {
            const char *s = *f->replies++;
            if (!strcmp(s, "close")) {
                break;
            }
            if (send(fd, s, strlen(s), MSG_NOSIGNAL) < 0) {
                break;
            }
        }
    }
    close(fd);
    return NULL;
}

static void fake_start(struct fake *f, const char *const *replies, char **ret_remote)
{
    struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sin;
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *) &sin, sizeof sin), 0);
    assert_int_equal(listen(f->listener, 5), 0);
    getsockname(f->listener, (struct sockaddr *) &sin, &len);
    f->replies = replies;
    *ret_remote = xasprintf("tcp:127.0.0.1:%d", ntohs(sin.sin_port));
    assert_int_equal(pthread_create(&f->thread, NULL, fake_main, f), 0);
}

static void fake_end(struct fake *f)
{
    pthread_join(f->thread, NULL);
    close(f->listener);
}

static bool thread_ended(struct fake *f) { return pthread_tryjoin_np(f->thread, NULL) == 0; }

/* The client gives up a server that answers with REPLIES, and lives. */
static void expect_given_up(const char *const *replies)
{
    struct fake f;
    char *fake_remote;
    fake_start(&f, replies, &fake_remote);
    struct ovsdb *db = ovsdb_open(fake_remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    AWAIT(thread_ended(&f));
    settle();
    assert_false(ovsdb_is_alive(db));
    ovsdb_close(db);
    close(f.listener);
    free(fake_remote);
}

static void test_nonsense_ends_the_connection_only(void **state)
{
    static const char *const scripts[][5] = {
        { "HTTP/1.0 400 Bad Request\r\n\r\n" },
        { "close" },
        { "{}" },
        { "{\"id\":1,\"error\":{\"error\":\"unknown database\",\"details\":\"no\"}}" },
        { "{\"id\":1,\"error\":7}" },
        { "{\"id\":1,\"result\":null}" },
        { "{\"id\":1,\"result\":[]}" },
        { "{\"id\":1,\"result\":{\"tables\":[]}}" },
        { "{\"method\":7,\"id\":1}" },
        { "{\"method\":\"update\",\"params\":[null,{}],\"id\":null}" },
        { GOOD_SCHEMA, "{\"id\":2,\"error\":null,\"result\":{\"locked\":1}}" },
        { GOOD_SCHEMA, "{\"id\":2,\"error\":\"no locks here\"}" },
        { GOOD_SCHEMA, GOOD_LOCK, "{\"id\":3,\"result\":[]}" },
        { GOOD_SCHEMA, GOOD_LOCK, "{\"id\":3,\"result\":{\"Open_vSwitch\":[]}}" },
        { GOOD_SCHEMA, GOOD_LOCK, "{\"id\":3,\"result\":{\"Open_vSwitch\":{\"x\":{\"new\":{}}}}}" },
        { GOOD_SCHEMA, GOOD_LOCK, MONITOR("7") },
        { GOOD_SCHEMA, GOOD_LOCK, MONITOR("{\"new\":[]}") },
        { GOOD_SCHEMA, GOOD_LOCK, GOOD_MONITOR "{\"id\":null,\"method\":\"update\",\"params\":{}}" },
        { GOOD_SCHEMA, GOOD_LOCK,
          GOOD_MONITOR "{\"id\":null,\"method\":\"update\",\"params\":[null,{\"Open_vSwitch\":7}]}" },
        { GOOD_SCHEMA, GOOD_LOCK, GOOD_MONITOR "[]" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        expect_given_up(scripts[i]);
    }
}

static void test_values_of_wrong_types_read_as_defaults(void **state)
{
    static const char *const replies[] = {
        GOOD_SCHEMA,
        GOOD_LOCK "{\"id\":\"e\",\"method\":\"echo\",\"params\":[1]}"
                  "{\"id\":7,\"method\":\"strange\",\"params\":[]}{\"id\":null,\"method\":\"x\",\"params\":[]}"
                  "{\"id\":99,\"result\":[]}{\"id\":null,\"method\":\"locked\",\"params\":7}",
        MONITOR("{\"new\":{\"next_cfg\":\"x\",\"bridges\":{\"a\":[]},\"other_config\":[\"set\",[1,2]],\"unasked\":1}}"),
        NULL,
    };
    struct fake f;
    char *fake_remote;
    n_changed = 0;
    fake_start(&f, replies, &fake_remote);
    struct ovsdb *db = ovsdb_open(fake_remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    AWAIT(n_changed);
    const struct ovsdb_row *r = ovs_row(db);
    assert_int_equal(ovsdb_int(r, "next_cfg", 3), 3);
    assert_int_equal(ovsdb_set_size(r, "bridges"), 0);
    assert_null(ovsdb_map_get(r, "other_config", "max-idle"));
    assert_null(json_object_get(r->columns, "unasked"));
    assert_int_equal(ovsdb_n_rows(db, "Bridge"), 0);
    ovsdb_close(db);
    fake_end(&f);
    free(fake_remote);
}

static void test_odd_answers_to_a_transaction_are_failures(void **state)
{
    static const char *const answers[] = {
        "{\"id\":4,\"result\":null,\"error\":null}",
        "{\"id\":4,\"result\":[{}],\"error\":null}",
        "{\"id\":4,\"result\":[7,{\"error\":{}}],\"error\":null}",
        "{\"id\":4,\"error\":\"no\"}",
        "{\"id\":4}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        const char *replies[] = { GOOD_SCHEMA, GOOD_LOCK, GOOD_MONITOR, answers[i], NULL };
        struct fake f;
        struct outcome o = { 0 };
        char *fake_remote;
        n_changed = 0;
        fake_start(&f, replies, &fake_remote);
        struct ovsdb *db = ovsdb_open(fake_remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
        AWAIT(n_changed);
        assert_true(write_column(db, ovs_row(db), "cur_cfg", json_integer(1), &o));
        AWAIT(o.n);
        assert_int_equal(o.error, -EINVAL);
        assert_true(ovsdb_is_alive(db));
        ovsdb_close(db);
        fake_end(&f);
        free(fake_remote);
    }
}

static void test_a_silent_server_is_given_up(void **state)
{
    static const char *const replies[] = { GOOD_SCHEMA, GOOD_LOCK, GOOD_MONITOR, NULL };
    struct fake f;
    char *fake_remote;
    n_changed = 0;
    fake_start(&f, replies, &fake_remote);
    struct ovsdb *db = ovsdb_open(fake_remote, NULL, "Open_vSwitch", LOCK, tables, &callbacks);
    AWAIT(n_changed);
    uint64_t start = clock_msec();
    for (int i = 0; i < 2 && ovsdb_is_alive(db); i++) {
        uint64_t deadline = clock_msec() + 15000;
        while (ovsdb_is_alive(db) && clock_msec() < deadline) {
            event_base_loop(loop_base(), EVLOOP_ONCE);
        }
    }
    assert_false(ovsdb_is_alive(db));
    assert_true(clock_msec() - start >= 10000);
    assert_non_null(ovs_row(db));
    ovsdb_close(db);
    fake_end(&f);
    free(fake_remote);
}

static int pick_port(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sin;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *) &sin, sizeof sin) || getsockname(fd, (struct sockaddr *) &sin, &len)) {
        return 0;
    }
    close(fd);
    return ntohs(sin.sin_port);
}

int main(void)
{
#define REAL(NAME) cmocka_unit_test_setup_teardown(test_##NAME, fresh_server, end_server)
    const struct CMUnitTest tests[] = {
        REAL(the_initial_copy_is_complete),
        REAL(changes_are_told_with_their_rows_sequence),
        REAL(writes_arrive_and_equal_ones_are_dropped),
        REAL(writes_during_a_transaction_are_merged_and_sent_after_it),
        REAL(a_refused_transaction_says_so),
        REAL(the_lock_is_waited_for),
        REAL(a_restarted_server_is_found_again),
        REAL(an_absent_server_is_waited_for),
        REAL(several_remotes_are_tried_in_turn_and_tcp_is_one),
        REAL(closing_at_any_moment),
        cmocka_unit_test(test_nonsense_ends_the_connection_only),
        cmocka_unit_test(test_values_of_wrong_types_read_as_defaults),
        cmocka_unit_test(test_odd_answers_to_a_transaction_are_failures),
        cmocka_unit_test(test_a_silent_server_is_given_up),
    };

    if (access(SCHEMA, R_OK) || system("command -v ovsdb-server ovsdb-tool ovs-vsctl ovsdb-client >/dev/null")) {
        printf("ovsdb-server and its tools are not installed\n");
        return 77;
    }
    if (!mkdtemp(dir)) {
        return 1;
    }
    sock = xasprintf("%s/db.sock", dir);
    remote = xasprintf("unix:%s", sock);
    conf_db = xasprintf("%s/conf.db", dir);
    tcp_port = pick_port();
    setenv("REMOTE", remote, 1);
    setenv("OVS_RUNDIR", dir, 1);
    thread_main_init();
    loop_init();
    free(log_set_spec(getenv("TEST_VERBOSE") ? "console:dbg" : "console:off"));
    struct event *tick = event_new(loop_base(), -1, EV_PERSIST, wake_cb, NULL);
    event_add(tick, &(struct timeval){ .tv_usec = 20000 });
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    event_free(tick);
    stop_server(SIGTERM);
    loop_uninit();
    thread_main_uninit();
    run("rm -rf %s", dir);
    free(sock);
    free(remote);
    free(conf_db);
    return failed;
}
