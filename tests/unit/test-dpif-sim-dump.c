/* The simulated datapath under many threads and many flows: dumps, and sums that must come out. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "lib/base/util.h"
#include "tests/unit/dpif-sim-kit.h"

#define N_DUMPERS 3
#define N_STABLE  20000

/* How often a dump reported the flow to MAC I. */
static unsigned int *seen;
static size_t n_seen;

struct dumper {
    struct dpif_flow_dump *dump;
    bool terse;
    unsigned int n;
    int error;
};

/* Counts F, which its UFID {1, I} names.  False: there is no such flow.  (No assertion: cmocka's are main's.) */
static bool note_seen(const struct dpif_flow *f)
{
    if (!f->has_ufid || f->ufid.hi != 1 || f->ufid.lo >= n_seen) {
        return false;
    }
    __atomic_add_fetch(&seen[f->ufid.lo], 1, __ATOMIC_RELAXED);
    return true;
}

static void *dumper_main(void *d_)
{
    struct dumper *d = d_;
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(d->dump);
    struct dpif_flow flows[50];
    int n;

    while ((n = dpif_flow_dump_next(t, flows, 50)) > 0) {
        for (int i = 0; i < n; i++) {
            d->n += note_seen(&flows[i]) && (flows[i].key != NULL) != d->terse;
        }
    }
    d->error = n;
    dpif_flow_dump_thread_destroy(t);
    return NULL;
}

/* Dumps with N_DUMPERS threads while WORK (may be NULL) runs; returns the flows reported. */
static unsigned int dump_all(bool terse, void (*work)(void))
{
    struct dumper d[N_DUMPERS];
    pthread_t threads[N_DUMPERS];
    struct dpif_flow_dump *dump;
    unsigned int n = 0;

    memset(seen, 0, n_seen * sizeof *seen);
    assert_int_equal(dpif_flow_dump_create(dpif, terse, &dump), 0);
    for (int i = 0; i < N_DUMPERS; i++) {
        d[i] = (struct dumper){ .dump = dump, .terse = terse };
        assert_int_equal(pthread_create(&threads[i], NULL, dumper_main, &d[i]), 0);
    }
    if (work) {
        work();
    }
    for (int i = 0; i < N_DUMPERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(d[i].error, 0);
        n += d[i].n;
    }
    assert_int_equal(dpif_flow_dump_destroy(dump), 0);
    return n;
}

/* Puts (or deletes) the flow to MAC I under UFID {1, I}, by requests made as cheaply as may be. */
static int request(struct flow_req *r, enum dpif_op_type type, uint32_t i)
{
    struct dpif_op *op = &r->op;
    r->flow.eth_dst = mac(i);
    attrs_of(r->key, sizeof r->key, &r->flow, NULL, &op->flow.key, &op->flow.key_len);
    op->type = type;
    op->flow.ufid = (struct ufid){ 1, i };
    dpif_operate(session, &op, 1);
    return op->error;
}

static void requests_init(struct flow_req *r)
{
    req_init(r, DPIF_OP_FLOW_PUT, 1, udp(1, 2));
    odp_put_output(&r->actions_buf, odp(1));
    r->op.flow.has_ufid = true;
    r->op.flow.actions = attrbuf_data(&r->actions_buf);
    r->op.flow.actions_len = attrbuf_len(&r->actions_buf);
    attrs_of(r->mask, sizeof r->mask, &r->flow, &r->mask_flow, &r->op.flow.mask, &r->op.flow.mask_len);
}

static void put_many(uint32_t from, uint32_t to)
{
    struct flow_req r;
    requests_init(&r);
    for (uint32_t i = from; i < to; i++) {
        assert_int_equal(request(&r, DPIF_OP_FLOW_PUT, i), 0);
    }
}

static void seen_init(size_t n)
{
    seen = xcalloc(n, sizeof *seen);
    n_seen = n;
}

static void test_three_threads_see_each_flow_once(void **state)
{
    seen_init(N_STABLE);
    put_many(0, N_STABLE);
    for (int terse = 0; terse < 2; terse++) {
        assert_int_equal(dump_all(terse, NULL), N_STABLE);
        for (int i = 0; i < N_STABLE; i++) {
            assert_int_equal(seen[i], 1);
        }
    }
    free(seen);
}

static void churn(void)
{
    struct flow_req r;
    requests_init(&r);
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(request(&r, DPIF_OP_FLOW_PUT, N_STABLE + i), 0);
        if (i >= 1000) {
            assert_int_equal(request(&r, DPIF_OP_FLOW_DEL, N_STABLE + i - 1000), 0);
        }
    }
}

static void test_dump_under_churn_sees_each_lasting_flow_once(void **state)
{
    seen_init(N_STABLE + 3000);
    put_many(0, N_STABLE);
    dump_all(true, churn);
    for (int i = 0; i < N_STABLE; i++) {
        assert_int_equal(seen[i], 1);
    }
    assert_int_equal(stats().n_flows, N_STABLE + 1000);
    free(seen);
}

static void test_dump_faults_repeat_omit_and_fail(void **state)
{
    seen_init(100);
    put_many(0, 100);
    sim_set_fault(dpif, SIM_FAULT_DUMP_REPEAT, 3);
    assert_int_equal(dump_all(true, NULL), 103);
    assert_true(seen[0] == 2 && seen[1] == 2 && seen[2] == 2 && seen[3] == 1);
    sim_set_fault(dpif, SIM_FAULT_DUMP_OMIT, 2);
    assert_int_equal(dump_all(true, NULL), 98);
    assert_true(seen[0] == 0 && seen[1] == 0 && seen[2] == 1);
    assert_int_equal(dump_all(true, NULL), 100);

    struct dpif_flow_dump *dump;
    struct dpif_flow f;
    assert_int_equal(dpif_flow_dump_create(dpif, true, &dump), 0);
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    sim_set_fault(dpif, SIM_FAULT_DUMP_FAIL, 1);
    assert_int_equal(dpif_flow_dump_next(t, &f, 1), -EINTR);
    assert_int_equal(dpif_flow_dump_next(t, &f, 1), 1);
    dpif_destroy(session);
    assert_int_equal(dpif_flow_dump_next(t, &f, 1), -ENODEV);
    dpif_flow_dump_thread_destroy(t);
    assert_int_equal(dpif_flow_dump_destroy(dump), -EINTR);
    free(seen);
}

/* Puts the flow to MAC I with N_ACTIONS actions. */
static void put_long(uint32_t i, int n_actions)
{
    size_t size = n_actions * 8 + 64;
    struct flow_req r;
    struct attrbuf b;

    requests_init(&r);
    attrbuf_init(&b, xzalloc(size), size);
    while (n_actions--) {
        odp_put_output(&b, odp(1));
    }
    assert_false(b.overflow);
    r.op.flow.actions = attrbuf_data(&b);
    r.op.flow.actions_len = attrbuf_len(&b);
    assert_int_equal(request(&r, DPIF_OP_FLOW_PUT, i), 0);
    free(b.nlh);
}

static void test_actions_too_long_for_a_dump_are_left_out(void **state)
{
    struct dpif_flow_dump *dump;
    struct dpif_flow flows[10];
    int n, n_flows = 0;

    put_many(0, 5);
    put_long(5, 8180); /* Longer than any buffer has room for. */
    put_many(6, 8);
    put_long(8, 5000); /* Each fits, but not two together. */
    put_long(9, 5000);

    assert_int_equal(dpif_flow_dump_create(dpif, false, &dump), 0);
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    while ((n = dpif_flow_dump_next(t, flows, 10)) > 0) {
        for (int i = 0; i < n; i++) {
            assert_int_equal(flows[i].ufid.lo, n_flows++);
            assert_int_equal(flows[i].actions_omitted, flows[i].ufid.lo == 5);
        }
    }
    dpif_flow_dump_thread_destroy(t);
    dpif_flow_dump_destroy(dump);
    assert_int_equal(n_flows, 10);
    /* Alone it comes whole. */
    struct ufid ufid = { 1, 5 };
    assert_int_equal(dpif_flow_get(session, &ufid, NULL, 0, &flows[0]), 0);
    assert_int_equal(flows[0].actions_len, 8180 * 8);
}

static void test_two_hundred_thousand_flows(void **state)
{
    const uint32_t n = 200000;
    seen_init(n);
    port_add("p1", 0);
    put_many(0, n);
    assert_int_equal(stats().n_flows, n);
    for (uint32_t i = 0; i < n; i += 97) {
        inject(1, 0, udp(1, i));
    }
    assert_int_equal(stats().n_missed, 0);
    assert_int_equal(stats().n_hit, (n + 96) / 97);
    assert_int_equal(dump_all(true, NULL), n);
    assert_int_equal(dpif_flow_flush(session), 0);
    assert_int_equal(stats().n_flows, 0);
    assert_int_equal(dump_all(true, NULL), 0);
    free(seen);
}

/* ---- Many threads. ---- */

#define N_INJECTORS 3
#define N_PACKETS   3000
static unsigned int injectors_done;

static void *injector_main(void *cpu)
{
    for (int i = 0; i < N_PACKETS; i++) {
        inject(1, (uintptr_t) cpu, udp(1, i));
    }
    __atomic_add_fetch(&injectors_done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void test_every_miss_is_delivered_or_counted_lost(void **state)
{
    static struct chan ch[2];
    pthread_t threads[N_INJECTORS];
    uint64_t n_read = 0, n_drops = 0;
    uint32_t pids[2];
    bool done;

    injectors_done = 0;
    for (int i = 0; i < 2; i++) {
        chan_open(&ch[i], 20 * CHARGE);
        pids[i] = ch[i].pid;
    }
    port_add("p1", 0);
    dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, pids, 2);
    for (uintptr_t i = 0; i < N_INJECTORS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, injector_main, (void *) i), 0);
    }
    do {
        done = __atomic_load_n(&injectors_done, __ATOMIC_ACQUIRE) == N_INJECTORS;
        n_read += chan_drain(&ch[0]) + chan_drain(&ch[1]);
    } while (!done);
    for (int i = 0; i < N_INJECTORS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sim_channel_depth(dpif, ch[i].pid), 0);
        n_drops += dpif_channel_drops(dpif, ch[i].fd);
        chan_close(&ch[i]);
    }
    assert_int_equal(stats().n_missed, N_INJECTORS * N_PACKETS);
    assert_int_equal(n_drops, stats().n_lost);
    assert_int_equal(n_read + n_drops, N_INJECTORS * N_PACKETS);
    assert_int_equal(n_read, counts().n_miss_upcalls);
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_three_threads_see_each_flow_once), T(test_dump_under_churn_sees_each_lasting_flow_once),
        T(test_dump_faults_repeat_omit_and_fail), T(test_actions_too_long_for_a_dump_are_left_out),
        T(test_two_hundred_thousand_flows),       T(test_every_miss_is_delivered_or_counted_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
