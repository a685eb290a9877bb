/* Where the engine's threads run, and how many there are if nobody says: what follows from the CPUs that the process
 * may use.
 *
 * Handlers run on their home node (lib/io/placement.h); revalidators look at everybody's flows, so they run wherever
 * the process may, as all other threads do.
 *
 * A handler's memory is near it: what main makes for it (the structure, its batch) is made while main's memory policy
 * prefers the handler's node, and what the handler touches first itself (receive buffers, pools) comes from the node on
 * which it runs by the kernel's default.  It is pinned as soon as its thread is there; at a change that is before the
 * kernel is told of its channel, so before it has touched any.  A handler that is sent to another node later, since the
 * process may no longer use its own, leaves that memory behind.
 *
 * Main only. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/affinity.h"
#include "lib/io/placement.h"
#include "ofproto/engine-private.h"

LOG_MODULE(engine_place);

_Static_assert(ENGINE_MAX_THREADS <= DISPATCH_MAX_HANDLERS, "dispatch has room for all handlers");

unsigned int engine_wanted_handlers(const struct engine_settings *s)
{
    unsigned int n = s->n_handlers ? s->n_handlers : placement_n_handlers(affinity_machine());
    return MIN(n, ENGINE_MAX_THREADS);
}

unsigned int engine_wanted_revalidators(const struct engine_settings *s)
{
    unsigned int n = s->n_revalidators ? s->n_revalidators : placement_n_revalidators(affinity_machine());
    return MIN(n, ENGINE_MAX_THREADS);
}

/* On one CPU a colleague can only take the time that the one who needs help would have. */
bool engine_may_help(void) { return cpu_mask_count(&affinity_machine()->usable) > 1; }

/* Ends a handler that has never seen an upcall. */
static void discard(struct handler *h)
{
    struct handler_stats none = { 0 };
    struct port_ledger no_ports = { 0 };
    handler_destroy(h, &none, &no_ports);
    port_ledger_uninit(&no_ports);
}

static int make_handler(struct engine *e, struct dispatch *dispatch, struct crew *crew, unsigned int id,
                        const struct placement *p, struct handler **ret_handler)
{
    struct handler *h;

    affinity_memory(p->home[id]);
    int error = handler_create(&e->fc, dispatch, crew, id, &h);
    affinity_memory(MACHINE_NODE_UNKNOWN);
    if (error) {
        return error;
    }
    if (e->running) {
        error = handler_start(h);
        if (error) {
            discard(h);
            return error;
        }
        struct cpu_mask cpus;
        placement_cpus(p, affinity_machine(), id, &cpus);
        affinity_pin(&(struct affinity_pin) { handler_tid(h), &cpus });
    }
    *ret_handler = h;
    return 0;
}

int engine_make_handlers(struct engine *e, struct dispatch *dispatch, struct crew *crew, struct handler **handlers,
                         unsigned int from, unsigned int to)
{
    struct placement p;

    placement_make(affinity_machine(), to, &p);
    for (unsigned int i = from; i < to; i++) {
        int error = make_handler(e, dispatch, crew, i, &p, &handlers[i]);
        if (error) {
            log_err("cannot start handler %u (%s)", i, strerror(-error));
            for (unsigned int j = from; j < i; j++) {
                discard(handlers[j]);
                handlers[j] = NULL;
            }
            return error;
        }
    }
    return 0;
}

void engine_place_threads(struct engine *e)
{
    struct affinity_pin pins[ENGINE_MAX_THREADS];
    struct cpu_mask *masks = xcalloc(e->n_handlers + 1, sizeof *masks);
    struct placement p;
    size_t n = 0;

    placement_make(affinity_machine(), MAX(e->n_handlers, 1), &p);
    for (unsigned int h = 0; h < e->n_handlers; h++) {
        pid_t tid = handler_tid(e->handlers[h]);
        if (tid) {
            placement_cpus(&p, affinity_machine(), h, &masks[h]);
            pins[n++] = (struct affinity_pin) { tid, &masks[h] };
        }
    }
    affinity_apply(pins, n);
    free(masks);
}

int engine_follow_affinity(struct engine *e)
{
    struct engine_settings settings = e->settings;

    /* Before anything that takes time, and again for those that come with the new counts. */
    engine_place_threads(e);
    crew_set_helps(e->crew, engine_may_help());
    int error = engine_apply_settings(e, &settings);
    engine_place_threads(e);
    return error;
}
