/* For tests of the scheduler: upcalls are numbered as they are sent, and each is followed until it has been served or
 * dropped.
 *
 * check_world() compares the scheduler's accounts with ours: what waits, the bytes of each port and of the pool, what
 * was received and dropped. */
#ifndef TESTS_SCHED_KIT_H
#define TESTS_SCHED_KIT_H 1

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/io/thread.h"
#include "lib/nl/attrbuf.h"
#include "ofproto/sched.h"

#define BATCH 64
#define MAX_PORTS 1100

struct random {
    uint64_t seed, n;
};
static inline uint32_t rnd(struct random *r, uint32_t limit) { return hash_u64(r->n++, r->seed) % limit; }

enum fate { WAITS, TAKEN, SERVED, DROPPED };
struct sent {
    uint32_t port, flow, size;
    bool control;
    enum fate fate;
};

struct port_account {
    size_t bytes;
    unsigned int waiting;
    uint64_t received, drops[SCHED_N_DROPS];
};

struct world {
    struct sched s;
    struct port_limits limits;
    struct sent *sent;
    uint32_t n_sent, n_allocated;
    struct port_account ports[MAX_PORTS];
    uint32_t n_ports; /* Numbers below this have been used. */
    unsigned int waiting;
    size_t used;
};

static inline struct world *world_create(void)
{
    struct world *w = xaligned_zalloc(CACHE_LINE, sizeof *w);
    assert_int_equal(sched_init(&w->s, NULL, &w->limits), 0);
    return w;
}

/* A world whose memory is soon full. */
static inline struct world *world_create_small(size_t size)
{
    struct world *w = world_create();
    cell_pool_uninit(&w->s.pool);
    assert_int_equal(cell_pool_init(&w->s.pool, size), 0);
    return w;
}

static inline void world_destroy(struct world *w)
{
    sched_uninit(&w->s);
    port_limits_uninit(&w->limits);
    free(w->sent);
    free(w);
}

static inline const struct port_queue *queue_of(const struct world *w, uint32_t port)
{
    return port < w->s.queues->n ? w->s.queues->by_port[port] : NULL;
}

static inline void check_port(struct world *w, uint32_t no)
{
    struct port_account *a = &w->ports[no];
    const struct port_queue *q = queue_of(w, no);
    if (!q) { /* Forgotten: with nothing left, and its statistics are gone. */
        assert_int_equal(a->bytes + a->waiting, 0);
        *a = (struct port_account) { 0 };
        return;
    }
    unsigned int waiting = q->n + q->n_control;
    for (unsigned int i = 0; i < N_SLICES; i++) {
        waiting += q->lent & 1u << i ? q->slices[i].n_in - q->slices[i].n_out : 0;
    }
    assert_int_equal(waiting, a->waiting);
    assert_int_equal(q->bytes, a->bytes);
    assert_int_equal(q->stats.received, a->received);
    assert_memory_equal(q->stats.drops, a->drops, sizeof a->drops);
    assert_int_equal(q->next != NULL, q->ready != 0);
}

static inline void check_total(const struct world *w, unsigned int n_lent)
{
    assert_int_equal(w->s.n + n_lent, w->waiting);
    assert_int_equal(w->s.pool.used, w->used);
    assert_true(w->used <= w->s.pool.size);
}

/* All of it; slow with many ports. */
static inline void check_world(struct world *w)
{
    unsigned int lent = 0;
    size_t bytes = 0;
    for (uint32_t no = 0; no < w->n_ports; no++) {
        check_port(w, no);
        const struct port_queue *q = queue_of(w, no);
        for (unsigned int i = 0; q && i < N_SLICES; i++) {
            lent += q->lent & 1u << i ? q->slices[i].n_in - q->slices[i].n_out : 0;
        }
        bytes += w->ports[no].bytes;
    }
    check_total(w, lent);
    assert_int_equal(bytes, w->used);
}

/* ---- Sending. ---- */

struct upcall {
    uint32_t port, flow;
    bool control; /* ARP; otherwise UDP. */
    uint32_t len; /* Of the message; at least its key is in it. */
};

/* Writes the message for C: its key, then whatever is in the buffer.  Returns its length. */
static inline size_t message_build(const struct upcall *c, uint32_t *mem, struct dpif_upcall *u)
{
    struct attrbuf b;
    attrbuf_init(&b, mem, 512);
    struct ovs_key_ethernet eth = { .eth_src = { 2 }, .eth_dst = { 2, 1 } };
    struct ovs_key_ipv4 ip = { .ipv4_src = c->flow, .ipv4_dst = 1, .ipv4_proto = IPPROTO_UDP };
    struct ovs_key_udp udp = { .udp_src = htons(1), .udp_dst = htons(2) };

    attrbuf_put_u32(&b, OVS_KEY_ATTR_IN_PORT, c->port);
    attrbuf_put(&b, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    attrbuf_put_u16(&b, OVS_KEY_ATTR_ETHERTYPE, htons(c->control ? 0x0806 : 0x0800));
    if (!c->control) {
        attrbuf_put(&b, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
        attrbuf_put(&b, OVS_KEY_ATTR_UDP, &udp, sizeof udp);
    }
    *u = (struct dpif_upcall) {
        .key = attrbuf_data(&b),
        .key_len = attrbuf_len(&b),
        .packet = (const char *) attrbuf_data(&b) + attrbuf_len(&b),
        .has_hash = true,
    };
    return MAX(c->len, NLMSG_HDRLEN + attrbuf_len(&b));
}

static inline enum sched_drop send_upcall(struct world *w, struct upcall c)
{
    static uint32_t mem[200 * 1024 / 4];
    struct dpif_upcall u;
    size_t len = message_build(&c, mem, &u);
    struct port_account *a = &w->ports[c.port];

    if (w->n_sent == w->n_allocated) {
        w->n_allocated = MAX(1024, 2 * w->n_allocated);
        w->sent = xrealloc(w->sent, w->n_allocated * sizeof *w->sent);
    }
    w->n_ports = MAX(w->n_ports, c.port + 1);
    u.hash = w->n_sent; /* By which it is known again. */
    u.packet_len = len - NLMSG_HDRLEN - u.key_len;
    enum sched_drop drop = sched_add(&w->s, &u, mem, len, 1000 + w->n_sent);
    w->sent[w->n_sent++] = (struct sent) { c.port, c.flow, cell_size(len), c.control, drop ? DROPPED : WAITS };
    a->received++;
    if (drop) {
        a->drops[drop]++;
    } else {
        w->used += cell_size(len);
        a->bytes += cell_size(len);
        a->waiting++;
        w->waiting++;
    }
    check_port(w, c.port);
    return drop;
}

/* Until nobody gets anything in any more.  Each port sends flows 0 to 99 in turn. */
static inline void flood(struct world *w, uint32_t first, uint32_t n_ports, uint32_t len)
{
    bool kept = true;
    for (uint32_t turn = 0; kept; turn++) {
        kept = false;
        for (uint32_t port = first; port < first + n_ports; port++) {
            kept |= send_upcall(w, (struct upcall) { port, turn % 100, false, len }) == SCHED_KEPT;
        }
    }
}

/* ---- Serving. ---- */

static inline uint32_t cell_id(const struct cell *c) { return c->dp.hash; }
static inline struct sent *cell_sent(struct world *w, const struct cell *c) { return &w->sent[cell_id(c)]; }

static inline void note_taken(struct world *w, const struct cell *c)
{
    struct sent *s = cell_sent(w, c);
    assert_int_equal(s->fate, WAITS);
    assert_int_equal(c->size, s->size);
    assert_int_equal(c->arrived, 1000 + cell_id(c));
    assert_int_equal(c->queue->port.n, s->port);
    s->fate = TAKEN;
    w->ports[s->port].waiting--;
    w->waiting--;
}

static inline unsigned int take(struct world *w, struct cell *cells[], unsigned int max)
{
    unsigned int n = sched_take(&w->s, cells, max);
    assert_in_range(n, 0, max);
    for (unsigned int i = 0; i < n; i++) {
        note_taken(w, cells[i]);
    }
    return n;
}

static inline void note_served(struct world *w, const struct cell *c)
{
    struct sent *s = cell_sent(w, c);
    assert_int_equal(s->fate, TAKEN);
    s->fate = SERVED;
    w->ports[s->port].bytes -= s->size;
    w->used -= s->size;
}

static inline void done_with(struct world *w, struct cell *cells[], unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        note_served(w, cells[i]);
    }
    sched_done(&w->s, cells, n);
}

static inline void serve_all(struct world *w)
{
    struct cell *cells[BATCH];
    unsigned int n;
    while ((n = take(w, cells, BATCH)) != 0) {
        done_with(w, cells, n);
    }
    assert_true(sched_is_empty(&w->s));
    check_world(w);
}

/* Port NO goes; what of it waits here is expected to be dropped. */
static inline void port_gone(struct world *w, uint32_t no)
{
    const struct port_queue *q = queue_of(w, no);
    unsigned int lent = q ? q->lent : 0;
    for (uint32_t id = 0; q && id < w->n_sent; id++) {
        struct sent *s = &w->sent[id];
        /* With lent slices we do not know which: the caller lends nothing of ports that go. */
        if (s->port == no && s->fate == WAITS) {
            assert_int_equal(lent, 0);
            s->fate = DROPPED;
            w->ports[no].drops[SCHED_DROP_port_gone]++;
            w->ports[no].bytes -= s->size;
            w->ports[no].waiting--;
            w->used -= s->size;
            w->waiting--;
        }
    }
    sched_port_gone(&w->s, (odp_port_t) { no });
    check_port(w, no);
}

#endif
