/* Dispatch per port: the kernel sends each upcall to the port id that it holds for the port at which the packet came
 * in.
 *
 * There is one channel a port, and each channel has one owner, the handler that owns fewest at the time; so there is no
 * herd, and packets of a port keep their order.  When the number of handlers changes, channels move (dispatch.h says
 * how); port ids do not change, so the kernel need not be told.
 *
 * A port's channel exists before the port does: its id is part of the request that adds the port, so not one upcall
 * goes nowhere. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"

LOG_MODULE(dispatch_port);

/* 256 KiB, doubled by the kernel: about 400 small upcalls that wait while the owner is busy with another port.  (A
 * budget that all ports share would serve one busy port better; 4 MiB for each would let 2,000 ports take 16 GB.) */
#define PORT_RCVBUF (256 * 1024)

struct dispatch_port_mode {
    struct dispatch up;
    struct channel **by_port; /* Index: datapath port number; NULL: none. */
    size_t n_by_port;
};

static struct dispatch_port_mode *dispatch_port_cast(struct dispatch *d)
{
    return CONTAINER_OF(d, struct dispatch_port_mode, up);
}

static unsigned int least_loaded(const struct dispatch *d)
{
    size_t n[DISPATCH_MAX_HANDLERS] = { 0 };
    unsigned int best = 0;
    for (size_t i = 0; i < d->n_channels; i++) {
        n[d->channels[i]->owner]++;
    }
    for (unsigned int h = 1; h < d->n_handlers; h++) {
        best = n[h] < n[best] ? h : best;
    }
    return best;
}

static int dispatch_port_mode_prepare(struct dispatch *d, struct dispatch_port *port)
{
    int error = channel_open(d->dpif, ODPP_NONE, PORT_RCVBUF, &port->channel);
    if (!error) {
        port->pid = port->channel->pid;
    }
    return error;
}

/* Makes PORT's channel that of number NO.  *RET_OLD gets the one that NO had, to be retired, or NULL: the number has been used
 * again before we heard that its port was gone. */
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
    int error = dispatch_attach(d, port->channel, least_loaded(d));
    if (error) {
        dispatch_port_abort(d, port);
        return error;
    }
    *ret_old = dp->by_port[no.n];
    dp->by_port[no.n] = port->channel;
    port->channel = NULL;
    return 0;
}

static int dispatch_port_mode_commit(struct dispatch *d, struct dispatch_port *port, odp_port_t no)
{
    struct channel *old;
    int error = install(dispatch_port_cast(d), port, no, &old);
    if (!error && old) {
        dispatch_retire(d, old);
    }
    return error;
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
        dispatch_retire(d, dp->by_port[no.n]);
        dp->by_port[no.n] = old;
        return error;
    }
    if (old) {
        dispatch_retire(d, old);
    }
    return 0;
}

static void dispatch_port_mode_del(struct dispatch *d, odp_port_t no)
{
    struct dispatch_port_mode *dp = dispatch_port_cast(d);
    if (no.n < dp->n_by_port && dp->by_port[no.n]) {
        dispatch_retire(d, dp->by_port[no.n]);
        dp->by_port[no.n] = NULL;
    }
}

static int dispatch_port_mode_open(struct dispatch *d, const odp_port_t *ports, size_t n_ports)
{
    for (size_t i = 0; i < n_ports; i++) {
        struct dispatch_port port = { NULL, 0 };
        int error = dispatch_port_mode_prepare(d, &port);
        if (!error) {
            error = dispatch_port_mode_commit(d, &port, ports[i]);
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
    return dpif_set_dispatch(d->session, DPIF_DISPATCH_PER_PORT, NULL, 0);
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
    size_t n[DISPATCH_MAX_HANDLERS] = { 0 };
    size_t most = (d->n_channels + d->n_handlers - 1) / d->n_handlers;

    for (size_t i = 0; i < d->n_channels; i++) {
        n[d->channels[i]->owner]++;
    }
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

const struct dispatch_ops dispatch_port_ops = {
    .mode = DPIF_DISPATCH_PER_PORT,
    .name = "per-vport dispatch mode",
    .struct_size = sizeof(struct dispatch_port_mode),
    .open = dispatch_port_mode_open,
    .publish = dispatch_port_mode_publish,
    .close = dispatch_port_mode_close,
    .port_prepare = dispatch_port_mode_prepare,
    .port_commit = dispatch_port_mode_commit,
    .port_adopt = dispatch_port_mode_adopt,
    .port_del = dispatch_port_mode_del,
    .resize = dispatch_port_mode_resize,
};
