/* Matches of OpenFlow: on the wire in three forms, and in text.
 *
 * - ofp10_match, OpenFlow 1.0's 40 bytes with wildcard bits;
 * - NXM, a list of entries of header, value and mask (ofp-header.c), in Nicira's extensions of 1.0;
 * - OXM, such a list behind a header and padded, in 1.2 and later.
 * Decoders trust nothing, return the error that the switch is to answer, and leave *RET_MATCH alone if there is one.
 * Pure; any thread. */
#ifndef OFP_MATCH_H
#define OFP_MATCH_H 1

#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/ofp/ofp-error.h"
#include "lib/pkt/match.h"

#define OFP10_MATCH_LEN      40
#define OFP_DEFAULT_PRIORITY 0x8000

/* What is in lists of entries beside fields of packets, in NXM's flow mods and statistics requests. */
struct ofp_match_cookie {
    uint64_t cookie, mask; /* Host order.  Both 0: there was none. */
};

/* Reads the N bytes at P, which are entries and nothing else.  STRICT: a field that we do not know is OFPBMC_BAD_FIELD,
 * one without what it requires before it OFPBMC_BAD_PREREQ; else the one is skipped, and the other is let pass, as for
 * what another switch has sent.  RET_COOKIE may be NULL: then there may be none. */
enum ofp_error ofp_match_pull_nxm(const void *p, size_t n, bool strict, struct match *ret_match,
                                  struct ofp_match_cookie *ret_cookie);
/* Takes an ofp_match with its padding off B. */
enum ofp_error ofp_match_pull_oxm(struct bytes *b, bool strict, struct match *ret_match);
/* All values of an ofp10_match are allowed; what the packet type or the wildcards make meaningless is not looked at. */
void ofp_match_from_ofp10(const uint8_t p[OFP10_MATCH_LEN], struct match *ret_match);

/* Appends MATCH as entries without header and padding; returns their length.  COOKIE may be NULL. */
size_t ofp_match_put_nxm(struct buf *b, const struct match *match, const struct ofp_match_cookie *cookie);
/* Appends MATCH as an ofp_match of VERSION (1.3 or later) with its padding; returns the length without that. */
size_t ofp_match_put_oxm(struct buf *b, const struct match *match, enum ofp_version version);
/* Appends MATCH as ofp10_match.  What this form cannot say is left out, and the match is wider then. */
void ofp_match_put_ofp10(struct buf *b, const struct match *match);

/* Clears what MATCH looks at in fields that its packets do not have, such as an IPv4 address without the Ethernet type.
 * Fields of the connection are left alone. */
void ofp_match_normalize(struct match *match);

/* Prints MATCH as `ovs-ofctl dump-flows` does: "priority=5,ip,in_port=1,nw_src=10.0.0.0/8"; nothing if there is nothing
 * to print. A PRIORITY of OFP_DEFAULT_PRIORITY is not. */
void ofp_match_print(FILE *out, const struct match *match, int priority);
/* Reads TEXT, fields "NAME=VALUE" and protocols "NAME" with commas or spaces between them, in any order.  Returns NULL,
 * or what is wrong in words, to be freed by the caller; *RET_MATCH is untouched then. */
char *ofp_match_scan(const char *text, struct match *ret_match);

#endif
