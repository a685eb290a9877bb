/* Flow monitors: who asks for it is told of each change of the rules that it is interested in, when it has been made.
 *
 * Of a change that the client made by its own request it is told no more than the request's transaction id (ABBREV), once, unless it wants to see
 * those in full, too.
 *
 * OFPFMF_ONLY_OWN is taken for that, as the packaged daemon does, and not as OpenFlow 1.4 has it: ovs-ofctl sets it whenever it is to print
 * everything. */
#include <config.h>

#include "ofproto/ofproto-monitor.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(ofproto_monitor);

#define MAX_MONITORS 1000 /* Of a connection: each change is compared to all of them. */

static const unsigned int event_flags[] = {
    [OFPFME_INITIAL] = OFPFMF_INITIAL,
    [OFPFME_ADDED] = OFPFMF_ADD,
    [OFPFME_REMOVED] = OFPFMF_REMOVED,
    [OFPFME_MODIFIED] = OFPFMF_MODIFY,
};

/* ---- What is to be told. ---- */

static bool outputs(const struct rule_filter *f, const struct rule *r)
{
    return (ofp_port_eq(f->out_port, OFPP_NONE) || ofp_acts_output_to_port(rule_acts(r), r->acts_len, f->out_port))
           && (f->out_group == OFPG_ANY || ofp_acts_output_to_group(rule_acts(r), r->acts_len, f->out_group));
}

unsigned int monitors_flags(const struct monitors *m, const struct rule *r, const struct rule *old, enum ofp_monitor_event event,
                            unsigned int which)
{
    unsigned int flags = 0;
    struct match match;

    if (r->flags & RULE_HIDDEN) {
        return 0;
    }
    cls_rule_get_match(&r->cls, &match);
    for (size_t i = 0; i < m->n; i++) {
        const struct rule_filter *f = &m->list[i]->filter;
        if (which & (m->list[i]->fresh ? MONITORS_FRESH : MONITORS_TOLD) && m->list[i]->flags & event_flags[event]
            && (f->table_id == TABLE_ALL || f->table_id == r->table_id) && flow_mask_is_subset(&f->match.mask, &match.mask)
            && flow_equal_masked(&f->match.flow, &match.flow, &f->match.mask) && (outputs(f, r) || (old && outputs(f, old)))) {
            flags |= m->list[i]->flags;
        }
    }
    return flags;
}

void monitors_update(struct ofconn *c, struct ofp_reply *reply, const struct ofp_monitor_update *u)
{
    if (!reply->form) {
        ofp_monitor_updates_begin(reply, c->version);
    }
    if (ofp_reply_monitor_update(reply, u)) {
        log_warn_rl(6, "%s<->%s: a flow of table %u with %zu bytes of actions is too long for an update of a flow monitor", c->ofproto->name,
                    ofp_conn_name(c->conn), u->flow->table_id, u->flow->actions.n);
    }
    size_t n = ofp_reply_ready(reply);
    if (n) {
        ofp_conn_send(c->conn, reply->buf.data, n, OFP_CONN_REPLY);
        ofp_reply_sent(reply, n);
    }
}

void monitors_update_rule(struct ofconn *c, struct ofp_reply *reply, enum ofp_monitor_event event, struct rule *r, unsigned int flags,
                          enum ofp_removed_reason reason)
{
    struct buf match = BUF_INITIALIZER, actions = BUF_INITIALIZER;
    struct ofp_flow_stats stats;

    ofproto_describe(r, c->version, c->version == OFP10_VERSION, clock_msec(), &match, &actions, &stats);
    if (!(flags & OFPFMF_INSTRUCTIONS)) {
        stats.actions.n = 0;
    }
    monitors_update(c, reply, &(struct ofp_monitor_update) { .event = event, .reason = reason, .flow = &stats });
    buf_uninit(&match);
    buf_uninit(&actions);
}

void monitors_flush(struct ofconn *c, struct ofp_reply *reply)
{
    if (reply->form) {
        ofconn_finish(c, reply);
        *reply = (struct ofp_reply) { 0 };
    }
}

/* ---- Changes. ---- */

/* One connection that is being told of a transaction's changes. */
struct telling {
    struct ofconn *conn;
    struct ofp_reply reply;
    bool own;         /* They were asked for by this connection; */
    be32 xid;         /* thus. */
    bool abbreviated; /* It was told so. */
    enum ofp_removed_reason reason;
};

static void tell(struct telling *t, enum ofp_monitor_event event, const struct tables_change *change)
{
    /* Who is about to be told what is there is told what is there no more. */
    unsigned int which = event == OFPFME_REMOVED ? MONITORS_TOLD | MONITORS_FRESH : MONITORS_TOLD;
    unsigned int flags = monitors_flags(t->conn->monitors, change->rule, change->replaces, event, which);

    if (!flags) {
        return;
    }
    if (!t->own || change->evicted || flags & (OFPFMF_NO_ABBREV | OFPFMF_ONLY_OWN)) {
        monitors_update_rule(t->conn, &t->reply, event, change->rule, flags, ofproto_change_reason(change, t->reason));
    } else if (!t->abbreviated) {
        monitors_update(t->conn, &t->reply, &(struct ofp_monitor_update) { .event = OFPFME_ABBREV, .xid = t->xid });
        t->abbreviated = true;
    }
}

/* An addition may put a rule into another one's place: all of it is new then.  A modification that changes nothing is none. */
static void tell_change(struct telling *t, const struct tables_change *change)
{
    const struct rule *r = change->rule, *old = change->replaces;

    if (change->type == TABLES_REMOVED) {
        tell(t, OFPFME_REMOVED, change);
    } else if (!old || r->serial != old->serial) {
        tell(t, OFPFME_ADDED, change);
    } else if (r->cookie != old->cookie || r->acts_len != old->acts_len || memcmp(r->acts, old->acts, r->acts_len)) {
        tell(t, OFPFME_MODIFIED, change);
    }
}

static void tell_conn(struct telling *t, const struct tables_txn *x, uint64_t before)
{
    struct monitors *m = t->conn->monitors;

    for (size_t i = 0; i < x->n; i++) {
        const struct tables_change *change = &x->changes[i];
        if (!m->behind && ofp_conn_is_full(t->conn->conn)) {
            monitors_flush(t->conn, &t->reply);
            monitors_pause(t->conn, before + i);
        }
        if (!m->behind) {
            tell_change(t, change);
        } else if (change->type == TABLES_REMOVED && monitors_forget(m, change->rule)) {
            tell(t, OFPFME_REMOVED, change);
        }
    }
    monitors_flush(t->conn, &t->reply);
}

void monitors_tell(struct ofproto *o, const struct tables_txn *x, enum ofp_removed_reason reason)
{
    uint64_t before = o->last_change;

    for (size_t i = 0; i < x->n; i++) {
        const struct tables_change *change = &x->changes[i];
        o->last_change++;
        if (change->type == TABLES_ADDED) {
            change->rule->changed = o->last_change;
            change->rule->match_since = change->replaces ? change->replaces->match_since : o->last_change;
        }
    }
    for (struct ofconn *c = o->conns; c; c = c->next) {
        if (c->monitors && c->monitors->n) {
            struct telling t = { .conn = c, .own = o->served == c, .xid = o->served_xid, .reason = reason };
            tell_conn(&t, x, before);
        }
    }
}

/* ---- Requests. ---- */

static void monitor_unref(struct monitor *m)
{
    if (!--m->refs) {
        free(m);
    }
}

static void list_free(struct monitor **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        monitor_unref(list[i]);
    }
    free(list);
}

static size_t find(struct monitor *const *list, size_t n, uint32_t id)
{
    size_t i = 0;

    while (i < n && list[i]->id != id) {
        i++;
    }
    return i;
}

static enum ofp_error decode(struct ofp_cursor *cursor, const struct ofp_msg *msg, struct monitor *ret, enum ofp_monitor_command *ret_command)
{
    struct ofp_monitor_request req;
    uint64_t cookie, cookie_mask = 0;
    enum ofp_error error = ofp_get_monitor_request(cursor, msg, &req);

    if (error) {
        return error;
    }
    ret->id = req.id;
    ret->flags = req.flags;
    ret->fresh = req.flags & OFPFMF_INITIAL;
    ret->filter.table_id = req.table_id;
    ret->filter.out_port = req.out_port;
    ret->filter.out_group = req.out_group;
    *ret_command = req.command;
    error = ofproto_match_decode(&req.match, &ret->filter.match, &cookie, &cookie_mask);
    return !error && cookie_mask ? OFPERR_OFPBMC_BAD_FIELD : error; /* Monitors do not ask for cookies. */
}

/* Does to the *N monitors of LIST, which has room for MAX_MONITORS, what COMMAND says; takes M's reference if that goes well. */
static enum ofp_error change_list(struct monitor **list, size_t *n, enum ofp_monitor_command command, struct monitor *m)
{
    size_t at = find(list, *n, m->id);

    switch (command) {
    case OFPFMC_ADD:
        if (at < *n) {
            return OFPERR_OFPMOFC_MONITOR_EXISTS;
        } else if (*n == MAX_MONITORS) {
            return OFPERR_OFPMOFC_UNKNOWN;
        }
        list[(*n)++] = m;
        return OFPERR_NONE;
    case OFPFMC_MODIFY:
        if (at == *n) {
            return OFPERR_OFPMOFC_UNKNOWN_MONITOR;
        }
        monitor_unref(list[at]);
        list[at] = m;
        return OFPERR_NONE;
    case OFPFMC_DELETE:
        if (at == *n) {
            return OFPERR_OFPMOFC_UNKNOWN_MONITOR;
        }
        monitor_unref(list[at]);
        monitor_unref(m);
        list[at] = list[--*n];
        return OFPERR_NONE;
    }
    return OFPERR_OFPMOFC_BAD_COMMAND;
}

/* Carries out all requests of MSG on the *N monitors of LIST, until one is wrong. */
static enum ofp_error carry_out(struct monitor **list, size_t *n, const struct ofp_msg *msg)
{
    struct ofp_cursor cursor = ofp_msg_cursor(msg);
    enum ofp_error error = OFPERR_NONE;

    while (!error && cursor.len) {
        struct monitor *m = xzalloc(sizeof *m);
        enum ofp_monitor_command command;
        m->refs = 1;
        error = decode(&cursor, msg, m, &command);
        error = error ? error : change_list(list, n, command, m);
        if (error) {
            monitor_unref(m);
        }
    }
    return error;
}

/* A message's requests are carried out all, or none. */
enum ofp_error handle_flow_monitor(struct ofconn *c, const struct ofp_msg *msg)
{
    struct monitor **list = xcalloc(MAX_MONITORS, sizeof *list);
    size_t n;

    c->monitors = c->monitors ? c->monitors : xzalloc(sizeof *c->monitors);
    struct monitors *m = c->monitors;
    for (n = 0; n < m->n; n++) {
        list[n] = m->list[n];
        list[n]->refs++;
    }
    enum ofp_error error = carry_out(list, &n, msg);
    if (error) {
        list_free(list, n);
        return error;
    }
    list_free(m->list, m->n);
    m->list = list;
    m->n = n;
    m->wants_initial = true;
    ofp_reply_begin(&m->initial, msg, OFPMSG_FLOW_MONITOR_REPLY);
    ofp_conn_hold(c->conn);
    monitors_go_on(c);
    return OFPERR_NONE;
}

enum ofp_error handle_flow_monitor_cancel(struct ofconn *c, const struct ofp_msg *msg)
{
    struct monitors *m = c->monitors;
    uint32_t id;
    enum ofp_error error = ofp_decode_monitor_cancel(msg, &id);

    if (error) {
        return error;
    }
    size_t at = m ? find(m->list, m->n, id) : 0;
    if (!m || at == m->n) {
        return OFPERR_OFPMOFC_UNKNOWN_MONITOR;
    }
    monitor_unref(m->list[at]);
    m->list[at] = m->list[--m->n];
    return OFPERR_NONE;
}

void monitors_destroy(struct monitors *m)
{
    if (m) {
        list_free(m->list, m->n);
        catchup_destroy(m->catchup);
        if (m->wants_initial) {
            ofp_reply_uninit(&m->initial);
        }
        free(m);
    }
}
