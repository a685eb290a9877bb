/* The classifier while it changes: readers that look up at whatever version is published must meet exactly the rules of that version, and no
 * memory that was freed (which the address sanitizer sees).
 *
 * One thread makes versions: each replaces, adds and removes rules of some keys, in masks and with priorities that change, and writes down
 * beforehand which rule each key meets then.  Another adds and removes rules that no reader's packet meets, in the same masks and in others, so
 * that tables grow and shrink and the order of subtables changes.  Retired rules leave in the call_rcu thread meanwhile. */
#include <config.h>

#include "tests/unit/classifier-kit.h"

#define N_KEYS    48
#define N_READERS 3
#define N_MASKS   12
#define FOREIGN   1000 /* Keys of rules that readers do not meet. */

struct world {
    struct classifier *cls;
    struct flow masks[N_MASKS];
    uint64_t version; /* Published. */
    uint32_t n_versions;
    uint32_t (*expected)[N_KEYS]; /* By version: the id of the rule that the key meets, or 0. */
    bool done;
    unsigned long n_lookups, n_walks;
    uint64_t seed;
};

/* The packet of KEY. */
static void key_flow(uint32_t key, struct flow *flow)
{
    struct rng rng = { hash_u64(key, 17) };

    kit_random_flow(&rng, flow);
    flow->metadata = key;
}

static struct trule *make_rule(struct world *w, struct rng *rng, uint32_t key, uint32_t id)
{
    struct match m = { .mask = w->masks[rng_below(rng, N_MASKS)] };

    key_flow(key, &m.flow);
    flow_apply_mask(&m.flow, &m.mask);
    struct trule *r = trule_create(&m, rng_below(rng, 8), NULL, 0);
    r->id = id;
    return r;
}

/* A change that never is published: readers do not see it. */
static void roll_back(struct world *w, struct rng *rng, struct trule *const current[], uint64_t version)
{
    struct trule *r[8];

    for (int i = 0; i < 8; i++) {
        r[i] = make_rule(w, rng, rng_below(rng, N_KEYS), UINT32_MAX);
        classifier_insert(w->cls, &r[i]->cr, version);
        if (current[i]) {
            classifier_remove(&current[i]->cr, version);
        }
    }
    for (int i = 0; i < 8; i++) {
        classifier_expunge(w->cls, &r[i]->cr);
        if (current[i]) {
            classifier_restore(&current[i]->cr);
        }
    }
    synchronize_rcu();
    for (int i = 0; i < 8; i++) {
        trule_free(&r[i]->cr);
    }
}

static void make_version(struct world *w, struct rng *rng, struct trule *current[], uint64_t version)
{
    uint32_t first = rng_below(rng, N_KEYS), n = 1 + rng_below(rng, 12);
    struct trule *old[N_KEYS];
    bool deferred = rng_one_in(rng, 2);

    if (deferred) {
        classifier_defer(w->cls);
    }
    memcpy(w->expected[version], w->expected[version - 1], sizeof w->expected[version]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = (first + i) % N_KEYS;
        struct trule *r = rng_one_in(rng, 3) ? NULL : make_rule(w, rng, key, version * N_KEYS + key);

        old[i] = current[key];
        if (r && old[i]) {
            classifier_replace(w->cls, &old[i]->cr, &r->cr, version);
        } else if (r) {
            classifier_insert(w->cls, &r->cr, version);
        } else if (old[i]) {
            classifier_remove(&old[i]->cr, version);
        }
        current[key] = r;
        w->expected[version][key] = r ? r->id : 0;
    }
    if (deferred) {
        classifier_publish(w->cls);
    }
    __atomic_store_n(&w->version, version, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < n; i++) {
        if (old[i]) {
            classifier_retire(w->cls, &old[i]->cr, trule_free);
        }
    }
}

static void *writer(void *w_)
{
    struct world *w = w_;
    struct rng rng = { hash_u64(w->seed, 1) };
    struct trule *current[N_KEYS] = { NULL };

    rcu_register_thread();
    for (uint32_t v = 1; v < w->n_versions; v++) {
        if (rng_one_in(&rng, 40)) {
            roll_back(w, &rng, current, v);
        }
        make_version(w, &rng, current, v);
    }
    __atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
    for (uint32_t key = 0; key < N_KEYS; key++) {
        if (current[key]) {
            classifier_remove(&current[key]->cr, w->n_versions);
            classifier_retire(w->cls, &current[key]->cr, trule_free);
        }
    }
    rcu_unregister_thread();
    return NULL;
}

/* Adds and removes what nobody meets: at version 0, so visible at once to all. */
static void *churner(void *w_)
{
    enum { N = 400 };
    struct world *w = w_;
    struct rng rng = { hash_u64(w->seed, 2) };
    struct trule *rules[N] = { NULL };

    rcu_register_thread();
    while (!__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) {
        bool fill = rng_one_in(&rng, 2);
        for (uint32_t n = rng_below(&rng, N); n; n--) {
            uint32_t i = rng_below(&rng, N);
            if (rules[i] && !fill) {
                classifier_remove(&rules[i]->cr, 0);
                classifier_retire(w->cls, &rules[i]->cr, trule_free);
                rules[i] = NULL;
            } else if (!rules[i] && fill) {
                rules[i] = make_rule(w, &rng, FOREIGN + i, 0);
                classifier_insert(w->cls, &rules[i]->cr, 0);
            }
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        if (rules[i]) {
            classifier_remove(&rules[i]->cr, 0);
            classifier_retire(w->cls, &rules[i]->cr, trule_free);
        }
    }
    rcu_unregister_thread();
    return NULL;
}

static bool count_known(struct cls_rule *cr, void *n)
{
    *(uint32_t *) n += trule_of(cr)->id != 0;
    return true;
}

static void must(const struct world *w, bool ok, const char *what, uint64_t version, uint32_t key)
{
    if (!ok) { /* cmocka's failures are for the main thread only. */
        print_error("seed %llu: version %llu, key %u: %s\n", (unsigned long long) w->seed, (unsigned long long) version,
                    key, what);
        abort();
    }
}

static void check_version(struct world *w, struct rng *rng)
{
    uint64_t version = __atomic_load_n(&w->version, __ATOMIC_ACQUIRE);
    const uint32_t *expected = w->expected[version];

    for (int i = 0; i < 16; i++) {
        uint32_t key = rng_below(rng, N_KEYS);
        struct flow flow, mask = { .recirc_id = 0 };

        key_flow(key, &flow);
        const struct trule *r = trule_of(classifier_lookup(w->cls, version, &flow, &mask));
        must(w, (r ? r->id : 0) == expected[key], "a lookup met another rule", version, key);
        if (r) {
            struct cls_rule *same = classifier_find_exactly(w->cls, &r->match, r->priority, version);
            must(w, same == &r->cr, "a find met another rule", version, key);
            must(w, flow_mask_is_subset(&r->match.mask, &mask), "the mask lacks bits", version, key);
        }
    }
    if (rng_one_in(rng, 16)) {
        uint32_t n = 0, found = 0;
        for (uint32_t key = 0; key < N_KEYS; key++) {
            n += expected[key] != 0;
        }
        classifier_for_each(w->cls, NULL, version, count_known, &found);
        must(w, found == n, "a walk met other rules", version, n);
        __atomic_add_fetch(&w->n_walks, 1, __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&w->n_lookups, 16, __ATOMIC_RELAXED);
}

static void *reader(void *w_)
{
    struct world *w = w_;
    static uint64_t n_readers;
    struct rng rng = { hash_u64(w->seed, 3 + __atomic_fetch_add(&n_readers, 1, __ATOMIC_RELAXED)) };

    rcu_register_thread();
    while (!__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) {
        rcu_read_lock();
        check_version(w, &rng);
        rcu_read_unlock();
    }
    rcu_unregister_thread();
    return NULL;
}

static void each_lookup_sees_exactly_the_rules_of_its_version(void **state)
{
    struct world w = { .n_versions = env_number("SLUICE_VERSIONS", 4000), .seed = env_number("SLUICE_SEED", 1) };
    struct rng rng = { hash_u64(w.seed, 0) };
    pthread_t threads[2 + N_READERS];

    print_message("seed %llu\n", (unsigned long long) w.seed);
    w.cls = classifier_create();
    w.expected = xcalloc(w.n_versions, sizeof *w.expected);
    for (int i = 0; i < N_MASKS; i++) {
        kit_random_mask(&rng, 4, &w.masks[i]);
        FLOW_MASK_FIELD(&w.masks[i], metadata); /* The key. */
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, i == 0 ? writer : i == 1 ? churner : reader, &w), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    rcu_barrier();
    struct classifier_stats stats;
    classifier_get_stats(w.cls, &stats);
    assert_int_equal(stats.n_rules, 0);
    assert_int_equal(stats.n_subtables, 0);
    classifier_destroy(w.cls);
    rcu_barrier();
    rcu_barrier();
    print_message("%u versions, %lu lookups, %lu walks\n", w.n_versions, w.n_lookups, w.n_walks);
    assert_true(w.n_lookups > 1000);
    free(w.expected);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lookup_sees_exactly_the_rules_of_its_version),
    };
    rcu_register_thread();
    int n = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return n;
}
