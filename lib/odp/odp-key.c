/* Datapath keys and masks, read: OVS_KEY_ATTR_* into struct flow.
 *
 * This is on the way of every upcall.  It goes over the attributes once, in whatever order they come, writes each
 * value straight into the flow, and allocates nothing; any thread may call it.  The bytes are not trusted: each
 * attribute's length is checked against the layout, a type that comes twice or a nest that does not end is an error.
 *
 * A mask has the layout of its key, so one reader serves both.  What differs is what the kernel knows and the
 * attributes do not say, measured on 6.1:
 * - a mask without VLAN attributes still matches "no tag" exactly, at both levels that the kernel parses;
 * - a value that the kernel keeps in fewer bits than struct flow (ICMP type and code, the ARP opcode, the IPv6 label,
 *   the connection state) comes back with a mask of those bits only.  If all of them are set, the reader sets the
 *   others as well: no packet has anything there, and a mask that translation makes of whole fields then equals the
 *   one that the kernel reports. */
#include <config.h>

#include "lib/odp/odp-key.h"

#include <linux/openvswitch.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/odp/odp-attr.h"
#include "lib/odp/odp-proto.h"
#include "lib/pkt/flow.h"

struct key_reader {
    struct flow *flow;      /* Written. */
    const struct flow *key; /* When a mask is read: the key that it is for.  Else NULL. */
    bool unknown;           /* There was an attribute that struct flow cannot express. */
};

/* The Ethernet types and tags of one level of VLAN nesting. */
struct key_level {
    be16 eth_type, tci;
    struct odp_attr encap;
};

#define BIT(TYPE) (UINT64_C(1) << (TYPE))
#define N_TYPES (OVS_KEY_ATTR_IPV6_EXTHDRS + 1)

/* Data lengths; 0: variable, checked where it is read. */
static const uint8_t key_len[N_TYPES] = {
    [OVS_KEY_ATTR_PRIORITY] = 4,
    [OVS_KEY_ATTR_IN_PORT] = 4,
    [OVS_KEY_ATTR_ETHERNET] = sizeof(struct ovs_key_ethernet),
    [OVS_KEY_ATTR_VLAN] = 2,
    [OVS_KEY_ATTR_ETHERTYPE] = 2,
    [OVS_KEY_ATTR_IPV4] = sizeof(struct ovs_key_ipv4),
    [OVS_KEY_ATTR_IPV6] = sizeof(struct ovs_key_ipv6),
    [OVS_KEY_ATTR_TCP] = sizeof(struct ovs_key_tcp),
    [OVS_KEY_ATTR_UDP] = sizeof(struct ovs_key_udp),
    [OVS_KEY_ATTR_ICMP] = sizeof(struct ovs_key_icmp),
    [OVS_KEY_ATTR_ICMPV6] = sizeof(struct ovs_key_icmpv6),
    [OVS_KEY_ATTR_ARP] = sizeof(struct ovs_key_arp),
    [OVS_KEY_ATTR_ND] = sizeof(struct ovs_key_nd),
    [OVS_KEY_ATTR_SKB_MARK] = 4,
    [OVS_KEY_ATTR_SCTP] = sizeof(struct ovs_key_sctp),
    [OVS_KEY_ATTR_TCP_FLAGS] = 2,
    [OVS_KEY_ATTR_DP_HASH] = 4,
    [OVS_KEY_ATTR_RECIRC_ID] = 4,
    [OVS_KEY_ATTR_CT_STATE] = 4,
    [OVS_KEY_ATTR_CT_ZONE] = 2,
    [OVS_KEY_ATTR_CT_MARK] = 4,
    [OVS_KEY_ATTR_CT_LABELS] = 16,
    [OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4] = sizeof(struct ovs_key_ct_tuple_ipv4),
    [OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV6] = sizeof(struct ovs_key_ct_tuple_ipv6),
    [OVS_KEY_ATTR_PACKET_TYPE] = 4,
    [OVS_KEY_ATTR_IPV6_EXTHDRS] = sizeof(struct ovs_key_ipv6_exthdrs),
};

static const uint8_t tunnel_len[OVS_TUNNEL_KEY_ATTR_MAX + 1] = {
    [OVS_TUNNEL_KEY_ATTR_ID] = 8,        [OVS_TUNNEL_KEY_ATTR_IPV4_SRC] = 4,  [OVS_TUNNEL_KEY_ATTR_IPV4_DST] = 4,
    [OVS_TUNNEL_KEY_ATTR_TOS] = 1,       [OVS_TUNNEL_KEY_ATTR_TTL] = 1,       [OVS_TUNNEL_KEY_ATTR_TP_SRC] = 2,
    [OVS_TUNNEL_KEY_ATTR_TP_DST] = 2,    [OVS_TUNNEL_KEY_ATTR_IPV6_SRC] = 16, [OVS_TUNNEL_KEY_ATTR_IPV6_DST] = 16,
};

static bool read_vxlan_opts(struct key_reader *r, const struct odp_attr *nest)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr a;

    while (odp_attr_next(&it, &a)) {
        if (a.type != OVS_VXLAN_EXT_GBP) {
            r->unknown = true;
        } else if (a.len != 4) {
            return false;
        } else {
            r->flow->tunnel.gbp = odp_attr_u32(&a);
        }
    }
    return !it.malformed;
}

static bool read_tunnel_opts(struct flow_tnl *t, const struct odp_attr *a)
{
    if (a->len > FLOW_TUN_OPTS_MAX || t->opts_kind) {
        return false;
    }
    t->opts_kind = a->type;
    t->opts_len = a->len;
    memcpy(t->opts, a->data, a->len);
    return true;
}

static bool read_tunnel_attr(struct key_reader *r, const struct odp_attr *a)
{
    struct flow_tnl *t = &r->flow->tunnel;

    switch ((enum ovs_tunnel_key_attr) a->type) {
    case OVS_TUNNEL_KEY_ATTR_ID:
        memcpy(&t->tun_id, a->data, 8);
        t->flags |= FLOW_TNL_F_KEY;
        return true;
    case OVS_TUNNEL_KEY_ATTR_IPV4_SRC:
        t->ip_src = odp_attr_u32(a);
        return true;
    case OVS_TUNNEL_KEY_ATTR_IPV4_DST:
        t->ip_dst = odp_attr_u32(a);
        return true;
    case OVS_TUNNEL_KEY_ATTR_TOS:
        t->tos = a->data[0];
        return true;
    case OVS_TUNNEL_KEY_ATTR_TTL:
        t->ttl = a->data[0];
        return true;
    case OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT:
        t->flags |= FLOW_TNL_F_DONT_FRAGMENT;
        return true;
    case OVS_TUNNEL_KEY_ATTR_CSUM:
        t->flags |= FLOW_TNL_F_CSUM;
        return true;
    case OVS_TUNNEL_KEY_ATTR_OAM:
        t->flags |= FLOW_TNL_F_OAM;
        return true;
    case OVS_TUNNEL_KEY_ATTR_TP_SRC:
        t->tp_src = odp_attr_u16(a);
        return true;
    case OVS_TUNNEL_KEY_ATTR_TP_DST:
        t->tp_dst = odp_attr_u16(a);
        return true;
    case OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS:
        return read_vxlan_opts(r, a);
    case OVS_TUNNEL_KEY_ATTR_IPV6_SRC:
        memcpy(&t->ipv6_src, a->data, 16);
        return true;
    case OVS_TUNNEL_KEY_ATTR_IPV6_DST:
        memcpy(&t->ipv6_dst, a->data, 16);
        return true;
    case OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS:
        /* Options are whole 32-bit words; the kernel has the same rule. */
        return a->len % 4 == 0 && read_tunnel_opts(t, a);
    case OVS_TUNNEL_KEY_ATTR_ERSPAN_OPTS:
        return read_tunnel_opts(t, a);
    case OVS_TUNNEL_KEY_ATTR_PAD:
        return true;
    case OVS_TUNNEL_KEY_ATTR_IPV4_INFO_BRIDGE:
    case __OVS_TUNNEL_KEY_ATTR_MAX:
        break;
    }
    r->unknown = true;
    return true;
}

static bool read_tunnel(struct key_reader *r, const struct odp_attr *nest)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    uint64_t seen = 0;
    struct odp_attr a;

    while (odp_attr_next(&it, &a)) {
        if (a.type > OVS_TUNNEL_KEY_ATTR_MAX) {
            r->unknown = true;
            continue;
        }
        if (seen & BIT(a.type) || (tunnel_len[a.type] && a.len != tunnel_len[a.type])) {
            return false;
        }
        seen |= BIT(a.type);
        if (!read_tunnel_attr(r, &a)) {
            return false;
        }
    }
    return !it.malformed;
}

static bool read_nsh(struct key_reader *r, const struct odp_attr *nest)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr a;

    while (odp_attr_next(&it, &a)) {
        switch (a.type) {
        case OVS_NSH_KEY_ATTR_BASE:
            if (a.len != sizeof(struct ovs_nsh_key_base)) {
                return false;
            }
            memcpy(&r->flow->nsh[0], a.data, a.len);
            break;
        case OVS_NSH_KEY_ATTR_MD1:
            if (a.len != sizeof(struct ovs_nsh_key_md1)) {
                return false;
            }
            memcpy(&r->flow->nsh[2], a.data, a.len);
            break;
        case OVS_NSH_KEY_ATTR_MD2: /* The kernel does not match on it, so a flow with it is not fully known. */
        default:
            r->unknown = true;
            break;
        }
    }
    return !it.malformed;
}

static bool read_mpls(struct key_reader *r, const struct odp_attr *a)
{
    /* None at all is what the kernel reports of a flow that does not match on labels. */
    if (a->len % sizeof(struct ovs_key_mpls)) {
        return false;
    }
    if (a->len > sizeof r->flow->mpls) {
        r->unknown = true;
    }
    memcpy(r->flow->mpls, a->data, MIN(a->len, sizeof r->flow->mpls));
    return true;
}

static void read_ct_tuple(struct flow *f, const struct odp_attr *a)
{
    if (a->type == OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4) {
        struct ovs_key_ct_tuple_ipv4 t;

        memcpy(&t, a->data, sizeof t);
        f->ct_orig_src.v4 = t.ipv4_src;
        f->ct_orig_dst.v4 = t.ipv4_dst;
        f->ct_orig_tp_src = t.src_port;
        f->ct_orig_tp_dst = t.dst_port;
        f->ct_orig_proto = t.ipv4_proto;
    } else {
        struct ovs_key_ct_tuple_ipv6 t;

        memcpy(&t, a->data, sizeof t);
        memcpy(&f->ct_orig_src.v6, t.ipv6_src, 16);
        memcpy(&f->ct_orig_dst.v6, t.ipv6_dst, 16);
        f->ct_orig_tp_src = t.src_port;
        f->ct_orig_tp_dst = t.dst_port;
        f->ct_orig_proto = t.ipv6_proto;
        f->ct_orig_is_ipv6 = 1;
    }
}

/* Reads the kernel's fragment type, or a mask over it.  Its numbers are not bits, as the flow's are: of masks only "all" and
 * "nothing" have a counterpart.  Returns false if FRAG is above the last type: no packet that we know. */
static bool read_frag(struct key_reader *r, uint8_t frag)
{
    static const uint8_t types[] = {
        [OVS_FRAG_TYPE_NONE] = 0,
        [OVS_FRAG_TYPE_FIRST] = FLOW_FRAG_ANY,
        [OVS_FRAG_TYPE_LATER] = FLOW_FRAG_ANY | FLOW_FRAG_LATER,
    };

    if (r->key) {
        bool all = (frag & FLOW_FRAG_MASK) == FLOW_FRAG_MASK;
        r->flow->ip_frag = all ? 0xff : 0;
        r->unknown = r->unknown || (!all && (frag & FLOW_FRAG_MASK));
        return true;
    }
    if (frag > OVS_FRAG_TYPE_MAX) {
        return false;
    }
    r->flow->ip_frag = types[frag];
    return true;
}

static bool read_ipv4(struct key_reader *r, const struct odp_attr *a)
{
    struct flow *f = r->flow;
    struct ovs_key_ipv4 k;

    memcpy(&k, a->data, sizeof k);
    f->ip_src = k.ipv4_src;
    f->ip_dst = k.ipv4_dst;
    f->ip_proto = k.ipv4_proto;
    f->ip_tos = k.ipv4_tos;
    f->ip_ttl = k.ipv4_ttl;
    return read_frag(r, k.ipv4_frag);
}

static bool read_ipv6(struct key_reader *r, const struct odp_attr *a)
{
    const be32 label_mask = htonl(0xfffff);
    struct flow *f = r->flow;
    struct ovs_key_ipv6 k;

    memcpy(&k, a->data, sizeof k);
    memcpy(&f->ipv6_src, k.ipv6_src, 16);
    memcpy(&f->ipv6_dst, k.ipv6_dst, 16);
    f->ipv6_label = r->key && (k.ipv6_label & label_mask) == label_mask ? UINT32_MAX : k.ipv6_label & label_mask;
    f->ip_proto = k.ipv6_proto;
    f->ip_tos = k.ipv6_tclass;
    f->ip_ttl = k.ipv6_hlimit;
    return read_frag(r, k.ipv6_frag);
}

static void read_arp(struct key_reader *r, const struct odp_attr *a)
{
    struct flow *f = r->flow;
    struct ovs_key_arp k;

    memcpy(&k, a->data, sizeof k);
    f->ip_src = k.arp_sip;
    f->ip_dst = k.arp_tip;
    f->ip_proto = ntohs(k.arp_op) & 0xff;
    f->arp_op = r->key && f->ip_proto == 0xff ? htons(0xffff) : k.arp_op;
    memcpy(&f->arp_sha, k.arp_sha, 6);
    memcpy(&f->arp_tha, k.arp_tha, 6);
}

static void read_nd(struct flow *f, const struct odp_attr *a)
{
    struct ovs_key_nd k;

    memcpy(&k, a->data, sizeof k);
    memcpy(&f->nd_target, k.nd_target, 16);
    memcpy(&f->nd_sll, k.nd_sll, 6);
    memcpy(&f->nd_tll, k.nd_tll, 6);
}

/* ICMP type and code, 8 bits each, into the port fields of 16. */
static void read_icmp(struct key_reader *r, const struct odp_attr *a)
{
    uint8_t type = a->data[0], code = a->data[1];

    r->flow->tp_src = r->key && type == 0xff ? htons(0xffff) : htons(type);
    r->flow->tp_dst = r->key && code == 0xff ? htons(0xffff) : htons(code);
}

/* What stands for an Ethernet packet's type in keys that userspace made: namespace 1 is "no Ethernet header". */
static void read_packet_type(struct key_reader *r, const struct odp_attr *a, struct key_level *level)
{
    uint32_t pt = ntohl(odp_attr_u32(a));

    if (pt >> 16 == 1) {
        level->eth_type = htons(pt & 0xffff);
    } else if (pt >> 16) {
        r->unknown = true;
    }
}

/* Metadata and VLAN structure; returns false if A is of another kind. */
static bool read_meta_attr(struct key_reader *r, const struct odp_attr *a, struct key_level *level)
{
    struct flow *f = r->flow;

    switch (a->type) {
    case OVS_KEY_ATTR_ENCAP:
        level->encap = *a;
        return true;
    case OVS_KEY_ATTR_PRIORITY:
        f->skb_priority = odp_attr_u32(a);
        return true;
    case OVS_KEY_ATTR_IN_PORT:
        f->in_port.n = odp_attr_u32(a);
        return true;
    case OVS_KEY_ATTR_VLAN:
        level->tci = odp_attr_u16(a);
        return true;
    case OVS_KEY_ATTR_ETHERTYPE:
        level->eth_type = odp_attr_u16(a);
        return true;
    case OVS_KEY_ATTR_SKB_MARK:
        f->pkt_mark = odp_attr_u32(a);
        return true;
    case OVS_KEY_ATTR_DP_HASH:
        f->dp_hash = odp_attr_u32(a);
        return true;
    case OVS_KEY_ATTR_RECIRC_ID:
        f->recirc_id = odp_attr_u32(a);
        return true;
    case OVS_KEY_ATTR_CT_STATE:
        f->ct_state = odp_attr_u32(a);
        if (r->key && (f->ct_state & ODP_CT_STATE_ALL) == ODP_CT_STATE_ALL) {
            f->ct_state = UINT32_MAX;
        }
        return true;
    case OVS_KEY_ATTR_CT_ZONE:
        f->ct_zone = odp_attr_u16(a);
        return true;
    case OVS_KEY_ATTR_CT_MARK:
        f->ct_mark = odp_attr_u32(a);
        return true;
    case OVS_KEY_ATTR_CT_LABELS:
        memcpy(f->ct_label, a->data, 16);
        return true;
    case OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4:
    case OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV6:
        read_ct_tuple(f, a);
        return true;
    case OVS_KEY_ATTR_PACKET_TYPE:
        read_packet_type(r, a, level);
        return true;
    default:
        return false;
    }
}

/* One attribute, whose length is right.  Returns false if its value cannot be. */
static bool read_attr(struct key_reader *r, const struct odp_attr *a, struct key_level *level)
{
    struct flow *f = r->flow;

    switch (a->type) {
    case OVS_KEY_ATTR_ETHERNET:
        memcpy(&f->eth_src, a->data, 6);
        memcpy(&f->eth_dst, a->data + 6, 6);
        return true;
    case OVS_KEY_ATTR_IPV4:
        return read_ipv4(r, a);
    case OVS_KEY_ATTR_IPV6:
        return read_ipv6(r, a);
    case OVS_KEY_ATTR_TCP:
    case OVS_KEY_ATTR_UDP:
    case OVS_KEY_ATTR_SCTP:
        memcpy(&f->tp_src, a->data, 2);
        memcpy(&f->tp_dst, a->data + 2, 2);
        return true;
    case OVS_KEY_ATTR_TCP_FLAGS:
        f->tcp_flags = odp_attr_u16(a);
        return true;
    case OVS_KEY_ATTR_ICMP:
    case OVS_KEY_ATTR_ICMPV6:
        read_icmp(r, a);
        return true;
    case OVS_KEY_ATTR_ARP:
        read_arp(r, a);
        return true;
    case OVS_KEY_ATTR_ND:
        read_nd(f, a);
        return true;
    case OVS_KEY_ATTR_IPV6_EXTHDRS:
        f->ipv6_exthdrs = odp_attr_u16(a);
        return true;
    case OVS_KEY_ATTR_MPLS:
        return read_mpls(r, a);
    case OVS_KEY_ATTR_NSH:
        return read_nsh(r, a);
    case OVS_KEY_ATTR_TUNNEL:
        return read_tunnel(r, a);
    default:
        if (!read_meta_attr(r, a, level)) {
            r->unknown = true;
        }
        return true;
    }
}

static bool read_level(struct key_reader *r, const void *attrs, size_t len, int depth, uint64_t *seen_above);

/* A tag at DEPTH, and what is inside. */
static bool read_tag(struct key_reader *r, const struct key_level *level, int depth, uint64_t *seen)
{
    if (!(*seen & BIT(OVS_KEY_ATTR_VLAN)) || !(*seen & BIT(OVS_KEY_ATTR_ENCAP)) || depth >= FLOW_MAX_VLANS) {
        return false;
    }
    if (r->key) {
        if (!flow_vlan_present(&r->key->vlan[depth])) {
            /* The key's tag is cut off: its type is the Ethernet type, see read_level(). */
            r->flow->eth_type = level->eth_type;
            return odp_is_vlan_type(r->key->eth_type) && !level->encap.len;
        }
    } else if (!(level->tci & htons(VLAN_CFI))) {
        /* A frame that ends inside its tag: the kernel says so by a TCI of 0 and an empty nest. */
        r->flow->eth_type = odp_is_vlan_type(level->eth_type) ? level->eth_type : htons(ETH_TYPE_VLAN);
        return !level->tci && !level->encap.len;
    } else if (!(*seen & BIT(OVS_KEY_ATTR_ETHERTYPE))) {
        return false;
    }
    r->flow->vlan[depth].tpid = level->eth_type;
    r->flow->vlan[depth].tci = level->tci;
    *seen &= ~(BIT(OVS_KEY_ATTR_ETHERTYPE) | BIT(OVS_KEY_ATTR_VLAN) | BIT(OVS_KEY_ATTR_ENCAP));
    return read_level(r, level->encap.data, level->encap.len, depth + 1, seen);
}

/* The attributes at one level of nesting.  *SEEN has a bit for each type that came so far; the three that make up a
 * tag may come once a level. */
static bool read_level(struct key_reader *r, const void *attrs, size_t len, int depth, uint64_t *seen)
{
    struct odp_attr_iter it = odp_attr_begin(attrs, len);
    struct key_level level = { 0 };
    struct odp_attr a;

    while (odp_attr_next(&it, &a)) {
        if (a.type >= N_TYPES) {
            r->unknown = true;
            continue;
        }
        if (*seen & BIT(a.type) || (key_len[a.type] && a.len != key_len[a.type])) {
            return false;
        }
        *seen |= BIT(a.type);
        if (!read_attr(r, &a, &level)) {
            return false;
        }
    }
    if (it.malformed) {
        return false;
    }
    if (*seen & (BIT(OVS_KEY_ATTR_VLAN) | BIT(OVS_KEY_ATTR_ENCAP))) {
        return read_tag(r, &level, depth, seen);
    }
    if (*seen & (BIT(OVS_KEY_ATTR_ETHERTYPE) | BIT(OVS_KEY_ATTR_PACKET_TYPE)) || r->key) {
        r->flow->eth_type = level.eth_type;
    } else {
        /* Frames with a length instead of a type have no ETHERTYPE attribute. */
        r->flow->eth_type = htons(ETH_TYPE_802_2);
    }
    return true;
}

enum odp_key_fit odp_key_to_flow(const struct nlattr *key, size_t len, struct flow *flow)
{
    struct key_reader r = { .flow = flow };
    uint64_t seen = 0;

    memset(flow, 0, sizeof *flow);
    if (!read_level(&r, key, len, 0, &seen)) {
        return ODP_FIT_ERROR;
    }
    flow->is_l3 = !(seen & BIT(OVS_KEY_ATTR_ETHERNET));
    if (!(seen & BIT(OVS_KEY_ATTR_IN_PORT))) {
        flow->in_port = ODPP_NONE; /* A packet of no port, or of one that is gone. */
    }
    return r.unknown ? ODP_FIT_TOO_MUCH : ODP_FIT_PERFECT;
}

/* What the kernel matches on without being told. */
static void mask_implied(const struct flow *flow, struct flow *mask)
{
    for (int i = 0; i < FLOW_MAX_VLANS; i++) {
        if (!flow_vlan_present(&flow->vlan[i])) {
            FLOW_MASK_FIELD(mask, vlan[i]);
        }
    }
    mask->is_l3 = 0xff;
    /* Which kind of tuple a packet has follows from its Ethernet type. */
    mask->ct_orig_is_ipv6 = mask->eth_type ? 0xff : mask->ct_orig_is_ipv6;
}

enum odp_key_fit odp_mask_to_flow(const struct nlattr *mask, size_t len, const struct flow *flow,
                                  struct flow *ret_mask)
{
    struct key_reader r = { .flow = ret_mask, .key = flow };
    uint64_t seen = 0;

    if (!len) {
        odp_mask_exact(flow, ret_mask);
        return ODP_FIT_PERFECT;
    }
    memset(ret_mask, 0, sizeof *ret_mask);
    if (!read_level(&r, mask, len, 0, &seen)) {
        return ODP_FIT_ERROR;
    }
    mask_implied(flow, ret_mask);
    return r.unknown ? ODP_FIT_TOO_MUCH : ODP_FIT_PERFECT;
}
