/* libFuzzer target: any bytes from a client of a bridge.
 *
 *     bytes ──► socket ──► connection ──► ofconn ──► tables ──► translation of a few packets
 *                  └──◄── answers, each a whole message of the version agreed on
 *
 * The first byte says the version, and whether the messages' versions and lengths are set right, so that the search need
 * not find them.  Handlers' part is done here: packet-outs, and then a few packets, are translated with the tables as they
 * have become, and what they teach is learned.  At last time passes: what was added with timeouts leaves.  Seeds, in
 * seeds/ofp-session, are what ovs-ofctl sends (tests/ofp/requests.txt). */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/io/stream.h"
#include "lib/odp/odp-actions.h"
#include "lib/ofp/ofp-msg.h"
#include "lib/pkt/packet-build.h"
#include "lib/pkt/packet.h"
#include "ofproto/engine.h"
#include "ofproto/mac.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/recirc.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate.h"

#define N_PORTS 3
#define MAX_SIZE 4096 /* A socket takes as much at once. */
#define BARRIER_EVERY 64 /* Runs: what they have freed is freed by then. */

struct session {
    struct ofproto *o;
    struct xconfig *config;
    struct mac_table *macs;
    int peer;
    enum ofp_version version;
    uint8_t in[1 << 18]; /* Answers, or the beginning of one. */
    size_t in_len;
};

/* ---- Translation. ---- */

static struct {
    uint32_t actions[XLATE_ACTIONS_SIZE / 4];
    struct rule *rules[XLATE_MAX_RULES];
    uint64_t lessons[LESSONS_SIZE / 8];
    struct xlate_out out;
    struct learner learner;
} work;

static void begin_translation(void)
{
    attrbuf_init(&work.out.actions, work.actions, sizeof work.actions);
    work.out.rules = work.rules;
    work.out.lessons = (struct lesson_list) { .memory = work.lessons, .scratch = &work.learner.acts };
}

static void look_at_actions(void)
{
    struct text t;

    odp_actions_print(text_open(&t), attrbuf_data(&work.out.actions), attrbuf_len(&work.out.actions), NULL);
    free(text_close(&t));
}

static int packet_out(const struct engine_packet_out *po, void *s_)
{
    const struct session *s = s_;
    struct flow flow = { 0 };

    if (po->pipeline) {
        flow = *po->pipeline;
    }
    packet_extract(po->packet, po->len, &flow);
    flow.in_port = ODPP_NONE;
    const struct xlate_packet_out x = { .in_port = po->in_port, .flow = &flow, .acts = po->acts, .acts_len = po->acts_len };
    rcu_read_lock();
    begin_translation();
    work.out.lessons.memory = NULL;
    xlate_packet_out(s->config->bridges[0], &x, &work.out);
    look_at_actions();
    rcu_read_unlock();
    return 0;
}

static void translate(struct session *s, const struct packet_build *p, unsigned int port, uint32_t id)
{
    struct flow flow = { 0 };

    packet_extract(p->data, p->len, &flow);
    flow.in_port = (odp_port_t) { port };
    flow.recirc_id = id;
    rcu_read_lock();
    begin_translation();
    xlate(s->config, &flow, &work.out);
    look_at_actions();
    uint32_t next = !id && work.out.n_recircs ? recirc_id(work.out.recircs[0]) : 0;
    learner_teach(&work.learner, &work.out.lessons, clock_msec(), ntohs(flow.tcp_flags));
    rcu_read_unlock();
    learner_flush(&work.learner, false);
    if (next) {
        translate(s, p, port, next);
    }
}

static void translate_some(struct session *s)
{
    static const struct eth_addr a = { { 0x50, 0x54, 0, 0, 0, 5 } }, b = { { 0x50, 0x54, 0, 0, 0, 6 } };
    static const struct eth_addr all = { { 255, 255, 255, 255, 255, 255 } };
    static const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
    struct packet_build p;

    packet_build_arp(&p, a, all, 1, 0x0a000001, 0x0a000002);
    translate(s, &p, 1, 0);
    packet_build_tcp(&p, a, b, 0x0a000001, 0x0a000002, 1000, 80, 0x11);
    translate(s, &p, 1, 0);
    packet_build_vlan(&p, 0x8100, 7);
    translate(s, &p, 2, 0);
    packet_build_ipv6(&p, b, a, &six, &six, IPPROTO_UDP, 64);
    translate(s, &p, 3, 0);
}

/* ---- The bridge and its client. ---- */

static void nothing_changed(void *s UNUSED) { }

static bool port_stats(ofp_port_t no, struct ofp_port_stats *ret, void *s UNUSED)
{
    memset(ret, 0xff, sizeof *ret);
    ret->port_no = no;
    return no.n <= N_PORTS;
}

static int set_up(ofp_port_t port_no UNUSED, bool up UNUSED, void *aux UNUSED) { return 0; }

static const struct ofproto_ops ops = {
    .changed = nothing_changed, .port_stats = port_stats, .packet_out = packet_out, .port_config_changed = nothing_changed, .port_set_up = set_up,
};

static void open_bridge(struct session *s)
{
    struct ofp_port ports[N_PORTS] = { 0 };

    s->o = ofproto_create(loop_base(), "br0", &ops, s);
    s->macs = mac_table_create();
    s->config = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(s->config, "br0", s->macs);
    br->id = ofproto_id(s->o);
    br->tables = tables_ref(ofproto_tables(s->o));
    for (unsigned int i = 0; i < N_PORTS; i++) {
        ports[i].port_no = (ofp_port_t) { i + 1 };
        snprintf(ports[i].name, sizeof ports[i].name, "p%u", i + 1);
        struct xbundle *b = xbridge_add_bundle(br, ports[i].name, i + 1);
        b->vlan_mode = VLAN_TRUNK;
        b->trunks.any = true;
        b->floodable = true;
        xbundle_add_port(b, ports[i].name, ports[i].port_no, (odp_port_t) { i + 1 });
    }
    xconfig_seal(s->config);
    ofproto_set_ports(s->o, ports, N_PORTS);
}

static void say(const struct session *s, const void *data, size_t size)
{
    if (write(s->peer, data, size) != (ssize_t) size && errno != EPIPE) {
        abort();
    }
}

/* Takes the answers; each must be a message, of the version that was agreed on once it was. */
static bool hear(struct session *s)
{
    ssize_t n = read(s->peer, s->in + s->in_len, sizeof s->in - s->in_len);
    size_t at = 0;

    if (n <= 0) {
        return false;
    }
    s->in_len += n;
    while (s->in_len - at >= OFP_HEADER_LEN) {
        const uint8_t *m = s->in + at;
        size_t len = m[2] << 8 | m[3];
        struct ofp_msg msg;
        if (len < OFP_HEADER_LEN) {
            abort();
        }
        if (s->in_len - at < len) {
            break;
        }
        bool early = m[1] == 0 || m[1] == 1; /* HELLO, or an error that may be about it. */
        if ((m[0] != s->version && !early) || ofp_msg_recognize(m, len, &msg)) {
            abort();
        }
        at += len;
    }
    memmove(s->in, s->in + at, s->in_len - at);
    s->in_len -= at;
    return true;
}

/* Until nothing happens any more. */
static void converse(struct session *s)
{
    for (int quiet = 0; quiet < 3; quiet++) {
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
        if (hear(s)) {
            quiet = -1;
        }
    }
}

static const struct ofp_conn_ops nobody;

/* A client of the version. */
static void open_client(struct session *s)
{
    const uint8_t hello[OFP_HEADER_LEN] = { s->version, 0, 0, OFP_HEADER_LEN };
    const struct stream_options options = { .dscp = -1 };
    const struct ofp_conn_config config = { .versions = OFPROTO_VERSIONS };
    struct stream *stream;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) ||
        stream_accept(loop_base(), fds[0], "client", &options, NULL, NULL, &stream)) {
        abort();
    }
    s->peer = fds[1];
    struct ofp_conn *conn = ofp_conn_create(loop_base(), stream, &config, &nobody, NULL);
    say(s, hello, sizeof hello);
    converse(s);
    if (ofp_conn_version(conn) != s->version) {
        abort();
    }
    ofconn_accept(s->o, conn, NULL);
}

static void close_all(struct session *s)
{
    static unsigned int n_runs;

    close(s->peer);
    ofproto_destroy(s->o);
    xconfig_destroy(s->config);
    mac_table_unref(s->macs);
    event_base_loop(loop_base(), EVLOOP_NONBLOCK);
    recirc_forget_all();
    if (++n_runs % BARRIER_EVERY == 0) {
        rcu_barrier();
    }
}

/* ---- The bytes. ---- */

static void set_headers(uint8_t *p, size_t size, enum ofp_version version)
{
    while (size >= OFP_HEADER_LEN) {
        size_t len = p[2] << 8 | p[3];
        if (len < OFP_HEADER_LEN || len > size) {
            len = size;
        }
        p[0] = version;
        p[2] = len >> 8;
        p[3] = len & 0xff;
        p += len;
        size -= len;
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc UNUSED, char ***argv UNUSED)
{
    rcu_register_thread();
    loop_init();
    learner_init(&work.learner);
    free(log_set_spec("off"));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum ofp_version versions[] = { OFP10_VERSION, OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };
    static struct session session;
    static uint64_t now = 1000000;
    struct session *s = &session;

    if (size < 2 || size > MAX_SIZE) {
        return 0;
    }
    clock_hold(now += 1000);
    s->in_len = 0;
    s->version = versions[data[0] & 3];
    uint8_t *copy = xmemdup(data + 1, size - 1);
    if (!(data[0] & 4)) {
        set_headers(copy, size - 1, s->version);
    }
    open_bridge(s);
    open_client(s);
    say(s, copy, size - 1);
    converse(s);
    translate_some(s);
    converse(s);
    clock_hold(now += 100000);
    ofproto_tick(s->o);
    converse(s);
    close_all(s);
    free(copy);
    return 0;
}
