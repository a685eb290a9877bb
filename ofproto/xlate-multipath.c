/* multipath, bundle and bundle_load: links and ports that are chosen by a hash.  ovs-actions(7). */
#include <config.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-msg-port.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* More links than this are too many to weigh each (hrw): the manual page has the same. */
#define MAX_HRW_LINKS 64
#define MAX_ITERATIONS 32

/* Of 32 bits that come from HASH and I. */
static uint32_t weigh(uint64_t hash, uint32_t i) { return hash_u64(hash, i + 1) >> 32; }

static uint32_t heaviest(uint64_t hash, uint32_t n)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < n; i++) {
        best = weigh(hash, i) > weigh(hash, best) ? i : best;
    }
    return best;
}

/* The first of a row of numbers below ARG that is below N. */
static uint32_t iterate(uint64_t hash, uint32_t n, uint32_t arg)
{
    uint32_t modulo = arg;

    if (arg < n || arg > 2 * n) {
        for (modulo = 1; modulo < n;) {
            modulo *= 2;
        }
    }
    for (uint32_t i = 0; i < MAX_ITERATIONS; i++) {
        uint32_t link = weigh(hash, i) % modulo;
        if (link < n) {
            return link;
        }
    }
    return weigh(hash, 0) % n; /* One packet in billions. */
}

static uint32_t choose_link(const struct ofp_act_multipath *a, uint64_t hash)
{
    uint32_t n = a->max_link + 1;

    switch (a->algorithm) {
    case OFP_MP_HASH_THRESHOLD:
        return (hash & UINT32_MAX) * n >> 32;
    case OFP_MP_ITER_HASH:
        return iterate(hash, n, a->arg);
    case OFP_MP_HRW:
        if (n <= MAX_HRW_LINKS) {
            return heaviest(hash, n);
        }
        break;
    }
    return (hash & UINT32_MAX) % n;
}

NOINLINE void pipeline_write_u64(struct xlate_ctx *ctx, const struct ofp_subfield *dst, uint64_t value)
{
    struct flow from = ctx->flow;

    ofp_subfield_set_u64(dst, value, &from);
    pipeline_write_subfield(ctx, dst, &from, dst);
}

static void write_number(struct xlate_ctx *ctx, const struct ofp_subfield *dst, uint64_t value)
{
    pipeline_write_u64(ctx, dst, value);
    if (unlikely(ctx->trace)) {
        xlate_trace_subfield(ctx, dst);
    }
}

void pipeline_multipath(struct xlate_ctx *ctx, const struct ofp_act_multipath *a)
{
    write_number(ctx, &a->dst, choose_link(a, xlate_hash(ctx, a->fields, a->basis)));
}

static bool is_live(const struct xlate_ctx *ctx, ofp_port_t no)
{
    ofp_port_t in_port = { ntohs(ctx->flow.ofp_in_port) };
    const struct xport *port = xbridge_port_by_ofp(ctx->pipeline->bridge, no.n == OFPP_IN_PORT_N ? in_port : no);

    return port && port->is_live;
}

/* OFPP_NONE: no member is live. */
static ofp_port_t choose_member(struct xlate_ctx *ctx, const struct ofp_act_bundle *a)
{
    uint64_t hash = a->hrw ? xlate_hash(ctx, a->fields, a->basis) : 0;
    int best = -1;

    for (int i = 0; i < a->n_members; i++) {
        if (is_live(ctx, a->members[i])) {
            if (!a->hrw) {
                return a->members[i];
            }
            best = best < 0 || weigh(hash, i) > weigh(hash, best) ? i : best;
        }
    }
    return best < 0 ? OFPP_NONE : a->members[best];
}

void pipeline_bundle(struct xlate_ctx *ctx, const struct ofp_act_bundle *a)
{
    ofp_port_t port = choose_member(ctx, a);

    if (a->load) {
        write_number(ctx, &a->dst, port.n);
    } else if (!ofp_port_eq(port, OFPP_NONE)) {
        pipeline_output(ctx, port);
    }
}
