/* A thread that sleeps on descriptors, and that others can wake without one: see sleeper.c. */
#ifndef IO_SLEEPER_H
#define IO_SLEEPER_H 1

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

/* The signal that ends a sleep.  Why this one: sleeper.c. */
#define SLEEPER_SIGNAL SIGURG

struct sleeper {
    uint32_t state; /* Atomic. */
    pid_t tid;      /* Atomic: the kernel's number of the thread that slept last. */
};

void sleeper_init(struct sleeper *s);

/* Ends the sleep of the thread that sleeps on S, or else its next one before it begins.  However often it is called before that thread
 * is up, it is woken once.  Any thread; S must stay until it returns (sleeper.c says how). */
void sleeper_wake(struct sleeper *s);

/* Whether somebody has woken it, and its next sleep will not begin.  Any thread; for tests. */
bool sleeper_is_woken(const struct sleeper *s);

/* Sleeps until one of the N of FDS is ready, or somebody wakes it, or for TIMEOUT_MS (-1: for ever; 0: only looks); a signal of another
 * origin may make a sleep with a timeout shorter.  Returns how many are ready, 0 for all else, or -errno.  What it was woken
 * for is to be looked for after that.  One thread at a time. */
int sleeper_poll(struct sleeper *s, struct pollfd fds[], unsigned int n, int timeout_ms);
/* The same on the epoll set EPOLL_FD. */
int sleeper_epoll(struct sleeper *s, int epoll_fd, struct epoll_event events[], int max, int timeout_ms);

#endif
