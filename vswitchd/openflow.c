/* The OpenFlow side of bridges: what controllers are to see of a bridge's ports, and where they connect. */
#include <config.h>

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "ofproto/ofproto.h"
#include "vswitchd/vswitch.h"

static void tables_changed(void *br_)
{
    struct bridge *br = br_;

    if (br->vswitch->engine) {
        engine_revalidate(br->vswitch->engine);
    }
}

static struct iface *iface_by_ofp(const struct bridge *br, ofp_port_t no)
{
    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t k = 0; k < br->ports[i]->n_ifaces; k++) {
            struct iface *iface = br->ports[i]->ifaces[k];
            if (iface->up && ofp_port_eq(iface->ofp, no)) {
                return iface;
            }
        }
    }
    return NULL;
}

static bool port_stats(ofp_port_t no, struct ofp_port_stats *ret, void *br_)
{
    struct bridge *br = br_;
    struct iface *iface = iface_by_ofp(br, no);

    if (!iface) {
        return false;
    }
    /* All ones: unknown. */
    memset(ret, 0xff, sizeof *ret);
    ret->port_no = no;
    if (iface->type == IFACE_PATCH) {
        return true;
    }
    /* What main knows of the device stays as it is: a change of it is an event's to find. */
    struct link_info link;
    if (!link_query(br->vswitch->rtnl, iface->name, &link)) {
        const struct link_stats *s = &link.stats;
        *ret = (struct ofp_port_stats) {
            .port_no = no,
            .rx_packets = s->rx_packets, .tx_packets = s->tx_packets, .rx_bytes = s->rx_bytes, .tx_bytes = s->tx_bytes,
            .rx_dropped = s->rx_dropped, .tx_dropped = s->tx_dropped, .rx_errors = s->rx_errors, .tx_errors = s->tx_errors,
            .rx_frame_err = s->rx_frame_errors, .rx_over_err = s->rx_over_errors, .rx_crc_err = s->rx_crc_errors,
            .collisions = s->collisions, .duration_sec = UINT32_MAX, .duration_nsec = UINT32_MAX,
        };
    }
    return true;
}

static void controllers_changed(void *br) { vswitch_want(((struct bridge *) br)->vswitch, WORK_STATUS); }

static int packet_out(const struct engine_packet_out *po, void *br_)
{
    const struct bridge *br = br_;

    return br->vswitch->engine ? engine_packet_out(br->vswitch->engine, po) : -ENODEV;
}

static void port_config_changed(void *br) { vswitch_want(((struct bridge *) br)->vswitch, WORK_PUBLISH); }

/* What becomes of it is an event's to find, as all that happens to devices. */
static int port_set_up(ofp_port_t no, bool up, void *br_)
{
    struct bridge *br = br_;
    const struct iface *iface = iface_by_ofp(br, no);

    if (!iface) {
        return -ENODEV;
    }
    bool has_device = iface->type != IFACE_PATCH && strcmp(br->vswitch->datapath_type, "sim");
    return has_device ? link_set_up(br->vswitch->rtnl, iface->name, up) : -EOPNOTSUPP;
}

static const struct ofproto_ops ops = {
    .changed = tables_changed,
    .port_stats = port_stats,
    .controllers_changed = controllers_changed,
    .packet_out = packet_out,
    .port_config_changed = port_config_changed,
    .port_set_up = port_set_up,
};

static uint32_t features_of_speed(uint64_t bps, bool full)
{
    static const struct {
        uint64_t mbps;
        uint32_t full, half;
    } speeds[] = {
        { 10, OFPPF_10MB_FD, OFPPF_10MB_HD },   { 100, OFPPF_100MB_FD, OFPPF_100MB_HD }, { 1000, OFPPF_1GB_FD, OFPPF_1GB_HD },
        { 10000, OFPPF_10GB_FD, OFPPF_OTHER },  { 40000, OFPPF_40GB_FD, OFPPF_OTHER },   { 100000, OFPPF_100GB_FD, OFPPF_OTHER },
        { 1000000, OFPPF_1TB_FD, OFPPF_OTHER },
    };

    for (size_t i = 0; i < ARRAY_SIZE(speeds); i++) {
        if (bps == speeds[i].mbps * 1000000) {
            return full ? speeds[i].full : speeds[i].half;
        }
    }
    return OFPPF_OTHER;
}

static void describe(const struct iface *iface, struct ofp_port *ret)
{
    *ret = (struct ofp_port) { .port_no = iface->ofp };
    snprintf(ret->name, sizeof ret->name, "%s", iface->name);
    if (iface->type == IFACE_PATCH) {
        ret->state = OFPPS_LIVE;
        ret->hw_addr = local_addr_of_uuid(iface->uuid);
        return;
    }
    if (!iface->has_link) {
        ret->state = OFPPS_LINK_DOWN;
        return;
    }
    ret->hw_addr = iface->link.mac;
    ret->config = iface->link.flags & IFF_UP ? 0 : OFPPC_PORT_DOWN;
    ret->state = link_has_carrier(&iface->link) ? OFPPS_LIVE : OFPPS_LINK_DOWN;
    if (iface->has_speed) {
        ret->curr = features_of_speed(iface->speed, iface->full_duplex);
        ret->curr_speed = iface->speed / 1000;
    }
}

void openflow_create(struct vswitch *v, struct bridge *br)
{
    br->vswitch = v;
    br->ofproto = ofproto_create(loop_base(), br->name, &ops, br);
}

void openflow_update(struct bridge *br)
{
    size_t n = 0, allocated = 0;
    struct ofp_port *ports = NULL;

    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t k = 0; k < br->ports[i]->n_ifaces; k++) {
            const struct iface *iface = br->ports[i]->ifaces[k];
            if (!iface->up || ofp_port_eq(iface->ofp, OFPP_NONE)) {
                continue;
            }
            if (n == allocated) {
                allocated = MAX(16, 2 * allocated);
                ports = xrealloc(ports, allocated * sizeof *ports);
            }
            describe(iface, &ports[n++]);
        }
    }
    ofproto_set_datapath_id(br->ofproto, br->dpid);
    ofproto_set_ports(br->ofproto, ports, n);
    controllers_configure(br->vswitch, br); /* Who connects finds the rest in place. */
    ofproto_listen(br->ofproto);
    free(ports);
}
