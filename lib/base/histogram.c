/* Log-linear histograms of times in nanoseconds.
 *
 * Threads: one writer a histogram, any readers, no lock.  The numbers of a histogram are stored one after the other,
 * without order among them, so a reader may see a time counted in one and not yet in another.  It therefore trusts the
 * buckets alone for how many there are, and takes a maximum that lags behind them for what the highest bucket starts
 * with: a percentile is off by what came in while it was read, never out of reach of what was recorded. */
#include <config.h>

#include "lib/base/histogram.h"

#include <inttypes.h>

static uint64_t read_relaxed(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

/* The smallest time that falls into bucket I. */
static uint64_t histogram_lower(unsigned int i) { return i ? histogram_upper(i - 1) + 1 : 0; }

uint64_t histogram_upper(unsigned int i)
{
    unsigned int shift;

    if (i < 4) {
        return i;
    }
    if (i >= HISTOGRAM_N_BUCKETS - 1) {
        return UINT64_MAX;
    }
    shift = i / 4 - 1;
    return ((4 + i % 4 + UINT64_C(1)) << shift) - 1;
}

void histogram_add(struct histogram *to, const struct histogram *from)
{
    uint64_t max;
    unsigned int highest = 0;

    for (unsigned int i = 0; i < HISTOGRAM_N_BUCKETS; i++) {
        uint64_t count = read_relaxed(&from->buckets[i]);

        if (count) {
            to->buckets[i] += count;
            to->n += count;
            highest = i;
        }
    }
    to->sum += read_relaxed(&from->sum);

    /* The writer may have stored a bucket and not yet, as seen from here, the maximum. */
    max = read_relaxed(&from->max);
    if (max < histogram_lower(highest)) {
        max = histogram_lower(highest);
    }
    if (max > to->max) {
        to->max = max;
    }
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    struct histogram copy = { .n = 0 };
    uint64_t rank = 1, seen = 0; /* Which of the times, from the smallest. */
    double exact;

    histogram_add(&copy, h); /* H may grow between counting and searching. */
    exact = percent * copy.n / 100;
    if (exact >= copy.n) {
        return copy.max; /* Also of an empty one. */
    }
    if (exact > 1) {
        rank = exact;
        rank += rank < exact;
    }
    for (unsigned int i = 0; i < HISTOGRAM_N_BUCKETS; i++) {
        seen += copy.buckets[i];
        if (seen >= rank) {
            uint64_t upper = histogram_upper(i);

            return upper < copy.max ? upper : copy.max;
        }
    }
    return copy.max;
}

uint64_t histogram_mean(const struct histogram *h)
{
    uint64_t n = read_relaxed(&h->n);

    return n ? read_relaxed(&h->sum) / n : 0;
}

void histogram_print_ns(FILE *out, uint64_t ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    double v = ns;
    unsigned int i = 0;

    while (v >= 999.5 && i < 3) { /* Rounded: 999.6us is 1.0ms, not 1000us. */
        v /= 1000;
        i++;
    }
    fprintf(out, "%.*f%s", i && v < 9.95, v, units[i]);
}

void histogram_print(FILE *out, const struct histogram *h)
{
    struct histogram copy = { .n = 0 };

    histogram_add(&copy, h);
    fprintf(out, "(n %" PRIu64 ") (p50 ", copy.n);
    histogram_print_ns(out, histogram_percentile(&copy, 50));
    fputs(") (p99 ", out);
    histogram_print_ns(out, histogram_percentile(&copy, 99));
    fputs(") (max ", out);
    histogram_print_ns(out, copy.max);
    fputc(')', out);
}
