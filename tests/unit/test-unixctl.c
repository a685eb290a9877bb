/* The control socket: texts, deferred answers, clients that vanish, junk, crowds, slow readers, restarts. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/base/version.h"
#include "lib/io/loop.h"
#include "lib/io/thread.h"
#include "lib/rpc/unixctl-private.h"
#include "lib/rpc/unixctl.h"

static char dir[] = "/tmp/test-unixctl-XXXXXX";
static char *ctl;
static struct unixctl_server *server;

static struct unixctl_conn *deferred[128]; /* Given to us by the command "defer". */
static unsigned int n_deferred;

static void cmd_echo(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct text t;
    FILE *out = text_open(&t);
    for (int i = 1; i < argc; i++) {
        fprintf(out, "%s[%s]", i > 1 ? " " : "", argv[i]);
    }
    unixctl_reply_take(conn, text_close(&t));
}

static void cmd_defer(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    unsigned int n = __atomic_load_n(&n_deferred, __ATOMIC_RELAXED);
    deferred[n] = conn;
    __atomic_store_n(&n_deferred, n + 1, __ATOMIC_RELEASE);
}

static void cmd_empty(struct unixctl_conn *conn, int argc, const char *argv[], void *aux) { unixctl_reply(conn, NULL); }

static void cmd_fail(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    unixctl_error(conn, "no %s", argv[1]);
}

static void cmd_bytes(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    unixctl_reply(conn, "a\xff"
                        "b\xc3\xa9\xe2\x82");
}

static void cmd_big(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    size_t n = 4u << 20;
    char *s = xmalloc(n + 1);
    memset(s, 'x', n);
    s[n] = '\0';
    unixctl_reply_take(conn, s);
}

static int start(void **state)
{
    unixctl_register("test/echo", "[ARG]...", 0, INT_MAX, cmd_echo, NULL);
    unixctl_register("test/defer", "", 0, 0, cmd_defer, NULL);
    unixctl_register("test/empty", "", 0, 0, cmd_empty, NULL);
    unixctl_register("test/fail", "WHAT", 1, 2, cmd_fail, NULL);
    unixctl_register("test/bytes", NULL, 0, 0, cmd_bytes, NULL);
    unixctl_register("test/big", NULL, 0, 0, cmd_big, NULL);
    n_deferred = 0;
    return unixctl_server_start(ctl, &server);
}

static int stop(void **state)
{
    unixctl_server_stop(server);
    server = NULL;
    return access(ctl, F_OK) ? 0 : -1; /* The socket is removed. */
}

/* A client. */

static int client(void)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    strncpy(sun.sun_path, ctl, sizeof sun.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *) &sun, sizeof sun), 0);
    return fd;
}

static bool send_bytes(int fd, const char *s, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, s, n, MSG_NOSIGNAL);
        if (sent < 0) {
            return false;
        }
        s += sent;
        n -= sent;
    }
    return true;
}

static bool send_text(int fd, const char *s) { return send_bytes(fd, s, strlen(s)); }

/* Reads until TEXT_LEN bytes came, the connection ended, or 10 s passed without a byte.  Returns the text, the
 * thread's own. */
static const char *receive(int fd, size_t text_len)
{
    static _Thread_local char buf[4096];
    size_t n = 0;
    assert_true(text_len < sizeof buf);
    while (n < text_len) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (poll(&p, 1, 10000) <= 0) {
            break;
        }
        ssize_t got = read(fd, buf + n, text_len - n);
        if (got <= 0) {
            break;
        }
        n += got;
    }
    buf[n] = '\0';
    return buf;
}

static void expect(int fd, const char *want) { assert_string_equal(receive(fd, strlen(want)), want); }

/* The server closes FD without having said anything. */
static void expect_closed(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char c;
    assert_int_equal(poll(&p, 1, 10000), 1);
    ssize_t n = read(fd, &c, 1);
    assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
    close(fd);
}

static void roundtrip(const char *request, const char *want)
{
    int fd = client();
    assert_true(send_text(fd, request));
    expect(fd, want);
    close(fd);
}

static void await_deferred(unsigned int n)
{
    uint64_t deadline = clock_msec() + 10000;
    while (__atomic_load_n(&n_deferred, __ATOMIC_ACQUIRE) < n) {
        assert_true(clock_msec() < deadline);
        poll(NULL, 0, 1);
    }
}

static unsigned int count_entries(const char *path)
{
    DIR *d = opendir(path);
    unsigned int n = 0;
    assert_non_null(d);
    while (readdir(d)) {
        n++;
    }
    closedir(d);
    return n;
}

static void alive(void)
{
    roundtrip("{\"method\":\"test/echo\",\"params\":[\"x\"],\"id\":1}",
              "{\"id\":1,\"result\":\"[x]\\n\",\"error\":null}");
}

/* Tests. */

static void test_texts_are_those_of_the_existing_daemon(void **state)
{
    char *want;
    want = xasprintf("{\"id\":0,\"result\":\"%s (Open vSwitch) " OVS_COMPAT_VERSION "\\nSluice " PACKAGE_VERSION
                     "\\n\",\"error\":null}",
                     program_name);
    roundtrip("{\"id\":0,\"method\":\"version\",\"params\":[]}", want);
    free(want);
    roundtrip("{\"id\":\"a\",\"method\":\"nosuch\",\"params\":[]}",
              "{\"id\":\"a\",\"error\":\"\\\"nosuch\\\" is not a valid command (use \\\"list-commands\\\" to see a "
              "list of valid commands)\\n\"}");
    roundtrip("{\"id\":[1],\"method\":\"test/fail\",\"params\":[]}",
              "{\"id\":[1],\"error\":\"\\\"test/fail\\\" command requires at least 1 arguments\\n\"}");
    roundtrip("{\"id\":1,\"method\":\"test/fail\",\"params\":[\"a\",\"b\",\"c\"]}",
              "{\"id\":1,\"error\":\"\\\"test/fail\\\" command takes at most 2 arguments\\n\"}");
    roundtrip("{\"id\":1,\"method\":\"test/echo\",\"params\":[\"a\",7]}",
              "{\"id\":1,\"error\":\"\\\"test/echo\\\" command has non-string argument\\n\"}");
    roundtrip("{\"id\":1,\"method\":\"test/fail\",\"params\":[\"luck\"]}", "{\"id\":1,\"error\":\"no luck\\n\"}");
    roundtrip("{\"id\":1,\"method\":\"test/empty\",\"params\":[]}", "{\"id\":1,\"result\":\"\",\"error\":null}");
    roundtrip("{\"id\":1,\"method\":\"list-commands\",\"params\":[]}",
              "{\"id\":1,\"result\":\"The available commands are:\\n"
              "  list-commands           \\n"
              "  test/defer              \\n"
              "  test/echo               [ARG]...\\n"
              "  test/empty              \\n"
              "  test/fail               WHAT\\n"
              "  version                 \\n\",\"error\":null}");
}

static void test_requests_may_come_in_pieces_or_together(void **state)
{
    int fd = client();
    const char *request = " {\"id\":1,\"method\":\"test/echo\",\"params\":[\"}\\\"{\\\\\"]}\n";
    for (const char *p = request; *p; p++) {
        assert_true(send_bytes(fd, p, 1));
    }
    expect(fd, "{\"id\":1,\"result\":\"[}\\\"{\\\\]\\n\",\"error\":null}");
    assert_true(send_text(fd, "{\"id\":2,\"method\":\"test/echo\",\"params\":[]}{\"id\":3,\"method\":\"test/echo\","
                              "\"params\":[\"a\"]} {\"id\":4,\"method\":\"test/empty\",\"params\":[]}"));
    /* A client may say that it is at its end and still read the answers. */
    shutdown(fd, SHUT_WR);
    expect(fd, "{\"id\":2,\"result\":\"\",\"error\":null}{\"id\":3,\"result\":\"[a]\\n\",\"error\":null}"
               "{\"id\":4,\"result\":\"\",\"error\":null}");
    expect_closed(fd);
}

static void test_bytes_that_are_no_text_are_replaced(void **state)
{
    roundtrip("{\"id\":1,\"method\":\"test/bytes\",\"params\":[]}",
              "{\"id\":1,\"result\":\"a\xef\xbf\xbd"
              "b\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\\n\",\"error\":null}");
}

static void test_a_deferred_answer_holds_up_its_own_client_only(void **state)
{
    int fd = client();
    assert_true(send_text(fd, "{\"id\":1,\"method\":\"test/defer\",\"params\":[]}"
                              "{\"id\":2,\"method\":\"test/empty\",\"params\":[]}"));
    await_deferred(1);
    alive();
    struct pollfd p = { .fd = fd, .events = POLLIN };
    assert_int_equal(poll(&p, 1, 50), 0); /* Neither the answer, nor the next request's. */
    unixctl_reply(deferred[0], "done");
    expect(fd, "{\"id\":1,\"result\":\"done\\n\",\"error\":null}{\"id\":2,\"result\":\"\",\"error\":null}");
    close(fd);
}

static void test_a_client_may_vanish_before_its_answer(void **state)
{
    for (int i = 0; i < 12; i++) { /* Fewer than are served at a time: each counts until it is answered. */
        int fd = client();
        assert_true(send_text(fd, "{\"id\":1,\"method\":\"test/defer\",\"params\":[]}"));
        await_deferred(i + 1);
        if (i % 2) {
            struct linger l = { .l_onoff = 1 };
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
        }
        close(fd);
    }
    alive();
    for (int i = 0; i < 12; i++) {
        if (i % 3) {
            unixctl_reply(deferred[i], "too late");
        } else {
            unixctl_error(deferred[i], "too late");
        }
    }
    alive();
}

static void test_an_answer_may_come_after_the_server_is_gone(void **state)
{
    int fd = client(), gone = client();
    assert_true(send_text(fd, "{\"id\":1,\"method\":\"test/defer\",\"params\":[]}"));
    await_deferred(1);
    assert_true(send_text(gone, "{\"id\":1,\"method\":\"test/defer\",\"params\":[]}"));
    await_deferred(2);
    close(gone);
    stop(NULL);
    unixctl_reply(deferred[0], "too late");
    unixctl_reply(deferred[1], "too late");
    expect_closed(fd);
    assert_int_equal(start(NULL), 0);
}

static void test_answers_that_are_due_are_flushed_at_the_end(void **state)
{
    int fd = client();
    assert_true(send_text(fd, "{\"id\":1,\"method\":\"test/defer\",\"params\":[]}"));
    await_deferred(1);
    unixctl_reply(deferred[0], "bye");
    stop(NULL);
    expect(fd, "{\"id\":1,\"result\":\"bye\\n\",\"error\":null}");
    expect_closed(fd);
    assert_int_equal(start(NULL), 0);
}

static void send_junk(const char *s, size_t n)
{
    int fd = client();
    send_bytes(fd, s, n);
    expect_closed(fd);
}

static void test_junk_closes_its_connection_and_hurts_nobody(void **state)
{
    static const char *const junk[] = {
        "GET / HTTP/1.0\r\n\r\n",
        "[1,2]",
        "\"text\"",
        "{]",
        "{\"a\":}",
        "}",
        "{\"id\":1}",
        "{\"id\":1,\"method\":7,\"params\":[]}",
        "{\"id\":1,\"method\":\"version\",\"params\":{}}",
        "{\"id\":1,\"method\":\"version\"}",
        "{\"id\":null,\"method\":\"version\",\"params\":[]}",
        "{\"method\":\"version\",\"params\":[]}",
        "{\"id\":1,\"method\":\"version\",\"params\":[],\"x\":1}",
        "{\"id\":1,\"result\":\"x\",\"error\":null}",
        "{\"id\":1,\"method\":\"version\\u0000\",\"params\":[]}",
        "{\"id\":1,\"method\":\"\xff\xfe\",\"params\":[]}",
        "{\"id\":99999999999999999999,\"method\":\"version\",\"params\":[]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
        send_junk(junk[i], strlen(junk[i]));
    }
    send_junk("\0\xff\x80", 3);

    /* Deep, in the scanner's sense and in brackets only. */
    char *deep = xmalloc(100000);
    memset(deep, '[', 100000);
    deep[0] = '{';
    send_junk(deep, 100000);
    free(deep);

    /* Long. */
    size_t n = 3u << 20;
    char *big = xmalloc(n);
    memset(big, 'x', n);
    memcpy(big, "{\"", 2);
    send_junk(big, n);
    free(big);
    alive();
}

static void test_random_bytes_hurt_nobody(void **state)
{
    static const char alphabet[] = "{}[]\":,\\idmethodparams01 \n\xff";
    unsigned int seed = 1;
    for (int i = 0; i < 300; i++) {
        char s[200];
        s[0] = '{';
        for (size_t j = 1; j < sizeof s; j++) {
            s[j] = alphabet[rand_r(&seed) % (sizeof alphabet - 1)];
        }
        int fd = client();
        send_bytes(fd, s, sizeof s);
        close(fd);
    }
    alive();
}

static void test_silent_clients_make_room_for_others(void **state)
{
    int fds[60];
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = client();
        send_text(fds[i], i % 2 ? "{\"id\":1,\"meth" : "");
    }
    alive();
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
}

static void *crowd_member(void *arg)
{
    for (int i = 0; i < 20; i++) {
        alive();
    }
    return NULL;
}

static void test_a_crowd_is_served(void **state)
{
    unsigned int before = count_entries("/proc/self/fd");
    pthread_t threads[100];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_member, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    uint64_t deadline = clock_msec() + 10000;
    while (count_entries("/proc/self/fd") > before) {
        assert_true(clock_msec() < deadline);
        poll(NULL, 0, 10);
    }
}

static void test_unread_answers_are_bounded(void **state)
{
    int fds[5];
    unsigned int refused = 0;
    size_t old = unixctl_max_unread;
    unixctl_max_unread = 16u << 20;
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = client();
        assert_true(send_text(fds[i], "{\"id\":1,\"method\":\"test/big\",\"params\":[]}"));
        const char *got = receive(fds[i], 30); /* The beginning, and no more. */
        refused += strstr(got, "{\"id\":1,\"error\":\"too many") != NULL;
    }
    assert_int_equal(refused, 1); /* 4 MiB each: the socket takes some, four fit into what the server holds. */
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    alive();
    unixctl_max_unread = old;
}

static void test_socket_is_as_private_as_the_umask_says_and_a_stale_one_is_replaced(void **state)
{
    struct stat st;
    stop(NULL);
    mode_t old = umask(0);
    assert_int_equal(start(NULL), 0);
    umask(old);
    assert_int_equal(lstat(ctl, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0770);
    stop(NULL);

    int fd = socket(AF_UNIX, SOCK_STREAM, 0); /* What a killed process leaves. */
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    strncpy(sun.sun_path, ctl, sizeof sun.sun_path - 1);
    assert_int_equal(bind(fd, (struct sockaddr *) &sun, sizeof sun), 0);
    close(fd);
    assert_int_equal(start(NULL), 0);
    alive();

    struct unixctl_server *second = NULL;
    assert_int_equal(unixctl_server_start(ctl, &second), -EADDRINUSE);
    assert_null(second);
    alive();

    char *file = xasprintf("%s/file", dir);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(unixctl_server_start(file, &second), -ENOTSOCK);
    unlink(file);
    free(file);
    assert_int_equal(unixctl_server_start("/nonexistent/x.ctl", &second), -ENOENT);
}

/* Runs a command of the shell, returns its exit status and, in OUT, what it printed on both outputs. */
static int shell(const char *command, char *out, size_t size)
{
    char *line = xasprintf("{ %s; } 2>&1", command);
    FILE *p = popen(line, "r");
    assert_non_null(p);
    size_t n = fread(out, 1, size - 1, p);
    out[n] = '\0';
    free(line);
    return WEXITSTATUS(pclose(p));
}

static void test_the_stock_ovs_appctl_is_served(void **state)
{
    char out[4096], *command;
    if (system("command -v ovs-appctl >/dev/null")) {
        skip();
    }
    command = xasprintf("ovs-appctl -t %s version", ctl);
    assert_int_equal(shell(command, out, sizeof out), 0);
    free(command);
    assert_non_null(strstr(out, "(Open vSwitch) " OVS_COMPAT_VERSION "\nSluice "));
    command = xasprintf("ovs-appctl -t %s test/fail luck", ctl);
    assert_int_equal(shell(command, out, sizeof out), 2);
    free(command);
    command = xasprintf("no luck\novs-appctl: %s: server returned an error\n", ctl);
    assert_string_equal(out, command);
    free(command);
}

static void test_a_path_longer_than_an_address_works(void **state)
{
    char *sub = xasprintf("%s/%0120d", dir, 0), *path = xasprintf("%s/x.ctl", sub);
    struct unixctl_server *second;
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(unixctl_server_start(path, &second), 0);
    assert_int_equal(access(path, F_OK), 0);
    unixctl_server_stop(second);
    assert_int_not_equal(access(path, F_OK), 0);
    rmdir(sub);
    free(path);
    free(sub);
}

static void test_nothing_is_left_after_many_rounds(void **state)
{
    stop(NULL);
    unsigned int fds = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
    for (int i = 0; i < 50; i++) {
        assert_int_equal(start(NULL), 0);
        alive();
        stop(NULL);
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_entries("/proc/self/task"), threads);
    assert_int_equal(start(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(test_##NAME, start, stop)
        TEST(texts_are_those_of_the_existing_daemon),
        TEST(requests_may_come_in_pieces_or_together),
        TEST(bytes_that_are_no_text_are_replaced),
        TEST(a_deferred_answer_holds_up_its_own_client_only),
        TEST(a_client_may_vanish_before_its_answer),
        TEST(an_answer_may_come_after_the_server_is_gone),
        TEST(answers_that_are_due_are_flushed_at_the_end),
        TEST(junk_closes_its_connection_and_hurts_nobody),
        TEST(random_bytes_hurt_nobody),
        TEST(silent_clients_make_room_for_others),
        TEST(a_crowd_is_served),
        TEST(unread_answers_are_bounded),
        TEST(socket_is_as_private_as_the_umask_says_and_a_stale_one_is_replaced),
        TEST(the_stock_ovs_appctl_is_served),
        TEST(a_path_longer_than_an_address_works),
        TEST(nothing_is_left_after_many_rounds),
    };

    if (!mkdtemp(dir)) {
        return 1;
    }
    ctl = xasprintf("%s/test.ctl", dir);
    thread_main_init();
    loop_init();
    free(log_set_spec("console:off"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    loop_uninit();
    thread_main_uninit();
    rmdir(dir);
    free(ctl);
    return failed;
}
