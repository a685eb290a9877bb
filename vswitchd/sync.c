/* The database's bridges, ports and interfaces, and ours: made the same.
 *
 * Objects are matched by name (a bridge's name, a port's within its bridge, an interface's within the whole switch), so
 * a row that was deleted and made again in one transaction, or an interface that moved to another bridge, keeps its
 * place in the datapath.  What the database no longer has is set aside, not deleted: the datapath forwards by the old
 * snapshot until the new one is published (make before break). */
#include <config.h>

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/mac.h"
#include "ofproto/ofproto.h"
#include "vswitchd/settings.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_sync);

static int compare_iface_name(const void *a, const void *b)
{
    return strcmp(((const struct iface *) a)->name, ((const struct iface *) b)->name);
}

struct iface *iface_find(struct vswitch *v, const char *name)
{
    struct iface key = { .name = (char *) name };
    struct iface **node = tfind(&key, &v->ifaces, compare_iface_name);

    return node ? *node : NULL;
}

static void iface_free(struct vswitch *v, struct iface *iface)
{
    tdelete(iface, &v->ifaces, compare_iface_name);
    free(iface->name);
    free(iface->peer);
    free(iface->config_error);
    free(iface->limit_error);
    free(iface->error);
    free(iface);
}

static void port_free(struct port *port)
{
    free(port->ifaces);
    free(port->name);
    free(port);
}

/* Has what was learned at BUNDLE_ID forgotten once the new snapshot is out (handlers may learn by the old one until
 * then). */
static void flush_later(struct vswitch *v, struct bridge *br, uint32_t bundle_id)
{
    v->flushes = xrealloc(v->flushes, (v->n_flushes + 1) * sizeof *v->flushes);
    v->flushes[v->n_flushes++] = (struct flush) { mac_table_ref(br->macs), bundle_id };
}

/* Its interfaces may be claimed by other ports still. */
static void port_retire(struct vswitch *v, struct port *port)
{
    flush_later(v, port->bridge, port->bundle_id);
    for (size_t i = 0; i < port->n_ifaces; i++) {
        if (port->ifaces[i]->port == port) {
            port->ifaces[i]->port = NULL;
        }
    }
    port_free(port);
}

static void bridge_free(struct bridge *br)
{
    ofproto_destroy(br->ofproto);
    mac_table_unref(br->macs);
    free(br->config_error);
    free(br->ports);
    free(br->name);
    free(br);
}

static int compare_ports(const void *a, const void *b)
{
    return strcmp((*(struct port *const *) a)->name, (*(struct port *const *) b)->name);
}

static int compare_bridges(const void *a, const void *b)
{
    return strcmp((*(struct bridge *const *) a)->name, (*(struct bridge *const *) b)->name);
}

/* Is claimed by PORT in this round, or NULL if another port has it. */
static struct iface *iface_claim(struct vswitch *v, struct port *port, const char *name)
{
    struct iface *iface = iface_find(v, name);

    if (!iface) {
        iface = xzalloc(sizeof *iface);
        iface->name = xstrdup(name);
        iface->odp = ODPP_NONE;
        iface->ofp = OFPP_NONE;
        iface->upcalls = iface->upcall_errors = UINT64_MAX;
        tsearch(iface, &v->ifaces, compare_iface_name);
    } else if (iface->round == v->round && iface->port != port) {
        warn_once("bridge %s: port %s: interface %s is in bridge %s already, port %s; ignored here",
                  port->bridge->name, port->name, name, iface->port->bridge->name, iface->port->name);
        return NULL;
    } else if (!iface->port || iface->port->bridge != port->bridge) {
        /* Number spaces are per bridge; the device stays where it is. */
        iface->ofp = OFPP_NONE;
        iface->announced = false;
    }
    iface->round = v->round;
    iface->port = port;
    iface->is_local = !strcmp(name, port->bridge->name);
    return iface;
}

/* Interfaces that PORT has and still wants stay with it, whoever else wants them: a mistake in one port's row does not
 * take a working interface from another. */
static void keep_ifaces(struct vswitch *v, struct port *port)
{
    for (size_t i = 0; i < ovsdb_set_size(port->row, "interfaces"); i++) {
        const char *uuid = ovsdb_set_uuid(port->row, "interfaces", i);
        const struct ovsdb_row *irow = uuid ? ovsdb_row_by_uuid(v->db, "Interface", uuid) : NULL;
        const char *name = irow ? ovsdb_str(irow, "name", NULL) : NULL;
        struct iface *iface = name ? iface_find(v, name) : NULL;
        if (iface && iface->port == port) {
            iface->round = v->round;
        }
    }
}

static bool has_iface(const struct port *port, const struct iface *iface)
{
    for (size_t i = 0; i < port->n_ifaces; i++) {
        if (port->ifaces[i] == iface) {
            return true;
        }
    }
    return false;
}

static void sync_ifaces(struct vswitch *v, struct port *port)
{
    const struct ovsdb_row *row = port->row;
    size_t n = ovsdb_set_size(row, "interfaces");
    const char *first = NULL;

    /* Who was here and is not claimed again may still be claimed by another port: sweep_ifaces() finds the rest. */
    free(port->ifaces);
    port->ifaces = xcalloc(n ? n : 1, sizeof *port->ifaces);
    port->n_ifaces = 0;
    for (size_t i = 0; i < n; i++) {
        const char *uuid = ovsdb_set_uuid(row, "interfaces", i);
        const struct ovsdb_row *irow = uuid ? ovsdb_row_by_uuid(v->db, "Interface", uuid) : NULL;
        const char *name = irow ? ovsdb_str(irow, "name", NULL) : NULL;
        struct iface *iface = name ? iface_claim(v, port, name) : NULL;
        if (!iface || has_iface(port, iface)) {
            continue;
        }
        wish_iface(iface, irow);
        port->ifaces[port->n_ifaces++] = iface;
        if (!first || strcmp(name, first) < 0) {
            first = iface->name;
        }
    }
    for (size_t i = 0; port->n_ifaces > 1 && i < port->n_ifaces; i++) {
        struct iface *iface = port->ifaces[i];
        if (iface->name != first && !iface->config_error) {
            iface->config_error = xasprintf("%s: bonds are not supported yet: port %s has %zu interfaces, only %s is "
                                            "used", iface->name, port->name, port->n_ifaces, first);
        }
    }
}


struct claim {
    struct port *port;
    const struct ovsdb_row *row;
};

static int compare_claims(const void *a, const void *b)
{
    return strcmp(((const struct claim *) a)->port->name, ((const struct claim *) b)->port->name);
}

static struct port *port_find_in(struct port **ports, size_t n, const char *name)
{
    struct port key = { .name = (char *) name }, *keyp = &key;
    struct port **found = n ? bsearch(&keyp, ports, n, sizeof *ports, compare_ports) : NULL;

    return found ? *found : NULL;
}

/* The ports that ROW refers to, each once: those of OLD that it has still, and new ones.  Sorted by name. */
static struct claim *claim_ports(struct vswitch *v, struct bridge *br, struct port **old, size_t n_old,
                                 const struct ovsdb_row *row, size_t *ret_n)
{
    size_t n = ovsdb_set_size(row, "ports"), n_claims = 0, n_kept = 0;
    struct claim *claims = xcalloc(n ? n : 1, sizeof *claims);

    for (size_t i = 0; i < n; i++) {
        const char *uuid = ovsdb_set_uuid(row, "ports", i);
        const struct ovsdb_row *prow = uuid ? ovsdb_row_by_uuid(v->db, "Port", uuid) : NULL;
        const char *name = prow ? ovsdb_str(prow, "name", NULL) : NULL;
        if (!name) {
            continue;
        }
        struct port *port = port_find_in(old, n_old, name);
        if (!port) {
            port = xzalloc(sizeof *port);
            port->name = xstrdup(name);
            port->bridge = br;
        }
        claims[n_claims++] = (struct claim) { port, prow };
    }
    qsort(claims, n_claims, sizeof *claims, compare_claims);
    for (size_t i = 0; i < n_claims; i++) {
        struct port *port = claims[i].port;
        if (n_kept && !strcmp(claims[n_kept - 1].port->name, port->name)) {
            warn_once("bridge %s: there are two ports %s; one is ignored", br->name, port->name);
            if (port != claims[n_kept - 1].port) {
                port_free(port);
            }
            continue;
        }
        claims[n_kept++] = claims[i];
    }
    *ret_n = n_kept;
    return claims;
}

static void sync_ports(struct vswitch *v, struct bridge *br, const struct ovsdb_row *row)
{
    struct port **old = br->ports;
    size_t n_old = br->n_ports, n;
    struct claim *claims = claim_ports(v, br, old, n_old, row, &n);

    br->ports = xcalloc(n ? n : 1, sizeof *br->ports);
    br->n_ports = n;
    for (size_t i = 0; i < n; i++) {
        struct port *port = claims[i].port;
        struct vlan_config vlan = port->vlan;
        port->round = v->round;
        br->ports[i] = port;
        wish_port(port, claims[i].row);
        if (!port->bundle_id) {
            port->bundle_id = ++v->next_bundle_id;
        } else if (!vlan_config_equal(&vlan, &port->vlan)) {
            flush_later(v, br, port->bundle_id);
        }
        port->row = claims[i].row;
    }
    for (size_t i = 0; i < n_old; i++) {
        if (old[i]->round != v->round) {
            port_retire(v, old[i]);
        }
    }
    free(claims);
    free(old);
}

static bool bridge_is_twin(const struct vswitch *v, const char *name)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        if (!strcmp(v->bridges[i]->name, name)) {
            warn_once("there are two bridges %s; one is ignored", name);
            return true;
        }
    }
    return false;
}

static struct bridge *bridge_claim(struct vswitch *v, struct bridge **old, size_t n_old, const char *name)
{
    struct bridge key = { .name = (char *) name }, *keyp = &key;
    struct bridge **found = n_old ? bsearch(&keyp, old, n_old, sizeof *old, compare_bridges) : NULL;
    struct bridge *br = found ? *found : NULL;

    if (!br) {
        br = xzalloc(sizeof *br);
        br->name = xstrdup(name);
        br->macs = mac_table_create();
        openflow_create(v, br);
    }
    br->round = v->round;
    return br;
}

static void bridge_retire(struct vswitch *v, struct bridge *br)
{
    for (size_t i = 0; i < br->n_ports; i++) {
        port_retire(v, br->ports[i]);
    }
    bridge_free(br);
}

struct sweep {
    unsigned int round;
    struct iface **found;
    size_t n;
};

static void sweep_visit(const void *node, VISIT which, void *aux)
{
    struct sweep *s = aux;
    struct iface *iface = *(struct iface *const *) node;

    if ((which == postorder || which == leaf) && iface->round != s->round) {
        s->found = xrealloc(s->found, (s->n + 1) * sizeof *s->found);
        s->found[s->n++] = iface;
    }
}

/* Sets aside all interfaces that no port has claimed in this round. */
static void sweep_ifaces(struct vswitch *v)
{
    struct sweep s = { .round = v->round };

    twalk_r(v->ifaces, sweep_visit, &s);
    for (size_t i = 0; i < s.n; i++) {
        struct iface *iface = s.found[i];
        if (iface->announced && v->managing) {
            log_info("deleted interface %s on port %u", iface->name, iface->ofp.n);
        }
        iface->port = NULL;
    }
    free(v->set_aside);
    v->set_aside = s.found;
    v->n_set_aside = s.n;
}

static void for_each_port(struct vswitch *v, void (*f)(struct vswitch *, struct port *))
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        for (size_t j = 0; j < v->bridges[i]->n_ports; j++) {
            f(v, v->bridges[i]->ports[j]);
        }
    }
}

void sync_from_database(struct vswitch *v, const struct ovsdb_row *root)
{
    struct bridge **old = v->bridges;
    size_t n_old = v->n_bridges, n = root ? ovsdb_set_size(root, "bridges") : 0;

    v->round++;
    v->bridges = xcalloc(n ? n : 1, sizeof *v->bridges);
    v->n_bridges = 0;
    for (size_t i = 0; i < n; i++) {
        const char *uuid = ovsdb_set_uuid(root, "bridges", i);
        const struct ovsdb_row *row = uuid ? ovsdb_row_by_uuid(v->db, "Bridge", uuid) : NULL;
        const char *name = row ? ovsdb_str(row, "name", NULL) : NULL;
        if (!name || bridge_is_twin(v, name)) {
            continue;
        }
        if (strchr(name, '/')) {
            warn_once("bridge \"%s\" is ignored: its name becomes that of a socket, and must have no slash", name);
            continue;
        }
        struct bridge *br = bridge_claim(v, old, n_old, name);
        v->bridges[v->n_bridges++] = br;
        wish_bridge(v, br, row);
        openflow_set_tables(v, br, row);
        sync_ports(v, br, row);
    }
    qsort(v->bridges, v->n_bridges, sizeof *v->bridges, compare_bridges);
    for (size_t i = 0; i < n_old; i++) {
        if (old[i]->round != v->round) {
            bridge_retire(v, old[i]);
        }
    }
    free(old);
    for_each_port(v, keep_ifaces);
    for_each_port(v, sync_ifaces);
    sweep_ifaces(v);
}

void sync_retire(struct vswitch *v)
{
    for (size_t i = 0; i < v->n_set_aside; i++) {
        iface_unrealize(v, v->set_aside[i]);
        iface_free(v, v->set_aside[i]);
    }
    free(v->set_aside);
    v->set_aside = NULL;
    v->n_set_aside = 0;

    size_t n = 0;
    for (size_t i = 0; i < v->n_flushes; i++) {
        n += mac_table_flush_bundle(v->flushes[i].macs, v->flushes[i].bundle_id);
        mac_table_unref(v->flushes[i].macs);
    }
    free(v->flushes);
    v->flushes = NULL;
    v->n_flushes = 0;
    if (n && v->engine) {
        engine_revalidate(v->engine);
    }
}

void sync_forget_all(struct vswitch *v)
{
    sync_from_database(v, NULL);
    sync_retire(v);
    free(v->bridges);
    v->bridges = NULL;
}
