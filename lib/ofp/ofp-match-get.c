/* Matches from the wire: NXM and OXM.  See ofp-match.h.
 *
 * Errors are those that the packaged switch gives, tried entry by entry with `ovs-ofctl --strict parse-nxm`. */
#include <config.h>

#include <netinet/in.h>

#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"

enum { COOKIE_NUMBER = 30, OFPMT_OXM = 1 };

/* Is there a bit in VALUE that MASK does not have? */
static bool is_outside(const uint8_t *value, const uint8_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (value[i] & ~mask[i]) {
            return true;
        }
    }
    return false;
}

/* A field that cannot be masked may have a mask that says all or nothing. */
static bool mask_ok(const struct ofp_field *f, const union ofp_value *mask)
{
    union ofp_value ones;

    if (f->maskable || ofp_value_is_zero(mask, f->n_bytes)) {
        return true;
    }
    ofp_field_ones(f, &ones);
    return !is_outside(ones.b, mask->b, f->n_bytes);
}

static enum ofp_error add_field(const struct ofp_field *f, const union ofp_value *value, const union ofp_value *mask,
                                bool strict, struct match *match)
{
    union ofp_value have;

    if (is_outside(value->b, mask->b, f->n_bytes)) {
        return OFPERR_OFPBMC_BAD_WILDCARDS;
    }
    if (!mask_ok(f, mask)) {
        return OFPERR_OFPBMC_BAD_MASK;
    }
    if (!ofp_field_value_ok(f, value)) {
        return OFPERR_OFPBMC_BAD_VALUE;
    }
    if (strict && !ofp_field_match_prereqs_ok(f, match)) {
        return OFPERR_OFPBMC_BAD_PREREQ;
    }
    ofp_field_get_mask(f, match, &have);
    if (!ofp_value_is_zero(&have, f->n_bytes)) {
        return OFPERR_OFPBMC_DUP_FIELD;
    }
    if (!ofp_value_is_zero(mask, f->n_bytes)) {
        ofp_field_set_match(f, value, mask, match);
    }
    return OFPERR_NONE;
}

/* Is the next entry of B a cookie?  The TTL of MPLS has the same number: what tells them apart is the length. */
static bool is_cookie(const struct bytes *b)
{
    return b->n >= 4 && get_u16(b->p) == OFP_CLASS_NXM_NX && b->p[2] >> 1 == COOKIE_NUMBER &&
           b->p[3] == (b->p[2] & 1 ? 16 : 8);
}

static enum ofp_error pull_cookie(struct bytes *b, struct ofp_match_cookie *cookie)
{
    const uint8_t *h = bytes_pull(b, 4);
    bool has_mask = h[2] & 1;
    const uint8_t *p = bytes_pull(b, h[3]);

    if (!p) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    if (!cookie) {
        return OFPERR_OFPBMC_BAD_FIELD;
    }
    if (cookie->mask) {
        return OFPERR_OFPBMC_DUP_FIELD;
    }
    if (has_mask && is_outside(p, p + 8, 8)) {
        return OFPERR_OFPBMC_BAD_WILDCARDS;
    }
    cookie->cookie = get_u64(p);
    cookie->mask = has_mask ? get_u64(p + 8) : UINT64_MAX;
    return OFPERR_NONE;
}

static enum ofp_error pull_entry(struct bytes *b, bool strict, struct match *match, struct ofp_match_cookie *cookie)
{
    const struct ofp_field *field;
    union ofp_value value, mask;

    if (is_cookie(b)) {
        return pull_cookie(b, cookie);
    }
    enum ofp_error error = ofp_entry_pull(b, &field, &value, &mask);
    if (error) {
        return error;
    }
    if (!field) {
        return strict ? OFPERR_OFPBMC_BAD_FIELD : OFPERR_NONE;
    }
    return add_field(field, &value, &mask, strict, match);
}

/* Has a later entry taken away what an earlier one requires?  Only these two can come behind. */
static bool lost_prereq(const struct match *match)
{
    struct match normal;

    if (!(match->flow.ip_frag & FLOW_FRAG_LATER) && !(match->flow.ip_proto == IPPROTO_ICMPV6 && match->flow.tp_dst)) {
        return false;
    }
    normal = *match;
    ofp_match_normalize(&normal);
    return memcmp(&normal, match, sizeof normal) != 0;
}

enum ofp_error ofp_match_pull_nxm(const void *p, size_t n, bool strict, struct match *ret_match,
                                  struct ofp_match_cookie *ret_cookie)
{
    struct ofp_match_cookie cookie = { 0, 0 };
    struct bytes b = { p, n };
    struct match match;

    memset(&match, 0, sizeof match);
    while (b.n) {
        enum ofp_error error = pull_entry(&b, strict, &match, ret_cookie ? &cookie : NULL);
        if (error) {
            return error;
        }
    }
    if (strict && lost_prereq(&match)) {
        return OFPERR_OFPBMC_BAD_PREREQ;
    }
    *ret_match = match;
    if (ret_cookie) {
        *ret_cookie = cookie;
    }
    return OFPERR_NONE;
}

enum ofp_error ofp_match_pull_oxm(struct bytes *b, bool strict, struct match *ret_match)
{
    struct bytes rest = *b;

    if (rest.n < 4) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    size_t length = get_u16(rest.p + 2);
    if (get_u16(rest.p) != OFPMT_OXM) {
        return OFPERR_OFPBMC_BAD_TYPE;
    }
    const uint8_t *p = bytes_pull(&rest, (length + 7) / 8 * 8);
    if (length < 4 || !p) {
        return OFPERR_OFPBMC_BAD_LEN;
    }
    enum ofp_error error = ofp_match_pull_nxm(p + 4, length - 4, strict, ret_match, NULL);
    if (!error) {
        *b = rest;
    }
    return error;
}
