/* Fields: what the list says holds together, and values find their place in flows and come back. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-field.h"

static uint64_t seed;

static uint8_t random_byte(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return seed >> 56;
}

static void random_value(const struct ofp_field *f, union ofp_value *v)
{
    union ofp_value ones;

    ofp_field_ones(f, &ones);
    for (size_t i = 0; i < f->n_bytes; i++) {
        v->b[i] = random_byte() & ones.b[i];
    }
    if (f->format == OFP_FORMAT_PORT_OXM || f->id == OFP_FIELD_ARP_OP) {
        memset(v->b, 0, f->n_bytes - 1);
    }
    if (f->id == OFP_FIELD_PACKET_TYPE) {
        v->b[0] = 0;
        v->b[1] = 1;
    }
    if (f->id == OFP_FIELD_VLAN_VID) {
        v->b[0] |= 0x10;
    }
}

static int setup(void **state)
{
    const char *s = getenv("SLUICE_SEED");

    seed = s ? strtoull(s, NULL, 0) : (uint64_t) time(NULL);
    print_message("SLUICE_SEED=%llu\n", (unsigned long long) seed);
    return 0;
}

static void every_field_is_found_by_what_names_it(void **state)
{
    for (int i = 0; i < OFP_N_FIELDS; i++) {
        const struct ofp_field *f = ofp_field(i);
        const struct ofp_header *headers[] = { &f->nxm, &f->oxm, &f->et };

        assert_int_equal(f->id, i);
        assert_ptr_equal(ofp_field_by_name(f->name, strlen(f->name)), f);
        assert_true(!f->alias || ofp_field_by_name(f->alias, strlen(f->alias)) == f);
        assert_true(f->n_bits <= 8 * f->n_bytes && f->n_bytes <= OFP_FIELD_MAX_BYTES);
        for (size_t k = 0; k < ARRAY_SIZE(headers); k++) {
            const struct ofp_header *h = headers[k];
            if (h->name) {
                assert_ptr_equal(ofp_field_by_name(h->name, strlen(h->name)), f);
                assert_ptr_equal(ofp_field_by_header(h->class, h->number, h->experimenter), f);
            }
        }
    }
    assert_null(ofp_field_by_name("reg", 3));
    assert_null(ofp_field_by_name("REG0", 4));
    assert_null(ofp_field_by_name("reg16", 5));
    assert_ptr_equal(ofp_field_by_name("reg10", 4), ofp_field(OFP_FIELD_REG1));
    assert_null(ofp_field_by_header(0, 127, 0));
    assert_null(ofp_field_by_header(0x1234, 0, 0));
    assert_null(ofp_field_by_header(OFP_CLASS_EXPERIMENTER, 42, 0));
    assert_null(ofp_field_by_header(OFP_CLASS_EXPERIMENTER, 42, OFP_EXPERIMENTER_NSH));
}

static void versions_have_their_own_headers(void **state)
{
    const struct ofp_field *flags = ofp_field(OFP_FIELD_TCP_FLAGS), *src = ofp_field(OFP_FIELD_ETH_SRC);

    assert_string_equal(ofp_field_header(flags, OFP10_VERSION)->name, "NXM_NX_TCP_FLAGS");
    assert_string_equal(ofp_field_header(flags, OFP13_VERSION)->name, "ONFOXM_ET_TCP_FLAGS");
    assert_string_equal(ofp_field_header(flags, OFP15_VERSION)->name, "OXM_OF_TCP_FLAGS");
    assert_string_equal(ofp_field_header(src, OFP10_VERSION)->name, "NXM_OF_ETH_SRC");
    assert_string_equal(ofp_field_header(src, OFP14_VERSION)->name, "OXM_OF_ETH_SRC");
    assert_string_equal(ofp_field_header(ofp_field(OFP_FIELD_METADATA), OFP10_VERSION)->name, "OXM_OF_METADATA");
    assert_string_equal(ofp_field_header(ofp_field(OFP_FIELD_REG3), OFP15_VERSION)->name, "NXM_NX_REG3");
    assert_null(ofp_field_header(ofp_field(OFP_FIELD_TUN_TTL), OFP15_VERSION));
}

static void a_header_is_checked_before_what_follows(void **state)
{
    static const uint8_t reg0[] = { 0, 1, 0, 4, 1, 2, 3, 4 },
                         flags[] = { 0xff, 0xff, 0x54, 6, 0x4f, 0x4e, 0x46, 0, 0, 2 };
    static const uint8_t shorter[] = { 0xff, 0xff, 0x02, 3, 0x4f, 0x4e, 0x46, 0, 0, 2 },
                         unknown[] = { 1, 0xff, 0xff, 9 };
    const struct ofp_field *f;
    size_t n;
    bool has_mask;

    struct bytes b = { reg0, sizeof reg0 };
    assert_int_equal(ofp_header_pull(&b, &f, &has_mask, &n), OFPERR_NONE);
    assert_ptr_equal(f, ofp_field(OFP_FIELD_REG0));
    assert_true(!has_mask && n == 4 && b.n == 4);
    b = (struct bytes){ flags, sizeof flags };
    assert_int_equal(ofp_header_pull(&b, &f, &has_mask, &n), OFPERR_NONE);
    assert_ptr_equal(f, ofp_field(OFP_FIELD_TCP_FLAGS));
    assert_true(!has_mask && n == 2 && b.n == 2);
    b = (struct bytes){ shorter, sizeof shorter };
    assert_int_equal(ofp_header_pull(&b, &f, &has_mask, &n), OFPERR_OFPBMC_BAD_LEN);
    assert_int_equal(b.n, sizeof shorter);
    b = (struct bytes){ unknown, sizeof unknown };
    assert_int_equal(ofp_header_pull(&b, &f, &has_mask, &n), OFPERR_NONE);
    assert_null(f);
    assert_true(has_mask && n == 9);

    struct buf out = BUF_INITIALIZER;
    ofp_header_put(&out, ofp_field(OFP_FIELD_TCP_FLAGS), OFP13_VERSION, false);
    assert_int_equal(out.len, 8);
    assert_memory_equal(out.data, flags, 8);
    buf_uninit(&out);
}

/* What is set is got, and of the flow nothing else changes but what belongs to a tag. */
static void values_come_back_from_flows(void **state)
{
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < OFP_N_FIELDS; i++) {
            const struct ofp_field *f = ofp_field(i);
            struct flow flow, before, mask;
            union ofp_value v, back;

            for (size_t k = 0; k < sizeof flow; k++) {
                ((uint8_t *) &flow)[k] = random_byte();
            }
            before = flow;
            random_value(f, &v);
            assert_true(ofp_field_value_ok(f, &v));
            ofp_field_set(f, &v, &flow);
            ofp_field_get(f, &flow, &back);
            assert_memory_equal(v.b, back.b, f->n_bytes);

            memset(&mask, 0, sizeof mask);
            ofp_field_unwildcard(f, &flow, &mask);
            FLOW_MASK_FIELD(&mask, vlan[0].tpid);
            for (size_t k = 0; k < sizeof mask; k++) {
                ((uint8_t *) &mask)[k] = ~((uint8_t *) &mask)[k];
            }
            assert_true(flow_equal_masked(&flow, &before, &mask));
        }
    }
}

static void matches_look_at_the_bits_that_they_are_told(void **state)
{
    for (int i = 0; i < OFP_N_FIELDS; i++) {
        const struct ofp_field *f = ofp_field(i);
        union ofp_value v, mask, got, got_mask;
        struct match m;

        memset(&m, 0, sizeof m);
        random_value(f, &v);
        ofp_field_ones(f, &mask);
        for (size_t k = 0; f->maskable && k < f->n_bytes; k++) {
            mask.b[k] &= random_byte();
        }
        ofp_field_set_match(f, &v, f->maskable ? &mask : NULL, &m);
        ofp_field_get_mask(f, &m, &got_mask);
        ofp_field_get(f, &m.flow, &got);
        for (size_t k = 0; k < f->n_bytes; k++) {
            assert_int_equal(got.b[k] & got_mask.b[k], got.b[k]);
            assert_int_equal(got.b[k] & mask.b[k], v.b[k] & mask.b[k]);
            assert_true(f->place.kind == OFP_PLACE_PORT32 || f->id == OFP_FIELD_PACKET_TYPE ||
                        got_mask.b[k] == mask.b[k]);
        }
    }
}

static void registers_overlap_as_numbers(void **state)
{
    struct flow flow = { 0 };
    union ofp_value v;

    ofp_value_put_u64(&v, 8, UINT64_C(0x1122334455667788));
    ofp_field_set(ofp_field(OFP_FIELD_XREG1), &v, &flow);
    ofp_field_get(ofp_field(OFP_FIELD_REG2), &flow, &v);
    assert_int_equal(ofp_value_get_u64(&v, 4), 0x11223344);
    ofp_field_get(ofp_field(OFP_FIELD_REG3), &flow, &v);
    assert_int_equal(ofp_value_get_u64(&v, 4), 0x55667788);
    ofp_field_get(ofp_field(OFP_FIELD_XXREG0), &flow, &v);
    assert_true(ofp_value_get_u64(&v, 16) == UINT64_C(0x1122334455667788));
}

static void a_tag_comes_with_its_fields(void **state)
{
    struct flow flow = { 0 };
    union ofp_value v = { { 0, 5 } };

    ofp_field_set(ofp_field(OFP_FIELD_VLAN_TCI), &v, &flow);
    assert_false(flow_vlan_present(&flow.vlan[0]));
    assert_int_equal(flow.vlan[0].tpid, 0);
    v.b[0] = 3;
    ofp_field_set(ofp_field(OFP_FIELD_VLAN_PCP), &v, &flow);
    assert_int_equal(flow.vlan[0].tci, htons(0x7005));
    assert_int_equal(flow.vlan[0].tpid, htons(ETH_TYPE_VLAN));
    flow.vlan[0].tpid = htons(ETH_TYPE_QINQ);
    v = (union ofp_value){ { 0, 9 } };
    ofp_field_set(ofp_field(OFP_FIELD_VLAN_VID), &v, &flow);
    assert_int_equal(flow.vlan[0].tci, htons(0x7009));
    assert_int_equal(flow.vlan[0].tpid, htons(ETH_TYPE_QINQ));
    v = (union ofp_value){ { 0, 0 } };
    ofp_field_set(ofp_field(OFP_FIELD_VLAN_TCI), &v, &flow);
    assert_int_equal(flow.vlan[0].tpid, 0);
}

/* What a prerequisite looks at is in the mask: a packet that differs there is another flow's. */
static void prerequisites_say_what_they_looked_at(void **state)
{
    struct flow flow = { .eth_type = htons(ETH_TYPE_IPV6), .ip_proto = 58, .tp_src = htons(135) }, mask = { 0 };

    assert_true(ofp_field_prereqs_ok(ofp_field(OFP_FIELD_ND_SLL), &flow, &mask));
    assert_int_equal(mask.eth_type, 0xffff);
    assert_int_equal(mask.ip_proto, 0xff);
    assert_int_equal(mask.ip_frag, FLOW_FRAG_LATER);
    assert_int_equal(mask.tp_src, 0xffff);
    assert_int_equal(mask.tp_dst, 0xffff);
    assert_false(ofp_field_prereqs_ok(ofp_field(OFP_FIELD_ND_TLL), &flow, NULL));
    assert_false(ofp_field_prereqs_ok(ofp_field(OFP_FIELD_TCP_SRC), &flow, NULL));
    flow.ip_frag = FLOW_FRAG_ANY | FLOW_FRAG_LATER;
    assert_false(ofp_field_prereqs_ok(ofp_field(OFP_FIELD_ICMPV6_TYPE), &flow, NULL));

    memset(&mask, 0, sizeof mask);
    assert_false(ofp_field_prereqs_ok(ofp_field(OFP_FIELD_VLAN_PCP), &flow, &mask));
    assert_int_equal(mask.vlan[0].tci, htons(VLAN_CFI));
    flow.is_l3 = 1;
    assert_false(ofp_field_prereqs_ok(ofp_field(OFP_FIELD_ETH_SRC), &flow, &mask));
    assert_int_equal(mask.is_l3, 0xff);
}

static void subfields_are_scanned_and_shown_as_the_tool_does(void **state)
{
    static const struct {
        const char *text, *shown; /* Begins with '!': the error. */
    } cases[] = {
        { "NXM_NX_REG0[0..3]", "NXM_NX_REG0[0..3]" },
        { "reg0[]", "NXM_NX_REG0[]" },
        { "reg0[0..31]", "NXM_NX_REG0[]" },
        { "eth_src", "NXM_OF_ETH_SRC[]" },
        { "OXM_OF_ETH_DST[]", "NXM_OF_ETH_DST[]" },
        { "OXM_OF_PKT_REG1[0..31]", "OXM_OF_PKT_REG1[0..31]" },
        { "vlan_tci[12]", "NXM_OF_VLAN_TCI[12]" },
        { "ct_label[127]", "NXM_NX_CT_LABEL[127]" },
        { "tcp_flags[]", "NXM_NX_TCP_FLAGS[]" },
        { "ip_dscp", "OXM_OF_IP_DSCP[]" },
        { "vlan_vid[12]", "!vlan_vid[12]: starting bit 12 is not valid because field is only 12 bits wide" },
        { "reg0[5..3]", "!reg0[5..3]: starting bit 5 is after ending bit 3" },
        { "reg0[0..32]", "!reg0[0..32]: ending bit 32 is not valid because field is only 32 bits wide" },
        { "foo[]", "!foo[]: unknown field `foo'" },
        { "reg0[1", "!reg0[1: syntax error expecting [] or [<bit>] or [<start>..<end>]" },
        { "reg0[1..]", "!reg0[1..]: syntax error expecting [] or [<bit>] or [<start>..<end>]" },
        { "reg0[1]x", "!reg0[1]x: syntax error expecting [] or [<bit>] or [<start>..<end>]" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofp_subfield sf;
        char *error = ofp_subfield_scan(cases[i].text, &sf);
        if (*cases[i].shown == '!') {
            assert_non_null(error);
            assert_string_equal(error, cases[i].shown + 1);
            free(error);
        } else {
            struct text t;
            assert_null(error);
            assert_int_equal(ofp_subfield_check(&sf), OFPERR_NONE);
            ofp_subfield_print(text_open(&t), &sf);
            char *s = text_close(&t);
            assert_string_equal(s, cases[i].shown);
            free(s);
        }
    }
    struct ofp_subfield wide = { ofp_field(OFP_FIELD_REG0), 16, 17 }, empty = { ofp_field(OFP_FIELD_REG0), 16, 0 };
    assert_int_equal(ofp_subfield_check(&wide), OFPERR_OFPBAC_BAD_ARGUMENT);
    assert_int_equal(ofp_subfield_check(&empty), OFPERR_OFPBAC_BAD_ARGUMENT);
}

/* The bit of SF, and of a flow bit by bit: the slow and obvious way. */
static bool bit_of(const struct ofp_field *f, const struct flow *flow, unsigned int n)
{
    union ofp_value v;

    ofp_field_get(f, flow, &v);
    return v.b[f->n_bytes - 1 - n / 8] >> n % 8 & 1;
}

static void subfields_are_copied_bit_by_bit(void **state)
{
    for (int round = 0; round < 3000; round++) {
        const struct ofp_field *from = ofp_field(OFP_FIELD_REG0 + random_byte() % 28);
        const struct ofp_field *to = ofp_field(OFP_FIELD_REG0 + random_byte() % 28);
        struct ofp_subfield src = { from, random_byte() % from->n_bits, 0 },
                            dst = { to, random_byte() % to->n_bits, 0 };
        struct flow in, out, before;

        src.n_bits = 1 + random_byte() % (from->n_bits - src.ofs);
        dst.n_bits = 1 + random_byte() % (to->n_bits - dst.ofs);
        for (size_t k = 0; k < sizeof in; k++) {
            ((uint8_t *) &in)[k] = random_byte();
            ((uint8_t *) &out)[k] = random_byte();
        }
        before = out;
        ofp_subfield_copy(&src, &in, &dst, &out);
        for (unsigned int n = 0; n < to->n_bits; n++) {
            bool inside = n >= dst.ofs && n < dst.ofs + dst.n_bits;
            unsigned int k = n - dst.ofs;
            bool expected = !inside ? bit_of(to, &before, n) : k < src.n_bits ? bit_of(from, &in, src.ofs + k) : false;
            assert_int_equal(bit_of(to, &out, n), expected);
        }

        uint64_t x = ofp_subfield_get_u64(&src, &in);
        struct flow set = in;
        ofp_subfield_set_u64(&src, 0, &set);
        assert_true(ofp_subfield_get_u64(&src, &set) == 0);
        if (src.n_bits <= 64) {
            ofp_subfield_set_u64(&src, x, &set);
            assert_memory_equal(&set, &in, sizeof in);
        }
        struct flow mask = { 0 };
        ofp_subfield_unwildcard(&src, &mask);
        int n_set = 0;
        for (size_t k = 0; k < sizeof mask; k++) {
            n_set += __builtin_popcount(((uint8_t *) &mask)[k]);
        }
        assert_int_equal(n_set, src.n_bits);
        union ofp_value v;
        size_t n_bytes;
        ofp_subfield_get(&src, &in, &v, &n_bytes);
        assert_int_equal(n_bytes, (src.n_bits + 7) / 8);
        assert_true(n_bytes > 8 || ofp_value_get_u64(&v, n_bytes) == x);
    }
}

static void errors_are_said_in_each_versions_way(void **state)
{
    static const struct {
        enum ofp_error error;
        enum ofp_version version;
        uint32_t vendor;
        uint16_t type, code;
    } cases[] = {
        /* As `ovs-ofctl encode-error-reply` has them. */
        { OFPERR_OFPBMC_BAD_FIELD, OFP10_VERSION, NX_VENDOR_ID, 0, 0x107 },
        { OFPERR_OFPBMC_BAD_FIELD, OFP13_VERSION, 0, 4, 6 },
        { OFPERR_OFPBIC_UNKNOWN_INST, OFP10_VERSION, NX_VENDOR_ID, 1, 0x209 },
        { OFPERR_OFPBIC_UNKNOWN_INST, OFP13_VERSION, 0, 3, 0 },
        { OFPERR_OFPBRC_UNKNOWN, OFP14_VERSION, NX_VENDOR_ID, 10, 0 },
        { OFPERR_OFPBRC_UNKNOWN, OFP15_VERSION, 0, 1, 0x12 },
        { OFPERR_OFPBFC_UNKNOWN, OFP13_VERSION, ONF_VENDOR_ID, 2300, 0 },
        { OFPERR_OFPBFC_UNKNOWN, OFP14_VERSION, 0, 17, 0 },
        { OFPERR_OFPFMFC_OVERLAP, OFP10_VERSION, 0, 3, 1 },
        { OFPERR_OFPFMFC_OVERLAP, OFP15_VERSION, 0, 5, 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint16_t type, code;
        assert_int_equal(ofp_error_type_code(cases[i].error, cases[i].version, &type, &code), cases[i].vendor);
        assert_int_equal(type, cases[i].type);
        assert_int_equal(code, cases[i].code);
    }
    assert_string_equal(ofp_error_name(OFPERR_OFPBMC_BAD_FIELD), "OFPBMC_BAD_FIELD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_found_by_what_names_it),
        cmocka_unit_test(versions_have_their_own_headers),
        cmocka_unit_test(a_header_is_checked_before_what_follows),
        cmocka_unit_test(values_come_back_from_flows),
        cmocka_unit_test(matches_look_at_the_bits_that_they_are_told),
        cmocka_unit_test(registers_overlap_as_numbers),
        cmocka_unit_test(a_tag_comes_with_its_fields),
        cmocka_unit_test(prerequisites_say_what_they_looked_at),
        cmocka_unit_test(subfields_are_scanned_and_shown_as_the_tool_does),
        cmocka_unit_test(subfields_are_copied_bit_by_bit),
        cmocka_unit_test(errors_are_said_in_each_versions_way),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
