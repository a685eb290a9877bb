/* See pin.h. */
#include <config.h>

#include "ofproto/pin.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "ofproto/upcall-peek.h"

/* Of the inbox: some seconds of what a controller takes, and no more than would be stale by then. */
#define INBOX_MAX 4096
#define INBOX_MAX_BYTES (4 * 1024 * 1024)
/* Ports are numbered below this (DP_MAX_PORTS of the kernel); what says otherwise is counted together, in the last place. */
#define COUNTS_MAX UINT16_MAX

static struct pin *make(odp_port_t port, const struct odp_cookie *cookie, const void *key, size_t key_len, const void *packet, size_t packet_len)
{
    size_t key_size = ROUND_UP(key_len, 4);
    struct pin *p = xmalloc(sizeof *p + key_size + packet_len + cookie->userdata.n);
    uint8_t *data = (uint8_t *) p->data;

    *p = (struct pin) { .port = port, .cookie = *cookie, .packet = data + key_size, .packet_len = packet_len,
                        .key = (const struct nlattr *) data, .key_len = key_len };
    memcpy(data, key, key_len);
    memcpy(data + key_size, packet, packet_len);
    if (cookie->userdata.p) {
        p->cookie.userdata.p = memcpy(data + key_size + packet_len, cookie->userdata.p, cookie->userdata.n);
    }
    return p;
}

struct pin *pin_create(const struct dpif_upcall *u, const struct odp_cookie *cookie)
{
    return make(upcall_peek(u->key, u->key_len).port, cookie, u->key, u->key_len, u->packet, u->packet_len);
}

struct pin *pin_copy(const struct pin *p) { return make(p->port, &p->cookie, p->key, p->key_len, p->packet, p->packet_len); }

void pin_destroy(struct pin *p) { free(p); }

/* ---- Queues. ---- */

static size_t pin_size(const struct pin *p) { return sizeof *p + p->key_len + p->packet_len + p->cookie.userdata.n; }

static struct pin_lane **find_lane(struct pin_queue *q, odp_port_t port)
{
    struct pin_lane **l = &q->buckets[hash_u64(port.n, 0) % PIN_QUEUE_BUCKETS];

    while (*l && !odp_port_eq((*l)->port, port)) {
        l = &(*l)->hash_next;
    }
    return l;
}

/* At the end of the ring: it has its turn after all others. */
static struct pin_lane *add_lane(struct pin_queue *q, struct pin_lane **where, odp_port_t port)
{
    struct pin_lane *l = xzalloc(sizeof *l);

    l->port = port;
    l->last = &l->first;
    l->next = l->prev = l;
    if (q->turn) {
        l->next = q->turn;
        l->prev = q->turn->prev;
        l->prev->next = l->next->prev = l;
    } else {
        q->turn = l;
    }
    *where = l;
    return l;
}

bool pin_queue_put(struct pin_queue *q, struct pin *p)
{
    size_t size = pin_size(p);
    struct pin_lane **where = find_lane(q, p->port), *l = *where;

    if (q->n >= q->max_n || q->bytes + size > q->max_bytes) {
        return false;
    }
    if (l && (l->n >= 8 * (q->max_n - q->n) || l->bytes >= 8 * (q->max_bytes - q->bytes))) {
        return false;
    }
    l = l ? l : add_lane(q, where, p->port);
    p->next = NULL;
    *l->last = p;
    l->last = &p->next;
    l->n++;
    l->bytes += size;
    q->n++;
    q->bytes += size;
    return true;
}

struct pin *pin_queue_take(struct pin_queue *q)
{
    struct pin_lane *l = q->turn;

    if (!l) {
        return NULL;
    }
    struct pin *p = l->first;
    l->first = p->next;
    p->next = NULL;
    q->n--;
    q->bytes -= pin_size(p);
    l->bytes -= pin_size(p);
    q->turn = l->next;
    if (--l->n) {
        return p;
    }
    l->prev->next = l->next;
    l->next->prev = l->prev;
    q->turn = l->next == l ? NULL : l->next;
    *find_lane(q, l->port) = l->hash_next;
    free(l);
    return p;
}

void pin_queue_uninit(struct pin_queue *q)
{
    struct pin *p;

    while ((p = pin_queue_take(q)) != NULL) {
        pin_destroy(p);
    }
}

/* ---- The inbox. ---- */

void pin_inbox_init(struct pin_inbox *in, void (*wake)(void *aux), void *aux)
{
    memset(in, 0, sizeof *in);
    lock_init(&in->lock, RANK_IO);
    in->queue.max_n = INBOX_MAX;
    in->queue.max_bytes = INBOX_MAX_BYTES;
    in->wake = wake;
    in->aux = aux;
}

void pin_inbox_uninit(struct pin_inbox *in)
{
    pin_queue_uninit(&in->queue);
    for (size_t i = 0; i < in->n_by_port; i++) {
        free(in->by_port[i]);
    }
    free(in->by_port);
    lock_uninit(&in->lock);
}

static struct pin_counts *counts_of(struct pin_inbox *in, odp_port_t port)
{
    size_t i = MIN(port.n, COUNTS_MAX - 1);

    if (i >= in->n_by_port) {
        size_t n = MIN(MAX(i + 1, 2 * in->n_by_port), COUNTS_MAX);
        in->by_port = xrealloc(in->by_port, n * sizeof *in->by_port);
        memset(&in->by_port[in->n_by_port], 0, (n - in->n_by_port) * sizeof *in->by_port);
        in->n_by_port = n;
    }
    if (!in->by_port[i]) {
        in->by_port[i] = xzalloc(sizeof *in->by_port[i]);
        in->by_port[i]->port = port;
    }
    return in->by_port[i];
}

void pin_inbox_put(struct pin_inbox *in, struct pin *list)
{
    struct pin *dropped = NULL, *next;

    lock_acquire(&in->lock);
    for (struct pin *p = list; p; p = next) {
        struct pin_counts *c = counts_of(in, p->port);
        unsigned int reason = p->cookie.reason < OFPR_N_REASONS ? p->cookie.reason : OFPR_ACTION;
        next = p->next;
        c->received[reason]++;
        if (!pin_queue_put(&in->queue, p)) {
            c->dropped[reason]++;
            p->next = dropped;
            dropped = p;
        }
    }
    bool wake = in->queue.n && !in->woken;
    in->woken |= wake;
    lock_release(&in->lock);
    if (wake) {
        in->wake(in->aux);
    }
    for (struct pin *p = dropped; p; p = next) {
        next = p->next;
        pin_destroy(p);
    }
}

struct pin *pin_inbox_take(struct pin_inbox *in, unsigned int max, bool *ret_more)
{
    struct pin *list = NULL, **last = &list;

    lock_acquire(&in->lock);
    while (max-- && (*last = pin_queue_take(&in->queue)) != NULL) {
        last = &(*last)->next;
    }
    *ret_more = in->woken = in->queue.n > 0;
    lock_release(&in->lock);
    return list;
}

void pin_inbox_forget(struct pin_inbox *in, odp_port_t no)
{
    struct pin_counts *gone = NULL;

    lock_acquire(&in->lock);
    if (no.n < in->n_by_port) {
        gone = in->by_port[no.n];
        in->by_port[no.n] = NULL;
    }
    lock_release(&in->lock);
    free(gone);
}

void pin_inbox_show(struct pin_inbox *in, void (*cb)(const struct pin_counts *c, void *aux), void *aux)
{
    bool more = true;

    for (size_t i = 0; more; i++) {
        struct pin_counts copy = { .port = ODPP_NONE };
        bool there = false;
        lock_acquire(&in->lock);
        more = i < in->n_by_port;
        if (more && in->by_port[i]) {
            there = true;
            copy = *in->by_port[i];
        }
        lock_release(&in->lock);
        if (there) {
            cb(&copy, aux);
        }
    }
}
