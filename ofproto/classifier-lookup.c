/* Looking a packet up, and the mask of what was looked at; see classifier.h.
 *
 * A subtable is asked a chain of questions, from what varies least to what varies most: for each stage, whether the tries of its
 * fields have a prefix of the subtable's length, then whether the stage's index has the hash of all fields so far; at the end, whether the
 * hash table has a rule with all these values.  The first "no" ends it.  What goes into the mask is what was looked at until then:
 * all the subtable's bits for each "yes", and for a trie's "no" only the leading bits that tell so.
 *
 * The "yes" bits are not needed to prove the miss, but without them two packets of one megaflow could take different proofs, and have different
 * masks.  As it is, each answer is a function of the bits in the mask so far.  So masks cut the packets into classes: a packet that agrees
 * with another in the other's mask not only meets the same rule, but has the same mask.  Revalidation needs that: it translates
 * *some* packet of a megaflow again, and deletes the flow if that looks at more than the flow's mask has.  (Rules of other versions
 * only turn a "no" into "yes", which makes masks wider than need be, not wrong.) */
#include <config.h>

#include <stdlib.h>

#include "lib/base/util.h"
#include "ofproto/classifier-private.h"

#define MANY_CLAUSES 64

/* A clause that matched. */
struct soft {
    int priority;
    struct cls_conj conj;
};

struct lookup {
    const struct classifier *cls;
    uint64_t version;
    const struct flow *flow;
    struct flow *mask;

    bool walked[CLS_N_TRIES]; /* The result is known. */
    struct cls_trie_result tries[CLS_N_TRIES];

    /* Clauses found; in 'softs' while they fit, which they do but for odd tables. */
    struct soft *soft;
    size_t n_soft, max_soft;
    struct soft softs[MANY_CLAUSES];
};

static void set_leading_bits(uint8_t *p, unsigned int n)
{
    memset(p, 0xff, n / 8);
    if (n % 8) {
        p[n / 8] |= 0xff00 >> n % 8;
    }
}

static void unwildcard(const struct lookup *l, const struct cls_subtable *st, unsigned int end)
{
    if (l->mask) {
        cls_mask_unwildcard(st->mask, end, l->mask);
    }
}

/* Does any rule have a prefix of ST's length of the packet's value in the field of ST's prefix I? */
static const struct cls_trie_result *walk_trie(struct lookup *l, const struct cls_subtable *st, unsigned int i,
                                               bool *ret_has)
{
    unsigned int t = st->prefixes[i].trie;
    struct cls_trie_result *r = &l->tries[t];

    if (!l->walked[t]) {
        cls_trie_lookup(&l->cls->tries[t], cls_trie_key(l->flow, t), r);
        l->walked[t] = true;
    }
    *ret_has = cls_trie_result_has(r, st->prefixes[i].plen);
    return r;
}

/* Asks the tries of STAGE, from ST's prefix *I on, which moves on to the next stage's.  Returns false if no rule of ST can match, and then adds to
 * the mask what was looked at in this stage. */
static bool prefixes_may_match(struct lookup *l, const struct cls_subtable *st, unsigned int stage, unsigned int *i)
{
    unsigned int first = *i;

    for (; *i < st->n_prefixes && st->prefixes[*i].stage == stage; ++*i) {
        bool has;
        const struct cls_trie_result *r = walk_trie(l, st, *i, &has);

        if (!has) {
            for (unsigned int k = first; l->mask && k <= *i; k++) {
                unsigned int n = k < *i ? st->prefixes[k].plen : MIN(st->prefixes[k].plen, r->n_bits);
                set_leading_bits((uint8_t *) l->mask + cls_trie_fields[st->prefixes[k].trie].offset, n);
            }
            return false;
        }
    }
    return true;
}

/* Returns ST's rules that match the packet, of any version, or NULL. */
static const struct cls_match *search_subtable(struct lookup *l, const struct cls_subtable *st)
{
    const struct cls_mask *mask = st->mask;
    uint64_t hash = l->cls->seed;
    unsigned int done = 0, p = 0;

    for (unsigned int stage = 0; stage <= st->last_stage; stage++) {
        if (!prefixes_may_match(l, st, stage, &p)) {
            unwildcard(l, st, done);
            return NULL;
        }
        if (mask->end[stage] == done) {
            continue;
        }
        hash = cls_hash_flow(mask, l->flow, done, mask->end[stage], hash);
        done = mask->end[stage];
        if (stage < st->last_stage && !cls_hashes_contain(rcu_dereference(st->index[stage]), hash)) {
            unwildcard(l, st, done);
            return NULL;
        }
    }
    unwildcard(l, st, done);

    const struct cls_slots *slots = rcu_dereference(st->heads);
    uint32_t pos = cls_fold(hash);
    const struct cls_match *m;
    while ((m = cls_slots_next(slots, cls_fold(hash), &pos))) {
        if (cls_values_match(mask, m->values, l->flow)) {
            return m;
        }
    }
    return NULL;
}

static void add_soft(struct lookup *l, const struct cls_match *m)
{
    for (size_t i = 0; i < m->conjs->n; i++) {
        if (l->n_soft == l->max_soft) {
            l->max_soft *= 2;
            struct soft *more = xmalloc(l->max_soft * sizeof *more);
            memcpy(more, l->soft, l->n_soft * sizeof *more);
            if (l->soft != l->softs) {
                free(l->soft);
            }
            l->soft = more;
        }
        l->soft[l->n_soft++] = (struct soft){ m->priority, m->conjs->conjs[i] };
    }
}

/* Returns the best ordinary rule.  If SOFT is true, all clauses of rules with higher priorities are in L's 'soft' then, and perhaps others. */
static const struct cls_match *search(struct lookup *l, bool soft)
{
    const struct cls_list *list = rcu_dereference(l->cls->list);
    const struct cls_match *best = NULL;
    int above = -1; /* What is not above does not matter any more. */

    for (size_t i = 0; i < list->n && list->entries[i].max_priority > above; i++) {
        const struct cls_match *m = search_subtable(l, list->entries[i].subtable);

        for (; m && m->priority > above; m = rcu_dereference(m->next)) {
            if (!cls_match_visible(m, l->version)) {
                continue;
            }
            if (!m->conjs) {
                best = m;
                above = m->priority;
            } else if (soft) {
                add_soft(l, m);
            }
        }
    }
    return best;
}

/* Highest priority first; then by id and number of clauses, so that those of one conjunction stand together. */
static int compare_soft(const void *a_, const void *b_)
{
    const struct soft *a = a_, *b = b_;

    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->conj.id != b->conj.id) {
        return a->conj.id < b->conj.id ? -1 : 1;
    }
    return (int) a->conj.n_clauses - b->conj.n_clauses;
}

static void sort_soft(struct soft *s, size_t n)
{
    if (n > MANY_CLAUSES) {
        qsort(s, n, sizeof *s, compare_soft);
        return;
    }
    for (size_t i = 1; i < n; i++) { /* qsort() may allocate. */
        struct soft one = s[i];
        size_t k = i;

        for (; k && compare_soft(&s[k - 1], &one) > 0; k--) {
            s[k] = s[k - 1];
        }
        s[k] = one;
    }
}

/* Returns the rule for a packet that has met conjunction ID, or NULL.  The tries' results hold, for conj_id has none. */
static const struct cls_match *search_conj_id(struct lookup *l, uint32_t id)
{
    const struct flow *flow = l->flow;
    struct flow with_id = *flow;

    with_id.conj_id = __builtin_bswap32(id);
    l->flow = &with_id;
    const struct cls_match *m = search(l, false);
    l->flow = flow;
    return m;
}

/* Returns the rule of the first conjunction of which all clauses are in L's 'soft', and that has one; else HARD, which stops the search at its
 * priority. */
static const struct cls_match *resolve_conjunctions(struct lookup *l, const struct cls_match *hard)
{
    size_t end;

    sort_soft(l->soft, l->n_soft);
    for (size_t i = 0; i < l->n_soft && (!hard || l->soft[i].priority > hard->priority); i = end) {
        const struct soft *s = &l->soft[i];
        uint64_t all = s->conj.n_clauses >= 64 ? UINT64_MAX : (UINT64_C(1) << s->conj.n_clauses) - 1, have = 0;

        for (end = i; end < l->n_soft && !compare_soft(s, &l->soft[end]); end++) {
            have |= UINT64_C(1) << l->soft[end].conj.clause % 64;
        }
        if ((have & all) == all) {
            const struct cls_match *m = search_conj_id(l, s->conj.id);
            if (m) {
                return m;
            }
        }
    }
    return hard;
}

struct cls_rule *classifier_lookup(const struct classifier *cls, uint64_t version, const struct flow *flow,
                                   struct flow *mask)
{
    struct lookup l;

    l.cls = cls;
    l.version = version;
    l.flow = flow;
    l.mask = mask;
    memset(l.walked, 0, sizeof l.walked);
    l.soft = l.softs;
    l.n_soft = 0;
    l.max_soft = MANY_CLAUSES;

    const struct cls_match *m = search(&l, true);
    if (unlikely(l.n_soft)) {
        m = resolve_conjunctions(&l, m);
        if (l.soft != l.softs) {
            free(l.soft);
        }
    }
    return m ? m->rule : NULL;
}
