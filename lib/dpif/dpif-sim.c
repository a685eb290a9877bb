/* The simulated datapath: a provider that behaves as the openvswitch kernel module does, in memory.
 *
 * Purpose: the whole daemon, and its parts under a seeded scheduler, without privileges, and with what no machine here
 * has: thousands of ports, any number of CPUs, a kernel that answers late, wrongly, or not at all.
 *
 * Owners: the registry owns the datapaths, which outlive the handles (struct dpif) that are open on them; the last of
 * both frees.  sim_reset() and dpif_destroy() take a datapath out of the registry and mark it 'gone': its handles
 * get -ENODEV from then on.
 *
 * Threads: any.  One lock of rank SIM, a leaf, guards everything: the sim is a measure for what stands above
 * it, not for speed.  What calls out (outputs, port dumps, events, steps) does so without it.
 *
 * Accepted races: outputs of packets that two threads handle at once may be delivered in either order. */
#include <config.h>

#include "lib/dpif/dpif-sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"

struct lock sim_lock = LOCK_INITIALIZER(RANK_SIM);

static CDS_LIST_HEAD(sim_dps); /* struct sim_dp, guarded by sim_lock. */
static enum sim_kernel sim_kernel GUARDED_BY(sim_lock);
static int last_dp_ifindex GUARDED_BY(sim_lock) = 50;
static uint64_t sim_msec; /* Relaxed; 0: the real clock. */
static _Thread_local unsigned int thread_cpu;
static sim_step_cb *step_cb GUARDED_BY(sim_lock);
static void *step_aux GUARDED_BY(sim_lock);

/* ---- Clock, CPU, steps, faults. ---- */

uint64_t sim_now(void)
{
    uint64_t msec = __atomic_load_n(&sim_msec, __ATOMIC_RELAXED);
    return msec ? msec : clock_msec();
}

void sim_set_time(uint64_t msec) { __atomic_store_n(&sim_msec, msec, __ATOMIC_RELAXED); }

unsigned int sim_thread_cpu(void) { return thread_cpu; }

void sim_set_thread_cpu(unsigned int cpu) { thread_cpu = cpu; }

void sim_set_step_cb(sim_step_cb *cb, void *aux)
{
    lock_acquire(&sim_lock);
    step_cb = cb;
    step_aux = aux;
    lock_release(&sim_lock);
}

void sim_step(const char *where)
{
    lock_acquire(&sim_lock);
    sim_step_cb *cb = step_cb;
    void *aux = step_aux;
    lock_release(&sim_lock);
    if (cb) {
        cb(where, aux);
    }
}

void sim_set_fault(struct dpif *dpif, enum sim_fault fault, uint64_t arg)
{
    lock_acquire(&sim_lock);
    sim_dp_of(dpif)->faults[fault] = arg;
    lock_release(&sim_lock);
}

bool sim_fault_take(struct sim_dp *dp, enum sim_fault fault)
{
    if (!dp->faults[fault]) {
        return false;
    }
    dp->faults[fault]--;
    return true;
}

void sim_set_kernel(enum sim_kernel kernel)
{
    lock_acquire(&sim_lock);
    sim_kernel = kernel;
    lock_release(&sim_lock);
}

void sim_set_output_cb(struct dpif *dpif, sim_output_cb *cb, void *aux)
{
    struct sim_dp *dp = sim_dp_of(dpif);

    lock_acquire(&sim_lock);
    dp->output_cb = cb;
    dp->output_aux = aux;
    lock_release(&sim_lock);
}

void sim_get_counts(struct dpif *dpif, struct sim_counts *ret_counts)
{
    struct sim_dp *dp = sim_dp_of(dpif);

    lock_acquire(&sim_lock);
    *ret_counts = dp->counts;
    ret_counts->dispatch = dp->pids.mode;
    ret_counts->n_pids = dp->pids.n;
    lock_release(&sim_lock);
}

int sim_fd_open(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* ---- Datapaths. ---- */

static struct sim_dp *sim_dp_find(const char *name) REQUIRES(sim_lock)
{
    struct sim_dp *dp;

    cds_list_for_each_entry (dp, &sim_dps, node) {
        if (!strcmp(dp->name, name)) {
            return dp;
        }
    }
    return NULL;
}

struct sim_port *sim_port_in_any(const char *name)
{
    struct sim_port *port = NULL;
    struct sim_dp *dp;

    cds_list_for_each_entry (dp, &sim_dps, node) {
        port = port ? port : sim_port_by_name(dp, name);
    }
    return port;
}

static void sim_dp_unref(struct sim_dp *dp) REQUIRES(sim_lock)
{
    if (--dp->refs) {
        return;
    }
    sim_flows_uninit(dp);
    sim_ct_flush(dp);
    sim_meters_clear(dp);
    sim_ports_clear(dp);
    free(dp->ports);
    free(dp->pids.pids);
    free(dp->old_pids.pids);
    free(dp->name);
    free(dp);
}

/* Makes datapath NAME, with its local port.  Returns NULL, with a reason in *RET_WHY, if the name will not do. */
static struct sim_dp *sim_dp_create(const char *name, int *ret_error, const char **ret_why) REQUIRES(sim_lock)
{
    struct sim_dp *dp = xzalloc(sizeof *dp);
    odp_port_t no;

    dp->name = xstrdup(name);
    dp->refs = 1;
    dp->kernel = sim_kernel;
    dp->ifindex = ++last_dp_ifindex;
    dp->lowest_free = 1;
    dp->ports = xcalloc(SIM_MAX_PORTS, sizeof *dp->ports);
    CDS_INIT_LIST_HEAD(&dp->handles);
    *ret_error = sim_port_new(dp, name, DPIF_PORT_INTERNAL, 0, ODPP_LOCAL, &no, ret_why);
    if (*ret_error) {
        sim_dp_unref(dp);
        return NULL;
    }
    cds_list_add_tail(&dp->node, &sim_dps);
    return dp;
}

/* Takes DP out of the registry: ports and flows go, handles stay, to be told -ENODEV. */
static void sim_dp_remove(struct sim_dp *dp) REQUIRES(sim_lock)
{
    cds_list_del(&dp->node);
    dp->gone = true;
    sim_flows_clear(dp);
    sim_ports_clear(dp);
    sim_dp_unref(dp);
}

void sim_reset(void)
{
    struct sim_dp *dp, *next;

    lock_acquire(&sim_lock);
    cds_list_for_each_entry_safe(dp, next, &sim_dps, node) { sim_dp_remove(dp); }
    sim_kernel = SIM_KERNEL_CURRENT;
    step_cb = NULL;
    lock_release(&sim_lock);
    sim_set_time(0);
}

/* ---- Handles and sessions. ---- */

static void sim_features_init(struct dpif_features *f, const struct sim_dp *dp)
{
    bool old = dp->kernel == SIM_KERNEL_OLD;

    f->per_cpu = dp->kernel == SIM_KERNEL_CURRENT;
    f->per_cpu_why = f->per_cpu ? NULL : "the simulated kernel is older than Linux 5.15";
    f->ufid = !old;
    f->recirc = true;
    f->ct_state = f->ct_zone = f->ct_mark = f->ct_label = f->ct_orig_tuple = f->ct_orig_tuple6 = f->ct_nat = f->ct_clear = !old;
    f->trunc = f->clone = !old;
    f->drop_action = f->upcall_stats = dp->kernel == SIM_KERNEL_CURRENT;
    f->max_vlans = sim_max_vlans(dp);
    f->max_meters = old ? 0 : SIM_MAX_METERS;
    f->max_meter_bands = old ? 0 : SIM_MAX_BANDS;
}

static int sim_open(const char *name, struct dpif **ret_dpif, char **ret_error)
{
    struct dpif_sim *dpif = xzalloc(sizeof *dpif);
    const char *why = "out of file descriptors";
    int error = wakeup_init(&dpif->events_wakeup);

    CDS_INIT_LIST_HEAD(&dpif->events);
    dpif->spare_dump_fd = error ? -1 : sim_fd_open();
    if (!error && dpif->spare_dump_fd < 0) {
        error = dpif->spare_dump_fd;
        wakeup_uninit(&dpif->events_wakeup);
    }
    if (!error) {
        lock_acquire(&sim_lock);
        struct sim_dp *dp = sim_dp_find(name);
        if (!dp) {
            dp = sim_dp_create(name, &error, &why);
        }
        if (dp) {
            dp->refs++;
            dpif->dp = dp;
            cds_list_add_tail(&dpif->node, &dp->handles);
            sim_features_init(&dpif->up.features, dp);
        }
        lock_release(&sim_lock);
        if (error) {
            wakeup_uninit(&dpif->events_wakeup);
            close(dpif->spare_dump_fd);
        }
    }
    if (error) {
        if (ret_error) {
            *ret_error = xasprintf("simulated datapath \"%s\" cannot be made: %s", name, why);
        }
        free(dpif);
        return error;
    }
    dpif->up.ops = &dpif_sim_ops;
    dpif->up.name = xstrdup(name);
    *ret_dpif = &dpif->up;
    return 0;
}

static void sim_close(struct dpif *dpif_)
{
    struct dpif_sim *dpif = CONTAINER_OF(dpif_, struct dpif_sim, up);

    lock_acquire(&sim_lock);
    sim_events_clear(dpif);
    cds_list_del(&dpif->node);
    sim_dp_unref(dpif->dp);
    lock_release(&sim_lock);
    wakeup_uninit(&dpif->events_wakeup);
    if (dpif->spare_dump_fd >= 0) {
        close(dpif->spare_dump_fd);
    }
    free(dpif->up.name);
    free(dpif);
}

static int sim_enumerate(dpif_dp_cb *cb, void *aux)
{
    char **names = NULL;
    size_t n = 0;
    struct sim_dp *dp;

    lock_acquire(&sim_lock);
    cds_list_for_each_entry (dp, &sim_dps, node) {
        names = xrealloc(names, (n + 1) * sizeof *names);
        names[n++] = xstrdup(dp->name);
    }
    lock_release(&sim_lock);
    for (size_t i = 0; i < n; i++) {
        cb("sim", names[i], aux);
        free(names[i]);
    }
    free(names);
    return 0;
}

static int sim_session_open(struct dpif *dpif, struct dpif_session **ret_session)
{
    int fd = sim_fd_open();
    if (fd < 0) {
        return fd;
    }
    struct dpif_session_sim *s = xzalloc(sizeof *s);
    s->up.dpif = dpif;
    s->fd = fd;
    *ret_session = &s->up;
    return 0;
}

static void sim_session_close(struct dpif_session *s_)
{
    if (s_) {
        struct dpif_session_sim *s = CONTAINER_OF(s_, struct dpif_session_sim, up);
        close(s->fd);
        free(s->error);
        free(s->buf);
        free(s);
    }
}

/* Keeps what FORMAT says as the words on S's last failure; NULL: there was none. */
void sim_session_error(struct dpif_session *s_, const char *format, ...)
{
    struct dpif_session_sim *s = CONTAINER_OF(s_, struct dpif_session_sim, up);
    va_list args;

    free(s->error);
    s->error = NULL;
    if (format) {
        va_start(args, format);
        s->error = xvasprintf(format, args);
        va_end(args);
    }
}

static const char *sim_dpif_session_error(const struct dpif_session *s)
{
    return CONTAINER_OF(s, const struct dpif_session_sim, up)->error;
}

/* ---- Requests about the datapath. ---- */

static int sim_get_stats(struct dpif_session *s, struct dpif_stats *ret_stats)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    lock_acquire(&sim_lock);
    if (dp->gone) {
        error = -ENODEV;
    } else {
        *ret_stats = (struct dpif_stats){
            .n_hit = dp->n_hit,
            .n_missed = dp->n_missed,
            .n_lost = dp->n_lost,
            .n_flows = dp->flows.n,
            .n_mask_hit = dp->n_mask_hit,
            .n_masks = dp->flows.n_masks,
            .masks_cache_size = UINT32_MAX,
        };
    }
    lock_release(&sim_lock);
    return error;
}

static int sim_destroy(struct dpif_session *s)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    sim_step("destroy");
    sim_session_error(s, NULL);
    lock_acquire(&sim_lock);
    if (dp->gone) {
        error = -ENODEV;
    } else {
        sim_dp_remove(dp);
    }
    lock_release(&sim_lock);
    return error;
}

static int sim_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids)
{
    struct sim_dp *dp = sim_session_dp(s);
    bool per_cpu = mode == DPIF_DISPATCH_PER_CPU;
    int error = 0;

    sim_step("set_dispatch");
    sim_session_error(s, NULL);
    lock_acquire(&sim_lock);
    if (dp->gone) {
        error = -ENODEV;
    } else if (per_cpu && dp->kernel != SIM_KERNEL_CURRENT) {
        error = -EOPNOTSUPP;
    } else if (per_cpu && !n_pids) {
        error = -EINVAL;
    } else {
        free(dp->old_pids.pids);
        dp->old_pids = dp->pids;
        dp->old_left = dp->faults[SIM_FAULT_SLOW_PIDS];
        dp->pids = (struct sim_pids){ .mode = mode };
        if (per_cpu) {
            dp->pids.pids = xmemdup(pids, n_pids * sizeof *pids);
            dp->pids.n = n_pids;
        }
        dp->counts.n_set_dispatch++;
    }
    lock_release(&sim_lock);
    return error;
}

/* ---- Requests about flows and packets. ---- */

static const char *op_name(enum dpif_op_type type)
{
    switch (type) {
    case DPIF_OP_FLOW_PUT:
        return "flow_put";
    case DPIF_OP_FLOW_MOD:
        return "flow_mod";
    case DPIF_OP_FLOW_DEL:
        return "flow_del";
    case DPIF_OP_FLOW_GET:
        return "flow_get";
    case DPIF_OP_EXECUTE:
        return "execute";
    }
    return "unknown";
}

static void sim_operate_one(struct sim_dp *dp, struct dpif_op *op) EXCLUDES(sim_lock)
{
    struct sim_outputs out = { .n = 0 };

    sim_step(op_name(op->type));
    lock_acquire(&sim_lock);
    if (dp->gone) {
        op->error = -ENODEV;
    } else if (op->type == DPIF_OP_EXECUTE) {
        op->error = sim_execute(dp, op, &out);
    } else {
        op->error = sim_flow_op(dp, op);
    }
    if (sim_fault_take(dp, SIM_FAULT_REPLY_LOST)) {
        op->error = -ENOBUFS;
    }
    lock_release(&sim_lock);
    sim_outputs_deliver(&out);
}

static void sim_operate(struct dpif_session *s, struct dpif_op *ops[], size_t n_ops)
{
    for (size_t i = 0; i < n_ops; i++) {
        sim_operate_one(sim_session_dp(s), ops[i]);
    }
}

static int sim_flow_get(struct dpif_session *s_, const struct ufid *ufid, const struct nlattr *key, size_t key_len,
                        struct dpif_flow *ret_flow)
{
    struct dpif_session_sim *s = CONTAINER_OF(s_, struct dpif_session_sim, up);
    struct sim_dp *dp = sim_session_dp(s_);
    int error = -ENOENT;

    sim_step("flow_get");
    lock_acquire(&sim_lock);
    struct sim_flow *flow = dp->gone ? NULL : sim_flow_find(dp, ufid, key, key_len);
    if (dp->gone) {
        error = -ENODEV;
    } else if (flow) {
        size_t size = NLMSG_ALIGN(flow->key_len) + NLMSG_ALIGN(flow->mask_attrs_len) + NLMSG_ALIGN(flow->actions_len);
        free(s->buf);
        s->buf = xmalloc(size);
        error = MIN(0, sim_flow_describe(flow, false, s->buf, size, ret_flow));
    }
    lock_release(&sim_lock);
    return error;
}

static int sim_flow_flush(struct dpif_session *s)
{
    struct sim_dp *dp = sim_session_dp(s);

    sim_step("flow_flush");
    lock_acquire(&sim_lock);
    int error = dp->gone ? -ENODEV : 0;
    if (!error) {
        sim_flows_clear(dp);
    }
    lock_release(&sim_lock);
    return error;
}

const struct dpif_ops dpif_sim_ops = {
    .type = "sim",
    .open = sim_open,
    .close = sim_close,
    .enumerate = sim_enumerate,
    .session_open = sim_session_open,
    .session_close = sim_session_close,
    .session_error = sim_dpif_session_error,
    .get_stats = sim_get_stats,
    .destroy = sim_destroy,
    .set_dispatch = sim_set_dispatch,
    .port_add = sim_dpif_port_add,
    .port_del = sim_dpif_port_del,
    .port_query = sim_dpif_port_query,
    .port_set_pid = sim_dpif_port_set_pid,
    .port_dump = sim_dpif_port_dump,
    .port_events_fd = sim_dpif_port_events_fd,
    .port_poll = sim_dpif_port_poll,
    .operate = sim_operate,
    .flow_get = sim_flow_get,
    .flow_flush = sim_flow_flush,
    .flow_dump_create = sim_dpif_flow_dump_create,
    .flow_dump_destroy = sim_dpif_flow_dump_destroy,
    .flow_dump_thread_create = sim_dpif_flow_dump_thread_create,
    .flow_dump_thread_destroy = sim_dpif_flow_dump_thread_destroy,
    .flow_dump_next = sim_dpif_flow_dump_next,
    .meter_set = sim_dpif_meter_set,
    .meter_get = sim_dpif_meter_get,
    .meter_del = sim_dpif_meter_del,
    .channel_open = sim_dpif_channel_open,
    .channel_close = sim_dpif_channel_close,
    .channel_set_rcvbuf = sim_dpif_channel_set_rcvbuf,
    .channel_drops = sim_dpif_channel_drops,
    .upcall_parse = sim_dpif_upcall_parse,
};
