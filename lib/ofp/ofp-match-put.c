/* Matches to the wire: NXM and OXM.  See ofp-match.h.
 *
 * The order of entries is the packaged switch's.  Each comes after what it requires, as the decoders want it. */
#include <config.h>

#include <arpa/inet.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"

enum { COOKIE_NUMBER = 30, OFPMT_OXM = 1 };

/* Before the tags. */
static const uint8_t first_fields[] = {
    OFP_FIELD_DP_HASH,
    OFP_FIELD_RECIRC_ID,
    OFP_FIELD_CONJ_ID,
};
static const uint8_t ethernet_fields[] = { OFP_FIELD_ACTSET_OUTPUT, OFP_FIELD_ETH_SRC, OFP_FIELD_ETH_DST,
                                           OFP_FIELD_ETH_TYPE };
/* Between the tags and the registers. */
static const uint8_t middle_fields[] = {
    OFP_FIELD_MPLS_TC,       OFP_FIELD_MPLS_BOS,  OFP_FIELD_MPLS_TTL,     OFP_FIELD_MPLS_LABEL,   OFP_FIELD_IP_SRC,
    OFP_FIELD_IP_DST,        OFP_FIELD_IPV6_SRC,  OFP_FIELD_IPV6_DST,     OFP_FIELD_IP_FRAG,      OFP_FIELD_NW_TOS,
    OFP_FIELD_NW_ECN,        OFP_FIELD_NW_TTL,    OFP_FIELD_IPV6_LABEL,   OFP_FIELD_NW_PROTO,     OFP_FIELD_TCP_SRC,
    OFP_FIELD_TCP_DST,       OFP_FIELD_TCP_FLAGS, OFP_FIELD_UDP_SRC,      OFP_FIELD_UDP_DST,      OFP_FIELD_SCTP_SRC,
    OFP_FIELD_SCTP_DST,      OFP_FIELD_ICMP_TYPE, OFP_FIELD_ICMP_CODE,    OFP_FIELD_ICMPV6_TYPE,  OFP_FIELD_ICMPV6_CODE,
    OFP_FIELD_ND_TARGET,     OFP_FIELD_ND_SLL,    OFP_FIELD_ND_TLL,       OFP_FIELD_ARP_OP,       OFP_FIELD_ARP_SPA,
    OFP_FIELD_ARP_TPA,       OFP_FIELD_ARP_SHA,   OFP_FIELD_ARP_THA,      OFP_FIELD_NSH_FLAGS,    OFP_FIELD_NSH_TTL,
    OFP_FIELD_NSH_MDTYPE,    OFP_FIELD_NSH_NP,    OFP_FIELD_NSH_SPI,      OFP_FIELD_NSH_SI,       OFP_FIELD_NSH_C1,
    OFP_FIELD_NSH_C2,        OFP_FIELD_NSH_C3,    OFP_FIELD_NSH_C4,       OFP_FIELD_TUN_ID,       OFP_FIELD_TUN_FLAGS,
    OFP_FIELD_TUN_SRC,       OFP_FIELD_TUN_DST,   OFP_FIELD_TUN_IPV6_SRC, OFP_FIELD_TUN_IPV6_DST, OFP_FIELD_TUN_GBP_ID,
    OFP_FIELD_TUN_GBP_FLAGS,
};
static const uint8_t last_fields[] = {
    OFP_FIELD_PKT_MARK,  OFP_FIELD_CT_STATE,  OFP_FIELD_CT_ZONE,     OFP_FIELD_CT_MARK,     OFP_FIELD_CT_LABEL,
    OFP_FIELD_CT_NW_SRC, OFP_FIELD_CT_NW_DST, OFP_FIELD_CT_IPV6_SRC, OFP_FIELD_CT_IPV6_DST, OFP_FIELD_CT_NW_PROTO,
    OFP_FIELD_CT_TP_SRC, OFP_FIELD_CT_TP_DST, OFP_FIELD_METADATA,
};

struct writer {
    struct buf *b;
    const struct match *match;
    enum ofp_version version;
};

/* Appends FIELD, of which MASK counts; none if that is zero. */
static void put_masked(const struct writer *w, const struct ofp_field *f, const union ofp_value *mask)
{
    union ofp_value value;
    bool exact = true;

    if (ofp_value_is_zero(mask, f->n_bytes)) {
        return;
    }
    if (f->maskable) {
        union ofp_value ones;
        ofp_field_ones(f, &ones);
        exact = !memcmp(ones.b, mask->b, f->n_bytes);
        /* Of these not all bits that the wire has mean something yet: say which are meant. */
        exact = exact && f->id != OFP_FIELD_CT_STATE && f->id != OFP_FIELD_TUN_FLAGS;
    }
    ofp_field_get(f, &w->match->flow, &value);
    ofp_entry_put(w->b, f, w->version, &value, exact ? NULL : mask);
}

/* Is F in the union of the connection's addresses, as the other kind? */
static bool is_other_tuple(const struct ofp_field *f, const struct match *match)
{
    return f->id >= OFP_FIELD_CT_NW_SRC && f->id <= OFP_FIELD_CT_IPV6_DST &&
           (f->n_bytes == 16) != (match->flow.ct_orig_is_ipv6 != 0);
}

static void put_field(const struct writer *w, enum ofp_field_id id)
{
    const struct ofp_field *f = ofp_field(id);
    union ofp_value mask;

    if (is_other_tuple(f, w->match) || (f->prereq != OFP_PREREQ_CT && !ofp_field_match_prereqs_ok(f, w->match))) {
        return; /* Another field is in this place. */
    }
    ofp_field_get_mask(f, w->match, &mask);
    put_masked(w, f, &mask);
}

static void put_fields(const struct writer *w, const uint8_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_field(w, ids[i]);
    }
}

/* That a packet is of Ethernet is said only where no other field does. */
static void put_packet_type(const struct writer *w)
{
    const struct flow *m = &w->match->mask;

    if (w->match->flow.is_l3 ||
        (m->is_l3 && !m->eth_type && !m->vlan[0].tci && eth_addr_is_zero(m->eth_src) && eth_addr_is_zero(m->eth_dst))) {
        put_field(w, OFP_FIELD_PACKET_TYPE);
    }
}

/* OXM has the VLAN id with the bit that says whether there is a tag, and the priority of tags that are there, all of
 * it.  What it cannot say goes as NXM, which switches that make such matches read (the packaged tool widens or breaks
 * them). */
static void put_vlan(const struct writer *w)
{
    uint16_t mask = ntohs(w->match->mask.vlan[0].tci), tci = ntohs(w->match->flow.vlan[0].tci);
    uint16_t pcp = mask & VLAN_PCP_MASK;
    bool untagged = mask == UINT16_MAX && !tci;

    if (w->version == OFP10_VERSION || (pcp && !untagged && (pcp != VLAN_PCP_MASK || !(mask & tci & VLAN_CFI)))) {
        put_field(w, OFP_FIELD_VLAN_TCI);
        return;
    }
    put_field(w, OFP_FIELD_VLAN_VID);
    if (pcp && !untagged) {
        put_field(w, OFP_FIELD_VLAN_PCP);
    }
}

/* From OpenFlow 1.5 on registers go in pairs. */
static void put_regs(const struct writer *w)
{
    bool pairs = w->version >= OFP15_VERSION;
    int first = pairs ? OFP_FIELD_XREG0 : OFP_FIELD_REG0;
    int n = pairs ? FLOW_N_REGS / 2 : FLOW_N_REGS;

    for (int i = 0; i < n; i++) {
        put_field(w, first + i);
    }
}

/* OXM has of the type of service the DSCP. */
static size_t put_entries(const struct writer *w)
{
    size_t start = w->b->len;
    bool oxm = w->version != OFP10_VERSION;

    put_packet_type(w);
    put_fields(w, first_fields, ARRAY_SIZE(first_fields));
    put_field(w, oxm ? OFP_FIELD_IN_PORT_OXM : OFP_FIELD_IN_PORT);
    put_fields(w, ethernet_fields, ARRAY_SIZE(ethernet_fields));
    put_vlan(w);
    for (size_t i = 0; i < ARRAY_SIZE(middle_fields); i++) {
        put_field(w, oxm && middle_fields[i] == OFP_FIELD_NW_TOS ? OFP_FIELD_IP_DSCP : middle_fields[i]);
    }
    put_regs(w);
    put_fields(w, last_fields, ARRAY_SIZE(last_fields));
    return w->b->len - start;
}

size_t ofp_match_put_nxm(struct buf *b, const struct match *match, const struct ofp_match_cookie *cookie)
{
    struct writer w = { b, match, OFP10_VERSION };
    size_t start = b->len;

    put_entries(&w);
    if (cookie && cookie->mask) {
        bool exact = cookie->mask == UINT64_MAX;
        buf_put_u16(b, OFP_CLASS_NXM_NX);
        buf_put_u8(b, COOKIE_NUMBER << 1 | !exact);
        buf_put_u8(b, exact ? 8 : 16);
        buf_put_u64(b, cookie->cookie & cookie->mask);
        if (!exact) {
            buf_put_u64(b, cookie->mask);
        }
    }
    return b->len - start;
}

size_t ofp_match_put_oxm(struct buf *b, const struct match *match, enum ofp_version version)
{
    struct writer w = { b, match, version };
    size_t start = b->len;

    buf_put_u16(b, OFPMT_OXM);
    buf_put_u16(b, 0);
    size_t length = 4 + put_entries(&w);
    buf_patch_u16(b, start + 2, length);
    buf_pad8(b, start);
    return length;
}
