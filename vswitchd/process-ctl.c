/* Control commands about the process: logging, event counters, memory.  They run in the introspection thread. */
#include <config.h>

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine.h"
#include "ofproto/ofproto.h"
#include "vswitchd/control.h"
#include "vswitchd/view.h"

static void vlog_set(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    for (int i = 1; i < argc; i++) {
        char *error = log_set_spec(argv[i]);
        if (error) {
            unixctl_error(conn, "%s", error);
            free(error);
            return;
        }
    }
    unixctl_reply(conn, NULL);
}

static void vlog_list(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    unixctl_reply_take(conn, log_list());
}

static void vlog_list_pattern(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    unixctl_reply_take(conn, log_list_patterns());
}

static void vlog_close(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    log_file_close();
    unixctl_reply(conn, NULL);
}

static void vlog_reopen(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    int error = log_file_reopen();

    if (error) {
        unixctl_error(conn, "could not reopen the log file (%s)", strerror(-error));
    } else {
        unixctl_reply(conn, NULL);
    }
}

static void vlog_rate_limit(struct unixctl_conn *conn, int argc, const char *argv[], void *honor)
{
    if (argc == 1) {
        log_honor_rate_limits(NULL, honor != NULL);
    }
    for (int i = 1; i < argc; i++) {
        if (!log_honor_rate_limits(argv[i], honor != NULL)) {
            unixctl_error(conn, "unknown module \"%s\"; vlog/list shows them all", argv[i]);
            return;
        }
    }
    unixctl_reply(conn, NULL);
}

static void coverage_show(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    unixctl_reply_take(conn, counter_show());
}

static void coverage_read_counter(struct unixctl_conn *conn, int argc UNUSED, const char *argv[], void *aux UNUSED)
{
    uint64_t total;

    if (!counter_read(argv[1], &total)) {
        unixctl_error(conn, "No such counter");
        return;
    }
    unixctl_reply_take(conn, xasprintf("%" PRIu64 "\n", total));
}

static void put(FILE *out, const char *name, uint64_t n)
{
    if (n) {
        fprintf(out, "%s%s:%" PRIu64, ftell(out) > 0 ? " " : "", name, n);
    }
}

/* Pairs sorted by name; those that are zero are left out. */
static void memory_show(struct unixctl_conn *conn, int argc UNUSED, const char *argv[] UNUSED, void *aux UNUSED)
{
    struct engine *e = engine_get();
    struct engine_memory m = { 0 };
    struct view *view = view_get();
    size_t n_ports = 0;
    struct text t;

    if (e) {
        engine_memory(e, &m);
        engine_put(e);
    }
    for (size_t i = 0; i < view->n_bridges; i++) {
        n_ports += view->bridges[i].n_ports;
    }
    view_unref(view);

    FILE *out = text_open(&t);
    put(out, "handlers", m.n_handlers);
    put(out, "idl-cells-Open_vSwitch", view_db_cells());
    put(out, "ofconns", ofproto_n_conns());
    put(out, "ports", n_ports);
    put(out, "revalidators", m.n_revalidators);
    put(out, "rules", m.n_rules);
    put(out, "udpif keys", m.n_ukeys);
    fputc('\n', out);
    unixctl_reply_take(conn, text_close(&t));
}

void process_ctl_init(void)
{
    unixctl_register("vlog/set", "{spec | PATTERN:destination:pattern}", 0, INT_MAX, vlog_set, NULL);
    unixctl_register("vlog/list", "", 0, 0, vlog_list, NULL);
    unixctl_register("vlog/list-pattern", "", 0, 0, vlog_list_pattern, NULL);
    unixctl_register("vlog/close", "", 0, 0, vlog_close, NULL);
    unixctl_register("vlog/reopen", "", 0, 0, vlog_reopen, NULL);
    unixctl_register("vlog/enable-rate-limit", "[module]...", 0, INT_MAX, vlog_rate_limit, (void *) "");
    unixctl_register("vlog/disable-rate-limit", "[module]...", 0, INT_MAX, vlog_rate_limit, NULL);
    unixctl_register("coverage/show", "", 0, 0, coverage_show, NULL);
    unixctl_register("coverage/read-counter", "COUNTER", 1, 1, coverage_read_counter, NULL);
    unixctl_register("memory/show", "", 0, 0, memory_show, NULL);
}
