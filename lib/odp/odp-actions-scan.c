/* Datapath actions, read from the text that odp_actions_print() writes.
 *
 * For commands and tests.  Each error says which action, which value, and what would be right.  Pure functions; the
 * actions go to the caller's buffer. */
#include <config.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <linux/openvswitch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-cookie.h"
#include "lib/odp/odp-ct.h"
#include "lib/odp/odp-key-scan.h"
#include "lib/odp/odp-text.h"
#include "lib/pkt/flow.h"

#define MAX_DEPTH 16

static char *scan_list(char *text, struct attrbuf *b, int depth);

/* Reads NAME(TEXT) or NAME(ITEM=TEXT): a number up to MAX. */
static char *scan_number(const char *name, const char *text, uint64_t max, uint64_t *ret_value)
{
    if (!odp_number_scan(text, max, ret_value)) {
        return xasprintf("%s(%s): expected a number from 0 to %" PRIu64, name, text, max);
    }
    return NULL;
}

static char *scan_u32(const char *name, const char *text, uint16_t type, struct attrbuf *b)
{
    uint64_t v;
    char *error = scan_number(name, text, UINT32_MAX, &v);

    if (!error) {
        attrbuf_put_u32(b, type, v);
    }
    return error;
}

/* What userspace() may have in brackets: bytes, or a cookie of ours, which are bytes too. */
static char *scan_userdata(const char *name, char *body, struct attrbuf *b)
{
    uint8_t memory[ODP_COOKIE_MAX_USERDATA];
    struct odp_cookie cookie;

    if (!strcmp(name, "userdata")) {
        int n = odp_hex_scan(body, memory, sizeof memory);
        if (n < 0) {
            return xasprintf("userspace(userdata(%s)): expected at most %zu bytes in hexadecimal", body, sizeof memory);
        }
        attrbuf_put(b, OVS_USERSPACE_ATTR_USERDATA, memory, n);
        return NULL;
    }
    char *error = odp_cookie_scan(name, body, memory, &cookie);
    if (!error) {
        odp_cookie_put(b, &cookie);
    }
    return error;
}

static char *scan_userspace_item(char *item, struct attrbuf *b)
{
    char *text;

    if (!strcmp(item, "actions")) {
        attrbuf_put_flag(b, OVS_USERSPACE_ATTR_ACTIONS);
        return NULL;
    }
    text = odp_item_value(item);
    if (text && !strcmp(item, "pid")) {
        return scan_u32("userspace(pid)", text, OVS_USERSPACE_ATTR_PID, b);
    }
    if (text && !strcmp(item, "tunnel_out_port")) {
        return scan_u32("userspace(tunnel_out_port)", text, OVS_USERSPACE_ATTR_EGRESS_TUN_PORT, b);
    }
    text = text ? NULL : odp_item_body(item);
    if (text && (!strcmp(item, "userdata") || !strcmp(item, "controller") || !strcmp(item, "slow_path"))) {
        return scan_userdata(item, text, b);
    }
    return xasprintf("userspace(%s): there is no such field; expected pid=N, userdata(HEX), "
                     "controller(...), slow_path(...), actions, tunnel_out_port=N",
                     item);
}

static char *scan_userspace(char *body, struct attrbuf *b)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_USERSPACE);
    char *item, *error = NULL;

    while (!error && (item = odp_item_next(&body)) != NULL) {
        error = scan_userspace_item(item, b);
    }
    attrbuf_nest_end(b, nest);
    return error;
}

/* Clears value bits outside of the mask: the kernel insists. */
static void put_masked_set(struct attrbuf *b, uint16_t type, const uint8_t *value, const uint8_t *mask, size_t len)
{
    uint8_t both[128];

    if (len > sizeof both / 2) {
        b->overflow = true;
        return;
    }
    for (size_t i = 0; i < len; i++) {
        both[i] = value[i] & mask[i];
        both[len + i] = mask[i];
    }
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SET_MASKED);
    attrbuf_put(b, type, both, 2 * len);
    attrbuf_nest_end(b, nest);
}

static char *scan_set(char *body, struct attrbuf *b)
{
    uint32_t key_mem[128], mask_mem[128];
    struct attrbuf key, mask;
    struct odp_scan s = { .key = &key, .mask = &mask };
    char *args = odp_item_body(body);

    attrbuf_init(&key, key_mem, sizeof key_mem);
    attrbuf_init(&mask, mask_mem, sizeof mask_mem);
    if (!args) {
        return xasprintf("set(%s): expected set(FIELD(VALUE))", body);
    }
    if (!strcmp(body, "nsh")) {
        /* The kernel refuses it in every form. */
        return xasprintf("set(nsh(%s)): the datapath cannot change fields of NSH", args);
    }
    char *error = odp_scan_attr(&s, body, args);
    if (error) {
        return error;
    }
    struct odp_attr_iter it = odp_attr_begin(attrbuf_data(&key), attrbuf_len(&key));
    struct odp_attr_iter mask_it = odp_attr_begin(attrbuf_data(&mask), attrbuf_len(&mask));
    struct odp_attr a, m;
    if (key.overflow || !odp_attr_next(&it, &a) || !odp_attr_next(&mask_it, &m)) {
        return xasprintf("set(%s): the value is too long", body);
    }
    const struct odp_group *g = odp_group_by_type(a.type);
    bool exact = a.type == OVS_KEY_ATTR_TUNNEL || odp_all_ones(m.data, m.len) ||
                 (g && !g->fields[0].name && odp_field_is_exact(g->fields[0].kind, m.data));
    if (exact) {
        struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SET);
        attrbuf_put(b, a.type, a.data, a.len);
        attrbuf_nest_end(b, nest);
    } else {
        put_masked_set(b, a.type, a.data, m.data, a.len);
    }
    return NULL;
}

/* Items NAME=NUMBER into VALUES by their place in NAMES. */
static char *scan_named(const char *action, const char *const *names, size_t n, char *body, uint64_t *values)
{
    char *item;

    while ((item = odp_item_next(&body)) != NULL) {
        char *text = odp_item_value(item);
        size_t i = 0;

        while (i < n && strcmp(names[i], item)) {
            i++;
        }
        if (!text || i == n) {
            return xasprintf("%s(%s): there is no such field in %s", action, item, action);
        }
        char *error = scan_number(action, text, UINT32_MAX, &values[i]);
        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *scan_push_vlan(char *body, struct attrbuf *b)
{
    static const char *const names[] = { "tpid", "vid", "pcp", "cfi" };
    uint64_t v[] = { ETH_TYPE_VLAN, 0, 0, 1 };
    char *error = scan_named("push_vlan", names, ARRAY_SIZE(names), body, v);

    if (!error && (v[0] > 0xffff || v[1] > VLAN_VID_MASK || v[2] > 7 || v[3] > 1)) {
        error = xasprintf("push_vlan: expected tpid up to 0xffff, vid up to 4095, pcp up to 7, cfi 0 or 1");
    }
    if (!error) {
        struct ovs_action_push_vlan push = {
            .vlan_tpid = htons(v[0]), .vlan_tci = htons(v[1] | v[2] << VLAN_PCP_SHIFT | (v[3] ? VLAN_CFI : 0))
        };
        attrbuf_put(b, OVS_ACTION_ATTR_PUSH_VLAN, &push, sizeof push);
    }
    return error;
}

static char *scan_push_mpls(const char *name, char *body, bool add, struct attrbuf *b)
{
    static const char *const names[] = { "label", "tc", "ttl", "bos", "eth_type" };
    uint64_t v[] = { 0, 0, 0, 0, ETH_TYPE_MPLS };
    char *error = scan_named(name, names, ARRAY_SIZE(names), body, v);

    if (!error && (v[0] > 0xfffff || v[1] > 7 || v[2] > 255 || v[3] > 1 || v[4] > 0xffff)) {
        error = xasprintf("%s: expected label up to 0xfffff, tc up to 7, ttl up to 255, bos 0 or 1, eth_type up to "
                          "0xffff",
                          name);
    }
    if (!error) {
        struct ovs_action_add_mpls mpls = { .mpls_lse = htonl(v[0] << 12 | v[1] << 9 | v[3] << 8 | v[2]),
                                            .mpls_ethertype = htons(v[4]) };
        attrbuf_put(b, add ? OVS_ACTION_ATTR_ADD_MPLS : OVS_ACTION_ATTR_PUSH_MPLS, &mpls, sizeof mpls);
    }
    return error;
}

static char *scan_pop_mpls(char *body, struct attrbuf *b)
{
    static const char *const names[] = { "eth_type" };
    uint64_t v = ETH_TYPE_IPV4;
    char *error = scan_named("pop_mpls", names, 1, body, &v);

    if (!error && v > 0xffff) {
        error = xasprintf("pop_mpls(eth_type=%#" PRIx64 "): expected a number up to 0xffff", v);
    }
    if (!error) {
        attrbuf_put_u16(b, OVS_ACTION_ATTR_POP_MPLS, htons(v));
    }
    return error;
}

static char *scan_push_eth(char *body, struct attrbuf *b)
{
    struct ovs_action_push_eth push = { 0 };
    struct ovs_key_ethernet mask;
    const struct odp_group *g = odp_group_by_type(OVS_KEY_ATTR_ETHERNET);
    char *error = odp_scan_fields("push_eth", g->fields, g->n_fields, body, (uint8_t *) &push.addresses,
                                  (uint8_t *) &mask);

    if (!error) {
        attrbuf_put(b, OVS_ACTION_ATTR_PUSH_ETH, &push, sizeof push);
    }
    return error;
}

static char *scan_push_nsh(char *body, struct attrbuf *b)
{
    struct odp_nsh value, mask;
    char *error = odp_scan_nsh(body, &value, &mask);

    if (!error) {
        struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_PUSH_NSH);

        odp_nsh_put(b, OVS_KEY_ATTR_NSH, &value, value.base.mdtype == 1);
        attrbuf_nest_end(b, nest);
    }
    return error;
}

static char *scan_hash(char *body, struct attrbuf *b)
{
    struct ovs_action_hash hash = { .hash_alg = OVS_HASH_ALG_L4 };
    char *text = odp_item_body(body);
    uint64_t basis;

    if (!text || (strcmp(body, "l4") && strcmp(body, "hash_l4"))) {
        return xasprintf("hash(%s): expected hash(l4(BASIS))", body);
    }
    char *error = scan_number("hash_l4", text, UINT32_MAX, &basis);
    if (!error) {
        hash.hash_basis = basis;
        attrbuf_put(b, OVS_ACTION_ATTR_HASH, &hash, sizeof hash);
    }
    return error;
}

/* A list of actions in a nest of TYPE. */
static char *scan_nested(char *body, uint16_t type, struct attrbuf *b, int depth)
{
    struct nlattr *nest = attrbuf_nest_begin(b, type);
    char *error = scan_list(body, b, depth + 1);

    attrbuf_nest_end(b, nest);
    return error;
}

static char *scan_sample(char *body, struct attrbuf *b, int depth)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_SAMPLE);
    char *item, *error = NULL;

    while (!error && (item = odp_item_next(&body)) != NULL) {
        char *text = odp_item_value(item);
        char *end;

        if (text && !strcmp(item, "sample")) {
            double percent = strtod(text, &end);
            if (end == text || strcmp(end, "%") || !(percent >= 0 && percent <= 100)) {
                error = xasprintf("sample(sample=%s): expected a percentage such as 50.0%%", text);
            } else {
                attrbuf_put_u32(b, OVS_SAMPLE_ATTR_PROBABILITY, percent / 100 * UINT32_MAX + 0.5);
            }
        } else if (!text && (text = odp_item_body(item)) != NULL && !strcmp(item, "actions")) {
            error = scan_nested(text, OVS_SAMPLE_ATTR_ACTIONS, b, depth);
        } else {
            error = xasprintf("sample(%s): expected sample=N%% and actions(...)", item);
        }
    }
    attrbuf_nest_end(b, nest);
    return error;
}

static char *scan_check_pkt_len_item(char *item, struct attrbuf *b, int depth)
{
    char *text = odp_item_value(item);
    uint64_t size;

    if (text && !strcmp(item, "size")) {
        char *error = scan_number("check_pkt_len", text, UINT16_MAX, &size);
        if (!error) {
            attrbuf_put_u16(b, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, size);
        }
        return error;
    }
    text = text ? NULL : odp_item_body(item);
    if (text && !strcmp(item, "gt")) {
        return scan_nested(text, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER, b, depth);
    }
    if (text && !strcmp(item, "le")) {
        return scan_nested(text, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL, b, depth);
    }
    return xasprintf("check_pkt_len(%s): expected size=N, gt(...) and le(...)", item);
}

static char *scan_check_pkt_len(char *body, struct attrbuf *b, int depth)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    char *item, *error = NULL;

    while (!error && (item = odp_item_next(&body)) != NULL) {
        error = scan_check_pkt_len_item(item, b, depth);
    }
    attrbuf_nest_end(b, nest);
    return error;
}

static char *scan_dec_ttl(char *body, struct attrbuf *b, int depth)
{
    char *text = odp_item_body(body);

    if (!text || strcmp(body, "le_1")) {
        return xasprintf("dec_ttl(%s): expected dec_ttl(le_1(...))", body);
    }
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_DEC_TTL);
    char *error = scan_nested(text, OVS_DEC_TTL_ATTR_ACTION, b, depth);
    attrbuf_nest_end(b, nest);
    return error;
}

/* actionN(hex) */
static char *scan_unknown(const char *name, const char *body, struct attrbuf *b)
{
    uint8_t bytes[256];
    int n = odp_hex_scan(body, bytes, sizeof bytes);
    uint64_t type;

    if (!odp_number_scan(name + 6, NLA_TYPE_MASK, &type) || n < 0) {
        return xasprintf("%s(%s): expected actionN(HEX)", name, body);
    }
    attrbuf_put(b, type, bytes, n);
    return NULL;
}

/* An action that is a word or, for an output, a number.  False if ITEM is no such word. */
static bool scan_word(const char *item, struct attrbuf *b)
{
    static const struct {
        const char *name;
        uint16_t type;
    } words[] = {
        { "pop_vlan", OVS_ACTION_ATTR_POP_VLAN }, { "pop_eth", OVS_ACTION_ATTR_POP_ETH },
        { "ct_clear", OVS_ACTION_ATTR_CT_CLEAR }, { "pop_nsh", OVS_ACTION_ATTR_POP_NSH },
    };
    uint64_t port;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!strcmp(item, words[i].name)) {
            attrbuf_put_flag(b, words[i].type);
            return true;
        }
    }
    if (odp_number_scan(item, UINT32_MAX, &port)) {
        attrbuf_put_u32(b, OVS_ACTION_ATTR_OUTPUT, port);
        return true;
    }
    return false;
}

static char *scan_call(const char *name, char *body, struct attrbuf *b, int depth)
{
    static const struct {
        const char *name;
        uint16_t type;
    } numbers[] = { { "recirc", OVS_ACTION_ATTR_RECIRC }, { "trunc", OVS_ACTION_ATTR_TRUNC },
                    { "meter", OVS_ACTION_ATTR_METER } };
    static const struct {
        const char *name;
        char *(*scan)(char *body, struct attrbuf *b);
    } flat[] = { { "userspace", scan_userspace }, { "set", scan_set },           { "push_vlan", scan_push_vlan },
                 { "pop_mpls", scan_pop_mpls },   { "push_eth", scan_push_eth }, { "push_nsh", scan_push_nsh },
                 { "hash", scan_hash } };
    static const struct {
        const char *name;
        char *(*scan)(char *body, struct attrbuf *b, int depth);
    } nested[] = { { "sample", scan_sample },
                   { "check_pkt_len", scan_check_pkt_len },
                   { "dec_ttl", scan_dec_ttl } };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (!strcmp(name, numbers[i].name)) {
            return scan_u32(name, body, numbers[i].type, b);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(flat); i++) {
        if (!strcmp(name, flat[i].name)) {
            return flat[i].scan(body, b);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(nested); i++) {
        if (!strcmp(name, nested[i].name)) {
            return nested[i].scan(body, b, depth);
        }
    }
    if (!strcmp(name, "push_mpls") || !strcmp(name, "add_mpls")) {
        return scan_push_mpls(name, body, name[0] == 'a', b);
    }
    if (!strcmp(name, "clone")) {
        return scan_nested(body, OVS_ACTION_ATTR_CLONE, b, depth);
    }
    if (!strcmp(name, "ct")) {
        return odp_ct_scan(body, b);
    }
    if (!strncmp(name, "action", 6) && isdigit((unsigned char) name[6])) {
        return scan_unknown(name, body, b);
    }
    return xasprintf("%s(%s): there is no such action", name, body);
}

static char *scan_list(char *text, struct attrbuf *b, int depth)
{
    char *item;

    if (depth > MAX_DEPTH) {
        return xasprintf("actions are nested deeper than %d", MAX_DEPTH);
    }
    if (!strcmp(text, "drop")) {
        return NULL;
    }
    while ((item = odp_item_next(&text)) != NULL) {
        char *error = NULL;

        if (!strcmp(item, "ct")) {
            error = odp_ct_scan(item + 2, b);
        } else if (!scan_word(item, b)) {
            char *body = odp_item_body(item);

            if (!body) {
                error = xasprintf("\"%s\": there is no such action, nor is it the number of a port", item);
            } else if (*body || !scan_word(item, b)) {
                error = scan_call(item, body, b, depth);
            }
        }
        if (error) {
            return error;
        }
    }
    return NULL;
}

char *odp_actions_scan(const char *text, struct attrbuf *actions)
{
    char *copy = xstrdup(text);
    char *error = scan_list(copy, actions, 0);

    if (!error && actions->overflow) {
        error = xstrdup("the actions are too long");
    }
    free(copy);
    return error;
}
