/* Memory and strings: lib/base/util.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/dirs.h"
#include "lib/base/hash.h"
#include "lib/base/util.h"

static void assert_number(const char *s, long long expected)
{
    long long v = 12345;

    if (!str_to_llong(s, LLONG_MIN, LLONG_MAX, &v)) {
        fail_msg("\"%s\" was refused", s);
    }
    assert_true(v == expected);
}

static void test_numbers_are_parsed_in_both_bases(void **state)
{
    assert_number("0", 0);
    assert_number("-17", -17);
    assert_number("+17", 17);
    assert_number("010", 10); /* Not octal. */
    assert_number("0x1F", 31);
    assert_number("-0x10", -16);
    assert_number("9223372036854775807", LLONG_MAX);
}

static void test_what_is_no_number_is_refused_and_leaves_the_result_alone(void **state)
{
    static const char *const bad[] = { "",    " 1",  "1 ",  "x",     "1x", "0x",   "-",
                                       "--1", "1.0", "0xg", "\t7\n", "+",  "0x-1", "9223372036854775808" };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        long long v = 42;
        if (str_to_llong(bad[i], LLONG_MIN, LLONG_MAX, &v)) {
            fail_msg("\"%s\" was accepted", bad[i]);
        }
        assert_true(v == 42);
    }
}

static void test_limits_are_inclusive(void **state)
{
    long long v = 42;

    assert_true(str_to_llong("5", 5, 7, &v));
    assert_true(str_to_llong("7", 5, 7, &v));
    assert_true(v == 7);
    assert_false(str_to_llong("4", 5, 7, &v));
    assert_false(str_to_llong("8", 5, 7, &v));
    assert_true(v == 7);
}

static void test_empty_allocations_are_valid_pointers(void **state)
{
    void *p[] = { xmalloc(0), xcalloc(0, 4), xzalloc(0), xmemdup(NULL, 0), xaligned_zalloc(64, 0) };

    for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
        assert_non_null(p[i]);
        free(p[i]);
    }
}

static void test_aligned_memory_is_aligned_and_zero(void **state)
{
    for (size_t align = 1; align <= 4096; align *= 4) {
        unsigned char *p = xaligned_zalloc(align, 100);
        assert_int_equal((uintptr_t) p % align, 0);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(p[i], 0);
        }
        free(p);
    }
}

static void test_text_holds_what_was_printed(void **state)
{
    struct text t;
    FILE *out = text_open(&t);

    fprintf(out, "%s-%d", "a", 1);
    fputc('\0', out);
    char *s = text_close(&t);
    assert_string_equal(s, "a-1");
    assert_int_equal(t.len, 4);
    free(s);

    text_open(&t);
    s = text_close(&t);
    assert_string_equal(s, "");
    free(s);
}

static void test_program_name_is_the_last_component(void **state)
{
    set_program_name("/usr/sbin/foo");
    assert_string_equal(program_name, "foo");
    set_program_name("bar");
    assert_string_equal(program_name, "bar");
    set_program_name("baz/");
    assert_string_equal(program_name, "bar");
    set_program_name("ovs-vswitchd");
}

static void test_fatal_says_one_line_and_exits_1(void **state)
{
    char text[256];
    int fds[2], status;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (!pid) {
        dup2(fds[1], STDERR_FILENO);
        fatal(ENOENT, "no %s", "luck");
    }
    close(fds[1]);
    ssize_t n = read(fds[0], text, sizeof text - 1), more = 0;
    while (n >= 0 && (more = read(fds[0], text + n, sizeof text - 1 - (size_t) n)) > 0) {
        n += more;
    }
    text[MAX(n, 0)] = '\0';
    assert_string_equal(text, "ovs-vswitchd: no luck (No such file or directory)\n");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    close(fds[0]);
}

static void test_directories_come_from_the_environment(void **state)
{
    setenv("OVS_RUNDIR", "/elsewhere", 1);
    unsetenv("OVS_LOGDIR");
    setenv("OVS_DBDIR", "", 1);
    assert_string_equal(dir_run(), "/elsewhere");
    assert_string_equal(dir_log(), "/var/log/openvswitch");
    assert_string_equal(dir_db(), "/etc/openvswitch");

    char *s = dir_file(dir_run(), "db.sock");
    assert_string_equal(s, "/elsewhere/db.sock");
    free(s);
    s = dir_file(dir_run(), "/abs");
    assert_string_equal(s, "/abs");
    free(s);
}

static void test_hashes_depend_on_content_length_and_seed(void **state)
{
    struct ufid a = hash_bytes_128("abc", 3, 1), b = hash_bytes_128("abc", 3, 1), c = hash_bytes_128("abd", 3, 1);

    assert_true(ufid_eq(&a, &b));
    assert_false(ufid_eq(&a, &c));
    assert_true(hash_bytes("abc", 3, 0) != hash_bytes("abc", 2, 0));
    assert_true(hash_bytes("abc", 3, 0) != hash_bytes("abc", 3, 1));
    assert_true(hash_u64(1, 0) != hash_u64(2, 0));
    assert_true(hash_u64(1, 0) != hash_u64(1, 1));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_parsed_in_both_bases),
        cmocka_unit_test(test_what_is_no_number_is_refused_and_leaves_the_result_alone),
        cmocka_unit_test(test_limits_are_inclusive),
        cmocka_unit_test(test_empty_allocations_are_valid_pointers),
        cmocka_unit_test(test_aligned_memory_is_aligned_and_zero),
        cmocka_unit_test(test_text_holds_what_was_printed),
        cmocka_unit_test(test_program_name_is_the_last_component),
        cmocka_unit_test(test_fatal_says_one_line_and_exits_1),
        cmocka_unit_test(test_directories_come_from_the_environment),
        cmocka_unit_test(test_hashes_depend_on_content_length_and_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
