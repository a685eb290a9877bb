/* Threads: a name, the registrations that every thread needs, and the way to stop one.
 *
 * Threads: any may start one.  A struct thread belongs to whoever started it, until thread_join() frees it; the thread
 * itself only reads it, and sets 'tid' before thread_start() returns.  'stopping' goes from false to true once.
 *
 * A new thread blocks all signals, so that the kernel gives them to main, whose loop handles them.  Those that
 * a thread raises by its own fault (SIGSEGV and so on) stay open, or the process would die without a core's reason. */
#include <config.h>

#include "lib/io/thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"

LOG_MODULE(thread);

struct thread {
    char *name;
    pthread_t pthread;
    pid_t tid;
    bool stopping; /* Relaxed atomic. */
    thread_func *func;
    void (*wake)(void *arg);
    void *arg;
    sem_t ready; /* Posted by the thread when 'tid' is set. */
};

static bool started_any; /* Relaxed atomic: whether a thread could be had at all. */

static void block_signals(sigset_t *ret_old)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
    sigset_t all;

    sigfillset(&all);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, ret_old);
}

static void *thread_main(void *t_)
{
    struct thread *t = t_;
    char shown[16];

    snprintf(shown, sizeof shown, "%s", t->name);
    pthread_setname_np(pthread_self(), shown);
    log_set_thread_name(t->name);
    rcu_register_thread();
    counter_thread_start();
    t->tid = gettid();
    sem_post(&t->ready);

    t->func(t, t->arg);

    counter_thread_end();
    rcu_unregister_thread();
    log_set_thread_name("");
    return NULL;
}

/* See thread.h.  NAME is copied. */
struct thread *thread_start(const char *name, thread_func *func, void (*wake)(void *arg), void *arg)
{
    struct thread *t = xzalloc(sizeof *t);
    sigset_t old;

    t->name = xstrdup(name);
    t->func = func;
    t->wake = wake;
    t->arg = arg;
    sem_init(&t->ready, 0, 0);

    /* The mask is inherited: so the thread never runs a moment with signals open. */
    block_signals(&old);
    int error = pthread_create(&t->pthread, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error) {
        if (!__atomic_load_n(&started_any, __ATOMIC_RELAXED)) {
            fatal(error, "cannot start thread %s", name);
        }
        log_err("cannot start thread %s: %s", name, strerror(error));
        sem_destroy(&t->ready);
        free(t->name);
        free(t);
        return NULL;
    }
    __atomic_store_n(&started_any, true, __ATOMIC_RELAXED);
    while (sem_wait(&t->ready) < 0 && errno == EINTR) {
        continue;
    }
    return t;
}

/* What the thread asks itself each time around its loop. */
bool thread_stopping(const struct thread *t) { return __atomic_load_n(&t->stopping, __ATOMIC_ACQUIRE); }

/* Asks T to stop, and wakes it.  Any thread, as often as it likes. */
void thread_stop(struct thread *t)
{
    __atomic_store_n(&t->stopping, true, __ATOMIC_RELEASE);
    if (t->wake) {
        t->wake(t->arg);
    }
}

/* Asks T to stop, waits until its function has returned, and frees T. */
void thread_join(struct thread *t)
{
    if (!t) {
        return;
    }
    thread_stop(t);
    int error = pthread_join(t->pthread, NULL);
    if (error) {
        fatal(error, "cannot join thread %s", t->name);
    }
    sem_destroy(&t->ready);
    free(t->name);
    free(t);
}

const char *thread_name(const struct thread *t) { return t->name; }

/* The kernel's number of the thread, as ps -L and /proc/PID/task show it. */
pid_t thread_tid(const struct thread *t) { return t->tid; }

/* Registers the main thread with RCU and the counters. */
void thread_main_init(void)
{
    rcu_register_thread();
    counter_thread_start();
}

void thread_main_uninit(void)
{
    counter_thread_end();
    rcu_unregister_thread();
}
