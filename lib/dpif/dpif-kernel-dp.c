/* The datapath itself: found or made, its features, its statistics, who gets its upcalls.
 *
 * Threads and owners: each function works on its caller's session.  What is found out at open is immutable afterwards.
 *
 * The feature word.  The kernel keeps one 32-bit word of features a datapath; a SET without it clears it, and with
 * it replaces it.  What a kernel would accept has to be tried, but a trial must not change the word of a datapath that
 * forwards packets at this moment (of a daemon that died, whose flows we adopt).  So the trial asks for the features
 * together with an impossible size of the mask cache: the kernel looks at the features first and at the size next, and
 * changes nothing before both are right.  -EOPNOTSUPP: it knows not the features; -EINVAL: it would have taken them.  A
 * kernel that takes the request knows neither (older than 5.10) and takes any word; then the old word is put back. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-kernel.h"

LOG_MODULE(dpif_netlink_dp);

/* No power of two, so no size of the mask cache. */
#define IMPOSSIBLE_CACHE_SIZE 3

/* What we always want: upcalls need no padding. */
#define BASE_FEATURES OVS_DP_F_UNALIGNED

static const struct nl_policy dp_policy[] = {
    [OVS_DP_ATTR_NAME] = { .min = 1, .max = IFNAMSIZ, .required = true },
    [OVS_DP_ATTR_STATS] = { .min = sizeof(struct ovs_dp_stats) },
    [OVS_DP_ATTR_MEGAFLOW_STATS] = { .min = sizeof(struct ovs_dp_megaflow_stats) },
    [OVS_DP_ATTR_USER_FEATURES] = { .min = 4, .max = 4 },
    [OVS_DP_ATTR_MASKS_CACHE_SIZE] = { .min = 4, .max = 4 },
};

/* What a message of the datapath family says. */
struct dp_info {
    int dp_ifindex;
    char name[IFNAMSIZ];
    uint32_t features;
    struct dpif_stats stats;
};

/* Reads message NLH into the struct dp_info at AUX. */
static int dp_parse(const struct nlmsghdr *nlh, void *aux)
{
    const struct nlattr *tb[ARRAY_SIZE(dp_policy)];
    struct dp_info *info = aux;
    struct ovs_dp_stats stats = { 0 };
    struct ovs_dp_megaflow_stats megaflow = { 0 };

    memset(info, 0, sizeof *info);
    int error = kernel_msg_parse(nlh, dp_policy, ARRAY_SIZE(dp_policy), tb, &info->dp_ifindex);
    if (error) {
        return error;
    }
    const struct nlattr *name = tb[OVS_DP_ATTR_NAME];
    memcpy(info->name, mnl_attr_get_payload(name), MIN(mnl_attr_get_payload_len(name), sizeof info->name - 1));
    if (tb[OVS_DP_ATTR_USER_FEATURES]) {
        info->features = mnl_attr_get_u32(tb[OVS_DP_ATTR_USER_FEATURES]);
    }
    if (tb[OVS_DP_ATTR_STATS]) {
        memcpy(&stats, mnl_attr_get_payload(tb[OVS_DP_ATTR_STATS]), sizeof stats);
    }
    if (tb[OVS_DP_ATTR_MEGAFLOW_STATS]) {
        memcpy(&megaflow, mnl_attr_get_payload(tb[OVS_DP_ATTR_MEGAFLOW_STATS]), sizeof megaflow);
    }
    info->stats = (struct dpif_stats){
        .n_hit = stats.n_hit,
        .n_missed = stats.n_missed,
        .n_lost = stats.n_lost,
        .n_flows = stats.n_flows,
        .n_mask_hit = megaflow.n_mask_hit,
        .n_cache_hit = megaflow.n_cache_hit,
        .n_masks = megaflow.n_masks,
        .masks_cache_size =
            tb[OVS_DP_ATTR_MASKS_CACHE_SIZE] ? mnl_attr_get_u32(tb[OVS_DP_ATTR_MASKS_CACHE_SIZE]) : UINT32_MAX,
    };
    return 0;
}

/* Starts a request to the datapath family in S's buffer. */
static void dp_begin(struct dpif_kernel_session *s, struct attrbuf *b, uint16_t flags, uint8_t cmd)
{
    const struct dpif_kernel *k = kernel_session_dpif(s);
    kernel_msg_begin(b, s->tx, KERNEL_TX_SIZE, k->dp_family, flags, cmd, OVS_DATAPATH_VERSION, k->dp_ifindex);
}

/* Sets the feature word to FEATURES; with CACHE_SIZE 0 nothing else. */
static int set_features(struct dpif_kernel_session *s, uint32_t features, uint32_t cache_size)
{
    struct attrbuf b;
    dp_begin(s, &b, 0, OVS_DP_CMD_SET);
    attrbuf_put_u32(&b, OVS_DP_ATTR_USER_FEATURES, features);
    if (cache_size) {
        attrbuf_put_u32(&b, OVS_DP_ATTR_MASKS_CACHE_SIZE, cache_size);
    }
    return kernel_transact(s, &b, NULL, NULL);
}

/* Returns 1 if the kernel could do FEATURE beside CURRENT, the word in force, which stays; 0 if not; -errno if that
 * could not be found out. */
static int try_feature(struct dpif_kernel_session *s, uint32_t current, uint32_t feature)
{
    int error = set_features(s, current | feature, IMPOSSIBLE_CACHE_SIZE);
    if (error == -EINVAL) {
        return 1;
    } else if (error == -EOPNOTSUPP) {
        return 0;
    } else if (error) {
        return error;
    }
    return set_features(s, current, 0);
}

/* Makes the datapath (-EEXIST: it or a device of its name exists).  It sends no upcalls yet. */
static int dp_new(struct dpif_kernel_session *s, const char *name, struct dp_info *ret_info)
{
    struct attrbuf b;
    dp_begin(s, &b, NLM_F_ECHO, OVS_DP_CMD_NEW);
    attrbuf_put(&b, OVS_DP_ATTR_NAME, name, strlen(name) + 1);
    attrbuf_put_u32(&b, OVS_DP_ATTR_UPCALL_PID, 0);
    attrbuf_put_u32(&b, OVS_DP_ATTR_USER_FEATURES, BASE_FEATURES | OVS_DP_F_VPORT_PIDS);
    return kernel_transact(s, &b, dp_parse, ret_info);
}

/* Asks for the datapath by NAME, or, if that is NULL, by number. */
static int dp_get(struct dpif_kernel_session *s, const char *name, struct dp_info *ret_info)
{
    struct attrbuf b;
    dp_begin(s, &b, 0, OVS_DP_CMD_GET);
    if (name) {
        attrbuf_put(&b, OVS_DP_ATTR_NAME, name, strlen(name) + 1);
    }
    return kernel_transact(s, &b, dp_parse, ret_info);
}

/* What to say when the datapath could not be opened for ERROR. */
static char *attach_error(const struct dpif_kernel_session *s, const char *name, int error)
{
    if (error == -EPERM || error == -EACCES) {
        return xasprintf("no permission to open datapath %s: CAP_NET_ADMIN is needed", name);
    } else if (error == -EEXIST) {
        return xasprintf("cannot create datapath %s: there is a network device of that name already", name);
    }
    return xasprintf("cannot open datapath %s: %s%s%s", name, strerror(-error), s->error[0] ? ": " : "", s->error);
}

/* Finds out which features of dispatch the kernel has.  CURRENT is the feature word in force. */
static int find_features(struct dpif_kernel_session *s, uint32_t current)
{
    struct dpif_features *f = &s->up.dpif->features;
    int per_cpu = try_feature(s, current, OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    if (per_cpu < 0) {
        return per_cpu;
    }
    int tc = try_feature(s, current, OVS_DP_F_TC_RECIRC_SHARING);
    if (tc < 0) {
        return tc;
    }
    f->per_cpu = per_cpu;
    f->per_cpu_why = per_cpu ? NULL : "the kernel does not support it (it is older than 5.15)";
    f->tc_recirc_sharing = tc;
    log_dbg("%s: per-cpu dispatch is %spossible, recirculation ids can%s be shared with tc", s->up.dpif->name,
            per_cpu ? "" : "not ", tc ? "" : "not");
    return 0;
}

/* Opens or makes the datapath of S's dpif, and finds out what it can do of dispatch.  Of a datapath that exists the
 * feature word and the upcalls' destination stay as they are.  *RET_ERROR: what to say on failure. */
int kernel_dp_attach(struct dpif_kernel_session *s, char **ret_error)
{
    struct dpif_kernel *k = kernel_session_dpif(s);
    const char *name = k->up.name;
    struct dp_info info = { 0 };
    bool exists = false;

    k->opener = nl_sock_pid(s->sock);
    int error = dp_new(s, name, &info);
    if (error == -EEXIST) {
        error = dp_get(s, name, &info);
        exists = !error;
        error = error == -ENODEV ? -EEXIST : error;
    }
    if (!error && !info.dp_ifindex) {
        error = -EBADMSG;
    }
    if (!error) {
        k->dp_ifindex = info.dp_ifindex;
        log_dbg("%s datapath %s, features 0x%x", exists ? "opened" : "created", name, info.features);
        error = find_features(s, info.features);
    }
    if (error) {
        *ret_error = attach_error(s, name, error);
    }
    return error;
}

/* See dpif_get_stats() in dpif.h. */
int kernel_get_stats(struct dpif_session *session, struct dpif_stats *ret_stats)
{
    struct dp_info info;
    int error = dp_get(kernel_session_cast(session), NULL, &info);
    if (!error) {
        *ret_stats = info.stats;
    }
    return error;
}

/* See dpif_destroy() in dpif.h. */
int kernel_destroy(struct dpif_session *session)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct attrbuf b;
    dp_begin(s, &b, 0, OVS_DP_CMD_DEL);
    return kernel_transact(s, &b, NULL, NULL);
}

/* See dpif-kernel.h. */
bool kernel_dp_features_differ(const struct dpif_kernel *k, const struct nlmsghdr *nlh)
{
    struct dp_info info;
    uint32_t ours = __atomic_load_n(&k->features, __ATOMIC_RELAXED);
    /* The kernel passes on the port id of whoever asked for the change. */
    if (nlh->nlmsg_pid == k->opener || nlh->nlmsg_pid == __atomic_load_n(&k->setter, __ATOMIC_RELAXED)) {
        return false;
    }
    return ours && !dp_parse(nlh, &info) && info.dp_ifindex == k->dp_ifindex && info.features != ours &&
           ((const struct kernel_header *) nlh)->genl.cmd != OVS_DP_CMD_DEL;
}

/* See dpif_set_dispatch() in dpif.h.  -EINVAL: per CPU with no port id; -EOPNOTSUPP: the kernel cannot. */
int kernel_set_dispatch(struct dpif_session *session, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    uint32_t features = BASE_FEATURES;
    if (s->up.dpif->features.tc_recirc_sharing) {
        features |= OVS_DP_F_TC_RECIRC_SHARING;
    }

    struct attrbuf b;
    dp_begin(s, &b, 0, OVS_DP_CMD_SET);
    switch (mode) {
    case DPIF_DISPATCH_PER_PORT:
        features |= OVS_DP_F_VPORT_PIDS;
        attrbuf_put_u32(&b, OVS_DP_ATTR_USER_FEATURES, features);
        break;
    case DPIF_DISPATCH_PER_CPU:
        if (!n_pids) {
            return -EINVAL;
        }
        features |= OVS_DP_F_DISPATCH_UPCALL_PER_CPU;
        attrbuf_put_u32(&b, OVS_DP_ATTR_USER_FEATURES, features);
        attrbuf_put(&b, OVS_DP_ATTR_PER_CPU_PIDS, pids, n_pids * sizeof *pids);
        break;
    }
    /* Before the request: its answer may get lost, its notification comes all the same. */
    __atomic_store_n(&kernel_session_dpif(s)->setter, nl_sock_pid(s->sock), __ATOMIC_RELAXED);
    int error = kernel_transact(s, &b, NULL, NULL);
    if (!error) {
        __atomic_store_n(&kernel_session_dpif(s)->features, features, __ATOMIC_RELAXED);
    }
    return error;
}

struct enumeration {
    dpif_dp_cb *cb;
    void *aux;
};

/* Tells of one datapath. */
static int enumerate_cb(const struct nlmsghdr *nlh, void *aux)
{
    const struct enumeration *e = aux;
    struct dp_info info;
    int error = dp_parse(nlh, &info);
    if (!error) {
        e->cb(dpif_kernel_ops.type, info.name, e->aux);
    }
    return error;
}

/* See dpif_enumerate() in dpif.h.  -ENOENT: the module is not loaded. */
int kernel_enumerate(dpif_dp_cb *cb, void *aux)
{
    struct nl_sock *sock;
    uint16_t family;
    struct kernel_header request;
    struct attrbuf b;
    struct enumeration e = { cb, aux };

    int error = nl_sock_open(NETLINK_GENERIC, 0, &sock);
    if (error) {
        return error;
    }
    error = nl_genl_resolve(sock, OVS_DATAPATH_FAMILY, NULL, &family, NULL);
    if (!error) {
        kernel_msg_begin(&b, &request, sizeof request, family, 0, OVS_DP_CMD_GET, OVS_DATAPATH_VERSION, 0);
        error = nl_dump_begin(sock, b.nlh);
    }
    if (!error) {
        void *buf = xmalloc(DPIF_DUMP_BUF_SIZE);
        do {
            error = nl_dump_next(sock, buf, DPIF_DUMP_BUF_SIZE, enumerate_cb, &e);
        } while (error > 0);
        free(buf);
    }
    nl_sock_close(sock);
    return error;
}
