/* Unit tests of vswitchd/settings.c: numbers and words from other_config. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vswitchd/settings.h"

/* A map as an array of pairs that ends with NULL. */
static const char *get(const void *aux, const char *key)
{
    for (const char *const *p = aux; *p; p += 2) {
        if (!strcmp(p[0], key)) {
            return p[1];
        }
    }
    return NULL;
}

static void absent_settings_are_the_defaults(void **state)
{
    static const char *const map[] = { NULL };
    const struct engine_settings def = ENGINE_SETTINGS_DEFAULT;
    struct engine_settings s;

    settings_read_engine(get, map, &s);
    assert_int_equal(s.dispatch, def.dispatch);
    assert_int_equal(s.flow_limit, def.flow_limit);
    assert_int_equal(s.max_idle_ms, def.max_idle_ms);
    assert_int_equal(s.max_revalidator_ms, def.max_revalidator_ms);
    assert_int_equal(s.n_handlers, 0);
    assert_int_equal(s.n_revalidators, 0);
}

static void good_settings_are_taken(void **state)
{
    static const char *const map[] = { "upcall-dispatch", "per-port", "n-handler-threads", "4", "n-revalidator-threads",
                                       "2", "flow-limit", "1000", "max-idle", "500", "max-revalidator", "100", NULL };
    struct engine_settings s;

    settings_read_engine(get, map, &s);
    assert_int_equal(s.dispatch, DISPATCH_PER_PORT);
    assert_int_equal(s.n_handlers, 4);
    assert_int_equal(s.n_revalidators, 2);
    assert_int_equal(s.flow_limit, 1000);
    assert_int_equal(s.max_idle_ms, 500);
    assert_int_equal(s.max_revalidator_ms, 100);
}

static void bad_settings_become_the_defaults(void **state)
{
    static const char *const map[] = { "upcall-dispatch", "PER-CPU", "n-handler-threads", "0", "n-revalidator-threads",
                                       "abc", "flow-limit", "-1", "max-idle", "499", "max-revalidator",
                                       "99999999999999999999", NULL };
    struct engine_settings s;

    settings_read_engine(get, map, &s);
    assert_int_equal(s.dispatch, DISPATCH_AUTO);
    assert_int_equal(s.n_handlers, 0);
    assert_int_equal(s.n_revalidators, 0);
    assert_int_equal(s.flow_limit, 200000);
    assert_int_equal(s.max_idle_ms, 10000);
    assert_int_equal(s.max_revalidator_ms, 500);
    warn_once_uninit();
}

/* RATE and BURST (NULL: absent) are read as this; ERROR: how what is wrong begins, NULL: nothing is. */
static void check_limit(const char *rate, const char *burst, uint32_t rate_read, uint32_t burst_read, const char *error)
{
    const char *map[5] = { NULL };
    struct port_limit limit = { 77, 77 };
    int n = 0;

    if (rate) {
        map[n++] = "upcall-rate";
        map[n++] = rate;
    }
    if (burst) {
        map[n++] = "upcall-burst";
        map[n++] = burst;
    }
    char *text = settings_read_upcall_limit(get, map, &limit);
    assert_int_equal(limit.rate, rate_read);
    if (rate_read) {
        assert_int_equal(limit.burst, burst_read);
    }
    if (error) {
        assert_string_equal(text, error);
    } else {
        assert_null(text);
    }
    free(text);
}

static void a_limit_of_upcalls_is_read_or_refused_in_words(void **state)
{
    static const char *const bad[] = { "0", "-1", "", "many", "10000001", "99999999999999999999", "1.5", "100x" };

    check_limit(NULL, NULL, 0, 0, NULL);
    check_limit("1", NULL, 1, 64, NULL);
    check_limit("100", NULL, 100, 64, NULL);
    check_limit("10000", NULL, 10000, 1000, NULL);
    check_limit("10000000", "10000000", 10000000, 10000000, NULL);
    check_limit("100", "1", 100, 1, NULL);
    check_limit(NULL, "5", 0, 0, "upcall-burst \"5\" without upcall-rate has no effect; set upcall-rate, or remove it");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char expected[200];
        snprintf(expected, sizeof expected,
                 "upcall-rate \"%s\" is not a number from 1 to 10000000 (upcalls a second); no limit is in force", bad[i]);
        check_limit(bad[i], NULL, 0, 0, expected);
        check_limit(bad[i], "100", 0, 0, expected);
        /* The rate is right, so there is a limit. */
        snprintf(expected, sizeof expected,
                 "upcall-burst \"%s\" is not a number from 1 to 10000000 (upcalls at once); using 200", bad[i]);
        check_limit("2000", bad[i], 2000, 200, expected);
    }
}

static void thread_counts_are_sane_whatever_is_asked_for(void **state)
{
    static const struct {
        const char *text;
        unsigned int n;
    } counts[] = { { "1", 1 }, { "256", 256 }, { "257", 256 }, { "1000000", 256 }, { "99999999999999999999", 256 },
                   { "0", 0 }, { "00000000000000000000000", 0 }, { "-1", 0 }, { "-99999999999999999999", 0 }, { "", 0 },
                   { "four", 0 }, { "4 ", 0 }, { "4.5", 0 } };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *const map[] = { "n-handler-threads", counts[i].text, "n-revalidator-threads", counts[i].text, NULL };
        struct engine_settings s;
        settings_read_engine(get, map, &s);
        assert_int_equal(s.n_handlers, counts[i].n);
        assert_int_equal(s.n_revalidators, counts[i].n);
    }
    warn_once_uninit();
}

static void addresses_are_read_whole_or_not_at_all(void **state)
{
    static const char *const bad[] = { "", "00:11:22:33:44", "00:11:22:33:44:5", "00:11:22:33:44:55 ", "00-11-22-33-44-55",
                                       "00:11:22:33:44:gg", "0:11:22:33:44:555", " 0:11:22:33:44:55", NULL };
    struct eth_addr a = { { 0xee } };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(eth_addr_read(bad[i], &a));
        assert_int_equal(a.ea[0], 0xee);
    }
    assert_true(eth_addr_read("0a:1B:2c:3d:4e:5f", &a));
    assert_memory_equal(a.ea, "\x0a\x1b\x2c\x3d\x4e\x5f", 6);
}

static void datapath_ids_are_16_digits_or_prefixed(void **state)
{
    static const char *const bad[] = { "", "1", "0x", "000000000000000g", "0000000000000000", "0x0",
                                       "00000000000000001", "0x00000000000000001", "-000000000000001", NULL };
    uint64_t id = 7;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(datapath_id_read(bad[i], &id));
        assert_int_equal(id, 7);
    }
    assert_true(datapath_id_read("00000000000000Ab", &id));
    assert_int_equal(id, 0xab);
    assert_true(datapath_id_read("0x12", &id));
    assert_int_equal(id, 0x12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_settings_are_the_defaults),
        cmocka_unit_test(good_settings_are_taken),
        cmocka_unit_test(bad_settings_become_the_defaults),
        cmocka_unit_test(a_limit_of_upcalls_is_read_or_refused_in_words),
        cmocka_unit_test(thread_counts_are_sane_whatever_is_asked_for),
        cmocka_unit_test(addresses_are_read_whole_or_not_at_all),
        cmocka_unit_test(datapath_ids_are_16_digits_or_prefixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
