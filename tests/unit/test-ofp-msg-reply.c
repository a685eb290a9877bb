/* What the switch says: every encoder, in every version, writes the bytes that are stored in tests/ofp/replies.txt, of
 * which tests/ofp/check-replies proves that ovs-ofctl understands them as the text that is stored beside them.
 *
 * `test-ofp-msg-reply print` prints the messages, for `tests/ofp/check-replies --record`. */
#include <config.h>

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-msg-flow.h"
#include "lib/ofp/ofp-msg-group.h"
#include "lib/ofp/ofp-msg-meter.h"
#include "lib/ofp/ofp-msg-packet.h"
#include "lib/ofp/ofp-msg-port.h"
#include "lib/ofp/ofp-msg-session.h"
#include "lib/ofp/ofp-msg-table.h"

static const enum ofp_version versions[] = { OFP10_VERSION, OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };

#define BYTES(...)                                                                                                     \
    {                                                                                                                  \
        (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })                                     \
    }

/* in_port=3, in each form. */
static const struct ofp_match_ref match10 = {
    OFP_MATCH_OFP10,
    BYTES(0, 0x38, 0x20, 0xfe, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
          0, 0, 0, 0, 0, 0),
};
static const struct ofp_match_ref match_nxm = { OFP_MATCH_NXM, BYTES(0, 0, 0, 2, 0, 3) };
static const struct ofp_match_ref match_oxm = { OFP_MATCH_OXM, BYTES(0x80, 0, 0, 4, 0, 0, 0, 3) };
/* output:2, as actions of 1.0 and as instructions. */
static const struct bytes actions10 = BYTES(0, 0, 0, 8, 0, 2, 0, 0);
static const struct bytes instructions =
    BYTES(0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0);
static const struct bytes packet = BYTES(0x50, 0x54, 0, 0, 0, 5, 0x50, 0x54, 0, 0, 0, 6, 0x12, 0x34, 1, 2);

static const struct ofp_match_ref *match_of(enum ofp_match_form form)
{
    return form == OFP_MATCH_OFP10 ? &match10 : form == OFP_MATCH_NXM ? &match_nxm : &match_oxm;
}

static const struct ofp_port port = {
    .port_no = { 1 },
    .hw_addr = { { 2, 0, 0, 0, 0, 1 } },
    .name = "p1",
    .config = OFPPC_NO_FLOOD | OFPPC_NO_PACKET_IN,
    .state = OFPPS_LINK_DOWN | OFPPS_LIVE,
    .curr = OFPPF_10GB_FD | OFPPF_COPPER,
    .advertised = OFPPF_AUTONEG,
    .supported = OFPPF_100MB_FD | OFPPF_FIBER | OFPPF_PAUSE,
    .peer = OFPPF_PAUSE_ASYM,
    .curr_speed = 10000000,
    .max_speed = 40000000,
};
static const struct ofp_port local = { .port_no = { 0xfffe }, .name = "br0", .config = OFPPC_PORT_DOWN };

static struct ofp_flow_stats flow_stats(enum ofp_version version, bool nx)
{
    return (struct ofp_flow_stats){
        .table_id = 4,
        .priority = 100,
        .idle_timeout = 10,
        .hard_timeout = 20,
        .importance = 7,
        .flags = version == OFP10_VERSION ? 0 : OFPFF_SEND_FLOW_REM,
        .cookie = 0x123456789abcdef0,
        .packet_count = 11,
        .byte_count = 2200,
        .duration_sec = 33,
        .duration_nsec = 444000000,
        .idle_age = 5,
        .hard_age = 6,
        .match = *match_of(ofp_flow_match_form(version, nx)),
        .actions = version == OFP10_VERSION ? actions10 : instructions,
    };
}

/* Says of a request what a reply needs to know. */
static struct ofp_msg request_of(enum ofp_msg_id id, enum ofp_version version, enum ofp_msg_class class)
{
    const struct ofp_msg_form *form = ofp_msg_find_form(id, version, class, 0);

    assert_non_null(form);
    return (struct ofp_msg){ .id = id, .form = form, .version = version, .xid = htobe32(2) };
}

static void put_reply(struct buf *b, struct ofp_reply *r)
{
    ofp_reply_end(r);
    buf_put(b, r->buf.data, r->buf.len);
    ofp_reply_uninit(r);
}

/* One function a message: appends it, or nothing where VERSION has no such message. */

static void put_hello(struct buf *b, enum ofp_version version) { ofp_put_hello(b, (2u << version) - 2, htobe32(2)); }

static void put_error(struct buf *b, enum ofp_version version)
{
    uint8_t request[80] = { version, 14, 0, 80, 0, 0, 0, 9 };

    ofp_put_error(b, OFPERR_OFPBRC_BAD_SUBTYPE, version, request, sizeof request);
}

static void put_error_nx(struct buf *b, enum ofp_version version)
{
    uint8_t request[8] = { version, 2, 0, 8, 0, 0, 0, 9 };

    ofp_put_error(b, OFPERR_NXBRC_MUST_BE_ZERO, version, request, sizeof request);
}

static void put_hello_error(struct buf *b, enum ofp_version version)
{
    ofp_put_hello_error(b, OFPERR_OFPHFC_INCOMPATIBLE, version, htobe32(2), "version 7 is too new");
}

static void put_echo(struct buf *b, enum ofp_version version)
{
    ofp_put_simple(b, OFPMSG_ECHO_REPLY, version, htobe32(2), "abc", 3);
}

static void put_features(struct buf *b, enum ofp_version version)
{
    struct ofp_port ports[] = { port, local };
    struct ofp_features features = {
        .datapath_id = 0x0000020000000001,
        .n_tables = 254,
        .capabilities = OFPC_FLOW_STATS | OFPC_TABLE_STATS | OFPC_PORT_STATS | OFPC_QUEUE_STATS | OFPC_ARP_MATCH_IP,
        .actions = 0xfff,
    };

    ofp_put_features(b, version, htobe32(2), &features, ports, 2);
}

static void put_config(struct buf *b, enum ofp_version version)
{
    ofp_put_config(b, version, htobe32(2), &(struct ofp_config){ OFPC_FRAG_NX_MATCH, 128 });
}

static void put_barrier(struct buf *b, enum ofp_version version)
{
    ofp_put_simple(b, OFPMSG_BARRIER_REPLY, version, htobe32(2), NULL, 0);
}

static void put_role(struct buf *b, enum ofp_version version)
{
    if (version == OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_ROLE_REQUEST, version, OFP_MSGCLASS_OFPT);
    ofp_put_role_reply(b, &request, &(struct ofp_role_msg){ OFP_ROLE_MASTER, true, 77 });
}

static void put_role_nx(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_ROLE_REQUEST, version, OFP_MSGCLASS_NXT);

    ofp_put_role_reply(b, &request, &(struct ofp_role_msg){ OFP_ROLE_EQUAL, true, 77 });
}

static void put_paused(struct buf *b, enum ofp_version version)
{
    if (version < OFP14_VERSION) {
        ofp_put_simple(b, OFPMSG_FLOW_MONITOR_PAUSED, version, 0, NULL, 0);
    }
}

static void put_resumed(struct buf *b, enum ofp_version version)
{
    if (version < OFP14_VERSION) {
        ofp_put_simple(b, OFPMSG_FLOW_MONITOR_RESUMED, version, 0, NULL, 0);
    }
}

static void put_role_status(struct buf *b, enum ofp_version version)
{
    ofp_put_role_status(b, version, &(struct ofp_role_msg){ OFP_ROLE_SLAVE, true, 78 }, OFPCRR_MASTER_REQUEST);
}

static void put_async(struct buf *b, enum ofp_version version)
{
    struct ofp_async async = { .master = { 7, 6, 5, 4, 0x18, 1 }, .slave = { 0x3f, 7, 0x30, 0, 8, 2 } };

    if (version != OFP10_VERSION) {
        ofp_put_async_reply(b, version, htobe32(2), &async);
    }
}

static void put_desc(struct buf *b, enum ofp_version version)
{
    ofp_put_desc(b, version, htobe32(2), &(struct ofp_desc){ "maker", "hardware", "software", "None", "a bridge" });
}

static void put_flows(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_FLOW_STATS_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_flow_stats stats = flow_stats(version, false);
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_FLOW_STATS_REPLY);
    assert_int_equal(ofp_reply_flow_stats(&r, &stats), 0);
    stats.actions.n = 0;
    stats.table_id = 5;
    assert_int_equal(ofp_reply_flow_stats(&r, &stats), 0);
    put_reply(b, &r);
}

static void put_flows_nx(struct buf *b, enum ofp_version version)
{
    if (version != OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_FLOW_STATS_REQUEST, version, OFP_MSGCLASS_NXSTREQ);
    struct ofp_flow_stats stats = flow_stats(version, true);
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_FLOW_STATS_REPLY);
    assert_int_equal(ofp_reply_flow_stats(&r, &stats), 0);
    stats.idle_age = stats.hard_age = OFP_AGE_UNKNOWN;
    assert_int_equal(ofp_reply_flow_stats(&r, &stats), 0);
    put_reply(b, &r);
}

static void put_aggregate(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_AGGREGATE_REQUEST, version, OFP_MSGCLASS_STREQ);

    ofp_put_aggregate(b, &request, &(struct ofp_aggregate){ 12, 3400, 5 });
}

static void put_aggregate_nx(struct buf *b, enum ofp_version version)
{
    if (version != OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_AGGREGATE_REQUEST, version, OFP_MSGCLASS_NXSTREQ);

    ofp_put_aggregate(b, &request, &(struct ofp_aggregate){ 12, 3400, 5 });
}

static void put_removed(struct buf *b, enum ofp_version version)
{
    struct ofp_flow_stats stats = flow_stats(version, false);

    ofp_put_flow_removed(b, version, false, OFPRR_EVICTION, &stats);
}

static void put_removed_nx(struct buf *b, enum ofp_version version)
{
    struct ofp_flow_stats stats = flow_stats(version, true);

    if (version == OFP10_VERSION) {
        ofp_put_flow_removed(b, version, true, OFPRR_HARD_TIMEOUT, &stats);
    }
}

static void put_monitor(struct buf *b, enum ofp_version version)
{
    struct ofp_flow_stats stats = flow_stats(version, version == OFP10_VERSION);
    struct ofp_reply r;

    ofp_monitor_updates_begin(&r, version);
    for (enum ofp_monitor_event event = OFPFME_INITIAL; event <= OFPFME_ABBREV; event++) {
        struct ofp_monitor_update update = { event, htobe32(0x99), OFPRR_DELETE, &stats };
        assert_int_equal(ofp_reply_monitor_update(&r, &update), 0);
    }
    if (version >= OFP14_VERSION) {
        assert_int_equal(ofp_reply_monitor_update(&r, &(struct ofp_monitor_update){ .event = OFPFME_PAUSED }), 0);
    }
    put_reply(b, &r);
}

static void put_tables(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_TABLE_STATS_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_table_stats stats = { 0, "table0", 0x3fffff, 1000000, 2, 300, 4000 };
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_TABLE_STATS_REPLY);
    assert_int_equal(ofp_reply_table_stats(&r, &stats), 0);
    put_reply(b, &r);
}

static void put_table_features(struct buf *b, enum ofp_version version)
{
    const struct ofp_table_features features = {
        .table_id = 3,
        .name = "table3",
        .metadata_match = UINT64_MAX,
        .metadata_write = UINT64_MAX,
        .eviction = true,
        .max_entries = 1000000,
        .instructions = 1 << 1 | 1 << 3 | 1 << 4,
        .write_actions = 1 << 0 | 1 << 25,
        .apply_actions = 1 << 0 | 1 << 17 | 1 << 25,
        .next = BYTES(4, 5, 6),
        .match = BYTES(0x80, 0, 0, 4, 0x80, 0, 7, 12),
        .wildcards = BYTES(0x80, 0, 0, 4),
        .set_fields = BYTES(0x80, 0, 6, 6),
    };

    if (version == OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_TABLE_FEATURES_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_reply r;
    ofp_reply_begin(&r, &request, OFPMSG_TABLE_FEATURES_REPLY);
    assert_int_equal(ofp_reply_table_features(&r, &features), 0);
    put_reply(b, &r);
}

static void put_table_desc(struct buf *b, enum ofp_version version)
{
    if (version < OFP14_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_TABLE_DESC_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_reply r;
    ofp_reply_begin(&r, &request, OFPMSG_TABLE_DESC_REPLY);
    assert_int_equal(ofp_reply_table_desc(&r, &(struct ofp_table_desc){ 3, true, true, 2, 20, 80, 50 }), 0);
    assert_int_equal(ofp_reply_table_desc(&r, &(struct ofp_table_desc){ .table_id = 4 }), 0);
    put_reply(b, &r);
}

static void put_port_desc(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_PORT_DESC_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_PORT_DESC_REPLY);
    assert_int_equal(ofp_reply_port_desc(&r, &port), 0);
    assert_int_equal(ofp_reply_port_desc(&r, &local), 0);
    put_reply(b, &r);
}

static void put_port_status(struct buf *b, enum ofp_version version)
{
    ofp_put_port_status(b, version, OFPPR_MODIFY, &port);
}

static void put_ports(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_PORT_STATS_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_port_stats stats = { { 0xfffe }, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, UINT64_MAX, 13, 140000000 };
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_PORT_STATS_REPLY);
    assert_int_equal(ofp_reply_port_stats(&r, &stats), 0);
    stats.port_no.n = 2;
    assert_int_equal(ofp_reply_port_stats(&r, &stats), 0);
    put_reply(b, &r);
}

static void put_queues(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_QUEUE_STATS_REQUEST, version, OFP_MSGCLASS_STREQ);
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_QUEUE_STATS_REPLY);
    assert_int_equal(ofp_reply_queue_stats(&r, &(struct ofp_queue_stats){ { 2 }, 5, 600, 7, 0, 8, 90000000 }), 0);
    put_reply(b, &r);
}

static void put_queue_config(struct buf *b, enum ofp_version version)
{
    struct ofp_msg request = request_of(OFPMSG_QUEUE_GET_CONFIG_REQUEST, version,
                                        version >= OFP14_VERSION ? OFP_MSGCLASS_STREQ : OFP_MSGCLASS_OFPT);
    struct ofp_reply r;

    ofp_reply_queue_config_begin(&r, &request, (ofp_port_t){ 2 });
    assert_int_equal(ofp_reply_queue_config(&r, &(struct ofp_queue_config){ { 2 }, 5, 100, 500 }), 0);
    assert_int_equal(ofp_reply_queue_config(&r, &(struct ofp_queue_config){ { 2 }, 6, OFP_RATE_UNKNOWN, 900 }), 0);
    put_reply(b, &r);
}

/* Of groups 1.0 has Nicira's form. */
static struct ofp_msg group_request(enum ofp_msg_id id, enum ofp_version version)
{
    return request_of(id, version, version == OFP10_VERSION ? OFP_MSGCLASS_NXSTREQ : OFP_MSGCLASS_STREQ);
}

static void put_groups(struct buf *b, enum ofp_version version)
{
    static const struct ofp_group_counts buckets[] = { { 5, 600 }, { 7, 800 } };
    static const struct ofp_group_stats stats[] = {
        { .group_id = 1, .ref_count = 2, .counts = { 12, 1400 }, .duration_sec = 9, .duration_nsec = 120000000, .buckets = buckets,
          .n_buckets = 2 },
        { .group_id = OFPG_MAX },
    };
    struct ofp_msg request = group_request(OFPMSG_GROUP_STATS_REQUEST, version);
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_GROUP_STATS_REPLY);
    assert_int_equal(ofp_reply_group_stats(&r, &stats[0]), 0);
    assert_int_equal(ofp_reply_group_stats(&r, &stats[1]), 0);
    put_reply(b, &r);
}

static void put_group_desc(struct buf *b, enum ofp_version version)
{
    /* output:2, as each version writes it. */
    const struct bytes actions = version == OFP10_VERSION ? actions10 : (struct bytes) { instructions.p + 8, instructions.n - 8 };
    const struct ofp_bucket buckets[] = {
        { .id = 0, .weight = 5, .watch_port = OFPP_NONE, .watch_group = OFPG_ANY, .actions = actions },
        { .id = 1, .weight = 1, .watch_port = { 3 }, .watch_group = OFPG_ANY },
    };
    const struct ofp_bucket ff[] = { { .id = 0, .watch_port = OFPP_NONE, .watch_group = 1, .actions = actions } };
    struct ofp_group_selection none = { .method = "" }, hash = { .method = "hash", .param = 9, .n_fields = 2 };
    const struct ofp_group_desc descs[] = {
        { OFPGT_SELECT, 1, buckets, 2, &hash }, { OFPGT_FF, 2, ff, 1, &none }, { OFPGT_ALL, 3, NULL, 0, &none },
    };
    struct ofp_msg request = group_request(OFPMSG_GROUP_DESC_REQUEST, version);
    struct ofp_reply r;

    hash.fields[0].field = ofp_field(OFP_FIELD_IP_SRC);
    ofp_value_put_u64(&hash.fields[0].mask, 4, 0xffffff00);
    hash.fields[1].field = ofp_field(OFP_FIELD_TCP_DST);
    ofp_value_put_u64(&hash.fields[1].mask, 2, 0xffff);
    ofp_reply_begin(&r, &request, OFPMSG_GROUP_DESC_REPLY);
    for (size_t i = 0; i < ARRAY_SIZE(descs); i++) {
        assert_int_equal(ofp_reply_group_desc(&r, &descs[i]), 0);
    }
    put_reply(b, &r);
}

static void put_group_features(struct buf *b, enum ofp_version version)
{
    static const struct ofp_group_features f = {
        0xf, OFPGFC_SELECT_WEIGHT | OFPGFC_CHAINING, { 1, 2, 3, OFPG_MAX }, { 1, 1 << 22, 0, 1 << 25 },
    };
    struct ofp_msg request = group_request(OFPMSG_GROUP_FEATURES_REQUEST, version);
    struct ofp_reply r;

    ofp_reply_begin(&r, &request, OFPMSG_GROUP_FEATURES_REPLY);
    assert_int_equal(ofp_reply_group_features(&r, &f), 0);
    put_reply(b, &r);
}

static void put_meters(struct buf *b, enum ofp_version version)
{
    static const struct ofp_meter_band_stats bands[] = { { 5, 600 }, { 7, 800 } };
    static const struct ofp_meter_stats stats[] = {
        { .id = 1, .n_flows = 2, .packets = 30, .bytes = 4000, .duration_sec = 9, .duration_nsec = 120000000, .bands = bands, .n_bands = 2 },
        { .id = OFPM_CONTROLLER, .bands = bands, .n_bands = 1 },
    };
    struct ofp_reply r;

    if (version == OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_METER_STATS_REQUEST, version, OFP_MSGCLASS_STREQ);
    ofp_reply_begin(&r, &request, OFPMSG_METER_STATS_REPLY);
    assert_int_equal(ofp_reply_meter_stats(&r, &stats[0]), 0);
    assert_int_equal(ofp_reply_meter_stats(&r, &stats[1]), 0);
    put_reply(b, &r);
}

static void put_meter_config(struct buf *b, enum ofp_version version)
{
    static const struct ofp_meter_band bands[] = { { 1000, 200 }, { 3, 4 } };
    static const struct ofp_meter_config configs[] = {
        { .id = 1, .flags = OFPMF_KBPS | OFPMF_BURST | OFPMF_STATS, .bands = bands, .n_bands = 2 },
        { .id = OFPM_SLOWPATH, .flags = OFPMF_PKTPS, .bands = bands, .n_bands = 1 },
    };
    struct ofp_reply r;

    if (version == OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_METER_CONFIG_REQUEST, version, OFP_MSGCLASS_STREQ);
    ofp_reply_begin(&r, &request, OFPMSG_METER_CONFIG_REPLY);
    assert_int_equal(ofp_reply_meter_config(&r, &configs[0]), 0);
    assert_int_equal(ofp_reply_meter_config(&r, &configs[1]), 0);
    put_reply(b, &r);
}

static void put_meter_features(struct buf *b, enum ofp_version version)
{
    static const struct ofp_meter_features f = { 262144, 1 << OFPMBT_DROP, OFPMF_ALL, 8, 0 };
    struct ofp_reply r;

    if (version == OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = request_of(OFPMSG_METER_FEATURES_REQUEST, version, OFP_MSGCLASS_STREQ);
    ofp_reply_begin(&r, &request, OFPMSG_METER_FEATURES_REPLY);
    assert_int_equal(ofp_reply_meter_features(&r, &f), 0);
    put_reply(b, &r);
}

static void put_packet_in(struct buf *b, enum ofp_version version, enum ofp_packet_in_format format)
{
    struct ofp_packet_in pin = {
        .packet = packet,
        .total_len = 60,
        .buffer_id = OFP_NO_BUFFER,
        .reason = 3,
        .table_id = 7,
        .cookie = 0x55,
        .in_port = { 3 },
        .fields = *match_of(ofp_packet_in_match_form(version, format)),
        .userdata = BYTES(1, 2, 3),
    };

    assert_int_equal(ofp_put_packet_in(b, version, format, &pin), 0);
}

static void put_packet_in_standard(struct buf *b, enum ofp_version version)
{
    put_packet_in(b, version, OFP_PACKET_IN_STANDARD);
}

static void put_packet_in_nxt(struct buf *b, enum ofp_version version) { put_packet_in(b, version, OFP_PACKET_IN_NXT); }

static void put_packet_in_nxt2(struct buf *b, enum ofp_version version)
{
    put_packet_in(b, version, OFP_PACKET_IN_NXT2);
}

static void put_bundle(struct buf *b, enum ofp_version version)
{
    if (version == OFP10_VERSION) {
        return;
    }
    struct ofp_msg request = { .version = version, .xid = htobe32(2) };
    ofp_put_bundle_reply(b, &request,
                         &(struct ofp_bundle_ctrl){ 9, OFPBCT_COMMIT_REQUEST, OFPBF_ATOMIC | OFPBF_ORDERED });
}

static const struct {
    const char *name;
    void (*put)(struct buf *b, enum ofp_version version);
} samples[] = {
    { "hello", put_hello },
    { "error", put_error },
    { "error-nx", put_error_nx },
    { "hello-error", put_hello_error },
    { "echo", put_echo },
    { "features", put_features },
    { "config", put_config },
    { "barrier", put_barrier },
    { "role", put_role },
    { "role-nx", put_role_nx },
    { "role-status", put_role_status },
    { "monitor-paused", put_paused },
    { "monitor-resumed", put_resumed },
    { "async", put_async },
    { "desc", put_desc },
    { "flows", put_flows },
    { "flows-nx", put_flows_nx },
    { "aggregate", put_aggregate },
    { "aggregate-nx", put_aggregate_nx },
    { "removed", put_removed },
    { "removed-nx", put_removed_nx },
    { "monitor", put_monitor },
    { "tables", put_tables },
    { "table-features", put_table_features },
    { "table-desc", put_table_desc },
    { "port-desc", put_port_desc },
    { "port-status", put_port_status },
    { "ports", put_ports },
    { "queues", put_queues },
    { "queue-config", put_queue_config },
    { "packet-in", put_packet_in_standard },
    { "packet-in-nxt", put_packet_in_nxt },
    { "packet-in-nxt2", put_packet_in_nxt2 },
    { "bundle", put_bundle },
    { "groups", put_groups },
    { "group-desc", put_group_desc },
    { "group-features", put_group_features },
    { "meters", put_meters },
    { "meter-config", put_meter_config },
    { "meter-features", put_meter_features },
};

/* Prints "> NAME VERSION" and the bytes, for each message. */
static void print_all(FILE *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
            struct buf b = BUF_INITIALIZER;
            samples[i].put(&b, versions[v]);
            if (b.len) {
                fprintf(out, "> %s 1.%d\n", samples[i].name, versions[v] - 1);
            }
            for (size_t j = 0; j < b.len; j++) {
                fprintf(out, "%02x%s", b.data[j], j + 1 == b.len ? "\n" : "");
            }
            buf_uninit(&b);
        }
    }
}

/* Reads the next line of IN that begins with none of "#=", without its newline; to be freed; NULL at the end. */
static char *read_line(FILE *in)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    while ((n = getline(&line, &size, in)) > 0) {
        if (!strchr("#=\n", line[0])) {
            line[n - 1] = '\0';
            return line;
        }
    }
    free(line);
    return NULL;
}

static void every_encoder_writes_what_is_stored(void **state UNUSED)
{
    const char *srcdir = getenv("srcdir");
    char *path = xasprintf("%s/tests/ofp/replies.txt", srcdir ? srcdir : ".");
    FILE *stored = fopen(path, "r");
    struct text t;

    assert_non_null(stored);
    print_all(text_open(&t));
    char *text = text_close(&t);
    char *save = NULL;
    for (char *ours = strtok_r(text, "\n", &save); ours; ours = strtok_r(NULL, "\n", &save)) {
        char *line = read_line(stored);
        assert_non_null(line);
        assert_string_equal(ours, line);
        free(line);
    }
    assert_null(read_line(stored));
    fclose(stored);
    free(text);
    free(path);
}

/* What one of our encoders has written is one message each, of the right kind and length. */
static void every_reply_is_recognized(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
            struct buf b = BUF_INITIALIZER;
            struct ofp_msg msg;
            samples[i].put(&b, versions[v]);
            if (b.len) {
                assert_int_equal(ofp_msg_recognize(b.data, b.len, &msg), 0);
                assert_int_equal(msg.version, versions[v]);
                assert_true(!ofp_msg_is_from_controller(msg.id) || msg.id <= OFPMSG_ECHO_REPLY ||
                            msg.id == OFPMSG_BUNDLE_CTRL);
            }
            buf_uninit(&b);
        }
    }
}

static void a_packet_that_is_too_large_is_refused(void **state UNUSED)
{
    static uint8_t bytes[OFP_MSG_MAX_LEN];

    for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
        for (enum ofp_packet_in_format format = OFP_PACKET_IN_STANDARD; format <= OFP_PACKET_IN_NXT2; format++) {
            struct ofp_packet_in pin = {
                .packet = { bytes, sizeof bytes },
                .fields = *match_of(ofp_packet_in_match_form(versions[v], format)),
            };
            struct buf b = BUF_INITIALIZER;
            buf_put(&b, "x", 1);
            assert_int_equal(ofp_put_packet_in(&b, versions[v], format, &pin), -EMSGSIZE);
            assert_int_equal(b.len, 1);
            buf_uninit(&b);
        }
    }
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoder_writes_what_is_stored),
        cmocka_unit_test(every_reply_is_recognized),
        cmocka_unit_test(a_packet_that_is_too_large_is_refused),
    };

    if (argc > 1 && !strcmp(argv[1], "print")) {
        print_all(stdout);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
