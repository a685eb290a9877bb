/* lib/nl/attrbuf.c */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/nl/attrbuf.h"

static void test_attributes_are_laid_out_as_the_kernel_reads_them(void **state)
{
    uint32_t mem[64];
    struct attrbuf b;
    memset(mem, 0xee, sizeof mem);
    attrbuf_init(&b, mem, sizeof mem);
    attrbuf_put_u8(&b, 1, 0x11);
    attrbuf_put_u16(&b, 2, 0x2222);
    attrbuf_put_u32(&b, 3, 0x33333333);
    attrbuf_put_u64(&b, 4, UINT64_C(0x4444444444444444));
    attrbuf_put_flag(&b, 5);
    static const uint8_t expect[] = {
        5,  0, 1, 0, 0x11, 0,    0,    0,                            /* u8, three bytes of padding: zero. */
        6,  0, 2, 0, 0x22, 0x22, 0,    0,                            /* u16 */
        8,  0, 3, 0, 0x33, 0x33, 0x33, 0x33,                         /* u32 */
        12, 0, 4, 0, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, /* u64 */
        4,  0, 5, 0,                                                 /* flag */
    };
    assert_false(b.overflow);
    assert_int_equal(attrbuf_len(&b), sizeof expect);
    assert_memory_equal(attrbuf_data(&b), expect, sizeof expect);
    attrbuf_clear(&b);
    assert_int_equal(attrbuf_len(&b), 0);
}

static void test_nests_hold_what_was_written_inside(void **state)
{
    uint32_t mem[64];
    struct attrbuf b;
    attrbuf_init(&b, mem, sizeof mem);
    struct nlattr *outer = attrbuf_nest_begin(&b, 7);
    struct nlattr *inner = attrbuf_nest_begin(&b, 8);
    attrbuf_put_u8(&b, 1, 1);
    attrbuf_nest_end(&b, inner);
    attrbuf_nest_end(&b, outer);
    attrbuf_put_flag(&b, 9);
    assert_int_equal(outer->nla_len, 16);
    assert_int_equal(outer->nla_type, 7); /* Without NLA_F_NESTED: as the kernel reports it. */
    assert_int_equal(inner->nla_len, 12);
    assert_int_equal(attrbuf_len(&b), 20);
}

static void test_overflow_changes_nothing_and_is_sticky(void **state)
{
    uint32_t mem[(NLMSG_HDRLEN + 16) / 4 + 1];
    struct attrbuf b;
    mem[ARRAY_SIZE(mem) - 1] = 0xdeadbeef; /* Behind the buffer. */
    attrbuf_init(&b, mem, sizeof mem - 4);
    attrbuf_put_u32(&b, 1, 1);
    attrbuf_put_u64(&b, 2, 2); /* 12 bytes; 8 are left. */
    assert_true(b.overflow);
    assert_int_equal(attrbuf_len(&b), 8);
    attrbuf_put_u32(&b, 3, 3); /* Would fit, but into a gap. */
    assert_int_equal(attrbuf_len(&b), 8);
    assert_null(attrbuf_nest_begin(&b, 4));
    attrbuf_nest_end(&b, NULL);
    assert_int_equal(mem[ARRAY_SIZE(mem) - 1], 0xdeadbeef);
    attrbuf_clear(&b);
    assert_false(b.overflow);
    attrbuf_put_u32(&b, 1, 1);
    attrbuf_put_u32(&b, 2, 2); /* Exactly full. */
    assert_false(b.overflow);
    attrbuf_put_flag(&b, 3);
    assert_true(b.overflow);
}

static void test_padding_does_not_run_over_the_end(void **state)
{
    uint32_t mem[(NLMSG_HDRLEN + 8) / 4];
    struct attrbuf b;
    attrbuf_init(&b, mem, sizeof mem - 1); /* A size that is no multiple of 4. */
    attrbuf_put_u8(&b, 1, 1);              /* 5 bytes, 8 with padding; 7 are there. */
    assert_true(b.overflow);
    assert_int_equal(attrbuf_len(&b), 0);
}

static void test_a_nest_that_overflowed_goes_away(void **state)
{
    uint32_t mem[(NLMSG_HDRLEN + 16) / 4];
    struct attrbuf b;
    attrbuf_init(&b, mem, sizeof mem);
    attrbuf_put_flag(&b, 1);
    struct nlattr *nest = attrbuf_nest_begin(&b, 2);
    attrbuf_put_u32(&b, 3, 3);
    attrbuf_put_u32(&b, 3, 3);
    attrbuf_nest_end(&b, nest);
    assert_true(b.overflow);
    assert_int_equal(attrbuf_len(&b), 4);
}

static void test_what_is_too_long_for_an_attribute_overflows(void **state)
{
    size_t size = 300 * 1024;
    char *mem = calloc(1, size), *data = calloc(1, 70000);
    struct attrbuf b;
    attrbuf_init(&b, mem, size);
    attrbuf_put(&b, 1, data, UINT16_MAX - NLA_HDRLEN);
    assert_false(b.overflow);
    attrbuf_put(&b, 1, data, UINT16_MAX - NLA_HDRLEN + 1);
    assert_true(b.overflow);
    attrbuf_clear(&b);
    attrbuf_put(&b, 1, data, SIZE_MAX - 1);
    assert_true(b.overflow);

    attrbuf_clear(&b);
    struct nlattr *nest = attrbuf_nest_begin(&b, 2);
    attrbuf_put(&b, 1, data, 40000);
    attrbuf_put(&b, 1, data, 40000);
    attrbuf_nest_end(&b, nest);
    assert_true(b.overflow);
    assert_int_equal(attrbuf_len(&b), 0);
    free(data);
    free(mem);
}

static void test_append_copies_attributes(void **state)
{
    uint32_t mem[2][32];
    struct attrbuf a, b;
    attrbuf_init(&a, mem[0], sizeof mem[0]);
    attrbuf_init(&b, mem[1], sizeof mem[1]);
    attrbuf_put_u16(&a, 1, 0xabcd);
    attrbuf_append(&b, attrbuf_data(&a), attrbuf_len(&a));
    attrbuf_append(&b, NULL, 0);
    attrbuf_append(&b, attrbuf_data(&a), attrbuf_len(&a));
    assert_int_equal(attrbuf_len(&b), 16);
    assert_memory_equal(attrbuf_data(&b), attrbuf_data(&a), 8);
    attrbuf_append(&b, mem[0], SIZE_MAX);
    assert_true(b.overflow);
    assert_int_equal(attrbuf_len(&b), 16);
}

static void test_what_is_written_can_be_wrapped_and_unwrapped(void **state)
{
    uint32_t mem[(NLMSG_HDRLEN + 20) / 4];
    struct attrbuf b;
    attrbuf_init(&b, mem, sizeof mem);
    attrbuf_put_flag(&b, 1);
    attrbuf_put_u32(&b, 2, 0x22222222);
    attrbuf_wrap(&b, 4, 7);
    static const uint8_t wrapped[] = { 4, 0, 1, 0, 12, 0, 7, 0, 8, 0, 2, 0, 0x22, 0x22, 0x22, 0x22 };
    assert_int_equal(attrbuf_len(&b), sizeof wrapped);
    assert_memory_equal(attrbuf_data(&b), wrapped, sizeof wrapped);
    attrbuf_wrap(&b, 0, 8);
    assert_int_equal(attrbuf_len(&b), sizeof wrapped + 4);
    assert_false(b.overflow);
    attrbuf_unwrap(&b, 0);
    assert_memory_equal(attrbuf_data(&b), wrapped, sizeof wrapped);
    attrbuf_unwrap(&b, 4);
    assert_int_equal(attrbuf_len(&b), 12);
    assert_memory_equal((const char *) attrbuf_data(&b) + 4, wrapped + 8, 8);
    attrbuf_put_u32(&b, 3, 0);
    attrbuf_wrap(&b, 0, 7);
    assert_true(b.overflow);
    assert_int_equal(attrbuf_len(&b), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_are_laid_out_as_the_kernel_reads_them),
        cmocka_unit_test(test_nests_hold_what_was_written_inside),
        cmocka_unit_test(test_overflow_changes_nothing_and_is_sticky),
        cmocka_unit_test(test_padding_does_not_run_over_the_end),
        cmocka_unit_test(test_a_nest_that_overflowed_goes_away),
        cmocka_unit_test(test_what_is_too_long_for_an_attribute_overflows),
        cmocka_unit_test(test_append_copies_attributes),
        cmocka_unit_test(test_what_is_written_can_be_wrapped_and_unwrapped),
    };
    return cmocka_run_group_tests_name("attrbuf", tests, NULL, NULL);
}
