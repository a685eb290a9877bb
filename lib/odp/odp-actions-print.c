/* Datapath actions, printed as `ovs-dpctl dump-flows` prints them.
 *
 * Pure functions.  The list may come from a newer kernel or be malformed: an action that is unknown or has a wrong
 * length is printed as actionN(hex), and lists nested deeper than anything that the kernel takes are cut. */
#include <config.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-cookie.h"
#include "lib/odp/odp-ct.h"
#include "lib/odp/odp-field.h"
#include "lib/pkt/flow.h"

/* The kernel takes 16 levels at most. */
#define MAX_DEPTH 16

/* Newer than the uAPI header that we may be built with. */
#define ODP_ACTION_ATTR_DROP 24
#define ODP_ACTION_ATTR_PSAMPLE 25

struct actions_printer {
    FILE *out;
    const struct odp_names *names;
    int depth;
};

static void print_list(struct actions_printer *p, const void *actions, size_t len);

/* Unpacks a nest into TB[0..MAX], entries with .data NULL where there is none. */
static void unpack(const struct odp_attr *nest, struct odp_attr *tb, size_t max)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr a;

    memset(tb, 0, (max + 1) * sizeof *tb);
    while (odp_attr_next(&it, &a)) {
        if (a.type <= max) {
            tb[a.type] = a;
        }
    }
}

static uint32_t u32_or(const struct odp_attr *a, uint32_t otherwise)
{
    return a->data && a->len == 4 ? odp_attr_u32(a) : otherwise;
}

static uint16_t u16_or(const struct odp_attr *a, uint16_t otherwise)
{
    return a->data && a->len == 2 ? odp_attr_u16(a) : otherwise;
}

static void print_nested(struct actions_printer *p, const char *name, const struct odp_attr *a)
{
    fprintf(p->out, "%s(", name);
    if (a->len) {
        print_list(p, a->data, a->len);
    } else {
        fputs("drop", p->out);
    }
    fputc(')', p->out);
}

static void print_userspace(struct actions_printer *p, const struct odp_attr *nest)
{
    struct odp_attr tb[OVS_USERSPACE_ATTR_MAX + 1];
    const struct odp_attr *userdata = &tb[OVS_USERSPACE_ATTR_USERDATA];
    struct odp_cookie cookie;

    unpack(nest, tb, OVS_USERSPACE_ATTR_MAX);
    fprintf(p->out, "userspace(pid=%" PRIu32, u32_or(&tb[OVS_USERSPACE_ATTR_PID], 0));
    if (userdata->data && odp_cookie_get(userdata->data, userdata->len, &cookie)) {
        fputc(',', p->out);
        odp_cookie_print(p->out, &cookie);
    } else if (userdata->data) {
        fputs(",userdata(", p->out);
        odp_hex_print(p->out, userdata->data, userdata->len, "");
        fputc(')', p->out);
    }
    if (tb[OVS_USERSPACE_ATTR_ACTIONS].data) {
        fputs(",actions", p->out);
    }
    if (tb[OVS_USERSPACE_ATTR_EGRESS_TUN_PORT].data) {
        fputs(",tunnel_out_port=", p->out);
        odp_port_print(p->out, u32_or(&tb[OVS_USERSPACE_ATTR_EGRESS_TUN_PORT], 0), p->names);
    }
    fputc(')', p->out);
}

static void print_set(struct actions_printer *p, const struct odp_attr *nest, bool masked)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr a, mask;

    fputs("set(", p->out);
    if (odp_attr_next(&it, &a)) {
        /* A masked set has the value and the mask, one behind the other; so have the attributes in a masked NSH. */
        bool split = masked && a.type != OVS_KEY_ATTR_NSH && a.len % 2 == 0;

        if (split) {
            a.len /= 2;
            mask = a;
            mask.data += a.len;
        }
        odp_key_attr_print(p->out, &a, split ? &mask : NULL, p->names, false);
    }
    fputc(')', p->out);
}

static void print_push_vlan(FILE *out, const struct odp_attr *a)
{
    struct ovs_action_push_vlan push;

    memcpy(&push, a->data, sizeof push);
    uint16_t tci = ntohs(push.vlan_tci);
    fputs("push_vlan(", out);
    if (push.vlan_tpid != htons(ETH_TYPE_VLAN)) {
        fprintf(out, "tpid=0x%04x,", ntohs(push.vlan_tpid));
    }
    fprintf(out, "vid=%d,pcp=%d%s)", tci & VLAN_VID_MASK, tci >> VLAN_PCP_SHIFT, tci & VLAN_CFI ? "" : ",cfi=0");
}

static void print_hash(FILE *out, const struct odp_attr *a)
{
    struct ovs_action_hash hash;

    memcpy(&hash, a->data, sizeof hash);
    if (hash.hash_alg == OVS_HASH_ALG_L4) {
        fprintf(out, "hash(l4(%" PRIu32 "))", hash.hash_basis);
    } else {
        fprintf(out, "hash(alg%" PRIu32 "(%" PRIu32 "))", hash.hash_alg, hash.hash_basis);
    }
}

/* Both push_mpls and add_mpls: they begin alike. */
static void print_push_mpls(FILE *out, const char *name, const struct odp_attr *a)
{
    struct ovs_action_push_mpls push;

    memcpy(&push, a->data, sizeof push);
    uint32_t lse = ntohl(push.mpls_lse);

    fprintf(out, "%s(label=%u,tc=%u,ttl=%u,bos=%u,eth_type=%#x)", name, lse >> 12, lse >> 9 & 7, lse & 0xff,
            lse >> 8 & 1, ntohs(push.mpls_ethertype));
}

static void print_sample(struct actions_printer *p, const struct odp_attr *nest)
{
    struct odp_attr tb[OVS_SAMPLE_ATTR_MAX + 1];

    unpack(nest, tb, OVS_SAMPLE_ATTR_MAX);
    fprintf(p->out, "sample(sample=%.1f%%,",
            u32_or(&tb[OVS_SAMPLE_ATTR_PROBABILITY], 0) * 100.0 / (double) UINT32_MAX);
    print_nested(p, "actions", &tb[OVS_SAMPLE_ATTR_ACTIONS]);
    fputc(')', p->out);
}

static void print_check_pkt_len(struct actions_printer *p, const struct odp_attr *nest)
{
    struct odp_attr tb[OVS_CHECK_PKT_LEN_ATTR_MAX + 1];

    unpack(nest, tb, OVS_CHECK_PKT_LEN_ATTR_MAX);
    fprintf(p->out, "check_pkt_len(size=%u,", u16_or(&tb[OVS_CHECK_PKT_LEN_ATTR_PKT_LEN], 0));
    print_nested(p, "gt", &tb[OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER]);
    fputc(',', p->out);
    print_nested(p, "le", &tb[OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL]);
    fputc(')', p->out);
}

static void print_dec_ttl(struct actions_printer *p, const struct odp_attr *nest)
{
    struct odp_attr tb[OVS_DEC_TTL_ATTR_MAX + 1];

    unpack(nest, tb, OVS_DEC_TTL_ATTR_MAX);
    fputs("dec_ttl(", p->out);
    print_nested(p, "le_1", &tb[OVS_DEC_TTL_ATTR_ACTION]);
    fputc(')', p->out);
}

static void print_psample(FILE *out, const struct odp_attr *nest)
{
    struct odp_attr tb[3];

    unpack(nest, tb, 2);
    fprintf(out, "psample(group=%" PRIu32, u32_or(&tb[1], 0));
    if (tb[2].data) {
        fputs(",cookie=0x", out);
        odp_hex_print(out, tb[2].data, tb[2].len, "");
    }
    fputc(')', out);
}

/* Actions without a nest; the table's lengths have been checked.  Returns false if A is none of them. */
static bool print_simple(struct actions_printer *p, const struct odp_attr *a)
{
    switch (a->type) {
    case OVS_ACTION_ATTR_OUTPUT:
        odp_port_print(p->out, odp_attr_u32(a), p->names);
        return true;
    case OVS_ACTION_ATTR_PUSH_VLAN:
        print_push_vlan(p->out, a);
        return true;
    case OVS_ACTION_ATTR_POP_VLAN:
        fputs("pop_vlan", p->out);
        return true;
    case OVS_ACTION_ATTR_RECIRC:
        fprintf(p->out, "recirc(%#" PRIx32 ")", odp_attr_u32(a));
        return true;
    case OVS_ACTION_ATTR_HASH:
        print_hash(p->out, a);
        return true;
    case OVS_ACTION_ATTR_PUSH_MPLS:
        print_push_mpls(p->out, "push_mpls", a);
        return true;
    case OVS_ACTION_ATTR_ADD_MPLS:
        print_push_mpls(p->out, "add_mpls", a);
        return true;
    case OVS_ACTION_ATTR_POP_MPLS:
        fprintf(p->out, "pop_mpls(eth_type=%#x)", ntohs(odp_attr_u16(a)));
        return true;
    case OVS_ACTION_ATTR_TRUNC:
        fprintf(p->out, "trunc(%" PRIu32 ")", odp_attr_u32(a));
        return true;
    case OVS_ACTION_ATTR_PUSH_ETH:
        fputs("push_eth(src=", p->out);
        odp_hex_print(p->out, a->data, 6, ":");
        fputs(",dst=", p->out);
        odp_hex_print(p->out, a->data + 6, 6, ":");
        fputc(')', p->out);
        return true;
    case OVS_ACTION_ATTR_POP_ETH:
        fputs("pop_eth", p->out);
        return true;
    case OVS_ACTION_ATTR_CT_CLEAR:
        fputs("ct_clear", p->out);
        return true;
    case OVS_ACTION_ATTR_POP_NSH:
        fputs("pop_nsh()", p->out);
        return true;
    case OVS_ACTION_ATTR_METER:
        fprintf(p->out, "meter(%" PRIu32 ")", odp_attr_u32(a));
        return true;
    case ODP_ACTION_ATTR_DROP:
        fputs("drop", p->out);
        return true;
    default:
        return false;
    }
}

/* Actions that have attributes in them. */
static bool print_nest(struct actions_printer *p, const struct odp_attr *a)
{
    switch (a->type) {
    case OVS_ACTION_ATTR_USERSPACE:
        print_userspace(p, a);
        return true;
    case OVS_ACTION_ATTR_SET:
    case OVS_ACTION_ATTR_SET_MASKED:
        print_set(p, a, a->type == OVS_ACTION_ATTR_SET_MASKED);
        return true;
    case OVS_ACTION_ATTR_SAMPLE:
        print_sample(p, a);
        return true;
    case OVS_ACTION_ATTR_CT:
        odp_ct_print(p->out, a);
        return true;
    case OVS_ACTION_ATTR_PUSH_NSH: {
        struct odp_attr_iter it = odp_attr_begin(a->data, a->len);
        struct odp_attr nsh;

        fputs("push_", p->out);
        if (odp_attr_next(&it, &nsh)) {
            odp_key_attr_print(p->out, &nsh, NULL, p->names, false);
        }
        return true;
    }
    case OVS_ACTION_ATTR_CLONE:
        print_nested(p, "clone", a);
        return true;
    case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        print_check_pkt_len(p, a);
        return true;
    case OVS_ACTION_ATTR_DEC_TTL:
        print_dec_ttl(p, a);
        return true;
    case ODP_ACTION_ATTR_PSAMPLE:
        print_psample(p->out, a);
        return true;
    default:
        return false;
    }
}

static bool length_ok(const struct odp_attr *a)
{
    static const uint8_t len[ODP_ACTION_ATTR_DROP + 1] = {
        [OVS_ACTION_ATTR_OUTPUT] = 4,     [OVS_ACTION_ATTR_PUSH_VLAN] = 4, [OVS_ACTION_ATTR_RECIRC] = 4,
        [OVS_ACTION_ATTR_HASH] = 8,       [OVS_ACTION_ATTR_PUSH_MPLS] = 8, [OVS_ACTION_ATTR_POP_MPLS] = 2,
        [OVS_ACTION_ATTR_TRUNC] = 4,      [OVS_ACTION_ATTR_PUSH_ETH] = 12, [OVS_ACTION_ATTR_METER] = 4,
        [OVS_ACTION_ATTR_ADD_MPLS] = 8,   [ODP_ACTION_ATTR_DROP] = 4,
    };

    return a->type >= ARRAY_SIZE(len) || !len[a->type] || a->len == len[a->type];
}

static void print_list(struct actions_printer *p, const void *actions, size_t len)
{
    struct odp_attr_iter it = odp_attr_begin(actions, len);
    const char *separator = "";
    struct odp_attr a;

    if (++p->depth > MAX_DEPTH) {
        fputs("...", p->out);
    } else {
        while (odp_attr_next(&it, &a)) {
            fputs(separator, p->out);
            separator = ",";
            if (!length_ok(&a) || (!print_simple(p, &a) && !print_nest(p, &a))) {
                fprintf(p->out, "action%u(", a.type);
                odp_hex_print(p->out, a.data, a.len, "");
                fputc(')', p->out);
            }
        }
    }
    p->depth--;
}

void odp_actions_print(FILE *out, const struct nlattr *actions, size_t len, const struct odp_names *names)
{
    struct actions_printer p = { .out = out, .names = names };

    if (!len) {
        fputs("drop", out);
    } else {
        print_list(&p, actions, len);
    }
}
