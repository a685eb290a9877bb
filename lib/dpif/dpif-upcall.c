/* The message that an upcall arrives as.
 *
 * Purpose: one reader and one writer of OVS_PACKET_CMD_MISS and OVS_PACKET_CMD_ACTION, see the header.
 *
 * Threads and owners: pure functions.  The reader runs once a packet in every handler: it allocates nothing, locks
 * nothing, and copies nothing but a few scalars. */
#include <config.h>

#include "lib/dpif/dpif-upcall.h"

#include <errno.h>
#include <linux/openvswitch.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/dpif/dpif.h"
#include "lib/nl/attrbuf.h"
#include "lib/nl/nl.h"

/* All that stands before the attributes. */
struct upcall_header {
    struct nlmsghdr nlh;
    struct genlmsghdr genl;
    struct ovs_header ovs;
};
_Static_assert(sizeof(struct upcall_header) == NLMSG_HDRLEN + GENL_HDRLEN + 4, "headers are packed by nature");

static const struct nl_policy upcall_policy[] = {
    [OVS_PACKET_ATTR_PACKET] = { .required = true },
    [OVS_PACKET_ATTR_KEY] = { .required = true },
    [OVS_PACKET_ATTR_USERDATA] = { 0 },
    [OVS_PACKET_ATTR_EGRESS_TUN_KEY] = { 0 },
    [OVS_PACKET_ATTR_MRU] = { .min = 2, .max = 2 },
    [OVS_PACKET_ATTR_HASH] = { .min = 8, .max = 8 },
};

/* Sets *RET to the kind of upcall that command CMD is. */
static int type_from_cmd(uint8_t cmd, enum dpif_upcall_type *ret)
{
    switch (cmd) {
    case OVS_PACKET_CMD_MISS:
        *ret = DPIF_UC_MISS;
        return 0;
    case OVS_PACKET_CMD_ACTION:
        *ret = DPIF_UC_ACTION;
        return 0;
    default:
        return -EINVAL;
    }
}

/* See dpif-upcall.h. */
int dpif_upcall_msg_parse(uint16_t family, int dp_ifindex, const void *msg, size_t len, struct dpif_upcall *ret)
{
    const struct upcall_header *h = msg;
    enum dpif_upcall_type type;
    if (len < sizeof *h || h->nlh.nlmsg_len < sizeof *h || h->nlh.nlmsg_len > len || h->nlh.nlmsg_type != family ||
        type_from_cmd(h->genl.cmd, &type)) {
        return -EINVAL;
    }
    const struct nlattr *tb[ARRAY_SIZE(upcall_policy)];
    int error = nl_attrs_parse(h + 1, h->nlh.nlmsg_len - sizeof *h, upcall_policy, ARRAY_SIZE(upcall_policy), tb);
    if (error) {
        return error;
    }
    if (h->ovs.dp_ifindex != dp_ifindex) {
        return -ESTALE;
    }

    ret->type = type;
    ret->packet = mnl_attr_get_payload(tb[OVS_PACKET_ATTR_PACKET]);
    ret->packet_len = mnl_attr_get_payload_len(tb[OVS_PACKET_ATTR_PACKET]);
    ret->key = mnl_attr_get_payload(tb[OVS_PACKET_ATTR_KEY]);
    ret->key_len = mnl_attr_get_payload_len(tb[OVS_PACKET_ATTR_KEY]);
    ret->userdata = tb[OVS_PACKET_ATTR_USERDATA];
    ret->egress_tun_key = tb[OVS_PACKET_ATTR_EGRESS_TUN_KEY];
    ret->mru = tb[OVS_PACKET_ATTR_MRU] ? mnl_attr_get_u16(tb[OVS_PACKET_ATTR_MRU]) : 0;
    ret->has_hash = tb[OVS_PACKET_ATTR_HASH] != NULL;
    ret->hash = ret->has_hash ? mnl_attr_get_u64(tb[OVS_PACKET_ATTR_HASH]) : 0;
    return 0;
}

/* See dpif-upcall.h.  The order of the attributes is the kernel's: the packet is last, and not padded. */
int dpif_upcall_msg_build(uint16_t family, int dp_ifindex, const struct dpif_upcall *uc, void *buf, size_t size)
{
    if (size < sizeof(struct upcall_header)) {
        return -EMSGSIZE;
    }
    struct attrbuf b;
    attrbuf_init(&b, buf, size);
    struct upcall_header *h = buf;
    h->nlh.nlmsg_len = sizeof *h;
    h->nlh.nlmsg_type = family;
    h->genl = (struct genlmsghdr){
        .cmd = uc->type == DPIF_UC_MISS ? OVS_PACKET_CMD_MISS : OVS_PACKET_CMD_ACTION,
        .version = OVS_PACKET_VERSION,
    };
    h->ovs.dp_ifindex = dp_ifindex;

    attrbuf_put(&b, OVS_PACKET_ATTR_KEY, uc->key, uc->key_len);
    if (uc->userdata) {
        attrbuf_put(&b, OVS_PACKET_ATTR_USERDATA, mnl_attr_get_payload(uc->userdata),
                    mnl_attr_get_payload_len(uc->userdata));
    }
    if (uc->egress_tun_key) {
        attrbuf_put(&b, OVS_PACKET_ATTR_EGRESS_TUN_KEY, mnl_attr_get_payload(uc->egress_tun_key),
                    mnl_attr_get_payload_len(uc->egress_tun_key));
    }
    if (uc->mru) {
        attrbuf_put_u16(&b, OVS_PACKET_ATTR_MRU, uc->mru);
    }
    if (uc->has_hash) {
        attrbuf_put_u64(&b, OVS_PACKET_ATTR_HASH, uc->hash);
    }
    size_t before = h->nlh.nlmsg_len;
    attrbuf_put(&b, OVS_PACKET_ATTR_PACKET, uc->packet, uc->packet_len);
    if (b.overflow) {
        return -EMSGSIZE;
    }
    h->nlh.nlmsg_len = before + MNL_ATTR_HDRLEN + uc->packet_len;
    return h->nlh.nlmsg_len;
}
