/* Groups: which buckets a packet goes through, and that.  Each bucket gets the packet as it came to the group, and what a bucket does to it is not
 * seen by who comes after: as with clone.  A bucket's actions are an action set, whatever their order (as the packaged daemon has it).
 *
 * SELECT takes a hash of the packet, and looks at all that it hashes: each connection has its megaflow.  (The packaged daemon has the
 * datapath hash, and recirculates, unless selection_method=hash; its megaflows are as many as hashes.)  Weights are exact shares of the hash's
 * values.  If the bucket that a packet falls to is not live, the packet is dealt again to those that are: so a bucket that dies moves its own
 * packets only. */
#include <config.h>

#include <inttypes.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "ofproto/group.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* ---- Which are live. ---- */

/* Groups that are looked at for one bucket, and how deep, as they watch one another: what is beyond, or in a circle, is not live. */
#define MAX_WATCHED 256
#define MAX_WATCH_DEPTH 16

struct watch {
    const struct xbridge *br;
    unsigned int n, depth;
};

static bool does_live(struct watch *w, const struct bucket *b);

static bool is_group_live(struct watch *w, uint32_t id)
{
    const struct group *g = w->n < MAX_WATCHED && w->depth < MAX_WATCH_DEPTH ? groups_find(tables_groups(w->br->tables), id) : NULL;
    bool live = false;

    w->n++;
    w->depth++;
    for (size_t i = 0; g && i < g->n_buckets && !live; i++) {
        live = does_live(w, &g->buckets[i]);
    }
    w->depth--;
    return live;
}

static bool is_port_live(const struct xbridge *br, ofp_port_t no)
{
    const struct xport *port = xbridge_port_by_ofp(br, no);

    return port && port->is_live;
}

/* One that watches nothing is; one that watches a port and a group is as long as either is. */
static bool does_live(struct watch *w, const struct bucket *b)
{
    bool port = !ofp_port_eq(b->watch_port, OFPP_NONE), group = b->watch_group != OFPG_ANY;

    return (!port && !group) || (port && is_port_live(w->br, b->watch_port)) || (group && is_group_live(w, b->watch_group));
}

static bool is_bucket_live(const struct xlate_ctx *ctx, const struct bucket *b)
{
    struct watch w = { .br = ctx->pipeline->bridge };

    return does_live(&w, b);
}

/* The same, with a word about why it is not. */
static bool is_usable(struct xlate_ctx *ctx, const struct group *g, size_t i)
{
    const struct bucket *b = &g->buckets[i];

    if (likely(is_bucket_live(ctx, b))) {
        return true;
    }
    if (!ofp_port_eq(b->watch_port, OFPP_NONE)) {
        XLATE_TRACE(ctx, STEP_NOTE, "bucket %" PRIu32 ": not live due to port %u", b->id, b->watch_port.n);
    } else {
        XLATE_TRACE(ctx, STEP_NOTE, "bucket %" PRIu32 ": not live due to group %" PRIu32, b->id, b->watch_group);
    }
    return false;
}

/* ---- Which is selected. ---- */

/* Of the fields that the group names, those that the packet has; else of addresses and ports. */
static uint64_t hash_packet(struct xlate_ctx *ctx, const struct group *g)
{
    const struct ofp_group_selection *s = &g->selection;
    uint64_t hash = s->param;

    if (!s->n_fields) {
        return xlate_hash_connection(ctx, hash);
    }
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct ofp_field *field = s->fields[i].field;
        struct match m;
        union ofp_value value;
        memset(&m, 0, sizeof m);
        bool has = ofp_field_prereqs_ok(field, &ctx->flow, &m.mask);
        pipeline_look(ctx, &m.mask);
        if (!has) {
            continue;
        }
        memset(&m, 0, sizeof m);
        ofp_field_get(field, &ctx->flow, &value);
        ofp_field_set_match(field, &value, &s->fields[i].mask, &m);
        pipeline_look(ctx, &m.mask);
        for (unsigned int k = 0; k < field->n_bytes; k++) {
            ((uint8_t *) &value)[k] &= ((const uint8_t *) &s->fields[i].mask)[k];
        }
        hash = hash_bytes(&value, field->n_bytes, hash + field->id);
    }
    return hash;
}

/* The bucket that HASH falls to, of all, or of those that are usable: NULL if they have no weight. */
static const struct bucket *deal(struct xlate_ctx *ctx, const struct group *g, uint64_t hash, bool all)
{
    uint64_t total = 0;

    for (size_t i = 0; i < g->n_buckets; i++) {
        total += all || is_bucket_live(ctx, &g->buckets[i]) ? g->buckets[i].weight : 0;
    }
    uint64_t at = ((hash & UINT32_MAX) * total) >> 32;
    for (size_t i = 0; i < g->n_buckets; i++) {
        if (all || is_bucket_live(ctx, &g->buckets[i])) {
            if (at < g->buckets[i].weight) {
                return &g->buckets[i];
            }
            at -= g->buckets[i].weight;
        }
    }
    return NULL;
}

static NOINLINE const struct bucket *select_bucket(struct xlate_ctx *ctx, const struct group *g)
{
    uint64_t hash = hash_packet(ctx, g);
    const struct bucket *b = deal(ctx, g, hash, true);

    return b && !is_usable(ctx, g, b - g->buckets) ? deal(ctx, g, hash_u64(hash, 1), false) : b;
}

static const struct bucket *first_live(struct xlate_ctx *ctx, const struct group *g)
{
    for (size_t i = 0; i < g->n_buckets; i++) {
        if (is_usable(ctx, g, i)) {
            return &g->buckets[i];
        }
    }
    return NULL;
}

/* ---- Through them. ---- */

/* Not inlined: what is kept of the packet is large. */
static NOINLINE void do_bucket(struct xlate_ctx *ctx, const struct bucket *b)
{
    struct pipeline *p = ctx->pipeline;
    struct pipeline_kept kept = p->kept;
    unsigned int reason = p->reason;
    struct xlate_step *outer = unlikely(ctx->trace) ? xlate_trace_enter(ctx->trace, STEP_BUCKET, "bucket %" PRIu32, b->id) : NULL;
    struct pipeline_mark mark;
    struct xlate_fence fence;

    ctx->n_resubmits++; /* Groups that lead to one another multiply, as tables do. */
    pipeline_note_rule(ctx, b->rule);
    pipeline_mark(ctx, &mark);
    xlate_fence_begin(ctx, &fence);
    ctx->n_within++;
    p->reason = reason == OFPR_PACKET_OUT ? reason : OFPR_GROUP;
    p->kept.n_set = 0;
    OFP_ACT_FOR_EACH (a, rule_acts(b->rule), b->rule->acts_len) {
        p->kept.set[p->kept.n_set++] = a; /* They are no more than there is room for: ofproto-group.c. */
    }
    if (unlikely(ctx->trace) && !p->kept.n_set) {
        xlate_trace_add(ctx->trace, STEP_ACTION, "drop");
    }
    pipeline_do_set(ctx);
    p->reason = reason;
    ctx->n_within--;
    pipeline_return(ctx, &mark);
    xlate_fence_end(ctx, &fence);
    p->kept = kept;
    if (unlikely(ctx->trace)) {
        xlate_trace_leave(ctx->trace, outer);
    }
}

static bool is_too_deep(struct xlate_ctx *ctx)
{
    if (likely(ctx->n_within < XLATE_MAX_RESUBMIT_DEPTH && ctx->n_resubmits < XLATE_MAX_RESUBMITS)) {
        return false;
    }
    XLATE_TRACE(ctx, STEP_ERROR, "over max translation depth %d, or %d resubmit actions and buckets", XLATE_MAX_RESUBMIT_DEPTH, XLATE_MAX_RESUBMITS);
    pipeline_fail(ctx, XLATE_TOO_DEEP);
    return true;
}

void pipeline_group(struct xlate_ctx *ctx, uint32_t id)
{
    struct pipeline *p = ctx->pipeline;
    const struct group *g = groups_find(tables_groups(p->bridge->tables), id);

    if (!g) {
        XLATE_TRACE(ctx, STEP_WARNING, "Nonexistent group");
        return;
    }
    if (is_too_deep(ctx)) {
        return;
    }
    pipeline_note_rule(ctx, g->rule);
    if (g->type == OFPGT_ALL || g->type == OFPGT_INDIRECT) {
        for (size_t i = 0; i < g->n_buckets && !p->ended && !is_too_deep(ctx); i++) {
            do_bucket(ctx, &g->buckets[i]);
        }
        return;
    }
    const struct bucket *b = g->type == OFPGT_SELECT ? select_bucket(ctx, g) : first_live(ctx, g);
    if (!b) {
        XLATE_TRACE(ctx, STEP_NOTE, "no live bucket");
        return;
    }
    XLATE_TRACE(ctx, STEP_NOTE, "using bucket %" PRIu32, b->id);
    do_bucket(ctx, b);
}
