/* Log-linear histograms of times in nanoseconds.
 *
 * Four buckets of equal width for each power of two, so a bucket's bounds are at most 25% apart; 0 to 3 ns have one
 * each. Times of 2^40 ns (18 minutes) and more share the last bucket.  Recording is a few plain loads and stores to
 * memory that no other thread writes. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H 1

#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_MAX_BITS  40 /* Below 2^this, times are told apart. */
#define HISTOGRAM_N_BUCKETS (4 * (HISTOGRAM_MAX_BITS - 1) + 1)

/* All zeroes is an empty one.  One thread writes, by histogram_record(); any thread may read meanwhile, by the
 * functions below, and finds each number as it was at some moment. */
struct histogram {
    uint64_t n, sum, max;
    uint64_t buckets[HISTOGRAM_N_BUCKETS];
};

/* The bucket that NS falls into. */
static inline unsigned int histogram_bucket(uint64_t ns)
{
    unsigned int top; /* Position of the highest bit set, at least 2. */

    if (ns < 4) {
        return ns;
    }
    if (ns >> HISTOGRAM_MAX_BITS) {
        return HISTOGRAM_N_BUCKETS - 1;
    }
    top = 63 - __builtin_clzll(ns);
    return 4 * (top - 1) + ((ns >> (top - 2)) & 3);
}

/* Relaxed load and store: no lock prefix, so *P has one writer. */
static inline void histogram_bump(uint64_t *p, uint64_t by)
{
    __atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

/* Counts one time of NS.  H's only writer calls it. */
static inline void histogram_record(struct histogram *h, uint64_t ns)
{
    if (ns > __atomic_load_n(&h->max, __ATOMIC_RELAXED)) {
        __atomic_store_n(&h->max, ns, __ATOMIC_RELAXED);
    }
    histogram_bump(&h->sum, ns);
    histogram_bump(&h->n, 1);
    histogram_bump(&h->buckets[histogram_bucket(ns)], 1);
}

/* The greatest time that falls into bucket I; UINT64_MAX for the last. */
uint64_t histogram_upper(unsigned int i);

/* Adds what FROM holds to *TO, which is the caller's alone.  From any thread, while FROM's writer writes: what it
 * counts meanwhile may be in or out, but TO->n is always the sum of TO's buckets, and TO->max is in or above the
 * highest. */
void histogram_add(struct histogram *to, const struct histogram *from);

/* The time that PERCENT (0 to 100) of the times do not exceed: the upper bound of its bucket, but never above the
 * maximum. 0 if H is empty. */
uint64_t histogram_percentile(const struct histogram *h, double percent);
/* 0 if H is empty. */
uint64_t histogram_mean(const struct histogram *h);

/* Prints "(n 123) (p50 12us) (p99 130us) (max 1.2ms)". */
void histogram_print(FILE *out, const struct histogram *h);
/* Prints NS in the unit that gives it two or three digits: 7ns, 1.2us, 130us, 17ms, 2.0s. */
void histogram_print_ns(FILE *out, uint64_t ns);

#endif
