/* See placement.h. */
#include <config.h>

#include "lib/io/placement.h"

#include <errno.h>
#include <numa.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/compiler.h"

/* The kernel's own limit of NR_CPUS on any architecture. */
#define CPUS_MAX 8192

unsigned int placement_n_possible_cpus(void)
{
    int n = numa_num_possible_cpus();
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    return MAX(1, MAX(n, configured));
}

unsigned int placement_n_usable_cpus(void)
{
    /* sched_getaffinity() refuses a mask smaller than the kernel's (EINVAL), whatever is online. */
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    if (!set) {
        return 1;
    }
    CPU_ZERO_S(size, set);
    int n = sched_getaffinity(0, size, set) < 0 ? 0 : CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return MAX(1, n);
}

unsigned int placement_handler_of_cpu(unsigned int cpu, unsigned int n_handlers) { return cpu % n_handlers; }

unsigned int placement_default_handlers(void) { return placement_n_usable_cpus(); }

unsigned int placement_default_revalidators(void) { return placement_n_usable_cpus() / 4 + 1; }
