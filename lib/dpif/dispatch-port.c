/* Dispatch per port: the kernel sends each upcall to the port id that it holds for the port at which the packet came
 * in.
 *
 * There is one channel a port, and each channel has one owner, the handler that owns fewest at the time; so there is no
 * herd, and packets of a port keep their order.  When the number of handlers changes, channels move (dispatch.h says
 * how); port ids do not change, so the kernel need not be told.
 *
 * A port's channel exists before the port does: its id is part of the request that adds the port, so not one upcall
 * goes nowhere.
 *
 * The fallback.  Other programs may make the kernel dispatch per CPU (every ovs-dpctl command does, where the kernel can): then it looks
 * at an array of port ids that is not there, and loses every upcall.  So it is given one in advance, which names a channel of no port
 * for every CPU; the kernel keeps it.  What comes in there is sorted by port as everything is.  And the kernel tells of the
 * change, upon which it is told our mode again (assert_mode).
 *
 * The same channel is that of the datapath's local port, unless somebody has made that one a port of theirs: the kernel takes what is executed for
 * no port (a packet-out) for that port's, and where it comes back and misses, the upcall would go nowhere. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"
#include "lib/dpif/rcvbuf-budget.h"
#include "lib/io/affinity.h"

LOG_MODULE(dispatch_port);

struct dispatch_port_mode {
    struct dispatch up;
    struct channel **by_port; /* Index: datapath port number; NULL: none. */
    size_t n_by_port;
    size_t n_owned[DISPATCH_MAX_HANDLERS]; /* Channels by owner. */
    size_t rcvbuf;                         /* Length of each channel's queue, of those in the list. */
    struct channel *fallback;              /* In the list as any other; NULL before open(). */
};

static struct dispatch_port_mode *dispatch_port_cast(struct dispatch *d)
{
    return CONTAINER_OF(d, struct dispatch_port_mode, up);
}

static unsigned int least_loaded(const struct dispatch_port_mode *dp)
{
    unsigned int best = 0;
    for (unsigned int h = 1; h < dp->up.n_handlers; h++) {
        best = dp->n_owned[h] < dp->n_owned[best] ? h : best;
    }
    return best;
}

/* The number of channels has changed: gives each its share of kernel memory, if that has changed.  A channel being
 * prepared is not in the list yet and may be opened with the share of before; one that is retired keeps its queue for
 * the short time that it has left.  Main may do this to a channel in the list, which no handler closes, while its owner
 * reads it. */
static void share_out(struct dispatch_port_mode *dp)
{
    struct dispatch *d = &dp->up;
    /* The fallback has a share as a port has, but takes none from them: it is empty but for moments. */
    size_t share = rcvbuf_budget_share(d->n_channels - (dp->fallback ? 1 : 0), dp->rcvbuf);
    if (share == dp->rcvbuf) {
        return;
    }
    log_dbg("%zu ports: receive queues of %zu KiB each", d->n_channels, share / 1024);
    dp->rcvbuf = share;
    for (size_t i = 0; i < d->n_channels; i++) {
        channel_set_rcvbuf(d->channels[i], share);
    }
}

static void retire(struct dispatch_port_mode *dp, struct channel *ch)
{
    dp->n_owned[ch->owner]--;
    dispatch_retire(&dp->up, ch);
}

static int dispatch_port_mode_prepare(struct dispatch *d, struct dispatch_port *port)
{
    int error = channel_open(d->dpif, ODPP_NONE, dispatch_port_cast(d)->rcvbuf, &port->channel);
    if (!error) {
        port->pid = port->channel->pid;
    }
    return error;
}

/* Makes PORT's channel that of number NO.  *RET_OLD gets the one that NO had, to be retired, or NULL: the number has
 * been used again before we heard that its port was gone. */
static int install(struct dispatch_port_mode *dp, struct dispatch_port *port, odp_port_t no, struct channel **ret_old)
{
    struct dispatch *d = &dp->up;

    if (no.n >= dp->n_by_port) {
        size_t n = MAX(64, ROUND_UP(no.n + 1, 64));
        dp->by_port = xrealloc(dp->by_port, n * sizeof *dp->by_port);
        memset(&dp->by_port[dp->n_by_port], 0, (n - dp->n_by_port) * sizeof *dp->by_port);
        dp->n_by_port = n;
    }
    port->channel->port = no;
    unsigned int owner = least_loaded(dp);
    int error = dispatch_attach(d, port->channel, owner);
    if (error) {
        dispatch_port_abort(d, port);
        return error;
    }
    dp->n_owned[owner]++;
    *ret_old = dp->by_port[no.n];
    dp->by_port[no.n] = port->channel;
    port->channel = NULL;
    return 0;
}

static int dispatch_port_mode_commit(struct dispatch *d, struct dispatch_port *port, odp_port_t no)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    struct channel *old;
    int error = install(dp, port, no, &old);
    if (error) {
        return error;
    }
    if (old) {
        retire(dp, old);
    }
    share_out(dp);
    return 0;
}

static int dispatch_port_mode_adopt(struct dispatch *d, odp_port_t no)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    struct dispatch_port port = { NULL, 0 };
    struct channel *old;

    int error = dispatch_port_mode_prepare(d, &port);
    if (error) {
        return error;
    }
    uint32_t pid = port.pid;
    error = install(dp, &port, no, &old);
    if (error) {
        return error;
    }
    error = dpif_port_set_pid(d->session, no, pid);
    if (error) {
        /* The kernel knows the old one still, if any. */
        retire(dp, dp->by_port[no.n]);
        dp->by_port[no.n] = old;
        return error;
    }
    if (old) {
        retire(dp, old);
    }
    share_out(dp);
    return 0;
}

static void dispatch_port_mode_del(struct dispatch *d, odp_port_t no)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    if (no.n < dp->n_by_port && dp->by_port[no.n]) {
        retire(dp, dp->by_port[no.n]);
        dp->by_port[no.n] = NULL;
        share_out(dp);
    }
}

static int fallback_open(struct dispatch_port_mode *dp)
{
    struct channel *ch;
    int error = channel_open(dp->up.dpif, ODPP_NONE, dp->rcvbuf, &ch);
    if (error) {
        return error;
    }
    unsigned int owner = least_loaded(dp);
    error = dispatch_attach(&dp->up, ch, owner);
    if (error) {
        channel_close(ch);
        return error;
    }
    dp->n_owned[owner]++;
    dp->fallback = ch;
    return 0;
}

/* Leaves the array with the kernel.  It dispatches per CPU for a moment. */
static int fallback_publish(struct dispatch_port_mode *dp)
{
    unsigned int n_cpus = affinity_machine()->n_cpus;
    uint32_t *pids = xcalloc(n_cpus, sizeof *pids);
    for (unsigned int cpu = 0; cpu < n_cpus; cpu++) {
        pids[cpu] = dp->fallback->pid;
    }
    int error = dpif_set_dispatch(dp->up.session, DPIF_DISPATCH_PER_CPU, pids, n_cpus);
    free(pids);
    return error;
}

/* Has the local port's upcalls come to the fallback, if it has no channel. */
static int local_publish(struct dispatch_port_mode *dp)
{
    if (ODPP_LOCAL.n < dp->n_by_port && dp->by_port[ODPP_LOCAL.n]) {
        return 0;
    }
    int error = dpif_port_set_pid(dp->up.session, ODPP_LOCAL, dp->fallback->pid);
    if (error) {
        log_err("cannot tell the kernel the channel of the local port (%s)", strerror(-error));
    }
    return error;
}

static int dispatch_port_mode_assert(struct dispatch *d)
{
    return dpif_set_dispatch(d->session, DPIF_DISPATCH_PER_PORT, NULL, 0);
}

static int dispatch_port_mode_open(struct dispatch *d, const odp_port_t *ports, size_t n_ports)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    dp->rcvbuf = rcvbuf_budget_share(n_ports, RCVBUF_MAX);
    int error = fallback_open(dp);
    if (error) {
        log_err("cannot open the fallback channel (%s)", strerror(-error));
        return error;
    }
    for (size_t i = 0; i < n_ports; i++) {
        struct dispatch_port port = { NULL, 0 };
        struct channel *old = NULL;
        error = dispatch_port_mode_prepare(d, &port);
        if (!error) {
            error = install(dp, &port, ports[i], &old);
        }
        if (old) {
            retire(dp, old);
        }
        if (error) {
            log_err("cannot open a channel for port %u (%s)", ports[i].n, strerror(-error));
            return error;
        }
    }
    return 0;
}

/* Until the last step the kernel does not look at the ports' ids, if it dispatches per CPU now. */
static int dispatch_port_mode_publish(struct dispatch *d)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    for (size_t i = 0; i < dp->n_by_port; i++) {
        odp_port_t no = { i };
        int error = dp->by_port[i] ? dpif_port_set_pid(d->session, no, dp->by_port[i]->pid) : 0;
        if (error == -ENODEV || error == -ENOENT) {
            continue; /* It went meanwhile; its event is on the way. */
        }
        if (error) {
            log_err("cannot tell the kernel the channel of port %zu (%s)", i, strerror(-error));
            return error;
        }
    }
    int error = local_publish(dp);
    if (!error && dpif_features(d->dpif)->per_cpu) {
        error = fallback_publish(dp);
    }
    return error ? error : dispatch_port_mode_assert(d);
}

static void dispatch_port_mode_close(struct dispatch *d)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    free(dp->by_port);
    dp->by_port = NULL;
    dp->n_by_port = 0;
}

/* Spreads the channels evenly over the handlers, moving as few as that takes. */
static int dispatch_port_mode_resize(struct dispatch *d, unsigned int old)
{
    size_t *n = dispatch_port_cast(d)->n_owned;
    size_t most = (d->n_channels + d->n_handlers - 1) / d->n_handlers;
    unsigned int to = 0;

    for (size_t i = 0; i < d->n_channels; i++) {
        unsigned int from = d->channels[i]->owner;
        if (from < d->n_handlers && n[from] <= most) {
            continue;
        }
        while (to == from || n[to] >= most) {
            to = (to + 1) % d->n_handlers;
        }
        n[from]--;
        n[to]++;
        dispatch_move(d, d->channels[i], to);
    }
    return 0;
}

static uint32_t dispatch_port_mode_pid(const struct dispatch *d, odp_port_t no)
{
    const struct dispatch_port_mode *dp = CONTAINER_OF(d, struct dispatch_port_mode, up);

    return no.n < dp->n_by_port && dp->by_port[no.n] ? dp->by_port[no.n]->pid : 0;
}

const struct dispatch_ops dispatch_port_ops = {
    .mode = DPIF_DISPATCH_PER_PORT,
    .name = "per-vport dispatch mode",
    .struct_size = sizeof(struct dispatch_port_mode),
    .set_kind = CHANNEL_SET_MANY,
    .open = dispatch_port_mode_open,
    .publish = dispatch_port_mode_publish,
    .assert_mode = dispatch_port_mode_assert,
    .close = dispatch_port_mode_close,
    .port_prepare = dispatch_port_mode_prepare,
    .port_commit = dispatch_port_mode_commit,
    .port_adopt = dispatch_port_mode_adopt,
    .port_del = dispatch_port_mode_del,
    .port_pid = dispatch_port_mode_pid,
    .resize = dispatch_port_mode_resize,
};
