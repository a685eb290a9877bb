/* What a translation looked at beyond the flow and the snapshot, and what of that has changed since.
 *
 * Each thing that changes by itself (today: what the MAC table says of one address in one VLAN) has a number of 16 bits, by
 * hash.  A translation lists the numbers of what it looked up, found or not; a change puts its number into a set; a revalidation round
 * translates again only what lists a number of the set.  Two things with one number cost a translation too many, no more.  So
 * 64 stations that come up make the flows *to* them be translated again, and not all flows there are.
 *
 *     who changes                              a round (revalidators.c)
 *     1. the change itself                     1. takes the set (and empties it)
 *     2. the sequence goes up, to v            2. reads the sequence, s
 *     3. the number into the set               3. looks at all flows that are there: those with a number of the set, and those whose
 *     4. asks for a round                         own sequence is below that of the round before, are translated again;
 *                                                 all others are noted to be up to s
 *
 * No flow stays wrong.  Say its translation read what was before the change, so its own sequence is below v.  The round that takes the
 * number read a sequence of at least v.  If the flow was there for it to be seen, it was translated again.  If it was not (its handler had
 * yet to put it), the next round that sees it finds its sequence below that of a round before.  Swap 1 and 2, or 2 and 3, on either side and there is a
 * hole: tests/model/dep.pml shows each.
 *
 * Threads: a set that is published is filled by any thread, and taken by one; each pairs a release with an acquire.  Lists, and sets
 * of one thread, are their owner's. */
#ifndef OFPROTO_DEP_H
#define OFPROTO_DEP_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t dep_t;

/* ---- Lists: what one translation looked up. ---- */

/* One a bridge that is crossed; who crosses more is translated again at every change. */
#define DEP_LIST_MAX 4
#define DEP_LIST_ANY UINT8_MAX

struct dep_list {
    uint8_t n; /* Or DEP_LIST_ANY. */
    dep_t deps[DEP_LIST_MAX];
};

static inline void dep_list_add(struct dep_list *l, dep_t dep)
{
    if (l->n < DEP_LIST_MAX) {
        l->deps[l->n++] = dep;
    } else {
        l->n = DEP_LIST_ANY;
    }
}

/* ---- Sets: what has changed. ---- */

#define DEP_SET_WORDS ((UINT16_MAX + 1) / 64)

struct dep_set {
    bool all;  /* Something that everything depends on. */
    bool some; /* Not empty; of a set that another was taken into. */
    uint64_t words[DEP_SET_WORDS];
};

/* Any thread, for a set that is published. */
static inline void dep_set_add(struct dep_set *s, dep_t dep)
{
    __atomic_fetch_or(&s->words[dep / 64], UINT64_C(1) << dep % 64, __ATOMIC_RELEASE);
}
static inline void dep_set_add_all(struct dep_set *s) { __atomic_store_n(&s->all, true, __ATOMIC_RELEASE); }

/* Adds what is in FROM, the caller's own, to TO, which may be published. */
static inline void dep_set_publish(struct dep_set *to, const struct dep_set *from)
{
    if (from->all) {
        dep_set_add_all(to);
    }
    for (size_t i = 0; i < DEP_SET_WORDS; i++) {
        if (from->words[i]) {
            __atomic_fetch_or(&to->words[i], from->words[i], __ATOMIC_RELEASE);
        }
    }
}

/* Adds to TO what is in FROM, and empties FROM, which may be published.  TO is the caller's own. */
static inline void dep_set_take(struct dep_set *to, struct dep_set *from)
{
    if (__atomic_exchange_n(&from->all, false, __ATOMIC_ACQUIRE)) {
        to->all = to->some = true;
    }
    for (size_t i = 0; i < DEP_SET_WORDS; i++) {
        /* Most are empty; a bit that comes behind this look comes with a call for another round. */
        if (__atomic_load_n(&from->words[i], __ATOMIC_RELAXED)) {
            to->words[i] |= __atomic_exchange_n(&from->words[i], 0, __ATOMIC_ACQUIRE);
            to->some = true;
        }
    }
}

/* Whether S, which another set was taken into, has something that L lists. */
static inline bool dep_set_hits(const struct dep_set *s, const struct dep_list *l)
{
    if (!s->some || s->all || l->n == DEP_LIST_ANY) {
        return s->some;
    }
    for (unsigned int i = 0; i < l->n; i++) {
        if (s->words[l->deps[i] / 64] >> l->deps[i] % 64 & 1) {
            return true;
        }
    }
    return false;
}

#endif
