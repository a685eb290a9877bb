/* Values of database columns: reading with defaults, junk, equality, making. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/rpc/ovsdb-private.h"

#define UUID "00000000-0000-0000-0000-000000000001"

static json_t *parse(const char *s)
{
    json_error_t error;
    json_t *json = json_loads(s, JSON_DECODE_ANY, &error);
    if (!json) {
        fail_msg("%s: %s", s, error.text);
    }
    return json;
}

static struct ovsdb_row row(const char *columns)
{
    struct ovsdb_row r = { .uuid = UUID, .table = "T", .columns = parse(columns) };
    return r;
}

static void test_scalars_and_sets_of_one_are_the_same(void **state)
{
    struct ovsdb_row r =
        row("{\"s\":\"x\",\"S\":[\"set\",[\"x\"]],\"i\":-7,\"I\":[\"set\",[-7]],\"b\":true,"
            "\"B\":[\"set\",[true]],\"u\":[\"uuid\",\"" UUID "\"],\"U\":[\"set\",[[\"uuid\",\"" UUID "\"]]]}");
    assert_string_equal(ovsdb_str(&r, "s", NULL), "x");
    assert_string_equal(ovsdb_str(&r, "S", NULL), "x");
    assert_int_equal(ovsdb_int(&r, "i", 0), -7);
    assert_int_equal(ovsdb_int(&r, "I", 0), -7);
    assert_true(ovsdb_bool(&r, "b", false));
    assert_true(ovsdb_bool(&r, "B", false));
    assert_string_equal(ovsdb_set_uuid(&r, "u", 0), UUID);
    assert_string_equal(ovsdb_set_uuid(&r, "U", 0), UUID);
    assert_int_equal(ovsdb_set_size(&r, "s"), 1);
    assert_int_equal(ovsdb_set_size(&r, "u"), 1);
    assert_null(ovsdb_set_str(&r, "s", 1));
    json_decref(r.columns);
}

static void test_sets_and_maps(void **state)
{
    struct ovsdb_row r = row("{\"s\":[\"set\",[\"a\",\"b\"]],\"i\":[\"set\",[1,2,3]],\"e\":[\"set\",[]],"
                             "\"m\":[\"map\",[[\"k\",\"v\"],[\"u\",[\"uuid\",\"" UUID "\"]]]],\"me\":[\"map\",[]]}");
    assert_int_equal(ovsdb_set_size(&r, "s"), 2);
    assert_string_equal(ovsdb_set_str(&r, "s", 1), "b");
    assert_null(ovsdb_set_str(&r, "s", 2));
    assert_int_equal(ovsdb_set_int(&r, "i", 2), 3);
    assert_int_equal(ovsdb_set_size(&r, "e"), 0);
    assert_string_equal(ovsdb_str(&r, "e", "default"), "default");
    assert_int_equal(ovsdb_int(&r, "e", 42), 42);
    assert_string_equal(ovsdb_map_get(&r, "m", "k"), "v");
    assert_string_equal(ovsdb_map_get(&r, "m", "u"), UUID);
    assert_null(ovsdb_map_get(&r, "m", "x"));
    assert_null(ovsdb_map_get(&r, "me", "x"));
    assert_int_equal(ovsdb_int(&r, "absent", 5), 5);
    json_decref(r.columns);
}

static void test_junk_reads_as_the_default(void **state)
{
    static const char *const junk[] = {
        "null",
        "{}",
        "[]",
        "[1]",
        "[\"set\"]",
        "[\"set\",1]",
        "[\"set\",[[]]]",
        "[\"set\",[{}]]",
        "[\"set\",[null]]",
        "[\"set\",[\"a\",1]]",
        "[\"map\",1]",
        "[\"map\",[1]]",
        "[\"map\",[[1]]]",
        "[\"map\",[[1,2,3]]]",
        "[\"map\",[[\"k\",{}]]]",
        "[\"map\",[[\"k\",[\"uuid\",7]]]]",
        "[\"uuid\"]",
        "[\"uuid\",7]",
        "[\"uuid\",\"x\",1]",
        "[1,[]]",
        "[[],[]]",
        "1.5",
        "[\"set\",[[\"set\",[]]]]",
    };
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
        char *columns = xasprintf("{\"c\":%s}", junk[i]);
        struct ovsdb_row r = row(columns);
        free(columns);
        assert_string_equal(ovsdb_str(&r, "c", "d"), "d");
        assert_int_equal(ovsdb_int(&r, "c", 9), 9);
        assert_true(ovsdb_bool(&r, "c", true));
        assert_null(ovsdb_map_get(&r, "c", "k"));
        for (size_t j = 0; j < ovsdb_set_size(&r, "c") + 1; j++) {
            ovsdb_set_str(&r, "c", j);
            ovsdb_set_int(&r, "c", j);
            assert_null(ovsdb_set_uuid(&r, "c", j));
        }
        for (size_t j = 0; j < ARRAY_SIZE(junk); j++) {
            json_t *a = parse(junk[i]), *b = parse(junk[j]);
            assert_int_equal(ovsdb_value_equal(a, b), i == j);
            json_decref(a);
            json_decref(b);
        }
        json_decref(r.columns);
    }
}

static void test_types_are_not_mixed_up(void **state)
{
    struct ovsdb_row r = row("{\"s\":\"x\",\"i\":1,\"u\":[\"uuid\",\"" UUID "\"],\"m\":[\"map\",[[\"k\",1]]]}");
    assert_null(ovsdb_str(&r, "i", NULL));
    assert_null(ovsdb_str(&r, "u", NULL));
    assert_null(ovsdb_str(&r, "m", NULL));
    assert_int_equal(ovsdb_int(&r, "s", 3), 3);
    assert_int_equal(ovsdb_set_size(&r, "m"), 0);
    assert_null(ovsdb_map_get(&r, "m", "k"));
    assert_null(ovsdb_map_get(&r, "s", "k"));
    json_decref(r.columns);
}

static void equal(const char *a, const char *b, bool want)
{
    json_t *x = parse(a), *y = parse(b);
    assert_int_equal(ovsdb_value_equal(x, y), want);
    assert_int_equal(ovsdb_value_equal(y, x), want);
    json_decref(x);
    json_decref(y);
}

static void test_equality_ignores_the_order_and_the_way_of_writing(void **state)
{
    equal("1", "[\"set\",[1]]", true);
    equal("[\"uuid\",\"a\"]", "[\"set\",[[\"uuid\",\"a\"]]]", true);
    equal("[\"set\",[3,1,2]]", "[\"set\",[1,2,3]]", true);
    equal("[\"set\",[\"b\",\"a\"]]", "[\"set\",[\"a\",\"b\"]]", true);
    equal("[\"set\",[[\"uuid\",\"b\"],[\"uuid\",\"a\"]]]", "[\"set\",[[\"uuid\",\"a\"],[\"uuid\",\"b\"]]]", true);
    equal("[\"map\",[[\"a\",\"1\"],[\"b\",\"2\"]]]", "[\"map\",[[\"b\",\"2\"],[\"a\",\"1\"]]]", true);
    equal("[\"set\",[]]", "[\"map\",[]]", true);

    equal("1", "2", false);
    equal("1", "\"1\"", false);
    equal("true", "false", false);
    equal("\"a\"", "[\"uuid\",\"a\"]", false);
    equal("1", "[\"set\",[]]", false);
    equal("[\"set\",[1,2]]", "[\"set\",[1,3]]", false);
    equal("[\"set\",[1,2]]", "[\"set\",[1,2,3]]", false);
    equal("[\"map\",[[\"a\",\"1\"]]]", "[\"map\",[[\"a\",\"2\"]]]", false);
    equal("[\"map\",[[\"a\",\"1\"]]]", "\"a\"", false);
}

static void test_making(void **state)
{
    const char *const s[] = { "b", "a\xff" };
    json_t *one = ovsdb_json_str_set(s, 1), *two = ovsdb_json_str_set(s, 2), *none = ovsdb_json_str_set(s, 0);
    json_t *empty = ovsdb_json_empty(), *map = ovsdb_json_map();
    ovsdb_json_map_add(map, "k", json_string("v"));
    ovsdb_json_map_add(map, "bad", NULL);
    json_t *all = json_pack("[o,o,o,o,o]", one, two, none, empty, map);
    char *text = json_dumps(all, JSON_COMPACT);
    assert_string_equal(text, "[\"b\",[\"set\",[\"b\",\"a\xef\xbf\xbd\"]],[\"set\",[]],[\"set\",[]],"
                              "[\"map\",[[\"k\",\"v\"]]]]");
    free(text);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_and_sets_of_one_are_the_same),
        cmocka_unit_test(test_sets_and_maps),
        cmocka_unit_test(test_junk_reads_as_the_default),
        cmocka_unit_test(test_types_are_not_mixed_up),
        cmocka_unit_test(test_equality_ignores_the_order_and_the_way_of_writing),
        cmocka_unit_test(test_making),
    };
    free(log_set_spec("console:off"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
