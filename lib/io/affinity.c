/* See affinity.h.
 *
 * How to tell.  `taskset -p PID` changes the mask of the main thread only, `taskset -a` that of every thread, a cpuset
 * that of every thread as far as it goes: what they have in common is that main's mask is then what was asked for.  So
 * main's mask is the process's, by definition, and we never set it ourselves; all others are set from it.  Asking for
 * it costs one system call, and since the kernel answers with CPUs that are online, a CPU that comes or goes shows as
 * well.
 *
 * Never setting main's mask has another use: the kernel remembers what a thread has asked for, and does not give it
 * more when its cpuset is widened.  Main has not asked, so it sees the whole of the cpuset; the others are then given
 * it.
 *
 * Whoever sets the mask of another thread by hand (taskset -p TID), or of every thread to what main has already, is
 * left alone until the process's changes: there are tools that do so each second, and no two should fight over a mask.
 *
 * A thread inherits the mask of the thread that made it, so one that is born while we go round may have the old one:
 * affinity_apply() goes round until nothing was left to change. */
#include <config.h>

#include "lib/io/affinity.h"

#include <dirent.h>
#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/compiler.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(affinity);

/* Rounds through the threads.  More than two take threads that are born all the time. */
#define MAX_ROUNDS 8

static struct machine machine;
static bool is_read, is_pretended;
static bool policy_set; /* By affinity_memory(), on main. */

const struct machine *affinity_machine(void)
{
    if (!is_read) {
        machine_read(&machine);
        is_read = true;
    }
    return &machine;
}

void affinity_pretend(const struct machine *m)
{
    is_read = is_pretended = m != NULL;
    if (m) {
        machine = *m;
    }
}

bool affinity_changed(void)
{
    struct cpu_mask old = affinity_machine()->usable, now;

    /* An empty mask is one of which no CPU is online: the kernel is about to give the thread others. */
    if (is_pretended || cpu_mask_of_thread(0, &now) || !cpu_mask_count(&now) || cpu_mask_equal(&now, &old)) {
        return false;
    }
    machine_read(&machine);
    char *was = cpu_mask_format(&old), *is = cpu_mask_format(&machine.usable);
    log_info("may run on CPUs %s (were %s)", is, was);
    free(was);
    free(is);
    return true;
}

/* ---- Threads. ---- */

/* Returns true if TID had another mask. */
static bool set_mask(pid_t tid, const struct cpu_mask *cpus)
{
    struct cpu_mask now;

    if (!cpu_mask_of_thread(tid, &now) && cpu_mask_equal(&now, cpus)) {
        return false;
    }
    if (sched_setaffinity(tid, sizeof cpus->words, cpus->words) < 0) {
        /* ESRCH: it has ended.  EINVAL: the mask has changed again, and that will be seen. */
        if (errno != ESRCH) {
            log_info_rl(6, "cannot set the CPUs of thread %ld (%s)", (long) tid, strerror(errno));
        }
        return false;
    }
    return true;
}

void affinity_pin(const struct affinity_pin *pin)
{
    if (!is_pretended) {
        set_mask(pin->tid, pin->cpus);
    }
}

static int compare_pins(const void *a, const void *b)
{
    const struct affinity_pin *x = a, *y = b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Goes through all threads but main once.  Returns how many were changed. */
static unsigned int apply_once(const struct affinity_pin *pins, size_t n_pins)
{
    unsigned int n_changed = 0;
    struct dirent *entry;
    DIR *dir = opendir("/proc/self/task");

    if (!dir) {
        log_warn_rl(1, "cannot look at this process's threads (/proc/self/task: %s)", strerror(errno));
        for (size_t i = 0; i < n_pins; i++) {
            set_mask(pins[i].tid, pins[i].cpus);
        }
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        struct affinity_pin key = { .tid = atoi(entry->d_name) };
        if (key.tid > 0 && key.tid != getpid()) {
            const struct affinity_pin *pin = bsearch(&key, pins, n_pins, sizeof *pins, compare_pins);
            n_changed += set_mask(key.tid, pin ? pin->cpus : &machine.usable);
        }
    }
    closedir(dir);
    return n_changed;
}

void affinity_apply(const struct affinity_pin *pins, size_t n_pins)
{
    if (is_pretended) {
        return;
    }
    struct affinity_pin *sorted = xcalloc(n_pins + 1, sizeof *sorted); /* Never NULL, for bsearch(). */
    for (size_t i = 0; i < n_pins; i++) {
        sorted[i] = pins[i];
    }
    qsort(sorted, n_pins, sizeof *sorted, compare_pins);
    unsigned int n_rounds = 0;
    while (apply_once(sorted, n_pins) && ++n_rounds < MAX_ROUNDS) {
        continue;
    }
    free(sorted);
}

/* ---- Memory. ---- */

void affinity_memory(int node)
{
    const struct machine *m = affinity_machine();
    unsigned long nodes[1024 / (8 * sizeof(unsigned long))] = { 0 };
    int mode;

    if (policy_set) {
        policy_set = false;
        set_mempolicy(MPOL_DEFAULT, NULL, 0);
    }
    if (node == MACHINE_NODE_UNKNOWN || m->n_nodes < 2 || is_pretended || get_mempolicy(&mode, NULL, 0, NULL, 0) < 0 ||
        mode != MPOL_DEFAULT) {
        return;
    }
    unsigned int id = m->node_id[node];
    if (id < 8 * sizeof nodes) {
        nodes[id / (8 * sizeof *nodes)] |= 1UL << id % (8 * sizeof *nodes);
        /* Where this fails, some memory is remote, no more. */
        policy_set = !set_mempolicy(MPOL_PREFERRED, nodes, 8 * sizeof nodes);
    }
}
