/* What the tests of the simulated datapath are made of: a datapath for each test, frames, channels, requests.
 *
 * Included by one .c a test program, after <cmocka.h>. */
#ifndef TESTS_UNIT_DPIF_SIM_KIT_H
#define TESTS_UNIT_DPIF_SIM_KIT_H 1

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/base/compiler.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/dpif/dpif.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"
#include "lib/pkt/packet-build.h"
#include "lib/pkt/packet.h"

#define CHARGE 1280 /* Of a small upcall. */

static struct dpif *dpif;
static struct dpif_session *session;

UNUSED static int setup(void **state)
{
    assert_int_equal(dpif_open("sim", "dp", &dpif, NULL), 0);
    assert_int_equal(dpif_session_open(dpif, &session), 0);
    return 0;
}

UNUSED static int teardown(void **state)
{
    dpif_session_close(session);
    dpif_close(dpif);
    sim_reset();
    return 0;
}

/* ---- What tests are made of. ---- */

UNUSED static struct eth_addr mac(uint32_t n) { return (struct eth_addr){ { 2, 0, n >> 24, n >> 16, n >> 8, n } }; }

UNUSED static odp_port_t odp(uint32_t n) { return (odp_port_t){ n }; }

UNUSED static odp_port_t port_add(const char *name, uint32_t pid)
{
    odp_port_t no = ODPP_NONE;
    assert_int_equal(dpif_port_add(session, name, DPIF_PORT_NETDEV, pid, ODPP_NONE, &no), 0);
    return no;
}

UNUSED static struct packet_build udp(uint32_t src, uint32_t dst)
{
    struct packet_build p;
    packet_build_udp(&p, mac(src), mac(dst), 0x0a000000 + src, 0x0a000000 + dst, 1000, 2000, 18);
    return p;
}

UNUSED static void inject(uint32_t port, unsigned int cpu, struct packet_build p)
{
    sim_inject(dpif, odp(port), cpu, p.data, p.len);
}

UNUSED static struct dpif_stats stats(void)
{
    struct dpif_stats s;
    assert_int_equal(dpif_get_stats(session, &s), 0);
    return s;
}

UNUSED static struct sim_counts counts(void)
{
    struct sim_counts c;
    sim_get_counts(dpif, &c);
    return c;
}

UNUSED static struct dpif_port port_get(uint32_t no)
{
    struct dpif_port port;
    assert_int_equal(dpif_port_query_by_number(session, odp(no), &port), 0);
    return port;
}

struct chan {
    int fd;
    uint32_t pid;
    /* The last message read. */
    uint64_t buf[9000];
    struct dpif_upcall uc;
    struct flow key;
};

UNUSED static void chan_open(struct chan *ch, size_t rcvbuf)
{
    assert_int_equal(dpif_channel_open(dpif, rcvbuf, &ch->fd, &ch->pid), 0);
    assert_int_not_equal(ch->pid, 0);
}

UNUSED static void chan_close(struct chan *ch) { dpif_channel_close(dpif, ch->fd, ch->pid); }

/* Reads at most MAX upcalls; returns how many there were, the last in CH. */
UNUSED static int chan_read(struct chan *ch, int max)
{
    int n = 0;
    while (n < max) {
        struct iovec iov = { ch->buf, sizeof ch->buf };
        struct mmsghdr m = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };
        if (recvmmsg(ch->fd, &m, 1, MSG_DONTWAIT, NULL) != 1) {
            assert_int_equal(errno, EAGAIN);
            break;
        }
        assert_int_equal(dpif_upcall_parse(dpif, ch->buf, m.msg_len, &ch->uc), 0);
        assert_int_equal(odp_key_to_flow(ch->uc.key, ch->uc.key_len, &ch->key), ODP_FIT_PERFECT);
        n++;
    }
    return n;
}

UNUSED static int chan_drain(struct chan *ch) { return chan_read(ch, 1 << 30); }

/* A flow request with the memory that it points to. */
struct flow_req {
    struct dpif_op op;
    uint64_t key[160], mask[160], actions[64];
    struct attrbuf actions_buf;
    struct flow flow, mask_flow;
};

/* Begins a request about the flow of packets P from PORT, by destination MAC, and type and port. */
UNUSED static void req_init(struct flow_req *r, enum dpif_op_type type, uint32_t port, struct packet_build p)
{
    memset(r, 0, sizeof *r);
    r->op.type = type;
    r->flow.in_port = odp(port);
    assert_int_equal(packet_extract(p.data, p.len, &r->flow), 0);
    FLOW_MASK_FIELD(&r->mask_flow, recirc_id);
    FLOW_MASK_FIELD(&r->mask_flow, in_port);
    FLOW_MASK_FIELD(&r->mask_flow, eth_dst);
    FLOW_MASK_FIELD(&r->mask_flow, eth_type);
    attrbuf_init(&r->actions_buf, r->actions, sizeof r->actions);
}

UNUSED static void attrs_of(uint64_t *mem, size_t size, const struct flow *flow, const struct flow *mask,
                            const struct nlattr **ret, size_t *ret_len)
{
    struct attrbuf b;
    attrbuf_init(&b, mem, size);
    if (mask) {
        odp_mask_put(&b, flow, mask);
    } else {
        odp_key_put(&b, flow);
    }
    assert_false(b.overflow);
    *ret = attrbuf_data(&b);
    *ret_len = attrbuf_len(&b);
}

UNUSED static int req_run(struct flow_req *r)
{
    struct dpif_op *op = &r->op;
    attrs_of(r->key, sizeof r->key, &r->flow, NULL, &op->flow.key, &op->flow.key_len);
    attrs_of(r->mask, sizeof r->mask, &r->flow, &r->mask_flow, &op->flow.mask, &op->flow.mask_len);
    op->flow.actions = attrbuf_data(&r->actions_buf);
    op->flow.actions_len = attrbuf_len(&r->actions_buf);
    op->flow.has_ufid = true;
    op->flow.ufid = odp_ufid(&r->flow, &r->mask_flow);
    dpif_operate(session, &op, 1);
    return op->error;
}

/* Puts the flow of P from PORT, which outputs to OUT. */
UNUSED static int put(uint32_t port, struct packet_build p, uint32_t out)
{
    struct flow_req r;
    req_init(&r, DPIF_OP_FLOW_PUT, port, p);
    odp_put_output(&r.actions_buf, odp(out));
    return req_run(&r);
}

static struct packet_build outputs[16];
static uint32_t output_ports[16];
static unsigned int n_outputs;

UNUSED static void output_cb(odp_port_t port, const void *frame, size_t len, void *aux)
{
    assert_true(n_outputs < 16 && len <= PACKET_BUILD_MAX);
    output_ports[n_outputs] = port.n;
    memcpy(outputs[n_outputs].data, frame, len);
    outputs[n_outputs++].len = len;
}

UNUSED static void outputs_record(void)
{
    n_outputs = 0;
    sim_set_output_cb(dpif, output_cb, NULL);
}

UNUSED static void assert_frame(const struct packet_build *a, const struct packet_build *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

UNUSED static int execute(const struct flow *key, struct packet_build p, const struct attrbuf *actions, uint32_t pid)
{
    uint64_t mem[160];
    struct dpif_op op = { .type = DPIF_OP_EXECUTE };
    struct dpif_op *ops[] = { &op };
    attrs_of(mem, sizeof mem, key, NULL, &op.execute.key, &op.execute.key_len);
    op.execute.packet = p.data;
    op.execute.packet_len = p.len;
    op.execute.actions = attrbuf_data(actions);
    op.execute.actions_len = attrbuf_len(actions);
    op.execute.hash = 0x1234;
    op.execute.has_hash = true;
    op.execute.upcall_pid = pid;
    dpif_operate(session, ops, 1);
    return op.error;
}

#endif
