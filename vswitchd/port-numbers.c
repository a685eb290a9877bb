/* OpenFlow port numbers: see the header for the order of preference.
 *
 * Each kind of claim is one pass over the wishes, so a request always beats a number that another port merely happens to
 * have (that one is then moved, as ovs-vswitchd.conf.db(5) says).  Numbers are not given out a second time
 * before all others are used up, because a controller may still hold flows for a port that is gone. */
#include <config.h>

#include "vswitchd/port-numbers.h"

#include <stdlib.h>

#include "lib/base/util.h"

typedef uint64_t bitmap[OFPP_MAX / 64];

static bool in_range(int64_t n) { return n >= 1 && n < OFPP_MAX; }
static bool bit(const uint64_t *map, uint32_t n) { return map[n / 64] >> (n % 64) & 1; }
static void bit_set(uint64_t *map, uint32_t n) { map[n / 64] |= UINT64_C(1) << (n % 64); }

/* Lowest number in 1..MAX with no bit in A and none in B (may be NULL), or 0. */
static uint32_t lowest_free(const uint64_t *a, const uint64_t *b, uint32_t max)
{
    for (uint32_t n = 1; n <= max; n++) {
        if (!bit(a, n) && !(b && bit(b, n))) {
            return n;
        }
    }
    return 0;
}

static bool claim(uint64_t *taken, struct port_number_wish *w, bool *done, int64_t n)
{
    if (*done || !in_range(n) || bit(taken, n)) {
        return false;
    }
    bit_set(taken, n);
    w->number.n = n;
    return *done = true;
}

void port_numbers_assign(struct port_numbers *numbers, struct port_number_wish *w, size_t n)
{
    bitmap taken = { 0 };
    bool *done = xcalloc(n ? n : 1, sizeof *done);

    for (size_t i = 0; i < n; i++) {
        if (w[i].is_local) {
            w[i].number = OFPP_LOCAL;
            done[i] = true;
        }
    }
    /* Of two that request one number, who has it keeps it. */
    for (size_t i = 0; i < n; i++) {
        if (w[i].request == w[i].number.n) {
            claim(taken, &w[i], &done[i], w[i].request);
        }
    }
    for (size_t i = 0; i < n; i++) {
        claim(taken, &w[i], &done[i], w[i].request);
    }
    for (size_t i = 0; i < n; i++) {
        claim(taken, &w[i], &done[i], w[i].number.n);
    }
    for (size_t i = 0; i < n; i++) {
        claim(taken, &w[i], &done[i], w[i].remembered);
    }
    for (size_t i = 0; i < n; i++) {
        if (done[i]) {
            continue;
        }
        uint32_t free = lowest_free(taken, numbers->given, PORT_NUMBER_AUTO_MAX);
        free = free ? free : lowest_free(taken, NULL, OFPP_MAX - 1);
        if (!free) {
            w[i].number = OFPP_NONE;
            continue;
        }
        claim(taken, &w[i], &done[i], free);
    }
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
        numbers->given[i] |= taken[i];
    }
    free(done);
}
