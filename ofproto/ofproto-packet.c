/* Packets to controllers, and from them. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/odp/odp-key.h"
#include "lib/ofp/ofp-match.h"
#include "lib/pkt/packet.h"
#include "ofproto/engine.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/pin.h"
#include "ofproto/xlate-acts.h"

LOG_MODULE(ofproto_packet);

/* What surely fits into a message beside all else that there may be. */
#define PACKET_MAX 49152

/* ---- In. ---- */

/* Of the packets that no rule matched, versions before 1.3 are told; for later ones a table says by a rule what is to be done with them, and
 * one that has been sent up by such a rule is to them what the others are to the old. */
int packet_in_reason(const struct ofconn *c, const struct pin *p)
{
    unsigned int reason = p->cookie.reason;

    if (p->cookie.flags & ODP_COOKIE_MISS && c->version >= OFP13_VERSION) {
        return -1;
    }
    if ((reason == OFPR_ACTION || reason == OFPR_PACKET_OUT) && p->cookie.flags & ODP_COOKIE_TABLE_MISS && c->version >= OFP13_VERSION) {
        return OFPR_NO_MATCH;
    }
    return reason >= OFPR_N_REASONS || (reason > OFPR_INVALID_TTL && c->version < OFP14_VERSION) ? OFPR_ACTION : reason;
}

/* Before 1.3 a flag of the configuration asks for packets whose TTL has expired. */
static bool wants_reason(const struct ofconn *c, unsigned int reason)
{
    bool by_flag = reason == OFPR_INVALID_TTL && c->version < OFP13_VERSION && c->config.flags & OFPC_INVALID_TTL_TO_CONTROLLER
                   && ofconn_listens(c);

    return by_flag || ofconn_wants(c, OFP_ASYNC_PACKET_IN, reason);
}

void ofproto_update_punts(struct ofproto *o)
{
    unsigned int punts = 0;

    for (const struct ofconn *c = o->conns; c; c = c->next) {
        if (c->version < OFP13_VERSION && !c->controller_id && wants_reason(c, OFPR_NO_MATCH)) {
            punts |= TABLES_PUNT_MISS;
        }
        punts |= wants_reason(c, OFPR_INVALID_TTL) ? TABLES_PUNT_TTL : 0;
    }
    if (tables_set_punts(o->tables, punts)) {
        o->ops->changed(o->aux);
    }
}

#define COPY(FIELD)                                                                             \
    do {                                                                                        \
        static const __typeof__(((struct flow *) 0)->FIELD) nothing;                            \
        if (memcmp(&from->FIELD, &nothing, sizeof nothing)) {                                   \
            memcpy(&m->flow.FIELD, &from->FIELD, sizeof nothing);                               \
            memset(&m->mask.FIELD, 0xff, sizeof nothing);                                       \
        }                                                                                       \
    } while (0)

/* What is not in the packet: where it came in, and what the pipeline and the datapath know of it. */
static void describe(const struct pin *p, struct match *m)
{
    struct flow key, *from = &key;

    memset(m, 0, sizeof *m);
    if (odp_key_to_flow(p->key, p->key_len, &key) == ODP_FIT_ERROR) {
        memset(&key, 0, sizeof key);
    }
    COPY(pkt_mark);
    COPY(ct_state);
    COPY(ct_zone);
    COPY(ct_mark);
    COPY(ct_label);
    COPY(tunnel.tun_id);
    COPY(tunnel.ip_src);
    COPY(tunnel.ip_dst);
    COPY(tunnel.ipv6_src);
    COPY(tunnel.ipv6_dst);
    COPY(tunnel.gbp);
    key.metadata = p->cookie.metadata;
    memcpy(key.regs, p->cookie.regs, sizeof key.regs);
    COPY(metadata);
    for (unsigned int i = 0; i < FLOW_N_REGS; i++) {
        COPY(regs[i]);
    }
    m->flow.ofp_in_port = htons(p->cookie.in_port.n);
    memset(&m->mask.ofp_in_port, 0xff, sizeof m->mask.ofp_in_port);
}

static void put_fields(struct buf *b, const struct match *m, enum ofp_version version, enum ofp_match_form form)
{
    if (form == OFP_MATCH_NXM) {
        ofp_match_put_nxm(b, m, NULL);
    } else {
        buf_truncate(b, ofp_match_put_oxm(b, m, version)); /* Without the padding, */
        buf_pull(b, 4);                                    /* and without type and length. */
    }
}

/* All of the packet, whatever 'max_len' and miss_send_len say: they are for switches that keep the rest of it in a buffer, and without it a
 * controller that sends the packet on would send a part of it. */
void packet_in_send(struct ofconn *c, const struct pin *p)
{
    enum ofp_match_form form = ofp_packet_in_match_form(c->version, c->packet_in_format);
    struct buf b = BUF_INITIALIZER, fields = BUF_INITIALIZER;
    struct match m;

    describe(p, &m);
    put_fields(&fields, &m, c->version, form);
    struct ofp_packet_in pin = {
        .packet = { p->packet, p->packet_len },
        .total_len = p->packet_len,
        .buffer_id = OFP_NO_BUFFER,
        .reason = packet_in_reason(c, p),
        .table_id = p->cookie.table_id,
        .cookie = p->cookie.rule_cookie,
        .in_port = p->cookie.in_port,
        .fields = { form, { fields.data, fields.len } },
        .userdata = p->cookie.userdata,
    };
    int error = ofp_put_packet_in(&b, c->version, c->packet_in_format, &pin);
    if (error) {
        pin.packet.n = MIN(pin.packet.n, PACKET_MAX);
        error = ofp_put_packet_in(&b, c->version, c->packet_in_format, &pin);
    }
    if (!error) {
        ofp_conn_send(c->conn, b.data, b.len, OFP_CONN_ASYNC); /* Dropped and counted if it does not read. */
    }
    buf_uninit(&fields);
    buf_uninit(&b);
}

void ofproto_packet_in(struct pin *p)
{
    struct ofproto *o = ofproto_all;

    while (o && o->id != p->cookie.bridge) {
        o = o->next;
    }
    for (struct ofconn *c = o ? o->conns : NULL; c; c = c->next) {
        int reason = packet_in_reason(c, p);
        if (reason >= 0 && c->controller_id == p->cookie.controller_id && wants_reason(c, reason)) {
            ofconn_rate_send(c, p);
        }
    }
}

/* ---- Out. ---- */

/* Of OpenFlow 1.5, where the input port is a field of the match, as others that come with the packet are. */
static enum ofp_error decode_match(const struct ofp_match_ref *ref, struct match *m, ofp_port_t *in_port)
{
    uint64_t cookie = 0, cookie_mask = 0;
    enum ofp_error error = ofproto_match_decode(ref, m, &cookie, &cookie_mask);

    if (error) {
        return error;
    }
    *in_port = m->mask.ofp_in_port ? (ofp_port_t) { ntohs(m->flow.ofp_in_port) } : OFPP_NONE;
    return ofp_packet_out_port_ok(*in_port) ? OFPERR_NONE : OFPERR_OFPBRC_BAD_PORT;
}

static enum ofp_error decode_acts(const struct ofp_msg *msg, const struct ofp_packet_out *out, struct flow *flow, struct buf *acts)
{
    const char *name;
    const struct ofp_check check = {
        .flow = flow,
        .version = msg->version,
        .table = OFP_TABLE_ALL,
        .n_tables = TABLES_N,
        .max_ports = OFPP_MAX,
    };
    enum ofp_error error = ofp_actions_decode(out->actions.p, out->actions.n, msg->version, acts);

    error = error ? error : ofp_acts_check(acts->data, acts->len, &check);
    if (error) {
        return error;
    }
    error = xlate_acts_check(acts->data, acts->len, &name);
    if (error) {
        log_info_rl(20, "a packet-out was refused: the action %s is not supported yet", name);
    }
    return error;
}

static enum ofp_error send_out(struct ofconn *c, const struct ofp_packet_out *out, ofp_port_t in_port, const struct flow *pipeline,
                               const struct buf *acts)
{
    struct ofproto *o = c->ofproto;
    const struct engine_packet_out po = {
        .bridge = o->id, .in_port = in_port, .packet = out->packet.p, .len = out->packet.n, .pipeline = pipeline,
        .acts = (const struct ofp_act *) acts->data, .acts_len = acts->len,
    };
    int error = o->ops->packet_out(&po, o->aux);

    if (error) {
        /* OpenFlow has no error for that: it was right, and could not be done. */
        log_info_rl(20, "bridge %s: a packet-out of %zu bytes was not carried out (%s)", o->name, po.len, strerror(-error));
    }
    return OFPERR_NONE;
}

enum ofp_error handle_packet_out(struct ofconn *c, const struct ofp_msg *msg)
{
    struct buf acts = BUF_INITIALIZER;
    struct ofp_packet_out out;
    struct match m = { 0 };
    enum ofp_error error = ofp_decode_packet_out(msg, &out);
    ofp_port_t in_port = out.in_port;

    if (!error && out.match.bytes.p) {
        error = decode_match(&out.match, &m, &in_port);
    }
    if (error) {
        return error;
    }
    if (out.buffer_id != OFP_NO_BUFFER) {
        return OFPERR_OFPBRC_BUFFER_UNKNOWN; /* We keep no packets. */
    }
    if (out.packet.n < ETH_HEADER_LEN) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    struct flow pipeline = m.flow;
    packet_extract(out.packet.p, out.packet.n, &m.flow); /* Long enough, so it cannot fail. */
    error = decode_acts(msg, &out, &m.flow, &acts);
    error = error ? error : ofproto_meters_check(c->ofproto, &acts);
    error = error ? error : ofproto_groups_check(c->ofproto, NULL, acts.data, acts.len);
    if (!error) {
        ofproto_note_liveness(c->ofproto, acts.data, acts.len);
        error = send_out(c, &out, in_port, &pipeline, &acts);
    }
    buf_uninit(&acts);
    return error;
}
