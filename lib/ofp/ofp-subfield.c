/* Ranges of bits of fields: NXM_NX_REG0[0..15].
 *
 * Values are big-endian bytes, and bits count from the lowest; so ranges of any two fields can be copied into one
 * another without knowing where they are in a flow. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-field.h"

/* The N bits, at most 32, of the LEN bytes at B from bit OFS on. */
static uint32_t bits_get(const uint8_t *b, size_t len, unsigned int ofs, unsigned int n)
{
    uint64_t x = 0;

    for (unsigned int i = 0; i < 5; i++) {
        size_t at = ofs / 8 + i;
        x |= at < len ? (uint64_t) b[len - 1 - at] << 8 * i : 0;
    }
    return x >> ofs % 8 & ((UINT64_C(1) << n) - 1);
}

static void bits_put(uint8_t *b, size_t len, unsigned int ofs, unsigned int n, uint32_t bits)
{
    uint64_t mask = ((UINT64_C(1) << n) - 1) << ofs % 8, x = (uint64_t) bits << ofs % 8;

    for (unsigned int i = 0; i < 5; i++) {
        size_t at = ofs / 8 + i;
        uint8_t m = mask >> 8 * i & 0xff;
        if (m && at < len) {
            b[len - 1 - at] = (b[len - 1 - at] & ~m) | (x >> 8 * i & m);
        }
    }
}

/* Copies N bits. */
static void bits_copy(const uint8_t *from, size_t from_len, unsigned int from_ofs, uint8_t *to, size_t to_len,
                      unsigned int to_ofs, unsigned int n)
{
    for (unsigned int i = 0; i < n; i += 32) {
        unsigned int step = n - i < 32 ? n - i : 32;
        bits_put(to, to_len, to_ofs + i, step, bits_get(from, from_len, from_ofs + i, step));
    }
}

uint64_t ofp_subfield_get_u64(const struct ofp_subfield *sf, const struct flow *flow)
{
    union ofp_value v;
    uint8_t out[8] = { 0 };

    ofp_field_get(sf->field, flow, &v);
    bits_copy(v.b, sf->field->n_bytes, sf->ofs, out, sizeof out, 0, sf->n_bits < 64 ? sf->n_bits : 64);
    return get_u64(out);
}

void ofp_subfield_set_u64(const struct ofp_subfield *sf, uint64_t value, struct flow *flow)
{
    union ofp_value v, in = { { 0 } };
    uint8_t zero[OFP_FIELD_MAX_BYTES] = { 0 };
    unsigned int n = sf->n_bits < 64 ? sf->n_bits : 64;

    ofp_value_put_u64(&in, 8, value);
    ofp_field_get(sf->field, flow, &v);
    bits_copy(zero, sizeof zero, 0, v.b, sf->field->n_bytes, sf->ofs, sf->n_bits);
    bits_copy(in.b, 8, 0, v.b, sf->field->n_bytes, sf->ofs, n);
    ofp_field_set(sf->field, &v, flow);
}

void ofp_subfield_copy(const struct ofp_subfield *src, const struct flow *from, const struct ofp_subfield *dst,
                       struct flow *to)
{
    union ofp_value s, d;
    uint8_t zero[OFP_FIELD_MAX_BYTES] = { 0 };
    unsigned int n = src->n_bits < dst->n_bits ? src->n_bits : dst->n_bits;

    ofp_field_get(src->field, from, &s);
    ofp_field_get(dst->field, to, &d);
    bits_copy(zero, sizeof zero, 0, d.b, dst->field->n_bytes, dst->ofs + n, dst->n_bits - n);
    bits_copy(s.b, src->field->n_bytes, src->ofs, d.b, dst->field->n_bytes, dst->ofs, n);
    ofp_field_set(dst->field, &d, to);
}

void ofp_subfield_unwildcard(const struct ofp_subfield *sf, struct flow *mask)
{
    struct match m;
    union ofp_value v, ones;

    /* Of a VLAN tag, a port, or the packet type there are no parts: see ofp_field_unwildcard(). */
    if (sf->field->place.kind == OFP_PLACE_PORT32 || sf->field->place.kind == OFP_PLACE_PACKET_TYPE ||
        sf->field->place.ofs == offsetof(struct flow, vlan[0].tci)) {
        ofp_field_unwildcard(sf->field, mask, mask);
        return;
    }
    memset(&m, 0, sizeof m);
    memset(v.b, 0, sizeof v.b);
    memset(ones.b, 0xff, sizeof ones.b);
    bits_copy(ones.b, sizeof ones.b, 0, v.b, sf->field->n_bytes, sf->ofs, sf->n_bits);
    m.mask = *mask;
    ofp_field_set_match(sf->field, &v, &v, &m);
    *mask = m.mask;
}

void ofp_subfield_get(const struct ofp_subfield *sf, const struct flow *flow, union ofp_value *ret_value,
                      size_t *ret_n_bytes)
{
    size_t n = (sf->n_bits + 7) / 8;
    union ofp_value v;

    ofp_field_get(sf->field, flow, &v);
    memset(ret_value->b, 0, n);
    bits_copy(v.b, sf->field->n_bytes, sf->ofs, ret_value->b, n, 0, sf->n_bits);
    *ret_n_bytes = n;
}

void ofp_subfield_place(const struct ofp_subfield *sf, const union ofp_value *bits, union ofp_value *ret_value, union ofp_value *ret_mask)
{
    union ofp_value ones;

    memset(ones.b, 0xff, sizeof ones.b);
    memset(ret_value->b, 0, sizeof ret_value->b);
    memset(ret_mask->b, 0, sizeof ret_mask->b);
    bits_copy(bits->b, (sf->n_bits + 7) / 8, 0, ret_value->b, sf->field->n_bytes, sf->ofs, sf->n_bits);
    bits_copy(ones.b, sizeof ones.b, 0, ret_mask->b, sf->field->n_bytes, sf->ofs, sf->n_bits);
}

/* Reads "[A..B]", "[A]" or "[]", all of TEXT.  Returns false if it is none of those. */
static bool range_scan(const char *text, unsigned int n_bits, long *ret_first, long *ret_last)
{
    char *end;

    if (!strcmp(text, "[]")) {
        *ret_first = 0;
        *ret_last = n_bits - 1;
        return true;
    }
    if (*text++ != '[' || *text < '0' || *text > '9') {
        return false;
    }
    *ret_first = *ret_last = strtol(text, &end, 10);
    if (!strncmp(end, "..", 2) && end[2] >= '0' && end[2] <= '9') {
        *ret_last = strtol(end + 2, &end, 10);
    }
    return !strcmp(end, "]");
}

char *ofp_subfield_scan(const char *text, struct ofp_subfield *ret_sf)
{
    size_t len = strcspn(text, "[");
    const struct ofp_field *f = ofp_field_by_name(text, len);
    long first, last;

    if (!f) {
        return xasprintf("%s: unknown field `%.*s'", text, (int) len, text);
    }
    if (!range_scan(text[len] ? text + len : "[]", f->n_bits, &first, &last)) {
        return xasprintf("%s: syntax error expecting [] or [<bit>] or [<start>..<end>]", text);
    }
    if (first > last) {
        return xasprintf("%s: starting bit %ld is after ending bit %ld", text, first, last);
    }
    if (first >= f->n_bits) {
        return xasprintf("%s: starting bit %ld is not valid because field is only %u bits wide", text, first,
                         f->n_bits);
    }
    if (last >= f->n_bits) {
        return xasprintf("%s: ending bit %ld is not valid because field is only %u bits wide", text, last, f->n_bits);
    }
    *ret_sf = (struct ofp_subfield){ f, first, last - first + 1 };
    return NULL;
}

void ofp_subfield_print(FILE *out, const struct ofp_subfield *sf)
{
    const struct ofp_header *h = ofp_field_header(sf->field, OFP10_VERSION);

    fputs(h ? h->name : sf->field->name, out);
    if (sf->ofs == 0 && sf->n_bits == sf->field->n_bits) {
        fputs("[]", out);
    } else if (sf->n_bits == 1) {
        fprintf(out, "[%u]", sf->ofs);
    } else {
        fprintf(out, "[%u..%u]", sf->ofs, sf->ofs + sf->n_bits - 1);
    }
}

enum ofp_error ofp_subfield_check(const struct ofp_subfield *sf)
{
    if (!sf->n_bits) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    return sf->ofs + sf->n_bits <= sf->field->n_bits ? OFPERR_NONE : OFPERR_OFPBAC_BAD_ARGUMENT;
}
