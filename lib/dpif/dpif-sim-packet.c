/* Packets in the simulated datapath: looked up, changed, sent out, or sent up.
 *
 * A packet's way, as in the kernel: its fields are extracted; the flow that matches carries out its actions on it;
 * none: a miss upcall goes to the channel that the dispatch mode says.  Actions change a copy of the frame and are
 * carried out in order; recirculation extracts and looks up again.
 *
 * Everything runs under sim_lock.  What leaves through a port is collected, and delivered when the lock is
 * released. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/packet.h"

#define ETH_ADDRS_LEN   12
#define VLAN_HEADER_LEN 4
#define MAX_DEPTH       8  /* Of recirculations and clones in one another. */
#define SIM_ACTION_DROP 24 /* Not in older headers. */

struct sim_packet {
    uint8_t *frame; /* Own memory. */
    size_t len;
    size_t max_len;     /* What the next output or upcall may carry (trunc). */
    struct flow key;    /* Metadata and fields, as extracted before the actions. */
    unsigned int cpu;   /* Where it is processed. */
    uint32_t reply_pid; /* Where its upcalls go; 0: as dispatch says. */
    uint64_t hash;
    uint16_t mru;
    struct sim_outputs *out;
};

static void sim_process(struct sim_dp *dp, struct sim_packet *pkt, int depth) REQUIRES(sim_lock);
static void sim_run_actions(struct sim_dp *dp, struct sim_packet *pkt, const struct nlattr *actions, size_t len,
                            int depth) REQUIRES(sim_lock);

/* Hash of the packet's flow, as the kernel's skb->hash: the lower half is it, the bit above says "of layer 4". */
static uint64_t sim_packet_hash(const struct flow *key)
{
    struct {
        be32 src, dst;
        struct in6_addr src6, dst6;
        struct eth_addr eth_src, eth_dst;
        be16 tp_src, tp_dst, eth_type;
        uint8_t proto, pad;
    } f;
    memset(&f, 0, sizeof f);
    f.src = key->ip_src;
    f.dst = key->ip_dst;
    f.src6 = key->ipv6_src;
    f.dst6 = key->ipv6_dst;
    f.eth_src = key->eth_src;
    f.eth_dst = key->eth_dst;
    f.tp_src = key->tp_src;
    f.tp_dst = key->tp_dst;
    f.eth_type = key->eth_type;
    f.proto = key->ip_proto;
    return (hash_bytes(&f, sizeof f, 0) & UINT32_MAX) | (uint64_t) (key->tp_src != 0) << 33;
}

/* ---- Out: ports. ---- */

static void sim_outputs_add(struct sim_dp *dp, struct sim_outputs *out, odp_port_t port, const void *frame, size_t len)
    REQUIRES(sim_lock)
{
    out->cb = dp->output_cb;
    out->aux = dp->output_aux;
    if (!out->cb) {
        return;
    }
    if (out->n == out->size) {
        out->size = out->size ? out->size * 2 : 8;
        out->v = xrealloc(out->v, out->size * sizeof *out->v);
    }
    out->v[out->n++] = (struct sim_output){ .port = port, .len = len, .frame = xmemdup(frame, len) };
}

void sim_outputs_deliver(struct sim_outputs *out)
{
    for (size_t i = 0; i < out->n; i++) {
        out->cb(out->v[i].port, out->v[i].frame, out->v[i].len, out->aux);
        free(out->v[i].frame);
    }
    free(out->v);
    *out = (struct sim_outputs){ .n = 0 };
}

static void sim_output(struct sim_dp *dp, struct sim_packet *pkt, odp_port_t no) REQUIRES(sim_lock)
{
    struct sim_port *port = sim_port_by_number(dp, no);
    size_t len = MIN(pkt->len, pkt->max_len);

    pkt->max_len = SIZE_MAX;
    if (!port) {
        return; /* As the kernel does: the port went, and the flow did not know. */
    }
    port->info.tx_packets++;
    port->info.tx_bytes += len;
    dp->counts.n_outputs++;
    sim_outputs_add(dp, pkt->out, no, pkt->frame, len);
}

/* ---- Up: channels. ---- */

/* The port id of PIDS for packets of CPU; 0: none. */
static uint32_t sim_pid_by_cpu(struct sim_dp *dp, const struct sim_pids *pids, unsigned int cpu) REQUIRES(sim_lock)
{
    if (!pids->n) {
        return 0;
    }
    if (cpu >= pids->n) {
        dp->counts.n_cpu_mismatch++;
    }
    return pids->pids[cpu % pids->n];
}

/* The port that a packet counts as one of whose key says NO.  As in the kernel one that was given without a port, or with one that is gone, counts as
 * one of the local port; its key stays as it is. */
static struct sim_port *sim_input_port(const struct sim_dp *dp, odp_port_t no) REQUIRES(sim_lock)
{
    struct sim_port *port = sim_port_by_number(dp, no);

    return port ? port : sim_port_by_number(dp, ODPP_LOCAL);
}

static uint32_t sim_pid_by_port(struct sim_dp *dp, struct sim_port *port) REQUIRES(sim_lock)
{
    if (port && port->old_left) {
        port->old_left--;
        dp->counts.n_stale_pids++;
        return port->old_pid;
    }
    return port ? port->info.upcall_pid : 0;
}

/* Where an upcall of PKT, which came in through PORT, goes: in the kernel's order of precedence.  ACTION_PID is 0 for a
 * miss. */
static uint32_t sim_upcall_pid(struct sim_dp *dp, const struct sim_packet *pkt, struct sim_port *port,
                               uint32_t action_pid) REQUIRES(sim_lock)
{
    const struct sim_pids *pids = &dp->pids;

    if (pkt->reply_pid) {
        return pkt->reply_pid;
    }
    if (dp->old_left) {
        dp->old_left--;
        dp->counts.n_stale_pids++;
        pids = &dp->old_pids;
    }
    if (pids->mode == DPIF_DISPATCH_PER_CPU) {
        return sim_pid_by_cpu(dp, pids, pkt->cpu);
    }
    return action_pid ? action_pid : sim_pid_by_port(dp, port);
}

static void sim_upcall(struct sim_dp *dp, struct sim_packet *pkt, enum dpif_upcall_type type, uint32_t action_pid,
                       const struct nlattr *userdata) REQUIRES(sim_lock)
{
    struct sim_port *port = sim_input_port(dp, pkt->key.in_port);
    struct sim_upcall u = {
        .type = type,
        .packet = pkt->frame,
        .packet_len = MIN(pkt->len, pkt->max_len),
        .key = &pkt->key,
        .userdata = userdata,
        .hash = pkt->hash,
        .mru = pkt->mru,
    };
    uint32_t pid = sim_upcall_pid(dp, pkt, port, action_pid);
    int error = sim_channel_send(dp, pid, &u);

    pkt->max_len = SIZE_MAX;
    if (error) {
        dp->n_lost++;
    } else if (type == DPIF_UC_MISS) {
        dp->counts.n_miss_upcalls++;
    } else {
        dp->counts.n_action_upcalls++;
    }
    /* The kernel counts for the port only what had a destination, and old ones do not count at all. */
    if (port && pid && dp->kernel == SIM_KERNEL_CURRENT) {
        port->info.upcall_success += !error;
        port->info.upcall_fail += error != 0;
    }
}

static void sim_userspace(struct sim_dp *dp, struct sim_packet *pkt, const struct nlattr *action) REQUIRES(sim_lock)
{
    const struct nlattr *userdata = NULL;
    const struct nlattr *a;
    uint32_t pid = 0;

    mnl_attr_for_each_nested(a, action)
    {
        if (mnl_attr_get_type(a) == OVS_USERSPACE_ATTR_PID) {
            pid = mnl_attr_get_u32(a);
        } else if (mnl_attr_get_type(a) == OVS_USERSPACE_ATTR_USERDATA) {
            userdata = a;
        }
    }
    sim_upcall(dp, pkt, DPIF_UC_ACTION, pid, userdata);
}

/* ---- Changes. ---- */

static void sim_push_vlan(struct sim_packet *pkt, const struct nlattr *a)
{
    const struct ovs_action_push_vlan *push = mnl_attr_get_payload(a);
    be16 header[2] = { push->vlan_tpid, push->vlan_tci & htons(~VLAN_CFI) };

    pkt->frame = xrealloc(pkt->frame, pkt->len + VLAN_HEADER_LEN);
    memmove(pkt->frame + ETH_ADDRS_LEN + VLAN_HEADER_LEN, pkt->frame + ETH_ADDRS_LEN, pkt->len - ETH_ADDRS_LEN);
    memcpy(pkt->frame + ETH_ADDRS_LEN, header, sizeof header);
    pkt->len += VLAN_HEADER_LEN;
}

static void sim_pop_vlan(struct sim_packet *pkt)
{
    uint16_t type = pkt->frame[ETH_ADDRS_LEN] << 8 | pkt->frame[ETH_ADDRS_LEN + 1];

    if ((type == ETH_TYPE_VLAN || type == ETH_TYPE_QINQ) && pkt->len >= ETH_HEADER_LEN + VLAN_HEADER_LEN) {
        pkt->len -= VLAN_HEADER_LEN;
        memmove(pkt->frame + ETH_ADDRS_LEN, pkt->frame + ETH_ADDRS_LEN + VLAN_HEADER_LEN, pkt->len - ETH_ADDRS_LEN);
    }
}

/* A copy of PKT, for what may change it without the rest of its actions seeing it.  Its frame is to be freed. */
static struct sim_packet sim_packet_clone(const struct sim_packet *pkt)
{
    struct sim_packet copy = *pkt;
    copy.frame = xmemdup(pkt->frame, pkt->len);
    return copy;
}

static void sim_recirc(struct sim_dp *dp, struct sim_packet *pkt, uint32_t recirc_id, int depth) REQUIRES(sim_lock)
{
    if (depth >= MAX_DEPTH) {
        dp->counts.n_action_errors++;
        return;
    }
    struct sim_packet copy = sim_packet_clone(pkt);
    copy.key.recirc_id = recirc_id;
    if (!packet_extract(copy.frame, copy.len, &copy.key)) {
        sim_process(dp, &copy, depth + 1);
    }
    free(copy.frame);
}

static void sim_clone(struct sim_dp *dp, struct sim_packet *pkt, const struct nlattr *a, int depth) REQUIRES(sim_lock)
{
    if (depth >= MAX_DEPTH) {
        dp->counts.n_action_errors++;
        return;
    }
    struct sim_packet copy = sim_packet_clone(pkt);
    sim_run_actions(dp, &copy, mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), depth + 1);
    free(copy.frame);
}

/* Carries out action A.  Returns false if the packet ends here. */
static bool sim_run_action(struct sim_dp *dp, struct sim_packet *pkt, const struct nlattr *a, int depth)
    REQUIRES(sim_lock)
{
    switch (mnl_attr_get_type(a)) {
    case OVS_ACTION_ATTR_OUTPUT:
        sim_output(dp, pkt, (odp_port_t){ mnl_attr_get_u32(a) });
        return true;
    case OVS_ACTION_ATTR_USERSPACE:
        sim_userspace(dp, pkt, a);
        return true;
    case OVS_ACTION_ATTR_PUSH_VLAN:
        sim_push_vlan(pkt, a);
        return true;
    case OVS_ACTION_ATTR_POP_VLAN:
        sim_pop_vlan(pkt);
        return true;
    case OVS_ACTION_ATTR_TRUNC:
        pkt->max_len = mnl_attr_get_u32(a);
        return true;
    case OVS_ACTION_ATTR_RECIRC:
        sim_recirc(dp, pkt, mnl_attr_get_u32(a), depth);
        return true;
    case OVS_ACTION_ATTR_CT:
        sim_ct(dp, pkt->frame, pkt->len, &pkt->key, a);
        return true;
    case OVS_ACTION_ATTR_CT_CLEAR:
        flow_fill_ct(&pkt->key, 0);
        return true;
    case OVS_ACTION_ATTR_CLONE:
        sim_clone(dp, pkt, a, depth);
        return true;
    case OVS_ACTION_ATTR_METER:
        return sim_meter_passes(dp, mnl_attr_get_u32(a), pkt->len);
    case SIM_ACTION_DROP:
        return false;
    default:
        dp->counts.n_action_errors++;
        return false;
    }
}

static void sim_run_actions(struct sim_dp *dp, struct sim_packet *pkt, const struct nlattr *actions, size_t len,
                            int depth)
{
    const char *end = (const char *) actions + len;

    /* They were checked when they came. */
    for (const struct nlattr *a = actions; (const char *) a < end; a = mnl_attr_next(a)) {
        if (!sim_run_action(dp, pkt, a, depth)) {
            return;
        }
    }
}

/* ---- In. ---- */

static void sim_flow_account(struct sim_flow *flow, const struct sim_packet *pkt)
{
    flow->stats.n_packets++;
    flow->stats.n_bytes += pkt->len;
    flow->stats.used = sim_now();
    flow->stats.tcp_flags |= ntohs(pkt->key.tcp_flags);
}

/* Looks PKT up, and does what its flow says. */
static void sim_process(struct sim_dp *dp, struct sim_packet *pkt, int depth)
{
    unsigned int n_masks;
    struct sim_flow *flow = sim_flow_lookup(dp, &pkt->key, &n_masks);

    dp->n_mask_hit += n_masks;
    pkt->max_len = SIZE_MAX;
    if (!flow) {
        dp->n_missed++;
        sim_upcall(dp, pkt, DPIF_UC_MISS, 0, NULL);
    } else {
        dp->n_hit++;
        sim_flow_account(flow, pkt);
        sim_run_actions(dp, pkt, flow->actions, flow->actions_len, depth);
    }
}

void sim_inject(struct dpif *dpif, odp_port_t in_port, unsigned int cpu, const void *frame, size_t len)
{
    struct sim_dp *dp = sim_dp_of(dpif);
    struct sim_outputs out = { .n = 0 };
    struct sim_packet pkt = { .len = len, .cpu = cpu, .out = &out };

    pkt.key.in_port = in_port;
    if (packet_extract(frame, len, &pkt.key)) {
        return;
    }
    pkt.hash = sim_packet_hash(&pkt.key);

    lock_acquire(&sim_lock);
    struct sim_port *port = sim_port_by_number(dp, in_port);
    if (port) {
        port->info.rx_packets++;
        port->info.rx_bytes += len;
        pkt.frame = xmemdup(frame, len);
        sim_process(dp, &pkt, 0);
        free(pkt.frame);
    }
    lock_release(&sim_lock);
    sim_outputs_deliver(&out);
}

/* Takes of a packet to be executed what its sender says of it: the metadata of its key. */
static int sim_execute_key(const struct sim_dp *dp, const struct dpif_op *op, struct flow *ret_key) REQUIRES(sim_lock)
{
    if (op->execute.packet_len < ETH_HEADER_LEN) {
        return -ERANGE;
    }
    if (odp_key_to_flow(op->execute.key, op->execute.key_len, ret_key) == ODP_FIT_ERROR ||
        packet_extract(op->execute.packet, op->execute.packet_len, ret_key)) {
        return -EINVAL;
    }
    return sim_input_port(dp, ret_key->in_port) ? 0 : -ENODEV;
}

int sim_execute(struct sim_dp *dp, const struct dpif_op *op, struct sim_outputs *out)
{
    struct sim_packet pkt = {
        .len = op->execute.packet_len,
        .max_len = SIZE_MAX,
        .cpu = sim_thread_cpu(),
        .reply_pid = dp->kernel == SIM_KERNEL_CURRENT ? op->execute.upcall_pid : 0,
        .mru = op->execute.mru,
        .out = out,
    };
    int error = sim_execute_key(dp, op, &pkt.key);

    if (!error) {
        error = sim_check_actions(dp, op->execute.actions, op->execute.actions_len, 0);
    }
    if (error) {
        return error;
    }
    pkt.hash = op->execute.has_hash ? op->execute.hash : sim_packet_hash(&pkt.key);
    pkt.frame = xmemdup(op->execute.packet, op->execute.packet_len);
    dp->counts.n_executes++;
    sim_run_actions(dp, &pkt, op->execute.actions, op->execute.actions_len, 0);
    free(pkt.frame);
    return 0;
}
