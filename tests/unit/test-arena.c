/* The bump allocator: lib/base/arena.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <stdalign.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/compiler.h"

static void test_allocations_are_aligned_and_do_not_overlap(void **state)
{
    struct arena a;
    unsigned char *p[100];

    arena_init(&a, 256);
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        p[i] = arena_alloc(&a, i);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t) p[i] % alignof(max_align_t), 0);
        memset(p[i], (int) i, i);
    }
    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(p[i][j], i);
        }
    }
    arena_uninit(&a);
}

static void test_steady_state_takes_nothing_from_the_heap(void **state)
{
    struct arena a;
    size_t footprint = 0;

    arena_init(&a, 1000);
    assert_int_equal(arena_footprint(&a), 0);
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 40; i++) {
            arena_alloc(&a, i * 7);
        }
        arena_alloc(&a, 5000);
        arena_alloc(&a, 10);
        if (round == 0) {
            footprint = arena_footprint(&a);
            assert_true(footprint > 5000);
        }
        assert_int_equal(arena_footprint(&a), footprint);
        arena_reset(&a);
    }
    arena_uninit(&a);
    assert_int_equal(arena_footprint(&a), 0);
}

static void test_zalloc_clears_memory_used_before(void **state)
{
    struct arena a;

    arena_init(&a, 128);
    memset(arena_alloc(&a, 100), 0xff, 100);
    arena_reset(&a);
    unsigned char *p = arena_zalloc(&a, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(p[i], 0);
    }
    arena_uninit(&a);
}

static void test_larger_than_a_chunk_is_served_and_kept(void **state)
{
    struct arena a;

    arena_init(&a, 64);
    arena_alloc(&a, 8);
    char *big = arena_alloc(&a, 100000);
    memset(big, 1, 100000);
    size_t footprint = arena_footprint(&a);
    arena_reset(&a);
    /* The first chunk is too small for it, the kept one is not. */
    assert_ptr_equal(arena_alloc(&a, 90000), big);
    assert_int_equal(arena_footprint(&a), footprint);
    arena_uninit(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_are_aligned_and_do_not_overlap),
        cmocka_unit_test(test_steady_state_takes_nothing_from_the_heap),
        cmocka_unit_test(test_zalloc_clears_memory_used_before),
        cmocka_unit_test(test_larger_than_a_chunk_is_served_and_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
