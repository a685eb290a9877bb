/* Flow-mods: what a controller asks to be changed in the tables.  Main only. */
#ifndef OFPROTO_FLOW_MOD_H
#define OFPROTO_FLOW_MOD_H 1

#include "lib/ofp/ofp-error.h"
#include "ofproto/tables.h"

enum flow_mod_command { FLOW_ADD, FLOW_MODIFY, FLOW_MODIFY_STRICT, FLOW_DELETE, FLOW_DELETE_STRICT };

/* Which rules are meant, by modification, deletion, and requests for statistics. */
struct rule_filter {
    uint8_t table_id; /* Or TABLE_ALL. */
    struct match match;
    bool strict;  /* Just this match and 'priority'; else every rule whose match is as specific or more. */
    int priority;
    uint64_t cookie, cookie_mask; /* Rules whose cookie agrees in the mask's bits. */
    ofp_port_t out_port;          /* Rules that output to it; OFPP_NONE: all. */
    uint32_t out_group;           /* Rules that send to it; OFPG_ANY: all. */
};

struct flow_mod {
    enum flow_mod_command command;
    struct rule_filter filter; /* For ADD: table and match. */
    struct rule_spec spec;     /* ADD, MODIFY*: what to put there. */
    bool sets_cookie;          /* MODIFY*: give the rules the cookie of 'spec'. */
    bool may_add;              /* MODIFY*: add a rule if there was none to modify (OpenFlow 1.0). */
};

/* The rules at VERSION that F means, in an array of *RET_N, to be freed.  They are valid until the caller's next change. */
struct rule **rule_filter_collect(const struct tables *t, const struct rule_filter *f, uint64_t version, size_t *ret_n);

/* Makes FM's changes part of X.  On error X may hold some of them, and is to be rolled back. */
enum ofp_error flow_mod_apply(struct tables_txn *x, const struct flow_mod *fm, uint64_t now);

#endif
