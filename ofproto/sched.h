/* Who waits, who is served next, and who is dropped: one handler's waiting upcalls.
 *
 *     port_queue of port 1:  control lane  [a][a]
 *                            slice 0       [u][u][u]        slices: by hash of the flow, so that another handler can
 *                            …                              take some of them and each flow keeps its order
 *                            slice 7       [u]
 *     port_queue of port 2:  …
 *
 * The kernel's queues are first come, first served, and when full drop whatever comes; neither knows ports.  So a handler
 * reads them empty into the lanes here, and decides itself.
 *
 * Served: control lanes first, a few upcalls a port in turn, and at most half of a batch while others wait, so that a
 * flood of ARP is a flood like any other.  Then ports by deficit round robin: each turn is worth QUANTUM, an upcall
 * costs UPCALL_COST and its bytes.
 *
 * Dropped: a port may hold at most eight times the room that is left for upcalls of that size (of which a part is kept for each other
 * size), so one port alone may fill seven tenths of the memory, and whoever comes later always finds room; it is the port beyond
 * its share that loses its own newest.  (The dynamic threshold of Choudhury and Hahne: no list of longest queues, and no upcall
 * is thrown out once it waits.)  Control upcalls count by themselves: a flood of others costs a port neither LACP nor BFD.
 * A port that has a limit of upcalls a second (port-limit.h) loses what is beyond it; control upcalls neither use it up nor are
 * held to it, since they are bounded already.
 *
 * Lent.  A colleague may serve whole slices for the owner (handler-help.c).  A lent slice is in the colleague's hands: it alone
 * takes upcalls out, while the owner goes on appending (a queue for one remover and any appenders, liburcu's wfcqueue).  Cells that
 * were served elsewhere come back through 'returned', and only here are they counted and freed: so all numbers of a port have one
 * writer, the owner.
 *
 * Threads: all functions are the owner's, but for sched_has_port() and sched_show_ports(), and those under "At a colleague's". */
#ifndef OFPROTO_SCHED_H
#define OFPROTO_SCHED_H 1

#include "lib/base/compiler.h"
#include "lib/base/histogram.h"
#include "ofproto/cell.h"
#include "ofproto/port-limit.h"
#include "ofproto/upcall-peek.h"

/* Why an upcall is dropped before it is looked at. */
/* clang-format off */
#define SCHED_DROPS                                                                                \
    DROP(share,        "its port had more than its share waiting")                                 \
    DROP(control,      "its port had too many control packets waiting")                            \
    DROP(rate,         "its port had more than its rate (other_config:upcall-rate)")               \
    DROP(memory,       "no memory was left for waiting upcalls of its size")                       \
    DROP(port_gone,    "its port was deleted while it waited")                                     \
    DROP(exit,         "the daemon ended before its turn")
/* clang-format on */
enum sched_drop {
    SCHED_KEPT,
#define DROP(NAME, TEXT) SCHED_DROP_##NAME,
    SCHED_DROPS
#undef DROP
    SCHED_N_DROPS
};
const char *sched_drop_name(enum sched_drop drop);
const char *sched_drop_text(enum sched_drop drop);

/* What is counted of one port at one handler; written by the owner, read by anybody. */
struct port_stats {
    uint64_t received, control;
    uint64_t drops[SCHED_N_DROPS];
    uint64_t most_waiting; /* Upcalls. */
    struct histogram wait, translate, install;
};
/* Adds what FROM, which may be written meanwhile, has counted to *TO. */
void port_stats_add(struct port_stats *to, const struct port_stats *from);

/* Datapath ports are numbered below this (DP_MAX_PORTS of the kernel); what says otherwise shares the place behind them. */
#define SCHED_PORTS_MAX UINT16_MAX

#define N_SLICES 8

struct sched;

struct lane {
    struct __cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    struct port_queue *queue;
    uint64_t n_in;     /* Appended; the owner's. */
    uint64_t n_out;    /* Taken out; the server's, handed over with the lane. */
    struct lane *next; /* In the chain that is lent together; in the colleague's list of guests. */
};

struct port_queue {
    struct sched *sched;             /* Whose it is. */
    odp_port_t port;
    bool gone;                       /* No more will come; freed when nothing waits. */
    unsigned int n, n_control;       /* Waiting in slices that are here, and in the control lane. */
    size_t bytes;                    /* Of cells: waiting, or being served. */
    long deficit;
    unsigned int next_slice;
    unsigned int ready;              /* Bit I: slice I is here, and not empty. */
    unsigned int lent;               /* Bit I: slice I is with a colleague. */
    struct port_queue *next, *prev;  /* In the ring of those with ready slices; NULL: not in it. */
    struct port_queue *next_control; /* In the list of those with control upcalls. */
    struct lane control, slices[N_SLICES];
    struct rcu_head rcu;
    struct port_stats stats;
};

struct port_queues { /* By port number; replaced when it grows. */
    struct rcu_head rcu;
    size_t n;
    struct port_queue *by_port[];
};

struct sched {
    struct cell_pool pool;
    struct port_queues *queues; /* RCU; written by the owner. */
    struct port_queue *ring;    /* Whose turn it is; NULL: none is ready. */
    struct port_queue *control_first, **control_last;
    unsigned int n;                /* Waiting here, of all ports. */
    unsigned int n_lent;           /* Slices. */
    void *owner;                   /* Whom colleagues give lanes back to. */
    const struct port_limits *limits;
    uint64_t now;                  /* As of sched_set_time(). */
    uint64_t drops[SCHED_N_DROPS]; /* Of all ports; anybody may read. */
    struct __cds_wfcq_head returned_head;             /* Cells that were served elsewhere. */
    struct cds_wfcq_tail returned_tail CACHE_ALIGNED; /* Colleagues write it. */
};

/* LIMITS live longer than S.  Returns 0 or -ENOMEM. */
int sched_init(struct sched *s, void *owner, const struct port_limits *limits);
void sched_uninit(struct sched *s); /* Nothing is lent. */

/* What is added from now on was received at NOW, ns: limits go by that.  (And not by when it arrived, which may be as long ago as
 * the last look at the channel was: then a handler that is busy would be stricter than the others.) */
static inline void sched_set_time(struct sched *s, uint64_t now) { s->now = now; }

/* Copies the message MSG, which U has been read from, behind those that wait.  ARRIVED: ns.  Returns SCHED_KEPT, or why it was
 * dropped (counted in its port's statistics). */
enum sched_drop sched_add(struct sched *s, const struct dpif_upcall *u, const void *msg, size_t len, uint64_t arrived);
static inline bool sched_is_empty(const struct sched *s) { return !s->n; }
/* Takes up to MAX upcalls, those that are to be served next, into CELLS.  Returns how many. */
unsigned int sched_take(struct sched *s, struct cell *cells[], unsigned int max);
/* They have been served: frees them. */
void sched_done(struct sched *s, struct cell *cells[], unsigned int n);
/* The same for cells that colleagues have served. */
void sched_collect(struct sched *s);

/* Takes slices with about WANT upcalls, each with at least LEAST, out of the schedule, so that they may be lent.  Returns their chain; NULL: there are none
 * that it would help to move. */
struct lane *sched_lend(struct sched *s, unsigned int want, unsigned int least);
/* L is back. */
void sched_take_back(struct sched *s, struct lane *l);

/* ---- At a colleague's. ---- */

static inline struct sched *lane_sched(const struct lane *l) { return l->queue->sched; }
/* Takes up to MAX upcalls out of L into CELLS. */
unsigned int lane_take(struct lane *l, struct cell *cells[], unsigned int max);
bool lane_is_empty(struct lane *l);
/* C has been served: to whom it came. */
void cell_give_back(struct cell *c);

/* Drops all that waits, since the daemon exits. */
void sched_drop_all(struct sched *s);
/* Port NO has been deleted: what waits is dropped, and its statistics go. */
void sched_port_gone(struct sched *s, odp_port_t no);
/* Whether port NO had upcalls here.  Any thread. */
bool sched_has_port(const struct sched *s, odp_port_t no);
/* Nothing waits, and the handler is about to sleep: gives memory back. */
static inline void sched_idle(struct sched *s) { cell_pool_trim(&s->pool); }

/* Calls CB for each port that had upcalls here.  Any thread, under RCU. */
void sched_show_ports(const struct sched *s, void (*cb)(odp_port_t, const struct port_stats *, void *aux), void *aux);

#endif
