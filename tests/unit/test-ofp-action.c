/* Actions and instructions: against the referee's bytes and text, and what must be refused.
 *
 * tests/ofp/action.data has lists of actions as the packaged ovs-ofctl encodes and prints them in 1.0, 1.3
 * and 1.5; bad-action.data has changed bytes and what it says of them.  Where we differ on purpose stands in the
 * tables here. */
#include <config.h>

#include <endian.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/buf.h"
#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "lib/pkt/flow.h"

/* ---- Helpers. ---- */

static char *print_acts(const struct buf *acts)
{
    struct text t;

    ofp_acts_print(text_open(&t), acts->data, acts->len, NULL);
    return text_close(&t);
}

static char *to_hex(const struct buf *b)
{
    char *s = xmalloc(2 * b->len + 2);

    strcpy(s, b->len ? "" : "-");
    for (size_t i = 0; i < b->len; i++) {
        sprintf(s + 2 * i, "%02x", b->data[i]);
    }
    return s;
}

static void put_hex(struct buf *b, const char *hex)
{
    unsigned int byte;

    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
        buf_put_u8(b, byte);
    }
}

static enum ofp_version version_of(const char *name)
{
    return !strcmp(name, "10") ? OFP10_VERSION : !strcmp(name, "13") ? OFP13_VERSION : OFP15_VERSION;
}

static FILE *open_data(const char *name)
{
    char *path = xasprintf("%s/tests/ofp/%s", SRCDIR, name);
    FILE *f = fopen(path, "r");

    if (!f) {
        fail_msg("%s: cannot be opened", path);
    }
    free(path);
    return f;
}

/* The few words of matches that the data has. */
static void flow_from_words(const char *words, struct flow *flow, uint8_t *table)
{
    static const struct {
        const char *word;
        uint16_t eth_type;
        uint8_t proto;
    } protocols[] = {
        { "ip", ETH_TYPE_IPV4, 0 },
        { "ipv6", ETH_TYPE_IPV6, 0 },
        { "arp", ETH_TYPE_ARP, 0 },
        { "mpls", ETH_TYPE_MPLS, 0 },
        { "tcp", ETH_TYPE_IPV4, IPPROTO_TCP },
        { "udp", ETH_TYPE_IPV4, IPPROTO_UDP },
        { "sctp", ETH_TYPE_IPV4, IPPROTO_SCTP },
        { "icmp", ETH_TYPE_IPV4, IPPROTO_ICMP },
        { "icmp6", ETH_TYPE_IPV6, IPPROTO_ICMPV6 },
        { "tcp6", ETH_TYPE_IPV6, IPPROTO_TCP },
        { "udp6", ETH_TYPE_IPV6, IPPROTO_UDP },
    };
    char *copy = xstrdup(words), *save = NULL;

    memset(flow, 0, sizeof *flow);
    *table = OFP_TABLE_ALL;
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
            if (!strcmp(w, protocols[i].word)) {
                flow->eth_type = htobe16(protocols[i].eth_type);
                flow->ip_proto = protocols[i].proto;
            }
        }
        if (!strncmp(w, "dl_vlan", 7) || !strncmp(w, "vlan_tci", 8)) {
            flow->vlan[0] = (struct flow_vlan){ htobe16(ETH_TYPE_VLAN), htobe16(VLAN_CFI | 3) };
        } else if (!strncmp(w, "ct_state", 8)) {
            flow->ct_state = strstr(w, "+trk") ? 0x21 : 0x02;
        } else if (!strncmp(w, "icmp_type=", 10)) {
            flow->tp_src = htobe16(atoi(w + 10));
        } else if (!strncmp(w, "table=", 6)) {
            *table = atoi(w + 6);
        }
    }
    free(copy);
}

static enum ofp_error check_in(struct buf *acts, const char *words, enum ofp_version version)
{
    struct flow flow;
    struct ofp_check check = { .flow = &flow, .version = version, .n_tables = OFP_MAX_TABLES, .max_ports = OFPP_MAX };

    flow_from_words(words, &flow, &check.table);
    return ofp_acts_check(acts->data, acts->len, &check);
}

static enum ofp_error decode(const struct buf *wire, enum ofp_version version, struct buf *acts)
{
    return ofp_instructions_decode(wire->data, wire->len, version, acts);
}

/* A failure of one line does not hide the others: they are counted. */
static unsigned int n_failed;

static void expect_equal(const char *what, const char *line, const char *version, const char *got, const char *expected)
{
    if (strcmp(got, expected)) {
        print_error("%s: %s, in %s:\n  got      %s\n  expected %s\n", line, what, version, got, expected);
        n_failed++;
    }
}

/* ---- Against the referee. ---- */

struct difference {
    const char *line, *version; /* NULL: every version. */
    const char *why;
};

static const struct difference differences[] = {
    { "set_field:01:00:00:00:00:00/01:00:00:00:00:00->eth_dst", "10", "the referee drops the mask" },
    { "set_field:00:11:22:00:00:00/ff:ff:ff:00:00:00->eth_src", "10", "the referee drops the mask" },
    { "ip;set_field:10.0.0.0/8->ip_dst", "10", "the referee drops the mask" },
    { "ip;set_field:10.0.0.0/255.0.255.0->nw_dst", "10", "the referee drops the mask" },
    { "tcp;set_field:80/0xff->tcp_dst", "10", "the referee drops the mask" },
    { "output:0xff", NULL, "numbers of ports may be hexadecimal" },
    { "dl_vlan=3;set_field:5->dl_vlan", NULL, "the referee writes the header 0, which is in_port's" },
    { "dl_vlan=3;set_field:5->vlan_vid", NULL, "not a value that the field can have: refused at once" },
    { "ip;dec_ttl(65536)", NULL, "ids have 16 bits" },
    { "write_actions(push:reg0)", "10", "refused at once, also where it would be left out" },
    { "write_actions(learn(table=1))", "10", "the same" },
    { "write_actions(clone(output:1))", "10", "the same" },
    { "write_actions(conjunction(1,1/2))", "10", "the same" },
};

static bool is_different(const char *line, const char *version)
{
    for (size_t i = 0; i < ARRAY_SIZE(differences); i++) {
        const struct difference *d = &differences[i];

        if (!strcmp(d->line, line) && (!d->version || !strcmp(d->version, version))) {
            return true;
        }
    }
    return false;
}

/* LINE is [MATCH;]ACTIONS: the match's words are copied to WORDS. */
static const char *split_line(const char *line, char *words, size_t size)
{
    const char *semicolon = strrchr(line, ';');

    snprintf(words, size, "%.*s", semicolon ? (int) (semicolon - line) : 0, line);
    return semicolon ? semicolon + 1 : line;
}

static void check_line(const char *line, const char *version_name, char *hex, const char *text)
{
    enum ofp_version version = version_of(version_name);
    struct buf acts = BUF_INITIALIZER, wire = BUF_INITIALIZER, bytes = BUF_INITIALIZER, decoded = BUF_INITIALIZER;
    char words[256];
    char *error = ofp_acts_scan(split_line(line, words, sizeof words), NULL, &acts);

    if (error) {
        expect_equal("scanned", line, version_name, error, "no error");
        free(error);
    } else {
        enum ofp_error why = check_in(&acts, words, version);
        expect_equal("checked", line, version_name, ofp_error_name(why), "none");
        ofp_instructions_encode(acts.data, acts.len, version, &wire);
        char *got = to_hex(&wire);
        expect_equal("encoded", line, version_name, got, hex);
        free(got);
    }
    put_hex(&bytes, hex);
    enum ofp_error why = decode(&bytes, version, &decoded);
    expect_equal("decoded", line, version_name, ofp_error_name(why), "none");
    char *got = print_acts(&decoded);
    expect_equal("printed", line, version_name, got, text);
    free(got);
    check_in(&decoded, words, version);
    wire.len = 0;
    ofp_instructions_encode(decoded.data, decoded.len, version, &wire);
    got = to_hex(&wire);
    expect_equal("encoded again", line, version_name, got, hex);
    free(got);
    buf_uninit(&acts);
    buf_uninit(&wire);
    buf_uninit(&bytes);
    buf_uninit(&decoded);
}

/* What the referee refuses, we refuse in scanning or checking. */
static void check_refused(const char *line, const char *version_name, const char *why)
{
    struct buf acts = BUF_INITIALIZER;
    char words[256];

    if (strncmp(why, "not printed", 11) &&
        !(version_of(version_name) == OFP10_VERSION && !strncmp(why, "none of the usable", 18))) {
        char *error = ofp_acts_scan(split_line(line, words, sizeof words), NULL, &acts);
        if (!error && !check_in(&acts, words, version_of(version_name))) {
            expect_equal("accepted", line, version_name, "no error", why);
        }
        free(error);
    }
    buf_uninit(&acts);
}

static void lists_are_encoded_and_printed_as_by_the_referee(void **state)
{
    FILE *f = open_data("action.data");
    char *buffer = NULL, *line = NULL;
    size_t size = 0;
    unsigned int n = 0;

    n_failed = 0;
    while (getline(&buffer, &size, f) > 0) {
        buffer[strcspn(buffer, "\n")] = '\0';
        if (!strncmp(buffer, "> ", 2)) {
            free(line);
            line = xstrdup(buffer + 2);
            continue;
        }
        char *save = NULL, *version = strtok_r(buffer, " ", &save), *hex = strtok_r(NULL, " ", &save);
        if (is_different(line, version)) {
            continue;
        }
        if (!strcmp(hex, "!")) {
            check_refused(line, version, save);
        } else {
            check_line(line, version, hex, save);
        }
        n++;
    }
    free(line);
    free(buffer);
    fclose(f);
    assert_true(n > 1500);
    assert_int_equal(n_failed, 0);
}

/* Where our answer is another than the referee's.  "=": it is accepted. */
static const struct {
    const char *ours, *referees, *why;
} other_answers[] = {
    { "OFPBAC_BAD_SET_TYPE", "OFPBAC_BAD_SET_LEN", "a field that does not exist is no matter of lengths" },
    { "OFPBAC_BAD_SET_LEN", "OFPBAC_BAD_SET_TYPE", "a length that is wrong is" },
    { "OFPBAC_BAD_SET_LEN", "OFPBMC_BAD_LEN", "there is no match" },
    { "OFPBAC_BAD_ARGUMENT", "=", "set_mpls_tc(255), bundles by an unknown algorithm: bits that do not exist" },
    { "OFPBAC_BAD_SET_LEN", "=", "learn beyond a field's end, which the referee refuses when it checks the flow" },
    { "OFPBAC_BAD_OUT_PORT", "=", "the same of output(port=65280,max_len=...)" },
    { "OFPBAC_BAD_SET_TYPE", "OFPBAC_BAD_ARGUMENT", "tun_metadata in ct: a field that we do not have" },
};

static bool is_other_answer(const char *ours, const char *referees)
{
    for (size_t i = 0; i < ARRAY_SIZE(other_answers); i++) {
        const char *r = other_answers[i].referees;

        if (!strcmp(ours, other_answers[i].ours) && (*r == '=' ? *referees == '=' : !strcmp(referees, r))) {
            return true;
        }
    }
    return strstr(referees, "TUN_METADATA") != NULL; /* Fields that we do not have. */
}

/* What `ovs-ofctl parse-actions` and parse-instructions do; these also check, for a flow that matches everything. */
static enum ofp_error parse(const struct buf *wire, enum ofp_version version, struct buf *acts)
{
    if (version == OFP10_VERSION) {
        return ofp_actions_decode(wire->data, wire->len, version, acts);
    }
    enum ofp_error error = ofp_instructions_decode(wire->data, wire->len, version, acts);
    assert_true(!error || !acts->len);
    return error ? error : check_in(acts, "", version);
}

static void bad_bytes_have_the_referees_errors(void **state)
{
    FILE *f = open_data("bad-action.data");
    char *buffer = NULL;
    size_t size = 0;
    unsigned int n = 0;

    n_failed = 0;
    while (getline(&buffer, &size, f) > 0) {
        struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;
        char *save = NULL, *version = strtok_r(buffer, " ", &save), *hex = strtok_r(NULL, " ", &save);
        save[strcspn(save, "\n")] = '\0';
        put_hex(&wire, hex);
        enum ofp_error error = parse(&wire, version_of(version), &acts);
        char *text = print_acts(&acts);
        char *answer = error ? xstrdup(ofp_error_name(error)) : xasprintf("=%s", text);
        if (!is_other_answer(answer, save)) {
            expect_equal("answered", hex, version, answer, save);
        }
        free(text);
        free(answer);
        buf_uninit(&wire);
        buf_uninit(&acts);
        n++;
    }
    free(buffer);
    fclose(f);
    assert_true(n > 1500);
    assert_int_equal(n_failed, 0);
}

/* ---- By themselves. ---- */

static void scan_ok(const char *text, struct buf *acts)
{
    char *error = ofp_acts_scan(text, NULL, acts);

    if (error) {
        fail_msg("%s: %s", text, error);
    }
}

static void errors_name_action_and_value(void **state)
{
    static const char *const cases[][2] = {
        { "frob(1)", "frob: there is no such action" },
        { "output:eth0", "output:eth0: expected a port's number or name, or a field" },
        { "output(port=1,max_len=13)", "output(max_len=13): expected at least 14" },
        { "mod_vlan_vid:4096", "mod_vlan_vid:4096: expected a number that has no bits outside of 0xfff" },
        { "mod_nw_src:1.2.3", "mod_nw_src:1.2.3: expected an IPv4 address" },
        { "mod_dl_src:00:11", "mod_dl_src:00:11: expected an Ethernet address" },
        { "controller(reason=foo)", "controller(reason=foo): expected no_match, action" },
        { "load:0xff->reg0[0..3]", "load:0xff->reg0[0..3]: the value does not fit into 4 bits" },
        { "load:5->eth_type", "eth_type is read-only" },
        { "set_field:5->ct_mark", "fields of connections are set in ct(commit,exec(...))" },
        { "move:reg0[0..3]->reg1[0..4]", "the one has 4 bits, the other 5" },
        { "conjunction(1,3/2)", "conjunction(1,3/2): expected K/N" },
        { "conjunction(1,1/2),output:1", "such as the \"output\" action" },
        { "clone(goto_table:5)", "goto_table instruction not allowed here" },
        { "goto_table:5,output:1", "apply_actions must appear before goto_table" },
        { "meter:1,meter:2", "duplicate meter instruction" },
        { "output:1,drop", "\"drop\" must not be accompanied" },
        { "nat(src=1.2.3.4)", "nat outside of ct" },
        { "ct(commit,exec(output:1))", "ct action doesn't support nested action output" },
        { "ct(commit,nat(src=1.2.3.9-1.2.3.4))", "nat(1.2.3.9-1.2.3.4): expected ADDRESS" },
        { "learn(table=1,reg0=reg1[0..3])", "the one has 32 bits, the other 4" },
        { "learn(frob=1)", "frob" },
        { "resubmit(1,2,3)", "expected resubmit([PORT],[TABLE][,ct])" },
        { "note:1", "note:1: expected pairs of hexadecimal digits" },
        { "bundle(eth_src,0,foo,ofport,members:4)", "expected the algorithm hrw or active_backup" },
        { "move:dl_vlan->reg0[0..11]", "no action can name dl_vlan" },
        { "push:tun_ttl", "no action can name tun_ttl" },
        { "multipath(eth_src,0,hrw,4,0,nsh_c1)", "this action cannot name nsh_c1" },
        { "multipath(eth_src,0,hrw,4,0,eth_type)", "eth_type is read-only" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf acts = BUF_INITIALIZER;
        char *error = ofp_acts_scan(cases[i][0], NULL, &acts);

        if (!error || !strstr(error, cases[i][1])) {
            fail_msg("%s: %s", cases[i][0], error ? error : "no error");
        }
        assert_int_equal(acts.len, 0);
        free(error);
        buf_uninit(&acts);
    }
}

/* N clones in each other, in 1.0's bytes. */
static void put_clones(struct buf *b, unsigned int n)
{
    for (unsigned int left = n; left; left--) {
        buf_put_u16(b, 0xffff);
        buf_put_u16(b, 16 * left);
        buf_put_u32(b, NX_VENDOR_ID);
        buf_put_u16(b, 42);
        buf_put_zeros(b, 6);
    }
}

static void deep_nests_are_refused(void **state)
{
    static const unsigned int depths[] = { OFP_ACT_MAX_DEPTH + 1, 200, 4000 };
    struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;

    put_clones(&wire, OFP_ACT_MAX_DEPTH);
    assert_int_equal(ofp_actions_decode(wire.data, wire.len, OFP10_VERSION, &acts), OFPERR_NONE);
    char *text = print_acts(&acts);
    acts.len = 0;
    scan_ok(text, &acts);
    char *deeper = xasprintf("clone(%s)", text);
    char *error = ofp_acts_scan(deeper, NULL, &acts);
    assert_non_null(error);
    free(error);
    free(deeper);
    free(text);
    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        wire.len = acts.len = 0;
        put_clones(&wire, depths[i]);
        assert_int_equal(ofp_actions_decode(wire.data, wire.len, OFP10_VERSION, &acts), OFPERR_OFPBAC_TOO_MANY);
        assert_int_equal(acts.len, 0);
    }
    buf_uninit(&wire);
    buf_uninit(&acts);
}

/* A learn whose value is wider than any field, at each place in the buffer: it must stay inside. */
static void values_wider_than_a_field_are_refused(void **state)
{
    for (unsigned int before = 0; before < 80; before++) {
        struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;

        for (unsigned int i = 0; i < before; i++) {
            put_hex(&wire, "0000000800010000");
        }
        put_hex(&wire, "ffff00a8000023200010000000008000000000000000000000000100000000002bff");
        for (int i = 0; i < 128; i++) {
            buf_put_u8(&wire, 0xff);
        }
        put_hex(&wire, "0001de100000");
        buf_pad8(&wire, 0);
        assert_int_equal(ofp_actions_decode(wire.data, wire.len, OFP10_VERSION, &acts), OFPERR_OFPBAC_BAD_SET_LEN);
        buf_uninit(&wire);
        buf_uninit(&acts);
    }
}

struct check_case {
    const char *match, *actions;
    enum ofp_version version;
    enum ofp_error error;
};

static const struct check_case check_cases[] = {
    { "", "mod_nw_src:1.2.3.4", OFP10_VERSION, OFPERR_NONE },
    { "", "mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "arp", "mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ip", "mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_NONE },
    { "ipv6", "mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ipv6", "dec_ttl,mod_nw_tos:4,mod_nw_ecn:1,mod_nw_ttl:3", OFP13_VERSION, OFPERR_NONE },
    { "arp", "dec_ttl", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ip", "set_field:1.2.3.4->ip_dst", OFP10_VERSION, OFPERR_NONE },
    { "", "set_field:1.2.3.4->ip_dst", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "load:1->NXM_OF_IP_SRC[]", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "push:ip_src", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "pop:ip_src", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "move:ip_src->reg0", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "move:reg0->ip_src", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ip", "move:reg0->ip_src", OFP10_VERSION, OFPERR_NONE },
    { "", "output:tcp_src", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "udp", "set_field:5->tcp_src", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ip", "mod_tp_src:5", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "icmp", "mod_tp_src:5", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "pop_vlan", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "dl_vlan=3", "pop_vlan", OFP13_VERSION, OFPERR_NONE },
    { "dl_vlan=3", "pop_vlan,pop_vlan", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "dl_vlan=3", "pop_vlan,pop_vlan", OFP10_VERSION, OFPERR_NONE },
    { "", "push_vlan:0x8100,pop_vlan", OFP13_VERSION, OFPERR_NONE },
    { "", "push_vlan:0x8100,push_vlan:0x8100,push_vlan:0x8100", OFP13_VERSION, OFPERR_OFPBAC_BAD_TAG },
    { "", "mod_vlan_vid:5,pop_vlan", OFP13_VERSION, OFPERR_NONE },
    { "", "set_vlan_vid:5", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "set_field:4101->vlan_vid", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "push_vlan:0x8100,set_field:4101->vlan_vid", OFP13_VERSION, OFPERR_NONE },
    { "ip", "push_mpls:0x8847,mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "mpls", "pop_mpls:0x0800,mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_NONE },
    { "mpls", "pop_mpls:0x0800,set_mpls_ttl:1", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ip", "pop_mpls:0x0800", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "tcp", "push_mpls:0x8847,pop_mpls:0x0800,mod_tp_src:5", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    /* A clone sees what was before it, and leaves nothing behind. */
    { "ip", "clone(push_mpls:0x8847),mod_nw_src:1.2.3.4", OFP13_VERSION, OFPERR_NONE },
    { "", "clone(mod_nw_src:1.2.3.4)", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "clone(push_vlan:0x8100),pop_vlan", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "push_vlan:0x8100,clone(pop_vlan)", OFP13_VERSION, OFPERR_NONE },
    /* An action set is executed later; fields that are named must be there all the same. */
    { "", "write_actions(mod_nw_ttl:5,dec_ttl)", OFP13_VERSION, OFPERR_NONE },
    { "", "write_actions(set_field:1.2.3.4->ip_src)", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "ct(commit)", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ip", "ct(commit)", OFP10_VERSION, OFPERR_NONE },
    { "udp", "ct(commit,alg=ftp)", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ipv6", "ct(commit,nat(src=1.2.3.4))", OFP10_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "ct_state=+trk", "resubmit(,1,ct)", OFP13_VERSION, OFPERR_NONE },
    { "", "resubmit(,1,ct)", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "udp", "fin_timeout(idle_timeout=5)", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "learn(table=1,eth_type=0x800,nw_proto=17,udp_dst=53)", OFP13_VERSION, OFPERR_NONE },
    { "", "learn(table=1,udp_dst=53)", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "learn(table=1,eth_type=0x800,nw_proto=17,udp_dst=udp_src)", OFP13_VERSION,
      OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "", "learn(table=1,load:5->NXM_OF_IP_SRC[])", OFP13_VERSION, OFPERR_OFPBAC_MATCH_INCONSISTENT },
    { "table=5", "goto_table:6", OFP13_VERSION, OFPERR_NONE },
    { "table=5", "goto_table:5", OFP13_VERSION, OFPERR_OFPBIC_BAD_TABLE_ID },
    { "table=5", "goto_table:4", OFP13_VERSION, OFPERR_OFPBIC_BAD_TABLE_ID },
    { "", "meter:0", OFP13_VERSION, OFPERR_OFPMMFC_INVALID_METER },
    { "", "meter:0xffff0000", OFP13_VERSION, OFPERR_NONE },
    { "", "meter:0xffff0001", OFP13_VERSION, OFPERR_OFPMMFC_INVALID_METER },
    { "", "output:65280", OFP13_VERSION, OFPERR_OFPBAC_BAD_OUT_PORT },
    { "", "output:65527", OFP13_VERSION, OFPERR_OFPBAC_BAD_OUT_PORT },
    { "", "output:ANY", OFP13_VERSION, OFPERR_OFPBAC_BAD_OUT_PORT },
    { "", "clone(output:ANY)", OFP13_VERSION, OFPERR_OFPBAC_BAD_OUT_PORT },
};

static void checking_follows_the_match_and_the_actions_before(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(check_cases); i++) {
        const struct check_case *c = &check_cases[i];
        struct buf acts = BUF_INITIALIZER;

        scan_ok(c->actions, &acts);
        enum ofp_error error = check_in(&acts, c->match, c->version);
        if (error != c->error) {
            fail_msg("%s;%s: %s, not %s", c->match, c->actions, ofp_error_name(error), ofp_error_name(c->error));
        }
        buf_uninit(&acts);
    }
}

static void ports_and_tables_that_a_bridge_lacks_are_refused(void **state)
{
    static const struct {
        const char *actions;
        enum ofp_error error;
    } cases[] = {
        { "output:99", OFPERR_NONE },
        { "output:100", OFPERR_OFPBAC_BAD_OUT_PORT },
        { "enqueue(100,1)", OFPERR_OFPBAC_BAD_OUT_PORT },
        { "output(port=100,max_len=20)", OFPERR_OFPBAC_BAD_OUT_PORT },
        { "bundle(eth_src,0,hrw,ofport,members:99,100)", OFPERR_OFPBAC_BAD_OUT_PORT },
        { "LOCAL,NORMAL,CONTROLLER", OFPERR_NONE },
        { "goto_table:9", OFPERR_NONE },
        { "goto_table:10", OFPERR_OFPBIC_BAD_TABLE_ID },
    };
    static const struct flow flow;
    struct ofp_check check = { .flow = &flow, .version = OFP13_VERSION, .table = 0, .n_tables = 10, .max_ports = 100 };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf acts = BUF_INITIALIZER;

        scan_ok(cases[i].actions, &acts);
        assert_int_equal(ofp_acts_check(acts.data, acts.len, &check), cases[i].error);
        buf_uninit(&acts);
    }
}

static void instructions_stand_in_order_and_once(void **state)
{
    static const struct {
        const char *hex;
        enum ofp_version version;
        enum ofp_error error;
    } cases[] = {
        { "00010008050000000001000806000000", OFP13_VERSION, OFPERR_OFPBIC_DUP_INST },
        { "0001000005000000", OFP13_VERSION, OFPERR_OFPBIC_BAD_LEN },
        { "0001000105000000", OFP13_VERSION, OFPERR_OFPBIC_BAD_LEN },
        { "0001000905000000", OFP13_VERSION, OFPERR_OFPBIC_BAD_LEN },
        { "00010010050000000000000000000000", OFP13_VERSION, OFPERR_OFPBIC_BAD_LEN },
        { "00010008", OFP13_VERSION, OFPERR_OFPBIC_BAD_LEN },
        { "0007000800000000", OFP13_VERSION, OFPERR_OFPBIC_UNKNOWN_INST },
        { "0009000800000000", OFP13_VERSION, OFPERR_OFPBIC_UNKNOWN_INST },
        { "ffff000800002320", OFP13_VERSION, OFPERR_OFPBIC_BAD_EXPERIMENTER },
        { "0006000800000005", OFP13_VERSION, OFPERR_NONE },
        { "0006000800000005", OFP15_VERSION, OFPERR_OFPBIC_UNKNOWN_INST },
        { "00030010000000000012000800000000", OFP13_VERSION, OFPERR_NONE },
        /* A mask, before 1.5. */
        { "00040018000000000019001000010108000000010000000f", OFP13_VERSION, OFPERR_OFPBAC_BAD_SET_MASK },
        { "00040018000000000019001000010108000000010000000f", OFP14_VERSION, OFPERR_OFPBAC_BAD_SET_MASK },
        { "00040018000000000019001000010108000000010000000f", OFP15_VERSION, OFPERR_NONE },
        /* Actions that no action set has. */
        { "0003001800000000ffff0010000023200011000000000000", OFP13_VERSION, OFPERR_OFPBAC_BAD_TYPE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;

        put_hex(&wire, cases[i].hex);
        enum ofp_error error = decode(&wire, cases[i].version, &acts);
        if (error != cases[i].error) {
            fail_msg("%s: %s, not %s", cases[i].hex, ofp_error_name(error), ofp_error_name(cases[i].error));
        }
        buf_uninit(&wire);
        buf_uninit(&acts);
    }
}

static void instructions_in_any_order_are_put_in_theirs(void **state)
{
    struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;

    put_hex(&wire, "0001000805000000"                                 /* goto_table:5 */
                   "0005000800000000"                                 /* clear_actions */
                   "000400180000000000000010000000010000000000000000" /* output:1 */
                   "0006000800000007");                               /* meter:7 */
    assert_int_equal(decode(&wire, OFP13_VERSION, &acts), OFPERR_NONE);
    char *text = print_acts(&acts);
    assert_string_equal(text, "meter:7,output:1,clear_actions,goto_table:5");
    free(text);
    buf_uninit(&wire);
    buf_uninit(&acts);
}

/* Each list of the data: cut at every length, and with each byte spoilt; in a copy that ends where the bytes end. */
static void no_bytes_make_the_decoder_read_past_their_end(void **state)
{
    FILE *f = open_data("action.data");
    char *buffer = NULL;
    size_t size = 0;

    for (unsigned int line = 0; getline(&buffer, &size, f) > 0; line++) {
        struct buf wire = BUF_INITIALIZER, acts = BUF_INITIALIZER;
        char *save = NULL, *version = strtok_r(buffer, " ", &save), *hex = strtok_r(NULL, " ", &save);

        if (*version == '>' || *hex == '!' || line % 3) {
            continue;
        }
        put_hex(&wire, hex);
        for (size_t n = 0; n < wire.len; n++) {
            uint8_t *copy = xmemdup(wire.data, wire.len), *cut = n ? xmemdup(wire.data, n) : NULL;

            ofp_instructions_decode(cut, n, version_of(version), &acts);
            for (int change = 0; change < 3; change++) {
                copy[n] += change == 0 ? 1 : change == 1 ? -2 : 0x41;
                acts.len = 0;
                if (!ofp_instructions_decode(copy, wire.len, version_of(version), &acts)) {
                    free(print_acts(&acts));
                }
            }
            free(copy);
            free(cut);
        }
        buf_uninit(&wire);
        buf_uninit(&acts);
    }
    free(buffer);
    fclose(f);
}

static const char *port_name(ofp_port_t port, void *aux) { return port.n == 2 ? "veth-b" : NULL; }
static const char *table_name(uint8_t table, void *aux) { return table == 1 ? "acl" : NULL; }
static bool find_port(const char *name, ofp_port_t *ret_port, void *aux)
{
    ret_port->n = 2;
    return !strcmp(name, "veth-b");
}
static bool find_table(const char *name, uint8_t *ret_table, void *aux)
{
    bool found = !strcmp(name, "acl");

    *ret_table = found ? 1 : *ret_table;
    return found;
}

static void ports_and_tables_have_names(void **state)
{
    static const char *const text = "resubmit(veth-b,acl),enqueue:veth-b:5,output:1,output:veth-b,LOCAL,goto_table:acl";
    struct ofp_act_names names = { port_name, table_name, find_port, find_table, NULL };
    struct buf acts = BUF_INITIALIZER;
    struct text t;

    assert_null(ofp_acts_scan(text, &names, &acts));
    ofp_acts_print(text_open(&t), acts.data, acts.len, &names);
    char *printed = text_close(&t);
    assert_string_equal(printed, text);
    free(printed);
    acts.len = 0;
    assert_null(ofp_acts_scan("veth-b", &names, &acts));
    printed = print_acts(&acts);
    assert_string_equal(printed, "output:2");
    free(printed);
    buf_uninit(&acts);
}

static void outputs_are_found_in_nests(void **state)
{
    struct buf acts = BUF_INITIALIZER;

    scan_ok("output:1,clone(enqueue(2,5),clone(output(port=3,max_len=20))),write_actions(output:4,group:7)", &acts);
    for (uint16_t port = 0; port < 6; port++) {
        bool expected = port >= 1 && port <= 4;
        assert_int_equal(ofp_acts_output_to_port(acts.data, acts.len, (ofp_port_t){ port }), expected);
    }
    assert_true(ofp_acts_output_to_group(acts.data, acts.len, 7));
    assert_false(ofp_acts_output_to_group(acts.data, acts.len, 8));
    assert_false(ofp_acts_output_to_port(NULL, 0, OFPP_LOCAL));
    buf_uninit(&acts);
}

/* Fields whose header has 8 bytes have other forms of actions. */
static void fields_of_experimenters_are_named_in_every_version(void **state)
{
    static const enum ofp_version versions[] = { OFP10_VERSION, OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };
    static const char *const text =
        "set_field:0x5->nsh_c1,set_field:0x5/0xff->nsh_c2,move:NXOXM_NSH_C1[]->NXM_NX_REG0[],"
        "push:NXOXM_NSH_SPI[0..7],pop:NXOXM_NSH_C3[],output:NXOXM_NSH_C4[]";
    struct buf acts = BUF_INITIALIZER;

    scan_ok(text, &acts);
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct buf wire = BUF_INITIALIZER, decoded = BUF_INITIALIZER;

        ofp_actions_encode(acts.data, acts.len, versions[i], &wire);
        assert_int_equal(ofp_actions_decode(wire.data, wire.len, versions[i], &decoded), OFPERR_NONE);
        char *printed = print_acts(&decoded);
        assert_string_equal(printed, text);
        free(printed);
        buf_uninit(&wire);
        buf_uninit(&decoded);
    }
    buf_uninit(&acts);
}

static void equal_lists_are_equal_bytes(void **state)
{
    static const char *const text =
        "learn(table=1,eth_dst=eth_src,output:in_port),move:reg0->reg1,ct(zone=reg0[0..15]),"
        "multipath(eth_src,1,hrw,4,0,reg0[0..7]),set_field:5/7->reg0";
    struct buf a = BUF_INITIALIZER, b = BUF_INITIALIZER, wire = BUF_INITIALIZER;

    scan_ok(text, &a);
    ofp_actions_encode(a.data, a.len, OFP15_VERSION, &wire);
    assert_int_equal(ofp_actions_decode(wire.data, wire.len, OFP15_VERSION, &b), OFPERR_NONE);
    assert_true(ofp_acts_equal(a.data, a.len, b.data, b.len));
    b.len = 0;
    scan_ok("output:1", &b);
    assert_false(ofp_acts_equal(a.data, a.len, b.data, b.len));
    buf_uninit(&a);
    buf_uninit(&b);
    buf_uninit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_encoded_and_printed_as_by_the_referee),
        cmocka_unit_test(bad_bytes_have_the_referees_errors),
        cmocka_unit_test(errors_name_action_and_value),
        cmocka_unit_test(deep_nests_are_refused),
        cmocka_unit_test(values_wider_than_a_field_are_refused),
        cmocka_unit_test(checking_follows_the_match_and_the_actions_before),
        cmocka_unit_test(ports_and_tables_that_a_bridge_lacks_are_refused),
        cmocka_unit_test(instructions_stand_in_order_and_once),
        cmocka_unit_test(instructions_in_any_order_are_put_in_theirs),
        cmocka_unit_test(no_bytes_make_the_decoder_read_past_their_end),
        cmocka_unit_test(ports_and_tables_have_names),
        cmocka_unit_test(outputs_are_found_in_nests),
        cmocka_unit_test(fields_of_experimenters_are_named_in_every_version),
        cmocka_unit_test(equal_lists_are_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
