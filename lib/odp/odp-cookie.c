/* See odp-cookie.h.  Pure functions. */
#include <config.h>

#include "lib/odp/odp-cookie.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-field.h"
#include "lib/odp/odp-text.h"

/* Another number whenever the bytes change their meaning. */
#define VERSION 0x51

/* What the bytes begin with; behind it the registers that are not 0, lowest first, then the user data.  No holes: every byte is compared. */
struct head {
    uint8_t kind, version, reason, flags;
    uint32_t bridge, slow;
    uint16_t max_len, controller_id;
    uint16_t in_port, userdata_len;
    uint16_t regs; /* Bit N: register N follows. */
    uint8_t table_id, has_userdata;
    uint64_t rule_cookie;
    be64 metadata;
};
_Static_assert(sizeof(struct head) == 40, "no holes");

NOINLINE void odp_cookie_put(struct attrbuf *b, const struct odp_cookie *c)
{
    uint32_t memory[(ODP_COOKIE_MAX + 3) / 4];
    uint8_t *p = (uint8_t *) memory;
    struct head h = {
        .kind = c->kind, .version = VERSION, .reason = c->reason, .flags = c->flags, .bridge = c->bridge, .slow = c->slow,
        .max_len = c->max_len, .controller_id = c->controller_id, .in_port = c->in_port.n, .userdata_len = c->userdata.n,
        .table_id = c->table_id, .has_userdata = c->userdata.p != NULL, .rule_cookie = c->rule_cookie, .metadata = c->metadata,
    };

    if (c->userdata.n > ODP_COOKIE_MAX_USERDATA) {
        b->overflow = true;
        return;
    }
    p += sizeof h;
    for (unsigned int i = 0; i < FLOW_N_REGS; i++) {
        if (c->regs[i]) {
            h.regs |= 1u << i;
            memcpy(p, &c->regs[i], 4);
            p += 4;
        }
    }
    memcpy(memory, &h, sizeof h);
    if (c->userdata.n) {
        memcpy(p, c->userdata.p, c->userdata.n);
        p += c->userdata.n;
    }
    attrbuf_put(b, OVS_USERSPACE_ATTR_USERDATA, memory, p - (uint8_t *) memory);
}

void odp_put_cookie(struct attrbuf *b, uint32_t pid, const struct odp_cookie *c)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_USERSPACE);

    attrbuf_put_u32(b, OVS_USERSPACE_ATTR_PID, pid);
    odp_cookie_put(b, c);
    attrbuf_nest_end(b, nest);
}

bool odp_cookie_get(const void *p_, size_t n, struct odp_cookie *ret)
{
    const uint8_t *p = p_;
    struct head h;

    if (n < sizeof h) {
        return false;
    }
    memcpy(&h, p, sizeof h);
    if (h.version != VERSION || (h.kind != ODP_COOKIE_CONTROLLER && h.kind != ODP_COOKIE_SLOW) || h.has_userdata > 1
        || n != sizeof h + 4 * (size_t) __builtin_popcount(h.regs) + h.userdata_len || h.userdata_len > ODP_COOKIE_MAX_USERDATA
        || (h.userdata_len && !h.has_userdata)) {
        return false;
    }
    *ret = (struct odp_cookie) {
        .kind = h.kind, .slow = h.slow, .bridge = h.bridge, .reason = h.reason, .flags = h.flags, .table_id = h.table_id,
        .controller_id = h.controller_id, .max_len = h.max_len, .rule_cookie = h.rule_cookie, .in_port = { h.in_port },
        .metadata = h.metadata,
    };
    p += sizeof h;
    for (unsigned int i = 0; i < FLOW_N_REGS; i++) {
        if (h.regs >> i & 1) {
            memcpy(&ret->regs[i], p, 4);
            p += 4;
        }
    }
    if (h.has_userdata) {
        ret->userdata = (struct bytes) { p, h.userdata_len };
    }
    return true;
}

/* ---- Text. ---- */

static const char *const slow_names[] = { "action", "match" };

static void print_slow(FILE *out, uint32_t slow)
{
    const char *comma = "";

    fputs("slow_path(", out);
    for (unsigned int i = 0; i < ARRAY_SIZE(slow_names); i++) {
        if (slow >> i & 1) {
            fprintf(out, "%s%s", comma, slow_names[i]);
            comma = ",";
        }
    }
    if (slow >> ARRAY_SIZE(slow_names)) {
        fprintf(out, "%s%#" PRIx32, comma, slow & ~0u << ARRAY_SIZE(slow_names));
    }
    fputc(')', out);
}

/* Numbers of a cookie: by name, in the order in which they are printed. */
enum number { REASON, RULE_COOKIE, CONTROLLER_ID, MAX_LEN, BRIDGE, TABLE, IN_PORT, FLAGS, METADATA, N_NUMBERS };
static const struct {
    const char *name;
    bool hex, optional;
    uint64_t max;
} numbers[N_NUMBERS] = {
    [REASON] = { "reason", false, false, UINT8_MAX },
    [RULE_COOKIE] = { "rule_cookie", true, false, UINT64_MAX },
    [CONTROLLER_ID] = { "controller_id", false, false, UINT16_MAX },
    [MAX_LEN] = { "max_len", false, false, UINT16_MAX },
    [BRIDGE] = { "bridge", true, false, UINT32_MAX },
    [TABLE] = { "table", false, false, UINT8_MAX },
    [IN_PORT] = { "in_port", false, false, UINT16_MAX },
    [FLAGS] = { "flags", true, true, UINT8_MAX },
    [METADATA] = { "metadata", true, true, UINT64_MAX },
};

void odp_cookie_print(FILE *out, const struct odp_cookie *c)
{
    const uint64_t v[N_NUMBERS] = {
        [REASON] = c->reason, [RULE_COOKIE] = c->rule_cookie, [CONTROLLER_ID] = c->controller_id, [MAX_LEN] = c->max_len,
        [BRIDGE] = c->bridge, [TABLE] = c->table_id, [IN_PORT] = c->in_port.n, [FLAGS] = c->flags, [METADATA] = be64toh(c->metadata),
    };

    if (c->kind == ODP_COOKIE_SLOW) {
        print_slow(out, c->slow);
        return;
    }
    for (unsigned int i = 0; i < N_NUMBERS; i++) {
        if (!numbers[i].optional || v[i]) {
            fprintf(out, numbers[i].hex && v[i] ? "%s%s=0x%" PRIx64 : "%s%s=%" PRIu64, i ? "," : "controller(", numbers[i].name, v[i]);
        }
    }
    for (unsigned int i = 0; i < FLOW_N_REGS; i++) {
        if (c->regs[i]) {
            fprintf(out, ",reg%u=0x%" PRIx32, i, ntohl(c->regs[i]));
        }
    }
    if (c->userdata.p) {
        fputs(",userdata=", out);
        odp_hex_print(out, c->userdata.p, c->userdata.n, "");
    }
    fputc(')', out);
}

static char *scan_slow(char *body, struct odp_cookie *c)
{
    char *item;

    *c = (struct odp_cookie) { .kind = ODP_COOKIE_SLOW };
    while ((item = odp_item_next(&body)) != NULL) {
        uint64_t bits = 0;
        for (unsigned int i = 0; i < ARRAY_SIZE(slow_names); i++) {
            bits |= !strcmp(item, slow_names[i]) ? 1u << i : 0;
        }
        if (!bits && !odp_number_scan(item, UINT32_MAX, &bits)) {
            return xasprintf("slow_path(%s): expected action or match, or a number", item);
        }
        c->slow |= bits;
    }
    return NULL;
}

static char *scan_userdata(const char *text, uint8_t *userdata, struct odp_cookie *c)
{
    int n = odp_hex_scan(text, userdata, ODP_COOKIE_MAX_USERDATA);

    if (n < 0) {
        return xasprintf("controller(userdata=%s): expected at most %d bytes in hexadecimal", text, ODP_COOKIE_MAX_USERDATA);
    }
    c->userdata = (struct bytes) { userdata, n };
    return NULL;
}

static char *scan_controller_item(char *item, uint8_t *userdata, struct odp_cookie *c, uint64_t v[N_NUMBERS])
{
    char *text = odp_item_value(item);
    uint64_t reg, value;
    unsigned int i = 0;

    if (text && !strcmp(item, "userdata")) {
        return scan_userdata(text, userdata, c);
    }
    if (text && !strncmp(item, "reg", 3) && odp_number_scan(item + 3, FLOW_N_REGS - 1, &reg)) {
        if (!odp_number_scan(text, UINT32_MAX, &value)) {
            return xasprintf("controller(%s=%s): expected a number of 32 bits", item, text);
        }
        c->regs[reg] = htonl(value);
        return NULL;
    }
    while (i < N_NUMBERS && strcmp(numbers[i].name, item)) {
        i++;
    }
    if (!text || i == N_NUMBERS) {
        return xasprintf("controller(%s): there is no such field; expected such as reason=1 or reg0=0x5", item);
    }
    if (!odp_number_scan(text, numbers[i].max, &v[i])) {
        return xasprintf("controller(%s=%s): expected a number up to %#" PRIx64, item, text, numbers[i].max);
    }
    return NULL;
}

static char *scan_controller(char *body, uint8_t *userdata, struct odp_cookie *c)
{
    uint64_t v[N_NUMBERS] = { [MAX_LEN] = UINT16_MAX };
    char *item, *error = NULL;

    *c = (struct odp_cookie) { .kind = ODP_COOKIE_CONTROLLER };
    while (!error && (item = odp_item_next(&body)) != NULL) {
        error = scan_controller_item(item, userdata, c, v);
    }
    c->reason = v[REASON];
    c->rule_cookie = v[RULE_COOKIE];
    c->controller_id = v[CONTROLLER_ID];
    c->max_len = v[MAX_LEN];
    c->bridge = v[BRIDGE];
    c->table_id = v[TABLE];
    c->in_port.n = v[IN_PORT];
    c->flags = v[FLAGS];
    c->metadata = htobe64(v[METADATA]);
    return error;
}

char *odp_cookie_scan(const char *name, char *body, uint8_t *userdata, struct odp_cookie *ret)
{
    return strcmp(name, "slow_path") ? scan_controller(body, userdata, ret) : scan_slow(body, ret);
}
