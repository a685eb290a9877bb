/* OpenFlow's actions about connections: ct, ct_clear, and resubmit(,,ct).  See ovs-actions(7).
 *
 * ct(table=T) forks.  One copy of the packet goes through conntrack and comes back to table T, with what conntrack knows of it; the other
 * goes on here, without.  What ct is to note of a connection (exec) is evaluated here, for the datapath takes values only. */
#include <config.h>

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/openvswitch.h>

#include "lib/base/util.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* Of a commit, what whoever listens to conntrack (ctnetlink) is told: not each step of a connection's protocol, which are most. */
#define EVENT_MASK (1 << IPCT_NEW | 1 << IPCT_RELATED | 1 << IPCT_DESTROY | 1 << IPCT_MARK | 1 << IPCT_LABEL)

/* OpenFlow names them by the port that they are usually at, the kernel by name. */
static const struct {
    uint16_t port;
    const char *name;
} helpers[] = { { 21, "ftp" }, { 69, "tftp" } };

/* ---- nat. ---- */

static void put_nat_address(struct attrbuf *b, uint16_t type, const struct ofp_act_nat *a, const void *address)
{
    static const struct in6_addr none;
    size_t len = a->family == AF_INET ? 4 : 16;

    if (a->family && memcmp(address, &none, len)) {
        attrbuf_put(b, type, address, len);
    }
}

static void put_nat(struct attrbuf *b, const struct ofp_act_nat *a)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_CT_ATTR_NAT);

    if (a->flags & (OFP_NAT_F_SRC | OFP_NAT_F_DST)) {
        attrbuf_put_flag(b, a->flags & OFP_NAT_F_SRC ? OVS_NAT_ATTR_SRC : OVS_NAT_ATTR_DST);
        put_nat_address(b, OVS_NAT_ATTR_IP_MIN, a, &a->min);
        put_nat_address(b, OVS_NAT_ATTR_IP_MAX, a, &a->max);
        if (a->port_min) {
            attrbuf_put_u16(b, OVS_NAT_ATTR_PROTO_MIN, a->port_min);
        }
        if (a->port_min && a->port_max) {
            attrbuf_put_u16(b, OVS_NAT_ATTR_PROTO_MAX, a->port_max);
        }
        if (a->flags & OFP_NAT_F_PERSISTENT) {
            attrbuf_put_flag(b, OVS_NAT_ATTR_PERSISTENT);
        }
        if (a->flags & OFP_NAT_F_HASH) {
            attrbuf_put_flag(b, OVS_NAT_ATTR_PROTO_HASH);
        } else if (a->flags & OFP_NAT_F_RANDOM) {
            attrbuf_put_flag(b, OVS_NAT_ATTR_PROTO_RANDOM);
        }
    }
    attrbuf_nest_end(b, nest);
}

/* ---- exec. ---- */

/* Does ACTS, which write mark and label of the connection, on FLOW; BITS gets which bits they write. */
static NOINLINE void evaluate(struct xlate_ctx *ctx, const struct ofp_act *acts, size_t len, struct flow *flow, struct flow *bits)
{
    OFP_ACT_FOR_EACH (act, acts, len) {
        if (act->type == OFP_ACT_SET_FIELD) {
            const struct ofp_act_set_field *a = ofp_act_cast(act);
            union ofp_value value = { { 0 } }, mask = { { 0 } };
            struct match m;

            memset(&m, 0, sizeof m);
            memcpy(&value, a->data, a->field->n_bytes);
            memcpy(&mask, ofp_set_field_mask(a), a->field->n_bytes);
            ofp_field_set_match(a->field, &value, &mask, &m);
            flow->ct_mark = (flow->ct_mark & ~m.mask.ct_mark) | m.flow.ct_mark;
            bits->ct_mark |= m.mask.ct_mark;
            for (unsigned int i = 0; i < sizeof flow->ct_label; i++) {
                flow->ct_label[i] = (flow->ct_label[i] & ~m.mask.ct_label[i]) | m.flow.ct_label[i];
                bits->ct_label[i] |= m.mask.ct_label[i];
            }
        } else if (act->type == OFP_ACT_MOVE) {
            const struct ofp_act_move *a = ofp_act_cast(act);
            if (pipeline_look_at(ctx, &a->src)) {
                struct flow from = *flow;
                ofp_subfield_copy(&a->src, &from, &a->dst, flow);
                ofp_subfield_unwildcard(&a->dst, bits);
            }
        }
    }
}

static NOINLINE void put_exec(struct xlate_ctx *ctx, const struct ofp_act_ct *a)
{
    struct attrbuf *b = &ctx->out->actions;
    struct flow flow = ctx->flow, bits;
    static const uint8_t none[16];
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(&a->act, &len);

    memset(&bits, 0, sizeof bits);
    evaluate(ctx, nested, len, &flow, &bits);
    if (bits.ct_mark) {
        const uint32_t mark[2] = { flow.ct_mark & bits.ct_mark, bits.ct_mark };
        attrbuf_put(b, OVS_CT_ATTR_MARK, mark, sizeof mark);
    }
    if (memcmp(bits.ct_label, none, sizeof none)) {
        uint8_t label[32];
        for (unsigned int i = 0; i < 16; i++) {
            label[i] = flow.ct_label[i] & bits.ct_label[i];
            label[16 + i] = bits.ct_label[i];
        }
        attrbuf_put(b, OVS_CT_ATTR_LABELS, label, sizeof label);
    }
}

/* ---- ct. ---- */

static uint16_t zone_of(struct xlate_ctx *ctx, const struct ofp_act_ct *a)
{
    if (!a->zone_src.field) {
        return a->zone;
    }
    return pipeline_look_at(ctx, &a->zone_src) ? ofp_subfield_get_u64(&a->zone_src, &ctx->flow) : 0;
}

static void put_helper(struct attrbuf *b, uint16_t port)
{
    for (unsigned int i = 0; i < ARRAY_SIZE(helpers); i++) {
        if (helpers[i].port == port) {
            attrbuf_put(b, OVS_CT_ATTR_HELPER, helpers[i].name, strlen(helpers[i].name) + 1);
        }
    }
}

static void put_ct(struct xlate_ctx *ctx, const struct ofp_act_ct *a)
{
    struct attrbuf *b = &ctx->out->actions;
    uint16_t zone = zone_of(ctx, a);
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_CT);
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(&a->act, &len);

    if (a->flags & OFP_CT_F_COMMIT) {
        attrbuf_put_flag(b, a->flags & OFP_CT_F_FORCE ? OVS_CT_ATTR_FORCE_COMMIT : OVS_CT_ATTR_COMMIT);
        if (ctx->config->can.ct_eventmask) {
            attrbuf_put_u32(b, OVS_CT_ATTR_EVENTMASK, EVENT_MASK);
        }
    }
    if (likely(ctx->config->can.ct_zone)) { /* Else there is zone 0 only, and the kernel takes no attribute for it. */
        attrbuf_put_u16(b, OVS_CT_ATTR_ZONE, zone);
    }
    put_exec(ctx, a);
    put_helper(b, a->alg);
    OFP_ACT_FOR_EACH (n, nested, len) {
        if (n->type == OFP_ACT_NAT) {
            put_nat(b, ofp_act_cast(n));
        }
    }
    attrbuf_nest_end(b, nest);
}

static void trace_nested(struct xlate_ctx *ctx, const struct ofp_act_ct *a)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(&a->act, &len);

    OFP_ACT_FOR_EACH (n, nested, len) {
        xlate_trace_action(ctx, n);
    }
    if (!len) {
        xlate_trace_add(ctx->trace, STEP_ACTION, "drop"); /* As a list of no actions is shown. */
    }
}

/* Is the packet one that A can be done to?  The match of a rule says so; that of a bucket of a group does not. */
static bool fits(struct xlate_ctx *ctx, const struct ofp_act_ct *a)
{
    bool is_ip4 = ctx->flow.eth_type == htons(ETH_TYPE_IPV4), ok = is_ip4 || ctx->flow.eth_type == htons(ETH_TYPE_IPV6);
    size_t len;

    XLATE_LOOK(ctx, eth_type);
    if (a->alg && ok) {
        XLATE_LOOK(ctx, ip_proto);
        ok = ctx->flow.ip_proto == (a->alg == IPPORT_FTP ? IPPROTO_TCP : IPPROTO_UDP);
    }
    const struct ofp_act *nested = ofp_act_nested(&a->act, &len);
    OFP_ACT_FOR_EACH (n, nested, len) {
        const struct ofp_act_nat *nat = n->type == OFP_ACT_NAT ? ofp_act_cast(n) : NULL;
        ok &= !nat || !nat->family || (nat->family == AF_INET) == is_ip4;
    }
    return ok;
}

NOINLINE void pipeline_ct(struct xlate_ctx *ctx, const struct ofp_act_ct *a)
{
    if (unlikely(!fits(ctx, a))) {
        XLATE_TRACE(ctx, STEP_WARNING, "the packet is none that this can be done to");
        return;
    }
    if (unlikely(ctx->trace)) {
        trace_nested(ctx, a);
    }
    if (!xlate_commit(ctx)) {
        return; /* A packet that is not as it should be is to be noted of no connection. */
    }
    put_ct(ctx, a);
    ctx->n_cts++;
    if (a->table != OFP_TABLE_ALL) {
        unsigned int n_forks = unlikely(ctx->trace) ? ctx->trace->n_forks : 0;
        xlate_fork(ctx, a->table, true);
        if (unlikely(ctx->trace) && ctx->trace->n_forks > n_forks) {
            xlate_trace_zone(ctx, zone_of(ctx, a));
        }
    }
    XLATE_TRACE(ctx, STEP_NOTE, "Sets the packet to an untracked state, and clears all the conntrack fields.");
    pipeline_untrack(ctx); /* What conntrack says now is for the copy that comes back. */
}

/* The packet that came back is made one that was never tracked; any other is so, as far as tables can see. */
void pipeline_ct_clear(struct xlate_ctx *ctx)
{
    if (ctx->conntracked && ctx->config->can.ct_clear) {
        attrbuf_put_flag(&ctx->out->actions, OVS_ACTION_ATTR_CT_CLEAR);
        ctx->n_cts++; /* It cannot be taken back. */
    }
    pipeline_untrack(ctx);
}

/* ---- resubmit(,,ct). ---- */

#define SWAP(A, B)              \
    do {                        \
        __typeof__(A) a_ = (A); \
        (A) = (B);              \
        (B) = a_;               \
    } while (0)

void pipeline_swap_ct(const struct flow *is, struct flow *f)
{
    if (is->eth_type == htons(ETH_TYPE_IPV4)) {
        SWAP(f->ip_src, f->ct_orig_src.v4);
        SWAP(f->ip_dst, f->ct_orig_dst.v4);
    } else if (is->eth_type == htons(ETH_TYPE_IPV6)) {
        SWAP(f->ipv6_src, f->ct_orig_src.v6);
        SWAP(f->ipv6_dst, f->ct_orig_dst.v6);
    } else {
        return;
    }
    SWAP(f->ip_proto, f->ct_orig_proto);
    SWAP(f->tp_src, f->ct_orig_tp_src);
    SWAP(f->tp_dst, f->ct_orig_tp_dst);
}
