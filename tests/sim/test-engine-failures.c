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
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dispatch.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/thread.h"
#include "lib/pkt/packet-build.h"
#include "ofproto/engine-private.h"
#include "ofproto/engine.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"
#include "tests/sim/sim-kit.h"

#define ETH_TYPE_TEST 0x88b5 /* IEEE: local experiments. */
#define MAX_PORTS 64
#define MAX_FDS 1024
/* Long enough for a loaded machine; only a failure takes it. */
#define PATIENCE_MS 10000
/* How long a handler is held in the middle of a hand-over, for another one to do what it must not. */
#define TEMPTATION_MS 50
/* A handler that exits reads for a second and serves for four, and then for one batch; the rest is for a machine that is busy. */
#define EXIT_MS 10000

/* ---- Waiting. ---- */

/* Waits until DONE(AUX), LIMIT_MS at most.  What it waits for is made by other threads, most of which have nobody to tell: so it
 * looks every millisecond. */
static bool await_within(bool (*done)(const void *aux), const void *aux, unsigned int limit_ms)
{
    uint64_t end = clock_msec() + limit_ms;
    while (!done(aux)) {
        if (clock_msec() >= end) {
            return done(aux);
        }
        poll(NULL, 0, 1);
    }
    return true;
}

static bool await(bool (*done)(const void *aux), const void *aux) { return await_within(done, aux, PATIENCE_MS); }

static bool is_set(const void *flag) { return __atomic_load_n((const bool *) flag, __ATOMIC_ACQUIRE); }
static void set(bool *flag) { __atomic_store_n(flag, true, __ATOMIC_RELEASE); }

/* ---- Faults. ---- */

/* -1: no fault.  Else that many more calls succeed, and then all fail. */
static int sessions_left, channels_left, handlers_left, dispatches_left, pids_left;
static int watches_left; /* Epoll watches that main makes. */

static bool refused(int *left)
{
    int n = __atomic_load_n(left, __ATOMIC_RELAXED);
    if (n > 0) {
        __atomic_store_n(left, n - 1, __ATOMIC_RELAXED);
    }
    return n == 0;
}

/* Hand-overs: what becomes of the EPOLL_CTL_ADD that a handler makes. */
enum handover { HANDOVER_NORMAL, HANDOVER_TEMPT, HANDOVER_FAIL };
static enum handover handover;
static bool ports_deleted;       /* The tempted handler waits for it. */
static bool fd_closed[MAX_FDS];  /* Channels. */
static int n_handovers;          /* Atomic. */
static int n_handovers_failed;   /* Atomic: for another reason than ours. */
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
    int error = refused(&channels_left) ? -EMFILE : __real_dpif_channel_open(dpif, rcvbuf, ret_fd, ret_pid);
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
    if (op != EPOLL_CTL_ADD || pthread_equal(pthread_self(), main_thread)) {
        if (op == EPOLL_CTL_ADD && refused(&watches_left)) {
            errno = ENOSPC;
            return -1;
        }
        return __real_epoll_ctl(epoll_fd, op, fd, event);
    }
    /* A handler hands a channel over. */
    __atomic_add_fetch(&n_handovers, 1, __ATOMIC_RELAXED);
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

static void faults_clear(void)
{
    __atomic_store_n(&sessions_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&channels_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&handlers_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&dispatches_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&pids_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&watches_left, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&handover, HANDOVER_NORMAL, __ATOMIC_RELAXED);
}

static bool has_fds(const void *n) { return count_fds() == *(const size_t *) n; }

/* ---- The network. ---- */

struct net {
    struct engine *e;
    struct engine_settings settings;
    struct mac_table *macs;
    odp_port_t odp[MAX_PORTS];
    unsigned int n_ports;
    unsigned int n_hosts; /* Source addresses used so far. */
    unsigned int n_out;   /* Atomic: frames that left. */
    bool stop_flood;      /* Atomic. */
};

static void frame_left(odp_port_t port, const void *frame, size_t len, void *net_)
{
    struct net *net = net_;
    __atomic_add_fetch(&net->n_out, 1, __ATOMIC_RELAXED);
}

static struct xconfig *net_config(struct net *net)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", net->macs);

    br->normal = true;
    for (unsigned int i = 0; i < net->n_ports; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        struct xbundle *b = xbridge_add_bundle(br, name, i + 1);
        b->vlan_mode = VLAN_TRUNK;
        b->trunks.any = true;
        b->floodable = true;
        xbundle_add_port(b, name, (ofp_port_t) { i + 1 }, net->odp[i]);
    }
    xconfig_seal(c);
    return c;
}

static void net_init(struct net *net, enum dispatch_wish dispatch, unsigned int n_handlers, unsigned int n_ports)
{
    char *why = NULL;

    sim_reset(); /* A test that failed leaves its datapath behind. */
    faults_clear();
    *net = (struct net) { .settings = ENGINE_SETTINGS_DEFAULT, .macs = mac_table_create() };
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = n_handlers;
    net->settings.n_revalidators = 1;
    assert_int_equal(engine_create("sim", "failures", &net->settings, &net->e, &why), 0);
    sim_set_output_cb(engine_dpif(net->e), frame_left, net);
    for (; net->n_ports < n_ports; net->n_ports++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", net->n_ports);
        assert_int_equal(engine_port_add(net->e, name, DPIF_PORT_NETDEV, ODPP_NONE, &net->odp[net->n_ports]), 0);
    }
}

/* The engine's threads begin here. */
static void net_start(struct net *net) { engine_set_config(net->e, net_config(net)); }

static void net_uninit(struct net *net)
{
    if (net->e) {
        engine_destroy(net->e, true);
    }
    mac_table_unref(net->macs);
    rcu_barrier();
    sim_reset();
}

static void inject(struct net *net, unsigned int port, unsigned int cpu)
{
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    unsigned int host = net->n_hosts++;
    struct eth_addr src = { { 2, 0, host >> 24, host >> 16, host >> 8, host } };
    struct packet_build p;

    packet_build_eth(&p, src, broadcast, ETH_TYPE_TEST);
    packet_build_bytes(&p, NULL, 60 - p.len);
    sim_inject(engine_dpif(net->e), net->odp[port], cpu, p.data, p.len);
}

struct out_wish {
    const struct net *net;
    unsigned int n;
};

static bool has_left(const void *wish_)
{
    const struct out_wish *wish = wish_;
    return __atomic_load_n(&wish->net->n_out, __ATOMIC_RELAXED) >= wish->n;
}

/* A host that was never heard of speaks at each port, on each CPU: all ports hear it, and nothing is lost. */
static void check_all_served(struct net *net, const char *when)
{
    struct out_wish wish = { .net = net, .n = 2 * net->n_ports * (net->n_ports - 1) };
    struct dpif_stats stats;

    __atomic_store_n(&net->n_out, 0, __ATOMIC_RELAXED);
    for (unsigned int i = 0; i < 2 * net->n_ports; i++) {
        inject(net, i / 2, i % 2);
    }
    bool all = await(has_left, &wish);
    assert_int_equal(dpif_get_stats(engine_session(net->e), &stats), 0);
    unsigned int n_out = __atomic_load_n(&net->n_out, __ATOMIC_RELAXED);
    if (!all || stats.n_lost || n_out != wish.n) {
        fail_msg("%s: %u frames left (not %u), the kernel lost %llu upcalls", when, n_out, wish.n,
                 (unsigned long long) stats.n_lost);
    }
}

static unsigned int n_handlers(struct net *net)
{
    struct engine_memory memory;
    engine_memory(net->e, &memory);
    return memory.n_handlers;
}

static void apply(struct net *net, enum dispatch_wish dispatch, unsigned int n)
{
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = n;
    engine_apply_settings(net->e, &net->settings);
}

static const enum dispatch_wish modes[] = { DISPATCH_PER_CPU, DISPATCH_PER_PORT };

/* ---- Changing the mode. ---- */

/* From each mode to the other.  While FAULT lets 0, or any number up to MOST, succeed: nothing has changed; without it, all has. */
static void mode_change(int *fault, int most)
{
    for (int m = 0; m < 2; m++) {
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
static void a_mode_change_without_handlers_is_not_told_to_the_kernel(void **state) { mode_change(&sessions_left, 1); }

static void a_mode_change_without_channels_changes_nothing(void **state) { mode_change(&channels_left, 1); }

/* Two are the handlers' own; then come those of at least two channels. */
static void a_mode_change_without_watches_changes_nothing(void **state) { mode_change(&watches_left, 3); }

static void a_mode_change_without_threads_changes_nothing(void **state) { mode_change(&handlers_left, 1); }

static void a_mode_change_that_the_kernel_refuses_changes_nothing(void **state) { mode_change(&dispatches_left, 0); }

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
    growth(0, &watches_left, 3);
    growth(1, &watches_left, 3);
}

/* One watch more for each handler than in the test before: now channels fail. */
static void channels_that_were_opened_are_closed_when_not_all_can_be_watched(void **state)
{
    growth(0, &watches_left, 12);
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
    /* The second handler has an epoll set and a wakeup of its own; each channel had both ends of a pair. */
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
    __atomic_store_n(&sessions_left, 17, __ATOMIC_RELAXED);
    net_start(&net);
    faults_clear();
    assert_int_equal(revalidators_n(net.e->revalidators), 17);
    check_all_served(&net, "with 17 revalidators of 200");
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
        cmocka_unit_test(a_mode_change_without_threads_changes_nothing),
        cmocka_unit_test(a_mode_change_that_the_kernel_refuses_changes_nothing),
        cmocka_unit_test(channels_stay_where_they_are_when_not_all_handlers_can_be_made),
        cmocka_unit_test(channels_stay_where_they_are_when_not_all_threads_can_be_started),
        cmocka_unit_test(channels_stay_where_they_are_when_not_all_handlers_can_sleep),
        cmocka_unit_test(channels_that_were_opened_are_closed_when_not_all_can_be_watched),
        cmocka_unit_test(channels_that_were_opened_are_closed_when_not_all_can_be),
        cmocka_unit_test(channels_that_were_opened_are_closed_when_the_kernel_refuses_them),
        cmocka_unit_test(a_port_for_which_there_is_no_channel_leaves_nothing_behind),
        cmocka_unit_test(a_port_whose_channel_cannot_be_watched_leaves_nothing_behind),
        cmocka_unit_test(a_port_that_the_datapath_refuses_leaves_nothing_behind),
        cmocka_unit_test(a_port_that_cannot_be_taken_over_stays_as_it_was),
        cmocka_unit_test(a_channel_is_not_closed_by_its_new_owner_before_the_old_one_has_let_go),
        cmocka_unit_test(a_hand_over_that_fails_is_made_later),
        cmocka_unit_test(what_a_colleague_served_is_counted_though_nothing_more_comes),
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
