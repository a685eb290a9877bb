/* Stages "install", "operate" and "account" of upcall.h. */
#include <config.h>

#include <errno.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"
#include "lib/odp/odp-cookie.h"
#include "ofproto/mac.h"
#include "ofproto/rule.h"
#include "ofproto/slow.h"
#include "ofproto/upcall.h"
#include "ofproto/xlate-config.h"

LOG_MODULE(upcall);

/* A flow that we believe installed, and whose packets still come up after this time, is not in the datapath:
 * somebody deleted it there.  Long enough for the longest queue of upcalls that were sent before it was installed. */
#define REINSTALL_MS 1000

/* An operation; SEND: with the others.  What is done in userspace is not. */
static struct dpif_op *op_next(struct upcall_batch *b, bool send)
{
    struct dpif_op *op = &b->ops_memory[b->n_memory++];
    if (likely(send)) {
        b->ops[b->n_ops++] = op;
    }
    return op;
}

/* Decides whether F is to be put, and claims its ukey. */
static bool claim(struct upcall_batch *b, struct upcall_flow *f)
{
    if (unlikely(!f->n_missed)) {
        return false; /* There is a flow, which has handed all these up; whether it is right is for revalidation to say. */
    }
    if (xlate_is_stray(f->verdict)) {
        return false; /* A port that is just coming or going: a flow would outlive that, and drop the first packets of the port. */
    }
    struct ukey *u = ukey_find(b->fc->ukeys, &f->ufid);
    if (!u) {
        if (ukey_table_count(b->fc->ukeys) >= flowcache_limit(&b->fc->flow_limit)) {
            UPCALL_COUNT(b->stats, over_limit, 1);
            return false;
        }
        struct ukey_spec spec = {
            .ufid = f->ufid,
            .key = f->key, .key_len = f->key_len,
            .mask = f->mask, .mask_len = f->mask_len,
            .actions = f->flow_actions, .actions_len = f->flow_actions_len,
            .effects = f->effects, .n_effects = f->n_effects, .deps = f->deps,
            .rules = f->rules, .n_rules = f->n_rules,
            .recircs = f->recircs, .n_recircs = f->n_recircs,
            .lessons = f->lessons,
            .reval_seq = b->reval_seq,
            .config_version = b->config ? b->config->version : 0,
            .now = b->now,
            .round = __atomic_load_n(&b->fc->round, __ATOMIC_RELAXED),
        };
        u = ukey_insert(b->fc->ukeys, &spec, &f->won);
    }
    f->ukey = u;
    if (f->won) {
        return true;
    }

    UPCALL_COUNT(b->stats, known, 1);
    lock_acquire(&u->lock);
    bool missing = u->state == UKEY_INSTALLED && u->changed + REINSTALL_MS < b->now;
    if (missing) {
        u->changed = b->now; /* Once a second is enough. */
    }
    lock_release(&u->lock);
    return missing;
}

void upcall_install(struct upcall_batch *b)
{
    for (unsigned int i = 0; i < b->n_flows; i++) {
        struct upcall_flow *f = &b->flows[i];
        f->ukey = NULL;
        f->won = false;
        f->put = NULL;
        if (!claim(b, f)) {
            continue;
        }
        f->put = op_next(b, true);
        *f->put = (struct dpif_op) {
            .type = DPIF_OP_FLOW_PUT,
            .flow = {
                .has_ufid = true, .ufid = f->ufid,
                .key = f->key, .key_len = f->key_len,
                .mask = f->mask, .mask_len = f->mask_len,
                .actions = f->flow_actions, .actions_len = f->flow_actions_len,
            },
        };
    }

    /* The packets, in the order in which they came, behind the puts: what comes next of these flows is
     * forwarded by the kernel, and the window in which it could overtake is this one system call. */
    for (unsigned int i = 0; i < b->n; i++) {
        struct upcall *u = &b->upcalls[i];
        if (!u->flow->actions_len) {
            UPCALL_COUNT(b->stats, dropped, 1);
            UPCALL_COUNT(b->stats, not_known, u->flow->verdict == XLATE_NOT_KNOWN);
            continue;
        }
        u->execute = op_next(b, !u->flow->slow);
        *u->execute = (struct dpif_op) {
            .type = DPIF_OP_EXECUTE,
            .execute = {
                .packet = u->dp->packet, .packet_len = u->dp->packet_len,
                .key = u->dp->key, .key_len = u->dp->key_len,
                .actions = u->flow->actions, .actions_len = u->flow->actions_len,
                .hash = u->dp->hash, .has_hash = u->dp->has_hash,
                .mru = u->dp->mru,
            },
        };
    }
}

static void operate_one(struct dpif_op *ops[], size_t n, void *b_)
{
    struct upcall_batch *b = b_;

    session_pool_operate(b->sessions, b->user, ops, n);
}

/* Said once: where it happens at all, it happens to each packet. */
static void say_slow(uint32_t slow)
{
    static uint32_t said; /* Atomic. */

    if (slow & ~__atomic_fetch_or(&said, slow, __ATOMIC_RELAXED) & ODP_SLOW_ACTION) {
        log_info("packets are to be rewritten in headers that the kernel cannot write (ARP, neighbour discovery, ICMP): they are done in "
                 "userspace, each by itself");
    }
}

static void run_slow(struct upcall_batch *b)
{
    for (unsigned int i = 0; i < b->n; i++) {
        struct upcall *u = &b->upcalls[i];
        if (u->flow->slow && u->execute) {
            say_slow(u->flow->slow);
            UPCALL_COUNT(b->stats, slow, 1);
            u->execute->error = slow_run(&b->arena, u->execute, operate_one, b);
        }
    }
}

void upcall_operate(struct upcall_batch *b)
{
    if (b->n_ops) {
        session_pool_operate(b->sessions, b->user, b->ops, b->n_ops);
    }
    if (unlikely(b->n_memory > b->n_ops)) {
        run_slow(b);
    }
}

static void account_put(struct upcall_batch *b, struct upcall_flow *f)
{
    int error = f->put->error;
    if (unlikely(!f->won)) {
        /* Put again by way of precaution.  EEXIST says that it is there; else it has, or may have if the answer was lost, the actions
         * that we just translated and not those that the ukey notes: the next round sets them anew. */
        if (error != -EEXIST) {
            UPCALL_COUNT(b->stats, installed, !error);
            lock_acquire(&f->ukey->lock);
            if (f->ukey->state == UKEY_INSTALLED) {
                ukey_transition(f->ukey, UKEY_INCONSISTENT, b->now);
                memset(&f->ukey->stats, 0, sizeof f->ukey->stats); /* It counts anew. */
            }
            lock_release(&f->ukey->lock);
        }
        return;
    }
    if (likely(!error)) {
        UPCALL_COUNT(b->stats, installed, 1);
        lock_acquire(&f->ukey->lock);
        ukey_transition(f->ukey, UKEY_INSTALLED, b->now);
        lock_release(&f->ukey->lock);
        return;
    }
    ukey_remove(b->fc->ukeys, f->ukey, b->now);
    f->ukey = NULL;
    if (error == -EEXIST) {
        /* Another flow covers this key.  The kernel does not say which, nor finds a flow that has a UFID by its key, so a round has
         * to show: it adopts flows that we do not know, and translates again what is not up to date.  If that leaves both
         * flows right, the packets of this one are forwarded by the other. */
        UPCALL_COUNT(b->stats, overlap, 1);
        flowcache_kick(b->fc);
    } else {
        UPCALL_COUNT(b->stats, put_failed, 1);
        /* ENODEV: the datapath or the port went meanwhile. */
        if (error != -ENODEV) {
            log_warn_rl(6, "the datapath refused a flow (%s)", strerror(-error));
        }
    }
}

/* What flows depend on that a batch changes; beyond this, everything is translated again. */
#define MAX_CHANGED (4 * UPCALL_BATCH)

void upcall_account(struct upcall_batch *b)
{
    dep_t changed[MAX_CHANGED + MAC_LEARN_DEPS];
    size_t n_changed = 0;
    bool many = false;

    for (unsigned int i = 0; i < b->n_flows; i++) {
        struct upcall_flow *f = &b->flows[i];
        for (unsigned int j = 0; j < f->n_effects; j++) {
            const struct effect *e = &f->effects[j];
            n_changed += mac_table_learn(e->macs, e->vlan, e->mac, e->bundle, b->now, &changed[n_changed]);
            if (unlikely(n_changed > MAX_CHANGED)) {
                many = true;
                n_changed = 0;
            }
        }
        for (unsigned int j = 0; j < f->n_rules; j++) {
            if (likely(f->n_missed)) {
                rule_count(f->rules[j], f->n_missed, f->n_bytes, b->now);
            }
        }
        if (f->put) {
            account_put(b, f);
        }
    }
    for (unsigned int i = 0; i < b->n; i++) {
        const struct dpif_op *op = b->upcalls[i].execute;
        if (op && likely(!op->error)) {
            UPCALL_COUNT(b->stats, executed, 1);
        } else if (op) {
            UPCALL_COUNT(b->stats, send_failed, 1);
            log_dbg_rl(6, "the datapath refused a packet (%s)", strerror(-op->error));
        }
    }
    if (unlikely(many)) {
        flowcache_revalidate(b->fc);
    } else if (n_changed) {
        flowcache_changed(b->fc, changed, n_changed);
    } else if (b->n_flows && flowcache_seq(b->fc) != b->reval_seq) {
        /* The tables changed during the batch, and the round that this caused may have passed before our flows were
         * there. */
        flowcache_kick(b->fc);
    }
}
