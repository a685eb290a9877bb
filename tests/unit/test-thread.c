/* Threads: lib/io/thread.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/counter.h"
#include "lib/base/rcu.h"
#include "lib/io/thread.h"
#include "lib/io/wakeup.h"

COUNTER_DEFINE(test_thread_runs);

struct worker {
    struct wakeup wakeup;
    char comm[32];
    sigset_t blocked;
    pid_t tid;
    bool rcu_works;
};

static void wake(void *w_)
{
    struct worker *w = w_;
    wakeup_set(&w->wakeup);
}

static void work(struct thread *self, void *w_)
{
    struct worker *w = w_;

    COUNTER_INC(test_thread_runs);
    pthread_getname_np(pthread_self(), w->comm, sizeof w->comm);
    pthread_sigmask(SIG_SETMASK, NULL, &w->blocked);
    w->tid = gettid();
    rcu_read_lock();
    w->rcu_works = rcu_read_ongoing();
    rcu_read_unlock();
    while (!thread_stopping(self)) {
        struct pollfd pfd = { .fd = w->wakeup.fd, .events = POLLIN };
        poll(&pfd, 1, -1);
        wakeup_clear(&w->wakeup);
    }
}

static void test_thread_is_set_up_runs_and_stops(void **state)
{
    struct worker w = { 0 };
    uint64_t before = 0, after = 0;

    counter_read("test_thread_runs", &before);
    assert_int_equal(wakeup_init(&w.wakeup), 0);
    struct thread *t = thread_start("a-name-longer-than-15", work, wake, &w);
    assert_non_null(t);
    assert_string_equal(thread_name(t), "a-name-longer-than-15");
    pid_t tid = thread_tid(t);
    assert_true(tid > 0 && tid != getpid());
    assert_false(thread_stopping(t));
    thread_stop(t);
    thread_stop(t);
    assert_true(thread_stopping(t));
    thread_join(t);

    assert_int_equal(w.tid, tid);
    assert_string_equal(w.comm, "a-name-longer-t");
    assert_true(w.rcu_works);
    assert_true(sigismember(&w.blocked, SIGTERM) && sigismember(&w.blocked, SIGHUP));
    assert_false(sigismember(&w.blocked, SIGSEGV));
    assert_true(counter_read("test_thread_runs", &after));
    assert_int_equal(after, before + 1); /* It has ended: its count is in the retired total. */
    wakeup_uninit(&w.wakeup);
}

static void test_signals_stay_open_in_the_thread_that_starts_others(void **state)
{
    struct worker w = { 0 };
    sigset_t mask;

    assert_int_equal(wakeup_init(&w.wakeup), 0);
    thread_join(thread_start("x", work, wake, &w));
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM));
    wakeup_uninit(&w.wakeup);
}

static void test_join_accepts_null(void **state) { thread_join(NULL); }

static void test_grace_period_passes_with_sleeping_threads(void **state)
{
    struct worker w = { 0 };

    assert_int_equal(wakeup_init(&w.wakeup), 0);
    struct thread *t = thread_start("sleeper", work, wake, &w);
    synchronize_rcu(); /* Would hang if a thread that is not in a section held it up. */
    thread_join(t);
    wakeup_uninit(&w.wakeup);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_is_set_up_runs_and_stops),
        cmocka_unit_test(test_signals_stay_open_in_the_thread_that_starts_others),
        cmocka_unit_test(test_join_accepts_null),
        cmocka_unit_test(test_grace_period_passes_with_sleeping_threads),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_main_uninit();
    return failed;
}
