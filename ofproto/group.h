/* Groups: those of a bridge, by OpenFlow's numbers.
 *
 * A group is immutable.  A group-mod puts a new one into its place; a bucket that stays keeps its counts.  Each bucket, and each group, has a rule
 * (rule.h) that is in no table: it holds the bucket's actions, and its counts; a translation that sends a packet through the bucket notes
 * the rule among those that the packet met, so that the datapath's counts come to it as they come to any rule, once (F8).
 *
 * Changes are made in transactions, beside one of the tables: what a transaction has changed so far is seen by groups_txn_find(), and by
 * nobody else until the commit.  A transaction of groups becomes visible shortly before that of the tables, so that no rule is seen without its
 * group; what it deletes goes after the rules that named it.
 *
 * Threads.  Main changes groups; translations find them under RCU. */
#ifndef OFPROTO_GROUP_H
#define OFPROTO_GROUP_H 1

#include "lib/base/rcu.h"
#include "lib/ofp/ofp-msg-group.h"
#include "ofproto/rule.h"

struct groups; /* Of a bridge. */

struct bucket {
    uint32_t id;
    uint16_t weight;
    ofp_port_t watch_port; /* OFPP_NONE: none. */
    uint32_t watch_group;  /* OFPG_ANY: none. */
    struct rule *rule;     /* A reference: actions and counts. */
};

struct group {
    uint32_t id;
    enum ofp_group_type type;
    struct ofp_group_selection selection;
    uint64_t created;  /* ms, CLOCK_MONOTONIC: when there first was a group of this number. */
    struct rule *rule; /* A reference: counts. */
    struct cds_lfht_node node; /* By 'id'. */
    struct rcu_head rcu;
    unsigned int n_refs; /* Main's: for who counts rules that use it. */
    size_t n_buckets;
    struct bucket buckets[];
};

struct groups *groups_create(void);
void groups_destroy(struct groups *g); /* Nobody looks one up any more. */

/* Under RCU, any thread; main at any time.  NULL: there is none. */
struct group *groups_find(const struct groups *g, uint32_t id);

/* ---- Main. ---- */

/* All of G by their numbers; *RET_N of them in memory to be freed. */
struct group **groups_sorted(const struct groups *g, size_t *ret_n);
/* Does any bucket watch a port or a group? */
bool groups_watch(const struct groups *g);

struct group_change {
    uint32_t id;
    struct group *was, *now; /* NULL: none. */
};
struct groups_txn {
    struct groups *groups;
    struct group_change *changes; /* In order. */
    size_t n, allocated;
};
void groups_begin(struct groups *g, struct groups_txn *x);
/* The group ID as X has made it. */
struct group *groups_txn_find(const struct groups_txn *x, uint32_t id);
/* Makes GROUP (NULL: nothing) what ID is.  GROUP becomes X's. */
void groups_put(struct groups_txn *x, uint32_t id, struct group *group);
/* What X adds and changes is visible; then, what it deletes is gone.  The first is to be followed by the commit of the tables, that by the second,
 * which ends X. */
void groups_commit(struct groups_txn *x);
void groups_end(struct groups_txn *x);
void groups_rollback(struct groups_txn *x); /* Ends X. */

/* A group with room for N_BUCKETS, of which it has none yet; COUNTS: those that it goes on with, or NULL. */
struct group *group_create(uint32_t id, enum ofp_group_type type, const struct ofp_group_selection *selection, size_t n_buckets,
                           struct rule_counts *counts, uint64_t now);
/* Appends a bucket as B says, with ACTS_LEN bytes of actions in our form. */
void group_add_bucket(struct group *group, const struct ofp_bucket *b, const struct ofp_act *acts, size_t acts_len, uint64_t now);
/* The same as in another group. */
void group_copy_bucket(struct group *group, const struct bucket *b);
void group_destroy(struct group *group); /* One that was never put. */

#endif
