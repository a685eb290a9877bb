/* Command-line options: see ovs-vswitchd(8) for what each does.
 *
 * Init scripts of several distributions pass options that mean nothing here (--no-self-confinement, --syslog-method); they
 * are accepted so that those scripts work.  OpenSSL's own configuration decides which protocols and ciphers TLS may use. */
#include <config.h>

#include "vswitchd/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/dirs.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/base/version.h"

enum {
    OPT_PIDFILE = 256,
    OPT_OVERWRITE_PIDFILE,
    OPT_DETACH,
    OPT_NO_CHDIR,
    OPT_MONITOR,
    OPT_MLOCKALL,
    OPT_USER,
    OPT_UNIXCTL,
    OPT_LOG_FILE,
    OPT_ENABLE_SIM,
    OPT_TLS_IGNORED, /* Said. */
    OPT_BOOTSTRAP_CA_CERT,
    OPT_IGNORED, /* Accepted, without effect. */
};

static const struct option long_options[] = {
    { "pidfile", optional_argument, NULL, OPT_PIDFILE },
    { "overwrite-pidfile", no_argument, NULL, OPT_OVERWRITE_PIDFILE },
    { "detach", no_argument, NULL, OPT_DETACH },
    { "no-chdir", no_argument, NULL, OPT_NO_CHDIR },
    { "monitor", no_argument, NULL, OPT_MONITOR },
    { "mlockall", no_argument, NULL, OPT_MLOCKALL },
    { "user", required_argument, NULL, OPT_USER },
    { "unixctl", required_argument, NULL, OPT_UNIXCTL },
    { "log-file", optional_argument, NULL, OPT_LOG_FILE },
    { "verbose", optional_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { "enable-sim", no_argument, NULL, OPT_ENABLE_SIM },
    { "private-key", required_argument, NULL, 'p' },
    { "certificate", required_argument, NULL, 'c' },
    { "ca-cert", required_argument, NULL, 'C' },
    { "peer-ca-cert", required_argument, NULL, OPT_TLS_IGNORED },
    { "bootstrap-ca-cert", required_argument, NULL, OPT_BOOTSTRAP_CA_CERT },
    { "ssl-protocols", required_argument, NULL, OPT_TLS_IGNORED },
    { "ssl-ciphers", required_argument, NULL, OPT_TLS_IGNORED },
    { "no-self-confinement", no_argument, NULL, OPT_IGNORED },
    { "syslog-method", required_argument, NULL, OPT_IGNORED },
    { "syslog-target", required_argument, NULL, OPT_IGNORED },
    { "disable-system", no_argument, NULL, OPT_IGNORED },
    { "disable-system-route", no_argument, NULL, OPT_IGNORED },
    { NULL, 0, NULL, 0 },
};

static void print_version(void)
{
    printf("ovs-vswitchd (Open vSwitch) %s\nSluice %s\n", OVS_COMPAT_VERSION, PACKAGE_VERSION);
}

static void print_help(void)
{
    printf("%s: Open vSwitch daemon (Sluice)\n"
           "usage: %s [OPTIONS] [DATABASE]\n"
           "where DATABASE is a socket on which ovsdb-server is listening\n"
           "      (default: \"unix:%s/db.sock\").\n\n"
           "Active DATABASE connection methods:\n"
           "  tcp:HOST:PORT           PORT at remote HOST\n"
           "  ssl:HOST:PORT           TLS PORT at remote HOST\n"
           "  unix:FILE               Unix domain socket named FILE\n\n",
           program_name, program_name, dir_run());
    printf("PKI configuration (required to use TLS):\n"
           "  -p, --private-key=FILE  file with private key\n"
           "  -c, --certificate=FILE  file with certificate for private key\n"
           "  -C, --ca-cert=FILE      file with peer CA certificate\n"
           "  --bootstrap-ca-cert=FILE  file with peer CA certificate to read or create\n\n");
    printf("Daemon options:\n"
           "  --detach                run in background as daemon\n"
           "  --monitor               creates a process to monitor this daemon\n"
           "  --user=username[:group] changes the effective daemon user:group\n"
           "  --no-chdir              do not chdir to '/'\n"
           "  --pidfile[=FILE]        create pidfile (default: %s/%s.pid)\n"
           "  --overwrite-pidfile     with --pidfile, start even if already running\n"
           "  --mlockall              keep all memory in RAM\n\n",
           dir_run(), program_name);
    printf("Logging options:\n"
           "  -vSPEC, --verbose=SPEC  set logging levels\n"
           "  -v, --verbose           set maximum verbosity level\n"
           "  --log-file[=FILE]       enable logging to specified FILE\n"
           "                          (default: %s/%s.log)\n\n"
           "Other options:\n"
           "  --unixctl=SOCKET        override default control socket name\n"
           "  -h, --help              display this help message\n"
           "  -V, --version           display version information\n",
           dir_log(), program_name);
}

static void set_verbosity(const char *spec)
{
    char *error = log_set_spec(spec ? spec : "dbg");

    if (error) {
        fatal(0, "processing \"%s\": %s", spec ? spec : "dbg", error);
    }
}

static void take(struct options *o, int c, int index)
{
    switch (c) {
    case OPT_PIDFILE:
        o->pidfile = true;
        o->pidfile_name = optarg;
        break;
    case OPT_OVERWRITE_PIDFILE:
        o->overwrite_pidfile = true;
        break;
    case OPT_DETACH:
        o->detach = true;
        break;
    case OPT_NO_CHDIR:
        o->chdir = false;
        break;
    case OPT_MONITOR:
        o->monitor = true;
        break;
    case OPT_MLOCKALL:
        o->mlockall = true;
        break;
    case OPT_USER:
        o->user = optarg;
        break;
    case OPT_UNIXCTL:
        o->unixctl = optarg;
        break;
    case OPT_LOG_FILE:
        o->log_file = true;
        o->log_file_name = optarg;
        break;
    case OPT_ENABLE_SIM:
        o->enable_sim = true;
        break;
    case OPT_TLS_IGNORED:
        o->tls_ignored = long_options[index].name;
        break;
    case 'p':
        o->tls.private_key = optarg;
        break;
    case 'c':
        o->tls.certificate = optarg;
        break;
    case 'C':
    case OPT_BOOTSTRAP_CA_CERT:
        o->tls.ca_cert = optarg;
        o->tls.bootstrap_ca_cert = c == OPT_BOOTSTRAP_CA_CERT;
        break;
    default: /* Characters and numbers mixed: not an enum of ours. */
        break;
    }
}

static char *read_remote(int argc, char *argv[])
{
    if (argc - optind > 1) {
        fatal(0, "at most one non-option argument accepted; use --help for usage");
    }
    if (optind == argc) {
        return xasprintf("unix:%s/db.sock", dir_run());
    }
    const char *remote = argv[optind];
    bool known = !strncmp(remote, "unix:", 5) || !strncmp(remote, "tcp:", 4) || !strncmp(remote, "ssl:", 4);
    if (!known || !strchr(remote, ':')[1]) {
        fatal(0, "%s: not a database to connect to; use unix:FILE, tcp:HOST:PORT or ssl:HOST:PORT", remote);
    }
    return xstrdup(remote);
}

void options_parse(int argc, char *argv[], struct options *ret)
{
    *ret = (struct options) { .chdir = true };
    for (;;) {
        int index = 0;
        int c = getopt_long(argc, argv, "v::hVp:c:C:", long_options, &index);
        if (c < 0) {
            break;
        }
        switch (c) {
        case 'v':
            set_verbosity(optarg);
            break;
        case 'h':
            print_help();
            exit(EXIT_SUCCESS);
        case 'V':
            print_version();
            exit(EXIT_SUCCESS);
        case '?':
            exit(EXIT_FAILURE); /* getopt_long() has said what is wrong. */
        default:
            take(ret, c, index);
            break;
        }
    }
    ret->remote = read_remote(argc, argv);
}

void options_uninit(struct options *o) { free(o->remote); }
