/* A crew: the handlers of one dispatch, which of them sleep and may be asked for help, and the sessions that they share.
 *
 * A handler sets its bit in 'idle' before it sleeps, and takes it away when it wakes.  Who needs help hires a sleeper by taking its bit away:
 * the one atomic operation decides, so a sleeper is hired by one colleague at most, and one that has found its bit gone knows that a
 * message is coming.  A handler that does not sleep is never hired; so one that ends, and has seen to it that no message is outstanding,
 * gets none any more.
 *
 * Who hires stays in an RCU read section until it has sent the message and woken the sleeper; a handler is freed a grace period after it
 * has ended.  So the last touch of a colleague's memory is no use after free. */
#ifndef OFPROTO_CREW_H
#define OFPROTO_CREW_H 1

#include "lib/base/rcu.h"
#include "lib/base/types.h"
#include "lib/dpif/dispatch.h"

struct handler;
struct session_pool;

/* From when on help is asked for.  Waking a colleague costs some 50 us of CPU; what waits is worth the number of upcalls times what one
 * took of late.  Below 'ns' the owner is through before a colleague has begun. */
struct crew_worth {
    uint64_t ns;
    unsigned int upcalls; /* Waiting at the owner. */
    unsigned int slice;   /* Of these, in a slice that is worth moving. */
};
#define CREW_WORTH_DEFAULT { .ns = 500000, .upcalls = 128, .slice = 8 }

struct crew {
    unsigned int refs; /* Main's: its handlers, and who made it. */
    bool helps;        /* Atomic: there is more than one CPU to run on. */
    struct crew_worth worth;
    struct session_pool *sessions; /* Its users' numbers are the handlers'. */
    struct handler *members[DISPATCH_MAX_HANDLERS]; /* Atomic. */
    uint64_t idle[DISPATCH_MAX_HANDLERS / 64];      /* Atomic. */
};

struct crew *crew_create(struct dpif *dpif); /* Without help, until crew_set_helps(). */
void crew_set_helps(struct crew *crew, bool helps);
struct crew *crew_ref(struct crew *crew);
void crew_unref(struct crew *crew); /* Accepts NULL. */

/* Handler ID is about to sleep; after this it must look once more for what it sleeps for.  (A full barrier.) */
static inline void crew_idle(struct crew *c, unsigned int id)
{
    __atomic_fetch_or(&c->idle[id / 64], UINT64_C(1) << id % 64, __ATOMIC_SEQ_CST);
    cmm_smp_mb(); /* Before the second look; a SEQ_CST operation alone orders no plain load behind it on every machine. */
}

/* It is awake.  Returns whether it has been hired meanwhile. */
static inline bool crew_busy(struct crew *c, unsigned int id)
{
    uint64_t bit = UINT64_C(1) << id % 64;
    return !(__atomic_fetch_and(&c->idle[id / 64], ~bit, __ATOMIC_SEQ_CST) & bit);
}

/* How many sleep; it may be otherwise in the next moment. */
unsigned int crew_n_idle(const struct crew *c);
/* Whether ID sleeps, or is about to, and has not been hired. */
static inline bool crew_is_idle(const struct crew *c, unsigned int id)
{
    return __atomic_load_n(&c->idle[id / 64], __ATOMIC_SEQ_CST) >> id % 64 & 1;
}

/* Hires a sleeper, looking from the one behind ID on.  NULL: all are busy.  Under RCU, to be held until it has been woken. */
struct handler *crew_hire(struct crew *c, unsigned int id);

#endif
