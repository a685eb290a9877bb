/* The event loop and what is posted to it: lib/io/loop.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/io/loop.h"
#include "lib/io/thread.h"

static int n_seen, last[4];

static void exit_loop(void *arg) { loop_exit(); }

static void see(void *arg_)
{
    intptr_t arg = (intptr_t) arg_;

    assert_int_equal(arg, n_seen);
    n_seen++;
}

static void test_posts_run_in_order(void **state)
{
    n_seen = 0;
    loop_init();
    for (intptr_t i = 0; i < 100; i++) {
        loop_post(see, (void *) i);
    }
    assert_int_equal(n_seen, 0); /* Not before the loop runs. */
    loop_post(exit_loop, NULL);
    loop_run();
    assert_int_equal(n_seen, 100);
    loop_uninit();
}

static void post_again(void *arg)
{
    if (++n_seen < 1000) {
        loop_post(post_again, NULL);
    }
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    assert_true(n_seen > 0);
    if (n_seen >= 1000) {
        loop_exit();
    }
}

static void test_a_post_that_posts_does_not_keep_others_out(void **state)
{
    struct timeval now = { 0, 1000 };

    n_seen = 0;
    struct event *ev = event_new(loop_init(), -1, EV_PERSIST, on_timeout, NULL);
    event_add(ev, &now);
    loop_post(post_again, NULL);
    loop_run();
    assert_int_equal(n_seen, 1000);
    event_free(ev);
    loop_uninit();
}

#define N_POSTERS 4
#define N_POSTS   2000
static void see_poster(void *arg_)
{
    intptr_t arg = (intptr_t) arg_;
    int poster = (int) (arg / N_POSTS), seq = (int) (arg % N_POSTS);

    assert_int_equal(last[poster], seq); /* Each poster's are in its order. */
    last[poster]++;
    if (++n_seen == N_POSTERS * N_POSTS) {
        loop_exit();
    }
}

static void post_many(struct thread *self, void *arg)
{
    for (intptr_t i = 0; i < N_POSTS; i++) {
        loop_post(see_poster, (void *) ((intptr_t) arg * N_POSTS + i));
    }
}

static void test_posts_of_many_threads_all_arrive(void **state)
{
    struct thread *t[N_POSTERS];

    n_seen = 0;
    loop_init();
    for (intptr_t i = 0; i < N_POSTERS; i++) {
        t[i] = thread_start("poster", post_many, NULL, (void *) i);
    }
    loop_run();
    for (int i = 0; i < N_POSTERS; i++) {
        thread_join(t[i]);
        assert_int_equal(last[i], N_POSTS);
    }
    loop_uninit();
}

static void test_posts_left_over_are_freed_not_run(void **state)
{
    n_seen = 0;
    loop_init();
    loop_post(see, NULL);
    loop_uninit();
    loop_init();
    loop_post(exit_loop, NULL);
    loop_run();
    loop_uninit();
    assert_int_equal(n_seen, 0);
    loop_uninit(); /* Again is harmless. */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posts_run_in_order),
        cmocka_unit_test(test_a_post_that_posts_does_not_keep_others_out),
        cmocka_unit_test(test_posts_of_many_threads_all_arrive),
        cmocka_unit_test(test_posts_left_over_are_freed_not_run),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_main_uninit();
    return failed;
}
