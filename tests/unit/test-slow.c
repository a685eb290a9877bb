/* The slow path: which requests a list of actions becomes, and with which bytes of the packet. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "lib/odp/odp-actions.h"
#include "lib/pkt/flow.h"
#include "lib/pkt/packet-build.h"
#include "lib/pkt/packet.h"
#include "ofproto/slow.h"

struct trace {
    struct text text;
    unsigned int n;
};

/* "op:ACTIONS;", with the ARP operation of the packet as it goes. */
static void operate(struct dpif_op *ops[], size_t n, void *trace_)
{
    struct trace *t = trace_;
    struct flow flow;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ops[i]->type, DPIF_OP_EXECUTE);
        assert_int_equal(packet_extract(ops[i]->execute.packet, ops[i]->execute.packet_len, &flow), 0);
        fprintf(t->text.out, "%u:", __builtin_bswap16(flow.arp_op));
        odp_actions_print(t->text.out, ops[i]->execute.actions, ops[i]->execute.actions_len, NULL);
        fputc(';', t->text.out);
        ops[i]->error = t->n++ == 1 ? -EPERM : 0;
    }
}

static void check(const char *actions, const char *expected, int error)
{
    struct trace t = { .n = 0 };
    struct packet_build p, before;
    uint32_t memory[1024];
    struct attrbuf b;
    struct arena arena;

    packet_build_arp(&p, (struct eth_addr) { { 2 } }, (struct eth_addr) { { 4 } }, 1, 1, 2);
    before = p;
    attrbuf_init(&b, memory, sizeof memory);
    char *why = odp_actions_scan(actions, &b);
    if (why) {
        fail_msg("%s: %s", actions, why);
    }
    struct dpif_op op = { .type = DPIF_OP_EXECUTE, .execute = { .packet = p.data, .packet_len = p.len, .actions = attrbuf_data(&b), .actions_len = attrbuf_len(&b) } };
    arena_init(&arena, 4096);
    text_open(&t.text);
    assert_int_equal(slow_run(&arena, &op, operate, &t), error);
    arena_uninit(&arena);
    assert_memory_equal(p.data, before.data, p.len); /* The caller's stays. */
    char *s = text_close(&t.text);
    assert_string_equal(s, expected);
    free(s);
}

static void actions_are_cut_at_what_is_ours(void **state UNUSED)
{
    check("set(arp(op=2)),3", "2:3;", 0);
    check("1,set(arp(op=2)),3", "1:1;2:3;", -EPERM);
    check("1,2,set(arp(op=2)),set(arp(op=3)),3,4", "1:1,2;3:3,4;", -EPERM);
    check("set(arp(op=2))", "", 0);
    check("set(arp(op=2)),set(eth(src=02:00:00:00:00:09))", "", 0);
}

static void what_the_kernel_changes_it_changes_again(void **state UNUSED)
{
    check("set(eth(src=02:00:00:00:00:09)),1,set(arp(op=2)),push_vlan(vid=5,pcp=0),2,set(arp(op=7)),pop_vlan,3",
          "1:set(eth(src=02:00:00:00:00:09)),1;"
          "2:set(eth(src=02:00:00:00:00:09)),push_vlan(vid=5,pcp=0),2;"
          "7:set(eth(src=02:00:00:00:00:09)),push_vlan(vid=5,pcp=0),pop_vlan,3;", -EPERM);
    check("set(arp(op=2)),trunc(100),1,userspace(pid=5,slow_path(action)),set(arp(op=1)),recirc(0x1)",
          "2:trunc(100),1,userspace(pid=5,slow_path(action));1:recirc(0x1);", -EPERM);
}

static void a_clone_is_a_packet_of_its_own(void **state UNUSED)
{
    check("clone(1,2),set(arp(op=2)),3", "1:clone(1,2);2:3;", -EPERM);
    /* A frame of 42 bytes, and more with a tag. */
    check("check_pkt_len(size=41,gt(set(arp(op=2)),1),le(2)),3", "2:1;1:3;", -EPERM);
    check("check_pkt_len(size=42,gt(1),le(check_pkt_len(size=5,gt(2),le(4)))),set(arp(op=2)),3", "1:2;2:3;", -EPERM);
    check("push_vlan(vid=5,pcp=0),check_pkt_len(size=45,gt(1),le(2))", "1:push_vlan(vid=5,pcp=0),1;", 0);
    check("set(eth(src=02:00:00:00:00:09)),clone(push_vlan(vid=5,pcp=0),set(arp(op=2)),1,clone(set(arp(op=3)),2)),3",
          "2:set(eth(src=02:00:00:00:00:09)),push_vlan(vid=5,pcp=0),1;"
          "3:set(eth(src=02:00:00:00:00:09)),push_vlan(vid=5,pcp=0),2;"
          "1:set(eth(src=02:00:00:00:00:09)),3;", -EPERM);
}

/* It is asked once, with the first that is sent. */
static void a_meter_is_passed_with_what_is_sent(void **state UNUSED)
{
    check("meter(7),set(arp(op=2)),1", "2:meter(7),1;", 0);
    check("meter(7),1,set(arp(op=2)),2", "1:meter(7),1;2:2;", -EPERM);
    check("meter(7),set(arp(op=2))", "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_are_cut_at_what_is_ours),
        cmocka_unit_test(what_the_kernel_changes_it_changes_again),
        cmocka_unit_test(a_clone_is_a_packet_of_its_own),
        cmocka_unit_test(a_meter_is_passed_with_what_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
