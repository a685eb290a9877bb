/* The log file.
 *
 * Threads: any writes, without a lock.  The descriptor, once there is one, stays the same number for the life of
 * the process: reopening puts the new file under it with dup3(), which is atomic to writers; closing puts /dev/null
 * there. So no writer ever meets a closed or somebody else's descriptor.  Opening is done by main and by the commands'
 * thread; two at once: the last one wins. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/counter.h"
#include "lib/base/dirs.h"
#include "lib/base/log-private.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(vlog);
COUNTER_DEFINE(log_file_write_failed);

static int file_fd = -1; /* Acquire, release; see above. */
static bool file_open;   /* Relaxed. */
static char *file_name GUARDED_BY(log_lock);

bool log_file_is_open(void) { return __atomic_load_n(&file_open, __ATOMIC_RELAXED); }

/* Writes one line.  A full disk loses lines, and counts them: there is no better place to tell. */
void log_file_write(const char *data, size_t n)
{
    int fd = __atomic_load_n(&file_fd, __ATOMIC_ACQUIRE);
    ssize_t written;

    if (fd < 0) {
        return;
    }
    do {
        written = write(fd, data, n);
    } while (written < 0 && errno == EINTR);
    if (written != (ssize_t) n) {
        COUNTER_INC(log_file_write_failed);
    }
}

static void set_open(bool open)
{
    lock_acquire(&log_lock);
    __atomic_store_n(&file_open, open, __ATOMIC_RELAXED);
    for (struct log_module *m = log_modules; m; m = m->next) {
        log_module_refresh(m);
    }
    lock_release(&log_lock);
}

/* Puts FD, which it takes over, in the place of the log's descriptor. */
static int install(int fd)
{
    int old = __atomic_load_n(&file_fd, __ATOMIC_ACQUIRE);

    if (old < 0) {
        __atomic_store_n(&file_fd, fd, __ATOMIC_RELEASE);
        return 0;
    }
    int error = dup3(fd, old, O_CLOEXEC) < 0 ? -errno : 0;
    close(fd);
    return error;
}

static int open_name(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    int error = fd < 0 ? -errno : install(fd);

    if (error) {
        log_warn("failed to open %s for logging: %s", name, strerror(-error));
        return error;
    }
    set_open(true);
    log_info("opened log file %s", name);
    return 0;
}

/* Starts to log to file NAME (relative to the log directory; NULL: PROGRAM.log).  Returns 0 or -errno, in which case
 * the file used before, if any, stays in use. */
int log_file_open(const char *name)
{
    char *path;

    if (name) {
        path = dir_file(dir_log(), name);
    } else {
        char *base = xasprintf("%s.log", program_name);
        path = dir_file(dir_log(), base);
        free(base);
    }

    int error = open_name(path);
    if (error) {
        free(path);
        return error;
    }
    lock_acquire(&log_lock);
    char *old = file_name;
    file_name = path;
    lock_release(&log_lock);
    free(old);
    return 0;
}

/* Whether the open log file is still the one called NAME. */
static bool is_current(const char *name)
{
    struct stat a, b;

    return log_file_is_open() && !fstat(__atomic_load_n(&file_fd, __ATOMIC_ACQUIRE), &a) && !stat(name, &b) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Opens the same name again, after the file was renamed by log rotation.  Without effect, and 0, if no file was ever
 * opened, or if it was not renamed. */
int log_file_reopen(void)
{
    lock_acquire(&log_lock);
    char *name = file_name ? xstrdup(file_name) : NULL;
    lock_release(&log_lock);
    if (!name) {
        return 0;
    }

    int error = 0;
    if (!is_current(name)) {
        if (log_file_is_open()) {
            log_info("closing log file");
        }
        error = open_name(name);
    }
    free(name);
    return error;
}

/* Stops logging to the file, until log_file_reopen(). */
void log_file_close(void)
{
    if (!log_file_is_open()) {
        return;
    }
    set_open(false);

    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int error = fd < 0 ? -errno : install(fd);
    if (error) {
        /* The lines stop all the same; only the descriptor goes on naming the file. */
        log_warn("cannot let go of the log file: %s", strerror(-error));
    }
}
