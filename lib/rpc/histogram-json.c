/* Histograms as JSON.
 *
 * Threads: any; it works on a copy (lib/base/histogram.h says what that may miss).  JSON's integers are signed here:
 * what does not fit, and no clock ever says, becomes the greatest that does. */
#include <config.h>

#include "lib/rpc/histogram-json.h"

#include "lib/base/histogram.h"

static json_int_t number(uint64_t v) { return v > INT64_MAX ? INT64_MAX : (json_int_t) v; }

json_t *histogram_to_json(const struct histogram *h)
{
    struct histogram copy = { .n = 0 };
    json_t *buckets = json_array();

    histogram_add(&copy, h);
    for (unsigned int i = 0; i < HISTOGRAM_N_BUCKETS; i++) {
        if (copy.buckets[i]) {
            uint64_t upper = i < HISTOGRAM_N_BUCKETS - 1 ? histogram_upper(i) : copy.max;

            json_array_append_new(buckets, json_pack("[I, I]", number(upper), number(copy.buckets[i])));
        }
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "n", number(copy.n), "mean_ns",
                     number(histogram_mean(&copy)), "p50_ns", number(histogram_percentile(&copy, 50)), "p90_ns",
                     number(histogram_percentile(&copy, 90)), "p99_ns", number(histogram_percentile(&copy, 99)),
                     "p999_ns", number(histogram_percentile(&copy, 99.9)), "max_ns", number(copy.max), "buckets",
                     buckets);
}
