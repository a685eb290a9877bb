/* A file descriptor that a thread waits on and others make readable (eventfd). */
#ifndef IO_WAKEUP_H
#define IO_WAKEUP_H 1

struct wakeup {
    int fd;
};
int wakeup_init(struct wakeup *w); /* 0 or -errno. */
void wakeup_uninit(struct wakeup *w);
void wakeup_set(struct wakeup *w);   /* Any thread. */
void wakeup_clear(struct wakeup *w); /* The waiter, before it looks for what it was woken for. */

#endif
