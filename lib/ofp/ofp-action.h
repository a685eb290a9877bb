/* Actions and instructions of OpenFlow.
 *
 * Inside they are a sequence of records, each headed by a struct ofp_act, 8-byte aligned, in the order in which they
 * are executed; instructions are records of their own (write_actions, goto_table...), and what stands outside of them
 * is apply_actions.  The same form serves all versions: what one of them cannot say is translated when it is encoded.
 * No record refers to memory outside of the sequence, so it may be copied and freed as bytes.
 *
 *     struct buf acts = BUF_INITIALIZER;
 *     enum ofp_error error = ofp_instructions_decode(data, len, version, &acts);
 *     if (!error) {
 *         error = ofp_acts_check(acts.data, acts.len, &check);
 *     }
 *     OFP_ACT_FOR_EACH (act, acts.data, acts.len) {
 *         switch ((enum ofp_act_type) act->type) {
 *         case OFP_ACT_OUTPUT: output(ofp_act_cast(act)) ...
 *
 * Whoever holds the buffer owns the records.  They change in ofp_acts_check() only, which notes in them what the
 * match says; afterwards they are constant, and any thread may read them.  All functions are pure. */
#ifndef OFP_ACTION_H
#define OFP_ACTION_H 1

#include <netinet/in.h>
#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/types.h"
#include "lib/ofp/ofp-action-list.h"
#include "lib/ofp/ofp-error.h"
#include "lib/ofp/ofp-field.h"

/* Lists within lists: more are refused (OFPBAC_TOO_MANY), on the wire and in text. */
#define OFP_ACT_MAX_DEPTH 64

#define OFP_MAX_TABLES 255

enum ofp_act_type {
#define OFP_ACT_ENUM(ID, ...) OFP_ACT_##ID,
    OFP_ACTIONS(OFP_ACT_ENUM)
#undef OFP_ACT_ENUM
        OFP_N_ACTS
};

/* In the order in which a flow has them. */
enum ofp_inst {
    OFP_INST_METER,
    OFP_INST_APPLY,
    OFP_INST_CLEAR,
    OFP_INST_WRITE,
    OFP_INST_METADATA,
    OFP_INST_GOTO,
    OFP_N_INSTS
};

struct ofp_act {
    uint32_t type : 8; /* enum ofp_act_type. */
    uint32_t len : 24; /* Bytes of the record, this and what is nested in it included; a multiple of 8. */
};

#define OFP_ACT_FOR_EACH(A, ACTS, LEN)                                                                                 \
    for (const struct ofp_act *A = (const void *) (ACTS), *A##_end = ofp_act_at_end((ACTS), (LEN)); A != A##_end;      \
         A = ofp_act_next(A))

static inline const struct ofp_act *ofp_act_at_end(const void *acts, size_t len)
{
    return acts ? (const struct ofp_act *) ((const uint8_t *) acts + len) : NULL;
}
static inline const struct ofp_act *ofp_act_next(const struct ofp_act *a)
{
    return (const struct ofp_act *) ((const uint8_t *) a + a->len);
}

/* POP_QUEUE, STRIP_VLAN, DEC_MPLS_TTL, CT_CLEAR, EXIT, DEBUG_RECIRC, CLEAR_ACTIONS. */
struct ofp_act_plain {
    struct ofp_act act;
    bool old; /* STRIP_VLAN: by its name in OpenFlow 1.0. */
};

/* The actions of OFP_NUMBER_ACTIONS, and GOTO_TABLE.  Addresses are numbers too: a MAC's first byte is bits 40 to 47.
 */
struct ofp_act_number {
    struct ofp_act act;
    uint8_t proto;       /* SET_L4_*: the flow's IP protocol; 0: not known. */
    bool push_if_needed; /* SET_VLAN_*: a packet without a tag gets one, as in OpenFlow 1.0. */
    bool has_vlan;       /* SET_VLAN_*: the flow's packets have a tag here. */
    bool wide;           /* SET_TUNNEL: by its form of 64 bits. */
    uint64_t n;
};

struct ofp_act_output {
    struct ofp_act act;
    ofp_port_t port;
    uint16_t max_len; /* For OFPP_CONTROLLER: bytes of the packet, 0xffff: all.  For others it means nothing. */
};

struct ofp_act_output_reg {
    struct ofp_act act;
    uint16_t max_len;
    struct ofp_subfield src;
};

#define OFP_TRUNC_MIN_LEN 14

struct ofp_act_output_trunc {
    struct ofp_act act;
    ofp_port_t port;
    uint32_t max_len;
};

enum ofp_packet_in_reason {
    OFPR_NO_MATCH,
    OFPR_ACTION,
    OFPR_INVALID_TTL,
    OFPR_ACTION_SET,
    OFPR_GROUP,
    OFPR_PACKET_OUT,
    OFPR_N_REASONS
};
#define OFP_NO_METER UINT32_MAX

struct ofp_act_controller {
    struct ofp_act act;
    uint16_t max_len, controller_id;
    uint8_t reason; /* enum ofp_packet_in_reason. */
    bool pause;
    uint16_t userdata_len;
    uint32_t meter_id; /* OFP_NO_METER: the bridge's, if it has one. */
    uint8_t userdata[];
};

struct ofp_act_enqueue {
    struct ofp_act act;
    ofp_port_t port;
    uint32_t queue;
};

enum ofp_hash_fields {
    OFP_HASH_ETH_SRC,
    OFP_HASH_SYMMETRIC_L4,
    OFP_HASH_SYMMETRIC_L3L4,
    OFP_HASH_SYMMETRIC_L3L4_UDP,
    OFP_HASH_NW_SRC,
    OFP_HASH_NW_DST,
    OFP_HASH_SYMMETRIC_L3,
    OFP_N_HASH_FIELDS
};

struct ofp_act_bundle {
    struct ofp_act act;
    bool hrw;        /* Highest random weight; else the first live member. */
    bool load;       /* Into 'dst'; else output to the member. */
    uint16_t fields; /* enum ofp_hash_fields. */
    uint16_t basis, n_members;
    struct ofp_subfield dst;
    ofp_port_t members[];
};

/* 'n_bytes' of value, then as many of mask; value bits outside of the mask are zero. */
struct ofp_act_set_field {
    struct ofp_act act;
    bool load; /* It came as load, of the bits that are in the mask. */
    const struct ofp_field *field;
    uint8_t data[];
};
static inline const uint8_t *ofp_set_field_mask(const struct ofp_act_set_field *a)
{
    return a->data + a->field->n_bytes;
}

struct ofp_act_move {
    struct ofp_act act;
    struct ofp_subfield src, dst; /* Of the same width. */
};

/* PUSH and POP. */
struct ofp_act_stack {
    struct ofp_act act;
    struct ofp_subfield sf;
};

struct ofp_act_dec_ttl {
    struct ofp_act act;
    bool listed; /* Ids were given; else there is one, 0. */
    uint16_t n_ids;
    uint16_t ids[];
};

struct ofp_act_resubmit {
    struct ofp_act act;
    ofp_port_t in_port; /* OFPP_IN_PORT: as it is. */
    uint8_t table;      /* OFP_TABLE_ALL: that of the flow. */
    bool ct;            /* With the 5-tuple of the connection's original direction. */
};

/* A match or an action of a flow that is learned. */
struct ofp_learn_spec {
    enum { OFP_LEARN_MATCH, OFP_LEARN_LOAD, OFP_LEARN_OUTPUT } to;
    bool immediate; /* The value is in 'value'; else it comes from 'src'. */
    uint16_t n_bits;
    struct ofp_subfield src;
    struct ofp_subfield dst; /* Of OUTPUT: none. */
    union ofp_value value;   /* Right-aligned in (n_bits + 7) / 8 bytes. */
};

enum { OFP_LEARN_F_SEND_FLOW_REM = 1, OFP_LEARN_F_DELETE_LEARNED = 2, OFP_LEARN_F_WRITE_RESULT = 4 };

struct ofp_act_learn {
    struct ofp_act act;
    uint8_t table;
    uint16_t idle_timeout, hard_timeout, fin_idle_timeout, fin_hard_timeout, priority;
    uint16_t flags; /* OFP_LEARN_F_*. */
    uint64_t cookie;
    uint32_t limit; /* 0: none. */
    uint32_t n_specs;
    struct ofp_subfield result_dst; /* If OFP_LEARN_F_WRITE_RESULT. */
    struct ofp_learn_spec specs[];
};

struct ofp_act_fin_timeout {
    struct ofp_act act;
    uint16_t idle, hard;
};

struct ofp_act_conjunction {
    struct ofp_act act;
    uint8_t clause, n_clauses; /* The first clause is 0. */
    uint32_t id;
};

enum ofp_multipath_algorithm {
    OFP_MP_MODULO_N,
    OFP_MP_HASH_THRESHOLD,
    OFP_MP_HRW,
    OFP_MP_ITER_HASH,
    OFP_N_MP_ALGORITHMS
};

struct ofp_act_multipath {
    struct ofp_act act;
    uint16_t fields; /* enum ofp_hash_fields. */
    uint16_t basis;
    uint16_t algorithm; /* enum ofp_multipath_algorithm. */
    uint16_t max_link;  /* One less than the number of links. */
    uint32_t arg;
    struct ofp_subfield dst;
};

struct ofp_act_check_pkt_larger {
    struct ofp_act act;
    uint16_t pkt_len;
    struct ofp_subfield dst; /* One bit. */
};

enum { OFP_CT_F_COMMIT = 1, OFP_CT_F_FORCE = 2 };

/* Nested: at most one NAT, and SET_FIELD and MOVE to ct_mark and ct_label. */
struct ofp_act_ct {
    struct ofp_act act;
    uint16_t flags; /* OFP_CT_F_*. */
    uint16_t zone;  /* If 'zone_src' has no field. */
    uint16_t alg;   /* IPPORT_FTP, IPPORT_TFTP, 0: none. */
    uint8_t table;  /* OFP_TABLE_ALL: the packet does not come back. */
    struct ofp_subfield zone_src;
    struct ofp_act acts[];
};

enum { OFP_NAT_F_SRC = 1, OFP_NAT_F_DST = 2, OFP_NAT_F_PERSISTENT = 4, OFP_NAT_F_HASH = 8, OFP_NAT_F_RANDOM = 16 };

struct ofp_act_nat {
    struct ofp_act act;
    uint16_t flags;
    uint8_t family;              /* AF_INET, AF_INET6, 0: no address. */
    uint16_t port_min, port_max; /* 0: none. */
    union {
        be32 v4;
        struct in6_addr v6;
    } min, max; /* 'max' zero: only 'min'. */
};

/* CLONE and WRITE_ACTIONS. */
struct ofp_act_nest {
    struct ofp_act act;
    uint32_t pad;
    struct ofp_act acts[];
};

/* Of what is nested in an action: nothing for most. */
const struct ofp_act *ofp_act_nested(const struct ofp_act *a, size_t *ret_len);

struct ofp_act_sample {
    struct ofp_act act;
    uint16_t probability; /* Of 65535; not 0. */
    ofp_port_t sampling_port;
    uint32_t collector_set_id, obs_domain_id, obs_point_id;
    enum { OFP_SAMPLE_DEFAULT, OFP_SAMPLE_INGRESS, OFP_SAMPLE_EGRESS } direction;
};

struct ofp_act_note {
    struct ofp_act act;
    uint32_t len;
    uint8_t data[];
};

struct ofp_act_metadata {
    struct ofp_act act;
    uint64_t value, mask;
};

/* The record as what it is; the caller has looked at its type. */
#define ofp_act_cast(A) ((const void *) (A))

const char *ofp_act_name(enum ofp_act_type type);
enum ofp_inst ofp_act_instruction(enum ofp_act_type type);
bool ofp_act_may_be_in_set(enum ofp_act_type type);
/* Same records?  (Context that ofp_acts_check() noted counts too.) */
bool ofp_acts_equal(const void *a, size_t a_len, const void *b, size_t b_len);
/* Does any action, nested ones too, send to PORT, or to GROUP? */
bool ofp_acts_output_to_port(const void *acts, size_t len, ofp_port_t port);
bool ofp_acts_output_to_group(const void *acts, size_t len, uint32_t group);

/* ---- Making records. ---- */

/* Appends a record of SIZE bytes, zero but for its head, and returns it; valid until the next put. */
void *ofp_act_put(struct buf *acts, enum ofp_act_type type, size_t size);
/* The same for one that others are nested in, or that grows: returns its offset; the end pads it and sets its length.
 */
size_t ofp_act_begin(struct buf *acts, enum ofp_act_type type, size_t size);
void ofp_act_end(struct buf *acts, size_t start);
static inline void *ofp_act_at(struct buf *acts, size_t start) { return acts->data + start; }
/* Appends SET_FIELD of all of FIELD. */
void ofp_act_put_set_field(struct buf *acts, const struct ofp_field *field, const union ofp_value *value);
/* The same as load, of the bits of MASK; others of VALUE are zero. */
void ofp_act_put_load(struct buf *acts, const struct ofp_field *field, const union ofp_value *value, const union ofp_value *mask);

/* ---- The wire. ---- */

/* Append to ACTS what the LEN bytes at DATA say in VERSION: a list of actions (of a packet-out or a bucket), the
 * instructions of a flow (in 1.0: its actions), an action set.  On error ACTS is as it was. */
enum ofp_error ofp_actions_decode(const void *data, size_t len, enum ofp_version version, struct buf *acts);
enum ofp_error ofp_instructions_decode(const void *data, size_t len, enum ofp_version version, struct buf *acts);
enum ofp_error ofp_action_set_decode(const void *data, size_t len, enum ofp_version version, struct buf *acts);
/* Append to WIRE a list of actions in VERSION, or instructions; for 1.0 both are a list.  Those for which VERSION has
 * no form are translated into others, or left out (clear_actions, write_actions and meter in 1.0). */
void ofp_actions_encode(const void *acts, size_t len, enum ofp_version version, struct buf *wire);
void ofp_instructions_encode(const void *acts, size_t len, enum ofp_version version, struct buf *wire);

/* ---- Checking against a flow. ---- */

struct ofp_check {
    const struct flow *flow;  /* What the match is exact about; elsewhere zero. */
    bool any_flow;            /* Nothing is known of it (a bucket's): what may be there is taken to be. */
    enum ofp_version version; /* 1.0 lets actions be that do not fit the match. */
    uint8_t table;            /* That of the flow; OFP_TABLE_ALL: not known. */
    uint16_t n_tables;        /* Of the bridge. */
    uint16_t max_ports;       /* Port numbers from here to OFPP_MAX do not exist. */
};

/* May a flow have these actions?  Ports, tables, prerequisites.  OFPBAC_MATCH_INCONSISTENT, _BAD_OUT_PORT,
 * OFPBIC_BAD_TABLE_ID... */
enum ofp_error ofp_acts_check(void *acts, size_t len, const struct ofp_check *check);

/* ---- Text. ---- */

/* Names of ports and tables.  Each function may be NULL, and may return NULL or false. */
struct ofp_act_names {
    const char *(*port)(ofp_port_t port, void *aux);
    const char *(*table)(uint8_t table, void *aux);
    bool (*find_port)(const char *name, ofp_port_t *ret_port, void *aux);
    bool (*find_table)(const char *name, uint8_t *ret_table, void *aux);
    void *aux;
};

/* As `ovs-ofctl dump-flows` prints them: "resubmit(,1),output:2", "drop".  NAMES may be NULL. */
void ofp_acts_print(FILE *out, const void *acts, size_t len, const struct ofp_act_names *names);
/* Appends what TEXT says, in the form of ovs-actions(7).  Returns NULL, or what is wrong, to be freed; ACTS is then as
 * it was. */
char *ofp_acts_scan(const char *text, const struct ofp_act_names *names, struct buf *acts);

#endif
