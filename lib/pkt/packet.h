/* From the bytes of an Ethernet frame to the fields of a flow. */
#ifndef PKT_PACKET_H
#define PKT_PACKET_H 1

#include <stddef.h>

struct flow;

#define ETH_HEADER_LEN 14

/* Fills the L2 to L4 fields of *FLOW (eth_src to nsh) from the LEN bytes at FRAME as the kernel datapath would;
 * what the packet does not have becomes zero, metadata, tunnel and the pipeline's fields are left alone.  A header that is cut off or
 * malformed leaves the fields of its layer and those above zero, which is no error.  Returns 0, or -EINVAL if the
 * frame is shorter than an Ethernet header, with *FLOW untouched. */
int packet_extract(const void *frame, size_t len, struct flow *flow);

#endif
