/* Learning, from the packet to the flow, against what the packaged daemon learned of the same flows and packets (tests/ofp/learn.data).
 *
 * Handler and main are one thread here: where a handler would wait for main, main's event loop runs instead. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>
#include <inttypes.h>

#include "lib/base/clock.h"
#include "ofproto/evict.h"
#include "ofproto/learn-queue.h"
#include "ofproto/ofproto-private.h"
#include "ofproto/upcall.h"
#include "tests/unit/xlate-tables-kit.h"

static struct event_base *base;
static bool main_is_busy;

void __wrap_learn_queue_wait(struct learn_queue *q, uint32_t ticket, uint64_t deadline);
void __real_learn_queue_wait(struct learn_queue *q, uint32_t ticket, uint64_t deadline);
void __wrap_learn_queue_wait(struct learn_queue *q, uint32_t ticket, uint64_t deadline)
{
    if (!main_is_busy) {
        rcu_read_unlock();
        event_base_loop(base, EVLOOP_NONBLOCK);
        rcu_read_lock();
    }
    __real_learn_queue_wait(q, ticket, deadline);
}

/* ---- A bridge with ports 1 to 4, and one handler. ---- */

struct world {
    struct ofproto *ofproto;
    struct xconfig *config;
    struct flowcache fc;
    struct upcall_stats stats;
    struct upcall_batch batch;
    unsigned int n_changes;
};

static void changed(void *w_)
{
    struct world *w = w_;

    w->n_changes++;
}

static bool no_stats(ofp_port_t port UNUSED, struct ofp_port_stats *ret UNUSED, void *w UNUSED) { return false; }

static const struct ofproto_ops ops = { .changed = changed, .port_stats = no_stats };

static struct world *world_create(void)
{
    struct world *w = xzalloc(sizeof *w);

    w->ofproto = ofproto_create(base, "br0", &ops, w);
    w->config = xconfig_create();
    struct xbridge *br = kit_add_bridge(w->config, "br0", "1:t 2:t 3:t 4:t");
    br->tables = tables_ref(ofproto_tables(w->ofproto));
    xconfig_seal(w->config);
    w->fc.config = w->config;
    upcall_batch_init(&w->batch, &w->fc, NULL, 0, &w->stats);
    return w;
}

static void world_destroy(struct world *w)
{
    upcall_batch_uninit(&w->batch);
    ofproto_destroy(w->ofproto);
    xconfig_destroy(w->config);
    free(w);
}

/* As handle_flow_mod() does. */
static enum ofp_error flow_mod(struct world *w, enum flow_mod_command command, const char *text)
{
    struct buf acts = BUF_INITIALIZER;
    unsigned int cookie = 0, idle = 0, hard = 0, importance = 0;
    bool has_table = !strncmp(text, "table=", 6);
    char *full = xasprintf("%s%s", text, strstr(text, "actions=") ? "" : " actions=drop"), *s = full;
    unsigned int table = kit_number((const char **) &s, "table=", 0);

    cookie = kit_number((const char **) &s, "cookie=", 0);
    idle = kit_number((const char **) &s, "idle_timeout=", 0);
    hard = kit_number((const char **) &s, "hard_timeout=", 0);
    importance = kit_number((const char **) &s, "importance=", 0);
    for (char *comma = strstr(s, ",actions="); comma; comma = NULL) {
        *comma = ' ';
    }
    char *with_table = xasprintf("table=%u,%s", table, s);
    struct flow_mod fm = kit_flow_mod(with_table, &acts);
    free(with_table);
    fm.command = command;
    fm.filter.table_id = has_table || command == FLOW_ADD ? table : TABLE_ALL;
    fm.spec.cookie = cookie;
    fm.sets_cookie = true;
    fm.spec.idle_timeout = idle;
    fm.spec.hard_timeout = hard;
    fm.spec.importance = importance;
    enum ofp_error error = kit_check(&fm, &acts);
    if (error) {
        fail_msg("%s: %s", text, ofp_error_name(error));
    }
    error = ofproto_flow_mod(w->ofproto, &fm);
    buf_uninit(&acts);
    free(full);
    return error;
}

/* The way of a packet to where it would be sent on; returns the datapath's actions. */
static char *packet(struct world *w, const char *text)
{
    struct flow flow = kit_packet(text);
    struct upcall_batch *b = &w->batch;

    upcall_batch_begin(b, clock_nsec());
    b->n_flows = 1;
    b->flows[0] = (struct upcall_flow) { .flow = &flow, .n_missed = 1 };
    upcall_translate(b);
    upcall_learn(b);
    struct text t;
    odp_actions_print(text_open(&t), b->flows[0].actions, b->flows[0].actions_len, NULL);
    upcall_batch_end(b);
    return text_close(&t);
}

struct dump {
    struct rule *rules[64];
    size_t n;
};

static bool collect(struct rule *r, void *dump_)
{
    struct dump *d = dump_;

    assert_true(d->n < ARRAY_SIZE(d->rules));
    d->rules[d->n++] = r;
    return true;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *) a, *(char *const *) b); }

static void print_rule(FILE *f, const struct rule *r)
{
    struct match m;
    struct text t;

    cls_rule_get_match(&r->cls, &m);
    fputs("d ", f);
    ofp_match_print(text_open(&t), &m, cls_rule_priority(&r->cls));
    char *match = text_close(&t);
    struct text props;
    FILE *p = text_open(&props);
    const struct { const char *name; uint64_t value; const char *format; } numbers[] = {
        { "cookie", r->cookie, "0x%" PRIx64 }, { "table", r->table_id, "%" PRIu64 }, { "idle_timeout", r->idle_timeout, "%" PRIu64 },
        { "hard_timeout", r->hard_timeout, "%" PRIu64 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (numbers[i].value) {
            fprintf(p, "%s=", numbers[i].name);
            fprintf(p, numbers[i].format, numbers[i].value);
            fputs(", ", p);
        }
    }
    char *head = text_close(&props);
    fprintf(f, "%s%s%sactions=", head, match, *match ? " " : "");
    /* As a client gets them. */
    struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;
    ofp_actions_encode(rule_acts(r), r->acts_len, OFP10_VERSION, &wire);
    assert_int_equal(ofp_actions_decode(wire.data, wire.len, OFP10_VERSION, &acts), OFPERR_NONE);
    ofp_acts_print(f, acts.data, acts.len, NULL);
    fputc('\n', f);
    buf_uninit(&wire);
    buf_uninit(&acts);
    free(match);
    free(head);
}

/* All flows, a line each, sorted. */
static char *dump(struct world *w)
{
    const struct tables *t = ofproto_tables(w->ofproto);
    struct dump d = { .n = 0 };
    struct text text;
    FILE *f = text_open(&text);

    rcu_read_lock();
    tables_for_each(t, TABLE_ALL, NULL, tables_version(t), collect, &d);
    char *lines[ARRAY_SIZE(d.rules)];
    for (size_t i = 0; i < d.n; i++) {
        struct text line;
        print_rule(text_open(&line), d.rules[i]);
        lines[i] = text_close(&line);
    }
    rcu_read_unlock();
    qsort(lines, d.n, sizeof lines[0], compare);
    for (size_t i = 0; i < d.n; i++) {
        fputs(lines[i], f);
        free(lines[i]);
    }
    return text_close(&text);
}

/* ---- Against the packaged daemon. ---- */

static void do_line(struct world *w, const char *line)
{
    enum ofp_error error = OFPERR_NONE;

    switch (line[0]) {
    case 'F':
        error = flow_mod(w, FLOW_ADD, line + 2);
        break;
    case 'M':
        error = flow_mod(w, FLOW_MODIFY, line + 2);
        break;
    case 'X':
        error = flow_mod(w, FLOW_DELETE, line + 2);
        break;
    }
    assert_int_equal(error, OFPERR_NONE);
}

/* Lines that are in A and not in B. */
static void print_difference(const char *what, const char *a, const char *b)
{
    char *copy = xstrdup(a);

    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        char *with_end = xasprintf("%s\n", line);
        if (!strstr(b, with_end)) {
            print_error("    %s: %s\n", what, line);
        }
        free(with_end);
    }
    free(copy);
}

static void complain(const char *name, const char *step, const char *is, const char *expected)
{
    print_error("%s: %s:\n", name, step);
    print_difference("is", is, expected);
    print_difference("expected", expected, is);
}

static void flows_are_learned_as_the_packaged_daemon_learns_them(void **state UNUSED)
{
    const char *path = getenv("LEARN_DATA"); /* Of cases that somebody tries. */
    FILE *in = fopen(path ? path : SRCDIR "/tests/ofp/learn.data", "r");
    char line[4096], name[4096] = "", step[4096] = "", expected[65536] = "";
    struct world *w = NULL;
    unsigned int n_cases = 0, n_bad = 0;
    bool more = true, has_dump = false;

    assert_non_null(in);
    while (more) {
        more = fgets(line, sizeof line, in);
        line[strcspn(line, "\n")] = '\0';
        if (more && line[0] == 'd') {
            strcat(strcat(expected, line), "\n");
            continue;
        }
        if (has_dump && (!more || line[0] != 'a')) {
            char *is = dump(w);
            if (strcmp(is, expected)) {
                complain(name, step, is, expected);
                n_bad++;
            }
            free(is);
            has_dump = false;
            expected[0] = '\0';
        }
        if (!more) {
            break;
        }
        if (line[0] == '=') {
            if (w) {
                world_destroy(w);
            }
            w = world_create();
            strcpy(name, line + 2);
            n_cases++;
        } else if (line[0] == 'P') {
            char *is = packet(w, line + 2), *wanted = fgets(expected, sizeof expected, in);
            assert_non_null(wanted);
            wanted[strcspn(wanted, "\n")] = '\0';
            if (strcmp(*is ? is : "drop", wanted + 2)) {
                print_error("%s: %s: %s, not %s\n", name, line, is, wanted + 2);
                n_bad++;
            }
            free(is);
            expected[0] = '\0';
            has_dump = true;
        } else {
            do_line(w, line);
            has_dump = line[0] != 'F';
        }
        strcpy(step, line);
    }
    world_destroy(w);
    fclose(in);
    assert_int_equal(n_bad, 0);
    assert_true(n_cases == 16 || path);
}

/* ---- What no dump shows. ---- */

static void check_mask(struct world *w, const char *text, const char *expected)
{
    static char actions[XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
    struct flow flow = kit_packet(text);
    struct xlate_out out;

    attrbuf_init(&out.actions, actions, sizeof actions);
    out.rules = NULL;
    out.lessons.memory = NULL;
    rcu_read_lock();
    xlate(w->config, &flow, &out);
    rcu_read_unlock();
    char *mask = kit_mask_text(&flow, &out.mask);
    assert_string_equal(mask, expected);
    free(mask);
}

/* Else a megaflow's packets would teach what only the first one has. */
static void what_is_copied_is_looked_at_and_no_more(void **state UNUSED)
{
    struct world *w = world_create();

    flow_mod(w, FLOW_ADD, "table=0,in_port=1,actions=learn(table=1,NXM_OF_ETH_SRC[],NXM_OF_ETH_TYPE[]=0x800),output:2");
    flow_mod(w, FLOW_ADD, "table=0,ip,in_port=2,actions=learn(table=1,NXM_NX_REG0[0..7]=NXM_OF_IP_SRC[0..7],load:NXM_OF_IP_DST[24..31]->NXM_NX_REG1[0..7])");
    flow_mod(w, FLOW_ADD, "table=0,ip,in_port=3,actions=mod_nw_src:1.2.3.4,learn(table=1,eth_type=0x800,NXM_OF_IP_DST[]=NXM_OF_IP_SRC[],output:NXM_OF_IN_PORT[])");
    flow_mod(w, FLOW_ADD, "table=0,in_port=4,actions=fin_timeout(idle_timeout=1),output:2");
    check_mask(w, "in_port=1,tcp,dl_src=02:00:00:00:00:01,nw_src=1.1.1.165", "dl_src=02:00:00:00:00:01");
    check_mask(w, "in_port=2,tcp,dl_src=02:00:00:00:00:01,nw_src=1.1.1.165,nw_dst=9.8.7.6", "ip,nw_src=0.0.0.165/0.0.0.255,nw_dst=9.0.0.0/8");
    check_mask(w, "in_port=3,tcp,dl_src=02:00:00:00:00:01,nw_src=1.1.1.165,nw_dst=9.8.7.6", "ip");
    check_mask(w, "in_port=4,tcp,dl_src=02:00:00:00:00:01,tcp_flags=0x1", "tcp");
    check_mask(w, "in_port=4,udp,dl_src=02:00:00:00:00:01", "udp");
    check_mask(w, "in_port=4,dl_type=0x1234", "dl_type=0x1234");
    world_destroy(w);
}

#define LEARN_SRC "table=0,actions=learn(table=1,idle_timeout=60,NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[])"
#define FROM(N) "in_port=1,dl_type=0x1234,dl_dst=02:00:00:00:00:99,dl_src=02:00:00:00:00:0" #N

static struct rule *learned_rule(struct world *w, uint8_t table)
{
    struct dump d = { .n = 0 };
    const struct tables *t = ofproto_tables(w->ofproto);

    rcu_read_lock();
    tables_for_each(t, table, NULL, tables_version(t), collect, &d);
    rcu_read_unlock();
    assert_int_equal(d.n, 1);
    return d.rules[0];
}

static size_t count(struct world *w, uint8_t table)
{
    struct table_stats s;

    tables_get_stats(ofproto_tables(w->ofproto), table, &s);
    return s.n_rules;
}

static void what_is_known_changes_no_tables_and_is_fresh_again(void **state UNUSED)
{
    struct world *w = world_create();

    flow_mod(w, FLOW_ADD, LEARN_SRC);
    free(packet(w, FROM(1)));
    struct rule *r = learned_rule(w, 1);
    unsigned int n = w->n_changes;
    uint64_t used = rule_used(r);
    r->modified = 1;
    free(packet(w, FROM(1)));
    assert_int_equal(w->n_changes, n);
    assert_ptr_equal(learned_rule(w, 1), r);
    assert_true(rule_modified(r) > 1);
    assert_int_equal(rule_used(r), used); /* That it was learned is no use of it. */
    world_destroy(w);
}

static void who_waited_in_vain_does_not_wait_again(void **state UNUSED)
{
    struct world *w = world_create();

    flow_mod(w, FLOW_ADD, LEARN_SRC);
    unsigned int n = w->n_changes;
    main_is_busy = true;
    uint64_t t0 = clock_nsec();
    free(packet(w, FROM(1)));
    uint64_t t1 = clock_nsec();
    assert_true(t1 - t0 >= LESSON_WAIT_US * 1000);
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 20; i++) { /* One of them is not interrupted. */
        t0 = clock_nsec();
        free(packet(w, FROM(2)));
        shortest = MIN(shortest, clock_nsec() - t0);
    }
    assert_true(shortest < LESSON_WAIT_US * 1000);
    main_is_busy = false;
    assert_int_equal(count(w, 1), 0);
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(count(w, 1), 2); /* Of 21 lessons. */
    assert_int_equal(w->n_changes, n + 1);
    free(packet(w, FROM(3))); /* And waits again. */
    assert_int_equal(count(w, 1), 3);
    world_destroy(w);
}

static void main_holds_the_limit_when_many_come_at_once(void **state UNUSED)
{
    struct world *w = world_create();
    struct learn_queue *q = tables_learn_queue(ofproto_tables(w->ofproto));

    flow_mod(w, FLOW_ADD, "table=0,actions=learn(table=1,cookie=7,limit=2,NXM_OF_ETH_SRC[])");
    main_is_busy = true;
    free(packet(w, FROM(1)));
    free(packet(w, FROM(2)));
    free(packet(w, FROM(3)));
    assert_int_equal(q->n, 3);
    main_is_busy = false;
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(count(w, 1), 2);
    world_destroy(w);
}

static void a_packet_that_meets_a_rule_twice_teaches_once(void **state UNUSED)
{
    struct world *w = world_create();
    struct learn_queue *q = tables_learn_queue(ofproto_tables(w->ofproto));

    flow_mod(w, FLOW_ADD, "table=0,actions=resubmit(,5),resubmit(,5),mod_dl_src:02:00:00:00:00:55,resubmit(,5)");
    flow_mod(w, FLOW_ADD, "table=5,actions=learn(table=1,NXM_OF_ETH_SRC[])");
    main_is_busy = true;
    free(packet(w, FROM(1)));
    assert_int_equal(q->n, 2);
    main_is_busy = false;
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(count(w, 1), 2);
    world_destroy(w);
}

static void the_queue_is_bounded_and_what_was_refused_comes_with_the_next_packet(void **state UNUSED)
{
    struct world *w = world_create();
    struct learn_queue *q = tables_learn_queue(ofproto_tables(w->ofproto));
    char text[128];

    flow_mod(w, FLOW_ADD, LEARN_SRC);
    main_is_busy = true;
    for (unsigned int i = 0; i < LEARN_QUEUE_MAX + 10; i++) {
        snprintf(text, sizeof text, "in_port=1,dl_type=0x1234,dl_dst=02:00:00:00:00:99,dl_src=02:00:00:00:%02x:%02x", i >> 8, i & 0xff);
        free(packet(w, text));
    }
    assert_int_equal(q->n, LEARN_QUEUE_MAX);
    main_is_busy = false;
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(count(w, 1), LEARN_QUEUE_MAX);
    free(packet(w, text));
    assert_int_equal(count(w, 1), LEARN_QUEUE_MAX + 1);
    world_destroy(w);
}

/* A rule that was evicted for one that was learned is none that counts. */
static void a_limit_counts_what_is_there(void **state UNUSED)
{
    struct world *w = world_create();
    struct match m;

    flow_mod(w, FLOW_ADD, "table=0,actions=learn(table=1,cookie=7,idle_timeout=60,limit=2,NXM_OF_ETH_SRC[])");
    *tables_policy(ofproto_tables(w->ofproto), 1) = (struct table_policy) { .limited = true, .flow_limit = 1, .evicts = true };
    free(packet(w, FROM(1)));
    main_is_busy = true;
    free(packet(w, FROM(2)));
    free(packet(w, FROM(3)));
    main_is_busy = false;
    event_base_loop(base, EVLOOP_NONBLOCK);
    cls_rule_get_match(&learned_rule(w, 1)->cls, &m);
    assert_int_equal(m.flow.eth_src.ea[5], 3);
    world_destroy(w);
}

/* Else it would stay for ever: who would delete it has gone. */
static void a_rule_that_has_gone_teaches_no_more(void **state UNUSED)
{
    struct world *w = world_create();

    flow_mod(w, FLOW_ADD, "table=0,actions=learn(table=1,cookie=7,delete_learned,NXM_OF_ETH_SRC[])");
    main_is_busy = true;
    free(packet(w, FROM(1)));
    flow_mod(w, FLOW_DELETE, "table=0");
    main_is_busy = false;
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(count(w, 1), 0);
    world_destroy(w);
}

static void what_waits_when_its_rule_or_its_bridge_goes_is_let_go(void **state UNUSED)
{
    struct world *w = world_create();

    flow_mod(w, FLOW_ADD, "table=0,idle_timeout=60,actions=fin_timeout(idle_timeout=5),output:2");
    main_is_busy = true;
    free(packet(w, "in_port=1,tcp,tcp_flags=0x1"));
    flow_mod(w, FLOW_ADD, "table=0,idle_timeout=60,actions=output:3");
    main_is_busy = false;
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(learned_rule(w, 0)->idle_timeout, 60);
    flow_mod(w, FLOW_ADD, LEARN_SRC);
    main_is_busy = true;
    free(packet(w, FROM(1)));
    world_destroy(w);
    main_is_busy = false;
}

static void a_long_chain_of_delete_learned_needs_no_stack(void **state UNUSED)
{
    enum { N = 3000 };
    struct world *w = world_create();
    char text[256];

    for (unsigned int i = 1; i <= N; i++) {
        snprintf(text, sizeof text, "table=1,cookie=%u,reg0=%u,actions=learn(table=1,cookie=%u,delete_learned,NXM_OF_ETH_SRC[])", i, i, i + 1);
        flow_mod(w, FLOW_ADD, text);
    }
    assert_int_equal(count(w, 1), N);
    flow_mod(w, FLOW_DELETE, "table=1,reg0=1");
    struct dump d = { .n = 0 };
    rcu_read_lock();
    tables_for_each(ofproto_tables(w->ofproto), 1, NULL, tables_version(ofproto_tables(w->ofproto)), collect, &d);
    rcu_read_unlock();
    assert_int_equal(d.n, 0);
    world_destroy(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_learned_as_the_packaged_daemon_learns_them),
        cmocka_unit_test(what_is_copied_is_looked_at_and_no_more),
        cmocka_unit_test(what_is_known_changes_no_tables_and_is_fresh_again),
        cmocka_unit_test(who_waited_in_vain_does_not_wait_again),
        cmocka_unit_test(main_holds_the_limit_when_many_come_at_once),
        cmocka_unit_test(a_packet_that_meets_a_rule_twice_teaches_once),
        cmocka_unit_test(the_queue_is_bounded_and_what_was_refused_comes_with_the_next_packet),
        cmocka_unit_test(a_limit_counts_what_is_there),
        cmocka_unit_test(a_rule_that_has_gone_teaches_no_more),
        cmocka_unit_test(what_waits_when_its_rule_or_its_bridge_goes_is_let_go),
        cmocka_unit_test(a_long_chain_of_delete_learned_needs_no_stack),
    };

    rcu_register_thread();
    base = event_base_new();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
