/* What the simulated datapath refuses, as the kernel does: flows that it could not carry out faithfully.
 *
 * Keys: each attribute known, once, and of its length; what the Ethernet type and the protocol promise must be
 * there.  Masks: a field may be looked at only if the fields that say that the packet has it are matched exactly.
 * That is where a translator's mistakes show, so these rules are kept strictly; the rest loosely.  Pure functions. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>
#include <netinet/in.h>

#include "lib/dpif/dpif-sim-private.h"

#define KEY_MAX         32 /* Attributes above are unknown. */
#define VARIABLE        UINT16_MAX
#define SIM_ACTION_DROP 24 /* Not in older headers. */
#define MAX_DEPTH       16

#define BIT(TYPE) (UINT64_C(1) << (TYPE))

/* Lengths of key attributes; 0: the kernel does not take it. */
static const uint16_t key_lens[KEY_MAX + 1] = {
    [OVS_KEY_ATTR_ENCAP] = VARIABLE,
    [OVS_KEY_ATTR_PRIORITY] = 4,
    [OVS_KEY_ATTR_IN_PORT] = 4,
    [OVS_KEY_ATTR_ETHERNET] = 12,
    [OVS_KEY_ATTR_VLAN] = 2,
    [OVS_KEY_ATTR_ETHERTYPE] = 2,
    [OVS_KEY_ATTR_IPV4] = 12,
    [OVS_KEY_ATTR_IPV6] = 40,
    [OVS_KEY_ATTR_TCP] = 4,
    [OVS_KEY_ATTR_UDP] = 4,
    [OVS_KEY_ATTR_ICMP] = 2,
    [OVS_KEY_ATTR_ICMPV6] = 2,
    [OVS_KEY_ATTR_ARP] = sizeof(struct ovs_key_arp),
    [OVS_KEY_ATTR_ND] = 28,
    [OVS_KEY_ATTR_SKB_MARK] = 4,
    [OVS_KEY_ATTR_TUNNEL] = VARIABLE,
    [OVS_KEY_ATTR_SCTP] = 4,
    [OVS_KEY_ATTR_TCP_FLAGS] = 2,
    [OVS_KEY_ATTR_DP_HASH] = 4,
    [OVS_KEY_ATTR_RECIRC_ID] = 4,
    [OVS_KEY_ATTR_MPLS] = VARIABLE,
    [OVS_KEY_ATTR_CT_STATE] = 4,
    [OVS_KEY_ATTR_CT_ZONE] = 2,
    [OVS_KEY_ATTR_CT_MARK] = 4,
    [OVS_KEY_ATTR_CT_LABELS] = 16,
    [OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV4] = sizeof(struct ovs_key_ct_tuple_ipv4),
    [OVS_KEY_ATTR_CT_ORIG_TUPLE_IPV6] = sizeof(struct ovs_key_ct_tuple_ipv6),
    [OVS_KEY_ATTR_NSH] = VARIABLE,
    [32] = 2, /* IPV6_EXTHDRS. */
};

/* A level of attributes, and all levels inside it, by type. */
struct attrs {
    const struct nlattr *a[KEY_MAX + 1];
    uint64_t present;
};

static bool all_zero(const struct nlattr *a)
{
    const uint8_t *p = mnl_attr_get_payload(a);

    for (size_t i = 0; i < mnl_attr_get_payload_len(a); i++) {
        if (p[i]) {
            return false;
        }
    }
    return true;
}

/* Reads a level.  Of a mask (MASK), attributes that are all zero count as absent. */
static int attrs_parse(const void *data, size_t len, bool mask, struct attrs *ret)
{
    const struct nlattr *a = data;
    size_t left = len;

    *ret = (struct attrs){ .present = 0 };
    while (left >= sizeof *a && mnl_attr_ok(a, left)) {
        unsigned int type = mnl_attr_get_type(a);
        if (type > KEY_MAX || !key_lens[type] || (ret->present & BIT(type)) ||
            (key_lens[type] != VARIABLE && mnl_attr_get_payload_len(a) != key_lens[type])) {
            return -EINVAL;
        }
        if (!mask || !all_zero(a)) {
            ret->a[type] = a;
            ret->present |= BIT(type);
        }
        size_t step = MNL_ALIGN(a->nla_len);
        left = left > step ? left - step : 0;
        a = mnl_attr_next(a);
    }
    return left ? -EINVAL : 0;
}

static uint16_t attr_u16(const struct attrs *t, int type)
{
    uint16_t v = 0;
    if (t->a[type]) {
        memcpy(&v, mnl_attr_get_payload(t->a[type]), sizeof v);
    }
    return ntohs(v);
}

/* The byte at OFS of attribute TYPE; 0 if it is absent. */
static uint8_t attr_byte(const struct attrs *t, int type, size_t ofs)
{
    return t->a[type] ? ((const uint8_t *) mnl_attr_get_payload(t->a[type]))[ofs] : 0;
}

static bool is_vlan_type(uint16_t type) { return type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ; }

/* Replaces in T what belongs to a VLAN header by what is inside it. */
static int attrs_enter(struct attrs *t, bool mask)
{
    const uint64_t header = BIT(OVS_KEY_ATTR_ETHERTYPE) | BIT(OVS_KEY_ATTR_VLAN) | BIT(OVS_KEY_ATTR_ENCAP);
    const struct nlattr *encap = t->a[OVS_KEY_ATTR_ENCAP];
    struct attrs in = { .present = 0 };

    if (encap && attrs_parse(mnl_attr_get_payload(encap), mnl_attr_get_payload_len(encap), mask, &in)) {
        return -EINVAL;
    }
    for (int i = 0; i <= KEY_MAX; i++) {
        if (BIT(i) & header) {
            t->a[i] = in.a[i];
        } else if (in.a[i]) {
            if (t->a[i]) {
                return -EINVAL;
            }
            t->a[i] = in.a[i];
        }
    }
    t->present = (t->present & ~header) | in.present;
    return 0;
}

/* Goes into the VLAN headers of KEY, and of MASK (may be NULL) along with it. */
static int check_vlans(struct attrs *key, struct attrs *mask, unsigned int max_vlans)
{
    for (unsigned int n = 0; is_vlan_type(attr_u16(key, OVS_KEY_ATTR_ETHERTYPE)); n++) {
        uint16_t tci = attr_u16(key, OVS_KEY_ATTR_VLAN);
        if (n == max_vlans || !key->a[OVS_KEY_ATTR_VLAN] || !key->a[OVS_KEY_ATTR_ENCAP] || (tci && !(tci & VLAN_CFI))) {
            return -EINVAL;
        }
        if (mask && mask->a[OVS_KEY_ATTR_ENCAP] &&
            (attr_u16(mask, OVS_KEY_ATTR_ETHERTYPE) != 0xffff || !(attr_u16(mask, OVS_KEY_ATTR_VLAN) & VLAN_CFI))) {
            return -EINVAL;
        }
        if (attrs_enter(key, false) || (mask && attrs_enter(mask, true))) {
            return -EINVAL;
        }
        if (!tci) {
            break; /* A truncated tag: nothing is inside. */
        }
    }
    return mask && mask->a[OVS_KEY_ATTR_ENCAP] ? -EINVAL : 0;
}

/* Transport attributes that a packet of protocol PROTO over IPv4 or IPv6 (V6) has. */
static uint64_t transport_attrs(uint8_t proto, bool v6)
{
    if (proto == IPPROTO_TCP) {
        return BIT(OVS_KEY_ATTR_TCP) | BIT(OVS_KEY_ATTR_TCP_FLAGS);
    } else if (proto == IPPROTO_UDP) {
        return BIT(OVS_KEY_ATTR_UDP);
    } else if (proto == IPPROTO_SCTP) {
        return BIT(OVS_KEY_ATTR_SCTP);
    } else if (proto == (v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
        return v6 ? BIT(OVS_KEY_ATTR_ICMPV6) : BIT(OVS_KEY_ATTR_ICMP);
    }
    return 0;
}

/* Adds to *EXPECTED what KEY must have over IP, and to *ALLOWED what MASK may look at. */
static void check_ip(const struct attrs *key, const struct attrs *mask, bool v6, uint64_t *expected, uint64_t *allowed)
{
    int type = v6 ? OVS_KEY_ATTR_IPV6 : OVS_KEY_ATTR_IPV4;
    size_t proto_ofs = v6 ? offsetof(struct ovs_key_ipv6, ipv6_proto) : offsetof(struct ovs_key_ipv4, ipv4_proto);
    size_t frag_ofs = v6 ? offsetof(struct ovs_key_ipv6, ipv6_frag) : offsetof(struct ovs_key_ipv4, ipv4_frag);

    *expected |= BIT(type);
    if (!key->a[type] || attr_byte(key, type, frag_ofs) == OVS_FRAG_TYPE_LATER) {
        return;
    }
    uint64_t transport = transport_attrs(attr_byte(key, type, proto_ofs), v6);
    *expected |= transport;
    if (!mask || attr_byte(mask, type, proto_ofs) != 0xff) {
        return;
    }
    *allowed |= transport;
    uint8_t icmp = attr_byte(key, OVS_KEY_ATTR_ICMPV6, 0);
    if (v6 && (icmp == 135 || icmp == 136) && attr_byte(mask, OVS_KEY_ATTR_ICMPV6, 0) == 0xff) {
        *allowed |= BIT(OVS_KEY_ATTR_ND);
    }
}

static int check_protocols(const struct attrs *key, const struct attrs *mask)
{
    const uint64_t conditional = BIT(OVS_KEY_ATTR_IPV4) | BIT(OVS_KEY_ATTR_IPV6) | BIT(OVS_KEY_ATTR_TCP) |
                                 BIT(OVS_KEY_ATTR_TCP_FLAGS) | BIT(OVS_KEY_ATTR_UDP) | BIT(OVS_KEY_ATTR_SCTP) |
                                 BIT(OVS_KEY_ATTR_ICMP) | BIT(OVS_KEY_ATTR_ICMPV6) | BIT(OVS_KEY_ATTR_ARP) |
                                 BIT(OVS_KEY_ATTR_ND) | BIT(OVS_KEY_ATTR_MPLS) | BIT(OVS_KEY_ATTR_NSH);
    uint64_t expected = 0, allowed = 0, ours = 0;
    uint16_t type = attr_u16(key, OVS_KEY_ATTR_ETHERTYPE);

    switch (type) {
    case ETH_TYPE_ARP:
    case ETH_TYPE_RARP:
        ours = expected = BIT(OVS_KEY_ATTR_ARP);
        break;
    case ETH_TYPE_IPV4:
        ours = BIT(OVS_KEY_ATTR_IPV4);
        check_ip(key, mask, false, &expected, &allowed);
        break;
    case ETH_TYPE_IPV6:
        ours = BIT(OVS_KEY_ATTR_IPV6) | BIT(32);
        check_ip(key, mask, true, &expected, &allowed);
        break;
    case ETH_TYPE_MPLS:
    case ETH_TYPE_MPLS_MC:
        ours = expected = BIT(OVS_KEY_ATTR_MPLS);
        break;
    case ETH_TYPE_NSH:
        ours = BIT(OVS_KEY_ATTR_NSH);
        break;
    }
    if (mask && mask->a[OVS_KEY_ATTR_ETHERTYPE]) { /* Taken as exact whatever its bits. */
        allowed |= ours;
    }
    if ((key->present & expected) != expected) {
        return -EINVAL;
    }
    return mask && mask->present & conditional & ~allowed ? -EINVAL : 0;
}

int sim_check_key(const struct sim_dp *dp, const struct nlattr *key_data, size_t key_len,
                  const struct nlattr *mask_data, size_t mask_len)
{
    struct attrs key, mask;
    bool masked = mask_len != 0;

    if (attrs_parse(key_data, key_len, false, &key) || (masked && attrs_parse(mask_data, mask_len, true, &mask))) {
        return -EINVAL;
    }
    /* A packet without Ethernet header must say what it is. */
    if (!key.a[OVS_KEY_ATTR_ETHERNET] && !key.a[OVS_KEY_ATTR_ETHERTYPE]) {
        return -EINVAL;
    }
    if (check_vlans(&key, masked ? &mask : NULL, sim_max_vlans(dp))) {
        return -EINVAL;
    }
    return check_protocols(&key, masked ? &mask : NULL);
}

/* ---- Actions. ---- */

static int check_userspace(const struct nlattr *action)
{
    const struct nlattr *a;
    uint32_t pid = 0;

    mnl_attr_for_each_nested(a, action)
    {
        if (mnl_attr_get_type(a) == OVS_USERSPACE_ATTR_PID) {
            if (mnl_attr_get_payload_len(a) != sizeof pid) {
                return -EINVAL;
            }
            pid = mnl_attr_get_u32(a);
        }
    }
    return pid ? 0 : -EINVAL;
}

static int check_push_vlan(const struct nlattr *a)
{
    const struct ovs_action_push_vlan *push = mnl_attr_get_payload(a);

    return mnl_attr_get_payload_len(a) == sizeof *push && is_vlan_type(ntohs(push->vlan_tpid)) &&
                   (push->vlan_tci & htons(VLAN_CFI))
               ? 0
               : -EINVAL;
}

static int check_u32(const struct nlattr *a, uint32_t min, uint32_t max)
{
    if (mnl_attr_get_payload_len(a) != 4) {
        return -EINVAL;
    }
    uint32_t v = mnl_attr_get_u32(a);
    return v >= min && v <= max ? 0 : -EINVAL;
}

/* Length of each attribute of ct; VARIABLE: of any. */
static int check_ct(const struct nlattr *action)
{
    static const uint16_t lens[] = {
        [OVS_CT_ATTR_ZONE] = 2, [OVS_CT_ATTR_MARK] = 8, [OVS_CT_ATTR_LABELS] = 32, [OVS_CT_ATTR_HELPER] = VARIABLE,
        [OVS_CT_ATTR_NAT] = VARIABLE, [OVS_CT_ATTR_EVENTMASK] = 4, [OVS_CT_ATTR_TIMEOUT] = VARIABLE,
    };
    const struct nlattr *a;
    uint64_t present = 0;

    mnl_attr_for_each_nested(a, action)
    {
        uint16_t type = mnl_attr_get_type(a);
        if (!type || type > OVS_CT_ATTR_TIMEOUT || present & BIT(type)
            || (lens[type] != VARIABLE && mnl_attr_get_payload_len(a) != lens[type])) {
            return -EINVAL;
        }
        present |= BIT(type);
    }
    bool commits = present & (BIT(OVS_CT_ATTR_COMMIT) | BIT(OVS_CT_ATTR_FORCE_COMMIT));
    return !commits && present & (BIT(OVS_CT_ATTR_MARK) | BIT(OVS_CT_ATTR_LABELS)) ? -EINVAL : 0; /* They are a connection's. */
}

static int check_action(const struct sim_dp *dp, const struct nlattr *a, int depth)
{
    bool old = dp->kernel == SIM_KERNEL_OLD;

    switch (mnl_attr_get_type(a)) {
    case OVS_ACTION_ATTR_OUTPUT:
        return check_u32(a, 0, SIM_MAX_PORTS - 1);
    case OVS_ACTION_ATTR_USERSPACE:
        return check_userspace(a);
    case OVS_ACTION_ATTR_PUSH_VLAN:
        return check_push_vlan(a);
    case OVS_ACTION_ATTR_POP_VLAN:
        return mnl_attr_get_payload_len(a) ? -EINVAL : 0;
    case OVS_ACTION_ATTR_RECIRC:
        return check_u32(a, 0, UINT32_MAX);
    case OVS_ACTION_ATTR_TRUNC:
        return old ? -EINVAL : check_u32(a, 14, UINT32_MAX);
    case OVS_ACTION_ATTR_CT:
        return old ? -EINVAL : check_ct(a);
    case OVS_ACTION_ATTR_CT_CLEAR:
        return old || mnl_attr_get_payload_len(a) ? -EINVAL : 0;
    case OVS_ACTION_ATTR_CLONE:
        return old ? -EINVAL : sim_check_actions(dp, mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), depth + 1);
    case OVS_ACTION_ATTR_METER:
        return old ? -EINVAL : check_u32(a, 0, UINT32_MAX);
    case SIM_ACTION_DROP:
        return dp->kernel != SIM_KERNEL_CURRENT ? -EINVAL : check_u32(a, 0, UINT32_MAX);
    default: /* Known to the kernel, if not to the sim: refused only when it comes to it. */
        return mnl_attr_get_type(a) && mnl_attr_get_type(a) < SIM_ACTION_DROP ? 0 : -EINVAL;
    }
}

int sim_check_actions(const struct sim_dp *dp, const struct nlattr *actions, size_t len, int depth)
{
    const struct nlattr *a = actions;
    size_t left = len;

    if (depth > MAX_DEPTH) {
        return -EINVAL;
    }
    while (left >= sizeof *a && mnl_attr_ok(a, left)) {
        int error = check_action(dp, a, depth);
        if (error) {
            return error;
        }
        size_t step = MNL_ALIGN(a->nla_len);
        left = left > step ? left - step : 0;
        a = mnl_attr_next(a);
    }
    return left ? -EINVAL : 0;
}
