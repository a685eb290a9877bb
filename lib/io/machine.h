/* The machine's CPUs and NUMA nodes, and which of them this process may use: plain data, so that what is computed
 * from it (placement.h) can be tested with machines that nobody has here. */
#ifndef IO_MACHINE_H
#define IO_MACHINE_H 1

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's own limit of NR_CPUS on any architecture. */
#define MACHINE_MAX_CPUS 8192
/* Nodes that have CPUs.  A CPU of a node beyond is taken for one whose node is not known. */
#define MACHINE_MAX_NODES    128
#define MACHINE_NODE_UNKNOWN (-1)

/* A set of CPU numbers, as large as the kernel's can be: sched_getaffinity() refuses a smaller one (EINVAL),
 * whatever is online. */
struct cpu_mask {
    cpu_set_t words[MACHINE_MAX_CPUS / CPU_SETSIZE];
};

static inline void cpu_mask_set(struct cpu_mask *m, unsigned int cpu) { CPU_SET_S(cpu, sizeof m->words, m->words); }
static inline bool cpu_mask_has(const struct cpu_mask *m, unsigned int cpu)
{
    return CPU_ISSET_S(cpu, sizeof m->words, m->words);
}
static inline unsigned int cpu_mask_count(const struct cpu_mask *m) { return CPU_COUNT_S(sizeof m->words, m->words); }
static inline bool cpu_mask_equal(const struct cpu_mask *a, const struct cpu_mask *b)
{
    return CPU_EQUAL_S(sizeof a->words, a->words, b->words);
}
/* The text that the kernel and taskset -c use: "0-3,7".  To be freed. */
char *cpu_mask_format(const struct cpu_mask *m);
/* The mask of thread TID (0: the caller), as far as it is online.  Returns 0 or -errno. */
int cpu_mask_of_thread(pid_t tid, struct cpu_mask *ret_mask);

struct machine {
    unsigned int n_cpus;      /* One more than the highest number that a CPU can ever have; at least 1. */
    struct cpu_mask possible; /* All that there can ever be (hot-add included).  Numbers may have holes. */
    struct cpu_mask online;
    struct cpu_mask usable;                                 /* The process's mask; never empty. */
    unsigned int n_nodes;                                   /* That have CPUs; 0: not known. */
    int node_id[MACHINE_MAX_NODES];                         /* The kernel's number of each. */
    int16_t node[MACHINE_MAX_CPUS];                         /* Of each CPU: an index, or UNKNOWN. */
    uint8_t distance[MACHINE_MAX_NODES][MACHINE_MAX_NODES]; /* As the firmware tells it; 10: the same node. */
};

/* Reads the machine that this is, and the mask of the calling thread.  What the system does not say (no /sys, no
 * NUMA) is filled in: all numbers are possible, all possible ones online, nodes unknown. */
void machine_read(struct machine *ret_machine);

#endif
