/* Catching up: see ofproto-monitor.h.
 *
 * Rules are told one after the other, as long as there is room.  Meanwhile there are changes, which are not told then: there will be another piece,
 * with the rules that have changed since this one was begun, until there are none.  Deletions are told at once, if the client knows the rule: if its
 * match was there when the client was told of all, or was told in a piece.  A rule that is deleted before its turn comes leaves the piece. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/ofproto-monitor.h"

/* Tells C, as its version does, that it is paused, or goes on. */
static void say(struct ofconn *c, enum ofp_msg_id id, enum ofp_monitor_event event)
{
    struct ofp_reply reply = { 0 };
    struct buf b = BUF_INITIALIZER;

    if (c->version >= OFP14_VERSION) {
        monitors_update(c, &reply, &(struct ofp_monitor_update) { .event = event });
        monitors_flush(c, &reply);
    } else {
        ofp_put_simple(&b, id, c->version, 0, NULL, 0);
        ofconn_reply(c, &b);
    }
}

void monitors_pause(struct ofconn *c, uint64_t since)
{
    struct monitors *m = c->monitors;

    m->behind = m->paused = true;
    m->since = since;
    say(c, OFPMSG_FLOW_MONITOR_PAUSED, OFPFME_PAUSED);
}

static int compare_entries(const void *a_, const void *b_)
{
    const struct catchup_entry *a = a_, *b = b_;
    return a->key < b->key ? -1 : a->key > b->key;
}

bool monitors_forget(struct monitors *m, const struct rule *r)
{
    struct catchup *u = m->catchup;
    const struct catchup_entry key = { .key = r->match_since };
    struct catchup_entry *e = u && u->n ? bsearch(&key, u->entries, u->n, sizeof key, compare_entries) : NULL;
    bool waits = e && (size_t) (e - u->entries) >= u->next;

    if (waits && e->rule) {
        rule_unref(e->rule);
        e->rule = NULL;
    }
    return r->match_since <= m->since || (e && !waits);
}

/* ---- Pieces. ---- */

struct collect {
    const struct monitors *monitors;
    struct catchup *catchup;
};

static enum ofp_monitor_event event_of(const struct monitors *m, const struct catchup *u, const struct rule *r)
{
    return u->initial ? OFPFME_INITIAL : r->match_since <= m->since ? OFPFME_MODIFIED : OFPFME_ADDED;
}

static unsigned int whom(const struct catchup *u) { return u->initial ? MONITORS_FRESH : MONITORS_TOLD; }

static bool collect_cb(struct rule *r, void *collect_)
{
    const struct collect *collect = collect_;
    const struct monitors *m = collect->monitors;
    struct catchup *u = collect->catchup;

    if ((u->initial || r->changed > m->since) && monitors_flags(m, r, NULL, event_of(m, u, r), whom(u))) {
        if (u->n == u->allocated) {
            u->allocated = MAX(16, 2 * u->allocated);
            u->entries = xrealloc(u->entries, u->allocated * sizeof *u->entries);
        }
        rule_ref(r);
        u->entries[u->n++] = (struct catchup_entry) { r->match_since, r };
    }
    return true;
}

static void catchup_begin(struct ofconn *c, bool initial)
{
    const struct tables *t = c->ofproto->tables;
    struct monitors *m = c->monitors;
    struct catchup *u = xzalloc(sizeof *u);

    u->initial = initial;
    u->until = c->ofproto->last_change;
    rcu_read_lock();
    tables_for_each(t, TABLE_ALL, NULL, tables_version(t), collect_cb, &(struct collect) { m, u });
    rcu_read_unlock();
    if (u->n) {
        qsort(u->entries, u->n, sizeof *u->entries, compare_entries);
    }
    if (initial) {
        u->reply = m->initial;
        m->wants_initial = false;
        m->behind = true;
        m->since = u->until;
    }
    m->catchup = u;
}

void catchup_destroy(struct catchup *u)
{
    if (u) {
        for (size_t i = u->next; i < u->n; i++) {
            if (u->entries[i].rule) {
                rule_unref(u->entries[i].rule);
            }
        }
        free(u->entries);
        ofp_reply_uninit(&u->reply);
        free(u);
    }
}

/* Returns false if there is no room for the rest. */
static bool catchup_run(struct ofconn *c)
{
    struct monitors *m = c->monitors;
    struct catchup *u = m->catchup;

    while (u->next < u->n) {
        if (ofp_conn_is_full(c->conn)) {
            return false;
        }
        struct rule *r = u->entries[u->next++].rule;
        if (r) {
            enum ofp_monitor_event event = event_of(m, u, r);
            unsigned int flags = monitors_flags(m, r, NULL, event, whom(u));
            if (flags) { /* A monitor may have been cancelled. */
                monitors_update_rule(c, &u->reply, event, r, flags, OFPRR_DELETE);
            }
            rule_unref(r);
        }
    }
    monitors_flush(c, &u->reply);
    return true;
}

static void catchup_end(struct ofconn *c)
{
    struct monitors *m = c->monitors;

    for (size_t i = 0; m->catchup->initial && i < m->n; i++) {
        m->list[i]->fresh = false;
    }
    m->since = m->catchup->until;
    catchup_destroy(m->catchup);
    m->catchup = NULL;
}

void monitors_go_on(struct ofconn *c)
{
    struct monitors *m = c->monitors;
    bool release = false;

    while (m && !ofp_conn_is_full(c->conn)) {
        if (m->catchup) {
            if (!catchup_run(c)) {
                break;
            }
            release |= m->catchup->initial;
            catchup_end(c);
        } else if (m->behind && m->since < c->ofproto->last_change) {
            catchup_begin(c, false);
        } else if (m->behind) {
            m->behind = false;
            if (m->paused) {
                m->paused = false;
                say(c, OFPMSG_FLOW_MONITOR_RESUMED, OFPFME_RESUMED);
            }
        } else if (m->wants_initial) {
            catchup_begin(c, true);
        } else {
            break;
        }
    }
    if (release) {
        ofp_conn_release(c->conn); /* The last: it may deliver further requests. */
    }
}
