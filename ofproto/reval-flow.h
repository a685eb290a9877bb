/* What a revalidator does with one flow of the datapath: adopt it, keep it, give it other actions, or delete it. */
#ifndef OFPROTO_REVAL_FLOW_H
#define OFPROTO_REVAL_FLOW_H 1

#include "ofproto/flow-ops.h"
#include "ofproto/xlate.h"

/* The working memory of one thread that revalidates, and the facts of the round. */
struct reval {
    struct flowcache *fc;
    struct session_pool *sessions;
    unsigned int user; /* Of 'sessions'. */
    struct flow_ops ops;
    void *actions_memory, *mask_memory; /* Scratch of a translation. */
    struct rule **rules_memory;
    void *lessons_memory;
    struct learner learner;

    /* Of the round; the same for all its threads. */
    uint64_t round, now;
    uint64_t seq;          /* What is right now is right up to this. */
    uint64_t base;         /* Flows that are not up to this are translated again, */
    const struct dep_set *changed; /* and those that depend on any of this. */
    uint32_t max_idle_ms;

    /* Counts of this round. */
    uint64_t n_checked, n_translated, n_adopted;
};

/* USER, of SESSIONS, which it joins.  0 or -errno. */
int reval_init(struct reval *r, struct flowcache *fc, struct session_pool *sessions, unsigned int user);
void reval_uninit(struct reval *r);

/* Revalidates N flows from a dump (terse or not).  One RCU read section; all changes are made when it returns. */
void reval_flows(struct reval *r, const struct dpif_flow *flows, int n);
/* The dump did not show these: looks at each by name, and forgets those that are gone. */
void reval_unseen(struct reval *r, const struct ufid *ufids, size_t n);
/* What packets with EFFECTS, the last of them at USED (ms), teach.  Any thread, under RCU since their translation. */
void reval_run_effects(struct flowcache *fc, const struct effect *effects, unsigned int n, uint64_t used);
/* Deletes all flows that have a ukey. */
void reval_purge(struct reval *r);

#endif
