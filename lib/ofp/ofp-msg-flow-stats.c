/* Flows as they are told: statistics in every version's form, and FLOW_REMOVED.  See ofp-msg-flow.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-flow.h"

/* Statistics of 1.5 are a list of fields, as matches are. */
enum oxs_field {
    OXS_DURATION = 0,
    OXS_IDLE_TIME = 1,
    OXS_FLOW_COUNT = 3,
    OXS_PACKET_COUNT = 4,
    OXS_BYTE_COUNT = 5,
};
#define OXS_CLASS 0x8002 /* OFPXSC_OPENFLOW_BASIC. */

enum ofp_match_form ofp_flow_match_form(enum ofp_version version, bool nx)
{
    return nx ? OFP_MATCH_NXM : version == OFP10_VERSION ? OFP_MATCH_OFP10 : OFP_MATCH_OXM;
}

static void put_oxs_header(struct buf *b, enum oxs_field field, uint8_t len)
{
    buf_put_u32(b, (uint32_t) OXS_CLASS << 16 | (uint32_t) field << 9 | len);
}

static void put_oxs_count(struct buf *b, enum oxs_field field, uint64_t count)
{
    if (count != OFP_COUNT_NONE) {
        put_oxs_header(b, field, sizeof count);
        buf_put_u64(b, count);
    }
}

static size_t begin_oxs(struct buf *b)
{
    buf_put_zeros(b, 4); /* Reserved, length. */
    return b->len - 4;
}

static void end_oxs(struct buf *b, size_t start)
{
    buf_patch_u16(b, start + 2, b->len - start);
    buf_pad8(b, start);
}

static void put_flow_oxs(struct buf *b, const struct ofp_flow_stats *s, bool times)
{
    size_t start = begin_oxs(b);

    if (times) {
        put_oxs_header(b, OXS_DURATION, 8);
        buf_put_u32(b, s->duration_sec);
        buf_put_u32(b, s->duration_nsec);
        if (s->idle_age != OFP_AGE_UNKNOWN) {
            put_oxs_header(b, OXS_IDLE_TIME, 8);
            buf_put_u32(b, s->idle_age);
            buf_put_u32(b, 0);
        }
    }
    put_oxs_count(b, OXS_PACKET_COUNT, s->packet_count);
    put_oxs_count(b, OXS_BYTE_COUNT, s->byte_count);
    end_oxs(b, start);
}

/* An age of Nicira's form: one more than the seconds, at most what fits; 0 if unknown. */
static uint16_t age_to_nx(int age) { return age == OFP_AGE_UNKNOWN ? 0 : MIN(age, UINT16_MAX - 1) + 1; }

/* What every form before 1.5 has in this order. */
static void put_times(struct buf *b, const struct ofp_flow_stats *s)
{
    buf_put_u32(b, s->duration_sec);
    buf_put_u32(b, s->duration_nsec);
    buf_put_u16(b, s->priority);
    buf_put_u16(b, s->idle_timeout);
    buf_put_u16(b, s->hard_timeout);
}

static void put_counts(struct buf *b, const struct ofp_flow_stats *s)
{
    buf_put_u64(b, s->cookie);
    buf_put_u64(b, s->packet_count);
    buf_put_u64(b, s->byte_count);
}

static void put_flow10(struct buf *b, const struct ofp_flow_stats *s)
{
    buf_put_u8(b, s->table_id);
    buf_put_zeros(b, 1);
    ofp_put_match(b, &s->match);
    put_times(b, s);
    buf_put_zeros(b, 6);
    put_counts(b, s);
}

static void put_flow_nx(struct buf *b, const struct ofp_flow_stats *s)
{
    buf_put_u8(b, s->table_id);
    buf_put_zeros(b, 1);
    put_times(b, s);
    buf_put_u16(b, s->match.bytes.n);
    buf_put_u16(b, age_to_nx(s->idle_age));
    buf_put_u16(b, age_to_nx(s->hard_age));
    put_counts(b, s);
    ofp_put_match(b, &s->match);
}

static void put_flow13(struct buf *b, enum ofp_version version, const struct ofp_flow_stats *s)
{
    buf_put_u8(b, s->table_id);
    buf_put_zeros(b, 1);
    put_times(b, s);
    buf_put_u16(b, s->flags);
    buf_put_u16(b, version >= OFP14_VERSION ? s->importance : 0);
    buf_put_zeros(b, 2);
    put_counts(b, s);
    ofp_put_match(b, &s->match);
}

static void put_flow15(struct buf *b, const struct ofp_flow_stats *s)
{
    buf_put_zeros(b, 2);
    buf_put_u8(b, s->table_id);
    buf_put_zeros(b, 1);
    buf_put_u16(b, s->priority);
    buf_put_u16(b, s->idle_timeout);
    buf_put_u16(b, s->hard_timeout);
    buf_put_u16(b, s->flags);
    buf_put_u16(b, s->importance);
    buf_put_u64(b, s->cookie);
    ofp_put_match(b, &s->match);
    put_flow_oxs(b, s, true);
}

int ofp_reply_flow_stats(struct ofp_reply *r, const struct ofp_flow_stats *stats)
{
    struct buf *b = &r->buf;
    size_t start = b->len;

    buf_put_zeros(b, 2); /* Length. */
    if (r->form->class == OFP_MSGCLASS_NXSTREP) {
        put_flow_nx(b, stats);
    } else if (r->version == OFP10_VERSION) {
        put_flow10(b, stats);
    } else if (r->version < OFP15_VERSION) {
        put_flow13(b, r->version, stats);
    } else {
        put_flow15(b, stats);
    }
    buf_put(b, stats->actions.p, stats->actions.n);
    buf_patch_u16(b, start, b->len - start);
    return ofp_reply_commit(r);
}

int ofp_reply_flow_counts(struct ofp_reply *r, const struct ofp_flow_stats *stats)
{
    struct buf *b = &r->buf;
    size_t start = b->len;

    buf_put_zeros(b, 4); /* Length, padding. */
    buf_put_u8(b, stats->table_id);
    buf_put_u8(b, 0); /* Reason: a request. */
    buf_put_u16(b, stats->priority);
    ofp_put_match(b, &stats->match);
    put_flow_oxs(b, stats, true);
    buf_patch_u16(b, start, b->len - start);
    return ofp_reply_commit(r);
}

void ofp_put_aggregate(struct buf *b, const struct ofp_msg *request, const struct ofp_aggregate *aggregate)
{
    struct ofp_reply r;

    ofp_reply_begin(&r, request, OFPMSG_AGGREGATE_REPLY);
    if (r.version >= OFP15_VERSION && !ofp_msg_is_nx(request)) {
        size_t start = begin_oxs(&r.buf);
        put_oxs_header(&r.buf, OXS_FLOW_COUNT, 4);
        buf_put_u32(&r.buf, aggregate->flow_count);
        put_oxs_count(&r.buf, OXS_PACKET_COUNT, aggregate->packet_count);
        put_oxs_count(&r.buf, OXS_BYTE_COUNT, aggregate->byte_count);
        end_oxs(&r.buf, start);
    } else {
        buf_put_u64(&r.buf, aggregate->packet_count);
        buf_put_u64(&r.buf, aggregate->byte_count);
        buf_put_u32(&r.buf, aggregate->flow_count);
        buf_put_zeros(&r.buf, 4);
    }
    ofp_reply_commit(&r); /* It is short. */
    ofp_reply_end(&r);
    buf_put(b, r.buf.data, r.buf.len);
    ofp_reply_uninit(&r);
}

/* Removed flows. */

static void put_removed10(struct buf *b, enum ofp_removed_reason reason, const struct ofp_flow_stats *s)
{
    ofp_put_match(b, &s->match);
    buf_put_u64(b, s->cookie);
    buf_put_u16(b, s->priority);
    buf_put_u8(b, reason);
    buf_put_zeros(b, 1);
    buf_put_u32(b, s->duration_sec);
    buf_put_u32(b, s->duration_nsec);
    buf_put_u16(b, s->idle_timeout);
    buf_put_zeros(b, 2);
    buf_put_u64(b, s->packet_count);
    buf_put_u64(b, s->byte_count);
}

/* Nicira's form and 1.3's differ in the table id, which is one more there, and in what follows the idle timeout. */
static void put_removed13(struct buf *b, bool nx, enum ofp_removed_reason reason, const struct ofp_flow_stats *s)
{
    buf_put_u64(b, s->cookie);
    buf_put_u16(b, s->priority);
    buf_put_u8(b, reason);
    buf_put_u8(b, s->table_id + nx);
    buf_put_u32(b, s->duration_sec);
    buf_put_u32(b, s->duration_nsec);
    buf_put_u16(b, s->idle_timeout);
    buf_put_u16(b, nx ? s->match.bytes.n : s->hard_timeout);
    buf_put_u64(b, s->packet_count);
    buf_put_u64(b, s->byte_count);
    ofp_put_match(b, &s->match);
}

static void put_removed15(struct buf *b, enum ofp_removed_reason reason, const struct ofp_flow_stats *s)
{
    buf_put_u8(b, s->table_id);
    buf_put_u8(b, reason);
    buf_put_u16(b, s->priority);
    buf_put_u16(b, s->idle_timeout);
    buf_put_u16(b, s->hard_timeout);
    buf_put_u64(b, s->cookie);
    ofp_put_match(b, &s->match);
    put_flow_oxs(b, s, true);
}

void ofp_put_flow_removed(struct buf *b, enum ofp_version version, bool nx, enum ofp_removed_reason reason,
                          const struct ofp_flow_stats *stats)
{
    size_t start = ofp_msg_begin_form(b, OFPMSG_FLOW_REMOVED, version, 0, nx ? OFP_MSGCLASS_NXT : OFP_MSGCLASS_OFPT, 0);

    if (version < OFP14_VERSION && reason >= OFPRR_METER_DELETE) {
        reason = OFPRR_DELETE;
    }
    if (nx) {
        put_removed13(b, true, reason, stats);
    } else if (version == OFP10_VERSION) {
        put_removed10(b, reason, stats);
    } else if (version < OFP15_VERSION) {
        put_removed13(b, false, reason, stats);
    } else {
        put_removed15(b, reason, stats);
    }
    ofp_msg_end(b, start);
}
