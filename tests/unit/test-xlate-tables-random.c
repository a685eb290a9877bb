/* Random tables and packets: translation against an interpreter of OpenFlow's rules that works on one packet and knows nothing of masks, and
 * the promise of the mask.
 *
 * Rules are made as text.  For each packet the datapath actions are carried out by a model of the kernel, on it and on others of its megaflow;
 * what leaves, where, and in which order must be what the interpreter says.  SEED is printed, and taken from the environment. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/xlate-tables-kit.h"

#define N_PIPELINES 300
#define N_PACKETS 12
#define N_OTHERS 6
#define MAX_SENT 4096
#define LAST_TABLE 3

static unsigned int seed;
static bool with_normal; /* Some rules say normal, of which the interpreter knows nothing: then only the mask's promise is checked. */
static unsigned int rnd(unsigned int n) { return (unsigned int) rand() % n; }

/* A packet on its way, and the packets that have left. */
struct packet {
    struct flow f;
    struct tags t;
};
struct sent {
    uint32_t port;
    struct packet p;
};
struct result {
    unsigned int n;
    struct sent sent[MAX_SENT];
};

/* ---- Random rules. ---- */

static void put_match(FILE *out, bool second)
{
    static const char *const types[] = { "", ",ip", ",tcp", ",udp", ",ipv6", ",tcp6", ",arp" };
    const char *type = types[rnd(ARRAY_SIZE(types))];
    bool v4 = !strcmp(type, ",ip") || !strcmp(type, ",tcp") || !strcmp(type, ",udp");

    fputs(type, out);
    if (!rnd(4)) {
        fprintf(out, ",in_port=%u", second ? 10 : 1 + rnd(3));
    }
    if (!rnd(3)) {
        fprintf(out, ",dl_src=02:00:00:00:00:0%u/ff:ff:ff:ff:ff:0%u", rnd(4), rnd(4));
    }
    if (!rnd(4)) {
        static const char *const tags[] = { "vlan_tci=0", "vlan_tci=0x1000/0x1000", "dl_vlan=1", "dl_vlan_pcp=1", "vlan_tci=0x3001" };
        fprintf(out, ",%s", tags[rnd(ARRAY_SIZE(tags))]);
    }
    if (v4 && !rnd(2)) {
        fprintf(out, ",nw_src=10.0.0.%u/%u", rnd(4), 24 + rnd(9));
    }
    if ((v4 || !strcmp(type, ",tcp6")) && !rnd(4)) {
        fprintf(out, ",nw_ttl=%u", rnd(4));
    }
    if ((strstr(type, "tcp") || strstr(type, "udp")) && !rnd(2)) {
        fprintf(out, ",tp_dst=%u/%u", rnd(4), rnd(4));
    }
    if (!rnd(4)) {
        fprintf(out, ",reg0=%u/%u", rnd(4), rnd(4));
    }
    if (!rnd(6)) {
        fprintf(out, ",metadata=%u/%u", rnd(4), rnd(4));
    }
}

static void put_output(FILE *out, bool second)
{
    if (with_normal && !rnd(3)) {
        fputs("normal", out);
        return;
    }
    fprintf(out, "output:%u", second ? 11 + rnd(2) : 1 + rnd(5));
}

/* One that may be in an action set too. */
static void put_setter(FILE *out)
{
    switch (rnd(20)) {
    case 0: fprintf(out, "mod_dl_src:02:00:00:00:00:0%u", rnd(4)); break;
    case 1: fprintf(out, "mod_dl_dst:02:00:00:00:00:0%u", rnd(4)); break;
    case 2: fprintf(out, "mod_nw_src:10.0.0.%u", rnd(4)); break;
    case 3: fprintf(out, "mod_nw_dst:10.0.0.%u", rnd(4)); break;
    case 4: fprintf(out, "mod_nw_tos:%u", 4 * rnd(2)); break;
    case 5: fprintf(out, "mod_tp_dst:%u", rnd(4)); break;
    case 6: fprintf(out, "mod_tp_src:%u", rnd(4)); break;
    case 7: fprintf(out, "mod_vlan_vid:%u", rnd(3)); break;
    case 8: fprintf(out, "mod_vlan_pcp:%u", rnd(3)); break;
    case 9: fprintf(out, "strip_vlan"); break;
    case 10: fprintf(out, "push_vlan:0x8%s", rnd(2) ? "100" : "8a8"); break;
    case 11: fprintf(out, "dec_ttl"); break;
    case 12: fprintf(out, "load:%u->NXM_NX_REG%u[%u..%u]", rnd(4), rnd(2), rnd(2), 3); break;
    case 13: fprintf(out, "load:%u->NXM_OF_ETH_SRC[%u..3]", rnd(2), rnd(3)); break;
    case 14: fprintf(out, "load:%u->NXM_OF_VLAN_TCI[%u..12]", rnd(2), 12 - rnd(13)); break;
    case 15: fprintf(out, "move:NXM_OF_ETH_SRC[0..1]->NXM_NX_REG%u[0..1]", rnd(2)); break;
    case 16: fprintf(out, "move:NXM_OF_IP_SRC[0..1]->NXM_OF_IP_DST[%u..%u]", 1, 2); break;
    case 17: fprintf(out, "move:NXM_NX_REG%u[0..1]->NXM_OF_%s[0..1]", rnd(2), rnd(2) ? "TCP_DST" : "VLAN_TCI"); break;
    case 18: fprintf(out, "set_field:%u->ip_dscp", rnd(3)); break;
    case 19: fprintf(out, "load:%u->NXM_OF_IN_PORT[]", rnd(4)); break;
    }
}

static void put_actions(FILE *out, bool second, unsigned int table, unsigned int depth);

static void put_action(FILE *out, bool second, unsigned int table, unsigned int depth)
{
    static const char *const values[] = { "NXM_NX_REG0[0..7]", "NXM_OF_ETH_SRC[0..3]", "NXM_NX_REG1[]", "NXM_OF_IP_SRC[0..3]", "NXM_OF_TCP_DST[0..1]" };

    switch (rnd(14)) {
    case 0: case 1: case 2: case 3:
        put_output(out, second);
        break;
    case 4:
        fprintf(out, table < LAST_TABLE ? "resubmit(%s,%u)" : "note:00", rnd(3) ? "" : "2", table + 1 + rnd(LAST_TABLE - table + !(LAST_TABLE - table)));
        break;
    case 5:
        fprintf(out, "push:%s", values[rnd(ARRAY_SIZE(values))]);
        break;
    case 6:
        fprintf(out, "pop:%s", values[rnd(ARRAY_SIZE(values))]);
        break;
    case 7:
        if (depth < 2) {
            fprintf(out, "clone(");
            put_actions(out, second, table, depth + 1);
            fprintf(out, ")");
            break;
        }
        fputs("note:00", out);
        break;
    case 8:
        fputs(rnd(4) ? "output:NXM_NX_REG0[0..1]" : second ? "exit" : "in_port", out);
        break;
    default:
        put_setter(out);
    }
}

static void put_actions(FILE *out, bool second, unsigned int table, unsigned int depth)
{
    for (unsigned int i = 0, n = 1 + rnd(5); i < n; i++) {
        fputs(i ? "," : "", out);
        put_action(out, second, table, depth);
    }
}

static unsigned int n_rules;

static void add_random_rule(struct xbridge *br, bool second)
{
    struct text t;
    FILE *out = text_open(&t);
    unsigned int table = rnd(3) ? rnd(LAST_TABLE + 1) : 0;

    /* No two alike: of two rules of one priority that both match, either may be met. */
    fprintf(out, "table=%u,priority=%u", table, 100 + 32 * ((unsigned int) rand() % 2000) + n_rules++ % 32);
    put_match(out, second);
    fprintf(out, " actions=");
    put_actions(out, second, table, 0);
    if (!rnd(8)) {
        fprintf(out, ",clear_actions");
    }
    if (!rnd(3)) {
        fprintf(out, ",write_actions(");
        put_output(out, second);
        fprintf(out, ",");
        put_setter(out);
        fprintf(out, ")");
    }
    if (!rnd(5)) {
        fprintf(out, ",write_metadata:%u/%u", rnd(4), 3);
    }
    if (table < LAST_TABLE && rnd(3)) {
        fprintf(out, ",goto_table:%u", table + 1 + rnd(LAST_TABLE - table));
    }
    char *text = text_close(&t);
    if (getenv("VERBOSE")) {
        print_message("%s %s\n", br->name, text);
    }
    kit_try_flow(br, text); /* Actions may not fit the match. */
    free(text);
}

static struct flow random_packet(void)
{
    struct flow f = { .in_port = { 1 + rnd(4) }, .eth_src = kit_mac(rnd(4)), .eth_dst = kit_mac(rnd(4)), .ip_ttl = rnd(4), .ip_tos = 4 * rnd(3),
                      .ip_proto = rnd(2) ? IPPROTO_TCP : IPPROTO_UDP, .tp_src = htons(rnd(4)), .tp_dst = htons(rnd(4)) };
    static const uint16_t types[] = { ETH_TYPE_IPV4, ETH_TYPE_IPV4, ETH_TYPE_IPV6, ETH_TYPE_ARP };

    f.eth_type = htons(types[rnd(ARRAY_SIZE(types))]);
    if (f.eth_type == htons(ETH_TYPE_IPV4)) {
        f.ip_src = htonl(0x0a000000 + rnd(4));
        f.ip_dst = htonl(0x0a000000 + rnd(4));
        f.ip_frag = rnd(6) ? 0 : rnd(2) ? FLOW_FRAG_ANY : FLOW_FRAG_ANY | FLOW_FRAG_LATER;
        if (f.ip_frag & FLOW_FRAG_LATER) { /* It has no ports. */
            f.tp_src = f.tp_dst = 0;
        }
    } else if (f.eth_type == htons(ETH_TYPE_IPV6)) {
        f.ipv6_src.s6_addr[15] = rnd(4);
    } else {
        f.ip_proto = 1;
        f.ip_ttl = f.ip_tos = 0;
        f.tp_src = f.tp_dst = 0;
    }
    for (unsigned int i = 0, n = rnd(3); i < n; i++) {
        f.vlan[i] = kit_tag(rnd(4) ? ETH_TYPE_VLAN : ETH_TYPE_QINQ, rnd(3), rnd(3));
    }
    return f;
}

static struct packet packet_of(const struct flow *flow)
{
    struct packet p = { .f = *flow };

    while (p.t.n < FLOW_MAX_VLANS && flow_vlan_present(&flow->vlan[p.t.n])) {
        p.t.v[p.t.n] = flow->vlan[p.t.n];
        p.t.n++;
    }
    return p;
}

static void leave(struct result *r, uint32_t port, const struct packet *p)
{
    assert_true(r->n < MAX_SENT);
    struct sent *s = &r->sent[r->n++];
    *s = (struct sent) { port, *p };
    flow_clear_pipeline(&s->p.f);
    memset(s->p.f.vlan, 0, sizeof s->p.f.vlan); /* These are in 't'. */
}

/* ---- The interpreter of rules. ---- */

#define MAX_RULES 64
struct run {
    const struct xconfig *c;
    const struct xbridge *br;
    struct packet p;
    bool ended, failed, list_ended;
    int go_to;
    uint8_t table;
    const struct ofp_act *set[64];
    unsigned int n_set;
    struct { union ofp_value v; size_t n; } stack[64];
    unsigned int n_stack;
    struct result *result;
};

static void show_tags(struct packet *p)
{
    memset(p->f.vlan, 0, sizeof p->f.vlan);
    memcpy(p->f.vlan, p->t.v, MIN(p->t.n, FLOW_MAX_VLANS) * sizeof p->t.v[0]);
}

static void run_port(const struct xconfig *c, const struct xport *in, struct packet p, struct result *result);

static void run_output(struct run *r, unsigned int no)
{
    unsigned int in = ntohs(r->p.f.ofp_in_port);
    bool back = no == OFPP_IN_PORT_N;
    const struct xport *port = xbridge_port_by_ofp(r->br, (ofp_port_t) { back ? in : no });

    if (port && (back || no != in)) {
        if (port->is_patch) {
            run_port(r->c, port->peer, r->p, r->result);
        } else {
            leave(r->result, port->odp.n, &r->p);
        }
    }
}

struct best {
    const struct flow *f;
    struct rule *rule;
};

static bool consider(struct rule *rule, void *best_)
{
    struct best *best = best_;
    struct match m;

    cls_rule_get_match(&rule->cls, &m);
    if (flow_equal_masked(best->f, &m.flow, &m.mask) && (!best->rule || cls_rule_priority(&rule->cls) > cls_rule_priority(&best->rule->cls))) {
        best->rule = rule;
    }
    return true;
}

static void run_actions(struct run *r, const struct ofp_act *acts, size_t len);

static void run_table(struct run *r, uint8_t id, ofp_port_t in)
{
    uint8_t outer = r->table;

    for (int next = id; next >= 0 && !r->ended; in.n = ntohs(r->p.f.ofp_in_port)) {
        struct flow f = r->p.f;
        struct best best = { &f, NULL };
        f.ofp_in_port = htons(in.n);
        if (f.ip_frag) { /* Even the first has no ports. */
            f.tp_src = f.tp_dst = 0;
        }
        tables_for_each(r->br->tables, next, NULL, tables_version(r->br->tables), consider, &best);
        r->table = next;
        r->go_to = -1;
        if (best.rule) {
            run_actions(r, rule_acts(best.rule), best.rule->acts_len);
        }
        next = r->go_to;
        r->go_to = -1;
    }
    r->table = outer;
}

static void run_write(struct run *r, const struct ofp_subfield *dst, const struct ofp_subfield *src, const struct flow *from)
{
    if (!ofp_field_prereqs_ok(dst->field, &r->p.f, NULL)) {
        return;
    }
    ofp_subfield_copy(src, from, dst, &r->p.f);
    if (dst->field->place.ofs == offsetof(struct flow, vlan[0].tci)) {
        struct flow_vlan *v = &r->p.f.vlan[0];
        if (flow_vlan_present(v)) {
            v->tpid = v->tpid ? v->tpid : htons(ETH_TYPE_VLAN);
            r->p.t.v[0] = *v;
            r->p.t.n += !r->p.t.n;
        } else if (r->p.t.n) {
            memmove(&r->p.t.v[0], &r->p.t.v[1], --r->p.t.n * sizeof r->p.t.v[0]);
            show_tags(&r->p);
        }
    }
}

/* Writes VALUE to all of a field, if the packet has it. */
static void run_number(struct run *r, enum ofp_field_id id, uint64_t n)
{
    union ofp_value v = { { 0 } };

    if (ofp_field_prereqs_ok(ofp_field(id), &r->p.f, NULL)) {
        ofp_value_put_u64(&v, ofp_field(id)->n_bytes, n);
        ofp_field_set(ofp_field(id), &v, &r->p.f);
    }
}

/* Bit by bit. */
static void run_set_field(struct run *r, const struct ofp_act_set_field *a)
{
    const struct ofp_field *f = a->field;
    struct flow from = r->p.f;
    union ofp_value v, old;

    if (!ofp_field_prereqs_ok(f, &r->p.f, NULL)) {
        return;
    }
    ofp_field_get(f, &r->p.f, &old);
    for (unsigned int i = 0; i < f->n_bytes; i++) {
        v.b[i] = (old.b[i] & ~ofp_set_field_mask(a)[i]) | a->data[i];
    }
    ofp_field_set(f, &v, &from);
    const struct ofp_subfield all = { .field = f, .n_bits = f->n_bits };
    run_write(r, &all, &all, &from);
}

static void run_push_tag(struct run *r, uint16_t tpid)
{
    struct tags *t = &r->p.t;

    if (t->n > FLOW_MAX_VLANS) {
        r->ended = r->failed = true;
        return;
    }
    memmove(&t->v[1], &t->v[0], t->n++ * sizeof t->v[0]);
    t->v[0] = kit_tag(tpid, 0, 0);
    show_tags(&r->p);
}

static void run_tag_bits(struct run *r, const struct ofp_act_number *a, uint16_t value, uint16_t bits)
{
    if (!r->p.t.n && a->push_if_needed) {
        run_push_tag(r, ETH_TYPE_VLAN);
    }
    if (r->p.t.n) {
        r->p.t.v[0].tci = (r->p.t.v[0].tci & htons(~bits)) | htons(value);
        show_tags(&r->p);
    }
}

static void run_pop(struct run *r, const struct ofp_act_stack *a)
{
    const struct ofp_subfield src = { .field = ofp_field(OFP_FIELD_XXREG0), .n_bits = a->sf.n_bits };
    struct flow from = { .in_port = { 0 } };

    if (r->n_stack) {
        r->n_stack--;
        memcpy((uint8_t *) &from.regs[4] - r->stack[r->n_stack].n, &r->stack[r->n_stack].v, r->stack[r->n_stack].n);
        run_write(r, &a->sf, &src, &from);
    }
}

static void run_push(struct run *r, const struct ofp_act_stack *a)
{
    static const struct flow zero;
    bool has = ofp_field_prereqs_ok(a->sf.field, &r->p.f, NULL);

    ofp_subfield_get(&a->sf, has ? &r->p.f : &zero, &r->stack[r->n_stack].v, &r->stack[r->n_stack].n);
    r->n_stack++;
}

static void run_clone(struct run *r, const struct ofp_act_nest *a)
{
    struct run inner = *r;

    run_actions(&inner, a->acts, a->act.len - offsetof(struct ofp_act_nest, acts));
    r->ended = inner.ended;
    r->failed = inner.failed;
}

static void run_l4(struct run *r, const struct ofp_act_number *a, bool dst)
{
    run_number(r, dst ? OFP_FIELD_TCP_DST : OFP_FIELD_TCP_SRC, a->n);
    run_number(r, dst ? OFP_FIELD_UDP_DST : OFP_FIELD_UDP_SRC, a->n);
}

static void run_simple(struct run *r, const struct ofp_act *a)
{
    const struct ofp_act_number *n = ofp_act_cast(a);

    switch ((unsigned int) a->type) {
    case OFP_ACT_SET_ETH_SRC: run_number(r, OFP_FIELD_ETH_SRC, n->n); break;
    case OFP_ACT_SET_ETH_DST: run_number(r, OFP_FIELD_ETH_DST, n->n); break;
    case OFP_ACT_SET_IPV4_SRC: run_number(r, OFP_FIELD_IP_SRC, n->n); break;
    case OFP_ACT_SET_IPV4_DST: run_number(r, OFP_FIELD_IP_DST, n->n); break;
    case OFP_ACT_SET_IP_DSCP: run_number(r, OFP_FIELD_IP_DSCP, n->n >> 2); break;
    case OFP_ACT_SET_L4_SRC: run_l4(r, n, false); break;
    case OFP_ACT_SET_L4_DST: run_l4(r, n, true); break;
    case OFP_ACT_SET_VLAN_VID: run_tag_bits(r, n, n->n, VLAN_VID_MASK); break;
    case OFP_ACT_SET_VLAN_PCP: run_tag_bits(r, n, n->n << VLAN_PCP_SHIFT, VLAN_PCP_MASK); break;
    case OFP_ACT_PUSH_VLAN: run_push_tag(r, n->n); break;
    case OFP_ACT_STRIP_VLAN:
        if (r->p.t.n) {
            memmove(&r->p.t.v[0], &r->p.t.v[1], --r->p.t.n * sizeof r->p.t.v[0]);
            show_tags(&r->p);
        }
        break;
    case OFP_ACT_DEC_TTL:
        if (ofp_field_prereqs_ok(ofp_field(OFP_FIELD_NW_TTL), &r->p.f, NULL)) {
            r->list_ended = r->p.f.ip_ttl <= 1;
            r->p.f.ip_ttl -= !r->list_ended;
        }
        break;
    case OFP_ACT_NOTE:
        break;
    default:
        fail_msg("action %s", ofp_act_name(a->type));
    }
}

static void run_action(struct run *r, const struct ofp_act *a)
{
    switch ((unsigned int) a->type) {
    case OFP_ACT_OUTPUT: run_output(r, ((const struct ofp_act_output *) ofp_act_cast(a))->port.n); break;
    case OFP_ACT_OUTPUT_REG: run_output(r, ofp_subfield_get_u64(&((const struct ofp_act_output_reg *) ofp_act_cast(a))->src, &r->p.f)); break;
    case OFP_ACT_SET_FIELD: run_set_field(r, ofp_act_cast(a)); break;
    case OFP_ACT_MOVE: {
        const struct ofp_act_move *m = ofp_act_cast(a);
        struct flow from = r->p.f;
        if (ofp_field_prereqs_ok(m->src.field, &from, NULL)) {
            run_write(r, &m->dst, &m->src, &from);
        }
        break;
    }
    case OFP_ACT_PUSH: run_push(r, ofp_act_cast(a)); break;
    case OFP_ACT_POP: run_pop(r, ofp_act_cast(a)); break;
    case OFP_ACT_CLONE: run_clone(r, ofp_act_cast(a)); break;
    case OFP_ACT_RESUBMIT: {
        const struct ofp_act_resubmit *s = ofp_act_cast(a);
        run_table(r, s->table, s->in_port.n == OFPP_IN_PORT_N ? (ofp_port_t) { ntohs(r->p.f.ofp_in_port) } : s->in_port);
        break;
    }
    case OFP_ACT_GOTO_TABLE: r->go_to = ((const struct ofp_act_number *) ofp_act_cast(a))->n; break;
    case OFP_ACT_EXIT: r->ended = true; break;
    case OFP_ACT_CLEAR_ACTIONS: r->n_set = 0; break;
    case OFP_ACT_WRITE_ACTIONS:
        OFP_ACT_FOR_EACH (w, ((const struct ofp_act_nest *) ofp_act_cast(a))->acts, a->len - offsetof(struct ofp_act_nest, acts)) {
            r->set[r->n_set++] = w;
        }
        break;
    case OFP_ACT_WRITE_METADATA: {
        const struct ofp_act_metadata *m = ofp_act_cast(a);
        r->p.f.metadata = htobe64((be64toh(r->p.f.metadata) & ~m->mask) | (m->value & m->mask));
        break;
    }
    default: run_simple(r, a);
    }
}

static void run_actions(struct run *r, const struct ofp_act *acts, size_t len)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        if (!r->ended && !r->list_ended) {
            run_action(r, a);
        }
    }
    r->list_ended = false; /* What led here goes on. */
}

/* Strip, push, TTL, then what sets fields, as written; the output last. */
static void run_set(struct run *r)
{
    static const int order[] = { OFP_ACT_STRIP_VLAN, OFP_ACT_PUSH_VLAN, OFP_ACT_DEC_TTL, -1, OFP_ACT_OUTPUT };

    for (unsigned int k = 0; k < ARRAY_SIZE(order); k++) {
        const struct ofp_act *last = NULL;
        for (unsigned int i = 0; i < r->n_set && !r->ended && !r->list_ended; i++) {
            int type = r->set[i]->type;
            bool sets = type != order[0] && type != order[1] && type != order[2] && type != order[4];
            if (order[k] < 0 && sets) {
                run_action(r, r->set[i]);
            }
            last = type == order[k] ? r->set[i] : last;
        }
        if (last && !r->ended && !r->list_ended) {
            run_action(r, last);
        }
    }
}

static void run_port(const struct xconfig *c, const struct xport *in, struct packet p, struct result *result)
{
    struct run r = { .c = c, .br = in->bundle->bridge, .p = p, .go_to = -1, .result = result };

    flow_clear_pipeline(&r.p.f);
    show_tags(&r.p);
    r.p.f.ofp_in_port = htons(in->ofp.n);
    run_table(&r, 0, in->ofp);
    if (!r.failed) {
        r.ended = false;
        run_set(&r);
    }
}

/* ---- The model of the kernel. ---- */

static void set_bytes(void *field, const uint8_t *v, const uint8_t *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(v[i] & ~m[i], 0);
        ((uint8_t *) field)[i] = (((uint8_t *) field)[i] & ~m[i]) | v[i];
    }
}

static void kernel_set(struct flow *f, const struct nlattr *key)
{
    const uint8_t *v = mnl_attr_get_payload(key), *m = v + mnl_attr_get_payload_len(key) / 2;

    switch (mnl_attr_get_type(key)) {
    case OVS_KEY_ATTR_ETHERNET:
        set_bytes(&f->eth_src, v, m, 6);
        set_bytes(&f->eth_dst, v + 6, m + 6, 6);
        break;
    case OVS_KEY_ATTR_IPV4:
        assert_int_equal(f->eth_type, htons(ETH_TYPE_IPV4));
        set_bytes(&f->ip_src, v, m, 4);
        set_bytes(&f->ip_dst, v + 4, m + 4, 4);
        set_bytes(&f->ip_tos, v + 9, m + 9, 1);
        set_bytes(&f->ip_ttl, v + 10, m + 10, 1);
        break;
    case OVS_KEY_ATTR_IPV6:
        assert_int_equal(f->eth_type, htons(ETH_TYPE_IPV6));
        set_bytes(&f->ip_tos, v + 37, m + 37, 1);
        set_bytes(&f->ip_ttl, v + 38, m + 38, 1);
        break;
    case OVS_KEY_ATTR_TCP:
    case OVS_KEY_ATTR_UDP:
        assert_int_equal(f->ip_proto, mnl_attr_get_type(key) == OVS_KEY_ATTR_TCP ? IPPROTO_TCP : IPPROTO_UDP);
        set_bytes(&f->tp_src, v, m, 2);
        set_bytes(&f->tp_dst, v + 2, m + 2, 2);
        break;
    default:
        fail_msg("attribute %u set", mnl_attr_get_type(key));
    }
}

static void kernel_run(const struct attrbuf *actions, struct packet p, struct result *result)
{
    struct nlattr *attr;
    struct tags *t = &p.t;

    result->n = 0;
    mnl_attr_for_each_payload ((void *) attrbuf_data(actions), attrbuf_len(actions)) {
        switch (mnl_attr_get_type(attr)) {
        case OVS_ACTION_ATTR_OUTPUT:
            leave(result, mnl_attr_get_u32(attr), &p);
            break;
        case OVS_ACTION_ATTR_SET_MASKED:
            kernel_set(&p.f, mnl_attr_get_payload(attr));
            break;
        case OVS_ACTION_ATTR_PUSH_VLAN: {
            const struct ovs_action_push_vlan *push = mnl_attr_get_payload(attr);
            memmove(&t->v[1], &t->v[0], t->n++ * sizeof t->v[0]);
            t->v[0] = (struct flow_vlan) { push->vlan_tpid, push->vlan_tci };
            break;
        }
        case OVS_ACTION_ATTR_POP_VLAN:
            assert_true(t->n > 0);
            memmove(&t->v[0], &t->v[1], --t->n * sizeof t->v[0]);
            break;
        default:
            fail_msg("action %u", mnl_attr_get_type(attr));
        }
    }
}

/* ---- The property. ---- */

static char actions_memory[2][XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out outs[2];

static void translate(const struct xconfig *c, const struct flow *flow, int i)
{
    kit_translate(c, flow, actions_memory[i], &outs[i]);
}

static bool same_packet(const struct packet *a, const struct packet *b)
{
    return !memcmp(&a->f, &b->f, sizeof a->f) && a->t.n == b->t.n && !memcmp(a->t.v, b->t.v, a->t.n * sizeof a->t.v[0]);
}

static void check_model(const struct xconfig *c, const struct flow *flow, const char *what)
{
    static struct result expected, got;
    const struct xport *in = xconfig_port_by_odp(c, flow->in_port);
    if (with_normal) {
        return;
    }
    char *text = kit_actions_text(&outs[0].actions);
    expected.n = 0;
    rcu_read_lock();
    run_port(c, in, packet_of(flow), &expected);
    rcu_read_unlock();
    kernel_run(&outs[0].actions, packet_of(flow), &got);
    for (unsigned int i = 0; i < MAX(got.n, expected.n); i++) {
        if (i >= got.n || i >= expected.n || got.sent[i].port != expected.sent[i].port || !same_packet(&got.sent[i].p, &expected.sent[i].p)) {
            fail_msg("seed %u: %s: %s: %u packets leave, not %u, and number %u is another", seed, what, text, got.n, expected.n, i);
        }
    }
    free(text);
}

static void check_packet(const struct xconfig *c)
{
    struct flow flow = random_packet();

    translate(c, &flow, 0);
    check_model(c, &flow, "the packet");
    for (int k = 0; k < N_OTHERS; k++) {
        struct flow other = random_packet();
        const uint8_t *mask = (const uint8_t *) &outs[0].mask, *first = (const uint8_t *) &flow;
        for (size_t i = 0; i < sizeof other; i++) {
            uint8_t *o = (uint8_t *) &other + i;
            *o = (*o & ~mask[i]) | (first[i] & mask[i]);
        }
        for (int i = 0; i < FLOW_MAX_VLANS; i++) { /* The kernel never says that one with a tag is like one without. */
            if (!flow_vlan_present(&flow.vlan[i])) {
                other.vlan[i] = flow.vlan[i];
            }
        }
        translate(c, &other, 1);
        size_t len = attrbuf_len(&outs[0].actions);
        if (len != attrbuf_len(&outs[1].actions) || memcmp(attrbuf_data(&outs[0].actions), attrbuf_data(&outs[1].actions), len)
            || memcmp(&outs[0].mask, &outs[1].mask, sizeof outs[0].mask) || outs[0].verdict != outs[1].verdict) {
            fail_msg("seed %u: another packet of the megaflow: %s not %s, mask %s not %s", seed, kit_actions_text(&outs[1].actions),
                     kit_actions_text(&outs[0].actions), kit_mask_text(&other, &outs[1].mask), kit_mask_text(&flow, &outs[0].mask));
        }
        check_model(c, &other, "another of the megaflow");
    }
}

static void packets_of_a_megaflow_fare_as_the_rules_say(void **state UNUSED)
{
    for (int i = 0; i < N_PIPELINES; i++) {
        struct xconfig *c = xconfig_create();
        struct xbridge *a = kit_add_bridge(c, "a", "1:t 2:t? 3:a1^ 4:u2 5:tp"), *b = kit_add_bridge(c, "b", "10:tp 11:t 12:t");
        srand(seed);
        with_normal = !rnd(4);
        n_rules = 0;
        for (unsigned int k = 10 + rnd(14); k > 0; k--) {
            add_random_rule(a, false);
        }
        for (unsigned int k = 1 + rnd(8); k > 0; k--) {
            add_random_rule(b, true);
        }
        xconfig_seal(c);
        kit_join(c, 5, 10);
        for (int k = 0; k < N_PACKETS; k++) {
            check_packet(c);
        }
        xconfig_destroy(c);
        seed++;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(packets_of_a_megaflow_fare_as_the_rules_say) };
    const char *s = getenv("SEED");

    seed = s ? strtoul(s, NULL, 0) : (unsigned int) time(NULL);
    print_message("SEED=%u\n", seed);
    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
