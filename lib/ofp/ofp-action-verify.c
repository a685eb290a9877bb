/* What may stand beside and inside what: order and duplicates of instructions, conjunctions, action sets, ct's exec.
 *
 * Decoders and the scanner alike end here, so that both accept the same.  Pure. */
#include <config.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

static const char *const inst_names[OFP_N_INSTS] = { "meter",         "apply_actions",  "clear_actions",
                                                     "write_actions", "write_metadata", "goto_table" };

#define WHY(...)                                                                                                       \
    do {                                                                                                               \
        if (ret_why) {                                                                                                 \
            *ret_why = xasprintf(__VA_ARGS__);                                                                         \
        }                                                                                                              \
    } while (0)

static enum ofp_error verify_order(const void *acts, size_t len, char **ret_why)
{
    enum ofp_inst last = OFP_INST_METER;
    bool first = true;

    OFP_ACT_FOR_EACH(a, acts, len)
    {
        enum ofp_inst inst = ofp_act_info[a->type].instruction;

        if (!first && inst == last && inst != OFP_INST_APPLY) {
            WHY("duplicate %s instruction not allowed, for OpenFlow 1.1+ compatibility", inst_names[inst]);
            return OFPERR_OFPBIC_DUP_INST;
        }
        if (!first && inst < last) {
            WHY("invalid instruction ordering: %s must appear before %s, for OpenFlow 1.1+ compatibility",
                inst_names[inst], inst_names[last]);
            return OFPERR_OFPBAC_UNSUPPORTED_ORDER;
        }
        last = inst;
        first = false;
    }
    return OFPERR_NONE;
}

/* A conjunction is no action: beside it there may be more of them, and notes. */
static enum ofp_error verify_conjunctions(const void *acts, size_t len, char **ret_why)
{
    const struct ofp_act *other = NULL;
    bool found = false;

    OFP_ACT_FOR_EACH(a, acts, len)
    {
        if (a->type == OFP_ACT_CONJUNCTION) {
            found = true;
        } else if (a->type != OFP_ACT_NOTE && !other) {
            other = a;
        }
    }
    if (found && other) {
        WHY("\"conjunction\" actions may be used along with \"note\" but not any other kind of action (such as the "
            "\"%s\" action "
            "used here)",
            ofp_act_info[other->type].name);
        return OFPERR_NXBAC_BAD_CONJUNCTION;
    }
    return OFPERR_NONE;
}

static bool is_ct_field(const struct ofp_field *f) { return f->id == OFP_FIELD_CT_MARK || f->id == OFP_FIELD_CT_LABEL; }

/* In ct: one nat, and what writes ct_mark and ct_label. */
static enum ofp_error verify_in_ct(const struct ofp_act *a, char **ret_why)
{
    const struct ofp_field *dst = NULL;

    if (a->type == OFP_ACT_SET_FIELD) {
        const struct ofp_act_set_field *s = ofp_act_cast(a);
        dst = s->field;
    } else if (a->type == OFP_ACT_MOVE) {
        const struct ofp_act_move *m = ofp_act_cast(a);
        dst = m->dst.field;
    } else if (a->type != OFP_ACT_NAT) {
        WHY("ct action doesn't support nested action %s", ofp_act_info[a->type].name);
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    if (dst && !is_ct_field(dst)) {
        WHY("ct action doesn't support nested modification of %s", dst->name);
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    return OFPERR_NONE;
}

/* nat is an action on the wire only; its place is ct. */
static enum ofp_error verify_no_nat(const struct ofp_act *a, char **ret_why)
{
    if (a->type == OFP_ACT_NAT) {
        WHY("nat outside of ct");
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    return OFPERR_NONE;
}

static enum ofp_error verify_in_clone(const struct ofp_act *a, char **ret_why)
{
    if (ofp_act_info[a->type].instruction != OFP_INST_APPLY) {
        WHY("%s instruction not allowed here", ofp_act_info[a->type].name);
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    return OFPERR_NONE;
}

static enum ofp_error verify_in_set(const struct ofp_act *a, char **ret_why)
{
    if (ofp_act_info[a->type].instruction != OFP_INST_APPLY) {
        WHY("%s instruction not allowed here", ofp_act_info[a->type].name);
        return OFPERR_OFPBAC_BAD_TYPE;
    }
    if (!ofp_act_info[a->type].in_set) {
        WHY("%s is not allowed in an action set", ofp_act_info[a->type].name);
        return OFPERR_OFPBAC_BAD_TYPE;
    }
    return OFPERR_NONE;
}

enum ofp_error ofp_acts_verify_nested(const void *acts, size_t len, enum ofp_act_type in, char **ret_why)
{
    enum ofp_error error = OFPERR_NONE;

    OFP_ACT_FOR_EACH(a, acts, len)
    {
        if (in == OFP_ACT_CT) {
            error = verify_in_ct(a, ret_why);
        } else if (a->type == OFP_ACT_NAT) {
            error = verify_no_nat(a, ret_why);
        } else if (in == OFP_ACT_WRITE_ACTIONS) {
            error = verify_in_set(a, ret_why);
        } else {
            error = verify_in_clone(a, ret_why);
        }
        if (error) {
            return error;
        }
    }
    return error;
}

enum ofp_error ofp_acts_verify_no_instructions(const void *acts, size_t len, enum ofp_version version)
{
    OFP_ACT_FOR_EACH(a, acts, len)
    {
        enum ofp_inst inst = ofp_act_info[a->type].instruction;

        if (inst != OFP_INST_APPLY && !(inst == OFP_INST_METER && version >= OFP15_VERSION)) {
            return OFPERR_OFPBIC_UNSUP_INST;
        }
    }
    return OFPERR_NONE;
}

enum ofp_error ofp_acts_verify(const void *acts, size_t len, char **ret_why)
{
    enum ofp_error error = verify_order(acts, len, ret_why);

    if (!error) {
        error = verify_conjunctions(acts, len, ret_why);
    }
    OFP_ACT_FOR_EACH(a, acts, len)
    {
        if (!error) {
            error = verify_no_nat(a, ret_why);
        }
    }
    return error;
}
