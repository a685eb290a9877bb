/* Rows of the Flow_Table table into the limits of a bridge's tables.
 *
 * `prefixes` is accepted and changes nothing: our classifier tracks the prefixes of all fields that may be named there (ofproto/classifier.h). */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "ofproto/ofproto.h"
#include "ofproto/tables.h"
#include "vswitchd/settings.h"
#include "vswitchd/vswitch.h"

/* The row for table ID in Bridge's map from numbers to rows, or NULL. */
static const struct ovsdb_row *find(const struct vswitch *v, const struct ovsdb_row *bridge, unsigned int id)
{
    const json_t *pairs = json_array_get(json_object_get(bridge->columns, "flow_tables"), 1);
    const json_t *pair;
    size_t i;

    json_array_foreach(pairs, i, pair) {
        const json_t *key = json_array_get(pair, 0);
        const char *uuid = json_string_value(json_array_get(json_array_get(pair, 1), 1));
        if (json_is_integer(key) && json_integer_value(key) == id && uuid) {
            return ovsdb_row_by_uuid(v->db, "Flow_Table", uuid);
        }
    }
    return NULL;
}

static bool wish_evicts(const struct bridge *br, unsigned int id, const struct ovsdb_row *row)
{
    const char *policy = ovsdb_str(row, "overflow_policy", "refuse");

    if (strcmp(policy, "refuse") && strcmp(policy, "evict")) {
        warn_once("bridge %s: table %u: overflow_policy \"%s\" is unknown; use refuse or evict; using refuse", br->name, id, policy);
    }
    return !strcmp(policy, "evict");
}

static void configure(struct bridge *br, unsigned int id, const struct ovsdb_row *row)
{
    struct ofproto_table_config c = { .name = NULL };
    const char **groups = NULL;

    if (row) {
        int64_t limit = ovsdb_int(row, "flow_limit", -1);
        c.name = ovsdb_str(row, "name", NULL);
        c.limited = limit >= 0;
        c.flow_limit = MIN(MAX(limit, 0), UINT32_MAX);
        c.evicts = wish_evicts(br, id, row);
        c.n_groups = ovsdb_set_size(row, "groups");
        groups = xcalloc(c.n_groups + 1, sizeof *groups);
        for (size_t i = 0; i < c.n_groups; i++) {
            groups[i] = ovsdb_set_str(row, "groups", i);
        }
        c.groups = groups;
    }
    ofproto_configure_table(br->ofproto, id, &c);
    free(groups);
}

void openflow_set_tables(struct vswitch *v, struct bridge *br, const struct ovsdb_row *row)
{
    for (unsigned int id = 0; id < TABLES_N_USER; id++) {
        configure(br, id, find(v, row, id));
    }
}
