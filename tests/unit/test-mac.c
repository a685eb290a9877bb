/* Unit tests of the MAC learning table: what is found, what is forgotten and when, who is evicted, and that readers
 * never miss an address that is always there while others learn, move, flush and expire. */
#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/mac.h"

#define START UINT64_C(1000000000) /* ms; a machine that has been up for a while. */
#define SEC UINT64_C(1000)

static struct eth_addr addr(uint32_t n) { return (struct eth_addr){ { 0x02, 0, n >> 24, n >> 16, n >> 8, n } }; }

static dep_t deps[MAC_LEARN_DEPS]; /* Of the last learn(). */
static unsigned int n_deps;

static bool learn(struct mac_table *t, uint16_t vlan, uint32_t n, uint32_t bundle, uint64_t now)
{
    rcu_read_lock();
    bool news = mac_table_is_news(t, vlan, addr(n), bundle);
    n_deps = mac_table_learn(t, vlan, addr(n), bundle, now, deps);
    rcu_read_unlock();
    assert_int_equal(news, n_deps != 0); /* One thread: the forecast is exact. */
    return n_deps;
}

static size_t expire(struct mac_table *t, uint64_t now)
{
    struct dep_set changed = { 0 };
    return mac_table_expire(t, now, &changed);
}

static uint32_t lookup(struct mac_table *t, uint16_t vlan, uint32_t n)
{
    rcu_read_lock();
    uint32_t bundle = mac_table_lookup(t, vlan, addr(n));
    rcu_read_unlock();
    return bundle;
}

static struct mac_stats stats(struct mac_table *t)
{
    struct mac_stats s;
    mac_table_get_stats(t, &s);
    return s;
}

static void finish(struct mac_table *t)
{
    mac_table_unref(t);
    rcu_barrier();
}

static void learns_by_vlan_and_address(void **state)
{
    struct mac_table *t = mac_table_create();

    assert_int_equal(lookup(t, 0, 1), 0);
    assert_true(learn(t, 0, 1, 5, START));
    assert_true(learn(t, 4095, 1, 6, START));
    assert_true(learn(t, 0, 2, 7, START));
    assert_false(learn(t, 0, 1, 5, START + 1));
    assert_int_equal(lookup(t, 0, 1), 5);
    assert_int_equal(lookup(t, 4095, 1), 6);
    assert_int_equal(lookup(t, 0, 2), 7);
    assert_int_equal(lookup(t, 1, 1), 0);
    assert_int_equal(stats(t).learned, 3);
    assert_int_equal(stats(t).n_current, 3);
    assert_int_equal(stats(t).n_max, MAC_DEFAULT_MAX);
    finish(t);
}

static void a_moved_address_is_found_at_its_new_bundle(void **state)
{
    struct mac_table *t = mac_table_create();

    learn(t, 3, 1, 5, START);
    learn(t, 3, 2, 5, START);
    assert_true(learn(t, 3, 1, UINT32_MAX, START + 1));
    assert_int_equal(lookup(t, 3, 1), UINT32_MAX);
    assert_int_equal(stats(t).moved, 1);
    assert_int_equal(stats(t).learned, 2);
    assert_int_equal(stats(t).n_current, 2);
    /* It belongs to the new bundle in all respects. */
    assert_int_equal(mac_table_flush_bundle(t, 5), 1);
    assert_int_equal(lookup(t, 3, 1), UINT32_MAX);
    assert_int_equal(lookup(t, 3, 2), 0);
    finish(t);
}

static void entries_expire_to_the_millisecond_and_refreshed_ones_do_not(void **state)
{
    for (uint64_t start = START; start < START + 3 * 8192; start += 1237) {
        struct mac_table *t = mac_table_create();

        mac_table_set_limits(t, 100, 300);
        learn(t, 0, 1, 5, start);
        learn(t, 0, 2, 5, start);
        learn(t, 0, 2, 5, start + 100 * SEC);
        assert_int_equal(expire(t, start + 299999), 0);
        assert_int_equal(expire(t, start + 300000), 1);
        assert_int_equal(lookup(t, 0, 1), 0);
        assert_int_equal(lookup(t, 0, 2), 5);
        assert_int_equal(expire(t, start + 399999), 0);
        assert_int_equal(expire(t, start + 400000), 1);
        assert_int_equal(stats(t).expired, 2);
        assert_int_equal(stats(t).n_current, 0);
        finish(t);
    }
}

/* The model of expiry: an array.  Random traffic with expiry at random, also long apart, and a changing ageing time. */
static void expiry_agrees_with_a_simple_model(void **state)
{
    enum { N = 300 };
    struct mac_table *t = mac_table_create();
    uint64_t seen[N] = { 0 };
    uint64_t now = START;
    uint64_t ageing = 300 * SEC;

    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t r = hash_u64(i, 42);
        uint32_t n = r % N;

        now += r >> 10 & 0x7ff;
        learn(t, 0, n, 1, now);
        seen[n] = now;
        if ((r >> 32) % 50 == 0) {
            static const unsigned int ages[] = { 15, 60, 300, 3600 };
            unsigned int age = ages[(r >> 40) % 4];

            mac_table_set_limits(t, 8192, age);
            ageing = age * SEC;
        }
        if ((r >> 32) % 1000 == 1) {
            now += 5000 * SEC; /* Longer than the wheel. */
        }
        if ((r >> 48) % 16 == 0) {
            size_t expected = 0;
            for (uint32_t k = 0; k < N; k++) {
                if (seen[k] && seen[k] + ageing <= now) {
                    seen[k] = 0;
                    expected++;
                }
            }
            assert_int_equal(expire(t, now), expected);
            for (uint32_t k = 0; k < N; k++) {
                assert_int_equal(lookup(t, 0, k), seen[k] ? 1 : 0);
            }
        }
    }
    finish(t);
}

static void static_entries_never_move_nor_expire_nor_leave(void **state)
{
    struct mac_table *t = mac_table_create();

    mac_table_set_limits(t, 10, 15);
    assert_false(mac_table_add_static(t, 1, addr(1), 5, START));
    assert_false(learn(t, 1, 1, 6, START));
    assert_false(learn(t, 1, 1, 5, START));
    for (uint32_t n = 100; n < 200; n++) {
        learn(t, 1, n, 5, START);
    }
    assert_int_equal(stats(t).n_current, 10);
    assert_int_equal(stats(t).n_static, 1);
    assert_int_equal(mac_table_flush_bundle(t, 5), 9);
    learn(t, 1, 2, 5, START);
    assert_int_equal(mac_table_flush(t), 1);
    assert_int_equal(expire(t, START + 9999 * SEC), 0);
    assert_int_equal(lookup(t, 1, 1), 5);

    assert_true(mac_table_add_static(t, 1, addr(1), 7, START));
    assert_int_equal(lookup(t, 1, 1), 7);
    assert_true(mac_table_del(t, 1, addr(1)));
    assert_false(mac_table_del(t, 1, addr(1)));
    assert_int_equal(lookup(t, 1, 1), 0);
    assert_int_equal(stats(t).n_current, 0);
    finish(t);
}

static void a_learned_entry_becomes_static_in_its_place(void **state)
{
    struct mac_table *t = mac_table_create();

    learn(t, 1, 1, 5, START);
    assert_true(mac_table_add_static(t, 1, addr(1), 6, START));
    assert_int_equal(lookup(t, 1, 1), 6);
    assert_int_equal(stats(t).n_current, 1);
    assert_int_equal(stats(t).n_static, 1);
    assert_int_equal(expire(t, START + 9999 * SEC), 0);
    assert_int_equal(mac_table_flush_bundle(t, 5) + mac_table_flush_bundle(t, 6) + mac_table_flush(t), 0);
    assert_int_equal(lookup(t, 1, 1), 6);
    /* A learned one is deleted by fdb/del as well. */
    learn(t, 1, 2, 5, START);
    assert_true(mac_table_del(t, 1, addr(2)));
    finish(t);
}

static void a_table_full_of_static_entries_learns_nothing(void **state)
{
    struct mac_table *t = mac_table_create();

    mac_table_set_limits(t, 10, 300);
    for (uint32_t n = 0; n < 12; n++) { /* The operator may exceed the limit. */
        mac_table_add_static(t, 0, addr(n), 1, START);
    }
    assert_int_equal(stats(t).n_current, 12);
    assert_false(learn(t, 0, 100, 2, START));
    assert_int_equal(lookup(t, 0, 100), 0);
    mac_table_set_limits(t, 11, 300);
    assert_int_equal(stats(t).n_current, 12);
    for (uint32_t n = 0; n < 3; n++) {
        mac_table_del(t, 0, addr(n));
    }
    assert_true(learn(t, 0, 100, 2, START));
    assert_true(learn(t, 0, 101, 2, START));
    assert_true(learn(t, 0, 102, 3, START)); /* Full again: evicts. */
    assert_int_equal(stats(t).n_current, 11);
    assert_int_equal(stats(t).evicted, 1);
    assert_int_equal(lookup(t, 0, 100), 0);
    finish(t);
}

static void a_flooding_port_evicts_its_own_addresses(void **state)
{
    struct mac_table *t = mac_table_create();
    uint32_t flood = 1000000;

    mac_table_set_limits(t, 1000, 300);
    for (uint32_t n = 0; n < 99; n++) {
        learn(t, 0, n, 1 + n % 9, START);
    }
    for (uint32_t n = 0; n < 20000; n++) {
        assert_true(learn(t, 0, flood + n, 10, START + n));
    }
    for (uint32_t n = 0; n < 99; n++) {
        assert_int_equal(lookup(t, 0, n), 1 + n % 9);
    }
    /* Of the flood the youngest are there. */
    assert_int_equal(stats(t).n_current, 1000);
    assert_int_equal(stats(t).evicted, 99 + 20000 - 1000);
    assert_int_equal(lookup(t, 0, flood + 20000 - 901), 10);
    assert_int_equal(lookup(t, 0, flood + 20000 - 902), 0);
    /* A newcomer gets room at the cost of who has most. */
    assert_true(learn(t, 0, 500, 77, START));
    assert_int_equal(lookup(t, 0, 500), 77);
    assert_int_equal(lookup(t, 0, flood + 20000 - 901), 0);
    finish(t);
}

static void two_flooding_ports_share_the_table(void **state)
{
    struct mac_table *t = mac_table_create();
    size_t count[3] = { 0, 0, 0 };

    mac_table_set_limits(t, 1000, 300);
    for (uint32_t n = 0; n < 10000; n++) {
        learn(t, 0, n, n < 5000 ? 1 : 1 + n % 2, START + n);
    }
    for (uint32_t n = 0; n < 10000; n++) {
        count[lookup(t, 0, n)]++;
    }
    assert_in_range(count[1], 499, 501);
    assert_int_equal(count[1] + count[2], 1000);
    finish(t);
}

static void addresses_in_use_get_a_second_chance(void **state)
{
    struct mac_table *t = mac_table_create();

    mac_table_set_limits(t, 100, 300);
    for (uint32_t n = 0; n < 100; n++) {
        learn(t, 0, n, 1, START);
    }
    for (uint32_t n = 0; n < 10; n++) {
        learn(t, 0, n, 1, START + 1);
    }
    for (uint32_t n = 1000; n < 1090; n++) {
        learn(t, 0, n, 1, START + 2);
    }
    for (uint32_t n = 0; n < 100; n++) {
        assert_int_equal(lookup(t, 0, n), n < 10 ? 1 : 0);
    }
    finish(t);
}

static void eviction_works_when_all_are_in_use(void **state)
{
    struct mac_table *t = mac_table_create();

    mac_table_set_limits(t, 10, 300);
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t n = 0; n < 12; n++) {
            learn(t, 0, n, 1, START + 20 * round + n);
        }
        assert_int_equal(stats(t).n_current, 10);
        assert_int_equal(lookup(t, 0, 11), 1); /* What was just learned is there. */
    }
    finish(t);
}

static void limits_are_clamped_and_a_lower_one_evicts_at_once(void **state)
{
    struct mac_table *t = mac_table_create();

    for (uint32_t n = 0; n < 5000; n++) {
        learn(t, 0, n, 1 + n % 7, START + n);
    }
    mac_table_set_limits(t, 100, 300);
    assert_int_equal(stats(t).n_current, 100);
    assert_int_equal(stats(t).n_max, 100);
    assert_int_equal(stats(t).evicted, 4900);
    assert_int_equal(lookup(t, 0, 4999), 1 + 4999 % 7);
    mac_table_set_limits(t, 0, 1);
    assert_int_equal(stats(t).n_max, 10);
    assert_int_equal(expire(t, START + 14999), 0); /* 15 s at least. */
    mac_table_set_limits(t, SIZE_MAX, UINT32_MAX);
    assert_int_equal(stats(t).n_max, 1000000);
    assert_int_equal(expire(t, START + 3600 * SEC - 1), 0);
    assert_int_equal(expire(t, START + 3600 * SEC + 5000), 10);
    finish(t);
}

struct dumped {
    struct mac_info info[16];
    size_t n;
};
static void dump_cb(const struct mac_info *info, void *aux)
{
    struct dumped *d = aux;
    assert_true(d->n < ARRAY_SIZE(d->info));
    d->info[d->n++] = *info;
}

static void a_dump_tells_all_oldest_first(void **state)
{
    struct mac_table *t = mac_table_create();
    struct dumped d = { .n = 0 };

    learn(t, 10, 3, 5, START);
    learn(t, 10, 2, 6, START);
    learn(t, 9, 9, 6, START);
    learn(t, 0, 7, 7, START + 50 * SEC);
    mac_table_add_static(t, 4095, addr(8), 8, START + 60 * SEC);
    learn(t, 10, 3, 5, START + 99 * SEC);
    mac_table_dump(t, START + 100 * SEC + 1, dump_cb, &d);
    assert_int_equal(d.n, 5);
    static const struct {
        uint16_t vlan;
        uint32_t n, bundle, age;
        bool is_static;
    } expected[] = {
        { 9, 9, 6, 100, false },  { 10, 2, 6, 100, false }, { 0, 7, 7, 50, false },
        { 4095, 8, 8, 40, true }, { 10, 3, 5, 1, false },
    };
    for (size_t i = 0; i < d.n; i++) {
        assert_int_equal(d.info[i].vlan, expected[i].vlan);
        assert_true(eth_addr_eq(d.info[i].mac, addr(expected[i].n)));
        assert_int_equal(d.info[i].bundle, expected[i].bundle);
        assert_int_equal(d.info[i].age_sec, expected[i].age);
        assert_int_equal(d.info[i].is_static, expected[i].is_static);
    }
    mac_table_clear_stats(t);
    assert_int_equal(stats(t).learned, 0);
    assert_int_equal(stats(t).n_current, 5);
    finish(t);
}

static void a_flush_takes_all_that_was_learned(void **state)
{
    struct mac_table *t = mac_table_create();

    for (uint32_t n = 0; n < 3000; n++) {
        learn(t, n % 3, n, 1 + n % 5, START);
    }
    assert_int_equal(mac_table_flush_bundle(t, 2), 600);
    assert_int_equal(mac_table_flush_bundle(t, 2), 0);
    assert_int_equal(mac_table_flush(t), 2400);
    assert_int_equal(stats(t).n_current, 0);
    learn(t, 0, 1, 2, START);
    assert_int_equal(lookup(t, 0, 1), 2);
    finish(t);
}

/* The last learn() told exactly of the addresses 0 to N, in VLAN 0, of which lookups see something else than BEFORE. */
static void check_deps(struct mac_table *t, const uint32_t *before, uint32_t n)
{
    unsigned int n_changed = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (lookup(t, 0, k) != before[k]) {
            dep_t dep = mac_table_dep(t, 0, addr(k));
            assert_true(n_changed < n_deps && (dep == deps[0] || dep == deps[n_deps - 1]));
            n_changed++;
        }
    }
    assert_int_equal(n_changed, n_deps);
}

static void expiry_tells_what_depended_on_what_it_removed(void **state)
{
    enum { N = 500 };
    struct mac_table *t = mac_table_create();
    struct dep_set changed = { 0 }, taken = { 0 };

    for (uint32_t n = 0; n < N; n++) {
        learn(t, 0, n, 1, START + (n % 2 ? 0 : 200 * SEC));
    }
    assert_int_equal(mac_table_expire(t, START + 300 * SEC, &changed), N / 2);
    dep_set_take(&taken, &changed);
    unsigned int n_hit = 0;
    for (uint32_t n = 0; n < N; n++) {
        bool hit = dep_set_hits(&taken, &(struct dep_list) { 1, { mac_table_dep(t, 0, addr(n)) } });
        assert_true(hit || !(n % 2));
        n_hit += hit;
    }
    assert_true(n_hit < N / 2 + 10); /* Few share a number with one that went: 250 in 65,536. */
    finish(t);
}

/* Random operations; after each the counts by bundle must be those of a model, and the invariant of eviction hold: no
 * victim's bundle held less than another. */
static void random_changes_keep_the_counts_right(void **state)
{
    enum { N = 64, B = 8, LIMIT = 40 };
    struct mac_table *t = mac_table_create();

    mac_table_set_limits(t, LIMIT, 3600);
    for (uint32_t i = 0; i < 30000; i++) {
        uint64_t r = hash_u64(i, 7);
        uint32_t n = (r >> 8) % N, bundle = 1 + (r >> 16) % B;
        uint32_t before[N];
        size_t held[B + 1] = { 0 }, total = 0;

        for (uint32_t k = 0; k < N; k++) {
            before[k] = lookup(t, 0, k);
            held[before[k]] += before[k] != 0;
        }
        if (r % 32 == 0) {
            assert_int_equal(mac_table_flush_bundle(t, bundle), held[bundle]);
        } else if (r % 32 < 4) {
            assert_int_equal(mac_table_del(t, 0, addr(n)), before[n] != 0);
        } else {
            assert_int_equal(learn(t, 0, n, bundle, START + i), before[n] != bundle);
            assert_int_equal(lookup(t, 0, n), bundle);
            check_deps(t, before, N);
            held[bundle] += before[n] == 0;
            for (uint32_t k = 0; k < N; k++) {
                if (before[k] && k != n && !lookup(t, 0, k)) {
                    for (uint32_t b = 1; b <= B; b++) {
                        assert_true(held[before[k]] >= held[b]);
                    }
                }
            }
        }
        for (uint32_t k = 0; k < N; k++) {
            total += lookup(t, 0, k) != 0;
        }
        assert_int_equal(stats(t).n_current, total);
        assert_true(total <= LIMIT);
    }
    finish(t);
}

/* The stress: addresses below ALWAYS are learned at one of two bundles over and over, and nothing may remove them; the
 * others come and go by flood, flush, expiry and deletion. */
#define N_THREADS 16
#define ALWAYS 32
#define ROUNDS 4000

struct stress {
    struct mac_table *t;
    uint64_t now;
    unsigned int missing, wrong;
    unsigned int writing; /* Threads; the others read as long as there are any. */
};
struct stress_thread {
    struct stress *s;
    uint32_t id;
};

static void stress_read(struct stress *s, uint32_t i)
{
    uint64_t r = hash_u64(i, 1);

    rcu_read_lock();
    for (uint32_t n = 0; n < ALWAYS; n++) {
        uint32_t bundle = mac_table_lookup(s->t, 1, addr(n));
        if (!bundle) {
            __atomic_add_fetch(&s->missing, 1, __ATOMIC_RELAXED);
        } else if (bundle != 1 && bundle != 2) {
            __atomic_add_fetch(&s->wrong, 1, __ATOMIC_RELAXED);
        }
    }
    mac_table_is_news(s->t, 2, addr(r % 5000), 3);
    rcu_read_unlock();
}

static void count_cb(const struct mac_info *info, void *aux) { *(size_t *) aux += info->bundle != 0; }

static void stress_write(struct stress *s, uint32_t id, uint32_t i)
{
    uint64_t r = hash_u64(i, id);
    uint64_t now = __atomic_add_fetch(&s->now, 1, __ATOMIC_RELAXED);

    rcu_read_lock();
    dep_t ret_deps[MAC_LEARN_DEPS];
    mac_table_learn(s->t, 1, addr(r % ALWAYS), 1 + (r >> 8) % 2, now, ret_deps);
    for (uint32_t k = 0; k < 8; k++) {
        mac_table_learn(s->t, 2, addr((r >> 16) % 5000 + k), 3 + id, now, ret_deps);
    }
    rcu_read_unlock();
    if (r % 64 == 0) {
        mac_table_flush_bundle(s->t, 3 + (r >> 40) % N_THREADS);
    } else if (r % 64 == 1) {
        mac_table_del(s->t, 2, addr((r >> 16) % 5000));
    } else if (r % 64 == 2) {
        mac_table_add_static(s->t, 3, addr((r >> 16) % 20), 3 + id, now);
        mac_table_del(s->t, 3, addr((r >> 24) % 20));
    } else if (id == 1 && r % 64 == 3) {
        /* Nothing in VLAN 1 is as old as that: no time passes but for the count above. */
        expire(s->t, now);
    } else if (r % 64 == 4) {
        size_t n = 0;
        mac_table_dump(s->t, now, count_cb, &n);
        __atomic_add_fetch(&s->wrong, n < ALWAYS, __ATOMIC_RELAXED);
    } else if (id == 1 && r % 256 == 5) {
        mac_table_set_limits(s->t, r & 256 ? 1000 : 600, 300);
    }
}

static void *stress_main(void *arg)
{
    struct stress_thread *th = arg;

    rcu_register_thread();
    if (th->id % 2) {
        for (uint32_t i = 0; i < ROUNDS; i++) {
            stress_write(th->s, th->id, i);
        }
        __atomic_sub_fetch(&th->s->writing, 1, __ATOMIC_RELAXED);
    } else {
        for (uint32_t i = 0; __atomic_load_n(&th->s->writing, __ATOMIC_RELAXED); i++) {
            stress_read(th->s, i);
        }
    }
    rcu_unregister_thread();
    return NULL;
}

static void readers_never_miss_an_address_that_stays(void **state)
{
    struct stress s = { .t = mac_table_create(), .now = START, .writing = N_THREADS / 2 };
    struct stress_thread th[N_THREADS];
    pthread_t ids[N_THREADS];

    mac_table_set_limits(s.t, 1000, 300);
    for (uint32_t n = 0; n < ALWAYS; n++) {
        learn(s.t, 1, n, 1, START);
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        th[i] = (struct stress_thread){ &s, i };
        assert_int_equal(pthread_create(&ids[i], NULL, stress_main, &th[i]), 0);
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        pthread_join(ids[i], NULL);
    }
    assert_int_equal(s.missing, 0);
    assert_int_equal(s.wrong, 0);

    /* What is counted is there. */
    size_t n = 0;
    mac_table_dump(s.t, START, count_cb, &n);
    assert_int_equal(stats(s.t).n_current, n);
    assert_true(n <= 1000);
    size_t n_static = stats(s.t).n_static;
    assert_int_equal(mac_table_flush(s.t), n - n_static);
    assert_int_equal(stats(s.t).n_current, n_static);
    finish(s.t);
}

static void a_table_lives_as_long_as_it_is_referred_to(void **state)
{
    struct mac_table *t = mac_table_create();
    struct mac_table *t2 = mac_table_ref(t);

    learn(t, 0, 1, 1, START);
    mac_table_unref(t);
    rcu_barrier();
    assert_int_equal(lookup(t2, 0, 1), 1);
    finish(t2);
    mac_table_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_by_vlan_and_address),
        cmocka_unit_test(a_moved_address_is_found_at_its_new_bundle),
        cmocka_unit_test(entries_expire_to_the_millisecond_and_refreshed_ones_do_not),
        cmocka_unit_test(expiry_agrees_with_a_simple_model),
        cmocka_unit_test(static_entries_never_move_nor_expire_nor_leave),
        cmocka_unit_test(a_learned_entry_becomes_static_in_its_place),
        cmocka_unit_test(a_table_full_of_static_entries_learns_nothing),
        cmocka_unit_test(a_flooding_port_evicts_its_own_addresses),
        cmocka_unit_test(two_flooding_ports_share_the_table),
        cmocka_unit_test(addresses_in_use_get_a_second_chance),
        cmocka_unit_test(eviction_works_when_all_are_in_use),
        cmocka_unit_test(limits_are_clamped_and_a_lower_one_evicts_at_once),
        cmocka_unit_test(a_dump_tells_all_oldest_first),
        cmocka_unit_test(a_flush_takes_all_that_was_learned),
        cmocka_unit_test(random_changes_keep_the_counts_right),
        cmocka_unit_test(expiry_tells_what_depended_on_what_it_removed),
        cmocka_unit_test(readers_never_miss_an_address_that_stays),
        cmocka_unit_test(a_table_lives_as_long_as_it_is_referred_to),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return failed;
}
