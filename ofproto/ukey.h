/* Ukeys: what we know of each flow that is, was or is about to be in the datapath.
 *
 * The table is a lock-free RCU hash on the UFID.  A handler creates a ukey when it is about to install a flow; whoever wins
 * the insertion installs.  Revalidators check, change and delete.  Whoever wins the removal from the table frees, by
 * callback: so nobody needs to ask who else holds it.
 *
 * The life of a ukey is a state machine with one transition function:
 *
 *     CREATED ──► VISIBLE ──► INSTALLED ──► EVICTING ──► EVICTED ──► GONE
 *        │           │          ▲    │          ▲
 *        │           │          │    ▼          │
 *        │           │      INCONSISTENT ───────┘
 *        └──► GONE ◄─┘ (lost the insertion; the put failed)
 *
 *     CREATED       made by one thread, known to nobody else
 *     VISIBLE       in the table; the put is on its way
 *     INSTALLED     the datapath has it
 *     INCONSISTENT  the datapath may have other actions than we think: a change of them failed; the next round deletes it
 *     EVICTING      one thread is deleting it from the datapath
 *     EVICTED       the datapath has it no more
 *     GONE          out of the table, to be freed after a grace period
 *
 * Protection: ufid, key, mask are immutable; everything else is guarded by the ukey's lock (rank UKEY, a leaf).  Looked
 * up under RCU. */
#ifndef OFPROTO_UKEY_H
#define OFPROTO_UKEY_H 1

#include "lib/base/lock.h"
#include "lib/base/rcu.h"
#include "lib/dpif/dpif.h"
#include "ofproto/xlate.h"

/* clang-format off */
#define UKEY_STATES         \
    STATE(CREATED)          \
    STATE(VISIBLE)          \
    STATE(INSTALLED)        \
    STATE(INCONSISTENT)     \
    STATE(EVICTING)         \
    STATE(EVICTED)          \
    STATE(GONE)
/* clang-format on */
enum ukey_state {
#define STATE(NAME) UKEY_##NAME,
    UKEY_STATES
#undef STATE
    UKEY_N_STATES
};
const char *ukey_state_name(enum ukey_state state);

struct ukey {
    struct cds_lfht_node node;
    struct rcu_head rcu;
    struct ufid ufid;
    uint16_t key_len, mask_len;

    struct lock lock;
    enum ukey_state state GUARDED(lock);
    const char *where GUARDED(lock);      /* Function that made the last transition. */
    uint64_t changed GUARDED(lock);       /* ms of the last transition. */
    uint64_t reval_seq GUARDED(lock);     /* The engine's sequence up to which it is right (dep.h). */
    struct dep_list deps GUARDED(lock);   /* What its translation looked up. */
    uint64_t config_version GUARDED(lock); /* Of the snapshot that 'effects' belongs to. */
    uint64_t round GUARDED(lock);         /* Last revalidation round that saw it (or that it was made in). */
    uint64_t created;                        /* ms; immutable. */
    struct dpif_flow_stats stats GUARDED(lock); /* As the datapath last told. */
    uint32_t actions_len GUARDED(lock);
    void *actions GUARDED(lock);
    uint8_t n_effects GUARDED(lock);
    struct effect *effects GUARDED(lock); /* Of 'n_effects'; valid while config_version is the current one. */
    unsigned int n_rules GUARDED(lock);
    struct rule **rules GUARDED(lock); /* That its packets meet: a reference each. */
    unsigned int n_recircs GUARDED(lock);
    struct recirc **recircs GUARDED(lock); /* That its actions, or those that it is about to get, bring packets back with: a reference each. */
    struct lesson_list lessons GUARDED(lock); /* That they teach, with references to their rules; valid as 'effects' is. */

    uint32_t attrs[]; /* Key, then mask. */
};

static inline const struct nlattr *ukey_key(const struct ukey *u) { return (const struct nlattr *) u->attrs; }
static inline const struct nlattr *ukey_mask(const struct ukey *u)
{
    return (const struct nlattr *) ((const char *) u->attrs + u->key_len);
}

/* What a new ukey is made of.  Lengths are multiples of 4. */
struct ukey_spec {
    struct ufid ufid;
    const struct nlattr *key, *mask, *actions;
    size_t key_len, mask_len, actions_len;
    const struct effect *effects;
    unsigned int n_effects;
    struct rule *const *rules;
    unsigned int n_rules;
    struct recirc *const *recircs;
    unsigned int n_recircs;
    struct lesson_list lessons;
    struct dep_list deps;
    uint64_t reval_seq, config_version, now, round;
};

struct ukey_table;

struct ukey_table *ukey_table_create(void);
/* Frees all ukeys.  No other thread uses the table any more. */
void ukey_table_destroy(struct ukey_table *t);
uint64_t ukey_table_count(const struct ukey_table *t); /* O(1); any thread. */
/* Adapts the table to the number of flows; returns how many buckets it has.  One thread, now and then; not under RCU (it waits for grace
 * periods), with no lock that readers take. */
unsigned long ukey_table_fit(struct ukey_table *t);

/* Finds by UFID.  Under RCU; the result is valid as long. */
struct ukey *ukey_find(const struct ukey_table *t, const struct ufid *ufid);
/* Makes a ukey of SPEC and inserts it, in state VISIBLE.  Returns it and *RET_WON true; or, if there is one of that UFID
 * already, that one and false.  Under RCU. */
struct ukey *ukey_insert(struct ukey_table *t, const struct ukey_spec *spec, bool *ret_won);
/* Moves U to STATE.  The transition must be legal: aborts otherwise, naming both places, since a wrong one is a bug
 * that would lose or double a flow. */
void ukey_transition_at(struct ukey *u, enum ukey_state state, uint64_t now, const char *where) REQUIRES(u->lock);
#define ukey_transition(U, STATE, NOW) ukey_transition_at(U, STATE, NOW, __func__)
bool ukey_transition_is_legal(enum ukey_state from, enum ukey_state to);
/* Takes U out of the table.  Its state is VISIBLE (the put failed) or EVICTED.  The winner frees it by
 * callback; nobody may use it after the end of their read section. */
void ukey_remove(struct ukey_table *t, struct ukey *u, uint64_t now) EXCLUDES(u->lock);
/* Replaces what follows from translation. */
void ukey_set_actions(struct ukey *u, const void *actions, size_t len) REQUIRES(u->lock);
void ukey_set_effects(struct ukey *u, const struct effect *effects, unsigned int n, uint64_t config_version)
    REQUIRES(u->lock);

/* RULES, found under RCU in the same read section, are those that U's packets meet from now on. */
void ukey_set_rules(struct ukey *u, struct rule *const *rules, unsigned int n) REQUIRES(u->lock);
/* RECIRCS, found under RCU in the same read section, are those that U's actions bring packets back with from now on.  One that has ended
 * meanwhile (the thread stood still for RECIRC_LINGER seconds) makes U old: it is translated again by the next round. */
void ukey_set_recircs(struct ukey *u, struct recirc *const *recircs, unsigned int n) REQUIRES(u->lock);
/* LESSONS, found as those, are what they teach. */
void ukey_set_lessons(struct ukey *u, const struct lesson_list *lessons) REQUIRES(u->lock);
/* The datapath says that U has forwarded STATS in all: what is new since it last did is counted for the rules. */
void ukey_set_stats(struct ukey *u, const struct dpif_flow_stats *stats) REQUIRES(u->lock);

/* Calls CB for each ukey, under RCU (the whole walk is one read section). */
void ukey_table_walk(struct ukey_table *t, void (*cb)(struct ukey *, void *aux), void *aux);

#endif
