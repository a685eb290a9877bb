/* Datapath keys: what the kernel sends is read whole, what we write is read back the same, text goes both ways, and
 * no byte string makes the reader go past its end. */
#include <config.h>

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"

struct buf {
    uint32_t mem[1024];
    struct attrbuf b;
};

static void buf_init(struct buf *buf)
{
    attrbuf_init(&buf->b, buf->mem, sizeof buf->mem);
}

/* Each with what a kernel dump or `ovs-dpctl dump-flows` shows for it. */
static const char *const texts[] = {
    "in_port(1),eth(src=00:00:00:00:00:01,dst=00:00:00:00:00:02),eth_type(0x0806),arp(sip=1.2.3.4,tip=1.2.3.5,"
    "op=1/0xff,sha=00:00:00:00:00:01,tha=00:00:00:00:00:00)",
    "recirc_id(0),in_port(2),eth(),eth_type(0x0806),arp(sip=1.2.3.0/255.255.255.0)",
    "recirc_id(0x1),dp_hash(0x3/0xf),skb_priority(0x5),in_port(3),skb_mark(0x7),eth(src=00:00:00:00:00:00/"
    "01:00:00:00:00:00),eth_type(0x88cc)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(src=10.0.0.0/255.0.0.0,proto=6,tos=0/0x3,ttl=64,frag=no),"
    "tcp(src=0/0xff00,dst=8080),tcp_flags(+syn-ack)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(proto=6,frag=first),tcp(dst=8080),tcp_flags(syn|ack)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(proto=6,frag=no),tcp_flags(0)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(proto=17,frag=later)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(proto=17,frag=no),udp(src=1,dst=2/0xff)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(proto=1,frag=no),icmp(type=8,code=0)",
    "in_port(1),eth(),eth_type(0x0800),ipv4(proto=132,frag=no),sctp(src=8,dst=9)",
    "in_port(1),eth(),eth_type(0x86dd),ipv6(src=fe80::1,dst=ff02::/ffff::,label=0x12345,proto=58,tclass=0x3,"
    "hlimit=255,frag=no),icmpv6(type=135,code=0),nd(target=fe80::2,sll=00:00:00:00:00:01,tll=00:00:00:00:00:00)",
    "in_port(1),eth(),eth_type(0x8100),vlan(vid=5,pcp=3),encap(eth_type(0x0800),ipv4(proto=17,frag=no),udp(src=1))",
    "in_port(1),eth(),eth_type(0x8100),vlan(vid=5),encap(eth_type(0x0806))",
    "in_port(1),eth(),eth_type(0x88a8),vlan(vid=7,pcp=0),encap(eth_type(0x8100),vlan(vid=8/0xf),"
    "encap(eth_type(0x0800),ipv4(tos=0x10)))",
    "in_port(1),eth(),eth_type(0x8847),mpls(label=1,tc=1,ttl=64,bos=0,label=2,tc=0,ttl=1,bos=1)",
    "in_port(1),ct_state(+new-est+trk),ct_mark(0x5/0xf),ct_label(0x1/0xff),ct_tuple4(src=1.1.1.1,dst=2.2.2.2,"
    "proto=6,tp_src=1,tp_dst=2),eth(),eth_type(0x0800)",
    "in_port(1),ct_state(+trk),ct_zone(0x5),ct_tuple6(src=::1,proto=17,src_port=1/0xff),eth(),eth_type(0x86dd)",
    "tunnel(tun_id=0x5/0xff,src=1.0.0.0/255.0.0.0,dst=2.2.2.2,tos=0x3/0x3,tp_src=5,tp_dst=6/0xff,"
    "geneve({class=0x2/0xff,type=0x80,len=4,0xa/0xf}{class=0xffff,len=0}),flags(-df-csum+key)),in_port(2),eth(),"
    "eth_type(0x0806)",
    "tunnel(tun_id=0x5,ipv6_src=::1,ipv6_dst=::2,ttl=64,vxlan(gbp(id=1,flags=0)),flags(key)),in_port(2),eth(),"
    "eth_type(0x0806)",
    "tunnel(dst=2.2.2.2,ttl=64,erspan(ver=2,dir=1/0x1,hwid=0x5/0xf)),in_port(2),eth(),eth_type(0x0806)",
    "tunnel(dst=2.2.2.2,ttl=64,erspan(ver=1,idx=0x5/0xffffffff),flags(+oam-df-csum)),in_port(2),eth(),"
    "eth_type(0x0806)",
    "in_port(1),eth(),eth_type(0x894f),nsh(flags=0,ttl=63,mdtype=1,np=1,spi=0x5,si=3,c1=0x1,c2=0x0,c3=0x0,c4=0x9)",
    "in_port(1),eth_type(0x0800),ipv4(frag=no)",
    "in_port(1),eth(),eth_type(0/0xffff)",
};

static char *print(const struct buf *key, const struct buf *mask, const struct odp_names *names, bool verbose)
{
    struct text t;

    odp_key_print(text_open(&t), attrbuf_data(&key->b), attrbuf_len(&key->b), mask ? attrbuf_data(&mask->b) : NULL,
                  mask ? attrbuf_len(&mask->b) : 0, names, verbose);
    return text_close(&t);
}

static void scan(const char *text, struct buf *key, struct buf *mask)
{
    buf_init(key);
    buf_init(mask);
    char *error = odp_key_scan(text, &key->b, &mask->b);
    if (error) {
        print_error("%s: %s\n", text, error);
    }
    assert_null(error);
}

static void to_flow(const struct buf *key, const struct buf *mask, struct flow *flow, struct flow *m)
{
    assert_int_equal(odp_key_to_flow(attrbuf_data(&key->b), attrbuf_len(&key->b), flow), ODP_FIT_PERFECT);
    assert_int_equal(odp_mask_to_flow(attrbuf_data(&mask->b), attrbuf_len(&mask->b), flow, m), ODP_FIT_PERFECT);
}

static void text_is_scanned_and_printed_alike(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buf key, mask;

        scan(texts[i], &key, &mask);
        char *s = print(&key, &mask, NULL, false);
        assert_string_equal(s, texts[i]);
        free(s);
    }
}

static void flows_survive_being_written_and_read(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct flow flow, mask, flow2, mask2;
        struct buf kb, mb, kb2, mb2;

        scan(texts[i], &kb, &mb);
        to_flow(&kb, &mb, &flow, &mask);
        buf_init(&kb2);
        buf_init(&mb2);
        odp_key_put_masked(&kb2.b, &flow, &mask);
        odp_mask_put(&mb2.b, &flow, &mask);
        assert_false(kb2.b.overflow || mb2.b.overflow);
        to_flow(&kb2, &mb2, &flow2, &mask2);
        assert_memory_equal(&flow, &flow2, sizeof flow);
        /* The mask may have been completed, as the kernel wants it, but has lost nothing. */
        assert_true(flow_mask_is_subset(&mask, &mask2));
        /* What has been completed once is complete. */
        struct buf mb3;
        buf_init(&mb3);
        odp_mask_put(&mb3.b, &flow2, &mask2);
        assert_int_equal(attrbuf_len(&mb3.b), attrbuf_len(&mb2.b));
        assert_memory_equal(attrbuf_data(&mb3.b), attrbuf_data(&mb2.b), attrbuf_len(&mb2.b));
    }
}

static void exact_masks_cover_the_key(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct flow flow, mask, mask2;
        struct buf kb, mb;

        scan(texts[i], &kb, &mb);
        to_flow(&kb, &mb, &flow, &mask);
        assert_int_equal(odp_mask_to_flow(NULL, 0, &flow, &mask), ODP_FIT_PERFECT);
        struct flow masked = flow;
        flow_apply_mask(&masked, &mask);
        assert_memory_equal(&masked, &flow, sizeof flow);
        buf_init(&mb);
        odp_mask_put(&mb.b, &flow, &mask);
        assert_int_equal(odp_mask_to_flow(attrbuf_data(&mb.b), attrbuf_len(&mb.b), &flow, &mask2), ODP_FIT_PERFECT);
        masked = flow;
        flow_apply_mask(&masked, &mask2);
        assert_memory_equal(&masked, &flow, sizeof flow);
    }
}

static const char *name_port(odp_port_t port, void *aux)
{
    return port.n == 1 ? "veth-a" : NULL;
}

static void ports_are_printed_by_name(void **state)
{
    struct odp_names names = { .name = name_port };
    struct buf key, mask;

    scan("in_port(1),eth(),eth_type(0x88cc)", &key, &mask);
    char *s = print(&key, &mask, &names, false);
    assert_string_equal(s, "in_port(veth-a),eth(),eth_type(0x88cc)");
    free(s);
    scan("in_port(2),eth(),eth_type(0x88cc)", &key, &mask);
    s = print(&key, &mask, &names, false);
    assert_string_equal(s, "in_port(2),eth(),eth_type(0x88cc)");
    free(s);
}

static void verbose_shows_what_is_wildcarded(void **state)
{
    struct buf key, mask;

    scan("recirc_id(0),skb_mark(0/0),ct_state(+new+trk),in_port(1),eth(),eth_type(0x0800),ipv4(proto=17,frag=no),"
         "udp()",
         &key, &mask);
    char *s = print(&key, &mask, NULL, true);
    assert_string_equal(s, "recirc_id(0),skb_mark(0/0),ct_state(0x21/0x21),in_port(1),eth(src=00:00:00:00:00:00/"
                           "00:00:00:00:00:00,dst=00:00:00:00:00:00/00:00:00:00:00:00),eth_type(0x0800),ipv4("
                           "src=0.0.0.0/0.0.0.0,dst=0.0.0.0/0.0.0.0,proto=17,tos=0/0,ttl=0/0,frag=no),"
                           "udp(src=0/0,dst=0/0)");
    free(s);
}

static void unknown_attributes_are_counted_and_shown(void **state)
{
    static const uint8_t bytes[3] = { 1, 2, 3 };
    struct flow flow, mask;
    struct buf key, m;

    scan("in_port(1),eth(),eth_type(0x88cc)", &key, &m);
    attrbuf_put(&key.b, 77, bytes, sizeof bytes);
    assert_int_equal(odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow), ODP_FIT_TOO_MUCH);
    assert_int_equal(flow.in_port.n, 1);
    attrbuf_put(&m.b, 77, bytes, sizeof bytes);
    assert_int_equal(odp_mask_to_flow(attrbuf_data(&m.b), attrbuf_len(&m.b), &flow, &mask), ODP_FIT_TOO_MUCH);
    char *s = print(&key, &m, NULL, false);
    assert_string_equal(s, "in_port(1),eth(),eth_type(0x88cc),key77(01 02 03/01 02 03)");
    free(s);
}

/* Reads SIZE bytes that end where the memory ends, so that the sanitizer sees one byte too many. */
static enum odp_key_fit read_exactly(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    struct flow flow, mask;
    struct text t;

    memcpy(copy, bytes, size);
    enum odp_key_fit fit = odp_key_to_flow(copy, size, &flow);
    odp_mask_to_flow(copy, size, &flow, &mask);
    odp_key_print(text_open(&t), copy, size, copy, size, NULL, true);
    free(text_close(&t));
    odp_key_print(text_open(&t), copy, size, NULL, 0, NULL, false);
    free(text_close(&t));
    free(copy);
    return fit;
}

static void no_prefix_is_read_past_its_end(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buf key, mask;

        scan(texts[i], &key, &mask);
        for (size_t n = 0; n <= attrbuf_len(&key.b); n++) {
            read_exactly(attrbuf_data(&key.b), n);
        }
        for (size_t n = 0; n <= attrbuf_len(&mask.b); n++) {
            read_exactly(attrbuf_data(&mask.b), n);
        }
    }
}

/* Goes through the attributes of a stream, nests too, and gives each a wrong length in turn. */
static void spoil(uint8_t *all, size_t all_len, uint8_t *p, size_t len, bool has_nests)
{
    for (size_t ofs = 0; ofs + NLA_HDRLEN <= len;) {
        struct nlattr *nla = (struct nlattr *) (p + ofs);
        uint16_t nla_len = nla->nla_len;
        const uint16_t wrong[] = { 0, 1, 3, nla_len - 1, nla_len + 1, nla_len + 4, UINT16_MAX };

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
            nla->nla_len = wrong[i];
            enum odp_key_fit fit = read_exactly(all, all_len);
            /* A nest that is longer swallows its neighbours, which may even make sense. */
            if (wrong[i] < NLA_HDRLEN || wrong[i] == UINT16_MAX) {
                assert_int_equal(fit, ODP_FIT_ERROR);
            }
        }
        nla->nla_len = nla_len;
        if (has_nests && (nla->nla_type == OVS_KEY_ATTR_ENCAP || nla->nla_type == OVS_KEY_ATTR_TUNNEL ||
                          nla->nla_type == OVS_KEY_ATTR_NSH)) {
            spoil(all, all_len, p + ofs + NLA_HDRLEN, nla_len - NLA_HDRLEN, nla->nla_type == OVS_KEY_ATTR_ENCAP);
        }
        ofs += NLA_ALIGN(nla_len);
    }
}

static void wrong_lengths_are_errors(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buf key, mask;

        scan(texts[i], &key, &mask);
        spoil((uint8_t *) attrbuf_data(&key.b), attrbuf_len(&key.b), (uint8_t *) attrbuf_data(&key.b),
              attrbuf_len(&key.b), true);
    }
}

static void fixed_lengths_are_checked(void **state)
{
    static const struct {
        uint16_t type, len;
    } attrs[] = { { OVS_KEY_ATTR_IN_PORT, 4 },   { OVS_KEY_ATTR_ETHERNET, 12 }, { OVS_KEY_ATTR_ETHERTYPE, 2 },
                  { OVS_KEY_ATTR_IPV4, 12 },     { OVS_KEY_ATTR_IPV6, 40 },     { OVS_KEY_ATTR_TCP, 4 },
                  { OVS_KEY_ATTR_ICMP, 2 },      { OVS_KEY_ATTR_ARP, 24 },      { OVS_KEY_ATTR_ND, 28 },
                  { OVS_KEY_ATTR_CT_LABELS, 16 }, { OVS_KEY_ATTR_TCP_FLAGS, 2 }, { OVS_KEY_ATTR_IPV6_EXTHDRS, 2 } };
    static const uint8_t zeroes[64];

    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
        for (uint16_t len = 0; len <= attrs[i].len + 1; len++) {
            struct buf key;

            buf_init(&key);
            attrbuf_put(&key.b, attrs[i].type, zeroes, len);
            assert_int_equal(read_exactly(attrbuf_data(&key.b), attrbuf_len(&key.b)),
                             len == attrs[i].len ? ODP_FIT_PERFECT : ODP_FIT_ERROR);
        }
    }
}

static void nested_tags(struct attrbuf *b, int n)
{
    if (n) {
        attrbuf_put_u16(b, OVS_KEY_ATTR_ETHERTYPE, htons(ETH_TYPE_VLAN));
        attrbuf_put_u16(b, OVS_KEY_ATTR_VLAN, htons(VLAN_CFI | n));
        struct nlattr *nest = attrbuf_nest_begin(b, OVS_KEY_ATTR_ENCAP);
        nested_tags(b, n - 1);
        attrbuf_nest_end(b, nest);
    }
}

static void tags_are_read_to_two_levels_and_no_further(void **state)
{
    struct flow flow;
    struct buf key;

    for (int n = 0; n < 60; n++) {
        buf_init(&key);
        nested_tags(&key.b, n);
        assert_int_equal(odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow),
                         n <= FLOW_MAX_VLANS ? ODP_FIT_PERFECT : ODP_FIT_ERROR);
        read_exactly(attrbuf_data(&key.b), attrbuf_len(&key.b));
    }
}

static void nonsense_is_an_error(void **state)
{
    static const char *const bad[] = {
        /* Twice the same. */
        "in_port(1),in_port(2)",
        /* A tag without its nest, a nest without its tag, a tag without its type. */
        "eth(),eth_type(0x8100),vlan(vid=1)",
        "eth(),eth_type(0x8100),encap(eth_type(0x0800))",
        "eth(),vlan(vid=1),encap()",
        /* A tag that is cut off has nothing inside. */
        "eth(),eth_type(0x8100),vlan(vid=0,pcp=0,cfi=0),encap(eth_type(0x0800))",
        "eth(),eth_type(0x8100),vlan(vid=1,pcp=0,cfi=0),encap()",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct buf key, mask;
        struct flow flow;

        scan(bad[i], &key, &mask);
        assert_int_equal(odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow), ODP_FIT_ERROR);
    }
}

static void a_tag_cut_off_is_the_ethernet_type(void **state)
{
    struct buf key, mask;
    struct flow flow;

    scan("in_port(1),eth(),eth_type(0x8100),vlan(vid=0,pcp=0,cfi=0),encap()", &key, &mask);
    assert_int_equal(odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow), ODP_FIT_PERFECT);
    assert_false(flow_vlan_present(&flow.vlan[0]));
    assert_int_equal(flow.eth_type, htons(ETH_TYPE_VLAN));
    struct buf again;
    buf_init(&again);
    odp_key_put(&again.b, &flow);
    char *s = print(&again, NULL, NULL, false);
    assert_non_null(strstr(s, "eth_type(0x8100),vlan(vid=0,pcp=0,cfi=0),encap()"));
    free(s);
}

static void masks_are_completed_as_the_kernel_wants(void **state)
{
    struct flow flow, mask = { 0 };
    struct buf key, m;

    scan("in_port(1),eth(),eth_type(0x8100),vlan(vid=5,pcp=0),encap(eth_type(0x0800),ipv4(proto=17,frag=no),"
         "udp(src=1,dst=2))",
         &key, &m);
    odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow);
    /* Nothing is asked for: the tag's type and presence are matched all the same. */
    buf_init(&m);
    odp_mask_put(&m.b, &flow, &mask);
    char *s = print(&key, &m, NULL, false);
    assert_string_equal(s, "eth(),eth_type(0x8100),vlan(),encap(eth_type(0x0800))");
    free(s);
    /* A port: the protocol too. */
    mask.tp_dst = htons(0xffff);
    buf_init(&m);
    odp_mask_put(&m.b, &flow, &mask);
    s = print(&key, &m, NULL, false);
    assert_string_equal(s, "eth(),eth_type(0x8100),vlan(),encap(eth_type(0x0800),ipv4(proto=17),udp(dst=2))");
    free(s);
}

static void zero_fields_are_put_where_the_mask_looks(void **state)
{
    struct flow flow, mask;
    struct buf key, m, put;

    scan("in_port(1),ct_state(0),eth(),eth_type(0x86dd),ipv6(proto=6,frag=no),tcp(),tcp_flags(0/0)", &key, &m);
    to_flow(&key, &m, &flow, &mask);
    /* Not every kernel knows these attributes, so they are left out... */
    buf_init(&put);
    odp_key_put(&put.b, &flow);
    char *s = print(&put, NULL, NULL, false);
    assert_null(strstr(s, "ct_mark"));
    assert_null(strstr(s, "key32"));
    free(s);
    /* ...but the kernel refuses a mask over an attribute that the key has not. */
    memset(&mask, 0, sizeof mask);
    FLOW_MASK_FIELD(&mask, ct_mark);
    FLOW_MASK_FIELD(&mask, ipv6_exthdrs);
    buf_init(&put);
    odp_key_put_masked(&put.b, &flow, &mask);
    s = print(&put, NULL, NULL, false);
    assert_non_null(strstr(s, "ct_mark(0)"));
    assert_non_null(strstr(s, "key32(00 00)"));
    free(s);
    /* What has not been tracked has no mark. */
    FLOW_MASK_FIELD(&mask, ct_state);
    buf_init(&put);
    odp_key_put_masked(&put.b, &flow, &mask);
    buf_init(&m);
    odp_mask_put(&m.b, &flow, &mask);
    s = print(&put, &m, NULL, false);
    assert_non_null(strstr(s, "ct_state(-new-est-rel-rpl-inv-trk-snat-dnat)"));
    assert_null(strstr(s, "ct_mark"));
    free(s);
}

/* A flow for packets that came in by no port is for no others. */
static void no_port_is_a_key_without_and_a_mask_with(void **state)
{
    struct flow flow, mask, back;
    struct buf key, m;

    scan("recirc_id(5),eth(),eth_type(0x0806),arp()", &key, &m);
    assert_int_equal(odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow), ODP_FIT_PERFECT);
    assert_int_equal(flow.in_port.n, ODPP_NONE.n);
    memset(&mask, 0, sizeof mask);
    FLOW_MASK_FIELD(&mask, in_port);
    FLOW_MASK_FIELD(&mask, recirc_id);
    buf_init(&key);
    odp_key_put_masked(&key.b, &flow, &mask);
    buf_init(&m);
    odp_mask_put(&m.b, &flow, &mask);
    to_flow(&key, &m, &flow, &back);
    assert_int_equal(flow.in_port.n, ODPP_NONE.n);
    assert_int_equal(back.in_port.n, UINT32_MAX);
    memset(&mask.in_port, 0, sizeof mask.in_port);
    buf_init(&m);
    odp_mask_put(&m.b, &flow, &mask);
    to_flow(&key, &m, &flow, &back);
    assert_int_equal(back.in_port.n, 0);
}

static void untagged_is_part_of_every_mask(void **state)
{
    struct flow flow, mask;
    struct buf key, m;

    scan("in_port(1),eth(),eth_type(0x0806),arp(op=1/0xff)", &key, &m);
    to_flow(&key, &m, &flow, &mask);
    assert_int_equal(mask.vlan[0].tci, 0xffff);
    assert_int_equal(mask.vlan[1].tci, 0xffff);
    /* The kernel keeps eight bits of the opcode; whoever matches all of them matches all. */
    assert_int_equal(mask.arp_op, 0xffff);
    assert_int_equal(mask.ip_proto, 0xff);
}

static void ufid_depends_on_masked_bits_only(void **state)
{
    struct flow flow, mask, other;
    struct buf key, m;

    scan(texts[3], &key, &m);
    to_flow(&key, &m, &flow, &mask);
    struct ufid u = odp_ufid(&flow, &mask);

    other = flow;
    other.tp_src ^= htons(0x00ff);
    other.ip_dst ^= 1;
    memset(other.pad1, 0x55, sizeof other.pad1);
    memset(other.pad2, 0x55, sizeof other.pad2);
    struct ufid u2 = odp_ufid(&other, &mask);
    assert_true(ufid_eq(&u, &u2));

    other.tp_dst ^= 1;
    u2 = odp_ufid(&other, &mask);
    assert_false(ufid_eq(&u, &u2));

    struct flow wider = mask;
    wider.ip_ttl = 0;
    u2 = odp_ufid(&flow, &wider);
    assert_false(ufid_eq(&u, &u2));

    /* Padding of the mask, and a tunnel that is not there. */
    wider = mask;
    memset(wider.pad1, 0xff, sizeof wider.pad1);
    memset(wider.pad2, 0xff, sizeof wider.pad2);
    memset(&wider.tunnel, 0xff, sizeof wider.tunnel);
    u2 = odp_ufid(&flow, &wider);
    assert_true(ufid_eq(&u, &u2));
}

static void ufid_covers_tunnel_options(void **state)
{
    struct flow flow, mask;
    struct buf key, m;

    scan(texts[17], &key, &m);
    to_flow(&key, &m, &flow, &mask);
    struct ufid u = odp_ufid(&flow, &mask);
    flow.tunnel.opts[7] ^= 0x01;
    struct ufid u2 = odp_ufid(&flow, &mask);
    assert_false(ufid_eq(&u, &u2));
    flow.tunnel.opts[7] ^= 0x11; /* 0x10 is outside of the mask. */
    u2 = odp_ufid(&flow, &mask);
    assert_true(ufid_eq(&u, &u2));
}

/* What a translation looked at of the pipeline's own fields must be in no datapath mask, and name no flow. */
static void the_pipelines_fields_reach_no_datapath(void **state)
{
    struct buf key, mask, plain;
    struct flow flow = { 0 }, m = { 0 };

    scan("in_port(1),eth(),eth_type(0x0800),ipv4(frag=no)", &key, &mask);
    odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &flow);
    FLOW_MASK_FIELD(&m, in_port);
    struct ufid u = odp_ufid(&flow, &m);
    buf_init(&plain);
    odp_mask_put(&plain.b, &flow, &m);

    memset(&m.metadata, 0xff, offsetof(struct flow, tunnel) - offsetof(struct flow, metadata));
    memset(&flow.metadata, 0x5a, offsetof(struct flow, tunnel) - offsetof(struct flow, metadata));
    struct ufid u2 = odp_ufid(&flow, &m);
    assert_true(ufid_eq(&u, &u2));
    buf_init(&mask);
    odp_mask_put(&mask.b, &flow, &m);
    assert_int_equal(attrbuf_len(&mask.b), attrbuf_len(&plain.b));
    assert_memory_equal(attrbuf_data(&mask.b), attrbuf_data(&plain.b), attrbuf_len(&mask.b));

    struct flow cleared = m, zero = { 0 };
    flow_clear_pipeline(&cleared);
    FLOW_MASK_FIELD(&zero, in_port);
    assert_memory_equal(&cleared, &zero, sizeof zero);
}

/* The kernel numbers fragment types, OpenFlow has bits: whichever of them is looked at, the kernel's mask is all of it. */
static void fragment_bits_become_the_kernels_numbers(void **state)
{
    static const uint8_t bits[] = { 0, FLOW_FRAG_ANY, FLOW_FRAG_ANY | FLOW_FRAG_LATER };
    struct ufid seen[ARRAY_SIZE(bits)];

    for (uint8_t i = 0; i < ARRAY_SIZE(bits); i++) {
        struct flow flow = { .eth_type = htons(ETH_TYPE_IPV4), .ip_proto = 50, .ip_frag = bits[i] }, mask = { 0 }, back;
        struct buf key, m;
        char expected[32];

        FLOW_MASK_FIELD(&mask, eth_type);
        mask.ip_frag = FLOW_FRAG_LATER;
        buf_init(&key);
        buf_init(&m);
        odp_key_put(&key.b, &flow);
        odp_mask_put(&m.b, &flow, &mask);
        char *s = print(&key, &m, NULL, false);
        snprintf(expected, sizeof expected, "ipv4(frag=%s)", i == 0 ? "no" : i == 1 ? "first" : "later");
        assert_non_null(strstr(s, expected));
        free(s);
        odp_key_to_flow(attrbuf_data(&key.b), attrbuf_len(&key.b), &back);
        assert_int_equal(back.ip_frag, bits[i]);
        assert_int_equal(odp_mask_to_flow(attrbuf_data(&m.b), attrbuf_len(&m.b), &flow, &back), ODP_FIT_PERFECT);
        assert_int_equal(back.ip_frag, 0xff);

        /* Flows that the kernel tells apart are two by their UFID, even where the mask's own bits agree. */
        mask.ip_frag = FLOW_FRAG_ANY;
        seen[i] = odp_ufid(&flow, &mask);
        for (uint8_t j = 0; j < i; j++) {
            assert_false(ufid_eq(&seen[i], &seen[j]));
        }
    }
}

static void ufid_text_goes_both_ways(void **state)
{
    struct ufid u = { UINT64_C(0x455fc64de2c55973), UINT64_C(0xfa7697c0d106fcf7) }, u2;
    struct text t;

    odp_ufid_print(text_open(&t), &u);
    char *s = text_close(&t);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    assert_string_equal(s, "ufid:e2c55973-455f-c64d-d106-fcf7fa7697c0"); /* As ovs-dpctl shows these bytes. */
#endif
    assert_true(odp_ufid_scan(s, &u2));
    assert_true(ufid_eq(&u, &u2));
    assert_true(odp_ufid_scan(s + 5, &u2));
    assert_false(odp_ufid_scan("ufid:e2c55973", &u2));
    assert_false(odp_ufid_scan("ufid:e2c55973-455f-c64d-d106-fcf7fa7697c00", &u2));
    assert_false(odp_ufid_scan("ufid:g2c55973-455f-c64d-d106-fcf7fa7697c0", &u2));
    free(s);
}

static void errors_name_field_and_value(void **state)
{
    static const char *const cases[][2] = {
        { "in_port(eth0)", "in_port(eth0): expected the number of a datapath port" },
        { "eth(src=1:2)", "eth(src=1:2): expected an Ethernet address" },
        { "ipv4(ttl=256)", "ipv4(ttl=256): expected a number from 0 to 255" },
        { "ipv4(foo=1)", "ipv4(foo): there is no such field in ipv4" },
        { "ipv4(src=1.2.3)", "ipv4(src=1.2.3): expected an IPv4 address" },
        { "vlan(vid=4096)", "vlan(vid=4096): expected a number from 0 to 4095" },
        { "tcp_flags(foo)", "tcp_flags(foo): expected flags" },
        { "frob(1)", "frob: there is no such field" },
        { "in_port", "\"in_port\": expected FIELD(VALUE)" },
        { "in_port(1", "\"in_port(1\": expected FIELD(VALUE)" },
        { "tunnel(flags(x))", "tunnel(flags(x)): expected flags" },
        { "tunnel(geneve({class=1,type=1,len=3,0x1}))", "geneve(len=3): expected a multiple of 4" },
        { "mpls(label=1,label=2,label=3,label=4)", "mpls: more than 3 labels" },
        { "encap(encap(encap(encap())))", "nested too deep" },
        { "key99(0)", "key99(0): expected at most 64 bytes" },
        { "recirc_id(1/x)", "recirc_id(1/x): expected a number" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf key, mask;

        buf_init(&key);
        buf_init(&mask);
        char *error = odp_key_scan(cases[i][0], &key.b, &mask.b);
        assert_non_null(error);
        if (!strstr(error, cases[i][1])) {
            fail_msg("%s: %s", cases[i][0], error);
        }
        free(error);
    }
}

static void no_prefix_of_text_crashes_the_scanner(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        for (size_t n = 0; n <= strlen(texts[i]); n++) {
            char *prefix = strndup(texts[i], n);
            struct buf key, mask;

            buf_init(&key);
            buf_init(&mask);
            free(odp_key_scan(prefix, &key.b, &mask.b));
            free(prefix);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_scanned_and_printed_alike),
        cmocka_unit_test(flows_survive_being_written_and_read),
        cmocka_unit_test(exact_masks_cover_the_key),
        cmocka_unit_test(ports_are_printed_by_name),
        cmocka_unit_test(verbose_shows_what_is_wildcarded),
        cmocka_unit_test(unknown_attributes_are_counted_and_shown),
        cmocka_unit_test(no_prefix_is_read_past_its_end),
        cmocka_unit_test(wrong_lengths_are_errors),
        cmocka_unit_test(fixed_lengths_are_checked),
        cmocka_unit_test(tags_are_read_to_two_levels_and_no_further),
        cmocka_unit_test(nonsense_is_an_error),
        cmocka_unit_test(a_tag_cut_off_is_the_ethernet_type),
        cmocka_unit_test(masks_are_completed_as_the_kernel_wants),
        cmocka_unit_test(zero_fields_are_put_where_the_mask_looks),
        cmocka_unit_test(no_port_is_a_key_without_and_a_mask_with),
        cmocka_unit_test(untagged_is_part_of_every_mask),
        cmocka_unit_test(ufid_depends_on_masked_bits_only),
        cmocka_unit_test(ufid_covers_tunnel_options),
        cmocka_unit_test(the_pipelines_fields_reach_no_datapath),
        cmocka_unit_test(fragment_bits_become_the_kernels_numbers),
        cmocka_unit_test(ufid_text_goes_both_ways),
        cmocka_unit_test(errors_name_field_and_value),
        cmocka_unit_test(no_prefix_of_text_crashes_the_scanner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
