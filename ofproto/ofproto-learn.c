/* Main's side of learning (lesson.h): what handlers and revalidators hand over becomes flows and timeouts; and what was learned by
 * actions that are gone goes with them. */
#include <config.h>

#include <event2/event.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/learn-queue.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofproto_learn);

COUNTER_DEFINE(learn_added);
COUNTER_DEFINE(learn_limit);
COUNTER_DEFINE(learn_refused);
COUNTER_DEFINE(fin_timeout);

/* Flows that A may have made, with those that X adds. */
static uint64_t count_learned(const struct tables_txn *x, const struct ofp_act_learn *a)
{
    uint64_t n = tables_count_cookie(x->tables, a->table, a->cookie);

    for (size_t i = 0; i < x->n; i++) {
        const struct rule *added = tables_change_added(&x->changes[i]), *gone = tables_change_gone(&x->changes[i]);
        n += added && added->table_id == a->table && added->cookie == a->cookie;
        n -= gone && gone->table_id == a->table && gone->cookie == a->cookie;
    }
    return n;
}

/* Another packet may have taught the same meanwhile; and the rule that teaches may have gone, with all that it had taught: it teaches no more. */
static void learn(struct ofproto *o, struct tables_txn *x, const struct lesson *l, struct buf *acts, uint64_t now)
{
    const struct ofp_act_learn *a = ofp_act_cast(l->act);
    struct flow_mod fm;
    bool same;

    if (!cls_rule_is_visible(&l->rule->cls, x->version)) {
        return;
    }
    lesson_flow_mod(l, acts, &fm);
    rcu_read_lock();
    struct rule *r = lesson_find(l, &fm, x->version, &same);
    bool over = a->limit && count_learned(x, a) >= a->limit;
    rcu_read_unlock();
    if (same) {
        rule_refresh(r, now);
    } else if (over) {
        COUNTER_INC(learn_limit);
    } else {
        enum ofp_error error = flow_mod_apply(x, &fm, now);
        if (error) {
            COUNTER_INC(learn_refused);
            log_info_rl(6, "bridge %s: a flow could not be learned into table %u: %s", o->name, a->table, ofp_error_name(error));
        } else {
            COUNTER_INC(learn_added);
        }
    }
}

/* The rule may have been replaced meanwhile: then its successor begins anew. */
static void shorten(struct ofproto *o, const struct lesson *l)
{
    const struct ofp_act_fin_timeout *a = ofp_act_cast(l->act);

    if (cls_rule_is_visible(&l->rule->cls, tables_version(o->tables))) {
        COUNTER_INC(fin_timeout);
        tables_shorten(o->tables, l->rule, a->idle, a->hard);
    }
}

static void serve(struct ofproto *o)
{
    struct learn_queue *q = tables_learn_queue(o->tables);
    uint32_t begun = learn_queue_begin(q);
    struct buf acts = BUF_INITIALIZER;
    uint64_t now = clock_msec();
    struct learn_entry *e;
    unsigned int n = 0;
    struct tables_txn x;

    /* All that waited when we began, and no more than the queue holds: as long as nothing is committed handlers go on asking. */
    tables_begin(o->tables, &x);
    while (n++ < LEARN_QUEUE_MAX && (e = learn_queue_take(q)) != NULL) {
        if (e->lesson->act->type == OFP_ACT_LEARN) {
            learn(o, &x, e->lesson, &acts, now);
        } else {
            shorten(o, e->lesson);
        }
        learn_entry_free(e);
    }
    tables_commit(&x);
    learn_queue_done(q, begun);
    ofproto_committed(o, &x, OFPRR_DELETE);
    buf_uninit(&acts);
    if (n > LEARN_QUEUE_MAX) {
        learn_queue_wake(q); /* There may be more. */
    }
}

static void wakeup_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *o_)
{
    struct ofproto *o = o_;

    wakeup_clear(&tables_learn_queue(o->tables)->wakeup);
    serve(o);
}

void ofproto_learn_begin(struct ofproto *o)
{
    struct learn_queue *q = tables_learn_queue(o->tables);
    int error = learn_queue_serve(q);

    o->learn_event = error ? NULL : event_new(o->base, q->wakeup.fd, EV_READ | EV_PERSIST, wakeup_cb, o);
    if (!o->learn_event || event_add(o->learn_event, NULL)) {
        log_err("bridge %s: nothing can be learned by flows: no event", o->name);
        learn_queue_close(q);
    }
}

void ofproto_learn_end(struct ofproto *o)
{
    learn_queue_close(tables_learn_queue(o->tables));
    if (o->learn_event) {
        event_free(o->learn_event);
    }
}

void ofproto_delete_orphans(struct ofproto *o)
{
    struct learned_cookie key;

    if (o->deletes_orphans) {
        return; /* What we delete may have learned, too: our caller goes on with that. */
    }
    o->deletes_orphans = true;
    while (tables_take_orphan(o->tables, &key)) {
        const struct flow_mod fm = {
            .command = FLOW_DELETE,
            .filter = { .table_id = key.table_id, .cookie = key.cookie, .cookie_mask = UINT64_MAX, .out_port = OFPP_NONE, .out_group = OFPG_ANY },
        };
        ofproto_flow_mod(o, &fm); /* A deletion cannot fail. */
    }
    o->deletes_orphans = false;
}
