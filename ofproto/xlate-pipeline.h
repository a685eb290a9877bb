/* A bridge's tables at work on one packet.  Private to xlate-pipeline.c and xlate-actions.c. */
#ifndef OFPROTO_XLATE_PIPELINE_H
#define OFPROTO_XLATE_PIPELINE_H 1

#include "lib/ofp/ofp-action.h"
#include "ofproto/tables.h"
#include "ofproto/xlate-ctx.h"

#define PIPELINE_MAX_SET 64   /* Actions in the action set. */
#define PIPELINE_MAX_STACK 64 /* Values on the stack of push and pop. */

struct pipeline_value {
    union ofp_value value;
    size_t n_bytes;
};

/* What goes along with the packet, but is no field of it. */
struct pipeline_kept {
    const struct ofp_act *set[PIPELINE_MAX_SET];
    unsigned int n_set;
    struct pipeline_value stack[PIPELINE_MAX_STACK];
    unsigned int n_stack;
};

/* One packet in one bridge. */
struct pipeline {
    const struct xbridge *bridge;
    uint64_t version;
    struct rule *rule;       /* Whose actions are being done; NULL: of none, but of a packet-out. */
    uint8_t table_id;        /* Of the rule whose actions are being done. */
    struct rule *first;      /* The rule that the packet met when it came in: for the action set. */
    unsigned int reason;     /* Why what goes to controllers goes there: enum ofp_packet_in_reason. */
    int next_table;          /* To be met after this rule's actions (goto_table), or -1. */
    bool ended;              /* By exit, or by an error: nothing more is done. */
    bool list_ended;         /* By a TTL that has expired: of the actions that are being done nothing more is done. */
    bool expired;            /* That has been so. */
    bool sent;               /* Something was output, or meant to be. */
    enum xlate_verdict fault; /* Why it ended, or XLATE_FORWARD. */
    struct pipeline_kept kept;
};

/* The packet as it is, to go back to. */
struct pipeline_mark {
    struct flow flow, given;
    struct flow_vlan vlan[FLOW_MAX_VLANS + 1];
    unsigned int n_vlans;
};
void pipeline_mark(const struct xlate_ctx *ctx, struct pipeline_mark *ret);
/* Makes the packet what it was at M.  What has been written to the wire since is written back if it leaves once more; if that is a value of the
 * packet's own it then becomes part of the megaflow. */
void pipeline_return(struct xlate_ctx *ctx, const struct pipeline_mark *m);

/* CTX has not been in a bridge with tables: sets up what they need. */
void pipeline_begin(struct xlate_ctx *ctx);
/* Notes that the packet meets R, which counts it. */
void pipeline_note_rule(struct xlate_ctx *ctx, struct rule *r);
/* Does what is in the set of actions, which is then empty. */
void pipeline_do_set(struct xlate_ctx *ctx);
/* Does the action set, as the last that is done with the packet; and ends its way through the bridge with that. */
void pipeline_do_set_last(struct xlate_ctx *ctx);
void pipeline_finish(struct xlate_ctx *ctx);
/* Ends the packet's way through this bridge. */
void pipeline_fail(struct xlate_ctx *ctx, enum xlate_verdict fault);
/* Notes that SF has been looked at; returns whether the packet has its field. */
bool pipeline_look_at(struct xlate_ctx *ctx, const struct ofp_subfield *sf);
/* Has the packet meet table ID, as if it had come in by IN_PORT, and those that it goes to from there.  CT: for the first of them its
 * addresses and ports are those that its connection began with. */
void pipeline_table(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port, bool ct);
/* The same for a packet that comes to the tables from outside of them: if no rule matches it, it may be for controllers. */
void pipeline_enter(struct xlate_ctx *ctx, uint8_t id, ofp_port_t in_port);

/* Notes that the bits of LOOK have been looked at, in the packet as it is here. */
void pipeline_look(struct xlate_ctx *ctx, const struct flow *look);
/* Makes the bits of M->mask what M->flow says. */
void pipeline_write(struct xlate_ctx *ctx, const struct match *m);
/* What conntrack said of the packet is to be seen no more. */
void pipeline_untrack(struct xlate_ctx *ctx);
/* Copies SRC, which is in FROM, to DST, if the packet has that. */
void pipeline_write_subfield(struct xlate_ctx *ctx, const struct ofp_subfield *src, const struct flow *from, const struct ofp_subfield *dst);
/* The tags have been changed in 'vlan', or in 'flow': brings the other in line. */
void pipeline_tags_changed(struct xlate_ctx *ctx);
/* The same, after an action has put tags on or taken them off. */
void pipeline_tags_moved(struct xlate_ctx *ctx);
void pipeline_tags_written(struct xlate_ctx *ctx);

/* For a CTX that is traced: notes what the action set IS, or was. */
void pipeline_trace_set(struct xlate_ctx *ctx, const char *is);

/* Sends the packet to PORT, which may be reserved, as the action output does.  xlate-actions.c. */
void pipeline_output(struct xlate_ctx *ctx, ofp_port_t port);
/* Does ACTS, in order.  xlate-actions.c. */
void pipeline_actions(struct xlate_ctx *ctx, const struct ofp_act *acts, size_t len);

/* xlate-ct.c */
void pipeline_ct(struct xlate_ctx *ctx, const struct ofp_act_ct *a);
void pipeline_ct_clear(struct xlate_ctx *ctx);
/* Exchanges in F, a flow or a mask over one, the packet's addresses and ports with those that its connection began with.  IS: the flow. */
void pipeline_swap_ct(const struct flow *is, struct flow *f);
/* xlate-hash.c.  A hash of FIELDS (enum ofp_hash_fields), or of all that tells connections apart, the same for both directions; it has been looked at. */
uint64_t xlate_hash(struct xlate_ctx *ctx, unsigned int fields, uint64_t basis);
uint64_t xlate_hash_connection(struct xlate_ctx *ctx, uint64_t basis);
/* xlate-check-len.c.  A, and ACTS, which follow it in its list. */
void pipeline_check_pkt_larger(struct xlate_ctx *ctx, const struct ofp_act_check_pkt_larger *a, const struct ofp_act *acts, size_t len);
/* xlate-multipath.c */
/* Writes VALUE into DST, if the packet has that. */
void pipeline_write_u64(struct xlate_ctx *ctx, const struct ofp_subfield *dst, uint64_t value);
void pipeline_multipath(struct xlate_ctx *ctx, const struct ofp_act_multipath *a);
void pipeline_bundle(struct xlate_ctx *ctx, const struct ofp_act_bundle *a);
/* xlate-group.c */
void pipeline_group(struct xlate_ctx *ctx, uint32_t id);
/* xlate-learn.c */
void pipeline_learn(struct xlate_ctx *ctx, const struct ofp_act_learn *a);
void pipeline_fin_timeout(struct xlate_ctx *ctx, const struct ofp_act_fin_timeout *a);

#endif
