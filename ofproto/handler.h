/* A handler: the thread that takes upcalls from its channels and carries them through the pipeline (upcall.h).
 *
 * It sleeps in one place, dispatch_wait(), and is woken for work only. */
#ifndef OFPROTO_HANDLER_H
#define OFPROTO_HANDLER_H 1

#include "ofproto/flowcache.h"
#include "ofproto/upcall.h"

struct dispatch;
struct handler;

struct handler_stats {
    struct upcall_stats upcalls;
    uint64_t wakeups;      /* Returns from the wait. */
    uint64_t idle_wakeups; /* Of these, with no upcall to show for it. */
    uint64_t batches;
};

/* Makes handler ID of DISPATCH.  Its thread begins with handler_start(); without it, a test calls
 * handler_run_once().  Returns 0 or -errno. */
int handler_create(struct flowcache *fc, struct dispatch *dispatch, unsigned int id, struct handler **ret_handler);
int handler_start(struct handler *h);
/* Asks the thread to end: it carries on with the batch in hand, drains the channels that retire, and ends. */
void handler_stop(struct handler *h);
/* Waits for that and frees H.  Adds what it counted to *TOTAL. Accepts NULL. */
void handler_destroy(struct handler *h, struct handler_stats *total);

/* One pass of the loop: waits TIMEOUT_MS at most (-1: for ever).  Returns the number of upcalls taken. */
unsigned int handler_run_once(struct handler *h, int timeout_ms);

/* Any thread; a reading may lag. */
void handler_get_stats(const struct handler *h, struct handler_stats *ret_stats);
void handler_stats_add(struct handler_stats *to, const struct handler_stats *from);

#endif
