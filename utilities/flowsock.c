/* Packet sockets for flowsink.
 *
 * A socket is bound to a device and an Ethernet type, so that the kernel hands it nothing else, and has a filter on the
 * magic number and (if there are at most MAX_FILTERED) the streams, so that nothing foreign fills its buffer: a flood
 * of another stream through the same device costs this one nothing.  recvmmsg() into small buffers was taken, not a
 * mapped ring: at 64 packets a call it keeps up with the generator, and its memory is taken only while packets wait,
 * which counts with a socket for each of a thousand devices.
 *
 * Threads: the one there is. */
#include <config.h>

#include "utilities/flowsock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/util.h"
#include "utilities/flowopt.h"
#include "utilities/flowprobe.h"

#define MAX_FILTERED   128
#define RECEIVE_BUFFER (64 << 20) /* A limit, which the kernel doubles: 170,000 small packets may wait. */

/* Lets pass what has the magic number at its place and is of one of the streams.  The Ethernet type is what the socket
 * is bound to, and is looked at here, too, because the filter is there before it is bound. */
static void set_filter(int fd, uint16_t ethertype, const uint32_t *streams, size_t n_streams)
{
    struct sock_filter code[MAX_FILTERED + 8];
    const size_t offset = flowprobe_offset(ethertype);
    const unsigned n = n_streams <= MAX_FILTERED ? n_streams : 0;
    unsigned i = 0;

    /* The two last instructions: "take it" and "drop it".  Jumps are counted from the next instruction. */
    code[i++] = (struct sock_filter) BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12);
    code[i++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ethertype, 0, n + 3 + !!n);
    code[i++] = (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
    code[i++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FLOWPROBE_MAGIC, 0, n + 1 + !!n);
    if (n) {
        code[i++] = (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset + 4);
    }
    for (unsigned j = 0; j < n; j++) {
        code[i++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, streams[j], n - 1 - j, j == n - 1);
    }
    code[i++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    code[i++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, 0);

    struct sock_fprog program = { .len = i, .filter = code };
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program)) {
        fatal(errno, "cannot filter by Ethernet type 0x%04x", ethertype);
    }
}

/* Opens K for the probes of N_STREAMS streams that come to D as ETHERTYPE.  Ends the program if that cannot be. */
void flowsock_open(struct flowsock *k, const struct flow_device *d, uint16_t ethertype, const uint32_t *streams,
                   size_t n_streams)
{
    int on = 1, size = RECEIVE_BUFFER;
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ethertype),
        .sll_ifindex = d->ifindex,
    };

    /* Protocol 0: nothing comes before everything is set. */
    *k = (struct flowsock){ .device = d->name };
    k->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (k->fd < 0) {
        fatal(errno, "device %s: cannot create a packet socket%s", d->name,
              errno == EPERM ? "; it takes root, or the capability CAP_NET_RAW" : "");
    }
    set_filter(k->fd, ethertype, streams, n_streams);
    if (setsockopt(k->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) &&
        setsockopt(k->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size)) {
        fatal(errno, "device %s: cannot set the receive buffer", d->name);
    }
    if (setsockopt(k->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on)) {
        fatal(errno, "device %s: cannot ask for times of arrival", d->name);
    }
    if (bind(k->fd, (struct sockaddr *) &address, sizeof address)) {
        fatal(errno, "device %s: cannot listen for Ethernet type 0x%04x", d->name, ethertype);
    }
}

void flowsock_close(struct flowsock *k) { close(k->fd); }

/* Returns how many packets K's buffer had no room for since this was last asked. */
uint64_t flowsock_dropped(const struct flowsock *k)
{
    struct tpacket_stats stats;
    socklen_t length = sizeof stats;

    if (getsockopt(k->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length)) {
        fatal(errno, "device %s: cannot read the socket's statistics", k->device);
    }
    return stats.tp_drops;
}

/* Returns how many packets the CPUs' backlogs had no room for since the system started: the second number, hexadecimal,
 * of each CPU's line. */
uint64_t flowsock_backlog_dropped(void)
{
    static const char file[] = "/proc/net/softnet_stat";
    FILE *f = fopen(file, "re");
    char line[512];
    uint64_t sum = 0;

    if (!f) {
        fatal(errno, "cannot open %s", file);
    }
    while (fgets(line, sizeof line, f)) {
        unsigned dropped;
        if (sscanf(line, "%*x %x", &dropped) == 1) {
            sum += dropped;
        }
    }
    fclose(f);
    return sum;
}
