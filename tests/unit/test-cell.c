/* Cells: none overlaps another, their memory is bounded, and what is given back serves any size again. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "ofproto/cell.h"

#define N_SEEDS 40
#define N_STEPS 4000

struct random {
    uint64_t seed, n;
};
static uint32_t rnd(struct random *r, uint32_t limit) { return hash_u64(r->n++, r->seed) % limit; }

/* As cell.h and cell.c document them. */
static const size_t sizes[] = { 512, 2048, 16 * 1024, 128 * 1024 };
#define SLAB (128 * 1024)
#define MAX_LEN(SIZE) ((SIZE) - sizeof(struct cell))

/* ---- Cells that are filled to the last byte, and looked at again. ---- */

struct live {
    struct cell *cell;
    uint32_t len;
    uint8_t fill;
};

static void live_fill(struct live *l, struct cell *c, uint32_t len, uint8_t fill)
{
    *l = (struct live) { c, len, fill };
    memset(&c->dp, fill, sizeof c->dp);
    memset(c->msg, fill, c->size - sizeof *c);
}

static void live_check(const struct live *l)
{
    const struct cell *c = l->cell;
    assert_int_equal(c->len, l->len);
    assert_int_equal(c->size, cell_size(l->len));
    const uint8_t *bytes = (const uint8_t *) c->msg;
    size_t n = c->size - sizeof *c;
    assert_int_equal(bytes[0], l->fill);
    assert_memory_equal(bytes, bytes + 1, n - 1); /* All the same. */
    assert_memory_equal(&c->dp, bytes, sizeof c->dp);
}

static struct cell_pool *pool_create(size_t size)
{
    struct cell_pool *p = xzalloc(sizeof *p);
    assert_int_equal(cell_pool_init(p, size), 0);
    assert_int_equal(p->size, size);
    assert_int_equal(p->used, 0);
    return p;
}

static void pool_destroy(struct cell_pool *p)
{
    cell_pool_uninit(p);
    free(p);
}

/* Takes cells for LEN until there are no more.  Returns how many; *RET_CELLS gets them, and is to be freed. */
static size_t take_all(struct cell_pool *p, size_t len, struct live **ret_cells)
{
    struct live *cells = xcalloc(p->size / 512 + 1, sizeof *cells);
    size_t n = 0;
    struct cell *c;
    while ((c = cell_alloc(p, len)) != NULL) {
        live_fill(&cells[n], c, len, n);
        n++;
    }
    *ret_cells = cells;
    return n;
}

static void free_all(struct cell_pool *p, struct live *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        live_check(&cells[i]);
        cell_free(p, cells[i].cell);
    }
    free(cells);
}

/* ---- Tests. ---- */

static void a_message_gets_the_smallest_cell_that_holds_it(void **state)
{
    struct cell_pool *p = pool_create(8 * SLAB);

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        size_t smallest = i ? MAX_LEN(sizes[i - 1]) + 1 : 0;
        assert_int_equal(cell_size(smallest), sizes[i]);
        assert_int_equal(cell_size(MAX_LEN(sizes[i])), sizes[i]);
        struct cell *c = cell_alloc(p, MAX_LEN(sizes[i]));
        assert_int_equal(c->size, sizes[i]);
        assert_int_equal(c->len, MAX_LEN(sizes[i]));
        assert_int_equal(p->used, sizes[i]);
        cell_free(p, c);
        assert_int_equal(p->used, 0);
    }
    pool_destroy(p);
}

static void more_than_any_upcall_has_is_refused(void **state)
{
    struct cell_pool *p = pool_create(8 * SLAB);
    static const size_t too_long[] = { MAX_LEN(SLAB) + 1, SLAB, UINT32_MAX };

    for (size_t i = 0; i < ARRAY_SIZE(too_long); i++) {
        assert_true(cell_size(too_long[i]) > p->size);
        assert_null(cell_alloc(p, too_long[i]));
    }
    assert_int_equal(p->used, 0);
    pool_destroy(p);
}

static void the_message_is_aligned_for_netlink_and_the_cell_for_cache_lines(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct cell_pool *p = pool_create(8 * SLAB);
        struct live *cells;
        size_t n = take_all(p, MAX_LEN(sizes[i]), &cells);
        for (size_t j = 0; j < n; j++) {
            assert_int_equal((uintptr_t) cells[j].cell % CACHE_LINE, 0);
            assert_int_equal((uintptr_t) cells[j].cell->msg % sizeof(uint64_t), 0);
        }
        free_all(p, cells, n);
        pool_destroy(p);
    }
}

static void a_pool_holds_what_fits_and_not_one_more(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct cell_pool *p = pool_create(16 * SLAB);
        struct live *cells;
        size_t n = take_all(p, MAX_LEN(sizes[i]), &cells);

        assert_int_equal(p->used, n * sizes[i]);
        assert_int_equal(n, 16 * SLAB / sizes[i]);
        assert_null(cell_alloc(p, 0));
        /* One is given back: one more fits. */
        live_check(&cells[n / 2]);
        cell_free(p, cells[n / 2].cell);
        struct cell *c = cell_alloc(p, MAX_LEN(sizes[i]));
        assert_ptr_equal(c, cells[n / 2].cell);
        assert_null(cell_alloc(p, MAX_LEN(sizes[i])));
        live_fill(&cells[n / 2], c, MAX_LEN(sizes[i]), 1);
        free_all(p, cells, n);
        assert_int_equal(p->used, 0);
        pool_destroy(p);
    }
}

static void memory_of_one_size_serves_every_other_when_it_is_free(void **state)
{
    struct cell_pool *p = pool_create(16 * SLAB);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
            struct live *cells;
            size_t n = take_all(p, MAX_LEN(sizes[i]), &cells);
            assert_int_equal(n, 16 * SLAB / sizes[i]);
            free_all(p, cells, n);
            n = take_all(p, MAX_LEN(sizes[j]), &cells);
            assert_int_equal(n, 16 * SLAB / sizes[j]);
            free_all(p, cells, n);
        }
    }
    pool_destroy(p);
}

static void a_slab_changes_its_size_when_its_last_cell_is_free(void **state)
{
    struct cell_pool *p = pool_create(8 * SLAB);
    struct live *cells;
    size_t n = take_all(p, 0, &cells), each = SLAB / 512;

    assert_int_equal(n, 8 * each);
    for (size_t i = 0; i < n; i++) { /* All but the first of each slab. */
        if (i % each) {
            cell_free(p, cells[i].cell);
        }
    }
    assert_null(cell_alloc(p, MAX_LEN(SLAB)));
    for (size_t i = 0; i < n; i += each) {
        live_check(&cells[i]);
        cell_free(p, cells[i].cell);
        struct cell *c = cell_alloc(p, MAX_LEN(SLAB));
        assert_non_null(c);
        live_fill(&cells[i], c, MAX_LEN(SLAB), i / each);
        assert_null(cell_alloc(p, MAX_LEN(SLAB)));
    }
    for (size_t i = 0; i < n; i += each) {
        live_check(&cells[i]);
        cell_free(p, cells[i].cell);
    }
    free(cells);
    assert_int_equal(p->used, 0);
    pool_destroy(p);
}

static uint32_t random_len(struct random *r)
{
    size_t size = sizes[rnd(r, 16) ? rnd(r, 3) : 3];
    switch (rnd(r, 4)) {
    case 0:
        return MAX_LEN(size);
    case 1:
        return MAX(MAX_LEN(size), 4) - rnd(r, 4);
    }
    return rnd(r, MAX_LEN(size) + 1);
}

/* Phases of growing and shrinking, so that the pool is full and empty many times. */
static void random_run(uint64_t seed)
{
    struct random r = { .seed = seed };
    size_t size = (1 + rnd(&r, 100)) * SLAB, used = 0, n = 0;
    struct cell_pool *p = pool_create(size);
    struct live *live = xcalloc(size / 512, sizeof *live);
    bool grow = true;

    for (unsigned int step = 0; step < N_STEPS; step++) {
        if (!rnd(&r, 300)) {
            grow = !grow;
        }
        if (rnd(&r, 10) < (grow ? 8 : 2)) {
            uint32_t len = random_len(&r);
            struct cell *c = cell_alloc(p, len);
            if (c) {
                used += c->size;
                live_fill(&live[n++], c, len, rnd(&r, 256));
            } else {
                assert_true(size - used < SLAB || n); /* An empty pool refuses nothing. */
                grow = false;
            }
        } else if (n) {
            unsigned int i = rnd(&r, n);
            live_check(&live[i]);
            used -= cell_size(live[i].len);
            cell_free(p, live[i].cell);
            live[i] = live[--n];
        }
        assert_int_equal(p->used, used);
        assert_true(used <= size);
        cell_pool_trim(p);
    }
    for (size_t i = 0; i < n; i++) {
        live_check(&live[i]);
        cell_free(p, live[i].cell);
    }
    assert_int_equal(p->used, 0);
    free(live);
    pool_destroy(p);
}

static void no_cell_overlaps_another_in_random_runs(void **state)
{
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        random_run(seed);
    }
}

/* Whether the bytes of the pool's memory are zero: it has been given back, and would come anew. */
static bool is_returned(const struct cell_pool *p)
{
    return !p->memory[0] && !memcmp(p->memory, p->memory + 1, p->size - 1);
}

static void trim_gives_memory_back_when_nothing_is_taken(void **state)
{
    struct cell_pool *p = pool_create(100 * SLAB);
    for (int round = 0; round < 3; round++) {
        struct live *cells;
        size_t n = take_all(p, round, &cells);
        assert_int_equal(n, 100 * SLAB / 512);
        for (size_t i = 1; i < n; i++) {
            live_check(&cells[i]);
            cell_free(p, cells[i].cell);
        }
        cell_pool_trim(p); /* One is taken: nothing happens. */
        assert_false(is_returned(p));
        free_all(p, cells, 1);
        cell_pool_trim(p);
        assert_true(is_returned(p));
    }
    /* It goes on with any size. */
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct live *cells;
        size_t n = take_all(p, MAX_LEN(sizes[i]), &cells);
        assert_int_equal(n, 100 * SLAB / sizes[i]);
        free_all(p, cells, n);
        cell_pool_trim(p);
        assert_true(is_returned(p));
    }
    pool_destroy(p);
}

static void trim_keeps_what_an_ordinary_burst_needs(void **state)
{
    struct cell_pool *p = pool_create(100 * SLAB);
    struct live live[1000];
    for (int i = 0; i < 1000; i++) { /* Half a megabyte. */
        live_fill(&live[i], cell_alloc(p, 100), 100, i);
    }
    for (int i = 0; i < 1000; i++) {
        live_check(&live[i]);
        cell_free(p, live[i].cell);
    }
    cell_pool_trim(p);
    assert_false(is_returned(p));
    pool_destroy(p);
}

static void an_untouched_pool_trims_and_ends(void **state)
{
    struct cell_pool *p = pool_create(100 * SLAB);
    cell_pool_trim(p);
    cell_pool_uninit(p);
    cell_pool_uninit(p); /* A second time changes nothing. */
    free(p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_gets_the_smallest_cell_that_holds_it),
        cmocka_unit_test(more_than_any_upcall_has_is_refused),
        cmocka_unit_test(the_message_is_aligned_for_netlink_and_the_cell_for_cache_lines),
        cmocka_unit_test(a_pool_holds_what_fits_and_not_one_more),
        cmocka_unit_test(memory_of_one_size_serves_every_other_when_it_is_free),
        cmocka_unit_test(a_slab_changes_its_size_when_its_last_cell_is_free),
        cmocka_unit_test(no_cell_overlaps_another_in_random_runs),
        cmocka_unit_test(trim_gives_memory_back_when_nothing_is_taken),
        cmocka_unit_test(trim_keeps_what_an_ordinary_burst_needs),
        cmocka_unit_test(an_untouched_pool_trims_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
