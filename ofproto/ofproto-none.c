/* Requests about what a bridge does not have yet: groups, fields from tunnel options.  Who asks is told that there are none, as
 * programs do that save and restore a bridge (ovs-ctl restart); who wants to make one gets an error. */
#include <config.h>

#include "lib/base/compiler.h"
#include "ofproto/ofproto-private.h"

/* Answers with the reply ID, whose body is N zeros: no entries, or capabilities that are none. */
static enum ofp_error reply_nothing(struct ofconn *c, const struct ofp_msg *msg, enum ofp_msg_id id, size_t n)
{
    struct ofp_reply r;

    ofp_reply_begin(&r, msg, id);
    if (n) {
        buf_put_zeros(&r.buf, n);
        ofp_reply_commit(&r);
    }
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}

enum ofp_error handle_group_stats(struct ofconn *c, const struct ofp_msg *msg) { return reply_nothing(c, msg, OFPMSG_GROUP_STATS_REPLY, 0); }

enum ofp_error handle_group_desc(struct ofconn *c, const struct ofp_msg *msg) { return reply_nothing(c, msg, OFPMSG_GROUP_DESC_REPLY, 0); }

enum ofp_error handle_group_features(struct ofconn *c, const struct ofp_msg *msg)
{
    return reply_nothing(c, msg, OFPMSG_GROUP_FEATURES_REPLY, 40);
}

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
