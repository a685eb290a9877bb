/* A first look at an upcall's flow key, before it waits: who may wait where.
 *
 * One pass over the attributes, no copy: this is done to every upcall, also to those that are then dropped. */
#ifndef OFPROTO_UPCALL_PEEK_H
#define OFPROTO_UPCALL_PEEK_H 1

#include <linux/netlink.h>

#include "lib/base/types.h"

struct upcall_peek {
    odp_port_t port; /* ODPP_NONE: the key does not say. */
    bool control;    /* LACP and other slow protocols, STP, BFD, ARP, neighbour discovery. */
    /* Of the addresses and ports, and of nothing that differs between the packets of one connection in one direction (TCP flags,
     * recirculation, marks): packets of equal hash are served in the order in which they came. */
    uint64_t flow_hash;
};

/* Looks at the LEN bytes of attributes at KEY.  What is malformed there is found when the key is parsed. */
struct upcall_peek upcall_peek(const struct nlattr *key, size_t len);

#endif
