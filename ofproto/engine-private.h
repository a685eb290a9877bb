/* The engine's structure, for engine.c and its control commands. */
#ifndef OFPROTO_ENGINE_PRIVATE_H
#define OFPROTO_ENGINE_PRIVATE_H 1

#include "lib/base/lock.h"
#include "lib/dpif/dispatch.h"
#include "ofproto/crew.h"
#include "ofproto/engine.h"
#include "ofproto/flowcache.h"
#include "ofproto/handler.h"
#include "ofproto/odp-numbers.h"
#include "ofproto/pin.h"
#include "ofproto/port-ledger.h"
#include "ofproto/revalidators.h"

struct engine {
    unsigned int refs; /* Atomic. */
    struct dpif *dpif;
    struct dpif_session *session; /* Main's. */
    struct flowcache fc;
    struct revalidators *revalidators;
    struct engine_settings settings; /* As given; main's. */
    bool running;                    /* The first snapshot is there, and the threads run; main's. */
    odp_port_t *ports;               /* Served by dispatch; main's. */
    size_t n_ports, allocated_ports;
    struct odp_numbers numbers; /* Main's. */
    struct pin_inbox pins;      /* From handlers to main. */

    /* Changed by main under 'lock'; main reads without. */
    struct lock lock; /* Rank CONFIG. */
    struct dispatch *dispatch;
    struct crew *crew; /* Of dispatch's handlers. */
    struct handler *handlers[DISPATCH_MAX_HANDLERS];
    unsigned int n_handlers;
    struct handler_stats retired;     /* Of handlers that have ended, */
    struct port_ledger retired_ports; /* port by port. */
    char *mode_reason;
};

/* engine-packet.c */
/* Notes in C, which is published or about to be, where upcalls of each port go now. */
void engine_note_pids(const struct engine *e, struct xconfig *c);
/* Packets for controllers wait in the inbox.  Any thread. */
void engine_wake_packet_ins(void *aux);

/* engine-place.c */
unsigned int engine_wanted_handlers(const struct engine_settings *s);
unsigned int engine_wanted_revalidators(const struct engine_settings *s);
/* Whether it can pay that handlers help each other. */
bool engine_may_help(void);
/* Makes handlers FROM to TO of DISPATCH and CREW in HANDLERS, and starts them if the engine runs; with their memory and their
 * thread where they are to be.  On failure none of them is left. */
int engine_make_handlers(struct engine *e, struct dispatch *dispatch, struct crew *crew, struct handler **handlers,
                         unsigned int from, unsigned int to);
/* Has all threads run on the CPUs that are theirs now. */
void engine_place_threads(struct engine *e);

#endif
