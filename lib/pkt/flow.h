/* What is known of a packet: the fields that translation looks at.
 *
 * One `struct flow` holds the values, another of the same layout holds a mask over them (bit 1: significant).
 * Translation starts with an all-zero mask and adds each bit that it looks at; see flow_mask_*().  Values are in
 * network byte order unless said otherwise, so that masks apply bytewise.  Fields that the packet does not have
 * are zero. */
#ifndef PKT_FLOW_H
#define PKT_FLOW_H 1

#include <netinet/in.h>

#include "lib/base/types.h"

#define FLOW_MAX_VLANS 2
#define FLOW_MAX_MPLS 3
#define FLOW_TUN_OPTS_MAX 255
#define FLOW_N_REGS 16

/* Ethernet types. */
#define ETH_TYPE_IPV4 0x0800
#define ETH_TYPE_ARP 0x0806
#define ETH_TYPE_RARP 0x8035
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_IPV6 0x86dd
#define ETH_TYPE_LACP 0x8809
#define ETH_TYPE_MPLS 0x8847
#define ETH_TYPE_MPLS_MC 0x8848
#define ETH_TYPE_NSH 0x894f
#define ETH_TYPE_802_2 0x05ff /* The kernel's and OpenFlow's value for frames without an Ethernet type. */

/* The tag control information of a VLAN header; in host order. */
#define VLAN_VID_MASK 0x0fff
#define VLAN_CFI 0x1000 /* Set: the tag is present. */
#define VLAN_PCP_MASK 0xe000
#define VLAN_PCP_SHIFT 13

/* Bits of 'ip_frag', OpenFlow's: not the kernel's numbers (0 none, 1 first, 2 later), of which no mask says "any fragment". */
#define FLOW_FRAG_ANY 1   /* A fragment. */
#define FLOW_FRAG_LATER 2 /* Not the first: without a transport header.  Only with FLOW_FRAG_ANY. */
#define FLOW_FRAG_MASK 3

struct flow_vlan {
    be16 tpid; /* 0: no tag. */
    be16 tci;  /* With VLAN_CFI set when there is a tag. */
};

/* Bits of struct flow_tnl's 'flags', in host order. */
#define FLOW_TNL_F_DONT_FRAGMENT (1u << 0)
#define FLOW_TNL_F_CSUM (1u << 1)
#define FLOW_TNL_F_KEY (1u << 2) /* tun_id is present. */
#define FLOW_TNL_F_OAM (1u << 3)

struct flow_tnl {
    be32 ip_src, ip_dst; /* Of an IPv4 tunnel, else zero. */
    struct in6_addr ipv6_src, ipv6_dst;
    be64 tun_id;
    be16 tp_src, tp_dst;
    uint16_t flags; /* FLOW_TNL_F_*. */
    uint8_t tos, ttl;
    uint32_t gbp;      /* VXLAN group policy, as in the kernel's attribute. */
    uint8_t opts_len;  /* Bytes of 'opts' used. */
    uint8_t opts_kind; /* 0, or OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS or _ERSPAN_OPTS. */
    uint8_t pad[2];
    uint8_t opts[FLOW_TUN_OPTS_MAX + 1];
};

struct flow {
    /* Metadata, in host order. */
    uint32_t recirc_id, dp_hash, skb_priority, pkt_mark;
    odp_port_t in_port;
    uint32_t ct_state, ct_mark;
    uint16_t ct_zone;
    uint8_t ct_orig_proto; /* Protocol of the original-direction tuple, 0: none. */
    uint8_t ct_orig_is_ipv6;
    uint8_t ct_label[16];
    union {
        be32 v4;
        struct in6_addr v6;
    } ct_orig_src, ct_orig_dst;
    be16 ct_orig_tp_src, ct_orig_tp_dst;

    /* L2. */
    struct eth_addr eth_src, eth_dst;
    uint8_t is_l3; /* 1: the packet has no Ethernet header (packet type by dl_type). */
    uint8_t pad1[1];
    be16 eth_type; /* Of the innermost payload, after all tags. */
    struct flow_vlan vlan[FLOW_MAX_VLANS]; /* Outermost first. */
    be32 mpls[FLOW_MAX_MPLS];              /* Label stack entries, outermost first. */

    /* L3; ARP: ip_src, ip_dst are the protocol addresses and ip_proto the opcode's low byte. */
    be32 ip_src, ip_dst;
    struct in6_addr ipv6_src, ipv6_dst;
    be32 ipv6_label;
    uint8_t ip_proto, ip_tos, ip_ttl;
    uint8_t ip_frag; /* FLOW_FRAG_*. */
    be16 arp_op;
    uint16_t ipv6_exthdrs; /* Host order, kernel's bits. */
    struct eth_addr arp_sha, arp_tha;

    /* L4; ICMP: tp_src is the type, tp_dst the code. */
    be16 tp_src, tp_dst;
    be16 tcp_flags;
    uint8_t pad2[2];
    struct in6_addr nd_target;
    struct eth_addr nd_sll, nd_tll;
    uint32_t nsh[11]; /* struct ovs_nsh_key_base (flags, ttl, mdtype, np, path header), then the MD1 context. */

    /* The OpenFlow pipeline's own; never in a datapath key, and none of a translation's mask (flow_clear_pipeline()). */
    be64 metadata;
    be32 regs[FLOW_N_REGS]; /* xreg N is regs[2N..], xxreg N is regs[4N..]: as bytes they are one number. */
    be32 conj_id;
    be16 ofp_in_port; /* The OpenFlow number of the port that the packet came in by (behind a patch port: of that). */
    be16 actset_output;

    struct flow_tnl tunnel; /* Last: all but its options are copied cheaply. */
};

/* Sets every bit of FIELD in MASK. */
#define FLOW_MASK_FIELD(MASK, FIELD) memset(&(MASK)->FIELD, 0xff, sizeof((MASK)->FIELD))

/* Clears the pipeline's part of FLOW, a flow or a mask.  A translation does so with its mask at its end, for it decides all of
 * these itself: what it sets them to follows from the other fields (and recirc_id, which stands for those of a frozen pipeline), so
 * that having looked at them narrows a megaflow by nothing.  In a mask they would be bits that no datapath mask can cover. */
static inline void flow_clear_pipeline(struct flow *flow)
{
    memset(&flow->metadata, 0, offsetof(struct flow, tunnel) - offsetof(struct flow, metadata));
}

/* Sets all bytes of what conntrack says in FLOW, a flow or a mask, to BYTE. */
static inline void flow_fill_ct(struct flow *flow, uint8_t byte)
{
    memset(&flow->ct_state, byte, offsetof(struct flow, eth_src) - offsetof(struct flow, ct_state));
}

static inline uint16_t flow_vlan_vid(const struct flow_vlan *v)
{
    return __builtin_bswap16(v->tci) & VLAN_VID_MASK;
}
static inline bool flow_vlan_present(const struct flow_vlan *v)
{
    return v->tci & __builtin_bswap16(VLAN_CFI);
}

/* Is A equal to B in the bits of MASK? */
bool flow_equal_masked(const struct flow *a, const struct flow *b, const struct flow *mask);
/* Is every bit of A set in B? */
bool flow_mask_is_subset(const struct flow *a, const struct flow *b);
/* Clears in FLOW the bits that are not in MASK. */
void flow_apply_mask(struct flow *flow, const struct flow *mask);

#endif
