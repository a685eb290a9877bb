/* OpenFlow messages: what ovs-ofctl sends is recognized and decoded as it is meant, in all versions; what is not right
 * is refused with the right error, and never read beyond its end; replies are split where they must be.
 *
 * The messages are in tests/ofp/requests.txt, as tests/ofp/capture-requests has recorded them, and in
 * tests/ofp/requests-more.txt, for those that ovs-ofctl does not send; what they mean, a line each in the same order,
 * in tests/ofp/requests.expected.  `test-ofp-msg print` prints it anew. */
#include <config.h>

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-msg-flow.h"
#include "lib/ofp/ofp-msg-packet.h"
#include "lib/ofp/ofp-msg-port.h"
#include "lib/ofp/ofp-msg-session.h"
#include "lib/ofp/ofp-msg-table.h"
#include "tests/ofp/ofp-msg-text.h"

static const char *const request_files[] = { "requests.txt", "requests-more.txt" };

static FILE *open_data(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char *path = xasprintf("%s/tests/ofp/%s", srcdir ? srcdir : ".", name);
    FILE *f = fopen(path, "r");

    free(path);
    assert_non_null(f);
    return f;
}

/* Reads TEXT, hexadecimal with blanks anywhere, up to its end or a newline. */
static void from_hex(const char *text, struct buf *b)
{
    size_t n = 0;

    for (; *text && *text != '\n'; text++) {
        if (*text == ' ') {
            continue;
        }
        uint8_t digit = *text >= 'a' ? *text - 'a' + 10 : *text - '0';
        assert_true(digit < 16);
        if (n++ % 2) {
            b->data[b->len - 1] |= digit;
        } else {
            buf_put_u8(b, digit << 4);
        }
    }
    assert_true(n % 2 == 0);
}

/* Calls CB for each stored request, with the number of it. */
static size_t for_each_request(void (*cb)(const struct buf *message, size_t i, void *aux), void *aux)
{
    char *line = NULL;
    size_t size = 0, i = 0;

    for (size_t f = 0; f < ARRAY_SIZE(request_files); f++) {
        FILE *in = open_data(request_files[f]);
        while (getline(&line, &size, in) > 0) {
            struct buf b = BUF_INITIALIZER;
            if (!strchr("#>\n", line[0])) {
                from_hex(line, &b);
                cb(&b, i++, aux);
            }
            buf_uninit(&b);
        }
        fclose(in);
    }
    free(line);
    return i;
}

static void print_request(const struct buf *b, size_t i UNUSED, void *out)
{
    size_t fixed;
    char *text;
    enum ofp_error error = ofp_msg_text(b->data, b->len, &text, &fixed);

    fprintf(out, "1.%d %s\n", b->data[0] - 1, error ? ofp_error_name(error) : text);
    if (!error) {
        free(text);
    }
}

static void requests_are_decoded_as_they_are_meant(void **state UNUSED)
{
    FILE *expected = open_data("requests.expected");
    char *line = NULL, *save = NULL;
    size_t size = 0;
    struct text t;

    assert_true(for_each_request(print_request, text_open(&t)) > 150);
    char *text = text_close(&t);
    for (char *ours = strtok_r(text, "\n", &save); ours; ours = strtok_r(NULL, "\n", &save)) {
        ssize_t n = getline(&line, &size, expected);
        assert_true(n > 0);
        line[n - 1] = '\0';
        assert_string_equal(ours, line);
    }
    assert_true(getline(&line, &size, expected) < 0);
    fclose(expected);
    free(line);
    free(text);
}

/* Is an error for the first LEN bytes of the message, in memory of just that size, with the length in the header
 * (PATCH), or as it was.  Returns the error. */
static enum ofp_error text_of_prefix(const struct buf *b, size_t len, bool patch)
{
    uint8_t *copy = xmemdup(b->data, MAX(len, 1));
    uint8_t *end = xmalloc(MAX(len, 1)); /* Of that size: the address sanitizer sees one byte too many. */
    size_t fixed;
    char *text;

    if (patch && len >= 4) {
        copy[2] = len >> 8;
        copy[3] = len & 0xff;
    }
    memcpy(end, copy, len);
    enum ofp_error error = ofp_msg_text(end, len, &text, &fixed);
    if (!error) {
        free(text);
    }
    free(copy);
    free(end);
    return error;
}

static void check_prefixes(const struct buf *b, size_t i UNUSED, void *aux UNUSED)
{
    struct ofp_msg msg;
    size_t fixed;
    char *text;

    if (ofp_msg_text(b->data, b->len, &text, &fixed)) {
        return;
    }
    free(text);
    assert_int_equal(ofp_msg_recognize(b->data, b->len, &msg), 0);
    for (size_t len = 0; len < b->len; len++) {
        assert_int_equal(text_of_prefix(b, len, false), OFPERR_OFPBRC_BAD_LEN);
        enum ofp_error error = text_of_prefix(b, len, true);
        if (len < fixed) {
            assert_int_not_equal(error, 0);
        }
        bool misaligned = msg.form->unit > 1 && (b->len - len) % msg.form->unit;
        if (len < OFP_HEADER_LEN || misaligned) {
            assert_int_equal(error, OFPERR_OFPBRC_BAD_LEN);
        }
    }
}

static void every_prefix_is_an_error_and_is_not_read_beyond(void **state UNUSED)
{
    for_each_request(check_prefixes, NULL);
}

/* Changes each byte, several ways: no error is expected, but that nothing is read that is not there. */
static void check_changes(const struct buf *b, size_t i UNUSED, void *aux UNUSED)
{
    static const uint8_t changes[] = { 0x01, 0x80, 0xff };

    for (size_t at = 8; at < b->len; at++) {
        for (size_t j = 0; j < ARRAY_SIZE(changes); j++) {
            b->data[at] ^= changes[j];
            text_of_prefix(b, b->len, false);
            b->data[at] ^= changes[j];
        }
    }
}

static void no_changed_byte_leads_beyond_the_end(void **state UNUSED) { for_each_request(check_changes, NULL); }

/* Messages that are wrong, and what is said of them. */
static const struct {
    const char *hex;
    enum ofp_error error;
} wrong[] = {
    { "", OFPERR_OFPBRC_BAD_LEN },
    { "01 05 0008 0000", OFPERR_OFPBRC_BAD_LEN },
    { "01 05 0009 00000001", OFPERR_OFPBRC_BAD_LEN },
    { "02 05 0008 00000001", OFPERR_OFPBRC_BAD_VERSION },
    { "03 05 0008 00000001", OFPERR_OFPBRC_BAD_VERSION },
    { "07 05 0008 00000001", OFPERR_OFPBRC_BAD_VERSION },
    { "00 05 0008 00000001", OFPERR_OFPBRC_BAD_VERSION },
    { "01 16 0008 00000001", OFPERR_OFPBRC_BAD_TYPE },
    { "04 1e 0008 00000001", OFPERR_OFPBRC_BAD_TYPE },                  /* ROLE_STATUS is 1.4's. */
    { "05 16 0010 00000001 0000000000000000", OFPERR_OFPBRC_BAD_TYPE }, /* QUEUE_GET_CONFIG is not. */
    { "06 24 0008 00000001", OFPERR_OFPBRC_BAD_TYPE },
    { "01 05 0009 00000001 00", OFPERR_OFPBRC_BAD_LEN },
    { "01 09 000b 00000001 000000", OFPERR_OFPBRC_BAD_LEN },
    { "01 10 000c 00000001 00630000", OFPERR_OFPBRC_BAD_STAT },
    { "01 10 000a 00000001 0000", OFPERR_OFPBRC_BAD_LEN },
    { "04 12 000c 00000001 00000000", OFPERR_OFPBRC_BAD_LEN },          /* 1.3 has padding here. */
    { "04 12 0010 00000001 000e000000000000", OFPERR_OFPBRC_BAD_STAT }, /* TABLE_DESC. */
    { "01 04 000a 00000001 0000", OFPERR_OFPBRC_BAD_LEN },
    { "01 04 000c 00000001 00002321", OFPERR_OFPBRC_BAD_VENDOR },
    { "01 04 0010 00000001 00002321 00000000", OFPERR_OFPBRC_BAD_VENDOR },
    { "01 04 000c 00000001 00002320", OFPERR_OFPBRC_BAD_LEN },
    { "01 04 0010 00000001 00002320 00000063", OFPERR_OFPBRC_BAD_SUBTYPE },
    { "01 04 0014 00000001 00002320 0001000c 00000000", OFPERR_OFPBRC_BAD_SUBTYPE }, /* 12 in the low bits only. */
    { "01 04 0018 00000001 4f4e4600 000008fc 0000000100000003", OFPERR_OFPBRC_BAD_SUBTYPE }, /* 1.3's. */
    { "01 10 0018 00000001 ffff0000 00002320 00000063 00000000", OFPERR_OFPBRC_BAD_SUBTYPE },
    { "01 10 0014 00000001 ffff0000 00002320 00000000", OFPERR_OFPBRC_BAD_LEN },
    { "04 12 0018 00000001 ffff000000000000 00002321 00000000", OFPERR_OFPBRC_BAD_VENDOR },
    { "04 12 0018 00000001 ffff000000000000 4f4e4600 00000000", OFPERR_OFPBRC_BAD_SUBTYPE },
    /* HELLO: an element without an end, a bitmap without a word, an element of no length. */
    { "04 00 000c 00000001 00010008", OFPERR_OFPBRC_BAD_LEN },
    { "04 00 0010 00000001 00010004 00000000", OFPERR_OFPBRC_BAD_LEN },
    { "04 00 0010 00000001 00020000 00000000", OFPERR_OFPBRC_BAD_LEN },
    /* ERROR: a vendor's without the vendor. */
    { "01 01 000c 00000001 b0c20000", OFPERR_OFPBRC_BAD_LEN },
    { "04 01 000c 00000001 ffff0000", OFPERR_OFPBRC_BAD_LEN },
    /* SET_CONFIG. */
    { "01 09 000c 00000001 00080080", OFPERR_OFPSCFC_BAD_FLAGS },
    { "04 09 000c 00000001 00040080", OFPERR_OFPSCFC_BAD_FLAGS },
    /* Roles. */
    { "01 04 0014 00000001 00002320 0000000a 00000003", OFPERR_OFPRRFC_BAD_ROLE },
    { "04 18 0018 00000001 00000004 00000000 0000000000000000", OFPERR_OFPRRFC_BAD_ROLE },
    /* Async masks. */
    { "05 1c 0010 00000001 0000 0008 00000040", OFPERR_OFPACFC_UNSUPPORTED },
    { "05 1c 0010 00000001 0000 0007 00000000", OFPERR_OFPBPC_BAD_LEN },
    { "05 1c 0010 00000001 000c 0008 00000000", OFPERR_OFPBPC_BAD_TYPE },
    { "05 1c 0010 00000001 ffff 0008 00000000", OFPERR_OFPBPC_BAD_EXPERIMENTER },
    { "05 1c 0010 00000001 0000 0010 00000000", OFPERR_OFPBPC_BAD_LEN },
    { "05 1c 0010 00000001 0000 0000 00000000", OFPERR_OFPBPC_BAD_LEN },
    /* Nicira's settings. */
    { "01 04 0014 00000001 00002320 0000000c 00000001", OFPERR_OFPBRC_EPERM },
    { "01 04 0014 00000001 00002320 00000010 00000003", OFPERR_OFPBRC_EPERM },
    { "01 04 0018 00000001 00002320 0000000f 0100000000000001", OFPERR_NXBRC_MUST_BE_ZERO },
    { "01 04 0018 00000001 00002320 00000014 0000000000010007", OFPERR_NXBRC_MUST_BE_ZERO },
    { "01 04 0018 00000001 00002320 0000001d 0100000000000007", OFPERR_NXBRC_MUST_BE_ZERO },
    /* FLOW_MOD of 1.3: command, flags, table, port, match of another type, match longer than the message. */
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 00 05 0000 0000 8000 ffffffff ffffffff ffffffff 0000 0000"
      "00010004 00000000",
      OFPERR_OFPFMFC_BAD_COMMAND },
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 00 00 0000 0000 8000 ffffffff ffffffff ffffffff 0020 0000"
      "00010004 00000000",
      OFPERR_OFPFMFC_BAD_FLAGS },
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 ff 00 0000 0000 8000 ffffffff ffffffff ffffffff 0000 0000"
      "00010004 00000000",
      OFPERR_OFPFMFC_BAD_TABLE_ID },
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 ff 03 0000 0000 8000 ffffffff 00010000 ffffffff 0000 0000"
      "00010004 00000000",
      OFPERR_OFPBAC_BAD_OUT_PORT },
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 00 00 0000 0000 8000 ffffffff ffffffff ffffffff 0000 0000"
      "00000004 00000000",
      OFPERR_OFPBMC_BAD_TYPE },
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 00 00 0000 0000 8000 ffffffff ffffffff ffffffff 0000 0000"
      "00010003 00000000",
      OFPERR_OFPBMC_BAD_LEN },
    { "04 0e 0038 00000001 0000000000000000 0000000000000000 00 00 0000 0000 8000 ffffffff ffffffff ffffffff 0000 0000"
      "00010009 00000000",
      OFPERR_OFPBMC_BAD_LEN },
    { "04 0e 0030 00000001 0000000000000000 0000000000000000 00 00 0000 0000 8000 ffffffff ffffffff ffffffff 0000 0000",
      OFPERR_OFPBRC_BAD_LEN },
    /* NXT_FLOW_MOD: a match longer than the message; the emergency flag. */
    { "01 04 0030 00000001 00002320 0000000d 0000000000000000 0000 0000 0000 8000 ffffffff ffff 0000 0001 000000000000",
      OFPERR_OFPBRC_BAD_LEN },
    { "01 04 0030 00000001 00002320 0000000d 0000000000000000 0000 0000 0000 8000 ffffffff ffff 0004 0000 000000000000",
      OFPERR_OFPFMFC_BAD_FLAGS },
    /* FLOW request of 1.3: something behind the match. */
    { "04 12 0040 00000001 0001000000000000 ff000000 ffffffff ffffffff 00000000 0000000000000000 0000000000000000"
      "00010004 00000000 0000000000000000",
      OFPERR_OFPBRC_BAD_LEN },
    /* PACKET_OUT: a port that is none; more actions than bytes; a piece of an action. */
    { "01 0d 0010 00000001 ffffffff fff8 0000", OFPERR_OFPBRC_BAD_PORT },
    { "04 0d 0018 00000001 ffffffff 00010000 0000 000000000000", OFPERR_OFPBRC_BAD_PORT },
    { "01 0d 0010 00000001 ffffffff 0001 0008", OFPERR_OFPBRC_BAD_LEN },
    { "01 0d 0014 00000001 ffffffff 0001 0004 00000000", OFPERR_OFPBRC_BAD_LEN },
    /* PORT_MOD. */
    { "05 10 0020 00000001 00010000 00000000 000000000000 0000 00000000 00000000", OFPERR_OFPPMFC_BAD_PORT },
    { "05 10 0028 00000001 00000001 00000000 000000000000 0000 00000000 00000000 0001 0008 00000000",
      OFPERR_OFPBPC_BAD_TYPE },
    { "05 10 0030 00000001 00000001 00000000 000000000000 0000 00000000 00000000 0000 0008 00000000 0000 0008 00000000",
      OFPERR_OFPBPC_DUP_TYPE },
    /* METER_MOD: command, no unit, both, an unknown flag; bands of another length, longer than the message, of another type. */
    { "04 1d 0020 00000001 0003 0001 00000005 0001 0010 00000005 00000000 00000000", OFPERR_OFPMMFC_BAD_COMMAND },
    { "04 1d 0020 00000001 0000 0000 00000005 0001 0010 00000005 00000000 00000000", OFPERR_OFPMMFC_BAD_FLAGS },
    { "04 1d 0020 00000001 0001 0003 00000005 0009 0010 00000005 00000000 00000000", OFPERR_OFPMMFC_BAD_FLAGS },
    { "04 1d 0020 00000001 0000 0011 00000005 0001 0010 00000005 00000000 00000000", OFPERR_OFPMMFC_BAD_FLAGS },
    { "04 1d 0020 00000001 0000 0001 00000005 0001 0008 00000005 00000000 00000000", OFPERR_OFPBRC_BAD_LEN },
    { "04 1d 0020 00000001 0000 0001 00000005 0001 0000 00000005 00000000 00000000", OFPERR_OFPBRC_BAD_LEN },
    { "04 1d 0020 00000001 0000 0001 00000005 0001 0020 00000005 00000000 00000000", OFPERR_OFPBRC_BAD_LEN },
    { "04 1d 0018 00000001 0000 0001 00000005 0001 0010 00000005", OFPERR_OFPBRC_BAD_LEN },
    { "04 1d 0020 00000001 0000 0001 00000005 0002 0010 00000005 00000000 01000000", OFPERR_OFPMMFC_BAD_BAND },
    { "04 1d 0020 00000001 0001 0001 00000005 ffff 0010 00000005 00000000 00000000", OFPERR_OFPMMFC_BAD_BAND },
    { "04 12 0014 00000001 000a000000000000 00000005", OFPERR_OFPBRC_BAD_LEN },
    /* Tables. */
    { "04 11 0010 00000001 00000000 00000004", OFPERR_OFPTMFC_BAD_CONFIG },
    { "05 11 0010 00000001 00000000 00000010", OFPERR_OFPTMFC_BAD_CONFIG },
    { "05 11 0018 00000001 00000000 00000008 0003 0008 50140000", OFPERR_OFPBPC_BAD_VALUE }, /* Down above up. */
    { "05 11 0018 00000001 00000000 00000004 0002 0008 00000008", OFPERR_OFPBPC_BAD_VALUE },
    { "04 12 0018 00000001 000c000000000000 0000000000000000", OFPERR_OFPTFFC_EPERM },
    /* Flow monitors: no event is asked for; flags, command; bytes that must be zero; half of a second request. */
    { "01 10 0028 00000001 ffff0000 00002320 00000002 00000000 00000001 0001 ffff 0000 ff 0000000000",
      OFPERR_OFPMOFC_BAD_FLAGS },
    { "01 10 0028 00000001 ffff0000 00002320 00000002 00000000 00000001 0042 ffff 0000 ff 0000000000",
      OFPERR_OFPMOFC_BAD_FLAGS },
    { "01 10 0028 00000001 ffff0000 00002320 00000002 00000000 00000001 0002 ffff 0000 ff 0000000001",
      OFPERR_NXBRC_MUST_BE_ZERO },
    { "01 10 0030 00000001 ffff0000 00002320 00000002 00000000 00000001 0002 ffff 0000 ff 0000000000 0000000200020000",
      OFPERR_OFPBRC_BAD_LEN },
    { "05 12 0028 00000001 0010000000000000 00000001 ffffffff ffffffff 0002 ff 03 00010004 00000000",
      OFPERR_OFPMOFC_BAD_COMMAND },
    /* ONF's, whose match is said to be longer than it is. */
    { "04 12 0030 00000001 ffff000000000000 4f4e4600 0000074e 00000000 001e 0005 00000005 02 000000 00010004 00000000",
      OFPERR_OFPBMC_BAD_LEN },
    /* Bundles. */
    { "05 21 0010 00000001 00000001 0001 0003", OFPERR_OFPBFC_BAD_TYPE },
    { "05 21 0010 00000001 00000001 0008 0003", OFPERR_OFPBFC_BAD_TYPE },
    { "05 21 0010 00000001 00000001 0000 0004", OFPERR_OFPBFC_BAD_FLAGS },
    { "06 21 0010 00000001 00000001 0000 0004", OFPERR_OFPBFC_SCHED_NOT_SUPPORTED },
    { "05 21 0018 00000001 00000001 0000 0003 0001 0004 00000000", OFPERR_OFPBFC_SCHED_NOT_SUPPORTED },
    { "05 22 0018 00000001 00000001 0000 0003 05 02 0007 00000001", OFPERR_OFPBFC_MSG_BAD_LEN },
    { "05 22 0018 00000001 00000001 0000 0003 05 02 0009 00000001", OFPERR_OFPBFC_MSG_BAD_LEN },
    { "05 22 0018 00000001 00000001 0000 0003 04 02 0008 00000001", OFPERR_OFPBFC_BAD_VERSION },
    { "05 22 0018 00000001 00000001 0000 0003 05 02 0008 00000002", OFPERR_OFPBFC_MSG_BAD_XID },
    { "05 22 0018 00000001 00000001 0000 0003 05 02 0008 00000001", OFPERR_OFPBFC_MSG_UNSUP },
    { "05 22 0018 00000001 00000001 0000 0003 05 63 0008 00000001", OFPERR_OFPBRC_BAD_TYPE },
    /* RESUME: a property unknown, one of another length, no packet. */
    { "01 04 0018 00000001 00002320 0000001c 0009 0004 00000000", OFPERR_OFPBPC_BAD_TYPE },
    { "01 04 0018 00000001 00002320 0000001c 0003 0006 00000000", OFPERR_OFPBPC_BAD_LEN },
    { "01 04 0018 00000001 00002320 0000001c 0003 0005 00000000", OFPERR_OFPBPC_BAD_LEN },
};

static void what_is_wrong_is_said(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct buf b = BUF_INITIALIZER;
        size_t fixed;
        char *text;

        from_hex(wrong[i].hex, &b);
        enum ofp_error error = ofp_msg_text(b.data, b.len, &text, &fixed);
        if (error != wrong[i].error) {
            fail_msg("\"%s\": %s, expected %s", wrong[i].hex, error ? ofp_error_name(error) : text,
                     ofp_error_name(wrong[i].error));
        }
        buf_uninit(&b);
    }
}

/* Each form of each message, written with the shortest body, is recognized as itself; one byte less is not. */
static void each_form_is_recognized(void **state UNUSED)
{
    static const enum ofp_version versions[] = { OFP10_VERSION, OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };
    size_t n = 0;

    for (enum ofp_msg_id id = 0; id < OFPMSG_N; id++) {
        for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
            for (enum ofp_msg_class class = 0; class <= OFP_MSGCLASS_ONFSTREP; class ++) {
                const struct ofp_msg_form *form = ofp_msg_find_form(id, versions[v], class, 0);
                struct buf b = BUF_INITIALIZER;
                struct ofp_msg msg;

                if (!form) {
                    continue;
                }
                n++;
                size_t start = ofp_msg_begin_form(&b, id, versions[v], htobe32(7), class, 0);
                buf_put_zeros(&b, form->min);
                assert_int_equal(ofp_msg_end(&b, start), 0);
                assert_int_equal(ofp_msg_recognize(b.data, b.len, &msg), 0);
                assert_int_equal(msg.id, id);
                assert_ptr_equal(msg.form, form);
                assert_int_equal(msg.body_len, form->min);
                assert_int_equal(msg.xid, htobe32(7));
                b.data[3]--;
                assert_int_not_equal(ofp_msg_recognize(b.data, b.len - 1, &msg), 0);
                buf_uninit(&b);
            }
        }
    }
    assert_true(n > 250);
}

/* HELLO and ERROR are for those who do not yet agree on a version. */
static void hello_is_recognized_in_any_version(void **state UNUSED)
{
    for (unsigned int version = 0; version < 256; version++) {
        uint8_t hello[8] = { version, 0, 0, 8 }, error[12] = { version, 1, 0, 12 };
        uint32_t versions;
        struct ofp_msg msg;

        assert_int_equal(ofp_msg_recognize(hello, sizeof hello, &msg), 0);
        assert_int_equal(msg.id, OFPMSG_HELLO);
        assert_int_equal(ofp_decode_hello(&msg, &versions), 0);
        assert_int_equal(versions, (uint32_t) ((UINT64_C(2) << MIN(version, 31)) - 2));
        assert_int_equal(ofp_msg_recognize(error, sizeof error, &msg), 0);
        assert_int_equal(msg.id, OFPMSG_ERROR);
    }
}

/* A flow's entry of SIZE bytes, in a reply of 1.0. */
static int add_flow(struct ofp_reply *r, uint32_t number, size_t size)
{
    static const uint8_t match[40], actions[65535];
    struct ofp_flow_stats stats = {
        .match = { OFP_MATCH_OFP10, { match, sizeof match } },
        .cookie = number,
        .actions = { actions, size - 88 },
    };

    return ofp_reply_flow_stats(r, &stats);
}

static struct ofp_msg flow_request(void)
{
    return (struct ofp_msg){
        .form = ofp_msg_find_form(OFPMSG_FLOW_STATS_REQUEST, OFP10_VERSION, OFP_MSGCLASS_STREQ, 0),
        .version = OFP10_VERSION,
        .xid = htobe32(5),
    };
}

/* Takes the messages off DATA and counts their flows, which have ascending cookies from *NEXT on.  Returns true after
 * the last. */
static bool check_parts(const uint8_t *data, size_t len, uint64_t *next)
{
    bool last = false;

    for (size_t n; len; data += n, len -= n) {
        struct ofp_msg msg;
        n = get_u16(data + 2);
        assert_true(n <= len && !last);
        assert_int_equal(ofp_msg_recognize(data, n, &msg), 0);
        assert_int_equal(msg.id, OFPMSG_FLOW_STATS_REPLY);
        assert_int_equal(msg.xid, htobe32(5));
        last = !msg.more;
        const uint8_t *p = msg.body;
        for (size_t left = msg.body_len; left; left -= get_u16(p), p += get_u16(p)) {
            assert_true(get_u16(p) >= 88 && get_u16(p) <= left);
            assert_int_equal(get_u64(p + 64), (*next)++);
        }
    }
    return last;
}

static void replies_are_split_and_keep_their_order(void **state UNUSED)
{
    struct ofp_msg request = flow_request();
    struct ofp_reply r;
    uint64_t next = 0;

    ofp_reply_begin(&r, &request, OFPMSG_FLOW_STATS_REPLY);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(add_flow(&r, i, 88 + i % 10 * 8), 0);
    }
    ofp_reply_end(&r);
    assert_true(r.buf.len > 5 * OFP_MSG_MAX_LEN);
    assert_true(check_parts(r.buf.data, r.buf.len, &next));
    assert_int_equal(next, 5000);
    ofp_reply_uninit(&r);
}

/* What is whole may be sent, and need not be kept, while the reply is being made. */
static void a_long_reply_is_sent_while_it_is_made(void **state UNUSED)
{
    struct ofp_msg request = flow_request();
    struct ofp_reply r;
    uint64_t next = 0;
    size_t most = 0;

    ofp_reply_begin(&r, &request, OFPMSG_FLOW_STATS_REPLY);
    for (uint32_t i = 0; i < 20000; i++) {
        assert_int_equal(add_flow(&r, i, 96), 0);
        size_t ready = ofp_reply_ready(&r);
        if (ready) {
            assert_false(check_parts(r.buf.data, ready, &next));
            ofp_reply_sent(&r, ready);
        }
        most = MAX(most, r.buf.len);
    }
    ofp_reply_end(&r);
    assert_true(check_parts(r.buf.data, ofp_reply_ready(&r), &next));
    assert_int_equal(ofp_reply_ready(&r), r.buf.len);
    assert_int_equal(next, 20000);
    assert_true(most <= OFP_MSG_MAX_LEN + 96);
    ofp_reply_uninit(&r);
}

/* Entries of just the size that fits, and of one that does not. */
static void an_entry_that_fits_into_no_message_is_left_out(void **state UNUSED)
{
    struct ofp_msg request = flow_request();
    struct ofp_reply r;
    uint64_t next = 0;

    ofp_reply_begin(&r, &request, OFPMSG_FLOW_STATS_REPLY);
    assert_int_equal(add_flow(&r, 99, 65528), -EMSGSIZE);
    assert_int_equal(add_flow(&r, 0, 65520), 0);
    assert_int_equal(ofp_reply_ready(&r), 0);
    assert_int_equal(add_flow(&r, 99, 65528), -EMSGSIZE);
    assert_int_equal(add_flow(&r, 1, 88), 0);
    assert_int_equal(ofp_reply_ready(&r), 12 + 65520);
    assert_int_equal(add_flow(&r, 2, 65520), 0);
    ofp_reply_end(&r);
    assert_true(check_parts(r.buf.data, r.buf.len, &next));
    assert_int_equal(next, 3);
    ofp_reply_uninit(&r);
}

/* 2,000 ports do not fit into 1.0's FEATURES_REPLY: as many as do are there, for the tool to see that it must ask. */
static void features_have_as_many_ports_as_fit(void **state UNUSED)
{
    static struct ofp_port ports[2000];
    struct buf b = BUF_INITIALIZER;
    struct ofp_msg msg;

    ofp_put_features(&b, OFP10_VERSION, 0, &(struct ofp_features){ .n_tables = 1 }, ports, ARRAY_SIZE(ports));
    assert_int_equal(ofp_msg_recognize(b.data, b.len, &msg), 0);
    assert_int_equal(msg.body_len, 24 + 48 * ((65535 - 32) / 48));
    buf_uninit(&b);
}

/* Masks that a message does not name stay; one that is wrong changes nothing. */
static void async_masks_that_are_not_named_stay(void **state UNUSED)
{
    static const struct ofp_async before = { .master = { 1, 2, 3, 4, 8, 1 }, .slave = { 5, 6, 7, 0, 16, 2 } };
    struct ofp_async async = before;
    struct buf b = BUF_INITIALIZER;
    struct ofp_msg msg;

    from_hex("05 1c 0018 00000001 0003 0008 00000007 0004 0008 00000020", &b);
    assert_int_equal(ofp_msg_recognize(b.data, b.len, &msg), 0);
    assert_int_equal(ofp_decode_set_async(&msg, &async), 0);
    struct ofp_async expected = before;
    expected.master[OFP_ASYNC_PORT_STATUS] = 7;
    expected.slave[OFP_ASYNC_FLOW_REMOVED] = 0x20;
    assert_memory_equal(&async, &expected, sizeof async);

    b.data[20] = 0xff;
    async = before;
    assert_int_not_equal(ofp_decode_set_async(&msg, &async), 0);
    assert_memory_equal(&async, &before, sizeof async);
    buf_uninit(&b);
}

/* Without Nicira's table ids the command has 16 bits. */
static void table_ids_in_commands_must_have_been_asked_for(void **state UNUSED)
{
    struct buf b = BUF_INITIALIZER;
    struct ofp_flow_mod mod;
    struct ofp_msg msg;

    from_hex("01 04 0030 00000001 00002320 0000000d 0000000000000000 0300 0000 0000 8000 ffffffff ffff 0000 0000 "
             "000000000000",
             &b);
    assert_int_equal(ofp_msg_recognize(b.data, b.len, &msg), 0);
    assert_int_equal(ofp_decode_flow_mod(&msg, true, &mod), 0);
    assert_int_equal(mod.table_id, 3);
    assert_int_equal(mod.command, OFPFC_ADD);
    assert_int_equal(ofp_decode_flow_mod(&msg, false, &mod), OFPERR_OFPFMFC_BAD_COMMAND);
    b.data[24] = 0;
    assert_int_equal(ofp_decode_flow_mod(&msg, false, &mod), 0);
    assert_int_equal(mod.table_id, OFP_TABLE_ALL);
    buf_uninit(&b);
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_decoded_as_they_are_meant),
        cmocka_unit_test(every_prefix_is_an_error_and_is_not_read_beyond),
        cmocka_unit_test(no_changed_byte_leads_beyond_the_end),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(each_form_is_recognized),
        cmocka_unit_test(hello_is_recognized_in_any_version),
        cmocka_unit_test(replies_are_split_and_keep_their_order),
        cmocka_unit_test(a_long_reply_is_sent_while_it_is_made),
        cmocka_unit_test(an_entry_that_fits_into_no_message_is_left_out),
        cmocka_unit_test(features_have_as_many_ports_as_fit),
        cmocka_unit_test(async_masks_that_are_not_named_stay),
        cmocka_unit_test(table_ids_in_commands_must_have_been_asked_for),
    };

    if (argc > 1 && !strcmp(argv[1], "print")) {
        for_each_request(print_request, stdout);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
