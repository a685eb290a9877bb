/* The simulated datapath keeps the kernel's rules: of flows and packets. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/openvswitch.h>

#include "lib/base/clock.h"

#include "tests/unit/dpif-sim-kit.h"

/* ---- Flows. ---- */

static void test_put_is_refused_for_a_known_ufid_or_a_matching_megaflow(void **state)
{
    struct flow_req r;
    assert_int_equal(put(1, udp(1, 2), 2), 0);
    assert_int_equal(put(1, udp(1, 2), 3), -EEXIST); /* UFID. */
    assert_int_equal(put(1, udp(7, 2), 3), -EEXIST); /* Same megaflow: same UFID. */
    /* A narrower mask gives another UFID, but the wide megaflow matches the key. */
    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 2));
    FLOW_MASK_FIELD(&r.mask_flow, eth_src);
    assert_int_equal(req_run(&r), -EEXIST);
    /* A key that the wide one does not match goes in, under a mask of its own. */
    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 3));
    FLOW_MASK_FIELD(&r.mask_flow, eth_src);
    assert_int_equal(req_run(&r), 0);
    assert_int_equal(stats().n_flows, 2);
    assert_int_equal(stats().n_masks, 2);
    /* And a wide one whose key it does not match, too, though they overlap: the kernel does not notice. */
    assert_int_equal(put(1, udp(9, 3), 2), 0);
    sim_set_fault(dpif, SIM_FAULT_PUT_EEXIST, 1);
    assert_int_equal(put(1, udp(1, 50), 2), -EEXIST);
    sim_set_fault(dpif, SIM_FAULT_PUT_FAIL, 1);
    assert_int_equal(put(1, udp(1, 50), 2), -ENOMEM);
    assert_int_equal(put(1, udp(1, 50), 2), 0);
}

static void test_megaflow_takes_what_its_mask_lets_through_and_no_more(void **state)
{
    struct flow_req r;
    port_add("p1", 0);
    port_add("p2", 0);
    assert_int_equal(put(1, udp(1, 2), 2), 0);
    /* Sources do not matter, destination and port do. */
    for (int i = 1; i <= 300; i++) {
        inject(1, 0, udp(i * 77, 2));
    }
    assert_int_equal(stats().n_hit, 300);
    inject(1, 0, udp(1, 3));
    inject(2, 0, udp(1, 2));
    assert_int_equal(stats().n_missed, 2);
    /* 10.0.1.0/24, by one more mask. */
    req_init(&r, DPIF_OP_FLOW_PUT, 2, udp(1, 0x101));
    memset(&r.mask_flow.eth_dst, 0, sizeof r.mask_flow.eth_dst);
    r.mask_flow.ip_dst = htonl(0xffffff00);
    assert_int_equal(req_run(&r), 0);
    inject(2, 0, udp(1, 0x1ff));
    inject(2, 0, udp(9, 0x100));
    assert_int_equal(stats().n_hit, 302);
    inject(2, 0, udp(1, 0x201));
    assert_int_equal(stats().n_missed, 3);
}

static void test_mod_changes_actions_and_keeps_statistics(void **state)
{
    struct flow_req r;
    outputs_record();
    port_add("p1", 0);
    port_add("p2", 0);
    req_init(&r, DPIF_OP_FLOW_MOD, 1, udp(1, 2));
    odp_put_output(&r.actions_buf, odp(2));
    assert_int_equal(req_run(&r), -ENOENT);
    r.op.flow.create = true;
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, udp(1, 2));
    assert_int_equal(n_outputs, 1);
    attrbuf_clear(&r.actions_buf); /* Drop. */
    r.op.flow.create = false;
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, udp(1, 2));
    assert_int_equal(n_outputs, 1);
    r.op.type = DPIF_OP_FLOW_GET;
    assert_int_equal(req_run(&r), 0);
    assert_int_equal(r.op.flow.stats.n_packets, 2);
}

static void test_mod_with_create_takes_a_masked_flow_for_another(void **state)
{
    struct flow_req r;
    req_init(&r, DPIF_OP_FLOW_MOD, 1, udp(1, 2));
    r.op.flow.create = true;
    assert_int_equal(req_run(&r), 0);
    /* Again, by its UFID, and yet (the kernel's way; the referee test has seen it). */
    assert_int_equal(req_run(&r), -ENOENT);
    FLOW_MASK_FIELD(&r.mask_flow, eth_src);
    assert_int_equal(req_run(&r), -ENOENT);
}

static void test_statistics_are_exact(void **state)
{
    struct flow_req r;
    struct packet_build p;
    size_t bytes = 0;
    port_add("p1", 0);
    packet_build_tcp(&p, mac(1), mac(2), 1, 2, 3, 4, 0x02);
    req_init(&r, DPIF_OP_FLOW_PUT, 1, p);
    assert_int_equal(req_run(&r), 0);
    assert_int_equal(put(1, udp(1, 77), 2), 0);
    sim_set_time(5000);
    inject(1, 0, p);
    bytes += p.len;
    packet_build_tcp(&p, mac(1), mac(2), 1, 2, 3, 4, 0x10);
    packet_build_bytes(&p, NULL, 100);
    sim_set_time(6000);
    inject(1, 0, p);
    bytes += p.len;
    r.op.type = DPIF_OP_FLOW_DEL;
    r.op.flow.want_stats = true;
    assert_int_equal(req_run(&r), 0);
    assert_int_equal(r.op.flow.stats.n_packets, 2);
    assert_int_equal(r.op.flow.stats.n_bytes, bytes);
    assert_int_equal(r.op.flow.stats.used, 6000);
    assert_int_equal(r.op.flow.stats.tcp_flags, 0x12);
    assert_int_equal(req_run(&r), -ENOENT);
    assert_int_equal(stats().n_hit, 2);
    assert_int_equal(stats().n_missed, 0);
    assert_int_equal(stats().n_flows, 1);
    assert_int_equal(stats().n_mask_hit, 2);
    inject(1, 0, p);
    assert_int_equal(stats().n_missed, 1);
    sim_set_time(0);
    inject(1, 0, udp(1, 77));
    req_init(&r, DPIF_OP_FLOW_GET, 1, udp(1, 77));
    assert_int_equal(req_run(&r), 0);
    assert_in_range(r.op.flow.stats.used, clock_msec() - 5000, clock_msec());
}

static void test_get_reports_what_was_put(void **state)
{
    struct flow_req r;
    struct dpif_flow f;
    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 2));
    odp_put_output(&r.actions_buf, odp(2));
    assert_int_equal(req_run(&r), 0);
    assert_int_equal(dpif_flow_get(session, &r.op.flow.ufid, NULL, 0, &f), 0);
    assert_true(f.has_ufid && ufid_eq(&f.ufid, &r.op.flow.ufid));
    assert_int_equal(f.key_len, r.op.flow.key_len);
    assert_memory_equal(f.key, r.op.flow.key, f.key_len);
    assert_int_equal(f.mask_len, r.op.flow.mask_len);
    assert_memory_equal(f.mask, r.op.flow.mask, f.mask_len);
    assert_int_equal(f.actions_len, r.op.flow.actions_len);
    assert_memory_equal(f.actions, r.op.flow.actions, f.actions_len);
    /* A flow that has a UFID is not found by its key: so is the kernel. */
    assert_int_equal(dpif_flow_get(session, NULL, r.op.flow.key, r.op.flow.key_len, &f), -ENOENT);
    struct ufid none = { 1, 2 };
    assert_int_equal(dpif_flow_get(session, &none, NULL, 0, &f), -ENOENT);
    assert_int_equal(dpif_flow_flush(session), 0);
    assert_int_equal(dpif_flow_get(session, &r.op.flow.ufid, NULL, 0, &f), -ENOENT);
    assert_int_equal(stats().n_masks, 0);
}

static void test_lost_reply_is_of_an_op_that_was_done(void **state)
{
    sim_set_fault(dpif, SIM_FAULT_REPLY_LOST, 1);
    assert_int_equal(put(1, udp(1, 2), 2), -ENOBUFS);
    assert_int_equal(put(1, udp(1, 2), 2), -EEXIST);
}

/* Puts a flow for packets P from port 1 under the mask attributes MASK, which need not make sense. */
static int put_masked(struct packet_build p, const struct attrbuf *mask)
{
    struct flow_req r;
    struct dpif_op *op = &r.op;
    req_init(&r, DPIF_OP_FLOW_PUT, 1, p);
    attrs_of(r.key, sizeof r.key, &r.flow, NULL, &op->flow.key, &op->flow.key_len);
    op->flow.mask = attrbuf_data(mask);
    op->flow.mask_len = attrbuf_len(mask);
    dpif_operate(session, &op, 1);
    return op->error;
}

static void test_mask_that_looks_where_the_packet_may_have_nothing_is_refused(void **state)
{
    uint64_t mem[64];
    struct attrbuf m;
    struct ovs_key_ipv4 ip = { .ipv4_dst = UINT32_MAX };
    struct ovs_key_udp udp_ports = { .udp_dst = UINT16_MAX };

    attrbuf_init(&m, mem, sizeof mem);
    attrbuf_put(&m, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    assert_int_equal(put_masked(udp(1, 2), &m), -EINVAL);
    attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, UINT16_MAX);
    assert_int_equal(put_masked(udp(1, 2), &m), 0);
    attrbuf_put(&m, OVS_KEY_ATTR_UDP, &udp_ports, sizeof udp_ports);
    assert_int_equal(put_masked(udp(1, 3), &m), -EINVAL);
    attrbuf_clear(&m);
    ip.ipv4_proto = UINT8_MAX;
    attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, UINT16_MAX);
    attrbuf_put(&m, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    attrbuf_put(&m, OVS_KEY_ATTR_UDP, &udp_ports, sizeof udp_ports);
    assert_int_equal(put_masked(udp(1, 3), &m), 0);
}

static void test_vlan_mask_needs_tpid_and_cfi(void **state)
{
    uint64_t mem[64];
    struct packet_build tagged = udp(1, 4);
    packet_build_vlan(&tagged, ETH_TYPE_VLAN, 10);
    for (int i = 0; i < 4; i++) {
        struct attrbuf m;
        attrbuf_init(&m, mem, sizeof mem);
        attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, i == 0 ? 0 : UINT16_MAX);
        attrbuf_put_u16(&m, OVS_KEY_ATTR_VLAN, htons(i == 1 ? 0x0fff : 0x1fff));
        struct nlattr *encap = attrbuf_nest_begin(&m, OVS_KEY_ATTR_ENCAP);
        attrbuf_put_u16(&m, OVS_KEY_ATTR_ETHERTYPE, UINT16_MAX);
        attrbuf_nest_end(&m, encap);
        assert_int_equal(put_masked(i == 2 ? udp(1, 4) : tagged, &m), i < 3 ? -EINVAL : 0);
    }
}

/* Puts a flow to MAC 4 with one action, of TYPE. */
static int put_action(uint16_t type, const void *data, size_t len)
{
    struct flow_req r;
    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 4));
    attrbuf_put(&r.actions_buf, type, data, len);
    return req_run(&r);
}

static void test_malformed_actions_and_keys_are_refused(void **state)
{
    struct ovs_action_push_vlan push = { htons(ETH_TYPE_VLAN), htons(5) };
    uint32_t port = 65535;
    uint64_t junk[] = { UINT64_MAX, UINT64_MAX };
    struct nlattr pid_0[2] = { { 8, OVS_USERSPACE_ATTR_PID }, { 0, 0 } };
    assert_int_equal(put_action(OVS_ACTION_ATTR_OUTPUT, &port, 4), -EINVAL);
    assert_int_equal(put_action(OVS_ACTION_ATTR_OUTPUT, &port, 2), -EINVAL);
    assert_int_equal(put_action(OVS_ACTION_ATTR_USERSPACE, pid_0, 8), -EINVAL);
    assert_int_equal(put_action(OVS_ACTION_ATTR_USERSPACE, NULL, 0), -EINVAL);
    assert_int_equal(put_action(OVS_ACTION_ATTR_PUSH_VLAN, &push, sizeof push), -EINVAL); /* No CFI. */
    assert_int_equal(put_action(OVS_ACTION_ATTR_POP_VLAN, &port, 4), -EINVAL);
    assert_int_equal(put_action(OVS_ACTION_ATTR_CLONE, junk, sizeof junk), -EINVAL);
    assert_int_equal(put_action(200, NULL, 0), -EINVAL);
    struct dpif_op op = { .type = DPIF_OP_FLOW_PUT }, *ops[] = { &op };
    dpif_operate(session, ops, 1);
    assert_int_equal(op.error, -EINVAL);
    op.flow.key = (const struct nlattr *) junk;
    op.flow.key_len = sizeof junk;
    dpif_operate(session, ops, 1);
    assert_int_equal(op.error, -EINVAL);
    assert_int_equal(stats().n_flows, 0);
}

/* ---- Packets. ---- */

static void test_actions_change_the_frame_and_send_it_in_order(void **state)
{
    struct flow_req r;
    struct packet_build p = udp(1, 2), tagged = udp(1, 2), retagged = udp(1, 2);
    packet_build_vlan(&tagged, ETH_TYPE_VLAN, 10);
    packet_build_vlan(&retagged, ETH_TYPE_VLAN, 20);
    outputs_record();
    for (int i = 1; i <= 3; i++) {
        port_add((const char *[]){ "", "p1", "p2", "p3" }[i], 0);
    }
    req_init(&r, DPIF_OP_FLOW_PUT, 1, p);
    odp_put_output(&r.actions_buf, odp(2));
    odp_put_push_vlan(&r.actions_buf, htons(ETH_TYPE_VLAN), htons(10));
    odp_put_output(&r.actions_buf, odp(3));
    odp_put_output(&r.actions_buf, odp(40)); /* Not there. */
    odp_put_pop_vlan(&r.actions_buf);
    odp_put_trunc(&r.actions_buf, 20);
    odp_put_output(&r.actions_buf, odp(2));
    odp_put_output(&r.actions_buf, odp(1)); /* The kernel does not mind where it came in. */
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, p);
    assert_int_equal(n_outputs, 4);
    assert_frame(&outputs[0], &p);
    assert_int_equal(output_ports[0], 2);
    assert_frame(&outputs[1], &tagged);
    assert_int_equal(output_ports[1], 3);
    assert_int_equal(outputs[2].len, 20);
    assert_memory_equal(outputs[2].data, p.data, 20);
    assert_frame(&outputs[3], &p);
    assert_int_equal(port_get(2).tx_packets, 2);
    assert_int_equal(port_get(2).tx_bytes, p.len + 20);
    /* A tagged packet is another flow. */
    req_init(&r, DPIF_OP_FLOW_PUT, 1, tagged);
    FLOW_MASK_FIELD(&r.mask_flow, vlan[0]);
    odp_put_pop_vlan(&r.actions_buf);
    odp_put_push_vlan(&r.actions_buf, htons(ETH_TYPE_VLAN), htons(20));
    odp_put_output(&r.actions_buf, odp(2));
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, tagged);
    assert_int_equal(n_outputs, 5);
    assert_frame(&outputs[4], &retagged);
}

static void test_clone_is_a_copy_and_unknown_actions_are_counted(void **state)
{
    struct flow_req r;
    struct packet_build p = udp(1, 2);
    outputs_record();
    port_add("p1", 0);
    req_init(&r, DPIF_OP_FLOW_PUT, 1, p);
    struct nlattr *nest = attrbuf_nest_begin(&r.actions_buf, OVS_ACTION_ATTR_CLONE);
    odp_put_push_vlan(&r.actions_buf, htons(ETH_TYPE_VLAN), htons(10));
    odp_put_output(&r.actions_buf, odp(1));
    attrbuf_nest_end(&r.actions_buf, nest);
    odp_put_output(&r.actions_buf, odp(1));
    attrbuf_put_flag(&r.actions_buf, OVS_ACTION_ATTR_PUSH_NSH);
    odp_put_output(&r.actions_buf, odp(1));
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, p);
    assert_int_equal(n_outputs, 2);
    assert_int_equal(outputs[0].len, p.len + 4);
    assert_frame(&outputs[1], &p);
    assert_int_equal(counts().n_action_errors, 1);
}

static void test_userspace_action_sends_the_changed_packet_with_the_first_key(void **state)
{
    struct chan ch, cpu;
    struct flow_req r;
    struct packet_build p = udp(1, 2);
    chan_open(&ch, 1 << 16);
    chan_open(&cpu, 1 << 16);
    port_add("p1", 0);
    req_init(&r, DPIF_OP_FLOW_PUT, 1, p);
    odp_put_push_vlan(&r.actions_buf, htons(ETH_TYPE_VLAN), htons(10));
    odp_put_userspace(&r.actions_buf, ch.pid, "cookie", 6);
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, p);
    assert_int_equal(chan_drain(&ch), 1);
    assert_int_equal(ch.uc.type, DPIF_UC_ACTION);
    assert_int_equal(ch.uc.packet_len, p.len + 4);
    assert_false(flow_vlan_present(&ch.key.vlan[0]));
    assert_non_null(ch.uc.userdata);
    assert_int_equal(mnl_attr_get_payload_len(ch.uc.userdata), 6);
    assert_memory_equal(mnl_attr_get_payload(ch.uc.userdata), "cookie", 6);
    assert_int_equal(stats().n_missed, 0);
    /* The per-CPU table comes before the action's own pid. */
    dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, &cpu.pid, 1);
    inject(1, 0, p);
    assert_int_equal(chan_drain(&ch), 0);
    assert_int_equal(chan_drain(&cpu), 1);
    chan_close(&ch);
    chan_close(&cpu);
}

static void test_recirculation_looks_up_again_and_ends(void **state)
{
    struct chan ch;
    struct flow_req r;
    chan_open(&ch, 1 << 16);
    outputs_record();
    port_add("p1", ch.pid);
    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 2));
    odp_put_push_vlan(&r.actions_buf, htons(ETH_TYPE_VLAN), htons(10));
    odp_put_recirc(&r.actions_buf, 5);
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, udp(1, 2));
    assert_int_equal(chan_drain(&ch), 1);
    assert_int_equal(ch.uc.type, DPIF_UC_MISS);
    assert_int_equal(ch.key.recirc_id, 5);
    assert_true(flow_vlan_present(&ch.key.vlan[0]));
    assert_int_equal(stats().n_hit, 1);
    assert_int_equal(stats().n_missed, 1);
    struct packet_build tagged = udp(1, 2);
    packet_build_vlan(&tagged, ETH_TYPE_VLAN, 10);
    req_init(&r, DPIF_OP_FLOW_PUT, 1, tagged);
    r.flow.recirc_id = 5;
    odp_put_output(&r.actions_buf, odp(1));
    odp_put_recirc(&r.actions_buf, 5); /* For ever. */
    assert_int_equal(req_run(&r), 0);
    inject(1, 0, udp(1, 2));
    assert_in_range(n_outputs, 1, 15);
    assert_int_equal(counts().n_action_errors, 1);
    chan_close(&ch);
}

static void test_execute_honours_metadata_pid_and_hash(void **state)
{
    struct chan ch, cpu;
    uint64_t mem[64];
    struct attrbuf actions;
    struct flow key = { .in_port = { 1 } };
    struct packet_build p = udp(1, 2);
    chan_open(&ch, 1 << 16);
    chan_open(&cpu, 1 << 16);
    outputs_record();
    port_add("p1", 0);
    packet_extract(p.data, p.len, &key);
    attrbuf_init(&actions, mem, sizeof mem);
    odp_put_output(&actions, odp(1));
    odp_put_recirc(&actions, 9);
    uint32_t pids[] = { 0, cpu.pid };
    dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, pids, 2);
    assert_int_equal(execute(&key, p, &actions, ch.pid), 0);
    assert_int_equal(n_outputs, 1);
    assert_int_equal(chan_drain(&ch), 1);
    assert_int_equal(ch.key.recirc_id, 9);
    assert_int_equal(ch.uc.hash, 0x1234);
    assert_int_equal(stats().n_hit, 0);
    /* Without a reply pid: by the CPU of the caller. */
    sim_set_thread_cpu(1);
    assert_int_equal(execute(&key, p, &actions, 0), 0);
    sim_set_thread_cpu(0);
    assert_int_equal(chan_drain(&cpu), 1);
    /* The port is gone: the local one stands in, for where upcalls go; the key says what it said. */
    sim_port_vanish(dpif, "p1");
    assert_int_equal(execute(&key, p, &actions, ch.pid), 0);
    assert_int_equal(chan_drain(&ch), 1);
    assert_int_equal(ch.key.in_port.n, 1);
    p.len = 13;
    assert_int_equal(execute(&key, p, &actions, 0), -ERANGE);
    chan_close(&ch);
    chan_close(&cpu);
}

static void test_old_kernels(void **state)
{
    struct flow_req r;
    struct dpif_flow f;
    uint32_t pid = 1;
    assert_true(dpif_features(dpif)->per_cpu && dpif_features(dpif)->ufid);
    teardown(NULL);
    sim_set_kernel(SIM_KERNEL_NO_PER_CPU);
    setup(NULL);
    assert_false(dpif_features(dpif)->per_cpu);
    assert_non_null(dpif_features(dpif)->per_cpu_why);
    assert_int_equal(dpif_set_dispatch(session, DPIF_DISPATCH_PER_CPU, &pid, 1), -EOPNOTSUPP);
    teardown(NULL);
    sim_set_kernel(SIM_KERNEL_OLD);
    setup(NULL);
    assert_false(dpif_features(dpif)->ufid);
    req_init(&r, DPIF_OP_FLOW_PUT, 1, udp(1, 2));
    assert_int_equal(req_run(&r), 0);
    assert_int_equal(dpif_flow_get(session, NULL, r.op.flow.key, r.op.flow.key_len, &f), 0);
    assert_false(f.has_ufid);
    assert_int_equal(req_run(&r), -EEXIST);
    r.op.type = DPIF_OP_FLOW_DEL;
    assert_int_equal(req_run(&r), 0);
    port_add("p1", 0);
    assert_true(port_get(1).upcall_success == UINT64_MAX);
}

static void step_cb(const char *where, void *aux) { strcat(strcat(aux, where), " "); }

static void test_steps_are_announced(void **state)
{
    char log[256] = "";
    sim_set_step_cb(step_cb, log);
    port_add("p1", 0);
    put(1, udp(1, 2), 1);
    sim_set_step_cb(NULL, NULL);
    put(1, udp(1, 3), 1);
    assert_string_equal(log, "port_add flow_put ");
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_put_is_refused_for_a_known_ufid_or_a_matching_megaflow),
        T(test_megaflow_takes_what_its_mask_lets_through_and_no_more),
        T(test_mod_changes_actions_and_keeps_statistics),
        T(test_mod_with_create_takes_a_masked_flow_for_another),
        T(test_statistics_are_exact),
        T(test_get_reports_what_was_put),
        T(test_lost_reply_is_of_an_op_that_was_done),
        T(test_mask_that_looks_where_the_packet_may_have_nothing_is_refused),
        T(test_vlan_mask_needs_tpid_and_cfi),
        T(test_malformed_actions_and_keys_are_refused),
        T(test_actions_change_the_frame_and_send_it_in_order),
        T(test_clone_is_a_copy_and_unknown_actions_are_counted),
        T(test_userspace_action_sends_the_changed_packet_with_the_first_key),
        T(test_recirculation_looks_up_again_and_ends),
        T(test_execute_honours_metadata_pid_and_hash),
        T(test_old_kernels),
        T(test_steps_are_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
