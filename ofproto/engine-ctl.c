/* Control commands about the engine: upcall/set-flow-limit, revalidator/wait and purge, dispatch-mode.  The others are in
 * engine-dump.c and engine-show*.c.
 *
 * They run in the control socket's thread.  Each takes a reference to the engine, reads counters and snapshots, and
 * never waits for main or a handler. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine-private.h"
#include "ofproto/engine-show.h"
#include "ofproto/reval-flow.h"

static void set_flow_limit(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    long long limit;

    if (!str_to_llong(argv[1], 0, UINT32_MAX, &limit)) {
        unixctl_error(conn, "invalid flow limit \"%s\": it must be an integer from 0 to %u", argv[1], UINT32_MAX);
        return;
    }
    struct engine *e = engine_get();
    if (e) {
        __atomic_store_n(&e->fc.flow_limit, limit, __ATOMIC_RELAXED);
        engine_put(e);
    }
    char *reply = xasprintf("set flow_limit to %lld", limit);
    unixctl_reply_take(conn, reply);
}

static void wait_done(void *conn) { unixctl_reply(conn, NULL); }

static void revalidator_wait(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    if (e) {
        revalidators_wait(e->revalidators, wait_done, conn);
        engine_put(e);
    } else {
        unixctl_reply(conn, NULL);
    }
}

int engine_purge(struct engine *e)
{
    struct reval r;
    struct session_pool *own = session_pool_create(e->dpif, 1);
    int error = reval_init(&r, &e->fc, own, 0);
    if (!error) {
        r.now = clock_msec();
        reval_purge(&r);
        reval_uninit(&r);
    }
    session_pool_destroy(own);
    return error;
}

static void revalidator_purge(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    int error = e ? engine_purge(e) : 0;
    if (error) {
        unixctl_error(conn, "cannot purge the flows (%s)", strerror(-error));
    } else {
        unixctl_reply(conn, NULL);
    }
    engine_put(e);
}

/* For tests, as a handler that is kept somewhere for seconds cannot be had otherwise. */
static void stall_handler(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    long long id, ms;
    bool done = false;

    if (e && str_to_llong(argv[1], 0, DISPATCH_MAX_HANDLERS, &id) && str_to_llong(argv[2], 0, 60000, &ms)) {
        lock_acquire(&e->lock);
        done = id < e->n_handlers;
        if (done) {
            handler_stall(e->handlers[id], ms);
        }
        lock_release(&e->lock);
    }
    engine_put(e);
    if (done) {
        unixctl_reply(conn, NULL);
    } else {
        unixctl_error(conn, "cannot stall handler \"%s\" for \"%s\": it takes a handler's number and 0 to 60000 ms", argv[1], argv[2]);
    }
}

static void dispatch_mode_show(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    struct text t;

    FILE *out = text_open(&t);
    if (e) {
        lock_acquire(&e->lock);
        if (e->dispatch) {
            fprintf(out, "%s: %s\n", dpif_name(e->dpif), dispatch_mode_name(dispatch_mode(e->dispatch)));
            fprintf(out, "  reason: %s\n", e->mode_reason);
        }
        lock_release(&e->lock);
        engine_put(e);
    }
    unixctl_reply_take(conn, text_close(&t));
}

static void print_packet_ins(const struct pin_counts *c, void *out_)
{
    static const char *const reasons[OFPR_N_REASONS] = { "no_match", "action", "invalid_ttl", "action_set", "group", "packet_out" };
    FILE *out = out_;

    fprintf(out, "port %u:\n", c->port.n);
    for (unsigned int i = 0; i < OFPR_N_REASONS; i++) {
        if (c->received[i]) {
            fprintf(out, "  %-11s: %llu, of which dropped for want of room: %llu\n", reasons[i], (unsigned long long) c->received[i],
                    (unsigned long long) c->dropped[i]);
        }
    }
}

static void show_packet_ins(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    struct text t;

    FILE *out = text_open(&t);
    if (e) {
        pin_inbox_show(&e->pins, print_packet_ins, out);
        engine_put(e);
    }
    unixctl_reply_take(conn, text_close(&t));
}

void engine_unixctl_init(void)
{
    unixctl_register("upcall/set-flow-limit", "flow-limit-number", 1, 1, set_flow_limit, NULL);
    unixctl_register("revalidator/wait", "", 0, 0, revalidator_wait, NULL);
    unixctl_register("revalidator/purge", "", 0, 0, revalidator_purge, NULL);
    if (getenv("SLUICE_TEST_HOOKS")) {
        unixctl_register("upcall/stall-handler", "handler msec", 2, 2, stall_handler, NULL);
    }
    unixctl_register("dpif-netlink/dispatch-mode", "", 0, 0, dispatch_mode_show, NULL);
    unixctl_register("upcall/show-packet-ins", "", 0, 0, show_packet_ins, NULL);
    engine_dump_init();
    engine_flow_init();
    tables_ctl_init();
    trace_ctl_init();
    engine_show_init();
}
