/* What must hold in a world at rest, and what is noted on the way there: see sim-world.h.
 *
 * upcall_account() is wrapped, by the linker's --wrap: when it begins, a batch has been translated and its packets have
 * been sent, and the tables are still as translation saw them.  So each packet can be held against them there, whatever they become
 * later.  What is found wrong is noted with the packet and told at rest, out of RCU's read sections. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"
#include "ofproto/upcall.h"
#include "ofproto/xlate.h"
#include "tests/sim/sim-world.h"

/* ---- What is played. ---- */

/* The real one waits for the kernel's processors, which have nothing to do with a simulated datapath: some 15 ms each time. */
void __wrap_dispatch_kernel_grace_period(void);
void __wrap_dispatch_kernel_grace_period(void) {}

/* ---- Packets. ---- */

void __real_upcall_account(struct upcall_batch *b);
void __wrap_upcall_account(struct upcall_batch *b);
void __wrap_upcall_account(struct upcall_batch *b)
{
    struct world *w = b->fc->aux;

    for (unsigned int i = 0; i < b->n; i++) {
        uint32_t number;
        memcpy(&number, (const char *) b->upcalls[i].dp->packet + 14, sizeof number);
        assert_true(number < w->n_packets);
        struct world_packet *p = &w->packets[number];
        p->n_handled++;
        if (w->in_order) {
            assert_true(w->last_handled[p->src][p->dst] <= number);
            w->last_handled[p->src][p->dst] = number;
        }
        p->to_be_lost = !odp_port_eq(w->odp[p->in_port], p->in_odp);
        p->expected = p->to_be_lost ? 0 : world_expected(w, p->src, p->dst, p->in_port);
    }
    __real_upcall_account(b);
}

static const char *packet_complaint(const struct world_packet *p, bool port_went)
{
    if (p->doubled) {
        return "left a port twice";
    } else if (p->strayed) {
        return "left where it must not";
    } else if (p->misled) {
        return "was misled by a flow that was held to be right";
    } else if (p->queued && p->n_handled > 1) {
        return "was handled twice";
    } else if (p->queued && !p->n_handled) {
        return port_went ? NULL : "was lost on its way to a handler";
    } else if (p->queued && p->out != p->expected) {
        return p->expected & ~p->out ? "was lost" : "left by more ports than the tables said";
    }
    return NULL;
}

static void add_received(odp_port_t no, const struct port_stats *s, void *sum) { *(uint64_t *) sum += s->received; }

static void check_packets(struct world *w)
{
    struct handler_stats total = w->total;
    struct dpif_stats dp;
    struct sim_counts counts;

    for (unsigned int h = 0; h < w->n_handlers; h++) {
        struct handler_stats s;
        handler_get_stats(w->handlers[h], &s);
        handler_stats_add(&total, &s);
    }
    assert_int_equal(dpif_get_stats(w->session, &dp), 0);
    sim_get_counts(w->dpif, &counts);
    assert_int_equal(dp.n_lost, 0);
    assert_int_equal(total.upcalls.malformed + total.upcalls.alien_action, 0);
    /* Each upcall that was delivered to a channel has been received, and has had one end. */
    assert_int_equal(total.upcalls.received, counts.n_miss_upcalls);
    assert_int_equal(total.upcalls.executed + total.upcalls.dropped + total.upcalls.send_failed + total.upcalls.overload,
                     counts.n_miss_upcalls);
    assert_int_equal(total.upcalls.overload, total.drops[SCHED_DROP_port_gone]);
    /* All of it can be told by port, also what handlers counted that have ended. */
    uint64_t n_of_ports = 0;
    for (unsigned int h = 0; h < w->n_handlers; h++) {
        handler_show_ports(w->handlers[h], add_received, &n_of_ports);
    }
    port_ledger_show(&w->total_ports, add_received, &n_of_ports);
    assert_true(w->port_went || n_of_ports == counts.n_miss_upcalls);
    uint64_t n_gone = 0;
    for (unsigned int i = 0; i < w->n_packets; i++) {
        const struct world_packet *p = &w->packets[i];
        bool port_went = !odp_port_eq(w->odp[p->in_port], p->in_odp);
        const char *complaint = packet_complaint(p, port_went);
        n_gone += p->queued && !p->n_handled;
        if (complaint) {
            fail_msg("seed %llu: packet %u (host %u at port %u to host %u) %s: ports %#llx, not %#llx",
                     (unsigned long long) w->seed, i, p->src, p->in_port, p->dst, complaint, (unsigned long long) p->out,
                     (unsigned long long) p->expected);
        }
    }
    assert_int_equal(n_gone, total.drops[SCHED_DROP_port_gone]);
}

/* ---- Flows. ---- */

struct search {
    const struct world *w;
    const struct flow *packet;
    struct ufid ufid;
    bool found;
};

static bool matches(const struct flow *packet, const struct flow *key, const struct flow *mask)
{
    const uint8_t *p = (const uint8_t *) packet, *k = (const uint8_t *) key, *m = (const uint8_t *) mask;
    for (size_t i = 0; i < sizeof *packet; i++) {
        if ((p[i] ^ k[i]) & m[i]) {
            return false;
        }
    }
    return true;
}

static void search_one(struct ukey *u, void *s_)
{
    struct search *s = s_;
    struct flow key, mask;

    lock_acquire(&u->lock);
    bool right = u->state == UKEY_INSTALLED && u->reval_seq == s->w->fc.reval_seq;
    lock_release(&u->lock);
    if (right && odp_key_to_flow(ukey_key(u), u->key_len, &key) == ODP_FIT_PERFECT
        && odp_mask_to_flow(ukey_mask(u), u->mask_len, &key, &mask) == ODP_FIT_PERFECT
        && matches(s->packet, &key, &mask)) {
        s->ufid = u->ufid;
        s->found = true;
    }
}

bool world_has_right_flow(struct world *w, const struct flow *packet)
{
    struct search s = { .w = w, .packet = packet };
    struct dpif_flow f;

    ukey_table_walk(w->fc.ukeys, search_one, &s);
    return s.found && !dpif_flow_get(w->session, &s.ufid, NULL, 0, &f);
}

static void check_flow(struct world *w, const struct dpif_flow *f)
{
    static char memory[XLATE_ACTIONS_SIZE];
    struct flow flow, mask;
    struct xlate_out out;

    assert_int_equal(odp_key_to_flow(f->key, f->key_len, &flow), ODP_FIT_PERFECT);
    assert_int_equal(odp_mask_to_flow(f->mask, f->mask_len, &flow, &mask), ODP_FIT_PERFECT);
    attrbuf_init(&out.actions, memory, sizeof memory);
    out.rules = NULL;
    out.lessons.memory = NULL;
    rcu_read_lock();
    xlate(w->fc.config, &flow, &out);
    struct ukey *u = ukey_find(w->fc.ukeys, &f->ufid);
    int state = u ? (int) u->state : -1;
    rcu_read_unlock();
    if (attrbuf_len(&out.actions) != f->actions_len
        || memcmp(attrbuf_data(&out.actions), f->actions, f->actions_len)) {
        fail_msg("seed %llu: a flow from port %u has actions that are not what the tables say",
                 (unsigned long long) w->seed, flow.in_port.n);
    }
    assert_true(flow_mask_is_subset(&out.mask, &mask));
    if (state != UKEY_INSTALLED) {
        fail_msg("seed %llu: a flow from port %u has a ukey that is %s", (unsigned long long) w->seed, flow.in_port.n,
                 state < 0 ? "not there" : ukey_state_name(state));
    }
}

static void check_flows(struct world *w)
{
    struct dpif_flow_dump *dump;
    struct dpif_flow flows[16];
    uint64_t n_flows = 0;
    int n;

    assert_int_equal(dpif_flow_dump_create(w->dpif, false, &dump), 0);
    struct dpif_flow_dump_thread *t = dpif_flow_dump_thread_create(dump);
    while ((n = dpif_flow_dump_next(t, flows, 16)) > 0) {
        for (int i = 0; i < n; i++) {
            check_flow(w, &flows[i]);
        }
        n_flows += n;
    }
    dpif_flow_dump_thread_destroy(t);
    assert_int_equal(dpif_flow_dump_destroy(dump), 0);
    assert_int_equal(n_flows, ukey_table_count(w->fc.ukeys));
}

void world_check_at_rest(struct world *w)
{
    world_poll_ports(w);
    world_drain(w);
    do {
        w->kicked = false;
        revalidators_run_once(w->revalidators);
    } while (w->kicked);
    check_packets(w);
    check_flows(w);
}
