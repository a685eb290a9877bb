/* See channel.h. */
#include <config.h>

#include "lib/dpif/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"

LOG_MODULE(channel);

COUNTER_DEFINE(channel_recv);
COUNTER_DEFINE(channel_recv_empty);
COUNTER_DEFINE(channel_truncated);

int channel_open(struct dpif *dpif, odp_port_t port, size_t rcvbuf, struct channel **ret_channel)
{
    int fd;
    uint32_t pid;
    int error = dpif_channel_open(dpif, rcvbuf, &fd, &pid);
    if (error) {
        return error;
    }
    struct channel *ch = xzalloc(sizeof *ch);
    ch->dpif = dpif;
    ch->fd = fd;
    ch->pid = pid;
    ch->port = port;
    *ret_channel = ch;
    return 0;
}

void channel_close(struct channel *ch)
{
    if (ch) {
        dpif_channel_close(ch->dpif, ch->fd, ch->pid);
        free(ch);
    }
}

void channel_set_rcvbuf(struct channel *ch, size_t rcvbuf)
{
    int error = dpif_channel_set_rcvbuf(ch->dpif, ch->fd, rcvbuf);
    if (error) {
        log_warn_rl(1, "cannot make a receive queue %zu bytes long (%s)", rcvbuf, strerror(-error));
    }
}

uint64_t channel_drops(struct channel *ch)
{
    ch->n_drops += (uint32_t) (dpif_channel_drops(ch->dpif, ch->fd) - ch->n_drops);
    return ch->n_drops;
}

int rxbuf_init(struct rxbuf *rx)
{
    void *p = mmap(NULL, (size_t) N_RX * RX_SLOT_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return -ENOMEM;
    }
    memset(rx, 0, sizeof *rx);
    rx->slots = p;
    for (unsigned int i = 0; i < N_RX; i++) {
        rx->iov[i] = (struct iovec) { rx->slots + (size_t) i * RX_SLOT_SIZE, RX_SLOT_SIZE };
        rx->msgs[i].msg_hdr.msg_iov = &rx->iov[i];
        rx->msgs[i].msg_hdr.msg_iovlen = 1;
    }
    return 0;
}

void rxbuf_uninit(struct rxbuf *rx)
{
    if (rx->slots) {
        munmap(rx->slots, (size_t) N_RX * RX_SLOT_SIZE);
        rx->slots = NULL;
    }
}

unsigned int channel_recv(struct channel *ch, struct rxbuf *rx)
{
    int n;
    do {
        n = recvmmsg(ch->fd, &rx->msgs[rx->n], N_RX - rx->n, MSG_DONTWAIT, NULL);
    } while (n < 0 && errno == EINTR);

    COUNTER_INC(channel_recv);
    if (n <= 0) {
        /* ENOBUFS cannot be (NETLINK_NO_ENOBUFS); whatever else there is leaves nothing to read now, and would come
         * back at once from the next wait if it were permanent: say so. */
        COUNTER_INC(channel_recv_empty);
        if (n < 0 && errno != EAGAIN) {
            log_warn_rl(6, "receiving upcalls failed: %s", strerror(errno));
        }
        return 0;
    }

    /* A message larger than a slot cannot be, since the kernel refuses packets above 64 KiB; if one is, it is
     * dropped here, counted, and the rest moves up. */
    unsigned int kept = rx->n;
    for (unsigned int i = rx->n; i < rx->n + n; i++) {
        if (unlikely(rx->msgs[i].msg_hdr.msg_flags & MSG_TRUNC)) {
            COUNTER_INC(channel_truncated);
            continue;
        }
        if (unlikely(kept != i)) {
            struct iovec iov = rx->iov[kept];
            rx->iov[kept] = rx->iov[i];
            rx->iov[i] = iov;
            rx->msgs[kept].msg_len = rx->msgs[i].msg_len;
        }
        kept++;
    }
    n = kept - rx->n;
    rx->n = kept;
    return n;
}
