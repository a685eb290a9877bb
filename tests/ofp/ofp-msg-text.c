/* What a message says, as text.  See ofp-msg-text.h.  It uses every decoder, and touches each byte that one returns. */
#include <config.h>

#include "tests/ofp/ofp-msg-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-msg-flow.h"
#include "lib/ofp/ofp-msg-group.h"
#include "lib/ofp/ofp-msg-meter.h"
#include "lib/ofp/ofp-msg-packet.h"
#include "lib/ofp/ofp-msg-port.h"
#include "lib/ofp/ofp-msg-session.h"
#include "lib/ofp/ofp-msg-table.h"
#include "lib/ofp/ofp-msg.h"

/* Where the part of any length begins; NULL: there is none. */
static const uint8_t *tail;

static void print_bytes(FILE *out, const char *name, const uint8_t *p, size_t n)
{
    fprintf(out, " %s=", name);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%02x", p[i]);
    }
}

static void print_match(FILE *out, const struct ofp_match_ref *match)
{
    static const char *const names[] = { "match10", "nxm", "oxm" };

    print_bytes(out, names[match->form], match->bytes.p, match->bytes.n);
}

static enum ofp_error hello_text(const struct ofp_msg *msg, FILE *out)
{
    uint32_t versions;
    enum ofp_error error = ofp_decode_hello(msg, &versions);

    if (!error) {
        fprintf(out, " versions=%#" PRIx32, versions);
        tail = msg->body;
    }
    return error;
}

static enum ofp_error error_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_error_msg e;
    enum ofp_error error = ofp_decode_error(msg, &e);

    if (!error) {
        fprintf(out, " vendor=%#" PRIx32 " type=%u code=%u", e.vendor, e.type, e.code);
        print_bytes(out, "data", e.data.p, e.data.n);
        tail = e.data.p;
    }
    return error;
}

static enum ofp_error flow_mod_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_flow_mod m;
    enum ofp_error error = ofp_decode_flow_mod(msg, true, &m);

    if (error) {
        return error;
    }
    fprintf(out,
            " command=%d table=%u priority=%u idle=%u hard=%u importance=%u flags=%#x cookie=%#" PRIx64 "/%#" PRIx64
            " new_cookie=%#" PRIx64 "%s buffer=%#" PRIx32 " out_port=%u out_group=%#" PRIx32,
            m.command, m.table_id, m.priority, m.idle_timeout, m.hard_timeout, m.importance, m.flags, m.cookie,
            m.cookie_mask, m.new_cookie, m.set_cookie ? "" : "(no)", m.buffer_id, m.out_port.n, m.out_group);
    print_match(out, &m.match);
    print_bytes(out, "actions", m.actions.p, m.actions.n);
    tail = m.actions.p;
    return 0;
}

static enum ofp_error flow_request_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_flow_request r;
    enum ofp_error error = ofp_decode_flow_request(msg, &r);

    if (!error) {
        fprintf(out, " table=%u out_port=%u out_group=%#" PRIx32 " cookie=%#" PRIx64 "/%#" PRIx64, r.table_id,
                r.out_port.n, r.out_group, r.cookie, r.cookie_mask);
        print_match(out, &r.match);
    }
    return error;
}

static enum ofp_error monitor_request_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    while (c.len) {
        struct ofp_monitor_request r;
        enum ofp_error error = ofp_get_monitor_request(&c, msg, &r);
        if (error) {
            return error;
        }
        fprintf(out, " id=%" PRIu32 " command=%d flags=%#x table=%u out_port=%u out_group=%#" PRIx32, r.id, r.command,
                r.flags, r.table_id, r.out_port.n, r.out_group);
        print_match(out, &r.match);
    }
    return 0;
}

static enum ofp_error packet_out_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_packet_out o;
    enum ofp_error error = ofp_decode_packet_out(msg, &o);

    if (!error) {
        fprintf(out, " buffer=%#" PRIx32 " in_port=%u", o.buffer_id, o.in_port.n);
        if (o.match.bytes.p) {
            print_match(out, &o.match);
        }
        print_bytes(out, "actions", o.actions.p, o.actions.n);
        print_bytes(out, "packet", o.packet.p, o.packet.n);
        tail = o.packet.p;
    }
    return error;
}

static enum ofp_error resume_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_packet_in p;
    enum ofp_error error = ofp_decode_resume(msg, &p);

    if (!error) {
        fprintf(out, " total=%zu buffer=%#" PRIx32 " table=%u reason=%u cookie=%#" PRIx64, p.total_len, p.buffer_id,
                p.table_id, p.reason, p.cookie);
        print_match(out, &p.fields);
        print_bytes(out, "packet", p.packet.p, p.packet.n);
        print_bytes(out, "userdata", p.userdata.p, p.userdata.n);
        print_bytes(out, "continuation", p.continuation.p, p.continuation.n);
        tail = msg->body;
    }
    return error;
}

static enum ofp_error bundle_ctrl_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_bundle_ctrl b;
    enum ofp_error error = ofp_decode_bundle_ctrl(msg, &b);

    if (!error) {
        fprintf(out, " bundle=%" PRIu32 " type=%d flags=%#x", b.bundle_id, b.type, b.flags);
    }
    return error;
}

static enum ofp_error decode(const struct ofp_msg *msg, FILE *out);

static enum ofp_error bundle_add_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_bundle_add b;
    enum ofp_error error = ofp_decode_bundle_add(msg, &b);

    if (error) {
        return error;
    }
    fprintf(out, " bundle=%" PRIu32 " flags=%#x %s", b.bundle_id, b.flags, ofp_msg_name(b.msg.id));
    error = decode(&b.msg, out);
    tail = msg->data + msg->len; /* The message within has a length of its own. */
    return error;
}

static enum ofp_error port_mod_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_port_mod m;
    enum ofp_error error = ofp_decode_port_mod(msg, &m);

    if (!error) {
        fprintf(out, " port=%u mac=" ETH_ADDR_FMT " config=%#" PRIx32 "/%#" PRIx32 " advertise=%#" PRIx32, m.port_no.n,
                ETH_ADDR_ARGS(m.hw_addr), m.config, m.mask, m.advertise);
        tail = msg->version >= OFP14_VERSION ? msg->body + 24 : NULL;
    }
    return error;
}

static enum ofp_error table_mod_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_table_mod m;
    enum ofp_error error = ofp_decode_table_mod(msg, &m);

    if (!error) {
        fprintf(out, " table=%u eviction=%d/%#" PRIx32 " vacancy=%d/%u,%u", m.table_id, m.eviction, m.eviction_flags,
                m.vacancy, m.vacancy_down, m.vacancy_up);
        tail = msg->version >= OFP14_VERSION ? msg->body + 8 : NULL;
    }
    return error;
}

static enum ofp_error port_text(const struct ofp_msg *msg, FILE *out)
{
    ofp_port_t port;
    enum ofp_error error = msg->id == OFPMSG_PORT_DESC_REQUEST ? ofp_decode_port_desc_request(msg, &port)
                                                               : ofp_decode_port_stats_request(msg, &port);

    if (!error) {
        fprintf(out, " port=%u", port.n);
    }
    return error;
}

static enum ofp_error queue_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_queue_request r;
    enum ofp_error error = msg->id == OFPMSG_QUEUE_STATS_REQUEST ? ofp_decode_queue_stats_request(msg, &r)
                                                                 : ofp_decode_queue_config_request(msg, &r);

    if (!error) {
        fprintf(out, " port=%u queue=%#" PRIx32, r.port_no.n, r.queue_id);
    }
    return error;
}

static enum ofp_error meter_mod_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_meter_mod mod;
    enum ofp_error error = ofp_decode_meter_mod(msg, &mod);

    if (error) {
        return error;
    }
    tail = mod.bands.p;
    fprintf(out, " command=%u meter=%#" PRIx32 " flags=%#x", mod.command, mod.id, mod.flags);
    for (size_t i = 0; i < ofp_meter_n_bands(&mod); i++) {
        struct ofp_meter_band band = ofp_meter_band(&mod, i);
        fprintf(out, " %" PRIu32 "/%" PRIu32, band.rate, band.burst);
    }
    return error;
}

static enum ofp_error meter_text(const struct ofp_msg *msg, FILE *out)
{
    fprintf(out, " meter=%#" PRIx32, ofp_decode_meter_request(msg));
    return 0;
}

static enum ofp_error group_mod_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_group_mod mod;
    enum ofp_error error = ofp_decode_group_mod(msg, &mod);

    if (error) {
        return error;
    }
    tail = mod.buckets.p;
    fprintf(out, " command=%#x type=%u group=%#" PRIx32 " command_bucket=%#" PRIx32, mod.command, mod.type, mod.group_id,
            mod.command_bucket_id);
    struct bytes left = mod.buckets;
    for (size_t i = 0; i < mod.n_buckets; i++) {
        struct ofp_bucket b;
        ofp_bucket_pull(msg, &left, i, &b);
        fprintf(out, " [id=%" PRIu32 " weight=%u port=%u group=%#" PRIx32, b.id, b.weight, b.watch_port.n, b.watch_group);
        print_bytes(out, "actions", b.actions.p, b.actions.n);
        fputc(']', out);
    }
    if (mod.selection.method[0]) {
        fprintf(out, " %.*s %" PRIu64, (int) sizeof mod.selection.method, mod.selection.method, mod.selection.param);
    }
    for (size_t i = 0; i < mod.selection.n_fields; i++) {
        fprintf(out, " %s ", mod.selection.fields[i].field->name);
        ofp_field_print(out, mod.selection.fields[i].field, &mod.selection.fields[i].mask, NULL);
    }
    return error;
}

static enum ofp_error group_text(const struct ofp_msg *msg, FILE *out)
{
    fprintf(out, " group=%#" PRIx32, ofp_decode_group_request(msg));
    return 0;
}

static enum ofp_error async_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_async a = { { 0 }, { 0 } };
    enum ofp_error error = ofp_decode_set_async(msg, &a);

    for (int i = 0; !error && i < OFP_N_ASYNC; i++) {
        fprintf(out, " %#" PRIx32 ",%#" PRIx32, a.master[i], a.slave[i]);
        tail = msg->form->unit ? msg->body : NULL;
    }
    return error;
}

static enum ofp_error config_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_config c;
    enum ofp_error error = ofp_decode_set_config(msg, &c);

    if (!error) {
        fprintf(out, " flags=%#x miss_send_len=%u", c.flags, c.miss_send_len);
    }
    return error;
}

static enum ofp_error role_text(const struct ofp_msg *msg, FILE *out)
{
    struct ofp_role_msg r;
    enum ofp_error error = ofp_decode_role(msg, &r);

    if (!error) {
        fprintf(out, " role=%d generation=%#" PRIx64 "%s", r.role, r.generation, r.have_generation ? "" : "(no)");
    }
    return error;
}

/* Nicira's settings: a number each. */
static enum ofp_error setting_text(const struct ofp_msg *msg, FILE *out)
{
    enum ofp_flow_format flow_format = 0;
    enum ofp_packet_in_format packet_in_format = 0;
    bool table_id = false;
    uint16_t n = 0;
    uint32_t id = 0;
    enum ofp_error error = msg->id == OFPMSG_SET_FLOW_FORMAT ? ofp_decode_set_flow_format(msg, &flow_format)
                           : msg->id == OFPMSG_SET_PACKET_IN_FORMAT
                               ? ofp_decode_set_packet_in_format(msg, &packet_in_format)
                           : msg->id == OFPMSG_FLOW_MOD_TABLE_ID ? ofp_decode_flow_mod_table_id(msg, &table_id)
                           : msg->id == OFPMSG_SET_CONTROLLER_ID ? ofp_decode_set_controller_id(msg, &n)
                           : msg->id == OFPMSG_CT_FLUSH_ZONE     ? ofp_decode_ct_flush_zone(msg, &n)
                                                                 : ofp_decode_monitor_cancel(msg, &id);

    if (!error) {
        fprintf(out, " %u", flow_format + packet_in_format + table_id + n + id);
    }
    return error;
}

static enum ofp_error decode(const struct ofp_msg *msg, FILE *out)
{
    static enum ofp_error (*const decoders[OFPMSG_N])(const struct ofp_msg *, FILE *) = {
        [OFPMSG_HELLO] = hello_text,
        [OFPMSG_ERROR] = error_text,
        [OFPMSG_FLOW_MOD] = flow_mod_text,
        [OFPMSG_FLOW_STATS_REQUEST] = flow_request_text,
        [OFPMSG_FLOW_COUNTS_REQUEST] = flow_request_text,
        [OFPMSG_AGGREGATE_REQUEST] = flow_request_text,
        [OFPMSG_FLOW_MONITOR_REQUEST] = monitor_request_text,
        [OFPMSG_PACKET_OUT] = packet_out_text,
        [OFPMSG_RESUME] = resume_text,
        [OFPMSG_BUNDLE_CTRL] = bundle_ctrl_text,
        [OFPMSG_BUNDLE_ADD] = bundle_add_text,
        [OFPMSG_PORT_MOD] = port_mod_text,
        [OFPMSG_TABLE_MOD] = table_mod_text,
        [OFPMSG_PORT_DESC_REQUEST] = port_text,
        [OFPMSG_PORT_STATS_REQUEST] = port_text,
        [OFPMSG_QUEUE_STATS_REQUEST] = queue_text,
        [OFPMSG_QUEUE_GET_CONFIG_REQUEST] = queue_text,
        [OFPMSG_GROUP_MOD] = group_mod_text,
        [OFPMSG_GROUP_STATS_REQUEST] = group_text,
        [OFPMSG_GROUP_DESC_REQUEST] = group_text,
        [OFPMSG_METER_MOD] = meter_mod_text,
        [OFPMSG_METER_STATS_REQUEST] = meter_text,
        [OFPMSG_METER_CONFIG_REQUEST] = meter_text,
        [OFPMSG_SET_ASYNC] = async_text,
        [OFPMSG_SET_CONFIG] = config_text,
        [OFPMSG_ROLE_REQUEST] = role_text,
        [OFPMSG_SET_FLOW_FORMAT] = setting_text,
        [OFPMSG_SET_PACKET_IN_FORMAT] = setting_text,
        [OFPMSG_FLOW_MOD_TABLE_ID] = setting_text,
        [OFPMSG_SET_CONTROLLER_ID] = setting_text,
        [OFPMSG_CT_FLUSH_ZONE] = setting_text,
        [OFPMSG_FLOW_MONITOR_CANCEL] = setting_text,
    };

    if (msg->id == OFPMSG_TABLE_FEATURES_REQUEST) {
        return ofp_decode_table_features_request(msg);
    }
    return decoders[msg->id] ? decoders[msg->id](msg, out) : 0;
}

enum ofp_error ofp_msg_text(const void *data, size_t len, char **ret_text, size_t *ret_fixed)
{
    struct ofp_msg msg;
    struct text text;
    enum ofp_error error = ofp_msg_recognize(data, len, &msg);

    if (error) {
        return error;
    }
    FILE *out = text_open(&text);
    fprintf(out, "%s%s", ofp_msg_name(msg.id), msg.more ? " more" : "");
    tail = msg.form->unit == 1 ? msg.body : NULL;
    error = decode(&msg, out);
    char *s = text_close(&text);
    if (error) {
        free(s);
        return error;
    }
    *ret_text = s;
    *ret_fixed = tail ? (size_t) (tail - msg.data) : len;
    return 0;
}
