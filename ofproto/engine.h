/* The engine: one datapath with its handlers, revalidators and flow table.
 *
 * Main makes one, gives it configuration snapshots, and changes its thread counts; everything else happens in
 * the engine's threads.  Functions are main's unless they say otherwise.
 *
 * A port's life: engine_port_add() opens a channel for it if dispatch is per port, adds it to the datapath and
 * registers the channel; engine_port_adopt() does the same for a port that a predecessor left in the datapath. */
#ifndef OFPROTO_ENGINE_H
#define OFPROTO_ENGINE_H 1

#include <stdint.h>
#include <stdio.h>

#include "lib/base/types.h"
#include "lib/dpif/dpif.h"

struct dep_set;
struct engine;
struct flow;
struct ofp_act;
struct port_limit;
struct xconfig;

enum dispatch_wish { DISPATCH_AUTO, DISPATCH_PER_CPU, DISPATCH_PER_PORT };

/* Most handlers, and most revalidators. */
#define ENGINE_MAX_THREADS 256

struct engine_settings {
    enum dispatch_wish dispatch;
    unsigned int n_handlers, n_revalidators; /* 0: by the CPUs that the process may use. */
    unsigned int flow_limit;                 /* Most flows ever; default 200000. */
    unsigned int max_idle_ms;                /* Default 10000. */
    unsigned int max_revalidator_ms;         /* Default 500. */
};
#define ENGINE_SETTINGS_DEFAULT                                                                          \
    { .dispatch = DISPATCH_AUTO, .flow_limit = 200000, .max_idle_ms = 10000, .max_revalidator_ms = 500 }

/* Opens datapath NAME of TYPE and starts its threads.  Takes nothing over.  -errno with a reason in *RET_ERROR, to be
 * freed. */
int engine_create(const char *type, const char *name, const struct engine_settings *settings,
                  struct engine **ret_engine, char **ret_error);
/* Stops the threads, after they have executed the upcalls that they had read.  DELETE_DATAPATH: also removes the
 * datapath from the kernel (exit --cleanup, or the last bridge is gone); else flows and ports stay. */
void engine_destroy(struct engine *e, bool delete_datapath);

/* Changes to SETTINGS.  Returns 0, or -errno if not all could be had (descriptors, threads): what could is in force, and the caller
 * tries again later. */
int engine_apply_settings(struct engine *e, const struct engine_settings *settings);
/* The CPUs that the process may use have changed (lib/io/affinity.h): handlers and revalidators whose number nobody has set
 * follow their number, and all threads of the process follow the CPUs.  Returns as engine_apply_settings() does. */
int engine_follow_affinity(struct engine *e);
/* Publishes C, which the engine owns from now on, and has the flows translated again. */
void engine_set_config(struct engine *e, struct xconfig *c);

/* A packet that a controller has sent. */
struct engine_packet_out {
    uint32_t bridge; /* Its id. */
    ofp_port_t in_port;
    const void *packet; /* Of LEN bytes, an Ethernet header at least. */
    size_t len;
    const struct flow *pipeline; /* What OpenFlow 1.5 says of it beside that: metadata, registers and suchlike; NULL: nothing. */
    const struct ofp_act *acts;
    size_t acts_len;
};
/* Has the bridge do it.  -ENODEV: there is no such bridge in the snapshot; else of the datapath. */
int engine_packet_out(struct engine *e, const struct engine_packet_out *po);

struct dpif *engine_dpif(struct engine *e);
struct dpif_session *engine_session(struct engine *e); /* Main's. */

/* Results as of dpif_port_add(). */
int engine_port_add(struct engine *e, const char *name, enum dpif_port_type type, odp_port_t request,
                    odp_port_t *ret_no);
int engine_port_adopt(struct engine *e, odp_port_t no);
int engine_port_del(struct engine *e, odp_port_t no); /* Also of one that is not served.  Gone already is no error. */
/* Another program has changed how the datapath dispatches upcalls (not KNOWN: or may have): sets it right. */
void engine_assert_dispatch(struct engine *e, bool known);
/* The port is gone from the datapath already. */
void engine_port_gone(struct engine *e, odp_port_t no);
/* Port NO, which is there, may have no more upcalls than LIMIT says (port-limit.h), from now on.  It ends with the port: whoever gets
 * the number next has no limit.  Returns whether that is a change. */
bool engine_port_limit(struct engine *e, odp_port_t no, const struct port_limit *limit);

/* Calls DONE(AUX), once, from a revalidator's thread, when all flows have been checked against what has been published before this
 * call; or when the engine ends, or no check can be made. */
void engine_wait(struct engine *e, void (*done)(void *aux), void *aux);

/* What lookups see has changed (a table was flushed, an entry set): all flows are translated again soon.  Any thread. */
void engine_revalidate(struct engine *e);
/* The same for what depends on CHANGED. */
void engine_changed(struct engine *e, const struct dep_set *changed);

/* Looks whether all handlers come back from their passes, and says which does not; and lets go of recirculation ids that are of no use any more.
 * Main, every second. */
void engine_watch(struct engine *e);

/* Registers the control commands that are about the engine: upcall/, revalidator/, dpif-netlink/dispatch-mode, dpctl/dump-flows, dpctl/del-flows,
 * dpif/dump-flows.  Once, before the control socket opens. */
void engine_unixctl_init(void);

/* For memory/show: how many there are.  Any thread. */
struct engine_memory {
    unsigned int n_handlers, n_revalidators;
    uint64_t n_ukeys;
    size_t n_rules; /* Of all bridges. */
};
void engine_memory(struct engine *e, struct engine_memory *ret);

/* Runs F with the current snapshot under RCU; any thread (NULL config before the first). */
void engine_with_config(struct engine *e, void (*f)(const struct xconfig *, void *aux), void *aux);
/* There is one engine at a time: all bridges share it.  engine_get() returns it with a reference, for any thread, to be given
 * back with engine_put(); NULL while there is none.  Whoever holds a reference after engine_destroy() still reads what
 * there is, and finds no datapath. */
struct engine *engine_get(void);
void engine_put(struct engine *e); /* Accepts NULL. */

#endif
