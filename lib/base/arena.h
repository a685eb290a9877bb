/* A bump allocator for one batch's worth of objects.
 *
 * A handler owns one.  arena_alloc() never fails and never frees; arena_reset() takes everything back at once
 * and keeps the memory, so that in the steady state a batch allocates nothing from the heap.  Private to its
 * thread. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H 1

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *first;   /* Kept over resets. */
    struct arena_chunk *current; /* Where the next allocation goes. */
    size_t used;                 /* Bytes used of 'current'. */
    size_t chunk_size;           /* Bytes of an ordinary chunk. */
};

void arena_init(struct arena *a, size_t chunk_size);
void arena_uninit(struct arena *a);
void arena_reset(struct arena *a);
/* Returns SIZE bytes aligned for any type, not zeroed, valid until the next reset. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);
/* Bytes held from the heap, for memory/show. */
size_t arena_footprint(const struct arena *a);

#endif
