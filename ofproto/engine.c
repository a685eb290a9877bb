/* See engine.h.
 *
 * Main makes and changes the engine; no handler ever waits for it.  The rule for all changes is make before break: what
 * is new is there and published before what is old is told to end, and what is old ends by finishing what it has.
 * Which CPUs they all run on is in engine-place.c. */
#include <config.h>

#include "ofproto/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/engine-private.h"
#include "ofproto/recirc.h"
#include "ofproto/tables.h"
#include "ofproto/xlate-config.h"

LOG_MODULE(engine);

static struct lock current_lock = LOCK_INITIALIZER(RANK_CONFIG);
static struct engine *current GUARDED_BY(current_lock);

/* The mode that WISH leads to with what the datapath can; *RET_REASON is static. */
static enum dpif_dispatch choose_mode(const struct engine *e, enum dispatch_wish wish, const char **ret_reason)
{
    const struct dpif_features *features = dpif_features(e->dpif);

    switch (wish) {
    case DISPATCH_PER_PORT:
        *ret_reason = "requested by other_config:upcall-dispatch=per-port";
        return DPIF_DISPATCH_PER_PORT;
    case DISPATCH_PER_CPU:
    case DISPATCH_AUTO:
        break;
    }
    if (!features->per_cpu) {
        *ret_reason = features->per_cpu_why ? features->per_cpu_why : "the kernel cannot dispatch per CPU";
        return DPIF_DISPATCH_PER_PORT;
    }
    *ret_reason = wish == DISPATCH_AUTO ? "the kernel supports it" : "requested by other_config:upcall-dispatch=per-cpu";
    return DPIF_DISPATCH_PER_CPU;
}

/* ---- Handlers and dispatch. ---- */

/* Ends N handlers, all at once, and adds up what they counted.  EXITING: nobody comes after them. */
static void handlers_end(struct engine *e, struct handler **handlers, unsigned int n, bool exiting)
{
    struct handler_stats total = { 0 };
    struct port_ledger ports = { 0 };
    for (unsigned int i = 0; i < n && e->running; i++) {
        handler_stop(handlers[i], exiting);
    }
    for (unsigned int i = 0; i < n; i++) {
        handler_destroy(handlers[i], &total, &ports);
    }
    lock_acquire(&e->lock);
    handler_stats_add(&e->retired, &total);
    port_ledger_move(&e->retired_ports, &ports);
    lock_release(&e->lock);
}

/* Flows name port ids in their actions: those that do are changed.  Until they are, what they hand up is lost if it is dispatched per port. */
static void pids_changed(struct engine *e)
{
    if (e->fc.config) {
        engine_note_pids(e, e->fc.config);
        engine_revalidate(e);
    }
}

/* Puts dispatch of MODE with N handlers in the place of what there is, if anything.  On failure all is as before. */
static int dispatch_replace(struct engine *e, enum dpif_dispatch mode, unsigned int n, const char *reason)
{
    struct handler *handlers[DISPATCH_MAX_HANDLERS] = { NULL };
    struct dispatch *dispatch;

    int error = dispatch_prepare(e->dpif, e->session, mode, n, e->ports, e->n_ports, &dispatch);
    if (error) {
        return error;
    }
    struct crew *crew = crew_create(e->dpif);
    crew_set_helps(crew, engine_may_help());
    /* All that can fail for want of something comes before the kernel is told. */
    error = engine_make_handlers(e, dispatch, crew, handlers, 0, n);
    if (!error) {
        error = dispatch_publish(dispatch);
        if (error) {
            /* It may have got as far as the fallback's array, and the kernel sends everything there: what was before is told anew. */
            int again = e->dispatch ? dispatch_assert(e->dispatch) : 0;
            if (again) {
                log_warn_rl(5, "cannot tell the kernel the dispatch of before (%s)", strerror(-again));
            }
            handlers_end(e, handlers, n, false);
        }
    }
    if (error) {
        crew_unref(crew);
        dispatch_close(dispatch);
        return error;
    }

    struct dispatch *old = e->dispatch;
    struct crew *old_crew = e->crew;
    struct handler *old_handlers[DISPATCH_MAX_HANDLERS];
    unsigned int n_old = e->n_handlers;
    lock_acquire(&e->lock);
    memcpy(old_handlers, e->handlers, sizeof old_handlers);
    memcpy(e->handlers, handlers, sizeof e->handlers);
    e->n_handlers = n;
    e->dispatch = dispatch;
    e->crew = crew;
    free(e->mode_reason);
    e->mode_reason = xstrdup(reason);
    if (old) {
        dispatch_inherit_loss(dispatch, old); /* Whoever asks from now on asks the new one. */
    }
    lock_release(&e->lock);
    pids_changed(e);
    log_info("datapath %s: %s, %u handlers (%s)", dpif_name(e->dpif), dispatch_mode_name(mode), n, reason);

    if (old) {
        dispatch_kernel_grace_period();
        dispatch_seal(old);
        handlers_end(e, old_handlers, n_old, false);
        crew_unref(old_crew);
        dispatch_inherit_loss(dispatch, old); /* What it lost since. */
        dispatch_close(old);
    }
    return 0;
}

static int handlers_resize(struct engine *e, unsigned int n)
{
    struct handler *ending[DISPATCH_MAX_HANDLERS];
    unsigned int old = e->n_handlers;

    int error;

    if (n > old) {
        struct handler *handlers[DISPATCH_MAX_HANDLERS] = { NULL };
        error = dispatch_grow(e->dispatch, n);
        if (error) {
            return error;
        }
        /* The threads first: without one, channels would never be read, and commands never carried out. */
        error = engine_make_handlers(e, e->dispatch, e->crew, handlers, old, n);
        if (!error) {
            error = dispatch_resize(e->dispatch, n);
            if (error) {
                handlers_end(e, &handlers[old], n - old, false);
            }
        }
        if (error) {
            dispatch_trim(e->dispatch);
            return error;
        }
        lock_acquire(&e->lock);
        memcpy(&e->handlers[old], &handlers[old], (n - old) * sizeof *handlers);
        e->n_handlers = n;
        lock_release(&e->lock);
    } else {
        error = dispatch_resize(e->dispatch, n);
        if (error) {
            return error;
        }
        lock_acquire(&e->lock);
        memcpy(ending, &e->handlers[n], (old - n) * sizeof *ending);
        memset(&e->handlers[n], 0, (old - n) * sizeof *ending);
        e->n_handlers = n;
        lock_release(&e->lock);
        handlers_end(e, ending, old - n, false);
        dispatch_trim(e->dispatch);
    }
    log_info("datapath %s: %u handlers (were %u)", dpif_name(e->dpif), n, old);
    return 0;
}

/* ---- Making and ending the engine. ---- */

static void engine_kick(void *e_)
{
    struct engine *e = e_;
    revalidators_kick(e->revalidators);
}

static void set_limits(struct engine *e, const struct engine_settings *s)
{
    __atomic_store_n(&e->fc.flow_limit, s->flow_limit, __ATOMIC_RELAXED);
    __atomic_store_n(&e->fc.max_idle_ms, s->max_idle_ms, __ATOMIC_RELAXED);
    __atomic_store_n(&e->fc.max_revalidator_ms, s->max_revalidator_ms, __ATOMIC_RELAXED);
}

int engine_create(const char *type, const char *name, const struct engine_settings *settings,
                  struct engine **ret_engine, char **ret_error)
{
    struct engine *e = xzalloc(sizeof *e);
    const char *reason;
    char *why = NULL;

    e->refs = 1;
    odp_numbers_init(&e->numbers);
    lock_init(&e->lock, RANK_CONFIG);
    int error = dpif_open(type, name, &e->dpif, &why);
    if (error) {
        *ret_error = why ? why : xasprintf("cannot open datapath %s@%s (%s)", type, name, strerror(-error));
        engine_put(e);
        return error;
    }
    recirc_settle();
    e->fc.dpif = e->dpif;
    e->fc.ukeys = ukey_table_create();
    e->fc.reval_seq = 1;
    e->fc.round = 1;
    e->fc.wake = engine_kick;
    pin_inbox_init(&e->pins, engine_wake_packet_ins, NULL);
    e->fc.pins = &e->pins;
    e->fc.aux = e;
    e->settings = *settings;
    set_limits(e, settings);
    error = dpif_session_open(e->dpif, &e->session);
    if (!error) {
        error = revalidators_create(&e->fc, &e->revalidators);
    }
    if (!error) {
        enum dpif_dispatch mode = choose_mode(e, settings->dispatch, &reason);
        error = dispatch_replace(e, mode, engine_wanted_handlers(settings), reason);
    }
    if (error) {
        *ret_error = xasprintf("cannot start on datapath %s@%s (%s)", type, name, strerror(-error));
        engine_put(e);
        return error;
    }
    lock_acquire(&current_lock);
    current = e;
    lock_release(&current_lock);
    *ret_engine = e;
    return 0;
}

/* The threads begin with the first snapshot: until then all ports are unknown, and what comes up waits in the channels. */
static void engine_start(struct engine *e)
{
    unsigned int n = 0;

    e->running = true;
    /* The thread that frees what RCU let go of is made here: one that a handler makes would be bound to that handler's
     * CPUs. */
    get_default_call_rcu_data();
    while (n < e->n_handlers && !handler_start(e->handlers[n])) {
        n++;
    }
    if (!n) {
        fatal(0, "cannot start the handler threads");
    }
    if (n < e->n_handlers) {
        log_warn("only %u of %u handlers could be started", n, e->n_handlers);
        if (handlers_resize(e, n)) {
            fatal(0, "cannot do with %u handlers", n);
        }
    }
    engine_place_threads(e);
    if (revalidators_resize(e->revalidators, engine_wanted_revalidators(&e->settings))) {
        if (!revalidators_n(e->revalidators)) {
            fatal(0, "cannot start the revalidator threads");
        }
        log_warn("only %u of %u revalidators could be started", revalidators_n(e->revalidators),
                 engine_wanted_revalidators(&e->settings));
    }
}

static void engine_stop(struct engine *e)
{
    struct handler *handlers[DISPATCH_MAX_HANDLERS];
    unsigned int n = e->n_handlers;

    lock_acquire(&e->lock);
    memcpy(handlers, e->handlers, sizeof handlers);
    memset(e->handlers, 0, sizeof e->handlers);
    e->n_handlers = 0;
    lock_release(&e->lock);
    handlers_end(e, handlers, n, true);
    revalidators_resize(e->revalidators, 0);
    e->running = false;
}

void engine_destroy(struct engine *e, bool delete_datapath)
{
    lock_acquire(&current_lock);
    current = NULL;
    lock_release(&current_lock);

    engine_stop(e);
    lock_acquire(&e->lock);
    struct dispatch *dispatch = e->dispatch;
    e->dispatch = NULL;
    lock_release(&e->lock);
    dispatch_close(dispatch);
    if (delete_datapath) {
        int error = dpif_destroy(e->session);
        if (error) {
            log_warn("cannot delete datapath %s (%s)", dpif_name(e->dpif), strerror(-error));
        }
    }
    engine_put(e);
}

struct engine *engine_get(void)
{
    lock_acquire(&current_lock);
    struct engine *e = current;
    if (e) {
        __atomic_add_fetch(&e->refs, 1, __ATOMIC_RELAXED);
    }
    lock_release(&current_lock);
    return e;
}

static void config_free(struct xconfig *c)
{
    if (c) {
        synchronize_rcu();
        xconfig_destroy(c);
    }
}

void engine_put(struct engine *e)
{
    if (!e || __atomic_sub_fetch(&e->refs, 1, __ATOMIC_ACQ_REL)) {
        return;
    }
    revalidators_destroy(e->revalidators);
    dispatch_close(e->dispatch);
    crew_unref(e->crew); /* Its handlers ended with engine_stop(). */
    ukey_table_destroy(e->fc.ukeys);
    config_free(e->fc.config);
    port_limits_uninit(&e->fc.limits);
    pin_inbox_uninit(&e->pins);
    dpif_session_close(e->session);
    if (e->dpif) {
        dpif_close(e->dpif);
    }
    free(e->ports);
    port_ledger_uninit(&e->retired_ports);
    odp_numbers_uninit(&e->numbers);
    free(e->mode_reason);
    lock_uninit(&e->lock);
    free(e);
}

/* ---- Changes. ---- */

static void set_reason(struct engine *e, const char *reason)
{
    lock_acquire(&e->lock);
    free(e->mode_reason);
    e->mode_reason = xstrdup(reason);
    lock_release(&e->lock);
}

int engine_apply_settings(struct engine *e, const struct engine_settings *settings)
{
    const char *reason;
    enum dpif_dispatch mode = choose_mode(e, settings->dispatch, &reason);
    unsigned int n = engine_wanted_handlers(settings);
    int error = 0, reval_error = 0;

    if (mode != dispatch_mode(e->dispatch)) {
        error = dispatch_replace(e, mode, n, reason);
    } else {
        set_reason(e, reason);
        error = n != e->n_handlers ? handlers_resize(e, n) : 0;
        if (!error) {
            error = dispatch_place(e->dispatch);
        }
    }
    if (error) {
        log_warn_rl(1, "cannot change to %s with %u handlers (%s); going on as before", dispatch_mode_name(mode), n,
                    strerror(-error));
    }
    if (e->running) {
        reval_error = revalidators_resize(e->revalidators, engine_wanted_revalidators(settings));
        if (reval_error) {
            log_warn_rl(1, "cannot start %u revalidators (%s)", engine_wanted_revalidators(settings), strerror(-reval_error));
        }
    }
    /* The limit may have been changed by upcall/set-flow-limit since: only a new setting overrides that. */
    struct engine_settings limits = *settings;
    if (settings->flow_limit == e->settings.flow_limit) {
        limits.flow_limit = flowcache_limit(&e->fc.flow_limit);
    }
    set_limits(e, &limits);
    e->settings = *settings;
    return error ? error : reval_error;
}

void engine_set_config(struct engine *e, struct xconfig *c)
{
    struct xconfig *old = e->fc.config;

    const struct dpif_features *features = dpif_features(e->dpif);

    c->version = old ? old->version + 1 : 1;
    c->can = (struct xconfig_can) {
        .ct_zone = features->ct_zone, .ct_clear = features->ct_clear, .ct_eventmask = features->ct_eventmask, .clone = features->clone,
        .trunc = features->trunc, .check_pkt_len = features->check_pkt_len,
    };
    engine_note_pids(e, c);
    rcu_assign_pointer(e->fc.config, c);
    xconfig_destroy_rcu(old);
    engine_revalidate(e);
    if (!e->running) {
        engine_start(e);
    }
}

struct dpif *engine_dpif(struct engine *e) { return e->dpif; }
struct dpif_session *engine_session(struct engine *e) { return e->session; }
void engine_watch(struct engine *e)
{
    uint64_t now = clock_nsec();
    for (unsigned int i = 0; i < e->n_handlers; i++) {
        handler_watch(e->handlers[i], now);
    }
    recirc_tick();
}

void engine_revalidate(struct engine *e) { flowcache_revalidate(&e->fc); }

void engine_changed(struct engine *e, const struct dep_set *changed) { flowcache_changed_set(&e->fc, changed); }

void engine_wait(struct engine *e, void (*done)(void *aux), void *aux)
{
    revalidators_wait(e->revalidators, done, aux);
}

/* ---- Ports. ---- */

static void ports_note(struct engine *e, odp_port_t no)
{
    if (e->n_ports == e->allocated_ports) {
        e->allocated_ports = e->allocated_ports ? 2 * e->allocated_ports : 16;
        e->ports = xrealloc(e->ports, e->allocated_ports * sizeof *e->ports);
    }
    e->ports[e->n_ports++] = no;
    odp_numbers_use(&e->numbers, no);
}

static void ports_forget(struct engine *e, odp_port_t no)
{
    for (size_t i = 0; i < e->n_ports; i++) {
        if (odp_port_eq(e->ports[i], no)) {
            e->ports[i] = e->ports[--e->n_ports];
            break;
        }
    }
    /* Also if it was never ours: flows and upcalls of it may be on the way. */
    odp_numbers_use(&e->numbers, no);
    odp_numbers_release(&e->numbers, no, clock_msec());
}

/* Does a handler still know port NO, which is not there?  An upcall of its came so late that its handler had forgotten the port by then.
 * Tells them once more. */
static bool is_remembered(struct engine *e, odp_port_t no)
{
    bool remembered = false;
    for (unsigned int i = 0; i < e->n_handlers; i++) {
        remembered |= handler_port_gone(e->handlers[i], no);
    }
    return remembered;
}

/* A number for a new port.  One that is remembered rests once more, and the next one is tried: telling handlers is not enough, since
 * until they have heard it they count what is new to what was.  If there is no other, it is used all the same. */
static odp_port_t choose_number(struct engine *e)
{
    odp_port_t first = ODPP_NONE;

    for (;;) {
        odp_port_t no = odp_numbers_suggest(&e->numbers, clock_msec());
        if (odp_port_eq(no, ODPP_NONE) || odp_port_eq(no, first) || !is_remembered(e, no)) {
            return no;
        }
        first = odp_port_eq(first, ODPP_NONE) ? no : first;
        odp_numbers_use(&e->numbers, no);
        odp_numbers_release(&e->numbers, no, clock_msec());
    }
}

/* Adds the port under number REQUEST; or, for ODPP_NONE, under one that we choose.  A number that turns out to be taken, by a port
 * that is not ours, is noted, and the next one tried. */
static int add_with_number(struct engine *e, const char *name, enum dpif_port_type type, uint32_t pid,
                           odp_port_t request, odp_port_t *ret_no)
{
    if (!odp_port_eq(request, ODPP_NONE)) {
        return dpif_port_add(e->session, name, type, pid, request, ret_no);
    }
    for (;;) {
        odp_port_t no = choose_number(e);
        int error = dpif_port_add(e->session, name, type, pid, no, ret_no);
        struct dpif_port other;
        /* EBUSY may also be about the device, which another datapath has. */
        if (error != -EBUSY || odp_port_eq(no, ODPP_NONE)
            || dpif_port_query_by_number(e->session, no, &other)) {
            return error;
        }
        odp_numbers_use(&e->numbers, no);
        odp_numbers_release(&e->numbers, no, clock_msec()); /* The other one may go. */
    }
}

int engine_port_add(struct engine *e, const char *name, enum dpif_port_type type, odp_port_t request,
                    odp_port_t *ret_no)
{
    struct dispatch_port port;
    odp_port_t no;

    int error = dispatch_port_prepare(e->dispatch, &port);
    if (error) {
        return error;
    }
    error = add_with_number(e, name, type, port.pid, request, &no);
    if (error) {
        dispatch_port_abort(e->dispatch, &port);
        return error;
    }
    error = dispatch_port_commit(e->dispatch, &port, no);
    if (error) {
        dpif_port_del(e->session, no);
        return error;
    }
    ports_note(e, no);
    *ret_no = no;
    return 0;
}

int engine_port_adopt(struct engine *e, odp_port_t no)
{
    int error = dispatch_port_adopt(e->dispatch, no);
    if (!error) {
        ports_note(e, no);
    }
    return error;
}

int engine_port_del(struct engine *e, odp_port_t no)
{
    int error = dpif_port_del(e->session, no);
    if (!error || error == -ENODEV || error == -ENOENT) {
        engine_port_gone(e, no);
        error = 0;
    }
    return error;
}

void engine_port_gone(struct engine *e, odp_port_t no)
{
    dispatch_port_del(e->dispatch, no);
    for (unsigned int i = 0; i < e->n_handlers; i++) {
        handler_port_gone(e->handlers[i], no);
    }
    port_limits_set(&e->fc.limits, no, (struct port_limit) { 0 });
    pin_inbox_forget(&e->pins, no);
    ports_forget(e, no);
    lock_acquire(&e->lock);
    port_ledger_forget(&e->retired_ports, no);
    lock_release(&e->lock);
}

bool engine_port_limit(struct engine *e, odp_port_t no, const struct port_limit *limit)
{
    return port_limits_set(&e->fc.limits, no, *limit);
}

void engine_assert_dispatch(struct engine *e, bool known)
{
    int error = dispatch_assert(e->dispatch);
    if (error) {
        log_warn_rl(5, "datapath %s: another program %s changed how upcalls are dispatched, and it could not be set right (%s)",
                    dpif_name(e->dpif), known ? "has" : "may have", strerror(-error));
    } else if (known) {
        log_info_rl(5, "datapath %s: another program (ovs-dpctl?) had changed how upcalls are dispatched; set right again",
                    dpif_name(e->dpif));
    }
}

/* ---- What is seen from outside. ---- */

static bool count_rule(struct rule *r UNUSED, void *n)
{
    ++*(size_t *) n;
    return true;
}

static void count_rules(const struct xconfig *c, void *n)
{
    for (size_t i = 0; c && i < c->n_bridges; i++) {
        struct tables *t = c->bridges[i]->tables;
        if (t) {
            tables_for_each(t, TABLE_ALL, NULL, tables_version(t), count_rule, n);
        }
    }
}

void engine_memory(struct engine *e, struct engine_memory *ret)
{
    lock_acquire(&e->lock);
    ret->n_handlers = e->n_handlers;
    lock_release(&e->lock);
    ret->n_revalidators = revalidators_n(e->revalidators);
    ret->n_ukeys = ukey_table_count(e->fc.ukeys);
    ret->n_rules = 0;
    engine_with_config(e, count_rules, &ret->n_rules); /* The lock of the tables is main's while it changes them. */
}

void engine_with_config(struct engine *e, void (*f)(const struct xconfig *, void *aux), void *aux)
{
    rcu_read_lock();
    f(flowcache_config(&e->fc), aux);
    rcu_read_unlock();
}
