/* Meters: changes, statistics, configuration, features.  See ofp-msg-meter.h. */
#include <config.h>

#include "lib/ofp/ofp-msg-meter.h"

#define BAND_LEN 16

/* Checks one band and steps over it. */
static enum ofp_error check_band(struct ofp_cursor *c)
{
    uint16_t type = ofp_get_u16(c), len = ofp_get_u16(c);

    ofp_skip(c, BAND_LEN - 4);
    if (c->bad || len != BAND_LEN) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    return type == OFPMBT_DROP ? OFPERR_NONE : OFPERR_OFPMMFC_BAD_BAND;
}

enum ofp_error ofp_decode_meter_mod(const struct ofp_msg *msg, struct ofp_meter_mod *ret_mod)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    uint16_t command = ofp_get_u16(&c);
    struct ofp_meter_mod mod = { .command = command, .flags = ofp_get_u16(&c) };

    mod.id = ofp_get_u32(&c);
    if (command > OFPMC_DELETE) {
        return OFPERR_OFPMMFC_BAD_COMMAND;
    }
    if (command != OFPMC_DELETE) {
        /* One of the two units. */
        if (mod.flags & ~OFPMF_ALL || !(mod.flags & OFPMF_KBPS) == !(mod.flags & OFPMF_PKTPS)) {
            return OFPERR_OFPMMFC_BAD_FLAGS;
        }
        mod.bands = (struct bytes){ c.data, c.len };
        while (c.len) {
            enum ofp_error error = check_band(&c);
            if (error) {
                return error;
            }
        }
    }
    *ret_mod = mod;
    return OFPERR_NONE;
}

size_t ofp_meter_n_bands(const struct ofp_meter_mod *mod) { return mod->bands.n / BAND_LEN; }

struct ofp_meter_band ofp_meter_band(const struct ofp_meter_mod *mod, size_t i)
{
    const uint8_t *p = mod->bands.p + i * BAND_LEN;

    return (struct ofp_meter_band){ .rate = get_u32(p + 4), .burst = get_u32(p + 8) };
}

uint32_t ofp_decode_meter_request(const struct ofp_msg *msg)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);

    return ofp_get_u32(&c);
}

int ofp_reply_meter_stats(struct ofp_reply *r, const struct ofp_meter_stats *stats)
{
    struct buf *b = &r->buf;
    size_t start = b->len;

    buf_put_u32(b, stats->id);
    buf_put_zeros(b, 8); /* Length, padding. */
    buf_put_u32(b, stats->n_flows);
    buf_put_u64(b, stats->packets);
    buf_put_u64(b, stats->bytes);
    buf_put_u32(b, stats->duration_sec);
    buf_put_u32(b, stats->duration_nsec);
    for (size_t i = 0; i < stats->n_bands; i++) {
        buf_put_u64(b, stats->bands[i].packets);
        buf_put_u64(b, stats->bands[i].bytes);
    }
    buf_patch_u16(b, start + 4, b->len - start);
    return ofp_reply_commit(r);
}

int ofp_reply_meter_config(struct ofp_reply *r, const struct ofp_meter_config *config)
{
    struct buf *b = &r->buf;

    buf_put_u16(b, 8 + config->n_bands * BAND_LEN);
    buf_put_u16(b, config->flags);
    buf_put_u32(b, config->id);
    for (size_t i = 0; i < config->n_bands; i++) {
        const struct ofp_meter_band *band = &config->bands[i];
        buf_put_u16(b, OFPMBT_DROP);
        buf_put_u16(b, BAND_LEN);
        buf_put_u32(b, band->rate);
        buf_put_u32(b, band->burst);
        buf_put_zeros(b, 4);
    }
    return ofp_reply_commit(r);
}

int ofp_reply_meter_features(struct ofp_reply *r, const struct ofp_meter_features *f)
{
    struct buf *b = &r->buf;

    buf_put_u32(b, f->max_meters);
    buf_put_u32(b, f->band_types);
    buf_put_u32(b, f->capabilities);
    buf_put_u8(b, f->max_bands);
    buf_put_u8(b, f->max_color);
    buf_put_zeros(b, 2);
    return ofp_reply_commit(r);
}
