/* multipath and check_pkt_larger: a number computed from the packet, into a field. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

static const char *const algorithms[OFP_N_MP_ALGORITHMS] = { "modulo_n", "hash_threshold", "hrw", "iter_hash" };

/* Can DST hold the numbers up to MAX_LINK? */
static bool fits(const struct ofp_subfield *dst, uint16_t max_link)
{
    return dst->n_bits >= 16 || max_link < 1u << dst->n_bits;
}

enum ofp_error ofp_decode_multipath(struct decode *d, struct buf *acts)
{
    struct ofp_act_multipath *a = ofp_act_put(acts, OFP_ACT_MULTIPATH, sizeof *a);
    const uint8_t *p = d->body;
    struct bytes header = { p + 18, 4 };

    a->fields = get_u16(p);
    a->basis = get_u16(p + 2);
    a->algorithm = get_u16(p + 6);
    a->max_link = get_u16(p + 8);
    a->arg = get_u32(p + 10);
    ofp_set_ofs_nbits(&a->dst, get_u16(p + 16));
    enum ofp_error error = ofp_get_field(&header, &a->dst.field);
    if (error) {
        return error;
    }
    if (a->fields >= OFP_N_HASH_FIELDS || a->algorithm >= OFP_N_MP_ALGORITHMS || !fits(&a->dst, a->max_link)) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    return ofp_subfield_ok(&a->dst, true);
}

void ofp_encode_multipath(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_multipath *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 10);

    buf_put_u16(w, a->fields);
    buf_put_u16(w, a->basis);
    buf_put_zeros(w, 2);
    buf_put_u16(w, a->algorithm);
    buf_put_u16(w, a->max_link);
    buf_put_u32(w, a->arg);
    buf_put_zeros(w, 2);
    buf_put_u16(w, ofp_ofs_nbits(&a->dst));
    ofp_put_field(w, a->dst.field, OFP10_VERSION);
    ofp_put_end(w, start);
}

void ofp_print_multipath(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_multipath *a = ofp_act_cast(act);

    fprintf(p->out, "multipath(%s,%u,%s,%u,%" PRIu32 ",", ofp_hash_fields_name(a->fields), a->basis,
            algorithms[a->algorithm], a->max_link + 1u, a->arg);
    ofp_subfield_print(p->out, &a->dst);
    fputc(')', p->out);
}

static char *scan_algorithm(const char *text, uint16_t *ret)
{
    for (int i = 0; i < OFP_N_MP_ALGORITHMS; i++) {
        if (!strcasecmp(text, algorithms[i])) {
            *ret = i;
            return NULL;
        }
    }
    return xasprintf("multipath(%s): expected the algorithm modulo_n, hash_threshold, hrw or iter_hash", text);
}

char *ofp_scan_multipath(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_multipath *a = ofp_act_put(s->acts, OFP_ACT_MULTIPATH, sizeof *a);
    char *save = NULL, *words[6];
    uint64_t n_links = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        words[i] = strtok_r(i ? NULL : args, ", ", &save);
    }
    if (!words[5]) {
        return xasprintf("%s: expected multipath(FIELDS,BASIS,ALGORITHM,N_LINKS,ARG,FIELD)", k->word);
    }
    char *error = ofp_scan_hash_fields(k->word, words[0], &a->fields);
    if (!error) {
        error = ofp_scan_u16("multipath(basis)", words[1], &a->basis);
    }
    if (!error) {
        error = scan_algorithm(words[2], &a->algorithm);
    }
    if (!error) {
        error = ofp_scan_number64("multipath(n_links)", words[3], 65536, &n_links);
    }
    if (!error && !n_links) {
        error = xasprintf("multipath(n_links:%s): expected a number from 1 to 65536", words[3]);
    }
    if (!error) {
        error = ofp_scan_u32("multipath(arg)", words[4], &a->arg);
    }
    if (!error) {
        error = ofp_scan_short_subfield(k->word, words[5], &a->dst);
    }
    if (!error && !a->dst.field->writable) {
        error = xasprintf("multipath(%s): %s is read-only", words[5], a->dst.field->name);
    }
    if (!error) {
        a->max_link = n_links - 1;
        error = fits(&a->dst, a->max_link)
                    ? NULL
                    : xasprintf("multipath(%s): %s links do not fit into it", words[5], words[3]);
    }
    return error;
}

/* ---- check_pkt_larger. ---- */

enum ofp_error ofp_decode_check_pkt_larger(struct decode *d, struct buf *acts)
{
    struct ofp_act_check_pkt_larger *a = ofp_act_put(acts, OFP_ACT_CHECK_PKT_LARGER, sizeof *a);
    struct bytes b = { d->body + 4, d->len - 4 };

    a->pkt_len = get_u16(d->body);
    a->dst.ofs = get_u16(d->body + 2);
    a->dst.n_bits = 1;
    enum ofp_error error = ofp_get_field_in_list(&b, &a->dst.field);
    if (!error && !ofp_zeros(b.p, b.n)) {
        error = OFPERR_NXBRC_MUST_BE_ZERO;
    }
    return error ? error : ofp_subfield_ok(&a->dst, true);
}

void ofp_encode_check_pkt_larger(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_check_pkt_larger *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 49);

    buf_put_u16(w, a->pkt_len);
    buf_put_u16(w, a->dst.ofs);
    ofp_put_field(w, a->dst.field, OFP10_VERSION);
    buf_put_zeros(w, 24 - (w->len - start));
    ofp_put_end(w, start);
}

void ofp_print_check_pkt_larger(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_check_pkt_larger *a = ofp_act_cast(act);

    fprintf(p->out, "check_pkt_larger(%u)->", a->pkt_len);
    ofp_subfield_print(p->out, &a->dst);
}

/* "N->FIELD": the list's scanner has taken the brackets off. */
char *ofp_scan_check_pkt_larger(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_check_pkt_larger *a = ofp_act_put(s->acts, OFP_ACT_CHECK_PKT_LARGER, sizeof *a);
    char *dst;
    char *error = ofp_scan_arrow(k->word, args, &dst);

    if (!error) {
        error = ofp_scan_u16(k->word, args, &a->pkt_len);
    }
    if (!error) {
        error = ofp_scan_dst(k->word, dst, &a->dst);
    }
    if (!error && a->dst.n_bits != 1) {
        error = xasprintf("check_pkt_larger(%s)->%s: expected a field of one bit", args, dst);
    }
    return error;
}
