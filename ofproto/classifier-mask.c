/* Compiling masks; see classifier-mask.h. */
#include <config.h>

#include "ofproto/classifier-mask.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/util.h"

static_assert(CLS_N_WORDS <= 256, "a word's index must fit into a byte, and two halves of a word are few");
static_assert(sizeof(struct flow) % sizeof(cls_word) == 0, "struct flow must be whole 64-bit words");

#define SPLITS 8 /* At most: words that are listed twice, because two stages share them. */

static const struct range {
    enum cls_stage stage;
    uint16_t from, to; /* Bytes of struct flow. */
} ranges[] = {
    /* In the order of stages. */
    { CLS_METADATA, 0, offsetof(struct flow, eth_src) },
    { CLS_METADATA, offsetof(struct flow, metadata), sizeof(struct flow) },
    { CLS_L2, offsetof(struct flow, eth_src), offsetof(struct flow, ip_src) },
    { CLS_L3, offsetof(struct flow, ip_src), offsetof(struct flow, tp_src) },
    { CLS_L4, offsetof(struct flow, tp_src), offsetof(struct flow, metadata) },
};
static_assert(ARRAY_SIZE(ranges) <= SPLITS, "each range may split one word");

/* Ones in the bytes FROM..TO (of struct flow) of word I. */
static uint64_t word_bytes(size_t i, size_t from, size_t to)
{
    uint64_t word = 0;
    size_t start = MAX(from, i * sizeof word), end = MIN(to, (i + 1) * sizeof word);

    memset((uint8_t *) &word + (start - i * sizeof word), 0xff, end - start);
    return word;
}

struct cls_mask *cls_mask_create(const struct flow *mask)
{
    const cls_word *w = (const cls_word *) mask;
    uint64_t bits[CLS_N_WORDS + SPLITS];
    uint8_t index[CLS_N_WORDS + SPLITS], end[CLS_N_STAGES] = { 0 };
    unsigned int n = 0;

    for (const struct range *r = ranges; r < ranges + ARRAY_SIZE(ranges); r++) {
        for (size_t i = r->from / sizeof *w; i * sizeof *w < r->to; i++) {
            if (w[i] && w[i] & word_bytes(i, r->from, r->to)) {
                bits[n] = w[i] & word_bytes(i, r->from, r->to);
                index[n++] = i;
            }
        }
        end[r->stage] = n;
    }
    assert(n <= UINT8_MAX);

    struct cls_mask *m = xmalloc(sizeof *m + n * (sizeof *bits + sizeof *index));
    m->refs = 1;
    m->n = n;
    memcpy(m->end, end, sizeof end);
    memcpy(m->bits, bits, n * sizeof *bits);
    memcpy(m->bits + n, index, n * sizeof *index);
    m->hash = hash_bytes(m->bits, n * (sizeof *bits + sizeof *index), n);
    return m;
}

struct cls_mask *cls_mask_ref(struct cls_mask *m)
{
    __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

void cls_mask_unref(struct cls_mask *m)
{
    if (m && !__atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL)) {
        free(m);
    }
}

size_t cls_mask_size(const struct cls_mask *m) { return sizeof *m + m->n * (sizeof *m->bits + sizeof(uint8_t)); }

bool cls_mask_equal(const struct cls_mask *a, const struct cls_mask *b)
{
    return a->hash == b->hash && a->n == b->n && !memcmp(a->bits, b->bits, a->n * (sizeof *a->bits + sizeof(uint8_t)));
}

void cls_mask_values(const struct cls_mask *m, const struct flow *flow, uint64_t *ret)
{
    const cls_word *w = (const cls_word *) flow;
    const uint8_t *index = cls_mask_index(m);

    for (unsigned int i = 0; i < m->n; i++) {
        ret[i] = w[index[i]] & m->bits[i];
    }
}

void cls_mask_expand(const struct cls_mask *m, const uint64_t *values, struct flow *flow)
{
    cls_word *w = (cls_word *) flow;
    const uint8_t *index = cls_mask_index(m);

    for (unsigned int i = 0; i < m->n; i++) {
        w[index[i]] |= values[i];
    }
}

void cls_mask_unwildcard(const struct cls_mask *m, unsigned int end, struct flow *mask)
{
    cls_word *w = (cls_word *) mask;
    const uint8_t *index = cls_mask_index(m);

    for (unsigned int i = 0; i < end; i++) {
        w[index[i]] |= m->bits[i];
    }
}
