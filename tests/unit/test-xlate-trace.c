/* The recorder of steps: what a translation notes, in which order and within what; and that it translates as one that notes nothing. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ofproto/xlate-trace.h"
#include "tests/unit/xlate-tables-kit.h"

static char actions_memory[2][XLATE_ACTIONS_SIZE] __attribute__((aligned(8)));
static struct xlate_out out, plain;

/* A line a step: two blanks for each that it is within, a letter for its kind, and its text. */
static void print_steps(FILE *f, const struct xlate_step *s, int depth)
{
    static const char letters[] = "BTanweb";

    for (; s; s = s->next) {
        fprintf(f, "%*s%c %s\n", 2 * depth, "", letters[s->kind], s->text);
        print_steps(f, s->first, depth + 1);
    }
}

/* Traces IN in C; the result in 'out', and the same translation without a trace in 'plain'.  To be uninitialised. */
static void trace(const struct xconfig *c, const struct xlate_in *in_, struct xlate_trace *t)
{
    struct xlate_in in = *in_;

    rcu_read_lock();
    attrbuf_init(&plain.actions, actions_memory[1], sizeof actions_memory[1]);
    plain.rules = NULL;
    in.trace = NULL;
    xlate_from(c, &in, &plain);
    attrbuf_init(&out.actions, actions_memory[0], sizeof actions_memory[0]);
    out.rules = NULL;
    xlate_trace_init(t);
    in.trace = t;
    xlate_from(c, &in, &out);
    rcu_read_unlock();
    assert_true(t->at == &t->root);
    assert_int_equal(attrbuf_len(&out.actions), attrbuf_len(&plain.actions));
    assert_memory_equal(attrbuf_data(&out.actions), attrbuf_data(&plain.actions), attrbuf_len(&plain.actions));
    assert_memory_equal(&out.mask, &plain.mask, sizeof out.mask);
    assert_int_equal(out.verdict, plain.verdict);
}

#define MAX_FLOWS 8

static struct xconfig *config(const char *const flows[MAX_FLOWS])
{
    return kit_two_bridges("1:t 2:t 3:t 5:tp-", "10:tp 11:t", flows, MAX_FLOWS);
}

static void check(const char *const flows[MAX_FLOWS], const char *packet, const char *steps, const char *final)
{
    struct xconfig *c = config(flows);
    struct flow flow = kit_packet(packet);
    const struct xlate_in in = { .flow = &flow, .port = xconfig_port_by_odp(c, flow.in_port) };
    struct xlate_trace t;
    struct text text;

    trace(c, &in, &t);
    print_steps(text_open(&text), t.root.first, 0);
    char *got = text_close(&text);
    assert_string_equal(got, steps);
    free(got);

    assert_true(t.has_final);
    struct match want;
    assert_null(ofp_match_scan(final, &want));
    assert_true(flow_equal_masked(&t.final, &want.flow, &want.mask));
    xlate_trace_uninit(&t);
    xconfig_destroy(c);
}
#define FLOWS(...) (const char *const[MAX_FLOWS]){ __VA_ARGS__ }

static void rules_and_actions_are_within_what_led_to_them(void **state UNUSED)
{
    check(FLOWS("priority=7,in_port=1 actions=load:1->NXM_NX_REG0[],resubmit(,1),output:3", "table=1,reg0=1 actions=output:2,resubmit(,2)"),
          "ip,in_port=1",
          "B bridge(\"a\")\n"
          "  T  0. in_port=1, priority 7\n"
          "    a load:0x1->NXM_NX_REG0[]\n"
          "    a resubmit(,1)\n"
          "    T  1. reg0=0x1, priority 32768\n"
          "      a output:2\n"
          "      a resubmit(,2)\n"
          "      T  2. No match.\n"
          "        a drop\n"
          "    a output:3\n",
          "ip,reg0=1");
}

static void what_follows_goto_table_is_within_the_rule(void **state UNUSED)
{
    check(FLOWS("priority=1 actions=write_actions(output:3,mod_dl_src:02:00:00:00:00:09),goto_table:1", "table=1,priority=1 actions=output:2"),
          "ip,in_port=1,dl_src=02:00:00:00:00:01",
          "B bridge(\"a\")\n"
          "  T  0. priority 1\n"
          "    a write_actions(output:3,mod_dl_src:02:00:00:00:00:09)\n"
          "    n action set is: mod_dl_src:02:00:00:00:00:09,output:3\n"
          "    a goto_table:1\n"
          "    T  1. priority 1\n"
          "      a output:2\n"
          "    T --. Executing action set:\n"
          "      a mod_dl_src:02:00:00:00:00:09\n"
          "      a output:3\n",
          "ip,dl_src=02:00:00:00:00:09");
}

static void behind_a_patch_port_is_a_bridge(void **state UNUSED)
{
    check(FLOWS("actions=output:5,output:99,output:1", "B:actions=mod_dl_src:02:00:00:00:00:09,output:11"), "ip,in_port=1,dl_src=02:00:00:00:00:01",
          "B bridge(\"a\")\n"
          "  T  0. priority 32768\n"
          "    a output:5\n"
          "    B bridge(\"b\")\n"
          "      T  0. priority 32768\n"
          "        a mod_dl_src:02:00:00:00:00:09\n"
          "        a output:11\n"
          "    a output:99\n"
          "    w Nonexistent output port\n"
          "    a output:1\n"
          "    w skipping output to input port\n",
          "ip,dl_src=02:00:00:00:00:01");
}

static void a_loop_ends_with_an_error(void **state UNUSED)
{
    const char *const flows[MAX_FLOWS] = { "actions=resubmit(,0)" };
    struct xconfig *c = config(flows);
    struct flow flow = kit_packet("ip,in_port=1");
    const struct xlate_in in = { .flow = &flow, .port = xconfig_port_by_odp(c, flow.in_port) };
    struct xlate_trace t;

    trace(c, &in, &t);
    const struct xlate_step *s = t.root.first;
    unsigned int depth = 0;
    for (; s->last; depth++) {
        s = s->last;
    }
    assert_int_equal(s->kind, STEP_ERROR);
    assert_string_equal(s->text, "over max translation depth 64");
    assert_int_equal(depth, 1 + 64 + 1); /* The bridge's first table, 64 more within one another, and the error. */
    xlate_trace_uninit(&t);
    xconfig_destroy(c);
}

/* 4,096 resubmits of 33 actions each are more steps than are kept; what is kept is whole. */
static void steps_are_bounded(void **state UNUSED)
{
    const char *const flows[MAX_FLOWS] = { NULL };
    struct xconfig *c = config(flows);
    struct flow flow = kit_packet("ip,in_port=1");
    const struct xlate_in in = { .flow = &flow, .port = xconfig_port_by_odp(c, flow.in_port) };
    struct xlate_trace t;
    struct text text;

    for (int table = 0; table < 5; table++) {
        FILE *f = text_open(&text);
        fprintf(f, "table=%d actions=", table);
        for (int i = 0; i < 30; i++) {
            fprintf(f, "%snote:00,load:%d->NXM_NX_REG0[]", i ? "," : "", i);
            if (table < 4) {
                fprintf(f, ",resubmit(,%d)", table + 1);
            }
        }
        char *flow_text = text_close(&text);
        kit_add_flow(c->bridges[0], flow_text);
        free(flow_text);
    }
    trace(c, &in, &t);
    assert_true(t.cut);
    assert_int_equal(t.n_steps, XLATE_TRACE_MAX_STEPS);
    xlate_trace_uninit(&t);
    xconfig_destroy(c);
}

static void actions_stand_for_the_first_table(void **state UNUSED)
{
    const char *const flows[MAX_FLOWS] = { "actions=output:2", "table=1 actions=output:3" };
    struct xconfig *c = config(flows);
    struct flow flow = kit_packet("ip,in_port=1");
    struct buf acts = BUF_INITIALIZER;
    assert_null(ofp_acts_scan("resubmit(,1),in_port", NULL, &acts));
    const struct xlate_in in = { .flow = &flow, .port = xconfig_port_by_odp(c, flow.in_port), .acts = (const struct ofp_act *) acts.data,
                                 .acts_len = acts.len };
    struct xlate_trace t;

    trace(c, &in, &t);
    char *got = kit_actions_text(&out.actions);
    assert_string_equal(got, "3,1");
    free(got);
    assert_string_equal(t.root.first->first->text, "resubmit(,1)");
    xlate_trace_uninit(&t);
    buf_uninit(&acts);
    xconfig_destroy(c);
}

/* What is learned is said when it will be learned, once, and only if it is news. */
static void learning_is_a_step_if_it_is_a_consequence(void **state UNUSED)
{
    const char *const flows[MAX_FLOWS] = { "actions=normal,normal" };
    struct xconfig *c = config(flows);
    struct flow flow = kit_packet("ip,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02");
    const struct xlate_in in = { .flow = &flow, .port = xconfig_port_by_odp(c, flow.in_port) };

    for (int round = 0; round < 3; round++) {
        struct xlate_trace t;
        struct xlate_in traced = in;
        unsigned int n = 0;
        xlate_trace_init(&t);
        t.side_effects = round > 0;
        traced.trace = &t;
        attrbuf_init(&out.actions, actions_memory[0], sizeof actions_memory[0]);
        out.rules = NULL;
        rcu_read_lock();
        xlate_from(c, &traced, &out);
        rcu_read_unlock();
        for (const struct xlate_step *s = t.root.first->first->first; s; s = s->next) {
            n += !strcmp(s->text, "learned that 02:00:00:00:00:01 is on port p1 in VLAN 0");
        }
        assert_int_equal(n, round == 1);
        if (round == 1) {
            kit_learn(c->bridges[0], 0, flow.eth_src, 1);
        }
        xlate_trace_uninit(&t);
    }
    xconfig_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_and_actions_are_within_what_led_to_them),
        cmocka_unit_test(what_follows_goto_table_is_within_the_rule),
        cmocka_unit_test(behind_a_patch_port_is_a_bridge),
        cmocka_unit_test(a_loop_ends_with_an_error),
        cmocka_unit_test(steps_are_bounded),
        cmocka_unit_test(actions_stand_for_the_first_table),
        cmocka_unit_test(learning_is_a_step_if_it_is_a_consequence),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    rcu_unregister_thread();
    return failed;
}
