/* A large network on the simulated datapath: ten thousand ports and a machine of 128 CPUs on four nodes, driven step by step in one
 * thread by a seed.  sim-world.h looks closely at small networks; here it is numbers that are held against each other, after every step.
 *
 *     port 0..P-1, each with a host; ports in VLANs of two to four (access), one bridge
 *
 *     big-machine.c   the machine: CPU numbers with holes, CPUs that come later, masks that shrink; placement is checked
 *     big-world.c     the network, and the engine (engine.h), which has no threads here: one pass of a handler or of the
 *                     revalidators at a time
 *     big-ports.c     ports that come and go
 *     big-check.c     what must hold after each step, and at rest
 *
 * The engine is the real one, with everything below it: main's side of every change is engine.c's. */
#ifndef TESTS_SIM_BIG_WORLD_H
#define TESTS_SIM_BIG_WORLD_H 1

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/types.h"
#include "lib/dpif/dpif.h"
#include "ofproto/engine.h"
#include "ofproto/handler.h"

struct channel;
struct mac_table;

/* Descriptors that the daemon has beside the engine's, at most; doc/dispatch.md counts them. */
#define BIG_FDS_BESIDE 38

#define BIG_MAX_PORTS 10000
#define BIG_NO_PORT UINT16_MAX
#define BIG_MAX_LOCALS 4 /* Ports of a VLAN. */
#define BIG_MAX_PACKETS 150000
#define BIG_TO_ALL BIG_MAX_LOCALS
#define BIG_N_CPUS 128                       /* That the machine can have. */
#define BIG_CPU_NUMBERS (BIG_N_CPUS / 4 * 5) /* One number in five is of none. */
#define BIG_N_NODES 4

enum big_state {
    BIG_QUEUED,  /* In a channel. */
    BIG_KEPT,    /* In a lane. */
    BIG_DONE,    /* Handled. */
    BIG_HIT,     /* A flow has seen to it. */
    BIG_LOST,    /* By the kernel: the channel was full. */
    BIG_DROPPED, /* By the scheduler as it came in. */
};

struct big_packet {
    uint32_t gen;      /* Of the port. */
    uint16_t src, in_port;
    uint8_t dst;       /* Host of that index in the VLAN, or BIG_TO_ALL. */
    uint8_t out;       /* Bit i: it left by port i of the VLAN. */
    uint8_t state;     /* enum big_state. */
    bool is_arp;
    bool is_ordered;   /* It must not be handled behind a later one of its flow that is ordered, too. */
};

struct big_port {
    odp_port_t no;        /* ODPP_NONE: not there now. */
    uint32_t bundle, gen; /* A deletion makes it another port. */
    uint16_t vlan, first; /* First port of the VLAN. */
    uint8_t n_locals;     /* Ports of the VLAN. */
    bool vanished;        /* The device went, and main has not yet heard of it. */
    bool whole;           /* No handler has ended since it was added. */
    uint16_t host_at;     /* Port behind which its host is now; of the same VLAN. */
    uint32_t last_handled[2][BIG_MAX_LOCALS + 1]; /* Of its host: number of the packet, by whether it is ARP and by destination. */
};

struct big_world {
    uint64_t seed, random;
    struct engine *engine;
    struct engine_settings settings;
    struct mac_table *macs;
    unsigned int n_ports;
    struct big_port *ports;
    uint16_t *by_odp; /* Port of each number, or BIG_NO_PORT. */
    bool *was_used;   /* By number. */
    uint32_t next_bundle;
    uint64_t now, waits_since; /* Something may have been waiting since then. */
    bool kicked;
    bool settled;        /* No change is under way that may let upcalls of a flow overtake each other. */
    uint64_t quiet_seq;  /* fc.reval_seq at which all flows were found right. */
    unsigned int n_in_grace; /* Packets to be sent in the next kernel grace period. */

    /* What was counted here; big-check.c holds the counts of others against it. */
    uint64_t n_hit, n_queued, n_lost; /* Sent. */
    uint64_t n_read, n_dropped;       /* Of those queued: taken from a channel; of these, dropped as they came in. */
    uint64_t n_done;                  /* Handled. */
    uint64_t n_gone;                  /* Dropped as 'port_gone', by the handlers' counts. */
    uint64_t n_stale;                 /* Handled, of ports that were no more. */
    uint64_t n_changes, n_overflows, n_reused; /* Not a check: a world in which none of these happened proves little. */
    const char *complaint;            /* Found where it cannot be said, within RCU: said after the step. */
    uint32_t complaint_packet;

    struct big_tally {
        uint64_t received, done, dropped, gone;
    } tally[ENGINE_MAX_THREADS + 1], sum; /* By handler, as of its last pass; last: those that have ended. */

    size_t n_fds_before;
    uint32_t n_packets, n_checked; /* Checked at rest. */
    struct big_packet packets[BIG_MAX_PACKETS];
};

/* The mode and the number of handlers are those of SETTINGS; 0: as placement says.  Fails the test if it cannot be made. */
struct big_world *big_create(uint64_t seed, unsigned int n_ports, enum dispatch_wish mode, unsigned int n_handlers);
void big_destroy(struct big_world *w);
unsigned int big_random(struct big_world *w, unsigned int n); /* 0..n-1. */
/* A number of ports, at most WANTED, whose channels the limit of open files allows in per-port mode; raises the limit as far as it
 * may be.  Says so where it is fewer. */
unsigned int big_ports_possible(unsigned int wanted);

/* ---- Steps. ---- */

enum big_frame { BIG_SMALL, BIG_JUMBO, BIG_ARP };
/* Host SRC sends one to DST.  Comes up on a CPU that follows from both, which may be any number, of a CPU or not. */
void big_send(struct big_world *w, unsigned int src, unsigned int dst, enum big_frame frame);
void big_run_handler(struct big_world *w, unsigned int h);
void big_drain(struct big_world *w); /* Runs handlers until none has anything to do. */
void big_revalidate(struct big_world *w);
void big_advance(struct big_world *w, unsigned int msec);
/* Changes of ports: all that are named, and then the configuration once. */
void big_ports_del(struct big_world *w, const unsigned int ports[], unsigned int n);
void big_ports_add(struct big_world *w, const unsigned int ports[], unsigned int n);
void big_port_vanish(struct big_world *w, unsigned int port);
void big_poll_ports(struct big_world *w);
/* Has the settings obeyed, as the engine does: other counts, another mode, what placement says of the machine now. */
void big_apply(struct big_world *w);
/* Runs handlers until no channel and no lane is on its way between them. */
void big_settle(struct big_world *w);

/* Ports of the VLAN by which a frame has to leave, as the tables are now. */
unsigned int big_expected(const struct big_world *w, const struct big_packet *p);

/* ---- The machine. ---- */

void big_machine_begin(uint64_t seed, unsigned int n_online);
/* Brings N more CPUs up, in the order of nodes; returns how many came. */
unsigned int big_machine_add(unsigned int n);
/* The process may use N of the CPUs that are online, by SEED. */
void big_machine_mask(uint64_t seed, unsigned int n);
void big_machine_end(void);
unsigned int big_machine_n_online(void);
/* Placement of N handlers on the machine as it is. */
void big_check_placement(unsigned int n);

/* ---- What must hold. ---- */

/* After every step. */
void big_check_step(struct big_world *w);
/* Handler H has made a pass: its figures are read. */
void big_tally(struct big_world *w, unsigned int h);
/* Comes to rest and holds everything against everything. */
void big_check_at_rest(struct big_world *w);
/* Each channel is in the set of its reader and in no other; SETTLED: its reader is its owner. */
void big_check_owners(struct big_world *w, bool settled);
/* The engine's descriptors are exactly those that it is to have: a channel a port and one for what comes up otherwise, and what a handler
 * sleeps on; or a channel a handler; and what does not depend on either.  Returns how many, as they would be on the kernel. */
size_t big_check_fds(const struct big_world *w);
/* The kernel knows, for every number that a CPU can have, the channel of the handler that placement says. */
void big_check_pids(struct big_world *w);
void big_complain(struct big_world *w, uint32_t packet, const char *what);

#endif
