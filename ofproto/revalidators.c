/* See revalidators.h. */
#include <config.h>

#include "ofproto/revalidators.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"
#include "lib/io/thread.h"
#include "lib/io/wakeup.h"
#include "ofproto/reval-flow.h"

LOG_MODULE(revalidator);

COUNTER_DEFINE(revalidate_round);
COUNTER_DEFINE(revalidate_kick);

#define MAX_REVALIDATORS 256
/* Requests are a small part of what a revalidator does; and those about flows the kernel carries out one by one, whoever makes them. */
#define MAX_SESSIONS 4
/* Between the beginnings of two rounds: at most 200 a second. */
#define ROUND_GAP_MS 5
/* After a round that was long, the next that nobody waits for begins only when the handlers have had as much time as it took, up
 * to this.  A flood of new stations asks for a round with every batch; without a rest the rounds, each longer than the one before
 * because of the flows that the last batch brought, take the CPU from the handlers who bring them. */
#define MAX_REST_MS 500
/* Flows taken from a dump at a time. */
#define CHUNK 64
/* Idle time while there are more flows than the limit. */
#define OVER_LIMIT_IDLE_MS 100

struct revalidator {
    struct revalidators *pool;
    unsigned int id;
    struct thread *thread;
    struct reval reval;
    uint64_t last_keys; /* Atomic: flows looked at in the last round. */
};

struct waiter {
    void (*done)(void *aux);
    void *aux;
    uint64_t round; /* Satisfied when this round has ended. */
    struct waiter *next;
};

struct revalidators {
    struct flowcache *fc;
    struct session_pool *sessions; /* Its users' numbers are the members'. */
    struct wakeup wakeup;          /* The leader sleeps on it. */
    bool requested;       /* Atomic: somebody asked for a round, and the leader has been woken. */
    bool awaited;         /* Atomic: somebody waits for its end. */
    uint64_t rest_ms;     /* The leader's: how long the last round took, within MAX_REST_MS. */

    struct lock lock; /* Rank ROUND.  Guards all that follows. */
    pthread_cond_t cond;
    struct dpif_flow_dump *dump; /* Of the round; NULL between rounds. */
    uint64_t round_seq, round_now;
    uint64_t base_seq;           /* 'round_seq' of the last round that saw all flows. */
    struct dep_set changed;      /* Taken for the round; with what earlier rounds took that did not see all. */
    uint32_t round_max_idle;
    uint64_t round_keys;
    unsigned int n_active;       /* Threads that take from 'dump'. */
    bool dump_ended;             /* Nothing more to take. */
    struct waiter *waiters;
    struct revalidators_stats stats;

    struct revalidator *members[MAX_REVALIDATORS]; /* Changed by main under 'lock'. */
    unsigned int n;
    uint64_t last_begin; /* ms; the leader's. */
    struct ufid *unseen; /* Of the sweep; the leader's. */
    size_t n_unseen, allocated_unseen;
};

void revalidators_kick(struct revalidators *p)
{
    /* Exchanged even if it is set: if the leader finds what we have set here, it sees what the round is asked for; if it was
     * faster, we find it cleared. */
    if (!__atomic_exchange_n(&p->requested, true, __ATOMIC_ACQ_REL)) {
        COUNTER_INC(revalidate_kick);
        wakeup_set(&p->wakeup);
    }
}

void revalidators_wait(struct revalidators *p, void (*done)(void *aux), void *aux)
{
    struct waiter *w = xmalloc(sizeof *w);

    lock_acquire(&p->lock);
    /* The round that goes on now began before this call. */
    *w = (struct waiter) { .done = done, .aux = aux, .round = p->fc->round + 1, .next = p->waiters };
    p->waiters = w;
    lock_release(&p->lock);
    __atomic_store_n(&p->awaited, true, __ATOMIC_RELEASE);
    revalidators_kick(p);
    wakeup_set(&p->wakeup); /* Also if it has been asked before, and rests. */
}

/* Calls those that wait for a round up to ROUND. */
static void waiters_wake(struct revalidators *p, uint64_t round)
{
    struct waiter *due = NULL;

    lock_acquire(&p->lock);
    for (struct waiter **wp = &p->waiters; *wp;) {
        struct waiter *w = *wp;
        if (w->round <= round) {
            *wp = w->next;
            w->next = due;
            due = w;
        } else {
            wp = &w->next;
        }
    }
    lock_release(&p->lock);
    while (due) {
        struct waiter *next = due->next;
        due->done(due->aux);
        free(due);
        due = next;
    }
}

/* ---- A round. ---- */

/* Takes from the dump until there is no more, or SELF is asked to stop (NULL: cannot be).  The caller has counted itself
 * in n_active. */
static void take_part(struct revalidators *p, struct revalidator *v, const struct thread *self)
{
    struct reval *r = &v->reval;
    struct dpif_flow flows[CHUNK];
    uint64_t keys = 0;
    int n = -EINTR;

    r->round = p->fc->round;
    r->seq = p->round_seq;
    r->base = p->base_seq;
    r->changed = &p->changed;
    r->now = p->round_now;
    r->max_idle_ms = p->round_max_idle;
    r->n_checked = r->n_translated = r->n_adopted = 0;
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(p->dump);
    while (!(self && thread_stopping(self)) && (n = dpif_flow_dump_next(t, flows, CHUNK)) > 0) {
        keys += n;
        reval_flows(r, flows, n);
    }
    dpif_flow_dump_thread_destroy(t);
    __atomic_store_n(&v->last_keys, keys, __ATOMIC_RELAXED);

    lock_acquire(&p->lock);
    if (n <= 0 && !(self && thread_stopping(self))) {
        p->dump_ended = true;
    }
    p->round_keys += keys;
    p->stats.checked += r->n_checked;
    p->stats.translated += r->n_translated;
    p->stats.adopted += r->n_adopted;
    p->stats.deleted += r->ops.n_deleted;
    p->stats.modified += r->ops.n_modified;
    r->ops.n_deleted = r->ops.n_modified = 0;
    p->n_active--;
    pthread_cond_broadcast(&p->cond);
    lock_release(&p->lock);
}

static void collect_unseen(struct ukey *u, void *p_)
{
    struct revalidators *p = p_;

    lock_acquire(&u->lock);
    /* A ukey whose put went on while the dump did has the round's number already. */
    bool unseen = (u->state == UKEY_INSTALLED || u->state == UKEY_INCONSISTENT) && u->round < p->fc->round;
    lock_release(&u->lock);
    if (unseen) {
        if (p->n_unseen == p->allocated_unseen) {
            p->allocated_unseen = MAX(64, 2 * p->allocated_unseen);
            p->unseen = xrealloc(p->unseen, p->allocated_unseen * sizeof *p->unseen);
        }
        p->unseen[p->n_unseen++] = u->ufid;
    }
}

/* A dump omits flows that the kernel's table moved meanwhile, so what it did not show is asked for by name. */
static void sweep(struct revalidators *p, struct revalidator *leader)
{
    p->n_unseen = 0;
    ukey_table_walk(p->fc->ukeys, collect_unseen, p);
    reval_unseen(&leader->reval, p->unseen, p->n_unseen);
    if (p->allocated_unseen > 4096) {
        free(p->unseen);
        p->unseen = NULL;
        p->allocated_unseen = 0;
    }
}

/* Begins a round.  Returns false if there is nothing to do one with: no configuration yet, or no dump to be had. */
static bool round_begin(struct revalidators *p)
{
    struct dpif_flow_dump *dump;

    p->last_begin = clock_msec();
    rcu_read_lock();
    bool configured = flowcache_config(p->fc) != NULL;
    rcu_read_unlock();
    if (!configured) {
        return false; /* Everything would look like a packet from an unknown port. */
    }
    int error = dpif_flow_dump_create(p->fc->dpif, true, &dump);
    if (error) {
        log_info_rl(6, "cannot dump the datapath's flows (%s)", strerror(-error));
        return false;
    }

    COUNTER_INC(revalidate_round);
    lock_acquire(&p->lock);
    dep_set_take(&p->changed, &p->fc->changed);
    p->round_seq = flowcache_seq(p->fc); /* Second: see dep.h. */
    p->round_now = p->last_begin;
    uint32_t max_idle = flowcache_limit(&p->fc->max_idle_ms);
    bool over = ukey_table_count(p->fc->ukeys) > flowcache_limit(&p->fc->flow_limit);
    p->round_max_idle = over ? MIN(max_idle, OVER_LIMIT_IDLE_MS) : max_idle;
    p->round_keys = 0;
    p->dump_ended = false;
    p->dump = dump;
    p->n_active = 1; /* The leader. */
    __atomic_store_n(&p->fc->round, p->fc->round + 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&p->cond);
    lock_release(&p->lock);
    return true;
}

static void round_run(struct revalidators *p, struct revalidator *leader, const struct thread *self)
{
    __atomic_store_n(&p->awaited, false, __ATOMIC_RELEASE);
    (void) __atomic_exchange_n(&p->requested, false, __ATOMIC_ACQ_REL); /* Pairs with revalidators_kick(). */
    if (!round_begin(p)) {
        /* There will be none before the datapath can be dumped again, which may be never: nobody is to hang for that. */
        waiters_wake(p, UINT64_MAX);
        return;
    }
    take_part(p, leader, self);

    lock_acquire(&p->lock);
    while (p->n_active) {
        lock_cond_wait(&p->cond, &p->lock);
    }
    struct dpif_flow_dump *dump = p->dump;
    p->dump = NULL;
    bool whole = p->dump_ended;
    lock_release(&p->lock);
    int error = dpif_flow_dump_destroy(dump);
    if (error && error != -EINTR) {
        log_info_rl(6, "dumping the datapath's flows failed (%s)", strerror(-error));
    }
    if (whole && (!error || error == -EINTR)) {
        sweep(p, leader);
        memset(&p->changed, 0, sizeof p->changed);
        p->base_seq = p->round_seq;
    }

    ukey_table_fit(p->fc->ukeys);
    lock_acquire(&p->lock);
    uint64_t n = ukey_table_count(p->fc->ukeys);
    p->stats.n_flows = n;
    p->stats.avg_flows = (p->stats.avg_flows + n) / 2;
    p->stats.max_flows = MAX(p->stats.max_flows, n);
    p->stats.duration_ms = clock_msec() - p->last_begin;
    p->stats.n_rounds++;
    p->rest_ms = MIN(p->stats.duration_ms, MAX_REST_MS);
    uint64_t round = p->fc->round;
    lock_release(&p->lock);
    if (whole) {
        waiters_wake(p, round);
    }
}

/* ---- Threads. ---- */

/* When the next round is to begin, as far as is known now. */
static uint64_t next_due(struct revalidators *p)
{
    if (!__atomic_load_n(&p->requested, __ATOMIC_ACQUIRE)) {
        return p->last_begin + flowcache_limit(&p->fc->max_revalidator_ms);
    }
    bool awaited = __atomic_load_n(&p->awaited, __ATOMIC_ACQUIRE);
    return p->last_begin + (awaited ? ROUND_GAP_MS : MAX(ROUND_GAP_MS, 2 * p->rest_ms));
}

static void leader_main(struct thread *self, void *v_)
{
    struct revalidator *v = v_;
    struct revalidators *p = v->pool;

    while (!thread_stopping(self)) {
        uint64_t now = clock_msec();
        uint64_t due = next_due(p);
        if (now >= due) {
            round_run(p, v, self);
            continue;
        }
        /* Once it has been asked, further askers do not wake it (revalidators_kick()), but who waits does. */
        struct pollfd pfd = { .fd = p->wakeup.fd, .events = POLLIN };
        poll(&pfd, 1, due - now);
        wakeup_clear(&p->wakeup);
    }
}

static void member_main(struct thread *self, void *v_)
{
    struct revalidator *v = v_;
    struct revalidators *p = v->pool;
    uint64_t joined = 0;

    lock_acquire(&p->lock);
    while (!thread_stopping(self)) {
        if (p->dump && !p->dump_ended && joined != p->fc->round) {
            joined = p->fc->round;
            p->n_active++;
            lock_release(&p->lock);
            take_part(p, v, self);
            lock_acquire(&p->lock);
        } else {
            lock_cond_wait(&p->cond, &p->lock);
        }
    }
    lock_release(&p->lock);
}

static void member_wake(void *v_)
{
    struct revalidator *v = v_;
    struct revalidators *p = v->pool;

    if (v->id == 0) {
        wakeup_set(&p->wakeup);
    } else {
        lock_acquire(&p->lock);
        pthread_cond_broadcast(&p->cond);
        lock_release(&p->lock);
    }
}

static int member_add(struct revalidators *p, bool start)
{
    struct revalidator *v = xzalloc(sizeof *v);
    char name[16];

    v->pool = p;
    v->id = p->n;
    int error = reval_init(&v->reval, p->fc, p->sessions, v->id);
    if (error) {
        free(v);
        return error;
    }
    if (start) {
        snprintf(name, sizeof name, "revalidator%u", v->id);
        v->thread = thread_start(name, v->id ? member_main : leader_main, member_wake, v);
        if (!v->thread) {
            reval_uninit(&v->reval);
            free(v);
            return -EAGAIN;
        }
    }
    lock_acquire(&p->lock);
    p->members[p->n++] = v;
    lock_release(&p->lock);
    return 0;
}

static void member_remove(struct revalidators *p)
{
    lock_acquire(&p->lock);
    struct revalidator *v = p->members[--p->n];
    p->members[p->n] = NULL;
    lock_release(&p->lock);
    thread_join(v->thread);
    reval_uninit(&v->reval);
    free(v);
}

int revalidators_create(struct flowcache *fc, struct revalidators **ret_pool)
{
    struct revalidators *p = xzalloc(sizeof *p);
    int error = wakeup_init(&p->wakeup);
    if (error) {
        free(p);
        return error;
    }
    p->fc = fc;
    p->sessions = session_pool_create(fc->dpif, MAX_SESSIONS);
    p->base_seq = 1; /* Above that of flows that are adopted. */
    lock_init(&p->lock, RANK_ROUND);
    lock_cond_init(&p->cond);
    *ret_pool = p;
    return 0;
}

int revalidators_resize(struct revalidators *p, unsigned int n)
{
    int error = 0;
    n = MIN(n, MAX_REVALIDATORS);
    while (p->n > n) {
        member_remove(p);
    }
    while (p->n < n && !error) {
        error = member_add(p, true);
    }
    return error;
}

void revalidators_run_once(struct revalidators *p)
{
    if (!p->n && member_add(p, false)) {
        return;
    }
    round_run(p, p->members[0], NULL);
}

void revalidators_destroy(struct revalidators *p)
{
    if (!p) {
        return;
    }
    while (p->n) {
        member_remove(p);
    }
    waiters_wake(p, UINT64_MAX);
    session_pool_destroy(p->sessions);
    free(p->unseen);
    wakeup_uninit(&p->wakeup);
    pthread_cond_destroy(&p->cond);
    lock_uninit(&p->lock);
    free(p);
}

/* ---- What is seen from outside. ---- */

unsigned int revalidators_n(const struct revalidators *p) { return p->n; }

void revalidators_get_stats(struct revalidators *p, struct revalidators_stats *ret_stats)
{
    lock_acquire(&p->lock);
    *ret_stats = p->stats;
    lock_release(&p->lock);
    ret_stats->n_flows = ukey_table_count(p->fc->ukeys);
}

bool revalidators_thread_stats(struct revalidators *p, unsigned int i, pid_t *ret_tid, uint64_t *ret_keys)
{
    bool found = false;
    lock_acquire(&p->lock);
    if (i < p->n) {
        *ret_tid = p->members[i]->thread ? thread_tid(p->members[i]->thread) : 0;
        *ret_keys = __atomic_load_n(&p->members[i]->last_keys, __ATOMIC_RELAXED);
        found = true;
    }
    lock_release(&p->lock);
    return found;
}
