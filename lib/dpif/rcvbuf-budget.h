/* How long the receive queues of ports may be, so that all of them together stay within one budget of kernel memory.
 *
 * The kernel charges a message by its true size: 1,280 bytes for a small upcall, about 132 KiB for one with a packet of
 * 64 KiB.  It fills a queue as long as the sum is within twice the value of SO_RCVBUF (socket(7)).  So a queue of 4 MiB
 * takes up to 8 MiB, and holds 6,500 small upcalls.
 *
 *     ports            queue of each      all together, when all are full
 *     1 to 16          4 MiB              up to 128 MiB
 *     17 to 512        a fair share       32 to 128 MiB
 *     above 512        128 KiB            256 KiB a port (10,000 ports: 2.4 GiB)
 *
 * The last column is what flooding all ports at the same time can take while no handler reads; empty queues take
 * nothing.  The floor is what a port needs that was quiet and has new flows at once: 200 small upcalls, or the largest
 * one and 99 small ones, are not lost however many ports there are.
 *
 * Amortised cost.  The share is a power of two.  It is halved when the budget would be exceeded, and doubled only when
 * that would take no more than half the budget.  So between two changes of it lie additions or deletions of about half
 * the ports that there are; setting all queues anew at each costs less than two system calls for each port added or
 * deleted, and a port that comes and goes at a limit costs none. */
#ifndef DPIF_RCVBUF_BUDGET_H
#define DPIF_RCVBUF_BUDGET_H 1

#include <stddef.h>

#define RCVBUF_BUDGET ((size_t) 128 * 1024 * 1024) /* Kernel memory. */
/* Values of SO_RCVBUF: half the kernel memory. */
#define RCVBUF_MAX ((size_t) 4 * 1024 * 1024)
#define RCVBUF_MIN ((size_t) 128 * 1024)

/* The value of SO_RCVBUF for each of N queues, when it has been CURRENT until now (RCVBUF_MAX at first). */
size_t rcvbuf_budget_share(size_t n, size_t current);

#endif
