/* Requests about ports and queues, and what controllers are told when ports change. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(ofproto_port);

/* Of the bits of 'config' that of the device; all others are controllers'. */
#define DEVICE_CONFIG ((uint32_t) OFPPC_PORT_DOWN)

static int compare_number(const void *no_, const void *port_)
{
    const ofp_port_t *no = no_;
    const struct ofp_port *port = port_;

    return no->n < port->port_no.n ? -1 : no->n > port->port_no.n;
}

static struct ofp_port *find_port(const struct ofproto *o, ofp_port_t no)
{
    return o->n_ports ? bsearch(&no, o->ports, o->n_ports, sizeof *o->ports, compare_number) : NULL;
}

uint32_t ofproto_port_config(const struct ofproto *o, ofp_port_t no)
{
    const struct ofp_port *port = find_port(o, no);

    return port ? port->config & ~DEVICE_CONFIG : 0;
}

void ofproto_keep_port_configs(struct ofproto *o, const struct ofp_port *old, size_t n_old)
{
    for (size_t i = 0; i < n_old; i++) {
        struct ofp_port *port = old[i].config & ~DEVICE_CONFIG ? find_port(o, old[i].port_no) : NULL;
        if (port && !strcmp(port->name, old[i].name)) {
            port->config |= old[i].config & ~DEVICE_CONFIG;
        }
    }
}

enum ofp_error handle_port_desc(struct ofconn *c, const struct ofp_msg *msg)
{
    const struct ofproto *o = c->ofproto;
    ofp_port_t wanted;
    struct ofp_reply r;
    enum ofp_error error = ofp_decode_port_desc_request(msg, &wanted);

    if (error) {
        return error;
    }
    if (!ofp_port_eq(wanted, OFPP_NONE) && !find_port(o, wanted)) {
        return OFPERR_OFPBRC_BAD_PORT;
    }
    ofp_reply_begin(&r, msg, OFPMSG_PORT_DESC_REPLY);
    for (size_t i = 0; i < o->n_ports; i++) {
        if (ofp_port_eq(wanted, OFPP_NONE) || ofp_port_eq(wanted, o->ports[i].port_no)) {
            ofp_reply_port_desc(&r, &o->ports[i]);
        }
    }
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}

enum ofp_error handle_port_stats(struct ofconn *c, const struct ofp_msg *msg)
{
    const struct ofproto *o = c->ofproto;
    ofp_port_t wanted;
    struct ofp_reply r;
    enum ofp_error error = ofp_decode_port_stats_request(msg, &wanted);

    if (error) {
        return error;
    }
    if (!ofp_port_eq(wanted, OFPP_NONE) && !find_port(o, wanted)) {
        return OFPERR_OFPBRC_BAD_PORT;
    }
    ofp_reply_begin(&r, msg, OFPMSG_PORT_STATS_REPLY);
    for (size_t i = 0; i < o->n_ports; i++) {
        struct ofp_port_stats stats;
        ofp_port_t no = o->ports[i].port_no;
        if ((ofp_port_eq(wanted, OFPP_NONE) || ofp_port_eq(wanted, no)) && o->ops->port_stats(no, &stats, o->aux)) {
            ofp_reply_port_stats(&r, &stats);
        }
    }
    ofconn_finish(c, &r);
    return OFPERR_NONE;
}

/* Ports have no queues yet: those of one that exists are none, and a queue that is named is not there. */
static enum ofp_error check_queue(const struct ofproto *o, const struct ofp_queue_request *q)
{
    if (!ofp_port_eq(q->port_no, OFPP_NONE) && !find_port(o, q->port_no)) {
        return OFPERR_OFPQOFC_BAD_PORT;
    }
    return q->queue_id == OFP_ALL_QUEUES ? OFPERR_NONE : OFPERR_OFPQOFC_BAD_QUEUE;
}

enum ofp_error handle_queue_stats(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_queue_request q;
    struct ofp_reply r;
    enum ofp_error error = ofp_decode_queue_stats_request(msg, &q);

    error = error ? error : check_queue(c->ofproto, &q);
    if (!error) {
        ofp_reply_begin(&r, msg, OFPMSG_QUEUE_STATS_REPLY);
        ofconn_finish(c, &r);
    }
    return error;
}

enum ofp_error handle_queue_config(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_queue_request q;
    struct ofp_reply r;
    enum ofp_error error = ofp_decode_queue_config_request(msg, &q);

    error = error ? error : check_queue(c->ofproto, &q);
    if (!error) {
        ofp_reply_queue_config_begin(&r, msg, q.port_no);
        ofconn_finish(c, &r);
    }
    return error;
}

struct port_change {
    enum ofp_port_reason reason;
    const struct ofp_port *port;
};

static void put_change(struct ofconn *c, struct buf *b, const void *what_)
{
    const struct port_change *what = what_;

    /* Before 1.5 who configures a port is not told of what it has done. */
    if (c == c->ofproto->served && c->version < OFP15_VERSION) {
        return;
    }
    ofp_put_port_status(b, c->version, what->reason, what->port);
}

static void tell(struct ofproto *o, enum ofp_port_reason reason, const struct ofp_port *port)
{
    ofconn_notify(o, OFP_ASYNC_PORT_STATUS, reason, put_change, &(struct port_change) { reason, port });
}

/* Both lists are sorted by number. */
void ofproto_tell_ports(struct ofproto *o, const struct ofp_port *old, size_t n_old)
{
    size_t i = 0, k = 0;

    while (i < n_old || k < o->n_ports) {
        uint32_t was = i < n_old ? old[i].port_no.n : UINT32_MAX;
        uint32_t is = k < o->n_ports ? o->ports[k].port_no.n : UINT32_MAX;
        if (was < is) {
            tell(o, OFPPR_DELETE, &old[i++]);
        } else if (is < was) {
            tell(o, OFPPR_ADD, &o->ports[k++]);
        } else {
            if (strcmp(old[i].name, o->ports[k].name)) { /* Another device has the number now. */
                tell(o, OFPPR_DELETE, &old[i]);
                tell(o, OFPPR_ADD, &o->ports[k]);
            } else if (memcmp(&old[i], &o->ports[k], sizeof old[i])) {
                tell(o, OFPPR_MODIFY, &o->ports[k]);
            }
            i++;
            k++;
        }
    }
}

/* ---- Port-mods. ---- */

/* What the datapath does with a port's packets is translation's to know; whether its device is up is the kernel's. */
static enum ofp_error configure(struct ofproto *o, struct ofp_port *port, uint32_t config)
{
    uint32_t changed = port->config ^ config;

    if (changed & OFPPC_PORT_DOWN) {
        int error = o->ops->port_set_up(port->port_no, !(config & OFPPC_PORT_DOWN), o->aux);
        if (error) {
            log_warn_rl(6, "bridge %s: a controller cannot set port %s %s: %s", o->name, port->name, config & OFPPC_PORT_DOWN ? "down" : "up",
                        strerror(-error));
            return OFPERR_OFPPMFC_EPERM;
        }
    }
    if (changed) {
        port->config = config;
        tell(o, OFPPR_MODIFY, port);
    }
    if (changed & ~DEVICE_CONFIG) {
        o->ops->port_config_changed(o->aux);
    }
    return OFPERR_NONE;
}

enum ofp_error handle_port_mod(struct ofconn *c, const struct ofp_msg *msg)
{
    struct ofp_port_mod mod;
    enum ofp_error error = ofp_decode_port_mod(msg, &mod);

    if (error) {
        return error;
    }
    struct ofp_port *port = find_port(c->ofproto, mod.port_no);
    if (!port) {
        return OFPERR_OFPPMFC_BAD_PORT;
    }
    if (!eth_addr_eq(port->hw_addr, mod.hw_addr)) {
        return OFPERR_OFPPMFC_BAD_HW_ADDR;
    }
    if (mod.advertise && mod.advertise != port->advertised) {
        return OFPERR_OFPPMFC_BAD_ADVERTISE; /* What a device advertises is the administrator's. */
    }
    /* Later versions know one bit for all that comes in. */
    if (msg->version != OFP10_VERSION && mod.mask & OFPPC_NO_RECV) {
        mod.mask |= OFPPC_NO_RECV_STP;
        mod.config |= mod.config & OFPPC_NO_RECV ? OFPPC_NO_RECV_STP : 0;
    }
    return configure(c->ofproto, port, (port->config & ~mod.mask) | (mod.config & mod.mask));
}
