/* See channel-set.h. */
#include <config.h>

#include "lib/dpif/channel-set.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/io/sleeper.h"

/* Taken from one wait. */
#define MAX_EVENTS 64

int channel_set_init(struct channel_set *set, enum channel_set_kind kind)
{
    int fd = kind == CHANNEL_SET_MANY ? epoll_create1(EPOLL_CLOEXEC) : -1;

    if (kind == CHANNEL_SET_MANY && fd < 0) {
        return -errno;
    }
    *set = (struct channel_set) { .epoll_fd = fd };
    return 0;
}

void channel_set_uninit(struct channel_set *set)
{
    if (set->epoll_fd >= 0) {
        close(set->epoll_fd);
    }
    free(set->few);
    free(set->fds);
}

int channel_set_add(struct channel_set *set, struct channel *ch)
{
    if (set->epoll_fd >= 0) {
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = ch };
        return epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, ch->fd, &event) < 0 ? -errno : 0;
    }
    if (set->n == set->allocated) {
        set->allocated += 2;
        set->few = xrealloc(set->few, set->allocated * sizeof *set->few);
        set->fds = xrealloc(set->fds, set->allocated * sizeof *set->fds);
    }
    set->few[set->n] = ch;
    set->fds[set->n++] = (struct pollfd) { .fd = ch->fd, .events = POLLIN };
    return 0;
}

void channel_set_remove(struct channel_set *set, struct channel *ch)
{
    if (set->epoll_fd >= 0) {
        epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, ch->fd, NULL);
        return;
    }
    for (size_t i = 0; i < set->n; i++) {
        if (set->few[i] == ch) {
            set->few[i] = set->few[--set->n];
            set->fds[i] = set->fds[set->n];
            break;
        }
    }
}

static int wait_few(struct channel_set *set, struct sleeper *sleeper, struct channel *ready[], int max, int timeout_ms)
{
    int n = sleeper_poll(sleeper, set->fds, set->n, timeout_ms), n_ready = 0;

    for (size_t i = 0; n > 0 && i < set->n && n_ready < max; i++) {
        if (set->fds[i].revents) {
            ready[n_ready++] = set->few[i];
        }
    }
    return n < 0 ? n : n_ready;
}

int channel_set_wait(struct channel_set *set, struct sleeper *sleeper, struct channel *ready[], int max, int timeout_ms)
{
    struct epoll_event events[MAX_EVENTS];

    if (set->epoll_fd < 0) {
        return wait_few(set, sleeper, ready, max, timeout_ms);
    }
    int n = sleeper_epoll(sleeper, set->epoll_fd, events, MIN(max, MAX_EVENTS), timeout_ms);
    for (int i = 0; i < n; i++) {
        ready[i] = events[i].data.ptr;
    }
    return n;
}
