/* Meters of the simulated datapath, on its clock: what passes and what does not, and what is counted. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/openvswitch.h>

#include "tests/unit/dpif-sim-kit.h"

static struct dpif_meter_stats set_meter(uint32_t id, const struct dpif_meter *m)
{
    struct dpif_meter_stats old;
    assert_int_equal(dpif_meter_set(session, id, m, &old), 0);
    return old;
}

static struct dpif_meter_stats get(uint32_t id)
{
    struct dpif_meter_stats s;
    assert_int_equal(dpif_meter_get(session, id, &s), 0);
    return s;
}

/* Sends N packets of LEN bytes through what ACTIONS say; returns how many left by a port. */
static uint64_t send_packets(unsigned int n, size_t len, const char *actions)
{
    uint32_t memory[64], key_memory[64];
    uint8_t frame[1500] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x12, 0x34 };
    struct attrbuf b, key;
    uint64_t before = counts().n_outputs;

    attrbuf_init(&b, memory, sizeof memory);
    assert_null(odp_actions_scan(actions, &b));
    attrbuf_init(&key, key_memory, sizeof key_memory);
    attrbuf_put_u32(&key, OVS_KEY_ATTR_IN_PORT, 0);
    for (unsigned int i = 0; i < n; i++) {
        struct dpif_op op = { .type = DPIF_OP_EXECUTE, .execute = { .packet = frame, .packet_len = len,
                                                                    .key = attrbuf_data(&key), .key_len = attrbuf_len(&key),
                                                                    .actions = attrbuf_data(&b), .actions_len = attrbuf_len(&b) } };
        struct dpif_op *ops[] = { &op };
        dpif_operate(session, ops, 1);
        assert_int_equal(op.error, 0);
    }
    return counts().n_outputs - before;
}

static void a_burst_passes_then_the_rate(void **state)
{
    sim_set_time(1000);
    set_meter(3, &(struct dpif_meter){ .n_bands = 1, .bands = { { .rate = 10, .burst = 20 } } });
    assert_int_equal(send_packets(50, 100, "meter(3),0"), 20);
    assert_int_equal(send_packets(50, 100, "meter(3),0"), 0);
    sim_set_time(1099);
    assert_int_equal(send_packets(50, 100, "meter(3),0"), 0);
    sim_set_time(1100);
    assert_int_equal(send_packets(50, 100, "meter(3),0"), 1);
    sim_set_time(2100);
    assert_int_equal(send_packets(50, 100, "meter(3),0"), 10);
    sim_set_time(1000000000); /* It never holds more than the burst. */
    assert_int_equal(send_packets(50, 100, "meter(3),0"), 20);
    assert_int_equal(get(3).in.n_packets, 300);
    assert_int_equal(get(3).in.n_bytes, 30000);
    assert_int_equal(get(3).bands[0].n_packets, 300 - 51);
    assert_int_equal(get(3).bands[0].n_bytes, 100 * (300 - 51));
}

static void kilobits_are_of_bytes(void **state)
{
    sim_set_time(1000);
    /* 8 kbit/s, 16 kbit at once: 2000 bytes, then 1000 a second. */
    set_meter(0, &(struct dpif_meter){ .kbps = true, .n_bands = 1, .bands = { { .rate = 8, .burst = 16 } } });
    assert_int_equal(send_packets(9, 500, "meter(0),0"), 4);
    sim_set_time(1500);
    assert_int_equal(send_packets(9, 500, "meter(0),0"), 1);
    sim_set_time(1750);
    assert_int_equal(send_packets(9, 500, "meter(0),0"), 0);
    assert_int_equal(send_packets(9, 250, "meter(0),0"), 1);
}

/* As OpenFlow has it: of the bands that are exceeded, that of the highest rate. */
static void the_band_of_the_highest_rate_drops(void **state)
{
    sim_set_time(1000);
    set_meter(0, &(struct dpif_meter){ .n_bands = 3, .bands = { { 5, 5 }, { 50, 7 }, { 9, 9 } } });
    assert_int_equal(send_packets(12, 100, "meter(0),0"), 5);
    struct dpif_meter_stats s = get(0);
    /* 7 were too many for the first; the last 5 of them for the second too, and the last 3 for the third. */
    assert_int_equal(s.bands[0].n_packets, 2);
    assert_int_equal(s.bands[1].n_packets, 5);
    assert_int_equal(s.bands[2].n_packets, 0);
}

static void what_is_dropped_is_the_packet_or_its_clone(void **state)
{
    sim_set_time(1000);
    set_meter(0, &(struct dpif_meter){ .n_bands = 1, .bands = { { 1, 1 } } });
    assert_int_equal(send_packets(3, 100, "meter(0),0,0"), 2);
    assert_int_equal(send_packets(3, 100, "0,meter(0),0"), 3);
    assert_int_equal(send_packets(3, 100, "clone(meter(0),0),0"), 3);
    assert_int_equal(send_packets(3, 100, "meter(77),0"), 3); /* One that is not there. */
}

static void requests_are_answered_as_the_kernel_does(void **state)
{
    struct dpif_meter m = { .n_bands = 1, .bands = { { 1, 5 } } };
    struct dpif_meter_stats s;

    sim_set_time(1000);
    assert_int_equal(dpif_meter_get(session, 4, &s), -ENOENT);
    assert_int_equal(dpif_meter_del(session, 4), -ENOENT);
    assert_int_equal(set_meter(4, &m).in.n_packets, 0);
    send_packets(7, 100, "meter(4),0");
    s = set_meter(4, &m); /* Anew: and the bucket is full again. */
    assert_int_equal(s.in.n_packets, 7);
    assert_int_equal(s.bands[0].n_packets, 2);
    assert_int_equal(get(4).in.n_packets, 0);
    assert_int_equal(send_packets(7, 100, "meter(4),0"), 5);
    assert_int_equal(dpif_meter_set(session, dpif_features(dpif)->max_meters, &m, &s), -EFBIG);
    m.n_bands = dpif_features(dpif)->max_meter_bands + 1;
    assert_int_equal(dpif_meter_set(session, 4, &m, &s), -EINVAL);
    assert_int_equal(dpif_meter_del(session, 4), 0);
    assert_int_equal(dpif_meter_get(session, 4, &s), -ENOENT);
}

static void an_old_kernel_has_none(void **state)
{
    struct dpif_meter m = { .n_bands = 1, .bands = { { 1, 5 } } };
    struct dpif_meter_stats s;
    struct dpif_session *old_session;
    struct dpif *old;

    sim_set_kernel(SIM_KERNEL_OLD);
    assert_int_equal(dpif_open("sim", "old", &old, NULL), 0);
    assert_int_equal(dpif_session_open(old, &old_session), 0);
    assert_int_equal(dpif_features(old)->max_meters, 0);
    assert_int_equal(dpif_meter_set(old_session, 0, &m, &s), -EOPNOTSUPP);
    assert_int_equal(dpif_meter_get(old_session, 0, &s), -EOPNOTSUPP);
    assert_int_equal(dpif_meter_del(old_session, 0), -EOPNOTSUPP);
    dpif_session_close(old_session);
    dpif_close(old);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_burst_passes_then_the_rate),
        TEST(kilobits_are_of_bytes),
        TEST(the_band_of_the_highest_rate_drops),
        TEST(what_is_dropped_is_the_packet_or_its_clone),
        TEST(requests_are_answered_as_the_kernel_does),
        TEST(an_old_kernel_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
