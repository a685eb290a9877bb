/* libFuzzer target: any bytes as actions and as instructions, and any text.
 *
 * The first byte says the version, and what the rest is.  What is decoded without error must survive being encoded and
 * decoded again, and what is scanned and printed must be scanned again; nothing may be read past the end.  Build with
 * `clang -fsanitize=fuzzer,address,undefined`; seeds are in seeds/ofp-action, made of tests/ofp/action.data. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "lib/pkt/flow.h"

static char *print_acts(const struct buf *acts)
{
    struct text t;

    ofp_acts_print(text_open(&t), acts->data, acts->len, NULL);
    return text_close(&t);
}

static enum ofp_error decode(const void *data, size_t size, enum ofp_version version, bool instructions,
                             struct buf *acts)
{
    return instructions ? ofp_instructions_decode(data, size, version, acts)
                        : ofp_actions_decode(data, size, version, acts);
}

/* Encodes and decodes: the bytes of the second time must be those of the first. */
static void round_trip(const struct buf *acts, enum ofp_version version, bool instructions)
{
    struct buf wire[2] = { BUF_INITIALIZER, BUF_INITIALIZER }, again = BUF_INITIALIZER;

    for (int i = 0; i < 2; i++) {
        const struct buf *from = i ? &again : acts;

        if (instructions) {
            ofp_instructions_encode(from->data, from->len, version, &wire[i]);
        } else {
            ofp_actions_encode(from->data, from->len, version, &wire[i]);
        }
        if (i == 0 && (wire[0].len > UINT16_MAX || decode(wire[0].data, wire[0].len, version, instructions, &again))) {
            if (wire[0].len <= UINT16_MAX) {
                abort();
            }
            break;
        }
        if (i == 1 &&
            (wire[0].len != wire[1].len || (wire[0].len && memcmp(wire[0].data, wire[1].data, wire[0].len)))) {
            abort();
        }
    }
    buf_uninit(&wire[0]);
    buf_uninit(&wire[1]);
    buf_uninit(&again);
}

static void check(struct buf *acts, enum ofp_version version)
{
    static const uint16_t types[] = { 0, ETH_TYPE_IPV4, ETH_TYPE_IPV6, ETH_TYPE_MPLS };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct flow flow = { .eth_type = __builtin_bswap16(types[i]), .ip_proto = 6 };
        struct ofp_check c = { .flow = &flow, .version = version, .table = 1, .n_tables = 255, .max_ports = OFPP_MAX };

        ofp_acts_check(acts->data, acts->len, &c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum ofp_version versions[] = { OFP10_VERSION, OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };
    struct buf acts = BUF_INITIALIZER, scanned = BUF_INITIALIZER;

    if (!size) {
        return 0;
    }
    enum ofp_version version = versions[data[0] & 3];
    bool instructions = data[0] & 4, text = data[0] & 8;
    if (text) {
        char *copy = xmalloc(size);
        memcpy(copy, data + 1, size - 1);
        copy[size - 1] = '\0';
        free(ofp_acts_scan(copy, NULL, &acts));
        free(copy);
    } else if (!decode(data + 1, size - 1, version, instructions, &acts)) {
        round_trip(&acts, version, instructions);
    }
    char *printed = print_acts(&acts);
    char *error = ofp_acts_scan(printed, NULL, &scanned);
    if (error && text) { /* The wire has a few actions that text refuses: resubmit(,). */
        fprintf(stderr, "%s: %s\n", printed, error);
        abort();
    }
    free(error);
    check(&acts, version);
    for (int i = 0; i < 4; i++) {
        struct buf wire = BUF_INITIALIZER;
        ofp_instructions_encode(acts.data, acts.len, versions[i], &wire);
        buf_uninit(&wire);
    }
    free(printed);
    buf_uninit(&acts);
    buf_uninit(&scanned);
    return 0;
}
