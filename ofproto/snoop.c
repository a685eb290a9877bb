/* Who looks on at BRIDGE.snoop: see controller.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/controller-private.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(snoop);

struct snooper {
    struct snooper *next, **prev_next;
    struct controller *controller;
    struct ofp_conn *conn;
};

static bool is_looked_at(const struct controller *c)
{
    for (const struct snooper *s = c->ofproto->snoopers; s; s = s->next) {
        if (s->controller == c) {
            return true;
        }
    }
    return false;
}

static void passed_cb(struct ofp_conn *conn UNUSED, enum ofp_conn_dir dir UNUSED, const void *msg, size_t len, void *c_)
{
    const struct controller *c = c_;

    for (struct snooper *s = c->ofproto->snoopers; s; s = s->next) {
        if (s->controller == c && ofp_conn_send(s->conn, msg, len, OFP_CONN_ASYNC) == -ENOBUFS) {
            log_info_rl(1, "%s: a client that looks on does not read, and misses messages", ofp_conn_name(s->conn));
        }
    }
}

static void snooper_destroy(struct snooper *s)
{
    struct controller *c = s->controller;

    *s->prev_next = s->next;
    if (s->next) {
        s->next->prev_next = s->prev_next;
    }
    ofp_conn_destroy(s->conn);
    free(s);
    if (!is_looked_at(c)) {
        ofp_rconn_set_snoop(c->rconn, NULL, NULL);
    }
}

static void message_cb(struct ofp_conn *conn UNUSED, const void *msg UNUSED, size_t len UNUSED, void *s UNUSED)
{
    /* It has nothing to say here. */
}

static void closed_cb(struct ofp_conn *conn UNUSED, int error UNUSED, const char *why UNUSED, void *s)
{
    snooper_destroy(s);
}

static const struct ofp_conn_ops snoop_ops = { .message = message_cb, .closed = closed_cb };

/* How much a controller is worth looking at; 0: not at all. */
static int worth(const struct controller *c)
{
    if (c->config.service || !c->rconn) {
        return 0;
    }
    if (!c->conn || c->conn->role == OFP_ROLE_SLAVE) {
        return 1;
    }
    return c->conn->role == OFP_ROLE_MASTER ? 3 : 2;
}

void snoop_accept(struct ofproto *o, struct ofp_conn *conn)
{
    struct controller *best = NULL;

    for (size_t i = 0; i < o->n_controllers; i++) {
        struct controller *c = o->controllers[i];
        if (worth(c) > (best ? worth(best) : 0)) {
            best = c;
        }
    }
    if (!best) {
        log_info_rl(10, "bridge %s: there is no controller to look at", o->name);
        ofp_conn_destroy(conn);
        return;
    }
    struct snooper *s = xzalloc(sizeof *s);
    *s = (struct snooper){ .next = o->snoopers, .prev_next = &o->snoopers, .controller = best, .conn = conn };
    if (s->next) {
        s->next->prev_next = &s->next;
    }
    o->snoopers = s;
    ofp_conn_set_ops(conn, &snoop_ops, s);
    ofp_rconn_set_snoop(best->rconn, passed_cb, best);
}

void snoop_forget(struct controller *c)
{
    struct snooper *next;

    for (struct snooper *s = c->ofproto->snoopers; s; s = next) {
        next = s->next;
        if (s->controller == c) {
            snooper_destroy(s);
        }
    }
}
