/* The channels of a handler, on which it sleeps.
 *
 * Two kinds.  Of MANY channels (one a port) it is an epoll set, so that a wake costs what is ready and not what there is.  Of
 * FEW (one a CPU; two while one takes the place of the other) it is a list, given to ppoll(): that costs no more, and spares a descriptor a
 * handler.
 *
 * Threads.  The handler sleeps, and removes.  To a set of MANY anybody adds; to one of FEW its handler, or whoever makes it before
 * there is one. */
#ifndef DPIF_CHANNEL_SET_H
#define DPIF_CHANNEL_SET_H 1

#include <stdbool.h>
#include <stddef.h>

struct channel;
struct pollfd;
struct sleeper;

enum channel_set_kind { CHANNEL_SET_MANY, CHANNEL_SET_FEW };

struct channel_set {
    int epoll_fd; /* -1: of FEW. */
    struct channel **few;
    struct pollfd *fds; /* By the same index. */
    size_t n, allocated;
};

int channel_set_init(struct channel_set *set, enum channel_set_kind kind); /* 0 or -errno. */
void channel_set_uninit(struct channel_set *set);                          /* Leaves the channels. */
/* 0, or -errno: out of memory or of epoll watches; never for FEW. */
int channel_set_add(struct channel_set *set, struct channel *ch);
void channel_set_remove(struct channel_set *set, struct channel *ch);
/* Sleeps by SLEEPER until a channel is ready, and as sleeper.h says.  Fills READY with up to MAX that are.  Returns how many, or
 * -errno. */
int channel_set_wait(struct channel_set *set, struct sleeper *sleeper, struct channel *ready[], int max, int timeout_ms);

#endif
