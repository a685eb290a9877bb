/* Which bundle holds how many entries of a MAC table: the bundles in order of that number.
 *
 * Part of mac.c, which holds its lock around all of this. */
#ifndef OFPROTO_MAC_BUNDLE_H
#define OFPROTO_MAC_BUNDLE_H 1

#include <stddef.h>
#include <stdint.h>
#include <urcu/list.h>

/* The bundles that hold N entries. */
struct mac_level {
    size_t n;
    struct cds_list_head bundles;
    struct cds_list_head link; /* In mac_bundles.levels, ascending, or .spare_levels. */
};

/* A bundle at which something has been learned, or a spare one. */
struct mac_bundle {
    uint32_t id;
    struct mac_bundle *next; /* In the list of its hash, or of spare ones. */
    struct mac_level *level; /* NULL: no entries. */
    struct cds_list_head in_level;
    struct cds_list_head entries; /* mac.c's, in its order. */
    struct mac_level own_level;   /* Memory of some level, not necessarily this bundle's. */
};

#define MAC_BUNDLE_LISTS 1024 /* Bundle ids are given in sequence: their low bits spread well. */

struct mac_bundles {
    struct mac_bundle *lists[MAC_BUNDLE_LISTS];
    struct mac_bundle *spare;
    struct cds_list_head levels, spare_levels;
};

void mac_bundles_init(struct mac_bundles *bs);
void mac_bundles_uninit(struct mac_bundles *bs);
struct mac_bundle *mac_bundles_find(const struct mac_bundles *bs, uint32_t id);
struct mac_bundle *mac_bundles_get(struct mac_bundles *bs, uint32_t id);
struct mac_bundle *mac_bundle_alloc(void);
void mac_bundles_give(struct mac_bundles *bs, struct mac_bundle *spare);
static inline size_t mac_bundle_n(const struct mac_bundle *b) { return b->level ? b->level->n : 0; }
void mac_bundles_inc(struct mac_bundles *bs, struct mac_bundle *b);
void mac_bundles_dec(struct mac_bundles *bs, struct mac_bundle *b);
struct mac_bundle *mac_bundles_largest(const struct mac_bundles *bs, const struct mac_bundle *not_if_equal);

#endif
