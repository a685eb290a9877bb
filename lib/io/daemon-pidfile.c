/* The pidfile: tells the worker's pid, and by its lock that the worker lives.
 *
 * Threads: main only.  The lock is fcntl()'s: it belongs to the process, goes with it however that ends, is not
 * inherited over a fork, and is lost if the process closes any descriptor of the file: so nothing else here opens it.
 *
 * A file that nobody has locked is stale and is taken over in place, so that two daemons which start together meet on
 * one inode: the lock decides. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/dirs.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/daemon-private.h"
#include "lib/io/daemon.h"

LOG_MODULE(daemon_pidfile);

static char *pidfile; /* NULL: none is wanted. */
static bool overwrite;
static int pidfile_fd = -1;
static pid_t maker; /* The process that made it. */

/* See daemon.h. */
void daemon_set_pidfile(const char *name)
{
    char *standard = xasprintf("%s.pid", program_name);

    free(pidfile);
    pidfile = dir_file(dir_run(), name ? name : standard);
    free(standard);
}

void daemon_set_overwrite_pidfile(void) { overwrite = true; }
const char *daemon_pidfile(void) { return pidfile; }

/* Whether the file called 'pidfile' is the one open as FD. */
static bool is_same_file(int fd)
{
    struct stat a, b;

    return !fstat(fd, &a) && !stat(pidfile, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Reports who has the lock on FD, and exits. */
static NO_RETURN void already_running(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    /* The pid is 0 or -1 if the holder is in another pid namespace, or has just died. */
    if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK && lock.l_pid > 0) {
        fatal(0, "%s: already running as pid %ld, aborting", pidfile, (long) lock.l_pid);
    }
    fatal(0, "%s: already running, aborting", pidfile);
}

/* Opens and locks the pidfile.  Returns its descriptor, or -1 to try again because it was removed meanwhile. */
static int open_locked(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open(pidfile, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0) {
        fatal(errno, "%s: cannot create pidfile", pidfile);
    }
    if (fcntl(fd, F_SETLK, &lock)) {
        if (errno != EACCES && errno != EAGAIN) {
            fatal(errno, "%s: cannot lock pidfile", pidfile);
        }
        if (!overwrite) {
            already_running(fd);
        }
        log_warn("%s: another process has this pidfile, taking its place as --overwrite-pidfile says", pidfile);
        if (unlink(pidfile) && errno != ENOENT) {
            fatal(errno, "%s: cannot remove pidfile", pidfile);
        }
    } else if (is_same_file(fd)) {
        return fd;
    }
    close(fd);
    return -1;
}

/* See daemon-private.h. */
void daemon_make_pidfile(void)
{
    char text[32];

    if (!pidfile) {
        return;
    }
    do {
        pidfile_fd = open_locked();
    } while (pidfile_fd < 0);

    /* Written over, then cut: who reads it meanwhile finds a pid in its first line. */
    int n = snprintf(text, sizeof text, "%ld\n", (long) getpid());
    if (pwrite(pidfile_fd, text, (size_t) n, 0) != n || ftruncate(pidfile_fd, n)) {
        fatal(errno, "%s: cannot write pidfile", pidfile);
    }
    maker = getpid();
    if (atexit(daemon_cleanup)) {
        log_warn("%s: cannot have the pidfile removed at exit", pidfile);
    }
}

/* See daemon.h. */
void daemon_cleanup(void)
{
    if (pidfile_fd < 0 || maker != getpid()) {
        return;
    }
    /* Somebody with --overwrite-pidfile may have put another in its place. */
    if (is_same_file(pidfile_fd) && unlink(pidfile)) {
        log_warn("%s: cannot remove pidfile: %s", pidfile, strerror(errno));
    }
    close(pidfile_fd);
    pidfile_fd = -1;
}
