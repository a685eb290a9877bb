/* See learned.h.
 *
 * Actions are few compared to what they learn: a sorted array, copied when one more is needed, or one less. */
#include <config.h>

#include "ofproto/learned.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "ofproto/tables.h"

struct count {
    struct rcu_head rcu;
    struct learned_cookie key;
    uint64_t n;                 /* Flows; atomic. */
    size_t n_users, n_deleters; /* Main's: actions that want to know; of them with delete_learned. */
};

struct learned_index {
    struct rcu_head rcu;
    size_t n;
    struct count *counts[];
};

static int compare(const struct learned_cookie *a, const struct learned_cookie *b)
{
    if (a->table_id != b->table_id) {
        return a->table_id < b->table_id ? -1 : 1;
    }
    return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

/* The place of KEY in INDEX, or where it would have to be. */
static size_t place(const struct learned_index *index, const struct learned_cookie *key)
{
    size_t low = 0, high = index ? index->n : 0;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (compare(&index->counts[mid]->key, key) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static struct count *find(const struct learned_index *index, const struct learned_cookie *key)
{
    size_t i = place(index, key);

    return index && i < index->n && !compare(&index->counts[i]->key, key) ? index->counts[i] : NULL;
}

bool learned_count(const struct learned *l, uint8_t table_id, uint64_t cookie, uint64_t *ret_n)
{
    const struct learned_cookie key = { .table_id = table_id, .cookie = cookie };
    const struct count *c = find(rcu_dereference(l->index), &key);

    if (c) {
        *ret_n = __atomic_load_n(&c->n, __ATOMIC_RELAXED);
    }
    return c;
}

static void index_free_cb(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct learned_index, rcu)); }

static void count_free_cb(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct count, rcu)); }

void learned_uninit(struct learned *l)
{
    for (size_t i = 0; l->index && i < l->index->n; i++) {
        free(l->index->counts[i]);
    }
    free(l->index);
    free(l->orphans);
}

/* A copy of OLD with N counts: what was at FROM and after is at TO and after. */
static struct learned_index *copy(const struct learned_index *old, size_t n, size_t from, size_t to)
{
    struct learned_index *new = xzalloc(sizeof *new + n * sizeof *new->counts);

    new->n = n;
    if (old) {
        memcpy(new->counts, old->counts, MIN(from, to) * sizeof *new->counts);
        memcpy(new->counts + to, old->counts + from, (old->n - from) * sizeof *new->counts);
    }
    return new;
}

static void publish(struct learned *l, struct learned_index *new)
{
    struct learned_index *old = l->index;

    rcu_assign_pointer(l->index, new);
    if (old) {
        call_rcu(&old->rcu, index_free_cb);
    }
}

struct census {
    uint64_t cookie, n;
};

static bool census_cb(struct rule *r, void *census_)
{
    struct census *census = census_;

    census->n += r->cookie == census->cookie;
    return true;
}

uint64_t learned_census(const struct tables *t, uint8_t table_id, uint64_t cookie, uint64_t version)
{
    struct census census = { .cookie = cookie };

    tables_for_each(t, table_id, NULL, version, census_cb, &census);
    return census.n;
}

static struct count *add_count(struct learned *l, const struct tables_txn *x, const struct learned_cookie *key)
{
    size_t n = l->index ? l->index->n : 0, i = place(l->index, key);
    struct learned_index *new = copy(l->index, n + 1, i, i + 1);
    struct count *c = xzalloc(sizeof *c);

    rcu_read_lock();
    c->n = learned_census(x->tables, key->table_id, key->cookie, x->version);
    rcu_read_unlock();
    c->key = *key;
    new->counts[i] = c;
    publish(l, new);
    return c;
}

static void remove_count(struct learned *l, struct count *c)
{
    size_t i = place(l->index, &c->key);

    publish(l, l->index->n > 1 ? copy(l->index, l->index->n - 1, i + 1, i) : NULL);
    call_rcu(&c->rcu, count_free_cb);
}

static void note_orphan(struct learned *l, const struct learned_cookie *key)
{
    if (l->n_orphans == l->allocated_orphans) {
        l->allocated_orphans = MAX(4, 2 * l->allocated_orphans);
        l->orphans = xrealloc(l->orphans, l->allocated_orphans * sizeof *l->orphans);
    }
    l->orphans[l->n_orphans++] = *key;
}

bool learned_take_orphan(struct learned *l, struct learned_cookie *ret)
{
    if (!l->n_orphans) {
        return false;
    }
    *ret = l->orphans[--l->n_orphans];
    return true;
}

static void use(struct learned *l, const struct tables_txn *x, const struct ofp_act_learn *a)
{
    const struct learned_cookie key = { .table_id = a->table, .cookie = a->cookie };
    struct count *c = find(l->index, &key);

    c = c ? c : add_count(l, x, &key);
    c->n_users++;
    c->n_deleters += a->flags & OFP_LEARN_F_DELETE_LEARNED ? 1 : 0;
}

static void unuse(struct learned *l, const struct ofp_act_learn *a)
{
    const struct learned_cookie key = { .table_id = a->table, .cookie = a->cookie };
    struct count *c = find(l->index, &key);

    if (a->flags & OFP_LEARN_F_DELETE_LEARNED && !--c->n_deleters) {
        note_orphan(l, &key);
    }
    if (!--c->n_users) {
        remove_count(l, c);
    }
}

static void visit(struct learned *l, const struct tables_txn *x, const struct ofp_act *acts, size_t len, bool comes)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        const struct ofp_act_learn *learn = ofp_act_cast(a);
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        if (a->type == OFP_ACT_LEARN && (learn->limit || learn->flags & OFP_LEARN_F_DELETE_LEARNED)) {
            if (comes) {
                use(l, x, learn);
            } else {
                unuse(l, learn);
            }
        } else if (nested) {
            visit(l, x, nested, nested_len, comes);
        }
    }
}

static void count(struct learned *l, const struct rule *r, uint64_t n)
{
    const struct learned_cookie key = { .table_id = r->table_id, .cookie = r->cookie };
    struct count *c = find(l->index, &key);

    if (c) {
        __atomic_add_fetch(&c->n, n, __ATOMIC_RELAXED);
    }
}

/* First what there is of counts already; then the actions that come, whose counts are taken anew; those that go last, so that a rule
 * that takes another's place with the same action loses nothing that has been learned. */
void learned_commit(struct learned *l, const struct tables_txn *x)
{
    for (size_t i = 0; l->index && i < x->n; i++) {
        if (x->changes[i].type == TABLES_ADDED) {
            count(l, x->changes[i].rule, 1);
        }
        if (tables_change_gone(&x->changes[i])) {
            count(l, tables_change_gone(&x->changes[i]), -1);
        }
    }
    for (size_t i = 0; i < x->n; i++) {
        if (x->changes[i].type == TABLES_ADDED) {
            visit(l, x, rule_acts(x->changes[i].rule), x->changes[i].rule->acts_len, true);
        }
    }
    for (size_t i = 0; l->index && i < x->n; i++) {
        const struct rule *r = tables_change_gone(&x->changes[i]);
        if (r) {
            visit(l, x, rule_acts(r), r->acts_len, false);
        }
    }
}
