/* Values of fields in text: printed as `ovs-ofctl dump-flows` does, scanned as it reads flows.
 *
 * How a value looks depends on its format, and on its mask: a number that is matched in part is hexadecimal.  The
 * exceptions are the packaged tool's. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-field.h"

static const struct {
    const char *name;
    uint16_t port;
} port_names[] = {
    { "UNSET", 0xfff7 }, { "IN_PORT", 0xfff8 },    { "TABLE", 0xfff9 }, { "NORMAL", 0xfffa }, { "FLOOD", 0xfffb },
    { "ALL", 0xfffc },   { "CONTROLLER", 0xfffd }, { "LOCAL", 0xfffe }, { "ANY", 0xffff },    { "NONE", 0xffff },
};

static const char *const tcp_flag_names[] = { "fin", "syn", "rst", "psh",   "ack",   "urg",
                                              "ece", "cwr", "ns",  "[200]", "[400]", "[800]" };
static const char *const ct_state_names[] = { "new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat" };
static const char *const tun_flag_names[] = { "oam" };

static const struct {
    const char *name;
    uint8_t value, mask;
} frag_names[] = {
    { "no", 0, 3 }, { "yes", 1, 1 }, { "first", 1, 3 }, { "later", 3, 3 }, { "not_later", 0, 2 },
};

/* The names of the bits of a field of flags, and how many there are; 0 if it is none. */
static size_t flag_names(const struct ofp_field *f, const char *const **ret_names)
{
    switch (f->format) {
    case OFP_FORMAT_TCP_FLAGS:
        *ret_names = tcp_flag_names;
        return ARRAY_SIZE(tcp_flag_names);
    case OFP_FORMAT_CT_STATE:
        *ret_names = ct_state_names;
        return ARRAY_SIZE(ct_state_names);
    case OFP_FORMAT_TUN_FLAGS:
        *ret_names = tun_flag_names;
        return ARRAY_SIZE(tun_flag_names);
    case OFP_FORMAT_DECIMAL:
    case OFP_FORMAT_HEX:
    case OFP_FORMAT_MAC:
    case OFP_FORMAT_IPV4:
    case OFP_FORMAT_IPV6:
    case OFP_FORMAT_PORT:
    case OFP_FORMAT_PORT_OXM:
    case OFP_FORMAT_FRAG:
    case OFP_FORMAT_PACKET_TYPE:
        break;
    }
    return 0;
}

const char *ofp_port_name(uint16_t port)
{
    for (size_t i = 0; i < ARRAY_SIZE(port_names); i++) {
        if (port_names[i].port == port) {
            return port_names[i].name;
        }
    }
    return NULL;
}

bool ofp_port_scan(const char *text, uint16_t *ret_port)
{
    long long number;

    for (size_t i = 0; i < ARRAY_SIZE(port_names); i++) {
        if (!strcasecmp(port_names[i].name, text)) {
            *ret_port = port_names[i].port;
            return true;
        }
    }
    if (!str_to_llong(text, 0, UINT16_MAX, &number)) {
        return false;
    }
    *ret_port = number;
    return true;
}

/* ---- Printing. ---- */

/* VALUE or MASK without leading zeros; zero is "0". */
static void print_hex(FILE *out, const union ofp_value *v, size_t n)
{
    size_t i = 0;

    while (i < n - 1 && !v->b[i]) {
        i++;
    }
    if (!v->b[i]) {
        fputc('0', out);
        return;
    }
    fprintf(out, "0x%x", v->b[i]);
    while (++i < n) {
        fprintf(out, "%02x", v->b[i]);
    }
}

/* How many one bits MASK begins with, if only zeros follow; else -1. */
static int prefix_len(const uint8_t *mask, size_t n)
{
    size_t len = 0;

    while (len < n * 8 && mask[len / 8] & (0x80 >> len % 8)) {
        len++;
    }
    for (size_t i = len; i < n * 8; i++) {
        if (mask[i / 8] & (0x80 >> i % 8)) {
            return -1;
        }
    }
    return len;
}

static void print_ip(FILE *out, int family, const union ofp_value *value, const union ofp_value *mask)
{
    char text[INET6_ADDRSTRLEN];

    fputs(inet_ntop(family, value->b, text, sizeof text), out);
    if (mask) {
        int len = prefix_len(mask->b, family == AF_INET ? 4 : 16);
        if (len >= 0) {
            fprintf(out, "/%d", len);
        } else {
            fprintf(out, "/%s", inet_ntop(family, mask->b, text, sizeof text));
        }
    }
}

static void print_mac(FILE *out, const uint8_t *b)
{
    fprintf(out, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
}

/* "new|trk" if MASK is NULL, else "+new-est". */
static void print_flags(FILE *out, const struct ofp_field *f, uint64_t value, const uint64_t *mask)
{
    const char *const *names;
    size_t n = flag_names(f, &names);
    const char *separator = "";

    if (!mask && !value) {
        fputc('0', out);
    }
    for (size_t i = 0; i < n; i++) {
        if (mask && *mask >> i & 1) {
            fprintf(out, "%c%s", value >> i & 1 ? '+' : '-', names[i]);
        } else if (!mask && value >> i & 1) {
            fprintf(out, "%s%s", separator, names[i]);
            separator = "|";
        }
    }
}

static void print_frag(FILE *out, uint64_t value, uint64_t mask)
{
    for (size_t i = 0; i < ARRAY_SIZE(frag_names); i++) {
        if (frag_names[i].value == value && frag_names[i].mask == mask) {
            fputs(frag_names[i].name, out);
            return;
        }
    }
    fprintf(out, "0x%02" PRIx64 "/0x%02" PRIx64, value, mask);
}

/* The fields that have leading zeros, in digits; else 0. */
static int fixed_digits(const struct ofp_field *f)
{
    return f->id == OFP_FIELD_IPV6_LABEL ? 5 : f->id == OFP_FIELD_ETH_TYPE || f->id == OFP_FIELD_VLAN_TCI ? 4 : 0;
}

static void print_number(FILE *out, const struct ofp_field *f, const union ofp_value *value,
                         const union ofp_value *mask)
{
    int digits = fixed_digits(f);

    if (digits || (mask && f->format == OFP_FORMAT_DECIMAL)) {
        digits = digits ? digits : f->n_bytes == 1 ? 2 : 1;
        fprintf(out, "0x%0*" PRIx64, digits, ofp_value_get_u64(value, f->n_bytes));
        if (mask) {
            fprintf(out, "/0x%0*" PRIx64, digits, ofp_value_get_u64(mask, f->n_bytes));
        }
    } else if (f->format == OFP_FORMAT_DECIMAL) {
        fprintf(out, "%" PRIu64, ofp_value_get_u64(value, f->n_bytes));
    } else {
        print_hex(out, value, f->n_bytes);
        if (mask && f->id != OFP_FIELD_TUN_GBP_FLAGS) { /* The packaged tool does not show that mask. */
            fputc('/', out);
            print_hex(out, mask, f->n_bytes);
        }
    }
}

void ofp_field_print(FILE *out, const struct ofp_field *f, const union ofp_value *value, const union ofp_value *mask)
{
    union ofp_value ones;
    uint64_t x = f->n_bytes <= 8 ? ofp_value_get_u64(value, f->n_bytes) : 0, m;

    ofp_field_ones(f, &ones);
    bool exact = !mask || !memcmp(mask->b, ones.b, f->n_bytes);
    m = f->n_bytes <= 8 ? ofp_value_get_u64(exact ? &ones : mask, f->n_bytes) : 0;
    switch (f->format) {
    case OFP_FORMAT_DECIMAL:
    case OFP_FORMAT_HEX:
        print_number(out, f, value, exact ? NULL : mask);
        break;
    case OFP_FORMAT_MAC:
        print_mac(out, value->b);
        if (!exact) {
            fputc('/', out);
            print_mac(out, mask->b);
        }
        break;
    case OFP_FORMAT_IPV4:
    case OFP_FORMAT_IPV6:
        print_ip(out, f->format == OFP_FORMAT_IPV4 ? AF_INET : AF_INET6, value, exact ? NULL : mask);
        break;
    case OFP_FORMAT_PORT:
    case OFP_FORMAT_PORT_OXM: {
        const char *name = ofp_port_name(x & 0xffff);
        name ? (void) fputs(name, out) : (void) fprintf(out, "%" PRIu64, x & 0xffff);
        break;
    }
    case OFP_FORMAT_FRAG:
        print_frag(out, x, m);
        break;
    case OFP_FORMAT_TUN_FLAGS: /* Of the 16 bits that it has on the wire, never all are matched. */
        print_flags(out, f, x, &m);
        break;
    case OFP_FORMAT_TCP_FLAGS:
    case OFP_FORMAT_CT_STATE:
        print_flags(out, f, x, exact ? NULL : &m);
        break;
    case OFP_FORMAT_PACKET_TYPE:
        fprintf(out, x >> 16 == 1 ? "(%" PRIu64 ",0x%" PRIx64 ")" : "(%" PRIu64 ",%" PRIu64 ")", x >> 16, x & 0xffff);
        break;
    }
}

/* ---- Scanning. ---- */

/* Reads a number of any base, up to 128 bits if it is hexadecimal, all of TEXT, into N bytes. */
static bool scan_number(const char *text, size_t n, union ofp_value *ret)
{
    char *end;

    if (n > 8 && !strncasecmp(text, "0x", 2)) {
        size_t digits = strlen(text + 2);
        memset(ret->b, 0, n);
        if (!digits || digits > 2 * n || text[2 + strspn(text + 2, "0123456789abcdefABCDEF")]) {
            return false;
        }
        for (size_t i = 0; i < digits; i++) {
            char c = text[2 + digits - 1 - i];
            uint8_t v = c <= '9' ? c - '0' : (c & ~0x20) - 'A' + 10;
            ret->b[n - 1 - i / 2] |= v << (i % 2 ? 4 : 0);
        }
        return true;
    }
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    unsigned long long x = strtoull(text, &end, 0);
    if (*end || errno || (n < 8 && x >> 8 * n)) {
        return false;
    }
    memset(ret->b, 0, n);
    ofp_value_put_u64(ret, n, x);
    return true;
}

static bool scan_mac(const char *text, union ofp_value *ret)
{
    unsigned int b[6];
    int end = -1;

    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &end) != 6 || end < 0 ||
        text[end]) {
        return false;
    }
    for (int i = 0; i < 6; i++) {
        ret->b[i] = b[i];
    }
    return true;
}

/* A prefix length, or a mask written as address. */
static bool scan_ip_mask(int family, const char *text, union ofp_value *ret)
{
    size_t n = family == AF_INET ? 4 : 16;
    long long len;

    if (!str_to_llong(text, 0, n * 8, &len)) {
        return inet_pton(family, text, ret->b) == 1;
    }
    memset(ret->b, 0, n);
    for (long long i = 0; i < len; i++) {
        ret->b[i / 8] |= 0x80 >> i % 8;
    }
    return true;
}

/* The bit that the N characters at NAME stand for, or -1. */
static int flag_bit(const char *const *names, size_t n_names, const char *name, size_t n)
{
    for (size_t i = 0; i < n_names; i++) {
        if (!strncmp(names[i], name, n) && !names[i][n]) {
            return i;
        }
    }
    return -1;
}

/* "+a-b" or "a|b"; numbers are the caller's. */
static bool scan_flags(const struct ofp_field *f, const char *text, union ofp_value *value, union ofp_value *mask)
{
    const char *const *names;
    size_t n_names = flag_names(f, &names);
    bool in_part = *text == '+' || *text == '-';
    uint64_t v = 0, m = 0;

    while (*text) {
        char sign = in_part ? *text++ : '|';
        size_t n = strcspn(text, in_part ? "+-" : "|");
        int bit = flag_bit(names, n_names, text, n);
        if (bit < 0) {
            return false;
        }
        m |= UINT64_C(1) << bit;
        v |= sign == '-' ? 0 : UINT64_C(1) << bit;
        text += n;
        if (!in_part && *text) {
            text++;
        }
    }
    ofp_value_put_u64(value, f->n_bytes, v);
    if (in_part) {
        ofp_value_put_u64(mask, f->n_bytes, m);
    }
    return m != 0;
}

static bool scan_frag(const char *text, union ofp_value *value, union ofp_value *mask)
{
    for (size_t i = 0; i < ARRAY_SIZE(frag_names); i++) {
        if (!strcmp(frag_names[i].name, text)) {
            value->b[0] = frag_names[i].value;
            mask->b[0] = frag_names[i].mask;
            return true;
        }
    }
    return false;
}

static bool scan_port(const struct ofp_field *f, const char *text, union ofp_value *value)
{
    uint16_t port;

    if (!ofp_port_scan(text, &port)) {
        return false;
    }
    ofp_value_put_u64(value, f->n_bytes, f->n_bytes == 4 && port >= OFPP_MAX ? port | 0xffff0000 : port);
    return true;
}

static bool scan_packet_type(const char *text, union ofp_value *value)
{
    unsigned int ns;
    int type, end = -1;

    if (sscanf(text, "(%u,%i)%n", &ns, &type, &end) != 2 || end < 0 || text[end] || ns > UINT16_MAX || type < 0 ||
        type > UINT16_MAX) {
        return false;
    }
    ofp_value_put_u64(value, 4, (uint64_t) ns << 16 | type);
    return true;
}

/* Reads what is before and behind the slash; MASK_TEXT is NULL if there is none. */
static bool scan_parts(const struct ofp_field *f, const char *text, const char *mask_text, union ofp_value *value,
                       union ofp_value *mask)
{
    switch (f->format) {
    case OFP_FORMAT_DECIMAL:
    case OFP_FORMAT_HEX:
        return scan_number(text, f->n_bytes, value) && (!mask_text || scan_number(mask_text, f->n_bytes, mask));
    case OFP_FORMAT_MAC:
        return scan_mac(text, value) && (!mask_text || scan_mac(mask_text, mask));
    case OFP_FORMAT_IPV4:
    case OFP_FORMAT_IPV6: {
        int family = f->format == OFP_FORMAT_IPV4 ? AF_INET : AF_INET6;
        return inet_pton(family, text, value->b) == 1 && (!mask_text || scan_ip_mask(family, mask_text, mask));
    }
    case OFP_FORMAT_TCP_FLAGS:
    case OFP_FORMAT_CT_STATE:
    case OFP_FORMAT_TUN_FLAGS:
        if (*text >= '0' && *text <= '9') {
            return scan_number(text, f->n_bytes, value) && (!mask_text || scan_number(mask_text, f->n_bytes, mask));
        }
        return !mask_text && scan_flags(f, text, value, mask);
    case OFP_FORMAT_PORT:
    case OFP_FORMAT_PORT_OXM:
        return !mask_text && scan_port(f, text, value);
    case OFP_FORMAT_FRAG:
        return !mask_text && scan_frag(text, value, mask);
    case OFP_FORMAT_PACKET_TYPE:
        return !mask_text && scan_packet_type(text, value);
    }
    return false;
}

static const char *right_text(const struct ofp_field *f)
{
    switch (f->format) {
    case OFP_FORMAT_DECIMAL:
    case OFP_FORMAT_HEX:
        return "a number";
    case OFP_FORMAT_MAC:
        return "an Ethernet address such as 00:11:22:33:44:55";
    case OFP_FORMAT_IPV4:
        return "an IPv4 address such as 10.0.0.1 or 10.0.0.0/8";
    case OFP_FORMAT_IPV6:
        return "an IPv6 address such as fe80::1 or fe80::/10";
    case OFP_FORMAT_TCP_FLAGS:
        return "TCP flags such as +syn-ack, syn|ack or 0x2/0x12";
    case OFP_FORMAT_CT_STATE:
        return "a state such as +trk-new, new|trk or 0x20/0x21";
    case OFP_FORMAT_TUN_FLAGS:
        return "+oam or -oam";
    case OFP_FORMAT_PORT:
    case OFP_FORMAT_PORT_OXM:
        return "a port number below 65536 or a name such as LOCAL";
    case OFP_FORMAT_FRAG:
        return "one of no, yes, first, later and not_later";
    case OFP_FORMAT_PACKET_TYPE:
        return "a name space and a type, such as (1,0x800)";
    }
    return "";
}

/* Checks what was read; clears VALUE where MASK is not. */
static char *check_value(const struct ofp_field *f, const char *text, union ofp_value *value, union ofp_value *mask)
{
    union ofp_value ones;
    bool partial = false;

    ofp_field_ones(f, &ones);
    if (f->id == OFP_FIELD_NW_TOS) {
        value->b[0] &= ones.b[0]; /* The ECN bits may be there, and are not this field's. */
    }
    /* A tag that has no value of its own. */
    bool none = f->id == OFP_FIELD_DL_VLAN && ofp_value_get_u64(value, 2) == 0xffff;
    if (!none && !ofp_field_value_ok(f, value)) {
        return xasprintf("%s: %s has %u bits, and the value more", text, f->name, f->n_bits);
    }
    for (size_t i = 0; i < f->n_bytes; i++) {
        mask->b[i] &= none ? 0xff : ones.b[i];
        value->b[i] &= mask->b[i];
        partial = partial || (!none && mask->b[i] != ones.b[i]);
    }
    if (partial && !f->maskable && !ofp_value_is_zero(mask, f->n_bytes)) {
        return xasprintf("%s: %s cannot be matched in part", text, f->name);
    }
    return NULL;
}

char *ofp_field_scan(const struct ofp_field *f, const char *text, union ofp_value *ret_value, union ofp_value *ret_mask)
{
    union ofp_value value, mask;
    char *copy = xstrdup(text), *slash = strchr(copy, '/');

    memset(&value, 0, sizeof value);
    memset(&mask, 0xff, sizeof mask);
    if (slash) {
        *slash++ = '\0';
    }
    if (!strcmp(copy, "*") && !slash) {
        memset(&mask, 0, sizeof mask);
    } else if (!scan_parts(f, copy, slash, &value, &mask)) {
        free(copy);
        return xasprintf("%s: invalid value for field %s of %u bits: it is %s", text, f->name, f->n_bits,
                         right_text(f));
    }
    free(copy);
    char *error = check_value(f, text, &value, &mask);
    if (!error) {
        *ret_value = value;
        *ret_mask = mask;
    }
    return error;
}
