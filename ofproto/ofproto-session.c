/* Requests about the switch as a whole and about the connection itself. */
#include <config.h>

#include "lib/base/version.h"
#include "ofproto/ofproto-private.h"

enum ofp_error handle_features(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofproto *o = c->ofproto;
    const struct ofp_features f = {
        .datapath_id = o->datapath_id,
        .n_buffers = 0, /* A packet-in has all that the controller wants of the packet. */
        .n_tables = TABLES_N_USER,
        .capabilities = OFPC_FLOW_STATS | OFPC_TABLE_STATS | OFPC_PORT_STATS | OFPC_QUEUE_STATS
                        | (msg->version == OFP10_VERSION ? OFPC_ARP_MATCH_IP : 0)
                        | (msg->version >= OFP14_VERSION ? OFPC_BUNDLES : 0),
        .actions = 0xfff, /* Those of 1.0, to enqueue. */
    };
    struct buf b = BUF_INITIALIZER;

    ofp_put_features(&b, msg->version, msg->xid, &f, o->ports, o->n_ports);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

enum ofp_error handle_get_config(struct ofconn *c, const struct ofp_msg *msg)
{
    struct buf b = BUF_INITIALIZER;

    ofp_put_config(&b, msg->version, msg->xid, &c->config);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

/* Fragments are treated in one way, which ovs-ofctl(8) calls normal; another one is refused by name rather than ignored. */
enum ofp_error handle_set_config(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_config config;
    enum ofp_error error = ofp_decode_set_config(msg, &config);

    if (!error && (config.flags & OFPC_FRAG_MASK) != OFPC_FRAG_NORMAL) {
        error = OFPERR_OFPSCFC_BAD_FLAGS;
    }
    if (!error) {
        c->config = config;
    }
    return error;
}

/* All requests before this one have been carried out, and answered but for what their reader has not read. */
enum ofp_error handle_barrier(struct ofconn *c, const struct ofp_msg *msg)
{
    struct buf b = BUF_INITIALIZER;

    ofp_put_simple(&b, OFPMSG_BARRIER_REPLY, msg->version, msg->xid, NULL, 0);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

enum ofp_error handle_desc(struct ofconn *c, const struct ofp_msg *msg)
{
    const struct ofp_desc desc = { .mfr = "Sluice", .hw = "Linux kernel datapath", .sw = PACKAGE_VERSION, .serial = "None", .dp = c->ofproto->name };
    struct buf b = BUF_INITIALIZER;

    ofp_put_desc(&b, msg->version, msg->xid, &desc);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

/* There is one master at most: who becomes it makes the one before a slave. */
enum ofp_error handle_role(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofproto *o = c->ofproto;
    struct ofp_role_msg role;
    enum ofp_error error = ofp_decode_role(msg, &role);

    if (error) {
        return error;
    }
    if (role.have_generation && role.role != OFP_ROLE_NOCHANGE) {
        /* Older than what was seen already: a controller that does not know that it was replaced. */
        if (o->have_generation && (int64_t) (role.generation - o->generation) < 0) {
            return OFPERR_OFPRRFC_STALE;
        }
        o->have_generation = true;
        o->generation = role.generation;
    }
    if (role.role == OFP_ROLE_MASTER) {
        for (struct ofconn *other = o->conns; other; other = other->next) {
            if (other != c && other->role == OFP_ROLE_MASTER) {
                const struct ofp_role_msg slave = { .role = OFP_ROLE_SLAVE, .have_generation = o->have_generation,
                                                    .generation = o->generation };
                struct buf b = BUF_INITIALIZER;
                other->role = OFP_ROLE_SLAVE;
                ofp_put_role_status(&b, other->version, &slave, OFPCRR_MASTER_REQUEST);
                ofconn_reply(other, &b);
            }
        }
    }
    if (role.role != OFP_ROLE_NOCHANGE) {
        c->role = role.role;
    }
    role = (struct ofp_role_msg) { .role = c->role, .have_generation = o->have_generation, .generation = o->generation };
    struct buf b = BUF_INITIALIZER;
    ofp_put_role_reply(&b, msg, &role);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

enum ofp_error handle_get_async(struct ofconn *c, const struct ofp_msg *msg)
{
    struct buf b = BUF_INITIALIZER;

    ofp_put_async_reply(&b, msg->version, msg->xid, &c->async);
    ofconn_reply(c, &b);
    return OFPERR_NONE;
}

enum ofp_error handle_set_async(struct ofconn *c, const struct ofp_msg *msg) { return ofp_decode_set_async(msg, &c->async); }

enum ofp_error handle_set_flow_format(struct ofconn *c, const struct ofp_msg *msg)
{
    return ofp_decode_set_flow_format(msg, &c->flow_format);
}

enum ofp_error handle_set_packet_in_format(struct ofconn *c, const struct ofp_msg *msg)
{
    return ofp_decode_set_packet_in_format(msg, &c->packet_in_format);
}

enum ofp_error handle_flow_mod_table_id(struct ofconn *c, const struct ofp_msg *msg)
{
    return ofp_decode_flow_mod_table_id(msg, &c->flow_mod_table_id);
}

enum ofp_error handle_set_controller_id(struct ofconn *c, const struct ofp_msg *msg)
{
    return ofp_decode_set_controller_id(msg, &c->controller_id);
}
