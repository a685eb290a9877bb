/* Lessons: what a packet would change in OpenFlow tables (learn, fin_timeout), as an effect of its translation.
 *
 *     translation                handler, revalidator                       main
 *     notes lessons     ──►      looks whether the tables know them   ──►   adds the flow, or shortens the rule's timeouts
 *     (xlate-learn.c)            already: then the flow that was            (ofproto-learn.c)
 *                                learned is noted to be fresh; else
 *                                hands them to main (learn-queue.h)
 *
 * Tables have one writer, main, and that stays so: it is main that answers controllers, tells monitors, counts limits and evicts, and a
 * second writer would have to wait for it in all of these, for as long as a bundle takes.  But a packet must not leave before what it has
 * taught is there, or the reply to it meets the tables without it: the stock daemon adds the flow before it sends the packet.  So the
 * handler waits for main, once a batch and only if there is something new to be learned, at most LESSON_WAIT_US, which is half of what
 * it may be away from its channels (C3).  Main adds a flow in microseconds, unless it is busy; who has waited in vain does not
 * wait again before main is back.  Then packets go first, as they must somewhere, and `learn_late` counts.  (Handlers wait in an RCU read
 * section; main, when it waits for readers, keeps them no longer than that.)
 *
 * When main has changed the tables, all flows are translated again, as after a flow-mod; the flow of the reply that was installed before
 * is right at the end of that round.
 *
 * What has been taught is a function of the megaflow, since a learn action looks at all that it copies: so a datapath flow
 * keeps its lessons, and while it has packets each round of revalidation teaches them again.  If nothing has changed since that costs
 * a lookup.
 *
 * A lesson holds what was copied from the packet.  It belongs to the rule that has the action; which is alive as long as the RCU read
 * section of the translation, or as somebody holds a reference to it. */
#ifndef OFPROTO_LESSON_H
#define OFPROTO_LESSON_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "ofproto/flow-mod.h"

struct flow;
struct ofp_act;
struct ofp_act_learn;

struct lesson {
    uint32_t len; /* Of all of it; a multiple of 8. */
    struct tables *tables; /* Alive as long as the snapshot that was translated with. */
    struct rule *rule;     /* That has the action. */
    const struct ofp_act *act; /* LEARN or FIN_TIMEOUT. */
    uint8_t values[];      /* LEARN: what was copied, value after value, each in (n_bits + 7) / 8 bytes. */
};

/* A list of lessons, back to back, in memory of somebody's. */
struct lesson_list {
    void *memory;
    size_t len;
    struct buf *scratch; /* For who adds to it: memory of the thread's. */
};
/* Enough for some hundred; what a packet teaches beyond that is not learned, and counted. */
#define LESSONS_SIZE (16 * 1024)

#define LESSON_FOR_EACH(L, LIST)                                                                                        \
    for (const struct lesson *L = (LIST)->memory, *L##_end = (const void *) ((const char *) (LIST)->memory + (LIST)->len); \
         L != L##_end; L = (const void *) ((const char *) L + L->len))

/* Appends to LIST, whose memory has LESSONS_SIZE bytes, what A does to a packet that is FLOW there; nothing if LIST has it already.  False if it
 * has no room. */
bool lesson_list_add_learn(struct lesson_list *list, struct tables *t, struct rule *rule, const struct ofp_act_learn *a,
                           const struct flow *flow);
bool lesson_list_add_fin(struct lesson_list *list, struct tables *t, struct rule *rule, const struct ofp_act *a);

/* What L, of LEARN, adds to the tables.  ACTS gets the new flow's actions. */
void lesson_flow_mod(const struct lesson *l, struct buf *acts, struct flow_mod *ret);
/* The rule that L, of LEARN, is about, if the tables have it; SAME: just as L would make it.  FM, ACTS: of lesson_flow_mod().  Under RCU. */
struct rule *lesson_find(const struct lesson *l, const struct flow_mod *fm, uint64_t version, bool *ret_same);
/* Would L, of LEARN, be refused, since there are as many flows as its limit allows?  Then not even a flow that is there is changed, but for being
 * fresh, as the stock daemon has it.  Under RCU. */
bool lesson_is_over_limit(const struct lesson *l, struct buf *scratch);

/* ---- Teaching: what each thread that does has. ---- */

struct learn_queue;
#define LEARNER_QUEUES 8

struct learner {
    struct buf acts; /* Scratch. */
    struct flow_mod fm;
    /* Queues that main has been handed something by since the last learner_flush(). */
    struct learn_queue *queues[LEARNER_QUEUES];
    uint32_t tickets[LEARNER_QUEUES];
    unsigned int n_queues;
};
void learner_init(struct learner *l);
void learner_uninit(struct learner *l);
/* Carries out LIST, of a flow whose packets came at NOW (ms) with the flags TCP_FLAGS: at once where nothing is new, else by main.  Under
 * RCU; takes no lock and makes no system call. */
void learner_teach(struct learner *l, const struct lesson_list *list, uint64_t now, uint16_t tcp_flags);
/* Wakes main for what it was handed; WAIT: and waits for it, as said above. */
void learner_flush(struct learner *l, bool wait);

#endif
