/* The controllers of a bridge: those that it connects to, those that may connect to it, and who looks on.
 *
 *     row of the Controller table ──► struct controller ──► ofp_rconn, one connection at a time ──────► ofconn
 *                                                     └──► ofp_listener, any number of connections ──► ofconns
 *
 * A controller is known by its target.  As long as target, kind, versions, DSCP and TLS stay, its connections go on
 * whatever else of the configuration changes.
 *
 * A primary controller has charge of the bridge: it is told of what happens without having asked, and the bridge's own
 * forwarding (fail-mode.h) depends on whether there is one and whether it can be reached.  A service controller is as
 * ovs-ofctl is: it asks.
 *
 * BRIDGE.snoop: who connects there is sent each message that one primary controller sends or is sent, chosen then:
 * the master, or else one that is no slave, or else any.  A client that does not read loses messages, not the bridge
 * memory.  It ends with the controller's configuration, not with its connection.
 *
 * Main only. */
#ifndef OFPROTO_CONTROLLER_H
#define OFPROTO_CONTROLLER_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ofproto;
struct tls;

#define CONTROLLER_PROBE_MSEC 5000 /* Defaults, as ovs-vswitchd.conf.db(5) has them. */
#define CONTROLLER_QUEUE_SIZE 0 /* Not said: ofconn-rate.c knows. */
#define CONTROLLER_DSCP       48

/* What packet-ins it may be sent. */
struct controller_limits {
    unsigned int queue_size; /* Packets that wait while there is no rate; 0: not said. */
    unsigned int rate;       /* Packets a second; 0: no limit. */
    unsigned int burst;      /* At once. */
};

struct controller_config {
    const char *target;            /* As in stream-name.h. */
    bool service;                  /* Not primary. */
    bool async;                    /* Whether it is told of what happens before it has asked for it. */
    unsigned int max_backoff_msec; /* 0: the default. */
    unsigned int probe_msec;       /* 0: none. */
    int dscp;                      /* 0 to 63. */
    struct controller_limits limits;
};

/* What a controller is to the user. */
struct controller_status {
    bool connected;
    const char *role; /* "master", "other", "slave"; NULL: it is not connected. */
};

struct control_config {
    bool secure;       /* fail_mode. */
    uint32_t versions; /* Bit N: version byte N may be spoken; not empty. */
    struct tls *tls;   /* May be NULL; outlives the bridge. */
    const struct controller_config *controllers;
    size_t n; /* With different targets. */
};
/* How the bridge is to be controlled from now on; CONFIG is copied. */
void ofproto_set_control(struct ofproto *o, const struct control_config *config);

/* Of the one with TARGET.  PUT is called for each key and value of its status.  Returns false if there is none. */
bool ofproto_controller_status(const struct ofproto *o, const char *target, struct controller_status *ret,
                               void (*put)(const char *key, const char *value, void *aux), void *aux);

#endif
