/* See tables.h. */
#include <config.h>

#include "ofproto/tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/evict.h"
#include "ofproto/learn-queue.h"
#include "ofproto/group.h"
#include "ofproto/meter.h"

COUNTER_DEFINE(rule_added);
COUNTER_DEFINE(rule_removed);

struct table {
    struct classifier *cls;      /* RCU; made when the first rule comes, then there for good, as 'counts'. */
    struct table_counts *counts; /* Main's, as the next two; rules hold references. */
    size_t n_rules;              /* Without hidden ones, with the transaction's changes. */
    struct table_policy policy;
};

struct tables {
    unsigned int refs; /* Atomic. */
    uint64_t version;  /* Acquire, release: see classifier.h. */
    struct table table[TABLES_N];
    unsigned int punts; /* Atomic, relaxed. */
    struct learned learned;
    struct learn_queue queue;
    struct meters *meters;
    struct groups *groups;

    /* Main's. */
    bool in_txn;
    struct rule **timed; /* Rules with timeouts. */
    size_t n_timed, allocated_timed;
};

struct tables *tables_create(void)
{
    struct tables *t = xzalloc(sizeof *t);

    t->refs = 1;
    t->version = 1;
    learn_queue_init(&t->queue);
    t->meters = meters_create();
    t->groups = groups_create();
    return t;
}

struct tables *tables_ref(struct tables *t)
{
    __atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
    return t;
}

unsigned int tables_punts(const struct tables *t) { return __atomic_load_n(&t->punts, __ATOMIC_RELAXED); }

bool tables_set_punts(struct tables *t, unsigned int punts) { return __atomic_exchange_n(&t->punts, punts, __ATOMIC_RELAXED) != punts; }

struct meters *tables_meters(const struct tables *t) { return t->meters; }

struct groups *tables_groups(const struct tables *t) { return t->groups; }

static void rule_free_cb(struct cls_rule *cls) { rule_unref(CONTAINER_OF(cls, struct rule, cls)); }

struct all {
    struct rule **rules;
    size_t n, allocated;
};

static bool collect(struct cls_rule *cls, void *all_)
{
    struct all *all = all_;

    if (all->n == all->allocated) {
        all->allocated = MAX(64, 2 * all->allocated);
        all->rules = xrealloc(all->rules, all->allocated * sizeof *all->rules);
    }
    all->rules[all->n++] = CONTAINER_OF(cls, struct rule, cls);
    return true;
}

/* Nobody looks up any more: the last snapshot that referred to T was freed. */
static void tables_destroy(struct tables *t)
{
    struct all all = { 0 };

    learn_queue_uninit(&t->queue); /* First: it holds rules. */
    learned_uninit(&t->learned);
    for (unsigned int i = 0; i < TABLES_N; i++) {
        if (t->table[i].cls) {
            all.n = 0;
            rcu_read_lock();
            classifier_for_each(t->table[i].cls, NULL, t->version, collect, &all);
            rcu_read_unlock();
            for (size_t k = 0; k < all.n; k++) {
                classifier_remove(&all.rules[k]->cls, t->version + 1);
                classifier_retire(t->table[i].cls, &all.rules[k]->cls, rule_free_cb);
            }
            classifier_destroy(t->table[i].cls);
            table_counts_unref(t->table[i].counts);
        }
        table_policy_uninit(&t->table[i].policy);
    }
    free(all.rules);
    meters_destroy(t->meters);
    groups_destroy(t->groups);
    free(t->timed);
    free(t);
}

void tables_unref(struct tables *t)
{
    if (t && __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        tables_destroy(t);
    }
}

/* ---- Reading. ---- */

static const struct classifier *table_cls(const struct tables *t, uint8_t id)
{
    return id < TABLES_N ? __atomic_load_n(&t->table[id].cls, __ATOMIC_ACQUIRE) : NULL;
}

uint64_t tables_version(const struct tables *t) { return __atomic_load_n(&t->version, __ATOMIC_ACQUIRE); }

struct rule *tables_lookup(const struct tables *t, uint8_t id, uint64_t version, const struct flow *flow, struct flow *mask)
{
    const struct classifier *cls = table_cls(t, id);
    struct cls_rule *rule = cls ? classifier_lookup(cls, version, flow, mask) : NULL;

    return rule ? CONTAINER_OF(rule, struct rule, cls) : NULL;
}

void tables_get_stats(struct tables *t, uint8_t id, struct table_stats *ret)
{
    struct classifier *cls = (struct classifier *) table_cls(t, id);
    struct classifier_stats s = { 0 };

    if (cls) {
        classifier_get_stats(cls, &s);
    }
    *ret = (struct table_stats) { .n_rules = s.n_rules, .n_masks = s.n_subtables, .n_bytes = s.n_bytes };
    if (id < TABLES_N && t->table[id].counts) {
        ret->matches = __atomic_load_n(&t->table[id].counts->matches, __ATOMIC_RELAXED);
    }
}

struct visit {
    bool (*cb)(struct rule *, void *aux);
    void *aux;
    bool go_on;
};

static bool visit_rule(struct cls_rule *cls, void *visit_)
{
    struct visit *v = visit_;

    v->go_on = v->cb(CONTAINER_OF(cls, struct rule, cls), v->aux);
    return v->go_on;
}

void tables_for_each(const struct tables *t, uint8_t id, const struct match *target, uint64_t version,
                     bool (*cb)(struct rule *, void *aux), void *aux)
{
    struct visit v = { .cb = cb, .aux = aux, .go_on = true };
    unsigned int first = id == TABLE_ALL ? 0 : id, end = id == TABLE_ALL ? TABLES_N : id + 1u;

    for (unsigned int i = first; i < end && v.go_on; i++) {
        const struct classifier *cls = table_cls(t, i);
        if (cls) {
            classifier_for_each(cls, target, version, visit_rule, &v);
        }
    }
}

struct rule *tables_find(const struct tables *t, uint8_t id, const struct match *match, int priority, uint64_t version)
{
    const struct classifier *cls = table_cls(t, id);
    struct cls_rule *rule = cls ? classifier_find_exactly(cls, match, priority, version) : NULL;

    return rule ? CONTAINER_OF(rule, struct rule, cls) : NULL;
}

bool tables_overlap(const struct tables *t, uint8_t id, const struct match *match, int priority, uint64_t version)
{
    const struct classifier *cls = table_cls(t, id);

    return cls && classifier_overlaps(cls, match, priority, version);
}

uint64_t tables_count_cookie(const struct tables *t, uint8_t id, uint64_t cookie)
{
    uint64_t n;

    return learned_count(&t->learned, id, cookie, &n) ? n : learned_census(t, id, cookie, tables_version(t));
}

struct learn_queue *tables_learn_queue(struct tables *t) { return &t->queue; }

size_t tables_n_rules(const struct tables *t, uint8_t id) { return t->table[id].n_rules; }

struct table_policy *tables_policy(struct tables *t, uint8_t id) { return &t->table[id].policy; }

bool tables_take_orphan(struct tables *t, struct learned_cookie *ret) { return learned_take_orphan(&t->learned, ret); }

/* ---- Changing. ---- */

static struct classifier *table_cls_for_change(struct tables *t, uint8_t id)
{
    struct table *table = &t->table[id];

    if (!table->cls) {
        table->counts = table_counts_create();
        __atomic_store_n(&table->cls, classifier_create(), __ATOMIC_RELEASE);
    }
    return table->cls;
}

/* R, which nobody has seen yet, counts for its table. */
static void count_for_table(struct tables *t, struct rule *r)
{
    struct table_counts *c = t->table[r->table_id].counts;

    __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    r->table_counts = c;
}

/* X changes table ID: what that does to the order of its masks is shown once, at the end. */
static void touch(struct tables_txn *x, uint8_t id)
{
    uint64_t bit = UINT64_C(1) << id % 64;

    if (!(x->touched[id / 64] & bit)) {
        x->touched[id / 64] |= bit;
        classifier_defer(x->tables->table[id].cls);
    }
}

static void publish_touched(struct tables_txn *x)
{
    for (unsigned int id = 0; id < TABLES_N; id++) {
        if (x->touched[id / 64] >> id % 64 & 1) {
            classifier_publish(x->tables->table[id].cls);
        }
    }
}

void tables_begin(struct tables *t, struct tables_txn *x)
{
    assert(!t->in_txn);
    t->in_txn = true;
    *x = (struct tables_txn) { .tables = t, .version = t->version + 1 };
}

static void note(struct tables_txn *x, enum tables_change_type type, struct rule *r, struct rule *replaces)
{
    if (x->n == x->allocated) {
        x->allocated = MAX(4, 2 * x->allocated);
        x->changes = xrealloc(x->changes, x->allocated * sizeof *x->changes);
    }
    x->changes[x->n++] = (struct tables_change) { .type = type, .rule = r, .replaces = replaces };
}

/* What controllers do not see takes none of their room. */
static int is_counted(const struct rule *r) { return !(r->flags & RULE_HIDDEN); }

void tables_add(struct tables_txn *x, struct rule *r)
{
    struct classifier *cls = table_cls_for_change(x->tables, r->table_id);

    count_for_table(x->tables, r);
    touch(x, r->table_id);
    classifier_insert(cls, &r->cls, x->version);
    x->tables->table[r->table_id].n_rules += is_counted(r);
    note(x, TABLES_ADDED, r, NULL);
}

void tables_remove(struct tables_txn *x, struct rule *r)
{
    touch(x, r->table_id);
    classifier_remove(&r->cls, x->version);
    x->tables->table[r->table_id].n_rules -= is_counted(r);
    note(x, TABLES_REMOVED, r, NULL);
}

void tables_evict(struct tables_txn *x, struct rule *r)
{
    tables_remove(x, r);
    x->changes[x->n - 1].evicted = true;
}

void tables_replace(struct tables_txn *x, struct rule *old, struct rule *r)
{
    count_for_table(x->tables, r);
    touch(x, r->table_id);
    classifier_replace(x->tables->table[r->table_id].cls, &old->cls, &r->cls, x->version);
    note(x, TABLES_ADDED, r, old);
}

static void time_rule(struct tables *t, struct rule *r)
{
    if (!r->idle_timeout && !r->hard_timeout) {
        return;
    }
    if (t->n_timed == t->allocated_timed) {
        t->allocated_timed = MAX(64, 2 * t->allocated_timed);
        t->timed = xrealloc(t->timed, t->allocated_timed * sizeof *t->timed);
    }
    t->timed[t->n_timed++] = r;
    r->timed = t->n_timed;
}

static void untime_rule(struct tables *t, struct rule *r)
{
    if (r->timed) {
        struct rule *last = t->timed[--t->n_timed];
        t->timed[r->timed - 1] = last;
        last->timed = r->timed;
        r->timed = 0;
    }
}

void tables_commit(struct tables_txn *x)
{
    struct tables *t = x->tables;

    for (size_t i = 0; i < x->n; i++) {
        const struct tables_change *c = &x->changes[i];
        rule_ref(c->rule); /* Until tables_end(). */
        if (c->type == TABLES_ADDED) {
            COUNTER_INC(rule_added);
            time_rule(t, c->rule);
        }
        struct rule *gone = c->type == TABLES_REMOVED ? c->rule : c->replaces;
        if (gone) {
            COUNTER_INC(rule_removed);
            untime_rule(t, gone);
            if (c->replaces) {
                rule_ref(gone);
            }
        }
    }
    publish_touched(x);
    learned_commit(&t->learned, x);
    __atomic_store_n(&t->version, x->version, __ATOMIC_RELEASE);
    for (size_t i = 0; i < x->n; i++) {
        const struct tables_change *c = &x->changes[i];
        struct rule *gone = c->type == TABLES_REMOVED ? c->rule : c->replaces;
        if (gone) {
            classifier_retire(t->table[gone->table_id].cls, &gone->cls, rule_free_cb);
        }
    }
    t->in_txn = false;
}

/* In the reverse order, so that what was added and removed again by X ends as if it had never been. */
void tables_rollback(struct tables_txn *x)
{
    struct tables *t = x->tables;

    for (size_t i = x->n; i-- > 0;) {
        const struct tables_change *c = &x->changes[i];
        struct rule *back = c->type == TABLES_REMOVED ? c->rule : c->replaces;
        if (c->type == TABLES_ADDED) {
            /* Never visible: from the version that it was added in on. */
            classifier_remove(&c->rule->cls, x->version);
            classifier_retire(t->table[c->rule->table_id].cls, &c->rule->cls, rule_free_cb);
        }
        if (back) {
            classifier_restore(&back->cls);
        }
        if (!c->replaces) {
            t->table[c->rule->table_id].n_rules += c->type == TABLES_REMOVED ? is_counted(c->rule) : -is_counted(c->rule);
        }
    }
    publish_touched(x);
    x->n = 0;
    t->in_txn = false;
}

void tables_end(struct tables_txn *x)
{
    for (size_t i = 0; i < x->n; i++) {
        if (x->changes[i].replaces) {
            rule_unref(x->changes[i].replaces);
        }
        rule_unref(x->changes[i].rule);
    }
    free(x->changes);
}

static uint16_t shorter(uint16_t now, uint16_t wanted) { return !wanted || (now && now < wanted) ? now : wanted; }

void tables_shorten(struct tables *t, struct rule *r, uint16_t idle_timeout, uint16_t hard_timeout)
{
    __atomic_store_n(&r->idle_timeout, shorter(r->idle_timeout, idle_timeout), __ATOMIC_RELAXED);
    __atomic_store_n(&r->hard_timeout, shorter(r->hard_timeout, hard_timeout), __ATOMIC_RELAXED);
    if (!r->timed) {
        time_rule(t, r);
    }
}

void tables_for_each_timed(struct tables *t, void (*cb)(struct rule *, void *aux), void *aux)
{
    for (size_t i = 0; i < t->n_timed; i++) {
        cb(t->timed[i], aux);
    }
}
