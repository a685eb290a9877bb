/* Where run-time files are: from OVS_RUNDIR, OVS_LOGDIR, OVS_DBDIR, OVS_SYSCONFDIR in the environment, else as the
 * distribution has them (/var/run/openvswitch, /var/log/openvswitch, /etc/openvswitch, /etc/openvswitch). */
#ifndef BASE_DIRS_H
#define BASE_DIRS_H 1

const char *dir_run(void);
const char *dir_log(void);
const char *dir_db(void);
/* NAME made absolute under DIR unless it is already; to be freed. */
char *dir_file(const char *dir, const char *name);

#endif
