/* Flows under masks. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/pkt/flow.h"

static void only_masked_bits_make_a_difference(void **state)
{
    struct flow a = { .in_port = { 1 }, .tp_dst = htons(80) }, b = a, mask = { 0 };

    b.tp_dst = htons(81);
    assert_true(flow_equal_masked(&a, &b, &mask));
    mask.tp_dst = htons(0xfffe);
    assert_true(flow_equal_masked(&a, &b, &mask));
    mask.tp_dst = htons(1);
    assert_false(flow_equal_masked(&a, &b, &mask));
}

static void every_byte_counts(void **state)
{
    struct flow a, b, mask;

    memset(&a, 0, sizeof a);
    memset(&mask, 0xff, sizeof mask);
    for (size_t i = 0; i < sizeof a; i++) {
        b = a;
        ((uint8_t *) &b)[i] = 0x10;
        assert_false(flow_equal_masked(&a, &b, &mask));
        assert_true(flow_mask_is_subset(&a, &b));
        assert_false(flow_mask_is_subset(&b, &a));
        flow_apply_mask(&b, &mask);
        assert_int_equal(((uint8_t *) &b)[i], 0x10);
        flow_apply_mask(&b, &a);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void a_mask_is_a_subset_of_itself(void **state)
{
    struct flow mask = { .ip_dst = htonl(0xffffff00) };

    assert_true(flow_mask_is_subset(&mask, &mask));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_masked_bits_make_a_difference),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(a_mask_is_a_subset_of_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
