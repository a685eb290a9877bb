/* A stream of JSON objects over a socket.
 *
 * The messages follow one another without framing, so their ends must be found.  A small scanner does that as bytes
 * arrive: it counts braces and brackets outside strings, looks at each byte once, and leaves it to jansson to
 * judge what lies between.  It is also what bounds a message's size and depth, before any of it is parsed.
 *
 * Everything runs in the thread of the event base.  The owner may destroy the stream from within a callback: then
 * the bufferevent is freed at once and the structure when the outermost callback returns ('busy', 'dead').
 *
 * The peer's end of file does not end the stream while an answer is due, for a client may close its writing half
 * (`echo REQUEST | nc -U SOCKET`): 'closed' is called when the stream is not paused, has no complete message left,
 * and has written everything.  Should the peer be gone altogether, the write says so. */
#include <config.h>

#include "lib/rpc/jsonrpc.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/compiler.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(jsonrpc);

#define IO_AT_ONCE (256 * 1024)  /* Bytes moved a wakeup: a large database arrives in few. */
#define PAUSED_MAX (64 * 1024)   /* Bytes that a paused stream buffers beyond the last message. */
#define KEEP_MAX   (1024 * 1024) /* A larger input buffer is given back when it is empty. */

/* Where the scanner is in the current message. */
struct scanner {
    size_t pos;         /* Next byte to look at, from the start of the message. */
    unsigned int depth; /* 0: before the message. */
    bool in_string, escaped;
};

struct jsonrpc {
    struct bufferevent *bev; /* NULL: destroyed. */
    char *name;
    const struct jsonrpc_ops *ops;
    const struct jsonrpc_limits *limits;
    void *aux;

    char *in; /* Input: bytes START to START + LEN of CAPACITY. */
    size_t start, len, capacity;
    struct scanner scanner;
    uint64_t received;

    bool closes_fd; /* The bufferevent does not. */
    bool paused;
    bool eof;       /* The peer will send no more. */
    bool closed;    /* 'closed' was called. */
    bool dead;      /* Destroyed in a callback. */
    int busy;       /* Callbacks that are running. */
};

static void enter(struct jsonrpc *rpc) { rpc->busy++; }

static void leave(struct jsonrpc *rpc)
{
    if (!--rpc->busy && rpc->dead) {
        free(rpc->in);
        free(rpc->name);
        free(rpc);
    }
}

/* Ends the stream: tells the owner, once. */
static void finish(struct jsonrpc *rpc, int error)
{
    if (!rpc->closed && !rpc->dead) {
        rpc->closed = true;
        bufferevent_disable(rpc->bev, EV_READ | EV_WRITE);
        enter(rpc);
        rpc->ops->closed(rpc, error, rpc->aux);
        leave(rpc);
    }
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Goes on looking for the message's end.  Returns the message's length, 0 if more bytes are needed, or -EPROTO with
 * *RET_WHY. */
static ssize_t scan(struct jsonrpc *rpc, const char **ret_why)
{
    struct scanner *s = &rpc->scanner;
    const char *p = rpc->in + rpc->start;
    for (; s->pos < rpc->len; s->pos++) {
        char c = p[s->pos];
        if (!s->depth && c != '{') {
            *ret_why = "a JSON-RPC message is a JSON object, this does not begin with {";
            return -EPROTO;
        }
        if (s->pos >= rpc->limits->max_message) {
            *ret_why = "the message is too long";
            return -EPROTO;
        }
        if (s->in_string) {
            if (s->escaped) {
                s->escaped = false;
            } else if (c == '\\') {
                s->escaped = true;
            } else if (c == '"') {
                s->in_string = false;
            }
        } else if (c == '"') {
            s->in_string = true;
        } else if (c == '{' || c == '[') {
            if (++s->depth > rpc->limits->max_depth) {
                *ret_why = "the message is nested too deeply";
                return -EPROTO;
            }
        } else if ((c == '}' || c == ']') && !--s->depth) {
            return s->pos + 1;
        }
    }
    return 0;
}

static void consume(struct jsonrpc *rpc, size_t n)
{
    rpc->start += n;
    rpc->len -= n;
    rpc->scanner = (struct scanner){ 0 };
    if (!rpc->len) {
        rpc->start = 0;
        if (rpc->capacity > KEEP_MAX) {
            free(rpc->in);
            rpc->in = NULL;
            rpc->capacity = 0;
        }
    }
}

static void skip_space(struct jsonrpc *rpc)
{
    size_t n = 0;
    while (n < rpc->len && is_space(rpc->in[rpc->start + n])) {
        n++;
    }
    if (n) {
        consume(rpc, n);
    }
}

/* Takes the next message from the input.  Returns it, or NULL: for want of bytes, or because of an error, which it
 * has logged and told the owner. */
static json_t *take_message(struct jsonrpc *rpc)
{
    if (!rpc->scanner.depth) {
        skip_space(rpc);
    }
    const char *why = NULL;
    ssize_t n = scan(rpc, &why);
    if (!n) {
        return NULL;
    }
    json_t *msg = NULL;
    json_error_t error;
    if (n > 0) {
        msg = json_loadb(rpc->in + rpc->start, n, 0, &error);
        why = error.text;
        consume(rpc, n);
    }
    if (!msg) {
        log_warn_rl(5, "%s: closing the connection after a malformed message: %s", rpc->name, why);
        finish(rpc, -EPROTO);
    }
    return msg;
}

/* Appends what the socket delivered to the input. */
static void take_bytes(struct jsonrpc *rpc)
{
    struct evbuffer *from = bufferevent_get_input(rpc->bev);
    size_t n = evbuffer_get_length(from);
    if (!n) {
        return;
    }
    if (rpc->start + rpc->len + n > rpc->capacity) {
        if (rpc->start) {
            memmove(rpc->in, rpc->in + rpc->start, rpc->len);
            rpc->start = 0;
        }
        if (rpc->len + n > rpc->capacity) {
            rpc->capacity = MAX(rpc->len + n, MIN(rpc->capacity * 2, rpc->limits->max_message + IO_AT_ONCE));
            rpc->in = xrealloc(rpc->in, rpc->capacity);
        }
    }
    evbuffer_remove(from, rpc->in + rpc->start + rpc->len, n);
    rpc->len += n;
}

/* Delivers what is complete, and the end when it is time. */
static void run(struct jsonrpc *rpc)
{
    enter(rpc);
    while (!rpc->dead && !rpc->closed && !rpc->paused) {
        take_bytes(rpc);
        json_t *msg = take_message(rpc);
        if (!msg) {
            break;
        }
        rpc->ops->message(rpc, msg, rpc->aux);
        json_decref(msg);
    }
    if (!rpc->dead && rpc->eof && !rpc->paused && !jsonrpc_backlog(rpc)) {
        if (rpc->len && !rpc->closed) {
            log_dbg("%s: the peer ended the connection within a message", rpc->name);
        }
        finish(rpc, 0);
    }
    leave(rpc);
}

static void read_cb(struct bufferevent *bev, void *rpc_)
{
    struct jsonrpc *rpc = rpc_;
    size_t n = evbuffer_get_length(bufferevent_get_input(bev));
    rpc->received += n; /* At least: a paused stream counts again. */
    if (rpc->paused) {
        if (n >= PAUSED_MAX) {
            /* Not by a high watermark: libevent calls back without end while that is reached. */
            bufferevent_disable(bev, EV_READ);
        }
    } else if (!rpc->busy) {
        run(rpc);
    }
}

/* All is written. */
static void write_cb(struct bufferevent *bev, void *rpc_)
{
    struct jsonrpc *rpc = rpc_;
    if (rpc->eof && !rpc->busy) {
        run(rpc);
    }
}

static void event_cb(struct bufferevent *bev, short what, void *rpc_)
{
    struct jsonrpc *rpc = rpc_;
    if (what & BEV_EVENT_EOF) {
        rpc->eof = true;
        if (!rpc->busy) {
            run(rpc);
        }
    } else if (what & BEV_EVENT_TIMEOUT) {
        log_info("%s: the peer has read nothing for %u s, closing the connection", rpc->name,
                 rpc->limits->write_timeout);
        finish(rpc, -ETIMEDOUT);
    } else if (what & BEV_EVENT_ERROR) {
        int error = EVUTIL_SOCKET_ERROR();
        finish(rpc, error ? -error : -EIO);
    }
}

struct jsonrpc *jsonrpc_create_over(struct bufferevent *bev, const char *name, const struct jsonrpc_ops *ops,
                                    const struct jsonrpc_limits *limits, void *aux)
{
    /* A peer that goes away while we write must cost an error code, not the process. */
    struct sigaction old;
    if (!sigaction(SIGPIPE, NULL, &old) && old.sa_handler == SIG_DFL) {
        signal(SIGPIPE, SIG_IGN);
    }

    struct jsonrpc *rpc = xzalloc(sizeof *rpc);
    rpc->name = xstrdup(name);
    rpc->ops = ops;
    rpc->limits = limits;
    rpc->aux = aux;
    rpc->bev = bev;
    bufferevent_setcb(rpc->bev, read_cb, write_cb, event_cb, rpc);
    bufferevent_setwatermark(rpc->bev, EV_READ | EV_WRITE, 0, 0);
    bufferevent_set_max_single_read(rpc->bev, IO_AT_ONCE);
    bufferevent_set_max_single_write(rpc->bev, IO_AT_ONCE);
    if (limits->write_timeout) {
        struct timeval timeout = { .tv_sec = limits->write_timeout };
        bufferevent_set_timeouts(rpc->bev, NULL, &timeout);
    }
    bufferevent_enable(rpc->bev, EV_READ | EV_WRITE);
    return rpc;
}

struct jsonrpc *jsonrpc_create(struct event_base *base, int fd, const char *name, const struct jsonrpc_ops *ops,
                               const struct jsonrpc_limits *limits, void *aux)
{
    struct bufferevent *bev = bufferevent_socket_new(base, fd, 0);
    if (!bev) {
        fatal(ENOMEM, "%s: cannot make a buffered stream", name);
    }
    struct jsonrpc *rpc = jsonrpc_create_over(bev, name, ops, limits, aux);
    rpc->closes_fd = true;
    return rpc;
}

void jsonrpc_destroy(struct jsonrpc *rpc)
{
    if (rpc && !rpc->dead) {
        enter(rpc);
        rpc->dead = true;
        /* libevent would close the socket only when its loop runs again, which may be never. */
        int fd = bufferevent_getfd(rpc->bev);
        bufferevent_disable(rpc->bev, EV_READ | EV_WRITE);
        bufferevent_free(rpc->bev);
        rpc->bev = NULL;
        if (rpc->closes_fd) {
            close(fd);
        }
        leave(rpc);
    }
}

static int add_output(const char *data, size_t len, void *output) { return evbuffer_add(output, data, len); }

void jsonrpc_send(struct jsonrpc *rpc, json_t *msg)
{
    /* Straight into the output buffer: json_dumps() would copy a large answer twice more. */
    if (!rpc->dead && !rpc->closed &&
        json_dump_callback(msg, add_output, bufferevent_get_output(rpc->bev), JSON_COMPACT)) {
        fatal(ENOMEM, "%s: cannot encode a message", rpc->name);
    }
    json_decref(msg);
}

void jsonrpc_pause(struct jsonrpc *rpc)
{
    if (!rpc->paused && !rpc->dead) {
        rpc->paused = true; /* Reading goes on a little, so that the peer's end is noticed: see read_cb(). */
    }
}

void jsonrpc_resume(struct jsonrpc *rpc)
{
    if (rpc->paused && !rpc->dead) {
        rpc->paused = false;
        if (!rpc->eof && !rpc->closed) {
            bufferevent_enable(rpc->bev, EV_READ);
        }
        if (!rpc->busy) {
            run(rpc);
        }
    }
}

const char *jsonrpc_name(const struct jsonrpc *rpc) { return rpc->name; }
uint64_t jsonrpc_received(const struct jsonrpc *rpc) { return rpc->received; }

size_t jsonrpc_backlog(const struct jsonrpc *rpc)
{
    return rpc->dead ? 0 : evbuffer_get_length(bufferevent_get_output(rpc->bev));
}

json_t *jsonrpc_string(const char *s)
{
    json_t *json = json_string(s);
    if (json) {
        return json;
    }
    /* Rare, so the simple way: each byte that does not begin a sequence which jansson accepts is replaced. */
    struct text t;
    FILE *out = text_open(&t);
    for (size_t left = strlen(s); left;) {
        size_t n = MIN(left, 4);
        json_t *piece = NULL;
        for (; n && !(piece = json_stringn(s, n)); n--) {
        }
        json_decref(piece);
        if (n) {
            fwrite(s, 1, n, out);
        } else {
            fputs("\xef\xbf\xbd", out);
            n = 1;
        }
        s += n;
        left -= n;
    }
    char *clean = text_close(&t);
    json = json_string(clean);
    free(clean);
    return json;
}
