/* The MAC learning table of one bridge: (VLAN, address) -> bundle.
 *
 * Readers (translation, in every handler and revalidator) look up without a lock, under RCU; the few who change it
 * (learning of a new or moved address, flush, expiry) take the table's lock, rank MAC.  Refreshing an entry that
 * is right already is one relaxed store.  The table outlives configuration snapshots and is counted. */
#ifndef OFPROTO_MAC_H
#define OFPROTO_MAC_H 1

#include <stdint.h>
#include <stdio.h>

#include "lib/base/types.h"
#include "ofproto/dep.h"

struct mac_table;

#define MAC_DEFAULT_MAX 8192
#define MAC_DEFAULT_AGEING_SEC 300

struct mac_stats {
    uint64_t n_current, n_max, n_static, learned, expired, evicted, moved;
};

struct mac_info {
    uint32_t bundle; /* The id of struct xbundle. */
    uint16_t vlan;
    struct eth_addr mac;
    bool is_static;
    uint32_t age_sec; /* Since last seen. */
};

struct mac_table *mac_table_create(void);
struct mac_table *mac_table_ref(struct mac_table *t);
void mac_table_unref(struct mac_table *t); /* Freed after a grace period; accepts NULL. */

/* Limits: MAX entries, entries unseen for AGEING_SEC expire.  Out of range values are clamped, and main has said so. */
void mac_table_set_limits(struct mac_table *t, size_t max, unsigned int ageing_sec);

/* What a translation depends on that looks (VLAN, MAC) up. */
dep_t mac_table_dep(const struct mac_table *t, uint16_t vlan, struct eth_addr mac);
/* Bundle at which (VLAN, MAC) was learned, or 0.  Under RCU. */
uint32_t mac_table_lookup(const struct mac_table *t, uint16_t vlan, struct eth_addr mac);
/* Would learning change anything but the time last seen?  Under RCU; pure. */
bool mac_table_is_news(const struct mac_table *t, uint16_t vlan, struct eth_addr mac, uint32_t bundle);
/* Says that (VLAN, MAC) was seen at BUNDLE at NOW (ms).  What was seen elsewhere later than that stays there.  Returns how many
 * addresses lookups see changed, and stores what depends on them: the caller then asks for revalidation.  0, or 1, or 2 if another address had to
 * make room.  Under RCU. */
#define MAC_LEARN_DEPS 2
unsigned int mac_table_learn(struct mac_table *t, uint16_t vlan, struct eth_addr mac, uint32_t bundle, uint64_t now,
                             dep_t ret_deps[MAC_LEARN_DEPS]);

/* Static entries, of fdb/add and fdb/del.  add returns true if an entry was there; del, if one was deleted. */
bool mac_table_add_static(struct mac_table *t, uint16_t vlan, struct eth_addr mac, uint32_t bundle, uint64_t now);
bool mac_table_del(struct mac_table *t, uint16_t vlan, struct eth_addr mac);

/* Removes: everything learned; what was learned at BUNDLE.  Returns how many. */
size_t mac_table_flush(struct mac_table *t);
size_t mac_table_flush_bundle(struct mac_table *t, uint32_t bundle);
/* Removes what was not seen for the ageing time at NOW; what depended on it goes into *CHANGED, a set of the caller's.  Main calls it once a second. */
size_t mac_table_expire(struct mac_table *t, uint64_t now, struct dep_set *changed);

/* Calls CB for each entry, oldest first.  Any thread. */
void mac_table_dump(const struct mac_table *t, uint64_t now, void (*cb)(const struct mac_info *, void *aux), void *aux);
void mac_table_get_stats(const struct mac_table *t, struct mac_stats *ret);
void mac_table_clear_stats(struct mac_table *t);

#endif
