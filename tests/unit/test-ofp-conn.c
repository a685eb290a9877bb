/* An OpenFlow connection over a socket pair: negotiation, framing, echoes and probes, a peer that does not read, the
 * end, snooping.  The peer is a blocking-free socket of the test's own. */
#include <config.h>

#include <endian.h>
#include <errno.h>
#include <event2/buffer.h>
#include <sys/socket.h>

#include "lib/io/stream.h"
#include "lib/ofp/ofp-conn.h"
#include "tests/unit/io-kit.h"

#define V(N) (1u << (N))

struct fixture {
    struct ofp_conn *c;
    struct stream *s; /* Of C. */
    int peer;
    uint8_t in[1 << 17]; /* What the peer has received and not looked at. */
    size_t in_len;

    unsigned int n_negotiated, n_messages, n_room, n_closed;
    uint8_t last[65536];
    size_t last_len;
    int error;
    char why[256];
    bool destroy_on_message, hold_on_message, release_on_message, end_on_message;
    size_t answer; /* Bytes of the answer to each message. */

    unsigned int n_snooped[2];
    size_t snooped[2]; /* Bytes. */
};

static void on_negotiated(struct ofp_conn *c, void *f_) { ((struct fixture *) f_)->n_negotiated++; }
static void on_room(struct ofp_conn *c, void *f_) { ((struct fixture *) f_)->n_room++; }

static void send_answer(struct ofp_conn *c, size_t size)
{
    uint8_t *m = xzalloc(size);
    uint16_t len = htobe16(size);
    m[0] = ofp_conn_version(c);
    m[1] = 19;
    memcpy(m + 2, &len, 2);
    assert_int_equal(ofp_conn_send(c, m, size, OFP_CONN_REPLY), 0);
    free(m);
}

static void on_message(struct ofp_conn *c, const void *msg, size_t len, void *f_)
{
    struct fixture *f = f_;
    assert_int_equal((uintptr_t) msg % 8, 0);
    f->n_messages++;
    memcpy(f->last, msg, len);
    f->last_len = len;
    if (f->answer) {
        send_answer(c, f->answer);
    }
    if (f->hold_on_message) {
        ofp_conn_hold(c);
    }
    if (f->release_on_message) {
        unsigned int n = f->n_messages;
        ofp_conn_release(c);
        assert_int_equal(f->n_messages, n); /* One at a time. */
    }
    if (f->end_on_message) {
        ofp_conn_end(c, -ECANCELED, "enough");
    }
    if (f->destroy_on_message) {
        ofp_conn_destroy(c);
        f->c = NULL;
        assert_memory_equal(f->last, msg, len); /* Ours until we return. */
    }
}

static void on_closed(struct ofp_conn *c, int error, const char *why, void *f_)
{
    struct fixture *f = f_;
    f->n_closed++;
    f->error = error;
    snprintf(f->why, sizeof f->why, "%s", why);
}

static const struct ofp_conn_ops ops = {
    .negotiated = on_negotiated, .message = on_message, .room = on_room, .closed = on_closed
};

/* A fixture whose connection allows VERSIONS and has the other limits of CONFIG. */
static struct fixture *make(struct ofp_conn_config config)
{
    struct fixture *f = xzalloc(sizeof *f);
    struct stream_options options = { .dscp = -1 };
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    f->peer = fds[1];
    expect_no_error(stream_accept(loop_base(), fds[0], "test", &options, NULL, NULL, &f->s));
    f->c = ofp_conn_create(loop_base(), f->s, &config, &ops, f);
    return f;
}

static void unmake(struct fixture *f)
{
    ofp_conn_destroy(f->c);
    if (f->peer >= 0) {
        close(f->peer);
    }
    free(f);
    turn();
}

/* What the peer says. */
static void say_bytes(struct fixture *f, const void *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(f->peer, bytes, len);
        if (n < 0) {
            assert_int_equal(errno, EAGAIN);
            turn();
            continue;
        }
        bytes = (const char *) bytes + n;
        len -= n;
    }
}
#define SAY(F, LITERAL) say_bytes(F, LITERAL, sizeof LITERAL - 1)

/* Receives what there is. */
static size_t hear(struct fixture *f)
{
    ssize_t n = read(f->peer, f->in + f->in_len, sizeof f->in - f->in_len);
    f->in_len += n > 0 ? n : 0;
    return f->in_len;
}

/* The peer receives exactly these bytes next. */
static void expect_bytes(struct fixture *f, const void *bytes, size_t len)
{
    UNTIL(hear(f) >= len);
    assert_memory_equal(f->in, bytes, len);
    memmove(f->in, f->in + len, f->in_len - len);
    f->in_len -= len;
}
#define EXPECT(F, LITERAL) expect_bytes(F, LITERAL, sizeof LITERAL - 1)

static void expect_end(struct fixture *f, int error, const char *why)
{
    UNTIL(f->n_closed);
    assert_int_equal(f->n_closed, 1);
    assert_int_equal(f->error, error);
    if (!strstr(f->why, why)) {
        fail_msg("\"%s\" does not contain \"%s\"", f->why, why);
    }
}

/* The peer hears nothing more, and then the end. */
static void expect_peer_eof(struct fixture *f)
{
    char b;
    ssize_t n = -1;
    UNTIL((n = read(f->peer, &b, 1)) >= 0);
    assert_int_equal(n, 0);
}

/* A connection that speaks version 1. */
static struct fixture *make_ready(struct ofp_conn_config config)
{
    config.versions = V(1);
    struct fixture *f = make(config);
    EXPECT(f, "\1\0\0\10\0\0\0\1");
    SAY(f, "\1\0\0\10\0\0\0\7");
    UNTIL(f->n_negotiated);
    return f;
}

/* Negotiation. */

static void test_all_pairs_negotiate(void **state)
{
    static const uint8_t versions[] = { 1, 4, 5, 6 };
    for (int ours = 1; ours < 16; ours++) {
        for (int theirs = 1; theirs < 16; theirs++) {
            uint32_t a = 0, b = 0;
            uint8_t top_a = 0, best = 0, hello[16] = { 0, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 8 };
            for (int i = 0; i < 4; i++) {
                a |= ours >> i & 1 ? V(versions[i]) : 0;
                b |= theirs >> i & 1 ? V(versions[i]) : 0;
                top_a = ours >> i & 1 ? versions[i] : top_a;
                hello[0] = theirs >> i & 1 ? versions[i] : hello[0];
                best = ours & theirs & 1 << i ? versions[i] : best;
            }
            uint32_t be = htobe32(b);
            memcpy(hello + 12, &be, 4);
            struct fixture *f = make((struct ofp_conn_config){ .versions = a });
            say_bytes(f, hello, sizeof hello);
            UNTIL(hear(f) >= 8 && f->in_len >= f->in[3]);
            assert_int_equal(f->in[0], top_a);
            f->in_len -= f->in[3];
            memmove(f->in, f->in + f->in[3], f->in_len);
            if (best) {
                UNTIL(f->n_negotiated);
                assert_int_equal(ofp_conn_version(f->c), best);
                assert_int_equal(f->n_closed, 0);
            } else {
                uint8_t header[4] = { MIN(top_a, hello[0]), 1, 0, 0 };
                UNTIL(hear(f) >= 12 && f->in_len >= f->in[3]);
                header[3] = f->in[3];
                assert_memory_equal(f->in, header, 4);
                assert_memory_equal(f->in + 4, "\0\0\0\0\0\0\0\0We support version", 26);
                f->in_len = 0;
                expect_peer_eof(f);
                close(f->peer);
                f->peer = -1;
                expect_end(f, -EPROTO, "version negotiation failed: We support version");
                assert_int_equal(f->n_negotiated, 0);
            }
            unmake(f);
        }
    }
}

static void test_the_error_is_the_one_of_the_field(void **state)
{
    struct fixture *f = make((struct ofp_conn_config){ .versions = V(4) });
    EXPECT(f, "\4\0\0\20\0\0\0\1\0\1\0\10\0\0\0\20");
    SAY(f, "\1\0\0\10\0\0\0\1");
    /* As ovs-ofctl -O OpenFlow13 sends it. */
    EXPECT(f, "\1\1\0\122\0\0\0\0\0\0\0\0We support version 0x04, you support version 0x01, no common versions.");
    unmake(f);
}

static void test_only_a_hello_may_be_first(void **state)
{
    struct fixture *f = make((struct ofp_conn_config){ .versions = V(1) });
    SAY(f, "\1\2\0\10\0\0\0\1");
    expect_end(f, -EPROTO, "begins with a HELLO (type 0), this one began with type 2");
    unmake(f);

    f = make((struct ofp_conn_config){ .versions = V(1) });
    SAY(f, "\1\1\0\25\0\0\0\1\0\0\0\0no\nthanks");
    expect_end(f, -EPROTO, "the peer refuses to talk to us: \"no?thanks\"");
    unmake(f);

    f = make((struct ofp_conn_config){ .versions = V(1) });
    SAY(f, "\1\1\0\10\0\0\0\1");
    expect_end(f, -EPROTO, "the peer refuses to talk to us: \"\"");
    unmake(f);
}

static void test_a_peer_that_says_no_hello_is_closed(void **state)
{
    struct fixture *f = make((struct ofp_conn_config){ .versions = V(1), .hello_msec = 20 });
    SAY(f, "\1\0\0\10\0");
    expect_end(f, -ETIMEDOUT, "the peer has not said HELLO for 0.02 s");
    unmake(f);
}

/* Framing. */

static void test_messages_are_found_wherever_they_are_cut(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    static const uint8_t bytes[] = "\1\5\0\10\0\0\0\2\1\12\0\11\0\0\0\3x\1\22\0\14\0\0\0\4abcd";
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        say_bytes(f, bytes + i, 1);
        turn();
    }
    assert_int_equal(f->n_messages, 3);
    assert_int_equal(f->last_len, 12);
    assert_memory_equal(f->last, "\1\22\0\14\0\0\0\4abcd", 12);
    say_bytes(f, bytes, sizeof bytes - 1); /* All at once. */
    UNTIL(f->n_messages == 6);
    assert_int_equal(ofp_conn_counters(f->c).received, 7);
    unmake(f);
}

static void test_the_longest_message_arrives(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    uint8_t *m = xzalloc(65535);
    memcpy(m, "\1\15\377\377", 4);
    m[65534] = 'x';
    say_bytes(f, m, 65535);
    say_bytes(f, m, 65535);
    UNTIL(f->n_messages == 2);
    assert_int_equal(f->last_len, 65535);
    assert_memory_equal(f->last, m, 65535);
    free(m);
    unmake(f);
}

static void check_length(const char *bytes, const char *error)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    say_bytes(f, "\1\22\0\10\0\0\0\2", 8);
    say_bytes(f, bytes, 8);
    SAY(f, "\1\22\0\10\0\0\0\3");
    expect_bytes(f, error, 20);
    expect_peer_eof(f);
    close(f->peer);
    f->peer = -1;
    expect_end(f, -EPROTO, "bytes, and is one of 8");
    assert_int_equal(f->n_messages, 1); /* Nothing after it. */
    unmake(f);
}

static void test_a_length_below_a_header_ends_the_connection(void **state)
{
    check_length("\1\16\0\0\0\0\0\5", "\1\1\0\24\0\0\0\5\0\1\0\6\1\16\0\0\0\0\0\5");
    check_length("\1\16\0\7\0\0\0\5", "\1\1\0\24\0\0\0\5\0\1\0\6\1\16\0\7\0\0\0\5");
    /* In a HELLO there is no version for an error. */
    struct fixture *f = make((struct ofp_conn_config){ .versions = V(1) });
    EXPECT(f, "\1\0\0\10\0\0\0\1");
    SAY(f, "\1\0\0\7\0\0\0\1");
    expect_peer_eof(f);
    expect_end(f, -EPROTO, "a header says that its message has 7 bytes");
    unmake(f);
}

static void test_another_version_ends_the_connection(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    SAY(f, "\4\0\0\10\0\0\0\2"); /* A HELLO may have any. */
    SAY(f, "\4\16\0\12\0\0\0\5xy");
    EXPECT(f, "\1\1\0\26\0\0\0\5\0\1\0\0\4\16\0\12\0\0\0\5xy");
    expect_end(f, -EPROTO, "a message has version 0x04, 0x01 was agreed on");
    assert_int_equal(f->n_messages, 0);
    unmake(f);
}

static void test_junk_ends_the_connection(void **state)
{
    unsigned int seed = 1;
    srand(seed);
    for (int i = 0; i < 300; i++) {
        struct fixture *f = i % 2 ? make_ready((struct ofp_conn_config){ .max_output = 1000 })
                                  : make((struct ofp_conn_config){ .versions = V(1) });
        uint8_t junk[700];
        for (size_t j = 0; j < sizeof junk; j++) {
            junk[j] = j % 8 == 2 || rand() % 3 == 0 ? 0 : rand() % 2 ? rand() % 20 : rand();
        }
        say_bytes(f, junk, sizeof junk);
        turn();
        hear(f);
        close(f->peer);
        f->peer = -1;
        UNTIL(f->n_closed);
        assert_int_equal(f->n_closed, 1);
        unmake(f);
    }
}

/* Life. */

static void test_echoes_are_answered(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    SAY(f, "\1\2\0\10\0\0\0\2\1\2\0\15\377\0\0\3hello\1\3\0\10\0\0\0\4");
    EXPECT(f, "\1\3\0\10\0\0\0\2\1\3\0\15\377\0\0\3hello");
    turn();
    assert_int_equal(f->n_messages, 0);
    assert_int_equal(hear(f), 0);
    unmake(f);
}

static void test_a_silent_peer_is_probed_and_then_closed(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .probe_msec = 300 });
    EXPECT(f, "\1\2\0\10\0\0\0\2"); /* Transaction 1 was our HELLO. */
    assert_true(ofp_conn_is_idle(f->c));
    SAY(f, "\1\3\0\10\0\0\0\2");
    UNTIL(!ofp_conn_is_idle(f->c));
    EXPECT(f, "\1\2\0\10\0\0\0\3");
    assert_int_equal(f->n_closed, 0);
    expect_end(f, -ETIMEDOUT, "the peer has not answered an inactivity probe for 0.3 s");
    unmake(f);
}

static void test_half_a_message_and_then_silence_is_silence(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .probe_msec = 30 });
    SAY(f, "\1\16\0\100\0\0\0\2half");
    EXPECT(f, "\1\2\0\10\0\0\0\2");
    SAY(f, "x"); /* Bytes are no sign of life. */
    expect_end(f, -ETIMEDOUT, "inactivity probe");
    assert_int_equal(f->n_messages, 0);
    unmake(f);
}

static void test_a_peer_that_talks_is_not_probed(void **state)
{
    clock_hold(1000000);
    struct fixture *f = make_ready((struct ofp_conn_config){ .probe_msec = 10 });
    for (int i = 0; i < 20; i++) {
        /* As the clock has it, hardly any time goes by between messages, whenever the timer runs. */
        clock_hold(1000000 + i * 9);
        SAY(f, "\1\5\0\10\0\0\0\2");
        UNTIL(f->n_messages == i + 1);
        uint64_t begin = clock_nsec();
        UNTIL(clock_nsec() - begin > 3000000);
    }
    clock_hold(0);
    assert_int_equal(hear(f), 0);
    assert_int_equal(f->n_closed, 0);
    unmake(f);
}

static void test_probes_can_be_switched_on_and_off(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    ofp_conn_set_probe(f->c, 300);
    EXPECT(f, "\1\2\0\10\0\0\0\2");
    ofp_conn_set_probe(f->c, 0);
    uint64_t begin = clock_nsec();
    UNTIL(clock_nsec() - begin > 400000000);
    assert_int_equal(f->n_closed, 0);
    assert_false(ofp_conn_is_idle(f->c));
    unmake(f);
}

/* A peer that does not read. */

#define MAX_OUTPUT 100000
#define ANSWER     1000

/* Asks N times, as far as the connection takes it. */
static unsigned int ask(struct fixture *f, unsigned int n)
{
    unsigned int asked = 0;
    for (unsigned int i = 0; i < n; i++) {
        if (write(f->peer, "\1\22\0\10\0\0\0\2", 8) == 8) {
            asked++;
        }
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
    }
    return asked;
}

static void test_a_peer_that_does_not_read_is_bounded_and_hurts_nobody(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    struct fixture *other = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    f->answer = other->answer = ANSWER;
    unsigned int asked = ask(f, 5000);
    assert_true(ofp_conn_is_full(f->c));
    assert_true(ofp_conn_backlog(f->c) < MAX_OUTPUT + ANSWER);
    unsigned int answered = f->n_messages;
    assert_true(answered < asked);
    assert_int_equal(ofp_conn_counters(f->c).stalls, 1);
    turn();
    assert_int_equal(f->n_messages, answered);

    /* Asynchronous messages are dropped and counted; answers that are under way are not. */
    assert_int_equal(ofp_conn_send(f->c, "\1\12\0\10\0\0\0\0\1\12\0\10\0\0\0\0", 16, OFP_CONN_ASYNC), -ENOBUFS);
    assert_int_equal(ofp_conn_counters(f->c).dropped, 2);
    assert_int_equal(ofp_conn_send(f->c, "\1\23\0\10\0\0\0\0", 8, OFP_CONN_REPLY), 0);

    /* The others go on. */
    SAY(other, "\1\22\0\10\0\0\0\2");
    UNTIL(hear(other) == ANSWER);

    /* When it reads, all its requests are answered. */
    size_t total = 0, want = asked * ANSWER + 8;
    while (total < want) {
        f->in_len = 0;
        UNTIL(hear(f));
        total += f->in_len;
    }
    assert_int_equal(total, want);
    assert_int_equal(f->n_messages, asked);
    assert_true(f->n_room > 0);
    assert_false(ofp_conn_is_full(f->c));
    assert_int_equal(ofp_conn_send(f->c, "\1\12\0\10\0\0\0\0", 8, OFP_CONN_ASYNC), 0);
    unmake(f);
    unmake(other);
}

static void test_echoes_do_not_get_round_the_bound(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    uint8_t echo[2000] = { 1, 2, 2000 >> 8, 2000 & 255 };
    for (int i = 0; i < 2000; i++) {
        if (write(f->peer, echo, sizeof echo) != sizeof echo) {
            event_base_loop(loop_base(), EVLOOP_NONBLOCK);
            break; /* It takes no more, and a half message would follow. */
        }
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
    }
    turn();
    assert_true(ofp_conn_is_full(f->c));
    assert_true(ofp_conn_backlog(f->c) < MAX_OUTPUT + sizeof echo);
    unmake(f);
}

static void test_asynchronous_messages_do_not_get_round_the_bound(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    uint8_t async[1000] = { 1, 10, 1000 >> 8, 1000 & 255 };
    unsigned int n = 0;
    for (; n < 10000 && !ofp_conn_send(f->c, async, sizeof async, OFP_CONN_ASYNC); n++) {
    }
    assert_int_equal(n, MAX_OUTPUT / 1000);
    assert_true(ofp_conn_backlog(f->c) <= MAX_OUTPUT);
    assert_int_equal(ofp_conn_counters(f->c).dropped, 1);
    unmake(f);
}

static void test_a_peer_that_reads_nothing_is_closed_by_the_probe(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT, .probe_msec = 200 });
    f->answer = ANSWER;
    while (!ofp_conn_is_full(f->c)) {
        ask(f, 10);
    }
    expect_end(f, -ETIMEDOUT, "the peer has not read for 0.2 s");
    unmake(f);
}

static void test_a_peer_that_reads_slowly_is_not(void **state)
{
    size_t max = 10 * 1000 * 1000;
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = max, .probe_msec = 200 });
    char *some = xmalloc(200000);
    f->answer = 60000;
    while (!ofp_conn_is_full(f->c)) {
        ask(f, 1);
    }
    /* For three times as long as one that reads nothing would be borne. */
    for (int i = 0; i < 12; i++) {
        assert_true(read(f->peer, some, 200000) > 0);
        uint64_t begin = clock_nsec();
        UNTIL(clock_nsec() - begin > 100000000);
        assert_int_equal(f->n_closed, 0);
        assert_true(ofp_conn_is_full(f->c));
    }
    /* There is room when half of the output is gone, not only when all is. */
    assert_int_equal(f->n_room, 0);
    UNTIL((read(f->peer, some, 200000), f->n_room));
    assert_true(ofp_conn_backlog(f->c) <= max / 2);
    assert_true(ofp_conn_backlog(f->c) > max / 4);
    free(some);
    unmake(f);
}

static void test_many_requests_at_once_do_not_get_round_the_bound(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    uint8_t requests[4000] = { 0 };
    for (size_t i = 0; i < sizeof requests; i += 8) {
        memcpy(requests + i, "\1\22\0\10\0\0\0\2", 8);
    }
    f->answer = ANSWER;
    say_bytes(f, requests, sizeof requests);
    UNTIL(ofp_conn_is_full(f->c));
    assert_true(ofp_conn_backlog(f->c) < MAX_OUTPUT + ANSWER);
    size_t total = 0;
    while (total < sizeof requests / 8 * ANSWER) {
        f->in_len = 0;
        UNTIL(hear(f));
        total += f->in_len;
        assert_true(ofp_conn_backlog(f->c) < MAX_OUTPUT + ANSWER);
    }
    unmake(f);
}

static void test_a_held_connection_delivers_nothing(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .probe_msec = 100 });
    f->hold_on_message = true;
    SAY(f, "\1\22\0\10\0\0\0\2\1\22\0\10\0\0\0\3\1\22\0\10\0\0\0\4");
    UNTIL(f->n_messages);
    uint64_t begin = clock_nsec();
    UNTIL(clock_nsec() - begin > 350000000); /* Several probes' time: that we hear nothing is our own doing. */
    assert_int_equal(f->n_messages, 1);
    assert_int_equal(f->n_closed, 0);
    ofp_conn_release(f->c);
    assert_int_equal(f->n_messages, 2);
    f->hold_on_message = false;
    ofp_conn_release(f->c);
    assert_int_equal(f->n_messages, 3);
    assert_memory_equal(f->last, "\1\22\0\10\0\0\0\4", 8);

    f->hold_on_message = f->release_on_message = true;
    SAY(f, "\1\22\0\10\0\0\0\5\1\22\0\10\0\0\0\6");
    UNTIL(f->n_messages == 5);
    unmake(f);
}

/* Ends. */

static void test_the_peers_end_comes_after_its_answers(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    f->answer = 60000;
    for (int i = 0; i < 10; i++) {
        SAY(f, "\1\22\0\10\0\0\0\2");
    }
    shutdown(f->peer, SHUT_WR);
    size_t total = 0;
    while (total < 600000) {
        assert_int_equal(f->n_closed, 0);
        f->in_len = 0;
        UNTIL(hear(f));
        total += f->in_len;
    }
    expect_end(f, 0, "the peer closed the connection");
    unmake(f);
}

static void test_the_peers_end_within_a_message_is_said(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    SAY(f, "\1\22\0\11\0\0\0\2");
    close(f->peer);
    f->peer = -1;
    expect_end(f, 0, "within a message");
    unmake(f);
}

static void test_our_end_lets_the_peer_read(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    f->answer = 60000;
    f->end_on_message = true;
    SAY(f, "\1\22\0\10\0\0\0\2\1\22\0\10\0\0\0\3"); /* The second remains unread by us, which does not reset the
                                                       connection. */
    UNTIL(f->n_messages);
    assert_int_equal(ofp_conn_send(f->c, "\1\12\0\10\0\0\0\0", 8, OFP_CONN_REPLY), -ENOTCONN);
    assert_int_equal(f->n_closed, 0);
    SAY(f, "\1\22\0\10\0\0\0\4");
    UNTIL(hear(f) == 60000);
    turn();
    assert_int_equal(evbuffer_get_length(stream_input(f->s)), 0); /* Thrown away. */
    expect_peer_eof(f);
    close(f->peer);
    f->peer = -1;
    expect_end(f, -ECANCELED, "enough");
    assert_int_equal(f->n_messages, 1);
    unmake(f);
}

static void test_our_end_does_not_wait_for_ever(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ .max_output = MAX_OUTPUT });
    f->answer = ANSWER;
    while (!ofp_conn_is_full(f->c)) {
        ask(f, 10);
    }
    ofp_conn_end(f->c, 0, "over");
    assert_int_equal(f->n_closed, 0); /* Not from within. */
    expect_end(f, 0, "over");
    unmake(f);
}

static void test_a_connection_may_be_destroyed_in_its_callback(void **state)
{
    struct fixture *f = make_ready((struct ofp_conn_config){ 0 });
    f->destroy_on_message = true;
    SAY(f, "\1\22\0\10\0\0\0\2\1\22\0\10\0\0\0\3");
    UNTIL(f->n_messages);
    turn();
    assert_int_equal(f->n_messages, 1);
    assert_int_equal(f->n_closed, 0);
    expect_peer_eof(f);
    unmake(f);
}

static void test_what_is_no_message_is_not_sent(void **state)
{
    struct fixture *f = make((struct ofp_conn_config){ .versions = V(1) });
    assert_int_equal(ofp_conn_send(f->c, "\1\5\0\10\0\0\0\2", 8, OFP_CONN_REPLY), -ENOTCONN);
    unmake(f);
    f = make_ready((struct ofp_conn_config){ 0 });
    assert_int_equal(ofp_conn_send(f->c, "\1\5\0\10\0\0\0\2", 7, OFP_CONN_REPLY), -EINVAL);
    assert_int_equal(ofp_conn_send(f->c, "\1\5\0\7\0\0\0\2", 8, OFP_CONN_REPLY), -EINVAL);
    assert_int_equal(ofp_conn_send(f->c, "\1\5\0\11\0\0\0\2", 8, OFP_CONN_REPLY), -EINVAL);
    assert_int_equal(ofp_conn_send(f->c, "\1\5\0\10\0\0\0\2\1\5\0\10\0\0\0\3", 15, OFP_CONN_REPLY), -EINVAL);
    assert_int_equal(ofp_conn_send(f->c, "", 0, OFP_CONN_REPLY), 0);
    turn();
    assert_int_equal(hear(f), 0);
    unmake(f);
}

/* Snooping. */

static void on_snoop(struct ofp_conn *c, enum ofp_conn_dir dir, const void *msg, size_t len, void *f_)
{
    struct fixture *f = f_;
    const uint8_t *m = msg;
    assert_int_equal(m[2] << 8 | m[3], len);
    f->n_snooped[dir]++;
    f->snooped[dir] += len;
}

static void test_a_snoop_sees_every_message_of_both_directions(void **state)
{
    struct fixture *f = make((struct ofp_conn_config){ .versions = V(1), .probe_msec = 300 });
    ofp_conn_set_snoop(f->c, on_snoop, f);
    SAY(f, "\1\0\0\10\0\0\0\7");
    UNTIL(f->n_negotiated);
    f->answer = 12;
    SAY(f, "\1\2\0\12\0\0\0\2xy\1\22\0\10\0\0\0\3\1\3\0\10\0\0\0\3");
    UNTIL(f->n_messages);
    assert_int_equal(ofp_conn_send(f->c, "\1\12\0\10\0\0\0\0\1\12\0\10\0\0\0\0", 16, OFP_CONN_ASYNC), 0);
    UNTIL(f->n_snooped[OFP_CONN_SENT] == 6); /* With the probe. */
    assert_int_equal(f->snooped[OFP_CONN_SENT], 8 + 10 + 12 + 2 * 8 + 8);
    assert_int_equal(f->n_snooped[OFP_CONN_RECEIVED], 4);
    assert_int_equal(f->snooped[OFP_CONN_RECEIVED], 8 + 10 + 8 + 8);
    assert_int_equal(ofp_conn_counters(f->c).sent, 6);
    assert_int_equal(ofp_conn_counters(f->c).received, 4);
    UNTIL(hear(f) == f->snooped[OFP_CONN_SENT]);
    unmake(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pairs_negotiate),
        cmocka_unit_test(test_the_error_is_the_one_of_the_field),
        cmocka_unit_test(test_only_a_hello_may_be_first),
        cmocka_unit_test(test_a_peer_that_says_no_hello_is_closed),
        cmocka_unit_test(test_messages_are_found_wherever_they_are_cut),
        cmocka_unit_test(test_the_longest_message_arrives),
        cmocka_unit_test(test_a_length_below_a_header_ends_the_connection),
        cmocka_unit_test(test_another_version_ends_the_connection),
        cmocka_unit_test(test_junk_ends_the_connection),
        cmocka_unit_test(test_echoes_are_answered),
        cmocka_unit_test(test_a_silent_peer_is_probed_and_then_closed),
        cmocka_unit_test(test_half_a_message_and_then_silence_is_silence),
        cmocka_unit_test(test_a_peer_that_talks_is_not_probed),
        cmocka_unit_test(test_probes_can_be_switched_on_and_off),
        cmocka_unit_test(test_a_peer_that_does_not_read_is_bounded_and_hurts_nobody),
        cmocka_unit_test(test_echoes_do_not_get_round_the_bound),
        cmocka_unit_test(test_asynchronous_messages_do_not_get_round_the_bound),
        cmocka_unit_test(test_a_peer_that_reads_nothing_is_closed_by_the_probe),
        cmocka_unit_test(test_a_peer_that_reads_slowly_is_not),
        cmocka_unit_test(test_many_requests_at_once_do_not_get_round_the_bound),
        cmocka_unit_test(test_a_held_connection_delivers_nothing),
        cmocka_unit_test(test_the_peers_end_comes_after_its_answers),
        cmocka_unit_test(test_the_peers_end_within_a_message_is_said),
        cmocka_unit_test(test_our_end_lets_the_peer_read),
        cmocka_unit_test(test_our_end_does_not_wait_for_ever),
        cmocka_unit_test(test_a_connection_may_be_destroyed_in_its_callback),
        cmocka_unit_test(test_what_is_no_message_is_not_sent),
        cmocka_unit_test(test_a_snoop_sees_every_message_of_both_directions),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
