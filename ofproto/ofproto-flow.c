/* Flow-mods, and what controllers are told when rules leave. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/ct-check.h"
#include "ofproto/engine.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/xlate-acts.h"

LOG_MODULE(ofproto_flow);

enum ofp_error ofproto_match_decode(const struct ofp_match_ref *ref, struct match *ret, uint64_t *cookie, uint64_t *cookie_mask)
{
    struct ofp_match_cookie c = { 0 };
    enum ofp_error error = OFPERR_NONE;

    switch (ref->form) {
    case OFP_MATCH_OFP10:
        ofp_match_from_ofp10(ref->bytes.p, ret);
        break;
    case OFP_MATCH_NXM:
        error = ofp_match_pull_nxm(ref->bytes.p, ref->bytes.n, true, ret, &c);
        break;
    case OFP_MATCH_OXM:
        error = ofp_match_pull_nxm(ref->bytes.p, ref->bytes.n, true, ret, NULL);
        break;
    }
    if (error) {
        return error;
    }
    ofp_match_normalize(ret);
    if (c.mask) {
        *cookie = c.cookie;
        *cookie_mask = c.mask;
    }
    return OFPERR_NONE;
}

static const enum flow_mod_command commands[] = {
    [OFPFC_ADD] = FLOW_ADD,
    [OFPFC_MODIFY] = FLOW_MODIFY,
    [OFPFC_MODIFY_STRICT] = FLOW_MODIFY_STRICT,
    [OFPFC_DELETE] = FLOW_DELETE,
    [OFPFC_DELETE_STRICT] = FLOW_DELETE_STRICT,
};

/* Has the datapath the conntrack that the rule needs?  While there is no datapath nobody knows. */
static enum ofp_error check_conntrack(const struct match *match, const struct buf *acts)
{
    struct engine *engine = engine_get();
    enum ofp_error error = OFPERR_NONE;
    const char *what;

    if (engine) {
        error = ct_check(match, acts->data, acts->len, dpif_features(engine_dpif(engine)), &what);
        if (error) {
            log_info_rl(20, "a rule was refused: the datapath does not support %s", what);
        }
        engine_put(engine);
    }
    return error;
}

enum ofp_error ofproto_acts_check(struct buf *acts, const struct ofp_check *check, const struct match *match)
{
    const char *name;
    enum ofp_error error = ofp_acts_check(acts->data, acts->len, check);

    if (error) {
        return error;
    }
    error = xlate_acts_check(acts->data, acts->len, &name);
    if (error) {
        log_info_rl(20, "a rule or a group was refused: the action %s is not supported yet", name);
        return error;
    }
    return check_conntrack(match, acts);
}

/* Decodes and checks what the rule is to do. */
static enum ofp_error decode_acts(const struct ofp_msg *msg, const struct ofp_flow_mod *m, const struct match *match, struct buf *acts)
{
    enum ofp_error error = msg->version == OFP10_VERSION ? ofp_actions_decode(m->actions.p, m->actions.n, msg->version, acts)
                                                         : ofp_instructions_decode(m->actions.p, m->actions.n, msg->version, acts);
    if (error) {
        return error;
    }
    const struct ofp_check check = {
        .flow = &match->flow,
        .version = msg->version,
        .table = m->table_id,
        .n_tables = TABLES_N,
        .max_ports = OFPP_MAX,
    };
    return ofproto_acts_check(acts, &check, match);
}

enum ofp_error flow_mod_decode(const struct ofconn *c, const struct ofp_msg *msg, struct buf *acts, struct flow_mod *ret)
{
    struct ofp_flow_mod m;
    enum ofp_error error = ofp_decode_flow_mod(msg, c->flow_mod_table_id, &m);

    if (error) {
        return error;
    }
    *ret = (struct flow_mod) {
        .command = commands[m.command],
        .filter = { .table_id = m.table_id, .priority = m.priority, .cookie = m.cookie, .cookie_mask = m.cookie_mask,
                    .strict = m.command == OFPFC_MODIFY_STRICT || m.command == OFPFC_DELETE_STRICT,
                    .out_port = m.out_port, .out_group = m.out_group },
        .spec = { .cookie = m.new_cookie, .idle_timeout = m.idle_timeout, .hard_timeout = m.hard_timeout,
                  .importance = m.importance, .flags = m.flags },
        .sets_cookie = m.set_cookie,
    };
    error = ofproto_match_decode(&m.match, &ret->filter.match, &ret->filter.cookie, &ret->filter.cookie_mask);
    if (error || m.command == OFPFC_DELETE || m.command == OFPFC_DELETE_STRICT) {
        return error;
    }
    if (m.buffer_id != OFP_NO_BUFFER) {
        return OFPERR_OFPBRC_BUFFER_UNKNOWN; /* We keep no packets. */
    }
    /* OpenFlow 1.0 knows one table, has rules that are added anew begin with no counts, and adds what is to be modified and not there. */
    if (msg->version == OFP10_VERSION) {
        if (m.command == OFPFC_ADD) {
            ret->spec.flags |= RULE_RESET_COUNTS;
            if (m.table_id == TABLE_ALL) {
                ret->filter.table_id = m.table_id = 0;
            }
        }
        ret->may_add = !ret->filter.cookie_mask;
    }
    error = decode_acts(msg, &m, &ret->filter.match, acts);
    error = error ? error : ofproto_meters_check(c->ofproto, acts);
    ret->spec.acts = (const struct ofp_act *) acts->data;
    ret->spec.acts_len = acts->len;
    return error;
}

enum ofp_error ofproto_flow_mod(struct ofproto *o, const struct flow_mod *fm)
{
    struct tables_txn x;

    tables_begin(o->tables, &x);
    enum ofp_error error = flow_mod_apply(&x, fm, clock_msec());
    if (error) {
        tables_rollback(&x);
        tables_end(&x);
    } else {
        tables_commit(&x);
        ofproto_committed(o, &x, OFPRR_DELETE);
    }
    return error;
}

enum ofp_error handle_flow_mod(struct ofconn *c, const struct ofp_msg *msg)
{
    struct buf acts = BUF_INITIALIZER;
    struct flow_mod fm;
    enum ofp_error error = flow_mod_decode(c, msg, &acts, &fm);

    error = error ? error : ofproto_groups_check(c->ofproto, NULL, fm.spec.acts, fm.spec.acts_len);
    error = error ? error : ofproto_flow_mod(c->ofproto, &fm);
    buf_uninit(&acts);
    return error;
}

/* ---- Telling. ---- */

struct removal {
    struct rule *rule;
    enum ofp_removed_reason reason;
    uint64_t now;
};

static void put_removed(struct ofconn *c, struct buf *b, const void *what_)
{
    const struct removal *what = what_;
    bool nx = c->version == OFP10_VERSION && c->flow_format == OFP_FLOW_FORMAT_NXM;
    struct buf match = BUF_INITIALIZER, actions = BUF_INITIALIZER;
    struct ofp_flow_stats stats;

    ofproto_describe(what->rule, c->version, nx, what->now, &match, &actions, &stats);
    ofp_put_flow_removed(b, c->version, nx, what->reason, &stats);
    buf_uninit(&match);
    buf_uninit(&actions);
}

void ofproto_committed(struct ofproto *o, struct tables_txn *x, enum ofp_removed_reason reason)
{
    uint64_t now = clock_msec();
    bool any = x->n > 0;

    for (size_t i = 0; i < x->n; i++) {
        const struct tables_change *change = &x->changes[i];
        enum ofp_removed_reason why = ofproto_change_reason(change, reason);
        if (change->type == TABLES_REMOVED && change->rule->flags & RULE_SEND_FLOW_REM) {
            ofconn_notify(o, OFP_ASYNC_FLOW_REMOVED, why, put_removed, &(struct removal) { change->rule, why, now });
        }
        if (change->type == TABLES_ADDED) {
            ofproto_note_liveness(o, rule_acts(change->rule), change->rule->acts_len);
        }
    }
    monitors_tell(o, x, reason);
    tables_end(x);
    if (any) {
        o->ops->changed(o->aux);
    }
    ofproto_delete_orphans(o);
}
