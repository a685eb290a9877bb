/* See session-pool.h.
 *
 *              join            take            leave
 *     EMPTY ─────────► FREE ─────────► TAKEN ────────► LEAVING
 *       ▲                │ ◄───────────  │ ◄────────────  │
 *       │     leave      │     give          join         │
 *       └────────────────┴────────────────────────────────┘
 *                                           give: closes it
 *
 * Each arrow is one compare and swap; who makes it, does what goes with it.  Of the N users' sessions, always those of the lowest
 * numbers are there, min(N, limit) of them, FREE or TAKEN.
 *
 * Who finds all taken waits.  For any of them, not for one: a colleague that lost its CPU in the middle of a request, or sits in the
 * kernel, keeps one session, and all others go round.  Only if as many colleagues as the pool has sessions are in the kernel for good
 * does a user wait for good, as it would in the kernel itself, where they are.  The wait is a futex, and at most a millisecond until it
 * looks by itself: so it does not matter either if a colleague loses its CPU between giving back and waking.
 *
 * A wake is not lost: a giver frees, then looks whether somebody waits; who waits says so, then looks at all sessions; these
 * four are in one order (SEQ_CST), so one of the two sees the other.  Who comes just then may be faster than who waits: there is no
 * queue, since a queue waits for those in front.
 *
 * Memory.  give() releases and take() acquires, so the next thread finds the session as the last one left it. */
#include <config.h>

#include "lib/dpif/session-pool.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/counter.h"
#include "lib/base/util.h"

COUNTER_DEFINE(session_pool_wait);

#define WAIT_NS 1000000

enum { EMPTY, FREE, TAKEN, LEAVING };

struct session_pool {
    struct dpif *dpif;
    unsigned int limit;
    unsigned int n_users, n_open; /* Main's. */
    uint32_t n_waiting CACHE_ALIGNED; /* Atomic.  Read by every give, written only when all are taken. */
    uint32_t n_given;                 /* Atomic: futex. */
    struct pooled_session sessions[SESSION_POOL_MAX];
};

struct session_pool *session_pool_create(struct dpif *dpif, unsigned int limit)
{
    struct session_pool *pool = xaligned_zalloc(CACHE_LINE, sizeof *pool);
    pool->dpif = dpif;
    pool->limit = MIN(MAX(limit, 1), SESSION_POOL_MAX);
    return pool;
}

void session_pool_destroy(struct session_pool *pool)
{
    if (pool) {
        for (unsigned int i = 0; i < pool->n_open; i++) {
            dpif_session_close(pool->sessions[i].session);
        }
        free(pool);
    }
}

static bool move_on(struct pooled_session *ps, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&ps->state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int session_pool_join(struct session_pool *pool)
{
    if (pool->n_open < pool->limit) {
        struct pooled_session *ps = &pool->sessions[pool->n_open];
        if (!move_on(ps, LEAVING, TAKEN)) { /* It was to go, and has not gone. */
            struct dpif_session *session;
            int error = dpif_session_open(pool->dpif, &session);
            if (error) {
                return error;
            }
            ps->session = session;
            move_on(ps, EMPTY, FREE);
        }
        pool->n_open++;
    }
    pool->n_users++;
    return 0;
}

void session_pool_leave(struct session_pool *pool)
{
    if (--pool->n_users >= pool->n_open) {
        return;
    }
    struct pooled_session *ps = &pool->sessions[--pool->n_open];
    for (;;) {
        if (move_on(ps, FREE, EMPTY)) {
            dpif_session_close(ps->session);
            return;
        } else if (move_on(ps, TAKEN, LEAVING)) {
            return;
        }
    }
}

unsigned int session_pool_n_open(const struct session_pool *pool) { return pool->n_open; }

/* Takes the first that is free from USER's own on.  NULL: none is. */
static struct pooled_session *try_all(struct session_pool *pool, unsigned int user)
{
    for (unsigned int i = 0; i < pool->limit; i++) {
        struct pooled_session *ps = &pool->sessions[(user + i) % pool->limit];
        if (__atomic_load_n(&ps->state, __ATOMIC_SEQ_CST) == FREE && move_on(ps, FREE, TAKEN)) {
            return ps;
        }
    }
    return NULL;
}

static struct pooled_session *wait_for_one(struct session_pool *pool, unsigned int user)
{
    static const struct timespec timeout = { .tv_nsec = WAIT_NS };
    struct pooled_session *ps;

    COUNTER_INC(session_pool_wait);
    __atomic_add_fetch(&pool->n_waiting, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t n_given = __atomic_load_n(&pool->n_given, __ATOMIC_SEQ_CST);
        ps = try_all(pool, user);
        if (ps) {
            break;
        }
        /* Whatever ends this (a wake, the time, a giver that was faster), it looks again. */
        syscall(SYS_futex, &pool->n_given, FUTEX_WAIT_PRIVATE, n_given, &timeout, NULL, 0);
    }
    __atomic_sub_fetch(&pool->n_waiting, 1, __ATOMIC_SEQ_CST);
    return ps;
}

struct pooled_session *session_pool_take(struct session_pool *pool, unsigned int user)
{
    struct pooled_session *ps = try_all(pool, user);
    return likely(ps != NULL) ? ps : wait_for_one(pool, user);
}

void session_pool_give(struct session_pool *pool, struct pooled_session *ps)
{
    struct dpif_session *session = ps->session; /* As soon as it is EMPTY, main may put another one there. */

    while (!move_on(ps, TAKEN, FREE)) {
        if (move_on(ps, LEAVING, EMPTY)) {
            dpif_session_close(session);
            return;
        }
    }
    if (unlikely(__atomic_load_n(&pool->n_waiting, __ATOMIC_SEQ_CST))) {
        __atomic_add_fetch(&pool->n_given, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &pool->n_given, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

void session_pool_operate(struct session_pool *pool, unsigned int user, struct dpif_op *ops[], size_t n_ops)
{
    struct pooled_session *ps = session_pool_take(pool, user);
    dpif_operate(ps->session, ops, n_ops);
    session_pool_give(pool, ps);
}
