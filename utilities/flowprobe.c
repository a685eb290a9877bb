/* Probe packets: see flowprobe.h for the format.
 *
 * Writing is split in what is the same for all packets of a buffer (prepare), what tells one packet from another
 * (write) and the time (stamp), because flowgen writes millions and has to stamp again what the kernel did not take at
 * once.
 *
 * Threads: any; there is no state. */
#include <config.h>

#include "utilities/flowprobe.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define ETH_LEN     14
#define ARP_LEN     28
#define PROBE_LEN   24
#define ETH_MIN_LEN 60 /* Without the checksum. */
#define STAMP       16 /* Of the time, in the probe. */

_Static_assert(FLOWPROBE_MAX_HEAD == ETH_LEN + ARP_LEN + PROBE_LEN, "the longest head");

static void put_16(uint8_t *p, uint16_t v)
{
    v = htobe16(v);
    memcpy(p, &v, sizeof v);
}

static void put_32(uint8_t *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, sizeof v);
}

static void put_64(uint8_t *p, uint64_t v)
{
    v = htobe64(v);
    memcpy(p, &v, sizeof v);
}

static uint32_t get_32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return be32toh(v);
}

static uint64_t get_64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return be64toh(v);
}

/* Returns where in a frame of type ETHERTYPE the magic number is. */
size_t flowprobe_offset(uint16_t ethertype)
{
    return ethertype == FLOWPROBE_ETHERTYPE_ARP ? ETH_LEN + ARP_LEN : ETH_LEN;
}

/* Returns the size, without checksum, of the shortest probe of type ETHERTYPE. */
size_t flowprobe_min_size(uint16_t ethertype)
{
    size_t size = flowprobe_offset(ethertype) + PROBE_LEN;

    return size > ETH_MIN_LEN ? size : ETH_MIN_LEN;
}

/* Returns the source address of FLOW of STREAM: a locally administered one, different for each pair within
 * FLOWPROBE_MAX_STREAM and FLOWPROBE_MAX_FLOW. */
struct eth_addr flowprobe_source(uint32_t stream, uint32_t flow)
{
    return (struct eth_addr){ { 0x02, stream >> 8, stream, flow >> 16, flow >> 8, flow } };
}

/* Writes to FRAME, of SIZE bytes, at least flowprobe_min_size(ETHERTYPE), what its probes will have in common. */
void flowprobe_prepare(uint8_t *frame, size_t size, struct eth_addr dst, uint16_t ethertype)
{
    /* Hardware Ethernet, protocol IPv4, 6 and 4 bytes an address, a request. */
    static const uint8_t arp[] = { 0, 1, 0x08, 0, 6, 4, 0, 1 };
    static const uint8_t arp_target[] = { 10, 255, 255, 254 };

    memset(frame, 0, size);
    memcpy(frame, &dst, 6);
    put_16(frame + 12, ethertype);
    if (ethertype == FLOWPROBE_ETHERTYPE_ARP) {
        memcpy(frame + ETH_LEN, arp, sizeof arp);
        memcpy(frame + ETH_LEN + 24, arp_target, sizeof arp_target);
    }
    put_32(frame + flowprobe_offset(ethertype), FLOWPROBE_MAGIC);
}

/* Makes FRAME, which was prepared for ETHERTYPE, the probe P. */
void flowprobe_write(uint8_t *frame, uint16_t ethertype, const struct flowprobe *p)
{
    struct eth_addr source = flowprobe_source(p->stream, p->flow);
    uint8_t *probe = frame + flowprobe_offset(ethertype);

    memcpy(frame + 6, &source, 6);
    if (ethertype == FLOWPROBE_ETHERTYPE_ARP) {
        memcpy(frame + ETH_LEN + 8, &source, 6);
        put_32(frame + ETH_LEN + 14, 10u << 24 | (p->flow & 0xffffff));
    }
    put_32(probe + 4, p->stream);
    put_32(probe + 8, p->flow);
    put_32(probe + 12, p->seq);
    put_64(probe + STAMP, p->sent_ns);
}

/* Gives FRAME, a probe of type ETHERTYPE, another time of sending. */
void flowprobe_stamp(uint8_t *frame, uint16_t ethertype, uint64_t sent_ns)
{
    put_64(frame + flowprobe_offset(ethertype) + STAMP, sent_ns);
}

/* Reads the probe in FRAME, of which SIZE bytes are there.  Returns 0, or -EMSGSIZE if it ends before a probe would, or
 * -EPROTO if it is something else than a probe; in *RET nothing is changed then. */
int flowprobe_read(const uint8_t *frame, size_t size, struct flowprobe *ret)
{
    if (size < ETH_LEN) {
        return -EMSGSIZE;
    }
    const uint8_t *probe = frame + flowprobe_offset(frame[12] << 8 | frame[13]);
    if (size < probe - frame + PROBE_LEN) {
        return -EMSGSIZE;
    }
    if (get_32(probe) != FLOWPROBE_MAGIC) {
        return -EPROTO;
    }
    *ret = (struct flowprobe){
        .stream = get_32(probe + 4),
        .flow = get_32(probe + 8),
        .seq = get_32(probe + 12),
        .sent_ns = get_64(probe + STAMP),
    };
    return 0;
}
