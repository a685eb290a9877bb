/* A bridge's OpenFlow side: its tables, its ports as controllers see them, and who is connected.
 *
 *     connections (lib/ofp/ofp-conn.h) ──► ofconn ──► ofproto-*.c: one function a message ──► tables ◄── translation
 *
 * All of it is main's, but for the tables, which translations read (tables.h).  A request is carried out when it arrives, so a
 * connection's requests take effect in their order, and a barrier has nothing to wait for; what is long to tell is told in
 * pieces, as fast as its reader reads, and meanwhile that connection's next requests wait. */
#ifndef OFPROTO_OFPROTO_H
#define OFPROTO_OFPROTO_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ofp/ofp-msg-port.h"

struct engine_packet_out;
struct event_base;
struct ofproto;
struct pin;
struct tables;

struct ofproto_ops {
    /* The tables have changed: flows in the datapath are to be translated again. */
    void (*changed)(void *aux);
    /* What has passed port PORT_NO; fields that are unknown are all ones.  Returns false if there is none. */
    bool (*port_stats)(ofp_port_t port_no, struct ofp_port_stats *ret_stats, void *aux);
    /* A controller has connected, or its connection is gone.  May be NULL. */
    void (*controllers_changed)(void *aux);
    /* Has the bridge do PO->acts with a packet.  0 or -errno. */
    int (*packet_out)(const struct engine_packet_out *po, void *aux);
    /* What controllers have configured of ports (ofproto_port_config()) has changed: to be told to translation. */
    void (*port_config_changed)(void *aux);
    /* Sets the device of port PORT_NO up or down.  0 or -errno. */
    int (*port_set_up)(ofp_port_t port_no, bool up, void *aux);
};

/* OPS stays the caller's, unchanged.  Nothing listens yet. */
struct ofproto *ofproto_create(struct event_base *base, const char *name, const struct ofproto_ops *ops, void *aux);
void ofproto_destroy(struct ofproto *o); /* Accepts NULL. */

/* By which packets for its controllers name it (struct xbridge, 'id'): never 0, and of no other bridge, nor of one of a predecessor's whose flows may
 * still be there. */
uint32_t ofproto_id(const struct ofproto *o);
/* Tells P to those of its bridge's controllers who want it.  P stays the caller's. */
void ofproto_packet_in(struct pin *p);

struct tables *ofproto_tables(struct ofproto *o);

void ofproto_set_datapath_id(struct ofproto *o, uint64_t id);
/* Does translation depend on which ports are live? */
bool ofproto_watches_ports(const struct ofproto *o);
/* The ports that there are now: controllers are told what has changed. */
void ofproto_set_ports(struct ofproto *o, const struct ofp_port *ports, size_t n);
/* How port PORT_NO is to be treated: OFPPC_* but for PORT_DOWN, which is the device's.  A port keeps it as long as it is there. */
uint32_t ofproto_port_config(const struct ofproto *o, ofp_port_t port_no);
/* Versions that may be spoken, bit N for version byte N. */
#define OFPROTO_VERSIONS (1u << OFP10_VERSION | 1u << OFP13_VERSION | 1u << OFP14_VERSION | 1u << OFP15_VERSION)
/* Opens RUNDIR/NAME.mgmt, for ovs-ofctl, and NAME.snoop, unless they are open.  A failure is logged, and tried again. */
void ofproto_listen(struct ofproto *o);
/* Clients of all bridges.  Any thread. */
size_t ofproto_n_conns(void);
/* What the Flow_Table table says of table ID, below 254; all zero: nothing. */
struct ofproto_table_config {
    const char *name; /* NULL: none. */
    bool limited;     /* 'flow_limit' counts. */
    uint32_t flow_limit;
    bool evicts; /* A rule that is too many takes another one's place; else it is refused. */
    const char *const *groups;
    size_t n_groups;
};
void ofproto_configure_table(struct ofproto *o, uint8_t id, const struct ofproto_table_config *c);
/* Once a second: rules whose time is over leave, and what could not be opened is tried again. */
void ofproto_tick(struct ofproto *o);

#endif
