/* Actions that steer a flow's execution, or are about the flow: resubmit, clone, dec_ttl, fin_timeout, conjunction,
 * sample, note. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

/* ---- resubmit. ---- */

enum { NX_RESUBMIT = 1, NX_RESUBMIT_TABLE = 14, NX_RESUBMIT_TABLE_CT = 44 };

enum ofp_error ofp_decode_resubmit(struct decode *d, struct buf *acts)
{
    struct ofp_act_resubmit *a = ofp_act_put(acts, OFP_ACT_RESUBMIT, sizeof *a);

    a->in_port.n = get_u16(d->body);
    a->table = OFP_TABLE_ALL;
    if (d->wire->code != NX_RESUBMIT) {
        a->table = d->body[2];
        a->ct = d->wire->code == NX_RESUBMIT_TABLE_CT;
        if (!ofp_zeros(d->body + 3, 3)) {
            return OFPERR_OFPBAC_BAD_ARGUMENT;
        }
    }
    return OFPERR_NONE;
}

void ofp_encode_resubmit(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_resubmit *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, a->ct ? NX_RESUBMIT_TABLE_CT : NX_RESUBMIT_TABLE);

    buf_put_u16(w, a->in_port.n);
    buf_put_u8(w, a->table);
    ofp_put_end(w, start);
}

void ofp_print_resubmit(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_resubmit *a = ofp_act_cast(act);

    if (!ofp_port_eq(a->in_port, PORT_IN_PORT) && a->table == OFP_TABLE_ALL && !a->ct) {
        fputs("resubmit:", p->out);
        ofp_print_port(p, a->in_port);
        return;
    }
    fputs("resubmit(", p->out);
    if (!ofp_port_eq(a->in_port, PORT_IN_PORT)) {
        ofp_print_port(p, a->in_port);
    }
    fputc(',', p->out);
    if (a->table != OFP_TABLE_ALL) {
        ofp_print_table(p, a->table);
    }
    fputs(a->ct ? ",ct)" : ")", p->out);
}

char *ofp_scan_resubmit(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_resubmit *a = ofp_act_put(s->acts, OFP_ACT_RESUBMIT, sizeof *a);
    char *port = strsep(&args, ",");
    char *table = strsep(&args, ",");
    char *ct = strsep(&args, ",");
    char *error = NULL;

    a->in_port = PORT_IN_PORT;
    a->table = OFP_TABLE_ALL;
    if (*port) {
        error = ofp_scan_port(s, "resubmit(PORT)", port, &a->in_port);
    }
    if (!error && table && *table) {
        error = ofp_scan_table(s, "resubmit(TABLE)", table, &a->table);
    }
    if (!error && ct && (strcmp(ct, "ct") || args)) {
        error = xasprintf("resubmit(...,%s): expected resubmit([PORT],[TABLE][,ct])", ct);
    }
    a->ct = ct != NULL;
    if (!error && ofp_port_eq(a->in_port, PORT_IN_PORT) && a->table == OFP_TABLE_ALL) {
        error = xasprintf("%s: at least one of port and table must be given", k->word);
    }
    return error;
}

/* ---- clone, and write_actions in text. ---- */

enum ofp_error ofp_decode_clone(struct decode *d, struct buf *acts)
{
    size_t start = ofp_act_begin(acts, OFP_ACT_CLONE, sizeof(struct ofp_act_nest));
    enum ofp_error error = ofp_decode_list(d->body + 6, d->len - 6, d->version, d->depth + 1, acts);

    ofp_act_end(acts, start);
    if (!error) {
        size_t len;
        const struct ofp_act *nested = ofp_act_nested(ofp_act_at(acts, start), &len);
        error = ofp_acts_verify_nested(nested, len, OFP_ACT_CLONE, NULL);
    }
    return error;
}

void ofp_encode_clone(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    size_t len, start = ofp_put_nx(w, 42);
    const struct ofp_act *nested = ofp_act_nested(act, &len);

    buf_put_zeros(w, 6);
    ofp_encode_list(nested, len, version, w);
    ofp_put_end(w, start);
}

void ofp_print_clone(const struct print *p, const struct ofp_act *act)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(act, &len);

    fputs("clone(", p->out);
    ofp_print_list(p, nested, len);
    fputc(')', p->out);
}

char *ofp_scan_nest(struct scan *s, const struct keyword *k, char *args)
{
    size_t start = ofp_act_begin(s->acts, k->type, sizeof(struct ofp_act_nest));
    size_t len;

    s->depth++;
    char *error = ofp_scan_list(s, args);
    s->depth--;
    ofp_act_end(s->acts, start);
    const struct ofp_act *nested = ofp_act_nested(ofp_act_at(s->acts, start), &len);
    if (!error) {
        ofp_acts_verify_nested(nested, len, k->type, &error);
    }
    if (!error && !len && k->type == OFP_ACT_WRITE_ACTIONS) {
        s->acts->len = start; /* Writes nothing. */
    }
    return error;
}

/* It is for tests, by text: no controller has business with it. */
enum ofp_error ofp_decode_debug_recirc(struct decode *d, struct buf *acts) { return OFPERR_OFPBAC_BAD_VENDOR_TYPE; }

/* ---- dec_ttl. ---- */

enum ofp_error ofp_decode_dec_ttl(struct decode *d UNUSED, struct buf *acts)
{
    struct ofp_act_dec_ttl *a = ofp_act_put(acts, OFP_ACT_DEC_TTL, sizeof *a + sizeof(uint16_t));

    a->n_ids = 1;
    return OFPERR_NONE;
}

enum ofp_error ofp_decode_dec_ttl_ids(struct decode *d, struct buf *acts)
{
    uint16_t n = get_u16(d->body);
    struct ofp_act_dec_ttl *a = ofp_act_put(acts, OFP_ACT_DEC_TTL, sizeof *a + n * sizeof(uint16_t));

    a->listed = true;
    a->n_ids = n;
    if (!ofp_zeros(d->body + 2, 4)) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    if (d->len - 6 < n * sizeof(uint16_t)) {
        return OFPERR_OFPBAC_BAD_LEN;
    }
    for (int i = 0; i < n; i++) {
        a->ids[i] = get_u16(d->body + 6 + 2 * i);
    }
    return OFPERR_NONE;
}

void ofp_encode_dec_ttl(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_dec_ttl *a = ofp_act_cast(act);
    size_t start;

    if (a->listed) {
        start = ofp_put_nx(w, 21);
        buf_put_u16(w, a->n_ids);
        buf_put_zeros(w, 4);
        for (int i = 0; i < a->n_ids; i++) {
            buf_put_u16(w, a->ids[i]);
        }
    } else {
        start = version == OFP10_VERSION ? ofp_put_nx(w, 18) : ofp_put_std(w, 24);
        buf_put_u32(w, 0);
    }
    ofp_put_end(w, start);
}

void ofp_print_dec_ttl(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_dec_ttl *a = ofp_act_cast(act);

    fputs("dec_ttl", p->out);
    if (a->listed) {
        fputc('(', p->out);
        for (int i = 0; i < a->n_ids; i++) {
            fprintf(p->out, "%s%u", i ? "," : "", a->ids[i]);
        }
        fputc(')', p->out);
    }
}

char *ofp_scan_dec_ttl(struct scan *s, const struct keyword *k, char *args)
{
    size_t start = ofp_act_begin(s->acts, OFP_ACT_DEC_TTL, sizeof(struct ofp_act_dec_ttl));
    char *save = NULL, *error = NULL;
    unsigned int n = 0;

    for (char *id = strtok_r(args, ", ", &save); id && !error; id = strtok_r(NULL, ", ", &save)) {
        uint16_t v = 0;

        error = ofp_scan_u16(k->word, id, &v);
        buf_put(s->acts, &v, sizeof v);
        if (++n > UINT16_MAX) {
            error = xasprintf("%s: more than %d controllers", k->word, UINT16_MAX);
        }
    }
    if (!n) {
        buf_put_zeros(s->acts, sizeof(uint16_t));
    }
    ofp_act_end(s->acts, start);
    struct ofp_act_dec_ttl *a = ofp_act_at(s->acts, start);
    a->listed = n;
    a->n_ids = n ? n : 1;
    return error;
}

/* ---- fin_timeout. ---- */

enum ofp_error ofp_decode_fin_timeout(struct decode *d, struct buf *acts)
{
    struct ofp_act_fin_timeout *a = ofp_act_put(acts, OFP_ACT_FIN_TIMEOUT, sizeof *a);

    a->idle = get_u16(d->body);
    a->hard = get_u16(d->body + 2);
    return OFPERR_NONE;
}

void ofp_encode_fin_timeout(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_fin_timeout *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 19);

    buf_put_u16(w, a->idle);
    buf_put_u16(w, a->hard);
    ofp_put_end(w, start);
}

void ofp_print_fin_timeout(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_fin_timeout *a = ofp_act_cast(act);
    bool first = true;

    fputs("fin_timeout(", p->out);
    if (a->idle) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "idle_timeout=%u", a->idle);
    }
    if (a->hard) {
        ofp_print_comma(p->out, &first);
        fprintf(p->out, "hard_timeout=%u", a->hard);
    }
    fputc(')', p->out);
}

char *ofp_scan_fin_timeout(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_fin_timeout *a = ofp_act_put(s->acts, OFP_ACT_FIN_TIMEOUT, sizeof *a);
    char *key, *value, *error = NULL;

    while (!error && ofp_scan_arg(&args, &key, &value)) {
        if (!strcmp(key, "idle_timeout")) {
            error = ofp_scan_u16("fin_timeout(idle_timeout)", value, &a->idle);
        } else if (!strcmp(key, "hard_timeout")) {
            error = ofp_scan_u16("fin_timeout(hard_timeout)", value, &a->hard);
        } else {
            error = xasprintf("%s(%s): expected idle_timeout and hard_timeout", k->word, key);
        }
    }
    return error;
}

/* ---- conjunction. ---- */

enum { MAX_CLAUSES = 64 };

enum ofp_error ofp_decode_conjunction(struct decode *d, struct buf *acts)
{
    struct ofp_act_conjunction *a = ofp_act_put(acts, OFP_ACT_CONJUNCTION, sizeof *a);

    a->clause = d->body[0];
    a->n_clauses = d->body[1];
    a->id = get_u32(d->body + 2);
    bool ok = a->n_clauses >= 2 && a->n_clauses <= MAX_CLAUSES && a->clause < a->n_clauses;
    return ok ? OFPERR_NONE : OFPERR_NXBAC_BAD_CONJUNCTION;
}

void ofp_encode_conjunction(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_conjunction *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 34);

    buf_put_u8(w, a->clause);
    buf_put_u8(w, a->n_clauses);
    buf_put_u32(w, a->id);
    ofp_put_end(w, start);
}

void ofp_print_conjunction(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_conjunction *a = ofp_act_cast(act);

    fprintf(p->out, "conjunction(%" PRIu32 ",%u/%u)", a->id, a->clause + 1, a->n_clauses);
}

char *ofp_scan_conjunction(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_conjunction *a = ofp_act_put(s->acts, OFP_ACT_CONJUNCTION, sizeof *a);
    char *save = NULL;
    char *id = strtok_r(args, ", ", &save), *clause = strtok_r(NULL, "/", &save),
         *n_clauses = strtok_r(NULL, "/", &save);
    uint64_t i, n;

    if (!id || !clause || !n_clauses) {
        return xasprintf("%s: expected conjunction(ID,K/N)", k->word);
    }
    char *error = ofp_scan_u32("conjunction(ID)", id, &a->id);
    if (!error) {
        error = ofp_scan_number64("conjunction(K)", clause, UINT8_MAX, &i);
    }
    if (!error) {
        error = ofp_scan_number64("conjunction(N)", n_clauses, UINT8_MAX, &n);
    }
    if (!error && (n < 2 || n > MAX_CLAUSES || i < 1 || i > n)) {
        error = xasprintf("conjunction(%s,%s/%s): expected K/N with N from 2 to %d and K from 1 to N", id, clause,
                          n_clauses, MAX_CLAUSES);
    }
    if (!error) {
        a->clause = i - 1;
        a->n_clauses = n;
    }
    return error;
}

/* ---- sample. ---- */

enum { NX_SAMPLE = 29, NX_SAMPLE2 = 38, NX_SAMPLE3 = 41 };

enum ofp_error ofp_decode_sample(struct decode *d, struct buf *acts)
{
    struct ofp_act_sample *a = ofp_act_put(acts, OFP_ACT_SAMPLE, sizeof *a);
    const uint8_t *p = d->body;
    bool pad_ok = true;

    a->probability = get_u16(p);
    a->collector_set_id = get_u32(p + 2);
    a->obs_domain_id = get_u32(p + 6);
    a->obs_point_id = get_u32(p + 10);
    a->sampling_port = OFPP_NONE;
    if (d->wire->code != NX_SAMPLE) {
        a->sampling_port.n = get_u16(p + 14);
        pad_ok = ofp_zeros(p + 17, 5);
        if (d->wire->code == NX_SAMPLE2) {
            pad_ok = pad_ok && !p[16];
        } else if (p[16] > OFP_SAMPLE_EGRESS) {
            return OFPERR_OFPBAC_BAD_ARGUMENT;
        } else {
            a->direction = p[16];
        }
    }
    if (!pad_ok) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    return a->probability ? OFPERR_NONE : OFPERR_OFPBAC_BAD_ARGUMENT;
}

void ofp_encode_sample(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_sample *a = ofp_act_cast(act);
    bool port = !ofp_port_eq(a->sampling_port, OFPP_NONE);
    bool direction = a->direction != OFP_SAMPLE_DEFAULT;
    size_t start = ofp_put_nx(w, direction ? NX_SAMPLE3 : port ? NX_SAMPLE2 : NX_SAMPLE);

    buf_put_u16(w, a->probability);
    buf_put_u32(w, a->collector_set_id);
    buf_put_u32(w, a->obs_domain_id);
    buf_put_u32(w, a->obs_point_id);
    if (direction || port) {
        buf_put_u16(w, a->sampling_port.n);
        buf_put_u8(w, a->direction);
        buf_put_zeros(w, 5);
    }
    ofp_put_end(w, start);
}

void ofp_print_sample(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_sample *a = ofp_act_cast(act);

    fprintf(p->out,
            "sample(probability=%u,collector_set_id=%" PRIu32 ",obs_domain_id=%" PRIu32 ",obs_point_id=%" PRIu32,
            a->probability, a->collector_set_id, a->obs_domain_id, a->obs_point_id);
    if (!ofp_port_eq(a->sampling_port, OFPP_NONE)) {
        fputs(",sampling_port=", p->out);
        ofp_print_port(p, a->sampling_port);
    }
    if (a->direction != OFP_SAMPLE_DEFAULT) {
        fputs(a->direction == OFP_SAMPLE_INGRESS ? ",ingress" : ",egress", p->out);
    }
    fputc(')', p->out);
}

static char *scan_sample_arg(struct scan *s, struct ofp_act_sample *a, const char *key, const char *value)
{
    if (!strcmp(key, "probability")) {
        return ofp_scan_u16("sample(probability)", value, &a->probability);
    }
    if (!strcmp(key, "collector_set_id")) {
        return ofp_scan_u32("sample(collector_set_id)", value, &a->collector_set_id);
    }
    if (!strcmp(key, "obs_domain_id")) {
        return ofp_scan_u32("sample(obs_domain_id)", value, &a->obs_domain_id);
    }
    if (!strcmp(key, "obs_point_id")) {
        return ofp_scan_u32("sample(obs_point_id)", value, &a->obs_point_id);
    }
    if (!strcmp(key, "sampling_port")) {
        return ofp_scan_port(s, "sample(sampling_port)", value, &a->sampling_port);
    }
    if (!strcmp(key, "ingress") || !strcmp(key, "egress")) {
        a->direction = *key == 'i' ? OFP_SAMPLE_INGRESS : OFP_SAMPLE_EGRESS;
        return NULL;
    }
    return xasprintf("sample(%s): expected probability, collector_set_id, obs_domain_id, obs_point_id, sampling_port, "
                     "ingress or egress",
                     key);
}

char *ofp_scan_sample(struct scan *s, const struct keyword *k UNUSED, char *args)
{
    struct ofp_act_sample *a = ofp_act_put(s->acts, OFP_ACT_SAMPLE, sizeof *a);
    char *key, *value, *error = NULL;

    a->sampling_port = OFPP_NONE;
    while (!error && ofp_scan_arg(&args, &key, &value)) {
        error = scan_sample_arg(s, a, key, value);
    }
    if (!error && !a->probability) {
        error = xasprintf("sample(probability=0): expected a number from 1 to 65535");
    }
    return error;
}

/* ---- note. ---- */

enum ofp_error ofp_decode_note(struct decode *d, struct buf *acts)
{
    struct ofp_act_note *a = ofp_act_put(acts, OFP_ACT_NOTE, sizeof *a + d->len);

    a->len = d->len;
    memcpy(a->data, d->body, d->len);
    return OFPERR_NONE;
}

void ofp_encode_note(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_note *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 8);

    buf_put(w, a->data, a->len);
    if (a->len < 6) {
        buf_put_zeros(w, 6 - a->len);
    }
    ofp_put_end(w, start);
}

void ofp_print_note(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_note *a = ofp_act_cast(act);

    fputs("note:", p->out);
    ofp_print_hex(p->out, a->data, a->len);
}

char *ofp_scan_note(struct scan *s, const struct keyword *k, char *args)
{
    size_t start = ofp_act_begin(s->acts, OFP_ACT_NOTE, sizeof(struct ofp_act_note));
    char *error = ofp_scan_hex(k->word, args, s->acts);
    size_t n = s->acts->len - start - sizeof(struct ofp_act_note);

    if (!error && n > UINT16_MAX - 32) {
        error = xasprintf("note: %zu bytes are too long for a message", n);
    }
    ofp_act_end(s->acts, start);
    struct ofp_act_note *a = ofp_act_at(s->acts, start);
    a->len = n;
    return error;
}
