/* The NORMAL action: a learning switch with VLANs, as ovs-vswitchd.conf.db(5) describes it for the Port table.
 *
 * A packet is put into a VLAN of the bridge by the port that it comes in at (classify), its source address is noted
 * for learning, and it goes to the port at which its destination was learned, or to all ports that carry the VLAN
 * (flood).  On the way out each port gives it the tags that its configuration asks for (tag). */
#include <config.h>

#include "ofproto/xlate-ctx.h"

#include <arpa/inet.h>

#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"

/* A packet inside a bridge: its VLAN there, and the tags that it carries beneath. */
struct inside {
    const struct xbundle *in;
    uint16_t vlan;
    be16 tpid;    /* Of the tag if it leaves with one. */
    uint16_t pcp; /* Priority bits in place (VLAN_PCP_MASK), from the tag that it came with. */
    unsigned int n_inner;
    struct flow_vlan inner[FLOW_MAX_VLANS + 1];
};

/* Does BUNDLE carry the bridge's VLAN?  INNER_VID is the customer's VLAN id beneath. */
static bool bundle_carries(const struct xbundle *b, uint16_t vlan, uint16_t inner_vid)
{
    switch (b->vlan_mode) {
    case VLAN_ACCESS:
        return vlan == b->tag;
    case VLAN_TRUNK:
        return vlan_set_has(&b->trunks, vlan);
    case VLAN_NATIVE_TAGGED:
    case VLAN_NATIVE_UNTAGGED:
        return vlan == b->tag || vlan_set_has(&b->trunks, vlan);
    case VLAN_DOT1Q_TUNNEL:
        return vlan == b->tag && vlan_set_has(&b->cvlans, inner_vid);
    }
    return false;
}

/* Fills *P with what the packet of CTX is in the bridge, having come in at BUNDLE.  Returns false if BUNDLE does not
 * carry it. */
static bool classify(const struct xlate_ctx *ctx, const struct xbundle *b, struct inside *p)
{
    bool tagged = ctx->n_vlans > 0;
    uint16_t tci = tagged ? ntohs(ctx->vlan[0].tci) : 0;
    uint16_t vid = tci & VLAN_VID_MASK;
    unsigned int n_stripped = tagged;

    p->in = b;
    p->tpid = tagged ? ctx->vlan[0].tpid : htons(ETH_TYPE_VLAN);
    p->pcp = tci & VLAN_PCP_MASK;
    switch (b->vlan_mode) {
    case VLAN_ACCESS:
        if (vid) {
            return false;
        }
        p->vlan = b->tag;
        break;
    case VLAN_TRUNK:
        p->vlan = vid;
        break;
    case VLAN_NATIVE_TAGGED:
    case VLAN_NATIVE_UNTAGGED:
        p->vlan = vid ? vid : b->tag;
        break;
    case VLAN_DOT1Q_TUNNEL:
        p->vlan = b->tag;
        p->tpid = b->qinq_tpid;
        n_stripped = 0;
        break;
    }
    p->n_inner = ctx->n_vlans - n_stripped;
    memcpy(p->inner, &ctx->vlan[n_stripped], p->n_inner * sizeof p->inner[0]);
    return p->n_inner <= FLOW_MAX_VLANS && bundle_carries(b, p->vlan, vid);
}

/* Gives the packet of CTX the tags with which it leaves by BUNDLE. */
static void tag(struct xlate_ctx *ctx, const struct inside *p, const struct xbundle *b)
{
    bool tagged = false;
    uint16_t vid = 0;

    switch (b->vlan_mode) {
    case VLAN_ACCESS:
    case VLAN_DOT1Q_TUNNEL:
        break;
    case VLAN_TRUNK:
    case VLAN_NATIVE_TAGGED:
        vid = p->vlan;
        tagged = vid != 0;
        break;
    case VLAN_NATIVE_UNTAGGED:
        vid = p->vlan == b->tag ? 0 : p->vlan;
        tagged = vid != 0;
        break;
    }
    if (!tagged && b->vlan_mode != VLAN_DOT1Q_TUNNEL) {
        switch (b->priority_tags) {
        case PRIORITY_TAGS_NEVER:
            break;
        case PRIORITY_TAGS_IF_NONZERO:
            if (ctx->in->vlan[0].tpid) {
                ctx->mask->vlan[0].tci |= htons(VLAN_PCP_MASK);
            }
            tagged = p->pcp != 0;
            break;
        case PRIORITY_TAGS_ALWAYS:
            tagged = true;
            break;
        }
    }

    ctx->n_vlans = 0;
    if (tagged) {
        ctx->vlan[ctx->n_vlans++] = (struct flow_vlan) { p->tpid, htons(vid | p->pcp | VLAN_CFI) };
    }
    memcpy(&ctx->vlan[ctx->n_vlans], p->inner, p->n_inner * sizeof p->inner[0]);
    ctx->n_vlans += p->n_inner;
}

static void output_bundle(struct xlate_ctx *ctx, const struct inside *p, const struct xbundle *b)
{
    if (b->n_ports) {
        tag(ctx, p, b);
        xlate_output(ctx, b->ports[0]);
    }
}

/* May P leave by BUNDLE? */
static enum xlate_verdict admit(const struct inside *p, const struct xbundle *b)
{
    if (b == p->in) {
        return XLATE_SAME_PORT;
    }
    if (b->protected && p->in->protected) {
        return XLATE_PROTECTED;
    }
    uint16_t inner_vid = p->n_inner ? flow_vlan_vid(&p->inner[0]) : 0;
    return bundle_carries(b, p->vlan, inner_vid) ? XLATE_FORWARD : XLATE_NO_OUTPUT;
}

/* To all that carry P's VLAN, in the order of the bridge's bundles: what is compared with flows that an earlier process has left must
 * not depend on how they are found. */
static enum xlate_verdict flood(struct xlate_ctx *ctx, const struct inside *p)
{
    const struct xbridge *br = p->in->bridge;
    enum xlate_verdict verdict = XLATE_NO_OUTPUT;
    size_t n = xbridge_first_narrow(br, p->vlan), w = 0;

    for (;;) {
        const struct xbundle *narrow = n < br->n_narrow && br->narrow[n]->tag == p->vlan ? br->narrow[n] : NULL;
        const struct xbundle *wide = w < br->n_wide ? br->wide[w] : NULL;
        bool take_narrow = narrow && (!wide || narrow->order < wide->order);
        const struct xbundle *b = take_narrow ? narrow : wide;
        if (!b) {
            return verdict;
        }
        n += take_narrow;
        w += !take_narrow;
        enum xlate_verdict admitted = b->floodable ? admit(p, b) : XLATE_NO_OUTPUT;
        if (admitted == XLATE_FORWARD) {
            output_bundle(ctx, p, b);
            verdict = XLATE_FORWARD;
        } else if (admitted == XLATE_PROTECTED) {
            XLATE_TRACE(ctx, STEP_WARNING, "Flow is between protected ports, skipping output.");
        }
    }
}

/* Says that E, the last of the effects, is learned, if it is news. */
static void trace_source(struct xlate_ctx *ctx, const struct effect *e, const char *port)
{
    for (const struct effect *before = ctx->out->effects; before < e; before++) {
        if (before->macs == e->macs && before->vlan == e->vlan && before->bundle == e->bundle && eth_addr_eq(before->mac, e->mac)) {
            return;
        }
    }
    if (ctx->trace->side_effects && mac_table_is_news(e->macs, e->vlan, e->mac, e->bundle)) {
        xlate_trace_add(ctx->trace, STEP_NOTE, "learned that " ETH_ADDR_FMT " is on port %s in VLAN %u", ETH_ADDR_ARGS(e->mac), port, e->vlan);
    }
}

static void note_source(struct xlate_ctx *ctx, const struct inside *p)
{
    const struct xbridge *br = p->in->bridge;
    if (!p->in->id || vlan_set_has(&br->flood_vlans, p->vlan)) {
        return; /* No bundle: a packet-out that came in by no port. */
    }
    XLATE_LOOK(ctx, eth_src);
    struct eth_addr src = xlate_now(ctx)->eth_src;
    if (!eth_addr_is_multicast(src) && !eth_addr_is_zero(src) && ctx->out->n_effects < XLATE_MAX_EFFECTS) {
        struct effect *e = &ctx->out->effects[ctx->out->n_effects++];
        *e = (struct effect) { .macs = br->macs, .mac = src, .vlan = p->vlan, .bundle = p->in->id };
        if (unlikely(ctx->trace)) {
            trace_source(ctx, e, p->in->name);
        }
    }
}

/* Why the port does not carry P. */
static void trace_vlan(struct xlate_ctx *ctx, const struct xport *in_port, const struct inside *p)
{
    const struct xbundle *b = in_port->bundle;
    unsigned int vid = ctx->n_vlans ? flow_vlan_vid(&ctx->vlan[0]) : 0;

    if (b->vlan_mode == VLAN_ACCESS) {
        xlate_trace_add(ctx->trace, STEP_ERROR, "dropping VLAN %u tagged packet received on port %s configured as VLAN %u access port", vid,
                        b->name, b->tag);
    } else if (b->vlan_mode == VLAN_DOT1Q_TUNNEL) {
        xlate_trace_add(ctx->trace, STEP_ERROR, "dropping VLAN %u packet received on dot1q-tunnel port %s that excludes this VLAN", vid, b->name);
    } else {
        xlate_trace_add(ctx->trace, STEP_ERROR, "dropping VLAN %u packet received on port %s not configured for trunking VLAN %u", p->vlan,
                        b->name, p->vlan);
    }
    xlate_trace_add(ctx->trace, STEP_WARNING, "disallowed VLAN VID for this input port, dropping");
}

enum xlate_verdict xlate_normal(struct xlate_ctx *ctx, const struct xport *in_port)
{
    const struct xbridge *br = in_port->bundle->bridge;
    struct inside p = { 0 };

    if (!classify(ctx, in_port->bundle, &p)) {
        if (unlikely(ctx->trace)) {
            trace_vlan(ctx, in_port, &p);
        }
        return XLATE_VLAN;
    }
    XLATE_LOOK(ctx, eth_dst);
    struct eth_addr dst = xlate_now(ctx)->eth_dst;
    if (!br->forward_bpdu && eth_addr_is_reserved(dst)) {
        XLATE_TRACE(ctx, STEP_NOTE, "packet has reserved destination MAC, dropping");
        return XLATE_RESERVED;
    }
    note_source(ctx, &p);

    if (eth_addr_is_multicast(dst)) {
        XLATE_TRACE(ctx, STEP_NOTE, "no learned MAC for destination, flooding");
        return flood(ctx, &p);
    }
    /* In a flood VLAN what was learned before it became one does not count either. */
    uint32_t id = 0;
    if (!vlan_set_has(&br->flood_vlans, p.vlan)) {
        dep_list_add(&ctx->out->deps, mac_table_dep(br->macs, p.vlan, dst));
        id = mac_table_lookup(br->macs, p.vlan, dst);
    }
    const struct xbundle *b = id ? xconfig_bundle_by_id(ctx->config, id) : NULL;
    if (!b || b->bridge != br) {
        XLATE_TRACE(ctx, STEP_NOTE, "no learned MAC for destination, flooding");
        return flood(ctx, &p);
    }
    enum xlate_verdict verdict = admit(&p, b);
    XLATE_TRACE(ctx, STEP_NOTE, "%s", verdict == XLATE_SAME_PORT ? "learned port is input port, dropping" : "forwarding to learned port");
    if (verdict == XLATE_PROTECTED) {
        XLATE_TRACE(ctx, STEP_WARNING, "Flow is between protected ports, skipping output.");
    }
    if (verdict == XLATE_FORWARD) {
        output_bundle(ctx, &p, b);
    }
    return verdict;
}
