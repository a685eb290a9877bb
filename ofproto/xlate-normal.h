/* The NORMAL action: a learning switch with VLANs.  Private to xlate. */
#ifndef OFPROTO_XLATE_NORMAL_H
#define OFPROTO_XLATE_NORMAL_H 1

#include "ofproto/xlate.h"

struct xport;

/* The state of one translation.  'flow' is the packet as it is at this point of the way (a push or pop changes it here);
 * 'out->mask' is about the packet as it came in. */
struct xlate_ctx {
    const struct xconfig *config;
    const struct flow *in; /* As received. */
    struct flow *mask;     /* out->mask. */
    struct flow_vlan vlan[FLOW_MAX_VLANS + 1]; /* Tags that the packet should carry here, outermost first. */
    unsigned int n_vlans;
    struct flow_vlan wire[FLOW_MAX_VLANS + 1]; /* Tags that it carries, after the actions emitted so far. */
    unsigned int n_wire;
    unsigned int depth;
    unsigned int n_visits;
    struct xlate_out *out;
};

/* Sends the packet as it is in CTX into PORT's bridge, as if received there. */
enum xlate_verdict xlate_bridge(struct xlate_ctx *ctx, const struct xport *in_port);
/* Has CTX's packet leave by PORT: a datapath port, or through a patch port into the next bridge. */
void xlate_output(struct xlate_ctx *ctx, const struct xport *port);
enum xlate_verdict xlate_normal(struct xlate_ctx *ctx, const struct xport *in_port);

#endif
