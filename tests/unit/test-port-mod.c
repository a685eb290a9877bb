/* Port-mods: what a client may configure, who is told, what lasts; and what translation makes of it. */
#include <config.h>

#include <event2/util.h>
#include <sys/socket.h>

#include "lib/base/buf.h"
#include "lib/io/stream.h"
#include "ofproto/ofproto-private.h"
#include "tests/unit/io-kit.h"
#include "tests/unit/xlate-tables-kit.h"

/* ---- A client. ---- */

struct client {
    uint8_t version;
    int fd;
    unsigned int n_errors, n_status;
    uint32_t error;  /* Type and code of the last one. */
    uint32_t config; /* As the last port-status says, on the wire. */
};

static unsigned int n_changed, n_set;
static bool device_up, device_fails;
static void tables_changed(void *aux UNUSED) {}
static void port_config_changed(void *aux UNUSED) { n_changed++; }

static int port_set_up(ofp_port_t no UNUSED, bool up, void *aux UNUSED)
{
    n_set++;
    device_up = up;
    return device_fails ? -EPERM : 0;
}

static const struct ofproto_ops bridge_ops = { .changed = tables_changed, .port_config_changed = port_config_changed, .port_set_up = port_set_up };

static void client_read(struct client *c)
{
    uint8_t m[4096];

    for (;;) {
        turn();
        if (recv(c->fd, m, 8, MSG_DONTWAIT) != 8) {
            return;
        }
        size_t len = get_u16(m + 2);
        assert_true(len <= sizeof m && (len == 8 || recv(c->fd, m + 8, len - 8, 0) == (ssize_t) len - 8));
        if (m[1] == 1) {
            c->n_errors++;
            c->error = get_u32(m + 8);
        } else if (m[1] == 12) {
            c->n_status++;
            c->config = get_u32(m + 16 + (c->version == OFP10_VERSION ? 24 : c->version == OFP13_VERSION ? 32 : 32));
        }
    }
}

static void client_open(struct client *c, struct ofproto *o, uint8_t version)
{
    const struct ofp_conn_config config = { .versions = 1u << version };
    static const struct stream_options options = { .dscp = -1 };
    static const struct ofp_conn_ops no_ops;
    const uint8_t hello[8] = { version, 0, 0, 8 };
    struct stream *s;
    int fds[2];

    *c = (struct client){ .version = version };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    evutil_make_socket_nonblocking(fds[0]);
    expect_no_error(stream_accept(loop_base(), fds[0], "client", &options, NULL, NULL, &s));
    c->fd = fds[1];
    struct ofp_conn *conn = ofp_conn_create(loop_base(), s, &config, &no_ops, NULL);
    ofconn_accept(o, conn, NULL);
    assert_int_equal(send(c->fd, hello, sizeof hello, 0), sizeof hello);
    UNTIL(ofp_conn_version(conn) == version);
    o->conns->version = version;
    o->conns->config.miss_send_len = 128; /* It wants to be told. */
}

static const struct eth_addr mac = { { 2, 0, 0, 0, 0, 1 } };

static void port_mod(struct client *c, uint32_t port, struct eth_addr addr, uint32_t config, uint32_t mask)
{
    bool old = c->version == OFP10_VERSION;
    struct buf b = BUF_INITIALIZER;

    buf_put_u8(&b, c->version);
    buf_put_u8(&b, old ? 15 : 16);
    buf_put_u16(&b, 0);
    buf_put_u32(&b, 99);
    if (old) {
        buf_put_u16(&b, port);
    } else {
        buf_put_u32(&b, port);
        buf_put_zeros(&b, 4);
    }
    buf_put(&b, &addr, sizeof addr);
    buf_put_zeros(&b, old ? 0 : 2);
    buf_put_u32(&b, config);
    buf_put_u32(&b, mask);
    buf_put_zeros(&b, old ? 8 : c->version == OFP13_VERSION ? 8 : 0);
    buf_patch_u16(&b, 2, b.len);
    assert_int_equal(send(c->fd, b.data, b.len, 0), b.len);
    buf_uninit(&b);
    client_read(c);
}

static struct ofproto *bridge_open(void)
{
    const struct ofp_port ports[] = { { .port_no = { 2 }, .name = "p2", .hw_addr = mac }, { .port_no = { 1 }, .name = "p1", .hw_addr = mac } };
    struct ofproto *o = ofproto_create(loop_base(), "br0", &bridge_ops, NULL);

    ofproto_set_ports(o, ports, 2);
    n_changed = n_set = 0;
    device_fails = false;
    return o;
}

static void test_each_version_configures_the_bits_that_it_knows(void **state UNUSED)
{
    static const uint8_t versions[] = { OFP10_VERSION, OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };
    static const uint32_t all = UINT32_MAX & ~OFPPC_PORT_DOWN, all13 = OFPPC_NO_RECV | OFPPC_NO_RECV_STP | OFPPC_NO_FWD | OFPPC_NO_PACKET_IN;

    for (unsigned int i = 0; i < 4; i++) {
        struct ofproto *o = bridge_open();
        struct client c, other;
        client_open(&c, o, versions[i]);
        client_open(&other, o, OFP10_VERSION);
        port_mod(&c, 2, mac, all, all);
        assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 2 }), i ? all13 : 0x7e);
        assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 1 }), 0);
        port_mod(&c, 2, mac, 0, OFPPC_NO_RECV);
        assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 2 }), (i ? all13 & ~OFPPC_NO_RECV_STP : 0x7e) & ~OFPPC_NO_RECV);
        port_mod(&c, 2, mac, 0, OFPPC_NO_RECV); /* No change. */
        client_read(&other);
        assert_int_equal(c.n_errors, 0);
        assert_int_equal(n_changed, 2);
        assert_int_equal(n_set, 0);
        assert_int_equal(other.n_status, 2);
        assert_int_equal(other.config, ofproto_port_config(o, (ofp_port_t){ 2 }));
        assert_int_equal(c.n_status, versions[i] == OFP15_VERSION ? 2 : 0);
        ofproto_destroy(o);
        close(c.fd);
        close(other.fd);
        turn();
    }
}

static void test_a_port_keeps_its_configuration_as_long_as_it_is_there(void **state UNUSED)
{
    const struct ofp_port same[] = { { .port_no = { 1 }, .name = "p1", .hw_addr = mac, .config = OFPPC_PORT_DOWN },
                                     { .port_no = { 2 }, .name = "p2", .hw_addr = mac } };
    const struct ofp_port others[] = { { .port_no = { 1 }, .name = "q1", .hw_addr = mac } };
    struct ofproto *o = bridge_open();
    struct client c;

    client_open(&c, o, OFP10_VERSION);
    port_mod(&c, 1, mac, OFPPC_NO_FLOOD, OFPPC_NO_FLOOD);
    port_mod(&c, 2, mac, OFPPC_NO_FWD, OFPPC_NO_FWD);
    ofproto_set_ports(o, same, 2);
    client_read(&c);
    assert_int_equal(c.n_status, 1); /* Of the device that is down. */
    assert_int_equal(c.config, OFPPC_NO_FLOOD | OFPPC_PORT_DOWN);
    assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 1 }), OFPPC_NO_FLOOD);
    assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 2 }), OFPPC_NO_FWD);
    ofproto_set_ports(o, others, 1);
    assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 1 }), 0);
    ofproto_set_ports(o, same, 2);
    assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 2 }), 0);
    ofproto_destroy(o);
    close(c.fd);
    turn();
}

static void test_devices_are_set_up_and_down(void **state UNUSED)
{
    struct ofproto *o = bridge_open();
    struct client c;

    client_open(&c, o, OFP13_VERSION);
    port_mod(&c, 1, mac, OFPPC_PORT_DOWN, OFPPC_PORT_DOWN);
    assert_int_equal(n_set, 1);
    assert_false(device_up);
    assert_int_equal(o->ports[0].config, OFPPC_PORT_DOWN);
    assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 1 }), 0);
    port_mod(&c, 1, mac, 0, OFPPC_PORT_DOWN);
    assert_int_equal(n_set, 2);
    assert_true(device_up);
    assert_int_equal(n_changed, 0); /* Translation does not care. */
    device_fails = true;
    port_mod(&c, 1, mac, OFPPC_PORT_DOWN | OFPPC_NO_FWD, OFPPC_PORT_DOWN | OFPPC_NO_FWD);
    assert_int_equal(c.error, 7 << 16 | 4); /* OFPPMFC_EPERM. */
    assert_int_equal(o->ports[0].config, 0);
    ofproto_destroy(o);
    close(c.fd);
    turn();
}

static void test_wrong_requests_change_nothing(void **state UNUSED)
{
    const struct eth_addr wrong = { { 2, 0, 0, 0, 0, 9 } };
    struct ofproto *o = bridge_open();
    struct client c, newer;

    client_open(&c, o, OFP10_VERSION);
    client_open(&newer, o, OFP14_VERSION);
    port_mod(&c, 3, mac, OFPPC_NO_FWD, OFPPC_NO_FWD);
    assert_int_equal(c.error, 4 << 16);
    port_mod(&c, 1, wrong, OFPPC_NO_FWD, OFPPC_NO_FWD);
    assert_int_equal(c.error, 4 << 16 | 1);
    port_mod(&newer, 70000, mac, OFPPC_NO_FWD, OFPPC_NO_FWD);
    assert_int_equal(newer.error, 7 << 16);
    port_mod(&newer, 1, wrong, OFPPC_NO_FWD, OFPPC_NO_FWD);
    assert_int_equal(newer.error, 7 << 16 | 1);
    o->conns->role = OFP_ROLE_SLAVE;
    port_mod(&newer, 1, mac, OFPPC_NO_FWD, OFPPC_NO_FWD);
    assert_int_equal(newer.n_errors, 3);
    assert_int_equal(ofproto_port_config(o, (ofp_port_t){ 1 }) | n_changed, 0);
    ofproto_destroy(o);
    close(c.fd);
    close(newer.fd);
    turn();
}

/* ---- Translation. ---- */

static char actions_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));

#define ARP_FROM(PORT) "arp,in_port=" PORT ",dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff"
#define STP_FROM(PORT) "in_port=" PORT ",dl_src=02:00:00:00:00:01,dl_dst=01:80:c2:00:00:00,dl_type=0x99"

static void test_translation_does_as_ports_are_configured(void **state UNUSED)
{
    static const char *const flows[] = { "arp,in_port=1 actions=2,3,4",     "arp,in_port=2 actions=FLOOD", "arp,in_port=3 actions=ALL",
                                         "in_port=1,dl_type=0x99 actions=2", "arp,in_port=4 actions=5",     "B:in_port=10 actions=11" };
    static const struct {
        uint32_t port, config;
        const char *packet, *actions, *mask;
        enum xlate_verdict verdict;
    } cases[] = {
        { 3, 0, ARP_FROM("1"), "2,3,4", "arp", XLATE_FORWARD },
        { 3, OFPPC_NO_FWD, ARP_FROM("1"), "2,4", "arp", XLATE_FORWARD },
        { 3, OFPPC_NO_FLOOD, ARP_FROM("1"), "2,3,4", "arp", XLATE_FORWARD },
        { 3, OFPPC_NO_FLOOD, ARP_FROM("2"), "1,4", "arp", XLATE_FORWARD },
        { 3, OFPPC_NO_FWD, ARP_FROM("2"), "1,4", "arp", XLATE_FORWARD },
        { 1, OFPPC_NO_FLOOD, ARP_FROM("3"), "1,2,4,11", "arp", XLATE_FORWARD },
        { 1, OFPPC_NO_RECV, ARP_FROM("1"), "drop", "dl_dst=ff:ff:ff:ff:ff:ff", XLATE_NO_RECV },
        { 1, OFPPC_NO_RECV, STP_FROM("1"), "2", "dl_dst=01:80:c2:00:00:00,dl_type=0x0099", XLATE_FORWARD },
        { 1, OFPPC_NO_RECV_STP, STP_FROM("1"), "drop", "dl_dst=01:80:c2:00:00:00", XLATE_NO_RECV },
        { 1, OFPPC_NO_RECV_STP, ARP_FROM("1"), "2,3,4", "arp,dl_dst=ff:ff:ff:ff:ff:ff", XLATE_FORWARD },
        { 1, OFPPC_NO_RECV | OFPPC_NO_RECV_STP, STP_FROM("1"), "drop", "", XLATE_NO_RECV },
        { 2, OFPPC_NO_RECV | OFPPC_NO_PACKET_IN, ARP_FROM("1"), "2,3,4", "arp", XLATE_FORWARD },
        { 10, 0, ARP_FROM("4"), "11", "arp", XLATE_FORWARD },
        { 10, OFPPC_NO_RECV | OFPPC_NO_RECV_STP, ARP_FROM("4"), "drop", "arp", XLATE_FORWARD },
        { 5, OFPPC_NO_FWD, ARP_FROM("4"), "drop", "arp", XLATE_FORWARD },
    };
    struct xlate_out out;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct xconfig *c = kit_two_bridges("1:t 2:t 3:t 4:t 5:tp-", "10:tp 11:t", flows, ARRAY_SIZE(flows));
        struct flow flow = kit_packet(cases[i].packet);
        xconfig_bundle_by_id(c, cases[i].port)->ports[0]->config = cases[i].config;
        kit_translate(c, &flow, actions_memory, &out);
        char *actions = kit_actions_text(&out.actions), *mask = kit_mask_text(&flow, &out.mask);
        if (strcmp(actions, cases[i].actions) || strcmp(mask, cases[i].mask) || out.verdict != cases[i].verdict) {
            fail_msg("case %zu: %s with mask \"%s\": %s", i, actions, mask, xlate_verdict_text(out.verdict));
        }
        free(actions);
        free(mask);
        xconfig_destroy(c);
    }
}

static void test_misses_of_a_port_are_kept_from_controllers(void **state UNUSED)
{
    static const char *const flows[] = { "udp actions=2" };
    struct xlate_out out;

    for (unsigned int closed = 0; closed < 2; closed++) {
        struct xconfig *c = kit_two_bridges("1:t 2:t 5:tp", "10:tp", flows, 1);
        struct flow flow = kit_packet(ARP_FROM("1"));
        tables_set_punts(xconfig_bundle_by_id(c, 1)->bridge->tables, TABLES_PUNT_MISS);
        xconfig_bundle_by_id(c, 1)->ports[0]->config = closed ? OFPPC_NO_PACKET_IN : 0;
        kit_translate(c, &flow, actions_memory, &out);
        assert_int_equal(attrbuf_len(&out.actions) == 0, closed);
        xconfig_destroy(c);
    }
}

static int setup(void **state)
{
    int r = kit_setup(state);
    return r ? r : setenv("OVS_RUNDIR", kit_dir, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_version_configures_the_bits_that_it_knows),
        cmocka_unit_test(test_a_port_keeps_its_configuration_as_long_as_it_is_there),
        cmocka_unit_test(test_devices_are_set_up_and_down),
        cmocka_unit_test(test_wrong_requests_change_nothing),
        cmocka_unit_test(test_translation_does_as_ports_are_configured),
        cmocka_unit_test(test_misses_of_a_port_are_kept_from_controllers),
    };

    rcu_register_thread();
    return cmocka_run_group_tests(tests, setup, kit_teardown);
}
