/* Sockets for control traffic.
 *
 * All descriptors are close-on-exec and non-blocking.  The functions keep no state: any thread may call them. */
#include <config.h>

#include "lib/rpc/rpc-socket.h"

#include <errno.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/dirs.h"
#include "lib/base/util.h"
#include "lib/io/unix-socket.h"

#define TCP_DEFAULT_PORT 6640 /* As registered for OVSDB. */

static int tcp_address(const char *s, struct sockaddr_storage *ret_ss, socklen_t *ret_len)
{
    struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
    int len = sizeof ss;
    if (evutil_parse_sockaddr_port(s, (struct sockaddr *) &ss, &len)) {
        return -EINVAL;
    }
    in_port_t *port =
        ss.ss_family == AF_INET6 ? &((struct sockaddr_in6 *) &ss)->sin6_port : &((struct sockaddr_in *) &ss)->sin_port;
    if (!*port) {
        *port = htons(TCP_DEFAULT_PORT);
    }
    *ret_ss = ss;
    *ret_len = len;
    return 0;
}

static int tcp_connect(const char *address, int *ret_fd, bool *ret_pending)
{
    struct sockaddr_storage ss;
    socklen_t len;
    int error = tcp_address(address, &ss, &len);
    if (error) {
        return error;
    }
    int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    bool pending = false;
    if (connect(fd, (struct sockaddr *) &ss, len)) {
        if (errno != EINPROGRESS) {
            error = -errno;
            close(fd);
            return error;
        }
        pending = true;
    }
    *ret_fd = fd;
    *ret_pending = pending;
    return 0;
}

int rpc_socket_connect(const char *remote, int *ret_fd, bool *ret_pending)
{
    if (!rpc_socket_remote_valid(remote) || rpc_socket_is_tls(remote)) {
        return -EINVAL;
    }
    if (!strncmp(remote, "tcp:", 4)) {
        return tcp_connect(remote + 4, ret_fd, ret_pending);
    }
    char *path = dir_file(dir_run(), remote + 5);
    int error = unix_socket_connect(path, ret_fd);
    free(path);
    if (!error) {
        *ret_pending = false;
    }
    return error;
}

int rpc_socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) ? -errno : -error;
}

bool rpc_socket_is_tls(const char *remote) { return !strncmp(remote, "ssl:", 4); }

char *rpc_socket_with_port(const char *remote)
{
    struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
    int len = sizeof ss;

    if (evutil_parse_sockaddr_port(remote + 4, (struct sockaddr *) &ss, &len)) {
        return xstrdup(remote);
    }
    in_port_t port =
        ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *) &ss)->sin6_port : ((struct sockaddr_in *) &ss)->sin_port;
    return port ? xstrdup(remote) : xasprintf("%s:%d", remote, TCP_DEFAULT_PORT);
}

bool rpc_socket_remote_valid(const char *remote)
{
    if (!strncmp(remote, "unix:", 5)) {
        return remote[5] != '\0';
    }
    struct sockaddr_storage ss;
    socklen_t len;
    return (!strncmp(remote, "tcp:", 4) || rpc_socket_is_tls(remote)) && !tcp_address(remote + 4, &ss, &len);
}
