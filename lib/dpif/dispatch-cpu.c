/* Dispatch per CPU (Linux 5.15 and later): the kernel sends each upcall to the port id that it holds for the CPU on
 * which the packet came up.
 *
 * There is one channel a handler.  The kernel holds an array of port ids, indexed by CPU number, which it replaces as a
 * whole, under RCU.  Ours has an entry for every CPU number that the machine can ever have ("possible"), so CPU hot-add
 * and numbers with holes need nothing; placement (lib/io/placement.h) says which handler serves which CPU.  Ports do
 * not matter here: they are added with port id 0.
 *
 * When the process's CPUs change, a CPU may get another handler.  Both channels go on being read, so nothing is
 * lost; the upcalls that wait in the old channel and later ones in the new may overtake each other, once. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"
#include "lib/io/affinity.h"
#include "lib/io/placement.h"

LOG_MODULE(dispatch_cpu);

/* 4 MiB, doubled by the kernel: about 6,500 small upcalls a channel. */
#define CPU_RCVBUF (4 * 1024 * 1024)

struct dispatch_cpu {
    struct dispatch up;
    struct channel *by_handler[DISPATCH_MAX_HANDLERS];
    struct placement placement; /* As the kernel was told; no CPUs: not yet. */
};

_Static_assert(DISPATCH_MAX_HANDLERS <= PLACEMENT_MAX_HANDLERS, "placement has room for all handlers");

static struct dispatch_cpu *dispatch_cpu_cast(struct dispatch *d) { return CONTAINER_OF(d, struct dispatch_cpu, up); }

/* Tells the kernel the port id of the handler of each CPU. */
static int tell(struct dispatch_cpu *dc, const struct placement *p)
{
    uint32_t *pids = xcalloc(p->n_cpus, sizeof *pids);
    for (unsigned int cpu = 0; cpu < p->n_cpus; cpu++) {
        pids[cpu] = dc->by_handler[p->handler[cpu]]->pid;
    }
    int error = dpif_set_dispatch(dc->up.session, DPIF_DISPATCH_PER_CPU, pids, p->n_cpus);
    free(pids);
    if (!error) {
        dc->placement = *p;
    }
    return error;
}

static int dispatch_cpu_publish(struct dispatch *d)
{
    struct placement p;
    placement_make(affinity_machine(), d->n_handlers, &p);
    return tell(dispatch_cpu_cast(d), &p);
}

static int dispatch_cpu_place(struct dispatch *d)
{
    struct dispatch_cpu *dc = dispatch_cpu_cast(d);
    struct placement p;

    placement_make(affinity_machine(), d->n_handlers, &p);
    if (p.n_cpus == dc->placement.n_cpus && !memcmp(p.handler, dc->placement.handler, sizeof p.handler)) {
        return 0;
    }
    return tell(dc, &p);
}

static int channels_grow(struct dispatch_cpu *dc, unsigned int old)
{
    for (unsigned int h = old; h < dc->up.n_handlers; h++) {
        struct channel *ch;
        int error = channel_open(dc->up.dpif, ODPP_NONE, CPU_RCVBUF, &ch);
        if (!error) {
            error = dispatch_attach(&dc->up, ch, h);
            if (error) {
                channel_close(ch);
            }
        }
        if (error) {
            log_err("cannot open a channel for handler %u (%s)", h, strerror(-error));
            return error;
        }
        dc->by_handler[h] = ch;
    }
    return 0;
}

/* Retires the channels of handlers FROM and above.  The kernel does not know of them, or no longer. */
static void channels_shrink(struct dispatch_cpu *dc, unsigned int from)
{
    for (unsigned int h = from; h < DISPATCH_MAX_HANDLERS && dc->by_handler[h]; h++) {
        dispatch_retire(&dc->up, dc->by_handler[h]);
        dc->by_handler[h] = NULL;
    }
}

static int dispatch_cpu_open(struct dispatch *d, const odp_port_t *ports, size_t n_ports)
{
    return channels_grow(dispatch_cpu_cast(d), 0);
}

static void dispatch_cpu_close(struct dispatch *d) {}

static int dispatch_cpu_resize(struct dispatch *d, unsigned int old)
{
    struct dispatch_cpu *dc = dispatch_cpu_cast(d);
    int error = channels_grow(dc, old);
    if (!error) {
        error = dispatch_cpu_publish(d);
    }
    if (error) {
        channels_shrink(dc, old);
        return error;
    }
    if (d->n_handlers < old) {
        dispatch_kernel_grace_period();
        channels_shrink(dc, d->n_handlers);
    }
    return 0;
}

static int dispatch_cpu_port_prepare(struct dispatch *d, struct dispatch_port *port) { return 0; }

static int dispatch_cpu_port_commit(struct dispatch *d, struct dispatch_port *port, odp_port_t no) { return 0; }

static int dispatch_cpu_port_adopt(struct dispatch *d, odp_port_t no) { return 0; }

static void dispatch_cpu_port_del(struct dispatch *d, odp_port_t no) {}

const struct dispatch_ops dispatch_cpu_ops = {
    .mode = DPIF_DISPATCH_PER_CPU,
    .name = "per-cpu dispatch mode",
    .struct_size = sizeof(struct dispatch_cpu),
    .set_kind = CHANNEL_SET_FEW,
    .open = dispatch_cpu_open,
    .publish = dispatch_cpu_publish,
    .assert_mode = dispatch_cpu_publish,
    .place = dispatch_cpu_place,
    .close = dispatch_cpu_close,
    .port_prepare = dispatch_cpu_port_prepare,
    .port_commit = dispatch_cpu_port_commit,
    .port_adopt = dispatch_cpu_port_adopt,
    .port_del = dispatch_cpu_port_del,
    .resize = dispatch_cpu_resize,
};
