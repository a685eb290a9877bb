/* Actions that send: output in its forms, enqueue, bundle. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

/* ---- output. ---- */

enum ofp_error ofp_decode_output10(struct decode *d, struct buf *acts)
{
    struct ofp_act_output *a = ofp_act_put(acts, OFP_ACT_OUTPUT, sizeof *a);

    a->port.n = get_u16(d->body);
    a->max_len = get_u16(d->body + 2);
    return ofp_output_port_error(a->port);
}

enum ofp_error ofp_decode_output13(struct decode *d, struct buf *acts)
{
    struct ofp_act_output *a = ofp_act_put(acts, OFP_ACT_OUTPUT, sizeof *a);
    enum ofp_error error = ofp_port_from_u32(get_u32(d->body), &a->port);

    a->max_len = get_u16(d->body + 4);
    return error ? error : ofp_output_port_error(a->port);
}

void ofp_encode_output(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_output *a = ofp_act_cast(act);
    size_t start = ofp_put_std(w, 0);

    if (version == OFP10_VERSION) {
        buf_put_u16(w, a->port.n);
        buf_put_u16(w, a->max_len);
    } else {
        buf_put_u32(w, ofp_port_to_u32(a->port));
        buf_put_u16(w, a->max_len);
        buf_put_zeros(w, 6);
    }
    ofp_put_end(w, start);
}

void ofp_print_output(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_output *a = ofp_act_cast(act);

    if (a->port.n < OFPP_MAX) {
        fputs("output:", p->out);
    }
    ofp_print_port(p, a->port);
    if (ofp_port_eq(a->port, PORT_CONTROLLER)) {
        fprintf(p->out, ":%u", a->max_len);
    }
}

/* output(port=PORT,max_len=N) */
static char *scan_output_trunc(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_output_trunc *a = ofp_act_put(s->acts, OFP_ACT_OUTPUT_TRUNC, sizeof *a);
    char *key, *value, *error = NULL;
    bool found = false;

    while (!error && ofp_scan_arg(&args, &key, &value)) {
        if (!strcmp(key, "port")) {
            error = ofp_scan_port(s, "output(port)", value, &a->port);
            found = true;
        } else if (!strcmp(key, "max_len")) {
            error = ofp_scan_u32("output(max_len)", value, &a->max_len);
        } else {
            error = xasprintf("%s(%s): expected port=PORT and max_len=N", k->word, key);
        }
    }
    if (!error && a->max_len < OFP_TRUNC_MIN_LEN) {
        error = xasprintf("output(max_len=%" PRIu32 "): expected at least %d", a->max_len, OFP_TRUNC_MIN_LEN);
    }
    if (!error && (!found || !ofp_trunc_port_ok(a->port))) {
        error = xasprintf("output(port): expected a port's number, LOCAL or IN_PORT");
    }
    return error;
}

char *ofp_scan_output(struct scan *s, const struct keyword *k, char *args)
{
    ofp_port_t port;

    if (strchr(args, '=')) {
        return scan_output_trunc(s, k, args);
    }
    if (ofp_scan_port_name(s, args, &port)) {
        struct ofp_act_output *a = ofp_act_put(s->acts, OFP_ACT_OUTPUT, sizeof *a);
        a->port = port;
        a->max_len = ofp_port_eq(port, PORT_CONTROLLER) ? UINT16_MAX : 0;
        return NULL;
    }
    struct ofp_act_output_reg *a = ofp_act_put(s->acts, OFP_ACT_OUTPUT_REG, sizeof *a);
    a->max_len = UINT16_MAX;
    char *error = ofp_scan_subfield(k->word, args, &a->src);
    if (error) {
        free(error);
        error = xasprintf("output:%s: expected a port's number or name, or a field", args);
    }
    return error;
}

/* ---- output to a field. ---- */

enum ofp_error ofp_decode_output_reg(struct decode *d, struct buf *acts)
{
    struct ofp_act_output_reg *a = ofp_act_put(acts, OFP_ACT_OUTPUT_REG, sizeof *a);
    bool second = d->wire->code == 32; /* Has the maximum before the field. */
    struct bytes header = { d->body + (second ? 4 : 2), second ? d->len - 4 : 4 };

    ofp_set_ofs_nbits(&a->src, get_u16(d->body));
    a->max_len = get_u16(d->body + (second ? 2 : 6));
    enum ofp_error error = ofp_get_field(&header, &a->src.field);
    if (error) {
        return error;
    }
    const uint8_t *pad = second ? header.p : d->body + 8;
    return ofp_zeros(pad, d->body + d->len - pad) ? ofp_subfield_ok(&a->src, false) : OFPERR_OFPBAC_BAD_ARGUMENT;
}

void ofp_encode_output_reg(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_output_reg *a = ofp_act_cast(act);
    bool second = ofp_field_is_experimenter(a->src.field);
    size_t start = ofp_put_nx(w, second ? 32 : 15);

    buf_put_u16(w, ofp_ofs_nbits(&a->src));
    if (second) {
        buf_put_u16(w, a->max_len);
    }
    ofp_put_field(w, a->src.field, OFP10_VERSION);
    if (!second) {
        buf_put_u16(w, a->max_len);
    }
    buf_put_zeros(w, 24 - (w->len - start));
    ofp_put_end(w, start);
}

void ofp_print_output_reg(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_output_reg *a = ofp_act_cast(act);

    fputs("output:", p->out);
    ofp_subfield_print(p->out, &a->src);
}

/* ---- output with truncation. ---- */

bool ofp_trunc_port_ok(ofp_port_t port)
{
    return port.n < OFPP_MAX || ofp_port_eq(port, OFPP_LOCAL) || ofp_port_eq(port, PORT_IN_PORT);
}

enum ofp_error ofp_decode_output_trunc(struct decode *d, struct buf *acts)
{
    struct ofp_act_output_trunc *a = ofp_act_put(acts, OFP_ACT_OUTPUT_TRUNC, sizeof *a);

    a->port.n = get_u16(d->body);
    a->max_len = get_u32(d->body + 2);
    if (a->max_len < OFP_TRUNC_MIN_LEN) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    return ofp_trunc_port_ok(a->port) ? OFPERR_NONE : OFPERR_OFPBAC_BAD_OUT_PORT;
}

void ofp_encode_output_trunc(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_output_trunc *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, 39);

    buf_put_u16(w, a->port.n);
    buf_put_u32(w, a->max_len);
    ofp_put_end(w, start);
}

void ofp_print_output_trunc(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_output_trunc *a = ofp_act_cast(act);

    fputs("output(port=", p->out);
    ofp_print_port(p, a->port);
    fprintf(p->out, ",max_len=%" PRIu32 ")", a->max_len);
}

/* ---- enqueue. ---- */

enum ofp_error ofp_decode_enqueue(struct decode *d, struct buf *acts)
{
    struct ofp_act_enqueue *a = ofp_act_put(acts, OFP_ACT_ENQUEUE, sizeof *a);

    a->port.n = get_u16(d->body);
    a->queue = get_u32(d->body + 8);
    return ofp_trunc_port_ok(a->port) ? OFPERR_NONE : OFPERR_OFPBAC_BAD_OUT_PORT;
}

void ofp_encode_enqueue(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_enqueue *a = ofp_act_cast(act);
    size_t start;

    if (version == OFP10_VERSION) {
        start = ofp_put_std(w, 11);
        buf_put_u16(w, a->port.n);
        buf_put_zeros(w, 6);
        buf_put_u32(w, a->queue);
        ofp_put_end(w, start);
        return;
    }
    /* Later versions have three actions for it; the referee gives an output a maximum even there. */
    start = ofp_put_std(w, 21);
    buf_put_u32(w, a->queue);
    ofp_put_end(w, start);
    start = ofp_put_std(w, 0);
    buf_put_u32(w, ofp_port_to_u32(a->port));
    buf_put_u16(w, UINT16_MAX);
    buf_put_zeros(w, 6);
    ofp_put_end(w, start);
    start = ofp_put_nx(w, 5);
    ofp_put_end(w, start);
}

void ofp_print_enqueue(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_enqueue *a = ofp_act_cast(act);

    fputs("enqueue:", p->out);
    ofp_print_port(p, a->port);
    fprintf(p->out, ":%" PRIu32, a->queue);
}

char *ofp_scan_enqueue(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_enqueue *a = ofp_act_put(s->acts, OFP_ACT_ENQUEUE, sizeof *a);
    char *save = NULL;
    char *port = strtok_r(args, ":, ", &save);
    char *queue = strtok_r(NULL, ":, ", &save);

    if (!port || !queue) {
        return xasprintf("%s: expected enqueue:PORT:QUEUE", k->word);
    }
    char *error = ofp_scan_port(s, k->word, port, &a->port);
    if (!error && !ofp_trunc_port_ok(a->port)) {
        error = xasprintf("enqueue:%s: expected a port's number, LOCAL or IN_PORT", port);
    }
    return error ? error : ofp_scan_u32(k->word, queue, &a->queue);
}

/* ---- bundle and bundle_load. ---- */

static const char *const hash_fields[OFP_N_HASH_FIELDS] = {
    "eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3",
};

const char *ofp_hash_fields_name(uint16_t fields) { return hash_fields[fields]; }

char *ofp_scan_hash_fields(const char *what, const char *text, uint16_t *ret)
{
    for (int i = 0; i < OFP_N_HASH_FIELDS; i++) {
        if (!strcasecmp(text, hash_fields[i])) {
            *ret = i;
            return NULL;
        }
    }
    return xasprintf(
        "%s(%s): expected eth_src, nw_src, nw_dst, symmetric_l3, symmetric_l4, symmetric_l3l4 or symmetric_l3l4+udp",
        what, text);
}

/* On the wire the kind of a member is NXM_OF_IN_PORT's header. */
#define MEMBER_KIND 0x00000002

enum ofp_error ofp_decode_bundle(struct decode *d, struct buf *acts)
{
    size_t start = ofp_act_begin(acts, OFP_ACT_BUNDLE, sizeof(struct ofp_act_bundle));
    struct ofp_act_bundle *a = ofp_act_at(acts, start);
    const uint8_t *p = d->body;
    uint16_t algorithm = get_u16(p), n = get_u16(p + 10);
    bool load = d->wire->code == 13;
    enum ofp_error error = OFPERR_NONE;

    a->fields = get_u16(p + 2);
    a->basis = get_u16(p + 4);
    a->hrw = algorithm == 1;
    a->load = load;
    a->n_members = n;
    if (a->fields >= OFP_N_HASH_FIELDS || algorithm > 1 || get_u32(p + 6) != MEMBER_KIND || n > 2048) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    if (!ofp_zeros(p + 18, 4) || (!load && !ofp_zeros(p + 12, 6))) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    if (load) {
        struct bytes header = { p + 14, 4 };
        ofp_set_ofs_nbits(&a->dst, get_u16(p + 12));
        error = ofp_get_field(&header, &a->dst.field);
        if (!error && a->dst.n_bits < 16) {
            error = OFPERR_OFPBAC_BAD_ARGUMENT;
        }
        if (!error) {
            error = ofp_subfield_ok(&a->dst, true);
        }
    }
    if (!error && d->len - 22 < 2 * (size_t) n) {
        error = OFPERR_OFPBAC_BAD_LEN;
    }
    for (int i = 0; i < n && !error; i++) {
        ofp_port_t port = { get_u16(p + 22 + 2 * i) };
        error = ofp_trunc_port_ok(port) ? OFPERR_NONE : OFPERR_OFPBAC_BAD_OUT_PORT;
        buf_put(acts, &port, sizeof port);
    }
    ofp_act_end(acts, start);
    return error;
}

void ofp_encode_bundle(const struct ofp_act *act, enum ofp_version version UNUSED, struct buf *w)
{
    const struct ofp_act_bundle *a = ofp_act_cast(act);
    size_t start = ofp_put_nx(w, a->load ? 13 : 12);

    buf_put_u16(w, a->hrw);
    buf_put_u16(w, a->fields);
    buf_put_u16(w, a->basis);
    buf_put_u32(w, MEMBER_KIND);
    buf_put_u16(w, a->n_members);
    if (a->load) {
        buf_put_u16(w, ofp_ofs_nbits(&a->dst));
        ofp_put_field(w, a->dst.field, OFP10_VERSION);
        buf_put_zeros(w, 4);
    } else {
        buf_put_zeros(w, 10);
    }
    for (int i = 0; i < a->n_members; i++) {
        buf_put_u16(w, a->members[i].n);
    }
    ofp_put_end(w, start);
}

void ofp_print_bundle(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_bundle *a = ofp_act_cast(act);

    fprintf(p->out, "%s(%s,%u,%s,ofport,", a->load ? "bundle_load" : "bundle", hash_fields[a->fields], a->basis,
            a->hrw ? "hrw" : "active_backup");
    if (a->load) {
        ofp_subfield_print(p->out, &a->dst);
        fputc(',', p->out);
    }
    fputs("members:", p->out);
    for (int i = 0; i < a->n_members; i++) {
        if (i) {
            fputc(',', p->out);
        }
        ofp_print_port(p, a->members[i]);
    }
    fputc(')', p->out);
}

static char *scan_members(struct scan *s, const char *what, size_t start, char *save)
{
    char *word, *error = NULL;
    unsigned int n = 0;

    while (!error && (word = strtok_r(NULL, ", []", &save)) != NULL) {
        ofp_port_t port = OFPP_NONE;

        error = ofp_scan_port(s, what, word, &port);
        buf_put(s->acts, &port, sizeof port);
        if (!error && (!ofp_trunc_port_ok(port) || ++n > 2048)) {
            error = xasprintf("%s(members:%s): expected at most 2048 ports, by number or name", what, word);
        }
    }
    struct ofp_act_bundle *a = ofp_act_at(s->acts, start);
    a->n_members = n;
    ofp_act_end(s->acts, start);
    return error;
}

char *ofp_scan_bundle(struct scan *s, const struct keyword *k, char *args)
{
    size_t start = ofp_act_begin(s->acts, OFP_ACT_BUNDLE, sizeof(struct ofp_act_bundle));
    struct ofp_act_bundle *a = ofp_act_at(s->acts, start);
    bool load = k->flags & OFP_KEYWORD_LOAD;
    char *save = NULL, *words[6] = { strtok_r(args, ", ", &save) };
    size_t n = load ? 6 : 5;

    for (size_t i = 1; i < n && words[i - 1]; i++) {
        /* The last is "members", up to its colon. */
        words[i] = strtok_r(NULL, i == n - 1 ? ", :" : ", ", &save);
    }
    if (!words[n - 1] || (strcmp(words[n - 1], "members") && strcmp(words[n - 1], "slaves")) ||
        strcasecmp(words[3], "ofport")) {
        return xasprintf("%s: expected %s(FIELDS,BASIS,ALGORITHM,ofport,%smembers:PORT...)", k->word, k->word,
                         load ? "FIELD," : "");
    }
    if (strcasecmp(words[2], "hrw") && strcasecmp(words[2], "active_backup")) {
        return xasprintf("%s(%s): expected the algorithm hrw or active_backup", k->word, words[2]);
    }
    a->hrw = !strcasecmp(words[2], "hrw");
    a->load = load;
    char *error = ofp_scan_hash_fields(k->word, words[0], &a->fields);
    if (!error) {
        error = ofp_scan_u16(k->word, words[1], &a->basis);
    }
    if (!error && load) {
        error = ofp_scan_short_subfield(k->word, words[4], &a->dst);
        if (!error && (a->dst.n_bits < 16 || !a->dst.field->writable)) {
            error = xasprintf("%s(%s): expected a field of at least 16 bits that may be written", k->word, words[4]);
        }
    }
    return error ? error : scan_members(s, k->word, start, save);
}
