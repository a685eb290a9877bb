/* The provider for the openvswitch kernel module: open and close, sessions, channels, and the table of operations.
 *
 * Purpose: dpif.h over generic netlink.  The nouns have files of their own: dpif-kernel-dp.c (the datapath and its
 * features), -port.c, -flow.c (one flow, all flows), -operate.c (batches), -meter.c, -probe.c.
 *
 * Threads and owners.  `struct dpif_kernel` is immutable once open, but for the socket of port events, which the one
 * caller of port_poll() uses.  A session belongs to one thread at a time: a socket, a buffer for requests, and the answers to a
 * batch.  A channel is a bare descriptor, owned by whoever opened it.  So nothing here locks, except a dump that
 * several threads take from. */
#include <config.h>

#include "lib/dpif/dpif-kernel.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-upcall.h"

LOG_MODULE(dpif_netlink);

/* Room for the answers to a batch; see kernel_operate(). */
#define SESSION_RCVBUF (1024 * 1024)
/* Some ten thousand port events. */
#define EVENTS_RCVBUF (4 * 1024 * 1024)

/* See dpif-kernel.h. */
void kernel_msg_begin(struct attrbuf *b, void *buf, size_t size, uint16_t family, uint16_t flags, uint8_t cmd,
                      uint8_t version, int dp_ifindex)
{
    attrbuf_init(b, buf, size);
    struct kernel_header *h = buf;
    h->nlh.nlmsg_len = sizeof *h;
    h->nlh.nlmsg_type = family;
    h->nlh.nlmsg_flags = NLM_F_REQUEST | flags;
    h->genl = (struct genlmsghdr){ .cmd = cmd, .version = version };
    h->ovs.dp_ifindex = dp_ifindex;
}

/* See dpif-kernel.h.  -EMSGSIZE: the request was too long to be written. */
int kernel_transact(struct dpif_kernel_session *s, struct attrbuf *b, nl_msg_cb *cb, void *aux)
{
    s->error[0] = '\0';
    if (b->overflow) {
        return -EMSGSIZE;
    }
    int error = nl_transact(s->sock, b->nlh, cb, aux);
    const char *text = error ? nl_sock_extack(s->sock) : NULL;
    if (text) {
        snprintf(s->error, sizeof s->error, "%s", text);
    }
    return error;
}

/* See dpif-kernel.h.  -EINVAL: malformed. */
int kernel_msg_parse(const struct nlmsghdr *nlh, const struct nl_policy *policy, size_t n_policy,
                     const struct nlattr **tb, int *ret_dp_ifindex)
{
    if (nlh->nlmsg_len < sizeof(struct kernel_header)) {
        return -EINVAL;
    }
    const struct kernel_header *h = (const void *) nlh;
    int error = nl_attrs_parse(h + 1, nlh->nlmsg_len - sizeof *h, policy, n_policy, tb);
    if (!error) {
        *ret_dp_ifindex = h->ovs.dp_ifindex;
    }
    return error;
}

/* See dpif_session_open() in dpif.h. */
int kernel_session_open(struct dpif *dpif, struct dpif_session **ret_session)
{
    struct nl_sock *sock;
    int error = nl_sock_open(NETLINK_GENERIC, SESSION_RCVBUF, &sock);
    if (error) {
        return error;
    }
    /* A message as long as our longest must be sendable whatever net.core.wmem_default is. */
    int sndbuf = 4 * KERNEL_TX_SIZE;
    if (setsockopt(nl_sock_fd(sock), SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof sndbuf)) {
        setsockopt(nl_sock_fd(sock), SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof sndbuf);
    }
    struct dpif_kernel_session *s = xzalloc(sizeof *s);
    s->up.dpif = dpif;
    s->sock = sock;
    s->tx = xmalloc(KERNEL_TX_SIZE);
    *ret_session = &s->up;
    return 0;
}

/* Accepts NULL. */
void kernel_session_close(struct dpif_session *session)
{
    if (session) {
        struct dpif_kernel_session *s = kernel_session_cast(session);
        kernel_batch_destroy(s->batch);
        nl_sock_close(s->sock);
        free(s->tx);
        free(s);
    }
}

/* The kernel's words on the last request that failed, or NULL. */
static const char *kernel_session_error(const struct dpif_session *session)
{
    const struct dpif_kernel_session *s = kernel_session_cast(session);
    return s->error[0] ? s->error : NULL;
}

/* Finds the numbers of the module's families and opens the socket for port events.  -ENOENT: there is no module. */
static int resolve(struct dpif_kernel *k, char **ret_error)
{
    uint32_t group = 0, dp_group = 0;
    const char *family = OVS_DATAPATH_FAMILY;
    int error = nl_sock_open(NETLINK_GENERIC, EVENTS_RCVBUF, &k->events);
    if (error) {
        *ret_error = xasprintf("cannot open a netlink socket: %s", strerror(-error));
        return error;
    }
    error = nl_genl_resolve(k->events, family, OVS_DATAPATH_MCGROUP, &k->dp_family, &dp_group);
    if (!error) {
        family = OVS_FLOW_FAMILY;
        error = nl_genl_resolve(k->events, family, NULL, &k->flow_family, NULL);
    }
    if (!error) {
        family = OVS_PACKET_FAMILY;
        error = nl_genl_resolve(k->events, family, NULL, &k->packet_family, NULL);
    }
    if (!error) {
        family = OVS_VPORT_FAMILY;
        error = nl_genl_resolve(k->events, family, OVS_VPORT_MCGROUP, &k->vport_family, &group);
    }
    if (error == -ENOENT) {
        *ret_error = xasprintf("the openvswitch kernel module is not loaded (generic netlink family %s does not "
                               "exist); load it with modprobe openvswitch",
                               family);
    } else if (error) {
        *ret_error = xasprintf("cannot resolve generic netlink family %s: %s", family, strerror(-error));
    } else {
        error = nl_sock_join(k->events, group);
        if (!error) {
            error = nl_sock_join(k->events, dp_group);
        }
        if (error) {
            *ret_error = xasprintf("cannot join multicast groups %s and %s: %s", OVS_VPORT_MCGROUP, OVS_DATAPATH_MCGROUP,
                                   strerror(-error));
        }
    }
    return error;
}

static void kernel_close(struct dpif *dpif)
{
    struct dpif_kernel *k = dpif_kernel_cast(dpif);
    nl_sock_close(k->events);
    nl_sock_close(k->spare_dump_sock);
    free(k->up.name);
    free(k);
}

/* See dpif_open() in dpif.h.  The socket for events joins its group before the datapath is looked at, so no port
 * can come or go unseen between a dump of the ports and the first event. */
static int kernel_open(const char *name, struct dpif **ret_dpif, char **ret_error)
{
    if (!name[0] || strlen(name) >= IFNAMSIZ) {
        *ret_error = xasprintf("\"%s\" is no datapath name: it must have 1 to %d characters", name, IFNAMSIZ - 1);
        return name[0] ? -ENAMETOOLONG : -EINVAL;
    }
    struct dpif_kernel *k = xzalloc(sizeof *k);
    k->up.ops = &dpif_kernel_ops;
    k->up.name = xstrdup(name);

    struct dpif_session *session = NULL;
    int error = resolve(k, ret_error);
    if (!error) {
        error = kernel_session_open(&k->up, &session);
        if (error) {
            *ret_error = xasprintf("cannot open a netlink socket: %s", strerror(-error));
        } else {
            error = kernel_dp_attach(kernel_session_cast(session), ret_error);
        }
    }
    if (error) {
        kernel_session_close(session);
        kernel_close(&k->up);
        return error;
    }
    kernel_probe(kernel_session_cast(session));
    kernel_probe_meters(kernel_session_cast(session));
    kernel_session_close(session);
    *ret_dpif = &k->up;
    return 0;
}

/* See dpif_channel_open() in dpif.h. */
static int kernel_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid)
{
    struct nl_sock *sock;
    int error = nl_sock_open(NETLINK_GENERIC, rcvbuf, &sock);
    if (error) {
        return error;
    }
    error = nl_sock_no_enobufs(sock);
    if (error) {
        nl_sock_close(sock);
        return error;
    }
    *ret_pid = nl_sock_pid(sock);
    *ret_fd = nl_sock_detach(sock);
    return 0;
}

static void kernel_channel_close(struct dpif *dpif, int fd, uint32_t pid) { close(fd); }

/* See dpif_channel_set_rcvbuf() in dpif.h. */
static int kernel_channel_set_rcvbuf(struct dpif *dpif, int fd, size_t rcvbuf)
{
    return nl_fd_set_rcvbuf(fd, rcvbuf);
}

/* See dpif_channel_drops() in dpif.h.  The kernel counts in 32 bits and wraps around. */
static uint64_t kernel_channel_drops(struct dpif *dpif, int fd)
{
    uint32_t info[SK_MEMINFO_VARS] = { 0 };
    socklen_t len = sizeof info;
    return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) ? 0 : info[SK_MEMINFO_DROPS];
}

static int kernel_upcall_parse(const struct dpif *dpif, const void *msg, size_t len, struct dpif_upcall *ret)
{
    const struct dpif_kernel *k = dpif_kernel_cast(dpif);
    return dpif_upcall_msg_parse(k->packet_family, k->dp_ifindex, msg, len, ret);
}

const struct dpif_ops dpif_kernel_ops = {
    .type = "system",
    .open = kernel_open,
    .close = kernel_close,
    .enumerate = kernel_enumerate,
    .session_open = kernel_session_open,
    .session_close = kernel_session_close,
    .session_error = kernel_session_error,
    .get_stats = kernel_get_stats,
    .destroy = kernel_destroy,
    .set_dispatch = kernel_set_dispatch,
    .port_add = kernel_port_add,
    .port_del = kernel_port_del,
    .port_query = kernel_port_query,
    .port_set_pid = kernel_port_set_pid,
    .port_dump = kernel_port_dump,
    .port_events_fd = kernel_port_events_fd,
    .port_poll = kernel_port_poll,
    .operate = kernel_operate,
    .flow_get = kernel_flow_get,
    .flow_flush = kernel_flow_flush,
    .flow_dump_create = kernel_flow_dump_create,
    .flow_dump_destroy = kernel_flow_dump_destroy,
    .flow_dump_thread_create = kernel_flow_dump_thread_create,
    .flow_dump_thread_destroy = kernel_flow_dump_thread_destroy,
    .flow_dump_next = kernel_flow_dump_next,
    .meter_set = kernel_meter_set,
    .meter_get = kernel_meter_get,
    .meter_del = kernel_meter_del,
    .channel_open = kernel_channel_open,
    .channel_close = kernel_channel_close,
    .channel_set_rcvbuf = kernel_channel_set_rcvbuf,
    .channel_drops = kernel_channel_drops,
    .upcall_parse = kernel_upcall_parse,
};
