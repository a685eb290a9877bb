/* See lesson.h. */
#include <config.h>

#include "ofproto/lesson.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/learn-queue.h"

COUNTER_DEFINE(learn_too_many);
COUNTER_DEFINE(learn_known);

#define TCP_FIN_RST 0x05

/* ---- Lists. ---- */

static size_t values_size(const struct ofp_act_learn *a)
{
    size_t n = 0;

    for (uint32_t i = 0; i < a->n_specs; i++) {
        n += a->specs[i].immediate ? 0 : (a->specs[i].n_bits + 7) / 8;
    }
    return n;
}

static struct lesson *begin(struct lesson_list *list, struct tables *t, struct rule *rule, const struct ofp_act *a, size_t n_values)
{
    size_t len = (sizeof(struct lesson) + n_values + 7) / 8 * 8;

    if (list->len + len > LESSONS_SIZE) {
        COUNTER_INC(learn_too_many);
        return NULL;
    }
    struct lesson *l = (void *) ((char *) list->memory + list->len);
    memset(l, 0, len);
    l->len = len;
    l->tables = t;
    l->rule = rule;
    l->act = a;
    return l;
}

/* A packet that meets a rule twice, as it was, teaches it once. */
static void end(struct lesson_list *list, const struct lesson *l)
{
    LESSON_FOR_EACH (old, list) {
        if (old->len == l->len && !memcmp(old, l, l->len)) {
            return;
        }
    }
    list->len += l->len;
}

bool lesson_list_add_learn(struct lesson_list *list, struct tables *t, struct rule *rule, const struct ofp_act_learn *a,
                           const struct flow *flow)
{
    struct lesson *l = begin(list, t, rule, &a->act, values_size(a));

    if (!l) {
        return false;
    }
    uint8_t *to = l->values;
    for (uint32_t i = 0; i < a->n_specs; i++) {
        if (!a->specs[i].immediate) {
            union ofp_value value;
            size_t n;
            ofp_subfield_get(&a->specs[i].src, flow, &value, &n);
            memcpy(to, value.b, n);
            to += n;
        }
    }
    end(list, l);
    return true;
}

bool lesson_list_add_fin(struct lesson_list *list, struct tables *t, struct rule *rule, const struct ofp_act *a)
{
    const struct lesson *l = begin(list, t, rule, a, 0);

    if (l) {
        end(list, l);
    }
    return l;
}

/* ---- What is to be learned. ---- */

static const struct ofp_act_learn *learn_of(const struct lesson *l) { return ofp_act_cast(l->act); }

/* Not to all that a controller may name: a packet must not get NORMAL or the controller by what it says. */
static void put_output(struct buf *acts, uint64_t port)
{
    if (port >= OFPP_MAX && port != OFPP_IN_PORT_N && port != OFPP_FLOOD_N && port != OFPP_ALL_N && port != OFPP_LOCAL_N) {
        return;
    }
    struct ofp_act_output *o = ofp_act_put(acts, OFP_ACT_OUTPUT, sizeof *o);

    o->port = (ofp_port_t) { port };
}

static void apply_spec(const struct ofp_learn_spec *spec, const union ofp_value *bits, struct match *match, struct buf *acts)
{
    union ofp_value value, mask;

    switch (spec->to) {
    case OFP_LEARN_MATCH:
        ofp_subfield_place(&spec->dst, bits, &value, &mask);
        ofp_field_set_match(spec->dst.field, &value, &mask, match);
        break;
    case OFP_LEARN_LOAD:
        ofp_subfield_place(&spec->dst, bits, &value, &mask);
        ofp_act_put_load(acts, spec->dst.field, &value, &mask);
        break;
    case OFP_LEARN_OUTPUT:
        put_output(acts, ofp_value_get_u64(bits, (spec->n_bits + 7) / 8));
        break;
    }
}

void lesson_flow_mod(const struct lesson *l, struct buf *acts, struct flow_mod *ret)
{
    const struct ofp_act_learn *a = learn_of(l);
    const uint8_t *from = l->values;

    buf_truncate(acts, 0);
    memset(ret, 0, sizeof *ret);
    ret->command = FLOW_MODIFY_STRICT; /* As ovs-actions(7) has it: like mod-flows --strict. */
    ret->may_add = ret->sets_cookie = true;
    ret->filter.table_id = a->table;
    ret->filter.priority = a->priority;
    ret->filter.strict = true;
    ret->filter.out_port = OFPP_NONE;
    ret->filter.out_group = OFPG_ANY;
    ret->spec = (struct rule_spec) { .cookie = a->cookie, .idle_timeout = a->idle_timeout, .hard_timeout = a->hard_timeout,
                                     .flags = a->flags & OFP_LEARN_F_SEND_FLOW_REM ? RULE_SEND_FLOW_REM : 0 };
    if (a->fin_idle_timeout || a->fin_hard_timeout) {
        struct ofp_act_fin_timeout *fin = ofp_act_put(acts, OFP_ACT_FIN_TIMEOUT, sizeof *fin);
        fin->idle = a->fin_idle_timeout;
        fin->hard = a->fin_hard_timeout;
    }
    for (uint32_t i = 0; i < a->n_specs; i++) {
        const struct ofp_learn_spec *spec = &a->specs[i];
        union ofp_value bits = { { 0 } };
        if (!spec->immediate) {
            memcpy(bits.b, from, (spec->n_bits + 7) / 8);
            from += (spec->n_bits + 7) / 8;
        }
        apply_spec(spec, spec->immediate ? &spec->value : &bits, &ret->filter.match, acts);
    }
    ofp_match_normalize(&ret->filter.match);
    ret->spec.acts = (const struct ofp_act *) acts->data;
    ret->spec.acts_len = acts->len;
}

struct rule *lesson_find(const struct lesson *l, const struct flow_mod *fm, uint64_t version, bool *ret_same)
{
    struct rule *r = tables_find(l->tables, fm->filter.table_id, &fm->filter.match, fm->filter.priority, version);

    *ret_same = r && r->cookie == fm->spec.cookie && ofp_acts_equal(rule_acts(r), r->acts_len, fm->spec.acts, fm->spec.acts_len);
    return r;
}

bool lesson_is_over_limit(const struct lesson *l, struct buf *scratch)
{
    const struct ofp_act_learn *a = learn_of(l);
    struct flow_mod fm;
    bool same;

    if (!a->limit || tables_count_cookie(l->tables, a->table, a->cookie) < a->limit) {
        return false;
    }
    lesson_flow_mod(l, scratch, &fm);
    lesson_find(l, &fm, tables_version(l->tables), &same);
    return !same;
}

/* ---- Teaching. ---- */

void learner_init(struct learner *l) { memset(l, 0, sizeof *l); }

void learner_uninit(struct learner *l) { buf_uninit(&l->acts); }

static void touch_queue(struct learner *l, struct learn_queue *q, uint32_t ticket)
{
    for (unsigned int i = 0; i < l->n_queues; i++) {
        if (l->queues[i] == q) {
            l->tickets[i] = ticket;
            return;
        }
    }
    if (l->n_queues == LEARNER_QUEUES) {
        learn_queue_wake(q); /* It is not waited for. */
        return;
    }
    l->queues[l->n_queues] = q;
    l->tickets[l->n_queues++] = ticket;
}

/* Is there nothing to be done for LESSON, of LEARN?  Then the flow that it made is fresh again. */
static bool is_known(struct learner *l, const struct lesson *lesson, uint64_t now)
{
    bool same;

    lesson_flow_mod(lesson, &l->acts, &l->fm);
    struct rule *r = lesson_find(lesson, &l->fm, tables_version(lesson->tables), &same);
    if (same) {
        rule_refresh(r, now);
    }
    return same;
}

static bool fin_is_known(const struct lesson *lesson)
{
    const struct ofp_act_fin_timeout *a = ofp_act_cast(lesson->act);
    uint16_t idle = rule_idle_timeout(lesson->rule), hard = rule_hard_timeout(lesson->rule);

    return (!a->idle || (idle && idle <= a->idle)) && (!a->hard || (hard && hard <= a->hard));
}

/* Of lessons about one flow the last counts: what follows a new one may be known now, and not be when that has been learned. */
void learner_teach(struct learner *l, const struct lesson_list *list, uint64_t now, uint16_t tcp_flags)
{
    bool all_known = true;

    LESSON_FOR_EACH (lesson, list) {
        bool is_learn = lesson->act->type == OFP_ACT_LEARN;
        bool known = is_learn ? is_known(l, lesson, now) && all_known : !(tcp_flags & TCP_FIN_RST) || fin_is_known(lesson);
        uint32_t ticket;
        all_known &= known || !is_learn;
        if (known) {
            COUNTER_INC(learn_known);
            continue;
        }
        struct learn_queue *q = tables_learn_queue(lesson->tables);
        if (learn_queue_post(q, lesson, &ticket)) {
            touch_queue(l, q, ticket);
        }
    }
}

void learner_flush(struct learner *l, bool wait)
{
    if (likely(!l->n_queues)) {
        return;
    }
    for (unsigned int i = 0; i < l->n_queues; i++) {
        learn_queue_wake(l->queues[i]);
    }
    uint64_t deadline = wait ? clock_nsec() + LESSON_WAIT_US * 1000 : 0; /* For all of them. */
    for (unsigned int i = 0; wait && i < l->n_queues; i++) {
        learn_queue_wait(l->queues[i], l->tickets[i], deadline);
    }
    l->n_queues = 0;
}
