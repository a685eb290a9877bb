/* Meters of the simulated datapath: a bucket a band, as the kernel's, on the clock that tests set (sim_set_time()).
 *
 * A bucket holds thousandths of packets, or bits.  It starts full, gets what its rate says each millisecond, and never holds more than the
 * burst.  A packet takes its share of each bucket that has enough; of the bands whose bucket has not, the one of the highest rate drops it.
 * Under sim_lock. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"

struct sim_meter {
    struct sim_node node; /* Hashed by 'id'. */
    uint32_t id;
    struct dpif_meter config;
    struct dpif_meter_stats stats;
    uint64_t buckets[DPIF_METER_MAX_BANDS];
    uint64_t used; /* ms: until when the buckets have been filled. */
};

static struct sim_meter *find(const struct sim_dp *dp, uint32_t id) REQUIRES(sim_lock)
{
    for (struct sim_node *n = sim_map_first(&dp->meters, id); n; n = sim_map_next(n)) {
        struct sim_meter *m = CONTAINER_OF(n, struct sim_meter, node);
        if (m->id == id) {
            return m;
        }
    }
    return NULL;
}

static void remove_meter(struct sim_dp *dp, struct sim_meter *m) REQUIRES(sim_lock)
{
    sim_map_remove(&dp->meters, &m->node);
    free(m);
}

void sim_meters_clear(struct sim_dp *dp)
{
    for (size_t i = 0; i < dp->meters.n_buckets; i++) {
        while (dp->meters.buckets[i]) {
            remove_meter(dp, CONTAINER_OF(dp->meters.buckets[i], struct sim_meter, node));
        }
    }
    sim_map_uninit(&dp->meters);
}

static void fill(struct sim_meter *m, uint64_t ms)
{
    for (unsigned int i = 0; i < m->config.n_bands; i++) {
        const struct dpif_meter_band *band = &m->config.bands[i];
        uint64_t most = band->burst * UINT64_C(1000);
        uint64_t room = most - m->buckets[i];
        m->buckets[i] = band->rate && ms >= room / band->rate + 1 ? most : m->buckets[i] + ms * band->rate;
    }
}

bool sim_meter_passes(struct sim_dp *dp, uint32_t id, size_t len)
{
    struct sim_meter *m = find(dp, id);
    const struct dpif_meter_band *exceeded = NULL;
    uint64_t now = sim_now();

    if (!m) {
        return true; /* As the kernel does. */
    }
    fill(m, now > m->used ? now - m->used : 0);
    m->used = MAX(m->used, now);
    m->stats.in.n_packets++;
    m->stats.in.n_bytes += len;
    for (unsigned int i = 0; i < m->config.n_bands; i++) {
        const struct dpif_meter_band *band = &m->config.bands[i];
        uint64_t cost = m->config.kbps ? len * 8 : 1000;
        if (m->buckets[i] >= cost) {
            m->buckets[i] -= cost;
        } else if (!exceeded || band->rate > exceeded->rate) {
            exceeded = band;
        }
    }
    if (exceeded) {
        struct dpif_meter_counts *counts = &m->stats.bands[exceeded - m->config.bands];
        counts->n_packets++;
        counts->n_bytes += len;
    }
    return !exceeded;
}

/* ---- Requests. ---- */

int sim_dpif_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *config, struct dpif_meter_stats *ret_stats)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    sim_step("meter_set");
    lock_acquire(&sim_lock);
    struct sim_meter *old = find(dp, id);
    if (dp->gone) {
        error = -ENODEV;
    } else if (config->n_bands > SIM_MAX_BANDS) {
        error = -EINVAL;
    } else if (id >= SIM_MAX_METERS || (!old && dp->meters.n == SIM_MAX_METERS)) {
        error = -EFBIG;
    } else {
        struct sim_meter *m = xzalloc(sizeof *m);
        *ret_stats = old ? old->stats : (struct dpif_meter_stats){ .in = { 0, 0 } };
        if (old) {
            remove_meter(dp, old);
        }
        m->id = id;
        m->config = *config;
        m->used = sim_now();
        for (unsigned int i = 0; i < config->n_bands; i++) {
            m->buckets[i] = config->bands[i].burst * UINT64_C(1000);
        }
        sim_map_insert(&dp->meters, &m->node, id);
    }
    lock_release(&sim_lock);
    return error;
}

int sim_dpif_meter_get(struct dpif_session *s, uint32_t id, struct dpif_meter_stats *ret_stats)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    sim_step("meter_get");
    lock_acquire(&sim_lock);
    struct sim_meter *m = find(dp, id);
    if (dp->gone) {
        error = -ENODEV;
    } else if (!m) {
        error = -ENOENT;
    } else {
        *ret_stats = m->stats;
    }
    lock_release(&sim_lock);
    return error;
}

int sim_dpif_meter_del(struct dpif_session *s, uint32_t id)
{
    struct sim_dp *dp = sim_session_dp(s);
    int error = 0;

    sim_step("meter_del");
    lock_acquire(&sim_lock);
    struct sim_meter *m = find(dp, id);
    if (dp->gone) {
        error = -ENODEV;
    } else if (!m) {
        error = -ENOENT;
    } else {
        remove_meter(dp, m);
    }
    lock_release(&sim_lock);
    return error;
}
