/* Two hash tables with one writer and any number of readers that take no lock, for the classifier.
 *
 * Why not liburcu's cds_lfht: a classifier has four tables for each of perhaps thousands of masks.  A cds_lfht is more than 1 kB before
 * its first entry, two words a node, and grows in a thread of its own; its concurrent writers are of no use here.  These are arrays with
 * linear probing: 12 bytes a slot for pointers, 8 for counted hashes, and a search is one or two cache lines.
 *
 * How readers are safe.  A table that gets too full (or much too empty) is copied, and the copy published in its place; the old one is
 * freed after a grace period.  A reader of the old one does not see what is added meanwhile, and may still see what is removed.  That is as
 * if it had been a little earlier, and the classifier's versions make it indistinguishable: what a reader may see at its version
 * was in the table before that version was published, and leaves it a grace period after its last version was replaced.
 *
 * Inside a table a slot goes from empty to used, from used to removed and back, never to empty: so a probe that began earlier still
 * passes.  A slot's hash is written before its pointer is published; a reader that sees an old pointer with a new hash takes it for
 * another entry, which is right, for the old one was removed. */
#ifndef OFPROTO_CLASSIFIER_SLOTS_H
#define OFPROTO_CLASSIFIER_SLOTS_H 1

#include "lib/base/rcu.h"
#include "lib/base/types.h"

/* Pointers by hash. */
struct cls_slots {
    uint32_t mask;         /* Slots - 1; a power of two. */
    uint32_t n, n_removed; /* Of the writer. */
    struct rcu_head rcu;
    void *ptr[]; /* And behind them as many 32-bit hashes. */
};

#define CLS_SLOT_REMOVED ((void *) 1)

static inline uint32_t *cls_slots_hashes(const struct cls_slots *s) { return (uint32_t *) (s->ptr + s->mask + 1); }

/* Returns the next pointer with HASH, at or after *POS, which starts as HASH; or NULL.  Under RCU, or by the writer. */
static inline void *cls_slots_next(const struct cls_slots *s, uint32_t hash, uint32_t *pos)
{
    const uint32_t *hashes = cls_slots_hashes(s);

    for (;; ++*pos) {
        uint32_t i = *pos & s->mask;
        void *p = __atomic_load_n(&s->ptr[i], __ATOMIC_ACQUIRE);

        if (!p) {
            return NULL;
        }
        if (p != CLS_SLOT_REMOVED && __atomic_load_n(&hashes[i], __ATOMIC_RELAXED) == hash) {
            ++*pos;
            return p;
        }
    }
}

struct cls_slots *cls_slots_create(void);
void cls_slots_destroy(struct cls_slots *s); /* At once: nobody reads it any more.  Accepts NULL. */
/* The writer's.  *SLOTS may be replaced.  P and OLD are not NULL; OLD is in the table. */
void cls_slots_add(struct cls_slots **slots, uint32_t hash, void *p);
void cls_slots_replace(struct cls_slots *s, uint32_t hash, void *old, void *p);
void cls_slots_remove(struct cls_slots **slots, uint32_t hash, void *old);
size_t cls_slots_size(const struct cls_slots *s);

/* Before a statement: does it with each pointer P of S, in no order. */
#define CLS_SLOTS_FOR_EACH(P, I, S)                                                                                    \
    for (uint32_t I = 0; (I) <= (S)->mask; (I)++)                                                                      \
        if (((P) = __atomic_load_n(&(S)->ptr[I], __ATOMIC_ACQUIRE)) && (void *) (P) != CLS_SLOT_REMOVED)

/* A set of hashes, each with the number of times that it was added. */
struct cls_hashes {
    uint32_t mask;
    uint32_t n, n_removed; /* Different hashes; slots whose count fell to 0. */
    struct rcu_head rcu;
    uint64_t slot[]; /* Hash << 32 | count; 0: empty. */
};

/* The 32 bits of HASH that the set keeps: never 0. */
static inline uint32_t cls_hashes_fold(uint64_t hash)
{
    uint32_t h = hash >> 32;
    return h ? h : 1;
}

static inline bool cls_hashes_contain(const struct cls_hashes *s, uint64_t hash)
{
    uint32_t h = cls_hashes_fold(hash);

    for (uint32_t i = h;; i++) {
        uint64_t slot = __atomic_load_n(&s->slot[i & s->mask], __ATOMIC_RELAXED);

        if (!slot) {
            return false;
        }
        if (slot >> 32 == h && (uint32_t) slot) {
            return true;
        }
    }
}

struct cls_hashes *cls_hashes_create(void);
void cls_hashes_destroy(struct cls_hashes *s); /* As above. */
void cls_hashes_add(struct cls_hashes **set, uint64_t hash);
void cls_hashes_remove(struct cls_hashes **set, uint64_t hash);
size_t cls_hashes_size(const struct cls_hashes *s);

#endif
