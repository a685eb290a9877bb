/* Shared by the engine's control commands. */
#ifndef OFPROTO_ENGINE_CTL_H
#define OFPROTO_ENGINE_CTL_H 1

#include <stdbool.h>
#include <stdio.h>

struct dpif_flow;
struct engine;

/* Deletes all flows that the engine knows of, in the calling thread.  0 or -errno. */
int engine_purge(struct engine *e);
/* Is NAME ("ovs-system", "system@ovs-system") E's datapath? */
bool engine_is_datapath(struct engine *e, const char *name);
/* Prints F and a newline, as `ovs-dpctl dump-flows` does. */
void engine_print_flow(struct engine *e, FILE *out, const struct dpif_flow *f, bool verbose, bool names);
/* Register the commands of engine-dump.c, engine-flow.c, tables-ctl.c and trace-ctl.c. */
void engine_dump_init(void);
void engine_flow_init(void);
void tables_ctl_init(void);
void trace_ctl_init(void);

#endif
