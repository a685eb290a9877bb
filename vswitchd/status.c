/* What the database is told: the outcome of the last reconfiguration, and the state of interfaces.
 *
 * Each call makes one transaction out of everything that there is to say; the database client drops values that the
 * database has already.  cur_cfg goes in the same transaction as the ports' numbers and errors, so a client that waits for it
 * finds them.  While a transaction is on its way no other is begun: its `done` starts the next, if one is due. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "vswitchd/view.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_status);

static json_t *empty_or_int(bool have, int64_t n) { return have ? json_integer(n) : ovsdb_json_empty(); }
/* What is not UTF-8 (a driver may say anything) cannot be told. */
static json_t *text(const char *s)
{
    json_t *j = json_string(s);
    return j ? j : json_string("");
}
static json_t *empty_or_text(const char *s) { return s ? text(s) : ovsdb_json_empty(); }

static json_t *status_map(const struct iface *iface)
{
    json_t *map = ovsdb_json_map();

    if (iface->up && iface->has_driver) {
        bool ours = iface->type == IFACE_INTERNAL;
        ovsdb_json_map_add(map, "driver_name", text(iface->driver.name));
        if (!ours) {
            ovsdb_json_map_add(map, "driver_version", text(iface->driver.version));
            ovsdb_json_map_add(map, "firmware_version", text(iface->driver.firmware));
        }
    }
    return map;
}

static json_t *statistics_map(const struct iface *iface)
{
    json_t *map = ovsdb_json_map();

    if (!iface->up || !iface->has_link || iface->type == IFACE_PATCH) {
        return map;
    }
    const struct link_stats *s = &iface->link.stats;
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {
        { "collisions", s->collisions },
        { "rx_bytes", s->rx_bytes },
        { "rx_crc_err", s->rx_crc_errors },
        { "rx_dropped", s->rx_dropped },
        { "rx_errors", s->rx_errors },
        { "rx_frame_err", s->rx_frame_errors },
        { "rx_missed_errors", s->rx_missed_errors },
        { "rx_multicast_packets", s->multicast },
        { "rx_over_err", s->rx_over_errors },
        { "rx_packets", s->rx_packets },
        { "tx_bytes", s->tx_bytes },
        { "tx_dropped", s->tx_dropped },
        { "tx_errors", s->tx_errors },
        { "tx_packets", s->tx_packets },
        { "upcall_errors", iface->upcall_errors },
        { "upcall_packets", iface->upcalls },
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        if (all[i].value != UINT64_MAX) {
            ovsdb_json_map_add(map, all[i].key, json_integer(all[i].value));
        }
    }
    return map;
}

static void write_link(struct ovsdb_txn *txn, const struct ovsdb_row *row, const struct iface *iface)
{
    const struct link_info *l = &iface->link;
    bool have = iface->up && iface->has_link;
    bool up = have && l->flags & IFF_UP, running = have && link_has_carrier(l);
    bool speed = have && iface->has_speed && iface->type != IFACE_PATCH;
    char mac[20];

    snprintf(mac, sizeof mac, ETH_ADDR_FMT, ETH_ADDR_ARGS(l->mac));
    ovsdb_txn_set(txn, row, "ifindex", empty_or_int(have, l->ifindex));
    ovsdb_txn_set(txn, row, "mac_in_use", empty_or_text(have ? mac : NULL));
    ovsdb_txn_set(txn, row, "mtu", empty_or_int(have && l->mtu && iface->type != IFACE_PATCH, l->mtu));
    ovsdb_txn_set(txn, row, "admin_state", empty_or_text(have ? (up ? "up" : "down") : NULL));
    ovsdb_txn_set(txn, row, "link_state", empty_or_text(have ? (running ? "up" : "down") : NULL));
    ovsdb_txn_set(txn, row, "link_resets", empty_or_int(have, iface->link_resets));
    ovsdb_txn_set(txn, row, "link_speed", empty_or_int(speed, iface->speed));
    ovsdb_txn_set(txn, row, "duplex", empty_or_text(speed ? (iface->full_duplex ? "full" : "half") : NULL));
    ovsdb_txn_set(txn, row, "status", status_map(iface));
}

static void write_iface(struct vswitch *v, struct ovsdb_txn *txn, const struct iface *iface, bool statistics)
{
    const struct ovsdb_row *row = ovsdb_row_by_uuid(v->db, "Interface", iface->uuid);

    if (!row) {
        return;
    }
    bool ok = iface->up && !ofp_port_eq(iface->ofp, OFPP_NONE);
    const char *error = iface->error ? iface->error : ok ? NULL : "no OpenFlow port number is free";
    ovsdb_txn_set(txn, row, "ofport", json_integer(ok ? iface->ofp.n : -1));
    ovsdb_txn_set(txn, row, "error", empty_or_text(ok ? NULL : error));
    write_link(txn, row, iface);
    if (statistics || !ok) {
        ovsdb_txn_set(txn, row, "statistics", statistics_map(iface));
    }
}

static void write_bridge(struct vswitch *v, struct ovsdb_txn *txn, const struct bridge *br, bool statistics)
{
    const struct ovsdb_row *row = ovsdb_row_by_uuid(v->db, "Bridge", br->uuid);
    bool real = v->engine && !br->config_error;

    if (row) {
        char dpid[17];
        snprintf(dpid, sizeof dpid, "%016" PRIx64, br->dpid);
        ovsdb_txn_set(txn, row, "datapath_id", empty_or_text(real ? dpid : NULL));
        ovsdb_txn_set(txn, row, "datapath_version", json_string(real ? "<unknown>" : ""));
    }
    for (size_t i = 0; i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_ifaces; j++) {
            write_iface(v, txn, br->ports[i]->ifaces[j], statistics);
        }
    }
}

static void write_root(struct vswitch *v, struct ovsdb_txn *txn, const struct ovsdb_row *root)
{
    static const char *const datapath_types[] = { "system", "sim" };
    static const char *const iface_types[] = { "internal", "patch", "system" };

    ovsdb_txn_set(txn, root, "datapath_types", ovsdb_json_str_set(datapath_types, v->enable_sim ? 2 : 1));
    ovsdb_txn_set(txn, root, "iface_types", ovsdb_json_str_set(iface_types, ARRAY_SIZE(iface_types)));
    if (v->settled_order) {
        ovsdb_txn_set(txn, root, "cur_cfg", json_integer(v->settled_cfg));
    }
}

static void note_upcalls(const struct dpif_port *port, void *v_)
{
    struct iface *iface = iface_by_odp(v_, port->no);

    if (iface) {
        iface->upcalls = port->upcall_success;
        iface->upcall_errors = port->upcall_fail;
    }
}

static void refresh_statistics(struct vswitch *v)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        for (size_t j = 0; j < v->bridges[i]->n_ports; j++) {
            struct port *port = v->bridges[i]->ports[j];
            for (size_t k = 0; k < port->n_ifaces; k++) {
                iface_refresh_link(v, port->ifaces[k]);
            }
        }
    }
    if (v->engine && dpif_features(engine_dpif(v->engine))->upcall_stats) {
        int error = dpif_port_dump(engine_session(v->engine), note_upcalls, v);
        if (error) {
            log_warn_rl(5, "could not read the ports' upcall counters (%s)", strerror(-error));
        }
    }
}

static void committed(struct vswitch *v)
{
    if (!v->committed && v->settled_order) {
        v->committed = true;
        log_info("first configuration is complete");
        v->ready();
    }
}

static void txn_done(int error, void *v_)
{
    struct vswitch *v = v_;

    if (!error) {
        committed(v);
        if (v->status_due) {
            vswitch_want(v, v->status_due);
            v->status_due = 0;
        }
        return;
    }
    /* Refused or lost: say everything again, a little later (after a lost connection: when it is back). */
    log_info_rl(5, "could not write status to the database (%s); trying again", strerror(-error));
    v->status_due = 0;
    vswitch_retry_status(v);
}

void status_write(struct vswitch *v, bool statistics)
{
    if (!v->managing || !ovsdb_is_alive(v->db) || !ovsdb_has_lock(v->db)) {
        return; /* All of it is said again when we may. */
    }
    if (ovsdb_txn_pending(v->db)) {
        v->status_due |= WORK_STATUS | (statistics ? WORK_STATISTICS : 0);
        return;
    }
    const struct ovsdb_row *root = ovsdb_first(v->db, "Open_vSwitch");
    struct ovsdb_txn *txn = ovsdb_txn_begin(v->db);

    if (statistics) {
        refresh_statistics(v);
    }
    for (size_t i = 0; i < v->n_bridges; i++) {
        write_bridge(v, txn, v->bridges[i], statistics);
    }
    controllers_write_status(v, txn);
    if (root) {
        write_root(v, txn, root);
    }
    if (!ovsdb_txn_commit(txn, txn_done, v)) {
        committed(v); /* The database knows all of it already. */
    }
    view_set_db_cells(ovsdb_n_cells(v->db));
}
