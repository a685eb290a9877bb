/* Rewriting of bytes: what is read back is what was written, all else is as it was, and checksums are right.  Random frames that are cut anywhere
 * are not written to beyond their end (run with --enable-asan). */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <linux/openvswitch.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-apply.h"
#include "lib/pkt/flow.h"
#include "lib/pkt/packet-build.h"
#include "lib/pkt/packet.h"

static const struct eth_addr mac1 = { { 2, 0, 0, 0, 0, 1 } }, mac2 = { { 2, 0, 0, 0, 0, 2 } };

static void apply(struct packet_build *p, const char *text)
{
    uint32_t memory[256];
    struct attrbuf b;

    attrbuf_init(&b, memory, sizeof memory);
    char *error = odp_actions_scan(text, &b);
    if (error) {
        fail_msg("%s: %s", text, error);
    }
    const struct nlattr *a = attrbuf_data(&b);
    assert_true(odp_is_slow_set(a));
    odp_apply(p->data, p->len, a);
}

static uint16_t sum(const uint8_t *p, size_t n, uint32_t s)
{
    for (size_t i = 0; i < n; i++) {
        s += i % 2 ? p[i] : p[i] << 8;
    }
    while (s >> 16) {
        s = (s & 0xffff) + (s >> 16);
    }
    return s;
}

/* A solicitation, or an advertisement, with an option of TYPE, behind EXTENSIONS headers of 8 bytes; its checksum is right. */
static void build_nd(struct packet_build *p, uint8_t type, uint8_t option, unsigned int extensions)
{
    struct in6_addr a = { .s6_addr = { 0xfe, 0x80, [15] = 1 } }, b = { .s6_addr = { 0xfe, 0x80, [15] = 2 } };
    uint8_t nd[32] = { type, 0, 0, 0, 0, 0, 0, 0, [8] = 0xfe, 0x80, [23] = 3, [24] = option, 1, 2, 0, 0, 0, 0, 1 };

    packet_build_ipv6(p, mac1, mac2, &a, &b, extensions ? IPPROTO_DSTOPTS : IPPROTO_ICMPV6, 0);
    p->data[14 + 5] = 8 * extensions + sizeof nd;
    for (unsigned int i = 0; i < extensions; i++) {
        const uint8_t ext[8] = { i + 1 < extensions ? IPPROTO_DSTOPTS : IPPROTO_ICMPV6, 0, 1, 4 };
        packet_build_bytes(p, ext, sizeof ext);
    }
    uint16_t c = ~sum(nd, sizeof nd, sum((uint8_t *) &a, 16, sum((uint8_t *) &b, 16, IPPROTO_ICMPV6 + sizeof nd)));
    nd[2] = c >> 8;
    nd[3] = c;
    packet_build_bytes(p, nd, sizeof nd);
}

static void assert_nd_sum(const struct packet_build *p, unsigned int extensions)
{
    const uint8_t *nd = p->data + 14 + 40 + 8 * extensions;

    assert_int_equal(sum(nd, 32, sum(p->data + 14 + 8, 32, IPPROTO_ICMPV6 + 32)), 0xffff);
}

static void arp_is_rewritten_behind_any_tags(void **state UNUSED)
{
    for (int tags = 0; tags < 4; tags++) {
        struct packet_build p, before;
        struct flow f;

        packet_build_arp(&p, mac1, mac2, 1, 0x0a000001, 0x0a000002);
        for (int i = 0; i < tags; i++) {
            packet_build_vlan(&p, i % 2 ? ETH_TYPE_QINQ : ETH_TYPE_VLAN, 5 + i);
        }
        before = p;
        apply(&p, "set(arp(sip=10.0.0.9,tip=10.9.0.0/0.255.0.0,op=2,sha=02:00:00:00:00:99,tha=02:00:00:00:00:77))");
        assert_memory_equal(p.data, before.data, 14 + 4 * tags);
        if (tags <= FLOW_MAX_VLANS) {
            assert_int_equal(packet_extract(p.data, p.len, &f), 0);
            assert_int_equal(ntohs(f.arp_op), 2);
            assert_int_equal(ntohl(f.ip_src), 0x0a000009);
            assert_int_equal(ntohl(f.ip_dst), 0x0a090002);
            assert_int_equal(f.arp_sha.ea[5], 0x99);
            assert_int_equal(f.arp_tha.ea[5], 0x77);
        }
        apply(&p, "set(icmp(type=5))"); /* Not its header. */
        apply(&p, "set(nd(target=::9))");
        apply(&p, "set(arp(sip=10.0.0.1,tip=10.0.0.2,op=1,sha=02:00:00:00:00:01))");
        memcpy(p.data + 14 + 4 * tags + 18, before.data + 14 + 4 * tags + 18, 6);
        assert_memory_equal(p.data, before.data, before.len);
    }
}

static void icmp_keeps_its_checksum_right(void **state UNUSED)
{
    struct packet_build p;

    packet_build_icmp(&p, mac1, mac2, 0x0a000001, 0x0a000002, 8, 0);
    size_t n = p.len - 34;
    uint8_t *icmp = p.data + 34;
    icmp[2] = icmp[3] = 0;
    icmp[5] = 1; /* Of zeros alone there are two sums that are right. */
    uint16_t c = ~sum(icmp, n, 0);
    icmp[2] = c >> 8;
    icmp[3] = c;
    for (int type = 0; type < 256; type++) {
        char text[64];
        snprintf(text, sizeof text, "set(icmp(type=%d,code=%d))", type, (type * 7) % 256);
        apply(&p, text);
        assert_int_equal(icmp[0], type);
        assert_int_equal(icmp[1], (type * 7) % 256);
        assert_int_equal(sum(icmp, n, 0), 0xffff);
    }
    p.data[14 + 6] = 0; /* A later fragment has no such header. */
    p.data[14 + 7] = 9;
    icmp[0] = 1;
    apply(&p, "set(icmp(type=2))");
    assert_int_equal(icmp[0], 1);
}

static void nd_is_rewritten_with_its_options(void **state UNUSED)
{
    for (unsigned int extensions = 0; extensions < 3; extensions++) {
        struct packet_build p;
        build_nd(&p, 135, 1, extensions);
        const uint8_t *nd = p.data + 14 + 40 + 8 * extensions;

        assert_nd_sum(&p, extensions);
        apply(&p, "set(nd(target=fe80::77,sll=02:00:00:00:00:33,tll=02:00:00:00:00:44))");
        assert_nd_sum(&p, extensions);
        assert_int_equal(nd[23], 0x77);
        assert_int_equal(nd[31], 0x33); /* There is no option for the other. */
        apply(&p, "set(icmpv6(type=136))");
        assert_nd_sum(&p, extensions);
        assert_int_equal(nd[0], 136);

        build_nd(&p, 136, 2, extensions);
        apply(&p, "set(nd(sll=02:00:00:00:00:33,tll=02:00:00:00:00:44))");
        assert_nd_sum(&p, extensions);
        assert_int_equal(nd[31], 0x44);
    }
}

static void a_set_of_what_the_kernel_can_is_none_of_these(void **state UNUSED)
{
    static const char *const texts[] = { "set(eth(src=02:00:00:00:00:01))", "set(ipv4(ttl=1))", "1", "push_vlan(vid=1,pcp=0)" };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        uint32_t memory[256];
        struct attrbuf b;
        attrbuf_init(&b, memory, sizeof memory);
        assert_null(odp_actions_scan(texts[i], &b));
        assert_false(odp_is_slow_set(attrbuf_data(&b)));
    }
}

static void frames_that_are_cut_or_damaged_are_not_left(void **state UNUSED)
{
    static const char *const texts[] = { "set(arp(sip=10.0.0.9,op=2,tha=02:00:00:00:00:77))", "set(icmp(type=1,code=2))",
                                         "set(icmpv6(type=1))", "set(nd(target=::1,sll=02:00:00:00:00:01,tll=02:00:00:00:00:01))" };
    unsigned int seed = getenv("SLUICE_SEED") ? atoi(getenv("SLUICE_SEED")) : time(NULL);

    print_message("SLUICE_SEED=%u\n", seed);
    srand(seed);
    for (int i = 0; i < 20000; i++) {
        struct packet_build p;
        switch (rand() % 3) {
        case 0:
            packet_build_arp(&p, mac1, mac2, 1, 1, 2);
            break;
        case 1:
            packet_build_icmp(&p, mac1, mac2, 1, 2, 8, 0);
            break;
        default:
            build_nd(&p, 135 + rand() % 2, 1 + rand() % 2, rand() % 3);
            break;
        }
        for (int n = rand() % 3; n > 0; n--) {
            p.data[12 + rand() % (p.len - 12)] = rand();
        }
        size_t len = 1 + rand() % p.len;
        uint32_t memory[256];
        struct attrbuf b;
        attrbuf_init(&b, memory, sizeof memory);
        assert_null(odp_actions_scan(texts[rand() % ARRAY_SIZE(texts)], &b));
        uint8_t *exact = xmemdup(p.data, len); /* So that one byte too many is seen. */
        odp_apply(exact, len, attrbuf_data(&b));
        assert_memory_equal(exact, p.data, MIN(len, 12)); /* Addresses are nobody's here. */
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arp_is_rewritten_behind_any_tags),
        cmocka_unit_test(icmp_keeps_its_checksum_right),
        cmocka_unit_test(nd_is_rewritten_with_its_options),
        cmocka_unit_test(a_set_of_what_the_kernel_can_is_none_of_these),
        cmocka_unit_test(frames_that_are_cut_or_damaged_are_not_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
