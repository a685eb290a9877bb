/* Names of streams, as the database's target columns have them.
 *
 *   active:   unix:FILE  tcp:HOST[:PORT]  ssl:HOST[:PORT]
 *   passive:  punix:FILE  ptcp:[PORT][:HOST]  pssl:[PORT][:HOST]
 *
 * HOST is an IPv4 address or an IPv6 address in brackets; names of hosts are not resolved, for main must not wait for a
 * name server.  A FILE that does not begin with a slash is in the run-time directory.  Any thread. */
#ifndef IO_STREAM_NAME_H
#define IO_STREAM_NAME_H 1

#include <stdbool.h>
#include <sys/socket.h>

#include "lib/base/compiler.h"

#define STREAM_DEFAULT_PORT 6653 /* As registered for OpenFlow. */

enum stream_kind { STREAM_UNIX, STREAM_TCP, STREAM_SSL };

struct stream_name {
    enum stream_kind kind;
    bool passive;
    char *path;                 /* STREAM_UNIX: absolute. */
    struct sockaddr_storage ss; /* Else: the address, */
    socklen_t ss_len;           /* and its length. */
};

/* Takes NAME apart.  Returns NULL and *RET_NAME, to be given to stream_name_uninit(); or an error in words, to be
 * freed. */
char *stream_name_parse(const char *name, struct stream_name *ret_name) WARN_UNUSED_RESULT;
void stream_name_uninit(struct stream_name *n);

/* "10.0.0.1:6653" or "[::1]:6653"; "unix" for any other address.  To be freed. */
char *stream_address_text(const struct sockaddr *sa);

#endif
