/* The writer's half of the classifier's hash tables; see classifier-slots.h. */
#include <config.h>

#include "ofproto/classifier-slots.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/util.h"

#define MIN_SLOTS 4u

/* Slots for N entries: the least power of two that leaves a third free, so that there is room to grow and a search ends soon. */
static uint32_t slots_for(uint32_t n)
{
    uint32_t slots = MIN_SLOTS;

    while (slots - slots / 3 <= n) {
        slots *= 2;
    }
    return slots;
}

/* Must a table of MASK + 1 slots with N entries and N_REMOVED removed ones be copied?  At least one slot always stays empty: it ends every
 * search. */
static bool too_full(uint32_t mask, uint32_t n, uint32_t n_removed)
{
    return n + n_removed > (uint64_t) (mask + 1) * 3 / 4;
}

static bool too_empty(uint32_t mask, uint32_t n) { return mask + 1 > MIN_SLOTS && n < (mask + 1) / 8; }

static struct cls_slots *alloc_slots(uint32_t n_slots)
{
    struct cls_slots *s = xzalloc(sizeof *s + n_slots * (sizeof(void *) + sizeof(uint32_t)));
    s->mask = n_slots - 1;
    return s;
}

struct cls_slots *cls_slots_create(void) { return alloc_slots(MIN_SLOTS); }

void cls_slots_destroy(struct cls_slots *s) { free(s); }

size_t cls_slots_size(const struct cls_slots *s)
{
    return sizeof *s + (s->mask + 1) * (sizeof(void *) + sizeof(uint32_t));
}

static void put(struct cls_slots *s, uint32_t hash, void *p)
{
    uint32_t i = hash;

    while (s->ptr[i & s->mask] && s->ptr[i & s->mask] != CLS_SLOT_REMOVED) {
        i++;
    }
    i &= s->mask;
    s->n_removed -= s->ptr[i] == CLS_SLOT_REMOVED;
    s->n++;
    __atomic_store_n(&cls_slots_hashes(s)[i], hash, __ATOMIC_RELAXED);
    __atomic_store_n(&s->ptr[i], p, __ATOMIC_RELEASE);
}

static void free_slots_rcu(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct cls_slots, rcu)); }

/* Publishes a copy of *SLOTS with room for N. */
static void refit(struct cls_slots **slots, uint32_t n)
{
    struct cls_slots *old = *slots, *s = alloc_slots(slots_for(n));
    void *p;

    CLS_SLOTS_FOR_EACH(p, i, old) { put(s, cls_slots_hashes(old)[i], p); }
    rcu_assign_pointer(*slots, s);
    call_rcu(&old->rcu, free_slots_rcu);
}

void cls_slots_add(struct cls_slots **slots, uint32_t hash, void *p)
{
    assert(p && p != CLS_SLOT_REMOVED);
    if (too_full((*slots)->mask, (*slots)->n + 1, (*slots)->n_removed)) {
        refit(slots, (*slots)->n + 1);
    }
    put(*slots, hash, p);
}

static uint32_t find(const struct cls_slots *s, uint32_t hash, const void *p)
{
    uint32_t i = hash;

    while (s->ptr[i & s->mask] != p) {
        assert(s->ptr[i & s->mask]);
        i++;
    }
    return i & s->mask;
}

void cls_slots_replace(struct cls_slots *s, uint32_t hash, void *old, void *p)
{
    __atomic_store_n(&s->ptr[find(s, hash, old)], p, __ATOMIC_RELEASE);
}

void cls_slots_remove(struct cls_slots **slots, uint32_t hash, void *old)
{
    struct cls_slots *s = *slots;

    __atomic_store_n(&s->ptr[find(s, hash, old)], CLS_SLOT_REMOVED, __ATOMIC_RELEASE);
    s->n--;
    s->n_removed++;
    if (too_empty(s->mask, s->n)) {
        refit(slots, s->n);
    }
}

static struct cls_hashes *alloc_hashes(uint32_t n_slots)
{
    struct cls_hashes *s = xzalloc(sizeof *s + n_slots * sizeof *s->slot);
    s->mask = n_slots - 1;
    return s;
}

struct cls_hashes *cls_hashes_create(void) { return alloc_hashes(MIN_SLOTS); }

void cls_hashes_destroy(struct cls_hashes *s) { free(s); }

size_t cls_hashes_size(const struct cls_hashes *s) { return sizeof *s + (s->mask + 1) * sizeof *s->slot; }

static void free_hashes_rcu(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct cls_hashes, rcu)); }

static void store_slot(struct cls_hashes *s, uint32_t i, uint64_t slot)
{
    __atomic_store_n(&s->slot[i & s->mask], slot, __ATOMIC_RELAXED);
}

static void refit_hashes(struct cls_hashes **set, uint32_t n)
{
    struct cls_hashes *old = *set, *s = alloc_hashes(slots_for(n));

    for (uint32_t k = 0; k <= old->mask; k++) {
        if ((uint32_t) old->slot[k]) {
            uint32_t i = old->slot[k] >> 32;

            while (s->slot[i & s->mask]) {
                i++;
            }
            store_slot(s, i, old->slot[k]);
        }
    }
    s->n = old->n;
    rcu_assign_pointer(*set, s);
    call_rcu(&old->rcu, free_hashes_rcu);
}

/* Returns the slot of hash H in S, or -1. */
static int64_t find_hash(const struct cls_hashes *s, uint32_t h)
{
    for (uint32_t i = h; s->slot[i & s->mask]; i++) {
        uint64_t slot = s->slot[i & s->mask];

        if (slot >> 32 == h && (uint32_t) slot) {
            return i & s->mask;
        }
    }
    return -1;
}

void cls_hashes_add(struct cls_hashes **set, uint64_t hash)
{
    uint32_t h = cls_hashes_fold(hash);
    int64_t found = find_hash(*set, h);

    if (found >= 0) {
        store_slot(*set, found, (*set)->slot[found] + 1);
        return;
    }
    if (too_full((*set)->mask, (*set)->n + 1, (*set)->n_removed)) {
        refit_hashes(set, (*set)->n + 1);
    }
    struct cls_hashes *s = *set;
    uint32_t i = h;
    while ((uint32_t) s->slot[i & s->mask]) {
        i++;
    }
    s->n_removed -= s->slot[i & s->mask] != 0;
    s->n++;
    store_slot(s, i, (uint64_t) h << 32 | 1);
}

void cls_hashes_remove(struct cls_hashes **set, uint64_t hash)
{
    struct cls_hashes *s = *set;
    int64_t found = find_hash(s, cls_hashes_fold(hash));

    assert(found >= 0);
    store_slot(s, found, s->slot[found] - 1);
    if (!(uint32_t) s->slot[found]) {
        s->n--;
        s->n_removed++;
        if (too_empty(s->mask, s->n)) {
            refit_hashes(set, s->n);
        }
    }
}
