/* Which datapath port numbers to ask for.
 *
 * Left to itself the kernel gives a new port the lowest free number, often one that was freed a moment ago, while upcalls
 * of the old port still wait in a channel, and flows of it are still installed: they would be taken for the new port's.
 * So we choose the number: the lowest that is free and has not been in use for REST_MS.  Main only. */
#ifndef OFPROTO_ODP_NUMBERS_H
#define OFPROTO_ODP_NUMBERS_H 1

#include <stdint.h>

#include "lib/base/types.h"

/* The kernel's limit: numbers are below this. */
#define ODP_NUMBERS_MAX 65535
/* Longer than any upcall waits, or a stale flow lives. */
#define ODP_NUMBERS_REST_MS 30000

struct odp_numbers {
    uint64_t used[(ODP_NUMBERS_MAX + 64) / 64];    /* In use, or resting. */
    uint64_t resting[(ODP_NUMBERS_MAX + 64) / 64]; /* Resting: in the queue. */
    struct odp_resting {
        uint16_t no; /* ODPP_LOCAL: none any more. */
        uint64_t until; /* ms. */
    } *queue; /* Ring, in order of 'until'. */
    size_t head, n, allocated;
};

void odp_numbers_init(struct odp_numbers *o);
void odp_numbers_uninit(struct odp_numbers *o);
/* A number to ask for at NOW (ms).  If all free ones rest, the one that has rested longest; ODPP_NONE if all
 * are in use.  It stays free until odp_numbers_use(). */
odp_port_t odp_numbers_suggest(struct odp_numbers *o, uint64_t now);
/* NO is in use: by a port of ours, or by one that the datapath refused to give us the number of. */
void odp_numbers_use(struct odp_numbers *o, odp_port_t no);
/* The port NO has gone. */
void odp_numbers_release(struct odp_numbers *o, odp_port_t no, uint64_t now);

#endif
