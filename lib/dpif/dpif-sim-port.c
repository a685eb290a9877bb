/* Ports of the simulated datapath, and what happens to them.
 *
 * A port's device needs not exist: its name is free, though one name is in one datapath only.  Numbers are given as the
 * kernel gives them, the lowest that is free.  Every handle of the datapath has a queue of its own of events, as it
 * would have a socket in the kernel's multicast group: it hears of all changes, also of its own, and loses the newest
 * when it does not listen.
 *
 * Everything is guarded by sim_lock; callbacks are called without it. */
#include <config.h>

#include <errno.h>
#include <linux/openvswitch.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"

static int last_ifindex GUARDED_BY(sim_lock) = 1000;

/* ---- Events. ---- */

static void sim_event_queue(struct dpif_sim *dpif, enum dpif_port_event event, const struct dpif_port *port)
    REQUIRES(sim_lock)
{
    if (dpif->n_events >= SIM_MAX_EVENTS || sim_fault_take(dpif->dp, SIM_FAULT_EVENTS_LOST)) {
        dpif->events_lost = true;
    } else {
        struct sim_event *e = xmalloc(sizeof *e);
        e->event = event;
        e->port = *port;
        cds_list_add_tail(&e->node, &dpif->events);
        dpif->n_events++;
    }
    wakeup_set(&dpif->events_wakeup);
}

static void sim_event_notify(struct sim_dp *dp, enum dpif_port_event event, const struct dpif_port *port)
    REQUIRES(sim_lock)
{
    struct dpif_sim *dpif;

    cds_list_for_each_entry (dpif, &dp->handles, node) {
        sim_event_queue(dpif, event, port);
    }
}

void sim_events_clear(struct dpif_sim *dpif)
{
    struct sim_event *e, *next;

    cds_list_for_each_entry_safe(e, next, &dpif->events, node)
    {
        cds_list_del(&e->node);
        free(e);
    }
    dpif->n_events = 0;
    dpif->events_lost = false;
}

int sim_dpif_port_events_fd(struct dpif *dpif) { return CONTAINER_OF(dpif, struct dpif_sim, up)->events_wakeup.fd; }

/* Takes the oldest event off DPIF's queue into *RET.  1, 0 if there is none, -ENOBUFS if some were lost. */
static int sim_event_take(struct dpif_sim *dpif, struct sim_event *ret) EXCLUDES(sim_lock)
{
    int result = 0;

    lock_acquire(&sim_lock);
    if (dpif->events_lost) {
        dpif->events_lost = false;
        result = -ENOBUFS;
    } else if (dpif->n_events) {
        struct sim_event *e = cds_list_first_entry(&dpif->events, struct sim_event, node);
        cds_list_del(&e->node);
        dpif->n_events--;
        *ret = *e;
        free(e);
        result = 1;
    }
    lock_release(&sim_lock);
    return result;
}

int sim_dpif_port_poll(struct dpif *dpif_, dpif_port_event_cb *cb, void *aux)
{
    struct dpif_sim *dpif = CONTAINER_OF(dpif_, struct dpif_sim, up);
    struct sim_event e;
    int result;

    wakeup_clear(&dpif->events_wakeup);
    while ((result = sim_event_take(dpif, &e)) > 0) {
        cb(e.event, &e.port, aux);
    }
    if (result < 0) {
        wakeup_set(&dpif->events_wakeup); /* Events may be behind the gap. */
    }
    return result;
}

/* ---- The table of ports. ---- */

struct sim_port *sim_port_by_number(const struct sim_dp *dp, odp_port_t no)
{
    return no.n < SIM_MAX_PORTS && dp->ports ? dp->ports[no.n] : NULL;
}

struct sim_port *sim_port_by_name(const struct sim_dp *dp, const char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name), 0);

    for (struct sim_node *n = sim_map_first(&dp->ports_by_name, hash); n; n = sim_map_next(n)) {
        struct sim_port *port = CONTAINER_OF(n, struct sim_port, by_name);
        if (!strcmp(port->info.name, name)) {
            return port;
        }
    }
    return NULL;
}

/* Chooses a number for a new port of DP: REQUEST, or the lowest free one from 1 on. */
static int sim_port_choose(struct sim_dp *dp, odp_port_t request, odp_port_t *ret_no) REQUIRES(sim_lock)
{
    if (!odp_port_eq(request, ODPP_NONE)) {
        if (request.n >= SIM_MAX_PORTS) {
            return -EFBIG;
        } else if (dp->ports[request.n]) {
            return -EBUSY;
        }
        *ret_no = request;
        return 0;
    }
    while (dp->lowest_free < SIM_MAX_PORTS && dp->ports[dp->lowest_free]) {
        dp->lowest_free++;
    }
    if (dp->lowest_free >= SIM_MAX_PORTS) {
        return -EFBIG;
    }
    *ret_no = (odp_port_t){ dp->lowest_free };
    return 0;
}

/* May a port NAME of TYPE be added to DP?  The errors are the kernel's, as a guest showed them. */
static int sim_port_check(const struct sim_dp *dp, const char *name, enum dpif_port_type type, const char **ret_why)
    REQUIRES(sim_lock)
{
    const struct sim_port *other = sim_port_in_any(name);

    if (!*name) {
        *ret_why = "the name is empty";
        return -ENODEV;
    } else if (strlen(name) >= IFNAMSIZ) {
        *ret_why = "the name is longer than 15 characters";
        return -ENAMETOOLONG;
    } else if (!other) {
        return 0;
    } else if (type != DPIF_PORT_INTERNAL && other->info.type == DPIF_PORT_INTERNAL) {
        *ret_why = "the device is a datapath's internal one";
        return -EINVAL;
    }
    *ret_why = "the device is in a datapath already";
    return type == DPIF_PORT_INTERNAL || sim_port_by_name(dp, name) ? -EEXIST : -EBUSY;
}

/* Adds port NAME to DP, with an event.  On failure *RET_WHY gets what the kernel would say. */
int sim_port_new(struct sim_dp *dp, const char *name, enum dpif_port_type type, uint32_t pid, odp_port_t request,
                 odp_port_t *ret_no, const char **ret_why)
{
    odp_port_t no;
    int error;

    error = sim_port_check(dp, name, type, ret_why);
    if (error) {
        return error;
    } else if ((error = sim_port_choose(dp, request, &no)) != 0) {
        *ret_why = error == -EBUSY ? "the port number is taken" : "the port number is above 65534";
        return error;
    }

    struct sim_port *port = xzalloc(sizeof *port);
    strcpy(port->info.name, name);
    port->info.no = no;
    port->info.type = type;
    port->info.vport_type = type == DPIF_PORT_INTERNAL ? OVS_VPORT_TYPE_INTERNAL : OVS_VPORT_TYPE_NETDEV;
    port->info.upcall_pid = pid;
    port->info.ifindex = ++last_ifindex;
    if (dp->kernel == SIM_KERNEL_OLD) {
        port->info.upcall_success = port->info.upcall_fail = UINT64_MAX;
    }
    dp->ports[no.n] = port;
    sim_map_insert(&dp->ports_by_name, &port->by_name, hash_bytes(name, strlen(name), 0));
    sim_event_notify(dp, DPIF_PORT_EVENT_ADDED, &port->info);
    *ret_no = no;
    return 0;
}

void sim_port_remove(struct sim_dp *dp, struct sim_port *port, bool notify)
{
    dp->ports[port->info.no.n] = NULL;
    if (port->info.no.n) {
        dp->lowest_free = MIN(dp->lowest_free, port->info.no.n);
    }
    sim_map_remove(&dp->ports_by_name, &port->by_name);
    if (notify) {
        sim_event_notify(dp, DPIF_PORT_EVENT_DELETED, &port->info);
    }
    free(port);
}

void sim_ports_clear(struct sim_dp *dp)
{
    for (uint32_t i = 0; i < SIM_MAX_PORTS; i++) {
        if (dp->ports[i]) {
            sim_port_remove(dp, dp->ports[i], false);
        }
    }
    sim_map_uninit(&dp->ports_by_name);
}

/* ---- Requests. ---- */

int sim_dpif_port_add(struct dpif_session *s, const char *name, enum dpif_port_type type, uint32_t upcall_pid,
                      odp_port_t request, odp_port_t *ret_no)
{
    struct sim_dp *dp = sim_session_dp(s);
    const char *why = NULL;
    int error;

    sim_step("port_add");
    lock_acquire(&sim_lock);
    if (dp->gone) {
        error = -ENODEV;
    } else if (dp->faults[SIM_FAULT_PORT_ADD]) {
        error = -(int) dp->faults[SIM_FAULT_PORT_ADD];
        dp->faults[SIM_FAULT_PORT_ADD] = 0;
    } else {
        error = sim_port_new(dp, name, type, upcall_pid, request, ret_no, &why);
    }
    lock_release(&sim_lock);
    sim_session_error(s, why ? "%s: %s" : NULL, name, why);
    return error;
}

int sim_dpif_port_del(struct dpif_session *s, odp_port_t no)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    sim_step("port_del");
    sim_session_error(s, NULL);
    lock_acquire(&sim_lock);
    struct sim_port *port = sim_port_by_number(dp, no);
    if (dp->gone || !port) {
        error = -ENODEV;
    } else if (odp_port_eq(no, ODPP_LOCAL)) {
        error = -EINVAL; /* The local port goes with its datapath. */
    } else {
        sim_port_remove(dp, port, true);
    }
    lock_release(&sim_lock);
    return error;
}

int sim_port_vanish(struct dpif *dpif, const char *name)
{
    struct sim_dp *dp = sim_dp_of(dpif);
    int error = 0;

    lock_acquire(&sim_lock);
    struct sim_port *port = sim_port_by_name(dp, name);
    if (dp->gone || !port || odp_port_eq(port->info.no, ODPP_LOCAL)) {
        error = -ENODEV;
    } else {
        sim_port_remove(dp, port, true);
    }
    lock_release(&sim_lock);
    return error;
}

int sim_dpif_port_query(struct dpif_session *s, const char *name, odp_port_t no, struct dpif_port *ret_port)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    lock_acquire(&sim_lock);
    struct sim_port *port = name ? sim_port_by_name(dp, name) : sim_port_by_number(dp, no);
    if (dp->gone || !port) {
        error = -ENODEV;
    } else {
        *ret_port = port->info;
    }
    lock_release(&sim_lock);
    return error;
}

int sim_dpif_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    sim_step("port_set_pid");
    sim_session_error(s, NULL);
    lock_acquire(&sim_lock);
    struct sim_port *port = sim_port_by_number(dp, no);
    if (dp->gone || !port) {
        error = -ENODEV;
    } else {
        port->old_pid = port->info.upcall_pid;
        port->old_left = dp->faults[SIM_FAULT_SLOW_PIDS];
        port->info.upcall_pid = upcall_pid;
        sim_event_notify(dp, DPIF_PORT_EVENT_CHANGED, &port->info);
    }
    lock_release(&sim_lock);
    return error;
}

int sim_dpif_port_dump(struct dpif_session *s, dpif_port_cb *cb, void *aux)
{
    struct sim_dp *dp = sim_session_dp(s);
    struct dpif_port *ports;
    size_t n = 0;

    sim_step("port_dump");
    lock_acquire(&sim_lock);
    if (dp->gone) {
        lock_release(&sim_lock);
        return -ENODEV;
    }
    ports = xcalloc(dp->ports_by_name.n + 1, sizeof *ports);
    for (uint32_t i = 0; i < SIM_MAX_PORTS; i++) {
        if (dp->ports[i]) {
            ports[n++] = dp->ports[i]->info;
        }
    }
    lock_release(&sim_lock);

    for (size_t i = 0; i < n; i++) {
        cb(&ports[i], aux);
    }
    free(ports);
    return 0;
}
