/* Unit tests of lib/dpif/dispatch-cpu.c: what the kernel is told of invented machines, and when.  The datapath is the
 * simulated one; the linker's --wrap shows each request for dispatch, and makes it fail. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/dpif/dispatch.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/dpif/dpif.h"
#include "lib/io/affinity.h"
#include "lib/io/placement.h"

static struct dpif *dpif;
static struct dpif_session *session;
static struct dispatch *d;
static struct machine m;

static unsigned int n_told;
static uint32_t told[MACHINE_MAX_CPUS];
static size_t n_cpus_told;
static int told_error; /* The next request's fate. */

int __real_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids);
int __wrap_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids);
int __wrap_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids)
{
    n_told++;
    if (told_error) {
        int error = told_error;
        told_error = 0;
        return error;
    }
    assert_true(n_pids <= MACHINE_MAX_CPUS);
    for (size_t i = 0; i < n_pids; i++) {
        told[i] = pids[i];
    }
    n_cpus_told = n_pids;
    return __real_dpif_set_dispatch(s, mode, pids, n_pids);
}

/* Two nodes with 64 CPUs each; numbers by fours, with holes of four. */
static int setup(void **state)
{
    memset(&m, 0, sizeof m);
    memset(m.node, 0xff, sizeof m.node);
    m.n_nodes = 2;
    m.node_id[1] = 1;
    m.distance[0][0] = m.distance[1][1] = 10;
    m.distance[0][1] = m.distance[1][0] = 20;
    for (unsigned int i = 0; i < 128; i++) {
        unsigned int cpu = i / 4 * 8 + i % 4;
        cpu_mask_set(&m.possible, cpu);
        cpu_mask_set(&m.online, cpu);
        cpu_mask_set(&m.usable, cpu);
        m.node[cpu] = i / 64;
        m.n_cpus = cpu + 1;
    }
    affinity_pretend(&m);
    n_told = 0;
    assert_int_equal(dpif_open("sim", "dp", &dpif, NULL), 0);
    assert_int_equal(dpif_session_open(dpif, &session), 0);
    return 0;
}

static int teardown(void **state)
{
    dispatch_close(d);
    d = NULL;
    dpif_session_close(session);
    dpif_close(dpif);
    sim_reset();
    affinity_pretend(NULL);
    return 0;
}

static void open_with(unsigned int n_handlers)
{
    assert_int_equal(dispatch_open(dpif, session, DPIF_DISPATCH_PER_CPU, n_handlers, NULL, 0, &d), 0);
}

/* What was told last is what placement says for N handlers. */
static void assert_told(unsigned int n)
{
    struct placement p;
    uint32_t of_handler[DISPATCH_MAX_HANDLERS] = { 0 };

    placement_make(affinity_machine(), n, &p);
    assert_int_equal(n_cpus_told, m.n_cpus);
    for (unsigned int cpu = 0; cpu < n_cpus_told; cpu++) {
        uint32_t *pid = &of_handler[p.handler[cpu]];
        assert_int_not_equal(told[cpu], 0);
        *pid = *pid ? *pid : told[cpu];
        assert_int_equal(told[cpu], *pid);
    }
    for (unsigned int a = 0; a < n; a++) {
        for (unsigned int b = 0; b < a; b++) {
            assert_true(!of_handler[a] || of_handler[a] != of_handler[b]);
        }
    }
}

/* Only CPUs FIRST..LAST may be used, of those that are online. */
static void use_only(unsigned int first, unsigned int last)
{
    memset(&m.usable, 0, sizeof m.usable);
    for (unsigned int cpu = first; cpu <= last; cpu++) {
        if (cpu_mask_has(&m.online, cpu)) {
            cpu_mask_set(&m.usable, cpu);
        }
    }
    affinity_pretend(&m);
}

static void every_number_that_a_cpu_can_have_gets_a_channel(void **state)
{
    open_with(8);
    assert_int_equal(n_told, 1);
    assert_int_equal(n_cpus_told, 252);
    assert_told(8);
}

static void more_and_fewer_handlers_are_told_at_once(void **state)
{
    open_with(3);
    assert_int_equal(dispatch_resize(d, 16), 0);
    assert_int_equal(n_told, 2);
    assert_told(16);
    assert_int_equal(dispatch_resize(d, 2), 0);
    assert_int_equal(n_told, 3);
    assert_told(2);
    dispatch_trim(d);
}

static void a_new_mask_is_told_only_if_it_changes_something(void **state)
{
    open_with(8);
    assert_int_equal(dispatch_place(d), 0);
    assert_int_equal(n_told, 1);
    /* Two CPUs fewer on either node: the same handlers for the same CPUs. */
    use_only(2, 249);
    assert_int_equal(dispatch_place(d), 0);
    assert_int_equal(n_told, 1);
    /* All handlers on the second node, so the CPUs of the first are dealt out anew. */
    use_only(128, 251);
    assert_int_equal(dispatch_place(d), 0);
    assert_int_equal(n_told, 2);
    assert_told(8);
    assert_int_equal(dispatch_place(d), 0);
    assert_int_equal(n_told, 2);
}

static void a_refusal_leaves_all_as_it_was_and_is_tried_again(void **state)
{
    open_with(8);
    use_only(128, 251);
    told_error = -ENOMEM;
    assert_int_equal(dispatch_place(d), -ENOMEM);
    assert_int_equal(dispatch_place(d), 0);
    assert_int_equal(n_told, 3);
    assert_told(8);
}

static void a_cpu_that_comes_has_a_handler_already(void **state)
{
    /* 252 to 255 may come. */
    for (unsigned int cpu = 252; cpu < 256; cpu++) {
        cpu_mask_set(&m.possible, cpu);
    }
    m.n_cpus = 256;
    affinity_pretend(&m);
    open_with(128);
    assert_int_equal(n_cpus_told, 256);
    assert_told(128);
}

static void per_port_there_is_nothing_to_tell(void **state)
{
    assert_int_equal(dispatch_open(dpif, session, DPIF_DISPATCH_PER_PORT, 4, NULL, 0, &d), 0);
    n_told = 0;
    use_only(128, 251);
    assert_int_equal(dispatch_place(d), 0);
    assert_int_equal(n_told, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_number_that_a_cpu_can_have_gets_a_channel, setup, teardown),
        cmocka_unit_test_setup_teardown(more_and_fewer_handlers_are_told_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_mask_is_told_only_if_it_changes_something, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_leaves_all_as_it_was_and_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cpu_that_comes_has_a_handler_already, setup, teardown),
        cmocka_unit_test_setup_teardown(per_port_there_is_nothing_to_tell, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
