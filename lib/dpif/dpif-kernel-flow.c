/* Flows of the kernel's datapath: read one, flush all, dump all.
 *
 * Threads and owners: a read uses its caller's session.  A dump has a socket of its own, shared by the threads that
 * take from it: each receives into a buffer of its own with the dump's lock held, and reads it with none.  (Rank IO:
 * the lock is held over a system call, in which the kernel fills the next buffer.)
 *
 * Accepted: the kernel walks a hash table that others change, so a flow may come twice, or not at all.  Whoever keeps
 * accounts by the dump has to expect both. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/lock.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-kernel.h"

COUNTER_DEFINE(dpif_flow_get);
COUNTER_DEFINE(dpif_flow_flush);

/* Flags by which the kernel leaves out all but the name and the statistics of a flow. */
#define UFID_TERSE (OVS_UFID_F_OMIT_KEY | OVS_UFID_F_OMIT_MASK | OVS_UFID_F_OMIT_ACTIONS)

static const struct nl_policy flow_policy[] = {
    [OVS_FLOW_ATTR_KEY] = { 0 },
    [OVS_FLOW_ATTR_MASK] = { 0 },
    [OVS_FLOW_ATTR_ACTIONS] = { 0 },
    [OVS_FLOW_ATTR_STATS] = { .min = sizeof(struct ovs_flow_stats) },
    [OVS_FLOW_ATTR_TCP_FLAGS] = { .min = 1, .max = 1 },
    [OVS_FLOW_ATTR_USED] = { .min = 8, .max = 8 },
    [OVS_FLOW_ATTR_UFID] = { .min = 1, .max = 16 },
};

/* What is inside of A, or NULL. */
static const struct nlattr *inside(const struct nlattr *a, size_t *ret_len)
{
    *ret_len = a ? mnl_attr_get_payload_len(a) : 0;
    return a ? mnl_attr_get_payload(a) : NULL;
}

/* See dpif-kernel.h. */
int kernel_flow_parse(const struct dpif_kernel *k, const struct nlmsghdr *nlh, struct dpif_flow *flow)
{
    const struct nlattr *tb[ARRAY_SIZE(flow_policy)];
    struct ovs_flow_stats stats = { 0 };
    int dp_ifindex;
    if (nlh->nlmsg_type != k->flow_family ||
        kernel_msg_parse(nlh, flow_policy, ARRAY_SIZE(flow_policy), tb, &dp_ifindex)) {
        return -EINVAL;
    } else if (dp_ifindex != k->dp_ifindex) {
        return -ESTALE;
    }
    memset(flow, 0, sizeof *flow);
    /* A name of another length was not given by us; the flow is then known by its key. */
    const struct nlattr *ufid = tb[OVS_FLOW_ATTR_UFID];
    flow->has_ufid = ufid && mnl_attr_get_payload_len(ufid) == sizeof flow->ufid;
    if (flow->has_ufid) {
        memcpy(&flow->ufid, mnl_attr_get_payload(ufid), sizeof flow->ufid);
    }
    flow->key = inside(tb[OVS_FLOW_ATTR_KEY], &flow->key_len);
    flow->mask = inside(tb[OVS_FLOW_ATTR_MASK], &flow->mask_len);
    flow->actions = inside(tb[OVS_FLOW_ATTR_ACTIONS], &flow->actions_len);
    if (tb[OVS_FLOW_ATTR_STATS]) {
        memcpy(&stats, mnl_attr_get_payload(tb[OVS_FLOW_ATTR_STATS]), sizeof stats);
    }
    flow->stats.n_packets = stats.n_packets;
    flow->stats.n_bytes = stats.n_bytes;
    flow->stats.used = tb[OVS_FLOW_ATTR_USED] ? mnl_attr_get_u64(tb[OVS_FLOW_ATTR_USED]) : 0;
    flow->stats.tcp_flags = tb[OVS_FLOW_ATTR_TCP_FLAGS] ? mnl_attr_get_u8(tb[OVS_FLOW_ATTR_TCP_FLAGS]) : 0;
    return 0;
}

/* Appends UFID, as its bytes lie in memory. */
void kernel_put_ufid(struct attrbuf *b, const struct ufid *ufid)
{
    attrbuf_put(b, OVS_FLOW_ATTR_UFID, ufid, sizeof *ufid);
}

/* See dpif-kernel.h. */
void kernel_flow_put_id(struct attrbuf *b, const struct ufid *ufid, const struct nlattr *key, size_t key_len)
{
    if (ufid) {
        kernel_put_ufid(b, ufid);
    } else {
        attrbuf_put(b, OVS_FLOW_ATTR_KEY, key, key_len);
    }
}

/* Keeps the answer NLH in the session's request buffer: the request has been sent. */
static int keep_cb(const struct nlmsghdr *nlh, void *aux)
{
    struct dpif_kernel_session *s = aux;
    if (nlh->nlmsg_len > KERNEL_TX_SIZE) {
        return -EMSGSIZE;
    }
    memcpy(s->tx, nlh, nlh->nlmsg_len);
    return 0;
}

/* See dpif_flow_get() in dpif.h. */
int kernel_flow_get(struct dpif_session *session, const struct ufid *ufid, const struct nlattr *key, size_t key_len,
                    struct dpif_flow *ret_flow)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    const struct dpif_kernel *k = kernel_session_dpif(s);
    struct attrbuf b;
    struct dpif_flow flow;

    COUNTER_INC(dpif_flow_get);
    kernel_msg_begin(&b, s->tx, KERNEL_TX_SIZE, k->flow_family, 0, OVS_FLOW_CMD_GET, OVS_FLOW_VERSION, k->dp_ifindex);
    kernel_flow_put_id(&b, ufid, key, key_len);
    int error = kernel_transact(s, &b, keep_cb, s);
    if (!error) {
        error = kernel_flow_parse(k, s->tx, &flow);
    }
    if (!error) {
        *ret_flow = flow;
    }
    return error;
}

/* See dpif_flow_flush() in dpif.h: a deletion that names no flow deletes all. */
int kernel_flow_flush(struct dpif_session *session)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    const struct dpif_kernel *k = kernel_session_dpif(s);
    struct attrbuf b;
    COUNTER_INC(dpif_flow_flush);
    kernel_msg_begin(&b, s->tx, KERNEL_TX_SIZE, k->flow_family, 0, OVS_FLOW_CMD_DEL, OVS_FLOW_VERSION, k->dp_ifindex);
    return kernel_transact(s, &b, NULL, NULL);
}

struct kernel_dump {
    struct dpif_flow_dump up;
    bool terse;
    struct lock lock;
    struct nl_sock *sock; /* Guarded by 'lock'. */
    bool ended;           /* Read to its end, so 'sock' can be used again.  Guarded by 'lock'. */
    int error;            /* The first, or 0; atomic. */
};

struct kernel_dump_thread {
    struct dpif_flow_dump_thread up;
    size_t len, pos; /* Of what is in 'buf'. */
    void *buf;       /* DPIF_DUMP_BUF_SIZE. */
};

/* Remembers ERROR of dump D, unless there was one before. */
static void dump_failed(struct kernel_dump *d, int error)
{
    int none = 0;
    __atomic_compare_exchange_n(&d->error, &none, error, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* See dpif_flow_dump_create() in dpif.h. */
int kernel_flow_dump_create(struct dpif *dpif, bool terse, struct dpif_flow_dump **ret_dump)
{
    const struct dpif_kernel *k = dpif_kernel_cast(dpif);
    uint32_t request[16];
    struct attrbuf b;

    /* The socket of the last dump, if it is free: a round of revalidation must not fail because ports have taken the
     * last descriptor. */
    struct nl_sock *sock = __atomic_exchange_n(&((struct dpif_kernel *) k)->spare_dump_sock, NULL, __ATOMIC_ACQ_REL);
    int error = sock ? 0 : nl_sock_open(NETLINK_GENERIC, 0, &sock);
    if (error) {
        return error;
    }
    kernel_msg_begin(&b, request, sizeof request, k->flow_family, 0, OVS_FLOW_CMD_GET, OVS_FLOW_VERSION, k->dp_ifindex);
    terse = terse && dpif->features.ufid;
    if (terse) {
        attrbuf_put_u32(&b, OVS_FLOW_ATTR_UFID_FLAGS, UFID_TERSE);
    }
    error = nl_dump_begin(sock, b.nlh);
    if (error) {
        nl_sock_close(sock);
        return error;
    }
    struct kernel_dump *d = xzalloc(sizeof *d);
    d->up.dpif = dpif;
    d->terse = terse;
    d->sock = sock;
    lock_init(&d->lock, RANK_IO);
    *ret_dump = &d->up;
    return 0;
}

/* See dpif_flow_dump_destroy() in dpif.h.  A dump that was not taken to its end ends with its socket. */
int kernel_flow_dump_destroy(struct dpif_flow_dump *dump)
{
    struct kernel_dump *d = CONTAINER_OF(dump, struct kernel_dump, up);
    struct dpif_kernel *k = dpif_kernel_cast(dump->dpif);
    int error = d->error;
    struct nl_sock *sock = d->sock;
    if (d->ended) {
        sock = __atomic_exchange_n(&k->spare_dump_sock, sock, __ATOMIC_ACQ_REL);
    }
    nl_sock_close(sock);
    lock_uninit(&d->lock);
    free(d);
    return error;
}

/* See dpif_flow_dump_thread_create() in dpif.h. */
struct dpif_flow_dump_thread *kernel_flow_dump_thread_create(struct dpif_flow_dump *dump)
{
    struct kernel_dump_thread *t = xzalloc(sizeof *t);
    t->up.dump = dump;
    t->buf = xmalloc(DPIF_DUMP_BUF_SIZE);
    return &t->up;
}

/* See dpif_flow_dump_thread_destroy() in dpif.h. */
void kernel_flow_dump_thread_destroy(struct dpif_flow_dump_thread *thread)
{
    struct kernel_dump_thread *t = CONTAINER_OF(thread, struct kernel_dump_thread, up);
    free(t->buf);
    free(t);
}

/* Receives the next buffer of T's dump.  Returns 1, 0 at the end, or -errno. */
static int refill(struct kernel_dump_thread *t)
{
    struct kernel_dump *d = CONTAINER_OF(t->up.dump, struct kernel_dump, up);
    lock_acquire(&d->lock);
    ssize_t n = nl_dump_recv(d->sock, t->buf, DPIF_DUMP_BUF_SIZE);
    d->ended |= n == 0 || n == -EINTR;
    lock_release(&d->lock);
    t->pos = 0;
    t->len = MAX(n, 0);
    if (n == -EINTR) {
        return 0; /* "The table changed meanwhile": always so, and the header says it. */
    } else if (n < 0) {
        dump_failed(d, n);
        return n;
    }
    return n > 0;
}

/* See dpif_flow_dump_next() in dpif.h. */
int kernel_flow_dump_next(struct dpif_flow_dump_thread *thread, struct dpif_flow *flows, int max)
{
    struct kernel_dump_thread *t = CONTAINER_OF(thread, struct kernel_dump_thread, up);
    struct kernel_dump *d = CONTAINER_OF(thread->dump, struct kernel_dump, up);
    const struct dpif_kernel *k = dpif_kernel_cast(d->up.dpif);
    int n = 0;
    while (!n) {
        const struct nlmsghdr *nlh;
        while (n < max && (nlh = nl_msg_next(t->buf, t->len, &t->pos))) {
            if (nlh->nlmsg_type >= NLMSG_MIN_TYPE && !kernel_flow_parse(k, nlh, &flows[n])) {
                flows[n].actions_omitted = !d->terse && !flows[n].actions;
                n++;
            }
        }
        if (!n) {
            int rc = refill(t);
            if (rc <= 0) {
                return rc;
            }
        }
    }
    return n;
}
