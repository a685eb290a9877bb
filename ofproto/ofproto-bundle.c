/* Bundles: flow-mods and group-mods that are checked one by one when they come, and done all at once, or not at all.
 *
 * A bundle belongs to the connection that opened it.  It keeps the messages as they came, not what they become, which is many times as
 * much, and decodes them again at the commit; and what all clients of a bridge have in bundles is bounded. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "ofproto/ofproto-private.h"

#define MAX_BUNDLES 16
/* More than a million small flow-mods. */
#define MAX_BYTES ((size_t) 256 * 1024 * 1024)

struct ofbundle {
    struct ofbundle *next;
    uint32_t id;
    uint16_t flags;
    bool closed;
    struct buf msgs; /* Whole messages, back to back. */
};

static void bundle_destroy(struct ofconn *c, struct ofbundle *b)
{
    c->ofproto->bundle_bytes -= b->msgs.size;
    buf_uninit(&b->msgs);
    free(b);
}

void ofbundle_destroy_all(struct ofconn *c)
{
    while (c->bundles) {
        struct ofbundle *b = c->bundles;
        c->bundles = b->next;
        bundle_destroy(c, b);
    }
}

static struct ofbundle **find(struct ofconn *c, uint32_t id)
{
    struct ofbundle **b = &c->bundles;

    while (*b && (*b)->id != id) {
        b = &(*b)->next;
    }
    return b;
}

static void discard(struct ofconn *c, struct ofbundle **where)
{
    struct ofbundle *b = *where;

    *where = b->next;
    bundle_destroy(c, b);
}

static enum ofp_error open_bundle(struct ofconn *c, const struct ofp_bundle_ctrl *ctrl)
{
    unsigned int n = 0;

    for (struct ofbundle *b = c->bundles; b; b = b->next) {
        n++;
    }
    struct ofbundle **old = find(c, ctrl->bundle_id);
    if (*old) {
        discard(c, old); /* As the standard has it: opening it twice ends both. */
        return OFPERR_OFPBFC_BAD_ID;
    }
    if (n >= MAX_BUNDLES) {
        return OFPERR_OFPBFC_OUT_OF_BUNDLES;
    }
    struct ofbundle *b = xzalloc(sizeof *b);
    b->id = ctrl->bundle_id;
    b->flags = ctrl->flags;
    b->next = c->bundles;
    c->bundles = b;
    return OFPERR_NONE;
}

static enum ofp_error apply_group_mod(const struct ofp_msg *msg, struct tables_txn *x, struct groups_txn *gx, uint64_t now)
{
    struct ofp_group_mod mod;
    enum ofp_error error = ofp_decode_group_mod(msg, &mod);

    return error ? error : group_mod_apply(msg, &mod, x, gx, now);
}

/* Makes the changes of the message at *POS part of X and GX, and steps over it. */
static enum ofp_error apply(struct ofconn *c, struct ofbundle *b, size_t *pos, struct tables_txn *x, struct groups_txn *gx, uint64_t now)
{
    const uint8_t *data = b->msgs.data + *pos;
    size_t len = get_u16(data + 2);
    struct buf acts = BUF_INITIALIZER;
    struct ofp_msg msg;
    struct flow_mod fm;

    /* It has been decoded before. */
    enum ofp_error error = ofp_msg_recognize(data, len, &msg);
    *pos += len;
    if (!error && msg.id == OFPMSG_GROUP_MOD) {
        return apply_group_mod(&msg, x, gx, now);
    }
    error = error ? error : flow_mod_decode(c, &msg, &acts, &fm);
    error = error ? error : ofproto_groups_check(c->ofproto, gx, fm.spec.acts, fm.spec.acts_len);
    error = error ? error : flow_mod_apply(x, &fm, now);
    buf_uninit(&acts);
    return error;
}

static enum ofp_error commit(struct ofconn *c, struct ofbundle *b)
{
    struct ofproto *o = c->ofproto;
    uint64_t now = clock_msec();
    struct groups_txn gx;
    struct tables_txn x;

    tables_begin(o->tables, &x);
    groups_begin(tables_groups(o->tables), &gx);
    for (size_t pos = 0; pos < b->msgs.len;) {
        size_t start = pos;
        enum ofp_error error = apply(c, b, &pos, &x, &gx, now);
        if (error) {
            groups_rollback(&gx);
            tables_rollback(&x);
            tables_end(&x);
            ofconn_error(c, error, b->msgs.data + start, pos - start);
            return OFPERR_OFPBFC_MSG_FAILED;
        }
    }
    if (b->msgs.len) { /* Flow monitors tell their own client of the first. */
        memcpy(&o->served_xid, b->msgs.data + 4, sizeof o->served_xid);
    }
    ofproto_commit(o, &x, &gx);
    return OFPERR_NONE;
}

static enum ofp_error control(struct ofconn *c, const struct ofp_bundle_ctrl *ctrl)
{
    if (ctrl->type == OFPBCT_OPEN_REQUEST) {
        return open_bundle(c, ctrl);
    }
    struct ofbundle **where = find(c, ctrl->bundle_id);
    if (!*where) {
        return OFPERR_OFPBFC_BAD_ID;
    }
    if (ctrl->type != OFPBCT_DISCARD_REQUEST && (*where)->flags != ctrl->flags) {
        discard(c, where);
        return OFPERR_OFPBFC_BAD_FLAGS;
    }
    if (ctrl->type == OFPBCT_CLOSE_REQUEST) {
        if ((*where)->closed) {
            discard(c, where);
            return OFPERR_OFPBFC_BUNDLE_CLOSED;
        }
        (*where)->closed = true;
        return OFPERR_NONE;
    }
    enum ofp_error error = ctrl->type == OFPBCT_COMMIT_REQUEST ? commit(c, *where) : OFPERR_NONE;
    discard(c, where);
    return error;
}

enum ofp_error handle_bundle_ctrl(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_bundle_ctrl ctrl;
    enum ofp_error error = ofp_decode_bundle_ctrl(msg, &ctrl);

    error = error ? error : control(c, &ctrl);
    if (!error) {
        struct buf b = BUF_INITIALIZER;
        ofp_put_bundle_reply(&b, msg, &ctrl);
        ofconn_reply(c, &b);
    }
    return error;
}

/* A message for a bundle that is not open opens it. */
static enum ofp_error find_or_open(struct ofconn *c, const struct ofp_bundle_add *add, struct ofbundle **ret)
{
    struct ofbundle **where = find(c, add->bundle_id);
    const struct ofp_bundle_ctrl open = { .bundle_id = add->bundle_id, .flags = add->flags };

    if (!*where) {
        enum ofp_error error = open_bundle(c, &open);
        if (error) {
            return error;
        }
        where = find(c, add->bundle_id);
    }
    if ((*where)->closed || (*where)->flags != add->flags) {
        enum ofp_error error = (*where)->closed ? OFPERR_OFPBFC_BUNDLE_CLOSED : OFPERR_OFPBFC_BAD_FLAGS;
        discard(c, where);
        return error;
    }
    *ret = *where;
    return OFPERR_NONE;
}

enum ofp_error handle_bundle_add(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofproto *o = c->ofproto;
    struct buf acts = BUF_INITIALIZER;
    struct ofp_bundle_add add;
    struct ofbundle *b;
    struct flow_mod fm;
    enum ofp_error error = ofp_decode_bundle_add(msg, &add);

    error = error ? error : find_or_open(c, &add, &b);
    if (error) {
        return error;
    }
    if (add.msg.id != OFPMSG_FLOW_MOD && add.msg.id != OFPMSG_GROUP_MOD) {
        return OFPERR_OFPBFC_MSG_UNSUP;
    }
    if (o->bundle_bytes + add.msg.len > MAX_BYTES) {
        return OFPERR_OFPBFC_MSG_TOO_MANY;
    }
    if (add.msg.id == OFPMSG_GROUP_MOD) {
        struct ofp_group_mod mod;
        error = ofp_decode_group_mod(&add.msg, &mod);
    } else {
        error = flow_mod_decode(c, &add.msg, &acts, &fm);
        buf_uninit(&acts);
    }
    if (!error) {
        o->bundle_bytes -= b->msgs.size;
        buf_put(&b->msgs, add.msg.data, add.msg.len);
        o->bundle_bytes += b->msgs.size;
    }
    return error;
}
