/* Transactions: writes to columns of existing rows.
 *
 * One transaction is on its way at a time.  What is committed meanwhile is merged, a later write to the same column in
 * place of an earlier one, and sent when the answer to the first has come.  A write is dropped when the value is there
 * already: in the copy, or in a transaction that will bring it there.
 *
 * Every callback is called once, from the loop, never from within a function of this interface (but for ovsdb_close(),
 * which ends everything): on the answer, or with -EAGAIN when connection or lock are lost first.  Whoever commits finds
 * out at the next `changed` what is still to be written, by comparing anew: nothing is kept for a later connection. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/rpc/ovsdb-private.h"

LOG_MODULE(ovsdb_txn);

struct txn_done {
    struct cds_list_head node; /* In a transaction's 'dones', then in 'outcomes'. */
    void (*func)(int error, void *aux);
    void *aux;
    int error;
};

struct ovsdb_txn {
    struct ovsdb *db;
    json_t *writes; /* "TABLE UUID" -> column -> value. */
    struct cds_list_head dones;
};

static json_t *txn_find(const struct ovsdb_txn *txn, const char *key, const char *column)
{
    return txn ? json_object_get(json_object_get(txn->writes, key), column) : NULL;
}

static void txn_free(struct ovsdb_txn *txn)
{
    json_decref(txn->writes);
    free(txn);
}

/* Ends TXN: its callbacks become due, with ERROR. */
static void txn_finish(struct ovsdb_txn *txn, int error)
{
    struct ovsdb *db = txn->db;
    struct txn_done *done, *next;
    cds_list_for_each_entry_safe (done, next, &txn->dones, node) {
        cds_list_del(&done->node);
        done->error = error;
        cds_list_add_tail(&done->node, &db->outcomes);
    }
    txn_free(txn);
    ovsdb_notify(db);
}

static bool can_write(const struct ovsdb *db) { return ovsdb_is_alive(db) && (!db->lock || ovsdb_has_lock(db)); }

/* Sends TXN, as the one on its way. */
static void txn_send(struct ovsdb_txn *txn)
{
    struct ovsdb *db = txn->db;
    const char *key;
    json_t *row, *params = json_pack("[s]", db->database);
    if (db->lock) {
        json_array_append_new(params, json_pack("{s:s, s:s}", "op", "assert", "lock", db->lock));
    }
    json_object_foreach (txn->writes, key, row) {
        const char *uuid = strchr(key, ' ') + 1;
        json_array_append_new(params,
                              json_pack("{s:s, s:s%, s:[[s, s, [s, s]]], s:O}", "op", "update", "table", key,
                                        (size_t) (uuid - 1 - key), "where", "_uuid", "==", "uuid", uuid, "row", row));
    }
    db->in_flight = txn;
    db->txn_id = ovsdb_request(db, "transact", params);
}

static void send_queued(struct ovsdb *db)
{
    struct ovsdb_txn *txn = db->queued;
    if (txn && !db->in_flight) {
        db->queued = NULL;
        if (can_write(db)) {
            txn_send(txn);
        } else {
            txn_finish(txn, -EAGAIN);
        }
    }
}

/* Moves the writes and callbacks of FROM into TO. */
static void txn_merge(struct ovsdb_txn *to, struct ovsdb_txn *from)
{
    const char *key;
    json_t *row;
    json_object_foreach (from->writes, key, row) {
        json_t *present = json_object_get(to->writes, key);
        if (present) {
            json_object_update(present, row);
        } else {
            json_object_set(to->writes, key, row);
        }
    }
    cds_list_splice(&from->dones, to->dones.prev);
    txn_free(from);
}

struct ovsdb_txn *ovsdb_txn_begin(struct ovsdb *db)
{
    struct ovsdb_txn *txn = xzalloc(sizeof *txn);
    txn->db = db;
    txn->writes = json_object();
    CDS_INIT_LIST_HEAD(&txn->dones);
    return txn;
}

/* What COLUMN of ROW will be when all that was committed has arrived.  Borrowed. */
static json_t *expected_value(const struct ovsdb_txn *txn, const char *key, const struct ovsdb_row *row,
                              const char *column)
{
    json_t *v = txn_find(txn->db->queued, key, column);
    if (!v) {
        v = txn_find(txn->db->in_flight, key, column);
    }
    return v ? v : json_object_get(row->columns, column);
}

/* See ovsdb.h.  A column that the server lacks is not written: that was said when the schema was read. */
void ovsdb_txn_set(struct ovsdb_txn *txn, const struct ovsdb_row *row, const char *column, json_t *value)
{
    const struct ovsdb_table *table = ovsdb_table_find(txn->db, row->table);
    const struct ovsdb_column *c = table ? ovsdb_column_find(table, column) : NULL;
    if (!c) {
        log_err_rl(5, "write to column %s of table %s, which is not among those that this client knows", column,
                   row->table);
    }
    if (!value) {
        log_err_rl(5, "table %s, row %s: no value to write to column %s (text that is not UTF-8?)", row->table,
                   row->uuid, column);
    }
    if (!c || c->kind == COLUMN_ABSENT || !value) {
        json_decref(value);
        return;
    }
    json_t *empty = ovsdb_json_empty();
    if (c->kind == COLUMN_MAP && json_equal(value, empty)) {
        json_decref(value);
        value = ovsdb_json_map(); /* The server takes no empty set for an empty map. */
    }
    json_decref(empty);

    char *key = xasprintf("%s %s", row->table, row->uuid);
    if (txn_find(txn, key, column) || !ovsdb_value_equal(value, expected_value(txn, key, row, column))) {
        json_t *writes = json_object_get(txn->writes, key);
        if (!writes) {
            writes = json_object();
            json_object_set_new(txn->writes, key, writes);
        }
        json_object_set_new(writes, column, value);
    } else {
        json_decref(value);
    }
    free(key);
}

bool ovsdb_txn_commit(struct ovsdb_txn *txn, void (*done_func)(int error, void *aux), void *aux)
{
    struct ovsdb *db = txn->db;
    if (!json_object_size(txn->writes) || db->closing) {
        txn_free(txn);
        return false;
    }
    if (done_func) {
        struct txn_done *done = xzalloc(sizeof *done);
        done->func = done_func;
        done->aux = aux;
        cds_list_add_tail(&done->node, &txn->dones);
    }
    if (!can_write(db)) {
        txn_finish(txn, -EAGAIN);
    } else if (!db->in_flight) {
        txn_send(txn);
    } else if (!db->queued) {
        db->queued = txn;
    } else {
        txn_merge(db->queued, txn);
    }
    return true;
}

bool ovsdb_txn_pending(const struct ovsdb *db) { return db->in_flight || db->queued; }

/* Says what the server has against a transaction. */
static int refused(const struct ovsdb_txn *txn, const json_t *error, const json_t *details)
{
    const char *e = json_string_value(error), *d = json_string_value(details);
    static const char *const transient[] = { "not owner", "timed out", "aborted", "cluster error" };
    for (size_t i = 0; e && i < ARRAY_SIZE(transient); i++) {
        if (!strcmp(e, transient[i])) {
            log_info("transaction failed (%s: %s), to be tried again", e, d ? d : "no details");
            return -EAGAIN;
        }
    }
    char *s = json_dumps(txn->writes, JSON_COMPACT);
    log_warn_rl(5, "the database refused a transaction (%s: %s): %.500s", e ? e : "malformed answer",
                d ? d : "no details", s ? s : "?");
    free(s);
    return -EINVAL;
}

/* The outcome of TXN, from the server's answer. */
static int txn_outcome(const struct ovsdb_txn *txn, const json_t *result, const json_t *error)
{
    if (error && !json_is_null(error)) {
        return json_is_object(error) ? refused(txn, json_object_get(error, "error"), json_object_get(error, "details"))
                                     : refused(txn, error, NULL);
    }
    for (size_t i = 0; i < json_array_size(result); i++) {
        const json_t *op = json_array_get(result, i), *e = json_object_get(op, "error");
        if (e && !json_is_null(e)) {
            return refused(txn, e, json_object_get(op, "details"));
        }
    }
    size_t n_ops = json_object_size(txn->writes) + (txn->db->lock != NULL);
    return json_array_size(result) < n_ops ? refused(txn, NULL, NULL) : 0;
}

void ovsdb_txn_reply(struct ovsdb *db, json_t *result, json_t *error)
{
    struct ovsdb_txn *txn = db->in_flight;
    db->in_flight = NULL;
    db->txn_id = 0;
    txn_finish(txn, txn_outcome(txn, result, error));
    send_queued(db);
}

void ovsdb_txn_fail_all(struct ovsdb *db)
{
    struct ovsdb_txn *txns[] = { db->in_flight, db->queued };
    db->in_flight = db->queued = NULL;
    db->txn_id = 0;
    for (size_t i = 0; i < ARRAY_SIZE(txns); i++) {
        if (txns[i]) {
            txn_finish(txns[i], -EAGAIN);
        }
    }
}

void ovsdb_txn_call_outcomes(struct ovsdb *db)
{
    /* Callbacks that these cause come next time, lest two of them keep each other running. */
    CDS_LIST_HEAD(due);
    struct txn_done *done, *next;
    cds_list_splice(&db->outcomes, &due);
    CDS_INIT_LIST_HEAD(&db->outcomes);
    cds_list_for_each_entry_safe (done, next, &due, node) {
        done->func(done->error, done->aux);
        free(done);
    }
}
