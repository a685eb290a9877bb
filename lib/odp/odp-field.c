/* The text of keys: names and layouts of fields, and how each kind of value is printed.
 *
 * One table serves the printer and the scanner, so that what one writes the other reads.  The spelling is that of
 * `ovs-dpctl dump-flows`, tried against it field by field: most masks are hexadecimal with %#x (so that zero is "0"),
 * and the exceptions (VLAN, MPLS, Ethernet types) are where they are for that reason only.  All functions are pure. */
#include <config.h>

#include "lib/odp/odp-field.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/compiler.h"

const char *const odp_ct_state_names[8] = { "new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat" };
const char *const odp_tcp_flag_names[12] = { "fin", "syn", "rst", "psh", "ack", "urg",
                                             "ece", "cwr", "ns",  "[200]", "[400]", "[800]" };
const char *const odp_tunnel_flag_names[4] = { "oam", "df", "csum", "key" };

#define FIELD(STRUCT, NAME, MEMBER, KIND)                                                                             \
    {                                                                                                                 \
        NAME, KIND, offsetof(STRUCT, MEMBER)                                                                          \
    }

static const struct odp_field eth_fields[] = {
    FIELD(struct ovs_key_ethernet, "src", eth_src, ODP_FIELD_MAC),
    FIELD(struct ovs_key_ethernet, "dst", eth_dst, ODP_FIELD_MAC),
};
static const struct odp_field ipv4_fields[] = {
    FIELD(struct ovs_key_ipv4, "src", ipv4_src, ODP_FIELD_IPV4),
    FIELD(struct ovs_key_ipv4, "dst", ipv4_dst, ODP_FIELD_IPV4),
    FIELD(struct ovs_key_ipv4, "proto", ipv4_proto, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_ipv4, "tos", ipv4_tos, ODP_FIELD_HEX8),
    FIELD(struct ovs_key_ipv4, "ttl", ipv4_ttl, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_ipv4, "frag", ipv4_frag, ODP_FIELD_FRAG),
};
static const struct odp_field ipv6_fields[] = {
    FIELD(struct ovs_key_ipv6, "src", ipv6_src, ODP_FIELD_IPV6),
    FIELD(struct ovs_key_ipv6, "dst", ipv6_dst, ODP_FIELD_IPV6),
    FIELD(struct ovs_key_ipv6, "label", ipv6_label, ODP_FIELD_LABEL),
    FIELD(struct ovs_key_ipv6, "proto", ipv6_proto, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_ipv6, "tclass", ipv6_tclass, ODP_FIELD_HEX8),
    FIELD(struct ovs_key_ipv6, "hlimit", ipv6_hlimit, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_ipv6, "frag", ipv6_frag, ODP_FIELD_FRAG),
};
static const struct odp_field ports_fields[] = {
    FIELD(struct ovs_key_tcp, "src", tcp_src, ODP_FIELD_DEC16),
    FIELD(struct ovs_key_tcp, "dst", tcp_dst, ODP_FIELD_DEC16),
};
static const struct odp_field icmp_fields[] = {
    FIELD(struct ovs_key_icmp, "type", icmp_type, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_icmp, "code", icmp_code, ODP_FIELD_DEC8),
};
static const struct odp_field arp_fields[] = {
    FIELD(struct ovs_key_arp, "sip", arp_sip, ODP_FIELD_IPV4),
    FIELD(struct ovs_key_arp, "tip", arp_tip, ODP_FIELD_IPV4),
    FIELD(struct ovs_key_arp, "op", arp_op, ODP_FIELD_DEC16),
    FIELD(struct ovs_key_arp, "sha", arp_sha, ODP_FIELD_MAC),
    FIELD(struct ovs_key_arp, "tha", arp_tha, ODP_FIELD_MAC),
};
static const struct odp_field nd_fields[] = {
    FIELD(struct ovs_key_nd, "target", nd_target, ODP_FIELD_IPV6),
    FIELD(struct ovs_key_nd, "sll", nd_sll, ODP_FIELD_MAC),
    FIELD(struct ovs_key_nd, "tll", nd_tll, ODP_FIELD_MAC),
};
static const struct odp_field tuple4_fields[] = {
    FIELD(struct ovs_key_ct_tuple_ipv4, "src", ipv4_src, ODP_FIELD_IPV4),
    FIELD(struct ovs_key_ct_tuple_ipv4, "dst", ipv4_dst, ODP_FIELD_IPV4),
    FIELD(struct ovs_key_ct_tuple_ipv4, "proto", ipv4_proto, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_ct_tuple_ipv4, "tp_src", src_port, ODP_FIELD_DEC16),
    FIELD(struct ovs_key_ct_tuple_ipv4, "tp_dst", dst_port, ODP_FIELD_DEC16),
};
static const struct odp_field tuple6_fields[] = {
    FIELD(struct ovs_key_ct_tuple_ipv6, "src", ipv6_src, ODP_FIELD_IPV6),
    FIELD(struct ovs_key_ct_tuple_ipv6, "dst", ipv6_dst, ODP_FIELD_IPV6),
    FIELD(struct ovs_key_ct_tuple_ipv6, "proto", ipv6_proto, ODP_FIELD_DEC8),
    FIELD(struct ovs_key_ct_tuple_ipv6, "src_port", src_port, ODP_FIELD_DEC16),
    FIELD(struct ovs_key_ct_tuple_ipv6, "dst_port", dst_port, ODP_FIELD_DEC16),
};
static const struct odp_field hex16_field = { NULL, ODP_FIELD_HEX16, 0 };
static const struct odp_field hex32_field = { NULL, ODP_FIELD_HEX32, 0 };
static const struct odp_field hex128_field = { NULL, ODP_FIELD_HEX128, 0 };
static const struct odp_field ethertype_field = { NULL, ODP_FIELD_ETHERTYPE, 0 };
static const struct odp_field port_field = { NULL, ODP_FIELD_PORT, 0 };
static const struct odp_field ct_state_field = { NULL, ODP_FIELD_CT_STATE, 0 };
static const struct odp_field tcp_flags_field = { NULL, ODP_FIELD_TCP_FLAGS, 0 };

#define GROUP(NAME, TYPE, STRUCT, FIELDS)                                                                             \
    {                                                                                                                 \
        NAME, OVS_KEY_ATTR_##TYPE, sizeof(STRUCT), FIELDS, ARRAY_SIZE(FIELDS)                                         \
    }

static const struct odp_group groups[] = {
    { "recirc_id", OVS_KEY_ATTR_RECIRC_ID, 4, &hex32_field, 1 },
    { "dp_hash", OVS_KEY_ATTR_DP_HASH, 4, &hex32_field, 1 },
    { "skb_priority", OVS_KEY_ATTR_PRIORITY, 4, &hex32_field, 1 },
    { "in_port", OVS_KEY_ATTR_IN_PORT, 4, &port_field, 1 },
    { "skb_mark", OVS_KEY_ATTR_SKB_MARK, 4, &hex32_field, 1 },
    { "ct_state", OVS_KEY_ATTR_CT_STATE, 4, &ct_state_field, 1 },
    { "ct_zone", OVS_KEY_ATTR_CT_ZONE, 2, &hex16_field, 1 },
    { "ct_mark", OVS_KEY_ATTR_CT_MARK, 4, &hex32_field, 1 },
    { "ct_label", OVS_KEY_ATTR_CT_LABELS, 16, &hex128_field, 1 },
    { "eth_type", OVS_KEY_ATTR_ETHERTYPE, 2, &ethertype_field, 1 },
    { "tcp_flags", OVS_KEY_ATTR_TCP_FLAGS, 2, &tcp_flags_field, 1 },
    GROUP("ct_tuple4", CT_ORIG_TUPLE_IPV4, struct ovs_key_ct_tuple_ipv4, tuple4_fields),
    GROUP("ct_tuple6", CT_ORIG_TUPLE_IPV6, struct ovs_key_ct_tuple_ipv6, tuple6_fields),
    GROUP("eth", ETHERNET, struct ovs_key_ethernet, eth_fields),
    GROUP("ipv4", IPV4, struct ovs_key_ipv4, ipv4_fields),
    GROUP("ipv6", IPV6, struct ovs_key_ipv6, ipv6_fields),
    GROUP("tcp", TCP, struct ovs_key_tcp, ports_fields),
    GROUP("udp", UDP, struct ovs_key_udp, ports_fields),
    GROUP("sctp", SCTP, struct ovs_key_sctp, ports_fields),
    GROUP("icmp", ICMP, struct ovs_key_icmp, icmp_fields),
    GROUP("icmpv6", ICMPV6, struct ovs_key_icmpv6, icmp_fields),
    GROUP("arp", ARP, struct ovs_key_arp, arp_fields),
    GROUP("nd", ND, struct ovs_key_nd, nd_fields),
};

const struct odp_tunnel_field odp_tunnel_fields[ODP_N_TUNNEL_FIELDS] = {
    { { "tun_id", ODP_FIELD_HEX64, 0 }, OVS_TUNNEL_KEY_ATTR_ID },
    { { "src", ODP_FIELD_IPV4, 0 }, OVS_TUNNEL_KEY_ATTR_IPV4_SRC },
    { { "dst", ODP_FIELD_IPV4, 0 }, OVS_TUNNEL_KEY_ATTR_IPV4_DST },
    { { "ipv6_src", ODP_FIELD_IPV6, 0 }, OVS_TUNNEL_KEY_ATTR_IPV6_SRC },
    { { "ipv6_dst", ODP_FIELD_IPV6, 0 }, OVS_TUNNEL_KEY_ATTR_IPV6_DST },
    { { "tos", ODP_FIELD_HEX8, 0 }, OVS_TUNNEL_KEY_ATTR_TOS },
    { { "ttl", ODP_FIELD_DEC8, 0 }, OVS_TUNNEL_KEY_ATTR_TTL },
    { { "tp_src", ODP_FIELD_DEC16, 0 }, OVS_TUNNEL_KEY_ATTR_TP_SRC },
    { { "tp_dst", ODP_FIELD_DEC16, 0 }, OVS_TUNNEL_KEY_ATTR_TP_DST },
};

const struct odp_group *odp_group_by_type(uint16_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        if (groups[i].type == type) {
            return &groups[i];
        }
    }
    return NULL;
}

const struct odp_group *odp_group_by_name(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        if (!strncmp(groups[i].name, name, n) && !groups[i].name[n]) {
            return &groups[i];
        }
    }
    return NULL;
}

size_t odp_field_size(enum odp_field_kind kind)
{
    switch (kind) {
    case ODP_FIELD_DEC8:
    case ODP_FIELD_HEX8:
    case ODP_FIELD_FRAG:
        return 1;
    case ODP_FIELD_DEC16:
    case ODP_FIELD_HEX16:
    case ODP_FIELD_ETHERTYPE:
    case ODP_FIELD_TCP_FLAGS:
        return 2;
    case ODP_FIELD_HEX32:
    case ODP_FIELD_BE32:
    case ODP_FIELD_LABEL:
    case ODP_FIELD_IPV4:
    case ODP_FIELD_PORT:
    case ODP_FIELD_CT_STATE:
        return 4;
    case ODP_FIELD_MAC:
        return 6;
    case ODP_FIELD_HEX64:
        return 8;
    case ODP_FIELD_HEX128:
    case ODP_FIELD_IPV6:
        return 16;
    }
    return 0;
}

/* Is the field in host byte order? */
static bool is_host_order(enum odp_field_kind kind)
{
    return kind == ODP_FIELD_HEX16 || kind == ODP_FIELD_HEX32 || kind == ODP_FIELD_PORT || kind == ODP_FIELD_CT_STATE ||
           kind == ODP_FIELD_HEX128;
}

uint64_t odp_field_get(enum odp_field_kind kind, const uint8_t *p)
{
    size_t n = odp_field_size(kind);
    uint64_t v = 0;

    for (size_t i = 0; i < n && i < 8; i++) {
        bool little = is_host_order(kind) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        v = v << 8 | p[little ? n - 1 - i : i];
    }
    return v;
}

void odp_field_set(enum odp_field_kind kind, uint64_t v, uint8_t *p)
{
    size_t n = odp_field_size(kind);

    for (size_t i = 0; i < n; i++) {
        bool little = is_host_order(kind) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        p[little ? i : n - 1 - i] = v & 0xff;
        v >>= 8;
    }
}

uint64_t odp_field_max(enum odp_field_kind kind)
{
    switch (kind) {
    case ODP_FIELD_LABEL:
        return 0xfffff;
    case ODP_FIELD_TCP_FLAGS:
        return 0xfff;
    case ODP_FIELD_DEC8:
    case ODP_FIELD_HEX8:
    case ODP_FIELD_FRAG:
    case ODP_FIELD_DEC16:
    case ODP_FIELD_HEX16:
    case ODP_FIELD_ETHERTYPE:
    case ODP_FIELD_HEX32:
    case ODP_FIELD_BE32:
    case ODP_FIELD_IPV4:
    case ODP_FIELD_PORT:
    case ODP_FIELD_CT_STATE:
    case ODP_FIELD_MAC:
    case ODP_FIELD_HEX64:
    case ODP_FIELD_HEX128:
    case ODP_FIELD_IPV6:
        break;
    }
    size_t n = odp_field_size(kind);
    return n < 8 ? (UINT64_C(1) << 8 * n) - 1 : UINT64_MAX;
}

bool odp_field_is_exact(enum odp_field_kind kind, const uint8_t *mask)
{
    uint64_t all = odp_field_max(kind);

    if (odp_field_size(kind) > 8) {
        return odp_all_ones(mask, odp_field_size(kind));
    }
    return (odp_field_get(kind, mask) & all) == all;
}
