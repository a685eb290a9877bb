/* See odp-numbers.h. */
#include <config.h>

#include "ofproto/odp-numbers.h"

#include <stdlib.h>

#include "lib/base/util.h"

static bool get(const uint64_t *map, uint32_t no) { return map[no / 64] >> (no % 64) & 1; }
static void set(uint64_t *map, uint32_t no) { map[no / 64] |= UINT64_C(1) << (no % 64); }
static void clear(uint64_t *map, uint32_t no) { map[no / 64] &= ~(UINT64_C(1) << (no % 64)); }

void odp_numbers_init(struct odp_numbers *o)
{
    memset(o, 0, sizeof *o);
    set(o->used, ODPP_LOCAL.n);
}

void odp_numbers_uninit(struct odp_numbers *o) { free(o->queue); }

/* Takes the number that has rested longest off the queue. */
static void wake_oldest(struct odp_numbers *o)
{
    uint16_t no = o->queue[o->head].no;

    o->head = (o->head + 1) % o->allocated;
    o->n--;
    if (no != ODPP_LOCAL.n) {
        clear(o->resting, no);
        clear(o->used, no);
    }
}

/* NO is used again before its rest is over (somebody else's choice): what is in the queue stands for nothing now. */
static void forget_rest(struct odp_numbers *o, uint16_t no)
{
    for (size_t i = 0; i < o->n; i++) {
        struct odp_resting *r = &o->queue[(o->head + i) % o->allocated];
        if (r->no == no) {
            r->no = ODPP_LOCAL.n;
        }
    }
    clear(o->resting, no);
}

odp_port_t odp_numbers_suggest(struct odp_numbers *o, uint64_t now)
{
    while (o->n && o->queue[o->head].until <= now) {
        wake_oldest(o);
    }
    for (;;) {
        for (uint32_t word = 0; word < ARRAY_SIZE(o->used); word++) {
            if (o->used[word] != UINT64_MAX) {
                uint32_t no = word * 64 + __builtin_ctzll(~o->used[word]);
                if (no < ODP_NUMBERS_MAX) {
                    return (odp_port_t) { no };
                }
            }
        }
        if (!o->n) {
            return ODPP_NONE;
        }
        wake_oldest(o);
    }
}

void odp_numbers_use(struct odp_numbers *o, odp_port_t no)
{
    if (no.n < ODP_NUMBERS_MAX) {
        if (get(o->resting, no.n)) {
            forget_rest(o, no.n);
        }
        set(o->used, no.n);
    }
}

static void queue_grow(struct odp_numbers *o)
{
    size_t allocated = o->allocated ? 2 * o->allocated : 64;
    struct odp_resting *queue = xmalloc(allocated * sizeof *queue);

    for (size_t i = 0; i < o->n; i++) {
        queue[i] = o->queue[(o->head + i) % o->allocated];
    }
    free(o->queue);
    o->queue = queue;
    o->head = 0;
    o->allocated = allocated;
}

void odp_numbers_release(struct odp_numbers *o, odp_port_t no, uint64_t now)
{
    if (no.n >= ODP_NUMBERS_MAX || odp_port_eq(no, ODPP_LOCAL) || !get(o->used, no.n) || get(o->resting, no.n)) {
        return;
    }
    if (o->n == o->allocated) {
        queue_grow(o);
    }
    set(o->resting, no.n);
    o->queue[(o->head + o->n++) % o->allocated] = (struct odp_resting) { no.n, now + ODP_NUMBERS_REST_MS };
}
