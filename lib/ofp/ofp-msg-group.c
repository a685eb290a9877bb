/* Groups: changes, statistics, descriptions, features.  See ofp-msg-group.h.
 *
 * A bucket of 1.3 and 1.4 has all that it may have in a fixed head; one of 1.5 has an id, and properties behind its actions. */
#include <config.h>

#include "lib/ofp/ofp-msg-group.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"

#define HEAD_LEN 16    /* Of a bucket of 1.3. */
#define HEAD15_LEN 8   /* Of one of 1.5. */

enum { PROP_WEIGHT, PROP_WATCH_PORT, PROP_WATCH_GROUP, PROP_EXPERIMENTER = 0xffff };

/* The extension's experimenter, and the type of the property in it. */
#define NTR_ID 0x0000154du
#define NTR_SELECTION_METHOD 1

static bool has_ids(const struct ofp_msg *msg) { return msg->version >= OFP15_VERSION || ofp_msg_is_nx(msg); }

/* ---- Buckets. ---- */

static enum ofp_error get_watch_port(struct ofp_cursor *c, ofp_port_t *ret_port)
{
    uint32_t wire = ofp_get_u32(c);

    if (wire == UINT32_MAX) {
        *ret_port = OFPP_NONE;
        return OFPERR_NONE;
    }
    return ofp_port_from_u32(wire, ret_port) ? OFPERR_OFPGMFC_BAD_WATCH : OFPERR_NONE;
}

static enum ofp_error get_bucket13(struct ofp_cursor *c, uint32_t i, struct ofp_bucket *ret)
{
    struct ofp_cursor head = *c;
    uint16_t len = ofp_get_u16(&head);
    struct ofp_bucket b = { .id = i, .weight = ofp_get_u16(&head) };
    enum ofp_error error = get_watch_port(&head, &b.watch_port);

    b.watch_group = ofp_get_u32(&head);
    const uint8_t *p = len >= HEAD_LEN && len % 8 == 0 ? ofp_get_bytes(c, len) : NULL;
    if (!p) {
        return OFPERR_OFPGMFC_BAD_BUCKET;
    }
    b.actions = (struct bytes){ p + HEAD_LEN, len - HEAD_LEN };
    *ret = b;
    return error;
}

static enum ofp_error get_bucket_property(uint16_t type, struct ofp_cursor *content, struct ofp_bucket *b)
{
    enum ofp_error error = OFPERR_NONE;

    switch (type) {
    case PROP_WEIGHT:
        b->weight = ofp_get_u16(content);
        break;
    case PROP_WATCH_PORT:
        error = get_watch_port(content, &b->watch_port);
        break;
    case PROP_WATCH_GROUP:
        b->watch_group = ofp_get_u32(content);
        break;
    case PROP_EXPERIMENTER:
        return OFPERR_OFPBPC_BAD_EXPERIMENTER;
    default:
        return OFPERR_OFPBPC_BAD_TYPE;
    }
    return content->bad ? OFPERR_OFPBPC_BAD_LEN : error;
}

static enum ofp_error get_bucket15(struct ofp_cursor *c, struct ofp_bucket *ret)
{
    struct ofp_cursor head = *c;
    uint16_t len = ofp_get_u16(&head), actions_len = ofp_get_u16(&head);
    struct ofp_bucket b = { .id = ofp_get_u32(&head), .watch_port = OFPP_NONE, .watch_group = OFPG_ANY };
    const uint8_t *p = len >= HEAD15_LEN && len % 8 == 0 && actions_len <= len - HEAD15_LEN ? ofp_get_bytes(c, len) : NULL;

    if (!p || actions_len % 8) {
        return OFPERR_OFPGMFC_BAD_BUCKET;
    }
    if (b.id > OFPG_BUCKET_MAX) {
        return OFPERR_OFPGMFC_BAD_BUCKET;
    }
    b.actions = (struct bytes){ p + HEAD15_LEN, actions_len };
    struct ofp_cursor properties = ofp_cursor(p + HEAD15_LEN + actions_len, len - HEAD15_LEN - actions_len);
    while (properties.len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(&properties, &type, &content);
        error = error ? error : get_bucket_property(type, &content, &b);
        if (error) {
            return error;
        }
    }
    *ret = b;
    return OFPERR_NONE;
}

static enum ofp_error get_bucket(const struct ofp_msg *msg, struct ofp_cursor *c, uint32_t i, struct ofp_bucket *ret)
{
    return has_ids(msg) ? get_bucket15(c, ret) : get_bucket13(c, i, ret);
}

void ofp_bucket_pull(const struct ofp_msg *msg, struct bytes *buckets, uint32_t i, struct ofp_bucket *ret)
{
    struct ofp_cursor c = ofp_cursor(buckets->p, buckets->n);

    get_bucket(msg, &c, i, ret); /* It has been checked. */
    *buckets = (struct bytes){ c.data, c.len };
}

enum ofp_error ofp_bucket_check(enum ofp_group_type type, const struct ofp_bucket *b)
{
    bool watches = !ofp_port_eq(b->watch_port, OFPP_NONE) || b->watch_group != OFPG_ANY;

    if (type == OFPGT_ALL || type == OFPGT_INDIRECT) {
        return watches ? OFPERR_OFPGMFC_WATCH_UNSUPPORTED : OFPERR_NONE;
    }
    return type == OFPGT_FF && !watches ? OFPERR_OFPGMFC_INVALID_GROUP : OFPERR_NONE;
}

static int compare_u32(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* No two may have the same id. */
static enum ofp_error check_ids(const struct ofp_msg *msg, struct bytes buckets, size_t n)
{
    uint32_t *ids = xcalloc(n + 1, sizeof *ids);
    enum ofp_error error = OFPERR_NONE;

    for (size_t i = 0; i < n; i++) {
        struct ofp_bucket b;
        ofp_bucket_pull(msg, &buckets, i, &b);
        ids[i] = b.id;
    }
    qsort(ids, n, sizeof *ids, compare_u32);
    for (size_t i = 1; i < n; i++) {
        error = ids[i] == ids[i - 1] ? OFPERR_OFPGMFC_BAD_BUCKET : error;
    }
    free(ids);
    return error;
}

static enum ofp_error check_buckets(const struct ofp_msg *msg, struct ofp_group_mod *mod)
{
    struct ofp_cursor c = ofp_cursor(mod->buckets.p, mod->buckets.n);

    for (mod->n_buckets = 0; c.len; mod->n_buckets++) {
        struct ofp_bucket b;
        enum ofp_error error = get_bucket(msg, &c, mod->n_buckets, &b);
        if (mod->command != OFPGC_INSERT_BUCKET) { /* There the type is the group's, whatever is said. */
            error = error ? error : ofp_bucket_check(mod->type, &b);
        }
        if (error) {
            return error;
        }
    }
    return has_ids(msg) ? check_ids(msg, mod->buckets, mod->n_buckets) : OFPERR_NONE;
}

/* ---- The selection method. ---- */

/* Fields are their headers with a mask behind each, and no value. */
static enum ofp_error get_fields(struct ofp_cursor *c, struct ofp_group_selection *s)
{
    struct bytes left = { c->data, c->len };

    while (left.n) {
        struct ofp_group_field *f = &s->fields[s->n_fields];
        bool has_mask;
        size_t payload;
        if (s->n_fields == OFP_GROUP_MAX_FIELDS) {
            return OFPERR_OFPBPC_BAD_VALUE;
        }
        if (ofp_header_pull(&left, &f->field, &has_mask, &payload) || !f->field || has_mask || left.n < f->field->n_bytes) {
            return OFPERR_OFPBPC_BAD_VALUE;
        }
        memset(&f->mask, 0, sizeof f->mask);
        memcpy(&f->mask, left.p, f->field->n_bytes);
        left.p += f->field->n_bytes;
        left.n -= f->field->n_bytes;
        for (size_t i = 0; i < s->n_fields; i++) {
            if (s->fields[i].field == f->field) {
                return OFPERR_OFPBPC_DUP_TYPE;
            }
        }
        s->n_fields++;
    }
    return OFPERR_NONE;
}

static enum ofp_error get_selection(struct ofp_cursor *c, enum ofp_group_type type, struct ofp_group_selection *s)
{
    if (ofp_get_u32(c) != NTR_ID) {
        return OFPERR_OFPBPC_BAD_EXPERIMENTER;
    }
    if (ofp_get_u32(c) != NTR_SELECTION_METHOD) {
        return OFPERR_OFPBPC_BAD_EXP_TYPE;
    }
    ofp_skip(c, 4);
    ofp_get_copy(c, s->method, sizeof s->method);
    s->param = ofp_get_u64(c);
    if (c->bad) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    bool is_hash = !strncmp(s->method, "hash", sizeof s->method);
    if (type != OFPGT_SELECT || (!is_hash && strncmp(s->method, "dp_hash", sizeof s->method)) || (!is_hash && c->len)) {
        return OFPERR_OFPBPC_BAD_VALUE;
    }
    return get_fields(c, s);
}

static enum ofp_error get_properties(struct ofp_cursor *c, struct ofp_group_mod *mod)
{
    while (c->len) {
        struct ofp_cursor content;
        uint16_t type;
        enum ofp_error error = ofp_get_property(c, &type, &content);
        error = error                       ? error
                : type != PROP_EXPERIMENTER ? OFPERR_OFPBPC_BAD_TYPE
                : mod->selection.method[0]  ? OFPERR_OFPBPC_DUP_TYPE
                                            : get_selection(&content, mod->type, &mod->selection);
        if (error) {
            return error;
        }
    }
    return OFPERR_NONE;
}

/* ---- Changes. ---- */

static bool is_command(const struct ofp_msg *msg, uint16_t command)
{
    return command <= OFPGC_DELETE || command == OFPGC_ADD_OR_MOD
           || (has_ids(msg) && (command == OFPGC_INSERT_BUCKET || command == OFPGC_REMOVE_BUCKET));
}

/* What COMMAND wants of a group as a whole. */
static enum ofp_error check_group(const struct ofp_group_mod *mod)
{
    bool whole = mod->command != OFPGC_DELETE && mod->command != OFPGC_INSERT_BUCKET && mod->command != OFPGC_REMOVE_BUCKET;

    if (mod->group_id > OFPG_MAX && !(mod->command == OFPGC_DELETE && mod->group_id == OFPG_ALL)) {
        return OFPERR_OFPGMFC_INVALID_GROUP;
    }
    if (mod->command == OFPGC_REMOVE_BUCKET && mod->n_buckets) {
        return OFPERR_OFPGMFC_BAD_BUCKET;
    }
    return whole && mod->type == OFPGT_INDIRECT && mod->n_buckets != 1 ? OFPERR_OFPGMFC_INVALID_GROUP : OFPERR_NONE;
}

enum ofp_error ofp_decode_group_mod(const struct ofp_msg *msg, struct ofp_group_mod *ret)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint16_t command = ofp_get_u16(&c);
    uint8_t type = ofp_get_u8(&c);

    memset(ret, 0, sizeof *ret);
    ofp_skip(&c, 1);
    ret->group_id = ofp_get_u32(&c);
    ret->command_bucket_id = OFPG_BUCKET_ALL;
    if (!is_command(msg, command)) {
        return OFPERR_OFPGMFC_BAD_COMMAND;
    }
    if (type >= OFPGT_N) {
        return OFPERR_OFPGMFC_BAD_TYPE;
    }
    ret->command = command;
    ret->type = type;
    if (has_ids(msg)) {
        size_t n = ofp_get_u16(&c);
        ofp_skip(&c, 2);
        ret->command_bucket_id = ofp_get_u32(&c);
        const uint8_t *p = ofp_get_bytes(&c, n);
        if (c.bad || !p) {
            return OFPERR_OFPGMFC_BAD_BUCKET;
        }
        ret->buckets = (struct bytes){ p, n };
    } else {
        ret->buckets = (struct bytes){ c.data, c.len };
        c.len = 0;
    }
    if (command == OFPGC_DELETE) { /* The rest may be anything. */
        ret->buckets = (struct bytes){ NULL, 0 };
        return check_group(ret);
    }
    enum ofp_error error = check_buckets(msg, ret);
    error = error ? error : get_properties(&c, ret);
    return error ? error : check_group(ret);
}

/* ---- What is told. ---- */

uint32_t ofp_decode_group_request(const struct ofp_msg *msg)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    return c.len ? ofp_get_u32(&c) : OFPG_ALL; /* 1.3 and 1.4 ask for the description of all. */
}

int ofp_reply_group_stats(struct ofp_reply *r, const struct ofp_group_stats *s)
{
    struct buf *b = &r->buf;
    size_t start = b->len;

    buf_put_zeros(b, 4); /* Length, padding. */
    buf_put_u32(b, s->group_id);
    buf_put_u32(b, s->ref_count);
    buf_put_zeros(b, 4);
    buf_put_u64(b, s->counts.packets);
    buf_put_u64(b, s->counts.bytes);
    buf_put_u32(b, s->duration_sec);
    buf_put_u32(b, s->duration_nsec);
    for (size_t i = 0; i < s->n_buckets; i++) {
        buf_put_u64(b, s->buckets[i].packets);
        buf_put_u64(b, s->buckets[i].bytes);
    }
    buf_patch_u16(b, start, b->len - start);
    return ofp_reply_commit(r);
}

static void put_bucket13(struct buf *b, const struct ofp_bucket *bucket)
{
    buf_put_u16(b, HEAD_LEN + bucket->actions.n);
    buf_put_u16(b, bucket->weight);
    buf_put_u32(b, ofp_port_to_u32(bucket->watch_port));
    buf_put_u32(b, bucket->watch_group);
    buf_put_zeros(b, 4);
    buf_put(b, bucket->actions.p, bucket->actions.n);
}

static void put_u32_property(struct buf *b, uint16_t type, uint32_t value)
{
    size_t start = ofp_begin_property(b, type);

    buf_put_u32(b, value);
    ofp_end_property(b, start);
}

static void put_bucket15(struct buf *b, const struct ofp_bucket *bucket, enum ofp_group_type type)
{
    size_t start = b->len;

    buf_put_u16(b, 0);
    buf_put_u16(b, bucket->actions.n);
    buf_put_u32(b, bucket->id);
    buf_put(b, bucket->actions.p, bucket->actions.n);
    if (type == OFPGT_SELECT) {
        size_t property = ofp_begin_property(b, PROP_WEIGHT);
        buf_put_u16(b, bucket->weight);
        buf_put_zeros(b, 2);
        ofp_end_property(b, property);
    }
    if (!ofp_port_eq(bucket->watch_port, OFPP_NONE)) {
        put_u32_property(b, PROP_WATCH_PORT, ofp_port_to_u32(bucket->watch_port));
    }
    if (bucket->watch_group != OFPG_ANY) {
        put_u32_property(b, PROP_WATCH_GROUP, bucket->watch_group);
    }
    buf_patch_u16(b, start, b->len - start);
}

static void put_selection(struct buf *b, const struct ofp_group_selection *s, enum ofp_version version)
{
    size_t start = ofp_begin_property(b, PROP_EXPERIMENTER);

    buf_put_u32(b, NTR_ID);
    buf_put_u32(b, NTR_SELECTION_METHOD);
    buf_put_zeros(b, 4);
    buf_put(b, s->method, sizeof s->method);
    buf_put_u64(b, s->param);
    for (size_t i = 0; i < s->n_fields; i++) {
        ofp_header_put(b, s->fields[i].field, version, false);
        buf_put(b, &s->fields[i].mask, s->fields[i].field->n_bytes);
    }
    ofp_end_property(b, start);
}

int ofp_reply_group_desc(struct ofp_reply *r, const struct ofp_group_desc *desc)
{
    bool ids = r->version >= OFP15_VERSION || r->form->class == OFP_MSGCLASS_NXSTREP;
    struct buf *b = &r->buf;
    size_t start = b->len;

    buf_put_u16(b, 0);
    buf_put_u8(b, desc->type);
    buf_put_u8(b, 0);
    buf_put_u32(b, desc->group_id);
    if (ids) {
        buf_put_zeros(b, 8); /* Length of buckets, padding. */
    }
    size_t first = b->len;
    for (size_t i = 0; i < desc->n_buckets; i++) {
        if (ids) {
            put_bucket15(b, &desc->buckets[i], desc->type);
        } else {
            put_bucket13(b, &desc->buckets[i]);
        }
    }
    if (b->len - start > OFP_MSG_MAX_LEN) { /* The lengths below could not say it; the commit takes it back. */
        return ofp_reply_commit(r);
    }
    if (ids) {
        buf_patch_u16(b, start + 8, b->len - first);
        if (desc->selection->method[0]) {
            put_selection(b, desc->selection, r->version);
        }
    }
    buf_patch_u16(b, start, b->len - start);
    return ofp_reply_commit(r);
}

int ofp_reply_group_features(struct ofp_reply *r, const struct ofp_group_features *f)
{
    struct buf *b = &r->buf;

    buf_put_u32(b, f->types);
    buf_put_u32(b, f->capabilities);
    for (unsigned int i = 0; i < OFPGT_N; i++) {
        buf_put_u32(b, f->max_groups[i]);
    }
    for (unsigned int i = 0; i < OFPGT_N; i++) {
        buf_put_u32(b, f->actions[i]);
    }
    return ofp_reply_commit(r);
}
