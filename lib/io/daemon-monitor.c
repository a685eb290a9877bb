/* The monitor process: starts a worker again after a crash.
 *
 * Threads: the monitor has one.  It holds nothing of the worker's, and is forked from before the worker has done
 * anything, so each worker starts from the same state.
 *
 * A crash is an end by a signal that tells of a programming error.  Any other end is meant, and ends the monitor
 * with the same status.  The first restart is at once; a worker that dies within RESTART_INTERVAL of a restart waits
 * for the rest of it.  A worker that dies before it was ever complete is not restarted: who started it waits, and shall
 * know. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/daemon-private.h"

LOG_MODULE(daemon_monitor);

#ifndef RESTART_INTERVAL_MSEC
#define RESTART_INTERVAL_MSEC 10000
#endif

static bool is_crash(int status)
{
    static const int signals[] = { SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGPIPE, SIGSEGV, SIGXCPU, SIGXFSZ };

    if (WIFSIGNALED(status)) {
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
            if (WTERMSIG(status) == signals[i]) {
                return true;
            }
        }
    }
    return false;
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            fatal(errno, "waitpid failed");
        }
    }
    return status;
}

/* Sleeps until UNTIL on clock_msec()'s scale.  Nothing can happen meanwhile that would be a reason to wake. */
static void wait_until(uint64_t until)
{
    struct timespec ts = { .tv_sec = (time_t) (until / 1000), .tv_nsec = (long) (until % 1000 * 1000000) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR) {
        continue;
    }
}

/* Ends the monitor as the worker ended. */
static NO_RETURN void finish(pid_t pid, int status, bool was_complete)
{
    char text[64];

    daemon_status_text(status, text, sizeof text);
    if (was_complete) {
        log_info("pid %ld died, %s, exiting", (long) pid, text);
    } else if (!WIFEXITED(status) || !WEXITSTATUS(status)) {
        log_err("pid %ld died before its start-up was complete, %s, exiting", (long) pid, text);
    }
    if (WIFEXITED(status) && (was_complete || WEXITSTATUS(status))) {
        _exit(WEXITSTATUS(status));
    }
    _exit(EXIT_FAILURE);
}

/* Says that PID died, and waits if it has died young. */
static void before_restart(pid_t pid, int status, unsigned int n_crashes, uint64_t last_restart)
{
    char text[64];
    uint64_t earliest = last_restart + RESTART_INTERVAL_MSEC;

    daemon_status_text(status, text, sizeof text);
    if (log_file_reopen()) { /* The worker may have been told of a log rotation that this process was not. */
        log_warn("logging goes on to the old log file");
    }
    if (last_restart && clock_msec() < earliest) {
        log_warn("%u crashes: pid %ld died, %s, waiting until %d seconds since last restart", n_crashes, (long) pid,
                 text, RESTART_INTERVAL_MSEC / 1000);
        wait_until(earliest);
    }
    log_err("%u crashes: pid %ld died, %s, restarting", n_crashes, (long) pid, text);
}

/* See daemon-private.h. */
int daemon_monitor(void (*completed)(void))
{
    unsigned int n_crashes = 0;
    uint64_t last_restart = 0;
    bool ever_complete = false;

    for (;;) {
        int fd;
        pid_t pid = daemon_fork(&fd);
        if (!pid) {
            log_set_thread_name("");
            return fd;
        }

        log_set_thread_name("monitor");
        if (daemon_await(fd) && !ever_complete) {
            ever_complete = true;
            completed();
        }
        int status = wait_for(pid);
        if (!ever_complete || !is_crash(status)) {
            finish(pid, status, ever_complete);
        }
        before_restart(pid, status, ++n_crashes, last_restart);
        last_restart = clock_msec();
    }
}
