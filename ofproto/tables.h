/* The OpenFlow tables of one bridge: classifiers and their versions.
 *
 * Main changes them, in transactions: what is added, removed and replaced between tables_begin() and tables_commit() becomes visible to
 * translations all at once, or with tables_rollback() not at all.  A flow-mod is a transaction, and so is a whole bundle.  Translations
 * never wait: one begins with tables_version(), in the RCU read section in which it then looks up.
 *
 * A rule in a table is held by it.  What a transaction removes it lets go of when no reader can see it any more. */
#ifndef OFPROTO_TABLES_H
#define OFPROTO_TABLES_H 1

#include "ofproto/learned.h"
#include "ofproto/rule.h"

/* 0 to 253 are the user's; 254 is ours (hidden rules), and 255 stands for all of them. */
#define TABLES_N 255
#define TABLES_N_USER 254
#define TABLE_INTERNAL 254
#define TABLE_ALL OFP_TABLE_ALL

struct groups;
struct learn_queue;
struct meters;
struct table_policy;
struct tables;

struct tables *tables_create(void);
struct tables *tables_ref(struct tables *t);
void tables_unref(struct tables *t); /* Any thread.  The last one frees all rules.  Accepts NULL. */

/* ---- Reading: any thread, under RCU. ---- */

uint64_t tables_version(const struct tables *t);
/* The rule of table ID that FLOW meets, or NULL; MASK gets what that depends on. */
struct rule *tables_lookup(const struct tables *t, uint8_t id, uint64_t version, const struct flow *flow, struct flow *mask);

/* What main wants to know. */
struct table_stats {
    size_t n_rules, n_masks, n_bytes;
    uint64_t matches; /* Packets that met a rule. */
};
void tables_get_stats(struct tables *t, uint8_t id, struct table_stats *ret);
/* Calls CB with each rule of table ID (TABLE_ALL: of all) at VERSION that is as specific as TARGET or more (NULL: any), until it returns false. */
void tables_for_each(const struct tables *t, uint8_t id, const struct match *target, uint64_t version,
                     bool (*cb)(struct rule *, void *aux), void *aux);
struct rule *tables_find(const struct tables *t, uint8_t id, const struct match *match, int priority, uint64_t version);
bool tables_overlap(const struct tables *t, uint8_t id, const struct match *match, int priority, uint64_t version);

/* What tables hand to controllers by themselves, as long as somebody wants it. */
enum {
    TABLES_PUNT_MISS = 1 << 0, /* Packets that no rule matches. */
    TABLES_PUNT_TTL = 1 << 1,  /* Packets whose TTL expires. */
};
unsigned int tables_punts(const struct tables *t);
/* Returns whether that is a change: then all flows are to be translated again. */
bool tables_set_punts(struct tables *t, unsigned int punts); /* Main. */
/* Rules of table ID with COOKIE: at once if a learn action with a limit asks for that, else counted one by one. */
uint64_t tables_count_cookie(const struct tables *t, uint8_t id, uint64_t cookie);
/* The bridge's meters (meter.h). */
struct meters *tables_meters(const struct tables *t);
/* The bridge's groups (group.h). */
struct groups *tables_groups(const struct tables *t);
/* Of what these tables are to learn.  Any thread. */
struct learn_queue *tables_learn_queue(struct tables *t);

/* ---- Changing: main only, one transaction at a time, outside of RCU read sections. ---- */

enum tables_change_type { TABLES_ADDED, TABLES_REMOVED };
struct tables_change {
    enum tables_change_type type;
    struct rule *rule;
    struct rule *replaces; /* ADDED: the rule whose place it took, which has no change of its own; or NULL. */
    bool evicted;          /* REMOVED: to make room. */
    bool with_group;       /* REMOVED: it used a group that is deleted.  Set by who removes it. */
};
/* The rule that is there behind C, and the one that is not; NULL: none. */
static inline const struct rule *tables_change_added(const struct tables_change *c) { return c->type == TABLES_ADDED ? c->rule : NULL; }
static inline const struct rule *tables_change_gone(const struct tables_change *c) { return c->type == TABLES_REMOVED ? c->rule : c->replaces; }

struct tables_txn {
    struct tables *tables;
    uint64_t version;              /* At which its own changes are seen. */
    struct tables_change *changes; /* In order. */
    size_t n, allocated;
    uint64_t touched[4];           /* Tables, a bit each. */
};

void tables_begin(struct tables *t, struct tables_txn *x);
void tables_add(struct tables_txn *x, struct rule *r); /* Takes the caller's reference. */
void tables_remove(struct tables_txn *x, struct rule *r);
void tables_evict(struct tables_txn *x, struct rule *r); /* The same, to make room for others. */
void tables_replace(struct tables_txn *x, struct rule *old, struct rule *r);
/* Makes the changes visible.  They stay readable in X, and all rules in them valid, until tables_end(). */
void tables_commit(struct tables_txn *x);
void tables_rollback(struct tables_txn *x);
void tables_end(struct tables_txn *x);

/* How many rules table ID has, with what a transaction has changed so far. */
size_t tables_n_rules(const struct tables *t, uint8_t id);
/* What limits table ID, below 254; to be read and changed. */
struct table_policy *tables_policy(struct tables *t, uint8_t id);
/* Whose learned flows are to be deleted now (delete_learned): see learned.h.  False: none. */
bool tables_take_orphan(struct tables *t, struct learned_cookie *ret);

/* R, which is in a table, gets shorter timeouts, in seconds; 0: as it has.  One that it has is not made longer. */
void tables_shorten(struct tables *t, struct rule *r, uint16_t idle_timeout, uint16_t hard_timeout);
/* Calls CB with each rule that has a timeout.  CB may not change tables. */
void tables_for_each_timed(struct tables *t, void (*cb)(struct rule *, void *aux), void *aux);

#endif
