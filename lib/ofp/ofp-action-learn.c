/* The learn action: a flow that is made of the packet and of constants. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

enum { NX_LEARN = 16, NX_LEARN2 = 45, DEFAULT_PRIORITY = 32768, BODY_LEN = 22, MAX_SPECS = 8192 };
/* A spec's head: the number of bits, where they come from, what they are for. */
enum {
    SPEC_N_BITS = 0x3ff,
    SPEC_IMMEDIATE = 0x2000,
    SPEC_TO_SHIFT = 11,
    SPEC_TO = 3 << SPEC_TO_SHIFT,
    SPEC_ALL = 0x3fff
};

static size_t value_bytes(uint16_t n_bits) { return (n_bits + 7) / 8; }
/* On the wire a value takes whole pairs of bytes. */
static size_t wire_bytes(uint16_t n_bits) { return (n_bits + 15) / 16 * 2; }

static bool is_whole(const struct ofp_subfield *sf) { return !sf->ofs && sf->n_bits == sf->field->n_bits; }

/* ---- The wire. ---- */

static enum ofp_error get_subfield(struct bytes *b, uint16_t n_bits, struct ofp_subfield *ret)
{
    enum ofp_error error = b->n < 6 ? OFPERR_OFPBAC_BAD_LEN : ofp_get_field(b, &ret->field);

    if (error) {
        return error;
    }
    const uint8_t *ofs = bytes_pull(b, 2);
    if (!ofs) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    ret->ofs = get_u16(ofs);
    ret->n_bits = n_bits;
    return OFPERR_NONE;
}

static enum ofp_error decode_immediate(struct bytes *b, struct ofp_learn_spec *spec)
{
    size_t n = value_bytes(spec->n_bits), wire = wire_bytes(spec->n_bits);
    const uint8_t *p = bytes_pull(b, wire);

    if (!p) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    /* No field is wider: such a spec fails when its destination is looked at. */
    if (n <= OFP_FIELD_MAX_BYTES) {
        memcpy(spec->value.b, p + wire - n, n);
    }
    return OFPERR_NONE;
}

/* Bits of a value that are beyond its width are nothing, unless a field has them: vlan_vid's, that there is a tag. */
static void clear_other_bits(struct ofp_learn_spec *spec)
{
    unsigned int used = spec->n_bits % 8;

    if (used && !(spec->to == OFP_LEARN_MATCH && is_whole(&spec->dst))) {
        spec->value.b[0] &= (1 << used) - 1;
    }
}

static enum ofp_error decode_spec(uint16_t head, struct bytes *b, struct ofp_learn_spec *spec)
{
    enum ofp_error error;

    if (head & ~SPEC_ALL || (head & SPEC_TO) == SPEC_TO) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    spec->n_bits = head & SPEC_N_BITS;
    spec->immediate = head & SPEC_IMMEDIATE;
    spec->to = (head & SPEC_TO) >> SPEC_TO_SHIFT;
    if (spec->to == OFP_LEARN_OUTPUT && spec->immediate) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    error = spec->immediate ? decode_immediate(b, spec) : get_subfield(b, spec->n_bits, &spec->src);
    if (!error && spec->to != OFP_LEARN_OUTPUT) {
        error = get_subfield(b, spec->n_bits, &spec->dst);
    }
    if (!error && !spec->immediate) {
        error = ofp_subfield_ok(&spec->src, false);
    }
    if (!error && spec->to != OFP_LEARN_OUTPUT) {
        error = ofp_subfield_ok(&spec->dst, spec->to == OFP_LEARN_LOAD);
    }
    if (!error && spec->immediate) {
        clear_other_bits(spec);
    }
    return error;
}

static enum ofp_error decode_specs(struct bytes b, struct buf *acts, size_t start)
{
    uint32_t n = 0;

    while (b.n >= 2) {
        uint16_t head = get_u16(bytes_pull(&b, 2));

        if (!head) {
            break; /* Padding. */
        }
        size_t at = acts->len;
        buf_put_zeros(acts, sizeof(struct ofp_learn_spec));
        enum ofp_error error = decode_spec(head, &b, ofp_act_at(acts, at));
        if (error) {
            return error;
        }
        n++;
    }
    struct ofp_act_learn *a = ofp_act_at(acts, start);
    a->n_specs = n;
    return ofp_zeros(b.p, b.n) ? OFPERR_NONE : OFPERR_OFPBAC_BAD_ARGUMENT;
}

enum ofp_error ofp_decode_learn(struct decode *d, struct buf *acts)
{
    size_t start = ofp_act_begin(acts, OFP_ACT_LEARN, sizeof(struct ofp_act_learn));
    struct ofp_act_learn *a = ofp_act_at(acts, start);
    struct bytes left = { d->body + BODY_LEN, d->len - BODY_LEN };
    const uint8_t *p = d->body;
    bool second = d->wire->code == NX_LEARN2;
    uint16_t known = OFP_LEARN_F_SEND_FLOW_REM | OFP_LEARN_F_DELETE_LEARNED | (second ? OFP_LEARN_F_WRITE_RESULT : 0);

    a->idle_timeout = get_u16(p);
    a->hard_timeout = get_u16(p + 2);
    a->priority = get_u16(p + 4);
    a->cookie = get_u64(p + 6);
    a->flags = get_u16(p + 14);
    a->table = p[16];
    a->fin_idle_timeout = get_u16(p + 18);
    a->fin_hard_timeout = get_u16(p + 20);
    if (a->flags & ~known || p[17] || a->table == OFP_TABLE_ALL) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    if (second) {
        a->limit = get_u32(bytes_pull(&left, 4));
        const uint8_t *ofs = bytes_pull(&left, 4);
        if (!ofp_zeros(ofs + 2, 2)) {
            return OFPERR_NXBRC_MUST_BE_ZERO;
        }
        if (a->flags & OFP_LEARN_F_WRITE_RESULT) {
            a->result_dst.ofs = get_u16(ofs);
            a->result_dst.n_bits = 1;
            enum ofp_error error = ofp_get_field(&left, &a->result_dst.field);
            if (!error) {
                error = ofp_subfield_ok(&a->result_dst, true);
            }
            if (error) {
                return error;
            }
        }
    }
    enum ofp_error error = decode_specs(left, acts, start);
    ofp_act_end(acts, start);
    return error;
}

static void put_subfield(struct buf *w, const struct ofp_subfield *sf, enum ofp_version version)
{
    ofp_put_field(w, sf->field, version);
    buf_put_u16(w, sf->ofs);
}

static void encode_spec(const struct ofp_learn_spec *spec, struct buf *w)
{
    buf_put_u16(w, spec->n_bits | (spec->immediate ? SPEC_IMMEDIATE : 0) | spec->to << SPEC_TO_SHIFT);
    if (spec->immediate) {
        buf_put_zeros(w, wire_bytes(spec->n_bits) - value_bytes(spec->n_bits));
        buf_put(w, spec->value.b, value_bytes(spec->n_bits));
    } else {
        put_subfield(w, &spec->src, OFP10_VERSION);
    }
    if (spec->to != OFP_LEARN_OUTPUT) {
        put_subfield(w, &spec->dst, OFP10_VERSION);
    }
}

void ofp_encode_learn(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_learn *a = ofp_act_cast(act);
    bool second = a->limit || a->flags & OFP_LEARN_F_WRITE_RESULT;
    size_t start = ofp_put_nx(w, second ? NX_LEARN2 : NX_LEARN);

    buf_put_u16(w, a->idle_timeout);
    buf_put_u16(w, a->hard_timeout);
    buf_put_u16(w, a->priority);
    buf_put_u64(w, a->cookie);
    buf_put_u16(w, a->flags);
    buf_put_u8(w, a->table);
    buf_put_u8(w, 0);
    buf_put_u16(w, a->fin_idle_timeout);
    buf_put_u16(w, a->fin_hard_timeout);
    if (second) {
        buf_put_u32(w, a->limit);
        buf_put_u16(w, a->result_dst.ofs);
        buf_put_u16(w, 0);
        if (a->flags & OFP_LEARN_F_WRITE_RESULT) {
            ofp_put_field(w, a->result_dst.field, OFP10_VERSION);
        }
    }
    for (uint32_t i = 0; i < a->n_specs; i++) {
        encode_spec(&a->specs[i], w);
    }
    ofp_put_end(w, start);
}

/* ---- Printing. ---- */

static void print_value(FILE *out, const struct ofp_learn_spec *spec)
{
    size_t n = value_bytes(spec->n_bits), i = 0;

    while (i < n && !spec->value.b[i]) {
        i++;
    }
    if (i == n) {
        fputc('0', out);
        return;
    }
    fprintf(out, "0x%x", spec->value.b[i]);
    while (++i < n) {
        fprintf(out, "%02x", spec->value.b[i]);
    }
}

/* A value of a whole field, moved to where the field's own functions want it. */
static union ofp_value field_value(const struct ofp_learn_spec *spec)
{
    union ofp_value v = { { 0 } };
    size_t n = value_bytes(spec->n_bits), f = spec->dst.field->n_bytes;

    memcpy(v.b + (f - n), spec->value.b, n);
    return v;
}

static void print_spec(FILE *out, const struct ofp_learn_spec *spec)
{
    if (spec->to == OFP_LEARN_OUTPUT) {
        fputs("output:", out);
        ofp_subfield_print(out, &spec->src);
        return;
    }
    if (spec->to == OFP_LEARN_LOAD) {
        fputs("load:", out);
        if (spec->immediate) {
            print_value(out, spec);
        } else {
            ofp_subfield_print(out, &spec->src);
        }
        fputs("->", out);
        ofp_subfield_print(out, &spec->dst);
        return;
    }
    if (spec->immediate && is_whole(&spec->dst)) {
        union ofp_value v = field_value(spec);
        fprintf(out, "%s=", spec->dst.field->name);
        ofp_print_value(out, spec->dst.field, &v, NULL);
        return;
    }
    ofp_subfield_print(out, &spec->dst);
    if (spec->immediate) {
        fputc('=', out);
        print_value(out, spec);
    } else if (spec->src.field != spec->dst.field || spec->src.ofs != spec->dst.ofs) {
        fputc('=', out);
        ofp_subfield_print(out, &spec->src);
    }
}

static void print_number(FILE *out, const char *name, uint64_t n)
{
    if (n) {
        fprintf(out, ",%s=%" PRIu64, name, n);
    }
}

void ofp_print_learn(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_learn *a = ofp_act_cast(act);

    fputs("learn(table=", p->out);
    ofp_print_table(p, a->table);
    print_number(p->out, "idle_timeout", a->idle_timeout);
    print_number(p->out, "hard_timeout", a->hard_timeout);
    print_number(p->out, "fin_idle_timeout", a->fin_idle_timeout);
    print_number(p->out, "fin_hard_timeout", a->fin_hard_timeout);
    if (a->priority != DEFAULT_PRIORITY) {
        fprintf(p->out, ",priority=%u", a->priority);
    }
    if (a->flags & OFP_LEARN_F_SEND_FLOW_REM) {
        fputs(",send_flow_rem", p->out);
    }
    if (a->flags & OFP_LEARN_F_DELETE_LEARNED) {
        fputs(",delete_learned", p->out);
    }
    if (a->cookie) {
        fprintf(p->out, ",cookie=%#" PRIx64, a->cookie);
    }
    print_number(p->out, "limit", a->limit);
    if (a->flags & OFP_LEARN_F_WRITE_RESULT) {
        fputs(",result_dst=", p->out);
        ofp_subfield_print(p->out, &a->result_dst);
    }
    for (uint32_t i = 0; i < a->n_specs; i++) {
        fputc(',', p->out);
        print_spec(p->out, &a->specs[i]);
    }
    fputc(')', p->out);
}

/* ---- Scanning. ---- */

/* A number for a range of bits; right-aligned in as many bytes as it takes. */
static char *scan_number_value(const char *what, const char *text, struct ofp_learn_spec *spec)
{
    uint64_t n;
    char *error = ofp_scan_number64(what, text, UINT64_MAX, &n);

    if (error) {
        return error;
    }
    if (spec->n_bits < 64 && n >> spec->n_bits) {
        return xasprintf("learn(%s): %s does not fit into %u bits", what, text, spec->n_bits);
    }
    ofp_value_put_u64(&spec->value, value_bytes(spec->n_bits), n);
    return NULL;
}

/* The value of a whole field, in the field's own form. */
static char *scan_field_value(const char *what, const char *text, struct ofp_learn_spec *spec)
{
    const struct ofp_field *f = spec->dst.field;
    union ofp_value value = { { 0 } }, mask = { { 0 } }, ones = { { 0 } };
    size_t n = value_bytes(spec->n_bits);
    char *why = ofp_field_scan(f, text, &value, &mask);

    ofp_field_ones(f, &ones);
    if (!why && strchr(text, '/') && memcmp(mask.b, ones.b, f->n_bytes)) {
        why = xstrdup("a mask cannot be learned");
    }
    if (why) {
        char *error = xasprintf("learn(%s=%s): expected a field or a value: %s", what, text, why);
        free(why);
        return error;
    }
    memcpy(spec->value.b, value.b + (f->n_bytes - n), n);
    return NULL;
}

/* FIELD, FIELD=FIELD or FIELD=VALUE. */
static char *scan_match(const char *key, const char *value, struct ofp_learn_spec *spec)
{
    char *error = ofp_scan_subfield("learn", key, &spec->dst);

    if (error) {
        return error;
    }
    spec->to = OFP_LEARN_MATCH;
    spec->n_bits = spec->dst.n_bits;
    if (!ofp_field_header(spec->dst.field, OFP10_VERSION)) {
        return xasprintf("learn(%s): no action may name that field", key);
    }
    char *no_field = ofp_scan_subfield("learn", *value ? value : key, &spec->src);
    if (!no_field) {
        if (spec->src.n_bits != spec->dst.n_bits) {
            return xasprintf("learn(%s=%s): the one has %u bits, the other %u", key, value, spec->dst.n_bits,
                             spec->src.n_bits);
        }
        return NULL;
    }
    free(no_field);
    spec->immediate = true;
    return is_whole(&spec->dst) ? scan_field_value(key, value, spec) : scan_number_value(key, value, spec);
}

/* load:FIELD->FIELD or load:NUMBER->FIELD */
static char *scan_learn_load(char *text, struct ofp_learn_spec *spec)
{
    char *dst;
    char *error = ofp_scan_arrow("learn(load", text, &dst);

    if (!error) {
        error = ofp_scan_dst("learn(load", dst, &spec->dst);
    }
    if (error) {
        return error;
    }
    spec->to = OFP_LEARN_LOAD;
    spec->n_bits = spec->dst.n_bits;
    char *no_field = ofp_scan_subfield("learn(load", text, &spec->src);
    if (!no_field) {
        return spec->src.n_bits == spec->dst.n_bits ? NULL
                                                    : xasprintf("learn(load:%s->%s): the one has %u bits, the other %u",
                                                                text, dst, spec->src.n_bits, spec->dst.n_bits);
    }
    free(no_field);
    spec->immediate = true;
    return scan_number_value(dst, text, spec);
}

static char *scan_spec(struct scan *s, size_t start, const char *key, char *value)
{
    size_t at = s->acts->len;
    char *error;

    buf_put_zeros(s->acts, sizeof(struct ofp_learn_spec));
    struct ofp_learn_spec *spec = ofp_act_at(s->acts, at);
    if (!strcmp(key, "load")) {
        error = scan_learn_load(value, spec);
    } else if (!strcmp(key, "output")) {
        error = ofp_scan_subfield("learn(output", value, &spec->src);
        spec->to = OFP_LEARN_OUTPUT;
        spec->n_bits = spec->src.n_bits;
    } else {
        error = scan_match(key, value, spec);
    }
    struct ofp_act_learn *a = ofp_act_at(s->acts, start);
    return ++a->n_specs <= MAX_SPECS || error ? error : xasprintf("learn: more than %d fields", MAX_SPECS);
}

/* One of the flow's own properties.  False: KEY is none. */
static bool scan_property(struct scan *s, struct ofp_act_learn *a, const char *key, const char *value, char **ret_error)
{
    const struct {
        const char *name;
        uint16_t *to;
    } numbers[] = { { "idle_timeout", &a->idle_timeout },
                    { "hard_timeout", &a->hard_timeout },
                    { "fin_idle_timeout", &a->fin_idle_timeout },
                    { "fin_hard_timeout", &a->fin_hard_timeout },
                    { "priority", &a->priority } };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (!strcmp(key, numbers[i].name)) {
            *ret_error = ofp_scan_u16(key, value, numbers[i].to);
            return true;
        }
    }
    if (!strcmp(key, "table")) {
        *ret_error = ofp_scan_table(s, "learn(table)", value, &a->table);
        if (!*ret_error && a->table == OFP_TABLE_ALL) {
            *ret_error = xasprintf("learn(table=%s): expected a table from 0 to 254", value);
        }
    } else if (!strcmp(key, "cookie")) {
        *ret_error = ofp_scan_number64("learn(cookie)", value, UINT64_MAX, &a->cookie);
    } else if (!strcmp(key, "limit")) {
        *ret_error = ofp_scan_u32("learn(limit)", value, &a->limit);
    } else if (!strcmp(key, "send_flow_rem") && !*value) {
        a->flags |= OFP_LEARN_F_SEND_FLOW_REM;
    } else if (!strcmp(key, "delete_learned") && !*value) {
        a->flags |= OFP_LEARN_F_DELETE_LEARNED;
    } else if (!strcmp(key, "result_dst")) {
        *ret_error = ofp_scan_dst("learn(result_dst)", value, &a->result_dst);
        if (!*ret_error && a->result_dst.n_bits != 1) {
            *ret_error = xasprintf("learn(result_dst=%s): expected a field of one bit", value);
        }
        a->flags |= OFP_LEARN_F_WRITE_RESULT;
    } else {
        return false;
    }
    return true;
}

char *ofp_scan_learn(struct scan *s, const struct keyword *k UNUSED, char *args)
{
    size_t start = ofp_act_begin(s->acts, OFP_ACT_LEARN, sizeof(struct ofp_act_learn));
    struct ofp_act_learn *a = ofp_act_at(s->acts, start);
    char *key, *value, *error = NULL;

    a->table = 1;
    a->priority = DEFAULT_PRIORITY;
    while (!error && ofp_scan_arg(&args, &key, &value)) {
        if (!scan_property(s, ofp_act_at(s->acts, start), key, value, &error)) {
            error = scan_spec(s, start, key, value);
        }
    }
    ofp_act_end(s->acts, start);
    return error;
}

/* ---- Checking. ---- */

static enum ofp_error check_spec(const struct check_state *s, const struct ofp_learn_spec *spec, struct flow *learned)
{
    enum ofp_error error = spec->immediate ? OFPERR_NONE : ofp_check_src(s, &spec->src);

    if (error || spec->to == OFP_LEARN_OUTPUT) {
        return error;
    }
    /* The new flow must have the field, by what it matches until here. */
    struct check_state new_flow = { .in = s->in, .flow = learned };
    error = spec->to == OFP_LEARN_MATCH ? ofp_check_src(&new_flow, &spec->dst) : ofp_check_dst(&new_flow, &spec->dst);
    if (!error && spec->to == OFP_LEARN_MATCH && spec->immediate && is_whole(&spec->dst)) {
        union ofp_value v = field_value(spec);
        ofp_field_set(spec->dst.field, &v, learned);
    }
    return error;
}

enum ofp_error ofp_check_learn(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_learn *a = ofp_act_cast(act);
    struct flow learned;
    enum ofp_error error = OFPERR_NONE;

    memset(&learned, 0, sizeof learned);
    if (a->flags & OFP_LEARN_F_WRITE_RESULT) {
        error = ofp_check_dst(s, &a->result_dst);
    }
    for (uint32_t i = 0; i < a->n_specs && !error; i++) {
        error = check_spec(s, &a->specs[i], &learned);
    }
    return error;
}
