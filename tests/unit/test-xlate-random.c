/* Random bridges and packets, by seed: translation against a model of the NORMAL switch that was written from
 * ovs-vswitchd.conf.db(5) alone, and the promise of the mask: whatever bits outside of it change, the result does not.
 *
 * A failure prints its seed; the program takes one as its argument. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "tests/unit/xlate-kit.h"

#define N_SEEDS 4000
#define N_FLIP_SEEDS 60 /* Of them, those where each single bit is tried. */
#define MAX_DELIVERIES 256
#define MAX_BRIDGES 3

static uint64_t only_seed;

struct random {
    uint64_t seed, n;
};
static uint32_t rnd(struct random *r, uint32_t limit) { return hash_u64(r->n++, r->seed) % limit; }
static bool one_in(struct random *r, uint32_t n) { return !rnd(r, n); }

static const uint16_t vids[] = { 0, 0, 10, 20, 30, 4095 };
static uint16_t random_vid(struct random *r) { return vids[rnd(r, ARRAY_SIZE(vids))]; }

static void random_set(struct random *r, struct vlan_set *set)
{
    set->any = one_in(r, 2);
    for (int i = 0; i < 3; i++) {
        uint16_t vid = random_vid(r);
        set->bits[vid / 64] |= UINT64_C(1) << vid % 64;
    }
}

static void random_bundle(struct random *r, struct xbridge *br, uint32_t no, bool is_patch)
{
    struct xbundle *b = xbridge_add_bundle(br, "p", no);
    struct xport *p = xbundle_add_port(b, "p", (ofp_port_t){ no }, is_patch ? ODPP_NONE : (odp_port_t){ no });

    p->is_patch = is_patch;
    b->vlan_mode = rnd(r, 5);
    b->tag = b->vlan_mode == VLAN_TRUNK ? 0 : random_vid(r);
    random_set(r, &b->trunks);
    random_set(r, &b->cvlans);
    b->qinq_tpid = htons(one_in(r, 2) ? ETH_TYPE_VLAN : ETH_TYPE_QINQ);
    b->priority_tags = rnd(r, 3);
    b->protected = one_in(r, 4);
    b->floodable = !one_in(r, 8);
}

/* Up to three bridges in a row.  Ports of bridge I are numbered from 100 * I; 98 and 99 lead to the next and the
 * previous one. */
static struct xconfig *random_config(struct random *r)
{
    struct xconfig *c = xconfig_create();
    uint32_t n_bridges = 1 + rnd(r, MAX_BRIDGES);

    for (uint32_t i = 0; i < n_bridges; i++) {
        struct xbridge *br = kit_add_bridge(c, "br", "");
        uint32_t n = 1 + rnd(r, 6);

        br->normal = !one_in(r, 20);
        br->forward_bpdu = one_in(r, 4);
        if (one_in(r, 3)) {
            random_set(r, &br->flood_vlans);
            br->flood_vlans.any = false;
        }
        for (uint32_t k = 1; k <= n; k++) {
            random_bundle(r, br, 100 * i + k, false);
        }
        if (i + 1 < n_bridges) {
            random_bundle(r, br, 100 * i + 98, true);
        }
        if (i) {
            random_bundle(r, br, 100 * i + 99, true);
        }
        for (uint32_t k = 0; k < 12; k++) {
            uint32_t bundle = one_in(r, 8) ? 1 + rnd(r, 400) : br->bundles[rnd(r, br->n_bundles)]->id;
            kit_learn(br, random_vid(r), kit_mac(rnd(r, 4)), bundle);
        }
    }
    xconfig_seal(c);
    for (uint32_t i = 0; i + 1 < n_bridges; i++) {
        kit_join(c, 100 * i + 98, 100 * i + 199);
    }
    return c;
}

static void random_bytes(struct random *r, void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *) p)[i] = rnd(r, 256);
    }
}

static struct flow random_flow(struct random *r, const struct xconfig *c)
{
    struct flow flow;
    int n_tags = rnd(r, 3);

    random_bytes(r, &flow, sizeof flow);
    flow.recirc_id = 0; /* Others are of what was frozen. */
    memset(flow.vlan, 0, sizeof flow.vlan);
    for (int i = 0; i < n_tags; i++) {
        flow.vlan[i] = kit_tag(one_in(r, 4) ? ETH_TYPE_QINQ : ETH_TYPE_VLAN, random_vid(r), rnd(r, 2) * rnd(r, 8));
    }
    flow.in_port.n = one_in(r, 30) ? 1000 : c->by_id[rnd(r, c->n_by_id)]->id;
    flow.eth_src = kit_mac(rnd(r, 4));
    flow.eth_dst = kit_mac(rnd(r, 5));
    if (one_in(r, 20)) {
        flow.eth_src.ea[0] |= 1;
    }
    if (one_in(r, 8)) {
        memset(&flow.eth_dst, 0xff, 6);
    } else if (one_in(r, 8)) {
        flow.eth_dst = (struct eth_addr){ { 1, 0x80, 0xc2, 0, 0, rnd(r, 32) } };
    }
    return flow;
}

/* The model.  Where the manual is silent: a service tag gets the customer's priority, and priority-tags do not concern
 * dot1q-tunnel ports. */
struct model {
    const struct xconfig *c;
    const struct flow *flow;
    struct delivery d[MAX_DELIVERIES];
    int n;
    struct effect effects[XLATE_MAX_EFFECTS];
    unsigned int n_effects;
};

static void model_bridge(struct model *m, const struct xport *in, const struct tags *tags);

static uint16_t vid_of(const struct tags *t) { return t->n ? flow_vlan_vid(&t->v[0]) : 0; }
static uint16_t pcp_of(const struct tags *t) { return t->n ? ntohs(t->v[0].tci) >> 13 : 0; }

static struct tags with_tag(const struct tags *t, be16 tpid, uint16_t vid, uint16_t pcp)
{
    struct tags r = { .n = t->n + 1 };
    r.v[0] = kit_tag(ntohs(tpid), vid, pcp);
    memcpy(&r.v[1], t->v, t->n * sizeof t->v[0]);
    return r;
}

static struct tags without_tag(const struct tags *t)
{
    struct tags r = { .n = t->n ? t->n - 1 : 0 };
    memcpy(r.v, &t->v[1], r.n * sizeof t->v[0]);
    return r;
}

static bool is_native(const struct xbundle *b)
{
    return b->vlan_mode == VLAN_NATIVE_TAGGED || b->vlan_mode == VLAN_NATIVE_UNTAGGED;
}

static bool trunks(const struct xbundle *b, uint16_t vlan)
{
    return vlan_set_has(&b->trunks, vlan) || (is_native(b) && vlan == b->tag);
}

/* The packet in the bridge as if it always carried its VLAN in a tag: that is what a trunk would get, save that VLAN 0
 * has no tag. Returns false if it may not come in. */
static bool model_ingress(const struct xbundle *b, const struct tags *t, struct tags *ret)
{
    struct tags inner = without_tag(t);
    be16 tpid = t->n ? t->v[0].tpid : htons(ETH_TYPE_VLAN);

    if (b->vlan_mode == VLAN_DOT1Q_TUNNEL) {
        *ret = with_tag(t, b->qinq_tpid, b->tag, pcp_of(t));
        return vlan_set_has(&b->cvlans, vid_of(t)) && t->n <= FLOW_MAX_VLANS;
    }
    uint16_t vlan = vid_of(t);
    if (b->vlan_mode == VLAN_ACCESS) {
        if (vlan) {
            return false;
        }
        vlan = b->tag;
    } else if (is_native(b) && !vlan) {
        vlan = b->tag;
    }
    *ret = with_tag(&inner, tpid, vlan, pcp_of(t));
    return b->vlan_mode == VLAN_ACCESS || trunks(b, vlan);
}

static bool model_carries(const struct xbundle *b, const struct tags *full)
{
    struct tags inner = without_tag(full);

    switch (b->vlan_mode) {
    case VLAN_ACCESS:
        return vid_of(full) == b->tag;
    case VLAN_DOT1Q_TUNNEL:
        return vid_of(full) == b->tag && vlan_set_has(&b->cvlans, vid_of(&inner));
    case VLAN_TRUNK:
    case VLAN_NATIVE_TAGGED:
    case VLAN_NATIVE_UNTAGGED:
        return trunks(b, vid_of(full));
    }
    return false;
}

static void model_egress(struct model *m, const struct xbundle *b, const struct tags *full)
{
    struct tags t = without_tag(full);
    uint16_t vid = vid_of(full);
    uint16_t pcp = pcp_of(full);
    const struct xport *p = b->ports[0];

    if (b->vlan_mode != VLAN_DOT1Q_TUNNEL) {
        if (b->vlan_mode == VLAN_ACCESS || (b->vlan_mode == VLAN_NATIVE_UNTAGGED && vid == b->tag)) {
            vid = 0;
        }
        if (vid || b->priority_tags == PRIORITY_TAGS_ALWAYS || (b->priority_tags == PRIORITY_TAGS_IF_NONZERO && pcp)) {
            t = with_tag(&t, full->v[0].tpid, vid, pcp);
        }
    }
    if (!p->is_patch) {
        assert_true(m->n < MAX_DELIVERIES);
        m->d[m->n++] = (struct delivery){ p->odp.n, t };
    } else if (p->peer) {
        model_bridge(m, p->peer, &t);
    }
}

static void model_bridge(struct model *m, const struct xport *in, const struct tags *tags)
{
    const struct xbundle *b = in->bundle;
    const struct xbridge *br = b->bridge;
    struct eth_addr src = m->flow->eth_src, dst = m->flow->eth_dst;
    struct tags full;

    if (!br->normal || !model_ingress(b, tags, &full) || (eth_addr_is_reserved(dst) && !br->forward_bpdu)) {
        return;
    }
    uint16_t vlan = vid_of(&full);
    bool learning = !vlan_set_has(&br->flood_vlans, vlan);
    if (learning && !eth_addr_is_multicast(src) && !eth_addr_is_zero(src)) {
        m->effects[m->n_effects++] = (struct effect){ br->macs, src, vlan, b->id };
    }
    uint32_t at = learning && !eth_addr_is_multicast(dst) ? mac_table_lookup(br->macs, vlan, dst) : 0;
    const struct xbundle *to = at ? xconfig_bundle_by_id(m->c, at) : NULL;
    if (to && to->bridge != br) {
        to = NULL;
    }
    for (size_t i = 0; i < br->n_bundles; i++) {
        const struct xbundle *o = br->bundles[i];
        if (o != b && (to ? o == to : o->floodable) && !(o->protected && b->protected) && model_carries(o, &full)) {
            model_egress(m, o, &full);
        }
    }
}

static char actions_memory[2][16384] __attribute__((aligned(8)));
static struct xlate_out outs[2];

static void translate(const struct xconfig *c, const struct flow *flow, int i)
{
    kit_translate(c, flow, actions_memory[i], &outs[i]);
}

static void fail_seed(uint64_t seed, const char *what, const char *got, const char *expected)
{
    fail_msg("seed %llu: %s: got \"%s\", not \"%s\"", (unsigned long long) seed, what, got, expected);
}

static void check_effects(uint64_t seed, const struct effect *a, unsigned int n_a, const struct effect *b,
                          unsigned int n_b)
{
    bool same = n_a == n_b;
    for (unsigned int i = 0; same && i < n_a; i++) {
        same = a[i].macs == b[i].macs && eth_addr_eq(a[i].mac, b[i].mac) && a[i].vlan == b[i].vlan &&
               a[i].bundle == b[i].bundle;
    }
    if (!same) {
        fail_seed(seed, "effects", "", "the model's");
    }
}

static void check_model(uint64_t seed, const struct xconfig *c, const struct flow *flow)
{
    static struct delivery d[MAX_DELIVERIES];
    static struct model m;
    const struct xport *in = xconfig_port_by_odp(c, flow->in_port);
    struct tags tags = { 0 };

    m = (struct model){ .c = c, .flow = flow };
    while (tags.n < FLOW_MAX_VLANS && flow_vlan_present(&flow->vlan[tags.n])) {
        tags.v[tags.n] = flow->vlan[tags.n];
        tags.n++;
    }
    rcu_read_lock();
    if (in) {
        model_bridge(&m, in, &tags);
    }
    rcu_read_unlock();

    int n = kit_run(&outs[0].actions, flow, d, MAX_DELIVERIES);
    char *got = n < 0 ? xstrdup("nonsense") : kit_deliveries_text(d, n);
    char *expected = kit_deliveries_text(m.d, m.n);
    if (strcmp(got, expected)) {
        fail_seed(seed, "deliveries", got, expected);
    }
    free(got);
    free(expected);
    check_effects(seed, outs[0].effects, outs[0].n_effects, m.effects, m.n_effects);
}

/* Translates FLOW, which agrees with the last one in the bits of its mask, and checks that the result is the same. */
static void check_same(uint64_t seed, const struct xconfig *c, struct flow *flow, const struct flow *original,
                       const char *what)
{
    /* What the kernel never gives: bits of a tag that is not there.  (It tells packets with and without a tag apart
     * whatever the mask says.) */
    for (int i = 0; i < FLOW_MAX_VLANS; i++) {
        if (!flow_vlan_present(&original->vlan[i])) {
            flow->vlan[i] = original->vlan[i];
        }
    }
    translate(c, flow, 1);
    if (attrbuf_len(&outs[0].actions) != attrbuf_len(&outs[1].actions) ||
        memcmp(attrbuf_data(&outs[0].actions), attrbuf_data(&outs[1].actions), attrbuf_len(&outs[0].actions))) {
        fail_seed(seed, what, "other actions", "the same");
    }
    if (memcmp(&outs[0].mask, &outs[1].mask, sizeof outs[0].mask)) {
        fail_seed(seed, what, "another mask", "the same");
    }
    if (outs[0].verdict != outs[1].verdict) {
        fail_seed(seed, what, xlate_verdict_text(outs[1].verdict), xlate_verdict_text(outs[0].verdict));
    }
    check_effects(seed, outs[1].effects, outs[1].n_effects, outs[0].effects, outs[0].n_effects);
}

static void check_mask(uint64_t seed, struct random *r, const struct xconfig *c, const struct flow *flow)
{
    const uint8_t *mask = (const uint8_t *) &outs[0].mask;

    for (int i = 0; i < 10; i++) {
        struct flow other;
        random_bytes(r, &other, sizeof other);
        for (size_t k = 0; k < sizeof other; k++) {
            uint8_t *p = &((uint8_t *) &other)[k];
            *p = (((const uint8_t *) flow)[k] & mask[k]) | (*p & ~mask[k]);
        }
        check_same(seed, c, &other, flow, "all bits outside the mask are changed");
    }
    if (seed >= N_FLIP_SEEDS && !only_seed) {
        return;
    }
    for (size_t bit = 0; bit < sizeof *flow * 8; bit++) {
        struct flow other = *flow;
        if (!(mask[bit / 8] >> bit % 8 & 1)) {
            char what[64];
            ((uint8_t *) &other)[bit / 8] ^= 1 << bit % 8;
            snprintf(what, sizeof what, "bit %zu of byte %zu is changed", bit % 8, bit / 8);
            check_same(seed, c, &other, flow, what);
        }
    }
}

static void run_seed(uint64_t seed)
{
    struct random r = { .seed = seed };
    struct xconfig *c = random_config(&r);

    for (int i = 0; i < 5; i++) {
        struct flow flow = random_flow(&r, c);
        translate(c, &flow, 0);
        check_model(seed, c, &flow);
        check_mask(seed, &r, c, &flow);
    }
    xconfig_destroy(c);
}

static void random_bridges_do_what_the_model_does_and_masks_hold(void **state)
{
    if (only_seed) {
        run_seed(only_seed);
        return;
    }
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        run_seed(seed);
    }
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bridges_do_what_the_model_does_and_masks_hold),
    };

    only_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
