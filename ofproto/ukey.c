/* See ukey.h. */
#include <config.h>

#include "ofproto/ukey.h"

#include <stdlib.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/recirc.h"
#include "ofproto/rule.h"

LOG_MODULE(ukey);

COUNTER_DEFINE(ukey_insert);
COUNTER_DEFINE(ukey_insert_lost);
COUNTER_DEFINE(ukey_remove);

/* Buckets of the hash table.  It does not resize itself: without counting, liburcu's grows with the length of chains, to thirty times the
 * entries after a burst, never shrinks, and each walk passes all of its buckets (2.5 s after 60,000 flows that had come and gone, in every
 * round); with counting, each insertion asks the system for its CPU.  So whoever walks it adapts it (ukey_table_fit()).  The least: 256 kB,
 * and chains of four when 65,000 flows come in a burst. */
#define MIN_BUCKETS 16384
#define MAX_BUCKETS (1ul << 24)

struct ukey_table {
    struct cds_lfht *ht;
    uint64_t n;              /* Atomic. */
    unsigned long n_buckets; /* Of the one thread that calls ukey_table_fit(). */
};

const char *ukey_state_name(enum ukey_state state)
{
    static const char *const names[] = {
#define STATE(NAME) #NAME,
        UKEY_STATES
#undef STATE
    };
    return names[state];
}

bool ukey_transition_is_legal(enum ukey_state from, enum ukey_state to)
{
#define TO(STATE) (1u << UKEY_##STATE)
    static const unsigned int legal[UKEY_N_STATES] = {
        [UKEY_CREATED] = TO(VISIBLE) | TO(GONE),
        [UKEY_VISIBLE] = TO(INSTALLED) | TO(GONE),
        [UKEY_INSTALLED] = TO(EVICTING) | TO(INCONSISTENT) | TO(EVICTED),
        [UKEY_INCONSISTENT] = TO(INSTALLED) | TO(EVICTING) | TO(EVICTED),
        [UKEY_EVICTING] = TO(EVICTED),
        [UKEY_EVICTED] = TO(GONE),
        [UKEY_GONE] = 0,
    };
#undef TO
    return legal[from] >> to & 1;
}

void ukey_transition_at(struct ukey *u, enum ukey_state state, uint64_t now, const char *where)
{
    if (unlikely(!ukey_transition_is_legal(u->state, state))) {
        log_emer("ukey: illegal transition %s -> %s at %s (the one before was made at %s)", ukey_state_name(u->state),
                 ukey_state_name(state), where, u->where);
        abort();
    }
    u->state = state;
    u->where = where;
    u->changed = now;
}

struct ukey_table *ukey_table_create(void)
{
    struct ukey_table *t = xzalloc(sizeof *t);
    t->n_buckets = MIN_BUCKETS;
    t->ht = cds_lfht_new(MIN_BUCKETS, MIN_BUCKETS, MAX_BUCKETS, 0, NULL);
    if (!t->ht) {
        fatal(0, "out of memory for the flow table");
    }
    return t;
}

static void release_rules(struct ukey *u) NO_THREAD_SAFETY_ANALYSIS
{
    for (unsigned int i = 0; i < u->n_rules; i++) {
        rule_unref(u->rules[i]);
    }
    free(u->rules);
    u->rules = NULL;
    u->n_rules = 0;
}

static void release_recircs(struct ukey *u) NO_THREAD_SAFETY_ANALYSIS
{
    for (unsigned int i = 0; i < u->n_recircs; i++) {
        recirc_unref(u->recircs[i]);
    }
    free(u->recircs);
    u->recircs = NULL;
    u->n_recircs = 0;
}

static void release_lessons(struct ukey *u) NO_THREAD_SAFETY_ANALYSIS
{
    LESSON_FOR_EACH (l, &u->lessons) {
        rule_unref(l->rule);
    }
    free(u->lessons.memory);
    u->lessons = (struct lesson_list) { .memory = NULL };
}

static void ukey_free(struct ukey *u)
{
    release_rules(u);
    release_recircs(u);
    release_lessons(u);
    lock_uninit(&u->lock);
    free(u->actions);
    free(u->effects);
    free(u);
}

static void ukey_free_rcu(struct rcu_head *head) { ukey_free(CONTAINER_OF(head, struct ukey, rcu)); }

void ukey_table_destroy(struct ukey_table *t)
{
    struct cds_lfht_iter iter;
    struct ukey *u;

    if (!t) {
        return;
    }
    rcu_read_lock();
    cds_lfht_for_each_entry(t->ht, &iter, u, node) {
        if (!cds_lfht_del(t->ht, &u->node)) {
            call_rcu(&u->rcu, ukey_free_rcu);
        }
    }
    rcu_read_unlock();
    if (cds_lfht_destroy(t->ht, NULL)) {
        log_err("the flow table could not be freed");
    }
    free(t);
}

unsigned long ukey_table_fit(struct ukey_table *t)
{
    unsigned long n = ukey_table_count(t), wanted = MIN_BUCKETS;

    while (wanted < n && wanted < MAX_BUCKETS) {
        wanted *= 2;
    }
    if (wanted > t->n_buckets || wanted < t->n_buckets / 4) { /* Not to and fro. */
        cds_lfht_resize(t->ht, wanted);
        t->n_buckets = wanted;
    }
    return t->n_buckets;
}

uint64_t ukey_table_count(const struct ukey_table *t) { return __atomic_load_n(&t->n, __ATOMIC_RELAXED); }

static int match_ufid(struct cds_lfht_node *node, const void *ufid)
{
    return ufid_eq(&CONTAINER_OF(node, struct ukey, node)->ufid, ufid);
}

struct ukey *ukey_find(const struct ukey_table *t, const struct ufid *ufid)
{
    struct cds_lfht_iter iter;
    cds_lfht_lookup(t->ht, ufid->lo, match_ufid, ufid, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    return node ? CONTAINER_OF(node, struct ukey, node) : NULL;
}

static struct ukey *ukey_create(const struct ukey_spec *spec) NO_THREAD_SAFETY_ANALYSIS
{
    struct ukey *u = xzalloc(sizeof *u + spec->key_len + spec->mask_len);

    u->ufid = spec->ufid;
    u->key_len = spec->key_len;
    u->mask_len = spec->mask_len;
    memcpy(u->attrs, spec->key, spec->key_len);
    memcpy((char *) u->attrs + spec->key_len, spec->mask, spec->mask_len);
    lock_init(&u->lock, RANK_UKEY);
    u->state = UKEY_CREATED;
    u->where = __func__;
    u->created = spec->now;
    u->reval_seq = spec->reval_seq;
    u->deps = spec->deps;
    u->round = spec->round;
    ukey_set_actions(u, spec->actions, spec->actions_len);
    ukey_set_effects(u, spec->effects, spec->n_effects, spec->config_version);
    ukey_set_rules(u, spec->rules, spec->n_rules);
    ukey_set_recircs(u, spec->recircs, spec->n_recircs);
    ukey_set_lessons(u, &spec->lessons);
    ukey_transition(u, UKEY_VISIBLE, spec->now);
    return u;
}

struct ukey *ukey_insert(struct ukey_table *t, const struct ukey_spec *spec, bool *ret_won)
{
    struct ukey *u = ukey_create(spec);
    cds_lfht_node_init(&u->node);
    struct cds_lfht_node *node = cds_lfht_add_unique(t->ht, u->ufid.lo, match_ufid, &u->ufid, &u->node);
    *ret_won = node == &u->node;
    if (*ret_won) {
        COUNTER_INC(ukey_insert);
        __atomic_add_fetch(&t->n, 1, __ATOMIC_RELAXED);
        return u;
    }
    /* Nobody else has seen it. */
    COUNTER_INC(ukey_insert_lost);
    ukey_free(u);
    return CONTAINER_OF(node, struct ukey, node);
}

void ukey_remove(struct ukey_table *t, struct ukey *u, uint64_t now)
{
    if (cds_lfht_del(t->ht, &u->node)) {
        return; /* Another thread won, and frees. */
    }
    COUNTER_INC(ukey_remove);
    __atomic_sub_fetch(&t->n, 1, __ATOMIC_RELAXED);
    lock_acquire(&u->lock);
    ukey_transition(u, UKEY_GONE, now);
    lock_release(&u->lock);
    call_rcu(&u->rcu, ukey_free_rcu);
}

void ukey_set_actions(struct ukey *u, const void *actions, size_t len)
{
    free(u->actions);
    u->actions = len ? xmemdup(actions, len) : NULL;
    u->actions_len = len;
}

void ukey_set_effects(struct ukey *u, const struct effect *effects, unsigned int n, uint64_t config_version)
{
    free(u->effects);
    u->effects = n ? xmemdup(effects, n * sizeof *effects) : NULL;
    u->n_effects = n;
    u->config_version = config_version;
}

void ukey_set_rules(struct ukey *u, struct rule *const *rules, unsigned int n)
{
    if (n == u->n_rules && (!n || !memcmp(rules, u->rules, n * sizeof *rules))) {
        return; /* The common case of a flow that is translated again. */
    }
    struct rule **copy = n ? xcalloc(n, sizeof *copy) : NULL;
    unsigned int n_copy = 0;
    for (unsigned int i = 0; i < n; i++) {
        if (rule_try_ref(rules[i])) { /* Else it is about to be freed: it left its table since. */
            copy[n_copy++] = rules[i];
        }
    }
    release_rules(u);
    u->rules = copy;
    u->n_rules = n_copy;
}

void ukey_set_recircs(struct ukey *u, struct recirc *const *recircs, unsigned int n)
{
    if (n == u->n_recircs && (!n || !memcmp(recircs, u->recircs, n * sizeof *recircs))) {
        return; /* Nearly always. */
    }
    struct recirc **copy = n ? xcalloc(n, sizeof *copy) : NULL;
    unsigned int n_copy = 0;
    for (unsigned int i = 0; i < n; i++) {
        if (likely(recirc_try_ref(recircs[i]))) {
            copy[n_copy++] = recircs[i];
        } else {
            u->reval_seq = 0;
        }
    }
    release_recircs(u);
    u->recircs = copy;
    u->n_recircs = n_copy;
}

void ukey_set_lessons(struct ukey *u, const struct lesson_list *lessons)
{
    if (likely(!lessons->len && !u->lessons.len)) {
        return;
    }
    struct lesson_list copy = { .memory = lessons->len ? xmalloc(lessons->len) : NULL };
    LESSON_FOR_EACH (l, lessons) {
        if (rule_try_ref(l->rule)) { /* As above. */
            memcpy((char *) copy.memory + copy.len, l, l->len);
            copy.len += l->len;
        }
    }
    release_lessons(u);
    u->lessons = copy;
}

void ukey_set_stats(struct ukey *u, const struct dpif_flow_stats *stats)
{
    /* Less than before: somebody has put the flow anew. */
    uint64_t packets = stats->n_packets - (stats->n_packets >= u->stats.n_packets ? u->stats.n_packets : 0);
    uint64_t bytes = stats->n_bytes - (stats->n_bytes >= u->stats.n_bytes ? u->stats.n_bytes : 0);

    for (unsigned int i = 0; packets && i < u->n_rules; i++) {
        rule_count(u->rules[i], packets, bytes, stats->used);
    }
    u->stats = *stats;
}

void ukey_table_walk(struct ukey_table *t, void (*cb)(struct ukey *, void *aux), void *aux)
{
    struct cds_lfht_iter iter;
    struct ukey *u;

    rcu_read_lock();
    cds_lfht_for_each_entry(t->ht, &iter, u, node) {
        cb(u, aux);
    }
    rcu_read_unlock();
}
