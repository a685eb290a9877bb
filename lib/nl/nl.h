/* Netlink sockets, on libmnl.
 *
 * A socket belongs to one thread at a time; nothing here locks.  Requests carry sequence numbers, and an answer
 * that does not belong to the request in hand is discarded.  All errors are -errno. */
#ifndef NL_NL_H
#define NL_NL_H 1

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nl_sock;

/* Opens a non-blocking, close-on-exec socket of PROTOCOL (NETLINK_GENERIC, NETLINK_ROUTE) and binds it to a port
 * id that the kernel chooses.  RCVBUF is the receive buffer in bytes (SO_RCVBUFFORCE, else SO_RCVBUF), 0 for the
 * default.  Options set: NETLINK_CAP_ACK, NETLINK_EXT_ACK. */
int nl_sock_open(int protocol, size_t rcvbuf, struct nl_sock **ret_sock);
void nl_sock_close(struct nl_sock *sock); /* Accepts NULL. */
int nl_sock_fd(const struct nl_sock *sock);
/* Frees SOCK but leaves its descriptor open, and returns it: for who needs no more than that. */
int nl_sock_detach(struct nl_sock *sock);
/* Makes the receive queue of socket FD BYTES long, beyond the system's limit if we may (SO_RCVBUFFORCE, else
 * SO_RCVBUF). */
int nl_fd_set_rcvbuf(int fd, size_t bytes);
uint32_t nl_sock_pid(const struct nl_sock *sock);
uint32_t nl_sock_next_seq(struct nl_sock *sock,
                          uint32_t n); /* Reserves N sequence numbers, returns the first; never 0. */
int nl_sock_join(struct nl_sock *sock, uint32_t group);
/* Overflow does not latch the socket and is not reported; count it with nl_sock_drops(). */
int nl_sock_no_enobufs(struct nl_sock *sock);
uint32_t nl_sock_drops(const struct nl_sock *sock); /* SO_MEMINFO[SK_MEMINFO_DROPS]. */

/* Callback for one message; returns 0 to go on, -errno to stop. */
typedef int nl_msg_cb(const struct nlmsghdr *nlh, void *aux);

/* Sends REQ (sequence number filled in; NLM_F_ACK added) and waits for its answer.  CB (may be NULL) gets each
 * message of the answer that is not an acknowledgement.  Returns 0 or -errno, of the kernel's or of CB. */
int nl_transact(struct nl_sock *sock, struct nlmsghdr *req, nl_msg_cb *cb, void *aux);
const char *nl_sock_extack(const struct nl_sock *sock); /* The kernel's words on the last failure, or NULL. */

/* A dump: begin sends REQ (NLM_F_DUMP added), each nl_dump_next() receives one buffer's worth of messages into BUF
 * (SIZE at least 64 KiB) and calls CB for each; it returns 1 while there may be more, 0 at the end, or -errno (-EINTR
 * if the kernel said that the dump was inconsistent, after having passed on all there was). */
int nl_dump_begin(struct nl_sock *sock, struct nlmsghdr *req);
int nl_dump_next(struct nl_sock *sock, void *buf, size_t size, nl_msg_cb *cb, void *aux);
/* The receiving half of nl_dump_next(), for dumps whose buffers are read by other threads: the bytes put into BUF, 0 at
 * the end, or -errno. What is in BUF is read with nl_msg_next() from *POS = 0 until that returns NULL. */
ssize_t nl_dump_recv(struct nl_sock *sock, void *buf, size_t size);
const struct nlmsghdr *nl_msg_next(const void *buf, size_t len, size_t *pos);

/* Receives one datagram without blocking: bytes, -EAGAIN, or -errno (-ENOBUFS: some were lost; -EMSGSIZE: it was longer
 * than SIZE). */
ssize_t nl_recv(struct nl_sock *sock, void *buf, size_t size);

/* If NLH is an acknowledgement or error: sets *RET_ERROR (0 or -errno) and *RET_TEXT (the kernel's words, in NLH, or
 * NULL; may be NULL) and returns true. */
bool nl_msg_error(const struct nlmsghdr *nlh, int *ret_error, const char **ret_text);

/* Starts a generic netlink message in BUF. */
struct nlmsghdr *nl_genl_begin(void *buf, uint16_t family, uint16_t flags, uint8_t cmd, uint8_t version);

/* Resolves generic netlink family NAME: its number, and of multicast group GROUP (may be NULL) the number in
 * *RET_GROUP.  -ENOENT if the kernel has no such family. */
int nl_genl_resolve(struct nl_sock *sock, const char *name, const char *group, uint16_t *ret_family,
                    uint32_t *ret_group);

/* Attribute policy: unpacks LEN bytes of attributes at ATTRS into TB[0..MAX], the last of a type wins.  An entry of
 * POLICY says the type's least and greatest payload length (0,0: do not care); attributes above MAX are skipped.
 * Returns 0, or -EINVAL for a malformed stream, a wrong length or a missing 'required' one, without touching the
 * rest. */
struct nl_policy {
    uint16_t min, max;
    bool required;
};
int nl_attrs_parse(const void *attrs, size_t len, const struct nl_policy *policy, size_t n_policy,
                   const struct nlattr **tb);

#endif
