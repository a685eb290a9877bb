/* A wake-up call by eventfd.
 *
 * Threads: any sets, one waits and clears.  However often it is set before it is cleared, the waiter sees it once. */
#include <config.h>

#include "lib/io/wakeup.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/log.h"

LOG_MODULE(wakeup);

/* Opens the descriptor.  Returns 0, or -errno when the process or the system has no descriptor left. */
int wakeup_init(struct wakeup *w)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (fd < 0) {
        return -errno;
    }
    w->fd = fd;
    return 0;
}

void wakeup_uninit(struct wakeup *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        w->fd = -1;
    }
}

/* Makes the descriptor readable.  Async-signal-safe unless it fails, which it does only for a closed descriptor. */
void wakeup_set(struct wakeup *w)
{
    static const uint64_t one = 1;
    int saved_errno = errno;
    ssize_t n;

    do {
        n = write(w->fd, &one, sizeof one);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN) { /* EAGAIN: the count is at its ceiling, so it is readable already. */
        log_err_rl(1, "writing to event descriptor %d failed: %s", w->fd, strerror(errno));
    }
    errno = saved_errno;
}

/* Makes it unreadable.  What is posted after this call sets it again, so look for work only after it. */
void wakeup_clear(struct wakeup *w)
{
    uint64_t count;
    ssize_t n;

    do {
        n = read(w->fd, &count, sizeof count);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN) { /* EAGAIN: it was not set. */
        log_err_rl(1, "reading from event descriptor %d failed: %s", w->fd, strerror(errno));
    }
}
