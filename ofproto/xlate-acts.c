/* See xlate-acts.h. */
#include <config.h>

#include "ofproto/xlate-acts.h"

#include "lib/base/types.h"
#include "lib/odp/odp-cookie.h"
#include "lib/ofp/ofp-action.h"

/* Can translation write FIELD?  Of these it could only write its own copy: the kernel would not hear of it. */
static bool is_settable(const struct ofp_field *field)
{
    size_t ofs = field->place.ofs;
    bool is_ct = ofs >= offsetof(struct flow, ct_state) && ofs < offsetof(struct flow, eth_src);
    bool is_mpls = ofs >= offsetof(struct flow, mpls) && ofs < offsetof(struct flow, ip_src);
    bool is_nsh = ofs >= offsetof(struct flow, nsh) && ofs < offsetof(struct flow, metadata);

    return !is_ct && !is_mpls && !is_nsh && ofs < offsetof(struct flow, tunnel);
}

/* What is learned goes the way of any other rule: so no other check sees it. */
static bool is_learn_supported(const struct ofp_act_learn *a)
{
    for (uint32_t i = 0; i < a->n_specs; i++) {
        if (a->specs[i].to == OFP_LEARN_LOAD && !is_settable(a->specs[i].dst.field)) {
            return false;
        }
    }
    return !(a->flags & OFP_LEARN_F_WRITE_RESULT) || is_settable(a->result_dst.field);
}

/* Is what A says of ports and fields supported? */
static bool is_form_supported(const struct ofp_act *a)
{
    switch ((unsigned int) a->type) {
    case OFP_ACT_CONTROLLER: {
        const struct ofp_act_controller *c = ofp_act_cast(a);
        return !c->pause && c->userdata_len <= ODP_COOKIE_MAX_USERDATA;
    }
    case OFP_ACT_SET_FIELD:
        return is_settable(((const struct ofp_act_set_field *) ofp_act_cast(a))->field);
    case OFP_ACT_MOVE:
        return is_settable(((const struct ofp_act_move *) ofp_act_cast(a))->dst.field);
    case OFP_ACT_CHECK_PKT_LARGER:
        return is_settable(((const struct ofp_act_check_pkt_larger *) ofp_act_cast(a))->dst.field);
    case OFP_ACT_POP:
        return is_settable(((const struct ofp_act_stack *) ofp_act_cast(a))->sf.field);
    case OFP_ACT_LEARN:
        return is_learn_supported(ofp_act_cast(a));
    }
    return true;
}

/* What xlate-actions.c has a function for. */
static const bool supported[OFP_N_ACTS] = {
    [OFP_ACT_OUTPUT] = true, [OFP_ACT_SET_FIELD] = true, [OFP_ACT_MOVE] = true, [OFP_ACT_POP] = true,
    [OFP_ACT_RESUBMIT] = true, [OFP_ACT_OUTPUT_REG] = true, [OFP_ACT_PUSH] = true, [OFP_ACT_SET_VLAN_VID] = true,
    [OFP_ACT_SET_VLAN_PCP] = true, [OFP_ACT_STRIP_VLAN] = true, [OFP_ACT_PUSH_VLAN] = true,
    [OFP_ACT_SET_ETH_SRC] = true, [OFP_ACT_SET_ETH_DST] = true, [OFP_ACT_SET_IPV4_SRC] = true,
    [OFP_ACT_SET_IPV4_DST] = true, [OFP_ACT_SET_IP_DSCP] = true, [OFP_ACT_SET_IP_ECN] = true,
    [OFP_ACT_SET_IP_TTL] = true, [OFP_ACT_SET_L4_SRC] = true, [OFP_ACT_SET_L4_DST] = true, [OFP_ACT_DEC_TTL] = true,
    [OFP_ACT_CONJUNCTION] = true, [OFP_ACT_CLONE] = true, [OFP_ACT_NOTE] = true, [OFP_ACT_EXIT] = true,
    [OFP_ACT_CLEAR_ACTIONS] = true, [OFP_ACT_WRITE_ACTIONS] = true, [OFP_ACT_WRITE_METADATA] = true,
    [OFP_ACT_GOTO_TABLE] = true, [OFP_ACT_CT] = true, [OFP_ACT_CT_CLEAR] = true, [OFP_ACT_CONTROLLER] = true,
    [OFP_ACT_LEARN] = true, [OFP_ACT_FIN_TIMEOUT] = true, [OFP_ACT_METER] = true,
    [OFP_ACT_GROUP] = true, [OFP_ACT_OUTPUT_TRUNC] = true, [OFP_ACT_MULTIPATH] = true, [OFP_ACT_BUNDLE] = true,
    [OFP_ACT_SET_QUEUE] = true, [OFP_ACT_POP_QUEUE] = true, [OFP_ACT_ENQUEUE] = true,
    [OFP_ACT_CHECK_PKT_LARGER] = true, [OFP_ACT_SAMPLE] = true,
};

enum ofp_error xlate_acts_check(const void *acts, size_t len, const char **ret_name)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        size_t nested_len;
        if (!supported[a->type] || !is_form_supported(a)) {
            *ret_name = ofp_act_name(a->type);
            return OFPERR_OFPBAC_BAD_TYPE;
        }
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        if (nested && a->type != OFP_ACT_CT) { /* What may be in ct is all supported: nat, and what writes the connection's mark and label. */
            enum ofp_error error = xlate_acts_check(nested, nested_len, ret_name);
            if (error) {
                return error;
            }
        }
    }
    return OFPERR_NONE;
}
