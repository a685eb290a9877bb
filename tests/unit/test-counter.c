/* Counters: lib/base/counter.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/util.h"

COUNTER_DEFINE(test_apples);
COUNTER_DEFINE(test_pears);
COUNTER_DEFINE(test_never);
COUNTER_DEFINE(test_rate);

#define N_THREADS 4
#define N_EACH    20000

static uint64_t read_total(const char *name)
{
    uint64_t v = 0;

    assert_true(counter_read(name, &v));
    return v;
}

static void *count_apples(void *arg)
{
    for (int i = 0; i < N_EACH; i++) {
        COUNTER_INC(test_apples);
    }
    if (arg) {
        counter_thread_end(); /* The others leave it to the destructor. */
    }
    return NULL;
}

static void test_nothing_is_lost_when_threads_end(void **state)
{
    pthread_t t[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&t[i], NULL, count_apples, i % 2 ? t : NULL), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    assert_int_equal(read_total("test_apples"), N_THREADS * N_EACH);
}

static void test_count_after_the_end_starts_a_new_block(void **state)
{
    COUNTER_ADD(test_pears, 5);
    counter_thread_end();
    assert_int_equal(read_total("test_pears"), 5);
    COUNTER_INC(test_pears);
    assert_int_equal(read_total("test_pears"), 6);
    counter_thread_end();
    assert_int_equal(read_total("test_pears"), 6);
}

static void test_unknown_counter_is_refused(void **state)
{
    uint64_t v = 42;

    assert_false(counter_read("test_nonesuch", &v));
    assert_int_equal(v, 42);
}

static void assert_shows(const char *row)
{
    char *text = counter_show();

    if (!strstr(text, row)) {
        fail_msg("\"%s\" is not in:\n%s", row, text);
    }
    free(text);
}

static void test_show_has_the_packaged_daemons_form(void **state)
{
    char *text = counter_show();

    assert_memory_equal(text, "Event coverage, avg rate over last: 5 seconds, last minute, last hour,  hash=", 77);
    assert_null(strstr(text, "test_never"));
    const char *tail = strrchr(text, '\n') - strlen(" events never hit");
    assert_string_equal(tail, " events never hit\n");
    free(text);
}

static void test_rates_are_over_5_seconds_a_minute_and_an_hour(void **state)
{
    COUNTER_ADD(test_rate, 60);
    counter_tick();
    assert_shows("test_rate                 12.0/sec     1.000/sec        0.0167/sec   total: 60\n");
    counter_tick();
    assert_shows("test_rate                  0.0/sec     1.000/sec        0.0167/sec   total: 60\n");
    for (int i = 0; i < 12; i++) {
        counter_tick();
    }
    assert_shows("test_rate                  0.0/sec     0.000/sec        0.0167/sec   total: 60\n");
    for (int i = 0; i < 12 * 60; i++) {
        counter_tick();
    }
    assert_shows("test_rate                  0.0/sec     0.000/sec        0.0000/sec   total: 60\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost_when_threads_end),
        cmocka_unit_test(test_count_after_the_end_starts_a_new_block),
        cmocka_unit_test(test_unknown_counter_is_refused),
        cmocka_unit_test(test_show_has_the_packaged_daemons_form),
        cmocka_unit_test(test_rates_are_over_5_seconds_a_minute_and_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
