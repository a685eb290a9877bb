/* Fields: the descriptions, made from the list, and getting and setting them in flows.
 *
 * Of a field only its place matters here.  Three kinds need more than bits moved: a port that the wire has in 32 bits,
 * the packet type (which a flow has as 'is_l3' and 'eth_type'), and the fields of a VLAN tag, where bit 12 of the TCI
 * says that there is one. */
#include <config.h>

#include "lib/ofp/ofp-field.h"

#include <arpa/inet.h>
#include <assert.h>
#include <linux/openvswitch.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/base/compiler.h"

/* Macros of <netinet/in.h>, in whose place the numbers would get into the headers' names. */
#undef IP_TOS
#undef IP_TTL

#define MEMBER_SIZE(MEMBER) sizeof(((struct flow *) NULL)->MEMBER)
#define AT(MEMBER, SHIFT)                                                                                              \
    {                                                                                                                  \
        OFP_PLACE_BE, offsetof(struct flow, MEMBER), MEMBER_SIZE(MEMBER), SHIFT                                        \
    }
#define HOST(MEMBER, SHIFT)                                                                                            \
    {                                                                                                                  \
        OFP_PLACE_HOST, offsetof(struct flow, MEMBER), MEMBER_SIZE(MEMBER), SHIFT                                      \
    }
#define WIDE(MEMBER, SIZE)                                                                                             \
    {                                                                                                                  \
        OFP_PLACE_BE, offsetof(struct flow, MEMBER), SIZE, 0                                                           \
    }
#define NSH(OFS, SIZE, SHIFT)                                                                                          \
    {                                                                                                                  \
        OFP_PLACE_BE, offsetof(struct flow, nsh) + (OFS), SIZE, SHIFT                                                  \
    }
#define PORT32(MEMBER)                                                                                                 \
    {                                                                                                                  \
        OFP_PLACE_PORT32, offsetof(struct flow, MEMBER), MEMBER_SIZE(MEMBER), 0                                        \
    }
#define TYPE_OF_PACKET                                                                                                 \
    {                                                                                                                  \
        OFP_PLACE_PACKET_TYPE, offsetof(struct flow, is_l3), 1, 0                                                      \
    }

/* Class and separator of headers' names; the class, and the experimenter. */
#define CLASS_NXM_OF     "NXM_OF_", OFP_CLASS_NXM_OF, 0
#define CLASS_NXM_NX     "NXM_NX_", OFP_CLASS_NXM_NX, 0
#define CLASS_OXM_OF     "OXM_OF_", OFP_CLASS_OXM_OF, 0
#define CLASS_OXM_OF_PKT "OXM_OF_PKT_", OFP_CLASS_OXM_OF_PKT, 0
#define CLASS_ONFOXM_ET  "ONFOXM_ET_", OFP_CLASS_EXPERIMENTER, OFP_EXPERIMENTER_ONF
#define CLASS_NXOXM_NSH  "NXOXM_NSH_", OFP_CLASS_EXPERIMENTER, OFP_EXPERIMENTER_NSH
#define VERSION_10       OFP10_VERSION
#define VERSION_12       OFP13_VERSION
#define VERSION_13       OFP13_VERSION
#define VERSION_15       OFP15_VERSION
#define HEADER(PREFIX, CLASS, EXPERIMENTER, NAME, NUMBER, VERSION)                                                     \
    {                                                                                                                  \
        PREFIX #NAME, CLASS, NUMBER, VERSION, EXPERIMENTER                                                             \
    }
#define HEADER_OF(...)                  HEADER(__VA_ARGS__)
#define H(CLASS, NAME, NUMBER, VERSION) HEADER_OF(CLASS_##CLASS, NAME, NUMBER, VERSION_##VERSION)
#define NONE                                                                                                           \
    {                                                                                                                  \
        NULL, 0, 0, 0, 0                                                                                               \
    }
#define IS_MASKABLE true
#define IS_EXACT    false
#define IS_RW       true
#define IS_RO       false

static const struct ofp_field fields[OFP_N_FIELDS] = {
#define FIELD(ID, NAME, ALIAS, BYTES, BITS, MASK, ACCESS, PREREQ, FORMAT, WHERE, NXM, OXM, ET)                         \
    { OFP_FIELD_##ID,      NAME,  ALIAS, BYTES, BITS, IS_##MASK, IS_##ACCESS, OFP_PREREQ_##PREREQ,                     \
      OFP_FORMAT_##FORMAT, WHERE, NXM,   OXM,   ET },
    OFP_FIELDS(FIELD)
#undef FIELD
};

#define BE16_CFI htons(VLAN_CFI)

const struct ofp_field *ofp_field(enum ofp_field_id id) { return &fields[id]; }

static bool name_is(const char *have, const char *name, size_t len)
{
    return have && !strncmp(have, name, len) && !have[len];
}

const struct ofp_field *ofp_field_by_name(const char *name, size_t len)
{
    for (size_t i = 0; i < OFP_N_FIELDS; i++) {
        const struct ofp_field *f = &fields[i];
        if (name_is(f->name, name, len) || name_is(f->alias, name, len) || name_is(f->nxm.name, name, len) ||
            name_is(f->oxm.name, name, len) || name_is(f->et.name, name, len)) {
            return f;
        }
    }
    return NULL;
}

const struct ofp_header *ofp_field_header(const struct ofp_field *f, enum ofp_version version)
{
    if (version == OFP10_VERSION) {
        return f->nxm.name ? &f->nxm : f->et.name ? &f->et : f->oxm.name ? &f->oxm : NULL;
    }
    if (f->oxm.name && version >= f->oxm.version) {
        return &f->oxm;
    }
    return f->et.name ? &f->et : f->nxm.name ? &f->nxm : f->oxm.name ? &f->oxm : NULL;
}

/* ---- Values. ---- */

bool ofp_value_is_zero(const union ofp_value *v, size_t n_bytes)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        any |= v->b[i];
    }
    return !any;
}

uint64_t ofp_value_get_u64(const union ofp_value *v, size_t n_bytes)
{
    uint64_t x = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        x = x << 8 | v->b[i];
    }
    return x;
}

void ofp_value_put_u64(union ofp_value *v, size_t n_bytes, uint64_t number)
{
    for (size_t i = n_bytes; i-- > 0;) {
        v->b[i] = number & 0xff;
        number >>= 8;
    }
}

/* The bits that a field of at most 64 has on the wire. */
static uint64_t wire_bits(const struct ofp_field *f)
{
    if (f->id == OFP_FIELD_VLAN_VID) {
        return VLAN_VID_MASK | VLAN_CFI; /* Bit 12 says that there is a tag, but is no part of the field. */
    }
    if (f->id == OFP_FIELD_NW_TOS) {
        return 0xfc; /* The two bits below are the ECN field. */
    }
    if (f->id == OFP_FIELD_CT_STATE) {
        return 0xff; /* What there is today. */
    }
    return f->n_bits < 64 ? (UINT64_C(1) << f->n_bits) - 1 : UINT64_MAX;
}

void ofp_field_ones(const struct ofp_field *f, union ofp_value *ret_mask)
{
    if (f->n_bytes > 8) {
        memset(ret_mask->b, 0xff, f->n_bytes);
    } else {
        ofp_value_put_u64(ret_mask, f->n_bytes, wire_bits(f));
    }
}

/* ---- Places. ---- */

static bool is_reversed(const struct ofp_place *p)
{
    return p->kind == OFP_PLACE_HOST && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* The integer at P, of at most 8 bytes. */
static uint64_t place_read(const struct ofp_place *p, const struct flow *flow)
{
    const uint8_t *b = (const uint8_t *) flow + p->ofs;
    uint64_t x = 0;

    for (size_t i = 0; i < p->size; i++) {
        x = x << 8 | b[is_reversed(p) ? p->size - 1 - i : i];
    }
    return x;
}

static void place_write(const struct ofp_place *p, uint64_t x, struct flow *flow)
{
    uint8_t *b = (uint8_t *) flow + p->ofs;

    for (size_t i = 0; i < p->size; i++) {
        b[is_reversed(p) ? i : p->size - 1 - i] = x & 0xff;
        x >>= 8;
    }
}

/* Replaces the BITS of the integer at P, counted from its shift, by those of X. */
static void place_change(const struct ofp_place *p, uint64_t x, uint64_t bits, struct flow *flow)
{
    uint64_t old = place_read(p, flow);
    place_write(p, (old & ~(bits << p->shift)) | (x & bits) << p->shift, flow);
}

static void copy_wide(const struct ofp_place *p, const uint8_t *from, uint8_t *to)
{
    for (size_t i = 0; i < p->size; i++) {
        to[i] = from[is_reversed(p) ? p->size - 1 - i : i];
    }
}

/* OpenFlow 1.1 and later have ports in 32 bits, with the reserved ones at their upper end. */
static uint32_t port_to_32(uint16_t port) { return port >= OFPP_MAX ? port | 0xffff0000 : port; }

static uint32_t packet_type(const struct flow *flow)
{
    return flow->is_l3 ? (uint32_t) flow->is_l3 << 16 | ntohs(flow->eth_type) : 0;
}

/* A name space that we do not know becomes one that no packet has. */
static void set_packet_type(struct flow *flow, uint32_t type)
{
    uint32_t ns = type >> 16;

    flow->is_l3 = ns < UINT8_MAX ? ns : UINT8_MAX;
    if (ns) {
        flow->eth_type = htons(type & 0xffff);
    }
}

void ofp_field_get(const struct ofp_field *f, const struct flow *flow, union ofp_value *ret_value)
{
    if (f->n_bytes > 8) {
        copy_wide(&f->place, (const uint8_t *) flow + f->place.ofs, ret_value->b);
        return;
    }

    uint64_t x = 0;
    switch (f->place.kind) {
    case OFP_PLACE_BE:
    case OFP_PLACE_HOST:
        x = place_read(&f->place, flow) >> f->place.shift & wire_bits(f);
        break;
    case OFP_PLACE_PORT32:
        x = port_to_32(place_read(&f->place, flow));
        break;
    case OFP_PLACE_PACKET_TYPE:
        x = packet_type(flow);
        break;
    }
    ofp_value_put_u64(ret_value, f->n_bytes, x);
}

static bool is_vlan_field(const struct ofp_field *f) { return f->place.ofs == offsetof(struct flow, vlan[0].tci); }

/* Is F an address of a connection's tuple? */
static bool is_tuple_address(const struct ofp_field *f)
{
    return f->id >= OFP_FIELD_CT_NW_SRC && f->id <= OFP_FIELD_CT_IPV6_DST;
}

/* Does writing F make a tag, whatever was there? */
static bool makes_tag(const struct ofp_field *f) { return is_vlan_field(f) && f->id != OFP_FIELD_VLAN_TCI; }

void ofp_field_set(const struct ofp_field *f, const union ofp_value *value, struct flow *flow)
{
    if (f->n_bytes > 8) {
        copy_wide(&f->place, value->b, (uint8_t *) flow + f->place.ofs);
        return;
    }

    uint64_t x = ofp_value_get_u64(value, f->n_bytes);
    switch (f->place.kind) {
    case OFP_PLACE_BE:
    case OFP_PLACE_HOST:
        place_change(&f->place, x, wire_bits(f), flow);
        break;
    case OFP_PLACE_PORT32:
        place_write(&f->place, x & 0xffff, flow);
        break;
    case OFP_PLACE_PACKET_TYPE:
        set_packet_type(flow, x);
        break;
    }
    if (is_vlan_field(f)) {
        struct flow_vlan *v = &flow->vlan[0];
        v->tci |= makes_tag(f) ? BE16_CFI : 0;
        /* Without a tag the rest of the TCI stays: it may be written in parts, bit 12 last. */
        v->tpid = !flow_vlan_present(v) ? 0 : v->tpid ? v->tpid : htons(ETH_TYPE_VLAN);
    }
}

void ofp_field_get_mask(const struct ofp_field *f, const struct match *match, union ofp_value *ret_mask)
{
    switch (f->place.kind) {
    case OFP_PLACE_BE:
    case OFP_PLACE_HOST:
        ofp_field_get(f, &match->mask, ret_mask);
        break;
    case OFP_PLACE_PORT32:
        memset(ret_mask->b, place_read(&f->place, &match->mask) ? 0xff : 0, f->n_bytes);
        break;
    case OFP_PLACE_PACKET_TYPE:
        memset(ret_mask->b, match->mask.is_l3 ? 0xff : 0, f->n_bytes);
        break;
    }
}

/* Sets those BITS of the bytes at P to VALUE's. */
static void set_wide(const struct ofp_place *p, const union ofp_value *value, const union ofp_value *bits,
                     struct match *match)
{
    uint8_t *v = (uint8_t *) &match->flow + p->ofs, *m = (uint8_t *) &match->mask + p->ofs;

    for (size_t i = 0; i < p->size; i++) {
        size_t j = is_reversed(p) ? p->size - 1 - i : i;
        v[i] = (v[i] & ~bits->b[j]) | value->b[j];
        m[i] |= bits->b[j];
    }
}

void ofp_field_set_match(const struct ofp_field *f, const union ofp_value *value, const union ofp_value *mask,
                         struct match *match)
{
    union ofp_value bits, masked;

    ofp_field_ones(f, &bits);
    for (size_t i = 0; i < f->n_bytes; i++) {
        bits.b[i] &= mask ? mask->b[i] : 0xff;
        masked.b[i] = value->b[i] & bits.b[i];
    }
    if (f->prereq == OFP_PREREQ_ETHERNET || f->prereq == OFP_PREREQ_VLAN) {
        match->mask.is_l3 = 0xff;
    }
    if (is_tuple_address(f)) {
        match->flow.ct_orig_is_ipv6 = f->n_bytes == 16;
        match->mask.ct_orig_is_ipv6 = 0xff;
    }
    if (f->place.kind == OFP_PLACE_PACKET_TYPE) {
        set_packet_type(&match->flow, ofp_value_get_u64(value, f->n_bytes));
        match->mask.is_l3 = 0xff;
        match->mask.eth_type |= match->flow.is_l3 ? 0xffff : 0;
        return;
    }
    if (f->n_bytes > 8) {
        set_wide(&f->place, &masked, &bits, match);
        return;
    }
    uint64_t b = ofp_value_get_u64(&bits, f->n_bytes);
    place_change(&f->place, ofp_value_get_u64(&masked, f->n_bytes), b, &match->flow);
    place_change(&f->place, b, b, &match->mask);
    if (makes_tag(f) && f->id != OFP_FIELD_VLAN_VID) {
        match->flow.vlan[0].tci |= BE16_CFI;
        match->mask.vlan[0].tci |= BE16_CFI;
    }
}

void ofp_field_unwildcard(const struct ofp_field *f, const struct flow *flow, struct flow *mask)
{
    switch (f->place.kind) {
    case OFP_PLACE_BE:
    case OFP_PLACE_HOST:
        if (f->n_bytes > 8) {
            memset((uint8_t *) mask + f->place.ofs, 0xff, f->place.size);
        } else {
            place_change(&f->place, UINT64_MAX, wire_bits(f), mask);
        }
        mask->vlan[0].tci |= is_vlan_field(f) ? BE16_CFI : 0;
        break;
    case OFP_PLACE_PORT32:
        place_write(&f->place, UINT64_MAX, mask);
        break;
    case OFP_PLACE_PACKET_TYPE:
        mask->is_l3 = 0xff;
        mask->eth_type |= flow->is_l3 ? 0xffff : 0;
        break;
    }
}

/* ---- Prerequisites. ---- */

#define LOOK_AT(MEMBER) (mask ? (void) FLOW_MASK_FIELD(mask, MEMBER) : (void) 0)

static bool is_ip(const struct flow *flow)
{
    return flow->eth_type == htons(ETH_TYPE_IPV4) || flow->eth_type == htons(ETH_TYPE_IPV6);
}

/* Has FLOW a transport header of PROTO, over ETH_TYPE (0: IPv4 or IPv6)? */
static bool is_l4(const struct flow *flow, struct flow *mask, uint16_t eth_type, uint8_t proto)
{
    if (!is_ip(flow) || (eth_type && flow->eth_type != htons(eth_type))) {
        return false;
    }
    LOOK_AT(ip_proto);
    if (flow->ip_proto != proto) {
        return false;
    }
    if (mask) {
        mask->ip_frag |= FLOW_FRAG_LATER;
    }
    return !(flow->ip_frag & FLOW_FRAG_LATER);
}

static bool is_nd(const struct flow *flow, struct flow *mask, bool solicit, bool advert)
{
    if (!is_l4(flow, mask, ETH_TYPE_IPV6, IPPROTO_ICMPV6)) {
        return false;
    }
    LOOK_AT(tp_src);
    LOOK_AT(tp_dst);
    return !flow->tp_dst && ((solicit && flow->tp_src == htons(135)) || (advert && flow->tp_src == htons(136)));
}

#define CT_STATE_KNOWN (OVS_CS_F_NEW | OVS_CS_F_ESTABLISHED | OVS_CS_F_RELATED | OVS_CS_F_REPLY_DIR)

/* Is the packet of a connection that is known?  STATE's bits count where KNOWN has them. */
static bool is_ct_valid(uint32_t state, uint32_t known)
{
    return (state & CT_STATE_KNOWN) ||
           ((state & OVS_CS_F_TRACKED) && (known & OVS_CS_F_INVALID) && !(state & OVS_CS_F_INVALID));
}

static bool is_tagged(const struct flow *flow, struct flow *mask)
{
    LOOK_AT(is_l3);
    if (mask) {
        mask->vlan[0].tci |= BE16_CFI;
    }
    return !flow->is_l3 && flow_vlan_present(&flow->vlan[0]);
}

bool ofp_field_prereqs_ok(const struct ofp_field *f, const struct flow *flow, struct flow *mask)
{
    uint16_t type = ntohs(flow->eth_type);

    if (f->prereq >= OFP_PREREQ_MPLS) {
        LOOK_AT(eth_type);
    }
    switch (f->prereq) {
    case OFP_PREREQ_NONE:
        return true;
    case OFP_PREREQ_ETHERNET:
        LOOK_AT(is_l3);
        return !flow->is_l3;
    case OFP_PREREQ_VLAN:
        return is_tagged(flow, mask);
    case OFP_PREREQ_CT:
        LOOK_AT(ct_state);
        return is_ct_valid(flow->ct_state, UINT32_MAX);
    case OFP_PREREQ_MPLS:
        return type == ETH_TYPE_MPLS || type == ETH_TYPE_MPLS_MC;
    case OFP_PREREQ_IPV4:
        return type == ETH_TYPE_IPV4;
    case OFP_PREREQ_IPV6:
        return type == ETH_TYPE_IPV6;
    case OFP_PREREQ_IP:
        return is_ip(flow);
    case OFP_PREREQ_ARP:
        return type == ETH_TYPE_ARP || type == ETH_TYPE_RARP;
    case OFP_PREREQ_NSH:
        return type == ETH_TYPE_NSH;
    case OFP_PREREQ_TCP:
        return is_l4(flow, mask, 0, IPPROTO_TCP);
    case OFP_PREREQ_UDP:
        return is_l4(flow, mask, 0, IPPROTO_UDP);
    case OFP_PREREQ_SCTP:
        return is_l4(flow, mask, 0, IPPROTO_SCTP);
    case OFP_PREREQ_ICMPV4:
        return is_l4(flow, mask, ETH_TYPE_IPV4, IPPROTO_ICMP);
    case OFP_PREREQ_ICMPV6:
        return is_l4(flow, mask, ETH_TYPE_IPV6, IPPROTO_ICMPV6);
    case OFP_PREREQ_ND:
        return is_nd(flow, mask, true, true);
    case OFP_PREREQ_ND_SOLICIT:
        return is_nd(flow, mask, true, false);
    case OFP_PREREQ_ND_ADVERT:
        return is_nd(flow, mask, false, true);
    }
    return false;
}

bool ofp_field_match_prereqs_ok(const struct ofp_field *f, const struct match *match)
{
    if (is_tuple_address(f) && match->mask.ct_orig_is_ipv6 && match->flow.ct_orig_is_ipv6 != (f->n_bytes == 16)) {
        return false; /* Both kinds are in one place, and no packet has both. */
    }
    if (f->prereq == OFP_PREREQ_CT) {
        return is_ct_valid(match->flow.ct_state, match->mask.ct_state);
    }
    /* For the rest zero, which the flow has where the match does not look, is never what is required. */
    return ofp_field_prereqs_ok(f, &match->flow, NULL);
}

bool ofp_field_value_ok(const struct ofp_field *f, const union ofp_value *value)
{
    if (f->n_bytes > 8) {
        return true;
    }
    uint64_t x = ofp_value_get_u64(value, f->n_bytes);
    if (f->format == OFP_FORMAT_PORT_OXM) {
        return x < OFPP_MAX || x >= port_to_32(OFPP_MAX);
    }
    if (f->id == OFP_FIELD_PACKET_TYPE) {
        return x >> 16 || !x; /* Of name space 0, Ethernet is the only one. */
    }
    if (f->id == OFP_FIELD_ARP_OP) {
        return x <= UINT8_MAX; /* The kernel keeps no more of it. */
    }
    return !(x & ~wire_bits(f));
}
