/* Requests about what a bridge does not have yet: fields from tunnel options.  Who asks is told that there are none, as
 * programs do that save and restore a bridge (ovs-ctl restart); who wants to make one gets an error. */
#include <config.h>

#include "lib/base/compiler.h"
#include "ofproto/ofproto-private.h"

/* No space for options, and no fields. */
enum ofp_error handle_tlv_request(struct ofconn *c, const struct ofp_msg *msg)
{
    static const uint8_t none[16];
    struct buf b = BUF_INITIALIZER;

    ofp_put_simple(&b, OFPMSG_TLV_TABLE_REPLY, msg->version, msg->xid, none, sizeof none);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

/* Adding nothing is what restores a table that was empty. */
enum ofp_error handle_tlv_mod(struct ofconn *c UNUSED, const struct ofp_msg *msg)
{
    enum { ADD, DELETE, CLEAR };
    struct ofp_cursor cursor = ofp_msg_cursor(msg);
    uint16_t command = ofp_get_u16(&cursor);

    ofp_skip(&cursor, 6);
    if (command > CLEAR) {
        return OFPERR_NXTTMFC_BAD_COMMAND;
    }
    return command == ADD && cursor.len ? OFPERR_NXTTMFC_TABLE_FULL : OFPERR_NONE;
}
