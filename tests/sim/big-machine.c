/* The machine of the large worlds: 128 CPUs on four nodes, whose numbers have holes, and which come one by one.
 *
 *     numbers   0 1 2 3 . 5 6 7 8 . …        every fifth is of no CPU and never will be
 *     nodes     40 numbers each, 32 CPUs; a node that no CPU is up of is not known yet, as in the kernel
 *
 * It is what affinity_pretend() gives the engine: nothing here touches the CPUs of the machine that this is. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/hash.h"
#include "lib/io/affinity.h"
#include "lib/io/placement.h"
#include "tests/sim/big-world.h"

static struct machine m;

static bool is_hole(unsigned int cpu) { return cpu % 5 == 4; }

static void online(unsigned int cpu)
{
    cpu_mask_set(&m.online, cpu);
    cpu_mask_set(&m.usable, cpu);
    m.node[cpu] = cpu / (BIG_CPU_NUMBERS / BIG_N_NODES);
    m.n_nodes = MAX(m.n_nodes, (unsigned int) m.node[cpu] + 1);
}

void big_machine_begin(uint64_t seed, unsigned int n_online)
{
    memset(&m, 0, sizeof m);
    memset(m.node, 0xff, sizeof m.node); /* Unknown. */
    for (unsigned int cpu = 0; cpu < BIG_CPU_NUMBERS; cpu++) {
        if (!is_hole(cpu)) {
            cpu_mask_set(&m.possible, cpu);
            m.n_cpus = cpu + 1;
        }
    }
    assert_int_equal(cpu_mask_count(&m.possible), BIG_N_CPUS);
    for (unsigned int a = 0; a < BIG_N_NODES; a++) {
        m.node_id[a] = a;
        for (unsigned int b = 0; b < BIG_N_NODES; b++) {
            m.distance[a][b] = a == b ? 10 : (a ^ b) == 1 ? 16 : 32; /* Two sockets of two nodes. */
        }
    }
    big_machine_add(n_online);
}

unsigned int big_machine_add(unsigned int n)
{
    unsigned int n_added = 0;
    for (unsigned int cpu = 0; cpu < m.n_cpus && n_added < n; cpu++) {
        if (cpu_mask_has(&m.possible, cpu) && !cpu_mask_has(&m.online, cpu)) {
            online(cpu);
            n_added++;
        }
    }
    affinity_pretend(&m);
    return n_added;
}

void big_machine_mask(uint64_t seed, unsigned int n)
{
    unsigned int n_online = cpu_mask_count(&m.online), first = hash_u64(seed, 1) % n_online;

    n = MIN(MAX(n, 1), n_online);
    memset(&m.usable, 0, sizeof m.usable);
    for (unsigned int cpu = 0, i = 0; cpu < m.n_cpus; cpu++) {
        if (cpu_mask_has(&m.online, cpu) && (i++ + n_online - first) % n_online < n) {
            cpu_mask_set(&m.usable, cpu);
        }
    }
    assert_int_equal(cpu_mask_count(&m.usable), n);
    affinity_pretend(&m);
}

void big_machine_end(void) { affinity_pretend(NULL); }
unsigned int big_machine_n_online(void) { return cpu_mask_count(&m.online); }

/* ---- What placement owes such a machine. ---- */

/* Handlers whose home is NODE have CPUs to run on there, and their number is the node's share, to within one. */
static void check_node(const struct placement *p, unsigned int node)
{
    unsigned int n_usable = 0, n_homes = 0, total = cpu_mask_count(&m.usable);

    for (unsigned int cpu = 0; cpu < m.n_cpus; cpu++) {
        n_usable += cpu_mask_has(&m.usable, cpu) && m.node[cpu] == (int) node;
    }
    for (unsigned int h = 0; h < p->n_handlers; h++) {
        n_homes += p->home[h] == (int) node;
    }
    unsigned int share = p->n_handlers * n_usable;
    assert_true(n_homes * total < share + total && share < n_homes * total + total);
}

static void check_runs_at_home(const struct placement *p, unsigned int h)
{
    struct cpu_mask cpus, on_node;
    unsigned int n_at_home = 0;

    placement_cpus(p, &m, h, &cpus);
    assert_true(cpu_mask_count(&cpus) > 0);
    CPU_AND_S(sizeof on_node.words, on_node.words, cpus.words, m.usable.words);
    assert_true(cpu_mask_equal(&on_node, &cpus));
    for (unsigned int cpu = 0; cpu < m.n_cpus; cpu++) {
        n_at_home += cpu_mask_has(&m.usable, cpu) && m.node[cpu] == p->home[h];
    }
    /* A lone CPU is no choice: then it is the whole mask. */
    if (m.n_nodes > 1 && n_at_home > 1) {
        assert_int_equal(cpu_mask_count(&cpus), n_at_home);
        for (unsigned int cpu = 0; cpu < m.n_cpus; cpu++) {
            assert_true(!cpu_mask_has(&cpus, cpu) || m.node[cpu] == p->home[h]);
        }
    }
}

void big_check_placement(unsigned int n)
{
    unsigned int n_online = cpu_mask_count(&m.online), serves[PLACEMENT_MAX_HANDLERS] = { 0 };
    bool all = cpu_mask_equal(&m.usable, &m.online);
    struct placement p;

    placement_make(&m, n, &p);
    assert_int_equal(p.n_cpus, m.n_cpus);
    for (unsigned int cpu = 0; cpu < m.n_cpus; cpu++) {
        assert_true(p.handler[cpu] < n);
        serves[p.handler[cpu]] += cpu_mask_has(&m.online, cpu);
        /* A handler for each CPU, no mask: each serves one of its own node. */
        if (all && n == n_online && cpu_mask_has(&m.online, cpu)) {
            assert_int_equal(p.home[p.handler[cpu]], m.node[cpu]);
        }
    }
    for (unsigned int h = 0; h < n; h++) {
        assert_true(serves[h] >= n_online / n && serves[h] <= (n_online + n - 1) / n);
        check_runs_at_home(&p, h);
    }
    for (unsigned int node = 0; node < m.n_nodes; node++) {
        check_node(&p, node);
    }
}
