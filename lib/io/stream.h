/* Connected byte streams over unix sockets, TCP and TLS, on libevent's bufferevents.
 *
 * A stream begins with connecting (and TLS's handshake, in which the peer shows its certificate); 'connected' tells its
 * success.  From then on there are two buffers, input and output, that libevent fills and empties.  No callback is
 * called from within a function that the owner called; from within any callback he may call anything, stream_destroy()
 * included.
 *
 * A stream belongs to the thread whose event base it was created with. */
#ifndef IO_STREAM_H
#define IO_STREAM_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/compiler.h"

struct bufferevent;
struct evbuffer;
struct event_base;
struct stream;
struct tls;

struct stream_ops {
    void (*connected)(struct stream *s, void *aux); /* May be NULL. */
    /* Bytes were added to the input.  Not called again for what is left in it. */
    void (*readable)(struct stream *s, void *aux);
    /* The output is at the low-water mark, or below.  May come without need. */
    void (*drained)(struct stream *s, void *aux);
    /* The peer will send no more.  Output still goes. */
    void (*eof)(struct stream *s, void *aux);
    /* The stream has failed: last callback, once.  ERROR is -errno: -ETIMEDOUT, -EPROTO (TLS: the peer is not trusted,
     * or does not trust us), -EAGAIN (TLS: the CA certificate was obtained, connect again), or of the socket.  WHY says
     * it in words and is borrowed.  The owner has still to destroy S. */
    void (*closed)(struct stream *s, int error, const char *why, void *aux);
};

struct stream_options {
    struct tls *tls;           /* For ssl: and pssl:, outlives the streams; else NULL. */
    unsigned int connect_msec; /* For connecting and the handshake; 0: STREAM_CONNECT_MSEC. */
    int dscp;                  /* Of IP packets, 0 to 63; -1: as the system has it. */
};
#define STREAM_CONNECT_MSEC 10000

/* Begins to connect to NAME, an active name as in stream-name.h.  Returns NULL and *RET_STREAM; or an error in words,
 * to be freed: NAME is wrong, TLS is not configured, or the system refuses at once. */
char *stream_open(struct event_base *base, const char *name, const struct stream_options *options,
                  const struct stream_ops *ops, void *aux, struct stream **ret_stream) WARN_UNUSED_RESULT;
/* A stream over FD, a connected socket, which it takes over, in every case.  NAME is what it is called.  With 'tls' in
 * OPTIONS, it is the server of a TLS connection.  Returns as stream_open(). */
char *stream_accept(struct event_base *base, int fd, const char *name, const struct stream_options *options,
                    const struct stream_ops *ops, void *aux, struct stream **ret_stream) WARN_UNUSED_RESULT;
/* Has the callbacks go to another owner. */
void stream_set_ops(struct stream *s, const struct stream_ops *ops, void *aux);
/* Gives the bufferevent of S, which is connected, to the caller, and destroys S.  It closes the socket when it is freed. */
struct bufferevent *stream_detach(struct stream *s);
/* Closes at once; what was not written is lost.  (The descriptor is closed by the event loop.)  Accepts NULL. */
void stream_destroy(struct stream *s);

const char *stream_name(const struct stream *s);
bool stream_is_connected(const struct stream *s);
struct evbuffer *stream_input(struct stream *s);  /* Only when connected, */
struct evbuffer *stream_output(struct stream *s); /* likewise. */
/* Bytes that have left the output, ever: tells whether the peer reads. */
uint64_t stream_written(const struct stream *s);
void stream_set_low_water(struct stream *s, size_t bytes);
/* While not reading, bytes wait in the kernel, and the peer after that; nor is its end noticed. */
void stream_set_reading(struct stream *s, bool reading);
/* Tells the peer that no more will come.  To be called when the output is empty. */
void stream_shutdown_write(struct stream *s);

/* For stream-listener.c: sets OPTIONS' DSCP on a socket.  Returns 0 or -errno. */
int stream_set_dscp(int fd, int family, int dscp);

#endif
