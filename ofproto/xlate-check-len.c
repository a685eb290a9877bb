/* check_pkt_larger: what follows depends on the packet's length, which is no field that a megaflow could match.  So all that follows in the list of
 * actions, and the tables and the action set that it leads to, is translated twice, for either value of the bit, into the two branches of the
 * datapath's CHECK_PKT_LEN; of a datapath that has none the slow path looks at the length.  A branch has a copy of the packet, so what comes
 * after, of the lists that this one is within, has the packet as it was before.  (The packaged daemon has the same.) */
#include <config.h>

#include <arpa/inet.h>
#include <linux/openvswitch.h>

#include "lib/odp/odp-cookie.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* What a packet does whose length is so: ACTS, and all that follows.  False: it does not go on. */
static bool do_branch(struct xlate_ctx *ctx, const struct ofp_act *acts, size_t len)
{
    struct pipeline *p = ctx->pipeline;
    struct rule *rule = p->rule;
    unsigned int reason = p->reason;

    pipeline_actions(ctx, acts, len);
    if (!p->ended && p->next_table >= 0) {
        uint8_t table = p->next_table;
        p->next_table = -1;
        pipeline_enter(ctx, table, (ofp_port_t) { ntohs(ctx->flow.ofp_in_port) });
    }
    if (p->fault != XLATE_FORWARD) {
        return false;
    }
    bool goes_on = !p->ended;
    p->ended = false; /* exit leaves the action set to be done. */
    pipeline_do_set_last(ctx);
    p->rule = rule;
    p->reason = reason;
    return goes_on;
}

/* Not inlined: what is kept of the packet is large. */
NOINLINE void pipeline_check_pkt_larger(struct xlate_ctx *ctx, const struct ofp_act_check_pkt_larger *a, const struct ofp_act *acts, size_t len)
{
    struct pipeline *p = ctx->pipeline;
    struct attrbuf *b = &ctx->out->actions;
    struct pipeline_kept kept = p->kept;
    struct pipeline_mark mark;
    struct xlate_fence fence;
    bool goes_on = false;

    if (ctx->n_within == XLATE_MAX_RESUBMIT_DEPTH) {
        XLATE_TRACE(ctx, STEP_ERROR, "over max translation depth %d", XLATE_MAX_RESUBMIT_DEPTH);
        pipeline_fail(ctx, XLATE_TOO_DEEP);
        return;
    }
    pipeline_mark(ctx, &mark);
    xlate_fence_begin(ctx, &fence);
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    attrbuf_put_u16(b, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, a->pkt_len);
    ctx->n_within++;
    /* The kernel wants both, also if the first has ended the packet's way: then nothing is done in the second. */
    for (int larger = 1; larger >= 0; larger--) {
        struct nlattr *branch = attrbuf_nest_begin(b, larger ? OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER : OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
        pipeline_write_u64(ctx, &a->dst, larger);
        goes_on |= do_branch(ctx, acts, len);
        attrbuf_nest_end(b, branch);
        pipeline_return(ctx, &mark);
        xlate_fence_restore(ctx, &fence);
        p->kept = kept;
    }
    ctx->n_within--;
    attrbuf_nest_end(b, nest);
    ctx->out->slow |= ctx->config->can.check_pkt_len ? 0 : ODP_SLOW_ACTION;
    p->kept.n_set = 0; /* It has been done. */
    p->ended = !goes_on || p->fault != XLATE_FORWARD;
}
