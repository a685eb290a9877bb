/* Tests of lib/nl/link: in a network namespace of its own, with veth pairs.  Skipped where that is not permitted.
 *
 *     new namespace:   va <--veth--> vb     lo */
#include <config.h>

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/util.h"
#include "lib/nl/link.h"
#include "lib/nl/nl.h"

static struct nl_sock *rtnl;

/* Creates or deletes a device.  PEER: of a veth pair, NULL for none; KIND NULL: deletes. */
static int change_device(const char *name, const char *kind, const char *peer)
{
    _Alignas(struct nlmsghdr) char buf[512];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = kind ? RTM_NEWLINK : RTM_DELLINK;
    nlh->nlmsg_flags = kind ? NLM_F_CREATE | NLM_F_EXCL : 0;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    if (kind) {
        struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
        mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
        if (peer) {
            struct nlattr *data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
            struct nlattr *p = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
            mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
            mnl_attr_put_strz(nlh, IFLA_IFNAME, peer);
            mnl_attr_nest_end(nlh, p);
            mnl_attr_nest_end(nlh, data);
        }
        mnl_attr_nest_end(nlh, info);
    }
    return nl_transact(rtnl, nlh, NULL, NULL);
}

/* Sets NAME's master (0: none) or new name. */
static int change_u32_or_name(const char *name, const uint32_t *master, const char *new_name)
{
    _Alignas(struct nlmsghdr) char buf[512];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = RTM_SETLINK;
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = if_nametoindex(name);
    if (master) {
        mnl_attr_put_u32(nlh, IFLA_MASTER, *master);
    }
    if (new_name) {
        mnl_attr_put_strz(nlh, IFLA_IFNAME, new_name);
    }
    return nl_transact(rtnl, nlh, NULL, NULL);
}

static struct link_info query(const char *name)
{
    struct link_info info;
    assert_int_equal(link_query(rtnl, name, &info), 0);
    return info;
}

static int make_pair(void **state) { return change_device("va", "veth", "vb"); }
static int delete_pair(void **state) { return change_device("va", NULL, NULL); }

static void a_device_is_described_as_the_kernel_knows_it(void **state)
{
    struct link_info va = query("va"), lo = query("lo");

    assert_string_equal(va.name, "va");
    assert_string_equal(va.kind, "veth");
    assert_int_equal(va.ifindex, if_nametoindex("va"));
    assert_int_equal(va.mtu, 1500);
    assert_false(eth_addr_is_zero(va.mac));
    assert_false(eth_addr_is_multicast(va.mac));
    assert_false(va.flags & IFF_UP);
    assert_string_equal(lo.kind, "");
    assert_int_equal(lo.ifindex, 1);
    assert_true(lo.flags & IFF_LOOPBACK);
}

static void unknown_and_impossible_names_are_no_device(void **state)
{
    const char *names[] = { "vx", "", "sixteen-bytes-ab", "a-name-that-is-much-too-long-for-any-device" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct link_info info = { .ifindex = 42 };
        struct link_driver driver;
        struct eth_addr mac = { { 2, 0, 0, 0, 0, 1 } };
        uint64_t bps;
        bool full;

        assert_int_equal(link_query(rtnl, names[i], &info), -ENODEV);
        assert_int_equal(info.ifindex, 42);
        assert_int_equal(link_set_mac(rtnl, names[i], mac), -ENODEV);
        assert_int_equal(link_set_mtu(rtnl, names[i], 1400), -ENODEV);
        assert_int_equal(link_set_up(rtnl, names[i], true), -ENODEV);
        assert_int_equal(link_get_driver(names[i], &driver), -ENODEV);
        assert_int_equal(link_get_speed(names[i], &bps, &full), -ENODEV);
        assert_int_equal(link_disable_lro(names[i]), -ENODEV);
    }
}

static void a_device_in_use_by_an_alternative_name_is_not_found_by_it(void **state)
{
    _Alignas(struct nlmsghdr) char buf[512];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct link_info info;

    nlh->nlmsg_type = RTM_NEWLINKPROP;
    nlh->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND;
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = if_nametoindex("va");
    struct nlattr *list = mnl_attr_nest_start(nlh, IFLA_PROP_LIST | NLA_F_NESTED);
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "other");
    mnl_attr_nest_end(nlh, list);
    if (nl_transact(rtnl, nlh, NULL, NULL)) {
        skip(); /* Kernels before 5.5. */
    }
    assert_int_equal(link_query(rtnl, "other", &info), -ENODEV);
}

static void address_mtu_and_state_can_be_set(void **state)
{
    struct eth_addr mac = { { 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee } };

    assert_int_equal(link_set_mac(rtnl, "va", mac), 0);
    assert_int_equal(link_set_mtu(rtnl, "va", 9000), 0);
    assert_int_equal(link_set_up(rtnl, "va", true), 0);
    struct link_info va = query("va");
    assert_true(eth_addr_eq(va.mac, mac));
    assert_int_equal(va.mtu, 9000);
    assert_true(va.flags & IFF_UP);
    assert_false(link_has_carrier(&va)); /* The other end is down. */

    assert_int_equal(link_set_up(rtnl, "vb", true), 0);
    /* The kernel settles the carrier a moment later. */
    unsigned int link_resets = va.link_resets;
    for (int i = 0; i < 500 && !link_has_carrier(&va); i++) {
        poll(NULL, 0, 10);
        va = query("va");
    }
    assert_true(link_has_carrier(&va));
    assert_true(va.link_resets > link_resets);
    assert_int_equal(link_set_up(rtnl, "va", false), 0);
    assert_false(query("va").flags & IFF_UP);
}

static void wrong_values_are_refused(void **state)
{
    struct eth_addr multicast = { { 1, 0, 0, 0, 0, 1 } };

    assert_int_equal(link_set_mac(rtnl, "va", multicast), -EADDRNOTAVAIL);
    assert_int_equal(link_set_mtu(rtnl, "va", 10), -EINVAL);
    assert_int_equal(query("va").mtu, 1500);
}

static void counters_count_what_passes(void **state)
{
    struct link_info before = query("lo");

    assert_int_equal(link_set_up(rtnl, "lo", true), 0);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char data[100] = { 0 };
    assert_int_equal(sendto(fd, data, sizeof data, 0, (struct sockaddr *) &to, sizeof to), sizeof data);
    close(fd);
    struct link_info after = query("lo");
    assert_true(after.stats.tx_packets > before.stats.tx_packets);
    assert_true(after.stats.rx_bytes >= before.stats.rx_bytes + sizeof data);
    assert_int_equal(after.stats.rx_errors, 0);
}

static void ethtool_tells_driver_and_speed(void **state)
{
    struct link_driver driver;
    uint64_t bps = 7;
    bool full = false;

    assert_int_equal(link_get_driver("va", &driver), 0);
    assert_string_equal(driver.name, "veth");
    assert_int_equal(link_get_speed("va", &bps, &full), 0);
    assert_int_equal(bps, UINT64_C(10000000000));
    assert_true(full);
    bps = 7;
    assert_int_equal(link_get_speed("lo", &bps, &full), -EOPNOTSUPP);
    assert_int_equal(bps, 7);
    assert_int_equal(link_disable_lro("va"), 0);
}

struct events {
    char text[4096]; /* "+NAME" or "-NAME", each once in a row. */
    char last[64];
};
static void event_cb(const struct link_info *info, bool deleted, void *aux)
{
    struct events *e = aux;
    char text[64];

    snprintf(text, sizeof text, "%c%s ", deleted ? '-' : '+', info->name);
    if (strcmp(text, e->last)) {
        strcpy(e->last, text);
        strncat(e->text, text, sizeof e->text - strlen(e->text) - 1);
    }
}

/* Waits until the events contain TEXT. */
static void await(struct nl_sock *monitor, struct events *e, const char *text)
{
    for (int i = 0; i < 500 && !strstr(e->text, text); i++) {
        struct pollfd pfd = { .fd = nl_sock_fd(monitor), .events = POLLIN };
        poll(&pfd, 1, 10);
        assert_int_equal(link_monitor_poll(monitor, event_cb, e), 0);
    }
    assert_non_null(strstr(e->text, text));
}

static void the_monitor_tells_of_every_change_and_deletion(void **state)
{
    struct nl_sock *monitor;
    struct events e = { "", "" };

    assert_int_equal(link_monitor_open(&monitor), 0);
    assert_int_equal(link_monitor_poll(monitor, event_cb, &e), 0);
    assert_string_equal(e.text, "");

    assert_int_equal(change_device("vc", "veth", "vd"), 0);
    await(monitor, &e, "+vc ");
    await(monitor, &e, "+vd ");
    e = (struct events){ "", "" };
    assert_int_equal(link_set_mtu(rtnl, "vc", 1400), 0);
    await(monitor, &e, "+vc ");
    assert_int_equal(change_u32_or_name("vc", NULL, "vnew"), 0);
    await(monitor, &e, "+vnew ");
    assert_null(strstr(e.text, "-")); /* A renamed one is not deleted. */
    assert_int_equal(change_device("vnew", NULL, NULL), 0);
    await(monitor, &e, "-vnew ");
    await(monitor, &e, "-vd ");
    nl_sock_close(monitor);
}

static void leaving_a_kernel_bridge_is_no_deletion(void **state)
{
    struct nl_sock *monitor;
    struct events e = { "", "" };
    uint32_t master, none = 0;

    if (change_device("kbr", "bridge", NULL)) {
        skip(); /* A kernel without bridges. */
    }
    master = if_nametoindex("kbr");
    assert_int_equal(link_monitor_open(&monitor), 0);
    assert_int_equal(change_u32_or_name("va", &master, NULL), 0);
    assert_int_equal(change_u32_or_name("va", &none, NULL), 0);
    assert_int_equal(change_device("kbr", NULL, NULL), 0);
    await(monitor, &e, "-kbr ");
    assert_null(strstr(e.text, "-va"));
    nl_sock_close(monitor);
}

static void lost_events_are_reported_and_later_ones_heard(void **state)
{
    struct nl_sock *monitor;
    struct events e = { "", "" };
    int small = 4096;

    assert_int_equal(link_monitor_open(&monitor), 0);
    assert_int_equal(setsockopt(nl_sock_fd(monitor), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(link_set_mtu(rtnl, "va", 1400 + i), 0);
    }
    assert_int_equal(link_monitor_poll(monitor, event_cb, &e), -ENOBUFS);
    assert_int_equal(link_monitor_poll(monitor, event_cb, &e), 0);
    e = (struct events){ "", "" };
    assert_int_equal(link_set_mtu(rtnl, "vb", 1300), 0);
    await(monitor, &e, "+vb ");
    nl_sock_close(monitor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_is_described_as_the_kernel_knows_it, make_pair, delete_pair),
        cmocka_unit_test(unknown_and_impossible_names_are_no_device),
        cmocka_unit_test_setup_teardown(a_device_in_use_by_an_alternative_name_is_not_found_by_it, make_pair,
                                        delete_pair),
        cmocka_unit_test_setup_teardown(address_mtu_and_state_can_be_set, make_pair, delete_pair),
        cmocka_unit_test_setup_teardown(wrong_values_are_refused, make_pair, delete_pair),
        cmocka_unit_test(counters_count_what_passes),
        cmocka_unit_test_setup_teardown(ethtool_tells_driver_and_speed, make_pair, delete_pair),
        cmocka_unit_test(the_monitor_tells_of_every_change_and_deletion),
        cmocka_unit_test_setup_teardown(leaving_a_kernel_bridge_is_no_deletion, make_pair, delete_pair),
        cmocka_unit_test_setup_teardown(lost_events_are_reported_and_later_ones_heard, make_pair, delete_pair),
    };

    if (unshare(CLONE_NEWNET) || nl_sock_open(NETLINK_ROUTE, 0, &rtnl)) {
        printf("skipped: no permission for a network namespace\n");
        return 77;
    }
    if (make_pair(NULL) || delete_pair(NULL)) {
        printf("skipped: this kernel has no veth devices\n");
        return 77;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nl_sock_close(rtnl);
    return failed;
}
