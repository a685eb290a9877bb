/* Parts of the simulated datapath that its files share.
 *
 * One lock, sim_lock, guards all of it.  Functions that want it held say so; those that call out (outputs, port dumps,
 * events, steps) copy what they need, release the lock and then call. */
#ifndef DPIF_DPIF_SIM_PRIVATE_H
#define DPIF_DPIF_SIM_PRIVATE_H 1

#include <urcu/list.h>

#include "lib/base/lock.h"
#include "lib/dpif/dpif-provider.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/wakeup.h"
#include "lib/pkt/flow.h"

#define SIM_MAX_PORTS  65535 /* As the kernel's DP_MAX_PORTS. */
#define SIM_MAX_METERS (1u << 18) /* More than the kernel has, and more bands: as the packaged daemon's own datapath. */
#define SIM_MAX_BANDS  DPIF_METER_MAX_BANDS
#define SIM_MAX_EVENTS 4096  /* More unread ones are lost, as on an event socket of limited size. */
#define SIM_FLOW_WORDS (sizeof(struct flow) / sizeof(uint64_t))
#define SIM_FAMILY     0x51 /* The "number of generic netlink family ovs_packet" in upcalls. */

extern struct lock sim_lock;

/* ---- A hash table of nodes embedded in what it holds. ---- */

struct sim_node {
    struct sim_node *next;
    uint64_t hash;
};
struct sim_map {
    struct sim_node **buckets;
    size_t n_buckets; /* 0 or a power of 2. */
    size_t n;
};
void sim_map_uninit(struct sim_map *m); /* Frees the table, not the nodes. */
void sim_map_insert(struct sim_map *m, struct sim_node *node, uint64_t hash);
void sim_map_remove(struct sim_map *m, struct sim_node *node);
struct sim_node *sim_map_first(const struct sim_map *m, uint64_t hash);
struct sim_node *sim_map_next(const struct sim_node *node); /* Of the same hash. */

/* ---- Flows. ---- */

/* A mask that flows have in common, as the list of its words that are not zero. */
struct sim_mask {
    struct sim_map flows; /* struct sim_flow by_key, hashed over their words. */
    size_t n_words;
    uint16_t index[SIM_FLOW_WORDS]; /* Into struct flow, taken as words. */
    uint64_t bits[SIM_FLOW_WORDS];
};

struct sim_flow {
    struct sim_node by_key, by_ufid;
    struct sim_mask *mask;
    size_t slot;   /* Where dumps find it. */
    bool has_ufid; /* Else it is known by its key. */
    struct ufid ufid;
    struct ufid key_id; /* Digest of the unmasked key. */
    struct nlattr *key, *mask_attrs, *actions;
    size_t key_len, mask_attrs_len, actions_len;
    struct dpif_flow_stats stats;
    uint64_t words[]; /* The masked key: mask->n_words words. */
};

struct sim_flows {
    struct sim_mask **masks; /* In the order in which they came. */
    size_t n_masks, masks_size;
    struct sim_map by_ufid;
    struct sim_flow **slots; /* NULL: free.  A flow keeps its slot, so that a dump sees it once. */
    size_t n_slots, slots_size, n;
    size_t *free_slots;
    size_t n_free, free_size;
};

/* ---- Ports. ---- */

struct sim_port {
    struct sim_node by_name;
    struct dpif_port info;
    uint32_t old_pid; /* Where upcalls still go while 'old_left' is not 0. */
    uint64_t old_left;
};

struct sim_event {
    struct cds_list_head node;
    enum dpif_port_event event;
    struct dpif_port port;
};

/* ---- The datapath and its handles. ---- */

struct sim_pids {
    enum dpif_dispatch mode;
    uint32_t *pids; /* By CPU. */
    size_t n;
};

struct sim_dp {
    struct cds_list_head node; /* In the registry, unless 'gone'. */
    char *name;
    bool gone;         /* Destroyed: requests answer -ENODEV. */
    unsigned int refs; /* Handles, and the registry. */
    enum sim_kernel kernel;
    int ifindex;
    struct cds_list_head handles; /* struct dpif_sim. */

    struct sim_pids pids, old_pids;
    uint64_t old_left; /* Upcalls that still go by 'old_pids'. */

    struct sim_port **ports; /* By number. */
    struct sim_map ports_by_name;
    uint32_t lowest_free; /* No number from 1 to below this is free. */
    struct sim_flows flows;
    struct sim_map conns; /* Of conntrack: dpif-sim-ct.c. */
    struct sim_map meters; /* dpif-sim-meter.c. */

    uint64_t n_hit, n_missed, n_lost, n_mask_hit;
    struct sim_counts counts;
    uint64_t faults[SIM_N_FAULTS];
    sim_output_cb *output_cb;
    void *output_aux;
};

struct dpif_sim {
    struct dpif up;
    struct cds_list_head node; /* In dp->handles. */
    struct sim_dp *dp;
    struct wakeup events_wakeup;
    struct cds_list_head events;
    size_t n_events;
    bool events_lost;
    int spare_dump_fd; /* -1: a dump has it.  Guarded by sim_lock. */
};

struct dpif_session_sim {
    struct dpif_session up;
    char *error; /* Words on the last failure, or NULL. */
    void *buf;   /* What the last flow_get answered. */
    int fd;      /* As much as a socket would take. */
};

static inline struct sim_dp *sim_dp_of(const struct dpif *dpif) { return CONTAINER_OF(dpif, struct dpif_sim, up)->dp; }
static inline struct sim_dp *sim_session_dp(const struct dpif_session *s) { return sim_dp_of(s->dpif); }
static inline unsigned int sim_max_vlans(const struct sim_dp *dp)
{
    return dp->kernel == SIM_KERNEL_OLD ? 1 : FLOW_MAX_VLANS;
}
uint64_t sim_now(void); /* ms. */
/* A descriptor in the place of a socket, which takes no less, and can be had no sooner: or -errno. */
int sim_fd_open(void);
unsigned int sim_thread_cpu(void);
void sim_step(const char *where); /* Without the lock. */
/* Uses one of FAULT's count up; returns whether there was one. */
bool sim_fault_take(struct sim_dp *dp, enum sim_fault fault) REQUIRES(sim_lock);

/* dpif-sim-port.c */
int sim_port_new(struct sim_dp *dp, const char *name, enum dpif_port_type type, uint32_t pid, odp_port_t request,
                 odp_port_t *ret_no, const char **ret_why) REQUIRES(sim_lock);
struct sim_port *sim_port_by_number(const struct sim_dp *dp, odp_port_t no) REQUIRES(sim_lock);
struct sim_port *sim_port_by_name(const struct sim_dp *dp, const char *name) REQUIRES(sim_lock);
struct sim_port *sim_port_in_any(const char *name) REQUIRES(sim_lock); /* In any datapath. */
void sim_port_remove(struct sim_dp *dp, struct sim_port *port, bool notify) REQUIRES(sim_lock);
void sim_ports_clear(struct sim_dp *dp) REQUIRES(sim_lock);
void sim_events_clear(struct dpif_sim *dpif) REQUIRES(sim_lock);
int sim_dpif_port_add(struct dpif_session *, const char *name, enum dpif_port_type, uint32_t upcall_pid,
                      odp_port_t request, odp_port_t *ret_no);
int sim_dpif_port_del(struct dpif_session *, odp_port_t);
int sim_dpif_port_query(struct dpif_session *, const char *name, odp_port_t, struct dpif_port *);
int sim_dpif_port_set_pid(struct dpif_session *, odp_port_t, uint32_t upcall_pid);
int sim_dpif_port_dump(struct dpif_session *, dpif_port_cb *, void *aux);
int sim_dpif_port_events_fd(struct dpif *);
int sim_dpif_port_poll(struct dpif *, dpif_port_event_cb *, void *aux);
void sim_session_error(struct dpif_session *, const char *format, ...) PRINTF_FORMAT(2, 3);

/* dpif-sim-flow.c */
struct sim_flow *sim_flow_lookup(struct sim_dp *dp, const struct flow *key, unsigned int *ret_n_masks)
    REQUIRES(sim_lock);
struct sim_flow *sim_flow_find(struct sim_dp *dp, const struct ufid *ufid, const struct nlattr *key, size_t key_len)
    REQUIRES(sim_lock);
int sim_flow_op(struct sim_dp *dp, struct dpif_op *op) REQUIRES(sim_lock); /* PUT, MOD, DEL, GET. */
void sim_flows_clear(struct sim_dp *dp) REQUIRES(sim_lock);
void sim_flows_uninit(struct sim_dp *dp) REQUIRES(sim_lock);

/* dpif-sim-dump.c */
int sim_dpif_flow_dump_create(struct dpif *, bool terse, struct dpif_flow_dump **);
int sim_dpif_flow_dump_destroy(struct dpif_flow_dump *);
struct dpif_flow_dump_thread *sim_dpif_flow_dump_thread_create(struct dpif_flow_dump *);
void sim_dpif_flow_dump_thread_destroy(struct dpif_flow_dump_thread *);
int sim_dpif_flow_dump_next(struct dpif_flow_dump_thread *, struct dpif_flow *, int max);
/* Describes FLOW in *RET, with its attributes copied to the BUF_SIZE bytes at BUF; returns the bytes taken, or -ENOSPC.
 */
int sim_flow_describe(const struct sim_flow *flow, bool terse, void *buf, size_t buf_size, struct dpif_flow *ret)
    REQUIRES(sim_lock);

/* dpif-sim-check.c: what the kernel refuses.  0 or -EINVAL. */
int sim_check_key(const struct sim_dp *dp, const struct nlattr *key, size_t key_len, const struct nlattr *mask,
                  size_t mask_len);
int sim_check_actions(const struct sim_dp *dp, const struct nlattr *actions, size_t len, int depth);

/* dpif-sim-channel.c */
struct sim_upcall {
    enum dpif_upcall_type type;
    const void *packet;
    size_t packet_len;
    const struct flow *key;
    const struct nlattr *userdata;
    uint64_t hash;
    uint16_t mru;
};
/* Sends U of datapath DP to port id PID without blocking.  -ENOTCONN: PID is 0; -ECONNREFUSED: nobody has it;
 * -EAGAIN: no room (counted for the channel). */
int sim_channel_send(struct sim_dp *dp, uint32_t pid, const struct sim_upcall *u) REQUIRES(sim_lock);
int sim_dpif_channel_open(struct dpif *, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
void sim_dpif_channel_close(struct dpif *, int fd, uint32_t pid);
int sim_dpif_channel_set_rcvbuf(struct dpif *, int fd, size_t rcvbuf);
uint64_t sim_dpif_channel_drops(struct dpif *, int fd);
int sim_dpif_upcall_parse(const struct dpif *, const void *msg, size_t len, struct dpif_upcall *);

/* dpif-sim-ct.c */
/* Has FRAME pass through conntrack as the ct action ACTION says; KEY, its metadata, gets what is known then. */
void sim_ct(struct sim_dp *dp, const void *frame, size_t len, struct flow *key, const struct nlattr *action) REQUIRES(sim_lock);
void sim_ct_flush(struct sim_dp *dp) REQUIRES(sim_lock);

/* dpif-sim-meter.c */
/* Does a packet of LEN bytes pass meter ID?  It is counted. */
bool sim_meter_passes(struct sim_dp *dp, uint32_t id, size_t len) REQUIRES(sim_lock);
void sim_meters_clear(struct sim_dp *dp) REQUIRES(sim_lock);
int sim_dpif_meter_set(struct dpif_session *, uint32_t id, const struct dpif_meter *, struct dpif_meter_stats *);
int sim_dpif_meter_get(struct dpif_session *, uint32_t id, struct dpif_meter_stats *);
int sim_dpif_meter_del(struct dpif_session *, uint32_t id);

/* dpif-sim-packet.c */
struct sim_output {
    odp_port_t port;
    size_t len;
    void *frame;
};
struct sim_outputs {
    struct sim_output *v;
    size_t n, size;
    sim_output_cb *cb; /* Who gets them. */
    void *aux;
};
int sim_execute(struct sim_dp *dp, const struct dpif_op *op, struct sim_outputs *out) REQUIRES(sim_lock);
/* Hands OUT to its callback and frees it.  Without the lock. */
void sim_outputs_deliver(struct sim_outputs *out) EXCLUDES(sim_lock);

#endif
