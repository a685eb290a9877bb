/* Histograms: lib/base/histogram.h and lib/rpc/histogram-json.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/histogram.h"
#include "lib/base/util.h"
#include "lib/rpc/histogram-json.h"

#define LAST (HISTOGRAM_N_BUCKETS - 1)

static void test_each_time_falls_between_its_buckets_bounds(void **state)
{
    for (unsigned int shift = 0; shift < HISTOGRAM_MAX_BITS; shift++) {
        for (int delta = -2; delta <= 2; delta++) {
            for (unsigned int quarter = 4; quarter < 8; quarter++) {
                uint64_t ns = (UINT64_C(1) << shift) * quarter / 4 + delta;
                unsigned int i = histogram_bucket(ns);

                if ((int64_t) ns < 0 || ns >> HISTOGRAM_MAX_BITS) {
                    continue;
                }
                assert_in_range(i, 0, LAST - 1);
                assert_true(ns <= histogram_upper(i));
                assert_true(!i || ns > histogram_upper(i - 1));
            }
        }
    }
}

static void test_bounds_rise_and_are_a_quarter_apart_at_most(void **state)
{
    for (unsigned int i = 1; i < LAST; i++) {
        uint64_t lower = histogram_upper(i - 1) + 1, upper = histogram_upper(i);

        assert_true(upper >= lower);
        assert_true((upper - lower) * 4 <= lower);
    }
    assert_int_equal(histogram_upper(LAST - 1), (UINT64_C(1) << HISTOGRAM_MAX_BITS) - 1);
    assert_true(sizeof(struct histogram) <= 1300);
}

static void test_greater_times_share_the_last_bucket(void **state)
{
    struct histogram h = { .n = 0 };

    histogram_record(&h, UINT64_C(1) << HISTOGRAM_MAX_BITS);
    histogram_record(&h, UINT64_C(1) << 62);
    assert_int_equal(h.buckets[LAST], 2);
    assert_int_equal(histogram_percentile(&h, 50), UINT64_C(1) << 62);
    assert_int_equal(h.max, UINT64_C(1) << 62);
}

static void test_empty_one_is_all_zero(void **state)
{
    struct histogram h = { .n = 0 };

    assert_int_equal(histogram_percentile(&h, 0), 0);
    assert_int_equal(histogram_percentile(&h, 50), 0);
    assert_int_equal(histogram_percentile(&h, 100), 0);
    assert_int_equal(histogram_mean(&h), 0);
}

/* Against the times themselves, sorted. */
static int compare_times(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void test_percentiles_are_within_a_quarter_above_the_truth(void **state)
{
    static const double percents[] = { 0, 1, 10, 50, 90, 99, 99.9, 100 };
    static const size_t sizes[] = { 1, 2, 3, 10, 1000, 9999 };
    uint64_t times[9999], sum = 0;
    uint64_t random = 12345;

    for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
        struct histogram h = { .n = 0 };
        size_t n = sizes[s];

        sum = 0;
        for (size_t i = 0; i < n; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            times[i] = random >> (25 + (random >> 8) % 38); /* All magnitudes. */
            sum += times[i];
            histogram_record(&h, times[i]);
        }
        qsort(times, n, sizeof *times, compare_times);
        assert_int_equal(h.n, n);
        assert_int_equal(h.max, times[n - 1]);
        assert_int_equal(histogram_mean(&h), sum / n);
        for (size_t p = 0; p < ARRAY_SIZE(percents); p++) {
            uint64_t got = histogram_percentile(&h, percents[p]);
            size_t below = 0;

            while (below + 1 < n && below + 1 < n * percents[p] / 100) {
                below++;
            }
            assert_true(got >= times[below]);
            assert_true(got <= times[below] + times[below] / 4);
            assert_true(got <= h.max);
        }
    }
}

static void test_sum_of_two_is_as_if_recorded_in_one(void **state)
{
    struct histogram a = { .n = 0 }, b = { .n = 0 }, both = { .n = 0 }, sum = { .n = 0 };

    for (uint64_t i = 0; i < 1000; i++) {
        histogram_record(i % 3 ? &a : &b, i * i * i);
        histogram_record(&both, i * i * i);
    }
    histogram_add(&sum, &a);
    histogram_add(&sum, &b);
    assert_memory_equal(&sum, &both, sizeof sum);
}

static void test_maximum_not_yet_seen_is_taken_from_the_buckets(void **state)
{
    struct histogram h = { .n = 0 };

    histogram_record(&h, 1000);
    histogram_record(&h, 5000);
    h.max = 0; /* As if it had not arrived, nor N. */
    h.n = 0;
    assert_int_equal(histogram_percentile(&h, 50), 1023);
    assert_int_equal(histogram_percentile(&h, 100), 4096);
}

struct race {
    struct histogram h;
    bool stop;
};

static void *read_on_and_on(void *arg)
{
    struct race *r = arg;
    uint64_t last = 0;

    while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
        struct histogram copy = { .n = 0 };
        uint64_t n = 0;

        histogram_add(&copy, &r->h);
        for (unsigned int i = 0; i < HISTOGRAM_N_BUCKETS; i++) {
            n += copy.buckets[i];
        }
        if (n != copy.n || n < last || histogram_percentile(&copy, 99.9) > copy.max) {
            return r;
        }
        last = n;
    }
    return NULL;
}

static void test_readers_find_it_consistent_while_it_is_written(void **state)
{
    struct race *r = xzalloc(sizeof *r);
    pthread_t t;
    void *failed;

    assert_int_equal(pthread_create(&t, NULL, read_on_and_on, r), 0);
    for (uint64_t i = 0; i < 300000; i++) {
        histogram_record(&r->h, i);
    }
    __atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
    pthread_join(t, &failed);
    assert_null(failed);
    assert_int_equal(r->h.n, 300000);
    free(r);
}

static void test_times_print_with_two_or_three_digits(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        { 0, "0ns" },
        { 7, "7ns" },
        { 999, "999ns" },
        { 1000, "1.0us" },
        { 1234, "1.2us" },
        { 9949, "9.9us" },
        { 9960, "10us" },
        { 12345, "12us" },
        { 130400, "130us" },
        { 999499, "999us" },
        { 999500, "1.0ms" },
        { 1230000, "1.2ms" },
        { 17000000, "17ms" },
        { 999600000, "1.0s" },
        { UINT64_C(2000000000), "2.0s" },
        { UINT64_C(1099511627776), "1100s" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct text t;
        char *s;

        histogram_print_ns(text_open(&t), cases[i].ns);
        s = text_close(&t);
        assert_string_equal(s, cases[i].text);
        free(s);
    }
}

static void test_line_for_people(void **state)
{
    struct histogram h = { .n = 0 };
    struct text t;
    char *s;

    histogram_print(text_open(&t), &h);
    s = text_close(&t);
    assert_string_equal(s, "(n 0) (p50 0ns) (p99 0ns) (max 0ns)");
    free(s);

    for (int i = 0; i < 99; i++) {
        histogram_record(&h, 12000);
    }
    histogram_record(&h, 1200000);
    histogram_print(text_open(&t), &h);
    s = text_close(&t);
    assert_string_equal(s, "(n 100) (p50 12us) (p99 12us) (max 1.2ms)");
    free(s);
}

static void test_json_has_all_of_it(void **state)
{
    struct histogram h = { .n = 0 };
    json_t *j, *expected;

    histogram_record(&h, 3);
    histogram_record(&h, 3);
    histogram_record(&h, 1000);
    histogram_record(&h, UINT64_MAX);
    h.sum = 4000;
    j = histogram_to_json(&h);
    expected =
        json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:[[ii][ii][Ii]]}", "n", 4, "mean_ns", 1000, "p50_ns", 3,
                  "p90_ns", (json_int_t) INT64_MAX, "p99_ns", (json_int_t) INT64_MAX, "p999_ns", (json_int_t) INT64_MAX,
                  "max_ns", (json_int_t) INT64_MAX, "buckets", 3, 2, 1023, 1, (json_int_t) INT64_MAX, 1);
    assert_non_null(expected);
    assert_true(json_equal(j, expected));
    json_decref(j);
    json_decref(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_time_falls_between_its_buckets_bounds),
        cmocka_unit_test(test_bounds_rise_and_are_a_quarter_apart_at_most),
        cmocka_unit_test(test_greater_times_share_the_last_bucket),
        cmocka_unit_test(test_empty_one_is_all_zero),
        cmocka_unit_test(test_percentiles_are_within_a_quarter_above_the_truth),
        cmocka_unit_test(test_sum_of_two_is_as_if_recorded_in_one),
        cmocka_unit_test(test_maximum_not_yet_seen_is_taken_from_the_buckets),
        cmocka_unit_test(test_readers_find_it_consistent_while_it_is_written),
        cmocka_unit_test(test_times_print_with_two_or_three_digits),
        cmocka_unit_test(test_line_for_people),
        cmocka_unit_test(test_json_has_all_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
