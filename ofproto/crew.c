/* See crew.h. */
#include <config.h>

#include "ofproto/crew.h"

#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"

#define WORDS (DISPATCH_MAX_HANDLERS / 64)

struct crew *crew_create(struct dpif *dpif)
{
    struct crew *c = xzalloc(sizeof *c);
    c->refs = 1;
    c->sessions = session_pool_create(dpif, SESSION_POOL_MAX);
    c->worth = (struct crew_worth) CREW_WORTH_DEFAULT;
    return c;
}

void crew_set_helps(struct crew *c, bool helps) { __atomic_store_n(&c->helps, helps, __ATOMIC_RELAXED); }

struct crew *crew_ref(struct crew *c)
{
    c->refs++;
    return c;
}

void crew_unref(struct crew *c)
{
    if (c && !--c->refs) {
        session_pool_destroy(c->sessions);
        free(c);
    }
}

unsigned int crew_n_idle(const struct crew *c)
{
    unsigned int n = 0;
    for (unsigned int i = 0; i < WORDS; i++) {
        n += __builtin_popcountll(__atomic_load_n(&c->idle[i], __ATOMIC_RELAXED));
    }
    return n;
}

/* Takes a bit of WORD, at or above FROM, away.  Returns its number, or -1. */
static int hire_of_word(struct crew *c, unsigned int word, unsigned int from)
{
    uint64_t idle = __atomic_load_n(&c->idle[word], __ATOMIC_RELAXED) & UINT64_MAX << from;
    while (idle) {
        uint64_t bit = idle & -idle;
        if (__atomic_fetch_and(&c->idle[word], ~bit, __ATOMIC_SEQ_CST) & bit) {
            return __builtin_ctzll(bit);
        }
        idle &= ~bit; /* It woke, or another colleague was faster. */
    }
    return -1;
}

struct handler *crew_hire(struct crew *c, unsigned int id)
{
    unsigned int start = (id + 1) % DISPATCH_MAX_HANDLERS;

    for (unsigned int i = 0; i <= WORDS; i++) {
        unsigned int word = (start / 64 + i) % WORDS;
        int bit = hire_of_word(c, word, i ? 0 : start % 64);
        if (bit >= 0) {
            return __atomic_load_n(&c->members[word * 64 + bit], __ATOMIC_ACQUIRE);
        }
    }
    return NULL;
}
