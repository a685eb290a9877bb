/* Frames made by hand: for tests, traces and probes. */
#ifndef PKT_PACKET_BUILD_H
#define PKT_PACKET_BUILD_H 1

#include <netinet/in.h>

#include "lib/base/types.h"

#define PACKET_BUILD_MAX 2048

/* A frame under construction.  What does not fit is left out: 'len' never exceeds PACKET_BUILD_MAX. */
struct packet_build {
    uint8_t data[PACKET_BUILD_MAX];
    size_t len;
};

/* Starts a frame with an Ethernet header; ETH_TYPE is in host order here and below. */
void packet_build_eth(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint16_t eth_type);
/* Appends N bytes; NULL: zeroes. */
void packet_build_bytes(struct packet_build *p, const void *data, size_t n);
/* Puts a tag in front of whatever follows the addresses: the new tag is the outermost. */
void packet_build_vlan(struct packet_build *p, uint16_t tpid, uint16_t tci);

/* Whole frames.  Addresses of ports and hosts in host order. */
void packet_build_arp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint16_t op, uint32_t sip,
                      uint32_t tip);
void packet_build_ipv4(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                       uint8_t proto, size_t payload);
void packet_build_udp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                      uint16_t sport, uint16_t dport, size_t payload);
void packet_build_tcp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                      uint16_t sport, uint16_t dport, uint16_t flags);
void packet_build_icmp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                       uint8_t type, uint8_t code);
void packet_build_ipv6(struct packet_build *p, struct eth_addr src, struct eth_addr dst, const struct in6_addr *sip,
                       const struct in6_addr *dip, uint8_t next, size_t payload);

#endif
