/* Sleep that ends by a signal: lib/io/sleeper.h.
 *
 * The system calls by which a thread falls asleep and by which it is woken are wrapped (the linker's --wrap), so that a test can do
 * something in the moment before each. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/compiler.h"
#include "lib/io/sleeper.h"

/* Sleeps that are to be ended by a wake last no longer than this, so that one that is lost is a failure and not a hang. */
#define PATIENCE_MS 10000
#define SOON_MS (PATIENCE_MS / 2)

/* ---- What is wrapped. ---- */

static unsigned int n_sleeps, n_signals; /* Atomic: calls. */
/* Called once, by the next call; atomic. */
static void (*before_sleep)(void);
static void (*before_signal)(void);

static void run_once(void (**hook)(void))
{
    void (*f)(void) = __atomic_exchange_n(hook, NULL, __ATOMIC_SEQ_CST);
    if (f) {
        f();
    }
}

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    run_once(&before_sleep);
    __atomic_add_fetch(&n_sleeps, 1, __ATOMIC_SEQ_CST);
    return __real_ppoll(fds, n, timeout, mask);
}

int __real_epoll_pwait(int epoll_fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask);
int __wrap_epoll_pwait(int epoll_fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask);
int __wrap_epoll_pwait(int epoll_fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
    run_once(&before_sleep);
    __atomic_add_fetch(&n_sleeps, 1, __ATOMIC_SEQ_CST);
    return __real_epoll_pwait(epoll_fd, events, max, timeout, mask);
}

int __real_tgkill(pid_t tgid, pid_t tid, int signal_number);
int __wrap_tgkill(pid_t tgid, pid_t tid, int signal_number);
int __wrap_tgkill(pid_t tgid, pid_t tid, int signal_number)
{
    run_once(&before_signal);
    __atomic_add_fetch(&n_signals, 1, __ATOMIC_SEQ_CST);
    return __real_tgkill(tgid, tid, signal_number);
}

static unsigned int count(const unsigned int *n) { return __atomic_load_n(n, __ATOMIC_SEQ_CST); }

/* ---- What tests are made of. ---- */

static struct sleeper s;
static int pipe_fds[2], epoll_fd;

static int setup(void **state)
{
    sleeper_init(&s);
    n_sleeps = n_signals = 0;
    before_sleep = before_signal = NULL;
    assert_int_equal(pipe(pipe_fds), 0);
    epoll_fd = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN };
    assert_int_equal(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fds[0], &event), 0);
    return 0;
}

static int teardown(void **state)
{
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close(epoll_fd);
    return 0;
}

static void fill_pipe(void) { assert_int_equal(write(pipe_fds[1], "", 1), 1); }

static void empty_pipe(void)
{
    char c;
    assert_int_equal(read(pipe_fds[0], &c, 1), 1);
}

/* Sleeps until the pipe is readable, by ppoll() or (EPOLL) by epoll_pwait(). */
static int sleep_on_pipe(bool epoll, int timeout_ms)
{
    struct pollfd pfd = { .fd = pipe_fds[0], .events = POLLIN };
    struct epoll_event event;
    return epoll ? sleeper_epoll(&s, epoll_fd, &event, 1, timeout_ms) : sleeper_poll(&s, &pfd, 1, timeout_ms);
}

/* The same, which somebody is to end by waking. */
static void assert_woken(bool epoll)
{
    uint64_t begin = clock_msec();
    assert_int_equal(sleep_on_pipe(epoll, PATIENCE_MS), 0);
    assert_true(clock_msec() - begin < SOON_MS);
}

/* Nobody wakes it. */
static void assert_not_woken(bool epoll)
{
    uint64_t begin = clock_msec();
    assert_int_equal(sleep_on_pipe(epoll, 30), 0);
    assert_true(clock_msec() - begin >= 25);
}

static void wake(void) { sleeper_wake(&s); }

/* ---- One thread: the moment is chosen. ---- */

static void a_wake_between_the_look_and_the_sleep_is_not_lost(void **state)
{
    for (int epoll = 0; epoll < 2; epoll++) {
        n_signals = 0;
        before_sleep = wake;
        assert_woken(epoll);
        assert_null(before_sleep);
        assert_int_equal(n_signals, 1);
        assert_not_woken(epoll);
    }
}

static void a_wake_before_that_spares_the_sleep_and_the_signal(void **state)
{
    for (int epoll = 0; epoll < 2; epoll++) {
        n_sleeps = 0;
        wake();
        assert_true(sleeper_is_woken(&s));
        assert_woken(epoll);
        assert_int_equal(n_sleeps + n_signals, 0);
        assert_not_woken(epoll);
        assert_int_equal(n_sleeps, 1);
    }
}

static void wake_thrice(void)
{
    wake();
    wake();
    wake();
}

static void many_wakes_are_one(void **state)
{
    wake_thrice();
    assert_woken(false);
    assert_not_woken(false);
    assert_int_equal(n_signals, 0);
    before_sleep = wake_thrice;
    assert_woken(false);
    assert_not_woken(false);
    assert_int_equal(n_signals, 1);
}

static void who_only_looks_has_been_woken_too(void **state)
{
    for (int epoll = 0; epoll < 2; epoll++) {
        wake();
        assert_int_equal(sleep_on_pipe(epoll, 0), 0);
        assert_false(sleeper_is_woken(&s));
        assert_not_woken(epoll);
    }
}

static void what_is_ready_is_told_though_somebody_wakes(void **state)
{
    fill_pipe();
    for (int epoll = 0; epoll < 2; epoll++) {
        wake();
        assert_int_equal(sleep_on_pipe(epoll, -1), 1);
        before_sleep = wake;
        assert_int_equal(sleep_on_pipe(epoll, -1), 1);
        assert_false(sleeper_is_woken(&s));
    }
    empty_pipe();
    sleep_on_pipe(false, 1); /* The signal of the last wake, which is late. */
}

static void the_signal_is_let_in_during_a_sleep_only(void **state)
{
    sigset_t mask;

    assert_not_woken(false);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_true(sigismember(&mask, SLEEPER_SIGNAL));
    assert_false(sigismember(&mask, SIGTERM)); /* Nor is anything else changed. */
}

/* ---- Two threads. ---- */

struct sleep_thread {
    pthread_t thread;
    bool epoll;
    unsigned int n_wakes, n_ready; /* Atomic: returns. */
    unsigned int n;                /* How many make an end. */
    long n_switches;
};

static long voluntary_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void *sleep_main(void *t_)
{
    struct sleep_thread *t = t_;
    long before = voluntary_switches();

    while (t->n_wakes + t->n_ready < t->n) {
        if (sleep_on_pipe(t->epoll, -1)) {
            empty_pipe();
            __atomic_add_fetch(&t->n_ready, 1, __ATOMIC_SEQ_CST);
        } else {
            __atomic_add_fetch(&t->n_wakes, 1, __ATOMIC_SEQ_CST);
        }
    }
    t->n_switches = voluntary_switches() - before;
    return NULL;
}

/* Waits until N sleeps have begun, or are to in a moment. */
static void await_sleep(unsigned int n)
{
    uint64_t end_at = clock_msec() + PATIENCE_MS;
    while (count(&n_sleeps) < n) {
        assert_true(clock_msec() < end_at);
        sched_yield();
    }
}

static bool is_asleep(pid_t tid)
{
    char name[64], stat[512] = "";
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int) tid);
    FILE *f = fopen(name, "re");
    if (f) {
        stat[fread(stat, 1, sizeof stat - 1, f)] = '\0';
        fclose(f);
    }
    const char *end = strrchr(stat, ')');
    return end && end[1] && end[2] == 'S';
}

/* D1's measure, below the engine: one wake, one signal, one switch. */
static void a_wake_is_one_context_switch(void **state)
{
    enum { N = 300 };
    struct sleep_thread t = { .n = N };

    assert_int_equal(pthread_create(&t.thread, NULL, sleep_main, &t), 0);
    for (unsigned int i = 0; i < N; i++) {
        await_sleep(i + 1);
        for (unsigned int tries = 0; tries < 1000 && !is_asleep(__atomic_load_n(&s.tid, __ATOMIC_SEQ_CST)); tries++) {
            sched_yield();
        }
        wake();
        wake();
    }
    pthread_join(t.thread, NULL);
    assert_int_equal(t.n_wakes, N);
    assert_true(n_signals <= N);
    assert_true(n_sleeps <= N + N / 100);
    assert_true(t.n_switches <= N + N / 100);
}

/* In another thread than the one that sleeps, with the signal open. */
static void nobody_else_is_interrupted(void **state)
{
    struct sleep_thread t = { .epoll = true, .n = 200 };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SLEEPER_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert_int_equal(pthread_create(&t.thread, NULL, sleep_main, &t), 0);
    for (unsigned int i = 0; i < t.n; i++) {
        await_sleep(i + 1);
        wake();
        assert_int_equal(poll(NULL, 0, 1), 0);
    }
    pthread_join(t.thread, NULL);
    assert_int_equal(t.n_wakes, t.n);
}

/* ---- A waker that is late. ---- */

static struct sleep_thread late;

static void let_it_wake_and_sleep_again(void)
{
    fill_pipe();
    await_sleep(2);
}

static void a_signal_that_comes_in_the_next_sleep_is_no_wake(void **state)
{
    for (int epoll = 0; epoll < 2; epoll++) {
        late = (struct sleep_thread) { .epoll = epoll, .n = 2 };
        n_sleeps = 0;
        before_signal = let_it_wake_and_sleep_again;
        assert_int_equal(pthread_create(&late.thread, NULL, sleep_main, &late), 0);
        await_sleep(1);
        wake();
        await_sleep(3); /* The signal has ended the second, and it sleeps on. */
        assert_int_equal(count(&late.n_ready), 1);
        assert_int_equal(count(&late.n_wakes), 0);
        wake();
        pthread_join(late.thread, NULL);
        assert_int_equal(late.n_wakes, 1);
    }
}

static void let_it_end(void)
{
    fill_pipe();
    pthread_join(late.thread, NULL);
}

static void a_thread_may_end_before_the_signal_comes(void **state)
{
    late = (struct sleep_thread) { .n = 1 };
    before_signal = let_it_end;
    assert_int_equal(pthread_create(&late.thread, NULL, sleep_main, &late), 0);
    await_sleep(1);
    errno = EDOM;
    wake();
    assert_int_equal(errno, EDOM);
    assert_int_equal(late.n_ready, 1);
    /* And one that has ended is sent nothing. */
    n_signals = 0;
    wake();
    assert_int_equal(n_signals, 0);
}

/* Of the same pthread_t, as like as not. */
static void one_thread_sleeps_where_another_has_ended(void **state)
{
    for (unsigned int i = 1; i <= 3; i++) {
        struct sleep_thread t = { .n = 1 };
        assert_int_equal(pthread_create(&t.thread, NULL, sleep_main, &t), 0);
        await_sleep(i);
        wake();
        pthread_join(t.thread, NULL);
        assert_int_equal(t.n_wakes, 1);
    }
}

/* ---- All at once. ---- */

struct player {
    pthread_t thread;
    struct sleeper sleeper;
    struct player *other;
    unsigned int balls; /* Atomic. */
    unsigned int n_lost;
};

#define ROUNDS 3000

static void *play(void *p_)
{
    struct player *p = p_;

    for (unsigned int i = 0; i < ROUNDS && !p->n_lost; i++) {
        uint64_t begin = clock_msec();
        while (__atomic_load_n(&p->balls, __ATOMIC_ACQUIRE) == i) {
            sleeper_poll(&p->sleeper, NULL, 0, PATIENCE_MS);
            p->n_lost += clock_msec() - begin >= PATIENCE_MS;
        }
        __atomic_add_fetch(&p->other->balls, 1, __ATOMIC_RELEASE);
        sleeper_wake(&p->other->sleeper);
    }
    return NULL;
}

static void of_many_wakes_none_is_lost(void **state)
{
    struct player players[2] = { { .other = &players[1], .balls = 1 }, { .other = &players[0] } };

    for (int i = 0; i < 2; i++) {
        sleeper_init(&players[i].sleeper);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(players[i].thread, NULL);
    }
    assert_int_equal(players[0].n_lost + players[1].n_lost, 0);
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    static const struct CMUnitTest tests[] = {
        T(a_wake_between_the_look_and_the_sleep_is_not_lost),
        T(a_wake_before_that_spares_the_sleep_and_the_signal),
        T(many_wakes_are_one),
        T(who_only_looks_has_been_woken_too),
        T(what_is_ready_is_told_though_somebody_wakes),
        T(the_signal_is_let_in_during_a_sleep_only),
        T(a_wake_is_one_context_switch),
        T(nobody_else_is_interrupted),
        T(a_signal_that_comes_in_the_next_sleep_is_no_wake),
        T(a_thread_may_end_before_the_signal_comes),
        T(one_thread_sleeps_where_another_has_ended),
        T(of_many_wakes_none_is_lost),
    };
    alarm(120); /* Some sleeps have no end but a wake. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
