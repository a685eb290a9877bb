/* Rewriting of a packet's bytes, where the kernel has no action for it: ARP, neighbour discovery, ICMP and ICMPv6.
 *
 * What is to be written comes as the SET or SET_MASKED that the kernel would be given if it knew how (odp-rewrite.h). */
#ifndef ODP_APPLY_H
#define ODP_APPLY_H 1

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>

/* Is ACTION such a one, well-formed? */
bool odp_is_slow_set(const struct nlattr *action);
/* Carries out ACTION, which is one, on the LEN bytes at FRAME, with the checksum that covers them.  A header that the frame does not have, or that is
 * cut off, is left alone, as are options of neighbour discovery that are not there. */
void odp_apply(void *frame, size_t len, const struct nlattr *action);

#endif
