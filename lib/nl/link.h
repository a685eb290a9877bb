/* Network devices as the kernel knows them: rtnetlink for what they are, ethtool's ioctl for what lies beneath.
 *
 * Requests go through a NETLINK_ROUTE socket of the caller's.  Results are 0 or -errno; -ENODEV: no such device. */
#ifndef NL_LINK_H
#define NL_LINK_H 1

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/types.h"

struct nl_sock;

struct link_stats {
    uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped, tx_dropped, multicast,
        collisions, rx_crc_errors, rx_frame_errors, rx_over_errors, rx_missed_errors;
};

struct link_info {
    char name[IFNAMSIZ];
    char kind[32]; /* IFLA_INFO_KIND: "veth", "openvswitch", "vxlan"; "" if none. */
    int ifindex;
    unsigned int flags; /* IFF_*; for the carrier use link_has_carrier(). */
    unsigned int mtu;
    struct eth_addr mac;
    unsigned int link_resets; /* Carrier changes, as the kernel counts. */
    struct link_stats stats;
};

/* IFF_LOWER_UP, which only <linux/if.h> defines. */
static inline bool link_has_carrier(const struct link_info *info) { return info->flags >> 16 & 1; }

int link_query(struct nl_sock *rtnl, const char *name, struct link_info *ret_info);
int link_set_mac(struct nl_sock *rtnl, const char *name, struct eth_addr mac);
int link_set_mtu(struct nl_sock *rtnl, const char *name, unsigned int mtu);
int link_set_up(struct nl_sock *rtnl, const char *name, bool up);

/* By ethtool. */
struct link_driver {
    char name[32], version[32], firmware[32];
};
int link_get_driver(const char *name, struct link_driver *ret_driver);
int link_get_speed(const char *name, uint64_t *ret_bps, bool *ret_full_duplex); /* -EOPNOTSUPP: unknown. */
int link_disable_lro(const char *name);

/* Events.  The socket's descriptor becomes readable when any link changes; link_monitor_poll() calls CB once an event, returns 0 when
 * there are no more, -ENOBUFS if some were lost. */
int link_monitor_open(struct nl_sock **ret_sock);
typedef void link_event_cb(const struct link_info *info, bool deleted, void *aux);
int link_monitor_poll(struct nl_sock *sock, link_event_cb *cb, void *aux);

#endif
