/* What the running kernel's datapath can do.
 *
 * Purpose: fills struct dpif_features, but for the features of dispatch (dpif-kernel-dp.c).  Versions tell little: what
 * matters is how the kernel was configured, and what its distributor added.  So each feature is tried: a flow that
 * needs it is put, and deleted when the kernel took it.  Its key is of no packet that occurs (Ethernet addresses of
 * zero), and it is marked as a probe, so the kernel logs nothing.  A flow left behind by a predecessor that was killed
 * in the middle is replaced: a put without NLM_F_CREATE may.
 *
 * Threads and owners: runs once, at open, on the session of the opening thread. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-kernel.h"

LOG_MODULE(dpif_netlink_probe);

/* Depths beyond which nobody asks. */
#define MAX_VLANS          4
#define MAX_MPLS           4
#define MAX_SAMPLE_NESTING 10

/* Actions of newer kernels than the headers are of. */
#define ACTION_ATTR_DROP    24
#define ACTION_ATTR_PSAMPLE 25
#define PSAMPLE_ATTR_GROUP  1

/* An Ethernet type that nobody uses. */
#define ETH_TYPE_PROBE 0x1234

/* ---- Keys. ---- */

static void key_ethernet(struct attrbuf *b, uint16_t ethertype)
{
    struct ovs_key_ethernet eth = { { 0 }, { 0 } };
    attrbuf_put(b, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    attrbuf_put_u16(b, OVS_KEY_ATTR_ETHERTYPE, htons(ethertype));
}

static void key_plain(struct attrbuf *b, unsigned int n) { key_ethernet(b, ETH_TYPE_PROBE); }

static void key_ipv4(struct attrbuf *b, unsigned int n)
{
    struct ovs_key_ipv4 ip = { .ipv4_proto = IPPROTO_RAW };
    key_ethernet(b, ETH_P_IP);
    attrbuf_put(b, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
}

static void key_recirc(struct attrbuf *b, unsigned int n)
{
    attrbuf_put_u32(b, OVS_KEY_ATTR_RECIRC_ID, 1);
    key_plain(b, 0);
}

/* N VLAN tags: each is outside of what follows. */
static void key_vlans(struct attrbuf *b, unsigned int n)
{
    struct nlattr *encap[MAX_VLANS];
    struct ovs_key_ethernet eth = { { 0 }, { 0 } };
    attrbuf_put(b, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    for (unsigned int i = 0; i < n; i++) {
        attrbuf_put_u16(b, OVS_KEY_ATTR_ETHERTYPE, htons(i + 1 < n ? ETH_P_8021AD : ETH_P_8021Q));
        attrbuf_put_u16(b, OVS_KEY_ATTR_VLAN, htons(0x1000));
        encap[i] = attrbuf_nest_begin(b, OVS_KEY_ATTR_ENCAP);
    }
    attrbuf_put_u16(b, OVS_KEY_ATTR_ETHERTYPE, htons(ETH_TYPE_PROBE));
    while (n--) {
        attrbuf_nest_end(b, encap[n]);
    }
}

static void key_mpls(struct attrbuf *b, unsigned int n)
{
    struct ovs_key_mpls lse[MAX_MPLS] = { { 0 } };
    lse[n - 1].mpls_lse = htonl(0x100); /* Bottom of stack. */
    key_ethernet(b, ETH_P_MPLS_UC);
    attrbuf_put(b, OVS_KEY_ATTR_MPLS, lse, n * sizeof lse[0]);
}

static void key_ct_state(struct attrbuf *b, unsigned int n)
{
    attrbuf_put_u32(b, OVS_KEY_ATTR_CT_STATE, OVS_CS_F_TRACKED | OVS_CS_F_ESTABLISHED);
    key_plain(b, 0);
}

static void key_ct_zone(struct attrbuf *b, unsigned int n)
{
    attrbuf_put_u16(b, OVS_KEY_ATTR_CT_ZONE, 1);
    key_plain(b, 0);
}

static void key_ct_mark(struct attrbuf *b, unsigned int n)
{
    attrbuf_put_u32(b, OVS_KEY_ATTR_CT_MARK, 1);
    key_plain(b, 0);
}

static void key_ct_label(struct attrbuf *b, unsigned int n)
{
    struct ovs_key_ct_labels labels = { .ct_labels = { 1 } };
    attrbuf_put(b, OVS_KEY_ATTR_CT_LABELS, &labels, sizeof labels);
    key_plain(b, 0);
}

static void key_ct_nat(struct attrbuf *b, unsigned int n)
{
    attrbuf_put_u32(b, OVS_KEY_ATTR_CT_STATE, OVS_CS_F_TRACKED | OVS_CS_F_ESTABLISHED | OVS_CS_F_SRC_NAT);
    key_plain(b, 0);
}

static void key_ct_orig_tuple(struct attrbuf *b, unsigned int n)
{
    struct ovs_key_ct_tuple_ipv4 tuple = { .ipv4_src = htonl(0x0a000001), .ipv4_proto = IPPROTO_RAW };
    attrbuf_put_u32(b, OVS_KEY_ATTR_CT_STATE, OVS_CS_F_TRACKED | OVS_CS_F_ESTABLISHED);
    attrbuf_put(b, OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4, &tuple, sizeof tuple);
    key_ipv4(b, 0);
}

static void key_ct_orig_tuple6(struct attrbuf *b, unsigned int n)
{
    struct ovs_key_ct_tuple_ipv6 tuple = { .ipv6_src = { htonl(0x20010db8) }, .ipv6_proto = IPPROTO_RAW };
    struct ovs_key_ipv6 ip = { .ipv6_proto = IPPROTO_RAW };
    attrbuf_put_u32(b, OVS_KEY_ATTR_CT_STATE, OVS_CS_F_TRACKED | OVS_CS_F_ESTABLISHED);
    attrbuf_put(b, OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV6, &tuple, sizeof tuple);
    key_ethernet(b, ETH_P_IPV6);
    attrbuf_put(b, OVS_KEY_ATTR_IPV6, &ip, sizeof ip);
}

/* ---- Actions. ---- */

static void act_none(struct attrbuf *b, unsigned int n) {}

static void act_masked_set(struct attrbuf *b, unsigned int n)
{
    struct ovs_key_ethernet value_mask[2];
    memset(&value_mask[0], 0, sizeof value_mask[0]);
    memset(&value_mask[1], 0xff, sizeof value_mask[1]);
    struct nlattr *set = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SET_MASKED);
    attrbuf_put(b, OVS_KEY_ATTR_ETHERNET, value_mask, sizeof value_mask);
    attrbuf_nest_end(b, set);
}

static void act_trunc(struct attrbuf *b, unsigned int n)
{
    struct ovs_action_trunc trunc = { .max_len = 64 };
    attrbuf_put(b, OVS_ACTION_ATTR_TRUNC, &trunc, sizeof trunc);
}

static void act_clone(struct attrbuf *b, unsigned int n)
{
    attrbuf_nest_end(b, attrbuf_nest_begin(b, OVS_ACTION_ATTR_CLONE));
}

/* N samples, one in the other. */
static void act_sample(struct attrbuf *b, unsigned int n)
{
    struct nlattr *sample[MAX_SAMPLE_NESTING], *actions[MAX_SAMPLE_NESTING];
    for (unsigned int i = 0; i < n; i++) {
        sample[i] = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SAMPLE);
        attrbuf_put_u32(b, OVS_SAMPLE_ATTR_PROBABILITY, UINT32_MAX);
        actions[i] = attrbuf_nest_begin(b, OVS_SAMPLE_ATTR_ACTIONS);
    }
    while (n--) {
        attrbuf_nest_end(b, actions[n]);
        attrbuf_nest_end(b, sample[n]);
    }
}

static void act_ct_eventmask(struct attrbuf *b, unsigned int n)
{
    struct nlattr *ct = attrbuf_nest_begin(b, OVS_ACTION_ATTR_CT);
    attrbuf_put_flag(b, OVS_CT_ATTR_COMMIT);
    attrbuf_put_u32(b, OVS_CT_ATTR_EVENTMASK, 1);
    attrbuf_nest_end(b, ct);
}

static void act_ct_timeout(struct attrbuf *b, unsigned int n)
{
    static const char policy[] = "sluice_probe"; /* It need not exist. */
    struct nlattr *ct = attrbuf_nest_begin(b, OVS_ACTION_ATTR_CT);
    attrbuf_put_flag(b, OVS_CT_ATTR_COMMIT);
    attrbuf_put(b, OVS_CT_ATTR_TIMEOUT, policy, sizeof policy);
    attrbuf_nest_end(b, ct);
}

static void act_ct_clear(struct attrbuf *b, unsigned int n) { attrbuf_put_flag(b, OVS_ACTION_ATTR_CT_CLEAR); }

static void act_check_pkt_len(struct attrbuf *b, unsigned int n)
{
    struct nlattr *check = attrbuf_nest_begin(b, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    attrbuf_put_u16(b, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, 100);
    attrbuf_nest_end(b, attrbuf_nest_begin(b, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER));
    attrbuf_nest_end(b, attrbuf_nest_begin(b, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL));
    attrbuf_nest_end(b, check);
}

static void act_drop(struct attrbuf *b, unsigned int n) { attrbuf_put_u32(b, ACTION_ATTR_DROP, 0); }

static void act_psample(struct attrbuf *b, unsigned int n)
{
    /* As young as it is, its reader insists on the flag. */
    struct nlattr *psample = attrbuf_nest_begin(b, NLA_F_NESTED | ACTION_ATTR_PSAMPLE);
    attrbuf_put_u32(b, PSAMPLE_ATTR_GROUP, 1);
    attrbuf_nest_end(b, psample);
}

/* ---- Trying. ---- */

typedef void writer(struct attrbuf *b, unsigned int n);

/* Sends one request on the probe's flow with key KEY(N). */
static int probe_request(struct dpif_kernel_session *s, uint8_t cmd, const struct ufid *ufid, writer *key,
                         writer *actions, unsigned int n)
{
    const struct dpif_kernel *k = kernel_session_dpif(s);
    struct attrbuf b;
    kernel_msg_begin(&b, s->tx, KERNEL_TX_SIZE, k->flow_family, 0, cmd, OVS_FLOW_VERSION, k->dp_ifindex);
    if (ufid) {
        kernel_put_ufid(&b, ufid);
    }
    attrbuf_put_flag(&b, OVS_FLOW_ATTR_PROBE);
    struct nlattr *nest = attrbuf_nest_begin(&b, OVS_FLOW_ATTR_KEY);
    key(&b, n);
    attrbuf_nest_end(&b, nest);
    if (actions) {
        nest = attrbuf_nest_begin(&b, OVS_FLOW_ATTR_ACTIONS);
        actions(&b, n);
        attrbuf_nest_end(&b, nest);
    }
    return kernel_transact(s, &b, NULL, NULL);
}

/* Whether the kernel takes a flow with KEY(N) and ACTIONS(N), which is deleted again. */
static bool probe_flow(struct dpif_kernel_session *s, writer *key, writer *actions, unsigned int n)
{
    if (probe_request(s, OVS_FLOW_CMD_NEW, NULL, key, actions, n)) {
        return false;
    }
    int error = probe_request(s, OVS_FLOW_CMD_DEL, NULL, key, NULL, n);
    if (error) {
        log_warn("%s: cannot delete the flow that a feature was probed with: %s", s->up.dpif->name, strerror(-error));
    }
    return true;
}

/* Whether flows have names: one that was put with a name must be found by it. */
static bool probe_ufid(struct dpif_kernel_session *s)
{
    const struct ufid ufid = { UINT64_C(0x534c554943450001), UINT64_C(0x70726f6265000001) };
    struct dpif_flow flow;
    if (probe_request(s, OVS_FLOW_CMD_NEW, &ufid, key_plain, act_none, 0)) {
        return false;
    }
    bool found = !kernel_flow_get(&s->up, &ufid, NULL, 0, &flow) && flow.has_ufid && ufid_eq(&flow.ufid, &ufid);
    if (probe_request(s, OVS_FLOW_CMD_DEL, found ? &ufid : NULL, key_plain, NULL, 0)) {
        log_warn("%s: cannot delete the flow that a feature was probed with", s->up.dpif->name);
    }
    return found;
}

/* The greatest N up to MAX that the kernel takes. */
static unsigned int probe_depth(struct dpif_kernel_session *s, writer *key, writer *actions, unsigned int max)
{
    unsigned int n = 0;
    while (n < max && probe_flow(s, key, actions, n + 1)) {
        n++;
    }
    return n;
}

struct probe {
    const char *text; /* "Datapath supports TEXT" */
    size_t offset;    /* Of a bool in struct dpif_features. */
    writer *key, *actions;
};

#define PROBE(TEXT, MEMBER, KEY, ACTIONS)                                                                              \
    {                                                                                                                  \
        TEXT, offsetof(struct dpif_features, MEMBER), KEY, ACTIONS                                                     \
    }
static const struct probe probes[] = {
    PROBE("recirculation", recirc, key_recirc, act_none),
    PROBE("masked set action", masked_set, key_plain, act_masked_set),
    PROBE("truncate action", trunc, key_plain, act_trunc),
    PROBE("clone action", clone, key_plain, act_clone),
    PROBE("eventmask in conntrack action", ct_eventmask, key_ipv4, act_ct_eventmask),
    PROBE("ct_clear action", ct_clear, key_plain, act_ct_clear),
    PROBE("check_pkt_len action", check_pkt_len, key_plain, act_check_pkt_len),
    PROBE("timeout policy in conntrack action", ct_timeout, key_ipv4, act_ct_timeout),
    PROBE("explicit drop action", drop_action, key_plain, act_drop),
    PROBE("psample action", psample, key_plain, act_psample),
    PROBE("ct_state", ct_state, key_ct_state, act_none),
    PROBE("ct_zone", ct_zone, key_ct_zone, act_none),
    PROBE("ct_mark", ct_mark, key_ct_mark, act_none),
    PROBE("ct_label", ct_label, key_ct_label, act_none),
    PROBE("ct_state_nat", ct_nat, key_ct_nat, act_none),
    PROBE("ct_orig_tuple", ct_orig_tuple, key_ct_orig_tuple, act_none),
    PROBE("ct_orig_tuple6", ct_orig_tuple6, key_ct_orig_tuple6, act_none),
};

/* See dpif-kernel.h. */
void kernel_probe(struct dpif_kernel_session *s)
{
    struct dpif_features *f = &s->up.dpif->features;
    const char *name = s->up.dpif->name;
    struct dpif_port port;

    for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
        const struct probe *p = &probes[i];
        bool yes = probe_flow(s, p->key, p->actions, 0);
        *(bool *) ((char *) f + p->offset) = yes;
        log_info("%s@%s: Datapath %s %s", dpif_kernel_ops.type, name, yes ? "supports" : "does not support", p->text);
    }
    f->ufid = probe_ufid(s);
    log_info("%s@%s: Datapath %s unique flow ids", dpif_kernel_ops.type, name,
             f->ufid ? "supports" : "does not support");
    f->max_vlans = probe_depth(s, key_vlans, act_none, MAX_VLANS);
    log_info("%s@%s: VLAN header stack length probed as %u", dpif_kernel_ops.type, name, f->max_vlans);
    f->max_mpls = probe_depth(s, key_mpls, act_none, MAX_MPLS);
    log_info("%s@%s: MPLS label stack length probed as %u", dpif_kernel_ops.type, name, f->max_mpls);
    f->sample_nesting = probe_depth(s, key_plain, act_sample, MAX_SAMPLE_NESTING);
    log_info("%s@%s: Max sample nesting level probed as %u", dpif_kernel_ops.type, name, f->sample_nesting);
    f->upcall_stats = !kernel_port_query(&s->up, NULL, ODPP_LOCAL, &port) && port.upcall_success != UINT64_MAX;
    log_info("%s@%s: Datapath %s upcall counters of ports", dpif_kernel_ops.type, name,
             f->upcall_stats ? "supports" : "does not support");
}
