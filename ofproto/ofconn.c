/* A client of a bridge: its connection, what it asked to be told, and which function serves which message. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/controller-private.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofconn);

#define DEFAULT_MISS_SEND_LEN 128 /* Bytes of a packet, OpenFlow 1.3, 7.2.8. */

/* What a client that has not said otherwise is told, as OpenFlow 1.3 (6.3.4) and ovs-vswitchd(8) have it: changes of ports, and as
 * master or equal of all. */
static const struct ofp_async default_async = {
    .master = { [OFP_ASYNC_PACKET_IN] = 1u << OFPR_NO_MATCH | 1u << OFPR_ACTION | 1u << OFPR_ACTION_SET | 1u << OFPR_GROUP
                                        | 1u << OFPR_PACKET_OUT,
                [OFP_ASYNC_PORT_STATUS] = 7,
                [OFP_ASYNC_FLOW_REMOVED] = 0x3f },
    .slave = { [OFP_ASYNC_PORT_STATUS] = 7 },
};

struct handler_entry {
    ofproto_handler *handler;
    bool writes; /* Not for a slave. */
};

static const struct handler_entry handlers[OFPMSG_N] = {
    [OFPMSG_FEATURES_REQUEST] = { handle_features, false },
    [OFPMSG_GET_CONFIG_REQUEST] = { handle_get_config, false },
    [OFPMSG_SET_CONFIG] = { handle_set_config, true },
    [OFPMSG_BARRIER_REQUEST] = { handle_barrier, false },
    [OFPMSG_DESC_REQUEST] = { handle_desc, false },
    [OFPMSG_ROLE_REQUEST] = { handle_role, false },
    [OFPMSG_GET_ASYNC_REQUEST] = { handle_get_async, false },
    [OFPMSG_SET_ASYNC] = { handle_set_async, false },
    [OFPMSG_SET_FLOW_FORMAT] = { handle_set_flow_format, false },
    [OFPMSG_SET_PACKET_IN_FORMAT] = { handle_set_packet_in_format, false },
    [OFPMSG_FLOW_MOD_TABLE_ID] = { handle_flow_mod_table_id, false },
    [OFPMSG_SET_CONTROLLER_ID] = { handle_set_controller_id, false },
    [OFPMSG_PORT_DESC_REQUEST] = { handle_port_desc, false },
    [OFPMSG_PORT_MOD] = { handle_port_mod, true },
    [OFPMSG_PORT_STATS_REQUEST] = { handle_port_stats, false },
    [OFPMSG_QUEUE_STATS_REQUEST] = { handle_queue_stats, false },
    [OFPMSG_QUEUE_GET_CONFIG_REQUEST] = { handle_queue_config, false },
    [OFPMSG_TABLE_STATS_REQUEST] = { handle_table_stats, false },
    [OFPMSG_TABLE_FEATURES_REQUEST] = { handle_table_features, false },
    [OFPMSG_TABLE_MOD] = { handle_table_mod, true },
    [OFPMSG_TABLE_DESC_REQUEST] = { handle_table_desc, false },
    [OFPMSG_GROUP_MOD] = { handle_group_mod, true },
    [OFPMSG_GROUP_STATS_REQUEST] = { handle_group_stats, false },
    [OFPMSG_GROUP_DESC_REQUEST] = { handle_group_desc, false },
    [OFPMSG_GROUP_FEATURES_REQUEST] = { handle_group_features, false },
    [OFPMSG_METER_MOD] = { handle_meter_mod, true },
    [OFPMSG_METER_STATS_REQUEST] = { handle_meter_stats, false },
    [OFPMSG_METER_CONFIG_REQUEST] = { handle_meter_config, false },
    [OFPMSG_METER_FEATURES_REQUEST] = { handle_meter_features, false },
    [OFPMSG_TLV_TABLE_REQUEST] = { handle_tlv_request, false },
    [OFPMSG_TLV_TABLE_MOD] = { handle_tlv_mod, true },
    [OFPMSG_FLOW_MOD] = { handle_flow_mod, true },
    [OFPMSG_FLOW_STATS_REQUEST] = { handle_flow_stats, false },
    [OFPMSG_FLOW_COUNTS_REQUEST] = { handle_flow_counts, false },
    [OFPMSG_AGGREGATE_REQUEST] = { handle_aggregate, false },
    [OFPMSG_FLOW_MONITOR_REQUEST] = { handle_flow_monitor, false },
    [OFPMSG_FLOW_MONITOR_CANCEL] = { handle_flow_monitor_cancel, false },
    [OFPMSG_BUNDLE_CTRL] = { handle_bundle_ctrl, true },
    [OFPMSG_BUNDLE_ADD] = { handle_bundle_add, true },
    [OFPMSG_PACKET_OUT] = { handle_packet_out, true },
};

void ofconn_reply(struct ofconn *c, struct buf *b)
{
    if (b->len) {
        /* A failure means that the connection is ending. */
        ofp_conn_send(c->conn, b->data, b->len, OFP_CONN_REPLY);
    }
    buf_uninit(b);
}

void ofconn_finish(struct ofconn *c, struct ofp_reply *r)
{
    ofp_reply_end(r);
    ofp_conn_send(c->conn, r->buf.data, r->buf.len, OFP_CONN_REPLY);
    ofp_reply_uninit(r);
}

void ofconn_error(struct ofconn *c, enum ofp_error error, const void *request, size_t len)
{
    struct buf b = BUF_INITIALIZER;

    log_info_rl(20, "%s<->%s: sending %s in answer to a message of %zu bytes", c->ofproto->name, ofp_conn_name(c->conn),
                ofp_error_name(error), len);
    ofp_put_error(&b, error, c->version, request, len);
    ofconn_reply(c, &b);
}

static enum ofp_error serve(struct ofconn *c, const void *data, size_t len)
{
    struct ofp_msg msg;
    enum ofp_error error = ofp_msg_recognize(data, len, &msg);

    if (error) {
        return error;
    }
    if (msg.id == OFPMSG_ERROR) {
        struct ofp_error_msg e;
        error = ofp_decode_error(&msg, &e);
        if (!error) {
            log_info_rl(20, "%s<->%s: the client reports an error, type %u, code %u", c->ofproto->name, ofp_conn_name(c->conn), e.type,
                        e.code);
        }
        return OFPERR_NONE; /* An error is never answered by an error. */
    }
    if (!ofp_msg_is_from_controller(msg.id)) {
        return OFPERR_OFPBRC_BAD_TYPE;
    }
    const struct handler_entry *h = &handlers[msg.id];
    if (!h->handler) {
        return OFPERR_OFPBRC_BAD_TYPE;
    }
    if (h->writes && c->role == OFP_ROLE_SLAVE) {
        return c->version == OFP10_VERSION ? OFPERR_OFPBRC_EPERM : OFPERR_OFPBRC_IS_SECONDARY;
    }
    c->ofproto->served = c;
    c->ofproto->served_xid = msg.xid;
    error = h->handler(c, &msg);
    c->ofproto->served = NULL;
    if (msg.id == OFPMSG_SET_CONFIG || msg.id == OFPMSG_SET_ASYNC || msg.id == OFPMSG_ROLE_REQUEST || msg.id == OFPMSG_SET_CONTROLLER_ID) {
        ofproto_update_punts(c->ofproto);
    }
    return error;
}

void ofconn_message(struct ofconn *c, const void *msg, size_t len)
{
    enum ofp_error error = serve(c, msg, len);

    if (error) {
        ofconn_error(c, error, msg, len);
    }
}

void ofconn_room(struct ofconn *c)
{
    if (c->dump) {
        flow_dump_go_on(c);
    }
    if (!c->dump) {
        monitors_go_on(c);
    }
    ofconn_rate_room(c);
}

static void message_cb(struct ofp_conn *conn UNUSED, const void *msg, size_t len, void *c) { ofconn_message(c, msg, len); }
static void room_cb(struct ofp_conn *conn UNUSED, void *c) { ofconn_room(c); }

static void closed_cb(struct ofp_conn *conn, int error, const char *why, void *c_)
{
    struct ofconn *c = c_;

    if (error) {
        log_info("%s<->%s: connection closed: %s", c->ofproto->name, ofp_conn_name(conn), why);
    }
    ofconn_destroy(c);
}

static const struct ofp_conn_ops conn_ops = { .message = message_cb, .room = room_cb, .closed = closed_cb };

static size_t n_ofconns; /* Atomic, relaxed. */

size_t ofproto_n_conns(void) { return __atomic_load_n(&n_ofconns, __ATOMIC_RELAXED); }

struct ofconn *ofconn_create(struct ofproto *o, struct ofp_conn *conn, struct controller *controller)
{
    struct ofconn *c = xzalloc(sizeof *c);

    c->ofproto = o;
    c->conn = conn;
    c->controller = controller;
    c->primary = controller && !controller->config.service;
    c->version = ofp_conn_version(conn);
    c->role = OFP_ROLE_EQUAL;
    if (!controller || controller->config.async) {
        c->async = default_async;
    }
    /* Who connects to ask is told nothing that it did not ask for. */
    c->config.miss_send_len = c->primary ? DEFAULT_MISS_SEND_LEN : 0;
    c->next = o->conns;
    c->prev_next = &o->conns;
    if (c->next) {
        c->next->prev_next = &c->next;
    }
    o->conns = c;
    __atomic_add_fetch(&n_ofconns, 1, __ATOMIC_RELAXED);
    if (controller) {
        const struct controller_limits *l = &controller->config.limits;
        ofconn_set_limits(c, l->rate, l->burst, l->queue_size);
    }
    ofproto_update_punts(o);
    return c;
}

void ofconn_accept(struct ofproto *o, struct ofp_conn *conn, struct controller *controller)
{
    struct ofconn *c = ofconn_create(o, conn, controller);

    c->owns_conn = true;
    ofp_conn_set_ops(conn, &conn_ops, c);
}

void ofconn_destroy(struct ofconn *c)
{
    __atomic_sub_fetch(&n_ofconns, 1, __ATOMIC_RELAXED);
    *c->prev_next = c->next;
    if (c->next) {
        c->next->prev_next = c->prev_next;
    }
    flow_dump_destroy(c->dump);
    monitors_destroy(c->monitors);
    ofbundle_destroy_all(c);
    ofconn_rate_uninit(c);
    if (c->owns_conn) {
        ofp_conn_destroy(c->conn);
    }
    ofproto_update_punts(c->ofproto);
    if (c->controller) {
        controller_conn_gone(c->controller);
    }
    free(c);
}

/* As the field has it: who only asks, and has not said how much of a packet it wants to see, is told nothing. */
bool ofconn_listens(const struct ofconn *c) { return c->primary || c->config.miss_send_len; }

bool ofconn_wants(const struct ofconn *c, enum ofp_async_kind kind, unsigned int reason)
{
    const uint32_t *wanted = c->role == OFP_ROLE_SLAVE ? c->async.slave : c->async.master;

    return ofconn_listens(c) && wanted[kind] >> reason & 1;
}

void ofconn_notify(struct ofproto *o, enum ofp_async_kind kind, unsigned int reason,
                   void (*put)(struct ofconn *c, struct buf *b, const void *what), const void *what)
{
    for (struct ofconn *c = o->conns; c; c = c->next) {
        struct buf b = BUF_INITIALIZER;
        if (ofconn_wants(c, kind, reason) && !ofp_conn_is_full(c->conn)) {
            put(c, &b, what);
            if (b.len) {
                ofp_conn_send(c->conn, b.data, b.len, OFP_CONN_ASYNC); /* Dropped and counted if it does not read. */
            }
            buf_uninit(&b);
        }
    }
}
