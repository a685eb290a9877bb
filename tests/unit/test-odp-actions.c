/* Datapath actions: written, printed and read again. */
#include <config.h>

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-cookie.h"
#include "lib/pkt/flow.h"

struct action_buf {
    uint32_t mem[1024];
    struct attrbuf b;
};

static void buf_init(struct action_buf *buf)
{
    attrbuf_init(&buf->b, buf->mem, sizeof buf->mem);
}

static char *print_bytes(const void *actions, size_t len, const struct odp_names *names)
{
    struct text t;

    odp_actions_print(text_open(&t), actions, len, names);
    return text_close(&t);
}

static void assert_prints(const struct action_buf *buf, const char *expected)
{
    assert_false(buf->b.overflow);
    char *s = print_bytes(attrbuf_data(&buf->b), attrbuf_len(&buf->b), NULL);
    assert_string_equal(s, expected);
    free(s);
}

/* As `ovs-dpctl dump-flows` shows them. */
static const char *const texts[] = {
    "drop",
    "1,2,3",
    "push_vlan(vid=5,pcp=3),2",
    "pop_vlan,push_vlan(tpid=0x88a8,vid=9,pcp=1),1",
    "trunc(100),3",
    "recirc(0x10)",
    "hash(l4(5)),recirc(0x11)",
    "userspace(pid=5)",
    "userspace(pid=4294967295,userdata(0102030405),actions,tunnel_out_port=2),1",
    "userspace(pid=7,slow_path(action))",
    "userspace(pid=7,slow_path(action,match,0x80))",
    "userspace(pid=7,controller(reason=1,rule_cookie=0,controller_id=0,max_len=65535,bridge=0x1,table=0,in_port=1)),2",
    ("userspace(pid=7,controller(reason=0,rule_cookie=0xffffffffffffffff,controller_id=9,max_len=0,bridge=0xdeadbeef,table=254,"
     "in_port=65534,flags=0x1,metadata=0x123456789abcdef0,reg0=0x1,reg7=0xffffffff,reg15=0x80000000,userdata=00ff))"),
    "userspace(pid=7,controller(reason=1,rule_cookie=0x5,controller_id=0,max_len=9,bridge=0,table=0,in_port=0,userdata=))",
    "set(eth(src=00:00:00:00:00:09)),2",
    "set(ipv4(src=1.1.1.1,dst=2.0.0.0/255.0.0.0,tos=0/0x3,ttl=63)),set(tcp(dst=99)),2",
    "set(ipv6(src=::1,label=0x1,tclass=0x3/0xf,hlimit=4)),set(udp(src=1,dst=5)),2",
    "set(skb_priority(0x5)),set(skb_mark(0x1/0x3)),2",
    "set(mpls(label=5,tc=1,ttl=2,bos=0)),2",
    ("set(tunnel(tun_id=0x5,dst=2.2.2.2,ttl=64,tp_src=1,tp_dst=6081,geneve({class=0x102,type=0x80,len=8,"
     "0xa00000000b}{class=0x103,type=0x1,len=0}),flags(df|csum|key))),2"),
    "set(tunnel(dst=2.2.2.2,ttl=64,vxlan(gbp(id=5,flags=0x40)),flags(0))),2",
    "set(tunnel(tun_id=0x1,ipv6_dst=::2,ttl=64,erspan(ver=2,dir=1,hwid=0x7),flags(oam|key))),2",
    "push_mpls(label=1,tc=0,ttl=64,bos=1,eth_type=0x8847),2",
    "add_mpls(label=1,tc=0,ttl=64,bos=1,eth_type=0x8847),2",
    "pop_mpls(eth_type=0x800),2",
    "push_eth(src=00:00:00:00:00:01,dst=00:00:00:00:00:02),2",
    "pop_eth,2",
    "push_nsh(flags=0,ttl=63,mdtype=1,np=3,spi=0x5,si=3,c1=0x1,c2=0x2,c3=0x3,c4=0x4),2",
    "pop_nsh(),2",
    "meter(1),2",
    "clone(push_vlan(vid=1,pcp=0),2),3",
    "clone(drop),sample(sample=100.0%,actions(drop)),check_pkt_len(size=100,gt(drop),le(2)),2",
    "sample(sample=50.0%,actions(2)),3",
    "dec_ttl(le_1(userspace(pid=1))),2",
    "ct,ct_clear,ct(nat),2",
    "ct(commit,mark=0x1/0xff,label=0x1/0xff,helper=ftp,timeout=abc)",
    "ct(force_commit,zone=5,mark=0x1/0xffffffff,label=0x123456789abcdef0123456789abcdef)",
    "ct(commit,nat(src=10.0.0.1-10.0.0.5:100-200)),2",
    "ct(commit,nat(dst=1.1.1.1:5,random)),ct(commit,nat(src=1.1.1.1-1.1.1.5,persistent,hash)),2",
    "ct(commit,nat(src=[fe80::1]-[fe80::5]:5-6,persistent)),ct(commit,nat(src=fe80::1-fe80::5)),ct(nat(src)),2",
    "action99(0102)",
};

static void text_is_scanned_and_printed_alike(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct action_buf buf;

        buf_init(&buf);
        char *error = odp_actions_scan(texts[i], &buf.b);
        if (error) {
            fail_msg("%s: %s", texts[i], error);
        }
        assert_prints(&buf, texts[i]);
    }
}

static void writers_write_what_is_printed(void **state)
{
    struct action_buf buf;

    buf_init(&buf);
    assert_prints(&buf, "drop");
    odp_put_output(&buf.b, (odp_port_t) { 3 });
    odp_put_trunc(&buf.b, 128);
    odp_put_push_vlan(&buf.b, htons(ETH_TYPE_VLAN), htons(5));
    odp_put_pop_vlan(&buf.b);
    odp_put_userspace(&buf.b, 7, "\1\2", 2);
    odp_put_userspace(&buf.b, 8, NULL, 0);
    odp_put_recirc(&buf.b, 0x20);
    assert_prints(&buf, "3,trunc(128),push_vlan(vid=5,pcp=0),pop_vlan,userspace(pid=7,userdata(0102)),"
                        "userspace(pid=8),recirc(0x20)");
}

/* What an upcall brings back: whole, or refused. */
static void a_cookie_that_is_cut_or_altered_is_none(void **state)
{
    static const uint8_t userdata[] = { 1, 2, 3 };
    const struct odp_cookie in = { .kind = ODP_COOKIE_CONTROLLER, .bridge = 3, .reason = 2, .table_id = 4, .controller_id = 5, .max_len = 6,
                                   .rule_cookie = 7, .in_port = { 8 }, .metadata = 9, .regs = { [0] = 1, [15] = 2 },
                                   .userdata = { userdata, sizeof userdata } };
    struct odp_cookie out;
    struct action_buf buf;

    buf_init(&buf);
    odp_cookie_put(&buf.b, &in);
    const struct nlattr *a = attrbuf_data(&buf.b);
    const uint8_t *p = mnl_attr_get_payload(a);
    size_t n = mnl_attr_get_payload_len(a);
    assert_true(odp_cookie_get(p, n, &out));
    assert_memory_equal(out.userdata.p, userdata, sizeof userdata);
    assert_int_equal(out.userdata.n, sizeof userdata);
    assert_int_equal(out.reason, 2);
    assert_int_equal(out.rule_cookie, 7);
    assert_int_equal(out.regs[15], 2);
    odp_cookie_put(&buf.b, &out);
    const struct nlattr *again = mnl_attr_next(a);
    assert_int_equal(again->nla_len, a->nla_len);
    assert_memory_equal(again, a, a->nla_len); /* All of it. */
    for (size_t i = 0; i < n; i++) {
        assert_false(odp_cookie_get(p, i, &out));
    }
    /* Kind and version, and the lengths. */
    static const size_t altered[] = { 0, 1, 18, 20, 23 };
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        uint8_t copy[128];
        memcpy(copy, p, n);
        copy[altered[i]] ^= 0x40;
        assert_false(odp_cookie_get(copy, n, &out));
    }
}

static void set_tags(struct flow *flow, unsigned int outer, unsigned int inner)
{
    unsigned int vids[] = { outer, inner };
    int n = 0;

    memset(flow, 0, sizeof *flow);
    for (int i = 0; i < 2; i++) {
        if (vids[i]) {
            flow->vlan[n].tpid = htons(ETH_TYPE_VLAN);
            flow->vlan[n++].tci = htons(VLAN_CFI | vids[i]);
        }
    }
}

static void vlan_change_does_the_least(void **state)
{
    static const struct {
        unsigned int from[2], to[2];
        const char *actions;
    } cases[] = {
        { { 0, 0 }, { 0, 0 }, "drop" },
        { { 0, 0 }, { 5, 0 }, "push_vlan(vid=5,pcp=0)" },
        { { 5, 0 }, { 0, 0 }, "pop_vlan" },
        { { 5, 0 }, { 5, 0 }, "drop" },
        { { 5, 0 }, { 6, 0 }, "pop_vlan,push_vlan(vid=6,pcp=0)" },
        { { 5, 0 }, { 6, 5 }, "push_vlan(vid=6,pcp=0)" },
        { { 6, 5 }, { 5, 0 }, "pop_vlan" },
        { { 6, 5 }, { 7, 5 }, "pop_vlan,push_vlan(vid=7,pcp=0)" },
        { { 6, 5 }, { 0, 0 }, "pop_vlan,pop_vlan" },
        { { 6, 5 }, { 6, 4 }, "pop_vlan,pop_vlan,push_vlan(vid=4,pcp=0),push_vlan(vid=6,pcp=0)" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct flow from, to;
        struct action_buf buf;

        set_tags(&from, cases[i].from[0], cases[i].from[1]);
        set_tags(&to, cases[i].to[0], cases[i].to[1]);
        buf_init(&buf);
        odp_put_vlan_change(&buf.b, &from, &to);
        assert_prints(&buf, cases[i].actions);
    }
}

static const char *name_port(odp_port_t port, void *aux)
{
    return port.n == 2 ? "veth-b" : NULL;
}

static void ports_are_printed_by_name(void **state)
{
    struct odp_names names = { .name = name_port };
    struct action_buf buf;

    buf_init(&buf);
    assert_null(odp_actions_scan("1,2,clone(2)", &buf.b));
    char *s = print_bytes(attrbuf_data(&buf.b), attrbuf_len(&buf.b), &names);
    assert_string_equal(s, "1,veth-b,clone(veth-b)");
    free(s);
}

static void no_bytes_make_the_printer_read_past_their_end(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct action_buf buf;

        buf_init(&buf);
        assert_null(odp_actions_scan(texts[i], &buf.b));
        size_t len = attrbuf_len(&buf.b);
        for (size_t n = 0; n < len; n++) {
            /* A copy that ends where the bytes end, with a byte spoilt: often a length or a type. */
            for (int change = 0; change < 3; change++) {
                uint8_t *copy = xmemdup(attrbuf_data(&buf.b), len);
                uint8_t *cut = n ? xmemdup(copy, n) : NULL;

                free(print_bytes(cut, n, NULL));
                copy[n] += change == 0 ? 1 : change == 1 ? -1 : 0x40;
                free(print_bytes(copy, len, NULL));
                free(cut);
                free(copy);
            }
        }
    }
}

static void deep_nests_are_cut(void **state)
{
    struct nlattr *nests[100];
    struct action_buf buf;

    buf_init(&buf);
    for (int i = 0; i < 100; i++) {
        nests[i] = attrbuf_nest_begin(&buf.b, OVS_ACTION_ATTR_CLONE);
    }
    for (int i = 100; i--;) {
        attrbuf_nest_end(&buf.b, nests[i]);
    }
    char *s = print_bytes(attrbuf_data(&buf.b), attrbuf_len(&buf.b), NULL);
    assert_non_null(strstr(s, "..."));
    free(s);
}

static void errors_name_action_and_value(void **state)
{
    static const char *const cases[][2] = {
        { "eth0", "\"eth0\": there is no such action" },
        { "frob(1)", "frob(1): there is no such action" },
        { "push_vlan(vid=5000)", "push_vlan: expected" },
        { "push_vlan(foo=1)", "push_vlan(foo): there is no such field" },
        { "recirc(x)", "recirc(x): expected a number" },
        { "set(frob(1))", "frob: there is no such field" },
        { "set(1)", "set(1): expected set(FIELD(VALUE))" },
        { "userspace(pid=x)", "userspace(pid)(x): expected a number" },
        { "userspace(userdata(0))", "userspace(userdata(0)): expected" },
        { "userspace(slow_path(late))", "slow_path(late): expected action" },
        { "userspace(controller(reason=256))", "controller(reason=256): expected a number up to 0xff" },
        { "userspace(controller(reg16=1))", "controller(reg16): there is no such field" },
        { "userspace(controller(reg1=x))", "controller(reg1=x): expected a number of 32 bits" },
        { "userspace(controller(userdata=0))", "controller(userdata=0): expected" },
        { "sample(sample=200%)", "sample(sample=200%): expected a percentage" },
        { "ct(zone=70000)", "ct(zone=70000): expected a number" },
        { "ct(nat(src=1.2.3))", "ct(nat(src=...)): expected ADDRESS" },
        { "ct(nat(src=[fe80::1))", "" },
        { "hash(x(1))", "hash(x): expected" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct action_buf buf;

        buf_init(&buf);
        char *error = odp_actions_scan(cases[i][0], &buf.b);
        if (!error || !strstr(error, cases[i][1])) {
            fail_msg("%s: %s", cases[i][0], error ? error : "no error");
        }
        free(error);
    }
}

static void too_many_actions_are_an_error(void **state)
{
    uint32_t mem[16];
    struct attrbuf b;

    attrbuf_init(&b, mem, sizeof mem);
    char *error = odp_actions_scan("1,2,3,4,5,6,7,8,9", &b);
    assert_string_equal(error, "the actions are too long");
    free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_scanned_and_printed_alike),
        cmocka_unit_test(writers_write_what_is_printed),
        cmocka_unit_test(a_cookie_that_is_cut_or_altered_is_none),
        cmocka_unit_test(vlan_change_does_the_least),
        cmocka_unit_test(ports_are_printed_by_name),
        cmocka_unit_test(no_bytes_make_the_printer_read_past_their_end),
        cmocka_unit_test(deep_nests_are_cut),
        cmocka_unit_test(errors_name_action_and_value),
        cmocka_unit_test(too_many_actions_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
