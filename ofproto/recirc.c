/* See recirc.h. */
#include <config.h>

#include "ofproto/recirc.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/counter.h"
#include "lib/base/hash.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"

LOG_MODULE(recirc);

COUNTER_DEFINE(recirc_new);
COUNTER_DEFINE(recirc_ended);
COUNTER_DEFINE(recirc_full);

struct recirc {
    struct cds_lfht_node by_id, by_content;
    struct rcu_head rcu;
    uint64_t life; /* Atomic: see recirc.h; LIFE(), or DEAD. */
    uint64_t hash; /* Of all of 'frozen'. */
    uint32_t id;
    struct frozen frozen;
};

#define LIFE(REFS, TICK) ((uint64_t) (REFS) << 32 | (TICK))
#define LIFE_REFS(LIFE)  ((uint32_t) ((LIFE) >> 32))
#define LIFE_TICK(LIFE)  ((uint32_t) (LIFE))
#define DEAD             UINT64_MAX

/* Tables as of ukey.c: whoever walks them adapts their size. */
#define MIN_BUCKETS 256
#define MAX_BUCKETS RECIRC_MAX

static struct lock lock = LOCK_INITIALIZER(RANK_RECIRC);
static struct cds_lfht *by_id, *by_content; /* Changed under 'lock'. */
static uint32_t n_states;                   /* Atomic; changed under 'lock'. */
static uint32_t tick, settling_since;       /* Atomic; main's. */

/* The tables are there before any thread, and as long as the process: an id means the same to all engines that there may be. */
__attribute__((constructor)) static void init(void)
{
    by_id = cds_lfht_new(MIN_BUCKETS, MIN_BUCKETS, MAX_BUCKETS, 0, NULL);
    by_content = cds_lfht_new(MIN_BUCKETS, MIN_BUCKETS, MAX_BUCKETS, 0, NULL);
    if (!by_id || !by_content) {
        fatal(0, "out of memory for recirculation");
    }
}

static int match_id(struct cds_lfht_node *node, const void *id)
{
    return CONTAINER_OF(node, struct recirc, by_id)->id == *(const uint32_t *) id;
}

/* The dead have no content. */
static int match_content(struct cds_lfht_node *node, const void *f_)
{
    const struct recirc *r = CONTAINER_OF(node, struct recirc, by_content);
    const struct frozen *f = f_;

    return frozen_len(&r->frozen) == frozen_len(f) && !memcmp(&r->frozen, f, frozen_len(f))
           && __atomic_load_n(&r->life, __ATOMIC_RELAXED) != DEAD;
}

static struct recirc *find_id(uint32_t id)
{
    struct cds_lfht_iter iter;

    cds_lfht_lookup(by_id, hash_u64(id, 0), match_id, &id, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    return node ? CONTAINER_OF(node, struct recirc, by_id) : NULL;
}

static struct recirc *find_content(const struct frozen *f, uint64_t hash)
{
    struct cds_lfht_iter iter;

    cds_lfht_lookup(by_content, hash, match_content, f, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    return node ? CONTAINER_OF(node, struct recirc, by_content) : NULL;
}

const struct frozen *recirc_find(uint32_t id)
{
    struct recirc *r = find_id(id);

    /* A dead one is still right: packets that come this late are treated as they were meant to be. */
    return r ? &r->frozen : NULL;
}

uint32_t recirc_id(const struct recirc *r) { return r->id; }

/* Notes that R is in use now.  False if it has ended. */
static bool come_to(struct recirc *r)
{
    uint64_t life = __atomic_load_n(&r->life, __ATOMIC_RELAXED);
    uint32_t now = __atomic_load_n(&tick, __ATOMIC_RELAXED);

    do {
        if (life == DEAD) {
            return false;
        }
        if (LIFE_TICK(life) == now) {
            return true; /* The common case writes nothing. */
        }
    } while (!__atomic_compare_exchange_n(&r->life, &life, LIFE(LIFE_REFS(life), now), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

/* The number for F.  The action set has pointers, which differ from process to process: it only counts by its length. */
static uint32_t free_id(const struct frozen *f) REQUIRES(lock)
{
    uint32_t id = hash_bytes(f, sizeof *f + f->plain_len, 0);

    while (!id || find_id(id)) {
        id++;
    }
    return id;
}

static struct recirc *insert(const struct frozen *f, uint64_t hash)
{
    struct recirc *new = xzalloc(sizeof *new + frozen_len(f) - sizeof *f), *r;

    new->hash = hash;
    memcpy(&new->frozen, f, frozen_len(f));
    lock_acquire(&lock);
    new->life = LIFE(0, __atomic_load_n(&tick, __ATOMIC_RELAXED));
    r = find_content(f, hash);
    if (!r && n_states < RECIRC_MAX) {
        r = new;
        new = NULL;
        r->id = free_id(f);
        /* By id first: whoever finds it by content tells the datapath its number. */
        cds_lfht_add(by_id, hash_u64(r->id, 0), &r->by_id);
        cds_lfht_add(by_content, hash, &r->by_content);
        __atomic_store_n(&n_states, n_states + 1, __ATOMIC_RELAXED);
        COUNTER_INC(recirc_new);
    }
    lock_release(&lock);
    free(new);
    return r;
}

struct recirc *recirc_freeze(const struct frozen *f)
{
    uint64_t hash = hash_bytes(f, frozen_len(f), 0);
    struct recirc *r = find_content(f, hash);

    while (!r || !come_to(r)) {
        r = insert(f, hash);
        if (unlikely(!r)) {
            COUNTER_INC(recirc_full);
            log_warn_rl(6, "there are %u recirculation ids, and no more than that; a packet is dropped (rules that copy much of each packet "
                           "into registers before ct?)", RECIRC_MAX);
            return NULL;
        }
    }
    return r;
}

bool recirc_try_ref(struct recirc *r)
{
    uint64_t life = __atomic_load_n(&r->life, __ATOMIC_RELAXED);

    do {
        if (life == DEAD) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&r->life, &life, life + LIFE(1, 0), true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    return true;
}

/* Its last tick is this one: packets may be under way. */
void recirc_unref(struct recirc *r)
{
    uint64_t life = __atomic_load_n(&r->life, __ATOMIC_RELAXED);
    uint32_t now = __atomic_load_n(&tick, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(&r->life, &life, LIFE(LIFE_REFS(life) - 1, now), true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

static void free_rcu(struct rcu_head *head) { free(CONTAINER_OF(head, struct recirc, rcu)); }

/* Ends R if nobody needs it.  Under RCU. */
static void end_if_useless(struct recirc *r, uint32_t now)
{
    uint64_t life = __atomic_load_n(&r->life, __ATOMIC_RELAXED);

    if (LIFE_REFS(life) || now - LIFE_TICK(life) <= RECIRC_LINGER
        || !__atomic_compare_exchange_n(&r->life, &life, DEAD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    COUNTER_INC(recirc_ended);
    lock_acquire(&lock);
    cds_lfht_del(by_content, &r->by_content);
    cds_lfht_del(by_id, &r->by_id);
    __atomic_store_n(&n_states, n_states - 1, __ATOMIC_RELAXED);
    lock_release(&lock);
    call_rcu(&r->rcu, free_rcu);
}

/* Has the tables as many buckets as there are states, or so. */
static void fit(void)
{
    static unsigned long n_buckets = MIN_BUCKETS;
    unsigned long n = recirc_count(), wanted = MIN_BUCKETS;

    while (wanted < n) {
        wanted *= 2;
    }
    if (wanted > n_buckets || wanted < n_buckets / 4) { /* Not to and fro. */
        cds_lfht_resize(by_id, wanted);
        cds_lfht_resize(by_content, wanted);
        n_buckets = wanted;
    }
}

void recirc_tick(void)
{
    uint32_t now = __atomic_add_fetch(&tick, 1, __ATOMIC_RELAXED);
    struct cds_lfht_iter iter;
    struct recirc *r;

    rcu_read_lock();
    cds_lfht_for_each_entry(by_id, &iter, r, by_id) {
        end_if_useless(r, now);
    }
    rcu_read_unlock();
    fit();
}

void recirc_settle(void) { __atomic_store_n(&settling_since, __atomic_load_n(&tick, __ATOMIC_RELAXED), __ATOMIC_RELAXED); }

bool recirc_is_settling(void)
{
    return __atomic_load_n(&tick, __ATOMIC_RELAXED) - __atomic_load_n(&settling_since, __ATOMIC_RELAXED) <= RECIRC_LINGER;
}

void recirc_forget_all(void)
{
    struct cds_lfht_iter iter;
    struct recirc *r;

    rcu_read_lock();
    cds_lfht_for_each_entry(by_id, &iter, r, by_id) {
        cds_lfht_del(by_content, &r->by_content);
        cds_lfht_del(by_id, &r->by_id);
        call_rcu(&r->rcu, free_rcu);
    }
    rcu_read_unlock();
    n_states = 0;
    rcu_barrier();
}

size_t recirc_count(void) { return __atomic_load_n(&n_states, __ATOMIC_RELAXED); }
