/* Listeners for streams, on libevent's evconnlistener.
 *
 * When accept() fails for want of descriptors the listening socket stays readable.  So that this does not keep the loop
 * spinning, the listener rests for a while then. */
#include <config.h>

#include "lib/io/stream-listener.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/stream-name.h"
#include "lib/io/stream.h"
#include "lib/io/unix-socket.h"

LOG_MODULE(stream_listener);

#define BACKLOG   64
#define REST_MSEC 500

struct stream_listener {
    struct event_base *base;
    char *name;
    char *path; /* Of a unix socket; else NULL. */
    bool ssl;
    struct stream_options options;
    stream_accepted_cb *accepted;
    void *aux;
    struct evconnlistener *ev;
    struct event *rest_timer;
    bool accepting; /* The owner's wish. */
    unsigned int n; /* Connections, ever: numbers those of a unix socket. */
};

static void ignore(struct stream *s UNUSED, void *aux UNUSED) {}
static void ignore_closed(struct stream *s UNUSED, int error UNUSED, const char *why UNUSED, void *aux UNUSED) {}
/* Between here and the callee's stream_set_ops() no callback can come; but there is no stream without any. */
static const struct stream_ops no_ops = {
    .readable = ignore, .drained = ignore, .eof = ignore, .closed = ignore_closed
};

static void accept_cb(struct evconnlistener *ev UNUSED, evutil_socket_t fd, struct sockaddr *sa, int len UNUSED,
                      void *l_)
{
    struct stream_listener *l = l_;
    char *address = stream_address_text(sa);
    char *name = l->path ? xasprintf("unix#%u", l->n) : xasprintf("%s:%s", l->ssl ? "ssl" : "tcp", address);
    l->n++;
    struct stream *s;
    char *why = stream_accept(l->base, fd, name, &l->options, &no_ops, NULL, &s);
    if (why) {
        log_warn_rl(5, "%s: a connection from %s is refused: %s", l->name, address, why);
        free(why);
    } else {
        l->accepted(l, s, l->aux); /* May destroy L. */
    }
    free(name);
    free(address);
}

static void error_cb(struct evconnlistener *ev, void *l_)
{
    struct stream_listener *l = l_;
    struct timeval rest = { .tv_usec = REST_MSEC * 1000 };
    log_warn_rl(5, "%s: cannot accept a connection: %s", l->name, strerror(EVUTIL_SOCKET_ERROR()));
    evconnlistener_disable(ev);
    evtimer_add(l->rest_timer, &rest);
}

static void rest_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *l_)
{
    struct stream_listener *l = l_;
    if (l->accepting) {
        evconnlistener_enable(l->ev);
    }
}

static int inet_listen(const struct stream_name *n, int dscp, int *ret_fd)
{
    int on = 1;
    int fd = socket(n->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    int error = stream_set_dscp(fd, n->ss.ss_family, dscp);
    if (!error && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
                   bind(fd, (const struct sockaddr *) &n->ss, n->ss_len) || listen(fd, BACKLOG))) {
        error = -errno;
    }
    if (error) {
        close(fd);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

static char *listen_at(const char *name, const struct stream_name *n, int dscp, int *ret_fd)
{
    if (!n->passive) {
        return xasprintf("%s: this is to connect to, where punix:, ptcp: or pssl: is needed to listen", name);
    }
    int error = n->kind == STREAM_UNIX ? unix_socket_listen(n->path, ret_fd) : inet_listen(n, dscp, ret_fd);
    if (!error) {
        return NULL;
    }
    return xasprintf("%s: cannot listen: %s", name,
                     n->kind == STREAM_UNIX ? unix_socket_listen_error(error) : strerror(-error));
}

char *stream_listener_open(struct event_base *base, const char *name, const struct stream_options *options,
                           stream_accepted_cb *accepted, void *aux, struct stream_listener **ret_listener)
{
    struct stream_name n;
    int fd;
    char *why = stream_name_parse(name, &n);
    if (why) {
        return why;
    }
    /* Without this check it would accept connections without TLS. */
    why = n.kind == STREAM_SSL && !options->tls ? xasprintf("%s: there is no TLS here", name)
                                                : listen_at(name, &n, options->dscp, &fd);
    if (why) {
        stream_name_uninit(&n);
        return why;
    }
    struct stream_listener *l = xzalloc(sizeof *l);
    *l = (struct stream_listener){ .base = base,
                                   .name = xstrdup(name),
                                   .path = n.path,
                                   .ssl = n.kind == STREAM_SSL,
                                   .options = *options,
                                   .accepted = accepted,
                                   .aux = aux,
                                   .accepting = true };
    if (!l->ssl) {
        l->options.tls = NULL; /* Its presence is what makes an accepted stream a TLS one. */
    }
    l->ev = evconnlistener_new(base, accept_cb, l, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    l->rest_timer = evtimer_new(base, rest_cb, l);
    if (!l->ev || !l->rest_timer) {
        fatal(ENOMEM, "%s: cannot watch a socket", name);
    }
    evconnlistener_set_error_cb(l->ev, error_cb);
    *ret_listener = l;
    return NULL;
}

void stream_listener_destroy(struct stream_listener *l)
{
    if (l) {
        evconnlistener_free(l->ev);
        event_free(l->rest_timer);
        if (l->path && unlink(l->path) && errno != ENOENT) {
            log_warn("cannot remove the socket %s: %s", l->path, strerror(errno));
        }
        free(l->path);
        free(l->name);
        free(l);
    }
}

void stream_listener_set_accepting(struct stream_listener *l, bool accepting)
{
    l->accepting = accepting;
    if (!accepting) {
        evconnlistener_disable(l->ev);
    } else if (!evtimer_pending(l->rest_timer, NULL)) {
        evconnlistener_enable(l->ev);
    }
}

const char *stream_listener_name(const struct stream_listener *l) { return l->name; }

uint16_t stream_listener_port(const struct stream_listener *l)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof ss;
    if (l->path || getsockname(evconnlistener_get_fd(l->ev), (struct sockaddr *) &ss, &len)) {
        return 0;
    }
    return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *) &ss)->sin6_port
                                          : ((struct sockaddr_in *) &ss)->sin_port);
}
