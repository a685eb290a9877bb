/* The eventfd wake-up: lib/io/wakeup.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "lib/io/wakeup.h"

static bool readable(const struct wakeup *w, int timeout)
{
    struct pollfd pfd = { .fd = w->fd, .events = POLLIN };
    return poll(&pfd, 1, timeout) == 1;
}

static void test_many_sets_are_one_wake(void **state)
{
    struct wakeup w;

    assert_int_equal(wakeup_init(&w), 0);
    assert_false(readable(&w, 0));
    wakeup_set(&w);
    wakeup_set(&w);
    assert_true(readable(&w, 0));
    wakeup_clear(&w);
    assert_false(readable(&w, 0));
    wakeup_clear(&w); /* Does not block. */
    wakeup_set(&w);
    assert_true(readable(&w, 0));
    wakeup_uninit(&w);
    assert_int_equal(w.fd, -1);
    wakeup_uninit(&w); /* Again is harmless. */
}

static void *set(void *w)
{
    wakeup_set(w);
    return NULL;
}

static void test_another_thread_wakes_a_sleeper(void **state)
{
    struct wakeup w;
    pthread_t t;

    assert_int_equal(wakeup_init(&w), 0);
    assert_int_equal(pthread_create(&t, NULL, set, &w), 0);
    assert_true(readable(&w, 10000));
    pthread_join(t, NULL);
    wakeup_uninit(&w);
}

static void test_no_descriptor_left_is_an_error(void **state)
{
    struct rlimit old, none;
    struct wakeup w = { -1 };

    getrlimit(RLIMIT_NOFILE, &old);
    none = (struct rlimit){ 0, old.rlim_max };
    setrlimit(RLIMIT_NOFILE, &none);
    int error = wakeup_init(&w);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(error, -EMFILE);
    assert_int_equal(w.fd, -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_sets_are_one_wake),
        cmocka_unit_test(test_another_thread_wakes_a_sleeper),
        cmocka_unit_test(test_no_descriptor_left_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
