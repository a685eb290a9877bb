/* Conntrack in the simulated datapath: as much of it as makes the same packets new, established and replies.
 *
 * A connection is kept when it is committed, in its zone, by the addresses and ports of the packet that committed it.  What a packet is told is
 * what the kernel tells: tracked; new until the other side has answered; a reply if it goes the other way.  Nothing ends but with the
 * datapath, nothing is invalid or related, and nat changes nothing.  Under sim_lock. */
#include <config.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/openvswitch.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"
#include "lib/pkt/packet.h"

/* One direction of a connection. */
struct tuple {
    struct in6_addr src, dst; /* Of IPv4: in the first four bytes. */
    be16 tp_src, tp_dst, eth_type, zone;
    uint64_t proto;
};

struct sim_conn {
    struct sim_node node;
    struct tuple tuple; /* Of the packet that committed it. */
    bool answered;
    uint32_t mark;
    uint8_t label[16];
};

struct request {
    bool commit, force;
    uint16_t zone;
    uint32_t mark[2]; /* Value, bits. */
    uint8_t label[32];
};

static struct request read_request(const struct nlattr *action)
{
    struct request r = { 0 };
    const struct nlattr *a;

    mnl_attr_for_each_nested(a, action)
    {
        switch (mnl_attr_get_type(a)) {
        case OVS_CT_ATTR_COMMIT:
            r.commit = true;
            break;
        case OVS_CT_ATTR_FORCE_COMMIT:
            r.commit = r.force = true;
            break;
        case OVS_CT_ATTR_ZONE:
            r.zone = mnl_attr_get_u16(a);
            break;
        case OVS_CT_ATTR_MARK:
            memcpy(r.mark, mnl_attr_get_payload(a), sizeof r.mark);
            break;
        case OVS_CT_ATTR_LABELS:
            memcpy(r.label, mnl_attr_get_payload(a), sizeof r.label);
            break;
        }
    }
    return r;
}

static struct tuple tuple_of(const struct flow *f, uint16_t zone)
{
    struct tuple t;

    memset(&t, 0, sizeof t);
    if (f->eth_type == htons(ETH_TYPE_IPV6)) {
        t.src = f->ipv6_src;
        t.dst = f->ipv6_dst;
    } else {
        memcpy(&t.src, &f->ip_src, 4);
        memcpy(&t.dst, &f->ip_dst, 4);
    }
    t.tp_src = f->tp_src;
    t.tp_dst = f->tp_dst;
    t.eth_type = f->eth_type;
    t.zone = zone;
    t.proto = f->ip_proto;
    return t;
}

static struct tuple reverse(const struct tuple *t)
{
    struct tuple r = *t;

    r.src = t->dst;
    r.dst = t->src;
    r.tp_src = t->tp_dst;
    r.tp_dst = t->tp_src;
    return r;
}

static struct sim_conn *conn_find(const struct sim_dp *dp, const struct tuple *t) REQUIRES(sim_lock)
{
    struct sim_node *node = sim_map_first(&dp->conns, hash_bytes(t, sizeof *t, 0));

    for (; node; node = sim_map_next(node)) {
        struct sim_conn *c = CONTAINER_OF(node, struct sim_conn, node);
        if (!memcmp(&c->tuple, t, sizeof *t)) {
            return c;
        }
    }
    return NULL;
}

static struct sim_conn *conn_create(struct sim_dp *dp, const struct tuple *t) REQUIRES(sim_lock)
{
    struct sim_conn *c = xzalloc(sizeof *c);

    c->tuple = *t;
    sim_map_insert(&dp->conns, &c->node, hash_bytes(t, sizeof *t, 0));
    return c;
}

static void conn_note(struct sim_conn *c, const struct request *r)
{
    c->mark = (c->mark & ~r->mark[1]) | (r->mark[0] & r->mark[1]);
    for (unsigned int i = 0; i < sizeof c->label; i++) {
        c->label[i] = (c->label[i] & ~r->label[16 + i]) | (r->label[i] & r->label[16 + i]);
    }
}

/* The direction that the connection began with, as keys have it. */
static void put_orig(const struct tuple *t, struct flow *key)
{
    memset(&key->ct_orig_src, 0, sizeof key->ct_orig_src);
    memset(&key->ct_orig_dst, 0, sizeof key->ct_orig_dst);
    key->ct_orig_is_ipv6 = t->eth_type == htons(ETH_TYPE_IPV6);
    memcpy(&key->ct_orig_src, &t->src, key->ct_orig_is_ipv6 ? 16 : 4);
    memcpy(&key->ct_orig_dst, &t->dst, key->ct_orig_is_ipv6 ? 16 : 4);
    key->ct_orig_proto = t->proto;
    key->ct_orig_tp_src = t->tp_src;
    key->ct_orig_tp_dst = t->tp_dst;
}

void sim_ct(struct sim_dp *dp, const void *frame, size_t len, struct flow *key, const struct nlattr *action)
{
    struct request r = read_request(action);
    struct flow now;

    memset(&now, 0, sizeof now);
    if (packet_extract(frame, len, &now) || (now.eth_type != htons(ETH_TYPE_IPV4) && now.eth_type != htons(ETH_TYPE_IPV6))) {
        flow_fill_ct(key, 0);
        key->ct_state = OVS_CS_F_TRACKED | OVS_CS_F_INVALID;
        key->ct_zone = r.zone;
        return;
    }
    struct tuple t = tuple_of(&now, r.zone), back = reverse(&t);
    struct sim_conn *c = conn_find(dp, &t), *other = conn_find(dp, &back);
    bool reply = !c && other;

    if (reply && r.force) {
        sim_map_remove(&dp->conns, &other->node);
        free(other);
        other = NULL;
        reply = false;
    }
    c = reply ? other : c;
    if (!c && r.commit) {
        c = conn_create(dp, &t);
    }
    if (c && r.commit) {
        conn_note(c, &r);
    }
    if (reply) {
        c->answered = true;
    }
    key->ct_state = OVS_CS_F_TRACKED | (c && c->answered ? OVS_CS_F_ESTABLISHED : OVS_CS_F_NEW) | (reply ? OVS_CS_F_REPLY_DIR : 0);
    key->ct_zone = r.zone;
    key->ct_mark = c ? c->mark : 0;
    memset(key->ct_label, 0, sizeof key->ct_label);
    if (c) {
        memcpy(key->ct_label, c->label, sizeof key->ct_label);
    }
    put_orig(reply ? &back : &t, key);
}

void sim_ct_flush(struct sim_dp *dp)
{
    for (size_t i = 0; i < dp->conns.n_buckets; i++) {
        for (struct sim_node *node = dp->conns.buckets[i], *next; node; node = next) {
            next = node->next;
            free(CONTAINER_OF(node, struct sim_conn, node));
        }
    }
    sim_map_uninit(&dp->conns);
    memset(&dp->conns, 0, sizeof dp->conns);
}
