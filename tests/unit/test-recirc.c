/* Recirculation ids: the same for the same state, in every thread and process; and there for as long as somebody may need them. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/io/thread.h"
#include "ofproto/recirc.h"

/* A state of bridge "br0": all of it follows from N. */
union state {
    struct frozen frozen;
    uint8_t bytes[sizeof(struct frozen) + 8];
};

static union state state_of(uint32_t n)
{
    union state s = { .frozen = { .table = 1, .plain_len = 8, .regs = { n } } };

    memcpy(s.bytes + sizeof s.frozen, "br0", 3);
    return s;
}

static struct recirc *freeze(uint32_t n)
{
    union state s = state_of(n);
    struct recirc *r = recirc_freeze(&s.frozen);

    assert_non_null(r);
    return r;
}

static uint32_t id_of(uint32_t n)
{
    rcu_read_lock();
    uint32_t id = recirc_id(freeze(n));
    rcu_read_unlock();
    return id;
}

static bool is_there(uint32_t id)
{
    rcu_read_lock();
    bool yes = recirc_find(id) != NULL;
    rcu_read_unlock();
    return yes;
}

static void ticks(unsigned int n)
{
    while (n--) {
        recirc_tick();
    }
}

/* Nothing is left of another test. */
static int forget(void **state_ UNUSED)
{
    ticks(RECIRC_LINGER + 2);
    assert_int_equal(recirc_count(), 0);
    return 0;
}

static void the_same_state_has_the_same_number(void **state_ UNUSED)
{
    uint32_t a = id_of(1), b = id_of(2);

    assert_true(a && b && a != b);
    assert_int_equal(id_of(1), a);
    assert_int_equal(id_of(2), b);
    assert_int_equal(recirc_count(), 2);
    rcu_read_lock();
    union state s = state_of(2);
    assert_int_equal(frozen_len(recirc_find(b)), sizeof s.bytes);
    assert_memory_equal(recirc_find(b), &s, sizeof s.bytes);
    assert_string_equal(frozen_bridge(recirc_find(b)), "br0");
    assert_null(recirc_find(a ^ b ^ 1));
    rcu_read_unlock();
}

/* "A restarted daemon gives the same numbers to the same states": whatever stands here has been so since it was first written. */
static void a_number_is_a_hash_of_the_state(void **state_ UNUSED)
{
    uint32_t a = id_of(1);

    ticks(RECIRC_LINGER + 1);
    assert_false(is_there(a));
    id_of(3);
    assert_int_equal(id_of(1), a);
    assert_int_equal(a, 0x7146e082);
}

static void every_byte_counts(void **state_ UNUSED)
{
    union state s = state_of(1);

    rcu_read_lock();
    for (size_t i = 0; i < offsetof(struct frozen, n_stack); i++) {
        union state other = s;
        other.bytes[i] ^= 1;
        if (recirc_freeze(&other.frozen) == recirc_freeze(&s.frozen)) {
            fail_msg("byte %zu does not count", i);
        }
    }
    union state other = s;
    memcpy(other.bytes + sizeof s.frozen, "br1", 3);
    assert_ptr_not_equal(recirc_freeze(&other.frozen), recirc_freeze(&s.frozen));
    rcu_read_unlock();
}

/* Action sets have pointers, which are others in another process: the number does not come from them.  Two states that differ in nothing
 * else have two numbers yet. */
static void what_differs_in_the_action_set_only_has_the_next_number(void **state_ UNUSED)
{
    union {
        struct frozen frozen;
        uint8_t bytes[sizeof(union state) + 8];
    } s;
    union state plain = state_of(7);
    uint32_t ids[2];

    memset(&s, 0, sizeof s);
    memcpy(&s, &plain, sizeof plain);
    s.frozen.set_len = 8;
    rcu_read_lock();
    for (unsigned int i = 0; i < 2; i++) {
        s.bytes[sizeof plain] = i;
        ids[i] = recirc_id(recirc_freeze(&s.frozen));
    }
    rcu_read_unlock();
    assert_int_equal(ids[1], ids[0] + 1);
    assert_int_equal(recirc_count(), 2);
}

static void what_nobody_holds_ends_after_a_while(void **state_ UNUSED)
{
    uint32_t id = id_of(1);

    ticks(RECIRC_LINGER);
    assert_true(is_there(id));
    assert_int_equal(id_of(1), id); /* It is come to: its time begins anew. */
    ticks(RECIRC_LINGER);
    assert_true(is_there(id));
    ticks(1);
    assert_false(is_there(id));
    assert_int_equal(recirc_count(), 0);
}

static void what_is_held_stays(void **state_ UNUSED)
{
    rcu_read_lock();
    struct recirc *r = freeze(1);
    assert_true(recirc_try_ref(r));
    assert_true(recirc_try_ref(r));
    rcu_read_unlock();
    ticks(3 * RECIRC_LINGER);
    assert_true(is_there(recirc_id(r)));
    recirc_unref(r);
    ticks(3 * RECIRC_LINGER);
    assert_true(is_there(recirc_id(r)));
    uint32_t id = recirc_id(r);
    recirc_unref(r);
    ticks(RECIRC_LINGER); /* Packets may be under way. */
    assert_true(is_there(id));
    ticks(1);
    assert_false(is_there(id));
}

/* Who stood still between translating and holding hears of it; and who asks anew in that time gets another. */
static void what_has_ended_is_not_held(void **state_ UNUSED)
{
    rcu_read_lock(); /* Else it would be freed.  (Time passes in other threads, and outside of this.) */
    struct recirc *r = freeze(1);
    ticks(RECIRC_LINGER + 1);
    assert_false(recirc_try_ref(r));
    assert_ptr_not_equal(freeze(1), r);
    rcu_read_unlock();
}

/* ---- Threads. ---- */

#define N_THREADS 4
#define N_STATES  1000
#define N_HELD    16
#define N_TURNS   1000000

static unsigned int n_done; /* Atomic: threads. */

/* What a thread holds: it must be there, and mean what it did, for as long. */
struct holding {
    struct recirc *recirc; /* NULL: nothing. */
    uint32_t id, n;
};

static void hold(struct holding *h, uint32_t n)
{
    rcu_read_lock();
    struct recirc *r = freeze(n);
    *h = (struct holding) { recirc_try_ref(r) ? r : NULL, recirc_id(r), n };
    rcu_read_unlock();
}

static void let_go(struct holding *h)
{
    union state s = state_of(h->n);

    if (h->recirc) {
        rcu_read_lock();
        const struct frozen *f = recirc_find(h->id);
        assert_non_null(f);
        assert_memory_equal(f, &s, sizeof s.bytes);
        rcu_read_unlock();
        recirc_unref(h->recirc);
    }
}

/* Time passes as fast as it can; so states end all the time, and some of them just when they are come to. */
static void turn(struct thread *self UNUSED, void *seed_)
{
    uint64_t random = (uintptr_t) seed_;
    struct holding held[N_HELD] = { { NULL, 0, 0 } };

    for (unsigned int i = 0; i < N_TURNS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        struct holding *h = &held[i % N_HELD];
        let_go(h);
        hold(h, (random >> 33) % N_STATES);
    }
    for (unsigned int i = 0; i < N_HELD; i++) {
        let_go(&held[i]);
    }
    __atomic_add_fetch(&n_done, 1, __ATOMIC_RELEASE);
}

static void a_number_that_is_held_means_what_it_did(void **state_ UNUSED)
{
    struct thread *threads[N_THREADS];

    for (uintptr_t i = 0; i < N_THREADS; i++) {
        threads[i] = thread_start("turn", turn, NULL, (void *) (i + 1));
    }
    while (__atomic_load_n(&n_done, __ATOMIC_ACQUIRE) < N_THREADS) {
        recirc_tick();
    }
    for (unsigned int i = 0; i < N_THREADS; i++) {
        thread_join(threads[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_same_state_has_the_same_number, forget),
        cmocka_unit_test_teardown(a_number_is_a_hash_of_the_state, forget),
        cmocka_unit_test_teardown(every_byte_counts, forget),
        cmocka_unit_test_teardown(what_differs_in_the_action_set_only_has_the_next_number, forget),
        cmocka_unit_test_teardown(what_nobody_holds_ends_after_a_while, forget),
        cmocka_unit_test_teardown(what_is_held_stays, forget),
        cmocka_unit_test_teardown(what_has_ended_is_not_held, forget),
        cmocka_unit_test_teardown(a_number_that_is_held_means_what_it_did, forget),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
