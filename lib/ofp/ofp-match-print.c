/* Matches in text, as `ovs-ofctl dump-flows` shows them.  See ofp-match.h.
 *
 * The order of fields and the words for protocols are the packaged tool's: "tcp" stands for the Ethernet type and the
 * protocol, "tp_src" for the ports of all of them. */
#include <config.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"

struct printer {
    FILE *out;
    const struct match *match;
    const char *separator; /* Before the next field. */
};

static const uint8_t before_protocol[] = {
    OFP_FIELD_PKT_MARK,      OFP_FIELD_RECIRC_ID, OFP_FIELD_DP_HASH, OFP_FIELD_CONJ_ID, OFP_FIELD_SKB_PRIORITY,
    OFP_FIELD_ACTSET_OUTPUT, OFP_FIELD_CT_STATE,  OFP_FIELD_CT_ZONE, OFP_FIELD_CT_MARK, OFP_FIELD_CT_LABEL,
};
static const uint8_t tuple4[] = { OFP_FIELD_CT_NW_SRC, OFP_FIELD_CT_NW_DST };
static const uint8_t tuple6[] = { OFP_FIELD_CT_IPV6_SRC, OFP_FIELD_CT_IPV6_DST };
static const uint8_t tuple_rest[] = { OFP_FIELD_CT_NW_PROTO, OFP_FIELD_CT_TP_SRC, OFP_FIELD_CT_TP_DST };
static const uint8_t after_registers[] = {
    OFP_FIELD_TUN_ID,       OFP_FIELD_TUN_SRC,    OFP_FIELD_TUN_DST,       OFP_FIELD_TUN_IPV6_SRC,
    OFP_FIELD_TUN_IPV6_DST, OFP_FIELD_TUN_GBP_ID, OFP_FIELD_TUN_GBP_FLAGS, OFP_FIELD_TUN_TOS,
    OFP_FIELD_TUN_TTL,      OFP_FIELD_TUN_FLAGS,  OFP_FIELD_METADATA,      OFP_FIELD_IN_PORT,
};
static const uint8_t nsh_fields[] = {
    OFP_FIELD_NSH_FLAGS, OFP_FIELD_NSH_TTL, OFP_FIELD_NSH_MDTYPE, OFP_FIELD_NSH_NP, OFP_FIELD_NSH_SPI,
    OFP_FIELD_NSH_SI,    OFP_FIELD_NSH_C1,  OFP_FIELD_NSH_C2,     OFP_FIELD_NSH_C3, OFP_FIELD_NSH_C4,
};
static const uint8_t arp_fields[] = {
    OFP_FIELD_ARP_SPA, OFP_FIELD_ARP_TPA, OFP_FIELD_ARP_OP, OFP_FIELD_ARP_SHA, OFP_FIELD_ARP_THA,
};
static const uint8_t ip_rest[] = { OFP_FIELD_NW_TOS, OFP_FIELD_NW_ECN, OFP_FIELD_NW_TTL };
static const uint8_t mpls_fields[] = { OFP_FIELD_MPLS_LABEL, OFP_FIELD_MPLS_TC, OFP_FIELD_MPLS_TTL,
                                       OFP_FIELD_MPLS_BOS };
static const uint8_t nd_fields[] = { OFP_FIELD_ND_TARGET, OFP_FIELD_ND_SLL, OFP_FIELD_ND_TLL };

/* What stands for an Ethernet type, and for it with a protocol. */
static const struct protocol {
    const char *name;
    uint16_t eth_type;
    int ip_proto; /* -1: none in particular. */
} protocols[] = {
    { "icmp", ETH_TYPE_IPV4, IPPROTO_ICMP },
    { "tcp", ETH_TYPE_IPV4, IPPROTO_TCP },
    { "udp", ETH_TYPE_IPV4, IPPROTO_UDP },
    { "sctp", ETH_TYPE_IPV4, IPPROTO_SCTP },
    { "ip", ETH_TYPE_IPV4, -1 },
    { "icmp6", ETH_TYPE_IPV6, IPPROTO_ICMPV6 },
    { "tcp6", ETH_TYPE_IPV6, IPPROTO_TCP },
    { "udp6", ETH_TYPE_IPV6, IPPROTO_UDP },
    { "sctp6", ETH_TYPE_IPV6, IPPROTO_SCTP },
    { "ipv6", ETH_TYPE_IPV6, -1 },
    { "arp", ETH_TYPE_ARP, -1 },
    { "rarp", ETH_TYPE_RARP, -1 },
    { "mpls", ETH_TYPE_MPLS, -1 },
    { "mplsm", ETH_TYPE_MPLS_MC, -1 },
};

static void print_word(struct printer *p, const char *word)
{
    fprintf(p->out, "%s%s", p->separator, word);
    p->separator = ",";
}

/* Prints F as NAME if the match looks at it. */
static void print_as(struct printer *p, enum ofp_field_id id, const char *name)
{
    const struct ofp_field *f = ofp_field(id);
    union ofp_value value, mask;

    ofp_field_get_mask(f, p->match, &mask);
    if (ofp_value_is_zero(&mask, f->n_bytes)) {
        return;
    }
    ofp_field_get(f, &p->match->flow, &value);
    print_word(p, name);
    fputc('=', p->out);
    ofp_field_print(p->out, f, &value, &mask);
}

static void print_field(struct printer *p, enum ofp_field_id id) { print_as(p, id, ofp_field(id)->name); }

static void print_fields(struct printer *p, const uint8_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        print_field(p, ids[i]);
    }
}

static void print_ct_tuple(struct printer *p)
{
    if (p->match->flow.ct_orig_is_ipv6) {
        print_fields(p, tuple6, ARRAY_SIZE(tuple6));
    } else {
        print_fields(p, tuple4, ARRAY_SIZE(tuple4));
    }
    print_fields(p, tuple_rest, ARRAY_SIZE(tuple_rest));
}

/* The word for the match's Ethernet type and protocol, or NULL. */
static const struct protocol *find_protocol(const struct match *match)
{
    if (match->mask.eth_type != htons(0xffff) || match->flow.is_l3) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        const struct protocol *proto = &protocols[i];
        if (match->flow.eth_type == htons(proto->eth_type) &&
            (proto->ip_proto < 0 || match->flow.ip_proto == proto->ip_proto)) {
            return proto;
        }
    }
    return NULL;
}

/* That the packet is of Ethernet is said where nothing else would, and always beside a recirculation id. */
static void print_packet_type(struct printer *p)
{
    if (!p->match->mask.is_l3) {
        return;
    }
    if (p->match->flow.is_l3) {
        print_field(p, OFP_FIELD_PACKET_TYPE);
    } else if (p->match->mask.recirc_id) {
        print_word(p, "eth");
    }
}

/* Can what MASK looks at of TCI be said as an id and a priority? */
static bool is_plain_tci(uint16_t tci, uint16_t mask)
{
    uint16_t vid = mask & VLAN_VID_MASK, pcp = mask & VLAN_PCP_MASK;

    return (mask & tci & VLAN_CFI) && (vid || pcp) && (!vid || vid == VLAN_VID_MASK) && (!pcp || pcp == VLAN_PCP_MASK);
}

/* The tag beneath is in no match of OpenFlow, but in flows that are traced. */
static void print_inner_vlan(struct printer *p)
{
    uint16_t mask = ntohs(p->match->mask.vlan[1].tci), tci = ntohs(p->match->flow.vlan[1].tci);

    if (!mask) {
        return;
    }
    if (!is_plain_tci(tci, mask)) {
        print_word(p, "vlan_tci1");
        fprintf(p->out, mask == UINT16_MAX ? "=0x%04x" : "=0x%04x/0x%04x", tci, mask);
        return;
    }
    if (mask & VLAN_VID_MASK) {
        print_word(p, "dl_vlan1");
        fprintf(p->out, "=%u", tci & VLAN_VID_MASK);
    }
    if (mask & VLAN_PCP_MASK) {
        print_word(p, "dl_vlan_pcp1");
        fprintf(p->out, "=%u", tci >> VLAN_PCP_SHIFT);
    }
}

static void print_vlan(struct printer *p)
{
    if (is_plain_tci(ntohs(p->match->flow.vlan[0].tci), ntohs(p->match->mask.vlan[0].tci))) {
        print_field(p, OFP_FIELD_DL_VLAN);
        print_field(p, OFP_FIELD_DL_VLAN_PCP);
    } else {
        print_field(p, OFP_FIELD_VLAN_TCI);
    }
    print_inner_vlan(p);
}

static void print_ip(struct printer *p, const struct protocol *proto)
{
    if (p->match->flow.eth_type == htons(ETH_TYPE_IPV6)) {
        print_field(p, OFP_FIELD_IPV6_SRC);
        print_field(p, OFP_FIELD_IPV6_DST);
        print_field(p, OFP_FIELD_IPV6_LABEL);
    } else {
        print_as(p, OFP_FIELD_IP_SRC, "nw_src");
        print_as(p, OFP_FIELD_IP_DST, "nw_dst");
    }
    if (!proto || proto->ip_proto < 0) {
        print_field(p, OFP_FIELD_NW_PROTO);
    }
}

static void print_l4(struct printer *p)
{
    const struct flow *flow = &p->match->flow;

    if (flow->ip_proto == IPPROTO_ICMP && flow->eth_type == htons(ETH_TYPE_IPV4)) {
        print_field(p, OFP_FIELD_ICMP_TYPE);
        print_field(p, OFP_FIELD_ICMP_CODE);
    } else if (flow->ip_proto == IPPROTO_ICMPV6 && flow->eth_type == htons(ETH_TYPE_IPV6)) {
        print_as(p, OFP_FIELD_ICMPV6_TYPE, "icmp_type");
        print_as(p, OFP_FIELD_ICMPV6_CODE, "icmp_code");
        print_fields(p, nd_fields, ARRAY_SIZE(nd_fields));
    } else {
        print_as(p, OFP_FIELD_TCP_SRC, "tp_src");
        print_as(p, OFP_FIELD_TCP_DST, "tp_dst");
    }
    print_field(p, OFP_FIELD_TCP_FLAGS);
}

void ofp_match_print(FILE *out, const struct match *match, int priority)
{
    const struct protocol *proto = find_protocol(match);
    struct printer p = { out, match, "" };
    uint16_t type = ntohs(match->flow.eth_type);

    if (priority != OFP_DEFAULT_PRIORITY) {
        fprintf(out, "priority=%d", priority);
        p.separator = ",";
    }
    print_fields(&p, before_protocol, ARRAY_SIZE(before_protocol));
    print_ct_tuple(&p);
    print_packet_type(&p);
    if (proto) {
        print_word(&p, proto->name);
    }
    for (int i = 0; i < FLOW_N_REGS; i++) {
        print_field(&p, OFP_FIELD_REG0 + i);
    }
    print_fields(&p, after_registers, ARRAY_SIZE(after_registers));
    print_vlan(&p);
    print_as(&p, OFP_FIELD_ETH_SRC, "dl_src");
    print_as(&p, OFP_FIELD_ETH_DST, "dl_dst");
    if (!proto && !match->flow.is_l3) {
        print_as(&p, OFP_FIELD_ETH_TYPE, "dl_type");
    }
    if (type == ETH_TYPE_NSH) {
        print_fields(&p, nsh_fields, ARRAY_SIZE(nsh_fields));
    } else if (type == ETH_TYPE_ARP || type == ETH_TYPE_RARP) {
        print_fields(&p, arp_fields, ARRAY_SIZE(arp_fields));
    } else {
        print_ip(&p, proto);
        print_fields(&p, ip_rest, ARRAY_SIZE(ip_rest));
        print_fields(&p, mpls_fields, ARRAY_SIZE(mpls_fields));
        print_as(&p, OFP_FIELD_IP_FRAG, "nw_frag");
        print_l4(&p);
    }
}
