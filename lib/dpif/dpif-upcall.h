/* The message that an upcall arrives as: struct dpif_upcall to and from generic netlink.
 *
 * The kernel provider reads it; the sim provider writes it, with the same attributes, so that what stands behind a
 * channel cannot be told by its messages. */
#ifndef DPIF_DPIF_UPCALL_H
#define DPIF_DPIF_UPCALL_H 1

#include <stddef.h>
#include <stdint.h>

struct dpif_upcall;

/* What a message of an upcall has besides its key, packet and user data; for sizing a buffer. */
#define DPIF_UPCALL_OVERHEAD 128

/* Reads the LEN bytes of message at MSG, whose family must be FAMILY and whose datapath DP_IFINDEX.  *RET points into
 * MSG.  -EINVAL: no upcall, malformed or truncated; -ESTALE: of another datapath. */
int dpif_upcall_msg_parse(uint16_t family, int dp_ifindex, const void *msg, size_t len, struct dpif_upcall *ret);

/* Writes UC as a message of FAMILY and DP_IFINDEX into the SIZE bytes at BUF, 4-byte aligned.  Returns its length, or
 * -EMSGSIZE: it does not fit, or a part is longer than an attribute can be. */
int dpif_upcall_msg_build(uint16_t family, int dp_ifindex, const struct dpif_upcall *uc, void *buf, size_t size);

#endif
