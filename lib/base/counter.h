/* Event counters, as coverage/show prints them.
 *
 * COUNTER_DEFINE(name) at file level, COUNTER_INC(name) anywhere.  Each thread counts in a block of its own that
 * only it writes; a reader sums the blocks.  So an increment is a load, an add and a store to a line that no
 * other thread writes, and a reading may miss what is counted while it sums.  A thread's block is added to
 * a retired total when the thread ends: nothing is lost. */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H 1

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/compiler.h"

#define COUNTERS_MAX 256

struct counter {
    const char *name;
    unsigned int index; /* Into a thread's block. */
};

struct counter_block {
    uint64_t v[COUNTERS_MAX]; /* Written by the owner only, relaxed. */
};

extern _Thread_local struct counter_block *counter_tls;

void counter_register(struct counter *c);
/* Makes the calling thread's block, and folds it into the retired total. */
struct counter_block *counter_thread_start(void);
void counter_thread_end(void);

#define COUNTER_DEFINE(NAME)                                                                    \
    static struct counter counter_##NAME = { .name = #NAME };                                   \
    __attribute__((constructor)) static void counter_register_##NAME(void)                      \
    {                                                                                           \
        counter_register(&counter_##NAME);                                                      \
    }                                                                                           \
    extern int counter_semicolon_eater_

static inline void counter_add(const struct counter *c, uint64_t n)
{
    struct counter_block *b = counter_tls ? counter_tls : counter_thread_start();
    uint64_t *v = &b->v[c->index];
    __atomic_store_n(v, __atomic_load_n(v, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}
#define COUNTER_INC(NAME) counter_add(&counter_##NAME, 1)
#define COUNTER_ADD(NAME, N) counter_add(&counter_##NAME, N)

/* Called every 5 seconds by one thread (the introspection thread): keeps what the average rates are computed from. */
void counter_tick(void);
/* Text of coverage/show, to be freed. */
char *counter_show(void);
/* Total of the counter called NAME.  Returns false if there is none. */
bool counter_read(const char *name, uint64_t *ret_total);

#endif
