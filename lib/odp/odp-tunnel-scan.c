/* The text of tunnel keys, read: what is inside tunnel(), into a nest of attributes.
 *
 * The presence of an ID is a flag ("key") in text and an attribute in the nest: a mask over the flag alone is an ID
 * attribute of zero.  Pure functions. */
#include <config.h>

#include <arpa/inet.h>
#include <linux/erspan.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-key-scan.h"
#include "lib/odp/odp-text.h"
#include "lib/pkt/flow.h"

static void put_flags(struct attrbuf *b, uint64_t flags, bool has_id)
{
    static const uint64_t no_id;

    if (flags & ODP_TUNNEL_DF) {
        attrbuf_put_flag(b, OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT);
    }
    if (flags & ODP_TUNNEL_CSUM) {
        attrbuf_put_flag(b, OVS_TUNNEL_KEY_ATTR_CSUM);
    }
    if (flags & ODP_TUNNEL_OAM) {
        attrbuf_put_flag(b, OVS_TUNNEL_KEY_ATTR_OAM);
    }
    if (flags & ODP_TUNNEL_KEY && !has_id) {
        attrbuf_put(b, OVS_TUNNEL_KEY_ATTR_ID, &no_id, 8);
    }
}

static char *scan_vxlan(const struct odp_scan *s, char *body)
{
    static const struct odp_field fields[] = { { "id", ODP_FIELD_DEC16, 0 }, { "flags", ODP_FIELD_DEC8, 2 } };
    uint8_t value[3] = { 0 }, mask[3] = { 0 };
    char *gbp = odp_item_body(body);

    if (!gbp || strcmp(body, "gbp")) {
        return xasprintf("vxlan(%s): expected gbp(id=N,flags=N)", body);
    }
    char *error = odp_scan_fields("gbp", fields, ARRAY_SIZE(fields), gbp, value, mask);
    if (!error) {
        uint32_t v = (uint32_t) value[2] << 16 | value[0] << 8 | value[1];
        uint32_t m = (uint32_t) mask[2] << 16 | mask[0] << 8 | mask[1];
        struct nlattr *nest = attrbuf_nest_begin(s->key, OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS);

        attrbuf_put_u32(s->key, OVS_VXLAN_EXT_GBP, v);
        attrbuf_nest_end(s->key, nest);
        if (s->mask) {
            nest = attrbuf_nest_begin(s->mask, OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS);
            attrbuf_put_u32(s->mask, OVS_VXLAN_EXT_GBP, m);
            attrbuf_nest_end(s->mask, nest);
        }
    }
    return error;
}

static char *scan_erspan(const struct odp_scan *s, char *body)
{
    static const struct odp_field fields[] = { { "ver", ODP_FIELD_DEC8, 0 }, { "idx", ODP_FIELD_BE32, 1 },
                                               { "dir", ODP_FIELD_DEC8, 5 }, { "hwid", ODP_FIELD_HEX8, 6 } };
    uint8_t v[7] = { 0 }, m[7] = { 0 };
    struct erspan_metadata md = { 0 }, mm = { 0 };
    char *error = odp_scan_fields("erspan", fields, ARRAY_SIZE(fields), body, v, m);

    if (error) {
        return error;
    }
    if ((v[0] != 1 && v[0] != 2) || v[5] > 1 || v[6] > 0x3f) {
        return xasprintf("erspan: expected ver=1 with idx, or ver=2 with dir of 0 or 1 and hwid up to 0x3f");
    }
    md.version = v[0];
    mm.version = m[0] == 0xff ? -1 : m[0];
    if (v[0] == 1) {
        memcpy(&md.u.index, v + 1, 4);
        memcpy(&mm.u.index, m + 1, 4);
    } else {
        md.u.md2.dir = v[5];
        mm.u.md2.dir = m[5] & 1;
        md.u.md2.hwid = v[6] & 0xf;
        md.u.md2.hwid_upper = v[6] >> 4;
        mm.u.md2.hwid = m[6] & 0xf;
        mm.u.md2.hwid_upper = m[6] >> 4 & 3;
    }
    odp_scan_put(s, OVS_TUNNEL_KEY_ATTR_ERSPAN_OPTS, &md, &mm, sizeof md);
    return NULL;
}

/* 0x and any number of hexadecimal digits, into LEN bytes. */
static bool scan_long_hex(const char *text, size_t len, uint8_t *p)
{
    size_t n = strlen(text);

    memset(p, 0, len);
    if (n < 3 || text[0] != '0' || text[1] != 'x' || strspn(text + 2, "0123456789abcdefABCDEF") != n - 2 ||
        n - 2 > 2 * len) {
        return false;
    }
    for (size_t i = 0; i < n - 2; i++) {
        char digit[2] = { text[n - 1 - i], '\0' };
        p[len - 1 - i / 2] |= strtoul(digit, NULL, 16) << (i % 2 ? 4 : 0);
    }
    return true;
}

/* One option, "class=..,type=..,len=..,0x..", into the buffers at *OFS, which it moves. */
static char *scan_geneve_option(char *body, uint8_t *value, uint8_t *mask, size_t *ofs)
{
    static const struct odp_field fields[] = { { "class", ODP_FIELD_DEC16, 0 }, { "type", ODP_FIELD_DEC8, 2 },
                                               { "len", ODP_FIELD_DEC8, 3 } };
    uint8_t head[4] = { 0 }, head_mask[4] = { 0 };
    char *item, *data = NULL;

    while ((item = odp_item_next(&body)) != NULL) {
        if (item[0] == '0' && item[1] == 'x') {
            data = item;
        } else {
            char *error = odp_scan_fields("geneve", fields, ARRAY_SIZE(fields), item, head, head_mask);
            if (error) {
                return error;
            }
        }
    }
    size_t len = head[3];
    if (len % 4 || len > 124 || *ofs + 4 + len > FLOW_TUN_OPTS_MAX) {
        return xasprintf("geneve(len=%zu): expected a multiple of 4 up to 124, and at most 252 bytes in all", len);
    }
    head[3] = len / 4;
    head_mask[3] = 0xff;
    memcpy(value + *ofs, head, 4);
    memcpy(mask + *ofs, head_mask, 4);
    memset(mask + *ofs + 4, len && data ? 0xff : 0, len);
    if (data) {
        char *slash = strchr(data, '/');

        if (slash) {
            *slash = '\0';
        }
        if (!scan_long_hex(data, len, value + *ofs + 4) || (slash && !scan_long_hex(slash + 1, len, mask + *ofs + 4))) {
            return xasprintf("geneve(%s): expected at most %zu bytes in hexadecimal", data, len);
        }
    }
    *ofs += 4 + len;
    return NULL;
}

static char *scan_geneve(const struct odp_scan *s, char *body)
{
    uint8_t value[FLOW_TUN_OPTS_MAX + 1], mask[FLOW_TUN_OPTS_MAX + 1];
    size_t ofs = 0;

    while (*body) {
        char *end = strchr(body, '}');

        if (*body != '{' || !end) {
            return xasprintf("geneve(%s): expected {class=N,type=N,len=N,0xDATA}", body);
        }
        *end = '\0';
        char *error = scan_geneve_option(body + 1, value, mask, &ofs);
        if (error) {
            return error;
        }
        body = end + 1;
        body += *body == ',';
    }
    odp_scan_put(s, OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS, value, mask, ofs);
    return NULL;
}

static char *scan_tunnel_field(const struct odp_scan *s, const char *name, const char *text)
{
    uint8_t value[16], mask[16];

    for (int i = 0; i < ODP_N_TUNNEL_FIELDS; i++) {
        const struct odp_field *f = &odp_tunnel_fields[i].field;

        if (!strcmp(f->name, name)) {
            char *error = odp_scan_field("tunnel", f, text, value, mask);
            if (!error) {
                odp_scan_put(s, odp_tunnel_fields[i].type, value, mask, odp_field_size(f->kind));
            }
            return error;
        }
    }
    return xasprintf("tunnel(%s): there is no such field in tunnel", name);
}

/* The items of tunnel() but for the flags, which it only takes down. */
static char *scan_tunnel_item(const struct odp_scan *s, char *item, uint64_t *flags, uint64_t *mask, bool *has_id)
{
    char *text = odp_item_value(item);

    if (text) {
        *has_id |= !strcmp(item, "tun_id");
        return scan_tunnel_field(s, item, text);
    }
    text = odp_item_body(item);
    if (!text) {
        return xasprintf("tunnel(%s): there is no such field in tunnel", item);
    }
    if (!strcmp(item, "flags")) {
        if (!odp_flags_scan(text, odp_tunnel_flag_names, ARRAY_SIZE(odp_tunnel_flag_names), ODP_TUNNEL_FLAGS_ALL,
                            flags, mask)) {
            return xasprintf("tunnel(flags(%s)): expected flags such as +df-csum or df|key of df csum key oam", text);
        }
        return NULL;
    }
    if (!strcmp(item, "geneve")) {
        return scan_geneve(s, text);
    }
    if (!strcmp(item, "vxlan")) {
        return scan_vxlan(s, text);
    }
    if (!strcmp(item, "erspan")) {
        return scan_erspan(s, text);
    }
    return xasprintf("tunnel(%s): there is no such field in tunnel", item);
}

char *odp_tunnel_scan(const struct odp_scan *s, char *body)
{
    struct nlattr *key = attrbuf_nest_begin(s->key, OVS_KEY_ATTR_TUNNEL);
    struct nlattr *mask = s->mask ? attrbuf_nest_begin(s->mask, OVS_KEY_ATTR_TUNNEL) : NULL;
    uint64_t flags = 0, flags_mask = 0;
    bool has_id = false;
    char *item, *error = NULL;

    while (!error && (item = odp_item_next(&body)) != NULL) {
        error = scan_tunnel_item(s, item, &flags, &flags_mask, &has_id);
    }
    put_flags(s->key, flags, has_id);
    attrbuf_nest_end(s->key, key);
    if (s->mask) {
        put_flags(s->mask, flags_mask, has_id);
        attrbuf_nest_end(s->mask, mask);
    }
    return error;
}
