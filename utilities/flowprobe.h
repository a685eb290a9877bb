/* Probe packets: what flowgen sends and flowsink knows again.
 *
 * A probe is an Ethernet frame with a source address of its flow's own, so that a switch that learns addresses has
 * never seen it, and behind the headers 24 bytes that say which packet it is and when it was sent:
 *
 *     destination (6)   02 SS SS FF FF FF (6)   Ethernet type (2)
 *     [if it is ARP: a well-formed request (28), who-has 10.255.255.254 tell 10.FF.FF.FF]
 *     "FPrb" (4)   stream (4)   flow (4)   sequence in the flow (4)   CLOCK_MONOTONIC ns of sending (8)
 *     zeros to the wanted size
 *
 * SSSS is the stream, FFFFFF the flow; numbers are in network byte order. */
#ifndef FLOWPROBE_H
#define FLOWPROBE_H 1

#include <stddef.h>
#include <stdint.h>

#include "lib/base/types.h"

#define FLOWPROBE_ETHERTYPE     0x88b5 /* IEEE 802 local experimental. */
#define FLOWPROBE_ETHERTYPE_ARP 0x0806
#define FLOWPROBE_MAGIC         0x46507262u /* "FPrb" */
#define FLOWPROBE_MAX_STREAM    0xffffu
#define FLOWPROBE_MAX_FLOW      0xffffffu
#define FLOWPROBE_MAX_HEAD      (14 + 28 + 24) /* No probe says anything behind that. */

struct flowprobe {
    uint32_t stream;
    uint32_t flow;
    uint32_t seq;     /* Of the packet in its flow, from 0. */
    uint64_t sent_ns; /* CLOCK_MONOTONIC. */
};

size_t flowprobe_offset(uint16_t ethertype);
size_t flowprobe_min_size(uint16_t ethertype);
struct eth_addr flowprobe_source(uint32_t stream, uint32_t flow);

void flowprobe_prepare(uint8_t *frame, size_t size, struct eth_addr dst, uint16_t ethertype);
void flowprobe_write(uint8_t *frame, uint16_t ethertype, const struct flowprobe *p);
void flowprobe_stamp(uint8_t *frame, uint16_t ethertype, uint64_t sent_ns);
int flowprobe_read(const uint8_t *frame, size_t size, struct flowprobe *ret);

#endif
