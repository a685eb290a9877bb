/* Messages about groups, of OpenFlow 1.3, 1.4, 1.5, and of Nicira's extension to 1.0, which has the form of 1.5.  See ofp-msg.h. */
#ifndef OFP_MSG_GROUP_H
#define OFP_MSG_GROUP_H 1

#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-msg-flow.h"
#include "lib/ofp/ofp-msg.h"

/* Numbers of groups; OFPG_ANY is in ofp-msg-flow.h. */
#define OFPG_MAX 0xffffff00u
#define OFPG_ALL 0xfffffffcu

enum ofp_group_command {
    OFPGC_ADD,
    OFPGC_MODIFY,
    OFPGC_DELETE,
    OFPGC_INSERT_BUCKET,
    OFPGC_REMOVE_BUCKET = 5,
    OFPGC_ADD_OR_MOD = 0x8000, /* `ovs-ofctl --may-create mod-group`. */
};

enum ofp_group_type { OFPGT_ALL, OFPGT_SELECT, OFPGT_INDIRECT, OFPGT_FF, OFPGT_N };

/* Ids of buckets: the last, and those that stand for others in a command. */
#define OFPG_BUCKET_MAX   0xffffff00u
#define OFPG_BUCKET_FIRST 0xfffffffdu
#define OFPG_BUCKET_LAST  0xfffffffeu
#define OFPG_BUCKET_ALL   0xffffffffu

struct ofp_bucket {
    uint32_t id;           /* Without ids on the wire (1.3, 1.4): its place. */
    uint16_t weight;       /* SELECT: its share; 0: none.  Others: 0. */
    ofp_port_t watch_port; /* OFPP_NONE: none. */
    uint32_t watch_group;  /* OFPG_ANY: none. */
    struct bytes actions;  /* As on the wire. */
};

#define OFP_GROUP_MAX_FIELDS 32
struct ofp_group_field {
    const struct ofp_field *field;
    union ofp_value mask;
};

/* How SELECT chooses: the property of the Netronome extension that ovs-ofctl(8) calls selection_method. */
struct ofp_group_selection {
    char method[16]; /* "": nothing was said; "hash", "dp_hash". */
    uint64_t param;
    size_t n_fields; /* What "hash" looks at; 0: addresses and ports. */
    struct ofp_group_field fields[OFP_GROUP_MAX_FIELDS];
};

struct ofp_group_mod {
    enum ofp_group_command command;
    enum ofp_group_type type;
    uint32_t group_id;          /* DELETE: or OFPG_ALL. */
    uint32_t command_bucket_id; /* INSERT_BUCKET, REMOVE_BUCKET. */
    struct bytes buckets;       /* As on the wire: ofp_bucket_pull(). */
    size_t n_buckets;
    struct ofp_group_selection selection;
};

/* OFPGMFC_BAD_COMMAND, _BAD_TYPE, _INVALID_GROUP, _BAD_BUCKET, _WATCH_UNSUPPORTED; of properties OFPBPC_*. */
enum ofp_error ofp_decode_group_mod(const struct ofp_msg *msg, struct ofp_group_mod *ret_mod);
/* Takes the Ith bucket of MSG off BUCKETS, which ofp_decode_group_mod() has checked. */
void ofp_bucket_pull(const struct ofp_msg *msg, struct bytes *buckets, uint32_t i, struct ofp_bucket *ret_bucket);
/* May a group of TYPE have B?  OFPGMFC_WATCH_UNSUPPORTED, _INVALID_GROUP. */
enum ofp_error ofp_bucket_check(enum ofp_group_type type, const struct ofp_bucket *b);

/* GROUP_STATS_REQUEST and GROUP_DESC_REQUEST: of which group, or OFPG_ALL. */
uint32_t ofp_decode_group_request(const struct ofp_msg *msg);

struct ofp_group_counts {
    uint64_t packets, bytes;
};
struct ofp_group_stats {
    uint32_t group_id, ref_count;
    struct ofp_group_counts counts;
    uint32_t duration_sec, duration_nsec;
    const struct ofp_group_counts *buckets;
    size_t n_buckets;
};
/* 0 or -EMSGSIZE, as ofp_reply_commit(). */
int ofp_reply_group_stats(struct ofp_reply *r, const struct ofp_group_stats *stats);

struct ofp_group_desc {
    enum ofp_group_type type;
    uint32_t group_id;
    const struct ofp_bucket *buckets; /* Whose 'actions' are in the version of the reply. */
    size_t n_buckets;
    const struct ofp_group_selection *selection;
};
int ofp_reply_group_desc(struct ofp_reply *r, const struct ofp_group_desc *desc);

struct ofp_group_features {
    uint32_t types;        /* 1 << OFPGT_*. */
    uint32_t capabilities; /* OFPGFC_*. */
    uint32_t max_groups[OFPGT_N];
    uint32_t actions[OFPGT_N]; /* A bit for each of OpenFlow's types of actions. */
};
#define OFPGFC_SELECT_WEIGHT   (1 << 0)
#define OFPGFC_SELECT_LIVENESS (1 << 1)
#define OFPGFC_CHAINING        (1 << 2)
int ofp_reply_group_features(struct ofp_reply *r, const struct ofp_group_features *f);

#endif
