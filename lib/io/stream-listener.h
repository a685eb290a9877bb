/* Listeners for streams: unix sockets, TCP and TLS.
 *
 * A unix socket has the mode 0770 less the umask, and replaces the one that a process which is gone left there.  It is
 * removed when the listener is destroyed.  Belongs to the thread of its event base. */
#ifndef IO_STREAM_LISTENER_H
#define IO_STREAM_LISTENER_H 1

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/compiler.h"

struct event_base;
struct stream;
struct stream_listener;
struct stream_options;

/* Called for each connection: S, whose callbacks do nothing yet, becomes the callee's, who calls stream_set_ops() or
 * stream_destroy().  He may destroy or disable the listener. */
typedef void stream_accepted_cb(struct stream_listener *l, struct stream *s, void *aux);

/* Listens at NAME, a passive name as in stream-name.h.  Returns NULL and *RET_LISTENER, or an error in words, to be
 * freed. OPTIONS are used for every stream; TLS need not be configured yet: connections that come before are refused.
 */
char *stream_listener_open(struct event_base *base, const char *name, const struct stream_options *options,
                           stream_accepted_cb *accepted, void *aux,
                           struct stream_listener **ret_listener) WARN_UNUSED_RESULT;
void stream_listener_destroy(struct stream_listener *l); /* Accepts NULL. */

/* While not accepting, clients wait in the backlog. */
void stream_listener_set_accepting(struct stream_listener *l, bool accepting);
const char *stream_listener_name(const struct stream_listener *l);
uint16_t stream_listener_port(const struct stream_listener *l); /* Of TCP, as bound; 0 for a unix socket. */

#endif
