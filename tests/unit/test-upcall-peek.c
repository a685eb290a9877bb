/* The first look at a key: what is control traffic, what the hash is of, and that no byte string makes it read past its
 * end (the sanitizers watch: each key lies in a heap block of exactly its length). */
#include <config.h>

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"
#include "ofproto/upcall-peek.h"

#define N_SEEDS 3000

struct random {
    uint64_t seed, n;
};
static uint32_t rnd(struct random *r, uint32_t limit) { return hash_u64(r->n++, r->seed) % limit; }

struct key {
    uint32_t mem[ODP_KEY_MAX_SIZE / 4];
    struct attrbuf b;
};

static void key_init(struct key *k, const struct flow *flow)
{
    attrbuf_init(&k->b, k->mem, sizeof k->mem);
    odp_key_put(&k->b, flow);
    assert_false(k->b.overflow);
}

/* In a block of its own, so that reading behind it is seen. */
static struct upcall_peek peek_bytes(const void *bytes, size_t len)
{
    void *copy = xmemdup(bytes, len);
    struct upcall_peek p = upcall_peek(copy, len);
    free(copy);
    return p;
}

static struct upcall_peek peek_flow(const struct flow *flow)
{
    struct key k;
    key_init(&k, flow);
    return peek_bytes(attrbuf_data(&k.b), attrbuf_len(&k.b));
}

/* ---- Kinds of packets. ---- */

static struct flow ethernet(uint16_t type)
{
    return (struct flow) {
        .in_port = { 7 },
        .eth_src = { { 2, 0, 0, 0, 0, 1 } },
        .eth_dst = { { 2, 0, 0, 0, 0, 2 } },
        .eth_type = htons(type),
    };
}

static struct flow ethernet_to(uint16_t type, uint64_t dst)
{
    struct flow f = ethernet(type);
    for (int i = 0; i < 6; i++) {
        f.eth_dst.ea[i] = dst >> (40 - 8 * i);
    }
    return f;
}

static struct flow ip(bool v6, uint8_t proto, uint16_t src, uint16_t dst)
{
    struct flow f = ethernet(v6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4);
    if (v6) {
        f.ipv6_src = (struct in6_addr) { .s6_addr = { 0xfd, [15] = 1 } };
        f.ipv6_dst = (struct in6_addr) { .s6_addr = { 0xfd, [15] = 2 } };
    } else {
        f.ip_src = htonl(0x0a000001);
        f.ip_dst = htonl(0x0a000002);
    }
    f.ip_proto = proto;
    f.ip_ttl = 64;
    f.tp_src = htons(src);
    f.tp_dst = htons(dst);
    return f;
}

static struct flow later_fragment(struct flow f)
{
    f.ip_frag = FLOW_FRAG_ANY | FLOW_FRAG_LATER;
    f.tp_src = f.tp_dst = 0;
    return f;
}

static void push_vlans(struct flow *f, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        f->vlan[i].tpid = htons(i + 1 < n ? ETH_TYPE_QINQ : ETH_TYPE_VLAN);
        f->vlan[i].tci = htons(VLAN_CFI | (100 + i));
    }
}

static void expect_control(struct flow f, bool expected, const char *what)
{
    for (unsigned int n_vlans = 0; n_vlans <= 2; n_vlans++) {
        push_vlans(&f, n_vlans);
        struct upcall_peek p = peek_flow(&f);
        if (p.control != expected || p.port.n != 7) {
            fail_msg("%s behind %u tags: control is %d, port %u", what, n_vlans, p.control, p.port.n);
        }
    }
}

static void control_protocols_are_known_behind_up_to_two_tags(void **state)
{
    static const uint16_t bfd_ports[] = { 3784, 3785, 4784 };

    expect_control(ethernet_to(ETH_TYPE_LACP, 0x0180c2000002), true, "LACP");
    expect_control(ethernet(ETH_TYPE_LACP), true, "a slow protocol sent to a station");
    expect_control(ethernet_to(ETH_TYPE_802_2, 0x0180c2000000), true, "STP");
    expect_control(ethernet_to(0x88cc, 0x0180c200000e), true, "LLDP");
    expect_control(ethernet_to(0x9999, 0x0180c200000f), true, "the last reserved address");
    expect_control(ethernet(ETH_TYPE_ARP), true, "ARP");
    for (size_t i = 0; i < ARRAY_SIZE(bfd_ports); i++) {
        expect_control(ip(false, IPPROTO_UDP, 49152, bfd_ports[i]), true, "BFD");
        expect_control(ip(true, IPPROTO_UDP, 49152, bfd_ports[i]), true, "BFD over IPv6");
    }
    for (uint16_t type = 133; type <= 137; type++) {
        expect_control(ip(true, IPPROTO_ICMPV6, type, 0), true, "neighbour discovery");
    }
}

static void all_else_is_ordinary(void **state)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP };

    for (size_t i = 0; i < ARRAY_SIZE(protos); i++) {
        expect_control(ip(false, protos[i], 1000, 80), false, "IPv4");
        expect_control(ip(true, protos[i], 1000, 80), false, "IPv6");
        expect_control(later_fragment(ip(false, protos[i], 0, 0)), false, "a later fragment");
        expect_control(ip(false, protos[i], 3784, 49152), false, "from BFD's port");
    }
    expect_control(ip(false, IPPROTO_TCP, 1000, 3784), false, "TCP to BFD's number");
    expect_control(ip(false, IPPROTO_SCTP, 1000, 4784), false, "SCTP to BFD's number");
    expect_control(ip(false, IPPROTO_UDP, 1000, 3783), false, "UDP below BFD's port");
    expect_control(ip(false, IPPROTO_UDP, 1000, 3786), false, "UDP above BFD's ports");
    expect_control(ip(true, IPPROTO_UDP, 1000, 4785), false, "UDP above BFD's third port");
    expect_control(ip(false, IPPROTO_ICMP, 8, 0), false, "ping");
    expect_control(ip(false, IPPROTO_ICMP, 135, 0), false, "ICMP of neighbour discovery's number");
    expect_control(ip(true, IPPROTO_ICMPV6, 128, 0), false, "ping over IPv6");
    expect_control(ip(true, IPPROTO_ICMPV6, 132, 0), false, "ICMPv6 below neighbour discovery");
    expect_control(ip(true, IPPROTO_ICMPV6, 138, 0), false, "ICMPv6 above neighbour discovery");
    expect_control(ethernet_to(0x9999, 0x0180c2000010), false, "the first address not reserved");
    expect_control(ethernet_to(0x9999, 0xffffffffffff), false, "a broadcast");
}

static void port_is_none_if_the_key_does_not_say(void **state)
{
    struct key k;
    uint32_t no = 65534;

    assert_true(odp_port_eq(upcall_peek(NULL, 0).port, ODPP_NONE));
    attrbuf_init(&k.b, k.mem, sizeof k.mem);
    attrbuf_put_u16(&k.b, OVS_KEY_ATTR_ETHERTYPE, htons(ETH_TYPE_IPV4));
    assert_true(odp_port_eq(peek_bytes(attrbuf_data(&k.b), attrbuf_len(&k.b)).port, ODPP_NONE));
    attrbuf_put(&k.b, OVS_KEY_ATTR_IN_PORT, &no, sizeof no);
    assert_int_equal(peek_bytes(attrbuf_data(&k.b), attrbuf_len(&k.b)).port.n, no);
}

/* ---- The hash. ---- */

static struct flow random_flow(struct random *r)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP };
    struct flow f = ip(rnd(r, 2), protos[rnd(r, 3)], rnd(r, 65536), rnd(r, 3000));

    f.eth_src.ea[5] = rnd(r, 256);
    f.eth_dst.ea[3] = rnd(r, 256);
    if (f.eth_type == htons(ETH_TYPE_IPV4)) {
        f.ip_src ^= rnd(r, UINT32_MAX);
        f.ip_dst ^= rnd(r, UINT32_MAX);
    } else {
        f.ipv6_src.s6_addr32[3] = rnd(r, UINT32_MAX);
        f.ipv6_dst.s6_addr32[1] = rnd(r, UINT32_MAX);
    }
    push_vlans(&f, rnd(r, 3));
    return f;
}

/* What may differ between the packets of one connection in one direction. */
static void change_one_packets_fields(struct flow *f, struct random *r)
{
    f->recirc_id = rnd(r, 1000);
    f->dp_hash = rnd(r, 1000);
    f->skb_priority = rnd(r, 1000);
    f->pkt_mark = rnd(r, 1000);
    f->ct_state = rnd(r, 256);
    f->ct_mark = rnd(r, 1000);
    f->ct_zone = rnd(r, 1000);
    f->ct_label[rnd(r, 16)] = rnd(r, 256);
    f->ip_tos = rnd(r, 256);
    f->ip_ttl = rnd(r, 256);
    if (f->eth_type == htons(ETH_TYPE_IPV6)) {
        f->ipv6_label = htonl(rnd(r, 1 << 20));
    }
    if (f->ip_proto == IPPROTO_TCP) {
        f->tcp_flags = htons(rnd(r, 4096));
    }
    f->tunnel.ip_src = htonl(1 + rnd(r, 1000));
    f->tunnel.ip_dst = htonl(1 + rnd(r, 1000));
    f->tunnel.tun_id = rnd(r, 1000);
    f->tunnel.flags = FLOW_TNL_F_KEY;
    f->tunnel.ttl = 64;
}

static void packets_of_one_connection_have_one_hash(void **state)
{
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        struct random r = { .seed = seed };
        struct flow f = random_flow(&r);
        struct upcall_peek before = peek_flow(&f);

        for (int i = 0; i < 10; i++) {
            change_one_packets_fields(&f, &r);
            struct upcall_peek after = peek_flow(&f);
            if (before.flow_hash != after.flow_hash || before.control != after.control) {
                fail_msg("seed %llu: another lane for a packet of the same connection", (unsigned long long) seed);
            }
        }
    }
}

static void flip(void *field, size_t size, struct random *r)
{
    ((uint8_t *) field)[rnd(r, size)] ^= 1 << rnd(r, 8);
}

/* Flips one bit of address or port number I of what F has.  False: there are not so many. */
static bool flip_field(struct flow *f, unsigned int i, struct random *r)
{
    bool v4 = f->eth_type == htons(ETH_TYPE_IPV4);
    switch (i) {
    case 0:
        return flip(&f->eth_src, sizeof f->eth_src, r), true;
    case 1:
        return flip(&f->eth_dst, sizeof f->eth_dst, r), true;
    case 2:
        return v4 ? flip(&f->ip_src, 4, r) : flip(&f->ipv6_src, 16, r), true;
    case 3:
        return v4 ? flip(&f->ip_dst, 4, r) : flip(&f->ipv6_dst, 16, r), true;
    case 4:
        return flip(&f->tp_src, sizeof f->tp_src, r), true;
    case 5:
        return flip(&f->tp_dst, sizeof f->tp_dst, r), true;
    }
    return false;
}

static void each_bit_of_addresses_and_ports_changes_the_hash(void **state)
{
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        struct random r = { .seed = seed };
        struct flow f = random_flow(&r);
        uint64_t before = peek_flow(&f).flow_hash;
        struct flow other = f;

        for (unsigned int i = 0; flip_field(&other, i, &r); i++, other = f) {
            if (peek_flow(&other).flow_hash == before) {
                fail_msg("seed %llu: field %u is not in the hash", (unsigned long long) seed, i);
            }
        }
    }
}

static void protocols_and_directions_differ(void **state)
{
    struct flow tcp = ip(false, IPPROTO_TCP, 1000, 2000), udp = ip(false, IPPROTO_UDP, 1000, 2000);
    struct flow back = tcp;

    back.ip_src = tcp.ip_dst;
    back.ip_dst = tcp.ip_src;
    assert_true(peek_flow(&tcp).flow_hash != peek_flow(&udp).flow_hash);
    assert_true(peek_flow(&tcp).flow_hash != peek_flow(&back).flow_hash);
}

/* A port scan of one station is what floods look like: its upcalls shall not all wait in one slice. */
static void a_scan_spreads_over_all_remainders_of_eight(void **state)
{
    unsigned int n[8] = { 0 };
    for (uint16_t dst = 1; dst <= 8000; dst++) {
        struct flow f = ip(false, IPPROTO_TCP, 40000, dst);
        n[peek_flow(&f).flow_hash % 8]++;
    }
    for (int i = 0; i < 8; i++) {
        assert_in_range(n[i], 800, 1200);
    }
}

/* ---- Junk. ---- */

static void no_truncation_makes_it_read_past_the_end(void **state)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random r = { .seed = seed };
        struct flow f = random_flow(&r);
        struct key k;

        change_one_packets_fields(&f, &r);
        key_init(&k, &f);
        for (size_t len = 0; len <= attrbuf_len(&k.b); len++) {
            peek_bytes(attrbuf_data(&k.b), len);
        }
    }
}

static void no_bytes_make_it_read_past_the_end(void **state)
{
    for (uint64_t seed = 0; seed < 20 * N_SEEDS; seed++) {
        struct random r = { .seed = seed };
        uint8_t bytes[256];
        size_t len = rnd(&r, sizeof bytes + 1);

        for (size_t i = 0; i < len; i++) {
            /* Small numbers often: they pass as lengths and types. */
            bytes[i] = rnd(&r, 2) ? rnd(&r, 256) : rnd(&r, 3) ? rnd(&r, 24) : 0;
        }
        peek_bytes(bytes, len);
    }
}

static void no_damaged_key_makes_it_read_past_the_end(void **state)
{
    for (uint64_t seed = 0; seed < 10 * N_SEEDS; seed++) {
        struct random r = { .seed = seed };
        struct flow f = random_flow(&r);
        struct key k;

        key_init(&k, &f);
        uint8_t *bytes = xmemdup(attrbuf_data(&k.b), attrbuf_len(&k.b));
        for (uint32_t n = 1 + rnd(&r, 4); n; n--) {
            bytes[rnd(&r, attrbuf_len(&k.b))] = rnd(&r, 2) ? rnd(&r, 256) : rnd(&r, 32);
        }
        peek_bytes(bytes, attrbuf_len(&k.b) - rnd(&r, 2) * rnd(&r, 40));
        free(bytes);
    }
}

/* An attribute that is too short counts as if zeroes followed; one that is too long, as what it should have been. */
static void short_and_long_attributes_are_taken_for_what_they_have(void **state)
{
    struct key k;
    uint8_t data[64] = { [0] = 9, [5] = 0xff, [16] = 0xff };
    static const uint16_t types[] = {
        OVS_KEY_ATTR_IN_PORT, OVS_KEY_ATTR_ETHERNET, OVS_KEY_ATTR_ETHERTYPE, OVS_KEY_ATTR_IPV4,   OVS_KEY_ATTR_IPV6,
        OVS_KEY_ATTR_TCP,     OVS_KEY_ATTR_UDP,      OVS_KEY_ATTR_SCTP,      OVS_KEY_ATTR_ICMPV6,
    };
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        for (size_t len = 0; len <= sizeof data; len++) {
            attrbuf_init(&k.b, k.mem, sizeof k.mem);
            attrbuf_put(&k.b, types[i], data, len);
            /* Not padded: nothing behind the last byte may be looked at. */
            peek_bytes(attrbuf_data(&k.b), NLA_HDRLEN + len);
        }
    }
    attrbuf_init(&k.b, k.mem, sizeof k.mem);
    attrbuf_put(&k.b, OVS_KEY_ATTR_IN_PORT, data, 64);
    assert_int_equal(peek_bytes(attrbuf_data(&k.b), attrbuf_len(&k.b)).port.n, 9);
}

/* However many follow, two tags are opened: no more can exhaust the stack. */
static void a_third_tag_is_not_opened(void **state)
{
    enum { MAX_DEPTH = 16000 };
    struct nlattr *attrs = xcalloc(MAX_DEPTH + 2, sizeof *attrs);
    uint32_t no = 5;
    for (size_t depth = 0; depth <= MAX_DEPTH; depth = depth < 4 ? depth + 1 : depth * 20) {
        size_t len = (depth + 2) * NLA_HDRLEN;
        for (size_t i = 0; i < depth; i++) {
            attrs[i] = (struct nlattr) { len - i * NLA_HDRLEN, OVS_KEY_ATTR_ENCAP };
        }
        attrs[depth] = (struct nlattr) { 8, OVS_KEY_ATTR_IN_PORT };
        memcpy(&attrs[depth + 1], &no, sizeof no);
        assert_int_equal(peek_bytes(attrs, len).port.n, depth <= 2 ? no : UINT32_MAX);
    }
    free(attrs);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_protocols_are_known_behind_up_to_two_tags),
        cmocka_unit_test(all_else_is_ordinary),
        cmocka_unit_test(port_is_none_if_the_key_does_not_say),
        cmocka_unit_test(packets_of_one_connection_have_one_hash),
        cmocka_unit_test(each_bit_of_addresses_and_ports_changes_the_hash),
        cmocka_unit_test(protocols_and_directions_differ),
        cmocka_unit_test(a_scan_spreads_over_all_remainders_of_eight),
        cmocka_unit_test(no_truncation_makes_it_read_past_the_end),
        cmocka_unit_test(no_bytes_make_it_read_past_the_end),
        cmocka_unit_test(no_damaged_key_makes_it_read_past_the_end),
        cmocka_unit_test(short_and_long_attributes_are_taken_for_what_they_have),
        cmocka_unit_test(a_third_tag_is_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
