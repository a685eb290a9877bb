/* Ports: descriptions, changes, statistics.  See ofp-msg-port.h. */
#include <config.h>

#include "lib/ofp/ofp-msg-port.h"

#include "lib/base/compiler.h"

#define PORT_NAME_LEN     16
#define PROP_ETHERNET     0
#define FEATURES13        0xffffu
#define CONFIG10          0x7fu
#define CONFIG13          (OFPPC_PORT_DOWN | OFPPC_NO_RECV | OFPPC_NO_FWD | OFPPC_NO_PACKET_IN)
#define FEATURES_COMMON   0x7fu  /* Up to 10 Gbit/s: the same bits in all versions. */
#define FEATURES10_MEDIUM 0xf80u /* COPPER and what follows: four bits further up since 1.1. */
#define MEDIUM_SHIFT      4

static uint32_t features_to10(uint32_t f) { return (f & FEATURES_COMMON) | (f >> MEDIUM_SHIFT & FEATURES10_MEDIUM); }

static uint32_t features_from10(uint32_t f) { return (f & FEATURES_COMMON) | (f & FEATURES10_MEDIUM) << MEDIUM_SHIFT; }

static void put_port10(struct buf *b, const struct ofp_port *port)
{
    buf_put_u16(b, port->port_no.n);
    buf_put(b, &port->hw_addr, sizeof port->hw_addr);
    buf_put_text(b, port->name, PORT_NAME_LEN);
    buf_put_u32(b, port->config & CONFIG10);
    buf_put_u32(b, port->state & (OFPPS_LINK_DOWN | OFPPS_STP_MASK));
    buf_put_u32(b, features_to10(port->curr));
    buf_put_u32(b, features_to10(port->advertised));
    buf_put_u32(b, features_to10(port->supported));
    buf_put_u32(b, features_to10(port->peer));
}

static void put_features(struct buf *b, const struct ofp_port *port)
{
    buf_put_u32(b, port->curr & FEATURES13);
    buf_put_u32(b, port->advertised & FEATURES13);
    buf_put_u32(b, port->supported & FEATURES13);
    buf_put_u32(b, port->peer & FEATURES13);
    buf_put_u32(b, port->curr_speed);
    buf_put_u32(b, port->max_speed);
}

void ofp_put_port_desc(struct buf *b, enum ofp_version version, const struct ofp_port *port)
{
    size_t start = b->len;

    if (version == OFP10_VERSION) {
        put_port10(b, port);
        return;
    }
    buf_put_u32(b, ofp_port_to_u32(port->port_no));
    buf_put_zeros(b, 4); /* Since 1.4 the first half is the length. */
    buf_put(b, &port->hw_addr, sizeof port->hw_addr);
    buf_put_zeros(b, 2);
    buf_put_text(b, port->name, PORT_NAME_LEN);
    buf_put_u32(b, port->config & CONFIG13);
    buf_put_u32(b, port->state & (OFPPS_LINK_DOWN | OFPPS_BLOCKED | OFPPS_LIVE));
    if (version < OFP14_VERSION) {
        put_features(b, port);
        return;
    }
    size_t prop = ofp_begin_property(b, PROP_ETHERNET);
    buf_put_zeros(b, 4);
    put_features(b, port);
    ofp_end_property(b, prop);
    buf_patch_u16(b, start + 4, b->len - start);
}

enum ofp_error ofp_decode_port_desc_request(const struct ofp_msg *msg, ofp_port_t *ret_port)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    if (!c.len) {
        *ret_port = OFPP_NONE;
        return 0;
    }
    return ofp_get_port(&c, msg->version, ret_port) ? OFPERR_OFPBRC_BAD_PORT : 0;
}

int ofp_reply_port_desc(struct ofp_reply *r, const struct ofp_port *port)
{
    ofp_put_port_desc(&r->buf, r->version, port);
    return ofp_reply_commit(r);
}

void ofp_put_port_status(struct buf *b, enum ofp_version version, enum ofp_port_reason reason,
                         const struct ofp_port *port)
{
    size_t start = ofp_msg_begin(b, OFPMSG_PORT_STATUS, version, 0);

    buf_put_u8(b, reason);
    buf_put_zeros(b, 7);
    ofp_put_port_desc(b, version, port);
    ofp_msg_end(b, start);
}

/* The properties of a PORT_MOD of 1.4 and later. */
static enum ofp_error get_port_mod_properties(struct ofp_cursor *c, uint32_t *advertise)
{
    bool seen = false;

    while (c->len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(c, &type, &content);

        if (error) {
            return error;
        } else if (type == UINT16_MAX) {
            return OFPERR_OFPBPC_BAD_EXPERIMENTER;
        } else if (type != PROP_ETHERNET) {
            return OFPERR_OFPBPC_BAD_TYPE;
        } else if (seen) {
            return OFPERR_OFPBPC_DUP_TYPE;
        } else if (content.len != 4) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        seen = true;
        *advertise = ofp_get_u32(&content);
    }
    return 0;
}

enum ofp_error ofp_decode_port_mod(const struct ofp_msg *msg, struct ofp_port_mod *ret_mod)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    bool is10 = msg->version == OFP10_VERSION;
    struct ofp_port_mod mod = { .port_no = OFPP_NONE };

    if (ofp_get_port(&c, msg->version, &mod.port_no)) {
        return OFPERR_OFPPMFC_BAD_PORT;
    }
    ofp_skip(&c, is10 ? 0 : 4);
    ofp_get_copy(&c, &mod.hw_addr, sizeof mod.hw_addr);
    ofp_skip(&c, is10 ? 0 : 2);
    mod.config = ofp_get_u32(&c);
    mod.mask = ofp_get_u32(&c);
    if (msg->version >= OFP14_VERSION) {
        enum ofp_error error = get_port_mod_properties(&c, &mod.advertise);
        if (error) {
            return error;
        }
    } else {
        mod.advertise = ofp_get_u32(&c);
    }
    /* Bits that the version does not know are ignored, as those outside of the mask are. */
    mod.mask &= is10 ? CONFIG10 : CONFIG13;
    mod.config &= mod.mask;
    mod.advertise = is10 ? features_from10(mod.advertise) : mod.advertise & FEATURES13;
    *ret_mod = mod;
    return 0;
}

enum ofp_error ofp_decode_port_stats_request(const struct ofp_msg *msg, ofp_port_t *ret_port)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    return ofp_get_port(&c, msg->version, ret_port) ? OFPERR_OFPBRC_BAD_PORT : 0;
}

/* The four counters that are Ethernet's. */
static void put_ethernet_stats(struct buf *b, const struct ofp_port_stats *s)
{
    buf_put_u64(b, s->rx_frame_err);
    buf_put_u64(b, s->rx_over_err);
    buf_put_u64(b, s->rx_crc_err);
    buf_put_u64(b, s->collisions);
}

static void put_common_stats(struct buf *b, const struct ofp_port_stats *s)
{
    buf_put_u64(b, s->rx_packets);
    buf_put_u64(b, s->tx_packets);
    buf_put_u64(b, s->rx_bytes);
    buf_put_u64(b, s->tx_bytes);
    buf_put_u64(b, s->rx_dropped);
    buf_put_u64(b, s->tx_dropped);
    buf_put_u64(b, s->rx_errors);
    buf_put_u64(b, s->tx_errors);
}

static void put_port_stats14(struct buf *b, const struct ofp_port_stats *s)
{
    size_t start = b->len;

    buf_put_zeros(b, 4); /* Length, padding. */
    buf_put_u32(b, ofp_port_to_u32(s->port_no));
    buf_put_u32(b, s->duration_sec);
    buf_put_u32(b, s->duration_nsec);
    put_common_stats(b, s);
    size_t prop = ofp_begin_property(b, PROP_ETHERNET);
    buf_put_zeros(b, 4);
    put_ethernet_stats(b, s);
    ofp_end_property(b, prop);
    buf_patch_u16(b, start, b->len - start);
}

int ofp_reply_port_stats(struct ofp_reply *r, const struct ofp_port_stats *stats)
{
    struct buf *b = &r->buf;

    if (r->version >= OFP14_VERSION) {
        put_port_stats14(b, stats);
        return ofp_reply_commit(r);
    }
    ofp_put_port(b, r->version, stats->port_no);
    buf_put_zeros(b, r->version == OFP10_VERSION ? 6 : 4);
    put_common_stats(b, stats);
    put_ethernet_stats(b, stats);
    if (r->version >= OFP13_VERSION) {
        buf_put_u32(b, stats->duration_sec);
        buf_put_u32(b, stats->duration_nsec);
    }
    return ofp_reply_commit(r);
}
