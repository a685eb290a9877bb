/* Interfaces and their ports in the datapath.
 *
 * An interface is `up` when its device is a port of the datapath (a patch port: at once, for it is none).  One that cannot
 * be brought up keeps the reason, in words, for the `error` column, and is tried again at each reconfiguration and when its
 * device changes.  Failing harms nobody else. */
#include <config.h>

#include <errno.h>
#include <net/if.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "lib/nl/link.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_iface);

#define BACKOFF_MIN_MS 200
#define BACKOFF_MAX_MS 30000

static bool is_sim(const struct vswitch *v) { return v->engine && !strcmp(v->datapath_type, "sim"); }

static int compare_odp(const void *a, const void *b)
{
    uint32_t x = ((const struct iface *) a)->odp.n, y = ((const struct iface *) b)->odp.n;
    return x < y ? -1 : x > y;
}

struct iface *iface_by_odp(struct vswitch *v, odp_port_t odp)
{
    struct iface key = { .odp = odp };
    struct iface **node = tfind(&key, &v->ifaces_by_odp, compare_odp);

    return node ? *node : NULL;
}

/* Notes that IFACE cannot be brought up.  Takes ERROR over; logs it if it is news and not QUIET. */
static void iface_fail(struct iface *iface, bool quiet, char *error)
{
    if (!quiet && (!iface->error || strcmp(iface->error, error))) {
        log_warn("%s", error);
    }
    free(iface->error);
    iface->error = error;
    iface->backoff_ms = MIN(MAX(iface->backoff_ms * 2, BACKOFF_MIN_MS), BACKOFF_MAX_MS);
    iface->next_try = clock_msec() + iface->backoff_ms;
    iface->retry = false;
}

/* IFACE is in the datapath: puts its limit of upcalls in force. */
static void iface_limit(struct vswitch *v, const struct iface *iface)
{
    if (!engine_port_limit(v->engine, iface->odp, &iface->limit)) {
        return;
    }
    if (iface->limit.rate) {
        log_info("interface %s: at most %u upcalls a second, %u at once (other_config:upcall-rate)", iface->name,
                 iface->limit.rate, iface->limit.burst);
    } else {
        log_info("interface %s: upcalls are not limited any more", iface->name);
    }
}

static void iface_succeed(struct vswitch *v, struct iface *iface, odp_port_t odp)
{
    iface->up = true;
    iface->up_type = iface->type;
    iface->odp = odp;
    iface->backoff_ms = 0;
    iface->retry = false;
    free(iface->error);
    iface->error = NULL;
    if (!odp_port_eq(odp, ODPP_NONE)) {
        tsearch(iface, &v->ifaces_by_odp, compare_odp);
        iface_limit(v, iface);
    }
    iface_refresh_link(v, iface);
    if (iface->has_link && iface->type == IFACE_SYSTEM && !is_sim(v)) {
        /* Packets merged by the device could not be forwarded as they came. */
        link_disable_lro(iface->name);
    }
}

/* It is no longer in the datapath. */
static void iface_down(struct vswitch *v, struct iface *iface)
{
    if (iface->up && !odp_port_eq(iface->odp, ODPP_NONE)) {
        tdelete(iface, &v->ifaces_by_odp, compare_odp);
    }
    iface->up = false;
    iface->odp = ODPP_NONE;
    iface->has_link = iface->has_driver = iface->has_speed = false;
    iface->link_resets = 0;
    iface->upcalls = iface->upcall_errors = UINT64_MAX;
}

static enum dpif_port_type port_type(enum iface_type type)
{
    return type == IFACE_INTERNAL ? DPIF_PORT_INTERNAL : DPIF_PORT_NETDEV;
}

/* PORT is in the datapath: takes it over, if it is what IFACE wants; else returns false.  When it cannot be taken over just now (no
 * descriptors), IFACE has an error until the next try, and the port stays. */
static bool iface_adopt(struct vswitch *v, struct iface *iface, const struct dpif_port *port)
{
    if (iface->type == IFACE_PATCH || iface->config_error || port->type != port_type(iface->type)) {
        return false;
    }
    int error = engine_port_adopt(v->engine, port->no);
    if (error) {
        iface_fail(iface, false, xasprintf("could not take over datapath port %u: %s (%s)", port->no.n, iface->name,
                                           strerror(-error)));
    } else {
        log_info("adopted datapath port %u: %s", port->no.n, port->name);
        iface_succeed(v, iface, port->no);
    }
    return true;
}

static void iface_add(struct vswitch *v, struct iface *iface)
{
    odp_port_t odp;

    if (iface->type == IFACE_SYSTEM && !is_sim(v)) {
        struct link_info info;
        int error = link_query(v->rtnl, iface->name, &info);
        if (error) {
            iface_fail(iface, false, xasprintf("could not open network device %s (%s)", iface->name, strerror(-error)));
            return;
        }
    }
    int error = engine_port_add(v->engine, iface->name, port_type(iface->type), ODPP_NONE, &odp);
    if (error == -EEXIST || error == -EBUSY) {
        /* It may be a port of our own datapath that somebody else has added. */
        struct dpif_port port;
        if (!dpif_port_query_by_name(engine_session(v->engine), iface->name, &port) && !iface_by_odp(v, port.no) &&
            iface_adopt(v, iface, &port)) {
            return;
        }
    }
    if (error) {
        iface_fail(iface, false, xasprintf("could not add network device %s to ofproto (%s)", iface->name, strerror(-error)));
        return;
    }
    iface_succeed(v, iface, odp);
}

/* Brings IFACE up, if it is not and can be. */
void iface_realize(struct vswitch *v, struct iface *iface)
{
    const char *why = iface->port->bridge->config_error ? iface->port->bridge->config_error : iface->config_error;

    if (iface->up && (why || !v->engine || iface->up_type != iface->type)) {
        iface_unrealize(v, iface);
    }
    if (why) {
        iface_fail(iface, false, xstrdup(why));
    } else if (!v->engine) {
        /* Logged already, once for all. */
        iface_fail(iface, true, xasprintf("could not open datapath %s (%s)", DATAPATH_NAME,
                                                v->engine_error ? v->engine_error : "unknown reason"));
    } else if (!iface->up && iface->type == IFACE_PATCH) {
        iface_succeed(v, iface, ODPP_NONE);
    } else if (!iface->up) {
        iface_add(v, iface);
    } else if (!odp_port_eq(iface->odp, ODPP_NONE)) {
        iface_limit(v, iface);
    }
}

void iface_unrealize(struct vswitch *v, struct iface *iface)
{
    if (iface->up && v->engine && !odp_port_eq(iface->odp, ODPP_NONE)) {
        int error = engine_port_del(v->engine, iface->odp);
        if (error && error != -ENODEV && error != -ENOENT) {
            log_warn("could not delete port %s from the datapath (%s)", iface->name, strerror(-error));
        }
    }
    iface_down(v, iface);
}

void iface_lost(struct vswitch *v, struct iface *iface)
{
    if (v->engine) {
        engine_port_gone(v->engine, iface->odp);
    }
    iface_down(v, iface);
    iface_fail(iface, false, xasprintf("could not open network device %s (%s)", iface->name, strerror(ENODEV)));
}

typedef void iface_func(struct vswitch *v, struct iface *iface, void *aux);

static void for_each_iface(struct vswitch *v, iface_func *f, void *aux)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        for (size_t j = 0; j < v->bridges[i]->n_ports; j++) {
            struct port *port = v->bridges[i]->ports[j];
            for (size_t k = 0; k < port->n_ifaces; k++) {
                f(v, port->ifaces[k], aux);
            }
        }
    }
}

/* A name that changes its kind cannot be two devices at once: the old one goes before the new one comes. */
static void clear_way(struct vswitch *v, struct iface *iface, void *aux UNUSED)
{
    if (iface->up && iface->up_type != iface->type) {
        iface_unrealize(v, iface);
    }
}

static void realize(struct vswitch *v, struct iface *iface, void *aux UNUSED) { iface_realize(v, iface); }

void iface_realize_all(struct vswitch *v)
{
    for_each_iface(v, clear_way, NULL);
    for_each_iface(v, realize, NULL);
}

static void close_one(struct vswitch *v, struct iface *iface, void *aux UNUSED) { iface_down(v, iface); }

void iface_datapath_closed(struct vswitch *v)
{
    for_each_iface(v, close_one, NULL);
    for (size_t i = 0; i < v->n_set_aside; i++) {
        iface_down(v, v->set_aside[i]);
    }
}

struct found_ports {
    struct dpif_port *ports;
    size_t n;
};

static void collect_port(const struct dpif_port *port, void *aux)
{
    struct found_ports *f = aux;

    f->ports = xrealloc(f->ports, (f->n + 1) * sizeof *f->ports);
    f->ports[f->n++] = *port;
}

static int compare_ports_by_number(const void *a, const void *b)
{
    uint32_t x = ((const struct dpif_port *) a)->no.n, y = ((const struct dpif_port *) b)->no.n;
    return x < y ? -1 : x > y;
}

static void check_presence(struct vswitch *v, struct iface *iface, void *aux)
{
    const struct found_ports *f = aux;
    struct dpif_port key = { .no = iface->odp };

    if (!iface->up || odp_port_eq(iface->odp, ODPP_NONE)) {
        return;
    }
    const struct dpif_port *p = f->n ? bsearch(&key, f->ports, f->n, sizeof *f->ports, compare_ports_by_number) : NULL;
    if (!p || strcmp(p->name, iface->name)) {
        iface_lost(v, iface);
    }
}

/* Compares the datapath's ports with ours: adopts those that are wished, deletes the others, and notes which of ours are
 * gone.  Done when a datapath is opened, and when port events have been lost. */
void iface_adopt_all(struct vswitch *v)
{
    struct found_ports f = { 0 };
    int error = dpif_port_dump(engine_session(v->engine), collect_port, &f);

    if (error) {
        log_warn("could not list the ports of the datapath (%s)", strerror(-error));
        free(f.ports);
        return;
    }
    if (f.n) {
        qsort(f.ports, f.n, sizeof *f.ports, compare_ports_by_number);
    }
    for_each_iface(v, check_presence, &f);
    for (size_t i = 0; i < f.n; i++) {
        const struct dpif_port *p = &f.ports[i];
        struct iface *iface = iface_find(v, p->name);
        if (odp_port_eq(p->no, ODPP_LOCAL) || (iface && iface->up && odp_port_eq(iface->odp, p->no))) {
            continue;
        }
        if (iface && iface->port && !iface->up && iface_adopt(v, iface, p)) {
            continue;
        }
        log_info("deleting datapath port %u: %s, which no bridge has", p->no.n, p->name);
        error = engine_port_del(v->engine, p->no);
        if (error) {
            log_warn("could not delete datapath port %s (%s)", p->name, strerror(-error));
        }
    }
    free(f.ports);
}

static void refresh_sim_link(struct iface *iface)
{
    struct link_info *l = &iface->link;

    memset(l, 0, sizeof *l);
    snprintf(l->name, sizeof l->name, "%.*s", (int) sizeof l->name - 1, iface->name);
    l->flags = IFF_UP | 1 << 16; /* With carrier. */
    l->mtu = 1500;
    l->mac = local_addr_of_uuid(iface->uuid);
    iface->has_link = true;
}

/* Asks what the device is now like. */
void iface_refresh_link(struct vswitch *v, struct iface *iface)
{
    if (!iface->up || is_sim(v) || iface->type == IFACE_PATCH) {
        if (iface->up) {
            refresh_sim_link(iface);
        }
        return;
    }
    bool had = iface->has_link;
    bool was_running = had && link_has_carrier(&iface->link);
    iface->has_link = !link_query(v->rtnl, iface->name, &iface->link);
    if (!iface->has_link) {
        return;
    }
    bool running = link_has_carrier(&iface->link);
    iface->link_resets += had && running != was_running;
    if (!had) {
        iface->has_driver = !link_get_driver(iface->name, &iface->driver);
    }
    if (!had || running != was_running) {
        iface->has_speed = !link_get_speed(iface->name, &iface->speed, &iface->full_duplex);
    }
}
