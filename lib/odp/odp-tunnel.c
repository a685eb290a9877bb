/* The text of tunnel keys: what is inside tunnel(), printed.
 *
 * A tunnel key is a nest of attributes of which the kernel leaves out those that are zero, so the text has what the
 * nest has.  The flag attributes (DF, checksum, OAM, and the presence of an ID) are gathered and printed last. */
#include <config.h>

#include <inttypes.h>
#include <linux/erspan.h>
#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/odp/odp-field.h"
#include "lib/pkt/flow.h"

/* The flags that the nest's attributes stand for. */
static uint16_t nest_flags(const struct odp_attr *nest)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr a;
    uint16_t flags = 0;

    while (odp_attr_next(&it, &a)) {
        flags |= a.type == OVS_TUNNEL_KEY_ATTR_ID              ? ODP_TUNNEL_KEY
                 : a.type == OVS_TUNNEL_KEY_ATTR_CSUM          ? ODP_TUNNEL_CSUM
                 : a.type == OVS_TUNNEL_KEY_ATTR_OAM           ? ODP_TUNNEL_OAM
                 : a.type == OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT ? ODP_TUNNEL_DF
                                                               : 0;
    }
    return flags;
}

/* N bytes as one number, without leading zeroes. */
static void print_long_hex(FILE *out, const uint8_t *p, size_t n)
{
    while (n > 1 && !*p) {
        p++;
        n--;
    }
    fprintf(out, "0x%x", n ? p[0] : 0);
    if (n > 1) {
        odp_hex_print(out, p + 1, n - 1, "");
    }
}

static void print_masked(FILE *out, const char *format, const char *mask_format, unsigned int value,
                         unsigned int mask, unsigned int all)
{
    fprintf(out, format, value);
    if (mask != all) {
        fprintf(out, mask_format, mask);
    }
}

static void print_geneve(FILE *out, const struct odp_attr *a, const uint8_t *mask, bool verbose)
{
    size_t ofs = 0;

    fputs("geneve(", out);
    while (ofs + 4 <= a->len) {
        const uint8_t *opt = a->data + ofs, *m = mask ? mask + ofs : NULL;
        size_t len = (opt[3] & 0x1f) * 4;

        if (len > a->len - ofs - 4) {
            break;
        }
        fputc('{', out);
        if (verbose || !m || m[0] || m[1]) {
            print_masked(out, "class=%#x", "/%#x", opt[0] << 8 | opt[1], m ? m[0] << 8 | m[1] : 0xffff, 0xffff);
            fputc(',', out);
        }
        if (verbose || !m || m[2]) {
            print_masked(out, "type=%#x", "/%#x", opt[2], m ? m[2] : 0xff, 0xff);
            fputc(',', out);
        }
        fprintf(out, "len=%zu", len);
        if (len && (verbose || !m || !odp_all_zero(m + 4, len))) {
            fputc(',', out);
            print_long_hex(out, opt + 4, len);
            if (m && !odp_all_ones(m + 4, len)) {
                fputc('/', out);
                print_long_hex(out, m + 4, len);
            }
        }
        fputc('}', out);
        ofs += 4 + len;
    }
    if (ofs < a->len) {
        odp_hex_print(out, a->data + ofs, a->len - ofs, "");
    }
    fputc(')', out);
}

static void print_vxlan(FILE *out, const struct odp_attr *a, const struct odp_attr *mask, bool verbose)
{
    struct odp_attr_iter it = odp_attr_begin(a->data, a->len);
    struct odp_attr gbp;
    const char *separator = "";
    uint32_t m = UINT32_MAX;

    fputs("vxlan(", out);
    while (odp_attr_next(&it, &gbp)) {
        if (gbp.type == OVS_VXLAN_EXT_GBP && gbp.len == 4) {
            uint32_t v = odp_attr_u32(&gbp);

            if (mask) {
                struct odp_attr_iter mit = odp_attr_begin(mask->data, mask->len);
                struct odp_attr gm;

                m = 0;
                while (odp_attr_next(&mit, &gm)) {
                    m = gm.type == OVS_VXLAN_EXT_GBP && gm.len == 4 ? odp_attr_u32(&gm) : m;
                }
            }
            fprintf(out, "%sgbp(", separator);
            if (verbose || m & 0xffff) {
                fputs("id=", out);
                print_masked(out, "%u", "/%#x", v & 0xffff, m & 0xffff, 0xffff);
            }
            if (verbose || m >> 16 & 0xff) {
                fputs(verbose || m & 0xffff ? ",flags=" : "flags=", out);
                print_masked(out, "%#x", "/%#x", v >> 16 & 0xff, m >> 16 & 0xff, 0xff);
            }
            fputc(')', out);
        } else {
            fprintf(out, "%skey%u(", separator, gbp.type);
            odp_hex_print(out, gbp.data, gbp.len, " ");
            fputc(')', out);
        }
        separator = ",";
    }
    fputc(')', out);
}

static void print_erspan(FILE *out, const struct odp_attr *a, const uint8_t *mask)
{
    struct erspan_metadata md, m;

    if (a->len < sizeof md) {
        fprintf(out, "key%u(", a->type);
        odp_hex_print(out, a->data, a->len, " ");
        fputc(')', out);
        return;
    }
    memset(&m, 0xff, sizeof m);
    memcpy(&md, a->data, sizeof md);
    if (mask) {
        memcpy(&m, mask, sizeof m);
    }
    fputs("erspan(ver=", out);
    print_masked(out, "%u", "/%#x", md.version & 0xff, m.version & 0xff, 0xff);
    if (md.version == 1) {
        /* These three show their mask even if it is exact. */
        fputs(",idx=", out);
        print_masked(out, "%#x", "/%#x", odp_field_get(ODP_FIELD_BE32, (uint8_t *) &md.u.index),
                     odp_field_get(ODP_FIELD_BE32, (uint8_t *) &m.u.index), mask ? 0 : UINT32_MAX);
    } else {
        fputs(",dir=", out);
        print_masked(out, "%u", "/%#x", md.u.md2.dir, m.u.md2.dir, mask ? 0 : 1);
        fputs(",hwid=", out);
        print_masked(out, "%#x", "/%#x", md.u.md2.hwid_upper << 4 | md.u.md2.hwid,
                     m.u.md2.hwid, mask ? 0 : 0xf);
    }
    fputc(')', out);
}

/* One attribute other than a flag; MASK is all zero where the real one has none.  Prints SEPARATOR first. */
static void print_attr(FILE *out, const char *separator, const struct odp_attr *a, const struct odp_attr *mask,
                       bool verbose)
{
    for (size_t i = 0; i < ODP_N_TUNNEL_FIELDS; i++) {
        if (odp_tunnel_fields[i].type == a->type && a->len == odp_field_size(odp_tunnel_fields[i].field.kind)) {
            fprintf(out, "%s%s=", separator, odp_tunnel_fields[i].field.name);
            odp_field_print(out, odp_tunnel_fields[i].field.kind, a->data, mask ? mask->data : NULL, NULL, verbose);
            return;
        }
    }
    fputs(separator, out);
    switch (a->type) {
    case OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS:
        print_geneve(out, a, mask ? mask->data : NULL, verbose);
        break;
    case OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS:
        print_vxlan(out, a, mask, verbose);
        break;
    case OVS_TUNNEL_KEY_ATTR_ERSPAN_OPTS:
        print_erspan(out, a, mask ? mask->data : NULL);
        break;
    default:
        fprintf(out, "key%u(", a->type);
        odp_hex_print(out, a->data, a->len, " ");
        fputc(')', out);
    }
}

void odp_tunnel_print(FILE *out, const struct odp_attr *nest, const struct odp_attr *mask, bool verbose)
{
    static const uint8_t zeroes[256];
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    uint16_t mask_flags = mask ? nest_flags(mask) : ODP_TUNNEL_FLAGS_ALL;
    const char *separator = "";
    struct odp_attr a;

    while (odp_attr_next(&it, &a)) {
        struct odp_attr m = { .type = a.type, .len = a.len, .data = zeroes };

        if (a.type == OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT || a.type == OVS_TUNNEL_KEY_ATTR_CSUM ||
            a.type == OVS_TUNNEL_KEY_ATTR_OAM || a.type == OVS_TUNNEL_KEY_ATTR_PAD || a.len > sizeof zeroes) {
            continue;
        }
        if (mask) {
            struct odp_attr_iter mit = odp_attr_begin(mask->data, mask->len);
            struct odp_attr found;

            while (odp_attr_next(&mit, &found)) {
                if (found.type == a.type && found.len == a.len) {
                    m = found;
                }
            }
            if (!verbose && odp_all_zero(m.data, m.len)) {
                continue;
            }
        }
        print_attr(out, separator, &a, mask ? &m : NULL, verbose);
        separator = ",";
    }
    /* Whether there is an ID is not matched where there is none. */
    uint16_t flags = nest_flags(nest);
    mask_flags &= mask ? flags | ~ODP_TUNNEL_KEY : ODP_TUNNEL_FLAGS_ALL;
    if (mask_flags || verbose) {
        fprintf(out, "%sflags(", separator);
        if (!mask_flags) {
            fputs("0/0", out);
        } else if (mask_flags == ODP_TUNNEL_FLAGS_ALL && !flags) {
            fputc('0', out);
        }
        odp_flags_print(out, odp_tunnel_flag_names, ARRAY_SIZE(odp_tunnel_flag_names), flags, mask_flags,
                        mask_flags == ODP_TUNNEL_FLAGS_ALL);
        fputc(')', out);
    }
}
