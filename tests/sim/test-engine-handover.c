/* The engine, with its real threads on the simulated datapath: what handlers hand over to each other, and what they share.
 *
 * Threads: the test is main; the engine's threads run as in the daemon, and some faults are played in them (the linker's --wrap).  What they
 * share with the test is atomic.  Every wait is for a condition, with a bound. */
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

#include "lib/dpif/session-pool.h"
#include "lib/io/sleeper.h"
#include "lib/io/thread.h"
#include "tests/sim/engine-net-kit.h"

#define MAX_FDS 1024
/* How long a handler is held in the middle of a hand-over, for another one to do what it must not. */
#define TEMPTATION_MS 50

/* ---- Faults. ---- */

/* Hand-overs: what becomes of the EPOLL_CTL_ADD that a handler makes. */
enum handover { HANDOVER_NORMAL, HANDOVER_TEMPT, HANDOVER_FAIL };
static enum handover handover;
static bool ports_deleted;       /* The tempted handler waits for it. */
static bool fd_closed[MAX_FDS];  /* Channels. */
static int n_handovers;          /* Atomic. */
static int n_handovers_failed;   /* Atomic: for another reason than ours. */
static pthread_t main_thread;

/* Who has made hand-over number 'held_at' is held before it wakes the one that has the channel now. */
static int held_at;                     /* Atomic. */
static bool is_held, is_shrunk;         /* Atomic. */
static _Thread_local int last_handover; /* That this thread has made. */

void __real_sleeper_wake(struct sleeper *s);
void __wrap_sleeper_wake(struct sleeper *s);

int __real_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
int __wrap_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
int __wrap_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid)
{
    int error = __real_dpif_channel_open(dpif, rcvbuf, ret_fd, ret_pid);
    if (!error && *ret_fd < MAX_FDS) {
        __atomic_store_n(&fd_closed[*ret_fd], false, __ATOMIC_RELEASE);
    }
    return error;
}

void __real_dpif_channel_close(struct dpif *dpif, int fd, uint32_t pid);
void __wrap_dpif_channel_close(struct dpif *dpif, int fd, uint32_t pid);
void __wrap_dpif_channel_close(struct dpif *dpif, int fd, uint32_t pid)
{
    __real_dpif_channel_close(dpif, fd, pid);
    if (fd < MAX_FDS) {
        set(&fd_closed[fd]);
    }
}

int __real_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
    if (op != EPOLL_CTL_ADD || pthread_equal(pthread_self(), main_thread)) {
        return __real_epoll_ctl(epoll_fd, op, fd, event);
    }
    /* A handler hands a channel over. */
    last_handover = __atomic_add_fetch(&n_handovers, 1, __ATOMIC_RELAXED);
    switch (__atomic_load_n(&handover, __ATOMIC_RELAXED)) {
    case HANDOVER_NORMAL:
        break;
    case HANDOVER_TEMPT:
        await(is_set, &ports_deleted);
        await_within(is_set, &fd_closed[fd % MAX_FDS], TEMPTATION_MS);
        break;
    case HANDOVER_FAIL:
        __atomic_store_n(&handover, HANDOVER_NORMAL, __ATOMIC_RELAXED);
        errno = ENOMEM;
        return -1;
    }
    int result = __real_epoll_ctl(epoll_fd, op, fd, event);
    if (result < 0) {
        __atomic_add_fetch(&n_handovers_failed, 1, __ATOMIC_RELAXED);
    }
    return result;
}

void __wrap_sleeper_wake(struct sleeper *s)
{
    bool hold = last_handover && last_handover == __atomic_load_n(&held_at, __ATOMIC_ACQUIRE);
    last_handover = 0;
    if (hold) {
        set(&is_held);
        await_within(is_set, &is_shrunk, 10 * TEMPTATION_MS);
    }
    __real_sleeper_wake(s);
    if (hold) {
        __atomic_store_n(&is_held, false, __ATOMIC_RELEASE);
    }
}

static void faults_clear(void)
{
    __atomic_store_n(&handover, HANDOVER_NORMAL, __ATOMIC_RELAXED);
    __atomic_store_n(&held_at, 0, __ATOMIC_RELAXED);
}

/* ---- Hand-over of channels. ---- */

/* A handler that was given a channel carries out what is asked of it, here to close it, only when the one before has let go. */
static void a_channel_is_not_closed_by_its_new_owner_before_the_old_one_has_let_go(void **state)
{
    struct net net;
    net_init(&net, DISPATCH_PER_PORT, 1, 8);
    net_start(&net);
    check_all_served(&net, "before");
    size_t fds = count_fds();
    n_handovers = n_handovers_failed = 0;
    ports_deleted = false;

    __atomic_store_n(&handover, HANDOVER_TEMPT, __ATOMIC_RELAXED);
    apply(&net, DISPATCH_PER_PORT, 2);
    for (unsigned int i = 0; i < net.n_ports; i++) {
        assert_int_equal(engine_port_del(net.e, net.odp[i]), 0);
    }
    set(&ports_deleted);
    /* The second handler has an epoll set and a session of its own; each channel had both ends of a pair. */
    fds += 2;
    fds -= 2 * net.n_ports;
    bool all_closed = await(has_fds, &fds);
    assert_int_equal(__atomic_load_n(&n_handovers_failed, __ATOMIC_RELAXED), 0);
    assert_int_equal(__atomic_load_n(&n_handovers, __ATOMIC_RELAXED), net.n_ports / 2);
    assert_true(all_closed);
    net_uninit(&net);
}

/* The channel stays with its reader, whoever is to own it; at last the hand-over is made, and the channel can be closed. */
static void a_hand_over_that_fails_is_made_later(void **state)
{
    struct net net;
    net_init(&net, DISPATCH_PER_PORT, 1, 8);
    net_start(&net);
    check_all_served(&net, "before");
    size_t fds = count_fds();
    n_handovers = n_handovers_failed = 0;

    __atomic_store_n(&handover, HANDOVER_FAIL, __ATOMIC_RELAXED);
    apply(&net, DISPATCH_PER_PORT, 2);
    check_all_served(&net, "after a hand-over that failed");
    for (unsigned int i = 0; i < net.n_ports; i++) {
        assert_int_equal(engine_port_del(net.e, net.odp[i]), 0);
    }
    fds += 2;
    fds -= 2 * net.n_ports;
    bool all_closed = await(has_fds, &fds);
    assert_int_equal(__atomic_load_n(&n_handovers_failed, __ATOMIC_RELAXED), 0);
    /* The one that failed, that one back to where it was, and again. */
    assert_int_equal(__atomic_load_n(&n_handovers, __ATOMIC_RELAXED), net.n_ports / 2 + 2);
    assert_true(all_closed);
    net_uninit(&net);
}

/* It has all that it waits for, so it can end; but what it sleeps on is freed only when nobody is about to wake it. */
static void a_handler_that_ends_is_not_freed_while_a_colleague_wakes_it(void **state)
{
    struct net net;
    net_init(&net, DISPATCH_PER_PORT, 1, 7);
    net_start(&net);
    n_handovers = 0;
    is_held = is_shrunk = false;
    __atomic_store_n(&held_at, 4, __ATOMIC_RELEASE); /* Of seven ports and the fallback: the last of the first handler's. */
    apply(&net, DISPATCH_PER_PORT, 2);
    assert_true(await(is_set, &is_held));
    apply(&net, DISPATCH_PER_PORT, 1);
    bool held = is_set(&is_held);
    set(&is_shrunk);
    assert_int_equal(n_handlers(&net), 1);
    check_all_served(&net, "with one handler again");
    net_uninit(&net);
    assert_false(held);
}

/* ---- Helping. ---- */

static void add_served(odp_port_t no, const struct port_stats *s, void *sum)
{
    *(uint64_t *) sum += __atomic_load_n(&s->wait.n, __ATOMIC_RELAXED);
}

struct served_wish {
    struct net *net;
    uint64_t n;
};

static bool has_served(const void *wish_)
{
    const struct served_wish *wish = wish_;
    uint64_t n = 0;
    for (unsigned int i = 0; i < wish->net->e->n_handlers; i++) {
        handler_show_ports(wish->net->e->handlers[i], add_served, &n);
    }
    return n >= wish->n;
}

/* A port's figures are its handler's to write: else they would be wrong until its next upcall. */
static void what_a_colleague_served_is_counted_though_nothing_more_comes(void **state)
{
    enum { BURST = 400, ROUNDS = 20 };
    struct net net;

    net_init(&net, DISPATCH_PER_PORT, 4, 4);
    crew_set_helps(net.e->crew, true);
    net.e->crew->worth = (struct crew_worth) { .ns = 0, .upcalls = 2, .slice = 1 };
    net_start(&net);
    for (unsigned int round = 1; round <= ROUNDS; round++) {
        for (unsigned int i = 0; i < BURST; i++) {
            inject(&net, 0, 0);
        }
        struct served_wish wish = { &net, (uint64_t) round * BURST };
        if (!await(has_served, &wish)) {
            fail_msg("round %u: of %u upcalls not all are counted as served", round, BURST);
        }
    }
    net_uninit(&net);
}

/* ---- Sessions. ---- */

/* Handlers of 24 CPUs, on sessions for 16; and of those, some go with their handlers while others have them. */
static void more_handlers_than_sessions_lose_nothing(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m], 24, 24);
        net_start(&net);
        size_t fds = count_fds();
        for (unsigned int round = 0; round < 5; round++) {
            check_all_served(&net, "with 24 handlers");
            apply(&net, modes[m], 3);
            check_all_served(&net, "with three handlers");
            apply(&net, modes[m], 24);
        }
        assert_int_equal(session_pool_n_open(net.e->crew->sessions), SESSION_POOL_MAX);
        bool same = await(has_fds, &fds);
        net_uninit(&net);
        assert_true(same);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_is_not_closed_by_its_new_owner_before_the_old_one_has_let_go),
        cmocka_unit_test(a_hand_over_that_fails_is_made_later),
        cmocka_unit_test(a_handler_that_ends_is_not_freed_while_a_colleague_wakes_it),
        cmocka_unit_test(what_a_colleague_served_is_counted_though_nothing_more_comes),
        cmocka_unit_test(more_handlers_than_sessions_lose_nothing),
    };
    main_thread = pthread_self();
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
