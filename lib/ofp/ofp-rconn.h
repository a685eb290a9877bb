/* An OpenFlow connection that we make, and make again: a controller, as a row of the Controller table has it.
 *
 *   BACKOFF --time is up--> CONNECTING --version agreed on--> ACTIVE <--> IDLE (a probe waits for its answer)
 *      ^                        |                                |
 *      '------- failed ---------'-------------- lost ------------'        VOID: the target is no name to connect to
 *
 * The pause before an attempt begins at 'min_backoff_msec' and doubles up to 'max_backoff_msec'; it begins anew after a
 * connection that has lasted longer than the pause before it.
 *
 * Belongs to the thread of its event base.  No callback is called from within a function that the owner called, but
 * ofp_conn_release(); from within any the owner may call anything. */
#ifndef OFP_RCONN_H
#define OFP_RCONN_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/io/stream.h"
#include "lib/ofp/ofp-conn.h"

struct ofp_rconn;

/* The names go to the database. */
#define OFP_RCONN_STATES(STATE) STATE(VOID) STATE(BACKOFF) STATE(CONNECTING) STATE(ACTIVE) STATE(IDLE)
enum ofp_rconn_state {
#define OFP_RCONN_STATE_ENUM(NAME) OFP_RCONN_##NAME,
    OFP_RCONN_STATES(OFP_RCONN_STATE_ENUM)
#undef OFP_RCONN_STATE_ENUM
};
const char *ofp_rconn_state_name(enum ofp_rconn_state state);

#define OFP_RCONN_MIN_BACKOFF_MSEC 1000 /* Defaults. */
#define OFP_RCONN_MAX_BACKOFF_MSEC 8000

struct ofp_rconn_config {
    unsigned int min_backoff_msec, max_backoff_msec; /* 0: the default. */
    struct stream_options stream;
    struct ofp_conn_config conn;
};

struct ofp_rconn_ops {
    /* C is ready, and may be used until 'disconnected'.  It must not be given other callbacks, nor destroyed. */
    void (*connected)(struct ofp_rconn *r, struct ofp_conn *c, void *aux);
    void (*message)(struct ofp_rconn *r, struct ofp_conn *c, const void *msg, size_t len, void *aux);
    void (*room)(struct ofp_rconn *r, struct ofp_conn *c, void *aux);      /* May be NULL. */
    void (*disconnected)(struct ofp_rconn *r, const char *why, void *aux); /* After each 'connected'. */
};

struct ofp_rconn_status {
    enum ofp_rconn_state state;
    bool connected_ever, disconnected_ever;
    uint64_t msec_since_connect, msec_since_disconnect; /* Of the last time. */
    unsigned int backoff_msec;                          /* The pause now, or before the attempt that led to here. */
    unsigned int attempts;
    const char *last_error;            /* NULL: none; borrowed until R's next callback. */
    struct ofp_conn_counters counters; /* Of the connection now; else zero. */
};

/* Begins to connect to TARGET, at once.  A TARGET that is no active name as in stream-name.h is state VOID.  OPS stays
 * the caller's and unchanged. */
struct ofp_rconn *ofp_rconn_create(struct event_base *base, const char *target, const struct ofp_rconn_config *config,
                                   const struct ofp_rconn_ops *ops, void *aux);
void ofp_rconn_destroy(struct ofp_rconn *r); /* Without 'disconnected'.  Accepts NULL. */
/* Other limits, from now on; other versions, and other options of the stream, from the next connection on. */
void ofp_rconn_configure(struct ofp_rconn *r, const struct ofp_rconn_config *config);
/* Gives up the connection because of WHY, and connects again after the pause. */
void ofp_rconn_reconnect(struct ofp_rconn *r, const char *why);
/* Has SNOOP see every message of this and all later connections. */
void ofp_rconn_set_snoop(struct ofp_rconn *r, ofp_conn_snoop_cb *snoop, void *aux);

const char *ofp_rconn_target(const struct ofp_rconn *r);
struct ofp_conn *ofp_rconn_conn(const struct ofp_rconn *r); /* NULL: not connected. */
struct ofp_rconn_status ofp_rconn_status(const struct ofp_rconn *r);
/* Calls PUT for each key and value of the Controller table's column 'status': state, last_error, sec_since_connect,
 * sec_since_disconnect, those that there are. */
void ofp_rconn_put_status(const struct ofp_rconn *r, void (*put)(const char *key, const char *value, void *aux),
                          void *aux);

#endif
