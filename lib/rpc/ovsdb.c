/* The database client's session.
 *
 *   WAITING --timer--> CONNECTING --> SCHEMA --get_schema's answer--> MONITOR --monitor's answer--> ALIVE
 *      ^                                                                                            |
 *      '------------------- connection lost, silent, or talking nonsense ---------------------------'
 *
 * On the connection go get_schema first, then lock and monitor together: answers come in the order of requests, so the
 * lock's state is known when the copy is full.  While there is no connection the old copy stays readable;
 * the next full one replaces it as a whole.  A lost connection is no change: `changed` comes when it is back.
 *
 * Everything runs in main.  Callbacks of the owner (changed, transactions' outcomes) are called from an event of their
 * own, never from within a function that the owner called: there he may call anything, but ovsdb_close() only from
 * `changed`.  Several updates that arrive together make one call of `changed`.
 *
 * A connection that is silent for PROBE_SEC is probed with an echo, and given up after MAX_MISSED more periods. */
#include <config.h>

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/io/stream.h"
#include "lib/rpc/jsonrpc.h"
#include "lib/rpc/ovsdb-private.h"
#include "lib/rpc/rpc-socket.h"

LOG_MODULE(ovsdb);

#define BACKOFF_MIN     1 /* Seconds between attempts: doubled each time, up to */
#define BACKOFF_MAX     8
#define CONNECT_TIMEOUT 8 /* Seconds, of TCP. */
#define PROBE_SEC       5
#define MAX_MISSED      2

static const struct jsonrpc_limits session_limits = {
    .max_message = 64 * 1024 * 1024,
    .max_depth = 100,
    .write_timeout = 30,
};

static void connect_now(struct ovsdb *db);

static const char *remote_name(const struct ovsdb *db) { return db->n_remotes ? db->remotes[db->remote] : "database"; }

void ovsdb_notify(struct ovsdb *db)
{
    if (!db->closing) {
        event_active(db->notify_event, 0, 0);
    }
}

static void notify_changed(struct ovsdb *db)
{
    db->notify_changed = true;
    ovsdb_notify(db);
}

static void notify_cb(evutil_socket_t fd, short what, void *db_)
{
    struct ovsdb *db = db_;
    ovsdb_txn_call_outcomes(db);
    if (db->notify_changed) {
        db->notify_changed = false;
        db->cb.changed(db->cb.aux); /* May close DB. */
    }
}

/* Ending a session. */

/* Ends what there is of a connection. */
static void session_end(struct ovsdb *db)
{
    jsonrpc_destroy(db->rpc);
    db->rpc = NULL;
    if (db->connecting_fd >= 0) {
        event_del(db->connect_event);
        close(db->connecting_fd);
        db->connecting_fd = -1;
    }
    stream_destroy(db->connecting_stream);
    db->connecting_stream = NULL;
    event_del(db->probe_event);
    event_del(db->retry_event);
    db->schema_id = db->lock_id = db->monitor_id = 0;
    db->lock_state = DB_LOCK_UNKNOWN;
    db->state = SESSION_WAITING;
    ovsdb_txn_fail_all(db);
}

/* Ends the session and plans the next attempt. */
static void session_retry(struct ovsdb *db)
{
    session_end(db);
    db->attempt++;
    db->remote = db->n_remotes ? (db->remote + 1) % db->n_remotes : 0;
    /* The other remotes are tried at once, then comes the pause. */
    struct timeval pause = { 0 };
    if (!db->n_remotes || db->attempt % db->n_remotes == 0) {
        pause.tv_sec = db->backoff;
        db->backoff = MIN(db->backoff * 2, BACKOFF_MAX);
    }
    evtimer_add(db->retry_event, &pause);
}

/* The server said something that makes no sense. */
static void session_nonsense(struct ovsdb *db, const char *what)
{
    log_warn_rl(5, "%s: disconnecting: %s", remote_name(db), what);
    session_retry(db);
}

/* Requests and their answers. */

unsigned int ovsdb_request(struct ovsdb *db, const char *method, json_t *params)
{
    unsigned int id = ++db->next_id ? db->next_id : ++db->next_id; /* 0 means none. */
    jsonrpc_send(db->rpc, json_pack("{s:s, s:o, s:I}", "method", method, "params", params, "id", (json_int_t) id));
    return id;
}

/* The text of an error in an answer. */
static const char *error_text(const json_t *error)
{
    const char *details = json_string_value(json_object_get(error, "details"));
    const char *text = json_string_value(json_is_object(error) ? json_object_get(error, "error") : error);
    return details ? details : text ? text : "error without a text";
}

static void set_lock_state(struct ovsdb *db, enum lock_state state)
{
    if (state != db->lock_state) {
        db->lock_state = state;
        if (state == DB_LOCK_CONTENDED) {
            log_info("%s: another client holds the lock %s", remote_name(db), db->lock);
        } else {
            log_dbg("%s: lock %s is ours", remote_name(db), db->lock);
        }
        if (db->state == SESSION_ALIVE) {
            notify_changed(db);
        }
    }
}

static void handle_schema(struct ovsdb *db, json_t *result)
{
    if (ovsdb_tables_set_schema(db, result)) {
        session_nonsense(db, "the answer to get_schema is not a schema");
        return;
    }
    db->state = SESSION_MONITOR;
    if (db->lock) {
        db->lock_id = ovsdb_request(db, "lock", json_pack("[s]", db->lock));
    }
    db->monitor_id =
        ovsdb_request(db, "monitor", json_pack("[s, s, o]", db->database, "sluice", ovsdb_tables_monitor(db)));
}

static void handle_lock(struct ovsdb *db, json_t *result)
{
    json_t *locked = json_object_get(result, "locked");
    if (!json_is_boolean(locked)) {
        session_nonsense(db, "the answer to lock does not say whether it is locked");
        return;
    }
    set_lock_state(db, json_is_true(locked) ? DB_LOCK_HELD : DB_LOCK_CONTENDED);
}

static void handle_monitor(struct ovsdb *db, json_t *result)
{
    if (ovsdb_tables_update(db, result, true) < 0) {
        session_nonsense(db, "the answer to monitor is malformed");
        return;
    }
    db->state = SESSION_ALIVE;
    db->backoff = BACKOFF_MIN;
    db->attempt = 0;
    notify_changed(db);
}

static void handle_reply(struct ovsdb *db, json_t *msg)
{
    json_t *id_json = json_object_get(msg, "id");
    json_t *result = json_object_get(msg, "result"), *error = json_object_get(msg, "error");
    json_int_t id = json_integer_value(id_json);
    if (id && id == db->txn_id) {
        ovsdb_txn_reply(db, result, error);
        return;
    }
    struct {
        unsigned int *id;
        const char *what;
        void (*handle)(struct ovsdb *, json_t *);
    } requests[] = {
        { &db->schema_id, "get_schema", handle_schema },
        { &db->lock_id, "lock", handle_lock },
        { &db->monitor_id, "monitor", handle_monitor },
    };
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        if (id && id == *requests[i].id) {
            *requests[i].id = 0;
            if (error && !json_is_null(error)) {
                log_warn_rl(5, "%s: %s of database %s failed: %s", remote_name(db), requests[i].what, db->database,
                            error_text(error));
                session_retry(db);
            } else {
                requests[i].handle(db, result);
            }
            return;
        }
    }
    /* Else: the answer to a probe, which has served its purpose by arriving. */
}

/* What the server sends of its own accord. */

static void handle_update(struct ovsdb *db, json_t *params)
{
    if (db->state != SESSION_ALIVE) {
        session_nonsense(db, "an update arrived before the initial contents");
        return;
    }
    int changed = ovsdb_tables_update(db, json_array_get(params, 1), false);
    if (changed < 0) {
        session_nonsense(db, "an update is malformed");
    } else if (changed) {
        notify_changed(db);
    }
}

static void handle_lock_notice(struct ovsdb *db, json_t *params, enum lock_state state)
{
    const char *lock = json_string_value(json_array_get(params, 0));
    if (db->lock && lock && !strcmp(lock, db->lock)) {
        set_lock_state(db, state);
    }
}

static void handle_request(struct ovsdb *db, json_t *msg)
{
    const char *method = json_string_value(json_object_get(msg, "method"));
    json_t *id = json_object_get(msg, "id"), *params = json_object_get(msg, "params");
    if (!method) {
        session_nonsense(db, "a message's method is not a string");
    } else if (!strcmp(method, "echo") && id && json_is_array(params)) {
        jsonrpc_send(db->rpc, json_pack("{s:O, s:n, s:O}", "result", params, "error", "id", id));
    } else if (!strcmp(method, "update")) {
        handle_update(db, params);
    } else if (!strcmp(method, "locked")) {
        handle_lock_notice(db, params, DB_LOCK_HELD);
    } else if (!strcmp(method, "stolen")) {
        handle_lock_notice(db, params, DB_LOCK_CONTENDED);
    } else if (id && !json_is_null(id)) {
        jsonrpc_send(db->rpc, json_pack("{s:n, s:s, s:O}", "result", "error", "unknown method", "id", id));
    } else {
        log_dbg("%s: unknown notification %s", remote_name(db), method);
    }
}

static void session_message(struct jsonrpc *rpc, json_t *msg, void *db_)
{
    struct ovsdb *db = db_;
    if (json_object_get(msg, "method")) {
        handle_request(db, msg);
    } else if (json_object_get(msg, "id")) {
        handle_reply(db, msg);
    } else {
        session_nonsense(db, "a message is neither request nor answer");
    }
}

static void session_closed(struct jsonrpc *rpc, int error, void *db_)
{
    struct ovsdb *db = db_;
    if (error != -EPROTO) { /* That was said. */
        log_info("%s: connection closed%s%s", remote_name(db), error ? ": " : " by peer",
                 error ? strerror(-error) : "");
    }
    session_retry(db);
}

static const struct jsonrpc_ops session_ops = { .message = session_message, .closed = session_closed };

static void probe_cb(evutil_socket_t fd, short what, void *db_)
{
    struct ovsdb *db = db_;
    uint64_t received = jsonrpc_received(db->rpc);
    if (received != db->probe_received) {
        db->probe_received = received;
        db->n_missed = 0;
    } else if (db->n_missed++ < MAX_MISSED) {
        ovsdb_request(db, "echo", json_array());
    } else {
        log_info("%s: no answer to probes for %d seconds, disconnecting", remote_name(db), PROBE_SEC * MAX_MISSED);
        session_retry(db);
    }
}

/* Beginning a session. */

/* Takes over RPC. */
static void session_begin(struct ovsdb *db, struct jsonrpc *rpc)
{
    struct timeval period = { .tv_sec = PROBE_SEC };
    log_info("%s: connected", remote_name(db));
    db->rpc = rpc;
    db->probe_received = 0;
    db->n_missed = 0;
    event_add(db->probe_event, &period);
    db->state = SESSION_SCHEMA;
    db->schema_id = ovsdb_request(db, "get_schema", json_pack("[s]", db->database));
}

static void session_begin_fd(struct ovsdb *db, int fd)
{
    session_begin(db, jsonrpc_create(loop_base(), fd, remote_name(db), &session_ops, &session_limits, db));
}

/* Attempts after the first round that failed are not logged: the database may take hours to appear. */
static void connect_failed(struct ovsdb *db, const char *why)
{
    if (db->attempt < db->n_remotes) {
        log_info("%s: connection attempt failed (%s), will try again until it is there", remote_name(db), why);
    } else {
        log_dbg("%s: connection attempt failed (%s)", remote_name(db), why);
    }
    session_retry(db);
}

static void connect_cb(evutil_socket_t fd, short what, void *db_)
{
    struct ovsdb *db = db_;
    int error = what & EV_TIMEOUT ? -ETIMEDOUT : rpc_socket_error(fd);
    if (error) {
        connect_failed(db, strerror(-error));
        return;
    }
    db->connecting_fd = -1;
    session_begin_fd(db, fd);
}

/* TLS. */

static void stream_connected_cb(struct stream *s, void *db_)
{
    struct ovsdb *db = db_;
    db->connecting_stream = NULL;
    session_begin(db, jsonrpc_create_over(stream_detach(s), remote_name(db), &session_ops, &session_limits, db));
}

static void stream_closed_cb(struct stream *s UNUSED, int error UNUSED, const char *why, void *db)
{
    connect_failed(db, why);
}

/* Cannot come: when it is connected it is detached. */
static void stream_ignore(struct stream *s, void *db UNUSED) { log_err("%s: bytes before it is connected", stream_name(s)); }

static const struct stream_ops connecting_ops = {
    .connected = stream_connected_cb,
    .readable = stream_ignore,
    .drained = stream_ignore,
    .eof = stream_ignore,
    .closed = stream_closed_cb,
};

static void connect_tls(struct ovsdb *db)
{
    const struct stream_options options = { .tls = db->tls, .connect_msec = CONNECT_TIMEOUT * 1000, .dscp = -1 };
    char *target = rpc_socket_with_port(remote_name(db));
    char *why = stream_open(loop_base(), target, &options, &connecting_ops, db, &db->connecting_stream);

    if (why) {
        connect_failed(db, why);
    } else {
        db->state = SESSION_CONNECTING;
    }
    free(why);
    free(target);
}

static void connect_now(struct ovsdb *db)
{
    int fd;
    bool pending;
    if (!db->n_remotes) {
        return; /* Said at the beginning. */
    }
    if (db->attempt < db->n_remotes) {
        log_info("%s: connecting...", remote_name(db));
    }
    if (rpc_socket_is_tls(remote_name(db))) {
        connect_tls(db);
        return;
    }
    int error = rpc_socket_connect(remote_name(db), &fd, &pending);
    if (error) {
        connect_failed(db, strerror(-error));
    } else if (!pending) {
        session_begin_fd(db, fd);
    } else {
        struct timeval timeout = { .tv_sec = CONNECT_TIMEOUT };
        db->state = SESSION_CONNECTING;
        db->connecting_fd = fd;
        event_assign(db->connect_event, loop_base(), fd, EV_WRITE, connect_cb, db);
        event_add(db->connect_event, &timeout);
    }
}

static void retry_cb(evutil_socket_t fd, short what, void *db_) { connect_now(db_); }

/* See ovsdb.h. */

/* Splits REMOTES at commas; what is no remote is said and left out. */
static void parse_remotes(struct ovsdb *db, const char *remotes)
{
    char *copy = xstrdup(remotes), *save = NULL;
    for (char *s = strtok_r(copy, ", ", &save); s; s = strtok_r(NULL, ", ", &save)) {
        if (rpc_socket_remote_valid(s)) {
            db->remotes = xrealloc(db->remotes, (db->n_remotes + 1) * sizeof *db->remotes);
            db->remotes[db->n_remotes++] = xstrdup(s);
        } else {
            log_warn("\"%s\" is not a database that can be connected to: write unix:PATH, tcp:IP:PORT or ssl:IP:PORT", s);
        }
    }
    free(copy);
    if (!db->n_remotes) {
        log_err("no database to connect to in \"%s\"", remotes);
    }
}

struct ovsdb *ovsdb_open(const char *remote, struct tls *tls, const char *database, const char *lock,
                         const struct ovsdb_table_spec *tables, const struct ovsdb_callbacks *cb)
{
    struct ovsdb *db = xzalloc(sizeof *db);
    db->tls = tls;
    db->database = xstrdup(database);
    db->lock = lock ? xstrdup(lock) : NULL;
    db->cb = *cb;
    db->connecting_fd = -1;
    db->backoff = BACKOFF_MIN;
    CDS_INIT_LIST_HEAD(&db->outcomes);
    db->connect_event = event_new(loop_base(), -1, 0, connect_cb, db);
    db->retry_event = evtimer_new(loop_base(), retry_cb, db);
    db->probe_event = event_new(loop_base(), -1, EV_PERSIST, probe_cb, db);
    db->notify_event = event_new(loop_base(), -1, 0, notify_cb, db);
    if (!db->connect_event || !db->retry_event || !db->probe_event || !db->notify_event) {
        fatal(ENOMEM, "cannot make the database client's events");
    }
    ovsdb_tables_init(db, tables);
    parse_remotes(db, remote);
    connect_now(db);
    return db;
}

void ovsdb_close(struct ovsdb *db)
{
    if (!db) {
        return;
    }
    db->closing = true;
    session_end(db);
    ovsdb_txn_call_outcomes(db);
    struct event *events[] = { db->connect_event, db->retry_event, db->probe_event, db->notify_event };
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        event_free(events[i]);
    }
    ovsdb_tables_uninit(db);
    for (size_t i = 0; i < db->n_remotes; i++) {
        free(db->remotes[i]);
    }
    free(db->remotes);
    free(db->database);
    free(db->lock);
    free(db);
}

/* Gives up the connection, if there is one, and makes a new one at once. */
void ovsdb_reconnect(struct ovsdb *db)
{
    session_end(db);
    db->backoff = BACKOFF_MIN;
    db->attempt = 0;
    connect_now(db);
}

bool ovsdb_is_alive(const struct ovsdb *db) { return db->state == SESSION_ALIVE; }
bool ovsdb_has_lock(const struct ovsdb *db) { return db->lock_state == DB_LOCK_HELD; }
bool ovsdb_lock_contended(const struct ovsdb *db) { return db->lock_state == DB_LOCK_CONTENDED; }
unsigned int ovsdb_seq(const struct ovsdb *db) { return db->seq; }
