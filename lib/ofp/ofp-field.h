/* Fields of OpenFlow: one description each, from which decoder, encoder, matcher and printer work.
 *
 * A field is a range of bits of struct flow.  Its value outside of that is a union ofp_value: big-endian, right-aligned
 * in the field's n_bytes, as on the wire.  All of this is pure, and the descriptions are constant: any thread. */
#ifndef OFP_FIELD_H
#define OFP_FIELD_H 1

#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/types.h"
#include "lib/ofp/ofp-error.h"
#include "lib/ofp/ofp-field-list.h"
#include "lib/pkt/match.h"

#define OFP_FIELD_MAX_BYTES 16

union ofp_value {
    uint8_t b[OFP_FIELD_MAX_BYTES]; /* The first n_bytes. */
};

enum ofp_field_id {
#define OFP_FIELD_ENUM(ID, ...) OFP_FIELD_##ID,
    OFP_FIELDS(OFP_FIELD_ENUM)
#undef OFP_FIELD_ENUM
        OFP_N_FIELDS
};

enum ofp_format {
    OFP_FORMAT_DECIMAL,
    OFP_FORMAT_HEX,
    OFP_FORMAT_MAC,
    OFP_FORMAT_IPV4,
    OFP_FORMAT_IPV6,
    OFP_FORMAT_PORT,     /* Of OpenFlow 1.0, 16 bits: by number or reserved name. */
    OFP_FORMAT_PORT_OXM, /* The same in 32 bits. */
    OFP_FORMAT_FRAG,
    OFP_FORMAT_TCP_FLAGS,
    OFP_FORMAT_CT_STATE,
    OFP_FORMAT_TUN_FLAGS,
    OFP_FORMAT_PACKET_TYPE,
};

/* What a packet (or a match) must be for a field to exist in it; from MPLS on those that look at the Ethernet type. */
enum ofp_prereq {
    OFP_PREREQ_NONE,
    OFP_PREREQ_ETHERNET,
    OFP_PREREQ_VLAN,
    OFP_PREREQ_CT,
    OFP_PREREQ_MPLS,
    OFP_PREREQ_IPV4,
    OFP_PREREQ_IPV6,
    OFP_PREREQ_IP, /* Of either version. */
    OFP_PREREQ_ARP,
    OFP_PREREQ_NSH,
    OFP_PREREQ_TCP,
    OFP_PREREQ_UDP,
    OFP_PREREQ_SCTP,
    OFP_PREREQ_ICMPV4,
    OFP_PREREQ_ICMPV6,
    OFP_PREREQ_ND,
    OFP_PREREQ_ND_SOLICIT,
    OFP_PREREQ_ND_ADVERT,
};

/* Classes of headers. */
enum {
    OFP_CLASS_NXM_OF = 0x0000,
    OFP_CLASS_NXM_NX = 0x0001,
    OFP_CLASS_OXM_OF = 0x8000,
    OFP_CLASS_OXM_OF_PKT = 0x8001, /* Packet registers. */
    OFP_CLASS_EXPERIMENTER = 0xffff,
};
#define OFP_EXPERIMENTER_ONF ONF_VENDOR_ID
#define OFP_EXPERIMENTER_NSH 0x005ad650

/* How the wire names a field.  'name' is NULL if it does not in this way. */
struct ofp_header {
    const char *name; /* "NXM_OF_ETH_SRC", as in actions' text. */
    uint16_t class;
    uint8_t number;        /* 0 to 127. */
    uint8_t version;       /* The first OpenFlow version that has it, an enum ofp_version (1.2 counts as 1.3). */
    uint32_t experimenter; /* If the class is OFP_CLASS_EXPERIMENTER. */
};

/* Where a field is in struct flow. */
enum ofp_place_kind { OFP_PLACE_BE, OFP_PLACE_HOST, OFP_PLACE_PORT32, OFP_PLACE_PACKET_TYPE };
struct ofp_place {
    enum ofp_place_kind kind;
    uint16_t ofs;
    uint8_t size;  /* Bytes; more than 8 only without a shift. */
    uint8_t shift; /* Bits of the integer there, below the field's. */
};

struct ofp_field {
    enum ofp_field_id id;
    const char *name, *alias; /* As in ovs-fields(7); alias may be NULL. */
    uint16_t n_bytes, n_bits; /* On the wire; of them significant (the low ones). */
    bool maskable, writable;
    enum ofp_prereq prereq;
    enum ofp_format format;
    struct ofp_place place;
    struct ofp_header nxm, oxm, et;
};

const struct ofp_field *ofp_field(enum ofp_field_id id);
/* By name, alias, or the name of one of its headers (the LEN bytes at NAME; case counts); NULL if there is none. */
const struct ofp_field *ofp_field_by_name(const char *name, size_t len);
/* NULL if there is none.  EXPERIMENTER counts in its class only. */
const struct ofp_field *ofp_field_by_header(uint16_t class, uint8_t number, uint32_t experimenter);
/* The header that names FIELD in VERSION: NXM in OpenFlow 1.0, else OXM, if there is one.  NULL: the wire has none. */
const struct ofp_header *ofp_field_header(const struct ofp_field *field, enum ofp_version version);

/* ---- Values. ---- */

void ofp_field_get(const struct ofp_field *field, const struct flow *flow, union ofp_value *ret_value);
/* A value of VLAN fields makes a tag be there, or (vlan_tci without its bit 12) not. */
void ofp_field_set(const struct ofp_field *field, const union ofp_value *value, struct flow *flow);
/* Of the bits of FIELD, those that MATCH looks at. */
void ofp_field_get_mask(const struct ofp_field *field, const struct match *match, union ofp_value *ret_mask);
/* Makes MATCH look at that packets are of Ethernet if FIELD is in those only, and at those bits of FIELD that are in
 * MASK (NULL: at all), for those of VALUE.  Others of its bits stay. */
void ofp_field_set_match(const struct ofp_field *field, const union ofp_value *value, const union ofp_value *mask,
                         struct match *match);
/* Adds all of FIELD to MASK: for who has looked at it. */
void ofp_field_unwildcard(const struct ofp_field *field, const struct flow *flow, struct flow *mask);
/* All bits of FIELD. */
void ofp_field_ones(const struct ofp_field *field, union ofp_value *ret_mask);
bool ofp_value_is_zero(const union ofp_value *v, size_t n_bytes);
uint64_t ofp_value_get_u64(const union ofp_value *v, size_t n_bytes); /* The low 64 bits. */
void ofp_value_put_u64(union ofp_value *v, size_t n_bytes, uint64_t number);

/* Does FLOW have FIELD?  MASK, unless NULL, gets what was looked at. */
bool ofp_field_prereqs_ok(const struct ofp_field *field, const struct flow *flow, struct flow *mask);
/* Has every packet of MATCH, as far as it says, FIELD? */
bool ofp_field_match_prereqs_ok(const struct ofp_field *field, const struct match *match);
/* Is VALUE one that FIELD can have?  (No bits beyond n_bits; a port that exists in 16 bits; the lower bits of nw_tos
 * zero...) */
bool ofp_field_value_ok(const struct ofp_field *field, const union ofp_value *value);

/* ---- Text. ---- */

/* VALUE under MASK (NULL: all of it) as in flows' text, without the name. */
void ofp_field_print(FILE *out, const struct ofp_field *field, const union ofp_value *value,
                     const union ofp_value *mask);
/* Reads all of TEXT, "VALUE" or "VALUE/MASK".  Returns NULL, or in words what would be right, to be freed by the
 * caller. */
char *ofp_field_scan(const struct ofp_field *field, const char *text, union ofp_value *ret_value,
                     union ofp_value *ret_mask);
/* OpenFlow's name of a reserved port number, or NULL. */
const char *ofp_port_name(uint16_t port);
/* A number below 65536, or a reserved name in any case. */
bool ofp_port_scan(const char *text, uint16_t *ret_port);

/* ---- Subfields. ---- */

/* A range of bits of a field, as in NXM_NX_REG0[0..15]. */
struct ofp_subfield {
    const struct ofp_field *field;
    uint16_t ofs, n_bits;
};

/* The low 64 bits of SF in FLOW. */
uint64_t ofp_subfield_get_u64(const struct ofp_subfield *sf, const struct flow *flow);
void ofp_subfield_set_u64(const struct ofp_subfield *sf, uint64_t value, struct flow *flow);
/* Copies as many bits as the narrower has; a wider DST gets zeros above. */
void ofp_subfield_copy(const struct ofp_subfield *src, const struct flow *from, const struct ofp_subfield *dst,
                       struct flow *to);
/* Adds SF's bits to MASK, which is over FLOW. */
void ofp_subfield_unwildcard(const struct ofp_subfield *sf, struct flow *mask);
/* The bits of SF, right-aligned in a value of *RET_N_BYTES, as learn() and the stack have them. */
void ofp_subfield_get(const struct ofp_subfield *sf, const struct flow *flow, union ofp_value *ret_value,
                      size_t *ret_n_bytes);
/* The other way: BITS, right-aligned in (n_bits + 7) / 8 bytes, as a value of SF's field and the mask of what of it is SF. */
void ofp_subfield_place(const struct ofp_subfield *sf, const union ofp_value *bits, union ofp_value *ret_value, union ofp_value *ret_mask);
/* Reads "FIELD[A..B]", "FIELD[A]", "FIELD[]" or "FIELD".  Returns NULL, or what is wrong, to be freed by the caller. */
char *ofp_subfield_scan(const char *text, struct ofp_subfield *ret_sf);
void ofp_subfield_print(FILE *out, const struct ofp_subfield *sf);
/* Is SF inside its field, with at least one bit?  For what comes from the wire: OFPBAC_BAD_ARGUMENT. */
enum ofp_error ofp_subfield_check(const struct ofp_subfield *sf);

/* ---- Headers on the wire (ofp-header.c). ---- */

/* Takes a header off B: 4 bytes, of an experimenter 8.  *RET_FIELD is NULL if it names no field of ours.  Errors:
 * OFPBMC_BAD_LEN if B is too short, or a length that *RET_FIELD cannot have. */
enum ofp_error ofp_header_pull(struct bytes *b, const struct ofp_field **ret_field, bool *ret_has_mask,
                               size_t *ret_payload);
/* Takes header, value and mask off B, as in set_field and reg_load2 too.  Without a mask on the wire *RET_MASK is all
 * ones. */
enum ofp_error ofp_entry_pull(struct bytes *b, const struct ofp_field **ret_field, union ofp_value *ret_value,
                              union ofp_value *ret_mask);
/* Appends the header of FIELD as VERSION has it, announcing what follows; and an entry (MASK NULL: without).  The field
 * must have a header. */
void ofp_header_put(struct buf *b, const struct ofp_field *field, enum ofp_version version, bool has_mask);
void ofp_entry_put(struct buf *b, const struct ofp_field *field, enum ofp_version version, const union ofp_value *value,
                   const union ofp_value *mask);

#endif
