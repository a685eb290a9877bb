/* Values of fields, read from text: numbers, addresses, flags, each with an optional mask behind a slash.
 *
 * What is wrong is said in words that tell what would be right.  Pure functions. */
#include <config.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/odp/odp-field.h"

bool odp_number_scan(const char *text, uint64_t max, uint64_t *ret_value)
{
    char *end;

    /* strtoull() would take blanks and signs too. */
    if (!isdigit((unsigned char) text[0])) {
        return false;
    }
    errno = 0;
    unsigned long long v = strtoull(text, &end, text[0] == '0' && tolower((unsigned char) text[1]) == 'x' ? 16 : 10);
    if (errno || *end || v > max) {
        return false;
    }
    *ret_value = v;
    return true;
}

static bool scan_mac(const char *text, uint8_t *p)
{
    int end = 0;
    uint8_t v[6];

    if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &end) != 6 ||
        text[end] || end != 17) {
        return false;
    }
    memcpy(p, v, sizeof v);
    return true;
}

static bool scan_hex128(const char *text, uint8_t *p)
{
    uint64_t v;
    size_t n = strlen(text);

    memset(p, 0, 16);
    if (n <= 18) {
        if (!odp_number_scan(text, UINT64_MAX, &v)) {
            return false;
        }
        odp_field_set(ODP_FIELD_HEX128, v, p);
        return true;
    }
    if (text[0] != '0' || text[1] != 'x' || n > 34 || strspn(text + 2, "0123456789abcdefABCDEF") != n - 2) {
        return false;
    }
    for (size_t i = 0; i < n - 2; i++) {
        char digit[2] = { text[n - 1 - i], '\0' };
        p[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i / 2 : 15 - i / 2] |= strtoul(digit, NULL, 16)
                                                                            << (i % 2 ? 4 : 0);
    }
    return true;
}

/* A prefix length as a mask of N bytes. */
static bool scan_prefix(const char *text, size_t n, uint8_t *p)
{
    uint64_t bits;

    if (!odp_number_scan(text, n * 8, &bits)) {
        return false;
    }
    memset(p, 0, n);
    for (uint64_t i = 0; i < bits; i++) {
        p[i / 8] |= 0x80 >> i % 8;
    }
    return true;
}

static bool scan_frag(const char *text, uint8_t *p)
{
    static const char *const names[] = { "no", "first", "later" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!strcmp(text, names[i])) {
            *p = i;
            return true;
        }
    }
    return false;
}

static bool scan_one(enum odp_field_kind kind, const char *text, bool is_mask, uint8_t *p)
{
    size_t n = odp_field_size(kind);
    uint64_t v;

    switch (kind) {
    case ODP_FIELD_MAC:
        return scan_mac(text, p);
    case ODP_FIELD_IPV4:
        return (is_mask && scan_prefix(text, n, p)) || inet_pton(AF_INET, text, p) == 1;
    case ODP_FIELD_IPV6:
        return (is_mask && scan_prefix(text, n, p)) || inet_pton(AF_INET6, text, p) == 1;
    case ODP_FIELD_HEX128:
        return scan_hex128(text, p);
    case ODP_FIELD_FRAG:
        return !is_mask && scan_frag(text, p);
    case ODP_FIELD_DEC8:
    case ODP_FIELD_HEX8:
    case ODP_FIELD_DEC16:
    case ODP_FIELD_HEX16:
    case ODP_FIELD_HEX32:
    case ODP_FIELD_BE32:
    case ODP_FIELD_LABEL:
    case ODP_FIELD_HEX64:
    case ODP_FIELD_ETHERTYPE:
    case ODP_FIELD_PORT:
    case ODP_FIELD_CT_STATE:
    case ODP_FIELD_TCP_FLAGS:
        break;
    }
    if (!odp_number_scan(text, odp_field_max(kind), &v)) {
        return false;
    }
    odp_field_set(kind, v, p);
    return true;
}

static const char *expected(enum odp_field_kind kind)
{
    switch (kind) {
    case ODP_FIELD_DEC8:
    case ODP_FIELD_HEX8:
        return "a number from 0 to 255";
    case ODP_FIELD_DEC16:
    case ODP_FIELD_HEX16:
    case ODP_FIELD_ETHERTYPE:
        return "a number from 0 to 65535";
    case ODP_FIELD_HEX32:
    case ODP_FIELD_BE32:
        return "a number from 0 to 0xffffffff";
    case ODP_FIELD_LABEL:
        return "a number from 0 to 0xfffff";
    case ODP_FIELD_HEX64:
        return "a number of at most 64 bits";
    case ODP_FIELD_HEX128:
        return "a number of at most 128 bits";
    case ODP_FIELD_IPV4:
        return "an IPv4 address such as 10.0.0.1, with an optional /255.255.255.0";
    case ODP_FIELD_IPV6:
        return "an IPv6 address such as fe80::1, with an optional /ffff::";
    case ODP_FIELD_MAC:
        return "an Ethernet address such as 00:11:22:33:44:55";
    case ODP_FIELD_FRAG:
        return "no, first or later";
    case ODP_FIELD_PORT:
        return "the number of a datapath port";
    case ODP_FIELD_CT_STATE:
        return "flags such as +new-est of new est rel rpl inv trk snat dnat";
    case ODP_FIELD_TCP_FLAGS:
        return "flags such as +syn-ack or syn|ack of fin syn rst psh ack urg ece cwr ns";
    }
    return NULL;
}

/* The bit of the flag at the start of *POS, which it skips; 0 if there is none. */
static uint64_t scan_flag(const char **pos, const char *const *names, int n)
{
    size_t len = strcspn(*pos, "+-|");

    for (int i = 0; i < n; i++) {
        if (strlen(names[i]) == len && !strncmp(*pos, names[i], len)) {
            *pos += len;
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

/* +a-b */
static bool scan_signed_flags(const char *p, const char *const *names, int n, uint64_t *flags, uint64_t *mask)
{
    *flags = *mask = 0;
    while (*p) {
        char sign = *p++;
        uint64_t bit = sign == '+' || sign == '-' ? scan_flag(&p, names, n) : 0;

        if (!bit || *mask & bit) {
            return false;
        }
        *mask |= bit;
        *flags |= sign == '+' ? bit : 0;
    }
    return true;
}

bool odp_flags_scan(const char *text, const char *const *names, int n, uint64_t all, uint64_t *flags,
                    uint64_t *mask)
{
    const char *p = text;

    if (*p == '+' || *p == '-') {
        return scan_signed_flags(p, names, n, flags, mask);
    }
    *flags = 0;
    *mask = all;
    if (isdigit((unsigned char) *p)) {
        char value[32], *slash;

        if (snprintf(value, sizeof value, "%s", text) >= (int) sizeof value) {
            return false;
        }
        slash = strchr(value, '/');
        if (slash) {
            *slash = '\0';
        }
        return odp_number_scan(value, all, flags) && (!slash || odp_number_scan(slash + 1, all, mask));
    }
    while (*p) {
        uint64_t bit = scan_flag(&p, names, n);

        if (!bit || (*p && *p != '|') || (*p == '|' && !p[1])) {
            return false;
        }
        *flags |= bit;
        p += *p == '|';
    }
    return true;
}

const char *odp_field_scan(enum odp_field_kind kind, const char *text, uint8_t *value, uint8_t *mask)
{
    bool tcp = kind == ODP_FIELD_TCP_FLAGS;
    size_t n = odp_field_size(kind);
    char copy[96], *slash;

    if (tcp || kind == ODP_FIELD_CT_STATE) {
        const char *const *names = tcp ? odp_tcp_flag_names : odp_ct_state_names;
        int n_names = tcp ? ARRAY_SIZE(odp_tcp_flag_names) : ARRAY_SIZE(odp_ct_state_names);
        uint64_t flags, flags_mask;

        if (!*text || !odp_flags_scan(text, names, n_names, (1u << n_names) - 1, &flags, &flags_mask)) {
            return expected(kind);
        }
        odp_field_set(kind, flags, value);
        odp_field_set(kind, flags_mask, mask);
        return NULL;
    }
    if (snprintf(copy, sizeof copy, "%s", text) >= (int) sizeof copy) {
        return expected(kind);
    }
    slash = strchr(copy, '/');
    if (slash) {
        *slash = '\0';
    }
    if (!scan_one(kind, copy, false, value)) {
        return expected(kind);
    }
    if (slash) {
        return scan_one(kind, slash + 1, true, mask) ? NULL : expected(kind);
    }
    if (kind == ODP_FIELD_LABEL) {
        odp_field_set(kind, odp_field_max(kind), mask);
    } else {
        memset(mask, 0xff, n);
    }
    return NULL;
}

int odp_hex_scan(const char *text, uint8_t *bytes, size_t size)
{
    size_t n = strlen(text);

    if (n % 2 || n / 2 > size || strspn(text, "0123456789abcdefABCDEF") != n) {
        return -1;
    }
    for (size_t i = 0; i < n; i += 2) {
        char digits[3] = { text[i], text[i + 1], '\0' };
        bytes[i / 2] = strtoul(digits, NULL, 16);
    }
    return n / 2;
}
