/* A packet that the datapath is to bring back: freezing at that point, and going on when it has.  See recirc.h, xlate-ctx.h.
 *
 * What is frozen is what a packet has beside its fields.  The fields themselves go along in the packet: all that was written to them is
 * committed before the datapath looks the packet up again, and read from its key then.  So having looked at a field before says nothing
 * of the megaflow afterwards; and that a register has this value follows from the recirculation id, which is always matched exactly. */
#include <config.h>

#include <arpa/inet.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/odp/odp-actions.h"
#include "ofproto/recirc.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

LOG_MODULE(xlate_recirc);

COUNTER_DEFINE(xlate_recirc_not_known);
COUNTER_DEFINE(xlate_recirc_bridge_gone);

/* A frozen state, and room for all that it may have: on the stack, once, for nothing is called from where it is that leads further. */
union freezer {
    struct frozen frozen;
    uint8_t bytes[16 * 1024];
};

/* Appends the N bytes at P, padded with zeros to 8.  False if there is no room. */
static bool add(union freezer *f, size_t *len, const void *p, size_t n)
{
    size_t padded = ROUND_UP(n, 8);

    if (padded > sizeof f->bytes - *len) {
        return false;
    }
    memcpy(f->bytes + *len, p, n);
    memset(f->bytes + *len + n, 0, padded - n);
    *len += padded;
    return true;
}

static bool freeze(const struct xlate_ctx *ctx, uint8_t table, bool conntracked, union freezer *f)
{
    const struct pipeline *p = ctx->pipeline;
    size_t len = sizeof f->frozen;

    memset(&f->frozen, 0, sizeof f->frozen);
    f->frozen.metadata = ctx->flow.metadata;
    memcpy(f->frozen.regs, ctx->flow.regs, sizeof f->frozen.regs);
    f->frozen.ofp_in_port = ctx->flow.ofp_in_port;
    f->frozen.table = table;
    f->frozen.conntracked = conntracked;
    f->frozen.n_stack = p->kept.n_stack;
    bool fits = add(f, &len, p->bridge->name, strlen(p->bridge->name) + 1);
    for (unsigned int i = 0; fits && i < p->kept.n_stack; i++) {
        const struct pipeline_value *v = &p->kept.stack[i];
        const struct frozen_value head = { .n_bytes = v->n_bytes };
        fits = add(f, &len, &head, sizeof head) && add(f, &len, &v->value, v->n_bytes);
    }
    f->frozen.plain_len = len - sizeof f->frozen;
    for (unsigned int i = 0; fits && i < p->kept.n_set; i++) {
        fits = add(f, &len, p->kept.set[i], p->kept.set[i]->len);
    }
    f->frozen.set_len = len - sizeof f->frozen - f->frozen.plain_len;
    return fits;
}

NOINLINE void xlate_fork(struct xlate_ctx *ctx, uint8_t table, bool conntracked)
{
    struct xlate_out *out = ctx->out;
    union freezer f;

    if (out->n_recircs == XLATE_MAX_RECIRCS || !freeze(ctx, table, conntracked, &f)) {
        pipeline_fail(ctx, XLATE_TOO_BIG);
        return;
    }
    struct recirc *r = recirc_freeze(&f.frozen);
    if (!r) {
        ctx->no_ids = true;
        pipeline_fail(ctx, XLATE_TOO_MANY_IDS);
        return;
    }
    ctx->pipeline->sent = true;
    out->recircs[out->n_recircs++] = r;
    odp_put_recirc(&out->actions, recirc_id(r));
    if (unlikely(ctx->trace)) {
        xlate_trace_fork(ctx, recirc_id(r), table, conntracked);
    }
}

enum xlate_verdict xlate_resume(struct xlate_ctx *ctx)
{
    const struct frozen *f = recirc_find(ctx->in->recirc_id);

    if (unlikely(!f)) {
        COUNTER_INC(xlate_recirc_not_known);
        return XLATE_NOT_KNOWN;
    }
    const struct xbridge *br = xconfig_bridge_by_name(ctx->config, frozen_bridge(f));
    if (unlikely(!br)) {
        COUNTER_INC(xlate_recirc_bridge_gone);
        log_info_rl(6, "a packet comes back to bridge %s, which is gone; it is dropped", frozen_bridge(f));
        return XLATE_BRIDGE_GONE;
    }
    if (unlikely(!br->tables)) {
        return XLATE_SECURE;
    }
    struct xlate_step *outer = unlikely(ctx->trace) ? xlate_trace_resume(ctx->trace, br->name, f->table) : NULL;
    ctx->n_visits++;
    ctx->depth++;
    enum xlate_verdict verdict = xlate_pipeline_resume(ctx, br, f);
    ctx->depth--;
    if (unlikely(ctx->trace)) {
        xlate_trace_leave(ctx->trace, outer);
    }
    return verdict;
}

/* Not inlined: a bundle takes of the stack, and tables may be thousands deep. */
NOINLINE enum xlate_verdict xlate_resume_outside(struct xlate_ctx *ctx)
{
    const struct frozen *f = recirc_find(ctx->in->recirc_id);
    const struct xbridge *br = f ? xconfig_bridge_by_name(ctx->config, frozen_bridge(f)) : NULL;
    struct xlate_outside outside;

    if (br) {
        xlate_outside_init(&outside, br, (ofp_port_t) { ntohs(f->ofp_in_port) });
        ctx->outside = &outside.port;
    }
    enum xlate_verdict verdict = xlate_resume(ctx);
    ctx->outside = NULL;
    return verdict;
}
