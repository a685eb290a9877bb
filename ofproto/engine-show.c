/* Control commands that show what became of upcalls, and how long it took: upcall/show, upcall/show-handlers, and
 * what they share with upcall/show-ports.
 *
 * They run in the control socket's thread.  Each holds the engine's lock, which no handler ever takes, while it
 * copies what handlers count, and prints from the copy: main, if it wants to change threads at that moment, waits for
 * the copying.  Handlers go on counting meanwhile; each number is as it was at some moment, so sums of a busy handler
 * may be apart by what it has in hand.
 *
 * upcall/show costs the same however many flows and ports there are, so it does not ask the kernel for the losses of
 * each channel, of which there may be one a port.  The other two do. */
#include <config.h>

#include "ofproto/engine-show.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/rpc/histogram-json.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-private.h"

static const char kernel_text[] = "the kernel's queue was full";

/* ---- Shared. ---- */

void show_get_losses(struct engine *e, struct dispatch_loss **ret_losses, size_t *ret_n, uint64_t *ret_retired)
{
    *ret_losses = NULL;
    *ret_n = 0;
    *ret_retired = 0;
    if (e->dispatch) {
        dispatch_get_loss(e->dispatch, ret_losses, ret_n, ret_retired);
    }
}

static void drop_print(FILE *out, const char *indent, uint64_t n, const char *name, const char *text)
{
    if (n) {
        fprintf(out, "%sdropped   : %llu %s (%s)\n", indent, (unsigned long long) n, text, name);
    }
}

void show_drops_print(FILE *out, const struct show_drops *drops, const char *indent)
{
    for (unsigned int i = SCHED_KEPT + 1; i < SCHED_N_DROPS; i++) {
        drop_print(out, indent, drops->sched[i], sched_drop_name(i), sched_drop_text(i));
    }
    drop_print(out, indent, drops->kernel == SHOW_NOT_ASKED ? 0 : drops->kernel, "kernel", kernel_text);
}

void show_put(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer(value));
}

json_t *show_drops_json(const struct show_drops *drops)
{
    json_t *object = json_object();
    for (unsigned int i = SCHED_KEPT + 1; i < SCHED_N_DROPS; i++) {
        show_put(object, sched_drop_name(i), drops->sched[i]);
    }
    if (drops->kernel != SHOW_NOT_ASKED) {
        show_put(object, "kernel", drops->kernel);
    }
    return object;
}

json_t *show_drop_reasons_json(void)
{
    json_t *object = json_object();
    for (unsigned int i = SCHED_KEPT + 1; i < SCHED_N_DROPS; i++) {
        json_object_set_new(object, sched_drop_name(i), json_string(sched_drop_text(i)));
    }
    json_object_set_new(object, "kernel", json_string(kernel_text));
    return object;
}

void show_histogram_print(FILE *out, const char *indent, const char *name, const struct histogram *h)
{
    fprintf(out, "%s%-10s: ", indent, name);
    histogram_print(out, h);
    putc('\n', out);
}

json_t *show_datapath_json(const struct engine *e)
{
    return e ? json_sprintf("%s@%s", dpif_type(e->dpif), dpif_name(e->dpif)) : json_null();
}

void show_json_print(FILE *out, json_t *object)
{
    json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(object);
}

/* ---- What handlers have counted. ---- */

struct handler_view {
    pid_t tid;
    uint64_t stalled_ms; /* It has been in one pass for so long; 0: not for long. */
    struct handler_stats stats;
    uint64_t kernel; /* Lost by the kernel; or SHOW_NOT_ASKED. */
};

struct handlers_view {
    bool has_mode;
    enum dpif_dispatch mode;
    char *reason;
    unsigned int n;
    struct handler_view *handlers;
    struct handler_view ended; /* All that are no more. */
};

/* LOSSES: also asks the kernel. */
static void handlers_view_init(struct handlers_view *v, struct engine *e, bool losses)
{
    uint64_t now = clock_nsec();

    memset(v, 0, sizeof *v);
    lock_acquire(&e->lock);
    v->has_mode = e->dispatch != NULL;
    if (v->has_mode) {
        v->mode = dispatch_mode(e->dispatch);
        v->reason = xstrdup(e->mode_reason);
    }
    v->n = e->n_handlers;
    v->handlers = xcalloc(v->n + 1, sizeof *v->handlers);
    for (unsigned int i = 0; i < v->n; i++) {
        v->handlers[i].tid = handler_tid(e->handlers[i]);
        v->handlers[i].stalled_ms = handler_stalled_ms(e->handlers[i], now);
        v->handlers[i].kernel = losses ? 0 : SHOW_NOT_ASKED;
        handler_get_stats(e->handlers[i], &v->handlers[i].stats);
    }
    v->ended.stats = e->retired;
    v->ended.kernel = SHOW_NOT_ASKED;
    if (losses) {
        struct dispatch_loss *loss;
        size_t n;
        show_get_losses(e, &loss, &n, &v->ended.kernel);
        for (size_t i = 0; i < n; i++) {
            /* A channel's handler that is on its way out is not among those shown. */
            *(loss[i].handler < v->n ? &v->handlers[loss[i].handler].kernel : &v->ended.kernel) += loss[i].n;
        }
        free(loss);
    }
    lock_release(&e->lock);
}

static void handlers_view_uninit(struct handlers_view *v)
{
    free(v->handlers);
    free(v->reason);
}

static struct show_drops drops_of(const struct handler_view *h)
{
    struct show_drops drops = { .kernel = h->kernel };
    memcpy(drops.sched, h->stats.drops, sizeof drops.sched);
    return drops;
}

/* Served here: each was timed when its batch began. */
static uint64_t n_served(const struct handler_stats *s) { return s->wait.n; }

static double mean_batch(const struct handler_stats *s) { return s->batches ? (double) n_served(s) / s->batches : 0; }

/* What the loop of a handler counts, by the names of text and JSON. */
static const struct {
    const char *text, *json;
    size_t offset;
} loop_counters[] = {
#define COUNTER(TEXT, JSON, FIELD) { TEXT, JSON, offsetof(struct handler_stats, FIELD) }
    COUNTER("wakeups", "wakeups", wakeups),
    COUNTER("idle wakeups", "idle_wakeups", idle_wakeups),
    COUNTER("passes", "passes", passes),
    COUNTER("receives", "receives", drains),
    COUNTER("batches", "batches", batches),
    COUNTER("stalls", "stalls", stalls),
    COUNTER("helps given", "helps_given", helps_given),
    COUNTER("helps taken", "helps_taken", helps_taken),
    COUNTER("lanes lent", "lanes_lent", lanes_lent),
    COUNTER("guests served", "guests_served", guests_served),
#undef COUNTER
};

static uint64_t loop_counter(const struct handler_stats *s, unsigned int i)
{
    return *(const uint64_t *) ((const char *) s + loop_counters[i].offset);
}

static void outcomes_print(FILE *out, const struct upcall_stats *s)
{
#define OUTCOME(NAME, TEXT)                                                  \
    if (s->NAME && &s->NAME != &s->received) {                               \
        fprintf(out, " (" #NAME " %llu)", (unsigned long long) s->NAME);     \
    }
    UPCALL_OUTCOMES
#undef OUTCOME
    putc('\n', out);
}

static bool has_outcomes(const struct upcall_stats *s)
{
    uint64_t n = 0;
#define OUTCOME(NAME, TEXT) n += s->NAME;
    UPCALL_OUTCOMES
#undef OUTCOME
    return n > s->received;
}

static void times_print(FILE *out, const char *indent, const struct handler_stats *s)
{
    show_histogram_print(out, indent, "wait", &s->wait);
    show_histogram_print(out, indent, "translate", &s->translate);
    show_histogram_print(out, indent, "install", &s->install);
    fprintf(out, "%sabsence   : (n %llu) (p99.9 ", indent, (unsigned long long) s->absence.n);
    histogram_print_ns(out, histogram_percentile(&s->absence, 99.9));
    fputs(") (max ", out);
    histogram_print_ns(out, s->absence.max);
    fputs(")\n", out);
}

static void handler_print(FILE *out, const struct handler_view *h)
{
    const struct handler_stats *s = &h->stats;
    struct show_drops drops = drops_of(h);

    fprintf(out, "    upcalls   : (received %llu) (served %llu) (most waiting %llu)\n",
            (unsigned long long) s->upcalls.received, (unsigned long long) n_served(s),
            (unsigned long long) s->most_waiting);
    fputs("    loop      :", out);
    for (unsigned int i = 0; i < ARRAY_SIZE(loop_counters); i++) {
        fprintf(out, " (%s %llu)", loop_counters[i].text, (unsigned long long) loop_counter(s, i));
    }
    fprintf(out, " (mean batch %.1f)\n", mean_batch(s));
    if (has_outcomes(&s->upcalls)) {
        fputs("    outcomes  :", out);
        outcomes_print(out, &s->upcalls);
    }
    times_print(out, "    ", s);
    show_drops_print(out, &drops, "    ");
}

static void times_json(json_t *object, const struct handler_stats *s)
{
    json_object_set_new(object, "wait", histogram_to_json(&s->wait));
    json_object_set_new(object, "translate", histogram_to_json(&s->translate));
    json_object_set_new(object, "install", histogram_to_json(&s->install));
    json_object_set_new(object, "absence", histogram_to_json(&s->absence));
}

/* ID: -1 for handlers that are no more.  TIMES: with the histograms. */
static json_t *handler_json(const struct handler_view *h, int id, bool times)
{
    const struct handler_stats *s = &h->stats;
    struct show_drops drops = drops_of(h);
    json_t *object = json_object(), *outcomes = json_object();

    if (id >= 0) {
        show_put(object, "id", id);
        show_put(object, "thread_id", h->tid);
        show_put(object, "stalled_ms", h->stalled_ms);
    }
    show_put(object, "received", s->upcalls.received);
    show_put(object, "served", n_served(s));
    show_put(object, "most_waiting", s->most_waiting);
    for (unsigned int i = 0; i < ARRAY_SIZE(loop_counters); i++) {
        show_put(object, loop_counters[i].json, loop_counter(s, i));
    }
    json_object_set_new(object, "mean_batch", json_real(mean_batch(s)));
#define OUTCOME(NAME, TEXT)                              \
    if (&s->upcalls.NAME != &s->upcalls.received) {      \
        show_put(outcomes, #NAME, s->upcalls.NAME);      \
    }
    UPCALL_OUTCOMES
#undef OUTCOME
    json_object_set_new(object, "outcomes", outcomes);
    json_object_set_new(object, "drops", show_drops_json(&drops));
    if (times) {
        times_json(object, s);
    }
    return object;
}

/* The members "dispatch" and "handlers" of OBJECT. */
static void handlers_json(json_t *object, const struct handlers_view *v, bool times)
{
    json_t *handlers = json_array();

    if (v->has_mode) {
        json_object_set_new(object, "dispatch", json_pack("{s:s, s:s}", "mode", dispatch_mode_name(v->mode), "reason",
                                                          v->reason));
    }
    for (unsigned int i = 0; i < v->n; i++) {
        json_array_append_new(handlers, handler_json(&v->handlers[i], i, times));
    }
    json_object_set_new(object, "handlers", handlers);
}

/* ---- upcall/show-handlers ---- */

static void print_handlers(FILE *out, struct engine *e, const struct handlers_view *v)
{
    fprintf(out, "%s@%s:\n", dpif_type(e->dpif), dpif_name(e->dpif));
    if (v->has_mode) {
        fprintf(out, "  %s (%s)\n", dispatch_mode_name(v->mode), v->reason);
    }
    for (unsigned int i = 0; i < v->n; i++) {
        fprintf(out, "  handler%u: (thread %d)", i, (int) v->handlers[i].tid);
        if (v->handlers[i].stalled_ms) {
            fprintf(out, " (in one pass for %llums)", (unsigned long long) v->handlers[i].stalled_ms);
        }
        putc('\n', out);
        handler_print(out, &v->handlers[i]);
    }
    if (v->ended.stats.passes || v->ended.kernel) {
        fputs("  handlers that have ended:\n", out);
        handler_print(out, &v->ended);
    }
}

/* Answers an option that is not known, and returns true. */
static bool is_wrong_option(struct unixctl_conn *conn, int argc, const char *argv[])
{
    if (argc < 2 || show_is_json_option(argv[1])) {
        return false;
    }
    unixctl_error(conn, "unknown argument \"%s\": %s takes nothing but --json (-j)", argv[1], argv[0]);
    return true;
}

static void show_handlers(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct handlers_view v = { .n = 0 };
    struct text t;

    if (is_wrong_option(conn, argc, argv)) {
        return;
    }
    struct engine *e = engine_get();
    if (e) {
        handlers_view_init(&v, e, true);
    }
    FILE *out = text_open(&t);
    if (argc > 1) {
        json_t *object = json_pack("{s:o}", "datapath", show_datapath_json(e));
        handlers_json(object, &v, true);
        if (e) {
            json_object_set_new(object, "ended", handler_json(&v.ended, -1, true));
        }
        json_object_set_new(object, "drop_reasons", show_drop_reasons_json());
        show_json_print(out, object);
        putc('\n', out);
    } else if (e) {
        print_handlers(out, e, &v);
    }
    handlers_view_uninit(&v);
    engine_put(e);
    unixctl_reply_take(conn, text_close(&t));
}

/* ---- upcall/show ---- */

/* All handlers that there are or were. */
static struct handler_view view_sum(const struct handlers_view *v)
{
    struct handler_view sum = v->ended;
    for (unsigned int i = 0; i < v->n; i++) {
        handler_stats_add(&sum.stats, &v->handlers[i].stats);
    }
    return sum;
}

/* Up to the empty line it is what scripts have always parsed. */
static void print_upcalls(FILE *out, struct engine *e, const struct handlers_view *v)
{
    struct revalidators_stats r;
    uint64_t keys;
    pid_t tid;

    revalidators_get_stats(e->revalidators, &r);
    fprintf(out, "%s@%s:\n", dpif_type(e->dpif), dpif_name(e->dpif));
    fprintf(out, "  flows         : (current %llu) (avg %llu) (max %llu) (limit %u)\n", (unsigned long long) r.n_flows,
            (unsigned long long) r.avg_flows, (unsigned long long) r.max_flows, flowcache_limit(&e->fc.flow_limit));
    fprintf(out, "  dump duration : %llums\n", (unsigned long long) r.duration_ms);
    fprintf(out, "  ufid enabled : %s\n\n", dpif_features(e->dpif)->ufid ? "true" : "false");
    for (unsigned int i = 0; revalidators_thread_stats(e->revalidators, i, &tid, &keys); i++) {
        fprintf(out, "  %d: (keys %llu)\n", (int) tid, (unsigned long long) keys);
    }

    if (v->has_mode) {
        fprintf(out, "\n  %s (%s)\n", dispatch_mode_name(v->mode), v->reason);
    }
    for (unsigned int i = 0; i < v->n; i++) {
        const struct handler_stats *s = &v->handlers[i].stats;
        fprintf(out, "  handler%u: (upcalls %llu) (wakeups %llu) (idle wakeups %llu) (batches %llu)", i,
                (unsigned long long) s->upcalls.received, (unsigned long long) s->wakeups,
                (unsigned long long) s->idle_wakeups, (unsigned long long) s->batches);
        outcomes_print(out, &s->upcalls);
    }
    struct handler_view sum = view_sum(v);
    struct show_drops drops = drops_of(&sum);
    putc('\n', out);
    times_print(out, "  ", &sum.stats);
    show_drops_print(out, &drops, "  ");
}

static json_t *upcalls_json(struct engine *e, const struct handlers_view *v)
{
    struct handler_view sum = view_sum(v);
    struct show_drops drops = drops_of(&sum);
    json_t *threads = json_array();
    struct revalidators_stats r;
    uint64_t keys;
    pid_t tid;

    revalidators_get_stats(e->revalidators, &r);
    for (unsigned int i = 0; revalidators_thread_stats(e->revalidators, i, &tid, &keys); i++) {
        json_array_append_new(
            threads, json_pack("{s:I, s:I}", "thread_id", (json_int_t) tid, "keys", (json_int_t) keys));
    }
    json_t *object = json_pack(
        "{s:o, s:{s:I, s:I, s:I, s:I}, s:I, s:b, s:o}", "datapath", show_datapath_json(e), "flows", "current",
        (json_int_t) r.n_flows, "avg", (json_int_t) r.avg_flows, "max", (json_int_t) r.max_flows, "limit",
        (json_int_t) flowcache_limit(&e->fc.flow_limit), "dump_duration_ms", (json_int_t) r.duration_ms,
        "ufid_enabled", dpif_features(e->dpif)->ufid, "revalidators", threads);
    handlers_json(object, v, false);
    json_object_set_new(object, "drops", show_drops_json(&drops));
    times_json(object, &sum.stats);
    return object;
}

static void upcall_show(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct handlers_view v = { .n = 0 };
    struct text t;

    if (is_wrong_option(conn, argc, argv)) {
        return;
    }
    struct engine *e = engine_get();
    if (e) {
        handlers_view_init(&v, e, false);
    }
    FILE *out = text_open(&t);
    if (argc > 1) {
        show_json_print(out, e ? upcalls_json(e, &v) : json_pack("{s:n}", "datapath"));
        putc('\n', out);
    } else if (e) {
        print_upcalls(out, e, &v);
    }
    handlers_view_uninit(&v);
    engine_put(e);
    unixctl_reply_take(conn, text_close(&t));
}

void engine_show_init(void)
{
    unixctl_register("upcall/show", "[--json]", 0, 1, upcall_show, NULL);
    unixctl_register("upcall/show-handlers", "[--json]", 0, 1, show_handlers, NULL);
    engine_show_ports_init();
}
