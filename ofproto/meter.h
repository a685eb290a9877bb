/* Meters: those of a bridge, by OpenFlow's numbers, and what they are in the datapath, which has numbers of its own.
 *
 * All bridges share the datapath, so the datapath's numbers are given out here: the lowest that is free, since the kernel wants them
 * dense (lib/dpif/dpif-kernel-meter.c), but not for a while after it was in use, until no flow names it any more.  What a predecessor
 * has left behind is deleted when the datapath is opened; its flows go on, without a meter, until they are translated again.
 *
 * Threads.  Main makes, changes and deletes meters.  Translations only want to know the datapath's number of a meter, which never
 * changes while the meter lives, and look it up under RCU. */
#ifndef OFPROTO_METER_H
#define OFPROTO_METER_H 1

#include <urcu/list.h>

#include "lib/base/rcu.h"
#include "lib/dpif/dpif.h"
#include "lib/ofp/ofp-msg-meter.h"

struct meters; /* Of a bridge. */

struct meter {
    /* Immutable, and read by any thread. */
    uint32_t id, odp_id;
    struct cds_lfht_node node; /* By 'id'. */
    struct rcu_head rcu;
    /* Main's. */
    struct cds_list_head in_all;
    bool installed; /* The datapath has it. */
    uint16_t flags; /* OFPMF_*. */
    unsigned int n_bands;
    struct ofp_meter_band bands[DPIF_METER_MAX_BANDS];
    uint64_t created;                /* ms, CLOCK_MONOTONIC. */
    struct dpif_meter_counts before; /* What was counted before the datapath's counts began anew. */
    unsigned int n_rules;            /* That use it: for who counts them. */
};

struct meters *meters_create(void);
void meters_destroy(struct meters *m); /* There is none in it, and nobody looks one up. */

/* Under RCU, any thread: the datapath's number of meter ID; false: there is no such meter. */
bool meters_odp_id(const struct meters *m, uint32_t id, uint32_t *ret_odp_id);

/* ---- Main. ---- */

struct meter *meters_find(const struct meters *m, uint32_t id);
/* All of M by their numbers; *RET_N of them in memory to be freed. */
struct meter **meters_sorted(const struct meters *m, size_t *ret_n);

/* OFPMMFC_*: nothing has changed. */
enum ofp_error meters_add(struct meters *m, const struct ofp_meter_mod *mod);
/* Counts of its bands begin anew, the others go on. */
enum ofp_error meters_modify(struct meters *m, const struct ofp_meter_mod *mod);
void meters_delete(struct meters *m, struct meter *meter); /* No rule uses it any more. */
void meters_delete_all(struct meters *m);
/* What METER has counted since it was made; what the datapath does not tell is 0. */
void meter_get_stats(const struct meter *meter, struct dpif_meter_stats *ret);

/* What the datapath can do; *RET_BANDS: how many bands a meter may have.  0: no meters. */
uint32_t meters_max(unsigned int *ret_bands);
/* The datapath of the engine has just been opened: it gets the meters that there are, and loses all others. */
void meters_datapath_opened(void);

#endif
