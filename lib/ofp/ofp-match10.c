/* OpenFlow 1.0's match, which has a place for each of twelve fields and bits that say which count.  See ofp-match.h. */
#include <config.h>

#include <arpa/inet.h>

#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"

/* Bits of 'wildcards'; the addresses have six each, the number of low bits that do not count, 32 and more: none does.
 */
enum {
    FW_IN_PORT = 1 << 0,
    FW_DL_VLAN = 1 << 1,
    FW_DL_SRC = 1 << 2,
    FW_DL_DST = 1 << 3,
    FW_DL_TYPE = 1 << 4,
    FW_NW_PROTO = 1 << 5,
    FW_TP_SRC = 1 << 6,
    FW_TP_DST = 1 << 7,
    FW_NW_SRC_SHIFT = 8,
    FW_NW_DST_SHIFT = 14,
    FW_NW_MASK = 0x3f,
    FW_DL_VLAN_PCP = 1 << 20,
    FW_NW_TOS = 1 << 21,
    FW_ALL = (1 << 22) - 1,
};

enum { VLAN_NONE = 0xffff };

/* Where they are. */
enum {
    AT_IN_PORT = 4,
    AT_DL_SRC = 6,
    AT_DL_DST = 12,
    AT_DL_VLAN = 18,
    AT_DL_VLAN_PCP = 20,
    AT_DL_TYPE = 22,
    AT_NW_TOS = 24,
    AT_NW_PROTO = 25,
    AT_NW_SRC = 28,
    AT_NW_DST = 32,
    AT_TP_SRC = 36,
    AT_TP_DST = 38,
};

/* The fields that have one bit and nothing more to them. */
static const struct plain {
    uint32_t wildcard;
    uint8_t at, id;
} plain[] = {
    { FW_IN_PORT, AT_IN_PORT, OFP_FIELD_IN_PORT }, { FW_DL_SRC, AT_DL_SRC, OFP_FIELD_ETH_SRC },
    { FW_DL_DST, AT_DL_DST, OFP_FIELD_ETH_DST },   { FW_DL_TYPE, AT_DL_TYPE, OFP_FIELD_ETH_TYPE },
    { FW_NW_TOS, AT_NW_TOS, OFP_FIELD_NW_TOS },    { FW_TP_SRC, AT_TP_SRC, OFP_FIELD_TCP_SRC },
    { FW_TP_DST, AT_TP_DST, OFP_FIELD_TCP_DST },
};
enum { N_PLAIN = sizeof plain / sizeof plain[0] };

static bool is_arp(const struct flow *flow)
{
    return flow->eth_type == htons(ETH_TYPE_ARP) || flow->eth_type == htons(ETH_TYPE_RARP);
}

/* The field of the pair at a plain entry that MATCH's packets have: ICMP has its type and code in the ports' places. */
static const struct ofp_field *field_at(const struct plain *p, const struct match *match)
{
    const struct ofp_field *icmp = ofp_field(p->id == OFP_FIELD_TCP_SRC ? OFP_FIELD_ICMP_TYPE : OFP_FIELD_ICMP_CODE);
    bool is_port = p->id == OFP_FIELD_TCP_SRC || p->id == OFP_FIELD_TCP_DST;

    return is_port && ofp_field_match_prereqs_ok(icmp, match) ? icmp : ofp_field(p->id);
}

static void read_vlan(const uint8_t *p, uint32_t wildcards, struct match *match)
{
    union ofp_value v;

    if (!(wildcards & FW_DL_VLAN) && get_u16(p + AT_DL_VLAN) == VLAN_NONE) {
        match->mask.vlan[0].tci = htons(0xffff); /* No tag, whatever the priority. */
        match->mask.is_l3 = 0xff;
        return;
    }
    if (!(wildcards & FW_DL_VLAN)) {
        memcpy(v.b, p + AT_DL_VLAN, 2);
        ofp_field_set_match(ofp_field(OFP_FIELD_DL_VLAN), &v, NULL, match);
    }
    if (!(wildcards & FW_DL_VLAN_PCP)) {
        v.b[0] = p[AT_DL_VLAN_PCP];
        ofp_field_set_match(ofp_field(OFP_FIELD_DL_VLAN_PCP), &v, NULL, match);
    }
}

static void read_address(const uint8_t *p, uint32_t n_wild, enum ofp_field_id id, struct match *match)
{
    union ofp_value v, mask;

    if ((n_wild & FW_NW_MASK) < 32) {
        memcpy(v.b, p, 4);
        ofp_value_put_u64(&mask, 4, UINT32_MAX << (n_wild & FW_NW_MASK));
        ofp_field_set_match(ofp_field(id), &v, &mask, match);
    }
}

void ofp_match_from_ofp10(const uint8_t p[OFP10_MATCH_LEN], struct match *ret_match)
{
    uint32_t wildcards = get_u32(p);
    struct match match;
    union ofp_value v;

    memset(&match, 0, sizeof match);
    for (int i = 0; i < N_PLAIN; i++) {
        const struct ofp_field *f = ofp_field(plain[i].id);
        if (!(wildcards & plain[i].wildcard)) {
            memcpy(v.b, p + plain[i].at, f->n_bytes);
            ofp_field_set_match(f, &v, NULL, &match);
        }
    }
    read_vlan(p, wildcards, &match);
    read_address(p + AT_NW_SRC, wildcards >> FW_NW_SRC_SHIFT, OFP_FIELD_IP_SRC, &match);
    read_address(p + AT_NW_DST, wildcards >> FW_NW_DST_SHIFT, OFP_FIELD_IP_DST, &match);
    if (!(wildcards & FW_NW_PROTO)) {
        const struct ofp_field *f = ofp_field(is_arp(&match.flow) ? OFP_FIELD_ARP_OP : OFP_FIELD_NW_PROTO);
        ofp_value_put_u64(&v, f->n_bytes, p[AT_NW_PROTO]);
        ofp_field_set_match(f, &v, NULL, &match);
    }
    ofp_match_normalize(&match);
    *ret_match = match;
}

/* How many low bits of MASK, a prefix, are zero; 32 if it is none. */
static uint32_t prefix_wild(be32 mask)
{
    uint32_t m = ntohl(mask);
    uint32_t n = m ? __builtin_ctz(m) : 32;

    return n < 32 && m != UINT32_MAX << n ? 32 : n;
}

static uint32_t put_vlan10(uint8_t *p, const struct match *match)
{
    uint16_t mask = ntohs(match->mask.vlan[0].tci), tci = ntohs(match->flow.vlan[0].tci);
    uint32_t counts = 0;

    if (!(mask & VLAN_CFI)) {
        return 0;
    }
    if (!(tci & VLAN_CFI)) {
        memset(p + AT_DL_VLAN, 0xff, 2);
        return FW_DL_VLAN | FW_DL_VLAN_PCP;
    }
    if ((mask & VLAN_VID_MASK) == VLAN_VID_MASK) {
        p[AT_DL_VLAN] = (tci & VLAN_VID_MASK) >> 8;
        p[AT_DL_VLAN + 1] = tci & 0xff;
        counts |= FW_DL_VLAN;
    }
    if ((mask & VLAN_PCP_MASK) == VLAN_PCP_MASK) {
        p[AT_DL_VLAN_PCP] = tci >> VLAN_PCP_SHIFT;
        counts |= FW_DL_VLAN_PCP;
    }
    return counts;
}

void ofp_match_put_ofp10(struct buf *b, const struct match *match)
{
    uint8_t p[OFP10_MATCH_LEN] = { 0 };
    uint32_t counts = 0;
    union ofp_value v;

    for (int i = 0; i < N_PLAIN; i++) {
        const struct ofp_field *f = field_at(&plain[i], match);
        union ofp_value ones;
        ofp_field_ones(f, &ones);
        ofp_field_get_mask(f, match, &v);
        if (!memcmp(v.b, ones.b, f->n_bytes)) {
            ofp_field_get(f, &match->flow, &v);
            memcpy(p + plain[i].at + (ofp_field(plain[i].id)->n_bytes - f->n_bytes), v.b, f->n_bytes);
            counts |= plain[i].wildcard;
        }
    }
    counts |= put_vlan10(p, match);
    if (is_arp(&match->flow) && match->mask.arp_op == htons(0xffff)) {
        p[AT_NW_PROTO] = ntohs(match->flow.arp_op) & 0xff;
        counts |= FW_NW_PROTO;
    } else if (match->mask.ip_proto == 0xff) {
        p[AT_NW_PROTO] = match->flow.ip_proto;
        counts |= FW_NW_PROTO;
    }
    uint32_t src = prefix_wild(match->mask.ip_src), dst = prefix_wild(match->mask.ip_dst);
    be32 src_address = match->flow.ip_src, dst_address = match->flow.ip_dst;
    memcpy(p + AT_NW_SRC, &src_address, src < 32 ? 4 : 0);
    memcpy(p + AT_NW_DST, &dst_address, dst < 32 ? 4 : 0);

    uint32_t plain_wild = FW_ALL & ~(FW_NW_MASK << FW_NW_SRC_SHIFT) & ~(FW_NW_MASK << FW_NW_DST_SHIFT) & ~counts;
    buf_put_u32(b, plain_wild | src << FW_NW_SRC_SHIFT | dst << FW_NW_DST_SHIFT);
    buf_put(b, p + 4, sizeof p - 4);
}
