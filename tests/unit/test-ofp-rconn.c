/* Connections that are made again, and listeners: states and backoff, the status column, limits, TLS and its
 * bootstrapping, both sides over real sockets. */
#include <config.h>

#include <errno.h>

#include "lib/ofp/ofp-listener.h"
#include "lib/ofp/ofp-rconn.h"
#include "tests/unit/io-kit.h"

#define MAX_CONNS 16

/* The controller's side: what a listener has accepted. */
struct server {
    struct ofp_listener *l;
    char *target;
    struct ofp_conn *conns[MAX_CONNS];
    unsigned int n_accepted, n_messages;
    bool close_at_once;
};

/* The switch's side. */
struct client {
    struct ofp_rconn *r;
    struct ofp_conn *conn;
    unsigned int n_connected, n_disconnected, n_messages, n_snooped;
    bool destroy_when_disconnected, destroy_when_connected;
};

static void server_message(struct ofp_conn *c, const void *msg, size_t len, void *s_)
{
    ((struct server *) s_)->n_messages++;
    assert_int_equal(ofp_conn_send(c, msg, len, OFP_CONN_REPLY), 0); /* Sends it back. */
}

static void server_closed(struct ofp_conn *c, int error, const char *why, void *s_)
{
    struct server *s = s_;
    for (int i = 0; i < MAX_CONNS; i++) {
        if (s->conns[i] == c) {
            s->conns[i] = NULL;
        }
    }
    ofp_conn_destroy(c);
}

static const struct ofp_conn_ops server_ops = { .message = server_message, .closed = server_closed };

static void server_accepted(struct ofp_listener *l, struct ofp_conn *c, void *s_)
{
    struct server *s = s_;
    s->n_accepted++;
    if (s->close_at_once) {
        ofp_conn_destroy(c);
        return;
    }
    ofp_conn_set_ops(c, &server_ops, s);
    for (int i = 0; i < MAX_CONNS; i++) {
        if (!s->conns[i]) {
            s->conns[i] = c;
            return;
        }
    }
    fail_msg("more than %d connections", MAX_CONNS);
}

static void server_open(struct server *s, const char *name, struct tls *tls, struct ofp_listener_config config)
{
    *s = (struct server){ 0 };
    config.stream.tls = tls;
    config.stream.dscp = -1;
    config.conn.versions = config.conn.versions ? config.conn.versions : 0x12;
    expect_no_error(ofp_listener_open(loop_base(), name, &config, server_accepted, s, &s->l));
    s->target = ofp_listener_port(s->l) ? xasprintf("%s:127.0.0.1:%u", tls ? "ssl" : "tcp", ofp_listener_port(s->l))
                                        : xstrdup(name + 1);
}

static void server_drop_all(struct server *s)
{
    for (int i = 0; i < MAX_CONNS; i++) {
        ofp_conn_destroy(s->conns[i]);
        s->conns[i] = NULL;
    }
}

static void server_close(struct server *s)
{
    ofp_listener_destroy(s->l);
    server_drop_all(s); /* They may outlive the listener. */
    free(s->target);
    turn();
}

static void client_connected(struct ofp_rconn *r, struct ofp_conn *c, void *k_)
{
    struct client *k = k_;
    k->n_connected++;
    k->conn = c;
    assert_ptr_equal(ofp_rconn_conn(r), c);
    if (k->destroy_when_connected) {
        ofp_rconn_destroy(r);
        k->r = NULL;
    }
}

static void client_message(struct ofp_rconn *r, struct ofp_conn *c, const void *msg, size_t len, void *k_)
{
    ((struct client *) k_)->n_messages++;
}

static void client_disconnected(struct ofp_rconn *r, const char *why, void *k_)
{
    struct client *k = k_;
    k->n_disconnected++;
    k->conn = NULL;
    assert_null(ofp_rconn_conn(r));
    if (k->destroy_when_disconnected) {
        ofp_rconn_destroy(r);
        k->r = NULL;
    }
}

static const struct ofp_rconn_ops client_ops = { .connected = client_connected,
                                                 .message = client_message,
                                                 .disconnected = client_disconnected };

static void client_open(struct client *k, const char *target, struct tls *tls, struct ofp_rconn_config config)
{
    *k = (struct client){ 0 };
    config.stream.tls = tls;
    config.stream.dscp = -1;
    config.conn.versions = config.conn.versions ? config.conn.versions : 0x12;
    k->r = ofp_rconn_create(loop_base(), target, &config, &client_ops, k);
}

static enum ofp_rconn_state state_of(struct client *k) { return ofp_rconn_status(k->r).state; }

static void test_a_controller_and_a_switch_talk(void **state)
{
    static const char *const names[] = { "ptcp:0:127.0.0.1", "ptcp:0" };
    for (int i = 0; i < 3; i++) {
        struct server s;
        struct client k;
        char *path = kit_file("mgmt"), *punix = xasprintf("punix:%s", path);
        server_open(&s, i < 2 ? names[i] : punix, NULL, (struct ofp_listener_config){ 0 });
        client_open(&k, s.target, NULL, (struct ofp_rconn_config){ 0 });
        assert_string_equal(ofp_rconn_target(k.r), s.target);
        UNTIL(k.n_connected && s.n_accepted);
        assert_int_equal(ofp_conn_version(k.conn), 4);
        assert_int_equal(ofp_conn_send(k.conn, "\4\22\0\10\0\0\0\2", 8, OFP_CONN_REPLY), 0);
        UNTIL(k.n_messages == 1);
        struct ofp_rconn_status st = ofp_rconn_status(k.r);
        assert_int_equal(st.state, OFP_RCONN_ACTIVE);
        assert_int_equal(st.counters.sent, 2);
        assert_int_equal(st.counters.received, 2);
        assert_null(st.last_error);
        ofp_rconn_destroy(k.r);
        UNTIL(!s.conns[0]);
        assert_int_equal(ofp_listener_n_conns(s.l), 0);
        server_close(&s);
        free(path);
        free(punix);
    }
}

/* The name of a port at which nobody listens. */
static char *dead_target(void)
{
    struct server s;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    char *target = xstrdup(s.target);
    server_close(&s);
    return target;
}

static void test_the_pause_doubles_up_to_its_maximum(void **state)
{
    char *target = dead_target();
    struct client k;
    uint64_t begin = clock_nsec();
    client_open(&k, target, NULL, (struct ofp_rconn_config){ .min_backoff_msec = 10, .max_backoff_msec = 70 });
    static const unsigned int want[] = { 10, 20, 40, 70, 70 };
    unsigned int sum = 0;
    for (unsigned int i = 0; i < ARRAY_SIZE(want); i++) {
        UNTIL(ofp_rconn_status(k.r).attempts == i + 1 && state_of(&k) == OFP_RCONN_BACKOFF);
        struct ofp_rconn_status st = ofp_rconn_status(k.r);
        assert_int_equal(st.backoff_msec, want[i]);
        assert_string_equal(st.last_error, "Connection refused");
        /* libevent goes by a coarse clock, up to 10 ms behind. */
        assert_true(clock_nsec() - begin + 20000000 >= sum * 1000000ull);
        sum += want[i];
    }
    /* A smaller maximum holds at once. */
    ofp_rconn_configure(k.r,
                        &(struct ofp_rconn_config){
                            .min_backoff_msec = 10, .max_backoff_msec = 30, .stream.dscp = -1, .conn.versions = 2 });
    assert_int_equal(ofp_rconn_status(k.r).backoff_msec, 30);
    assert_int_equal(k.n_connected + k.n_disconnected, 0);
    ofp_rconn_destroy(k.r);
    free(target);
}

static void test_a_connection_that_does_not_last_is_no_success(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    clock_hold(1000000);
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ .min_backoff_msec = 10, .max_backoff_msec = 1000 });
    for (unsigned int i = 0; i < 4; i++) {
        UNTIL(k.n_connected == i + 1 && s.n_accepted == i + 1);
        server_drop_all(&s);
        UNTIL(k.n_disconnected == i + 1);
        assert_int_equal(ofp_rconn_status(k.r).backoff_msec, 10 << i);
    }
    UNTIL(k.n_connected == 5 && s.n_accepted == 5);
    clock_hold(1000000 + 81); /* Longer than the last pause. */
    server_drop_all(&s);
    UNTIL(k.n_disconnected == 5);
    assert_int_equal(ofp_rconn_status(k.r).backoff_msec, 10);
    clock_hold(0);
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

static void take(const char *key, const char *value, void *text_)
{
    char *text = text_;
    sprintf(text + strlen(text), "%s=%s ", key, value);
}

static void expect_status(struct client *k, const char *want)
{
    char text[1000] = "";
    ofp_rconn_put_status(k->r, take, text);
    assert_string_equal(text, want);
}

static void test_the_status_column_says_what_is(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    clock_hold(1000000);
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ .min_backoff_msec = 60000 });
    expect_status(&k, "state=BACKOFF ");
    UNTIL(state_of(&k) == OFP_RCONN_CONNECTING);
    expect_status(&k, "state=CONNECTING ");
    UNTIL(k.n_connected && s.n_accepted);
    expect_status(&k, "sec_since_connect=0 state=ACTIVE ");
    clock_hold(1000000 + 9999);
    expect_status(&k, "sec_since_connect=9 state=ACTIVE ");
    server_drop_all(&s);
    UNTIL(k.n_disconnected);
    expect_status(
        &k, "last_error=the peer closed the connection sec_since_connect=9 sec_since_disconnect=1 state=BACKOFF ");
    clock_hold(1000000 + 15999);
    expect_status(
        &k, "last_error=the peer closed the connection sec_since_connect=15 sec_since_disconnect=6 state=BACKOFF ");
    clock_hold(0);
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

static void test_a_probe_without_an_answer_is_idle_and_then_lost(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ 0 });
    UNTIL(k.n_connected && s.n_accepted);
    ofp_conn_hold(s.conns[0]); /* It answers nothing. */
    ofp_rconn_configure(k.r, &(struct ofp_rconn_config){ .min_backoff_msec = 20,
                                                         .stream.dscp = -1,
                                                         .conn = { .versions = 0x12, .probe_msec = 100 } });
    UNTIL(state_of(&k) == OFP_RCONN_IDLE);
    UNTIL(k.n_disconnected);
    assert_string_equal(ofp_rconn_status(k.r).last_error, "the peer has not answered an inactivity probe for 0.1 s");
    UNTIL(k.n_connected == 2); /* And again, with another connection, that answers. */
    uint64_t begin = clock_nsec();
    UNTIL(clock_nsec() - begin > 500000000);
    assert_int_equal(k.n_disconnected, 1);
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

static void test_a_target_that_is_no_name_is_void(void **state)
{
    static const char *const cases[][2] = {
        { "tcp:controller.example", "\"controller.example\" is not an IPv4 address or an IPv6 address in brackets" },
        { "ptcp:6653", "this is to listen at" },
        { "controller", "is not the name of a connection" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct client k;
        client_open(&k, cases[i][0], NULL, (struct ofp_rconn_config){ 0 });
        turn();
        assert_int_equal(state_of(&k), OFP_RCONN_VOID);
        assert_non_null(strstr(ofp_rconn_status(k.r).last_error, cases[i][1]));
        assert_int_equal(ofp_rconn_status(k.r).attempts, 0);
        ofp_rconn_destroy(k.r);
    }
    ofp_rconn_destroy(NULL);
}

static void test_a_controller_of_another_version_is_tried_again(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ .conn.versions = 0x20 });
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ .min_backoff_msec = 1, .max_backoff_msec = 1 });
    UNTIL(ofp_rconn_status(k.r).attempts == 3);
    assert_non_null(strstr(ofp_rconn_status(k.r).last_error, "no common versions"));
    assert_int_equal(k.n_connected + s.n_accepted, 0);
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

static void test_reconnecting_gives_the_old_connection_up(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ .min_backoff_msec = 10 });
    ofp_rconn_reconnect(k.r, "there is none yet");
    UNTIL(k.n_connected);
    ofp_rconn_reconnect(k.r, "the protocols have changed");
    assert_int_equal(k.n_disconnected, 0);
    UNTIL(k.n_connected == 2);
    assert_int_equal(k.n_disconnected, 1);
    assert_string_equal(ofp_rconn_status(k.r).last_error, "the protocols have changed");
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

static void test_it_may_be_destroyed_in_its_callbacks(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ 0 });
    k.destroy_when_connected = true;
    UNTIL(!k.r);
    UNTIL(s.n_accepted && !s.conns[0]);
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ 0 });
    k.destroy_when_disconnected = true;
    UNTIL(k.n_connected && s.conns[0]);
    server_drop_all(&s);
    UNTIL(!k.r);
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ 0 });
    UNTIL(state_of(&k) == OFP_RCONN_CONNECTING);
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

static void count_snooped(struct ofp_conn *c, enum ofp_conn_dir dir, const void *msg, size_t len, void *k_)
{
    ((struct client *) k_)->n_snooped++;
}

static void test_a_snoop_stays_over_connections(void **state)
{
    struct server s;
    struct client k;
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ 0 });
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ .min_backoff_msec = 10 });
    ofp_rconn_set_snoop(k.r, count_snooped, &k);
    UNTIL(k.n_connected && s.n_accepted);
    assert_int_equal(k.n_snooped, 2); /* The HELLOs. */
    server_drop_all(&s);
    UNTIL(k.n_connected == 2);
    assert_int_equal(k.n_snooped, 4);
    ofp_rconn_destroy(k.r);
    server_close(&s);
}

/* Listeners. */

static void test_a_listener_takes_many_up_to_its_limit(void **state)
{
    struct server s;
    struct client k[10];
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ .max_conns = 7 });
    for (int i = 0; i < 10; i++) {
        client_open(&k[i], s.target, NULL, (struct ofp_rconn_config){ 0 });
    }
    UNTIL(s.n_accepted == 7);
    turn();
    assert_int_equal(s.n_accepted, 7);
    assert_int_equal(ofp_listener_n_conns(s.l), 7);
    /* One goes, one comes. */
    ofp_conn_destroy(s.conns[3]);
    s.conns[3] = NULL;
    UNTIL(s.n_accepted == 8);
    turn();
    assert_int_equal(ofp_listener_n_conns(s.l), 7);
    for (int i = 0; i < 10; i++) {
        ofp_rconn_destroy(k[i].r);
    }
    UNTIL(!ofp_listener_n_conns(s.l)); /* Those that still waited too. */
    server_close(&s);
}

static void ignore(struct stream *s, void *aux) {}
static void ignore_closed(struct stream *s, int error, const char *why, void *aux) {}
static const struct stream_ops silent = {
    .readable = ignore, .drained = ignore, .eof = ignore, .closed = ignore_closed
};

static void test_clients_that_say_nothing_make_room(void **state)
{
    struct server s;
    struct client k;
    struct stream *quiet[2];
    struct stream_options options = { .dscp = -1 };
    server_open(&s, "ptcp:0:127.0.0.1", NULL, (struct ofp_listener_config){ .max_conns = 2, .conn.hello_msec = 50 });
    for (int i = 0; i < 2; i++) {
        expect_no_error(stream_open(loop_base(), s.target, &options, &silent, NULL, &quiet[i]));
    }
    UNTIL(ofp_listener_n_conns(s.l) == 2);
    client_open(&k, s.target, NULL, (struct ofp_rconn_config){ 0 });
    UNTIL(k.n_connected);
    assert_int_equal(s.n_accepted, 1);
    ofp_rconn_destroy(k.r);
    stream_destroy(quiet[0]);
    stream_destroy(quiet[1]);
    /* And some that are destroyed with the listener. */
    for (int i = 0; i < 2; i++) {
        expect_no_error(stream_open(loop_base(), s.target, &options, &silent, NULL, &quiet[i]));
    }
    UNTIL(ofp_listener_n_conns(s.l) >= 1);
    server_close(&s);
    stream_destroy(quiet[0]);
    stream_destroy(quiet[1]);
}

static void test_a_bad_name_for_a_listener_is_an_error(void **state)
{
    struct ofp_listener *l;
    struct ofp_listener_config config = { .conn.versions = 2 };
    expect_error(ofp_listener_open(loop_base(), "tcp:1", &config, server_accepted, NULL, &l), "is not an IPv4 address");
    expect_error(ofp_listener_open(loop_base(), "punix:", &config, server_accepted, NULL, &l),
                 "a file name is missing");
    expect_error(ofp_listener_open(loop_base(), "pssl:0", &config, server_accepted, NULL, &l), "there is no TLS here");
    ofp_listener_destroy(NULL);
}

/* TLS. */

static void test_tls_carries_openflow(void **state)
{
    struct authority ca = authority_make("ca");
    authority_sign(&ca, "switch");
    authority_sign(&ca, "controller");
    struct tls *server_tls = kit_tls("controller", "ca"), *client_tls = tls_create();
    struct server s;
    struct client k;
    server_open(&s, "pssl:0:127.0.0.1", server_tls, (struct ofp_listener_config){ 0 });
    client_open(&k, s.target, client_tls, (struct ofp_rconn_config){ .min_backoff_msec = 5, .max_backoff_msec = 5 });
    /* Until there is a configuration it tries again and again. */
    UNTIL(ofp_rconn_status(k.r).attempts == 3);
    assert_non_null(strstr(ofp_rconn_status(k.r).last_error, "none is configured"));
    expect_no_error(kit_configure(client_tls, "switch", "ca", false));
    UNTIL(k.n_connected);
    assert_int_equal(ofp_conn_send(k.conn, "\4\22\0\10\0\0\0\2", 8, OFP_CONN_REPLY), 0);
    UNTIL(k.n_messages == 1);

    /* The switch's certificate becomes one that the controller does not know. */
    struct authority other = authority_make("other");
    authority_sign(&other, "switch");
    unsigned int n = k.n_connected;
    server_drop_all(&s);
    UNTIL(k.n_disconnected);
    unsigned int accepted = s.n_accepted;
    UNTIL(ofp_rconn_status(k.r).last_error && strstr(ofp_rconn_status(k.r).last_error, "TLS: "));
    assert_int_equal(s.n_accepted, accepted);
    assert_int_equal(k.n_connected, n);
    authority_sign(&ca, "switch");
    UNTIL(k.n_connected > n);
    ofp_rconn_destroy(k.r);
    server_close(&s);
    tls_destroy(server_tls);
    tls_destroy(client_tls);
    authority_free(&ca);
    authority_free(&other);
}

static void test_a_bootstrapped_ca_is_used_without_a_pause(void **state)
{
    struct authority ca = authority_make("boss");
    authority_sign(&ca, "sw");
    authority_sign(&ca, "ctl");
    struct tls *server_tls = kit_tls("ctl", "boss"), *client_tls = tls_create();
    struct server s;
    struct client k;
    expect_no_error(kit_configure(client_tls, "sw", "fetched", true));
    server_open(&s, "pssl:0:127.0.0.1", server_tls, (struct ofp_listener_config){ 0 });
    client_open(&k, s.target, client_tls, (struct ofp_rconn_config){ .min_backoff_msec = 3600000 });
    UNTIL(k.n_connected);
    assert_int_equal(ofp_rconn_status(k.r).attempts, 2);
    ofp_rconn_destroy(k.r);
    server_close(&s);
    tls_destroy(server_tls);
    tls_destroy(client_tls);
    authority_free(&ca);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_controller_and_a_switch_talk),
        cmocka_unit_test(test_the_pause_doubles_up_to_its_maximum),
        cmocka_unit_test(test_a_connection_that_does_not_last_is_no_success),
        cmocka_unit_test(test_the_status_column_says_what_is),
        cmocka_unit_test(test_a_probe_without_an_answer_is_idle_and_then_lost),
        cmocka_unit_test(test_a_target_that_is_no_name_is_void),
        cmocka_unit_test(test_a_controller_of_another_version_is_tried_again),
        cmocka_unit_test(test_reconnecting_gives_the_old_connection_up),
        cmocka_unit_test(test_it_may_be_destroyed_in_its_callbacks),
        cmocka_unit_test(test_a_snoop_stays_over_connections),
        cmocka_unit_test(test_a_listener_takes_many_up_to_its_limit),
        cmocka_unit_test(test_clients_that_say_nothing_make_room),
        cmocka_unit_test(test_a_bad_name_for_a_listener_is_an_error),
        cmocka_unit_test(test_tls_carries_openflow),
        cmocka_unit_test(test_a_bootstrapped_ca_is_used_without_a_pause),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
