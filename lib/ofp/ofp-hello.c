/* HELLO, and the choice of the version.
 *
 * OpenFlow says that without bitmaps the lower of the two versions is spoken or the connection fails.  Here a HELLO
 * without one offers all versions up to its own, which is the same for peers that speak all of them, and lets others
 * connect that the rule would turn away; so does the existing daemon. */
#include <config.h>

#include "lib/ofp/ofp-hello.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"

#define VERSION_BITMAP 1 /* Type of the element. */

static uint8_t highest(uint32_t versions) { return versions ? 31 - __builtin_clz(versions) : 0; }

/* Versions 1 to VERSION. */
static uint32_t all_up_to(uint8_t version) { return version >= 31 ? UINT32_MAX - 1 : (2u << version) - 2; }

size_t ofp_hello_encode(uint32_t versions, uint32_t xid, uint8_t buf[OFP_HELLO_MAX])
{
    uint8_t version = highest(versions);
    uint16_t len = versions == all_up_to(version) ? 8 : 16;
    uint16_t be_len = htobe16(len), element[2] = { htobe16(VERSION_BITMAP), htobe16(8) };
    uint32_t be_xid = htobe32(xid), be_versions = htobe32(versions);
    buf[0] = version;
    buf[1] = 0;
    memcpy(buf + 2, &be_len, 2);
    memcpy(buf + 4, &be_xid, 4);
    memcpy(buf + 8, element, 4);
    memcpy(buf + 12, &be_versions, 4);
    return len;
}

uint32_t ofp_hello_versions(const uint8_t *msg, size_t len)
{
    size_t pos = 8;
    while (len - pos >= 4) {
        uint16_t type = msg[pos] << 8 | msg[pos + 1], n = msg[pos + 2] << 8 | msg[pos + 3];
        if (n < 4 || n > len - pos) {
            break;
        }
        if (type == VERSION_BITMAP && n >= 8) {
            uint32_t v;
            memcpy(&v, msg + pos + 4, 4);
            return be32toh(v) & ~1u;
        }
        pos += MIN(ROUND_UP(n, 8), len - pos);
    }
    return all_up_to(msg[0]);
}

uint8_t ofp_hello_choose(uint32_t ours, uint32_t theirs) { return highest(ours & theirs); }

static void print_versions(FILE *out, uint32_t versions)
{
    const char *separator = versions & (versions - 1) ? "s " : " ";
    fputs("version", out);
    for (int v = 0; v < 32; v++) {
        if (versions >> v & 1) {
            fprintf(out, "%s0x%02x", separator, v);
            separator = ", ";
        }
    }
    if (!versions) {
        fputs("s none", out);
    }
}

char *ofp_hello_mismatch(uint32_t ours, uint32_t theirs)
{
    struct text t;
    FILE *out = text_open(&t);
    fputs("We support ", out);
    print_versions(out, ours);
    fputs(", you support ", out);
    print_versions(out, theirs);
    fputs(", no common versions.", out);
    return text_close(&t);
}
