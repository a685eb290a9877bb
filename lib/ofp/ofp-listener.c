/* Listeners for OpenFlow clients.
 *
 * For each connection there is a slot, from accepting it until it is destroyed, whoever does that: the connection's
 * 'released' callback gives the slot back, and with it the place for another client.  When the listener goes first,
 * the slots of connections that the owner has stay, without a listener. */
#include <config.h>

#include "lib/ofp/ofp-listener.h"

#include <errno.h>
#include <stdlib.h>
#include <urcu/list.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream-listener.h"

LOG_MODULE(pvconn);

struct ofp_listener {
    struct event_base *base;
    struct stream_listener *stream;
    struct ofp_listener_config config;
    ofp_listener_accepted_cb *accepted;
    void *aux;
    struct cds_list_head slots;
    unsigned int n_conns;
};

struct slot {
    struct cds_list_head node;     /* In the listener's 'slots'. */
    struct ofp_listener *listener; /* NULL: gone. */
    struct ofp_conn *conn;
    bool handed_over;
};

static void update_accepting(struct ofp_listener *l)
{
    bool room = l->n_conns < l->config.max_conns;
    if (!room) {
        log_warn_rl(5, "%s: there are %u connections, further clients wait", ofp_listener_name(l), l->n_conns);
    }
    stream_listener_set_accepting(l->stream, room);
}

static void on_released(struct ofp_conn *c UNUSED, void *slot_)
{
    struct slot *slot = slot_;
    if (slot->listener) {
        cds_list_del(&slot->node);
        slot->listener->n_conns--;
        update_accepting(slot->listener);
    }
    free(slot);
}

static void on_negotiated(struct ofp_conn *c, void *slot_)
{
    struct slot *slot = slot_;
    slot->handed_over = true;
    slot->listener->accepted(slot->listener, c, slot->listener->aux);
}

/* Cannot come: it is the owner's after 'negotiated'. */
static void on_message(struct ofp_conn *c UNUSED, const void *msg UNUSED, size_t len UNUSED, void *slot UNUSED)
{
    log_err("%s: a connection was accepted and then left alone", ofp_conn_name(c));
}

static void on_closed(struct ofp_conn *c, int error, const char *why, void *slot_ UNUSED)
{
    if (error && error != -EAGAIN) {
        log_info_rl(10, "%s: a client could not be accepted: %s", ofp_conn_name(c), why);
    }
    ofp_conn_destroy(c);
}

static const struct ofp_conn_ops slot_ops = {
    .negotiated = on_negotiated,
    .message = on_message,
    .closed = on_closed,
};

static void on_accepted(struct stream_listener *stream UNUSED, struct stream *s, void *l_)
{
    struct ofp_listener *l = l_;
    struct slot *slot = xzalloc(sizeof *slot);
    slot->listener = l;
    slot->conn = ofp_conn_create(l->base, s, &l->config.conn, &slot_ops, slot);
    ofp_conn_set_released(slot->conn, on_released, slot);
    cds_list_add_tail(&slot->node, &l->slots);
    l->n_conns++;
    if (l->n_conns >= l->config.max_conns) {
        update_accepting(l);
    }
}

char *ofp_listener_open(struct event_base *base, const char *name, const struct ofp_listener_config *config,
                        ofp_listener_accepted_cb *accepted, void *aux, struct ofp_listener **ret_listener)
{
    struct ofp_listener *l = xzalloc(sizeof *l);
    *l = (struct ofp_listener){ .base = base, .config = *config, .accepted = accepted, .aux = aux };
    CDS_INIT_LIST_HEAD(&l->slots);
    if (!l->config.max_conns) {
        l->config.max_conns = OFP_LISTENER_MAX_CONNS;
    }
    char *why = stream_listener_open(base, name, &config->stream, on_accepted, l, &l->stream);
    if (why) {
        free(l);
        return why;
    }
    *ret_listener = l;
    return NULL;
}

void ofp_listener_destroy(struct ofp_listener *l)
{
    if (!l) {
        return;
    }
    struct slot *slot, *next;
    cds_list_for_each_entry_safe (slot, next, &l->slots, node) {
        cds_list_del(&slot->node);
        slot->listener = NULL;
        if (!slot->handed_over) {
            ofp_conn_destroy(slot->conn);
        }
    }
    stream_listener_destroy(l->stream);
    free(l);
}

void ofp_listener_set_conn(struct ofp_listener *l, const struct ofp_conn_config *conn) { l->config.conn = *conn; }

const char *ofp_listener_name(const struct ofp_listener *l) { return stream_listener_name(l->stream); }
uint16_t ofp_listener_port(const struct ofp_listener *l) { return stream_listener_port(l->stream); }
unsigned int ofp_listener_n_conns(const struct ofp_listener *l) { return l->n_conns; }
