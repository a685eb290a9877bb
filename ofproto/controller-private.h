/* What controller.c, snoop.c, fail-mode.c and ofproto.c share. */
#ifndef OFPROTO_CONTROLLER_PRIVATE_H
#define OFPROTO_CONTROLLER_PRIVATE_H 1

#include "lib/ofp/ofp-listener.h"
#include "lib/ofp/ofp-rconn.h"
#include "ofproto/controller.h"

struct ofconn;

struct controller {
    struct ofproto *ofproto;
    char *target;
    struct controller_config config; /* Its 'target' is the one above. */
    uint32_t versions;               /* With which it was opened. */
    bool passive;
    bool listed;                   /* By the configuration that is being taken over. */
    struct ofp_rconn *rconn;       /* Active. */
    struct ofp_listener *listener; /* Passive; NULL: it could not be opened yet. */
    char *listen_error;            /* Why not, or NULL. */
    struct ofconn *conn;           /* Active, and connected. */
    uint64_t alone_since;          /* ms: a primary that is not connected: since when. */
};

/* controller.c */
void controllers_destroy(struct ofproto *o);
void controllers_tick(struct ofproto *o); /* Once a second. */
bool controllers_have_primary(const struct ofproto *o);
bool controller_is_connected(const struct controller *c);

/* snoop.c */
void snoop_accept(struct ofproto *o, struct ofp_conn *conn);
void snoop_forget(struct controller *c); /* Ends those who look on at it. */

/* fail-mode.c */
void fail_mode_set(struct ofproto *o, bool secure); /* Also when there are other controllers. */
void fail_mode_connected(struct ofproto *o);        /* A controller has connected. */
void fail_mode_tick(struct ofproto *o);

#endif
