/* The way to syslog.  A file of its own because <syslog.h> has macros with the names of our levels and destinations.
 *
 * Threads: any; libc has a lock of its own here, and waits for a syslog daemon that does not read. */
#include <config.h>

#include "lib/base/log-private.h"

#include <syslog.h>

/* Sends TEXT with the program's name before it, as libc formats it. */
void log_syslog_write(int facility, int severity, const char *text)
{
    syslog((facility < 0 ? LOG_DAEMON : facility << 3) | severity, "%s", text);
}
