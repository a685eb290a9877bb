/* What handlers that have ended had counted of each port, until the port is deleted: a change of the thread count forgets nothing.
 *
 * Not locked: the engine's is guarded by its lock. */
#ifndef OFPROTO_PORT_LEDGER_H
#define OFPROTO_PORT_LEDGER_H 1

#include "ofproto/sched.h"

struct port_ledger { /* Empty: all zero. */
    struct port_stats **by_port; /* N of them; NULL: nothing was counted. */
    size_t n;
};

void port_ledger_uninit(struct port_ledger *l);
/* Adds STATS, as of now, to what there is of port NO. */
void port_ledger_add(struct port_ledger *l, odp_port_t no, const struct port_stats *stats);
/* Moves all that is in FROM to TO; FROM is empty then. */
void port_ledger_move(struct port_ledger *to, struct port_ledger *from);
/* Port NO is no more. */
void port_ledger_forget(struct port_ledger *l, odp_port_t no);
/* Calls CB for each port that something was counted of. */
void port_ledger_show(const struct port_ledger *l, void (*cb)(odp_port_t, const struct port_stats *, void *aux),
                      void *aux);

#endif
