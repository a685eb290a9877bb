/* See handler.h. */
#include <config.h>

#include "ofproto/handler.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dispatch.h"
#include "lib/dpif/session-pool.h"
#include "lib/io/thread.h"
#include "ofproto/handler-private.h"
#include "ofproto/port-ledger.h"

LOG_MODULE(handler);

/* Channels taken from one wait. */
#define N_READY 64
/* Messages taken from one channel in one pass: a little more than the largest queue holds (8 MiB, 1,280 bytes a small upcall), so that it
 * is empty afterwards, and what is dropped is dropped by us, from the lane that causes it; but a channel that is filled as fast as we
 * read must not keep us. */
#define DRAIN_MAX 8192
/* Batches of up to this many upcalls are timed, and of the others one in TIMED_EVERY: readings that a full batch would hardly
 * notice are what most of a lone packet's time is made of, and that is what they are to tell. */
#define TIMED_SMALL 8
#define TIMED_EVERY 16
/* When the daemon exits: longest that a handler serves what it has read.  Init scripts kill after eight seconds (ovs-ctl stop), and then
 * nothing is done at all; the packets of a backlog that takes longer are not worth that. */
#define EXIT_MS 4000

int handler_create(struct flowcache *fc, struct dispatch *dispatch, struct crew *crew, unsigned int id,
                   struct handler **ret_handler)
{
    struct handler *h = xaligned_zalloc(CACHE_LINE, sizeof *h);

    h->fc = fc;
    h->dispatch = dispatch;
    h->id = id;
    __cds_wfcq_init(&h->inbox_head, &h->inbox_tail);
    int error = session_pool_join(crew->sessions);
    if (error) {
        goto err_free;
    }
    error = rxbuf_init(&h->rx);
    if (error) {
        goto err_session;
    }
    error = sched_init(&h->sched, h, &fc->limits);
    if (error) {
        goto err_rx;
    }
    upcall_batch_init(&h->batch, fc, crew->sessions, id, &h->stats.upcalls);
    h->crew = crew_ref(crew);
    __atomic_store_n(&crew->members[id], h, __ATOMIC_RELEASE);
    *ret_handler = h;
    return 0;

err_rx:
    rxbuf_uninit(&h->rx);
err_session:
    session_pool_leave(crew->sessions);
err_free:
    free(h);
    return error;
}

/* ---- Messages. ---- */

void handler_send(struct handler *h, enum handler_message_type type, odp_port_t gone, struct lane *lane)
{
    struct handler_message *m = xmalloc(sizeof *m);
    *m = (struct handler_message) { .type = type, .gone = gone, .lane = lane };
    cds_wfcq_node_init(&m->node);
    cds_wfcq_enqueue(&h->inbox_head, &h->inbox_tail, &m->node);
}

bool handler_port_gone(struct handler *h, odp_port_t no)
{
    /* It is woken, so that one that sleeps for days collects no messages; if there is nothing to forget it may sleep on. */
    bool has = sched_has_port(&h->sched, no);
    if (has) {
        handler_send(h, MESSAGE_GONE, no, NULL);
        dispatch_wake(h->dispatch, h->id);
    }
    return has;
}

static void guests_add(struct handler *h, struct lane *chain)
{
    h->n_outstanding--;
    COUNT(h, helps_given);
    for (struct lane *next; chain; chain = next) {
        next = chain->next;
        chain->next = h->guests;
        h->guests = chain;
    }
}

void handler_inbox_run(struct handler *h)
{
    struct cds_wfcq_node *node;
    while ((node = __cds_wfcq_dequeue_nonblocking(&h->inbox_head, &h->inbox_tail)) != NULL &&
           node != CDS_WFCQ_WOULDBLOCK) {
        struct handler_message *m = CONTAINER_OF(node, struct handler_message, node);
        switch (m->type) {
        case MESSAGE_GONE:
            sched_port_gone(&h->sched, m->gone);
            break;
        case MESSAGE_LENT:
            guests_add(h, m->lane);
            break;
        case MESSAGE_BACK:
            /* What was served of it is in 'returned' by now. */
            sched_collect(&h->sched);
            sched_take_back(&h->sched, m->lane);
            break;
        }
        free(m);
    }
    if (unlikely(h->sched.n_lent)) {
        sched_collect(&h->sched);
    }
}

/* ---- One pass. ---- */

/* Sorts what has been received into lanes. */
static void sort(struct handler *h, uint64_t arrived)
{
    struct upcall_stats *stats = &h->stats.upcalls;

    UPCALL_COUNT(stats, received, h->rx.n);
    for (unsigned int i = 0; i < h->rx.n; i++) {
        struct dpif_upcall u;
        size_t len;
        const void *msg = rxbuf_msg(&h->rx, i, &len);
        int error = dpif_upcall_parse(h->fc->dpif, msg, len, &u);
        if (unlikely(error)) {
            UPCALL_COUNT(stats, malformed, 1);
            log_info_rl(6, "dropped a message of %zu bytes on an upcall channel (%s)", len, strerror(-error));
        } else {
            sched_add(&h->sched, &u, msg, len, arrived); /* It counts what it drops. */
        }
    }
    h->rx.n = 0;
}

/* Reads CH empty, within bounds.  A receive that fills the buffer may have left something, any other has not: so it takes no
 * further system call to know. */
static unsigned int drain(struct handler *h, struct channel *ch, uint64_t arrived)
{
    unsigned int n, total = 0;
    do {
        n = channel_recv(ch, &h->rx);
        total += n;
        sort(h, arrived);
        COUNT(h, drains);
    } while (n == N_RX && total < DRAIN_MAX);
    return total;
}

/* CELLS, of which the first N_OWN are our own, have been served: T[0] to T[1] they were translated, to T[2] installed and sent. */
static void finish_cells(struct handler *h, struct cell *cells[], unsigned int n_own, unsigned int n,
                         const uint64_t t[3], bool timed)
{
    for (unsigned int i = 0; i < n; i++) {
        struct cell *c = cells[i];
        c->waited = t[0] - MIN(t[0], c->arrived);
        c->timed = timed;
        c->translate = t[1] - t[0];
        c->install = t[2] - t[1];
        histogram_record(&h->stats.wait, c->waited);
    }
    if (timed) {
        histogram_record(&h->stats.translate, t[1] - t[0]);
        histogram_record(&h->stats.install, t[2] - t[1]);
        uint64_t one = (t[2] - t[0]) / n;
        h->service_ns = h->service_ns ? (7 * h->service_ns + one) / 8 : one;
    }
    sched_done(&h->sched, cells, n_own);
    for (unsigned int i = n_own; i < n; i++) {
        cell_give_back(cells[i]);
    }
}

/* Carries one batch through the pipeline: our own upcalls, and guests' if there is room.  NOW: ns.  Returns how many it had. */
static unsigned int serve(struct handler *h, uint64_t now)
{
    struct upcall_batch *b = &h->batch;
    struct cell *cells[UPCALL_BATCH];
    uint64_t t[3] = { now };

    unsigned int n_own = sched_take(&h->sched, cells, UPCALL_BATCH), n = n_own;
    if (unlikely(h->guests)) {
        n += handler_take_guests(h, &cells[n], UPCALL_BATCH - n);
        h->crowded = n_own > UPCALL_BATCH / 2;
        histogram_bump(&h->stats.guests_served, n - n_own);
    }
    if (!n) {
        return 0;
    }
    bool timed = n <= TIMED_SMALL || h->stats.batches % TIMED_EVERY == 0;
    upcall_batch_begin(b, now);
    upcall_parse(b, cells, n);
    upcall_translate(b);
    upcall_learn(b);
    t[1] = timed ? clock_nsec() : 0;
    upcall_install(b);
    upcall_operate(b);
    upcall_account(b);
    t[2] = timed ? clock_nsec() : 0;
    upcall_batch_end(b);
    finish_cells(h, cells, n_own, n, t, timed);
    h->done = t[2];
    COUNT(h, batches);
    return n;
}

static void note_pass(struct handler *h, uint64_t now)
{
    COUNT(h, passes);
    if (h->looked) {
        histogram_record(&h->stats.absence, now - h->looked);
    }
    h->looked = now;
    if (h->sched.n > h->stats.most_waiting) {
        __atomic_store_n(&h->stats.most_waiting, h->sched.n, __ATOMIC_RELAXED);
    }
}

/* Nothing waits any more: from now on the channels are looked at again, since an upcall ends the sleep.  The clock is read only if
 * the last batch was not timed, and so was no small one. */
static void note_rest(struct handler *h)
{
    if (h->served) {
        histogram_record(&h->stats.absence, (h->done ? h->done : clock_nsec()) - h->looked);
        h->served = false;
    }
    h->looked = 0;
}

/* We are to sleep: colleagues may hire us.  Returns false if there is something to do after all. */
static bool fall_asleep(struct handler *h)
{
    sched_idle(&h->sched);
    __atomic_store_n(&h->pass_since, 0, __ATOMIC_RELAXED);
    h->in_idle = true;
    crew_idle(h->crew, h->id);
    return handler_inbox_is_empty(h);
}

static void wake_up(struct handler *h)
{
    if (h->in_idle) {
        h->in_idle = false;
        h->n_outstanding += crew_busy(h->crew, h->id);
    }
}

static bool has_work(const struct handler *h) { return !sched_is_empty(&h->sched) || h->guests; }

unsigned int handler_run_once(struct handler *h, int timeout_ms)
{
    struct channel *ready[N_READY];
    unsigned int taken = 0, served;

    wake_up(h); /* When driven step by step, sleep lasts from one step to the next. */
    handler_inbox_run(h);
    bool sleeps = !has_work(h);
    if (sleeps) {
        note_rest(h);
    }
    if (!sleeps || !fall_asleep(h)) {
        timeout_ms = 0;
    }
    int n = dispatch_wait(h->dispatch, h->id, ready, N_READY, timeout_ms);
    wake_up(h);
    uint64_t now = clock_nsec();
    __atomic_store_n(&h->pass_since, now, __ATOMIC_RELAXED);
    /* What has come while others were served has waited since we last looked, at most. */
    uint64_t arrived = sleeps ? now : h->looked;
    /* Before anything is read: a port that was deleted while we slept may be there again, and then what is read is of the new one. */
    handler_inbox_run(h);
    sched_set_time(&h->sched, now);
    for (int i = 0; i < n; i++) {
        taken += drain(h, ready[i], arrived);
    }
    if (sleeps) {
        COUNT(h, wakeups);
        if (!taken && !has_work(h)) {
            COUNT(h, idle_wakeups);
        }
    }
    note_pass(h, now);
    handler_lend(h);
    if (unlikely(__atomic_load_n(&h->stall, __ATOMIC_RELAXED)) && has_work(h)) {
        handler_stall_if_told(h);
    }
    served = serve(h, now);
    h->served = served > 0;
    handler_return_guests(h, false);
    if (!h->thread && !taken && !served && !has_work(h)) {
        fall_asleep(h);
    }
    return taken + served;
}

/* ---- The thread. ---- */

/* Takes what CH has, and serves all that waits.  When the daemon exits everything is read first: there is a limit of time, and within
 * it the lanes are fair. */
static unsigned int drain_and_serve(struct channel *ch, void *h_)
{
    struct handler *h = h_;
    uint64_t now = clock_nsec();
    sched_set_time(&h->sched, now);
    unsigned int n = drain(h, ch, now);
    while (!h->exiting && serve(h, now)) {
        now = clock_nsec();
    }
    return n;
}

/* The last thing that H does: it gives back what is not its own, serves what it has read and what its channels hold, and waits for what
 * colleagues have of it. */
static void finish(struct handler *h)
{
    wake_up(h);
    __atomic_store_n(&h->recalls, true, __ATOMIC_SEQ_CST);
    cmm_smp_mb(); /* Before we look into the inbox; pairs with the append in give_back(). */
    handler_inbox_run(h);
    handler_return_guests(h, true);
    dispatch_drain(h->dispatch, h->id, drain_and_serve, h);
    uint64_t now = clock_nsec(), deadline = h->exiting ? now + EXIT_MS * 1000000ull : UINT64_MAX;
    for (;; now = clock_nsec()) {
        handler_inbox_run(h);
        handler_return_guests(h, true);
        if (now < deadline && serve(h, now)) {
            continue;
        }
        if (!h->n_outstanding && !h->sched.n_lent) {
            break;
        }
        /* Whoever sends what we wait for wakes us behind it.  Not for ever: another message may hide it for a moment, while it is being
         * appended, and our wakeup has then been used up. */
        dispatch_pause(h->dispatch, h->id, 10);
    }
    if (!sched_is_empty(&h->sched)) {
        log_warn("%u upcalls still waited %d ms after the daemon was told to exit: dropped", h->sched.n, EXIT_MS);
        sched_drop_all(&h->sched);
    }
}

static void handler_main(struct thread *self, void *h_)
{
    struct handler *h = h_;

    while (!thread_stopping(self)) {
        handler_run_once(h, -1);
    }
    finish(h);
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

void handler_stop(struct handler *h, bool exiting)
{
    h->exiting = exiting;
    if (h->thread) {
        thread_stop(h->thread);
    }
}

static void note_port(odp_port_t no, const struct port_stats *stats, void *ledger)
{
    port_ledger_add(ledger, no, stats);
}

void handler_destroy(struct handler *h, struct handler_stats *total, struct port_ledger *ports)
{
    if (!h) {
        return;
    }
    if (h->thread) {
        thread_join(h->thread);
    } else {
        finish(h);
    }
    /* A colleague that has just sent us something may be about to wake us. */
    synchronize_rcu();
    handler_inbox_run(h);
    sched_collect(&h->sched);
    struct handler_stats stats;
    handler_get_stats(h, &stats);
    handler_stats_add(total, &stats);
    handler_show_ports(h, note_port, ports);
    upcall_batch_uninit(&h->batch);
    sched_uninit(&h->sched);
    rxbuf_uninit(&h->rx);
    session_pool_leave(h->crew->sessions);
    crew_unref(h->crew);
    free(h);
}

pid_t handler_tid(const struct handler *h) { return h->thread ? thread_tid(h->thread) : 0; }

unsigned int handler_n_away(const struct handler *h)
{
    unsigned int n = h->sched.n_lent + h->n_outstanding;
    for (const struct lane *l = h->guests; l; l = l->next) {
        n++;
    }
    return n;
}

/* ---- What is seen from outside. ---- */

void handler_stats_add(struct handler_stats *to, const struct handler_stats *from)
{
#define ADD(FIELD) to->FIELD += __atomic_load_n(&from->FIELD, __ATOMIC_RELAXED)
    ADD(wakeups);
    ADD(idle_wakeups);
    ADD(passes);
    ADD(batches);
    ADD(drains);
    ADD(stalls);
    ADD(helps_taken);
    ADD(lanes_lent);
    ADD(helps_given);
    ADD(guests_served);
    to->most_waiting = MAX(to->most_waiting, __atomic_load_n(&from->most_waiting, __ATOMIC_RELAXED));
    for (unsigned int i = 0; i < SCHED_N_DROPS; i++) {
        ADD(drops[i]);
    }
#define OUTCOME(NAME, TEXT) ADD(upcalls.NAME);
    UPCALL_OUTCOMES
#undef OUTCOME
#undef ADD
    histogram_add(&to->wait, &from->wait);
    histogram_add(&to->translate, &from->translate);
    histogram_add(&to->install, &from->install);
    histogram_add(&to->absence, &from->absence);
}

void handler_get_stats(const struct handler *h, struct handler_stats *ret_stats)
{
    memset(ret_stats, 0, sizeof *ret_stats);
    handler_stats_add(ret_stats, &h->stats);
    ret_stats->stalls = __atomic_load_n(&h->n_stalls, __ATOMIC_RELAXED);
    for (unsigned int i = 0; i < SCHED_N_DROPS; i++) {
        ret_stats->drops[i] = __atomic_load_n(&h->sched.drops[i], __ATOMIC_RELAXED);
        ret_stats->upcalls.overload += ret_stats->drops[i];
    }
}

void handler_show_ports(const struct handler *h, void (*cb)(odp_port_t, const struct port_stats *, void *aux),
                        void *aux)
{
    rcu_read_lock();
    sched_show_ports(&h->sched, cb, aux);
    rcu_read_unlock();
}
