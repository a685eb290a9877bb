/* ovs-vswitchd: start, loop, end.
 *
 * The order matters.  daemon_start() forks, so nothing that does not survive a fork (threads, the loop, sockets) is made before
 * it.  The control socket opens before the database is reached, so that the daemon can be asked what it waits for.  The
 * process that the user started returns only when the first configuration is in force and written to the database: until
 * then it waits, as long as the database is away.  At the end everything is taken down in the reverse order, and who
 * asked for it by `exit` gets the answer when the datapath has been let go. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/daemon.h"
#include "lib/io/loop.h"
#include "lib/io/thread.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine.h"
#include "ofproto/recirc.h"
#include "vswitchd/control.h"
#include "vswitchd/options.h"
#include "vswitchd/shutdown.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(vswitchd);

static void open_log(const struct options *o)
{
    if (!o->log_file) {
        return;
    }
    int error = log_file_open(o->log_file_name);
    if (error) {
        fatal(-error, "could not open log file%s%s", o->log_file_name ? " " : "",
              o->log_file_name ? o->log_file_name : "");
    }
}

static void start_process(const struct options *o)
{
    if (o->user) {
        daemon_set_user(o->user);
    }
    if (o->pidfile) {
        daemon_set_pidfile(o->pidfile_name);
    }
    if (o->overwrite_pidfile) {
        daemon_set_overwrite_pidfile();
    }
    if (o->detach) {
        daemon_set_detach();
    }
    daemon_set_chdir(o->chdir);
    if (o->monitor) {
        daemon_set_monitor();
    }
    daemon_start();
    /* As they are touched: a handler's receive buffer is mostly address space (lib/dpif/channel.h). */
    if (o->mlockall && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) {
        log_err("mlockall failed: %s", strerror(errno));
    }
    if (o->tls_ignored) {
        log_info("--%s has no effect: a chain of certificates goes into the file of --certificate, and OpenSSL's configuration decides "
                 "about protocols and ciphers", o->tls_ignored);
    }
}

/* Per port, each port takes a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit)) {
            log_info("cannot raise the limit of open files to %llu (%s)", (unsigned long long) limit.rlim_max,
                     strerror(errno));
        }
    }
}

static struct unixctl_server *open_control(const struct options *o)
{
    struct unixctl_server *server = NULL;

    process_ctl_init();
    datapath_ctl_init();
    fdb_ctl_init();
    engine_unixctl_init();
    if (o->unixctl && !strcmp(o->unixctl, "none")) {
        return NULL;
    }
    int error = unixctl_server_start(o->unixctl, &server);
    if (error) {
        fatal(-error, "could not open the control socket%s%s", o->unixctl ? " " : "", o->unixctl ? o->unixctl : "");
    }
    return server;
}

int main(int argc, char *argv[])
{
    struct options options;
    struct vswitch vswitch;

    set_program_name(argv[0]);
    options_parse(argc, argv, &options);
    open_log(&options);
    start_process(&options);
    raise_descriptor_limit();

    thread_main_init();
    loop_init();
    shutdown_init();
    struct unixctl_server *control = open_control(&options);
    vswitch_init(&vswitch, options.remote, &options.tls, options.enable_sim, daemon_complete);

    loop_run();

    vswitch_uninit(&vswitch, shutdown_cleanup());
    shutdown_answer();
    unixctl_server_stop(control);
    recirc_forget_all(); /* Nobody has flows any more. */
    shutdown_uninit();
    loop_uninit();
    options_uninit(&options);
    daemon_cleanup();
    log_file_close();
    thread_main_uninit();
    return EXIT_SUCCESS;
}
