/* The slow path: actions that the kernel cannot carry out as a whole, for one packet. */
#ifndef OFPROTO_SLOW_H
#define OFPROTO_SLOW_H 1

#include <stddef.h>

struct arena;
struct dpif_op;

/* Carries out EXECUTE (of type DPIF_OP_EXECUTE), whose actions are those of a translation that is 'slow', by any number of requests that the
 * datapath can, one after the other, each through OPERATE.  Returns 0, or the first error of a request; the others are made all the same.
 * Memory is ARENA's.  Any thread. */
int slow_run(struct arena *arena, const struct dpif_op *execute, void (*operate)(struct dpif_op *ops[], size_t n, void *aux), void *aux);

#endif
