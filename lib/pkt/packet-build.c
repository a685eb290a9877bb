/* Frames made by hand.  Each function writes into the caller's structure and keeps nothing.
 *
 * IPv4 headers carry a right checksum, so that a kernel accepts the frames; the transport checksums are zero, which
 * UDP allows over IPv4 and no datapath checks. */
#include <config.h>

#include "lib/pkt/packet-build.h"

#include <string.h>

#include "lib/pkt/flow.h"

static void put_u16(uint8_t *p, uint16_t v)
{
    p[0] = v >> 8;
    p[1] = v & 0xff;
}

static void put_u32(uint8_t *p, uint32_t v)
{
    put_u16(p, v >> 16);
    put_u16(p + 2, v & 0xffff);
}

void packet_build_bytes(struct packet_build *p, const void *data, size_t n)
{
    if (n > sizeof p->data - p->len) {
        n = sizeof p->data - p->len;
    }
    if (data) {
        memcpy(p->data + p->len, data, n);
    } else {
        memset(p->data + p->len, 0, n);
    }
    p->len += n;
}

void packet_build_eth(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint16_t eth_type)
{
    uint8_t type[2];

    p->len = 0;
    put_u16(type, eth_type);
    packet_build_bytes(p, &dst, 6);
    packet_build_bytes(p, &src, 6);
    packet_build_bytes(p, type, 2);
}

void packet_build_vlan(struct packet_build *p, uint16_t tpid, uint16_t tci)
{
    if (p->len < 12 || p->len + 4 > sizeof p->data) {
        return;
    }
    memmove(p->data + 16, p->data + 12, p->len - 12);
    put_u16(p->data + 12, tpid);
    put_u16(p->data + 14, tci);
    p->len += 4;
}

void packet_build_arp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint16_t op, uint32_t sip,
                      uint32_t tip)
{
    uint8_t arp[28] = { 0, 1, 8, 0, 6, 4 };

    put_u16(arp + 6, op);
    memcpy(arp + 8, &src, 6);
    put_u32(arp + 14, sip);
    if (!eth_addr_is_multicast(dst)) {
        memcpy(arp + 18, &dst, 6);
    }
    put_u32(arp + 24, tip);
    packet_build_eth(p, src, dst, ETH_TYPE_ARP);
    packet_build_bytes(p, arp, sizeof arp);
}

/* Ethernet and IPv4 headers for PAYLOAD bytes that the caller appends. */
static void begin_ipv4(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                       uint8_t proto, size_t payload)
{
    uint8_t ip[20] = { 0x45, 0 };
    uint32_t sum = 0;

    put_u16(ip + 2, sizeof ip + payload);
    ip[8] = 64;
    ip[9] = proto;
    put_u32(ip + 12, sip);
    put_u32(ip + 16, dip);
    for (size_t i = 0; i < sizeof ip; i += 2) {
        sum += ip[i] << 8 | ip[i + 1];
    }
    sum = (sum >> 16) + (sum & 0xffff);
    sum += sum >> 16;
    put_u16(ip + 10, ~sum & 0xffff);
    packet_build_eth(p, src, dst, ETH_TYPE_IPV4);
    packet_build_bytes(p, ip, sizeof ip);
}

void packet_build_ipv4(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                       uint8_t proto, size_t payload)
{
    begin_ipv4(p, src, dst, sip, dip, proto, payload);
    packet_build_bytes(p, NULL, payload);
}

void packet_build_udp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                      uint16_t sport, uint16_t dport, size_t payload)
{
    uint8_t udp[8] = { 0 };

    put_u16(udp, sport);
    put_u16(udp + 2, dport);
    put_u16(udp + 4, sizeof udp + payload);
    begin_ipv4(p, src, dst, sip, dip, IPPROTO_UDP, sizeof udp + payload);
    packet_build_bytes(p, udp, sizeof udp);
    packet_build_bytes(p, NULL, payload);
}

void packet_build_tcp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                      uint16_t sport, uint16_t dport, uint16_t flags)
{
    uint8_t tcp[20] = { 0 };

    put_u16(tcp, sport);
    put_u16(tcp + 2, dport);
    put_u16(tcp + 12, 5 << 12 | (flags & 0xfff));
    begin_ipv4(p, src, dst, sip, dip, IPPROTO_TCP, sizeof tcp);
    packet_build_bytes(p, tcp, sizeof tcp);
}

void packet_build_icmp(struct packet_build *p, struct eth_addr src, struct eth_addr dst, uint32_t sip, uint32_t dip,
                       uint8_t type, uint8_t code)
{
    uint8_t icmp[8] = { type, code };

    begin_ipv4(p, src, dst, sip, dip, IPPROTO_ICMP, sizeof icmp);
    packet_build_bytes(p, icmp, sizeof icmp);
}

void packet_build_ipv6(struct packet_build *p, struct eth_addr src, struct eth_addr dst, const struct in6_addr *sip,
                       const struct in6_addr *dip, uint8_t next, size_t payload)
{
    uint8_t ip[40] = { 0x60 };

    put_u16(ip + 4, payload);
    ip[6] = next;
    ip[7] = 64;
    memcpy(ip + 8, sip, 16);
    memcpy(ip + 24, dip, 16);
    packet_build_eth(p, src, dst, ETH_TYPE_IPV6);
    packet_build_bytes(p, ip, sizeof ip);
    packet_build_bytes(p, NULL, payload);
}
