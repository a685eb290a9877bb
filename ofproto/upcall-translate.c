/* Stage "translate" of upcall.h. */
#include <config.h>

#include "lib/odp/odp-key.h"
#include "ofproto/upcall.h"

/* Copies what has been written to B's scratch memory into its arena. */
static const void *keep(struct upcall_batch *b, const struct attrbuf *attrs)
{
    void *p = arena_alloc(&b->arena, attrbuf_len(attrs));
    memcpy(p, attrbuf_data(attrs), attrbuf_len(attrs));
    return p;
}

void upcall_translate(struct upcall_batch *b)
{
    struct xlate_out out;

    for (unsigned int i = 0; i < b->n_flows; i++) {
        struct upcall_flow *f = &b->flows[i];

        attrbuf_init(&out.actions, b->scratch, XLATE_ACTIONS_SIZE);
        out.rules = b->rules_scratch;
        out.lessons.memory = b->lessons_scratch;
        out.lessons.scratch = &b->learner.acts;
        xlate(b->config, f->flow, &out);
        f->verdict = out.verdict;
        f->actions_len = attrbuf_len(&out.actions);
        f->actions = f->flow_actions = keep(b, &out.actions);
        f->flow_actions_len = f->actions_len;
        f->slow = out.slow;
        if (unlikely(out.slow)) {
            attrbuf_clear(&out.actions);
            xlate_put_slow(&out, &out.actions);
            f->flow_actions_len = attrbuf_len(&out.actions);
            f->flow_actions = keep(b, &out.actions);
        }
        f->n_effects = out.n_effects;
        f->deps = out.deps;
        struct effect *effects = arena_alloc(&b->arena, out.n_effects * sizeof *effects);
        memcpy(effects, out.effects, out.n_effects * sizeof *effects);
        f->effects = effects;
        struct rule **rules = arena_alloc(&b->arena, out.n_rules * sizeof *rules);
        memcpy(rules, out.rules, out.n_rules * sizeof *rules);
        f->rules = rules;
        f->n_rules = out.n_rules;
        struct recirc **recircs = arena_alloc(&b->arena, out.n_recircs * sizeof *recircs);
        memcpy(recircs, out.recircs, out.n_recircs * sizeof *recircs);
        f->recircs = recircs;
        f->n_recircs = out.n_recircs;
        f->lessons = (struct lesson_list) { .memory = arena_alloc(&b->arena, out.lessons.len), .len = out.lessons.len };
        memcpy(f->lessons.memory, out.lessons.memory, out.lessons.len);

        struct attrbuf mask;
        attrbuf_init(&mask, b->scratch, XLATE_ACTIONS_SIZE);
        odp_mask_put(&mask, f->flow, &out.mask);
        f->mask_len = attrbuf_len(&mask);
        f->mask = keep(b, &mask);
        f->ufid = odp_ufid(f->flow, &out.mask);
    }
    UPCALL_COUNT(b->stats, translated, b->n_flows);
}
