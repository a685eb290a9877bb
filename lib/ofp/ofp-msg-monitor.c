/* Flow monitors: Nicira's, ONF's in 1.3, and those of 1.4.  See ofp-msg-flow.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-flow.h"

#define KNOWN_FLAGS    0x7f
#define NX_OWN         (1 << 5) /* Nicira's flags are those of 1.4 up to here; OWN: the connection's own changes in full. */
#define NX_ABBREV      3        /* Nicira's events: ADDED 0, DELETED 1, MODIFIED 2, ABBREV. */
#define ABBREV_LEN     8
#define OXM_HEADER_LEN 4

/* Nicira's form, and ONF's in 1.3, which has a longer port number and an OXM match. */
static enum ofp_error get_request_nx(struct ofp_cursor *c, bool onf, struct ofp_monitor_request *request)
{
    request->id = ofp_get_u32(c);
    uint16_t flags = ofp_get_u16(c);
    size_t match_len = onf ? ofp_get_u16(c) : 0;
    uint32_t out_port = onf ? ofp_get_u32(c) : ofp_get_u16(c);
    match_len += onf ? 0 : ofp_get_u16(c);
    request->table_id = ofp_get_u8(c);
    bool zero = ofp_get_zeros(c, onf ? 3 : 5);
    if (c->bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    } else if (!zero) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    } else if (flags & ~(NX_OWN * 2 - 1) || !(flags & (OFPFMF_ADD | OFPFMF_REMOVED | OFPFMF_MODIFY))) {
        return OFPERR_OFPMOFC_BAD_FLAGS;
    }
    request->flags = flags & NX_OWN ? (flags & ~NX_OWN) | OFPFMF_NO_ABBREV : flags;
    request->out_group = OFPG_ANY;
    request->command = OFPFMC_ADD;
    if (!onf) {
        request->out_port = (ofp_port_t){ out_port };
        return ofp_get_match_nxm(c, match_len, &request->match);
    } else if (ofp_port_from_u32(out_port, &request->out_port)) {
        return OFPERR_OFPMOFC_BAD_OUT;
    }
    enum ofp_error error = ofp_get_match_oxm(c, &request->match);
    return error ? error : match_len != request->match.bytes.n + OXM_HEADER_LEN ? OFPERR_OFPBMC_BAD_LEN : 0;
}

static enum ofp_error get_request14(struct ofp_cursor *c, struct ofp_monitor_request *request)
{
    request->id = ofp_get_u32(c);
    uint32_t out_port = ofp_get_u32(c);
    request->out_group = ofp_get_u32(c);
    request->flags = ofp_get_u16(c);
    request->table_id = ofp_get_u8(c);
    uint8_t command = ofp_get_u8(c);
    if (c->bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    } else if (command > OFPFMC_DELETE) {
        return OFPERR_OFPMOFC_BAD_COMMAND;
    }
    request->command = command;
    if (request->flags & ~KNOWN_FLAGS ||
        (command != OFPFMC_DELETE && !(request->flags & (OFPFMF_ADD | OFPFMF_REMOVED | OFPFMF_MODIFY)))) {
        return OFPERR_OFPMOFC_BAD_FLAGS;
    } else if (ofp_port_from_u32(out_port, &request->out_port)) {
        return OFPERR_OFPMOFC_BAD_OUT;
    }
    return ofp_get_match_oxm(c, &request->match);
}

enum ofp_error ofp_get_monitor_request(struct ofp_cursor *c, const struct ofp_msg *msg,
                                       struct ofp_monitor_request *ret_request)
{
    struct ofp_monitor_request request;
    enum ofp_error error =
        msg->version >= OFP14_VERSION ? get_request14(c, &request) : get_request_nx(c, !ofp_msg_is_nx(msg), &request);

    if (!error) {
        *ret_request = request;
    }
    return error;
}

enum ofp_error ofp_decode_monitor_cancel(const struct ofp_msg *msg, uint32_t *ret_id)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    *ret_id = ofp_get_u32(&c);
    return 0;
}

/* Updates. */

/* Nicira's form, and ONF's in 1.3. */
static void put_update_nx(struct buf *b, const struct ofp_monitor_update *u)
{
    const struct ofp_flow_stats *flow = u->flow;
    bool onf = flow->match.form == OFP_MATCH_OXM;

    buf_put_u16(b, u->event == OFPFME_REMOVED ? u->reason : 0);
    buf_put_u16(b, flow->priority);
    buf_put_u16(b, flow->idle_timeout);
    buf_put_u16(b, flow->hard_timeout);
    buf_put_u16(b, flow->match.bytes.n + (onf ? OXM_HEADER_LEN : 0));
    buf_put_u8(b, flow->table_id);
    buf_put_zeros(b, 1);
    buf_put_u64(b, flow->cookie);
}

static void put_update14(struct buf *b, const struct ofp_monitor_update *u)
{
    const struct ofp_flow_stats *flow = u->flow;

    buf_put_u8(b, flow->table_id);
    buf_put_u8(b, u->event == OFPFME_REMOVED ? u->reason : 0);
    buf_put_u16(b, flow->idle_timeout);
    buf_put_u16(b, flow->hard_timeout);
    buf_put_u16(b, flow->priority);
    buf_put_zeros(b, 4);
    buf_put_u64(b, flow->cookie);
}

/* Nicira's number of the event: what is there at first has been added. */
static uint16_t event_to_nx(enum ofp_monitor_event event)
{
    return event == OFPFME_INITIAL ? 0 : event == OFPFME_ABBREV ? NX_ABBREV : event - OFPFME_ADDED;
}

int ofp_reply_monitor_update(struct ofp_reply *r, const struct ofp_monitor_update *update)
{
    struct buf *b = &r->buf;
    size_t start = b->len;
    bool nx = r->version < OFP14_VERSION; /* Or ONF's, which is like it. */

    buf_put_u16(b, ABBREV_LEN);
    buf_put_u16(b, nx ? event_to_nx(update->event) : update->event);
    switch (update->event) {
    case OFPFME_ABBREV:
        buf_put(b, &update->xid, sizeof update->xid);
        break;
    case OFPFME_PAUSED:
    case OFPFME_RESUMED:
        buf_put_zeros(b, 4);
        break;
    case OFPFME_INITIAL:
    case OFPFME_ADDED:
    case OFPFME_REMOVED:
    case OFPFME_MODIFIED:
        if (nx) {
            put_update_nx(b, update);
        } else {
            put_update14(b, update);
        }
        ofp_put_match(b, &update->flow->match);
        buf_put(b, update->flow->actions.p, update->flow->actions.n);
        buf_patch_u16(b, start, b->len - start);
        break;
    }
    return ofp_reply_commit(r);
}

void ofp_monitor_updates_begin(struct ofp_reply *r, enum ofp_version version)
{
    static const struct ofp_msg_form request_forms[] = {
        { .class = OFP_MSGCLASS_NXSTREQ },
        { .class = OFP_MSGCLASS_ONFSTREQ },
        { .class = OFP_MSGCLASS_STREQ },
    };
    int form = version >= OFP14_VERSION ? 2 : version == OFP13_VERSION ? 1 : 0;
    struct ofp_msg request = { .version = version, .form = &request_forms[form] };

    ofp_reply_begin(r, &request, OFPMSG_FLOW_MONITOR_REPLY);
}
