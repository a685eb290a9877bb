/* Instructions: the containers of actions in a flow of OpenFlow 1.1 and later.  See ofp-action.h.
 *
 * The wire may have them in any order, each once at most.  Inside, they stand in the order in which they are executed.
 */
#include <config.h>

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

enum {
    WIRE_GOTO = 1,
    WIRE_METADATA,
    WIRE_WRITE,
    WIRE_APPLY,
    WIRE_CLEAR,
    WIRE_METER,
    WIRE_STAT_TRIGGER,
    WIRE_EXPERIMENTER = 0xffff
};

/* Of each instruction: its type on the wire, its length, and whether it may be longer. */
static const struct {
    uint16_t code, len;
    bool more;
} forms[OFP_N_INSTS] = {
    [OFP_INST_METER] = { WIRE_METER, 8, false },        [OFP_INST_APPLY] = { WIRE_APPLY, 8, true },
    [OFP_INST_CLEAR] = { WIRE_CLEAR, 8, false },        [OFP_INST_WRITE] = { WIRE_WRITE, 8, true },
    [OFP_INST_METADATA] = { WIRE_METADATA, 24, false }, [OFP_INST_GOTO] = { WIRE_GOTO, 8, false },
};

/* Finds the instruction that begins at P, of LEN bytes. */
static enum ofp_error find_form(const uint8_t *p, size_t len, enum ofp_version version, enum ofp_inst *ret_inst)
{
    uint16_t code = get_u16(p);

    if (code == WIRE_EXPERIMENTER) {
        return OFPERR_OFPBIC_BAD_EXPERIMENTER;
    }
    if (code == WIRE_STAT_TRIGGER && version >= OFP15_VERSION) {
        return OFPERR_OFPBIC_UNSUP_INST;
    }
    for (int i = 0; i < OFP_N_INSTS; i++) {
        if (forms[i].code == code && !(i == OFP_INST_METER && version >= OFP15_VERSION)) {
            if (len < forms[i].len || (len > forms[i].len && !forms[i].more) || len % 8) {
                return OFPERR_OFPBIC_BAD_LEN;
            }
            *ret_inst = i;
            return OFPERR_NONE;
        }
    }
    return OFPERR_OFPBIC_UNKNOWN_INST;
}

/* Where each instruction is: its body, behind type and length.  p NULL: there is none. */
static enum ofp_error find_all(const uint8_t *data, size_t len, enum ofp_version version, struct bytes *ret)
{
    memset(ret, 0, OFP_N_INSTS * sizeof *ret);
    while (len) {
        enum ofp_inst inst;
        size_t n = len < 8 ? 0 : get_u16(data + 2);

        if (n < 8 || n > len) {
            return OFPERR_OFPBIC_BAD_LEN;
        }
        enum ofp_error error = find_form(data, n, version, &inst);
        if (error) {
            return error;
        }
        if (ret[inst].p) {
            return OFPERR_OFPBIC_DUP_INST;
        }
        ret[inst] = (struct bytes){ data + 4, n - 4 };
        data += n;
        len -= n;
    }
    return OFPERR_NONE;
}

static enum ofp_error verify_set(const struct ofp_act *act)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(act, &len);

    return ofp_acts_verify_nested(nested, len, OFP_ACT_WRITE_ACTIONS, NULL);
}

static enum ofp_error decode_inst(enum ofp_inst inst, const uint8_t *p, size_t len, enum ofp_version version,
                                  struct buf *acts)
{
    enum ofp_error error = OFPERR_NONE;
    struct ofp_act_number *n;
    struct ofp_act_metadata *m;
    size_t start;

    switch (inst) {
    case OFP_INST_METER:
        n = ofp_act_put(acts, OFP_ACT_METER, sizeof *n);
        n->n = get_u32(p);
        break;
    case OFP_INST_APPLY:
        start = acts->len;
        error = ofp_decode_list(p + 4, len - 4, version, 0, acts);
        if (!error && acts->len > start) {
            error = ofp_acts_verify_no_instructions(acts->data + start, acts->len - start, version);
        }
        break;
    case OFP_INST_CLEAR:
        ofp_act_put(acts, OFP_ACT_CLEAR_ACTIONS, sizeof(struct ofp_act_plain));
        break;
    case OFP_INST_WRITE:
        start = ofp_act_begin(acts, OFP_ACT_WRITE_ACTIONS, sizeof(struct ofp_act_nest));
        error = ofp_decode_list(p + 4, len - 4, version, 1, acts);
        ofp_act_end(acts, start);
        if (!error) {
            error = verify_set(ofp_act_at(acts, start));
        }
        break;
    case OFP_INST_METADATA:
        m = ofp_act_put(acts, OFP_ACT_WRITE_METADATA, sizeof *m);
        m->value = get_u64(p + 4);
        m->mask = get_u64(p + 12);
        break;
    case OFP_INST_GOTO:
        n = ofp_act_put(acts, OFP_ACT_GOTO_TABLE, sizeof *n);
        n->n = p[0];
        break;
    case OFP_N_INSTS:
        break;
    }
    return error;
}

enum ofp_error ofp_instructions_decode(const void *data, size_t len, enum ofp_version version, struct buf *acts)
{
    struct bytes found[OFP_N_INSTS];
    size_t start = acts->len;

    if (version == OFP10_VERSION) {
        return ofp_flow_actions10_decode(data, len, acts);
    }
    if (len % 8) {
        return OFPERR_OFPBIC_BAD_LEN;
    }
    enum ofp_error error = find_all(data, len, version, found);
    for (int i = 0; i < OFP_N_INSTS && !error; i++) {
        if (found[i].p) {
            error = decode_inst(i, found[i].p, found[i].n, version, acts);
        }
    }
    if (!error && acts->len > start) {
        error = ofp_acts_verify(acts->data + start, acts->len - start, NULL);
    }
    if (error) {
        acts->len = start;
    }
    return error;
}

/* ---- Encoding. ---- */

/* What has no action in it is left out. */
static void end_apply(struct buf *wire, size_t start)
{
    if (wire->len == start + 8) {
        wire->len = start;
    } else {
        ofp_put_end(wire, start);
    }
}

void ofp_instructions_encode(const void *acts, size_t len, enum ofp_version version, struct buf *wire)
{
    size_t apply = SIZE_MAX; /* Where the open apply_actions begins. */

    OFP_ACT_FOR_EACH(a, acts, len)
    {
        enum ofp_inst inst = ofp_act_info[a->type].instruction;
        bool is_action =
            version == OFP10_VERSION || inst == OFP_INST_APPLY || (inst == OFP_INST_METER && version >= OFP15_VERSION);

        if (version != OFP10_VERSION && is_action && apply == SIZE_MAX) {
            apply = ofp_put_std(wire, WIRE_APPLY);
            buf_put_u32(wire, 0);
        } else if (!is_action && apply != SIZE_MAX) {
            end_apply(wire, apply);
            apply = SIZE_MAX;
        }
        ofp_act_info[a->type].encode(a, version, wire);
    }
    if (apply != SIZE_MAX) {
        end_apply(wire, apply);
    }
}

void ofp_encode_clear_actions(const struct ofp_act *act UNUSED, enum ofp_version version, struct buf *w)
{
    if (version != OFP10_VERSION) {
        size_t start = ofp_put_std(w, WIRE_CLEAR);

        buf_put_u32(w, 0);
        ofp_put_end(w, start);
    }
}

void ofp_encode_write_actions(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(act, &len);

    if (version != OFP10_VERSION) {
        size_t start = ofp_put_std(w, WIRE_WRITE);

        buf_put_u32(w, 0);
        ofp_encode_list(nested, len, version, w);
        ofp_put_end(w, start);
    }
}

void ofp_encode_write_metadata(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_metadata *a = ofp_act_cast(act);
    size_t start;

    if (version == OFP10_VERSION) {
        start = ofp_put_nx(w, 22);
        buf_put_zeros(w, 6);
    } else {
        start = ofp_put_std(w, WIRE_METADATA);
        buf_put_u32(w, 0);
    }
    buf_put_u64(w, a->value);
    buf_put_u64(w, a->mask);
    ofp_put_end(w, start);
}

void ofp_encode_goto_table(const struct ofp_act *act, enum ofp_version version, struct buf *w)
{
    const struct ofp_act_number *a = ofp_act_cast(act);
    size_t start;

    if (version == OFP10_VERSION) {
        start = ofp_put_nx(w, 14);
        buf_put_u16(w, PORT_IN_PORT.n);
        buf_put_u8(w, a->n);
    } else {
        start = ofp_put_std(w, WIRE_GOTO);
        buf_put_u8(w, a->n);
    }
    ofp_put_end(w, start);
}

/* In 1.0, where it is an action. */
enum ofp_error ofp_decode_write_metadata(struct decode *d, struct buf *acts)
{
    struct ofp_act_metadata *a = ofp_act_put(acts, OFP_ACT_WRITE_METADATA, sizeof *a);

    a->value = get_u64(d->body + 6);
    a->mask = get_u64(d->body + 14);
    return OFPERR_NONE;
}

/* ---- Text. ---- */

void ofp_print_write_actions(const struct print *p, const struct ofp_act *act)
{
    size_t len;
    const struct ofp_act *nested = ofp_act_nested(act, &len);

    fputs("write_actions(", p->out);
    ofp_print_list(p, nested, len);
    fputc(')', p->out);
}

void ofp_print_clear_actions(const struct print *p, const struct ofp_act *act UNUSED)
{
    fputs("clear_actions", p->out);
}

void ofp_print_write_metadata(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_metadata *a = ofp_act_cast(act);

    fprintf(p->out, "write_metadata:%#llx", (unsigned long long) a->value);
    if (a->mask != UINT64_MAX) {
        fprintf(p->out, "/%#llx", (unsigned long long) a->mask);
    }
}

void ofp_print_goto_table(const struct print *p, const struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);

    fputs("goto_table:", p->out);
    ofp_print_table(p, a->n);
}

char *ofp_scan_goto_table(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_number *a = ofp_act_put(s->acts, OFP_ACT_GOTO_TABLE, sizeof *a);
    uint8_t table;
    char *error = ofp_scan_table(s, k->word, args, &table);

    if (!error) {
        a->n = table;
    }
    return error;
}

char *ofp_scan_write_metadata(struct scan *s, const struct keyword *k, char *args)
{
    struct ofp_act_metadata *a = ofp_act_put(s->acts, OFP_ACT_WRITE_METADATA, sizeof *a);
    char *slash = strchr(args, '/');
    char *error = NULL;

    a->mask = UINT64_MAX;
    if (slash) {
        *slash = '\0';
        error = ofp_scan_number64(k->word, slash + 1, UINT64_MAX, &a->mask);
    }
    return error ? error : ofp_scan_number64(k->word, args, UINT64_MAX, &a->value);
}
