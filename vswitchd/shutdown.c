/* How the daemon ends: by signal, or by the control command `exit`, whose answer is sent when all is done. */
#include <config.h>

#include "vswitchd/shutdown.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/rpc/unixctl.h"

LOG_MODULE(shutdown);

struct exit_request {
    struct exit_request *next;
    struct unixctl_conn *conn;
    bool cleanup;
};

static struct exit_request *requests; /* Main's. */
static bool cleanup_wanted;
static struct event *signal_events[3];

/* Main: a request has come from the introspection thread. */
static void take_request(void *r_)
{
    struct exit_request *r = r_;

    r->next = requests;
    requests = r;
    cleanup_wanted |= r->cleanup;
    loop_exit();
}

static void cmd_exit(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    if (argc > 1 && strcmp(argv[1], "--cleanup")) {
        unixctl_error(conn, "unknown option \"%s\"; the only one is --cleanup", argv[1]);
        return;
    }
    struct exit_request *r = xzalloc(sizeof *r);
    r->conn = conn;
    r->cleanup = argc > 1;
    loop_post(take_request, r);
}

static void signal_cb(evutil_socket_t sig, short what UNUSED, void *aux UNUSED)
{
    if (sig == SIGHUP) {
        int error = log_file_reopen();
        if (error) {
            log_warn("could not reopen the log file (%s)", strerror(-error));
        }
        return;
    }
    log_info("terminating with signal %d (%s)", (int) sig, strsignal(sig));
    loop_exit();
}

void shutdown_init(void)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        signal_events[i] = evsignal_new(loop_base(), signals[i], signal_cb, NULL);
        event_add(signal_events[i], NULL);
    }
    unixctl_register("exit", "[--cleanup]", 0, 1, cmd_exit, NULL);
}

bool shutdown_cleanup(void) { return cleanup_wanted; }

void shutdown_answer(void)
{
    while (requests) {
        struct exit_request *r = requests;
        requests = r->next;
        unixctl_reply(r->conn, NULL);
        free(r);
    }
}

void shutdown_uninit(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(signal_events); i++) {
        event_free(signal_events[i]);
        signal_events[i] = NULL;
    }
}
