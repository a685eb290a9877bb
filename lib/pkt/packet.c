/* Flow extraction: what the kernel's datapath does to a received frame, done again in userspace.
 *
 * The simulated datapath, traces and tests need a frame's flow without a kernel.  The rules here follow the kernel's
 * behaviour where it can be observed (tests/unit/test-packet.c states the cases): two VLAN tags are taken off, three
 * MPLS labels looked at, an ARP opcode above 255 reads as 0, the TCP flags are 12 bits, a fragment that is not the
 * first has no ports, lengths within headers are believed only as far as the frame goes, and checksums not at all.
 *
 * All pure functions of the frame: nothing kept, nothing shared, any thread. */
#include <config.h>

#include "lib/pkt/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/openvswitch.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/pkt/flow.h"

/* What is left of the frame. */
struct cursor {
    const uint8_t *p;
    size_t left;
};

/* Bits of flow.ipv6_exthdrs: OpenFlow's OFPXMT12_OFB_IPV6_EXTHDR. */
enum {
    EXTHDR_NONEXT = 1 << 0,
    EXTHDR_AUTH = 1 << 2,
    EXTHDR_DEST = 1 << 3,
    EXTHDR_FRAG = 1 << 4,
    EXTHDR_ROUTER = 1 << 5,
    EXTHDR_HOP = 1 << 6,
    EXTHDR_UNREP = 1 << 7,
    EXTHDR_UNSEQ = 1 << 8,
};

static uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t) (p[0] << 8 | p[1]);
}

static void skip(struct cursor *c, size_t n)
{
    c->p += n;
    c->left -= n;
}

static bool is_vlan_type(uint16_t type)
{
    return type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ;
}

/* Takes off up to two tags.  A tag without a type behind it is none: it stays, and is the Ethernet type. */
static void extract_vlans(struct cursor *c, struct flow *f)
{
    for (int i = 0; i < FLOW_MAX_VLANS && c->left >= 6 && is_vlan_type(get_u16(c->p)); i++) {
        memcpy(&f->vlan[i].tpid, c->p, 2);
        memcpy(&f->vlan[i].tci, c->p + 2, 2);
        f->vlan[i].tci |= htons(VLAN_CFI);
        skip(c, 4);
    }
}

/* The Ethernet type; behind a length field, that of an LLC/SNAP header. */
static be16 extract_eth_type(struct cursor *c)
{
    static const uint8_t snap[6] = { 0xaa, 0xaa, 0x03, 0, 0, 0 };
    uint16_t type = get_u16(c->p);

    skip(c, 2);
    if (type >= 0x600) {
        return htons(type);
    }
    if (c->left >= 8 && !memcmp(c->p, snap, sizeof snap) && get_u16(c->p + 6) >= 0x600) {
        type = get_u16(c->p + 6);
        skip(c, 8);
        return htons(type);
    }
    return htons(ETH_TYPE_802_2);
}

static void extract_ports(const struct cursor *c, struct flow *f, size_t header_len)
{
    if (c->left >= header_len) {
        memcpy(&f->tp_src, c->p, 2);
        memcpy(&f->tp_dst, c->p + 2, 2);
    }
}

static void extract_tcp(const struct cursor *c, struct flow *f)
{
    if (c->left >= 20) {
        size_t header_len = (c->p[12] >> 4) * 4;
        if (header_len >= 20 && header_len <= c->left) {
            extract_ports(c, f, header_len);
            f->tcp_flags = htons(get_u16(c->p + 12) & 0xfff);
        }
    }
}

/* The options of a neighbour message: link-layer addresses.  One that comes twice spoils the message. */
static void extract_nd(const struct cursor *c, struct flow *f)
{
    struct cursor opt = *c;
    struct eth_addr lla[2] = { { { 0 } }, { { 0 } } };

    if (c->left < 24) {
        return;
    }
    skip(&opt, 24);
    while (opt.left >= 8) {
        size_t len = opt.p[1] * 8;

        if (!len || len > opt.left) {
            break;
        }
        if ((opt.p[0] == 1 || opt.p[0] == 2) && len == 8) {
            struct eth_addr *a = &lla[opt.p[0] - 1];
            if (!eth_addr_is_zero(*a)) {
                return;
            }
            memcpy(a, opt.p + 2, sizeof *a);
        }
        skip(&opt, len);
    }
    memcpy(&f->nd_target, c->p + 8, 16);
    f->nd_sll = lla[0];
    f->nd_tll = lla[1];
}

static void extract_icmp(const struct cursor *c, struct flow *f)
{
    if (c->left >= 8) {
        f->tp_src = htons(c->p[0]);
        f->tp_dst = htons(c->p[1]);
        if (f->eth_type == htons(ETH_TYPE_IPV6) && !c->p[1] && (c->p[0] == 135 || c->p[0] == 136)) {
            extract_nd(c, f);
        }
    }
}

static void extract_l4(const struct cursor *c, struct flow *f)
{
    bool v4 = f->eth_type == htons(ETH_TYPE_IPV4);

    switch (f->ip_proto) {
    case IPPROTO_TCP:
        extract_tcp(c, f);
        break;
    case IPPROTO_UDP:
        extract_ports(c, f, 8);
        break;
    case IPPROTO_SCTP:
        extract_ports(c, f, 12);
        break;
    case IPPROTO_ICMP:
        if (v4) {
            extract_icmp(c, f);
        }
        break;
    case IPPROTO_ICMPV6:
        if (!v4) {
            extract_icmp(c, f);
        }
        break;
    }
}

static void extract_ipv4(struct cursor *c, struct flow *f)
{
    size_t header_len = c->left >= 20 ? (c->p[0] & 0xf) * 4 : 0;

    if (header_len < 20 || header_len > c->left) {
        return;
    }
    uint16_t frag = get_u16(c->p + 6);

    f->ip_tos = c->p[1];
    f->ip_ttl = c->p[8];
    f->ip_proto = c->p[9];
    memcpy(&f->ip_src, c->p + 12, 4);
    memcpy(&f->ip_dst, c->p + 16, 4);
    if (frag & 0x1fff) {
        f->ip_frag = FLOW_FRAG_ANY | FLOW_FRAG_LATER;
        return;
    }
    f->ip_frag = frag & 0x2000 ? FLOW_FRAG_ANY : 0;
    skip(c, header_len);
    extract_l4(c, f);
}

static bool is_exthdr(uint8_t proto)
{
    return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_FRAGMENT || proto == IPPROTO_AH ||
           proto == IPPROTO_DSTOPTS;
}

/* Notes extension header PROTO: its bit, whether it is one too many, and whether it comes after one that it should
 * precede by RFC 8200 section 4.1 (destination options may come before routing, and once more at the end). */
static void note_exthdr(struct flow *f, uint8_t proto, int *n_dest)
{
    static const struct {
        uint8_t proto;
        uint16_t bit, before; /* Headers that may precede it. */
    } rules[] = {
        { IPPROTO_HOPOPTS, EXTHDR_HOP, 0 },
        { IPPROTO_ROUTING, EXTHDR_ROUTER, EXTHDR_HOP | EXTHDR_DEST },
        { IPPROTO_FRAGMENT, EXTHDR_FRAG, EXTHDR_HOP | EXTHDR_DEST | EXTHDR_ROUTER },
        { IPPROTO_AH, EXTHDR_AUTH, EXTHDR_HOP | EXTHDR_DEST | EXTHDR_ROUTER | EXTHDR_FRAG },
        { IPPROTO_DSTOPTS, EXTHDR_DEST, EXTHDR_HOP | EXTHDR_DEST | EXTHDR_ROUTER | EXTHDR_FRAG | EXTHDR_AUTH },
    };
    uint16_t seen = f->ipv6_exthdrs & ~(EXTHDR_UNREP | EXTHDR_UNSEQ);

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        if (rules[i].proto != proto) {
            continue;
        }
        bool repeated = proto == IPPROTO_DSTOPTS ? ++*n_dest > 2 : seen & rules[i].bit;

        if (repeated) {
            f->ipv6_exthdrs |= EXTHDR_UNREP;
        }
        if (seen & ~(rules[i].before | rules[i].bit) || (proto == IPPROTO_HOPOPTS && seen)) {
            f->ipv6_exthdrs |= EXTHDR_UNSEQ;
        }
        f->ipv6_exthdrs |= rules[i].bit;
    }
}

/* Skips extension headers, starting with one of type NEXT.  Returns the type of what follows, or -1 if the frame ends
 * before that.  Stops at a fragment that is not the first. */
static int skip_exthdrs(struct cursor *c, struct flow *f, uint8_t next)
{
    int n_dest = 0;

    while (is_exthdr(next)) {
        note_exthdr(f, next, &n_dest);
        if (c->left < 8) {
            return -1;
        }
        size_t len = (c->p[1] + 1) * 8;

        if (next == IPPROTO_FRAGMENT) {
            len = 8;
            if (get_u16(c->p + 2) & 0xfff8) {
                f->ip_frag = FLOW_FRAG_ANY | FLOW_FRAG_LATER;
                return IPPROTO_FRAGMENT;
            }
            f->ip_frag = FLOW_FRAG_ANY;
        } else if (next == IPPROTO_AH) {
            len = (c->p[1] + 2) * 4;
        }
        if (len > c->left) {
            return -1;
        }
        next = c->p[0];
        skip(c, len);
    }
    if (next == IPPROTO_NONE) {
        f->ipv6_exthdrs |= EXTHDR_NONEXT;
    }
    return next;
}

static void extract_ipv6(struct cursor *c, struct flow *f)
{
    if (c->left < 40) {
        return;
    }
    f->ipv6_label = htonl((uint32_t) (c->p[1] & 0xf) << 16 | get_u16(c->p + 2));
    f->ip_tos = get_u16(c->p) >> 4;
    f->ip_ttl = c->p[7];
    memcpy(&f->ipv6_src, c->p + 8, 16);
    memcpy(&f->ipv6_dst, c->p + 24, 16);

    uint8_t next = c->p[6];
    skip(c, 40);
    int proto = skip_exthdrs(c, f, next);
    f->ip_proto = proto < 0 ? IPPROTO_NONE : proto;
    if (proto >= 0 && !(f->ip_frag & FLOW_FRAG_LATER)) {
        extract_l4(c, f);
    }
}

static void extract_arp(const struct cursor *c, struct flow *f)
{
    static const uint8_t eth_ipv4[6] = { 0, 1, 8, 0, 6, 4 };

    if (c->left < 28 || memcmp(c->p, eth_ipv4, sizeof eth_ipv4)) {
        return;
    }
    f->ip_proto = c->p[6] ? 0 : c->p[7];
    f->arp_op = htons(f->ip_proto);
    memcpy(&f->arp_sha, c->p + 8, 6);
    memcpy(&f->ip_src, c->p + 14, 4);
    memcpy(&f->arp_tha, c->p + 18, 6);
    memcpy(&f->ip_dst, c->p + 24, 4);
}

static void extract_mpls(const struct cursor *c, struct flow *f)
{
    for (size_t i = 0; i < FLOW_MAX_MPLS && c->left >= (i + 1) * 4; i++) {
        memcpy(&f->mpls[i], c->p + i * 4, 4);
        if (c->p[i * 4 + 2] & 1) {
            break;
        }
    }
}

static void extract_nsh(const struct cursor *c, struct flow *f)
{
    uint16_t head = c->left >= 8 ? get_u16(c->p) : 0;
    size_t len = (head & 0x3f) * 4;
    uint8_t *nsh = (uint8_t *) f->nsh;
    uint8_t mdtype = c->left >= 8 ? c->p[2] : 0;

    if (len < 8 || len > c->left || head >> 14 || (mdtype == 1 && len != 24)) {
        return;
    }
    nsh[0] = head >> 12 & 3;
    nsh[1] = head >> 6 & 0x3f;
    memcpy(nsh + 2, c->p + 2, 6);
    if (mdtype == 1) {
        memcpy(nsh + 8, c->p + 8, 16);
    }
}

int packet_extract(const void *frame, size_t len, struct flow *flow)
{
    struct cursor c = { frame, len };
    size_t first = offsetof(struct flow, eth_src);

    if (len < ETH_HEADER_LEN) {
        return -EINVAL;
    }
    memset((uint8_t *) flow + first, 0, offsetof(struct flow, metadata) - first);
    memcpy(&flow->eth_dst, c.p, 6);
    memcpy(&flow->eth_src, c.p + 6, 6);
    skip(&c, 12);
    extract_vlans(&c, flow);
    flow->eth_type = extract_eth_type(&c);
    switch (ntohs(flow->eth_type)) {
    case ETH_TYPE_IPV4:
        extract_ipv4(&c, flow);
        break;
    case ETH_TYPE_IPV6:
        extract_ipv6(&c, flow);
        break;
    case ETH_TYPE_ARP:
    case ETH_TYPE_RARP:
        extract_arp(&c, flow);
        break;
    case ETH_TYPE_MPLS:
    case ETH_TYPE_MPLS_MC:
        extract_mpls(&c, flow);
        break;
    case ETH_TYPE_NSH:
        extract_nsh(&c, flow);
        break;
    }
    return 0;
}
