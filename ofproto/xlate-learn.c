/* The actions that change tables: learn and fin_timeout.  A translation changes nothing: it notes what is to be learned, which lesson.h
 * explains.
 *
 * The packet itself does not meet what it teaches, not even in a table that it comes to later: a translation sees the tables of one version, and
 * so it is with the stock daemon.
 *
 * What learn copies from the packet it looks at, so that all packets of the megaflow teach the same.  With a limit the result depends on the
 * tables, too; as a change of those has every flow translated again, that is no business of the mask. */
#include <config.h>

#include <arpa/inet.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

LOG_MODULE(xlate_learn);

static void look_at_sources(struct xlate_ctx *ctx, const struct ofp_act_learn *a)
{
    for (uint32_t i = 0; i < a->n_specs; i++) {
        if (!a->specs[i].immediate) {
            pipeline_look_at(ctx, &a->specs[i].src);
        }
    }
}

/* Sets the bit that says whether there was room. */
static NOINLINE void write_result(struct xlate_ctx *ctx, const struct ofp_subfield *dst, bool result)
{
    const struct ofp_subfield src = { .field = ofp_field(OFP_FIELD_REG0), .n_bits = 1 };
    struct flow from;

    memset(&from, 0, sizeof from);
    from.regs[0] = htobe32(result);
    pipeline_write_subfield(ctx, &src, &from, dst);
}

/* Notes the lesson; not if its table has as many flows of its cookie as A allows: then returns false. */
static NOINLINE bool teach(struct xlate_ctx *ctx, const struct ofp_act_learn *a, struct lesson_list *list)
{
    struct pipeline *p = ctx->pipeline;
    size_t before = list->len;

    if (!lesson_list_add_learn(list, p->bridge->tables, p->rule, a, &ctx->flow)) {
        log_info_rl(6, "bridge %s: a packet would have more learned of it than %d bytes (%u fields into table %u): that is not learned",
                    p->bridge->name, LESSONS_SIZE, a->n_specs, a->table);
        return true;
    }
    if (a->limit && list->len > before
        && lesson_is_over_limit((const void *) ((const char *) list->memory + before), list->scratch)) {
        list->len = before;
        return false;
    }
    return true;
}

/* For who translates and does not want to learn: only the result. */
static NOINLINE bool pretend(struct xlate_ctx *ctx, const struct ofp_act_learn *a)
{
    uint64_t memory[LESSONS_SIZE / sizeof(uint64_t)];
    struct buf scratch = BUF_INITIALIZER;
    struct lesson_list list = { .memory = memory, .scratch = &scratch };
    bool result = teach(ctx, a, &list);

    buf_uninit(&scratch);
    return result;
}

void pipeline_learn(struct xlate_ctx *ctx, const struct ofp_act_learn *a)
{
    struct lesson_list *list = &ctx->out->lessons;
    bool wants_result = a->flags & OFP_LEARN_F_WRITE_RESULT, result = true;

    look_at_sources(ctx, a);
    if (list->memory && ctx->pipeline->rule) {
        result = teach(ctx, a, list);
    } else if (wants_result && a->limit) {
        result = pretend(ctx, a);
    }
    if (wants_result) {
        write_result(ctx, &a->result_dst, result);
    }
}

void pipeline_fin_timeout(struct xlate_ctx *ctx, const struct ofp_act_fin_timeout *a)
{
    struct pipeline *p = ctx->pipeline;

    XLATE_LOOK(ctx, eth_type);
    if (ctx->flow.eth_type != htons(ETH_TYPE_IPV4) && ctx->flow.eth_type != htons(ETH_TYPE_IPV6)) {
        return;
    }
    XLATE_LOOK(ctx, ip_proto); /* Not at the flags: those that the datapath sees of a flow it tells. */
    if (ctx->flow.ip_proto == IPPROTO_TCP && ctx->out->lessons.memory && p->rule) {
        lesson_list_add_fin(&ctx->out->lessons, p->bridge->tables, p->rule, &a->act);
    }
}
