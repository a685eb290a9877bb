/* null-handler: the yardstick of the benchmarks.
 *
 * It takes a datapath, receives its upcalls by the channels and the dispatch that the daemon uses, puts a flow for
 * each and executes the packet, and translates nothing: what it takes is what the kernel and lib/dpif take.  What a
 * daemon takes more is its own.
 *
 *     null-handler --port p0 --port p1 [--port DEV]... [--mode per-cpu|per-port] [--handlers N]
 *                  [--duration SECONDS] [--datapath NAME]
 *
 * The ports are pairs: what comes in at the first is sent out by the second, and the reverse; so with the third and
 * the fourth, and so on.  (What comes in at one without a partner is sent out by the second.)  A flow matches its
 * packet's key exactly.
 *
 * "ready" is printed when upcalls are served.  At the end (after the duration, or by SIGTERM or SIGINT) the datapath is
 * deleted, and one line of key=value says what was done: `upcalls`, of them `malformed`; `puts` and `executes` that
 * the kernel took, and `refused`; `batches`; `wakeups` (returns from sleep), of them `idle_wakeups` with nothing to
 * do; `syscalls` of the handlers; `missed`, which the kernel sent up; `lost`, for which it had no room.  SIGUSR1
 * prints a line with what the datapath counts, SIGUSR2 deletes all flows before that.
 *
 * Threads: main sets up, waits for the end, takes down.  Handlers (handlerN, so that who counts the daemon's finds
 * these too) each own a struct worker; main reads its counters when the thread has been joined. */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <linux/openvswitch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/counter.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch.h"
#include "lib/dpif/dpif.h"
#include "lib/io/placement.h"
#include "lib/io/thread.h"
#include "lib/odp/odp-attr.h"

/* Channels taken from one wait. */
#define N_READY 64
/* System calls in a row that one channel may have, so that the others get their turn. */
#define N_ROUNDS 16
#define MAX_PORTS 1024
/* The kernel gives the lowest free numbers; 0 is the datapath's own. */
#define N_NUMBERS (MAX_PORTS + 1)

/* For main, which waits for them. */
static sigset_t handled_signals;

struct options {
    const char *datapath;
    const char *ports[MAX_PORTS];
    size_t n_ports;
    enum dpif_dispatch mode;
    unsigned int n_handlers;
    unsigned int duration; /* Seconds; 0: until a signal. */
};

/* The one action of a flow. */
struct output {
    struct nlattr nla;
    uint32_t port;
};

struct worker {
    struct dispatch *dispatch;
    struct dpif *dpif;
    struct dpif_session *session;
    struct thread *thread;
    unsigned int id;
    const struct output *outputs; /* By the number of the port that a packet came in at. */
    struct rxbuf rx;
    uint64_t upcalls, malformed, puts, executes, refused, batches, wakeups, idle_wakeups;

    /* The batch. */
    struct dpif_op ops_memory[2 * N_RX];
    struct dpif_op *ops[2 * N_RX];
    size_t n_ops;
};

static void usage(FILE *out)
{
    fprintf(out,
            "usage: %s --port DEV --port DEV [--port DEV]... [--mode per-cpu|per-port] [--handlers N]\n"
            "       [--duration SECONDS] [--datapath NAME]\n",
            program_name);
}

static unsigned int number(const char *option, const char *text, unsigned int min, unsigned int max)
{
    long long n;
    if (!str_to_llong(text, min, max, &n)) {
        fatal(0, "--%s must be a number from %u to %u, not \"%s\"", option, min, max, text);
    }
    return n;
}

static void parse_options(int argc, char *argv[], struct options *o)
{
    static const struct option longs[] = {
        { "port", required_argument, NULL, 'p' },     { "mode", required_argument, NULL, 'm' },
        { "handlers", required_argument, NULL, 'n' }, { "duration", required_argument, NULL, 'd' },
        { "datapath", required_argument, NULL, 'D' }, { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    *o = (struct options){ .datapath = "null-handler", .mode = DPIF_DISPATCH_PER_CPU };
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (c) {
        case 'p':
            if (o->n_ports == MAX_PORTS) {
                fatal(0, "more than %d ports", MAX_PORTS);
            }
            o->ports[o->n_ports++] = optarg;
            break;
        case 'm':
            if (strcmp(optarg, "per-cpu") && strcmp(optarg, "per-port")) {
                fatal(0, "--mode is per-cpu or per-port, not \"%s\"", optarg);
            }
            o->mode = !strcmp(optarg, "per-cpu") ? DPIF_DISPATCH_PER_CPU : DPIF_DISPATCH_PER_PORT;
            break;
        case 'n':
            o->n_handlers = number("handlers", optarg, 1, DISPATCH_MAX_HANDLERS);
            break;
        case 'd':
            o->duration = number("duration", optarg, 1, 86400);
            break;
        case 'D':
            o->datapath = optarg;
            break;
        case 'h':
            usage(stdout);
            exit(EXIT_SUCCESS);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (optind < argc || o->n_ports < 2) {
        usage(stderr);
        exit(2);
    }
    if (!o->n_handlers) {
        o->n_handlers = placement_default_handlers();
    }
}

/* ---- The handlers. ---- */

/* What to do with a packet of KEY; NULL if it came in at none of our ports. */
static const struct output *key_output(const struct worker *w, const struct nlattr *key, size_t len)
{
    struct odp_attr_iter it = odp_attr_begin(key, len);
    struct odp_attr attr;

    while (odp_attr_next(&it, &attr)) {
        if (attr.type == OVS_KEY_ATTR_IN_PORT && attr.len == sizeof(uint32_t)) {
            uint32_t no = odp_attr_u32(&attr);
            return no < N_NUMBERS && w->outputs[no].nla.nla_len ? &w->outputs[no] : NULL;
        }
    }
    return NULL;
}

static struct dpif_op *next_op(struct worker *w)
{
    struct dpif_op *op = &w->ops_memory[w->n_ops];
    w->ops[w->n_ops++] = op;
    return op;
}

/* Reads what has been received.  Returns how many upcalls were good. */
static unsigned int parse(struct worker *w, struct dpif_upcall upcalls[], const struct output *outputs[])
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < w->rx.n; i++) {
        size_t len;
        const void *msg = rxbuf_msg(&w->rx, i, &len);
        struct dpif_upcall *u = &upcalls[n];
        int error = dpif_upcall_parse(w->dpif, msg, len, u);
        outputs[n] = error ? NULL : key_output(w, u->key, u->key_len);
        if (outputs[n]) {
            n++;
        } else {
            w->malformed++;
        }
    }
    w->upcalls += w->rx.n;
    return n;
}

static void account(struct worker *w)
{
    for (size_t i = 0; i < w->n_ops; i++) {
        if (w->ops[i]->error) {
            w->refused++;
        } else if (w->ops[i]->type == DPIF_OP_FLOW_PUT) {
            w->puts++;
        } else {
            w->executes++;
        }
    }
    w->batches++;
}

/* Puts and executes what has been received. */
static void serve(struct worker *w)
{
    struct dpif_upcall upcalls[N_RX];
    const struct output *outputs[N_RX];
    unsigned int n = parse(w, upcalls, outputs);

    w->n_ops = 0;
    for (unsigned int i = 0; i < n; i++) {
        const struct dpif_upcall *u = &upcalls[i];
        *next_op(w) = (struct dpif_op) {
            .type = DPIF_OP_FLOW_PUT,
            .flow = {
                .has_ufid = true, .ufid = hash_bytes_128(u->key, u->key_len, 0),
                .key = u->key, .key_len = u->key_len,
                .actions = &outputs[i]->nla, .actions_len = sizeof *outputs[i],
            },
        };
    }
    /* Behind the puts, as the daemon does, so that what comes next of a flow does not come up. */
    for (unsigned int i = 0; i < n; i++) {
        const struct dpif_upcall *u = &upcalls[i];
        *next_op(w) = (struct dpif_op) {
            .type = DPIF_OP_EXECUTE,
            .execute = {
                .packet = u->packet, .packet_len = u->packet_len,
                .key = u->key, .key_len = u->key_len,
                .actions = &outputs[i]->nla, .actions_len = sizeof *outputs[i],
                .hash = u->hash, .has_hash = u->has_hash,
                .mru = u->mru,
            },
        };
    }
    dpif_operate(w->session, w->ops, w->n_ops);
    account(w);
    w->rx.n = 0;
}

/* Reads CH until it has less than a batch, within bounds.  Returns how many upcalls there were. */
static unsigned int drain(struct channel *ch, void *w_)
{
    struct worker *w = w_;
    unsigned int total = 0;

    for (int round = 0; round < N_ROUNDS; round++) {
        unsigned int n = channel_recv(ch, &w->rx);
        bool full = rxbuf_is_full(&w->rx);
        total += n;
        if (w->rx.n) {
            serve(w);
        }
        if (!full) {
            break;
        }
    }
    return total;
}

static void worker_main(struct thread *self, void *w_)
{
    struct worker *w = w_;
    struct channel *ready[N_READY];

    while (!thread_stopping(self)) {
        unsigned int taken = 0;
        int n = dispatch_wait(w->dispatch, w->id, ready, N_READY, -1);
        w->wakeups++;
        for (int i = 0; i < n; i++) {
            taken += drain(ready[i], w);
        }
        w->idle_wakeups += !taken;
    }
    dispatch_drain(w->dispatch, w->id, drain, w);
}

static void worker_wake(void *w_)
{
    struct worker *w = w_;
    dispatch_wake(w->dispatch, w->id);
}

/* ---- Main. ---- */

/* Adds device NAME as a port.  Returns its number. */
static odp_port_t add_port(struct dispatch *dispatch, struct dpif_session *s, const char *name)
{
    struct dispatch_port port;
    odp_port_t no;

    int error = dispatch_port_prepare(dispatch, &port);
    if (!error) {
        error = dpif_port_add(s, name, DPIF_PORT_NETDEV, port.pid, ODPP_NONE, &no);
    }
    if (error) {
        fatal(-error, "cannot add port %s: %s", name, dpif_session_error(s));
    }
    error = dispatch_port_commit(dispatch, &port, no);
    if (error) {
        fatal(-error, "cannot serve port %s", name);
    }
    return no;
}

/* Makes what is sent out where: OUTPUTS, of N_NUMBERS, by the pairs of the N ports numbered NOS. */
static void pair_ports(const odp_port_t nos[], size_t n, struct output outputs[])
{
    for (size_t i = 0; i < n; i++) {
        odp_port_t to = nos[(i ^ 1) < n ? i ^ 1 : 1];
        if (nos[i].n >= N_NUMBERS) {
            fatal(0, "the kernel gave number %u to a port: is the datapath in use?", nos[i].n);
        }
        outputs[nos[i].n] = (struct output) {
            .nla = { .nla_len = sizeof *outputs, .nla_type = OVS_ACTION_ATTR_OUTPUT },
            .port = to.n,
        };
    }
}

static struct worker *start_worker(struct dispatch *dispatch, struct dpif *dpif, unsigned int id,
                                   const struct output *outputs)
{
    struct worker *w = xzalloc(sizeof *w);
    char name[16];

    w->dispatch = dispatch;
    w->dpif = dpif;
    w->id = id;
    w->outputs = outputs;
    int error = dpif_session_open(dpif, &w->session);
    if (!error) {
        error = rxbuf_init(&w->rx);
    }
    if (error) {
        fatal(-error, "cannot make handler %u", id);
    }
    snprintf(name, sizeof name, "handler%u", id);
    w->thread = thread_start(name, worker_main, worker_wake, w);
    if (!w->thread) {
        fatal(EAGAIN, "cannot start handler %u", id);
    }
    return w;
}

static void print_stats(struct dpif_session *s)
{
    struct dpif_stats stats = { 0 };

    dpif_get_stats(s, &stats);
    printf("hit=%llu missed=%llu lost=%llu flows=%llu\n", (unsigned long long) stats.n_hit,
           (unsigned long long) stats.n_missed, (unsigned long long) stats.n_lost, (unsigned long long) stats.n_flows);
    fflush(stdout);
}

/* Does as signals say until one of them, or that DURATION seconds have passed, says that this is the end. */
static void await_end(struct dpif_session *s, unsigned int duration)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + duration;

    for (;;) {
        struct timespec timeout = { .tv_sec = duration ? MAX(end - now.tv_sec, 0) : 3600 };
        int sig = sigtimedwait(&handled_signals, NULL, &timeout);
        if (sig == SIGUSR1 || sig == SIGUSR2) {
            if (sig == SIGUSR2) {
                dpif_flow_flush(s);
            }
            print_stats(s);
        } else if (sig > 0) {
            return;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (duration && now.tv_sec >= end) {
            return;
        }
    }
}

static uint64_t count_syscalls(void)
{
    static const char *const names[] = { "dispatch_wait", "channel_recv", "dpif_sendmsg", "dpif_recvmmsg" };
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t n = 0;
        counter_read(names[i], &n);
        sum += n;
    }
    return sum;
}

static void report(const struct options *o, struct worker *workers[], const struct dpif_stats *stats)
{
    struct worker t = { 0 };

    for (unsigned int i = 0; i < o->n_handlers; i++) {
        const struct worker *w = workers[i];
        t.upcalls += w->upcalls;
        t.malformed += w->malformed;
        t.puts += w->puts;
        t.executes += w->executes;
        t.refused += w->refused;
        t.batches += w->batches;
        t.wakeups += w->wakeups;
        t.idle_wakeups += w->idle_wakeups;
    }
    printf("mode=%s handlers=%u upcalls=%llu malformed=%llu puts=%llu executes=%llu refused=%llu batches=%llu "
           "wakeups=%llu idle_wakeups=%llu syscalls=%llu missed=%llu lost=%llu\n",
           o->mode == DPIF_DISPATCH_PER_CPU ? "per-cpu" : "per-port", o->n_handlers, (unsigned long long) t.upcalls,
           (unsigned long long) t.malformed, (unsigned long long) t.puts, (unsigned long long) t.executes,
           (unsigned long long) t.refused, (unsigned long long) t.batches, (unsigned long long) t.wakeups,
           (unsigned long long) t.idle_wakeups, (unsigned long long) count_syscalls(),
           (unsigned long long) stats->n_missed, (unsigned long long) stats->n_lost);
}

static void serve_ports(const struct options *o, struct dpif *dpif, struct dpif_session *s, struct dispatch *dispatch)
{
    static struct output outputs[N_NUMBERS];
    struct worker *workers[DISPATCH_MAX_HANDLERS];
    odp_port_t nos[MAX_PORTS];
    struct dpif_stats stats = { 0 };

    for (size_t i = 0; i < o->n_ports; i++) {
        nos[i] = add_port(dispatch, s, o->ports[i]);
    }
    pair_ports(nos, o->n_ports, outputs);
    for (unsigned int i = 0; i < o->n_handlers; i++) {
        workers[i] = start_worker(dispatch, dpif, i, outputs);
    }
    puts("ready");
    fflush(stdout);

    await_end(s, o->duration);

    for (unsigned int i = 0; i < o->n_handlers; i++) {
        thread_stop(workers[i]->thread);
    }
    for (unsigned int i = 0; i < o->n_handlers; i++) {
        thread_join(workers[i]->thread);
    }
    dpif_get_stats(s, &stats);
    report(o, workers, &stats);
    for (unsigned int i = 0; i < o->n_handlers; i++) {
        rxbuf_uninit(&workers[i]->rx);
        dpif_session_close(workers[i]->session);
        free(workers[i]);
    }
}

static void run(const struct options *o)
{
    struct dispatch *dispatch;
    struct dpif_session *s;
    struct dpif *dpif;
    char *words = NULL;

    int error = dpif_open("system", o->datapath, &dpif, &words);
    if (error) {
        fatal(-error, "cannot open datapath %s: %s", o->datapath, words ? words : "");
    }
    error = dpif_session_open(dpif, &s);
    if (!error) {
        error = dispatch_open(dpif, s, o->mode, o->n_handlers, NULL, 0, &dispatch);
    }
    if (error) {
        fatal(-error, "cannot serve datapath %s in %s mode", o->datapath,
              o->mode == DPIF_DISPATCH_PER_CPU ? "per-CPU" : "per-port");
    }
    serve_ports(o, dpif, s, dispatch);
    dispatch_close(dispatch);
    dpif_destroy(s);
    dpif_session_close(s);
    dpif_close(dpif);
}

int main(int argc, char *argv[])
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };
    struct options options;

    set_program_name(argv[0]);
    parse_options(argc, argv, &options);
    /* What the datapath can do is not the matter here. */
    free(log_set_spec("console:warn"));
    /* Before there are threads: they inherit it. */
    sigemptyset(&handled_signals);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaddset(&handled_signals, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &handled_signals, NULL);
    thread_main_init();
    run(&options);
    thread_main_uninit();
    return EXIT_SUCCESS;
}
