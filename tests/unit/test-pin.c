/* Packets for controllers: who waits, in which order they go, who is dropped and counted. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/openvswitch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "lib/nl/attrbuf.h"
#include "ofproto/pin.h"

/* One of PORT, with SERIAL in its packet of LEN bytes. */
static struct pin *make(uint32_t port, uint32_t serial, size_t len)
{
    uint32_t memory[16];
    struct attrbuf key;
    uint8_t *packet = xzalloc(len);
    const struct odp_cookie cookie = { .kind = ODP_COOKIE_CONTROLLER, .reason = OFPR_ACTION, .userdata = { (const uint8_t *) "abc", 3 } };

    attrbuf_init(&key, memory, sizeof memory);
    attrbuf_put_u32(&key, OVS_KEY_ATTR_IN_PORT, port);
    memcpy(packet, &serial, sizeof serial);
    const struct dpif_upcall u = { .type = DPIF_UC_ACTION, .packet = packet, .packet_len = len, .key = attrbuf_data(&key), .key_len = attrbuf_len(&key) };
    struct pin *p = pin_create(&u, &cookie);
    free(packet);
    return p;
}

static uint32_t serial_of(const struct pin *p)
{
    uint32_t serial;

    memcpy(&serial, p->packet, sizeof serial);
    return serial;
}

static void a_copy_is_whole(void **state UNUSED)
{
    struct pin *p = make(7, 9, 101), *copy = pin_copy(p);

    assert_int_equal(p->port.n, 7);
    assert_int_equal(p->packet_len, 101);
    assert_memory_equal(p->cookie.userdata.p, "abc", 3);
    pin_destroy(p);
    assert_int_equal(copy->port.n, 7);
    assert_int_equal(serial_of(copy), 9);
    assert_memory_equal(copy->cookie.userdata.p, "abc", 3);
    pin_destroy(copy);
}

static void put(struct pin_queue *q, struct pin *p, unsigned int *n_put)
{
    if (pin_queue_put(q, p)) {
        ++*n_put;
    } else {
        pin_destroy(p);
    }
}

static void ports_have_their_turns_and_packets_of_one_their_order(void **state UNUSED)
{
    struct pin_queue q = { .max_n = 1000, .max_bytes = 1 << 20 };
    static const unsigned int order[] = { 1, 2, 3, 1, 3, 1 };
    unsigned int n = 0, next[3] = { 0 };

    for (unsigned int i = 0; i < 60; i++) {
        put(&q, make(1, i, 60), &n);
    }
    put(&q, make(2, 0, 60), &n);
    put(&q, make(3, 0, 60), &n);
    put(&q, make(3, 1, 60), &n);
    assert_int_equal(n, 63);
    for (unsigned int i = 0; i < n; i++) {
        struct pin *p = pin_queue_take(&q);
        assert_int_equal(serial_of(p), next[p->port.n - 1]++);
        if (i < 6) {
            assert_int_equal(p->port.n, order[i]);
        }
        pin_destroy(p);
    }
    assert_null(pin_queue_take(&q));
    assert_int_equal(q.n + q.bytes, 0);
}

static void a_flood_of_one_port_leaves_room_for_others(void **state UNUSED)
{
    static const size_t sizes[] = { 1, 2, 9, 25, 1000 };

    for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
        struct pin_queue q = { .max_n = sizes[k], .max_bytes = 1 << 30 };
        unsigned int flood = 0, victim = 0;

        for (unsigned int i = 0; i < 3000; i++) {
            put(&q, make(1, i, 60), &flood);
        }
        assert_true(flood >= 1 && flood <= sizes[k]);
        assert_true(sizes[k] < 9 || (flood >= sizes[k] * 8 / 10 && flood < sizes[k]));
        put(&q, make(2, 0, 60), &victim);
        assert_int_equal(victim, sizes[k] >= 9);
        pin_queue_uninit(&q);
    }
}

static void bytes_are_bounded(void **state UNUSED)
{
    struct pin_queue q = { .max_n = 1000, .max_bytes = 100000 };
    unsigned int n = 0;

    for (unsigned int i = 0; i < 100; i++) {
        put(&q, make(i, i, 9000), &n);
    }
    assert_true(n >= 9 && n <= 11);
    assert_true(q.bytes <= q.max_bytes);
    pin_queue_uninit(&q);
}

static void ports_come_and_go_at_random(void **state UNUSED)
{
    struct pin_queue q = { .max_n = 50, .max_bytes = 1 << 20 };
    unsigned int in = 0, out = 0;

    srand(1);
    for (unsigned int i = 0; i < 20000; i++) {
        if (rand() % 2) {
            put(&q, make(rand() % 200, i, 60), &in);
        } else {
            struct pin *p = pin_queue_take(&q);
            out += p != NULL;
            free(p);
        }
        assert_int_equal(q.n, in - out);
        assert_int_equal(!q.turn, !q.n);
    }
    pin_queue_uninit(&q);
}

/* ---- The inbox. ---- */

static unsigned int n_wakes;
static void wake(void *aux UNUSED) { n_wakes++; }

struct sums {
    uint64_t received, dropped;
    unsigned int n;
};
static void add(const struct pin_counts *c, void *sums_)
{
    struct sums *s = sums_;

    assert_int_equal(c->received[OFPR_NO_MATCH], 0);
    s->received += c->received[OFPR_ACTION];
    s->dropped += c->dropped[OFPR_ACTION];
    s->n++;
}

static struct pin *list_of(unsigned int n, uint32_t port)
{
    struct pin *list = NULL;

    while (n--) {
        struct pin *p = make(port, n, 60);
        p->next = list;
        list = p;
    }
    return list;
}

static void main_is_woken_once_and_nothing_is_lost_uncounted(void **state UNUSED)
{
    struct pin_inbox in;
    struct sums sums = { 0 };
    unsigned int taken = 0;
    bool more = true;

    n_wakes = 0;
    pin_inbox_init(&in, wake, NULL);
    for (unsigned int i = 0; i < 100; i++) {
        pin_inbox_put(&in, list_of(128, 5));
        pin_inbox_put(&in, list_of(1, 6 + i));
    }
    assert_int_equal(n_wakes, 1);
    while (more) {
        struct pin *next;
        for (struct pin *p = pin_inbox_take(&in, 64, &more); p; p = next) {
            next = p->next;
            taken++;
            pin_destroy(p);
        }
    }
    pin_inbox_show(&in, add, &sums);
    assert_int_equal(sums.n, 101);
    assert_int_equal(sums.received, 100 * 129);
    assert_int_equal(sums.received - sums.dropped, taken);
    assert_true(sums.dropped > 0);
    pin_inbox_put(&in, list_of(1, 5)); /* Main has looked: it is woken again. */
    assert_int_equal(n_wakes, 2);
    pin_inbox_forget(&in, (odp_port_t) { 5 });
    sums = (struct sums) { 0 };
    pin_inbox_show(&in, add, &sums);
    assert_int_equal(sums.n, 100);
    assert_int_equal(sums.dropped, 0); /* It was all of the flood's. */
    pin_inbox_uninit(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_whole),
        cmocka_unit_test(ports_have_their_turns_and_packets_of_one_their_order),
        cmocka_unit_test(a_flood_of_one_port_leaves_room_for_others),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(ports_come_and_go_at_random),
        cmocka_unit_test(main_is_woken_once_and_nothing_is_lost_uncounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
