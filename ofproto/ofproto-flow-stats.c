/* What there is in the tables, told to those who ask.
 *
 * A request may mean hundreds of thousands of rules, which are more than a connection may have waiting: the rules that are there when it comes
 * are held by reference, and told as fast as they are read (flow_dump); the connection's next requests wait for the end. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofproto_stats);

struct flow_dump {
    struct rule **rules; /* A reference each, from 'next' on. */
    size_t n, next;
    bool counts; /* FLOW_COUNTS, not FLOW_STATS. */
    bool nx;
    struct ofp_reply reply;
};

void ofproto_describe(struct rule *r, enum ofp_version version, bool nx, uint64_t now, struct buf *match, struct buf *actions,
                      struct ofp_flow_stats *ret)
{
    struct match m;
    uint64_t age = now - r->created;
    enum ofp_match_form form = ofp_flow_match_form(version, nx);

    cls_rule_get_match(&r->cls, &m);
    switch (form) {
    case OFP_MATCH_OFP10:
        ofp_match_put_ofp10(match, &m);
        break;
    case OFP_MATCH_NXM:
        ofp_match_put_nxm(match, &m, NULL);
        break;
    case OFP_MATCH_OXM:
        buf_truncate(match, ofp_match_put_oxm(match, &m, version)); /* Without the padding, */
        buf_pull(match, 4);                                         /* and without type and length. */
        break;
    }
    if (version == OFP10_VERSION) {
        ofp_actions_encode(rule_acts(r), r->acts_len, version, actions);
    } else {
        ofp_instructions_encode(rule_acts(r), r->acts_len, version, actions);
    }
    *ret = (struct ofp_flow_stats) {
        .table_id = r->table_id,
        .priority = cls_rule_priority(&r->cls),
        .idle_timeout = r->idle_timeout,
        .hard_timeout = r->hard_timeout,
        .importance = r->importance,
        .flags = r->flags & (OFPFF_SEND_FLOW_REM | OFPFF_CHECK_OVERLAP | OFPFF_RESET_COUNTS | OFPFF_NO_PKT_COUNTS | OFPFF_NO_BYT_COUNTS),
        .cookie = r->cookie,
        .packet_count = rule_packets(r),
        .byte_count = rule_bytes(r),
        .duration_sec = age / 1000,
        .duration_nsec = age % 1000 * 1000000,
        .idle_age = (now - MIN(rule_used(r), now)) / 1000,
        .hard_age = (now - MIN(rule_modified(r), now)) / 1000,
        .match = { form, { match->data, match->len } },
        .actions = { actions->data, actions->len },
    };
}

/* ---- Dumps. ---- */

void flow_dump_destroy(struct flow_dump *d)
{
    if (d) {
        for (; d->next < d->n; d->next++) {
            rule_unref(d->rules[d->next]);
        }
        free(d->rules);
        ofp_reply_uninit(&d->reply);
        free(d);
    }
}

static void put_rule(struct ofconn *c, struct flow_dump *d, struct rule *r, uint64_t now)
{
    struct buf match = BUF_INITIALIZER, actions = BUF_INITIALIZER;
    struct ofp_flow_stats stats;

    ofproto_describe(r, c->version, d->nx, now, &match, &actions, &stats);
    if (d->counts ? ofp_reply_flow_counts(&d->reply, &stats) : ofp_reply_flow_stats(&d->reply, &stats)) {
        log_warn_rl(6, "%s<->%s: a flow of table %u with %zu bytes of actions is too long to be told", c->ofproto->name, ofp_conn_name(c->conn),
                    stats.table_id, stats.actions.n);
    }
    buf_uninit(&match);
    buf_uninit(&actions);
}

static void send_ready(struct ofconn *c, struct flow_dump *d)
{
    size_t n = ofp_reply_ready(&d->reply);

    if (n) {
        ofp_conn_send(c->conn, d->reply.buf.data, n, OFP_CONN_REPLY);
        ofp_reply_sent(&d->reply, n);
    }
}

void flow_dump_go_on(struct ofconn *c)
{
    struct flow_dump *d = c->dump;
    uint64_t now = clock_msec();

    while (d->next < d->n) {
        if (ofp_conn_is_full(c->conn)) {
            return; /* room_cb() comes back. */
        }
        put_rule(c, d, d->rules[d->next], now);
        rule_unref(d->rules[d->next++]);
        send_ready(c, d);
    }
    ofp_reply_end(&d->reply);
    ofp_conn_send(c->conn, d->reply.buf.data, d->reply.buf.len, OFP_CONN_REPLY);
    c->dump = NULL;
    flow_dump_destroy(d);
    ofp_conn_release(c->conn);
}

static enum ofp_error decode(const struct ofp_msg *msg, struct rule_filter *ret)
{
    struct ofp_flow_request req;
    enum ofp_error error = ofp_decode_flow_request(msg, &req);

    if (error) {
        return error;
    }
    *ret = (struct rule_filter) { .table_id = req.table_id, .cookie = req.cookie, .cookie_mask = req.cookie_mask,
                                  .out_port = req.out_port, .out_group = req.out_group };
    return ofproto_match_decode(&req.match, &ret->match, &ret->cookie, &ret->cookie_mask);
}

/* As ovs-ofctl(8) shows them: by table, then by priority, then in the order of their making. */
static int compare_rules(const void *a_, const void *b_)
{
    const struct rule *a = *(struct rule *const *) a_, *b = *(struct rule *const *) b_;
    int pa = cls_rule_priority(&a->cls), pb = cls_rule_priority(&b->cls);

    if (a->table_id != b->table_id) {
        return a->table_id < b->table_id ? -1 : 1;
    }
    if (pa != pb) {
        return pa > pb ? -1 : 1;
    }
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static enum ofp_error begin(struct ofconn *c, const struct ofp_msg *msg, bool counts)
{
    const struct tables *t = c->ofproto->tables;
    struct rule_filter filter;
    enum ofp_error error = decode(msg, &filter);

    if (error) {
        return error;
    }
    struct flow_dump *d = xzalloc(sizeof *d);
    d->rules = rule_filter_collect(t, &filter, tables_version(t), &d->n);
    for (size_t i = 0; i < d->n; i++) {
        rule_ref(d->rules[i]);
    }
    if (d->n) {
        qsort(d->rules, d->n, sizeof *d->rules, compare_rules);
    }
    d->counts = counts;
    d->nx = ofp_msg_is_nx(msg);
    ofp_reply_begin(&d->reply, msg, counts ? OFPMSG_FLOW_COUNTS_REPLY : OFPMSG_FLOW_STATS_REPLY);
    c->dump = d;
    ofp_conn_hold(c->conn);
    flow_dump_go_on(c);
    return OFPERR_NONE;
}

enum ofp_error handle_flow_stats(struct ofconn *c, const struct ofp_msg *msg) { return begin(c, msg, false); }

enum ofp_error handle_flow_counts(struct ofconn *c, const struct ofp_msg *msg) { return begin(c, msg, true); }

enum ofp_error handle_aggregate(struct ofconn *c, const struct ofp_msg *msg)
{
    const struct tables *t = c->ofproto->tables;
    struct ofp_aggregate sum = { 0 };
    struct rule_filter filter;
    size_t n;
    enum ofp_error error = decode(msg, &filter);

    if (error) {
        return error;
    }
    struct rule **rules = rule_filter_collect(t, &filter, tables_version(t), &n);
    for (size_t i = 0; i < n; i++) {
        sum.packet_count += rule_packets(rules[i]);
        sum.byte_count += rule_bytes(rules[i]);
    }
    free(rules);
    sum.flow_count = n;
    struct buf b = BUF_INITIALIZER;
    ofp_put_aggregate(&b, msg, &sum);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}
