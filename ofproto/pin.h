/* Packets on their way to controllers: from handlers to main, bounded and fair between ports.
 *
 *     handlers ──► pin_inbox (a lock, once a batch) ──► main: ofproto_packet_in() ──► connections; what has to wait: pin_queue
 *
 * A `struct pin` is one packet with its cookie (odp-cookie.h), in memory of its own: what it was made from dies with the batch.
 *
 * A `struct pin_queue` holds some of them, by the port that they came in at, and gives them back a port at a time in turn.  It is bounded in
 * number and bytes, and a port may have at most eight times of what is left of either: so however many packets one port sends up, another
 * one's find room, and are not behind them.  (The rule of sched.h, for the same reason.)  It belongs to whoever has it, and locks nothing.
 *
 * The inbox is a queue that handlers fill and main empties.  Its lock is held for a bounded number of instructions, by a handler once a batch if the
 * batch has such packets, and by main for some dozens of them.  It counts, by port and reason, what came and what was dropped. */
#ifndef OFPROTO_PIN_H
#define OFPROTO_PIN_H 1

#include "lib/base/lock.h"
#include "lib/odp/odp-cookie.h"
#include "lib/ofp/ofp-action.h"

struct dpif_upcall;

struct pin {
    struct pin *next;   /* In a list, or queue. */
    odp_port_t port;    /* Of the datapath, that it came in at. */
    struct odp_cookie cookie;
    const uint8_t *packet;
    size_t packet_len;
    const struct nlattr *key; /* As the kernel knows it. */
    size_t key_len;
    uint64_t data[];    /* Key, packet, userdata. */
};

/* Copies U, whose userdata is COOKIE. */
struct pin *pin_create(const struct dpif_upcall *u, const struct odp_cookie *cookie);
struct pin *pin_copy(const struct pin *p);
void pin_destroy(struct pin *p);

/* ---- Queues. ---- */

struct pin_lane {
    struct pin_lane *hash_next;
    struct pin_lane *next, *prev; /* The ring. */
    odp_port_t port;
    size_t n, bytes;
    struct pin *first, **last;
};

#define PIN_QUEUE_BUCKETS 64

struct pin_queue {
    size_t max_n, max_bytes; /* May be changed; what is there stays. */
    size_t n, bytes;
    struct pin_lane *turn; /* Of those that are not empty, the next one; NULL: all are. */
    struct pin_lane *buckets[PIN_QUEUE_BUCKETS];
};

/* Q zeroed but for its bounds is empty. */
void pin_queue_uninit(struct pin_queue *q);
/* Takes over P.  False: there is no room for it, and it stays the caller's. */
bool pin_queue_put(struct pin_queue *q, struct pin *p);
struct pin *pin_queue_take(struct pin_queue *q); /* NULL: it is empty. */

/* ---- The inbox. ---- */

struct pin_counts {
    odp_port_t port;
    uint64_t received[OFPR_N_REASONS], dropped[OFPR_N_REASONS]; /* Dropped: of these, for want of room. */
};

struct pin_inbox {
    struct lock lock;
    struct pin_queue queue GUARDED(lock);
    bool woken GUARDED(lock); /* Main has been told, and has not looked since. */
    struct pin_counts **by_port GUARDED(lock);
    size_t n_by_port GUARDED(lock);
    void (*wake)(void *aux);
    void *aux;
};

/* WAKE(AUX) is called by a handler, outside of all locks, when there is something to take. */
void pin_inbox_init(struct pin_inbox *in, void (*wake)(void *aux), void *aux);
void pin_inbox_uninit(struct pin_inbox *in);
/* Takes over LIST.  Any thread, outside of RCU read sections. */
void pin_inbox_put(struct pin_inbox *in, struct pin *list);
/* At most MAX of them, as a list.  *RET_MORE: there are more, and nobody will be woken for them.  Main. */
struct pin *pin_inbox_take(struct pin_inbox *in, unsigned int max, bool *ret_more);
/* Port NO is gone: its counts go, too. */
void pin_inbox_forget(struct pin_inbox *in, odp_port_t no);
/* Calls CB with a copy of each port's counts, in their order.  Any thread. */
void pin_inbox_show(struct pin_inbox *in, void (*cb)(const struct pin_counts *c, void *aux), void *aux);

#endif
