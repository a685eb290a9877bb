/* Ranked locks: lib/base/lock.h.  The checks of a debug build are compiled in here in every build. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#ifndef SLUICE_DEBUG
#define SLUICE_DEBUG 1
#endif
#include "lib/base/lock.c"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

/* Runs FUNC in a child whose standard error goes to TEXT.  Returns the child's status. */
static int run_child(void (*func)(void), char *text, size_t size)
{
    int fds[2], status;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct rlimit none = { 0, 0 };
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL); /* cmocka catches it. */
        dup2(fds[1], STDERR_FILENO);
        func();
        _exit(0);
    }
    close(fds[1]);
    size_t n = 0;
    ssize_t more;
    while (n < size - 1 && (more = read(fds[0], text + n, size - 1 - n)) > 0) {
        n += (size_t) more;
    }
    text[n] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_aborts(void (*func)(void), const char *message)
{
    char text[1024];
    int status = run_child(func, text, sizeof text);

    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!strstr(text, message)) {
        fail_msg("\"%s\" is not in \"%s\"", message, text);
    }
}

static void assert_is_fine(void (*func)(void))
{
    char text[1024];
    int status = run_child(func, text, sizeof text);

    assert_string_equal(text, "");
    assert_int_equal(status, 0);
}

static struct lock config = LOCK_INITIALIZER(RANK_CONFIG);
static struct lock tables = LOCK_INITIALIZER(RANK_TABLES);
static struct lock mac = LOCK_INITIALIZER(RANK_MAC);
static struct lock log_leaf = LOCK_INITIALIZER(RANK_LOG);

static void nest_upward(void) NO_THREAD_SAFETY_ANALYSIS
{
    lock_acquire(&config);
    lock_acquire(&tables);
    lock_acquire(&mac);
    lock_release(&config); /* In any order. */
    lock_acquire(&log_leaf);
    lock_release(&log_leaf);
    lock_release(&mac);
    lock_release(&tables);
    lock_acquire(&config);
    lock_release(&config);
}

static void nest_downward(void) NO_THREAD_SAFETY_ANALYSIS
{
    lock_acquire(&mac);
    lock_acquire(&tables);
}

static void nest_below_log(void) NO_THREAD_SAFETY_ANALYSIS
{
    lock_acquire(&log_leaf);
    lock_acquire(&tables);
}

static void nest_equal(void) NO_THREAD_SAFETY_ANALYSIS
{
    struct lock other;

    lock_init(&other, RANK_MAC);
    lock_acquire(&mac);
    lock_acquire(&other);
}

static void try_downward(void) NO_THREAD_SAFETY_ANALYSIS
{
    lock_acquire(&mac);
    if (!lock_try(&tables) || lock_try(&tables)) {
        abort();
    }
    lock_release(&tables);
    lock_release(&mac);
}

static void order_after_try(void) NO_THREAD_SAFETY_ANALYSIS
{
    if (lock_try(&mac)) {
        lock_acquire(&tables);
    }
}

static void release_unheld(void) NO_THREAD_SAFETY_ANALYSIS { lock_release(&mac); }

static void ordinary_in_rcu(void) NO_THREAD_SAFETY_ANALYSIS
{
    rcu_register_thread();
    rcu_read_lock();
    lock_acquire(&tables);
}

static void leaf_in_rcu(void) NO_THREAD_SAFETY_ANALYSIS
{
    rcu_register_thread();
    lock_acquire(&tables); /* Outside: allowed. */
    rcu_read_lock();
    lock_acquire(&mac);
    lock_release(&mac);
    rcu_read_unlock();
    lock_release(&tables);
    rcu_unregister_thread();
}

static void test_higher_ranks_nest_and_are_released_in_any_order(void **state) { assert_is_fine(nest_upward); }

static void test_wrong_order_aborts_naming_both_ranks(void **state)
{
    assert_aborts(nest_downward, "taking rank TABLES while holding rank MAC");
    assert_aborts(nest_below_log, "taking rank TABLES while holding rank LOG");
    assert_aborts(nest_equal, "taking rank MAC while holding rank MAC");
}

static void test_try_is_allowed_in_any_order_but_counts(void **state)
{
    assert_is_fine(try_downward);
    assert_aborts(order_after_try, "taking rank TABLES while holding rank MAC");
}

static void test_release_of_a_lock_not_held_aborts(void **state)
{
    assert_aborts(release_unheld, "releases a lock that it does not hold");
}

static void test_rcu_section_takes_leaves_only(void **state)
{
    assert_is_fine(leaf_in_rcu);
    assert_aborts(ordinary_in_rcu, "lock of rank TABLES, which is no leaf, taken in an RCU read section");
}

static void test_wait_ends_at_its_deadline(void **state) NO_THREAD_SAFETY_ANALYSIS
{
    pthread_cond_t cond;
    uint64_t deadline = clock_nsec() + 20000000;

    lock_cond_init(&cond);
    lock_acquire(&tables);
    while (lock_cond_wait_until(&cond, &tables, deadline)) {
        continue;
    }
    lock_release(&tables);
    assert_true(clock_nsec() >= deadline);
    pthread_cond_destroy(&cond);
}

static pthread_cond_t turn;
static int n_done GUARDED_BY(tables);

static void *count_up(void *arg)
{
    lock_acquire(&tables);
    n_done++;
    pthread_cond_signal(&turn);
    lock_release(&tables);
    return NULL;
}

static void test_wait_lets_another_thread_in(void **state) NO_THREAD_SAFETY_ANALYSIS
{
    pthread_t t;

    lock_cond_init(&turn);
    lock_acquire(&tables);
    assert_int_equal(pthread_create(&t, NULL, count_up, NULL), 0);
    while (!n_done) {
        lock_cond_wait(&turn, &tables);
    }
    lock_release(&tables);
    pthread_join(t, NULL);
    pthread_cond_destroy(&turn);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_higher_ranks_nest_and_are_released_in_any_order),
        cmocka_unit_test(test_wrong_order_aborts_naming_both_ranks),
        cmocka_unit_test(test_try_is_allowed_in_any_order_but_counts),
        cmocka_unit_test(test_release_of_a_lock_not_held_aborts),
        cmocka_unit_test(test_rcu_section_takes_leaves_only),
        cmocka_unit_test(test_wait_ends_at_its_deadline),
        cmocka_unit_test(test_wait_lets_another_thread_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
