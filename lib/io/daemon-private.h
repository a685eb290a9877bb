/* What daemon*.c share. */
#ifndef IO_DAEMON_PRIVATE_H
#define IO_DAEMON_PRIVATE_H 1

#include <stdbool.h>
#include <stddef.h>

/* daemon-user.c: becomes the user given to daemon_set_user(), if any. */
void daemon_become_user(void);

/* daemon-pidfile.c: makes the pidfile, if one was asked for. */
void daemon_make_pidfile(void);

/* daemon-monitor.c: forks workers and watches them; returns in each worker, with the descriptor to tell of its
 * completion, and never in the monitor.  COMPLETED is called in the monitor when the first worker is complete. */
int daemon_monitor(void (*completed)(void));

/* daemon.c: forks; returns the child's pid and in *RET_FD the end of the pipe: to write to in the child (where 0 is
 * returned), to read from in the parent. */
int daemon_fork(int *ret_fd);
/* Waits for the byte that says that the child is complete.  Returns false if it died before. */
bool daemon_await(int fd);
/* Tells the parent that waits in daemon_await(). */
void daemon_tell(int fd);
/* STATUS of waitpid() in words. */
void daemon_status_text(int status, char *text, size_t size);

#endif
