/* The mask of a rule, in the form that classification works with: only the words that have bits, stage by stage.
 *
 * A struct flow is a hundred words of 64 bits, of which a rule looks at four or five.  A cls_mask lists those as pairs (index, bits), and the
 * rule keeps its values in an array of the same length; see cls_mask_values().
 *
 * Stages.  A subtable is searched in four steps, from what hardly varies between packets to what varies most: metadata, L2, L3, L4.
 * struct flow has its fields in the order
 *
 *     recirc_id ... ct_*  |  eth_src ... mpls  |  ip_src ... arp_tha  |  tp_src ... nsh  |  metadata, regs ... tunnel
 *     metadata               L2                   L3                     L4                 metadata
 *
 * so each stage is a range of bytes, but for metadata, which is two: the datapath's own and, behind the headers, the pipeline's with the
 * tunnel.  (One range would need the headers moved; nothing else asks for that.)  A list in the order of stages, rather than of offsets, makes
 * each stage contiguous all the same.  Where a boundary lies inside of a word, the word is listed in both stages, each time with that stage's bits.
 *
 * A cls_mask never changes.  It is counted: by its subtable, and by each rule that was made with it, which may outlive the subtable. */
#ifndef OFPROTO_CLASSIFIER_MASK_H
#define OFPROTO_CLASSIFIER_MASK_H 1

#include "lib/base/hash.h"
#include "lib/base/types.h"
#include "lib/pkt/match.h"

/* Words of a struct flow, in whatever type the memory was written. */
typedef uint64_t __attribute__((may_alias)) cls_word;

#define CLS_N_WORDS (sizeof(struct flow) / sizeof(cls_word))

enum cls_stage { CLS_METADATA, CLS_L2, CLS_L3, CLS_L4, CLS_N_STAGES };

struct cls_mask {
    unsigned int refs;         /* Atomic. */
    uint8_t n;                 /* Words. */
    uint8_t end[CLS_N_STAGES]; /* Of each stage's words; end[CLS_L4] is 'n'. */
    uint64_t hash;
    uint64_t bits[]; /* 'n' of them, and behind them 'n' bytes: cls_mask_index(). */
};

/* Where in a struct flow the words are. */
static inline const uint8_t *cls_mask_index(const struct cls_mask *m) { return (const uint8_t *) (m->bits + m->n); }

struct cls_mask *cls_mask_create(const struct flow *mask);
struct cls_mask *cls_mask_ref(struct cls_mask *m);
void cls_mask_unref(struct cls_mask *m); /* From any thread.  Accepts NULL. */
size_t cls_mask_size(const struct cls_mask *m);
bool cls_mask_equal(const struct cls_mask *a, const struct cls_mask *b);

/* Stores the words of FLOW under M, M->n of them, in RET.  And back: sets these bits in FLOW, of which they were zero. */
void cls_mask_values(const struct cls_mask *m, const struct flow *flow, uint64_t *ret);
void cls_mask_expand(const struct cls_mask *m, const uint64_t *values, struct flow *flow);

/* Continues HASH over the words FIRST..END of M, of a flow or of a rule's values: the same if the flow matches the values. */
static inline uint64_t cls_hash_flow(const struct cls_mask *m, const struct flow *flow, unsigned int first,
                                     unsigned int end, uint64_t hash)
{
    const cls_word *w = (const cls_word *) flow;
    const uint8_t *index = cls_mask_index(m);

    for (unsigned int i = first; i < end; i++) {
        hash = hash_u64(hash, w[index[i]] & m->bits[i]);
    }
    return hash;
}

static inline uint64_t cls_hash_values(const uint64_t *values, unsigned int first, unsigned int end, uint64_t hash)
{
    for (unsigned int i = first; i < end; i++) {
        hash = hash_u64(hash, values[i]);
    }
    return hash;
}

static inline bool cls_values_match(const struct cls_mask *m, const uint64_t *values, const struct flow *flow)
{
    const cls_word *w = (const cls_word *) flow;
    const uint8_t *index = cls_mask_index(m);

    for (unsigned int i = 0; i < m->n; i++) {
        if ((w[index[i]] & m->bits[i]) != values[i]) {
            return false;
        }
    }
    return true;
}

/* Adds to MASK the bits of M's words before END, that is, of the stages that end there.  (Not inline: gcc 12 at -O1 takes a static function that only
 * calls such a loop, with an index loaded from memory, for a pure one, and drops the call.) */
void cls_mask_unwildcard(const struct cls_mask *m, unsigned int end, struct flow *mask);

#endif
