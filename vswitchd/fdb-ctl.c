/* Control commands about MAC learning tables: fdb/.  They run in the introspection thread; the tables lock for themselves.
 *
 * A table knows bundles; what is shown is the OpenFlow port number of the bundle's first interface. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine.h"
#include "ofproto/mac.h"
#include "vswitchd/control.h"
#include "vswitchd/settings.h"
#include "vswitchd/view.h"

struct show {
    FILE *out;
    const struct view_bridge *bridge;
};

static const struct view_port *port_of_bundle(const struct view_bridge *b, uint32_t bundle)
{
    for (size_t i = 0; i < b->n_ports; i++) {
        if (b->ports[i].bundle_id == bundle) {
            return &b->ports[i];
        }
    }
    return NULL;
}

static void put_entry(const struct mac_info *m, void *aux)
{
    const struct show *s = aux;
    const struct view_port *p = port_of_bundle(s->bridge, m->bundle);
    char port[8] = "?";

    if (p && ofp_port_eq(p->ofp, OFPP_LOCAL)) {
        snprintf(port, sizeof port, "LOCAL");
    } else if (p) {
        snprintf(port, sizeof port, "%u", p->ofp.n);
    }
    fprintf(s->out, "%5s  %4u  " ETH_ADDR_FMT "  ", port, m->vlan, ETH_ADDR_ARGS(m->mac));
    if (m->is_static) {
        fputs("static\n", s->out);
    } else {
        fprintf(s->out, "%3u\n", m->age_sec);
    }
}

/* Bridge NAME of VIEW, or NULL after an error has been answered and VIEW let go. */
static const struct view_bridge *find_or_refuse(struct unixctl_conn *conn, struct view *view, const char *name)
{
    const struct view_bridge *b = view_bridge_find(view, name);

    if (!b) {
        unixctl_error(conn, "no such bridge");
        view_unref(view);
    }
    return b;
}

static void fdb_show(struct unixctl_conn *conn, int argc UNUSED, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();
    const struct view_bridge *b = find_or_refuse(conn, view, argv[1]);
    struct text t;

    if (!b) {
        return;
    }
    struct show s = { text_open(&t), b };
    fputs(" port  VLAN  MAC                Age\n", s.out);
    mac_table_dump(b->macs, clock_msec(), put_entry, &s);
    view_unref(view);
    unixctl_reply_take(conn, text_close(&t));
}

static void changed(void)
{
    struct engine *e = engine_get();

    if (e) {
        engine_revalidate(e);
        engine_put(e);
    }
}

static void fdb_flush(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();

    if (argc > 1 && !find_or_refuse(conn, view, argv[1])) {
        return;
    }
    for (size_t i = 0; i < view->n_bridges; i++) {
        if (argc == 1 || !strcmp(argv[1], view->bridges[i].name)) {
            mac_table_flush(view->bridges[i].macs);
        }
    }
    view_unref(view);
    changed();
    unixctl_reply(conn, "table successfully flushed");
}

static void fdb_stats_show(struct unixctl_conn *conn, int argc UNUSED, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();
    const struct view_bridge *b = find_or_refuse(conn, view, argv[1]);
    struct mac_stats s;
    struct text t;

    if (!b) {
        return;
    }
    mac_table_get_stats(b->macs, &s);
    FILE *out = text_open(&t);
    fprintf(out, "Statistics for bridge \"%s\":\n", b->name);
    fprintf(out, "  Current/maximum MAC entries in the table: %" PRIu64 "/%" PRIu64 "\n", s.n_current, s.n_max);
    fprintf(out, "  Current static MAC entries in the table : %" PRIu64 "\n", s.n_static);
    fprintf(out, "  Total number of learned MAC entries     : %" PRIu64 "\n", s.learned);
    fprintf(out, "  Total number of expired MAC entries     : %" PRIu64 "\n", s.expired);
    fprintf(out, "  Total number of evicted MAC entries     : %" PRIu64 "\n", s.evicted);
    fprintf(out, "  Total number of port moved MAC entries  : %" PRIu64 "\n", s.moved);
    view_unref(view);
    unixctl_reply_take(conn, text_close(&t));
}

static void fdb_stats_clear(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();

    if (argc > 1 && !find_or_refuse(conn, view, argv[1])) {
        return;
    }
    for (size_t i = 0; i < view->n_bridges; i++) {
        if (argc == 1 || !strcmp(argv[1], view->bridges[i].name)) {
            mac_table_clear_stats(view->bridges[i].macs);
        }
    }
    view_unref(view);
    unixctl_reply(conn, "statistics successfully cleared");
}

static const struct view_port *port_by_arg(const struct view_bridge *b, const char *s)
{
    long long n;
    bool number = str_to_llong(s, 0, UINT16_MAX, &n);

    for (size_t i = 0; i < b->n_ports; i++) {
        const struct view_port *p = &b->ports[i];
        if (!strcmp(s, p->name) || (number && p->ofp.n == n) ||
            (!strcmp(s, "LOCAL") && ofp_port_eq(p->ofp, OFPP_LOCAL))) {
            return p;
        }
    }
    return NULL;
}

/* VLAN and MAC of ARGV[0] and ARGV[1]; false after an error has been answered. */
static bool read_key(struct unixctl_conn *conn, const char *argv[], uint16_t *ret_vlan, struct eth_addr *ret_mac)
{
    long long vlan;

    if (!str_to_llong(argv[0], 0, 4095, &vlan)) {
        unixctl_error(conn, "bad VLAN \"%s\"; use 0 to 4095", argv[0]);
        return false;
    }
    if (!eth_addr_read(argv[1], ret_mac)) {
        unixctl_error(conn, "bad MAC address");
        return false;
    }
    *ret_vlan = vlan;
    return true;
}

static void fdb_add(struct unixctl_conn *conn, int argc UNUSED, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();
    const struct view_bridge *b = find_or_refuse(conn, view, argv[1]);
    struct eth_addr mac;
    uint16_t vlan;

    if (!b) {
        return;
    }
    const struct view_port *p = port_by_arg(b, argv[2]);
    if (!p) {
        unixctl_error(conn, "no port \"%s\" on bridge %s; dpif/show lists them", argv[2], b->name);
    } else if (read_key(conn, argv + 3, &vlan, &mac)) {
        rcu_read_lock();
        uint32_t old = mac_table_lookup(b->macs, vlan, mac);
        rcu_read_unlock();
        bool was_there = mac_table_add_static(b->macs, vlan, mac, p->bundle_id, clock_msec());
        changed();
        if (was_there && old != p->bundle_id) {
            unixctl_reply(conn, "Overriding already existing entry");
        } else {
            unixctl_reply(conn, NULL);
        }
    }
    view_unref(view);
}

static void fdb_del(struct unixctl_conn *conn, int argc UNUSED, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();
    const struct view_bridge *b = find_or_refuse(conn, view, argv[1]);
    struct eth_addr mac;
    uint16_t vlan;

    if (!b) {
        return;
    }
    if (read_key(conn, argv + 2, &vlan, &mac)) {
        if (mac_table_del(b->macs, vlan, mac)) {
            changed();
            unixctl_reply(conn, NULL);
        } else {
            unixctl_error(conn, "could not find static mac entry");
        }
    }
    view_unref(view);
}

void fdb_ctl_init(void)
{
    unixctl_register("fdb/show", "bridge", 1, 1, fdb_show, NULL);
    unixctl_register("fdb/flush", "[bridge]", 0, 1, fdb_flush, NULL);
    unixctl_register("fdb/add", "bridge port vlan mac", 4, 4, fdb_add, NULL);
    unixctl_register("fdb/del", "bridge vlan mac", 3, 3, fdb_del, NULL);
    unixctl_register("fdb/stats-show", "bridge", 1, 1, fdb_stats_show, NULL);
    unixctl_register("fdb/stats-clear", "[bridge]", 0, 1, fdb_stats_clear, NULL);
}
