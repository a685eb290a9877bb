/* What has arrived of a stream of probes: received, lost, duplicated, out of order, and how late. */
#ifndef FLOWCOUNT_H
#define FLOWCOUNT_H 1

#include <stdbool.h>
#include <stdint.h>

struct flowprobe;

/* A log-linear histogram of nanoseconds: 64 steps an octave, so that what is read from it is right within 0.8 %
 * (systems are compared by it; the daemon's own, lib/base/histogram.h, is coarser); the smallest and the largest value
 * are exact.  Values of 2^40 and above (18 minutes) are counted as one. */
#define LATENCY_STEPS  64
#define LATENCY_OCTAVE 35 /* The first two are steps of 1 ns. */

struct latency {
    uint64_t n, min, max; /* 'min' and 'max' are 0 while 'n' is. */
    uint64_t counts[LATENCY_OCTAVE * LATENCY_STEPS];
};

void latency_add(struct latency *l, uint64_t ns);
uint64_t latency_quantile(const struct latency *l, double q);

/* Of flows FIRST ... FIRST + N_FLOWS - 1, PER_FLOW packets each are expected. */
struct flowcount {
    uint32_t stream, first, n_flows, per_flow;

    uint64_t received;          /* Expected ones, each counted once. */
    uint64_t duplicates;        /* Of those. */
    uint64_t unexpected;        /* Of the stream, but outside of what is expected. */
    uint64_t reordered;         /* Packets that a later one of their flow had overtaken. */
    uint32_t flows_seen;        /* Flows of which a packet arrived. */
    uint32_t flows_complete;    /* Flows of which all did. */
    uint32_t flows_reordered;   /* Flows with a reordered packet. */
    uint32_t flows_in_order;    /* Flows of which all packets arrived, none reordered. */
    uint64_t first_ns, last_ns; /* Arrival of the first and the last of 'received'. */
    struct latency setup;       /* Of the first packets of the flows. */
    struct latency all;

    struct flowcount_flow *flows;
    uint64_t *bits; /* Of each packet whether it has arrived, PER_FLOW a flow. */
};

#define FLOWCOUNT_MAX_PACKETS (1ull << 30) /* N_FLOWS * PER_FLOW: 128 MiB of bits. */

void flowcount_init(struct flowcount *c, uint32_t stream, uint32_t first, uint32_t n_flows, uint32_t per_flow);
void flowcount_uninit(struct flowcount *c);
void flowcount_add(struct flowcount *c, const struct flowprobe *p, uint64_t arrival_ns);
uint64_t flowcount_expected(const struct flowcount *c);
bool flowcount_is_complete(const struct flowcount *c);
double flowcount_rate(const struct flowcount *c);

#endif
