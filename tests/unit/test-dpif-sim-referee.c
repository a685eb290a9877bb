/* The kernel as referee of the simulated datapath: the same requests are made of both, and must have the same results.
 *
 * Needs the openvswitch module, and the right to make a network namespace, in which it runs; without them it
 * is skipped (exit status 77).  Meant for a guest: utilities/guest -- tests/unit/test-dpif-sim-referee */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/openvswitch.h>
#include <sched.h>
#include <stdio.h>

#include "lib/base/util.h"
#include "tests/unit/dpif-sim-kit.h"

#define N_RESULTS 64

/* What a script's requests answered, in order. */
static struct result {
    const char *what;
    int result;
} results[2][N_RESULTS];
static unsigned int n_results;
static unsigned int side; /* 0: the sim, 1: the kernel. */

static void note(const char *what, int result)
{
    assert_true(n_results < N_RESULTS);
    results[side][n_results++] = (struct result){ what, result };
}
#define NOTE(CALL) note(#CALL, CALL)

/* Runs SCRIPT on a new datapath of each kind and compares. */
static void referee(void (*script)(void))
{
    static const char *const types[] = { "sim", "system" };
    unsigned int n[2], n_differ = 0;

    for (side = 0; side < 2; side++) {
        assert_int_equal(dpif_open(types[side], "referee", &dpif, NULL), 0);
        assert_int_equal(dpif_session_open(dpif, &session), 0);
        n_results = 0;
        script();
        n[side] = n_results;
        dpif_destroy(session);
        dpif_session_close(session);
        dpif_close(dpif);
        sim_reset();
    }
    assert_int_equal(n[0], n[1]);
    for (unsigned int i = 0; i < n[0]; i++) {
        if (results[0][i].result != results[1][i].result) {
            print_error("%s: sim %d, kernel %d\n", results[0][i].what, results[0][i].result, results[1][i].result);
            n_differ++;
        }
    }
    assert_int_equal(n_differ, 0);
}

/* ---- Flows. ---- */

enum { NO_UFID = 1, CREATE = 2, NO_KEY = 4, EXACT = 8, NARROW = 16 };

/* One request about the flow with UFID {1, ID} of packets from MAC SRC, with the action ACTION_TYPE. */
static int flow_request(enum dpif_op_type type, unsigned int flags, uint64_t id, uint32_t src, uint16_t action_type,
                        const void *action, size_t action_len)
{
    struct flow_req r;
    struct dpif_op *op = &r.op;

    req_init(&r, type, 1, udp(src, 2));
    if (flags & NARROW) {
        FLOW_MASK_FIELD(&r.mask_flow, eth_src);
    }
    if (action_type) {
        attrbuf_put(&r.actions_buf, action_type, action, action_len);
    }
    if (!(flags & NO_KEY)) {
        attrs_of(r.key, sizeof r.key, &r.flow, NULL, &op->flow.key, &op->flow.key_len);
        if (!(flags & EXACT)) {
            attrs_of(r.mask, sizeof r.mask, &r.flow, &r.mask_flow, &op->flow.mask, &op->flow.mask_len);
        }
    }
    op->flow.actions = attrbuf_data(&r.actions_buf);
    op->flow.actions_len = attrbuf_len(&r.actions_buf);
    op->flow.has_ufid = !(flags & NO_UFID);
    op->flow.create = flags & CREATE;
    op->flow.ufid = (struct ufid){ 1, id };
    op->flow.want_stats = true;
    dpif_operate(session, &op, 1);
    return op->error;
}

static int flow(enum dpif_op_type type, unsigned int flags, uint64_t id, uint32_t src)
{
    uint32_t out = 1;
    return flow_request(type, flags, id, src, OVS_ACTION_ATTR_OUTPUT, &out, sizeof out);
}

static int n_flows(void) { return stats().n_flows; }
static int n_masks(void) { return stats().n_masks; }

static void flow_script(void)
{
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 2, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, NARROW, 2, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, EXACT, 2, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 2, 7));
    NOTE(flow(DPIF_OP_FLOW_GET, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_GET, NO_KEY, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_GET, NO_UFID, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_GET, 0, 9, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, 0, 9, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, NO_UFID, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, NO_KEY, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE, 9, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE | NO_UFID, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_DEL, NO_UFID, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_DEL, 0, 9, 1));
    NOTE(n_flows());
    NOTE(flow(DPIF_OP_FLOW_DEL, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_DEL, 0, 1, 1));
    NOTE(n_masks());
    NOTE(flow(DPIF_OP_FLOW_PUT, NO_UFID, 0, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, NO_UFID, 0, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_GET, NO_UFID, 0, 1));
    NOTE(flow(DPIF_OP_FLOW_GET, NO_UFID, 0, 7)); /* Its mask matches, its key is another. */
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, NO_UFID, 0, 1));
    NOTE(flow(DPIF_OP_FLOW_DEL, NO_UFID, 0, 7));
    NOTE(flow(DPIF_OP_FLOW_DEL, NO_UFID, 0, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, EXACT, 3, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE | EXACT, 3, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE | EXACT, 4, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE | EXACT | NO_UFID, 0, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, CREATE, 3, 1));
    NOTE(flow(DPIF_OP_FLOW_MOD, EXACT, 3, 1));
    NOTE(flow(DPIF_OP_FLOW_PUT, NARROW, 4, 2));
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 5, 3));
    NOTE(n_flows());
    NOTE(n_masks());
    NOTE(dpif_flow_flush(session));
    NOTE(n_flows());
    NOTE(n_masks());
}

static void test_flow_requests(void **state) { referee(flow_script); }

/* ---- Actions. ---- */

static int action(uint16_t type, const void *data, size_t len)
{
    int error = flow_request(DPIF_OP_FLOW_PUT, 0, 1, 1, type, data, len);
    if (!error) {
        error = flow_request(DPIF_OP_FLOW_DEL, 0, 1, 1, 0, NULL, 0);
        assert_int_equal(error, 0);
    }
    return error;
}

static int action_u32(uint16_t type, uint32_t v) { return action(type, &v, sizeof v); }

static int push_vlan(uint16_t tpid, uint16_t tci)
{
    struct ovs_action_push_vlan push = { htons(tpid), htons(tci) };
    return action(OVS_ACTION_ATTR_PUSH_VLAN, &push, sizeof push);
}

static int userspace(uint32_t pid)
{
    struct {
        struct nlattr header;
        uint32_t pid;
    } a = { { sizeof a, OVS_USERSPACE_ATTR_PID }, pid };
    return action(OVS_ACTION_ATTR_USERSPACE, &a, sizeof a);
}

static void action_script(void)
{
    NOTE(action(0, NULL, 0));
    NOTE(action_u32(OVS_ACTION_ATTR_OUTPUT, 65534));
    NOTE(action_u32(OVS_ACTION_ATTR_OUTPUT, 65535));
    NOTE(action_u32(OVS_ACTION_ATTR_OUTPUT, UINT32_MAX));
    NOTE(action(OVS_ACTION_ATTR_OUTPUT, "\0", 2));
    NOTE(push_vlan(ETH_TYPE_VLAN, 0x1005));
    NOTE(push_vlan(ETH_TYPE_QINQ, 0x1005));
    NOTE(push_vlan(ETH_TYPE_VLAN, 5));
    NOTE(push_vlan(ETH_TYPE_IPV4, 0x1005));
    NOTE(action(OVS_ACTION_ATTR_POP_VLAN, NULL, 0));
    NOTE(action_u32(OVS_ACTION_ATTR_POP_VLAN, 0));
    NOTE(action_u32(OVS_ACTION_ATTR_TRUNC, 13));
    NOTE(action_u32(OVS_ACTION_ATTR_TRUNC, 14));
    NOTE(action_u32(OVS_ACTION_ATTR_RECIRC, 0));
    NOTE(action_u32(OVS_ACTION_ATTR_RECIRC, 5));
    NOTE(userspace(0));
    NOTE(userspace(UINT32_MAX));
    NOTE(action(OVS_ACTION_ATTR_USERSPACE, NULL, 0));
    NOTE(action(OVS_ACTION_ATTR_CLONE, NULL, 0));
    NOTE(action_u32(100, 0));
}

static void test_actions(void **state) { referee(action_script); }

/* ---- Masks that need not make sense. ---- */

/* Puts a flow under the mask {ETHERTYPE (unless 0), IPV4 {proto, dst}, UDP {dst}}. */
static int mask(uint16_t eth_type, uint8_t ip_proto, uint16_t udp_dst)
{
    struct flow_req r;
    struct dpif_op *op = &r.op;
    struct attrbuf m;
    struct ovs_key_ipv4 ip = { .ipv4_dst = UINT32_MAX, .ipv4_proto = ip_proto };
    struct ovs_key_udp ports = { .udp_dst = udp_dst };

    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 2));
    attrs_of(r.key, sizeof r.key, &r.flow, NULL, &op->flow.key, &op->flow.key_len);
    attrbuf_init(&m, r.mask, sizeof r.mask);
    attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, eth_type);
    attrbuf_put(&m, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    attrbuf_put(&m, OVS_KEY_ATTR_UDP, &ports, sizeof ports);
    op->flow.mask = attrbuf_data(&m);
    op->flow.mask_len = attrbuf_len(&m);
    dpif_operate(session, &op, 1);
    dpif_flow_flush(session);
    return op->error;
}

/* The same under {ETHERTYPE, VLAN, ENCAP {ETHERTYPE}}. */
static int vlan_mask(uint16_t tpid, uint16_t tci, uint16_t inner, bool tagged)
{
    struct flow_req r;
    struct dpif_op *op = &r.op;
    struct attrbuf m;
    struct packet_build p = udp(1, 2);

    if (tagged) {
        packet_build_vlan(&p, ETH_TYPE_VLAN, 10);
    }
    req_init(&r, DPIF_OP_FLOW_PUT, 1, p);
    attrs_of(r.key, sizeof r.key, &r.flow, NULL, &op->flow.key, &op->flow.key_len);
    attrbuf_init(&m, r.mask, sizeof r.mask);
    attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, tpid);
    attrbuf_put_u16(&m, OVS_KEY_ATTR_VLAN, htons(tci));
    struct nlattr *encap = attrbuf_nest_begin(&m, OVS_KEY_ATTR_ENCAP);
    attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, inner);
    attrbuf_nest_end(&m, encap);
    op->flow.mask = attrbuf_data(&m);
    op->flow.mask_len = attrbuf_len(&m);
    dpif_operate(session, &op, 1);
    dpif_flow_flush(session);
    return op->error;
}

static void mask_script(void)
{
    NOTE(mask(UINT16_MAX, UINT8_MAX, UINT16_MAX));
    NOTE(mask(UINT16_MAX, UINT8_MAX, 0));
    NOTE(mask(UINT16_MAX, 0, UINT16_MAX));
    NOTE(mask(UINT16_MAX, 0x0f, UINT16_MAX));
    NOTE(mask(UINT16_MAX, 0, 0));
    NOTE(mask(0, UINT8_MAX, 0));
    NOTE(mask(0x00ff, UINT8_MAX, 0));
    NOTE(vlan_mask(UINT16_MAX, UINT16_MAX, UINT16_MAX, true));
    NOTE(vlan_mask(UINT16_MAX, 0x1fff, UINT16_MAX, true));
    NOTE(vlan_mask(UINT16_MAX, 0x1000, UINT16_MAX, true));
    NOTE(vlan_mask(UINT16_MAX, 0x0fff, UINT16_MAX, true));
    NOTE(vlan_mask(0x00ff, 0x1fff, UINT16_MAX, true));
    NOTE(vlan_mask(0, 0x1fff, UINT16_MAX, true));
    NOTE(vlan_mask(UINT16_MAX, 0x1fff, 0, true));
    NOTE(vlan_mask(UINT16_MAX, 0x1fff, UINT16_MAX, false));
}

static void test_masks(void **state) { referee(mask_script); }

/* ---- Ports. ---- */

static int add(const char *name, enum dpif_port_type type, uint32_t request)
{
    odp_port_t no = ODPP_NONE;
    int error = dpif_port_add(session, name, type, 0, odp(request), &no);
    return error ? error : (int) no.n;
}

static int query(const char *name)
{
    struct dpif_port port;
    int error = dpif_port_query_by_name(session, name, &port);
    return error ? error : (int) port.no.n;
}

#define ANY UINT32_MAX

static void port_script(void)
{
    NOTE(query("referee"));
    NOTE(query("va"));
    NOTE(add("ip0", DPIF_PORT_INTERNAL, ANY));
    NOTE(add("ip0", DPIF_PORT_INTERNAL, ANY));
    NOTE(add("ip0", DPIF_PORT_NETDEV, ANY));
    NOTE(add("referee", DPIF_PORT_INTERNAL, ANY));
    NOTE(add("va", DPIF_PORT_NETDEV, 7));
    NOTE(add("va", DPIF_PORT_NETDEV, ANY));
    NOTE(add("vb", DPIF_PORT_NETDEV, 7));
    NOTE(add("vb", DPIF_PORT_NETDEV, 65535));
    NOTE(add("vb", DPIF_PORT_NETDEV, 65534));
    NOTE(query("vb"));
    NOTE(add("ip1", DPIF_PORT_INTERNAL, ANY));
    NOTE(dpif_port_del(session, odp(1)));
    NOTE(add("ip2", DPIF_PORT_INTERNAL, ANY));
    NOTE(add("sixteen-letters-", DPIF_PORT_NETDEV, ANY));
    NOTE(add("", DPIF_PORT_NETDEV, ANY));
    NOTE(dpif_port_del(session, ODPP_LOCAL));
    NOTE(dpif_port_del(session, odp(99)));
    NOTE(dpif_port_set_pid(session, odp(99), 5));
    NOTE(dpif_port_set_pid(session, odp(7), 5));
    NOTE(dpif_port_del(session, odp(7)));
    NOTE(dpif_port_del(session, odp(7)));
    /* Another datapath. */
    struct dpif *other;
    struct dpif_session *s;
    odp_port_t no;
    NOTE(dpif_open(dpif_type(dpif), "other", &other, NULL));
    dpif_session_open(other, &s);
    NOTE(dpif_port_add(s, "vb", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no));
    NOTE(dpif_port_add(s, "ip2", DPIF_PORT_INTERNAL, 0, ODPP_NONE, &no));
    NOTE(dpif_port_add(s, "ip2", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no));
    NOTE(dpif_destroy(s));
    dpif_session_close(s);
    dpif_close(other);
}

static void test_ports(void **state) { referee(port_script); }

/* ---- Packets, and a datapath that is gone. ---- */

static int execute_script_one(uint32_t in_port, size_t len, void (*put_action)(struct attrbuf *))
{
    uint64_t mem[64];
    struct attrbuf actions;
    struct packet_build p = udp(1, 2);
    struct flow key = { .in_port = { in_port } };

    packet_extract(p.data, p.len, &key);
    p.len = len;
    attrbuf_init(&actions, mem, sizeof mem);
    put_action(&actions);
    return execute(&key, p, &actions, 0);
}

static void put_output_local(struct attrbuf *b) { odp_put_output(b, ODPP_LOCAL); }
static void put_output_absent(struct attrbuf *b) { odp_put_output(b, odp(50)); }
static void put_userspace_0(struct attrbuf *b) { odp_put_userspace(b, 0, NULL, 0); }
static void put_userspace_nobody(struct attrbuf *b) { odp_put_userspace(b, 999999, NULL, 0); }
static void put_recirc(struct attrbuf *b) { odp_put_recirc(b, 5); }
static int n_lost(void) { return stats().n_lost; }
static int n_missed(void) { return stats().n_missed; }
static int n_hit(void) { return stats().n_hit; }

static void packet_script(void)
{
    NOTE(execute_script_one(0, 60, put_output_local));
    NOTE(execute_script_one(88, 60, put_output_local));
    NOTE(execute_script_one(0, 60, put_output_absent));
    NOTE(execute_script_one(0, 13, put_output_absent));
    NOTE(execute_script_one(0, 14, put_output_absent));
    NOTE(execute_script_one(0, 60, put_userspace_0));
    NOTE(n_lost());
    NOTE(execute_script_one(0, 60, put_userspace_nobody));
    NOTE(n_lost());
    NOTE(execute_script_one(0, 60, put_recirc));
    NOTE(n_lost());
    NOTE(n_missed());
    NOTE(n_hit());
    NOTE(dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, NULL, 0));
    NOTE(dpif_destroy(session));
    NOTE(dpif_destroy(session));
    NOTE(dpif_flow_flush(session));
    NOTE(flow(DPIF_OP_FLOW_PUT, 0, 1, 1));
    NOTE(flow(DPIF_OP_FLOW_DEL, 0, 1, 1));
    NOTE(query("va"));
    NOTE(execute_script_one(0, 60, put_output_local));
    NOTE(dpif_port_del(session, odp(1)));
}

static void test_packets_and_a_datapath_that_is_gone(void **state) { referee(packet_script); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flow_requests),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_packets_and_a_datapath_that_is_gone),
    };
    char *why = NULL;

    if (unshare(CLONE_NEWNET)) {
        printf("skipped: a network namespace cannot be made\n");
        return 77;
    }
    if (dpif_open("system", "referee", &dpif, &why)) {
        printf("skipped: %s\n", why);
        free(why);
        return 77;
    }
    assert_int_equal(dpif_session_open(dpif, &session), 0);
    dpif_destroy(session);
    dpif_session_close(session);
    dpif_close(dpif);
    if (system("ip link add va type veth peer name vb")) {
        printf("skipped: no veth devices\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
