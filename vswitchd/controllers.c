/* The columns controller, fail_mode and protocols of a bridge, and the tables Controller and SSL: read, checked, and
 * told what has become of them.
 *
 * A row that makes no sense is said once; one whose target cannot be right says so in its status, by last_error. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/dirs.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream-name.h"
#include "lib/io/tls.h"
#include "lib/rpc/jsonrpc.h"
#include "ofproto/controller.h"
#include "ofproto/ofproto.h"
#include "vswitchd/settings.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_controllers);

/* ---- TLS. ---- */

void controllers_read_tls(struct vswitch *v, const struct ovsdb_row *root)
{
    const char *uuid = ovsdb_set_uuid(root, "ssl", 0);
    const struct ovsdb_row *row = uuid ? ovsdb_row_by_uuid(v->db, "SSL", uuid) : NULL;
    struct tls_config config = v->tls_options;

    if (row) {
        config = (struct tls_config){
            .private_key = ovsdb_str(row, "private_key", ""),
            .certificate = ovsdb_str(row, "certificate", ""),
            .ca_cert = ovsdb_str(row, "ca_cert", ""),
            .bootstrap_ca_cert = ovsdb_bool(row, "bootstrap_ca_cert", false),
        };
    }
    char *error = tls_configure(v->tls, &config);
    if (error) {
        warn_once("%s: %s", row ? "SSL" : "TLS options", error);
        free(error);
    }
}

/* ---- Controllers. ---- */

static const char *other_config(const void *row, const char *key) { return ovsdb_map_get(row, "other_config", key); }

static unsigned int number(const struct ovsdb_row *row, const char *owner, const char *column, int64_t min, int64_t max,
                           int64_t def)
{
    int64_t n = ovsdb_int(row, column, def);

    if (n == def || (n >= min && n <= max)) {
        return n;
    }
    warn_once("%s: %s %lld is not from %lld to %lld; using %lld", owner, column, (long long) n, (long long) min,
              (long long) max, (long long) def);
    return def;
}

static struct controller_limits read_limits(const struct ovsdb_row *row, const struct ovsdb_row *br_row,
                                            const char *owner)
{
    unsigned int queue =
        settings_number(other_config, br_row, owner, "controller-queue-size", 1, 512, CONTROLLER_QUEUE_SIZE);
    struct controller_limits l = {
        .queue_size = number(row, owner, "controller_queue_size", 1, 512, queue),
        .rate = number(row, owner, "controller_rate_limit", 100, INT32_MAX, 0),
    };

    l.burst = l.rate ? number(row, owner, "controller_burst_limit", 25, INT32_MAX, MAX(25, l.rate / 4)) : 0;
    return l;
}

/* The database may be writable to who may not write files: a socket is made only where the bridge's own are, and
 * connected to only in that directory, as the field does.  Returns NULL, or what is wrong with TARGET, to be freed. */
static char *not_permitted(const struct bridge *br, const char *target)
{
    struct stream_name name;
    char *error = stream_name_parse(target, &name);

    if (error) {
        free(error); /* It will be said when it is used. */
        return NULL;
    }
    if (name.kind == STREAM_UNIX) {
        char *prefix = name.passive ? xasprintf("%s/%s.", dir_run(), br->name) : xasprintf("%s/", dir_run());
        size_t n = strlen(prefix);
        if (strncmp(name.path, prefix, n) || !name.path[n] || strchr(name.path + n, '/')) {
            error = xasprintf("a controller's local socket must be %s:%sNAME", name.passive ? "punix" : "unix", prefix);
        }
        free(prefix);
    }
    stream_name_uninit(&name);
    return error;
}

static bool read_service(const struct ovsdb_row *row, const char *target)
{
    const char *type = ovsdb_str(row, "type", NULL);

    return type ? !strcmp(type, "service") : target[0] == 'p'; /* The names of passive ones begin with it. */
}

static void read_controller(const struct ovsdb_row *row, const struct ovsdb_row *br_row, const char *target,
                            struct controller_config *ret)
{
    char *owner = xasprintf("controller %s", target);

    *ret = (struct controller_config){
        .target = target,
        .service = read_service(row, target),
        .async = ovsdb_bool(row, "enable_async_messages", true),
        .max_backoff_msec = number(row, owner, "max_backoff", 1000, INT32_MAX, 0),
        .probe_msec = number(row, owner, "inactivity_probe", 0, INT32_MAX, CONTROLLER_PROBE_MSEC),
        .dscp = settings_number(other_config, row, owner, "dscp", 0, 63, CONTROLLER_DSCP),
        .limits = read_limits(row, br_row, owner),
    };
    if (!strcmp(ovsdb_str(row, "connection_mode", ""), "in-band")) {
        warn_once("%s: connection_mode in-band is treated as out-of-band: no hidden flows are made for the "
                  "connection's own packets",
                  owner);
    }
    free(owner);
}

/* In the order of the column; returns how many.  RET has room for all. */
static size_t read_controllers(struct vswitch *v, struct bridge *br, const struct ovsdb_row *br_row,
                               struct controller_config *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < ovsdb_set_size(br_row, "controller"); i++) {
        const char *uuid = ovsdb_set_uuid(br_row, "controller", i);
        const struct ovsdb_row *row = uuid ? ovsdb_row_by_uuid(v->db, "Controller", uuid) : NULL;
        const char *target = row ? ovsdb_str(row, "target", "") : "";
        bool twin = false;
        for (size_t k = 0; k < n; k++) {
            twin |= !strcmp(ret[k].target, target);
        }
        char *error = row ? not_permitted(br, target) : NULL;
        if (twin) {
            warn_once("bridge %s: there are two controllers %s; one is ignored", br->name, target);
        } else if (error) {
            warn_once("bridge %s: the controller \"%s\" is ignored: %s", br->name, target, error);
        } else if (row) {
            read_controller(row, br_row, target, &ret[n++]);
        }
        free(error);
    }
    return n;
}

static uint32_t read_versions(const struct bridge *br, const struct ovsdb_row *row)
{
    static const struct {
        const char *name;
        enum ofp_version version;
    } known[] = {
        { "OpenFlow10", OFP10_VERSION },
        { "OpenFlow13", OFP13_VERSION },
        { "OpenFlow14", OFP14_VERSION },
        { "OpenFlow15", OFP15_VERSION },
    };
    uint32_t versions = 0;

    for (size_t i = 0; i < ovsdb_set_size(row, "protocols"); i++) {
        const char *name = ovsdb_set_str(row, "protocols", i);
        uint32_t bit = 0;
        for (size_t k = 0; name && k < ARRAY_SIZE(known); k++) {
            bit |= !strcmp(name, known[k].name) ? 1u << known[k].version : 0;
        }
        if (!bit) {
            warn_once(
                "bridge %s: the protocol %s is not supported; use OpenFlow10, OpenFlow13, OpenFlow14 or OpenFlow15",
                br->name, name ? name : "?");
        }
        versions |= bit;
    }
    if (!versions && ovsdb_set_size(row, "protocols")) {
        warn_once("bridge %s: no protocol in its column protocols is supported; using all that are", br->name);
    }
    return versions ? versions : OFPROTO_VERSIONS;
}

void controllers_configure(struct vswitch *v, struct bridge *br)
{
    const struct ovsdb_row *row = ovsdb_row_by_uuid(v->db, "Bridge", br->uuid);
    if (!row) {
        return; /* Deleted: so will be the bridge. */
    }
    size_t n = ovsdb_set_size(row, "controller");
    struct controller_config *configs = xcalloc(n ? n : 1, sizeof *configs);
    const struct control_config control = {
        .secure = !br->normal,
        .versions = read_versions(br, row),
        .tls = v->tls,
        .controllers = configs,
        .n = read_controllers(v, br, row, configs),
    };

    ofproto_set_control(br->ofproto, &control);
    free(configs);
}

/* ---- Status. ---- */

static void put_status(const char *key, const char *value, void *map)
{
    ovsdb_json_map_add(map, key, jsonrpc_string(value));
}

static void write_row(struct ovsdb_txn *txn, const struct ovsdb_row *row, const struct bridge *br)
{
    struct controller_status status = { .connected = false };
    json_t *map = ovsdb_json_map();

    const char *target = ovsdb_str(row, "target", "");
    if (br && !ofproto_controller_status(br->ofproto, target, &status, put_status, map)) {
        char *error = not_permitted(br, target);
        if (error) {
            put_status("last_error", error, map);
        }
        free(error);
    }
    ovsdb_txn_set(txn, row, "is_connected", json_boolean(status.connected));
    ovsdb_txn_set(txn, row, "role", status.role ? json_string(status.role) : ovsdb_json_empty());
    ovsdb_txn_set(txn, row, "status", map);
}

void controllers_write_status(struct vswitch *v, struct ovsdb_txn *txn)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        const struct bridge *br = v->bridges[i];
        const struct ovsdb_row *br_row = ovsdb_row_by_uuid(v->db, "Bridge", br->uuid);
        for (size_t k = 0; br_row && k < ovsdb_set_size(br_row, "controller"); k++) {
            const char *uuid = ovsdb_set_uuid(br_row, "controller", k);
            const struct ovsdb_row *row = uuid ? ovsdb_row_by_uuid(v->db, "Controller", uuid) : NULL;
            if (row) {
                write_row(txn, row, v->engine && !br->config_error ? br : NULL);
            }
        }
    }
}
