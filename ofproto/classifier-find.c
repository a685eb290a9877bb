/* Finding rules by their match rather than by a packet; see classifier.h.
 *
 * What is asked for is compiled to a cls_mask like a rule's, so these compare words.  Finding one rule is a hash lookup.  The others have
 * to go over all rules of subtables that look at bits which the target leaves open; but where it does not, stages' indexes and tries rule
 * subtables out as they do for packets, and a subtable that looks at nothing else is a hash table for it too. */
#include <config.h>

#include "lib/base/util.h"
#include "ofproto/classifier-private.h"

/* Words that a subtable and what is asked for have in common: where they are in a rule's values, and what is to be compared there. */
struct common {
    unsigned int n;
    uint8_t at[UINT8_MAX];
    uint64_t bits[UINT8_MAX], values[UINT8_MAX];
};

void cls_rule_get_match(const struct cls_rule *rule, struct match *ret)
{
    const struct cls_match *m = rule->match;

    memset(ret, 0, sizeof *ret);
    cls_mask_expand(m->mask, m->mask->bits, &ret->mask);
    cls_mask_expand(m->mask, m->values, &ret->flow);
}

bool cls_rule_equals(const struct cls_rule *rule, const struct match *match, int priority)
{
    const struct cls_match *m = rule->match;

    if (m->priority != priority || !cls_values_match(m->mask, m->values, &match->flow)) {
        return false;
    }
    struct flow mask = { .recirc_id = 0 };
    cls_mask_expand(m->mask, m->mask->bits, &mask);
    return !memcmp(&mask, &match->mask, sizeof mask);
}

struct cls_rule *classifier_find_exactly(const struct classifier *cls, const struct match *match, int priority,
                                         uint64_t version)
{
    struct cls_mask *mask = cls_mask_create(&match->mask);
    const struct cls_subtable *st = cls_find_subtable(cls, mask);
    struct cls_match *m = NULL;

    if (st) {
        uint64_t values[UINT8_MAX];

        cls_mask_values(mask, &match->flow, values);
        m = cls_subtable_find(st, values, cls_fold(cls_hash_values(values, 0, mask->n, cls->seed)));
        while (m && (m->priority != priority || !cls_match_visible(m, version))) {
            m = rcu_dereference(m->next);
        }
    }
    cls_mask_unref(mask);
    return m ? m->rule : NULL;
}

static void find_common(const struct cls_subtable *st, const struct match *match, struct common *c)
{
    const cls_word *flow = (const cls_word *) &match->flow, *mask = (const cls_word *) &match->mask;
    const uint8_t *index = cls_mask_index(st->mask);

    c->n = 0;
    for (unsigned int i = 0; i < st->mask->n; i++) {
        uint64_t bits = st->mask->bits[i] & mask[index[i]];

        if (bits) {
            c->at[c->n] = i;
            c->bits[c->n] = bits;
            c->values[c->n++] = flow[index[i]] & bits;
        }
    }
}

static bool agrees(const struct cls_match *m, const struct common *c)
{
    uint64_t diff = 0;

    for (unsigned int i = 0; i < c->n; i++) {
        diff |= (m->values[c->at[i]] & c->bits[i]) ^ c->values[i];
    }
    return !diff;
}

/* Are the words FIRST..END of M under MASK? */
static bool covers(const struct flow *mask, const struct cls_mask *m, unsigned int first, unsigned int end)
{
    const cls_word *w = (const cls_word *) mask;
    const uint8_t *index = cls_mask_index(m);
    uint64_t extra = 0;

    for (unsigned int i = first; i < end; i++) {
        extra |= m->bits[i] & ~w[index[i]];
    }
    return !extra;
}

/* What asks for rules by TARGET, and what the tries say of its values. */
struct query {
    const struct classifier *cls;
    const struct match *target;
    uint8_t plen[CLS_N_TRIES]; /* Leading bits of each tracked field that the target looks at. */
    struct cls_trie_result tries[CLS_N_TRIES];
};

static void query_init(struct query *q, const struct classifier *cls, const struct match *target)
{
    q->cls = cls;
    q->target = target;
    for (unsigned int t = 0; t < CLS_N_TRIES; t++) {
        const uint8_t *mask = cls_trie_key(&target->mask, t);
        unsigned int n = 0;

        while (n < cls_trie_fields[t].n_bytes * 8u && mask[n / 8] >> (7 - n % 8) & 1) {
            n++;
        }
        q->plen[t] = n;
        if (n) {
            cls_trie_lookup(&cls->tries[t], cls_trie_key(&target->flow, t), &q->tries[t]);
        }
    }
}

/* Says that no rule of ST agrees with Q's target where both look, or stores in *RET_SCAN whether all have to be asked; if not, in *RET_HASH the
 * hash of those that may. */
static bool may_have(const struct query *q, const struct cls_subtable *st, bool *ret_scan, uint32_t *ret_hash)
{
    const struct cls_mask *mask = st->mask;
    uint64_t hash = q->cls->seed;
    unsigned int done = 0;

    for (unsigned int i = 0; i < st->n_prefixes; i++) {
        unsigned int t = st->prefixes[i].trie, plen = st->prefixes[i].plen;
        if (plen <= q->plen[t] && !cls_trie_result_has(&q->tries[t], plen)) {
            return false;
        }
    }
    for (unsigned int stage = 0; stage <= st->last_stage; stage++) {
        if (!covers(&q->target->mask, mask, done, mask->end[stage])) {
            *ret_scan = true;
            return true;
        }
        hash = cls_hash_flow(mask, &q->target->flow, done, mask->end[stage], hash);
        done = mask->end[stage];
        if (stage < st->last_stage && st->index[stage] &&
            !cls_hashes_contain(rcu_dereference(st->index[stage]), hash)) {
            return false;
        }
    }
    *ret_scan = false;
    *ret_hash = cls_fold(hash);
    return true;
}

/* Calls CB with the first of each list of rules in ST that agrees with Q's target, until it returns false; returns false then. */
static bool for_each_list(const struct query *q, const struct cls_subtable *st,
                          bool (*cb)(const struct cls_match *, void *aux), void *aux)
{
    const struct cls_slots *heads = rcu_dereference(st->heads);
    const struct cls_match *m;
    struct common c;
    bool scan = true;
    uint32_t hash = 0;

    if (!may_have(q, st, &scan, &hash)) {
        return true;
    }
    find_common(st, q->target, &c);
    if (!scan) {
        uint32_t pos = hash;
        while ((m = cls_slots_next(heads, hash, &pos))) {
            if (agrees(m, &c)) {
                return cb(m, aux); /* All of the values are the target's: there is no other. */
            }
        }
        return true;
    }
    CLS_SLOTS_FOR_EACH(m, i, heads)
    {
        if (agrees(m, &c) && !cb(m, aux)) {
            return false;
        }
    }
    return true;
}

/* Does ST look at each bit of MASK? */
static bool is_as_specific(const struct cls_subtable *st, const struct flow *mask)
{
    struct flow bits = { .recirc_id = 0 };

    cls_mask_expand(st->mask, st->mask->bits, &bits);
    return flow_mask_is_subset(mask, &bits);
}

struct overlap {
    int priority;
    uint64_t version;
};

static bool is_not_of_priority(const struct cls_match *m, void *o_)
{
    const struct overlap *o = o_;

    for (; m && m->priority >= o->priority; m = rcu_dereference(m->next)) {
        if (m->priority == o->priority && cls_match_visible(m, o->version)) {
            return false;
        }
    }
    return true;
}

/* Two rules overlap if their values agree wherever both look. */
bool classifier_overlaps(const struct classifier *cls, const struct match *match, int priority, uint64_t version)
{
    const struct cls_slots *subtables = rcu_dereference(cls->by_mask);
    struct overlap o = { priority, version };
    const struct cls_subtable *st;
    struct query q;

    query_init(&q, cls, match);
    CLS_SLOTS_FOR_EACH(st, i, subtables)
    {
        if (!for_each_list(&q, st, is_not_of_priority, &o)) {
            return true;
        }
    }
    return false;
}

struct walk {
    uint64_t version;
    bool (*cb)(struct cls_rule *, void *aux);
    void *aux;
};

static bool call_for_visible(const struct cls_match *m, void *w_)
{
    const struct walk *w = w_;

    for (; m; m = rcu_dereference(m->next)) {
        if (cls_match_visible(m, w->version) && !w->cb(m->rule, w->aux)) {
            return false;
        }
    }
    return true;
}

void classifier_for_each(const struct classifier *cls, const struct match *target, uint64_t version,
                         bool (*cb)(struct cls_rule *, void *aux), void *aux)
{
    static const struct match all;
    const struct cls_slots *subtables = rcu_dereference(cls->by_mask);
    struct walk w = { version, cb, aux };
    const struct cls_subtable *st;
    struct query q;

    query_init(&q, cls, target ? target : &all);
    CLS_SLOTS_FOR_EACH(st, i, subtables)
    {
        if (is_as_specific(st, &q.target->mask) && !for_each_list(&q, st, call_for_visible, &w)) {
            return;
        }
    }
}
