/* A classifier: the rules of one OpenFlow table, and which of them a packet meets.
 *
 * Tuple space search.  Rules with the same mask form a subtable, a hash table keyed on the fields under that mask; a lookup searches
 * subtable after subtable, those with the highest priorities first, and stops when no better rule can follow.
 *
 * Besides the rule, a lookup yields a mask: every packet that agrees with this one in its bits meets the same rule (at the same version).  It is
 * the megaflow's, so it should be as narrow as it can be in bits, and wrong ones are forwarding errors.  Three things keep it small:
 *
 *   - priorities: what is below the rule found is not looked at;
 *   - stages: a subtable is searched in four steps (classifier-mask.h).  If no rule in it has this packet's metadata, the other
 *     fields were not looked at; and so on with L2, L3 and L4;
 *   - prefix tracking: if no rule matches a prefix of that length of the packet's address (or port), only as many leading bits as tell so
 *     were looked at (classifier-trie.h).
 *
 * Versions.  A rule is visible at versions ADDED <= v < REMOVED.  The writer prepares version v + 1 while readers look up at v, and then publishes
 * v + 1 at once by a store that the caller cares for:
 *
 *     writer                                            reader
 *     classifier_insert(cls, new, v + 1);               rcu_read_lock();
 *     classifier_remove(old, v + 1);                    v = load of the version, acquire;
 *     store v + 1 as the version, release;              rule = classifier_lookup(cls, v, &flow, &mask);
 *     classifier_retire(cls, old, my_free);             rcu_read_unlock();
 *
 * A reader must load the version in the read section in which it uses it, before its first look: then all rules of that version are in the tables
 * that it sees, and none is gone.  To take a prepared version back, classifier_restore() what was removed and classifier_expunge()
 * what was inserted.  (Whoever needs no versions passes 0 to insert, and 0 to look up.)
 *
 * Conjunctive matches, ovs-fields(7).  A rule may carry clauses instead of being a match by itself: (id, k of n).  A packet that meets rules
 * of one priority with all n clauses of an id, and no ordinary rule of that priority or above, is looked up again with the id as its field
 * conj_id, among ordinary rules; if that finds one, it is the result.
 *
 * Threads.  Lookups, finds and iterations: any, under RCU.  They take no lock and write nothing that others see.  Changes: any thread, outside RCU
 * sections: a lock of rank CLASSIFIER orders them, since rules that were retired leave in the call_rcu thread.  But the *content* has one
 * writer: that no two rules of the same match and priority are visible at once, and that versions follow each other, is up to the caller.
 *
 * Memory.  A classifier is freed with the last rule that was retired from it, so destroying it waits for nobody. */
#ifndef OFPROTO_CLASSIFIER_H
#define OFPROTO_CLASSIFIER_H 1

#include "lib/base/types.h"
#include "lib/pkt/match.h"

struct classifier;
struct cls_match;

/* To be embedded in what a rule is to the caller. */
struct cls_rule {
    struct cls_match *match;
};

/* Clause CLAUSE (from 0) of N_CLAUSES of conjunction ID. */
struct cls_conj {
    uint32_t id;
    uint8_t clause, n_clauses;
};
#define CLS_MAX_CLAUSES 64

/* A rule of PRIORITY, 0 to 65535 or above for those that controllers do not see.  With N_CONJS clauses, which are copied: not a match
 * by itself.  An initialised rule is in no classifier. */
void cls_rule_init(struct cls_rule *rule, const struct match *match, int priority, const struct cls_conj *conjs,
                   size_t n_conjs);
/* Frees what belongs to RULE.  It was never inserted, or was expunged a grace period ago.  Any thread, also in an RCU callback. */
void cls_rule_uninit(struct cls_rule *rule);
int cls_rule_priority(const struct cls_rule *rule);
bool cls_rule_is_visible(const struct cls_rule *rule, uint64_t version);
void cls_rule_get_match(const struct cls_rule *rule, struct match *ret);
/* Are the matches of RULE and MATCH the same, and their priorities? */
bool cls_rule_equals(const struct cls_rule *rule, const struct match *match, int priority);

struct classifier *classifier_create(void);
/* No rule is in it but those that were retired.  Accepts NULL. */
void classifier_destroy(struct classifier *cls);

/* Changes. */
void classifier_insert(struct classifier *cls, struct cls_rule *rule, uint64_t version); /* Visible from VERSION on. */
void classifier_remove(struct cls_rule *rule, uint64_t version); /* Invisible from VERSION on, but not yet gone. */
void classifier_restore(struct cls_rule *rule);                  /* Takes classifier_remove() back. */
void classifier_replace(struct classifier *cls, struct cls_rule *old, struct cls_rule *rule, uint64_t version);
/* Takes RULE out for good: it was removed in a version of which readers have gone, or inserted in one that never was published.  They may
 * still pass over it for a grace period; then cls_rule_uninit(). */
void classifier_expunge(struct classifier *cls, struct cls_rule *rule);
/* Does all the rest for RULE, which was removed in a version that is published: expunges it after one grace period, and calls FREE_CB, which
 * will call cls_rule_uninit(), after another. */
void classifier_retire(struct classifier *cls, struct cls_rule *rule, void (*free_cb)(struct cls_rule *));

/* Between these, what new masks and priorities change in the order of subtables is not shown to readers.  For a bundle: without, each
 * new mask copies the list of all.  classifier_publish() must come before the version is published. */
void classifier_defer(struct classifier *cls);
void classifier_publish(struct classifier *cls);

/* Looks up. */

/* Returns the rule that FLOW meets at VERSION, or NULL, and adds to MASK (may be NULL) the bits that it depends on.  Allocates nothing, unless more
 * than 64 clauses of conjunctions match. */
struct cls_rule *classifier_lookup(const struct classifier *cls, uint64_t version, const struct flow *flow,
                                   struct flow *mask);
/* Returns the rule of just this match and PRIORITY that is visible at VERSION, or NULL.  Of MATCH, values where the mask is 0 do not count. */
struct cls_rule *classifier_find_exactly(const struct classifier *cls, const struct match *match, int priority,
                                         uint64_t version);
/* Is another rule of PRIORITY visible at VERSION that some packet could meet as well as MATCH?  (CHECK_OVERLAP.) */
bool classifier_overlaps(const struct classifier *cls, const struct match *match, int priority, uint64_t version);
/* Calls CB with each rule visible at VERSION that is as specific as TARGET or more (NULL: with each), until it returns false, in no
 * order.  CB may remove and retire rules, even this one. */
void classifier_for_each(const struct classifier *cls, const struct match *target, uint64_t version,
                         bool (*cb)(struct cls_rule *, void *aux), void *aux);

struct classifier_stats {
    size_t n_rules;     /* Including what readers of old versions still see. */
    size_t n_subtables; /* Masks. */
    size_t n_bytes;     /* All memory, but for the rules' embedded part and the heap's own. */
};
void classifier_get_stats(struct classifier *cls, struct classifier_stats *ret); /* Takes the lock. */

#endif
