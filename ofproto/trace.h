/* ofproto/trace and ofproto/trace-packet-out: what they share.  Private to trace*.c.
 *
 *     trace-ctl.c    the commands: their arguments, one translation, its effects if a packet was given
 *     trace-flow.c   from text to the packet that is traced
 *     trace-print.c  what is answered
 *
 * They run in the control socket's thread, in one RCU read section: nobody waits for them, and they wait for nobody. */
#ifndef OFPROTO_TRACE_H
#define OFPROTO_TRACE_H 1

#include <stdio.h>

#include "lib/base/buf.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-trace.h"
#include "ofproto/xlate.h"

/* What is traced. */
struct trace_packet {
    const struct xbridge *bridge;
    const struct xport *port;     /* By which it comes in; may be: */
    struct xlate_outside outside; /* one that the bridge does not have. */
    struct flow flow;             /* 'ofp_in_port' is that port's number. */
};

/* Reads TEXT, as of `ovs-dpctl dump-flows`; or as of ovs-ofctl, for BRIDGE.  Ports may be named.  Returns NULL, or what is wrong in words, to be freed.
 * Under RCU. */
char *trace_scan_odp_flow(const struct xconfig *config, const char *text, struct trace_packet *ret);
char *trace_scan_br_flow(const struct xconfig *config, const struct xbridge *bridge, const char *text, struct trace_packet *ret);
/* The bytes of a frame, in hexadecimal.  Returns false, with nothing put, if TEXT is something else. */
bool trace_scan_hex(const char *text, struct buf *ret);
/* Reads a conntrack state: "trk,new". */
char *trace_scan_ct_state(const char *text, uint32_t *ret);

/* Makes IN, and what came of it, into the answer. */
struct trace_result {
    const struct trace_packet *packet;
    const struct xlate_trace *steps;
    const struct xlate_out *out;
};
void trace_print(FILE *out, const struct trace_result *r);
/* What stands before the part about F, whose conntrack state has been CHOSEN (--ct-next), or not. */
void trace_print_fork(FILE *out, const struct xlate_fork *f, bool chosen);

#endif
