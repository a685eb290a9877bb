/* What has arrived of a stream of probes.
 *
 * Each expected packet has a bit, so that a duplicate is never taken for the packet that is missing; each flow
 * remembers the highest sequence number it has seen, and a packet below it that is no duplicate was overtaken.  So one
 * late packet of a flow counts as one, however many passed it, and a packet that is lost makes no disorder.  Duplicates
 * are left out of all other figures.
 *
 * Adding is O(1).  Memory: 12 bytes a flow and a bit a packet, touched when it arrives.
 *
 * Threads: the caller's; nothing is locked. */
#include <config.h>

#include "utilities/flowcount.h"

#include <stdlib.h>

#include "lib/base/util.h"
#include "utilities/flowprobe.h"

struct flowcount_flow {
    uint32_t end; /* Highest sequence number seen, plus 1. */
    uint32_t received;
    bool reordered;
};

/* --- Latency ------------------------------------------------------------------------------------------------------ */

#define STEP_BITS 6
_Static_assert(1 << STEP_BITS == LATENCY_STEPS, "a power of two");

static unsigned latency_bucket(uint64_t ns)
{
    if (ns < LATENCY_STEPS) {
        return ns;
    }
    unsigned octave = 63 - __builtin_clzll(ns) - STEP_BITS; /* 0: steps of 1 ns. */
    unsigned bucket = (octave << STEP_BITS) + (ns >> octave);

    return MIN(bucket, LATENCY_OCTAVE * LATENCY_STEPS - 1);
}

/* The middle of what BUCKET holds. */
static uint64_t latency_middle(unsigned bucket)
{
    if (bucket < 2 * LATENCY_STEPS) {
        return bucket;
    }
    unsigned octave = (bucket >> STEP_BITS) - 1;
    uint64_t low = (uint64_t) ((bucket & (LATENCY_STEPS - 1)) + LATENCY_STEPS) << octave;

    return low + (UINT64_C(1) << octave) / 2;
}

/* Counts NS in L. */
void latency_add(struct latency *l, uint64_t ns)
{
    l->min = l->n ? MIN(l->min, ns) : ns;
    l->max = MAX(l->max, ns);
    l->n++;
    l->counts[latency_bucket(ns)]++;
}

/* Returns the value that a share Q (0 to 1) of those in L does not exceed, 0 if L is empty. */
uint64_t latency_quantile(const struct latency *l, double q)
{
    if (!l->n) {
        return 0;
    }
    double exact = q * (double) l->n;
    uint64_t rank = (uint64_t) exact, sum = 0;

    rank = MAX(rank + (exact > (double) rank), 1);
    for (unsigned i = 0; i < ARRAY_SIZE(l->counts); i++) {
        sum += l->counts[i];
        if (sum >= rank) {
            uint64_t ns = latency_middle(i);
            return rank == l->n ? l->max : MAX(MIN(ns, l->max), l->min);
        }
    }
    return l->max;
}

/* --- Streams ------------------------------------------------------------------------------------------------------ */

/* Expects PER_FLOW packets of each of the N_FLOWS flows of STREAM from FIRST on.  N_FLOWS * PER_FLOW is at most
 * FLOWCOUNT_MAX_PACKETS. */
void flowcount_init(struct flowcount *c, uint32_t stream, uint32_t first, uint32_t n_flows, uint32_t per_flow)
{
    *c = (struct flowcount){ .stream = stream, .first = first, .n_flows = n_flows, .per_flow = per_flow };
    c->flows = xcalloc(n_flows, sizeof *c->flows);
    c->bits = xcalloc((flowcount_expected(c) + 63) / 64, sizeof *c->bits);
}

void flowcount_uninit(struct flowcount *c)
{
    free(c->flows);
    free(c->bits);
}

/* Returns false if the packet at POSITION had come before, and remembers that it has. */
static bool claim(struct flowcount *c, uint64_t position)
{
    uint64_t bit = UINT64_C(1) << position % 64;
    uint64_t *word = &c->bits[position / 64];

    if (*word & bit) {
        return false;
    }
    *word |= bit;
    return true;
}

static void add_to_flow(struct flowcount *c, struct flowcount_flow *f, uint32_t seq)
{
    c->flows_seen += !f->received++;
    if (seq >= f->end) {
        f->end = seq + 1;
    } else {
        c->reordered++;
        c->flows_reordered += !f->reordered;
        f->reordered = true;
    }
    bool is_complete = f->received == c->per_flow;
    c->flows_complete += is_complete;
    c->flows_in_order += is_complete && !f->reordered;
}

/* Counts probe P, which is of the stream of C and arrived at ARRIVAL_NS (CLOCK_MONOTONIC).  An arrival before the
 * sending, as the clocks' granularity can make it, is a latency of 0. */
void flowcount_add(struct flowcount *c, const struct flowprobe *p, uint64_t arrival_ns)
{
    uint32_t index = p->flow - c->first;

    if (p->flow < c->first || index >= c->n_flows || p->seq >= c->per_flow) {
        c->unexpected++;
        return;
    }
    if (!claim(c, (uint64_t) index * c->per_flow + p->seq)) {
        c->duplicates++;
        return;
    }
    add_to_flow(c, &c->flows[index], p->seq);

    uint64_t latency = arrival_ns > p->sent_ns ? arrival_ns - p->sent_ns : 0;
    latency_add(&c->all, latency);
    if (p->seq == 0) {
        latency_add(&c->setup, latency);
    }
    /* Sockets of several devices are read in turns: arrivals are not in order. */
    c->first_ns = c->received ? MIN(c->first_ns, arrival_ns) : arrival_ns;
    c->last_ns = MAX(c->last_ns, arrival_ns);
    c->received++;
}

/* Returns the number of packets that C waits for from the beginning. */
uint64_t flowcount_expected(const struct flowcount *c) { return (uint64_t) c->n_flows * c->per_flow; }

bool flowcount_is_complete(const struct flowcount *c) { return c->received == flowcount_expected(c); }

/* Returns the received packets a second between the first and the last arrival, 0 if there are none between. */
double flowcount_rate(const struct flowcount *c)
{
    return c->last_ns > c->first_ns ? (double) (c->received - 1) * 1e9 / (double) (c->last_ns - c->first_ns) : 0;
}
