/* Mutexes with a rank, and the check of their order.
 *
 * Threads: any.  In a debug build each thread keeps the list of locks it holds, which nobody else sees.  A violation is
 * a bug whose other half (the thread that nests them the other way round) may be rare: so it aborts at once, with one
 * line that names both ranks.
 *
 * lock_try() is not checked, since it does not wait, but what it takes counts for later checks. */
#include <config.h>

#include "lib/base/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/log.h"
#include "lib/base/util.h"

/* pthread_mutex_lock() and its kin fail only for misuse: an uninitialised or destroyed mutex. */
static void must(int error, const char *what)
{
    if (unlikely(error)) {
        fprintf(stderr, "%s: %s: %s\n", program_name, what, strerror(error));
        abort();
    }
}

#ifdef SLUICE_DEBUG
#include "lib/base/rcu.h"

#define MAX_HELD 16

LOG_MODULE(lock);

static _Thread_local const struct lock *held[MAX_HELD];
static _Thread_local unsigned int n_held;

static const char *rank_name(enum lock_rank rank)
{
    static const char *names[] = {
#define RANK(NAME) #NAME,
        LOCK_RANKS
#undef RANK
    };
    return rank < ARRAY_SIZE(names) ? names[rank] : "(invalid)";
}

static NO_RETURN void violation(const char *text)
{
    bool log_held = false;

    for (unsigned int i = 0; i < n_held; i++) {
        log_held |= held[i]->rank == RANK_LOG;
    }
    /* The log's own lock must not be checked again on the way out, nor taken twice. */
    n_held = 0;
    if (log_held) {
        fprintf(stderr, "%s: %s\n", program_name, text);
    } else {
        log_emer("%s", text);
    }
    abort();
}

static void check_order(const struct lock *l)
{
    char text[128];

    for (unsigned int i = 0; i < n_held; i++) {
        if (held[i]->rank >= l->rank) {
            snprintf(text, sizeof text, "wrong lock order: taking rank %s while holding rank %s", rank_name(l->rank),
                     rank_name(held[i]->rank));
            violation(text);
        }
    }
    if (l->rank < RANK_MAC && rcu_read_ongoing()) {
        snprintf(text, sizeof text, "lock of rank %s, which is no leaf, taken in an RCU read section",
                 rank_name(l->rank));
        violation(text);
    }
}

static void note_taken(const struct lock *l)
{
    if (n_held >= MAX_HELD) {
        violation("a thread holds too many locks");
    }
    held[n_held++] = l;
}

static void note_released(const struct lock *l)
{
    for (unsigned int i = n_held; i-- > 0;) {
        if (held[i] == l) {
            memmove(&held[i], &held[i + 1], (--n_held - i) * sizeof held[0]);
            return;
        }
    }
    violation("a thread releases a lock that it does not hold");
}

static void check_wait(const struct lock *l)
{
    char text[128];

    if (rcu_read_ongoing()) {
        snprintf(text, sizeof text, "waiting with a lock of rank %s in an RCU read section", rank_name(l->rank));
        violation(text);
    }
}
#else
static inline void check_order(const struct lock *l UNUSED) {}
static inline void note_taken(const struct lock *l UNUSED) {}
static inline void note_released(const struct lock *l UNUSED) {}
static inline void check_wait(const struct lock *l UNUSED) {}
#endif

/* Makes a lock of RANK, free. */
void lock_init(struct lock *l, enum lock_rank rank)
{
    must(pthread_mutex_init(&l->mutex, NULL), "pthread_mutex_init");
    l->rank = rank;
}

/* L must be free. */
void lock_uninit(struct lock *l) { must(pthread_mutex_destroy(&l->mutex), "pthread_mutex_destroy"); }

/* Waits for L and takes it. */
void lock_acquire(struct lock *l) NO_THREAD_SAFETY_ANALYSIS
{
    check_order(l);
    must(pthread_mutex_lock(&l->mutex), "pthread_mutex_lock");
    note_taken(l);
}

/* Takes L if it is free; returns whether it did.  Allowed in any order. */
bool lock_try(struct lock *l) NO_THREAD_SAFETY_ANALYSIS
{
    int error = pthread_mutex_trylock(&l->mutex);

    if (error == EBUSY) {
        return false;
    }
    must(error, "pthread_mutex_trylock");
    note_taken(l);
    return true;
}

void lock_release(struct lock *l) NO_THREAD_SAFETY_ANALYSIS
{
    note_released(l);
    must(pthread_mutex_unlock(&l->mutex), "pthread_mutex_unlock");
}

/* As pthread_cond_wait(): may wake without cause.  L stays in the list of held locks: the thread takes no other. */
void lock_cond_wait(pthread_cond_t *cond, struct lock *l)
{
    check_wait(l);
    must(pthread_cond_wait(cond, &l->mutex), "pthread_cond_wait");
}

/* The same until DEADLINE_NSEC on CLOCK_MONOTONIC; returns false if that passed. */
bool lock_cond_wait_until(pthread_cond_t *cond, struct lock *l, unsigned long long deadline_nsec)
{
    struct timespec ts = { .tv_sec = (time_t) (deadline_nsec / 1000000000),
                           .tv_nsec = (long) (deadline_nsec % 1000000000) };

    check_wait(l);
    int error = pthread_cond_timedwait(cond, &l->mutex, &ts);
    if (error == ETIMEDOUT) {
        return false;
    }
    must(error, "pthread_cond_timedwait");
    return true;
}

/* Makes COND measure time on the monotonic clock, which nobody sets. */
void lock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    must(pthread_condattr_init(&attr), "pthread_condattr_init");
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "pthread_condattr_setclock");
    must(pthread_cond_init(cond, &attr), "pthread_cond_init");
    pthread_condattr_destroy(&attr);
}
