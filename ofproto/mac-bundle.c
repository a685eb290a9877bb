/* Bundles of a MAC table by the number of entries they hold.
 *
 * A 'level' is the set of bundles that hold equally many, and levels are in a list, ascending: to gain or lose an
 * entry is a step to the neighbour, and the largest bundle is at the end, so that all is O(1).
 *
 * Bundles that hold nothing any more are kept as spare ones until the table goes; there are at most as many as there
 * were ports with entries at one time.  Each brings the memory of one level, so that there is always a spare level when
 * one is needed, and nothing here allocates: memory comes from mac_bundle_alloc(), called before the lock is taken.
 *
 * Threads: the MAC table's writer, under its lock.  No races. */
#include <config.h>

#include "ofproto/mac-bundle.h"

#include <stdlib.h>

#include "lib/base/util.h"

void mac_bundles_init(struct mac_bundles *bs)
{
    for (size_t i = 0; i < MAC_BUNDLE_LISTS; i++) {
        bs->lists[i] = NULL;
    }
    bs->spare = NULL;
    CDS_INIT_LIST_HEAD(&bs->levels);
    CDS_INIT_LIST_HEAD(&bs->spare_levels);
}

static void free_all(struct mac_bundle *b)
{
    while (b) {
        struct mac_bundle *next = b->next;
        free(b);
        b = next;
    }
}

void mac_bundles_uninit(struct mac_bundles *bs)
{
    for (size_t i = 0; i < MAC_BUNDLE_LISTS; i++) {
        free_all(bs->lists[i]);
    }
    free_all(bs->spare);
}

/* Returns the bundle ID that holds something, or NULL. */
struct mac_bundle *mac_bundles_find(const struct mac_bundles *bs, uint32_t id)
{
    struct mac_bundle *b = bs->lists[id % MAC_BUNDLE_LISTS];

    while (b && b->id != id) {
        b = b->next;
    }
    return b;
}

/* Returns memory for one bundle, for mac_bundles_give() or free(). */
struct mac_bundle *mac_bundle_alloc(void) { return xzalloc(sizeof(struct mac_bundle)); }

/* Adds SPARE, from mac_bundle_alloc(). */
void mac_bundles_give(struct mac_bundles *bs, struct mac_bundle *spare)
{
    CDS_INIT_LIST_HEAD(&spare->entries);
    CDS_INIT_LIST_HEAD(&spare->own_level.bundles);
    cds_list_add(&spare->own_level.link, &bs->spare_levels);
    spare->next = bs->spare;
    bs->spare = spare;
}

/* Returns the bundle ID, to which the caller then adds an entry; NULL if a spare one must be given first. */
struct mac_bundle *mac_bundles_get(struct mac_bundles *bs, uint32_t id)
{
    struct mac_bundle *b = mac_bundles_find(bs, id);

    if (!b && bs->spare) {
        struct mac_bundle **list = &bs->lists[id % MAC_BUNDLE_LISTS];

        b = bs->spare;
        bs->spare = b->next;
        b->id = id;
        b->next = *list;
        *list = b;
    }
    return b;
}

/* Takes B out of its level.  Returns the place in the list of levels where it was: the link of the level itself, or
 * if that has become empty and spare, of the one before. */
static struct cds_list_head *leave_level(struct mac_bundles *bs, struct mac_bundle *b)
{
    struct mac_level *l = b->level;
    struct cds_list_head *at = &l->link;

    cds_list_del(&b->in_level);
    if (cds_list_empty(&l->bundles)) {
        at = at->prev;
        cds_list_move(&l->link, &bs->spare_levels);
    }
    b->level = NULL;
    return at;
}

/* Puts B into the level of N entries: NEIGHBOUR, if it is that one, else a new one after AT. */
static void join_level(struct mac_bundles *bs, struct mac_bundle *b, size_t n, struct cds_list_head *at,
                       struct cds_list_head *neighbour)
{
    struct mac_level *l = NULL;

    if (neighbour != &bs->levels) {
        l = cds_list_entry(neighbour, struct mac_level, link);
    }
    if (!l || l->n != n) {
        l = cds_list_first_entry(&bs->spare_levels, struct mac_level, link);
        l->n = n;
        cds_list_move(&l->link, at);
    }
    b->level = l;
    cds_list_add_tail(&b->in_level, &l->bundles);
}

/* B has gained an entry. */
void mac_bundles_inc(struct mac_bundles *bs, struct mac_bundle *b)
{
    size_t n = mac_bundle_n(b) + 1;
    struct cds_list_head *at = b->level ? leave_level(bs, b) : &bs->levels;

    join_level(bs, b, n, at, at->next);
}

/* B has lost an entry.  If it was its last, B is a spare one from now on. */
void mac_bundles_dec(struct mac_bundles *bs, struct mac_bundle *b)
{
    struct mac_level *old = b->level;
    size_t n = old->n - 1;
    struct cds_list_head *at = leave_level(bs, b);

    if (n) {
        if (at == &old->link) {
            at = at->prev;
        }
        join_level(bs, b, n, at, at);
    } else {
        struct mac_bundle **p = &bs->lists[b->id % MAC_BUNDLE_LISTS];

        while (*p != b) {
            p = &(*p)->next;
        }
        *p = b->next;
        b->next = bs->spare;
        bs->spare = b;
    }
}

/* Returns a bundle that holds most, of which there must be one: another than NOT_IF_EQUAL if there is one that holds as
 * many. */
struct mac_bundle *mac_bundles_largest(const struct mac_bundles *bs, const struct mac_bundle *not_if_equal)
{
    struct mac_level *top = cds_list_entry(bs->levels.prev, struct mac_level, link);
    struct mac_bundle *b = cds_list_first_entry(&top->bundles, struct mac_bundle, in_level);

    if (b == not_if_equal && b->in_level.next != &top->bundles) {
        b = cds_list_entry(b->in_level.next, struct mac_bundle, in_level);
    }
    return b;
}
