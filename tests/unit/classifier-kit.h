/* What the classifier's tests share: rules with a match that a simple reference can look at, random matches and packets that often meet, and the
 * reference itself: a walk over all rules, one field after the other, as ovs-fields(7) says it. */
#ifndef CLASSIFIER_KIT_H
#define CLASSIFIER_KIT_H 1

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/classifier.h"

#define MAX_CONJS 3

struct trule {
    struct cls_rule cr;
    struct match match;
    int priority;
    struct cls_conj conjs[MAX_CONJS];
    size_t n_conjs;
    uint64_t added, removed;
    uint32_t id;
};

static inline struct trule *trule_of(struct cls_rule *cr) { return cr ? CONTAINER_OF(cr, struct trule, cr) : NULL; }

static inline struct trule *trule_create(const struct match *match, int priority, const struct cls_conj *conjs,
                                         size_t n)
{
    struct trule *r = xzalloc(sizeof *r);

    r->match = *match;
    r->priority = priority;
    r->n_conjs = n;
    for (size_t i = 0; i < n; i++) {
        r->conjs[i] = conjs[i];
    }
    r->removed = UINT64_MAX;
    cls_rule_init(&r->cr, match, priority, conjs, n);
    return r;
}

static inline void trule_free(struct cls_rule *cr)
{
    cls_rule_uninit(cr);
    free(trule_of(cr));
}

/* Numbers from a seed: splitmix64. */
struct rng {
    uint64_t state;
};
static inline uint64_t rng_u64(struct rng *r) { return hash_u64(r->state++, 0); }
static inline uint32_t rng_below(struct rng *r, uint32_t n) { return (rng_u64(r) >> 32) * n >> 32; }
static inline bool rng_one_in(struct rng *r, uint32_t n) { return !rng_below(r, n); }

static inline uint64_t env_number(const char *name, uint64_t value)
{
    const char *s = getenv(name);
    return s ? strtoull(s, NULL, 0) : value;
}

/* clang-format off */
/* Fields that random rules match, in all stages; of those that share a word with another stage's field, both. */
#define KIT_FIELDS                                                                                                 \
    F(in_port) F(ct_state) F(ct_orig_tp_dst) F(eth_src) F(eth_dst) F(eth_type) F(vlan[0]) F(mpls[2]) F(ip_src)     \
    F(ip_dst) F(ipv6_src) F(ipv6_dst) F(ip_proto) F(ip_tos) F(arp_op) F(arp_tha) F(tp_src) F(tp_dst) F(tcp_flags)  \
    F(nd_target) F(nsh[10]) F(metadata) F(regs[0]) F(regs[15]) F(ofp_in_port) F(tunnel.tun_id) F(tunnel.ipv6_dst)
/* clang-format on */

static const struct kit_field {
    size_t offset, size;
} kit_fields[] = {
#define F(NAME) { offsetof(struct flow, NAME), sizeof(((struct flow *) NULL)->NAME) },
    KIT_FIELDS
#undef F
};
#define KIT_N_FIELDS ARRAY_SIZE(kit_fields)

/* A value of field F: one of a few, and sometimes one that differs from it in a bit. */
static inline void kit_value(struct rng *r, size_t f, uint8_t *p)
{
    uint64_t base = hash_u64(f * 16 + rng_below(r, 3), 99);

    for (size_t i = 0; i < kit_fields[f].size; i++) {
        p[i] = hash_u64(base, i);
    }
    if (rng_one_in(r, 3)) {
        size_t bit = rng_below(r, kit_fields[f].size * 8);
        p[bit / 8] ^= 1 << bit % 8;
    }
}

/* A mask of field F: exact, a prefix, or any bits. */
static inline void kit_mask(struct rng *r, size_t f, uint8_t *p)
{
    size_t n = kit_fields[f].size * 8, plen = rng_one_in(r, 2) ? n : 1 + rng_below(r, n);
    bool any = rng_one_in(r, 8);

    for (size_t i = 0; i < n; i++) {
        bool set = any ? rng_one_in(r, 2) : i < plen;
        p[i / 8] |= set << (7 - i % 8);
    }
}

/* Of at most MAX_FIELDS fields. */
static inline void kit_random_mask(struct rng *r, unsigned int max_fields, struct flow *mask)
{
    memset(mask, 0, sizeof *mask);
    for (uint32_t n = rng_below(r, max_fields + 1); n; n--) {
        size_t f = rng_below(r, KIT_N_FIELDS);
        kit_mask(r, f, (uint8_t *) mask + kit_fields[f].offset);
    }
}

static inline void kit_random_flow(struct rng *r, struct flow *flow)
{
    memset(flow, 0, sizeof *flow);
    for (size_t f = 0; f < KIT_N_FIELDS; f++) {
        if (!rng_one_in(r, 10)) {
            kit_value(r, f, (uint8_t *) flow + kit_fields[f].offset);
        }
    }
}

static inline void kit_merge(struct flow *flow, const struct flow *in, const struct flow *mask, bool invert)
{
    uint8_t *w = (uint8_t *) flow;
    const uint8_t *wi = (const uint8_t *) in, *wm = (const uint8_t *) mask;

    for (size_t i = 0; i < sizeof *flow; i++) {
        uint8_t m = invert ? ~wm[i] : wm[i];
        w[i] = (w[i] & ~m) | (wi[i] & m);
    }
}

/* The reference. */

static inline bool ref_matches(const struct trule *r, const struct flow *flow, uint64_t version)
{
    return r->added <= version && version < r->removed && flow_equal_masked(flow, &r->match.flow, &r->match.mask);
}

/* The highest priority of ordinary rules that FLOW meets, or -1. */
static inline int ref_search(struct trule *const *rules, size_t n, const struct flow *flow, uint64_t version)
{
    int best = -1;

    for (size_t i = 0; i < n; i++) {
        if (!rules[i]->n_conjs && rules[i]->priority > best && ref_matches(rules[i], flow, version)) {
            best = rules[i]->priority;
        }
    }
    return best;
}

/* Does FLOW meet all clauses of conjunction (ID, N_CLAUSES) at PRIORITY? */
static inline bool ref_conjunction(struct trule *const *rules, size_t n, const struct flow *flow, uint64_t version,
                                   int priority, uint32_t id, unsigned int n_clauses)
{
    unsigned int have[CLS_MAX_CLAUSES] = { 0 };

    for (size_t i = 0; i < n; i++) {
        const struct trule *r = rules[i];
        for (size_t k = 0; k < r->n_conjs; k++) {
            if (r->priority == priority && r->conjs[k].id == id && r->conjs[k].n_clauses == n_clauses &&
                ref_matches(r, flow, version)) {
                have[r->conjs[k].clause]++;
            }
        }
    }
    for (unsigned int c = 0; c < n_clauses; c++) {
        if (!have[c]) {
            return false;
        }
    }
    return true;
}

/* Returns the priority of the rule that FLOW meets (-1: none), and what it is looked up as: with its conjunction's id. */
static inline int ref_lookup(struct trule *const *rules, size_t n, const struct flow *flow, uint64_t version,
                             int max_priority, uint32_t max_id, struct flow *ret_as)
{
    int hard = ref_search(rules, n, flow, version);

    *ret_as = *flow;
    for (int priority = max_priority; priority > hard; priority--) {
        for (uint32_t id = 0; id <= max_id; id++) {
            for (unsigned int n_clauses = 2; n_clauses <= 3; n_clauses++) {
                if (ref_conjunction(rules, n, flow, version, priority, id, n_clauses)) {
                    ret_as->conj_id = __builtin_bswap32(id);
                    int found = ref_search(rules, n, ret_as, version);
                    if (found >= 0) {
                        return found;
                    }
                }
            }
        }
    }
    *ret_as = *flow;
    return hard;
}

static inline struct trule *kit_lookup(const struct classifier *cls, uint64_t version, const struct flow *flow,
                                       struct flow *mask)
{
    rcu_read_lock();
    struct cls_rule *cr = classifier_lookup(cls, version, flow, mask);
    rcu_read_unlock();
    return trule_of(cr);
}

#endif
