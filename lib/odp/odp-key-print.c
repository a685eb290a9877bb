/* Datapath keys under masks, printed.
 *
 * The text is the one of `ovs-dpctl dump-flows` (3.1, compared line by line in a guest), because people and scripts
 * read it.  Attributes come in the order of the stream; a mask is looked up by type, at the same level of nesting.
 * Without 'verbose' what is wildcarded is left out, with two exceptions that the model has too: eth() and encap() are
 * always there, and so is an attribute that nobody knows.  Input is not trusted: what is malformed is printed as far
 * as it goes, in hexadecimal where its length is wrong. */
#include <config.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/odp/odp-field.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"

#define MAX_ENCAP 4

struct key_printer {
    FILE *out;
    const struct odp_names *names;
    bool verbose;
    bool masked; /* There is a mask: what it does not have is wildcarded. */
};

void odp_hex_print(FILE *out, const uint8_t *data, size_t n, const char *separator)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s%02x", i ? separator : "", data[i]);
    }
}

void odp_port_print(FILE *out, uint32_t port, const struct odp_names *names)
{
    const char *name = names && names->name ? names->name((odp_port_t) { port }, names->aux) : NULL;

    if (name) {
        fputs(name, out);
    } else {
        fprintf(out, "%" PRIu32, port);
    }
}

void odp_flags_print(FILE *out, const char *const *names, int n, uint64_t flags, uint64_t mask, bool exact)
{
    const char *separator = "";

    for (int i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << i;

        if (exact) {
            if (flags & bit) {
                fprintf(out, "%s%s", separator, names[i]);
                separator = "|";
            }
        } else if (mask & bit) {
            fprintf(out, "%c%s", flags & bit ? '+' : '-', names[i]);
        }
    }
}

static void print_hex128(FILE *out, const uint8_t *p)
{
    uint64_t v[2];

    memcpy(v, p, sizeof v);
    uint64_t hi = v[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__], lo = v[__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__];

    if (hi) {
        fprintf(out, "%#" PRIx64 "%016" PRIx64, hi, lo);
    } else {
        fprintf(out, "%#" PRIx64, lo);
    }
}

static void print_address(FILE *out, int family, const uint8_t *p)
{
    char s[INET6_ADDRSTRLEN];

    fputs(inet_ntop(family, p, s, sizeof s), out);
}

static void print_value(FILE *out, enum odp_field_kind kind, const uint8_t *p, bool is_mask)
{
    static const char *const frags[] = { "no", "first", "later" };
    uint64_t v = odp_field_get(kind, p);

    switch (kind) {
    case ODP_FIELD_DEC8:
    case ODP_FIELD_DEC16:
        fprintf(out, is_mask ? "%#" PRIx64 : "%" PRIu64, v);
        break;
    case ODP_FIELD_HEX8:
    case ODP_FIELD_HEX16:
    case ODP_FIELD_HEX32:
    case ODP_FIELD_LABEL:
    case ODP_FIELD_PORT:
    case ODP_FIELD_CT_STATE:
    case ODP_FIELD_TCP_FLAGS:
        fprintf(out, "%#" PRIx64, v);
        break;
    case ODP_FIELD_BE32:
    case ODP_FIELD_HEX64:
        fprintf(out, is_mask ? "%#" PRIx64 : "0x%" PRIx64, v);
        break;
    case ODP_FIELD_HEX128:
        print_hex128(out, p);
        break;
    case ODP_FIELD_ETHERTYPE:
        fprintf(out, "0x%04" PRIx64, v);
        break;
    case ODP_FIELD_IPV4:
        print_address(out, AF_INET, p);
        break;
    case ODP_FIELD_IPV6:
        print_address(out, AF_INET6, p);
        break;
    case ODP_FIELD_MAC:
        odp_hex_print(out, p, 6, ":");
        break;
    case ODP_FIELD_FRAG:
        if (v < ARRAY_SIZE(frags) && !is_mask) {
            fputs(frags[v], out);
        } else {
            fprintf(out, "%#" PRIx64, v);
        }
        break;
    }
}

void odp_field_print(FILE *out, enum odp_field_kind kind, const uint8_t *value, const uint8_t *mask,
                     const struct odp_names *names, bool verbose)
{
    bool exact = !mask || odp_field_is_exact(kind, mask);

    if (kind == ODP_FIELD_PORT) {
        odp_port_print(out, odp_field_get(kind, value), names);
    } else if (kind == ODP_FIELD_CT_STATE && !verbose) {
        odp_flags_print(out, odp_ct_state_names, ARRAY_SIZE(odp_ct_state_names), odp_field_get(kind, value),
                        exact ? 0 : odp_field_get(kind, mask), exact);
        return;
    } else if (kind == ODP_FIELD_TCP_FLAGS && (exact ? odp_field_get(kind, value) : odp_field_get(kind, mask))) {
        odp_flags_print(out, odp_tcp_flag_names, ARRAY_SIZE(odp_tcp_flag_names), odp_field_get(kind, value),
                        exact ? 0 : odp_field_get(kind, mask), exact);
        return;
    } else {
        print_value(out, kind, value, false);
    }
    if (!exact) {
        fputc('/', out);
        print_value(out, kind, mask, true);
    }
}

static void print_group(const struct key_printer *p, const struct odp_group *g, const uint8_t *v, const uint8_t *m)
{
    const char *separator = "";

    for (int i = 0; i < g->n_fields; i++) {
        const struct odp_field *f = &g->fields[i];
        const uint8_t *fm = m ? m + f->ofs : NULL;
        bool wild = fm && odp_all_zero(fm, odp_field_size(f->kind));

        if (wild && (!p->verbose || f->kind == ODP_FIELD_FRAG)) {
            continue;
        }
        if (f->name) {
            fprintf(p->out, "%s%s=", separator, f->name);
        }
        odp_field_print(p->out, f->kind, v + f->ofs, fm, p->names, p->verbose);
        separator = ",";
    }
}

static void print_vlan(const struct key_printer *p, const uint8_t *v, const uint8_t *m)
{
    static const struct {
        const char *name;
        uint16_t mask;
        int shift;
    } parts[] = { { "vid", VLAN_VID_MASK, 0 }, { "pcp", VLAN_PCP_MASK, VLAN_PCP_SHIFT } };
    uint16_t tci = odp_field_get(ODP_FIELD_DEC16, v);
    uint16_t mask = m ? odp_field_get(ODP_FIELD_DEC16, m) : UINT16_MAX;
    const char *separator = "";

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        uint16_t part_mask = mask & parts[i].mask;

        if (!part_mask && !p->verbose) {
            continue;
        }
        fprintf(p->out, "%s%s=%d", separator, parts[i].name, (tci & parts[i].mask) >> parts[i].shift);
        if (part_mask != parts[i].mask) {
            fprintf(p->out, "/0x%x", part_mask >> parts[i].shift);
        }
        separator = ",";
    }
    if (!(tci & VLAN_CFI)) {
        fprintf(p->out, "%scfi=0", separator);
    }
}

static void print_mpls(const struct key_printer *p, const uint8_t *v, const uint8_t *m, size_t len)
{
    bool exact = !m || odp_all_ones(m, len);

    for (size_t i = 0; i + 4 <= len; i += 4) {
        uint32_t lse = odp_field_get(ODP_FIELD_BE32, v + i);

        fputs(i ? "," : "", p->out);
        if (exact) {
            fprintf(p->out, "label=%u,tc=%u,ttl=%u,bos=%u", lse >> 12, lse >> 9 & 7, lse & 0xff, lse >> 8 & 1);
        } else {
            uint32_t mask = odp_field_get(ODP_FIELD_BE32, m + i);
            fprintf(p->out, "label=%u/0x%x,tc=%u/%x,ttl=%u/0x%x,bos=%u/%x", lse >> 12, mask >> 12, lse >> 9 & 7,
                    mask >> 9 & 7, lse & 0xff, mask & 0xff, lse >> 8 & 1, mask >> 8 & 1);
        }
    }
}

/* Looks for TYPE in the mask attribute MASK, a nest.  False if it is not there or not of length LEN. */
static bool find_mask(const struct odp_attr *mask, uint16_t type, size_t len, struct odp_attr *ret_attr)
{
    struct odp_attr_iter it = odp_attr_begin(mask->data, mask->len);

    while (odp_attr_next(&it, ret_attr)) {
        if (ret_attr->type == type) {
            return ret_attr->len == len;
        }
    }
    return false;
}

struct nsh_field {
    const char *name;
    int ofs, size; /* Bytes, within an attribute. */
    bool hex;
};

/* The fields of one NSH attribute, each in its own spelling: exact ones short, masked ones with all their digits. */
static void print_nsh_fields(FILE *out, const struct nsh_field *fields, size_t n, const uint8_t *v, const uint8_t *m)
{
    const char *separator = "";

    for (size_t i = 0; i < n; i++) {
        const struct nsh_field *f = &fields[i];
        uint32_t value = 0, mask = 0;

        for (int j = f->ofs; j < f->ofs + f->size; j++) {
            value = value << 8 | v[j];
            mask = mask << 8 | (m ? m[j] : 0xff);
        }
        if (!mask) {
            continue;
        }
        fprintf(out, "%s%s=", separator, f->name);
        separator = ",";
        if (mask == UINT32_MAX >> (32 - 8 * f->size)) {
            fprintf(out, f->hex ? "0x%" PRIx32 : "%" PRIu32, value);
        } else if (f->hex) {
            fprintf(out, "0x%" PRIx32 "/0x%08" PRIx32, value, mask);
        } else {
            fprintf(out, "0x%02" PRIx32 "/0x%02" PRIx32, value, mask);
        }
    }
}

/* Wildcarded fields of NSH are left out even when verbose. */
static void print_nsh(const struct key_printer *p, const struct odp_attr *nest, const struct odp_attr *mask)
{
    static const struct nsh_field base[] = {
        { "flags", 0, 1, false }, { "ttl", 1, 1, false }, { "mdtype", 2, 1, false },
        { "np", 3, 1, false },    { "spi", 4, 3, true },  { "si", 7, 1, false },
    };
    static const struct nsh_field md1[] = {
        { "c1", 0, 4, true }, { "c2", 4, 4, true }, { "c3", 8, 4, true }, { "c4", 12, 4, true }
    };
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    static const uint8_t zeroes[16];
    struct odp_attr a, am;
    const char *separator = "";

    while (odp_attr_next(&it, &a)) {
        const uint8_t *m = mask ? zeroes : NULL;

        if (mask && a.len <= sizeof zeroes && find_mask(mask, a.type, a.len, &am)) {
            m = am.data;
        }
        if (m && odp_all_zero(m, MIN(a.len, sizeof zeroes))) {
            continue;
        }
        fputs(separator, p->out);
        separator = ",";
        if (a.type == OVS_NSH_KEY_ATTR_BASE && a.len == sizeof(struct ovs_nsh_key_base)) {
            print_nsh_fields(p->out, base, ARRAY_SIZE(base), a.data, m);
        } else if (a.type == OVS_NSH_KEY_ATTR_MD1 && a.len == sizeof(struct ovs_nsh_key_md1)) {
            print_nsh_fields(p->out, md1, ARRAY_SIZE(md1), a.data, m);
        } else {
            fputs("md2=", p->out);
            odp_hex_print(p->out, a.data, a.len, "");
        }
    }
}

static void print_unknown(const struct key_printer *p, const struct odp_attr *a, const struct odp_attr *mask)
{
    odp_hex_print(p->out, a->data, a->len, " ");
    if (mask) {
        fputc('/', p->out);
        odp_hex_print(p->out, mask->data, mask->len, " ");
    }
}

static void print_attr(const struct key_printer *p, const struct odp_attr *a, const struct odp_attr *mask)
{
    const struct odp_group *g = odp_group_by_type(a->type);
    const uint8_t *m = mask ? mask->data : NULL;

    if (a->type == OVS_KEY_ATTR_MPLS && mask && !mask->len) {
        /* What the kernel reports where no label is matched. */
        print_mpls(p, a->data, NULL, a->len);
    } else if (mask && mask->len != a->len && a->type != OVS_KEY_ATTR_TUNNEL && a->type != OVS_KEY_ATTR_NSH) {
        print_unknown(p, a, mask);
    } else if (g && a->len == g->size) {
        print_group(p, g, a->data, m);
    } else if (a->type == OVS_KEY_ATTR_VLAN && a->len == 2) {
        print_vlan(p, a->data, m);
    } else if (a->type == OVS_KEY_ATTR_MPLS && a->len % 4 == 0) {
        print_mpls(p, a->data, m, a->len);
    } else if (a->type == OVS_KEY_ATTR_TUNNEL) {
        odp_tunnel_print(p->out, a, mask, p->verbose);
    } else if (a->type == OVS_KEY_ATTR_NSH) {
        print_nsh(p, a, mask);
    } else {
        print_unknown(p, a, mask);
    }
}

static void print_name(FILE *out, uint16_t type)
{
    const struct odp_group *g = odp_group_by_type(type);

    switch (type) {
    case OVS_KEY_ATTR_VLAN:
        fputs("vlan", out);
        break;
    case OVS_KEY_ATTR_MPLS:
        fputs("mpls", out);
        break;
    case OVS_KEY_ATTR_TUNNEL:
        fputs("tunnel", out);
        break;
    case OVS_KEY_ATTR_NSH:
        fputs("nsh", out);
        break;
    case OVS_KEY_ATTR_ENCAP:
        fputs("encap", out);
        break;
    case OVS_KEY_ATTR_PACKET_TYPE:
        fputs("packet_type", out);
        break;
    default:
        if (g) {
            fputs(g->name, out);
        } else {
            fprintf(out, "key%u", type);
        }
    }
}

void odp_key_attr_print(FILE *out, const struct odp_attr *a, const struct odp_attr *mask,
                        const struct odp_names *names, bool verbose)
{
    struct key_printer p = { .out = out, .names = names, .verbose = verbose, .masked = mask };

    print_name(out, a->type);
    fputc('(', out);
    print_attr(&p, a, mask);
    fputc(')', out);
}

static bool is_known(uint16_t type)
{
    return odp_group_by_type(type) || type == OVS_KEY_ATTR_VLAN || type == OVS_KEY_ATTR_MPLS ||
           type == OVS_KEY_ATTR_TUNNEL || type == OVS_KEY_ATTR_NSH || type == OVS_KEY_ATTR_ENCAP;
}

/* Is A left out because its mask is all zero? */
static bool is_hidden(const struct key_printer *p, const struct odp_attr *a, const struct odp_attr *mask)
{
    if (!p->masked || p->verbose || !is_known(a->type) || a->type == OVS_KEY_ATTR_ETHERNET ||
        a->type == OVS_KEY_ATTR_ENCAP) {
        return false;
    }
    if (a->type == OVS_KEY_ATTR_NSH) {
        struct odp_attr base, md1;
        return !(find_mask(mask, OVS_NSH_KEY_ATTR_BASE, sizeof(struct ovs_nsh_key_base), &base) &&
                 !odp_all_zero(base.data, base.len)) &&
               !(find_mask(mask, OVS_NSH_KEY_ATTR_MD1, sizeof(struct ovs_nsh_key_md1), &md1) &&
                 !odp_all_zero(md1.data, md1.len));
    }
    return odp_all_zero(mask->data, mask->len);
}

static void print_level(const struct key_printer *p, const void *key, size_t len, const struct odp_attr *mask,
                        int depth)
{
    static const uint8_t zeroes[64];
    struct odp_attr_iter it = odp_attr_begin(key, len);
    bool has_eth_type = false, has_eth = depth > 0;
    const char *separator = "";
    struct odp_attr a, m;

    while (odp_attr_next(&it, &a)) {
        struct odp_attr_iter mit = odp_attr_begin(mask->data, mask->len);
        bool found = false;

        while (p->masked && !found && odp_attr_next(&mit, &m)) {
            found = m.type == a.type;
        }
        if (!found) {
            /* Not in the mask: nothing of it matters. */
            m = (struct odp_attr) { .type = a.type, .data = zeroes };
            m.len = a.type == OVS_KEY_ATTR_TUNNEL || a.type == OVS_KEY_ATTR_NSH ? 0 : MIN(a.len, sizeof zeroes);
        }
        has_eth_type |= a.type == OVS_KEY_ATTR_ETHERTYPE;
        has_eth |= a.type == OVS_KEY_ATTR_ETHERNET;
        if (is_hidden(p, &a, &m)) {
            continue;
        }
        fputs(separator, p->out);
        separator = ",";
        if (a.type == OVS_KEY_ATTR_ENCAP && depth < MAX_ENCAP) {
            fputs("encap(", p->out);
            if (a.len) {
                print_level(p, a.data, a.len, &m, depth + 1);
            }
            fputc(')', p->out);
        } else {
            odp_key_attr_print(p->out, &a, p->masked ? &m : NULL, p->names, p->verbose);
        }
    }
    if (!has_eth_type && has_eth && p->masked) {
        /* A frame with a length for a type has no ETHERTYPE in its key, only in its mask. */
        bool found = find_mask(mask, OVS_KEY_ATTR_ETHERTYPE, 2, &m);
        fprintf(p->out, "%seth_type(0/0x%04" PRIx64 ")", separator,
                found ? odp_field_get(ODP_FIELD_ETHERTYPE, m.data) : UINT64_C(0));
    }
}

void odp_key_print(FILE *out, const struct nlattr *key, size_t key_len, const struct nlattr *mask, size_t mask_len,
                   const struct odp_names *names, bool verbose)
{
    struct key_printer p = { .out = out, .names = names, .verbose = verbose, .masked = mask_len };
    struct odp_attr top = { .data = (const uint8_t *) mask, .len = MIN(mask_len, UINT16_MAX) };

    print_level(&p, key, key_len, &top, 0);
}

void odp_ufid_print(FILE *out, const struct ufid *ufid)
{
    /* The kernel gets and gives the structure as it lies in memory; the tools read that as four words. */
    uint32_t w[4];

    memcpy(w, ufid, sizeof w);
    fprintf(out, "ufid:%08" PRIx32 "-%04" PRIx32 "-%04" PRIx32 "-%04" PRIx32 "-%04" PRIx32 "%08" PRIx32, w[0],
            w[1] >> 16, w[1] & 0xffff, w[2] >> 16, w[2] & 0xffff, w[3]);
}
