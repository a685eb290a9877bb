/* Requests about tables. */
#include <config.h>

#include <stdio.h>

#include "lib/base/util.h"
#include "ofproto/evict.h"
#include "ofproto/ofproto-private.h"

/* What OpenFlow 1.0's match can leave open: all of its bits. */
#define OFPFW10_ALL ((1u << 22) - 1)
#define MAX_RULES 1000000

static void table_name(struct tables *t, uint8_t id, char *ret, size_t size)
{
    const struct table_policy *p = tables_policy(t, id);

    if (p->name) {
        snprintf(ret, size, "%s", p->name);
    } else if (id == 0) {
        snprintf(ret, size, "classifier");
    } else {
        snprintf(ret, size, "table%u", id);
    }
}

static uint32_t max_rules(struct tables *t, uint8_t id)
{
    const struct table_policy *p = tables_policy(t, id);

    return p->limited ? MIN(p->flow_limit, MAX_RULES) : MAX_RULES;
}

enum ofp_error handle_table_stats(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_reply r;

    ofp_reply_begin(&r, msg, OFPMSG_TABLE_STATS_REPLY);
    for (unsigned int id = 0; id < TABLES_N_USER; id++) {
        struct table_stats s;
        char name[33];
        tables_get_stats(c->ofproto->tables, id, &s);
        table_name(c->ofproto->tables, id, name, sizeof name);
        const struct ofp_table_stats stats = {
            .table_id = id,
            .name = name,
            .wildcards = OFPFW10_ALL,
            .max_entries = max_rules(c->ofproto->tables, id),
            .active_count = s.n_rules,
            .lookup_count = s.matches, /* Those that met no rule are not known: see rule.h. */
            .matched_count = s.matches,
        };
        ofp_reply_table_stats(&r, &stats);
    }
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}

/* Fields, by their headers in OXM. */
struct field_lists {
    struct buf match;     /* That a match may have, with a mask where there can be one. */
    struct buf wildcards; /* That it may leave out. */
    struct buf writable;  /* That an action may write.  In these two the field's tools want no bit for a mask. */
};

static void put_field_headers(enum ofp_version version, struct field_lists *ret)
{
    for (unsigned int id = 0; id < OFP_N_FIELDS; id++) {
        const struct ofp_field *field = ofp_field(id);
        if (ofp_field_header(field, version)) {
            ofp_header_put(&ret->match, field, version, field->maskable);
            ofp_header_put(&ret->wildcards, field, version, false);
            if (field->writable) {
                ofp_header_put(&ret->writable, field, version, false);
            }
        }
    }
}

/* Numbers of OpenFlow 1.3's instructions that translation carries out. */
#define INSTRUCTIONS (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5)
#define METER_INSTRUCTION (1u << 6) /* Until 1.5, where it is an action. */

enum ofp_error handle_table_features(struct ofconn *c, const struct ofp_msg *msg)
{
    struct field_lists fields = { BUF_INITIALIZER, BUF_INITIALIZER, BUF_INITIALIZER };
    uint8_t next[TABLES_N_USER];
    struct ofp_reply r;
    enum ofp_error error = ofp_decode_table_features_request(msg);

    if (error) {
        return error;
    }
    put_field_headers(msg->version, &fields);
    for (unsigned int id = 0; id < TABLES_N_USER; id++) {
        next[id] = id;
    }
    uint32_t instructions = INSTRUCTIONS | (msg->version < OFP15_VERSION ? METER_INSTRUCTION : 0);
    ofp_reply_begin(&r, msg, OFPMSG_TABLE_FEATURES_REPLY);
    for (unsigned int id = 0; id < TABLES_N_USER; id++) {
        char name[33];
        table_name(c->ofproto->tables, id, name, sizeof name);
        const struct ofp_table_features f = {
            .table_id = id,
            .name = name,
            .metadata_match = UINT64_MAX,
            .metadata_write = UINT64_MAX,
            .max_entries = max_rules(c->ofproto->tables, id),
            .instructions = instructions & ~(id + 1 == TABLES_N_USER ? 1u << 1 : 0),
            .write_actions = OFPROTO_ACTIONS,
            .apply_actions = OFPROTO_ACTIONS,
            .next = { next + id + 1, TABLES_N_USER - id - 1 },
            .match = { fields.match.data, fields.match.len },
            .wildcards = { fields.wildcards.data, fields.wildcards.len },
            .set_fields = { fields.writable.data, fields.writable.len },
        };
        ofp_reply_table_features(&r, &f);
    }
    ofconn_finish(c, &r);
    buf_uninit(&fields.match);
    buf_uninit(&fields.wildcards);
    buf_uninit(&fields.writable);
    return OFPERR_NONE;
}
