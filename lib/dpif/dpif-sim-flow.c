/* Flows of the simulated datapath: a list of masks, each with a hash table of the flows that have it.
 *
 * A mask is kept as the list of its words that are not zero, a flow as its key in those words, so that 200,000 flows
 * fit and a lookup touches only what the mask looks at.  The rules of what collides with what are the kernel's:
 * a put is refused if its UFID exists, or if any megaflow matches its unmasked key, so at most one flow matches a
 * packet and the order of masks is without meaning (unless overlapping flows were put one after the other with keys
 * outside each other, which the kernel does not notice either).
 *
 * Everything is guarded by sim_lock. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"
#include "lib/odp/odp-key.h"

_Static_assert(sizeof(struct flow) % sizeof(uint64_t) == 0, "struct flow is taken as words");

/* ---- Masks. ---- */

static uint64_t flow_word(const struct flow *flow, unsigned int i)
{
    uint64_t w;
    memcpy(&w, (const char *) flow + i * sizeof w, sizeof w);
    return w;
}

static bool sim_mask_equal(const struct sim_mask *a, const struct sim_mask *b)
{
    return a->n_words == b->n_words && !memcmp(a->index, b->index, a->n_words * sizeof *a->index) &&
           !memcmp(a->bits, b->bits, a->n_words * sizeof *a->bits);
}

/* Returns the mask of DP whose bits are FLOW's, which it makes if there is none. */
static struct sim_mask *sim_mask_get(struct sim_flows *f, const struct flow *flow) REQUIRES(sim_lock)
{
    struct sim_mask *mask = xzalloc(sizeof *mask);

    for (unsigned int i = 0; i < SIM_FLOW_WORDS; i++) {
        uint64_t w = flow_word(flow, i);
        if (w) {
            mask->index[mask->n_words] = i;
            mask->bits[mask->n_words++] = w;
        }
    }
    for (size_t i = 0; i < f->n_masks; i++) {
        if (sim_mask_equal(f->masks[i], mask)) {
            free(mask);
            return f->masks[i];
        }
    }
    if (f->n_masks == f->masks_size) {
        f->masks_size = f->masks_size ? f->masks_size * 2 : 16;
        f->masks = xrealloc(f->masks, f->masks_size * sizeof *f->masks);
    }
    f->masks[f->n_masks++] = mask;
    return mask;
}

/* Removes MASK, which has no more flows; the others keep their order. */
static void sim_mask_remove(struct sim_flows *f, struct sim_mask *mask) REQUIRES(sim_lock)
{
    size_t i = 0;

    while (f->masks[i] != mask) {
        i++;
    }
    memmove(&f->masks[i], &f->masks[i + 1], (f->n_masks - i - 1) * sizeof *f->masks);
    f->n_masks--;
    sim_map_uninit(&mask->flows);
    free(mask);
}

/* Writes KEY's bits of MASK to WORDS and returns their hash. */
static uint64_t sim_mask_apply(const struct sim_mask *mask, const struct flow *key, uint64_t *words)
{
    for (size_t i = 0; i < mask->n_words; i++) {
        words[i] = flow_word(key, mask->index[i]) & mask->bits[i];
    }
    return hash_bytes(words, mask->n_words * sizeof *words, 0);
}

static struct sim_flow *sim_mask_lookup(const struct sim_mask *mask, const struct flow *key) REQUIRES(sim_lock)
{
    uint64_t words[SIM_FLOW_WORDS];
    uint64_t hash = sim_mask_apply(mask, key, words);

    for (struct sim_node *n = sim_map_first(&mask->flows, hash); n; n = sim_map_next(n)) {
        struct sim_flow *flow = CONTAINER_OF(n, struct sim_flow, by_key);
        if (!memcmp(flow->words, words, mask->n_words * sizeof *words)) {
            return flow;
        }
    }
    return NULL;
}

/* ---- Finding flows. ---- */

/* Returns the flow that matches packets with KEY, or NULL.  *RET_N_MASKS gets how many masks were looked at. */
struct sim_flow *sim_flow_lookup(struct sim_dp *dp, const struct flow *key, unsigned int *ret_n_masks)
{
    struct sim_flow *flow = NULL;
    size_t i = 0;

    while (i < dp->flows.n_masks && !flow) {
        flow = sim_mask_lookup(dp->flows.masks[i++], key);
    }
    *ret_n_masks = i;
    return flow;
}

static struct sim_flow *sim_flow_by_ufid(const struct sim_dp *dp, const struct ufid *ufid) REQUIRES(sim_lock)
{
    for (struct sim_node *n = sim_map_first(&dp->flows.by_ufid, hash_u64(ufid->lo, ufid->hi)); n; n = sim_map_next(n)) {
        struct sim_flow *flow = CONTAINER_OF(n, struct sim_flow, by_ufid);
        if (ufid_eq(&flow->ufid, ufid)) {
            return flow;
        }
    }
    return NULL;
}

/* What tells two unmasked keys apart. */
static struct ufid sim_key_id(const struct flow *key) { return hash_bytes_128(key, sizeof *key, 0); }

/* Returns the flow whose unmasked key is KEY, or NULL.  As in the kernel, a flow that has a UFID is found by that
 * only. */
static struct sim_flow *sim_flow_by_key(const struct sim_dp *dp, const struct flow *key) REQUIRES(sim_lock)
{
    struct ufid id = sim_key_id(key);

    for (size_t i = 0; i < dp->flows.n_masks; i++) {
        struct sim_flow *flow = sim_mask_lookup(dp->flows.masks[i], key);
        if (flow && !flow->has_ufid && ufid_eq(&flow->key_id, &id)) {
            return flow;
        }
    }
    return NULL;
}

struct sim_flow *sim_flow_find(struct sim_dp *dp, const struct ufid *ufid, const struct nlattr *key, size_t key_len)
{
    struct flow flow;

    if (ufid && dp->kernel != SIM_KERNEL_OLD) {
        return sim_flow_by_ufid(dp, ufid);
    }
    return key_len && odp_key_to_flow(key, key_len, &flow) != ODP_FIT_ERROR ? sim_flow_by_key(dp, &flow) : NULL;
}

/* ---- Adding and removing. ---- */

static void sim_flow_set_actions(struct sim_flow *flow, const struct dpif_op *op)
{
    free(flow->actions);
    flow->actions = op->flow.actions_len ? xmemdup(op->flow.actions, op->flow.actions_len) : NULL;
    flow->actions_len = op->flow.actions_len;
}

static void sim_flow_take_slot(struct sim_flows *f, struct sim_flow *flow) REQUIRES(sim_lock)
{
    if (f->n_free) {
        flow->slot = f->free_slots[--f->n_free];
    } else {
        if (f->n_slots == f->slots_size) {
            f->slots_size = f->slots_size ? f->slots_size * 2 : 64;
            f->slots = xrealloc(f->slots, f->slots_size * sizeof *f->slots);
            f->free_slots = xrealloc(f->free_slots, f->slots_size * sizeof *f->free_slots);
        }
        flow->slot = f->n_slots++;
    }
    f->slots[flow->slot] = flow;
    f->n++;
}

/* Adds the flow that OP describes, with key KEY and mask MASK. */
static void sim_flow_insert(struct sim_dp *dp, const struct dpif_op *op, const struct flow *key,
                            const struct flow *mask_flow) REQUIRES(sim_lock)
{
    struct sim_mask *mask = sim_mask_get(&dp->flows, mask_flow);
    struct sim_flow *flow = xzalloc(sizeof *flow + mask->n_words * sizeof *flow->words);

    flow->mask = mask;
    flow->key_id = sim_key_id(key);
    flow->key = xmemdup(op->flow.key, op->flow.key_len);
    flow->key_len = op->flow.key_len;
    if (op->flow.mask_len) {
        flow->mask_attrs = xmemdup(op->flow.mask, op->flow.mask_len);
        flow->mask_attrs_len = op->flow.mask_len;
    }
    sim_flow_set_actions(flow, op);
    sim_map_insert(&mask->flows, &flow->by_key, sim_mask_apply(mask, key, flow->words));
    flow->has_ufid = op->flow.has_ufid && dp->kernel != SIM_KERNEL_OLD;
    if (flow->has_ufid) {
        flow->ufid = op->flow.ufid;
        sim_map_insert(&dp->flows.by_ufid, &flow->by_ufid, hash_u64(flow->ufid.lo, flow->ufid.hi));
    }
    sim_flow_take_slot(&dp->flows, flow);
}

static void sim_flow_remove(struct sim_dp *dp, struct sim_flow *flow) REQUIRES(sim_lock)
{
    struct sim_flows *f = &dp->flows;

    f->slots[flow->slot] = NULL;
    f->free_slots[f->n_free++] = flow->slot;
    f->n--;
    if (flow->has_ufid) {
        sim_map_remove(&f->by_ufid, &flow->by_ufid);
    }
    sim_map_remove(&flow->mask->flows, &flow->by_key);
    if (!flow->mask->flows.n) {
        sim_mask_remove(f, flow->mask);
    }
    free(flow->key);
    free(flow->mask_attrs);
    free(flow->actions);
    free(flow);
}

void sim_flows_clear(struct sim_dp *dp)
{
    for (size_t i = 0; i < dp->flows.n_slots; i++) {
        if (dp->flows.slots[i]) {
            sim_flow_remove(dp, dp->flows.slots[i]);
        }
    }
    /* The slots stay as they are: a dump may be on its way through them. */
}

void sim_flows_uninit(struct sim_dp *dp)
{
    sim_flows_clear(dp);
    sim_map_uninit(&dp->flows.by_ufid);
    free(dp->flows.masks);
    free(dp->flows.slots);
    free(dp->flows.free_slots);
}

/* ---- Requests. ---- */

/* Returns the flow that a put with OP's identity and unmasked key KEY meets: of its UFID, or any that matches. */
static struct sim_flow *sim_flow_met(struct sim_dp *dp, const struct dpif_op *op, const struct flow *key)
    REQUIRES(sim_lock)
{
    struct sim_flow *flow = NULL;
    unsigned int n_masks;

    if (op->flow.has_ufid && dp->kernel != SIM_KERNEL_OLD) {
        flow = sim_flow_by_ufid(dp, &op->flow.ufid);
    }
    return flow ? flow : sim_flow_lookup(dp, key, &n_masks);
}

/* Does a MOD with CREATE and key KEY, having met FLOW, mean it?  The kernel compares keys.  If FLOW has a UFID it
 * compares FLOW's masked key with KEY as it came, so that KEY, to be equal, must be zero wherever FLOW's mask is. */
static bool sim_flow_is(const struct sim_flow *flow, const struct flow *key) REQUIRES(sim_lock)
{
    size_t j = 0;

    if (!flow->has_ufid) {
        struct ufid id = sim_key_id(key);
        return ufid_eq(&flow->key_id, &id);
    }
    for (unsigned int i = 0; i < SIM_FLOW_WORDS; i++) {
        uint64_t w = j < flow->mask->n_words && flow->mask->index[j] == i ? flow->words[j++] : 0;
        if (w != flow_word(key, i)) {
            return false;
        }
    }
    return true;
}

/* Creates a flow (PUT), or creates or changes one (MOD with CREATE). */
static int sim_flow_new(struct sim_dp *dp, const struct dpif_op *op) REQUIRES(sim_lock)
{
    bool exclusive = op->type == DPIF_OP_FLOW_PUT;
    struct flow key, mask;
    struct sim_flow *met;

    if (!op->flow.key_len || sim_check_key(dp, op->flow.key, op->flow.key_len, op->flow.mask, op->flow.mask_len) ||
        sim_check_actions(dp, op->flow.actions, op->flow.actions_len, 0) ||
        odp_key_to_flow(op->flow.key, op->flow.key_len, &key) == ODP_FIT_ERROR ||
        odp_mask_to_flow(op->flow.mask, op->flow.mask_len, &key, &mask) == ODP_FIT_ERROR) {
        return -EINVAL;
    }
    met = sim_flow_met(dp, op, &key);
    if (!met) {
        sim_flow_insert(dp, op, &key, &mask);
    } else if (exclusive) {
        return -EEXIST;
    } else if (sim_flow_is(met, &key)) {
        sim_flow_set_actions(met, op);
    } else {
        return -ENOENT;
    }
    dp->counts.n_puts++;
    return 0;
}

static int sim_flow_put(struct sim_dp *dp, const struct dpif_op *op) REQUIRES(sim_lock)
{
    if (sim_fault_take(dp, SIM_FAULT_PUT_EEXIST)) {
        return -EEXIST;
    } else if (sim_fault_take(dp, SIM_FAULT_PUT_FAIL)) {
        return -ENOMEM;
    }
    return sim_flow_new(dp, op);
}

static int sim_flow_set(struct sim_dp *dp, struct sim_flow *flow, const struct dpif_op *op) REQUIRES(sim_lock)
{
    /* The kernel checks actions against the key, which must therefore come with them. */
    if (!op->flow.key_len || sim_check_actions(dp, op->flow.actions, op->flow.actions_len, 0)) {
        return -EINVAL;
    } else if (!flow) {
        return -ENOENT;
    }
    sim_flow_set_actions(flow, op);
    if (op->flow.clear) {
        memset(&flow->stats, 0, sizeof flow->stats);
    }
    return 0;
}

int sim_flow_op(struct sim_dp *dp, struct dpif_op *op)
{
    struct sim_flow *flow;

    if (op->type == DPIF_OP_FLOW_PUT) {
        return sim_flow_put(dp, op);
    } else if (op->type == DPIF_OP_FLOW_MOD && op->flow.create) {
        return sim_flow_new(dp, op);
    } else if (!op->flow.has_ufid && !op->flow.key_len) {
        return -EINVAL; /* To the kernel, a DEL of this kind would mean all flows. */
    }
    flow = sim_flow_find(dp, op->flow.has_ufid ? &op->flow.ufid : NULL, op->flow.key, op->flow.key_len);
    if (op->type == DPIF_OP_FLOW_MOD) {
        return sim_flow_set(dp, flow, op);
    } else if (!flow) {
        return -ENOENT;
    }
    if (op->type == DPIF_OP_FLOW_GET || op->flow.want_stats) {
        op->flow.stats = flow->stats;
    }
    if (op->type == DPIF_OP_FLOW_DEL) {
        sim_flow_remove(dp, flow);
        dp->counts.n_dels++;
    }
    return 0;
}
