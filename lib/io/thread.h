/* Threads with a name, registered with RCU and the counters, that can be asked to stop.
 *
 * A thread that sleeps must be woken by whoever stops it: thread_stop() sets the flag and then calls the wake function
 * given at start, if any. */
#ifndef IO_THREAD_H
#define IO_THREAD_H 1

#include <stdbool.h>
#include <sys/types.h>

struct thread;

typedef void thread_func(struct thread *self, void *arg);

/* Starts a thread called NAME (15 characters are shown by ps) that runs FUNC(self, ARG).  All signals are blocked in it.  WAKE (may be
 * NULL) is called with ARG by thread_stop().  Aborts if the system has no thread to give at start-up; returns
 * NULL with a log line later. */
struct thread *thread_start(const char *name, thread_func *func, void (*wake)(void *arg), void *arg);
bool thread_stopping(const struct thread *t);
void thread_stop(struct thread *t); /* Asks; does not wait. */
void thread_join(struct thread *t); /* Asks, waits, frees.  Accepts NULL. */
const char *thread_name(const struct thread *t);
pid_t thread_tid(const struct thread *t);

/* Main calls these once each; other threads are cared for by thread_start(). */
void thread_main_init(void);
void thread_main_uninit(void);

#endif
