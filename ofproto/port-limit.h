/* How many upcalls a second a port may cause: one token bucket a port, for all handlers.
 *
 * Lanes keep a port that floods from starving the others, but not from having every handler at work.  Whoever knows what a port
 * needs (a tenant's, say) can bound it: so many upcalls a second, and so many at once.  No port has a limit unless it is asked for.
 *
 * With dispatch per CPU the upcalls of one port arrive at several handlers.  They share its bucket without a lock: all of its
 * state is one number, the time at which the bucket will be full again (the "theoretical arrival time" of ATM's generic cell
 * rate algorithm), and whoever takes an upcall moves it on by the time that one upcall is worth, by compare and swap.  Handlers
 * read the clock at different moments, so their times go back and forth a little: the number itself never goes back, and
 * whoever is behind finds the bucket a little emptier than it is, never fuller.
 *
 *     now                          full again
 *      |<------ used up ------>|        each upcall moves "full again" on by 1 s / rate;
 *      |<---------- burst x 1 s / rate ---------->|      it is refused if that led beyond here
 *
 * Threads: main changes limits; handlers take upcalls.  Buckets are found by port number in a table that RCU protects; a limit
 * that changes is a new bucket, a full one. */
#ifndef OFPROTO_PORT_LIMIT_H
#define OFPROTO_PORT_LIMIT_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/compiler.h"
#include "lib/base/types.h"

#define PORT_LIMIT_MAX_RATE  10000000
#define PORT_LIMIT_MAX_BURST 10000000
/* Of the burst that nobody has set.  A handler takes what its channels hold in one go, and all of it has one time: what came
 * while it was busy, or did not get a CPU, comes as a burst though it was none. */
#define PORT_LIMIT_MIN_DEFAULT_BURST 64

struct port_limit {
    uint32_t rate;  /* Upcalls a second, up to PORT_LIMIT_MAX_RATE; 0: no limit. */
    uint32_t burst; /* Upcalls at once, 1 to PORT_LIMIT_MAX_BURST; without meaning if there is no limit. */
};

/* The burst that goes with RATE when none is given: a tenth of a second's worth, but not less than handlers need. */
static inline uint32_t port_limit_default_burst(uint32_t rate)
{
    return rate / 10 > PORT_LIMIT_MIN_DEFAULT_BURST ? rate / 10 : PORT_LIMIT_MIN_DEFAULT_BURST;
}

struct port_limit_table;

struct port_limits { /* All zeroes: no port has a limit. */
    struct port_limit_table *table; /* RCU; written by main.  NULL: no port has a limit. */
    size_t n;                       /* Ports with a limit; main's. */
};

/* Frees all.  Main, when no handler is left. */
void port_limits_uninit(struct port_limits *l);

/* Gives port NO the limit LIMIT; a rate of 0 takes it away.  A limit that NO has already stays as it is, with what has been used
 * of it; any other begins with a full bucket.  Returns whether that was a change.  Main. */
bool port_limits_set(struct port_limits *l, odp_port_t no, struct port_limit limit);

/* Whether some port may have a limit: else there is no need to ask for one.  Any thread. */
static inline bool port_limits_any(const struct port_limits *l)
{
    return __atomic_load_n(&l->table, __ATOMIC_RELAXED) != NULL;
}
/* One upcall of port NO has come at NOW (ns): takes what it costs out of the bucket and returns true; or returns false, and takes
 * nothing, if there is not enough in it.  A registered thread. */
bool port_limits_take(const struct port_limits *l, odp_port_t no, uint64_t now);

#endif
