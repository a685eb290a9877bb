/* Dispatch: from the kernel to exactly one handler.
 *
 * The kernel sends upcalls by port, or by CPU, to netlink port ids.  Behind this header are the two strategies, which
 * differ in three facts: how many channels there are and who reads each, how port ids reach the kernel, and what
 * a port event changes.
 *
 *     per port    dispatch-port.c   a channel per port; each owned by one handler
 *     per CPU     dispatch-cpu.c    a channel per handler; every possible CPU id is mapped to one
 *
 * What they share is in dispatch.c: the handlers, on what they sleep (channel-set.h), and their commands.
 *
 * Threads.  Main opens, resizes, adds and deletes ports, closes.  Handler h alone calls dispatch_wait(d, h), and
 * it alone reads the channels it owns.  A handler sleeps on its own channels and nowhere else, so a message wakes one thread; others
 * wake it by a signal (lib/io/sleeper.h).
 *
 * Descriptors: each channel is one, and where a handler may have many it has one more, to sleep on.
 *
 * Hand-over of a channel.  Main never takes a channel out of a handler's hands: it puts a command into the handler's
 * queue (ADOPT, RETIRE, MOVE) and wakes it; the handler carries commands out at the top of dispatch_wait(), when it holds
 * no event of an earlier wait.  So an event never outlives its channel, and a channel has one reader at any time: in
 * MOVE the old owner removes it from its set, then adds it to the new owner's.
 *
 * Losses may be asked for by any thread: dispatch-loss.c says how.
 *
 * Make before break.  A channel retires after (1) the kernel was told the new port ids, (2) a kernel grace
 * period, after which no upcall can be on its way to the old one, (3) its owner has read it empty. */
#ifndef DPIF_DISPATCH_H
#define DPIF_DISPATCH_H 1

#include <stdio.h>

#include "lib/base/types.h"
#include "lib/dpif/dpif.h"

struct channel;
struct dispatch;
struct dispatch_ops;

#define DISPATCH_MAX_HANDLERS 256

/* Opens dispatch of strategy MODE for DPIF, for N_HANDLERS, and has the kernel use it.  SESSION is main's.  PORTS
 * are the ports that the datapath has now and that are to be served.  Returns 0 or -errno; on failure all channels are
 * closed again, and the caller opens the other strategy. */
int dispatch_open(struct dpif *dpif, struct dpif_session *session, enum dpif_dispatch mode, unsigned int n_handlers,
                  const odp_port_t *ports, size_t n_ports, struct dispatch **ret_dispatch);
/* The same in two steps, so that whoever is to read the channels can be there before the kernel sends to them: prepare() opens
 * the channels, publish() tells the kernel.  If publish() fails the kernel does as before, and the caller closes D. */
int dispatch_prepare(struct dpif *dpif, struct dpif_session *session, enum dpif_dispatch mode, unsigned int n_handlers,
                     const odp_port_t *ports, size_t n_ports, struct dispatch **ret_dispatch);
int dispatch_publish(struct dispatch *d);
/* Frees D.  Its handlers have ended; whatever its channels still hold is lost: see dispatch_drain(). */
void dispatch_close(struct dispatch *d);

enum dpif_dispatch dispatch_mode(const struct dispatch *d);
const char *dispatch_mode_name(enum dpif_dispatch mode); /* "per-cpu dispatch mode" or "per-vport dispatch mode". */

/* Growing: first dispatch_grow() makes handlers up to N_HANDLERS, then the caller starts their threads, then dispatch_resize() gives
 * them channels.  If that fails they have been taken away again: the caller stops the new threads, and calls dispatch_trim().
 * Shrinking: takes all channels from handlers N_HANDLERS and above: the caller then stops those threads (each
 * drains what it still owns), and calls dispatch_trim().
 * Between the end of a thread and dispatch_trim() or dispatch_close() there must be a grace period of RCU: a colleague may be about to
 * wake it. */
int dispatch_grow(struct dispatch *d, unsigned int n_handlers);
int dispatch_resize(struct dispatch *d, unsigned int n_handlers);
void dispatch_trim(struct dispatch *d);
/* The CPUs that the process may use have changed, its handlers' count not: tells the kernel which handler serves which CPU
 * now, if that has changed.  0 or -errno, and then all is as before. */
int dispatch_place(struct dispatch *d);
/* Tells the kernel once more how to dispatch: another program has told it otherwise.  0 or -errno. */
int dispatch_assert(struct dispatch *d);

/* A port's life.  prepare() gives the port id to pass to dpif_port_add(); then commit() with the number, or abort().
 * adopt() is for a port that is in the datapath already. */
struct dispatch_port {
    struct channel *channel; /* NULL when ports have none of their own. */
    uint32_t pid;
};
int dispatch_port_prepare(struct dispatch *d, struct dispatch_port *ret_port);
int dispatch_port_commit(struct dispatch *d, struct dispatch_port *port, odp_port_t no);
void dispatch_port_abort(struct dispatch *d, struct dispatch_port *port);
int dispatch_port_adopt(struct dispatch *d, odp_port_t no);
/* The port id that an action is to name for packets of port NO to come up where all of that port's do; 0: the port has no channel.  Per CPU the
 * kernel looks at none, but wants one.  Main. */
uint32_t dispatch_port_pid(const struct dispatch *d, odp_port_t no);
/* The port has been deleted from the datapath. */
void dispatch_port_del(struct dispatch *d, odp_port_t no);

/* Handler H sleeps until it has work, TIMEOUT_MS at most (-1: for ever).  Fills READY with up to MAX channels that have something
 * to read.  Returns how many; 0 also when it was woken for another reason (look at thread_stopping()). */
int dispatch_wait(struct dispatch *d, unsigned int h, struct channel *ready[], int max, int timeout_ms);
/* Wakes handler H out of dispatch_wait().  Any thread: main, or under RCU. */
void dispatch_wake(struct dispatch *d, unsigned int h);
/* Handler H, which ends, waits until it is woken, or TIMEOUT_MS. */
void dispatch_pause(struct dispatch *d, unsigned int h, int timeout_ms);
/* The kernel sends nothing to D any more: dispatch_drain() reads all that there is, however long that takes. */
void dispatch_seal(struct dispatch *d);
/* Calls READ for each channel that H owns until it is empty, within bounds.  For a handler that ends. */
void dispatch_drain(struct dispatch *d, unsigned int h, unsigned int (*read)(struct channel *, void *aux), void *aux);

/* Upcalls that the kernel dropped because the queue of a channel was full, exactly. */
struct dispatch_loss {
    odp_port_t port;      /* Per port: whose upcalls they were.  Else ODPP_NONE. */
    unsigned int handler; /* That the channel belongs to. */
    uint64_t n;
};
/* The sum over all channels that there are or ever were: it never goes down.  *RET_RETIRED gets the part of it that
 * belongs to channels which are no more.  *RET_LOSSES gets an array of *RET_N, to be freed: what each channel that is
 * there has lost, 0 included, in no order. RET_LOSSES (then RET_N is not used) and RET_RETIRED may be NULL.  One system
 * call a channel.
 *
 * Any thread, with no lock of rank IO or above held; D must not be closed meanwhile.  The kernel counts in 32 bits: ask
 * before 2^32 more upcalls can have been lost on one channel. */
uint64_t dispatch_get_loss(struct dispatch *d, struct dispatch_loss **ret_losses, size_t *ret_n, uint64_t *ret_retired);
/* Makes what OLD has lost until now part of D's losses, once: for main, when D takes OLD's place, and again just before
 * OLD is closed, for what was lost in between. */
void dispatch_inherit_loss(struct dispatch *d, struct dispatch *old);

/* Waits until no upcall can be on its way to a port id that the kernel has been told to forget.  Main only. */
void dispatch_kernel_grace_period(void);

#endif
