/* See cell.h. */
#include <config.h>

#include "ofproto/cell.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/base/util.h"

#define SLAB_SIZE (128 * 1024)
/* Below this many slabs (8 MiB) a pool keeps its memory: ordinary bursts do not fault it in again and again. */
#define KEEP_SLABS 64
/* Of a pool, one in this many slabs is kept for each size. */
#define GUARANTEE 16

/* A small upcall with its packet of up to 250 bytes; one of a full frame; a jumbo frame; a 64 KiB packet. */
static const uint32_t sizes[] = { 512, 2048, 16 * 1024, SLAB_SIZE };
#define N_SIZES ARRAY_SIZE(sizes)

struct slab {
    struct slab *next, *prev; /* In 'free' (next only) or in partial[class]. */
    struct cell *cells;       /* Free ones, linked by 'queue', which a free cell has no other use for. */
    unsigned int class, n_used;
    unsigned int n_cut; /* Cells that have been taken at least once; those behind it have never been touched. */
};

static unsigned int class_of(size_t len)
{
    for (unsigned int i = 0; i < N_SIZES; i++) {
        if (sizeof(struct cell) + len <= sizes[i]) {
            return i;
        }
    }
    return N_SIZES;
}

size_t cell_size(size_t len)
{
    unsigned int class = class_of(len);
    return class < N_SIZES ? sizes[class] : SIZE_MAX;
}

int cell_pool_init(struct cell_pool *p, size_t size)
{
    memset(p, 0, sizeof *p);
    p->n_slabs = size / SLAB_SIZE;
    p->size = (size_t) p->n_slabs * SLAB_SIZE;
    void *memory = mmap(NULL, p->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    p->memory = memory;
    p->slabs = xcalloc(p->n_slabs, sizeof *p->slabs);
    return 0;
}

void cell_pool_uninit(struct cell_pool *p)
{
    if (p->memory) {
        munmap(p->memory, p->size);
        free(p->slabs);
        p->memory = NULL;
    }
}

static char *slab_memory(const struct cell_pool *p, const struct slab *s)
{
    return p->memory + (size_t) (s - p->slabs) * SLAB_SIZE;
}

static void partial_push(struct cell_pool *p, struct slab *s)
{
    s->prev = NULL;
    s->next = p->partial[s->class];
    if (s->next) {
        s->next->prev = s;
    }
    p->partial[s->class] = s;
}

static void partial_remove(struct cell_pool *p, struct slab *s)
{
    if (s->prev) {
        s->prev->next = s->next;
    } else {
        p->partial[s->class] = s->next;
    }
    if (s->next) {
        s->next->prev = s->prev;
    }
}

/* A slab for cells of CLASS that has room; NULL if there is none. */
static struct slab *slab_get(struct cell_pool *p, unsigned int class)
{
    struct slab *s = p->partial[class];
    if (likely(s != NULL)) {
        return s;
    }
    if (p->free) {
        s = p->free;
        p->free = s->next;
    } else if (p->n_touched < p->n_slabs) {
        s = &p->slabs[p->n_touched++];
    } else {
        return NULL;
    }
    *s = (struct slab) { .class = class };
    p->n_cut[class]++;
    partial_push(p, s);
    return s;
}

struct cell *cell_alloc(struct cell_pool *p, size_t len)
{
    unsigned int class = class_of(len);
    struct slab *s = class < N_SIZES ? slab_get(p, class) : NULL;
    if (!s) {
        return NULL;
    }
    struct cell *c = s->cells;
    if (c) {
        s->cells = (struct cell *) c->queue;
    } else {
        c = (struct cell *) (slab_memory(p, s) + (size_t) s->n_cut++ * sizes[class]);
    }
    if (++s->n_used == SLAB_SIZE / sizes[class]) {
        partial_remove(p, s);
    }
    c->size = sizes[class];
    c->len = len;
    p->used += c->size;
    p->taken[class] += c->size;
    return c;
}

void cell_free(struct cell_pool *p, struct cell *c)
{
    struct slab *s = &p->slabs[((char *) c - p->memory) / SLAB_SIZE];
    p->used -= c->size;
    p->taken[s->class] -= c->size;
    if (s->n_used-- == SLAB_SIZE / sizes[s->class]) {
        partial_push(p, s);
    }
    c->queue = (struct port_queue *) s->cells;
    s->cells = c;
    if (!s->n_used) {
        p->n_cut[s->class]--;
        partial_remove(p, s);
        s->next = p->free;
        p->free = s;
    }
}

size_t cell_pool_room(const struct cell_pool *p, size_t len)
{
    unsigned int class = class_of(len), own = p->n_slabs / GUARANTEE, cut = 0, kept = 0;
    if (class == N_SIZES) {
        return 0;
    }
    for (unsigned int i = 0; i < N_SIZES; i++) {
        cut += p->n_cut[i];
        kept += i != class && p->n_cut[i] < own ? own - p->n_cut[i] : 0;
    }
    unsigned int unused = p->n_slabs - cut;
    return (size_t) (p->n_cut[class] + unused - MIN(kept, unused)) * SLAB_SIZE - p->taken[class];
}

void cell_pool_trim(struct cell_pool *p)
{
    if (likely(p->n_touched <= KEEP_SLABS) || p->used) {
        return;
    }
    madvise(p->memory, (size_t) p->n_touched * SLAB_SIZE, MADV_DONTNEED);
    p->n_touched = 0;
    p->free = NULL;
    memset(p->partial, 0, sizeof p->partial);
}
