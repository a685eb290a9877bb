/* Datapath keys and masks, written: struct flow into OVS_KEY_ATTR_*.
 *
 * One writer serves key and mask: `v` is what is written, `flow` says which attributes the packet has.  A key gets all
 * of them, a mask those with a bit set.  Connection tracking's and the IPv6 extension headers are left out of a key
 * while they are zero and not matched on: a kernel without conntrack (or zones, or older than 5.18) refuses them, and
 * an absent one means zero.
 *
 * What the kernel asks of a mask (each rule measured on 6.1, in a guest, by putting flows that break it):
 * - every attribute of the mask must be in the key too ("Unexpected mask" in its log), hence odp_key_put_masked(); but for IN_PORT, where a
 *   key without is of packets that came in by no port;
 * - ETHERTYPE, IN_PORT are taken as exact when present, whatever their bits;
 * - a tag's TPID must be exact and its TCI mask must have the CFI bit; ENCAP only where the key has one, and a mask
 *   whose ENCAP is empty or all zero counts as having none ("Unknown key attributes 20"), so the Ethernet type of a
 *   tagged frame is always matched.  For that reason the kernel takes no flow for a frame that ends inside its tag;
 * - an L3 attribute is allowed only beside an exact ETHERTYPE, an L4 attribute beside an exact protocol, ND beside
 *   an exact ICMPv6 type.  A mask that has the one without the other is completed here: the datapath flow is then
 *   narrower than asked for, which is correct, where a refusal would be a flow that is never installed;
 * - a tunnel's mask has the addresses of the key's family only, and options only where the key has them;
 *   GENEVE_OPTS must be as long in the mask as in the key;
 * - no bits above the 20 of the IPv6 label, above the 8 of CT_STATE.
 * A key with a tunnel needs its TTL. */
#include <config.h>

#include "lib/odp/odp-key.h"

#include <assert.h>
#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/hash.h"
#include "lib/odp/odp-proto.h"
#include "lib/pkt/flow.h"

struct key_writer {
    struct attrbuf *b;
    const struct flow *flow; /* The packet. */
    const struct flow *v;    /* What is written: the packet's flow again, or a mask. */
    const struct flow *mask; /* A key is written: the mask that will go with it, or NULL. */
    bool is_mask;
    bool l4, nd; /* Mask: L4, or ND, has bits set. */
};

static void put(const struct key_writer *w, uint16_t type, const void *data, size_t len)
{
    if (!w->is_mask || !odp_all_zero(data, len)) {
        attrbuf_put(w->b, type, data, len);
    }
}

/* An attribute that not every kernel knows, so that a key has it only where it matters: if it is not zero, or is
 * matched on by the mask that goes with the key, which has it at offset OFS. */
static void put_optional(const struct key_writer *w, uint16_t type, const void *data, size_t ofs, size_t len)
{
    if (!odp_all_zero(data, len) || (w->mask && !odp_all_zero((const uint8_t *) w->mask + ofs, len))) {
        attrbuf_put(w->b, type, data, len);
    }
}

/* An attribute of the tunnel's nest, where absence means zero. */
static void put_nonzero(const struct key_writer *w, uint16_t type, const void *data, size_t len)
{
    if (!odp_all_zero(data, len)) {
        attrbuf_put(w->b, type, data, len);
    }
}

static void put_tunnel_opts(const struct key_writer *w)
{
    const struct flow_tnl *t = &w->v->tunnel;
    const struct flow_tnl *key = &w->flow->tunnel;

    if (t->gbp && key->gbp) {
        struct nlattr *nest = attrbuf_nest_begin(w->b, OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS);
        attrbuf_put_u32(w->b, OVS_VXLAN_EXT_GBP, t->gbp);
        attrbuf_nest_end(w->b, nest);
    }
    if (key->opts_kind && (!w->is_mask || t->opts_len || !odp_all_zero(t->opts, key->opts_len))) {
        attrbuf_put(w->b, key->opts_kind, t->opts, key->opts_len);
    }
}

static void put_tunnel(const struct key_writer *w)
{
    const struct flow_tnl *t = &w->v->tunnel;
    struct nlattr *nest = attrbuf_nest_begin(w->b, OVS_KEY_ATTR_TUNNEL);

    if (t->flags & FLOW_TNL_F_KEY || t->tun_id) {
        attrbuf_put(w->b, OVS_TUNNEL_KEY_ATTR_ID, &t->tun_id, 8);
    }
    if (odp_all_zero(&w->flow->tunnel.ipv6_dst, 16)) {
        put_nonzero(w, OVS_TUNNEL_KEY_ATTR_IPV4_SRC, &t->ip_src, 4);
        put_nonzero(w, OVS_TUNNEL_KEY_ATTR_IPV4_DST, &t->ip_dst, 4);
    } else {
        put_nonzero(w, OVS_TUNNEL_KEY_ATTR_IPV6_SRC, &t->ipv6_src, 16);
        put_nonzero(w, OVS_TUNNEL_KEY_ATTR_IPV6_DST, &t->ipv6_dst, 16);
    }
    put_nonzero(w, OVS_TUNNEL_KEY_ATTR_TOS, &t->tos, 1);
    put(w, OVS_TUNNEL_KEY_ATTR_TTL, &t->ttl, 1);
    if (t->flags & FLOW_TNL_F_DONT_FRAGMENT) {
        attrbuf_put_flag(w->b, OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT);
    }
    if (t->flags & FLOW_TNL_F_CSUM) {
        attrbuf_put_flag(w->b, OVS_TUNNEL_KEY_ATTR_CSUM);
    }
    put_nonzero(w, OVS_TUNNEL_KEY_ATTR_TP_SRC, &t->tp_src, 2);
    put_nonzero(w, OVS_TUNNEL_KEY_ATTR_TP_DST, &t->tp_dst, 2);
    if (t->flags & FLOW_TNL_F_OAM) {
        attrbuf_put_flag(w->b, OVS_TUNNEL_KEY_ATTR_OAM);
    }
    put_tunnel_opts(w);
    attrbuf_nest_end(w->b, nest);
}

static void put_ct_tuple(const struct key_writer *w)
{
    const struct flow *v = w->v;

    if (w->flow->ct_orig_is_ipv6) {
        struct ovs_key_ct_tuple_ipv6 t = { .src_port = v->ct_orig_tp_src,
                                           .dst_port = v->ct_orig_tp_dst,
                                           .ipv6_proto = v->ct_orig_proto };
        memcpy(t.ipv6_src, &v->ct_orig_src.v6, 16);
        memcpy(t.ipv6_dst, &v->ct_orig_dst.v6, 16);
        put(w, OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV6, &t, sizeof t);
    } else {
        struct ovs_key_ct_tuple_ipv4 t = { .ipv4_src = v->ct_orig_src.v4,
                                           .ipv4_dst = v->ct_orig_dst.v4,
                                           .src_port = v->ct_orig_tp_src,
                                           .dst_port = v->ct_orig_tp_dst,
                                           .ipv4_proto = v->ct_orig_proto };
        put(w, OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4, &t, sizeof t);
    }
}

/* Does the mask say that the packet has not been through conntrack?  Then it has no zone, mark and label either, and
 * a kernel that does not know all of those need not be asked about them. */
static bool is_untracked(const struct key_writer *w)
{
    const struct flow *mask = w->is_mask ? w->v : w->mask;

    const struct flow *flow = w->flow;

    return mask && mask->ct_state & OVS_CS_F_TRACKED && !flow->ct_state && !flow->ct_zone && !flow->ct_mark &&
           !flow->ct_orig_proto && odp_all_zero(flow->ct_label, sizeof flow->ct_label);
}

static void put_metadata(const struct key_writer *w)
{
    const struct flow *v = w->v;
    uint32_t recirc_id = w->is_mask && v->recirc_id ? UINT32_MAX : v->recirc_id;
    uint32_t in_port = w->is_mask && v->in_port.n ? UINT32_MAX : v->in_port.n;
    uint32_t ct_state = w->is_mask ? v->ct_state & ODP_CT_STATE_ALL : v->ct_state;

    put(w, OVS_KEY_ATTR_RECIRC_ID, &recirc_id, 4);
    put(w, OVS_KEY_ATTR_DP_HASH, &v->dp_hash, 4);
    put(w, OVS_KEY_ATTR_PRIORITY, &v->skb_priority, 4);
    if (odp_has_tunnel(w->flow) &&
        (!w->is_mask || odp_has_tunnel(v) || !odp_all_zero(v->tunnel.opts, w->flow->tunnel.opts_len))) {
        put_tunnel(w);
    }
    /* A packet of no port is described by leaving the attribute out.  Its mask has it: without, the flow would be for packets of all ports. */
    if (w->is_mask || w->flow->in_port.n != ODPP_NONE.n) {
        put(w, OVS_KEY_ATTR_IN_PORT, &in_port, 4);
    }
    put(w, OVS_KEY_ATTR_SKB_MARK, &v->pkt_mark, 4);
    put_optional(w, OVS_KEY_ATTR_CT_STATE, &ct_state, offsetof(struct flow, ct_state), 4);
    if (is_untracked(w)) {
        return;
    }
    put_optional(w, OVS_KEY_ATTR_CT_ZONE, &v->ct_zone, offsetof(struct flow, ct_zone), 2);
    put_optional(w, OVS_KEY_ATTR_CT_MARK, &v->ct_mark, offsetof(struct flow, ct_mark), 4);
    put_optional(w, OVS_KEY_ATTR_CT_LABELS, v->ct_label, offsetof(struct flow, ct_label), 16);
    if (w->flow->ct_orig_proto) {
        put_ct_tuple(w);
    }
}

static void put_icmp(const struct key_writer *w, uint16_t type)
{
    struct ovs_key_icmp k = { .icmp_type = ntohs(w->v->tp_src) & 0xff, .icmp_code = ntohs(w->v->tp_dst) & 0xff };

    if (w->nd) {
        k.icmp_type = 0xff;
    }
    put(w, type, &k, sizeof k);
    if (type == OVS_KEY_ATTR_ICMPV6 && odp_has_nd(w->flow)) {
        struct ovs_key_nd nd;

        memcpy(nd.nd_target, &w->v->nd_target, 16);
        memcpy(nd.nd_sll, &w->v->nd_sll, 6);
        memcpy(nd.nd_tll, &w->v->nd_tll, 6);
        put(w, OVS_KEY_ATTR_ND, &nd, sizeof nd);
    }
}

static void put_l4(const struct key_writer *w)
{
    uint16_t type = odp_l4_attr(w->flow);

    switch (type) {
    case OVS_KEY_ATTR_TCP:
    case OVS_KEY_ATTR_UDP:
    case OVS_KEY_ATTR_SCTP: {
        struct ovs_key_tcp k = { .tcp_src = w->v->tp_src, .tcp_dst = w->v->tp_dst };

        put(w, type, &k, sizeof k);
        if (type == OVS_KEY_ATTR_TCP) {
            put(w, OVS_KEY_ATTR_TCP_FLAGS, &w->v->tcp_flags, 2);
        }
        break;
    }
    case OVS_KEY_ATTR_ICMP:
    case OVS_KEY_ATTR_ICMPV6:
        put_icmp(w, type);
        break;
    }
}

/* The fragment type as the kernel numbers it; as a mask all of it, whichever of the flow's bits is looked at. */
static uint8_t kernel_frag(const struct key_writer *w)
{
    uint8_t frag = w->v->ip_frag;

    if (w->is_mask) {
        return frag & FLOW_FRAG_MASK ? 0xff : 0;
    }
    return frag & FLOW_FRAG_LATER ? OVS_FRAG_TYPE_LATER : frag & FLOW_FRAG_ANY ? OVS_FRAG_TYPE_FIRST : OVS_FRAG_TYPE_NONE;
}

static void put_ipv6(const struct key_writer *w)
{
    const struct flow *v = w->v;
    struct ovs_key_ipv6 k = { .ipv6_label = v->ipv6_label & htonl(0xfffff),
                              .ipv6_proto = w->l4 ? 0xff : v->ip_proto,
                              .ipv6_tclass = v->ip_tos,
                              .ipv6_hlimit = v->ip_ttl,
                              .ipv6_frag = kernel_frag(w) };

    memcpy(k.ipv6_src, &v->ipv6_src, 16);
    memcpy(k.ipv6_dst, &v->ipv6_dst, 16);
    put(w, OVS_KEY_ATTR_IPV6, &k, sizeof k);
    put_optional(w, OVS_KEY_ATTR_IPV6_EXTHDRS, &v->ipv6_exthdrs, offsetof(struct flow, ipv6_exthdrs), 2);
}

static void put_arp(const struct key_writer *w)
{
    const struct flow *v = w->v;
    /* Translation may look at the opcode by either of its names. */
    struct ovs_key_arp k = { .arp_sip = v->ip_src,
                             .arp_tip = v->ip_dst,
                             .arp_op = w->is_mask ? v->arp_op | htons(v->ip_proto) : v->arp_op };

    memcpy(k.arp_sha, &v->arp_sha, 6);
    memcpy(k.arp_tha, &v->arp_tha, 6);
    put(w, OVS_KEY_ATTR_ARP, &k, sizeof k);
}

/* The number of label stack entries known: up to the bottom of the stack. */
static int mpls_depth(const struct flow *flow)
{
    const be32 bos = htonl(1 << 8);
    int n = 1;

    for (int i = 0; i < FLOW_MAX_MPLS; i++) {
        if (flow->mpls[i]) {
            n = i + 1;
        }
        if (flow->mpls[i] & bos) {
            break;
        }
    }
    return n;
}

static void put_nsh(const struct key_writer *w)
{
    const uint8_t *nsh = (const uint8_t *) w->v->nsh;
    const struct ovs_nsh_key_base *key = (const void *) w->flow->nsh;
    size_t md1_ofs = sizeof(struct ovs_nsh_key_base);

    if (w->is_mask && odp_all_zero(nsh, md1_ofs + sizeof(struct ovs_nsh_key_md1))) {
        return;
    }
    struct nlattr *nest = attrbuf_nest_begin(w->b, OVS_KEY_ATTR_NSH);
    attrbuf_put(w->b, OVS_NSH_KEY_ATTR_BASE, nsh, md1_ofs);
    if (key->mdtype == 1) {
        attrbuf_put(w->b, OVS_NSH_KEY_ATTR_MD1, nsh + md1_ofs, sizeof(struct ovs_nsh_key_md1));
    }
    attrbuf_nest_end(w->b, nest);
}

/* The network header's attribute, and those above. */
static void put_l3(const struct key_writer *w)
{
    be16 type = w->flow->eth_type;

    if (type == htons(ETH_TYPE_IPV4)) {
        struct ovs_key_ipv4 k = { .ipv4_src = w->v->ip_src,
                                  .ipv4_dst = w->v->ip_dst,
                                  .ipv4_proto = w->l4 ? 0xff : w->v->ip_proto,
                                  .ipv4_tos = w->v->ip_tos,
                                  .ipv4_ttl = w->v->ip_ttl,
                                  .ipv4_frag = kernel_frag(w) };
        put(w, OVS_KEY_ATTR_IPV4, &k, sizeof k);
    } else if (type == htons(ETH_TYPE_IPV6)) {
        put_ipv6(w);
    } else if (odp_is_arp_type(type)) {
        put_arp(w);
    } else if (odp_is_mpls_type(type)) {
        put(w, OVS_KEY_ATTR_MPLS, w->v->mpls, mpls_depth(w->flow) * sizeof(be32));
    } else if (type == htons(ETH_TYPE_NSH)) {
        put_nsh(w);
    }
    put_l4(w);
}

/* Does mask V look into the network header of FLOW's packet? */
static bool mask_has_l3(const struct flow *flow, const struct flow *v)
{
    size_t l3 = offsetof(struct flow, mpls);
    be16 type = flow->eth_type;
    bool known = type == htons(ETH_TYPE_IPV4) || type == htons(ETH_TYPE_IPV6) || odp_is_arp_type(type) ||
                 odp_is_mpls_type(type) || type == htons(ETH_TYPE_NSH);

    return known && !odp_all_zero((const uint8_t *) v + l3, offsetof(struct flow, metadata) - l3);
}

/* Ethernet, tags, Ethernet type; then the rest, inside the tags' nests. */
static void put_frame(struct key_writer *w)
{
    const struct flow *flow = w->flow;
    bool cut_off = odp_is_vlan_type(flow->eth_type) && !flow_vlan_present(&flow->vlan[FLOW_MAX_VLANS - 1]);
    struct nlattr *nest[FLOW_MAX_VLANS + 1];
    be16 eth_type = flow->eth_type;
    int depth = 0;

    if (!flow->is_l3) {
        struct ovs_key_ethernet k;

        memcpy(k.eth_src, &w->v->eth_src, 6);
        memcpy(k.eth_dst, &w->v->eth_dst, 6);
        put(w, OVS_KEY_ATTR_ETHERNET, &k, sizeof k);
    }
    while (depth < FLOW_MAX_VLANS && flow_vlan_present(&flow->vlan[depth])) {
        attrbuf_put_u16(w->b, OVS_KEY_ATTR_ETHERTYPE, w->is_mask ? UINT16_MAX : flow->vlan[depth].tpid);
        attrbuf_put_u16(w->b, OVS_KEY_ATTR_VLAN, w->v->vlan[depth].tci | htons(VLAN_CFI));
        nest[depth] = attrbuf_nest_begin(w->b, OVS_KEY_ATTR_ENCAP);
        depth++;
    }
    if (w->is_mask) {
        eth_type = w->v->eth_type || depth || cut_off || mask_has_l3(flow, w->v) ? UINT16_MAX : 0;
        put(w, OVS_KEY_ATTR_ETHERTYPE, &eth_type, 2);
    } else if (eth_type != htons(ETH_TYPE_802_2)) {
        attrbuf_put_u16(w->b, OVS_KEY_ATTR_ETHERTYPE, eth_type);
    }
    if (cut_off) {
        attrbuf_put_u16(w->b, OVS_KEY_ATTR_VLAN, w->is_mask ? UINT16_MAX : 0);
        attrbuf_nest_end(w->b, attrbuf_nest_begin(w->b, OVS_KEY_ATTR_ENCAP));
    }
    put_l3(w);
    while (depth) {
        attrbuf_nest_end(w->b, nest[--depth]);
    }
}

void odp_key_put(struct attrbuf *b, const struct flow *flow)
{
    odp_key_put_masked(b, flow, NULL);
}

void odp_key_put_masked(struct attrbuf *b, const struct flow *flow, const struct flow *mask)
{
    struct key_writer w = { .b = b, .flow = flow, .v = flow, .mask = mask };

    put_metadata(&w);
    put_frame(&w);
}

void odp_mask_put(struct attrbuf *b, const struct flow *flow, const struct flow *mask)
{
    struct key_writer w = { .b = b, .flow = flow, .v = mask, .is_mask = true };

    if (odp_l4_attr(flow)) {
        w.nd = odp_has_nd(flow) && (!odp_all_zero(&mask->nd_target, sizeof mask->nd_target) ||
                                    !eth_addr_is_zero(mask->nd_sll) || !eth_addr_is_zero(mask->nd_tll));
        w.l4 = w.nd || mask->tp_src || mask->tp_dst || mask->tcp_flags;
    }
    put_metadata(&w);
    put_frame(&w);
}

/* The fields of a mask that stand for the packet's network and transport headers. */
static void mask_exact_l3(const struct flow *flow, struct flow *mask)
{
    bool v4 = flow->eth_type == htons(ETH_TYPE_IPV4), v6 = flow->eth_type == htons(ETH_TYPE_IPV6);

    if (v4 || v6) {
        FLOW_MASK_FIELD(mask, ip_proto);
        FLOW_MASK_FIELD(mask, ip_tos);
        FLOW_MASK_FIELD(mask, ip_ttl);
        FLOW_MASK_FIELD(mask, ip_frag);
    }
    if (v4) {
        FLOW_MASK_FIELD(mask, ip_src);
        FLOW_MASK_FIELD(mask, ip_dst);
    } else if (v6) {
        FLOW_MASK_FIELD(mask, ipv6_src);
        FLOW_MASK_FIELD(mask, ipv6_dst);
        FLOW_MASK_FIELD(mask, ipv6_label);
        FLOW_MASK_FIELD(mask, ipv6_exthdrs);
    } else if (odp_is_arp_type(flow->eth_type)) {
        FLOW_MASK_FIELD(mask, ip_src);
        FLOW_MASK_FIELD(mask, ip_dst);
        FLOW_MASK_FIELD(mask, ip_proto);
        FLOW_MASK_FIELD(mask, arp_op);
        FLOW_MASK_FIELD(mask, arp_sha);
        FLOW_MASK_FIELD(mask, arp_tha);
    } else if (odp_is_mpls_type(flow->eth_type)) {
        memset(mask->mpls, 0xff, mpls_depth(flow) * sizeof(be32));
    } else if (flow->eth_type == htons(ETH_TYPE_NSH)) {
        memset(mask->nsh, 0xff, sizeof(struct ovs_nsh_key_base) + sizeof(struct ovs_nsh_key_md1));
    }
    if (odp_l4_attr(flow)) {
        FLOW_MASK_FIELD(mask, tp_src);
        FLOW_MASK_FIELD(mask, tp_dst);
    }
    if (odp_l4_attr(flow) == OVS_KEY_ATTR_TCP) {
        FLOW_MASK_FIELD(mask, tcp_flags);
    }
    if (odp_has_nd(flow)) {
        FLOW_MASK_FIELD(mask, nd_target);
        FLOW_MASK_FIELD(mask, nd_sll);
        FLOW_MASK_FIELD(mask, nd_tll);
    }
}

void odp_mask_exact(const struct flow *flow, struct flow *ret_mask)
{
    memset(ret_mask, 0, sizeof *ret_mask);
    /* Metadata and L2 without gaps: any packet has them. */
    memset(ret_mask, 0xff, offsetof(struct flow, mpls));
    memset(ret_mask->pad1, 0, sizeof ret_mask->pad1);
    mask_exact_l3(flow, ret_mask);
    if (odp_has_tunnel(flow)) {
        memset(&ret_mask->tunnel, 0xff, offsetof(struct flow_tnl, pad));
        memset(ret_mask->tunnel.opts, 0xff, flow->tunnel.opts_len);
    }
}

/* 64 bits, in whatever type the memory was written. */
typedef uint64_t __attribute__((may_alias)) key_word;
static_assert(offsetof(struct flow, metadata) % sizeof(key_word) == 0, "the pipeline's part must begin at a whole word");
static_assert(offsetof(struct flow, tunnel) % sizeof(key_word) == 0, "the tunnel must begin at a whole word");
static_assert(offsetof(struct flow, tunnel.opts) % sizeof(key_word) == 0, "options must begin at a whole word");

/* How many words of the tunnel options the mask looks at. */
static size_t tunnel_opts_used(const struct flow_tnl *mask)
{
    const key_word *opts = (const key_word *) mask->opts;
    size_t n = sizeof mask->opts / sizeof *opts;

    while (n && !opts[n - 1]) {
        n--;
    }
    return n;
}

struct ufid odp_ufid(const struct flow *flow, const struct flow *mask)
{
    /* What is hashed: the masked key and then the mask, without the OpenFlow pipeline's part, which is in no key, and without the
     * tunnel if there is none.  A mask over the tunnel of a packet that has none does not reach the kernel either. */
    struct flow in[2];
    const size_t n_packet = offsetof(struct flow, metadata) / sizeof(key_word);
    size_t n_tunnel = 0;

    if (odp_has_tunnel(flow)) {
        n_tunnel = offsetof(struct flow_tnl, opts) / sizeof(key_word) + tunnel_opts_used(&mask->tunnel);
    }
    size_t n = n_packet + n_tunnel;
    key_word *key_words = (key_word *) in, *mask_words = key_words + n;
    uint8_t *mask_bytes = (uint8_t *) mask_words;

    memcpy(key_words, flow, n_packet * sizeof *key_words);
    memcpy(key_words + n_packet, &flow->tunnel, n_tunnel * sizeof *key_words);
    memcpy(mask_words, mask, n_packet * sizeof *mask_words);
    memcpy(mask_words + n_packet, &mask->tunnel, n_tunnel * sizeof *mask_words);
    memset(mask_bytes + offsetof(struct flow, pad1), 0, sizeof mask->pad1);
    memset(mask_bytes + offsetof(struct flow, pad2), 0, sizeof mask->pad2);
    if (n_tunnel) {
        memset((uint8_t *) (mask_words + n_packet) + offsetof(struct flow_tnl, pad), 0, sizeof mask->tunnel.pad);
    }
    if (mask->ip_frag & FLOW_FRAG_MASK) { /* As kernel_frag(): flows that the kernel tells apart have two UFIDs. */
        mask_bytes[offsetof(struct flow, ip_frag)] = 0xff;
    }
    for (size_t i = 0; i < n; i++) {
        key_words[i] &= mask_words[i];
    }
    return hash_bytes_128(in, 2 * n * sizeof *key_words, 0);
}
