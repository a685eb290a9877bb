/* See group.h. */
#include <config.h>

#include "ofproto/group.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "ofproto/tables.h"

#define MIN_BUCKETS 16

struct groups {
    struct cds_lfht *by_id;
    /* Main's. */
    size_t n, n_hash_buckets;
    size_t n_watching; /* Buckets that watch something. */
};

/* ---- A group. ---- */

struct group *group_create(uint32_t id, enum ofp_group_type type, const struct ofp_group_selection *selection, size_t n_buckets,
                           struct rule_counts *counts, uint64_t now)
{
    struct group *g = xzalloc(sizeof *g + n_buckets * sizeof g->buckets[0]);

    g->id = id;
    g->type = type;
    g->selection = *selection;
    g->created = now;
    g->rule = rule_create(&(struct rule_spec) { .flags = RULE_HIDDEN }, TABLE_INTERNAL, counts, now);
    return g;
}

void group_add_bucket(struct group *g, const struct ofp_bucket *b, const struct ofp_act *acts, size_t acts_len, uint64_t now)
{
    const struct rule_spec spec = { .flags = RULE_HIDDEN, .acts = acts, .acts_len = acts_len };

    g->buckets[g->n_buckets++] = (struct bucket) {
        .id = b->id,
        .weight = g->type == OFPGT_SELECT ? b->weight : 0,
        .watch_port = b->watch_port,
        .watch_group = b->watch_group,
        .rule = rule_create(&spec, TABLE_INTERNAL, NULL, now),
    };
}

void group_copy_bucket(struct group *g, const struct bucket *b)
{
    rule_ref(b->rule);
    g->buckets[g->n_buckets++] = *b;
}

void group_destroy(struct group *g)
{
    for (size_t i = 0; i < g->n_buckets; i++) {
        rule_unref(g->buckets[i].rule);
    }
    rule_unref(g->rule);
    free(g);
}

static void destroy_cb(struct rcu_head *rcu) { group_destroy(CONTAINER_OF(rcu, struct group, rcu)); }

static size_t n_watching(const struct group *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_buckets; i++) {
        n += !ofp_port_eq(g->buckets[i].watch_port, OFPP_NONE) || g->buckets[i].watch_group != OFPG_ANY;
    }
    return n;
}

/* ---- All of a bridge. ---- */

struct groups *groups_create(void)
{
    struct groups *g = xzalloc(sizeof *g);

    g->n_hash_buckets = MIN_BUCKETS;
    g->by_id = cds_lfht_new(MIN_BUCKETS, MIN_BUCKETS, 0, 0, NULL);
    if (!g->by_id) {
        fatal(0, "out of memory for a table of groups");
    }
    return g;
}

void groups_destroy(struct groups *g)
{
    size_t n;
    struct group **v = groups_sorted(g, &n);

    for (size_t i = 0; i < n; i++) {
        rcu_read_lock();
        cds_lfht_del(g->by_id, &v[i]->node);
        rcu_read_unlock();
        call_rcu(&v[i]->rcu, destroy_cb);
    }
    free(v);
    cds_lfht_destroy(g->by_id, NULL);
    free(g);
}

static int match_id(struct cds_lfht_node *node, const void *id)
{
    return CONTAINER_OF(node, struct group, node)->id == *(const uint32_t *) id;
}

struct group *groups_find(const struct groups *g, uint32_t id)
{
    struct cds_lfht_iter iter;

    rcu_read_lock(); /* Main has none. */
    cds_lfht_lookup(g->by_id, hash_u64(id, 0), match_id, &id, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    rcu_read_unlock();
    return node ? CONTAINER_OF(node, struct group, node) : NULL;
}

static int compare_ids(const void *a_, const void *b_)
{
    const struct group *a = *(struct group *const *) a_, *b = *(struct group *const *) b_;

    return a->id < b->id ? -1 : a->id > b->id;
}

struct group **groups_sorted(const struct groups *g, size_t *ret_n)
{
    struct group **v = xcalloc(g->n + 1, sizeof *v);
    struct cds_lfht_iter iter;
    struct group *group;
    size_t n = 0;

    rcu_read_lock();
    cds_lfht_for_each_entry (g->by_id, &iter, group, node) {
        v[n++] = group;
    }
    rcu_read_unlock();
    qsort(v, n, sizeof *v, compare_ids);
    *ret_n = n;
    return v;
}

bool groups_watch(const struct groups *g) { return g->n_watching > 0; }

/* ---- Transactions. ---- */

void groups_begin(struct groups *g, struct groups_txn *x) { *x = (struct groups_txn) { .groups = g }; }

struct group *groups_txn_find(const struct groups_txn *x, uint32_t id)
{
    for (size_t i = x->n; i-- > 0;) {
        if (x->changes[i].id == id) {
            return x->changes[i].now;
        }
    }
    return groups_find(x->groups, id);
}

void groups_put(struct groups_txn *x, uint32_t id, struct group *group)
{
    struct group *was = groups_txn_find(x, id);

    if (x->n == x->allocated) {
        x->allocated = MAX(8, 2 * x->allocated);
        x->changes = xrealloc(x->changes, x->allocated * sizeof *x->changes);
    }
    x->changes[x->n++] = (struct group_change) { id, was, group };
}

/* Puts C's group in the place of the one that was there. */
static void publish(struct groups *g, const struct group_change *c)
{
    cds_lfht_node_init(&c->now->node);
    g->n_watching += n_watching(c->now);
    rcu_read_lock();
    if (c->was) {
        struct cds_lfht_iter iter;
        g->n_watching -= n_watching(c->was);
        cds_lfht_lookup(g->by_id, hash_u64(c->id, 0), match_id, &c->id, &iter);
        cds_lfht_replace(g->by_id, &iter, hash_u64(c->id, 0), match_id, &c->id, &c->now->node);
    } else {
        cds_lfht_add(g->by_id, hash_u64(c->id, 0), &c->now->node);
        g->n++;
    }
    rcu_read_unlock();
    if (c->was) {
        call_rcu(&c->was->rcu, destroy_cb);
    }
}

/* A group that is deleted and made anew in one transaction is replaced: its deletion is not seen. */
static bool is_made_anew(const struct groups_txn *x, size_t i)
{
    for (size_t k = i + 1; k < x->n; k++) {
        if (x->changes[k].id == x->changes[i].id) {
            return true;
        }
    }
    return false;
}

void groups_commit(struct groups_txn *x)
{
    struct groups *g = x->groups;

    for (size_t i = 0; i < x->n; i++) {
        struct group_change *c = &x->changes[i];
        if (!c->now && is_made_anew(x, i)) { /* The next one takes its place. */
            for (size_t k = i + 1;; k++) {
                if (x->changes[k].id == c->id) {
                    x->changes[k].was = c->was;
                    break;
                }
            }
            c->was = NULL;
        } else if (c->now) {
            publish(g, c);
        }
    }
    if (g->n > g->n_hash_buckets) {
        g->n_hash_buckets *= 4;
        cds_lfht_resize(g->by_id, g->n_hash_buckets);
    }
}

void groups_end(struct groups_txn *x)
{
    struct groups *g = x->groups;

    for (size_t i = 0; i < x->n; i++) {
        struct group *was = x->changes[i].was;
        if (!x->changes[i].now && was) {
            rcu_read_lock();
            cds_lfht_del(g->by_id, &was->node);
            rcu_read_unlock();
            g->n--;
            g->n_watching -= n_watching(was);
            call_rcu(&was->rcu, destroy_cb);
        }
    }
    free(x->changes);
}

void groups_rollback(struct groups_txn *x)
{
    for (size_t i = 0; i < x->n; i++) {
        if (x->changes[i].now) {
            group_destroy(x->changes[i].now);
        }
    }
    free(x->changes);
}
