/* The traffic tools' probes and what is counted of them: utilities/flowprobe.h, utilities/flowcount.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "utilities/flowcount.h"
#include "utilities/flowprobe.h"

static const struct eth_addr dst = { { 0x02, 0, 0, 0, 0, 1 } };
static const struct flowprobe example = {
    .stream = 0x1234,
    .flow = 0x56789a,
    .seq = 0xbcdef0,
    .sent_ns = 0x0102030405060708,
};

/* --- Wire format -------------------------------------------------------------------------------------------------- */

static void test_a_probe_is_laid_out_as_documented(void **state)
{
    static const uint8_t expected[60] = {
        0x02, 0,    0,    0, 0,    0x01, 0x02, 0x12, 0x34, 0x56, 0x78, 0x9a, 0x88, 0xb5, 'F', 'P', 'r', 'b', 0,
        0,    0x12, 0x34, 0, 0x56, 0x78, 0x9a, 0,    0xbc, 0xde, 0xf0, 1,    2,    3,    4,   5,   6,   7,   8,
    };
    uint8_t frame[60];

    assert_int_equal(flowprobe_min_size(FLOWPROBE_ETHERTYPE), sizeof frame);
    flowprobe_prepare(frame, sizeof frame, dst, FLOWPROBE_ETHERTYPE);
    flowprobe_write(frame, FLOWPROBE_ETHERTYPE, &example);
    assert_memory_equal(frame, expected, sizeof frame);
}

static void test_an_arp_probe_is_a_well_formed_request(void **state)
{
    static const uint8_t expected[42] = {
        0x02, 0,    0,    0,    0, 0x01, 0x02, 0x12, 0x34, 0x56, 0x78, 0x9a, 0x08, 0x06,
        0,    1,    0x08, 0,    6, 4,    0,    1,    0x02, 0x12, 0x34, 0x56, 0x78, 0x9a,
        10,   0x56, 0x78, 0x9a, 0, 0,    0,    0,    0,    0,    10,   255,  255,  254,
    };
    uint8_t frame[66];
    struct flowprobe p;

    assert_int_equal(flowprobe_min_size(FLOWPROBE_ETHERTYPE_ARP), sizeof frame);
    flowprobe_prepare(frame, sizeof frame, dst, FLOWPROBE_ETHERTYPE_ARP);
    flowprobe_write(frame, FLOWPROBE_ETHERTYPE_ARP, &example);
    assert_memory_equal(frame, expected, sizeof expected);
    assert_int_equal(flowprobe_read(frame, sizeof frame, &p), 0);
    assert_int_equal(p.flow, example.flow);
    assert_int_equal(p.sent_ns, example.sent_ns);
}

static void test_what_is_written_is_read_whatever_the_type_and_size(void **state)
{
    static const uint16_t types[] = { FLOWPROBE_ETHERTYPE, FLOWPROBE_ETHERTYPE_ARP, 0x0800, 0x86dd, 0xffff };
    uint8_t frame[1514];

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        for (size_t size = flowprobe_min_size(types[i]); size <= sizeof frame; size += 97) {
            struct flowprobe p = { 0 };
            flowprobe_prepare(frame, size, dst, types[i]);
            flowprobe_write(frame, types[i], &example);
            assert_int_equal(flowprobe_read(frame, size, &p), 0);
            assert_memory_equal(&p, &example, sizeof p);
            flowprobe_stamp(frame, types[i], 99);
            assert_int_equal(flowprobe_read(frame, size, &p), 0);
            assert_int_equal(p.sent_ns, 99);
            assert_int_equal(p.seq, example.seq);
        }
    }
}

static void test_what_is_no_probe_is_refused(void **state)
{
    static const uint16_t types[] = { FLOWPROBE_ETHERTYPE, FLOWPROBE_ETHERTYPE_ARP };
    uint8_t frame[66];

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct flowprobe p = { .flow = 42 };
        size_t end = flowprobe_offset(types[i]) + 24;
        flowprobe_prepare(frame, sizeof frame, dst, types[i]);
        flowprobe_write(frame, types[i], &example);
        for (size_t size = 0; size < end; size++) {
            /* On the heap, so that a sanitizer sees what is read behind the end. */
            uint8_t *cut = xmemdup(frame, size);
            assert_int_equal(flowprobe_read(cut, size, &p), -EMSGSIZE);
            free(cut);
        }
        frame[flowprobe_offset(types[i])] ^= 1;
        assert_int_equal(flowprobe_read(frame, sizeof frame, &p), -EPROTO);
        assert_int_equal(p.flow, 42);
    }
}

static void test_each_flow_of_each_stream_has_a_source_address_of_its_own(void **state)
{
    static const uint32_t numbers[] = { 0, 1, 255, 256, 65535 };
    uint64_t seen[ARRAY_SIZE(numbers) * ARRAY_SIZE(numbers)];
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(numbers); j++) {
            struct eth_addr a = flowprobe_source(numbers[i], numbers[j]);
            assert_false(eth_addr_is_multicast(a));
            assert_int_equal(a.ea[0], 0x02);
            for (size_t k = 0; k < n; k++) {
                assert_int_not_equal(seen[k], eth_addr_to_u64(a));
            }
            seen[n++] = eth_addr_to_u64(a);
        }
    }
}

/* --- Latency ------------------------------------------------------------------------------------------------------ */

static void test_no_latency_is_0(void **state)
{
    struct latency *l = xzalloc(sizeof *l);

    assert_int_equal(latency_quantile(l, 0.5), 0);
    assert_int_equal(latency_quantile(l, 1), 0);
    free(l);
}

static void test_small_latencies_are_exact(void **state)
{
    struct latency *l = xzalloc(sizeof *l);

    for (uint64_t i = 1; i <= 100; i++) {
        latency_add(l, i);
    }
    assert_int_equal(l->min, 1);
    assert_int_equal(l->max, 100);
    assert_int_equal(latency_quantile(l, 0), 1);
    assert_int_equal(latency_quantile(l, 0.5), 50);
    assert_int_equal(latency_quantile(l, 0.9), 90);
    assert_int_equal(latency_quantile(l, 0.99), 99);
    assert_int_equal(latency_quantile(l, 0.999), 100);
    assert_int_equal(latency_quantile(l, 1), 100);
    free(l);
}

static void test_a_latency_is_read_within_a_percent(void **state)
{
    for (uint64_t ns = 1; ns < UINT64_C(1) << 40; ns += ns / 3 + 1) {
        struct latency *l = xzalloc(sizeof *l);
        latency_add(l, 0);
        latency_add(l, ns);
        latency_add(l, UINT64_MAX);
        uint64_t got = latency_quantile(l, 0.5);
        uint64_t error = got > ns ? got - ns : ns - got;
        if (error * 100 > ns) {
            fail_msg("%llu is read as %llu", (unsigned long long) ns, (unsigned long long) got);
        }
        assert_int_equal(l->min, 0);
        assert_true(latency_quantile(l, 1) == UINT64_MAX);
        free(l);
    }
}

static void test_a_quantile_is_between_the_least_and_the_most(void **state)
{
    struct latency *l = xzalloc(sizeof *l);

    latency_add(l, 1000001);
    latency_add(l, 1000001);
    assert_int_equal(latency_quantile(l, 0.1), 1000001);
    assert_int_equal(latency_quantile(l, 0.5), 1000001);
    assert_int_equal(latency_quantile(l, 1), 1000001);
    free(l);
}

/* --- Streams ------------------------------------------------------------------------------------------------------ */

/* Packet SEQ of FLOW, sent at SENT, arrives LATENCY later. */
static void arrive_at(struct flowcount *c, uint32_t flow, uint32_t seq, uint64_t sent, uint64_t latency)
{
    struct flowprobe p = { .stream = c->stream, .flow = flow, .seq = seq, .sent_ns = sent };

    flowcount_add(c, &p, sent + latency);
}

static void arrive(struct flowcount *c, uint32_t flow, uint32_t seq) { arrive_at(c, flow, seq, 1000, 1); }

static void test_all_that_is_expected_is_complete(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 7, 100, 50, 3);
    for (uint32_t i = 0; i < 150; i++) {
        assert_false(flowcount_is_complete(&c));
        arrive(&c, 100 + i / 3, i % 3);
    }
    assert_true(flowcount_is_complete(&c));
    assert_int_equal(c.received, 150);
    assert_int_equal(c.flows_seen, 50);
    assert_int_equal(c.flows_complete, 50);
    assert_int_equal(c.flows_in_order, 50);
    assert_int_equal(c.duplicates + c.reordered + c.unexpected + c.flows_reordered, 0);
    assert_int_equal(c.setup.n, 50);
    assert_int_equal(c.all.n, 150);
    flowcount_uninit(&c);
}

static void test_a_duplicate_does_not_stand_for_a_lost_packet(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 0, 0, 2, 2);
    arrive(&c, 0, 0);
    arrive(&c, 0, 1);
    arrive(&c, 1, 0);
    arrive(&c, 1, 0);
    assert_false(flowcount_is_complete(&c));
    assert_int_equal(c.received, 3);
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.flows_seen, 2);
    assert_int_equal(c.flows_complete, 1);
    assert_int_equal(c.flows_in_order, 1);
    /* A late copy is no disorder, and its latency does not count. */
    arrive_at(&c, 0, 0, 1000, 999);
    assert_int_equal(c.duplicates, 2);
    assert_int_equal(c.reordered, 0);
    assert_int_equal(c.all.max, 1);
    flowcount_uninit(&c);
}

static void test_what_was_overtaken_is_reordered_and_what_is_missing_is_not(void **state)
{
    static const uint32_t order[] = { 0, 2, 3, 5, 1, 4 }; /* 1 and 4 are late. */
    struct flowcount c;

    flowcount_init(&c, 0, 0, 3, 7);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        arrive(&c, 0, order[i]);
        arrive(&c, 1, i); /* Between them, in order. */
    }
    arrive(&c, 2, 6);
    arrive(&c, 2, 0);
    assert_int_equal(c.reordered, 3);
    assert_int_equal(c.flows_reordered, 2);
    assert_int_equal(flowcount_expected(&c) - c.received, 21 - 14);
    assert_int_equal(c.duplicates, 0);
    flowcount_uninit(&c);
}

static void test_a_flow_is_in_order_if_all_of_it_arrives_and_nothing_is_overtaken(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 0, 0, 4, 3);
    for (uint32_t i = 0; i < 3; i++) {
        arrive(&c, 0, i);             /* In order. */
        arrive(&c, 1, (i + 2) % 3);   /* Complete, and the last one first. */
        arrive(&c, 2, i / 2);         /* One is missing, one comes twice. */
        arrive(&c, 3, 2 - MIN(i, 1)); /* Neither complete nor in order. */
    }
    assert_int_equal(c.flows_seen, 4);
    assert_int_equal(c.flows_complete, 2);
    assert_int_equal(c.flows_reordered, 2);
    assert_int_equal(c.flows_in_order, 1);
    flowcount_uninit(&c);
}

static void test_what_is_out_of_range_is_unexpected(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 0, 10, 5, 2);
    arrive(&c, 9, 0);
    arrive(&c, 15, 0);
    arrive(&c, 0, 0);
    arrive(&c, UINT32_MAX, 0);
    arrive(&c, 10, 2);
    arrive(&c, 10, UINT32_MAX);
    assert_int_equal(c.unexpected, 6);
    assert_int_equal(c.received, 0);
    arrive(&c, 10, 0);
    arrive(&c, 14, 1);
    assert_int_equal(c.received, 2);
    flowcount_uninit(&c);
}

static void test_set_up_time_is_that_of_the_first_packets(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 0, 0, 2, 2);
    arrive_at(&c, 0, 0, 5000, 100);
    arrive_at(&c, 0, 1, 5000, 7);
    arrive_at(&c, 1, 1, 6000, 8); /* The second overtakes the first. */
    arrive_at(&c, 1, 0, 6000, 50);
    assert_int_equal(c.setup.n, 2);
    assert_int_equal(c.setup.min, 50);
    assert_int_equal(c.setup.max, 100);
    assert_int_equal(c.all.n, 4);
    assert_int_equal(c.all.min, 7);
    flowcount_uninit(&c);
}

static void test_an_arrival_before_the_sending_is_no_time_at_all(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 0, 0, 2, 1);
    arrive_at(&c, 0, 0, 5000, 0);
    arrive_at(&c, 1, 0, 5000, -10);
    assert_int_equal(c.all.max, 0);
    assert_int_equal(c.all.n, 2);
    flowcount_uninit(&c);
}

static void test_the_rate_is_from_the_first_to_the_last_arrival(void **state)
{
    struct flowcount c;

    flowcount_init(&c, 0, 0, 11, 1);
    assert_true(flowcount_rate(&c) == 0);
    arrive_at(&c, 1, 0, 1000, 0);
    assert_true(flowcount_rate(&c) == 0);
    for (uint32_t i = 11; i-- > 0;) {
        arrive_at(&c, i, 0, 1000000000 + i * 100000000ull, 0);
    }
    /* One came before all others; nothing of it is counted twice. */
    assert_int_equal(c.received, 11);
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.first_ns, 1000);
    assert_int_equal(c.last_ns, 2000000000);
    assert_true(flowcount_rate(&c) > 5.0 && flowcount_rate(&c) < 5.001);
    flowcount_uninit(&c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_probe_is_laid_out_as_documented),
        cmocka_unit_test(test_an_arp_probe_is_a_well_formed_request),
        cmocka_unit_test(test_what_is_written_is_read_whatever_the_type_and_size),
        cmocka_unit_test(test_what_is_no_probe_is_refused),
        cmocka_unit_test(test_each_flow_of_each_stream_has_a_source_address_of_its_own),
        cmocka_unit_test(test_no_latency_is_0),
        cmocka_unit_test(test_small_latencies_are_exact),
        cmocka_unit_test(test_a_latency_is_read_within_a_percent),
        cmocka_unit_test(test_a_quantile_is_between_the_least_and_the_most),
        cmocka_unit_test(test_all_that_is_expected_is_complete),
        cmocka_unit_test(test_a_duplicate_does_not_stand_for_a_lost_packet),
        cmocka_unit_test(test_what_was_overtaken_is_reordered_and_what_is_missing_is_not),
        cmocka_unit_test(test_a_flow_is_in_order_if_all_of_it_arrives_and_nothing_is_overtaken),
        cmocka_unit_test(test_what_is_out_of_range_is_unexpected),
        cmocka_unit_test(test_set_up_time_is_that_of_the_first_packets),
        cmocka_unit_test(test_an_arrival_before_the_sending_is_no_time_at_all),
        cmocka_unit_test(test_the_rate_is_from_the_first_to_the_last_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
