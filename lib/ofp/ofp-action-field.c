/* Actions on fields, with the fields named on the wire: set_field and load, move, push and pop.
 *
 * Extensions of Nicira name fields by NXM in every version, set_field and copy_field as the version does. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"
#include "lib/pkt/flow.h"

/* ---- Fields on the wire. ---- */

bool ofp_zeros(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i]) {
            return false;
        }
    }
    return true;
}

enum ofp_error ofp_get_field(struct bytes *b, const struct ofp_field **ret_field)
{
    const struct ofp_field *f;
    bool has_mask;
    size_t payload;

    if (b->n < 4) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    if (ofp_header_pull(b, &f, &has_mask, &payload) || !f || has_mask) {
        return OFPERR_OFPBAC_BAD_SET_TYPE;
    }
    *ret_field = f;
    return OFPERR_NONE;
}

bool ofp_field_is_experimenter(const struct ofp_field *field)
{
    return ofp_field_header(field, OFP10_VERSION)->class == OFP_CLASS_EXPERIMENTER;
}

void ofp_put_field(struct buf *w, const struct ofp_field *field, enum ofp_version version)
{
    ofp_header_put(w, field, version, false);
}

enum ofp_error ofp_subfield_ok(const struct ofp_subfield *sf, bool dst)
{
    if (!sf->n_bits || sf->ofs + sf->n_bits > sf->field->n_bits) {
        return OFPERR_OFPBAC_BAD_SET_LEN;
    }
    return dst && !sf->field->writable ? OFPERR_OFPBAC_BAD_SET_ARGUMENT : OFPERR_NONE;
}

/* ---- Bits in values: bit 0 is the last byte's lowest. ---- */

static bool get_bit(const uint8_t *value, size_t n_bytes, size_t bit)
{
    return value[n_bytes - 1 - bit / 8] >> bit % 8 & 1;
}
static void set_bit(uint8_t *value, size_t n_bytes, size_t bit) { value[n_bytes - 1 - bit / 8] |= 1 << bit % 8; }

/* The next run of ones in MASK, from bit *OFS on, of at most MAX bits.  False: none. */
static bool next_run(const uint8_t *mask, const struct ofp_field *f, size_t *ofs, size_t max, size_t *ret_n)
{
    size_t n = 0;

    while (*ofs < f->n_bits && !get_bit(mask, f->n_bytes, *ofs)) {
        ++*ofs;
    }
    while (n < max && *ofs + n < f->n_bits && get_bit(mask, f->n_bytes, *ofs + n)) {
        n++;
    }
    *ret_n = n;
    return n > 0;
}

static uint64_t get_bits(const uint8_t *value, size_t n_bytes, size_t ofs, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n && i < 64; i++) {
        v |= (uint64_t) get_bit(value, n_bytes, ofs + i) << i;
    }
    return v;
}

/* ---- The record of set_field. ---- */

static uint8_t *mask_of(struct ofp_act_set_field *a) { return a->data + a->field->n_bytes; }

static struct ofp_act_set_field *put_set_field(struct buf *acts, const struct ofp_field *field, bool load)
{
    struct ofp_act_set_field *a = ofp_act_put(acts, OFP_ACT_SET_FIELD, sizeof *a + 2 * field->n_bytes);

    a->field = field;
    a->load = load;
    return a;
}

void ofp_act_put_set_field(struct buf *acts, const struct ofp_field *field, const union ofp_value *value)
{
    struct ofp_act_set_field *a = put_set_field(acts, field, false);

    memcpy(a->data, value->b, field->n_bytes);
    memset(mask_of(a), 0xff, field->n_bytes);
}

void ofp_act_put_load(struct buf *acts, const struct ofp_field *field, const union ofp_value *value, const union ofp_value *mask)
{
    struct ofp_act_set_field *a = put_set_field(acts, field, true);

    memcpy(a->data, value->b, field->n_bytes);
    memcpy(mask_of(a), mask->b, field->n_bytes);
}

/* As load: of the bits of SF, the number N. */
static void put_load(struct buf *acts, const struct ofp_subfield *sf, uint64_t n)
{
    struct ofp_act_set_field *a = put_set_field(acts, sf->field, true);

    for (size_t i = 0; i < sf->n_bits; i++) {
        set_bit(mask_of(a), sf->field->n_bytes, sf->ofs + i);
        if (i < 64 && n >> i & 1) {
            set_bit(a->data, sf->field->n_bytes, sf->ofs + i);
        }
    }
}

static bool is_exact(const struct ofp_act_set_field *a)
{
    const uint8_t *mask = ofp_set_field_mask(a);

    for (size_t i = 0; i < a->field->n_bytes; i++) {
        if (mask[i] != 0xff) {
            return false;
        }
    }
    return true;
}

/* ---- set_field and load on the wire. ---- */

/* An entry: header, value, perhaps mask; then zeros up to the end. */
static enum ofp_error decode_entry(struct bytes b, bool may_mask, struct buf *acts)
{
    const struct ofp_field *f;
    bool has_mask;
    size_t payload;

    if (ofp_header_pull(&b, &f, &has_mask, &payload)) {
        return OFPERR_OFPBAC_BAD_SET_LEN;
    }
    if (!f) {
        return OFPERR_OFPBAC_BAD_SET_TYPE;
    }
    size_t n = (size_t) f->n_bytes << has_mask;
    if (b.n < n || b.n - n >= 8) {
        return OFPERR_OFPBAC_BAD_SET_LEN;
    }
    if (has_mask && !may_mask) {
        return OFPERR_OFPBAC_BAD_SET_MASK;
    }
    struct ofp_act_set_field *a = put_set_field(acts, f, false);
    union ofp_value value = { { 0 } };
    memset(mask_of(a), 0xff, f->n_bytes);
    memcpy(a->data, bytes_pull(&b, n), n);
    memcpy(value.b, a->data, f->n_bytes);
    for (size_t i = 0; i < f->n_bytes; i++) {
        if (a->data[i] & ~mask_of(a)[i]) {
            return OFPERR_OFPBMC_BAD_WILDCARDS;
        }
    }
    if (!ofp_zeros(b.p, b.n)) {
        return OFPERR_OFPBAC_BAD_SET_ARGUMENT;
    }
    if (!f->writable || !ofp_set_value_ok(f, &value, is_exact(a))) {
        return OFPERR_OFPBAC_BAD_SET_ARGUMENT;
    }
    return OFPERR_NONE;
}

/* A VLAN that is set is there; the rest is the field's to say. */
bool ofp_set_value_ok(const struct ofp_field *f, const union ofp_value *value, bool exact)
{
    if (exact && f->id == OFP_FIELD_VLAN_VID && !(get_u16(value->b) & VLAN_CFI)) {
        return false;
    }
    return ofp_field_value_ok(f, value);
}

enum ofp_error ofp_decode_set_field(struct decode *d, struct buf *acts)
{
    return decode_entry((struct bytes){ d->body, d->len }, d->version >= OFP15_VERSION, acts);
}

enum ofp_error ofp_decode_reg_load2(struct decode *d, struct buf *acts)
{
    return decode_entry((struct bytes){ d->body, d->len }, true, acts);
}

enum ofp_error ofp_decode_reg_load(struct decode *d, struct buf *acts)
{
    struct bytes b = { d->body + 2, 4 };
    uint64_t n = get_u64(d->body + 6);
    struct ofp_subfield sf;

    ofp_set_ofs_nbits(&sf, get_u16(d->body));
    enum ofp_error error = ofp_get_field(&b, &sf.field);
    if (!error) {
        error = ofp_subfield_ok(&sf, true);
    }
    if (!error && sf.n_bits < 64 && n >> sf.n_bits) {
        error = OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    if (!error) {
        put_load(acts, &sf, n);
    }
    return error;
}

void ofp_encode_loads(const struct ofp_act_set_field *a, struct buf *w)
{
    size_t n, ofs = 0;

    while (next_run(ofp_set_field_mask(a), a->field, &ofs, 64, &n)) {
        struct ofp_subfield sf = { a->field, ofs, n };
        size_t start = ofp_put_nx(w, 7);

        buf_put_u16(w, ofp_ofs_nbits(&sf));
        ofp_put_field(w, a->field, OFP10_VERSION);
        buf_put_u64(w, get_bits(a->data, a->field->n_bytes, ofs, n));
        ofp_put_end(w, start);
        ofs += n;
    }
}

static void put_entry(struct buf *w, const struct ofp_act_set_field *a, enum ofp_version version)
{
    bool exact = is_exact(a);

    ofp_header_put(w, a->field, version, !exact);
    buf_put(w, a->data, (size_t) a->field->n_bytes << !exact);
}

static void put_action10(struct buf *w, uint16_t code, uint64_t n, size_t width)
{
    size_t start = ofp_put_std(w, code);

    for (size_t i = width; i--;) {
        buf_put_u8(w, n >> 8 * i);
    }
    buf_put_zeros(w, (width > 4 ? 12 : 4) - width);
    ofp_put_end(w, start);
}

/* By an action that 1.0 has of its own.  False: there is none. */
static bool encode_as_action10(const struct ofp_act_set_field *a, struct buf *w)
{
    static const struct {
        uint8_t field, code, width, shift;
    } actions[] = {
        { OFP_FIELD_VLAN_VID, 1, 2, 0 }, { OFP_FIELD_VLAN_PCP, 2, 1, 0 }, { OFP_FIELD_ETH_SRC, 4, 6, 0 },
        { OFP_FIELD_ETH_DST, 5, 6, 0 },  { OFP_FIELD_IP_SRC, 6, 4, 0 },   { OFP_FIELD_IP_DST, 7, 4, 0 },
        { OFP_FIELD_NW_TOS, 8, 1, 0 },   { OFP_FIELD_IP_DSCP, 8, 1, 2 },  { OFP_FIELD_TCP_SRC, 9, 2, 0 },
        { OFP_FIELD_UDP_SRC, 9, 2, 0 },  { OFP_FIELD_TCP_DST, 10, 2, 0 }, { OFP_FIELD_UDP_DST, 10, 2, 0 },
    };
    uint64_t n = get_bits(a->data, a->field->n_bytes, 0, 8 * a->field->n_bytes);

    if (a->field->id == OFP_FIELD_VLAN_TCI) {
        if (n & VLAN_CFI) {
            put_action10(w, 1, n & VLAN_VID_MASK, 2);
            put_action10(w, 2, n >> VLAN_PCP_SHIFT, 1);
        } else {
            put_action10(w, 3, 0, 0);
        }
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        if (actions[i].field == a->field->id) {
            n = a->field->id == OFP_FIELD_VLAN_VID ? n & VLAN_VID_MASK : n << actions[i].shift;
            put_action10(w, actions[i].code, n, actions[i].width);
            return true;
        }
    }
    return false;
}

void ofp_encode_set_field(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_set_field *a = ofp_act_cast(act);
    bool exact = is_exact(a);
    size_t start;

    if (version >= OFP15_VERSION || (version != OFP10_VERSION && exact && !a->load)) {
        start = ofp_put_std(w, 25);
        put_entry(w, a, version);
        ofp_put_end(w, start);
    } else if (ofp_field_is_experimenter(a->field)) {
        start = ofp_put_nx(w, 33);
        put_entry(w, a, OFP10_VERSION);
        ofp_put_end(w, start);
    } else if (version != OFP10_VERSION || a->load || !exact || !encode_as_action10(a, w)) {
        ofp_encode_loads(a, w);
    }
}

void ofp_encode_field(const struct ofp_field *field, const union ofp_value *value, enum ofp_version version,
                      struct buf *w)
{
    union {
        struct ofp_act_set_field a;
        uint8_t room[sizeof(struct ofp_act_set_field) + 2 * OFP_FIELD_MAX_BYTES];
    } r = {
        .a = { .act = { .type = OFP_ACT_SET_FIELD, .len = sizeof r }, .field = field, .load = version == OFP10_VERSION }
    };

    memcpy(r.a.data, value->b, field->n_bytes);
    memset(mask_of(&r.a), 0xff, field->n_bytes);
    ofp_encode_set_field(&r.a.act, version, w);
}

/* ---- set_field and load as text. ---- */

static void print_hex_number(FILE *out, const uint8_t *b, size_t n)
{
    while (n && !*b) {
        b++;
        n--;
    }
    if (!n) {
        fputc('0', out);
        return;
    }
    fprintf(out, "0x%x", *b);
    while (--n) {
        fprintf(out, "%02x", *++b);
    }
}

void ofp_print_value(FILE *out, const struct ofp_field *f, const union ofp_value *value, const union ofp_value *mask)
{
    uint64_t n = ofp_value_get_u64(value, f->n_bytes);

    if (f->format == OFP_FORMAT_TUN_FLAGS) {
        fputs(n & 1 ? "oam" : "0", out);
        mask = NULL; /* Of one bit, which is set or not. */
    } else if (f->format == OFP_FORMAT_DECIMAL) {
        fprintf(out, "%" PRIu64, n);
    } else if (f->format == OFP_FORMAT_HEX) {
        print_hex_number(out, value->b, f->n_bytes);
    } else {
        ofp_field_print(out, f, value, mask);
        mask = NULL;
    }
    if (mask) {
        fputc('/', out);
        print_hex_number(out, mask->b, f->n_bytes);
    }
}

void ofp_print_set_field(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_set_field *a = ofp_act_cast(act);
    union ofp_value value = { { 0 } }, mask = { { 0 } };
    size_t n, ofs = 0;

    if (a->load && next_run(ofp_set_field_mask(a), a->field, &ofs, SIZE_MAX, &n)) {
        struct ofp_subfield sf = { a->field, ofs, n };
        fprintf(p->out, "load:%#" PRIx64 "->", get_bits(a->data, a->field->n_bytes, ofs, n));
        ofp_subfield_print(p->out, &sf);
        return;
    }
    memcpy(value.b, a->data, a->field->n_bytes);
    memcpy(mask.b, ofp_set_field_mask(a), a->field->n_bytes);
    fputs("set_field:", p->out);
    if (ofp_zeros(mask.b, a->field->n_bytes)) {
        fputs("ANY", p->out);
    } else {
        ofp_print_value(p->out, a->field, &value, is_exact(a) ? NULL : &mask);
    }
    fprintf(p->out, "->%s", a->field->name);
}

char *ofp_scan_set_field(struct scan *s, const struct keyword *k, char *args)
{
    union ofp_value value = { { 0 } }, mask = { { 0 } }, ones = { { 0 } };
    char *name;
    char *error = ofp_scan_arrow(k->word, args, &name);

    if (error) {
        return error;
    }
    const struct ofp_field *f = ofp_field_by_name(name, strlen(name));
    if (!f || !ofp_field_header(f, OFP15_VERSION)) {
        return xasprintf("set_field:%s->%s: %s is no field that an action may name", args, name, name);
    }
    if (!f->writable) {
        return xasprintf("set_field:%s->%s: %s is read-only", args, name, f->name);
    }
    if (f->id == OFP_FIELD_CT_MARK || f->id == OFP_FIELD_CT_LABEL) {
        if (!s->in_ct) {
            return xasprintf("set_field:%s->%s: fields of connections are set in ct(commit,exec(...))", args, name);
        }
    }
    bool any = !strcmp(args, "ANY"), masked = any || strchr(args, '/') != NULL;
    char *why = any ? NULL : ofp_field_scan(f, args, &value, &mask);
    if (why) {
        error = xasprintf("set_field:%s->%s: %s", args, name, why);
        free(why);
        return error;
    }
    ofp_field_ones(f, &ones);
    bool exact = !masked || !memcmp(mask.b, ones.b, f->n_bytes);
    if (exact && !ofp_set_value_ok(f, &value, true)) {
        return xasprintf("set_field:%s->%s: %s cannot have that value", args, name, f->name);
    }
    struct ofp_act_set_field *a = put_set_field(s->acts, f, false);
    for (size_t i = 0; i < f->n_bytes; i++) {
        mask_of(a)[i] = exact ? 0xff : mask.b[i];
        a->data[i] = value.b[i] & mask_of(a)[i];
    }
    return NULL;
}

char *ofp_scan_load(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_subfield sf;
    uint64_t n;
    char *dst;
    char *error = ofp_scan_arrow(k->word, args, &dst);

    if (!error) {
        error = ofp_scan_number64(k->word, args, UINT64_MAX, &n);
    }
    if (!error) {
        error = ofp_scan_dst(k->word, dst, &sf);
    }
    if (!error && sf.n_bits < 64 && n >> sf.n_bits) {
        error = xasprintf("load:%s->%s: the value does not fit into %u bits", args, dst, sf.n_bits);
    }
    if (!error) {
        put_load(s->acts, &sf, n);
    }
    return error;
}

char *ofp_scan_dst(const char *what, const char *text, struct ofp_subfield *ret)
{
    char *error = ofp_scan_subfield(what, text, ret);

    if (!error && !ret->field->writable) {
        error = xasprintf("%s:%s: %s is read-only", what, text, ret->field->name);
    }
    return error;
}

/* ---- move. ---- */

/* Where headers may be of either length, the referee speaks of them as of a match's. */
enum ofp_error ofp_get_field_in_list(struct bytes *b, const struct ofp_field **ret_field)
{
    enum ofp_error error = ofp_get_field(b, ret_field);

    return error == OFPERR_OFPBAC_BAD_SET_TYPE ? OFPERR_OFPBMC_BAD_FIELD : error;
}

static enum ofp_error decode_move(const uint8_t *bits, struct bytes headers, struct buf *acts)
{
    struct ofp_act_move *a = ofp_act_put(acts, OFP_ACT_MOVE, sizeof *a);

    a->src.n_bits = a->dst.n_bits = get_u16(bits);
    a->src.ofs = get_u16(bits + 2);
    a->dst.ofs = get_u16(bits + 4);
    enum ofp_error error = ofp_get_field_in_list(&headers, &a->src.field);
    if (!error) {
        error = ofp_get_field_in_list(&headers, &a->dst.field);
    }
    if (!error && !ofp_zeros(headers.p, headers.n)) {
        error = OFPERR_NXBRC_MUST_BE_ZERO;
    }
    if (!error) {
        error = ofp_subfield_ok(&a->src, false);
    }
    return error ? error : ofp_subfield_ok(&a->dst, true);
}

enum ofp_error ofp_decode_move(struct decode *d, struct buf *acts)
{
    return decode_move(d->body, (struct bytes){ d->body + 6, d->len - 6 }, acts);
}

enum ofp_error ofp_decode_copy_field(struct decode *d, struct buf *acts)
{
    if (d->len < 12) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    return decode_move(d->body, (struct bytes){ d->body + 8, d->len - 8 }, acts);
}

/* The ONF's extension for 1.3: two bytes of padding before the numbers, and two behind. */
enum ofp_error ofp_decode_copy_field_onf(struct decode *d, struct buf *acts)
{
    if (d->len < 14) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    return decode_move(d->body + 2, (struct bytes){ d->body + 10, d->len - 10 }, acts);
}

void ofp_encode_move(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_move *a = ofp_act_cast(act);
    bool copy_field = version >= OFP15_VERSION;
    size_t start = copy_field ? ofp_put_std(w, 28) : ofp_put_nx(w, 6);

    buf_put_u16(w, a->src.n_bits);
    buf_put_u16(w, a->src.ofs);
    buf_put_u16(w, a->dst.ofs);
    if (copy_field) {
        buf_put_u16(w, 0);
    }
    ofp_put_field(w, a->src.field, copy_field ? version : OFP10_VERSION);
    ofp_put_field(w, a->dst.field, copy_field ? version : OFP10_VERSION);
    ofp_put_end(w, start);
}

void ofp_print_move(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_move *a = ofp_act_cast(act);

    fputs("move:", p->out);
    ofp_subfield_print(p->out, &a->src);
    fputs("->", p->out);
    ofp_subfield_print(p->out, &a->dst);
}

char *ofp_scan_move(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_move *a = ofp_act_put(s->acts, OFP_ACT_MOVE, sizeof *a);
    char *dst;
    char *error = ofp_scan_arrow(k->word, args, &dst);

    if (!error) {
        error = ofp_scan_subfield(k->word, args, &a->src);
    }
    if (!error) {
        error = ofp_scan_dst(k->word, dst, &a->dst);
    }
    if (!error && a->src.n_bits != a->dst.n_bits) {
        error = xasprintf("move:%s->%s: the one has %u bits, the other %u", args, dst, a->src.n_bits, a->dst.n_bits);
    }
    return error;
}

/* ---- push and pop. ---- */

enum ofp_error ofp_decode_stack(struct decode *d, struct buf *acts)
{
    struct ofp_act_stack *a = ofp_act_put(acts, d->wire->type, sizeof *a);
    struct bytes b = { d->body + 2, d->len - 2 };

    a->sf.ofs = get_u16(d->body);
    enum ofp_error error = ofp_get_field_in_list(&b, &a->sf.field);
    if (error) {
        return error;
    }
    const uint8_t *n_bits = bytes_pull(&b, 2);
    if (!n_bits) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    a->sf.n_bits = get_u16(n_bits);
    if (!ofp_zeros(b.p, b.n)) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    return ofp_subfield_ok(&a->sf, a->act.type == OFP_ACT_POP);
}

void ofp_encode_stack(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_stack *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, act->type == OFP_ACT_PUSH ? 27 : 28);

    buf_put_u16(w, a->sf.ofs);
    ofp_put_field(w, a->sf.field, OFP10_VERSION);
    buf_put_u16(w, a->sf.n_bits);
    buf_put_zeros(w, 24 - (w->len - start));
    ofp_put_end(w, start);
}

void ofp_print_stack(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_stack *a = ofp_act_cast(act);

    fputs(act->type == OFP_ACT_PUSH ? "push:" : "pop:", p->out);
    ofp_subfield_print(p->out, &a->sf);
}

char *ofp_scan_stack(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_stack *a = ofp_act_put(s->acts, k->type, sizeof *a);

    return k->type == OFP_ACT_POP ? ofp_scan_dst(k->word, args, &a->sf) : ofp_scan_subfield(k->word, args, &a->sf);
}
