/* Rows of the database, read and checked, into the wished half of bridges, ports and interfaces.
 *
 * Nothing that a row may say is fatal: a value that makes no sense is replaced by its default with one warning, and an
 * object that cannot exist gets a config_error, which ends up in the `error` column of its interfaces. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/mac.h"
#include "vswitchd/settings.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_wish);

static const char *other_config(const void *row, const char *key) { return ovsdb_map_get(row, "other_config", key); }

static bool eth_addr_wish(const char *owner, const char *column, const char *s, struct eth_addr *ret)
{
    if (!s) {
        return false;
    }
    if (!eth_addr_read(s, ret)) {
        warn_once("%s: %s \"%s\" is not an Ethernet address; use xx:xx:xx:xx:xx:xx", owner, column, s);
        return false;
    }
    if (eth_addr_is_multicast(*ret) || eth_addr_is_zero(*ret)) {
        warn_once("%s: %s %s cannot be a device's address; use a unicast address that is not zero", owner, column, s);
        return false;
    }
    return true;
}

static int64_t *read_ints(const struct ovsdb_row *row, const char *column, size_t *ret_n)
{
    size_t n = ovsdb_set_size(row, column);
    int64_t *v = xcalloc(n ? n : 1, sizeof *v);

    for (size_t i = 0; i < n; i++) {
        v[i] = ovsdb_set_int(row, column, i);
    }
    *ret_n = n;
    return v;
}

static void wish_mac_limits(struct bridge *br, const struct ovsdb_row *row, const char *owner)
{
    long long max = settings_number(other_config, row, owner, "mac-table-size", 10, 1000000, MAC_DEFAULT_MAX);
    long long age = settings_number(other_config, row, owner, "mac-aging-time", 1, 1000000, MAC_DEFAULT_AGEING_SEC);

    mac_table_set_limits(br->macs, max, age);
}

/* fail_mode matters only with a controller; a bridge with one and no fail_mode is standalone, too. */
static bool wish_normal(const struct ovsdb_row *row, const char *owner)
{
    const char *mode = ovsdb_str(row, "fail_mode", "standalone");

    if (strcmp(mode, "standalone") && strcmp(mode, "secure")) {
        warn_once("%s: fail_mode \"%s\" is unknown; use standalone or secure; using standalone", owner, mode);
    }
    return strcmp(mode, "secure") != 0;
}

static char *datapath_type_error(struct vswitch *v, const char *type)
{
    if (!strcmp(type, "") || !strcmp(type, "system") || (v->enable_sim && !strcmp(type, "sim"))) {
        return NULL;
    }
    return xasprintf("datapath type \"%s\" is not supported; use system", type);
}

void wish_bridge(struct vswitch *v, struct bridge *br, const struct ovsdb_row *row)
{
    char *owner = xasprintf("bridge %s", br->name);
    size_t n;

    snprintf(br->uuid, sizeof br->uuid, "%s", row->uuid);
    free(br->config_error);
    br->config_error = datapath_type_error(v, ovsdb_str(row, "datapath_type", ""));
    br->wants_sim = !strcmp(ovsdb_str(row, "datapath_type", ""), "sim");
    br->normal = wish_normal(row, owner);
    br->forward_bpdu = settings_bool(other_config, row, owner, "forward-bpdu", false);
    br->has_hwaddr = eth_addr_wish(owner, "hwaddr", other_config(row, "hwaddr"), &br->hwaddr);

    const char *dpid = other_config(row, "datapath-id");
    br->dpid_wish = 0;
    if (dpid && !datapath_id_read(dpid, &br->dpid_wish)) {
        warn_once("%s: datapath-id \"%s\" is not one; use exactly 16 hex digits, or 0x and some, not all zero", owner,
                  dpid);
    }

    int64_t *vlans = read_ints(row, "flood_vlans", &n);
    if (vlan_set_read(vlans, n, &br->flood_vlans)) {
        warn_once("%s: flood_vlans has ids that are not VLAN ids; use 0 to 4095", owner);
    }
    free(vlans);
    wish_mac_limits(br, row, owner);
    free(owner);
}

void wish_port(struct port *port, const struct ovsdb_row *row)
{
    struct vlan_wish w = {
        .vlan_mode = ovsdb_str(row, "vlan_mode", NULL),
        .has_tag = ovsdb_set_size(row, "tag") > 0,
        .tag = ovsdb_int(row, "tag", -1),
        .qinq_ethtype = other_config(row, "qinq-ethtype"),
        .priority_tags = other_config(row, "priority-tags"),
        .protected = ovsdb_bool(row, "protected", false),
    };
    char *owner = xasprintf("port %s", port->name);
    int64_t *trunks = read_ints(row, "trunks", &w.n_trunks);
    int64_t *cvlans = read_ints(row, "cvlans", &w.n_cvlans);
    struct vlan_config vlan;

    w.trunks = trunks;
    w.cvlans = cvlans;
    char *error = vlan_config_read(&w, &vlan);
    if (error) {
        warn_once("%s: %s", owner, error);
        free(error);
    }
    port->vlan = vlan;
    port->has_mac = eth_addr_wish(owner, "mac", ovsdb_str(row, "mac", NULL), &port->mac);
    free(trunks);
    free(cvlans);
    free(owner);
}

static char *wish_type(struct iface *iface, const struct ovsdb_row *row)
{
    const char *type = ovsdb_str(row, "type", "");

    iface->type = iface->is_local ? IFACE_INTERNAL : IFACE_SYSTEM;
    if (!strcmp(type, "internal")) {
        iface->type = IFACE_INTERNAL;
    } else if (!strcmp(type, "patch") && !iface->is_local) {
        iface->type = IFACE_PATCH;
    } else if (strcmp(type, "") && strcmp(type, "system") && !iface->is_local) {
        return xasprintf("%s: type \"%s\" is not supported yet; use internal, system or patch", iface->name, type);
    }
    return NULL;
}

static char *wish_name_error(const struct iface *iface)
{
    const char *name = iface->name;

    if (iface->type == IFACE_PATCH) {
        return NULL; /* Not a device: any name will do. */
    }
    if (strlen(name) >= IFNAMSIZ) {
        return xasprintf("could not open network device %s (a device's name has at most %d characters)", name,
                         IFNAMSIZ - 1);
    }
    if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || strpbrk(name, "/: \t\n\v\f\r")) {
        return xasprintf("could not open network device \"%s\" (not a valid name for a device)", name);
    }
    if (!strcmp(name, DATAPATH_NAME)) {
        return xasprintf("could not add network device %s (the name belongs to the datapath itself)", name);
    }
    return NULL;
}

/* What is wrong is said once each time that it changes: also if it is the same again, after it was right. */
static void wish_limit(struct iface *iface, const struct ovsdb_row *row, const char *owner)
{
    char *error = settings_read_upcall_limit(other_config, row, &iface->limit);

    if (!error && iface->type == IFACE_PATCH && iface->limit.rate) {
        error = xstrdup("upcall-rate has no effect at a patch interface; set it at those by which packets come in");
    }
    if (error && (!iface->limit_error || strcmp(error, iface->limit_error))) {
        log_warn("%s: %s", owner, error);
    }
    free(iface->limit_error);
    iface->limit_error = error;
}

void wish_iface(struct iface *iface, const struct ovsdb_row *row)
{
    char *owner = xasprintf("interface %s", iface->name);

    snprintf(iface->uuid, sizeof iface->uuid, "%s", row->uuid);
    free(iface->config_error);
    iface->config_error = wish_type(iface, row);
    if (!iface->config_error) {
        iface->config_error = wish_name_error(iface);
    }
    free(iface->peer);
    iface->peer = NULL;
    if (iface->type == IFACE_PATCH) {
        const char *peer = ovsdb_map_get(row, "options", "peer");
        if (!peer || !*peer) {
            iface->config_error = xasprintf("%s: patch type requires valid 'peer' argument", iface->name);
        } else if (!strcmp(peer, iface->name)) {
            iface->config_error = xasprintf("%s: patch peer must not be self", iface->name);
        } else {
            iface->peer = xstrdup(peer);
        }
    }
    iface->ofport_request = ovsdb_int(row, "ofport_request", -1);
    if (iface->ofport_request != -1 && (iface->ofport_request < 1 || iface->ofport_request >= OFPP_MAX)) {
        warn_once("%s: ofport_request %lld is out of range; use 1 to %d", owner, (long long) iface->ofport_request,
                  OFPP_MAX - 1);
        iface->ofport_request = -1;
    }
    iface->ofport_remembered = ovsdb_int(row, "ofport", -1);
    int64_t mtu = ovsdb_int(row, "mtu_request", 0);
    iface->mtu_request = mtu >= 1 && mtu <= 65535 ? mtu : 0;
    if (mtu != iface->mtu_request) {
        warn_once("%s: mtu_request %lld is out of range; use 68 to 65535", owner, (long long) mtu);
    }
    iface->has_mac = eth_addr_wish(owner, "mac", ovsdb_str(row, "mac", NULL), &iface->mac);
    wish_limit(iface, row, owner);
    free(owner);
}
