/* Private to the dpif-kernel*.c files: the provider for the openvswitch kernel module. */
#ifndef DPIF_DPIF_KERNEL_H
#define DPIF_DPIF_KERNEL_H 1

#include <linux/genetlink.h>
#include <linux/openvswitch.h>

#include "lib/base/compiler.h"
#include "lib/dpif/dpif-provider.h"
#include "lib/nl/attrbuf.h"
#include "lib/nl/nl.h"

/* A request's message, or as many as go into one sendmsg(). */
#define KERNEL_TX_SIZE (128 * 1024)

struct dpif_kernel {
    struct dpif up;
    /* Immutable after open. */
    int dp_ifindex;
    uint16_t dp_family, vport_family, flow_family, packet_family;
    uint16_t meter_family; /* 0: the kernel has no meters. */
    struct nl_sock *events; /* Member of the groups of ports and datapaths; used by one thread, the caller of port_poll. */
    uint32_t features;      /* Atomic: the feature word that was last set for dispatch; 0: none yet. */
    uint32_t opener;        /* Port id of the session that opened the datapath. */
    uint32_t setter;        /* Atomic: of the session that set that word last. */
    struct nl_sock *spare_dump_sock; /* Of the last flow dump that was read to its end; NULL: none.  Atomic. */
};

/* One thread's way to the datapath. */
struct dpif_kernel_session {
    struct dpif_session up;
    struct nl_sock *sock;
    void *tx;                   /* KERNEL_TX_SIZE; flow_get() leaves its result here. */
    struct kernel_batch *batch; /* Made by the first operate. */
    char error[256];            /* Words on the last request that failed; "": none. */
};

/* What stands before the attributes of every message of the module. */
struct kernel_header {
    struct nlmsghdr nlh;
    struct genlmsghdr genl;
    struct ovs_header ovs;
};
_Static_assert(sizeof(struct kernel_header) == NLMSG_HDRLEN + GENL_HDRLEN + 4, "headers are packed by nature");

static inline struct dpif_kernel *dpif_kernel_cast(const struct dpif *dpif)
{
    return CONTAINER_OF(dpif, struct dpif_kernel, up);
}

static inline struct dpif_kernel_session *kernel_session_cast(const struct dpif_session *s)
{
    return CONTAINER_OF(s, struct dpif_kernel_session, up);
}

static inline struct dpif_kernel *kernel_session_dpif(const struct dpif_kernel_session *s)
{
    return dpif_kernel_cast(s->up.dpif);
}

/* dpif-kernel.c: requests. */
/* Starts a message of FAMILY for datapath DP_IFINDEX in the SIZE bytes at BUF; attributes are appended to *B. */
void kernel_msg_begin(struct attrbuf *b, void *buf, size_t size, uint16_t family, uint16_t flags, uint8_t cmd,
                      uint8_t version, int dp_ifindex);
/* Sends what is in B and waits for the answer; remembers in S the kernel's words if it failed. */
int kernel_transact(struct dpif_kernel_session *s, struct attrbuf *b, nl_msg_cb *cb, void *aux);
/* Unpacks the attributes of message NLH; *RET_DP_IFINDEX says which datapath it is about. */
int kernel_msg_parse(const struct nlmsghdr *nlh, const struct nl_policy *policy, size_t n_policy,
                     const struct nlattr **tb, int *ret_dp_ifindex);

int kernel_session_open(struct dpif *dpif, struct dpif_session **ret_session);
void kernel_session_close(struct dpif_session *s);

/* dpif-kernel-dp.c: the datapath itself. */
int kernel_dp_attach(struct dpif_kernel_session *s, char **ret_error);
int kernel_enumerate(dpif_dp_cb *cb, void *aux);
int kernel_get_stats(struct dpif_session *s, struct dpif_stats *ret_stats);
int kernel_destroy(struct dpif_session *s);
int kernel_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids);

/* dpif-kernel-port.c */
int kernel_port_add(struct dpif_session *s, const char *name, enum dpif_port_type type, uint32_t upcall_pid,
                    odp_port_t request, odp_port_t *ret_no);
int kernel_port_del(struct dpif_session *s, odp_port_t no);
int kernel_port_query(struct dpif_session *s, const char *name, odp_port_t no, struct dpif_port *ret_port);
int kernel_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid);
int kernel_port_dump(struct dpif_session *s, dpif_port_cb *cb, void *aux);
int kernel_port_events_fd(struct dpif *dpif);
/* Whether NLH, a message of the datapath family, says that datapath K has other features than we have set. */
bool kernel_dp_features_differ(const struct dpif_kernel *k, const struct nlmsghdr *nlh);
int kernel_port_poll(struct dpif *dpif, dpif_port_event_cb *cb, void *aux);

/* dpif-kernel-flow.c */
/* Reads message NLH of the flow family.  *RET_FLOW points into it.  -EINVAL: malformed; -ESTALE: of another datapath.
 */
int kernel_flow_parse(const struct dpif_kernel *dpif, const struct nlmsghdr *nlh, struct dpif_flow *ret_flow);
/* Appends the attributes by which the kernel finds a flow: *UFID, or the key if that is NULL. */
void kernel_flow_put_id(struct attrbuf *b, const struct ufid *ufid, const struct nlattr *key, size_t key_len);
void kernel_put_ufid(struct attrbuf *b, const struct ufid *ufid);
int kernel_flow_get(struct dpif_session *s, const struct ufid *ufid, const struct nlattr *key, size_t key_len,
                    struct dpif_flow *ret_flow);
int kernel_flow_flush(struct dpif_session *s);
int kernel_flow_dump_create(struct dpif *dpif, bool terse, struct dpif_flow_dump **ret_dump);
int kernel_flow_dump_destroy(struct dpif_flow_dump *dump);
struct dpif_flow_dump_thread *kernel_flow_dump_thread_create(struct dpif_flow_dump *dump);
void kernel_flow_dump_thread_destroy(struct dpif_flow_dump_thread *t);
int kernel_flow_dump_next(struct dpif_flow_dump_thread *t, struct dpif_flow *flows, int max);

/* dpif-kernel-operate.c */
void kernel_operate(struct dpif_session *s, struct dpif_op *ops[], size_t n_ops);
void kernel_batch_destroy(struct kernel_batch *batch); /* Accepts NULL. */

/* dpif-kernel-probe.c */
/* Finds out what the running kernel can do, but for what kernel_dp_attach() found, and logs it. */
void kernel_probe(struct dpif_kernel_session *s);

/* dpif-kernel-meter.c */
/* Finds out whether the kernel has meters that work, and how many. */
void kernel_probe_meters(struct dpif_kernel_session *s);
int kernel_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret_stats);
int kernel_meter_get(struct dpif_session *s, uint32_t id, struct dpif_meter_stats *ret_stats);
int kernel_meter_del(struct dpif_session *s, uint32_t id);

#endif
