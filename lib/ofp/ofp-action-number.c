/* Actions that are one number, or nothing but themselves: driven by OFP_WIRE_ACTIONS and OFP_NUMBER_ACTIONS. */
#include <config.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"
#include "lib/pkt/flow.h"

enum format { FORMAT_DECIMAL, FORMAT_ROUND, FORMAT_ETHERTYPE, FORMAT_HEX, FORMAT_MAC, FORMAT_IPV4 };
enum { FIELD_NONE = OFP_N_FIELDS };
#define FIELD_OF_NONE FIELD_NONE

struct number_info {
    enum format format;
    uint64_t bits;
    int field; /* enum ofp_field_id, or FIELD_NONE. */
};

#define OFP_FIELD_NONE FIELD_NONE
static const struct number_info numbers[OFP_N_ACTS] = {
#define NUMBER_INFO(ID, FORMAT, BITS, FIELD) [OFP_ACT_##ID] = { FORMAT_##FORMAT, BITS, OFP_FIELD_##FIELD },
    OFP_NUMBER_ACTIONS(NUMBER_INFO)
#undef NUMBER_INFO
};

/* Can TYPE's number be N? */
static bool number_ok(enum ofp_act_type type, uint64_t n)
{
    if (n & ~numbers[type].bits) {
        return false;
    }
    if (type == OFP_ACT_PUSH_VLAN) {
        return n == ETH_TYPE_VLAN || n == ETH_TYPE_QINQ;
    }
    if (type == OFP_ACT_PUSH_MPLS) {
        return n == ETH_TYPE_MPLS || n == ETH_TYPE_MPLS_MC;
    }
    return true;
}

/* ---- The wire. ---- */

static uint64_t get_number(const uint8_t *p, size_t width)
{
    uint64_t n = 0;

    for (size_t i = 0; i < width; i++) {
        n = n << 8 | p[i];
    }
    return n;
}

static enum ofp_error decode_number(struct decode *d, bool push_if_needed, struct buf *acts)
{
    const struct wire_action *w = d->wire;
    uint64_t n = get_number(d->body + w->ofs, w->width);
    struct ofp_act_number *a = ofp_act_put(acts, w->type, sizeof *a);

    if (!number_ok(w->type, n)) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    a->n = n;
    a->push_if_needed = push_if_needed;
    a->wide = w->width == 8;
    return OFPERR_NONE;
}

enum ofp_error ofp_decode_number(struct decode *d, struct buf *acts)
{
    bool vlan = d->wire->type == OFP_ACT_SET_VLAN_VID || d->wire->type == OFP_ACT_SET_VLAN_PCP;

    return decode_number(d, vlan, acts);
}

enum ofp_error ofp_decode_number_old(struct decode *d, struct buf *acts) { return decode_number(d, false, acts); }

static void put_number(struct buf *w, uint64_t n, size_t width)
{
    while (width--) {
        buf_put_u8(w, n >> 8 * width);
    }
}

/* Which of the three transport protocols' fields: by the flow's; TCP's when that is not known. */
static const struct ofp_field *l4_field(const struct ofp_act_number *a)
{
    bool src = a->act.type == OFP_ACT_SET_L4_SRC;

    if (a->proto == IPPROTO_UDP) {
        return ofp_field(src ? OFP_FIELD_UDP_SRC : OFP_FIELD_UDP_DST);
    }
    if (a->proto == IPPROTO_SCTP) {
        return ofp_field(src ? OFP_FIELD_SCTP_SRC : OFP_FIELD_SCTP_DST);
    }
    return ofp_field(src ? OFP_FIELD_TCP_SRC : OFP_FIELD_TCP_DST);
}

/* As set_field.  What 1.0 does with a packet that has no tag takes a push_vlan before it. */
static void encode_as_field(const struct ofp_act_number *a, enum ofp_version version, struct buf *w)
{
    const struct number_info *info = &numbers[a->act.type];
    bool l4 = a->act.type == OFP_ACT_SET_L4_SRC || a->act.type == OFP_ACT_SET_L4_DST;
    union ofp_value v = { { 0 } };
    uint64_t n = a->n;

    if (info->field == FIELD_NONE) {
        return;
    }
    const struct ofp_field *f = l4 ? l4_field(a) : ofp_field(info->field);
    if (a->push_if_needed && !a->has_vlan && version != OFP10_VERSION) {
        size_t start = ofp_put_std(w, 17);
        buf_put_u16(w, ETH_TYPE_VLAN);
        ofp_put_end(w, start);
    }
    if (f->id == OFP_FIELD_VLAN_VID) {
        n |= VLAN_CFI;
    } else if (f->id == OFP_FIELD_IP_DSCP) {
        n >>= 2;
    }
    ofp_value_put_u64(&v, f->n_bytes, n);
    ofp_encode_field(f, &v, version, w);
}

void ofp_encode_number(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_number *a = ofp_act_cast(act);
    bool tunnel = act->type == OFP_ACT_SET_TUNNEL;
    const struct wire_action *wire = NULL;

    if (act->type == OFP_ACT_METER && version < OFP15_VERSION) {
        if (version != OFP10_VERSION) {
            size_t start = ofp_put_std(w, 6); /* The instruction. */
            buf_put_u32(w, a->n);
            ofp_put_end(w, start);
        }
        return;
    }
    /* 1.3 has a set_field for tun_id. */
    if (!tunnel || version == OFP10_VERSION) {
        wire = ofp_wire_action(act->type, version, tunnel && (a->wide || a->n > UINT32_MAX));
    }
    if (!wire || (wire->vendor == OFP_VENDOR_NX && version != OFP10_VERSION)) {
        encode_as_field(a, version, w);
        return;
    }
    size_t start = wire->vendor == OFP_VENDOR_NX ? ofp_put_nx(w, wire->code) : ofp_put_std(w, wire->code);
    buf_put_zeros(w, wire->ofs);
    put_number(w, a->n, wire->width);
    buf_put_zeros(w, wire->len - (w->len - start));
    ofp_put_end(w, start);
}

enum ofp_error ofp_decode_plain(struct decode *d, struct buf *acts)
{
    struct ofp_act_plain *a = ofp_act_put(acts, d->wire->type, sizeof *a);

    a->old = d->version == OFP10_VERSION;
    return OFPERR_NONE;
}

void ofp_encode_plain(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct wire_action *wire = ofp_wire_action(act->type, version, false);

    if (wire) {
        size_t start = wire->vendor == OFP_VENDOR_NX ? ofp_put_nx(w, wire->code) : ofp_put_std(w, wire->code);
        buf_put_zeros(w, wire->len - (w->len - start));
        ofp_put_end(w, start);
    }
}

/* ---- Text. ---- */

static const char *number_name(const struct ofp_act_number *a)
{
    if (a->act.type == OFP_ACT_SET_VLAN_VID && a->push_if_needed) {
        return "mod_vlan_vid";
    }
    if (a->act.type == OFP_ACT_SET_VLAN_PCP && a->push_if_needed) {
        return "mod_vlan_pcp";
    }
    if (a->act.type == OFP_ACT_SET_TUNNEL && (a->wide || a->n > UINT32_MAX)) {
        return "set_tunnel64";
    }
    return ofp_act_info[a->act.type].name;
}

void ofp_print_number(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);
    const char *name = number_name(a);
    uint64_t n = a->n;

    switch (numbers[act->type].format) {
    case FORMAT_DECIMAL:
        fprintf(p->out, "%s:%" PRIu64, name, n);
        break;
    case FORMAT_ROUND:
        fprintf(p->out, "%s(%" PRIu64 ")", name, n);
        break;
    case FORMAT_ETHERTYPE:
        fprintf(p->out, "%s:0x%04" PRIx64, name, n);
        break;
    case FORMAT_HEX:
        fprintf(p->out, "%s:%#" PRIx64, name, n);
        break;
    case FORMAT_MAC:
        fprintf(p->out, "%s:%02x:%02x:%02x:%02x:%02x:%02x", name, (uint8_t) (n >> 40), (uint8_t) (n >> 32),
                (uint8_t) (n >> 24), (uint8_t) (n >> 16), (uint8_t) (n >> 8), (uint8_t) n);
        break;
    case FORMAT_IPV4:
        fprintf(p->out, "%s:%u.%u.%u.%u", name, (uint8_t) (n >> 24), (uint8_t) (n >> 16), (uint8_t) (n >> 8),
                (uint8_t) n);
        break;
    }
}

/* NULL, or what would be right. */
static const char *scan_address(const char *text, enum format format, uint64_t *ret_n)
{
    unsigned int b[6];
    struct in_addr ip;
    int len = -1;

    if (format == FORMAT_IPV4) {
        if (inet_pton(AF_INET, text, &ip) != 1) {
            return "an IPv4 address, A.B.C.D";
        }
        *ret_n = ntohl(ip.s_addr);
        return NULL;
    }
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &len) != 6 || len < 0 ||
        text[len]) {
        return "an Ethernet address, xx:xx:xx:xx:xx:xx";
    }
    *ret_n = 0;
    for (int i = 0; i < 6; i++) {
        *ret_n = *ret_n << 8 | b[i];
    }
    return NULL;
}

char *ofp_scan_number(struct scan *s, const struct keyword *k, char *args)
{
    const struct number_info *info = &numbers[k->type];
    struct ofp_act_number *a = ofp_act_put(s->acts, k->type, sizeof *a);
    char *error;

    a->push_if_needed = k->flags & OFP_KEYWORD_OLD;
    a->wide = k->flags & OFP_KEYWORD_WIDE;
    if (info->format == FORMAT_MAC || info->format == FORMAT_IPV4) {
        const char *right = scan_address(args, info->format, &a->n);
        return right ? xasprintf("%s:%s: expected %s", k->word, args, right) : NULL;
    }
    error = ofp_scan_number64(k->word, args, UINT64_MAX, &a->n);
    if (!error && !number_ok(k->type, a->n)) {
        if (info->format == FORMAT_ETHERTYPE) {
            return xasprintf("%s:%s: expected the Ethertype of a tag", k->word, args);
        }
        return xasprintf("%s:%s: expected a number that has no bits outside of %#" PRIx64, k->word, args, info->bits);
    }
    return error;
}

void ofp_print_plain(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_plain *a = ofp_act_cast(act);
    bool strip = act->type == OFP_ACT_STRIP_VLAN;

    fputs(strip && !a->old ? "pop_vlan" : ofp_act_info[act->type].name, p->out);
}

char *ofp_scan_plain(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_plain *a = ofp_act_put(s->acts, k->type, sizeof *a);

    a->old = k->flags & OFP_KEYWORD_OLD;
    return *args ? xasprintf("%s(%s): takes no argument", k->word, args) : NULL;
}
