/* Changing a classifier; see classifier.h for what it is, and classifier-private.h for how it is built.
 *
 * Each change takes the lock for a few microseconds: it updates tries, the stages' indexes and the hash table of one subtable, each of
 * which readers may see half-way.  That is harmless: what they may see at their version is in all of them throughout.
 *
 * The list of subtables is a sorted array, which readers run through: it is copied when a subtable comes, goes, or has another highest priority.
 * That is 16 bytes a mask, and happens rarely, for most rules have a priority that their subtable knows; who changes much at once
 * uses classifier_defer(). */
#include <config.h>

#include "ofproto/classifier.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "ofproto/classifier-private.h"

#define FEW_MOVES 8 /* Up to here insertion sort, linear in what is nearly sorted, beats qsort(). */

const struct cls_trie_field cls_trie_fields[CLS_N_TRIES] = {
#define TRIE(FIELD, STAGE)                                                                                             \
    [CLS_TRIE_##FIELD] = { offsetof(struct flow, FIELD), sizeof(((struct flow *) NULL)->FIELD), STAGE },
    CLS_TRIES
#undef TRIE
};

/* Rules. */

void cls_rule_init(struct cls_rule *rule, const struct match *match, int priority, const struct cls_conj *conjs,
                   size_t n_conjs)
{
    struct cls_mask *mask = cls_mask_create(&match->mask);
    struct cls_match *m = xzalloc(sizeof *m + mask->n * sizeof *m->values);

    m->rule = rule;
    m->mask = mask;
    m->priority = priority;
    cls_mask_values(mask, &match->flow, m->values);
    if (n_conjs) {
        m->conjs = xmalloc(sizeof *m->conjs + n_conjs * sizeof *conjs);
        m->conjs->n = n_conjs;
        memcpy(m->conjs->conjs, conjs, n_conjs * sizeof *conjs);
    }
    rule->match = m;
}

void cls_rule_uninit(struct cls_rule *rule)
{
    cls_mask_unref(rule->match->mask);
    free(rule->match->conjs);
    free(rule->match);
    rule->match = NULL;
}

int cls_rule_priority(const struct cls_rule *rule) { return rule->match->priority; }

bool cls_rule_is_visible(const struct cls_rule *rule, uint64_t version)
{
    return cls_match_visible(rule->match, version);
}

static size_t match_size(const struct cls_match *m)
{
    return sizeof *m + m->mask->n * sizeof *m->values +
           (m->conjs ? sizeof *m->conjs + m->conjs->n * sizeof *m->conjs->conjs : 0);
}

/* Subtables. */

/* Returns the length of the prefix that the N bytes at MASK are a mask of; 0 if of none, or they are zero. */
static unsigned int prefix_length(const uint8_t *mask, unsigned int n)
{
    unsigned int plen = 0;

    while (plen < n * 8 && mask[plen / 8] >> (7 - plen % 8) & 1) {
        plen++;
    }
    for (unsigned int i = plen; i < n * 8; i++) {
        if (mask[i / 8] >> (7 - i % 8) & 1) {
            return 0;
        }
    }
    return plen;
}

static struct cls_subtable *subtable_create(struct classifier *cls, struct cls_mask *mask)
{
    struct cls_subtable *st = xzalloc(sizeof *st);
    struct flow bits = { .recirc_id = 0 };

    st->mask = cls_mask_ref(mask);
    cls_mask_expand(mask, mask->bits, &bits);
    for (unsigned int i = 0; i < CLS_N_TRIES; i++) {
        unsigned int plen = prefix_length(cls_trie_key(&bits, i), cls_trie_fields[i].n_bytes);
        if (plen) {
            st->prefixes[st->n_prefixes].trie = i;
            st->prefixes[st->n_prefixes].plen = plen;
            st->prefixes[st->n_prefixes++].stage = cls_trie_fields[i].stage;
        }
    }
    while (mask->end[st->last_stage] < mask->n) {
        st->last_stage++;
    }
    for (unsigned int stage = 0; stage < st->last_stage; stage++) {
        if (mask->end[stage] > (stage ? mask->end[stage - 1] : 0)) {
            st->index[stage] = cls_hashes_create();
        }
    }
    st->heads = cls_slots_create();
    st->seq = cls->next_seq++;
    st->listed = -1;
    return st;
}

static void subtable_free_rcu(struct rcu_head *rcu)
{
    struct cls_subtable *st = CONTAINER_OF(rcu, struct cls_subtable, rcu);

    cls_slots_destroy(st->heads);
    for (unsigned int i = 0; i < ARRAY_SIZE(st->index); i++) {
        cls_hashes_destroy(st->index[i]);
    }
    cls_mask_unref(st->mask);
    free(st->prios);
    free(st);
}

/* Returns the place of PRIORITY in ST's prios, or where it would have to be inserted. */
static size_t find_prio(const struct cls_subtable *st, int priority)
{
    size_t low = 0, high = st->n_prios;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (st->prios[mid].priority < priority) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void count_prio(struct cls_subtable *st, int priority)
{
    size_t i = find_prio(st, priority);

    if (i < st->n_prios && st->prios[i].priority == priority) {
        st->prios[i].n++;
        return;
    }
    if (st->n_prios == st->max_prios) {
        st->max_prios = MAX(1, 2 * st->max_prios);
        st->prios = xrealloc(st->prios, st->max_prios * sizeof *st->prios);
    }
    memmove(st->prios + i + 1, st->prios + i, (st->n_prios++ - i) * sizeof *st->prios);
    st->prios[i] = (struct cls_prio){ priority, 1 };
}

static void uncount_prio(struct cls_subtable *st, int priority)
{
    size_t i = find_prio(st, priority);

    if (!--st->prios[i].n) {
        memmove(st->prios + i, st->prios + i + 1, (--st->n_prios - i) * sizeof *st->prios);
    }
}

static int top_priority(const struct cls_subtable *st)
{
    return st->n_prios ? st->prios[st->n_prios - 1].priority : -1;
}

struct cls_subtable *cls_find_subtable(const struct classifier *cls, const struct cls_mask *mask)
{
    const struct cls_slots *slots = rcu_dereference(cls->by_mask);
    uint32_t pos = cls_fold(mask->hash);
    struct cls_subtable *st;

    while ((st = cls_slots_next(slots, cls_fold(mask->hash), &pos))) {
        if (cls_mask_equal(st->mask, mask)) {
            return st;
        }
    }
    return NULL;
}

struct cls_match *cls_subtable_find(const struct cls_subtable *st, const uint64_t *values, uint32_t hash)
{
    const struct cls_slots *slots = rcu_dereference(st->heads);
    uint32_t pos = hash;
    struct cls_match *m;

    while ((m = cls_slots_next(slots, hash, &pos))) {
        if (!memcmp(m->values, values, st->mask->n * sizeof *values)) {
            return m;
        }
    }
    return NULL;
}

/* The list. */

/* By priority, highest first; older ones first among equals, so that the order does not depend on how it came about. */
static int compare_subtables(const struct cls_subtable *a, const struct cls_subtable *b)
{
    if (a->listed != b->listed) {
        return a->listed > b->listed ? -1 : 1;
    }
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int compare_for_qsort(const void *a, const void *b)
{
    return compare_subtables(*(struct cls_subtable *const *) a, *(struct cls_subtable *const *) b);
}

static void sort_few_moved(struct cls_subtable **s, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct cls_subtable *st = s[i];
        size_t k = i;

        while (k && compare_subtables(s[k - 1], st) > 0) {
            s[k] = s[k - 1];
            k--;
        }
        s[k] = st;
    }
}

/* Takes subtables without rules out of 'sorted', and returns them. */
static struct cls_subtable *take_dead(struct classifier *cls)
{
    struct cls_subtable *dead = NULL;
    size_t n = 0;

    for (size_t i = 0; i < cls->n_sorted; i++) {
        struct cls_subtable *st = cls->sorted[i];
        if (st->n_rules) {
            st->listed = top_priority(st);
            cls->sorted[n++] = st;
        } else {
            st->next_dead = dead;
            dead = st;
        }
    }
    cls->n_sorted = n;
    return dead;
}

static void free_list_rcu(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct cls_list, rcu)); }

static void publish(struct classifier *cls)
{
    struct cls_list *old = cls->list, *list;
    struct cls_subtable *dead, *next;

    if (!cls->n_moved) {
        return;
    }
    dead = take_dead(cls);
    if (cls->n_moved <= FEW_MOVES) {
        sort_few_moved(cls->sorted, cls->n_sorted);
    } else {
        qsort(cls->sorted, cls->n_sorted, sizeof *cls->sorted, compare_for_qsort);
    }
    cls->n_moved = 0;

    list = xmalloc(sizeof *list + cls->n_sorted * sizeof *list->entries);
    list->n = cls->n_sorted;
    for (size_t i = 0; i < list->n; i++) {
        list->entries[i] = (struct cls_list_entry){ cls->sorted[i]->listed, cls->sorted[i] };
    }
    rcu_assign_pointer(cls->list, list);
    call_rcu(&old->rcu, free_list_rcu);
    for (; dead; dead = next) {
        next = dead->next_dead;
        call_rcu(&dead->rcu, subtable_free_rcu);
    }
}

/* ST has other rules than before. */
static void rules_changed(struct classifier *cls, struct cls_subtable *st)
{
    cls->n_moved += top_priority(st) != st->listed;
    if (!cls->deferred) {
        publish(cls);
    }
}

void classifier_defer(struct classifier *cls)
{
    lock_acquire(&cls->lock);
    cls->deferred = true;
    lock_release(&cls->lock);
}

void classifier_publish(struct classifier *cls)
{
    lock_acquire(&cls->lock);
    cls->deferred = false;
    publish(cls);
    lock_release(&cls->lock);
}

/* Insertion and removal. */

static struct cls_subtable *add_subtable(struct classifier *cls, struct cls_mask *mask)
{
    struct cls_subtable *st = subtable_create(cls, mask);

    if (cls->n_sorted == cls->max_sorted) {
        cls->max_sorted = MAX(8, 2 * cls->max_sorted);
        cls->sorted = xrealloc(cls->sorted, cls->max_sorted * sizeof *cls->sorted);
    }
    cls->sorted[cls->n_sorted++] = st;
    cls_slots_add(&cls->by_mask, cls_fold(mask->hash), st);
    return st;
}

/* Adds M's prefixes to the tries, and its hashes to the stages' indexes; or takes them out.  Returns its hash over all stages. */
static uint32_t track(struct classifier *cls, struct cls_subtable *st, const struct cls_match *m, bool add)
{
    uint64_t hash = cls->seed;
    unsigned int done = 0;

    if (st->n_prefixes) {
        struct flow flow = { .recirc_id = 0 };
        cls_mask_expand(m->mask, m->values, &flow);
        for (unsigned int i = 0; i < st->n_prefixes; i++) {
            struct cls_trie *trie = &cls->tries[st->prefixes[i].trie];
            (add ? cls_trie_add : cls_trie_remove)(trie, cls_trie_key(&flow, st->prefixes[i].trie),
                                                   st->prefixes[i].plen);
        }
    }
    for (unsigned int stage = 0; stage < CLS_N_STAGES; stage++) {
        hash = cls_hash_values(m->values, done, m->mask->end[stage], hash);
        done = m->mask->end[stage];
        if (stage < st->last_stage && st->index[stage]) {
            (add ? cls_hashes_add : cls_hashes_remove)(&st->index[stage], hash);
        }
    }
    return cls_fold(hash);
}

/* Puts M among the rules with its mask and values, by falling priority. */
static void link_match(struct cls_subtable *st, struct cls_match *m)
{
    struct cls_match *prev = cls_subtable_find(st, m->values, m->hash);

    if (!prev) {
        m->next = NULL;
        cls_slots_add(&st->heads, m->hash, m);
    } else if (m->priority >= prev->priority) {
        m->next = prev;
        cls_slots_replace(st->heads, m->hash, prev, m);
    } else {
        while (prev->next && prev->next->priority > m->priority) {
            prev = prev->next;
        }
        m->next = prev->next;
        rcu_assign_pointer(prev->next, m);
    }
}

/* M keeps its 'next' for readers that are at it. */
static void unlink_match(struct cls_subtable *st, struct cls_match *m)
{
    struct cls_match *prev = cls_subtable_find(st, m->values, m->hash);

    if (prev != m) {
        while (prev->next != m) {
            prev = prev->next;
        }
        rcu_assign_pointer(prev->next, m->next);
    } else if (m->next) {
        cls_slots_replace(st->heads, m->hash, m, m->next);
    } else {
        cls_slots_remove(&st->heads, m->hash, m);
    }
}

void classifier_insert(struct classifier *cls, struct cls_rule *rule, uint64_t version)
{
    struct cls_match *m = rule->match;

    lock_acquire(&cls->lock);
    struct cls_subtable *st = cls_find_subtable(cls, m->mask);
    if (!st) {
        st = add_subtable(cls, m->mask);
    }
    if (m->mask != st->mask) { /* From now on they share. */
        cls_mask_unref(m->mask);
        m->mask = cls_mask_ref(st->mask);
    }
    m->added = version;
    m->removed = UINT64_MAX;
    m->hash = track(cls, st, m, true);
    link_match(st, m);
    count_prio(st, m->priority);
    st->n_rules++;
    cls->n_rules++;
    cls->n_bytes += match_size(m);
    rules_changed(cls, st);
    lock_release(&cls->lock);
}

void classifier_remove(struct cls_rule *rule, uint64_t version)
{
    __atomic_store_n(&rule->match->removed, version, __ATOMIC_RELAXED);
}

void classifier_restore(struct cls_rule *rule) { classifier_remove(rule, UINT64_MAX); }

void classifier_replace(struct classifier *cls, struct cls_rule *old, struct cls_rule *rule, uint64_t version)
{
    classifier_insert(cls, rule, version);
    classifier_remove(old, version);
}

void classifier_expunge(struct classifier *cls, struct cls_rule *rule)
{
    struct cls_match *m = rule->match;

    lock_acquire(&cls->lock);
    struct cls_subtable *st = cls_find_subtable(cls, m->mask);
    unlink_match(st, m);
    track(cls, st, m, false);
    uncount_prio(st, m->priority);
    cls->n_rules--;
    cls->n_bytes -= match_size(m);
    if (!--st->n_rules) {
        cls_slots_remove(&cls->by_mask, cls_fold(m->mask->hash), st);
        cls->n_moved++; /* Even if it was never listed: it has to leave 'sorted'. */
    }
    rules_changed(cls, st);
    lock_release(&cls->lock);
}

/* A classifier's life. */

struct classifier *classifier_create(void)
{
    struct classifier *cls = xzalloc(sizeof *cls);

    if (getrandom(&cls->seed, sizeof cls->seed, GRND_NONBLOCK) != sizeof cls->seed) {
        cls->seed = clock_nsec(); /* Early in boot: better than a constant. */
    }
    cls->refs = 1;
    lock_init(&cls->lock, RANK_CLASSIFIER);
    for (unsigned int i = 0; i < CLS_N_TRIES; i++) {
        cls_trie_init(&cls->tries[i], cls_trie_fields[i].n_bytes);
    }
    cls->by_mask = cls_slots_create();
    cls->list = xzalloc(sizeof *cls->list);
    return cls;
}

static void free_classifier_rcu(struct rcu_head *rcu)
{
    struct classifier *cls = CONTAINER_OF(rcu, struct classifier, rcu);

    assert(!cls->n_rules);
    publish(cls); /* What was deferred: dead subtables. */
    cls_slots_destroy(cls->by_mask);
    free(cls->list);
    free(cls->sorted);
    lock_uninit(&cls->lock);
    free(cls);
}

static void unref(struct classifier *cls)
{
    if (!__atomic_sub_fetch(&cls->refs, 1, __ATOMIC_ACQ_REL)) {
        call_rcu(&cls->rcu, free_classifier_rcu);
    }
}

void classifier_destroy(struct classifier *cls)
{
    if (cls) {
        unref(cls);
    }
}

struct retirement {
    struct rcu_head rcu;
    struct classifier *cls;
    struct cls_rule *rule;
    void (*free_cb)(struct cls_rule *);
};

static void free_retired_rcu(struct rcu_head *rcu)
{
    struct retirement *r = CONTAINER_OF(rcu, struct retirement, rcu);

    r->free_cb(r->rule);
    free(r);
}

/* Nobody reads at a version at which the rule is visible; but others may pass over it, until one more grace period is over. */
static void expunge_retired_rcu(struct rcu_head *rcu)
{
    struct retirement *r = CONTAINER_OF(rcu, struct retirement, rcu);

    classifier_expunge(r->cls, r->rule);
    unref(r->cls);
    call_rcu(&r->rcu, free_retired_rcu);
}

void classifier_retire(struct classifier *cls, struct cls_rule *rule, void (*free_cb)(struct cls_rule *))
{
    struct retirement *r = xmalloc(sizeof *r);

    *r = (struct retirement){ .cls = cls, .rule = rule, .free_cb = free_cb };
    __atomic_add_fetch(&cls->refs, 1, __ATOMIC_RELAXED);
    call_rcu(&r->rcu, expunge_retired_rcu);
}

void classifier_get_stats(struct classifier *cls, struct classifier_stats *ret)
{
    lock_acquire(&cls->lock);
    size_t n = sizeof *cls + cls->n_bytes + cls_slots_size(cls->by_mask) + sizeof *cls->list +
               cls->list->n * sizeof *cls->list->entries + cls->max_sorted * sizeof *cls->sorted;
    for (unsigned int i = 0; i < CLS_N_TRIES; i++) {
        n += cls_trie_size(&cls->tries[i]);
    }
    for (size_t i = 0; i < cls->n_sorted; i++) {
        const struct cls_subtable *st = cls->sorted[i];
        n += sizeof *st + cls_mask_size(st->mask) + cls_slots_size(st->heads) + st->max_prios * sizeof *st->prios;
        for (unsigned int k = 0; k < ARRAY_SIZE(st->index); k++) {
            n += st->index[k] ? cls_hashes_size(st->index[k]) : 0;
        }
    }
    *ret = (struct classifier_stats){ .n_rules = cls->n_rules, .n_subtables = cls->by_mask->n, .n_bytes = n };
    lock_release(&cls->lock);
}
