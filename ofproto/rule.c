/* See rule.h. */
#include <config.h>

#include "ofproto/rule.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"

static struct rule_counts *counts_create(uint64_t now)
{
    struct rule_counts *c = xzalloc(sizeof *c);

    c->refs = 1;
    c->used = now;
    return c;
}

static void counts_unref(struct rule_counts *c)
{
    if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        free(c);
    }
}

struct table_counts *table_counts_create(void)
{
    struct table_counts *c = xzalloc(sizeof *c);

    c->refs = 1;
    return c;
}

void table_counts_unref(struct table_counts *c)
{
    if (c && __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        free(c);
    }
}

struct rule *rule_create(const struct rule_spec *spec, uint8_t table_id, struct rule_counts *counts, uint64_t now)
{
    struct rule *r = xzalloc(sizeof *r + spec->acts_len);

    r->refs = 1;
    r->table_id = table_id;
    r->idle_timeout = spec->idle_timeout;
    r->hard_timeout = spec->hard_timeout;
    r->importance = spec->importance;
    r->flags = spec->flags;
    r->cookie = spec->cookie;
    static uint64_t last_serial; /* Main's. */
    r->created = r->modified = now;
    r->serial = ++last_serial;
    if (counts) {
        __atomic_add_fetch(&counts->refs, 1, __ATOMIC_RELAXED);
    }
    r->counts = counts ? counts : counts_create(now);
    r->acts_len = spec->acts_len;
    if (spec->acts_len) {
        memcpy(r->acts, spec->acts, spec->acts_len);
    }
    return r;
}

void rule_ref(struct rule *r) { __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED); }

bool rule_try_ref(struct rule *r)
{
    unsigned int n = __atomic_load_n(&r->refs, __ATOMIC_RELAXED);

    while (n && !__atomic_compare_exchange_n(&r->refs, &n, n + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return n != 0;
}

/* The table's is given back when the rule has left its table for two grace periods: nobody finds it any more, and its match, which who
 * holds it may still read, may go when the last is given back. */
void rule_unref(struct rule *r)
{
    if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        if (r->cls.match) {
            cls_rule_uninit(&r->cls);
        }
        counts_unref(r->counts);
        table_counts_unref(r->table_counts);
        free(r);
    }
}

void rule_count(struct rule *r, uint64_t packets, uint64_t bytes, uint64_t used)
{
    struct rule_counts *c = r->counts;
    uint64_t old = __atomic_load_n(&c->used, __ATOMIC_RELAXED);

    __atomic_add_fetch(&c->packets, packets, __ATOMIC_RELAXED);
    __atomic_add_fetch(&c->bytes, bytes, __ATOMIC_RELAXED);
    if (r->table_counts) {
        __atomic_add_fetch(&r->table_counts->matches, packets, __ATOMIC_RELAXED);
    }
    while (old < used && !__atomic_compare_exchange_n(&c->used, &old, used, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
