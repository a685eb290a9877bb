/* The kernel provider against a running openvswitch module.
 *
 *      channel ◄── upcalls ── [ datapath t-dp ]
 *                              1 │        │ 2
 *                               va        vb          (veth; all in a network namespace of the test's own)
 *                                │        │
 *      packet socket ──────── va-peer   vb-peer ────── packet socket
 *
 * Needs CAP_SYS_ADMIN and CAP_NET_ADMIN; without them, or without the module, exits with 77: skipped. */
#include <config.h>

#include "tests/system/dpif-kernel-kit.h"

/* ---- Datapath. ---- */

static void test_probes_leave_no_flow_and_match_the_kernel(void **state)
{
    struct fixture *f = *state;
    const struct dpif_features *feat = dpif_features(f->dpif);
    assert_int_equal(n_flows(f->s), 0);
    assert_true(feat->ufid);
    assert_true(feat->recirc);
    assert_true(feat->masked_set);
    assert_true(feat->trunc);
    assert_true(feat->max_vlans >= 1);
    assert_true(feat->max_mpls >= 1);
    assert_true(feat->per_cpu || feat->per_cpu_why);
    /* The two came with Linux 6.3 and 6.8: a kernel with the later has the earlier. */
    assert_true(feat->upcall_stats || !feat->drop_action);
    assert_string_equal(dpif_name(f->dpif), "t-dp");
    assert_string_equal(dpif_type(f->dpif), "system");
}

static void find_name(const char *type, const char *name, void *aux)
{
    if (!strcmp(type, "system") && !strcmp(name, "t-dp")) {
        ++*(int *) aux;
    }
}

static void test_enumerate_lists_the_datapath_once(void **state)
{
    int n = 0;
    assert_int_equal(dpif_enumerate(find_name, &n), 0);
    assert_int_equal(n, 1);
}

static void test_open_refuses_bad_names_in_words(void **state)
{
    struct dpif *dpif;
    char *text = NULL;
    assert_int_equal(dpif_open("system", "a-name-of-16-char", &dpif, &text), -ENAMETOOLONG);
    assert_non_null(strstr(text, "1 to 15"));
    free(text);
    assert_int_equal(dpif_open("system", "va-peer", &dpif, &text), -EEXIST);
    assert_non_null(strstr(text, "network device of that name"));
    free(text);
    assert_int_equal(dpif_open("nosuch", "x", &dpif, &text), -ENOENT);
    assert_non_null(strstr(text, "nosuch"));
    free(text);
}

static void test_opening_again_leaves_dispatch_alone(void **state)
{
    struct fixture *f = *state;
    uint32_t buf[1024];
    struct dpif_upcall uc;
    for (int per_cpu = 0; per_cpu <= dpif_features(f->dpif)->per_cpu; per_cpu++) {
        if (per_cpu) {
            assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_CPU, &f->pid, 1), 0);
        }
        struct dpif *again = open_dpif("t-dp");
        assert_int_equal(dpif_features(again)->per_cpu, dpif_features(f->dpif)->per_cpu);
        assert_int_equal(dpif_features(again)->tc_recirc_sharing, dpif_features(f->dpif)->tc_recirc_sharing);
        dpif_close(again);
        send_frame(f->va_peer, 40 + per_cpu);
        assert_true(receive_upcall(f->dpif, f->channel, buf, sizeof buf, &uc, WAIT_MS));
        assert_int_equal(frame_number(uc.packet), 40 + per_cpu);
    }
}

static void test_the_feature_word_is_right_at_any_time(void **state)
{
    struct fixture *f = *state;
    const struct dpif_features *feat = dpif_features(f->dpif);
    uint32_t common = OVS_DP_F_UNALIGNED | (feat->tc_recirc_sharing ? OVS_DP_F_TC_RECIRC_SHARING : 0);
    assert_int_equal(feature_word(), common | OVS_DP_F_VPORT_PIDS);
    if (feat->per_cpu) {
        assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_CPU, &f->pid, 1), 0);
        assert_int_equal(feature_word(), common | OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
        dpif_close(open_dpif("t-dp"));
        assert_int_equal(feature_word(), common | OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    }
    assert_int_equal(dpif_destroy(f->s), 0);
    struct dpif *new = open_dpif("t-dp");
    assert_int_equal(feature_word(), OVS_DP_F_UNALIGNED | OVS_DP_F_VPORT_PIDS);
    struct dpif_session *s;
    assert_int_equal(dpif_session_open(new, &s), 0);
    assert_int_equal(dpif_destroy(s), 0);
    dpif_session_close(s);
    dpif_close(new);
}

/* ---- Ports. ---- */

static void count_port(const struct dpif_port *port, void *aux)
{
    int *n = aux;
    if (!strcmp(port->name, "va") || !strcmp(port->name, "vb") || !strcmp(port->name, "t-dp")) {
        ++*n;
    } else {
        *n += 100;
    }
}

static void test_ports_are_found_by_name_and_number(void **state)
{
    struct fixture *f = *state;
    struct dpif_port p;
    int n = 0;
    assert_int_equal(dpif_port_query_by_name(f->s, "va", &p), 0);
    assert_int_equal(p.no.n, f->va.n);
    assert_int_equal(p.type, DPIF_PORT_NETDEV);
    assert_int_equal(p.upcall_pid, f->pid);
    assert_int_equal(p.ifindex, if_nametoindex("va"));
    assert_int_equal(dpif_port_query_by_number(f->s, f->vb, &p), 0);
    assert_string_equal(p.name, "vb");
    assert_int_equal(dpif_port_query_by_number(f->s, ODPP_LOCAL, &p), 0);
    assert_string_equal(p.name, "t-dp");
    assert_int_equal(p.type, DPIF_PORT_INTERNAL);
    assert_int_equal(dpif_port_dump(f->s, count_port, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(dpif_port_set_pid(f->s, f->va, 0), 0);
    assert_int_equal(dpif_port_query_by_number(f->s, f->va, &p), 0);
    assert_int_equal(p.upcall_pid, 0);
}

static void test_port_errors_are_told_apart(void **state)
{
    struct fixture *f = *state;
    struct dpif_port p;
    odp_port_t no = { 77 };
    assert_int_equal(dpif_port_add(f->s, "nosuch", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no), -ENODEV);
    int error = dpif_port_add(f->s, "va", DPIF_PORT_NETDEV, 0, ODPP_NONE, &no);
    assert_true(error == -EEXIST || error == -EBUSY);
    assert_int_equal(dpif_port_add(f->s, "t-int", DPIF_PORT_INTERNAL, 0, f->va, &no), -EBUSY);
    assert_int_equal(dpif_port_add(f->s, "a-name-of-16-char", DPIF_PORT_INTERNAL, 0, ODPP_NONE, &no), -ENAMETOOLONG);
    assert_int_equal(dpif_port_add(f->s, "t-int", DPIF_PORT_OTHER, 0, ODPP_NONE, &no), -EINVAL);
    assert_int_equal(no.n, 77);
    assert_int_equal(dpif_port_del(f->s, (odp_port_t){ 4242 }), -ENODEV);
    assert_int_equal(dpif_port_del(f->s, ODPP_LOCAL), -EINVAL);
    assert_int_equal(dpif_port_query_by_name(f->s, "vb-peer", &p), -ENODEV);
    assert_int_equal(dpif_port_query_by_number(f->s, (odp_port_t){ 4242 }, &p), -ENODEV);
    assert_int_equal(dpif_port_add(f->s, "t-int", DPIF_PORT_INTERNAL, 0, (odp_port_t){ 4242 }, &no), 0);
    assert_int_equal(no.n, 4242);
    assert_int_equal(dpif_port_del(f->s, no), 0);
}

struct event_log {
    char text[512];
    int n;
};

static void log_event(enum dpif_port_event event, const struct dpif_port *port, void *aux)
{
    static const char *const names[] = { "added", "changed", "deleted" };
    struct event_log *log = aux;
    size_t len = strlen(log->text);
    snprintf(log->text + len, sizeof log->text - len, "%s %s;", names[event], port->name);
    log->n++;
}

static void test_events_are_of_this_datapath_only_and_in_order(void **state)
{
    struct fixture *f = *state;
    struct event_log log = { "", 0 };
    odp_port_t no;
    assert_int_equal(dpif_port_poll(f->dpif, log_event, &log), 0);
    memset(&log, 0, sizeof log);

    struct dpif *other = open_dpif("t-other");
    struct dpif_session *os;
    assert_int_equal(dpif_session_open(other, &os), 0);
    assert_int_equal(dpif_port_add(os, "t-foreign", DPIF_PORT_INTERNAL, 0, ODPP_NONE, &no), 0);
    assert_int_equal(dpif_port_add(f->s, "t-int", DPIF_PORT_INTERNAL, 0, ODPP_NONE, &no), 0);
    assert_int_equal(dpif_port_set_pid(f->s, no, 0), 0);
    assert_int_equal(dpif_port_del(f->s, no), 0);
    assert_int_equal(dpif_destroy(os), 0);
    dpif_session_close(os);
    dpif_close(other);
    run("ip link del vb");

    while (!strstr(log.text, "deleted vb;") && readable(dpif_port_events_fd(f->dpif), WAIT_MS)) {
        assert_int_equal(dpif_port_poll(f->dpif, log_event, &log), 0);
    }
    assert_string_equal(log.text, "added t-int;changed t-int;deleted t-int;deleted vb;");
    run("ip link add vb type veth peer name vb-peer"); /* For tear_down(). */
}

static void test_lost_events_are_reported_once_and_then_new_ones_come(void **state)
{
    struct fixture *f = *state;
    struct event_log log = { "", 0 };
    int small = 1;
    assert_int_equal(dpif_port_poll(f->dpif, log_event, &log), 0);
    assert_int_equal(setsockopt(dpif_port_events_fd(f->dpif), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(dpif_port_set_pid(f->s, f->va, f->pid), 0);
    }
    assert_int_equal(dpif_port_poll(f->dpif, log_event, &log), -ENOBUFS);
    memset(&log, 0, sizeof log);
    assert_int_equal(dpif_port_poll(f->dpif, log_event, &log), 0);
    assert_int_equal(log.n, 0);
    assert_int_equal(dpif_port_set_pid(f->s, f->vb, f->pid), 0);
    assert_int_equal(dpif_port_poll(f->dpif, log_event, &log), 0);
    assert_string_equal(log.text, "changed vb;");
}

/* ---- Upcalls. ---- */

static odp_port_t key_in_port(const struct dpif_upcall *uc)
{
    const struct nlattr *attr; /* The macro's. */
    mnl_attr_for_each_payload (uc->key, uc->key_len) {
        if (mnl_attr_get_type(attr) == OVS_KEY_ATTR_IN_PORT) {
            return (odp_port_t){ mnl_attr_get_u32(attr) };
        }
    }
    return ODPP_NONE;
}

static void test_per_port_upcalls_come_to_the_ports_channel(void **state)
{
    struct fixture *f = *state;
    uint32_t buf[1024], pid;
    struct dpif_upcall uc;
    int other;
    assert_int_equal(dpif_channel_open(f->dpif, 0, &other, &pid), 0);
    assert_int_equal(dpif_port_set_pid(f->s, f->vb, pid), 0);
    send_frame(f->va_peer, 1);
    send_frame(f->vb_peer, 2);
    assert_true(receive_upcall(f->dpif, f->channel, buf, sizeof buf, &uc, WAIT_MS));
    assert_int_equal(uc.type, DPIF_UC_MISS);
    assert_int_equal(frame_number(uc.packet), 1);
    assert_int_equal(uc.packet_len, 60);
    assert_int_equal(key_in_port(&uc).n, f->va.n);
    assert_true(receive_upcall(f->dpif, other, buf, sizeof buf, &uc, WAIT_MS));
    assert_int_equal(frame_number(uc.packet), 2);
    assert_int_equal(key_in_port(&uc).n, f->vb.n);
    assert_false(receive_upcall(f->dpif, f->channel, buf, sizeof buf, &uc, 0));
    dpif_channel_close(f->dpif, other, pid);
}

static void test_per_cpu_upcalls_come_to_the_cpus_channel(void **state)
{
    struct fixture *f = *state;
    uint32_t buf[1024], pid;
    struct dpif_upcall uc;
    int other;
    if (!dpif_features(f->dpif)->per_cpu) {
        skip();
    }
    assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_CPU, NULL, 0), -EINVAL);
    assert_int_equal(dpif_channel_open(f->dpif, 0, &other, &pid), 0);
    size_t n_cpus = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t *pids = xcalloc(n_cpus, sizeof *pids);
    for (size_t i = 0; i < n_cpus; i++) {
        pids[i] = pid;
    }
    assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_CPU, pids, n_cpus), 0);
    free(pids);
    send_frame(f->va_peer, 3);
    assert_true(receive_upcall(f->dpif, other, buf, sizeof buf, &uc, WAIT_MS));
    assert_int_equal(frame_number(uc.packet), 3);
    assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_PORT, NULL, 0), 0);
    send_frame(f->va_peer, 4);
    assert_true(receive_upcall(f->dpif, f->channel, buf, sizeof buf, &uc, WAIT_MS));
    assert_int_equal(frame_number(uc.packet), 4);
    assert_false(receive_upcall(f->dpif, other, buf, sizeof buf, &uc, 0));
    dpif_channel_close(f->dpif, other, pid);
}

static void test_action_upcalls_carry_userdata(void **state)
{
    struct fixture *f = *state;
    uint32_t buf[1024], mem[64];
    uint8_t frame[60];
    struct dpif_upcall uc;
    struct attrbuf b;
    struct ops *o = ops_new();
    make_frame(frame, sizeof frame, 9);
    attrbuf_init(&b, mem, sizeof mem);
    struct nlattr *userspace = attrbuf_nest_begin(&b, OVS_ACTION_ATTR_USERSPACE);
    attrbuf_put_u32(&b, OVS_USERSPACE_ATTR_PID, f->pid);
    attrbuf_put(&b, OVS_USERSPACE_ATTR_USERDATA, "cookie", 6);
    attrbuf_nest_end(&b, userspace);
    struct dpif_op *op = ops_add_packet(o, f->vb, frame, sizeof frame);
    op->execute.actions = attrbuf_data(&b);
    op->execute.actions_len = attrbuf_len(&b);
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(op->error, 0);
    assert_true(receive_upcall(f->dpif, f->channel, buf, sizeof buf, &uc, WAIT_MS));
    assert_int_equal(uc.type, DPIF_UC_ACTION);
    assert_int_equal(mnl_attr_get_payload_len(uc.userdata), 6);
    assert_memory_equal(mnl_attr_get_payload(uc.userdata), "cookie", 6);
    free(o);
}

static void test_a_full_channel_counts_its_drops_and_goes_on(void **state)
{
    struct fixture *f = *state;
    uint32_t buf[1024], pid;
    struct dpif_upcall uc;
    struct dpif_stats before, after;
    int tiny, n = 0;
    assert_int_equal(dpif_channel_open(f->dpif, 8192, &tiny, &pid), 0);
    assert_int_equal(dpif_port_set_pid(f->s, f->va, pid), 0);
    assert_int_equal(dpif_get_stats(f->s, &before), 0);
    for (int i = 0; i < 200; i++) {
        send_frame(f->va_peer, 1000 + i);
    }
    assert_int_equal(dpif_get_stats(f->s, &after), 0);
    uint64_t lost = after.n_lost - before.n_lost;
    assert_true(lost > 0);
    assert_int_equal(dpif_channel_drops(f->dpif, tiny), lost);
    /* One is read, and so one more has room: the overflow does not latch. */
    assert_true(receive_upcall(f->dpif, tiny, buf, sizeof buf, &uc, WAIT_MS));
    send_frame(f->va_peer, 2000);
    assert_int_equal(dpif_channel_drops(f->dpif, tiny), lost);
    while (receive_upcall(f->dpif, tiny, buf, sizeof buf, &uc, 0)) {
        n++;
    }
    assert_int_equal(n + lost, 200);
    assert_int_equal(frame_number(uc.packet), 2000);
    dpif_channel_close(f->dpif, tiny, pid);
}

/* Sends COUNT frames that nobody knows, and returns how many the kernel lost. */
static uint64_t lost_of(struct fixture *f, int count)
{
    struct dpif_stats before, after;
    assert_int_equal(dpif_get_stats(f->s, &before), 0);
    for (int i = 0; i < count; i++) {
        send_frame(f->va_peer, 1000 + i);
    }
    assert_int_equal(dpif_get_stats(f->s, &after), 0);
    return after.n_lost - before.n_lost;
}

/* Longer: at once there is room for more.  Shorter: what is queued stays, what comes is lost until enough has been
 * read. */
static void test_a_queue_becomes_longer_and_shorter_while_it_is_used(void **state)
{
    struct fixture *f = *state;
    uint32_t buf[1024], pid;
    struct dpif_upcall uc;
    int fd, n = 0;
    assert_int_equal(dpif_channel_open(f->dpif, 8192, &fd, &pid), 0);
    assert_int_equal(dpif_port_set_pid(f->s, f->va, pid), 0);
    uint64_t lost = lost_of(f, 100);
    assert_true(lost > 50 && lost < 100);
    assert_int_equal(dpif_channel_set_rcvbuf(f->dpif, fd, 1024 * 1024), 0);
    assert_int_equal(lost_of(f, 200), 0);
    assert_int_equal(dpif_channel_set_rcvbuf(f->dpif, fd, 8192), 0);
    assert_int_equal(lost_of(f, 10), 10);
    assert_int_equal(dpif_channel_drops(f->dpif, fd), lost + 10);
    for (uint64_t i = 0; i < 200 - lost; i++) {
        assert_true(receive_upcall(f->dpif, fd, buf, sizeof buf, &uc, WAIT_MS));
    }
    assert_int_equal(lost_of(f, 10), 10);
    while (receive_upcall(f->dpif, fd, buf, sizeof buf, &uc, 0)) {
        n++;
    }
    assert_int_equal(n, 100);
    assert_int_equal(lost_of(f, 1), 0);
    dpif_channel_close(f->dpif, fd, pid);
}

/* The figures that lib/dpif/rcvbuf-budget.h states. */
static void test_a_queue_of_4_mib_holds_6500_small_upcalls(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;
    int fd;
    assert_int_equal(dpif_channel_open(f->dpif, 4 * 1024 * 1024, &fd, &pid), 0);
    assert_int_equal(dpif_port_set_pid(f->s, f->va, pid), 0);
    assert_int_equal(lost_of(f, 6500), 0);
    assert_true(lost_of(f, 100) > 0);
    dpif_channel_close(f->dpif, fd, pid);
    assert_int_equal(dpif_channel_open(f->dpif, 128 * 1024, &fd, &pid), 0);
    assert_int_equal(dpif_port_set_pid(f->s, f->va, pid), 0);
    assert_int_equal(lost_of(f, 200), 0);
    assert_true(lost_of(f, 20) > 0);
    dpif_channel_close(f->dpif, fd, pid);
}

/* ---- Operations. ---- */

static void test_a_mixed_batch_gives_each_its_result_in_one_system_call(void **state)
{
    struct fixture *f = *state;
    uint8_t frames[64][60], buf[200];
    struct ops *o = ops_new();
    int expect[64];
    for (uint32_t i = 0; i < 64; i += 4) {
        make_frame(frames[i], sizeof frames[i], 100 + i);
        ops_add(o, DPIF_OP_FLOW_PUT, f->va, i, f->vb);
        expect[i] = 0;
        ops_add_packet(o, f->vb, frames[i], sizeof frames[i]);
        expect[i + 1] = 0;
        if (i % 8) {
            ops_add(o, DPIF_OP_FLOW_PUT, f->va, i, f->vb)->flow.ufid.hi = 8; /* The same key with another name. */
            expect[i + 2] = -EEXIST;
            ops_add_packet(o, f->vb, frames[i], 5); /* Too short. */
            expect[i + 3] = 1;                      /* -EINVAL or -ERANGE, by the kernel's version. */
        } else {
            ops_add(o, DPIF_OP_FLOW_DEL, f->va, 5000 + i, f->vb)->flow.want_stats = i % 16;
            expect[i + 2] = -ENOENT;
            ops_add(o, DPIF_OP_FLOW_DEL, f->va, i, f->vb);
            expect[i + 3] = 0;
        }
    }
    uint64_t sends = count("dpif_sendmsg");
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(count("dpif_sendmsg") - sends, 1);
    for (int i = 0; i < 64; i++) {
        int error = o->op[i].error;
        if (expect[i] == 1 ? error != -EINVAL && error != -ERANGE : error != expect[i]) {
            fail_msg("request %d: %d instead of %d", i, error, expect[i]);
        }
    }
    for (int i = 0; i < 64; i += 4) {
        assert_int_equal(receive_frame(f->vb_peer, buf, sizeof buf, WAIT_MS), 60);
        assert_int_equal(frame_number(buf), 100 + i);
    }
    assert_int_equal(receive_frame(f->vb_peer, buf, sizeof buf, 0), 0);
    assert_int_equal(n_flows(f->s), 8);
    free(o);
}

static void test_success_costs_two_system_calls(void **state)
{
    struct fixture *f = *state;
    uint64_t sends = count("dpif_sendmsg"), receives = count("dpif_recvmmsg");
    put_flows(f, 64);
    assert_int_equal(count("dpif_sendmsg") - sends, 1);
    assert_int_equal(count("dpif_recvmmsg") - receives, 1);
}

static void test_packets_of_all_lengths_arrive_whole(void **state)
{
    struct fixture *f = *state;
    static const size_t lens[] = { 60, 511, 512, 513, 514, 515, 1500, 1501, 9000, 65000, BIG_MTU, 64, 30001, 40003 };
    uint8_t *frames[ARRAY_SIZE(lens)], *buf = xmalloc(70000);
    struct ops *o = ops_new();
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        frames[i] = xmalloc(lens[i]);
        make_frame(frames[i], lens[i], i);
        frames[i][lens[i] - 1] = i;
        ops_add_packet(o, f->vb, frames[i], lens[i]);
    }
    /* 65,531 bytes are the most that an attribute can hold. */
    o->op[10].execute.packet_len = 65531;
    frames[10][65530] = 10;
    dpif_operate(f->s, o->ptr, o->n);
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        size_t len = o->op[i].execute.packet_len;
        assert_int_equal(o->op[i].error, 0);
        assert_int_equal(receive_frame(f->vb_peer, buf, 70000, WAIT_MS), len);
        assert_memory_equal(buf, frames[i], len);
    }
    o->n = 0;
    ops_add_packet(o, f->vb, frames[10], 65532);
    ops_add_packet(o, f->vb, frames[0], 60);
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(o->op[0].error, -EMSGSIZE);
    assert_int_equal(o->op[1].error, 0);
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        free(frames[i]);
    }
    free(buf);
    free(o);
}

static void test_two_thousand_failures_are_all_reported(void **state)
{
    struct fixture *f = *state;
    struct ops *o = ops_new();
    put_flows(f, 1);
    for (size_t i = 0; i < 2000; i++) {
        ops_add(o, DPIF_OP_FLOW_DEL, f->va, i == 1777 ? 0 : 9000 + i, f->vb)->flow.want_stats = true;
    }
    dpif_operate(f->s, o->ptr, o->n);
    for (size_t i = 0; i < 2000; i++) {
        assert_int_equal(o->op[i].error, i == 1777 ? 0 : -ENOENT);
    }
    free(o);
}

static void test_a_request_that_names_no_flow_does_not_delete_all(void **state)
{
    struct fixture *f = *state;
    struct ops *o = ops_new();
    put_flows(f, 3);
    struct dpif_op *op = ops_add(o, DPIF_OP_FLOW_DEL, f->va, 0, f->vb);
    op->flow.has_ufid = false;
    op->flow.key_len = 0;
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(op->error, -EINVAL);
    assert_int_equal(n_flows(f->s), 3);
    free(o);
}

static void test_mod_changes_creates_and_keeps_statistics(void **state)
{
    struct fixture *f = *state;
    struct ops *o = ops_new();
    struct dpif_flow flow;
    put_flows(f, 1);
    ops_add(o, DPIF_OP_FLOW_MOD, f->va, 0, ODPP_LOCAL);
    ops_add(o, DPIF_OP_FLOW_MOD, f->va, 1, f->vb);
    ops_add(o, DPIF_OP_FLOW_MOD, f->va, 2, f->vb)->flow.create = true;
    ops_add(o, DPIF_OP_FLOW_MOD, f->va, 2, ODPP_LOCAL)->flow.create = true;
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(o->op[0].error, 0);
    assert_int_equal(o->op[1].error, -ENOENT);
    assert_int_equal(o->op[2].error, 0);
    assert_int_equal(o->op[3].error, 0);
    for (int i = 0; i < 4; i += 3) {
        assert_int_equal(dpif_flow_get(f->s, &o->op[i].flow.ufid, NULL, 0, &flow), 0);
        assert_true(flow.has_ufid && ufid_eq(&flow.ufid, &o->op[i].flow.ufid));
        assert_int_equal(flow.actions_len, o->op[i].flow.actions_len);
        assert_memory_equal(flow.actions, o->op[i].flow.actions, flow.actions_len);
    }
    struct ufid none = { 1, 2 };
    assert_int_equal(dpif_flow_get(f->s, &none, NULL, 0, &flow), -ENOENT);
    free(o);
}

static void test_delete_returns_what_the_flow_had_counted(void **state)
{
    struct fixture *f = *state;
    uint8_t buf[200];
    uint32_t dst = 0x01000000;
    struct ops *o = ops_new();
    ops_add(o, DPIF_OP_FLOW_PUT, f->va, dst, f->vb);
    dpif_operate(f->s, o->ptr, 1);
    assert_int_equal(o->op[0].error, 0);
    for (int i = 0; i < 5; i++) {
        send_frame(f->va_peer, i); /* To 02:00:00:00:00:01. */
        assert_int_equal(receive_frame(f->vb_peer, buf, sizeof buf, WAIT_MS), 60);
    }
    o->n = 0;
    struct dpif_op *get = ops_add(o, DPIF_OP_FLOW_GET, f->va, dst, f->vb);
    struct dpif_op *del = ops_add(o, DPIF_OP_FLOW_DEL, f->va, dst, f->vb);
    del->flow.want_stats = true;
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(get->error, 0);
    assert_int_equal(get->flow.stats.n_packets, 5);
    assert_int_equal(del->error, 0);
    assert_int_equal(del->flow.stats.n_packets, 5);
    assert_int_equal(del->flow.stats.n_bytes, 300);
    assert_true(del->flow.stats.used > 0);
    assert_int_equal(n_flows(f->s), 0);
    free(o);
}

static void test_flows_without_a_name_are_handled_by_key(void **state)
{
    struct fixture *f = *state;
    struct dpif_flow flow;
    struct ops *o = ops_new();
    for (int i = 0; i < 2; i++) {
        struct dpif_op *op = ops_add(o, i ? DPIF_OP_FLOW_DEL : DPIF_OP_FLOW_PUT, f->va, 1, f->vb);
        op->flow.has_ufid = false;
        op->flow.want_stats = i;
    }
    dpif_operate(f->s, o->ptr, 1);
    assert_int_equal(o->op[0].error, 0);
    assert_int_equal(dpif_flow_get(f->s, NULL, o->op[0].flow.key, o->op[0].flow.key_len, &flow), 0);
    assert_false(flow.has_ufid);
    assert_non_null(flow.key);
    dpif_operate(f->s, o->ptr + 1, 1);
    assert_int_equal(o->op[1].error, 0);
    assert_int_equal(n_flows(f->s), 0);
    free(o);
}

/* ---- Dumps. ---- */

#define DUMP_FLOWS 5000
struct dumper {
    struct dpif_flow_dump *dump;
    bool terse;
    unsigned char *seen; /* By flow number; atomic. */
    int n, error;
};

static void *dump_thread(void *arg)
{
    struct dumper *d = arg;
    struct dpif_flow flows[50];
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(d->dump);
    int n;
    while ((n = dpif_flow_dump_next(t, flows, ARRAY_SIZE(flows))) > 0) {
        for (int i = 0; i < n; i++) {
            if (!flows[i].has_ufid || flows[i].ufid.hi != 7 || flows[i].ufid.lo >= DUMP_FLOWS ||
                !flows[i].key != d->terse || !flows[i].actions != d->terse || flows[i].actions_omitted) {
                d->error = -EBADMSG;
            } else {
                __atomic_store_n(&d->seen[flows[i].ufid.lo], 1, __ATOMIC_RELAXED);
            }
        }
        d->n += n;
    }
    d->error = n ? n : d->error;
    dpif_flow_dump_thread_destroy(t);
    return NULL;
}

static void test_a_dump_by_two_threads_has_every_flow_once(void **state)
{
    struct fixture *f = *state;
    put_flows(f, DUMP_FLOWS);
    for (int terse = 0; terse < 2; terse++) {
        unsigned char *seen = xcalloc(DUMP_FLOWS, 1);
        struct dpif_flow_dump *dump;
        struct dumper d[2];
        pthread_t thread[2];
        assert_int_equal(dpif_flow_dump_create(f->dpif, terse, &dump), 0);
        for (int i = 0; i < 2; i++) {
            d[i] = (struct dumper){ .dump = dump, .terse = terse, .seen = seen };
            assert_int_equal(pthread_create(&thread[i], NULL, dump_thread, &d[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(thread[i], NULL);
            assert_int_equal(d[i].error, 0);
        }
        assert_int_equal(dpif_flow_dump_destroy(dump), 0);
        assert_int_equal(d[0].n + d[1].n, DUMP_FLOWS);
        assert_null(memchr(seen, 0, DUMP_FLOWS));
        free(seen);
    }
    assert_int_equal(dpif_flow_flush(f->s), 0);
    assert_int_equal(n_flows(f->s), 0);
}

static void test_a_dump_can_be_given_up_and_fails_without_a_datapath(void **state)
{
    struct fixture *f = *state;
    struct dpif_flow flow;
    struct dpif_flow_dump *dump;
    put_flows(f, 1000);
    assert_int_equal(dpif_flow_dump_create(f->dpif, true, &dump), 0);
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    assert_int_equal(dpif_flow_dump_next(t, &flow, 1), 1);
    dpif_flow_dump_thread_destroy(t);
    assert_int_equal(dpif_flow_dump_destroy(dump), 0);

    assert_int_equal(dpif_destroy(f->s), 0);
    assert_int_equal(dpif_flow_dump_create(f->dpif, true, &dump), 0);
    t = dpif_flow_dump_thread_create(dump);
    assert_int_equal(dpif_flow_dump_next(t, &flow, 1), -ENODEV);
    dpif_flow_dump_thread_destroy(t);
    assert_int_equal(dpif_flow_dump_destroy(dump), -ENODEV);

    struct dpif_stats stats;
    struct ops *o = ops_new();
    ops_add(o, DPIF_OP_FLOW_PUT, f->va, 1, f->vb);
    ops_add(o, DPIF_OP_FLOW_DEL, f->va, 1, f->vb)->flow.want_stats = true;
    dpif_operate(f->s, o->ptr, o->n);
    assert_int_equal(o->op[0].error, -ENODEV);
    assert_int_equal(o->op[1].error, -ENODEV);
    assert_int_equal(dpif_get_stats(f->s, &stats), -ENODEV);
    assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_PORT, NULL, 0), -ENODEV);
    free(o);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(test_##NAME, set_up, tear_down)

int main(int argc, char *argv[])
{
    struct dpif *dpif = NULL;
    char *text = NULL;
    char *wrong = log_set_spec(argc > 1 ? argv[1] : "console:warn");
    if (wrong) {
        fprintf(stderr, "usage: %s [LOG-SPECIFICATION [TEST-PATTERN]]: %s\n", argv[0], wrong);
        return 2;
    }
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    if (unshare(CLONE_NEWNET)) {
        fprintf(stderr, "skipped: no network namespace can be made (%s)\n", strerror(errno));
        return 77;
    }
    int error = dpif_open("system", "t-skip", &dpif, &text);
    if (error == -ENOENT || error == -EPERM) {
        fprintf(stderr, "skipped: %s\n", text);
        free(text);
        return 77;
    }
    if (!error) {
        struct dpif_session *s;
        if (!dpif_session_open(dpif, &s)) {
            dpif_destroy(s);
            dpif_session_close(s);
        }
        dpif_close(dpif);
    }
    free(text);

    const struct CMUnitTest tests[] = {
        TEST(probes_leave_no_flow_and_match_the_kernel),
        TEST(enumerate_lists_the_datapath_once),
        TEST(open_refuses_bad_names_in_words),
        TEST(opening_again_leaves_dispatch_alone),
        TEST(the_feature_word_is_right_at_any_time),
        TEST(ports_are_found_by_name_and_number),
        TEST(port_errors_are_told_apart),
        TEST(events_are_of_this_datapath_only_and_in_order),
        TEST(lost_events_are_reported_once_and_then_new_ones_come),
        TEST(per_port_upcalls_come_to_the_ports_channel),
        TEST(per_cpu_upcalls_come_to_the_cpus_channel),
        TEST(action_upcalls_carry_userdata),
        TEST(a_full_channel_counts_its_drops_and_goes_on),
        TEST(a_queue_becomes_longer_and_shorter_while_it_is_used),
        TEST(a_queue_of_4_mib_holds_6500_small_upcalls),
        TEST(a_mixed_batch_gives_each_its_result_in_one_system_call),
        TEST(success_costs_two_system_calls),
        TEST(packets_of_all_lengths_arrive_whole),
        TEST(two_thousand_failures_are_all_reported),
        TEST(a_request_that_names_no_flow_does_not_delete_all),
        TEST(mod_changes_creates_and_keeps_statistics),
        TEST(delete_returns_what_the_flow_had_counted),
        TEST(flows_without_a_name_are_handled_by_key),
        TEST(a_dump_by_two_threads_has_every_flow_once),
        TEST(a_dump_can_be_given_up_and_fails_without_a_datapath),
    };
    return cmocka_run_group_tests_name("dpif-kernel", tests, NULL, NULL);
}
