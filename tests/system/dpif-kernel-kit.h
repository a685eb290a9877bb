/* What test-dpif-kernel.c tests with: the topology drawn there, frames, upcalls, batches of operations.
 *
 * Included once, after <config.h>; so its functions are static. */
#ifndef DPIF_KERNEL_KIT_H
#define DPIF_KERNEL_KIT_H 1

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/openvswitch.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "lib/nl/attrbuf.h"
#include "lib/nl/nl.h"

#define WAIT_MS 5000
#define BIG_MTU 65535

struct fixture {
    struct dpif *dpif;
    struct dpif_session *s;
    odp_port_t va, vb;
    int va_peer, vb_peer; /* Packet sockets. */
    int channel;
    uint32_t pid;
};

/* ---- Helpers. ---- */

static void run(const char *command)
{
    if (system(command)) {
        fail_msg("command failed: %s", command);
    }
}

static struct dpif *open_dpif(const char *name)
{
    struct dpif *dpif = NULL;
    char *text = NULL;
    int error = dpif_open("system", name, &dpif, &text);
    if (error) {
        fail_msg("dpif_open(%s): %s (%s)", name, text, strerror(-error));
    }
    return dpif;
}

static int packet_socket(const char *device)
{
    struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    int rcvbuf = 4 * 1024 * 1024;
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof rcvbuf), 0);
    addr.sll_ifindex = if_nametoindex(device);
    assert_int_equal(bind(fd, (struct sockaddr *) &addr, sizeof addr), 0);
    return fd;
}

static bool readable(int fd, int timeout_ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    return poll(&pfd, 1, timeout_ms) > 0;
}

/* A frame of LEN bytes that carries N, and that nobody else sends. */
static void make_frame(uint8_t *frame, size_t len, uint32_t n)
{
    static const uint8_t header[14] = { 0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5 };
    memset(frame, 0xa5, len);
    memcpy(frame, header, sizeof header);
    memcpy(frame + sizeof header, &n, sizeof n);
}

static uint32_t frame_number(const uint8_t *frame)
{
    uint32_t n;
    memcpy(&n, frame + 14, sizeof n);
    return n;
}

static void send_frame(int fd, uint32_t n)
{
    uint8_t frame[60];
    make_frame(frame, sizeof frame, n);
    assert_int_equal(send(fd, frame, sizeof frame, 0), sizeof frame);
}

/* The next of our frames from packet socket FD, its length, or 0 when none comes. */
static size_t receive_frame(int fd, uint8_t *buf, size_t size, int timeout_ms)
{
    while (readable(fd, timeout_ms)) {
        struct sockaddr_ll from;
        socklen_t len = sizeof from;
        ssize_t n = recvfrom(fd, buf, size, 0, (struct sockaddr *) &from, &len);
        if (n > 18 && from.sll_pkttype != PACKET_OUTGOING && buf[12] == 0x88 && buf[13] == 0xb5) {
            return n;
        }
    }
    return 0;
}

static int take_features(const struct nlmsghdr *nlh, void *aux)
{
    const struct nlattr *attr; /* The macro's. */
    mnl_attr_for_each(attr, nlh, GENL_HDRLEN + sizeof(struct ovs_header))
    {
        if (mnl_attr_get_type(attr) == OVS_DP_ATTR_USER_FEATURES) {
            *(uint32_t *) aux = mnl_attr_get_u32(attr);
        }
    }
    return 0;
}

/* The feature word of datapath t-dp. */
static uint32_t feature_word(void)
{
    uint32_t buf[32], features = UINT32_MAX;
    uint16_t family;
    struct nl_sock *sock;
    assert_int_equal(nl_sock_open(NETLINK_GENERIC, 0, &sock), 0);
    assert_int_equal(nl_genl_resolve(sock, OVS_DATAPATH_FAMILY, NULL, &family, NULL), 0);
    struct nlmsghdr *nlh = nl_genl_begin(buf, family, 0, OVS_DP_CMD_GET, OVS_DATAPATH_VERSION);
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ovs_header));
    mnl_attr_put_strz(nlh, OVS_DP_ATTR_NAME, "t-dp");
    assert_int_equal(nl_transact(sock, nlh, take_features, &features), 0);
    nl_sock_close(sock);
    return features;
}

/* The next upcall of one of our frames from FD; false when none comes. */
static bool receive_upcall(const struct dpif *dpif, int fd, void *buf, size_t size, struct dpif_upcall *uc,
                           int timeout_ms)
{
    while (readable(fd, timeout_ms)) {
        ssize_t n = recv(fd, buf, size, MSG_DONTWAIT);
        assert_true(n > 0);
        assert_int_equal(dpif_upcall_parse(dpif, buf, n, uc), 0);
        const uint8_t *p = uc->packet;
        if (uc->packet_len > 18 && p[12] == 0x88 && p[13] == 0xb5) {
            return true;
        }
    }
    return false;
}

/* The key of a frame to the address that ends in N, from port IN_PORT. */
static void make_key(struct attrbuf *b, odp_port_t in_port, uint32_t n)
{
    struct ovs_key_ethernet eth = { .eth_src = { 2, 0, 0, 0, 0, 2 } };
    eth.eth_dst[0] = 2;
    memcpy(&eth.eth_dst[2], &n, sizeof n);
    attrbuf_put_u32(b, OVS_KEY_ATTR_IN_PORT, in_port.n);
    attrbuf_put(b, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    attrbuf_put_u16(b, OVS_KEY_ATTR_ETHERTYPE, htons(0x88b5));
}

/* Operations and the memory that they point to. */
struct ops {
    struct dpif_op op[2048];
    struct dpif_op *ptr[2048];
    struct {
        struct attrbuf key, actions;
        uint32_t key_mem[32], actions_mem[32];
    } mem[2048];
    size_t n;
};

static struct ops *ops_new(void) { return xzalloc(sizeof(struct ops)); }

static struct dpif_op *ops_add(struct ops *o, enum dpif_op_type type, odp_port_t in_port, uint32_t n, odp_port_t out)
{
    size_t i = o->n++;
    struct dpif_op *op = &o->op[i];
    o->ptr[i] = op;
    op->type = type;
    op->error = 12345; /* Must be overwritten. */
    attrbuf_init(&o->mem[i].key, o->mem[i].key_mem, sizeof o->mem[i].key_mem);
    attrbuf_init(&o->mem[i].actions, o->mem[i].actions_mem, sizeof o->mem[i].actions_mem);
    make_key(&o->mem[i].key, in_port, n);
    attrbuf_put_u32(&o->mem[i].actions, OVS_ACTION_ATTR_OUTPUT, out.n);
    const struct nlattr *key = attrbuf_data(&o->mem[i].key), *actions = attrbuf_data(&o->mem[i].actions);
    if (type == DPIF_OP_EXECUTE) {
        op->execute.key = key;
        op->execute.key_len = attrbuf_len(&o->mem[i].key);
        op->execute.actions = actions;
        op->execute.actions_len = attrbuf_len(&o->mem[i].actions);
    } else {
        op->flow.has_ufid = true;
        op->flow.ufid = (struct ufid){ 7, n };
        op->flow.key = key;
        op->flow.key_len = attrbuf_len(&o->mem[i].key);
        op->flow.actions = actions;
        op->flow.actions_len = attrbuf_len(&o->mem[i].actions);
    }
    return op;
}

static struct dpif_op *ops_add_packet(struct ops *o, odp_port_t out, const void *packet, size_t len)
{
    struct dpif_op *op = ops_add(o, DPIF_OP_EXECUTE, ODPP_LOCAL, 0, out);
    op->execute.packet = packet;
    op->execute.packet_len = len;
    return op;
}

static uint64_t count(const char *counter)
{
    uint64_t n = 0;
    assert_true(counter_read(counter, &n));
    return n;
}

static uint64_t n_flows(struct dpif_session *s)
{
    struct dpif_stats stats;
    assert_int_equal(dpif_get_stats(s, &stats), 0);
    return stats.n_flows;
}

/* Puts flows 0 to N - 1 from port va to vb. */
static void put_flows(struct fixture *f, size_t n)
{
    for (size_t done = 0; done < n;) {
        struct ops *o = ops_new();
        while (o->n < ARRAY_SIZE(o->op) && done < n) {
            ops_add(o, DPIF_OP_FLOW_PUT, f->va, done++, f->vb);
        }
        dpif_operate(f->s, o->ptr, o->n);
        for (size_t i = 0; i < o->n; i++) {
            assert_int_equal(o->op[i].error, 0);
        }
        free(o);
    }
}

/* ---- Fixture. ---- */

static int set_up(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);
    /* No packets but ours, please. */
    run("f=/proc/sys/net/ipv6/conf/default/disable_ipv6; [ ! -e $f ] || echo 1 >$f");
    run("ip link add va type veth peer name va-peer && ip link add vb type veth peer name vb-peer");
    run("for d in va vb va-peer vb-peer; do ip link set $d mtu 65535 up || exit 1; done");
    f->dpif = open_dpif("t-dp");
    assert_int_equal(dpif_session_open(f->dpif, &f->s), 0);
    assert_int_equal(dpif_channel_open(f->dpif, 1024 * 1024, &f->channel, &f->pid), 0);
    assert_int_equal(dpif_set_dispatch(f->s, DPIF_DISPATCH_PER_PORT, NULL, 0), 0);
    assert_int_equal(dpif_port_add(f->s, "va", DPIF_PORT_NETDEV, f->pid, ODPP_NONE, &f->va), 0);
    assert_int_equal(dpif_port_add(f->s, "vb", DPIF_PORT_NETDEV, f->pid, ODPP_NONE, &f->vb), 0);
    f->va_peer = packet_socket("va-peer");
    f->vb_peer = packet_socket("vb-peer");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close(f->va_peer);
    close(f->vb_peer);
    dpif_channel_close(f->dpif, f->channel, f->pid);
    dpif_destroy(f->s);
    dpif_session_close(f->s);
    dpif_close(f->dpif);
    free(f);
    run("ip link del va; ip link del vb");
    return 0;
}

#endif
