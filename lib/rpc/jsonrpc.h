/* A stream of JSON objects over a socket: the transport of JSON-RPC, for the database and the control socket.
 *
 * Belongs to the thread whose event base it was created with, and runs in it; no other thread may call it. */
#ifndef RPC_JSONRPC_H
#define RPC_JSONRPC_H 1

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bufferevent;
struct event_base;
struct jsonrpc;

struct jsonrpc_ops {
    /* MSG, an object, arrived.  It is borrowed. */
    void (*message)(struct jsonrpc *rpc, json_t *msg, void *aux);
    /* The stream is over, because of ERROR: 0 when the peer ended it in order, -EPROTO when it sent something that is
     * no JSON object, else -errno.  Called once, last.  The owner has still to destroy RPC. */
    void (*closed)(struct jsonrpc *rpc, int error, void *aux);
};

struct jsonrpc_limits {
    size_t max_message;         /* Bytes of one message. */
    unsigned int max_depth;     /* Of objects and arrays in one another. */
    unsigned int write_timeout; /* Seconds for which the peer may read nothing while there is something to write. */
};

/* Takes over FD, a connected socket.  NAME is what log lines call it.  OPS and LIMITS stay the caller's, unchanged,
 * until jsonrpc_destroy(). */
struct jsonrpc *jsonrpc_create(struct event_base *base, int fd, const char *name, const struct jsonrpc_ops *ops,
                               const struct jsonrpc_limits *limits, void *aux);
/* The same over BEV, which is connected, may be TLS's, and closes its socket when it is freed. */
struct jsonrpc *jsonrpc_create_over(struct bufferevent *bev, const char *name, const struct jsonrpc_ops *ops,
                                    const struct jsonrpc_limits *limits, void *aux);
/* Closes at once; what was not written is lost.  May be called from the callbacks.  Accepts NULL. */
void jsonrpc_destroy(struct jsonrpc *rpc);

/* Sends MSG, whose reference it takes.  Never fails here: an error of the socket is reported to 'closed'. */
void jsonrpc_send(struct jsonrpc *rpc, json_t *msg);
/* While paused, no message is delivered, nor the peer's orderly end. */
void jsonrpc_pause(struct jsonrpc *rpc);
/* May deliver messages before it returns. */
void jsonrpc_resume(struct jsonrpc *rpc);

const char *jsonrpc_name(const struct jsonrpc *rpc);
uint64_t jsonrpc_received(const struct jsonrpc *rpc); /* Bytes, ever. */
size_t jsonrpc_backlog(const struct jsonrpc *rpc);    /* Bytes not written yet. */

/* S as a JSON string.  What is not UTF-8 in it (a device may have any name) becomes U+FFFD. */
json_t *jsonrpc_string(const char *s);

#endif
