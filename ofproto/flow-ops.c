/* See flow-ops.h. */
#include <config.h>

#include "ofproto/flow-ops.h"

#include <errno.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"
#include "ofproto/reval-flow.h"
#include "ofproto/xlate-config.h"

LOG_MODULE(flow_ops);

COUNTER_DEFINE(flow_delete);
COUNTER_DEFINE(flow_modify);
COUNTER_DEFINE(flow_delete_foreign);
COUNTER_DEFINE(flow_op_failed);

void flow_ops_init(struct flow_ops *o, struct flowcache *fc, struct session_pool *sessions, unsigned int user, struct learner *learner)
{
    memset(o, 0, sizeof *o);
    o->fc = fc;
    o->sessions = sessions;
    o->user = user;
    o->learner = learner;
    arena_init(&o->arena, 16 * 1024);
}

void flow_ops_uninit(struct flow_ops *o) { arena_uninit(&o->arena); }

static struct dpif_op *add(struct flow_ops *o, struct ukey *u, enum dpif_op_type type)
{
    struct flow_op *item = &o->items[o->n++];
    item->ukey = u;
    item->op = (struct dpif_op) { .type = type };
    return &item->op;
}

static const void *keep(struct flow_ops *o, const void *p, size_t len)
{
    void *copy = arena_alloc(&o->arena, len);
    memcpy(copy, p, len);
    return copy;
}

void flow_ops_delete(struct flow_ops *o, struct ukey *u)
{
    ukey_transition(u, UKEY_EVICTING, o->now);
    struct dpif_op *op = add(o, u, DPIF_OP_FLOW_DEL);
    op->flow.has_ufid = true;
    op->flow.ufid = u->ufid;
    op->flow.key = ukey_key(u);
    op->flow.key_len = u->key_len;
    op->flow.want_stats = true;
    COUNTER_INC(flow_delete);
}

void flow_ops_modify(struct flow_ops *o, struct ukey *u, const void *actions, size_t len)
{
    struct dpif_op *op = add(o, u, DPIF_OP_FLOW_MOD);
    op->flow.has_ufid = true;
    op->flow.ufid = u->ufid;
    op->flow.key = ukey_key(u);
    op->flow.key_len = u->key_len;
    op->flow.mask = ukey_mask(u);
    op->flow.mask_len = u->mask_len;
    op->flow.actions = keep(o, actions, len);
    op->flow.actions_len = len;
    COUNTER_INC(flow_modify);
}

void flow_ops_delete_foreign(struct flow_ops *o, const struct dpif_flow *f)
{
    struct dpif_op *op = add(o, NULL, DPIF_OP_FLOW_DEL);
    op->flow.has_ufid = f->has_ufid;
    op->flow.ufid = f->ufid;
    op->flow.key = f->key ? keep(o, f->key, f->key_len) : NULL;
    op->flow.key_len = f->key_len;
    COUNTER_INC(flow_delete_foreign);
}

void flow_ops_teach(struct flow_ops *o, const struct ukey *u, const struct dpif_flow_stats *stats, struct flow_taught *ret)
{
    const struct xconfig *config = flowcache_config(o->fc);

    ret->n = 0;
    ret->used = stats->used ? stats->used : u->created;
    if (!config || u->config_version != config->version) {
        return;
    }
    ret->n = u->n_effects;
    for (unsigned int i = 0; i < ret->n; i++) {
        ret->effects[i] = u->effects[i];
    }
    learner_teach(o->learner, &u->lessons, ret->used, stats->tcp_flags);
}

void flow_ops_end_teaching(struct flow_ops *o, const struct flow_taught *taught)
{
    reval_run_effects(o->fc, taught->effects, taught->n, taught->used);
    learner_flush(o->learner, false);
}

static void account_delete(struct flow_ops *o, struct ukey *u, const struct dpif_op *op)
{
    if (!op->error) {
        o->n_deleted++;
    } else if (op->error != -ENOENT && op->error != -ENODEV) {
        /* It may be there still: the next round meets it as an unknown flow, and deletes or adopts it. */
        COUNTER_INC(flow_op_failed);
        o->n_failed++;
        log_warn_rl(6, "deleting a flow failed (%s)", strerror(-op->error));
    }
    if (u) {
        struct flow_taught taught = { .n = 0 };
        lock_acquire(&u->lock);
        if (!op->error) {
            /* Nobody will look again: what it has forwarded since the last look teaches now. */
            bool active = op->flow.stats.n_packets != u->stats.n_packets;
            ukey_set_stats(u, &op->flow.stats);
            if (active) {
                flow_ops_teach(o, u, &op->flow.stats, &taught);
            }
        }
        ukey_transition(u, UKEY_EVICTED, o->now);
        lock_release(&u->lock);
        flow_ops_end_teaching(o, &taught);
        ukey_remove(o->fc->ukeys, u, o->now);
    }
}

static void account_modify(struct flow_ops *o, struct ukey *u, const struct dpif_op *op)
{
    if (op->error) {
        log_dbg_rl(60, "changing the actions of a flow failed (%s)", strerror(-op->error));
        flowcache_kick(o->fc); /* The next round deletes it. */
    }
    lock_acquire(&u->lock);
    if (u->state == UKEY_INSTALLED || u->state == UKEY_INCONSISTENT) {
        if (!op->error) {
            o->n_modified++;
            ukey_set_actions(u, op->flow.actions, op->flow.actions_len);
            if (u->state == UKEY_INCONSISTENT) {
                ukey_transition(u, UKEY_INSTALLED, o->now);
            }
        } else {
            COUNTER_INC(flow_op_failed);
            o->n_failed++;
            if (u->state == UKEY_INSTALLED) {
                ukey_transition(u, UKEY_INCONSISTENT, o->now);
            }
        }
    }
    lock_release(&u->lock);
}

void flow_ops_flush(struct flow_ops *o)
{
    struct dpif_op *ops[FLOW_OPS_MAX];

    if (!o->n) {
        return;
    }
    for (unsigned int i = 0; i < o->n; i++) {
        ops[i] = &o->items[i].op;
    }
    session_pool_operate(o->sessions, o->user, ops, o->n);
    for (unsigned int i = 0; i < o->n; i++) {
        struct flow_op *item = &o->items[i];
        if (item->op.type == DPIF_OP_FLOW_DEL) {
            account_delete(o, item->ukey, &item->op);
        } else {
            account_modify(o, item->ukey, &item->op);
        }
    }
    o->n = 0;
    arena_reset(&o->arena);
}
