/* Prefix tracking; see classifier-trie.h. */
#include <config.h>

#include "ofproto/classifier-trie.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"

/* 24 bytes with an IPv4 address, which is as much as malloc's smallest piece holds: so length and count share a word. */
struct cls_trie_node {
    struct cls_trie_node *child[2]; /* RCU; by the bit that follows the prefix. */
    uint32_t plen_rules;            /* Rules that have just this prefix << 8 | bits of prefix.  The count is relaxed. */
    uint8_t key[];                  /* At least 'plen' bits. */
};
#define ONE_RULE (1u << 8)

struct garbage {
    struct rcu_head rcu;
    struct cls_trie_node *node;
};

static unsigned int plen_of(const struct cls_trie_node *n)
{
    return __atomic_load_n(&n->plen_rules, __ATOMIC_RELAXED) & 0xff;
}
static unsigned int rules_of(const struct cls_trie_node *n)
{
    return __atomic_load_n(&n->plen_rules, __ATOMIC_RELAXED) >> 8;
}

static unsigned int bit_at(const uint8_t *key, unsigned int i) { return key[i / 8] >> (7 - i % 8) & 1; }

/* Returns how many of the first N bits of A and B agree from the start, of which FROM are known to. */
static unsigned int common_bits(const uint8_t *a, const uint8_t *b, unsigned int from, unsigned int n)
{
    for (unsigned int i = from / 8; i * 8 < n; i++) {
        uint8_t diff = a[i] ^ b[i];

        if (diff) {
            return MIN(n, i * 8 + (unsigned int) __builtin_clz(diff) - 24);
        }
    }
    return n;
}

void cls_trie_init(struct cls_trie *t, uint8_t n_bytes) { *t = (struct cls_trie){ .n_bytes = n_bytes }; }

size_t cls_trie_size(const struct cls_trie *t) { return t->n_nodes * (sizeof(struct cls_trie_node) + t->n_bytes); }

static struct cls_trie_node *make_node(struct cls_trie *t, const uint8_t *key, unsigned int plen, uint32_t rules)
{
    struct cls_trie_node *n = xmalloc(sizeof *n + t->n_bytes);

    n->child[0] = n->child[1] = NULL;
    n->plen_rules = rules | plen;
    memcpy(n->key, key, t->n_bytes);
    t->n_nodes++;
    return n;
}

void cls_trie_add(struct cls_trie *t, const uint8_t *key, unsigned int plen)
{
    struct cls_trie_node **link = &t->root, *n;
    unsigned int common = 0;

    assert(plen && plen <= t->n_bytes * 8);
    while ((n = *link)) {
        common = common_bits(key, n->key, common, MIN(plen, plen_of(n)));
        if (common < plen_of(n)) {
            break;
        }
        if (plen == plen_of(n)) {
            assert(rules_of(n) < UINT32_MAX >> 8);
            __atomic_store_n(&n->plen_rules, n->plen_rules + ONE_RULE, __ATOMIC_RELAXED);
            return;
        }
        link = &n->child[bit_at(key, plen_of(n))];
    }

    struct cls_trie_node *added = make_node(t, key, plen, ONE_RULE), *top = added;
    if (n) { /* Its prefix does not begin with all of ours: it goes below ours, or both below what they share. */
        if (common < plen) {
            top = make_node(t, key, common, 0);
            top->child[bit_at(key, common)] = added;
        }
        top->child[bit_at(n->key, common)] = n;
    }
    rcu_assign_pointer(*link, top);
}

static void free_rcu(struct rcu_head *rcu)
{
    struct garbage *g = CONTAINER_OF(rcu, struct garbage, rcu);

    free(g->node);
    free(g);
}

/* Puts in place of *LINK, a node without rules and with one child at most, that child; and frees it when nobody can be at it. */
static void take_out(struct cls_trie *t, struct cls_trie_node **link)
{
    struct cls_trie_node *n = *link;
    struct garbage *g = xmalloc(sizeof *g);

    rcu_assign_pointer(*link, n->child[0] ? n->child[0] : n->child[1]);
    t->n_nodes--;
    g->node = n;
    call_rcu(&g->rcu, free_rcu);
}

void cls_trie_remove(struct cls_trie *t, const uint8_t *key, unsigned int plen)
{
    struct cls_trie_node **link = &t->root, **parent = NULL, *n;

    for (n = *link; plen_of(n) < plen; n = *link) {
        parent = link;
        link = &n->child[bit_at(key, plen_of(n))];
        assert(*link);
    }
    assert(plen_of(n) == plen && rules_of(n) && common_bits(key, n->key, 0, plen) == plen);
    __atomic_store_n(&n->plen_rules, n->plen_rules - ONE_RULE, __ATOMIC_RELAXED);
    if (rules_of(n) || (n->child[0] && n->child[1])) {
        return;
    }
    bool leaf = !n->child[0] && !n->child[1];
    take_out(t, link);
    if (leaf && parent && !rules_of(*parent)) {
        take_out(t, parent); /* It was there only to branch. */
    }
}

void cls_trie_lookup(const struct cls_trie *t, const uint8_t *key, struct cls_trie_result *ret)
{
    const struct cls_trie_node *n = rcu_dereference(t->root);
    unsigned int common = 0;

    memset(ret, 0, sizeof *ret);
    while (n) {
        unsigned int plen = plen_of(n);
        common = common_bits(key, n->key, common, plen);
        if (common < plen) {
            ret->n_bits = common + 1;
            return;
        }
        if (rules_of(n)) {
            ret->lengths[(plen - 1) / 64] |= UINT64_C(1) << (plen - 1) % 64;
        }
        const struct cls_trie_node *child[2] = { rcu_dereference(n->child[0]), rcu_dereference(n->child[1]) };
        if (!child[0] && !child[1]) {
            ret->n_bits = plen; /* The end: what comes after the prefix makes no difference. */
            return;
        }
        ret->n_bits = plen + 1;
        n = child[bit_at(key, plen)];
    }
}
