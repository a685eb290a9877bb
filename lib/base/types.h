/* Types that every layer shares.
 *
 * Port numbers come in two numberings that must not be mixed: the datapath's (odp_port_t, chosen by
 * the kernel) and OpenFlow's (ofp_port_t, seen by controllers and in the database).  They are
 * structures, so that the compiler refuses to take the one for the other. */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Integers in network byte order.  Only a remark to the reader. */
typedef uint16_t be16;
typedef uint32_t be32;
typedef uint64_t be64;

typedef struct { uint32_t n; } odp_port_t;
typedef struct { uint16_t n; } ofp_port_t;

#define ODPP_LOCAL ((odp_port_t) { 0 })
#define ODPP_NONE ((odp_port_t) { UINT32_MAX })
#define OFPP_LOCAL ((ofp_port_t) { 0xfffe })
#define OFPP_NONE ((ofp_port_t) { 0xffff })
/* Reserved numbers, for switch statements. */
enum {
    OFPP_UNSET_N = 0xfff7,
    OFPP_IN_PORT_N = 0xfff8,
    OFPP_TABLE_N = 0xfff9,
    OFPP_NORMAL_N = 0xfffa,
    OFPP_FLOOD_N = 0xfffb,
    OFPP_ALL_N = 0xfffc,
    OFPP_CONTROLLER_N = 0xfffd,
    OFPP_LOCAL_N = 0xfffe,
    OFPP_NONE_N = 0xffff,
};
#define OFP_TABLE_ALL 0xff /* Of tables: all, or none in particular. */
#define OFPG_ANY UINT32_MAX /* Of groups: no one in particular. */
#define OFPP_MAX 0xff00 /* Physical ports are numbered 1 to OFPP_MAX - 1. */

static inline bool odp_port_eq(odp_port_t a, odp_port_t b) { return a.n == b.n; }
static inline bool ofp_port_eq(ofp_port_t a, ofp_port_t b) { return a.n == b.n; }

struct eth_addr {
    uint8_t ea[6];
};

#define ETH_ADDR_FMT "%02x:%02x:%02x:%02x:%02x:%02x"
#define ETH_ADDR_ARGS(A) (A).ea[0], (A).ea[1], (A).ea[2], (A).ea[3], (A).ea[4], (A).ea[5]

static inline bool eth_addr_eq(struct eth_addr a, struct eth_addr b) { return !memcmp(&a, &b, 6); }
static inline bool eth_addr_is_multicast(struct eth_addr a) { return a.ea[0] & 1; }
static inline bool eth_addr_is_zero(struct eth_addr a)
{
    return !(a.ea[0] | a.ea[1] | a.ea[2] | a.ea[3] | a.ea[4] | a.ea[5]);
}
/* 01:80:c2:00:00:00 to :0f: reserved by IEEE 802.1D, never forwarded by a bridge. */
static inline bool eth_addr_is_reserved(struct eth_addr a)
{
    static const uint8_t prefix[5] = { 0x01, 0x80, 0xc2, 0x00, 0x00 };
    return !memcmp(a.ea, prefix, 5) && a.ea[5] < 0x10;
}
static inline uint64_t eth_addr_to_u64(struct eth_addr a)
{
    uint64_t v = 0;
    for (int i = 0; i < 6; i++) {
        v = v << 8 | a.ea[i];
    }
    return v;
}

/* Unique flow identifier: 128 bits by which the kernel and we name one megaflow. */
struct ufid {
    uint64_t hi, lo;
};
static inline bool ufid_eq(const struct ufid *a, const struct ufid *b)
{
    return a->hi == b->hi && a->lo == b->lo;
}

#endif
