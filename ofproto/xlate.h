/* Translation: what the bridges do with a packet, as datapath actions, the bits that this depends on, and effects.
 *
 * xlate() is pure: it reads the flow, a configuration snapshot and the MAC tables, and writes only to its output.  What
 * a real packet would change (an address to learn, later a rule's counters) is returned as a list of effects, and only
 * the accounting stage runs them: so revalidation, tracing and tests translate without consequences.
 *
 * The mask begins empty, and every step adds the bits that it looks at.  Every packet that agrees with this one in the
 * bits of the mask is treated alike, as long as the snapshot, and what 'deps' lists of the MAC tables, stay as they are. */
#ifndef OFPROTO_XLATE_H
#define OFPROTO_XLATE_H 1

#include "lib/nl/attrbuf.h"
#include "lib/pkt/flow.h"
#include "ofproto/dep.h"
#include "ofproto/lesson.h"

struct mac_table;
struct ofp_act;
struct recirc;
struct rule;
struct xconfig;
struct xlate_trace;
struct xport;

/* A packet of this flow teaches that (VLAN, MAC) is behind BUNDLE. */
struct effect {
    struct mac_table *macs; /* Alive as long as the snapshot that was translated with. */
    struct eth_addr mac;
    uint16_t vlan;
    uint32_t bundle;
};

/* A packet that crosses patch ports is learned from in each bridge. */
#define XLATE_MAX_EFFECTS 16
/* Bridges that a packet may pass; a loop of patch ports ends here. */
#define XLATE_MAX_DEPTH 64
/* Bridges that the copies of a packet may enter altogether: loops that are parallel multiply copies. */
#define XLATE_MAX_VISITS 4096
/* Tables that a packet may meet. */
#define XLATE_MAX_RULES 4096
/* Times that the datapath may be told to bring a packet back. */
#define XLATE_MAX_RECIRCS 32
/* Enough for flooding to more than 7,000 ports. */
#define XLATE_ACTIONS_SIZE (64 * 1024 - 256)

/* Why a packet is dropped, or that it is not. */
/* clang-format off */
#define XLATE_VERDICTS                                                                       \
    VERDICT(FORWARD,        "forwarded")                                                     \
    VERDICT(NO_PORT,        "the input port is in no bridge")                                \
    VERDICT(NO_RECV,        "the input port is not to receive it (OFPPC_NO_RECV)")                   \
    VERDICT(SECURE,         "the bridge has no OpenFlow rule (fail_mode=secure)")            \
    VERDICT(VLAN,           "the input port does not carry the packet's VLAN")               \
    VERDICT(RESERVED,       "reserved multicast address")                                    \
    VERDICT(SAME_PORT,      "the destination is on the input port")                          \
    VERDICT(PROTECTED,      "input and output port are both protected")                      \
    VERDICT(NO_OUTPUT,      "no port carries the packet's VLAN")                             \
    VERDICT(TABLES,         "the OpenFlow tables output it nowhere")                         \
    VERDICT(TTL,            "its TTL has expired")                                           \
    VERDICT(TOO_MANY_TAGS,  "it would have more VLAN tags than are possible")                \
    VERDICT(UNABLE,         "it is to be rewritten in a header that it does not have")        \
    VERDICT(NOT_KNOWN,      "it comes back with a recirculation id that nothing is known of")         \
    VERDICT(BRIDGE_GONE,    "the bridge that it comes back to is gone")                               \
    VERDICT(TOO_MANY_IDS,   "it is to come back, and there are too many recirculation ids")          \
    VERDICT(TOO_DEEP,       "too many bridges or tables (a loop?)")                          \
    VERDICT(TOO_BIG,        "more actions than the kernel accepts")
/* clang-format on */
enum xlate_verdict {
#define VERDICT(NAME, TEXT) XLATE_##NAME,
    XLATE_VERDICTS
#undef VERDICT
    XLATE_N_VERDICTS
};
/* Is nothing known of the port, or the recirculation id, that the packet has, or was there no id to give it?  Then there is nothing to make a
 * flow of: it may be otherwise for the next packet, and nothing would say so. */
static inline bool xlate_is_stray(enum xlate_verdict v)
{
    return v == XLATE_NO_PORT || v == XLATE_NOT_KNOWN || v == XLATE_BRIDGE_GONE || v == XLATE_TOO_MANY_IDS;
}
const char *xlate_verdict_text(enum xlate_verdict verdict);

struct xlate_out {
    struct attrbuf actions; /* Empty: drop.  Memory is the caller's. */
    struct flow mask;
    enum xlate_verdict verdict; /* Of the bridge that the packet came in at. */
    unsigned int n_effects;
    struct effect effects[XLATE_MAX_EFFECTS];
    struct dep_list deps; /* What was looked up in MAC tables. */
    /* The rules that the packet met, in order, each as often as it met it.  Memory for XLATE_MAX_RULES is the caller's; NULL: not wanted. */
    struct rule **rules;
    unsigned int n_rules;
    /* The recirculation ids in 'actions'; found under RCU. */
    struct recirc *recircs[XLATE_MAX_RECIRCS];
    unsigned int n_recircs;
    /* Why the kernel cannot carry out 'actions', ODP_SLOW_* (odp-cookie.h); 0: it can.  They are then for slow_run() (slow.h), and the flow is to
     * hand its packets up: xlate_put_slow(). */
    uint32_t slow;
    uint32_t pid; /* Where to. */
    uint32_t slow_meter; /* 1 + the number of the meter that they pass on the way; 0: none. */
    /* What it teaches the tables.  Memory of LESSONS_SIZE, and 'scratch', are the caller's; NULL: not wanted. */
    struct lesson_list lessons;
};

/* Appends what a flow in the datapath does whose OUT is 'slow'. */
void xlate_put_slow(const struct xlate_out *out, struct attrbuf *b);

struct xbridge;
/* A packet that a controller wants sent. */
struct xlate_packet_out {
    ofp_port_t in_port; /* As if it had come in there; it need not exist. */
    const struct flow *flow; /* Of the packet; in_port is the datapath's port, or ODPP_NONE. */
    const struct ofp_act *acts;
    size_t acts_len;
};
/* Has BR do PO->acts.  OUT's mask says nothing.  Under RCU. */
void xlate_packet_out(const struct xbridge *br, const struct xlate_packet_out *po, struct xlate_out *out);

/* Translates FLOW with CONFIG (NULL: every port is unknown) into *OUT, whose 'actions' the caller has initialised.  Under RCU. */
void xlate(const struct xconfig *config, const struct flow *flow, struct xlate_out *out);

/* A packet that need not have come in by a port of the datapath: for ofproto/trace. */
struct xlate_in {
    const struct flow *flow; /* Its registers and metadata, too, are what the first bridge begins with. */
    /* By which it comes, in place of flow->in_port: a patch port as well.  One that is not there needs a number and a bundle with
     * its bridge only. */
    const struct xport *port;
    const struct ofp_act *acts; /* ACTS_LEN bytes of actions, that are done in place of table 0's; NULL: table 0. */
    size_t acts_len;
    struct xlate_trace *trace; /* Gets the steps (xlate-trace.h); NULL: nobody wants them. */
};
/* Translates IN as xlate() does.  CONFIG is not NULL. */
void xlate_from(const struct xconfig *config, const struct xlate_in *in, struct xlate_out *out);

#endif
