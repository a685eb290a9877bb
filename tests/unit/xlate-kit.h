/* What tests of translation share: bridges from a line of text, and what a list of actions does to a packet's tags.
 *
 * Ports are written  NUMBER:MODE[TAG][[VLANS]][FLAGS]  where MODE is a (access), t (trunk), n (native-tagged),
 * u (native-untagged) or q (dot1q-tunnel), VLANS are trunks or cvlans (none: all), and FLAGS are
 * ! (protected), - (no flooding), ? (priority-tags=if-nonzero), ^ (priority-tags=always), p (a patch port).
 * A bundle has the id of its port's number. */
#ifndef TESTS_XLATE_KIT_H
#define TESTS_XLATE_KIT_H 1

#include <arpa/inet.h>
#include <linux/openvswitch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate.h"

struct tags {
    unsigned int n;
    struct flow_vlan v[8]; /* Outermost first. */
};

/* The packet left by PORT with these tags. */
struct delivery {
    uint32_t port;
    struct tags tags;
};

/* Steps over C if it is at *S. */
static inline bool kit_char(const char **s, char c)
{
    bool found = **s == c;
    *s += found;
    return found;
}

static inline void kit_add_port(struct xbridge *br, const char **s)
{
    uint32_t no = strtoul(*s, (char **) s, 10);
    char name[32];

    snprintf(name, sizeof name, "p%u", no);
    struct xbundle *b = xbridge_add_bundle(br, name, no);
    *s += 1; /* ':' */
    b->vlan_mode = **s == 'a'   ? VLAN_ACCESS
                   : **s == 't' ? VLAN_TRUNK
                   : **s == 'n' ? VLAN_NATIVE_TAGGED
                   : **s == 'u' ? VLAN_NATIVE_UNTAGGED
                                : VLAN_DOT1Q_TUNNEL;
    *s += 1;
    if (**s >= '0' && **s <= '9') {
        b->tag = strtoul(*s, (char **) s, 10);
    }
    if (kit_char(s, '[')) {
        struct vlan_set *set = b->vlan_mode == VLAN_DOT1Q_TUNNEL ? &b->cvlans : &b->trunks;
        set->any = false;
        do {
            uint16_t vid = strtoul(*s, (char **) s, 10);
            set->bits[vid / 64] |= UINT64_C(1) << vid % 64;
        } while (kit_char(s, ','));
        *s += 1; /* ']' */
    }
    bool is_patch = false;
    for (; **s && **s != ' '; *s += 1) {
        b->protected |= **s == '!';
        b->floodable &= **s != '-';
        b->priority_tags = **s == '?' ? PRIORITY_TAGS_IF_NONZERO : **s == '^' ? PRIORITY_TAGS_ALWAYS : b->priority_tags;
        is_patch |= **s == 'p';
    }
    struct xport *p = xbundle_add_port(b, name, (ofp_port_t){ no }, is_patch ? ODPP_NONE : (odp_port_t){ no });
    p->is_patch = is_patch;
}

/* Adds a bridge with a MAC table of its own and the ports that TEXT describes. */
static inline struct xbridge *kit_add_bridge(struct xconfig *c, const char *name, const char *text)
{
    struct mac_table *macs = mac_table_create();
    struct xbridge *br = xconfig_add_bridge(c, name, macs);

    mac_table_unref(macs);
    while (*text) {
        kit_add_port(br, &text);
        text += *text == ' ';
    }
    return br;
}

/* Joins patch ports A and B, by number.  After sealing. */
static inline void kit_join(struct xconfig *c, uint32_t a, uint32_t b)
{
    struct xport *pa = xconfig_bundle_by_id(c, a)->ports[0], *pb = xconfig_bundle_by_id(c, b)->ports[0];
    pa->peer = pb;
    pb->peer = pa;
}

static inline struct eth_addr kit_mac(uint32_t n) { return (struct eth_addr){ { 0x02, 0, 0, 0, n >> 8, n } }; }

static inline void kit_learn(struct xbridge *br, uint16_t vlan, struct eth_addr mac, uint32_t bundle)
{
    dep_t deps[MAC_LEARN_DEPS];
    rcu_read_lock();
    mac_table_learn(br->macs, vlan, mac, bundle, 1000000, deps);
    rcu_read_unlock();
}

static inline struct flow_vlan kit_tag(uint16_t tpid, uint16_t vid, unsigned int pcp)
{
    return (struct flow_vlan){ htons(tpid), htons(vid | pcp << VLAN_PCP_SHIFT | VLAN_CFI) };
}

/* Does what ACTIONS say to a packet with the tags of FLOW; returns the number of deliveries, in order, at most MAX; -1
 * for an action that has no place here, a pop of nothing, or an action after which nothing is output. */
static inline int kit_run(const struct attrbuf *actions, const struct flow *flow, struct delivery *d, int max)
{
    struct tags t = { 0 };
    struct nlattr *attr;
    bool idle = false;
    int n = 0;

    for (int i = 0; i < FLOW_MAX_VLANS && flow_vlan_present(&flow->vlan[i]); i++) {
        t.v[t.n++] = flow->vlan[i];
    }
    mnl_attr_for_each_payload ((void *) attrbuf_data(actions), attrbuf_len(actions)) {
        switch (mnl_attr_get_type(attr)) {
        case OVS_ACTION_ATTR_OUTPUT:
            if (n == max) {
                return -1;
            }
            d[n++] = (struct delivery){ mnl_attr_get_u32(attr), t };
            idle = false;
            break;
        case OVS_ACTION_ATTR_PUSH_VLAN: {
            const struct ovs_action_push_vlan *push = mnl_attr_get_payload(attr);
            if (t.n == ARRAY_SIZE(t.v)) {
                return -1;
            }
            memmove(&t.v[1], &t.v[0], t.n++ * sizeof t.v[0]);
            t.v[0] = (struct flow_vlan){ push->vlan_tpid, push->vlan_tci };
            idle = true;
            break;
        }
        case OVS_ACTION_ATTR_POP_VLAN:
            if (!t.n) {
                return -1;
            }
            memmove(&t.v[0], &t.v[1], --t.n * sizeof t.v[0]);
            idle = true;
            break;
        default:
            return -1;
        }
    }
    return idle ? -1 : n;
}

/* "PORT PORT/VID PORT/VID.PCP PORT/qVID/VID": q is TPID 0x88a8. */
static inline char *kit_deliveries_text(const struct delivery *d, int n)
{
    struct text text;
    FILE *out = text_open(&text);

    for (int i = 0; i < n; i++) {
        fprintf(out, "%s%u", i ? " " : "", d[i].port);
        for (unsigned int k = 0; k < d[i].tags.n; k++) {
            const struct flow_vlan *v = &d[i].tags.v[k];
            unsigned int pcp = ntohs(v->tci) >> VLAN_PCP_SHIFT;
            fprintf(out, "/%s%u", v->tpid == htons(ETH_TYPE_QINQ) ? "q" : "", flow_vlan_vid(v));
            if (pcp) {
                fprintf(out, ".%u", pcp);
            }
        }
    }
    return text_close(&text);
}

/* The packet that "PORT/VID.PCP/..." describes, from MAC 1 to MAC 2. */
static inline struct flow kit_flow(const char *s)
{
    struct flow flow = { .eth_src = kit_mac(1), .eth_dst = kit_mac(2), .eth_type = htons(ETH_TYPE_IPV4) };

    flow.in_port.n = strtoul(s, (char **) &s, 10);
    for (int i = 0; kit_char(&s, '/'); i++) {
        uint16_t tpid = kit_char(&s, 'q') ? ETH_TYPE_QINQ : ETH_TYPE_VLAN;
        uint16_t vid = strtoul(s, (char **) &s, 10);
        flow.vlan[i] = kit_tag(tpid, vid, kit_char(&s, '.') ? strtoul(s, (char **) &s, 10) : 0);
    }
    return flow;
}

/* Translates FLOW with C into OUT, whose actions go to ACTIONS, XLATE_ACTIONS_SIZE bytes; it teaches nothing, and which rules it met is not asked. */
static inline void kit_translate(const struct xconfig *c, const struct flow *flow, void *actions, struct xlate_out *out)
{
    attrbuf_init(&out->actions, actions, XLATE_ACTIONS_SIZE);
    out->rules = NULL;
    out->lessons.memory = NULL;
    rcu_read_lock();
    xlate(c, flow, out);
    rcu_read_unlock();
}

#endif
