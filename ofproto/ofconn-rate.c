/* Packet-ins that wait: for the rate (ovs-vswitchd.conf.db(5), controller_rate_limit and controller_burst_limit), and for who reads slowly.
 *
 * The rate is a bucket of credits, one a packet-in, that fills at the rate and holds as many as the burst.  Who reads slowly has at most BACKLOG_MAX
 * bytes of output before more packet-ins wait.  What waits is in a queue that ports take turns in (pin.h): had it been put into the output, as much as
 * that holds, one port's flood would fill it, and nothing of another port find room; the output is short, since what is in it is ahead of all.  The
 * queue is sent by a timer when there is credit, and by ofconn_room() when output has gone. */
#include <config.h>

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/pin.h"

#define CREDIT 1000              /* So that a millisecond is worth 'rate'. */
#define BACKLOG_MAX (64 * 1024)  /* Some 300 packets' beginnings; the kernel has as much again. */
#define WAITING_MAX 4096         /* As long as no burst is configured. */

/* What became of packet-ins since the limit is there. */
struct figures {
    uint64_t bypassed; /* Sent at once. */
    uint64_t queued;   /* To wait, those that found no room too. */
    uint64_t dropped, backlog;
};

/* For whom a figure is: flows that are to be set up, or what rules sent. */
enum { MISS, ACTION, N_TYPES };

struct ofconn_rate {
    unsigned int rate, burst; /* A rate of 0: any. */
    struct figures figures[N_TYPES];
    uint64_t credit; /* In thousandths. */
    uint64_t last;   /* ms: when it was filled. */
    uint64_t drops;
    struct pin_queue queue;
    struct event *timer;
};

static void timer_cb(evutil_socket_t fd, short what, void *c);

static struct ofconn_rate *need(struct ofconn *c)
{
    if (!c->rate) {
        c->rate = xzalloc(sizeof *c->rate);
        c->rate->timer = evtimer_new(c->ofproto->base, timer_cb, c);
        c->rate->last = clock_msec();
        c->rate->queue.max_n = WAITING_MAX;
        c->rate->queue.max_bytes = OFP_CONN_MAX_OUTPUT;
    }
    return c->rate;
}

static struct figures *figures_of(struct ofconn_rate *r, const struct pin *p)
{
    return &r->figures[p->cookie.reason == OFPR_NO_MATCH ? MISS : ACTION];
}

static bool has_room(const struct ofconn *c) { return ofp_conn_backlog(c->conn) < BACKLOG_MAX && !ofp_conn_is_full(c->conn); }
static bool has_credit(const struct ofconn_rate *r) { return !r->rate || r->credit >= CREDIT; }

static void pay(struct ofconn_rate *r)
{
    if (r->rate) {
        r->credit -= CREDIT;
    }
}

static void fill(struct ofconn_rate *r)
{
    uint64_t now = clock_msec();

    r->credit = MIN(r->credit + MIN(now - r->last, 60000) * r->rate, (uint64_t) r->burst * CREDIT);
    r->last = now;
}

/* Sends what may be sent, and sees to it that what may not goes later. */
static void run(struct ofconn *c)
{
    struct ofconn_rate *r = c->rate;
    struct pin *p;

    while (has_room(c) && has_credit(r) && (p = pin_queue_take(&r->queue)) != NULL) {
        pay(r);
        figures_of(r, p)->backlog--;
        packet_in_send(c, p);
        pin_destroy(p);
    }
    if (r->queue.n && !has_room(c)) {
        ofp_conn_want_room(c->conn);
    } else if (r->queue.n) {
        uint64_t ms = (CREDIT - r->credit + r->rate - 1) / r->rate;
        struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
        event_add(r->timer, &tv);
    }
}

static void timer_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *c_)
{
    struct ofconn *c = c_;

    fill(c->rate);
    run(c);
}

void ofconn_rate_uninit(struct ofconn *c)
{
    if (c->rate) {
        event_free(c->rate->timer);
        pin_queue_uninit(&c->rate->queue);
        free(c->rate);
        c->rate = NULL;
    }
}

void ofconn_set_limits(struct ofconn *c, unsigned int rate, unsigned int burst, unsigned int queue_size)
{
    bool is_new = !c->rate || !c->rate->rate;

    if (!rate && !queue_size && !c->rate) {
        return;
    }
    struct ofconn_rate *r = need(c);
    r->rate = rate;
    r->burst = MAX(burst, 1);
    r->queue.max_n = rate ? r->burst : queue_size ? queue_size : WAITING_MAX;
    if (is_new) {
        for (unsigned int i = 0; i < N_TYPES; i++) {
            r->figures[i] = (struct figures) { .backlog = r->figures[i].backlog };
        }
        r->last = clock_msec();
        r->credit = (uint64_t) r->burst * CREDIT;
    }
    fill(r);
    run(c);
}

void ofconn_put_rate_status(const struct ofconn *c, void (*put)(const char *key, const char *value, void *aux), void *aux)
{
    static const char *const types[N_TYPES] = { [MISS] = "miss", [ACTION] = "action" };

    for (unsigned int i = 0; c->rate && c->rate->rate && i < N_TYPES; i++) {
        const struct figures *f = &c->rate->figures[i];
        const struct {
            const char *name;
            uint64_t n;
        } all[] = { { "bypassed", f->bypassed }, { "queued", f->queued }, { "dropped", f->dropped }, { "backlog", f->backlog } };
        for (size_t k = 0; k < ARRAY_SIZE(all); k++) {
            char key[64], value[24];
            snprintf(key, sizeof key, "packet-in-%s-%s", types[i], all[k].name);
            snprintf(value, sizeof value, "%" PRIu64, all[k].n);
            put(key, value, aux);
        }
    }
}

uint64_t ofconn_rate_drops(const struct ofconn *c) { return c->rate ? c->rate->drops : 0; }

void ofconn_rate_send(struct ofconn *c, struct pin *p)
{
    struct ofconn_rate *r = c->rate;

    if (!r && has_room(c)) {
        packet_in_send(c, p);
        return;
    }
    r = need(c);
    fill(r);
    if (!r->queue.n && has_credit(r) && has_room(c)) {
        pay(r);
        figures_of(r, p)->bypassed++;
        packet_in_send(c, p);
        return;
    }
    /* A queue is linked through the packet itself, which other connections may have in theirs. */
    struct pin *copy = pin_copy(p);
    struct figures *f = figures_of(r, p);
    f->queued++;
    if (pin_queue_put(&r->queue, copy)) {
        f->backlog++;
    } else {
        f->dropped++;
        r->drops++;
        pin_destroy(copy);
    }
    run(c);
}

void ofconn_rate_room(struct ofconn *c)
{
    if (c->rate) {
        fill(c->rate);
        run(c);
    }
}
