/* Rewriting: from fields that translation has written to the datapath actions that write them into the packet.
 *
 * Translation works on a copy of the flow and writes fields as the tables say; nothing goes to the packet before it leaves, or
 * goes where the kernel looks at it.  Then odp_rewrite_commit() emits one SET for each header that was written to, with a
 * mask of the bits that were.  A field that the tables write needs no look at what it was: the kernel is told to write it
 * whatever was there, and the megaflow stays as wide.  Only where the megaflow is exact in those bits anyway, or where we wrote
 * them before, is a write that changes nothing left out.
 *
 * Tags (VLAN, MPLS) are not fields here: they are pushed and popped. */
#ifndef ODP_REWRITE_H
#define ODP_REWRITE_H 1

#include <stdbool.h>

#include "lib/pkt/flow.h"

struct attrbuf;

struct odp_rewrite {
    struct flow at;      /* The packet as it is on the wire now, so far as it is known. */
    struct flow known;   /* Bits of 'at' that it has been given by us. */
    struct flow written; /* Bits that translation has written since the last commit. */
    bool dirty;          /* Something has been written, ever: for who wants to spare the commit. */
    bool masked;         /* The kernel has OVS_ACTION_ATTR_SET_MASKED (Linux 4.0). */
};

/* A packet of FLOW that nothing has been written to. */
void odp_rewrite_init(struct odp_rewrite *r, const struct flow *flow, bool masked);

/* Appends to B what makes the packet equal to WANT in all bits that were written.  MASK is the megaflow's: what must be looked at is added (nothing, if
 * 'masked').  ARP, neighbour discovery and ICMP the kernel cannot write: then B has SETs that it would refuse, for odp_apply() (odp-apply.h), and
 * *SLOW becomes true (else it stays as it is).  Returns false if something was written that no packet like this has (a field of a header that it
 * does not have): that stays written. */
bool odp_rewrite_commit(struct odp_rewrite *r, struct attrbuf *b, const struct flow *want, struct flow *mask, bool *slow);

#endif
