/* Signals and the `exit` command.  All functions are main's. */
#ifndef VSWITCHD_SHUTDOWN_H
#define VSWITCHD_SHUTDOWN_H 1

#include <stdbool.h>

/* Has SIGTERM, SIGINT and `exit` end the loop, SIGHUP reopen the log file; ignores SIGPIPE.  After loop_init(). */
void shutdown_init(void);
bool shutdown_cleanup(void); /* Was --cleanup asked for? */
void shutdown_answer(void);  /* Tells those who asked that it is done. */
void shutdown_uninit(void);

#endif
