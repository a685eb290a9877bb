/* See xlate.h.  This file starts a translation, leads it from bridge to bridge, and emits outputs; what a bridge does with a
 * packet is in xlate-normal.c. */
#include <config.h>

#include "ofproto/xlate.h"

#include <arpa/inet.h>
#include <linux/openvswitch.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-cookie.h"
#include "lib/ofp/ofp-msg-port.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-ctx.h"

LOG_MODULE(xlate);

COUNTER_DEFINE(xlate_actions);
COUNTER_DEFINE(xlate_too_deep);
COUNTER_DEFINE(xlate_too_big);
COUNTER_DEFINE(xlate_unable);

const char *xlate_verdict_text(enum xlate_verdict verdict)
{
    static const char *const text[] = {
#define VERDICT(NAME, TEXT) [XLATE_##NAME] = TEXT,
        XLATE_VERDICTS
#undef VERDICT
    };
    return text[verdict];
}

/* The input port decides everything that follows; a recirculated packet is never like one from the wire. */
static void mask_metadata(struct flow *mask)
{
    FLOW_MASK_FIELD(mask, in_port);
    FLOW_MASK_FIELD(mask, recirc_id);
}

/* The kernel matches tags exactly where a mask is silent about them (no tag, or the one that the first packet had), so
 * two packets that differ there are never one megaflow.  Say so in the mask: else both would have one
 * UFID, and the second could not be installed. */
static void mask_vlans(struct flow *mask, const struct flow *flow)
{
    FLOW_MASK_FIELD(mask, vlan[0].tpid);
    mask->vlan[0].tci |= htons(VLAN_VID_MASK | VLAN_CFI);
    if (flow_vlan_present(&flow->vlan[1])) {
        FLOW_MASK_FIELD(mask, vlan[1]);
    }
}

/* A fragment that is not the first has no transport header.  Translation sees zeros there; but a mask over them cannot be said of such a packet,
 * so that a flow made for one would cover all of its protocol, and a flow for low port numbers would cover fragments.  So who looked
 * at the transport header has looked at whether there is one. */
static void mask_fragments(struct flow *mask, const struct flow *flow)
{
    size_t l4 = offsetof(struct flow, tp_src), end = offsetof(struct flow, nsh);
    const uint8_t *bytes = (const uint8_t *) mask;
    uint8_t any = 0;

    if (flow->eth_type != htons(ETH_TYPE_IPV4) && flow->eth_type != htons(ETH_TYPE_IPV6)) {
        return;
    }
    for (size_t i = l4; i < end; i++) {
        any |= bytes[i];
    }
    if (any) {
        FLOW_MASK_FIELD(mask, ip_frag);
    }
}

/* Who looks at the original tuple of a packet's connection has looked at whether it has one.  The kernel tells, and takes, the tuple by its
 * protocol; a packet has none if it is of no connection (ct_state), or not IP, or neighbour discovery, for which the kernel has no room. */
static void mask_connection(struct flow *mask, const struct flow *flow)
{
    const uint8_t *bits = (const uint8_t *) mask;
    uint8_t any = mask->ct_orig_proto;

    for (size_t i = offsetof(struct flow, ct_orig_src); i < offsetof(struct flow, ct_orig_tp_dst) + sizeof mask->ct_orig_tp_dst; i++) {
        any |= bits[i];
    }
    if (likely(!any)) {
        return;
    }
    FLOW_MASK_FIELD(mask, ct_orig_proto);
    FLOW_MASK_FIELD(mask, eth_type);
    if (!flow->ct_orig_proto) {
        mask->ct_state |= OVS_CS_F_TRACKED | OVS_CS_F_INVALID;
        if (flow->eth_type == htons(ETH_TYPE_IPV6)) {
            FLOW_MASK_FIELD(mask, ip_proto);
        }
        if (flow->eth_type == htons(ETH_TYPE_IPV6) && flow->ip_proto == IPPROTO_ICMPV6) {
            FLOW_MASK_FIELD(mask, tp_src);
        }
    }
}

void xlate_begin(struct xlate_ctx *ctx, const struct xconfig *config, const struct flow *flow, const struct xport *port, struct xlate_out *out)
{
    COUNTER_INC(xlate_actions);
    attrbuf_clear(&out->actions);
    memset(&out->mask, 0, sizeof out->mask);
    out->n_effects = 0;
    out->n_rules = 0;
    out->n_recircs = 0;
    out->lessons.len = 0;
    out->deps.n = 0;
    out->slow = out->slow_meter = 0;
    out->pid = port ? __atomic_load_n(&port->upcall_pid, __ATOMIC_RELAXED) : 0;
    out->pid = out->pid ? out->pid : UINT32_MAX; /* The kernel takes no 0. */
    mask_metadata(&out->mask);
    mask_vlans(&out->mask, flow);

    /* Not all of it: what the pipeline needs it sets up itself. */
    memset(ctx, 0, offsetof(struct xlate_ctx, flow));
    ctx->config = config;
    ctx->in = flow;
    ctx->mask = &out->mask;
    ctx->out = out;
    ctx->pid = out->pid;
    while (ctx->n_vlans < FLOW_MAX_VLANS && flow_vlan_present(&flow->vlan[ctx->n_vlans])) {
        ctx->vlan[ctx->n_vlans] = ctx->wire[ctx->n_vlans] = flow->vlan[ctx->n_vlans];
        ctx->n_vlans++;
    }
    ctx->n_wire = ctx->n_vlans;
}

/* Half of what the packet should meet would be worse than nothing. */
static void drop_all(struct xlate_out *out, enum xlate_verdict verdict)
{
    attrbuf_clear(&out->actions);
    out->n_recircs = 0;
    out->slow = out->slow_meter = 0;
    out->verdict = verdict;
}

void xlate_end(struct xlate_ctx *ctx, const char *port_name)
{
    struct xlate_out *out = ctx->out;

    xlate_fence_last(ctx);
    flow_clear_pipeline(&out->mask);
    mask_connection(&out->mask, ctx->in);
    mask_fragments(&out->mask, ctx->in);
    if (unlikely(ctx->no_ids)) {
        drop_all(out, XLATE_TOO_MANY_IDS);
    }
    if (unlikely(out->actions.overflow)) {
        /* Half of a flood would be worse than none: nobody could say why one port does not hear it. */
        COUNTER_INC(xlate_too_big);
        log_warn_rl(6, "port %s: the actions for a packet exceed %d bytes; it is dropped", port_name, XLATE_ACTIONS_SIZE);
        XLATE_TRACE(ctx, STEP_ERROR, "the actions exceed %d bytes; the packet is dropped", XLATE_ACTIONS_SIZE);
        drop_all(out, XLATE_TOO_BIG);
    }
}

void xlate_from(const struct xconfig *config, const struct xlate_in *in, struct xlate_out *out)
{
    struct xlate_ctx ctx;
    /* A packet-out that was of no port of the datapath comes back as it went: all that is known of where it came from has been frozen. */
    bool outside = in->flow->recirc_id && odp_port_eq(in->flow->in_port, ODPP_NONE) && config;

    xlate_begin(&ctx, config, in->flow, unlikely(outside) ? xlate_any_port(config) : in->port, out);
    if (unlikely(!in->port && !outside)) {
        out->verdict = XLATE_NO_PORT;
        return;
    }
    ctx.start = in;
    ctx.trace = in->trace;
    ctx.outside = unlikely(in->acts) && odp_port_eq(in->port->odp, ODPP_NONE) ? in->port : NULL;
    out->verdict = likely(!in->flow->recirc_id) ? xlate_bridge(&ctx, in->port) : outside ? xlate_resume_outside(&ctx) : xlate_resume(&ctx);
    xlate_end(&ctx, in->port ? in->port->name : "none");
    out->slow_meter = unlikely(out->slow) && in->port ? xlate_slow_meter(in->port) : 0;
}

void xlate(const struct xconfig *config, const struct flow *flow, struct xlate_out *out)
{
    const struct xlate_in in = { .flow = flow, .port = config ? xconfig_port_by_odp(config, flow->in_port) : NULL };

    xlate_from(config, &in, out);
}

void xlate_put_slow(const struct xlate_out *out, struct attrbuf *b)
{
    const struct odp_cookie cookie = { .kind = ODP_COOKIE_SLOW, .slow = out->slow };

    if (out->slow_meter) {
        attrbuf_put_u32(b, OVS_ACTION_ATTR_METER, out->slow_meter - 1);
    }
    odp_put_cookie(b, out->pid, &cookie);
}

/* Does the bridge look at what comes in at PORT?  Frames of the spanning tree protocol have a bit of their own. */
static bool may_receive(struct xlate_ctx *ctx, const struct xport *port)
{
    uint32_t closed = port->config & (OFPPC_NO_RECV | OFPPC_NO_RECV_STP);

    if (likely(!closed)) {
        return true;
    }
    if (closed != (OFPPC_NO_RECV | OFPPC_NO_RECV_STP)) {
        static const struct eth_addr stp = { { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x00 } };
        XLATE_LOOK(ctx, eth_dst);
        if (closed != (eth_addr_eq(xlate_now(ctx)->eth_dst, stp) ? OFPPC_NO_RECV_STP : OFPPC_NO_RECV)) {
            return true;
        }
    }
    XLATE_TRACE(ctx, STEP_NOTE, "OFPPC_NO_RECV set on input port, dropping");
    return false;
}

enum xlate_verdict xlate_bridge(struct xlate_ctx *ctx, const struct xport *in_port)
{
    if (unlikely(ctx->depth == XLATE_MAX_DEPTH || ctx->n_visits == XLATE_MAX_VISITS)) {
        COUNTER_INC(xlate_too_deep);
        log_warn_rl(6, "bridge %s: a packet passed %u bridges in a row, %u in all (a loop of patch ports?); it is dropped here",
                    in_port->bundle->bridge->name, ctx->depth, ctx->n_visits);
        XLATE_TRACE(ctx, STEP_ERROR, "a packet passed %u bridges in a row, %u in all", ctx->depth, ctx->n_visits);
        return XLATE_TOO_DEEP;
    }
    const struct xbridge *br = in_port->bundle->bridge;
    if (!br->tables && !br->normal) {
        return XLATE_SECURE;
    }
    struct xlate_step *outer = unlikely(ctx->trace) ? xlate_trace_enter(ctx->trace, STEP_BRIDGE, "bridge(\"%s\")", br->name) : NULL;
    ctx->n_visits++;
    ctx->depth++;
    enum xlate_verdict verdict = !may_receive(ctx, in_port) ? XLATE_NO_RECV
                                 : br->tables               ? xlate_pipeline(ctx, in_port)
                                                            : xlate_normal(ctx, in_port);
    ctx->depth--;
    if (unlikely(ctx->trace)) {
        xlate_trace_leave(ctx->trace, outer);
    }
    return verdict;
}

/* Emits what turns the tags that the packet carries into those that it should carry: pops down to the innermost tags that both
 * have, then pushes. */
static void commit_vlans(struct xlate_ctx *ctx)
{
    unsigned int same = 0;
    /* Behind a patch port a tag may have been made anew: whether it equals the packet's own depends on the priority. */
    if (ctx->depth > 1 && ctx->n_wire && ctx->n_vlans && ctx->in->vlan[0].tpid) {
        ctx->mask->vlan[0].tci |= htons(VLAN_PCP_MASK);
    }
    while (same < ctx->n_wire && same < ctx->n_vlans
           && !memcmp(&ctx->wire[ctx->n_wire - 1 - same], &ctx->vlan[ctx->n_vlans - 1 - same], sizeof ctx->wire[0])) {
        same++;
    }
    for (unsigned int i = same; i < ctx->n_wire; i++) {
        odp_put_pop_vlan(&ctx->out->actions);
    }
    for (unsigned int i = ctx->n_vlans - same; i-- > 0;) {
        /* The priority that is written comes from the packet's own tag, if it had one. */
        if (ctx->in->vlan[0].tpid) {
            ctx->mask->vlan[0].tci |= htons(VLAN_PCP_MASK);
        }
        odp_put_push_vlan(&ctx->out->actions, ctx->vlan[i].tpid, ctx->vlan[i].tci);
    }
    memcpy(ctx->wire, ctx->vlan, sizeof ctx->wire);
    ctx->n_wire = ctx->n_vlans;
}

/* What is written back to what the packet had is a value of the packet's own. */
static void look_at_own_values(struct xlate_ctx *ctx)
{
    const uint8_t *written = (const uint8_t *) &ctx->rewrite.written, *given = (const uint8_t *) &ctx->given;
    uint8_t *mask = (uint8_t *) ctx->mask;

    for (size_t i = 0; i < offsetof(struct flow, tunnel.opts); i++) {
        mask[i] |= written[i] & ~given[i];
    }
}

bool xlate_commit(struct xlate_ctx *ctx)
{
    bool slow = false;

    commit_vlans(ctx);
    if (likely(!ctx->piped || !ctx->rewrite.dirty)) {
        return true;
    }
    look_at_own_values(ctx);
    bool able = odp_rewrite_commit(&ctx->rewrite, &ctx->out->actions, &ctx->flow, ctx->mask, &slow);
    ctx->out->slow |= slow ? ODP_SLOW_ACTION : 0;
    if (unlikely(!able)) {
        COUNTER_INC(xlate_unable);
        ctx->unable = true;
        XLATE_TRACE(ctx, STEP_WARNING, "the kernel cannot rewrite the packet like this, dropping");
    }
    return able;
}

/* Not inlined: what it keeps on the stack is for patch ports only. */
static NOINLINE void xlate_patch(struct xlate_ctx *ctx, const struct xport *peer)
{
    struct xlate_fence fence;

    xlate_fence_begin(ctx, &fence);
    xlate_bridge(ctx, peer);
    xlate_fence_end(ctx, &fence);
}

void xlate_output(struct xlate_ctx *ctx, const struct xport *port)
{
    if (unlikely(ctx->out->actions.overflow)) {
        return; /* The packet will be dropped; what else would be done to it is of no use. */
    }
    if (unlikely(port->config & OFPPC_NO_FWD)) {
        XLATE_TRACE(ctx, STEP_NOTE, "OFPPC_NO_FWD set, skipping output");
        return;
    }
    if (port->is_patch) {
        if (port->peer) {
            xlate_patch(ctx, port->peer);
        }
    } else if (!odp_port_eq(port->odp, ODPP_NONE)) {
        if (likely(xlate_commit(ctx))) {
            odp_put_output(&ctx->out->actions, port->odp);
        }
    }
}

void xlate_output_truncated(struct xlate_ctx *ctx, const struct xport *port, uint32_t max_len)
{
    struct attrbuf *b = &ctx->out->actions;

    if (likely(!b->overflow) && !(port->config & OFPPC_NO_FWD) && xlate_commit(ctx)) {
        odp_put_trunc(b, max_len); /* Of the next output only. */
        odp_put_output(b, port->odp);
    }
}
