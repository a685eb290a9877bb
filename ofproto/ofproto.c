/* See ofproto.h. */
#include <config.h>

#include "ofproto/ofproto.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/controller-private.h"
#include "ofproto/meter.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofproto);

struct ofproto *ofproto_all; /* Main's. */

/* Ids begin somewhere, so that they are not those of a process before this one. */
static uint32_t next_id(void)
{
    static uint32_t last;

    if (!last) {
        last = hash_u64(clock_nsec(), getpid());
    }
    last += last == UINT32_MAX ? 2 : 1;
    return last;
}

uint32_t ofproto_id(const struct ofproto *o) { return o->id; }

struct ofproto *ofproto_create(struct event_base *base, const char *name, const struct ofproto_ops *ops, void *aux)
{
    struct ofproto *o = xzalloc(sizeof *o);

    o->name = xstrdup(name);
    o->base = base;
    o->ops = ops;
    o->aux = aux;
    o->tables = tables_create();
    o->versions = OFPROTO_VERSIONS;
    o->id = next_id();
    o->next = ofproto_all;
    ofproto_all = o;
    ofproto_learn_begin(o);
    return o;
}

void ofproto_destroy(struct ofproto *o)
{
    if (!o) {
        return;
    }
    controllers_destroy(o);
    while (o->conns) {
        ofconn_destroy(o->conns);
    }
    ofp_listener_destroy(o->management);
    ofp_listener_destroy(o->snoop);
    struct ofproto **p = &ofproto_all;
    while (*p != o) {
        p = &(*p)->next;
    }
    *p = o->next;
    ofproto_learn_end(o);
    meters_delete_all(tables_meters(o->tables));
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
    ofproto_keep_port_configs(o, old, n_old);
    ofproto_tell_ports(o, old, n_old);
    free(old);
}

/* ---- Who connects. ---- */

static void accepted_cb(struct ofp_listener *l UNUSED, struct ofp_conn *conn, void *o) { ofconn_accept(o, conn, NULL); }
static void snoop_cb(struct ofp_listener *l UNUSED, struct ofp_conn *conn, void *o) { snoop_accept(o, conn); }

static void listen_at(struct ofproto *o, const char *suffix, uint32_t versions, ofp_listener_accepted_cb *accepted, struct ofp_listener **l)
{
    if (*l) {
        return;
    }
    /* ovs-ofctl comes and goes; more of them wait until one has gone. */
    const struct ofp_listener_config config = { .max_conns = 16, .stream = { .dscp = -1 }, .conn = { .versions = versions } };
    char *target = xasprintf("punix:%s.%s", o->name, suffix);
    char *error = ofp_listener_open(o->base, target, &config, accepted, o, l);
    if (error) {
        log_err_rl(6, "bridge %s: no socket %s.%s: %s", o->name, o->name, suffix, error);
        free(error);
    }
    free(target);
}

void ofproto_listen(struct ofproto *o)
{
    o->wants_listen = true;
    listen_at(o, "mgmt", o->versions, accepted_cb, &o->management);
    /* Who only looks on is sent what others have agreed to speak. */
    listen_at(o, "snoop", OFPROTO_VERSIONS, snoop_cb, &o->snoop);
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
    bool hard = r->hard_timeout && rule_modified(r) + r->hard_timeout * 1000ull <= e->now;
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

    if (o->wants_listen) {
        ofproto_listen(o); /* The process before us may have had them still. */
    }
    controllers_tick(o);
    fail_mode_tick(o);
    expire(o, true, now);
    expire(o, false, now);
}
