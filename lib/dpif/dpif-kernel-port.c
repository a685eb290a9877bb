/* Ports of the kernel's datapath: made, found, listed, and the events that tell of them.
 *
 * Threads and owners: each function works on its caller's session; events come over a socket of the dpif's own, for the
 * one caller of kernel_port_poll().
 *
 * Events are multicast to all who listen, for all datapaths of the network namespace; those of others are dropped
 * here.  A request of our own makes an event, too: callers must expect to hear what they did. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-kernel.h"
#include "lib/nl/link.h"

LOG_MODULE(dpif_netlink_port);

COUNTER_DEFINE(dpif_port_add);
COUNTER_DEFINE(dpif_port_del);

/* Of Linux 6.3 and later, not in the headers of 6.1. */
#define VPORT_ATTR_UPCALL_STATS 10
#define VPORT_UPCALL_SUCCESS    0
#define VPORT_UPCALL_FAIL       1

static const struct nl_policy port_policy[] = {
    [OVS_VPORT_ATTR_PORT_NO] = { .min = 4, .max = 4, .required = true },
    [OVS_VPORT_ATTR_TYPE] = { .min = 4, .max = 4, .required = true },
    [OVS_VPORT_ATTR_NAME] = { .min = 1, .max = IFNAMSIZ, .required = true },
    [OVS_VPORT_ATTR_UPCALL_PID] = { .min = 4 },
    [OVS_VPORT_ATTR_STATS] = { .min = sizeof(struct ovs_vport_stats) },
    [OVS_VPORT_ATTR_IFINDEX] = { .min = 4, .max = 4 },
    [VPORT_ATTR_UPCALL_STATS] = { 0 },
};

/* Reads how many upcalls the port sent and failed to send, if the kernel counts them. */
static void parse_upcall_stats(const struct nlattr *a, struct dpif_port *port)
{
    static const struct nl_policy policy[] = {
        [VPORT_UPCALL_SUCCESS] = { .min = 8, .max = 8, .required = true },
        [VPORT_UPCALL_FAIL] = { .min = 8, .max = 8, .required = true },
    };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    port->upcall_success = port->upcall_fail = UINT64_MAX;
    if (a && !nl_attrs_parse(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), policy, ARRAY_SIZE(policy), tb)) {
        port->upcall_success = mnl_attr_get_u64(tb[VPORT_UPCALL_SUCCESS]);
        port->upcall_fail = mnl_attr_get_u64(tb[VPORT_UPCALL_FAIL]);
    }
}

/* The kernel's port type in our terms. */
static enum dpif_port_type port_type(uint32_t vport_type)
{
    switch (vport_type) {
    case OVS_VPORT_TYPE_NETDEV:
        return DPIF_PORT_NETDEV;
    case OVS_VPORT_TYPE_INTERNAL:
        return DPIF_PORT_INTERNAL;
    default:
        return DPIF_PORT_OTHER;
    }
}

/* Reads message NLH of the vport family. */
static int port_parse(const struct nlmsghdr *nlh, struct dpif_port *port, int *ret_dp_ifindex)
{
    const struct nlattr *tb[ARRAY_SIZE(port_policy)];
    struct ovs_vport_stats stats = { 0 };
    int error = kernel_msg_parse(nlh, port_policy, ARRAY_SIZE(port_policy), tb, ret_dp_ifindex);
    if (error) {
        return error;
    }
    memset(port, 0, sizeof *port);
    port->no.n = mnl_attr_get_u32(tb[OVS_VPORT_ATTR_PORT_NO]);
    port->vport_type = mnl_attr_get_u32(tb[OVS_VPORT_ATTR_TYPE]);
    port->type = port_type(port->vport_type);
    const struct nlattr *name = tb[OVS_VPORT_ATTR_NAME];
    memcpy(port->name, mnl_attr_get_payload(name), MIN(mnl_attr_get_payload_len(name), sizeof port->name - 1));
    if (tb[OVS_VPORT_ATTR_UPCALL_PID]) {
        port->upcall_pid = mnl_attr_get_u32(tb[OVS_VPORT_ATTR_UPCALL_PID]);
    }
    if (tb[OVS_VPORT_ATTR_IFINDEX]) {
        port->ifindex = mnl_attr_get_u32(tb[OVS_VPORT_ATTR_IFINDEX]);
    }
    if (tb[OVS_VPORT_ATTR_STATS]) {
        memcpy(&stats, mnl_attr_get_payload(tb[OVS_VPORT_ATTR_STATS]), sizeof stats);
    }
    port->rx_packets = stats.rx_packets;
    port->tx_packets = stats.tx_packets;
    port->rx_bytes = stats.rx_bytes;
    port->tx_bytes = stats.tx_bytes;
    port->rx_errors = stats.rx_errors;
    port->tx_errors = stats.tx_errors;
    port->rx_dropped = stats.rx_dropped;
    port->tx_dropped = stats.tx_dropped;
    parse_upcall_stats(tb[VPORT_ATTR_UPCALL_STATS], port);
    return 0;
}

/* Reads the answer about one port into the struct dpif_port at AUX. */
static int port_cb(const struct nlmsghdr *nlh, void *aux)
{
    int dp_ifindex;
    return port_parse(nlh, aux, &dp_ifindex);
}

/* Starts a request to the vport family in S's buffer. */
static void port_begin(struct dpif_kernel_session *s, struct attrbuf *b, uint16_t flags, uint8_t cmd)
{
    const struct dpif_kernel *k = kernel_session_dpif(s);
    kernel_msg_begin(b, s->tx, KERNEL_TX_SIZE, k->vport_family, flags, cmd, OVS_VPORT_VERSION, k->dp_ifindex);
}

/* See dpif_port_add() in dpif.h.  -EINVAL: a port type that cannot be made. */
int kernel_port_add(struct dpif_session *session, const char *name, enum dpif_port_type type, uint32_t upcall_pid,
                    odp_port_t request, odp_port_t *ret_no)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    uint32_t vport_type = 0;
    struct attrbuf b;
    struct dpif_port port;

    switch (type) {
    case DPIF_PORT_NETDEV:
        vport_type = OVS_VPORT_TYPE_NETDEV;
        /* A packet merged by the device could not be split again by who it is forwarded to.  Few devices have it, and
         * those that lack it say so. */
        link_disable_lro(name);
        break;
    case DPIF_PORT_INTERNAL:
        vport_type = OVS_VPORT_TYPE_INTERNAL;
        break;
    case DPIF_PORT_OTHER:
        return -EINVAL;
    }
    if (strlen(name) >= IFNAMSIZ) {
        return -ENAMETOOLONG;
    }
    port_begin(s, &b, NLM_F_ECHO, OVS_VPORT_CMD_NEW);
    attrbuf_put_u32(&b, OVS_VPORT_ATTR_TYPE, vport_type);
    attrbuf_put(&b, OVS_VPORT_ATTR_NAME, name, strlen(name) + 1);
    attrbuf_put_u32(&b, OVS_VPORT_ATTR_UPCALL_PID, upcall_pid);
    if (!odp_port_eq(request, ODPP_NONE)) {
        attrbuf_put_u32(&b, OVS_VPORT_ATTR_PORT_NO, request.n);
    }
    port.no = ODPP_NONE;
    int error = kernel_transact(s, &b, port_cb, &port);
    if (!error && odp_port_eq(port.no, ODPP_NONE)) {
        error = -EBADMSG;
    }
    if (!error) {
        COUNTER_INC(dpif_port_add);
        *ret_no = port.no;
    }
    return error;
}

/* See dpif_port_del() in dpif.h.  -EINVAL: the local port, which goes with the datapath only. */
int kernel_port_del(struct dpif_session *session, odp_port_t no)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct attrbuf b;
    port_begin(s, &b, 0, OVS_VPORT_CMD_DEL);
    attrbuf_put_u32(&b, OVS_VPORT_ATTR_PORT_NO, no.n);
    int error = kernel_transact(s, &b, NULL, NULL);
    if (!error) {
        COUNTER_INC(dpif_port_del);
    }
    return error;
}

/* See dpif_port_query_by_name() and dpif_port_query_by_number() in dpif.h. */
int kernel_port_query(struct dpif_session *session, const char *name, odp_port_t no, struct dpif_port *ret_port)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct attrbuf b;
    struct dpif_port port;
    if (name && strlen(name) >= IFNAMSIZ) {
        return -ENODEV;
    }
    port_begin(s, &b, 0, OVS_VPORT_CMD_GET);
    if (name) {
        attrbuf_put(&b, OVS_VPORT_ATTR_NAME, name, strlen(name) + 1);
    } else {
        attrbuf_put_u32(&b, OVS_VPORT_ATTR_PORT_NO, no.n);
    }
    int error = kernel_transact(s, &b, port_cb, &port);
    if (!error) {
        *ret_port = port;
    }
    return error;
}

/* See dpif_port_set_pid() in dpif.h. */
int kernel_port_set_pid(struct dpif_session *session, odp_port_t no, uint32_t upcall_pid)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct attrbuf b;
    port_begin(s, &b, 0, OVS_VPORT_CMD_SET);
    attrbuf_put_u32(&b, OVS_VPORT_ATTR_PORT_NO, no.n);
    attrbuf_put_u32(&b, OVS_VPORT_ATTR_UPCALL_PID, upcall_pid);
    return kernel_transact(s, &b, NULL, NULL);
}

struct port_dump {
    const struct dpif_kernel *k;
    dpif_port_cb *cb;
    void *aux;
};

/* Tells of one port of a dump. */
static int port_dump_cb(const struct nlmsghdr *nlh, void *aux)
{
    const struct port_dump *d = aux;
    struct dpif_port port;
    int dp_ifindex;
    int error = port_parse(nlh, &port, &dp_ifindex);
    if (!error && dp_ifindex == d->k->dp_ifindex) {
        d->cb(&port, d->aux);
    }
    return error;
}

/* See dpif_port_dump() in dpif.h. */
int kernel_port_dump(struct dpif_session *session, dpif_port_cb *cb, void *aux)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct port_dump d = { kernel_session_dpif(s), cb, aux };
    struct attrbuf b;
    port_begin(s, &b, 0, OVS_VPORT_CMD_GET);
    int error = nl_dump_begin(s->sock, b.nlh);
    if (!error) {
        void *buf = xmalloc(DPIF_DUMP_BUF_SIZE);
        do {
            error = nl_dump_next(s->sock, buf, DPIF_DUMP_BUF_SIZE, port_dump_cb, &d);
        } while (error > 0);
        free(buf);
    }
    return error;
}

/* Becomes readable when there are events. */
int kernel_port_events_fd(struct dpif *dpif) { return nl_sock_fd(dpif_kernel_cast(dpif)->events); }

/* Sets *RET to what command CMD says of a port; false: nothing. */
static bool event_from_cmd(uint8_t cmd, enum dpif_port_event *ret)
{
    switch (cmd) {
    case OVS_VPORT_CMD_NEW:
        *ret = DPIF_PORT_EVENT_ADDED;
        return true;
    case OVS_VPORT_CMD_SET:
        *ret = DPIF_PORT_EVENT_CHANGED;
        return true;
    case OVS_VPORT_CMD_DEL:
        *ret = DPIF_PORT_EVENT_DELETED;
        return true;
    default:
        return false;
    }
}

/* Tells of what NLH says, if it is an event of datapath K. */
static void port_event(const struct dpif_kernel *k, const struct nlmsghdr *nlh, dpif_port_event_cb *cb, void *aux)
{
    enum dpif_port_event event;
    struct dpif_port port;
    int dp_ifindex;
    if (nlh->nlmsg_type == k->dp_family && kernel_dp_features_differ(k, nlh)) {
        cb(DPIF_PORT_EVENT_DISPATCH, NULL, aux);
    }
    if (nlh->nlmsg_type != k->vport_family) {
        return;
    }
    int error = port_parse(nlh, &port, &dp_ifindex);
    if (error) {
        log_warn_rl(5, "a malformed port event was ignored (command %u, %u bytes)",
                    nlh->nlmsg_len >= sizeof(struct kernel_header) ? ((const struct kernel_header *) nlh)->genl.cmd : 0,
                    nlh->nlmsg_len);
    } else if (dp_ifindex == k->dp_ifindex && event_from_cmd(((const struct kernel_header *) nlh)->genl.cmd, &event)) {
        cb(event, &port, aux);
    }
}

/* See dpif_port_poll() in dpif.h.
 *
 * After an overflow the kernel drops every further event, and says nothing of it, until the queue has been read empty.
 * So the rest is read and thrown away before -ENOBUFS is returned: a dump made after that misses nothing. */
int kernel_port_poll(struct dpif *dpif, dpif_port_event_cb *cb, void *aux)
{
    struct dpif_kernel *k = dpif_kernel_cast(dpif);
    uint32_t buf[4096 / sizeof(uint32_t)];
    bool overflow = false;
    for (;;) {
        ssize_t n = nl_recv(k->events, buf, sizeof buf);
        if (n == -EAGAIN) {
            return overflow ? -ENOBUFS : 0;
        } else if (n == -ENOBUFS || n == -EMSGSIZE) {
            overflow = true;
        } else if (n < 0) {
            return n;
        } else if (!overflow) {
            const struct nlmsghdr *nlh;
            for (size_t pos = 0; (nlh = nl_msg_next(buf, n, &pos));) {
                port_event(k, nlh, cb, aux);
            }
        }
    }
}
