/* Fences: what is done to a copy of a packet (in clone, or behind a patch port) is done in the datapath by the same packet, one after the
 * other; what was written to its headers meanwhile is written back.  What cannot be written back is what conntrack did: the packet is
 * known to it then, in some zone, and may have got other addresses.  So if there was a ct in between, all of it is put into the datapath's
 * CLONE, after which the packet is what it was; unless nothing comes after it. */
#include <config.h>

#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>

#include "lib/base/compiler.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-ctx.h"

void xlate_fence_begin(const struct xlate_ctx *ctx, struct xlate_fence *f)
{
    f->start = attrbuf_len(&ctx->out->actions);
    f->n_cts = ctx->n_cts;
    f->piped = ctx->piped;
    f->conntracked = ctx->conntracked;
    memcpy(f->wire, ctx->wire, sizeof f->wire);
    f->n_wire = ctx->n_wire;
    if (ctx->piped) {
        f->rewrite = ctx->rewrite;
    }
}

void xlate_fence_end(struct xlate_ctx *ctx, const struct xlate_fence *f)
{
    struct attrbuf *b = &ctx->out->actions;

    ctx->conntracked = f->conntracked;
    if (likely(ctx->n_cts == f->n_cts) || !ctx->config->can.clone || b->overflow) {
        return;
    }
    attrbuf_wrap(b, f->start, OVS_ACTION_ATTR_CLONE);
    ctx->n_fences++;
    xlate_fence_restore(ctx, f);
}

void xlate_fence_restore(struct xlate_ctx *ctx, const struct xlate_fence *f)
{
    ctx->conntracked = f->conntracked;
    memcpy(ctx->wire, f->wire, sizeof ctx->wire);
    ctx->n_wire = f->n_wire;
    if (f->piped) {
        ctx->rewrite = f->rewrite;
    } else {
        odp_rewrite_init(&ctx->rewrite, ctx->in, true);
    }
}

void xlate_fence_last(struct xlate_ctx *ctx)
{
    struct attrbuf *b = &ctx->out->actions;
    const struct nlattr *last = NULL, *a;

    for (; ctx->n_fences && !b->overflow; ctx->n_fences--) {
        last = NULL;
        mnl_attr_for_each(a, b->nlh, 0) {
            last = a;
        }
        if (!last || mnl_attr_get_type(last) != OVS_ACTION_ATTR_CLONE) {
            return;
        }
        attrbuf_unwrap(b, (const char *) last - (const char *) attrbuf_data(b));
    }
}
