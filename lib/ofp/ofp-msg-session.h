/* OpenFlow messages about the connection itself: versions, errors, features, configuration, roles, what is sent
 * unasked.
 *
 * See ofp-msg.h for the rules of all decoders and encoders. */
#ifndef OFP_MSG_SESSION_H
#define OFP_MSG_SESSION_H 1

#include "lib/ofp/ofp-msg.h"

struct ofp_port;

/* HELLO: the versions that the peer speaks, bit N for version byte N.  Without a bitmap all up to that of the header.
 */
enum ofp_error ofp_decode_hello(const struct ofp_msg *msg, uint32_t *ret_versions);
/* Of the highest of VERSIONS; with a bitmap if that is 1.3 or later. */
void ofp_put_hello(struct buf *b, uint32_t versions, be32 xid);

/* ERROR.  A vendor's has VENDOR, and its own type and code if it is Nicira's or ONF's. */
struct ofp_error_msg {
    uint32_t vendor;
    uint16_t type, code;
    struct bytes data; /* What was wrong, or text (OFPHFC). */
};
enum ofp_error ofp_decode_error(const struct ofp_msg *msg, struct ofp_error_msg *ret_error);
/* Answers the LEN bytes at REQUEST, at least a header, of which 64 are sent back. */
void ofp_put_error(struct buf *b, enum ofp_error error, enum ofp_version version, const void *request, size_t len);
/* OFPHFC_INCOMPATIBLE or _EPERM with an explanation. */
void ofp_put_hello_error(struct buf *b, enum ofp_error error, enum ofp_version version, be32 xid, const char *text);

/* A message without a body, or with these bytes: BARRIER, FLOW_MONITOR_PAUSED, ECHO (whose body any message may be
 * that the decoder has left alone). */
void ofp_put_simple(struct buf *b, enum ofp_msg_id id, enum ofp_version version, be32 xid, const void *body,
                    size_t len);

/* Of FEATURES: the bits are the wire's; OFPC_STP is 1.0's name of that bit, OFPC_GROUP_STATS that of later versions. */
enum ofp_capability {
    OFPC_FLOW_STATS = 1 << 0,
    OFPC_TABLE_STATS = 1 << 1,
    OFPC_PORT_STATS = 1 << 2,
    OFPC_STP = 1 << 3,
    OFPC_GROUP_STATS = 1 << 3,
    OFPC_IP_REASM = 1 << 5,
    OFPC_QUEUE_STATS = 1 << 6,
    OFPC_ARP_MATCH_IP = 1 << 7,    /* 1.0. */
    OFPC_PORT_BLOCKED = 1 << 8,    /* 1.3 and later. */
    OFPC_BUNDLES = 1 << 9,         /* 1.4 and later. */
    OFPC_FLOW_MONITORING = 1 << 10 /* 1.4 and later. */
};
struct ofp_features {
    uint64_t datapath_id;
    uint32_t n_buffers;
    uint8_t n_tables, auxiliary_id;
    uint32_t capabilities;
    uint32_t actions; /* 1.0: bit N for the action of type N. */
};
/* In 1.0 with as many of the ports as fit: a controller asks with PORT_DESC for the others. */
void ofp_put_features(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_features *features,
                      const struct ofp_port *ports, size_t n_ports);

/* SET_CONFIG, GET_CONFIG_REPLY. */
enum ofp_config_flag {
    OFPC_FRAG_NORMAL = 0,
    OFPC_FRAG_DROP = 1,
    OFPC_FRAG_REASM = 2,
    OFPC_FRAG_NX_MATCH = 3,
    OFPC_FRAG_MASK = 3,
    OFPC_INVALID_TTL_TO_CONTROLLER = 4, /* Not in 1.3 and later, where async masks say it. */
};
struct ofp_config {
    uint16_t flags;
    uint16_t miss_send_len;
};
/* OFPSCFC_BAD_FLAGS. */
enum ofp_error ofp_decode_set_config(const struct ofp_msg *msg, struct ofp_config *ret_config);
void ofp_put_config(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_config *config);

/* ROLE_REQUEST, ROLE_REPLY; Nicira's "other" is EQUAL. */
enum ofp_role { OFP_ROLE_NOCHANGE, OFP_ROLE_EQUAL, OFP_ROLE_MASTER, OFP_ROLE_SLAVE };
struct ofp_role_msg {
    enum ofp_role role;
    bool have_generation; /* The request has a generation id to be checked (OFPRRFC_STALE). */
    uint64_t generation;
};
/* OFPRRFC_BAD_ROLE. */
enum ofp_error ofp_decode_role(const struct ofp_msg *msg, struct ofp_role_msg *ret_role);
void ofp_put_role_reply(struct buf *b, const struct ofp_msg *request, const struct ofp_role_msg *role);
/* ROLE_STATUS: 1.4 and later, and in ONF's form in 1.3.  Others have none: nothing is appended. */
enum ofp_role_reason { OFPCRR_MASTER_REQUEST, OFPCRR_CONFIG, OFPCRR_EXPERIMENTER };
void ofp_put_role_status(struct buf *b, enum ofp_version version, const struct ofp_role_msg *role,
                         enum ofp_role_reason reason);

/* What is sent unasked: for a master (or equal) and for a slave, for each kind a bit a reason. */
enum ofp_async_kind {
    OFP_ASYNC_PACKET_IN,
    OFP_ASYNC_PORT_STATUS,
    OFP_ASYNC_FLOW_REMOVED,
    OFP_ASYNC_ROLE_STATUS,
    OFP_ASYNC_TABLE_STATUS,
    OFP_ASYNC_REQUESTFORWARD,
    OFP_N_ASYNC
};
struct ofp_async {
    uint32_t master[OFP_N_ASYNC], slave[OFP_N_ASYNC];
};
/* Changes ASYNC as the message says, and leaves it alone on error (OFPBPC_BAD_TYPE, OFPBPC_BAD_LEN,
 * OFPACFC_UNSUPPORTED). */
enum ofp_error ofp_decode_set_async(const struct ofp_msg *msg, struct ofp_async *async);
void ofp_put_async_reply(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_async *async);

/* Nicira's settings of a connection. */
enum ofp_flow_format { OFP_FLOW_FORMAT_OPENFLOW10 = 0, OFP_FLOW_FORMAT_NXM = 2 };
enum ofp_error ofp_decode_set_flow_format(const struct ofp_msg *msg, enum ofp_flow_format *ret_format);
enum ofp_packet_in_format { OFP_PACKET_IN_STANDARD, OFP_PACKET_IN_NXT, OFP_PACKET_IN_NXT2 };
enum ofp_error ofp_decode_set_packet_in_format(const struct ofp_msg *msg, enum ofp_packet_in_format *ret_format);
enum ofp_error ofp_decode_flow_mod_table_id(const struct ofp_msg *msg, bool *ret_enable);
enum ofp_error ofp_decode_set_controller_id(const struct ofp_msg *msg, uint16_t *ret_id);
/* CT_FLUSH_ZONE. */
enum ofp_error ofp_decode_ct_flush_zone(const struct ofp_msg *msg, uint16_t *ret_zone);

/* DESC_REPLY. */
struct ofp_desc {
    const char *mfr, *hw, *sw, *serial, *dp;
};
void ofp_put_desc(struct buf *b, enum ofp_version version, be32 xid, const struct ofp_desc *desc);

#endif
