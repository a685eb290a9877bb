/* Names of streams taken apart.
 *
 * The forms of active and passive names differ only in the order of host and port, so one table of prefixes and one
 * function that reads a host and one that reads a port do for all.  Every complaint repeats the name. */
#include <config.h>

#include "lib/io/stream-name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "lib/base/dirs.h"
#include "lib/base/util.h"

#define FORMS "write unix:FILE, tcp:HOST[:PORT], ssl:HOST[:PORT], punix:FILE, ptcp:[PORT][:HOST] or pssl:[PORT][:HOST]"

static const struct prefix {
    const char *text;
    enum stream_kind kind;
    bool passive;
} prefixes[] = {
    { "unix:", STREAM_UNIX, false }, { "tcp:", STREAM_TCP, false }, { "ssl:", STREAM_SSL, false },
    { "punix:", STREAM_UNIX, true }, { "ptcp:", STREAM_TCP, true }, { "pssl:", STREAM_SSL, true },
};

static void set_port(struct stream_name *n, in_port_t port)
{
    if (n->ss.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *) &n->ss)->sin6_port = htons(port);
    } else {
        ((struct sockaddr_in *) &n->ss)->sin_port = htons(port);
    }
}

/* Reads HOST into N's address.  Returns false if it is no address. */
static bool parse_host(const char *host, struct stream_name *n)
{
    size_t len = strlen(host);
    struct sockaddr_in *sin = (struct sockaddr_in *) &n->ss;
    struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *) &n->ss;
    if (host[0] != '[') {
        n->ss.ss_family = AF_INET;
        n->ss_len = sizeof *sin;
        return inet_pton(AF_INET, host, &sin->sin_addr) == 1;
    }
    char text[INET6_ADDRSTRLEN];
    if (len < 3 || host[len - 1] != ']' || len - 2 >= sizeof text) {
        return false;
    }
    memcpy(text, host + 1, len - 2);
    text[len - 2] = '\0';
    n->ss.ss_family = AF_INET6;
    n->ss_len = sizeof *sin6;
    return inet_pton(AF_INET6, text, &sin6->sin6_addr) == 1;
}

/* An active name needs a port that one can connect to; a passive one may leave the choice to the kernel with 0. */
static char *parse_port(const char *name, const char *port, struct stream_name *n)
{
    long long v = STREAM_DEFAULT_PORT;
    int min = n->passive ? 0 : 1;
    if (port[0] && (port[strspn(port, "0123456789")] || !str_to_llong(port, min, 65535, &v))) {
        return xasprintf("%s: \"%s\" is not a port, which is a number from %d to 65535", name, port, min);
    }
    set_port(n, v);
    return NULL;
}

static char *bad_host(const char *name, const char *host)
{
    return xasprintf(
        "%s: \"%s\" is not an IPv4 address or an IPv6 address in brackets (names of hosts are not resolved)", name,
        host);
}

/* Parses HOST[:PORT], or [PORT][:HOST] of a passive name.  REST is overwritten. */
static char *parse_inet(const char *name, char *rest, struct stream_name *n)
{
    char *host = rest, *port = NULL;
    if (n->passive) {
        port = rest;
        host = strchr(rest, ':');
        if (host) {
            *host++ = '\0';
        }
    } else {
        char *end = rest[0] == '[' ? strchr(rest, ']') : rest;
        port = end ? strchr(end, ':') : NULL;
        if (port) {
            *port++ = '\0';
            if (!port[0]) {
                return xasprintf("%s: a port is missing after the last colon", name);
            }
        }
    }
    if (host && !parse_host(host, n)) {
        return bad_host(name, host);
    }
    if (!host) {
        *(struct sockaddr_in *) &n->ss = (struct sockaddr_in){ .sin_family = AF_INET };
        n->ss_len = sizeof(struct sockaddr_in);
    }
    return parse_port(name, port ? port : "", n);
}

char *stream_name_parse(const char *name, struct stream_name *ret_name)
{
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        const struct prefix *p = &prefixes[i];
        if (strncmp(name, p->text, strlen(p->text))) {
            continue;
        }
        struct stream_name n = { .kind = p->kind, .passive = p->passive };
        const char *rest = name + strlen(p->text);
        char *error = NULL;
        if (p->kind != STREAM_UNIX) {
            char *copy = xstrdup(rest);
            error = parse_inet(name, copy, &n);
            free(copy);
        } else if (!rest[0]) {
            error = xasprintf("%s: a file name is missing after the colon", name);
        } else {
            n.path = dir_file(dir_run(), rest);
        }
        if (!error) {
            *ret_name = n;
        }
        return error;
    }
    return xasprintf("\"%s\" is not the name of a connection: " FORMS, name);
}

void stream_name_uninit(struct stream_name *n)
{
    free(n->path);
    n->path = NULL;
}

char *stream_address_text(const struct sockaddr *sa)
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *sin = (const struct sockaddr_in *) sa;
        inet_ntop(AF_INET, &sin->sin_addr, text, sizeof text);
        return xasprintf("%s:%u", text, ntohs(sin->sin_port));
    }
    if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *) sa;
        inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof text);
        return xasprintf("[%s]:%u", text, ntohs(sin6->sin6_port));
    }
    return xstrdup("unix");
}
