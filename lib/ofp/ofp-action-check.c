/* May a flow with this match have these actions?
 *
 * The checker goes along with a copy of what the match is exact about, and changes it as the actions change the packet:
 * a field is there or not at each of them.  Two kinds of misfit are told apart.  Actions that OpenFlow 1.0 has may,
 * in 1.0, stand with any match; then they do nothing to packets that do not fit.  Fields that are named must be there
 * in every version. */
#include <config.h>

#include <endian.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-action-private.h"
#include "lib/pkt/flow.h"

/* Bits of ct_state, as in the kernel's attribute. */
enum { CT_STATE_INVALID = 0x10, CT_STATE_TRACKED = 0x20 };

/* The action does not fit the flow, if OK is false. */
static enum ofp_error fits(const struct check_state *s, bool ok)
{
    return ok || s->in->any_flow || s->in_set || s->in->version == OFP10_VERSION ? OFPERR_NONE : OFPERR_OFPBAC_MATCH_INCONSISTENT;
}

static bool eth_type_is(const struct check_state *s, uint16_t type) { return s->flow->eth_type == htobe16(type); }
static bool is_ip(const struct check_state *s)
{
    return eth_type_is(s, ETH_TYPE_IPV4) || eth_type_is(s, ETH_TYPE_IPV6);
}
static bool is_mpls(const struct check_state *s)
{
    return eth_type_is(s, ETH_TYPE_MPLS) || eth_type_is(s, ETH_TYPE_MPLS_MC);
}
static bool has_vlan(const struct check_state *s) { return flow_vlan_present(&s->flow->vlan[0]); }

/* ---- Ports and tables. ---- */

enum ofp_error ofp_output_port_error(ofp_port_t port)
{
    return port.n < OFPP_MAX || (port.n >= PORT_IN_PORT.n && port.n < OFPP_NONE.n) ? OFPERR_NONE
                                                                                   : OFPERR_OFPBAC_BAD_OUT_PORT;
}

static enum ofp_error check_port(const struct check_state *s, ofp_port_t port)
{
    bool beyond = port.n >= s->in->max_ports && port.n < OFPP_MAX;

    return beyond ? OFPERR_OFPBAC_BAD_OUT_PORT : ofp_output_port_error(port);
}

enum ofp_error ofp_check_output(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_output *a = ofp_act_cast(act);

    return check_port(s, a->port);
}

enum ofp_error ofp_check_output_trunc(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_output_trunc *a = ofp_act_cast(act);

    return check_port(s, a->port);
}

enum ofp_error ofp_check_enqueue(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_enqueue *a = ofp_act_cast(act);

    return check_port(s, a->port);
}

enum ofp_error ofp_check_bundle(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_bundle *a = ofp_act_cast(act);
    enum ofp_error error = a->load ? ofp_check_dst(s, &a->dst) : OFPERR_NONE;

    for (int i = 0; i < a->n_members && !error; i++) {
        error = check_port(s, a->members[i]);
    }
    return error;
}

enum ofp_error ofp_check_goto_table(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);
    bool upward = s->in->table == OFP_TABLE_ALL || a->n > s->in->table;
    bool exists = s->in->n_tables == OFP_MAX_TABLES || a->n < s->in->n_tables;

    return upward && exists ? OFPERR_NONE : OFPERR_OFPBIC_BAD_TABLE_ID;
}

enum ofp_error ofp_check_meter(struct check_state *s UNUSED, struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);

    return a->n && a->n <= METER_MAX ? OFPERR_NONE : OFPERR_OFPMMFC_INVALID_METER;
}

/* ---- Fields that are named. ---- */

static bool may_have(const struct check_state *s, const struct ofp_field *field)
{
    return s->in->any_flow || ofp_field_prereqs_ok(field, s->flow, NULL);
}

enum ofp_error ofp_check_src(const struct check_state *s, const struct ofp_subfield *sf)
{
    return may_have(s, sf->field) ? OFPERR_NONE : OFPERR_OFPBAC_MATCH_INCONSISTENT;
}

enum ofp_error ofp_check_dst(const struct check_state *s, const struct ofp_subfield *sf)
{
    return sf->field->writable ? ofp_check_src(s, sf) : OFPERR_OFPBAC_BAD_SET_ARGUMENT;
}

enum ofp_error ofp_check_output_reg(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_output_reg *a = ofp_act_cast(act);

    return ofp_check_src(s, &a->src);
}

enum ofp_error ofp_check_move(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_move *a = ofp_act_cast(act);
    enum ofp_error error = ofp_check_src(s, &a->src);

    return error ? error : ofp_check_dst(s, &a->dst);
}

enum ofp_error ofp_check_push(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_stack *a = ofp_act_cast(act);

    return ofp_check_src(s, &a->sf);
}

enum ofp_error ofp_check_pop(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_stack *a = ofp_act_cast(act);

    return ofp_check_dst(s, &a->sf);
}

enum ofp_error ofp_check_multipath(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_multipath *a = ofp_act_cast(act);

    return ofp_check_dst(s, &a->dst);
}

enum ofp_error ofp_check_check_pkt_larger(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_check_pkt_larger *a = ofp_act_cast(act);

    return ofp_check_dst(s, &a->dst);
}

enum ofp_error ofp_check_set_field(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_set_field *a = ofp_act_cast(act);
    bool vid = a->field->id == OFP_FIELD_VLAN_VID;

    /* Of a VLAN's fields: there must be one, though a match on them says whether there is. */
    if (!may_have(s, a->field) || (vid && !has_vlan(s) && !s->in->any_flow)) {
        return OFPERR_OFPBAC_MATCH_INCONSISTENT;
    }
    if (a->field->id == OFP_FIELD_VLAN_TCI && !a->load) {
        /* Pushes a tag, or takes it off. */
        s->flow->vlan[0].tci = htobe16(a->data[0] << 8 | a->data[1]);
    }
    return OFPERR_NONE;
}

/* ---- Rewriting that needs a header. ---- */

enum ofp_error ofp_check_nothing(struct check_state *s UNUSED, struct ofp_act *act UNUSED) { return OFPERR_NONE; }

enum ofp_error ofp_check_ipv4(struct check_state *s, struct ofp_act *act UNUSED)
{
    return fits(s, eth_type_is(s, ETH_TYPE_IPV4));
}
enum ofp_error ofp_check_ip(struct check_state *s, struct ofp_act *act UNUSED) { return fits(s, is_ip(s)); }
enum ofp_error ofp_check_mpls(struct check_state *s, struct ofp_act *act UNUSED) { return fits(s, is_mpls(s)); }

enum ofp_error ofp_check_l4(struct check_state *s, struct ofp_act *act)
{
    struct ofp_act_number *a = (struct ofp_act_number *) act;
    uint8_t proto = s->flow->ip_proto;
    bool ok = is_ip(s) && !(s->flow->ip_frag & FLOW_FRAG_LATER) &&
              (proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP);

    a->proto = ok ? proto : 0;
    return fits(s, ok);
}

enum ofp_error ofp_check_tcp(struct check_state *s, struct ofp_act *act UNUSED)
{
    return fits(s, is_ip(s) && s->flow->ip_proto == IPPROTO_TCP);
}

static void push_tag(struct check_state *s, uint16_t tpid)
{
    s->flow->vlan[1] = s->flow->vlan[0];
    s->flow->vlan[0] = (struct flow_vlan){ htobe16(tpid), htobe16(VLAN_CFI) };
}

enum ofp_error ofp_check_vlan(struct check_state *s, struct ofp_act *act)
{
    struct ofp_act_number *a = (struct ofp_act_number *) act;
    bool ok = a->push_if_needed || has_vlan(s);

    a->has_vlan = has_vlan(s);
    if (a->push_if_needed && !has_vlan(s)) {
        push_tag(s, ETH_TYPE_VLAN);
    }
    return fits(s, ok);
}

enum ofp_error ofp_check_strip_vlan(struct check_state *s, struct ofp_act *act UNUSED)
{
    bool ok = has_vlan(s);

    s->flow->vlan[0] = s->flow->vlan[1];
    memset(&s->flow->vlan[1], 0, sizeof s->flow->vlan[1]);
    return fits(s, ok);
}

enum ofp_error ofp_check_push_vlan(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);

    if (flow_vlan_present(&s->flow->vlan[FLOW_MAX_VLANS - 1])) {
        return OFPERR_OFPBAC_BAD_TAG; /* No room for one more. */
    }
    push_tag(s, a->n);
    return OFPERR_NONE;
}

/* The packet is now of another type; what was behind its header is not known any more. */
static void set_eth_type(struct check_state *s, uint16_t type)
{
    s->flow->eth_type = htobe16(type);
    s->flow->ip_proto = 0;
}

enum ofp_error ofp_check_push_mpls(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);

    set_eth_type(s, a->n);
    return OFPERR_NONE;
}

enum ofp_error ofp_check_pop_mpls(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_number *a = ofp_act_cast(act);
    enum ofp_error error = fits(s, is_mpls(s));

    set_eth_type(s, a->n);
    return error;
}

/* ---- Connections. ---- */

enum ofp_error ofp_check_resubmit(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_resubmit *a = ofp_act_cast(act);
    uint32_t state = s->flow->ct_state;
    bool tracked = state & CT_STATE_TRACKED ? !(state & CT_STATE_INVALID) : state & ~CT_STATE_INVALID;

    return !a->ct || tracked || s->in->any_flow ? OFPERR_NONE : OFPERR_OFPBAC_MATCH_INCONSISTENT;
}

static struct ofp_act *nested_of(struct ofp_act *act, size_t *ret_len)
{
    return (struct ofp_act *) (uintptr_t) ofp_act_nested(act, ret_len);
}

/* Addresses of a NAT are those of the packet's protocol. */
enum ofp_error ofp_check_nat(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_nat *a = ofp_act_cast(act);
    bool ok = !a->family || s->in->any_flow || eth_type_is(s, a->family == AF_INET ? ETH_TYPE_IPV4 : ETH_TYPE_IPV6);

    return ok ? OFPERR_NONE : OFPERR_OFPBAC_MATCH_INCONSISTENT;
}

enum ofp_error ofp_check_ct(struct check_state *s, struct ofp_act *act)
{
    const struct ofp_act_ct *a = ofp_act_cast(act);
    size_t len;
    struct ofp_act *nested = nested_of(act, &len);
    struct flow copy = *s->flow;
    struct check_state inside = { .in = s->in, .flow = &copy };
    uint8_t proto = a->alg == IPPORT_FTP ? IPPROTO_TCP : IPPROTO_UDP;

    if (!s->in->any_flow && (!is_ip(s) || (a->alg && s->flow->ip_proto != proto))) {
        return OFPERR_OFPBAC_MATCH_INCONSISTENT;
    }
    enum ofp_error error = a->zone_src.field ? ofp_check_src(s, &a->zone_src) : OFPERR_NONE;
    return error ? error : ofp_check_list(&inside, nested, len);
}

/* ---- Lists. ---- */

enum ofp_error ofp_check_clone(struct check_state *s, struct ofp_act *act)
{
    size_t len;
    struct ofp_act *nested = nested_of(act, &len);
    struct flow copy = *s->flow;
    struct check_state inside = { .in = s->in, .flow = &copy, .in_set = s->in_set };

    return ofp_check_list(&inside, nested, len);
}

enum ofp_error ofp_check_write_actions(struct check_state *s, struct ofp_act *act)
{
    size_t len;
    struct ofp_act *nested = nested_of(act, &len);
    struct flow copy = *s->flow;
    struct check_state inside = { .in = s->in, .flow = &copy, .in_set = true };

    return ofp_check_list(&inside, nested, len);
}

enum ofp_error ofp_check_list(struct check_state *s, void *acts, size_t len)
{
    enum ofp_error error = OFPERR_NONE;

    OFP_ACT_FOR_EACH(a, acts, len)
    {
        error = ofp_act_info[a->type].check(s, (struct ofp_act *) (uintptr_t) a);
        if (error) {
            break;
        }
    }
    return error;
}

enum ofp_error ofp_acts_check(void *acts, size_t len, const struct ofp_check *check)
{
    struct flow flow = *check->flow;
    struct check_state s = { .in = check, .flow = &flow };

    return ofp_check_list(&s, acts, len);
}
