/* Datapath actions, written.
 *
 * Each function appends one action; nothing is kept.  The kernel checks a list as a whole when the flow is put; the
 * only rule to keep here is that a pushed tag must have its CFI bit set. */
#include <config.h>

#include "lib/odp/odp-actions.h"

#include <arpa/inet.h>
#include <linux/openvswitch.h>

#include "lib/pkt/flow.h"

void odp_put_output(struct attrbuf *b, odp_port_t port)
{
    attrbuf_put_u32(b, OVS_ACTION_ATTR_OUTPUT, port.n);
}

void odp_put_push_vlan(struct attrbuf *b, be16 tpid, be16 tci)
{
    struct ovs_action_push_vlan push = { .vlan_tpid = tpid, .vlan_tci = tci | htons(VLAN_CFI) };

    attrbuf_put(b, OVS_ACTION_ATTR_PUSH_VLAN, &push, sizeof push);
}

void odp_put_pop_vlan(struct attrbuf *b)
{
    attrbuf_put_flag(b, OVS_ACTION_ATTR_POP_VLAN);
}

void odp_put_userspace(struct attrbuf *b, uint32_t pid, const void *userdata, size_t userdata_len)
{
    struct nlattr *nest = attrbuf_nest_begin(b, OVS_ACTION_ATTR_USERSPACE);

    attrbuf_put_u32(b, OVS_USERSPACE_ATTR_PID, pid);
    if (userdata_len) {
        attrbuf_put(b, OVS_USERSPACE_ATTR_USERDATA, userdata, userdata_len);
    }
    attrbuf_nest_end(b, nest);
}

void odp_put_recirc(struct attrbuf *b, uint32_t recirc_id)
{
    attrbuf_put_u32(b, OVS_ACTION_ATTR_RECIRC, recirc_id);
}

void odp_put_trunc(struct attrbuf *b, uint32_t max_len)
{
    attrbuf_put_u32(b, OVS_ACTION_ATTR_TRUNC, max_len);
}

static int n_tags(const struct flow *flow)
{
    int n = 0;

    while (n < FLOW_MAX_VLANS && flow_vlan_present(&flow->vlan[n])) {
        n++;
    }
    return n;
}

void odp_put_vlan_change(struct attrbuf *b, const struct flow *from, const struct flow *to)
{
    int n_from = n_tags(from), n_to = n_tags(to);

    /* Inner tags that stay: the lists are compared from their ends. */
    while (n_from && n_to && from->vlan[n_from - 1].tci == to->vlan[n_to - 1].tci &&
           from->vlan[n_from - 1].tpid == to->vlan[n_to - 1].tpid) {
        n_from--;
        n_to--;
    }
    while (n_from--) {
        odp_put_pop_vlan(b);
    }
    while (n_to--) {
        odp_put_push_vlan(b, to->vlan[n_to].tpid, to->vlan[n_to].tci);
    }
}
