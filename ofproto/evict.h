/* Tables that may be full: how many rules each may have, and what happens to one more.  The Flow_Table table of ovs-vswitchd.conf.db(5),
 * "Eviction Policy", and OpenFlow 1.4's eviction.  Main only. */
#ifndef OFPROTO_EVICT_H
#define OFPROTO_EVICT_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ofp/ofp-error.h"
#include "lib/ofp/ofp-field.h"

struct tables_txn;

struct table_policy {
    char *name;          /* That controllers are told; NULL: the usual. */
    bool limited;
    uint32_t flow_limit;
    bool evicts;         /* The database has overflow_policy=evict. */
    bool evicts_by_mod;  /* A controller has asked for it. */
    struct ofp_subfield *groups;
    size_t n_groups;
};

void table_policy_uninit(struct table_policy *p);

/* Makes room for one more rule in table ID, by eviction if the table does that: OFPFMFC_TABLE_FULL if there is none. */
enum ofp_error evict_for_one_more(struct tables_txn *x, uint8_t id);
/* Evicts what table ID has beyond its limit, as far as it may. */
void evict_excess(struct tables_txn *x, uint8_t id);

#endif
