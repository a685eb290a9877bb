/* The stream of JSON messages, over a socket pair: framing, bounds, pausing, destruction from callbacks, ends. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/io/thread.h"
#include "lib/rpc/jsonrpc.h"

static const struct jsonrpc_limits limits = { .max_message = 2000000, .max_depth = 5, .write_timeout = 1 };

struct fixture {
    struct jsonrpc *rpc;
    int peer;
    char got[4096]; /* The messages' texts, one after the other. */
    unsigned int n_messages, n_closed;
    int error;
    bool pause_on_message, destroy_on_message;
};

static void on_message(struct jsonrpc *rpc, json_t *msg, void *f_)
{
    struct fixture *f = f_;
    char *s = json_dumps(msg, JSON_COMPACT);
    f->n_messages++;
    strncat(f->got, s, sizeof f->got - strlen(f->got) - 1);
    free(s);
    if (f->destroy_on_message) {
        jsonrpc_destroy(rpc);
        f->rpc = NULL;
    } else if (f->pause_on_message) {
        jsonrpc_pause(rpc);
    }
}

static void on_closed(struct jsonrpc *rpc, int error, void *f_)
{
    struct fixture *f = f_;
    f->n_closed++;
    f->error = error;
}

static const struct jsonrpc_ops ops = { .message = on_message, .closed = on_closed };

static int setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds)) {
        return -1;
    }
    f->peer = fds[1];
    f->rpc = jsonrpc_create(loop_base(), fds[0], "test", &ops, &limits, f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    jsonrpc_destroy(f->rpc);
    if (f->peer >= 0) {
        close(f->peer);
    }
    free(f);
    return 0;
}

/* Runs the loop for what is ready now. */
static void turn(void)
{
    for (int i = 0; i < 10; i++) {
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
    }
}

static void feed(struct fixture *f, const char *s)
{
    assert_int_equal(write(f->peer, s, strlen(s)), strlen(s));
    turn();
}

static void expect_end(struct fixture *f, int error)
{
    assert_int_equal(f->n_closed, 1);
    assert_int_equal(f->error, error);
}

static void test_messages_are_found_wherever_they_are_cut(void **state)
{
    struct fixture *f = *state;
    const char *stream = " {\"a\":\"}{][\\\\\\\"\"}\n\t{\"b\":[{},[1,{\"c\":null}]]}{} ";
    for (const char *p = stream; *p; p++) {
        feed(f, (char[]){ *p, '\0' });
    }
    const char *want = "{\"a\":\"}{][\\\\\\\"\"}{\"b\":[{},[1,{\"c\":null}]]}{}";
    assert_string_equal(f->got, want);
    f->got[0] = '\0';
    feed(f, stream);
    assert_string_equal(f->got, want);
    assert_int_equal(f->n_messages, 6);
    assert_int_equal(f->n_closed, 0);
}

static void test_what_does_not_begin_as_an_object_ends_the_stream(void **state)
{
    struct fixture *f = *state;
    feed(f, "{\"a\":1} []{\"b\":1}");
    assert_string_equal(f->got, "{\"a\":1}");
    expect_end(f, -EPROTO);
    feed(f, "{\"c\":1}");
    assert_int_equal(f->n_messages, 1); /* No more after the end. */
}

static void test_what_jansson_refuses_ends_the_stream(void **state)
{
    struct fixture *f = *state;
    feed(f, "{\"a\":1,}");
    assert_int_equal(f->n_messages, 0);
    expect_end(f, -EPROTO);
}

static void test_depth_is_bounded(void **state)
{
    struct fixture *f = *state;
    feed(f, "{\"a\":[[[[]]]]}");
    assert_int_equal(f->n_messages, 1);
    feed(f, "{\"a\":[[[[[");
    assert_int_equal(f->n_messages, 1);
    expect_end(f, -EPROTO);
}

/* Sends {"a":"xxx..."} of N bytes in all. */
static void feed_long(struct fixture *f, size_t n)
{
    char *s = xmalloc(n);
    memset(s, 'x', n);
    memcpy(s, "{\"a\":\"", 6);
    memcpy(s + n - 2, "\"}", 2);
    for (size_t sent = 0; sent < n && !f->n_closed;) {
        ssize_t k = write(f->peer, s + sent, n - sent);
        sent += k > 0 ? k : 0;
        turn();
    }
    free(s);
}

static void test_length_is_bounded_exactly(void **state)
{
    struct fixture *f = *state;
    feed_long(f, limits.max_message);
    feed_long(f, 100);
    assert_int_equal(f->n_messages, 2);
    assert_int_equal(f->n_closed, 0);
    feed_long(f, limits.max_message + 1);
    assert_int_equal(f->n_messages, 2);
    expect_end(f, -EPROTO);
}

static void test_pausing_holds_messages_and_the_end_back(void **state)
{
    struct fixture *f = *state;
    f->pause_on_message = true;
    feed(f, "{\"a\":1}{\"b\":1}");
    shutdown(f->peer, SHUT_WR);
    turn();
    assert_string_equal(f->got, "{\"a\":1}");
    assert_int_equal(f->n_closed, 0);
    jsonrpc_resume(f->rpc);
    assert_string_equal(f->got, "{\"a\":1}{\"b\":1}");
    assert_int_equal(f->n_closed, 0);
    jsonrpc_send(f->rpc, json_pack("{s:i}", "answer", 1));
    jsonrpc_resume(f->rpc);
    turn();
    char buf[32] = "";
    assert_int_equal(read(f->peer, buf, sizeof buf), 12); /* Answered, though the peer had ended. */
    assert_string_equal(buf, "{\"answer\":1}");
    expect_end(f, 0);
}

static void test_a_paused_stream_buffers_little(void **state)
{
    struct fixture *f = *state;
    f->pause_on_message = true;
    feed(f, "{\"a\":1}");
    char *junk = xmalloc(10000);
    memset(junk, ' ', 10000);
    size_t total = 0;
    for (int i = 0; i < 2000; i++) {
        ssize_t n = write(f->peer, junk, 10000);
        total += n > 0 ? n : 0;
        turn();
    }
    free(junk);
    assert_true(total < 2000000); /* The socket's own buffers, and a little. */
    assert_int_equal(f->n_closed, 0);
}

static void test_destruction_from_a_callback(void **state)
{
    struct fixture *f = *state;
    f->destroy_on_message = true;
    feed(f, "{\"a\":1}{\"b\":1}");
    assert_string_equal(f->got, "{\"a\":1}");
    assert_int_equal(f->n_closed, 0);
    char c;
    assert_int_equal(read(f->peer, &c, 1), 0);
}

static void test_end_within_a_message(void **state)
{
    struct fixture *f = *state;
    feed(f, "{\"a\":1}{\"b\"");
    close(f->peer);
    f->peer = -1;
    turn();
    assert_int_equal(f->n_messages, 1);
    expect_end(f, 0);
}

static void test_writing_to_a_peer_that_is_gone(void **state)
{
    struct fixture *f = *state;
    f->pause_on_message = true;
    feed(f, "{\"a\":1}");
    close(f->peer);
    f->peer = -1;
    turn();
    assert_int_equal(f->n_closed, 0);
    jsonrpc_send(f->rpc, json_object());
    turn();
    expect_end(f, -EPIPE);
}

static void test_a_peer_that_does_not_read_is_given_up(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 100; i++) {
        char *s = xmalloc(100001);
        memset(s, 'x', 100000);
        s[100000] = '\0';
        jsonrpc_send(f->rpc, json_pack("{s:o}", "a", jsonrpc_string(s)));
        free(s);
    }
    assert_true(jsonrpc_backlog(f->rpc) > 9000000);
    uint64_t deadline = clock_msec() + 10000;
    while (!f->n_closed && clock_msec() < deadline) {
        event_base_loop(loop_base(), EVLOOP_ONCE);
    }
    expect_end(f, -ETIMEDOUT);
}

static void test_strings_are_made_valid(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "eth0 \xc3\xa9 \xf0\x9f\x90\xa7", "eth0 \xc3\xa9 \xf0\x9f\x90\xa7" },
        { "a\xff"
          "b",
          "a\xef\xbf\xbd"
          "b" },
        { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc3\xa9\x80\xc3\xa9", "\xc3\xa9\xef\xbf\xbd\xc3\xa9" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *s = jsonrpc_string(cases[i][0]);
        assert_string_equal(json_string_value(s), cases[i][1]);
        json_decref(s);
    }
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(test_##NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(messages_are_found_wherever_they_are_cut),
        TEST(what_does_not_begin_as_an_object_ends_the_stream),
        TEST(what_jansson_refuses_ends_the_stream),
        TEST(depth_is_bounded),
        TEST(length_is_bounded_exactly),
        TEST(pausing_holds_messages_and_the_end_back),
        TEST(a_paused_stream_buffers_little),
        TEST(destruction_from_a_callback),
        TEST(end_within_a_message),
        TEST(writing_to_a_peer_that_is_gone),
        TEST(a_peer_that_does_not_read_is_given_up),
        TEST(strings_are_made_valid),
    };
    thread_main_init();
    loop_init();
    free(log_set_spec("console:off"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    loop_uninit();
    thread_main_uninit();
    return failed;
}
