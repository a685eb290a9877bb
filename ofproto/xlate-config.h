/* What translation knows of bridges and ports: an immutable snapshot.
 *
 * Main builds one with the functions below and publishes it as a whole (engine_set_config()); handlers and
 * revalidators read it under RCU; the one that it replaces is freed by callback after a grace period.  Nothing in a
 * published snapshot changes, apart from the MAC tables that it refers to. */
#ifndef OFPROTO_XLATE_CONFIG_H
#define OFPROTO_XLATE_CONFIG_H 1

#include <stdint.h>

#include "lib/base/rcu.h"
#include "lib/base/types.h"

struct mac_table;
struct tables;
struct xconfig;
struct xbridge;
struct xbundle;
struct xport;

/* Values of the Port table's vlan_mode.  dot1q-tunnel: frames are put behind 'tag', customer VLANs in cvlans. */
enum vlan_mode {
    VLAN_ACCESS,
    VLAN_TRUNK,
    VLAN_NATIVE_TAGGED,
    VLAN_NATIVE_UNTAGGED,
    VLAN_DOT1Q_TUNNEL,
};
enum priority_tags { PRIORITY_TAGS_NEVER, PRIORITY_TAGS_IF_NONZERO, PRIORITY_TAGS_ALWAYS };

/* A set of VLAN ids; all of them if 'any'. */
struct vlan_set {
    bool any;
    uint64_t bits[64];
};
static inline bool vlan_set_has(const struct vlan_set *s, uint16_t vid)
{
    return s->any || (s->bits[vid / 64] >> (vid % 64) & 1);
}

/* One row of the Port table: one or more interfaces (a bond; members' bundle) that share a VLAN configuration. */
struct xbundle {
    uint32_t id; /* Never 0; the same as long as the port lives; never used again by this process. */
    char *name;
    struct xbridge *bridge;
    enum vlan_mode vlan_mode;
    uint16_t tag;           /* Access, native, tunnel: the VLAN; else 0. */
    struct vlan_set trunks; /* Trunk, native: the VLANs carried. */
    struct vlan_set cvlans; /* Tunnel: the customer VLANs carried. */
    be16 qinq_tpid;         /* Tunnel: of the outer tag. */
    enum priority_tags priority_tags;
    bool protected;         /* No traffic between two protected ports. */
    bool floodable;         /* Takes part in flooding. */
    size_t order;           /* Index in its bridge's 'bundles'. */
    struct xport **ports;
    size_t n_ports;
};

struct xport {
    char *name;
    ofp_port_t ofp;
    odp_port_t odp; /* ODPP_NONE: a patch port (or not in the datapath). */
    struct xbundle *bundle;
    struct xport *peer; /* Patch ports: the other end, or NULL while there is none. */
    /* Where upcalls of what comes in here are to go (odp-cookie.h); 0: not known.  The only field that changes in a snapshot that is
     * published: the engine sets it when the mode of dispatch changes, then has all flows translated again.  Atomic, relaxed. */
    uint32_t upcall_pid;
    uint32_t config; /* OFPPC_*, as controllers have it. */
    bool is_patch;
    bool is_live; /* Up and with carrier: for buckets that watch it. */
};

struct xbridge {
    char *name;
    uint32_t id; /* By which packet-ins name it (odp-cookie.h). */
    struct xconfig *config;
    struct mac_table *macs; /* A reference. */
    struct tables *tables;  /* Of OpenFlow; a reference.  NULL: there are none, and 'normal' says what happens. */
    bool normal;            /* All packets get NORMAL; else all are dropped. */
    bool forward_bpdu;      /* Forward reserved multicast. */
    struct vlan_set flood_vlans; /* No learning in these; 'any' false and no bits: none. */
    struct xbundle **bundles;
    size_t n_bundles;
    /* Made by xconfig_seal(), for flooding, which is to look at the ports of its VLAN, not at thousands of others: bundles that carry one
     * VLAN only (access, tunnel), by it and then in order; and all others, in order. */
    struct xbundle **narrow, **wide;
    size_t n_narrow, n_wide;
    struct xport **by_ofp; /* Sorted by OpenFlow number. */
    size_t n_by_ofp;
};

/* What the datapath can do that translation asks about.  All of it, unless engine_set_config() finds otherwise. */
struct xconfig_can {
    bool ct_zone, ct_clear, ct_eventmask, clone, trunc, check_pkt_len;
};

struct xconfig {
    struct xconfig_can can;
    uint64_t version; /* Given by engine_set_config(): increases. */
    struct xbridge **bridges;
    size_t n_bridges;
    struct xport **by_odp; /* Hash table of ports by datapath number; linear probing. */
    size_t by_odp_mask;    /* Its size - 1. */
    struct xbundle **by_id; /* Sorted by id. */
    size_t n_by_id;
    struct rcu_head rcu;
};

/* Building, by main. */
struct xconfig *xconfig_create(void);
struct xbridge *xconfig_add_bridge(struct xconfig *c, const char *name, struct mac_table *macs); /* Takes a reference of its own. */
/* The caller then fills in the fields after 'bridge', or 'macs', or 'odp' as it likes. */
struct xbundle *xbridge_add_bundle(struct xbridge *br, const char *name, uint32_t id);
struct xport *xbundle_add_port(struct xbundle *b, const char *name, ofp_port_t ofp, odp_port_t odp);
/* Makes the indexes.  To be called once, when all has been added. */
void xconfig_seal(struct xconfig *c);
void xconfig_destroy(struct xconfig *c);     /* Accepts NULL. */
void xconfig_destroy_rcu(struct xconfig *c); /* When nobody who may have seen it reads it any more.  Accepts NULL. */

/* Reading, under RCU or by main.  NULL: none. */
struct xport *xconfig_port_by_odp(const struct xconfig *c, odp_port_t odp);
struct xbundle *xconfig_bundle_by_id(const struct xconfig *c, uint32_t id);
struct xport *xbridge_port_by_ofp(const struct xbridge *br, ofp_port_t ofp);
struct xbridge *xconfig_bridge_by_name(const struct xconfig *c, const char *name);
/* Index in 'narrow' of the first whose VLAN is VLAN or above; 'n_narrow' if there is none. */
size_t xbridge_first_narrow(const struct xbridge *br, uint16_t vlan);

/* A port that stands for where packet-outs to a bridge come from that came in by no port of it: it carries all VLANs, and nothing is learned of it. */
struct xlate_outside {
    struct xbundle bundle;
    struct xport port;
};
void xlate_outside_init(struct xlate_outside *o, const struct xbridge *br, ofp_port_t no);

#endif
