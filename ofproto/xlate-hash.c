/* Hashes of a packet, for who deals packets out to ports, links and buckets.  What goes into a hash has been looked at: so packets of one megaflow
 * have one hash.  Which packet has which value is nobody's business but ours, and may change: the packaged daemon's values are others. */
#include <config.h>

#include <arpa/inet.h>

#include "lib/base/hash.h"
#include "ofproto/xlate-pipeline.h"

/* What a symmetric hash, which is the same for both directions, is of. */
enum {
    L2 = 1 << 0,   /* Addresses, type, VLANs. */
    L3 = 1 << 1,   /* Addresses and protocol of IP. */
    PORTS = 1 << 2, /* Of TCP and SCTP. */
    UDP = 1 << 3,  /* The same. */
};

struct key {
    uint8_t eth[sizeof(struct eth_addr)];
    be16 eth_type;
    uint8_t ip6[16];
    be32 ip4;
    be16 vid[FLOW_MAX_VLANS];
    be16 ports;
    uint8_t proto, pad;
};

static bool is_ip(const struct flow *f) { return f->eth_type == htons(ETH_TYPE_IPV4) || f->eth_type == htons(ETH_TYPE_IPV6); }

static void mix_l2(struct xlate_ctx *ctx, struct key *key)
{
    const struct flow *f = &ctx->flow;
    struct flow look = { 0 };

    XLATE_LOOK(ctx, eth_src);
    XLATE_LOOK(ctx, eth_dst);
    for (unsigned int i = 0; i < sizeof key->eth; i++) {
        key->eth[i] = f->eth_src.ea[i] ^ f->eth_dst.ea[i];
    }
    key->eth_type = f->eth_type;
    for (unsigned int i = 0; i < FLOW_MAX_VLANS && (i == 0 || flow_vlan_present(&f->vlan[i - 1])); i++) {
        look.vlan[i].tci = htons(VLAN_VID_MASK | VLAN_CFI);
        key->vid[i] = f->vlan[i].tci & look.vlan[i].tci;
    }
    pipeline_look(ctx, &look);
}

static void mix_l3(struct xlate_ctx *ctx, struct key *key)
{
    const struct flow *f = &ctx->flow;

    if (f->eth_type == htons(ETH_TYPE_IPV4)) {
        XLATE_LOOK(ctx, ip_src);
        XLATE_LOOK(ctx, ip_dst);
        key->ip4 = f->ip_src ^ f->ip_dst;
    } else {
        XLATE_LOOK(ctx, ipv6_src);
        XLATE_LOOK(ctx, ipv6_dst);
        for (unsigned int i = 0; i < sizeof key->ip6; i++) {
            key->ip6[i] = f->ipv6_src.s6_addr[i] ^ f->ipv6_dst.s6_addr[i];
        }
    }
}

/* Fragments of one packet go one way: none is dealt by ports. */
static void mix_ports(struct xlate_ctx *ctx, unsigned int parts, struct key *key)
{
    const struct flow *f = &ctx->flow;
    bool has = f->ip_proto == IPPROTO_UDP ? parts & UDP : f->ip_proto == IPPROTO_TCP || f->ip_proto == IPPROTO_SCTP;

    if (has) {
        XLATE_LOOK(ctx, ip_frag);
        if (!(f->ip_frag & FLOW_FRAG_ANY)) {
            XLATE_LOOK(ctx, tp_src);
            XLATE_LOOK(ctx, tp_dst);
            key->ports = f->tp_src ^ f->tp_dst;
        }
    }
}

static NOINLINE uint64_t symmetric(struct xlate_ctx *ctx, unsigned int parts, uint64_t basis)
{
    struct key key;

    memset(&key, 0, sizeof key);
    XLATE_LOOK(ctx, eth_type);
    if (parts & L2) {
        mix_l2(ctx, &key);
    } else if (!is_ip(&ctx->flow)) {
        return 0;
    }
    if (is_ip(&ctx->flow) && parts & L3) {
        mix_l3(ctx, &key);
        if (parts & PORTS) {
            XLATE_LOOK(ctx, ip_proto);
            key.proto = ctx->flow.ip_proto;
            mix_ports(ctx, parts, &key);
        }
    }
    return hash_bytes(&key, sizeof key, basis);
}

/* One of IP's addresses; other packets have none, and hash to 0, as ovs-actions(7) has it. */
static uint64_t one_address(struct xlate_ctx *ctx, bool src, uint64_t basis)
{
    const struct flow *f = &ctx->flow;

    XLATE_LOOK(ctx, eth_type);
    if (f->eth_type == htons(ETH_TYPE_IPV4)) {
        xlate_look(ctx, src ? offsetof(struct flow, ip_src) : offsetof(struct flow, ip_dst), sizeof f->ip_src);
        return hash_bytes(src ? &f->ip_src : &f->ip_dst, sizeof f->ip_src, basis);
    } else if (f->eth_type == htons(ETH_TYPE_IPV6)) {
        xlate_look(ctx, src ? offsetof(struct flow, ipv6_src) : offsetof(struct flow, ipv6_dst), sizeof f->ipv6_src);
        return hash_bytes(src ? &f->ipv6_src : &f->ipv6_dst, sizeof f->ipv6_src, basis);
    }
    return 0;
}

uint64_t xlate_hash_connection(struct xlate_ctx *ctx, uint64_t basis) { return symmetric(ctx, L2 | L3 | PORTS | UDP, basis); }

uint64_t xlate_hash(struct xlate_ctx *ctx, unsigned int fields, uint64_t basis)
{
    switch (fields) {
    case OFP_HASH_ETH_SRC:
        XLATE_LOOK(ctx, eth_src);
        return hash_bytes(&ctx->flow.eth_src, sizeof ctx->flow.eth_src, basis);
    case OFP_HASH_SYMMETRIC_L4:
        return symmetric(ctx, L2 | L3 | PORTS, basis);
    case OFP_HASH_SYMMETRIC_L3L4:
        return symmetric(ctx, L3 | PORTS, basis);
    case OFP_HASH_SYMMETRIC_L3L4_UDP:
        return symmetric(ctx, L3 | PORTS | UDP, basis);
    case OFP_HASH_SYMMETRIC_L3:
        return symmetric(ctx, L3, basis);
    default:
        return one_address(ctx, fields == OFP_HASH_NW_SRC, basis);
    }
}
