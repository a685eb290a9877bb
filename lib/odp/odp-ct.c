/* The text of the ct() action.
 *
 * Printed like `ovs-dpctl`: commit or force_commit, zone, mark, label, helper, timeout, nat(...). */
#include <config.h>

#include "lib/odp/odp-ct.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-field.h"
#include "lib/odp/odp-text.h"

/* A value of SIZE bytes and a mask of SIZE bytes behind it. */
static void print_masked(FILE *out, const char *name, enum odp_field_kind kind, const struct odp_attr *a)
{
    size_t size = odp_field_size(kind);

    if (a->len == 2 * size) {
        fprintf(out, ",%s=", name);
        odp_field_print(out, kind, a->data, a->data + size, NULL, true);
        if (kind == ODP_FIELD_HEX32 && odp_all_ones(a->data + size, size)) {
            fputs("/0xffffffff", out);
        }
    }
}

static void print_string(FILE *out, const char *name, const struct odp_attr *a)
{
    fprintf(out, ",%s=%.*s", name, (int) strnlen((const char *) a->data, a->len), (const char *) a->data);
}

static void print_nat_address(FILE *out, const struct odp_attr *a, bool brackets)
{
    if (a->len == 4) {
        odp_field_print(out, ODP_FIELD_IPV4, a->data, NULL, NULL, false);
    } else if (a->len == 16) {
        fputs(brackets ? "[" : "", out);
        odp_field_print(out, ODP_FIELD_IPV6, a->data, NULL, NULL, false);
        fputs(brackets ? "]" : "", out);
    }
}

/* =MIN-MAX:PORT-PORT */
static void print_nat_range(FILE *out, const struct odp_attr *tb)
{
    const struct odp_attr *min = &tb[OVS_NAT_ATTR_IP_MIN], *max = &tb[OVS_NAT_ATTR_IP_MAX];
    const struct odp_attr *port_min = &tb[OVS_NAT_ATTR_PROTO_MIN], *port_max = &tb[OVS_NAT_ATTR_PROTO_MAX];
    bool ports = port_min->data && port_min->len == 2;

    if (!min->data && !ports) {
        return;
    }
    fputc('=', out);
    if (min->data) {
        print_nat_address(out, min, ports);
        if (max->data && (max->len != min->len || memcmp(max->data, min->data, min->len))) {
            fputc('-', out);
            print_nat_address(out, max, ports);
        }
    }
    if (ports) {
        fprintf(out, ":%u", odp_attr_u16(port_min));
        if (port_max->data && port_max->len == 2 && odp_attr_u16(port_max) != odp_attr_u16(port_min)) {
            fprintf(out, "-%u", odp_attr_u16(port_max));
        }
    }
}

static void print_nat(FILE *out, const struct odp_attr *nest)
{
    static const char *const flags[] = { [OVS_NAT_ATTR_PERSISTENT] = "persistent",
                                         [OVS_NAT_ATTR_PROTO_HASH] = "hash",
                                         [OVS_NAT_ATTR_PROTO_RANDOM] = "random" };
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr tb[OVS_NAT_ATTR_MAX + 1] = { 0 };
    struct odp_attr a;

    while (odp_attr_next(&it, &a)) {
        if (a.type <= OVS_NAT_ATTR_MAX) {
            tb[a.type] = a;
        }
    }
    fputs(",nat", out);
    if (!tb[OVS_NAT_ATTR_SRC].data && !tb[OVS_NAT_ATTR_DST].data) {
        return;
    }
    fputs(tb[OVS_NAT_ATTR_SRC].data ? "(src" : "(dst", out);
    print_nat_range(out, tb);
    for (int i = OVS_NAT_ATTR_PERSISTENT; i <= OVS_NAT_ATTR_PROTO_RANDOM; i++) {
        if (tb[i].data) {
            fprintf(out, ",%s", flags[i]);
        }
    }
    fputc(')', out);
}

static void print_ct_attrs(FILE *out, const struct odp_attr *tb)
{
    if (tb[OVS_CT_ATTR_COMMIT].data) {
        fputs(",commit", out);
    }
    if (tb[OVS_CT_ATTR_FORCE_COMMIT].data) {
        fputs(",force_commit", out);
    }
    if (tb[OVS_CT_ATTR_ZONE].data && tb[OVS_CT_ATTR_ZONE].len == 2 && odp_attr_u16(&tb[OVS_CT_ATTR_ZONE])) {
        fprintf(out, ",zone=%u", odp_attr_u16(&tb[OVS_CT_ATTR_ZONE]));
    }
    if (tb[OVS_CT_ATTR_MARK].data) {
        print_masked(out, "mark", ODP_FIELD_HEX32, &tb[OVS_CT_ATTR_MARK]);
    }
    if (tb[OVS_CT_ATTR_LABELS].data) {
        print_masked(out, "label", ODP_FIELD_HEX128, &tb[OVS_CT_ATTR_LABELS]);
    }
    if (tb[OVS_CT_ATTR_HELPER].data) {
        print_string(out, "helper", &tb[OVS_CT_ATTR_HELPER]);
    }
    if (tb[OVS_CT_ATTR_TIMEOUT].data) {
        print_string(out, "timeout", &tb[OVS_CT_ATTR_TIMEOUT]);
    }
    if (tb[OVS_CT_ATTR_NAT].data) {
        print_nat(out, &tb[OVS_CT_ATTR_NAT]);
    }
}

void odp_ct_print(FILE *out, const struct odp_attr *nest)
{
    struct odp_attr_iter it = odp_attr_begin(nest->data, nest->len);
    struct odp_attr tb[OVS_CT_ATTR_MAX + 1] = { 0 };
    struct odp_attr a;
    struct text t;

    while (odp_attr_next(&it, &a)) {
        if (a.type <= OVS_CT_ATTR_MAX) {
            tb[a.type] = a;
        }
    }
    /* Every item brings a comma; the first one's is dropped, and without items there are no parentheses. */
    print_ct_attrs(text_open(&t), tb);
    char *items = text_close(&t);
    if (*items) {
        fprintf(out, "ct(%s)", items + 1);
    } else {
        fputs("ct", out);
    }
    free(items);
}

/* VALUE or VALUE/MASK into an attribute that has both. */
static char *scan_masked(const char *name, enum odp_field_kind kind, const char *text, uint16_t type,
                         struct attrbuf *b)
{
    size_t size = odp_field_size(kind);
    uint8_t both[32];
    const char *words = odp_field_scan(kind, text, both, both + size);

    if (words) {
        return xasprintf("ct(%s=%s): expected %s", name, text, words);
    }
    attrbuf_put(b, type, both, 2 * size);
    return NULL;
}

/* Cuts the next of the two ends of a range A-B off *POS; brackets may enclose an IPv6 address. */
static char *next_end(char **pos, const char *stops)
{
    char *p = *pos, *start = p;
    char *end;

    if (*p == '[') {
        start = p + 1;
        end = strchr(start, ']');
        if (!end) {
            return NULL;
        }
        *end++ = '\0';
    } else {
        end = p + strcspn(p, stops);
    }
    *pos = end;
    return start;
}

static bool put_nat_address(const char *text, uint16_t type, struct attrbuf *b)
{
    uint8_t p[16];

    if (inet_pton(AF_INET, text, p) == 1) {
        attrbuf_put(b, type, p, 4);
    } else if (inet_pton(AF_INET6, text, p) == 1) {
        attrbuf_put(b, type, p, 16);
    } else {
        return false;
    }
    return true;
}

/* PORT or PORT-PORT */
static bool scan_nat_ports(char *text, struct attrbuf *b)
{
    char *dash = strchr(text, '-');
    uint64_t min, max;

    if (dash) {
        *dash = '\0';
    }
    if (!odp_number_scan(text, UINT16_MAX, &min)) {
        return false;
    }
    attrbuf_put_u16(b, OVS_NAT_ATTR_PROTO_MIN, min);
    if (dash) {
        if (!odp_number_scan(dash + 1, UINT16_MAX, &max)) {
            return false;
        }
        attrbuf_put_u16(b, OVS_NAT_ATTR_PROTO_MAX, max);
    }
    return true;
}

/* ADDRESS[-ADDRESS][:PORT[-PORT]]; an IPv6 address with ports is in brackets. */
static bool scan_nat_range(char *text, struct attrbuf *b)
{
    /* Without brackets, more than one colon makes an IPv6 address, which then has no ports. */
    char *colon = strchr(text, ':');
    bool bare_v6 = *text != '[' && colon && strchr(colon + 1, ':');
    const char *stops = bare_v6 ? "-" : "-:";

    if (*text == ':') {
        return scan_nat_ports(text + 1, b);
    }
    uint16_t type = OVS_NAT_ATTR_IP_MIN;
    for (;;) {
        char *address = next_end(&text, stops);
        if (!address) {
            return false;
        }
        char stop = *text;
        if (stop) {
            *text++ = '\0';
        }
        if (!put_nat_address(address, type, b)) {
            return false;
        }
        if (stop != '-' || type == OVS_NAT_ATTR_IP_MAX) {
            return stop == ':' ? scan_nat_ports(text, b) : !stop;
        }
        type = OVS_NAT_ATTR_IP_MAX;
    }
}

static char *scan_nat_item(char *item, struct attrbuf *b)
{
    static const struct {
        const char *name;
        uint16_t type;
    } flags[] = { { "src", OVS_NAT_ATTR_SRC },
                  { "dst", OVS_NAT_ATTR_DST },
                  { "persistent", OVS_NAT_ATTR_PERSISTENT },
                  { "hash", OVS_NAT_ATTR_PROTO_HASH },
                  { "random", OVS_NAT_ATTR_PROTO_RANDOM } };
    char *range = odp_item_value(item);

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (!strcmp(item, flags[i].name) && (!range || i < 2)) {
            attrbuf_put_flag(b, flags[i].type);
            if (range && !scan_nat_range(range, b)) {
                return xasprintf("ct(nat(%s=...)): expected ADDRESS[-ADDRESS][:PORT[-PORT]], IPv6 in brackets if a "
                                 "port follows",
                                 item);
            }
            return NULL;
        }
    }
    return xasprintf("ct(nat(%s)): expected src or dst with an optional =RANGE, persistent, hash, random", item);
}

static char *scan_nat(char *body, struct attrbuf *b)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_CT_ATTR_NAT);
    char *item, *error = NULL;

    while (!error && (item = odp_item_next(&body)) != NULL) {
        error = scan_nat_item(item, b);
    }
    attrbuf_nest_end(b, nest);
    return error;
}

static char *scan_ct_value(const char *name, const char *text, struct attrbuf *b)
{
    uint64_t zone;

    if (!strcmp(name, "zone")) {
        if (!odp_number_scan(text, UINT16_MAX, &zone)) {
            return xasprintf("ct(zone=%s): expected a number from 0 to 65535", text);
        }
        attrbuf_put_u16(b, OVS_CT_ATTR_ZONE, zone);
    } else if (!strcmp(name, "mark")) {
        return scan_masked(name, ODP_FIELD_HEX32, text, OVS_CT_ATTR_MARK, b);
    } else if (!strcmp(name, "label")) {
        return scan_masked(name, ODP_FIELD_HEX128, text, OVS_CT_ATTR_LABELS, b);
    } else if (!strcmp(name, "helper")) {
        attrbuf_put(b, OVS_CT_ATTR_HELPER, text, strlen(text) + 1);
    } else if (!strcmp(name, "timeout")) {
        attrbuf_put(b, OVS_CT_ATTR_TIMEOUT, text, strlen(text) + 1);
    } else {
        return xasprintf("ct(%s=%s): there is no such field in ct", name, text);
    }
    return NULL;
}

static char *scan_ct_item(char *item, struct attrbuf *b)
{
    char *text;

    if (!strcmp(item, "commit")) {
        attrbuf_put_flag(b, OVS_CT_ATTR_COMMIT);
        return NULL;
    }
    if (!strcmp(item, "force_commit")) {
        attrbuf_put_flag(b, OVS_CT_ATTR_FORCE_COMMIT);
        return NULL;
    }
    if (!strcmp(item, "nat")) {
        return scan_nat(item + 3, b);
    }
    text = odp_item_value(item);
    if (text) {
        return scan_ct_value(item, text, b);
    }
    text = odp_item_body(item);
    if (text && !strcmp(item, "nat")) {
        return scan_nat(text, b);
    }
    return xasprintf("ct(%s): there is no such field in ct", item);
}

char *odp_ct_scan(const char *args, struct attrbuf *actions)
{
    struct nlattr *nest = attrbuf_nest_begin(actions, OVS_ACTION_ATTR_CT);
    char *copy = xstrdup(args), *pos = copy;
    char *item, *error = NULL;

    while (!error && (item = odp_item_next(&pos)) != NULL) {
        error = scan_ct_item(item, actions);
    }
    attrbuf_nest_end(actions, nest);
    free(copy);
    return error;
}
