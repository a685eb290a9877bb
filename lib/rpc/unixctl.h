/* The control socket: how ovs-appctl talks to the daemon.
 *
 * JSON-RPC over a unix socket, one request at a time a connection, served by a thread of its own (on its own libevent
 * loop), so that it answers whatever main and the handlers do.  A command's function runs in that thread; it may
 * answer later from any thread, once, through the connection handle: with unixctl_reply() or
 * unixctl_error().  A command that must run in main posts itself there (lib/io/loop.h). */
#ifndef RPC_UNIXCTL_H
#define RPC_UNIXCTL_H 1

#include "lib/base/compiler.h"

struct unixctl_server;
struct unixctl_conn;

/* ARGV[0] is the command's name; ARGC counts it.  Must cause exactly one reply. */
typedef void unixctl_func(struct unixctl_conn *conn, int argc, const char *argv[], void *aux);

/* Registers command NAME, before the server starts.  USAGE: its arguments as list-commands shows them; MIN_ARGS and
 * MAX_ARGS count arguments without the name (MAX_ARGS INT_MAX: any).  HIDDEN: USAGE is NULL; not listed. */
void unixctl_register(const char *name, const char *usage, int min_args, int max_args, unixctl_func *func, void *aux);

void unixctl_reply(struct unixctl_conn *conn, const char *text); /* TEXT NULL: empty. */
void unixctl_reply_take(struct unixctl_conn *conn, char *text);  /* The same; frees TEXT. */
void unixctl_error(struct unixctl_conn *conn, const char *format, ...) PRINTF_FORMAT(2, 3);

/* Listens at PATH (NULL: RUNDIR/PROGRAM.PID.ctl) and starts the thread.  Registers list-commands and version.
 * Returns 0 or -errno, with a log line. */
int unixctl_server_start(const char *path, struct unixctl_server **ret_server);
/* Flushes the answers that are due, ends the thread, removes the socket.  Accepts NULL. */
void unixctl_server_stop(struct unixctl_server *server);

#endif
