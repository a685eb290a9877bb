/* See placement.h.
 *
 * Home.  Each handler has a home: a node on which the process may run.  Handlers are dealt out to those nodes in
 * proportion to the CPUs that may be used there, by a sequence that does not depend on how many handlers there are: so
 * a change of the thread count moves none of those that stay away from its memory.
 *
 * Who serves whom.  Packets come up on every CPU that forwards, whether this process may run there or not, so each
 * number that a CPU can have gets a handler.  Loads are even first, because a handler with twice the CPUs has twice the
 * upcalls: each serves its share of the CPUs that are online, rounded up or down; then the same with those that may
 * come later.  Within that a CPU gets a handler whose home is nearest, and of these the one that serves the fewest.
 *
 * Where a handler runs.  On any CPU of its home that the process may use; not on the very CPU that it serves.  That
 * one is busy just when there are upcalls (the kernel's receive work runs on it, ahead of any thread), so a handler
 * tied to it starves in the flood that it is there for, while a neighbour shares memory and last-level cache with it
 * and may be idle. The scheduler sees which.  So on a machine with one node, most virtual machines among them,
 * nobody is pinned: a handler runs wherever the process may.  The same holds where its home has only one CPU to use:
 * then the whole mask is better. */
#include <config.h>

#include "lib/io/placement.h"

#include <limits.h>
#include <string.h>

#include "lib/base/compiler.h"

/* Fewer CPUs to choose from are no choice. */
#define MIN_CPUS 2

unsigned int placement_n_handlers(const struct machine *m) { return cpu_mask_count(&m->usable); }
unsigned int placement_n_revalidators(const struct machine *m) { return cpu_mask_count(&m->usable) / 4 + 1; }

unsigned int placement_default_handlers(void)
{
    struct machine m;
    machine_read(&m);
    return placement_n_handlers(&m);
}

/* ---- Homes. ---- */

static void usable_by_node(const struct machine *m, unsigned int n[MACHINE_MAX_NODES])
{
    memset(n, 0, MACHINE_MAX_NODES * sizeof *n);
    for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++) {
        if (cpu_mask_has(&m->usable, cpu) && m->node[cpu] != MACHINE_NODE_UNKNOWN) {
            n[m->node[cpu]]++;
        }
    }
}

/* Smooth weighted round robin: in any run of handlers each node has its share, to within one. */
static void choose_homes(const struct machine *m, struct placement *p)
{
    unsigned int weight[MACHINE_MAX_NODES];
    int credit[MACHINE_MAX_NODES] = { 0 }, total = 0;

    usable_by_node(m, weight);
    for (unsigned int node = 0; node < m->n_nodes; node++) {
        total += weight[node];
    }
    for (unsigned int h = 0; h < p->n_handlers; h++) {
        int best = MACHINE_NODE_UNKNOWN;
        for (unsigned int node = 0; node < m->n_nodes; node++) {
            credit[node] += weight[node];
            if (weight[node] && (best == MACHINE_NODE_UNKNOWN || credit[node] > credit[best])) {
                best = node;
            }
        }
        if (best != MACHINE_NODE_UNKNOWN) {
            credit[best] -= total;
        }
        p->home[h] = best;
    }
}

/* ---- CPUs. ---- */

static unsigned int distance(const struct machine *m, int a, int b)
{
    return a == MACHINE_NODE_UNKNOWN || b == MACHINE_NODE_UNKNOWN ? 0 : m->distance[a][b];
}

struct dealing {
    const struct machine *m;
    struct placement *p;
    unsigned int load[PLACEMENT_MAX_HANDLERS];
    unsigned int share; /* Most that one may have. */
    struct cpu_mask done;
};

/* The handler with room that is best for a CPU of NODE, at most MAX_DISTANCE away; or -1. */
static int choose_handler(const struct dealing *d, int node, unsigned int max_distance)
{
    unsigned int best_distance = max_distance;
    int best = -1;

    for (unsigned int h = 0; h < d->p->n_handlers; h++) {
        unsigned int dist = distance(d->m, d->p->home[h], node);
        if (d->load[h] < d->share &&
            (dist < best_distance || (dist == best_distance && (best < 0 || d->load[h] < d->load[best])))) {
            best = h;
            best_distance = dist;
        }
    }
    return best;
}

/* Deals out those CPUs of SET that nobody serves yet, as long as there is a handler that serves fewer than SHARE.  First only to
 * handlers of their own node: so a CPU from far away does not take the room of one that is near. */
static void deal_up_to(struct dealing *d, const struct cpu_mask *set, unsigned int share)
{
    d->share = share;
    for (int far = 0; far <= 1; far++) {
        for (unsigned int cpu = 0; cpu < d->m->n_cpus; cpu++) {
            if (!cpu_mask_has(set, cpu) || cpu_mask_has(&d->done, cpu)) {
                continue;
            }
            int node = d->m->node[cpu], h = -1;
            if (far) {
                h = choose_handler(d, node, UINT_MAX);
            } else if (node != MACHINE_NODE_UNKNOWN) {
                h = choose_handler(d, node, d->m->distance[node][node]);
            }
            if (h >= 0) {
                d->p->handler[cpu] = h;
                d->load[h]++;
                cpu_mask_set(&d->done, cpu);
            }
        }
    }
}

/* Deals out SET: to each handler its share, rounded down, and then what is left. */
static void deal(struct dealing *d, const struct cpu_mask *set)
{
    struct cpu_mask all;

    CPU_OR_S(sizeof all.words, all.words, d->done.words, set->words);
    unsigned int n = cpu_mask_count(&all), n_handlers = d->p->n_handlers;
    deal_up_to(d, set, n / n_handlers);
    deal_up_to(d, set, (n + n_handlers - 1) / n_handlers);
}

void placement_make(const struct machine *m, unsigned int n_handlers, struct placement *ret_placement)
{
    struct dealing d = { .m = m, .p = ret_placement };

    memset(ret_placement, 0, sizeof *ret_placement);
    ret_placement->n_cpus = m->n_cpus;
    ret_placement->n_handlers = n_handlers;
    choose_homes(m, ret_placement);
    for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++) {
        ret_placement->handler[cpu] = cpu % n_handlers; /* For numbers that no CPU can have. */
    }
    deal(&d, &m->online);
    deal(&d, &m->possible);
}

void placement_cpus(const struct placement *p, const struct machine *m, unsigned int h, struct cpu_mask *ret_cpus)
{
    struct cpu_mask cpus;

    CPU_ZERO_S(sizeof cpus.words, cpus.words);
    for (unsigned int cpu = 0; cpu < m->n_cpus && p->home[h] != MACHINE_NODE_UNKNOWN; cpu++) {
        if (cpu_mask_has(&m->usable, cpu) && m->node[cpu] == p->home[h]) {
            cpu_mask_set(&cpus, cpu);
        }
    }
    *ret_cpus = m->n_nodes > 1 && cpu_mask_count(&cpus) >= MIN_CPUS ? cpus : m->usable;
}
