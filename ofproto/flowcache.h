/* The flow cache: what handlers and revalidators share about one datapath.
 *
 * The configuration snapshot (RCU), the ukeys, the limits, and the revalidation sequence: a number that increases
 * whenever something changes that translation looks at.  A translation notes the number as it was before it began; a
 * flow whose number is not the current one has to be translated again.  So a flow that a handler installs while
 * the tables change under it is caught by the next round, however the two interleave. */
#ifndef OFPROTO_FLOWCACHE_H
#define OFPROTO_FLOWCACHE_H 1

#include <stdint.h>

#include "lib/base/rcu.h"
#include "ofproto/ukey.h"

struct dpif;
struct xconfig;

struct flowcache {
    struct dpif *dpif;
    struct ukey_table *ukeys;
    struct xconfig *config; /* RCU; NULL before the first.  Written by main. */
    uint64_t reval_seq;     /* Atomic. */
    uint64_t round;         /* Atomic: number of the current or last revalidation round. */

    /* Limits; atomic, relaxed. */
    uint32_t flow_limit, max_idle_ms, max_revalidator_ms;

    /* Asks for a revalidation round; any thread. */
    void (*wake)(void *aux);
    void *aux;
};

/* Has a round begin soon: flows that are not up to the sequence are translated again, unknown ones are adopted. */
static inline void flowcache_kick(struct flowcache *fc) { fc->wake(fc->aux); }

/* Under RCU. */
static inline const struct xconfig *flowcache_config(const struct flowcache *fc) { return rcu_dereference(fc->config); }

/* The sequence, to be read before translation begins.  Pairs with the increment in flowcache_revalidate(): who reads the new
 * number sees the change that it stands for. */
static inline uint64_t flowcache_seq(const struct flowcache *fc)
{
    return __atomic_load_n(&fc->reval_seq, __ATOMIC_ACQUIRE);
}

/* Something that translation looks at has changed (the change is made already).  Any thread. */
static inline void flowcache_revalidate(struct flowcache *fc)
{
    __atomic_add_fetch(&fc->reval_seq, 1, __ATOMIC_RELEASE);
    flowcache_kick(fc);
}

static inline uint32_t flowcache_limit(const uint32_t *limit) { return __atomic_load_n(limit, __ATOMIC_RELAXED); }

#endif
