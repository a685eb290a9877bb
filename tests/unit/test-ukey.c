/* The ukey table: who wins, who frees, and which transitions are legal. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/util.h"
#include "lib/io/thread.h"
#include "ofproto/ukey.h"

static const uint32_t some_attrs[4] = { 0x00030008, 7, 0x00140008, 0 };

static struct ukey_spec spec_of(uint64_t n)
{
    return (struct ukey_spec) {
        .ufid = { n, n * UINT64_C(0x9e3779b97f4a7c15) },
        .key = (const struct nlattr *) some_attrs, .key_len = sizeof some_attrs,
        .mask = (const struct nlattr *) some_attrs, .mask_len = 8,
        .actions = (const struct nlattr *) some_attrs, .actions_len = 8,
        .now = 1000,
    };
}

/* The life of a flow, as ukey.h draws it, written out a second time by hand. */
static void only_the_drawn_transitions_are_legal(void **state)
{
    static const char *const legal[] = {
        "CREATED>VISIBLE",        "CREATED>GONE",         "VISIBLE>INSTALLED",      "VISIBLE>GONE",
        "INSTALLED>EVICTING",     "INSTALLED>EVICTED",    "INSTALLED>INCONSISTENT", "INCONSISTENT>INSTALLED",
        "INCONSISTENT>EVICTING",  "INCONSISTENT>EVICTED", "EVICTING>EVICTED",       "EVICTED>GONE",
    };
    for (int from = 0; from < UKEY_N_STATES; from++) {
        for (int to = 0; to < UKEY_N_STATES; to++) {
            char *text = xasprintf("%s>%s", ukey_state_name(from), ukey_state_name(to));
            bool expected = false;
            for (size_t i = 0; i < ARRAY_SIZE(legal); i++) {
                expected |= !strcmp(text, legal[i]);
            }
            if (ukey_transition_is_legal(from, to) != expected) {
                fail_msg("%s: legal is %d, expected %d", text, !expected, expected);
            }
            free(text);
        }
    }
}

static void an_illegal_transition_aborts(void **state)
{
    pid_t pid = fork();
    if (!pid) {
        struct ukey_table *t = ukey_table_create();
        struct ukey_spec spec = spec_of(1);
        bool won;
        fclose(stderr);
        rcu_read_lock();
        struct ukey *u = ukey_insert(t, &spec, &won);
        lock_acquire(&u->lock);
        ukey_transition(u, UKEY_EVICTED, 1); /* VISIBLE: not even installed. */
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void a_flow_is_found_by_its_ufid_with_all_it_was_made_of(void **state)
{
    struct ukey_table *t = ukey_table_create();
    struct ukey_spec spec = spec_of(5);
    bool won;

    rcu_read_lock();
    assert_null(ukey_find(t, &spec.ufid));
    struct ukey *u = ukey_insert(t, &spec, &won);
    assert_true(won);
    assert_ptr_equal(ukey_find(t, &spec.ufid), u);
    assert_int_equal(ukey_table_count(t), 1);
    assert_int_equal(u->state, UKEY_VISIBLE);
    assert_memory_equal(ukey_key(u), spec.key, spec.key_len);
    assert_memory_equal(ukey_mask(u), spec.mask, spec.mask_len);
    assert_memory_equal(u->actions, spec.actions, spec.actions_len);
    rcu_read_unlock();
    ukey_table_destroy(t);
}

static void the_second_to_insert_gets_the_first_ones(void **state)
{
    struct ukey_table *t = ukey_table_create();
    struct ukey_spec spec = spec_of(9);
    bool won;

    rcu_read_lock();
    struct ukey *first = ukey_insert(t, &spec, &won);
    assert_true(won);
    assert_ptr_equal(ukey_insert(t, &spec, &won), first);
    assert_false(won);
    assert_int_equal(ukey_table_count(t), 1);
    rcu_read_unlock();
    ukey_table_destroy(t);
}

static void removal_counts_once_however_many_try(void **state)
{
    struct ukey_table *t = ukey_table_create();
    struct ukey_spec spec = spec_of(9), other = spec_of(10);
    bool won;

    rcu_read_lock();
    ukey_insert(t, &other, &won);
    struct ukey *u = ukey_insert(t, &spec, &won);
    ukey_remove(t, u, 2000);
    ukey_remove(t, u, 2000); /* Loses; U is still there, by RCU. */
    assert_int_equal(ukey_table_count(t), 1);
    assert_null(ukey_find(t, &spec.ufid));
    assert_int_equal(u->state, UKEY_GONE);
    assert_non_null(ukey_find(t, &other.ufid));
    rcu_read_unlock();
    ukey_table_destroy(t);
}

/* Several threads insert and remove the same few UFIDs.  Each thread owns what it won, and removes just that; in the end nothing
 * is left, and ASan has seen every ukey freed once. */
#define N_THREADS 4
#define N_ROUNDS 20000
#define N_UFIDS 8

static struct ukey_table *contended;
static uint64_t n_won[N_UFIDS]; /* Atomic: how many hold the flow now; never above 1. */

static void contend(struct thread *self, void *seed_)
{
    unsigned int seed = (uintptr_t) seed_;
    for (int i = 0; i < N_ROUNDS; i++) {
        unsigned int n = rand_r(&seed) % N_UFIDS;
        struct ukey_spec spec = spec_of(n + 1);
        bool won;
        rcu_read_lock();
        struct ukey *u = ukey_insert(contended, &spec, &won);
        assert_true(ufid_eq(&u->ufid, &spec.ufid));
        if (won) {
            assert_int_equal(__atomic_add_fetch(&n_won[n], 1, __ATOMIC_SEQ_CST), 1);
            lock_acquire(&u->lock);
            ukey_transition(u, UKEY_INSTALLED, i);
            ukey_transition(u, UKEY_EVICTING, i);
            ukey_transition(u, UKEY_EVICTED, i);
            lock_release(&u->lock);
            __atomic_sub_fetch(&n_won[n], 1, __ATOMIC_SEQ_CST);
            ukey_remove(contended, u, i);
        }
        rcu_read_unlock();
    }
}

static void one_thread_at_a_time_owns_a_flow(void **state)
{
    struct thread *threads[N_THREADS];
    contended = ukey_table_create();
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        threads[i] = thread_start("contend", contend, NULL, (void *) (i + 1));
    }
    for (int i = 0; i < N_THREADS; i++) {
        thread_join(threads[i]);
    }
    assert_int_equal(ukey_table_count(contended), 0);
    ukey_table_destroy(contended);
    rcu_barrier();
}

/* Each round walks the table: its size follows the flows, up and down. */
static void the_table_is_as_large_as_its_flows_need(void **state)
{
    enum { N = 100000 };
    struct ukey_table *t = ukey_table_create();
    struct ukey **ukeys = xcalloc(N, sizeof *ukeys);
    unsigned long least = ukey_table_fit(t);

    rcu_read_lock();
    for (uint64_t i = 0; i < N; i++) {
        struct ukey_spec spec = spec_of(i * UINT64_C(0x9e3779b97f4a7c15));
        bool won;
        ukeys[i] = ukey_insert(t, &spec, &won);
        assert_true(won);
    }
    rcu_read_unlock();
    unsigned long full = ukey_table_fit(t);
    assert_in_range(full, N / 2, 2 * N);
    assert_int_equal(ukey_table_fit(t), full);
    for (unsigned int i = 0; i < N; i++) {
        ukey_remove(t, ukeys[i], 1000); /* As if its put had failed. */
    }
    assert_int_equal(ukey_table_fit(t), least);
    assert_true(least <= 16384);
    free(ukeys);
    ukey_table_destroy(t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_drawn_transitions_are_legal),
        cmocka_unit_test(an_illegal_transition_aborts),
        cmocka_unit_test(a_flow_is_found_by_its_ufid_with_all_it_was_made_of),
        cmocka_unit_test(the_second_to_insert_gets_the_first_ones),
        cmocka_unit_test(removal_counts_once_however_many_try),
        cmocka_unit_test(one_thread_at_a_time_owns_a_flow),
        cmocka_unit_test(the_table_is_as_large_as_its_flows_need),
    };
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
