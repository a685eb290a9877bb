/* See dispatch.h for what this is, its threads and its hand-overs.  This file holds what both strategies share:
 * the handlers, the commands to them, the list of channels. */
#include <config.h>

#include "lib/dpif/dispatch.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"

LOG_MODULE(dispatch);

COUNTER_DEFINE(dispatch_wait);
COUNTER_DEFINE(dispatch_move);
COUNTER_DEFINE(dispatch_retire);

/* Channels taken from one wait when a handler ends. */
#define N_READY 64
/* Longest that an ending handler reads on from channels that the kernel still sends to. */
#define DRAIN_MS 1000

/* ---- Handlers. ---- */

static int handler_make(const struct dispatch *d, struct dispatch_handler **ret_handler)
{
    struct dispatch_handler *h = xzalloc(sizeof *h);
    int error = channel_set_init(&h->set, d->ops->set_kind);

    if (error) {
        free(h);
        return error;
    }
    sleeper_init(&h->sleeper);
    lock_init(&h->lock, RANK_IO);
    h->commands_tail = &h->commands;
    *ret_handler = h;
    return 0;
}

/* The handler's thread has ended and has carried out all its commands. */
static void handler_free(struct dispatch *d, struct dispatch_handler *h)
{
    for (size_t i = 0; i < h->n_retiring; i++) {
        dispatch_loss_close(d, h->retiring[i]);
    }
    free(h->retiring);
    for (struct dispatch_command *c = h->commands, *next; c; c = next) {
        next = c->next;
        if (c->type == COMMAND_RETIRE) {
            dispatch_loss_close(d, c->channel); /* Only when no thread ever served H. */
        }
        free(c);
    }
    channel_set_uninit(&h->set);
    lock_uninit(&h->lock);
    free(h);
}

static int handlers_grow(struct dispatch *d, unsigned int n)
{
    for (unsigned int i = d->n_made; i < n; i++) {
        int error = handler_make(d, &d->handlers[i]);
        if (error) {
            return error;
        }
        d->n_made++;
    }
    return 0;
}

void dispatch_trim(struct dispatch *d)
{
    while (d->n_made > d->n_handlers) {
        handler_free(d, d->handlers[--d->n_made]);
        d->handlers[d->n_made] = NULL;
    }
}

/* ---- Opening and closing. ---- */

static const struct dispatch_ops *ops_of_mode(enum dpif_dispatch mode)
{
    switch (mode) {
    case DPIF_DISPATCH_PER_PORT:
        return &dispatch_port_ops;
    case DPIF_DISPATCH_PER_CPU:
        return &dispatch_cpu_ops;
    }
    abort();
}

int dispatch_prepare(struct dpif *dpif, struct dpif_session *session, enum dpif_dispatch mode, unsigned int n_handlers,
                     const odp_port_t *ports, size_t n_ports, struct dispatch **ret_dispatch)
{
    const struct dispatch_ops *ops = ops_of_mode(mode);
    struct dispatch *d = xzalloc(ops->struct_size);

    d->ops = ops;
    d->dpif = dpif;
    d->session = session;
    d->n_handlers = n_handlers;
    lock_init(&d->list_lock, RANK_IO);
    int error = handlers_grow(d, n_handlers);
    if (!error) {
        error = ops->open(d, ports, n_ports);
    }
    if (error) {
        dispatch_close(d);
        return error;
    }
    d->has_threads = true;
    *ret_dispatch = d;
    return 0;
}

int dispatch_publish(struct dispatch *d) { return d->ops->publish(d); }
int dispatch_assert(struct dispatch *d) { return d->ops->assert_mode(d); }
int dispatch_place(struct dispatch *d) { return d->ops->place ? d->ops->place(d) : 0; }

int dispatch_open(struct dpif *dpif, struct dpif_session *session, enum dpif_dispatch mode, unsigned int n_handlers,
                  const odp_port_t *ports, size_t n_ports, struct dispatch **ret_dispatch)
{
    struct dispatch *d;
    int error = dispatch_prepare(dpif, session, mode, n_handlers, ports, n_ports, &d);
    if (error) {
        return error;
    }
    error = dispatch_publish(d);
    if (error) {
        dispatch_close(d);
        return error;
    }
    *ret_dispatch = d;
    return 0;
}

void dispatch_close(struct dispatch *d)
{
    if (!d) {
        return;
    }
    d->ops->close(d);
    for (size_t i = 0; i < d->n_channels; i++) {
        channel_close(d->channels[i]);
    }
    free(d->channels);
    d->n_handlers = 0;
    dispatch_trim(d);
    lock_uninit(&d->list_lock);
    free(d);
}

enum dpif_dispatch dispatch_mode(const struct dispatch *d) { return d->ops->mode; }
const char *dispatch_mode_name(enum dpif_dispatch mode) { return ops_of_mode(mode)->name; }

int dispatch_grow(struct dispatch *d, unsigned int n_handlers)
{
    int error = handlers_grow(d, n_handlers);
    if (error) {
        dispatch_trim(d);
    }
    return error;
}

int dispatch_resize(struct dispatch *d, unsigned int n_handlers)
{
    unsigned int old = d->n_handlers;
    int error = dispatch_grow(d, n_handlers);
    if (!error) {
        d->n_handlers = n_handlers;
        error = d->ops->resize(d, old);
        if (error) {
            d->n_handlers = old; /* Not trimmed: the new handlers have channels to retire. */
        }
    }
    return error;
}

int dispatch_port_prepare(struct dispatch *d, struct dispatch_port *ret_port)
{
    *ret_port = (struct dispatch_port) { NULL, 0 };
    return d->ops->port_prepare(d, ret_port);
}

int dispatch_port_commit(struct dispatch *d, struct dispatch_port *port, odp_port_t no)
{
    return d->ops->port_commit(d, port, no);
}

void dispatch_port_abort(struct dispatch *d, struct dispatch_port *port)
{
    channel_close(port->channel);
    port->channel = NULL;
}

int dispatch_port_adopt(struct dispatch *d, odp_port_t no) { return d->ops->port_adopt(d, no); }
uint32_t dispatch_port_pid(const struct dispatch *d, odp_port_t no) { return d->ops->port_pid ? d->ops->port_pid(d, no) : UINT32_MAX; }
void dispatch_port_del(struct dispatch *d, odp_port_t no) { d->ops->port_del(d, no); }

/* ---- Channels: main's side. ---- */

static void command_push(struct dispatch *d, unsigned int h, enum dispatch_command_type type, struct channel *ch,
                         unsigned int to)
{
    struct dispatch_handler *handler = d->handlers[h];
    struct dispatch_command *c = xmalloc(sizeof *c);

    *c = (struct dispatch_command) { .type = type, .channel = ch, .to = to };
    lock_acquire(&handler->lock);
    /* Atomic as in commands_run(): dispatch_wait() looks at the head without the lock. */
    __atomic_store_n(handler->commands_tail, c, __ATOMIC_RELAXED);
    handler->commands_tail = &c->next;
    lock_release(&handler->lock);
    sleeper_wake(&handler->sleeper);
}

int dispatch_attach(struct dispatch *d, struct channel *ch, unsigned int owner)
{
    bool by_command = d->ops->set_kind == CHANNEL_SET_FEW && d->has_threads;

    /* Before it is in the set: from then on the handler may look at the channel. */
    ch->owner = owner;
    __atomic_store_n(&ch->reader, owner, __ATOMIC_RELEASE);
    int error = by_command ? 0 : channel_set_add(&d->handlers[owner]->set, ch);
    if (error) {
        return error;
    }
    lock_acquire(&d->list_lock);
    if (d->n_channels == d->allocated_channels) {
        d->allocated_channels = d->allocated_channels ? 2 * d->allocated_channels : 16;
        d->channels = xrealloc(d->channels, d->allocated_channels * sizeof *d->channels);
    }
    d->channels[d->n_channels++] = ch;
    lock_release(&d->list_lock);
    if (by_command) {
        command_push(d, owner, COMMAND_ADOPT, ch, 0);
    }
    return 0;
}

void dispatch_retire(struct dispatch *d, struct channel *ch)
{
    lock_acquire(&d->list_lock);
    for (size_t i = 0; i < d->n_channels; i++) {
        if (d->channels[i] == ch) {
            d->channels[i] = d->channels[--d->n_channels];
            break;
        }
    }
    dispatch_loss_retire(d, ch);
    lock_release(&d->list_lock);
    COUNTER_INC(dispatch_retire);
    command_push(d, ch->owner, COMMAND_RETIRE, ch, 0);
}

void dispatch_move(struct dispatch *d, struct channel *ch, unsigned int to)
{
    unsigned int from = ch->owner;
    if (from != to) {
        lock_acquire(&d->list_lock);
        ch->owner = to;
        lock_release(&d->list_lock);
        COUNTER_INC(dispatch_move);
        command_push(d, from, COMMAND_MOVE, ch, to);
    }
}

void dispatch_kernel_grace_period(void)
{
    /* MEMBARRIER_CMD_GLOBAL is synchronize_rcu() in the kernel.  A kernel without it (CONFIG_MEMBARRIER off) or with
     * nohz_full CPUs (EINVAL) gives no such promise: then an upcall that is on its way to a port id that closes is lost
     * and counted by the kernel. */
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0) {
        log_info_rl(1, "cannot wait for a kernel grace period (membarrier: %s)", strerror(errno));
    }
}

/* ---- Channels: the handler's side. ---- */

static void handler_retire(struct dispatch_handler *h, struct channel *ch)
{
    channel_set_remove(&h->set, ch);
    if (h->n_retiring == h->allocated_retiring) {
        h->allocated_retiring = h->allocated_retiring ? 2 * h->allocated_retiring : 16;
        h->retiring = xrealloc(h->retiring, h->allocated_retiring * sizeof *h->retiring);
    }
    h->retiring[h->n_retiring++] = ch;
}

/* Returns false if CH could not be handed over: it stays with H, and so does the command. */
static bool handler_move(struct dispatch *d, struct dispatch_handler *h, struct channel *ch, unsigned int to)
{
    struct dispatch_handler *target = d->handlers[to];

    channel_set_remove(&h->set, ch);
    int error = channel_set_add(&target->set, ch);
    if (error) {
        /* Out of memory or of epoll watches.  The channel must have a reader: keep it, and try again at the next wait. */
        log_err_rl(6, "cannot hand a channel to handler %u (%s)", to, strerror(-error));
        error = channel_set_add(&h->set, ch);
        if (error) {
            log_err("a channel is left without a reader (%s)", strerror(-error));
        }
        return false;
    }
    /* The last thing done with the channel: the target may carry out commands for it, closing it included, as soon as it sees
     * this.  Pairs with the acquire in commands_run().  It may even end then, and be freed, a grace period later: so this is a read
     * section until it is woken. */
    rcu_read_lock();
    __atomic_store_n(&ch->reader, to, __ATOMIC_RELEASE);
    /* The target may hold a command for a channel that it did not have until now. */
    sleeper_wake(&target->sleeper);
    rcu_read_unlock();
    return true;
}

static void command_keep(struct dispatch_handler *h, struct dispatch_command *c)
{
    lock_acquire(&h->lock);
    __atomic_store_n(h->commands_tail, c, __ATOMIC_RELAXED);
    h->commands_tail = &c->next;
    lock_release(&h->lock);
}

/* Carries out the commands to handler H, in order, but for those that are about a channel which another handler has yet
 * to hand over: they stay.  Returns whether any stayed. */
static bool commands_run(struct dispatch *d, unsigned int id)
{
    struct dispatch_handler *h = d->handlers[id];
    struct dispatch_command *todo, *next;
    bool stayed = false;

    lock_acquire(&h->lock);
    todo = h->commands;
    __atomic_store_n(&h->commands, NULL, __ATOMIC_RELAXED);
    h->commands_tail = &h->commands;
    lock_release(&h->lock);

    for (; todo; todo = next) {
        next = todo->next;
        todo->next = NULL;
        if (__atomic_load_n(&todo->channel->reader, __ATOMIC_ACQUIRE) != id) {
            stayed = true;
            command_keep(h, todo);
            continue;
        }
        switch (todo->type) {
        case COMMAND_ADOPT:
            channel_set_add(&h->set, todo->channel); /* Of FEW: it does not fail. */
            break;
        case COMMAND_RETIRE:
            handler_retire(h, todo->channel);
            break;
        case COMMAND_MOVE:
            if (!handler_move(d, h, todo->channel, todo->to)) {
                stayed = true;
                command_keep(h, todo);
                continue;
            }
            break;
        }
        free(todo);
    }
    return stayed;
}

/* Puts retiring channels that still hold something into READY; closes those that do not. */
static int retiring_run(struct dispatch *d, struct dispatch_handler *h, struct channel *ready[], int max)
{
    int n = 0;
    size_t i = 0;
    while (i < h->n_retiring && n < max) {
        struct pollfd pfd = { .fd = h->retiring[i]->fd, .events = POLLIN };
        if (poll(&pfd, 1, 0) > 0 && pfd.revents & POLLIN) {
            ready[n++] = h->retiring[i++];
        } else {
            dispatch_loss_close(d, h->retiring[i]);
            h->retiring[i] = h->retiring[--h->n_retiring];
        }
    }
    return n;
}

int dispatch_wait(struct dispatch *d, unsigned int id, struct channel *ready[], int max, int timeout_ms)
{
    struct dispatch_handler *h = d->handlers[id];

    /* No event of an earlier wait is held here, so channels may come and go. */
    if (unlikely(__atomic_load_n(&h->commands, __ATOMIC_RELAXED) != NULL)) {
        commands_run(d, id);
    }
    int n_ready = unlikely(h->n_retiring) ? retiring_run(d, h, ready, max) : 0;
    if (n_ready) {
        timeout_ms = 0;
    }
    if (n_ready == max) {
        return n_ready;
    }

    COUNTER_INC(dispatch_wait);
    int n = channel_set_wait(&h->set, &h->sleeper, &ready[n_ready], max - n_ready, timeout_ms);
    if (unlikely(n < 0)) {
        log_err_rl(6, "waiting for channels failed (%s)", strerror(-n));
        return n_ready;
    }
    return n_ready + n;
}

void dispatch_wake(struct dispatch *d, unsigned int h) { sleeper_wake(&d->handlers[h]->sleeper); }

void dispatch_pause(struct dispatch *d, unsigned int id, int timeout_ms)
{
    sleeper_poll(&d->handlers[id]->sleeper, NULL, 0, timeout_ms);
}

void dispatch_seal(struct dispatch *d) { __atomic_store_n(&d->sealed, true, __ATOMIC_RELEASE); }

/* Reads H's channels until they are empty, ROUNDS times at most; UINT_MAX: and as long as that takes. */
static void read_own(struct dispatch_handler *h, unsigned int (*read)(struct channel *, void *aux), void *aux, unsigned int rounds)
{
    struct channel *ready[N_READY];
    uint64_t deadline = rounds == UINT_MAX ? UINT64_MAX : clock_msec() + DRAIN_MS;

    for (unsigned int round = 0; round < rounds && (deadline == UINT64_MAX || clock_msec() < deadline); round++) {
        unsigned int got = 0;
        int n = channel_set_wait(&h->set, &h->sleeper, ready, N_READY, 0);
        for (int i = 0; i < n; i++) {
            got += read(ready[i], aux);
        }
        if (!got) {
            return;
        }
    }
}

void dispatch_drain(struct dispatch *d, unsigned int id, unsigned int (*read)(struct channel *, void *aux), void *aux)
{
    struct dispatch_handler *h = d->handlers[id];
    struct channel *ready[N_READY];
    bool sealed = __atomic_load_n(&d->sealed, __ATOMIC_ACQUIRE);

    /* A channel that is to be handed over may go to a handler that has ended already: what is in it is read here, and nothing follows. */
    if (sealed) {
        read_own(h, read, aux, UINT_MAX);
    }
    /* Commands may wait for a colleague to hand a channel over, which takes it one batch at most. */
    while (commands_run(d, id)) {
        dispatch_pause(d, id, 100); /* Not for ever: a hand-over of its own may have failed, and is tried again. */
    }
    int n;
    while ((n = retiring_run(d, h, ready, N_READY)) > 0) {
        for (int i = 0; i < n; i++) {
            while (read(ready[i], aux)) {
                continue;
            }
        }
    }

    /* What it still owns may go on receiving (the daemon exits), so this is bounded in rounds, more than any queue takes, and in
     * time: a flood, which no exit can outlast, does not keep it. */
    read_own(h, read, aux, sealed ? UINT_MAX : 1024);
}
