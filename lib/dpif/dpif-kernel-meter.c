/* Meters of the kernel's datapath: generic netlink family ovs_meter.
 *
 * The module knows meters since Linux 4.15, which gave each the number 0, whatever was asked for (until 4.18, and distributors took the
 * mistake along): so whether two meters are told apart is tried once, at open.  It cannot list them.  Later ones (5.10) keep meters in an
 * array that is about as long as there are meters, found by what remains of the number divided by that length: so numbers should have no
 * gaps, and one whose place is taken is refused (EBUSY).
 *
 * Threads and owners: as all requests, on the caller's session. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-kernel.h"

LOG_MODULE(dpif_netlink_meter);

/* Numbers to try meters with, that nobody has in use. */
#define PROBE_ID ((1u << 20) - 2)

struct meter_reply {
    bool has_id, has_stats;
    uint32_t id;
    uint32_t max_meters, max_bands; /* 0: not told. */
    struct dpif_meter_stats stats;
};

static void read_counts(const struct nlattr *a, struct dpif_meter_counts *ret)
{
    struct ovs_flow_stats counts; /* 4-byte aligned in the message. */

    memcpy(&counts, mnl_attr_get_payload(a), sizeof counts);
    *ret = (struct dpif_meter_counts){ counts.n_packets, counts.n_bytes };
}

static int read_bands(const struct nlattr *bands, struct dpif_meter_stats *stats)
{
    static const struct nl_policy policy[] = {
        [OVS_BAND_ATTR_STATS] = { .min = sizeof(struct ovs_flow_stats), .max = sizeof(struct ovs_flow_stats) },
    };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    const struct nlattr *a;
    size_t i = 0;

    mnl_attr_for_each_nested(a, bands)
    {
        int error = nl_attrs_parse(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), policy, ARRAY_SIZE(policy), tb);
        if (error) {
            return error;
        }
        if (tb[OVS_BAND_ATTR_STATS] && i < DPIF_METER_MAX_BANDS) {
            read_counts(tb[OVS_BAND_ATTR_STATS], &stats->bands[i++]);
        }
    }
    return 0;
}

static int reply_cb(const struct nlmsghdr *nlh, void *aux)
{
    static const struct nl_policy policy[] = {
        [OVS_METER_ATTR_ID] = { .min = 4, .max = 4 },
        [OVS_METER_ATTR_STATS] = { .min = sizeof(struct ovs_flow_stats), .max = sizeof(struct ovs_flow_stats) },
        [OVS_METER_ATTR_BANDS] = { 0 },
        [OVS_METER_ATTR_MAX_METERS] = { .min = 4, .max = 4 },
        [OVS_METER_ATTR_MAX_BANDS] = { .min = 4, .max = 4 },
    };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    struct meter_reply *r = aux;
    int dp_ifindex;
    int error = kernel_msg_parse(nlh, policy, ARRAY_SIZE(policy), tb, &dp_ifindex);

    if (error) {
        return error;
    }
    if (tb[OVS_METER_ATTR_ID]) {
        r->has_id = true;
        r->id = mnl_attr_get_u32(tb[OVS_METER_ATTR_ID]);
    }
    if (tb[OVS_METER_ATTR_STATS]) {
        r->has_stats = true;
        read_counts(tb[OVS_METER_ATTR_STATS], &r->stats.in);
        error = tb[OVS_METER_ATTR_BANDS] ? read_bands(tb[OVS_METER_ATTR_BANDS], &r->stats) : 0;
    }
    r->max_meters = tb[OVS_METER_ATTR_MAX_METERS] ? mnl_attr_get_u32(tb[OVS_METER_ATTR_MAX_METERS]) : 0;
    r->max_bands = tb[OVS_METER_ATTR_MAX_BANDS] ? mnl_attr_get_u32(tb[OVS_METER_ATTR_MAX_BANDS]) : 0;
    return error;
}

static void begin(struct dpif_kernel_session *s, struct attrbuf *b, uint8_t cmd)
{
    const struct dpif_kernel *k = kernel_session_dpif(s);

    kernel_msg_begin(b, s->tx, KERNEL_TX_SIZE, k->meter_family, 0, cmd, OVS_METER_VERSION, k->dp_ifindex);
}

static void put_meter(struct attrbuf *b, const struct dpif_meter *meter)
{
    if (meter->kbps) {
        attrbuf_put_flag(b, OVS_METER_ATTR_KBPS);
    }
    /* Without OVS_METER_ATTR_CLEAR: of a meter that was made with it nothing is told when another takes its place. */
    struct nlattr *bands = attrbuf_nest_begin(b, OVS_METER_ATTR_BANDS);
    for (unsigned int i = 0; i < meter->n_bands; i++) {
        struct nlattr *band = attrbuf_nest_begin(b, 0); /* The kernel counts them, and asks for no type. */
        attrbuf_put_u32(b, OVS_BAND_ATTR_TYPE, OVS_METER_BAND_TYPE_DROP);
        attrbuf_put_u32(b, OVS_BAND_ATTR_RATE, meter->bands[i].rate);
        attrbuf_put_u32(b, OVS_BAND_ATTR_BURST, meter->bands[i].burst);
        attrbuf_nest_end(b, band);
    }
    attrbuf_nest_end(b, bands);
}

/* See dpif_meter_set() in dpif.h. */
int kernel_meter_set(struct dpif_session *session, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret_stats)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct meter_reply r = { 0 };
    struct attrbuf b;

    begin(s, &b, OVS_METER_CMD_SET);
    attrbuf_put_u32(&b, OVS_METER_ATTR_ID, id);
    put_meter(&b, meter);
    int error = kernel_transact(s, &b, reply_cb, &r);
    if (!error) {
        *ret_stats = r.stats;
    }
    return error;
}

/* See dpif_meter_get() in dpif.h. */
int kernel_meter_get(struct dpif_session *session, uint32_t id, struct dpif_meter_stats *ret_stats)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct meter_reply r = { 0 };
    struct attrbuf b;

    begin(s, &b, OVS_METER_CMD_GET);
    attrbuf_put_u32(&b, OVS_METER_ATTR_ID, id);
    int error = kernel_transact(s, &b, reply_cb, &r);
    if (!error && (!r.has_stats || r.id != id)) {
        error = -ENOENT;
    }
    if (!error) {
        *ret_stats = r.stats;
    }
    return error;
}

/* See dpif_meter_del() in dpif.h.  The kernel does not mind if there is none: it then tells no statistics. */
int kernel_meter_del(struct dpif_session *session, uint32_t id)
{
    struct dpif_kernel_session *s = kernel_session_cast(session);
    struct meter_reply r = { 0 };
    struct attrbuf b;

    begin(s, &b, OVS_METER_CMD_DEL);
    attrbuf_put_u32(&b, OVS_METER_ATTR_ID, id);
    int error = kernel_transact(s, &b, reply_cb, &r);
    return error ? error : r.has_stats ? 0 : -ENOENT;
}

/* Are meters with different numbers different meters? */
static bool are_distinct(struct dpif_kernel_session *s)
{
    const struct dpif_meter meter = { .n_bands = 1, .bands = { { .rate = 1, .burst = 1 } } };
    struct dpif_meter_stats stats;
    int made[2];
    bool ok = true;

    for (uint32_t i = 0; i < 2; i++) {
        made[i] = kernel_meter_set(&s->up, PROBE_ID + i, &meter, &stats);
    }
    for (uint32_t i = 0; i < 2; i++) {
        /* Only kernels without the mistake say EBUSY. */
        ok &= made[i] == -EBUSY || (!made[i] && !kernel_meter_get(&s->up, PROBE_ID + i, &stats));
    }
    for (uint32_t i = 0; i < 2; i++) {
        int error = made[i] ? 0 : kernel_meter_del(&s->up, PROBE_ID + i);
        if (error && error != -ENOENT) {
            log_warn("%s: cannot delete the meter that meters were probed with: %s", s->up.dpif->name, strerror(-error));
        }
    }
    return ok;
}

/* See dpif-kernel.h. */
void kernel_probe_meters(struct dpif_kernel_session *s)
{
    struct dpif_kernel *k = kernel_session_dpif(s);
    const char *why = "the kernel does not know them (it is older than 4.15)";
    struct meter_reply r = { 0 };
    struct attrbuf b;

    int error = nl_genl_resolve(s->sock, OVS_METER_FAMILY, NULL, &k->meter_family, NULL);
    if (!error) {
        begin(s, &b, OVS_METER_CMD_FEATURES);
        error = kernel_transact(s, &b, reply_cb, &r);
    }
    if (error && error != -ENOENT) {
        why = strerror(-error);
    } else if (!error && (!r.max_meters || !r.max_bands)) {
        error = -EOPNOTSUPP;
        why = "it allows none";
    } else if (!error && !are_distinct(s)) {
        error = -EOPNOTSUPP;
        why = "this kernel mistakes one for another";
    }
    if (error) {
        log_info("%s@%s: Datapath does not support meters: %s", dpif_kernel_ops.type, k->up.name, why);
        return;
    }
    k->up.features.max_meters = r.max_meters;
    k->up.features.max_meter_bands = MIN(r.max_bands, DPIF_METER_MAX_BANDS);
    log_info("%s@%s: Datapath supports %u meters of %u bands", dpif_kernel_ops.type, k->up.name, k->up.features.max_meters,
             k->up.features.max_meter_bands);
}
