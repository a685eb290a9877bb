/* Control commands about the datapath: dpif/ and dpctl/ as far as they need no flows, and ofproto/list.
 *
 * They run in the introspection thread, read the current view, and ask the datapath through a session that is opened for
 * the command: a socket costs less than keeping one beside an engine that may go at any time. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine.h"
#include "vswitchd/control.h"
#include "vswitchd/view.h"

/* The engine's datapath with a session, for the length of a command. */
struct lease {
    struct engine *engine;
    struct dpif *dpif;
    struct dpif_session *session;
};

/* 0; -ENOENT: there is no datapath. */
static int lease_take(struct lease *l)
{
    l->engine = engine_get();
    if (!l->engine) {
        return -ENOENT;
    }
    l->dpif = engine_dpif(l->engine);
    int error = dpif_session_open(l->dpif, &l->session);
    if (error) {
        engine_put(l->engine);
    }
    return error;
}

static void lease_end(struct lease *l)
{
    dpif_session_close(l->session);
    engine_put(l->engine);
}

static void dpif_dump_dps(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    struct view *view = view_get();
    struct engine *e = engine_get();
    struct text t;
    FILE *out = text_open(&t);

    for (size_t i = 0; e && i < view->n_bridges; i++) {
        fprintf(out, "%s@%s\n", dpif_type(engine_dpif(e)), view->bridges[i].name);
    }
    engine_put(e);
    view_unref(view);
    unixctl_reply_take(conn, text_close(&t));
}

static void show_bridge(FILE *out, const struct view_bridge *b)
{
    fprintf(out, "  %s:\n", b->name);
    for (size_t i = 0; i < b->n_ports; i++) {
        const struct view_port *p = &b->ports[i];
        fprintf(out, "    %s %u/", p->name, p->ofp.n);
        if (odp_port_eq(p->odp, ODPP_NONE)) {
            fputs("none: ", out);
        } else {
            fprintf(out, "%u: ", p->odp.n);
        }
        if (p->peer) {
            fprintf(out, "(%s: peer=%s)\n", p->type, p->peer);
        } else {
            fprintf(out, "(%s)\n", p->type);
        }
    }
}

static void dpif_show(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    struct lease l;
    struct dpif_stats stats;
    struct text t;
    FILE *out = text_open(&t);

    if (!lease_take(&l)) {
        struct view *view = view_get();
        if (!dpif_get_stats(l.session, &stats)) {
            fprintf(out, "%s@%s: hit:%" PRIu64 " missed:%" PRIu64 "\n", dpif_type(l.dpif), dpif_name(l.dpif),
                    stats.n_hit, stats.n_missed);
        }
        lease_end(&l);
        for (size_t i = 0; i < view->n_bridges; i++) {
            show_bridge(out, &view->bridges[i]);
        }
        view_unref(view);
    }
    unixctl_reply_take(conn, text_close(&t));
}

static void put_bool(FILE *out, const char *name, bool value) { fprintf(out, "%s: %s\n", name, value ? "Yes" : "No"); }
static void put_number(FILE *out, const char *name, unsigned int n) { fprintf(out, "%s: %u\n", name, n); }

static void put_features(FILE *out, const struct dpif_features *f)
{
    put_bool(out, "Masked set action", f->masked_set);
    put_bool(out, "Tunnel push pop", false);
    put_bool(out, "Ufid", f->ufid);
    put_bool(out, "Truncate action", f->trunc);
    put_bool(out, "Clone action", f->clone);
    put_number(out, "Sample nesting", f->sample_nesting);
    put_bool(out, "Conntrack eventmask", f->ct_eventmask);
    put_bool(out, "Conntrack clear", f->ct_clear);
    put_number(out, "Max dp_hash algorithm", 0);
    put_bool(out, "Check pkt length action", f->check_pkt_len);
    put_bool(out, "Conntrack timeout policy", f->ct_timeout);
    put_bool(out, "Explicit Drop action", f->drop_action);
    put_bool(out, "Optimized Balance TCP mode", false);
    put_bool(out, "MPLS Label add", f->max_mpls > 0);
    put_number(out, "Max VLAN headers", f->max_vlans);
    put_number(out, "Max MPLS depth", f->max_mpls);
    put_bool(out, "Recirc", f->recirc);
    put_bool(out, "CT state", f->ct_state);
    put_bool(out, "CT zone", f->ct_zone);
    put_bool(out, "CT mark", f->ct_mark);
    put_bool(out, "CT label", f->ct_label);
    put_bool(out, "CT state NAT", f->ct_nat);
    put_bool(out, "CT orig tuple", f->ct_orig_tuple);
    put_bool(out, "CT orig tuple for IPv6", f->ct_orig_tuple6);
    put_bool(out, "IPv6 ND Extension", false);
    put_bool(out, "Per-CPU upcall dispatch", f->per_cpu);
    put_bool(out, "Upcall counters by port", f->upcall_stats);
}

static void dpif_show_dp_features(struct unixctl_conn *conn, int argc UNUSED, const char *argv[], void *aux UNUSED)
{
    struct view *view = view_get();
    bool found = view_bridge_find(view, argv[1]) != NULL;
    struct engine *e = found ? engine_get() : NULL;
    struct text t;

    view_unref(view);
    if (!e) {
        unixctl_error(conn, "no such bridge");
        return;
    }
    put_features(text_open(&t), dpif_features(engine_dpif(e)));
    engine_put(e);
    unixctl_reply_take(conn, text_close(&t));
}

/* What the datapath can do is found by probe, and nothing of it is a choice here: shows it, and refuses to change it. */
static void dpif_set_dp_features(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    bool force = argc > 1 && !strcmp(argv[1], "--force");
    int first = force ? 2 : 1;

    if (argc <= first) {
        unixctl_error(conn, "\"%s\" command requires at least 1 arguments", argv[0]);
    } else if (argc > first + 1) {
        unixctl_error(conn, "feature \"%s\" cannot be set: features are what the datapath was found to have", argv[first + 1]);
    } else {
        dpif_show_dp_features(conn, 2, (const char *[]) { argv[0], argv[first] }, aux);
    }
}

static void ofproto_list(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    struct view *view = view_get();
    struct text t;
    FILE *out = text_open(&t);

    for (size_t i = 0; i < view->n_bridges; i++) {
        fprintf(out, "%s\n", view->bridges[i].name);
    }
    view_unref(view);
    unixctl_reply_take(conn, text_close(&t));
}

/* ---- dpctl ---- */

struct port_list {
    struct dpif_port *ports;
    size_t n;
};

static void collect(const struct dpif_port *port, void *aux)
{
    struct port_list *l = aux;

    l->ports = xrealloc(l->ports, (l->n + 1) * sizeof *l->ports);
    l->ports[l->n++] = *port;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = ((const struct dpif_port *) a)->no.n, y = ((const struct dpif_port *) b)->no.n;
    return x < y ? -1 : x > y;
}

/* "1234 (1.2 KiB)" */
static void put_bytes(FILE *out, const char *name, uint64_t n)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double value = n;
    int unit = -1;

    fprintf(out, "%s bytes:%" PRIu64, name, n);
    while (value >= 1024 && unit < 3) {
        value /= 1024;
        unit++;
    }
    if (unit >= 0) {
        fprintf(out, " (%.1f %s)", value, units[unit]);
    }
}

static void put_port(FILE *out, const struct dpif_port *p, bool statistics)
{
    fprintf(out, "  port %u: %s%s\n", p->no.n, p->name, p->type == DPIF_PORT_INTERNAL ? " (internal)" : "");
    if (!statistics) {
        return;
    }
    fprintf(out, "    RX packets:%" PRIu64 " errors:%" PRIu64 " dropped:%" PRIu64 " overruns:0 frame:0\n",
            p->rx_packets, p->rx_errors, p->rx_dropped);
    fprintf(out, "    TX packets:%" PRIu64 " errors:%" PRIu64 " dropped:%" PRIu64 " aborted:0 carrier:0\n",
            p->tx_packets, p->tx_errors, p->tx_dropped);
    fputs("    collisions:0\n    ", out);
    put_bytes(out, "RX", p->rx_bytes);
    fputs("  ", out);
    put_bytes(out, "TX", p->tx_bytes);
    fputc('\n', out);
    if (p->upcall_success != UINT64_MAX) {
        fprintf(out, "    UPCALL packets:%" PRIu64 " errors:%" PRIu64 "\n", p->upcall_success, p->upcall_fail);
    }
}

static int put_datapath(FILE *out, struct lease *l, bool statistics)
{
    struct dpif_stats s;
    struct port_list list = { 0 };
    int error = dpif_get_stats(l->session, &s);

    if (error) {
        return error;
    }
    uint64_t n = s.n_hit + s.n_missed;
    fprintf(out, "%s@%s:\n", dpif_type(l->dpif), dpif_name(l->dpif));
    fprintf(out, "  lookups: hit:%" PRIu64 " missed:%" PRIu64 " lost:%" PRIu64 "\n", s.n_hit, s.n_missed, s.n_lost);
    fprintf(out, "  flows: %" PRIu64 "\n", s.n_flows);
    fprintf(out, "  masks: hit:%" PRIu64 " total:%u hit/pkt:%.2f\n", s.n_mask_hit, s.n_masks,
            n ? s.n_mask_hit / (double) n : 0);
    if (s.n_cache_hit) {
        fprintf(out, "  cache: hit:%" PRIu64 " hit-rate:%.2f%%\n", s.n_cache_hit,
                n ? s.n_cache_hit / (double) n * 100 : 0);
    }
    if (s.masks_cache_size != UINT32_MAX) {
        fprintf(out, "  caches:\n    masks-cache: size:%u\n", s.masks_cache_size);
    }
    error = dpif_port_dump(l->session, collect, &list);
    if (list.n) {
        qsort(list.ports, list.n, sizeof *list.ports, compare_numbers);
    }
    for (size_t i = 0; i < list.n; i++) {
        put_port(out, &list.ports[i], statistics);
    }
    free(list.ports);
    return error;
}

/* Does NAME ("system@ovs-system", "ovs-system") name the datapath of L? */
static bool names(const struct lease *l, const char *name)
{
    const char *at = strchr(name, '@');

    if (at) {
        size_t n = at - name;
        if (strncmp(name, dpif_type(l->dpif), n) || dpif_type(l->dpif)[n]) {
            return false;
        }
        name = at + 1;
    }
    return !strcmp(name, dpif_name(l->dpif));
}

static void dpctl_show(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    bool statistics = false;
    const char *unknown = NULL;
    struct lease l;
    struct text t;
    int first = 1;

    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "-s") && strcmp(argv[first], "--statistics")) {
            unixctl_error(conn, "Unrecognized option %s", argv[first]);
            return;
        }
        statistics = true;
    }
    int error = lease_take(&l);
    for (int i = first; i < argc && !unknown; i++) {
        unknown = error || !names(&l, argv[i]) ? argv[i] : NULL;
    }
    if (unknown) {
        unixctl_error(conn, "ovs-vswitchd: opening datapath %s failed (%s)", unknown, strerror(ENOENT));
    } else if (error) {
        unixctl_reply(conn, NULL);
    } else {
        FILE *out = text_open(&t);
        int failed = put_datapath(out, &l, statistics);
        char *s = text_close(&t);
        if (failed) {
            free(s);
            unixctl_error(conn, "ovs-vswitchd: reading datapath %s failed (%s)", dpif_name(l.dpif), strerror(-failed));
        } else {
            unixctl_reply_take(conn, s);
        }
    }
    if (!error) {
        lease_end(&l);
    }
}

static void put_name(const char *type, const char *name, void *out) { fprintf(out, "%s@%s\n", type, name); }

static void dpctl_dump_dps(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    struct text t;

    dpif_enumerate(put_name, text_open(&t));
    unixctl_reply_take(conn, text_close(&t));
}

void datapath_ctl_init(void)
{
    unixctl_register("dpif/dump-dps", "", 0, 0, dpif_dump_dps, NULL);
    unixctl_register("dpif/show", "", 0, 0, dpif_show, NULL);
    unixctl_register("dpif/show-dp-features", "bridge", 1, 1, dpif_show_dp_features, NULL);
    unixctl_register("dpif/set-dp-features", "[--force] bridge [feature [value]]", 1, 4, dpif_set_dp_features, NULL);
    unixctl_register("dpctl/show", "[-s] [dp...]", 0, INT_MAX, dpctl_show, NULL);
    unixctl_register("dpctl/dump-dps", "", 0, 0, dpctl_dump_dps, NULL);
    unixctl_register("ofproto/list", "", 0, 0, ofproto_list, NULL);
}
