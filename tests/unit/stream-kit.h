/* A pair of streams over a listener, for tests. */
#ifndef STREAM_KIT_H
#define STREAM_KIT_H 1

#include <errno.h>
#include <event2/buffer.h>

#include "lib/io/stream-listener.h"
#include "lib/io/stream.h"
#include "tests/unit/io-kit.h"

/* What happened to a stream. */
struct end {
    struct stream *s;
    unsigned int connected, drained, eofs, closed;
    int error;
    char why[256];
    bool destroy_when_connected;
};

static UNUSED void end_connected(struct stream *s, void *e_)
{
    struct end *e = e_;
    e->connected++;
    if (e->destroy_when_connected) {
        stream_destroy(s);
        e->s = NULL;
    }
}
static UNUSED void end_readable(struct stream *s UNUSED, void *e_ UNUSED) {}
static UNUSED void end_drained(struct stream *s UNUSED, void *e_) { ((struct end *) e_)->drained++; }
static UNUSED void end_eof(struct stream *s UNUSED, void *e_) { ((struct end *) e_)->eofs++; }
static UNUSED void end_closed(struct stream *s UNUSED, int error, const char *why, void *e_)
{
    struct end *e = e_;
    e->closed++;
    e->error = error;
    snprintf(e->why, sizeof e->why, "%s", why);
}

static const struct stream_ops end_ops = {
    .connected = end_connected,
    .readable = end_readable,
    .drained = end_drained,
    .eof = end_eof,
    .closed = end_closed,
};

static UNUSED void end_close(struct end *e)
{
    stream_destroy(e->s);
    *e = (struct end){ 0 };
}

static UNUSED void kit_accepted(struct stream_listener *l UNUSED, struct stream *s, void *e_)
{
    struct end *e = e_;
    assert_null(e->s);
    e->s = s;
    stream_set_ops(s, &end_ops, e);
}

static UNUSED size_t in_length(struct end *e)
{
    return e->s && stream_is_connected(e->s) ? evbuffer_get_length(stream_input(e->s)) : 0;
}

/* FROM says TEXT, and TO hears it. */
static UNUSED void talk(struct end *from, struct end *to, const char *text)
{
    char got[256];
    size_t len = strlen(text);
    assert_int_equal(evbuffer_add(stream_output(from->s), text, len), 0);
    UNTIL(in_length(to) >= len);
    assert_int_equal(evbuffer_remove(stream_input(to->s), got, sizeof got), len);
    assert_memory_equal(got, text, len);
}

/* The active name of listener L: "tcp" or "ssl", at HOST. */
static UNUSED char *kit_target(const char *kind, const char *host, struct stream_listener *l)
{
    return xasprintf("%s:%s:%u", kind, host, stream_listener_port(l));
}

#endif
