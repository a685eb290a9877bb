/* See port-ledger.h. */
#include <config.h>

#include "ofproto/port-ledger.h"

#include <stdlib.h>

#include "lib/base/util.h"

void port_ledger_uninit(struct port_ledger *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->by_port[i]);
    }
    free(l->by_port);
    *l = (struct port_ledger) { 0 };
}

/* Numbers that no port of a datapath has share the place behind all others, as in sched.c. */
static size_t place_of(odp_port_t no) { return MIN(no.n, SCHED_PORTS_MAX); }

static struct port_stats **grow_to(struct port_ledger *l, size_t i)
{
    if (i >= l->n) {
        size_t n = MIN(MAX(2 * l->n, i + 1), (size_t) SCHED_PORTS_MAX + 1);
        l->by_port = xrealloc(l->by_port, n * sizeof *l->by_port);
        memset(&l->by_port[l->n], 0, (n - l->n) * sizeof *l->by_port);
        l->n = n;
    }
    return &l->by_port[i];
}

void port_ledger_add(struct port_ledger *l, odp_port_t no, const struct port_stats *stats)
{
    struct port_stats **sum = grow_to(l, place_of(no));
    if (!*sum) {
        *sum = xzalloc(sizeof **sum);
    }
    port_stats_add(*sum, stats);
}

void port_ledger_move(struct port_ledger *to, struct port_ledger *from)
{
    for (size_t i = 0; i < from->n; i++) {
        if (from->by_port[i]) {
            port_ledger_add(to, (odp_port_t) { i }, from->by_port[i]);
        }
    }
    port_ledger_uninit(from);
}

void port_ledger_forget(struct port_ledger *l, odp_port_t no)
{
    size_t i = place_of(no);
    if (i < l->n) {
        free(l->by_port[i]);
        l->by_port[i] = NULL;
    }
}

void port_ledger_show(const struct port_ledger *l, void (*cb)(odp_port_t, const struct port_stats *, void *aux),
                      void *aux)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->by_port[i]) {
            cb((odp_port_t) { i }, l->by_port[i], aux);
        }
    }
}
