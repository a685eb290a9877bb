/* Packet-ins at a rate: ovs-vswitchd.conf.db(5), controller_rate_limit and controller_burst_limit.
 *
 * A bucket of credits, one a packet-in, that fills at the rate and holds as many as the burst.  Who finds no credit waits, in a queue as long as the
 * burst that ports take turns in (pin.h), for a timer that sends as many as there are credits for. */
#include <config.h>

#include <event2/event.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/pin.h"

#define CREDIT 1000 /* So that a millisecond is worth 'rate'. */

struct ofconn_rate {
    unsigned int rate, burst;
    uint64_t credit; /* In thousandths. */
    uint64_t last;   /* ms: when it was filled. */
    uint64_t drops;
    struct pin_queue queue;
    struct event *timer;
};

static void fill(struct ofconn_rate *r)
{
    uint64_t now = clock_msec();

    r->credit = MIN(r->credit + MIN(now - r->last, 60000) * r->rate, (uint64_t) r->burst * CREDIT);
    r->last = now;
}

/* Sends what there is credit for. */
static void run(struct ofconn *c)
{
    struct ofconn_rate *r = c->rate;
    struct pin *p;

    while (r->credit >= CREDIT && (p = pin_queue_take(&r->queue)) != NULL) {
        r->credit -= CREDIT;
        packet_in_send(c, p);
        pin_destroy(p);
    }
    if (r->queue.n) {
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

void ofconn_set_rate(struct ofconn *c, unsigned int rate, unsigned int burst)
{
    struct pin *p;

    if (!rate) {
        while (c->rate && (p = pin_queue_take(&c->rate->queue)) != NULL) {
            packet_in_send(c, p); /* Who has waited long enough. */
            pin_destroy(p);
        }
        ofconn_rate_uninit(c);
        return;
    }
    if (!c->rate) {
        c->rate = xzalloc(sizeof *c->rate);
        c->rate->timer = evtimer_new(c->ofproto->base, timer_cb, c);
        c->rate->last = clock_msec();
        c->rate->credit = (uint64_t) MAX(burst, 1) * CREDIT;
        c->rate->queue.max_bytes = OFP_CONN_MAX_OUTPUT;
    }
    c->rate->rate = rate;
    c->rate->burst = c->rate->queue.max_n = MAX(burst, 1);
    fill(c->rate);
}

uint64_t ofconn_rate_drops(const struct ofconn *c) { return c->rate ? c->rate->drops : 0; }

void ofconn_rate_send(struct ofconn *c, struct pin *p)
{
    struct ofconn_rate *r = c->rate;

    if (!r) {
        packet_in_send(c, p);
        return;
    }
    fill(r);
    if (!r->queue.n && r->credit >= CREDIT) {
        r->credit -= CREDIT;
        packet_in_send(c, p);
        return;
    }
    /* A queue is linked through the packet itself, which other connections may have in theirs. */
    struct pin *copy = pin_copy(p);
    if (!pin_queue_put(&r->queue, copy)) {
        r->drops++;
        pin_destroy(copy);
        return;
    }
    run(c);
}
