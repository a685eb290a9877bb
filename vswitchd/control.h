/* Registration of the control commands, by room.  Once each, before the control socket opens. */
#ifndef VSWITCHD_CONTROL_H
#define VSWITCHD_CONTROL_H 1

#include <stdbool.h>

struct unixctl_conn;

void process_ctl_init(void);  /* vlog, coverage, memory. */
void datapath_ctl_init(void); /* dpif, dpctl, ofproto/list. */
void fdb_ctl_init(void);

#endif
