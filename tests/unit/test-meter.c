/* A bridge's meters: their numbers in the datapath that all bridges share, what is refused, what is counted, which rules go with them, and
 * what translation makes of them.  On the simulated datapath, without threads. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/openvswitch.h>

#include "lib/base/clock.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/loop.h"
#include "ofproto/engine.h"
#include "ofproto/meter.h"
#include "ofproto/ofproto-private.h"
#include "tests/unit/xlate-tables-kit.h"

/* ---- Faults, and the clock. ---- */

static int set_error;         /* What the next n_set_errors requests answer. */
static unsigned int n_set_errors;
static uint64_t later; /* ms. */

int __real_dpif_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret);
int __wrap_dpif_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret);
int __wrap_dpif_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret)
{
    return n_set_errors && n_set_errors-- ? set_error : __real_dpif_meter_set(s, id, meter, ret);
}

uint64_t __real_clock_msec(void);
uint64_t __wrap_clock_msec(void);
uint64_t __wrap_clock_msec(void) { return __real_clock_msec() + later; }

/* ---- What tests are made of. ---- */

static struct engine *engine;
static struct ofproto *bridges[2];
static struct meters *meters[2]; /* Theirs. */
static unsigned int n_changed;

static void tables_changed(void *aux) { n_changed++; }
static const struct ofproto_ops bridge_ops = { .changed = tables_changed };

static void open_datapath(void)
{
    const struct engine_settings settings = ENGINE_SETTINGS_DEFAULT;
    char *why = NULL;

    assert_int_equal(engine_create("sim", "meters", &settings, &engine, &why), 0);
    meters_datapath_opened();
}

static int setup(void **state)
{
    sim_reset();
    open_datapath();
    for (unsigned int i = 0; i < 2; i++) {
        bridges[i] = ofproto_create(loop_base(), i ? "b" : "a", &bridge_ops, NULL);
        meters[i] = tables_meters(ofproto_tables(bridges[i]));
    }
    n_set_errors = 0;
    return 0;
}

static int teardown(void **state)
{
    ofproto_destroy(bridges[0]);
    ofproto_destroy(bridges[1]);
    if (engine) {
        engine_destroy(engine, true);
        engine = NULL;
    }
    rcu_barrier();
    rcu_barrier(); /* What callbacks call back in turn. */
    sim_reset();
    return 0;
}

static const struct ofp_meter_mod *mod_of(uint32_t id, uint16_t flags, uint32_t rate, uint32_t burst)
{
    static uint8_t band[16];
    static struct ofp_meter_mod mod;

    band[1] = OFPMBT_DROP;
    band[3] = sizeof band;
    band[4] = band[5] = band[8] = band[9] = band[10] = 0;
    band[6] = rate >> 8;
    band[7] = rate;
    band[11] = burst;
    mod = (struct ofp_meter_mod) { .id = id, .flags = flags, .bands = { band, sizeof band } };
    return &mod;
}

static enum ofp_error add(unsigned int bridge, uint32_t id) { return meters_add(meters[bridge], mod_of(id, OFPMF_PKTPS, 1000, 0)); }

static uint32_t odp_of(unsigned int bridge, uint32_t id)
{
    uint32_t no = 0;

    rcu_read_lock();
    assert_true(meters_odp_id(meters[bridge], id, &no));
    rcu_read_unlock();
    return no;
}

static bool datapath_has(uint32_t no)
{
    struct dpif_meter_stats s;

    return !dpif_meter_get(engine_session(engine), no, &s);
}

/* N packets pass through the datapath's meter NO. */
static void pass(uint32_t no, unsigned int n)
{
    static const uint8_t frame[100];
    uint32_t memory[16], key_memory[16];
    struct attrbuf b, key;

    attrbuf_init(&b, memory, sizeof memory);
    attrbuf_put_u32(&b, OVS_ACTION_ATTR_METER, no);
    attrbuf_init(&key, key_memory, sizeof key_memory);
    attrbuf_put_u32(&key, OVS_KEY_ATTR_IN_PORT, 0);
    for (unsigned int i = 0; i < n; i++) {
        struct dpif_op op = { .type = DPIF_OP_EXECUTE, .execute = { .packet = frame, .packet_len = sizeof frame,
                                                                    .key = attrbuf_data(&key), .key_len = attrbuf_len(&key),
                                                                    .actions = attrbuf_data(&b), .actions_len = attrbuf_len(&b) } };
        struct dpif_op *ops[] = { &op };
        dpif_operate(engine_session(engine), ops, 1);
        assert_int_equal(op.error, 0);
    }
}

static struct dpif_meter_stats stats_of(unsigned int bridge, uint32_t id)
{
    struct dpif_meter_stats s;

    meter_get_stats(meters_find(meters[bridge], id), &s);
    return s;
}

/* ---- Numbers. ---- */

static void bridges_share_the_numbers_of_the_datapath(void **state)
{
    assert_int_equal(add(0, 5), OFPERR_NONE);
    assert_int_equal(add(1, 5), OFPERR_NONE);
    assert_int_equal(add(0, OFPM_CONTROLLER), OFPERR_NONE);
    assert_int_equal(odp_of(0, 5), 0);
    assert_int_equal(odp_of(1, 5), 1);
    assert_int_equal(odp_of(0, OFPM_CONTROLLER), 2);
    meters_delete(meters[0], meters_find(meters[0], 5));
    assert_false(datapath_has(0));
    assert_null(meters_find(meters[0], 5));
    assert_non_null(meters_find(meters[1], 5));
}

static void a_number_rests_and_then_the_lowest_is_taken(void **state)
{
    for (uint32_t i = 1; i <= 200; i++) {
        assert_int_equal(add(0, i), OFPERR_NONE);
        assert_int_equal(odp_of(0, i), i - 1);
    }
    meters_delete(meters[0], meters_find(meters[0], 100));
    meters_delete(meters[0], meters_find(meters[0], 7));
    assert_int_equal(add(0, 1000), OFPERR_NONE);
    assert_int_equal(odp_of(0, 1000), 200); /* Flows may name the others still. */
    later += 5000;
    assert_int_equal(add(0, 1001), OFPERR_NONE);
    assert_int_equal(add(0, 1002), OFPERR_NONE);
    assert_int_equal(add(0, 1003), OFPERR_NONE);
    assert_int_equal(odp_of(0, 1001), 6);
    assert_int_equal(odp_of(0, 1002), 99);
    assert_int_equal(odp_of(0, 1003), 201);
    for (uint32_t i = 1; i <= 200; i++) {
        assert_int_equal(meters_find(meters[0], i) != NULL, i != 7 && i != 100);
    }
    size_t n;
    struct meter **v = meters_sorted(meters[0], &n);
    assert_int_equal(n, 202);
    for (size_t i = 1; i < n; i++) {
        assert_true(v[i - 1]->id < v[i]->id);
    }
    free(v);
}

static void a_number_that_the_datapath_will_not_have_is_passed_over(void **state)
{
    set_error = -EBUSY;
    n_set_errors = 3;
    assert_int_equal(add(0, 1), OFPERR_NONE);
    assert_int_equal(odp_of(0, 1), 3);
    assert_int_equal(add(0, 2), OFPERR_NONE);
    assert_int_equal(odp_of(0, 2), 4);
    n_set_errors = 1000;
    assert_int_equal(add(0, 3), OFPERR_OFPMMFC_UNKNOWN);
    n_set_errors = 0;
    assert_null(meters_find(meters[0], 3));
}

static void what_the_datapath_refuses_changes_nothing(void **state)
{
    assert_int_equal(add(0, 1), OFPERR_NONE);
    set_error = -ENOMEM;
    n_set_errors = 2;
    assert_int_equal(add(0, 2), OFPERR_OFPMMFC_OUT_OF_METERS);
    assert_int_equal(meters_modify(meters[0], mod_of(1, OFPMF_KBPS, 7, 0)), OFPERR_OFPMMFC_OUT_OF_METERS);
    assert_null(meters_find(meters[0], 2));
    assert_int_equal(meters_find(meters[0], 1)->flags, OFPMF_PKTPS);
    assert_int_equal(meters_find(meters[0], 1)->bands[0].rate, 1000);
}

static void leftovers_go_when_the_datapath_is_opened_and_ours_come(void **state)
{
    const struct dpif_meter stale = { .n_bands = 1, .bands = { { 1, 1 } } };
    static const uint32_t left[] = { 0, 1, 3, 130, 258 };
    struct dpif_meter_stats s;

    assert_int_equal(add(0, 9), OFPERR_NONE);
    assert_int_equal(add(1, 9), OFPERR_NONE);
    meters_delete(meters[0], meters_find(meters[0], 9));
    pass(1, 3);
    engine_destroy(engine, false);
    assert_int_equal(add(1, 10), OFPERR_OFPMMFC_OUT_OF_METERS); /* There is no datapath. */
    assert_int_equal(stats_of(1, 9).in.n_packets, 0);
    open_datapath();
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        assert_int_equal(dpif_meter_set(engine_session(engine), left[i], &stale, &s), 0);
    }
    engine_destroy(engine, false);
    open_datapath();
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        assert_int_equal(datapath_has(left[i]), left[i] == 1);
    }
    /* Not one of a predecessor's, but ours: 1000 may pass. */
    pass(1, 1000);
    assert_int_equal(stats_of(1, 9).in.n_packets, 1000);
    assert_int_equal(stats_of(1, 9).bands[0].n_packets, 0);
    assert_int_equal(add(0, 11), OFPERR_NONE); /* Nothing rests that was of another datapath. */
    assert_int_equal(odp_of(0, 11), 0);
}

/* ---- What is refused. ---- */

static void what_is_wrong_is_refused(void **state)
{
    static const struct {
        uint32_t id;
        uint32_t rate;
        enum ofp_error error;
    } cases[] = {
        { 0, 5, OFPERR_OFPMMFC_INVALID_METER },        { OFPM_MAX, 5, OFPERR_NONE },
        { OFPM_MAX + 1, 5, OFPERR_OFPMMFC_INVALID_METER }, { OFPM_ALL, 5, OFPERR_OFPMMFC_INVALID_METER },
        { OFPM_SLOWPATH, 5, OFPERR_NONE },             { OFPM_SLOWPATH, 5, OFPERR_OFPMMFC_METER_EXISTS },
        { 5, 0, OFPERR_OFPMMFC_BAD_RATE },             { 5, 1, OFPERR_NONE },
        { 5, 1, OFPERR_OFPMMFC_METER_EXISTS },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(meters_add(meters[0], mod_of(cases[i].id, OFPMF_KBPS, cases[i].rate, 0)), cases[i].error);
    }
    assert_int_equal(meters_modify(meters[0], mod_of(6, OFPMF_KBPS, 5, 0)), OFPERR_OFPMMFC_UNKNOWN_METER);
    struct ofp_meter_mod none = *mod_of(7, OFPMF_KBPS, 5, 0);
    none.bands.n = 0;
    assert_int_equal(meters_add(meters[0], &none), OFPERR_OFPMMFC_OUT_OF_BANDS);
    static const uint8_t nine[9 * 16] = { 0, 1, 0, 16, 0, 0, 0, 1 };
    none.bands = (struct bytes) { nine, sizeof nine };
    assert_int_equal(meters_add(meters[0], &none), OFPERR_OFPMMFC_OUT_OF_BANDS);
}

static void a_datapath_without_meters_has_none(void **state)
{
    unsigned int n_bands;

    assert_int_equal(meters_max(&n_bands), 1 << 18);
    assert_int_equal(n_bands, 8);
    engine_destroy(engine, true);
    sim_set_kernel(SIM_KERNEL_OLD);
    open_datapath();
    assert_int_equal(meters_max(&n_bands), 0);
    assert_int_equal(n_bands, 0);
    assert_int_equal(add(0, 1), OFPERR_OFPMMFC_OUT_OF_METERS);
    engine_destroy(engine, true);
    engine = NULL;
    assert_int_equal(meters_max(&n_bands), 0);
}

/* ---- Counts. ---- */

static void a_change_goes_on_counting_but_for_bands(void **state)
{
    assert_int_equal(meters_add(meters[0], mod_of(1, OFPMF_PKTPS | OFPMF_BURST, 1, 4)), OFPERR_NONE);
    sim_set_time(1000);
    pass(0, 6);
    assert_int_equal(stats_of(0, 1).in.n_packets, 6);
    assert_int_equal(stats_of(0, 1).in.n_bytes, 600);
    assert_int_equal(stats_of(0, 1).bands[0].n_packets, 2);
    assert_int_equal(meters_modify(meters[0], mod_of(1, OFPMF_PKTPS, 3, 0)), OFPERR_NONE);
    assert_int_equal(odp_of(0, 1), 0);
    pass(0, 4); /* Without a burst, a second's worth. */
    assert_int_equal(stats_of(0, 1).in.n_packets, 10);
    assert_int_equal(stats_of(0, 1).in.n_bytes, 1000);
    assert_int_equal(stats_of(0, 1).bands[0].n_packets, 1);
}

/* ---- Rules. ---- */

static void add_rule(unsigned int bridge, const char *text, bool ok)
{
    struct buf acts = BUF_INITIALIZER;
    struct flow_mod fm = kit_flow_mod(text, &acts);
    enum ofp_error error = ofproto_meters_check(bridges[bridge], &acts);

    assert_int_equal(error, ok ? OFPERR_NONE : OFPERR_OFPMMFC_INVALID_METER);
    if (!error) {
        assert_int_equal(ofproto_flow_mod(bridges[bridge], &fm), OFPERR_NONE);
    }
    buf_uninit(&acts);
}

static size_t n_rules(unsigned int bridge) { return tables_n_rules(ofproto_tables(bridges[bridge]), 0); }

static void rules_go_with_their_meter(void **state)
{
    assert_int_equal(add(0, 1), OFPERR_NONE);
    assert_int_equal(add(0, 2), OFPERR_NONE);
    assert_int_equal(add(1, 1), OFPERR_NONE);
    add_rule(0, "in_port=1 actions=meter:1,2", true);
    add_rule(0, "in_port=2 actions=meter:2,2", true);
    add_rule(0, "in_port=3 actions=2", true);
    add_rule(0, "in_port=4 actions=meter:1", true);
    add_rule(0, "in_port=5 actions=controller(meter_id=1)", true); /* It need not be there. */
    add_rule(0, "in_port=6 actions=meter:3,2", false);
    add_rule(1, "in_port=1 actions=meter:1,2", true);
    add_rule(1, "in_port=2 actions=meter:2,2", false);
    assert_int_equal(n_rules(0), 5);
    ofproto_delete_meters(bridges[0], 99);
    assert_int_equal(n_rules(0), 5);
    assert_non_null(meters_find(meters[0], 1));
    ofproto_delete_meters(bridges[0], 1);
    assert_int_equal(n_rules(0), 3);
    assert_int_equal(n_rules(1), 1);
    assert_null(meters_find(meters[0], 1));
    assert_non_null(meters_find(meters[1], 1));
    ofproto_delete_meters(bridges[0], OFPM_ALL);
    assert_int_equal(n_rules(0), 2);
    assert_null(meters_find(meters[0], 2));
    assert_false(datapath_has(odp_of(1, 1) + 1));
}

/* ---- Translation. ---- */

static void check(struct xconfig *c, const char *packet, const char *expected)
{
    static char memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
    static struct xlate_out out;
    struct flow flow = kit_packet(packet);

    kit_translate(c, &flow, memory, &out);
    if (out.slow) {
        attrbuf_clear(&out.actions);
        xlate_put_slow(&out, &out.actions);
    }
    char *text = kit_actions_text(&out.actions);
    if (strncmp(text, expected, strlen(expected))) {
        fail_msg("%s: %s, not %s", packet, text, expected);
    }
    free(text);
}

static void the_datapath_is_told_its_own_number(void **state)
{
    static const char *const flows[] = {
        "in_port=1 actions=meter:7,2,3",
        "in_port=2 actions=meter:8",
        "in_port=3 actions=clone(resubmit(,1)),4",
        "in_port=4 actions=resubmit(,1),3",
        "in_port=6 actions=5,3",
        "in_port=7,arp actions=load:7->NXM_OF_ARP_OP[],1",
        "in_port=8 actions=controller,controller(meter_id=7),controller(meter_id=9),1",
        "table=1 actions=meter:7,2",
        "B:in_port=10 actions=meter:7,11",
    };
    struct xconfig *c = kit_two_bridges("1:t 2:t 3:t 4:t 5:tp- 6:t 7:t 8:t", "10:tp 11:t", flows, ARRAY_SIZE(flows));
    struct meters *a = tables_meters(c->bridges[0]->tables), *b = tables_meters(c->bridges[1]->tables);

    check(c, "in_port=1", "2,3"); /* No such meter: its rules would have gone before. */
    check(c, "in_port=8", "userspace(");
    assert_int_equal(meters_add(a, mod_of(8, OFPMF_PKTPS, 1, 0)), OFPERR_NONE);
    assert_int_equal(meters_add(a, mod_of(7, OFPMF_PKTPS, 1, 0)), OFPERR_NONE);
    assert_int_equal(meters_add(b, mod_of(7, OFPMF_PKTPS, 1, 0)), OFPERR_NONE);
    check(c, "in_port=1", "meter(1),2,3");
    check(c, "in_port=2", "meter(0)");
    /* What it drops in a clone, or behind a patch port, is that copy, unless nothing comes after it. */
    check(c, "in_port=3", "clone(meter(1),2),4");
    check(c, "in_port=4", "meter(1),2,3");
    check(c, "in_port=6", "clone(meter(2),11),3");
    check(c, "in_port=7,arp", "userspace(");
    assert_int_equal(meters_add(a, mod_of(OFPM_SLOWPATH, OFPMF_PKTPS, 1, 0)), OFPERR_NONE);
    assert_int_equal(meters_add(a, mod_of(OFPM_CONTROLLER, OFPMF_PKTPS, 1, 0)), OFPERR_NONE);
    check(c, "in_port=7,arp", "meter(3),userspace(");
    check(c, "in_port=8", "clone(meter(4),userspace(");
    c->can.clone = false;
    check(c, "in_port=8", "userspace(");
    meters_delete_all(a);
    meters_delete_all(b);
    check(c, "in_port=1", "2,3");
    xconfig_destroy(c);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bridges_share_the_numbers_of_the_datapath),
        TEST(a_number_rests_and_then_the_lowest_is_taken),
        TEST(a_number_that_the_datapath_will_not_have_is_passed_over),
        TEST(what_the_datapath_refuses_changes_nothing),
        TEST(leftovers_go_when_the_datapath_is_opened_and_ours_come),
        TEST(what_is_wrong_is_refused),
        TEST(a_datapath_without_meters_has_none),
        TEST(a_change_goes_on_counting_but_for_bands),
        TEST(rules_go_with_their_meter),
        TEST(the_datapath_is_told_its_own_number),
    };

    rcu_register_thread();
    loop_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
