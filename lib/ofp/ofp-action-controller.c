/* The controller action: NXAST_CONTROLLER, and NXAST_CONTROLLER2 for what came later. */
#include <config.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

/* Properties of NXAST_CONTROLLER2. */
enum { PROP_MAX_LEN, PROP_CONTROLLER_ID, PROP_REASON, PROP_USERDATA, PROP_PAUSE, PROP_METER_ID };

static const char *const reasons[OFPR_N_REASONS] = { "no_match",   "action", "invalid_ttl",
                                                     "action_set", "group",  "packet_out" };

enum ofp_error ofp_decode_controller(struct decode *d, struct buf *acts)
{
    struct ofp_act_controller *a = ofp_act_put(acts, OFP_ACT_CONTROLLER, sizeof *a);

    a->max_len = get_u16(d->body);
    a->controller_id = get_u16(d->body + 2);
    a->reason = d->body[4];
    a->meter_id = OFP_NO_METER;
    return a->reason < OFPR_N_REASONS ? OFPERR_NONE : OFPERR_OFPBAC_BAD_ARGUMENT;
}

/* One property: its content is the LEN bytes at P.  USERDATA is left for the caller. */
static enum ofp_error decode_property(struct ofp_act_controller *a, uint16_t type, const uint8_t *p, size_t len)
{
    switch (type) {
    case PROP_MAX_LEN:
        if (len < 2) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        a->max_len = get_u16(p);
        return OFPERR_NONE;
    case PROP_CONTROLLER_ID:
        if (len < 2) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        a->controller_id = get_u16(p);
        return OFPERR_NONE;
    case PROP_REASON:
        if (!len) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        a->reason = p[0];
        return a->reason < OFPR_N_REASONS ? OFPERR_NONE : OFPERR_OFPBAC_BAD_ARGUMENT;
    case PROP_USERDATA:
        a->userdata_len = len;
        return OFPERR_NONE;
    case PROP_PAUSE:
        a->pause = true;
        return OFPERR_NONE;
    case PROP_METER_ID:
        if (len < 4) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        a->meter_id = get_u32(p);
        return OFPERR_NONE;
    default: /* Of the wire, not an enum's. */
        return OFPERR_OFPBPC_BAD_TYPE;
    }
}

enum ofp_error ofp_decode_controller2(struct decode *d, struct buf *acts)
{
    size_t start = ofp_act_begin(acts, OFP_ACT_CONTROLLER, sizeof(struct ofp_act_controller));
    struct ofp_act_controller *a = ofp_act_at(acts, start);
    struct bytes left = { d->body + 6, d->len - 6 };
    const uint8_t *userdata = NULL;
    enum ofp_error error = OFPERR_NONE;

    if (!ofp_zeros(d->body, 6)) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    a->max_len = UINT16_MAX;
    a->reason = OFPR_ACTION;
    a->meter_id = OFP_NO_METER;
    while (left.n && !error) {
        size_t len = left.n < 4 ? 0 : get_u16(left.p + 2);

        if (len < 4 || ROUND_UP(len, 8) > left.n) {
            return OFPERR_OFPBPC_BAD_LEN;
        }
        error = decode_property(a, get_u16(left.p), left.p + 4, len - 4);
        if (get_u16(left.p) == PROP_USERDATA) {
            userdata = left.p + 4;
        }
        bytes_pull(&left, ROUND_UP(len, 8));
    }
    size_t n = a->userdata_len;
    if (n) {
        buf_put(acts, userdata, n);
    }
    ofp_act_end(acts, start);
    return error;
}

static size_t put_property(struct buf *w, uint16_t type)
{
    size_t start = w->len;

    buf_put_u16(w, type);
    buf_put_u16(w, 0);
    return start;
}

static void end_property(struct buf *w, size_t start)
{
    buf_patch_u16(w, start + 2, w->len - start);
    buf_pad8(w, start);
}

static void put_property_u16(struct buf *w, uint16_t type, uint16_t v)
{
    size_t start = put_property(w, type);

    buf_put_u16(w, v);
    buf_put_u16(w, 0);
    end_property(w, start);
}

/* The referee counts the padding of 16-bit values as theirs; of others it does not. */
static void encode_controller2(const struct ofp_act_controller *a, struct buf *w)
{
    size_t start = ofp_put_nx(w, 37), prop;

    buf_put_zeros(w, 6);
    if (a->max_len != UINT16_MAX) {
        put_property_u16(w, PROP_MAX_LEN, a->max_len);
    }
    if (a->controller_id) {
        put_property_u16(w, PROP_CONTROLLER_ID, a->controller_id);
    }
    if (a->reason != OFPR_ACTION) {
        prop = put_property(w, PROP_REASON);
        buf_put_u8(w, a->reason);
        end_property(w, prop);
    }
    if (a->userdata_len) {
        prop = put_property(w, PROP_USERDATA);
        buf_put(w, a->userdata, a->userdata_len);
        end_property(w, prop);
    }
    if (a->pause) {
        prop = put_property(w, PROP_PAUSE);
        end_property(w, prop);
    }
    if (a->meter_id != OFP_NO_METER) {
        prop = put_property(w, PROP_METER_ID);
        buf_put_u32(w, a->meter_id);
        end_property(w, prop);
    }
    ofp_put_end(w, start);
}

void ofp_encode_controller(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_controller *a = ofp_act_cast(act);

    if (a->userdata_len || a->pause || a->meter_id != OFP_NO_METER) {
        encode_controller2(a, w);
        return;
    }
    size_t start = ofp_put_nx(w, 20);
    buf_put_u16(w, a->max_len);
    buf_put_u16(w, a->controller_id);
    buf_put_u8(w, a->reason);
    ofp_put_end(w, start);
}

void ofp_print_controller(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_controller *a = ofp_act_cast(act);
    bool first = true;

    if (a->reason == OFPR_ACTION && !a->controller_id && !a->userdata_len && !a->pause && a->meter_id == OFP_NO_METER) {
        fprintf(p->out, "CONTROLLER:%u", a->max_len);
        return;
    }
    fputs("controller(", p->out);
    if (a->reason != OFPR_ACTION) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "reason=%s", reasons[a->reason]);
    }
    if (a->max_len != UINT16_MAX) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "max_len=%u", a->max_len);
    }
    if (a->controller_id) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "id=%u", a->controller_id);
    }
    if (a->userdata_len) {
        ofp_print_comma(p->out, &first);
        fputs("userdata=", p->out);
        ofp_print_hex(p->out, a->userdata, a->userdata_len);
    }
    if (a->pause) {
        ofp_print_comma(p->out, &first);
        fputs("pause", p->out);
    }
    if (a->meter_id != OFP_NO_METER) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "meter_id=%" PRIu32, a->meter_id);
    }
    fputc(')', p->out);
}

/* ---- Scanning. ---- */

static char *scan_reason(const char *text, uint8_t *ret)
{
    for (int i = 0; i < OFPR_N_REASONS; i++) {
        if (!strcasecmp(text, reasons[i])) {
            *ret = i;
            return NULL;
        }
    }
    return xasprintf("controller(reason=%s): expected no_match, action, invalid_ttl, action_set, group or packet_out",
                     text);
}

/* One KEY=VALUE, into the record at START; user data goes to *RET_USERDATA. */
static char *scan_option(struct scan *s, size_t start, const char *key, char *value, bool *ret_userdata)
{
    struct ofp_act_controller *a = ofp_act_at(s->acts, start);

    if (!strcmp(key, "reason")) {
        return scan_reason(value, &a->reason);
    }
    if (!strcmp(key, "max_len")) {
        return ofp_scan_u16("controller(max_len)", value, &a->max_len);
    }
    if (!strcmp(key, "id")) {
        return ofp_scan_u16("controller(id)", value, &a->controller_id);
    }
    if (!strcmp(key, "meter_id")) {
        return ofp_scan_u32("controller(meter_id)", value, &a->meter_id);
    }
    if (!strcmp(key, "pause") && !*value) {
        a->pause = true;
        return NULL;
    }
    if (!strcmp(key, "userdata")) {
        *ret_userdata = true;
        s->acts->len = start + sizeof *a;
        char *error = ofp_scan_hex("controller(userdata)", value, s->acts);
        size_t n = s->acts->len - start - sizeof *a;
        a = ofp_act_at(s->acts, start);
        a->userdata_len = n;
        return n <= UINT16_MAX || error ? error
                                        : xasprintf("controller(userdata): expected at most %d bytes", UINT16_MAX);
    }
    return xasprintf("controller(%s): expected max_len, reason, id, userdata, pause or meter_id", key);
}

char *ofp_scan_controller(struct scan *s, const struct keyword *k, char *args)
{
    size_t start = ofp_act_begin(s->acts, OFP_ACT_CONTROLLER, sizeof(struct ofp_act_controller));
    struct ofp_act_controller *a = ofp_act_at(s->acts, start);
    bool userdata = false;
    char *key, *value, *error = NULL;

    a->max_len = UINT16_MAX;
    a->reason = OFPR_ACTION;
    a->meter_id = OFP_NO_METER;
    if (isdigit((unsigned char) *args)) {
        error = ofp_scan_u16(k->word, args, &a->max_len);
        *args = '\0';
    }
    while (!error && ofp_scan_arg(&args, &key, &value)) {
        error = scan_option(s, start, key, value, &userdata);
    }
    ofp_act_end(s->acts, start);
    a = ofp_act_at(s->acts, start);
    if (!error && a->reason == OFPR_ACTION && !a->controller_id && !userdata && !a->pause &&
        a->meter_id == OFP_NO_METER) {
        /* What all versions' output can say. */
        uint16_t max_len = a->max_len;
        s->acts->len = start;
        struct ofp_act_output *o = ofp_act_put(s->acts, OFP_ACT_OUTPUT, sizeof *o);
        o->port = PORT_CONTROLLER;
        o->max_len = max_len;
    }
    return error;
}
