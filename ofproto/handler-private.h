/* A handler's structure, for handler.c and handler-help.c. */
#ifndef OFPROTO_HANDLER_PRIVATE_H
#define OFPROTO_HANDLER_PRIVATE_H 1

#include "lib/base/rcu.h"
#include "lib/dpif/channel.h"
#include "ofproto/crew.h"
#include "ofproto/handler.h"

/* What is put into a handler's inbox. */
enum handler_message_type {
    MESSAGE_GONE, /* A port was deleted; from main. */
    MESSAGE_LENT, /* A chain of lanes to serve; from a colleague that has hired us. */
    MESSAGE_BACK, /* A lane of ours comes back; from a colleague. */
};
struct handler_message {
    struct cds_wfcq_node node;
    enum handler_message_type type;
    odp_port_t gone;
    struct lane *lane;
};

struct handler {
    struct flowcache *fc;
    struct dispatch *dispatch;
    struct crew *crew;
    unsigned int id;
    struct thread *thread; /* NULL: driven by handler_run_once(). */
    struct rxbuf rx;
    struct sched sched;
    struct upcall_batch batch;
    uint64_t looked;     /* When the channels were last looked at, ns; 0: it has slept since. */
    uint64_t done;       /* When the last batch was, ns; 0: it was not timed. */
    bool served;         /* The last pass had a batch. */
    uint64_t service_ns; /* What an upcall costs, of late. */

    uint64_t pass_since;   /* Atomic: when the pass that goes on began, ns; 0: it sleeps. */
    unsigned int stall;    /* Atomic: for tests: with the next upcalls, it stands still for so many ms. */
    uint64_t stall_since, stall_ms; /* Main's: the pass that was said to take too long, and how long it had then. */
    uint64_t n_stalls;              /* Main's; anybody reads. */

    bool in_idle;               /* Our bit is set, or was until we were hired. */
    unsigned int n_outstanding; /* Times that we were hired, and the lanes have not come yet. */
    struct lane *guests;        /* Lanes of colleagues. */
    bool crowded;               /* The last batch had more of our own than half: no place for guests. */
    bool recalls;               /* Atomic: we wait for what we lent. */
    bool exiting;               /* Written before thread_stop(), read after thread_stopping(). */

    struct __cds_wfcq_head inbox_head; /* Messages; taken out by the handler. */
    struct cds_wfcq_tail inbox_tail CACHE_ALIGNED;
    struct handler_stats stats CACHE_ALIGNED; /* Written by the handler alone. */
};

#define COUNT(H, NAME) histogram_bump(&(H)->stats.NAME, 1)

void handler_send(struct handler *h, enum handler_message_type type, odp_port_t gone, struct lane *lane);
/* Carries out what is in the inbox. */
void handler_inbox_run(struct handler *h);
static inline bool handler_inbox_is_empty(struct handler *h)
{
    return cds_wfcq_empty(&h->inbox_head, &h->inbox_tail);
}

/* handler-watch.c */
void handler_stall_if_told(struct handler *h);

/* handler-help.c */
/* Lends lanes to a sleeping colleague, if that pays. */
void handler_lend(struct handler *h);
/* Takes upcalls of guests. */
unsigned int handler_take_guests(struct handler *h, struct cell *cells[], unsigned int max);
/* Gives guests back that are empty; ALL: whatever they hold. */
void handler_return_guests(struct handler *h, bool all);

#endif
