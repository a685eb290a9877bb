/* See machine.h.
 *
 * Main only: libnuma keeps what it has read in variables of its own.  The node of a CPU that is possible but not
 * online is not known (the kernel itself may learn it when the CPU comes); it is read again when the process's mask
 * changes, which it does when a CPU comes online or goes. */
#include <config.h>

#include "lib/io/machine.h"

#include <errno.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"

char *cpu_mask_format(const struct cpu_mask *m)
{
    struct text text;
    FILE *f = text_open(&text);
    const char *comma = "";

    for (unsigned int cpu = 0; cpu < MACHINE_MAX_CPUS; cpu++) {
        if (!cpu_mask_has(m, cpu)) {
            continue;
        }
        unsigned int first = cpu;
        while (cpu + 1 < MACHINE_MAX_CPUS && cpu_mask_has(m, cpu + 1)) {
            cpu++;
        }
        fprintf(f, "%s%u", comma, first);
        if (cpu > first) {
            fprintf(f, "-%u", cpu);
        }
        comma = ",";
    }
    return text_close(&text);
}

int cpu_mask_of_thread(pid_t tid, struct cpu_mask *ret_mask)
{
    struct cpu_mask mask;

    CPU_ZERO_S(sizeof mask.words, mask.words);
    if (sched_getaffinity(tid, sizeof mask.words, mask.words) < 0) {
        return -errno;
    }
    *ret_mask = mask;
    return 0;
}

/* Reads a list of CPUs from a file of /sys.  Returns false, leaving *RET_MASK alone, if there is none. */
static bool read_list(const char *file_name, struct cpu_mask *ret_mask)
{
    struct cpu_mask mask;
    char *line = NULL;
    size_t size = 0;
    FILE *f = fopen(file_name, "re");

    if (!f) {
        return false;
    }
    ssize_t n = getline(&line, &size, f);
    fclose(f);
    if (n > 0) {
        line[strcspn(line, "\n")] = '\0';
    }
    struct bitmask *cpus = n > 0 && line[0] ? numa_parse_cpustring_all(line) : NULL;
    free(line);
    if (!cpus) {
        return false;
    }
    CPU_ZERO_S(sizeof mask.words, mask.words);
    for (unsigned int cpu = 0; cpu < MIN(cpus->size, MACHINE_MAX_CPUS); cpu++) {
        if (numa_bitmask_isbitset(cpus, cpu)) {
            cpu_mask_set(&mask, cpu);
        }
    }
    numa_bitmask_free(cpus);
    if (!cpu_mask_count(&mask)) {
        return false;
    }
    *ret_mask = mask;
    return true;
}

static void read_cpus(struct machine *m)
{
    if (!read_list("/sys/devices/system/cpu/possible", &m->possible)) {
        /* libnuma's figure is the size of the kernel's mask, which is rounded up. */
        long n = MAX(numa_num_possible_cpus(), sysconf(_SC_NPROCESSORS_CONF));
        for (long cpu = 0; cpu < MIN(MAX(n, 1), MACHINE_MAX_CPUS); cpu++) {
            cpu_mask_set(&m->possible, cpu);
        }
    }
    if (!read_list("/sys/devices/system/cpu/online", &m->online)) {
        m->online = m->possible;
    }
    if (cpu_mask_of_thread(0, &m->usable) || !cpu_mask_count(&m->usable)) {
        m->usable = m->online;
    }
    for (unsigned int cpu = 0; cpu < MACHINE_MAX_CPUS; cpu++) {
        if (cpu_mask_has(&m->online, cpu) || cpu_mask_has(&m->usable, cpu)) {
            cpu_mask_set(&m->possible, cpu); /* Should the kernel contradict itself. */
        }
        if (cpu_mask_has(&m->possible, cpu)) {
            m->n_cpus = cpu + 1;
        }
    }
}

/* Takes the CPUs of the kernel's node ID for node INDEX; returns false if it has none (memory only). */
static bool read_node(struct machine *m, int id, unsigned int index, struct bitmask *cpus)
{
    bool any = false;

    numa_node_to_cpu_update(); /* What it has read may be of before a CPU came.  It holds for the next call only. */
    if (numa_node_to_cpus(id, cpus) < 0) {
        return false;
    }
    for (unsigned int cpu = 0; cpu < MIN(cpus->size, m->n_cpus); cpu++) {
        if (numa_bitmask_isbitset(cpus, cpu)) {
            m->node[cpu] = index;
            any = true;
        }
    }
    m->node_id[index] = id;
    return any;
}

static void read_nodes(struct machine *m)
{
    if (numa_available() < 0) {
        return;
    }
    struct bitmask *cpus = numa_allocate_cpumask();
    for (int id = 0; id <= numa_max_node() && m->n_nodes < MACHINE_MAX_NODES; id++) {
        m->n_nodes += read_node(m, id, m->n_nodes, cpus);
    }
    numa_bitmask_free(cpus);
    for (unsigned int a = 0; a < m->n_nodes; a++) {
        for (unsigned int b = 0; b < m->n_nodes; b++) {
            int d = numa_distance(m->node_id[a], m->node_id[b]);
            m->distance[a][b] = d > 0 ? MIN(d, UINT8_MAX) : a == b ? 10 : 20;
        }
    }
}

void machine_read(struct machine *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned int cpu = 0; cpu < MACHINE_MAX_CPUS; cpu++) {
        m->node[cpu] = MACHINE_NODE_UNKNOWN;
    }
    read_cpus(m);
    read_nodes(m);
}
