/* From main's structs to the two snapshots that others see: struct xconfig for translation, struct view for control
 * commands.  Only interfaces that are up are in them. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "ofproto/ofproto.h"
#include "ofproto/tables.h"
#include "ofproto/xlate-config.h"
#include "vswitchd/view.h"
#include "vswitchd/vswitch.h"

static bool usable(const struct iface *iface) { return iface->up && !ofp_port_eq(iface->ofp, OFPP_NONE); }

static void add_bundle(struct xbridge *xbr, const struct bridge *br, const struct port *port)
{
    struct xbundle *b = NULL;

    for (size_t i = 0; i < port->n_ifaces; i++) {
        const struct iface *iface = port->ifaces[i];
        if (!usable(iface)) {
            continue;
        }
        if (!b) {
            b = xbridge_add_bundle(xbr, port->name, port->bundle_id);
            b->vlan_mode = port->vlan.mode;
            b->tag = port->vlan.tag;
            b->trunks = port->vlan.trunks;
            b->cvlans = port->vlan.cvlans;
            b->qinq_tpid = port->vlan.qinq_tpid;
            b->priority_tags = port->vlan.priority_tags;
            b->protected = port->vlan.protected;
            b->floodable = true;
        }
        struct xport *p = xbundle_add_port(b, iface->name, iface->ofp, iface->odp);
        p->is_patch = iface->type == IFACE_PATCH;
        p->is_live = iface->type == IFACE_PATCH || (iface->has_link && link_has_carrier(&iface->link));
        p->config = ofproto_port_config(br->ofproto, iface->ofp);
        b->floodable &= !(p->config & OFPPC_NO_FLOOD);
    }
}

struct patch {
    const struct iface *iface;
    struct xport *xport;
};

static int compare_patches(const void *a, const void *b)
{
    return strcmp(((const struct patch *) a)->iface->name, ((const struct patch *) b)->iface->name);
}

/* Two patch ports are joined when each names the other. */
static void join_patches(struct vswitch *v, struct patch *patches, size_t n)
{
    if (n) {
        qsort(patches, n, sizeof *patches, compare_patches);
    }
    for (size_t i = 0; i < n; i++) {
        struct iface *peer = iface_find(v, patches[i].iface->peer);
        struct patch key = { .iface = peer };
        if (!peer || !peer->peer || strcmp(peer->peer, patches[i].iface->name)) {
            continue;
        }
        const struct patch *other = bsearch(&key, patches, n, sizeof *patches, compare_patches);
        if (other) {
            patches[i].xport->peer = other->xport;
        }
    }
}

static struct xconfig *build_config(struct vswitch *v)
{
    struct xconfig *c = xconfig_create();
    struct patch *patches = NULL;
    size_t n_patches = 0;

    for (size_t i = 0; i < v->n_bridges; i++) {
        struct bridge *br = v->bridges[i];
        if (br->config_error) {
            continue;
        }
        struct xbridge *xbr = xconfig_add_bridge(c, br->name, br->macs);
        xbr->tables = tables_ref(ofproto_tables(br->ofproto));
        xbr->id = ofproto_id(br->ofproto);
        xbr->forward_bpdu = br->forward_bpdu;
        xbr->flood_vlans = br->flood_vlans;
        for (size_t j = 0; j < br->n_ports; j++) {
            add_bundle(xbr, br, br->ports[j]);
        }
    }
    for (size_t i = 0; i < c->n_bridges; i++) {
        for (size_t j = 0; j < c->bridges[i]->n_bundles; j++) {
            struct xbundle *b = c->bridges[i]->bundles[j];
            for (size_t k = 0; k < b->n_ports; k++) {
                if (b->ports[k]->is_patch) {
                    patches = xrealloc(patches, (n_patches + 1) * sizeof *patches);
                    patches[n_patches++] = (struct patch) { iface_find(v, b->ports[k]->name), b->ports[k] };
                }
            }
        }
    }
    join_patches(v, patches, n_patches);
    free(patches);
    xconfig_seal(c);
    return c;
}

static size_t count_usable(const struct bridge *br)
{
    size_t n = 0;

    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_ifaces; j++) {
            n += usable(br->ports[i]->ifaces[j]);
        }
    }
    return n;
}

static int compare_view_ports(const void *a, const void *b)
{
    return strcmp(((const struct view_port *) a)->name, ((const struct view_port *) b)->name);
}

static void fill_view_bridge(struct view_bridge *b, const struct bridge *br)
{
    static const char *const types[] = { [IFACE_SYSTEM] = "system", [IFACE_INTERNAL] = "internal",
                                         [IFACE_PATCH] = "patch" };

    view_bridge_init(b, br->name, br->macs, count_usable(br));
    for (size_t i = 0; i < br->n_ports; i++) {
        const struct port *port = br->ports[i];
        for (size_t j = 0; j < port->n_ifaces; j++) {
            const struct iface *iface = port->ifaces[j];
            if (usable(iface)) {
                b->ports[b->n_ports++] = (struct view_port) {
                    .name = xstrdup(iface->name),
                    .type = types[iface->type],
                    .peer = iface->peer ? xstrdup(iface->peer) : NULL,
                    .ofp = iface->ofp,
                    .odp = iface->odp,
                    .bundle_id = port->bundle_id,
                };
            }
        }
    }
    qsort(b->ports, b->n_ports, sizeof *b->ports, compare_view_ports);
}

void publish(struct vswitch *v)
{
    struct view *view = view_create(v->n_bridges);

    for (size_t i = 0; v->engine && i < v->n_bridges; i++) {
        if (!v->bridges[i]->config_error) {
            fill_view_bridge(&view->bridges[view->n_bridges++], v->bridges[i]);
        }
    }
    view_publish(view);
    for (size_t i = 0; v->engine && i < v->n_bridges; i++) {
        if (!v->bridges[i]->config_error) {
            openflow_update(v->bridges[i]);
        }
    }
    if (v->engine) {
        engine_set_config(v->engine, build_config(v));
    }
}
