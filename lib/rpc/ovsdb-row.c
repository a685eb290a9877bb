/* Values of database columns in the wire form of RFC 7047, section 5.1.
 *
 * An atom is a JSON scalar or ["uuid", TEXT].  A set of one element may be written as that element, so every
 * column is read as a set: `struct value` is a view of either, without a copy.  Nothing here trusts the server: what
 * has another form is read as the caller's default, and said, at a bounded rate.
 *
 * Pure functions on borrowed JSON; they allocate only to sort large sets for comparison. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/rpc/jsonrpc.h"
#include "lib/rpc/ovsdb-private.h"

LOG_MODULE(ovsdb_row);

/* A view of a value: its elements, which are atoms, or pairs when it is a map. */
struct value {
    const json_t *array; /* Of the elements; NULL: the value is 'scalar' alone. */
    const json_t *scalar;
    size_t n;
    bool map;
};

static bool is_tagged(const json_t *json, const char *tag, json_type type)
{
    const char *s = json_string_value(json_array_get(json, 0));
    return json_array_size(json) == 2 && s && !strcmp(s, tag) && json_typeof(json_array_get(json, 1)) == type;
}

static bool is_uuid(const json_t *json) { return is_tagged(json, "uuid", JSON_STRING); }

static bool is_atom(const json_t *json)
{
    return json_is_string(json) || json_is_number(json) || json_is_boolean(json) || is_uuid(json);
}

/* Looks at JSON as a value, without a look at its elements.  Returns false if it is none. */
static bool value_parse(const json_t *json, struct value *ret)
{
    if (is_atom(json)) {
        *ret = (struct value){ .scalar = json, .n = 1 };
        return true;
    }
    bool map = is_tagged(json, "map", JSON_ARRAY);
    if (!map && !is_tagged(json, "set", JSON_ARRAY)) {
        return false;
    }
    const json_t *array = json_array_get(json, 1);
    *ret = (struct value){ .array = array, .n = json_array_size(array), .map = map };
    return true;
}

static const json_t *value_get(const struct value *v, size_t i)
{
    return v->array ? json_array_get(v->array, i) : i ? NULL : v->scalar;
}

/* Whether all elements of V are what they should be. */
static bool value_check(const struct value *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const json_t *e = value_get(v, i);
        if (v->map ? json_array_size(e) != 2 || !is_atom(json_array_get(e, 0)) || !is_atom(json_array_get(e, 1))
                   : !is_atom(e)) {
            return false;
        }
    }
    return true;
}

/* Comparison. */

/* Orders atoms, by type and then by value. */
static int atom_cmp(const json_t *a, const json_t *b)
{
    if (json_typeof(a) != json_typeof(b)) {
        return json_typeof(a) < json_typeof(b) ? -1 : 1;
    }
    if (json_is_string(a)) {
        return strcmp(json_string_value(a), json_string_value(b));
    } else if (json_is_integer(a)) {
        json_int_t x = json_integer_value(a), y = json_integer_value(b);
        return x < y ? -1 : x > y;
    } else if (json_is_real(a)) {
        double x = json_real_value(a), y = json_real_value(b);
        return x < y ? -1 : x > y;
    } else if (json_is_array(a)) {
        return strcmp(json_string_value(json_array_get(a, 1)), json_string_value(json_array_get(b, 1)));
    }
    return 0; /* Both true, or both false: those are two types to jansson. */
}

static int pair_cmp(const json_t *a, const json_t *b)
{
    int cmp = atom_cmp(json_array_get(a, 0), json_array_get(b, 0));
    return cmp ? cmp : atom_cmp(json_array_get(a, 1), json_array_get(b, 1));
}

static int sort_atoms(const void *a, const void *b) { return atom_cmp(*(json_t *const *) a, *(json_t *const *) b); }
static int sort_pairs(const void *a, const void *b) { return pair_cmp(*(json_t *const *) a, *(json_t *const *) b); }

static const json_t **sorted(const struct value *v)
{
    const json_t **e = xcalloc(v->n + 1, sizeof *e);
    for (size_t i = 0; i < v->n; i++) {
        e[i] = value_get(v, i);
    }
    qsort(e, v->n, sizeof *e, v->map ? sort_pairs : sort_atoms);
    return e;
}

bool ovsdb_value_equal(const json_t *a, const json_t *b)
{
    struct value x, y;
    if (!a || !b) {
        return a == b;
    }
    /* The common case first: the server keeps its sets sorted.  Both are read only, whatever jansson's type says. */
    if (json_equal((json_t *) a, (json_t *) b)) {
        return true;
    }
    if (!value_parse(a, &x) || !value_parse(b, &y) || x.n != y.n) {
        return false;
    }
    if (!x.n) {
        return true; /* An empty set is as good as an empty map. */
    }
    if (x.map != y.map || !value_check(&x) || !value_check(&y)) {
        return false;
    }
    const json_t **p = sorted(&x), **q = sorted(&y);
    bool equal = true;
    for (size_t i = 0; i < x.n && equal; i++) {
        equal = !(x.map ? pair_cmp(p[i], q[i]) : atom_cmp(p[i], q[i]));
    }
    free(p);
    free(q);
    return equal;
}

/* Reading. */

/* Says that COLUMN of ROW has not the form WANT.  Rare, and bounded by the log's rate. */
static void wrong_type(const struct ovsdb_row *row, const char *column, const char *want)
{
    char *s = json_dumps(json_object_get(row->columns, column), JSON_COMPACT | JSON_ENCODE_ANY);
    log_warn_rl(5, "table %s, row %s: column %s has the value %.200s, not %s; using the default", row->table, row->uuid,
                column, s ? s : "?", want);
    free(s);
}

/* Looks at COLUMN of ROW as a set or map.  Returns false when it is absent or, said, something else. */
static bool column_value(const struct ovsdb_row *row, const char *column, bool map, struct value *ret)
{
    const json_t *json = json_object_get(row->columns, column);
    struct value v;
    if (!json) {
        return false; /* Not in the schema: that was said when it was read. */
    }
    if (!value_parse(json, &v) || (v.n && v.map != map)) {
        wrong_type(row, column, map ? "a map" : "a set or a scalar");
        return false;
    }
    *ret = v;
    return true;
}

/* The only element of COLUMN of ROW, unchecked, or NULL: empty or, said, more than one. */
static const json_t *column_scalar(const struct ovsdb_row *row, const char *column)
{
    struct value v;
    if (!column_value(row, column, false, &v) || !v.n) {
        return NULL;
    }
    if (v.n > 1) {
        wrong_type(row, column, "a single value");
        return NULL;
    }
    return value_get(&v, 0);
}

const char *ovsdb_str(const struct ovsdb_row *row, const char *column, const char *def)
{
    const json_t *e = column_scalar(row, column);
    if (e && !json_is_string(e)) {
        wrong_type(row, column, "a string");
        return def;
    }
    return e ? json_string_value(e) : def;
}

int64_t ovsdb_int(const struct ovsdb_row *row, const char *column, int64_t def)
{
    const json_t *e = column_scalar(row, column);
    if (e && !json_is_integer(e)) {
        wrong_type(row, column, "an integer");
        return def;
    }
    return e ? json_integer_value(e) : def;
}

bool ovsdb_bool(const struct ovsdb_row *row, const char *column, bool def)
{
    const json_t *e = column_scalar(row, column);
    if (e && !json_is_boolean(e)) {
        wrong_type(row, column, "a boolean");
        return def;
    }
    return e ? json_is_true(e) : def;
}

/* The value of KEY in the map COLUMN of ROW: a string, or the text of a UUID; NULL if there is none. */
const char *ovsdb_map_get(const struct ovsdb_row *row, const char *column, const char *key)
{
    struct value v;
    if (!column_value(row, column, true, &v)) {
        return NULL;
    }
    for (size_t i = 0; i < v.n; i++) {
        const json_t *pair = value_get(&v, i);
        const char *k = json_string_value(json_array_get(pair, 0));
        if (k && !strcmp(k, key)) {
            const json_t *e = json_array_get(pair, 1);
            const char *s = json_string_value(is_uuid(e) ? json_array_get(e, 1) : e);
            if (!s) {
                wrong_type(row, column, "a map to strings");
            }
            return s;
        }
    }
    return NULL;
}

size_t ovsdb_set_size(const struct ovsdb_row *row, const char *column)
{
    struct value v;
    return column_value(row, column, false, &v) ? v.n : 0;
}

static const json_t *set_element(const struct ovsdb_row *row, const char *column, size_t i)
{
    struct value v;
    return column_value(row, column, false, &v) ? value_get(&v, i) : NULL;
}

/* NULL when there is no element I, or it is something else than a string. */
const char *ovsdb_set_str(const struct ovsdb_row *row, const char *column, size_t i)
{
    const json_t *e = set_element(row, column, i);
    if (e && !json_is_string(e)) {
        wrong_type(row, column, "a set of strings");
    }
    return json_string_value(e);
}

/* 0 when there is no element I, or it is something else than an integer. */
int64_t ovsdb_set_int(const struct ovsdb_row *row, const char *column, size_t i)
{
    const json_t *e = set_element(row, column, i);
    if (e && !json_is_integer(e)) {
        wrong_type(row, column, "a set of integers");
    }
    return json_integer_value(e);
}

/* NULL when there is no element I, or it is something else than a UUID. */
const char *ovsdb_set_uuid(const struct ovsdb_row *row, const char *column, size_t i)
{
    const json_t *e = set_element(row, column, i);
    if (e && !is_uuid(e)) {
        wrong_type(row, column, "a set of UUIDs");
        return NULL;
    }
    return e ? json_string_value(json_array_get(e, 1)) : NULL;
}

/* Making. */

static json_t *tagged(const char *tag) { return json_pack("[s, []]", tag); }

json_t *ovsdb_json_str_set(const char *const *s, size_t n)
{
    if (n == 1) {
        return jsonrpc_string(s[0]);
    }
    json_t *set = tagged("set");
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(json_array_get(set, 1), jsonrpc_string(s[i]));
    }
    return set;
}

json_t *ovsdb_json_empty(void) { return tagged("set"); }
json_t *ovsdb_json_map(void) { return tagged("map"); }

/* Takes over VALUE's reference; VALUE NULL adds nothing.  KEY must not be in MAP yet. */
void ovsdb_json_map_add(json_t *map, const char *key, json_t *value)
{
    if (!value) {
        return;
    }
    json_t *pair = json_array();
    json_array_append_new(pair, jsonrpc_string(key));
    json_array_append_new(pair, value);
    json_array_append_new(json_array_get(map, 1), pair);
}
