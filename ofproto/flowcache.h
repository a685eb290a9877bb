/* The flow cache: what handlers and revalidators share about one datapath.
 *
 * The configuration snapshot (RCU), the ukeys, the limits, and the revalidation sequence: a number that increases
 * whenever something changes that translation looks at, together with the set of what has changed (dep.h).  A translation notes the
 * number as it was before it began.  So a flow that a handler installs while the tables change under it is caught by the next
 * round, however the two interleave. */
#ifndef OFPROTO_FLOWCACHE_H
#define OFPROTO_FLOWCACHE_H 1

#include <stdint.h>

#include "lib/base/rcu.h"
#include "ofproto/dep.h"
#include "ofproto/port-limit.h"
#include "ofproto/ukey.h"

struct dpif;
struct pin_inbox;
struct xconfig;

struct flowcache {
    struct dpif *dpif;
    struct ukey_table *ukeys;
    struct xconfig *config; /* RCU; NULL before the first.  Written by main. */
    uint64_t reval_seq;     /* Atomic. */
    struct dep_set changed; /* Published; taken by the next round. */
    uint64_t round;         /* Atomic: number of the current or last revalidation round. */

    /* Limits; atomic, relaxed. */
    uint32_t flow_limit, max_idle_ms, max_revalidator_ms;
    struct port_limits limits; /* Of ports. */
    struct pin_inbox *pins;    /* What is for controllers goes there; NULL: nobody wants it. */

    /* Asks for a revalidation round; any thread. */
    void (*wake)(void *aux);
    void *aux;
};

/* Has a round begin soon: flows that may be wrong are translated again, unknown ones are adopted. */
static inline void flowcache_kick(struct flowcache *fc) { fc->wake(fc->aux); }

/* Under RCU. */
static inline const struct xconfig *flowcache_config(const struct flowcache *fc) { return rcu_dereference(fc->config); }

/* The sequence, to be read before translation begins.  Pairs with the increments below: who reads the new number sees
 * the change that it stands for. */
static inline uint64_t flowcache_seq(const struct flowcache *fc)
{
    return __atomic_load_n(&fc->reval_seq, __ATOMIC_ACQUIRE);
}

/* Something has changed that any translation may have looked at (the change is made already).  Any thread. */
static inline void flowcache_revalidate(struct flowcache *fc)
{
    __atomic_add_fetch(&fc->reval_seq, 1, __ATOMIC_RELEASE); /* First: see dep.h. */
    dep_set_add_all(&fc->changed);
    flowcache_kick(fc);
}

/* What the N of DEPS stand for has changed; nothing if there are none.  Any thread. */
static inline void flowcache_changed(struct flowcache *fc, const dep_t *deps, size_t n)
{
    if (!n) {
        return;
    }
    __atomic_add_fetch(&fc->reval_seq, 1, __ATOMIC_RELEASE); /* First: see dep.h. */
    for (size_t i = 0; i < n; i++) {
        dep_set_add(&fc->changed, deps[i]);
    }
    flowcache_kick(fc);
}

/* The same for a set of the caller's. */
static inline void flowcache_changed_set(struct flowcache *fc, const struct dep_set *set)
{
    __atomic_add_fetch(&fc->reval_seq, 1, __ATOMIC_RELEASE);
    dep_set_publish(&fc->changed, set);
    flowcache_kick(fc);
}

static inline uint32_t flowcache_limit(const uint32_t *limit) { return __atomic_load_n(limit, __ATOMIC_RELAXED); }

#endif
