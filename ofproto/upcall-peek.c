/* See upcall-peek.h.  Numbers of protocols: IEEE 802 (Ethernet types, reserved addresses), RFC 5881 and 5883 (BFD), RFC 4861 (neighbour discovery). */
#include <config.h>

#include "ofproto/upcall-peek.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>
#include <net/ethernet.h>
#include <netinet/in.h>

#include "lib/base/compiler.h"
#include "lib/base/hash.h"

#define ETH_TYPE_SLOW 0x8809 /* LACP, marker protocol, OAM. */
#define BFD_PORT 3784
#define BFD_ECHO_PORT 3785
#define BFD_MULTIHOP_PORT 4784
#define ND_FIRST 133 /* Router solicitation … redirect. */
#define ND_LAST 137

/* Copies what A holds, as far as *TO has room; the rest of it is zeroes. */
static void fetch(const struct nlattr *a, void *to, size_t size)
{
    size_t n = mnl_attr_get_payload_len(a);
    memset(to, 0, size);
    memcpy(to, mnl_attr_get_payload(a), MIN(n, size));
}

static bool is_bfd(const struct ovs_key_udp *udp)
{
    switch (ntohs(udp->udp_dst)) {
    case BFD_PORT:
    case BFD_ECHO_PORT:
    case BFD_MULTIHOP_PORT:
        return true;
    }
    return false;
}

/* The IP header's part of the flow: addresses and protocol. */
static uint64_t hash_ipv4(const struct nlattr *a, uint64_t hash)
{
    struct ovs_key_ipv4 ip;
    fetch(a, &ip, sizeof ip);
    return hash_u64((uint64_t) ip.ipv4_src << 32 | ip.ipv4_dst, hash + ip.ipv4_proto);
}

static uint64_t hash_ipv6(const struct nlattr *a, uint64_t hash)
{
    struct ovs_key_ipv6 ip;
    fetch(a, &ip, sizeof ip);
    return hash_bytes(&ip, offsetof(struct ovs_key_ipv6, ipv6_label), hash + ip.ipv6_proto);
}

/* Ports of TCP, UDP and SCTP stand in the same four bytes. */
static uint64_t hash_ports(const struct nlattr *a, uint64_t hash)
{
    uint32_t ports;
    fetch(a, &ports, sizeof ports);
    return hash_u64(ports, hash);
}

static void peek_ethernet(const struct nlattr *a, struct upcall_peek *p)
{
    struct ovs_key_ethernet eth;
    struct eth_addr dst;
    uint64_t ends[2] = { 0, 0 };
    fetch(a, &eth, sizeof eth);
    memcpy(&dst, eth.eth_dst, sizeof dst);
    p->control |= eth_addr_is_reserved(dst); /* STP among them. */
    memcpy(&ends[0], eth.eth_src, 6);
    memcpy(&ends[1], eth.eth_dst, 6);
    p->flow_hash = hash_u64(ends[0], hash_u64(ends[1], p->flow_hash));
}

static void peek_attr(const struct nlattr *a, struct upcall_peek *p)
{
    uint16_t type;
    uint8_t icmp[2];
    struct ovs_key_udp udp;

    switch (mnl_attr_get_type(a)) {
    case OVS_KEY_ATTR_IN_PORT:
        fetch(a, &p->port.n, sizeof p->port.n);
        break;
    case OVS_KEY_ATTR_ETHERNET:
        peek_ethernet(a, p);
        break;
    case OVS_KEY_ATTR_ETHERTYPE:
        fetch(a, &type, sizeof type);
        p->control |= ntohs(type) == ETHERTYPE_ARP || ntohs(type) == ETH_TYPE_SLOW;
        break;
    case OVS_KEY_ATTR_IPV4:
        p->flow_hash = hash_ipv4(a, p->flow_hash);
        break;
    case OVS_KEY_ATTR_IPV6:
        p->flow_hash = hash_ipv6(a, p->flow_hash);
        break;
    case OVS_KEY_ATTR_UDP:
        fetch(a, &udp, sizeof udp);
        p->control |= is_bfd(&udp);
        p->flow_hash = hash_ports(a, p->flow_hash);
        break;
    case OVS_KEY_ATTR_TCP:
    case OVS_KEY_ATTR_SCTP:
        p->flow_hash = hash_ports(a, p->flow_hash);
        break;
    case OVS_KEY_ATTR_ICMPV6:
        fetch(a, icmp, sizeof icmp);
        p->control |= icmp[0] >= ND_FIRST && icmp[0] <= ND_LAST;
        break;
    }
}

/* DEPTH: how many VLAN tags may still be opened; behind each stands the rest of the key. */
static void peek_attrs(const void *attrs, size_t len, unsigned int depth, struct upcall_peek *p)
{
    const struct nlattr *a = attrs;
    for (int left = len; mnl_attr_ok(a, left); left -= MNL_ALIGN(a->nla_len), a = mnl_attr_next(a)) {
        if (mnl_attr_get_type(a) != OVS_KEY_ATTR_ENCAP) {
            peek_attr(a, p);
        } else if (depth) {
            peek_attrs(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), depth - 1, p);
        }
    }
}

struct upcall_peek upcall_peek(const struct nlattr *key, size_t len)
{
    struct upcall_peek p = { .port = ODPP_NONE };
    peek_attrs(key, len, 2, &p);
    return p;
}
