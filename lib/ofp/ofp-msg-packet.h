/* OpenFlow messages that carry packets, and bundles, which carry messages.
 *
 * See ofp-msg.h for the rules of all decoders and encoders. */
#ifndef OFP_MSG_PACKET_H
#define OFP_MSG_PACKET_H 1

#include "lib/ofp/ofp-msg-session.h"
#include "lib/ofp/ofp-msg.h"

struct ofp_packet_in {
    struct bytes packet; /* Perhaps only its start. */
    size_t total_len;    /* Of all of it. */
    uint32_t buffer_id;  /* OFP_NO_BUFFER. */
    uint8_t reason;      /* OFPR_*; one that the version does not have is sent as OFPR_ACTION. */
    uint8_t table_id;
    uint64_t cookie;    /* UINT64_MAX: none. */
    ofp_port_t in_port; /* Of the packet: 1.0's own form has no other field. */
    /* in_port and the other fields of the pipeline, in the form that ofp_packet_in_match_form() says. */
    struct ofp_match_ref fields;
    /* Of OFP_PACKET_IN_NXT2 only: what the action controller(userdata=...) has, and how to go on (RESUME).  p NULL:
     * none. */
    struct bytes userdata, continuation;
};
/* FORMAT is what the connection has asked for.  Before it has, 1.0 and later versions send OFP_PACKET_IN_STANDARD. */
enum ofp_match_form ofp_packet_in_match_form(enum ofp_version version, enum ofp_packet_in_format format);
/* -EMSGSIZE if the packet is too large: cut it. */
int ofp_put_packet_in(struct buf *b, enum ofp_version version, enum ofp_packet_in_format format,
                      const struct ofp_packet_in *pin);

/* RESUME has the properties of a NXT2 packet-in: what the switch sent comes back, perhaps changed. */
enum ofp_error ofp_decode_resume(const struct ofp_msg *msg, struct ofp_packet_in *ret_pin);

struct ofp_packet_out {
    uint32_t buffer_id;         /* OFP_NO_BUFFER: 'packet'. */
    ofp_port_t in_port;         /* OFPP_NONE in 1.5, where it is a field of the match. */
    struct ofp_match_ref match; /* 1.5: fields of the pipeline; bytes.p NULL before. */
    struct bytes actions;
    struct bytes packet;
};
/* OFPBRC_BAD_PORT, OFPBRC_BAD_LEN, OFPBMC_BAD_LEN, _BAD_TYPE. */
enum ofp_error ofp_decode_packet_out(const struct ofp_msg *msg, struct ofp_packet_out *ret_out);
/* May a packet-out say that its packet came in by PORT? */
bool ofp_packet_out_port_ok(ofp_port_t port);

enum ofp_bundle_ctrl_type {
    OFPBCT_OPEN_REQUEST,
    OFPBCT_OPEN_REPLY,
    OFPBCT_CLOSE_REQUEST,
    OFPBCT_CLOSE_REPLY,
    OFPBCT_COMMIT_REQUEST,
    OFPBCT_COMMIT_REPLY,
    OFPBCT_DISCARD_REQUEST,
    OFPBCT_DISCARD_REPLY,
};
enum ofp_bundle_flag { OFPBF_ATOMIC = 1 << 0, OFPBF_ORDERED = 1 << 1 };
struct ofp_bundle_ctrl {
    uint32_t bundle_id;
    enum ofp_bundle_ctrl_type type; /* A request. */
    uint16_t flags;
};
/* OFPBFC_BAD_TYPE, OFPBFC_BAD_FLAGS, OFPBPC_*, OFPBFC_SCHED_NOT_SUPPORTED. */
enum ofp_error ofp_decode_bundle_ctrl(const struct ofp_msg *msg, struct ofp_bundle_ctrl *ret_ctrl);
/* The reply to CTRL. */
void ofp_put_bundle_reply(struct buf *b, const struct ofp_msg *request, const struct ofp_bundle_ctrl *ctrl);

struct ofp_bundle_add {
    uint32_t bundle_id;
    uint16_t flags;
    struct ofp_msg msg; /* What is to be done, recognized, of a kind that bundles may have. */
};
/* OFPBFC_MSG_BAD_LEN, _MSG_BAD_XID, _MSG_UNSUP, _BAD_VERSION, _BAD_FLAGS; what is wrong with the message within is for
 * its decoder. */
enum ofp_error ofp_decode_bundle_add(const struct ofp_msg *msg, struct ofp_bundle_add *ret_add);

#endif
