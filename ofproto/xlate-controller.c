/* What goes to OpenFlow controllers: packet-ins, and what comes from them: packet-outs.
 *
 * A packet that is to go up is handed up by the kernel, with a cookie that says all that the packet does not (odp-cookie.h): also the very
 * packet whose upcall is being translated, for which that means a second way up.  In return there is one way for all: the kernel has made
 * of the packet what the tables say, and its copy waits in the lane of its port, behind what came before it. */
#include <config.h>

#include <arpa/inet.h>
#include <linux/openvswitch.h>

#include "lib/base/compiler.h"
#include "lib/odp/odp-cookie.h"
#include "ofproto/meter.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* Is R what OpenFlow 1.3 calls a table-miss rule? */
static bool is_table_miss(const struct rule *r)
{
    static const struct match any;

    return r && cls_rule_priority(&r->cls) == 0 && cls_rule_equals(&r->cls, &any, 0);
}

/* Hands the packet up with COOKIE, if meter METER_ID lets it pass; if there is no such meter, always.  What the meter drops is a copy. */
static void put_metered(struct xlate_ctx *ctx, uint32_t meter_id, const struct odp_cookie *cookie)
{
    struct attrbuf *b = &ctx->out->actions;
    size_t start = attrbuf_len(b);
    uint32_t odp_id;

    if (likely(!meters_odp_id(tables_meters(ctx->pipeline->bridge->tables), meter_id, &odp_id) || !ctx->config->can.clone)) {
        odp_put_cookie(b, ctx->pid, cookie);
        return;
    }
    attrbuf_put_u32(b, OVS_ACTION_ATTR_METER, odp_id);
    odp_put_cookie(b, ctx->pid, cookie);
    if (!b->overflow) {
        attrbuf_wrap(b, start, OVS_ACTION_ATTR_CLONE);
    }
}

void xlate_controller(struct xlate_ctx *ctx, unsigned int reason, unsigned int flags, uint16_t controller_id, uint16_t max_len,
                      struct bytes userdata)
{
    xlate_controller_metered(ctx, reason, flags, controller_id, max_len, userdata, OFPM_CONTROLLER);
}

/* Not inlined: a cookie takes of the stack, and tables may be thousands deep. */
NOINLINE void xlate_controller_metered(struct xlate_ctx *ctx, unsigned int reason, unsigned int flags, uint16_t controller_id,
                                       uint16_t max_len, struct bytes userdata, uint32_t meter_id)
{
    const struct pipeline *p = ctx->pipeline;
    struct odp_cookie cookie = {
        .kind = ODP_COOKIE_CONTROLLER,
        .bridge = p->bridge->id,
        .reason = reason,
        .flags = flags | (is_table_miss(p->rule) ? ODP_COOKIE_TABLE_MISS : 0),
        .table_id = p->table_id,
        .controller_id = controller_id,
        .max_len = max_len,
        .rule_cookie = p->rule ? p->rule->cookie : flags & ODP_COOKIE_MISS ? 0 : UINT64_MAX,
        .in_port = { ntohs(ctx->flow.ofp_in_port) },
        .metadata = ctx->flow.metadata,
        .userdata = userdata,
    };

    if (unlikely(ctx->out->actions.overflow) || !xlate_commit(ctx)) {
        return;
    }
    memcpy(cookie.regs, ctx->flow.regs, sizeof cookie.regs);
    put_metered(ctx, meter_id, &cookie);
}

/* ---- Packet-outs. ---- */

const struct xport *xlate_any_port(const struct xconfig *config)
{
    for (size_t i = 0; i < config->n_by_id; i++) {
        const struct xbundle *b = config->by_id[i];
        for (size_t k = 0; k < b->n_ports; k++) {
            if (__atomic_load_n(&b->ports[k]->upcall_pid, __ATOMIC_RELAXED)) {
                return b->ports[k];
            }
        }
    }
    return NULL;
}

void xlate_packet_out(const struct xbridge *br, const struct xlate_packet_out *po, struct xlate_out *out)
{
    const struct xport *in = xbridge_port_by_ofp(br, po->in_port);
    struct xlate_outside outside;
    struct pipeline p = { .bridge = br, .version = tables_version(br->tables), .table_id = 0, .next_table = -1, .reason = OFPR_PACKET_OUT,
                          .fault = XLATE_FORWARD };
    struct xlate_ctx ctx;

    xlate_begin(&ctx, br->config, po->flow, in && __atomic_load_n(&in->upcall_pid, __ATOMIC_RELAXED) ? in : xlate_any_port(br->config), out);
    xlate_outside_init(&outside, br, po->in_port);
    ctx.outside = in ? NULL : &outside.port;
    pipeline_begin(&ctx);
    ctx.flow.ofp_in_port = htons(po->in_port.n);
    pipeline_tags_changed(&ctx);
    ctx.pipeline = &p;
    ctx.depth = ctx.n_visits = 1;
    pipeline_actions(&ctx, po->acts, po->acts_len);
    pipeline_finish(&ctx);
    out->verdict = p.fault != XLATE_FORWARD ? p.fault : ctx.unable ? XLATE_UNABLE : p.sent ? XLATE_FORWARD : XLATE_TABLES;
    xlate_end(&ctx, br->name);
}
