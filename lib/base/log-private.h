/* What log.c, log-file.c and log-spec.c share. */
#ifndef BASE_LOG_PRIVATE_H
#define BASE_LOG_PRIVATE_H 1

#include "lib/base/lock.h"
#include "lib/base/log.h"

/* Guards the list of modules, the remembered levels, the patterns that are kept, the file's name. */
extern struct lock log_lock;

/* All modules, sorted by name. */
extern struct log_module *log_modules GUARDED_BY(log_lock);
void log_module_refresh(struct log_module *m) REQUIRES(log_lock);

/* What one destination has beside the levels. */
struct log_dest_info {
    const char *name;
    const char *pattern; /* Acquire, release.  Never freed. */
};
extern struct log_dest_info log_dests[N_LOG_DESTS];
extern int log_facility; /* Relaxed; -1: not set. */

/* Levels from log_set_spec(), for modules that register later. */
void log_spec_apply(struct log_module *m) REQUIRES(log_lock);

bool log_file_is_open(void);
/* FACILITY (-1: daemon) and SEVERITY as RFC 5424 numbers them. */
void log_syslog_write(int facility, int severity, const char *text);
void log_file_write(const char *data, size_t n);

#endif
