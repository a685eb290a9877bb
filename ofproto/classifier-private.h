/* Inside of a classifier: classifier.c changes it, classifier-lookup.c and classifier-find.c read it.
 *
 *     classifier ── list ──► cls_list: subtables by highest priority, which a lookup follows
 *          │                     │
 *          ├─ by_mask ──────► cls_subtable ── heads ──► cls_match ─ next ─► cls_match (same mask and values, lower priority)
 *          │                     └─ index[stage]: hashes of the rules' fields up to that stage
 *          └─ tries: prefixes of six fields, over all rules
 *
 * "RCU" below: read by anybody, written under the lock.  The order in which an insertion writes does not matter to readers at older
 * versions, and those at newer ones begin after all of it; the reverse holds for removals. */
#ifndef OFPROTO_CLASSIFIER_PRIVATE_H
#define OFPROTO_CLASSIFIER_PRIVATE_H 1

#include "lib/base/lock.h"
#include "lib/base/rcu.h"
#include "ofproto/classifier-mask.h"
#include "ofproto/classifier-slots.h"
#include "ofproto/classifier-trie.h"
#include "ofproto/classifier.h"

/* clang-format off */
/* Fields whose prefixes are tracked, by stage. */
#define CLS_TRIES          \
    TRIE(ip_src, CLS_L3)   \
    TRIE(ip_dst, CLS_L3)   \
    TRIE(ipv6_src, CLS_L3) \
    TRIE(ipv6_dst, CLS_L3) \
    TRIE(tp_src, CLS_L4)   \
    TRIE(tp_dst, CLS_L4)

enum cls_trie_id {
#define TRIE(FIELD, STAGE) CLS_TRIE_##FIELD,
    CLS_TRIES
#undef TRIE
    CLS_N_TRIES
};
/* clang-format on */

struct cls_trie_field {
    uint16_t offset; /* In struct flow. */
    uint8_t n_bytes;
    uint8_t stage;
};
extern const struct cls_trie_field cls_trie_fields[CLS_N_TRIES];

static inline const uint8_t *cls_trie_key(const struct flow *flow, unsigned int trie)
{
    return (const uint8_t *) flow + cls_trie_fields[trie].offset;
}

struct cls_conj_set {
    size_t n;
    struct cls_conj conjs[];
};

/* A rule, as the classifier sees it.  One allocation, and what a lookup compares lies together. */
struct cls_match {
    struct cls_match *next; /* RCU: same mask and values, lower priority; or the same priority in other versions. */
    struct cls_rule *rule;
    struct cls_mask *mask;
    struct cls_conj_set *conjs; /* NULL: an ordinary rule. */
    uint64_t added;             /* Immutable once inserted. */
    uint64_t removed; /* Relaxed: whatever version a reader has, it is on the same side of the old and the new. */
    int priority;
    uint32_t hash; /* In 'heads'. */
    uint64_t values[];
};

static inline bool cls_match_visible(const struct cls_match *m, uint64_t version)
{
    return m->added <= version && version < __atomic_load_n(&m->removed, __ATOMIC_RELAXED);
}

struct cls_prio {
    int priority;
    unsigned int n; /* Rules that have it. */
};

struct cls_subtable {
    /* Immutable. */
    struct cls_mask *mask;
    uint8_t last_stage; /* The last that has words. */
    uint8_t n_prefixes;
    struct {
        uint8_t trie, plen, stage;
    } prefixes[CLS_N_TRIES];                    /* Tracked fields of which the mask is a prefix, by stage. */
    struct cls_slots *heads;                    /* RCU: struct cls_match, the first of each list, by hash. */
    struct cls_hashes *index[CLS_N_STAGES - 1]; /* RCU; NULL for stages without words, and the last. */

    /* Under the lock. */
    size_t n_rules;
    struct cls_prio *prios; /* Ascending. */
    size_t n_prios, max_prios;
    uint64_t seq;                   /* Of creation. */
    int listed;                     /* The priority by which it is in 'list'. */
    struct cls_subtable *next_dead; /* Without rules, and about to leave the list. */
    struct rcu_head rcu;
};

struct cls_list {
    struct rcu_head rcu;
    size_t n;
    struct cls_list_entry {
        int max_priority; /* No rule in 'subtable' that a reader of this list may see is above. */
        struct cls_subtable *subtable;
    } entries[];
};

struct classifier {
    struct cls_list *list;     /* RCU. */
    struct cls_slots *by_mask; /* RCU: struct cls_subtable by the mask's hash. */
    struct cls_trie tries[CLS_N_TRIES];
    uint64_t seed;

    unsigned int refs; /* Atomic: the owner, and each rule being retired. */
    struct lock lock;
    size_t n_rules, n_bytes; /* Under the lock, as all that follows; 'n_bytes' counts the struct cls_match. */
    bool deferred;
    size_t n_moved;               /* How often a subtable's place in 'list' ceased to be right. */
    struct cls_subtable **sorted; /* As in 'list', and behind them new ones. */
    size_t n_sorted, max_sorted;
    uint64_t next_seq;
    struct rcu_head rcu;
};

static inline uint32_t cls_fold(uint64_t hash) { return hash >> 32; }

/* Returns CLS's subtable for MASK, or NULL.  Under RCU or the lock. */
struct cls_subtable *cls_find_subtable(const struct classifier *cls, const struct cls_mask *mask);
/* Returns the list of rules with VALUES in ST, or NULL. */
struct cls_match *cls_subtable_find(const struct cls_subtable *st, const uint64_t *values, uint32_t hash);

#endif
