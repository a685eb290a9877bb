/* HELLO, ERROR, FEATURES, configuration, Nicira's settings of a connection, DESC.  See ofp-msg-session.h. */
#include <config.h>

#include "lib/ofp/ofp-msg-session.h"

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-port.h"

#define HELLO_VERSION_BITMAP 1
#define ERROR_DATA_MAX       64 /* At least so much of a bad request is sent back, says the specification. */
#define VENDOR_ERROR10       0xb0c2
#define VENDOR_ERROR         0xffff

static enum ofp_error get_hello_element(struct ofp_cursor *c, uint32_t *bitmap)
{
    uint16_t type = ofp_get_u16(c), len = ofp_get_u16(c);

    if (c->bad || len < 4) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    struct ofp_cursor content = ofp_cursor(ofp_get_bytes(c, len - 4), len - 4);
    ofp_skip(c, ROUND_UP(len, 8) - len);
    if (c->bad || (type == HELLO_VERSION_BITMAP && (len == 4 || len % 4))) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    if (type == HELLO_VERSION_BITMAP) {
        *bitmap = ofp_get_u32(&content); /* Later words are of versions above 31. */
    }
    return 0;
}

enum ofp_error ofp_decode_hello(const struct ofp_msg *msg, uint32_t *ret_versions)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint32_t bitmap = 0;

    while (c.len) {
        enum ofp_error error = get_hello_element(&c, &bitmap);
        if (error) {
            return error;
        }
    }
    *ret_versions = bitmap ? bitmap : (uint32_t) ((UINT64_C(2) << MIN(msg->version, 31)) - 2);
    return 0;
}

void ofp_put_hello(struct buf *b, uint32_t versions, be32 xid)
{
    enum ofp_version highest = 31 - __builtin_clz(versions);
    size_t start = ofp_msg_begin(b, OFPMSG_HELLO, highest, xid);

    if (highest >= OFP13_VERSION) {
        buf_put_u16(b, HELLO_VERSION_BITMAP);
        buf_put_u16(b, 8);
        buf_put_u32(b, versions);
    }
    ofp_msg_end(b, start);
}

enum ofp_error ofp_decode_error(const struct ofp_msg *msg, struct ofp_error_msg *ret_error)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_error_msg e = { 0, ofp_get_u16(&c), ofp_get_u16(&c), { NULL, 0 } };

    if (msg->version == OFP10_VERSION && e.type == VENDOR_ERROR10) {
        e.vendor = ofp_get_u32(&c);
        e.type = ofp_get_u16(&c);
        e.code = ofp_get_u16(&c);
    } else if (msg->version != OFP10_VERSION && e.type == VENDOR_ERROR) {
        e.vendor = ofp_get_u32(&c);
        e.type = e.code;
        e.code = 0;
    }
    if (c.bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    e.data = (struct bytes){ c.data, c.len };
    *ret_error = e;
    return 0;
}

static void put_error(struct buf *b, enum ofp_error error, enum ofp_version version, be32 xid, const void *data,
                      size_t len)
{
    uint16_t type, code;
    uint32_t vendor = ofp_error_type_code(error, version, &type, &code);
    size_t start = ofp_msg_begin(b, OFPMSG_ERROR, version, xid);

    if (vendor && version == OFP10_VERSION) {
        buf_put_u16(b, VENDOR_ERROR10);
        buf_put_u16(b, 0);
        buf_put_u32(b, vendor);
    } else if (vendor) {
        buf_put_u16(b, VENDOR_ERROR);
        buf_put_u16(b, type);
        buf_put_u32(b, vendor);
    }
    if (!vendor || version == OFP10_VERSION) {
        buf_put_u16(b, type);
        buf_put_u16(b, code);
    }
    buf_put(b, data, len);
    ofp_msg_end(b, start);
}

void ofp_put_error(struct buf *b, enum ofp_error error, enum ofp_version version, const void *request, size_t len)
{
    be32 xid;

    memcpy(&xid, (const uint8_t *) request + 4, sizeof xid);
    put_error(b, error, version, xid, request, MIN(len, ERROR_DATA_MAX));
}

void ofp_put_hello_error(struct buf *b, enum ofp_error error, enum ofp_version version, be32 xid, const char *text)
{
    put_error(b, error, version, xid, text, strlen(text));
}

void ofp_put_simple(struct buf *b, enum ofp_msg_id id, enum ofp_version version, be32 xid, const void *body, size_t len)
{
    size_t start = ofp_msg_begin(b, id, version, xid);

    buf_put(b, body, len);
    ofp_msg_end(b, start);
}

void ofp_put_features(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_features *features,
                      const struct ofp_port *ports, size_t n_ports)
{
    static const uint32_t since13 = OFPC_PORT_BLOCKED, since14 = OFPC_BUNDLES | OFPC_FLOW_MONITORING;
    uint32_t hidden = version == OFP10_VERSION   ? since13 | since14
                      : version == OFP13_VERSION ? OFPC_ARP_MATCH_IP | since14
                                                 : OFPC_ARP_MATCH_IP;
    size_t start = ofp_msg_begin(b, OFPMSG_FEATURES_REPLY, version, xid);

    buf_put_u64(b, features->datapath_id);
    buf_put_u32(b, features->n_buffers);
    buf_put_u8(b, features->n_tables);
    buf_put_u8(b, version == OFP10_VERSION ? 0 : features->auxiliary_id);
    buf_put_zeros(b, 2);
    buf_put_u32(b, features->capabilities & ~hidden);
    buf_put_u32(b, version == OFP10_VERSION ? features->actions : 0);
    for (size_t i = 0; version == OFP10_VERSION && i < n_ports; i++) {
        size_t end = b->len;
        ofp_put_port_desc(b, version, &ports[i]);
        if (b->len - start > OFP_MSG_MAX_LEN) {
            buf_truncate(b, end);
            break;
        }
    }
    ofp_msg_end(b, start);
}

enum ofp_error ofp_decode_set_config(const struct ofp_msg *msg, struct ofp_config *ret_config)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_config config = { ofp_get_u16(&c), ofp_get_u16(&c) };
    uint16_t known = OFPC_FRAG_MASK | (msg->version == OFP10_VERSION ? OFPC_INVALID_TTL_TO_CONTROLLER : 0);

    if (config.flags & ~known) {
        return OFPERR_OFPSCFC_BAD_FLAGS;
    }
    *ret_config = config;
    return 0;
}

void ofp_put_config(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_config *config)
{
    size_t start = ofp_msg_begin(b, OFPMSG_GET_CONFIG_REPLY, version, xid);

    buf_put_u16(b, version == OFP10_VERSION ? config->flags : config->flags & OFPC_FRAG_MASK);
    buf_put_u16(b, config->miss_send_len);
    ofp_msg_end(b, start);
}

enum ofp_error ofp_decode_set_flow_format(const struct ofp_msg *msg, enum ofp_flow_format *ret_format)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint32_t format = ofp_get_u32(&c);

    if (format != OFP_FLOW_FORMAT_OPENFLOW10 && format != OFP_FLOW_FORMAT_NXM) {
        return OFPERR_OFPBRC_EPERM; /* As the referee says it. */
    }
    *ret_format = format;
    return 0;
}

enum ofp_error ofp_decode_set_packet_in_format(const struct ofp_msg *msg, enum ofp_packet_in_format *ret_format)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint32_t format = ofp_get_u32(&c);

    if (format > OFP_PACKET_IN_NXT2) {
        return OFPERR_OFPBRC_EPERM;
    }
    *ret_format = format;
    return 0;
}

enum ofp_error ofp_decode_flow_mod_table_id(const struct ofp_msg *msg, bool *ret_enable)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint8_t set = ofp_get_u8(&c);

    if (!ofp_get_zeros(&c, 7)) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    *ret_enable = set;
    return 0;
}

static enum ofp_error get_zeros_u16(const struct ofp_msg *msg, uint16_t *ret_v)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    if (!ofp_get_zeros(&c, 6)) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    *ret_v = ofp_get_u16(&c);
    return 0;
}

enum ofp_error ofp_decode_set_controller_id(const struct ofp_msg *msg, uint16_t *ret_id)
{
    return get_zeros_u16(msg, ret_id);
}

enum ofp_error ofp_decode_ct_flush_zone(const struct ofp_msg *msg, uint16_t *ret_zone)
{
    return get_zeros_u16(msg, ret_zone);
}

void ofp_put_desc(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_desc *desc)
{
    size_t start = ofp_msg_begin(b, OFPMSG_DESC_REPLY, version, xid);

    buf_put_text(b, desc->mfr, 256);
    buf_put_text(b, desc->hw, 256);
    buf_put_text(b, desc->sw, 256);
    buf_put_text(b, desc->serial, 32);
    buf_put_text(b, desc->dp, 256);
    ofp_msg_end(b, start);
}
