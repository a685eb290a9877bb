/* Who forwards when no controller does (ovs-vswitchd.conf.db(5), fail_mode).
 *
 *   no primary controller      secure: nobody      standalone: the rule "priority=0 actions=NORMAL" in table 0
 *   one or more                the controllers' rules; standalone, and none of them reached for three probe intervals:
 *                              NORMAL, by a hidden rule above all of theirs, until one connects
 *
 * The tables (and meters with them) begin anew when the first primary controller comes, when the last one goes, when the mode changes and
 * there is none, and when the hidden rule is put in: what they held was for another way of working. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-msg-meter.h"
#include "ofproto/controller-private.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(fail_open);

#define FALLBACK_PRIORITY 0xf0f0f0 /* Above what a controller can give. */
#define PROBES            3        /* Intervals without a controller until the bridge forwards by itself. */
#define SAY_AGAIN_MSEC    60000

static void add_normal(struct ofproto *o, struct tables_txn *x, int priority, uint16_t flags)
{
    struct buf acts = BUF_INITIALIZER;
    struct ofp_act_output *output = ofp_act_put(&acts, OFP_ACT_OUTPUT, sizeof *output);

    output->port = (ofp_port_t){ OFPP_NORMAL_N };
    struct flow_mod *fm = xzalloc(sizeof *fm);
    fm->command = FLOW_ADD;
    fm->filter.priority = priority;
    fm->spec.flags = flags;
    fm->spec.acts = (const struct ofp_act *) acts.data;
    fm->spec.acts_len = acts.len;
    if (flow_mod_apply(x, fm, clock_msec())) {
        log_err("bridge %s: the rule for NORMAL could not be added", o->name);
    }
    free(fm);
    buf_uninit(&acts);
}

static struct rule *find_fallback(struct ofproto *o)
{
    struct match any = { 0 };

    rcu_read_lock();
    struct rule *r = tables_find(o->tables, 0, &any, FALLBACK_PRIORITY, tables_version(o->tables));
    rcu_read_unlock();
    return r;
}

static void remove_all(struct ofproto *o, struct tables_txn *x)
{
    const struct rule_filter everything = { .table_id = TABLE_ALL, .out_port = OFPP_NONE, .out_group = OFPG_ANY };
    size_t n;
    struct rule **rules = rule_filter_collect(o->tables, &everything, tables_version(o->tables), &n);

    for (size_t i = 0; i < n; i++) {
        tables_remove(x, rules[i]);
    }
    free(rules);
}

/* Empties the tables, and puts into them what is the bridge's own. */
static void begin_anew(struct ofproto *o, bool normal, bool fallback)
{
    struct tables_txn x;
    struct rule *old = o->fallback ? find_fallback(o) : NULL;

    tables_begin(o->tables, &x);
    remove_all(o, &x);
    if (old && !fallback) {
        tables_remove(&x, old);
    }
    if (normal) {
        add_normal(o, &x, 0, 0);
    }
    if (fallback && !old) {
        add_normal(o, &x, FALLBACK_PRIORITY, RULE_HIDDEN);
    }
    o->fallback = fallback;
    tables_commit(&x);
    ofproto_committed(o, &x, OFPRR_DELETE);
    ofproto_delete_meters(o, OFPM_ALL);
    ofproto_delete_groups(o);
}

static void end_fallback(struct ofproto *o)
{
    struct tables_txn x;

    if (!o->fallback) {
        return;
    }
    log_warn("bridge %s: no longer in fail-open mode", o->name);
    tables_begin(o->tables, &x);
    tables_remove(&x, find_fallback(o));
    o->fallback = false;
    tables_commit(&x);
    ofproto_committed(o, &x, OFPRR_DELETE);
}

void fail_mode_set(struct ofproto *o, bool secure)
{
    bool primary = controllers_have_primary(o);
    bool anew = !o->mode_known || primary != o->had_primary || (secure != o->secure && !primary);

    o->mode_known = true;
    o->secure = secure;
    o->had_primary = primary;
    if (secure || !primary) {
        end_fallback(o);
    }
    if (anew) {
        begin_anew(o, !secure && !primary, false);
    }
}

void fail_mode_connected(struct ofproto *o)
{
    for (size_t i = 0; i < o->n_controllers; i++) {
        if (!o->controllers[i]->config.service && controller_is_connected(o->controllers[i])) {
            end_fallback(o);
            return;
        }
    }
}

/* For how long no primary controller has been connected, in ms; RET_PROBE gets the longest of their probe intervals.
 * Returns false if there is none, or one is connected. */
static bool unreachable(const struct ofproto *o, uint64_t now, uint64_t *ret_msec, uint64_t *ret_probe)
{
    uint64_t last = 0, probe = 0;
    bool any = false;

    for (size_t i = 0; i < o->n_controllers; i++) {
        const struct controller *c = o->controllers[i];
        if (c->config.service) {
            continue;
        }
        if (controller_is_connected(c)) {
            return false;
        }
        any = true;
        last = MAX(last, c->alone_since);
        probe = MAX(probe, c->config.probe_msec ? c->config.probe_msec : CONTROLLER_PROBE_MSEC);
    }
    *ret_msec = now - MIN(now, last);
    *ret_probe = probe;
    return any;
}

void fail_mode_tick(struct ofproto *o)
{
    uint64_t now = clock_msec(), msec, probe;

    if (o->secure || !unreachable(o, now, &msec, &probe)) {
        return;
    }
    if (!o->fallback) {
        if (msec >= PROBES * probe) {
            log_warn("bridge %s: no controller could be reached for %llu seconds, failing open", o->name,
                     (unsigned long long) msec / 1000);
            o->fallback_said = now;
            begin_anew(o, false, true);
        }
    } else if (now - o->fallback_said >= SAY_AGAIN_MSEC) {
        o->fallback_said = now;
        log_info("bridge %s: still in fail-open mode after %llu seconds without a controller", o->name,
                 (unsigned long long) msec / 1000);
    }
}
