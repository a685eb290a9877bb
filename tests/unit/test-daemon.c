/* Detaching, pidfile, monitor, change of user: lib/io/daemon*.c.
 *
 *     test ── fork ──► "user's command" ── daemon_start() ──► [monitor] ──► worker
 *
 * The test adopts orphans (PR_SET_CHILD_SUBREAPER), so it sees the end of each.  A worker reports its pid on a pipe
 * when it is in service, and does what it is told over another. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The real one would make this test take half a minute. */
#define RESTART_INTERVAL_MSEC 400
#include "lib/io/daemon-monitor.c"

#include "lib/io/daemon.h"

static char dir[] = "/tmp/test-daemon-XXXXXX";
static char *pidfile, *err_file;
static int report[2], orders[2]; /* Pipes: from the workers, to the workers. */

enum { DETACH = 1, MONITOR = 2, OVERWRITE = 4, NO_CHDIR = 8, MUTE = 16 };

/* The life of a worker.  Orders: 'c' complete, 'e' exit 0, '7' exit 7, 's' die by SIGSEGV, 'f' let a child clean up. */
static NO_RETURN void work(void)
{
    pid_t pid = getpid();
    char order;

    if (write(report[1], &pid, sizeof pid) != sizeof pid) {
        _exit(99);
    }
    while (read(orders[0], &order, 1) == 1) {
        switch (order) {
        case 'c':
            daemon_complete();
            break;
        case 'e':
            exit(0);
        case '7':
            exit(7);
        case 's':
            signal(SIGSEGV, SIG_DFL);
            raise(SIGSEGV);
            break;
        case 'f':
            if (!fork()) {
                exit(0);
            }
            wait(NULL);
            break;
        default:
            _exit(98);
        }
        if (write(report[1], &pid, sizeof pid) != sizeof pid) {
            _exit(99);
        }
    }
    _exit(97);
}

/* Runs the user's command.  Its standard error goes to a file. */
static pid_t start(unsigned int flags)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid) {
        return pid;
    }
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    if (!freopen(err_file, "w", stderr)) {
        _exit(96);
    }
    close(orders[1]);
    close(report[0]);
    free(log_set_spec("any:console:warn"));
    free(log_set_spec("syslog:off"));
    daemon_set_pidfile(pidfile);
    if (flags & DETACH) {
        daemon_set_detach();
    }
    if (flags & MONITOR) {
        daemon_set_monitor();
    }
    if (flags & OVERWRITE) {
        daemon_set_overwrite_pidfile();
    }
    daemon_set_chdir(!(flags & NO_CHDIR));
    if (flags & MUTE) {
        free(log_set_spec("console:off"));
    }
    daemon_start();
    work();
}

static pid_t await_report(void)
{
    pid_t pid = 0;
    assert_int_equal(read(report[0], &pid, sizeof pid), sizeof pid);
    return pid;
}

static void order(char c) { assert_int_equal(write(orders[1], &c, 1), 1); }

static int status_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_exits(pid_t pid, int expected)
{
    int status = status_of(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), expected);
}

static const char *read_file(const char *name)
{
    static char text[4096];
    FILE *f = fopen(name, "r");

    if (!f) {
        return NULL;
    }
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void assert_pidfile_has(pid_t pid)
{
    char expected[32];

    snprintf(expected, sizeof expected, "%ld\n", (long) pid);
    const char *text = read_file(pidfile);
    assert_non_null(text);
    assert_string_equal(text, expected);
}

static void assert_link(pid_t pid, const char *what, const char *expected)
{
    char name[64], target[256];

    snprintf(name, sizeof name, "/proc/%ld/%s", (long) pid, what);
    ssize_t n = readlink(name, target, sizeof target - 1);
    assert_true(n > 0);
    target[n] = '\0';
    assert_string_equal(target, expected);
}

static int setup(void **state)
{
    unlink(pidfile);
    return pipe(report) || pipe(orders);
}

static int teardown(void **state)
{
    close(report[0]);
    close(report[1]);
    close(orders[0]);
    close(orders[1]);
    /* No process of a test outlives it. */
    return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
}

static void test_parent_exits_only_when_the_worker_is_complete(void **state)
{
    pid_t parent = start(DETACH), worker = await_report();

    assert_true(worker != parent);
    assert_pidfile_has(worker); /* Before the parent exits. */
    assert_int_equal(waitpid(parent, NULL, WNOHANG), 0);
    order('c');
    assert_exits(parent, 0);
    assert_int_equal(await_report(), worker);
    assert_int_equal(getsid(worker), worker);
    assert_link(worker, "cwd", "/");
    assert_link(worker, "fd/0", "/dev/null");
    assert_link(worker, "fd/1", "/dev/null");
    assert_link(worker, "fd/2", "/dev/null");
    order('c'); /* Again is harmless. */
    assert_int_equal(await_report(), worker);
    order('e');
    assert_exits(worker, 0);
    assert_int_equal(access(pidfile, F_OK), -1);
    assert_string_equal(read_file(err_file), "");
}

static void test_no_chdir_stays(void **state)
{
    char cwd[256];
    pid_t parent = start(DETACH | NO_CHDIR), worker = await_report();

    order('c');
    assert_exits(parent, 0);
    await_report();
    assert_link(worker, "cwd", getcwd(cwd, sizeof cwd));
    order('e');
    assert_exits(worker, 0);
}

static void test_early_death_is_no_success(void **state)
{
    for (unsigned int flags = DETACH; flags <= (DETACH | MONITOR); flags += MONITOR) {
        pid_t parent = start(flags);
        await_report();
        order('7');
        assert_exits(parent, 7);
        assert_string_equal(read_file(err_file), "");

        parent = start(flags);
        await_report();
        order('e');
        assert_exits(parent, 1);
        assert_non_null(strstr(read_file(err_file), "before its start-up was complete"));

        parent = start(flags | MUTE);
        await_report();
        order('s');
        assert_exits(parent, 1);
        if (!(flags & MONITOR)) {
            assert_string_equal(read_file(err_file), "ovs-vswitchd: the daemon died before its start-up was complete "
                                                     "(killed (Segmentation fault))\n");
        }
        while (waitpid(-1, NULL, 0) > 0) {
            continue; /* The orphans. */
        }
    }
}

static void test_second_daemon_says_one_line(void **state)
{
    pid_t first = start(0), worker = await_report();
    char expected[512];

    assert_int_equal(first, worker); /* In the foreground nothing forks. */
    snprintf(expected, sizeof expected, "ovs-vswitchd: %s: already running as pid %ld, aborting\n", pidfile,
             (long) worker);
    static const unsigned int ways[] = { 0, DETACH, MONITOR, DETACH | MONITOR };
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        assert_exits(start(ways[i]), 1);
        assert_string_equal(read_file(err_file), expected);
        if (ways[i] & DETACH) {
            while (waitpid(-1, NULL, WNOHANG) > 0) {
                continue;
            }
        }
    }
    assert_pidfile_has(worker);
    order('e');
    assert_exits(worker, 0);
    while (waitpid(-1, NULL, 0) > 0) {
        continue;
    }
}

static void test_overwrite_takes_the_place_and_keeps_it(void **state)
{
    pid_t first = start(0);
    await_report();
    pid_t second = start(OVERWRITE | MUTE);
    assert_int_equal(await_report(), second);
    assert_pidfile_has(second);
    kill(first, SIGKILL);
    status_of(first);
    order('e');
    assert_exits(second, 0);
    assert_int_equal(access(pidfile, F_OK), -1);
}

static void test_stale_pidfile_is_taken_over(void **state)
{
    FILE *f = fopen(pidfile, "w");
    fputs("12345678901234\nold\n", f);
    fclose(f);

    pid_t worker = start(0);
    await_report();
    assert_pidfile_has(worker);
    order('f'); /* A child's exit does not remove it, nor lose the lock. */
    await_report();
    assert_pidfile_has(worker);
    assert_exits(start(0), 1);
    kill(worker, SIGKILL);
    status_of(worker);
    assert_pidfile_has(worker); /* Stale again. */

    worker = start(0);
    await_report();
    order('e');
    assert_exits(worker, 0);
}

static void test_monitor_restarts_after_crashes_not_too_fast(void **state)
{
    pid_t parent = start(DETACH | MONITOR | MUTE), first = await_report();

    order('c');
    assert_exits(parent, 0);
    await_report();
    order('s');
    pid_t second = await_report();
    assert_true(second != first);
    assert_pidfile_has(second);
    order('c');
    await_report();

    uint64_t before = clock_msec();
    order('s');
    pid_t third = await_report();
    assert_true(third != second);
    assert_true(clock_msec() - before >= RESTART_INTERVAL_MSEC / 2);
    order('7'); /* An exit is meant: the monitor follows. */
    int status;
    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(access(pidfile, F_OK), -1);
}

static void test_monitor_in_the_foreground_ends_as_the_worker(void **state)
{
    pid_t monitor = start(MONITOR), worker = await_report();

    assert_true(monitor != worker);
    order('c');
    await_report();
    order('7');
    assert_exits(monitor, 7);

    monitor = start(MONITOR | MUTE);
    worker = await_report();
    order('c');
    await_report();
    kill(worker, SIGTERM); /* No crash. */
    assert_exits(monitor, 1);
}

static unsigned long long capabilities(void)
{
    const char *text = read_file("/proc/self/status");
    const char *line = text ? strstr(text, "CapEff:") : NULL;

    return line ? strtoull(line + 7, NULL, 16) : 0;
}

static void test_user_keeps_what_a_datapath_needs(void **state)
{
    const struct passwd *pw = getpwnam("nobody");
    const struct group *gr = getgrnam("nogroup");

    if (geteuid() || !pw || !gr) {
        skip();
    }
    uid_t uid = pw->pw_uid;
    gid_t gid = gr->gr_gid;
    unsigned long long expected = capabilities() & 0x7c00;
    pid_t pid = fork();
    if (!pid) {
        daemon_set_user("nobody:nogroup");
        daemon_start();
        if (getuid() != uid || geteuid() != uid || getgid() != gid || getegid() != gid || getgroups(0, NULL) > 1) {
            _exit(1);
        }
        _exit(capabilities() == expected ? 0 : 2);
    }
    assert_exits(pid, 0);

    pid = fork();
    if (!pid) {
        daemon_set_user("root");
        daemon_start();
        _exit(!getuid() && capabilities() == expected ? 0 : 2);
    }
    assert_exits(pid, 0);
}

static void assert_user_refused(const char *spec, const char *message)
{
    pid_t pid = fork();

    if (!pid) {
        if (freopen(err_file, "w", stderr)) {
            daemon_set_user(spec);
        }
        _exit(0);
    }
    assert_exits(pid, 1);
    assert_string_equal(read_file(err_file), message);
}

static void test_bad_users_are_refused_in_words(void **state)
{
    assert_user_refused("no-such-user", "ovs-vswitchd: --user: there is no user \"no-such-user\"\n");
    assert_user_refused(":no-such-group", "ovs-vswitchd: --user: there is no group \"no-such-group\"\n");
    assert_user_refused(":", "ovs-vswitchd: --user: \":\" names neither user nor group; use USER, USER:GROUP or "
                             ":GROUP\n");
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_parent_exits_only_when_the_worker_is_complete),
        TEST(test_no_chdir_stays),
        TEST(test_early_death_is_no_success),
        TEST(test_second_daemon_says_one_line),
        TEST(test_overwrite_takes_the_place_and_keeps_it),
        TEST(test_stale_pidfile_is_taken_over),
        TEST(test_monitor_restarts_after_crashes_not_too_fast),
        TEST(test_monitor_in_the_foreground_ends_as_the_worker),
        TEST(test_user_keeps_what_a_datapath_needs),
        TEST(test_bad_users_are_refused_in_words),
    };
    if (!mkdtemp(dir) || prctl(PR_SET_CHILD_SUBREAPER, 1)) {
        perror("setup");
        return 1;
    }
    pidfile = xasprintf("%s/x.pid", dir);
    err_file = xasprintf("%s/stderr", dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(pidfile);
    unlink(err_file);
    rmdir(dir);
    free(pidfile);
    free(err_file);
    return failed;
}
