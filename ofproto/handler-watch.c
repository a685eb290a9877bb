/* Who watches the handlers: one that does not come back from a pass is named.
 *
 * Nothing in a pass takes longer than a batch does, some milliseconds.  If one takes a second all the same (a kernel that keeps a
 * request, a page that is swapped out, a bug) what the handler has read, and its channels, have nobody; the other handlers go on.  An
 * operator wants to read that in the log while it lasts, and not to guess it from packets that are missing.
 *
 * A handler notes the time at the beginning of each pass, and 0 before it sleeps: two relaxed stores a pass.  Main looks every
 * second; only it says and counts anything. */
#include <config.h>

#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "ofproto/handler-private.h"

LOG_MODULE(handler);

COUNTER_DEFINE(handler_stall);

#define STALL_MS 1000

uint64_t handler_stalled_ms(const struct handler *h, uint64_t now)
{
    uint64_t since = __atomic_load_n(&h->pass_since, __ATOMIC_RELAXED);
    uint64_t ms = since && since < now ? (now - since) / 1000000 : 0;
    return ms >= STALL_MS ? ms : 0;
}

void handler_watch(struct handler *h, uint64_t now)
{
    uint64_t since = __atomic_load_n(&h->pass_since, __ATOMIC_RELAXED), ms = handler_stalled_ms(h, now);

    if (h->stall_since && h->stall_since != since) {
        log_info("handler%u goes on; it had been in one pass for more than %llu ms", h->id,
                 (unsigned long long) h->stall_ms);
        h->stall_since = 0;
    }
    if (ms) {
        if (!h->stall_since) {
            COUNTER_INC(handler_stall);
            histogram_bump(&h->n_stalls, 1);
            log_warn("handler%u (thread %d) has been in one pass for %llu ms: meanwhile nobody reads its channels, nor serves the %u "
                     "upcalls that it has read",
                     h->id, (int) handler_tid(h), (unsigned long long) ms, __atomic_load_n(&h->sched.n, __ATOMIC_RELAXED));
        }
        h->stall_since = since;
        h->stall_ms = ms;
    }
}

void handler_stall(struct handler *h, unsigned int ms) { __atomic_store_n(&h->stall, ms, __ATOMIC_RELAXED); }

void handler_stall_if_told(struct handler *h)
{
    unsigned int ms = __atomic_load_n(&h->stall, __ATOMIC_RELAXED);
    uint64_t end = clock_msec() + ms;
    while (__atomic_load_n(&h->stall, __ATOMIC_RELAXED) == ms && clock_msec() < end) {
        poll(NULL, 0, 1);
    }
    __atomic_compare_exchange_n(&h->stall, &ms, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
