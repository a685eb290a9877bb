/* Connected byte streams.
 *
 *   CONNECTING --writable, no error--> HANDSHAKE (TLS only) --peer trusted--> OPEN
 *        '------------- error, time is up ------'---------------- error --------'--> CLOSED
 *
 * The stream connects by itself and hands the socket to a bufferevent then: so the socket's options are set before the
 * first packet, and the error is the socket's own.  Even a socket that is connected from the beginning takes one turn
 * through the loop, so that owners see callbacks in one order.
 *
 * Reading is never bounded by libevent's high-water mark: at it, a plain bufferevent calls back without end, and a TLS
 * one may forget what OpenSSL holds.  An owner who has enough stops reading; TLS has delivered all that it has
 * decrypted by then.
 *
 * 'busy' and 'dead': the owner may destroy the stream in a callback; the structure is freed when the outermost returns.
 */
#include <config.h>

#include "lib/io/stream.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream-name.h"
#include "lib/io/tls.h"
#include "lib/io/unix-socket.h"

LOG_MODULE(stream);

#define IO_AT_ONCE (64 * 1024) /* Bytes moved a wakeup: what one peer may have before the others' turn. */

enum stream_state { CONNECTING, HANDSHAKE, OPEN, CLOSED };

struct stream {
    struct event_base *base;
    char *name;
    const struct stream_ops *ops;
    void *aux;
    struct tls *tls;
    enum stream_state state;

    int fd;                      /* Until there is a bufferevent, which takes it over; then -1. */
    SSL *ssl;                    /* Likewise owned; NULL: no TLS. */
    struct event *connect_event; /* CONNECTING. */
    struct event *timer;         /* CONNECTING and HANDSHAKE. */
    struct bufferevent *bev;     /* HANDSHAKE and later. */
    uint64_t written;

    bool dead; /* Destroyed in a callback. */
    int busy;  /* Callbacks that are running. */
};

static void enter(struct stream *s) { s->busy++; }

static void leave(struct stream *s)
{
    if (!--s->busy && s->dead) {
        free(s->name);
        free(s);
    }
}

/* Ends the stream: tells the owner, once. */
static void finish(struct stream *s, int error, const char *why)
{
    if (s->state == CLOSED || s->dead) {
        return;
    }
    s->state = CLOSED;
    event_del(s->timer);
    event_del(s->connect_event);
    if (s->bev) {
        bufferevent_disable(s->bev, EV_READ | EV_WRITE);
    }
    log_dbg("%s: %s", s->name, why);
    enter(s);
    s->ops->closed(s, error, why, s->aux);
    leave(s);
}

static void finish_take(struct stream *s, int error, char *why)
{
    finish(s, error, why);
    free(why);
}

static void opened(struct stream *s)
{
    s->state = OPEN;
    event_del(s->timer);
    log_dbg("%s: connected", s->name);
    enter(s);
    if (s->ops->connected) {
        s->ops->connected(s, s->aux);
    }
    leave(s);
}

static void read_cb(struct bufferevent *bev UNUSED, void *s_)
{
    struct stream *s = s_;
    if (s->state == OPEN) {
        enter(s);
        s->ops->readable(s, s->aux);
        leave(s);
    }
}

static void write_cb(struct bufferevent *bev UNUSED, void *s_)
{
    struct stream *s = s_;
    if (s->state == OPEN) {
        enter(s);
        s->ops->drained(s, s->aux);
        leave(s);
    }
}

static void handshake_done(struct stream *s)
{
    bool again;
    char *why = tls_check_peer(s->tls, s->ssl, &again);
    if (why) {
        finish_take(s, again ? -EAGAIN : -EPROTO, why);
    } else {
        opened(s);
    }
}

/* With TLS 1.3 a client is done before the server has seen its certificate.  If that one is refused, what the client writes next
 * fails, while the alert that says why is still to be read.  Returns OpenSSL's code for it, or 0. */
static unsigned long parting_alert(SSL *ssl)
{
    char byte;

    return SSL_peek(ssl, &byte, 1) > 0 ? 0 : ERR_peek_error();
}

static void failed(struct stream *s)
{
    int error = EVUTIL_SOCKET_ERROR();
    /* What libevent keeps of a failed handshake says only that it was one; the reason is still in OpenSSL's queue. */
    unsigned long code = s->ssl ? ERR_peek_error() : 0;
    if (s->ssl && !code && (error == EPIPE || error == ECONNRESET)) {
        code = parting_alert(s->ssl);
    }
    while (s->ssl && !code && (code = bufferevent_get_openssl_error(s->bev)) && !ERR_reason_error_string(code)) {
        code = 0;
    }
    ERR_clear_error();
    if (code || (s->ssl && !error)) {
        finish_take(s, -EPROTO, tls_error_text(s->ssl, code));
    } else {
        error = error ? error : EIO;
        finish(s, -error, strerror(error));
    }
}

static void event_cb(struct bufferevent *bev UNUSED, short what, void *s_)
{
    struct stream *s = s_;
    if (what & BEV_EVENT_CONNECTED) {
        if (s->state == HANDSHAKE) {
            handshake_done(s);
        }
    } else if (what & BEV_EVENT_EOF) {
        if (s->state == OPEN) {
            enter(s);
            s->ops->eof(s, s->aux);
            leave(s);
        } else {
            finish(s, -ECONNRESET, "the peer closed the connection during the TLS handshake");
        }
    } else if (what & BEV_EVENT_ERROR) {
        failed(s);
    }
}

static void count_written(struct evbuffer *buf UNUSED, const struct evbuffer_cb_info *info, void *s_)
{
    struct stream *s = s_;
    s->written += info->n_deleted;
}

/* The socket is connected: hands it over to a bufferevent. */
static void make_bufferevent(struct stream *s)
{
    int options = BEV_OPT_CLOSE_ON_FREE;
    enum bufferevent_ssl_state state =
        s->ssl && SSL_is_server(s->ssl) ? BUFFEREVENT_SSL_ACCEPTING : BUFFEREVENT_SSL_CONNECTING;
    s->bev = s->ssl ? bufferevent_openssl_socket_new(s->base, s->fd, s->ssl, state, options)
                    : bufferevent_socket_new(s->base, s->fd, options);
    if (!s->bev) {
        fatal(ENOMEM, "%s: cannot make a buffered stream", s->name);
    }
    s->fd = -1;
    bufferevent_setcb(s->bev, read_cb, write_cb, event_cb, s);
    bufferevent_set_max_single_read(s->bev, IO_AT_ONCE);
    bufferevent_set_max_single_write(s->bev, IO_AT_ONCE);
    if (!evbuffer_add_cb(bufferevent_get_output(s->bev), count_written, s) ||
        bufferevent_enable(s->bev, EV_READ | EV_WRITE)) {
        fatal(ENOMEM, "%s: cannot make a buffered stream", s->name);
    }
}

static void connect_cb(evutil_socket_t fd, short what UNUSED, void *s_)
{
    struct stream *s = s_;
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len)) {
        error = errno;
    }
    if (error) {
        finish(s, -error, strerror(error));
        return;
    }
    s->state = HANDSHAKE;
    make_bufferevent(s);
    if (!s->ssl) {
        opened(s);
    }
}

static void timer_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *s_)
{
    struct stream *s = s_;
    finish(s, -ETIMEDOUT, s->state == CONNECTING ? strerror(ETIMEDOUT) : "the TLS handshake takes too long");
}

/* A peer that goes away while we write must cost an error code, not the process. */
static void ignore_sigpipe(void)
{
    struct sigaction old;
    if (!sigaction(SIGPIPE, NULL, &old) && old.sa_handler == SIG_DFL) {
        signal(SIGPIPE, SIG_IGN);
    }
}

/* Takes over FD and SSL. */
static struct stream *stream_new(struct event_base *base, int fd, SSL *ssl, const char *name,
                                 const struct stream_options *options, const struct stream_ops *ops, void *aux)
{
    ignore_sigpipe();
    struct stream *s = xzalloc(sizeof *s);
    *s = (struct stream){
        .base = base, .name = xstrdup(name), .ops = ops, .aux = aux, .tls = options->tls, .fd = fd, .ssl = ssl
    };
    unsigned int msec = options->connect_msec ? options->connect_msec : STREAM_CONNECT_MSEC;
    struct timeval timeout = { .tv_sec = msec / 1000, .tv_usec = msec % 1000 * 1000 };
    s->connect_event = event_new(base, fd, EV_WRITE, connect_cb, s);
    s->timer = evtimer_new(base, timer_cb, s);
    if (!s->connect_event || !s->timer || event_add(s->connect_event, NULL) || evtimer_add(s->timer, &timeout)) {
        fatal(ENOMEM, "%s: cannot watch a socket", name);
    }
    return s;
}

int stream_set_dscp(int fd, int family, int dscp)
{
    int tos = dscp * 4; /* The two bits below are ECN. */
    if (dscp < 0 || (family != AF_INET && family != AF_INET6)) {
        return 0;
    }
    int r = family == AF_INET ? setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos)
                              : setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof tos);
    return r ? -errno : 0;
}

static void set_nodelay(int fd)
{
    int on = 1;
    /* On a unix socket this fails, and need not succeed. */
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) {
        log_dbg("cannot set TCP_NODELAY: %s", strerror(errno));
    }
}

static int inet_connect(const struct stream_name *n, int dscp, int *ret_fd)
{
    int fd = socket(n->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    set_nodelay(fd);
    int error = stream_set_dscp(fd, n->ss.ss_family, dscp);
    if (!error && connect(fd, (const struct sockaddr *) &n->ss, n->ss_len) && errno != EINPROGRESS) {
        error = -errno;
    }
    if (error) {
        close(fd);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

char *stream_open(struct event_base *base, const char *name, const struct stream_options *options,
                  const struct stream_ops *ops, void *aux, struct stream **ret_stream)
{
    struct stream_name n;
    SSL *ssl = NULL;
    char *why = stream_name_parse(name, &n);
    if (why) {
        return why;
    }
    if (n.passive) {
        why = xasprintf("%s: this is to listen at, where unix:, tcp: or ssl: is needed to connect", name);
    } else if (n.kind == STREAM_SSL) {
        why = tls_new_session(options->tls, false, &ssl);
    }
    if (!why) {
        int fd = -1;
        int error = n.kind == STREAM_UNIX ? unix_socket_connect(n.path, &fd) : inet_connect(&n, options->dscp, &fd);
        if (error) {
            SSL_free(ssl);
            why = xstrdup(strerror(-error));
        } else {
            *ret_stream = stream_new(base, fd, ssl, name, options, ops, aux);
        }
    }
    stream_name_uninit(&n);
    return why;
}

char *stream_accept(struct event_base *base, int fd, const char *name, const struct stream_options *options,
                    const struct stream_ops *ops, void *aux, struct stream **ret_stream)
{
    SSL *ssl = NULL;
    char *why = options->tls ? tls_new_session(options->tls, true, &ssl) : NULL;
    if (why) {
        close(fd);
        return why;
    }
    set_nodelay(fd);
    *ret_stream = stream_new(base, fd, ssl, name, options, ops, aux);
    return NULL;
}

void stream_set_ops(struct stream *s, const struct stream_ops *ops, void *aux)
{
    s->ops = ops;
    s->aux = aux;
}

struct bufferevent *stream_detach(struct stream *s)
{
    struct bufferevent *bev = s->bev;

    bufferevent_setcb(bev, NULL, NULL, NULL, NULL);
    evbuffer_remove_cb(bufferevent_get_output(bev), count_written, s);
    enter(s);
    s->dead = true;
    s->state = CLOSED;
    event_free(s->connect_event);
    event_free(s->timer);
    s->bev = NULL;
    s->ssl = NULL;
    leave(s);
    return bev;
}

void stream_destroy(struct stream *s)
{
    if (!s || s->dead) {
        return;
    }
    enter(s);
    s->dead = true;
    s->state = CLOSED;
    event_free(s->connect_event);
    event_free(s->timer);
    if (s->bev) {
        bufferevent_setcb(s->bev, NULL, NULL, NULL, NULL);
        evbuffer_remove_cb(bufferevent_get_output(s->bev), count_written, s);
        bufferevent_disable(s->bev, EV_READ | EV_WRITE);
        bufferevent_free(s->bev); /* With it the socket and 's->ssl'. */
        s->bev = NULL;
    } else {
        close(s->fd);
        SSL_free(s->ssl);
    }
    s->ssl = NULL;
    leave(s);
}

const char *stream_name(const struct stream *s) { return s->name; }
bool stream_is_connected(const struct stream *s) { return s->state == OPEN; }
struct evbuffer *stream_input(struct stream *s) { return bufferevent_get_input(s->bev); }
struct evbuffer *stream_output(struct stream *s) { return bufferevent_get_output(s->bev); }
uint64_t stream_written(const struct stream *s) { return s->written; }

void stream_set_low_water(struct stream *s, size_t bytes)
{
    if (s->state == OPEN) {
        bufferevent_setwatermark(s->bev, EV_WRITE, bytes, 0);
    }
}

void stream_set_reading(struct stream *s, bool reading)
{
    if (s->state == OPEN && reading) {
        bufferevent_enable(s->bev, EV_READ);
    } else if (s->state == OPEN) {
        bufferevent_disable(s->bev, EV_READ);
    }
}

void stream_shutdown_write(struct stream *s)
{
    if (s->state != OPEN) {
        return;
    }
    if (s->ssl) {
        SSL_shutdown(s->ssl); /* Says farewell; that the peer has not done so yet is no error. */
    }
    if (shutdown(bufferevent_getfd(s->bev), SHUT_WR)) {
        log_dbg("%s: cannot shut down: %s", s->name, strerror(errno));
    }
}
