/* Shared by the engine's control commands. */
#ifndef OFPROTO_ENGINE_CTL_H
#define OFPROTO_ENGINE_CTL_H 1

struct engine;

/* Deletes all flows that the engine knows of, in the calling thread.  0 or -errno. */
int engine_purge(struct engine *e);
/* Registers the commands of engine-dump.c. */
void engine_dump_init(void);

#endif
