/* See xlate-trace.h.  The words are the packaged daemon's, since people search for them. */
#include <config.h>

#include "ofproto/xlate-trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/rule.h"
#include "ofproto/xlate-ctx.h"

void xlate_trace_init(struct xlate_trace *t)
{
    memset(t, 0, sizeof *t);
    t->at = &t->root;
}

/* Resubmits may be thousands deep, so not by recursion: children go to the front of the list of what is to be freed. */
void xlate_trace_uninit(struct xlate_trace *t)
{
    struct xlate_step *todo = t->root.first;

    while (todo) {
        struct xlate_step *s = todo;
        todo = s->next;
        if (s->first) {
            s->last->next = todo;
            todo = s->first;
        }
        free(s->text);
        free(s);
    }
}

/* Takes TEXT.  Returns the step, or the current one if there is no room for more. */
static struct xlate_step *add(struct xlate_trace *t, enum xlate_step_kind kind, char *text)
{
    if (t->n_steps == XLATE_TRACE_MAX_STEPS) {
        t->cut = true;
        free(text);
        return t->at;
    }
    t->n_steps++;
    struct xlate_step *s = xzalloc(sizeof *s), *at = t->at;
    s->kind = kind;
    s->text = text;
    if (at->last) {
        at->last->next = s;
    } else {
        at->first = s;
    }
    at->last = s;
    return s;
}

void xlate_trace_add(struct xlate_trace *t, enum xlate_step_kind kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(t, kind, xvasprintf(format, args));
    va_end(args);
}

static struct xlate_step *enter(struct xlate_trace *t, enum xlate_step_kind kind, char *text)
{
    struct xlate_step *outer = t->at;

    t->at = add(t, kind, text);
    return outer;
}

struct xlate_step *xlate_trace_enter(struct xlate_trace *t, enum xlate_step_kind kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct xlate_step *outer = enter(t, kind, xvasprintf(format, args));
    va_end(args);
    return outer;
}

struct xlate_step *xlate_trace_rule(struct xlate_ctx *ctx, uint8_t table_id, const struct rule *rule)
{
    struct match match;
    struct text t;

    if (!rule) {
        struct xlate_step *outer = xlate_trace_enter(ctx->trace, STEP_TABLE, "%2u. No match.", table_id);
        xlate_trace_add(ctx->trace, STEP_ACTION, "drop");
        return outer;
    }
    FILE *out = text_open(&t);
    cls_rule_get_match(&rule->cls, &match);
    fprintf(out, "%2u. ", table_id);
    long start = ftell(out);
    ofp_match_print(out, &match, OFP_DEFAULT_PRIORITY);
    fprintf(out, "%spriority %d", ftell(out) > start ? ", " : "", cls_rule_priority(&rule->cls));
    if (rule->cookie) {
        fprintf(out, ", cookie 0x%" PRIx64, rule->cookie);
    }
    struct xlate_step *outer = enter(ctx->trace, STEP_TABLE, text_close(&t));
    if (!rule->acts_len) {
        xlate_trace_add(ctx->trace, STEP_ACTION, "drop");
    }
    return outer;
}

void xlate_trace_action(struct xlate_ctx *ctx, const struct ofp_act *a)
{
    struct text t;

    ofp_acts_print(text_open(&t), a, a->len, NULL);
    add(ctx->trace, STEP_ACTION, text_close(&t));
}

void xlate_trace_set(struct xlate_ctx *ctx, const char *is, const struct ofp_act *const acts[], unsigned int n)
{
    struct text t;

    if (!n) {
        xlate_trace_add(ctx->trace, STEP_NOTE, "action set %s empty", is);
        return;
    }
    FILE *out = text_open(&t);
    fprintf(out, "action set %s: ", is);
    for (unsigned int i = 0; i < n; i++) {
        fputs(i ? "," : "", out);
        ofp_acts_print(out, acts[i], acts[i]->len, NULL);
    }
    add(ctx->trace, STEP_NOTE, text_close(&t));
}

/* It is shown beside what the rule of the first table led to. */
struct xlate_step *xlate_trace_enter_set(struct xlate_trace *t)
{
    struct xlate_step *outer = t->at;

    if (outer->last && outer->last->kind == STEP_TABLE) {
        t->at = outer->last;
    }
    xlate_trace_enter(t, STEP_TABLE, "--. Executing action set:");
    return outer;
}

void xlate_trace_subfield(struct xlate_ctx *ctx, const struct ofp_subfield *sf)
{
    union ofp_value value;
    size_t n_bytes;
    struct text t;

    FILE *out = text_open(&t);
    ofp_subfield_print(out, sf);
    fputs(" is now ", out);
    if (sf->n_bits == sf->field->n_bits) {
        ofp_field_get(sf->field, &ctx->flow, &value);
        ofp_field_print(out, sf->field, &value, NULL);
    } else {
        ofp_subfield_get(sf, &ctx->flow, &value, &n_bytes);
        fprintf(out, "0x%" PRIx64, ofp_value_get_u64(&value, n_bytes));
    }
    add(ctx->trace, STEP_NOTE, text_close(&t));
}

void xlate_trace_limit(struct xlate_ctx *ctx)
{
    if (ctx->n_within > XLATE_MAX_RESUBMIT_DEPTH) {
        xlate_trace_add(ctx->trace, STEP_ERROR, "over max translation depth %d", XLATE_MAX_RESUBMIT_DEPTH);
    } else {
        xlate_trace_add(ctx->trace, STEP_ERROR, "over %d resubmit actions", XLATE_MAX_RESUBMITS);
    }
}

void xlate_trace_fork(struct xlate_ctx *ctx, uint32_t id, uint8_t table, bool conntracked)
{
    struct xlate_trace *t = ctx->trace;

    xlate_trace_add(t, STEP_NOTE, "A clone of the packet is forked to recirculate. The forked pipeline will be resumed at table %u.", table);
    struct xlate_fork *f = &t->forks[t->n_forks++]; /* A translation makes no more than there is room for. */
    f->conntracked = conntracked;
    f->flow = ctx->flow;
    f->flow.recirc_id = id;
}

void xlate_trace_zone(struct xlate_ctx *ctx, uint16_t zone)
{
    ctx->trace->forks[ctx->trace->n_forks - 1].flow.ct_zone = zone;
}

struct xlate_step *xlate_trace_resume(struct xlate_trace *t, const char *bridge, uint8_t table)
{
    struct xlate_step *outer = xlate_trace_enter(t, STEP_BRIDGE, "bridge(\"%s\")", bridge);

    xlate_trace_add(t, STEP_ACTION, "thaw");
    xlate_trace_add(t, STEP_ACTION, "    Resuming from table %u", table);
    return outer;
}

void xlate_trace_flow(struct xlate_ctx *ctx)
{
    if (ctx->depth == 1) {
        ctx->trace->final = ctx->flow;
        ctx->trace->has_final = true;
    }
}
