/* Netlink sockets.
 *
 * Purpose: requests and their answers, dumps, and notifications, over one kind of socket.  Messages and attributes are
 * libmnl's.  The socket is opened here and not by libmnl, because a channel outlives its wrapper (nl_sock_detach())
 * and because libmnl's receive hides the length of what it truncates.
 *
 * Threads and owners: a socket, with its buffer and its last error, belongs to one thread at a time.
 *
 * How the kernel answers decides the shape: it runs a request inside sendmsg(), so when that returns the answer is
 * queued already and waiting for it is an exception; a dump is continued by whoever receives.  Only the kernel is
 * listened to: a datagram from another process is dropped unread. */
#include <config.h>

#include "lib/nl/nl.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/util.h"

#ifndef NETLINK_EXT_ACK
#define NETLINK_EXT_ACK 11
#endif

/* The largest datagram with an answer; a dump's are at most 32 KiB. */
#define RX_SIZE (64 * 1024)
/* An answer that has not come by then will not: the kernel has it ready when sendmsg() returns. */
#define ANSWER_TIMEOUT_MS 10000

struct nl_sock {
    int fd;
    uint32_t pid;
    uint32_t seq;     /* The last that was given out. */
    void *rx;         /* RX_SIZE, made at the first request. */
    char extack[256]; /* "": none. */

    uint32_t dump_seq;
    bool dump_done; /* The end has been received, or an error. */
    int dump_error; /* What to report after the last message. */
};

/* Sets a yes/no option of level SOL_NETLINK. */
static int set_option(int fd, int option)
{
    int one = 1;
    return setsockopt(fd, SOL_NETLINK, option, &one, sizeof one) ? -errno : 0;
}

/* Binds FD and finds out its port id. */
static int bind_any(int fd, uint32_t *ret_pid)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    socklen_t len = sizeof addr;
    if (bind(fd, (struct sockaddr *) &addr, sizeof addr) || getsockname(fd, (struct sockaddr *) &addr, &len)) {
        return -errno;
    }
    *ret_pid = addr.nl_pid;
    return 0;
}

/* See nl.h. */
int nl_fd_set_rcvbuf(int fd, size_t bytes)
{
    int value = MIN(bytes, (size_t) INT32_MAX);
    if (!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof value) ||
        !setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof value)) {
        return 0;
    }
    return -errno;
}

/* See nl.h.  Errors are those of socket() and bind(): -EMFILE, -EPROTONOSUPPORT, ... */
int nl_sock_open(int protocol, size_t rcvbuf, struct nl_sock **ret_sock)
{
    uint32_t pid = 0;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (fd < 0) {
        return -errno;
    }
    int error = rcvbuf ? nl_fd_set_rcvbuf(fd, rcvbuf) : 0;
    if (!error) {
        error = bind_any(fd, &pid);
    }
    if (error) {
        close(fd);
        return error;
    }
    /* Kernels from before 4.3 and 4.12 lack these, and answer with longer and with less telling messages. */
    set_option(fd, NETLINK_CAP_ACK);
    set_option(fd, NETLINK_EXT_ACK);

    struct nl_sock *sock = xzalloc(sizeof *sock);
    sock->fd = fd;
    sock->pid = pid;
    sock->dump_done = true;
    *ret_sock = sock;
    return 0;
}

/* Closes SOCK; accepts NULL. */
void nl_sock_close(struct nl_sock *sock)
{
    if (sock) {
        close(nl_sock_detach(sock));
    }
}

/* Frees SOCK and returns its descriptor, open. */
int nl_sock_detach(struct nl_sock *sock)
{
    int fd = sock->fd;
    free(sock->rx);
    free(sock);
    return fd;
}

/* The descriptor, to wait on. */
int nl_sock_fd(const struct nl_sock *sock) { return sock->fd; }

/* The port id. */
uint32_t nl_sock_pid(const struct nl_sock *sock) { return sock->pid; }

/* Reserves N sequence numbers that do not wrap around within, and returns the first. */
uint32_t nl_sock_next_seq(struct nl_sock *sock, uint32_t n)
{
    if (sock->seq > UINT32_MAX - n) {
        sock->seq = 0;
    }
    uint32_t first = sock->seq + 1;
    sock->seq += n;
    return first;
}

/* Joins multicast group GROUP. */
int nl_sock_join(struct nl_sock *sock, uint32_t group)
{
    return setsockopt(sock->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) ? -errno : 0;
}

/* Makes an overflow drop single messages, silently. */
int nl_sock_no_enobufs(struct nl_sock *sock) { return set_option(sock->fd, NETLINK_NO_ENOBUFS); }

/* The number of messages dropped for want of room; 0 if the kernel does not say. */
uint32_t nl_sock_drops(const struct nl_sock *sock)
{
    uint32_t info[SK_MEMINFO_VARS] = { 0 };
    socklen_t len = sizeof info;
    if (getsockopt(sock->fd, SOL_SOCKET, SO_MEMINFO, info, &len) || len < sizeof info[0] * (SK_MEMINFO_DROPS + 1)) {
        return 0;
    }
    return info[SK_MEMINFO_DROPS];
}

/* The kernel's words on the last request that failed, or NULL. */
const char *nl_sock_extack(const struct nl_sock *sock) { return sock->extack[0] ? sock->extack : NULL; }

/* Receives one datagram without blocking; see nl.h. */
ssize_t nl_recv(struct nl_sock *sock, void *buf, size_t size)
{
    for (;;) {
        struct sockaddr_nl from = { 0 };
        struct iovec iov = { buf, size };
        struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &iov, .msg_iovlen = 1 };
        ssize_t n = recvmsg(sock->fd, &msg, MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -errno;
        }
        if (msg.msg_namelen != sizeof from || from.nl_pid != 0) {
            continue;
        }
        return msg.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
    }
}

/* nl_recv() that waits. */
static ssize_t recv_wait(struct nl_sock *sock, void *buf, size_t size)
{
    for (;;) {
        ssize_t n = nl_recv(sock, buf, size);
        if (n != -EAGAIN) {
            return n;
        }
        struct pollfd pfd = { .fd = sock->fd, .events = POLLIN };
        int rc = poll(&pfd, 1, ANSWER_TIMEOUT_MS);
        if (!rc) {
            return -ETIMEDOUT;
        } else if (rc < 0 && errno != EINTR) {
            return -errno;
        }
    }
}

/* Sends REQ to the kernel. */
static int send_request(struct nl_sock *sock, const struct nlmsghdr *req)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    for (;;) {
        if (sendto(sock->fd, req, req->nlmsg_len, 0, (struct sockaddr *) &kernel, sizeof kernel) >= 0) {
            return 0;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

/* The next message of the LEN bytes at BUF, from *POS, which moves behind it; NULL at the end, or when the rest is no
 * message. */
const struct nlmsghdr *nl_msg_next(const void *buf, size_t len, size_t *pos)
{
    const struct nlmsghdr *nlh = (const void *) ((const char *) buf + *pos);
    if (*pos >= len || !mnl_nlmsg_ok(nlh, len - *pos)) {
        return NULL;
    }
    *pos += MNL_ALIGN(nlh->nlmsg_len);
    return nlh;
}

/* The text attribute of the LEN bytes at ATTRS, or NULL. */
static const char *extack_text(const void *attrs, size_t len)
{
    static const struct nl_policy policy[NLMSGERR_ATTR_MSG + 1] = { { 0 } };
    const struct nlattr *tb[NLMSGERR_ATTR_MSG + 1];
    if (nl_attrs_parse(attrs, len, policy, ARRAY_SIZE(policy), tb) || !tb[NLMSGERR_ATTR_MSG]) {
        return NULL;
    }
    const struct nlattr *a = tb[NLMSGERR_ATTR_MSG];
    const char *text = mnl_attr_get_payload(a);
    size_t text_len = mnl_attr_get_payload_len(a);
    return text_len && !text[text_len - 1] ? text : NULL;
}

/* See nl.h. */
bool nl_msg_error(const struct nlmsghdr *nlh, int *ret_error, const char **ret_text)
{
    if (nlh->nlmsg_type != NLMSG_ERROR) {
        return false;
    }
    const char *text = NULL;
    size_t len = mnl_nlmsg_get_payload_len(nlh);
    if (len < sizeof(struct nlmsgerr)) {
        *ret_error = -EBADMSG;
    } else {
        const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
        *ret_error = err->error > 0 ? -EBADMSG : err->error;
        if (nlh->nlmsg_flags & NLM_F_ACK_TLVS) {
            /* Behind the request, or only behind its header if that is all that was sent back. */
            size_t skip = nlh->nlmsg_flags & NLM_F_CAPPED ? NLMSG_HDRLEN : NLMSG_ALIGN(err->msg.nlmsg_len);
            skip += sizeof err->error;
            text = skip <= len ? extack_text((const char *) err + skip, len - skip) : NULL;
        }
    }
    if (ret_text) {
        *ret_text = text;
    }
    return true;
}

/* Remembers the kernel's words TEXT, which may be NULL. */
static void set_extack(struct nl_sock *sock, const char *text)
{
    strncpy(sock->extack, text ? text : "", sizeof sock->extack - 1);
}

/* The buffer for answers. */
static void *rx_buffer(struct nl_sock *sock)
{
    if (!sock->rx) {
        sock->rx = xmalloc(RX_SIZE);
    }
    return sock->rx;
}

/* Hands the messages with sequence number SEQ in the LEN bytes of answer to CB until that fails (*CB_ERROR).  Returns
 * true if the acknowledgement was among them, and sets *RET_ERROR to what it says. */
static bool take_answer(struct nl_sock *sock, size_t len, uint32_t seq, nl_msg_cb *cb, void *aux, int *cb_error,
                        int *ret_error)
{
    const struct nlmsghdr *nlh;
    const char *text;
    for (size_t pos = 0; (nlh = nl_msg_next(sock->rx, len, &pos));) {
        if (nlh->nlmsg_seq != seq || nlh->nlmsg_pid != sock->pid) {
            continue;
        }
        if (nl_msg_error(nlh, ret_error, &text)) {
            set_extack(sock, text);
            return true;
        }
        if (cb && !*cb_error && nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
            *cb_error = cb(nlh, aux);
        }
    }
    return false;
}

/* See nl.h.  -ENOBUFS and -ETIMEDOUT: the answer is lost, so whether the request was carried out is not known. */
int nl_transact(struct nl_sock *sock, struct nlmsghdr *req, nl_msg_cb *cb, void *aux)
{
    req->nlmsg_seq = nl_sock_next_seq(sock, 1);
    req->nlmsg_pid = sock->pid;
    req->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
    set_extack(sock, NULL);
    rx_buffer(sock);

    int error = send_request(sock, req);
    if (error) {
        return error;
    }
    int cb_error = 0;
    for (;;) {
        ssize_t n = recv_wait(sock, sock->rx, RX_SIZE);
        if (n < 0) {
            return n;
        }
        if (take_answer(sock, n, req->nlmsg_seq, cb, aux, &cb_error, &error)) {
            return error ? error : cb_error;
        }
    }
}

/* See nl.h. */
int nl_dump_begin(struct nl_sock *sock, struct nlmsghdr *req)
{
    req->nlmsg_seq = nl_sock_next_seq(sock, 1);
    req->nlmsg_pid = sock->pid;
    req->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
    set_extack(sock, NULL);

    int error = send_request(sock, req);
    if (!error) {
        sock->dump_seq = req->nlmsg_seq;
        sock->dump_done = false;
        sock->dump_error = 0;
    }
    return error;
}

/* Notes what the control message NLH means for the dump. */
static void dump_control(struct nl_sock *sock, const struct nlmsghdr *nlh)
{
    const char *text = NULL;
    int error = 0;
    if (nlh->nlmsg_type == NLMSG_DONE) {
        /* The end carries the result of the kernel's dump function. */
        if (mnl_nlmsg_get_payload_len(nlh) >= sizeof error) {
            memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof error);
            error = MIN(error, 0);
        }
        sock->dump_done = true;
    } else if (nl_msg_error(nlh, &error, &text)) {
        set_extack(sock, text);
        sock->dump_done = true;
    }
    if (error) {
        sock->dump_error = error;
    }
}

/* See nl.h. */
ssize_t nl_dump_recv(struct nl_sock *sock, void *buf, size_t size)
{
    while (!sock->dump_done) {
        ssize_t n = recv_wait(sock, buf, size);
        if (n < 0) {
            sock->dump_done = true;
            sock->dump_error = n;
            break;
        }
        bool ours = false;
        const struct nlmsghdr *nlh;
        for (size_t pos = 0; (nlh = nl_msg_next(buf, n, &pos));) {
            if (nlh->nlmsg_seq != sock->dump_seq || nlh->nlmsg_pid != sock->pid) {
                continue;
            }
            if (nlh->nlmsg_flags & NLM_F_DUMP_INTR && !sock->dump_error) {
                sock->dump_error = -EINTR;
            }
            dump_control(sock, nlh);
            ours = ours || nlh->nlmsg_type >= NLMSG_MIN_TYPE;
        }
        if (ours) {
            return n;
        }
    }
    return sock->dump_error;
}

/* See nl.h.  If CB fails the dump is read to its end all the same, so that the socket can be used again. */
int nl_dump_next(struct nl_sock *sock, void *buf, size_t size, nl_msg_cb *cb, void *aux)
{
    ssize_t n = nl_dump_recv(sock, buf, size);
    if (n <= 0) {
        return n;
    }
    const struct nlmsghdr *nlh;
    for (size_t pos = 0; (nlh = nl_msg_next(buf, n, &pos));) {
        if (nlh->nlmsg_seq != sock->dump_seq || nlh->nlmsg_type < NLMSG_MIN_TYPE) {
            continue;
        }
        int error = cb(nlh, aux);
        if (error) {
            while (nl_dump_recv(sock, buf, size) > 0) {
                continue;
            }
            return error;
        }
    }
    return 1;
}

/* See nl.h. */
int nl_attrs_parse(const void *attrs, size_t len, const struct nl_policy *policy, size_t n_policy,
                   const struct nlattr **tb)
{
    memset(tb, 0, n_policy * sizeof *tb);
    for (const struct nlattr *a = attrs; len;) {
        if (len < MNL_ATTR_HDRLEN || a->nla_len < MNL_ATTR_HDRLEN || a->nla_len > len) {
            return -EINVAL;
        }
        size_t type = mnl_attr_get_type(a);
        if (type < n_policy) {
            const struct nl_policy *p = &policy[type];
            size_t payload = a->nla_len - MNL_ATTR_HDRLEN;
            if (payload < p->min || (p->max && payload > p->max)) {
                return -EINVAL;
            }
            tb[type] = a;
        }
        size_t step = MIN(MNL_ALIGN((size_t) a->nla_len), len);
        a = (const void *) ((const char *) a + step);
        len -= step;
    }
    for (size_t i = 0; i < n_policy; i++) {
        if (policy[i].required && !tb[i]) {
            return -EINVAL;
        }
    }
    return 0;
}
