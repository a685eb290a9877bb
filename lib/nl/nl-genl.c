/* Generic netlink: message headers, and the resolution of family and group names to numbers.
 *
 * Threads and owners: nothing of its own; a resolution uses the caller's socket.  Numbers are given out when a module
 * is loaded and change when it is loaded again, so they are resolved once an open datapath and not kept longer. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/nl/nl.h"

struct resolution {
    const char *group; /* Wanted; may be NULL. */
    uint16_t family;
    uint32_t group_id; /* 0: not found. */
};

/* Starts a message for FAMILY in BUF, NLM_F_REQUEST and FLAGS set. */
struct nlmsghdr *nl_genl_begin(void *buf, uint16_t family, uint16_t flags, uint8_t cmd, uint8_t version)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = family;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = cmd;
    genl->version = version;
    return nlh;
}

/* The number of group NAME in the list GROUPS, or 0. */
static uint32_t find_group(const struct nlattr *groups, const char *name)
{
    static const struct nl_policy policy[] = {
        [CTRL_ATTR_MCAST_GRP_NAME] = { .min = 1, .required = true },
        [CTRL_ATTR_MCAST_GRP_ID] = { .min = 4, .max = 4, .required = true },
    };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    const struct nlattr *entry;
    mnl_attr_for_each_nested(entry, groups)
    {
        size_t len = strlen(name) + 1;
        if (!nl_attrs_parse(mnl_attr_get_payload(entry), mnl_attr_get_payload_len(entry), policy, ARRAY_SIZE(policy),
                            tb) &&
            mnl_attr_get_payload_len(tb[CTRL_ATTR_MCAST_GRP_NAME]) == len &&
            !memcmp(mnl_attr_get_payload(tb[CTRL_ATTR_MCAST_GRP_NAME]), name, len)) {
            return mnl_attr_get_u32(tb[CTRL_ATTR_MCAST_GRP_ID]);
        }
    }
    return 0;
}

/* Reads the controller's description of a family. */
static int resolve_cb(const struct nlmsghdr *nlh, void *aux)
{
    static const struct nl_policy policy[] = {
        [CTRL_ATTR_FAMILY_ID] = { .min = 2, .max = 2, .required = true },
        [CTRL_ATTR_MCAST_GROUPS] = { 0 },
    };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    struct resolution *r = aux;
    size_t len = mnl_nlmsg_get_payload_len(nlh);
    if (len < GENL_HDRLEN || nl_attrs_parse((const char *) mnl_nlmsg_get_payload(nlh) + GENL_HDRLEN, len - GENL_HDRLEN,
                                            policy, ARRAY_SIZE(policy), tb)) {
        return -EBADMSG;
    }
    r->family = mnl_attr_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
    if (r->group && tb[CTRL_ATTR_MCAST_GROUPS]) {
        r->group_id = find_group(tb[CTRL_ATTR_MCAST_GROUPS], r->group);
    }
    return 0;
}

/* See nl.h.  The kernel loads the module of a family that it does not have, if it can. */
int nl_genl_resolve(struct nl_sock *sock, const char *name, const char *group, uint16_t *ret_family,
                    uint32_t *ret_group)
{
    uint32_t buf[64] = { 0 }; /* An attribute's padding, which libmnl leaves as it is, is sent too. */
    if (strlen(name) >= GENL_NAMSIZ) {
        return -ENAMETOOLONG;
    }
    struct nlmsghdr *req = nl_genl_begin(buf, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, 1);
    mnl_attr_put_strz(req, CTRL_ATTR_FAMILY_NAME, name);

    struct resolution r = { .group = group };
    int error = nl_transact(sock, req, resolve_cb, &r);
    if (error) {
        return error;
    }
    if (!r.family || (group && !r.group_id)) {
        return -ENOENT;
    }
    *ret_family = r.family;
    if (group && ret_group) {
        *ret_group = r.group_id;
    }
    return 0;
}
