/* The classifier against a linear reference: random rules with versions and conjunctions, random packets, and random packets inside of each mask that
 * a lookup returned, which must meet the same rule.
 *
 * SLUICE_SEED chooses one set of rules, SLUICE_SEEDS how many; a failure names its seed. */
#include <config.h>

#include "tests/unit/classifier-kit.h"

#define MAX_RULES    160
#define MAX_PRIORITY 12
#define MAX_ID       2
#define N_MASKS      12
#define KEPT         3 /* Versions that readers may be at. */

struct world {
    uint64_t seed;
    struct rng rng;
    struct classifier *cls;
    struct trule *rules[MAX_RULES]; /* In the classifier, whether visible or not. */
    size_t n;
    uint64_t version;
    struct flow masks[N_MASKS]; /* So that rules share some. */
    bool with_conjs;
    unsigned long n_lookups, n_found, n_conj, n_samples;
};

#define CHECK(W, COND)                                                                                                 \
    do {                                                                                                               \
        if (!(COND)) {                                                                                                 \
            fail_msg("seed %llu: %s", (unsigned long long) (W)->seed, #COND);                                          \
        }                                                                                                              \
    } while (0)

static void random_match(struct world *w, struct match *m)
{
    m->mask = w->masks[rng_below(&w->rng, N_MASKS)];
    kit_random_flow(&w->rng, &m->flow);
    if (w->n && rng_one_in(&w->rng, 2)) { /* Near another rule. */
        const struct match *other = &w->rules[rng_below(&w->rng, w->n)]->match;
        kit_merge(&m->flow, &other->flow, &other->mask, false);
    }
    if (w->with_conjs && rng_one_in(&w->rng, 3)) {
        FLOW_MASK_FIELD(&m->mask, conj_id);
        m->flow.conj_id = __builtin_bswap32(rng_below(&w->rng, MAX_ID + 1));
    }
    flow_apply_mask(&m->flow, &m->mask);
}

static struct trule *random_rule(struct world *w)
{
    struct cls_conj conjs[MAX_CONJS];
    size_t n_conjs = 0;
    struct match m;

    random_match(w, &m);
    if (w->with_conjs && rng_one_in(&w->rng, 2)) {
        n_conjs = 1 + rng_below(&w->rng, MAX_CONJS);
        for (size_t i = 0; i < n_conjs; i++) {
            conjs[i].id = rng_below(&w->rng, MAX_ID + 1);
            conjs[i].n_clauses = rng_one_in(&w->rng, 8) ? 3 : 2;
            conjs[i].clause = rng_below(&w->rng, conjs[i].n_clauses);
        }
    }
    /* Clauses of few priorities, so that they come together. */
    int priority = n_conjs ? 7 + rng_below(&w->rng, 2) : rng_below(&w->rng, MAX_PRIORITY + 1);
    return trule_create(&m, priority, conjs, n_conjs);
}

static void drop(struct world *w, size_t i)
{
    classifier_expunge(w->cls, &w->rules[i]->cr);
    trule_free(&w->rules[i]->cr);
    w->rules[i] = w->rules[--w->n];
}

static struct trule *find(struct world *w, const struct trule *like, uint64_t version)
{
    rcu_read_lock();
    struct trule *r = trule_of(classifier_find_exactly(w->cls, &like->match, like->priority, version));
    rcu_read_unlock();
    return r;
}

/* One insertion (with the removal of what it replaces) or removal at VERSION. */
static void change(struct world *w, uint64_t version)
{
    if (w->n == MAX_RULES || (w->n && rng_one_in(&w->rng, 3))) {
        struct trule *r = w->rules[rng_below(&w->rng, w->n)];
        if (r->removed == UINT64_MAX) {
            classifier_remove(&r->cr, version);
            r->removed = version;
        }
        return;
    }
    struct trule *r = random_rule(w), *old = find(w, r, version);
    if (old) {
        CHECK(w, !memcmp(&old->match, &r->match, sizeof r->match) && old->priority == r->priority);
        CHECK(w, cls_rule_equals(&old->cr, &r->match, r->priority) && cls_rule_is_visible(&old->cr, version));
        classifier_replace(w->cls, &old->cr, &r->cr, version);
        old->removed = version;
    } else {
        classifier_insert(w->cls, &r->cr, version);
    }
    r->added = version;
    w->rules[w->n++] = r;
}

/* Undoes all that was done for VERSION, which never was published. */
static void roll_back(struct world *w, uint64_t version)
{
    for (size_t i = 0; i < w->n;) {
        if (w->rules[i]->removed == version) {
            classifier_restore(&w->rules[i]->cr);
            w->rules[i]->removed = UINT64_MAX;
        }
        if (w->rules[i]->added == version) {
            drop(w, i);
        } else {
            i++;
        }
    }
}

/* Makes the next version: a bundle, of which some are rolled back. */
static void next_version(struct world *w)
{
    bool deferred = rng_one_in(&w->rng, 2);

    if (deferred) {
        classifier_defer(w->cls);
    }
    for (uint32_t n = 1 + rng_below(&w->rng, 12); n; n--) {
        change(w, w->version + 1);
    }
    if (rng_one_in(&w->rng, 4)) {
        roll_back(w, w->version + 1);
        if (rng_one_in(&w->rng, 2)) {
            change(w, w->version + 1);
        }
    }
    if (deferred) {
        classifier_publish(w->cls);
    }
    w->version++;
    for (size_t i = 0; i < w->n;) {
        if (w->rules[i]->removed + KEPT <= w->version && rng_one_in(&w->rng, 2)) {
            drop(w, i);
        } else {
            i++;
        }
    }
}

static void random_packet(struct world *w, struct flow *flow)
{
    kit_random_flow(&w->rng, flow);
    for (int i = rng_below(&w->rng, 4); w->n && i; i--) {
        const struct match *m = &w->rules[rng_below(&w->rng, w->n)]->match;
        kit_merge(flow, &m->flow, &m->mask, false);
    }
    flow->conj_id = 0;
}

static struct trule *check_against_reference(struct world *w, const struct flow *flow, uint64_t version,
                                             struct flow *mask)
{
    struct trule *r = kit_lookup(w->cls, version, flow, mask);
    struct flow as;
    int priority = ref_lookup(w->rules, w->n, flow, version, MAX_PRIORITY, MAX_ID, &as);

    CHECK(w, (r ? r->priority : -1) == priority);
    if (r) {
        CHECK(w, !r->n_conjs && ref_matches(r, &as, version));
        w->n_found++;
        w->n_conj += as.conj_id != 0;
    }
    w->n_lookups++;
    return r;
}

static void check_packet(struct world *w)
{
    uint64_t version = w->version - rng_below(&w->rng, MIN(w->version, KEPT - 1) + 1);
    struct flow flow, mask, other;

    random_packet(w, &flow);
    memset(&mask, 0, sizeof mask);
    struct trule *r = check_against_reference(w, &flow, version, &mask);
    CHECK(w, kit_lookup(w->cls, version, &flow, NULL) == r);
    if (r) {
        struct flow looked_at = r->match.mask;
        looked_at.conj_id = 0;
        CHECK(w, flow_mask_is_subset(&looked_at, &mask));
    }
    for (int i = 0; i < 16; i++) {
        struct flow its = { .recirc_id = 0 };

        if (i < 8) {
            random_packet(w, &other);
        } else { /* Differs in one bit. */
            const struct kit_field *f = &kit_fields[rng_below(&w->rng, KIT_N_FIELDS)];
            size_t bit = rng_below(&w->rng, f->size * 8);
            other = flow;
            ((uint8_t *) &other)[f->offset + bit / 8] ^= 1 << bit % 8;
        }
        kit_merge(&other, &flow, &mask, false);
        CHECK(w, check_against_reference(w, &other, version, &its) == r);
        /* It takes the same way, so it has the same mask: nobody's megaflow overlaps another's with other bits. */
        CHECK(w, !memcmp(&its, &mask, sizeof mask));
        w->n_samples++;
    }
}

static void play(struct world *w, uint64_t seed, bool with_conjs)
{
    w->seed = seed;
    w->rng.state = hash_u64(seed, with_conjs);
    w->with_conjs = with_conjs;
    w->version = 0;
    w->cls = classifier_create();
    for (int i = 0; i < N_MASKS; i++) {
        kit_random_mask(&w->rng, with_conjs ? 2 : 4, &w->masks[i]);
    }
    for (int i = 0; i < 12; i++) {
        next_version(w);
        for (int k = 0; k < 10; k++) {
            check_packet(w);
        }
    }
    while (w->n) {
        drop(w, w->n - 1);
    }
    struct classifier_stats stats;
    classifier_get_stats(w->cls, &stats);
    CHECK(w, !stats.n_rules && !stats.n_subtables);
    classifier_destroy(w->cls);
}

static void run(bool with_conjs)
{
    uint64_t seed = env_number("SLUICE_SEED", 1), n = env_number("SLUICE_SEEDS", 300);
    struct world w = { .n = 0 };

    for (uint64_t i = 0; i < n; i++) {
        play(&w, seed + i, with_conjs);
    }
    rcu_barrier();
    rcu_barrier();
    print_message(
        "seeds %llu to %llu: %lu lookups, %lu found a rule, %lu by a conjunction, %lu samples inside of a mask\n",
        (unsigned long long) seed, (unsigned long long) (seed + n - 1), w.n_lookups, w.n_found, w.n_conj, w.n_samples);
    assert_true(n < 100 || (w.n_found > w.n_lookups / 4 && (!with_conjs || w.n_conj > w.n_lookups / 200)));
}

static void lookups_and_masks_agree_with_the_reference(void **state) { run(false); }
static void conjunctions_agree_with_the_reference(void **state) { run(true); }

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups_and_masks_agree_with_the_reference),
        cmocka_unit_test(conjunctions_agree_with_the_reference),
    };
    rcu_register_thread();
    int n = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return n;
}
