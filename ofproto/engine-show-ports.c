/* The control command upcall/show-ports: what became of the upcalls of each port, and how long it took.
 *
 * It runs in the control socket's thread.  A port's upcalls may have come to any handler: the command goes through
 * the handlers, one after another, and adds up what each has counted of the ports that are asked for.  It holds the
 * engine's lock, which no handler ever takes, for one handler at a time, so that main, should it want to change
 * threads, waits the less.  Handlers that come or go in between are then seen or not; none is seen twice.
 *
 * Losses in the kernel are a port's own if it has a channel of its own.  Those of channels that ports share, and of
 * channels that are no more, stand apart: nobody knows whose upcalls they were. */
#include <config.h>

#include <limits.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/rpc/histogram-json.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-private.h"
#include "ofproto/engine-show.h"
#include "ofproto/xlate-config.h"

#define PORTS_MAX SCHED_PORTS_MAX
/* In the place of a handler's number: those that have ended. */
#define ENDED UINT_MAX

/* What one handler had of a port. */
struct share {
    unsigned int handler;
    uint64_t received, control;
    struct show_drops drops;
};

struct port_row {
    odp_port_t no;
    char *name; /* NULL: not, or no more, a port of a bridge. */
    struct port_stats stats; /* Of all handlers. */
    uint64_t kernel;         /* Lost by the kernel. */
    struct share *shares;
    unsigned int n_shares;
};

struct ports_view {
    const char *wanted; /* Name or number; NULL: all ports. */
    odp_port_t only;    /* What that is. */
    bool known, patch;
    unsigned int handler;   /* Whose ports are being looked at. */
    struct port_row **rows; /* By number, PORTS_MAX + 1 of them. */
    struct show_drops of_no_port;
};

/* ---- Collecting. ---- */

/* NULL if port NO has not been asked for. */
static struct port_row *row_of(struct ports_view *v, odp_port_t no)
{
    if (v->wanted && !odp_port_eq(no, v->only)) {
        return NULL;
    }
    struct port_row **row = &v->rows[MIN(no.n, PORTS_MAX)];
    if (!*row) {
        *row = xzalloc(sizeof **row);
        (*row)->no = no;
    }
    return *row;
}

static struct share *share_of(struct port_row *row, unsigned int handler)
{
    for (unsigned int i = 0; i < row->n_shares; i++) {
        if (row->shares[i].handler == handler) {
            return &row->shares[i];
        }
    }
    row->shares = xrealloc(row->shares, (row->n_shares + 1) * sizeof *row->shares);
    struct share *share = &row->shares[row->n_shares++];
    *share = (struct share) { .handler = handler };
    return share;
}

static uint64_t read_counter(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

/* Under RCU. */
static void take_port(odp_port_t no, const struct port_stats *s, void *v_)
{
    struct ports_view *v = v_;
    struct port_row *row = row_of(v, no);
    if (!row) {
        return;
    }
    struct share *share = share_of(row, v->handler);
    share->received = read_counter(&s->received);
    share->control = read_counter(&s->control);
    for (unsigned int i = 0; i < SCHED_N_DROPS; i++) {
        share->drops.sched[i] = read_counter(&s->drops[i]);
    }
    port_stats_add(&row->stats, s);
}

static bool take_handler(struct ports_view *v, struct engine *e, unsigned int i)
{
    lock_acquire(&e->lock);
    bool there = i < e->n_handlers;
    if (there) {
        v->handler = i;
        handler_show_ports(e->handlers[i], take_port, v);
    }
    lock_release(&e->lock);
    return there;
}

static void take_ended(struct ports_view *v, struct engine *e)
{
    lock_acquire(&e->lock);
    v->handler = ENDED;
    port_ledger_show(&e->retired_ports, take_port, v);
    lock_release(&e->lock);
}

static struct show_drops row_drops(const struct port_row *row)
{
    struct show_drops drops = { .kernel = row->kernel };
    memcpy(drops.sched, row->stats.drops, sizeof drops.sched);
    return drops;
}

static void take_losses(struct ports_view *v, struct engine *e)
{
    struct dispatch_loss *losses;
    size_t n;

    lock_acquire(&e->lock);
    show_get_losses(e, &losses, &n, &v->of_no_port.kernel);
    lock_release(&e->lock);
    for (size_t i = 0; i < n; i++) {
        if (odp_port_eq(losses[i].port, ODPP_NONE)) {
            v->of_no_port.kernel += losses[i].n;
            continue;
        }
        /* Ports to which nothing ever happened are left out. */
        struct port_row *row = losses[i].n ? row_of(v, losses[i].port) : NULL;
        if (row) {
            row->kernel += losses[i].n;
            share_of(row, losses[i].handler)->drops.kernel += losses[i].n;
        }
    }
    free(losses);
}

/* Which port WANTED is.  Under RCU. */
static void find_port(const struct xconfig *c, void *v_)
{
    struct ports_view *v = v_;
    long long no;

    for (size_t i = 0; c && i < c->n_bridges; i++) {
        const struct xbridge *br = c->bridges[i];
        for (size_t j = 0; j < br->n_bundles; j++) {
            for (size_t k = 0; k < br->bundles[j]->n_ports; k++) {
                const struct xport *port = br->bundles[j]->ports[k];
                if (!strcmp(port->name, v->wanted)) {
                    v->known = true;
                    v->patch = port->is_patch;
                    v->only = port->odp;
                    return;
                }
            }
        }
    }
    if (str_to_llong(v->wanted, 0, PORTS_MAX - 1, &no)) {
        v->only = (odp_port_t) { no };
        v->known = c && xconfig_port_by_odp(c, v->only);
    }
}

/* Under RCU. */
static void find_names(const struct xconfig *c, void *v_)
{
    struct ports_view *v = v_;
    for (unsigned int i = 0; c && i <= PORTS_MAX; i++) {
        const struct xport *port = v->rows[i] ? xconfig_port_by_odp(c, v->rows[i]->no) : NULL;
        if (port) {
            v->rows[i]->name = xstrdup(port->name);
        }
    }
}

/* WANTED: name or number of the only port to show, or NULL. */
static void ports_view_init(struct ports_view *v, struct engine *e, const char *wanted)
{
    *v = (struct ports_view) { .wanted = wanted, .only = ODPP_NONE };
    v->rows = xcalloc(PORTS_MAX + 1, sizeof *v->rows);
    if (!e) {
        return;
    }
    if (wanted) {
        engine_with_config(e, find_port, v);
    }
    if (wanted && odp_port_eq(v->only, ODPP_NONE)) {
        return;
    }
    take_ended(v, e); /* First: one that ends meanwhile is seen neither here nor there, rather than twice. */
    for (unsigned int i = 0; take_handler(v, e, i); i++) {
        continue;
    }
    take_losses(v, e);
    if (v->known) {
        row_of(v, v->only); /* Who asks for a port is to see it. */
    }
    engine_with_config(e, find_names, v);
}

static void ports_view_uninit(struct ports_view *v)
{
    for (unsigned int i = 0; i <= PORTS_MAX; i++) {
        if (v->rows[i]) {
            free(v->rows[i]->name);
            free(v->rows[i]->shares);
            free(v->rows[i]);
        }
    }
    free(v->rows);
}

/* ---- Printing. ---- */

static void print_port(FILE *out, const struct port_row *row)
{
    const struct port_stats *s = &row->stats;
    struct show_drops drops = row_drops(row);

    fprintf(out, "  port %u", (unsigned int) row->no.n);
    if (row->name) {
        fprintf(out, " (%s)", row->name);
    }
    fputs(":\n", out);
    fprintf(out, "    upcalls   : (received %llu) (control %llu) (served %llu) (most waiting %llu)\n",
            (unsigned long long) s->received, (unsigned long long) s->control, (unsigned long long) s->wait.n,
            (unsigned long long) s->most_waiting);
    show_histogram_print(out, "    ", "wait", &s->wait);
    show_histogram_print(out, "    ", "translate", &s->translate);
    show_histogram_print(out, "    ", "install", &s->install);
    show_drops_print(out, &drops, "    ");
}

static void print_ports(FILE *out, struct engine *e, const struct ports_view *v)
{
    fprintf(out, "%s@%s:\n", dpif_type(e->dpif), dpif_name(e->dpif));
    for (unsigned int i = 0; i <= PORTS_MAX; i++) {
        if (v->rows[i]) {
            print_port(out, v->rows[i]);
        }
    }
    if (!v->wanted && v->of_no_port.kernel) {
        fputs("  of ports not known:\n", out);
        show_drops_print(out, &v->of_no_port, "    ");
    }
}

static json_t *port_json(const struct port_row *row)
{
    const struct port_stats *s = &row->stats;
    struct show_drops drops = row_drops(row);
    json_t *object = json_object(), *shares = json_array();
    json_t *name = row->name ? json_string(row->name) : NULL;

    show_put(object, "number", row->no.n);
    json_object_set_new(object, "name", name ? name : json_null());
    show_put(object, "received", s->received);
    show_put(object, "control", s->control);
    show_put(object, "served", s->wait.n);
    show_put(object, "most_waiting", s->most_waiting);
    json_object_set_new(object, "drops", show_drops_json(&drops));
    json_object_set_new(object, "wait", histogram_to_json(&s->wait));
    json_object_set_new(object, "translate", histogram_to_json(&s->translate));
    json_object_set_new(object, "install", histogram_to_json(&s->install));
    for (unsigned int i = 0; i < row->n_shares; i++) {
        const struct share *share = &row->shares[i];
        json_t *element = json_object();
        json_object_set_new(element, "handler",
                            share->handler == ENDED ? json_string("ended") : json_integer(share->handler));
        show_put(element, "received", share->received);
        show_put(element, "control", share->control);
        json_object_set_new(element, "drops", show_drops_json(&share->drops));
        json_array_append_new(shares, element);
    }
    json_object_set_new(object, "by_handler", shares);
    return object;
}

/* Port by port, so that the values of 10,000 ports are not in memory at once, beside their text. */
static void print_ports_json(FILE *out, struct engine *e, const struct ports_view *v)
{
    const char *comma = "";

    fputs("{\"datapath\":", out);
    json_t *datapath = show_datapath_json(e);
    json_dumpf(datapath, out, JSON_ENCODE_ANY);
    json_decref(datapath);
    fputs(",\"ports\":[", out);
    for (unsigned int i = 0; i <= PORTS_MAX; i++) {
        if (v->rows[i]) {
            fputs(comma, out);
            show_json_print(out, port_json(v->rows[i]));
            comma = ",";
        }
    }
    putc(']', out);
    if (!v->wanted) {
        fputs(",\"ports_not_known\":", out);
        show_json_print(out, json_pack("{s:{s:I}}", "drops", "kernel", (json_int_t) v->of_no_port.kernel));
    }
    fputs(",\"drop_reasons\":", out);
    show_json_print(out, show_drop_reasons_json());
    fputs("}\n", out);
}

/* ---- The command. ---- */

/* Reads the arguments; answers what is wrong with them, and returns false. */
static bool take_arguments(struct unixctl_conn *conn, int argc, const char *argv[], bool *ret_json,
                           const char **ret_wanted)
{
    bool json = false;
    const char *wanted = NULL;

    for (int i = 1; i < argc; i++) {
        if (show_is_json_option(argv[i])) {
            json = true;
        } else if (argv[i][0] == '-') {
            unixctl_error(conn, "unknown option \"%s\": %s takes --json (-j) and a port", argv[i], argv[0]);
            return false;
        } else if (wanted) {
            unixctl_error(conn, "\"%s\" is one port too many: %s takes one, or none for all", argv[i], argv[0]);
            return false;
        } else {
            wanted = argv[i];
        }
    }
    *ret_json = json;
    *ret_wanted = wanted;
    return true;
}

static void show_ports(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct ports_view v;
    const char *wanted;
    struct text t;
    bool json;

    if (!take_arguments(conn, argc, argv, &json, &wanted)) {
        return;
    }
    struct engine *e = engine_get();
    ports_view_init(&v, e, wanted);
    if (v.patch) {
        unixctl_error(conn, "port \"%s\" is a patch port: upcalls come from ports of the datapath only", wanted);
    } else if (v.known && odp_port_eq(v.only, ODPP_NONE)) {
        unixctl_error(conn, "port \"%s\" is not in the datapath: its error in the database may say why", wanted);
    } else if (wanted && (odp_port_eq(v.only, ODPP_NONE) || !v.rows[MIN(v.only.n, PORTS_MAX)])) {
        unixctl_error(conn, "no port \"%s\": it must be an interface's name, or a port's number in the datapath",
                      wanted);
    } else {
        FILE *out = text_open(&t);
        if (json) {
            print_ports_json(out, e, &v);
        } else if (e) {
            print_ports(out, e, &v);
        }
        unixctl_reply_take(conn, text_close(&t));
    }
    ports_view_uninit(&v);
    engine_put(e);
}

void engine_show_ports_init(void)
{
    unixctl_register("upcall/show-ports", "[--json] [port]", 0, 2, show_ports, NULL);
}
