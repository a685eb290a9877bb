/* Connections to the database: unix sockets and TCP; and the names of those over TLS, which lib/io/stream.h makes. */
#ifndef RPC_SOCKET_H
#define RPC_SOCKET_H 1

#include <stdbool.h>

/* Begins to connect to REMOTE, "unix:PATH" (PATH relative to the run-time directory) or "tcp:IP:PORT".  Returns
 * 0 and the connected descriptor; 0 and one that is still connecting, *RET_PENDING true: it becomes writable when that
 * is decided, see rpc_socket_error(); or -errno: -EINVAL for a REMOTE of another form. */
int rpc_socket_connect(const char *remote, int *ret_fd, bool *ret_pending);

/* The error that a pending connection ended with: 0 or -errno. */
int rpc_socket_error(int fd);

/* Whether REMOTE has a form that rpc_socket_connect() knows, or is "ssl:IP[:PORT]". */
bool rpc_socket_remote_valid(const char *remote);
bool rpc_socket_is_tls(const char *remote);
/* REMOTE, "ssl:IP[:PORT]", with the database's port if it has none.  To be freed. */
char *rpc_socket_with_port(const char *remote);

#endif
