/* Queues: statistics and rates.  See ofp-msg-port.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-port.h"

#define OFPP_ALL ((ofp_port_t){ 0xfffc })
#define PROP_MIN 1
#define PROP_MAX 2

enum ofp_error ofp_decode_queue_stats_request(const struct ofp_msg *msg, struct ofp_queue_request *ret_request)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_queue_request request;

    if (ofp_get_port(&c, msg->version, &request.port_no)) {
        return OFPERR_OFPQOFC_BAD_PORT;
    }
    ofp_skip(&c, msg->version == OFP10_VERSION ? 2 : 0);
    request.queue_id = ofp_get_u32(&c);
    if (msg->version == OFP10_VERSION && ofp_port_eq(request.port_no, OFPP_ALL)) {
        request.port_no = OFPP_NONE;
    }
    *ret_request = request;
    return 0;
}

static void put_queue_stats14(struct buf *b, const struct ofp_queue_stats *s)
{
    size_t start = b->len;

    buf_put_zeros(b, 8); /* Length, padding. */
    buf_put_u32(b, ofp_port_to_u32(s->port_no));
    buf_put_u32(b, s->queue_id);
    buf_put_u64(b, s->tx_bytes);
    buf_put_u64(b, s->tx_packets);
    buf_put_u64(b, s->tx_errors);
    buf_put_u32(b, s->duration_sec);
    buf_put_u32(b, s->duration_nsec);
    buf_patch_u16(b, start, b->len - start);
}

int ofp_reply_queue_stats(struct ofp_reply *r, const struct ofp_queue_stats *stats)
{
    struct buf *b = &r->buf;

    if (r->version >= OFP14_VERSION) {
        put_queue_stats14(b, stats);
        return ofp_reply_commit(r);
    }
    ofp_put_port(b, r->version, stats->port_no);
    buf_put_zeros(b, r->version == OFP10_VERSION ? 2 : 0);
    buf_put_u32(b, stats->queue_id);
    buf_put_u64(b, stats->tx_bytes);
    buf_put_u64(b, stats->tx_packets);
    buf_put_u64(b, stats->tx_errors);
    if (r->version >= OFP13_VERSION) {
        buf_put_u32(b, stats->duration_sec);
        buf_put_u32(b, stats->duration_nsec);
    }
    return ofp_reply_commit(r);
}

enum ofp_error ofp_decode_queue_config_request(const struct ofp_msg *msg, struct ofp_queue_request *ret_request)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_queue_request request = { .queue_id = OFP_ALL_QUEUES };

    if (ofp_get_port(&c, msg->version, &request.port_no)) {
        return OFPERR_OFPQOFC_BAD_PORT;
    }
    if (msg->version >= OFP14_VERSION) {
        request.queue_id = ofp_get_u32(&c);
    }
    *ret_request = request;
    return 0;
}

void ofp_reply_queue_config_begin(struct ofp_reply *r, const struct ofp_msg *request, ofp_port_t port_no)
{
    ofp_reply_begin(r, request, OFPMSG_QUEUE_GET_CONFIG_REPLY);
    if (r->version < OFP14_VERSION) {
        ofp_put_port(&r->buf, r->version, port_no);
        buf_put_zeros(&r->buf, r->version == OFP10_VERSION ? 6 : 4);
        r->entry = r->buf.len;
    }
}

static void put_rate(struct buf *b, enum ofp_version version, uint16_t type, uint16_t rate)
{
    if (rate == OFP_RATE_UNKNOWN) {
        return;
    }
    size_t prop = ofp_begin_property(b, type);
    buf_put_zeros(b, version < OFP14_VERSION ? 4 : 0);
    buf_put_u16(b, rate);
    buf_put_zeros(b, version < OFP14_VERSION ? 6 : 2);
    ofp_end_property(b, prop);
}

int ofp_reply_queue_config(struct ofp_reply *r, const struct ofp_queue_config *config)
{
    struct buf *b = &r->buf;
    size_t start = b->len;
    size_t len_at;

    if (r->version == OFP10_VERSION) {
        buf_put_u32(b, config->queue_id);
        len_at = b->len;
        buf_put_zeros(b, 4);
    } else {
        if (r->version >= OFP14_VERSION) { /* The document moved the port to the front. */
            buf_put_u32(b, ofp_port_to_u32(config->port_no));
            buf_put_u32(b, config->queue_id);
        } else {
            buf_put_u32(b, config->queue_id);
            buf_put_u32(b, ofp_port_to_u32(config->port_no));
        }
        len_at = b->len;
        buf_put_zeros(b, 8);
    }
    put_rate(b, r->version, PROP_MIN, config->min_rate);
    put_rate(b, r->version, PROP_MAX, config->max_rate);
    buf_patch_u16(b, len_at, b->len - start);
    return ofp_reply_commit(r);
}
