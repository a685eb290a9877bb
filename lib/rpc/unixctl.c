/* The control socket: server and connections.
 *
 * Threads.  The server's thread, "unixctl", owns the listener, the connections and their streams, and runs the
 * commands.  Answers come from any thread: unixctl_reply() puts the text into the connection's handle, the handle on
 * the server's queue, and wakes the thread, which writes it; an answer given at once takes the same way.  The queue
 * and the handles' answers are guarded by 'replies_lock'.
 *
 * Owners.  A handle (struct unixctl_conn) belongs to the server's thread, and while a command is pending also to
 * whoever will answer.  When the client or the server goes away meanwhile, the handle stays and the answer, when it
 * comes, frees it.  A stream is paused while its command is pending: one request at a time.
 *
 * Bounds.  MAX_CONNS connections; further clients wait in the listen backlog, and then those that have been idle or
 * silent for a second make room, so junk cannot lock an operator out.  A message has at most 1 MiB, what is not read
 * by slow clients unixctl_max_unread bytes in all; a client that reads nothing for 30 s is closed. */
#include <config.h>

#include "lib/rpc/unixctl.h"

#include <errno.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <urcu/list.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/dirs.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/thread.h"
#include "lib/io/unix-socket.h"
#include "lib/io/wakeup.h"
#include "lib/rpc/jsonrpc.h"
#include "lib/rpc/unixctl-private.h"

LOG_MODULE(unixctl);

#define MAX_CONNS  16   /* Of the daemon's descriptors that do not depend on ports and CPUs (doc/dispatch.md), a quarter. */
#define IDLE_MSEC  1000 /* After which a connection makes room for one that waits. */
#define FLUSH_MSEC 1000 /* Given to clients to read their answers when the server stops. */

static const struct jsonrpc_limits conn_limits = { .max_message = 1024 * 1024, .max_depth = 32, .write_timeout = 30 };

size_t unixctl_max_unread = 256u * 1024 * 1024;

struct unixctl_server {
    char *path;
    struct thread *thread;
    struct wakeup wakeup;
    struct event_base *base;
    int listener;
    struct event *listener_event; /* Not pending while we are full. */
    struct event *wakeup_event;
    struct event *tick_event;     /* Every 5 s. */
    struct event *pressure_event; /* Pending while listener_event is not. */
    struct cds_list_head conns;   /* All handles. */
    unsigned int n_conns;         /* Those that have a client. */
    unsigned int next_id;
    bool stopping;                /* Accepts no more. */
    struct cds_list_head replies; /* Of struct unixctl_conn by 'reply_node'; guarded by replies_lock. */
};

struct unixctl_conn {
    struct unixctl_server *server; /* NULL: the server is gone.  Guarded by replies_lock. */
    struct cds_list_head node;     /* In the server's 'conns'. */
    struct jsonrpc *rpc;           /* NULL: the client is gone. */
    json_t *id;                    /* Of the pending request, else NULL. */
    uint64_t since;                /* ms: of the last thing that it did. */

    /* Guarded by replies_lock. */
    bool pending; /* A command runs and has not answered. */
    bool is_error;
    char *text;
    struct cds_list_head reply_node;
};

/* Outlives every server, for the sake of late answers. */
static struct lock replies_lock = LOCK_INITIALIZER(RANK_IO);

static void conn_free(struct unixctl_conn *conn)
{
    cds_list_del(&conn->node);
    json_decref(conn->id);
    free(conn->text);
    free(conn);
}

/* Ends the connection.  The handle stays as long as an answer is to come. */
static void conn_close(struct unixctl_conn *conn)
{
    struct unixctl_server *server = conn->server;
    server->n_conns--;
    jsonrpc_destroy(conn->rpc);
    conn->rpc = NULL;
    if (!conn->id) {
        conn_free(conn);
    }
    if (!server->stopping) {
        event_add(server->listener_event, NULL);
        evtimer_del(server->pressure_event);
    }
}

/* Answering, any thread. */

/* Takes over TEXT. */
static void answer(struct unixctl_conn *conn, char *text, bool is_error)
{
    bool free_conn = false, twice = false;

    lock_acquire(&replies_lock);
    if (!conn->pending) {
        twice = true;
    } else {
        conn->pending = false;
        if (conn->server) {
            conn->text = text;
            text = NULL;
            conn->is_error = is_error;
            cds_list_add_tail(&conn->reply_node, &conn->server->replies);
            wakeup_set(&conn->server->wakeup); /* Within the lock: the server does not go away meanwhile. */
        } else {
            free_conn = true;
        }
    }
    lock_release(&replies_lock);

    free(text);
    if (free_conn) {
        conn_free(conn);
    }
    if (twice) {
        log_err("a command answered twice");
    }
}

/* TEXT as answers have it: ends in a line feed, unless it is empty. */
static char *end_line(char *text)
{
    size_t n = strlen(text);
    if (n && text[n - 1] != '\n') {
        text = xrealloc(text, n + 2);
        strcpy(text + n, "\n");
    }
    return text;
}

void unixctl_reply_take(struct unixctl_conn *conn, char *text)
{
    answer(conn, text ? end_line(text) : xstrdup(""), false);
}

void unixctl_reply(struct unixctl_conn *conn, const char *text) { unixctl_reply_take(conn, xstrdup(text ? text : "")); }

void unixctl_error(struct unixctl_conn *conn, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    answer(conn, end_line(xvasprintf(format, args)), true);
    va_end(args);
}

/* The server's thread. */

static size_t unread_bytes(const struct unixctl_server *server)
{
    size_t n = 0;
    struct unixctl_conn *conn;
    cds_list_for_each_entry (conn, &server->conns, node) {
        n += conn->rpc ? jsonrpc_backlog(conn->rpc) : 0;
    }
    return n;
}

/* Writes CONN's answer, or drops it with the handle when nobody is there to read it. */
static void conn_finish(struct unixctl_conn *conn)
{
    if (!conn->rpc) {
        conn_free(conn);
        return;
    }
    json_t *text;
    if (unread_bytes(conn->server) + strlen(conn->text) > unixctl_max_unread) {
        conn->is_error = true;
        text = json_string("too many answers wait to be read by other clients, try again later\n");
    } else {
        text = jsonrpc_string(conn->text);
    }
    free(conn->text);
    conn->text = NULL;

    json_t *reply = json_object();
    json_object_set_new(reply, "id", conn->id);
    conn->id = NULL;
    if (conn->is_error) {
        json_object_set_new(reply, "error", text);
    } else {
        json_object_set_new(reply, "result", text);
        json_object_set_new(reply, "error", json_null());
    }
    conn->since = clock_msec();
    jsonrpc_send(conn->rpc, reply);
    jsonrpc_resume(conn->rpc); /* May free CONN. */
}

static void finish_replies(struct unixctl_server *server)
{
    wakeup_clear(&server->wakeup);
    for (;;) {
        struct unixctl_conn *conn = NULL;
        lock_acquire(&replies_lock);
        if (!cds_list_empty(&server->replies)) {
            conn = cds_list_first_entry(&server->replies, struct unixctl_conn, reply_node);
            cds_list_del(&conn->reply_node);
        }
        lock_release(&replies_lock);
        if (!conn) {
            return;
        }
        conn_finish(conn);
    }
}

static void wakeup_cb(evutil_socket_t fd, short what, void *server_) { finish_replies(server_); }

/* Returns NULL, or what is wrong with a request. */
static const char *check_request(json_t *msg)
{
    json_t *method = json_object_get(msg, "method"), *id = json_object_get(msg, "id");
    const char *key;
    json_t *value;

    json_object_foreach (msg, key, value) {
        if (strcmp(key, "method") && strcmp(key, "params") && strcmp(key, "id") &&
            !(json_is_null(value) && (!strcmp(key, "result") || !strcmp(key, "error")))) {
            return "a request has the members \"method\", \"params\" and \"id\" only";
        }
    }
    if (!json_is_string(method)) {
        return "\"method\" must be a string";
    }
    if (!json_is_array(json_object_get(msg, "params"))) {
        return "\"params\" must be an array";
    }
    if (!id || json_is_null(id)) {
        return "a request must have an \"id\"";
    }
    return NULL;
}

static void conn_message(struct jsonrpc *rpc, json_t *msg, void *conn_)
{
    struct unixctl_conn *conn = conn_;
    if (conn->server->stopping) {
        conn_close(conn); /* Main, which a command may need, has left its loop. */
        return;
    }
    const char *why = check_request(msg);
    if (why) {
        log_warn_rl(5, "%s: closing the connection after a malformed request: %s", jsonrpc_name(rpc), why);
        conn_close(conn);
        return;
    }
    const char *method = json_string_value(json_object_get(msg, "method"));
    log_dbg("%s: received request %s", jsonrpc_name(rpc), method);
    conn->since = clock_msec();
    conn->id = json_incref(json_object_get(msg, "id"));
    jsonrpc_pause(rpc);
    lock_acquire(&replies_lock);
    conn->pending = true;
    lock_release(&replies_lock);
    unixctl_command_run(conn, method, json_object_get(msg, "params"));
}

static void conn_closed(struct jsonrpc *rpc, int error, void *conn_)
{
    struct unixctl_conn *conn = conn_;
    if (error && error != -EPROTO) {
        log_dbg("%s: connection closed: %s", jsonrpc_name(rpc), strerror(-error));
    }
    conn_close(conn);
}

static const struct jsonrpc_ops conn_ops = { .message = conn_message, .closed = conn_closed };

/* Closes the connection that has been idle for longest, if there is one.  Returns whether there was. */
static bool evict_idle(struct unixctl_server *server)
{
    uint64_t now = clock_msec();
    struct unixctl_conn *conn, *oldest = NULL;
    cds_list_for_each_entry (conn, &server->conns, node) {
        if (conn->rpc && !conn->id && !jsonrpc_backlog(conn->rpc) && now - conn->since >= IDLE_MSEC &&
            (!oldest || conn->since < oldest->since)) {
            oldest = conn;
        }
    }
    if (oldest) {
        log_dbg("%s: closing this idle connection to make room", jsonrpc_name(oldest->rpc));
        conn_close(oldest);
    }
    return oldest != NULL;
}

/* Stops accepting for IDLE_MSEC, or until a connection ends.  An event left pending would spin. */
static void hold_listener(struct unixctl_server *server)
{
    struct timeval tv = { .tv_sec = IDLE_MSEC / 1000, .tv_usec = IDLE_MSEC % 1000 * 1000 };
    event_del(server->listener_event);
    evtimer_add(server->pressure_event, &tv);
}

static void pressure_cb(evutil_socket_t fd, short what, void *server_)
{
    struct unixctl_server *server = server_;
    if (server->n_conns < MAX_CONNS || evict_idle(server)) {
        event_add(server->listener_event, NULL);
    } else {
        hold_listener(server);
    }
}

static void accept_cb(evutil_socket_t listener, short what, void *server_)
{
    struct unixctl_server *server = server_;
    if (server->n_conns >= MAX_CONNS && !evict_idle(server)) {
        hold_listener(server);
        return;
    }
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            log_warn_rl(5, "cannot accept a connection to the control socket: %s", strerror(errno));
            hold_listener(server);
        }
        return;
    }
    char name[32];
    snprintf(name, sizeof name, "unix#%u", server->next_id++);
    struct unixctl_conn *conn = xzalloc(sizeof *conn);
    conn->server = server;
    conn->since = clock_msec();
    conn->rpc = jsonrpc_create(server->base, fd, name, &conn_ops, &conn_limits, conn);
    cds_list_add_tail(&conn->node, &server->conns);
    server->n_conns++;
}

static void tick_cb(evutil_socket_t fd, short what, void *server_) { counter_tick(); }

static void flush_cb(evutil_socket_t fd, short what, void *server_) {}

/* Lets clients read what was answered, for a bounded time. */
static void flush(struct unixctl_server *server)
{
    uint64_t deadline = clock_msec() + FLUSH_MSEC;
    struct timeval tv = { .tv_usec = 50 * 1000 };
    struct event *timer = event_new(server->base, -1, EV_PERSIST, flush_cb, NULL);
    if (!timer) {
        return;
    }
    event_add(timer, &tv); /* Bounds each turn of the loop. */
    while (unread_bytes(server) && clock_msec() < deadline) {
        event_base_loop(server->base, EVLOOP_ONCE);
    }
    event_free(timer);
}

static void server_main(struct thread *self, void *server_)
{
    struct unixctl_server *server = server_;
    while (!thread_stopping(self)) {
        event_base_loop(server->base, EVLOOP_ONCE);
    }
    server->stopping = true;
    event_del(server->listener_event);
    evtimer_del(server->pressure_event);
    finish_replies(server);
    flush(server);
}

static void server_wake(void *server_)
{
    struct unixctl_server *server = server_;
    wakeup_set(&server->wakeup);
}

/* Start and stop: main. */

/* Frees SERVER, whose thread has ended or never ran.  Handles whose answer is still to come are left to those who will
 * give it. */
static void server_free(struct unixctl_server *server)
{
    struct unixctl_conn *conn, *next;
    cds_list_for_each_entry_safe (conn, next, &server->conns, node) {
        jsonrpc_destroy(conn->rpc);
        conn->rpc = NULL;
        lock_acquire(&replies_lock);
        bool pending = conn->pending;
        if (pending) {
            cds_list_del(&conn->node);
            CDS_INIT_LIST_HEAD(&conn->node);
            conn->server = NULL; /* From here on it is the answerer's. */
        }
        lock_release(&replies_lock);
        if (!pending) {
            conn_free(conn);
        }
    }
    struct event *events[] = { server->listener_event, server->wakeup_event, server->tick_event,
                               server->pressure_event };
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        if (events[i]) {
            event_free(events[i]);
        }
    }
    if (server->base) {
        event_base_free(server->base);
    }
    if (server->listener >= 0) {
        close(server->listener);
        unlink(server->path);
    }
    wakeup_uninit(&server->wakeup);
    free(server->path);
    free(server);
}

/* Makes the loop and what it waits for.  Returns 0 or -ENOMEM. */
static int server_init_events(struct unixctl_server *server)
{
    struct timeval tick = { .tv_sec = 5 };
    server->base = event_base_new();
    if (!server->base) {
        return -ENOMEM;
    }
    server->listener_event = event_new(server->base, server->listener, EV_READ | EV_PERSIST, accept_cb, server);
    server->wakeup_event = event_new(server->base, server->wakeup.fd, EV_READ | EV_PERSIST, wakeup_cb, server);
    server->tick_event = event_new(server->base, -1, EV_PERSIST, tick_cb, server);
    server->pressure_event = evtimer_new(server->base, pressure_cb, server);
    if (!server->listener_event || !server->wakeup_event || !server->tick_event || !server->pressure_event ||
        event_add(server->listener_event, NULL) || event_add(server->wakeup_event, NULL) ||
        event_add(server->tick_event, &tick)) {
        return -ENOMEM;
    }
    return 0;
}

int unixctl_server_start(const char *path, struct unixctl_server **ret_server)
{
    unixctl_command_init();

    struct unixctl_server *server = xzalloc(sizeof *server);
    CDS_INIT_LIST_HEAD(&server->conns);
    CDS_INIT_LIST_HEAD(&server->replies);
    server->wakeup.fd = -1;
    server->listener = -1;
    char *name = path ? xstrdup(path) : xasprintf("%s.%ld.ctl", program_name, (long) getpid());
    server->path = dir_file(dir_run(), name);
    free(name);

    int error = unix_socket_listen(server->path, &server->listener);
    if (error) {
        log_err("cannot listen for control connections at %s: %s", server->path, unix_socket_listen_error(error));
    } else if ((error = wakeup_init(&server->wakeup)) || (error = server_init_events(server))) {
        log_err("cannot set up the control socket %s: %s", server->path, strerror(-error));
    } else {
        server->thread = thread_start("unixctl", server_main, server_wake, server);
        error = server->thread ? 0 : -EAGAIN; /* thread_start() has logged why. */
    }
    if (error) {
        server_free(server);
        return error;
    }
    *ret_server = server;
    return 0;
}

void unixctl_server_stop(struct unixctl_server *server)
{
    if (server) {
        thread_join(server->thread);
        server_free(server);
    }
}
