/* A rule of an OpenFlow table: a match with a priority, what to do, and what has passed.
 *
 * Who sees what.  A rule is immutable once it is in a table, but for its counts, its timeouts, which main may shorten (fin_timeout), and 'modified',
 * which whoever learns it once more sets anew.  A flow-mod that changes a rule's
 * actions puts a new rule into its place; both share their counts, so that nothing is lost or counted twice however late a
 * datapath flow's last statistics arrive (F8).
 *
 * Who holds it.  A reference each: the table, until a grace period after the rule has left it; and each datapath flow
 * whose translation met it (ukey.h), which reports its packets to it.  Found under RCU, it may be held by rule_try_ref(). */
#ifndef OFPROTO_RULE_H
#define OFPROTO_RULE_H 1

#include <stdint.h>

#include "lib/base/types.h"
#include "ofproto/classifier.h"

struct ofp_act;

/* What has passed: written by any thread, relaxed. */
struct rule_counts {
    unsigned int refs; /* Atomic. */
    uint64_t packets, bytes;
    uint64_t used; /* ms, CLOCK_MONOTONIC; at first when it was made. */
};

/* The same for a table: of packets that met a rule in it.  (That a packet met none follows from no datapath flow, and is not counted.) */
struct table_counts {
    unsigned int refs; /* Atomic. */
    uint64_t matches;  /* Atomic, relaxed. */
};
struct table_counts *table_counts_create(void);
void table_counts_unref(struct table_counts *c); /* Any thread. */

/* Flags, as OpenFlow 1.3 numbers them; and ours. */
#define RULE_SEND_FLOW_REM (1 << 0)
#define RULE_CHECK_OVERLAP (1 << 1)
#define RULE_RESET_COUNTS (1 << 2)
#define RULE_NO_PKT_COUNTS (1 << 3)
#define RULE_NO_BYT_COUNTS (1 << 4)
#define RULE_HIDDEN (1 << 15) /* Not shown to controllers, nor changed by them. */

/* What a rule is made of, beside its match and priority. */
struct rule_spec {
    uint64_t cookie;
    uint16_t idle_timeout, hard_timeout; /* Seconds; 0: none. */
    uint16_t importance;
    uint16_t flags; /* RULE_*. */
    const struct ofp_act *acts; /* ACTS_LEN bytes, in our form (ofp-action.h); copied. */
    size_t acts_len;
};

struct rule {
    struct cls_rule cls;
    unsigned int refs; /* Atomic. */
    uint8_t table_id;
    uint16_t idle_timeout, hard_timeout; /* Atomic, relaxed, for other threads than main. */
    uint16_t importance, flags;
    uint64_t cookie;
    uint64_t created;  /* ms, CLOCK_MONOTONIC. */
    uint64_t modified; /* The same; atomic, relaxed.  A learned flow's is when it was last learned. */
    uint64_t changed, match_since; /* Main's: see ofproto-monitor.h. */
    uint64_t serial;            /* In the order of their making; one that is modified keeps its place. */
    struct rule_counts *counts;
    struct table_counts *table_counts; /* A reference, from when it is in a table on. */
    size_t timed;               /* Of tables.c: place among those with a timeout, from 1; 0: none. */
    size_t acts_len;
    uint64_t acts[]; /* struct ofp_act. */
};

static inline const struct ofp_act *rule_acts(const struct rule *r) { return (const struct ofp_act *) r->acts; }

/* Makes a rule for table TABLE_ID, with one reference.  COUNTS: those of the rule that it replaces, or NULL. */
struct rule *rule_create(const struct rule_spec *spec, uint8_t table_id, struct rule_counts *counts, uint64_t now);
/* Any thread; the second under RCU: false if the rule is about to be freed. */
void rule_ref(struct rule *r);
bool rule_try_ref(struct rule *r);
void rule_unref(struct rule *r);

/* Any thread. */
void rule_count(struct rule *r, uint64_t packets, uint64_t bytes, uint64_t used);

static inline uint64_t rule_packets(const struct rule *r) { return __atomic_load_n(&r->counts->packets, __ATOMIC_RELAXED); }
static inline uint64_t rule_bytes(const struct rule *r) { return __atomic_load_n(&r->counts->bytes, __ATOMIC_RELAXED); }
static inline uint64_t rule_used(const struct rule *r) { return __atomic_load_n(&r->counts->used, __ATOMIC_RELAXED); }

static inline uint64_t rule_modified(const struct rule *r) { return __atomic_load_n(&r->modified, __ATOMIC_RELAXED); }
static inline uint16_t rule_idle_timeout(const struct rule *r) { return __atomic_load_n(&r->idle_timeout, __ATOMIC_RELAXED); }
static inline uint16_t rule_hard_timeout(const struct rule *r) { return __atomic_load_n(&r->hard_timeout, __ATOMIC_RELAXED); }
/* Any thread: the rule has been learned once more, at NOW. */
static inline void rule_refresh(struct rule *r, uint64_t now)
{
    if (rule_modified(r) < now) {
        __atomic_store_n(&r->modified, now, __ATOMIC_RELAXED);
    }
}

#endif
