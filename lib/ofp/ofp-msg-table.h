/* OpenFlow messages about tables.
 *
 * See ofp-msg.h for the rules of all decoders and encoders. */
#ifndef OFP_MSG_TABLE_H
#define OFP_MSG_TABLE_H 1

#include "lib/ofp/ofp-msg.h"

/* TABLE_STATS. */
struct ofp_table_stats {
    uint8_t table_id;
    const char *name;   /* 1.0, as the next two. */
    uint32_t wildcards; /* Of OpenFlow 1.0's match. */
    uint32_t max_entries;
    uint32_t active_count;
    uint64_t lookup_count, matched_count;
};
int ofp_reply_table_stats(struct ofp_reply *r, const struct ofp_table_stats *stats);

/* TABLE_FEATURES.  Only asking is possible: a request with a body gets OFPTFFC_EPERM. */
enum ofp_error ofp_decode_table_features_request(const struct ofp_msg *msg);
struct ofp_table_features {
    uint8_t table_id;
    const char *name;
    uint64_t metadata_match, metadata_write; /* Bits that can be matched, and written. */
    bool eviction, vacancy;                  /* Can the table do it (1.4 and later)? */
    uint32_t max_entries;
    uint32_t instructions;  /* Bit N: the instruction of type N, below 32. */
    uint64_t write_actions; /* Bit N: the action of type N, in an action set. */
    uint64_t apply_actions; /* The same, in a list. */
    struct bytes next;      /* Numbers of the tables that can follow, a byte each. */
    /* Headers of OXM fields that can be matched, that can have a mask or be missing in a match, and that can be set: */
    struct bytes match, wildcards, set_fields;
};
/* What a table can do for packets without a match is the same, and so is not said.  -EMSGSIZE. */
int ofp_reply_table_features(struct ofp_reply *r, const struct ofp_table_features *features);

/* TABLE_MOD, TABLE_DESC. */
enum ofp_eviction_flag { OFPTMPEF_OTHER = 1 << 0, OFPTMPEF_IMPORTANCE = 1 << 1, OFPTMPEF_LIFETIME = 1 << 2 };
enum ofp_table_switch { OFP_TABLE_UNCHANGED, OFP_TABLE_OFF, OFP_TABLE_ON };
struct ofp_table_mod {
    uint8_t table_id; /* OFP_TABLE_ALL. */
    /* 1.4 and later. */
    enum ofp_table_switch eviction, vacancy;
    uint32_t eviction_flags;          /* OFPTMPEF_*; 0: not said. */
    uint8_t vacancy_down, vacancy_up; /* Percent. */
};
/* OFPTMFC_BAD_CONFIG, OFPBPC_*. */
enum ofp_error ofp_decode_table_mod(const struct ofp_msg *msg, struct ofp_table_mod *ret_mod);

struct ofp_table_desc {
    uint8_t table_id;
    bool eviction, vacancy;
    uint32_t eviction_flags;
    uint8_t vacancy_down, vacancy_up, vacancy_now;
};
int ofp_reply_table_desc(struct ofp_reply *r, const struct ofp_table_desc *desc);

#endif
