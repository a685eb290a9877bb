/* Dumps of the simulated datapath's flows.
 *
 * A dump is a cursor over the slots of the flow table, which flows keep as long as they live: so a dump reports
 * once each flow that was there before it began and still is when the cursor passes, whatever else is added and
 * removed.  The kernel promises less (it repeats and omits when it rehashes); that is to be had by fault.
 *
 * The threads of a dump share its cursor, under sim_lock.  What they get is copied into a buffer of each. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"
#include "lib/nl/attrbuf.h"

struct sim_dump {
    struct dpif_flow_dump up;
    bool terse;
    int fd;
    size_t cursor GUARDED_BY(sim_lock); /* The next slot. */
    bool repeat GUARDED_BY(sim_lock);   /* The last flow is reported once more. */
    int error GUARDED_BY(sim_lock);     /* The first, or 0. */
};

struct sim_dump_thread {
    struct dpif_flow_dump_thread up;
    uint64_t buf[DPIF_DUMP_BUF_SIZE / sizeof(uint64_t)];
};

int sim_dpif_flow_dump_create(struct dpif *dpif, bool terse, struct dpif_flow_dump **ret_dump)
{
    struct dpif_sim *s = CONTAINER_OF(dpif, struct dpif_sim, up);
    int fd = -1;

    lock_acquire(&sim_lock);
    bool gone = s->dp->gone;
    if (!gone) {
        fd = s->spare_dump_fd;
        s->spare_dump_fd = -1;
    }
    lock_release(&sim_lock);
    if (gone) {
        return -ENODEV;
    }
    fd = fd < 0 ? sim_fd_open() : fd;
    if (fd < 0) {
        return fd;
    }
    struct sim_dump *dump = xzalloc(sizeof *dump);
    dump->up.dpif = dpif;
    dump->terse = terse;
    dump->fd = fd;
    *ret_dump = &dump->up;
    return 0;
}

int sim_dpif_flow_dump_destroy(struct dpif_flow_dump *dump_)
{
    struct sim_dump *dump = CONTAINER_OF(dump_, struct sim_dump, up);
    struct dpif_sim *s = CONTAINER_OF(dump_->dpif, struct dpif_sim, up);
    int fd = dump->fd;

    lock_acquire(&sim_lock);
    int error = dump->error;
    if (s->spare_dump_fd < 0) {
        s->spare_dump_fd = fd;
        fd = -1;
    }
    lock_release(&sim_lock);
    if (fd >= 0) {
        close(fd);
    }
    free(dump);
    return error;
}

struct dpif_flow_dump_thread *sim_dpif_flow_dump_thread_create(struct dpif_flow_dump *dump)
{
    struct sim_dump_thread *t = xmalloc(sizeof *t);
    t->up.dump = dump;
    return &t->up;
}

void sim_dpif_flow_dump_thread_destroy(struct dpif_flow_dump_thread *t)
{
    if (t) {
        free(CONTAINER_OF(t, struct sim_dump_thread, up));
    }
}

/* Copies LEN bytes of attributes to the end of what is used of BUF; sets *RET to them. */
static void sim_copy_attrs(char *buf, size_t *used, const struct nlattr *attrs, size_t len, const struct nlattr **ret,
                           size_t *ret_len)
{
    if (len) {
        memcpy(buf + *used, attrs, len);
    }
    *ret = (const struct nlattr *) (buf + *used);
    *ret_len = len;
    *used += NLMSG_ALIGN(len);
}

int sim_flow_describe(const struct sim_flow *flow, bool terse, void *buf, size_t buf_size, struct dpif_flow *ret)
{
    size_t used = 0;
    size_t need = NLMSG_ALIGN(flow->key_len) + NLMSG_ALIGN(flow->mask_attrs_len);
    struct dpif_flow f = { .has_ufid = flow->has_ufid, .ufid = flow->ufid, .stats = flow->stats };

    if (!terse || !flow->has_ufid) {
        if (need > buf_size) {
            return -ENOSPC;
        }
        sim_copy_attrs(buf, &used, flow->key, flow->key_len, &f.key, &f.key_len);
    }
    if (!terse) {
        sim_copy_attrs(buf, &used, flow->mask_attrs, flow->mask_attrs_len, &f.mask, &f.mask_len);
        if (NLMSG_ALIGN(flow->actions_len) > buf_size - used) {
            f.actions_omitted = true;
        } else {
            sim_copy_attrs(buf, &used, flow->actions, flow->actions_len, &f.actions, &f.actions_len);
        }
    }
    *ret = f;
    return used;
}

/* Moves DUMP's cursor to a flow that is to be reported, and returns it, or NULL at the end. */
static struct sim_flow *sim_dump_seek(struct sim_dp *dp, struct sim_dump *dump) REQUIRES(sim_lock)
{
    for (; dump->cursor < dp->flows.n_slots; dump->cursor++) {
        struct sim_flow *flow = dp->flows.slots[dump->cursor];
        if (flow && (dump->repeat || !sim_fault_take(dp, SIM_FAULT_DUMP_OMIT))) {
            return flow;
        }
        dump->repeat = false;
    }
    return NULL;
}

static int sim_dump_fill(struct sim_dp *dp, struct sim_dump *dump, struct sim_dump_thread *t, struct dpif_flow *flows,
                         int max) REQUIRES(sim_lock)
{
    struct sim_flow *flow;
    size_t used = 0;
    int n = 0;

    while (n < max && (flow = sim_dump_seek(dp, dump)) != NULL) {
        struct dpif_flow f;
        int len = sim_flow_describe(flow, dump->terse, (char *) t->buf + used, sizeof t->buf - used, &f);
        if (n && (len < 0 || f.actions_omitted)) {
            break; /* The next call, with an empty buffer, may have room. */
        } else if (len >= 0) {
            flows[n++] = f;
            used += len;
        }
        dump->repeat = !dump->repeat && sim_fault_take(dp, SIM_FAULT_DUMP_REPEAT);
        dump->cursor += !dump->repeat;
    }
    return n;
}

int sim_dpif_flow_dump_next(struct dpif_flow_dump_thread *t_, struct dpif_flow *flows, int max)
{
    struct sim_dump_thread *t = CONTAINER_OF(t_, struct sim_dump_thread, up);
    struct sim_dump *dump = CONTAINER_OF(t_->dump, struct sim_dump, up);
    struct sim_dp *dp = sim_dp_of(dump->up.dpif);
    int n;

    sim_step("flow_dump_next");
    lock_acquire(&sim_lock);
    if (dp->gone) {
        n = -ENODEV;
    } else if (sim_fault_take(dp, SIM_FAULT_DUMP_FAIL)) {
        n = -EINTR;
    } else {
        n = sim_dump_fill(dp, dump, t, flows, max);
    }
    if (n < 0 && !dump->error) {
        dump->error = n;
    }
    lock_release(&sim_lock);
    return n;
}
