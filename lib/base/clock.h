/* Monotonic and wall clock.
 *
 * In User Mode Linux and under seccomp a reading is a real system call, so a handler reads the clock once a
 * batch and hands the value on: functions on the hot path take `now` and never call these. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H 1

#include <stdint.h>

uint64_t clock_nsec(void);     /* CLOCK_MONOTONIC, ns. */
uint64_t clock_msec(void);     /* CLOCK_MONOTONIC, ms; the kernel's OVS_FLOW_ATTR_USED is on this scale. */
int64_t clock_wall_msec(void); /* CLOCK_REALTIME, ms since the epoch. */
uint64_t clock_thread_cpu_nsec(void); /* CPU time of the calling thread, ns. */

uint64_t clock_msec_of(uint64_t nsec); /* What clock_msec() gave when clock_nsec() gave NSEC. */

/* For tests: clock_msec() stands at MSEC until it is told another time; 0 lets it run again. */
void clock_hold(uint64_t msec);

#endif
