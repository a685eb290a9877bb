/* See handler.h. */
#include <config.h>

#include "ofproto/handler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch.h"
#include "lib/io/thread.h"

LOG_MODULE(handler);

/* Channels taken from one wait. */
#define N_READY 64

struct handler {
    struct flowcache *fc;
    struct dispatch *dispatch;
    unsigned int id;
    struct dpif_session *session;
    struct thread *thread; /* NULL: driven by handler_run_once(). */
    struct rxbuf rx;
    struct upcall_batch batch;
    struct handler_stats stats CACHE_ALIGNED; /* Written by the handler alone. */
};

#define COUNT(H, NAME) \
    __atomic_store_n(&(H)->stats.NAME, __atomic_load_n(&(H)->stats.NAME, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED)

int handler_create(struct flowcache *fc, struct dispatch *dispatch, unsigned int id, struct handler **ret_handler)
{
    struct handler *h = xaligned_zalloc(CACHE_LINE, sizeof *h);

    h->fc = fc;
    h->dispatch = dispatch;
    h->id = id;
    int error = dpif_session_open(fc->dpif, &h->session);
    if (error) {
        goto err_free;
    }
    error = rxbuf_init(&h->rx);
    if (error) {
        goto err_session;
    }
    upcall_batch_init(&h->batch, fc, h->session, &h->stats.upcalls);
    *ret_handler = h;
    return 0;

err_session:
    dpif_session_close(h->session);
err_free:
    free(h);
    return error;
}

/* Carries all that has been received through the pipeline. */
static void handle_upcalls(struct handler *h)
{
    struct upcall_batch *b = &h->batch;

    upcall_batch_begin(b);
    upcall_parse(b, &h->rx);
    upcall_translate(b);
    upcall_install(b);
    upcall_operate(b);
    upcall_account(b);
    upcall_batch_end(b);
    h->rx.n = 0;
    COUNT(h, batches);
}

unsigned int handler_run_once(struct handler *h, int timeout_ms)
{
    struct channel *ready[N_READY];
    unsigned int taken = 0;

    int n = dispatch_wait(h->dispatch, h->id, ready, N_READY, timeout_ms);
    COUNT(h, wakeups);
    /* Each ready channel once, so that a flooded one does not keep the others waiting; what is left makes the next wait return
     * at once. */
    for (int i = 0; i < n; i++) {
        taken += channel_recv(ready[i], &h->rx);
        if (rxbuf_is_full(&h->rx)) {
            handle_upcalls(h);
        }
    }
    if (h->rx.n) {
        handle_upcalls(h);
    }
    if (!taken) {
        COUNT(h, idle_wakeups);
    }
    return taken;
}

static unsigned int drain_channel(struct channel *ch, void *h_)
{
    struct handler *h = h_;
    unsigned int n = channel_recv(ch, &h->rx);
    if (n) {
        handle_upcalls(h);
    }
    return n;
}

static void handler_main(struct thread *self, void *h_)
{
    struct handler *h = h_;

    while (!thread_stopping(self)) {
        handler_run_once(h, -1);
    }
    dispatch_drain(h->dispatch, h->id, drain_channel, h);
}

static void handler_wake(void *h_)
{
    struct handler *h = h_;
    dispatch_wake(h->dispatch, h->id);
}

int handler_start(struct handler *h)
{
    char name[16];
    snprintf(name, sizeof name, "handler%u", h->id);
    h->thread = thread_start(name, handler_main, handler_wake, h);
    return h->thread ? 0 : -EAGAIN;
}

void handler_stop(struct handler *h)
{
    if (h->thread) {
        thread_stop(h->thread);
    }
}

void handler_destroy(struct handler *h, struct handler_stats *total)
{
    if (!h) {
        return;
    }
    if (h->thread) {
        thread_join(h->thread);
    } else {
        dispatch_drain(h->dispatch, h->id, drain_channel, h);
    }
    handler_stats_add(total, &h->stats);
    upcall_batch_uninit(&h->batch);
    rxbuf_uninit(&h->rx);
    dpif_session_close(h->session);
    free(h);
}

void handler_stats_add(struct handler_stats *to, const struct handler_stats *from)
{
#define ADD(FIELD) to->FIELD += __atomic_load_n(&from->FIELD, __ATOMIC_RELAXED)
    ADD(wakeups);
    ADD(idle_wakeups);
    ADD(batches);
#define OUTCOME(NAME, TEXT) ADD(upcalls.NAME);
    UPCALL_OUTCOMES
#undef OUTCOME
#undef ADD
}

void handler_get_stats(const struct handler *h, struct handler_stats *ret_stats)
{
    struct handler_stats stats = { 0 };
    handler_stats_add(&stats, &h->stats);
    *ret_stats = stats;
}
