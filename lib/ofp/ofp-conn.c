/* One OpenFlow connection.
 *
 * Input.  conn_run() takes message after message out of the stream's input, as long as nothing forbids it: a message
 * that is not whole, the owner's hold, or output that the peer does not read.  When it stops for one of the latter two
 * the stream stops reading, so that memory is bounded here and the peer's TCP waits.  A length below 8 means that there
 * is no next message to be found; and like a message of another version it is answered with an error, and the
 * connection ends.
 *
 * Life.  A sign of life is a whole message; bytes alone are none, or half a message now and then would keep a
 * connection for ever.  While the peer lets us wait with output, that it reads is a sign too, for its answers to probes
 * are behind what we do not read.  While the owner holds the connection it is our own fault that we hear nothing.
 *
 * End.  An error message is worth nothing if the socket is closed with unread input behind it: the peer's kernel then
 * throws the error away.  So the output is written, the sending side is shut down, and input is thrown away until the
 * peer closes, or a second is over.
 *
 * 'busy' and 'dead': the owner may destroy the connection in a callback; the structure is freed when the outermost
 * returns. */
#include <config.h>

#include "lib/ofp/ofp-conn.h"

#include <endian.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream.h"
#include "lib/ofp/ofp-hello.h"

LOG_MODULE(vconn);

#define HEADER_LEN     8
#define ERROR_DATA_MAX 64   /* Of the message that an error quotes. */
#define LINGER_MSEC    1000 /* Given to the peer to read what was written. */

/* The messages that the connection itself knows: the same numbers in all versions. */
enum { TYPE_HELLO, TYPE_ERROR, TYPE_ECHO_REQUEST, TYPE_ECHO_REPLY };
enum { ERROR_HELLO_FAILED = 0, ERROR_BAD_REQUEST = 1 };
enum { HELLO_FAILED_INCOMPATIBLE = 0, BAD_REQUEST_VERSION = 0, BAD_REQUEST_LEN = 6 };

struct header {
    uint8_t version, type;
    uint16_t len; /* Host order. */
    uint32_t xid; /* Host order. */
};

enum conn_state { CONNECTING, HELLO, READY, ENDING, CLOSED };

struct ofp_conn {
    struct stream *stream;
    struct ofp_conn_config config;
    const struct ofp_conn_ops *ops;
    void *aux;
    ofp_conn_snoop_cb *snoop;
    void *snoop_aux;
    void (*released)(struct ofp_conn *c, void *aux);
    void *released_aux;

    enum conn_state state;
    uint8_t version;
    uint32_t xid; /* The last one given out. */
    struct ofp_conn_counters counters;
    uint8_t *msg; /* The message being handled: of its own, for alignment, and for owners who destroy the connection. */
    size_t msg_size;

    unsigned int holds;
    bool full;    /* Output has reached 'max_output', and not yet fallen to half of it. */
    bool wanted;  /* 'room' is to be called though the output is not full. */
    bool running; /* conn_run() is at work. */
    bool eof;     /* The peer will send no more. */

    struct event *timer;     /* HELLO: for the peer's; READY: for the probe; ENDING: the last. */
    uint64_t last_life;      /* ms: of the peer's last sign of life. */
    uint64_t written_before; /* stream_written() when the timer looked last. */
    bool idle;               /* A probe was due, and there was no sign of life since. */

    int error; /* ENDING: what 'closed' will be told. */
    char *why;

    bool dead;
    int busy;
};

static void enter(struct ofp_conn *c) { c->busy++; }

static void leave(struct ofp_conn *c)
{
    if (!--c->busy && c->dead) {
        free(c->why);
        free(c->msg);
        free(c);
    }
}

static void set_timer(struct ofp_conn *c, uint64_t msec)
{
    struct timeval tv = { .tv_sec = msec / 1000, .tv_usec = msec % 1000 * 1000 };
    evtimer_add(c->timer, &tv);
}

static size_t max_output(const struct ofp_conn *c)
{
    return c->config.max_output ? c->config.max_output : OFP_CONN_MAX_OUTPUT;
}

static bool is_open(const struct ofp_conn *c) { return c->state == HELLO || c->state == READY; }

/* Ends the connection: tells the owner, once. */
static void finish(struct ofp_conn *c, int error, const char *why)
{
    if (c->state == CLOSED || c->dead) {
        return;
    }
    c->state = CLOSED;
    event_del(c->timer);
    enter(c);
    c->ops->closed(c, error, why, c->aux);
    leave(c);
}

/* Whether messages may be delivered now. */
static bool may_run(const struct ofp_conn *c) { return is_open(c) && !c->dead && !c->holds && !c->full; }

static void update_reading(struct ofp_conn *c)
{
    stream_set_reading(c->stream, c->state == ENDING || (!c->holds && !c->full));
}

/* Output. */

/* Queues one message. */
static void put(struct ofp_conn *c, const void *msg, size_t len)
{
    if (c->snoop) {
        c->snoop(c, OFP_CONN_SENT, msg, len, c->snoop_aux);
    }
    if (evbuffer_add(stream_output(c->stream), msg, len)) {
        fatal(ENOMEM, "%s: cannot queue a message", ofp_conn_name(c));
    }
    c->counters.sent++;
}

/* To be called after put(). */
static void check_full(struct ofp_conn *c)
{
    if (!c->full && ofp_conn_backlog(c) >= max_output(c)) {
        c->full = true;
        c->counters.stalls++;
        update_reading(c);
    }
}

/* Queues a message of TYPE: a header, then PREFIX and DATA. */
static void put_message(struct ofp_conn *c, uint8_t version, uint8_t type, uint32_t xid, const void *prefix,
                        size_t prefix_len, const void *data, size_t data_len)
{
    size_t len = HEADER_LEN + prefix_len + data_len;
    uint8_t *m = xmalloc(len);
    uint16_t be_len = htobe16(len);
    uint32_t be_xid = htobe32(xid);
    m[0] = version;
    m[1] = type;
    memcpy(m + 2, &be_len, 2);
    memcpy(m + 4, &be_xid, 4);
    if (prefix_len) {
        memcpy(m + HEADER_LEN, prefix, prefix_len);
    }
    if (data_len) {
        memcpy(m + HEADER_LEN + prefix_len, data, data_len);
    }
    put(c, m, len);
    check_full(c);
    free(m);
}

static void put_error(struct ofp_conn *c, uint8_t version, uint32_t xid, uint16_t type, uint16_t code, const void *data,
                      size_t data_len)
{
    uint16_t prefix[2] = { htobe16(type), htobe16(code) };
    put_message(c, version, TYPE_ERROR, xid, prefix, sizeof prefix, data, data_len);
}

/* Number of messages in the LEN bytes at MSGS, or -EINVAL. */
static int count_messages(const uint8_t *msgs, size_t len)
{
    int n = 0;
    for (size_t pos = 0, step; pos < len; pos += step, n++) {
        step = len - pos < HEADER_LEN ? 0 : msgs[pos + 2] << 8 | msgs[pos + 3];
        if (step < HEADER_LEN || step > len - pos) {
            return -EINVAL;
        }
    }
    return n;
}

int ofp_conn_send(struct ofp_conn *c, const void *msgs, size_t len, enum ofp_conn_kind kind)
{
    const uint8_t *p = msgs;
    int n = count_messages(p, len);
    if (n < 0) {
        return n;
    }
    if (c->state != READY || c->dead) {
        return -ENOTCONN;
    }
    if (kind == OFP_CONN_ASYNC && (c->full || ofp_conn_backlog(c) + len > max_output(c))) {
        c->counters.dropped += n;
        return -ENOBUFS;
    }
    for (size_t pos = 0, step; pos < len; pos += step) {
        step = p[pos + 2] << 8 | p[pos + 3];
        put(c, p + pos, step);
    }
    check_full(c);
    return 0;
}

/* The end in order. */

/* Everything is written: from now on the peer's end is awaited. */
static void linger(struct ofp_conn *c)
{
    stream_shutdown_write(c->stream);
    if (c->eof) {
        finish(c, c->error, c->why);
    }
}

void ofp_conn_end(struct ofp_conn *c, int error, const char *why)
{
    if (c->dead || c->state == CLOSED || c->state == ENDING) {
        return;
    }
    bool connected = stream_is_connected(c->stream);
    c->state = ENDING;
    c->error = error;
    c->why = xstrdup(why);
    set_timer(c, connected ? LINGER_MSEC : 0);
    if (connected) {
        evbuffer_drain(stream_input(c->stream), SIZE_MAX);
        stream_set_low_water(c->stream, 0);
        update_reading(c);
        if (!ofp_conn_backlog(c)) {
            stream_shutdown_write(c->stream); /* If the peer has ended already, the timer calls 'closed'. */
            set_timer(c, c->eof ? 0 : LINGER_MSEC);
        }
    }
}

/* The peer's error, which it has made with what it sent. */
static void refuse(struct ofp_conn *c, const char *why)
{
    log_info_rl(10, "%s: closing the connection: %s", ofp_conn_name(c), why);
    ofp_conn_end(c, -EPROTO, why);
}

static void refuse_take(struct ofp_conn *c, char *why)
{
    refuse(c, why);
    free(why);
}

/* Input. */

static void sign_of_life(struct ofp_conn *c)
{
    c->last_life = clock_msec();
    c->idle = false;
}

static void agree(struct ofp_conn *c, uint8_t version)
{
    c->version = version;
    c->state = READY;
    event_del(c->timer);
    if (c->config.probe_msec) {
        set_timer(c, c->config.probe_msec);
    }
    log_dbg("%s: negotiated OpenFlow version 0x%02x", ofp_conn_name(c), version);
    if (c->ops->negotiated) {
        c->ops->negotiated(c, c->aux);
    }
}

/* The first message. */
static void handle_first(struct ofp_conn *c, const struct header *h, const uint8_t *msg)
{
    if (h->type == TYPE_ERROR) {
        /* Its text is the peer's; only what can be printed goes into our log and the database. */
        char *text = xasprintf("%.*s", h->len > 12 ? h->len - 12 : 0, (const char *) msg + 12);
        for (char *p = text; *p; p++) {
            *p = *p < ' ' || *p > '~' ? '?' : *p;
        }
        refuse_take(c, xasprintf("the peer refuses to talk to us: \"%s\"", text));
        free(text);
    } else if (h->type != TYPE_HELLO) {
        refuse_take(c, xasprintf("a connection begins with a HELLO (type 0), this one began with type %u", h->type));
    } else {
        uint32_t theirs = ofp_hello_versions(msg, h->len);
        uint8_t version = ofp_hello_choose(c->config.versions, theirs);
        if (version) {
            agree(c, version);
        } else {
            /* In the lower of both versions: what the peer may be able to read. */
            char *text = ofp_hello_mismatch(c->config.versions, theirs);
            uint8_t ours = 31 - __builtin_clz(c->config.versions);
            put_error(c, MIN(ours, h->version), 0, ERROR_HELLO_FAILED, HELLO_FAILED_INCOMPATIBLE, text, strlen(text));
            refuse_take(c, xasprintf("version negotiation failed: %s", text));
            free(text);
        }
    }
}

/* A message after the first. */
static void handle_message(struct ofp_conn *c, const struct header *h, const uint8_t *msg)
{
    sign_of_life(c);
    if (h->type == TYPE_HELLO) {
        return; /* Once agreed, always agreed. */
    }
    if (h->version != c->version) {
        put_error(c, c->version, h->xid, ERROR_BAD_REQUEST, BAD_REQUEST_VERSION, msg, MIN(h->len, ERROR_DATA_MAX));
        refuse_take(c, xasprintf("a message has version 0x%02x, 0x%02x was agreed on", h->version, c->version));
    } else if (h->type == TYPE_ECHO_REQUEST) {
        put_message(c, c->version, TYPE_ECHO_REPLY, h->xid, NULL, 0, msg + HEADER_LEN, h->len - HEADER_LEN);
    } else if (h->type != TYPE_ECHO_REPLY) {
        c->ops->message(c, msg, h->len, c->aux);
    }
}

static void too_short(struct ofp_conn *c, const struct header *h, const uint8_t *bytes)
{
    if (c->state == READY) {
        put_error(c, c->version, h->xid, ERROR_BAD_REQUEST, BAD_REQUEST_LEN, bytes, HEADER_LEN);
    }
    refuse_take(c, xasprintf("a header says that its message has %u bytes, and is one of %d", h->len, HEADER_LEN));
}

/* Takes the next message out of the input.  Returns false if there is no whole one, or no hope for one. */
static bool take_message(struct ofp_conn *c, struct header *ret_header)
{
    struct evbuffer *in = stream_input(c->stream);
    uint8_t b[HEADER_LEN];
    if (evbuffer_copyout(in, b, sizeof b) < HEADER_LEN) {
        return false;
    }
    struct header h = { .version = b[0], .type = b[1], .len = b[2] << 8 | b[3] };
    memcpy(&h.xid, b + 4, 4);
    h.xid = be32toh(h.xid);
    if (h.len < HEADER_LEN) {
        too_short(c, &h, b);
        return false;
    }
    if (evbuffer_get_length(in) < h.len) {
        return false;
    }
    if (c->msg_size < h.len) {
        c->msg_size = MAX(h.len, 512);
        free(c->msg);
        c->msg = xmalloc(c->msg_size);
    }
    evbuffer_remove(in, c->msg, h.len);
    c->counters.received++;
    if (c->snoop) {
        c->snoop(c, OFP_CONN_RECEIVED, c->msg, h.len, c->snoop_aux);
    }
    *ret_header = h;
    return true;
}

/* Delivers what is whole, and the end when it is time. */
static void conn_run(struct ofp_conn *c)
{
    struct header h;
    if (c->running) {
        return;
    }
    enter(c);
    c->running = true;
    while (may_run(c) && take_message(c, &h)) {
        if (c->state == HELLO) {
            handle_first(c, &h, c->msg);
        } else {
            handle_message(c, &h, c->msg);
        }
    }
    c->running = false;
    if (may_run(c) && c->eof && !ofp_conn_backlog(c)) {
        bool within = evbuffer_get_length(stream_input(c->stream)) > 0;
        finish(c, 0, within ? "the peer closed the connection within a message" : "the peer closed the connection");
    }
    leave(c);
}

/* From the stream. */

static void on_connected(struct stream *s UNUSED, void *c_)
{
    struct ofp_conn *c = c_;
    uint8_t hello[OFP_HELLO_MAX];
    if (c->state != CONNECTING) {
        return; /* It was ended meanwhile. */
    }
    c->state = HELLO;
    stream_set_low_water(c->stream, max_output(c) / 2);
    sign_of_life(c);
    put(c, hello, ofp_hello_encode(c->config.versions, ofp_conn_next_xid(c), hello));
    set_timer(c, c->config.hello_msec ? c->config.hello_msec : OFP_CONN_HELLO_MSEC);
}

static void on_readable(struct stream *s, void *c_)
{
    struct ofp_conn *c = c_;
    if (c->state == ENDING) {
        evbuffer_drain(stream_input(s), SIZE_MAX);
    } else {
        conn_run(c);
    }
}

static void on_drained(struct stream *s UNUSED, void *c_)
{
    struct ofp_conn *c = c_;
    size_t backlog = ofp_conn_backlog(c);
    if (c->state == ENDING) {
        if (!backlog) {
            linger(c);
        }
        return;
    }
    enter(c);
    if ((c->full || c->wanted) && backlog <= max_output(c) / 2) {
        c->full = c->wanted = false;
        sign_of_life(c);
        update_reading(c);
        if (c->ops->room && c->state == READY) {
            c->ops->room(c, c->aux);
        }
    }
    if (!c->dead) {
        conn_run(c);
    }
    leave(c);
}

static void on_eof(struct stream *s UNUSED, void *c_)
{
    struct ofp_conn *c = c_;
    c->eof = true;
    if (c->state == ENDING) {
        finish(c, c->error, c->why);
    } else {
        conn_run(c);
    }
}

static void on_closed(struct stream *s UNUSED, int error, const char *why, void *c_)
{
    struct ofp_conn *c = c_;
    if (c->state == ENDING) {
        finish(c, c->error, c->why);
    } else if (c->eof && (error == -EPIPE || error == -ECONNRESET)) {
        finish(c, 0, "the peer closed the connection"); /* It did not wait for the answers. */
    } else {
        finish(c, error, why);
    }
}

static const struct stream_ops conn_stream_ops = {
    .connected = on_connected,
    .readable = on_readable,
    .drained = on_drained,
    .eof = on_eof,
    .closed = on_closed,
};

/* The timer. */

static void time_out(struct ofp_conn *c, const char *what, unsigned int msec)
{
    char *why = xasprintf("%s for %g s", what, msec / 1000.0);
    log_info_rl(10, "%s: closing the connection: %s", ofp_conn_name(c), why);
    finish(c, -ETIMEDOUT, why);
    free(why);
}

static void probe(struct ofp_conn *c)
{
    uint64_t now = clock_msec(), interval = c->config.probe_msec, written = stream_written(c->stream);
    if (c->holds || (c->full && written != c->written_before)) {
        sign_of_life(c);
    }
    c->written_before = written;
    uint64_t silence = now - MIN(now, c->last_life);
    if (silence < interval) {
        set_timer(c, interval - silence);
    } else if (c->idle) {
        time_out(c, c->full ? "the peer has not read" : "the peer has not answered an inactivity probe",
                 c->config.probe_msec);
    } else {
        c->idle = true;
        if (!c->full) {
            put_message(c, c->version, TYPE_ECHO_REQUEST, ofp_conn_next_xid(c), NULL, 0, NULL, 0);
        }
        set_timer(c, interval);
    }
}

static void timer_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *c_)
{
    struct ofp_conn *c = c_;
    switch (c->state) {
    case HELLO:
        time_out(c, "the peer has not said HELLO", c->config.hello_msec ? c->config.hello_msec : OFP_CONN_HELLO_MSEC);
        break;
    case READY:
        probe(c);
        break;
    case ENDING:
        finish(c, c->error, c->why);
        break;
    case CONNECTING:
    case CLOSED:
        break;
    }
}

/* See ofp-conn.h. */

struct ofp_conn *ofp_conn_create(struct event_base *base, struct stream *s, const struct ofp_conn_config *config,
                                 const struct ofp_conn_ops *ops, void *aux)
{
    struct ofp_conn *c = xzalloc(sizeof *c);
    *c = (struct ofp_conn){ .stream = s, .config = *config, .ops = ops, .aux = aux, .state = CONNECTING };
    c->timer = evtimer_new(base, timer_cb, c);
    if (!c->timer) {
        fatal(ENOMEM, "%s: cannot make a timer", stream_name(s));
    }
    stream_set_ops(s, &conn_stream_ops, c);
    return c;
}

void ofp_conn_set_ops(struct ofp_conn *c, const struct ofp_conn_ops *ops, void *aux)
{
    c->ops = ops;
    c->aux = aux;
}

void ofp_conn_set_snoop(struct ofp_conn *c, ofp_conn_snoop_cb *snoop, void *aux)
{
    c->snoop = snoop;
    c->snoop_aux = aux;
}

void ofp_conn_set_released(struct ofp_conn *c, void (*released)(struct ofp_conn *c, void *aux), void *aux)
{
    c->released = released;
    c->released_aux = aux;
}

void ofp_conn_destroy(struct ofp_conn *c)
{
    if (c && !c->dead) {
        enter(c);
        c->dead = true;
        if (c->released) {
            c->released(c, c->released_aux);
        }
        event_free(c->timer);
        stream_destroy(c->stream);
        c->stream = NULL;
        leave(c);
    }
}

bool ofp_conn_is_full(const struct ofp_conn *c) { return c->full; }
void ofp_conn_want_room(struct ofp_conn *c) { c->wanted = true; }

void ofp_conn_hold(struct ofp_conn *c)
{
    if (!c->holds++) {
        update_reading(c);
    }
}

void ofp_conn_release(struct ofp_conn *c)
{
    if (!--c->holds && !c->dead) {
        sign_of_life(c);
        update_reading(c);
        if (stream_is_connected(c->stream)) {
            conn_run(c);
        }
    }
}

const char *ofp_conn_name(const struct ofp_conn *c) { return stream_name(c->stream); }
uint8_t ofp_conn_version(const struct ofp_conn *c) { return c->version; }
bool ofp_conn_is_idle(const struct ofp_conn *c) { return c->idle; }
struct ofp_conn_counters ofp_conn_counters(const struct ofp_conn *c) { return c->counters; }
uint32_t ofp_conn_next_xid(struct ofp_conn *c) { return ++c->xid ? c->xid : ++c->xid; }

size_t ofp_conn_backlog(const struct ofp_conn *c)
{
    return c->dead || !stream_is_connected(c->stream) ? 0 : evbuffer_get_length(stream_output(c->stream));
}

void ofp_conn_set_probe(struct ofp_conn *c, unsigned int probe_msec)
{
    c->config.probe_msec = probe_msec;
    if (c->state == READY && probe_msec) {
        set_timer(c, probe_msec);
    } else if (c->state == READY) {
        event_del(c->timer);
        c->idle = false;
    }
}
