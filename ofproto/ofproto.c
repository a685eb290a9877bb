/* See ofproto.h. */
#include <config.h>

#include "ofproto/ofproto.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofproto);

struct ofproto *ofproto_create(struct event_base *base, const char *name, const struct ofproto_ops *ops, void *aux)
{
    struct ofproto *o = xzalloc(sizeof *o);

    o->name = xstrdup(name);
    o->base = base;
    o->ops = ops;
    o->aux = aux;
    o->tables = tables_create();
    return o;
}

void ofproto_destroy(struct ofproto *o)
{
    if (!o) {
        return;
    }
    while (o->conns) {
        ofconn_destroy(o->conns);
    }
    ofp_listener_destroy(o->management);
    tables_unref(o->tables);
    free(o->ports);
    free(o->name);
    free(o);
}

struct tables *ofproto_tables(struct ofproto *o) { return o->tables; }

void ofproto_set_datapath_id(struct ofproto *o, uint64_t id) { o->datapath_id = id; }

static int compare_ports(const void *a_, const void *b_)
{
    const struct ofp_port *a = a_, *b = b_;
    return a->port_no.n < b->port_no.n ? -1 : a->port_no.n > b->port_no.n;
}

void ofproto_set_ports(struct ofproto *o, const struct ofp_port *ports, size_t n)
{
    struct ofp_port *old = o->ports;
    size_t n_old = o->n_ports;

    o->ports = n ? xmemdup(ports, n * sizeof *ports) : NULL;
    o->n_ports = n;
    if (n) {
        qsort(o->ports, n, sizeof *o->ports, compare_ports);
    }
    ofproto_tell_ports(o, old, n_old);
    free(old);
}

/* The rule that a bridge begins with if nobody programs it. */
static void add_normal(struct tables_txn *x, uint64_t now)
{
    struct buf acts = BUF_INITIALIZER;
    struct ofp_act_output *output = ofp_act_put(&acts, OFP_ACT_OUTPUT, sizeof *output);

    output->port = (ofp_port_t) { OFPP_NORMAL_N };
    struct flow_mod *fm = xzalloc(sizeof *fm);
    fm->command = FLOW_ADD;
    fm->spec.acts = (const struct ofp_act *) acts.data;
    fm->spec.acts_len = acts.len;
    if (flow_mod_apply(x, fm, now)) {
        log_err("the rule for NORMAL could not be added");
    }
    free(fm);
    buf_uninit(&acts);
}

void ofproto_set_normal(struct ofproto *o, bool normal)
{
    const struct rule_filter everything = { .table_id = TABLE_ALL, .out_port = OFPP_NONE, .out_group = OFPG_ANY };
    struct tables_txn x;
    size_t n;

    if (o->normal_known && o->normal == normal) {
        return;
    }
    o->normal_known = true;
    o->normal = normal;
    struct rule **rules = rule_filter_collect(o->tables, &everything, tables_version(o->tables), &n);
    tables_begin(o->tables, &x);
    for (size_t i = 0; i < n; i++) {
        tables_remove(&x, rules[i]);
    }
    free(rules);
    if (normal) {
        add_normal(&x, clock_msec());
    }
    tables_commit(&x);
    ofproto_committed(o, &x, OFPRR_DELETE);
}

/* ---- Who connects. ---- */

static void accepted_cb(struct ofp_listener *l UNUSED, struct ofp_conn *conn, void *o) { ofconn_accept(o, conn); }

void ofproto_listen(struct ofproto *o)
{
    o->wants_listen = true;
    if (o->management) {
        return;
    }
    /* ovs-ofctl comes and goes; more of them wait until one has gone. */
    const struct ofp_listener_config config = { .max_conns = 16, .stream = { .dscp = -1 }, .conn = { .versions = OFPROTO_VERSIONS } };
    char *target = xasprintf("punix:%s.mgmt", o->name);
    char *error = ofp_listener_open(o->base, target, &config, accepted_cb, o, &o->management);
    if (error) {
        log_err_rl(6, "bridge %s: no management socket: %s", o->name, error);
        free(error);
    }
    free(target);
}

/* ---- Rules whose time is over. ---- */

struct expiry {
    uint64_t now;
    bool hard;
    struct rule **rules;
    size_t n, allocated;
};

static void expire_cb(struct rule *r, void *e_)
{
    struct expiry *e = e_;
    bool hard = r->hard_timeout && r->modified + r->hard_timeout * 1000ull <= e->now;
    bool idle = r->idle_timeout && rule_used(r) + r->idle_timeout * 1000ull <= e->now;

    if (e->hard ? hard : idle && !hard) {
        if (e->n == e->allocated) {
            e->allocated = MAX(16, 2 * e->allocated);
            e->rules = xrealloc(e->rules, e->allocated * sizeof *e->rules);
        }
        e->rules[e->n++] = r;
    }
}

static void expire(struct ofproto *o, bool hard, uint64_t now)
{
    struct expiry e = { .now = now, .hard = hard };
    struct tables_txn x;

    tables_for_each_timed(o->tables, expire_cb, &e);
    if (e.n) {
        tables_begin(o->tables, &x);
        for (size_t i = 0; i < e.n; i++) {
            tables_remove(&x, e.rules[i]);
        }
        tables_commit(&x);
        ofproto_committed(o, &x, hard ? OFPRR_HARD_TIMEOUT : OFPRR_IDLE_TIMEOUT);
    }
    free(e.rules);
}

void ofproto_tick(struct ofproto *o)
{
    uint64_t now = clock_msec();

    if (o->wants_listen && !o->management) {
        ofproto_listen(o); /* The process before us may have had it still. */
    }
    expire(o, true, now);
    expire(o, false, now);
}
