/* Detaching, and the order of all that happens when the process starts.
 *
 * Threads: main only, before others exist (a fork keeps only the thread that calls it).
 *
 *     what the user started        waits on a pipe for the child's word, then exits 0
 *       └─ monitor (--monitor)     forks workers, waits for their end, starts another after a crash
 *            └─ worker             returns from daemon_start(); has the pidfile; says the word in daemon_complete()
 *
 * Without --detach the uppermost, without --monitor the middle one is missing.  The word is one byte; a pipe that ends
 * without it means that the child is dead, and its exit status is handed on, up to the user.  Standard error stays open
 * until the word, so the worker itself says what went wrong. */
#include <config.h>

#include "lib/io/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/daemon-private.h"

LOG_MODULE(daemon);

static bool detach, monitor, completed;
static bool change_dir = true;
static int parent_fd = -1; /* Where the word is said; -1: nobody waits. */
static int user_fd = -1;   /* The same in the monitor, for what the user started. */

void daemon_set_detach(void) { detach = true; }
void daemon_set_chdir(bool chdir) { change_dir = chdir; }
void daemon_set_monitor(void) { monitor = true; }
bool daemon_is_detached(void) { return detach; }

/* Puts STATUS, as from waitpid(), in words. */
void daemon_status_text(int status, char *text, size_t size)
{
    if (WIFEXITED(status)) {
        snprintf(text, size, "exit status %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        snprintf(text, size, "killed (%s)%s", strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
    } else {
        snprintf(text, size, "status %#x", (unsigned int) status);
    }
}

/* See daemon-private.h.  Exits the process if the system cannot fork. */
int daemon_fork(int *ret_fd)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC)) {
        fatal(errno, "pipe failed");
    }
    fflush(NULL); /* Or both processes would write what is buffered. */
    pid_t pid = fork();
    if (pid < 0) {
        fatal(errno, "fork failed");
    }
    close(fds[pid ? 1 : 0]);
    *ret_fd = fds[pid ? 0 : 1];
    return pid;
}

/* See daemon-private.h.  Closes FD. */
bool daemon_await(int fd)
{
    char byte;
    ssize_t n;

    do {
        n = read(fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    close(fd);
    return n == 1;
}

/* Says the word on FD, and closes it. */
void daemon_tell(int fd)
{
    ssize_t n;

    do {
        n = write(fd, "", 1);
    } while (n < 0 && errno == EINTR);
    if (n != 1) {
        log_warn("cannot tell the starting process that start-up is complete: %s", strerror(errno));
    }
    close(fd);
}

/* The end of what the user started: 0 if CHILD became complete, else its exit status. */
static NO_RETURN void exit_like(pid_t child, int fd)
{
    char text[64];
    int status;
    pid_t pid;

    if (daemon_await(fd)) {
        _exit(EXIT_SUCCESS);
    }
    do {
        pid = waitpid(child, &status, 0);
    } while (pid < 0 && errno == EINTR);
    if (pid < 0) {
        dprintf(STDERR_FILENO, "%s: waitpid failed (%s)\n", program_name, strerror(errno));
        _exit(EXIT_FAILURE);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status)) {
        _exit(WEXITSTATUS(status)); /* The child has said why. */
    }
    daemon_status_text(status, text, sizeof text);
    dprintf(STDERR_FILENO, "%s: the daemon died before its start-up was complete (%s)\n", program_name, text);
    _exit(EXIT_FAILURE);
}

/* Cuts the ties to the terminal and the working directory. */
static void let_go(void)
{
    if (change_dir && chdir("/")) {
        log_warn("cannot change to the root directory: %s", strerror(errno));
    }
    free(log_set_spec("console:off"));

    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        log_err("cannot open /dev/null: %s", strerror(errno));
        return;
    }
    fflush(stdout);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        if (dup2(fd, i) < 0) {
            log_err("cannot redirect descriptor %d to /dev/null: %s", i, strerror(errno));
        }
    }
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

/* In the monitor, when its first worker is complete. */
static void monitor_completed(void)
{
    if (detach) {
        let_go();
        daemon_tell(user_fd);
        user_fd = -1;
    }
}

/* Descriptors 0, 1, 2 must exist, or the next file opened would become standard error. */
static void fill_standard_fds(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

/* See daemon.h. */
void daemon_start(void)
{
    fill_standard_fds();
    daemon_become_user();
    if (detach) {
        pid_t child = daemon_fork(&parent_fd);
        if (child) {
            exit_like(child, parent_fd);
        }
        setsid();
    }
    if (monitor) {
        user_fd = parent_fd;
        parent_fd = daemon_monitor(monitor_completed);
        if (user_fd >= 0) {
            close(user_fd); /* The worker's copy: only the monitor speaks to the user. */
            user_fd = -1;
        }
    }
    daemon_make_pidfile();
}

/* See daemon.h. */
void daemon_complete(void)
{
    if (completed) {
        return;
    }
    completed = true;
    if (detach) {
        let_go();
    }
    if (parent_fd >= 0) {
        daemon_tell(parent_fd);
        parent_fd = -1;
    }
}
