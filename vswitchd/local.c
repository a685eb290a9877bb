/* What follows from the set of a bridge's ports: OpenFlow numbers, the bridge's own address, its datapath id, and the
 * MTU of internal devices; see ovs-vswitchd.conf.db(5) under Interface:mac and Interface:mtu_request.
 *
 * The default address is made from the bridge's UUID in the way of the packaged daemon, so a bridge keeps its
 * address and its datapath id when one daemon takes the place of the other. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/nl/link.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge);

/* The first six bytes of the UUID, its leading 32- and 16-bit words in little-endian order, as a locally administered
 * unicast address. */
struct eth_addr local_addr_of_uuid(const char *uuid)
{
    static const uint8_t order[6] = { 3, 2, 1, 0, 5, 4 };
    uint8_t b[6] = { 0 };
    struct eth_addr a;
    size_t n = 0;

    for (const char *p = uuid; *p && n < 12; p++) {
        int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
        if (digit >= 0) {
            b[n / 2] = b[n / 2] << 4 | digit;
            n++;
        }
    }
    for (int i = 0; i < 6; i++) {
        a.ea[i] = b[order[i]];
    }
    a.ea[0] = (a.ea[0] & ~1) | 2;
    return a;
}

static int compare_by_name(const void *a, const void *b)
{
    return strverscmp((*(struct iface *const *) a)->name, (*(struct iface *const *) b)->name);
}

/* The interfaces of BR that are up, in the order in which they get numbers: p2 before p10. */
static struct iface **up_ifaces(struct bridge *br, size_t *ret_n)
{
    struct iface **ifaces = NULL;
    size_t n = 0;

    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_ifaces; j++) {
            if (br->ports[i]->ifaces[j]->up) {
                ifaces = xrealloc(ifaces, (n + 1) * sizeof *ifaces);
                ifaces[n++] = br->ports[i]->ifaces[j];
            }
        }
    }
    if (n) {
        qsort(ifaces, n, sizeof *ifaces, compare_by_name);
    }
    *ret_n = n;
    return ifaces;
}

void local_assign_numbers(struct bridge *br)
{
    size_t n;
    struct iface **ifaces = up_ifaces(br, &n);
    struct port_number_wish *w = xcalloc(n ? n : 1, sizeof *w);

    for (size_t i = 0; i < n; i++) {
        w[i] = (struct port_number_wish) {
            .is_local = ifaces[i]->is_local,
            .request = ifaces[i]->ofport_request,
            .remembered = ifaces[i]->ofport_remembered,
            .number = ifaces[i]->ofp,
        };
    }
    port_numbers_assign(&br->numbers, w, n);
    for (size_t i = 0; i < n; i++) {
        struct iface *iface = ifaces[i];
        if (!iface->announced || !ofp_port_eq(iface->ofp, w[i].number)) {
            log_info("bridge %s: added interface %s on port %u", br->name, iface->name, w[i].number.n);
            iface->announced = true;
        }
        iface->ofp = w[i].number;
    }
    free(w);
    free(ifaces);
}

static struct iface *local_iface(struct bridge *br)
{
    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_ifaces; j++) {
            if (br->ports[i]->ifaces[j]->is_local) {
                return br->ports[i]->ifaces[j];
            }
        }
    }
    return NULL;
}

/* The address that PORT puts forward for its bridge.  Addresses that are not globally unique are no candidates: those of
 * veth and tap devices are random and would make the bridge's change with every container. */
static bool candidate(const struct port *port, struct eth_addr *ret)
{
    if (port->has_mac) {
        *ret = port->mac;
        return true;
    }
    for (size_t i = 0; i < port->n_ifaces; i++) {
        const struct iface *iface = port->ifaces[i];
        struct eth_addr a = iface->link.mac;
        if (iface->up && iface->has_link && iface->type == IFACE_SYSTEM && !eth_addr_is_multicast(a) &&
            !eth_addr_is_zero(a) && !(a.ea[0] & 2)) {
            *ret = a;
            return true;
        }
    }
    return false;
}

static struct eth_addr pick_addr(const struct bridge *br, const struct iface *local)
{
    struct eth_addr best, a;
    bool found = false;

    if (br->has_hwaddr) {
        return br->hwaddr;
    }
    if (local && local->has_mac) {
        return local->mac;
    }
    for (size_t i = 0; i < br->n_ports; i++) {
        const struct port *port = br->ports[i];
        bool internal = port->n_ifaces && port->ifaces[0]->type == IFACE_INTERNAL;
        if (!internal && candidate(port, &a) && (!found || memcmp(&a, &best, sizeof a) < 0)) {
            best = a;
            found = true;
        }
    }
    return found ? best : local_addr_of_uuid(br->uuid);
}

static void set_mac(struct vswitch *v, struct iface *iface, struct eth_addr mac)
{
    if (!iface->up || !iface->has_link || eth_addr_eq(iface->link.mac, mac)) {
        return;
    }
    int error = link_set_mac(v->rtnl, iface->name, mac);
    if (error) {
        log_warn_rl(10, "interface %s: could not set address " ETH_ADDR_FMT " (%s)", iface->name, ETH_ADDR_ARGS(mac),
                    strerror(-error));
    }
    iface_refresh_link(v, iface);
}

static void set_mtu(struct vswitch *v, struct iface *iface, unsigned int mtu)
{
    if (!mtu || !iface->up || !iface->has_link || iface->type == IFACE_PATCH || iface->link.mtu == mtu) {
        return;
    }
    int error = link_set_mtu(v->rtnl, iface->name, mtu);
    if (error) {
        log_warn_rl(10, "interface %s: could not set MTU %u (%s)", iface->name, mtu, strerror(-error));
    }
    iface_refresh_link(v, iface);
}

/* Smallest MTU among the bridge's system devices, after their own requests; 0 if it has none. */
static unsigned int least_mtu(struct vswitch *v, struct bridge *br)
{
    unsigned int least = 0;

    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_ifaces; j++) {
            struct iface *iface = br->ports[i]->ifaces[j];
            if (iface->type != IFACE_SYSTEM || !iface->up || !iface->has_link) {
                continue;
            }
            set_mtu(v, iface, iface->mtu_request);
            if (iface->link.mtu && (!least || iface->link.mtu < least)) {
                least = iface->link.mtu;
            }
        }
    }
    return least;
}

static void update_internal(struct vswitch *v, struct bridge *br)
{
    unsigned int mtu = least_mtu(v, br);

    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_ifaces; j++) {
            struct iface *iface = br->ports[i]->ifaces[j];
            if (iface->type != IFACE_INTERNAL) {
                continue;
            }
            set_mtu(v, iface, iface->mtu_request ? iface->mtu_request : mtu);
            if (iface->has_mac && !iface->is_local) {
                set_mac(v, iface, iface->mac);
            }
        }
    }
}

void local_update(struct vswitch *v, struct bridge *br)
{
    struct iface *local = local_iface(br);

    if (br->config_error) {
        return;
    }
    br->addr = pick_addr(br, local);
    if (v->engine && strcmp(v->datapath_type, "sim")) {
        update_internal(v, br);
        if (local) {
            set_mac(v, local, br->addr);
        }
    }
    uint64_t dpid = br->dpid_wish ? br->dpid_wish : eth_addr_to_u64(br->addr);
    if (dpid != br->dpid) {
        br->dpid = dpid;
        log_info("bridge %s: using datapath ID %016llx", br->name, (unsigned long long) dpid);
    }
}
