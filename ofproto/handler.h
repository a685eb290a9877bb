/* A handler: the thread that takes upcalls from its channels and carries them through the pipeline (upcall.h).
 *
 * It sleeps in one place, dispatch_wait(), and is woken for work only.  Each pass of its loop reads its channels empty, into
 * the lanes of the scheduler (sched.h), and then serves one batch: so the kernel's queues, which know no ports, stay short
 * whatever waits.
 *
 * Times.  The clock is read once a pass, and some batches (a small one, and every sixteenth) are timed stage by stage. */
#ifndef OFPROTO_HANDLER_H
#define OFPROTO_HANDLER_H 1

#include "lib/base/histogram.h"
#include "ofproto/flowcache.h"
#include "ofproto/sched.h"
#include "ofproto/upcall.h"

struct crew;
struct dispatch;
struct port_ledger;
struct handler;

struct handler_stats {
    struct upcall_stats upcalls;
    uint64_t drops[SCHED_N_DROPS]; /* By the scheduler, by reason. */
    uint64_t wakeups;              /* Returns from a sleep. */
    uint64_t idle_wakeups;         /* Of these, with no upcall to show for it. */
    uint64_t passes, batches, drains; /* Drains: receives from a channel. */
    uint64_t stalls; /* Passes that took a second or more. */
    uint64_t most_waiting;
    uint64_t helps_taken, lanes_lent;    /* Times that a colleague was asked to help; lanes that it got. */
    uint64_t helps_given, guests_served; /* Times that we were; upcalls of others that we served. */
    /* Of upcalls: from when it was, or could have been, in the kernel's queue to its batch.  Of timed batches: parse and
     * translate; install, operate and account.  Of passes that serve something: how long the channels were not looked at,
     * until the next look or the next sleep. */
    struct histogram wait, translate, install, absence;
};

/* Makes handler ID of DISPATCH and of CREW, of which it takes a reference.  Its thread begins with handler_start(); without it, a test calls
 * handler_run_once().  Returns 0 or -errno. */
int handler_create(struct flowcache *fc, struct dispatch *dispatch, struct crew *crew, unsigned int id,
                   struct handler **ret_handler);
int handler_start(struct handler *h);
/* Asks the thread to end: it carries on with what it has read, drains the channels that retire, and ends.  EXITING: nobody takes over, the
 * kernel may go on sending, and whoever waits has little patience: so within five seconds, with what is left counted as dropped.  Main,
 * once. */
void handler_stop(struct handler *h, bool exiting);
/* Waits for that and frees H.  Adds what it counted to *TOTAL, and of ports to *PORTS.  Accepts NULL for H. */
void handler_destroy(struct handler *h, struct handler_stats *total, struct port_ledger *ports);

/* One pass of the loop: waits TIMEOUT_MS at most (-1: for ever; not at all while upcalls wait).  Returns the number of upcalls received or
 * served: 0, there was nothing to do. */
unsigned int handler_run_once(struct handler *h, int timeout_ms);

/* Lanes of H that colleagues have, and lanes of colleagues that H has.  For tests that drive handlers step by step: before H is destroyed, there
 * must be none. */
unsigned int handler_n_away(const struct handler *h);

/* handler-watch.c */
/* Says in the log if H has been in one pass for a second or more, and when it goes on.  Main, every second; NOW: ns. */
void handler_watch(struct handler *h, uint64_t now);
/* For how long it has been, if for a second or more; else 0.  Any thread. */
uint64_t handler_stalled_ms(const struct handler *h, uint64_t now);
/* For tests: has H, when it next has upcalls, stand still for MS milliseconds before it serves them, or until it is told
 * another number.  Any thread. */
void handler_stall(struct handler *h, unsigned int ms);

/* Port NO has been deleted from the datapath.  Any thread; it is woken to forget the port.  Returns whether there is anything to
 * forget. */
bool handler_port_gone(struct handler *h, odp_port_t no);

/* Any thread; a reading may lag. */
void handler_get_stats(const struct handler *h, struct handler_stats *ret_stats);
void handler_stats_add(struct handler_stats *to, const struct handler_stats *from);
/* Calls CB for each port that had upcalls here.  Any thread. */
void handler_show_ports(const struct handler *h, void (*cb)(odp_port_t, const struct port_stats *, void *aux),
                        void *aux);
/* The thread's number as the system knows it; 0: it does not run. */
pid_t handler_tid(const struct handler *h);

#endif
