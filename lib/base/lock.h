/* Mutexes with a rank.
 *
 * The order in which locks may be nested is declared once, here: a thread may take a lock only if its rank is
 * higher than that of every lock it holds.  With --enable-debug, lock_acquire() aborts on a wrong order, and on
 * a lock that is not a leaf (rank below RANK_MAC) taken inside an RCU read section, where waiting would stretch
 * a grace period.  Leaves are held for a bounded number of instructions, without a system call. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H 1

#include <pthread.h>
#include <stdbool.h>

#include "lib/base/compiler.h"

/* clang-format off */
#define LOCK_RANKS                                                      \
    RANK(CONFIG)   /* Reconfiguration: bridges, threads. */             \
    RANK(PORTS)    /* Ports and channels of a datapath. */              \
    RANK(TABLES)   /* OpenFlow tables, one writer. */                   \
    RANK(CLASSIFIER) /* One change of a table's rules. */               \
    RANK(ROUND)    /* State of a revalidation round. */                 \
    RANK(IO)       /* Queues between threads. */                        \
    RANK(MAC)      /* leaf: MAC learning table, writers. */             \
    RANK(UKEY)     /* One datapath flow's state. */                     \
    RANK(RECIRC)   /* leaf: recirculation ids. */                       \
    RANK(SIM)      /* leaf: the simulated datapath. */                  \
    RANK(LOG)      /* leaf: log destinations, counters' registry. */
/* clang-format on */

enum lock_rank {
#define RANK(NAME) RANK_##NAME,
    LOCK_RANKS
#undef RANK
    N_RANKS
};

struct CAPABILITY("mutex") lock {
    pthread_mutex_t mutex;
    enum lock_rank rank;
};

#define LOCK_INITIALIZER(RANK) { PTHREAD_MUTEX_INITIALIZER, (RANK) }

void lock_init(struct lock *l, enum lock_rank rank);
void lock_uninit(struct lock *l);
void lock_acquire(struct lock *l) ACQUIRES(l);
bool lock_try(struct lock *l) TRY_ACQUIRES(true, l);
void lock_release(struct lock *l) RELEASES(l);

/* Waits on COND, with L released meanwhile, as pthread_cond_wait does. */
void lock_cond_wait(pthread_cond_t *cond, struct lock *l) REQUIRES(l);
/* The same until CLOCK_MONOTONIC time DEADLINE_NSEC; returns false if that passed.  COND must have been made by
 * lock_cond_init(), which chooses the monotonic clock. */
bool lock_cond_wait_until(pthread_cond_t *cond, struct lock *l, unsigned long long deadline_nsec) REQUIRES(l);
void lock_cond_init(pthread_cond_t *cond);

#endif
