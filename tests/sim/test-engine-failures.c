/* The engine, with its real threads on the simulated datapath, when the system has no more of something to give.
 *
 *         ┌──────────── engine ────────────┐
 *         │ handler0 … handlerN            │  sessions, channels, threads, epoll watches, datapath requests:
 *         │     ▲ channels                 │  each can be made to fail, by the linker's --wrap
 *         └─────┼──────────────────────────┘
 *           ┌───┴── sim datapath ──┐
 *          p0   p1   p2   …       pN    one bridge, all trunks
 *
 * What must hold after each failure: every port is still served, no upcall is lost, nothing is left open, and the same change
 * succeeds when it is asked for again.
 *
 * Threads: the test is main; the engine's threads run as in the daemon, and some faults are played in them.  What they share with
 * the test is atomic.  Every wait is for a condition, with a bound. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "lib/io/thread.h"
#include "tests/sim/engine-net-kit.h"

/* A handler that exits reads for a second and serves for four, and then for one batch; the rest is for a machine that is busy. */
#define EXIT_MS 10000

/* ---- Faults. ---- */

/* -1: no fault.  Else that many more calls succeed, and then all fail. */
static int sessions_left, channels_left, handlers_left, dispatches_left, pids_left;
static int watches_left; /* Epoll watches that main makes. */
static int sets_left;    /* Epoll sets. */

static bool refused(int *left)
{
    int n = __atomic_load_n(left, __ATOMIC_RELAXED);
    if (n > 0) {
        __atomic_store_n(left, n - 1, __ATOMIC_RELAXED);
    }
    return n == 0;
}

static pthread_t main_thread;

int __real_dpif_session_open(struct dpif *dpif, struct dpif_session **ret_session);
int __wrap_dpif_session_open(struct dpif *dpif, struct dpif_session **ret_session);
int __wrap_dpif_session_open(struct dpif *dpif, struct dpif_session **ret_session)
{
    return refused(&sessions_left) ? -EMFILE : __real_dpif_session_open(dpif, ret_session);
}

int __real_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
int __wrap_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
int __wrap_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid)
{
    return refused(&channels_left) ? -EMFILE : __real_dpif_channel_open(dpif, rcvbuf, ret_fd, ret_pid);
}

int __real_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids);
int __wrap_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids);
int __wrap_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids)
{
    return refused(&dispatches_left) ? -ENOMEM : __real_dpif_set_dispatch(s, mode, pids, n_pids);
}

int __real_dpif_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid);
int __wrap_dpif_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid);
int __wrap_dpif_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid)
{
    return refused(&pids_left) ? -ENOMEM : __real_dpif_port_set_pid(s, no, upcall_pid);
}

struct thread *__real_thread_start(const char *name, thread_func *func, void (*wake)(void *arg), void *arg);
struct thread *__wrap_thread_start(const char *name, thread_func *func, void (*wake)(void *arg), void *arg);
struct thread *__wrap_thread_start(const char *name, thread_func *func, void (*wake)(void *arg), void *arg)
{
    bool handler = !strncmp(name, "handler", 7);
    return handler && refused(&handlers_left) ? NULL : __real_thread_start(name, func, wake, arg);
}

int __real_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && pthread_equal(pthread_self(), main_thread) && refused(&watches_left)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_epoll_ctl(epoll_fd, op, fd, event);
}

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_create1(int flags)
{
    if (refused(&sets_left)) {
        errno = EMFILE;
        return -1;
    }
    return __real_epoll_create1(flags);
}

static void faults_clear(void)
{
    __atomic_store_n(&sessions_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&channels_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&handlers_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&dispatches_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&pids_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&watches_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&sets_left, -1, __ATOMIC_RELAXED);
}

/* ---- Changing the mode. ---- */

/* From each mode to the other, or only to per-port dispatch.  While FAULT lets 0, or any number up to MOST, succeed: nothing has
 * changed; without it, all has. */
static void mode_change(int *fault, int most, bool both)
{
    for (int m = 0; m < (both ? 2 : 1); m++) {
        for (int left = 0; left <= most; left++) {
            struct net net;
            net_init(&net, modes[m], 2, 4);
            net_start(&net);
            check_all_served(&net, "before");
            enum dpif_dispatch before = dispatch_mode(net.e->dispatch);
            size_t fds = count_fds();

            __atomic_store_n(fault, left, __ATOMIC_RELAXED);
            apply(&net, modes[!m], 2);
            faults_clear();
            assert_int_equal(dispatch_mode(net.e->dispatch), before);
            assert_int_equal(count_fds(), fds);
            check_all_served(&net, "after the change that failed");

            apply(&net, modes[!m], 2);
            assert_int_not_equal(dispatch_mode(net.e->dispatch), before);
            check_all_served(&net, "after the change that did not fail");
            net_uninit(&net);
        }
    }
}

/* Else the kernel would send to channels that have been closed again. */
static void a_mode_change_without_handlers_is_not_told_to_the_kernel(void **state) { mode_change(&sessions_left, 1, true); }

static void a_mode_change_without_channels_changes_nothing(void **state) { mode_change(&channels_left, 1, true); }

/* Of the fallback and four ports. */
static void a_mode_change_without_watches_changes_nothing(void **state) { mode_change(&watches_left, 4, false); }

static void a_mode_change_without_sets_to_sleep_on_changes_nothing(void **state) { mode_change(&sets_left, 1, false); }

static void a_mode_change_without_threads_changes_nothing(void **state) { mode_change(&handlers_left, 1, true); }

static void a_mode_change_that_the_kernel_refuses_changes_nothing(void **state) { mode_change(&dispatches_left, 0, true); }

/* ---- Changing the number of handlers. ---- */

/* From one handler to more, five times, while FAULT lets MOST calls succeed: nothing has changed, nothing is left behind. */
static void growth(int m, int *fault, int most)
{
    struct net net;
    net_init(&net, modes[m], 1, 12);
    net_start(&net);
    check_all_served(&net, "before");
    size_t fds = count_fds();

    for (unsigned int i = 0; i < 5; i++) {
        __atomic_store_n(fault, most, __ATOMIC_RELAXED);
        apply(&net, modes[m], 8 + i);
        faults_clear();
        assert_int_equal(n_handlers(&net), 1);
        assert_int_equal(count_fds(), fds);
        check_all_served(&net, "after a growth that failed");
    }
    apply(&net, modes[m], 8);
    assert_int_equal(n_handlers(&net), 8);
    check_all_served(&net, "after a growth that did not fail");
    apply(&net, modes[m], 1);
    assert_true(await(has_fds, &fds));
    check_all_served(&net, "after shrinking");
    net_uninit(&net);
}

/* Else channels would move to handlers that are not there. */
static void channels_stay_where_they_are_when_not_all_handlers_can_be_made(void **state)
{
    growth(0, &sessions_left, 1);
    growth(1, &sessions_left, 1);
}

static void channels_stay_where_they_are_when_not_all_threads_can_be_started(void **state)
{
    growth(0, &handlers_left, 3);
    growth(1, &handlers_left, 3);
}

static void channels_stay_where_they_are_when_not_all_handlers_can_sleep(void **state)
{
    growth(1, &sets_left, 3);
}

static void channels_that_were_opened_are_closed_when_not_all_can_be(void **state) { growth(0, &channels_left, 4); }

static void channels_that_were_opened_are_closed_when_the_kernel_refuses_them(void **state)
{
    growth(0, &dispatches_left, 0);
}

/* ---- Ports. ---- */

static bool is_in_datapath(struct net *net, const char *name)
{
    struct dpif_port port;
    return !dpif_port_query_by_name(engine_session(net->e), name, &port);
}

/* A port that cannot be added, for want of what FAULT gives or because the datapath refuses (NULL): nothing is left of
 * it, the others are served, and later it can be added, and go. */
static void port_addition(int m, int *fault)
{
    struct net net;
    odp_port_t no;

    net_init(&net, modes[m], 2, 4);
    net_start(&net);
    check_all_served(&net, "before");
    size_t fds = count_fds();

    for (unsigned int i = 0; i < 5; i++) {
        if (fault) {
            __atomic_store_n(fault, 0, __ATOMIC_RELAXED);
        } else {
            sim_set_fault(engine_dpif(net.e), SIM_FAULT_PORT_ADD, ENOMEM);
        }
        assert_true(engine_port_add(net.e, "p4", DPIF_PORT_NETDEV, ODPP_NONE, &no) < 0);
        faults_clear();
        assert_int_equal(count_fds(), fds);
        assert_false(is_in_datapath(&net, "p4"));
        check_all_served(&net, "after a port that could not be added");
    }
    assert_int_equal(engine_port_add(net.e, "p4", DPIF_PORT_NETDEV, ODPP_NONE, &net.odp[net.n_ports++]), 0);
    net_start(&net);
    check_all_served(&net, "after a port that could be added");
    assert_int_equal(engine_port_del(net.e, net.odp[--net.n_ports]), 0);
    net_start(&net);
    assert_true(await(has_fds, &fds));
    check_all_served(&net, "after it was deleted");
    net_uninit(&net);
}

static void a_port_for_which_there_is_no_channel_leaves_nothing_behind(void **state)
{
    port_addition(1, &channels_left);
}

static void a_port_whose_channel_cannot_be_watched_leaves_nothing_behind(void **state)
{
    port_addition(1, &watches_left);
}

static void a_port_that_the_datapath_refuses_leaves_nothing_behind(void **state)
{
    port_addition(0, NULL);
    port_addition(1, NULL);
}

/* A port that is in the datapath, added by another one, cannot be taken over: it stays there, as it was, and later it
 * can be; so can one that we have, for which the kernel is to get a new channel: the old one stays in use. */
static void port_adoption(int *fault)
{
    struct net net;
    struct dpif_port port;
    odp_port_t no;

    net_init(&net, DISPATCH_PER_PORT, 2, 4);
    net_start(&net);
    check_all_served(&net, "before");
    assert_int_equal(dpif_port_add(engine_session(net.e), "p4", DPIF_PORT_NETDEV, 77, (odp_port_t){ 1000 }, &no), 0);
    size_t fds = count_fds();

    for (unsigned int i = 0; i < 5; i++) {
        __atomic_store_n(fault, 0, __ATOMIC_RELAXED);
        assert_true(engine_port_adopt(net.e, no) < 0);
        assert_true(engine_port_adopt(net.e, net.odp[i % net.n_ports]) < 0);
        faults_clear();
        assert_true(await(has_fds, &fds));
        assert_int_equal(dpif_port_query_by_number(engine_session(net.e), no, &port), 0);
        assert_int_equal(port.upcall_pid, 77);
        check_all_served(&net, "after a port that could not be taken over");
    }
    assert_int_equal(engine_port_adopt(net.e, no), 0);
    net.odp[net.n_ports++] = no;
    net_start(&net);
    check_all_served(&net, "after a port that could be taken over");
    fds = count_fds();
    for (unsigned int i = 0; i < net.n_ports; i++) {
        assert_int_equal(dispatch_port_adopt(net.e->dispatch, net.odp[i]), 0);
    }
    assert_true(await(has_fds, &fds));
    check_all_served(&net, "after all got new channels");
    net_uninit(&net);
}

static void a_port_that_cannot_be_taken_over_stays_as_it_was(void **state)
{
    port_adoption(&channels_left);
    port_adoption(&watches_left);
    port_adoption(&pids_left);
}

/* ---- Starting and ending. ---- */

static void it_starts_with_the_handlers_that_there_are_threads_for(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m], 8, 12);
        __atomic_store_n(&handlers_left, 3, __ATOMIC_RELAXED);
        net_start(&net);
        faults_clear();
        assert_int_equal(n_handlers(&net), 3);
        check_all_served(&net, "with three handlers of eight");
        net_uninit(&net);
    }
}

static void it_starts_with_the_revalidators_that_there_are_sessions_for(void **state)
{
    struct net net;
    net_init(&net, DISPATCH_PER_CPU, 2, 4);
    net.e->settings.n_revalidators = 200;
    __atomic_store_n(&sessions_left, 3, __ATOMIC_RELAXED);
    net_start(&net);
    faults_clear();
    assert_int_equal(revalidators_n(net.e->revalidators), 3);
    check_all_served(&net, "with three revalidators of 200");
    net_uninit(&net);
}

static void told(void *flag) { set(flag); }

static void whoever_waits_for_a_round_is_told_when_there_can_be_none(void **state)
{
    struct net net;
    bool done = false;

    net_init(&net, DISPATCH_PER_CPU, 1, 2);
    net_start(&net);
    revalidators_wait(net.e->revalidators, told, &done);
    assert_true(await(is_set, &done));

    assert_int_equal(dpif_destroy(engine_session(net.e)), 0); /* Somebody's ovs-dpctl del-dp. */
    done = false;
    revalidators_wait(net.e->revalidators, told, &done);
    bool was_told = await(is_set, &done);
    net_uninit(&net); /* Calls those who still wait. */
    assert_true(was_told);
}

static void flood(struct thread *self, void *net_)
{
    struct net *net = net_;
    while (!is_set(&net->stop_flood)) {
        inject(net, net->n_hosts % net->n_ports, net->n_hosts / net->n_ports % 2);
    }
}

/* A handler that ends reads what it owns to the end; of a flood there is none. */
static void a_flood_does_not_keep_it_from_ending(void **state)
{
    struct net net;
    net_init(&net, DISPATCH_PER_PORT, 2, 60);
    net.settings.flow_limit = 0;
    engine_apply_settings(net.e, &net.settings);
    net_start(&net);
    struct out_wish wish = { .net = &net, .n = 60 * 59 };
    struct engine *e = engine_get(); /* The flood needs the datapath's handle until it has ended. */
    struct thread *t = __real_thread_start("flood", flood, NULL, &net);
    assert_true(await(has_left, &wish));

    uint64_t begin = clock_msec();
    engine_destroy(net.e, false);
    uint64_t took = clock_msec() - begin;

    set(&net.stop_flood);
    thread_join(t);
    engine_put(e);
    net.e = NULL;
    net_uninit(&net);
    if (took > EXIT_MS) {
        fail_msg("it took %llu ms to end", (unsigned long long) took);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mode_change_without_handlers_is_not_told_to_the_kernel),
        cmocka_unit_test(a_mode_change_without_channels_changes_nothing),
        cmocka_unit_test(a_mode_change_without_watches_changes_nothing),
        cmocka_unit_test(a_mode_change_without_sets_to_sleep_on_changes_nothing),
        cmocka_unit_test(a_mode_change_without_threads_changes_nothing),
        cmocka_unit_test(a_mode_change_that_the_kernel_refuses_changes_nothing),
        cmocka_unit_test(channels_stay_where_they_are_when_not_all_handlers_can_be_made),
        cmocka_unit_test(channels_stay_where_they_are_when_not_all_threads_can_be_started),
        cmocka_unit_test(channels_stay_where_they_are_when_not_all_handlers_can_sleep),
        cmocka_unit_test(channels_that_were_opened_are_closed_when_not_all_can_be),
        cmocka_unit_test(channels_that_were_opened_are_closed_when_the_kernel_refuses_them),
        cmocka_unit_test(a_port_for_which_there_is_no_channel_leaves_nothing_behind),
        cmocka_unit_test(a_port_whose_channel_cannot_be_watched_leaves_nothing_behind),
        cmocka_unit_test(a_port_that_the_datapath_refuses_leaves_nothing_behind),
        cmocka_unit_test(a_port_that_cannot_be_taken_over_stays_as_it_was),
        cmocka_unit_test(it_starts_with_the_handlers_that_there_are_threads_for),
        cmocka_unit_test(it_starts_with_the_revalidators_that_there_are_sessions_for),
        cmocka_unit_test(whoever_waits_for_a_round_is_told_when_there_can_be_none),
        cmocka_unit_test(a_flood_does_not_keep_it_from_ending),
    };
    main_thread = pthread_self();
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
