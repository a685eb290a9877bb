/* OpenFlow's actions, one function each, on the packet as it is in a translation: see xlate-pipeline.h.
 *
 * A function that depends on the packet notes what it looked at; what it writes is noted as written, and goes to the wire
 * when the packet leaves.  An action that is not here is refused when a rule is added: xlate_acts_check(). */
#include <config.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-msg-meter.h"
#include "lib/ofp/ofp-msg-port.h"
#include "ofproto/xlate-acts.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* ---- Outputs. ---- */

static ofp_port_t in_port_now(const struct xlate_ctx *ctx) { return (ofp_port_t) { ntohs(ctx->flow.ofp_in_port) }; }

/* To all ports but the one that the packet came in by; FLOOD: that take part in flooding. */
static void output_all(struct xlate_ctx *ctx, bool flood)
{
    const struct xbridge *br = ctx->pipeline->bridge;

    for (size_t i = 0; i < br->n_bundles; i++) {
        const struct xbundle *b = br->bundles[i];
        for (size_t k = 0; k < b->n_ports; k++) {
            if (!ofp_port_eq(b->ports[k]->ofp, in_port_now(ctx)) && !(flood && (!b->floodable || b->ports[k]->config & OFPPC_NO_FLOOD))) {
                xlate_output(ctx, b->ports[k]);
            }
        }
    }
}

static NOINLINE void output_normal(struct xlate_ctx *ctx)
{
    const struct xport *in = xbridge_port_by_ofp(ctx->pipeline->bridge, in_port_now(ctx));
    struct pipeline_mark mark;

    in = in || !ctx->outside || ctx->outside->bundle->bridge != ctx->pipeline->bridge ? in : ctx->outside;
    if (in) {
        pipeline_mark(ctx, &mark);
        xlate_normal(ctx, in);
        pipeline_return(ctx, &mark); /* Its tags were those of the ports. */
    } else {
        XLATE_TRACE(ctx, STEP_ERROR, "received packet on unknown port %u", in_port_now(ctx).n);
        XLATE_TRACE(ctx, STEP_WARNING, "no input bundle, dropping");
    }
}

/* To the port that the field in_port names now. */
static void output_in_port(struct xlate_ctx *ctx)
{
    const struct xport *to = xbridge_port_by_ofp(ctx->pipeline->bridge, in_port_now(ctx));

    if (to) {
        xlate_output(ctx, to);
    } else {
        XLATE_TRACE(ctx, STEP_WARNING, "Nonexistent output port");
    }
}

/* To the tables, from the first on, as if it came in now. */
static void output_table(struct xlate_ctx *ctx)
{
    ctx->n_within++;
    pipeline_enter(ctx, 0, in_port_now(ctx));
    ctx->n_within--;
}

/* MAX_LEN: for controllers. */
static void output_port(struct xlate_ctx *ctx, ofp_port_t port, uint16_t max_len)
{
    struct pipeline *p = ctx->pipeline;

    p->sent = true;
    switch (port.n) {
    case OFPP_IN_PORT_N:
        output_in_port(ctx);
        break;
    case OFPP_NORMAL_N:
        output_normal(ctx);
        break;
    case OFPP_FLOOD_N:
        output_all(ctx, true);
        break;
    case OFPP_ALL_N:
        output_all(ctx, false);
        break;
    case OFPP_CONTROLLER_N:
        xlate_controller(ctx, p->reason, 0, 0, max_len, (struct bytes) { NULL, 0 });
        break;
    case OFPP_TABLE_N:
        output_table(ctx);
        break;
    default: {
        /* A packet goes back where it came from only if a rule says so by name. */
        const struct xport *to = xbridge_port_by_ofp(p->bridge, port);
        if (ofp_port_eq(port, in_port_now(ctx))) {
            XLATE_TRACE(ctx, STEP_WARNING, "skipping output to input port");
        } else if (to) {
            xlate_output(ctx, to);
        } else {
            XLATE_TRACE(ctx, STEP_WARNING, "Nonexistent output port");
        }
        break;
    }
    }
}

void pipeline_output(struct xlate_ctx *ctx, ofp_port_t port) { output_port(ctx, port, 0); }

/* To a port of the datapath, the first MAX_LEN bytes: the kernel can cut nothing else off. */
static void do_output_trunc(struct xlate_ctx *ctx, const struct ofp_act_output_trunc *a)
{
    bool back = a->port.n == OFPP_IN_PORT_N;
    const struct xport *to = xbridge_port_by_ofp(ctx->pipeline->bridge, back ? in_port_now(ctx) : a->port);

    ctx->pipeline->sent = true;
    if (!back && ofp_port_eq(a->port, in_port_now(ctx))) {
        XLATE_TRACE(ctx, STEP_WARNING, "skipping output to input port");
    } else if (!to || odp_port_eq(to->odp, ODPP_NONE)) {
        XLATE_TRACE(ctx, STEP_ERROR, "output_trunc does not support patch port %u", a->port.n);
    } else if (!ctx->config->can.trunc) {
        XLATE_TRACE(ctx, STEP_ERROR, "the datapath does not truncate packets");
    } else {
        xlate_output_truncated(ctx, to, a->max_len);
    }
}

static NOINLINE void do_output_reg(struct xlate_ctx *ctx, const struct ofp_act_output_reg *a)
{
    struct flow look = { 0 };

    ofp_subfield_unwildcard(&a->src, &look);
    pipeline_look(ctx, &look);
    uint64_t port = ofp_subfield_get_u64(&a->src, &ctx->flow);
    XLATE_TRACE(ctx, STEP_NOTE, "output port is %" PRIu64, port);
    if (port < UINT16_MAX) {
        output_port(ctx, (ofp_port_t) { port }, a->max_len);
    }
}

static void do_controller(struct xlate_ctx *ctx, const struct ofp_act_controller *a)
{
    ctx->pipeline->sent = true;
    xlate_controller_metered(ctx, a->reason, 0, a->controller_id, a->max_len,
                             (struct bytes) { a->userdata_len ? a->userdata : NULL, a->userdata_len },
                             a->meter_id == OFP_NO_METER ? OFPM_CONTROLLER : a->meter_id);
}

static void do_output(struct xlate_ctx *ctx, const struct ofp_act *a)
{
    if (likely(a->type == OFP_ACT_OUTPUT)) {
        const struct ofp_act_output *output = ofp_act_cast(a);
        output_port(ctx, output->port, output->max_len);
    } else if (a->type == OFP_ACT_OUTPUT_REG) {
        do_output_reg(ctx, ofp_act_cast(a));
    } else {
        do_controller(ctx, ofp_act_cast(a));
    }
}

/* ---- Fields. ---- */

/* Does the packet have FIELD?  What that depends on has then been looked at. */
static NOINLINE bool has_field(struct xlate_ctx *ctx, const struct ofp_field *field)
{
    struct flow look = { 0 };
    bool ok = ofp_field_prereqs_ok(field, &ctx->flow, &look);

    pipeline_look(ctx, &look);
    return ok;
}

static bool is_tag_field(const struct ofp_field *field)
{
    return field->place.ofs >= offsetof(struct flow, vlan) && field->place.ofs < offsetof(struct flow, mpls);
}

/* A packet without a tag gets one if a field of a tag is written; but of the TCI it is bit 12 that says whether there is one. */
static void tag_field_written(struct xlate_ctx *ctx, const struct ofp_field *field)
{
    if (field->id != OFP_FIELD_VLAN_TCI) {
        ctx->flow.vlan[0].tci |= htons(VLAN_CFI);
    }
    pipeline_tags_written(ctx);
}

static NOINLINE void write_field(struct xlate_ctx *ctx, const struct ofp_field *field, const union ofp_value *value, const union ofp_value *mask)
{
    struct match m;

    if (!has_field(ctx, field)) {
        return;
    }
    memset(&m, 0, sizeof m);
    ofp_field_set_match(field, value, mask, &m);
    pipeline_write(ctx, &m);
    if (is_tag_field(field)) {
        tag_field_written(ctx, field);
    }
}

static void do_set_field(struct xlate_ctx *ctx, const struct ofp_act_set_field *a)
{
    union ofp_value value = { { 0 } }, mask = { { 0 } };

    memcpy(&value, a->data, a->field->n_bytes);
    memcpy(&mask, ofp_set_field_mask(a), a->field->n_bytes);
    write_field(ctx, a->field, &value, &mask);
}

static void write_number(struct xlate_ctx *ctx, enum ofp_field_id id, uint64_t n)
{
    const struct ofp_field *field = ofp_field(id);
    union ofp_value value = { { 0 } };

    ofp_value_put_u64(&value, field->n_bytes, n);
    write_field(ctx, field, &value, NULL);
}

NOINLINE void pipeline_write_subfield(struct xlate_ctx *ctx, const struct ofp_subfield *src, const struct flow *from, const struct ofp_subfield *dst)
{
    struct match m;

    if (!has_field(ctx, dst->field)) {
        return;
    }
    memset(&m.mask, 0, sizeof m.mask);
    m.flow = ctx->flow;
    ofp_subfield_copy(src, from, dst, &m.flow);
    ofp_subfield_unwildcard(dst, &m.mask);
    pipeline_write(ctx, &m);
    if (is_tag_field(dst->field)) {
        tag_field_written(ctx, dst->field);
    }
}

NOINLINE bool pipeline_look_at(struct xlate_ctx *ctx, const struct ofp_subfield *sf)
{
    struct flow look = { 0 };

    if (!has_field(ctx, sf->field)) {
        return false;
    }
    ofp_subfield_unwildcard(sf, &look);
    pipeline_look(ctx, &look);
    return true;
}

static NOINLINE void do_move(struct xlate_ctx *ctx, const struct ofp_act_move *a)
{
    if (pipeline_look_at(ctx, &a->src)) {
        struct flow from = ctx->flow;
        pipeline_write_subfield(ctx, &a->src, &from, &a->dst);
        if (unlikely(ctx->trace)) {
            xlate_trace_subfield(ctx, &a->dst);
        }
    }
}

static void do_push(struct xlate_ctx *ctx, const struct ofp_act_stack *a)
{
    struct pipeline *p = ctx->pipeline;

    if (p->kept.n_stack == PIPELINE_MAX_STACK) {
        XLATE_TRACE(ctx, STEP_ERROR, "stack too deep");
        pipeline_fail(ctx, XLATE_TOO_DEEP);
        return;
    }
    pipeline_look_at(ctx, &a->sf);
    struct pipeline_value *v = &p->kept.stack[p->kept.n_stack++];
    ofp_subfield_get(&a->sf, &ctx->flow, &v->value, &v->n_bytes);
}

/* A value that is narrower than the field gets zeros above; of a wider one the low bits are taken: as from a register of 128 bits. */
static NOINLINE void do_pop(struct xlate_ctx *ctx, const struct ofp_act_stack *a)
{
    struct pipeline *p = ctx->pipeline;

    if (!p->kept.n_stack) {
        XLATE_TRACE(ctx, STEP_ERROR, "stack underflow");
        return;
    }
    const struct pipeline_value *v = &p->kept.stack[--p->kept.n_stack];
    const struct ofp_subfield src = { .field = ofp_field(OFP_FIELD_XXREG0), .n_bits = a->sf.n_bits };
    struct flow from;
    memset(&from.regs, 0, sizeof from.regs);
    memcpy((uint8_t *) &from.regs[0] + 16 - v->n_bytes, &v->value, v->n_bytes);
    pipeline_write_subfield(ctx, &src, &from, &a->sf);
    if (unlikely(ctx->trace)) {
        xlate_trace_subfield(ctx, &a->sf);
    }
}

static void do_metadata(struct xlate_ctx *ctx, const struct ofp_act_metadata *a)
{
    ctx->flow.metadata = (ctx->flow.metadata & ~htobe64(a->mask)) | htobe64(a->value & a->mask);
}

static void ttl_expired(struct xlate_ctx *ctx, const struct ofp_act_dec_ttl *a)
{
    if (tables_punts(ctx->pipeline->bridge->tables) & TABLES_PUNT_TTL) {
        for (unsigned int i = 0; i < (a->listed ? a->n_ids : 1); i++) {
            xlate_controller(ctx, OFPR_INVALID_TTL, 0, a->listed ? a->ids[i] : 0, UINT16_MAX, (struct bytes) { NULL, 0 });
        }
    }
    ctx->pipeline->list_ended = ctx->pipeline->expired = true;
}

static NOINLINE void do_dec_ttl(struct xlate_ctx *ctx, const struct ofp_act_dec_ttl *a)
{
    if (has_field(ctx, ofp_field(OFP_FIELD_NW_TTL))) {
        struct flow look = { .ip_ttl = 0xff };
        pipeline_look(ctx, &look);
        if (ctx->flow.ip_ttl > 1) {
            write_number(ctx, OFP_FIELD_NW_TTL, ctx->flow.ip_ttl - 1);
        } else {
            XLATE_TRACE(ctx, STEP_WARNING, "IPv%d decrement TTL exception", ctx->flow.eth_type == htons(ETH_TYPE_IPV4) ? 4 : 6);
            ttl_expired(ctx, a);
        }
    }
}

/* ---- Queues.  A queue is a class of tc's: the packet's priority names it, as the packaged daemon has it whether the port has queues or not. ---- */

/* OpenFlow's queue N is the class 1:N+1; below 0xffff. */
static bool set_queue(struct xlate_ctx *ctx, uint32_t queue)
{
    if (queue >= UINT16_MAX) {
        XLATE_TRACE(ctx, STEP_WARNING, "there is no queue %" PRIu32, queue);
        return false;
    }
    write_number(ctx, OFP_FIELD_SKB_PRIORITY, 1u << 16 | (queue + 1));
    return true;
}

/* Back to the priority that it came in with. */
static void do_pop_queue(struct xlate_ctx *ctx)
{
    if (ctx->given.skb_priority) {
        FLOW_MASK_FIELD(ctx->mask, skb_priority);
        write_number(ctx, OFP_FIELD_SKB_PRIORITY, ctx->in->skb_priority);
    }
    XLATE_TRACE(ctx, STEP_NOTE, "queue = %#" PRIx32, ctx->in->skb_priority);
}

static NOINLINE void do_enqueue(struct xlate_ctx *ctx, const struct ofp_act_enqueue *a)
{
    struct pipeline_mark mark;

    pipeline_mark(ctx, &mark);
    set_queue(ctx, a->queue);
    output_port(ctx, a->port, 0);
    pipeline_return(ctx, &mark);
}

/* ---- Tags. ---- */

static void push_tag(struct xlate_ctx *ctx, uint16_t tpid)
{
    if (ctx->n_vlans == ARRAY_SIZE(ctx->vlan)) {
        XLATE_TRACE(ctx, STEP_ERROR, "a packet has at most %zu VLAN tags", ARRAY_SIZE(ctx->vlan));
        pipeline_fail(ctx, XLATE_TOO_MANY_TAGS);
        return;
    }
    memmove(&ctx->vlan[1], &ctx->vlan[0], ctx->n_vlans * sizeof ctx->vlan[0]);
    ctx->vlan[0] = (struct flow_vlan) { htons(tpid), htons(VLAN_CFI) };
    ctx->n_vlans++;
    pipeline_tags_moved(ctx);
}

static void pop_tag(struct xlate_ctx *ctx)
{
    if (ctx->n_vlans) {
        memmove(&ctx->vlan[0], &ctx->vlan[1], --ctx->n_vlans * sizeof ctx->vlan[0]);
        pipeline_tags_moved(ctx);
    }
}

/* Sets the bits BITS of the outermost tag. */
static NOINLINE void set_tag(struct xlate_ctx *ctx, const struct ofp_act_number *a, uint16_t value, uint16_t bits)
{
    if (!ctx->n_vlans) {
        if (!a->push_if_needed) {
            return;
        }
        push_tag(ctx, ETH_TYPE_VLAN);
    }
    /* Nothing will tell that these were written if they are so already: that they are is then what matters. */
    struct flow look = { .vlan[0].tci = htons(bits) };
    pipeline_look(ctx, &look);
    ctx->vlan[0].tci = (ctx->vlan[0].tci & ~htons(bits)) | htons(value & bits);
    pipeline_tags_changed(ctx);
}

/* ---- Control. ---- */

/* Not inlined: tables may be thousands deep. */
static NOINLINE bool has_tuple(struct xlate_ctx *ctx)
{
    XLATE_LOOK(ctx, ct_orig_proto);
    return ctx->flow.ct_orig_proto;
}

static void do_resubmit(struct xlate_ctx *ctx, const struct ofp_act_resubmit *a)
{
    uint8_t from = ctx->pipeline->table_id, id = a->table == OFP_TABLE_ALL ? from : a->table;
    bool deeper = id <= from; /* Those that only lead on end by themselves. */

    if (a->ct && !has_tuple(ctx)) {
        return; /* A packet of no connection: the rule's match should have said so.  As the packaged daemon does. */
    }
    ctx->n_within += deeper;
    pipeline_table(ctx, id, a->in_port.n == OFPP_IN_PORT_N ? in_port_now(ctx) : a->in_port, a->ct);
    ctx->n_within -= deeper;
}

static NOINLINE void do_clone(struct xlate_ctx *ctx, const struct ofp_act_nest *a)
{
    struct pipeline *p = ctx->pipeline;
    struct pipeline_kept kept = p->kept; /* Not only how many: what is popped and pushed again is another value. */
    struct pipeline_mark mark;
    struct xlate_fence fence;

    if (ctx->n_within == XLATE_MAX_RESUBMIT_DEPTH) {
        XLATE_TRACE(ctx, STEP_ERROR, "over max translation depth %d", XLATE_MAX_RESUBMIT_DEPTH);
        pipeline_fail(ctx, XLATE_TOO_DEEP);
        return;
    }
    pipeline_mark(ctx, &mark);
    xlate_fence_begin(ctx, &fence);
    ctx->n_within++;
    pipeline_actions(ctx, a->acts, a->act.len - offsetof(struct ofp_act_nest, acts));
    ctx->n_within--;
    pipeline_return(ctx, &mark);
    xlate_fence_end(ctx, &fence);
    p->kept = kept;
}

static void do_clear_actions(struct xlate_ctx *ctx)
{
    if (unlikely(ctx->trace)) {
        pipeline_trace_set(ctx, "was");
    }
    ctx->pipeline->kept.n_set = 0;
}

static void do_write_actions(struct xlate_ctx *ctx, const struct ofp_act_nest *nest)
{
    struct pipeline *p = ctx->pipeline;

    OFP_ACT_FOR_EACH (a, nest->acts, nest->act.len - offsetof(struct ofp_act_nest, acts)) {
        if (p->kept.n_set == PIPELINE_MAX_SET) {
            XLATE_TRACE(ctx, STEP_ERROR, "more than %d actions in the action set", PIPELINE_MAX_SET);
            pipeline_fail(ctx, XLATE_TOO_BIG);
            return;
        }
        p->kept.set[p->kept.n_set++] = a;
    }
    if (unlikely(ctx->trace)) {
        pipeline_trace_set(ctx, "is");
    }
}

/* ---- All of them. ---- */

/* What is done by something that has a number. */
static void do_named(struct xlate_ctx *ctx, enum ofp_act_type type, uint64_t n)
{
    switch ((unsigned int) type) {
    case OFP_ACT_GOTO_TABLE:
        ctx->pipeline->next_table = n;
        break;
    case OFP_ACT_METER:
        xlate_meter(ctx, n);
        break;
    case OFP_ACT_GROUP:
        pipeline_group(ctx, n);
        break;
    case OFP_ACT_SET_QUEUE:
        set_queue(ctx, n);
        break;
    }
}

static void do_number(struct xlate_ctx *ctx, enum ofp_act_type type, const struct ofp_act_number *a)
{
    switch ((unsigned int) type) {
    case OFP_ACT_SET_VLAN_VID:
        set_tag(ctx, a, a->n, VLAN_VID_MASK);
        break;
    case OFP_ACT_SET_VLAN_PCP:
        set_tag(ctx, a, a->n << VLAN_PCP_SHIFT, VLAN_PCP_MASK);
        break;
    case OFP_ACT_PUSH_VLAN:
        push_tag(ctx, a->n);
        break;
    case OFP_ACT_SET_ETH_SRC:
        write_number(ctx, OFP_FIELD_ETH_SRC, a->n);
        break;
    case OFP_ACT_SET_ETH_DST:
        write_number(ctx, OFP_FIELD_ETH_DST, a->n);
        break;
    case OFP_ACT_SET_IPV4_SRC:
        write_number(ctx, OFP_FIELD_IP_SRC, a->n);
        break;
    case OFP_ACT_SET_IPV4_DST:
        write_number(ctx, OFP_FIELD_IP_DST, a->n);
        break;
    case OFP_ACT_SET_IP_DSCP:
        write_number(ctx, OFP_FIELD_IP_DSCP, a->n >> 2); /* The action has the whole byte. */
        break;
    case OFP_ACT_SET_IP_ECN:
        write_number(ctx, OFP_FIELD_NW_ECN, a->n);
        break;
    case OFP_ACT_SET_IP_TTL:
        write_number(ctx, OFP_FIELD_NW_TTL, a->n);
        break;
    case OFP_ACT_SET_L4_SRC:
    case OFP_ACT_SET_L4_DST: {
        static const enum ofp_field_id fields[3][2] = { { OFP_FIELD_TCP_SRC, OFP_FIELD_TCP_DST },
                                                        { OFP_FIELD_UDP_SRC, OFP_FIELD_UDP_DST },
                                                        { OFP_FIELD_SCTP_SRC, OFP_FIELD_SCTP_DST } };
        /* The packet has one of the three, or none. */
        for (unsigned int i = 0; i < ARRAY_SIZE(fields); i++) {
            write_number(ctx, fields[i][type == OFP_ACT_SET_L4_DST], a->n);
        }
        break;
    }
    case OFP_ACT_SET_TUNNEL:
        write_number(ctx, OFP_FIELD_TUN_ID, a->n);
        break;
    default:
        do_named(ctx, type, a->n);
        break;
    }
}

/* What is less frequent, and actions that are a number.  Not inlined: tables may be thousands deep, and none of these leads to a table but groups. */
static NOINLINE void do_other(struct xlate_ctx *ctx, const struct ofp_act *a)
{
    switch ((unsigned int) a->type) {
    case OFP_ACT_LEARN:
        pipeline_learn(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_OUTPUT_TRUNC:
        do_output_trunc(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_ENQUEUE:
        do_enqueue(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_POP_QUEUE:
        do_pop_queue(ctx);
        break;
    case OFP_ACT_MULTIPATH:
        pipeline_multipath(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_BUNDLE:
        pipeline_bundle(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_FIN_TIMEOUT:
        pipeline_fin_timeout(ctx, ofp_act_cast(a));
        break;
    default:
        do_number(ctx, a->type, ofp_act_cast(a));
        break;
    }
}

static void do_action(struct xlate_ctx *ctx, const struct ofp_act *a)
{
    switch ((unsigned int) a->type) {
    case OFP_ACT_OUTPUT:
    case OFP_ACT_OUTPUT_REG:
    case OFP_ACT_CONTROLLER:
        do_output(ctx, a);
        break;
    case OFP_ACT_SET_FIELD:
        do_set_field(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_MOVE:
        do_move(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_PUSH:
        do_push(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_POP:
        do_pop(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_STRIP_VLAN:
        pop_tag(ctx);
        break;
    case OFP_ACT_DEC_TTL:
        do_dec_ttl(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_RESUBMIT:
        do_resubmit(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_CLONE:
        do_clone(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_CT:
        pipeline_ct(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_CT_CLEAR:
        pipeline_ct_clear(ctx);
        break;
    case OFP_ACT_EXIT:
        ctx->pipeline->ended = true;
        break;
    case OFP_ACT_CLEAR_ACTIONS:
        do_clear_actions(ctx);
        break;
    case OFP_ACT_WRITE_ACTIONS:
        do_write_actions(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_WRITE_METADATA:
        do_metadata(ctx, ofp_act_cast(a));
        break;
    case OFP_ACT_NOTE:
    case OFP_ACT_CONJUNCTION:
    case OFP_ACT_SAMPLE: /* There are no collectors to send samples to: with none the packaged daemon does nothing, too. */
        break;
    default:
        do_other(ctx, a);
        break;
    }
}

void pipeline_actions(struct xlate_ctx *ctx, const struct ofp_act *acts, size_t len)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        if (ctx->pipeline->ended || unlikely(ctx->out->actions.overflow)) {
            return;
        }
        if (unlikely(ctx->trace)) {
            xlate_trace_action(ctx, a);
        }
        if (unlikely(a->type == OFP_ACT_CHECK_PKT_LARGER)) {
            const struct ofp_act *rest = ofp_act_next(a);
            pipeline_check_pkt_larger(ctx, ofp_act_cast(a), rest, (const char *) acts + len - (const char *) rest);
            return;
        }
        do_action(ctx, a);
        if (unlikely(ctx->pipeline->list_ended)) {
            ctx->pipeline->list_ended = false;
            return;
        }
    }
}
