/* A connection that is made again.
 *
 * One timer, one connection at most.  An attempt is a stream and a connection over it from the beginning; it ends by
 * 'negotiated' or by 'closed', for the stream limits the time for connecting and the connection that for HELLO.  All
 * failures and losses come to end_attempt(), which plans the next.
 *
 * A stream that ends with -EAGAIN has fetched the CA's certificate (tls.h): the next attempt comes without a pause, but
 * only once in a row. */
#include <config.h>

#include "lib/ofp/ofp-rconn.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream-name.h"

LOG_MODULE(rconn);

struct ofp_rconn {
    struct event_base *base;
    char *target;
    struct ofp_rconn_config config;
    const struct ofp_rconn_ops *ops;
    void *aux;
    ofp_conn_snoop_cb *snoop;
    void *snoop_aux;

    enum ofp_rconn_state state; /* ACTIVE also when IDLE. */
    struct ofp_conn *conn;      /* CONNECTING, ACTIVE. */
    struct event *timer;        /* BACKOFF. */
    unsigned int backoff;       /* ms. */
    unsigned int attempts;
    bool again; /* The last attempt ended with -EAGAIN. */

    bool connected_ever, disconnected_ever;
    uint64_t connected_at, disconnected_at; /* ms. */
    char *last_error;

    bool dead;
    int busy;
};

static const char *const state_names[] = {
#define OFP_RCONN_STATE_NAME(NAME) [OFP_RCONN_##NAME] = #NAME,
    OFP_RCONN_STATES(OFP_RCONN_STATE_NAME)
#undef OFP_RCONN_STATE_NAME
};

const char *ofp_rconn_state_name(enum ofp_rconn_state state) { return state_names[state]; }

static void enter(struct ofp_rconn *r) { r->busy++; }

static void leave(struct ofp_rconn *r)
{
    if (!--r->busy && r->dead) {
        free(r->target);
        free(r->last_error);
        free(r);
    }
}

static unsigned int min_backoff(const struct ofp_rconn *r)
{
    return r->config.min_backoff_msec ? r->config.min_backoff_msec : OFP_RCONN_MIN_BACKOFF_MSEC;
}

static unsigned int max_backoff(const struct ofp_rconn *r)
{
    unsigned int max = r->config.max_backoff_msec ? r->config.max_backoff_msec : OFP_RCONN_MAX_BACKOFF_MSEC;
    return MAX(max, min_backoff(r));
}

static void set_last_error(struct ofp_rconn *r, const char *why)
{
    char *copy = xstrdup(why); /* WHY may be in it. */
    free(r->last_error);
    r->last_error = copy;
}

static void plan_attempt(struct ofp_rconn *r, unsigned int msec)
{
    struct timeval tv = { .tv_sec = msec / 1000, .tv_usec = msec % 1000 * 1000 };
    r->state = OFP_RCONN_BACKOFF;
    evtimer_add(r->timer, &tv);
}

/* The pause after a connection that has lasted LASTED ms, 0 for none. */
static void next_backoff(struct ofp_rconn *r, uint64_t lasted)
{
    if (!r->backoff || lasted > r->backoff) {
        r->backoff = min_backoff(r);
    } else {
        r->backoff = r->backoff > max_backoff(r) / 2 ? max_backoff(r) : r->backoff * 2;
    }
}

/* The attempt has failed, or the connection is lost, with ERROR, because of WHY. */
static void end_attempt(struct ofp_rconn *r, int error, const char *why)
{
    bool was_active = r->state == OFP_RCONN_ACTIVE;
    uint64_t now = clock_msec();
    ofp_conn_destroy(r->conn);
    r->conn = NULL;
    set_last_error(r, why);
    if (was_active) {
        r->disconnected_ever = true;
        r->disconnected_at = now;
        log_info("%s: connection ended: %s", r->target, why);
    } else {
        log_info_rl(10, "%s: connection attempt failed: %s", r->target, why);
    }
    if (error == -EAGAIN && !r->again) {
        r->again = true;
        plan_attempt(r, 0);
    } else {
        r->again = false;
        next_backoff(r, was_active ? now - MIN(now, r->connected_at) : 0);
        plan_attempt(r, r->backoff);
    }
    if (was_active) {
        enter(r);
        r->ops->disconnected(r, r->last_error, r->aux);
        leave(r);
    }
}

/* From the connection. */

static void on_negotiated(struct ofp_conn *c, void *r_)
{
    struct ofp_rconn *r = r_;
    r->state = OFP_RCONN_ACTIVE;
    r->connected_ever = true;
    r->connected_at = clock_msec();
    r->again = false;
    log_info("%s: connected", r->target);
    enter(r);
    r->ops->connected(r, c, r->aux);
    leave(r);
}

static void on_message(struct ofp_conn *c, const void *msg, size_t len, void *r_)
{
    struct ofp_rconn *r = r_;
    enter(r);
    r->ops->message(r, c, msg, len, r->aux);
    leave(r);
}

static void on_room(struct ofp_conn *c, void *r_)
{
    struct ofp_rconn *r = r_;
    if (r->ops->room) {
        enter(r);
        r->ops->room(r, c, r->aux);
        leave(r);
    }
}

static void on_closed(struct ofp_conn *c UNUSED, int error, const char *why, void *r_) { end_attempt(r_, error, why); }

static const struct ofp_conn_ops rconn_conn_ops = {
    .negotiated = on_negotiated,
    .message = on_message,
    .room = on_room,
    .closed = on_closed,
};

static void ignore(struct stream *s UNUSED, void *aux UNUSED) {}
static void ignore_closed(struct stream *s UNUSED, int error UNUSED, const char *why UNUSED, void *aux UNUSED) {}
/* For the moment until the connection has taken the stream over. */
static const struct stream_ops no_ops = {
    .readable = ignore, .drained = ignore, .eof = ignore, .closed = ignore_closed
};

static void timer_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *r_)
{
    struct ofp_rconn *r = r_;
    struct stream *s;
    r->state = OFP_RCONN_CONNECTING;
    r->attempts++;
    log_dbg("%s: connecting...", r->target);
    char *why = stream_open(r->base, r->target, &r->config.stream, &no_ops, NULL, &s);
    if (why) {
        end_attempt(r, -EIO, why);
        free(why);
        return;
    }
    r->conn = ofp_conn_create(r->base, s, &r->config.conn, &rconn_conn_ops, r);
    ofp_conn_set_snoop(r->conn, r->snoop, r->snoop_aux);
}

/* See ofp-rconn.h. */

struct ofp_rconn *ofp_rconn_create(struct event_base *base, const char *target, const struct ofp_rconn_config *config,
                                   const struct ofp_rconn_ops *ops, void *aux)
{
    struct ofp_rconn *r = xzalloc(sizeof *r);
    *r = (struct ofp_rconn){ .base = base, .target = xstrdup(target), .config = *config, .ops = ops, .aux = aux };
    r->timer = evtimer_new(base, timer_cb, r);
    if (!r->timer) {
        fatal(ENOMEM, "%s: cannot make a timer", target);
    }
    struct stream_name n;
    char *why = stream_name_parse(target, &n);
    if (!why) {
        bool passive = n.passive;
        stream_name_uninit(&n);
        why = passive ? xasprintf("%s: this is to listen at, where unix:, tcp: or ssl: is needed to connect", target)
                      : NULL;
    }
    if (why) {
        r->state = OFP_RCONN_VOID;
        log_warn("cannot connect to a controller: %s", why);
        r->last_error = why;
    } else {
        plan_attempt(r, 0);
    }
    return r;
}

void ofp_rconn_destroy(struct ofp_rconn *r)
{
    if (r && !r->dead) {
        enter(r);
        r->dead = true;
        ofp_conn_destroy(r->conn);
        r->conn = NULL;
        event_free(r->timer);
        leave(r);
    }
}

void ofp_rconn_configure(struct ofp_rconn *r, const struct ofp_rconn_config *config)
{
    bool other_probe = r->config.conn.probe_msec != config->conn.probe_msec;
    r->config = *config;
    if (r->conn && other_probe) {
        ofp_conn_set_probe(r->conn, config->conn.probe_msec);
    }
    if (r->state == OFP_RCONN_BACKOFF && r->backoff > max_backoff(r)) {
        r->backoff = max_backoff(r);
        plan_attempt(r, r->backoff);
    }
}

void ofp_rconn_reconnect(struct ofp_rconn *r, const char *why)
{
    if (r->conn) {
        ofp_conn_end(r->conn, -ECONNABORTED, why);
    }
}

void ofp_rconn_set_snoop(struct ofp_rconn *r, ofp_conn_snoop_cb *snoop, void *aux)
{
    r->snoop = snoop;
    r->snoop_aux = aux;
    if (r->conn) {
        ofp_conn_set_snoop(r->conn, snoop, aux);
    }
}

const char *ofp_rconn_target(const struct ofp_rconn *r) { return r->target; }

struct ofp_conn *ofp_rconn_conn(const struct ofp_rconn *r) { return r->state == OFP_RCONN_ACTIVE ? r->conn : NULL; }

struct ofp_rconn_status ofp_rconn_status(const struct ofp_rconn *r)
{
    uint64_t now = clock_msec();
    bool idle = r->state == OFP_RCONN_ACTIVE && r->conn && ofp_conn_is_idle(r->conn);
    return (struct ofp_rconn_status){
        .state = idle ? OFP_RCONN_IDLE : r->state,
        .connected_ever = r->connected_ever,
        .disconnected_ever = r->disconnected_ever,
        .msec_since_connect = r->connected_ever ? now - MIN(now, r->connected_at) : 0,
        .msec_since_disconnect = r->disconnected_ever ? now - MIN(now, r->disconnected_at) : 0,
        .backoff_msec = r->backoff,
        .attempts = r->attempts,
        .last_error = r->last_error,
        .counters = r->conn ? ofp_conn_counters(r->conn) : (struct ofp_conn_counters){ 0 },
    };
}

static void put_seconds(const char *key, uint64_t seconds, void (*put)(const char *key, const char *value, void *aux),
                        void *aux)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, seconds);
    put(key, text, aux);
}

void ofp_rconn_put_status(const struct ofp_rconn *r, void (*put)(const char *key, const char *value, void *aux),
                          void *aux)
{
    struct ofp_rconn_status s = ofp_rconn_status(r);
    if (s.last_error) {
        put("last_error", s.last_error, aux);
    }
    if (s.connected_ever) {
        put_seconds("sec_since_connect", s.msec_since_connect / 1000, put, aux);
    }
    if (s.disconnected_ever) {
        /* At least 1, as the column is documented. */
        put_seconds("sec_since_disconnect", MAX(1, s.msec_since_disconnect / 1000), put, aux);
    }
    put("state", ofp_rconn_state_name(s.state), aux);
}
