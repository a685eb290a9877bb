/* Datapath keys and masks, read from the text that odp_key_print() writes.
 *
 * For commands and tests, not for speed: the text is copied and taken apart in place.  A field that is named gets a
 * mask of all ones unless it has its own; one that is not named is wildcarded.  Each error says which field, which
 * value, and what would be right.  Pure functions; the attributes go to the caller's buffers. */
#include <config.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-key-scan.h"
#include "lib/odp/odp-text.h"
#include "lib/pkt/flow.h"

/* Tags that may lie in one another; the kernel takes two. */
#define MAX_ENCAP 3

void odp_scan_put(const struct odp_scan *s, uint16_t type, const void *value, const void *mask, size_t len)
{
    attrbuf_put(s->key, type, value, len);
    if (s->mask) {
        attrbuf_put(s->mask, type, mask, len);
    }
}

char *odp_scan_field(const char *group, const struct odp_field *f, const char *text, uint8_t *value, uint8_t *mask)
{
    const char *words = odp_field_scan(f->kind, text, value, mask);

    if (!words) {
        return NULL;
    }
    return f->name ? xasprintf("%s(%s=%s): expected %s", group, f->name, text, words)
                   : xasprintf("%s(%s): expected %s", group, text, words);
}

char *odp_scan_fields(const char *group, const struct odp_field *fields, size_t n, char *body, uint8_t *value,
                      uint8_t *mask)
{
    char *item;

    while ((item = odp_item_next(&body)) != NULL) {
        char *text = odp_item_value(item);
        size_t i = 0;

        while (i < n && strcmp(fields[i].name, item)) {
            i++;
        }
        if (!text || i == n) {
            return xasprintf("%s(%s): there is no such field in %s", group, item, group);
        }
        char *error = odp_scan_field(group, &fields[i], text, value + fields[i].ofs, mask + fields[i].ofs);
        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *scan_group(const struct odp_scan *s, const struct odp_group *g, char *body)
{
    uint8_t value[64] = { 0 }, mask[64] = { 0 };
    char *error = g->fields[0].name ? odp_scan_fields(g->name, g->fields, g->n_fields, body, value, mask)
                                    : odp_scan_field(g->name, &g->fields[0], body, value, mask);

    if (error) {
        return error;
    }
    if (g->type == OVS_KEY_ATTR_ETHERTYPE && odp_all_zero(value, 2)) {
        /* eth_type(0/0xffff): a frame with a length in the place of the type; only the mask has the attribute. */
        if (s->mask && !odp_all_zero(mask, 2)) {
            attrbuf_put(s->mask, g->type, mask, 2);
        }
    } else {
        odp_scan_put(s, g->type, value, mask, g->size);
    }
    return NULL;
}

/* "VALUE" or "VALUE/MASK" of a bit field of at most MAX. */
static char *scan_bits(const char *group, const char *name, char *text, uint32_t max, uint32_t *value, uint32_t *mask)
{
    char *slash = strchr(text, '/');
    uint64_t v, m = max;

    if (slash) {
        *slash = '\0';
    }
    if (!odp_number_scan(text, max, &v) || (slash && !odp_number_scan(slash + 1, max, &m))) {
        return xasprintf("%s(%s=%s%s%s): expected a number from 0 to %" PRIu32, group, name, text, slash ? "/" : "",
                         slash ? slash + 1 : "", max);
    }
    *value = v;
    *mask = m;
    return NULL;
}

struct bit_field {
    const char *name;
    uint32_t max;
    int shift;
};

/* Reads ITEM into the word *VALUE and *MASK.  *RET_INDEX: which of FIELDS it was. */
static char *scan_bit_field(const char *group, const struct bit_field *fields, size_t n, char *item, uint32_t *value,
                            uint32_t *mask, size_t *ret_index)
{
    char *text = odp_item_value(item);
    uint32_t v = 0, m = 0;

    for (size_t i = 0; text && i < n; i++) {
        if (!strcmp(fields[i].name, item)) {
            char *error = scan_bits(group, item, text, fields[i].max, &v, &m);
            if (error) {
                return error;
            }
            *value = (*value & ~(fields[i].max << fields[i].shift)) | v << fields[i].shift;
            *mask = (*mask & ~(fields[i].max << fields[i].shift)) | m << fields[i].shift;
            *ret_index = i;
            return NULL;
        }
    }
    return xasprintf("%s(%s): there is no such field in %s", group, item, group);
}

static char *scan_vlan(const struct odp_scan *s, char *body)
{
    static const struct bit_field fields[] = { { "vid", 0xfff, 0 }, { "pcp", 7, VLAN_PCP_SHIFT }, { "cfi", 1, 12 } };
    uint32_t tci = VLAN_CFI, mask = VLAN_CFI;
    char *item;
    size_t index;

    while ((item = odp_item_next(&body)) != NULL) {
        char *error = scan_bit_field("vlan", fields, ARRAY_SIZE(fields), item, &tci, &mask, &index);
        if (error) {
            return error;
        }
    }
    be16 value_be = htons(tci), mask_be = htons(mask);
    odp_scan_put(s, OVS_KEY_ATTR_VLAN, &value_be, &mask_be, 2);
    return NULL;
}

static char *scan_mpls(const struct odp_scan *s, char *body)
{
    static const struct bit_field fields[] = { { "label", 0xfffff, 12 }, { "tc", 7, 9 }, { "ttl", 0xff, 0 },
                                               { "bos", 1, 8 } };
    uint32_t value[FLOW_MAX_MPLS] = { 0 }, mask[FLOW_MAX_MPLS] = { 0 };
    bool label_seen = false;
    size_t n = 0, index;
    char *item;

    while ((item = odp_item_next(&body)) != NULL) {
        /* A second label starts the next entry of the stack. */
        if (!strncmp(item, "label=", 6)) {
            n += label_seen;
            label_seen = true;
        }
        if (n >= FLOW_MAX_MPLS) {
            return xasprintf("mpls: more than %d labels", FLOW_MAX_MPLS);
        }
        char *error = scan_bit_field("mpls", fields, ARRAY_SIZE(fields), item, &value[n], &mask[n], &index);
        if (error) {
            return error;
        }
    }
    for (size_t i = 0; i <= n; i++) {
        value[i] = htonl(value[i]);
        mask[i] = htonl(mask[i]);
    }
    odp_scan_put(s, OVS_KEY_ATTR_MPLS, value, mask, (n + 1) * 4);
    return NULL;
}

static char *scan_nsh_fields(char *body, struct odp_nsh *value, struct odp_nsh *mask)
{
    static const struct odp_field fields[] = {
        { "flags", ODP_FIELD_DEC8, 0 },   { "ttl", ODP_FIELD_DEC8, 1 },  { "mdtype", ODP_FIELD_DEC8, 2 },
        { "np", ODP_FIELD_DEC8, 3 },      { "si", ODP_FIELD_DEC8, 7 },   { "c1", ODP_FIELD_BE32, 8 },
        { "c2", ODP_FIELD_BE32, 12 },     { "c3", ODP_FIELD_BE32, 16 },  { "c4", ODP_FIELD_BE32, 20 },
    };
    static const struct bit_field spi_field = { "spi", 0xffffff, 0 };
    char *item;

    while ((item = odp_item_next(&body)) != NULL) {
        char *error;

        if (!strncmp(item, "spi=", 4)) {
            uint32_t v = 0, m = 0;
            size_t index;

            error = scan_bit_field("nsh", &spi_field, 1, item, &v, &m, &index);
            value->base.path_hdr |= htonl(v << 8);
            mask->base.path_hdr |= htonl(m << 8);
        } else {
            error = odp_scan_fields("nsh", fields, ARRAY_SIZE(fields), item, (uint8_t *) value, (uint8_t *) mask);
        }
        if (error) {
            return error;
        }
    }
    return NULL;
}

char *odp_scan_nsh(char *body, struct odp_nsh *ret_value, struct odp_nsh *ret_mask)
{
    struct odp_nsh value = { 0 }, mask = { 0 };
    char *error = scan_nsh_fields(body, &value, &mask);

    if (!error) {
        *ret_value = value;
        *ret_mask = mask;
    }
    return error;
}

void odp_nsh_put(struct attrbuf *b, uint16_t type, const struct odp_nsh *nsh, bool md1)
{
    struct nlattr *nest = attrbuf_nest_begin(b, type);

    attrbuf_put(b, OVS_NSH_KEY_ATTR_BASE, &nsh->base, sizeof nsh->base);
    if (md1) {
        attrbuf_put(b, OVS_NSH_KEY_ATTR_MD1, &nsh->md1, sizeof nsh->md1);
    }
    attrbuf_nest_end(b, nest);
}

/* keyN(01 02/ff ff): an attribute that has no name here. */
static char *scan_unknown(const struct odp_scan *s, const char *name, const char *body)
{
    uint8_t bytes[2][64] = { { 0 } };
    size_t n[2] = { 0, 0 };
    int which = 0;
    uint64_t type;

    if (!odp_number_scan(name + 3, NLA_TYPE_MASK, &type)) {
        return xasprintf("%s: there is no such field", name);
    }
    for (const char *p = body; *p;) {
        char digits[3] = { p[0], p[0] ? p[1] : '\0', '\0' };

        if (*p == ' ' || (*p == '/' && !which)) {
            which += *p++ == '/';
            continue;
        }
        if (strspn(digits, "0123456789abcdefABCDEF") != 2 || n[which] >= sizeof bytes[0]) {
            return xasprintf("%s(%s): expected at most 64 bytes in hexadecimal, such as 00 1f", name, body);
        }
        bytes[which][n[which]++] = strtoul(digits, NULL, 16);
        p += 2;
    }
    if (which && n[1] != n[0]) {
        return xasprintf("%s(%s): the mask must be as long as the value", name, body);
    }
    if (!which) {
        memset(bytes[1], 0xff, n[0]);
    }
    odp_scan_put(s, type, bytes[0], bytes[1], n[0]);
    return NULL;
}

static char *scan_level(const struct odp_scan *s, char *text, int depth);

static char *scan_encap(const struct odp_scan *s, char *body, int depth)
{
    if (depth >= MAX_ENCAP) {
        return xasprintf("encap(%s): nested too deep", body);
    }
    struct nlattr *key = attrbuf_nest_begin(s->key, OVS_KEY_ATTR_ENCAP);
    struct nlattr *mask = s->mask ? attrbuf_nest_begin(s->mask, OVS_KEY_ATTR_ENCAP) : NULL;
    char *error = scan_level(s, body, depth + 1);

    attrbuf_nest_end(s->key, key);
    if (s->mask) {
        attrbuf_nest_end(s->mask, mask);
    }
    return error;
}

char *odp_scan_attr(const struct odp_scan *s, const char *name, char *body)
{
    const struct odp_group *g = odp_group_by_name(name, strlen(name));

    if (g) {
        return scan_group(s, g, body);
    }
    if (!strcmp(name, "vlan")) {
        return scan_vlan(s, body);
    }
    if (!strcmp(name, "mpls")) {
        return scan_mpls(s, body);
    }
    if (!strcmp(name, "tunnel")) {
        return odp_tunnel_scan(s, body);
    }
    if (!strcmp(name, "nsh")) {
        struct odp_nsh value, mask;
        char *error = odp_scan_nsh(body, &value, &mask);

        if (!error) {
            odp_nsh_put(s->key, OVS_KEY_ATTR_NSH, &value, value.base.mdtype == 1);
            if (s->mask) {
                odp_nsh_put(s->mask, OVS_KEY_ATTR_NSH, &mask, value.base.mdtype == 1);
            }
        }
        return error;
    }
    if (!strncmp(name, "key", 3) && isdigit((unsigned char) name[3])) {
        return scan_unknown(s, name, body);
    }
    return xasprintf("%s: there is no such field", name);
}

static char *scan_level(const struct odp_scan *s, char *text, int depth)
{
    char *item;

    while ((item = odp_item_next(&text)) != NULL) {
        char *body = odp_item_body(item);
        char *error;

        if (!body) {
            return xasprintf("\"%s\": expected FIELD(VALUE)", item);
        }
        if (!strcmp(item, "encap")) {
            error = scan_encap(s, body, depth);
        } else if (!strcmp(item, "packet_type")) {
            /* The kernel has no such attribute: no eth() says that there is no Ethernet header. */
            error = NULL;
        } else {
            error = odp_scan_attr(s, item, body);
        }
        if (error) {
            return error;
        }
    }
    return NULL;
}

char *odp_key_scan(const char *text, struct attrbuf *key, struct attrbuf *mask)
{
    struct odp_scan s = { .key = key, .mask = mask };
    char *copy = xstrdup(text);
    char *pos = copy;

    if (!strncmp(pos, "ufid:", 5)) {
        odp_item_next(&pos);
    }
    char *error = scan_level(&s, pos, 0);
    if (!error && (key->overflow || (mask && mask->overflow))) {
        error = xstrdup("the key is too long");
    }
    free(copy);
    return error;
}

bool odp_ufid_scan(const char *text, struct ufid *ret_ufid)
{
    uint32_t w[4] = { 0 };
    int digits = 0;

    if (!strncmp(text, "ufid:", 5)) {
        text += 5;
    }
    for (; *text; text++) {
        char digit[2] = { *text, '\0' };

        if (*text == '-' && digits) {
            continue;
        }
        if (!isxdigit((unsigned char) *text) || digits == 32) {
            return false;
        }
        w[digits / 8] = w[digits / 8] << 4 | strtoul(digit, NULL, 16);
        digits++;
    }
    if (digits != 32) {
        return false;
    }
    memcpy(ret_ufid, w, sizeof w);
    return true;
}
