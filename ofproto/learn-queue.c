/* See learn-queue.h. */
#include <config.h>

#include "ofproto/learn-queue.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/util.h"

COUNTER_DEFINE(learn_posted);
COUNTER_DEFINE(learn_queue_full);
COUNTER_DEFINE(learn_late);

/* The C library has no name for it.  Returning early, for whatever reason, does no harm: who calls looks again. */
static void futex(int32_t *word, int op, int32_t value, const struct timespec *timeout) { syscall(SYS_futex, word, op, value, timeout, NULL, 0); }

void learn_queue_init(struct learn_queue *q)
{
    memset(q, 0, sizeof *q);
    __cds_wfcq_init(&q->head, &q->tail);
    q->wakeup.fd = -1;
}

void learn_queue_uninit(struct learn_queue *q)
{
    struct learn_entry *e;

    while ((e = learn_queue_take(q)) != NULL) {
        learn_entry_free(e);
    }
    if (q->wakeup.fd >= 0) {
        wakeup_uninit(&q->wakeup);
    }
}

int learn_queue_serve(struct learn_queue *q)
{
    int error = q->wakeup.fd < 0 ? wakeup_init(&q->wakeup) : 0;

    if (!error) {
        __atomic_store_n(&q->served, true, __ATOMIC_RELEASE);
    }
    return error;
}

void learn_queue_close(struct learn_queue *q) { __atomic_store_n(&q->served, false, __ATOMIC_RELAXED); }

/* The number is taken after the entry is in the queue, and main reads how many there have been before it empties that: so when 'done' has
 * come to a ticket, its entry has been taken. */
bool learn_queue_post(struct learn_queue *q, const struct lesson *l, uint32_t *ret_ticket)
{
    if (!__atomic_load_n(&q->served, __ATOMIC_ACQUIRE) || !rule_try_ref(l->rule)) {
        return false;
    }
    if (__atomic_add_fetch(&q->n, 1, __ATOMIC_RELAXED) > LEARN_QUEUE_MAX) {
        __atomic_sub_fetch(&q->n, 1, __ATOMIC_RELAXED);
        rule_unref(l->rule);
        COUNTER_INC(learn_queue_full);
        return false;
    }
    struct learn_entry *e = xmalloc(sizeof *e);
    e->lesson = xmemdup(l, l->len);
    cds_wfcq_node_init(&e->node);
    cds_wfcq_enqueue(&q->head, &q->tail, &e->node);
    *ret_ticket = __atomic_add_fetch(&q->posted, 1, __ATOMIC_RELEASE);
    COUNTER_INC(learn_posted);
    return true;
}

void learn_queue_wake(struct learn_queue *q) { wakeup_set(&q->wakeup); }

static bool is_done(const struct learn_queue *q, uint32_t ticket, int32_t *ret_done)
{
    *ret_done = __atomic_load_n(&q->done, __ATOMIC_ACQUIRE);
    return (int32_t) ((uint32_t) *ret_done - ticket) >= 0;
}

void learn_queue_wait(struct learn_queue *q, uint32_t ticket, uint64_t deadline)
{
    int32_t done;

    if (!is_done(q, __atomic_load_n(&q->gave_up, __ATOMIC_RELAXED), &done)) {
        COUNTER_INC(learn_late);
        return; /* Main is busy with something long. */
    }
    while (!is_done(q, ticket, &done)) {
        uint64_t now = clock_nsec();
        if (now >= deadline) {
            __atomic_store_n(&q->gave_up, ticket, __ATOMIC_RELAXED);
            COUNTER_INC(learn_late);
            return;
        }
        const struct timespec left = { .tv_nsec = deadline - now };
        futex(&q->done, FUTEX_WAIT_PRIVATE, done, &left);
    }
}

uint32_t learn_queue_begin(struct learn_queue *q) { return __atomic_load_n(&q->posted, __ATOMIC_ACQUIRE); }

struct learn_entry *learn_queue_take(struct learn_queue *q)
{
    struct cds_wfcq_node *node = __cds_wfcq_dequeue_blocking(&q->head, &q->tail);

    if (!node) {
        return NULL;
    }
    __atomic_sub_fetch(&q->n, 1, __ATOMIC_RELAXED);
    return CONTAINER_OF(node, struct learn_entry, node);
}

void learn_entry_free(struct learn_entry *e)
{
    rule_unref(e->lesson->rule);
    free(e->lesson);
    free(e);
}

void learn_queue_done(struct learn_queue *q, uint32_t begun)
{
    __atomic_store_n(&q->done, (int32_t) begun, __ATOMIC_RELEASE);
    futex(&q->done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}
