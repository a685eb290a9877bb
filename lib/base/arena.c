/* A bump allocator over a chain of chunks that outlives its resets.
 *
 * Threads: an arena belongs to one thread and has no lock.  Memory handed out is owned by the arena and dies at the
 * next arena_reset().
 *
 * Chunks stay in the order in which they were made.  After a reset, allocation starts again at the first; a chunk that
 * is too small for a request is skipped for the rest of the batch, and a request larger than an ordinary chunk gets
 * a chunk of its own size.  So the footprint is bounded by the largest batch seen, roughly. */
#include <config.h>

#include "lib/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
/* Under AddressSanitizer, bytes that are not handed out are poisoned: a pointer kept over a reset is found. */
#define POISON(P, N)   __asan_poison_memory_region(P, N)
#define UNPOISON(P, N) __asan_unpoison_memory_region(P, N)
#else
#define POISON(P, N)   ((void) (P), (void) (N))
#define UNPOISON(P, N) ((void) (P), (void) (N))
#endif

#define ALIGNMENT alignof(max_align_t)

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* Bytes of 'data'. */
    alignas(max_align_t) char data[];
};

/* Makes an empty arena that takes memory in chunks of CHUNK_SIZE bytes, the first at the first allocation. */
void arena_init(struct arena *a, size_t chunk_size)
{
    *a = (struct arena){ .chunk_size = ROUND_UP(MAX(chunk_size, (size_t) ALIGNMENT), ALIGNMENT) };
}

/* Gives everything back to the heap. */
void arena_uninit(struct arena *a)
{
    struct arena_chunk *next;

    for (struct arena_chunk *c = a->first; c; c = next) {
        next = c->next;
        UNPOISON(c->data, c->size);
        free(c);
    }
    a->first = a->current = NULL;
    a->used = 0;
}

/* Takes back all that was allocated, and keeps the memory for the next batch. */
void arena_reset(struct arena *a)
{
    for (struct arena_chunk *c = a->first; c; c = c->next) {
        POISON(c->data, c->size);
        if (c == a->current) {
            break; /* Later ones were not touched since the last reset. */
        }
    }
    a->current = a->first;
    a->used = 0;
}

/* Makes 'current' a chunk with room for SIZE bytes: a later one that fits, else a new one after 'current'. */
static void next_chunk(struct arena *a, size_t size)
{
    struct arena_chunk *prev = a->current;

    if (prev) {
        for (struct arena_chunk *c = prev->next; c; c = c->next) {
            if (c->size >= size) {
                a->current = c;
                a->used = 0;
                return;
            }
        }
    }

    struct arena_chunk *c = xmalloc(sizeof *c + MAX(size, a->chunk_size));
    c->size = MAX(size, a->chunk_size);
    POISON(c->data, c->size);
    if (prev) {
        c->next = prev->next;
        prev->next = c;
    } else {
        c->next = NULL;
        a->first = c;
    }
    a->current = c;
    a->used = 0;
}

/* Returns SIZE bytes; a size of 0 gives a valid pointer too.  Aborts if the heap is exhausted. */
void *arena_alloc(struct arena *a, size_t size)
{
    size_t rounded = ROUND_UP(size, ALIGNMENT);

    if (unlikely(rounded < size)) {
        fatal(0, "arena: impossible allocation of %zu bytes", size);
    }
    if (unlikely(!a->current || a->current->size - a->used < rounded)) {
        next_chunk(a, rounded);
    }

    void *p = a->current->data + a->used;
    a->used += rounded;
    UNPOISON(p, size);
    return p;
}

/* The same, zeroed. */
void *arena_zalloc(struct arena *a, size_t size) { return memset(arena_alloc(a, size), 0, size); }

/* Returns the bytes held from the heap, used or not. */
size_t arena_footprint(const struct arena *a)
{
    size_t n = 0;

    for (const struct arena_chunk *c = a->first; c; c = c->next) {
        n += sizeof *c + c->size;
    }
    return n;
}
