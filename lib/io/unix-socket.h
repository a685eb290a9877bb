/* Unix sockets by path, of any length: for the control socket, the database and OpenFlow. */
#ifndef IO_UNIX_SOCKET_H
#define IO_UNIX_SOCKET_H 1

/* Listens at PATH, with the mode 0770 less the umask.  Replaces the socket that a process which is gone left there.
 * Returns 0, -EADDRINUSE (somebody answers at PATH), -ENOTSOCK (PATH is something else than a socket), or another
 * -errno. */
int unix_socket_listen(const char *path, int *ret_fd);
/* What the ERROR of unix_socket_listen() means, in words. */
const char *unix_socket_listen_error(int error);

/* Connects to PATH.  Returns 0 or -errno; -EAGAIN, a full backlog, is a failure like the others: try again later. */
int unix_socket_connect(const char *path, int *ret_fd);

#endif
