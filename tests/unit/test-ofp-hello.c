/* HELLO and the choice of the version: every pair of sets, and elements that are not what they should be. */
#include <config.h>

#include "lib/ofp/ofp-hello.h"
#include "tests/unit/io-kit.h"

#define N_SETS 64 /* Sets of the versions 1 to 6 are 2 * I, for I below. */

static uint8_t top(uint32_t set)
{
    uint8_t v = 0;
    for (int i = 1; i < 32; i++) {
        v = set >> i & 1 ? i : v;
    }
    return v;
}

static void test_a_hello_says_its_versions(void **state)
{
    for (uint32_t i = 1; i < N_SETS; i++) {
        uint8_t buf[OFP_HELLO_MAX];
        size_t len = ofp_hello_encode(2 * i, 0x01020304, buf);
        assert_true(len == 8 || len == 16);
        assert_int_equal(buf[0], top(2 * i));
        assert_int_equal(buf[1], 0);
        assert_int_equal(buf[2] << 8 | buf[3], len);
        assert_memory_equal(buf + 4, "\1\2\3\4", 4);
        assert_int_equal(ofp_hello_versions(buf, len), 2 * i);
    }
}

/* As ovs-ofctl -O sends them. */
static void test_the_bytes_are_those_of_the_field(void **state)
{
    uint8_t buf[OFP_HELLO_MAX];
    assert_int_equal(ofp_hello_encode(1 << 1, 1, buf), 8);
    assert_memory_equal(buf, "\1\0\0\10\0\0\0\1", 8);
    assert_int_equal(ofp_hello_encode(1 << 1 | 1 << 4, 1, buf), 16);
    assert_memory_equal(buf, "\4\0\0\20\0\0\0\1\0\1\0\10\0\0\0\22", 16);
    assert_int_equal(ofp_hello_encode(0x1e, 1, buf), 8);
    assert_memory_equal(buf, "\4\0\0\10\0\0\0\1", 8);
}

static void test_every_pair_agrees_on_the_highest_common_version(void **state)
{
    for (uint32_t ours = 1; ours < N_SETS; ours++) {
        for (uint32_t theirs = 1; theirs < N_SETS; theirs++) {
            assert_int_equal(ofp_hello_choose(2 * ours, 2 * theirs), top(2 * (ours & theirs)));
        }
        /* Peers that send no bitmap. */
        for (uint8_t v = 0; v < 40; v++) {
            uint8_t hello[8] = { v, 0, 0, 8 };
            uint32_t up_to = 0;
            for (int i = 1; i <= v && i < 32; i++) {
                up_to |= 1u << i;
            }
            assert_int_equal(ofp_hello_versions(hello, 8), up_to);
            assert_int_equal(ofp_hello_choose(2 * ours, up_to), top(2 * ours & up_to));
        }
    }
}

static void test_elements_are_read_with_care(void **state)
{
#define VERSIONS(BYTES) ofp_hello_versions((const uint8_t *) "\4\0\0\0\0\0\0\1" BYTES, 8 + sizeof BYTES - 1)
    assert_int_equal(VERSIONS("\0\1\0\10\0\0\0\22"), 0x12);
    assert_int_equal(VERSIONS("\0\1\0\14\0\0\0\22\377\377\377\377"),
                     0x12);                                 /* Further words are versions of the future. */
    assert_int_equal(VERSIONS("\0\1\0\10\0\0\0\23"), 0x12); /* There is no version 0. */
    assert_int_equal(VERSIONS("\0\1\0\10\0\0\0\0"), 0);
    assert_int_equal(VERSIONS("\0\2\0\5x\0\0\0\0\1\0\10\0\0\0\2"), 2); /* An unknown one before it, and its padding. */
    assert_int_equal(VERSIONS("\0\1\0\3\0\0\0\2"), 0x1e);
    assert_int_equal(VERSIONS("\0\1\0\0\0\0\0\2"), 0x1e);
    assert_int_equal(VERSIONS("\0\1\0\11\0\0\0\2"), 0x1e);
    assert_int_equal(VERSIONS("\0\1\377\377\0\0\0\2"), 0x1e);
    assert_int_equal(VERSIONS("\0\1\0\4"), 0x1e);
    assert_int_equal(VERSIONS("\0\1\0"), 0x1e);
    assert_int_equal(VERSIONS("\0\2\0\5x"), 0x1e); /* Without its padding, at the end. */
#undef VERSIONS
}

static void test_any_bytes_are_read_within_their_bounds(void **state)
{
    srand(1);
    for (int i = 0; i < 100000; i++) {
        size_t len = 8 + rand() % 40;
        uint8_t *msg = xmalloc(len); /* Of its own, so that the sanitizer knows the end. */
        for (size_t j = 0; j < len; j++) {
            msg[j] = rand() % 4 ? rand() % 10 : rand();
        }
        assert_int_equal(ofp_hello_versions(msg, len) & 1, 0);
        free(msg);
    }
}

static void test_a_mismatch_is_told_as_the_field_does(void **state)
{
    char *s = ofp_hello_mismatch(1 << 4, 1 << 1);
    assert_string_equal(s, "We support version 0x04, you support version 0x01, no common versions.");
    free(s);
    s = ofp_hello_mismatch(1 << 4 | 1 << 5, 0);
    assert_string_equal(s, "We support versions 0x04, 0x05, you support versions none, no common versions.");
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hello_says_its_versions),
        cmocka_unit_test(test_the_bytes_are_those_of_the_field),
        cmocka_unit_test(test_every_pair_agrees_on_the_highest_common_version),
        cmocka_unit_test(test_elements_are_read_with_care),
        cmocka_unit_test(test_any_bytes_are_read_within_their_bounds),
        cmocka_unit_test(test_a_mismatch_is_told_as_the_field_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
