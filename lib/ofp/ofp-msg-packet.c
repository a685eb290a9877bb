/* PACKET_IN, PACKET_OUT, RESUME.  See ofp-msg-packet.h. */
#include <config.h>

#include "lib/ofp/ofp-msg-packet.h"

#include "lib/base/compiler.h"

#define OFPP_CONTROLLER ((ofp_port_t){ 0xfffd })

/* Reasons, as far as a version decides. */
enum { REASON_ACTION = 1, REASON_INVALID_TTL = 2, REASON_LAST = 5 };

/* Nicira's NXT_PACKET_IN, and the properties of NXT_PACKET_IN2. */
#define NXT_PACKET_IN  17
#define NXT_PACKET_IN2 30
enum nxpint {
    NXPINT_PACKET,
    NXPINT_FULL_LEN,
    NXPINT_BUFFER_ID,
    NXPINT_TABLE_ID,
    NXPINT_COOKIE,
    NXPINT_REASON,
    NXPINT_METADATA,
    NXPINT_USERDATA,
    NXPINT_CONTINUATION,
};

enum ofp_match_form ofp_packet_in_match_form(enum ofp_version version, enum ofp_packet_in_format format)
{
    return format == OFP_PACKET_IN_STANDARD && version >= OFP13_VERSION ? OFP_MATCH_OXM : OFP_MATCH_NXM;
}

static uint8_t reason_in(enum ofp_version version, uint8_t reason)
{
    return reason > REASON_INVALID_TTL && version < OFP14_VERSION ? REASON_ACTION : reason;
}

static void put_packet_in10(struct buf *b, const struct ofp_packet_in *pin)
{
    buf_put_u32(b, pin->buffer_id);
    buf_put_u16(b, MIN(pin->total_len, UINT16_MAX));
    buf_put_u16(b, pin->in_port.n);
    buf_put_u8(b, reason_in(OFP10_VERSION, pin->reason));
    buf_put_zeros(b, 1);
    buf_put(b, pin->packet.p, pin->packet.n);
}

/* Nicira's form and 1.3's differ in how the match says its length. */
static void put_packet_in13(struct buf *b, enum ofp_version version, bool nx, const struct ofp_packet_in *pin)
{
    buf_put_u32(b, pin->buffer_id);
    buf_put_u16(b, MIN(pin->total_len, UINT16_MAX));
    buf_put_u8(b, reason_in(version, pin->reason));
    buf_put_u8(b, pin->table_id);
    buf_put_u64(b, pin->cookie);
    if (nx) {
        buf_put_u16(b, pin->fields.bytes.n);
        buf_put_zeros(b, 6);
    }
    ofp_put_match(b, &pin->fields);
    buf_put_zeros(b, 2); /* Aligns the packet's IP header. */
    buf_put(b, pin->packet.p, pin->packet.n);
}

static void put_bytes_property(struct buf *b, enum nxpint type, struct bytes bytes)
{
    size_t prop = ofp_begin_property(b, type);

    buf_put(b, bytes.p, bytes.n);
    ofp_end_property(b, prop);
}

static void put_u8_property(struct buf *b, enum nxpint type, uint8_t v)
{
    size_t prop = ofp_begin_property(b, type);

    buf_put_u8(b, v);
    ofp_end_property(b, prop);
}

static void put_u32_property(struct buf *b, enum nxpint type, uint32_t v)
{
    size_t prop = ofp_begin_property(b, type);

    buf_put_u32(b, v);
    ofp_end_property(b, prop);
}

static void put_packet_in_nx2(struct buf *b, enum ofp_version version, const struct ofp_packet_in *pin)
{
    put_bytes_property(b, NXPINT_PACKET, pin->packet);
    if (pin->packet.n != pin->total_len) {
        put_u32_property(b, NXPINT_FULL_LEN, pin->total_len);
    }
    if (pin->buffer_id != OFP_NO_BUFFER) {
        put_u32_property(b, NXPINT_BUFFER_ID, pin->buffer_id);
    }
    put_u8_property(b, NXPINT_TABLE_ID, pin->table_id);
    if (pin->cookie != UINT64_MAX) {
        size_t prop = ofp_begin_property(b, NXPINT_COOKIE);
        buf_put_zeros(b, 4);
        buf_put_u64(b, pin->cookie);
        ofp_end_property(b, prop);
    }
    put_u8_property(b, NXPINT_REASON, reason_in(version, pin->reason));
    put_bytes_property(b, NXPINT_METADATA, pin->fields.bytes);
    if (pin->userdata.p) {
        put_bytes_property(b, NXPINT_USERDATA, pin->userdata);
    }
    if (pin->continuation.p) {
        put_bytes_property(b, NXPINT_CONTINUATION, pin->continuation);
    }
}

int ofp_put_packet_in(struct buf *b, enum ofp_version version, enum ofp_packet_in_format format,
                      const struct ofp_packet_in *pin)
{
    bool standard = format == OFP_PACKET_IN_STANDARD;
    size_t start = ofp_msg_begin_form(b, OFPMSG_PACKET_IN, version, 0, standard ? OFP_MSGCLASS_OFPT : OFP_MSGCLASS_NXT,
                                      standard                      ? 0
                                      : format == OFP_PACKET_IN_NXT ? NXT_PACKET_IN
                                                                    : NXT_PACKET_IN2);

    switch (format) {
    case OFP_PACKET_IN_STANDARD:
        if (version == OFP10_VERSION) {
            put_packet_in10(b, pin);
            break;
        } /* Fall through. */
    case OFP_PACKET_IN_NXT:
        put_packet_in13(b, version, !standard, pin);
        break;
    case OFP_PACKET_IN_NXT2:
        put_packet_in_nx2(b, version, pin);
        break;
    }
    return ofp_msg_end(b, start);
}

/* One property of a NXT2 packet-in; CONTENT has no padding of its own, but a cookie's. */
static enum ofp_error get_nx2_property(enum nxpint type, struct ofp_cursor content, struct ofp_packet_in *pin)
{
    struct bytes all = { content.data, content.len };

    switch (type) {
    case NXPINT_PACKET:
        pin->packet = all;
        break;
    case NXPINT_FULL_LEN:
        pin->total_len = ofp_get_u32(&content);
        break;
    case NXPINT_BUFFER_ID:
        pin->buffer_id = ofp_get_u32(&content);
        break;
    case NXPINT_TABLE_ID:
        pin->table_id = ofp_get_u8(&content);
        break;
    case NXPINT_COOKIE:
        ofp_skip(&content, 4);
        pin->cookie = ofp_get_u64(&content);
        break;
    case NXPINT_REASON:
        pin->reason = ofp_get_u8(&content);
        if (pin->reason > REASON_LAST) {
            return OFPERR_NXBRC_BAD_REASON;
        }
        break;
    case NXPINT_METADATA:
        pin->fields = (struct ofp_match_ref){ OFP_MATCH_NXM, all };
        break;
    case NXPINT_USERDATA:
        pin->userdata = all;
        break;
    case NXPINT_CONTINUATION:
        pin->continuation = all;
        break;
    }
    bool is_bytes =
        type == NXPINT_PACKET || type == NXPINT_METADATA || type == NXPINT_USERDATA || type == NXPINT_CONTINUATION;
    return content.bad || (!is_bytes && content.len) ? OFPERR_OFPBPC_BAD_LEN : 0;
}

enum ofp_error ofp_decode_resume(const struct ofp_msg *msg, struct ofp_packet_in *ret_pin)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_packet_in pin = {
        .buffer_id = OFP_NO_BUFFER,
        .cookie = UINT64_MAX,
        .in_port = OFPP_NONE,
        .fields.form = OFP_MATCH_NXM,
    };

    while (c.len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(&c, &type, &content);

        if (!error) {
            error = type > NXPINT_CONTINUATION ? OFPERR_OFPBPC_BAD_TYPE : get_nx2_property(type, content, &pin);
        }
        if (error) {
            return error;
        }
    }
    if (!pin.packet.n) {
        return OFPERR_OFPBPC_BAD_LEN;
    } else if (pin.total_len < pin.packet.n) {
        pin.total_len = pin.packet.n;
    }
    *ret_pin = pin;
    return 0;
}

/* Packet-out. */

bool ofp_packet_out_port_ok(ofp_port_t port)
{
    return port.n < OFPP_MAX || ofp_port_eq(port, OFPP_LOCAL) || ofp_port_eq(port, OFPP_NONE) ||
           ofp_port_eq(port, OFPP_CONTROLLER);
}

enum ofp_error ofp_decode_packet_out(const struct ofp_msg *msg, struct ofp_packet_out *ret_out)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_packet_out out = { .buffer_id = ofp_get_u32(&c), .in_port = OFPP_NONE };
    size_t actions_len;

    if (msg->version >= OFP15_VERSION) {
        actions_len = ofp_get_u16(&c);
        ofp_skip(&c, 2);
        enum ofp_error error = ofp_get_match_oxm(&c, &out.match);
        if (error) {
            return error;
        }
    } else {
        if (ofp_get_port(&c, msg->version, &out.in_port) || !ofp_packet_out_port_ok(out.in_port)) {
            return OFPERR_OFPBRC_BAD_PORT;
        }
        actions_len = ofp_get_u16(&c);
        ofp_skip(&c, msg->version == OFP10_VERSION ? 0 : 6);
    }
    out.actions = (struct bytes){ ofp_get_bytes(&c, actions_len), actions_len };
    if (c.bad || actions_len % 8) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    out.packet = (struct bytes){ c.data, c.len };
    *ret_out = out;
    return 0;
}
