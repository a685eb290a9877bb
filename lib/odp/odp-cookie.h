/* Cookies: what a flow's userspace action says to whoever gets the packet.
 *
 * A flow may hand packets up: OVS_ACTION_ATTR_USERSPACE, with bytes of ours (OVS_USERSPACE_ATTR_USERDATA) that come along with the packet in
 * an upcall of type ACTION.  These bytes are the cookie.  There are two kinds:
 *
 *     CONTROLLER  the packet, as it is there, is for OpenFlow controllers: a packet-in
 *     SLOW        the kernel cannot do what is to be done with the flow's packets: the handler does it for each of them
 *
 * A CONTROLLER cookie has all that a packet-in says of the packet and that the packet, with the key that the kernel sends along with it, does
 * not: the reason, the rule, what the pipeline knew (its input port, metadata, registers), userdata of controller(...).  It is the alternative
 * to translating the packet once more up to that point, or to a table of frozen states with numbers that somebody has to give back.  It costs 40
 * bytes in the flow, and 4 for each register that is not 0.  All of it follows from bits that the flow matches on, so that
 * one cookie is true of all packets of a megaflow.  What came with the packet itself (tunnel, mark, connection) is in the upcall's key.
 *
 * The bytes depend on what they say and on nothing else: flows that are read back from the kernel compare equal.  They begin with a kind and a
 * version, and have a length that follows from them, so that what a predecessor, or another program, has put there is
 * told apart; but they are not proof of anything: whoever may install flows may write them.
 *
 * The port id.  In per-port dispatch the kernel sends the upcall to the port id of the action itself, which must be the channel's of the port
 * that the packet came in by (struct xport, 'upcall_pid'); in per-CPU dispatch it ignores it, but refuses 0. */
#ifndef ODP_COOKIE_H
#define ODP_COOKIE_H 1

#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/types.h"
#include "lib/pkt/flow.h"

struct attrbuf;

enum odp_cookie_kind { ODP_COOKIE_CONTROLLER = 1, ODP_COOKIE_SLOW = 2 };

/* CONTROLLER: flags. */
enum {
    ODP_COOKIE_MISS = 1 << 0,       /* No rule of the table matched, and there is none that says what to do then. */
    ODP_COOKIE_TABLE_MISS = 1 << 1, /* The rule is the table's for packets that match no other: priority 0, matches all. */
};

/* SLOW: why; a set of bits.  Packaged tools call the first "action". */
enum {
    ODP_SLOW_ACTION = 1 << 0, /* It is to be rewritten as the kernel cannot. */
    ODP_SLOW_MATCH = 1 << 1,  /* It is to be matched as the kernel cannot. */
};

/* More is refused: in a message to the kernel there is room for it, but in a flow that sends a packet to many controllers not often. */
#define ODP_COOKIE_MAX_USERDATA 8192
/* The largest cookie. */
#define ODP_COOKIE_MAX (40 + 4 * FLOW_N_REGS + ODP_COOKIE_MAX_USERDATA)

struct odp_cookie {
    enum odp_cookie_kind kind;
    uint32_t slow; /* SLOW: ODP_SLOW_*; the rest is 0. */

    /* CONTROLLER. */
    uint32_t bridge; /* Its id (struct xbridge). */
    uint8_t reason;  /* enum ofp_packet_in_reason. */
    uint8_t flags;
    uint8_t table_id;
    uint16_t controller_id;
    uint16_t max_len; /* Bytes of the packet that are wanted; UINT16_MAX: all. */
    uint64_t rule_cookie; /* UINT64_MAX: there is no rule. */
    ofp_port_t in_port;
    be64 metadata;
    be32 regs[FLOW_N_REGS];
    struct bytes userdata; /* p NULL: none.  At most ODP_COOKIE_MAX_USERDATA. */
};

/* Appends an action that sends the packet up with C, to port id PID (not 0). */
void odp_put_cookie(struct attrbuf *b, uint32_t pid, const struct odp_cookie *c);
/* Appends only OVS_USERSPACE_ATTR_USERDATA, for who makes the action. */
void odp_cookie_put(struct attrbuf *b, const struct odp_cookie *c);
/* Reads the N bytes of userdata at P.  False: they are no cookie of ours.  The userdata in *RET points into them. */
bool odp_cookie_get(const void *p, size_t n, struct odp_cookie *ret);

/* "slow_path(action)", "controller(reason=1,rule_cookie=0x0,...)": begins as packaged tools print theirs, and says all that there is. */
void odp_cookie_print(FILE *out, const struct odp_cookie *c);
/* Reads the same, NAME(BODY); USERDATA is ODP_COOKIE_MAX_USERDATA bytes of memory for it.  Returns NULL, or what is wrong, to be freed.  BODY is
 * written to. */
char *odp_cookie_scan(const char *name, char *body, uint8_t *userdata, struct odp_cookie *ret);

#endif
