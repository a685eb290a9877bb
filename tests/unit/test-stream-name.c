/* Names of streams: every form, addresses of both families, and what is wrong said in words. */
#include <config.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/io/stream-name.h"
#include "tests/unit/io-kit.h"

static void test_names_are_taken_apart(void **state)
{
    static const struct {
        const char *name;
        enum stream_kind kind;
        bool passive;
        const char *address;
    } cases[] = {
        { "tcp:10.0.0.1", STREAM_TCP, false, "10.0.0.1:6653" },
        { "tcp:10.0.0.1:1", STREAM_TCP, false, "10.0.0.1:1" },
        { "tcp:[::1]", STREAM_TCP, false, "[::1]:6653" },
        { "ssl:[fe80::1]:65535", STREAM_SSL, false, "[fe80::1]:65535" },
        { "ssl:127.0.0.1:6633", STREAM_SSL, false, "127.0.0.1:6633" },
        { "ptcp:", STREAM_TCP, true, "0.0.0.0:6653" },
        { "ptcp:0", STREAM_TCP, true, "0.0.0.0:0" },
        { "ptcp:6634", STREAM_TCP, true, "0.0.0.0:6634" },
        { "ptcp:6634:127.0.0.1", STREAM_TCP, true, "127.0.0.1:6634" },
        { "pssl::127.0.0.1", STREAM_SSL, true, "127.0.0.1:6653" },
        { "pssl:6635:[::]", STREAM_SSL, true, "[::]:6635" },
        { "pssl::[2001:db8::7]", STREAM_SSL, true, "[2001:db8::7]:6653" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stream_name n;
        expect_no_error(stream_name_parse(cases[i].name, &n));
        assert_int_equal(n.kind, cases[i].kind);
        assert_int_equal(n.passive, cases[i].passive);
        char *text = stream_address_text((struct sockaddr *) &n.ss);
        assert_string_equal(text, cases[i].address);
        assert_int_equal(n.ss_len, text[0] == '[' ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
        free(text);
        stream_name_uninit(&n);
    }
}

static void test_files_are_in_the_run_time_directory(void **state)
{
    struct stream_name n;
    setenv("OVS_RUNDIR", "/run/there", 1);
    expect_no_error(stream_name_parse("punix:br0.mgmt", &n));
    assert_true(n.passive);
    assert_int_equal(n.kind, STREAM_UNIX);
    assert_string_equal(n.path, "/run/there/br0.mgmt");
    stream_name_uninit(&n);
    expect_no_error(stream_name_parse("unix:/a:b", &n));
    assert_false(n.passive);
    assert_string_equal(n.path, "/a:b");
    stream_name_uninit(&n);
}

static void test_a_bad_name_is_told_in_words(void **state)
{
    static const char *const cases[][2] = {
        { "", "\"\" is not the name of a connection: write unix:FILE" },
        { "udp:10.0.0.1", "\"udp:10.0.0.1\" is not the name of a connection" },
        { "tcp", "is not the name of a connection" },
        { "unix:", "unix:: a file name is missing" },
        { "punix:", "a file name is missing" },
        { "tcp:", "\"\" is not an IPv4 address" },
        { "tcp::6653", "\"\" is not an IPv4 address" },
        { "tcp:controller.example:6653",
          "\"controller.example\" is not an IPv4 address or an IPv6 address in brackets (names of" },
        { "tcp:10.0.0.256", "\"10.0.0.256\" is not an IPv4" },
        { "tcp:::1:6653", "is not an IPv4" },
        { "tcp:::1", "is not" },
        { "tcp:[::1", "\"[::1\" is not" },
        { "tcp:[]:1", "\"[]\" is not" },
        { "tcp:[::1]x:1", "\"[::1]x\" is not" },
        { "tcp:[10.0.0.1]:1", "\"[10.0.0.1]\" is not" },
        { "ssl:[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:1", "is not" },
        { "tcp:10.0.0.1:", "tcp:10.0.0.1:: a port is missing" },
        { "tcp:10.0.0.1:0", "\"0\" is not a port, which is a number from 1 to 65535" },
        { "tcp:10.0.0.1:65536", "\"65536\" is not a port" },
        { "tcp:10.0.0.1:-1", "\"-1\" is not a port" },
        { "tcp:10.0.0.1:+1", "\"+1\" is not a port" },
        { "tcp:10.0.0.1:0x10", "\"0x10\" is not a port" },
        { "tcp:10.0.0.1: 1", "\" 1\" is not a port" },
        { "tcp:10.0.0.1:1:2", "\"1:2\" is not a port" },
        { "ptcp:127.0.0.1", "\"127.0.0.1\" is not a port, which is a number from 0 to 65535" },
        { "ptcp:1:", "\"\" is not an IPv4" },
        { "ptcp:1:host", "\"host\" is not an IPv4" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stream_name n;
        char *error = stream_name_parse(cases[i][0], &n);
        if (!error) {
            fail_msg("%s is taken", cases[i][0]);
        }
        expect_error(error, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_taken_apart),
        cmocka_unit_test(test_files_are_in_the_run_time_directory),
        cmocka_unit_test(test_a_bad_name_is_told_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
