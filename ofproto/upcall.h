/* A batch of upcalls on its way through the pipeline, one stage a function, each taking the whole batch:
 *
 *     parse       message → key → flow; upcalls of the same key are grouped behind the first, their leader.  Those that a flow's
 *                 userspace action has caused say in a cookie what they are for (odp-cookie.h): to go to controllers, by way of
 *                 main (pin.h), or to be done here, since the kernel cannot (slow.h)
 *     translate   leaders: flow → actions, mask, effects                                       (pure)
 *     learn       what the tables learn of it is there, or main is too busy: lesson.h
 *     install     leaders: claim a ukey; the winner puts the flow
 *     operate     all puts and packets in one system call
 *     account     results, effects, counters
 *
 * A batch belongs to one handler's thread.  What it points to lives in the cells that its upcalls have waited in (cell.h) or in the
 * handler's arena, and dies with the batch. */
#ifndef OFPROTO_UPCALL_H
#define OFPROTO_UPCALL_H 1

#include "lib/base/arena.h"
#include "lib/dpif/dpif.h"
#include "ofproto/cell.h"
#include "ofproto/flowcache.h"
#include "ofproto/xlate.h"

struct pin;
struct session_pool;

/* What happened to an upcall, for counters and upcall/show.  One list, so that enum and text cannot drift. */
/* clang-format off */
#define UPCALL_OUTCOMES                                                                             \
    OUTCOME(received,     "messages taken from channels")                                           \
    OUTCOME(malformed,    "dropped: not an upcall of this datapath, or its key cannot be read")     \
    OUTCOME(overload,     "dropped while it waited, or before: see upcall/show-ports")              \
    OUTCOME(alien_action, "dropped: sent by a userspace action that is not ours")                   \
    OUTCOME(packet_in,    "for controllers")                                                        \
    OUTCOME(slow,         "done in userspace: the kernel cannot do what the tables say")            \
    OUTCOME(grouped,      "shared the translation of an upcall of the same flow in the batch")      \
    OUTCOME(translated,   "translated")                                                             \
    OUTCOME(installed,    "flow installed")                                                         \
    OUTCOME(known,        "flow was installed already")                                             \
    OUTCOME(overlap,      "flow not installed: another one covers it")                              \
    OUTCOME(over_limit,   "flow not installed: flow limit")                                         \
    OUTCOME(put_failed,   "flow not installed: the datapath refused it")                            \
    OUTCOME(executed,     "packet sent on")                                                         \
    OUTCOME(dropped,      "packet dropped by translation")                                          \
    OUTCOME(not_known,    "of the dropped, those with a recirculation id that nothing is known of") \
    OUTCOME(send_failed,  "packet lost: the datapath refused it")
/* clang-format on */

struct upcall_stats {
#define OUTCOME(NAME, TEXT) uint64_t NAME;
    UPCALL_OUTCOMES
#undef OUTCOME
};
/* Only the handler writes; anybody may read. */
#define UPCALL_COUNT(STATS, NAME, N) \
    __atomic_store_n(&(STATS)->NAME, __atomic_load_n(&(STATS)->NAME, __ATOMIC_RELAXED) + (N), __ATOMIC_RELAXED)

/* One flow of the batch: what all upcalls with the same key share. */
struct upcall_flow {
    const struct nlattr *key;
    size_t key_len;
    uint64_t key_hash;
    struct flow *flow;
    enum xlate_verdict verdict;
    struct ufid ufid;
    const void *actions, *mask;
    size_t actions_len, mask_len;
    /* Of the flow in the datapath: 'actions', or, if 'slow' (ODP_SLOW_*), what hands its packets up. */
    const void *flow_actions;
    size_t flow_actions_len;
    uint32_t slow;
    const struct effect *effects;
    unsigned int n_effects;
    struct lesson_list lessons;
    struct dep_list deps;
    struct rule *const *rules; /* Met by it. */
    unsigned int n_rules;
    struct recirc *const *recircs; /* In 'actions'. */
    unsigned int n_recircs;
    uint64_t n_bytes; /* Of its packets. */
    struct ukey *ukey;
    bool won;           /* This batch made 'ukey'. */
    struct dpif_op *put; /* NULL: not to be installed. */
    unsigned int n_missed; /* Upcalls that no flow has counted; 'n_bytes' are theirs. */
};

struct upcall {
    const struct dpif_upcall *dp; /* In its cell. */
    struct upcall_flow *flow;
    struct dpif_op *execute; /* NULL: nothing to send.  Of a 'slow' flow it is not sent as it is: see slow.h. */
};

/* Upcalls a batch.  A batch costs five system calls whatever its size (wait, receive, the clock, send, look for answers): with 64 that is
 * 0.087 an upcall in a burst, with 128 it is 0.044, and a queue drains an eighth faster.  Whoever comes meanwhile waits until it is
 * done, so no more than that. */
#define UPCALL_BATCH 128
#define UPCALL_GROUPS (2 * UPCALL_BATCH) /* Of the hash table by key; a power of 2. */

struct upcall_batch {
    struct flowcache *fc;
    struct session_pool *sessions;
    unsigned int user; /* Of 'sessions'. */
    struct upcall_stats *stats;
    struct arena arena;
    void *scratch; /* XLATE_ACTIONS_SIZE bytes that actions and masks are written to. */
    struct rule **rules_scratch; /* XLATE_MAX_RULES. */
    void *lessons_scratch; /* LESSONS_SIZE. */
    struct learner learner;

    uint64_t now;       /* ms, read once. */
    uint64_t reval_seq; /* As it was before the first translation. */
    const struct xconfig *config;

    struct pin *pins, **last_pin; /* For main: handed over at the end. */

    unsigned int n, n_flows, n_ops;
    struct upcall upcalls[UPCALL_BATCH];
    struct upcall_flow flows[UPCALL_BATCH];
    struct upcall_flow *groups[UPCALL_GROUPS];
    struct dpif_op ops_memory[2 * UPCALL_BATCH]; /* Of which 'ops' are sent together. */
    unsigned int n_memory;
    struct dpif_op *ops[2 * UPCALL_BATCH];
};

/* USER: of SESSIONS. */
void upcall_batch_init(struct upcall_batch *b, struct flowcache *fc, struct session_pool *sessions, unsigned int user,
                       struct upcall_stats *stats);
void upcall_batch_uninit(struct upcall_batch *b);

/* The stages, in this order. */
/* Opens the one RCU read section.  NOW: ns, CLOCK_MONOTONIC. */
void upcall_batch_begin(struct upcall_batch *b, uint64_t now);
void upcall_parse(struct upcall_batch *b, struct cell *const cells[], unsigned int n);
void upcall_translate(struct upcall_batch *b);
void upcall_learn(struct upcall_batch *b);
void upcall_install(struct upcall_batch *b);
void upcall_operate(struct upcall_batch *b);
void upcall_account(struct upcall_batch *b);
void upcall_batch_end(struct upcall_batch *b); /* Every pointer into B dies here. */

#endif
