/* From handlers and revalidators to main: lessons that a bridge's tables have yet to learn.
 *
 * One a bridge, part of its tables, and alive as long as those.  Any thread appends, without a lock; main alone takes.  It is bounded: what
 * does not fit is refused and counted, and the next packet, or the next round of revalidation, tries again.  Nobody empties the queue
 * of tables without a bridge (of tests, or of a bridge that is gone): they are refused all. */
#ifndef OFPROTO_LEARN_QUEUE_H
#define OFPROTO_LEARN_QUEUE_H 1

#include "lib/base/rcu.h"
#include "lib/io/wakeup.h"
#include "ofproto/lesson.h"

#define LEARN_QUEUE_MAX 1024
#define LESSON_WAIT_US 500

struct learn_queue {
    struct __cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    struct wakeup wakeup;     /* fd -1: nobody listens. */
    bool served;              /* Atomic. */
    unsigned int n;           /* Atomic; that wait. */
    uint32_t posted;          /* Atomic: how many there have been. */
    int32_t done;             /* Atomic, a futex: as 'posted' was when main last had taken all. */
    uint32_t gave_up;         /* Atomic: the last ticket that was waited for in vain. */
};

struct learn_entry {
    struct cds_wfcq_node node;
    struct lesson *lesson; /* With a reference to its rule. */
};

void learn_queue_init(struct learn_queue *q);
void learn_queue_uninit(struct learn_queue *q);

/* Main: begins to be woken by q->wakeup.fd; ends.  0 or -errno. */
int learn_queue_serve(struct learn_queue *q);
void learn_queue_close(struct learn_queue *q);

/* Any thread: copies L.  False: refused.  Its ticket is to be waited for.  Main still sleeps. */
bool learn_queue_post(struct learn_queue *q, const struct lesson *l, uint32_t *ret_ticket);
void learn_queue_wake(struct learn_queue *q);
/* Waits, until DEADLINE (ns, CLOCK_MONOTONIC) at most, until main has done all up to TICKET.  That it has not is counted. */
void learn_queue_wait(struct learn_queue *q, uint32_t ticket, uint64_t deadline);

/* Main: takes the next, or NULL.  Between learn_queue_begin() and learn_queue_done() are those that the waiting are told of. */
uint32_t learn_queue_begin(struct learn_queue *q);
struct learn_entry *learn_queue_take(struct learn_queue *q);
void learn_entry_free(struct learn_entry *e);
void learn_queue_done(struct learn_queue *q, uint32_t begun);

#endif
