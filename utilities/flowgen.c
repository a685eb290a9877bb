/* flowgen: new flows at a chosen pace.
 *
 * Sends probes (flowprobe.h), K a flow, through a packet socket: every flow has a source address that no switch has
 * seen, so its first packet is a miss.  The packets of a flow go back to back, in a turn of its own; or (--spread) the
 * first of all flows, then the second of all: flows that live.  What matters is that the figures can be believed:
 *
 *   - Turn i of a paced run is due at start + i / rate, whatever became of those before it.  What is due goes out
 *     in as few sendmmsg() as possible, at most --batch packets each; what goes out more than a millisecond after it
 *     was due is counted as late, so a machine that cannot keep the pace does not look like one that can.
 *   - The time of sending is read once for a sendmmsg(): a latency errs upward by the time that the packets in front of
 *     a packet take in the kernel, at most 'batch_max_us'.  With veth, that is the time in which the switch's kernel
 *     side handles them, for the call returns when the packets are on the other side.  --batch 1 takes a time for each
 *     packet, and the more system calls.
 *   - ENOBUFS says that a queue of the device is full: the packet is tried again, with a new time, and that is counted.
 *     There is no event to wait for, so it waits RETRY_NSEC.  Every other error is a packet that the kernel refused: it
 *     is counted and left out, the first of them is told, and the exit status is 1.
 *   - A veth device drops without an error when the receiving CPU's backlog is full: that shows in the device's
 *     statistics, which are compared ('dev_dropped'), and it makes the exit status 1, too.
 *
 * The socket's send buffer stays as small as the system makes it: packets in the backlog still count against it, and
 * this keeps a burst from running the backlog over.  One socket serves all devices; flow i goes through device i modulo
 * their number, so that one sent again takes the same way.
 *
 * Threads: one.  A signal ends the run as --duration does: the figures of what was sent are printed. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "utilities/flowopt.h"
#include "utilities/flowprobe.h"

#define MAX_BATCH  64
#define LATE_NSEC  1000000
#define RETRY_NSEC 50000
#define NSEC       UINT64_C(1000000000)

struct options {
    struct flow_device *devices;
    size_t n_devices;
    uint32_t stream, first, n_flows, per_flow, first_seq;
    unsigned batch;
    uint64_t rate; /* Turns a second; 0: as fast as can be. */
    bool burst, spread, json;
    size_t size; /* 0: the smallest. */
    struct eth_addr dst;
    uint16_t ethertype;
    uint64_t duration_ns;
    int cpu; /* Or -1. */
};

struct gen {
    const struct options *o;
    int fd;
    uint64_t start_ns, end_ns; /* When the first turn is due, and when to give up. */

    struct mmsghdr msgs[MAX_BATCH];
    struct iovec iovs[MAX_BATCH];
    struct sockaddr_ll addrs[MAX_BATCH];
    uint32_t flows[MAX_BATCH]; /* Of the packets in the batch, numbered from 0. */
    uint8_t *frames;

    uint64_t next; /* Packet to be sent, numbered from 0 over all flows. */
    uint64_t sent, refused, retries, late, late_max_ns, batch_max_ns, calls;
    uint64_t first_ns, last_ns, done_ns; /* First and last time of sending, and when the last call returned. */
    int error;                           /* Of the first packet refused... */
    const char *error_device;            /* ...and where. */
    bool out_of_time;
};

/* --- Sending ------------------------------------------------------------------------------------------------------ */

static uint8_t *frame_of(struct gen *g, unsigned i) { return g->frames + i * g->o->size; }

static void gen_init(struct gen *g, const struct options *o)
{
    *g = (struct gen){ .o = o, .frames = xmalloc(o->batch * o->size) };
    for (unsigned i = 0; i < o->batch; i++) {
        flowprobe_prepare(frame_of(g, i), o->size, o->dst, o->ethertype);
        g->iovs[i] = (struct iovec){ .iov_base = frame_of(g, i), .iov_len = o->size };
        g->addrs[i] = (struct sockaddr_ll){
            .sll_family = AF_PACKET,
            .sll_protocol = htons(o->ethertype),
            .sll_halen = ETH_ALEN,
        };
        g->msgs[i].msg_hdr = (struct msghdr){
            .msg_name = &g->addrs[i],
            .msg_namelen = sizeof g->addrs[i],
            .msg_iov = &g->iovs[i],
            .msg_iovlen = 1,
        };
    }
    /* Protocol 0: it receives nothing. */
    g->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (g->fd < 0) {
        fatal(errno, "cannot create a packet socket%s",
              errno == EPERM ? "; it takes root, or the capability CAP_NET_RAW" : "");
    }
}

static void refuse(struct gen *g, unsigned i, int error)
{
    if (!g->refused++) {
        g->error = error;
        g->error_device = g->o->devices[(g->o->first + g->flows[i]) % g->o->n_devices].name;
    }
}

/* Sends the first N packets of the batch.  Returns how many are dealt with, fewer if the time is over before. */
static unsigned send_batch(struct gen *g, unsigned n)
{
    static const struct timespec pause = { .tv_nsec = RETRY_NSEC };
    unsigned done = 0;

    while (done < n) {
        int taken = sendmmsg(g->fd, g->msgs + done, n - done, 0);
        g->calls++;
        if (taken > 0) {
            g->sent += taken;
            done += taken;
        } else if (errno == ENOBUFS || errno == EAGAIN || errno == EINTR) {
            if (errno != EINTR) {
                g->retries++;
                nanosleep(&pause, NULL);
            }
            uint64_t now = clock_nsec();
            if (flowopt_stop || now >= g->end_ns) {
                break;
            }
            for (unsigned i = done; i < n; i++) {
                flowprobe_stamp(frame_of(g, i), g->o->ethertype, now);
            }
        } else {
            refuse(g, done++, errno);
        }
    }
    return done;
}

/* Packets of one turn, which are due at the same time: all of a flow, or one. */
static uint32_t per_turn(const struct options *o) { return o->spread ? 1 : o->per_flow; }

static uint64_t due_ns(const struct gen *g, uint64_t turn)
{
    return g->o->rate ? g->start_ns + (turn * NSEC + g->o->rate - 1) / g->o->rate : g->start_ns;
}

/* Makes the next N packets, to be sent NOW. */
static void fill_batch(struct gen *g, unsigned n, uint64_t now)
{
    const struct options *o = g->o;

    for (unsigned i = 0; i < n; i++) {
        const uint64_t k = g->next + i;
        g->flows[i] = o->spread ? k % o->n_flows : k / o->per_flow;
        struct flowprobe p = {
            .stream = o->stream,
            .flow = o->first + g->flows[i],
            .seq = o->first_seq + (o->spread ? k / o->n_flows : k % o->per_flow),
            .sent_ns = now,
        };
        flowprobe_write(frame_of(g, i), o->ethertype, &p);
        g->addrs[i].sll_ifindex = o->devices[p.flow % o->n_devices].ifindex;
        if (o->rate && k % per_turn(o) == 0) {
            uint64_t due = due_ns(g, k / per_turn(o));
            uint64_t late = now > due ? now - due : 0;
            g->late += late > LATE_NSEC;
            g->late_max_ns = MAX(g->late_max_ns, late);
        }
    }
}

/* Waits until TURN is due, or the end.  Returns the time. */
static uint64_t wait_for(struct gen *g, uint64_t turn)
{
    uint64_t until = MIN(due_ns(g, turn), g->end_ns);
    struct timespec t = { .tv_sec = until / NSEC, .tv_nsec = until % NSEC };

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL); /* A signal is looked at by the caller. */
    return clock_nsec();
}

/* Returns how many of TOTAL packets are due at NOW. */
static uint64_t packets_due(const struct gen *g, uint64_t now, uint64_t total)
{
    if (!g->o->rate) {
        return total;
    }
    /* Through seconds and rest: the product of time and rate does not fit. */
    uint64_t elapsed = now - g->start_ns;
    uint64_t n = elapsed / NSEC * g->o->rate + elapsed % NSEC * g->o->rate / NSEC + 1;
    return MIN(n * per_turn(g->o), total);
}

static void gen_run(struct gen *g)
{
    const uint64_t total = (uint64_t) g->o->n_flows * g->o->per_flow;
    uint64_t now = clock_nsec();

    g->start_ns = g->first_ns = now;
    g->end_ns = now + g->o->duration_ns;
    while (g->next < total && !flowopt_stop) {
        if (now >= g->end_ns) {
            g->out_of_time = true;
            return;
        }
        uint64_t due = packets_due(g, now, total);
        if (due <= g->next) {
            now = wait_for(g, g->next / per_turn(g->o));
            continue;
        }
        unsigned n = MIN(due - g->next, g->o->batch);
        fill_batch(g, n, now);
        g->last_ns = now;
        g->next += send_batch(g, n);
        g->done_ns = clock_nsec();
        g->batch_max_ns = MAX(g->batch_max_ns, g->done_ns - now);
        now = g->done_ns;
    }
}

/* Returns what the devices' statistics say of dropped packets and errors on the way out. */
static uint64_t count_dropped(const struct options *o)
{
    struct ifaddrs *list;
    uint64_t sum = 0;

    if (getifaddrs(&list)) {
        fatal(errno, "cannot read the devices' statistics");
    }
    for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
        if (!a->ifa_addr || a->ifa_addr->sa_family != AF_PACKET || !a->ifa_data) {
            continue;
        }
        for (size_t i = 0; i < o->n_devices; i++) {
            if (!strcmp(o->devices[i].name, a->ifa_name)) {
                const struct rtnl_link_stats *s = a->ifa_data;
                sum += (uint64_t) s->tx_dropped + s->tx_errors;
            }
        }
    }
    freeifaddrs(list);
    return sum;
}

/* --- Options ------------------------------------------------------------------------------------------------------ */

static NO_RETURN void print_help(void)
{
    printf("%s: sends probe packets of new flows, to be counted by flowsink\n"
           "usage: %s --device DEV[,DEV...] --stream ID --flows N [OPTION]...\n\n"
           "  --device DEV[,DEV...]   network devices to send through, flow by flow in turn\n"
           "  --stream ID             number of the stream, 0 to %u; it is in the packets and\n"
           "                          in their source addresses 02:SS:SS:FF:FF:FF\n"
           "  --flows N               number of flows, up to %u\n"
           "  --per-flow K            packets a flow, back to back (default: 1)\n"
           "  --spread                not back to back: the first packet of all flows, then the\n"
           "                          second of all, and so on\n"
           "  --first FLOW            number of the first flow (default: 0)\n"
           "  --first-seq J           number of the first packet of each flow (default: 0)\n\n"
           "Pace:\n"
           "  --burst                 as fast as possible (default)\n"
           "  --rate FLOWS_PER_S      one flow each 1/FLOWS_PER_S seconds; with --spread: one\n"
           "                          packet\n"
           "  --duration S            end after S seconds at the latest (default: 60)\n"
           "  --batch N               at most N packets a system call, 1 to %d, which share one\n"
           "                          time of sending (default: %d)\n"
           "  --cpu N                 run on CPU N only\n\n"
           "Packets:\n"
           "  --size BYTES            size of a frame without checksum (default: the least,\n"
           "                          60, or 66 for ARP)\n"
           "  --dst MAC               destination address (default: ff:ff:ff:ff:ff:ff)\n"
           "  --ethertype TYPE        Ethernet type (default: 0x88b5), or \"arp\" for ARP\n"
           "                          requests\n\n"
           "Other options:\n"
           "  --json                  print JSON\n"
           "  -h, --help              display this help message\n\n"
           "Prints one line of key=value pairs.  Exit status: 0 if the kernel took every\n"
           "packet that was sent, 1 if not or if it could not begin.\n",
           program_name, program_name, FLOWPROBE_MAX_STREAM, FLOWPROBE_MAX_FLOW + 1, MAX_BATCH, MAX_BATCH);
    exit(EXIT_SUCCESS);
}

static const struct option long_options[] = {
    { "device", required_argument, NULL, 'D' },
    { "stream", required_argument, NULL, 's' },
    { "flows", required_argument, NULL, 'n' },
    { "per-flow", required_argument, NULL, 'k' },
    { "first", required_argument, NULL, 'f' },
    { "spread", no_argument, NULL, 'S' },
    { "burst", no_argument, NULL, 'b' },
    { "rate", required_argument, NULL, 'r' },
    { "duration", required_argument, NULL, 'd' },
    { "cpu", required_argument, NULL, 'c' },
    { "size", required_argument, NULL, 'z' },
    { "dst", required_argument, NULL, 'a' },
    { "ethertype", required_argument, NULL, 'e' },
    { "batch", required_argument, NULL, 'B' },
    { "first-seq", required_argument, NULL, 'F' },
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
        o->stream = flowopt_number(name, optarg, 0, FLOWPROBE_MAX_STREAM);
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
    case 'F':
        o->first_seq = flowopt_number(name, optarg, 0, UINT16_MAX);
        break;
    case 'B':
        o->batch = flowopt_number(name, optarg, 1, MAX_BATCH);
        break;
    case 'r':
        o->rate = flowopt_number(name, optarg, 1, 100000000);
        break;
    case 'd':
        o->duration_ns = flowopt_number(name, optarg, 1, 86400) * NSEC;
        break;
    case 'c':
        o->cpu = flowopt_number(name, optarg, 0, 1 << 20);
        break;
    case 'z':
        o->size = flowopt_number(name, optarg, 1, UINT16_MAX);
        break;
    case 'a':
        o->dst = flowopt_mac(name, optarg);
        break;
    case 'e':
        o->ethertype = flowopt_ethertype(name, optarg);
        break;
    default: /* Characters: not an enum of ours. */
        break;
    }
}

static void check_options(struct options *o, bool has_stream)
{
    if (!o->devices || !has_stream || !o->n_flows) {
        fatal(0, "--%s is missing; use --help for usage", !o->devices ? "device" : !has_stream ? "stream" : "flows");
    }
    if (o->burst && o->rate) {
        fatal(0, "--burst and --rate exclude each other");
    }
    if ((uint64_t) o->first + o->n_flows > FLOWPROBE_MAX_FLOW + 1) {
        fatal(0, "--first %u --flows %u: the last flow must not be above %u", o->first, o->n_flows, FLOWPROBE_MAX_FLOW);
    }
    size_t least = flowprobe_min_size(o->ethertype);
    o->size = o->size ? o->size : least;
    if (o->size < least) {
        fatal(0, "--size %zu: a probe of this type takes at least %zu bytes", o->size, least);
    }
    for (size_t i = 0; i < o->n_devices; i++) {
        if (o->size > o->devices[i].mtu + ETH_HLEN) {
            fatal(0, "--size %zu: device %s takes frames up to %u bytes (its MTU is %u)", o->size, o->devices[i].name,
                  o->devices[i].mtu + ETH_HLEN, o->devices[i].mtu);
        }
    }
}

static void parse_options(int argc, char *argv[], struct options *o)
{
    bool has_stream = false;
    int index = 0;

    *o = (struct options){
        .per_flow = 1,
        .batch = MAX_BATCH,
        .dst = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
        .ethertype = FLOWPROBE_ETHERTYPE,
        .duration_ns = 60 * NSEC,
        .cpu = -1,
    };
    for (int c; (c = getopt_long(argc, argv, "h", long_options, &index)) >= 0;) {
        if (c == 'h') {
            print_help();
        } else if (c == '?') {
            exit(EXIT_FAILURE); /* getopt_long() has said what is wrong. */
        }
        has_stream = has_stream || c == 's';
        o->burst = o->burst || c == 'b';
        o->spread = o->spread || c == 'S';
        o->json = o->json || c == 'j';
        take(o, c, long_options[index].name);
    }
    if (optind < argc) {
        fatal(0, "%s: no argument is taken here; use --help for usage", argv[optind]);
    }
    check_options(o, has_stream);
}

static void pin(int cpu)
{
    size_t size = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);

    if (!set) {
        fatal(ENOMEM, "--cpu %d", cpu);
    }
    CPU_ZERO_S(size, set);
    CPU_SET_S(cpu, size, set);
    if (sched_setaffinity(0, size, set)) {
        fatal(errno, "--cpu %d: must be a CPU that is online and that this process may use", cpu);
    }
    CPU_FREE(set);
}

/* --- The whole ---------------------------------------------------------------------------------------------------- */

static void report(const struct gen *g, uint64_t dropped)
{
    const struct options *o = g->o;
    struct flowreport r;
    uint64_t turns = g->next / per_turn(o);
    uint64_t flows = MIN(turns, o->n_flows);
    /* N turns at a pace begin within N - 1 intervals; as fast as can be, the last one's time counts, too. */
    uint64_t elapsed = o->rate ? g->last_ns - g->first_ns : g->done_ns - g->first_ns;
    double n = o->rate ? (double) turns - 1 : (double) turns;

    flowreport_begin(&r, o->json);
    flowreport_next(&r);
    flowreport_count(&r, "stream", o->stream);
    flowreport_count(&r, "flows", flows);
    flowreport_count(&r, "sent", g->sent);
    flowreport_count(&r, "refused", g->refused);
    flowreport_count(&r, "dev_dropped", dropped);
    flowreport_count(&r, "retries", g->retries);
    flowreport_real(&r, "rate", g->done_ns && elapsed ? n * 1e9 / (double) elapsed : 0, 1);
    flowreport_count(&r, "rate_wanted", o->rate);
    flowreport_count(&r, "late", g->late);
    flowreport_real(&r, "late_max_us", (double) g->late_max_ns / 1e3, 1);
    flowreport_real(&r, "elapsed_ms", g->done_ns ? (double) (g->done_ns - g->first_ns) / 1e6 : 0, 3);
    flowreport_real(&r, "batch_max_us", (double) g->batch_max_ns / 1e3, 1);
    flowreport_count(&r, "calls", g->calls);
    flowreport_word(&r, "ended", flowopt_stop ? "signal" : g->out_of_time ? "duration" : "complete");
    flowreport_end(&r);
}

int main(int argc, char *argv[])
{
    struct options o;
    struct gen g;

    set_program_name(argv[0]);
    parse_options(argc, argv, &o);
    if (o.cpu >= 0) {
        pin(o.cpu);
    }
    gen_init(&g, &o);
    flowopt_catch_signals(NULL);

    uint64_t dropped = count_dropped(&o);
    gen_run(&g);
    dropped = count_dropped(&o) - dropped;
    report(&g, dropped);

    int status = EXIT_SUCCESS;
    if (g.refused) {
        fprintf(stderr, "%s: the kernel refused %llu packets, the first at device %s (%s)\n", program_name,
                (unsigned long long) g.refused, g.error_device, strerror(g.error));
        status = EXIT_FAILURE;
    }
    if (dropped) {
        fprintf(stderr,
                "%s: the devices dropped %llu packets on the way out (net.core.netdev_max_backlog too small?)\n",
                program_name, (unsigned long long) dropped);
        status = EXIT_FAILURE;
    }
    close(g.fd);
    free(g.frames);
    flowopt_devices_destroy(o.devices, o.n_devices);
    return status;
}
