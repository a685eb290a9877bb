/* The engine's structure, for engine.c and its control commands. */
#ifndef OFPROTO_ENGINE_PRIVATE_H
#define OFPROTO_ENGINE_PRIVATE_H 1

#include "lib/base/lock.h"
#include "lib/dpif/dispatch.h"
#include "ofproto/engine.h"
#include "ofproto/flowcache.h"
#include "ofproto/handler.h"
#include "ofproto/odp-numbers.h"
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

    /* Changed by main under 'lock'; main reads without. */
    struct lock lock; /* Rank CONFIG. */
    struct dispatch *dispatch;
    struct handler *handlers[DISPATCH_MAX_HANDLERS];
    unsigned int n_handlers;
    struct handler_stats retired; /* Of handlers that have ended. */
    char *mode_reason;
};

#endif
