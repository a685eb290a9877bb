/* The command line of ovs-vswitchd(8). */
#ifndef VSWITCHD_OPTIONS_H
#define VSWITCHD_OPTIONS_H 1

#include <stdbool.h>

#include "lib/io/tls.h"

struct options {
    char *remote;           /* Of the database. */
    const char *unixctl;    /* NULL: default; "none": no control socket. */
    bool pidfile, overwrite_pidfile, detach, chdir, monitor, mlockall;
    const char *pidfile_name; /* NULL: default. */
    const char *user;       /* NULL: stay who we are. */
    bool log_file;
    const char *log_file_name; /* NULL: default. */
    struct tls_config tls;
    const char *tls_ignored; /* A TLS option that has no effect and was given, or NULL. */
    bool enable_sim;        /* Hidden, for tests: datapath_type sim is accepted. */
};

/* Reads ARGV.  --help and --version print and exit with 0; anything wrong prints one line and exits with 1. */
void options_parse(int argc, char *argv[], struct options *ret);
void options_uninit(struct options *o);

#endif
