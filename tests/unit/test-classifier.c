/* Unit tests of the classifier: versions, priorities, what each way of narrowing a mask gives, conjunctions as ovs-fields(7) tells them, and
 * finding rules by their matches; and of its parts, tries and hash tables, against simple models. */
#include <config.h>

#include "ofproto/classifier-slots.h"
#include "ofproto/classifier-trie.h"
#include "tests/unit/classifier-kit.h"

static struct match any(void) { return (struct match){ .flow = { .recirc_id = 0 } }; }

/* Sets FIELD of match M to VALUE, under all bits. */
#define EXACT(M, FIELD, VALUE)                                                                                         \
    do {                                                                                                               \
        (M)->flow.FIELD = (VALUE);                                                                                     \
        FLOW_MASK_FIELD(&(M)->mask, FIELD);                                                                            \
    } while (0)

static be32 ip(unsigned int a, unsigned int b, unsigned int c, unsigned int d)
{
    return __builtin_bswap32(a << 24 | b << 16 | c << 8 | d);
}
static be16 be(uint16_t v) { return __builtin_bswap16(v); }
static be32 leading(unsigned int n) { return n ? __builtin_bswap32(UINT32_MAX << (32 - n)) : 0; }

static void set_dst(struct match *m, be32 dst, unsigned int plen)
{
    EXACT(m, eth_type, be(ETH_TYPE_IPV4));
    m->mask.ip_dst = leading(plen);
    m->flow.ip_dst = dst & m->mask.ip_dst;
}

static struct trule *add(struct classifier *cls, const struct match *m, int priority, uint64_t version)
{
    struct trule *r = trule_create(m, priority, NULL, 0);
    classifier_insert(cls, &r->cr, version);
    return r;
}

static struct trule *add_clause(struct classifier *cls, const struct match *m, int priority, uint32_t id, uint8_t k,
                                uint8_t n)
{
    struct cls_conj conj = { .id = id, .clause = k - 1, .n_clauses = n };
    struct trule *r = trule_create(m, priority, &conj, 1);
    classifier_insert(cls, &r->cr, 0);
    return r;
}

static bool retire_one(struct cls_rule *cr, void *cls)
{
    classifier_remove(cr, 0);
    classifier_retire(cls, cr, trule_free);
    return true;
}

/* Takes all visible rules out, and sees that nothing stays. */
static void finish(struct classifier *cls, uint64_t version)
{
    rcu_read_lock();
    classifier_for_each(cls, NULL, version, retire_one, cls);
    rcu_read_unlock();
    rcu_barrier();
    struct classifier_stats stats;
    classifier_get_stats(cls, &stats);
    assert_int_equal(stats.n_rules, 0);
    assert_int_equal(stats.n_subtables, 0);
    classifier_destroy(cls);
    rcu_barrier();
}

static struct trule *find(struct classifier *cls, const struct match *m, int priority, uint64_t version)
{
    rcu_read_lock();
    struct trule *r = trule_of(classifier_find_exactly(cls, m, priority, version));
    rcu_read_unlock();
    return r;
}

static void the_highest_priority_wins_and_an_empty_match_meets_all(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();
    struct flow flow = { .in_port = { 7 } }, mask = { .recirc_id = 0 };

    assert_null(kit_lookup(cls, 0, &flow, &mask));
    struct trule *all = add(cls, &m, 0, 0);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, &mask), all);
    assert_memory_equal(&mask, &m.mask, sizeof mask);
    EXACT(&m, in_port, (odp_port_t){ 7 });
    struct trule *low = add(cls, &m, 1, 0), *high = add(cls, &m, 70000, 0), *middle = add(cls, &m, 65535, 0);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, &mask), high);
    assert_int_equal(mask.in_port.n, UINT32_MAX);
    classifier_expunge(cls, &high->cr);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), middle);
    classifier_expunge(cls, &middle->cr);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), low);
    flow.in_port.n = 8;
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), all);
    synchronize_rcu();
    trule_free(&high->cr);
    trule_free(&middle->cr);
    finish(cls, 0);
}

static void a_rule_is_seen_in_its_versions_only(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();
    struct flow flow = { .recirc_id = 0 };

    struct trule *old = add(cls, &m, 5, 10), *new = trule_create(&m, 5, NULL, 0);
    classifier_replace(cls, &old->cr, &new->cr, 20);
    assert_null(kit_lookup(cls, 9, &flow, NULL));
    assert_ptr_equal(kit_lookup(cls, 10, &flow, NULL), old);
    assert_ptr_equal(kit_lookup(cls, 19, &flow, NULL), old);
    assert_ptr_equal(kit_lookup(cls, 20, &flow, NULL), new);
    assert_ptr_equal(find(cls, &m, 5, 19), old);
    assert_ptr_equal(find(cls, &m, 5, 20), new);
    /* Taken back. */
    classifier_restore(&old->cr);
    classifier_expunge(cls, &new->cr);
    assert_ptr_equal(kit_lookup(cls, 20, &flow, NULL), old);
    synchronize_rcu();
    trule_free(&new->cr);
    finish(cls, 20);
}

static void retired_rules_are_freed_even_after_the_classifier_was_destroyed(void **state)
{
    struct classifier *cls = classifier_create();

    for (uint32_t i = 0; i < 100; i++) {
        struct match m = any();
        EXACT(&m, pkt_mark, i);
        set_dst(&m, ip(10, 0, 0, i), i % 33);
        struct trule *r = add(cls, &m, i, 0);
        classifier_remove(&r->cr, 1);
        classifier_retire(cls, &r->cr, trule_free);
    }
    classifier_destroy(cls);
    rcu_barrier();
    rcu_barrier();
    rcu_barrier();
}

static void lower_priorities_leave_no_trace_in_the_mask(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();

    EXACT(&m, ofp_in_port, be(1));
    struct trule *high = add(cls, &m, 10, 0);
    EXACT(&m, eth_dst, ((struct eth_addr){ { 2, 0, 0, 0, 0, 1 } }));
    add(cls, &m, 10, 0); /* As high: who is found first wins. */
    add(cls, &m, 9, 0);
    struct flow flow = m.flow, mask = { .recirc_id = 0 }, expected = { .recirc_id = 0 };
    assert_ptr_equal(kit_lookup(cls, 0, &flow, &mask), high);
    FLOW_MASK_FIELD(&expected, ofp_in_port);
    assert_memory_equal(&mask, &expected, sizeof mask);
    finish(cls, 0);
}

/* A rule with a field of each stage; packets differ from it in one of them. */
static void a_miss_looks_at_no_later_stage(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();

    EXACT(&m, metadata, 5);
    EXACT(&m, tunnel.tun_id, 6);
    EXACT(&m, ct_state, 7);
    EXACT(&m, eth_type, be(ETH_TYPE_IPV4));
    EXACT(&m, ip_proto, 6);
    EXACT(&m, tcp_flags, be(2));
    struct trule *r = add(cls, &m, 1, 0);

    struct flow expected = { .recirc_id = 0 };
    for (int stage = 0; stage < 4; stage++) {
        struct flow flow = m.flow, mask = { .recirc_id = 0 };
        if (stage == 0) {
            flow.tunnel.tun_id++;
            FLOW_MASK_FIELD(&expected, metadata);
            FLOW_MASK_FIELD(&expected, tunnel.tun_id);
            FLOW_MASK_FIELD(&expected, ct_state);
        } else if (stage == 1) {
            flow.eth_type++;
            FLOW_MASK_FIELD(&expected, eth_type);
        } else if (stage == 2) {
            flow.ip_proto++;
            FLOW_MASK_FIELD(&expected, ip_proto);
        } else {
            flow.tcp_flags++;
            FLOW_MASK_FIELD(&expected, tcp_flags);
        }
        assert_null(kit_lookup(cls, 0, &flow, &mask));
        assert_memory_equal(&mask, &expected, sizeof mask);
    }
    struct flow mask = { .recirc_id = 0 };
    assert_ptr_equal(kit_lookup(cls, 0, &m.flow, &mask), r);
    assert_memory_equal(&mask, &m.mask, sizeof mask);
    finish(cls, 0);
}

/* Fields of two stages in one 64-bit word: the first stage takes its own bits only. */
static void stages_that_share_a_word_are_told_apart(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();

    assert_int_equal(offsetof(struct flow, ct_orig_tp_dst) / 8, offsetof(struct flow, eth_src) / 8);
    EXACT(&m, ct_orig_tp_dst, be(1));
    EXACT(&m, eth_src, ((struct eth_addr){ { 1, 2, 3, 4, 5, 6 } }));
    struct trule *r = add(cls, &m, 1, 0);
    struct flow flow = m.flow, mask = { .recirc_id = 0 }, expected = { .recirc_id = 0 };
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), r);
    flow.ct_orig_tp_dst = 0;
    assert_null(kit_lookup(cls, 0, &flow, &mask));
    FLOW_MASK_FIELD(&expected, ct_orig_tp_dst);
    assert_memory_equal(&mask, &expected, sizeof mask);

    struct match back;
    cls_rule_get_match(&r->cr, &back);
    assert_memory_equal(&back, &m, sizeof m);
    finish(cls, 0);
}

static unsigned int dst_bits(const struct classifier *cls, be32 dst)
{
    struct flow flow = { .eth_type = be(ETH_TYPE_IPV4), .ip_dst = dst }, mask = { .recirc_id = 0 };

    kit_lookup(cls, 0, &flow, &mask);
    unsigned int n = __builtin_popcount(mask.ip_dst);
    assert_int_equal(mask.ip_dst, leading(n));
    return n;
}

static void addresses_are_looked_at_as_far_as_prefixes_need(void **state)
{
    struct classifier *cls = classifier_create();
    struct match a = any(), b = any(), c = any();

    set_dst(&a, ip(192, 168, 0, 0), 16);
    add(cls, &a, 1, 0);
    assert_int_equal(dst_bits(cls, ip(192, 168, 1, 1)), 16);
    assert_int_equal(dst_bits(cls, ip(10, 0, 0, 1)), 1);  /* 0... */
    assert_int_equal(dst_bits(cls, ip(224, 0, 0, 1)), 3); /* 111.. instead of 110.. */
    assert_int_equal(dst_bits(cls, ip(192, 169, 0, 1)), 16);
    set_dst(&b, ip(192, 168, 7, 0), 24);
    add(cls, &b, 2, 0);
    assert_int_equal(dst_bits(cls, ip(192, 168, 7, 1)), 24);
    assert_int_equal(dst_bits(cls, ip(192, 168, 128, 1)), 17); /* Met the /16; its next bit excludes the /24. */
    assert_int_equal(dst_bits(cls, ip(192, 168, 6, 1)), 24);
    assert_int_equal(dst_bits(cls, ip(10, 0, 0, 1)), 1);
    set_dst(&c, ip(10, 1, 2, 3), 32); /* The trie branches at its first bit. */
    struct trule *r = add(cls, &c, 3, 0);
    assert_int_equal(dst_bits(cls, ip(192, 168, 7, 1)), 24);
    assert_int_equal(dst_bits(cls, ip(10, 1, 2, 3)), 32);
    assert_int_equal(dst_bits(cls, ip(10, 128, 0, 0)), 9);
    classifier_expunge(cls, &r->cr);
    assert_int_equal(dst_bits(cls, ip(10, 1, 2, 3)), 1);
    synchronize_rcu();
    trule_free(&r->cr);

    /* Of another Ethernet type, no address is looked at. */
    struct flow flow = { .eth_type = be(ETH_TYPE_ARP), .ip_dst = ip(192, 168, 7, 1) }, mask = { .recirc_id = 0 };
    assert_null(kit_lookup(cls, 0, &flow, &mask));
    assert_int_equal(mask.ip_dst, 0);
    assert_int_equal(mask.eth_type, UINT16_MAX);
    finish(cls, 0);
}

static void ports_are_tracked_as_prefixes_too(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();

    EXACT(&m, eth_type, be(ETH_TYPE_IPV4));
    EXACT(&m, ip_proto, 6);
    EXACT(&m, tp_dst, be(80));
    add(cls, &m, 1, 0);
    struct flow flow = m.flow, mask = { .recirc_id = 0 };
    flow.tp_dst = be(0x8001);
    assert_null(kit_lookup(cls, 0, &flow, &mask));
    assert_int_equal(mask.tp_dst, be(0x8000));
    assert_int_equal(mask.ip_proto, UINT8_MAX); /* Else the kernel could not match the port. */
    finish(cls, 0);
}

/* The example of ovs-fields(7). */
static void a_conjunction_is_met_when_all_its_clauses_are(void **state)
{
    static const unsigned int src[] = { 1, 4, 6, 7 }, dst[] = { 2, 5, 7, 8 };
    struct classifier *cls = classifier_create();
    struct match m = any();

    EXACT(&m, conj_id, __builtin_bswap32(1234));
    struct trule *r = add(cls, &m, 3, 0);
    for (int i = 0; i < 4; i++) {
        m = any();
        EXACT(&m, eth_type, be(ETH_TYPE_IPV4));
        EXACT(&m, ip_src, ip(10, 0, 0, src[i]));
        add_clause(cls, &m, 10, 1234, 1, 2);
        m = any();
        set_dst(&m, ip(10, 0, 0, dst[i]), 32);
        add_clause(cls, &m, 10, 1234, 2, 2);
    }
    struct flow flow = { .eth_type = be(ETH_TYPE_IPV4) };
    for (unsigned int s = 0; s < 10; s++) {
        for (unsigned int d = 0; d < 10; d++) {
            struct flow mask = { .recirc_id = 0 };
            bool meets = (s == 1 || s == 4 || s == 6 || s == 7) && (d == 2 || d == 5 || d == 7 || d == 8);
            flow.ip_src = ip(10, 0, 0, s);
            flow.ip_dst = ip(10, 0, 0, d);
            assert_ptr_equal(kit_lookup(cls, 0, &flow, &mask), meets ? r : NULL);
            assert_true(!meets || (mask.ip_src == UINT32_MAX && mask.ip_dst == UINT32_MAX));
        }
    }

    /* An ordinary rule of the same priority, or a higher one, comes first; a lower one does not. */
    flow.ip_src = ip(10, 0, 0, 1);
    flow.ip_dst = ip(10, 0, 0, 2);
    m = any();
    add(cls, &m, 2, 0);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), r);
    struct trule *same = add(cls, &m, 10, 0);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), same);
    EXACT(&m, conj_id, __builtin_bswap32(1234));
    add(cls, &m, 20, 0); /* Nor is it the id's rule whose priority counts. */
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), same);
    finish(cls, 0);
}

static void without_a_rule_for_its_id_a_conjunction_is_not_met(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any();
    struct flow flow = { .in_port = { 1 }, .pkt_mark = 2 };

    EXACT(&m, in_port, (odp_port_t){ 1 });
    add_clause(cls, &m, 10, 1, 1, 2);
    add_clause(cls, &m, 9, 2, 1, 2);
    m = any();
    EXACT(&m, pkt_mark, 2);
    add_clause(cls, &m, 10, 1, 2, 2);
    add_clause(cls, &m, 9, 2, 2, 2);
    assert_null(kit_lookup(cls, 0, &flow, NULL));
    m = any();
    EXACT(&m, conj_id, __builtin_bswap32(2));
    struct trule *second = add(cls, &m, 1, 0);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), second);
    /* Its clauses do not meet the search for the id. */
    m = any();
    EXACT(&m, conj_id, __builtin_bswap32(1));
    add_clause(cls, &m, 10, 3, 1, 2);
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), second);
    finish(cls, 0);
}

/* More clauses than a lookup has room for. */
static void hundreds_of_clauses_may_match_one_packet(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m;

    for (uint32_t i = 0; i < 300; i++) {
        m = any();
        m.mask.pkt_mark = i + 1;
        add_clause(cls, &m, 10, i, 1 + i % 2, 2);
    }
    m = any();
    m.mask.metadata = 1;
    add_clause(cls, &m, 10, 77, 1, 2);
    m = any();
    EXACT(&m, conj_id, __builtin_bswap32(77));
    struct trule *r = add(cls, &m, 1, 0);
    struct flow flow = { .recirc_id = 0 };
    assert_ptr_equal(kit_lookup(cls, 0, &flow, NULL), r);
    flow.metadata = 1;
    assert_null(kit_lookup(cls, 0, &flow, NULL));
    finish(cls, 0);
}

static bool count_cb(struct cls_rule *cr, void *n)
{
    ++*(unsigned int *) n;
    return *(unsigned int *) n < 100;
}

static unsigned int count(const struct classifier *cls, const struct match *target, uint64_t version)
{
    unsigned int n = 0;

    rcu_read_lock();
    classifier_for_each(cls, target, version, count_cb, &n);
    rcu_read_unlock();
    return n;
}

static void loose_matches_and_overlaps_are_found(void **state)
{
    struct classifier *cls = classifier_create();
    struct match m = any(), wide = any(), narrow = any();

    set_dst(&wide, ip(10, 0, 0, 0), 8);
    set_dst(&narrow, ip(10, 1, 1, 1), 32);
    set_dst(&m, ip(10, 1, 0, 0), 16);
    add(cls, &m, 5, 1);
    assert_int_equal(count(cls, NULL, 1), 1);
    assert_int_equal(count(cls, NULL, 0), 0);
    assert_int_equal(count(cls, &wide, 1), 1);
    assert_int_equal(count(cls, &m, 1), 1);
    assert_int_equal(count(cls, &narrow, 1), 0);
    set_dst(&wide, ip(11, 0, 0, 0), 8);
    assert_int_equal(count(cls, &wide, 1), 0);

    rcu_read_lock();
    assert_true(classifier_overlaps(cls, &narrow, 5, 1));
    assert_false(classifier_overlaps(cls, &narrow, 5, 0));
    assert_false(classifier_overlaps(cls, &narrow, 4, 1));
    assert_false(classifier_overlaps(cls, &wide, 5, 1));
    m = any();
    EXACT(&m, tp_src, be(5));
    assert_true(classifier_overlaps(cls, &m, 5, 1)); /* Different fields. */
    rcu_read_unlock();
    for (uint32_t i = 0; i < 200; i++) {
        EXACT(&m, metadata, i);
        add(cls, &m, i, 0);
    }
    assert_int_equal(count(cls, NULL, 0), 100); /* It stops when told to. */
    finish(cls, 1);
}

/* Finding by match against the plain meaning, over random rules. */
static void finds_agree_with_a_walk_over_all_rules(void **state)
{
    uint64_t seed = env_number("SLUICE_SEED", 1);
    struct rng rng = { hash_u64(seed, 7) };
    struct classifier *cls = classifier_create();
    struct trule *rules[400];
    struct flow masks[10];

    print_message("seed %llu\n", (unsigned long long) seed);
    for (int i = 0; i < 10; i++) {
        kit_random_mask(&rng, 4, &masks[i]);
    }
    for (size_t n = 0; n < ARRAY_SIZE(rules); n++) {
        struct match m = { .mask = masks[rng_below(&rng, 10)] };
        kit_random_flow(&rng, &m.flow);
        flow_apply_mask(&m.flow, &m.mask);
        int priority = rng_below(&rng, 4);

        size_t exact = 0, overlap = 0, loose = 0;
        for (size_t i = 0; i < n; i++) {
            const struct match *o = &rules[i]->match;
            struct flow both = o->mask;
            flow_apply_mask(&both, &m.mask);
            bool same = !memcmp(o, &m, sizeof m), agree = flow_equal_masked(&o->flow, &m.flow, &both);
            exact += same && rules[i]->priority == priority;
            overlap += agree && rules[i]->priority == priority;
            loose += agree && flow_mask_is_subset(&m.mask, &o->mask);
        }
        struct trule *found = find(cls, &m, priority, 0);
        assert_int_equal(found != NULL, exact);
        assert_true(!found || cls_rule_equals(&found->cr, &m, priority));
        assert_int_equal(count(cls, &m, 0), MIN(loose, 100));
        rcu_read_lock();
        assert_int_equal(classifier_overlaps(cls, &m, priority, 0), overlap != 0);
        rcu_read_unlock();
        if (found) {
            priority = 10 + n; /* None twice. */
        }
        rules[n] = add(cls, &m, priority, 0);
    }
    finish(cls, 0);
}

/* Prefixes, as a list; what a walk tells is checked by its meaning. */
static void a_trie_tells_lengths_and_bits_as_a_list_does(void **state)
{
    enum { N = 60 };
    uint64_t seed = env_number("SLUICE_SEED", 1);
    struct rng rng = { hash_u64(seed, 8) };
    struct {
        uint8_t key[2];
        unsigned int plen;
    } list[N];
    size_t n = 0;
    struct cls_trie trie;

    print_message("seed %llu\n", (unsigned long long) seed);
    cls_trie_init(&trie, 2);
    for (int round = 0; round < 4000; round++) {
        if (n == N || (n && rng_one_in(&rng, round / 500 % 2 ? 3 : 2))) {
            size_t i = rng_below(&rng, n);
            cls_trie_remove(&trie, list[i].key, list[i].plen);
            list[i] = list[--n];
        } else {
            unsigned int plen = 1 + rng_below(&rng, 16);
            uint16_t v = rng_u64(&rng) & (rng_one_in(&rng, 2) ? 0xffff : 0x3003);
            v = be(v & ~(0xffffu >> plen));
            memcpy(list[n].key, &v, 2);
            list[n].plen = plen;
            cls_trie_add(&trie, list[n].key, plen);
            n++;
        }
        uint16_t value = be(rng_u64(&rng) & (rng_one_in(&rng, 2) ? 0xffff : 0x3003));
        struct cls_trie_result r, other;
        rcu_read_lock();
        cls_trie_lookup(&trie, (uint8_t *) &value, &r);
        uint32_t lengths = 0;
        for (size_t i = 0; i < n; i++) {
            uint16_t p;
            memcpy(&p, list[i].key, 2);
            lengths |= (uint32_t) !((p ^ value) & be(~(0xffffu >> list[i].plen))) << (list[i].plen - 1);
        }
        assert_int_equal(r.lengths[0], lengths);
        assert_true(r.n_bits <= 16);
        for (unsigned int bit = r.n_bits; bit < 16; bit++) { /* What was not looked at makes no difference. */
            uint16_t v = value ^ be(0x8000u >> bit);
            cls_trie_lookup(&trie, (uint8_t *) &v, &other);
            assert_memory_equal(&other, &r, sizeof r);
        }
        rcu_read_unlock();
    }
    while (n) {
        n--;
        cls_trie_remove(&trie, list[n].key, list[n].plen);
    }
    assert_null(trie.root);
    assert_int_equal(cls_trie_size(&trie), 0);
    rcu_barrier();
}

/* Few different hashes, so that they collide; it grows and shrinks. */
static void hash_tables_agree_with_arrays(void **state)
{
    enum { N = 500 };
    uint64_t seed = env_number("SLUICE_SEED", 1);
    struct rng rng = { hash_u64(seed, 9) };
    struct cls_slots *slots = cls_slots_create();
    struct cls_hashes *hashes = cls_hashes_create();
    unsigned int there[N] = { 0 }, times[N] = { 0 };
    size_t small = cls_slots_size(slots);

    print_message("seed %llu\n", (unsigned long long) seed);
    for (int round = 0; round < 40000; round++) {
        uint32_t i = rng_below(&rng, N), h = i % 200;
        bool grow = round / 5000 % 2 == 0, last = round >= 35000;
        if (there[i] && (last || rng_one_in(&rng, grow ? 4 : 1))) {
            cls_slots_remove(&slots, h, &there[i]);
            there[i] = 0;
        } else if (!there[i] && !last && rng_one_in(&rng, grow ? 1 : 8)) {
            cls_slots_add(&slots, h, &there[i]);
            there[i] = 1;
        }
        if (times[i] && !rng_one_in(&rng, grow ? 4 : 2)) {
            cls_hashes_remove(&hashes, (uint64_t) i << 32);
            times[i]--;
        } else if (grow) {
            cls_hashes_add(&hashes, (uint64_t) i << 32);
            times[i]++;
        }
        uint32_t k = rng_below(&rng, N), pos = k % 200;
        void *p;
        rcu_read_lock();
        while ((p = cls_slots_next(slots, k % 200, &pos)) && p != &there[k]) {
        }
        assert_int_equal(p != NULL, there[k]);
        assert_true(k <= 1 || cls_hashes_contain(hashes, (uint64_t) k << 32) == (times[k] != 0)); /* 0 and 1 share. */
        rcu_read_unlock();
    }
    for (uint32_t i = 0; i < N; i++) {
        if (there[i]) {
            cls_slots_remove(&slots, i % 200, &there[i]);
        }
        for (; times[i]; times[i]--) {
            cls_hashes_remove(&hashes, (uint64_t) i << 32);
        }
    }
    assert_int_equal(cls_slots_size(slots), small);
    assert_int_equal(hashes->n, 0);
    cls_slots_destroy(slots);
    cls_hashes_destroy(hashes);
    rcu_barrier();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_priority_wins_and_an_empty_match_meets_all),
        cmocka_unit_test(a_rule_is_seen_in_its_versions_only),
        cmocka_unit_test(retired_rules_are_freed_even_after_the_classifier_was_destroyed),
        cmocka_unit_test(lower_priorities_leave_no_trace_in_the_mask),
        cmocka_unit_test(a_miss_looks_at_no_later_stage),
        cmocka_unit_test(stages_that_share_a_word_are_told_apart),
        cmocka_unit_test(addresses_are_looked_at_as_far_as_prefixes_need),
        cmocka_unit_test(ports_are_tracked_as_prefixes_too),
        cmocka_unit_test(a_conjunction_is_met_when_all_its_clauses_are),
        cmocka_unit_test(without_a_rule_for_its_id_a_conjunction_is_not_met),
        cmocka_unit_test(hundreds_of_clauses_may_match_one_packet),
        cmocka_unit_test(loose_matches_and_overlaps_are_found),
        cmocka_unit_test(finds_agree_with_a_walk_over_all_rules),
        cmocka_unit_test(a_trie_tells_lengths_and_bits_as_a_list_does),
        cmocka_unit_test(hash_tables_agree_with_arrays),
    };
    rcu_register_thread();
    int n = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return n;
}
