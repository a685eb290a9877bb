/* Which prefixes of a field the rules of a classifier match: a binary trie, path-compressed.
 *
 * For a packet's value a walk tells, for every prefix length, whether some rule matches a prefix of that length of the value; and how many of
 * the value's leading bits one has to look at to know.  A subtable whose prefix length is not among those can be skipped, at the
 * price of that many bits in the mask instead of all of the subtable's: a packet to 10.1.2.3 that no rule about 192.168.0.0/24 can
 * match differs from it in the first bit.
 *
 * Threads: one writer; readers under RCU.  A node's key and length never change, and it holds its whole prefix, not only what its parent lacks; so
 * nodes are put in and taken out by storing one pointer, and whichever node a reader is at, all that was there when it began is below. */
#ifndef OFPROTO_CLASSIFIER_TRIE_H
#define OFPROTO_CLASSIFIER_TRIE_H 1

#include "lib/base/types.h"

#define CLS_TRIE_MAX_BITS 128

struct cls_trie_node;
struct cls_trie {
    struct cls_trie_node *root; /* RCU. */
    uint8_t n_bytes;            /* Of a key, in network byte order. */
    size_t n_nodes;             /* Of the writer. */
};

struct cls_trie_result {
    uint64_t lengths[CLS_TRIE_MAX_BITS / 64]; /* Bit L - 1: some rule has the value's first L bits. */
    uint8_t n_bits;                           /* Who agrees in these leading bits has the same result. */
};

void cls_trie_init(struct cls_trie *t, uint8_t n_bytes); /* An empty trie holds no memory. */
/* The writer's.  One more rule, or one less, has the first PLEN bits of KEY; PLEN is not 0. */
void cls_trie_add(struct cls_trie *t, const uint8_t *key, unsigned int plen);
void cls_trie_remove(struct cls_trie *t, const uint8_t *key, unsigned int plen);
void cls_trie_lookup(const struct cls_trie *t, const uint8_t *key, struct cls_trie_result *ret);
size_t cls_trie_size(const struct cls_trie *t);

static inline bool cls_trie_result_has(const struct cls_trie_result *r, unsigned int plen)
{
    return r->lengths[(plen - 1) / 64] >> (plen - 1) % 64 & 1;
}

#endif
