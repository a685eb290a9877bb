/* What the kernel dropped because a channel's queue was full: see dispatch_get_loss().
 *
 * The kernel counts a channel's losses, exactly, and tells when it is asked (one system call a channel): so nothing is
 * counted here, and nothing costs anything, until somebody asks or a channel goes.
 *
 * Threads.  Any thread asks.  For that it needs the list of channels, which main changes: main holds 'list_lock' while
 * it does, and so does whoever reads it, the readings included; main, the only writer, reads it without.  Handlers
 * never take the lock, so a reader keeps no upcall waiting; it may keep main waiting with a new port for as long as it
 * takes to ask all channels (10,000: about 10 ms).  A channel's 'owner' and 'n_drops' are guarded with the list.
 *
 * A channel that goes.  Main takes it out of the list and adds its losses until then to 'retired_loss' in one critical
 * section: a reader counts it either there or here.  From then on the channel, with its 'n_drops', is its handler's, to
 * which the lock of the command queue hands it over.  The kernel may still drop something on it until it is closed;
 * whoever closes it adds the difference.  'retired_loss' is atomic for that, and only ever grows, as do the kernel's
 * counts: so does the total. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"

void dispatch_loss_retire(struct dispatch *d, struct channel *ch)
{
    __atomic_add_fetch(&d->retired_loss, channel_drops(ch), __ATOMIC_RELAXED);
}

void dispatch_loss_close(struct dispatch *d, struct channel *ch)
{
    uint64_t before = ch->n_drops;
    __atomic_add_fetch(&d->retired_loss, channel_drops(ch) - before, __ATOMIC_RELAXED);
    channel_close(ch);
}

uint64_t dispatch_get_loss(struct dispatch *d, struct dispatch_loss **ret_losses, size_t *ret_n, uint64_t *ret_retired)
{
    struct dispatch_loss *losses = NULL;

    lock_acquire(&d->list_lock);
    size_t n = d->n_channels;
    uint64_t retired = __atomic_load_n(&d->retired_loss, __ATOMIC_RELAXED);
    uint64_t total = retired;
    if (ret_losses) {
        losses = xcalloc(n + 1, sizeof *losses);
    }
    for (size_t i = 0; i < n; i++) {
        struct channel *ch = d->channels[i];
        uint64_t n_lost = channel_drops(ch);
        total += n_lost;
        if (losses) {
            losses[i] = (struct dispatch_loss){ .port = ch->port, .handler = ch->owner, .n = n_lost };
        }
    }
    lock_release(&d->list_lock);

    if (ret_losses) {
        *ret_losses = losses;
        *ret_n = n;
    }
    if (ret_retired) {
        *ret_retired = retired;
    }
    return total;
}

void dispatch_inherit_loss(struct dispatch *d, struct dispatch *old)
{
    uint64_t total = dispatch_get_loss(old, NULL, NULL, NULL);
    __atomic_add_fetch(&d->retired_loss, total - old->inherited_loss, __ATOMIC_RELAXED);
    old->inherited_loss = total;
}
