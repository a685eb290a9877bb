/* See odp-apply.h.  Pure; the frame comes from the wire, and each length in it is checked before it is believed. */
#include <config.h>

#include "lib/odp/odp-apply.h"

#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/pkt/flow.h"
#include "lib/pkt/packet.h"

#define ARP_LEN 28      /* Of Ethernet and IPv4. */
#define ICMP_LEN 4      /* Type, code, checksum. */
#define ND_OPTIONS 24   /* Where they begin: type, code, checksum, flags, target. */
#define ND_OPT_SLL 1
#define ND_OPT_TLL 2

static size_t key_size(uint16_t type)
{
    switch (type) {
    case OVS_KEY_ATTR_ARP:
        return sizeof(struct ovs_key_arp);
    case OVS_KEY_ATTR_ND:
        return sizeof(struct ovs_key_nd);
    case OVS_KEY_ATTR_ICMP:
    case OVS_KEY_ATTR_ICMPV6:
        return sizeof(struct ovs_key_icmp);
    }
    return 0;
}

/* A SET has the value, a SET_MASKED behind it the mask. */
bool odp_is_slow_set(const struct nlattr *action)
{
    const struct nlattr *set = mnl_attr_get_payload(action);
    unsigned int factor = mnl_attr_get_type(action) == OVS_ACTION_ATTR_SET_MASKED ? 2 : mnl_attr_get_type(action) == OVS_ACTION_ATTR_SET;

    if (!factor || !mnl_attr_ok(set, mnl_attr_get_payload_len(action))) {
        return false;
    }
    size_t size = key_size(mnl_attr_get_type(set));
    return size && mnl_attr_get_payload_len(set) == factor * size;
}

/* ---- Finding headers.  Each function narrows B to what follows. ---- */

/* The Ethernet type behind all tags; 0 if the frame is too short. */
static uint16_t skip_ethernet(struct bytes *b)
{
    const uint8_t *p = bytes_pull(b, ETH_HEADER_LEN);
    uint16_t type = p ? get_u16(p + 12) : 0;

    while (type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ) {
        p = bytes_pull(b, 4);
        type = p ? get_u16(p + 2) : 0;
    }
    return type;
}

/* The protocol, or -1: there is none, or it is not in this fragment. */
static int skip_ipv4(struct bytes *b)
{
    const uint8_t *p = b->p;
    size_t len = b->n >= 20 ? (size_t) (p[0] & 0xf) * 4 : 0;

    if (len < 20 || p[0] >> 4 != 4 || get_u16(p + 6) & 0x1fff || !bytes_pull(b, len)) {
        return -1;
    }
    return p[9];
}

static int skip_ipv6(struct bytes *b)
{
    const uint8_t *p = bytes_pull(b, 40);
    int next = p && p[0] >> 4 == 6 ? p[6] : -1;

    for (;;) {
        size_t len;
        switch (next) {
        case IPPROTO_HOPOPTS:
        case IPPROTO_ROUTING:
        case IPPROTO_DSTOPTS:
            len = b->n >= 2 ? (size_t) (b->p[1] + 1) * 8 : 0;
            break;
        case IPPROTO_AH:
            len = b->n >= 2 ? (size_t) (b->p[1] + 2) * 4 : 0;
            break;
        case IPPROTO_FRAGMENT:
            if (b->n >= 8 && get_u16(b->p + 2) & 0xfff8) {
                return -1;
            }
            len = 8;
            break;
        default:
            return next;
        }
        p = len ? bytes_pull(b, len) : NULL;
        if (!p) {
            return -1;
        }
        next = p[0];
    }
}

/* The header that TYPE is about; p NULL: there is none. */
static struct bytes find(void *frame, size_t len, uint16_t type)
{
    struct bytes b = { frame, len }, none = { NULL, 0 };
    uint16_t eth_type = skip_ethernet(&b);
    int proto = -1;

    if (type == OVS_KEY_ATTR_ARP) {
        bool ok = (eth_type == ETH_TYPE_ARP || eth_type == ETH_TYPE_RARP) && b.n >= ARP_LEN && get_u16(b.p) == 1
                  && get_u16(b.p + 2) == ETH_TYPE_IPV4 && b.p[4] == 6 && b.p[5] == 4;
        return ok ? b : none;
    }
    if (eth_type == ETH_TYPE_IPV4 && type == OVS_KEY_ATTR_ICMP) {
        proto = skip_ipv4(&b);
        return proto == IPPROTO_ICMP && b.n >= ICMP_LEN ? b : none;
    }
    if (eth_type == ETH_TYPE_IPV6 && type != OVS_KEY_ATTR_ICMP) {
        proto = skip_ipv6(&b);
        return proto == IPPROTO_ICMPV6 && b.n >= (type == OVS_KEY_ATTR_ND ? ND_OPTIONS : ICMP_LEN) ? b : none;
    }
    return none;
}

/* ---- Writing. ---- */

/* Writes the N bytes VALUE, in the bits of MASK, at OFS of the header at P.  CSUM: offset of the 16-bit checksum that covers it (RFC 1624), or 0: there
 * is none. */
static void write_bytes(const uint8_t *header, size_t ofs, const uint8_t *value, const uint8_t *mask, size_t n, size_t csum)
{
    uint8_t *p = (uint8_t *) header;
    uint32_t sum = csum ? (uint16_t) ~get_u16(p + csum) : 0;

    for (size_t i = 0; i < n; i++) {
        uint8_t old = p[ofs + i], new = (old & ~mask[i]) | (value[i] & mask[i]);
        unsigned int shift = (ofs + i) % 2 ? 0 : 8;

        p[ofs + i] = new;
        sum += (uint16_t) ~(old << shift) + (uint32_t) (new << shift);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    if (csum && n) {
        sum = (sum & 0xffff) + (sum >> 16);
        p[csum] = (uint8_t) (~sum >> 8);
        p[csum + 1] = (uint8_t) ~sum;
    }
}

/* The link-layer address in option TYPE. */
static void write_nd_option(struct bytes h, uint8_t type, const uint8_t *value, const uint8_t *mask)
{
    for (size_t ofs = ND_OPTIONS; ofs + 8 <= h.n;) {
        size_t len = (size_t) h.p[ofs + 1] * 8;
        if (!len) {
            return;
        }
        if (h.p[ofs] == type && len == 8) {
            write_bytes(h.p, ofs + 2, value, mask, 6, 2);
        }
        ofs += len;
    }
}

static void apply_arp(struct bytes h, const uint8_t *value, const uint8_t *mask)
{
    static const struct {
        uint8_t to, from, n;
    } parts[] = { { 6, offsetof(struct ovs_key_arp, arp_op), 2 },
                  { 8, offsetof(struct ovs_key_arp, arp_sha), 6 },
                  { 14, offsetof(struct ovs_key_arp, arp_sip), 4 },
                  { 18, offsetof(struct ovs_key_arp, arp_tha), 6 },
                  { 24, offsetof(struct ovs_key_arp, arp_tip), 4 } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        write_bytes(h.p, parts[i].to, value + parts[i].from, mask + parts[i].from, parts[i].n, 0);
    }
}

static void apply_nd(struct bytes h, const uint8_t *value, const uint8_t *mask)
{
    const size_t sll = offsetof(struct ovs_key_nd, nd_sll), tll = offsetof(struct ovs_key_nd, nd_tll);

    write_bytes(h.p, 8, value, mask, 16, 2); /* The target. */
    write_nd_option(h, ND_OPT_SLL, value + sll, mask + sll);
    write_nd_option(h, ND_OPT_TLL, value + tll, mask + tll);
}

void odp_apply(void *frame, size_t len, const struct nlattr *action)
{
    const struct nlattr *set = mnl_attr_get_payload(action);
    uint16_t type = mnl_attr_get_type(set);
    static const uint8_t all[sizeof(struct ovs_key_nd)] = { [0 ... sizeof(struct ovs_key_nd) - 1] = 0xff };
    const uint8_t *value = mnl_attr_get_payload(set);
    const uint8_t *mask = mnl_attr_get_type(action) == OVS_ACTION_ATTR_SET ? all : value + key_size(type);
    struct bytes h = find(frame, len, type);

    if (!h.p) {
        return;
    }
    switch (type) {
    case OVS_KEY_ATTR_ARP:
        apply_arp(h, value, mask);
        break;
    case OVS_KEY_ATTR_ND:
        apply_nd(h, value, mask);
        break;
    case OVS_KEY_ATTR_ICMP:
    case OVS_KEY_ATTR_ICMPV6:
        write_bytes(h.p, 0, value, mask, 2, 2);
        break;
    }
}
