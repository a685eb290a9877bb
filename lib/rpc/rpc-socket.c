/* Sockets for control traffic.
 *
 * A unix socket's address holds 107 characters of path.  Test suites and containers have longer ones, so a long path
 * is reached through /proc/self/fd: its directory is opened, and the address names the file within that.
 *
 * All descriptors are close-on-exec and non-blocking.  The functions keep no state: any thread may call them. */
#include <config.h>

#include "lib/rpc/rpc-socket.h"

#include <errno.h>
#include <event2/util.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/dirs.h"
#include "lib/base/util.h"

#define BACKLOG          64
#define TCP_DEFAULT_PORT 6640 /* As registered for OVSDB. */

/* Fills in the address of PATH.  *RET_DIR is a descriptor to close after use of the address, or -1.  Returns 0 or
 * -errno. */
static int unix_address(const char *path, struct sockaddr_un *ret_sun, int *ret_dir)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    int dir = -1;
    if (strlen(path) < sizeof sun.sun_path) {
        strcpy(sun.sun_path, path);
    } else {
        char *for_dir = xstrdup(path), *for_base = xstrdup(path);
        int n = -1;
        dir = open(dirname(for_dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
        int error = dir < 0 ? -errno : 0;
        if (!error) {
            n = snprintf(sun.sun_path, sizeof sun.sun_path, "/proc/self/fd/%d/%s", dir, basename(for_base));
        }
        free(for_dir);
        free(for_base);
        if (error) {
            return error;
        }
        if (n >= sizeof sun.sun_path) {
            close(dir);
            return -ENAMETOOLONG;
        }
    }
    *ret_sun = sun;
    *ret_dir = dir;
    return 0;
}

static int unix_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

static int unix_connect(const char *path, int *ret_fd)
{
    struct sockaddr_un sun;
    int dir;
    int error = unix_address(path, &sun, &dir);
    if (error) {
        return error;
    }
    int fd = unix_socket();
    error = fd < 0 ? fd : 0;
    if (!error && connect(fd, (struct sockaddr *) &sun, sizeof sun)) {
        /* -EAGAIN, a full backlog, is a failure like the others: the caller tries again later. */
        error = -errno;
        close(fd);
    }
    if (dir >= 0) {
        close(dir);
    }
    if (!error) {
        *ret_fd = fd;
    }
    return error;
}

/* Makes room for a socket at PATH.  Returns 0 or -errno as rpc_socket_listen() does. */
static int remove_stale(const char *path)
{
    struct stat st;
    if (lstat(path, &st)) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (!S_ISSOCK(st.st_mode)) {
        return -ENOTSOCK;
    }
    int fd;
    int error = unix_connect(path, &fd);
    if (!error) {
        close(fd);
        return -EADDRINUSE;
    }
    if (error == -EAGAIN) {
        return -EADDRINUSE; /* It listens, only too slowly. */
    }
    return unlink(path) && errno != ENOENT ? -errno : 0;
}

int rpc_socket_listen(const char *path, int *ret_fd)
{
    int error = remove_stale(path);
    if (error) {
        return error;
    }
    struct sockaddr_un sun;
    int dir;
    error = unix_address(path, &sun, &dir);
    if (error) {
        return error;
    }
    int fd = unix_socket();
    if (fd < 0) {
        error = fd;
    } else if (fchmod(fd, 0770) || bind(fd, (struct sockaddr *) &sun, sizeof sun)) {
        /* The mode of the unbound socket, less the umask, becomes the file's: at no time is it wider. */
        error = -errno;
        close(fd);
    } else if (listen(fd, BACKLOG)) {
        error = -errno;
        close(fd);
        unlink(path);
    }
    if (dir >= 0) {
        close(dir);
    }
    if (!error) {
        *ret_fd = fd;
    }
    return error;
}

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
    if (!rpc_socket_remote_valid(remote)) {
        return -EINVAL;
    }
    if (!strncmp(remote, "tcp:", 4)) {
        return tcp_connect(remote + 4, ret_fd, ret_pending);
    }
    char *path = dir_file(dir_run(), remote + 5);
    int error = unix_connect(path, ret_fd);
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

bool rpc_socket_remote_valid(const char *remote)
{
    if (!strncmp(remote, "unix:", 5)) {
        return remote[5] != '\0';
    }
    struct sockaddr_storage ss;
    socklen_t len;
    return !strncmp(remote, "tcp:", 4) && !tcp_address(remote + 4, &ss, &len);
}
