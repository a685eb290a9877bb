/* Requests about meters; and which rules use one. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/meter.h"
#include "ofproto/ofproto-private.h"

/* ---- Rules that use meters.  ovs-actions(7): meter stands in no other action. ---- */

enum ofp_error ofproto_meters_check(const struct ofproto *o, const struct buf *acts)
{
    OFP_ACT_FOR_EACH (a, acts->data, acts->len) {
        if (a->type == OFP_ACT_METER && !meters_find(tables_meters(o->tables), ((const struct ofp_act_number *) ofp_act_cast(a))->n)) {
            return OFPERR_OFPMMFC_INVALID_METER;
        }
    }
    return OFPERR_NONE;
}

static bool count_rule(struct rule *r, void *meters)
{
    OFP_ACT_FOR_EACH (a, rule_acts(r), r->acts_len) {
        struct meter *m = a->type == OFP_ACT_METER ? meters_find(meters, ((const struct ofp_act_number *) ofp_act_cast(a))->n) : NULL;
        if (m) {
            m->n_rules++;
        }
    }
    return true;
}

struct users {
    uint32_t id; /* Or OFPM_ALL. */
    struct rule **rules;
    size_t n, allocated;
};

static bool collect_user(struct rule *r, void *u_)
{
    struct users *u = u_;
    bool uses = false;

    OFP_ACT_FOR_EACH (a, rule_acts(r), r->acts_len) {
        uses |= a->type == OFP_ACT_METER && (u->id == OFPM_ALL || ((const struct ofp_act_number *) ofp_act_cast(a))->n == u->id);
    }
    if (uses) {
        if (u->n == u->allocated) {
            u->allocated = MAX(16, 2 * u->allocated);
            u->rules = xrealloc(u->rules, u->allocated * sizeof *u->rules);
        }
        u->rules[u->n++] = r;
    }
    return true;
}

/* Rules that use meter ID go with it. */
static void delete_users(struct ofproto *o, uint32_t id)
{
    struct users u = { .id = id };
    struct tables_txn x;

    rcu_read_lock();
    tables_for_each(o->tables, TABLE_ALL, NULL, tables_version(o->tables), collect_user, &u);
    rcu_read_unlock();
    if (u.n) {
        tables_begin(o->tables, &x);
        for (size_t i = 0; i < u.n; i++) {
            tables_remove(&x, u.rules[i]);
        }
        tables_commit(&x);
        ofproto_committed(o, &x, OFPRR_METER_DELETE);
    }
    free(u.rules);
}

void ofproto_delete_meters(struct ofproto *o, uint32_t id)
{
    struct meters *meters = tables_meters(o->tables);
    struct meter *m = id == OFPM_ALL ? NULL : meters_find(meters, id);

    if (id != OFPM_ALL && !m) {
        return; /* As the standard has it, that is no error. */
    }
    delete_users(o, id);
    if (m) {
        meters_delete(meters, m);
    } else {
        meters_delete_all(meters);
    }
}

/* ---- Requests. ---- */

enum ofp_error handle_meter_mod(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofproto *o = c->ofproto;
    struct ofp_meter_mod mod;
    enum ofp_error error = ofp_decode_meter_mod(msg, &mod);

    if (error) {
        return error;
    }
    switch (mod.command) {
    case OFPMC_ADD:
        error = meters_add(tables_meters(o->tables), &mod);
        break;
    case OFPMC_MODIFY:
        return meters_modify(tables_meters(o->tables), &mod); /* It is the same to flows. */
    case OFPMC_DELETE:
        ofproto_delete_meters(o, mod.id);
        break;
    }
    if (!error) {
        o->ops->changed(o->aux); /* There may be rules that send to controllers through it. */
    }
    return error;
}

/* Calls TELL with each meter that MSG asks for. */
static enum ofp_error tell(struct ofconn *c, const struct ofp_msg *msg, enum ofp_msg_id reply_id,
                           void (*tell_one)(struct ofp_reply *r, const struct meter *m))
{
    struct meters *meters = tables_meters(c->ofproto->tables);
    uint32_t id = ofp_decode_meter_request(msg);
    struct ofp_reply r;
    size_t n;

    if (id != OFPM_ALL && !meters_find(meters, id)) {
        return OFPERR_OFPMMFC_UNKNOWN_METER;
    }
    struct meter **v = meters_sorted(meters, &n);
    ofp_reply_begin(&r, msg, reply_id);
    for (size_t i = 0; i < n; i++) {
        if (id == OFPM_ALL || v[i]->id == id) {
            tell_one(&r, v[i]);
        }
    }
    free(v);
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}

static void tell_stats(struct ofp_reply *r, const struct meter *m)
{
    struct ofp_meter_band_stats bands[DPIF_METER_MAX_BANDS];
    struct dpif_meter_stats s;
    uint64_t age = clock_msec() - m->created;

    meter_get_stats(m, &s);
    for (unsigned int i = 0; i < m->n_bands; i++) {
        bands[i] = (struct ofp_meter_band_stats) { s.bands[i].n_packets, s.bands[i].n_bytes };
    }
    const struct ofp_meter_stats stats = {
        .id = m->id, .n_flows = m->n_rules, .packets = s.in.n_packets, .bytes = s.in.n_bytes,
        .duration_sec = age / 1000, .duration_nsec = age % 1000 * 1000000, .bands = bands, .n_bands = m->n_bands,
    };
    ofp_reply_meter_stats(r, &stats);
}

enum ofp_error handle_meter_stats(struct ofconn *c, const struct ofp_msg *msg)
{
    struct tables *t = c->ofproto->tables;
    size_t n;
    struct meter **v = meters_sorted(tables_meters(t), &n);

    for (size_t i = 0; i < n; i++) {
        v[i]->n_rules = 0;
    }
    free(v);
    if (n) {
        rcu_read_lock();
        tables_for_each(t, TABLE_ALL, NULL, tables_version(t), count_rule, tables_meters(t));
        rcu_read_unlock();
    }
    return tell(c, msg, OFPMSG_METER_STATS_REPLY, tell_stats);
}

static void tell_config(struct ofp_reply *r, const struct meter *m)
{
    const struct ofp_meter_config config = { .id = m->id, .flags = m->flags, .bands = m->bands, .n_bands = m->n_bands };

    ofp_reply_meter_config(r, &config);
}

enum ofp_error handle_meter_config(struct ofconn *c, const struct ofp_msg *msg)
{
    return tell(c, msg, OFPMSG_METER_CONFIG_REPLY, tell_config);
}

enum ofp_error handle_meter_features(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_reply r;
    unsigned int max_bands;
    uint32_t max = meters_max(&max_bands);
    const struct ofp_meter_features f = {
        .max_meters = max,
        .band_types = max ? 1 << OFPMBT_DROP : 0,
        .capabilities = max ? OFPMF_ALL : 0,
        .max_bands = max_bands,
    };

    ofp_reply_begin(&r, msg, OFPMSG_METER_FEATURES_REPLY);
    ofp_reply_meter_features(&r, &f);
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}
