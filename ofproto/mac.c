/* The MAC learning table of one bridge.
 *
 * Entries sit in a lock-free hash table (liburcu) keyed on VLAN and address.  Readers, who are all handlers and
 * revalidators, only ever look up and load two words of an entry: 'where' (bundle and static flag, so that both
 * change in one store) and 'last_seen'.  A move to another bundle is a store to 'where': a reader sees the old or the
 * new bundle, never a gap.  Writers take 'lock', rank MAC, a leaf: memory is allocated before it is taken, and
 * what was removed goes to a list that is handed to call_rcu() after it is released.  Work under the lock is
 * bounded: flush, expiry and shrinking take it anew for every CHUNK of entries.
 *
 * Besides the hash table, learned entries (not static ones) are in two lists each, which writers alone see:
 *
 *   - its bundle's list, oldest first.  A full table evicts from the bundle that holds most (mac-bundle.c), so a port
 *     that floods addresses evicts its own.  Entries seen since they were looked at get a second chance, at most
 *     SECOND_CHANCES of them for one eviction.
 *
 *   - a slot of a wheel, by the time the entry was seen when it was put there.  Expiry looks into slots that are due,
 *     and moves what was refreshed since on to where it belongs: each entry is looked at about once an ageing time.
 *
 * Memory: the table is counted; the configuration snapshots hold references.  The last one frees it after a grace
 * period.  A reader may use an entry until its RCU section ends.
 *
 * Races that are accepted, and why they do no harm:
 *   - Expiry, flush or eviction removes an entry while a handler refreshes it: the refresh is lost, the next packet
 *     learns the address again.  One flooded packet more, as after any expiry.
 *   - Two threads refresh with times of their own batches: the older one may win.  They differ by milliseconds, the
 *     ageing time is at least 15 seconds.
 *   - One address appears at two bundles at once, in two handlers: the lock orders them and the later one wins, as with
 *     any order in which the packets could have arrived.
 *   - mac_table_is_news() judges from relaxed counters whether a full table has room: at worst a learning effect is
 *     run that turns out to change nothing, or is left to the next packet.
 *   - A dump sees each entry that is present all the while once, others perhaps; one that is removed and
 *     learned again meanwhile, perhaps twice. */
#include <config.h>

#include "ofproto/mac.h"

#include <stdlib.h>
#include <sys/random.h>
#include <urcu/list.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/lock.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "ofproto/mac-bundle.h"

#define MIN_MAX 10 /* As ovs-vswitchd.conf.db(5) says of mac-table-size and mac-aging-time. */
#define MAX_MAX 1000000
#define MIN_AGEING_SEC 15
#define MAX_AGEING_SEC 3600

#define CHUNK 64          /* Entries changed while the lock is held once. */
#define SECOND_CHANCES 16 /* Entries looked at to evict one. */
#define SLOT_MS 8192      /* Width of a slot of the wheel. */
#define N_SLOTS 512       /* More than MAX_AGEING_SEC's worth. */
#define MIN_BUCKETS 64    /* Of the hash table; half as many as entries, when full. */

#define WHERE_STATIC (UINT64_C(1) << 32) /* In mac_entry.where, above the bundle's id. */

struct mac_entry {
    struct cds_lfht_node node;
    uint64_t key;       /* Immutable. */
    uint64_t where;     /* Bundle | WHERE_STATIC; relaxed to load, written under the lock. */
    uint64_t last_seen; /* ms; relaxed, written by anybody. */
    struct rcu_head rcu;

    /* Under the lock; learned entries only, but for 'in_bundle', which also links what was removed. */
    struct mac_bundle *bundle;
    struct cds_list_head in_bundle;
    struct cds_list_head in_slot;
    uint64_t looked_at; /* 'last_seen' when it was put at the end of its bundle's list. */
};

struct mac_table {
    struct cds_lfht *entries;
    uint64_t seed; /* Of the hash: addresses are chosen by strangers. */
    unsigned int refs;
    struct rcu_head rcu;

    struct lock lock;
    /* Under the lock; the first three are also read without, relaxed. */
    size_t n; /* Entries, learned and static. */
    size_t n_learned;
    size_t max;
    uint64_t ageing; /* ms. */
    uint64_t learned, expired, evicted, moved;
    struct mac_bundles bundles;
    struct cds_list_head wheel[N_SLOTS];
    struct cds_list_head due; /* Taken off the wheel by expiry, to be looked at. */
    uint64_t slot;            /* Expiry has seen all before this slot (time / SLOT_MS). */
};

static uint64_t make_key(uint16_t vlan, struct eth_addr mac) { return (uint64_t) vlan << 48 | eth_addr_to_u64(mac); }

static int match_key(struct cds_lfht_node *node, const void *key)
{
    return CONTAINER_OF(node, struct mac_entry, node)->key == *(const uint64_t *) key;
}

static struct mac_entry *find(const struct mac_table *t, uint64_t key)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;

    cds_lfht_lookup(t->entries, hash_u64(key, t->seed), match_key, &key, &iter);
    node = cds_lfht_iter_get_node(&iter);
    return node ? CONTAINER_OF(node, struct mac_entry, node) : NULL;
}

static dep_t dep_of_key(const struct mac_table *t, uint64_t key) { return hash_u64(key, t->seed) >> 48; }

dep_t mac_table_dep(const struct mac_table *t, uint16_t vlan, struct eth_addr mac)
{
    return dep_of_key(t, make_key(vlan, mac));
}

static uint64_t get_u64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static size_t get_size(const size_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static void set_size(size_t *p, size_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
static void set_where(struct mac_entry *e, uint64_t where) { __atomic_store_n(&e->where, where, __ATOMIC_RELAXED); }

static void refresh(struct mac_entry *e, uint64_t now)
{
    if (get_u64(&e->last_seen) < now) {
        __atomic_store_n(&e->last_seen, now, __ATOMIC_RELAXED);
    }
}

static void free_entry_cb(struct rcu_head *rcu) { free(CONTAINER_OF(rcu, struct mac_entry, rcu)); }

/* Begins and ends a change.  What is taken out meanwhile gathers in GARBAGE, and is freed when the lock is released. */
static void change_begin(struct mac_table *t, struct cds_list_head *garbage) ACQUIRES(t->lock)
{
    CDS_INIT_LIST_HEAD(garbage);
    rcu_read_lock();
    lock_acquire(&t->lock);
}

static void change_end(struct mac_table *t, struct cds_list_head *garbage) RELEASES(t->lock)
{
    struct mac_entry *e, *next;

    lock_release(&t->lock);
    rcu_read_unlock();
    cds_list_for_each_entry_safe (e, next, garbage, in_bundle) {
        call_rcu(&e->rcu, free_entry_cb);
    }
}

static void put_in_slot(struct mac_table *t, struct mac_entry *e)
{
    uint64_t slot = MAX(get_u64(&e->last_seen) / SLOT_MS, t->slot);
    cds_list_add_tail(&e->in_slot, &t->wheel[slot % N_SLOTS]);
}

static void append_to_bundle(struct mac_entry *e, struct mac_bundle *b)
{
    e->bundle = b;
    e->looked_at = get_u64(&e->last_seen);
    cds_list_add_tail(&e->in_bundle, &b->entries);
}

/* Takes E, which is learned, out of its bundle. */
static void leave_bundle(struct mac_table *t, struct mac_entry *e)
{
    cds_list_del(&e->in_bundle);
    mac_bundles_dec(&t->bundles, e->bundle);
    e->bundle = NULL;
}

/* Makes E, which is learned, one that is in no list: static, or garbage. */
static void unlearn(struct mac_table *t, struct mac_entry *e)
{
    leave_bundle(t, e);
    cds_list_del(&e->in_slot);
    set_size(&t->n_learned, t->n_learned - 1);
}

static void remove_entry(struct mac_table *t, struct mac_entry *e, struct cds_list_head *garbage)
{
    if (e->bundle) {
        unlearn(t, e);
    }
    cds_lfht_del(t->entries, &e->node);
    set_size(&t->n, t->n - 1);
    cds_list_add_tail(&e->in_bundle, garbage);
}

static void insert_entry(struct mac_table *t, struct mac_entry *e, uint64_t key, uint64_t where, uint64_t now)
{
    e->key = key;
    e->where = where;
    e->last_seen = now;
    cds_lfht_node_init(&e->node);
    cds_lfht_add(t->entries, hash_u64(key, t->seed), &e->node);
    set_size(&t->n, t->n + 1);
}

/* The entry of B to go: the first in order of learning that was not seen since it was last looked at, or, if
 * SECOND_CHANCES of them have been, the one of these that was seen longest ago.  Each second chance is paid for by a
 * refresh. */
static struct mac_entry *choose_victim(struct mac_bundle *b)
{
    struct mac_entry *victim = NULL, *first_moved = NULL;

    for (int i = 0; i < SECOND_CHANCES; i++) {
        struct mac_entry *e = cds_list_first_entry(&b->entries, struct mac_entry, in_bundle);
        uint64_t seen = get_u64(&e->last_seen);

        if (e == first_moved) {
            break; /* Once around. */
        }
        if (seen <= e->looked_at) {
            return e;
        }
        cds_list_del(&e->in_bundle);
        append_to_bundle(e, b);
        if (!victim || e->looked_at < victim->looked_at) {
            victim = e;
        }
        first_moved = first_moved ? first_moved : e;
    }
    return victim;
}

/* Evicts an entry of the bundle that holds most; rather not of NEWCOMER's, if another holds as many.  Returns what depended on it. */
static dep_t evict(struct mac_table *t, const struct mac_bundle *newcomer, struct cds_list_head *garbage)
{
    struct mac_entry *e = choose_victim(mac_bundles_largest(&t->bundles, newcomer));
    remove_entry(t, e, garbage);
    t->evicted++;
    return dep_of_key(t, e->key);
}

/* Returns an empty table with the default limits and one reference.  Never fails. */
struct mac_table *mac_table_create(void)
{
    struct mac_table *t = xzalloc(sizeof *t);

    t->refs = 1;
    t->max = MAC_DEFAULT_MAX;
    t->ageing = MAC_DEFAULT_AGEING_SEC * 1000;
    if (getrandom(&t->seed, sizeof t->seed, GRND_NONBLOCK) != sizeof t->seed) {
        t->seed = clock_nsec(); /* Early in boot: better than a constant. */
    }
    lock_init(&t->lock, RANK_MAC);
    mac_bundles_init(&t->bundles);
    CDS_INIT_LIST_HEAD(&t->due);
    for (size_t i = 0; i < N_SLOTS; i++) {
        CDS_INIT_LIST_HEAD(&t->wheel[i]);
    }
    /* Resized by mac_table_set_limits(), not by itself: that would queue work for another thread under our lock. */
    t->entries = cds_lfht_new(MAC_DEFAULT_MAX / 2, MIN_BUCKETS, 0, 0, NULL);
    if (!t->entries) {
        fatal(0, "out of memory for a MAC table");
    }
    return t;
}

/* Takes a reference, returns T. */
struct mac_table *mac_table_ref(struct mac_table *t)
{
    __atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
    return t;
}

static void destroy_cb(struct rcu_head *rcu)
{
    struct mac_table *t = CONTAINER_OF(rcu, struct mac_table, rcu);
    struct cds_list_head garbage;
    struct cds_lfht_iter iter;
    struct mac_entry *e;

    change_begin(t, &garbage);
    cds_lfht_for_each_entry (t->entries, &iter, e, node) {
        remove_entry(t, e, &garbage);
    }
    change_end(t, &garbage);
    cds_lfht_destroy(t->entries, NULL);
    mac_bundles_uninit(&t->bundles);
    lock_uninit(&t->lock);
    free(t);
}

/* Gives a reference back; with the last one the table is freed after a grace period.  Accepts NULL. */
void mac_table_unref(struct mac_table *t)
{
    if (t && !__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL)) {
        call_rcu(&t->rcu, destroy_cb);
    }
}

/* Sets the limits: at most MAX entries (10 to 1,000,000), of which those learned expire when not seen for
 * AGEING_SEC (15 to 3600).  If there are too many now, evicts at once.  Main; not under RCU: resizing waits for grace
 * periods. */
void mac_table_set_limits(struct mac_table *t, size_t max, unsigned int ageing_sec)
{
    size_t n_buckets = MIN_BUCKETS;
    bool more = true;

    max = MIN(MAX(max, MIN_MAX), MAX_MAX);
    while (n_buckets < max / 2) {
        n_buckets *= 2;
    }
    while (more) {
        struct cds_list_head garbage;

        change_begin(t, &garbage);
        set_size(&t->max, max);
        t->ageing = MIN(MAX(ageing_sec, MIN_AGEING_SEC), MAX_AGEING_SEC) * UINT64_C(1000);
        for (int i = 0; i < CHUNK && t->n > max && t->n_learned; i++) {
            evict(t, NULL, &garbage);
        }
        more = t->n > max && t->n_learned;
        change_end(t, &garbage);
    }
    cds_lfht_resize(t->entries, n_buckets);
}

/* Returns the bundle at which (VLAN, MAC) is, or 0.  Under RCU; takes no lock. */
uint32_t mac_table_lookup(const struct mac_table *t, uint16_t vlan, struct eth_addr mac)
{
    const struct mac_entry *e = find(t, make_key(vlan, mac));
    return e ? (uint32_t) get_u64(&e->where) : 0;
}

/* Returns whether mac_table_learn() with these arguments would change what lookups see.  Under RCU; takes no lock. */
bool mac_table_is_news(const struct mac_table *t, uint16_t vlan, struct eth_addr mac, uint32_t bundle)
{
    const struct mac_entry *e = find(t, make_key(vlan, mac));

    if (e) {
        uint64_t where = get_u64(&e->where);
        return !(where & WHERE_STATIC) && where != bundle;
    }
    /* A table full of static entries learns nothing. */
    return get_size(&t->n) < get_size(&t->max) || get_size(&t->n_learned);
}

/* What learning may need, allocated before the lock is taken, and what it changes. */
struct learning {
    struct mac_entry *entry;
    struct mac_bundle *bundle;
    dep_t *deps;
    unsigned int n_deps;
};

enum learn_result { LEARN_NOTHING, LEARN_CHANGED, LEARN_NEEDS_MEMORY };

static enum learn_result learn_locked(struct mac_table *t, uint64_t key, uint32_t bundle, uint64_t now, struct learning *s,
                                      struct cds_list_head *garbage)
{
    struct mac_entry *e = find(t, key);
    struct mac_bundle *b;

    if (e && (e->where & WHERE_STATIC || e->where == bundle)) {
        refresh(e, now);
        return LEARN_NOTHING;
    }
    if (e && now < get_u64(&e->last_seen)) {
        /* A flow's statistics tell late of packets that it carried before the address moved away: no reason to move it
         * back. */
        return LEARN_NOTHING;
    }
    if (!e && t->n >= t->max && !t->n_learned) {
        return LEARN_NOTHING;
    }
    if (!e && !s->entry) {
        return LEARN_NEEDS_MEMORY;
    }
    if (s->bundle) {
        mac_bundles_give(&t->bundles, s->bundle);
        s->bundle = NULL;
    }
    b = mac_bundles_get(&t->bundles, bundle);
    if (!b) {
        return LEARN_NEEDS_MEMORY;
    }

    /* A new entry is counted before the eviction, so that a flooding port is the one that holds most, and comes into
     * the list after it, so that it is not the victim itself. */
    mac_bundles_inc(&t->bundles, b);
    if (e) {
        refresh(e, now);
        set_where(e, bundle);
        leave_bundle(t, e);
        t->moved++;
    } else {
        if (t->n >= t->max) {
            s->deps[s->n_deps++] = evict(t, b, garbage);
        }
        e = s->entry;
        s->entry = NULL;
        insert_entry(t, e, key, bundle, now);
        put_in_slot(t, e);
        set_size(&t->n_learned, t->n_learned + 1);
        t->learned++;
    }
    append_to_bundle(e, b);
    s->deps[s->n_deps++] = dep_of_key(t, key);
    return LEARN_CHANGED;
}

/* Says that (VLAN, MAC), an individual address, was seen at BUNDLE (not 0) at time NOW: see mac.h.  Under RCU; takes the
 * lock only to change something. */
unsigned int mac_table_learn(struct mac_table *t, uint16_t vlan, struct eth_addr mac, uint32_t bundle, uint64_t now,
                             dep_t ret_deps[MAC_LEARN_DEPS])
{
    uint64_t key = make_key(vlan, mac);
    struct mac_entry *e = find(t, key);
    enum learn_result result;
    struct learning s;

    if (!mac_table_is_news(t, vlan, mac, bundle)) {
        if (e) {
            refresh(e, now);
        }
        return 0;
    }
    s = (struct learning){ .entry = e ? NULL : xzalloc(sizeof *s.entry), .deps = ret_deps };
    do {
        struct cds_list_head garbage;

        change_begin(t, &garbage);
        result = learn_locked(t, key, bundle, now, &s, &garbage);
        change_end(t, &garbage);
        if (result == LEARN_NEEDS_MEMORY) {
            s.bundle = mac_bundle_alloc();
            s.entry = s.entry ? s.entry : xzalloc(sizeof *s.entry);
        }
    } while (result == LEARN_NEEDS_MEMORY);
    free(s.entry);
    free(s.bundle);
    return s.n_deps;
}

/* Makes (VLAN, MAC) a static entry at BUNDLE, in the place of any that was there; returns whether one was.  What an
 * operator enters is never refused: a full table evicts, and one full of static entries exceeds its limit. */
bool mac_table_add_static(struct mac_table *t, uint16_t vlan, struct eth_addr mac, uint32_t bundle, uint64_t now)
{
    uint64_t key = make_key(vlan, mac);
    struct mac_entry *fresh = xzalloc(sizeof *fresh);
    struct cds_list_head garbage;
    struct mac_entry *e;

    change_begin(t, &garbage);
    e = find(t, key);
    if (e) {
        if (e->bundle) {
            unlearn(t, e);
        }
        refresh(e, now);
        set_where(e, bundle | WHERE_STATIC);
    } else {
        if (t->n >= t->max && t->n_learned) {
            evict(t, NULL, &garbage);
        }
        insert_entry(t, fresh, key, bundle | WHERE_STATIC, now);
    }
    change_end(t, &garbage);
    if (e) {
        free(fresh);
    }
    return e != NULL;
}

/* Deletes the entry of (VLAN, MAC), static or learned; returns whether there was one. */
bool mac_table_del(struct mac_table *t, uint16_t vlan, struct eth_addr mac)
{
    struct cds_list_head garbage;
    struct mac_entry *e;

    change_begin(t, &garbage);
    e = find(t, make_key(vlan, mac));
    if (e) {
        remove_entry(t, e, &garbage);
    }
    change_end(t, &garbage);
    return e != NULL;
}

/* Removes all that had been learned when it was called; returns how many. */
size_t mac_table_flush(struct mac_table *t)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    size_t n = 0;

    /* By the hash table's order rather than by bundles: it ends, however fast others learn meanwhile. */
    rcu_read_lock();
    cds_lfht_first(t->entries, &iter);
    do {
        struct cds_list_head garbage;

        change_begin(t, &garbage);
        for (int i = 0; i < CHUNK && (node = cds_lfht_iter_get_node(&iter)); i++) {
            struct mac_entry *e = CONTAINER_OF(node, struct mac_entry, node);

            cds_lfht_next(t->entries, &iter);
            if (e->bundle) { /* Not static, nor removed by another. */
                remove_entry(t, e, &garbage);
                n++;
            }
        }
        change_end(t, &garbage);
    } while (cds_lfht_iter_get_node(&iter));
    rcu_read_unlock();
    return n;
}

/* Removes what had been learned at BUNDLE when it was called; returns how many. */
size_t mac_table_flush_bundle(struct mac_table *t, uint32_t bundle)
{
    size_t n = 0;
    size_t todo = SIZE_MAX;

    while (todo) {
        struct cds_list_head garbage;
        struct mac_bundle *b;

        change_begin(t, &garbage);
        b = mac_bundles_find(&t->bundles, bundle);
        todo = MIN(todo, b ? mac_bundle_n(b) : 0);
        for (int i = 0; i < CHUNK && todo; i++) {
            remove_entry(t, cds_list_first_entry(&b->entries, struct mac_entry, in_bundle), &garbage);
            n++;
            todo--;
        }
        change_end(t, &garbage);
    }
    return n;
}

/* Takes the slots that are due at CUTOFF, the one that it is in included, off the wheel. */
static void turn_wheel(struct mac_table *t, uint64_t cutoff)
{
    uint64_t last = cutoff / SLOT_MS;

    if (last >= t->slot + N_SLOTS) {
        t->slot = last - N_SLOTS + 1;
    }
    for (uint64_t slot = t->slot; slot <= last; slot++) {
        cds_list_splice(&t->wheel[slot % N_SLOTS], &t->due);
        CDS_INIT_LIST_HEAD(&t->wheel[slot % N_SLOTS]);
        t->slot = slot;
    }
}

/* Removes what was learned and has not been seen for the ageing time at NOW, and adds what depended on it to *CHANGED; returns how
 * many. */
size_t mac_table_expire(struct mac_table *t, uint64_t now, struct dep_set *changed)
{
    bool first = true;
    bool more = true;
    uint64_t cutoff = 0;
    size_t n = 0;

    while (more) {
        struct cds_list_head garbage;

        change_begin(t, &garbage);
        if (first && now >= t->ageing) {
            cutoff = now - t->ageing;
            turn_wheel(t, cutoff);
        }
        first = false;
        for (int i = 0; i < CHUNK && !cds_list_empty(&t->due); i++) {
            struct mac_entry *e = cds_list_first_entry(&t->due, struct mac_entry, in_slot);

            if (get_u64(&e->last_seen) <= cutoff) {
                dep_set_add(changed, dep_of_key(t, e->key));
                remove_entry(t, e, &garbage);
                t->expired++;
                n++;
            } else {
                cds_list_del(&e->in_slot);
                put_in_slot(t, e);
            }
        }
        more = !cds_list_empty(&t->due);
        change_end(t, &garbage);
    }
    return n;
}

struct seen {
    struct mac_info info;
    uint64_t last_seen;
};

/* Oldest first; those of one time by VLAN and address, so that the order does not depend on the hash. */
static int compare_seen(const void *a_, const void *b_)
{
    const struct seen *a = a_, *b = b_;

    if (a->last_seen != b->last_seen) {
        return a->last_seen < b->last_seen ? -1 : 1;
    }
    if (a->info.vlan != b->info.vlan) {
        return a->info.vlan < b->info.vlan ? -1 : 1;
    }
    return memcmp(&a->info.mac, &b->info.mac, sizeof a->info.mac);
}

/* Calls CB with AUX for each entry, the one seen longest ago first, ages as of NOW.  CB runs without lock or RCU. */
void mac_table_dump(const struct mac_table *t, uint64_t now, void (*cb)(const struct mac_info *, void *aux), void *aux)
{
    size_t n = 0, capacity = get_size(&t->n) + 16;
    struct seen *all = xmalloc(capacity * sizeof *all);
    struct cds_lfht_iter iter;
    struct mac_entry *e;

    rcu_read_lock();
    cds_lfht_for_each_entry (t->entries, &iter, e, node) {
        uint64_t where = get_u64(&e->where);
        struct seen *s;

        if (n == capacity) {
            capacity *= 2;
            all = xrealloc(all, capacity * sizeof *all);
        }
        s = &all[n++];
        s->last_seen = get_u64(&e->last_seen);
        s->info = (struct mac_info){
            .bundle = (uint32_t) where,
            .vlan = e->key >> 48,
            .is_static = where & WHERE_STATIC,
            .age_sec = now > s->last_seen ? (now - s->last_seen) / 1000 : 0,
        };
        for (int i = 0; i < 6; i++) {
            s->info.mac.ea[i] = e->key >> (40 - 8 * i);
        }
    }
    rcu_read_unlock();

    qsort(all, n, sizeof *all, compare_seen);
    for (size_t i = 0; i < n; i++) {
        cb(&all[i].info, aux);
    }
    free(all);
}

/* Stores the counters into *RET. */
void mac_table_get_stats(const struct mac_table *t_, struct mac_stats *ret)
{
    struct mac_table *t = (struct mac_table *) t_; /* For its lock alone. */

    lock_acquire(&t->lock);
    *ret = (struct mac_stats){
        .n_current = t->n,
        .n_max = t->max,
        .n_static = t->n - t->n_learned,
        .learned = t->learned,
        .expired = t->expired,
        .evicted = t->evicted,
        .moved = t->moved,
    };
    lock_release(&t->lock);
}

/* Sets the counts of events to zero; the numbers of entries stay. */
void mac_table_clear_stats(struct mac_table *t)
{
    lock_acquire(&t->lock);
    t->learned = t->expired = t->evicted = t->moved = 0;
    lock_release(&t->lock);
}
