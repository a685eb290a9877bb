/* Frames and the flows that they make. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/pkt/flow.h"
#include "lib/pkt/packet-build.h"
#include "lib/pkt/packet.h"

static const struct eth_addr src = { { 2, 0, 0, 0, 0, 1 } }, dst = { { 2, 0, 0, 0, 0, 2 } };
static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
static struct packet_build p;
static struct flow flow;

/* Every prefix of the frame is extracted too, from memory that ends with it. */
static void extract(void)
{
    for (size_t n = 0; n < p.len; n++) {
        uint8_t *copy = malloc(n + !n);
        memcpy(copy, p.data, n);
        assert_int_equal(packet_extract(copy, n, &flow), n < ETH_HEADER_LEN ? -EINVAL : 0);
        free(copy);
    }
    assert_int_equal(packet_extract(p.data, p.len, &flow), 0);
}

static void metadata_is_left_alone(void **state)
{
    flow.in_port.n = 7;
    flow.tunnel.ip_dst = 9;
    flow.tp_dst = 11;
    packet_build_eth(&p, src, dst, 0x88cc);
    extract();
    assert_int_equal(flow.in_port.n, 7);
    assert_int_equal(flow.tunnel.ip_dst, 9);
    assert_int_equal(flow.tp_dst, 0);
    assert_true(eth_addr_eq(flow.eth_src, src));
    assert_true(eth_addr_eq(flow.eth_dst, dst));
    assert_int_equal(flow.eth_type, htons(0x88cc));
}

static void arp(void **state)
{
    packet_build_arp(&p, src, broadcast, 1, 0x0a000001, 0x0a000002);
    extract();
    assert_int_equal(flow.ip_src, htonl(0x0a000001));
    assert_int_equal(flow.ip_dst, htonl(0x0a000002));
    assert_int_equal(flow.arp_op, htons(1));
    assert_int_equal(flow.ip_proto, 1);
    assert_true(eth_addr_eq(flow.arp_sha, src));
    assert_true(eth_addr_is_zero(flow.arp_tha));
    /* The kernel looks at one byte of the opcode. */
    packet_build_arp(&p, src, dst, 0x101, 1, 2);
    extract();
    assert_int_equal(flow.arp_op, 0);
    p.data[ETH_HEADER_LEN + 1] = 6; /* Not Ethernet. */
    extract();
    assert_int_equal(flow.ip_src, 0);
}

static void udp_tcp_icmp(void **state)
{
    packet_build_udp(&p, src, dst, 1, 2, 1000, 53, 10);
    extract();
    assert_int_equal(flow.ip_proto, IPPROTO_UDP);
    assert_int_equal(flow.ip_ttl, 64);
    assert_int_equal(flow.tp_src, htons(1000));
    assert_int_equal(flow.tp_dst, htons(53));
    packet_build_tcp(&p, src, dst, 1, 2, 1000, 80, 0x012);
    extract();
    assert_int_equal(flow.tp_dst, htons(80));
    assert_int_equal(flow.tcp_flags, htons(0x012));
    packet_build_icmp(&p, src, dst, 1, 2, 8, 3);
    extract();
    assert_int_equal(flow.tp_src, htons(8));
    assert_int_equal(flow.tp_dst, htons(3));
}

static void headers_that_lie_about_their_length_are_ignored(void **state)
{
    packet_build_udp(&p, src, dst, 1, 2, 1000, 53, 0);
    p.data[ETH_HEADER_LEN] = 0x44;
    extract();
    assert_int_equal(flow.ip_proto, 0);
    assert_int_equal(flow.ip_src, 0);
    p.data[ETH_HEADER_LEN] = 0x4f;
    extract();
    assert_int_equal(flow.ip_proto, 0);
    packet_build_tcp(&p, src, dst, 1, 2, 1000, 80, 0x012);
    p.data[ETH_HEADER_LEN + 20 + 12] = 0xf0;
    extract();
    assert_int_equal(flow.ip_proto, IPPROTO_TCP);
    assert_int_equal(flow.tp_dst, 0);
}

static void only_the_first_fragment_has_ports(void **state)
{
    packet_build_udp(&p, src, dst, 1, 2, 1000, 53, 0);
    p.data[ETH_HEADER_LEN + 6] = 0x20;
    extract();
    assert_int_equal(flow.ip_frag, FLOW_FRAG_ANY);
    assert_int_equal(flow.tp_dst, htons(53));
    p.data[ETH_HEADER_LEN + 7] = 0x01;
    extract();
    assert_int_equal(flow.ip_frag, FLOW_FRAG_ANY | FLOW_FRAG_LATER);
    assert_int_equal(flow.ip_proto, IPPROTO_UDP);
    assert_int_equal(flow.tp_dst, 0);
}

static void two_tags_are_taken_off(void **state)
{
    packet_build_udp(&p, src, dst, 1, 2, 1000, 53, 0);
    packet_build_vlan(&p, ETH_TYPE_VLAN, 5);
    extract();
    assert_int_equal(flow_vlan_vid(&flow.vlan[0]), 5);
    assert_true(flow_vlan_present(&flow.vlan[0]));
    assert_false(flow_vlan_present(&flow.vlan[1]));
    assert_int_equal(flow.tp_dst, htons(53));
    packet_build_vlan(&p, ETH_TYPE_QINQ, 0x6006);
    extract();
    assert_int_equal(flow.vlan[0].tpid, htons(ETH_TYPE_QINQ));
    assert_int_equal(flow.vlan[0].tci, htons(0x7006));
    assert_int_equal(flow_vlan_vid(&flow.vlan[1]), 5);
    assert_int_equal(flow.eth_type, htons(ETH_TYPE_IPV4));
    packet_build_vlan(&p, ETH_TYPE_VLAN, 7);
    extract();
    assert_int_equal(flow.eth_type, htons(ETH_TYPE_VLAN));
    assert_int_equal(flow.ip_proto, 0);
}

static void a_frame_that_ends_in_its_tag_has_none(void **state)
{
    packet_build_eth(&p, src, dst, ETH_TYPE_VLAN);
    packet_build_bytes(&p, NULL, 2);
    extract();
    assert_false(flow_vlan_present(&flow.vlan[0]));
    assert_int_equal(flow.eth_type, htons(ETH_TYPE_VLAN));
}

static void lengths_and_snap(void **state)
{
    static const uint8_t snap[] = { 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x06 };

    packet_build_eth(&p, src, dst, 38);
    packet_build_bytes(&p, "\x42\x42\x03", 3); /* A spanning tree frame. */
    packet_build_bytes(&p, NULL, 40);
    extract();
    assert_int_equal(flow.eth_type, htons(ETH_TYPE_802_2));
    packet_build_eth(&p, src, dst, 36);
    packet_build_bytes(&p, snap, sizeof snap);
    extract();
    assert_int_equal(flow.eth_type, htons(ETH_TYPE_ARP));
}

static struct in6_addr sip6 = { .s6_addr = { 0xfe, 0x80, [15] = 1 } }, dip6 = { .s6_addr = { 0xff, 2, [15] = 1 } };

static void neighbour_discovery(void **state)
{
    uint8_t ns[32] = { 135, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0x80, [23] = 2, [24] = 1, 1, 2, 0, 0, 0, 0, 1 };

    packet_build_ipv6(&p, src, dst, &sip6, &dip6, IPPROTO_ICMPV6, 0);
    packet_build_bytes(&p, ns, sizeof ns);
    extract();
    assert_int_equal(flow.tp_src, htons(135));
    assert_int_equal(flow.nd_target.s6_addr[15], 2);
    assert_true(eth_addr_eq(flow.nd_sll, src));
    assert_memory_equal(&flow.ipv6_dst, &dip6, 16);
    /* The same option twice. */
    packet_build_bytes(&p, ns + 24, 8);
    extract();
    assert_int_equal(flow.nd_target.s6_addr[15], 0);
    assert_true(eth_addr_is_zero(flow.nd_sll));
}

static void ipv6_extension_headers(void **state)
{
    uint8_t hop[8] = { IPPROTO_DSTOPTS }, dest[8] = { IPPROTO_FRAGMENT }, frag[8] = { IPPROTO_UDP };
    uint8_t udp[8] = { 0, 1, 0, 2, 0, 8 };

    packet_build_ipv6(&p, src, dst, &sip6, &dip6, IPPROTO_HOPOPTS, 0);
    packet_build_bytes(&p, hop, 8);
    packet_build_bytes(&p, dest, 8);
    packet_build_bytes(&p, frag, 8);
    packet_build_bytes(&p, udp, 8);
    extract();
    assert_int_equal(flow.ip_proto, IPPROTO_UDP);
    assert_int_equal(flow.ip_frag, FLOW_FRAG_ANY);
    assert_int_equal(flow.tp_dst, htons(2));
    assert_int_equal(flow.ipv6_exthdrs, 1 << 3 | 1 << 4 | 1 << 6);
    p.data[ETH_HEADER_LEN + 40 + 16 + 3] = 8; /* Fragment offset. */
    extract();
    assert_int_equal(flow.ip_frag, FLOW_FRAG_ANY | FLOW_FRAG_LATER);
    assert_int_equal(flow.ip_proto, IPPROTO_FRAGMENT);
    assert_int_equal(flow.tp_dst, 0);
    /* Longer than the frame. */
    p.data[ETH_HEADER_LEN + 40 + 1] = 200;
    extract();
    assert_int_equal(flow.ip_proto, IPPROTO_NONE);
}

static void mpls_labels_to_the_bottom(void **state)
{
    static const uint8_t labels[] = { 0, 0, 0x10, 64, 0, 0, 0x21, 64, 9, 9, 9, 9 };

    packet_build_eth(&p, src, dst, ETH_TYPE_MPLS);
    packet_build_bytes(&p, labels, sizeof labels);
    extract();
    assert_int_equal(flow.mpls[0], htonl(0x1040));
    assert_int_equal(flow.mpls[1], htonl(0x2140));
    assert_int_equal(flow.mpls[2], 0);
}

static void nsh(void **state)
{
    static const uint8_t header[24] = { 0x0f, 0xc6, 1, 3, 0, 0, 5, 255, 1, 2, 3, 4 };
    const uint8_t *key = (const uint8_t *) flow.nsh;

    packet_build_eth(&p, src, dst, ETH_TYPE_NSH);
    packet_build_bytes(&p, header, sizeof header);
    extract();
    assert_int_equal(key[0], 0);
    assert_int_equal(key[1], 63);
    assert_int_equal(key[2], 1);
    assert_int_equal(flow.nsh[1], htonl(0x5ff));
    assert_int_equal(flow.nsh[2], htonl(0x01020304));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_is_left_alone),
        cmocka_unit_test(arp),
        cmocka_unit_test(udp_tcp_icmp),
        cmocka_unit_test(headers_that_lie_about_their_length_are_ignored),
        cmocka_unit_test(only_the_first_fragment_has_ports),
        cmocka_unit_test(two_tags_are_taken_off),
        cmocka_unit_test(a_frame_that_ends_in_its_tag_has_none),
        cmocka_unit_test(lengths_and_snap),
        cmocka_unit_test(neighbour_discovery),
        cmocka_unit_test(ipv6_extension_headers),
        cmocka_unit_test(mpls_labels_to_the_bottom),
        cmocka_unit_test(nsh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
