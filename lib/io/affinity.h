/* The CPUs that this process may use, as they change while it runs, and the threads' following of it. Main only. */
#ifndef IO_AFFINITY_H
#define IO_AFFINITY_H 1

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/io/machine.h"

/* The machine as last read.  Reads it at the first call, which is to be made early. */
const struct machine *affinity_machine(void);
/* Has the process's mask changed since?  Then reads the machine again, says so in the log, and returns true.  One
 * system call if not. */
bool affinity_changed(void);

/* Thread TID is to run on CPUS, which are among those that the process may use. */
struct affinity_pin {
    pid_t tid;
    const struct cpu_mask *cpus;
};
/* Gives each thread of PINS its own mask, and every other thread but main the process's.  Threads that have it
 * already cost no change. */
void affinity_apply(const struct affinity_pin *pins, size_t n_pins);
/* Gives one thread its mask. */
void affinity_pin(const struct affinity_pin *pin);

/* Memory that main touches first from now on comes from NODE, an index into the machine's nodes
 * (MACHINE_NODE_UNKNOWN: from wherever main runs), if it can; so that main can make what a thread on that node is to
 * use.  Does nothing on a machine with one node, or where whoever started the process has set a policy of its own
 * (numactl). */
void affinity_memory(int node);

/* For tests: M (a copy is taken) is the machine from now on, and its mask does not change; NULL: the real one again. */
void affinity_pretend(const struct machine *m);

#endif
