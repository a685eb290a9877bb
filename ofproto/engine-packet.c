/* Packets between controllers and the datapath: packet-ins, which come from handlers, and packet-outs.  Main. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/packet.h"
#include "ofproto/engine-private.h"
#include "ofproto/mac.h"
#include "ofproto/ofproto.h"
#include "ofproto/rule.h"
#include "ofproto/slow.h"
#include "ofproto/xlate-config.h"

/* Packet-ins that are told at a time: then whoever else waits for main has a turn. */
#define PACKET_INS_MAX 64

void engine_note_pids(const struct engine *e, struct xconfig *c)
{
    for (size_t i = 0; i < c->n_by_id; i++) {
        const struct xbundle *b = c->by_id[i];
        for (size_t k = 0; k < b->n_ports; k++) {
            struct xport *p = b->ports[k];
            uint32_t pid = odp_port_eq(p->odp, ODPP_NONE) ? 0 : dispatch_port_pid(e->dispatch, p->odp);
            __atomic_store_n(&p->upcall_pid, pid, __ATOMIC_RELAXED);
        }
    }
}

/* ---- In. ---- */

static void run_packet_ins(void *aux UNUSED)
{
    struct engine *e = engine_get();
    struct pin *next;
    bool more;

    if (!e) {
        return; /* The last bridge is gone. */
    }
    for (struct pin *p = pin_inbox_take(&e->pins, PACKET_INS_MAX, &more); p; p = next) {
        next = p->next;
        ofproto_packet_in(p);
        pin_destroy(p);
    }
    if (more) {
        loop_post(run_packet_ins, NULL);
    }
    engine_put(e);
}

void engine_wake_packet_ins(void *aux UNUSED) { loop_post(run_packet_ins, NULL); }

/* ---- Out. ---- */

struct packet_out {
    struct engine *e;
    struct flow flow;
    struct xlate_out out;
    struct rule *rules[XLATE_MAX_RULES];
    uint32_t actions[XLATE_ACTIONS_SIZE / 4];
    uint32_t key[ODP_KEY_MAX_SIZE / 4];
};

static const struct xbridge *find_bridge(const struct xconfig *c, uint32_t id)
{
    for (size_t i = 0; c && i < c->n_bridges; i++) {
        if (c->bridges[i]->id == id) {
            return c->bridges[i];
        }
    }
    return NULL;
}

/* What the packet is, and where the datapath is to think that it came in. */
static void make_flow(struct packet_out *s, const struct engine_packet_out *po, const struct xbridge *br)
{
    const struct xport *in = xbridge_port_by_ofp(br, po->in_port);

    if (po->pipeline) {
        s->flow = *po->pipeline;
    } else {
        memset(&s->flow, 0, sizeof s->flow);
    }
    packet_extract(po->packet, po->len, &s->flow); /* Long enough, so it cannot fail. */
    s->flow.in_port = in ? in->odp : ODPP_NONE;
}

/* As upcall_account() does for packets that came up. */
static void account(struct packet_out *s, size_t len)
{
    dep_t changed[XLATE_MAX_EFFECTS * MAC_LEARN_DEPS];
    uint64_t now = clock_msec();
    size_t n = 0;

    for (unsigned int i = 0; i < s->out.n_rules; i++) {
        rule_count(s->out.rules[i], 1, len, now);
    }
    for (unsigned int i = 0; i < s->out.n_effects; i++) {
        const struct effect *f = &s->out.effects[i];
        n += mac_table_learn(f->macs, f->vlan, f->mac, f->bundle, now, &changed[n]);
    }
    flowcache_changed(&s->e->fc, changed, n);
}

static void operate(struct dpif_op *ops[], size_t n, void *e_)
{
    struct engine *e = e_;

    dpif_operate(e->session, ops, n);
}

static int execute(struct packet_out *s, const struct engine_packet_out *po)
{
    struct attrbuf key;
    struct arena arena;

    attrbuf_init(&key, s->key, sizeof s->key);
    odp_key_put(&key, &s->flow);
    struct dpif_op op = {
        .type = DPIF_OP_EXECUTE,
        .execute = {
            .packet = po->packet, .packet_len = po->len,
            .key = attrbuf_data(&key), .key_len = attrbuf_len(&key),
            .actions = attrbuf_data(&s->out.actions), .actions_len = attrbuf_len(&s->out.actions),
        },
    }, *ops[] = { &op };
    if (!s->out.slow) {
        operate(ops, 1, s->e);
        return op.error;
    }
    arena_init(&arena, 16 * 1024);
    int error = slow_run(&arena, &op, operate, s->e);
    arena_uninit(&arena);
    return error;
}

int engine_packet_out(struct engine *e, const struct engine_packet_out *po)
{
    struct packet_out *s = xmalloc(sizeof *s);
    int error = -ENODEV;

    s->e = e;
    rcu_read_lock();
    const struct xbridge *br = find_bridge(flowcache_config(&e->fc), po->bridge);
    if (br) {
        const struct xlate_packet_out packet = { .in_port = po->in_port, .flow = &s->flow, .acts = po->acts, .acts_len = po->acts_len };
        make_flow(s, po, br);
        attrbuf_init(&s->out.actions, s->actions, sizeof s->actions);
        s->out.rules = s->rules;
        s->out.lessons.memory = NULL; /* It teaches nothing. */
        xlate_packet_out(br, &packet, &s->out);
        account(s, po->len);
        error = attrbuf_len(&s->out.actions) ? execute(s, po) : 0;
    }
    rcu_read_unlock();
    free(s);
    return error;
}
