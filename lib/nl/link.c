/* Network devices over rtnetlink: asking, changing, and watching.
 *
 * What lies beneath a device (driver, speed, LRO) is in link-ethtool.c.
 *
 * Threads and owners: nothing here keeps state; sockets are the caller's, one thread at a time each.
 *
 * The kernel is asked by name and not by index, since an index may have been given to another device meanwhile. Without
 * IFLA_EXT_MASK it leaves the lists of virtual functions out, which are long and which nobody here reads. */
#include <config.h>

#include "lib/nl/link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "lib/base/util.h"
#include "lib/nl/nl.h"

#define REQUEST_SIZE 128             /* Header, one name, one attribute. */
#define EVENT_SIZE (32 * 1024)       /* The kernel's notifications are a page or less. */
#define MONITOR_RCVBUF (1024 * 1024) /* Some hundred events; a bridge of 200 ports deleted at once fits. */

static const struct nl_policy link_policy[IFLA_CARRIER_CHANGES + 1] = {
    [IFLA_IFNAME] = { .min = 2, .max = IFNAMSIZ },
    [IFLA_MTU] = { .min = 4, .max = 4 },
    [IFLA_CARRIER_CHANGES] = { .min = 4, .max = 4 },
};

/* Takes what IFLA_LINKINFO's LEN bytes at ATTRS say of the device's kind.  "" if they say nothing that fits. */
static void parse_kind(const struct nlattr *linkinfo, char *kind, size_t size)
{
    static const struct nl_policy policy[IFLA_INFO_KIND + 1] = { { 0 } };
    const struct nlattr *tb[IFLA_INFO_KIND + 1];

    if (nl_attrs_parse(mnl_attr_get_payload(linkinfo), mnl_attr_get_payload_len(linkinfo), policy, ARRAY_SIZE(policy),
                       tb) ||
        !tb[IFLA_INFO_KIND]) {
        return;
    }
    /* With or without the final zero: the kernel has done both. */
    size_t len = strnlen(mnl_attr_get_payload(tb[IFLA_INFO_KIND]), mnl_attr_get_payload_len(tb[IFLA_INFO_KIND]));
    if (len < size) {
        memcpy(kind, mnl_attr_get_payload(tb[IFLA_INFO_KIND]), len);
        kind[len] = '\0';
    }
}

/* Takes the counters.  The kernel's structure grows from version to version: what it does not have is zero. */
static void parse_stats(const struct nlattr *attr, struct link_stats *ret)
{
    struct rtnl_link_stats64 s = { 0 };

    memcpy(&s, mnl_attr_get_payload(attr), MIN(sizeof s, mnl_attr_get_payload_len(attr)));
    *ret = (struct link_stats){
        .rx_packets = s.rx_packets,
        .tx_packets = s.tx_packets,
        .rx_bytes = s.rx_bytes,
        .tx_bytes = s.tx_bytes,
        .rx_errors = s.rx_errors,
        .tx_errors = s.tx_errors,
        .rx_dropped = s.rx_dropped,
        .tx_dropped = s.tx_dropped,
        .multicast = s.multicast,
        .collisions = s.collisions,
        .rx_crc_errors = s.rx_crc_errors,
        .rx_frame_errors = s.rx_frame_errors,
        .rx_over_errors = s.rx_over_errors,
        .rx_missed_errors = s.rx_missed_errors,
    };
}

/* Reads a RTM_NEWLINK or RTM_DELLINK.  -EBADMSG: malformed. */
static int parse_link(const struct nlmsghdr *nlh, struct link_info *ret_info)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    const size_t header = MNL_ALIGN(sizeof *ifi);
    const struct nlattr *tb[ARRAY_SIZE(link_policy)];
    struct link_info info = { .name = "" };

    if (mnl_nlmsg_get_payload_len(nlh) < header ||
        nl_attrs_parse((const char *) ifi + header, mnl_nlmsg_get_payload_len(nlh) - header, link_policy,
                       ARRAY_SIZE(link_policy), tb) ||
        !tb[IFLA_IFNAME]) {
        return -EBADMSG;
    }
    info.ifindex = ifi->ifi_index;
    info.flags = ifi->ifi_flags;
    memcpy(info.name, mnl_attr_get_payload(tb[IFLA_IFNAME]), mnl_attr_get_payload_len(tb[IFLA_IFNAME]));
    info.name[IFNAMSIZ - 1] = '\0';
    if (tb[IFLA_MTU]) {
        info.mtu = mnl_attr_get_u32(tb[IFLA_MTU]);
    }
    if (tb[IFLA_ADDRESS] && mnl_attr_get_payload_len(tb[IFLA_ADDRESS]) == sizeof info.mac) { /* Else no Ethernet. */
        memcpy(&info.mac, mnl_attr_get_payload(tb[IFLA_ADDRESS]), sizeof info.mac);
    }
    if (tb[IFLA_CARRIER_CHANGES]) {
        info.link_resets = mnl_attr_get_u32(tb[IFLA_CARRIER_CHANGES]);
    }
    if (tb[IFLA_LINKINFO]) {
        parse_kind(tb[IFLA_LINKINFO], info.kind, sizeof info.kind);
    }
    if (tb[IFLA_STATS64]) {
        parse_stats(tb[IFLA_STATS64], &info.stats);
    }
    *ret_info = info;
    return 0;
}

/* Starts a request of TYPE about device NAME in the REQUEST_SIZE bytes at BUF.  NULL: no device can have that name. */
static struct nlmsghdr *begin(void *buf, uint16_t type, const char *name, struct ifinfomsg **ret_ifi)
{
    if (!name[0] || strnlen(name, IFNAMSIZ) == IFNAMSIZ) {
        return NULL;
    }
    /* Attributes' padding, which libmnl leaves as it is, is sent too. */
    memset(buf, 0, REQUEST_SIZE);
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;
    *ret_ifi = mnl_nlmsg_put_extra_header(nlh, sizeof **ret_ifi);
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    return nlh;
}

struct query {
    struct link_info info;
    bool found;
};

static int query_cb(const struct nlmsghdr *nlh, void *aux)
{
    struct query *q = aux;

    if (nlh->nlmsg_type != RTM_NEWLINK) {
        return 0;
    }
    int error = parse_link(nlh, &q->info);
    q->found = !error;
    return error;
}

/* Asks for device NAME.  -ENODEV: there is none. */
int link_query(struct nl_sock *rtnl, const char *name, struct link_info *ret_info)
{
    _Alignas(struct nlmsghdr) char buf[REQUEST_SIZE];
    struct query q = { .found = false };
    struct ifinfomsg *ifi;
    struct nlmsghdr *nlh = begin(buf, RTM_GETLINK, name, &ifi);

    if (!nlh) {
        return -ENODEV;
    }
    int error = nl_transact(rtnl, nlh, query_cb, &q);
    if (error) {
        return error;
    }
    /* The kernel also answers to a device's other names (IFLA_PROP_LIST); for us a device has one. */
    if (!q.found || strcmp(q.info.name, name)) {
        return -ENODEV;
    }
    *ret_info = q.info;
    return 0;
}

/* Gives device NAME the address MAC.  -ENODEV; -EADDRNOTAVAIL (not an individual address), -EBUSY (not while it is up),
 * -EOPNOTSUPP as its driver likes. */
int link_set_mac(struct nl_sock *rtnl, const char *name, struct eth_addr mac)
{
    _Alignas(struct nlmsghdr) char buf[REQUEST_SIZE];
    struct ifinfomsg *ifi;
    struct nlmsghdr *nlh = begin(buf, RTM_SETLINK, name, &ifi);

    if (!nlh) {
        return -ENODEV;
    }
    mnl_attr_put(nlh, IFLA_ADDRESS, sizeof mac, &mac);
    return nl_transact(rtnl, nlh, NULL, NULL);
}

/* Sets device NAME's MTU.  -ENODEV; -EINVAL: out of the device's range. */
int link_set_mtu(struct nl_sock *rtnl, const char *name, unsigned int mtu)
{
    _Alignas(struct nlmsghdr) char buf[REQUEST_SIZE];
    struct ifinfomsg *ifi;
    struct nlmsghdr *nlh = begin(buf, RTM_SETLINK, name, &ifi);

    if (!nlh) {
        return -ENODEV;
    }
    mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
    return nl_transact(rtnl, nlh, NULL, NULL);
}

/* Sets device NAME up or down. */
int link_set_up(struct nl_sock *rtnl, const char *name, bool up)
{
    _Alignas(struct nlmsghdr) char buf[REQUEST_SIZE];
    struct ifinfomsg *ifi;
    struct nlmsghdr *nlh = begin(buf, RTM_SETLINK, name, &ifi);

    if (!nlh) {
        return -ENODEV;
    }
    ifi->ifi_flags = up ? IFF_UP : 0;
    ifi->ifi_change = IFF_UP;
    return nl_transact(rtnl, nlh, NULL, NULL);
}

/* Opens a socket that hears of every change to a device of this network namespace. */
int link_monitor_open(struct nl_sock **ret_sock)
{
    struct nl_sock *sock;
    int error = nl_sock_open(NETLINK_ROUTE, MONITOR_RCVBUF, &sock);

    if (!error) {
        error = nl_sock_join(sock, RTNLGRP_LINK);
        if (error) {
            nl_sock_close(sock);
        } else {
            *ret_sock = sock;
        }
    }
    return error;
}

static void handle_event(const struct nlmsghdr *nlh, link_event_cb *cb, void *aux)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    struct link_info info;

    if (nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK) {
        return;
    }
    /* The kernel's bridge says "DELLINK" too, when a device is no longer a port of it; and IPv6 has its own NEWLINK. */
    if (mnl_nlmsg_get_payload_len(nlh) < sizeof *ifi || ifi->ifi_family != AF_UNSPEC) {
        return;
    }
    if (!parse_link(nlh, &info)) {
        cb(&info, nlh->nlmsg_type == RTM_DELLINK, aux);
    }
}

/* Calls CB for each event that has arrived at SOCK, and returns 0.  A device that was renamed comes as changed, under
 * its new name; one that left the namespace, as deleted.  -ENOBUFS: events have been lost, the caller asks anew for the
 * devices that it knows, and calls again for those that came later.  Other errors: the socket is of no more use. */
int link_monitor_poll(struct nl_sock *sock, link_event_cb *cb, void *aux)
{
    _Alignas(struct nlmsghdr) char buf[EVENT_SIZE];

    for (;;) {
        ssize_t n = nl_recv(sock, buf, sizeof buf);
        const struct nlmsghdr *nlh;

        if (n == -EAGAIN) {
            return 0;
        } else if (n == -EMSGSIZE) {
            return -ENOBUFS; /* An event that we cannot read is a lost one. */
        } else if (n < 0) {
            return n;
        }
        for (size_t pos = 0; (nlh = nl_msg_next(buf, n, &pos));) {
            handle_event(nlh, cb, aux);
        }
    }
}
