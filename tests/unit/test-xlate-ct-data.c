/* Random rules about connections, and what the packaged daemon made of them (tests/ofp/ct.data, by make-ct-data): ours must mean the same.
 *
 * And other packets, that agree with one of them in the bits that were looked at, must come to the same actions and the same mask; SEED says which.
 *
 * Both lists of actions are carried out here on the packet, to a list of what happens: what goes out with which addresses, and having been through
 * which conntracks; what goes to conntrack; what comes back.  So it does not matter when a header was written, or whether a clone is
 * said that nothing comes after. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "ofproto/recirc.h"
#include "tests/unit/xlate-tables-kit.h"

#define MAX_FORKS 32

/* A packet on its way through a list of actions. */
struct packet {
    struct flow flow;
    char tracked[512]; /* By which conntracks. */
};

struct story {
    struct text text;
    FILE *out;
    struct packet forks[MAX_FORKS]; /* That come back, in order. */
    uint32_t ids[MAX_FORKS];
    unsigned int n_forks;
};

static void write_bits(void *to, const uint8_t *value, const uint8_t *mask, size_t n)
{
    uint8_t *p = to;

    for (size_t i = 0; i < n; i++) {
        p[i] = (p[i] & ~mask[i]) | value[i];
    }
}

static void set_masked(struct flow *f, const struct nlattr *action)
{
    const struct nlattr *a = mnl_attr_get_payload(action);
    const uint8_t *value = mnl_attr_get_payload(a), *mask = value + mnl_attr_get_payload_len(a) / 2;

    switch (mnl_attr_get_type(a)) {
    case OVS_KEY_ATTR_IPV4:
        write_bits(&f->ip_src, value, mask, 4);
        write_bits(&f->ip_dst, value + 4, mask + 4, 4);
        break;
    case OVS_KEY_ATTR_TCP:
        write_bits(&f->tp_src, value, mask, 2);
        write_bits(&f->tp_dst, value + 2, mask + 2, 2);
        break;
    default:
        fail_msg("a header of type %u is set", mnl_attr_get_type(a));
    }
}

/* The same for a SET of all of the header. */
static void set(struct flow *f, const struct nlattr *action)
{
    const struct nlattr *a = mnl_attr_get_payload(action);
    const uint8_t *value = mnl_attr_get_payload(a);

    assert_true(mnl_attr_get_type(a) == OVS_KEY_ATTR_IPV4 || mnl_attr_get_type(a) == OVS_KEY_ATTR_TCP);
    if (mnl_attr_get_type(a) == OVS_KEY_ATTR_IPV4) {
        memcpy(&f->ip_src, value, 4);
        memcpy(&f->ip_dst, value + 4, 4);
    } else {
        memcpy(&f->tp_src, value, 2);
        memcpy(&f->tp_dst, value + 2, 2);
    }
}

static void tell_packet(struct story *s, const struct packet *p)
{
    fprintf(s->out, " %08x>%08x:%u\n", ntohl(p->flow.ip_src), ntohl(p->flow.ip_dst), ntohs(p->flow.tp_dst));
}

static void ct(struct story *s, struct packet *p, const struct nlattr *a)
{
    char copy[512];
    struct text t;
    const struct nlattr *zone;

    p->flow.ct_zone = 0;
    mnl_attr_for_each_nested(zone, a) {
        if (mnl_attr_get_type(zone) == OVS_CT_ATTR_ZONE) {
            p->flow.ct_zone = mnl_attr_get_u16(zone);
        }
    }
    odp_actions_print(text_open(&t), a, MNL_ALIGN(a->nla_len), NULL);
    char *text = text_close(&t);
    fputs(text, s->out);
    tell_packet(s, p);
    memcpy(copy, p->tracked, sizeof copy);
    snprintf(p->tracked, sizeof p->tracked, "%.200s %.200s", copy, text);
    free(text);
}

static void tell(struct story *s, struct packet *p, const struct nlattr *actions, size_t len)
{
    const struct nlattr *end = (const struct nlattr *) ((const char *) actions + len);

    for (const struct nlattr *a = actions; a < end; a = mnl_attr_next(a)) {
        switch (mnl_attr_get_type(a)) {
        case OVS_ACTION_ATTR_OUTPUT:
            fprintf(s->out, "output %u [%s]", mnl_attr_get_u32(a), p->tracked);
            tell_packet(s, p);
            break;
        case OVS_ACTION_ATTR_SET:
            set(&p->flow, a);
            break;
        case OVS_ACTION_ATTR_SET_MASKED:
            set_masked(&p->flow, a);
            break;
        case OVS_ACTION_ATTR_CT:
            ct(s, p, a);
            break;
        case OVS_ACTION_ATTR_CT_CLEAR:
            p->tracked[0] = '\0';
            break;
        case OVS_ACTION_ATTR_RECIRC:
            assert_true(s->n_forks < MAX_FORKS);
            fprintf(s->out, "comes back [%s]", p->tracked);
            tell_packet(s, p);
            s->ids[s->n_forks] = mnl_attr_get_u32(a);
            s->forks[s->n_forks++] = *p;
            break;
        case OVS_ACTION_ATTR_CLONE: {
            struct packet copy = *p;
            tell(s, &copy, mnl_attr_get_payload(a), mnl_attr_get_payload_len(a));
            break;
        }
        default:
            fail_msg("action %u", mnl_attr_get_type(a));
        }
    }
}

/* ---- Records. ---- */

struct record {
    struct xconfig *config;
    struct xbridge *a, *b;
    char *packet;
    char *next[MAX_FORKS], *actions[MAX_FORKS];
    unsigned int n_next, n_actions;
    unsigned int line;
};

static char ours_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8))), theirs_memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out out;
static unsigned int n_records, n_packets, seed;

static void record_begin(struct record *r, unsigned int line)
{
    *r = (struct record) { .config = xconfig_create(), .line = line };
    r->a = kit_add_bridge(r->config, "a", "1:t 2:t 3:t 4:t 5:tp-");
    r->b = kit_add_bridge(r->config, "b", "10:tp 11:t 12:t");
}

/* A packet as TEXT says, with the ct_state STATES, "trk,new". */
static struct flow packet_of(const char *text, const char *states)
{
    char *match = xstrdup(text);

    if (states) {
        free(match);
        struct text t;
        FILE *f = text_open(&t);
        fprintf(f, "%s,ct_state=+", text);
        for (const char *s = states; *s; s++) {
            fputc(*s == ',' ? '+' : *s, f);
        }
        match = text_close(&t);
    }
    struct flow flow = kit_packet(match);
    free(match);
    return flow;
}

/* ---- The mask: packets that agree with one in the bits that were looked at fare alike. ---- */

#define N_OTHERS 8

static void random_bytes(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *) p)[i] = rand() >> 7;
    }
}

static void check_others(const struct record *r, unsigned int i, const struct flow *flow)
{
    static char memory[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
    static struct xlate_out other_out;
    const uint8_t *mask = (const uint8_t *) &out.mask, *first = (const uint8_t *) flow;

    for (unsigned int k = 0; k < N_OTHERS; k++) {
        struct flow other = *flow;
        random_bytes(&other.ct_state, offsetof(struct flow, eth_src) - offsetof(struct flow, ct_state));
        other.ct_orig_is_ipv6 = 0;
        random_bytes(&other.ip_src, 8);
        random_bytes(&other.tp_src, 4);
        other.ip_tos = rand();
        other.ip_ttl = rand();
        for (size_t n = 0; n < sizeof other; n++) {
            uint8_t *o = (uint8_t *) &other + n;
            *o = (*o & ~mask[n]) | (first[n] & mask[n]);
        }
        attrbuf_init(&other_out.actions, memory, sizeof memory);
        rcu_read_lock();
        xlate(r->config, &other, &other_out);
        rcu_read_unlock();
        size_t len = attrbuf_len(&out.actions);
        if (len != attrbuf_len(&other_out.actions) || memcmp(attrbuf_data(&out.actions), attrbuf_data(&other_out.actions), len)
            || memcmp(&out.mask, &other_out.mask, sizeof out.mask)) {
            fail_msg("line %u, packet %u, seed %u: another packet of the megaflow: %s not %s, mask %s not %s", r->line, i, seed,
                     kit_actions_text(&other_out.actions), kit_actions_text(&out.actions), kit_mask_text(&other, &other_out.mask),
                     kit_mask_text(flow, &out.mask));
        }
    }
}

/* Translates PACKET, and compares what comes of it with what the line ACTIONS says. */
static void compare(const struct record *r, unsigned int i, const struct packet *packet, struct story *ours)
{
    static struct story theirs;
    struct attrbuf b;
    struct packet copy = *packet;

    attrbuf_init(&out.actions, ours_memory, sizeof ours_memory);
    out.rules = NULL;
    rcu_read_lock();
    xlate(r->config, &packet->flow, &out);
    rcu_read_unlock();
    attrbuf_init(&b, theirs_memory, sizeof theirs_memory);
    if (strcmp(r->actions[i], "drop")) {
        char *error = odp_actions_scan(r->actions[i], &b);
        if (error) {
            fail_msg("line %u: %s: %s", r->line, r->actions[i], error);
        }
    }
    ours->out = text_open(&ours->text);
    tell(ours, &copy, attrbuf_data(&out.actions), attrbuf_len(&out.actions));
    copy = *packet;
    theirs.n_forks = 0;
    theirs.out = text_open(&theirs.text);
    tell(&theirs, &copy, attrbuf_data(&b), attrbuf_len(&b));
    char *a = text_close(&ours->text), *t = text_close(&theirs.text), *actions = kit_actions_text(&out.actions);
    if (strcmp(a, t)) {
        fail_msg("line %u, packet %u: %s, not %s\n%snot\n%s", r->line, i, actions, r->actions[i], a, t);
    }
    free(a);
    free(t);
    free(actions);
    n_packets++;
    check_others(r, i, &packet->flow);
}

static void record_end(struct record *r)
{
    static struct story ours;
    struct packet p = { .flow = packet_of(r->packet, NULL) };

    xconfig_seal(r->config);
    kit_join(r->config, 5, 10);
    ours.n_forks = 0;
    compare(r, 0, &p, &ours);
    for (unsigned int i = 0; i < ours.n_forks; i++) {
        struct packet back = ours.forks[i];
        if (i + 1 >= r->n_actions) {
            fail_msg("line %u: more than %u packets come back", r->line, i);
        }
        back.flow.ct_state = packet_of(r->packet, r->next[i]).ct_state;
        back.flow.recirc_id = ours.ids[i];
        back.tracked[0] = '\0';
        compare(r, i + 1, &back, &ours);
    }
    assert_int_equal(ours.n_forks + 1, r->n_actions);
    xconfig_destroy(r->config);
    for (unsigned int i = 0; i < MAX_FORKS; i++) {
        free(r->next[i]);
        free(r->actions[i]);
    }
    free(r->packet);
    n_records++;
}

static void ours_means_what_the_packaged_daemons_does(void **state UNUSED)
{
    static const char path[] = SRCDIR "/tests/ofp/ct.data";
    FILE *f = fopen(path, "r");
    struct record r;
    char *line = NULL;
    size_t size = 0;
    bool open = false;

    assert_non_null(f);
    for (unsigned int no = 1; getline(&line, &size, f) >= 0; no++) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#') {
            continue;
        }
        if (!open) {
            record_begin(&r, no);
            open = true;
        }
        if (!*line) {
            record_end(&r);
            open = false;
        } else if (!strncmp(line, "flow ", 5)) {
            bool second = !strncmp(line + 5, "B:", 2);
            kit_add_flow(second ? r.b : r.a, line + 5 + 2 * second);
        } else if (!strncmp(line, "packet ", 7)) {
            r.packet = xstrdup(line + 7);
        } else if (!strncmp(line, "next ", 5) && r.n_next < MAX_FORKS) {
            r.next[r.n_next++] = xstrdup(line + 5);
        } else if (!strncmp(line, "actions ", 8) && r.n_actions < MAX_FORKS) {
            r.actions[r.n_actions++] = xstrdup(line + 8);
        } else {
            fail_msg("%s:%u: %s", path, no, line);
        }
    }
    free(line);
    fclose(f);
    print_message("%u pipelines, %u packets\n", n_records, n_packets);
    assert_true(n_records >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ours_means_what_the_packaged_daemons_does) };
    const char *s = getenv("SEED");

    seed = s ? strtoul(s, NULL, 0) : (unsigned int) time(NULL);
    print_message("SEED=%u\n", seed);
    srand(seed);
    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    recirc_forget_all();
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
