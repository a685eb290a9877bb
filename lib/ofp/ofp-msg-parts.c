/* Parts that many messages have: matches as they are on the wire, properties, port numbers.  See ofp-msg.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg.h"

#define OFP10_MATCH_LEN 40
#define OXM_MATCH_TYPE  1 /* OFPMT_OXM. */
#define OXM_HEADER_LEN  4

enum ofp_error ofp_get_match_oxm(struct ofp_cursor *c, struct ofp_match_ref *ret_match)
{
    uint16_t type = ofp_get_u16(c), len = ofp_get_u16(c);

    if (c->bad || len < OXM_HEADER_LEN) {
        return OFPERR_OFPBMC_BAD_LEN;
    } else if (type != OXM_MATCH_TYPE) {
        return OFPERR_OFPBMC_BAD_TYPE;
    }
    const uint8_t *fields = ofp_get_bytes(c, len - OXM_HEADER_LEN);
    ofp_skip(c, ROUND_UP(len, 8) - len);
    if (c->bad) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    *ret_match = (struct ofp_match_ref){ OFP_MATCH_OXM, { fields, len - OXM_HEADER_LEN } };
    return 0;
}

enum ofp_error ofp_get_match_nxm(struct ofp_cursor *c, size_t len, struct ofp_match_ref *ret_match)
{
    const uint8_t *fields = ofp_get_bytes(c, len);

    ofp_skip(c, ROUND_UP(len, 8) - len);
    if (c->bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    *ret_match = (struct ofp_match_ref){ OFP_MATCH_NXM, { fields, len } };
    return 0;
}

struct ofp_match_ref ofp_get_match10(struct ofp_cursor *c)
{
    return (struct ofp_match_ref){ OFP_MATCH_OFP10, { ofp_get_bytes(c, OFP10_MATCH_LEN), OFP10_MATCH_LEN } };
}

void ofp_put_match(struct buf *b, const struct ofp_match_ref *match)
{
    size_t start = b->len;

    switch (match->form) {
    case OFP_MATCH_OXM:
        buf_put_u16(b, OXM_MATCH_TYPE);
        buf_put_u16(b, OXM_HEADER_LEN + match->bytes.n);
        break;
    case OFP_MATCH_NXM:
    case OFP_MATCH_OFP10:
        break;
    }
    buf_put(b, match->bytes.p, match->bytes.n);
    buf_pad8(b, start);
}

enum ofp_error ofp_get_property(struct ofp_cursor *c, uint16_t *ret_type, struct ofp_cursor *ret_content)
{
    uint16_t type = ofp_get_u16(c), len = ofp_get_u16(c);

    if (c->bad || len < 4) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    const uint8_t *content = ofp_get_bytes(c, len - 4);
    ofp_skip(c, ROUND_UP(len, 8) - len);
    if (c->bad) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    *ret_type = type;
    *ret_content = ofp_cursor(content, len - 4);
    return 0;
}

size_t ofp_begin_property(struct buf *b, uint16_t type)
{
    buf_put_u16(b, type);
    buf_put_u16(b, 0);
    return b->len - 4;
}

void ofp_end_property(struct buf *b, size_t start)
{
    buf_patch_u16(b, start + 2, b->len - start);
    buf_pad8(b, start);
}

enum ofp_error ofp_port_from_u32(uint32_t wire, ofp_port_t *ret_port)
{
    if (wire >= OFPP_MAX && wire < (OFPP_MAX | 0xffff0000u)) {
        return OFPERR_OFPBAC_BAD_OUT_PORT;
    }
    *ret_port = (ofp_port_t){ (uint16_t) wire };
    return 0;
}

enum ofp_error ofp_get_port(struct ofp_cursor *c, enum ofp_version version, ofp_port_t *ret_port)
{
    if (version == OFP10_VERSION) {
        *ret_port = (ofp_port_t){ ofp_get_u16(c) };
        return 0;
    }
    return ofp_port_from_u32(ofp_get_u32(c), ret_port);
}

void ofp_put_port(struct buf *b, enum ofp_version version, ofp_port_t port)
{
    if (version == OFP10_VERSION) {
        buf_put_u16(b, port.n);
    } else {
        buf_put_u32(b, ofp_port_to_u32(port));
    }
}
