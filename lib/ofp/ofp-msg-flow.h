/* OpenFlow messages about flows: changing, dumping, counting, removing, and watching them.
 *
 * See ofp-msg.h for the rules of all decoders and encoders.  What a flow does is 'actions': in 1.0 a list of actions,
 * in later versions a list of instructions, as on the wire.  A match given to an encoder must be in the form that
 * ofp_flow_match_form() says. */
#ifndef OFP_MSG_FLOW_H
#define OFP_MSG_FLOW_H 1

#include "lib/ofp/ofp-msg.h"

#define OFP_COUNT_NONE  UINT64_MAX /* A count that is unknown. */
#define OFP_AGE_UNKNOWN (-1)

enum ofp_flow_mod_command { OFPFC_ADD, OFPFC_MODIFY, OFPFC_MODIFY_STRICT, OFPFC_DELETE, OFPFC_DELETE_STRICT };

enum ofp_flow_mod_flag {
    OFPFF_SEND_FLOW_REM = 1 << 0,
    OFPFF_CHECK_OVERLAP = 1 << 1,
    OFPFF_RESET_COUNTS = 1 << 2, /* 1.3 and later, as the next two. */
    OFPFF_NO_PKT_COUNTS = 1 << 3,
    OFPFF_NO_BYT_COUNTS = 1 << 4,
};

struct ofp_flow_mod {
    enum ofp_flow_mod_command command;
    uint8_t table_id; /* OFP_TABLE_ALL: any (delete), or none said (1.0). */
    uint16_t priority, idle_timeout, hard_timeout;
    uint16_t importance; /* 1.4 and later. */
    uint16_t flags;
    struct ofp_match_ref match;

    /* Of modify and delete: only flows with this cookie under this mask.  Nicira's form has these two in the match, as
     * NXM_NX_COOKIE: whoever reads that match finds them. */
    uint64_t cookie, cookie_mask;
    /* The cookie that flows get, if 'set_cookie'. */
    uint64_t new_cookie;
    bool set_cookie;

    uint32_t buffer_id;
    ofp_port_t out_port; /* Of delete: only flows that output there; else OFPP_NONE. */
    uint32_t out_group;  /* The same; else OFPG_ANY. */
    struct bytes actions;
};

/* TABLE_ID: the connection has asked for Nicira's table ids in the commands of 1.0 (FLOW_MOD_TABLE_ID).
 * OFPFMFC_BAD_COMMAND, _BAD_FLAGS, _BAD_TABLE_ID; OFPBAC_BAD_OUT_PORT; OFPBRC_BAD_LEN; OFPBMC_BAD_LEN, _BAD_TYPE. */
enum ofp_error ofp_decode_flow_mod(const struct ofp_msg *msg, bool table_id, struct ofp_flow_mod *ret_mod);

/* FLOW_STATS, FLOW_COUNTS (OFPMP_FLOW_STATS of 1.5) and AGGREGATE requests. */
struct ofp_flow_request {
    uint8_t table_id;
    ofp_port_t out_port;          /* OFPP_NONE: any. */
    uint32_t out_group;           /* OFPG_ANY: any. */
    uint64_t cookie, cookie_mask; /* Nicira's: see struct ofp_flow_mod. */
    struct ofp_match_ref match;
};
enum ofp_error ofp_decode_flow_request(const struct ofp_msg *msg, struct ofp_flow_request *ret_request);

struct ofp_flow_stats {
    uint8_t table_id;
    uint16_t priority, idle_timeout, hard_timeout, importance, flags;
    uint64_t cookie;
    uint64_t packet_count, byte_count; /* OFP_COUNT_NONE. */
    uint32_t duration_sec, duration_nsec;
    int idle_age, hard_age; /* Seconds since it was used, modified; OFP_AGE_UNKNOWN. */
    struct ofp_match_ref match;
    struct bytes actions;
};
/* How the matches of this reply are written. */
enum ofp_match_form ofp_flow_match_form(enum ofp_version version, bool nx);
/* Each takes one flow of a reply of its message: FLOW_STATS, FLOW_COUNTS.  -EMSGSIZE: the flow cannot be told. */
int ofp_reply_flow_stats(struct ofp_reply *r, const struct ofp_flow_stats *stats);
int ofp_reply_flow_counts(struct ofp_reply *r, const struct ofp_flow_stats *stats);

struct ofp_aggregate {
    uint64_t packet_count, byte_count;
    uint32_t flow_count;
};
void ofp_put_aggregate(struct buf *b, const struct ofp_msg *request, const struct ofp_aggregate *aggregate);

enum ofp_removed_reason { /* Also of flow monitors. */
                          OFPRR_IDLE_TIMEOUT,
                          OFPRR_HARD_TIMEOUT,
                          OFPRR_DELETE,
                          OFPRR_GROUP_DELETE,
                          OFPRR_METER_DELETE, /* 1.4 and later, as the next.  Before: OFPRR_DELETE. */
                          OFPRR_EVICTION,
};
/* NX: in Nicira's form, which 1.0 has when the connection's flow format is NXM. */
void ofp_put_flow_removed(struct buf *b, enum ofp_version version, bool nx, enum ofp_removed_reason reason,
                          const struct ofp_flow_stats *stats);

/* Flow monitors.  The flags are those of 1.4; Nicira's and ONF's OWN becomes NO_ABBREV: the connection's own changes
 * are told in full.  Beware: ovs-ofctl sets ONLY_OWN in 1.4 and later where it sets OWN otherwise, which is always
 * unless told not to, and wants the changes of others too. */
enum ofp_monitor_flag {
    OFPFMF_INITIAL = 1 << 0,
    OFPFMF_ADD = 1 << 1,
    OFPFMF_REMOVED = 1 << 2,
    OFPFMF_MODIFY = 1 << 3,
    OFPFMF_INSTRUCTIONS = 1 << 4,
    OFPFMF_NO_ABBREV = 1 << 5,
    OFPFMF_ONLY_OWN = 1 << 6,
};
enum ofp_monitor_command { OFPFMC_ADD, OFPFMC_MODIFY, OFPFMC_DELETE };
struct ofp_monitor_request {
    uint32_t id;
    enum ofp_monitor_command command;
    uint16_t flags;
    ofp_port_t out_port;
    uint32_t out_group;
    uint8_t table_id;
    struct ofp_match_ref match;
};
/* One of the requests in a message, which may have many: takes it off C, which begins as ofp_msg_cursor(MSG) and has no
 * bytes left after the last.  OFPBRC_BAD_LEN, OFPMOFC_BAD_FLAGS, _BAD_COMMAND, NXBRC_MUST_BE_ZERO. */
enum ofp_error ofp_get_monitor_request(struct ofp_cursor *c, const struct ofp_msg *msg,
                                       struct ofp_monitor_request *ret_request);
enum ofp_error ofp_decode_monitor_cancel(const struct ofp_msg *msg, uint32_t *ret_id);

enum ofp_monitor_event { /* As 1.4 numbers them. */
                         OFPFME_INITIAL,
                         OFPFME_ADDED,
                         OFPFME_REMOVED,
                         OFPFME_MODIFIED,
                         OFPFME_ABBREV,
                         OFPFME_PAUSED,
                         OFPFME_RESUMED,
};
struct ofp_monitor_update {
    enum ofp_monitor_event event;
    be32 xid;                          /* ABBREV: of the change that the connection itself has made. */
    enum ofp_removed_reason reason;    /* REMOVED. */
    const struct ofp_flow_stats *flow; /* Of others; its 'actions' may be empty. */
};
/* PAUSED and RESUMED are updates in 1.4 and later only: before, messages of their own (ofp_put_simple). */
int ofp_reply_monitor_update(struct ofp_reply *r, const struct ofp_monitor_update *update);
/* A reply for updates that nobody has asked for just now. */
void ofp_monitor_updates_begin(struct ofp_reply *r, enum ofp_version version);

#endif
