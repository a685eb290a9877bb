/* Comparing flows under masks.
 *
 * A flow and its mask have one layout, so all of this is word-wise work over the whole structure: no field is
 * named, and a field that is added later is compared without a change here.  Nothing here allocates or locks; any
 * thread may call it on flows that it may read. */
#include <config.h>

#include "lib/pkt/flow.h"

#include <assert.h>

/* Words of 64 bits, in whatever type the memory was written. */
typedef uint64_t __attribute__((may_alias)) flow_word;

#define FLOW_N_WORDS (sizeof(struct flow) / sizeof(flow_word))
static_assert(sizeof(struct flow) % sizeof(flow_word) == 0, "struct flow must be whole 64-bit words");
static_assert(_Alignof(struct flow) == _Alignof(uint64_t), "struct flow must be aligned like a 64-bit word");

bool flow_equal_masked(const struct flow *a, const struct flow *b, const struct flow *mask)
{
    const flow_word *wa = (const flow_word *) a;
    const flow_word *wb = (const flow_word *) b;
    const flow_word *wm = (const flow_word *) mask;
    flow_word diff = 0;

    /* No early exit: most calls find equality, and without a branch the compiler makes vectors of this. */
    for (size_t i = 0; i < FLOW_N_WORDS; i++) {
        diff |= (wa[i] ^ wb[i]) & wm[i];
    }
    return !diff;
}

bool flow_mask_is_subset(const struct flow *a, const struct flow *b)
{
    const flow_word *wa = (const flow_word *) a;
    const flow_word *wb = (const flow_word *) b;
    flow_word extra = 0;

    for (size_t i = 0; i < FLOW_N_WORDS; i++) {
        extra |= wa[i] & ~wb[i];
    }
    return !extra;
}

void flow_apply_mask(struct flow *flow, const struct flow *mask)
{
    flow_word *w = (flow_word *) flow;
    const flow_word *wm = (const flow_word *) mask;

    for (size_t i = 0; i < FLOW_N_WORDS; i++) {
        w[i] &= wm[i];
    }
}
