/* The simulated datapath keeps the kernel's rules: of datapaths, ports, dispatch and channels. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>

#include "tests/unit/dpif-sim-kit.h"

/* ---- Datapaths. ---- */

static void test_datapath_outlives_its_handles(void **state)
{
    port_add("p1", 0);
    assert_int_equal(put(1, udp(1, 2), 1), 0);
    assert_int_equal(dpif_flow_flush(session), 0);
    assert_int_equal(put(1, udp(1, 2), 1), 0);
    dpif_session_close(session);
    dpif_close(dpif);
    setup(NULL);
    assert_string_equal(port_get(1).name, "p1");
    assert_int_equal(stats().n_flows, 1);
    assert_string_equal(port_get(0).name, "dp");
    assert_int_equal(port_get(0).type, DPIF_PORT_INTERNAL);
}

static void count_dp(const char *type, const char *name, void *aux)
{
    int *n = aux;
    assert_string_equal(type, "sim");
    assert_string_equal(name, "dp");
    ++*n;
}

static void test_destroyed_datapath_is_enodev_to_all_handles(void **state)
{
    struct dpif *other;
    struct dpif_session *s;
    int n = 0;
    assert_int_equal(dpif_open("sim", "dp", &other, NULL), 0);
    assert_int_equal(dpif_session_open(other, &s), 0);
    port_add("p1", 0);
    assert_int_equal(dpif_enumerate(count_dp, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(dpif_destroy(s), 0);
    struct dpif_stats st;
    odp_port_t no;
    assert_int_equal(dpif_get_stats(session, &st), -ENODEV);
    assert_int_equal(dpif_port_add(session, "x", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no), -ENODEV);
    assert_int_equal(put(1, udp(1, 2), 1), -ENODEV);
    assert_int_equal(dpif_destroy(session), -ENODEV);
    inject(1, 0, udp(1, 2));
    n = 0;
    dpif_enumerate(count_dp, &n);
    assert_int_equal(n, 0);
    dpif_session_close(s);
    dpif_close(other);
}

/* ---- Ports. ---- */

static void test_ports_get_the_lowest_free_number_or_the_requested(void **state)
{
    odp_port_t no;
    assert_int_equal(port_add("p1", 0).n, 1);
    assert_int_equal(port_add("p2", 0).n, 2);
    assert_int_equal(dpif_port_add(session, "p9", DPIF_PORT_NETDEV, 0, odp(9), &no), 0);
    assert_int_equal(no.n, 9);
    assert_int_equal(dpif_port_add(session, "q", DPIF_PORT_NETDEV, 0, odp(9), &no), -EBUSY);
    assert_int_equal(dpif_port_add(session, "q", DPIF_PORT_NETDEV, 0, odp(65535), &no), -EFBIG);
    assert_int_equal(dpif_port_del(session, odp(1)), 0);
    assert_int_equal(dpif_port_del(session, odp(1)), -ENODEV);
    assert_int_equal(dpif_port_del(session, ODPP_LOCAL), -EINVAL);
    assert_int_equal(port_add("q", 0).n, 1);
    assert_int_equal(port_add("r", 0).n, 3);
}

static void test_port_names_are_checked_and_belong_to_one_datapath(void **state)
{
    struct dpif *other;
    struct dpif_session *s;
    struct dpif_port port;
    odp_port_t no;
    port_add("p1", 7);
    assert_int_equal(dpif_open("sim", "dp2", &other, NULL), 0);
    assert_int_equal(dpif_session_open(other, &s), 0);
    assert_int_equal(dpif_port_add(s, "p1", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no), -EBUSY);
    assert_string_equal(dpif_session_error(s), "p1: the device is in a datapath already");
    assert_int_equal(dpif_port_add(s, "dp", DPIF_PORT_INTERNAL, 0, ODPP_NONE, &no), -EEXIST);
    assert_int_equal(dpif_port_add(s, "sixteen-letters-", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no), -ENAMETOOLONG);
    assert_int_equal(dpif_port_add(s, "", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no), -ENODEV);
    assert_int_equal(dpif_port_add(session, "p1", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no), -EEXIST);
    assert_int_equal(dpif_port_query_by_name(s, "p1", &port), -ENODEV);
    assert_int_equal(dpif_port_query_by_name(session, "p1", &port), 0);
    assert_int_equal(port.upcall_pid, 7);
    assert_int_equal(port.no.n, 1);
    dpif_session_close(s);
    dpif_close(other);
}

struct events {
    int n[3];
    char last[IFNAMSIZ];
};

static void event_cb(enum dpif_port_event event, const struct dpif_port *port, void *aux)
{
    struct events *e = aux;
    e->n[event]++;
    strcpy(e->last, port->name);
    dpif_get_stats(session, &(struct dpif_stats){ 0 }); /* A callback may make requests. */
}

static bool readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 0) == 1;
}

static void test_every_handle_hears_port_events(void **state)
{
    struct dpif *other;
    struct events a = { 0 }, b = { 0 };
    assert_int_equal(dpif_open("sim", "dp", &other, NULL), 0);
    assert_false(readable(dpif_port_events_fd(dpif)));
    port_add("p1", 0);
    dpif_port_set_pid(session, odp(1), 5);
    assert_int_equal(sim_port_vanish(dpif, "p1"), 0);
    assert_int_equal(sim_port_vanish(dpif, "p1"), -ENODEV);
    assert_true(readable(dpif_port_events_fd(dpif)));
    assert_int_equal(dpif_port_poll(dpif, event_cb, &a), 0);
    assert_false(readable(dpif_port_events_fd(dpif)));
    assert_int_equal(dpif_port_poll(other, event_cb, &b), 0);
    assert_string_equal(a.last, "p1");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a.n[i], 1);
        assert_int_equal(b.n[i], 1);
    }
    dpif_close(other);
}

static void test_lost_port_events_are_reported_once_and_the_rest_follow(void **state)
{
    struct events e = { 0 };
    sim_set_fault(dpif, SIM_FAULT_EVENTS_LOST, 2);
    port_add("p1", 0);
    port_add("p2", 0);
    port_add("p3", 0);
    assert_int_equal(dpif_port_poll(dpif, event_cb, &e), -ENOBUFS);
    assert_true(readable(dpif_port_events_fd(dpif)));
    assert_int_equal(dpif_port_poll(dpif, event_cb, &e), 0);
    assert_int_equal(e.n[DPIF_PORT_EVENT_ADDED], 1);
    assert_string_equal(e.last, "p3");
}

static void port_count_cb(const struct dpif_port *port, void *aux)
{
    int *n = aux;
    ++*n;
}

static void test_ten_thousand_ports(void **state)
{
    struct events e = { 0 };
    int n = 0;
    for (uint32_t i = 1; i <= 10000; i++) {
        char name[IFNAMSIZ];
        snprintf(name, sizeof name, "port%u", i);
        assert_int_equal(port_add(name, i).n, i);
    }
    assert_int_equal(dpif_port_dump(session, port_count_cb, &n), 0);
    assert_int_equal(n, 10001);
    assert_int_equal(port_get(7777).upcall_pid, 7777);
    assert_int_equal(dpif_port_poll(dpif, event_cb, &e), -ENOBUFS); /* Nobody listened. */
}

/* ---- Dispatch and channels. ---- */

static void test_miss_goes_to_the_port_s_channel_as_the_kernel_s_message(void **state)
{
    struct chan ch;
    struct dpif *other;
    struct packet_build p = udp(1, 2);
    chan_open(&ch, 1 << 16);
    assert_int_equal(dpif_open("sim", "dp2", &other, NULL), 0);
    port_add("p1", ch.pid);
    inject(1, 3, p);
    assert_true(readable(ch.fd));
    assert_int_equal(sim_channel_depth(dpif, ch.pid), 1);
    assert_int_equal(chan_drain(&ch), 1);
    assert_int_equal(sim_channel_depth(dpif, ch.pid), 0);
    assert_int_equal(ch.uc.type, DPIF_UC_MISS);
    assert_int_equal(ch.uc.packet_len, p.len);
    assert_memory_equal(ch.uc.packet, p.data, p.len);
    assert_true(ch.uc.has_hash);
    assert_int_equal(ch.key.in_port.n, 1);
    assert_int_equal(ch.key.tp_dst, htons(2000));
    struct nlmsghdr *nlh = (void *) ch.buf;
    struct dpif_upcall uc;
    assert_int_equal(dpif_upcall_parse(other, nlh, nlh->nlmsg_len, &uc), -ESTALE);
    assert_int_equal(stats().n_missed, 1);
    assert_int_equal(stats().n_lost, 0);
    assert_int_equal(port_get(1).upcall_success, 1);
    assert_int_equal(port_get(1).rx_packets, 1);
    assert_int_equal(port_get(1).rx_bytes, p.len);
    dpif_close(other);
    chan_close(&ch);
}

static void test_upcalls_to_pid_0_or_to_nobody_are_lost(void **state)
{
    struct chan ch;
    chan_open(&ch, 1 << 16);
    port_add("p1", 0);
    inject(1, 0, udp(1, 2));
    assert_int_equal(stats().n_missed, 1);
    assert_int_equal(stats().n_lost, 1);
    assert_int_equal(port_get(1).upcall_fail, 0);
    dpif_port_set_pid(session, odp(1), ch.pid);
    inject(1, 0, udp(1, 2));
    assert_int_equal(chan_drain(&ch), 1);
    chan_close(&ch);
    inject(1, 0, udp(1, 2));
    assert_int_equal(stats().n_missed, 3);
    assert_int_equal(stats().n_lost, 2);
    assert_int_equal(port_get(1).upcall_fail, 1);
}

static void test_per_cpu_dispatch_goes_by_cpu_and_wraps_around(void **state)
{
    struct chan ch[3];
    uint32_t pids[2];
    for (int i = 0; i < 3; i++) {
        chan_open(&ch[i], 1 << 16);
    }
    pids[0] = ch[0].pid;
    pids[1] = ch[1].pid;
    port_add("p1", ch[2].pid);
    assert_int_equal(dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, pids, 0), -EINVAL);
    assert_int_equal(dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, pids, 2), 0);
    inject(1, 0, udp(1, 2));
    inject(1, 1, udp(1, 2));
    assert_int_equal(counts().n_cpu_mismatch, 0);
    inject(1, 5, udp(1, 2));
    assert_int_equal(counts().n_cpu_mismatch, 1);
    assert_int_equal(chan_drain(&ch[0]), 1);
    assert_int_equal(chan_drain(&ch[1]), 2);
    assert_int_equal(chan_drain(&ch[2]), 0);
    pids[1] = 0;
    dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, pids, 2);
    inject(1, 1, udp(1, 2));
    assert_int_equal(stats().n_lost, 1);
    assert_int_equal(dpif_set_dispatch(session, DPIF_DISPATCH_PER_PORT, NULL, 0), 0);
    inject(1, 1, udp(1, 2));
    assert_int_equal(chan_drain(&ch[2]), 1);
    for (int i = 0; i < 3; i++) {
        chan_close(&ch[i]);
    }
}

static void test_full_channel_drops_what_does_not_fit_and_nothing_else(void **state)
{
    struct chan ch;
    chan_open(&ch, 5 * CHARGE);
    port_add("p1", ch.pid);
    for (int i = 0; i < 8; i++) {
        inject(1, 0, udp(1, 2));
    }
    assert_int_equal(sim_channel_depth(dpif, ch.pid), 5);
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 3);
    assert_int_equal(stats().n_lost, 3);
    assert_int_equal(stats().n_missed, 8);
    /* No latch: as much fits as was read. */
    assert_int_equal(chan_read(&ch, 2), 2);
    for (int i = 0; i < 3; i++) {
        inject(1, 0, udp(1, 2));
    }
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 4);
    assert_int_equal(stats().n_lost, 4);
    assert_int_equal(chan_drain(&ch), 5);
    assert_int_equal(port_get(1).upcall_success, 7);
    assert_int_equal(port_get(1).upcall_fail, 4);
    chan_close(&ch);
}

static void test_a_queue_becomes_longer_and_shorter_while_it_is_used(void **state)
{
    struct chan ch;
    chan_open(&ch, 2 * CHARGE);
    port_add("p1", ch.pid);
    for (int i = 0; i < 3; i++) {
        inject(1, 0, udp(1, 2));
    }
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 1);
    assert_int_equal(dpif_channel_set_rcvbuf(dpif, ch.fd, 1000 * CHARGE), 0);
    for (int i = 0; i < 998; i++) {
        inject(1, 0, udp(1, 2));
    }
    assert_int_equal(sim_channel_depth(dpif, ch.pid), 1000);
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 1);
    /* What is there stays; what comes finds no room until enough has been read. */
    assert_int_equal(dpif_channel_set_rcvbuf(dpif, ch.fd, 5 * CHARGE), 0);
    inject(1, 0, udp(1, 2));
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 2);
    assert_int_equal(chan_read(&ch, 995), 995);
    inject(1, 0, udp(1, 2));
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 3);
    assert_int_equal(chan_read(&ch, 1), 1);
    inject(1, 0, udp(1, 2));
    assert_int_equal(dpif_channel_drops(dpif, ch.fd), 3);
    assert_int_equal(chan_drain(&ch), 5);
    chan_close(&ch);
    assert_int_equal(dpif_channel_set_rcvbuf(dpif, ch.fd, CHARGE), -EBADF);
}

static void test_accounting_is_by_true_size(void **state)
{
    struct chan ch;
    struct packet_build big = udp(1, 2);
    assert_int_equal(sim_charge(260), CHARGE);
    assert_int_equal(sim_charge(1700), 2048 + 256);
    packet_build_bytes(&big, NULL, 1400);
    chan_open(&ch, 2 * CHARGE);
    port_add("p1", ch.pid);
    inject(1, 0, big);
    inject(1, 0, udp(1, 2));
    assert_int_equal(chan_drain(&ch), 1);
    inject(1, 0, udp(1, 2));
    inject(1, 0, udp(1, 2));
    assert_int_equal(chan_drain(&ch), 2);
    chan_close(&ch);
    /* An empty queue takes any one message. */
    chan_open(&ch, 1);
    dpif_port_set_pid(session, odp(1), ch.pid);
    inject(1, 0, big);
    inject(1, 0, big);
    assert_int_equal(chan_drain(&ch), 1);
    chan_close(&ch);
}

static void test_large_buffer_holds_thousands(void **state)
{
    struct chan ch;
    chan_open(&ch, 4 << 20);
    port_add("p1", ch.pid);
    for (int i = 0; i < 4000; i++) {
        inject(1, 0, udp(1, i));
    }
    size_t depth = sim_channel_depth(dpif, ch.pid);
    uint64_t drops = dpif_channel_drops(dpif, ch.fd);
    assert_int_equal(depth + drops, 4000);
    assert_int_equal(drops, stats().n_lost);
    assert_true(depth <= (4 << 20) / CHARGE && depth > 100);
    assert_int_equal(chan_drain(&ch), depth);
    chan_close(&ch);
}

static void test_old_pids_deliver_for_a_while_when_the_kernel_is_slow(void **state)
{
    struct chan old, new;
    chan_open(&old, 1 << 16);
    chan_open(&new, 1 << 16);
    port_add("p1", old.pid);
    sim_set_fault(dpif, SIM_FAULT_SLOW_PIDS, 2);
    dpif_port_set_pid(session, odp(1), new.pid);
    for (int i = 0; i < 5; i++) {
        inject(1, 0, udp(1, 2));
    }
    assert_int_equal(chan_drain(&old), 2);
    assert_int_equal(chan_drain(&new), 3);
    dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, &old.pid, 1);
    inject(1, 0, udp(1, 2)); /* Still by port. */
    inject(1, 0, udp(1, 2));
    inject(1, 0, udp(1, 2));
    assert_int_equal(chan_drain(&new), 2);
    assert_int_equal(chan_drain(&old), 1);
    assert_int_equal(counts().n_stale_pids, 4);
    sim_set_fault(dpif, SIM_FAULT_CHANNEL_FULL, 1);
    inject(1, 0, udp(1, 2));
    inject(1, 0, udp(1, 2));
    assert_int_equal(chan_drain(&old), 1);
    assert_int_equal(dpif_channel_drops(dpif, old.fd), 1);
    chan_close(&old);
    chan_close(&new);
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_datapath_outlives_its_handles),
        T(test_destroyed_datapath_is_enodev_to_all_handles),
        T(test_ports_get_the_lowest_free_number_or_the_requested),
        T(test_port_names_are_checked_and_belong_to_one_datapath),
        T(test_every_handle_hears_port_events),
        T(test_lost_port_events_are_reported_once_and_the_rest_follow),
        T(test_ten_thousand_ports),
        T(test_miss_goes_to_the_port_s_channel_as_the_kernel_s_message),
        T(test_upcalls_to_pid_0_or_to_nobody_are_lost),
        T(test_per_cpu_dispatch_goes_by_cpu_and_wraps_around),
        T(test_full_channel_drops_what_does_not_fit_and_nothing_else),
        T(test_a_queue_becomes_longer_and_shorter_while_it_is_used),
        T(test_accounting_is_by_true_size),
        T(test_large_buffer_holds_thousands),
        T(test_old_pids_deliver_for_a_while_when_the_kernel_is_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
