/* See odp-rewrite.h.
 *
 * A header is a list of spans: bytes of struct flow and their place in the attribute.  What the kernel refuses to have set
 * (a protocol number, whether it is a fragment) is in no span.  Facts of linux/openvswitch.h, checked by the scenarios on a kernel:
 * a SET_MASKED has the values, zero outside of the mask, and then the mask; a header's attribute may be set only where the key
 * says that there is one, hence the look at Ethernet type and protocol, which whoever writes such a field has matched on. */
#include <config.h>

#include "lib/odp/odp-rewrite.h"

#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-proto.h"

struct span {
    uint16_t flow_ofs;
    uint8_t attr_ofs, len;
};

#define MAX_SPANS 5
#define MAX_HEADER 40

struct header {
    uint16_t type; /* OVS_KEY_ATTR_*. */
    uint8_t size;
    uint8_t n_spans;
    struct span spans[MAX_SPANS];
};

#define SPAN(FIELD, STRUCT, MEMBER) \
    { offsetof(struct flow, FIELD), offsetof(struct STRUCT, MEMBER), sizeof(((struct flow *) 0)->FIELD) }

static const struct header priority = { OVS_KEY_ATTR_PRIORITY, 4, 1, { { offsetof(struct flow, skb_priority), 0, 4 } } };
static const struct header mark = { OVS_KEY_ATTR_SKB_MARK, 4, 1, { { offsetof(struct flow, pkt_mark), 0, 4 } } };
static const struct header ethernet = { OVS_KEY_ATTR_ETHERNET, sizeof(struct ovs_key_ethernet), 2,
                                        { SPAN(eth_src, ovs_key_ethernet, eth_src),
                                          SPAN(eth_dst, ovs_key_ethernet, eth_dst) } };
static const struct header ipv4 = { OVS_KEY_ATTR_IPV4, sizeof(struct ovs_key_ipv4), 4,
                                    { SPAN(ip_src, ovs_key_ipv4, ipv4_src), SPAN(ip_dst, ovs_key_ipv4, ipv4_dst),
                                      SPAN(ip_tos, ovs_key_ipv4, ipv4_tos), SPAN(ip_ttl, ovs_key_ipv4, ipv4_ttl) } };
static const struct header ipv6 = { OVS_KEY_ATTR_IPV6, sizeof(struct ovs_key_ipv6), 5,
                                    { SPAN(ipv6_src, ovs_key_ipv6, ipv6_src), SPAN(ipv6_dst, ovs_key_ipv6, ipv6_dst),
                                      SPAN(ipv6_label, ovs_key_ipv6, ipv6_label), SPAN(ip_tos, ovs_key_ipv6, ipv6_tclass),
                                      SPAN(ip_ttl, ovs_key_ipv6, ipv6_hlimit) } };
#define PORTS(TYPE) \
    { TYPE, sizeof(struct ovs_key_tcp), 2, { SPAN(tp_src, ovs_key_tcp, tcp_src), SPAN(tp_dst, ovs_key_tcp, tcp_dst) } }
static const struct header tcp = PORTS(OVS_KEY_ATTR_TCP);
static const struct header udp = PORTS(OVS_KEY_ATTR_UDP);
static const struct header sctp = PORTS(OVS_KEY_ATTR_SCTP);

/* These the kernel has no SET for. */
static const struct header arp = { OVS_KEY_ATTR_ARP, sizeof(struct ovs_key_arp), 5,
                                   { SPAN(ip_src, ovs_key_arp, arp_sip), SPAN(ip_dst, ovs_key_arp, arp_tip),
                                     SPAN(arp_op, ovs_key_arp, arp_op), SPAN(arp_sha, ovs_key_arp, arp_sha),
                                     SPAN(arp_tha, ovs_key_arp, arp_tha) } };
static const struct header nd = { OVS_KEY_ATTR_ND, sizeof(struct ovs_key_nd), 3,
                                  { SPAN(nd_target, ovs_key_nd, nd_target), SPAN(nd_sll, ovs_key_nd, nd_sll),
                                    SPAN(nd_tll, ovs_key_nd, nd_tll) } };
/* Type and code: the low bytes. */
#define ICMP(TYPE) \
    { TYPE, sizeof(struct ovs_key_icmp), 2, { { offsetof(struct flow, tp_src) + 1, 0, 1 }, { offsetof(struct flow, tp_dst) + 1, 1, 1 } } }
static const struct header icmp = ICMP(OVS_KEY_ATTR_ICMP);
static const struct header icmpv6 = ICMP(OVS_KEY_ATTR_ICMPV6);

/* Fields that are left over if the packet does not have them, and tcp_flags, which nobody may write. */
static const struct span unsettable[] = {
    { offsetof(struct flow, arp_op), 0, 2 },     { offsetof(struct flow, arp_sha), 0, 6 },
    { offsetof(struct flow, arp_tha), 0, 6 },    { offsetof(struct flow, nd_target), 0, 16 },
    { offsetof(struct flow, nd_sll), 0, 6 },     { offsetof(struct flow, nd_tll), 0, 6 },
    { offsetof(struct flow, tcp_flags), 0, 2 },
};

void odp_rewrite_init(struct odp_rewrite *r, const struct flow *flow, bool masked)
{
    r->at = *flow;
    memset(&r->known, 0, sizeof r->known);
    memset(&r->written, 0, sizeof r->written);
    r->dirty = false;
    r->masked = masked;
}

/* Takes the bits that are written to SPAN: 'at' becomes WANT there.  Bits that may differ from what the packet has are set in
 * NEED, LEN bytes (NULL: nobody asks).  Returns whether there are any. */
static bool take(struct odp_rewrite *r, const struct flow *want, const struct flow *mask, const struct span *s, uint8_t *need)
{
    uint8_t *at = (uint8_t *) &r->at + s->flow_ofs;
    uint8_t *known = (uint8_t *) &r->known + s->flow_ofs;
    uint8_t *written = (uint8_t *) &r->written + s->flow_ofs;
    const uint8_t *looked_at = (const uint8_t *) mask + s->flow_ofs;
    const uint8_t *value = (const uint8_t *) want + s->flow_ofs;
    uint8_t any = 0, bits[16];

    memcpy(bits, written, s->len);
    for (unsigned int i = 0; i < s->len; i++) {
        uint8_t same = (known[i] | looked_at[i]) & ~(at[i] ^ value[i]);
        uint8_t differs = written[i] & ~same;

        at[i] = (at[i] & ~written[i]) | (value[i] & written[i]);
        known[i] |= written[i];
        written[i] = 0;
        any |= differs;
    }
    for (unsigned int i = 0; need && i < s->len; i++) {
        need[i] = any ? bits[i] : 0; /* All of the field, or nothing: easier to read than the bits that change. */
    }
    return any;
}

/* Is something written to SPAN, for which there is no action, that the packet may not have?  It stays written: the packet is not as it
 * should be next time either. */
static bool is_missing(const struct odp_rewrite *r, const struct flow *want, const struct flow *mask, const struct span *s)
{
    const uint8_t *at = (const uint8_t *) &r->at, *value = (const uint8_t *) want, *known = (const uint8_t *) &r->known;
    const uint8_t *looked_at = (const uint8_t *) mask, *written = (const uint8_t *) &r->written;
    uint8_t any = 0;

    for (unsigned int i = s->flow_ofs; i < s->flow_ofs + s->len; i++) {
        any |= written[i] & ~((known[i] | looked_at[i]) & ~(at[i] ^ value[i]));
    }
    return any;
}

static void put_masked(struct attrbuf *b, const struct header *h, const uint8_t *value, const uint8_t *bits)
{
    uint8_t both[2 * MAX_HEADER];
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SET_MASKED);

    for (unsigned int i = 0; i < h->size; i++) {
        both[i] = value[i] & bits[i];
        both[h->size + i] = bits[i];
    }
    attrbuf_put(b, h->type, both, 2 * h->size);
    attrbuf_nest_end(b, nest);
}

static uint8_t kernel_frag(const struct flow *flow)
{
    return flow->ip_frag & FLOW_FRAG_LATER ? OVS_FRAG_TYPE_LATER : flow->ip_frag & FLOW_FRAG_ANY ? OVS_FRAG_TYPE_FIRST : OVS_FRAG_TYPE_NONE;
}

/* The whole header is written, so all of it must be the same in every packet of the megaflow.  What is in no span
 * (protocol, fragment) the kernel wants as it is in the packet. */
static void put_whole(struct attrbuf *b, const struct odp_rewrite *r, const struct header *h, uint8_t *value, struct flow *mask)
{
    for (unsigned int i = 0; i < h->n_spans; i++) {
        memset((uint8_t *) mask + h->spans[i].flow_ofs, 0xff, h->spans[i].len);
    }
    if (h == &ipv4) {
        value[offsetof(struct ovs_key_ipv4, ipv4_proto)] = r->at.ip_proto;
        value[offsetof(struct ovs_key_ipv4, ipv4_frag)] = kernel_frag(&r->at);
    } else if (h == &ipv6) {
        value[offsetof(struct ovs_key_ipv6, ipv6_proto)] = r->at.ip_proto;
        value[offsetof(struct ovs_key_ipv6, ipv6_frag)] = kernel_frag(&r->at);
    }
    if (h == &ipv4 || h == &ipv6) {
        FLOW_MASK_FIELD(mask, ip_proto);
        FLOW_MASK_FIELD(mask, ip_frag);
    }
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SET);
    attrbuf_put(b, h->type, value, h->size);
    attrbuf_nest_end(b, nest);
}

/* Returns whether there was something to write. */
static bool commit_header(struct odp_rewrite *r, struct attrbuf *b, const struct header *h, const struct flow *want,
                          struct flow *mask, bool masked)
{
    uint8_t value[MAX_HEADER] = { 0 }, bits[MAX_HEADER] = { 0 };
    bool any = false;

    for (unsigned int i = 0; i < h->n_spans; i++) {
        const struct span *s = &h->spans[i];
        any |= take(r, want, mask, s, bits + s->attr_ofs);
        memcpy(value + s->attr_ofs, (const uint8_t *) &r->at + s->flow_ofs, s->len);
    }
    if (any && masked) {
        put_masked(b, h, value, bits);
    } else if (any) {
        put_whole(b, r, h, value, mask);
    }
    return any;
}

static const struct header *l3_header(const struct flow *flow)
{
    return flow->eth_type == htons(ETH_TYPE_IPV4) ? &ipv4 : flow->eth_type == htons(ETH_TYPE_IPV6) ? &ipv6 : NULL;
}

static const struct header *l4_header(const struct flow *flow)
{
    switch ((unsigned int) odp_l4_attr(flow)) {
    case OVS_KEY_ATTR_TCP:
        return &tcp;
    case OVS_KEY_ATTR_UDP:
        return &udp;
    case OVS_KEY_ATTR_SCTP:
        return &sctp;
    }
    return NULL;
}

/* Those that we write ourselves.  What says that there is ND is the type, which may have just been written, or be about to. */
static bool commit_slow(struct odp_rewrite *r, struct attrbuf *b, const struct flow *want, struct flow *mask)
{
    const struct header *l4 = odp_l4_attr(&r->at) == OVS_KEY_ATTR_ICMP     ? &icmp
                              : odp_l4_attr(&r->at) == OVS_KEY_ATTR_ICMPV6 ? &icmpv6
                                                                           : NULL;
    const struct header *headers[] = { odp_is_arp_type(r->at.eth_type) ? &arp : NULL, odp_has_nd(&r->at) || odp_has_nd(want) ? &nd : NULL, l4 };
    bool any = false;

    for (unsigned int i = 0; i < ARRAY_SIZE(headers); i++) {
        any |= headers[i] && commit_header(r, b, headers[i], want, mask, true);
    }
    return any;
}

bool odp_rewrite_commit(struct odp_rewrite *r, struct attrbuf *b, const struct flow *want, struct flow *mask, bool *slow)
{
    const struct header *headers[] = { &priority, &mark, r->at.is_l3 ? NULL : &ethernet, l3_header(&r->at), l4_header(&r->at) };
    bool able = true;

    for (unsigned int i = 0; i < ARRAY_SIZE(headers); i++) {
        if (headers[i]) {
            commit_header(r, b, headers[i], want, mask, r->masked);
        }
    }
    if (commit_slow(r, b, want, mask)) {
        *slow = true;
    }
    for (unsigned int i = 0; i < ARRAY_SIZE(unsettable); i++) {
        able &= !is_missing(r, want, mask, &unsettable[i]);
    }
    /* What is left of these was written to headers that the packet does not have. */
    static const struct header *const rest[] = { &ipv4, &tcp };
    for (unsigned int i = 0; i < ARRAY_SIZE(rest); i++) {
        for (unsigned int k = 0; k < rest[i]->n_spans; k++) {
            able &= !is_missing(r, want, mask, &rest[i]->spans[k]);
        }
    }
    return able;
}
