/* lib/dpif/dpif-upcall.c: what is built is read back; what is malformed is refused. */
#include <config.h>

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/dpif/dpif-upcall.h"
#include "lib/dpif/dpif.h"
#include "lib/nl/attrbuf.h"

#define FAMILY 33
#define DP     7

struct sample {
    uint32_t key_mem[32], misc_mem[64], msg[512];
    struct attrbuf key, misc;
    struct dpif_upcall uc;
    int len;
};

/* Builds an upcall with everything in it. */
static void make(struct sample *s, enum dpif_upcall_type type, size_t packet_len)
{
    static uint8_t packet[1500];
    memset(s, 0, sizeof *s);
    memset(packet, 0x5a, sizeof packet);
    attrbuf_init(&s->key, s->key_mem, sizeof s->key_mem);
    attrbuf_put_u32(&s->key, OVS_KEY_ATTR_IN_PORT, 5);
    attrbuf_init(&s->misc, s->misc_mem, sizeof s->misc_mem);
    attrbuf_put(&s->misc, OVS_PACKET_ATTR_USERDATA, "cookie", 6);
    const struct nlattr *userdata = attrbuf_data(&s->misc);
    const struct nlattr *egress = (const void *) ((const char *) userdata + attrbuf_len(&s->misc));
    struct nlattr *nest = attrbuf_nest_begin(&s->misc, OVS_PACKET_ATTR_EGRESS_TUN_KEY);
    attrbuf_put_u64(&s->misc, OVS_TUNNEL_KEY_ATTR_ID, 1);
    attrbuf_nest_end(&s->misc, nest);
    s->uc = (struct dpif_upcall){
        .type = type,
        .packet = packet,
        .packet_len = packet_len,
        .key = attrbuf_data(&s->key),
        .key_len = attrbuf_len(&s->key),
        .userdata = userdata,
        .egress_tun_key = egress,
        .hash = UINT64_C(0x123456789abcdef0),
        .has_hash = true,
        .mru = 1450,
    };
    s->len = dpif_upcall_msg_build(FAMILY, DP, &s->uc, s->msg, sizeof s->msg);
    assert_true(s->len > 0);
}

static void test_what_is_built_is_read_back(void **state)
{
    for (size_t packet_len = 0; packet_len < 70; packet_len++) {
        struct sample s;
        struct dpif_upcall r;
        make(&s, packet_len & 1 ? DPIF_UC_ACTION : DPIF_UC_MISS, packet_len);
        memset(&r, 0xee, sizeof r);
        assert_int_equal(dpif_upcall_msg_parse(FAMILY, DP, s.msg, s.len, &r), 0);
        assert_int_equal(r.type, s.uc.type);
        assert_int_equal(r.packet_len, packet_len);
        assert_memory_equal(r.packet, s.uc.packet, packet_len);
        assert_int_equal(r.key_len, s.uc.key_len);
        assert_memory_equal(r.key, s.uc.key, r.key_len);
        assert_int_equal(mnl_attr_get_payload_len(r.userdata), 6);
        assert_memory_equal(mnl_attr_get_payload(r.userdata), "cookie", 6);
        assert_int_equal(mnl_attr_get_payload_len(r.egress_tun_key), 12);
        assert_true(r.has_hash && r.hash == s.uc.hash);
        assert_int_equal(r.mru, 1450);
        assert_in_range(s.len, 0, packet_len + s.uc.key_len + 6 + 12 + DPIF_UPCALL_OVERHEAD);
    }
}

static void test_optional_attributes_may_be_absent(void **state)
{
    struct sample s;
    struct dpif_upcall r;
    make(&s, DPIF_UC_MISS, 60);
    s.uc.userdata = s.uc.egress_tun_key = NULL;
    s.uc.has_hash = false;
    s.uc.mru = 0;
    s.len = dpif_upcall_msg_build(FAMILY, DP, &s.uc, s.msg, sizeof s.msg);
    assert_int_equal(dpif_upcall_msg_parse(FAMILY, DP, s.msg, s.len, &r), 0);
    assert_null(r.userdata);
    assert_null(r.egress_tun_key);
    assert_false(r.has_hash);
    assert_int_equal(r.mru, 0);
}

static void test_another_datapath_or_family_is_refused(void **state)
{
    struct sample s;
    struct dpif_upcall r;
    make(&s, DPIF_UC_MISS, 60);
    assert_int_equal(dpif_upcall_msg_parse(FAMILY, DP + 1, s.msg, s.len, &r), -ESTALE);
    assert_int_equal(dpif_upcall_msg_parse(FAMILY + 1, DP, s.msg, s.len, &r), -EINVAL);
    ((struct genlmsghdr *) mnl_nlmsg_get_payload((struct nlmsghdr *) s.msg))->cmd = OVS_PACKET_CMD_EXECUTE;
    assert_int_equal(dpif_upcall_msg_parse(FAMILY, DP, s.msg, s.len, &r), -EINVAL);
}

static void test_every_truncation_is_refused_and_not_read_past(void **state)
{
    struct sample s;
    struct dpif_upcall r;
    make(&s, DPIF_UC_ACTION, 61);
    for (int len = 0; len < s.len; len++) {
        /* In memory of just that length, so that a sanitizer sees a read behind it. */
        void *copy = malloc(len ? len : 1);
        memcpy(copy, s.msg, len);
        assert_int_equal(dpif_upcall_msg_parse(FAMILY, DP, copy, len, &r), -EINVAL);
        if (len >= (int) sizeof(struct nlmsghdr)) {
            ((struct nlmsghdr *) copy)->nlmsg_len = len; /* Consistent, but cut. */
            int error = dpif_upcall_msg_parse(FAMILY, DP, copy, len, &r);
            assert_int_equal(error, -EINVAL);
        }
        free(copy);
    }
}

static void test_any_flipped_byte_is_survived(void **state)
{
    struct sample s;
    struct dpif_upcall r;
    make(&s, DPIF_UC_ACTION, 20);
    for (int i = 0; i < s.len; i++) {
        for (int v = 0; v < 256; v += 5) {
            uint8_t *copy = malloc(s.len);
            memcpy(copy, s.msg, s.len);
            copy[i] = v;
            if (!dpif_upcall_msg_parse(FAMILY, DP, copy, s.len, &r)) {
                const uint8_t *end = copy + s.len;
                assert_true((const uint8_t *) r.packet + r.packet_len <= end);
                assert_true((const uint8_t *) r.key + r.key_len <= end);
            }
            free(copy);
        }
    }
}

static void test_build_refuses_what_does_not_fit(void **state)
{
    struct sample s;
    make(&s, DPIF_UC_ACTION, 61);
    for (int size = 0; size < s.len; size++) {
        assert_int_equal(dpif_upcall_msg_build(FAMILY, DP, &s.uc, s.msg, size), -EMSGSIZE);
    }
    uint8_t *huge = calloc(1, 70000);
    uint32_t *out = malloc(80000);
    s.uc.packet = huge;
    s.uc.packet_len = 65531;
    assert_true(dpif_upcall_msg_build(FAMILY, DP, &s.uc, out, 80000) > 65531);
    s.uc.packet_len = 65532;
    assert_int_equal(dpif_upcall_msg_build(FAMILY, DP, &s.uc, out, 80000), -EMSGSIZE);
    free(huge);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_built_is_read_back),
        cmocka_unit_test(test_optional_attributes_may_be_absent),
        cmocka_unit_test(test_another_datapath_or_family_is_refused),
        cmocka_unit_test(test_every_truncation_is_refused_and_not_read_past),
        cmocka_unit_test(test_any_flipped_byte_is_survived),
        cmocka_unit_test(test_build_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("dpif-upcall", tests, NULL, NULL);
}
