/* Datapath flow keys and masks: netlink attributes (OVS_KEY_ATTR_*) to and from struct flow and text.
 *
 * The numbers and layouts are the kernel's uAPI (linux/openvswitch.h).  Attribute types above what this file knows
 * are skipped when a key is read (a newer kernel sends them), and counted as "not understood": a flow with such a
 * field must not be given a mask that wildcards it. */
#ifndef ODP_KEY_H
#define ODP_KEY_H 1

#include <linux/netlink.h>
#include <stdio.h>

#include "lib/base/types.h"
#include "lib/nl/attrbuf.h"

struct flow;

/* Enough for any key or mask that this file writes. */
#define ODP_KEY_MAX_SIZE 1024

enum odp_key_fit {
    ODP_FIT_PERFECT,    /* Every attribute is represented in struct flow. */
    ODP_FIT_TOO_MUCH,   /* There were attributes that we do not know. */
    ODP_FIT_ERROR,      /* Malformed. */
};

/* Reads the key in LEN bytes of attributes at KEY into *FLOW, which it zeroes first. */
enum odp_key_fit odp_key_to_flow(const struct nlattr *key, size_t len, struct flow *flow);
/* Reads a mask for FLOW's kind of packet into *MASK.  LEN 0 (no mask attribute at all): exact match, all ones in
 * the fields that FLOW has. */
enum odp_key_fit odp_mask_to_flow(const struct nlattr *mask, size_t len, const struct flow *flow,
                                  struct flow *ret_mask);

/* Appends the attributes that describe FLOW. */
void odp_key_put(struct attrbuf *b, const struct flow *flow);
/* For a flow that is to be put with MASK: also attributes that are zero in FLOW and that MASK looks at, which
 * odp_key_put() leaves out because not every kernel knows them (CT_*, IPV6_EXTHDRS).  The kernel refuses a mask
 * over an attribute that the key does not have. */
void odp_key_put_masked(struct attrbuf *b, const struct flow *flow, const struct flow *mask);
/* Appends the mask MASK for FLOW; attributes whose mask is all zero are left out. */
void odp_mask_put(struct attrbuf *b, const struct flow *flow, const struct flow *mask);

/* The unique flow identifier of a megaflow: a hash of its key in the bits of its mask and of the mask, the same in
 * every process, so that a restarted daemon knows its flows again, and two handlers that translate two packets of one
 * megaflow agree. */
struct ufid odp_ufid(const struct flow *flow, const struct flow *mask);

/* Port names for printing: returns the name of PORT or NULL. */
typedef const char *odp_port_namer(odp_port_t port, void *aux);
struct odp_names {
    odp_port_namer *name; /* NULL: print numbers. */
    void *aux;
};

/* Prints KEY under MASK as `ovs-dpctl dump-flows` does.  VERBOSE (-m): also fields that are wildcarded.  Pass
 * MASK_LEN 0 for an exact match. */
void odp_key_print(FILE *out, const struct nlattr *key, size_t key_len, const struct nlattr *mask, size_t mask_len,
                   const struct odp_names *names, bool verbose);
void odp_ufid_print(FILE *out, const struct ufid *ufid); /* ufid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */

/* Reads text as odp_key_print() writes it into KEY and MASK.  Returns NULL, or an error in words, to be freed. */
char *odp_key_scan(const char *text, struct attrbuf *key, struct attrbuf *mask);
bool odp_ufid_scan(const char *text, struct ufid *ret_ufid); /* With or without "ufid:". */

#endif
