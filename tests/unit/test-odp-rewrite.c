/* Rewriting: what is emitted turns every packet of the megaflow into the one that was asked for.
 *
 * The random test has a model of the kernel's SET and SET_MASKED of its own: a packet is a struct flow, and an attribute's bytes go to
 * where linux/openvswitch.h says. */
#include <config.h>

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-rewrite.h"

struct world {
    uint32_t mem[512];
    struct attrbuf b;
    struct odp_rewrite r;
    struct flow want, mask;
    bool slow;
};

static void world_init(struct world *w, const struct flow *flow, bool masked)
{
    attrbuf_init(&w->b, w->mem, sizeof w->mem);
    odp_rewrite_init(&w->r, flow, masked);
    w->want = *flow;
    w->slow = false;
    memset(&w->mask, 0, sizeof w->mask);
}

#define WRITE(W, FIELD, VALUE)                    \
    do {                                          \
        (W)->want.FIELD = (VALUE);                \
        FLOW_MASK_FIELD(&(W)->r.written, FIELD);  \
    } while (0)

static bool commit(struct world *w) { return odp_rewrite_commit(&w->r, &w->b, &w->want, &w->mask, &w->slow); }

static void assert_actions(struct world *w, const char *expected)
{
    struct text t;
    assert_false(w->b.overflow);
    odp_actions_print(text_open(&t), attrbuf_data(&w->b), attrbuf_len(&w->b), NULL);
    char *s = text_close(&t);
    assert_string_equal(s, expected);
    free(s);
}

static struct flow tcp_flow(void)
{
    return (struct flow) { .eth_type = htons(ETH_TYPE_IPV4), .eth_src = { { 2, 0, 0, 0, 0, 1 } }, .eth_dst = { { 2, 0, 0, 0, 0, 2 } },
                           .ip_src = htonl(0x0a000001), .ip_dst = htonl(0x0a000002), .ip_proto = IPPROTO_TCP, .ip_ttl = 64,
                           .tp_src = htons(1000), .tp_dst = htons(80) };
}

static const struct flow no_bits;

static void a_write_leaves_the_megaflow_as_wide_as_it_was(void **state UNUSED)
{
    struct world w;
    struct flow f = tcp_flow();

    world_init(&w, &f, true);
    WRITE(&w, eth_dst, ((struct eth_addr) { { 2, 0, 0, 0, 0, 9 } }));
    WRITE(&w, ip_dst, f.ip_dst); /* What it has: other packets of the megaflow have something else. */
    assert_true(commit(&w));
    assert_actions(&w, "set(eth(dst=02:00:00:00:00:09)),set(ipv4(dst=10.0.0.2))");
    assert_memory_equal(&w.mask, &no_bits, sizeof w.mask);
}

static void a_write_of_what_the_megaflow_says_anyway_is_left_out(void **state UNUSED)
{
    struct world w;
    struct flow f = tcp_flow();

    world_init(&w, &f, true);
    FLOW_MASK_FIELD(&w.mask, ip_dst);
    WRITE(&w, ip_dst, f.ip_dst);
    WRITE(&w, tp_dst, htons(8080));
    assert_true(commit(&w));
    assert_actions(&w, "set(tcp(dst=8080))");
    /* Nor is what we have written ourselves. */
    WRITE(&w, tp_dst, htons(8080));
    WRITE(&w, tp_src, htons(1));
    assert_true(commit(&w));
    assert_actions(&w, "set(tcp(dst=8080)),set(tcp(src=1))");
}

static void nothing_written_is_nothing_emitted(void **state UNUSED)
{
    struct world w;
    struct flow f = tcp_flow();

    world_init(&w, &f, true);
    assert_true(commit(&w));
    assert_actions(&w, "drop");
}

static void a_kernel_without_masks_gets_the_whole_header_and_the_megaflow_is_exact_there(void **state UNUSED)
{
    struct world w;
    struct flow f = tcp_flow();

    world_init(&w, &f, false);
    WRITE(&w, ip_ttl, 63);
    assert_true(commit(&w));
    assert_actions(&w, "set(ipv4(src=10.0.0.1,dst=10.0.0.2,proto=6,tos=0,ttl=63,frag=no))");
    struct flow expected = no_bits;
    FLOW_MASK_FIELD(&expected, ip_src);
    FLOW_MASK_FIELD(&expected, ip_dst);
    FLOW_MASK_FIELD(&expected, ip_tos);
    FLOW_MASK_FIELD(&expected, ip_ttl);
    FLOW_MASK_FIELD(&expected, ip_proto);
    FLOW_MASK_FIELD(&expected, ip_frag);
    assert_memory_equal(&w.mask, &expected, sizeof expected);
}

static void what_the_kernel_cannot_set_is_said(void **state UNUSED)
{
    struct world w;
    struct flow arp = { .eth_type = htons(ETH_TYPE_ARP), .arp_op = htons(1), .ip_src = htonl(1) };
    struct flow icmp = { .eth_type = htons(ETH_TYPE_IPV4), .ip_proto = IPPROTO_ICMP, .tp_src = htons(8) };
    struct flow ns = { .eth_type = htons(ETH_TYPE_IPV6), .ip_proto = IPPROTO_ICMPV6, .tp_src = htons(135) };

    world_init(&w, &arp, true);
    WRITE(&w, eth_src, ((struct eth_addr) { { 2, 0, 0, 0, 0, 9 } }));
    assert_true(commit(&w));
    assert_false(w.slow);
    WRITE(&w, arp_op, htons(2));
    WRITE(&w, ip_src, htonl(2));
    assert_true(commit(&w));
    assert_true(w.slow);
    assert_actions(&w, "set(eth(src=02:00:00:00:00:09)),set(arp(sip=0.0.0.2,op=2))");
    assert_true(commit(&w)); /* Now it is so. */
    assert_actions(&w, "set(eth(src=02:00:00:00:00:09)),set(arp(sip=0.0.0.2,op=2))");

    world_init(&w, &icmp, true);
    w.want.tp_src = htons(0);
    w.r.written.tp_src = htons(0xff); /* The type is the low byte. */
    WRITE(&w, ip_ttl, 9);
    assert_true(commit(&w));
    assert_true(w.slow);
    assert_actions(&w, "set(ipv4(ttl=9)),set(icmp(type=0))");

    /* What was a solicitation becomes an advertisement. */
    world_init(&w, &ns, true);
    w.want.tp_src = htons(136);
    w.r.written.tp_src = htons(0xff);
    WRITE(&w, nd_sll, ((struct eth_addr) { { 2, 0, 0, 0, 0, 9 } }));
    assert_true(commit(&w));
    assert_actions(&w, "set(nd(sll=02:00:00:00:00:09)),set(icmpv6(type=136))");
}

static void a_field_of_a_header_that_is_not_there_stays_written(void **state UNUSED)
{
    struct world w;
    struct flow icmp = { .eth_type = htons(ETH_TYPE_IPV4), .ip_proto = IPPROTO_ICMP, .tp_src = htons(8) };

    world_init(&w, &icmp, true);
    WRITE(&w, arp_op, htons(2));
    assert_false(commit(&w));
    assert_false(commit(&w));
    assert_false(w.slow);
}

static void a_packet_without_an_ethernet_header_gets_none(void **state UNUSED)
{
    struct world w;
    struct flow f = tcp_flow();

    f.is_l3 = 1;
    world_init(&w, &f, true);
    WRITE(&w, eth_src, ((struct eth_addr) { { 2, 0, 0, 0, 0, 9 } }));
    WRITE(&w, ip_ttl, 63);
    assert_true(commit(&w));
    assert_actions(&w, "set(ipv4(ttl=63))");
}

/* ---- The model of the kernel. ---- */

static void model_bytes(void *field, const uint8_t *value, const uint8_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *) field)[i] = (((uint8_t *) field)[i] & ~mask[i]) | (value[i] & mask[i]);
    }
}

static void model_set(struct flow *p, uint16_t type, const uint8_t *v, const uint8_t *m)
{
    switch (type) {
    case OVS_KEY_ATTR_PRIORITY:
        model_bytes(&p->skb_priority, v, m, 4);
        break;
    case OVS_KEY_ATTR_SKB_MARK:
        model_bytes(&p->pkt_mark, v, m, 4);
        break;
    case OVS_KEY_ATTR_ETHERNET:
        model_bytes(&p->eth_src, v, m, 6);
        model_bytes(&p->eth_dst, v + 6, m + 6, 6);
        break;
    case OVS_KEY_ATTR_IPV4:
        assert_int_equal(p->eth_type, htons(ETH_TYPE_IPV4));
        model_bytes(&p->ip_src, v, m, 4);
        model_bytes(&p->ip_dst, v + 4, m + 4, 4);
        model_bytes(&p->ip_tos, v + 9, m + 9, 1);
        model_bytes(&p->ip_ttl, v + 10, m + 10, 1);
        break;
    case OVS_KEY_ATTR_IPV6:
        assert_int_equal(p->eth_type, htons(ETH_TYPE_IPV6));
        model_bytes(&p->ipv6_src, v, m, 16);
        model_bytes(&p->ipv6_dst, v + 16, m + 16, 16);
        model_bytes(&p->ipv6_label, v + 32, m + 32, 4);
        model_bytes(&p->ip_tos, v + 37, m + 37, 1);
        model_bytes(&p->ip_ttl, v + 38, m + 38, 1);
        break;
    case OVS_KEY_ATTR_TCP:
    case OVS_KEY_ATTR_UDP:
    case OVS_KEY_ATTR_SCTP:
        model_bytes(&p->tp_src, v, m, 2);
        model_bytes(&p->tp_dst, v + 2, m + 2, 2);
        break;
    default:
        fail_msg("attribute %u set", type);
    }
}

static void model_run(struct flow *p, const void *actions, size_t len)
{
    static const uint8_t ones[64] = { [0 ... 63] = 0xff };
    const struct nlattr *attr;

    mnl_attr_for_each_payload((void *) actions, len) {
        const struct nlattr *key = mnl_attr_get_payload(attr);
        const uint8_t *data = mnl_attr_get_payload(key);
        size_t n = mnl_attr_get_payload_len(key);

        if (mnl_attr_get_type(attr) == OVS_ACTION_ATTR_SET_MASKED) {
            for (size_t i = 0; i < n / 2; i++) {
                assert_int_equal(data[i] & ~data[n / 2 + i], 0); /* The kernel refuses it. */
            }
            model_set(p, mnl_attr_get_type(key), data, data + n / 2);
        } else {
            assert_int_equal(mnl_attr_get_type(attr), OVS_ACTION_ATTR_SET);
            model_set(p, mnl_attr_get_type(key), data, ones);
        }
    }
}

/* ---- Random writes. ---- */

struct field {
    size_t ofs, len;
};
#define FIELD(NAME) { offsetof(struct flow, NAME), sizeof(((struct flow *) 0)->NAME) }
static const struct field any_fields[] = { FIELD(skb_priority), FIELD(pkt_mark), FIELD(eth_src), FIELD(eth_dst), FIELD(ip_tos),
                                           FIELD(ip_ttl), FIELD(tp_src), FIELD(tp_dst) };
static const struct field v4_fields[] = { FIELD(ip_src), FIELD(ip_dst) };
static const struct field v6_fields[] = { FIELD(ipv6_src), FIELD(ipv6_dst) };

static struct field random_field(bool v6)
{
    size_t k = rand() % (ARRAY_SIZE(any_fields) + 2);
    return k < ARRAY_SIZE(any_fields)  ? any_fields[k]
           : v6                        ? v6_fields[k - ARRAY_SIZE(any_fields)]
                                       : v4_fields[k - ARRAY_SIZE(any_fields)];
}

/* Few values, so that a write often says what is there. */
static void randomize(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *) p)[i] = rand() % 2 ? 0 : rand() % 2 ? 0xff : rand();
    }
}

static struct flow random_flow(bool v6, uint8_t proto)
{
    struct flow f = { .eth_type = v6 ? htons(ETH_TYPE_IPV6) : htons(ETH_TYPE_IPV4), .ip_proto = proto };
    const struct field *own = v6 ? v6_fields : v4_fields;

    for (size_t i = 0; i < ARRAY_SIZE(any_fields); i++) {
        randomize((uint8_t *) &f + any_fields[i].ofs, any_fields[i].len);
    }
    for (size_t i = 0; i < 2; i++) {
        randomize((uint8_t *) &f + own[i].ofs, own[i].len);
    }
    return f;
}

/* Writes random bits of FIELD in W, and in EXPECTED, the packet that is to come out. */
static void random_write(struct world *w, struct field field, struct flow *expected)
{
    uint8_t value[16], bits[16];

    randomize(value, sizeof value);
    randomize(bits, sizeof bits);
    model_bytes((uint8_t *) &w->want + field.ofs, value, bits, field.len);
    model_bytes((uint8_t *) expected + field.ofs, value, bits, field.len);
    for (size_t i = 0; i < field.len; i++) {
        ((uint8_t *) &w->r.written)[field.ofs + i] |= bits[i];
    }
}

/* Translates one packet with random writes and commits in between, and runs the actions on another one of the same megaflow. */
static void one_megaflow(void)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP };
    bool v6 = rand() % 2;
    uint8_t proto = protos[rand() % ARRAY_SIZE(protos)];
    struct flow first = random_flow(v6, proto), other = random_flow(v6, proto), expected;
    struct world w;

    world_init(&w, &first, rand() % 4);
    for (int looks = rand() % 4; looks > 0; looks--) { /* What the tables matched on. */
        struct field field = random_field(v6);
        randomize((uint8_t *) &w.mask + field.ofs, field.len);
    }
    struct flow looked_at = w.mask;
    struct { struct field field; uint8_t value[16], bits[16]; } writes[8];
    int n = rand() % 8, commits = 0;
    expected = first;
    for (int i = 0; i < n; i++) {
        writes[i].field = random_field(v6);
        struct world before = w;
        random_write(&w, writes[i].field, &expected);
        for (size_t k = 0; k < writes[i].field.len; k++) {
            writes[i].bits[k] = ((uint8_t *) &w.r.written)[writes[i].field.ofs + k]
                                | ((uint8_t *) &before.r.written)[writes[i].field.ofs + k];
            writes[i].value[k] = ((uint8_t *) &w.want)[writes[i].field.ofs + k];
        }
        if (rand() % 3 == 0) {
            assert_true(commit(&w));
            commits++;
        }
    }
    assert_true(commit(&w));
    assert_false(w.b.overflow);
    if (w.r.masked) {
        assert_memory_equal(&w.mask, &looked_at, sizeof looked_at);
    }

    struct flow packet = first;
    model_run(&packet, attrbuf_data(&w.b), attrbuf_len(&w.b));
    assert_memory_equal(&packet, &expected, sizeof packet);

    /* Another packet that the megaflow covers, written to in the same way. */
    for (size_t i = 0; i < sizeof other; i++) {
        uint8_t m = ((uint8_t *) &w.mask)[i];
        ((uint8_t *) &other)[i] = (((uint8_t *) &other)[i] & ~m) | (((uint8_t *) &first)[i] & m);
    }
    packet = expected = other;
    for (int i = 0; i < n; i++) {
        model_bytes((uint8_t *) &expected + writes[i].field.ofs, writes[i].value, writes[i].bits, writes[i].field.len);
    }
    model_run(&packet, attrbuf_data(&w.b), attrbuf_len(&w.b));
    assert_memory_equal(&packet, &expected, sizeof packet);
}

static void every_packet_of_the_megaflow_is_rewritten_as_its_first(void **state UNUSED)
{
    const char *s = getenv("SEED");
    unsigned int seed = s ? strtoul(s, NULL, 0) : (unsigned int) time(NULL);

    print_message("SEED=%u\n", seed);
    srand(seed);
    for (int i = 0; i < 20000; i++) {
        one_megaflow();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_leaves_the_megaflow_as_wide_as_it_was),
        cmocka_unit_test(a_write_of_what_the_megaflow_says_anyway_is_left_out),
        cmocka_unit_test(nothing_written_is_nothing_emitted),
        cmocka_unit_test(a_kernel_without_masks_gets_the_whole_header_and_the_megaflow_is_exact_there),
        cmocka_unit_test(what_the_kernel_cannot_set_is_said),
        cmocka_unit_test(a_field_of_a_header_that_is_not_there_stays_written),
        cmocka_unit_test(a_packet_without_an_ethernet_header_gets_none),
        cmocka_unit_test(every_packet_of_the_megaflow_is_rewritten_as_its_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
