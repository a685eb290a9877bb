/* See evict.h.
 *
 * Who is to go is looked for among all rules with a timeout each time that one must: nothing is kept for it, as most tables have no limit.
 * It takes a microsecond for some ten rules, so a table that is full all the time should not have a limit of hundreds of thousands. */
#include <config.h>

#include "ofproto/evict.h"

#include <stdlib.h>

#include "lib/base/counter.h"
#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "ofproto/tables.h"

COUNTER_DEFINE(rule_evicted);

struct candidate {
    struct rule *rule;
    uint64_t group; /* Hash of its fields. */
};

struct search {
    const struct tables_txn *x;
    const struct table_policy *policy;
    uint8_t table_id;
    struct candidate *candidates;
    size_t n, allocated;
};

void table_policy_uninit(struct table_policy *p)
{
    free(p->name);
    free(p->groups);
}

/* A field that a rule does not match counts as 0. */
static uint64_t group_of(const struct table_policy *p, const struct rule *r)
{
    struct match m;
    uint64_t hash = 0;

    if (!p->n_groups) {
        return 0;
    }
    cls_rule_get_match(&r->cls, &m);
    for (size_t i = 0; i < p->n_groups; i++) {
        union ofp_value value;
        size_t n;
        ofp_subfield_get(&p->groups[i], &m.flow, &value, &n);
        hash = hash_bytes(value.b, n, hash);
    }
    return hash;
}

static void consider(struct rule *r, void *s_)
{
    struct search *s = s_;

    if (r->table_id != s->table_id || r->flags & RULE_HIDDEN || !(r->idle_timeout || r->hard_timeout)
        || !cls_rule_is_visible(&r->cls, s->x->version)) {
        return;
    }
    if (s->n == s->allocated) {
        s->allocated = MAX(64, 2 * s->allocated);
        s->candidates = xrealloc(s->candidates, s->allocated * sizeof *s->candidates);
    }
    s->candidates[s->n++] = (struct candidate) { r, group_of(s->policy, r) };
}

static uint64_t expires(const struct rule *r)
{
    uint64_t hard = r->hard_timeout ? rule_modified(r) + r->hard_timeout * 1000ull : UINT64_MAX;
    uint64_t idle = r->idle_timeout ? rule_used(r) + r->idle_timeout * 1000ull : UINT64_MAX;

    return MIN(hard, idle);
}

/* Should A go before B? */
static bool goes_first(const struct rule *a, const struct rule *b)
{
    return a->importance != b->importance ? a->importance < b->importance : expires(a) < expires(b);
}

static int compare_groups(const void *a_, const void *b_)
{
    const struct candidate *a = a_, *b = b_;

    return a->group < b->group ? -1 : a->group > b->group;
}

/* Of the largest group, or of all that are as large, the one that goes first. */
static struct rule *choose(struct search *s)
{
    struct rule *best = NULL;
    size_t largest = 0;

    if (s->policy->n_groups && s->n) {
        qsort(s->candidates, s->n, sizeof *s->candidates, compare_groups);
    }
    for (size_t i = 0, end; i < s->n; i = end) {
        for (end = i; end < s->n && s->candidates[end].group == s->candidates[i].group; end++) {
        }
        if (end - i < largest) {
            continue;
        }
        best = end - i > largest ? NULL : best;
        largest = end - i;
        for (size_t k = i; k < end; k++) {
            best = !best || goes_first(s->candidates[k].rule, best) ? s->candidates[k].rule : best;
        }
    }
    return best;
}

static bool evict_one(struct tables_txn *x, uint8_t id, const struct table_policy *p)
{
    struct search s = { .x = x, .policy = p, .table_id = id };

    tables_for_each_timed(x->tables, consider, &s);
    for (size_t i = 0; i < x->n; i++) {
        if (x->changes[i].type == TABLES_ADDED) {
            consider(x->changes[i].rule, &s); /* By an earlier flow-mod of the same bundle. */
        }
    }
    struct rule *r = choose(&s);
    free(s.candidates);
    if (r) {
        COUNTER_INC(rule_evicted);
        tables_evict(x, r);
    }
    return r;
}

enum ofp_error evict_for_one_more(struct tables_txn *x, uint8_t id)
{
    const struct table_policy *p = tables_policy(x->tables, id);

    while (p->limited && tables_n_rules(x->tables, id) >= p->flow_limit) {
        if (!(p->evicts || p->evicts_by_mod) || !evict_one(x, id, p)) {
            return OFPERR_OFPFMFC_TABLE_FULL;
        }
    }
    return OFPERR_NONE;
}

void evict_excess(struct tables_txn *x, uint8_t id)
{
    const struct table_policy *p = tables_policy(x->tables, id);

    while (p->limited && (p->evicts || p->evicts_by_mod) && tables_n_rules(x->tables, id) > p->flow_limit && evict_one(x, id, p)) {
    }
}
