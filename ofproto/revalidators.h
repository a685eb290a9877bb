/* The revalidators: threads that keep the flows in the datapath right.
 *
 * They work in rounds.  A round dumps all flows, tersely, and looks at each: is it idle, is it still what the tables say?
 * Then it sweeps: flows that we believe installed and the dump did not show are looked up by name.  A round begins
 * max_revalidator_ms after the last began, or 5 ms after it when somebody asks (revalidators_kick): so changes cause at most
 * 200 rounds a second, however many they are.
 *
 * Threads.  The first, the leader, begins a round, takes part, waits for the others' last batch, sweeps and ends the round.
 * The others join while a dump goes on.  There is no barrier to wait at: a thread that is asked to stop leaves
 * after the batch in hand, and the rest goes on; if the leader is asked to stop, the round ends without a sweep, since what it
 * has not seen may well exist. */
#ifndef OFPROTO_REVALIDATORS_H
#define OFPROTO_REVALIDATORS_H 1

#include <stdint.h>
#include <sys/types.h>

#include "ofproto/flowcache.h"

struct revalidators;

/* For FC.  Threads begin with revalidators_resize(); a test calls revalidators_run_once() instead. 0 or -errno. */
int revalidators_create(struct flowcache *fc, struct revalidators **ret_pool);
/* Stops all threads.  Whoever waits for a round is told.  Accepts NULL. */
void revalidators_destroy(struct revalidators *p);
/* Main only.  Handlers notice nothing. */
int revalidators_resize(struct revalidators *p, unsigned int n);
unsigned int revalidators_n(const struct revalidators *p);

/* Asks for a round.  Any thread, at any time: no lock, and a system call only if none has asked before. */
void revalidators_kick(struct revalidators *p);
/* Calls DONE(AUX), once, when a round that began after this call has ended, or when the pool is destroyed.  From a
 * revalidator's thread.  Any thread may ask. */
void revalidators_wait(struct revalidators *p, void (*done)(void *aux), void *aux);
/* A whole round in the calling thread.  Only while there are no threads. */
void revalidators_run_once(struct revalidators *p);

struct revalidators_stats {
    uint64_t n_flows;     /* In the last round. */
    uint64_t avg_flows, max_flows;
    uint64_t duration_ms; /* Of the last round. */
    uint64_t n_rounds;
    uint64_t checked, translated, adopted, deleted, modified; /* Since the start. */
};
void revalidators_get_stats(struct revalidators *p, struct revalidators_stats *ret_stats); /* Any thread. */
/* Of thread I: its tid, and the flows that it looked at in the last round.  Returns false if there is none. */
bool revalidators_thread_stats(struct revalidators *p, unsigned int i, pid_t *ret_tid, uint64_t *ret_keys);

#endif
