/* Tables: statistics, features, configuration.  See ofp-msg-table.h. */
#include <config.h>

#include "lib/ofp/ofp-msg-table.h"

#include "lib/base/compiler.h"

#define TABLE_NAME_LEN 32

/* Bits of a table's configuration (and in 1.5 of its capabilities). */
#define CONFIG_MISS_MASK 3u /* 1.3: reserved for what 1.1 did with packets without a match. */
#define CONFIG_EVICTION  (1u << 2)
#define CONFIG_VACANCY   (1u << 3)

enum table_mod_property { TABLE_MOD_EVICTION = 2, TABLE_MOD_VACANCY = 3, TABLE_MOD_EXPERIMENTER = 0xffff };

enum table_feature_property {
    TFP_INSTRUCTIONS = 0,
    TFP_NEXT_TABLES = 2,
    TFP_WRITE_ACTIONS = 4,
    TFP_APPLY_ACTIONS = 6,
    TFP_MATCH = 8,
    TFP_WILDCARDS = 10,
    TFP_WRITE_SETFIELD = 12,
    TFP_APPLY_SETFIELD = 14,
};

int ofp_reply_table_stats(struct ofp_reply *r, const struct ofp_table_stats *stats)
{
    struct buf *b = &r->buf;

    buf_put_u8(b, stats->table_id);
    buf_put_zeros(b, 3);
    if (r->version == OFP10_VERSION) {
        buf_put_text(b, stats->name, TABLE_NAME_LEN);
        buf_put_u32(b, stats->wildcards);
        buf_put_u32(b, stats->max_entries);
    }
    buf_put_u32(b, stats->active_count);
    buf_put_u64(b, stats->lookup_count);
    buf_put_u64(b, stats->matched_count);
    return ofp_reply_commit(r);
}

enum ofp_error ofp_decode_table_features_request(const struct ofp_msg *msg)
{
    return msg->body_len ? OFPERR_OFPTFFC_EPERM : 0;
}

/* Puts TYPE and the length 4 for each bit of SET. */
static void put_ids(struct buf *b, enum table_feature_property property, uint64_t set)
{
    size_t prop = ofp_begin_property(b, property);

    for (unsigned int type = 0; type < 64; type++) {
        if (set >> type & 1) {
            buf_put_u16(b, type);
            buf_put_u16(b, 4);
        }
    }
    ofp_end_property(b, prop);
}

static void put_list(struct buf *b, enum table_feature_property property, struct bytes list)
{
    size_t prop = ofp_begin_property(b, property);

    buf_put(b, list.p, list.n);
    ofp_end_property(b, prop);
}

int ofp_reply_table_features(struct ofp_reply *r, const struct ofp_table_features *features)
{
    struct buf *b = &r->buf;
    size_t start = b->len;
    uint32_t capabilities = (features->eviction ? CONFIG_EVICTION : 0) | (features->vacancy ? CONFIG_VACANCY : 0);

    buf_put_zeros(b, 2); /* Length. */
    buf_put_u8(b, features->table_id);
    buf_put_zeros(b, 5);
    buf_put_text(b, features->name, TABLE_NAME_LEN);
    buf_put_u64(b, features->metadata_match);
    buf_put_u64(b, features->metadata_write);
    buf_put_u32(b, r->version >= OFP14_VERSION ? capabilities : 0);
    buf_put_u32(b, features->max_entries);
    put_ids(b, TFP_INSTRUCTIONS, features->instructions);
    put_list(b, TFP_NEXT_TABLES, features->next);
    put_ids(b, TFP_WRITE_ACTIONS, features->write_actions);
    put_ids(b, TFP_APPLY_ACTIONS, features->apply_actions);
    put_list(b, TFP_MATCH, features->match);
    put_list(b, TFP_WILDCARDS, features->wildcards);
    put_list(b, TFP_WRITE_SETFIELD, features->set_fields);
    put_list(b, TFP_APPLY_SETFIELD, features->set_fields);
    buf_patch_u16(b, start, b->len - start);
    return ofp_reply_commit(r);
}

static enum ofp_error get_eviction(struct ofp_cursor *content, struct ofp_table_mod *mod)
{
    if (content->len != 4) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    mod->eviction_flags = ofp_get_u32(content);
    return mod->eviction_flags & ~(OFPTMPEF_OTHER | OFPTMPEF_IMPORTANCE | OFPTMPEF_LIFETIME) ? OFPERR_OFPBPC_BAD_VALUE
                                                                                             : 0;
}

static enum ofp_error get_vacancy(struct ofp_cursor *content, struct ofp_table_mod *mod)
{
    if (content->len != 4) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    mod->vacancy_down = ofp_get_u8(content);
    mod->vacancy_up = ofp_get_u8(content);
    /* What follows is the vacancy now, which only a description has. */
    return mod->vacancy_down > mod->vacancy_up || mod->vacancy_up > 100 || ofp_get_u8(content) ? OFPERR_OFPBPC_BAD_VALUE
                                                                                               : 0;
}

static enum ofp_error get_table_mod_properties(struct ofp_cursor *c, struct ofp_table_mod *mod)
{
    while (c->len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(c, &type, &content);

        if (!error) {
            error = type == TABLE_MOD_EVICTION       ? get_eviction(&content, mod)
                    : type == TABLE_MOD_VACANCY      ? get_vacancy(&content, mod)
                    : type == TABLE_MOD_EXPERIMENTER ? OFPERR_OFPBPC_BAD_EXPERIMENTER
                                                     : OFPERR_OFPBPC_BAD_TYPE;
        }
        if (error) {
            return error;
        }
    }
    return 0;
}

enum ofp_error ofp_decode_table_mod(const struct ofp_msg *msg, struct ofp_table_mod *ret_mod)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_table_mod mod = { .table_id = ofp_get_u8(&c) };

    ofp_skip(&c, 3);
    uint32_t config = ofp_get_u32(&c);
    if (msg->version < OFP14_VERSION) {
        if (config & ~CONFIG_MISS_MASK) {
            return OFPERR_OFPTMFC_BAD_CONFIG;
        }
    } else {
        if (config & ~(CONFIG_EVICTION | CONFIG_VACANCY | CONFIG_MISS_MASK)) {
            return OFPERR_OFPTMFC_BAD_CONFIG;
        }
        mod.eviction = config & CONFIG_EVICTION ? OFP_TABLE_ON : OFP_TABLE_OFF;
        mod.vacancy = config & CONFIG_VACANCY ? OFP_TABLE_ON : OFP_TABLE_OFF;
        enum ofp_error error = get_table_mod_properties(&c, &mod);
        if (error) {
            return error;
        }
    }
    *ret_mod = mod;
    return 0;
}

int ofp_reply_table_desc(struct ofp_reply *r, const struct ofp_table_desc *desc)
{
    struct buf *b = &r->buf;
    size_t start = b->len;

    buf_put_zeros(b, 2); /* Length. */
    buf_put_u8(b, desc->table_id);
    buf_put_zeros(b, 1);
    buf_put_u32(b, (desc->eviction ? CONFIG_EVICTION : 0) | (desc->vacancy ? CONFIG_VACANCY : 0));
    /* Also when it is off: so does the stock daemon. */
    size_t eviction = ofp_begin_property(b, TABLE_MOD_EVICTION);
    buf_put_u32(b, desc->eviction_flags);
    ofp_end_property(b, eviction);
    if (desc->vacancy) {
        size_t prop = ofp_begin_property(b, TABLE_MOD_VACANCY);
        buf_put_u8(b, desc->vacancy_down);
        buf_put_u8(b, desc->vacancy_up);
        buf_put_u8(b, desc->vacancy_now);
        buf_put_zeros(b, 1);
        ofp_end_property(b, prop);
    }
    buf_patch_u16(b, start, b->len - start);
    return ofp_reply_commit(r);
}
