/* See reval-flow.h.
 *
 * Threads: any number of revalidators, each with a `struct reval` of its own, and handlers, which create ukeys
 * meanwhile.  A flow is looked at by one of them a round: the first sets the ukey's round under its lock. */
#include <config.h>

#include "ofproto/reval-flow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"
#include "lib/odp/odp-key.h"
#include "ofproto/mac.h"
#include "ofproto/recirc.h"
#include "ofproto/xlate-config.h"

LOG_MODULE(revalidator);

COUNTER_DEFINE(revalidate_translate);
COUNTER_DEFINE(revalidate_adopt);
COUNTER_DEFINE(revalidate_idle);
COUNTER_DEFINE(revalidate_too_wide);
COUNTER_DEFINE(revalidate_vanished);

int reval_init(struct reval *r, struct flowcache *fc, struct session_pool *sessions, unsigned int user)
{
    memset(r, 0, sizeof *r);
    r->fc = fc;
    r->sessions = sessions;
    r->user = user;
    int error = session_pool_join(sessions);
    if (error) {
        return error;
    }
    flow_ops_init(&r->ops, fc, sessions, user, &r->learner);
    r->actions_memory = xmalloc(XLATE_ACTIONS_SIZE);
    r->mask_memory = xmalloc(ODP_KEY_MAX_SIZE);
    r->rules_memory = xcalloc(XLATE_MAX_RULES, sizeof *r->rules_memory);
    r->lessons_memory = xmalloc(LESSONS_SIZE);
    learner_init(&r->learner);
    return 0;
}

void reval_uninit(struct reval *r)
{
    flow_ops_uninit(&r->ops);
    session_pool_leave(r->sessions);
    free(r->actions_memory);
    free(r->mask_memory);
    free(r->rules_memory);
    free(r->lessons_memory);
    learner_uninit(&r->learner);
}

/* Is every bit that MASK looks at matched by the flow of U?  Else the flow covers packets that the tables would treat
 * otherwise. */
static bool covers_no_more(struct reval *r, const struct ukey *u, const struct flow *flow, const struct flow *mask)
{
    struct attrbuf b;
    struct flow installed;

    attrbuf_init(&b, r->mask_memory, ODP_KEY_MAX_SIZE);
    odp_mask_put(&b, flow, mask);
    if (!b.overflow && attrbuf_len(&b) == u->mask_len && !memcmp(attrbuf_data(&b), ukey_mask(u), u->mask_len)) {
        return true; /* The common case, without decoding. */
    }
    return odp_mask_to_flow(ukey_mask(u), u->mask_len, flow, &installed) != ODP_FIT_ERROR
           && flow_mask_is_subset(mask, &installed);
}

/* Translates U's flow again.  Adds to the batch what follows from it.  Returns false if the flow is to be deleted; so is one that
 * is INCONSISTENT: a change of it failed, what it does now nobody knows, and its next packet leads to a right one. */
static bool translate_again(struct reval *r, struct ukey *u) REQUIRES(u->lock)
{
    const struct xconfig *config = flowcache_config(r->fc);
    struct flow flow;
    struct xlate_out out;

    if (u->state == UKEY_INCONSISTENT) {
        return false;
    }
    COUNTER_INC(revalidate_translate);
    r->n_translated++;
    if (odp_key_to_flow(ukey_key(u), u->key_len, &flow) != ODP_FIT_PERFECT) {
        return false;
    }
    attrbuf_init(&out.actions, r->actions_memory, XLATE_ACTIONS_SIZE);
    out.rules = r->rules_memory;
    out.lessons.memory = r->lessons_memory;
    out.lessons.scratch = &r->learner.acts;
    xlate(config, &flow, &out);
    if (xlate_is_stray(out.verdict)) {
        return false;
    }
    if (!covers_no_more(r, u, &flow, &out.mask)) {
        COUNTER_INC(revalidate_too_wide);
        return false;
    }
    if (unlikely(out.slow)) {
        attrbuf_clear(&out.actions);
        xlate_put_slow(&out, &out.actions);
    }
    ukey_set_effects(u, out.effects, out.n_effects, config ? config->version : 0);
    ukey_set_rules(u, out.rules, out.n_rules);
    ukey_set_lessons(u, &out.lessons);
    u->deps = out.deps;
    u->reval_seq = r->seq;
    ukey_set_recircs(u, out.recircs, out.n_recircs); /* Last: may make it old. */
    size_t len = attrbuf_len(&out.actions);
    if (len != u->actions_len || (len && memcmp(attrbuf_data(&out.actions), u->actions, len))) {
        flow_ops_modify(&r->ops, u, attrbuf_data(&out.actions), len);
    }
    return true;
}

/* What the packets since the last look would have done on the slow path: refresh what was learned. */
void reval_run_effects(struct flowcache *fc, const struct effect *effects, unsigned int n, uint64_t used)
{
    dep_t changed[XLATE_MAX_EFFECTS * MAC_LEARN_DEPS];
    size_t n_changed = 0;
    for (unsigned int i = 0; i < n; i++) {
        n_changed += mac_table_learn(effects[i].macs, effects[i].vlan, effects[i].mac, effects[i].bundle, used,
                                     &changed[n_changed]);
    }
    flowcache_changed(fc, changed, n_changed);
}

/* Whether what U does may be wrong by now: see dep.h. */
static bool is_doubtful(const struct reval *r, const struct ukey *u) REQUIRES(u->lock)
{
    return u->reval_seq < r->base || u->state == UKEY_INCONSISTENT || dep_set_hits(r->changed, &u->deps);
}

/* Revalidates U, whose flow the datapath has, with STATS.  Under RCU. */
static void reval_ukey(struct reval *r, struct ukey *u, const struct dpif_flow_stats *stats)
{
    struct flow_taught taught = { .n = 0 };

    lock_acquire(&u->lock);
    if ((u->state != UKEY_INSTALLED && u->state != UKEY_INCONSISTENT) || u->round == r->round) {
        /* Its handler has yet to book the put; or somebody deletes it; or the dump shows it twice. */
        lock_release(&u->lock);
        return;
    }
    u->round = r->round;
    r->n_checked++;
    bool active = stats->n_packets != u->stats.n_packets;
    ukey_set_stats(u, stats);

    uint64_t used = stats->used ? stats->used : u->created;
    bool right = true;
    if (used + r->max_idle_ms <= r->now) {
        COUNTER_INC(revalidate_idle);
        right = false;
    } else if (is_doubtful(r, u)) {
        right = translate_again(r, u);
    } else {
        u->reval_seq = r->seq;
    }
    if (active) {
        flow_ops_teach(&r->ops, u, stats, &taught); /* Of a flow that is to be deleted, too: what its packets met until now. */
    }
    if (!right) {
        flow_ops_delete(&r->ops, u);
    }
    lock_release(&u->lock);

    /* Outside of the lock: the MAC table's rank is lower. */
    flow_ops_end_teaching(&r->ops, &taught);
}

/* Makes a ukey for F, so that it is judged like any other; deletes it if it cannot be understood. */
static void adopt_whole(struct reval *r, const struct dpif_flow *f)
{
    struct flow flow, mask;
    bool won;

    if (odp_key_to_flow(f->key, f->key_len, &flow) != ODP_FIT_PERFECT
        || odp_mask_to_flow(f->mask, f->mask_len, &flow, &mask) != ODP_FIT_PERFECT) {
        flow_ops_delete_foreign(&r->ops, f);
        return;
    }
    if (flow.recirc_id && !recirc_find(flow.recirc_id) && recirc_is_settling()) {
        return; /* A predecessor's.  The flow that sends packets there has not been seen yet: some later round knows. */
    }
    /* What the kernel shows of a masked key it does not always read again: an Ethernet type that is not matched is shown as 0, which
     * is none.  So the ukey gets key and mask as we write them: its actions may have to be changed. */
    if (!flow.eth_type) {
        flow.eth_type = htons(ETH_TYPE_802_2);
    }
    uint32_t key_memory[ODP_KEY_MAX_SIZE / 4], mask_memory[ODP_KEY_MAX_SIZE / 4];
    struct attrbuf key_attrs, mask_attrs;
    attrbuf_init(&key_attrs, key_memory, sizeof key_memory);
    odp_key_put_masked(&key_attrs, &flow, &mask);
    attrbuf_init(&mask_attrs, mask_memory, sizeof mask_memory);
    odp_mask_put(&mask_attrs, &flow, &mask);
    if (key_attrs.overflow || mask_attrs.overflow) {
        flow_ops_delete_foreign(&r->ops, f);
        return;
    }

    struct ukey_spec spec = {
        .ufid = f->ufid,
        .key = attrbuf_data(&key_attrs), .key_len = attrbuf_len(&key_attrs),
        .mask = attrbuf_data(&mask_attrs), .mask_len = attrbuf_len(&mask_attrs),
        .actions = f->actions, .actions_len = f->actions_len,
        .now = r->now,
        /* reval_seq 0: below any base, so that it is translated at once. */
    };
    struct ukey *u = ukey_insert(r->fc->ukeys, &spec, &won);
    if (!won) {
        return; /* A handler is just installing it. */
    }
    COUNTER_INC(revalidate_adopt);
    r->n_adopted++;
    lock_acquire(&u->lock);
    ukey_transition(u, UKEY_INSTALLED, r->now);
    lock_release(&u->lock);
    reval_ukey(r, u, &f->stats);
}

/* A flow that no ukey is for: a predecessor's, or somebody else's. */
static void adopt(struct reval *r, const struct dpif_flow *terse)
{
    struct dpif_flow f;

    if (!terse->has_ufid) {
        flow_ops_delete_foreign(&r->ops, terse); /* Not one of ours, and not to be named in a terse dump. */
        return;
    }
    struct pooled_session *ps = session_pool_take(r->sessions, r->user);
    if (!dpif_flow_get(ps->session, &terse->ufid, NULL, 0, &f)) { /* Else it is gone again; or the next round tries again. */
        adopt_whole(r, &f);
    }
    session_pool_give(r->sessions, ps);
}

void reval_flows(struct reval *r, const struct dpif_flow *flows, int n)
{
    r->ops.now = r->now;
    rcu_read_lock();
    for (int i = 0; i < n; i++) {
        struct ukey *u = flows[i].has_ufid ? ukey_find(r->fc->ukeys, &flows[i].ufid) : NULL;
        if (u) {
            reval_ukey(r, u, &flows[i].stats);
        } else {
            adopt(r, &flows[i]);
        }
        if (flow_ops_is_full(&r->ops)) {
            flow_ops_flush(&r->ops);
        }
    }
    flow_ops_flush(&r->ops);
    rcu_read_unlock();
}

static void forget(struct reval *r, struct ukey *u)
{
    lock_acquire(&u->lock);
    bool gone = u->state == UKEY_INSTALLED || u->state == UKEY_INCONSISTENT;
    if (gone) {
        ukey_transition(u, UKEY_EVICTED, r->now);
    }
    lock_release(&u->lock);
    if (gone) {
        COUNTER_INC(revalidate_vanished);
        ukey_remove(r->fc->ukeys, u, r->now);
    }
}

void reval_unseen(struct reval *r, const struct ufid *ufids, size_t n)
{
    r->ops.now = r->now;
    for (size_t i = 0; i < n; i++) {
        struct dpif_flow f;
        struct pooled_session *ps = session_pool_take(r->sessions, r->user);
        int error = dpif_flow_get(ps->session, &ufids[i], NULL, 0, &f); /* Only what does not point into the session is looked at. */
        session_pool_give(r->sessions, ps);
        rcu_read_lock();
        struct ukey *u = ukey_find(r->fc->ukeys, &ufids[i]);
        if (u && !error) {
            reval_ukey(r, u, &f.stats);
            flow_ops_flush(&r->ops);
        } else if (u && error == -ENOENT) {
            forget(r, u);
        }
        rcu_read_unlock();
    }
}


struct ufid_list {
    struct ufid *ufids;
    size_t n, allocated;
};

static void collect_ufid(struct ukey *u, void *list_)
{
    struct ufid_list *list = list_;
    if (list->n == list->allocated) {
        list->allocated = MAX(64, 2 * list->allocated);
        list->ufids = xrealloc(list->ufids, list->allocated * sizeof *list->ufids);
    }
    list->ufids[list->n++] = u->ufid;
}

void reval_purge(struct reval *r)
{
    struct ufid_list list = { 0 };

    r->ops.now = r->now;
    /* By name, so that no read section lasts longer than one batch of deletions. */
    ukey_table_walk(r->fc->ukeys, collect_ufid, &list);
    for (size_t i = 0; i < list.n;) {
        rcu_read_lock();
        for (; i < list.n && !flow_ops_is_full(&r->ops); i++) {
            struct ukey *u = ukey_find(r->fc->ukeys, &list.ufids[i]);
            if (u) {
                lock_acquire(&u->lock);
                if (u->state == UKEY_INSTALLED || u->state == UKEY_INCONSISTENT) {
                    flow_ops_delete(&r->ops, u);
                }
                lock_release(&u->lock);
            }
        }
        flow_ops_flush(&r->ops);
        rcu_read_unlock();
    }
    free(list.ufids);
}
