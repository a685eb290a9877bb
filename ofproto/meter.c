/* See meter.h. */
#include <config.h>

#include "ofproto/meter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "ofproto/engine.h"

LOG_MODULE(meter);

#define MIN_BUCKETS 16
/* How long a datapath's number is left alone.  Flows that name it are translated again within half a second, or what a round takes. */
#define REST_MS 5000
/* So many numbers in a row without a meter: there will hardly be any after them, since all who give them out take the lowest.  (One that is left
 * takes memory, and a number: it is replaced when its number is given out, or the kernel refuses another that would lie in its place.) */
#define MAX_GAP 128
/* Numbers that the datapath will not have, one after the other. */
#define MAX_TRIES 64

struct meters {
    struct cds_lfht *by_id;
    size_t n;         /* Atomic, relaxed; main changes it. */
    size_t n_buckets; /* Main's. */
};

static CDS_LIST_HEAD(all_meters); /* Of all bridges; main's. */

/* ---- Numbers of the datapath's meters.  Main's. ---- */

struct rest {
    uint32_t no;
    uint64_t until; /* ms. */
};

static struct {
    uint64_t *used; /* A bit each, also of those that rest. */
    size_t n_words;
    struct rest *resting; /* In the order in which they will be free again. */
    size_t n_resting, allocated;
} numbers;

static void number_mark(uint32_t no)
{
    if (no / 64 >= numbers.n_words) {
        size_t n = MAX(no / 64 + 1, 2 * numbers.n_words);
        numbers.used = xrealloc(numbers.used, n * sizeof *numbers.used);
        memset(numbers.used + numbers.n_words, 0, (n - numbers.n_words) * sizeof *numbers.used);
        numbers.n_words = n;
    }
    numbers.used[no / 64] |= UINT64_C(1) << (no % 64);
}

/* The first N of those that rest are free. */
static void numbers_wake(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t no = numbers.resting[i].no;
        numbers.used[no / 64] &= ~(UINT64_C(1) << (no % 64));
    }
    numbers.n_resting -= n;
    memmove(numbers.resting, numbers.resting + n, numbers.n_resting * sizeof *numbers.resting);
}

/* The lowest that is free; MAX or more: none is below that. */
static uint32_t number_lowest(void)
{
    size_t i = 0;

    while (i < numbers.n_words && numbers.used[i] == UINT64_MAX) {
        i++;
    }
    return i * 64 + (i < numbers.n_words ? __builtin_ctzll(~numbers.used[i]) : 0);
}

/* Takes a number below MAX.  False: there is none. */
static bool number_take(uint32_t max, uint32_t *ret_no)
{
    uint64_t now = clock_msec();
    size_t n = 0;

    while (n < numbers.n_resting && numbers.resting[n].until <= now) {
        n++;
    }
    if (n) { /* There may be no array yet. */
        numbers_wake(n);
    }
    uint32_t no = number_lowest();
    while (no >= max && numbers.n_resting) {
        numbers_wake(1); /* Better than none. */
        no = number_lowest();
    }
    if (no >= max) {
        return false;
    }
    number_mark(no);
    *ret_no = no;
    return true;
}

static void number_give_back(uint32_t no)
{
    if (numbers.n_resting == numbers.allocated) {
        numbers.allocated = MAX(16, 2 * numbers.allocated);
        numbers.resting = xrealloc(numbers.resting, numbers.allocated * sizeof *numbers.resting);
    }
    numbers.resting[numbers.n_resting++] = (struct rest) { no, clock_msec() + REST_MS };
}

/* ---- The datapath. ---- */

uint32_t meters_max(unsigned int *ret_bands)
{
    struct engine *e = engine_get();
    const struct dpif_features *f = e ? dpif_features(engine_dpif(e)) : NULL;
    uint32_t n = f ? f->max_meters : 0;

    *ret_bands = f ? f->max_meter_bands : 0;
    engine_put(e);
    return n;
}

static void describe(const struct meter *m, struct dpif_meter *ret)
{
    *ret = (struct dpif_meter) { .kbps = m->flags & OFPMF_KBPS, .n_bands = m->n_bands };
    for (unsigned int i = 0; i < m->n_bands; i++) {
        const struct ofp_meter_band *band = &m->bands[i];
        /* Without a burst, what comes in a second may come at once. */
        ret->bands[i] = (struct dpif_meter_band) { band->rate, m->flags & OFPMF_BURST ? band->burst : band->rate };
    }
}

/* Has the datapath have M as it is now.  What the old one had counted is added to 'before'. */
static int install(struct meter *m)
{
    struct engine *e = engine_get();
    struct dpif_meter_stats old = { .in = { 0, 0 } };
    struct dpif_meter dm;

    describe(m, &dm);
    int error = e ? dpif_meter_set(engine_session(e), m->odp_id, &dm, &old) : -ENODEV;
    engine_put(e);
    if (!error) {
        if (m->installed) {
            m->before.n_packets += old.in.n_packets;
            m->before.n_bytes += old.in.n_bytes;
        }
        m->installed = true;
    }
    return error;
}

static enum ofp_error ofp_error_of(int error)
{
    switch (error) {
    case 0:
        return OFPERR_NONE;
    case -EFBIG:
    case -ENOSPC:
    case -ENOMEM:
        return OFPERR_OFPMMFC_OUT_OF_METERS;
    default:
        return OFPERR_OFPMMFC_UNKNOWN;
    }
}

void meter_get_stats(const struct meter *m, struct dpif_meter_stats *ret)
{
    struct engine *e = engine_get();
    struct dpif_meter_stats now = { .in = { 0, 0 } };
    int error = e && m->installed ? dpif_meter_get(engine_session(e), m->odp_id, &now) : 0;

    if (error) {
        log_warn_rl(6, "meter %" PRIu32 ", %" PRIu32 " of the datapath: no statistics (%s)", m->id, m->odp_id, strerror(-error));
    }
    engine_put(e);
    now.in.n_packets += m->before.n_packets;
    now.in.n_bytes += m->before.n_bytes;
    *ret = now;
}

static void uninstall(struct meter *m)
{
    struct engine *e = engine_get();
    int error = e && m->installed ? dpif_meter_del(engine_session(e), m->odp_id) : 0;

    if (error && error != -ENOENT) {
        log_warn_rl(6, "meter %" PRIu32 ", %" PRIu32 " of the datapath, cannot be deleted (%s)", m->id, m->odp_id, strerror(-error));
    }
    engine_put(e);
}

void meters_datapath_opened(void)
{
    struct engine *e = engine_get();
    struct meter *m;
    unsigned int n_bands, n_old = 0;
    uint32_t max = meters_max(&n_bands);

    for (uint32_t no = 0, gap = 0; e && no < max && gap < MAX_GAP; no++) {
        int error = dpif_meter_del(engine_session(e), no);
        n_old += !error;
        gap = error ? gap + 1 : 0;
    }
    engine_put(e);
    if (n_old) {
        log_info("deleted %u meters of a predecessor from the datapath", n_old);
    }
    /* Those that could not be had may be had now. */
    numbers.n_resting = 0;
    for (size_t i = 0; i < numbers.n_words; i++) {
        numbers.used[i] = 0;
    }
    cds_list_for_each_entry (m, &all_meters, in_all) {
        number_mark(m->odp_id);
        m->installed = false;
        int error = install(m);
        if (error) {
            log_warn_rl(6, "meter %" PRIu32 " lets all packets pass: the datapath does not take it (%s)", m->id, strerror(-error));
        }
    }
}

/* ---- A bridge's. ---- */

struct meters *meters_create(void)
{
    struct meters *m = xzalloc(sizeof *m);

    m->n_buckets = MIN_BUCKETS;
    m->by_id = cds_lfht_new(MIN_BUCKETS, MIN_BUCKETS, 0, 0, NULL);
    if (!m->by_id) {
        fatal(0, "out of memory for a table of meters");
    }
    return m;
}

void meters_destroy(struct meters *m)
{
    cds_lfht_destroy(m->by_id, NULL);
    free(m);
}

static int match_id(struct cds_lfht_node *node, const void *id)
{
    return CONTAINER_OF(node, struct meter, node)->id == *(const uint32_t *) id;
}

static struct meter *find(const struct meters *m, uint32_t id)
{
    struct cds_lfht_iter iter;

    cds_lfht_lookup(m->by_id, hash_u64(id, 0), match_id, &id, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    return node ? CONTAINER_OF(node, struct meter, node) : NULL;
}

bool meters_odp_id(const struct meters *m, uint32_t id, uint32_t *ret_odp_id)
{
    const struct meter *meter = __atomic_load_n(&m->n, __ATOMIC_RELAXED) ? find(m, id) : NULL;

    if (meter) {
        *ret_odp_id = meter->odp_id;
    }
    return meter != NULL;
}

struct meter *meters_find(const struct meters *m, uint32_t id)
{
    rcu_read_lock();
    struct meter *meter = find(m, id);
    rcu_read_unlock();
    return meter;
}

static int compare_ids(const void *a_, const void *b_)
{
    const struct meter *a = *(struct meter *const *) a_, *b = *(struct meter *const *) b_;

    return a->id < b->id ? -1 : a->id > b->id;
}

struct meter **meters_sorted(const struct meters *m, size_t *ret_n)
{
    struct meter **v = xcalloc(m->n + 1, sizeof *v);
    struct cds_lfht_iter iter;
    struct meter *meter;
    size_t n = 0;

    rcu_read_lock();
    cds_lfht_for_each_entry (m->by_id, &iter, meter, node) {
        v[n++] = meter;
    }
    rcu_read_unlock();
    qsort(v, n, sizeof *v, compare_ids);
    *ret_n = n;
    return v;
}

/* ---- Changes. ---- */

/* Can a meter be as MOD says? */
static enum ofp_error check(const struct ofp_meter_mod *mod)
{
    bool virtual = mod->id == OFPM_SLOWPATH || mod->id == OFPM_CONTROLLER;
    size_t n = ofp_meter_n_bands(mod);
    unsigned int max_bands;

    if (!mod->id || (mod->id > OFPM_MAX && !virtual)) {
        return OFPERR_OFPMMFC_INVALID_METER;
    }
    if (!meters_max(&max_bands)) {
        return OFPERR_OFPMMFC_OUT_OF_METERS;
    }
    if (!n || n > max_bands) {
        return OFPERR_OFPMMFC_OUT_OF_BANDS;
    }
    for (size_t i = 0; i < n; i++) {
        if (!ofp_meter_band(mod, i).rate) {
            return OFPERR_OFPMMFC_BAD_RATE; /* The kernel has none such either. */
        }
    }
    return OFPERR_NONE;
}

static void configure(struct meter *meter, const struct ofp_meter_mod *mod)
{
    meter->flags = mod->flags;
    meter->n_bands = ofp_meter_n_bands(mod);
    for (unsigned int i = 0; i < meter->n_bands; i++) {
        meter->bands[i] = ofp_meter_band(mod, i);
    }
}

/* Finds METER a number that the datapath takes. */
static int install_new(struct meter *meter)
{
    unsigned int max_bands;
    uint32_t max = meters_max(&max_bands);
    int error = -EBUSY;

    for (unsigned int i = 0; i < MAX_TRIES && error == -EBUSY; i++) {
        if (!number_take(max, &meter->odp_id)) {
            return -EFBIG;
        }
        error = install(meter); /* EBUSY: the number stays marked, as somebody else's. */
    }
    if (error && error != -EBUSY) {
        number_give_back(meter->odp_id);
    }
    return error;
}

static void grow(struct meters *m)
{
    if (m->n > m->n_buckets) {
        m->n_buckets *= 4;
        cds_lfht_resize(m->by_id, m->n_buckets);
    }
}

enum ofp_error meters_add(struct meters *m, const struct ofp_meter_mod *mod)
{
    enum ofp_error error = check(mod);

    if (error) {
        return error;
    }
    if (meters_find(m, mod->id)) {
        return OFPERR_OFPMMFC_METER_EXISTS;
    }
    struct meter *meter = xzalloc(sizeof *meter);
    meter->id = mod->id;
    meter->created = clock_msec();
    configure(meter, mod);
    int why = install_new(meter);
    if (why) {
        log_info_rl(20, "meter %" PRIu32 " cannot be made: the datapath does not take it (%s)", mod->id, strerror(-why));
        free(meter);
        return ofp_error_of(why);
    }
    cds_list_add_tail(&meter->in_all, &all_meters);
    cds_lfht_node_init(&meter->node);
    rcu_read_lock();
    cds_lfht_add(m->by_id, hash_u64(meter->id, 0), &meter->node);
    rcu_read_unlock();
    __atomic_store_n(&m->n, m->n + 1, __ATOMIC_RELAXED);
    grow(m);
    return OFPERR_NONE;
}

enum ofp_error meters_modify(struct meters *m, const struct ofp_meter_mod *mod)
{
    enum ofp_error error = check(mod);
    struct meter *meter = meters_find(m, mod->id);

    if (error) {
        return error;
    }
    if (!meter) {
        return OFPERR_OFPMMFC_UNKNOWN_METER;
    }
    struct meter old = *meter;
    configure(meter, mod);
    int why = install(meter);
    if (why) {
        log_info_rl(20, "meter %" PRIu32 " stays as it was: the datapath does not take it (%s)", mod->id, strerror(-why));
        meter->flags = old.flags;
        meter->n_bands = old.n_bands;
        memcpy(meter->bands, old.bands, sizeof meter->bands);
    }
    return ofp_error_of(why);
}

static void free_cb(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct meter, rcu)); }

void meters_delete(struct meters *m, struct meter *meter)
{
    rcu_read_lock();
    cds_lfht_del(m->by_id, &meter->node);
    rcu_read_unlock();
    __atomic_store_n(&m->n, m->n - 1, __ATOMIC_RELAXED);
    uninstall(meter);
    number_give_back(meter->odp_id);
    cds_list_del(&meter->in_all);
    call_rcu(&meter->rcu, free_cb);
}

void meters_delete_all(struct meters *m)
{
    size_t n;
    struct meter **v = meters_sorted(m, &n);

    for (size_t i = 0; i < n; i++) {
        meters_delete(m, v[i]);
    }
    free(v);
}
