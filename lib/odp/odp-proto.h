/* Which attributes a packet of a kind has, as the kernel's flow extraction decides.  Private to lib/odp. */
#ifndef ODP_PROTO_H
#define ODP_PROTO_H 1

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <netinet/in.h>

#include "lib/odp/odp-attr.h"
#include "lib/pkt/flow.h"

/* All bits of OVS_KEY_ATTR_CT_STATE; the kernel refuses a mask with others. */
#define ODP_CT_STATE_ALL 0xffu

#define ODP_ICMPV6_NS 135 /* Neighbor solicitation and advertisement. */
#define ODP_ICMPV6_NA 136

static inline bool odp_is_vlan_type(be16 eth_type)
{
    return eth_type == htons(ETH_TYPE_VLAN) || eth_type == htons(ETH_TYPE_QINQ);
}

static inline bool odp_is_mpls_type(be16 eth_type)
{
    return eth_type == htons(ETH_TYPE_MPLS) || eth_type == htons(ETH_TYPE_MPLS_MC);
}

static inline bool odp_is_arp_type(be16 eth_type)
{
    return eth_type == htons(ETH_TYPE_ARP) || eth_type == htons(ETH_TYPE_RARP);
}

/* Did FLOW's packet come out of a tunnel? */
static inline bool odp_has_tunnel(const struct flow *flow)
{
    return !odp_all_zero(&flow->tunnel, offsetof(struct flow_tnl, opts));
}

/* The attribute of FLOW's transport header, 0 if it has none. */
static inline enum ovs_key_attr odp_l4_attr(const struct flow *flow)
{
    bool v4 = flow->eth_type == htons(ETH_TYPE_IPV4);
    bool v6 = flow->eth_type == htons(ETH_TYPE_IPV6);

    if ((!v4 && !v6) || (flow->ip_frag & FLOW_FRAG_LATER)) {
        return OVS_KEY_ATTR_UNSPEC;
    }
    switch (flow->ip_proto) {
    case IPPROTO_TCP:
        return OVS_KEY_ATTR_TCP;
    case IPPROTO_UDP:
        return OVS_KEY_ATTR_UDP;
    case IPPROTO_SCTP:
        return OVS_KEY_ATTR_SCTP;
    case IPPROTO_ICMP:
        return v4 ? OVS_KEY_ATTR_ICMP : OVS_KEY_ATTR_UNSPEC;
    case IPPROTO_ICMPV6:
        return v6 ? OVS_KEY_ATTR_ICMPV6 : OVS_KEY_ATTR_UNSPEC;
    default:
        return OVS_KEY_ATTR_UNSPEC;
    }
}

/* Does FLOW's packet have the attribute ND? */
static inline bool odp_has_nd(const struct flow *flow)
{
    return odp_l4_attr(flow) == OVS_KEY_ATTR_ICMPV6 &&
           (flow->tp_src == htons(ODP_ICMPV6_NS) || flow->tp_src == htons(ODP_ICMPV6_NA));
}

/* Sets *RET_MASK to all ones in the fields that FLOW has, zero elsewhere. */
void odp_mask_exact(const struct flow *flow, struct flow *ret_mask);

#endif
