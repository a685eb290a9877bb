/* The ct action, and nat in it. */
#include <config.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

enum { ALG_FTP = 21, ALG_TFTP = 69 };
enum { CT_BODY_LEN = 14, NAT_BODY_LEN = 6 };

/* ---- ct on the wire. ---- */

/* A bare nat translates as was committed; all else is for committing. */
static enum ofp_error check_nested(const struct ofp_act_ct *a)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(&a->act, &len);
    bool found = false;
    enum ofp_error error = ofp_acts_verify_nested(nested, len, OFP_ACT_CT, NULL);

    OFP_ACT_FOR_EACH(n, nested, len)
    {
        const struct ofp_act_nat *nat = ofp_act_cast(n);

        if (!(a->flags & OFP_CT_F_COMMIT) && (n->type != OFP_ACT_NAT || nat->flags)) {
            return error ? error : OFPERR_OFPBAC_BAD_ARGUMENT;
        }
        if (n->type == OFP_ACT_NAT && found) {
            return error ? error : OFPERR_OFPBAC_BAD_ARGUMENT;
        }
        found = found || n->type == OFP_ACT_NAT;
    }
    return error;
}

enum ofp_error ofp_decode_ct(struct decode *d, struct buf *acts)
{
    size_t start = ofp_act_begin(acts, OFP_ACT_CT, sizeof(struct ofp_act_ct));
    struct ofp_act_ct *a = ofp_act_at(acts, start);
    const uint8_t *p = d->body;
    struct bytes header = { p + 2, 4 };
    enum ofp_error error = OFPERR_NONE;

    a->flags = get_u16(p) & (OFP_CT_F_COMMIT | OFP_CT_F_FORCE); /* Others are of later versions. */
    a->table = p[8];
    a->alg = get_u16(p + 12);
    if (a->flags & OFP_CT_F_FORCE && !(a->flags & OFP_CT_F_COMMIT)) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    if (get_u32(p + 2)) {
        ofp_set_ofs_nbits(&a->zone_src, get_u16(p + 6));
        error = ofp_get_field(&header, &a->zone_src.field);
        if (!error) {
            error = ofp_subfield_ok(&a->zone_src, false);
        }
        if (!error && a->zone_src.n_bits != 16) {
            error = OFPERR_OFPBAC_BAD_SET_LEN;
        }
    } else {
        a->zone = get_u16(p + 6);
    }
    if (error) {
        return error;
    }
    error = ofp_decode_list(p + CT_BODY_LEN, d->len - CT_BODY_LEN, d->version, d->depth + 1, acts);
    ofp_act_end(acts, start);
    return error ? error : check_nested(ofp_act_at(acts, start));
}

void ofp_encode_ct(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_ct *a = ofp_act_cast(act);
    size_t len, start = ofp_put_nx(w, 35);
    const struct ofp_act *nested = ofp_act_nested(act, &len);

    buf_put_u16(w, a->flags);
    if (a->zone_src.field) {
        ofp_put_field(w, a->zone_src.field, OFP10_VERSION);
        buf_put_u16(w, ofp_ofs_nbits(&a->zone_src));
    } else {
        buf_put_u32(w, 0);
        buf_put_u16(w, a->zone);
    }
    buf_put_u8(w, a->table);
    buf_put_zeros(w, 3);
    buf_put_u16(w, a->alg);
    ofp_encode_list(nested, len, version, w);
    ofp_put_end(w, start);
}

/* ---- nat on the wire. ---- */

enum {
    RANGE_V4_MIN = 1,
    RANGE_V4_MAX = 2,
    RANGE_V6_MIN = 4,
    RANGE_V6_MAX = 8,
    RANGE_PORT_MIN = 16,
    RANGE_PORT_MAX = 32
};

/* Takes what the bits of PRESENT announce. */
static enum ofp_error decode_range(struct bytes *b, uint16_t present, struct ofp_act_nat *a)
{
    size_t n = present & RANGE_V4_MIN ? 4 : 16;
    const uint8_t *p;

    if (present & (RANGE_V4_MIN | RANGE_V6_MIN)) {
        a->family = n == 4 ? AF_INET : AF_INET6;
        p = bytes_pull(b, n);
        if (!p) {
            return OFPERR_OFPBAC_BAD_LEN;
        }
        memcpy(&a->min, p, n);
    }
    if (present & (RANGE_V4_MAX | RANGE_V6_MAX)) {
        p = bytes_pull(b, n);
        if (!p) {
            return OFPERR_OFPBAC_BAD_LEN;
        }
        memcpy(&a->max, p, n);
    }
    if (present & RANGE_PORT_MIN) {
        p = bytes_pull(b, 2);
        if (!p) {
            return OFPERR_OFPBAC_BAD_LEN;
        }
        a->port_min = get_u16(p);
    }
    if (present & RANGE_PORT_MAX) {
        p = bytes_pull(b, 2);
        if (!p) {
            return OFPERR_OFPBAC_BAD_LEN;
        }
        a->port_max = get_u16(p);
    }
    return OFPERR_NONE;
}

static bool flags_ok(uint16_t flags)
{
    bool src = flags & OFP_NAT_F_SRC, dst = flags & OFP_NAT_F_DST;

    if (flags & ~(OFP_NAT_F_SRC | OFP_NAT_F_DST | OFP_NAT_F_PERSISTENT | OFP_NAT_F_HASH | OFP_NAT_F_RANDOM)) {
        return false;
    }
    if (flags & OFP_NAT_F_HASH && flags & OFP_NAT_F_RANDOM) {
        return false;
    }
    return src || dst ? !(src && dst) : !flags;
}

/* No address without the one before it, no two families, no second port without the first. */
static bool range_ok(uint16_t present)
{
    bool v4 = present & (RANGE_V4_MIN | RANGE_V4_MAX), v6 = present & (RANGE_V6_MIN | RANGE_V6_MAX);

    if ((v4 && v6) || (present & RANGE_V4_MAX && !(present & RANGE_V4_MIN)) ||
        (present & RANGE_V6_MAX && !(present & RANGE_V6_MIN))) {
        return false;
    }
    return !(present & RANGE_PORT_MAX) || present & RANGE_PORT_MIN;
}

static bool zero_address(const void *address) { return ofp_zeros(address, sizeof(struct in6_addr)); }

static bool lowest_first(const struct ofp_act_nat *a)
{
    bool addresses = zero_address(&a->max) || memcmp(&a->min, &a->max, sizeof a->min) <= 0;

    return addresses && (!a->port_max || a->port_min <= a->port_max);
}

enum ofp_error ofp_decode_nat(struct decode *d, struct buf *acts)
{
    struct ofp_act_nat *a = ofp_act_put(acts, OFP_ACT_NAT, sizeof *a);
    struct bytes left = { d->body + NAT_BODY_LEN, d->len - NAT_BODY_LEN };
    uint16_t present = get_u16(d->body + 4);

    a->flags = get_u16(d->body + 2);
    if (!flags_ok(a->flags) || !range_ok(present)) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    /* A bare nat has no range: what there is of one means nothing. */
    enum ofp_error error = a->flags ? decode_range(&left, present, a) : OFPERR_NONE;
    return !error && !lowest_first(a) ? OFPERR_OFPBAC_BAD_ARGUMENT : error;
}

void ofp_encode_nat(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_nat *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 36);
    size_t n = a->family == AF_INET ? 4 : 16;
    bool min = a->family && !zero_address(&a->min), max = min && !zero_address(&a->max);
    uint16_t present =
        (min ? (n == 4 ? RANGE_V4_MIN : RANGE_V6_MIN) : 0) | (max ? (n == 4 ? RANGE_V4_MAX : RANGE_V6_MAX) : 0);

    present |= (a->port_min ? RANGE_PORT_MIN : 0) | (a->port_min && a->port_max ? RANGE_PORT_MAX : 0);
    buf_put_zeros(w, 2);
    buf_put_u16(w, a->flags);
    buf_put_u16(w, present);
    if (min) {
        buf_put(w, &a->min, n);
    }
    if (max) {
        buf_put(w, &a->max, n);
    }
    if (present & RANGE_PORT_MIN) {
        buf_put_u16(w, a->port_min);
    }
    if (present & RANGE_PORT_MAX) {
        buf_put_u16(w, a->port_max);
    }
    ofp_put_end(w, start);
}

/* ---- Printing. ---- */

static void print_address(FILE *out, const struct ofp_act_nat *a, const void *address)
{
    char text[INET6_ADDRSTRLEN];
    bool brackets = a->family == AF_INET6 && a->port_min;

    fprintf(out, "%s%s%s", brackets ? "[" : "", inet_ntop(a->family, address, text, sizeof text), brackets ? "]" : "");
}

void ofp_print_nat(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_nat *a = ofp_act_cast(act);

    fputs("nat", p->out);
    if (!(a->flags & (OFP_NAT_F_SRC | OFP_NAT_F_DST))) {
        return;
    }
    fprintf(p->out, "(%s", a->flags & OFP_NAT_F_SRC ? "src" : "dst");
    if (a->family) {
        fputc('=', p->out);
        print_address(p->out, a, &a->min);
        if (!zero_address(&a->max)) {
            fputc('-', p->out);
            print_address(p->out, a, &a->max);
        }
    }
    if (a->port_min) {
        fprintf(p->out, "%s:%u", a->family ? "" : "=", a->port_min);
        if (a->port_max) {
            fprintf(p->out, "-%u", a->port_max);
        }
    }
    if (a->flags & OFP_NAT_F_PERSISTENT) {
        fputs(",persistent", p->out);
    }
    if (a->flags & OFP_NAT_F_HASH) {
        fputs(",hash", p->out);
    }
    if (a->flags & OFP_NAT_F_RANDOM) {
        fputs(",random", p->out);
    }
    fputc(')', p->out);
}

/* A nat that is first stands before exec(...), in which all else is. */
static void print_nested(const struct print *p, const struct ofp_act_ct *a, bool *first)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(&a->act, &len);

    if (len && nested->type == OFP_ACT_NAT) {
        ofp_print_comma(p->out, first);
        ofp_print_nat(p, nested);
        len -= nested->len;
        nested = ofp_act_next(nested);
    }
    if (len) {
        ofp_print_comma(p->out, first);
        fputs("exec(", p->out);
        ofp_print_list(p, nested, len);
        fputc(')', p->out);
    }
}

void ofp_print_ct(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_ct *a = ofp_act_cast(act);
    bool first = true;

    fputs("ct(", p->out);
    if (a->flags & OFP_CT_F_COMMIT) {
        ofp_print_comma(p->out, &first);
        fputs("commit", p->out);
    }
    if (a->flags & OFP_CT_F_FORCE) {
        ofp_print_comma(p->out, &first);
        fputs("force", p->out);
    }
    if (a->table != OFP_TABLE_ALL) {
        ofp_print_comma(p->out, &first);
        fputs("table=", p->out);
        ofp_print_table(p, a->table);
    }
    if (a->zone_src.field) {
        ofp_print_comma(p->out, &first);
        fputs("zone=", p->out);
        ofp_subfield_print(p->out, &a->zone_src);
    } else if (a->zone) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "zone=%u", a->zone);
    }
    print_nested(p, a, &first);
    if (a->alg) {
        ofp_print_comma(p->out, &first);
        if (a->alg == ALG_FTP || a->alg == ALG_TFTP) {
            fprintf(p->out, "alg=%s", a->alg == ALG_FTP ? "ftp" : "tftp");
        } else {
            fprintf(p->out, "alg=%u", a->alg);
        }
    }
    fputc(')', p->out);
}

/* ---- Scanning. ---- */

static bool scan_address(const char *text, struct ofp_act_nat *a, void *address)
{
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;

    if (a->family && a->family != family) {
        return false;
    }
    a->family = family;
    return inet_pton(family, text, address) == 1;
}

/* PORT or PORT-PORT. */
static char *scan_ports(char *text, struct ofp_act_nat *a)
{
    char *dash = strchr(text, '-');
    char *error = NULL;

    if (dash) {
        *dash = '\0';
        error = ofp_scan_u16("nat(port)", dash + 1, &a->port_max);
    }
    if (!error) {
        error = ofp_scan_u16("nat(port)", text, &a->port_min);
    }
    if (!error && (!a->port_min || (dash && a->port_max < a->port_min))) {
        error = xasprintf("nat(port=%s): expected a port, or a range, lowest first", text);
    }
    return error;
}

/* ADDRESS[-ADDRESS][:PORT[-PORT]]; an IPv6 address has brackets when ports follow. */
static char *scan_range(const char *range, struct ofp_act_nat *a)
{
    char *text = xstrdup(range), *p = text, *words[2] = { NULL, NULL }, *error = NULL;
    bool more = *p != '\0', ports = *p == ':' && p[1] != ':'; /* "::1" is an address. */
    int n = 0;

    for (; more && n < 2 && !ports; n++) {
        bool brackets = *p == '[';
        /* Without brackets, a colon ends an IPv4 address only. */
        bool v6 = !brackets && strchr(p, ':') != strrchr(p, ':');
        words[n] = p += brackets;
        p += strcspn(p, brackets ? "]" : v6 ? "-" : "-:");
        if (brackets && *p) {
            *p++ = '\0';
        }
        more = *p == '-';
        ports = *p == ':';
        if (*p) {
            *p++ = '\0';
        }
        if (!more && !ports && *p) {
            n = 2;
        }
    }
    bool ok =
        !more && (!words[0] || scan_address(words[0], a, &a->min)) && (!words[1] || scan_address(words[1], a, &a->max));
    if (ok && words[1]) {
        ok = memcmp(&a->min, &a->max, a->family == AF_INET ? 4 : 16) <= 0;
    }
    if (ok && ports) {
        error = scan_ports(words[0] ? p : p + 1, a);
    } else if (!ok) {
        error = xasprintf("nat(%s): expected ADDRESS[-ADDRESS][:PORT[-PORT]], lowest first", range);
    }
    if (zero_address(&a->min)) {
        a->family = 0; /* An address of zeros is none. */
    }
    free(text);
    return error;
}

char *ofp_scan_nat(struct scan *s, const struct keyword *k UNUSED, char *args)
{
    struct ofp_act_nat *a = ofp_act_put(s->acts, OFP_ACT_NAT, sizeof *a);
    char *key, *value, *error = NULL;

    while (!error && ofp_scan_arg(&args, &key, &value)) {
        bool src = !strcmp(key, "src");

        if (src || !strcmp(key, "dst")) {
            a->flags |= src ? OFP_NAT_F_SRC : OFP_NAT_F_DST;
            error = scan_range(value, a);
        } else if (!strcmp(key, "persistent")) {
            a->flags |= OFP_NAT_F_PERSISTENT;
        } else if (!strcmp(key, "hash")) {
            a->flags |= OFP_NAT_F_HASH;
        } else if (!strcmp(key, "random")) {
            a->flags |= OFP_NAT_F_RANDOM;
        } else {
            error = xasprintf("nat(%s): expected src, dst, persistent, hash or random", key);
        }
    }
    if (!error && !flags_ok(a->flags)) {
        error = xasprintf("nat: expected src or dst, one of them, and at most one of hash and random with it");
    }
    return error;
}

static char *scan_alg(const char *text, uint16_t *ret)
{
    if (!strcmp(text, "ftp") || !strcmp(text, "tftp")) {
        *ret = *text == 'f' ? ALG_FTP : ALG_TFTP;
        return NULL;
    }
    char *error = ofp_scan_u16("ct(alg)", text, ret);
    if (error) {
        free(error);
        error = xasprintf("ct(alg=%s): expected ftp or tftp", text);
    }
    return error;
}

static char *scan_zone(const char *text, struct ofp_act_ct *a)
{
    if (*text >= '0' && *text <= '9') {
        return ofp_scan_u16("ct(zone)", text, &a->zone);
    }
    char *error = ofp_scan_short_subfield("ct(zone)", text, &a->zone_src);
    return !error && a->zone_src.n_bits != 16 ? xasprintf("ct(zone=%s): expected a field of 16 bits", text) : error;
}

static char *scan_exec(struct scan *s, char *text)
{
    bool in_ct = s->in_ct;

    s->depth++;
    s->in_ct = true;
    char *error = ofp_scan_list(s, text);
    s->in_ct = in_ct;
    s->depth--;
    return error;
}

/* One argument.  What is nested is appended in the order of text. */
static char *scan_ct_arg(struct scan *s, size_t start, const char *key, char *value)
{
    struct ofp_act_ct *a = ofp_act_at(s->acts, start);

    if (!strcmp(key, "commit")) {
        a->flags |= OFP_CT_F_COMMIT;
    } else if (!strcmp(key, "force")) {
        a->flags |= OFP_CT_F_FORCE;
    } else if (!strcmp(key, "table")) {
        char *error = ofp_scan_table(s, "ct(table)", value, &a->table);
        return !error && a->table == OFP_TABLE_ALL ? xasprintf("ct(table=%s): expected a table from 0 to 254", value)
                                                   : error;
    } else if (!strcmp(key, "zone")) {
        return scan_zone(value, a);
    } else if (!strcmp(key, "alg")) {
        return scan_alg(value, &a->alg);
    } else if (!strcmp(key, "nat")) {
        return ofp_scan_nat(s, NULL, value);
    } else if (!strcmp(key, "exec")) {
        return scan_exec(s, value);
    } else {
        return xasprintf("ct(%s): expected commit, force, table, zone, alg, nat or exec", key);
    }
    return NULL;
}

char *ofp_scan_ct(struct scan *s, const struct keyword *k UNUSED, char *args)
{
    size_t start = ofp_act_begin(s->acts, OFP_ACT_CT, sizeof(struct ofp_act_ct));
    char *key, *value, *error = NULL;
    struct ofp_act_ct *a = ofp_act_at(s->acts, start);
    size_t len;

    a->table = OFP_TABLE_ALL;
    while (!error && ofp_scan_arg(&args, &key, &value)) {
        error = scan_ct_arg(s, start, key, value);
    }
    ofp_act_end(s->acts, start);
    a = ofp_act_at(s->acts, start);
    if (!error && a->flags == OFP_CT_F_FORCE) {
        error = xasprintf("ct(force): only with commit");
    }
    if (!error) {
        const struct ofp_act *nested = ofp_act_nested(&a->act, &len);
        ofp_acts_verify_nested(nested, len, OFP_ACT_CT, &error);
    }
    if (!error && check_nested(a)) {
        error = xasprintf("ct: one nat at most, and exec, and arguments of nat, only with commit");
    }
    return error;
}
