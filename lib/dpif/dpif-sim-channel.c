/* Channels of the simulated datapath: how upcalls reach their readers.
 *
 * A channel is a pair of sequenced-packet sockets.  The reader has one end and uses it as it uses a netlink socket
 * (epoll, recvmmsg); it does not tell us what it reads.  How full its queue is we find out when it matters: the sim
 * keeps the lengths of what it sent, in order, and the socket says how many bytes are unread, so what was read is the
 * head of the list.  That is exact whichever thread reads, and costs a system call only when the queue might be full.
 *
 * Owners: the reader's descriptor is the caller's until dpif_channel_close(), which closes both ends.  Everything
 * else is guarded by sim_lock.  Sends are made with it held, which fixes the order of upcalls, and never block. */
#include <config.h>

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"
#include "lib/dpif/dpif-upcall.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-key.h"

#define SIM_UPCALL_MAX (68 * 1024)

/* The socket must take any one message whatever 'rcvbuf' is. */
#define SIM_SNDBUF_MIN (256 * 1024)

struct sim_channel {
    struct sim_node by_pid, by_fd;
    uint32_t pid;
    int fd; /* The reader's end. */
    int tx; /* Ours. */
    size_t rcvbuf;
    uint64_t n_drops;

    /* Lengths of the messages that were unread when we last looked: a ring. */
    uint32_t *lens;
    size_t lens_size, head, n;
    size_t n_bytes; /* Sum of 'lens'. */
    size_t charge;  /* Sum of their charges. */
};

static struct sim_map channels_by_pid GUARDED_BY(sim_lock);
static struct sim_map channels_by_fd GUARDED_BY(sim_lock);
static uint32_t last_pid GUARDED_BY(sim_lock) = 0x51000000;

/* What the kernel charges to a receive buffer for a message of LEN bytes: struct sk_buff, and the heap block that
 * holds the data and the 320 bytes of struct skb_shared_info behind it.  The block is never below 1,024 bytes, since
 * the kernel makes an upcall's buffer large enough for the largest key. */
size_t sim_charge(size_t len)
{
    size_t block = 1024;

    while (block < len + 320) {
        block *= 2;
    }
    return 256 + block;
}

static struct sim_channel *sim_channel_by_pid(uint32_t pid) REQUIRES(sim_lock)
{
    for (struct sim_node *n = sim_map_first(&channels_by_pid, hash_u64(pid, 0)); n; n = sim_map_next(n)) {
        struct sim_channel *ch = CONTAINER_OF(n, struct sim_channel, by_pid);
        if (ch->pid == pid) {
            return ch;
        }
    }
    return NULL;
}

static struct sim_channel *sim_channel_by_fd(int fd) REQUIRES(sim_lock)
{
    for (struct sim_node *n = sim_map_first(&channels_by_fd, hash_u64(fd, 0)); n; n = sim_map_next(n)) {
        struct sim_channel *ch = CONTAINER_OF(n, struct sim_channel, by_fd);
        if (ch->fd == fd) {
            return ch;
        }
    }
    return NULL;
}

/* Takes what the reader has read off CH's account. */
static void sim_channel_reconcile(struct sim_channel *ch) REQUIRES(sim_lock)
{
    int unread = 0;

    if (ioctl(ch->fd, SIOCINQ, &unread) < 0) {
        return; /* The descriptor is not ours to judge: its owner may be closing it. */
    }
    while (ch->n && ch->n_bytes > (size_t) unread) {
        uint32_t len = ch->lens[ch->head];
        ch->head = (ch->head + 1) & (ch->lens_size - 1);
        ch->n--;
        ch->n_bytes -= len;
        ch->charge -= sim_charge(len);
    }
}

static void sim_channel_note_sent(struct sim_channel *ch, uint32_t len) REQUIRES(sim_lock)
{
    if (ch->n == ch->lens_size) {
        size_t size = ch->lens_size ? ch->lens_size * 2 : 64;
        uint32_t *lens = xcalloc(size, sizeof *lens);
        for (size_t i = 0; i < ch->n; i++) {
            lens[i] = ch->lens[(ch->head + i) & (ch->lens_size - 1)];
        }
        free(ch->lens);
        ch->lens = lens;
        ch->lens_size = size;
        ch->head = 0;
    }
    ch->lens[(ch->head + ch->n++) & (ch->lens_size - 1)] = len;
    ch->n_bytes += len;
    ch->charge += sim_charge(len);
}

static bool sim_channel_has_room(struct sim_channel *ch, size_t len) REQUIRES(sim_lock)
{
    size_t charge = sim_charge(len);

    if (ch->n && ch->charge + charge > ch->rcvbuf) {
        sim_channel_reconcile(ch);
    }
    return !ch->n || ch->charge + charge <= ch->rcvbuf;
}

/* Writes U, an upcall of DP, into the SIZE bytes at BUF.  Returns its length, or -EMSGSIZE. */
static int sim_upcall_build(const struct sim_dp *dp, const struct sim_upcall *u, void *buf, size_t size)
{
    uint64_t key_mem[(NLMSG_HDRLEN + ODP_KEY_MAX_SIZE) / sizeof(uint64_t)];
    struct attrbuf key;

    attrbuf_init(&key, key_mem, sizeof key_mem);
    odp_key_put(&key, u->key);
    if (key.overflow) {
        return -EMSGSIZE;
    }
    const struct dpif_upcall uc = {
        .type = u->type,
        .packet = u->packet,
        .packet_len = u->packet_len,
        .key = attrbuf_data(&key),
        .key_len = attrbuf_len(&key),
        .userdata = u->userdata,
        .hash = u->hash,
        .has_hash = true,
        .mru = u->mru,
    };
    return dpif_upcall_msg_build(SIM_FAMILY, dp->ifindex, &uc, buf, size);
}

int sim_dpif_upcall_parse(const struct dpif *dpif, const void *msg, size_t len, struct dpif_upcall *ret)
{
    /* The number is immutable: no lock. */
    return dpif_upcall_msg_parse(SIM_FAMILY, sim_dp_of(dpif)->ifindex, msg, len, ret);
}

int sim_channel_send(struct sim_dp *dp, uint32_t pid, const struct sim_upcall *u)
{
    static uint64_t buf[SIM_UPCALL_MAX / sizeof(uint64_t)]; /* Under sim_lock. */
    struct sim_channel *ch;
    int len;

    if (!pid) {
        return -ENOTCONN;
    }
    ch = sim_channel_by_pid(pid);
    if (!ch) {
        return -ECONNREFUSED;
    }
    len = sim_upcall_build(dp, u, buf, sizeof buf);
    if (len < 0) {
        return len;
    }
    if (sim_fault_take(dp, SIM_FAULT_CHANNEL_FULL) || !sim_channel_has_room(ch, len) ||
        send(ch->tx, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        ch->n_drops++;
        return -EAGAIN;
    }
    sim_channel_note_sent(ch, len);
    return 0;
}

/* The limit that counts is 'rcvbuf', in the accounts above; that of the socket TX must be no tighter. */
static void set_sndbuf(int tx, size_t rcvbuf)
{
    int sndbuf = MIN(MAX(rcvbuf, (size_t) SIM_SNDBUF_MIN), (size_t) INT32_MAX / 4);
    if (setsockopt(tx, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof sndbuf) < 0) {
        setsockopt(tx, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof sndbuf);
    }
}

int sim_dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0) {
        return -errno;
    }
    set_sndbuf(fds[1], rcvbuf);
    struct sim_channel *ch = xzalloc(sizeof *ch);
    ch->fd = fds[0];
    ch->tx = fds[1];
    ch->rcvbuf = rcvbuf;

    lock_acquire(&sim_lock);
    ch->pid = ++last_pid;
    sim_map_insert(&channels_by_pid, &ch->by_pid, hash_u64(ch->pid, 0));
    sim_map_insert(&channels_by_fd, &ch->by_fd, hash_u64(ch->fd, 0));
    *ret_pid = ch->pid;
    lock_release(&sim_lock);
    *ret_fd = ch->fd;
    return 0;
}

void sim_dpif_channel_close(struct dpif *dpif, int fd, uint32_t pid)
{
    lock_acquire(&sim_lock);
    struct sim_channel *ch = sim_channel_by_pid(pid);
    if (ch) {
        sim_map_remove(&channels_by_pid, &ch->by_pid);
        sim_map_remove(&channels_by_fd, &ch->by_fd);
        if (!channels_by_pid.n) {
            sim_map_uninit(&channels_by_pid);
            sim_map_uninit(&channels_by_fd);
        }
    }
    lock_release(&sim_lock);
    if (ch) {
        close(ch->fd);
        close(ch->tx);
        free(ch->lens);
        free(ch);
    }
}

int sim_dpif_channel_set_rcvbuf(struct dpif *dpif, int fd, size_t rcvbuf)
{
    int error = -EBADF;

    lock_acquire(&sim_lock);
    struct sim_channel *ch = sim_channel_by_fd(fd);
    if (ch) {
        ch->rcvbuf = rcvbuf;
        set_sndbuf(ch->tx, rcvbuf);
        error = 0;
    }
    lock_release(&sim_lock);
    return error;
}

uint64_t sim_dpif_channel_drops(struct dpif *dpif, int fd)
{
    lock_acquire(&sim_lock);
    struct sim_channel *ch = sim_channel_by_fd(fd);
    uint64_t n_drops = ch ? ch->n_drops : 0;
    lock_release(&sim_lock);
    return n_drops;
}

size_t sim_n_kernel_fds(void)
{
    lock_acquire(&sim_lock);
    size_t n = channels_by_pid.n;
    lock_release(&sim_lock);
    return n;
}

size_t sim_channel_depth(struct dpif *dpif, uint32_t pid)
{
    size_t n = 0;

    lock_acquire(&sim_lock);
    struct sim_channel *ch = sim_channel_by_pid(pid);
    if (ch) {
        sim_channel_reconcile(ch);
        n = ch->n;
    }
    lock_release(&sim_lock);
    return n;
}
