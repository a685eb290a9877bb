/* Channels and the buffers that they are drained into.
 *
 * A channel is one netlink socket on which nothing but upcalls arrives.  It is read by one handler at a time, its
 * owner, so receiving takes no lock.  Who owns it is the dispatch's business (dispatch.h).
 *
 * A `struct rxbuf` belongs to a handler: N_RX slots, each large enough for the largest upcall.  The slots are
 * address space, not memory: the kernel writes a message's bytes only, so of a slot that never held a large packet
 * one page is ever touched, and a 64 KiB upcall is no special case. */
#ifndef DPIF_CHANNEL_H
#define DPIF_CHANNEL_H 1

#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/base/types.h"

struct dpif;

/* Messages a receive.  A receive that is not full needs no second one to know that the queue is empty, so as many as a batch serves. */
#define N_RX 128
/* The largest upcall: a 64 KiB packet, its key, and what the kernel adds. */
#define RX_SLOT_SIZE (68 * 1024)

struct channel {
    struct dpif *dpif;
    int fd;
    uint32_t pid;
    odp_port_t port;    /* ODPP_NONE: not of one port. */
    unsigned int owner;  /* Handler that is to read it: main's view, which runs ahead of 'reader'. */
    unsigned int reader; /* Handler that does read it.  Atomic: stored with release by the reader that hands the
                          * channel over, loaded with acquire by the one that takes it. */
    uint64_t n_drops;    /* As of the last channel_drops(). */
};

/* Opens a channel of DPIF with a receive buffer of RCVBUF bytes.  Returns 0 or -errno. */
int channel_open(struct dpif *dpif, odp_port_t port, size_t rcvbuf, struct channel **ret_channel);
void channel_close(struct channel *ch); /* Accepts NULL. */
/* Changes the length of CH's queue, while it is read or not; see dpif_channel_set_rcvbuf().  A failure is logged: it
 * keeps the length that it had. */
void channel_set_rcvbuf(struct channel *ch, size_t rcvbuf);
/* Upcalls that the kernel dropped on CH for want of room, since it was opened.  Exact, as long as it is asked before
 * 2^32 more have been dropped: the kernel counts in 32 bits, 'n_drops' in 64.  One thread at a time: see
 * dispatch-loss.c. */
uint64_t channel_drops(struct channel *ch);

struct rxbuf {
    char *slots; /* N_RX * RX_SLOT_SIZE. */
    unsigned int n;
    struct iovec iov[N_RX];
    struct mmsghdr msgs[N_RX];
};

int rxbuf_init(struct rxbuf *rx); /* 0 or -ENOMEM. */
void rxbuf_uninit(struct rxbuf *rx);
static inline bool rxbuf_is_full(const struct rxbuf *rx) { return rx->n == N_RX; }
/* The I-th message. */
static inline const void *rxbuf_msg(const struct rxbuf *rx, unsigned int i, size_t *ret_len)
{
    *ret_len = rx->msgs[i].msg_len;
    return rx->iov[i].iov_base;
}

/* Receives without blocking what CH holds, as far as RX has room, in one system call.  Returns how many messages were
 * added; 0: there were none.  Never an error: what a socket can fail with is counted and means "none". */
unsigned int channel_recv(struct channel *ch, struct rxbuf *rx);

#endif
