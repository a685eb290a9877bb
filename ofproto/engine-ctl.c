/* Control commands about the engine: upcall/show and set-flow-limit, revalidator/wait and purge, dispatch-mode.
 *
 * They run in the control socket's thread.  Each takes a reference to the engine, reads counters and snapshots, and
 * never waits for main or a handler. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine-private.h"
#include "ofproto/reval-flow.h"

static void show_handlers(FILE *out, struct engine *e)
{
    struct handler_stats s;

    lock_acquire(&e->lock);
    if (e->dispatch) {
        fprintf(out, "\n  %s (%s)\n", dispatch_mode_name(dispatch_mode(e->dispatch)), e->mode_reason);
    }
    for (unsigned int i = 0; i < e->n_handlers; i++) {
        handler_get_stats(e->handlers[i], &s);
        fprintf(out, "  handler%u: (upcalls %llu) (wakeups %llu) (idle wakeups %llu) (batches %llu)", i,
                (unsigned long long) s.upcalls.received, (unsigned long long) s.wakeups,
                (unsigned long long) s.idle_wakeups, (unsigned long long) s.batches);
#define OUTCOME(NAME, TEXT)                                                      \
    if (s.upcalls.NAME && &s.upcalls.NAME != &s.upcalls.received) {              \
        fprintf(out, " (" #NAME " %llu)", (unsigned long long) s.upcalls.NAME); \
    }
        UPCALL_OUTCOMES
#undef OUTCOME
        putc('\n', out);
    }
    lock_release(&e->lock);
}

static void upcall_show(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct engine *e = engine_get();
    struct revalidators_stats s;
    struct text t;

    FILE *out = text_open(&t);
    if (e) {
        revalidators_get_stats(e->revalidators, &s);
        fprintf(out, "%s@%s:\n", dpif_type(e->dpif), dpif_name(e->dpif));
        fprintf(out, "  flows         : (current %llu) (avg %llu) (max %llu) (limit %u)\n",
                (unsigned long long) s.n_flows, (unsigned long long) s.avg_flows, (unsigned long long) s.max_flows,
                flowcache_limit(&e->fc.flow_limit));
        fprintf(out, "  dump duration : %llums\n", (unsigned long long) s.duration_ms);
        fprintf(out, "  ufid enabled : %s\n\n", dpif_features(e->dpif)->ufid ? "true" : "false");
        pid_t tid;
        uint64_t keys;
        for (unsigned int i = 0; revalidators_thread_stats(e->revalidators, i, &tid, &keys); i++) {
            fprintf(out, "  %d: (keys %llu)\n", (int) tid, (unsigned long long) keys);
        }
        show_handlers(out, e);
        engine_put(e);
    }
    unixctl_reply_take(conn, text_close(&t));
}

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
    int error = reval_init(&r, &e->fc);
    if (error) {
        return error;
    }
    r.now = clock_msec();
    reval_purge(&r);
    reval_uninit(&r);
    return 0;
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

void engine_unixctl_init(void)
{
    unixctl_register("upcall/show", "", 0, 0, upcall_show, NULL);
    unixctl_register("upcall/set-flow-limit", "flow-limit-number", 1, 1, set_flow_limit, NULL);
    unixctl_register("revalidator/wait", "", 0, 0, revalidator_wait, NULL);
    unixctl_register("revalidator/purge", "", 0, 0, revalidator_purge, NULL);
    unixctl_register("dpif-netlink/dispatch-mode", "", 0, 0, dispatch_mode_show, NULL);
    engine_dump_init();
}
