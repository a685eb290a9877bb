/* Connections to the database: unix sockets and TCP. */
#ifndef RPC_SOCKET_H
#define RPC_SOCKET_H 1

#include <stdbool.h>

/* Begins to connect to REMOTE, "unix:PATH" (PATH relative to the run-time directory) or "tcp:IP:PORT".  Returns
 * 0 and the connected descriptor; 0 and one that is still connecting, *RET_PENDING true: it becomes writable when that
 * is decided, see rpc_socket_error(); or -errno: -EINVAL for a REMOTE of another form. */
int rpc_socket_connect(const char *remote, int *ret_fd, bool *ret_pending);

/* The error that a pending connection ended with: 0 or -errno. */
int rpc_socket_error(int fd);

/* Whether REMOTE has a form that rpc_socket_connect() knows. */
bool rpc_socket_remote_valid(const char *remote);

#endif
