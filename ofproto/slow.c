/* See slow.h.
 *
 * The list of actions is cut at each rewriting that is ours to do (odp-apply.h).  What stands between two cuts goes to the kernel with the packet as
 * we have rewritten it by then, behind those of the kernel's own actions before it that change the packet, which are done once more: for the
 * packet that comes back from the kernel is the one that we sent.  So all that the kernel can do it does, checksums of TCP and tags included, and we know of
 * three headers only.  That rewriting ours first and the kernel's then gives the same packet is since they write to different fields, and
 * checksums are sums.
 *
 *     set(eth) 1 set(arp) push_vlan 2        1st request: set(eth) 1
 *                                            2nd, of the packet with set(arp): set(eth) push_vlan 2
 *
 * A clone that has such a rewriting in it is done likewise, with a copy; and of check_pkt_len that branch which is the packet's: the kernel may have no such
 * action.  (Those in sample are not: none is emitted.)
 */
#include <config.h>

#include "ofproto/slow.h"

#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/dpif/dpif.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-apply.h"

struct slow {
    struct dpif_op op;
    uint8_t *frame;         /* The packet, as we have rewritten it. */
    struct attrbuf changes; /* All so far that change the packet. */
    struct attrbuf piece;   /* What the next request does. */
    bool sends;             /* It sends the packet somewhere: else it has no effect. */
    void (*operate)(struct dpif_op *ops[], size_t n, void *aux);
    void *aux;
    int error;
};

static bool changes_packet(uint16_t type)
{
    static const uint16_t types[] = { OVS_ACTION_ATTR_SET,      OVS_ACTION_ATTR_SET_MASKED, OVS_ACTION_ATTR_PUSH_VLAN, OVS_ACTION_ATTR_POP_VLAN,
                                      OVS_ACTION_ATTR_PUSH_MPLS, OVS_ACTION_ATTR_POP_MPLS,   OVS_ACTION_ATTR_PUSH_ETH,  OVS_ACTION_ATTR_POP_ETH,
                                      OVS_ACTION_ATTR_PUSH_NSH,  OVS_ACTION_ATTR_POP_NSH,    OVS_ACTION_ATTR_CT_CLEAR };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i] == type) {
            return true;
        }
    }
    return false;
}

static void flush(struct slow *s)
{
    struct dpif_op *ops[] = { &s->op };

    if (!s->sends) {
        return;
    }
    s->op.error = 0;
    s->op.execute.actions = attrbuf_data(&s->piece);
    s->op.execute.actions_len = attrbuf_len(&s->piece);
    s->operate(ops, 1, s->aux);
    s->error = s->error ? s->error : s->op.error;
    attrbuf_clear(&s->piece);
    attrbuf_append(&s->piece, attrbuf_data(&s->changes), attrbuf_len(&s->changes));
    s->sends = false;
}

/* Is there, however deep, something that is ours in the list of actions NEST? */
static bool holds_ours(const struct nlattr *nest)
{
    const struct nlattr *a;

    mnl_attr_for_each_nested(a, nest) {
        if (odp_is_slow_set(a) || (mnl_attr_get_type(a) == OVS_ACTION_ATTR_CLONE && holds_ours(a))) {
            return true;
        }
    }
    return false;
}

static void run(struct slow *s, struct arena *arena, const struct nlattr *actions, size_t len);

/* What a copy of the packet undergoes. */
static void run_clone(const struct slow *s, struct arena *arena, const struct nlattr *nest, int *error)
{
    struct slow copy = *s;
    size_t size = attrbuf_len(&s->changes) + nest->nla_len + NLMSG_HDRLEN;
    uint8_t *frame = arena_alloc(arena, s->op.execute.packet_len);

    memcpy(frame, s->frame, s->op.execute.packet_len);
    copy.op.execute.packet = copy.frame = frame;
    attrbuf_init(&copy.changes, arena_alloc(arena, size), size);
    attrbuf_init(&copy.piece, arena_alloc(arena, size), size);
    attrbuf_append(&copy.changes, attrbuf_data(&s->changes), attrbuf_len(&s->changes));
    attrbuf_append(&copy.piece, attrbuf_data(&s->changes), attrbuf_len(&s->changes));
    run(&copy, arena, mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest));
    *error = *error ? *error : copy.error;
}

/* The branch of CHECK that is the packet's, with the tags that the kernel puts on before; NULL: CHECK is none of ours. */
static const struct nlattr *choose_branch(const struct slow *s, const struct nlattr *check)
{
    const struct nlattr *a, *branches[2] = { NULL, NULL };
    size_t len = s->op.execute.packet_len, limit = 0;

    mnl_attr_for_each(a, s->changes.nlh, 0) {
        len += mnl_attr_get_type(a) == OVS_ACTION_ATTR_PUSH_VLAN ? 4 : 0;
        len -= mnl_attr_get_type(a) == OVS_ACTION_ATTR_POP_VLAN ? 4 : 0;
    }
    mnl_attr_for_each_nested(a, check) {
        switch (mnl_attr_get_type(a)) {
        case OVS_CHECK_PKT_LEN_ATTR_PKT_LEN:
            limit = mnl_attr_get_u16(a);
            break;
        case OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER:
            branches[1] = a;
            break;
        case OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL:
            branches[0] = a;
            break;
        }
    }
    return branches[len > limit];
}

static void run_check(struct slow *s, struct arena *arena, const struct nlattr *check)
{
    const struct nlattr *branch = choose_branch(s, check);

    flush(s);
    if (branch) {
        run_clone(s, arena, branch, &s->error);
    }
}

static void run(struct slow *s, struct arena *arena, const struct nlattr *actions, size_t len)
{
    for (const struct nlattr *a = actions; (const char *) a < (const char *) actions + len; a = mnl_attr_next(a)) {
        uint16_t type = mnl_attr_get_type(a);
        size_t n = MNL_ALIGN(a->nla_len);

        if (odp_is_slow_set(a)) {
            flush(s);
            odp_apply(s->frame, s->op.execute.packet_len, a);
        } else if (type == OVS_ACTION_ATTR_CLONE && holds_ours(a)) {
            flush(s);
            run_clone(s, arena, a, &s->error);
        } else if (type == OVS_ACTION_ATTR_CHECK_PKT_LEN) {
            run_check(s, arena, a);
        } else if (type == OVS_ACTION_ATTR_METER || type == OVS_ACTION_ATTR_TRUNC) {
            attrbuf_append(&s->piece, a, n); /* Once; and nothing goes anywhere by it.  The output that TRUNC is of comes next. */
        } else if (changes_packet(type)) {
            attrbuf_append(&s->piece, a, n);
            attrbuf_append(&s->changes, a, n);
        } else {
            attrbuf_append(&s->piece, a, n);
            s->sends = true;
        }
    }
    flush(s);
}

int slow_run(struct arena *arena, const struct dpif_op *execute, void (*operate)(struct dpif_op *ops[], size_t n, void *aux), void *aux)
{
    size_t size = execute->execute.actions_len + NLMSG_HDRLEN, len = execute->execute.packet_len;
    struct slow s = { .op = *execute, .operate = operate, .aux = aux, .frame = arena_alloc(arena, len) };

    /* Neither is ever longer than the whole list. */
    attrbuf_init(&s.changes, arena_alloc(arena, size), size);
    attrbuf_init(&s.piece, arena_alloc(arena, size), size);
    memcpy(s.frame, execute->execute.packet, len);
    s.op.execute.packet = s.frame;
    run(&s, arena, execute->execute.actions, execute->execute.actions_len);
    return s.error;
}
