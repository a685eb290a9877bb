/* Event counters and their rates.
 *
 * Threads: any counts, in a block that only it writes.  The list of blocks, the registry, the retired total and the
 * history are under a lock of rank LOG, a leaf; counter_tick() and counter_show() hold it while they sum, which delays
 * nobody but a thread that starts or ends.  A counter names itself before main(), from a constructor.
 *
 * A thread that we did not start (liburcu's call_rcu) gets its block at its first count, and a destructor of
 * thread-specific data retires it.
 *
 * History: every 5 seconds the events since the last tick go to a ring of 12, every minute their sum to a ring of 60.
 * A row shows the last tick, the sum of the last twelve, and the sum of the hour. */
#include <config.h>

#include "lib/base/counter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/lock.h"
#include "lib/base/util.h"

#define TICK_SECONDS 5
#define MINUTE_TICKS (60 / TICK_SECONDS)
#define HOUR_MINUTES 60

struct thread_block {
    struct counter_block block; /* First: counter_tls points here. */
    struct thread_block *next, **prev;
};

struct history {
    uint64_t last_total;           /* At the last tick. */
    uint64_t minute[MINUTE_TICKS]; /* Events of each of the last ticks. */
    uint64_t hour[HOUR_MINUTES];   /* Events of each of the last minutes. */
};

_Thread_local struct counter_block *counter_tls;

static struct lock registry_lock = LOCK_INITIALIZER(RANK_LOG);
static const struct counter *registry[COUNTERS_MAX] GUARDED_BY(registry_lock);
static unsigned int n_counters GUARDED_BY(registry_lock);
static struct thread_block *blocks GUARDED_BY(registry_lock);
static uint64_t retired[COUNTERS_MAX] GUARDED_BY(registry_lock);
static struct history history[COUNTERS_MAX] GUARDED_BY(registry_lock);
static unsigned int n_ticks GUARDED_BY(registry_lock);

static pthread_key_t exit_key;

static void retire(void *block_)
{
    struct thread_block *b = block_;

    lock_acquire(&registry_lock);
    *b->prev = b->next;
    if (b->next) {
        b->next->prev = b->prev;
    }
    for (unsigned int i = 0; i < n_counters; i++) {
        retired[i] += b->block.v[i];
    }
    lock_release(&registry_lock);
    free(b);
}

static void make_key(void)
{
    int error = pthread_key_create(&exit_key, retire);

    if (error) {
        fatal(error, "cannot make thread-specific data for counters");
    }
}

/* Called by COUNTER_DEFINE before main().  Two files may define the same name: rows of coverage/show are then two. */
void counter_register(struct counter *c)
{
    lock_acquire(&registry_lock);
    bool full = n_counters >= COUNTERS_MAX;
    if (!full) {
        c->index = n_counters;
        registry[n_counters++] = c;
    }
    lock_release(&registry_lock);
    if (full) {
        fatal(0, "more than %d counters: raise COUNTERS_MAX", COUNTERS_MAX);
    }
}

/* Makes the calling thread's block, unless it has one, and returns it. */
struct counter_block *counter_thread_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (counter_tls) {
        return counter_tls;
    }
    pthread_once(&once, make_key);
    struct thread_block *b = xaligned_zalloc(CACHE_LINE, ROUND_UP(sizeof *b, CACHE_LINE));
    lock_acquire(&registry_lock);
    b->next = blocks;
    b->prev = &blocks;
    if (b->next) {
        b->next->prev = &b->next;
    }
    blocks = b;
    lock_release(&registry_lock);
    counter_tls = &b->block;
    pthread_setspecific(exit_key, b);
    return counter_tls;
}

/* Folds the calling thread's block into the retired total.  A later count makes a new one. */
void counter_thread_end(void)
{
    if (counter_tls) {
        struct thread_block *b = CONTAINER_OF(counter_tls, struct thread_block, block);

        counter_tls = NULL;
        pthread_setspecific(exit_key, NULL);
        retire(b);
    }
}

static uint64_t total(unsigned int index) REQUIRES(registry_lock)
{
    uint64_t sum = retired[index];

    for (const struct thread_block *b = blocks; b; b = b->next) {
        sum += __atomic_load_n(&b->block.v[index], __ATOMIC_RELAXED);
    }
    return sum;
}

static uint64_t sum_of(const uint64_t *v, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += v[i];
    }
    return sum;
}

/* See counter.h. */
void counter_tick(void)
{
    lock_acquire(&registry_lock);
    unsigned int slot = n_ticks % MINUTE_TICKS;
    unsigned int minute = n_ticks / MINUTE_TICKS % HOUR_MINUTES;
    for (unsigned int i = 0; i < n_counters; i++) {
        struct history *h = &history[i];
        uint64_t now = total(i);

        h->minute[slot] = now - h->last_total;
        h->last_total = now;
        /* The minute under way counts too: an hour's rate must not lag behind a minute's. */
        h->hour[minute] = slot ? h->hour[minute] + h->minute[slot] : h->minute[slot];
    }
    n_ticks++;
    lock_release(&registry_lock);
}

/* Prints COUNTER's row, unless it is 0.  Returns whether it did. */
static bool show_row(FILE *out, unsigned int index) REQUIRES(registry_lock)
{
    const struct history *h = &history[index];
    uint64_t sum = total(index);

    if (!sum) {
        return false;
    }
    unsigned int last = (n_ticks + MINUTE_TICKS - 1) % MINUTE_TICKS;
    fprintf(out, "%-24s %5.1f/sec %9.3f/sec %13.4f/sec   total: %" PRIu64 "\n", registry[index]->name,
            (double) h->minute[last] / TICK_SECONDS, (double) sum_of(h->minute, MINUTE_TICKS) / 60,
            (double) sum_of(h->hour, HOUR_MINUTES) / 3600, sum);
    return true;
}

/* A number by which two outputs that show about the same can be told from others: over the names and magnitudes. */
static uint32_t fingerprint(void) REQUIRES(registry_lock)
{
    uint64_t h = 0;

    for (unsigned int i = 0; i < n_counters; i++) {
        uint64_t sum = total(i);
        int magnitude = sum ? 64 - __builtin_clzll(sum) : 0;
        h ^= hash_bytes(registry[i]->name, strlen(registry[i]->name), (uint64_t) magnitude);
    }
    return (uint32_t) (h ^ h >> 32);
}

/* See counter.h.  Rows are in the order of registration. */
char *counter_show(void)
{
    struct text t;
    FILE *out = text_open(&t);
    unsigned int n_zero = 0;

    lock_acquire(&registry_lock);
    fprintf(out, "Event coverage, avg rate over last: %d seconds, last minute, last hour,  hash=%08" PRIx32 ":\n",
            TICK_SECONDS, fingerprint());
    for (unsigned int i = 0; i < n_counters; i++) {
        if (!show_row(out, i)) {
            n_zero++;
        }
    }
    lock_release(&registry_lock);
    fprintf(out, "%u events never hit\n", n_zero);
    return text_close(&t);
}

/* See counter.h. */
bool counter_read(const char *name, uint64_t *ret_total)
{
    bool found = false;
    uint64_t sum = 0;

    lock_acquire(&registry_lock);
    for (unsigned int i = 0; i < n_counters; i++) {
        if (!strcmp(registry[i]->name, name)) {
            sum += total(i);
            found = true;
        }
    }
    lock_release(&registry_lock);
    if (found) {
        *ret_total = sum;
    }
    return found;
}
