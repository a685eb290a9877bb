/* See sched.h. */
#include <config.h>

#include "ofproto/sched.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/util.h"

/* Cost of serving an upcall, in bytes: handling one takes about as long whatever its size (translation, two kernel requests), and
 * copying a full frame takes about as long as that again. */
#define UPCALL_COST 1000
/* Eight small upcalls a turn: long enough that a turn's bookkeeping does not show, short enough that a hundred ports have
 * their turn within a few milliseconds. */
#define QUANTUM (8 * (UPCALL_COST + 256))
/* A port's share: this many times what is free. */
#define SHARE 8
/* Control upcalls that may wait, a port; and how many of them are taken in one turn. */
#define CONTROL_MAX 64
#define CONTROL_TURN 4
/* Ports that are looked at for what may be lent. */
#define LEND_PORTS 64

const char *sched_drop_name(enum sched_drop drop)
{
    static const char *const names[] = {
        "kept",
#define DROP(NAME, TEXT) #NAME,
        SCHED_DROPS
#undef DROP
    };
    return names[drop];
}

const char *sched_drop_text(enum sched_drop drop)
{
    static const char *const texts[] = {
        "kept",
#define DROP(NAME, TEXT) TEXT,
        SCHED_DROPS
#undef DROP
    };
    return texts[drop];
}

static uint64_t load(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

void port_stats_add(struct port_stats *to, const struct port_stats *from)
{
    to->received += load(&from->received);
    to->control += load(&from->control);
    for (unsigned int i = 0; i < SCHED_N_DROPS; i++) {
        to->drops[i] += load(&from->drops[i]);
    }
    to->most_waiting = MAX(to->most_waiting, load(&from->most_waiting));
    histogram_add(&to->wait, &from->wait);
    histogram_add(&to->translate, &from->translate);
    histogram_add(&to->install, &from->install);
}

/* ---- Lanes. ---- */

static void lane_init(struct lane *l, struct port_queue *q)
{
    __cds_wfcq_init(&l->head, &l->tail);
    l->queue = q;
}

static void lane_append(struct lane *l, struct cell *c)
{
    l->n_in++;
    cds_wfcq_node_init(&c->node);
    cds_wfcq_enqueue(&l->head, &l->tail, &c->node);
}

bool lane_is_empty(struct lane *l) { return cds_wfcq_empty(&l->head, &l->tail); }

/* The oldest; NULL if there is none, or if the owner is just about to append it. */
static struct cell *lane_pop(struct lane *l)
{
    struct cds_wfcq_node *node = __cds_wfcq_dequeue_nonblocking(&l->head, &l->tail);
    if (!node || node == CDS_WFCQ_WOULDBLOCK) {
        return NULL;
    }
    l->n_out++;
    return CONTAINER_OF(node, struct cell, node);
}

unsigned int lane_take(struct lane *l, struct cell *cells[], unsigned int max)
{
    unsigned int n = 0;
    while (n < max && (cells[n] = lane_pop(l)) != NULL) {
        n++;
    }
    return n;
}

/* How many wait in L, which is here. */
static unsigned int lane_n(const struct lane *l) { return l->n_in - l->n_out; }

/* ---- Ports. ---- */

static void queue_free_rcu(struct rcu_head *head) { free(CONTAINER_OF(head, struct port_queue, rcu)); }
static void queues_free_rcu(struct rcu_head *head) { free(CONTAINER_OF(head, struct port_queues, rcu)); }

/* Makes the table reach NO, with room to grow. */
static void queues_grow(struct sched *s, uint32_t no)
{
    struct port_queues *old = s->queues;
    size_t n = MAX(2 * old->n, ROUND_UP((size_t) no + 1, 64));
    struct port_queues *new = xzalloc(sizeof *new + n * sizeof new->by_port[0]);

    new->n = n;
    memcpy(new->by_port, old->by_port, old->n * sizeof old->by_port[0]);
    rcu_assign_pointer(s->queues, new);
    call_rcu(&old->rcu, queues_free_rcu);
}

static struct port_queue *queue_of_port(struct sched *s, odp_port_t port)
{
    uint32_t no = MIN(port.n, SCHED_PORTS_MAX);

    if (unlikely(no >= s->queues->n)) {
        queues_grow(s, no);
    }
    struct port_queue *q = s->queues->by_port[no];
    if (unlikely(!q)) {
        q = xzalloc(sizeof *q);
        q->port = port;
        q->sched = s;
        lane_init(&q->control, q);
        for (unsigned int i = 0; i < N_SLICES; i++) {
            lane_init(&q->slices[i], q);
        }
        rcu_assign_pointer(s->queues->by_port[no], q);
    }
    return q;
}

static void ring_insert(struct sched *s, struct port_queue *q)
{
    if (!s->ring) {
        q->next = q->prev = q;
        s->ring = q;
    } else { /* Behind all others. */
        q->next = s->ring;
        q->prev = s->ring->prev;
        q->prev->next = q->next->prev = q;
    }
}

static void ring_remove(struct sched *s, struct port_queue *q)
{
    if (q->next == q) {
        s->ring = NULL;
    } else {
        q->next->prev = q->prev;
        q->prev->next = q->next;
        if (s->ring == q) {
            s->ring = q->next;
        }
    }
    q->next = q->prev = NULL;
    q->deficit = 0;
}

static void control_push(struct sched *s, struct port_queue *q)
{
    q->next_control = NULL;
    *s->control_last = q;
    s->control_last = &q->next_control;
}

static struct port_queue *control_pop(struct sched *s)
{
    struct port_queue *q = s->control_first;
    s->control_first = q->next_control;
    if (!s->control_first) {
        s->control_last = &s->control_first;
    }
    return q;
}

/* For a port that goes: the list is as long as there are ports with control upcalls waiting. */
static void control_remove(struct sched *s, struct port_queue *q)
{
    struct port_queue **p = &s->control_first;
    while (*p != q) {
        p = &(*p)->next_control;
    }
    *p = q->next_control;
    if (!*p) {
        s->control_last = p;
    }
}

/* ---- Coming in. ---- */

/* Whether one more upcall of LEN may wait in Q.  Control upcalls are compared with each other only: a port whose ordinary
 * upcalls fill its share, or have used up its rate, shall not lose its LACP and BFD, and with them its link.  The rate comes
 * last, so that what is dropped for its size in memory uses up nothing of it. */
static enum sched_drop admit(const struct sched *s, const struct port_queue *q, bool control, size_t len)
{
    size_t size = cell_size(len), has = control ? q->n_control * size : q->bytes;

    if (control && q->n_control >= CONTROL_MAX) {
        return SCHED_DROP_control;
    }
    if (has + size > SHARE * cell_pool_room(&s->pool, len)) {
        return SCHED_DROP_share;
    }
    if (unlikely(port_limits_any(s->limits)) && !control && !port_limits_take(s->limits, q->port, s->now)) {
        return SCHED_DROP_rate;
    }
    return SCHED_KEPT;
}

static const void *moved(const void *p, const void *from, const void *to)
{
    return p ? (const char *) to + ((const char *) p - (const char *) from) : NULL;
}

static void cell_fill(struct cell *c, const struct dpif_upcall *u, const void *msg, size_t len)
{
    memcpy(c->msg, msg, len);
    c->dp = *u;
    c->dp.packet = moved(u->packet, msg, c->msg);
    c->dp.key = moved(u->key, msg, c->msg);
    c->dp.userdata = moved(u->userdata, msg, c->msg);
    c->dp.egress_tun_key = moved(u->egress_tun_key, msg, c->msg);
}

static void count(uint64_t *p) { histogram_bump(p, 1); }

static void count_drop(struct sched *s, struct port_queue *q, enum sched_drop drop)
{
    count(&q->stats.drops[drop]);
    count(&s->drops[drop]);
}

/* SLICE of Q is here, and not empty. */
static void ready(struct sched *s, struct port_queue *q, unsigned int slice)
{
    if (!q->ready) {
        ring_insert(s, q);
    }
    q->ready |= 1u << slice;
}

static void put_into_lane(struct sched *s, struct port_queue *q, struct cell *c, const struct upcall_peek *peek)
{
    if (peek->control) {
        lane_append(&q->control, c);
        if (!q->n_control++) {
            control_push(s, q);
        }
        count(&q->stats.control);
    } else {
        unsigned int slice = peek->flow_hash % N_SLICES;
        lane_append(&q->slices[slice], c);
        if (q->lent & 1u << slice) {
            return; /* Its server sees it, or gives the lane back, and the inbox is looked into before any sleep. */
        }
        q->n++;
        ready(s, q, slice);
    }
    s->n++;
    if (q->n + q->n_control > q->stats.most_waiting) {
        __atomic_store_n(&q->stats.most_waiting, q->n + q->n_control, __ATOMIC_RELAXED);
    }
}

enum sched_drop sched_add(struct sched *s, const struct dpif_upcall *u, const void *msg, size_t len, uint64_t arrived)
{
    struct upcall_peek peek = upcall_peek(u->key, u->key_len);
    struct port_queue *q = queue_of_port(s, peek.port);
    struct cell *c = NULL;

    q->gone = false; /* The number is in use again. */
    count(&q->stats.received);
    enum sched_drop drop = admit(s, q, peek.control, len);
    if (likely(drop == SCHED_KEPT)) {
        c = cell_alloc(&s->pool, len);
        drop = c ? SCHED_KEPT : SCHED_DROP_memory;
    }
    if (unlikely(!c)) {
        count_drop(s, q, drop);
        return drop;
    }
    cell_fill(c, u, msg, len);
    c->queue = q;
    c->arrived = arrived;
    q->bytes += c->size;
    put_into_lane(s, q, c, &peek);
    return SCHED_KEPT;
}

/* ---- Going out. ---- */

static unsigned int take_control(struct sched *s, struct cell *cells[], unsigned int max)
{
    unsigned int n = 0;
    while (s->control_first && n < max) {
        struct port_queue *q = control_pop(s);
        for (unsigned int turn = 0; turn < CONTROL_TURN && q->n_control && n < max; turn++) {
            cells[n++] = lane_pop(&q->control);
            q->n_control--;
        }
        if (q->n_control) {
            control_push(s, q);
        }
    }
    return n;
}

/* The next upcall of Q, whose slices take turns. */
static struct cell *queue_pop(struct port_queue *q)
{
    unsigned int turned = q->ready >> q->next_slice | q->ready << (N_SLICES - q->next_slice);
    unsigned int slice = (q->next_slice + __builtin_ctz(turned)) % N_SLICES;
    struct lane *l = &q->slices[slice];
    struct cell *c = lane_pop(l);

    q->next_slice = (slice + 1) % N_SLICES;
    q->n--;
    if (lane_is_empty(l)) {
        q->ready &= ~(1u << slice);
    }
    return c;
}

static unsigned int take_ordinary(struct sched *s, struct cell *cells[], unsigned int max)
{
    unsigned int n = 0;
    while (s->ring && n < max) {
        struct port_queue *q = s->ring;
        if (q->deficit <= 0) {
            q->deficit += QUANTUM;
        }
        while (q->ready && q->deficit > 0 && n < max) {
            struct cell *c = queue_pop(q);
            q->deficit -= UPCALL_COST + c->len;
            cells[n++] = c;
        }
        if (!q->ready) {
            ring_remove(s, q);
        } else if (q->deficit <= 0) {
            s->ring = q->next;
        }
    }
    return n;
}

unsigned int sched_take(struct sched *s, struct cell *cells[], unsigned int max)
{
    unsigned int n = take_control(s, cells, s->ring ? max / 2 : max);
    n += take_ordinary(s, &cells[n], max - n);
    s->n -= n;
    return n;
}

static void forget_if_over(struct sched *s, struct port_queue *q)
{
    if (q->gone && !q->bytes && !q->lent) {
        rcu_assign_pointer(s->queues->by_port[MIN(q->port.n, SCHED_PORTS_MAX)], NULL);
        call_rcu(&q->rcu, queue_free_rcu);
    }
}

static void done(struct sched *s, struct cell *c)
{
    struct port_queue *q = c->queue;

    histogram_record(&q->stats.wait, c->waited);
    if (c->timed) {
        histogram_record(&q->stats.translate, c->translate);
        histogram_record(&q->stats.install, c->install);
    }
    q->bytes -= c->size;
    cell_free(&s->pool, c);
    forget_if_over(s, q);
}

void sched_done(struct sched *s, struct cell *cells[], unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        done(s, cells[i]);
    }
}

/* ---- Ports that go. ---- */

static void drop_waiting(struct sched *s, struct port_queue *q, struct cell *c, enum sched_drop why)
{
    count_drop(s, q, why);
    q->bytes -= c->size;
    cell_free(&s->pool, c);
    s->n--;
}

/* All that waits here.  What is lent is served, whatever the reason (of a port that has gone it finds no port). */
static void drop_all(struct sched *s, struct port_queue *q, enum sched_drop why)
{
    while (q->ready) {
        drop_waiting(s, q, queue_pop(q), why);
    }
    if (q->next) {
        ring_remove(s, q);
    }
    if (q->n_control) {
        control_remove(s, q);
    }
    while (q->n_control) {
        q->n_control--;
        drop_waiting(s, q, lane_pop(&q->control), why);
    }
}

void sched_drop_all(struct sched *s)
{
    for (size_t i = 0; i < s->queues->n; i++) {
        if (s->queues->by_port[i]) {
            drop_all(s, s->queues->by_port[i], SCHED_DROP_exit);
        }
    }
}

void sched_port_gone(struct sched *s, odp_port_t no)
{
    struct port_queue *q = no.n < s->queues->n ? s->queues->by_port[no.n] : NULL;
    if (q) {
        q->gone = true;
        drop_all(s, q, SCHED_DROP_port_gone);
        forget_if_over(s, q);
    }
}

/* ---- Lending. ---- */

void cell_give_back(struct cell *c)
{
    struct sched *s = c->queue->sched;
    cds_wfcq_node_init(&c->node);
    cds_wfcq_enqueue(&s->returned_head, &s->returned_tail, &c->node);
}

void sched_collect(struct sched *s)
{
    struct cds_wfcq_node *node;
    while ((node = __cds_wfcq_dequeue_nonblocking(&s->returned_head, &s->returned_tail)) != NULL &&
           node != CDS_WFCQ_WOULDBLOCK) {
        done(s, CONTAINER_OF(node, struct cell, node));
    }
}

static void lend(struct sched *s, struct port_queue *q, unsigned int slice, struct lane **chain)
{
    struct lane *l = &q->slices[slice];

    q->ready &= ~(1u << slice);
    q->lent |= 1u << slice;
    q->n -= lane_n(l);
    s->n -= lane_n(l);
    s->n_lent++;
    l->next = *chain;
    *chain = l;
    if (!q->ready) {
        ring_remove(s, q);
    }
}

struct lane *sched_lend(struct sched *s, unsigned int want, unsigned int least)
{
    struct lane *chain = NULL;

    /* Whose turn it is stays as it is: taking turns here, too, is no round robin any more. */
    struct port_queue *q = s->ring, *last = q ? q->prev : NULL, *next;
    for (unsigned int turn = 0; q && turn < LEND_PORTS; turn++, q = next) {
        next = q == last ? NULL : q->next;
        for (unsigned int slice = 0; slice < N_SLICES && q->ready; slice++) {
            unsigned int n = q->ready & 1u << slice ? lane_n(&q->slices[slice]) : 0;
            /* Not the crumbs: moving them costs more than serving them.  And not what is much more than is wanted: a lone flow is best
             * served where it is. */
            if (n >= least && n / 2 < want) {
                lend(s, q, slice, &chain);
                want -= MIN(n, want);
            }
        }
    }
    return chain;
}

void sched_take_back(struct sched *s, struct lane *l)
{
    struct port_queue *q = l->queue;
    unsigned int slice = l - q->slices;

    s->n_lent--;
    q->lent &= ~(1u << slice);
    if (lane_n(l)) {
        q->n += lane_n(l);
        s->n += lane_n(l);
        ready(s, q, slice);
    }
    if (q->gone) {
        drop_all(s, q, SCHED_DROP_port_gone);
    }
    forget_if_over(s, q);
}

/* ---- The whole. ---- */

bool sched_has_port(const struct sched *s, odp_port_t no)
{
    rcu_read_lock();
    const struct port_queues *queues = rcu_dereference(s->queues);
    bool has = no.n < queues->n && rcu_dereference(queues->by_port[no.n]);
    rcu_read_unlock();
    return has;
}

int sched_init(struct sched *s, void *owner, const struct port_limits *limits)
{
    memset(s, 0, sizeof *s);
    s->owner = owner;
    s->limits = limits;
    __cds_wfcq_init(&s->returned_head, &s->returned_tail);
    int error = cell_pool_init(&s->pool, CELL_POOL_SIZE);
    if (!error) {
        s->queues = xzalloc(sizeof *s->queues);
        s->control_last = &s->control_first;
    }
    return error;
}

void sched_uninit(struct sched *s)
{
    if (!s->queues) {
        return;
    }
    for (size_t i = 0; i < s->queues->n; i++) {
        if (s->queues->by_port[i]) {
            call_rcu(&s->queues->by_port[i]->rcu, queue_free_rcu);
        }
    }
    call_rcu(&s->queues->rcu, queues_free_rcu);
    cell_pool_uninit(&s->pool);
}

void sched_show_ports(const struct sched *s, void (*cb)(odp_port_t, const struct port_stats *, void *aux), void *aux)
{
    const struct port_queues *queues = rcu_dereference(s->queues);
    for (size_t i = 0; i < queues->n; i++) {
        const struct port_queue *q = rcu_dereference(queues->by_port[i]);
        if (q) {
            cb(q->port, &q->stats, aux);
        }
    }
}
