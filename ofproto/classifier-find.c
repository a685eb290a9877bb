/* Finding rules by their match rather than by a packet; see classifier.h.
 *
 * What is asked for is compiled to a cls_mask like a rule's, so these compare words.  Finding one rule is a hash lookup; the others go over
 * all rules of the subtables that can have any. */
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

/* Does ST look at each bit of MASK? */
static bool is_as_specific(const struct cls_subtable *st, const struct flow *mask)
{
    struct flow bits = { .recirc_id = 0 };

    cls_mask_expand(st->mask, st->mask->bits, &bits);
    return flow_mask_is_subset(mask, &bits);
}

/* Two rules overlap if their values agree wherever both look. */
bool classifier_overlaps(const struct classifier *cls, const struct match *match, int priority, uint64_t version)
{
    const struct cls_slots *subtables = rcu_dereference(cls->by_mask);
    const struct cls_subtable *st;
    const struct cls_match *m;
    struct common c;

    CLS_SLOTS_FOR_EACH(st, i, subtables)
    {
        const struct cls_slots *heads = rcu_dereference(st->heads);

        find_common(st, match, &c);
        CLS_SLOTS_FOR_EACH(m, k, heads)
        {
            if (agrees(m, &c)) {
                for (; m && m->priority >= priority; m = rcu_dereference(m->next)) {
                    if (m->priority == priority && cls_match_visible(m, version)) {
                        return true;
                    }
                }
            }
        }
    }
    return false;
}

void classifier_for_each(const struct classifier *cls, const struct match *target, uint64_t version,
                         bool (*cb)(struct cls_rule *, void *aux), void *aux)
{
    const struct cls_slots *subtables = rcu_dereference(cls->by_mask);
    const struct cls_subtable *st;
    const struct cls_match *m;
    struct common c = { .n = 0 };

    CLS_SLOTS_FOR_EACH(st, i, subtables)
    {
        const struct cls_slots *heads = rcu_dereference(st->heads);

        if (target && !is_as_specific(st, &target->mask)) {
            continue;
        }
        if (target) {
            find_common(st, target, &c);
        }
        CLS_SLOTS_FOR_EACH(m, k, heads)
        {
            for (; m && agrees(m, &c); m = rcu_dereference(m->next)) {
                if (cls_match_visible(m, version) && !cb(m->rule, aux)) {
                    return;
                }
            }
        }
    }
}
