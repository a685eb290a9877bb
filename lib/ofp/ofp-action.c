/* The sequence of records, and its list on the wire.  See ofp-action.h. */
#include <config.h>

#include "lib/ofp/ofp-action.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-action-private.h"

static_assert(sizeof(struct ofp_act) == 4, "the head of a record");
static_assert(offsetof(struct ofp_act_nest, acts) % 8 == 0 && offsetof(struct ofp_act_ct, acts) % 8 == 0,
              "nested records");
static_assert(OFP_N_ACTS <= 256, "types fit");

const struct act_info ofp_act_info[OFP_N_ACTS] = {
#define ACT_INFO(ID, NAME, INST, SET, FORM, CHECK)                                                                     \
    [OFP_ACT_##ID] = { NAME, OFP_INST_##INST, SET, ofp_encode_##FORM, ofp_print_##FORM, ofp_check_##CHECK },
    OFP_ACTIONS(ACT_INFO)
#undef ACT_INFO
};

static const struct wire_action wire_actions[] = {
#define WIRE_ACTION(VENDOR, CODE, FIRST, LAST, LEN, MORE, DECODER, TYPE, OFS, WIDTH)                                   \
    { OFP_VENDOR_##VENDOR,                                                                                             \
      CODE,                                                                                                            \
      OFP##FIRST##_VERSION,                                                                                            \
      OFP##LAST##_VERSION,                                                                                             \
      LEN,                                                                                                             \
      MORE,                                                                                                            \
      ofp_decode_##DECODER,                                                                                            \
      OFP_ACT_##TYPE,                                                                                                  \
      OFS,                                                                                                             \
      WIDTH },
    OFP_WIRE_ACTIONS(WIRE_ACTION)
#undef WIRE_ACTION
};

/* ---- Records. ---- */

const char *ofp_act_name(enum ofp_act_type type) { return ofp_act_info[type].name; }
enum ofp_inst ofp_act_instruction(enum ofp_act_type type) { return ofp_act_info[type].instruction; }
bool ofp_act_may_be_in_set(enum ofp_act_type type) { return ofp_act_info[type].in_set; }

size_t ofp_act_begin(struct buf *acts, enum ofp_act_type type, size_t size)
{
    size_t start = acts->len;

    buf_put_zeros(acts, size);
    struct ofp_act *a = ofp_act_at(acts, start);
    a->type = type;
    return start;
}

void ofp_act_end(struct buf *acts, size_t start)
{
    buf_pad8(acts, start);
    struct ofp_act *a = ofp_act_at(acts, start);
    assert(acts->len - start < 1 << 24);
    a->len = acts->len - start;
}

void *ofp_act_put(struct buf *acts, enum ofp_act_type type, size_t size)
{
    size_t start = ofp_act_begin(acts, type, size);

    ofp_act_end(acts, start);
    return ofp_act_at(acts, start);
}

const struct ofp_act *ofp_act_nested(const struct ofp_act *a, size_t *ret_len)
{
    size_t head = 0;

    if (a->type == OFP_ACT_CLONE || a->type == OFP_ACT_WRITE_ACTIONS) {
        head = offsetof(struct ofp_act_nest, acts);
    } else if (a->type == OFP_ACT_CT) {
        head = offsetof(struct ofp_act_ct, acts);
    } else {
        *ret_len = 0;
        return NULL;
    }
    *ret_len = a->len - head;
    return (const struct ofp_act *) ((const uint8_t *) a + head);
}

bool ofp_acts_equal(const void *a, size_t a_len, const void *b, size_t b_len)
{
    return a_len == b_len && (!a_len || !memcmp(a, b, a_len));
}

bool ofp_acts_output_to_port(const void *acts, size_t len, ofp_port_t port)
{
    OFP_ACT_FOR_EACH(a, acts, len)
    {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);

        if (a->type == OFP_ACT_OUTPUT) {
            const struct ofp_act_output *o = ofp_act_cast(a);
            if (ofp_port_eq(o->port, port)) {
                return true;
            }
        } else if (a->type == OFP_ACT_OUTPUT_TRUNC) {
            const struct ofp_act_output_trunc *o = ofp_act_cast(a);
            if (ofp_port_eq(o->port, port)) {
                return true;
            }
        } else if (a->type == OFP_ACT_ENQUEUE) {
            const struct ofp_act_enqueue *o = ofp_act_cast(a);
            if (ofp_port_eq(o->port, port)) {
                return true;
            }
        } else if (a->type == OFP_ACT_CONTROLLER && ofp_port_eq(port, PORT_CONTROLLER)) {
            return true;
        } else if (nested && ofp_acts_output_to_port(nested, nested_len, port)) {
            return true;
        }
    }
    return false;
}

bool ofp_acts_output_to_group(const void *acts, size_t len, uint32_t group)
{
    OFP_ACT_FOR_EACH(a, acts, len)
    {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);

        if (a->type == OFP_ACT_GROUP) {
            const struct ofp_act_number *n = ofp_act_cast(a);
            if (n->n == group) {
                return true;
            }
        } else if (nested && ofp_acts_output_to_group(nested, nested_len, group)) {
            return true;
        }
    }
    return false;
}

/* ---- Decoding a list. ---- */

/* The header of the action at P, of LEN bytes: vendor, code, and how long the header is. */
static enum ofp_error decode_header(const uint8_t *p, size_t len, enum ofp_vendor *ret_vendor, uint16_t *ret_code,
                                    size_t *ret_size)
{
    if (get_u16(p) != 0xffff) {
        *ret_vendor = OFP_VENDOR_STD;
        *ret_code = get_u16(p);
        *ret_size = 4;
        return OFPERR_NONE;
    }
    if (len < 16) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    if (get_u32(p + 4) == NX_VENDOR_ID) {
        *ret_vendor = OFP_VENDOR_NX;
    } else if (get_u32(p + 4) == ONF_VENDOR_ID) {
        *ret_vendor = OFP_VENDOR_ONF;
    } else {
        return OFPERR_OFPBAC_BAD_VENDOR;
    }
    *ret_code = get_u16(p + 8);
    *ret_size = 10;
    return OFPERR_NONE;
}

static const struct wire_action *find_wire(enum ofp_vendor vendor, uint16_t code, enum ofp_version version)
{
    for (size_t i = 0; i < ARRAY_SIZE(wire_actions); i++) {
        const struct wire_action *w = &wire_actions[i];

        if (w->vendor == vendor && w->code == code && version >= w->first && version <= w->last) {
            return w;
        }
    }
    return NULL;
}

static enum ofp_error decode_action(const uint8_t *p, size_t len, enum ofp_version version, unsigned int depth,
                                    struct buf *acts)
{
    struct decode d = { .version = version, .depth = depth };
    enum ofp_vendor vendor;
    uint16_t code;
    size_t header;
    enum ofp_error error = decode_header(p, len, &vendor, &code, &header);

    if (error) {
        return error;
    }
    d.wire = find_wire(vendor, code, version);
    if (!d.wire) {
        return vendor == OFP_VENDOR_STD ? OFPERR_OFPBAC_BAD_TYPE : OFPERR_OFPBAC_BAD_VENDOR_TYPE;
    }
    if (len < d.wire->len || (len > d.wire->len && !d.wire->more) || len % 8) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    d.body = p + header;
    d.len = len - header;
    return d.wire->decode(&d, acts);
}

enum ofp_error ofp_decode_list(const uint8_t *data, size_t len, enum ofp_version version, unsigned int depth,
                               struct buf *acts)
{
    if (depth > OFP_ACT_MAX_DEPTH) {
        return OFPERR_OFPBAC_TOO_MANY;
    }
    while (len) {
        /* A list ends on an action's end: the rest is too short for one. */
        if (len < 8) {
            return OFPERR_OFPBAC_BAD_LEN;
        }
        size_t n = get_u16(data + 2);
        if (n > len || n < 8) {
            return OFPERR_OFPBAC_BAD_LEN;
        }
        enum ofp_error error = decode_action(data, n, version, depth, acts);
        if (error) {
            return error;
        }
        data += n;
        len -= n;
    }
    return OFPERR_NONE;
}

static enum ofp_error decode_whole_list(const void *data, size_t len, enum ofp_version version, bool instructions,
                                        struct buf *acts)
{
    size_t start = acts->len;

    if (len % 8) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    enum ofp_error error = ofp_decode_list(data, len, version, 0, acts);
    if (!error && acts->len > start && !instructions) {
        error = ofp_acts_verify_no_instructions(acts->data + start, acts->len - start, version);
    }
    if (!error && acts->len > start) {
        error = ofp_acts_verify(acts->data + start, acts->len - start, NULL);
    }
    if (error) {
        acts->len = start;
    }
    return error;
}

enum ofp_error ofp_actions_decode(const void *data, size_t len, enum ofp_version version, struct buf *acts)
{
    return decode_whole_list(data, len, version, false, acts);
}

enum ofp_error ofp_flow_actions10_decode(const void *data, size_t len, struct buf *acts)
{
    return decode_whole_list(data, len, OFP10_VERSION, true, acts);
}

enum ofp_error ofp_action_set_decode(const void *data, size_t len, enum ofp_version version, struct buf *acts)
{
    size_t start = acts->len;
    enum ofp_error error = ofp_actions_decode(data, len, version, acts);

    if (!error && acts->len > start) {
        error = ofp_acts_verify_nested(acts->data + start, acts->len - start, OFP_ACT_WRITE_ACTIONS, NULL);
    }
    if (error) {
        acts->len = start;
    }
    return error;
}

/* ---- Encoding a list. ---- */

const struct wire_action *ofp_wire_action(enum ofp_act_type type, enum ofp_version version, bool wide)
{
    for (size_t i = 0; i < ARRAY_SIZE(wire_actions); i++) {
        const struct wire_action *w = &wire_actions[i];

        if (w->type == type && version >= w->first && version <= w->last && (!wide || w->width == 8) &&
            w->decode != ofp_decode_number_old) {
            return w;
        }
    }
    return NULL;
}

size_t ofp_put_std(struct buf *w, uint16_t code)
{
    size_t start = w->len;

    buf_put_u16(w, code);
    buf_put_u16(w, 0);
    return start;
}

size_t ofp_put_nx(struct buf *w, uint16_t subtype)
{
    size_t start = ofp_put_std(w, 0xffff);

    buf_put_u32(w, NX_VENDOR_ID);
    buf_put_u16(w, subtype);
    return start;
}

void ofp_put_end(struct buf *w, size_t start)
{
    buf_pad8(w, start);
    buf_patch_u16(w, start + 2, w->len - start);
}

void ofp_encode_list(const void *acts, size_t len, enum ofp_version version, struct buf *w)
{
    OFP_ACT_FOR_EACH(a, acts, len) { ofp_act_info[a->type].encode(a, version, w); }
}

void ofp_actions_encode(const void *acts, size_t len, enum ofp_version version, struct buf *wire)
{
    OFP_ACT_FOR_EACH(a, acts, len)
    {
        if (version == OFP10_VERSION || ofp_act_info[a->type].instruction == OFP_INST_APPLY) {
            ofp_act_info[a->type].encode(a, version, wire);
        }
    }
}
