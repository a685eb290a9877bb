/* The copy of the database: tables, their rows by UUID and in order of arrival, and how updates change them.
 *
 * A row's address stays the same from its insertion to its deletion, over reconnections too: a full copy is applied as
 * the difference to what there was, so that rows that are the same keep their sequence number and nobody works
 * because the server was restarted.  An update is checked as a whole before any of it is applied. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/rpc/ovsdb-private.h"

LOG_MODULE(ovsdb_table);

struct row_node {
    struct ovsdb_row row;
    struct cds_list_head node;   /* In the table's 'rows'. */
    struct cds_list_head bucket; /* In one of its 'buckets'. */
    struct ovsdb_table *table;
    bool seen; /* In the full copy that is being applied. */
};

/* Rows. */

static struct cds_list_head *row_bucket(const struct ovsdb_table *table, const char *uuid)
{
    return &table->buckets[hash_bytes(uuid, strlen(uuid), 0) & (table->n_buckets - 1)];
}

static struct row_node *row_find(const struct ovsdb_table *table, const char *uuid)
{
    struct row_node *r;
    cds_list_for_each_entry (r, row_bucket(table, uuid), bucket) {
        if (!strcmp(r->row.uuid, uuid)) {
            return r;
        }
    }
    return NULL;
}

static void table_resize(struct ovsdb_table *table, size_t n)
{
    struct row_node *r;
    table->buckets = xrealloc(table->buckets, n * sizeof *table->buckets);
    table->n_buckets = n;
    for (size_t i = 0; i < n; i++) {
        CDS_INIT_LIST_HEAD(&table->buckets[i]);
    }
    cds_list_for_each_entry (r, &table->rows, node) {
        cds_list_add(&r->bucket, row_bucket(table, r->row.uuid));
    }
}

static struct row_node *row_insert(struct ovsdb_table *table, const char *uuid)
{
    struct row_node *r = xzalloc(sizeof *r);
    strcpy(r->row.uuid, uuid); /* Its length was checked. */
    r->row.table = table->spec->name;
    r->row.columns = json_object();
    r->table = table;
    if (++table->n_rows > table->n_buckets) {
        table_resize(table, table->n_buckets * 2);
    }
    cds_list_add_tail(&r->node, &table->rows);
    cds_list_add(&r->bucket, row_bucket(table, uuid));
    return r;
}

static void row_delete(struct row_node *r)
{
    r->table->n_rows--;
    cds_list_del(&r->node);
    cds_list_del(&r->bucket);
    json_decref(r->row.columns);
    free(r);
}

/* Tables. */

void ovsdb_tables_init(struct ovsdb *db, const struct ovsdb_table_spec *specs)
{
    while (specs[db->n_tables].name) {
        db->n_tables++;
    }
    db->tables = xcalloc(db->n_tables + 1, sizeof *db->tables);
    for (size_t i = 0; i < db->n_tables; i++) {
        struct ovsdb_table *t = &db->tables[i];
        t->spec = &specs[i];
        while (t->spec->columns[t->n_columns].name) {
            t->n_columns++;
        }
        t->columns = xcalloc(t->n_columns + 1, sizeof *t->columns);
        for (size_t j = 0; j < t->n_columns; j++) {
            t->columns[j].spec = &t->spec->columns[j];
        }
        CDS_INIT_LIST_HEAD(&t->rows);
        table_resize(t, 16);
    }
}

void ovsdb_tables_uninit(struct ovsdb *db)
{
    for (size_t i = 0; i < db->n_tables; i++) {
        struct ovsdb_table *t = &db->tables[i];
        struct row_node *r, *next;
        cds_list_for_each_entry_safe (r, next, &t->rows, node) {
            row_delete(r);
        }
        free(t->columns);
        free(t->buckets);
    }
    free(db->tables);
}

struct ovsdb_table *ovsdb_table_find(const struct ovsdb *db, const char *name)
{
    for (size_t i = 0; i < db->n_tables; i++) {
        if (!strcmp(db->tables[i].spec->name, name)) {
            return &db->tables[i];
        }
    }
    return NULL;
}

struct ovsdb_column *ovsdb_column_find(const struct ovsdb_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (!strcmp(table->columns[i].spec->name, name)) {
            return &table->columns[i];
        }
    }
    return NULL;
}

/* Schema. */

static void table_set_schema(struct ovsdb *db, struct ovsdb_table *t, json_t *schema)
{
    t->present = json_is_object(schema);
    if (!t->present && !t->reported) {
        t->reported = true;
        log_warn("database %s has no table %s: it is taken for empty", db->database, t->spec->name);
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        struct ovsdb_column *c = &t->columns[i];
        json_t *column = json_object_get(json_object_get(schema, "columns"), c->spec->name);
        json_t *type = json_object_get(column, "type");
        c->kind = !json_is_object(column) ? COLUMN_ABSENT : json_object_get(type, "value") ? COLUMN_MAP : COLUMN_SET;
        if (t->present && c->kind == COLUMN_ABSENT && !c->reported) {
            c->reported = true;
            log_warn("database %s: table %s has no column %s: %s", db->database, t->spec->name, c->spec->name,
                     c->spec->use == OVSDB_READ ? "its default is used" : "it will not be written");
        }
    }
}

int ovsdb_tables_set_schema(struct ovsdb *db, json_t *schema)
{
    json_t *tables = json_object_get(schema, "tables");
    if (!json_is_object(tables)) {
        return -EPROTO;
    }
    for (size_t i = 0; i < db->n_tables; i++) {
        table_set_schema(db, &db->tables[i], json_object_get(tables, db->tables[i].spec->name));
    }
    return 0;
}

json_t *ovsdb_tables_monitor(const struct ovsdb *db)
{
    json_t *requests = json_object();
    for (size_t i = 0; i < db->n_tables; i++) {
        const struct ovsdb_table *t = &db->tables[i];
        json_t *columns = json_array();
        for (size_t j = 0; j < t->n_columns; j++) {
            if (t->columns[j].kind != COLUMN_ABSENT) {
                json_array_append_new(columns, json_string(t->columns[j].spec->name));
            }
        }
        if (t->present) {
            json_object_set_new(requests, t->spec->name, json_pack("[{s:o}]", "columns", columns));
        } else {
            json_decref(columns);
        }
    }
    return requests;
}

/* Updates. */

static bool uuid_valid(const char *s)
{
    for (size_t i = 0; i < UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s[i] != '-' : !strchr("0123456789abcdefABCDEF", s[i]) || !s[i]) {
            return false;
        }
    }
    return !s[UUID_LEN];
}

/* Whether UPDATES has the form of <table-updates>, as far as we will look into it. */
static bool updates_valid(json_t *updates)
{
    const char *table, *uuid;
    json_t *rows, *update;
    if (!json_is_object(updates)) {
        return false;
    }
    json_object_foreach (updates, table, rows) {
        if (!json_is_object(rows)) {
            log_warn_rl(5, "update of table %s is not an object", table);
            return false;
        }
        json_object_foreach (rows, uuid, update) {
            json_t *new = json_object_get(update, "new");
            if (!uuid_valid(uuid) || !json_is_object(update) || (new && !json_is_object(new))) {
                log_warn_rl(5, "update of table %s, row %s is malformed", table, uuid);
                return false;
            }
        }
    }
    return true;
}

/* Gives R the columns NEW.  Returns whether one that is read changed. */
static bool row_update(struct row_node *r, json_t *new, bool full)
{
    bool changed = false;
    for (size_t i = 0; i < r->table->n_columns; i++) {
        const struct ovsdb_column *c = &r->table->columns[i];
        json_t *before = json_object_get(r->row.columns, c->spec->name);
        json_t *after = json_object_get(new, c->spec->name);
        if (!after && !full) {
            continue; /* Not in this update. */
        }
        changed |= c->spec->use == OVSDB_READ && !ovsdb_value_equal(before, after);
        if (after) {
            json_object_set(r->row.columns, c->spec->name, after);
        } else {
            json_object_del(r->row.columns, c->spec->name);
        }
    }
    return changed;
}

/* Applies the updates ROWS of table T.  Returns whether anything that is read changed. */
static bool table_update(struct ovsdb_table *t, json_t *rows, bool full, unsigned int seq)
{
    const char *uuid;
    json_t *update;
    bool changed = false;
    json_object_foreach (rows, uuid, update) {
        json_t *new = json_object_get(update, "new");
        struct row_node *r = row_find(t, uuid);
        if (!new) {
            if (r) {
                row_delete(r);
                changed = true;
            }
            continue;
        }
        bool inserted = !r;
        if (inserted) {
            r = row_insert(t, uuid);
        }
        r->seen = true;
        if (row_update(r, new, full) || inserted) {
            r->row.seq = seq;
            changed = true;
        }
    }
    return changed;
}

/* Deletes the rows of T that were not in the full copy.  Returns whether there were any. */
static bool table_sweep(struct ovsdb_table *t)
{
    struct row_node *r, *next;
    bool changed = false;
    cds_list_for_each_entry_safe (r, next, &t->rows, node) {
        if (!r->seen) {
            row_delete(r);
            changed = true;
        }
    }
    return changed;
}

int ovsdb_tables_update(struct ovsdb *db, json_t *updates, bool full)
{
    if (!updates_valid(updates)) {
        return -EPROTO;
    }
    bool changed = false;
    size_t n_cells = 0;
    for (size_t i = 0; i < db->n_tables; i++) {
        struct ovsdb_table *t = &db->tables[i];
        struct row_node *r;
        if (full) {
            cds_list_for_each_entry (r, &t->rows, node) {
                r->seen = false;
            }
        }
        changed |= table_update(t, json_object_get(updates, t->spec->name), full, db->seq + 1);
        if (full) {
            changed |= table_sweep(t);
        }
        n_cells += t->n_rows * t->n_columns;
    }
    db->seq += changed;
    __atomic_store_n(&db->n_cells, n_cells, __ATOMIC_RELAXED);
    return changed;
}

/* Readers, see ovsdb.h. */

size_t ovsdb_n_rows(const struct ovsdb *db, const char *table)
{
    const struct ovsdb_table *t = ovsdb_table_find(db, table);
    return t ? t->n_rows : 0;
}

const struct ovsdb_row *ovsdb_row_by_uuid(const struct ovsdb *db, const char *table, const char *uuid)
{
    const struct ovsdb_table *t = ovsdb_table_find(db, table);
    struct row_node *r = t && uuid ? row_find(t, uuid) : NULL;
    return r ? &r->row : NULL;
}

const struct ovsdb_row *ovsdb_first(const struct ovsdb *db, const char *table)
{
    const struct ovsdb_table *t = ovsdb_table_find(db, table);
    return t && t->n_rows ? &cds_list_first_entry(&t->rows, struct row_node, node)->row : NULL;
}

const struct ovsdb_row *ovsdb_next(const struct ovsdb *db, const struct ovsdb_row *row)
{
    const struct row_node *r = CONTAINER_OF(row, struct row_node, row);
    return r->node.next == &r->table->rows ? NULL : &cds_list_entry(r->node.next, struct row_node, node)->row;
}

size_t ovsdb_n_cells(const struct ovsdb *db) { return __atomic_load_n(&db->n_cells, __ATOMIC_RELAXED); }
