/* The datapath: what forwards packets, holds flows and sends upcalls.
 *
 * Two providers stand behind this header: `kernel` (the openvswitch module over generic netlink) and `sim` (in
 * memory, for tests).  `struct dpif` is one open datapath.  All requests go through a `struct dpif_session`, a private
 * request socket and its buffers: a thread that talks to the datapath opens one of its own, or takes one of a pool while it does
 * (session-pool.h), so no request takes a lock, and the answer to a request never shares a queue with upcalls.  A session is used by one
 * thread at a time; a dpif may be used by all.
 *
 * Results are 0 or -errno.  -ENODEV: the datapath (or port) is gone; -ENOENT: no such flow; -EEXIST: see
 * DPIF_OP_FLOW_PUT. */
#ifndef DPIF_DPIF_H
#define DPIF_DPIF_H 1

#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>

#include "lib/base/types.h"

struct dpif;
struct dpif_session;
struct dpif_ops;

/* ---- The datapath itself. ---- */

struct dpif_stats {
    uint64_t n_hit, n_missed, n_lost, n_flows;
    uint64_t n_mask_hit, n_cache_hit;
    uint32_t n_masks;
    uint32_t masks_cache_size; /* UINT32_MAX: unknown. */
};

/* What the running datapath can do, found by probe at open. */
struct dpif_features {
    bool per_cpu;            /* Dispatch per CPU is possible. */
    const char *per_cpu_why; /* If not: the reason, in words. */
    bool tc_recirc_sharing;
    bool ufid;           /* Flows can be named by UFID. */
    bool masked_set, recirc, trunc, clone, ct_clear, check_pkt_len, drop_action, psample;
    bool ct_state, ct_zone, ct_mark, ct_label, ct_nat, ct_orig_tuple, ct_orig_tuple6, ct_eventmask, ct_timeout;
    unsigned int max_vlans, max_mpls, sample_nesting;
    bool upcall_stats; /* Ports count their upcalls. */
    uint32_t max_meters; /* 0: there are none. */
    unsigned int max_meter_bands;
};

enum dpif_dispatch { DPIF_DISPATCH_PER_PORT, DPIF_DISPATCH_PER_CPU };

/* Opens datapath NAME of TYPE ("system": the kernel; "sim"), creating it if it does not exist.  Probes its features.
 * -ENOENT: no such provider, or the kernel has no openvswitch module.  *RET_ERROR (may be NULL) gets an
 * explanation in words, to be freed, on failure. */
int dpif_open(const char *type, const char *name, struct dpif **ret_dpif, char **ret_error);
void dpif_close(struct dpif *dpif); /* After all its sessions.  Leaves the datapath. */
const char *dpif_name(const struct dpif *dpif);
const char *dpif_type(const struct dpif *dpif);
const struct dpif_features *dpif_features(const struct dpif *dpif);

int dpif_session_open(struct dpif *dpif, struct dpif_session **ret_session);
void dpif_session_close(struct dpif_session *s); /* Accepts NULL. */

int dpif_get_stats(struct dpif_session *s, struct dpif_stats *ret_stats);
int dpif_destroy(struct dpif_session *s); /* Deletes the datapath and its ports. */
/* Chooses how upcalls are dispatched; always sends the whole feature word (a kernel fact: a SET without features
 * clears them).  With PER_CPU, PIDS[0..N_PIDS) are the channels' port ids by CPU number. */
int dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids);

/* ---- Ports. ---- */

enum dpif_port_type { DPIF_PORT_NETDEV, DPIF_PORT_INTERNAL, DPIF_PORT_OTHER };

struct dpif_port {
    odp_port_t no;
    char name[IFNAMSIZ];
    enum dpif_port_type type;
    uint32_t vport_type; /* The provider's own number (OVS_VPORT_TYPE_*). */
    uint32_t upcall_pid; /* 0: upcalls go nowhere, or per CPU. */
    int ifindex;         /* 0: unknown. */
    uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped, tx_dropped;
    uint64_t upcall_success, upcall_fail; /* UINT64_MAX: unknown. */
};

/* Adds device NAME.  UPCALL_PID as in struct dpif_port.  REQUEST: the wanted number, or ODPP_NONE.  *RET_NO gets the
 * number.  -EEXIST/-EBUSY: NAME is in a datapath already, or the number is taken; -ENODEV: there is no such device.
 * The kernel's words, if any: dpif_session_error(). */
int dpif_port_add(struct dpif_session *s, const char *name, enum dpif_port_type type, uint32_t upcall_pid,
                  odp_port_t request, odp_port_t *ret_no);
int dpif_port_del(struct dpif_session *s, odp_port_t no);
int dpif_port_query_by_name(struct dpif_session *s, const char *name, struct dpif_port *ret_port);
int dpif_port_query_by_number(struct dpif_session *s, odp_port_t no, struct dpif_port *ret_port);
int dpif_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid);
typedef void dpif_port_cb(const struct dpif_port *port, void *aux);
int dpif_port_dump(struct dpif_session *s, dpif_port_cb *cb, void *aux);
const char *dpif_session_error(const struct dpif_session *s);

/* Port events.  FD becomes readable; dpif_port_poll() then calls CB once an event, with what the event says of the
 * port.  Returns 0 when there are no more, -ENOBUFS if events were lost: the caller then compares with a dump. */
enum dpif_port_event {
    DPIF_PORT_EVENT_ADDED,
    DPIF_PORT_EVENT_CHANGED,
    DPIF_PORT_EVENT_DELETED,
    /* Of no port (PORT is NULL): another program has changed how upcalls are dispatched.  (Each ovs-dpctl command does: it sets the
     * features that it would use itself, dispatch per CPU among them.) */
    DPIF_PORT_EVENT_DISPATCH,
};
typedef void dpif_port_event_cb(enum dpif_port_event event, const struct dpif_port *port, void *aux);
int dpif_port_events_fd(struct dpif *dpif);
int dpif_port_poll(struct dpif *dpif, dpif_port_event_cb *cb, void *aux);

/* ---- Flows. ---- */

struct dpif_flow_stats {
    uint64_t n_packets, n_bytes;
    uint64_t used; /* ms, CLOCK_MONOTONIC; 0: never. */
    uint8_t tcp_flags;
};

struct dpif_flow {
    bool has_ufid;
    struct ufid ufid;
    const struct nlattr *key, *mask, *actions; /* NULL: not reported (terse). */
    size_t key_len, mask_len, actions_len;
    bool actions_omitted; /* They did not fit: ask for this flow alone. */
    struct dpif_flow_stats stats;
};

enum dpif_op_type {
    DPIF_OP_FLOW_PUT, /* Create.  -EEXIST: another megaflow matches this key already. */
    DPIF_OP_FLOW_MOD, /* Change the actions of (by UFID), or create if CREATE is set. */
    DPIF_OP_FLOW_DEL, /* By UFID, or by key if 'has_ufid' is false. */
    DPIF_OP_FLOW_GET, /* By UFID or key: see dpif_flow_get(), which is for one. */
    DPIF_OP_EXECUTE,
};

/* One request of a batch.  What pointers point to must stay until dpif_operate() returns. */
struct dpif_op {
    enum dpif_op_type type;
    int error; /* Out: 0 or -errno. */
    union {
        struct {
            bool has_ufid;
            bool create; /* FLOW_MOD only. */
            bool clear;  /* FLOW_MOD of a flow that is there, without 'create': what it has counted is forgotten. */
            struct ufid ufid;
            const struct nlattr *key, *mask, *actions;
            size_t key_len, mask_len, actions_len;
            /* Out, for FLOW_DEL if 'want_stats': what the flow had counted when it went. */
            bool want_stats;
            struct dpif_flow_stats stats;
        } flow;
        struct {
            const void *packet;
            size_t packet_len;
            const struct nlattr *key, *actions;
            size_t key_len, actions_len;
            uint64_t hash; /* OVS_PACKET_ATTR_HASH of the upcall, if has_hash. */
            bool has_hash;
            uint16_t mru;        /* 0: none. */
            uint32_t upcall_pid; /* Where further upcalls of this packet go, if the kernel can; 0: default. */
        } execute;
    };
};

/* Carries out OPS in order, with as few system calls as their size allows: one sendmsg for up to 64 KiB, and one
 * receive for what failed.  Results in each op's 'error'. */
void dpif_operate(struct dpif_session *s, struct dpif_op *ops[], size_t n_ops);

/* One flow by UFID (or by KEY if UFID is NULL).  The pointers in *RET_FLOW are valid until the next use of S. */
int dpif_flow_get(struct dpif_session *s, const struct ufid *ufid, const struct nlattr *key, size_t key_len,
                  struct dpif_flow *ret_flow);
int dpif_flow_flush(struct dpif_session *s); /* Deletes all flows. */

/* A dump of all flows that several threads take from together: each calls dpif_flow_dump_next() with a buffer of its own
 * (DPIF_DUMP_BUF_SIZE); it locks only around the receive.  Returns the number of flows put into FLOWS (up to MAX at a time; what is left
 * of the buffer comes with the next calls), 0 at the end, or -errno.  A dump may repeat or omit flows that the kernel moved
 * meanwhile. */
#define DPIF_DUMP_BUF_SIZE (64 * 1024)
struct dpif_flow_dump;
struct dpif_flow_dump_thread;
int dpif_flow_dump_create(struct dpif *dpif, bool terse, struct dpif_flow_dump **ret_dump);
int dpif_flow_dump_destroy(struct dpif_flow_dump *dump); /* The first error met, or 0.  After its threads. */
struct dpif_flow_dump_thread *dpif_flow_dump_thread_create(struct dpif_flow_dump *dump);
void dpif_flow_dump_thread_destroy(struct dpif_flow_dump_thread *t);
/* The pointers in FLOWS are valid until the thread's next call. */
int dpif_flow_dump_next(struct dpif_flow_dump_thread *t, struct dpif_flow *flows, int max);

/* ---- Meters: OVS_ACTION_ATTR_METER drops packets that come faster than one of the meter's bands allows. ---- */

#define DPIF_METER_MAX_BANDS 8
struct dpif_meter_band {
    uint32_t rate, burst; /* kbit/s and kbit, or packets/s and packets. */
};
struct dpif_meter {
    bool kbps;
    unsigned int n_bands;
    struct dpif_meter_band bands[DPIF_METER_MAX_BANDS];
};
struct dpif_meter_counts {
    uint64_t n_packets, n_bytes;
};
struct dpif_meter_stats {
    struct dpif_meter_counts in;                          /* What came. */
    struct dpif_meter_counts bands[DPIF_METER_MAX_BANDS]; /* What each dropped. */
};

/* Makes meter ID, or another one in its place, which begins with no counts and a full bucket.  *RET_STATS: what the old one had counted (zeros:
 * there was none).  -EBUSY: this number cannot be had, another may; -EFBIG, -ENOSPC, -ENOMEM: no more meters. */
int dpif_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret_stats);
int dpif_meter_get(struct dpif_session *s, uint32_t id, struct dpif_meter_stats *ret_stats); /* -ENOENT: there is none. */
/* Deletes meter ID; flows that name it let all packets pass.  -ENOENT: there was none. */
int dpif_meter_del(struct dpif_session *s, uint32_t id);

/* ---- Upcalls. ---- */

/* Opens a channel: a socket on which nothing but upcalls arrives, one netlink message a datagram, to be read with recvmmsg().  *RET_FD is non-blocking
 * and owned by the caller, who closes it with dpif_channel_close(). *RET_PID is its port id.  The kernel provider
 * sets NETLINK_NO_ENOBUFS. */
int dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
void dpif_channel_close(struct dpif *dpif, int fd, uint32_t pid);
/* Changes the length of FD's queue, which may be in use: any thread, while another one reads.  What is queued stays.
 * The kernel compares what is queued with the length only when a further message arrives, so a queue that is now too
 * full takes nothing, and counts it as dropped, until so much has been read; a longer one takes more at once. */
int dpif_channel_set_rcvbuf(struct dpif *dpif, int fd, size_t rcvbuf);
/* Upcalls that the kernel dropped for want of room in FD's queue, since it was opened, modulo 2^32. */
uint64_t dpif_channel_drops(struct dpif *dpif, int fd);

enum dpif_upcall_type { DPIF_UC_MISS, DPIF_UC_ACTION };
struct dpif_upcall {
    enum dpif_upcall_type type;
    const void *packet;
    size_t packet_len;
    const struct nlattr *key;
    size_t key_len;
    const struct nlattr *userdata; /* NULL: none. */
    const struct nlattr *egress_tun_key;
    uint64_t hash;
    bool has_hash;
    uint16_t mru;
};
/* Reads the LEN bytes of message at MSG.  *RET points into it.  -EINVAL: not an upcall of DPIF, malformed, truncated;
 * -ESTALE: of another datapath. */
int dpif_upcall_parse(const struct dpif *dpif, const void *msg, size_t len, struct dpif_upcall *ret);

/* ---- For dpctl: what is there, whoever made it. ---- */
typedef void dpif_dp_cb(const char *type, const char *name, void *aux);
int dpif_enumerate(dpif_dp_cb *cb, void *aux);

#endif
