/* Helping: a handler with more work than it can do soon lends lanes to a sleeping colleague.
 *
 * A lane is in one place at any time: in its owner's schedule, on its way (in an inbox), or in a colleague's list of guests; whoever
 * has it serves it, so its packets keep their order.  The owner goes on appending to it wherever it is.
 *
 *     owner                                   colleague
 *     sched_lend()                            sleeps, its bit set in the crew
 *     crew_hire(): takes the bit ───────────► (nobody else hires it)
 *     LENT into its inbox, wake ────────────► wakes, sees its bit gone: it waits for the message if it must
 *                                             serves its own first, then guests
 *     BACK in our inbox ◄──────────────────── when the lane is empty, or its own work needs it, or it ends
 *
 * No upcall is left behind.  The owner appends to a lent lane and then, before it sleeps, looks into its inbox.  The colleague puts the lane
 * into the inbox and then looks whether it is empty; if not it wakes the owner.  Both appends (to the lane, to the inbox) are full
 * barriers (xchg, in liburcu's wfcqueue), so one of the two sees what the other did: tests/model/lane.pml. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/util.h"
#include "ofproto/handler-private.h"

/* Upcalls of its own from which on a handler has no time for guests: it would be late for its own more than a batch. */
#define OWN_MAX UPCALL_BATCH

void handler_lend(struct handler *h)
{
    const struct crew_worth *worth = &h->crew->worth;
    if (likely(h->sched.n < worth->upcalls) || h->sched.n * h->service_ns < worth->ns ||
        !__atomic_load_n(&h->crew->helps, __ATOMIC_RELAXED)) {
        return;
    }
    unsigned int n_idle = crew_n_idle(h->crew);
    if (!n_idle) {
        return;
    }
    /* An equal part for us, for it, and for those that we may hire next.  What there is to lend comes first: nobody is woken for
     * a lone flow, crumbs, or control packets, batch after batch. */
    struct lane *chain = sched_lend(&h->sched, h->sched.n / (1 + n_idle), worth->slice);
    if (!chain) {
        return;
    }
    rcu_read_lock();
    struct handler *colleague = crew_hire(h->crew, h->id);
    if (colleague) {
        for (const struct lane *l = chain; l; l = l->next) {
            COUNT(h, lanes_lent);
        }
        COUNT(h, helps_taken);
        handler_send(colleague, MESSAGE_LENT, ODPP_NONE, chain);
        dispatch_wake(h->dispatch, colleague->id);
    }
    rcu_read_unlock();
    for (struct lane *next; !colleague && chain; chain = next) { /* All have woken meanwhile. */
        next = chain->next;
        sched_take_back(&h->sched, chain);
    }
}

unsigned int handler_take_guests(struct handler *h, struct cell *cells[], unsigned int max)
{
    unsigned int n = 0;
    for (struct lane *l = h->guests; l && n < max; l = l->next) {
        n += lane_take(l, &cells[n], max - n);
    }
    /* Whoever was first this time is last the next. */
    struct lane *first = h->guests;
    if (first && first->next) {
        struct lane *last = first;
        while (last->next) {
            last = last->next;
        }
        h->guests = first->next;
        last->next = first;
        first->next = NULL;
    }
    return n;
}

static void give_back(struct lane *l)
{
    struct handler *owner = lane_sched(l)->owner;

    rcu_read_lock();
    handler_send(owner, MESSAGE_BACK, ODPP_NONE, l);
    /* From here on L is the owner's: whether it is empty may be asked, all else not.  Pairs with the owner's append.  An owner that sleeps is
     * woken in any case: only it counts and frees what was served of its lane, and it might sleep for days.  (One that has set its bit looks
     * into its inbox then, and we have put the message there before we look at the bit.) */
    if (!lane_is_empty(l) || crew_is_idle(owner->crew, owner->id) || __atomic_load_n(&owner->recalls, __ATOMIC_SEQ_CST)) {
        dispatch_wake(owner->dispatch, owner->id);
    }
    rcu_read_unlock();
}

void handler_return_guests(struct handler *h, bool all)
{
    /* Own work goes first, so who has a full batch of it each time, and little more, would keep guests for ever unserved. */
    all = all || h->crowded || h->sched.n > OWN_MAX;
    for (struct lane **p = &h->guests; *p;) {
        struct lane *l = *p;
        if (all || lane_is_empty(l)) {
            *p = l->next;
            give_back(l);
        } else {
            p = &l->next;
        }
    }
}
