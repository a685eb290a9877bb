/* See controller.h.
 *
 * An active controller's connection is its rconn's, which makes it again; the ofconn is made with each connection and
 * lives as long.  A passive one's connections are their ofconns'. */
#include <config.h>

#include "ofproto/controller.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream-name.h"
#include "ofproto/controller-private.h"
#include "ofproto/ofproto-private.h"

LOG_MODULE(controller);

#define SERVICE_MAX_CONNS 16 /* Of one passive controller: more of them wait until one has gone. */

/* ---- Connections. ---- */

bool controller_is_connected(const struct controller *c)
{
    if (!c->passive) {
        return c->conn != NULL;
    }
    for (const struct ofconn *conn = c->ofproto->conns; conn; conn = conn->next) {
        if (conn->controller == c) {
            return true;
        }
    }
    return false;
}

static void tell(struct ofproto *o)
{
    if (o->ops->controllers_changed) {
        o->ops->controllers_changed(o->aux);
    }
}

static void connected_cb(struct ofp_rconn *r UNUSED, struct ofp_conn *conn, void *c_)
{
    struct controller *c = c_;

    c->conn = ofconn_create(c->ofproto, conn, c);
    fail_mode_connected(c->ofproto);
    tell(c->ofproto);
}

static void message_cb(struct ofp_rconn *r UNUSED, struct ofp_conn *conn UNUSED, const void *msg, size_t len, void *c_)
{
    ofconn_message(((struct controller *) c_)->conn, msg, len);
}

static void room_cb(struct ofp_rconn *r UNUSED, struct ofp_conn *conn UNUSED, void *c_)
{
    ofconn_room(((struct controller *) c_)->conn);
}

static void disconnected_cb(struct ofp_rconn *r UNUSED, const char *why UNUSED, void *c_)
{
    struct controller *c = c_;

    ofconn_destroy(c->conn); /* And with it c->conn is NULL. */
    tell(c->ofproto);
}

static const struct ofp_rconn_ops rconn_ops = {
    .connected = connected_cb, .message = message_cb, .room = room_cb, .disconnected = disconnected_cb
};

static void accepted_cb(struct ofp_listener *l UNUSED, struct ofp_conn *conn, void *c_)
{
    struct controller *c = c_;

    ofconn_accept(c->ofproto, conn, c);
    fail_mode_connected(c->ofproto);
    tell(c->ofproto);
}

void controller_conn_gone(struct controller *c)
{
    if (c->passive) {
        tell(c->ofproto);
    } else {
        c->conn = NULL;
    }
    if (!controller_is_connected(c)) {
        c->alone_since = clock_msec();
    }
}

static struct stream_options stream_options(const struct controller *c)
{
    return (struct stream_options){ .tls = c->ofproto->tls, .dscp = c->config.dscp };
}

static struct ofp_conn_config conn_config(const struct controller *c)
{
    return (struct ofp_conn_config){ .versions = c->versions, .probe_msec = c->config.probe_msec };
}

static void start_listening(struct controller *c)
{
    const struct ofp_listener_config config = { .max_conns = SERVICE_MAX_CONNS,
                                                .stream = stream_options(c),
                                                .conn = conn_config(c) };
    char *error = ofp_listener_open(c->ofproto->base, c->target, &config, accepted_cb, c, &c->listener);

    /* It is tried each second, and said once. */
    if (error && (!c->listen_error || strcmp(error, c->listen_error))) {
        log_err("bridge %s: controllers cannot connect: %s", c->ofproto->name, error);
    }
    free(c->listen_error);
    c->listen_error = error;
}

static struct ofp_rconn_config rconn_config(const struct controller *c)
{
    return (struct ofp_rconn_config){ .max_backoff_msec = c->config.max_backoff_msec,
                                      .stream = stream_options(c),
                                      .conn = conn_config(c) };
}

/* ---- The configuration. ---- */

static struct controller *controller_find(const struct ofproto *o, const char *target)
{
    for (size_t i = 0; i < o->n_controllers; i++) {
        if (!strcmp(o->controllers[i]->target, target)) {
            return o->controllers[i];
        }
    }
    return NULL;
}

static void controller_destroy(struct controller *c)
{
    struct ofconn *next;

    snoop_forget(c);
    for (struct ofconn *conn = c->ofproto->conns; conn; conn = next) {
        next = conn->next;
        if (conn->controller == c) {
            ofconn_destroy(conn);
        }
    }
    ofp_rconn_destroy(c->rconn);
    ofp_listener_destroy(c->listener);
    free(c->listen_error);
    free(c->target);
    free(c);
}

static bool is_passive(const char *target)
{
    struct stream_name name;
    char *error = stream_name_parse(target, &name);

    if (error) {
        free(error);
        return target[0] == 'p'; /* It will be said what is wrong with it. */
    }
    bool passive = name.passive;
    stream_name_uninit(&name);
    return passive;
}

/* Everything is set but what connects. */
static struct controller *controller_create(struct ofproto *o, const struct controller_config *config)
{
    struct controller *c = xzalloc(sizeof *c);

    c->ofproto = o;
    c->target = xstrdup(config->target);
    c->config = *config;
    c->config.target = c->target;
    c->versions = o->versions;
    c->passive = is_passive(c->target);
    c->alone_since = clock_msec();
    log_info("bridge %s: added %s controller \"%s\"", o->name, config->service ? "service" : "primary", c->target);
    return c;
}

static void controller_open(struct controller *c)
{
    if (c->passive) {
        start_listening(c);
    } else {
        struct ofp_rconn_config config = rconn_config(c);
        c->rconn = ofp_rconn_create(c->ofproto->base, c->target, &config, &rconn_ops, c);
    }
}

/* Whether what C has can go on under CONFIG. */
static bool can_stay(const struct controller *c, const struct controller_config *config)
{
    return c->config.service == config->service && c->config.dscp == config->dscp &&
           c->versions == c->ofproto->versions;
}

static void controller_configure(struct controller *c, const struct controller_config *config)
{
    c->config = *config;
    c->config.target = c->target;
    for (struct ofconn *each = c->ofproto->conns; each; each = each->next) {
        if (each->controller == c) {
            ofconn_set_limits(each, config->limits.rate, config->limits.burst, config->limits.queue_size);
        }
    }
    if (c->rconn) {
        struct ofp_rconn_config rc = rconn_config(c);
        ofp_rconn_configure(c->rconn, &rc);
    } else if (c->listener) {
        const struct ofp_conn_config conn = conn_config(c);
        ofp_listener_set_conn(c->listener, &conn);
        for (struct ofconn *each = c->ofproto->conns; each; each = each->next) {
            if (each->controller == c) {
                ofp_conn_set_probe(each->conn, config->probe_msec);
            }
        }
    }
}

/* Destroys those that are not listed, and keeps the others in their order. */
static void sweep(struct ofproto *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->n_controllers; i++) {
        struct controller *c = o->controllers[i];
        if (c->listed) {
            o->controllers[n++] = c;
        } else {
            log_info("bridge %s: removed %s controller \"%s\"", o->name, c->config.service ? "service" : "primary",
                     c->target);
            controller_destroy(c);
        }
    }
    o->n_controllers = n;
}

static void set_versions(struct ofproto *o, uint32_t versions)
{
    const struct ofp_conn_config conn = { .versions = versions };

    o->versions = versions;
    if (o->management) {
        ofp_listener_set_conn(o->management, &conn);
    }
}

void ofproto_set_control(struct ofproto *o, const struct control_config *config)
{
    const struct controller_config *wished = config->controllers;

    set_versions(o, config->versions);
    o->tls = config->tls;
    for (size_t i = 0; i < o->n_controllers; i++) {
        o->controllers[i]->listed = false;
    }
    for (size_t i = 0; i < config->n; i++) {
        struct controller *c = controller_find(o, wished[i].target);
        if (c && can_stay(c, &wished[i])) {
            c->listed = true;
            controller_configure(c, &wished[i]);
        }
    }
    sweep(o); /* Before others are opened: one may want the same port. */
    size_t n_old = o->n_controllers;
    o->controllers = xrealloc(o->controllers, MAX(config->n, 1) * sizeof *o->controllers);
    for (size_t i = 0; i < config->n; i++) {
        if (!controller_find(o, wished[i].target)) {
            o->controllers[o->n_controllers++] = controller_create(o, &wished[i]);
        }
    }
    /* A controller that connects finds the tables as they are to be. */
    fail_mode_set(o, config->secure);
    for (size_t i = n_old; i < o->n_controllers; i++) {
        controller_open(o->controllers[i]);
    }
}

void controllers_destroy(struct ofproto *o)
{
    for (size_t i = 0; i < o->n_controllers; i++) {
        controller_destroy(o->controllers[i]);
    }
    free(o->controllers);
    o->controllers = NULL;
    o->n_controllers = 0;
}

void controllers_tick(struct ofproto *o)
{
    for (size_t i = 0; i < o->n_controllers; i++) {
        struct controller *c = o->controllers[i];
        if (c->passive && !c->listener) {
            start_listening(c);
        }
    }
}

bool controllers_have_primary(const struct ofproto *o)
{
    for (size_t i = 0; i < o->n_controllers; i++) {
        if (!o->controllers[i]->config.service) {
            return true;
        }
    }
    return false;
}

/* ---- What the user is told. ---- */

static const char *role_name(enum ofp_role role)
{
    switch (role) {
    case OFP_ROLE_MASTER:
        return "master";
    case OFP_ROLE_SLAVE:
        return "slave";
    case OFP_ROLE_EQUAL:
    case OFP_ROLE_NOCHANGE:
        return "other";
    }
    return NULL;
}

/* Of those who have connected to a passive one, the most powerful. */
static const char *role_of(const struct controller *c)
{
    static const enum ofp_role order[] = { OFP_ROLE_MASTER, OFP_ROLE_EQUAL, OFP_ROLE_SLAVE };

    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        for (const struct ofconn *conn = c->ofproto->conns; conn; conn = conn->next) {
            if (conn->controller == c && conn->role == order[i]) {
                return role_name(conn->role);
            }
        }
    }
    return NULL;
}

bool ofproto_controller_status(const struct ofproto *o, const char *target, struct controller_status *ret,
                               void (*put)(const char *key, const char *value, void *aux), void *aux)
{
    const struct controller *c = controller_find(o, target);

    if (!c) {
        return false;
    }
    *ret = (struct controller_status){ .connected = controller_is_connected(c), .role = role_of(c) };
    for (const struct ofconn *each = o->conns; each; each = each->next) {
        if (each->controller == c) { /* Of those that came to a listener, the last. */
            ofconn_put_rate_status(each, put, aux);
            break;
        }
    }
    if (c->rconn) {
        ofp_rconn_put_status(c->rconn, put, aux);
        return true;
    }
    if (c->listen_error) {
        put("last_error", c->listen_error, aux);
    }
    if (ret->connected) {
        put("state", ofp_rconn_state_name(OFP_RCONN_ACTIVE), aux);
    }
    return true;
}
