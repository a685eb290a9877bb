/* Control commands that print or delete the datapath's flows: dpctl/dump-flows, dpif/dump-flows, dpctl/del-flows.
 *
 * They run in the control socket's thread, with a dump of their own; nobody else waits for them. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-key.h"
#include "lib/ofp/ofp-match.h"
#include "lib/pkt/flow.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine-private.h"
#include "ofproto/xlate-config.h"

#define CHUNK 64

struct dump {
    struct engine *e;
    FILE *out;
    bool verbose;
    int names; /* 0 or 1; -1: as 'verbose' is. */
    const char *bridge; /* NULL: all flows; else of its ports. */
    bool filtered;
    struct match filter; /* Only flows that may cover packets of this; 'ofp_in_port' in it is the datapath's number. */
};

/* Under RCU. */
static const char *port_name(odp_port_t no, void *config)
{
    const struct xport *port = config ? xconfig_port_by_odp(config, no) : NULL;
    return port ? port->name : NULL;
}

static void print_tcp_flags(FILE *out, uint8_t flags)
{
    static const char letters[] = "FSRP.UEC";
    for (int bit = 0; bit < 8; bit++) {
        if (flags >> bit & 1) {
            putc(letters[bit], out);
        }
    }
}

static void print_stats(FILE *out, const struct dpif_flow_stats *s, uint64_t now)
{
    fprintf(out, ", packets:%llu, bytes:%llu, used:", (unsigned long long) s->n_packets,
            (unsigned long long) s->n_bytes);
    if (s->used) {
        fprintf(out, "%.3fs", (now > s->used ? now - s->used : 0) / 1000.0);
    } else {
        fputs("never", out);
    }
    if (s->tcp_flags) {
        fputs(", flags:", out);
        print_tcp_flags(out, s->tcp_flags);
    }
}

static void print_flow(const struct dump *d, const struct dpif_flow *f, const struct xconfig *config, uint64_t now)
{
    struct odp_names names = { (d->names < 0 ? d->verbose : d->names) ? port_name : NULL, (void *) config };

    if (d->verbose && f->has_ufid) {
        odp_ufid_print(d->out, &f->ufid);
        fputs(", ", d->out);
    }
    odp_key_print(d->out, f->key, f->key_len, f->mask, f->mask_len, &names, d->verbose);
    print_stats(d->out, &f->stats, now);
    if (d->verbose) {
        fputs(", dp:ovs", d->out);
    }
    fputs(", actions:", d->out);
    odp_actions_print(d->out, f->actions, f->actions_len, &names);
    putc('\n', d->out);
}

void engine_print_flow(struct engine *e, FILE *out, const struct dpif_flow *f, bool verbose, bool names)
{
    const struct dump d = { .e = e, .out = out, .verbose = verbose, .names = names };

    rcu_read_lock();
    print_flow(&d, f, flowcache_config(&e->fc), clock_msec());
    rcu_read_unlock();
}

/* Is F of a port of bridge NAME? */
static bool flow_is_of_bridge(const struct dpif_flow *f, const struct xconfig *config, const char *name)
{
    struct flow flow;
    if (!config || odp_key_to_flow(f->key, f->key_len, &flow) == ODP_FIT_ERROR) {
        return false;
    }
    const struct xport *port = xconfig_port_by_odp(config, flow.in_port);
    return port && !strcmp(port->bundle->bridge->name, name);
}

/* May a packet of FILTER be one of F's? */
static bool flow_meets_filter(const struct dpif_flow *f, const struct match *filter)
{
    struct flow flow, mask;

    if (odp_key_to_flow(f->key, f->key_len, &flow) == ODP_FIT_ERROR
        || odp_mask_to_flow(f->mask, f->mask_len, &flow, &mask) == ODP_FIT_ERROR) {
        return false;
    }
    flow.ofp_in_port = htons(MIN(flow.in_port.n, UINT16_MAX));
    FLOW_MASK_FIELD(&mask, ofp_in_port);
    flow_apply_mask(&mask, &filter->mask);
    return flow_equal_masked(&flow, &filter->flow, &mask);
}

static bool is_shown(const struct dump *d, const struct dpif_flow *f, const struct xconfig *config)
{
    return (!d->bridge || flow_is_of_bridge(f, config, d->bridge)) && (!d->filtered || flow_meets_filter(f, &d->filter));
}

static int dump_flows(const struct dump *d)
{
    struct dpif_flow_dump *dump;
    struct dpif_flow flows[CHUNK];
    struct dpif_session *session;
    int n;

    int error = dpif_session_open(d->e->dpif, &session);
    if (error) {
        return error;
    }
    error = dpif_flow_dump_create(d->e->dpif, false, &dump);
    if (error) {
        dpif_session_close(session);
        return error;
    }
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    while ((n = dpif_flow_dump_next(t, flows, CHUNK)) > 0) {
        uint64_t now = clock_msec();
        for (int i = 0; i < n; i++) {
            struct dpif_flow f = flows[i];
            if (f.actions_omitted && f.has_ufid && dpif_flow_get(session, &flows[i].ufid, NULL, 0, &f)) {
                continue; /* It went meanwhile. */
            }
            rcu_read_lock();
            const struct xconfig *config = flowcache_config(&d->e->fc);
            if (is_shown(d, &f, config)) {
                print_flow(d, &f, config, now);
            }
            rcu_read_unlock();
        }
    }
    dpif_flow_dump_thread_destroy(t);
    error = dpif_flow_dump_destroy(dump);
    dpif_session_close(session);
    return error == -EINTR ? 0 : error;
}

/* Is TEXT a list of flow types as of type=, and does it include those in the kernel? */
static bool type_is_shown(const char *text, bool *ret_known)
{
    static const struct {
        const char *name;
        bool shown;
    } types[] = { { "all", true }, { "ovs", true }, { "non-offloaded", true }, { "tc", false }, { "dpdk", false },
                  { "offloaded", false }, { "partially-offloaded", false } };
    char *list = xstrdup(text), *save = NULL;
    bool shown = false;

    *ret_known = true;
    for (char *word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        size_t i;
        for (i = 0; i < ARRAY_SIZE(types) && strcmp(word, types[i].name); i++) {
            continue;
        }
        *ret_known &= i < ARRAY_SIZE(types);
        shown |= i < ARRAY_SIZE(types) && types[i].shown;
    }
    free(list);
    return shown;
}

bool engine_is_datapath(struct engine *e, const char *name)
{
    const char *at = strchr(name, '@');
    if (at && (strncmp(name, dpif_type(e->dpif), at - name) || dpif_type(e->dpif)[at - name])) {
        return false;
    }
    return !strcmp(at ? at + 1 : name, dpif_name(e->dpif));
}

static void reply_with_flows(struct unixctl_conn *conn, struct dump *d)
{
    struct text t;
    d->out = text_open(&t);
    int error = dump_flows(d);
    char *text = text_close(&t);
    if (error) {
        unixctl_error(conn, "cannot dump the flows of %s (%s)", dpif_name(d->e->dpif), strerror(-error));
        free(text);
    } else {
        unixctl_reply_take(conn, text);
    }
}

static bool take_option(const char *arg, struct dump *d)
{
    if (!strcmp(arg, "-m") || !strcmp(arg, "--more")) {
        d->verbose = true;
    } else if (!strcmp(arg, "--names")) {
        d->names = 1;
    } else if (!strcmp(arg, "--no-names")) {
        d->names = 0;
    } else {
        return false;
    }
    return true;
}

static void dpctl_dump_flows(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    struct dump d = { .e = e, .names = -1 };
    const char *dp = NULL;
    bool shown = true, known = true;

    for (int i = 1; i < argc; i++) {
        if (take_option(argv[i], &d)) {
            continue;
        } else if (!strncmp(argv[i], "type=", 5)) {
            shown = type_is_shown(argv[i] + 5, &known);
            if (!known) {
                unixctl_error(conn, "unknown flow type in \"%s\"; known are ovs, tc, dpdk, offloaded, non-offloaded, "
                                    "partially-offloaded and all", argv[i]);
                goto out;
            }
        } else if (!strncmp(argv[i], "filter=", 7)) {
            char *wrong = ofp_match_scan(argv[i] + 7, &d.filter);
            if (wrong) {
                unixctl_error(conn, "Failed to parse filter (%s)", wrong);
                free(wrong);
                goto out;
            }
            d.filtered = true;
        } else if (strchr(argv[i], '=')) {
            unixctl_error(conn, "\"%s\" is not supported; only filter= and type= are", argv[i]);
            goto out;
        } else {
            dp = argv[i];
        }
    }
    if (dp && (!e || !engine_is_datapath(e, dp))) {
        unixctl_error(conn, "no datapath named \"%s\"", dp);
    } else if (!e || !shown) {
        unixctl_reply(conn, NULL);
    } else {
        reply_with_flows(conn, &d);
    }
out:
    engine_put(e);
}

static void find_bridge(const struct xconfig *c, void *d_)
{
    struct dump *d = d_;
    if (!c || !xconfig_bridge_by_name(c, d->bridge)) {
        d->bridge = NULL;
    }
}

static void dpif_dump_flows(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    struct dump d = { .e = e, .names = -1 };

    for (int i = 1; i < argc; i++) {
        if (!take_option(argv[i], &d)) {
            d.bridge = argv[i];
        }
    }
    const char *name = d.bridge;
    if (e && name) {
        engine_with_config(e, find_bridge, &d);
    }
    if (!name) {
        unixctl_error(conn, "the bridge's name is missing");
    } else if (!e || !d.bridge) {
        unixctl_error(conn, "no such bridge");
    } else {
        reply_with_flows(conn, &d);
    }
    engine_put(e);
}

static void dpctl_del_flows(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    struct dpif_session *session;
    int error = 0;

    if (argc > 1 && (!e || !engine_is_datapath(e, argv[1]))) {
        unixctl_error(conn, "no datapath named \"%s\"", argv[1]);
        goto out;
    }
    if (e) {
        /* Ours one by one, so that we know that they are gone; then whatever else there is. */
        error = engine_purge(e);
        if (!error) {
            error = dpif_session_open(e->dpif, &session);
        }
        if (!error) {
            error = dpif_flow_flush(session);
            dpif_session_close(session);
        }
    }
    if (error) {
        unixctl_error(conn, "cannot delete the flows (%s)", strerror(-error));
    } else {
        unixctl_reply(conn, NULL);
    }
out:
    engine_put(e);
}

void engine_dump_init(void)
{
    unixctl_register("dpctl/dump-flows", "[-m] [--names | --no-names] [dp] [filter=...] [type=...]", 0, 6, dpctl_dump_flows, NULL);
    unixctl_register("dpif/dump-flows", "[-m] [--names | --no-names] bridge", 1, 3, dpif_dump_flows, NULL);
    unixctl_register("dpif/del-flows", "dp", 1, 1, dpctl_del_flows, NULL);
    unixctl_register("dpctl/del-flows", "[dp]", 0, 1, dpctl_del_flows, NULL);
}
