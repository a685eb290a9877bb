/* The process as init scripts see it: --detach, --pidfile, --monitor, --user.
 *
 * Main parses its options into the daemon_set_*() calls, calls daemon_start() before it has threads, sockets or
 * anything else that does not survive a fork, and daemon_complete() when it is fit for service. */
#ifndef IO_DAEMON_H
#define IO_DAEMON_H 1

#include <stdbool.h>

void daemon_set_detach(void);
void daemon_set_chdir(bool chdir); /* Whether to change to the root directory when detached; the default is true. */
void daemon_set_pidfile(const char *name); /* Under the run directory; NULL: PROGRAM.pid. */
void daemon_set_overwrite_pidfile(void);
void daemon_set_monitor(void);
void daemon_set_user(const char *spec); /* USER, USER:GROUP or :GROUP; exits on one that does not exist. */

/* Becomes the user, forks, and returns in the process that does the work, with the pidfile made.  Exits with one line
 * on standard error if that is not possible. */
void daemon_start(void);
/* Lets the process that the user started exit with success.  Later calls do nothing. */
void daemon_complete(void);
bool daemon_is_detached(void);
/* The pidfile's full name, or NULL. */
const char *daemon_pidfile(void);
/* Removes the pidfile, in the process that made it; does nothing in another.  Called at exit() too. */
void daemon_cleanup(void);

#endif
