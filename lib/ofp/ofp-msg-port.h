/* OpenFlow messages about ports and queues.
 *
 * See ofp-msg.h for the rules of all decoders and encoders. */
#ifndef OFP_MSG_PORT_H
#define OFP_MSG_PORT_H 1

#include "lib/ofp/ofp-msg.h"

/* The bits of 'config', as 1.0 has them; later versions have no STP and no FLOOD. */
enum ofp_port_config {
    OFPPC_PORT_DOWN = 1 << 0,
    OFPPC_NO_STP = 1 << 1,
    OFPPC_NO_RECV = 1 << 2,
    OFPPC_NO_RECV_STP = 1 << 3,
    OFPPC_NO_FLOOD = 1 << 4,
    OFPPC_NO_FWD = 1 << 5,
    OFPPC_NO_PACKET_IN = 1 << 6,
};

/* The bits of 'state': BLOCKED and LIVE are 1.3's, the two bits of STP 1.0's. */
enum ofp_port_state {
    OFPPS_LINK_DOWN = 1 << 0,
    OFPPS_BLOCKED = 1 << 1,
    OFPPS_LIVE = 1 << 2,
    OFPPS_STP_LISTEN = 0 << 8,
    OFPPS_STP_LEARN = 1 << 8,
    OFPPS_STP_FORWARD = 2 << 8,
    OFPPS_STP_BLOCK = 3 << 8,
    OFPPS_STP_MASK = 3 << 8,
};

/* The bits of what a port can do, as 1.3 has them. */
enum ofp_port_feature {
    OFPPF_10MB_HD = 1 << 0,
    OFPPF_10MB_FD = 1 << 1,
    OFPPF_100MB_HD = 1 << 2,
    OFPPF_100MB_FD = 1 << 3,
    OFPPF_1GB_HD = 1 << 4,
    OFPPF_1GB_FD = 1 << 5,
    OFPPF_10GB_FD = 1 << 6,
    OFPPF_40GB_FD = 1 << 7,
    OFPPF_100GB_FD = 1 << 8,
    OFPPF_1TB_FD = 1 << 9,
    OFPPF_OTHER = 1 << 10,
    OFPPF_COPPER = 1 << 11,
    OFPPF_FIBER = 1 << 12,
    OFPPF_AUTONEG = 1 << 13,
    OFPPF_PAUSE = 1 << 14,
    OFPPF_PAUSE_ASYM = 1 << 15,
};

struct ofp_port {
    ofp_port_t port_no;
    struct eth_addr hw_addr;
    char name[16]; /* Terminated. */
    uint32_t config, state;
    uint32_t curr, advertised, supported, peer; /* OFPPF_*. */
    uint32_t curr_speed, max_speed;             /* kbit/s. */
};

/* Appends the port as VERSION describes it. */
void ofp_put_port_desc(struct buf *b, enum ofp_version version, const struct ofp_port *port);

/* PORT_DESC: only 1.5 asks for one port; OFPP_ANY (OFPP_NONE) for all.  OFPBRC_BAD_PORT. */
enum ofp_error ofp_decode_port_desc_request(const struct ofp_msg *msg, ofp_port_t *ret_port);
int ofp_reply_port_desc(struct ofp_reply *r, const struct ofp_port *port);

enum ofp_port_reason { OFPPR_ADD, OFPPR_DELETE, OFPPR_MODIFY };
void ofp_put_port_status(struct buf *b, enum ofp_version version, enum ofp_port_reason reason,
                         const struct ofp_port *port);

struct ofp_port_mod {
    ofp_port_t port_no;
    struct eth_addr hw_addr;
    uint32_t config, mask; /* OFPPC_*. */
    uint32_t advertise;    /* OFPPF_*; 0: leave it. */
};
/* OFPPMFC_BAD_PORT, OFPPMFC_BAD_CONFIG, OFPBPC_*. */
enum ofp_error ofp_decode_port_mod(const struct ofp_msg *msg, struct ofp_port_mod *ret_mod);

/* PORT_STATS; OFPP_NONE asks for all.  A counter that is unknown is UINT64_MAX. */
struct ofp_port_stats {
    ofp_port_t port_no;
    uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, rx_dropped, tx_dropped, rx_errors, tx_errors;
    uint64_t rx_frame_err, rx_over_err, rx_crc_err, collisions;
    uint32_t duration_sec, duration_nsec; /* UINT32_MAX: unknown. */
};
enum ofp_error ofp_decode_port_stats_request(const struct ofp_msg *msg, ofp_port_t *ret_port);
int ofp_reply_port_stats(struct ofp_reply *r, const struct ofp_port_stats *stats);

/* QUEUE_STATS and QUEUE_GET_CONFIG (which is a multipart message from 1.4 on, QUEUE_DESC); OFPP_NONE and OFP_ALL_QUEUES
 * for all; in 1.0 OFPP_ALL is taken for OFPP_NONE in the first.  OFPQOFC_BAD_PORT. */
#define OFP_ALL_QUEUES UINT32_MAX
struct ofp_queue_request {
    ofp_port_t port_no;
    uint32_t queue_id;
};
enum ofp_error ofp_decode_queue_stats_request(const struct ofp_msg *msg, struct ofp_queue_request *ret_request);
struct ofp_queue_stats {
    ofp_port_t port_no;
    uint32_t queue_id;
    uint64_t tx_bytes, tx_packets, tx_errors; /* UINT64_MAX: unknown. */
    uint32_t duration_sec, duration_nsec;     /* UINT32_MAX: unknown. */
};
int ofp_reply_queue_stats(struct ofp_reply *r, const struct ofp_queue_stats *stats);

#define OFP_RATE_UNKNOWN UINT16_MAX
struct ofp_queue_config {
    ofp_port_t port_no;
    uint32_t queue_id;
    uint16_t min_rate, max_rate; /* In 1/10 %; above 1000: disabled; OFP_RATE_UNKNOWN: none. */
};
enum ofp_error ofp_decode_queue_config_request(const struct ofp_msg *msg, struct ofp_queue_request *ret_request);
/* Of 1.0 and 1.3 the reply says which port it is of, and is one message: begin it with this. */
void ofp_reply_queue_config_begin(struct ofp_reply *r, const struct ofp_msg *request, ofp_port_t port_no);
int ofp_reply_queue_config(struct ofp_reply *r, const struct ofp_queue_config *config);

#endif
