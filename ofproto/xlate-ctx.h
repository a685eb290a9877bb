/* The state of one translation, and what its files offer each other.  Private to xlate*.c.
 *
 *     xlate.c            begins, leads from bridge to bridge, emits outputs
 *     xlate-pipeline.c   a bridge's OpenFlow tables: lookups, resubmits, the action set
 *     xlate-actions.c    each action
 *     xlate-ct.c         those of them that are about connections
 *     xlate-fence.c      keeping what conntrack does to a copy of the packet from the packet
 *     xlate-recirc.c     freezing, when the datapath is to bring the packet back, and going on when it has
 *     xlate-normal.c     the learning switch
 *     xlate-controller.c what goes to controllers
 *     xlate-meter.c      meters
 *     xlate-group.c      groups
 *     xlate-hash.c       hashes, by which packets are dealt out
 *     xlate-check-len.c  what depends on the packet's length
 *     xlate-multipath.c  links and ports that are chosen by them
 *
 * The packet at this point of its way is 'vlan' and, once a bridge has tables to match it with, 'flow'; out->mask is about the packet as it
 * came in.  'given' has the bits of 'flow' that do not come from the packet (a register, a field that was written): having looked at
 * them narrows the megaflow by nothing, since what they were given follows from bits that were looked at already. */
#ifndef OFPROTO_XLATE_CTX_H
#define OFPROTO_XLATE_CTX_H 1

#include "lib/base/buf.h"
#include "lib/odp/odp-rewrite.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-trace.h"
#include "ofproto/xlate.h"

struct frozen;
struct ofp_act;

/* What leads back (resubmits to the same table or an earlier one, clones), within one another; and tables altogether.  ovs-actions(7),
 * "Error Handling". */
#define XLATE_MAX_RESUBMIT_DEPTH 64
#define XLATE_MAX_RESUBMITS 4096

struct xlate_ctx {
    const struct xconfig *config;
    const struct xlate_in *start;
    const struct flow *in; /* As received. */
    struct flow *mask;     /* out->mask. */
    struct flow_vlan vlan[FLOW_MAX_VLANS + 1]; /* Tags that the packet should carry here, outermost first. */
    unsigned int n_vlans;
    struct flow_vlan wire[FLOW_MAX_VLANS + 1]; /* Tags that it carries, after the actions emitted so far. */
    unsigned int n_wire;
    unsigned int depth;
    unsigned int n_visits;
    struct xlate_out *out;
    struct xlate_trace *trace; /* NULL: nobody wants to know the steps. */
    bool conntracked;           /* What conntrack said of the packet is to be seen. */
    bool no_ids;                /* There was no recirculation id for it, in whichever bridge: no flow is to be made of that. */
    unsigned int n_cts;         /* Times that the packet was sent through conntrack, or a meter: what cannot be taken back. */
    unsigned int n_fences;      /* CLONE around what was. */
    bool unable; /* The packet was to be rewritten as nobody can. */
    uint32_t pid;  /* Where the kernel is to send what a userspace action hands up. */
    const struct xport *outside; /* A packet-out's that came in by no port (xlate_outside()).  Else NULL. */

    /* Once a bridge has tables. */
    bool piped;
    unsigned int n_resubmits, n_within;
    struct pipeline *pipeline; /* Of the bridge that the packet is in. */
    /* These are set up by the first such bridge, and are not to be looked at before. */
    struct flow flow;
    struct flow given;
    struct odp_rewrite rewrite;
};

/* The packet as it is here. */
static inline const struct flow *xlate_now(const struct xlate_ctx *ctx) { return ctx->piped ? &ctx->flow : ctx->in; }

/* Notes that LEN bytes at OFS of the packet as it is here have been looked at. */
static inline void xlate_look(struct xlate_ctx *ctx, size_t ofs, size_t len)
{
    uint8_t *mask = (uint8_t *) ctx->mask;
    const uint8_t *given = (const uint8_t *) &ctx->given;

    for (size_t i = ofs; i < ofs + len; i++) {
        mask[i] |= ctx->piped ? ~given[i] : 0xff;
    }
}
#define XLATE_LOOK(CTX, FIELD) xlate_look(CTX, offsetof(struct flow, FIELD), sizeof(((struct flow *) 0)->FIELD))

/* xlate.c */
/* Sends the packet as it is in CTX into PORT's bridge, as if received there. */
enum xlate_verdict xlate_bridge(struct xlate_ctx *ctx, const struct xport *in_port);
/* Has CTX's packet leave by PORT: a datapath port, or through a patch port into the next bridge. */
void xlate_output(struct xlate_ctx *ctx, const struct xport *port);
/* The same for at most the first MAX_LEN bytes of it, by a datapath port. */
void xlate_output_truncated(struct xlate_ctx *ctx, const struct xport *port, uint32_t max_len);
/* Emits what makes the packet on the wire what it is in CTX.  False: it cannot be, and does not leave. */
bool xlate_commit(struct xlate_ctx *ctx);
/* Begins with FLOW, which came in at PORT; what is to be translated is the caller's.  End with xlate_end(). */
void xlate_begin(struct xlate_ctx *ctx, const struct xconfig *config, const struct flow *flow, const struct xport *port, struct xlate_out *out);
void xlate_end(struct xlate_ctx *ctx, const char *port_name);

/* xlate-controller.c */
/* Some port that the kernel can send upcalls for, NULL if there is none: what is of no port of the datapath sends its own there. */
const struct xport *xlate_any_port(const struct xconfig *config);
/* Has the packet, as it is in CTX, go to the controllers whose id is CONTROLLER_ID, for REASON (enum ofp_packet_in_reason): MAX_LEN bytes of it, with
 * USERDATA (p NULL: none).  FLAGS: ODP_COOKIE_*. */
void xlate_controller(struct xlate_ctx *ctx, unsigned int reason, unsigned int flags, uint16_t controller_id, uint16_t max_len,
                      struct bytes userdata);
/* The same, of what meter METER_ID of the bridge lets pass; xlate_controller() goes by the meter `controller'.  One that is not there lets all
 * pass. */
void xlate_controller_metered(struct xlate_ctx *ctx, unsigned int reason, unsigned int flags, uint16_t controller_id, uint16_t max_len,
                              struct bytes userdata, uint32_t meter_id);

/* xlate-meter.c */
/* Has the datapath drop the packet, with all that is still to be done to it, if meter ID of the bridge says so. */
void xlate_meter(struct xlate_ctx *ctx, uint32_t id);
/* 1 + the datapath's number of the meter `slowpath' of PORT's bridge; 0: there is none. */
uint32_t xlate_slow_meter(const struct xport *port);

/* xlate-normal.c */
enum xlate_verdict xlate_normal(struct xlate_ctx *ctx, const struct xport *in_port);

/* xlate-pipeline.c */
enum xlate_verdict xlate_pipeline(struct xlate_ctx *ctx, const struct xport *in_port);
/* The same for a packet that has come back to bridge BR, where F says. */
enum xlate_verdict xlate_pipeline_resume(struct xlate_ctx *ctx, const struct xbridge *br, const struct frozen *f);

/* xlate-fence.c: what lies between the two has no consequence for the packet that goes on after it, though it may have been through
 * conntrack in between, been translated (nat), or rewritten. */
struct xlate_fence {
    size_t start;
    unsigned int n_cts;
    bool piped, conntracked;
    struct flow_vlan wire[FLOW_MAX_VLANS + 1];
    unsigned int n_wire;
    struct odp_rewrite rewrite; /* If 'piped'. */
};
void xlate_fence_begin(const struct xlate_ctx *ctx, struct xlate_fence *f);
void xlate_fence_end(struct xlate_ctx *ctx, const struct xlate_fence *f);
/* What has been emitted since F began is a copy's, by whatever it is in: the packet on the wire is what it was then. */
void xlate_fence_restore(struct xlate_ctx *ctx, const struct xlate_fence *f);
/* At the end of a translation: what nothing comes after needs no fence. */
void xlate_fence_last(struct xlate_ctx *ctx);

/* xlate-recirc.c */
/* The packet has a recirculation id: goes on where it was frozen. */
enum xlate_verdict xlate_resume(struct xlate_ctx *ctx);
/* The same for one that is of no port of the datapath. */
enum xlate_verdict xlate_resume_outside(struct xlate_ctx *ctx);
/* Has the datapath bring the packet back, a copy of it at this point, with what conntrack says of it if CONNTRACKED; it then goes on at
 * TABLE of the same bridge. */
void xlate_fork(struct xlate_ctx *ctx, uint8_t table, bool conntracked);

#endif
