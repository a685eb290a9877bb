/* OpenFlow port numbers of one bridge.
 *
 * A port gets the number that its row requests, if no other has requested it; else the one that it has; else the one
 * that the database remembers from an earlier run; else the lowest that this bridge has never given out.  The bridge's
 * own port is always OFPP_LOCAL.  Pure: nothing here knows of databases or devices. */
#ifndef VSWITCHD_PORT_NUMBERS_H
#define VSWITCHD_PORT_NUMBERS_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/types.h"

/* Numbers chosen without a request are at most this, so that controllers may use the rest as they like. */
#define PORT_NUMBER_AUTO_MAX 32767

struct port_numbers {
    uint64_t given[OFPP_MAX / 64]; /* Bitmap: given to some port of this bridge at some time. */
};

struct port_number_wish {
    bool is_local;      /* The bridge's own port. */
    int64_t request;    /* ofport_request, or anything out of 1..OFPP_MAX - 1 for none. */
    int64_t remembered; /* ofport of an earlier run, or anything out of that range for none. */
    ofp_port_t number;  /* In: what it has, or OFPP_NONE.  Out: what it gets; OFPP_NONE if all are taken. */
};

/* Gives each of W[0..N) a number, all different.  Earlier wishes win over later ones of the same kind. */
void port_numbers_assign(struct port_numbers *numbers, struct port_number_wish *w, size_t n);

#endif
