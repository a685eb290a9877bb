/* What happens to devices without the database: the datapath's port events, and the kernel's link events.
 *
 * Each event concerns one port and is handled for that port alone; only when the kernel says that events were lost are all
 * compared.  A port event is a message from the past: before anything is done, the datapath is asked whether it is still so
 * (port numbers are used again).  An interface that failed is tried again when its device changes, at most as often as its
 * back-off allows, because an attempt may itself cause an event. */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "lib/io/loop.h"
#include "lib/nl/link.h"
#include "lib/nl/nl.h"
#include "ofproto/ofproto.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_events);

static void retry_at(struct vswitch *v, uint64_t when)
{
    uint64_t now = clock_msec();
    uint64_t ms = when > now ? when - now : 0;
    struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

    if (!v->retry_due || when < v->retry_due) {
        v->retry_due = when;
        event_add(v->retry_event, &tv);
    }
}

static void retry_later(struct vswitch *v, struct iface *iface)
{
    iface->retry = true;
    retry_at(v, iface->next_try);
}

/* Tries IFACE again if it is its time; returns true if it is up now. */
static bool retry_iface(struct vswitch *v, struct iface *iface, uint64_t now)
{
    if (!iface->retry || iface->up) {
        return false;
    }
    if (now < iface->next_try) {
        retry_at(v, iface->next_try);
        return false;
    }
    iface->retry = false;
    iface_realize(v, iface);
    return iface->up;
}

static void retry_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;
    uint64_t now = clock_msec();
    bool any = false;

    v->retry_due = 0;
    for (size_t i = 0; i < v->n_bridges; i++) {
        struct bridge *br = v->bridges[i];
        for (size_t j = 0; j < br->n_ports; j++) {
            for (size_t k = 0; k < br->ports[j]->n_ifaces; k++) {
                any |= retry_iface(v, br->ports[j]->ifaces[k], now);
            }
        }
    }
    vswitch_want(v, any ? WORK_PUBLISH | WORK_STATUS | WORK_STATISTICS : WORK_STATUS);
}

/* ---- Ports of the datapath. ---- */

/* Is there still a port NO called NAME? */
static bool port_is_there(struct vswitch *v, odp_port_t no, const char *name)
{
    struct dpif_port port;

    return !dpif_port_query_by_number(engine_session(v->engine), no, &port) && !strcmp(port.name, name);
}

static void port_added(struct vswitch *v, const struct dpif_port *port)
{
    struct iface *iface = iface_find(v, port->name);

    if (odp_port_eq(port->no, ODPP_LOCAL) || iface_by_odp(v, port->no) || !port_is_there(v, port->no, port->name)) {
        return; /* Known, or gone again. */
    }
    if (iface && iface->port && !iface->up) {
        iface_realize(v, iface); /* Finds the port and adopts it. */
        if (iface->up) {
            vswitch_want(v, WORK_PUBLISH | WORK_STATUS | WORK_STATISTICS);
            return;
        }
    }
    log_info("deleting datapath port %u: %s, which no bridge has", port->no.n, port->name);
    int error = engine_port_del(v->engine, port->no);
    if (error) {
        log_warn_rl(5, "could not delete datapath port %s (%s)", port->name, strerror(-error));
    }
}

static void port_deleted(struct vswitch *v, const struct dpif_port *port)
{
    struct iface *iface = iface_by_odp(v, port->no);

    if (!iface || strcmp(iface->name, port->name) || port_is_there(v, port->no, port->name)) {
        return; /* We did that ourselves, or it has been added again. */
    }
    iface_lost(v, iface);
    retry_later(v, iface); /* Perhaps it only left the datapath. */
    vswitch_want(v, WORK_PUBLISH | WORK_STATUS);
}

static void port_event(enum dpif_port_event event, const struct dpif_port *port, void *v)
{
    switch (event) {
    case DPIF_PORT_EVENT_ADDED:
        port_added(v, port);
        break;
    case DPIF_PORT_EVENT_DELETED:
        port_deleted(v, port);
        break;
    case DPIF_PORT_EVENT_CHANGED:
        break; /* Link events say more. */
    case DPIF_PORT_EVENT_DISPATCH:
        engine_assert_dispatch(((struct vswitch *) v)->engine, true);
        break;
    }
}

static void port_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;
    int error = dpif_port_poll(engine_dpif(v->engine), port_event, v);

    if (error == -ENOBUFS) {
        log_info("port events were lost; comparing all ports");
        engine_assert_dispatch(v->engine, false); /* Such an event may be among them. */
        iface_adopt_all(v);
        vswitch_want(v, WORK_PUBLISH | WORK_STATUS);
    } else if (error) {
        log_warn_rl(5, "could not read port events (%s)", strerror(-error));
    }
}

void events_watch_datapath(struct vswitch *v)
{
    int fd = dpif_port_events_fd(engine_dpif(v->engine));

    if (fd >= 0) {
        v->port_event = event_new(loop_base(), fd, EV_READ | EV_PERSIST, port_cb, v);
        event_add(v->port_event, NULL);
    }
}

void events_unwatch_datapath(struct vswitch *v)
{
    if (v->port_event) {
        event_free(v->port_event);
        v->port_event = NULL;
    }
}

/* ---- Devices. ---- */

static void link_event(const struct link_info *info, bool deleted, void *v_)
{
    struct vswitch *v = v_;
    struct iface *iface = iface_find(v, info->name);

    if (!iface || !iface->port || iface->type == IFACE_PATCH) {
        return;
    }
    if (!iface->up) {
        if (!deleted && iface->error && !iface->config_error) {
            retry_later(v, iface);
        }
        return;
    }
    if (deleted) {
        return; /* The datapath will say so. */
    }
    struct link_info old = iface->link;
    iface_refresh_link(v, iface);
    if (old.flags != iface->link.flags && v->engine && !iface->port->bridge->config_error) {
        openflow_update(iface->port->bridge);
    }
    bool watched = link_has_carrier(&old) != link_has_carrier(&iface->link) && ofproto_watches_ports(iface->port->bridge->ofproto);
    bool changed = watched || old.mtu != iface->link.mtu || !eth_addr_eq(old.mac, iface->link.mac);
    if (changed || old.flags != iface->link.flags || old.ifindex != iface->link.ifindex) {
        vswitch_want(v, WORK_STATUS | (changed ? WORK_PUBLISH : 0));
    }
}

static void monitor_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;
    int error = link_monitor_poll(v->monitor, link_event, v);

    if (error == -ENOBUFS) {
        log_info_rl(5, "link events were lost; looking at all interfaces");
        vswitch_want(v, WORK_RECONFIGURE);
    } else if (error) {
        log_warn_rl(5, "could not read link events (%s)", strerror(-error));
    }
}

void events_open(struct vswitch *v)
{
    v->retry_event = event_new(loop_base(), -1, 0, retry_cb, v);
    int error = link_monitor_open(&v->monitor);
    if (error) {
        log_warn("could not watch network devices (%s): their changes are seen late", strerror(-error));
        v->monitor = NULL;
        return;
    }
    v->monitor_event = event_new(loop_base(), nl_sock_fd(v->monitor), EV_READ | EV_PERSIST, monitor_cb, v);
    event_add(v->monitor_event, NULL);
}

void events_close(struct vswitch *v)
{
    event_free(v->retry_event);
    if (v->monitor_event) {
        event_free(v->monitor_event);
    }
    nl_sock_close(v->monitor);
}
