/* One OpenFlow connection over a stream: framing, negotiation of the version, echoes, and bounds for a slow peer.
 *
 *   CONNECTING --> HELLO --versions agree--> READY --> ENDING (what is written goes out, at most a second) --> CLOSED
 *
 * What the connection does by itself: HELLO, answers to ECHO_REQUEST, probes of a peer that is silent, errors for what
 * is no message.  All other messages go to the owner, one at a time, whole and in the version agreed on.
 *
 * Memory.  Output that the peer has not read is bounded by 'max_output' plus the answer to one request, if the owner
 * gives large answers in pieces: at the bound no further request is read until half of it is gone, and asynchronous
 * messages are dropped and counted.  Such an answer goes thus: hold the connection, send until ofp_conn_is_full(), go
 * on in 'room', and release it at the end; so answers keep the order of the requests.
 *
 * Belongs to the thread of its stream.  No callback is called from within a function that the owner called, but
 * ofp_conn_release() may deliver messages before it returns; from within any callback the owner may call anything. */
#ifndef OFP_CONN_H
#define OFP_CONN_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct ofp_conn;
struct stream;

#define OFP_CONN_MAX_OUTPUT (1024 * 1024) /* Default of 'max_output'. */
#define OFP_CONN_HELLO_MSEC 10000         /* Default of 'hello_msec'. */

struct ofp_conn_config {
    uint32_t versions;       /* Those allowed: bit N for version N of the header.  Not empty. */
    unsigned int probe_msec; /* Silence after which the peer is probed, and closed after as much again; 0: never. */
    unsigned int hello_msec; /* Within which the peer has to say HELLO; 0: the default. */
    size_t max_output;       /* Bytes; 0: the default. */
};

struct ofp_conn_ops {
    /* The version is agreed on: messages may be sent.  May be NULL. */
    void (*negotiated)(struct ofp_conn *c, void *aux);
    /* A message of LEN bytes, 8 at least, as its header says, aligned to 8 bytes.  Borrowed until the callback returns.
     */
    void (*message)(struct ofp_conn *c, const void *msg, size_t len, void *aux);
    /* The connection was full, or room was wanted, and half of 'max_output' is free again.  May be NULL. */
    void (*room)(struct ofp_conn *c, void *aux);
    /* It is over: last callback, once.  ERROR is 0 when the peer ended it in order, else -errno: -EPROTO, it did not
     * speak OpenFlow as it ought to, -ETIMEDOUT, or of the stream.  WHY says it in words, and is borrowed.  The owner
     * has still to destroy C. */
    void (*closed)(struct ofp_conn *c, int error, const char *why, void *aux);
};

struct ofp_conn_counters {
    uint64_t received, sent; /* Messages, with HELLOs and echoes. */
    uint64_t dropped;        /* Asynchronous messages for which there was no room. */
    uint64_t stalls;         /* How often reading stopped because the peer did not read. */
};

enum ofp_conn_dir { OFP_CONN_RECEIVED, OFP_CONN_SENT };
typedef void ofp_conn_snoop_cb(struct ofp_conn *c, enum ofp_conn_dir dir, const void *msg, size_t len, void *aux);

enum ofp_conn_kind { OFP_CONN_REPLY, OFP_CONN_ASYNC };

/* Takes over S, which may still be connecting.  OPS stays the caller's and unchanged. */
struct ofp_conn *ofp_conn_create(struct event_base *base, struct stream *s, const struct ofp_conn_config *config,
                                 const struct ofp_conn_ops *ops, void *aux);
void ofp_conn_set_ops(struct ofp_conn *c, const struct ofp_conn_ops *ops, void *aux);
/* SNOOP, or with NULL nobody, gets every message of both directions: those that come before they are handled, those
 * that go when they are queued.  It must not destroy C. */
void ofp_conn_set_snoop(struct ofp_conn *c, ofp_conn_snoop_cb *snoop, void *aux);
/* RELEASED is called when C is destroyed. */
void ofp_conn_set_released(struct ofp_conn *c, void (*released)(struct ofp_conn *c, void *aux), void *aux);
/* Closes at once; what was not written is lost.  Accepts NULL. */
void ofp_conn_destroy(struct ofp_conn *c);
/* Ends it in order: delivers nothing more, lets the peer read what is written, at most a second, and calls 'closed'
 * with ERROR and WHY. */
void ofp_conn_end(struct ofp_conn *c, int error, const char *why);

/* Queues the LEN bytes at MSGS, one or more whole messages back to back.  Returns 0; -ENOBUFS: asynchronous ones that
 * were dropped; -ENOTCONN: there is no version yet, or the connection is ending; -EINVAL: the lengths in the headers do
 * not fit. */
int ofp_conn_send(struct ofp_conn *c, const void *msgs, size_t len, enum ofp_conn_kind kind);
bool ofp_conn_is_full(const struct ofp_conn *c);
/* Has 'room' called, once, when some of the output has been written and half of 'max_output' is free, full or not before.  There must be output. */
void ofp_conn_want_room(struct ofp_conn *c);
/* While held (counted), no message is delivered, nor read beyond a few. */
void ofp_conn_hold(struct ofp_conn *c);
void ofp_conn_release(struct ofp_conn *c);

const char *ofp_conn_name(const struct ofp_conn *c);
uint8_t ofp_conn_version(const struct ofp_conn *c); /* 0: none yet. */
bool ofp_conn_is_idle(const struct ofp_conn *c);    /* A probe waits for its answer. */
size_t ofp_conn_backlog(const struct ofp_conn *c);  /* Bytes that the peer has not taken. */
struct ofp_conn_counters ofp_conn_counters(const struct ofp_conn *c);
uint32_t ofp_conn_next_xid(struct ofp_conn *c); /* A transaction id for a message of ours, in host order, never 0. */
void ofp_conn_set_probe(struct ofp_conn *c, unsigned int probe_msec);

#endif
