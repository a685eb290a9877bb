/* See sleeper.h.
 *
 * A wake is a signal, sent to the one thread that sleeps.  It is blocked but for the time of the sleep: ppoll() and epoll_pwait() let
 * it in as they begin and shut it out as they end, in one step.  So one that was sent before the sleep began ends it at once, and no other
 * system call of this thread, or of any other, is ever interrupted.
 *
 * A signal costs its sender two system calls and the thread a third, so it is sent only to who may be asleep.  One word says that:
 *
 *                 sleep begins                      wake: sends the signal
 *     AWAKE ─────────────────────► ASLEEP ────────────────────────────────► WOKEN
 *       ▲ └─────────────────────────┼────── wake: nothing to send ───────────► │
 *       └───────────────────────────┴───────────── sleep ends ─────────────────┘      (a sleep that finds WOKEN does not begin)
 *
 * No wake is lost.  All moves are read-modify-writes of the one word, so they have an order.  If a wake comes before "sleep begins", the
 * sleep does not begin.  If it comes behind, it sends the signal, which waits, blocked, until ppoll() lets it in.
 *
 * No wake counts twice.  Whoever finds WOKEN sends nothing.  The one signal of a sleep may be late: the thread was up already,
 * since a descriptor was ready, when it was sent.  Then it waits, blocked, and ends the next sleep; but the word says ASLEEP, so this is no
 * wake, and the thread sleeps on, most often without having slept (ppoll() looks for signals first).
 *
 * Who wakes twice relies on the first: if the thread that was first is off the CPU between the exchange and the signal, the sleep lasts
 * until it is on again.  (Two writers of a descriptor would not wait for each other.)  What the second has to say waits for that time, and is
 * not lost.
 *
 * Why SIGURG.  It is ignored where nobody asks for it, so one that strays does no harm, to us or to a process that we start; the C
 * library does not use it; the kernel sends it for urgent data only to who has asked for that (F_SETOWN); debuggers pass it on in
 * silence.  (For the same reasons other run-time systems have chosen it.)  A real-time signal is queued, and the queue is limited a user,
 * over all processes (RLIMIT_SIGPENDING): sending one fails just when a machine is in trouble, and then a wake would be lost.  A
 * pending SIGURG is a bit.
 *
 * Lifetime.  A waker may be between the exchange and the signal when the thread wakes by itself, ends, and is joined.  So S must stay for
 * as long as a waker may be in sleeper_wake(): owners free it a grace period after the thread has ended, and wakers that are not the
 * owner's own thread are within an RCU read section.  The thread need not stay: the signal goes to a number, by tgkill(), which
 * unlike pthread_kill() may be that of no thread (ESRCH), or of a new one of this process: that finds a signal that is late, as above.
 *
 * Threads: the sleeper's own, and any that wake it. */
#include <config.h>

#include "lib/io/sleeper.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/compiler.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(sleeper);

enum { AWAKE, ASLEEP, WOKEN };

static pthread_once_t handled = PTHREAD_ONCE_INIT;

/* Of the calling thread; made by its first sleep.  Neither its pthread_t nor its number would tell it from one that has ended. */
static _Thread_local pid_t own_tid;
static _Thread_local sigset_t sleep_mask; /* What is blocked while it sleeps. */

static void nothing(int signal_number UNUSED) {}

/* Ignored, the signal would not end a system call. */
static void handle_signal(void)
{
    struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };

    sigemptyset(&action.sa_mask);
    if (sigaction(SLEEPER_SIGNAL, &action, NULL)) {
        fatal(errno, "cannot handle signal %d", SLEEPER_SIGNAL);
    }
}

void sleeper_init(struct sleeper *s) { memset(s, 0, sizeof *s); }

void sleeper_wake(struct sleeper *s)
{
    if (__atomic_exchange_n(&s->state, WOKEN, __ATOMIC_SEQ_CST) != ASLEEP) {
        return;
    }
    int saved_errno = errno;
    if (tgkill(getpid(), __atomic_load_n(&s->tid, __ATOMIC_RELAXED), SLEEPER_SIGNAL) < 0 && errno != ESRCH) {
        log_err_rl(1, "cannot wake a thread: %s", strerror(errno));
    }
    errno = saved_errno;
}

bool sleeper_is_woken(const struct sleeper *s) { return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == WOKEN; }

static void prepare_thread(void)
{
    sigset_t set;

    pthread_once(&handled, handle_signal);
    sigemptyset(&set);
    sigaddset(&set, SLEEPER_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &set, &sleep_mask);
    sigdelset(&sleep_mask, SLEEPER_SIGNAL);
    own_tid = gettid();
}

/* Begins a sleep, if there is to be one.  Else *TIMEOUT_MS is 0: it has been woken already, or only looks. */
static bool begin(struct sleeper *s, int *timeout_ms)
{
    uint32_t awake = AWAKE;

    if (!*timeout_ms) {
        return false;
    }
    if (unlikely(!own_tid)) {
        prepare_thread();
    }
    __atomic_store_n(&s->tid, own_tid, __ATOMIC_RELAXED); /* Ordered by 'state'. */
    if (__atomic_compare_exchange_n(&s->state, &awake, ASLEEP, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        return true;
    }
    *timeout_ms = 0;
    return false;
}

/* A sleep for ever has returned RESULT.  Is it to go on, since it was a late signal, or a stranger's, that has ended it? */
static bool goes_on(const struct sleeper *s, int result, int timeout_ms)
{
    return unlikely(result < 0) && errno == EINTR && timeout_ms < 0
           && __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == ASLEEP;
}

/* Ends what begin() has begun, with RESULT.  Whoever wakes S from now on wakes it out of its next sleep; so work is to be looked for
 * after this. */
static int end(struct sleeper *s, int result)
{
    int error = result < 0 && errno != EINTR ? -errno : 0;

    if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != AWAKE) {
        __atomic_exchange_n(&s->state, AWAKE, __ATOMIC_SEQ_CST);
    }
    return error ? error : MAX(result, 0);
}

int sleeper_poll(struct sleeper *s, struct pollfd fds[], unsigned int n, int timeout_ms)
{
    int result;

    if (!begin(s, &timeout_ms)) {
        return end(s, poll(fds, n, 0));
    }
    struct timespec timeout = { .tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L };
    do {
        result = ppoll(fds, n, timeout_ms < 0 ? NULL : &timeout, &sleep_mask);
    } while (goes_on(s, result, timeout_ms));
    return end(s, result);
}

int sleeper_epoll(struct sleeper *s, int epoll_fd, struct epoll_event events[], int max, int timeout_ms)
{
    int result;

    if (!begin(s, &timeout_ms)) {
        return end(s, epoll_wait(epoll_fd, events, max, 0));
    }
    do {
        result = epoll_pwait(epoll_fd, events, max, timeout_ms, &sleep_mask);
    } while (goes_on(s, result, timeout_ms));
    return end(s, result);
}
