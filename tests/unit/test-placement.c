/* Unit tests of lib/io/placement.c, with invented machines, and of machine_read() on the one that there is. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/io/placement.h"

static struct machine m;
static struct placement p;

static void machine_begin(unsigned int n_nodes)
{
    memset(&m, 0, sizeof m);
    memset(m.node, 0xff, sizeof m.node); /* Unknown. */
    m.n_nodes = n_nodes;
    for (unsigned int a = 0; a < n_nodes; a++) {
        m.node_id[a] = a;
        for (unsigned int b = 0; b < n_nodes; b++) {
            m.distance[a][b] = a == b ? 10 : 20;
        }
    }
}

/* CPU, possible; on NODE; online and usable if ONLINE. */
static void machine_cpu(unsigned int cpu, int node, bool online)
{
    if (cpu >= MACHINE_MAX_CPUS) {
        abort();
    }
    cpu_mask_set(&m.possible, cpu);
    m.n_cpus = MAX(m.n_cpus, cpu + 1);
    m.node[cpu] = node;
    if (online) {
        cpu_mask_set(&m.online, cpu);
        cpu_mask_set(&m.usable, cpu);
    }
}

static void use_only(const char *list)
{
    memset(&m.usable, 0, sizeof m.usable);
    while (*list) {
        char *end;
        unsigned int first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned int cpu = first; cpu <= last; cpu++) {
            cpu_mask_set(&m.usable, cpu);
        }
        list = *end == ',' ? end + 1 : end;
    }
}

/* What must hold for any machine and any number of handlers. */
static void check(unsigned int n)
{
    unsigned int online[PLACEMENT_MAX_HANDLERS] = { 0 }, all[PLACEMENT_MAX_HANDLERS] = { 0 };
    unsigned int n_online = cpu_mask_count(&m.online), n_possible = cpu_mask_count(&m.possible);

    placement_make(&m, n, &p);
    assert_int_equal(p.n_cpus, m.n_cpus);
    assert_int_equal(p.n_handlers, n);
    for (unsigned int cpu = 0; cpu < MIN(m.n_cpus, MACHINE_MAX_CPUS); cpu++) {
        assert_true(p.handler[cpu] < n);
        online[p.handler[cpu]] += cpu_mask_has(&m.online, cpu);
        all[p.handler[cpu]] += cpu_mask_has(&m.possible, cpu);
    }
    for (unsigned int h = 0; h < n; h++) {
        struct cpu_mask cpus, both;
        assert_true(online[h] >= n_online / n && online[h] <= (n_online + n - 1) / n);
        assert_true(all[h] >= n_possible / n && all[h] <= (n_possible + n - 1) / n);
        placement_cpus(&p, &m, h, &cpus);
        assert_true(cpu_mask_count(&cpus) > 0);
        CPU_AND_S(sizeof both.words, both.words, cpus.words, m.usable.words);
        assert_true(cpu_mask_equal(&cpus, &both));
        assert_true(m.n_nodes > 1 || cpu_mask_equal(&cpus, &m.usable));
    }
}

static void check_some(void)
{
    for (unsigned int n = 1; n <= PLACEMENT_MAX_HANDLERS; n = n < 8 ? n + 1 : 2 * n) {
        check(n);
    }
}

/* How many handlers that serve a CPU of theirs do so on another node than their home. */
static unsigned int n_remote(void)
{
    unsigned int n = 0;
    for (unsigned int cpu = 0; cpu < MIN(m.n_cpus, MACHINE_MAX_CPUS); cpu++) {
        n += cpu_mask_has(&m.online, cpu) && m.node[cpu] != p.home[p.handler[cpu]];
    }
    return n;
}

static void assert_cpus(unsigned int h, const char *expected)
{
    struct cpu_mask cpus;
    placement_cpus(&p, &m, h, &cpus);
    char *text = cpu_mask_format(&cpus);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- */

static void one_cpu_is_enough(void **state)
{
    machine_begin(0);
    machine_cpu(0, MACHINE_NODE_UNKNOWN, true);
    check_some();
    check(1);
    assert_cpus(0, "0");
    assert_int_equal(placement_n_handlers(&m), 1);
    assert_int_equal(placement_n_revalidators(&m), 1);
}

static void on_one_node_nobody_is_pinned_and_each_cpu_has_its_handler(void **state)
{
    machine_begin(1);
    for (unsigned int cpu = 0; cpu < 4; cpu++) {
        machine_cpu(cpu, 0, true);
    }
    check_some();
    check(4);
    for (unsigned int cpu = 0; cpu < 4; cpu++) {
        assert_int_equal(p.handler[cpu], cpu);
        assert_cpus(cpu, "0-3");
    }
    use_only("1,3");
    assert_int_equal(placement_n_handlers(&m), 2);
    check(2);
    assert_cpus(0, "1,3");
}

static void four_nodes_are_served_from_near(void **state)
{
    machine_begin(4);
    for (unsigned int cpu = 0; cpu < 128; cpu++) {
        machine_cpu(cpu, cpu / 32, true);
    }
    check_some();
    check(128);
    assert_int_equal(n_remote(), 0);
    check(8);
    assert_int_equal(n_remote(), 0);
    for (unsigned int h = 0; h < 8; h++) {
        static const char *const cpus[] = { "0-31", "32-63", "64-95", "96-127" };
        assert_cpus(h, cpus[p.home[h]]);
    }
    assert_int_equal(placement_n_handlers(&m), 128);
    assert_int_equal(placement_n_revalidators(&m), 33);
}

static void interleaved_numbers_with_holes_are_served_from_near(void **state)
{
    /* 128 CPUs, numbers up to 1020: node by number modulo 4. */
    machine_begin(4);
    for (unsigned int i = 0; i < 128; i++) {
        machine_cpu(8 * i + i % 4 + (i / 64) * 1, i % 4, true);
    }
    check_some();
    check(128);
    assert_int_equal(n_remote(), 0);
}

static void a_mask_on_one_node_serves_all_evenly(void **state)
{
    machine_begin(4);
    for (unsigned int cpu = 0; cpu < 128; cpu++) {
        machine_cpu(cpu, cpu / 32, true);
    }
    use_only("32-39");
    assert_int_equal(placement_n_handlers(&m), 8);
    check_some();
    check(8);
    for (unsigned int h = 0; h < 8; h++) {
        assert_int_equal(p.home[h], 1);
        assert_cpus(h, "32-39");
    }
}

static void a_lone_cpu_of_a_node_is_no_place_to_be_tied_to(void **state)
{
    machine_begin(2);
    for (unsigned int cpu = 0; cpu < 16; cpu++) {
        machine_cpu(cpu, cpu / 8, true);
    }
    use_only("0,8-15");
    check(9);
    unsigned int on_node0 = 0;
    for (unsigned int h = 0; h < 9; h++) {
        on_node0 += p.home[h] == 0;
        assert_cpus(h, p.home[h] == 0 ? "0,8-15" : "8-15");
    }
    assert_int_equal(on_node0, 1);
}

static void what_is_far_takes_the_nearest_that_has_room(void **state)
{
    /* Node 2 has no CPU to use; node 1 is next to it. */
    machine_begin(3);
    for (unsigned int cpu = 0; cpu < 12; cpu++) {
        machine_cpu(cpu, cpu / 4, true);
    }
    m.distance[0][2] = m.distance[2][0] = 40;
    use_only("0-7");
    check(8);
    unsigned int near = 0;
    for (unsigned int cpu = 8; cpu < 12; cpu++) {
        near += p.home[p.handler[cpu]] == 1;
    }
    assert_int_equal(near, 4);
}

static void what_is_far_does_not_take_the_room_of_what_is_near(void **state)
{
    /* Node 2, whose numbers come first, has no CPU to use and is next to node 1. */
    machine_begin(3);
    for (unsigned int cpu = 0; cpu < 12; cpu++) {
        machine_cpu(cpu, (cpu / 4 + 2) % 3, true);
    }
    m.distance[0][2] = m.distance[2][0] = 40;
    use_only("4-11");
    check(2);
    for (unsigned int cpu = 4; cpu < 12; cpu++) {
        assert_int_equal(p.home[p.handler[cpu]], m.node[cpu]);
    }
}

static void cpus_that_may_come_have_a_handler_already(void **state)
{
    machine_begin(2);
    for (unsigned int cpu = 0; cpu < 64; cpu++) {
        machine_cpu(cpu, cpu < 8 ? cpu / 4 : MACHINE_NODE_UNKNOWN, cpu < 8);
    }
    check_some();
    check(8);
    struct placement before = p;

    /* Four come: those that were there keep their handlers. */
    for (unsigned int cpu = 8; cpu < 12; cpu++) {
        machine_cpu(cpu, 1, true);
    }
    use_only("0-7");
    check(8);
    for (unsigned int cpu = 0; cpu < 8; cpu++) {
        assert_int_equal(p.handler[cpu], before.handler[cpu]);
    }
}

static void offline_cpus_do_not_unbalance_those_that_work(void **state)
{
    /* Every other one is off (SMT disabled). */
    machine_begin(1);
    for (unsigned int cpu = 0; cpu < 64; cpu++) {
        machine_cpu(cpu, cpu % 2 ? MACHINE_NODE_UNKNOWN : 0, cpu % 2 == 0);
    }
    check_some();
    check(32);
    unsigned int n[32] = { 0 };
    for (unsigned int cpu = 0; cpu < 64; cpu += 2) {
        n[p.handler[cpu]]++;
    }
    for (unsigned int h = 0; h < 32; h++) {
        assert_int_equal(n[h], 1);
    }
}

static void a_handlers_home_does_not_depend_on_their_number(void **state)
{
    machine_begin(4);
    for (unsigned int cpu = 0; cpu < 100; cpu++) {
        machine_cpu(cpu, cpu < 40 ? 0 : cpu < 70 ? 1 : cpu < 90 ? 2 : 3, true);
    }
    check(100);
    struct placement all = p;
    unsigned int n[4] = { 0 };
    for (unsigned int h = 0; h < 100; h++) {
        n[p.home[h]]++;
    }
    assert_int_equal(n[0], 40);
    assert_int_equal(n[1], 30);
    assert_int_equal(n[2], 20);
    assert_int_equal(n[3], 10);
    for (unsigned int k = 1; k < 100; k++) {
        placement_make(&m, k, &p);
        assert_memory_equal(p.home, all.home, k * sizeof *p.home);
    }
}

static void the_largest_machine_is_placed(void **state)
{
    machine_begin(MACHINE_MAX_NODES);
    for (unsigned int cpu = 0; cpu < MACHINE_MAX_CPUS; cpu++) {
        machine_cpu(cpu, cpu % MACHINE_MAX_NODES, true);
    }
    check(1);
    check(PLACEMENT_MAX_HANDLERS);
    assert_int_equal(n_remote(), 0);
}

static void random_machines_are_placed(void **state)
{
    srandom(3);
    for (unsigned int i = 0; i < 300; i++) {
        unsigned int n_nodes = random() % 5;
        machine_begin(n_nodes);
        for (unsigned int cpu = 0; cpu < 1 + random() % 200; cpu++) {
            if (random() % 3) {
                machine_cpu(cpu, n_nodes && random() % 10 ? random() % n_nodes : MACHINE_NODE_UNKNOWN, random() % 2);
            }
        }
        machine_cpu(random() % 200, MACHINE_NODE_UNKNOWN, true);
        check(1 + random() % PLACEMENT_MAX_HANDLERS);
        check(1 + random() % 8);
    }
}

static void masks_are_printed_as_taskset_prints_them(void **state)
{
    static const char *const lists[] = { "", "0", "0-1", "0-3,7,9-10", "8191", "0,8190-8191" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        use_only(lists[i]);
        char *text = cpu_mask_format(&m.usable);
        assert_string_equal(text, lists[i]);
        free(text);
    }
}

static void this_machine_is_read(void **state)
{
    machine_read(&m);
    assert_true(m.n_cpus >= 1 && m.n_cpus <= MACHINE_MAX_CPUS);
    assert_true(cpu_mask_count(&m.usable) >= 1);
    assert_true(cpu_mask_count(&m.usable) <= cpu_mask_count(&m.possible));
    assert_true(cpu_mask_has(&m.possible, m.n_cpus - 1));
    assert_true(cpu_mask_has(&m.usable, sched_getcpu()));
    for (unsigned int cpu = 0; cpu < MACHINE_MAX_CPUS; cpu++) {
        assert_true(m.node[cpu] == MACHINE_NODE_UNKNOWN || (unsigned int) m.node[cpu] < m.n_nodes);
    }
    check_some();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cpu_is_enough),
        cmocka_unit_test(on_one_node_nobody_is_pinned_and_each_cpu_has_its_handler),
        cmocka_unit_test(four_nodes_are_served_from_near),
        cmocka_unit_test(interleaved_numbers_with_holes_are_served_from_near),
        cmocka_unit_test(a_mask_on_one_node_serves_all_evenly),
        cmocka_unit_test(a_lone_cpu_of_a_node_is_no_place_to_be_tied_to),
        cmocka_unit_test(what_is_far_takes_the_nearest_that_has_room),
        cmocka_unit_test(what_is_far_does_not_take_the_room_of_what_is_near),
        cmocka_unit_test(cpus_that_may_come_have_a_handler_already),
        cmocka_unit_test(offline_cpus_do_not_unbalance_those_that_work),
        cmocka_unit_test(a_handlers_home_does_not_depend_on_their_number),
        cmocka_unit_test(the_largest_machine_is_placed),
        cmocka_unit_test(random_machines_are_placed),
        cmocka_unit_test(masks_are_printed_as_taskset_prints_them),
        cmocka_unit_test(this_machine_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
