/* Matches on the wire and in text, against what the packaged ovs-ofctl makes of the same lines.
 *
 * tests/ofp/match.data has for each of several hundred lines the tool's text and its bytes in four forms;
 * tests/ofp/make-match-data makes it.  The rest are entries that no tool sends: each must get the error that the
 * packaged switch gives. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"

enum { COL_TEXT, COL_NORMAL, COL_OFP10, COL_NXM, COL_OXM13, COL_OXM15, N_COLS };

struct line {
    char *cols[N_COLS];
    char *text;
};

static int n_differences;

/* All differences are shown before the test fails. */
static void differs(const char *format, ...) PRINTF_FORMAT(1, 2);
static void differs(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    n_differences++;
}

/* Calls CHECK for each line of the data; those of what the tool refuses have "!" as COL_TEXT and the text as
 * COL_NORMAL. */
static void for_each_line(void (*check)(const struct line *))
{
    static const char path[] = SRCDIR "/tests/ofp/match.data";
    FILE *f = fopen(path, "r");
    char buffer[8192];
    int n = 0;

    n_differences = 0;
    if (!f) {
        fail_msg("%s: cannot be read", path);
    }
    while (fgets(buffer, sizeof buffer, f)) {
        struct line line = { .text = buffer };
        char *rest = buffer;
        buffer[strcspn(buffer, "\n")] = '\0';
        for (int i = 0; i < N_COLS && rest; i++) {
            line.cols[i] = strsep(&rest, "\t");
        }
        check(&line);
        n++;
    }
    fclose(f);
    assert_true(n > 500);
    assert_int_equal(n_differences, 0);
}

static bool is_refused(const struct line *l) { return !strcmp(l->cols[COL_TEXT], "!"); }

static char *print(const struct match *m)
{
    struct text t;

    ofp_match_print(text_open(&t), m, OFP_DEFAULT_PRIORITY);
    char *s = text_close(&t);
    if (!*s) {
        free(s);
        s = xstrdup("-");
    }
    return s;
}

static size_t from_hex(const char *hex, uint8_t *bytes)
{
    size_t n = 0;

    if (strcmp(hex, "-")) {
        for (; hex[2 * n]; n++) {
            unsigned int b;
            assert_int_equal(sscanf(hex + 2 * n, "%2x", &b), 1);
            bytes[n] = b;
        }
    }
    return n;
}

static char *to_hex(const uint8_t *bytes, size_t n)
{
    char *s = xzalloc(2 * n + 2);

    strcpy(s, "-");
    for (size_t i = 0; i < n; i++) {
        sprintf(s + 2 * i, "%02x", bytes[i]);
    }
    return s;
}

static void scan(const struct line *l, struct match *m)
{
    char *error = ofp_match_scan(l->cols[COL_TEXT], m);

    if (error) {
        fail_msg("%s: %s", l->cols[COL_TEXT], error);
    }
}

static void assert_hex(const struct line *l, int col, const uint8_t *bytes, size_t n)
{
    char *s = to_hex(bytes, n);

    if (strcmp(s, l->cols[col])) {
        differs("%s, column %d:\n%s, not\n%s", l->cols[COL_TEXT], col, s, l->cols[col]);
    }
    free(s);
}

static void assert_text(const struct line *l, const struct match *m)
{
    char *s = print(m);

    if (strcmp(s, l->cols[COL_NORMAL])) {
        differs("%s: is shown as\n%s, not\n%s", l->cols[COL_TEXT], s, l->cols[COL_NORMAL]);
    }
    free(s);
}

static void check_text(const struct line *l)
{
    struct match m, back;

    if (is_refused(l)) {
        char *error = ofp_match_scan(l->cols[COL_NORMAL], &m);
        if (!error) {
            differs("%s: is taken", l->cols[COL_NORMAL]);
        }
        free(error);
        return;
    }
    scan(l, &m);
    assert_text(l, &m);
    for (size_t i = 0; i < sizeof m.flow; i++) {
        assert_false(((uint8_t *) &m.flow)[i] & ~((uint8_t *) &m.mask)[i]);
    }
    if (strcmp(l->cols[COL_NORMAL], "-") && !strchr(l->cols[COL_NORMAL], '(')) {
        char *error = ofp_match_scan(l->cols[COL_NORMAL], &back);
        assert_null(error);
        assert_text(l, &back);
    }
}

static void text_is_scanned_and_shown_as_the_tool_does(void **state) { for_each_line(check_text); }

static void check_encoding(const struct line *l)
{
    struct buf b = BUF_INITIALIZER;
    struct match m;

    if (is_refused(l)) {
        return;
    }
    scan(l, &m);
    ofp_match_put_nxm(&b, &m, NULL);
    assert_hex(l, COL_NXM, b.data, b.len);
    for (int col = COL_OXM13; col <= COL_OXM15; col++) {
        buf_clear(&b);
        size_t n = ofp_match_put_oxm(&b, &m, col == COL_OXM13 ? OFP13_VERSION : OFP15_VERSION);
        assert_int_equal(b.len, (n + 7) / 8 * 8);
        assert_int_equal(get_u16(b.data + 2), n);
        assert_hex(l, col, b.data + 4, n - 4);
    }
    buf_clear(&b);
    if (strcmp(l->cols[COL_OFP10], "-")) {
        ofp_match_put_ofp10(&b, &m);
        assert_hex(l, COL_OFP10, b.data, b.len);
    }
    buf_uninit(&b);
}

static void bytes_are_the_tools(void **state) { for_each_line(check_encoding); }

/* What a form of the wire cannot say: the id and priority of a tag that is not there, and in 1.0 that a packet is of
 * Ethernet. */
static void settle(struct match *m, bool ofp10)
{
    bool untagged = (m->mask.vlan[0].tci & htons(VLAN_CFI)) && !(m->flow.vlan[0].tci & htons(VLAN_CFI));

    if (untagged && (ofp10 || !m->flow.vlan[0].tci)) {
        m->flow.vlan[0].tci = 0;
        m->mask.vlan[0].tci = htons(0xffff);
    }
    m->mask.is_l3 = ofp10 ? 0 : m->mask.is_l3;
}

static void assert_same(const struct line *l, int col, struct match wire)
{
    struct match m;

    scan(l, &m);
    settle(&m, col == COL_OFP10);
    settle(&wire, col == COL_OFP10);
    if (memcmp(&wire, &m, sizeof m)) {
        differs("%s: column %d is read differently", l->cols[COL_TEXT], col);
    }
}

static void check_decoding(const struct line *l)
{
    uint8_t bytes[2048] = { 0 };
    struct match wire;

    if (is_refused(l)) {
        return;
    }
    for (int col = COL_NXM; col <= COL_OXM15; col++) {
        size_t n = from_hex(l->cols[col], bytes);
        enum ofp_error error = ofp_match_pull_nxm(bytes, n, true, &wire, NULL);
        if (error) {
            differs("%s, column %d: %s", l->cols[COL_TEXT], col, ofp_error_name(error));
            continue;
        }
        assert_same(l, col, wire);
        if (col == COL_NXM) {
            assert_text(l, &wire);
        }
        /* No prefix of it is anything but a match or an error, and what is read is inside. */
        for (size_t k = 0; k < n; k++) {
            uint8_t *copy = xmemdup(bytes, k ? k : 1);
            ofp_match_pull_nxm(copy, k, true, &wire, NULL);
            free(copy);
        }
    }
    if (from_hex(l->cols[COL_OFP10], bytes)) {
        ofp_match_from_ofp10(bytes, &wire);
        assert_same(l, COL_OFP10, wire);
    }
}

static void the_tools_bytes_are_read(void **state) { for_each_line(check_decoding); }

/* ---- Entries that no tool sends. ---- */

/* Reads entries in hexadecimal, blanks between them. */
static enum ofp_error pull_hex(const char *text, bool strict, struct match *m, struct ofp_match_cookie *cookie)
{
    uint8_t bytes[512], *copy;
    char *hex = xstrdup(text), *to = hex;

    for (const char *p = text; *p; p++) {
        if (*p != ' ') {
            *to++ = *p;
        }
    }
    *to = '\0';
    size_t n = *hex ? from_hex(hex, bytes) : 0;
    free(hex);
    copy = xmemdup(bytes, n ? n : 1); /* So that the sanitizer sees a step too far. */
    enum ofp_error error = ofp_match_pull_nxm(copy, n, strict, m, cookie);
    free(copy);
    return error;
}

static const struct {
    const char *hex;
    enum ofp_error strict, loose;
} wrong[] = {
    /* Port without TCP; protocol before the Ethernet type; a later fragment's port; a label without MPLS; a priority
       without tag. */
    { "00001202 0050", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "00000c01 06 00000602 0800", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "00000602 0800 00000c01 06 00013401 03 00001202 0005", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "80004404 00000001", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "80000e01 03", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "80000c02 0000 80000e01 03", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "00000602 0800 00000c01 06 00001202 0005 00013401 03", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "00000602 86dd 00000c01 3a 00012a01 87 00013006 010203040506 00012c01 01", OFPERR_OFPBMC_BAD_PREREQ,
      OFPERR_NONE },
    { "80000c02 1005 80000e01 03", OFPERR_NONE, OFPERR_NONE },
    { "80005804 00010800 00000406 010203040506", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    /* A connection's tuple: of one that is not known, and of one that is. */
    { "0001ee01 06", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "0001d308 00000020 00000020 0001ee01 06", OFPERR_OFPBMC_BAD_PREREQ, OFPERR_NONE },
    { "0001d308 00000020 00000030 0001ee01 06", OFPERR_NONE, OFPERR_NONE },
    { "0001d204 00000020 0001f004 01020304 0001f610 fe800000000000000000000000000001", OFPERR_OFPBMC_BAD_PREREQ,
      OFPERR_NONE },
    { "0001d204 00000020 0001ee01 06", OFPERR_NONE, OFPERR_NONE },
    { "0001d308 00000008 00000008 0001ee01 06", OFPERR_NONE, OFPERR_NONE },
    /* Twice, also under another name or in part. */
    { "00000602 0800 00000602 0800", OFPERR_OFPBMC_DUP_FIELD, OFPERR_OFPBMC_DUP_FIELD },
    { "00000602 0800 80000a02 0800", OFPERR_OFPBMC_DUP_FIELD, OFPERR_OFPBMC_DUP_FIELD },
    { "00000002 0005 80000004 00000005", OFPERR_OFPBMC_DUP_FIELD, OFPERR_OFPBMC_DUP_FIELD },
    { "00010004 00000001 80010008 0000000100000002", OFPERR_OFPBMC_DUP_FIELD, OFPERR_OFPBMC_DUP_FIELD },
    { "00010108 00000001 00000001 00010108 00000002 00000002", OFPERR_OFPBMC_DUP_FIELD, OFPERR_OFPBMC_DUP_FIELD },
    { "00000602 0800 80005804 00000000", OFPERR_OFPBMC_DUP_FIELD, OFPERR_OFPBMC_DUP_FIELD },
    /* Value outside of the mask; a mask where there can be none, and one that is all or nothing. */
    { "00010108 00000005 00000003", OFPERR_OFPBMC_BAD_WILDCARDS, OFPERR_OFPBMC_BAD_WILDCARDS },
    { "00000704 0800 0f00", OFPERR_OFPBMC_BAD_MASK, OFPERR_OFPBMC_BAD_MASK },
    { "00000704 0800 ffff", OFPERR_NONE, OFPERR_NONE },
    { "00010108 00000000 00000000 00010004 00000005", OFPERR_NONE, OFPERR_NONE },
    /* Values that fields cannot have. */
    { "80005804 00000005", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "00000602 0800 00000a01 03", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "00000602 0800 00013801 04", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "00000602 0800 00013401 04", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "00000602 0806 00001e02 0100", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "80000c02 2005", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "80000004 0000ffff", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "80000004 fffffffe", OFPERR_NONE, OFPERR_NONE },
    { "0001d308 00000100 00000100", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    { "0001d002 0002", OFPERR_OFPBMC_BAD_VALUE, OFPERR_OFPBMC_BAD_VALUE },
    /* Fields that we do not know, of known and unknown experimenters. */
    { "01fffe01 05", OFPERR_OFPBMC_BAD_FIELD, OFPERR_NONE },
    { "ffff0205 12345678 01", OFPERR_OFPBMC_BAD_FIELD, OFPERR_NONE },
    { "ffff7e05 4f4e4600 01", OFPERR_OFPBMC_BAD_FIELD, OFPERR_NONE },
    { "01fffe00", OFPERR_OFPBMC_BAD_FIELD, OFPERR_NONE },
    /* Lengths of 0, 1, one too few, one too many, beyond the end; half a header; an experimenter's without room for its
       id. */
    { "00000600", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00000601 08", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00000603 080000", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00000602 08", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00010104 00000005", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "0000", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "01fffeff 05", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "ffff0203 4f4e46", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "ffff0203 4f4e4600", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00013c07 00000000000005", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00013d08 0000000000000005", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    { "00013c08 00000000000005", OFPERR_OFPBMC_BAD_LEN, OFPERR_OFPBMC_BAD_LEN },
    /* The TTL of MPLS has a cookie's number, and another length. */
    { "00000602 8847 00013c01 05", OFPERR_NONE, OFPERR_NONE },
};

static void each_wrong_entry_gets_its_error(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        for (int strict = 0; strict < 2; strict++) {
            struct match m, before;
            memset(&m, 0x5a, sizeof m);
            before = m;
            enum ofp_error error = pull_hex(wrong[i].hex, strict, &m, NULL);
            enum ofp_error expected = strict ? wrong[i].strict : wrong[i].loose;
            if (error != expected) {
                fail_msg("%s: %s, not %s", wrong[i].hex, ofp_error_name(error), ofp_error_name(expected));
            }
            assert_int_equal(error != OFPERR_NONE, !memcmp(&m, &before, sizeof m));
        }
    }
}

static void cookies_are_matched_beside_the_packet(void **state)
{
    static const char one[] = "00013c08 0000000000000005", part[] = "00013d10 0000000000000005 0000000000000007";
    struct ofp_match_cookie c = { 1, 1 };
    struct buf b = BUF_INITIALIZER;
    struct match m;

    assert_int_equal(pull_hex("00000602 0800", true, &m, &c), OFPERR_NONE);
    assert_true(!c.cookie && !c.mask);
    assert_int_equal(pull_hex(one, true, &m, NULL), OFPERR_OFPBMC_BAD_FIELD);
    assert_int_equal(pull_hex(one, true, &m, &c), OFPERR_NONE);
    assert_true(c.cookie == 5 && c.mask == UINT64_MAX);
    assert_int_equal(pull_hex(part, true, &m, &c), OFPERR_NONE);
    assert_true(c.cookie == 5 && c.mask == 7);
    assert_int_equal(pull_hex("00013d10 0000000000000008 0000000000000007", true, &m, &c), OFPERR_OFPBMC_BAD_WILDCARDS);
    assert_int_equal(pull_hex("00013c08 0000000000000005 00013c08 0000000000000005", true, &m, &c),
                     OFPERR_OFPBMC_DUP_FIELD);
    assert_true(c.cookie == 5 && c.mask == 7);

    memset(&m, 0, sizeof m);
    assert_int_equal(ofp_match_put_nxm(&b, &m, &c), 20);
    assert_int_equal(ofp_match_pull_nxm(b.data, b.len, true, &m, &c), OFPERR_NONE);
    assert_true(c.cookie == 5 && c.mask == 7);
    buf_uninit(&b);
}

static void an_ofp_match_is_inside_its_padding(void **state)
{
    static const uint8_t good[] = { 0, 1, 0, 10, 0x80, 0, 0x0a, 2, 8, 0, 0, 0, 0, 0, 0, 0, 0xaa };
    uint8_t bytes[sizeof good];
    struct match m;

    struct bytes b = { good, sizeof good };
    assert_int_equal(ofp_match_pull_oxm(&b, true, &m), OFPERR_NONE);
    assert_int_equal(b.n, 1);
    assert_int_equal(m.flow.eth_type, htons(0x800));
    for (size_t n = 0; n < 16; n++) {
        uint8_t *copy = xmemdup(good, n ? n : 1);
        b = (struct bytes){ copy, n };
        assert_int_equal(ofp_match_pull_oxm(&b, true, &m), OFPERR_OFPBMC_BAD_LEN);
        assert_int_equal(b.n, n);
        free(copy);
    }
    for (int length = 0; length < 4; length++) {
        memcpy(bytes, good, sizeof good);
        bytes[3] = length;
        b = (struct bytes){ bytes, sizeof bytes };
        assert_int_equal(ofp_match_pull_oxm(&b, true, &m), OFPERR_OFPBMC_BAD_LEN);
    }
    static const uint8_t unknown[] = { 0, 1, 0, 3, 0x01, 0xff, 0xfe, 0 };
    uint8_t *copy = xmemdup(unknown, sizeof unknown);
    b = (struct bytes){ copy, sizeof unknown };
    assert_int_equal(ofp_match_pull_oxm(&b, false, &m), OFPERR_OFPBMC_BAD_LEN);
    free(copy);
    memcpy(bytes, good, sizeof good);
    bytes[1] = 0; /* OpenFlow 1.1's. */
    b = (struct bytes){ bytes, sizeof bytes };
    assert_int_equal(ofp_match_pull_oxm(&b, true, &m), OFPERR_OFPBMC_BAD_TYPE);
}

/* Tags that OXM has no entries for go as NXM, and come back unchanged. */
static void every_vlan_match_survives_oxm(void **state)
{
    static const char *const texts[] = { "vlan_tci=0x5",      "vlan_tci=0x6000/0xe000", "vlan_tci=0x3005/0x3fff",
                                         "vlan_tci=0/0xe000", "vlan_tci=0x5005/0xf00f", "vlan_tci=0x1000/0x3000",
                                         "dl_vlan_pcp=7" };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buf b = BUF_INITIALIZER;
        struct match m, back;
        assert_null(ofp_match_scan(texts[i], &m));
        ofp_match_put_oxm(&b, &m, OFP15_VERSION);
        struct bytes r = { b.data, b.len };
        assert_int_equal(ofp_match_pull_oxm(&r, true, &back), OFPERR_NONE);
        assert_memory_equal(&m, &back, sizeof m);
        buf_uninit(&b);
    }
}

static void an_ofp10_match_leaves_out_what_it_cannot_say(void **state)
{
    static const char *const texts[] = {
        "ip,nw_src=1.2.3.4/255.255.0.255", "ip,reg0=5",   "ip,dl_src=1:2:3:4:5:6/ff:ff:ff:ff:ff:00",
        "ip,vlan_tci=0x1000/0x1000",       "ip,nw_ecn=1", "ip,nw_dst=0.0.0.1/0.0.0.1"
    };
    struct buf b = BUF_INITIALIZER;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct match m;
        assert_null(ofp_match_scan(texts[i], &m));
        buf_clear(&b);
        ofp_match_put_ofp10(&b, &m);
        assert_int_equal(b.len, OFP10_MATCH_LEN);
        ofp_match_from_ofp10(b.data, &m);
        char *s = print(&m);
        assert_string_equal(s, "ip");
        free(s);
    }
    buf_uninit(&b);
}

/* Bytes of an ofp10_match whose meaning `ovs-ofctl parse-ofp10-match` has shown. */
static void meaningless_bytes_of_an_ofp10_match_are_not_looked_at(void **state)
{
    static const struct {
        const char *hex, *text;
    } cases[] = {
        { "003fffe000010102030405060102030405070005030008000c06000001020304010203050050005100",
          "ip,in_port=1,dl_vlan=5,dl_src=01:02:03:04:05:06,dl_dst=01:02:03:04:05:07" },
        { "00000000000101020304050601020304050700050300080003060000010203040102030500500051",
          "tcp,in_port=1,dl_vlan=5,dl_vlan_pcp=3,dl_src=01:02:03:04:05:06,dl_dst=01:02:03:04:05:07,nw_src=1.2.3.4,"
          "nw_dst=1.2.3.5,nw_tos=0,tp_src=80,tp_dst=81" },
        { "000000000001010203040506010203040507ffff030008060c020000010203040102030500500051",
          "arp,in_port=1,vlan_tci=0x0000,dl_src=01:02:03:04:05:06,dl_dst=01:02:03:04:05:07,arp_spa=1.2.3.4,"
          "arp_tpa=1.2.3.5,arp_op=2" },
        { "00200800000101020304050601020304050710 05ff0008000c060000010203040102030500500051",
          "tcp,in_port=1,dl_vlan=5,dl_vlan_pcp=7,dl_src=01:02:03:04:05:06,dl_dst=01:02:03:04:05:07,nw_src=1.2.3.0/24,"
          "nw_dst=1.2.3.5,tp_src=80,tp_dst=81" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t bytes[64];
        char hex[128] = "";
        struct match m;
        for (const char *p = cases[i].hex; *p; p++) {
            if (*p != ' ') {
                strncat(hex, p, 1);
            }
        }
        assert_true(from_hex(hex, bytes) >= OFP10_MATCH_LEN);
        ofp_match_from_ofp10(bytes, &m);
        char *s = print(&m);
        assert_string_equal(s, cases[i].text);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_scanned_and_shown_as_the_tool_does),
        cmocka_unit_test(bytes_are_the_tools),
        cmocka_unit_test(the_tools_bytes_are_read),
        cmocka_unit_test(each_wrong_entry_gets_its_error),
        cmocka_unit_test(cookies_are_matched_beside_the_packet),
        cmocka_unit_test(an_ofp_match_is_inside_its_padding),
        cmocka_unit_test(every_vlan_match_survives_oxm),
        cmocka_unit_test(an_ofp10_match_leaves_out_what_it_cannot_say),
        cmocka_unit_test(meaningless_bytes_of_an_ofp10_match_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
