/* Read-copy-update: the one header that chooses liburcu's flavour.
 *
 * The memb flavour: a reader costs a store and a compiler barrier; a grace period costs a membarrier() system
 * call, and threads need not announce that they are idle.  (qsbr would spare the reader even that, at the price
 * that every thread that forgets to go offline before it sleeps stops all reclamation: a hang of a kind that
 * this project exists to avoid.)
 *
 * Every thread that reads is made by thread_start() (lib/io/thread.h), which registers it; main registers
 * itself.  Rules: rcu_read_lock() sections do not sleep, and take only leaf locks (lib/base/lock.h).  The exception: they may wait for a
 * session of a pool (lib/dpif/session-pool.h), so whoever has one of those never waits for a grace period; and, for half a millisecond,
 * for main (ofproto/lesson.h), which may be waiting for one. */
#ifndef BASE_RCU_H
#define BASE_RCU_H 1

#define URCU_INLINE_SMALL_FUNCTIONS
#define URCU_API_MAP
#include <urcu/urcu-memb.h>
#include <urcu/rculfhash.h>
#include <urcu/wfcqueue.h>

#endif
