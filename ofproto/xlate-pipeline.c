/* See xlate-pipeline.h, xlate-ctx.h. */
#include <config.h>

#include "ofproto/xlate-pipeline.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/odp/odp-cookie.h"
#include "lib/ofp/ofp-msg-port.h"
#include "ofproto/recirc.h"
#include "ofproto/xlate-config.h"

LOG_MODULE(xlate_pipeline);

COUNTER_DEFINE(xlate_resubmit_limit);

/* A struct flow as words, for what is done to all of it. */
typedef uint64_t __attribute__((may_alias)) word;
#define N_WORDS (sizeof(struct flow) / sizeof(word))
_Static_assert(sizeof(struct flow) % sizeof(word) == 0, "a flow is whole words");

void pipeline_look(struct xlate_ctx *ctx, const struct flow *look)
{
    word *mask = (word *) ctx->mask;
    const word *bits = (const word *) look, *given = (const word *) &ctx->given;

    for (size_t i = 0; i < N_WORDS; i++) {
        mask[i] |= bits[i] & ~given[i];
    }
}

void pipeline_write(struct xlate_ctx *ctx, const struct match *m)
{
    word *flow = (word *) &ctx->flow, *given = (word *) &ctx->given, *written = (word *) &ctx->rewrite.written;
    const word *value = (const word *) &m->flow, *bits = (const word *) &m->mask;

    ctx->rewrite.dirty = true;
    for (size_t i = 0; i < N_WORDS; i++) {
        flow[i] = (flow[i] & ~bits[i]) | (value[i] & bits[i]);
        given[i] |= bits[i];
        written[i] |= bits[i];
    }
}

/* ---- Tags.  The list in 'vlan' may be longer than 'flow' can show. ---- */

/* Tags that are not the packet's own are no longer compared with it: all of its own is looked at, once. */
static void own_tags(struct xlate_ctx *ctx)
{
    for (unsigned int i = 0; i < FLOW_MAX_VLANS; i++) {
        if (i == 0 || flow_vlan_present(&ctx->in->vlan[i])) {
            FLOW_MASK_FIELD(ctx->mask, vlan[i]);
        }
    }
    memset(ctx->given.vlan, 0xff, sizeof ctx->given.vlan);
}

void pipeline_tags_changed(struct xlate_ctx *ctx)
{
    struct flow_vlan now[FLOW_MAX_VLANS] = { 0 };

    /* NORMAL may have made a tag anew behind a patch port: whether it equals the packet's own depends on the priority. */
    if (ctx->depth > 1 && ctx->n_vlans && ctx->in->vlan[0].tpid) {
        ctx->mask->vlan[0].tci |= htons(VLAN_PCP_MASK);
    }
    memcpy(now, ctx->vlan, MIN(ctx->n_vlans, FLOW_MAX_VLANS) * sizeof now[0]);
    if (memcmp(now, ctx->flow.vlan, sizeof now)) {
        own_tags(ctx);
        memcpy(ctx->flow.vlan, now, sizeof now);
    }
}

void pipeline_tags_moved(struct xlate_ctx *ctx)
{
    /* Also if they are now what they were: that depends on what the packet has. */
    own_tags(ctx);
    pipeline_tags_changed(ctx);
}

/* Only the outermost can be written as a field. */
void pipeline_tags_written(struct xlate_ctx *ctx)
{
    struct flow_vlan *v = &ctx->flow.vlan[0];

    own_tags(ctx);
    if (flow_vlan_present(v)) {
        v->tpid = v->tpid ? v->tpid : htons(ETH_TYPE_VLAN);
        ctx->vlan[0] = *v;
        ctx->n_vlans = MAX(ctx->n_vlans, 1);
    } else if (ctx->n_vlans) {
        memmove(&ctx->vlan[0], &ctx->vlan[1], --ctx->n_vlans * sizeof ctx->vlan[0]);
        pipeline_tags_changed(ctx);
    } /* Else its bits stay as they are: it may be written in parts, bit 12 last. */
}

/* ---- Going back. ---- */

void pipeline_mark(const struct xlate_ctx *ctx, struct pipeline_mark *ret)
{
    ret->flow = ctx->flow;
    ret->given = ctx->given;
    memcpy(ret->vlan, ctx->vlan, sizeof ret->vlan);
    ret->n_vlans = ctx->n_vlans;
}

void pipeline_return(struct xlate_ctx *ctx, const struct pipeline_mark *m)
{
    word *written = (word *) &ctx->rewrite.written;
    const word *known = (const word *) &ctx->rewrite.known, *given = (const word *) &m->given;

    /* What was written meanwhile and did not leave is not to be done; what left is to be undone, if anything leaves after this. */
    for (size_t i = 0; i < N_WORDS; i++) {
        written[i] = known[i] | (written[i] & given[i]);
    }
    ctx->flow = m->flow;
    ctx->given = m->given;
    memcpy(ctx->vlan, m->vlan, sizeof ctx->vlan);
    ctx->n_vlans = m->n_vlans;
}

void pipeline_untrack(struct xlate_ctx *ctx)
{
    flow_fill_ct(&ctx->flow, 0);
    flow_fill_ct(&ctx->given, 0xff);
    ctx->conntracked = false;
}

/* ---- Tables. ---- */

void pipeline_fail(struct xlate_ctx *ctx, enum xlate_verdict fault)
{
    ctx->pipeline->ended = true;
    ctx->pipeline->fault = fault;
}

void pipeline_note_rule(struct xlate_ctx *ctx, struct rule *r)
{
    if (ctx->out->rules && ctx->out->n_rules < XLATE_MAX_RULES) {
        ctx->out->rules[ctx->out->n_rules++] = r;
    }
}

/* To tables a fragment has the ports 0, even the first one, which has ports (ovs-ofctl(8), set-frags normal).  So who looks at ports has looked at
 * whether it is one; and if it is, at nothing else. */
static void look_at_ports(struct xlate_ctx *ctx, bool fragment, struct flow *look)
{
    if (ctx->flow.eth_type == htons(ETH_TYPE_IPV4) || ctx->flow.eth_type == htons(ETH_TYPE_IPV6)) {
        look->ip_frag |= FLOW_FRAG_ANY;
    }
    if (fragment) {
        look->tp_src = look->tp_dst = 0;
    }
}

/* Not inlined, as others that have a struct flow of their own: tables may be thousands deep, and each should take little of the stack. */
static NOINLINE struct rule *look_up(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port)
{
    be16 saved_port = ctx->flow.ofp_in_port, saved_src = ctx->flow.tp_src, saved_dst = ctx->flow.tp_dst;
    bool fragment = ctx->flow.ip_frag & FLOW_FRAG_ANY;
    struct flow look;

    memset(&look, 0, sizeof look);
    ctx->flow.ofp_in_port = htons(in_port.n);
    if (unlikely(fragment)) {
        ctx->flow.tp_src = ctx->flow.tp_dst = 0;
    }
    struct rule *rule = tables_lookup(ctx->pipeline->bridge->tables, id, ctx->pipeline->version, &ctx->flow, &look);
    ctx->flow.ofp_in_port = saved_port;
    ctx->flow.tp_src = saved_src;
    ctx->flow.tp_dst = saved_dst;
    if (look.tp_src | look.tp_dst) {
        look_at_ports(ctx, fragment, &look);
    }
    pipeline_look(ctx, &look);
    return rule;
}

/* The same with the addresses and ports that the packet's connection began with. */
static NOINLINE struct rule *look_up_ct(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port)
{
    struct flow flow = ctx->flow, look;

    memset(&look, 0, sizeof look);
    flow.ofp_in_port = htons(in_port.n);
    pipeline_swap_ct(&ctx->flow, &flow);
    struct rule *rule = tables_lookup(ctx->pipeline->bridge->tables, id, ctx->pipeline->version, &flow, &look);
    pipeline_swap_ct(&ctx->flow, &look);
    pipeline_look(ctx, &look);
    return rule;
}

/* The last rules that the packet met, the last one first: "3: priority 5, cookie 0x7; 2: priority 1". */
#define CHAIN_RULES 8
static const char *describe_chain(const struct xlate_out *out, char *text, size_t size)
{
    size_t n = out->rules ? out->n_rules : 0, len = 0;

    snprintf(text, size, "not noted"); /* Whoever translates did not want to know. */
    for (size_t i = 0; i < n && i < CHAIN_RULES && len < size; i++) {
        const struct rule *r = out->rules[n - 1 - i];
        len += snprintf(text + len, size - len, "%s%u: priority %d", i ? "; " : "", r->table_id, cls_rule_priority(&r->cls));
        if (r->cookie && len < size) {
            len += snprintf(text + len, size - len, ", cookie 0x%" PRIx64, r->cookie);
        }
    }
    return text;
}

static NOINLINE void log_limit(const struct xlate_ctx *ctx, uint8_t id)
{
    char chain[512];

    log_warn_rl(6, "bridge %s: table %u is the %uth within another, the %uth of one packet (rules that resubmit to themselves?); nothing more "
                   "is done with the packet.  The rules that it met last, from the end: %s", ctx->pipeline->bridge->name, id, ctx->n_within,
                ctx->n_resubmits, describe_chain(ctx->out, chain, sizeof chain));
}

static bool is_too_deep(struct xlate_ctx *ctx, uint8_t id)
{
    if (likely(ctx->n_within <= XLATE_MAX_RESUBMIT_DEPTH && ctx->n_resubmits < XLATE_MAX_RESUBMITS)) {
        return false;
    }
    COUNTER_INC(xlate_resubmit_limit);
    if (unlikely(ctx->trace)) {
        xlate_trace_limit(ctx);
    } else {
        log_limit(ctx, id);
    }
    pipeline_fail(ctx, XLATE_TOO_DEEP);
    return true;
}

/* A packet that nothing is said about.  Who goes to a table by goto_table asks for what is done then; who resubmits, in ovs-actions(7), does not. */
static void miss(struct xlate_ctx *ctx)
{
    struct pipeline *p = ctx->pipeline;

    if (tables_punts(p->bridge->tables) & TABLES_PUNT_MISS) {
        const struct xport *port = xbridge_port_by_ofp(p->bridge, (ofp_port_t) { ntohs(ctx->flow.ofp_in_port) });
        if (port && port->config & OFPPC_NO_PACKET_IN) {
            return;
        }
        p->rule = NULL;
        xlate_controller(ctx, OFPR_NO_MATCH, ODP_COOKIE_MISS, 0, UINT16_MAX, (struct bytes) { NULL, 0 });
    }
}

static void walk(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port, bool ct, bool from_outside)
{
    struct pipeline *p = ctx->pipeline;
    struct rule *outer_rule = p->rule;
    uint8_t outer = p->table_id;
    struct xlate_step *outer_step = unlikely(ctx->trace) ? ctx->trace->at : NULL;

    /* goto_table, the last of what a rule does, is not within another table, but after it. */
    for (int next = id; next >= 0 && !p->ended; in_port = (ofp_port_t) { ntohs(ctx->flow.ofp_in_port) }) {
        if (is_too_deep(ctx, next)) {
            break;
        }
        ctx->n_resubmits++;
        struct rule *rule = ct ? look_up_ct(ctx, next, in_port) : look_up(ctx, next, in_port);
        ct = false;
        p->table_id = next;
        p->next_table = -1;
        if (unlikely(ctx->trace)) {
            xlate_trace_rule(ctx, next, rule);
        }
        if (rule) {
            p->rule = rule;
            p->first = p->first ? p->first : rule;
            pipeline_note_rule(ctx, rule);
            pipeline_actions(ctx, rule_acts(rule), rule->acts_len);
        } else if (from_outside) {
            miss(ctx);
        }
        from_outside = true;
        next = p->next_table;
    }
    p->next_table = -1;
    p->table_id = outer;
    p->rule = outer_rule;
    if (unlikely(ctx->trace)) {
        xlate_trace_leave(ctx->trace, outer_step);
    }
}

void pipeline_table(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port, bool ct) { walk(ctx, id, in_port, ct, false); }

void pipeline_enter(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port) { walk(ctx, id, in_port, false, true); }

/* ---- The action set: done at the end, in the order that OpenFlow 1.3 (5.10) gives, the last of each kind. ---- */

static unsigned int set_rank(enum ofp_act_type type)
{
    static const enum ofp_act_type order[] = { OFP_ACT_STRIP_VLAN, OFP_ACT_POP_MPLS, OFP_ACT_PUSH_MPLS, OFP_ACT_PUSH_VLAN,
                                               OFP_ACT_DEC_TTL, OFP_ACT_DEC_MPLS_TTL };
    for (unsigned int i = 0; i < ARRAY_SIZE(order); i++) {
        if (order[i] == type) {
            return i;
        }
    }
    switch ((unsigned int) type) {
    case OFP_ACT_SET_QUEUE:
        return 11;
    case OFP_ACT_GROUP:
        return 12;
    case OFP_ACT_OUTPUT:
        return 13;
    case OFP_ACT_RESUBMIT:
        return 14;
    case OFP_ACT_CT_CLEAR:
        return 15;
    case OFP_ACT_CT:
        return 16;
    default: /* Everything that sets a field, in the order in which it was written. */
        return 10;
    }
}

/* Those of K's actions that are to be done, in their order. */
static unsigned int order_set(const struct pipeline_kept *k, const struct ofp_act *ret[PIPELINE_MAX_SET])
{
    unsigned int n = 0;

    for (unsigned int rank = 0; rank <= 16; rank++) {
        const struct ofp_act *last = NULL;
        for (unsigned int i = 0; i < k->n_set; i++) {
            const struct ofp_act *a = k->set[i];
            if (set_rank(a->type) != rank) {
                continue;
            }
            if (rank == 10) {
                ret[n++] = a;
            } else {
                last = a;
            }
        }
        if (last) {
            ret[n++] = last;
        }
        if (last && rank >= 12) { /* Of what sends the packet away only the first in this order is done. */
            break;
        }
    }
    return n;
}

NOINLINE void pipeline_do_set(struct xlate_ctx *ctx)
{
    const struct ofp_act *acts[PIPELINE_MAX_SET];
    unsigned int n = order_set(&ctx->pipeline->kept, acts);
    bool expired = ctx->pipeline->expired;

    ctx->pipeline->kept.n_set = 0; /* It is done once: a ct in it brings the packet back without. */
    ctx->pipeline->expired = false;
    for (unsigned int i = 0; i < n && !ctx->pipeline->ended && !ctx->pipeline->expired; i++) {
        pipeline_actions(ctx, acts[i], acts[i]->len);
    }
    ctx->pipeline->expired |= expired;
}

void pipeline_trace_set(struct xlate_ctx *ctx, const char *is)
{
    const struct ofp_act *acts[PIPELINE_MAX_SET];
    unsigned int n = order_set(&ctx->pipeline->kept, acts);

    xlate_trace_set(ctx, is, acts, n);
}

void pipeline_do_set_last(struct xlate_ctx *ctx)
{
    struct pipeline *p = ctx->pipeline;

    if (p->reason != OFPR_PACKET_OUT) { /* As the field has it: packet-ins name the rule that began, or the packet-out. */
        p->reason = OFPR_ACTION_SET;
        p->rule = p->first;
    }
    if (p->kept.n_set) {
        struct xlate_step *outer_step = unlikely(ctx->trace) ? xlate_trace_enter_set(ctx->trace) : NULL;
        pipeline_do_set(ctx);
        if (unlikely(ctx->trace)) {
            xlate_trace_leave(ctx->trace, outer_step);
        }
    }
}

void pipeline_finish(struct xlate_ctx *ctx)
{
    struct pipeline *p = ctx->pipeline;

    if (p->fault == XLATE_FORWARD) {
        p->ended = false; /* exit leaves the action set to be done. */
        pipeline_do_set_last(ctx);
    }
}

/* ---- A packet comes into a bridge. ---- */

void pipeline_begin(struct xlate_ctx *ctx)
{
    ctx->piped = true;
    ctx->flow = *ctx->in;
    memset(&ctx->given, 0, sizeof ctx->given);
    memset(&ctx->given.metadata, 0xff, offsetof(struct flow, tunnel) - offsetof(struct flow, metadata));
    odp_rewrite_init(&ctx->rewrite, ctx->in, true);
}

/* Has the packet meet table ID, and what follows from it, in P's bridge. */
static enum xlate_verdict run(struct xlate_ctx *ctx, struct pipeline *p, uint8_t id)
{
    struct pipeline *outer = ctx->pipeline;

    pipeline_tags_changed(ctx);
    ctx->pipeline = p;
    if (unlikely(ctx->start && ctx->start->acts && ctx->depth == 1)) {
        pipeline_actions(ctx, ctx->start->acts, ctx->start->acts_len);
    } else {
        pipeline_enter(ctx, id, (ofp_port_t) { ntohs(ctx->flow.ofp_in_port) });
    }
    pipeline_finish(ctx);
    if (unlikely(ctx->trace)) {
        xlate_trace_flow(ctx);
    }
    ctx->pipeline = outer;
    return p->fault != XLATE_FORWARD ? p->fault
           : ctx->unable             ? XLATE_UNABLE
           : p->sent                 ? XLATE_FORWARD
           : p->expired              ? XLATE_TTL
                                     : XLATE_TABLES;
}

enum xlate_verdict xlate_pipeline(struct xlate_ctx *ctx, const struct xport *in_port)
{
    const struct xbridge *br = in_port->bundle->bridge;
    struct pipeline p = { .bridge = br, .version = tables_version(br->tables), .next_table = -1, .reason = OFPR_ACTION, .fault = XLATE_FORWARD };
    struct pipeline_mark mark;

    if (!ctx->piped) {
        pipeline_begin(ctx);
    }
    pipeline_mark(ctx, &mark);
    if (ctx->depth > 1) {
        flow_clear_pipeline(&ctx->flow);
    }
    ctx->flow.ofp_in_port = htons(in_port->ofp.n);
    if (ctx->depth > 1) {
        pipeline_untrack(ctx); /* What conntrack told one bridge is not the next one's. */
    }
    enum xlate_verdict verdict = run(ctx, &p, 0);
    pipeline_return(ctx, &mark);
    return verdict;
}

/* What F kept on the stack. */
static void thaw_stack(const struct frozen *f, struct pipeline_kept *k)
{
    const uint8_t *pos = f->tail + ROUND_UP(strlen(frozen_bridge(f)) + 1, 8);

    for (k->n_stack = 0; k->n_stack < f->n_stack; k->n_stack++) {
        const struct frozen_value *v = (const void *) pos;
        struct pipeline_value *to = &k->stack[k->n_stack];
        to->n_bytes = v->n_bytes;
        memcpy(&to->value, v->bytes, v->n_bytes);
        pos += sizeof *v + ROUND_UP(v->n_bytes, 8);
    }
}

enum xlate_verdict xlate_pipeline_resume(struct xlate_ctx *ctx, const struct xbridge *br, const struct frozen *f)
{
    struct pipeline p = { .bridge = br, .version = tables_version(br->tables), .next_table = -1, .reason = OFPR_ACTION, .fault = XLATE_FORWARD };

    pipeline_begin(ctx);
    flow_clear_pipeline(&ctx->flow);
    ctx->flow.metadata = f->metadata;
    memcpy(ctx->flow.regs, f->regs, sizeof ctx->flow.regs);
    ctx->flow.ofp_in_port = f->ofp_in_port;
    ctx->conntracked = f->conntracked;
    if (!f->conntracked) {
        pipeline_untrack(ctx);
    }
    thaw_stack(f, &p.kept);
    OFP_ACT_FOR_EACH (a, f->tail + f->plain_len, f->set_len) {
        p.kept.set[p.kept.n_set++] = a;
    }
    return run(ctx, &p, f->table);
}
