/* What a dispatch strategy implements, and what dispatch.c gives it. */
#ifndef DPIF_DISPATCH_PROVIDER_H
#define DPIF_DISPATCH_PROVIDER_H 1

#include "lib/base/lock.h"
#include "lib/dpif/channel-set.h"
#include "lib/dpif/dispatch.h"
#include "lib/io/sleeper.h"

/* Commands to a handler, carried out by it at the top of dispatch_wait(). */
enum dispatch_command_type {
    COMMAND_ADOPT,  /* The channel is yours. */
    COMMAND_RETIRE, /* Drain the channel (it is 'retired'), close it when empty. */
    COMMAND_MOVE,   /* Hand the channel over to handler 'to'. */
};
struct dispatch_command {
    enum dispatch_command_type type;
    struct channel *channel;
    unsigned int to;
    struct dispatch_command *next;
};

struct dispatch_handler {
    struct channel_set set;
    struct sleeper sleeper;
    struct lock lock; /* Rank IO. */
    struct dispatch_command *commands GUARDED(lock);
    struct dispatch_command **commands_tail GUARDED(lock);
    struct channel **retiring; /* Being drained; the handler's own. */
    size_t n_retiring, allocated_retiring;
};

struct dispatch {
    const struct dispatch_ops *ops;
    struct dpif *dpif;
    struct dpif_session *session; /* Main's. */
    unsigned int n_handlers;      /* That get channels. */
    bool sealed;                  /* Atomic. */
    bool has_threads;             /* Handlers may be at work; main's. */
    unsigned int n_made;          /* Made so far; those from n_handlers up are ending. */
    struct dispatch_handler *handlers[DISPATCH_MAX_HANDLERS];

    /* All channels that are not retired.  Main's, which changes them under 'list_lock' and reads them without; others
     * read them under it.  Handlers do not.  Losses: dispatch-loss.c. */
    struct lock list_lock; /* Rank IO; never taken together with another one of that rank. */
    struct channel **channels;
    size_t n_channels, allocated_channels;
    uint64_t retired_loss;   /* Atomic: of channels that are no longer in the list. */
    uint64_t inherited_loss; /* As much of the total as another dispatch has taken over; main's. */
};

struct dispatch_ops {
    enum dpif_dispatch mode;
    const char *name;
    size_t struct_size; /* Of the strategy's structure, which begins with struct dispatch. */
    enum channel_set_kind set_kind; /* What a handler has. */

    /* Opens channels. */
    int (*open)(struct dispatch *, const odp_port_t *ports, size_t n_ports);
    /* Tells the kernel. */
    int (*publish)(struct dispatch *);
    /* The process's CPUs have changed: tells the kernel what follows from that.  NULL: nothing does. */
    int (*place)(struct dispatch *);
    /* The kernel has been told another mode, but knows our port ids. */
    int (*assert_mode)(struct dispatch *);
    void (*close)(struct dispatch *);
    int (*port_prepare)(struct dispatch *, struct dispatch_port *);
    int (*port_commit)(struct dispatch *, struct dispatch_port *, odp_port_t);
    int (*port_adopt)(struct dispatch *, odp_port_t);
    void (*port_del)(struct dispatch *, odp_port_t);
    uint32_t (*port_pid)(const struct dispatch *, odp_port_t); /* NULL: ports have none of their own. */
    /* d->n_handlers was OLD; handlers up to the new count exist. */
    int (*resize)(struct dispatch *, unsigned int old);
};

extern const struct dispatch_ops dispatch_port_ops;
extern const struct dispatch_ops dispatch_cpu_ops;

/* Puts CH into the list of channels and gives it to handler OWNER: from now on it may be read.  0 or -errno, and then CH is not in the
 * list. */
int dispatch_attach(struct dispatch *d, struct channel *ch, unsigned int owner);
/* Takes CH out of the list; its owner drains and closes it.  The kernel no longer sends to it. */
void dispatch_retire(struct dispatch *d, struct channel *ch);
/* CH has just been taken out of the list, and 'list_lock' is held: its losses until now become the dispatch's. */
void dispatch_loss_retire(struct dispatch *d, struct channel *ch);
/* Closes CH, which is retired; its losses since then become the dispatch's.  Any thread. */
void dispatch_loss_close(struct dispatch *d, struct channel *ch);
/* Hands CH over to handler TO.  For sets of MANY. */
void dispatch_move(struct dispatch *d, struct channel *ch, unsigned int to);

#endif
