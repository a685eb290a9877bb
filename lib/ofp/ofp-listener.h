/* A place where OpenFlow clients connect: BRIDGE.mgmt, BRIDGE.snoop, passive controllers.
 *
 * The listener keeps connections until they have agreed on a version; then they go to the owner.  At most 'max_conns'
 * exist, whoever keeps them: further clients wait in the backlog.  One that does not say HELLO is closed after
 * 'hello_msec'.
 *
 * Belongs to the thread of its event base. */
#ifndef OFP_LISTENER_H
#define OFP_LISTENER_H 1

#include <stdint.h>

#include "lib/base/compiler.h"
#include "lib/io/stream.h"
#include "lib/ofp/ofp-conn.h"

struct ofp_listener;

#define OFP_LISTENER_MAX_CONNS 64 /* Default. */

struct ofp_listener_config {
    unsigned int max_conns; /* 0: the default. */
    struct stream_options stream;
    struct ofp_conn_config conn;
};

/* C, which is ready, is the callee's now: he calls ofp_conn_set_ops() or ofp_conn_destroy().  He may keep it longer
 * than the listener. */
typedef void ofp_listener_accepted_cb(struct ofp_listener *l, struct ofp_conn *c, void *aux);

/* Listens at NAME, a passive name as in stream-name.h.  Returns NULL and *RET_LISTENER, or an error in words, to be
 * freed. */
char *ofp_listener_open(struct event_base *base, const char *name, const struct ofp_listener_config *config,
                        ofp_listener_accepted_cb *accepted, void *aux,
                        struct ofp_listener **ret_listener) WARN_UNUSED_RESULT;
/* Closes the connections that are not ready too.  Accepts NULL. */
void ofp_listener_destroy(struct ofp_listener *l);
/* Other settings for the connections to come. */
void ofp_listener_set_conn(struct ofp_listener *l, const struct ofp_conn_config *conn);

const char *ofp_listener_name(const struct ofp_listener *l);
uint16_t ofp_listener_port(const struct ofp_listener *l);        /* Of TCP, as bound; 0 for a unix socket. */
unsigned int ofp_listener_n_conns(const struct ofp_listener *l); /* Of its connections that exist. */

#endif
