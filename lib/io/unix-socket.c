/* Unix sockets by path.
 *
 * A unix socket's address holds 107 characters of path.  Test suites and containers have longer ones, so a long path
 * is reached through /proc/self/fd: its directory is opened, and the address names the file within that.
 *
 * All descriptors are close-on-exec and non-blocking.  The functions keep no state: any thread may call them. */
#include <config.h>

#include "lib/io/unix-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/util.h"

#define BACKLOG 64

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

static int make_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

int unix_socket_connect(const char *path, int *ret_fd)
{
    struct sockaddr_un sun;
    int dir;
    int error = unix_address(path, &sun, &dir);
    if (error) {
        return error;
    }
    int fd = make_socket();
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

/* Makes room for a socket at PATH.  Returns 0 or -errno as unix_socket_listen() does. */
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
    int error = unix_socket_connect(path, &fd);
    if (!error) {
        close(fd);
        return -EADDRINUSE;
    }
    if (error == -EAGAIN) {
        return -EADDRINUSE; /* It listens, only too slowly. */
    }
    return unlink(path) && errno != ENOENT ? -errno : 0;
}

int unix_socket_listen(const char *path, int *ret_fd)
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
    int fd = make_socket();
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

const char *unix_socket_listen_error(int error)
{
    return error == -EADDRINUSE ? "another process answers there"
           : error == -ENOTSOCK ? "something that is not a socket is there, remove it"
                                : strerror(-error);
}
