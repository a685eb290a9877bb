/* The classifier at its size: 100,000 rules in 1,000 masks.  Prints what it takes in time and memory; the bounds that it asserts are wide, they
 * are to catch what is quadratic.  SLUICE_RULES is how many rules. */
#include <config.h>

#include <malloc.h>
#include <time.h>

#include "tests/unit/classifier-kit.h"

#define N_MASKS   1000
#define N_LOOKUPS 20000
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define N_RULES 20000 /* Each takes several times as long, and the heap cannot be asked. */
#else
#define N_RULES 100000
#endif

struct world {
    struct classifier *cls;
    struct match *matches;
    struct trule **rules;
    uint32_t n;
};

/* Time of this thread's: the machine may have other work. */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}
static double since(uint64_t start) { return (now() - start) / 1e9; }

/* Rules as of an ACL: source and destination prefixes of 21 lengths each, without ports, with the destination's, or with the source's.  With one
 * priority, a packet that meets none has to be asked about all masks; else the priority follows the lengths. */
static int make_match(struct rng *rng, uint32_t i, uint32_t n_priorities, struct match *m)
{
    uint32_t mask = i % N_MASKS, src = 12 + mask % 21, dst = 12 + mask / 21 % 21;

    memset(m, 0, sizeof *m);
    m->flow.eth_type = __builtin_bswap16(ETH_TYPE_IPV4);
    FLOW_MASK_FIELD(&m->mask, eth_type);
    m->mask.ip_src = __builtin_bswap32(UINT32_MAX << (32 - src));
    m->mask.ip_dst = __builtin_bswap32(UINT32_MAX << (32 - dst));
    m->flow.ip_src = rng_u64(rng);
    m->flow.ip_dst = rng_u64(rng);
    m->flow.ip_proto = 6;
    m->flow.tp_src = rng_u64(rng);
    m->flow.tp_dst = rng_u64(rng);
    if (mask / 441 == 1) {
        FLOW_MASK_FIELD(&m->mask, ip_proto);
        FLOW_MASK_FIELD(&m->mask, tp_dst);
    } else if (mask / 441 == 2) {
        FLOW_MASK_FIELD(&m->mask, ip_proto);
        FLOW_MASK_FIELD(&m->mask, tp_src);
    }
    return n_priorities == 1 ? 100 : (src + dst) * n_priorities / 65;
}

static void free_all(struct world *w, uint64_t version)
{
    uint64_t start = now();

    for (uint32_t i = 0; i < w->n; i++) {
        classifier_remove(&w->rules[i]->cr, version);
        classifier_retire(w->cls, &w->rules[i]->cr, trule_free);
    }
    rcu_barrier();
    rcu_barrier();
    print_message("  removed in %.2f s, without the thread that frees\n", since(start));
    struct classifier_stats stats;
    classifier_get_stats(w->cls, &stats);
    assert_int_equal(stats.n_rules, 0);
    assert_int_equal(stats.n_subtables, 0);
    classifier_destroy(w->cls);
    rcu_barrier();
    free(w->rules);
    free(w->matches);
}

static void look_up(struct world *w, struct rng *rng)
{
    struct flow *flows = xcalloc(1024, sizeof *flows);
    unsigned long found = 0, bits = 0;

    for (int i = 0; i < 1024; i++) { /* Half of them near a rule. */
        struct match m;
        make_match(rng, rng_u64(rng) % N_MASKS, 1, &m);
        flows[i] = m.flow;
        if (i % 2) {
            const struct match *rule = &w->matches[rng_below(rng, w->n)];
            kit_merge(&flows[i], &rule->flow, &rule->mask, false);
        }
    }
    uint64_t start = now();
    for (int i = 0; i < N_LOOKUPS; i++) {
        struct flow mask = { .recirc_id = 0 };
        found += kit_lookup(w->cls, 0, &flows[i % 1024], &mask) != NULL;
        bits += __builtin_popcount(mask.ip_src) + __builtin_popcount(mask.ip_dst);
    }
    double t = since(start);
    print_message("  %.0f lookups/s, %.0f%% found a rule, %.1f of 64 address bits in the mask\n", N_LOOKUPS / t,
                  found * 100.0 / N_LOOKUPS, (double) bits / N_LOOKUPS);
    assert_true(N_LOOKUPS / t > 500);
    free(flows);
}

static void fill(struct world *w, uint32_t n_priorities, bool deferred, uint64_t version)
{
    uint64_t seed = env_number("SLUICE_SEED", 1);
    struct rng rng = { hash_u64(seed, 4) };
    size_t heap = mallinfo2().uordblks + mallinfo2().hblkhd;
    double create = 0;

    w->cls = classifier_create();
    w->n = env_number("SLUICE_RULES", N_RULES);
    w->rules = xcalloc(w->n, sizeof(struct trule *));
    w->matches = xcalloc(w->n, sizeof *w->matches);
    uint64_t start = now();
    if (deferred) {
        classifier_defer(w->cls);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        uint64_t before = now();
        int priority = make_match(&rng, i, n_priorities, &w->matches[i]);
        flow_apply_mask(&w->matches[i].flow, &w->matches[i].mask);
        w->rules[i] = trule_create(&w->matches[i], priority, NULL, 0);
        create += since(before);
        classifier_insert(w->cls, &w->rules[i]->cr, version);
    }
    classifier_publish(w->cls);
    double t = since(start) - create;
    rcu_barrier();
    struct classifier_stats stats;
    classifier_get_stats(w->cls, &stats);
    size_t used =
        mallinfo2().uordblks + mallinfo2().hblkhd - heap - w->n * (sizeof(struct trule) + 8 + sizeof(struct match) + 8);
    print_message("seed %llu: %u rules in %zu masks of %u priorities%s: inserted in %.2f s (%.2f us each)\n",
                  (unsigned long long) seed, w->n, stats.n_subtables, n_priorities, deferred ? ", in a bundle" : "", t,
                  t * 1e6 / w->n);
    print_message("  %.0f bytes a rule", (double) stats.n_bytes / w->n);
    if (heap) {
        print_message(", %.0f with what the heap adds", (double) used / w->n);
    }
    print_message("\n");
    assert_int_equal(stats.n_rules, w->n);
    assert_true(t < 60);
    assert_true(stats.n_bytes / w->n < 400);
}

static void many_rules_of_one_priority(void **state)
{
    struct world w;
    struct rng rng = { 5 };

    fill(&w, 1, false, 0);
    look_up(&w, &rng);
    free_all(&w, 1);
}

static void many_rules_of_64_priorities(void **state)
{
    struct world w;
    struct rng rng = { 6 };

    fill(&w, 64, false, 0);
    look_up(&w, &rng);

    uint64_t start = now();
    rcu_read_lock();
    for (int i = 0; i < 20; i++) {
        struct match m;
        make_match(&rng, i, 64, &m);
        flow_apply_mask(&m.flow, &m.mask);
        classifier_overlaps(w.cls, &m, 1, 0);
    }
    rcu_read_unlock();
    print_message("  overlap checked in %.2f ms\n", since(start) * 1000 / 20);
    free_all(&w, 1);
}

/* As many as OpenFlow lets into a bundle, each with a mask of its own; and all taken back. */
static void a_bundle_that_is_rolled_back_leaves_nothing(void **state)
{
    enum { N = 65000 };
    struct classifier *cls = classifier_create();
    struct trule **rules = xcalloc(N, sizeof(struct trule *));
    struct flow flow = { .recirc_id = 0 };
    struct classifier_stats stats;

    uint64_t start = now();
    classifier_defer(cls);
    for (uint32_t i = 0; i < N; i++) {
        struct match m = { .mask = { .metadata = i + 1 } };
        rules[i] = trule_create(&m, i, NULL, 0);
        classifier_insert(cls, &rules[i]->cr, 1);
    }
    classifier_publish(cls);
    assert_null(kit_lookup(cls, 0, &flow, NULL));
    assert_ptr_equal(kit_lookup(cls, 1, &flow, NULL), rules[N - 1]);
    classifier_defer(cls);
    for (uint32_t i = 0; i < N; i++) {
        classifier_expunge(cls, &rules[i]->cr);
    }
    classifier_publish(cls);
    assert_null(kit_lookup(cls, 1, &flow, NULL));
    print_message("  %u masks in and out in %.2f s\n", N, since(start));
    assert_true(since(start) < 60);
    classifier_get_stats(cls, &stats);
    assert_int_equal(stats.n_rules, 0);
    assert_int_equal(stats.n_subtables, 0);
    synchronize_rcu();
    for (uint32_t i = 0; i < N; i++) {
        trule_free(&rules[i]->cr);
    }
    free(rules);
    classifier_destroy(cls);
    rcu_barrier();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_rules_of_one_priority),
        cmocka_unit_test(many_rules_of_64_priorities),
        cmocka_unit_test(a_bundle_that_is_rolled_back_leaves_nothing),
    };
    rcu_register_thread();
    int n = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return n;
}
