/* What an OpenFlow message is, and its headers.  See ofp-msg.h.
 *
 * The list of messages is folded into an index, sorted by (class, type), at first use: a bundle recognizes 65,000
 * messages, and each twice.  The index is made once and never changed, so any thread may look. */
#include <config.h>

#include "lib/ofp/ofp-msg.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/compiler.h"

#define MAX_FORMS 4
/* Numbers of the header's type and of the statistics' type: "a vendor's". */
#define OFPT_VENDOR 4
#define ST_VENDOR   0xffff
#define ST_MORE     1

#define OFP10 OFP10_VERSION
#define OFP13 OFP13_VERSION
#define OFP14 OFP14_VERSION
#define OFP15 OFP15_VERSION

struct ofp_msg_kind {
    const char *name;
    enum ofp_direction direction;
    struct ofp_msg_form forms[MAX_FORMS + 1]; /* A zero one is last. */
};

/* clang-format off */
#define KIND(NAME, DIRECTION, FORMS) [OFPMSG_##NAME] = { #NAME, OFP_FROM_##DIRECTION, { FORMS } },
#define FORM(FIRST, LAST, CLASS, TYPE, MIN, UNIT) { OFP##FIRST, OFP##LAST, OFP_MSGCLASS_##CLASS, TYPE, MIN, UNIT },
/* clang-format on */
static const struct ofp_msg_kind kinds[OFPMSG_N] = { OFP_MSGS(KIND, FORM) };

struct entry {
    uint32_t key; /* Class, type. */
    enum ofp_msg_id id;
    const struct ofp_msg_form *form;
};
static struct entry entries[OFPMSG_N * MAX_FORMS];
static size_t n_entries;
static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static uint32_t make_key(unsigned int class, uint16_t type) { return class << 16 | type; }

static int compare_entries(const void *a_, const void *b_)
{
    const struct entry *a = a_, *b = b_;

    return a->key < b->key ? -1 : a->key > b->key;
}

static void make_index(void)
{
    for (enum ofp_msg_id id = 0; id < OFPMSG_N; id++) {
        for (const struct ofp_msg_form *f = kinds[id].forms; f->first; f++) {
            entries[n_entries++] = (struct entry){ make_key(f->class, f->type), id, f };
        }
    }
    qsort(entries, n_entries, sizeof *entries, compare_entries);
}

/* Returns the entry of CLASS and TYPE that VERSION has (any, for VERSION 0), or NULL. */
static const struct entry *find_entry(unsigned int class, uint16_t type, uint8_t version)
{
    uint32_t key = make_key(class, type);
    size_t low = 0, high = n_entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < n_entries && entries[low].key == key; low++) {
        const struct ofp_msg_form *f = entries[low].form;
        if (!version || (version >= f->first && version <= f->last)) {
            return &entries[low];
        }
    }
    return NULL;
}

/* The numbers of the headers. */
struct headers {
    enum ofp_msg_class class;
    uint16_t type;
    bool more;
};

/* Takes vendor and subtype off C; the CLASSes are those of Nicira and ONF. */
static enum ofp_error get_vendor(struct ofp_cursor *c, enum ofp_msg_class nx, enum ofp_msg_class onf, struct headers *h)
{
    uint32_t vendor = ofp_get_u32(c);

    if (c->bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    } else if (vendor != NX_VENDOR_ID && vendor != ONF_VENDOR_ID) {
        return OFPERR_OFPBRC_BAD_VENDOR;
    }
    uint32_t subtype = ofp_get_u32(c);
    if (c->bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    h->class = vendor == NX_VENDOR_ID ? nx : onf;
    h->type = MIN(subtype, UINT16_MAX); /* No subtype is so large. */
    return 0;
}

/* Takes the header of statistics off C. */
static enum ofp_error get_stats_header(struct ofp_cursor *c, uint8_t version, bool request, struct headers *h)
{
    h->type = ofp_get_u16(c);
    h->more = ofp_get_u16(c) & ST_MORE;
    h->class = request ? OFP_MSGCLASS_STREQ : OFP_MSGCLASS_STREP;
    if (version != OFP10_VERSION) {
        ofp_skip(c, 4);
    }
    if (c->bad) {
        return OFPERR_OFPBRC_BAD_LEN;
    } else if (h->type != ST_VENDOR) {
        return 0;
    }
    enum ofp_error error = get_vendor(c, request ? OFP_MSGCLASS_NXSTREQ : OFP_MSGCLASS_NXSTREP,
                                      request ? OFP_MSGCLASS_ONFSTREQ : OFP_MSGCLASS_ONFSTREP, h);
    if (!error && version == OFP10_VERSION) {
        ofp_skip(c, 4); /* 1.0 aligns what follows. */
    }
    return error ? error : c->bad ? OFPERR_OFPBRC_BAD_LEN : 0;
}

static enum ofp_error get_headers(struct ofp_cursor *c, uint8_t version, uint8_t type, struct headers *h)
{
    uint8_t stats_request = version == OFP10_VERSION ? 16 : 18;

    if (type == OFPT_VENDOR) {
        return get_vendor(c, OFP_MSGCLASS_NXT, OFP_MSGCLASS_ONFT, h);
    } else if (type == stats_request || type == stats_request + 1) {
        return get_stats_header(c, version, type == stats_request, h);
    }
    h->class = OFP_MSGCLASS_OFPT;
    h->type = type;
    return 0;
}

static enum ofp_error unknown(enum ofp_msg_class class)
{
    switch (class) {
    case OFP_MSGCLASS_OFPT:
        return OFPERR_OFPBRC_BAD_TYPE;
    case OFP_MSGCLASS_STREQ:
    case OFP_MSGCLASS_STREP:
        return OFPERR_OFPBRC_BAD_STAT;
    case OFP_MSGCLASS_NXT:
    case OFP_MSGCLASS_ONFT:
    case OFP_MSGCLASS_NXSTREQ:
    case OFP_MSGCLASS_NXSTREP:
    case OFP_MSGCLASS_ONFSTREQ:
    case OFP_MSGCLASS_ONFSTREP:
        return OFPERR_OFPBRC_BAD_SUBTYPE;
    }
    return OFPERR_OFPBRC_BAD_TYPE;
}

static bool body_len_ok(const struct ofp_msg_form *f, size_t len)
{
    return len >= f->min && (f->unit ? (len - f->min) % f->unit == 0 : len == f->min);
}

enum ofp_error ofp_msg_recognize(const void *data, size_t len, struct ofp_msg *ret_msg)
{
    struct ofp_cursor c = ofp_cursor(data, len);
    uint8_t version = ofp_get_u8(&c), type = ofp_get_u8(&c);
    uint16_t length = ofp_get_u16(&c);
    struct headers h = { .more = false };
    be32 xid;

    pthread_once(&index_once, make_index);
    ofp_get_copy(&c, &xid, sizeof xid);
    if (c.bad || length != len) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    bool any_version = type <= 1; /* HELLO, ERROR. */
    if (!any_version && !ofp_version_ok(version)) {
        return OFPERR_OFPBRC_BAD_VERSION;
    }
    enum ofp_error error = get_headers(&c, version, type, &h);
    if (error) {
        return error;
    }
    const struct entry *e = find_entry(h.class, h.type, any_version ? 0 : version);
    if (!e) {
        return unknown(h.class);
    } else if (!body_len_ok(e->form, c.len)) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    *ret_msg = (struct ofp_msg){
        e->id, e->form, version, xid, h.more, data, len, c.data, c.len,
    };
    return 0;
}

const char *ofp_msg_name(enum ofp_msg_id id) { return kinds[id].name; }

bool ofp_msg_is_from_controller(enum ofp_msg_id id) { return kinds[id].direction & OFP_FROM_C; }

bool ofp_version_ok(uint8_t version)
{
    return version == OFP10_VERSION || (version >= OFP13_VERSION && version <= OFP15_VERSION);
}

/* Writing. */

static uint8_t header_type(const struct ofp_msg_form *f, enum ofp_version version)
{
    switch ((enum ofp_msg_class) f->class) {
    case OFP_MSGCLASS_OFPT:
        return f->type;
    case OFP_MSGCLASS_NXT:
    case OFP_MSGCLASS_ONFT:
        return OFPT_VENDOR;
    case OFP_MSGCLASS_STREQ:
    case OFP_MSGCLASS_NXSTREQ:
    case OFP_MSGCLASS_ONFSTREQ:
        return version == OFP10_VERSION ? 16 : 18;
    case OFP_MSGCLASS_STREP:
    case OFP_MSGCLASS_NXSTREP:
    case OFP_MSGCLASS_ONFSTREP:
        return version == OFP10_VERSION ? 17 : 19;
    }
    return f->type;
}

static bool is_stats(enum ofp_msg_class class)
{
    return class != OFP_MSGCLASS_OFPT && class != OFP_MSGCLASS_NXT && class != OFP_MSGCLASS_ONFT;
}

/* The vendor that the class is of, 0: none. */
static uint32_t class_vendor(enum ofp_msg_class class)
{
    return class == OFP_MSGCLASS_NXT || class == OFP_MSGCLASS_NXSTREQ || class == OFP_MSGCLASS_NXSTREP ? NX_VENDOR_ID
           : class == OFP_MSGCLASS_ONFT || class == OFP_MSGCLASS_ONFSTREQ || class == OFP_MSGCLASS_ONFSTREP
               ? ONF_VENDOR_ID
               : 0;
}

static size_t put_headers(struct buf *b, const struct ofp_msg_form *f, enum ofp_version version, be32 xid)
{
    size_t start = b->len;
    uint32_t vendor = class_vendor(f->class);

    buf_put_u8(b, version);
    buf_put_u8(b, header_type(f, version));
    buf_put_u16(b, 0); /* The length: when the message ends. */
    buf_put(b, &xid, sizeof xid);
    if (is_stats(f->class)) {
        buf_put_u16(b, vendor ? ST_VENDOR : f->type);
        buf_put_u16(b, 0);
        buf_put_zeros(b, version == OFP10_VERSION ? 0 : 4);
    }
    if (vendor) {
        buf_put_u32(b, vendor);
        buf_put_u32(b, f->type);
        buf_put_zeros(b, is_stats(f->class) && version == OFP10_VERSION ? 4 : 0);
    }
    return start;
}

size_t ofp_msg_begin(struct buf *b, enum ofp_msg_id id, enum ofp_version version, be32 xid)
{
    const struct ofp_msg_form *f = kinds[id].forms;

    while (f->first && (version < f->first || version > f->last)) {
        f++;
    }
    assert(f->first);
    return put_headers(b, f, version, xid);
}

const struct ofp_msg_form *ofp_msg_find_form(enum ofp_msg_id id, enum ofp_version version, enum ofp_msg_class class,
                                             uint16_t type)
{
    for (const struct ofp_msg_form *f = kinds[id].forms; f->first; f++) {
        if (f->class == class && (!type || f->type == type) && version >= f->first && version <= f->last) {
            return f;
        }
    }
    return NULL;
}

size_t ofp_msg_begin_form(struct buf *b, enum ofp_msg_id id, enum ofp_version version, be32 xid,
                          enum ofp_msg_class class, uint16_t type)
{
    const struct ofp_msg_form *f = ofp_msg_find_form(id, version, class, type);

    assert(f);
    return put_headers(b, f, version, xid);
}

int ofp_msg_end(struct buf *b, size_t start)
{
    size_t len = b->len - start;

    if (len > OFP_MSG_MAX_LEN) {
        buf_truncate(b, start);
        return -EMSGSIZE;
    }
    buf_patch_u16(b, start + 2, len);
    return 0;
}

/* Replies in many parts. */

void ofp_reply_begin(struct ofp_reply *r, const struct ofp_msg *request, enum ofp_msg_id id)
{
    unsigned int class = request->form->class;

    /* Each class of replies stands behind that of requests. */
    r->form = ofp_msg_find_form(id, request->version, is_stats(class) ? class + 1 : class, 0);
    assert(r->form);
    r->id = id;
    r->version = request->version;
    r->xid = request->xid;
    r->buf = (struct buf) BUF_INITIALIZER;
    r->start = put_headers(&r->buf, r->form, r->version, r->xid);
    r->entry = r->buf.len;
}

int ofp_reply_commit(struct ofp_reply *r)
{
    if (r->buf.len - r->start > OFP_MSG_MAX_LEN) {
        struct buf headers = BUF_INITIALIZER;
        size_t n_headers;

        put_headers(&headers, r->form, r->version, r->xid);
        n_headers = headers.len;
        if (!is_stats(r->form->class) || r->buf.len - r->entry + n_headers > OFP_MSG_MAX_LEN) {
            buf_uninit(&headers);
            buf_truncate(&r->buf, r->entry);
            return -EMSGSIZE;
        }
        buf_patch_u16(&r->buf, r->start + 2, r->entry - r->start);
        buf_patch_u16(&r->buf, r->start + OFP_HEADER_LEN + 2, ST_MORE);
        buf_insert(&r->buf, r->entry, n_headers);
        memcpy(r->buf.data + r->entry, headers.data, n_headers);
        buf_uninit(&headers);
        r->start = r->entry;
    }
    r->entry = r->buf.len;
    return 0;
}

void ofp_reply_sent(struct ofp_reply *r, size_t n)
{
    buf_pull(&r->buf, n);
    r->start -= n;
    r->entry -= n;
}

void ofp_reply_end(struct ofp_reply *r)
{
    buf_patch_u16(&r->buf, r->start + 2, r->entry - r->start);
    r->start = r->entry;
}

void ofp_reply_uninit(struct ofp_reply *r) { buf_uninit(&r->buf); }
