/* What two sides of an OpenFlow connection say before they have agreed on a version.
 *
 * A set of versions is a bitmap: bit N for the version that headers call N (1 is OpenFlow 1.0, 4 is 1.3).  Pure; any
 * thread. */
#ifndef OFP_HELLO_H
#define OFP_HELLO_H 1

#include <stddef.h>
#include <stdint.h>

#define OFP_HELLO_MAX 16 /* Bytes of the HELLO that we send. */

/* Writes the HELLO that offers VERSIONS, which is not empty.  Returns its length.  As the field does it, it has a
 * bitmap only if the highest version does not say all, that is if VERSIONS has gaps. */
size_t ofp_hello_encode(uint32_t versions, uint32_t xid, uint8_t buf[OFP_HELLO_MAX]);
/* The versions that the HELLO of LEN >= 8 bytes at MSG offers: its bitmap's, else all up to the header's.  Elements
 * that are unknown, and whatever follows a malformed one, are ignored. */
uint32_t ofp_hello_versions(const uint8_t *msg, size_t len);
/* The version to speak: the highest that both have; 0 for none. */
uint8_t ofp_hello_choose(uint32_t ours, uint32_t theirs);
/* "We support version 0x04, you support versions 0x01, 0x02, no common versions.", to be freed. */
char *ofp_hello_mismatch(uint32_t ours, uint32_t theirs);

#endif
