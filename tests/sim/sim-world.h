/* A small network on the simulated datapath, driven step by step in one thread by a seed.
 *
 *     host 0..H-1, each behind one of P ports, ports in V VLANs (access), one bridge
 *
 *       h0  h3   h1  h4   h2 …
 *        \  /     \  /     |
 *         p0       p1      p2 …       all in bridge br0; VLAN of port i: 10 + i % V
 *
 * Handlers and revalidators are the real ones, without their threads: world_step() runs one pass of one of them, or
 * changes something, as the seed says.  Packets carry a number, so that every frame that leaves can be held against the one
 * that came in. */
#ifndef TESTS_SIM_SIM_WORLD_H
#define TESTS_SIM_SIM_WORLD_H 1

#include "lib/dpif/dispatch.h"
#include "lib/dpif/dpif-sim.h"
#include "ofproto/crew.h"
#include "ofproto/flowcache.h"
#include "ofproto/handler.h"
#include "ofproto/odp-numbers.h"
#include "ofproto/port-ledger.h"
#include "ofproto/revalidators.h"

struct flow;
struct mac_table;

#define WORLD_MAX_PORTS 64
#define WORLD_MAX_HOSTS 64
#define WORLD_MAX_PACKETS 20000

struct world_packet {
    unsigned int src, dst; /* Hosts; dst n_hosts: broadcast. */
    unsigned int in_port;  /* Index of the port. */
    odp_port_t in_odp;     /* Its number then. */
    uint64_t out;          /* Bit i: left by port i. */
    uint64_t expected;     /* By which it had to leave, as the tables were when a flow or a handler decided. */
    unsigned int n_handled; /* By handlers. */
    bool queued;           /* No flow matched: it went to a handler. */
    bool to_be_lost;       /* Its port was gone from the configuration when a handler came to it. */
    bool misled;           /* A flow that was held to be right sent it elsewhere. */
    bool doubled;          /* Left by a port twice. */
    bool strayed;          /* Left by a port of another VLAN, or by that it came in at, or by one that is no more. */
};

struct world {
    uint64_t seed, random; /* State of the generator. */
    struct dpif *dpif;
    struct dpif_session *session;
    struct flowcache fc;
    struct dispatch *dispatch;
    struct crew *crew;
    struct handler *handlers[DISPATCH_MAX_HANDLERS];
    unsigned int n_handlers;
    struct revalidators *revalidators;
    struct handler_stats total;
    struct port_ledger total_ports;
    bool port_went; /* Any, ever: what was counted of it went too. */
    struct mac_table *macs;
    struct odp_numbers numbers;
    unsigned int n_ports, n_hosts, n_vlans, n_cpus;
    odp_port_t odp[WORLD_MAX_PORTS]; /* ODPP_NONE: not there now. */
    bool vanished[WORLD_MAX_PORTS];  /* The device went, and we have not yet heard of it. */
    uint32_t bundle[WORLD_MAX_PORTS];
    uint32_t next_bundle;
    unsigned int host_port[WORLD_MAX_HOSTS];
    uint64_t now;
    bool kicked;
    bool in_order; /* Packets between two hosts must be handled in the order in which they were sent. */
    unsigned int last_handled[WORLD_MAX_HOSTS][WORLD_MAX_HOSTS + 1];
    unsigned int n_packets;
    struct world_packet packets[WORLD_MAX_PACKETS];
};

struct world_setup {
    enum dpif_dispatch mode;
    unsigned int n_handlers, n_ports, n_hosts, n_vlans, n_cpus;
};

struct world *world_create(uint64_t seed, const struct world_setup *setup);
void world_destroy(struct world *w);

unsigned int world_random(struct world *w, unsigned int n); /* 0..n-1. */

/* Host SRC sends to host DST (n_hosts: to all). */
void world_send(struct world *w, unsigned int src, unsigned int dst);
/* Runs handler H once, without waiting. */
void world_run_handler(struct world *w, unsigned int h);
/* Runs all handlers until none has anything to do. */
void world_drain(struct world *w);
/* Changes the number of handlers. */
void world_resize(struct world *w, unsigned int n);
/* Puts dispatch of MODE in the place of the one there is. */
void world_switch(struct world *w, enum dpif_dispatch mode);
/* Moves HOST behind PORT; no packet is sent. */
void world_move_host(struct world *w, unsigned int host, unsigned int port);
void world_port_del(struct world *w, unsigned int port);
void world_port_add(struct world *w, unsigned int port);
/* The device of PORT disappears; we hear of it in world_poll_ports(). */
void world_port_vanish(struct world *w, unsigned int port);
void world_poll_ports(struct world *w);
/* The daemon ends, and another one, which knows nothing (KEEP_MACS: but where the hosts are), takes the datapath over as it is. */
void world_restart(struct world *w, enum dpif_dispatch mode, bool keep_macs);
/* No fault from now on. */
void world_heal(struct world *w);
void world_advance(struct world *w, unsigned int msec);

/* Ports by which a frame from SRC at IN_PORT to DST has to leave, as the tables are now: bit i stands for port i. */
uint64_t world_expected(const struct world *w, unsigned int src, unsigned int dst, unsigned int in_port);
/* Is there a flow for PACKET that we hold to be right, and to be in the datapath? */
bool world_has_right_flow(struct world *w, const struct flow *packet);

/* Hears of ports that went, drains, lets the revalidators run until nothing asks for another round, and then checks what must hold
 * at rest:
 *  - each packet has left by the ports by which the tables, as they were when it was decided on, say; none twice, none elsewhere.
 *    Excepted are those whose port was deleted while they were queued, and those that were sent by a flow that was known to be
 *    out of date;
 *  - each packet that no flow matched has been handled, once, or was dropped while it waited because its port was deleted;
 *  - if 'in_order', by whomever they were handled, packets between two hosts were handled in order;
 *  - each flow in the datapath is what a fresh translation says; there is a ukey for each flow and a flow for each ukey. */
void world_check_at_rest(struct world *w);

#endif
