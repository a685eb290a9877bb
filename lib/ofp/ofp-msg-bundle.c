/* Bundles: BUNDLE_CTRL and BUNDLE_ADD of 1.4, and ONF's of 1.3.  See ofp-msg-packet.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-packet.h"

#define KNOWN_FLAGS       (OFPBF_ATOMIC | OFPBF_ORDERED)
#define FLAG_TIME         (1 << 2) /* 1.5: a time for the commit. */
#define PROP_TIME         1
#define PROP_EXPERIMENTER 0xffff

/* Says what is wrong with the properties of a bundle's message: we know of none. */
static enum ofp_error check_properties(struct ofp_cursor *c)
{
    while (c->len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(c, &type, &content);

        if (error) {
            return error;
        }
        return type == PROP_EXPERIMENTER ? OFPERR_OFPBPC_BAD_EXPERIMENTER
               : type == PROP_TIME       ? OFPERR_OFPBFC_SCHED_NOT_SUPPORTED
                                         : OFPERR_OFPBPC_BAD_TYPE;
    }
    return 0;
}

static enum ofp_error check_flags(enum ofp_version version, uint16_t flags)
{
    if (version >= OFP15_VERSION && flags & FLAG_TIME) {
        return OFPERR_OFPBFC_SCHED_NOT_SUPPORTED;
    }
    return flags & ~KNOWN_FLAGS ? OFPERR_OFPBFC_BAD_FLAGS : 0;
}

enum ofp_error ofp_decode_bundle_ctrl(const struct ofp_msg *msg, struct ofp_bundle_ctrl *ret_ctrl)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint32_t bundle_id = ofp_get_u32(&c);
    uint16_t type = ofp_get_u16(&c);
    struct ofp_bundle_ctrl ctrl = { bundle_id, type, ofp_get_u16(&c) };

    if (type > OFPBCT_DISCARD_REPLY || type % 2) {
        return OFPERR_OFPBFC_BAD_TYPE;
    }
    enum ofp_error error = check_flags(msg->version, ctrl.flags);
    if (!error) {
        error = check_properties(&c);
    }
    if (!error) {
        *ret_ctrl = ctrl;
    }
    return error;
}

void ofp_put_bundle_reply(struct buf *b, const struct ofp_msg *request, const struct ofp_bundle_ctrl *ctrl)
{
    size_t start = ofp_msg_begin(b, OFPMSG_BUNDLE_CTRL, request->version, request->xid);

    buf_put_u32(b, ctrl->bundle_id);
    buf_put_u16(b, ctrl->type + 1);
    buf_put_u16(b, ctrl->flags);
    ofp_msg_end(b, start);
}

/* May a bundle have it? */
static bool may_be_bundled(enum ofp_msg_id id)
{
    return id == OFPMSG_FLOW_MOD || id == OFPMSG_GROUP_MOD || id == OFPMSG_PORT_MOD || id == OFPMSG_PACKET_OUT;
}

enum ofp_error ofp_decode_bundle_add(const struct ofp_msg *msg, struct ofp_bundle_add *ret_add)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_bundle_add add = { .bundle_id = ofp_get_u32(&c) };

    ofp_skip(&c, 2);
    add.flags = ofp_get_u16(&c);
    struct ofp_cursor header = c;
    uint8_t version = ofp_get_u8(&header);
    ofp_skip(&header, 1);
    uint16_t length = ofp_get_u16(&header);
    be32 xid;
    ofp_get_copy(&header, &xid, sizeof xid);

    const uint8_t *inner = ofp_get_bytes(&c, length);
    if (header.bad || length < OFP_HEADER_LEN || c.bad) {
        return OFPERR_OFPBFC_MSG_BAD_LEN;
    } else if (version != msg->version) {
        return OFPERR_OFPBFC_BAD_VERSION;
    } else if (xid != msg->xid) {
        return OFPERR_OFPBFC_MSG_BAD_XID;
    }
    if (c.len) { /* Properties follow: then the message is padded. */
        ofp_skip(&c, ROUND_UP(length, 8) - length);
        if (c.bad) {
            return OFPERR_OFPBFC_MSG_BAD_LEN;
        }
    }
    enum ofp_error error = check_flags(msg->version, add.flags);
    if (!error) {
        error = check_properties(&c);
    }
    if (!error) {
        error = ofp_msg_recognize(inner, length, &add.msg);
    }
    if (!error && !may_be_bundled(add.msg.id)) {
        error = OFPERR_OFPBFC_MSG_UNSUP;
    }
    if (!error) {
        *ret_add = add;
    }
    return error;
}
