/* What the parts of the database client share.
 *
 *   ovsdb.c        the session: connection, schema, lock, monitor
 *   ovsdb-table.c  the copy
 *   ovsdb-row.c    values
 *   ovsdb-txn.c    transactions
 *
 * All of it belongs to main. */
#ifndef RPC_OVSDB_PRIVATE_H
#define RPC_OVSDB_PRIVATE_H 1

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <urcu/list.h>

#include "lib/rpc/ovsdb.h"

struct event;
struct jsonrpc;
struct stream;

/* What the server's schema says of a column that we know. */
enum column_kind { COLUMN_ABSENT, COLUMN_SET, COLUMN_MAP };

struct ovsdb_column {
    const struct ovsdb_column_spec *spec;
    enum column_kind kind;
    bool reported; /* Its absence was logged. */
};

struct ovsdb_table {
    const struct ovsdb_table_spec *spec;
    struct ovsdb_column *columns;
    size_t n_columns;
    bool present;              /* In the schema. */
    bool reported;             /* Its absence was logged. */
    struct cds_list_head rows; /* Of struct row_node by 'node', in the order of arrival. */
    struct cds_list_head *buckets;
    size_t n_buckets; /* A power of two. */
    size_t n_rows;
};

enum session_state {
    SESSION_WAITING,    /* For the backoff timer. */
    SESSION_CONNECTING, /* TCP and TLS only. */
    SESSION_SCHEMA,     /* get_schema is on its way. */
    SESSION_MONITOR,    /* So are lock and monitor. */
    SESSION_ALIVE
};

enum lock_state { DB_LOCK_UNKNOWN, DB_LOCK_HELD, DB_LOCK_CONTENDED };

struct ovsdb {
    char **remotes;
    size_t n_remotes;
    size_t remote; /* The one that is in use, or is to be tried next. */
    struct tls *tls;
    char *database;
    char *lock; /* May be NULL. */
    struct ovsdb_callbacks cb;

    /* Session. */
    enum session_state state;
    struct jsonrpc *rpc;
    int connecting_fd;                /* -1: none. */
    struct stream *connecting_stream; /* TLS. */
    struct event *connect_event;
    struct event *retry_event;
    struct event *probe_event;  /* Every PROBE_SEC while connected. */
    struct event *notify_event; /* Active: callbacks are due. */
    unsigned int backoff;       /* Seconds. */
    unsigned int attempt;       /* Since the last full copy: only the first is logged. */
    uint64_t probe_received;    /* Bytes received when the probe timer last fired. */
    unsigned int n_missed;      /* Times it fired in silence. */
    unsigned int next_id;
    unsigned int schema_id, lock_id, monitor_id; /* 0: not asked. */
    enum lock_state lock_state;

    /* Copy. */
    struct ovsdb_table *tables;
    size_t n_tables;
    unsigned int seq;
    size_t n_cells;      /* Relaxed atomic: memory/show reads it from its own thread. */
    bool notify_changed; /* Call 'changed' from notify_event. */

    /* Transactions. */
    struct ovsdb_txn *in_flight;   /* Sent. */
    unsigned int txn_id;           /* Its request. */
    struct ovsdb_txn *queued;      /* To be sent next. */
    struct cds_list_head outcomes; /* Of struct txn_done: callbacks to be called from notify_event. */
    bool closing;
};

/* ovsdb.c. */
void ovsdb_notify(struct ovsdb *db);
/* Sends a request, takes over PARAMS, returns its id. */
unsigned int ovsdb_request(struct ovsdb *db, const char *method, json_t *params);

/* ovsdb-table.c. */
void ovsdb_tables_init(struct ovsdb *db, const struct ovsdb_table_spec *specs);
void ovsdb_tables_uninit(struct ovsdb *db);
struct ovsdb_table *ovsdb_table_find(const struct ovsdb *db, const char *name);
struct ovsdb_column *ovsdb_column_find(const struct ovsdb_table *table, const char *name);
/* Learns from SCHEMA, the answer to get_schema, what there is.  Returns 0, or -EPROTO if it is no schema. */
int ovsdb_tables_set_schema(struct ovsdb *db, json_t *schema);
/* The monitor requests for what there is. */
json_t *ovsdb_tables_monitor(const struct ovsdb *db);
/* Applies UPDATES; FULL: they are the whole contents, which replace what there was.  Returns whether a read column or
 * the set of rows changed, or -EPROTO, nothing changed, if UPDATES has the wrong form. */
int ovsdb_tables_update(struct ovsdb *db, json_t *updates, bool full);

/* ovsdb-row.c. */
/* Whether A and B are the same value, whatever the order of sets and maps, [x] being the same as x. */
bool ovsdb_value_equal(const json_t *a, const json_t *b);

/* ovsdb-txn.c. */
void ovsdb_txn_reply(struct ovsdb *db, json_t *result, json_t *error);
/* The connection or the lock is lost: all that is on its way or waits ends with -EAGAIN. */
void ovsdb_txn_fail_all(struct ovsdb *db);
void ovsdb_txn_call_outcomes(struct ovsdb *db);

#endif
