/* Unit tests of lib/io/affinity.c: real threads on this machine's CPUs, of which it takes two. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/util.h"
#include "lib/io/affinity.h"
#include "lib/io/thread.h"
#include "lib/io/wakeup.h"

#define N_THREADS 3

static struct cpu_mask whole;   /* As the test was started. */
static unsigned int cpus[2];    /* Two of them. */
static struct wakeup ends[N_THREADS];
static struct thread *threads[N_THREADS];

static void sleep_until_stopped(struct thread *self, void *end_)
{
    struct wakeup *end = end_;
    while (!thread_stopping(self)) {
        poll(&(struct pollfd) { .fd = end->fd, .events = POLLIN }, 1, -1);
    }
}

static void end_thread(void *end) { wakeup_set(end); }

static void only(unsigned int cpu, struct cpu_mask *ret_mask)
{
    memset(ret_mask, 0, sizeof *ret_mask);
    cpu_mask_set(ret_mask, cpu);
}

static void set_main(const struct cpu_mask *m)
{
    assert_int_equal(sched_setaffinity(getpid(), sizeof m->words, m->words), 0);
}

static void assert_thread(unsigned int i, const struct cpu_mask *expected)
{
    struct cpu_mask now;
    assert_int_equal(cpu_mask_of_thread(thread_tid(threads[i]), &now), 0);
    assert_true(cpu_mask_equal(&now, expected));
}

static bool has_two_cpus(void) { return cpu_mask_count(&whole) >= 2; }

static int setup(void **state)
{
    if (!has_two_cpus()) {
        return 0;
    }
    set_main(&whole);
    affinity_pretend(NULL);
    for (unsigned int i = 0; i < N_THREADS; i++) {
        char *name = xasprintf("sleeper%u", i);
        assert_int_equal(wakeup_init(&ends[i]), 0);
        threads[i] = thread_start(name, sleep_until_stopped, end_thread, &ends[i]);
        free(name);
    }
    assert_true(cpu_mask_equal(&affinity_machine()->usable, &whole));
    return 0;
}

static int teardown(void **state)
{
    for (unsigned int i = 0; i < N_THREADS && has_two_cpus(); i++) {
        thread_join(threads[i]);
        wakeup_uninit(&ends[i]);
    }
    affinity_pretend(NULL);
    return 0;
}

static void a_change_of_mains_mask_alone_is_noticed_once(void **state)
{
    struct cpu_mask one;

    if (!has_two_cpus()) {
        skip();
    }
    assert_false(affinity_changed());
    only(cpus[1], &one);
    set_main(&one);
    assert_true(affinity_changed());
    assert_true(cpu_mask_equal(&affinity_machine()->usable, &one));
    assert_false(affinity_changed());
    set_main(&whole);
    assert_true(affinity_changed());
    assert_false(affinity_changed());
}

static void every_thread_follows_and_those_pinned_have_their_own(void **state)
{
    struct cpu_mask one, other;

    if (!has_two_cpus()) {
        skip();
    }
    only(cpus[0], &one);
    only(cpus[1], &other);
    set_main(&one);
    assert_true(affinity_changed());
    affinity_apply(NULL, 0);
    for (unsigned int i = 0; i < N_THREADS; i++) {
        assert_thread(i, &one);
    }

    set_main(&whole);
    assert_true(affinity_changed());
    /* The pins are in no order of the threads' numbers. */
    struct affinity_pin pins[] = { { thread_tid(threads[2]), &other }, { thread_tid(threads[0]), &one } };
    affinity_apply(pins, 2);
    assert_thread(0, &one);
    assert_thread(1, &whole);
    assert_thread(2, &other);
    /* Main's is never set, also if it has changed and that has not been noticed yet. */
    struct cpu_mask mine;
    set_main(&one);
    affinity_apply(pins, 2);
    assert_int_equal(cpu_mask_of_thread(0, &mine), 0);
    assert_true(cpu_mask_equal(&mine, &one));

    affinity_pin(&(struct affinity_pin) { thread_tid(threads[1]), &other });
    assert_thread(1, &other);
}

static void a_thread_that_has_ended_is_no_error(void **state)
{
    struct cpu_mask one;

    if (!has_two_cpus()) {
        skip();
    }
    only(cpus[0], &one);
    struct thread *t = threads[1];
    struct affinity_pin pin = { thread_tid(t), &one };
    thread_join(t);
    threads[1] = NULL;
    affinity_pin(&pin);
    affinity_apply(&pin, 1);
    assert_thread(0, &whole);
}

static void a_pretended_machine_changes_no_thread(void **state)
{
    static struct machine m;
    struct cpu_mask one;

    if (!has_two_cpus()) {
        skip();
    }
    machine_read(&m);
    only(cpus[1], &one);
    m.usable = one;
    affinity_pretend(&m);
    assert_true(cpu_mask_equal(&affinity_machine()->usable, &one));
    assert_false(affinity_changed());
    affinity_apply(NULL, 0);
    assert_thread(0, &whole);
}

static void memory_of_a_node_is_asked_for_and_given_up(void **state)
{
    /* On a machine with one node nothing happens; on one with more the policy must end where it began. */
    for (unsigned int node = 0; node < affinity_machine()->n_nodes; node++) {
        affinity_memory(node);
        char *p = xzalloc(1 << 20);
        free(p);
    }
    affinity_memory(MACHINE_NODE_UNKNOWN);
    affinity_memory(MACHINE_NODE_UNKNOWN);
}

int main(void)
{
    thread_main_init();
    if (cpu_mask_of_thread(0, &whole)) {
        return 1;
    }
    for (unsigned int cpu = 0, n = 0; cpu < MACHINE_MAX_CPUS && n < 2; cpu++) {
        if (cpu_mask_has(&whole, cpu)) {
            cpus[n++] = cpu;
        }
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_of_mains_mask_alone_is_noticed_once, setup, teardown),
        cmocka_unit_test_setup_teardown(every_thread_follows_and_those_pinned_have_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_that_has_ended_is_no_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pretended_machine_changes_no_thread, setup, teardown),
        cmocka_unit_test(memory_of_a_node_is_asked_for_and_given_up),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_main_uninit();
    return failed;
}
