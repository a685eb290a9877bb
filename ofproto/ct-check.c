/* See ct-check.h.  What the datapath lacks it was asked once, when it was opened (dpif_features()); the log says it there.  Pure. */
#include <config.h>

#include "ofproto/ct-check.h"

#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-action.h"
#include "lib/pkt/match.h"

#define NAT_STATES (OVS_CS_F_SRC_NAT | OVS_CS_F_DST_NAT)

static bool is_zero(const void *p, size_t n)
{
    const uint8_t *b = p;

    return !n || (!b[0] && !memcmp(b, b + 1, n - 1));
}

/* The first of what MASK looks at and the datapath cannot tell, or NULL. */
static const char *missing_for_match(const struct match *m, const struct dpif_features *can)
{
    const struct flow *mask = &m->mask;
    bool v4 = mask->ct_orig_proto || mask->ct_orig_tp_src || mask->ct_orig_tp_dst || !is_zero(&mask->ct_orig_src, sizeof mask->ct_orig_src)
              || !is_zero(&mask->ct_orig_dst, sizeof mask->ct_orig_dst);
    bool v6 = v4 && m->flow.eth_type == htobe16(ETH_TYPE_IPV6);
    const struct {
        bool wants, can;
        const char *name;
    } wants[] = {
        { mask->ct_state != 0, can->ct_state, "ct_state" },
        { mask->ct_state & NAT_STATES, can->ct_nat, "ct_state of nat" },
        { mask->ct_zone != 0, can->ct_zone, "ct_zone" },
        { mask->ct_mark != 0, can->ct_mark, "ct_mark" },
        { !is_zero(mask->ct_label, sizeof mask->ct_label), can->ct_label, "ct_label" },
        { v4 && !v6, can->ct_orig_tuple, "the original direction of connections" },
        { v6, can->ct_orig_tuple6, "the original direction of IPv6 connections" },
    };

    for (unsigned int i = 0; i < ARRAY_SIZE(wants); i++) {
        if (wants[i].wants && !wants[i].can) {
            return wants[i].name;
        }
    }
    return NULL;
}

/* The same for what is in ct. */
static const char *missing_for_nested(const struct ofp_act *acts, size_t len, const struct dpif_features *can)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        const struct ofp_field *dst = a->type == OFP_ACT_SET_FIELD ? ((const struct ofp_act_set_field *) ofp_act_cast(a))->field
                                      : a->type == OFP_ACT_MOVE    ? ((const struct ofp_act_move *) ofp_act_cast(a))->dst.field
                                                                   : NULL;
        if (a->type == OFP_ACT_NAT && !can->ct_nat) {
            return "nat";
        }
        if (dst && dst->id == OFP_FIELD_CT_MARK && !can->ct_mark) {
            return "ct_mark";
        }
        if (dst && dst->id == OFP_FIELD_CT_LABEL && !can->ct_label) {
            return "ct_label";
        }
    }
    return NULL;
}

static const char *missing_for_acts(const void *acts, size_t len, const struct dpif_features *can)
{
    OFP_ACT_FOR_EACH (a, acts, len) {
        size_t nested_len;
        const struct ofp_act *nested = ofp_act_nested(a, &nested_len);
        const char *missing = NULL;

        if (a->type == OFP_ACT_CT) {
            const struct ofp_act_ct *ct = ofp_act_cast(a);
            missing = !can->ct_state                                  ? "conntrack"
                      : (ct->zone || ct->zone_src.field) && !can->ct_zone ? "ct_zone"
                      : ct->table != OFP_TABLE_ALL && !can->recirc    ? "recirculation"
                                                                      : missing_for_nested(nested, nested_len, can);
        } else if (nested) {
            missing = missing_for_acts(nested, nested_len, can);
        }
        if (missing) {
            return missing;
        }
    }
    return NULL;
}

enum ofp_error ct_check(const struct match *match, const void *acts, size_t len, const struct dpif_features *can, const char **ret_what)
{
    const char *missing = missing_for_match(match, can);

    if (missing) {
        *ret_what = missing;
        return OFPERR_NXBMC_CT_DATAPATH_SUPPORT;
    }
    missing = missing_for_acts(acts, len, can);
    if (missing) {
        *ret_what = missing;
        return OFPERR_NXBAC_CT_DATAPATH_SUPPORT;
    }
    return OFPERR_NONE;
}
