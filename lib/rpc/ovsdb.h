/* A client of ovsdb-server (RFC 7047) that keeps a copy of the tables and columns it is told of.
 *
 * Runs in main's loop.  It connects (again and again, with backoff from 1 s to 8 s), reads the schema, asks for the
 * lock, monitors, and calls `changed` after every update.  Columns that the schema lacks are reported once and read as
 * their defaults.  Values of the wrong type read as defaults too, with a warning: nothing that the server sends
 * ends the daemon. */
#ifndef RPC_OVSDB_H
#define RPC_OVSDB_H 1

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ovsdb;
struct ovsdb_txn;
struct tls;

#define UUID_LEN 36 /* Characters of a UUID in text. */

enum ovsdb_column_use {
    OVSDB_READ,  /* Changes of it call 'changed'. */
    OVSDB_WRITE, /* We write it: its changes do not call 'changed'; its value is known. */
};
struct ovsdb_column_spec {
    const char *name;
    enum ovsdb_column_use use;
};
struct ovsdb_table_spec {
    const char *name;
    const struct ovsdb_column_spec *columns; /* Ends with a NULL name. */
};

struct ovsdb_row {
    char uuid[UUID_LEN + 1];
    const char *table;
    json_t *columns;  /* Object: column name -> value as on the wire.  Borrowed by readers. */
    unsigned int seq; /* Of the update that last changed an OVSDB_READ column of it. */
};

struct ovsdb_callbacks {
    /* The copy changed, or the lock was won or lost, or the connection (re)established with a full copy.  Called from
     * the loop, once for all that arrived together; may call anything here, ovsdb_close() too.  The loss of the
     * connection is no change: the old copy stays, and this is called when the new one is there. */
    void (*changed)(void *aux);
    void *aux;
};

/* REMOTE: "unix:PATH", "tcp:IP:PORT" or "ssl:IP:PORT", or several with commas between them.  TLS (may be NULL), for the
 * last, outlives the client.  LOCK: name of the lock to take (NULL: none).  TABLES ends with a NULL name and stays the
 * caller's, unchanged, as long as the client lives.  Never fails: what is wrong is logged and tried again. */
struct ovsdb *ovsdb_open(const char *remote, struct tls *tls, const char *database, const char *lock,
                         const struct ovsdb_table_spec *tables, const struct ovsdb_callbacks *cb);
void ovsdb_close(struct ovsdb *db);
void ovsdb_reconnect(struct ovsdb *db);

bool ovsdb_is_alive(const struct ovsdb *db); /* Connected, with a full copy. */
bool ovsdb_has_lock(const struct ovsdb *db);
bool ovsdb_lock_contended(const struct ovsdb *db); /* Another process holds the lock. */
unsigned int ovsdb_seq(const struct ovsdb *db);    /* Increases with every change of a read column. */

/* The copy.  Rows are valid until the loop runs again. */
size_t ovsdb_n_rows(const struct ovsdb *db, const char *table);
const struct ovsdb_row *ovsdb_row_by_uuid(const struct ovsdb *db, const char *table, const char *uuid);
/* for (row = ovsdb_first(db, t); row; row = ovsdb_next(db, row)) */
const struct ovsdb_row *ovsdb_first(const struct ovsdb *db, const char *table);
const struct ovsdb_row *ovsdb_next(const struct ovsdb *db, const struct ovsdb_row *row);

/* Values.  An empty set or a wrong type gives DEF. */
const char *ovsdb_str(const struct ovsdb_row *row, const char *column, const char *def);
int64_t ovsdb_int(const struct ovsdb_row *row, const char *column, int64_t def);
bool ovsdb_bool(const struct ovsdb_row *row, const char *column, bool def);
const char *ovsdb_map_get(const struct ovsdb_row *row, const char *column, const char *key); /* NULL: none. */
/* Number of elements of a set (a scalar is a set of one), and the I-th. */
size_t ovsdb_set_size(const struct ovsdb_row *row, const char *column);
const char *ovsdb_set_str(const struct ovsdb_row *row, const char *column, size_t i);
int64_t ovsdb_set_int(const struct ovsdb_row *row, const char *column, size_t i);
const char *ovsdb_set_uuid(const struct ovsdb_row *row, const char *column, size_t i);

/* JSON values in the wire form, new references. */
json_t *ovsdb_json_str_set(const char *const *s, size_t n); /* ["set",[...]] or a bare string when N is 1. */
json_t *ovsdb_json_empty(void);                             /* ["set",[]] */
json_t *ovsdb_json_map(void);                               /* ["map",[]], to be filled by: */
void ovsdb_json_map_add(json_t *map, const char *key, json_t *value);

/* Transactions.  set() takes over VALUE's reference, and drops the write if the copy has that value already, or a
 * transaction on its way will bring it.  commit() sends the writes in one transaction, asserting the lock, and ends
 * TXN; an empty one is not sent.  While one is on its way, further ones are merged and sent after it.
 * DONE (may be NULL) is called once, later, from the loop, with the outcome: 0, or -errno (-EAGAIN: connection or lock
 * are missing, try again after the next change; -EINVAL: the server refused it, logged); it must not call
 * ovsdb_close().  The copy is updated as the server reports the change, which is before DONE.  Returns whether there
 * was anything to write (if not, DONE is not called). */
struct ovsdb_txn *ovsdb_txn_begin(struct ovsdb *db);
void ovsdb_txn_set(struct ovsdb_txn *txn, const struct ovsdb_row *row, const char *column, json_t *value);
bool ovsdb_txn_commit(struct ovsdb_txn *txn, void (*done)(int error, void *aux), void *aux);
bool ovsdb_txn_pending(const struct ovsdb *db); /* One is on its way. */

/* Number of cells in the copy (rows times columns), for memory/show. */
size_t ovsdb_n_cells(const struct ovsdb *db);

#endif
