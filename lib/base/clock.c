/* Readings of the system's clocks.
 *
 * Threads: any; no state but the time at which tests hold clock_msec().  See clock.h for when not to call these. */
#include <config.h>

#include "lib/base/clock.h"

#include <time.h>

static uint64_t held_msec; /* Atomic; 0: not held. */

static uint64_t read_nsec(clockid_t id)
{
    struct timespec ts;

    /* Cannot fail: the clock ids are ones that Linux always has, and the address is valid. */
    clock_gettime(id, &ts);
    return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

uint64_t clock_nsec(void) { return read_nsec(CLOCK_MONOTONIC); }
uint64_t clock_msec(void)
{
    uint64_t held = __atomic_load_n(&held_msec, __ATOMIC_RELAXED);
    return held ? held : read_nsec(CLOCK_MONOTONIC) / 1000000;
}
uint64_t clock_msec_of(uint64_t nsec)
{
    uint64_t held = __atomic_load_n(&held_msec, __ATOMIC_RELAXED);
    return held ? held : nsec / 1000000;
}
void clock_hold(uint64_t msec) { __atomic_store_n(&held_msec, msec, __ATOMIC_RELAXED); }
int64_t clock_wall_msec(void) { return (int64_t) (read_nsec(CLOCK_REALTIME) / 1000000); }
uint64_t clock_thread_cpu_nsec(void) { return read_nsec(CLOCK_THREAD_CPUTIME_ID); }
