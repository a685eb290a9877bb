/* Which handler serves which CPU, and where each handler runs: plain data, computed from a struct machine (machine.h).
 * Pure: any thread. */
#ifndef IO_PLACEMENT_H
#define IO_PLACEMENT_H 1

#include <stdint.h>

#include "lib/io/machine.h"

#define PLACEMENT_MAX_HANDLERS 256

struct placement {
    unsigned int n_cpus;                  /* Of 'handler'. */
    unsigned int n_handlers;              /* Of 'home'. */
    uint8_t handler[MACHINE_MAX_CPUS];    /* By CPU number, for every number: who gets the upcalls of that CPU. */
    int16_t home[PLACEMENT_MAX_HANDLERS]; /* By handler: index of its node, or MACHINE_NODE_UNKNOWN. */
};

/* Places N_HANDLERS, 1 to PLACEMENT_MAX_HANDLERS, on machine M. */
void placement_make(const struct machine *m, unsigned int n_handlers, struct placement *ret_placement);
/* The CPUs on which handler H is to run; never empty. */
void placement_cpus(const struct placement *p, const struct machine *m, unsigned int h, struct cpu_mask *ret_cpus);

/* Thread counts that follow from the CPUs: as many handlers as CPUs that may be used; a quarter as many
 * revalidators, and one. */
unsigned int placement_n_handlers(const struct machine *m);
unsigned int placement_n_revalidators(const struct machine *m);
/* As many handlers as suit the machine that this is; read at each call: for programs that ask once. */
unsigned int placement_default_handlers(void);

#endif
