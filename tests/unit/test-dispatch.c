/* Dispatch on the simulated datapath, without the engine: how long queues are, and what was lost in them.
 *
 *     p1 … pN ──► channels ──► handlers        the test is main, and plays the handlers but where threads are said to
 *
 * The length of a queue and a channel's count are looked at on their way to the datapath (the linker's --wrap). */
#include <config.h>

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"
#include "lib/dpif/dispatch.h"
#include "lib/dpif/rcvbuf-budget.h"
#include "lib/io/thread.h"
#include "tests/unit/dpif-sim-kit.h"

#define MAX_FDS 8192

static size_t rcvbuf_of[MAX_FDS]; /* By descriptor. */
static unsigned int n_resizes;
static uint64_t drops_before; /* Added to what each channel says. */

int __real_dpif_channel_open(struct dpif *d, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
int __wrap_dpif_channel_open(struct dpif *d, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
int __wrap_dpif_channel_open(struct dpif *d, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid)
{
    int error = __real_dpif_channel_open(d, rcvbuf, ret_fd, ret_pid);
    if (!error) {
        assert_true(*ret_fd < MAX_FDS);
        rcvbuf_of[*ret_fd] = rcvbuf;
    }
    return error;
}

int __real_dpif_channel_set_rcvbuf(struct dpif *d, int fd, size_t rcvbuf);
int __wrap_dpif_channel_set_rcvbuf(struct dpif *d, int fd, size_t rcvbuf);
int __wrap_dpif_channel_set_rcvbuf(struct dpif *d, int fd, size_t rcvbuf)
{
    n_resizes++;
    rcvbuf_of[fd] = rcvbuf;
    return __real_dpif_channel_set_rcvbuf(d, fd, rcvbuf);
}

uint64_t __real_dpif_channel_drops(struct dpif *d, int fd);
uint64_t __wrap_dpif_channel_drops(struct dpif *d, int fd);
uint64_t __wrap_dpif_channel_drops(struct dpif *d, int fd)
{
    /* As the kernel: 32 bits. */
    return (uint32_t) (__real_dpif_channel_drops(d, fd) + drops_before);
}

/* ---- What tests are made of. ---- */

static struct dispatch *d;

static void open_dispatch(enum dpif_dispatch mode, unsigned int n_handlers, const odp_port_t *ports, size_t n_ports)
{
    n_resizes = 0;
    drops_before = 0;
    assert_int_equal(dispatch_open(dpif, session, mode, n_handlers, ports, n_ports, &d), 0);
}

static odp_port_t add_port(unsigned int i)
{
    struct dispatch_port port;
    char name[16];
    odp_port_t no;

    snprintf(name, sizeof name, "p%u", i);
    assert_int_equal(dispatch_port_prepare(d, &port), 0);
    no = port_add(name, port.pid);
    assert_int_equal(dispatch_port_commit(d, &port, no), 0);
    return no;
}

static void del_port(odp_port_t no)
{
    assert_int_equal(dpif_port_del(session, no), 0);
    dispatch_port_del(d, no);
}

/* N upcalls from port NO find the queue full. */
static void lose(odp_port_t no, unsigned int cpu, unsigned int n)
{
    sim_set_fault(dpif, SIM_FAULT_CHANNEL_FULL, n);
    for (unsigned int i = 0; i < n; i++) {
        inject(no.n, cpu, udp(1, 2));
    }
}

/* Handler H carries out its commands, reads all that is there, and closes what is retired. */
static void run_handler(unsigned int h)
{
    struct channel *ready[8];
    int n;

    while ((n = dispatch_wait(d, h, ready, ARRAY_SIZE(ready), 0)) > 0) {
        for (int i = 0; i < n; i++) {
            char buf[2048];
            while (recv(ready[i]->fd, buf, sizeof buf, MSG_DONTWAIT) > 0) {
                continue;
            }
        }
    }
}

/* The loss of port NO (or of handler H, if NO is none), which must have one channel. */
static uint64_t loss_of(odp_port_t no, unsigned int h)
{
    struct dispatch_loss *losses;
    uint64_t found = UINT64_MAX;
    size_t n;

    dispatch_get_loss(d, &losses, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (odp_port_eq(losses[i].port, no) && (!odp_port_eq(no, ODPP_NONE) || losses[i].handler == h)) {
            assert_int_equal(found, UINT64_MAX);
            found = losses[i].n;
        }
    }
    free(losses);
    return found;
}

static uint64_t retired_loss(void)
{
    uint64_t retired;
    dispatch_get_loss(d, NULL, NULL, &retired);
    return retired;
}

static uint64_t total_loss(void) { return dispatch_get_loss(d, NULL, NULL, NULL); }

/* ---- Losses. ---- */

static void losses_are_told_by_port(void **state)
{
    odp_port_t p[3];

    open_dispatch(DPIF_DISPATCH_PER_PORT, 2, NULL, 0);
    for (unsigned int i = 0; i < 3; i++) {
        p[i] = add_port(i);
    }
    lose(p[0], 0, 5);
    lose(p[2], 0, 70);
    assert_int_equal(loss_of(p[0], 0), 5);
    assert_int_equal(loss_of(p[1], 0), 0);
    assert_int_equal(loss_of(p[2], 0), 70);
    assert_int_equal(total_loss(), 75);
    assert_int_equal(retired_loss(), 0);
    assert_int_equal(stats().n_lost, 75);

    /* Other owners are no other channels. */
    assert_int_equal(dispatch_resize(d, 1), 0);
    assert_int_equal(loss_of(p[2], 0), 70);
    dispatch_close(d);
}

static void losses_are_told_by_handler(void **state)
{
    open_dispatch(DPIF_DISPATCH_PER_CPU, 1, NULL, 0);
    odp_port_t p = add_port(0);
    lose(p, 0, 3);
    assert_int_equal(loss_of(ODPP_NONE, 0), 3);
    assert_int_equal(loss_of(ODPP_NONE, 1), UINT64_MAX);

    assert_int_equal(dispatch_resize(d, 2), 0);
    lose(p, 0, 4);
    assert_int_equal(loss_of(ODPP_NONE, 0) + loss_of(ODPP_NONE, 1), 7);
    assert_int_equal(dispatch_resize(d, 1), 0);
    assert_int_equal(total_loss(), 7);
    assert_int_equal(loss_of(ODPP_NONE, 0) + retired_loss(), 7);
    run_handler(1);
    dispatch_trim(d);
    assert_int_equal(total_loss(), 7);
    dispatch_close(d);
}

/* At each step of a port's end: in the list, retired, drained, closed; and its number used again. */
static void the_loss_of_a_port_that_went_is_kept(void **state)
{
    open_dispatch(DPIF_DISPATCH_PER_PORT, 1, NULL, 0);
    odp_port_t p = add_port(0), q = add_port(1);
    lose(p, 0, 5);
    lose(q, 0, 1);

    sim_set_fault(dpif, SIM_FAULT_SLOW_PIDS, 2);
    assert_int_equal(dpif_port_set_pid(session, p, 0), 0);
    dispatch_port_del(d, p);
    assert_int_equal(retired_loss(), 5);
    assert_int_equal(total_loss(), 6);
    /* The kernel is slow: it still sends to the channel, which has no room. */
    lose(p, 0, 2);
    assert_int_equal(total_loss(), 6);
    run_handler(0);
    assert_int_equal(retired_loss(), 7);
    assert_int_equal(total_loss(), 8);
    assert_int_equal(total_loss(), stats().n_lost);

    assert_int_equal(dpif_port_del(session, p), 0);
    assert_int_equal(add_port(2).n, p.n);
    assert_int_equal(loss_of(p, 0), 0);
    assert_int_equal(total_loss(), 8);
    /* A handler that never comes to it does not matter either. */
    lose(p, 0, 10);
    del_port(p);
    assert_int_equal(total_loss(), 18);
    dispatch_close(d);
}

static void a_count_that_wraps_around_goes_on(void **state)
{
    open_dispatch(DPIF_DISPATCH_PER_PORT, 1, NULL, 0);
    odp_port_t p = add_port(0);
    for (unsigned int i = 1; i <= 10; i++) {
        drops_before = i * UINT64_C(0xc0000000);
        assert_int_equal(total_loss(), 2 * drops_before); /* Of the port's channel, and of the fallback. */
    }
    lose(p, 0, 9);
    del_port(p);
    drops_before += 100; /* Of the last moments. */
    run_handler(0);
    assert_int_equal(total_loss(), 2 * (10 * UINT64_C(0xc0000000) + 100) + 9);
    dispatch_close(d);
}

static void the_loss_outlives_a_change_of_mode(void **state)
{
    open_dispatch(DPIF_DISPATCH_PER_PORT, 1, NULL, 0);
    odp_port_t p = add_port(0);
    lose(p, 0, 5);

    struct dispatch *old = d;
    assert_int_equal(dispatch_prepare(dpif, session, DPIF_DISPATCH_PER_CPU, 1, &p, 1, &d), 0);
    dispatch_inherit_loss(d, old);
    assert_int_equal(total_loss(), 5);
    lose(p, 0, 2); /* Still to the old one. */
    assert_int_equal(dispatch_publish(d), 0);
    lose(p, 0, 1);
    assert_int_equal(total_loss(), 6);
    dispatch_inherit_loss(d, old);
    dispatch_close(old);
    assert_int_equal(total_loss(), 8);
    assert_int_equal(stats().n_lost, 8);

    old = d;
    assert_int_equal(dispatch_open(dpif, session, DPIF_DISPATCH_PER_PORT, 1, &p, 1, &d), 0);
    dispatch_inherit_loss(d, old);
    dispatch_close(old);
    assert_int_equal(total_loss(), 8);
    dispatch_close(d);
}

/* ---- Asking while everything changes. ---- */

static bool stop;            /* Atomic. */
static unsigned int n_wrong; /* Atomic: answers. */

static void *asker_main(void *n_asked)
{
    uint64_t last = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        struct dispatch_loss *losses;
        uint64_t retired, sum = 0;
        size_t n;
        uint64_t total = dispatch_get_loss(d, &losses, &n, &retired);
        for (size_t i = 0; i < n; i++) {
            sum += losses[i].n;
        }
        free(losses);
        if (total != sum + retired || total < last) {
            __atomic_add_fetch(&n_wrong, 1, __ATOMIC_RELAXED);
        }
        last = total;
        __atomic_add_fetch((unsigned int *) n_asked, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *handler_main(void *h)
{
    rcu_register_thread(); /* It hands channels over. */
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        run_handler((uintptr_t) h);
        poll(NULL, 0, 1);
    }
    run_handler((uintptr_t) h);
    rcu_unregister_thread();
    return NULL;
}

/* Ports come, lose, and go, channels move between two handlers; another thread asks all the time. */
static void the_total_never_goes_down(void **state)
{
    pthread_t asker, handlers[2];
    unsigned int n_asked = 0;
    odp_port_t p[20];
    uint64_t n_lost = 0;

    stop = false;
    n_wrong = 0;
    open_dispatch(DPIF_DISPATCH_PER_PORT, 2, NULL, 0);
    assert_int_equal(pthread_create(&asker, NULL, asker_main, &n_asked), 0);
    for (uintptr_t h = 0; h < 2; h++) {
        assert_int_equal(pthread_create(&handlers[h], NULL, handler_main, (void *) h), 0);
    }
    for (unsigned int round = 0; round < 50 || __atomic_load_n(&n_asked, __ATOMIC_RELAXED) < 100; round++) {
        for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
            p[i] = add_port(i);
            lose(p[i], 0, 1 + i);
            n_lost += 1 + i;
        }
        d->n_handlers = 1; /* Channels move to the first, and half of them back. */
        assert_int_equal(d->ops->resize(d, 2), 0);
        assert_int_equal(dispatch_resize(d, 2), 0);
        for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
            del_port(p[i]);
        }
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    pthread_join(asker, NULL);
    pthread_join(handlers[0], NULL);
    pthread_join(handlers[1], NULL);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(total_loss(), n_lost);
    assert_int_equal(stats().n_lost, n_lost);
    dispatch_close(d);
}

/* ---- Queues. ---- */

static void assert_all_have(size_t rcvbuf)
{
    for (size_t i = 0; i < d->n_channels; i++) {
        assert_int_equal(rcvbuf_of[d->channels[i]->fd], rcvbuf);
    }
}

static void queues_are_shared_out_as_ports_come_and_go(void **state)
{
    odp_port_t p[300];

    open_dispatch(DPIF_DISPATCH_PER_PORT, 3, NULL, 0);
    size_t share = RCVBUF_MAX;
    for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
        p[i] = add_port(i);
        share = rcvbuf_budget_share(i + 1, share);
        assert_all_have(share);
    }
    assert_true(share < RCVBUF_MAX);
    assert_true(n_resizes < 2 * ARRAY_SIZE(p));
    for (unsigned int i = 0; i < ARRAY_SIZE(p) - 1; i++) {
        del_port(p[i]);
        share = rcvbuf_budget_share(ARRAY_SIZE(p) - i - 1, share);
        assert_all_have(share);
    }
    assert_int_equal(share, RCVBUF_MAX);
    assert_true(n_resizes < 4 * ARRAY_SIZE(p));
    for (unsigned int h = 0; h < 3; h++) {
        run_handler(h);
    }
    dispatch_close(d);
}

/* Those that are there at the start are opened with what they are to have. */
static void queues_of_many_ports_are_opened_with_their_share(void **state)
{
    odp_port_t p[300];

    for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        p[i] = port_add(name, 0);
    }
    open_dispatch(DPIF_DISPATCH_PER_PORT, 3, p, ARRAY_SIZE(p));
    assert_all_have(rcvbuf_budget_share(ARRAY_SIZE(p), RCVBUF_MAX));
    assert_int_equal(n_resizes, 0);
    dispatch_close(d);
}

/* Each handler has its share of channels all the time, whatever comes and goes. */
static void channels_are_dealt_out_evenly(void **state)
{
    open_dispatch(DPIF_DISPATCH_PER_PORT, 3, NULL, 0);
    for (unsigned int i = 0; i < 30; i++) {
        unsigned int n[3] = { 0 };
        odp_port_t no = add_port(i);
        if (i % 3 == 2) {
            del_port(no);
        }
        for (size_t j = 0; j < d->n_channels; j++) {
            n[d->channels[j]->owner]++;
        }
        assert_true(MAX(MAX(n[0], n[1]), n[2]) - MIN(MIN(n[0], n[1]), n[2]) <= 1);
    }
    for (unsigned int h = 0; h < 3; h++) {
        run_handler(h);
    }
    dispatch_close(d);
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    static const struct CMUnitTest tests[] = {
        T(losses_are_told_by_port),
        T(losses_are_told_by_handler),
        T(the_loss_of_a_port_that_went_is_kept),
        T(a_count_that_wraps_around_goes_on),
        T(the_loss_outlives_a_change_of_mode),
        T(the_total_never_goes_down),
        T(queues_are_shared_out_as_ports_come_and_go),
        T(queues_of_many_ports_are_opened_with_their_share),
        T(channels_are_dealt_out_evenly),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_main_uninit();
    return failed;
}
