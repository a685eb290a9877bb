/* What a translation does, step by step: for ofproto/trace.
 *
 * A recorder keeps a tree: a bridge has the table that the packet meets first, a table's rule its actions, and behind each of
 * them what it comes to and where it leads: notes, tables, bridges.
 * A translation that is not traced has no recorder (xlate_ctx.trace is NULL), and pays one test a rule and an action.  Whoever traces
 * makes a recorder, translates, reads the tree, and destroys it: one thread, and memory from the heap, which the hot path
 * never comes to.
 *
 *     struct xlate_trace t;
 *     xlate_trace_init(&t);
 *     xlate_traced(config, &in, &out, &t);
 *     for (const struct xlate_step *s = t.root.first; s; s = s->next) ...
 *     xlate_trace_uninit(&t); */
#ifndef OFPROTO_XLATE_TRACE_H
#define OFPROTO_XLATE_TRACE_H 1

#include "lib/base/compiler.h"
#include "lib/pkt/flow.h"
#include "ofproto/xlate.h"

struct ofp_act;
struct ofp_subfield;
struct rule;
struct xlate_ctx;

enum xlate_step_kind {
    STEP_BRIDGE, /* bridge("br0") */
    STEP_TABLE,  /* The rule of a table; or another reason for actions. */
    STEP_ACTION,
    STEP_NOTE,    /* What an action comes to here. */
    STEP_WARNING, /* It is not done, or not as it says. */
    STEP_ERROR,   /* The packet's way ends. */
    STEP_BUCKET,  /* Of a group. */
};

struct xlate_step {
    enum xlate_step_kind kind;
    char *text;
    struct xlate_step *first, *last; /* Of a bridge, of a table: what happened in it. */
    struct xlate_step *next;         /* After it. */
};

/* More steps are not kept: a packet may meet 4,096 rules, each with any number of actions. */
#define XLATE_TRACE_MAX_STEPS 65536

/* A copy of the packet that the datapath is to bring back. */
struct xlate_fork {
    bool conntracked;
    struct flow flow; /* With its recirculation id, and before conntrack has said anything. */
};

struct xlate_trace {
    struct xlate_step root; /* Its 'first' and 'last' only. */
    struct xlate_step *at;  /* Where steps are added. */
    size_t n_steps;
    bool cut;               /* There were more. */
    struct flow final;      /* The packet when it had been through the first bridge. */
    bool has_final;
    struct xlate_fork forks[XLATE_MAX_RECIRCS];
    unsigned int n_forks;
    bool side_effects;      /* Set by the owner: what the packet teaches will be learned, which is then a step. */
};

void xlate_trace_init(struct xlate_trace *t);
void xlate_trace_uninit(struct xlate_trace *t);

/* Adds a step below the current one. */
void xlate_trace_add(struct xlate_trace *t, enum xlate_step_kind kind, const char *format, ...) PRINTF_FORMAT(3, 4);
/* The same, and what follows is below it until xlate_trace_leave() is given what this returned. */
struct xlate_step *xlate_trace_enter(struct xlate_trace *t, enum xlate_step_kind kind, const char *format, ...) PRINTF_FORMAT(3, 4);
static inline void xlate_trace_leave(struct xlate_trace *t, struct xlate_step *outer) { t->at = outer; }

/* ---- For xlate*.c. ---- */

/* Notes something if the translation of CTX is traced; else its arguments are not evaluated. */
#define XLATE_TRACE(CTX, KIND, ...)                            \
    do {                                                       \
        if (unlikely((CTX)->trace)) {                          \
            xlate_trace_add((CTX)->trace, KIND, __VA_ARGS__);  \
        }                                                      \
    } while (0)

/* For a CTX that is traced.  The packet meets RULE (NULL: none) in table TABLE_ID: what follows is in this, as of xlate_trace_enter(). */
struct xlate_step *xlate_trace_rule(struct xlate_ctx *ctx, uint8_t table_id, const struct rule *rule);
void xlate_trace_action(struct xlate_ctx *ctx, const struct ofp_act *a);
/* The action set IS, or was, the N of ACTS. */
void xlate_trace_set(struct xlate_ctx *ctx, const char *is, const struct ofp_act *const acts[], unsigned int n);
/* The action set is going to be done: what follows is in this, as of xlate_trace_enter(). */
struct xlate_step *xlate_trace_enter_set(struct xlate_trace *t);
/* What SF has become. */
void xlate_trace_subfield(struct xlate_ctx *ctx, const struct ofp_subfield *sf);
/* The packet meets too many tables. */
void xlate_trace_limit(struct xlate_ctx *ctx);
/* The datapath is to bring the packet back with recirculation id ID, to go on at TABLE; and the one that was noted last is in conntrack zone ZONE. */
void xlate_trace_fork(struct xlate_ctx *ctx, uint32_t id, uint8_t table, bool conntracked);
void xlate_trace_zone(struct xlate_ctx *ctx, uint16_t zone);
/* The packet goes on in BRIDGE at TABLE: what follows is in this, as of xlate_trace_enter(). */
struct xlate_step *xlate_trace_resume(struct xlate_trace *t, const char *bridge, uint8_t table);
/* Notes what the packet is now, if it is in the first bridge. */
void xlate_trace_flow(struct xlate_ctx *ctx);

#endif
