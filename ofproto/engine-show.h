/* What the commands that show the fate of upcalls share: upcall/show and upcall/show-handlers in engine-show.c,
 * upcall/show-ports in engine-show-ports.c. */
#ifndef OFPROTO_ENGINE_SHOW_H
#define OFPROTO_ENGINE_SHOW_H 1

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ofproto/sched.h"

struct dispatch_loss;
struct engine;
struct histogram;

/* Register the commands. */
void engine_show_init(void);
void engine_show_ports_init(void);

static inline bool show_is_json_option(const char *arg) { return !strcmp(arg, "--json") || !strcmp(arg, "-j"); }

/* Upcalls that were dropped before they were looked at, by reason. */
struct show_drops {
    uint64_t kernel; /* SHOW_NOT_ASKED: has not been asked for. */
    uint64_t sched[SCHED_N_DROPS];
};
#define SHOW_NOT_ASKED UINT64_MAX

/* What the kernel lost, as dispatch_get_loss() has it; nothing if there is no dispatch.  *RET_LOSSES is to be freed.
 * E's lock is held: dispatch stays. */
void show_get_losses(struct engine *e, struct dispatch_loss **ret_losses, size_t *ret_n, uint64_t *ret_retired);

/* A line of text for each reason that there is something of. */
void show_drops_print(FILE *out, const struct show_drops *drops, const char *indent);
/* {"share":,…,"kernel":}, and what the reasons mean: {"share":"its port had…",…}.  New references. */
json_t *show_drops_json(const struct show_drops *drops);
json_t *show_drop_reasons_json(void);

void show_histogram_print(FILE *out, const char *indent, const char *name, const struct histogram *h);
/* Sets member NAME of OBJECT to VALUE. */
void show_put(json_t *object, const char *name, uint64_t value);
/* "system@ovs-system"; null if E is NULL.  A new reference. */
json_t *show_datapath_json(const struct engine *e);
/* Prints OBJECT on one line, without an end of line, and frees it. */
void show_json_print(FILE *out, json_t *object);

#endif
