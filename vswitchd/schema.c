/* The tables and columns of the database that this daemon reads and writes.
 *
 * Columns that we write are not reported as changes, so our own writes do not cause a reconfiguration. */
#include <config.h>

#include "vswitchd/vswitch.h"

#define R(NAME) { NAME, OVSDB_READ }
#define W(NAME) { NAME, OVSDB_WRITE }
#define END { NULL, OVSDB_READ }

static const struct ovsdb_column_spec open_vswitch_columns[] = {
    R("bridges"), R("ssl"), R("next_cfg"), R("other_config"), W("cur_cfg"), W("datapath_types"), W("iface_types"),
    W("dpdk_initialized"), END,
};

static const struct ovsdb_column_spec bridge_columns[] = {
    R("name"), R("ports"), R("fail_mode"), R("controller"), R("protocols"), R("datapath_type"), R("flood_vlans"), R("flow_tables"),
    R("other_config"), W("datapath_id"), W("datapath_version"), END,
};

static const struct ovsdb_column_spec port_columns[] = {
    R("name"), R("interfaces"), R("tag"), R("trunks"), R("cvlans"), R("vlan_mode"), R("protected"), R("mac"),
    R("other_config"), END,
};

static const struct ovsdb_column_spec interface_columns[] = {
    R("name"), R("type"), R("options"), R("ofport_request"), R("mac"), R("mtu_request"), R("other_config"),
    W("ofport"), W("error"), W("ifindex"), W("mac_in_use"), W("mtu"), W("admin_state"), W("link_state"),
    W("link_resets"), W("link_speed"), W("duplex"), W("status"), W("statistics"), END,
};

static const struct ovsdb_column_spec controller_columns[] = {
    R("target"), R("type"), R("connection_mode"), R("max_backoff"), R("inactivity_probe"), R("controller_queue_size"),
    R("controller_rate_limit"), R("controller_burst_limit"), R("enable_async_messages"), R("other_config"),
    W("is_connected"), W("role"), W("status"), END,
};

static const struct ovsdb_column_spec ssl_columns[] = {
    R("private_key"), R("certificate"), R("ca_cert"), R("bootstrap_ca_cert"), END,
};

static const struct ovsdb_column_spec flow_table_columns[] = {
    R("name"), R("flow_limit"), R("overflow_policy"), R("groups"), END,
};

const struct ovsdb_table_spec vswitch_tables[] = {
    { "Open_vSwitch", open_vswitch_columns },
    { "Bridge", bridge_columns },
    { "Port", port_columns },
    { "Interface", interface_columns },
    { "Controller", controller_columns },
    { "SSL", ssl_columns },
    { "Flow_Table", flow_table_columns },
    { NULL, NULL },
};
