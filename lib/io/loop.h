/* The main thread's event loop: one libevent base, and a way in from other threads. */
#ifndef IO_LOOP_H
#define IO_LOOP_H 1

struct event_base;

/* Makes the loop (with libevent's pthread locking).  Main only. */
struct event_base *loop_init(void);
void loop_uninit(void);
struct event_base *loop_base(void);
/* Has main call FUNC(ARG) soon, in the order posted.  Any thread; takes lock rank IO. */
void loop_post(void (*func)(void *arg), void *arg);
/* Runs until loop_exit(). */
void loop_run(void);
void loop_exit(void);

#endif
