/* Batches of requests: as few system calls as their size allows.
 *
 * Threads and owners: a batch belongs to its session, and so to the thread that has it.
 *
 * Why the results are known without asking.  The kernel carries out a request inside sendmsg(), in the order of the
 * messages, and answers a failed one in any case.  So when sendmsg() returns all answers are in the queue, and what
 * has no answer has succeeded.  Only a request whose result is wanted (the statistics of a deleted flow) asks for one.
 * A request is known by its sequence number.
 *
 * No answer may get lost.  The kernel drops one when the socket's queue is full, so a batch has no more requests than
 * answers fit into the queue (ANSWER_TRUESIZE each).  If it reports an overflow all the same, a request without an
 * answer may have failed: all of them are then reported as -ENOBUFS. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/counter.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-kernel.h"

LOG_MODULE(dpif_netlink_operate);

COUNTER_DEFINE(dpif_sendmsg);
COUNTER_DEFINE(dpif_recvmmsg);
COUNTER_DEFINE(dpif_flow_put);
COUNTER_DEFINE(dpif_flow_put_error);
COUNTER_DEFINE(dpif_flow_del);
COUNTER_DEFINE(dpif_flow_del_error);
COUNTER_DEFINE(dpif_flow_get_batched);
COUNTER_DEFINE(dpif_execute);
COUNTER_DEFINE(dpif_execute_error);

/* Messages in one sendmsg(). */
#define BATCH_OPS   256
#define BATCH_BYTES KERNEL_TX_SIZE
/* From this length on a packet is sent from where it lies. */
#define COPY_LIMIT 512
/* Pieces of one sendmsg(): for each packet that is not copied what stands before it, it, and its padding; and the rest.
 */
#define BATCH_PIECES (BATCH_BYTES / COPY_LIMIT * 3 + 4)
/* Answers read by one recvmmsg(), and room for each: a flow without key, mask and actions, or an error with its text.
 * Of a longer one (a kernel before 4.3 sends the request back with its error) the beginning is enough. */
#define ANSWERS     32
#define ANSWER_SIZE 1024
/* What an answer takes of the receive queue: the kernel counts its whole memory. */
#define ANSWER_TRUESIZE 2048

struct kernel_batch {
    /* What goes out.  Messages are written to the session's 'tx'; a piece is a stretch of it, or a packet. */
    struct iovec pieces[BATCH_PIECES];
    size_t n_pieces;
    size_t tx_used;     /* Of 'tx'. */
    size_t piece_start; /* Where in 'tx' the piece begins that is being written. */
    size_t n_outside;   /* Bytes of packets that are not in 'tx'. */
    struct dpif_op *ops[BATCH_OPS];
    bool answered[BATCH_OPS];
    size_t n_ops, max_ops;
    uint32_t first_seq;

    /* What comes in. */
    struct mmsghdr msgs[ANSWERS];
    struct iovec iovs[ANSWERS];
    struct sockaddr_nl from[ANSWERS];
    uint32_t answers[ANSWERS][ANSWER_SIZE / sizeof(uint32_t)];
};

/* The session's batch, made at first use. */
static struct kernel_batch *get_batch(struct dpif_kernel_session *s)
{
    if (!s->batch) {
        struct kernel_batch *batch = xzalloc(sizeof *batch);
        int rcvbuf = 0;
        socklen_t len = sizeof rcvbuf;
        getsockopt(nl_sock_fd(s->sock), SOL_SOCKET, SO_RCVBUF, &rcvbuf, &len);
        batch->max_ops = MAX(MIN(rcvbuf / ANSWER_TRUESIZE, BATCH_OPS), 1);
        for (size_t i = 0; i < ANSWERS; i++) {
            batch->iovs[i] = (struct iovec){ batch->answers[i], ANSWER_SIZE };
            batch->msgs[i].msg_hdr.msg_iov = &batch->iovs[i];
            batch->msgs[i].msg_hdr.msg_iovlen = 1;
            batch->msgs[i].msg_hdr.msg_name = &batch->from[i];
        }
        s->batch = batch;
    }
    return s->batch;
}

/* Accepts NULL. */
void kernel_batch_destroy(struct kernel_batch *batch) { free(batch); }

/* Begins a batch.  Its requests have sequence numbers of their own, whether all are used or not. */
static void batch_begin(struct dpif_kernel_session *s, struct kernel_batch *batch)
{
    batch->n_pieces = batch->tx_used = batch->piece_start = batch->n_outside = batch->n_ops = 0;
    batch->first_seq = nl_sock_next_seq(s->sock, BATCH_OPS);
}

/* Ends the stretch of 'tx' that is being written. */
static void end_piece(struct dpif_kernel_session *s, struct kernel_batch *batch)
{
    if (batch->tx_used > batch->piece_start) {
        batch->pieces[batch->n_pieces++] =
            (struct iovec){ (char *) s->tx + batch->piece_start, batch->tx_used - batch->piece_start };
        batch->piece_start = batch->tx_used;
    }
}

/* Writes the request OP on a flow. */
static void put_flow_op(struct attrbuf *b, const struct dpif_op *op)
{
    bool get = op->type == DPIF_OP_FLOW_GET;
    bool del = op->type == DPIF_OP_FLOW_DEL;
    if (get || del) {
        kernel_flow_put_id(b, op->flow.has_ufid ? &op->flow.ufid : NULL, op->flow.key, op->flow.key_len);
        if (get || op->flow.want_stats) {
            attrbuf_put_u32(b, OVS_FLOW_ATTR_UFID_FLAGS,
                            OVS_UFID_F_OMIT_KEY | OVS_UFID_F_OMIT_MASK | OVS_UFID_F_OMIT_ACTIONS);
        }
        return;
    }
    if (op->flow.has_ufid) {
        kernel_put_ufid(b, &op->flow.ufid);
    }
    attrbuf_put(b, OVS_FLOW_ATTR_KEY, op->flow.key, op->flow.key_len);
    if (op->flow.mask) {
        attrbuf_put(b, OVS_FLOW_ATTR_MASK, op->flow.mask, op->flow.mask_len);
    }
    attrbuf_put(b, OVS_FLOW_ATTR_ACTIONS, op->flow.actions, op->flow.actions_len);
    if (op->flow.clear) {
        attrbuf_put(b, OVS_FLOW_ATTR_CLEAR, NULL, 0);
    }
}

/* OVS_PACKET_ATTR_UPCALL_PID of Linux 6.17 and later; older kernels skip it. */
#define PACKET_ATTR_UPCALL_PID 12

/* Writes the request OP to execute, but for the packet, which comes last. */
static void put_execute_op(struct attrbuf *b, const struct dpif_op *op)
{
    attrbuf_put(b, OVS_PACKET_ATTR_KEY, op->execute.key, op->execute.key_len);
    attrbuf_put(b, OVS_PACKET_ATTR_ACTIONS, op->execute.actions, op->execute.actions_len);
    if (op->execute.mru) {
        attrbuf_put_u16(b, OVS_PACKET_ATTR_MRU, op->execute.mru);
    }
    if (op->execute.has_hash) {
        attrbuf_put_u64(b, OVS_PACKET_ATTR_HASH, op->execute.hash);
    }
    if (op->execute.upcall_pid) {
        attrbuf_put_u32(b, PACKET_ATTR_UPCALL_PID, op->execute.upcall_pid);
    }
}

/* How OP is written. */
struct op_kind {
    bool execute;
    uint8_t cmd;
    uint16_t flags;
};

static struct op_kind op_kind(const struct dpif_op *op)
{
    switch (op->type) {
    case DPIF_OP_FLOW_PUT:
        return (struct op_kind){ false, OVS_FLOW_CMD_NEW, NLM_F_CREATE };
    case DPIF_OP_FLOW_MOD:
        /* NEW without NLM_F_CREATE means: new, or changed if it is there. */
        return (struct op_kind){ false, op->flow.create ? OVS_FLOW_CMD_NEW : OVS_FLOW_CMD_SET, 0 };
    case DPIF_OP_FLOW_DEL:
        return (struct op_kind){ false, OVS_FLOW_CMD_DEL, op->flow.want_stats ? NLM_F_ECHO : 0 };
    case DPIF_OP_FLOW_GET:
        return (struct op_kind){ false, OVS_FLOW_CMD_GET, 0 };
    case DPIF_OP_EXECUTE:
        return (struct op_kind){ true, OVS_PACKET_CMD_EXECUTE, 0 };
    }
    abort();
}

/* A deletion that names no flow would delete all. */
static bool op_is_valid(const struct dpif_op *op)
{
    return op->type == DPIF_OP_EXECUTE || op->flow.has_ufid || op->flow.key_len;
}

/* Appends the packet of OP, which stays where it is, to the message that B holds at the end of 'tx'. */
static void put_packet_outside(struct dpif_kernel_session *s, struct kernel_batch *batch, struct attrbuf *b,
                               const struct dpif_op *op)
{
    static const char zeros[MNL_ALIGNTO];
    size_t len = op->execute.packet_len;
    size_t pad = MNL_ALIGN(len) - len;
    if (b->overflow || len > UINT16_MAX - MNL_ATTR_HDRLEN || b->nlh->nlmsg_len + MNL_ATTR_HDRLEN > b->size) {
        b->overflow = true;
        return;
    }
    struct nlattr *a = mnl_nlmsg_get_payload_tail(b->nlh);
    a->nla_type = OVS_PACKET_ATTR_PACKET;
    a->nla_len = MNL_ATTR_HDRLEN + len;
    batch->tx_used += b->nlh->nlmsg_len + MNL_ATTR_HDRLEN;
    end_piece(s, batch);
    batch->pieces[batch->n_pieces++] = (struct iovec){ (void *) op->execute.packet, len };
    if (pad) {
        batch->pieces[batch->n_pieces++] = (struct iovec){ (void *) zeros, pad };
    }
    batch->n_outside += len + pad;
    b->nlh->nlmsg_len += MNL_ATTR_HDRLEN + len + pad;
}

/* The bytes of 'tx' that the next message may take: none if there is no room for OP. */
static size_t batch_room(const struct kernel_batch *batch, const struct dpif_op *op)
{
    size_t used = batch->tx_used + batch->n_outside;
    size_t outside = op->type == DPIF_OP_EXECUTE && op->execute.packet_len >= COPY_LIMIT ? op->execute.packet_len : 0;
    if (!batch->n_ops) {
        return KERNEL_TX_SIZE; /* Whatever it is: it goes alone if it must. */
    } else if (batch->n_ops >= batch->max_ops || batch->n_pieces + 4 > BATCH_PIECES || used + outside > BATCH_BYTES) {
        return 0;
    }
    return BATCH_BYTES - used - outside;
}

/* Appends OP to the batch.  Returns false, leaving it as it was, if there is no room. */
static bool batch_add(struct dpif_kernel_session *s, struct kernel_batch *batch, struct dpif_op *op)
{
    const struct dpif_kernel *k = kernel_session_dpif(s);
    struct op_kind kind = op_kind(op);
    size_t room = batch_room(batch, op);
    if (room < sizeof(struct kernel_header)) {
        return false;
    }
    struct attrbuf b;
    struct nlmsghdr *nlh = (void *) ((char *) s->tx + batch->tx_used);
    size_t n_pieces = batch->n_pieces;
    kernel_msg_begin(&b, nlh, room, kind.execute ? k->packet_family : k->flow_family, kind.flags, kind.cmd,
                     kind.execute ? OVS_PACKET_VERSION : OVS_FLOW_VERSION, k->dp_ifindex);
    if (!kind.execute) {
        put_flow_op(&b, op);
    } else {
        put_execute_op(&b, op);
        if (op->execute.packet_len < COPY_LIMIT) {
            attrbuf_put(&b, OVS_PACKET_ATTR_PACKET, op->execute.packet, op->execute.packet_len);
        } else {
            put_packet_outside(s, batch, &b, op);
        }
    }
    if (b.overflow) {
        return false;
    }
    if (batch->n_pieces == n_pieces) {
        batch->tx_used += nlh->nlmsg_len;
    }
    nlh->nlmsg_seq = batch->first_seq + batch->n_ops;
    nlh->nlmsg_pid = nl_sock_pid(s->sock);
    batch->answered[batch->n_ops] = false;
    batch->ops[batch->n_ops++] = op;
    return true;
}

/* Whether OP is answered also when it succeeds. */
static bool wants_answer(const struct dpif_op *op)
{
    return op->type == DPIF_OP_FLOW_GET || (op->type == DPIF_OP_FLOW_DEL && op->flow.want_stats);
}

/* Takes in the N bytes of answer at NLH, of which not all may have been received. */
static void take_answer(struct dpif_kernel_session *s, struct kernel_batch *batch, const struct nlmsghdr *nlh, size_t n)
{
    struct dpif_flow flow;
    if (n < NLMSG_HDRLEN + sizeof(int) || nlh->nlmsg_pid != nl_sock_pid(s->sock)) {
        return;
    }
    size_t i = nlh->nlmsg_seq - batch->first_seq;
    if (i >= batch->n_ops) {
        return; /* Of an earlier request. */
    }
    struct dpif_op *op = batch->ops[i];
    if (nlh->nlmsg_type == NLMSG_ERROR) {
        int error;
        const char *text = NULL;
        memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof error);
        batch->answered[i] = true;
        op->error = MIN(error, 0);
        if (mnl_nlmsg_ok(nlh, n) && nl_msg_error(nlh, &error, &text) && text) {
            log_dbg_rl(60, "request %zu of %zu failed: %s (%s)", i, batch->n_ops, strerror(-op->error), text);
            snprintf(s->error, sizeof s->error, "%s", text);
        }
    } else if (wants_answer(op) && mnl_nlmsg_ok(nlh, n)) {
        int error = kernel_flow_parse(kernel_session_dpif(s), nlh, &flow);
        batch->answered[i] = true;
        op->error = error;
        if (!error) {
            op->flow.stats = flow.stats;
        }
    }
}

/* Reads all answers that are there.  Returns 0 or -ENOBUFS: some were lost. */
static int receive_answers(struct dpif_kernel_session *s, struct kernel_batch *batch)
{
    int result = 0;
    for (;;) {
        for (size_t i = 0; i < ANSWERS; i++) {
            batch->msgs[i].msg_hdr.msg_namelen = sizeof batch->from[i];
        }
        int n = recvmmsg(nl_sock_fd(s->sock), batch->msgs, ANSWERS, MSG_DONTWAIT, NULL);
        COUNTER_INC(dpif_recvmmsg);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            } else if (errno == EAGAIN) {
                return result;
            } else if (errno != ENOBUFS) {
                return -errno;
            }
            result = -ENOBUFS;
            continue;
        }
        for (int i = 0; i < n; i++) {
            if (!batch->from[i].nl_pid) {
                take_answer(s, batch, (const void *) batch->answers[i], batch->msgs[i].msg_len);
            }
        }
    }
}

/* Sends the batch.  Returns 0 or -errno: none of its requests has been carried out. */
static int send_batch(struct dpif_kernel_session *s, struct kernel_batch *batch)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    struct msghdr msg = {
        .msg_name = &kernel,
        .msg_namelen = sizeof kernel,
        .msg_iov = batch->pieces,
        .msg_iovlen = batch->n_pieces,
    };
    for (;;) {
        ssize_t n = sendmsg(nl_sock_fd(s->sock), &msg, 0);
        COUNTER_INC(dpif_sendmsg);
        if (n >= 0) {
            return 0;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

/* Sends the batch, and gives each of its requests its result. */
static void batch_end(struct dpif_kernel_session *s, struct kernel_batch *batch)
{
    end_piece(s, batch);
    int error = send_batch(s, batch);
    if (error) {
        log_warn_rl(5, "cannot send a batch of %zu requests (%zu bytes) to the datapath: %s", batch->n_ops,
                    batch->tx_used + batch->n_outside, strerror(-error));
        for (size_t i = 0; i < batch->n_ops; i++) {
            batch->ops[i]->error = error;
        }
        return;
    }
    error = receive_answers(s, batch);
    if (error) {
        log_warn_rl(5, "answers to a batch of %zu requests were lost (%s): which of them failed is not known",
                    batch->n_ops, strerror(-error));
    }
    for (size_t i = 0; i < batch->n_ops; i++) {
        if (!batch->answered[i] && (error || wants_answer(batch->ops[i]))) {
            batch->ops[i]->error = error ? error : -ENOBUFS;
        }
    }
}

/* Counts OP, which has its result. */
static void count_op(const struct dpif_op *op)
{
    switch (op->type) {
    case DPIF_OP_FLOW_PUT:
    case DPIF_OP_FLOW_MOD:
        COUNTER_INC(dpif_flow_put);
        COUNTER_ADD(dpif_flow_put_error, op->error != 0);
        break;
    case DPIF_OP_FLOW_DEL:
        COUNTER_INC(dpif_flow_del);
        COUNTER_ADD(dpif_flow_del_error, op->error != 0);
        break;
    case DPIF_OP_FLOW_GET:
        COUNTER_INC(dpif_flow_get_batched);
        break;
    case DPIF_OP_EXECUTE:
        COUNTER_INC(dpif_execute);
        COUNTER_ADD(dpif_execute_error, op->error != 0);
        break;
    }
}

/* See dpif_operate() in dpif.h.  Results beside the kernel's: -EMSGSIZE, a request too long for any message; -EINVAL,
 * one that names no flow; -ENOBUFS, the answer is lost. */
void kernel_operate(struct dpif_session *session, struct dpif_op *ops[], size_t n_ops)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct kernel_batch *batch = get_batch(s);
    s->error[0] = '\0';
    batch_begin(s, batch);
    for (size_t i = 0; i < n_ops; i++) {
        struct dpif_op *op = ops[i];
        op->error = 0;
        if (!op_is_valid(op)) {
            op->error = -EINVAL;
            continue;
        }
        bool added = batch_add(s, batch, op);
        if (!added && batch->n_ops) {
            batch_end(s, batch);
            batch_begin(s, batch);
            added = batch_add(s, batch, op);
        }
        if (!added) {
            op->error = -EMSGSIZE;
        }
    }
    if (batch->n_ops) {
        batch_end(s, batch);
    }
    for (size_t i = 0; i < n_ops; i++) {
        count_op(ops[i]);
    }
}
