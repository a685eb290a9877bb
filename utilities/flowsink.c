/* flowsink: counts what arrives of flowgen's streams.
 *
 * Each device and Ethernet type has a socket of its own (flowsock.h).  What is counted is in flowcount.h; here is what
 * makes the figures those of the switch and not of this program:
 *
 *   - The time of arrival is the kernel's (SO_TIMESTAMPNS), taken when the device receives the packet: how long this
 *     program takes to be woken and to read is not in it.  It is on the wall clock; the difference to CLOCK_MONOTONIC
 *     is measured again for each 100 ms of arrivals, so a clock that is being corrected does no harm.
 *   - The receive buffers are big, and what overflows them all the same is told by the kernel (PACKET_STATISTICS):
 *     'sink_dropped'.  Such a run proves nothing about loss: the exit status is 3.
 *   - Packets that the kernel drops between two devices because a CPU's backlog is full ('backlog_dropped', for the
 *     whole system) are neither this program's nor the switch's daemon's fault.
 *
 * It ends when every expected packet has arrived, and LINGER ms have passed in which duplicates may come; or when,
 * after the first, none came for IDLE ms; or after DURATION; or by a signal.  In each case the figures are printed.
 *
 * Threads: one. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "utilities/flowcount.h"
#include "utilities/flowopt.h"
#include "utilities/flowprobe.h"
#include "utilities/flowsock.h"

#define BATCH            64
#define DRAIN            16 /* Batches that are read from one socket before the others get their turn. */
#define NSEC_PER_MSEC    UINT64_C(1000000)
#define CLOCK_CHECK_NSEC (100 * NSEC_PER_MSEC)

enum { EXIT_DROPPED = 3 };

struct options {
    struct flow_device *devices;
    size_t n_devices;
    uint16_t *ethertypes;
    size_t n_ethertypes;
    uint32_t *streams;
    size_t n_streams;
    uint32_t first, n_flows, per_flow;
    uint64_t idle_ns, linger_ns, duration_ns;
    const char *ready; /* Or NULL. */
    bool json;
};

struct message_control {
    _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(struct timespec))];
};

struct sink {
    const struct options *o;
    int epoll;
    struct flowsock *socks;
    size_t n_socks;
    struct flowcount *counts;                    /* One a stream... */
    uint16_t count_of[FLOWPROBE_MAX_STREAM + 1]; /* ...whose number, plus 1, is found here. */
    size_t n_complete;                           /* Streams. */
    uint64_t foreign;                            /* Probes of other streams. */
    uint64_t start_ns, arrived_ns, complete_ns;  /* Last two 0 until the first, until the last packet has come. */
    int64_t wall_to_mono_ns;                     /* As measured when an arrival was stamped... */
    int64_t wall_checked_ns;                     /* ...with this. */
    const char *ended;

    struct mmsghdr msgs[BATCH];
    struct iovec iovs[BATCH];
    struct message_control controls[BATCH];
    uint8_t heads[BATCH][FLOWPROBE_MAX_HEAD];
};

/* --- Receiving ---------------------------------------------------------------------------------------------------- */

static int64_t wall_nsec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Measures what is to be added to a time of the wall clock; the best of three readings between two others. */
static int64_t measure_wall_to_mono(void)
{
    uint64_t least = UINT64_MAX;
    int64_t difference = 0;

    for (int i = 0; i < 3; i++) {
        uint64_t before = clock_nsec();
        int64_t wall = wall_nsec();
        uint64_t took = clock_nsec() - before;
        if (took < least) {
            least = took;
            difference = (int64_t) (before + took / 2) - wall;
        }
    }
    return difference;
}

static uint64_t arrival_of(struct sink *s, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) {
            continue;
        }
        struct timespec t;
        memcpy(&t, CMSG_DATA(c), sizeof t);
        int64_t wall = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        if (llabs(wall - s->wall_checked_ns) > (long long) CLOCK_CHECK_NSEC) {
            s->wall_to_mono_ns = measure_wall_to_mono();
            s->wall_checked_ns = wall;
        }
        return wall + s->wall_to_mono_ns;
    }
    return clock_nsec(); /* Kernels always tell; if not, this is at worst too late. */
}

static void count(struct sink *s, const uint8_t *head, size_t size, uint64_t arrival_ns)
{
    struct flowprobe p;

    if (flowprobe_read(head, size, &p)) {
        return; /* Has the magic number at the place of another type, or is cut off: not ours. */
    }
    unsigned n = p.stream <= FLOWPROBE_MAX_STREAM ? s->count_of[p.stream] : 0;
    if (!n) {
        s->foreign++;
        return;
    }
    struct flowcount *c = &s->counts[n - 1];
    bool was_complete = flowcount_is_complete(c);
    flowcount_add(c, &p, arrival_ns);
    s->n_complete += !was_complete && flowcount_is_complete(c);
}

static void complain(struct flowsock *k, int error)
{
    if (!k->failed) {
        fprintf(stderr, "%s: device %s: %s; going on with what comes\n", program_name, k->device, strerror(error));
        k->failed = true;
    }
}

/* Reads what socket K has, but not for ever.  Returns the number of packets. */
static size_t sock_drain(struct sink *s, struct flowsock *k)
{
    size_t sum = 0;

    for (int round = 0; round < DRAIN; round++) {
        for (int i = 0; i < BATCH; i++) {
            s->msgs[i].msg_hdr.msg_controllen = sizeof s->controls[i];
        }
        int n = recvmmsg(k->fd, s->msgs, BATCH, MSG_DONTWAIT, NULL);
        if (n < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                complain(k, errno); /* The device went down or away; reading has cleared the error. */
            }
            break;
        }
        for (int i = 0; i < n; i++) {
            count(s, s->heads[i], s->msgs[i].msg_len, arrival_of(s, &s->msgs[i].msg_hdr));
        }
        sum += n;
        if (n < BATCH) {
            break;
        }
    }
    return sum;
}

/* Returns how long to wait at NOW, or 0, having said why in 'ended', if that is all. */
static uint64_t time_left(struct sink *s, uint64_t now)
{
    uint64_t until = s->start_ns + s->o->duration_ns;
    const char *why = "duration";

    if (s->complete_ns) {
        until = MIN(until, s->complete_ns + s->o->linger_ns);
        why = "complete";
    } else if (s->arrived_ns && s->arrived_ns + s->o->idle_ns < until) {
        until = s->arrived_ns + s->o->idle_ns;
        why = "idle";
    }
    if (now >= until) {
        s->ended = why;
        return 0;
    }
    return until - now;
}

static void sink_run(struct sink *s, const sigset_t *mask)
{
    struct epoll_event events[64];
    uint64_t now = s->start_ns = clock_nsec();

    while (!flowopt_stop) {
        uint64_t left = time_left(s, now);
        if (!left) {
            return;
        }
        int timeout = MIN((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, 60000);
        int n = epoll_pwait(s->epoll, events, ARRAY_SIZE(events), timeout, mask);
        if (n < 0 && errno != EINTR) {
            fatal(errno, "cannot wait for packets");
        }
        size_t packets = 0;
        for (int i = 0; i < n; i++) {
            packets += sock_drain(s, events[i].data.ptr);
        }
        now = clock_nsec();
        if (packets) {
            s->arrived_ns = now;
        }
        if (s->n_complete == s->o->n_streams && !s->complete_ns) {
            s->complete_ns = now;
        }
    }
    s->ended = "signal";
}

/* --- Options ------------------------------------------------------------------------------------------------------ */

static NO_RETURN void print_help(void)
{
    printf("%s: counts the probe packets that flowgen sends\n"
           "usage: %s --device DEV[,DEV...] --stream ID[,ID...] --flows N [OPTION]...\n\n"
           "  --device DEV[,DEV...]   network devices to listen at\n"
           "  --stream ID[,ID...]     numbers of the streams, 0 to %u\n"
           "  --flows N               number of flows expected of each stream\n"
           "  --per-flow K            packets expected of each flow (default: 1)\n"
           "  --first FLOW            number of the first flow (default: 0)\n"
           "  --ethertype TYPE[,TYPE...]\n"
           "                          Ethernet types to listen for (default: 0x88b5); \"arp\"\n"
           "                          for ARP\n\n"
           "The end, after which the figures are printed:\n"
           "  --linger-ms M           when every expected packet has arrived and M ms have\n"
           "                          passed, in which duplicates may come (default: 100)\n"
           "  --idle-ms M             when, after the first, no packet came for M ms\n"
           "                          (default: 2000)\n"
           "  --duration S            after S seconds at the latest (default: 60)\n\n"
           "Other options:\n"
           "  --ready FILE            create FILE, with the process id in it, when listening,\n"
           "                          and remove it at the end; it must not be there before\n"
           "  --json                  print JSON\n"
           "  -h, --help              display this help message\n\n"
           "Prints one line of key=value pairs for each stream.  Exit status: 0 if the figures\n"
           "are right, whatever they say; 3 if this program itself could not keep up, so that\n"
           "'lost' is not the network's alone; 1 if it could not begin.\n",
           program_name, program_name, FLOWPROBE_MAX_STREAM);
    exit(EXIT_SUCCESS);
}

static const struct option long_options[] = {
    { "device", required_argument, NULL, 'D' },
    { "stream", required_argument, NULL, 's' },
    { "flows", required_argument, NULL, 'n' },
    { "per-flow", required_argument, NULL, 'k' },
    { "first", required_argument, NULL, 'f' },
    { "ethertype", required_argument, NULL, 'e' },
    { "linger-ms", required_argument, NULL, 'l' },
    { "idle-ms", required_argument, NULL, 'i' },
    { "duration", required_argument, NULL, 'd' },
    { "ready", required_argument, NULL, 'r' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static void take(struct options *o, int c, const char *name)
{
    switch (c) {
    case 'D':
        flowopt_devices_destroy(o->devices, o->n_devices);
        o->devices = flowopt_devices(name, optarg, &o->n_devices);
        break;
    case 's':
        free(o->streams);
        o->streams = flowopt_numbers(name, optarg, 0, FLOWPROBE_MAX_STREAM, &o->n_streams);
        break;
    case 'n':
        o->n_flows = flowopt_number(name, optarg, 1, FLOWPROBE_MAX_FLOW + 1);
        break;
    case 'k':
        o->per_flow = flowopt_number(name, optarg, 1, UINT16_MAX);
        break;
    case 'f':
        o->first = flowopt_number(name, optarg, 0, FLOWPROBE_MAX_FLOW);
        break;
    case 'e':
        free(o->ethertypes);
        o->ethertypes = flowopt_ethertypes(name, optarg, &o->n_ethertypes);
        break;
    case 'l':
        o->linger_ns = flowopt_number(name, optarg, 0, 86400000) * NSEC_PER_MSEC;
        break;
    case 'i':
        o->idle_ns = flowopt_number(name, optarg, 1, 86400000) * NSEC_PER_MSEC;
        break;
    case 'd':
        o->duration_ns = flowopt_number(name, optarg, 1, 86400) * 1000 * NSEC_PER_MSEC;
        break;
    case 'r':
        o->ready = optarg;
        break;
    default: /* Characters: not an enum of ours. */
        break;
    }
}

static void check_options(struct options *o)
{
    if (!o->devices || !o->streams || !o->n_flows) {
        fatal(0, "--%s is missing; use --help for usage", !o->devices ? "device" : !o->streams ? "stream" : "flows");
    }
    if ((uint64_t) o->first + o->n_flows > FLOWPROBE_MAX_FLOW + 1) {
        fatal(0, "--first %u --flows %u: the last flow must not be above %u", o->first, o->n_flows, FLOWPROBE_MAX_FLOW);
    }
    if ((uint64_t) o->n_flows * o->per_flow > FLOWCOUNT_MAX_PACKETS) {
        fatal(0, "--flows %u --per-flow %u: at most %llu packets of a stream can be counted", o->n_flows, o->per_flow,
              FLOWCOUNT_MAX_PACKETS);
    }
    if (!o->ethertypes) {
        o->ethertypes = xmemdup(&(uint16_t){ FLOWPROBE_ETHERTYPE }, sizeof *o->ethertypes);
        o->n_ethertypes = 1;
    }
}

static void parse_options(int argc, char *argv[], struct options *o)
{
    int index = 0;

    *o = (struct options){
        .per_flow = 1,
        .linger_ns = 100 * NSEC_PER_MSEC,
        .idle_ns = 2000 * NSEC_PER_MSEC,
        .duration_ns = 60000 * NSEC_PER_MSEC,
    };
    for (int c; (c = getopt_long(argc, argv, "h", long_options, &index)) >= 0;) {
        if (c == 'h') {
            print_help();
        } else if (c == '?') {
            exit(EXIT_FAILURE); /* getopt_long() has said what is wrong. */
        }
        o->json = o->json || c == 'j';
        take(o, c, long_options[index].name);
    }
    if (optind < argc) {
        fatal(0, "%s: no argument is taken here; use --help for usage", argv[optind]);
    }
    check_options(o);
}

/* --- The whole ---------------------------------------------------------------------------------------------------- */

static void sink_open(struct sink *s, const struct options *o)
{
    struct rlimit limit;

    s->o = o;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit); /* If it cannot be had, the socket that is too many is told. */
    }
    s->counts = xcalloc(o->n_streams, sizeof *s->counts);
    for (size_t i = 0; i < o->n_streams; i++) {
        flowcount_init(&s->counts[i], o->streams[i], o->first, o->n_flows, o->per_flow);
        s->count_of[o->streams[i]] = i + 1;
    }
    for (int i = 0; i < BATCH; i++) {
        s->iovs[i] = (struct iovec){ .iov_base = s->heads[i], .iov_len = sizeof s->heads[i] };
        s->msgs[i].msg_hdr = (struct msghdr){
            .msg_iov = &s->iovs[i],
            .msg_iovlen = 1,
            .msg_control = &s->controls[i],
        };
    }
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0) {
        fatal(errno, "cannot create an epoll descriptor");
    }
    s->n_socks = o->n_devices * o->n_ethertypes;
    s->socks = xcalloc(s->n_socks, sizeof *s->socks);
    for (size_t i = 0; i < s->n_socks; i++) {
        struct flowsock *k = &s->socks[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = k };
        flowsock_open(k, &o->devices[i / o->n_ethertypes], o->ethertypes[i % o->n_ethertypes], o->streams,
                      o->n_streams);
        if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, k->fd, &event)) {
            fatal(errno, "device %s: cannot wait for packets", k->device);
        }
    }
}

static void sink_close(struct sink *s)
{
    for (size_t i = 0; i < s->n_socks; i++) {
        flowsock_close(&s->socks[i]);
    }
    close(s->epoll);
    for (size_t i = 0; i < s->o->n_streams; i++) {
        flowcount_uninit(&s->counts[i]);
    }
    free(s->socks);
    free(s->counts);
    free(s);
}

/* Says that packets may come.  A file of an earlier run would let who waits for this one begin too early: it is
 * refused, not replaced, because it may have been seen already. */
static void create_ready(const char *file)
{
    FILE *f = fopen(file, "wxe");

    if (!f) {
        fatal(errno, "--ready %s: must be a file that does not exist and can be created", file);
    }
    fprintf(f, "%ld\n", (long) getpid());
    if (fclose(f)) {
        fatal(errno, "--ready %s: cannot write to it", file);
    }
}

static void remove_ready(const char *file)
{
    if (unlink(file) && errno != ENOENT) {
        fatal(errno, "--ready %s: cannot remove it", file);
    }
}

static void report_latency(struct flowreport *r, const char *name, const struct latency *l)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p999", 0.999 }, { "max", 1 } };
    char key[32];

    snprintf(key, sizeof key, "%s_min_us", name);
    flowreport_real(r, key, (double) l->min / 1e3, 1);
    for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
        snprintf(key, sizeof key, "%s_%s_us", name, quantiles[i].name);
        flowreport_real(r, key, (double) latency_quantile(l, quantiles[i].q) / 1e3, 1);
    }
}

static uint64_t count_dropped(const struct sink *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n_socks; i++) {
        sum += flowsock_dropped(&s->socks[i]);
    }
    return sum;
}

static void report(const struct sink *s, uint64_t dropped, uint64_t backlog_dropped)
{
    struct flowreport r;

    flowreport_begin(&r, s->o->json);
    for (const struct flowcount *c = s->counts; c < s->counts + s->o->n_streams; c++) {
        flowreport_next(&r);
        flowreport_count(&r, "stream", c->stream);
        flowreport_count(&r, "expected", flowcount_expected(c));
        flowreport_count(&r, "received", c->received);
        flowreport_count(&r, "lost", flowcount_expected(c) - c->received);
        flowreport_count(&r, "duplicates", c->duplicates);
        flowreport_count(&r, "reordered", c->reordered);
        flowreport_count(&r, "unexpected", c->unexpected);
        flowreport_count(&r, "flows", c->n_flows);
        flowreport_count(&r, "flows_seen", c->flows_seen);
        flowreport_count(&r, "flows_complete", c->flows_complete);
        flowreport_count(&r, "flows_reordered", c->flows_reordered);
        flowreport_count(&r, "flows_in_order", c->flows_in_order);
        report_latency(&r, "setup", &c->setup);
        report_latency(&r, "all", &c->all);
        flowreport_real(&r, "rate", flowcount_rate(c), 1);
        flowreport_real(&r, "span_ms", (double) (c->last_ns - c->first_ns) / 1e6, 3);
        flowreport_count(&r, "foreign", s->foreign);
        flowreport_count(&r, "sink_dropped", dropped);
        flowreport_count(&r, "backlog_dropped", backlog_dropped);
        flowreport_word(&r, "ended", s->ended);
    }
    flowreport_end(&r);
}

int main(int argc, char *argv[])
{
    struct options o;
    struct sink *s = xzalloc(sizeof *s);
    sigset_t mask;

    set_program_name(argv[0]);
    parse_options(argc, argv, &o);
    flowopt_catch_signals(&mask);
    uint64_t backlog_dropped = flowsock_backlog_dropped();
    sink_open(s, &o);
    if (o.ready) {
        create_ready(o.ready);
    }

    sink_run(s, &mask);

    if (o.ready) {
        remove_ready(o.ready);
    }
    uint64_t dropped = count_dropped(s);
    backlog_dropped = flowsock_backlog_dropped() - backlog_dropped;
    report(s, dropped, backlog_dropped);
    if (dropped) {
        fprintf(stderr,
                "%s: the sockets' receive buffers had no room for %llu packets: what is lost is not the network's "
                "loss alone\n",
                program_name, (unsigned long long) dropped);
    }
    sink_close(s);
    free(o.ethertypes);
    free(o.streams);
    flowopt_devices_destroy(o.devices, o.n_devices);
    return dropped ? EXIT_DROPPED : EXIT_SUCCESS;
}
