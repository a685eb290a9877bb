/* Sessions that several threads share: each has one for as long as a request takes.
 *
 * A session is a socket and 200 KiB of buffers, and a thread needs one only now and then.  So there are as many as users, but no more
 * than the pool's limit; above it, they share.  Users have numbers from 0 on, each its own.  As long as there are no more users than the
 * limit, each finds its own session free, in a cache line that nobody else writes to.
 *
 * Threads.  Main joins and leaves on behalf of users, creates and destroys.  Users take and give.  No user ever waits for main, nor
 * main for a user: of a session that is out when it is to go, whoever has it closes it. */
#ifndef DPIF_SESSION_POOL_H
#define DPIF_SESSION_POOL_H 1

#include <stdint.h>

#include "lib/base/compiler.h"
#include "lib/dpif/dpif.h"

struct session_pool;

#define SESSION_POOL_MAX 16

struct pooled_session {
    struct dpif_session *session;
    uint32_t state; /* The pool's; atomic. */
} CACHE_ALIGNED;

/* A pool of up to LIMIT sessions (1 to SESSION_POOL_MAX) of DPIF, for no user yet. */
struct session_pool *session_pool_create(struct dpif *dpif, unsigned int limit);
void session_pool_destroy(struct session_pool *pool); /* After the last user has left.  Accepts NULL. */
/* There is one user more: opens a session if there is to be one more.  0 or -errno, and then all is as before. */
int session_pool_join(struct session_pool *pool);
/* There is one user less: closes a session if there is to be one less, not necessarily that user's. */
void session_pool_leave(struct session_pool *pool);
unsigned int session_pool_n_open(const struct session_pool *pool); /* Main. */

/* Takes a session for USER, a number of a user that has joined: its own if that is free.  To be given back soon, by the same thread, and
 * before it takes another one. */
struct pooled_session *session_pool_take(struct session_pool *pool, unsigned int user);
void session_pool_give(struct session_pool *pool, struct pooled_session *ps);
/* Takes one, dpif_operate(), gives it back. */
void session_pool_operate(struct session_pool *pool, unsigned int user, struct dpif_op *ops[], size_t n_ops);

#endif
