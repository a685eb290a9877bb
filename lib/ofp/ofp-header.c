/* The headers of NXM and OXM: 32 bits that say which field follows, in how many bytes, and if a mask does.
 *
 * A header is class (16 bits), number (7), whether there is a mask (1), and length of what follows (8).  An
 * experimenter's id is the first of what follows, and counts in the length. */
#include <config.h>

#include "lib/ofp/ofp-field.h"

/* What a decoder looks a field up by: class and number in one; an experimenter's class becomes one that nobody has. */
#define KEY_NXM_OF         OFP_CLASS_NXM_OF
#define KEY_NXM_NX         OFP_CLASS_NXM_NX
#define KEY_OXM_OF         OFP_CLASS_OXM_OF
#define KEY_OXM_OF_PKT     OFP_CLASS_OXM_OF_PKT
#define KEY_ONFOXM_ET      0x10000
#define KEY_NXOXM_NSH      0x10001
#define KEY(CLASS, NUMBER) ((CLASS) << 7 | (NUMBER))
#define KEY_NO_HEADER      KEY(0x20000, 0)

#define H(CLASS, NAME, NUMBER, VERSION) KEY(KEY_##CLASS, NUMBER)
#define NONE                            (-1)
/* A header that a field does not have must be a case of its own. */
#define KEY_OF(HEADER, ID, COLUMN) ((HEADER) < 0 ? KEY_NO_HEADER + 3 * (ID) + (COLUMN) : (HEADER))

const struct ofp_field *ofp_field_by_header(uint16_t class, uint8_t number, uint32_t experimenter)
{
    int key_class = class;

    if (class == OFP_CLASS_EXPERIMENTER) {
        if (experimenter != OFP_EXPERIMENTER_ONF && experimenter != OFP_EXPERIMENTER_NSH) {
            return NULL;
        }
        key_class = experimenter == OFP_EXPERIMENTER_ONF ? KEY_ONFOXM_ET : KEY_NXOXM_NSH;
    }
    switch (KEY(key_class, number)) {
#define FIELD(ID, NAME, ALIAS, BYTES, BITS, MASK, ACCESS, PREREQ, FORMAT, WHERE, NXM, OXM, ET)                         \
    case KEY_OF(NXM, OFP_FIELD_##ID, 0):                                                                               \
    case KEY_OF(OXM, OFP_FIELD_##ID, 1):                                                                               \
    case KEY_OF(ET, OFP_FIELD_##ID, 2):                                                                                \
        return ofp_field(OFP_FIELD_##ID);
        OFP_FIELDS(FIELD)
#undef FIELD
    default:
        return NULL;
    }
}

enum ofp_error ofp_header_pull(struct bytes *b, const struct ofp_field **ret_field, bool *ret_has_mask,
                               size_t *ret_payload)
{
    struct bytes rest = *b;
    const uint8_t *h = bytes_pull(&rest, 4);
    uint32_t experimenter = 0;

    if (!h) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    size_t length = h[3];
    if (get_u16(h) == OFP_CLASS_EXPERIMENTER) {
        const uint8_t *e = bytes_pull(&rest, 4);
        if (!e || length < 4) {
            return OFPERR_OFPBMC_BAD_LEN;
        }
        experimenter = get_u32(e);
        length -= 4;
    }
    bool has_mask = h[2] & 1;
    const struct ofp_field *field = ofp_field_by_header(get_u16(h), h[2] >> 1, experimenter);
    if (field && length != field->n_bytes * (has_mask ? 2u : 1u)) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    *ret_field = field;
    *ret_has_mask = has_mask;
    *ret_payload = length;
    *b = rest;
    return OFPERR_NONE;
}

enum ofp_error ofp_entry_pull(struct bytes *b, const struct ofp_field **ret_field, union ofp_value *ret_value,
                              union ofp_value *ret_mask)
{
    struct bytes rest = *b;
    const struct ofp_field *field;
    size_t length;
    bool has_mask;

    enum ofp_error error = ofp_header_pull(&rest, &field, &has_mask, &length);
    if (error) {
        return error;
    }
    const uint8_t *p = bytes_pull(&rest, length);
    if (!p) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    if (field) {
        memcpy(ret_value->b, p, field->n_bytes);
        if (has_mask) {
            memcpy(ret_mask->b, p + field->n_bytes, field->n_bytes);
        } else {
            memset(ret_mask->b, 0xff, field->n_bytes);
        }
    }
    *ret_field = field;
    *b = rest;
    return OFPERR_NONE;
}

void ofp_header_put(struct buf *b, const struct ofp_field *field, enum ofp_version version, bool has_mask)
{
    const struct ofp_header *h = ofp_field_header(field, version);
    bool experimenter = h->class == OFP_CLASS_EXPERIMENTER;

    buf_put_u16(b, h->class);
    buf_put_u8(b, h->number << 1 | has_mask);
    buf_put_u8(b, field->n_bytes * (has_mask ? 2 : 1) + (experimenter ? 4 : 0));
    if (experimenter) {
        buf_put_u32(b, h->experimenter);
    }
}

void ofp_entry_put(struct buf *b, const struct ofp_field *field, enum ofp_version version, const union ofp_value *value,
                   const union ofp_value *mask)
{
    ofp_header_put(b, field, version, mask != NULL);
    buf_put(b, value->b, field->n_bytes);
    if (mask) {
        buf_put(b, mask->b, field->n_bytes);
    }
}
