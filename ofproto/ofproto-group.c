/* Requests about groups; and which rules use one. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/xlate-pipeline.h"

LOG_MODULE(ofproto_group);

/* ---- Rules that use groups.  A bucket may name a group that there is not, as with the packaged daemon: nothing is done then. ---- */

enum ofp_error ofproto_groups_check(const struct ofproto *o, const struct groups_txn *gx, const void *acts, size_t len)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        enum ofp_error error = nested ? ofproto_groups_check(o, gx, nested, nested_len) : OFPERR_NONE;
        if (error) {
            return error;
        }
        if (a->type == OFP_ACT_GROUP) {
            uint32_t id = ((const struct ofp_act_number *) ofp_act_cast(a))->n;
            if (!(gx ? groups_txn_find(gx, id) : groups_find(tables_groups(o->tables), id))) {
                return OFPERR_OFPBAC_BAD_OUT_GROUP;
            }
        }
    }
    return OFPERR_NONE;
}

static void count_refs(const struct groups *g, const void *acts, size_t len)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        if (nested) {
            count_refs(g, nested, nested_len);
        } else if (a->type == OFP_ACT_GROUP) {
            struct group *group = groups_find(g, ((const struct ofp_act_number *) ofp_act_cast(a))->n);
            if (group) {
                group->n_refs++;
            }
        }
    }
}

static bool count_rule(struct rule *r, void *groups)
{
    count_refs(groups, rule_acts(r), r->acts_len);
    return true;
}

static bool uses_a_group(const void *acts, size_t len)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        if (a->type == OFP_ACT_GROUP || (nested && uses_a_group(nested, nested_len))) {
            return true;
        }
    }
    return false;
}

struct users {
    uint32_t id; /* Or OFPG_ALL. */
    struct rule **rules;
    size_t n, allocated;
};

static bool collect_user(struct rule *r, void *u_)
{
    struct users *u = u_;

    if (u->id == OFPG_ALL ? uses_a_group(rule_acts(r), r->acts_len) : ofp_acts_output_to_group(rule_acts(r), r->acts_len, u->id)) {
        if (u->n == u->allocated) {
            u->allocated = MAX(16, 2 * u->allocated);
            u->rules = xrealloc(u->rules, u->allocated * sizeof *u->rules);
        }
        u->rules[u->n++] = r;
    }
    return true;
}

/* Rules that use group ID go with it. */
static void remove_users(struct tables_txn *x, uint32_t id)
{
    struct users u = { .id = id };

    rcu_read_lock();
    tables_for_each(x->tables, TABLE_ALL, NULL, x->version, collect_user, &u);
    rcu_read_unlock();
    for (size_t i = 0; i < u.n; i++) {
        tables_remove(x, u.rules[i]);
        x->changes[x->n - 1].with_group = true;
    }
    free(u.rules);
}

/* ---- Changes. ---- */

/* The actions of B, checked. */
static enum ofp_error decode_acts(const struct ofp_msg *msg, const struct ofp_bucket *b, struct buf *acts)
{
    static const struct match any;
    const struct ofp_check check = {
        .flow = &any.flow, .any_flow = true, .version = msg->version, .table = OFP_TABLE_ALL, .n_tables = TABLES_N, .max_ports = OFPP_MAX,
    };
    unsigned int n = 0;
    enum ofp_error error = ofp_actions_decode(b->actions.p, b->actions.n, msg->version, acts);

    error = error ? error : ofproto_acts_check(acts, &check, &any);
    if (error) {
        return error;
    }
    OFP_ACT_FOR_EACH (a, acts->data, acts->len) {
        n++;
    }
    return n > PIPELINE_MAX_SET ? OFPERR_OFPBAC_TOO_MANY : OFPERR_NONE;
}

/* Appends the buckets of MOD to GROUP, whose ids may not be there yet. */
static enum ofp_error add_buckets(const struct ofp_msg *msg, const struct ofp_group_mod *mod, struct group *group, uint64_t now)
{
    struct bytes left = mod->buckets;

    for (size_t i = 0; i < mod->n_buckets; i++) {
        struct buf acts = BUF_INITIALIZER;
        struct ofp_bucket b;
        ofp_bucket_pull(msg, &left, i, &b);
        enum ofp_error error = ofp_bucket_check(group->type, &b);
        error = error ? error : decode_acts(msg, &b, &acts);
        if (!error) {
            group_add_bucket(group, &b, (const struct ofp_act *) acts.data, acts.len, now);
        }
        buf_uninit(&acts);
        if (error) {
            return error;
        }
    }
    return OFPERR_NONE;
}

static enum ofp_error add_or_modify(const struct ofp_msg *msg, const struct ofp_group_mod *mod, struct groups_txn *gx, uint64_t now)
{
    struct group *old = groups_txn_find(gx, mod->group_id);

    if (old && mod->command == OFPGC_ADD) {
        return OFPERR_OFPGMFC_GROUP_EXISTS;
    }
    if (!old && mod->command == OFPGC_MODIFY) {
        return OFPERR_OFPGMFC_UNKNOWN_GROUP;
    }
    struct group *group = group_create(mod->group_id, mod->type, &mod->selection, mod->n_buckets, NULL, old ? old->created : now);
    enum ofp_error error = add_buckets(msg, mod, group, now);
    if (error) {
        group_destroy(group);
    } else {
        groups_put(gx, mod->group_id, group);
    }
    return error;
}

/* The place of bucket ID in G, from 0; -1: it has none. */
static ssize_t find_bucket(const struct group *g, uint32_t id)
{
    for (size_t i = 0; i < g->n_buckets; i++) {
        if (g->buckets[i].id == id) {
            return i;
        }
    }
    return id == OFPG_BUCKET_FIRST && g->n_buckets ? 0 : id == OFPG_BUCKET_LAST ? (ssize_t) g->n_buckets - 1 : -1;
}

/* A group like OLD, with room for N buckets. */
static struct group *successor(const struct group *old, size_t n)
{
    return group_create(old->id, old->type, &old->selection, n, old->rule->counts, old->created);
}

static enum ofp_error insert_buckets(const struct ofp_msg *msg, const struct ofp_group_mod *mod, struct groups_txn *gx, uint64_t now)
{
    const struct group *old = groups_txn_find(gx, mod->group_id);

    if (!old) {
        return OFPERR_OFPGMFC_UNKNOWN_GROUP;
    }
    ssize_t after = mod->command_bucket_id == OFPG_BUCKET_FIRST ? -1 : find_bucket(old, mod->command_bucket_id);
    if (after < 0 && mod->command_bucket_id != OFPG_BUCKET_FIRST && mod->command_bucket_id != OFPG_BUCKET_LAST) {
        return OFPERR_OFPGMFC_UNKNOWN_BUCKET;
    }
    if (old->type == OFPGT_INDIRECT && old->n_buckets + mod->n_buckets != 1) {
        return OFPERR_OFPGMFC_INVALID_GROUP;
    }
    struct group *group = successor(old, old->n_buckets + mod->n_buckets);
    for (ssize_t i = 0; i <= after; i++) {
        group_copy_bucket(group, &old->buckets[i]);
    }
    enum ofp_error error = add_buckets(msg, mod, group, now);
    for (size_t i = after + 1; !error && i < group->n_buckets; i++) {
        error = find_bucket(old, group->buckets[i].id) >= 0 ? OFPERR_OFPGMFC_BUCKET_EXISTS : OFPERR_NONE;
    }
    if (error) {
        group_destroy(group);
        return error;
    }
    for (size_t i = after + 1; i < old->n_buckets; i++) {
        group_copy_bucket(group, &old->buckets[i]);
    }
    groups_put(gx, mod->group_id, group);
    return OFPERR_NONE;
}

static enum ofp_error remove_buckets(const struct ofp_group_mod *mod, struct groups_txn *gx)
{
    const struct group *old = groups_txn_find(gx, mod->group_id);

    if (!old) {
        return OFPERR_OFPGMFC_UNKNOWN_GROUP;
    }
    bool all = mod->command_bucket_id == OFPG_BUCKET_ALL;
    ssize_t which = find_bucket(old, mod->command_bucket_id);
    if (!all && which < 0) {
        return OFPERR_OFPGMFC_UNKNOWN_BUCKET;
    }
    if (old->type == OFPGT_INDIRECT) {
        return OFPERR_OFPGMFC_INVALID_GROUP; /* It has one, always. */
    }
    struct group *group = successor(old, old->n_buckets);
    for (ssize_t i = 0; !all && i < (ssize_t) old->n_buckets; i++) {
        if (i != which) {
            group_copy_bucket(group, &old->buckets[i]);
        }
    }
    groups_put(gx, mod->group_id, group);
    return OFPERR_NONE;
}

static void delete_groups(struct tables_txn *x, struct groups_txn *gx, uint32_t id)
{
    if (id != OFPG_ALL) {
        if (groups_txn_find(gx, id)) { /* Else, as the standard has it, that is no error. */
            remove_users(x, id);
            groups_put(gx, id, NULL);
        }
        return;
    }
    size_t n, n_made = gx->n;
    struct group **v = groups_sorted(gx->groups, &n);
    remove_users(x, OFPG_ALL);
    for (size_t i = 0; i < n; i++) {
        if (groups_txn_find(gx, v[i]->id)) {
            groups_put(gx, v[i]->id, NULL);
        }
    }
    for (size_t i = 0; i < n_made; i++) { /* And those that are not seen yet. */
        if (groups_txn_find(gx, gx->changes[i].id)) {
            groups_put(gx, gx->changes[i].id, NULL);
        }
    }
    free(v);
}

enum ofp_error group_mod_apply(const struct ofp_msg *msg, const struct ofp_group_mod *mod, struct tables_txn *x, struct groups_txn *gx,
                               uint64_t now)
{
    switch (mod->command) {
    case OFPGC_ADD:
    case OFPGC_MODIFY:
    case OFPGC_ADD_OR_MOD:
        return add_or_modify(msg, mod, gx, now);
    case OFPGC_INSERT_BUCKET:
        return insert_buckets(msg, mod, gx, now);
    case OFPGC_REMOVE_BUCKET:
        return remove_buckets(mod, gx);
    case OFPGC_DELETE:
        delete_groups(x, gx, mod->group_id);
        break;
    }
    return OFPERR_NONE;
}

void ofproto_commit(struct ofproto *o, struct tables_txn *x, struct groups_txn *gx)
{
    bool watched = groups_watch(gx->groups), only_groups = gx->n && !x->n;

    for (size_t i = 0; i < gx->n; i++) {
        const struct group *g = gx->changes[i].now;
        for (size_t k = 0; g && k < g->n_buckets; k++) {
            ofproto_note_liveness(o, rule_acts(g->buckets[k].rule), g->buckets[k].rule->acts_len);
        }
    }
    groups_commit(gx);
    tables_commit(x);
    groups_end(gx);
    ofproto_committed(o, x, OFPRR_DELETE);
    if (only_groups) {
        o->ops->changed(o->aux);
    }
    if (!watched && groups_watch(gx->groups)) {
        o->ops->port_config_changed(o->aux); /* Which ports are live has been of no interest. */
    }
}

void ofproto_note_liveness(struct ofproto *o, const void *acts, size_t len)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        if (a->type == OFP_ACT_BUNDLE && !o->uses_liveness) {
            o->uses_liveness = true;
            o->ops->port_config_changed(o->aux);
        } else if (nested) {
            ofproto_note_liveness(o, nested, nested_len);
        }
    }
}

bool ofproto_watches_ports(const struct ofproto *o) { return o->uses_liveness || groups_watch(tables_groups(o->tables)); }

void ofproto_delete_groups(struct ofproto *o)
{
    struct groups_txn gx;
    struct tables_txn x;

    tables_begin(o->tables, &x);
    groups_begin(tables_groups(o->tables), &gx);
    delete_groups(&x, &gx, OFPG_ALL);
    ofproto_commit(o, &x, &gx);
}

enum ofp_error handle_group_mod(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofproto *o = c->ofproto;
    struct ofp_group_mod mod;
    struct groups_txn gx;
    struct tables_txn x;
    enum ofp_error error = ofp_decode_group_mod(msg, &mod);

    if (error) {
        return error;
    }
    tables_begin(o->tables, &x);
    groups_begin(tables_groups(o->tables), &gx);
    error = group_mod_apply(msg, &mod, &x, &gx, clock_msec());
    if (error) {
        groups_rollback(&gx);
        tables_rollback(&x);
        tables_end(&x);
    } else {
        ofproto_commit(o, &x, &gx);
    }
    return error;
}

/* ---- Telling. ---- */

/* Calls TELL with each group that MSG asks for; one that there is not is no error. */
static enum ofp_error tell(struct ofconn *c, const struct ofp_msg *msg, enum ofp_msg_id reply_id,
                           void (*tell_one)(struct ofp_reply *r, const struct group *g))
{
    uint32_t id = ofp_decode_group_request(msg);
    struct ofp_reply r;
    size_t n;
    struct group **v = groups_sorted(tables_groups(c->ofproto->tables), &n);

    ofp_reply_begin(&r, msg, reply_id);
    for (size_t i = 0; i < n; i++) {
        if (id == OFPG_ALL || v[i]->id == id) {
            tell_one(&r, v[i]);
        }
    }
    free(v);
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}

static void tell_stats(struct ofp_reply *r, const struct group *g)
{
    struct ofp_group_counts *buckets = xcalloc(g->n_buckets + 1, sizeof *buckets);
    uint64_t age = clock_msec() - g->created;

    for (size_t i = 0; i < g->n_buckets; i++) {
        buckets[i] = (struct ofp_group_counts) { rule_packets(g->buckets[i].rule), rule_bytes(g->buckets[i].rule) };
    }
    const struct ofp_group_stats stats = {
        .group_id = g->id, .ref_count = g->n_refs, .counts = { rule_packets(g->rule), rule_bytes(g->rule) },
        .duration_sec = age / 1000, .duration_nsec = age % 1000 * 1000000, .buckets = buckets, .n_buckets = g->n_buckets,
    };
    ofp_reply_group_stats(r, &stats);
    free(buckets);
}

enum ofp_error handle_group_stats(struct ofconn *c, const struct ofp_msg *msg)
{
    struct tables *t = c->ofproto->tables;
    size_t n;
    struct group **v = groups_sorted(tables_groups(t), &n);

    for (size_t i = 0; i < n; i++) {
        v[i]->n_refs = 0;
    }
    free(v);
    if (n) {
        rcu_read_lock();
        tables_for_each(t, TABLE_ALL, NULL, tables_version(t), count_rule, tables_groups(t));
        rcu_read_unlock();
    }
    return tell(c, msg, OFPMSG_GROUP_STATS_REPLY, tell_stats);
}

static void tell_desc(struct ofp_reply *r, const struct group *g)
{
    struct ofp_bucket *buckets = xcalloc(g->n_buckets + 1, sizeof *buckets);
    struct buf wire = BUF_INITIALIZER;

    for (size_t i = 0; i < g->n_buckets; i++) {
        const struct bucket *b = &g->buckets[i];
        size_t start = wire.len;
        ofp_actions_encode(rule_acts(b->rule), b->rule->acts_len, r->version, &wire);
        buckets[i] = (struct ofp_bucket) {
            .id = b->id, .weight = b->weight, .watch_port = b->watch_port, .watch_group = b->watch_group, .actions.n = wire.len - start,
        };
    }
    size_t pos = 0;
    for (size_t i = 0; i < g->n_buckets; i++) { /* Now that the bytes are where they stay. */
        buckets[i].actions.p = wire.data ? wire.data + pos : NULL;
        pos += buckets[i].actions.n;
    }
    const struct ofp_group_desc desc = {
        .type = g->type, .group_id = g->id, .buckets = buckets, .n_buckets = g->n_buckets, .selection = &g->selection,
    };
    if (ofp_reply_group_desc(r, &desc)) {
        log_warn_rl(6, "group %u is too large for a message, and is left out of what a client is told", g->id);
    }
    buf_uninit(&wire);
    free(buckets);
}

enum ofp_error handle_group_desc(struct ofconn *c, const struct ofp_msg *msg) { return tell(c, msg, OFPMSG_GROUP_DESC_REPLY, tell_desc); }

enum ofp_error handle_group_features(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_group_features f = {
        .types = (1u << OFPGT_N) - 1,
        .capabilities = OFPGFC_SELECT_WEIGHT | OFPGFC_SELECT_LIVENESS | OFPGFC_CHAINING,
    };
    struct ofp_reply r;

    for (unsigned int i = 0; i < OFPGT_N; i++) {
        f.max_groups[i] = OFPG_MAX;
        f.actions[i] = OFPROTO_ACTIONS;
    }
    ofp_reply_begin(&r, msg, OFPMSG_GROUP_FEATURES_REPLY);
    ofp_reply_group_features(&r, &f);
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}
