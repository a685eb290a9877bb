/* What must hold in a large world after every step, and at rest: see big-world.h.
 *
 * Three functions are wrapped, by the linker's --wrap, to see each packet on its way: sched_add(), where it is read from a channel;
 * upcall_account(), when it has been sent on and the tables are still as its translation saw them; dpif_set_dispatch(), for what the
 * kernel is told.  What they find wrong is noted, and said after the step, out of RCU's read sections. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/util.h"
#include "lib/dpif/channel.h"
#include "lib/dpif/dispatch-provider.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/dpif/session-pool.h"
#include "lib/io/affinity.h"
#include "lib/io/placement.h"
#include "ofproto/engine-private.h"
#include "ofproto/handler-private.h"
#include "tests/sim/big-world.h"
#include "tests/sim/sim-kit.h"

#define NUMBER_AT 42
#define MAX_FDS (1 << 20)

/* ---- Packets on their way. ---- */

static uint32_t number_of(const struct big_world *w, const struct dpif_upcall *u)
{
    uint32_t number;
    memcpy(&number, (const char *) u->packet + NUMBER_AT, sizeof number);
    assert_true(number < w->n_packets);
    return number;
}

static struct big_world *world_of(const struct sched *s)
{
    return CONTAINER_OF(s, struct handler, sched)->fc->aux;
}

enum sched_drop __real_sched_add(struct sched *s, const struct dpif_upcall *u, const void *msg, size_t len, uint64_t arrived);
enum sched_drop __wrap_sched_add(struct sched *s, const struct dpif_upcall *u, const void *msg, size_t len, uint64_t arrived);
enum sched_drop __wrap_sched_add(struct sched *s, const struct dpif_upcall *u, const void *msg, size_t len, uint64_t arrived)
{
    struct big_world *w = world_of(s);
    uint32_t number = number_of(w, u);
    struct big_packet *p = &w->packets[number];
    enum sched_drop drop = __real_sched_add(s, u, msg, len, arrived);

    w->n_read++;
    if (p->state != BIG_QUEUED) {
        big_complain(w, number, "came out of a channel twice");
    }
    p->state = drop ? BIG_DROPPED : BIG_KEPT;
    w->n_dropped += drop != SCHED_KEPT;
    return drop;
}

static void handled(struct big_world *w, uint32_t number)
{
    struct big_packet *p = &w->packets[number];
    struct big_port *in = &w->ports[p->in_port];
    bool stale = p->gen != in->gen;
    uint32_t *last = &w->ports[p->src].last_handled[p->is_arp][p->dst];
    const struct big_packet *later = &w->packets[*last];

    w->n_done++;
    w->n_stale += stale;
    if (p->state != BIG_KEPT) {
        big_complain(w, number, "was handled, and no lane had it");
    } else if (stale && p->out) {
        big_complain(w, number, "was sent on, though its port is no more");
    } else if (!stale && p->out != big_expected(w, p)) {
        big_complain(w, number, p->out & ~big_expected(w, p) ? "left by more ports than the tables said" : "was lost");
    } else if (*last > number && p->is_ordered && later->is_ordered && p->in_port == later->in_port && p->gen == later->gen) {
        big_complain(w, number, "was overtaken by a later one of its flow");
    }
    *last = MAX(*last, number);
    p->state = BIG_DONE;
}

void __real_upcall_account(struct upcall_batch *b);
void __wrap_upcall_account(struct upcall_batch *b);
void __wrap_upcall_account(struct upcall_batch *b)
{
    struct big_world *w = b->fc->aux;

    for (unsigned int i = 0; i < b->n; i++) {
        handled(w, number_of(w, b->upcalls[i].dp));
    }
    __real_upcall_account(b);
}

/* ---- After every step. ---- */

void big_tally(struct big_world *w, unsigned int h)
{
    struct handler_stats s;
    struct big_tally *t = &w->tally[h], now;

    if (h == ENGINE_MAX_THREADS) {
        s = w->engine->retired;
    } else {
        handler_get_stats(w->engine->handlers[h], &s);
    }
    assert_int_equal(s.upcalls.malformed + s.upcalls.alien_action + s.drops[SCHED_DROP_exit], 0);
    now = (struct big_tally) {
        .received = s.upcalls.received,
        .done = s.upcalls.executed + s.upcalls.dropped + s.upcalls.send_failed,
        .gone = s.drops[SCHED_DROP_port_gone],
        .dropped = s.upcalls.overload - s.drops[SCHED_DROP_port_gone],
    };
    assert_true(now.received >= t->received && now.done >= t->done && now.gone >= t->gone && now.dropped >= t->dropped);
    w->sum.received += now.received - t->received;
    w->sum.done += now.done - t->done;
    w->sum.gone += now.gone - t->gone;
    w->sum.dropped += now.dropped - t->dropped;
    w->n_gone = w->sum.gone;
    *t = now;
}

static void check_complaint(struct big_world *w)
{
    if (w->complaint) {
        const struct big_packet *p = &w->packets[w->complaint_packet];
        fail_msg("seed %llu: packet %u (host %u at port %u to %u) %s: ports %#x, expected %#x", (unsigned long long) w->seed,
                 w->complaint_packet, p->src, p->in_port, p->dst, w->complaint, p->out, big_expected(w, p));
    }
}

/* A channel by the way: it is of a port that is there, the kernel knows it, and one that is there is to read it. */
static void check_one_channel(struct big_world *w)
{
    const struct dispatch *d = w->engine->dispatch;
    const struct channel *ch = d->channels[big_random(w, d->n_channels)];
    struct dpif_port info;

    assert_true(ch->owner < d->n_handlers && ch->reader < d->n_made);
    if (!odp_port_eq(ch->port, ODPP_NONE)) {
        unsigned int port = w->by_odp[ch->port.n];
        assert_true(port < w->n_ports);
        if (!w->ports[port].vanished) {
            assert_int_equal(dpif_port_query_by_number(w->engine->session, ch->port, &info), 0);
            assert_int_equal(info.upcall_pid, ch->pid);
        }
    }
}

void big_check_step(struct big_world *w)
{
    struct sim_counts counts;
    struct dpif_stats dp;

    check_complaint(w);
    assert_int_equal(dpif_get_stats(w->engine->session, &dp), 0);
    sim_get_counts(w->engine->dpif, &counts);
    /* Sent: a flow has seen to it, or it is in a channel or was, or the kernel has counted it as lost. */
    assert_int_equal(dp.n_hit, w->n_hit);
    assert_int_equal(dp.n_lost, w->n_lost);
    assert_int_equal(dp.n_missed, w->n_queued + w->n_lost);
    assert_int_equal(counts.n_miss_upcalls, w->n_queued);
    assert_int_equal(counts.n_action_upcalls + counts.n_action_errors, 0);
    /* Read: waits, or has had one end, which its handler has counted. */
    assert_int_equal(w->sum.received, w->n_read);
    assert_int_equal(w->sum.done, w->n_done);
    assert_int_equal(w->sum.dropped, w->n_dropped);
    assert_true(w->n_read <= w->n_queued);
    assert_true(w->n_done + w->n_dropped + w->n_gone <= w->n_read);
    check_one_channel(w);
}

/* ---- Channels and descriptors. ---- */

/* Adds one to IN_SETS[FD] for each descriptor on which handler H sleeps, as the kernel has it; and notes in SET[FD] that it was H's. */
static void read_set(const struct channel_set *s, unsigned int h, uint8_t in_sets[], uint16_t set[])
{
    char name[64], line[256];
    unsigned int fd;

    for (size_t i = 0; i < s->n; i++) {
        assert_int_equal(s->fds[i].fd, s->few[i]->fd);
        in_sets[s->fds[i].fd]++;
        set[s->fds[i].fd] = h;
    }
    if (s->epoll_fd < 0) {
        return;
    }
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", s->epoll_fd);
    FILE *f = fopen(name, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "tfd: %u", &fd) == 1) {
            assert_true(fd < MAX_FDS);
            in_sets[fd]++;
            set[fd] = h;
        }
    }
    fclose(f);
}

void big_check_owners(struct big_world *w, bool settled)
{
    const struct dispatch *d = w->engine->dispatch;
    uint8_t *in_sets = xcalloc(MAX_FDS, sizeof *in_sets);
    uint16_t *set = xcalloc(MAX_FDS, sizeof *set);

    for (unsigned int h = 0; h < d->n_made; h++) {
        read_set(&d->handlers[h]->set, h, in_sets, set);
        assert_true(!settled || !d->handlers[h]->n_retiring);
    }
    for (size_t i = 0; i < d->n_channels; i++) {
        const struct channel *ch = d->channels[i];
        assert_int_equal(in_sets[ch->fd], 1);
        assert_int_equal(set[ch->fd], ch->reader);
        assert_true(!settled || ch->reader == ch->owner);
    }
    free(in_sets);
    free(set);
}

/* What the engine has beside channels, what handlers sleep on, and the pools of sessions: main's session, port events, a socket for dumps,
 * and what wakes the revalidators. */
#define ENGINE_FDS 4
#define REVALIDATOR_SESSIONS 4

size_t big_check_fds(const struct big_world *w)
{
    const struct engine *e = w->engine;
    size_t n_channels = e->dispatch->n_channels, n_ports = 0;
    size_t n = count_fds() - w->n_fds_before - sim_n_kernel_fds();

    for (unsigned int i = 0; i < w->n_ports; i++) {
        n_ports += !odp_port_eq(w->ports[i].no, ODPP_NONE);
    }
    bool per_port = dispatch_mode(e->dispatch) == DPIF_DISPATCH_PER_PORT;
    assert_int_equal(n_channels, per_port ? n_ports + 1 : e->n_handlers);
    assert_int_equal(n, n_channels + (per_port ? e->n_handlers : 0) + MIN(e->n_handlers, SESSION_POOL_MAX)
                            + MIN(revalidators_n(e->revalidators), REVALIDATOR_SESSIONS) + ENGINE_FDS);
    return n;
}

/* What the kernel was told last. */
static uint32_t *told;
static size_t n_told;

int __real_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n);
int __wrap_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n);
int __wrap_dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n)
{
    if (mode == DPIF_DISPATCH_PER_CPU) {
        told = xrealloc(told, n * sizeof *told);
        memcpy(told, pids, n * sizeof *told);
        n_told = n;
    }
    return __real_dpif_set_dispatch(s, mode, pids, n);
}

void big_check_pids(struct big_world *w)
{
    const struct dispatch *d = w->engine->dispatch;
    struct placement p;
    struct sim_counts counts;

    sim_get_counts(w->engine->dpif, &counts);
    assert_int_equal(counts.dispatch, dispatch_mode(d));
    assert_int_equal(n_told, affinity_machine()->n_cpus);
    placement_make(affinity_machine(), w->engine->n_handlers, &p);
    for (unsigned int cpu = 0; cpu < n_told; cpu++) {
        const struct channel *ch = NULL;
        for (size_t i = 0; i < d->n_channels && !ch; i++) {
            ch = d->channels[i]->pid == told[cpu] ? d->channels[i] : NULL;
        }
        assert_non_null(ch);
        if (counts.dispatch == DPIF_DISPATCH_PER_CPU) {
            assert_int_equal(ch->owner, p.handler[cpu]);
        }
    }
}

/* ---- At rest. ---- */

struct port_sum {
    const struct big_world *w;
    uint64_t *received; /* By number. */
    uint64_t total;
};

static void add_port(odp_port_t no, const struct port_stats *s, void *sum_)
{
    struct port_sum *sum = sum_;
    sum->received[no.n] += s->received;
    sum->total += s->received;
}

/* What handlers say of a port is what the kernel says that it sent of it: of this port, not of one that had its number. */
static void check_ports(struct big_world *w)
{
    struct port_sum sum = { .w = w, .received = xcalloc(UINT16_MAX + 1, sizeof *sum.received) };

    for (unsigned int h = 0; h < w->engine->n_handlers; h++) {
        uint64_t before = sum.total;
        handler_show_ports(w->engine->handlers[h], add_port, &sum);
        /* Less: figures of ports that went go with them. */
        assert_true(sum.total - before <= w->tally[h].received);
        assert_true(w->n_changes || sum.total - before == w->tally[h].received);
    }
    for (unsigned int i = 0; i < w->n_ports; i++) {
        const struct big_port *p = &w->ports[i];
        struct dpif_port info;
        if (odp_port_eq(p->no, ODPP_NONE)) {
            continue;
        }
        assert_int_equal(dpif_port_query_by_number(w->engine->session, p->no, &info), 0);
        uint64_t n = sum.received[p->no.n];
        if (p->whole ? n != info.upcall_success : n > info.upcall_success) {
            fail_msg("seed %llu: port %u (number %u): handlers have received %llu upcalls of it, of %llu", (unsigned long long) w->seed,
                     i, p->no.n, (unsigned long long) n, (unsigned long long) info.upcall_success);
        }
    }
    free(sum.received);
}

/* Each loss has a channel, and in per-port mode a port. */
static void check_losses(struct big_world *w)
{
    struct dispatch_loss *losses;
    struct dpif_port info;
    size_t n;

    assert_int_equal(dispatch_get_loss(w->engine->dispatch, &losses, &n, NULL), w->n_lost);
    for (size_t i = 0; i < n; i++) {
        if (!odp_port_eq(losses[i].port, ODPP_NONE) && w->ports[w->by_odp[losses[i].port.n]].whole) {
            assert_int_equal(dpif_port_query_by_number(w->engine->session, losses[i].port, &info), 0);
            assert_int_equal(losses[i].n, info.upcall_fail);
        }
    }
    free(losses);
}

/* Of each packet sent since the last rest. */
static void check_packets(struct big_world *w)
{
    for (; w->n_checked < w->n_packets; w->n_checked++) {
        const struct big_packet *p = &w->packets[w->n_checked];
        if (p->state == BIG_QUEUED) {
            big_complain(w, w->n_checked, "is left in a channel");
        } else if (p->state == BIG_KEPT && p->gen == w->ports[p->in_port].gen) {
            big_complain(w, w->n_checked, "has come to no end");
        }
    }
    check_complaint(w);
}

void big_check_at_rest(struct big_world *w)
{
    struct engine *e = w->engine;

    big_poll_ports(w);
    big_settle(w);
    big_drain(w);
    do {
        w->kicked = false;
        big_revalidate(w);
    } while (w->kicked);
    big_check_step(w);
    w->settled = true;
    for (unsigned int h = 0; h < e->n_handlers; h++) {
        assert_true(sched_is_empty(&e->handlers[h]->sched));
        assert_int_equal(handler_n_away(e->handlers[h]), 0);
        assert_null(e->handlers[h]->sched.control_first);
    }
    /* Nothing waits: each has had its end. */
    assert_int_equal(w->n_read, w->n_queued);
    assert_int_equal(w->n_done + w->n_dropped + w->n_gone, w->n_queued);
    check_packets(w);
    check_ports(w);
    check_losses(w);
    big_check_fds(w);
    big_check_owners(w, true);
    struct dpif_stats dp;
    assert_int_equal(dpif_get_stats(e->session, &dp), 0);
    assert_int_equal(dp.n_flows, ukey_table_count(e->fc.ukeys));
}
