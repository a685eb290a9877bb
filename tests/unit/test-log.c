/* The log: lib/base/log.h. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first. */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/log-pattern.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(test_log);

static char dir[] = "/tmp/test-log-XXXXXX";
static char *path;

/* Returns what the log file has, and empties it. */
static const char *take_log(void)
{
    static char text[200000];
    int fd = open(path, O_RDWR);

    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    return text;
}

static void set_ok(const char *spec)
{
    char *error = log_set_spec(spec);

    if (error) {
        fail_msg("%s: %s", spec, error);
    }
}

static void assert_refused(const char *spec, const char *message)
{
    char *error = log_set_spec(spec);

    assert_non_null(error);
    assert_string_equal(error, message);
    free(error);
}

static int setup(void **state)
{
    set_ok("any:info");
    set_ok("console:off");
    set_ok("syslog:off");
    set_ok("PATTERN:file:%p|%m");
    log_honor_rate_limits("any", true);
    unlink(path);
    assert_int_equal(log_file_open(path), 0);
    take_log();
    return 0;
}

static void assert_matches(const char *text, const char *expression)
{
    regex_t re;

    assert_int_equal(regcomp(&re, expression, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&re, text, 0, NULL, 0)) {
        fail_msg("\"%s\" does not match %s", text, expression);
    }
    regfree(&re);
}

static void test_lines_have_the_fields_form(void **state)
{
    set_ok("PATTERN:file:%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m");
    log_info("hello %d", 1);
    log_set_thread_name("handler1");
    log_warn("there");
    log_set_thread_name("");
    assert_matches(take_log(), "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z\\|"
                               "[0-9]{5}\\|test_log\\|INFO\\|hello 1\n"
                               "[^|]*Z\\|[0-9]{5}\\|test_log\\(handler1\\)\\|WARN\\|there\n$");
}

static void test_every_line_of_a_message_has_the_prefix(void **state)
{
    log_info("a\nERR|forged\n");
    assert_string_equal(take_log(), "INFO|a\nINFO|ERR|forged\n");
    log_info("%s", "");
    assert_string_equal(take_log(), "INFO|\n");
}

static void test_long_messages_are_whole(void **state)
{
    char *big = xmalloc(100001);

    memset(big, 'x', 100000);
    big[100000] = '\0';
    log_info("%s", big);
    const char *text = take_log();
    assert_int_equal(strlen(text), 100000 + strlen("INFO|\n"));
    free(big);
}

static void test_levels_filter(void **state)
{
    log_dbg("no");
    assert_false(log_enabled(&this_module, LOG_LEVEL_DBG));
    set_ok("test_log:dbg");
    set_ok("console:off");
    log_dbg("yes");
    set_ok("TEST_LOG file Err");
    log_warn("no");
    log_err("yes");
    set_ok("any,file,off");
    log_emer("no");
    assert_string_equal(take_log(), "DBG|yes\nERR|yes\n");
}

static void test_errno_survives(void **state)
{
    errno = EXDEV;
    log_info("x");
    log_info_rl(1, "x");
    assert_int_equal(errno, EXDEV);
}

static void test_unknown_modules_are_remembered(void **state)
{
    static struct log_module late = { .name = "vconn_late" };

    set_ok("vconn_late:file:dbg");
    set_ok("vconn");
    log_module_register(&late);
    assert_int_equal(late.level[LOG_FILE], LOG_LEVEL_DBG);
    assert_int_equal(late.level[LOG_CONSOLE], LOG_LEVEL_INFO);
    assert_true(log_enabled(&late, LOG_LEVEL_DBG));
}

static void test_bad_specs_are_refused_in_words(void **state)
{
    assert_refused("dbg:err", "cannot specify multiple levels");
    assert_refused("file:console", "cannot specify multiple destinations");
    assert_refused("one:two", "no destination, level, or module \"two\"");
    assert_refused("any:file:loud", "no destination, level, or module \"loud\"");
    assert_refused("one:vlog", "cannot specify multiple modules");
    assert_refused("a/b", "no destination, level, or module \"a/b\"");
    assert_refused("PATTERN:foo:bar", "unknown destination \"foo\"");
    assert_refused("FACILITY:foo", "invalid facility");
    assert_refused("PATTERN:file", "missing pattern for destination \"file\": use PATTERN:file:pattern");
}

static void test_list_has_the_packaged_daemons_form(void **state)
{
    static struct log_module longest = { .name = "dpif_lookup_autovalidator" };

    log_module_register(&longest);
    set_ok("dpif_lookup_autovalidator:info");
    assert_true(log_honor_rate_limits("test_log", false));
    assert_false(log_honor_rate_limits("nonesuch", false));
    char *text = log_list();
    static const char head[] = "                 console    syslog    file\n"
                               "                 -------    ------    ------\n";
    assert_memory_equal(text, head, strlen(head));
    assert_non_null(strstr(text, "\ndpif_lookup_autovalidator  INFO       INFO       INFO\n"));
    assert_non_null(strstr(text, "\ntest_log           OFF        OFF       INFO    (rate limiting disabled)\n"));
    free(text);
}

static void test_patterns_are_listed(void **state)
{
    set_ok("PATTERN:console:%m");
    set_ok("PATTERN:file:%p");
    char *text = log_list_patterns();
    assert_string_equal(text, "         prefix                            format\n"
                              "         ------                            ------\n"
                              "SYSLOG   <%B> %D{%h %e %T} %E %A:          ovs|%05N|%c%T|%p|%m\n"
                              "CONSOLE  none                              %m\n"
                              "FILE     none                              %p\n");
    free(text);
}

static void test_bursts_of_five_then_a_rate(void **state)
{
    static struct log_rate_limit rl = LOG_RATE_LIMIT(60);

    for (int i = 0; i < 100; i++) {
        log_write_rl(&this_module, LOG_LEVEL_INFO, &rl, "n%d", i);
    }
    assert_string_equal(take_log(), "INFO|n0\nINFO|n1\nINFO|n2\nINFO|n3\nINFO|n4\n");
    rl.last -= 1000; /* A second passes: one line at 60 a minute. */
    log_write_rl(&this_module, LOG_LEVEL_INFO, &rl, "late");
    log_write_rl(&this_module, LOG_LEVEL_INFO, &rl, "too many");
    assert_matches(take_log(), "^INFO\\|Dropped 95 log messages in last [0-9]+ seconds due to excessive rate\n"
                               "INFO\\|late\n$");
    rl.last -= 1000;
    log_write_rl(&this_module, LOG_LEVEL_INFO, &rl, "again");
    assert_matches(take_log(), "Dropped 1 log messages in last"); /* Counted anew after each report. */
    assert_true(log_honor_rate_limits("test_log", false));
    for (int i = 0; i < 20; i++) {
        log_write_rl(&this_module, LOG_LEVEL_INFO, &rl, "x");
    }
    assert_int_equal(strlen(take_log()), 20 * strlen("INFO|x\n"));
}

static void test_reopen_follows_a_rename(void **state)
{
    struct stat st;
    char *moved = xasprintf("%s.1", path);

    assert_int_equal(log_file_reopen(), 0); /* Not renamed: silent. */
    assert_string_equal(take_log(), "");
    assert_int_equal(rename(path, moved), 0);
    log_info("to the old one");
    assert_int_equal(log_file_reopen(), 0);
    log_info("to the new one");
    char *expected = xasprintf("INFO|opened log file %s\nINFO|to the new one\n", path);
    assert_string_equal(take_log(), expected);
    free(expected);
    assert_int_equal(stat(moved, &st), 0);
    assert_int_equal(st.st_size, strlen("INFO|to the old one\nINFO|closing log file\n"));
    unlink(moved);
    free(moved);
}

static void test_close_stops_and_reopen_resumes(void **state)
{
    log_file_close();
    log_file_close();
    assert_false(log_enabled(&this_module, LOG_LEVEL_INFO)); /* No destination is left. */
    log_info("lost");
    assert_string_equal(take_log(), "");
    assert_int_equal(log_file_reopen(), 0);
    log_info("back");
    assert_non_null(strstr(take_log(), "INFO|back\n"));
}

static void test_unusable_file_is_an_error_and_keeps_the_old(void **state)
{
    assert_int_equal(log_file_open("/nonexistent/x.log"), -ENOENT);
    log_info("still here");
    assert_string_equal(take_log(), "WARN|failed to open /nonexistent/x.log for logging: No such file or directory\n"
                                    "INFO|still here\n");
}

/* Expands PATTERN for a line that has all fields. */
static void assert_expands(const char *pattern, const char *expected)
{
    static const struct log_line line = {
        .module = "mod",
        .level = LOG_LEVEL_INFO,
        .thread = "handler1",
        .serial = 42,
        .wall_msec = INT64_C(1796034100123),
        .run_msec = 9876,
        .facility = -1,
        .text = "text+",
        .text_len = 4,
    };
    struct log_buf b;

    log_buf_init(&b);
    log_pattern_expand(pattern, &line, &b);
    assert_string_equal(b.data, expected);
    log_buf_uninit(&b);
}

static void test_patterns_expand_as_the_manual_says(void **state)
{
    assert_expands("plain", "plain");
    assert_expands("%A %c %m %p %r", "ovs-vswitchd mod text INFO 9876");
    assert_expands("%N %05N %-5N| %1N %5m", "42 00042 42   | 42  text");
    assert_expands("%t%T", "handler1(handler1)");
    assert_expands("%D", "2026-11-30 10:21:40.123");
    assert_expands("%D{%H:%M:%S.####}#", "10:21:40.1230#");
    assert_expands("%B", "133");
    assert_expands("%%%n%z%", "%\nz");
    assert_expands("%010p|%-010p|%-6p|%6p", "000000INFO|INFO000000|INFO  |  INFO");
    assert_expands("%D{unclosed", "2026-11-30 10:21:40.123{unclosed");
    assert_expands("", "");
}

static void test_absurd_widths_are_bounded(void **state)
{
    static const struct log_line line = { .module = "m", .thread = "", .text = "" };
    struct log_buf b;

    log_buf_init(&b);
    log_pattern_expand("%99999999999999999999m", &line, &b);
    assert_int_equal(b.len, 1024);
    log_buf_uninit(&b);
}

#define N_LINES 400
static void *log_many(void *arg)
{
    for (int i = 0; i < N_LINES; i++) {
        log_info("%0100d", i);
        if (i % 100 == 0 && arg) {
            assert_int_equal(log_file_reopen(), 0);
            set_ok("PATTERN:file:%p|%m");
        }
    }
    return NULL;
}

static void test_lines_of_threads_do_not_mix(void **state)
{
    pthread_t t[4];
    const char *text;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
        assert_int_equal(pthread_create(&t[i], NULL, log_many, i ? NULL : t), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
        pthread_join(t[i], NULL);
    }
    for (text = take_log(); *text; text += strcspn(text, "\n") + 1, n++) {
        assert_int_equal(strcspn(text, "\n"), 105);
    }
    assert_int_equal(n, 4 * N_LINES);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines_have_the_fields_form, setup),
        cmocka_unit_test_setup(test_every_line_of_a_message_has_the_prefix, setup),
        cmocka_unit_test_setup(test_long_messages_are_whole, setup),
        cmocka_unit_test_setup(test_levels_filter, setup),
        cmocka_unit_test_setup(test_errno_survives, setup),
        cmocka_unit_test_setup(test_unknown_modules_are_remembered, setup),
        cmocka_unit_test_setup(test_bad_specs_are_refused_in_words, setup),
        cmocka_unit_test_setup(test_list_has_the_packaged_daemons_form, setup),
        cmocka_unit_test_setup(test_patterns_are_listed, setup),
        cmocka_unit_test_setup(test_bursts_of_five_then_a_rate, setup),
        cmocka_unit_test_setup(test_reopen_follows_a_rename, setup),
        cmocka_unit_test_setup(test_close_stops_and_reopen_resumes, setup),
        cmocka_unit_test_setup(test_unusable_file_is_an_error_and_keeps_the_old, setup),
        cmocka_unit_test(test_patterns_expand_as_the_manual_says),
        cmocka_unit_test(test_absurd_widths_are_bounded),
        cmocka_unit_test_setup(test_lines_of_threads_do_not_mix, setup),
    };
    if (!mkdtemp(dir)) {
        perror("mkdtemp");
        return 1;
    }
    path = xasprintf("%s/x.log", dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(dir);
    free(path);
    return failed;
}
