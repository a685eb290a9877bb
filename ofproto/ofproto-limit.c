/* What the database says of a bridge's tables, and what controllers change of it. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/evict.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofproto_limit);

static void read_groups(const struct ofproto *o, uint8_t id, const struct ofproto_table_config *c, struct table_policy *p)
{
    free(p->groups);
    p->groups = c->n_groups ? xcalloc(c->n_groups, sizeof *p->groups) : NULL;
    p->n_groups = 0;
    for (size_t i = 0; i < c->n_groups; i++) {
        char *error = ofp_subfield_scan(c->groups[i], &p->groups[p->n_groups]);
        if (error) {
            log_info_rl(6, "bridge %s: table %u: a group of flows is ignored: %s", o->name, id, error);
            free(error);
        } else {
            p->n_groups++;
        }
    }
}

void ofproto_configure_table(struct ofproto *o, uint8_t id, const struct ofproto_table_config *c)
{
    struct table_policy *p = tables_policy(o->tables, id);
    struct tables_txn x;

    free(p->name);
    p->name = c->name ? xstrdup(c->name) : NULL;
    p->limited = c->limited;
    p->flow_limit = c->flow_limit;
    p->evicts = c->evicts;
    read_groups(o, id, c, p);
    tables_begin(o->tables, &x);
    evict_excess(&x, id);
    tables_commit(&x);
    ofproto_committed(o, &x, OFPRR_EVICTION);
}

enum ofp_error handle_table_mod(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_table_mod mod;
    enum ofp_error error = ofp_decode_table_mod(msg, &mod);

    if (error) {
        return error;
    }
    if (mod.table_id != TABLE_ALL && mod.table_id >= TABLES_N_USER) {
        return OFPERR_OFPTMFC_BAD_TABLE;
    }
    if (mod.vacancy == OFP_TABLE_ON) {
        return OFPERR_OFPTMFC_BAD_CONFIG; /* We tell nobody that a table fills up. */
    }
    for (unsigned int id = 0; id < TABLES_N_USER; id++) {
        if ((mod.table_id == TABLE_ALL || mod.table_id == id) && mod.eviction != OFP_TABLE_UNCHANGED) {
            tables_policy(c->ofproto->tables, id)->evicts_by_mod = mod.eviction == OFP_TABLE_ON;
        }
    }
    return OFPERR_NONE;
}

enum ofp_error handle_table_desc(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_reply r;

    ofp_reply_begin(&r, msg, OFPMSG_TABLE_DESC_REPLY);
    for (unsigned int id = 0; id < TABLES_N_USER; id++) {
        const struct ofp_table_desc desc = {
            .table_id = id,
            .eviction = tables_policy(c->ofproto->tables, id)->evicts_by_mod,
            .eviction_flags = OFPTMPEF_OTHER | OFPTMPEF_IMPORTANCE | OFPTMPEF_LIFETIME,
        };
        ofp_reply_table_desc(&r, &desc);
    }
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}
