/* Roles, and what is sent unasked.  See ofp-msg-session.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-session.h"

/* Roles as 1.3 and as Nicira number them. */
enum { OFPCR_ROLE_SLAVE = 3, NX_ROLE_SLAVE = 2, NO_SHORT_ID = 0xffff };

#define NXT_SET_ASYNC_CONFIG2 27
#define PROP_EXPERIMENTER     0xfffe /* And 0xffff: for the slave, for the master. */

enum ofp_error ofp_decode_role(const struct ofp_msg *msg, struct ofp_role_msg *ret_role)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint32_t role = ofp_get_u32(&c);

    if (ofp_msg_is_nx(msg)) {
        if (role > NX_ROLE_SLAVE) {
            return OFPERR_OFPRRFC_BAD_ROLE;
        }
        *ret_role = (struct ofp_role_msg){ role + OFP_ROLE_EQUAL, false, 0 };
        return 0;
    }
    ofp_skip(&c, 4);
    uint64_t generation = ofp_get_u64(&c);
    if (role > OFPCR_ROLE_SLAVE) {
        return OFPERR_OFPRRFC_BAD_ROLE;
    }
    *ret_role = (struct ofp_role_msg){ role, role == OFP_ROLE_MASTER || role == OFP_ROLE_SLAVE, generation };
    return 0;
}

/* Without a generation id, all ones are sent. */
static void put_generation(struct buf *b, const struct ofp_role_msg *role)
{
    buf_put_u64(b, role->have_generation ? role->generation : UINT64_MAX);
}

void ofp_put_role_reply(struct buf *b, const struct ofp_msg *request, const struct ofp_role_msg *role)
{
    size_t start = ofp_msg_begin_form(b, OFPMSG_ROLE_REPLY, request->version, request->xid, request->form->class, 0);

    if (ofp_msg_is_nx(request)) {
        buf_put_u32(b, role->role - OFP_ROLE_EQUAL);
    } else {
        buf_put_u32(b, role->role);
        buf_put_u16(b, request->version >= OFP15_VERSION ? NO_SHORT_ID : 0);
        buf_put_u16(b, 0);
        put_generation(b, role);
    }
    ofp_msg_end(b, start);
}

void ofp_put_role_status(struct buf *b, enum ofp_version version, const struct ofp_role_msg *role,
                         enum ofp_role_reason reason)
{
    if (version < OFP13_VERSION) {
        return;
    }
    size_t start = ofp_msg_begin(b, OFPMSG_ROLE_STATUS, version, 0);
    buf_put_u32(b, role->role);
    buf_put_u8(b, reason);
    buf_put_zeros(b, 3);
    put_generation(b, role);
    ofp_msg_end(b, start);
}

/* The reasons that VERSION has; a bit each. */
static uint32_t async_reasons(enum ofp_async_kind kind, enum ofp_version version)
{
    switch (kind) {
    case OFP_ASYNC_PACKET_IN:
        return version >= OFP14_VERSION ? 0x3f : 0x07;
    case OFP_ASYNC_PORT_STATUS:
        return 0x07;
    case OFP_ASYNC_FLOW_REMOVED:
        return version >= OFP14_VERSION ? 0x3f : 0x0f;
    case OFP_ASYNC_ROLE_STATUS:
        return version >= OFP14_VERSION ? 0x07 : 0;
    case OFP_ASYNC_TABLE_STATUS:
        return version >= OFP14_VERSION ? 0x18 : 0; /* 3: vacancy goes down, 4: goes up. */
    case OFP_ASYNC_REQUESTFORWARD:
        return version >= OFP14_VERSION ? 0x03 : 0;
    case OFP_N_ASYNC:
        break;
    }
    return 0;
}

/* The fixed form: a pair of masks for each of the first three kinds.  Unknown reasons in it are ignored, for it has
 * always been set to all ones by those who want everything. */
static void get_async_pairs(struct ofp_cursor *c, struct ofp_async *async)
{
    for (enum ofp_async_kind kind = 0; kind <= OFP_ASYNC_FLOW_REMOVED; kind++) {
        uint32_t known = async_reasons(kind, OFP14_VERSION);
        async->master[kind] = ofp_get_u32(c) & known;
        async->slave[kind] = ofp_get_u32(c) & known;
    }
}

/* The list of properties.  A property number is twice the kind, plus one for the master. */
static enum ofp_error get_async_properties(struct ofp_cursor *c, struct ofp_async *async)
{
    while (c->len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(c, &type, &content);

        if (error) {
            return error;
        } else if (type >= PROP_EXPERIMENTER) {
            return OFPERR_OFPBPC_BAD_EXPERIMENTER;
        } else if (type >= 2 * OFP_N_ASYNC) {
            return OFPERR_OFPBPC_BAD_TYPE;
        } else if (content.len != 4) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        uint32_t mask = ofp_get_u32(&content);
        if (mask & ~async_reasons(type / 2, OFP14_VERSION)) {
            return OFPERR_OFPACFC_UNSUPPORTED;
        }
        (type & 1 ? async->master : async->slave)[type / 2] = mask;
    }
    return 0;
}

enum ofp_error ofp_decode_set_async(const struct ofp_msg *msg, struct ofp_async *async)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_async a = *async;

    if (ofp_msg_is_nx(msg) ? msg->form->type == NXT_SET_ASYNC_CONFIG2 : msg->version >= OFP14_VERSION) {
        enum ofp_error error = get_async_properties(&c, &a);
        if (error) {
            return error;
        }
    } else {
        get_async_pairs(&c, &a);
    }
    *async = a;
    return 0;
}

void ofp_put_async_reply(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_async *async)
{
    size_t start = ofp_msg_begin(b, OFPMSG_GET_ASYNC_REPLY, version, xid);

    for (enum ofp_async_kind kind = 0; kind < OFP_N_ASYNC; kind++) {
        uint32_t known = async_reasons(kind, version);
        if (version < OFP14_VERSION && kind <= OFP_ASYNC_FLOW_REMOVED) {
            buf_put_u32(b, async->master[kind] & known);
            buf_put_u32(b, async->slave[kind] & known);
        } else if (version >= OFP14_VERSION) {
            for (unsigned int master = 0; master < 2; master++) {
                size_t prop = ofp_begin_property(b, 2 * kind + master);
                buf_put_u32(b, (master ? async->master : async->slave)[kind] & known);
                ofp_end_property(b, prop);
            }
        }
    }
    ofp_msg_end(b, start);
}
