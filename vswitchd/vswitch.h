/* What main knows of the switch: bridges, ports and interfaces, wished and real.
 *
 * All of it is main's, without locks.  Other threads see two snapshots of it: struct xconfig (ofproto/xlate-config.h),
 * which translation reads, and struct view (vswitchd/view.h), which control commands read.
 *
 * A reconfiguration (vswitchd/reconfigure.c) goes through these rooms in this order:
 *   sync.c       rows of the database -> struct bridge, port, iface; what is no longer wished is set aside
 *   iface.c      devices wished but not there are added to the datapath
 *   local.c      OpenFlow numbers; MAC, MTU and datapath id, which follow from the set of ports
 *   publish.c    the snapshots
 *   sync.c       what was set aside is deleted from the datapath and freed
 *   status.c     one transaction tells the database
 * Device and port events (vswitchd/events.c) change one interface and then go through the same tail. */
#ifndef VSWITCHD_VSWITCH_H
#define VSWITCHD_VSWITCH_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/types.h"
#include "lib/io/tls.h"
#include "lib/nl/link.h"
#include "lib/rpc/ovsdb.h"
#include "ofproto/engine.h"
#include "ofproto/port-limit.h"
#include "vswitchd/port-numbers.h"
#include "vswitchd/vlan-config.h"

struct event;
struct mac_table;
struct nl_sock;
struct ofproto;
struct vswitch;

#define DATAPATH_NAME "ovs-system"

enum iface_type { IFACE_SYSTEM, IFACE_INTERNAL, IFACE_PATCH };

struct iface {
    char *name;
    struct port *port; /* NULL: set aside, to be deleted. */
    unsigned int round; /* Of the last synchronisation that wished it. */

    /* Wished. */
    char uuid[UUID_LEN + 1];
    enum iface_type type;
    char *peer;          /* Patch: name of the other end. */
    char *config_error;  /* The row cannot be carried out, in words; or NULL. */
    int64_t ofport_request, ofport_remembered; /* -1: none. */
    unsigned int mtu_request;                  /* 0: none. */
    bool has_mac;
    struct eth_addr mac;
    bool is_local;
    struct port_limit limit; /* Of upcalls. */
    char *limit_error;       /* What is wrong with the wish for it, as logged; or NULL. */

    /* Real. */
    bool up;                /* In the datapath (a patch port: usable). */
    enum iface_type up_type;
    odp_port_t odp;
    ofp_port_t ofp;
    char *error;            /* Why not 'up', or NULL. */
    bool announced;         /* Its number has been logged. */
    uint64_t next_try;      /* ms: not before then after a failure. */
    unsigned int backoff_ms;
    bool retry;             /* Something about its device has changed since. */

    /* Its device, as last seen. */
    bool has_link;
    struct link_info link;
    unsigned int link_resets;
    bool has_driver, has_speed, full_duplex;
    struct link_driver driver;
    uint64_t speed;
    uint64_t upcalls, upcall_errors; /* UINT64_MAX: unknown. */
};

struct port {
    char *name;
    struct bridge *bridge;
    unsigned int round;
    uint32_t bundle_id;
    struct vlan_config vlan;
    bool has_mac; /* Wished as the port's contribution to the bridge's address. */
    struct eth_addr mac;
    const struct ovsdb_row *row; /* Valid during a synchronisation only. */
    struct iface **ifaces;
    size_t n_ifaces;
};

struct bridge {
    char *name;
    struct vswitch *vswitch;
    struct ofproto *ofproto;
    unsigned int round;
    char uuid[UUID_LEN + 1];
    struct mac_table *macs;
    struct port_numbers numbers;
    struct port **ports; /* Sorted by name. */
    size_t n_ports;

    /* Wished. */
    char *config_error;
    bool wants_sim; /* datapath_type is "sim". */
    bool normal, forward_bpdu;
    struct vlan_set flood_vlans;
    bool has_hwaddr;
    struct eth_addr hwaddr;
    uint64_t dpid_wish; /* 0: none. */

    /* Real. */
    struct eth_addr addr;
    uint64_t dpid; /* 0: not known yet. */
};

struct flush {
    struct mac_table *macs; /* A reference. */
    uint32_t bundle_id;
};

/* What main has still to do; see reconfigure.c. */
enum {
    WORK_RECONFIGURE = 1 << 0, /* The database or the lock has changed. */
    WORK_PUBLISH = 1 << 1,     /* An interface came or went. */
    WORK_STATUS = 1 << 2,      /* Something to be told to the database. */
    WORK_STATISTICS = 1 << 3,  /* Counters, too. */
};

struct vswitch {
    struct ovsdb *db;
    struct tls *tls, *db_tls;      /* Of controllers; of the database. */
    struct tls_config tls_options; /* Of the command line: for both, unless the SSL table has others for the first. */
    bool enable_sim;
    const char *datapath_type; /* "system" or "sim", while there is an engine. */
    struct engine *engine;     /* NULL: no bridge, or it cannot be had. */
    char *engine_error;        /* Why not. */

    struct nl_sock *rtnl, *monitor;
    struct event *work_event, *status_event, *tick_event, *retry_event, *monitor_event, *port_event, *affinity_event;
    uint64_t retry_due; /* ms: when retry_event fires; 0: it does not. */
    unsigned int work;

    unsigned int round;
    struct bridge **bridges; /* Sorted by name. */
    size_t n_bridges;
    void *ifaces;            /* Trees (tsearch) of struct iface: by name, */
    void *ifaces_by_odp;     /* and those in the datapath by number. */
    struct iface **set_aside;
    size_t n_set_aside;
    struct flush *flushes;   /* What was learned here is to be forgotten when the new snapshot is out. */
    size_t n_flushes;
    uint32_t next_bundle_id;
    bool checked_stale;      /* Whether a predecessor has left a datapath that no bridge needs. */
    struct engine_settings settings;
    bool settings_failed; /* They are not all in force: tried again at 'next_open'. */

    bool managing;           /* We have the lock and have configured. */
    bool said_contended;
    int64_t settled_cfg;     /* The last next_cfg whose configuration the datapath's flows follow. */
    uint64_t settle_order, settled_order; /* Number of the last configuration, and of that one; 0: none yet. */
    unsigned int status_due; /* WORK_STATUS..., to be done when the transaction on its way has ended. */
    bool retry_status;       /* The last one failed. */
    bool committed;          /* Something has been written: the parent of --detach may go. */
    unsigned int stats_interval_ms;
    uint64_t next_stats, next_open; /* ms: when statistics are due; when opening the datapath is tried again. */
    void (*ready)(void);     /* Called once, when 'committed' becomes true. */
};

/* reconfigure.c.  REMOTE as of ovsdb_open(); TLS, of the command line, stays the caller's; READY is called once the first configuration is
 * done and committed. */
void vswitch_init(struct vswitch *v, const char *remote, const struct tls_config *tls, bool enable_sim, void (*ready)(void));
/* Lets go of everything; CLEANUP: and deletes the datapath from the kernel. */
void vswitch_uninit(struct vswitch *v, bool cleanup);
/* Has main do WORK soon. */
void vswitch_want(struct vswitch *v, unsigned int work);
/* Has the status written again in a moment. */
void vswitch_retry_status(struct vswitch *v);

/* datapath.c */
/* Makes sure that the datapath is open if some bridge needs it, with SETTINGS; 'engine_error' says why if that fails. */
void datapath_open_if_needed(struct vswitch *v, const struct engine_settings *settings);
/* Closes it; DELETE: and removes it from the kernel. */
void datapath_close(struct vswitch *v, bool delete);
/* Closes and deletes it if no bridge needs it any more. */
void datapath_close_if_idle(struct vswitch *v);

/* schema.c */
extern const struct ovsdb_table_spec vswitch_tables[];

/* sync.c */
void sync_from_database(struct vswitch *v, const struct ovsdb_row *root);
/* Frees what was set aside, deleting it from the datapath if that is still open. */
void sync_retire(struct vswitch *v);
void sync_forget_all(struct vswitch *v);
struct iface *iface_find(struct vswitch *v, const char *name);

/* wish.c: rows -> the 'wished' half of the structs above. */
void wish_bridge(struct vswitch *v, struct bridge *br, const struct ovsdb_row *row);
void wish_port(struct port *port, const struct ovsdb_row *row);
void wish_iface(struct iface *iface, const struct ovsdb_row *row);

/* iface.c */
void iface_realize_all(struct vswitch *v); /* All that are wished and not up. */
void iface_realize(struct vswitch *v, struct iface *iface);
void iface_unrealize(struct vswitch *v, struct iface *iface); /* Out of the datapath. */
void iface_lost(struct vswitch *v, struct iface *iface);      /* Its port is gone already. */
void iface_refresh_link(struct vswitch *v, struct iface *iface);
struct iface *iface_by_odp(struct vswitch *v, odp_port_t odp);
void iface_adopt_all(struct vswitch *v);
void iface_datapath_closed(struct vswitch *v); /* All are out of it. */

/* local.c */
void local_update(struct vswitch *v, struct bridge *br);
void local_assign_numbers(struct bridge *br);
/* An address that stays the same for one UUID. */
struct eth_addr local_addr_of_uuid(const char *uuid);

/* controllers.c */
void controllers_read_tls(struct vswitch *v, const struct ovsdb_row *root); /* The SSL table, or the command line. */
void controllers_configure(struct vswitch *v, struct bridge *br);
void controllers_write_status(struct vswitch *v, struct ovsdb_txn *txn);

/* openflow.c */
void openflow_create(struct vswitch *v, struct bridge *br);
/* flow-tables.c: what ROW, BR's, says of its tables. */
void openflow_set_tables(struct vswitch *v, struct bridge *br, const struct ovsdb_row *row);
void openflow_update(struct bridge *br); /* Its ports or settings have changed. */

/* publish.c */
void publish(struct vswitch *v);

/* status.c */
void status_write(struct vswitch *v, bool statistics);

/* events.c */
void events_open(struct vswitch *v);
void events_close(struct vswitch *v);
void events_watch_datapath(struct vswitch *v);
void events_unwatch_datapath(struct vswitch *v);

#endif
