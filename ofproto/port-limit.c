/* See port-limit.h.
 *
 * Times are in sixteenths of a nanosecond: at ten million upcalls a second one is worth 1600 of them, so that rounding costs at
 * most 0.06% of the fastest rates and nothing to speak of at others.  Rounded is up, so never more than the rate comes through.
 * 64 bits of them last for 36 years since boot. */
#include <config.h>

#include "ofproto/port-limit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"

#define FRACTION_BITS 4
#define SECOND (UINT64_C(1000000000) << FRACTION_BITS)

struct bucket {
    uint64_t full_at;   /* Atomic.  Not after now: it is full. */
    uint64_t step;      /* What one upcall is worth. */
    uint64_t tolerance; /* 'full_at' may be later than now by this, and one more upcall be taken. */
    struct port_limit limit;
    struct rcu_head rcu;
};

struct port_limit_table { /* Replaced when it grows. */
    struct rcu_head rcu;
    size_t n;
    struct bucket *by_port[]; /* RCU; NULL: no limit. */
};

/* Datapath ports are numbered up to this. */
#define NUMBER_MAX UINT16_MAX

static void bucket_free_rcu(struct rcu_head *head) { free(CONTAINER_OF(head, struct bucket, rcu)); }
static void table_free_rcu(struct rcu_head *head) { free(CONTAINER_OF(head, struct port_limit_table, rcu)); }

/* A full one, on a cache line that no other port's handlers write to. */
static struct bucket *bucket_create(struct port_limit limit)
{
    struct bucket *b = xaligned_zalloc(CACHE_LINE, ROUND_UP(sizeof *b, CACHE_LINE));

    b->limit = limit;
    b->step = (SECOND + limit.rate - 1) / limit.rate;
    b->tolerance = (limit.burst - 1) * b->step;
    return b;
}

/* Relaxed: nothing else is read or written because of what is found here. */
static bool bucket_take(struct bucket *b, uint64_t now)
{
    uint64_t t = now << FRACTION_BITS, old = __atomic_load_n(&b->full_at, __ATOMIC_RELAXED), from;

    do {
        from = MAX(old, t);
        if (from - t > b->tolerance) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&b->full_at, &old, from + b->step, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

bool port_limits_take(const struct port_limits *l, odp_port_t no, uint64_t now)
{
    rcu_read_lock();
    const struct port_limit_table *table = rcu_dereference(l->table);
    struct bucket *b = table && no.n < table->n ? rcu_dereference(table->by_port[no.n]) : NULL;
    bool taken = !b || bucket_take(b, now);
    rcu_read_unlock();
    return taken;
}

/* ---- Main. ---- */

static struct bucket *bucket_of(const struct port_limits *l, odp_port_t no)
{
    return l->table && no.n < l->table->n ? l->table->by_port[no.n] : NULL;
}

/* Makes the table reach NO, with room to grow. */
static void table_reach(struct port_limits *l, uint32_t no)
{
    struct port_limit_table *old = l->table;
    size_t old_n = old ? old->n : 0;

    if (no < old_n) {
        return;
    }
    size_t n = MAX(2 * old_n, ROUND_UP((size_t) no + 1, 64));
    struct port_limit_table *new = xzalloc(sizeof *new + n * sizeof new->by_port[0]);
    new->n = n;
    if (old) {
        memcpy(new->by_port, old->by_port, old_n * sizeof old->by_port[0]);
    }
    rcu_assign_pointer(l->table, new);
    if (old) {
        call_rcu(&old->rcu, table_free_rcu);
    }
}

static void table_drop(struct port_limits *l)
{
    struct port_limit_table *old = l->table;

    rcu_assign_pointer(l->table, NULL);
    call_rcu(&old->rcu, table_free_rcu);
}

bool port_limits_set(struct port_limits *l, odp_port_t no, struct port_limit limit)
{
    struct bucket *old = bucket_of(l, no);
    bool same = old ? old->limit.rate == limit.rate && old->limit.burst == limit.burst : !limit.rate;

    if (same || no.n > NUMBER_MAX) {
        return false;
    }
    struct bucket *new = limit.rate ? bucket_create(limit) : NULL;
    if (new) {
        table_reach(l, no.n);
    }
    rcu_assign_pointer(l->table->by_port[no.n], new);
    l->n += (new != NULL) - (old != NULL);
    if (old) {
        call_rcu(&old->rcu, bucket_free_rcu);
    }
    if (!l->n) {
        table_drop(l); /* So that handlers need not look any more. */
    }
    return true;
}

void port_limits_uninit(struct port_limits *l)
{
    for (size_t i = 0; l->table && i < l->table->n; i++) {
        port_limits_set(l, (odp_port_t) { i }, (struct port_limit) { 0 });
    }
}
