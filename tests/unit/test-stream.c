/* Streams and listeners without TLS: both families and unix sockets, modes, stale sockets, errors, ends, many at once.
 */
#include <config.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/stream-kit.h"

static const struct stream_options plain = { .dscp = -1 };

/* A connection at NAME (passive), seen from both ends. */
static void connect_pair(struct stream_listener *l, const char *target, struct end *client, struct end *server)
{
    expect_no_error(stream_open(loop_base(), target, &plain, &end_ops, client, &client->s));
    assert_int_equal(client->connected, 0); /* Not from within. */
    UNTIL(client->connected && server->connected);
    assert_int_equal(client->connected, 1);
    assert_int_equal(server->connected, 1);
}

static void check_echo(const char *passive, const char *kind, const char *host)
{
    struct end client = { 0 }, server = { 0 };
    struct stream_listener *l;
    expect_no_error(stream_listener_open(loop_base(), passive, &plain, kit_accepted, &server, &l));
    char *target = host[0] == '/' ? xasprintf("unix:%s", host) : kit_target(kind, host, l);
    connect_pair(l, target, &client, &server);
    assert_string_equal(stream_name(client.s), target);
    assert_memory_equal(stream_name(server.s), host[0] == '/' ? "unix" : "tcp:", 4);
    talk(&client, &server, "hello");
    talk(&server, &client, "hello yourself");
    assert_int_equal(stream_written(server.s), 14);
    end_close(&client);
    UNTIL(server.eofs);
    assert_int_equal(server.closed, 0);
    end_close(&server);
    stream_listener_destroy(l);
    free(target);
}

static void test_bytes_go_both_ways_over_every_kind(void **state)
{
    char *path = kit_file("socket"), *passive = xasprintf("punix:%s", path);
    check_echo("ptcp:0:127.0.0.1", "tcp", "127.0.0.1");
    check_echo("ptcp:0", "tcp", "127.0.0.1");
    check_echo("ptcp:0:[::1]", "tcp", "[::1]");
    check_echo(passive, "unix", path);
    assert_int_equal(access(path, F_OK), -1); /* Removed. */
    free(path);
    free(passive);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void test_a_unix_socket_has_its_mode_and_replaces_a_stale_one(void **state)
{
    char *path = kit_file("mode"), *name = xasprintf("punix:%s", path);
    struct end server = { 0 };
    struct stream_listener *l, *second;
    mode_t old = umask(0027);
    expect_no_error(stream_listener_open(loop_base(), name, &plain, kit_accepted, &server, &l));
    assert_int_equal(mode_of(path), 0750);
    /* Somebody answers. */
    expect_error(stream_listener_open(loop_base(), name, &plain, kit_accepted, &server, &second),
                 "mode: cannot listen: another process answers there");
    turn();
    end_close(&server); /* The attempt was a connection. */
    stream_listener_destroy(l);

    umask(0);
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    strcpy(sun.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &sun, sizeof sun), 0);
    close(fd); /* Stale: nobody listens. */
    expect_no_error(stream_listener_open(loop_base(), name, &plain, kit_accepted, &server, &l));
    assert_int_equal(mode_of(path), 0770);
    stream_listener_destroy(l);

    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    expect_error(stream_listener_open(loop_base(), name, &plain, kit_accepted, &server, &l),
                 "something that is not a socket is there");
    assert_int_equal(access(path, F_OK), 0);
    umask(old);
    free(path);
    free(name);
}

static void test_a_name_for_the_other_side_is_an_error(void **state)
{
    struct stream *s;
    struct stream_listener *l;
    struct end e;
    expect_error(stream_open(loop_base(), "ptcp:1", &plain, &end_ops, NULL, &s), "ptcp:1: this is to listen at");
    expect_error(stream_open(loop_base(), "what:1", &plain, &end_ops, NULL, &s), "is not the name of a connection");
    expect_error(stream_listener_open(loop_base(), "tcp:127.0.0.1", &plain, kit_accepted, &e, &l), "is to connect to");
    expect_error(stream_listener_open(loop_base(), "ptcp:1:x", &plain, kit_accepted, &e, &l), "\"x\" is not an IPv4");
    expect_error(stream_listener_open(loop_base(), "pssl:0", &plain, kit_accepted, &e, &l), "there is no TLS here");
    expect_error(stream_listener_open(loop_base(), "ptcp:0:192.0.2.1", &plain, kit_accepted, &e, &l),
                 "ptcp:0:192.0.2.1: cannot listen: Cannot assign requested address");
}

static void test_a_refused_connection_says_so(void **state)
{
    struct end e = { 0 };
    struct stream_listener *l;
    expect_no_error(stream_listener_open(loop_base(), "ptcp:0:127.0.0.1", &plain, kit_accepted, &e, &l));
    char *target = kit_target("tcp", "127.0.0.1", l);
    stream_listener_destroy(l);
    char *why = stream_open(loop_base(), target, &plain, &end_ops, &e, &e.s);
    if (!why) {
        UNTIL(e.closed);
        assert_int_equal(e.error, -ECONNREFUSED);
        why = xstrdup(e.why);
        end_close(&e);
    }
    expect_error(why, "Connection refused");
    free(target);
    char *path = kit_file("nobody");
    target = xasprintf("unix:%s", path);
    expect_error(stream_open(loop_base(), target, &plain, &end_ops, &e, &e.s), "No such file or directory");
    free(target);
    free(path);
}

/* A listener that never accepts and whose backlog is full lets TCP wait. */
static void test_connecting_takes_a_bounded_time(void **state)
{
    struct end e[8] = { 0 };
    struct stream_options options = { .dscp = -1, .connect_msec = 50 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sin;
    assert_int_equal(
        bind(fd, (struct sockaddr *) &sin, len) || listen(fd, 0) || getsockname(fd, (struct sockaddr *) &sin, &len), 0);
    char *target = xasprintf("tcp:127.0.0.1:%u", ntohs(sin.sin_port));
    for (int i = 0; i < 8; i++) {
        expect_no_error(stream_open(loop_base(), target, &options, &end_ops, &e[i], &e[i].s));
    }
    UNTIL(e[7].closed);
    assert_int_equal(e[7].error, -ETIMEDOUT);
    assert_string_equal(e[7].why, "Connection timed out");
    for (int i = 0; i < 8; i++) {
        end_close(&e[i]);
    }
    close(fd);
    free(target);
}

static void test_the_dscp_is_on_the_socket(void **state)
{
    int tos = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof tos;
    assert_int_equal(stream_set_dscp(fd, AF_INET, 48), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_TOS, &tos, &len), 0);
    assert_int_equal(tos, 48 << 2);
    close(fd);
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    assert_int_equal(stream_set_dscp(fd, AF_INET6, 46), 0);
    assert_int_equal(getsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, &len), 0);
    assert_int_equal(tos, 46 << 2);
    close(fd);
}

static void test_a_stream_may_be_destroyed_when_it_is_connected(void **state)
{
    struct end client = { .destroy_when_connected = true }, server = { .destroy_when_connected = true };
    struct stream_listener *l;
    expect_no_error(stream_listener_open(loop_base(), "ptcp:0:127.0.0.1", &plain, kit_accepted, &server, &l));
    char *target = kit_target("tcp", "127.0.0.1", l);
    connect_pair(l, target, &client, &server);
    assert_null(client.s);
    assert_null(server.s);
    /* And before. */
    expect_no_error(stream_open(loop_base(), target, &plain, &end_ops, &client, &client.s));
    stream_destroy(client.s);
    stream_destroy(NULL);
    stream_listener_destroy(l);
    free(target);
}

static void test_not_reading_leaves_bytes_in_the_kernel(void **state)
{
    struct end client = { 0 }, server = { 0 };
    struct stream_listener *l;
    expect_no_error(stream_listener_open(loop_base(), "ptcp:0:127.0.0.1", &plain, kit_accepted, &server, &l));
    char *target = kit_target("tcp", "127.0.0.1", l);
    connect_pair(l, target, &client, &server);
    stream_set_reading(server.s, false);
    size_t size = 16 * 1024 * 1024;
    char *bytes = xzalloc(size);
    stream_set_low_water(client.s, size / 2);
    turn();
    client.drained = 0; /* With nothing to write it may come too. */
    evbuffer_add(stream_output(client.s), bytes, size);
    free(bytes);
    UNTIL(stream_written(client.s) > 0);
    turn();
    assert_int_equal(in_length(&server), 0);
    assert_int_equal(client.drained, 0);
    stream_set_reading(server.s, true);
    UNTIL(in_length(&server) == size);
    assert_true(client.drained > 0);
    assert_int_equal(stream_written(client.s), size);
    /* The end in order: the peer hears what was written, then the end, and can still answer. */
    evbuffer_drain(stream_input(server.s), size);
    talk(&client, &server, "bye");
    stream_shutdown_write(client.s);
    UNTIL(server.eofs);
    talk(&server, &client, "bye-bye");
    end_close(&client);
    end_close(&server);
    stream_listener_destroy(l);
    free(target);
}

/* Without descriptors a listener rests, and does not spin; later it goes on. */
static void test_a_listener_survives_a_lack_of_descriptors(void **state)
{
    struct end client = { 0 }, server = { 0 };
    struct stream_listener *l;
    struct rlimit old, none;
    expect_no_error(stream_listener_open(loop_base(), "ptcp:0:127.0.0.1", &plain, kit_accepted, &server, &l));
    char *target = kit_target("tcp", "127.0.0.1", l);
    expect_no_error(stream_open(loop_base(), target, &plain, &end_ops, &client, &client.s));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 3; /* All that there is, is above. */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    UNTIL(client.connected); /* By the kernel; nobody has accepted. */
    uint64_t begin = clock_nsec();
    unsigned int turns = 0;
    UNTIL((turns++, clock_nsec() - begin > 100000000));
    assert_true(turns < 200); /* 50 by UNTIL's own timer; some thousands if it spins. */
    assert_null(server.s);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    UNTIL(server.connected);
    talk(&client, &server, "at last");
    end_close(&client);
    end_close(&server);
    stream_listener_destroy(l);
    free(target);
}

static void test_a_listener_that_does_not_accept_lets_clients_wait(void **state)
{
    struct end client = { 0 }, server = { 0 };
    struct stream_listener *l;
    expect_no_error(stream_listener_open(loop_base(), "ptcp:0:127.0.0.1", &plain, kit_accepted, &server, &l));
    stream_listener_set_accepting(l, false);
    char *target = kit_target("tcp", "127.0.0.1", l);
    expect_no_error(stream_open(loop_base(), target, &plain, &end_ops, &client, &client.s));
    UNTIL(client.connected);
    turn();
    assert_null(server.s);
    stream_listener_set_accepting(l, true);
    UNTIL(server.connected);
    end_close(&client);
    end_close(&server);
    stream_listener_destroy(l);
    free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_go_both_ways_over_every_kind),
        cmocka_unit_test(test_a_unix_socket_has_its_mode_and_replaces_a_stale_one),
        cmocka_unit_test(test_a_name_for_the_other_side_is_an_error),
        cmocka_unit_test(test_a_refused_connection_says_so),
        cmocka_unit_test(test_connecting_takes_a_bounded_time),
        cmocka_unit_test(test_the_dscp_is_on_the_socket),
        cmocka_unit_test(test_a_stream_may_be_destroyed_when_it_is_connected),
        cmocka_unit_test(test_not_reading_leaves_bytes_in_the_kernel),
        cmocka_unit_test(test_a_listener_survives_a_lack_of_descriptors),
        cmocka_unit_test(test_a_listener_that_does_not_accept_lets_clients_wait),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
