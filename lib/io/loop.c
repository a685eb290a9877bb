/* Main's event loop: a libevent base, and a queue of calls posted by other threads.
 *
 * Threads: main runs the loop; any thread posts.  A posted call is owned by the queue until main takes it out, which it
 * does for all that wait at once, so that a call which posts another does not keep main from its descriptors.
 * The queue is under a lock of rank IO, held for a few instructions.  The first post to an empty queue makes the
 * wakeup readable; later ones find it set.
 *
 * Calls still queued when the loop is torn down are not run: their arguments are the poster's loss, so whoever posts is
 * stopped first. */
#include <config.h>

#include "lib/io/loop.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/wakeup.h"

LOG_MODULE(loop);

struct post {
    struct post *next;
    void (*func)(void *arg);
    void *arg;
};

static struct event_base *base;   /* Main's; set before there are threads. */
static struct event *posts_event; /* Main's. */
static struct wakeup posts_wakeup = { -1 };
static struct lock posts_lock = LOCK_INITIALIZER(RANK_IO);
static struct post *posts_head GUARDED_BY(posts_lock);
static struct post **posts_tail GUARDED_BY(posts_lock) = &posts_head;

static struct post *take_posts(void)
{
    lock_acquire(&posts_lock);
    struct post *list = posts_head;
    posts_head = NULL;
    posts_tail = &posts_head;
    lock_release(&posts_lock);
    return list;
}

static void run_posts(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED)
{
    struct post *next;

    wakeup_clear(&posts_wakeup);
    for (struct post *p = take_posts(); p; p = next) {
        next = p->next;
        p->func(p->arg);
        free(p);
    }
}

static void log_libevent(int severity, const char *message)
{
    if (severity >= EVENT_LOG_WARN) {
        log_warn_rl(10, "libevent: %s", message);
    } else {
        log_dbg_rl(60, "libevent: %s", message);
    }
}

/* Makes the loop and returns its base.  Exits the process if the system cannot give one. */
struct event_base *loop_init(void)
{
    event_set_log_callback(log_libevent);
    if (evthread_use_pthreads()) {
        fatal(0, "libevent has no support for threads");
    }
    base = event_base_new();
    if (!base) {
        fatal(0, "cannot make an event loop");
    }

    int error = wakeup_init(&posts_wakeup);
    if (error) {
        fatal(error, "cannot make the event loop's wakeup");
    }
    posts_event = event_new(base, posts_wakeup.fd, EV_READ | EV_PERSIST, run_posts, NULL);
    if (!posts_event || event_add(posts_event, NULL)) {
        fatal(0, "cannot watch the event loop's wakeup");
    }
    log_dbg("event loop uses %s", event_base_get_method(base));
    return base;
}

/* Frees the loop.  Whoever uses loop_base() or posts has been stopped before. */
void loop_uninit(void)
{
    struct post *next;

    if (!base) {
        return;
    }
    event_free(posts_event);
    event_base_free(base);
    posts_event = NULL;
    base = NULL;
    for (struct post *p = take_posts(); p; p = next) {
        next = p->next;
        free(p);
    }
    wakeup_uninit(&posts_wakeup);
}

struct event_base *loop_base(void) { return base; }

/* Has main call FUNC(ARG) from its loop, after what was posted earlier.  Any thread, main included. */
void loop_post(void (*func)(void *arg), void *arg)
{
    struct post *p = xmalloc(sizeof *p);

    *p = (struct post){ .func = func, .arg = arg };
    lock_acquire(&posts_lock);
    bool was_empty = !posts_head;
    *posts_tail = p;
    posts_tail = &p->next;
    lock_release(&posts_lock);
    if (was_empty) {
        wakeup_set(&posts_wakeup);
    }
}

/* Serves events until loop_exit(). */
void loop_run(void)
{
    if (event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) < 0) {
        fatal(0, "event loop failed");
    }
}

/* Has loop_run() return after the event being served.  Main only; other threads post it. */
void loop_exit(void) { event_base_loopbreak(base); }
