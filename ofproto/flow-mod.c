/* See flow-mod.h.  The semantics are those of OpenFlow 1.3, section 6.4, and of ovs-ofctl(8). */
#include <config.h>

#include "ofproto/flow-mod.h"

#include <stdlib.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "ofproto/evict.h"

struct collect {
    const struct rule_filter *filter;
    struct rule **rules;
    size_t n, allocated;
};

static bool is_meant(const struct rule_filter *f, const struct rule *r)
{
    return !(r->flags & RULE_HIDDEN) && !((r->cookie ^ f->cookie) & f->cookie_mask)
           && (ofp_port_eq(f->out_port, OFPP_NONE) || ofp_acts_output_to_port(rule_acts(r), r->acts_len, f->out_port))
           && (f->out_group == OFPG_ANY || ofp_acts_output_to_group(rule_acts(r), r->acts_len, f->out_group));
}

static bool collect_rule(struct rule *r, void *c_)
{
    struct collect *c = c_;

    if (is_meant(c->filter, r)) {
        if (c->n == c->allocated) {
            c->allocated = MAX(16, 2 * c->allocated);
            c->rules = xrealloc(c->rules, c->allocated * sizeof *c->rules);
        }
        c->rules[c->n++] = r;
    }
    return true;
}

struct rule **rule_filter_collect(const struct tables *t, const struct rule_filter *f, uint64_t version, size_t *ret_n)
{
    struct collect c = { .filter = f };

    rcu_read_lock();
    if (f->strict) {
        unsigned int first = f->table_id == TABLE_ALL ? 0 : f->table_id;
        unsigned int end = f->table_id == TABLE_ALL ? TABLES_N_USER : f->table_id + 1u;
        for (unsigned int id = first; id < end; id++) {
            struct rule *r = tables_find(t, id, &f->match, f->priority, version);
            if (r) {
                collect_rule(r, &c);
            }
        }
    } else {
        tables_for_each(t, f->table_id, &f->match, version, collect_rule, &c);
    }
    rcu_read_unlock();
    *ret_n = c.n;
    return c.rules;
}

/* Makes R's part of the classifier: its match, and the clauses among its actions. */
static void init_cls_rule(struct rule *r, const struct match *match, int priority)
{
    struct cls_conj conjs[CLS_MAX_CLAUSES];
    size_t n = 0;

    OFP_ACT_FOR_EACH (a, rule_acts(r), r->acts_len) {
        if (a->type == OFP_ACT_CONJUNCTION && n < ARRAY_SIZE(conjs)) {
            const struct ofp_act_conjunction *c = ofp_act_cast(a);
            conjs[n++] = (struct cls_conj) { .id = c->id, .clause = c->clause, .n_clauses = c->n_clauses };
        }
    }
    cls_rule_init(&r->cls, match, priority, conjs, n);
}

static enum ofp_error add(struct tables_txn *x, const struct flow_mod *fm, uint64_t now)
{
    const struct rule_filter *f = &fm->filter;
    const struct rule_spec *spec = &fm->spec;
    enum ofp_error error = OFPERR_NONE;

    if (f->table_id >= TABLES_N_USER) {
        return f->table_id == TABLE_INTERNAL ? OFPERR_OFPBRC_EPERM : OFPERR_OFPFMFC_BAD_TABLE_ID;
    }
    rcu_read_lock();
    struct rule *old = tables_find(x->tables, f->table_id, &f->match, f->priority, x->version);
    /* The same match is no overlap: that rule is replaced, and what it overlaps it has been let in with. */
    if (!old && spec->flags & RULE_CHECK_OVERLAP && tables_overlap(x->tables, f->table_id, &f->match, f->priority, x->version)) {
        error = OFPERR_OFPFMFC_OVERLAP;
    }
    rcu_read_unlock();
    if (!error && !old && !(spec->flags & RULE_HIDDEN)) { /* Those take no room. */
        error = evict_for_one_more(x, f->table_id);
    }
    if (error) {
        return error;
    }
    struct rule_counts *counts = old && !(spec->flags & RULE_RESET_COUNTS) ? old->counts : NULL;
    struct rule *r = rule_create(spec, f->table_id, counts, now);
    init_cls_rule(r, &f->match, f->priority);
    if (old) {
        tables_replace(x, old, r);
    } else {
        tables_add(x, r);
    }
    return OFPERR_NONE;
}

/* The rule with other actions, in its place. */
static void modify_rule(struct tables_txn *x, const struct flow_mod *fm, struct rule *old, uint64_t now)
{
    struct rule_spec spec = {
        .cookie = fm->sets_cookie ? fm->spec.cookie : old->cookie,
        .idle_timeout = old->idle_timeout,
        .hard_timeout = old->hard_timeout,
        .importance = old->importance,
        .flags = old->flags,
        .acts = fm->spec.acts,
        .acts_len = fm->spec.acts_len,
    };
    struct rule *r = rule_create(&spec, old->table_id, fm->spec.flags & RULE_RESET_COUNTS ? NULL : old->counts, now);
    struct match match;

    cls_rule_get_match(&old->cls, &match);
    init_cls_rule(r, &match, cls_rule_priority(&old->cls));
    r->created = old->created;
    r->serial = old->serial;
    tables_replace(x, old, r);
}

static enum ofp_error modify(struct tables_txn *x, const struct flow_mod *fm, uint64_t now)
{
    size_t n;
    struct rule **rules = rule_filter_collect(x->tables, &fm->filter, x->version, &n);

    for (size_t i = 0; i < n; i++) {
        modify_rule(x, fm, rules[i], now);
    }
    free(rules);
    if (n || !fm->may_add) {
        return OFPERR_NONE;
    }
    struct flow_mod new = *fm;
    if (new.filter.table_id == TABLE_ALL) {
        new.filter.table_id = 0; /* OpenFlow 1.0 names no table. */
    }
    return add(x, &new, now);
}

static void delete(struct tables_txn *x, const struct flow_mod *fm)
{
    size_t n;
    struct rule **rules = rule_filter_collect(x->tables, &fm->filter, x->version, &n);

    for (size_t i = 0; i < n; i++) {
        tables_remove(x, rules[i]);
    }
    free(rules);
}

enum ofp_error flow_mod_apply(struct tables_txn *x, const struct flow_mod *fm, uint64_t now)
{
    switch (fm->command) {
    case FLOW_ADD:
        return add(x, fm, now);
    case FLOW_MODIFY:
    case FLOW_MODIFY_STRICT:
        return modify(x, fm, now);
    case FLOW_DELETE:
    case FLOW_DELETE_STRICT:
        delete(x, fm);
        return OFPERR_NONE;
    }
    return OFPERR_OFPFMFC_BAD_COMMAND;
}
