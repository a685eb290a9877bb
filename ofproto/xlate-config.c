/* Snapshots of the configuration, as translation reads them.
 *
 * Main builds a snapshot that nobody else sees, seals it, and hands it to the engine, which publishes it.  From then on
 * it is immutable, apart from the MAC tables, which are counted and shared with the snapshots before and after.  The
 * engine destroys the one that it replaces after a grace period, from call_rcu()'s thread: so xconfig_destroy() may run
 * in any thread.  There are no races here: before publication there is one thread, after it no writer.
 *
 * Everything is heap memory owned by the one above: snapshot, bridges, bundles, ports.  Arrays are doubled as they
 * grow, at powers of two, so that their capacity need not be stored. */
#include <config.h>

#include "ofproto/xlate-config.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/util.h"
#include "ofproto/mac.h"
#include "ofproto/tables.h"

#define TPID_8021AD 0x88a8 /* qinq-ethtype's default. */

/* Makes room in ARRAY for one more than its N pointers. */
static void *grow(void *array, size_t n)
{
    return n & (n - 1) ? array : xrealloc(array, MAX(2 * n, 1) * sizeof(void *));
}

/* Returns an empty snapshot, to be filled and sealed by the caller. */
struct xconfig *xconfig_create(void)
{
    struct xconfig *c = xzalloc(sizeof *c);

    memset(&c->can, true, sizeof c->can);
    return c;
}

/* Adds bridge NAME with the MAC table MACS, to which it takes a reference of its own.  It is standalone and has no
 * flood VLANs until the caller says otherwise. */
struct xbridge *xconfig_add_bridge(struct xconfig *c, const char *name, struct mac_table *macs)
{
    struct xbridge *br = xzalloc(sizeof *br);

    br->name = xstrdup(name);
    br->config = c;
    br->macs = mac_table_ref(macs);
    br->normal = true;
    c->bridges = grow(c->bridges, c->n_bridges);
    c->bridges[c->n_bridges++] = br;
    return br;
}

/* Adds bundle NAME with number ID (not 0, not in use) to BR.  Until the caller says otherwise it is what a Port row
 * with empty columns means: a trunk of all VLANs that takes part in flooding. */
struct xbundle *xbridge_add_bundle(struct xbridge *br, const char *name, uint32_t id)
{
    struct xbundle *b = xzalloc(sizeof *b);

    b->id = id;
    b->name = xstrdup(name);
    b->bridge = br;
    b->vlan_mode = VLAN_TRUNK;
    b->trunks.any = true;
    b->cvlans.any = true;
    b->qinq_tpid = htons(TPID_8021AD);
    b->floodable = true;
    b->order = br->n_bundles;
    br->bundles = grow(br->bundles, br->n_bundles);
    br->bundles[br->n_bundles++] = b;
    return b;
}

/* Adds port NAME to B.  ODP is ODPP_NONE if it is not in the datapath.  The caller sets 'is_patch' and 'peer'. */
struct xport *xbundle_add_port(struct xbundle *b, const char *name, ofp_port_t ofp, odp_port_t odp)
{
    struct xport *p = xzalloc(sizeof *p);

    p->name = xstrdup(name);
    p->ofp = ofp;
    p->odp = odp;
    p->bundle = b;
    p->is_live = true; /* Until something else is said. */
    b->ports = grow(b->ports, b->n_ports);
    b->ports[b->n_ports++] = p;
    return p;
}

static size_t odp_hash(odp_port_t odp) { return hash_u64(odp.n, 0); }

/* Puts P into the table, which has room.  If two ports claim one number, which main does not do, the first one has it.
 */
static void index_port(struct xconfig *c, struct xport *p)
{
    size_t i = odp_hash(p->odp) & c->by_odp_mask;

    while (c->by_odp[i] && !odp_port_eq(c->by_odp[i]->odp, p->odp)) {
        i = (i + 1) & c->by_odp_mask;
    }
    if (!c->by_odp[i]) {
        c->by_odp[i] = p;
    }
}

static int compare_bundles(const void *a_, const void *b_)
{
    const struct xbundle *const *a = a_, *const *b = b_;
    return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

static bool is_narrow(const struct xbundle *b)
{
    return b->vlan_mode == VLAN_ACCESS || b->vlan_mode == VLAN_DOT1Q_TUNNEL;
}

static int compare_narrow(const void *a_, const void *b_)
{
    const struct xbundle *const *a = a_, *const *b = b_;
    if ((*a)->tag != (*b)->tag) {
        return (*a)->tag < (*b)->tag ? -1 : 1;
    }
    return (*a)->order < (*b)->order ? -1 : (*a)->order > (*b)->order;
}

static int compare_ofp(const void *a_, const void *b_)
{
    const struct xport *const *a = a_, *const *b = b_;
    return (*a)->ofp.n < (*b)->ofp.n ? -1 : (*a)->ofp.n > (*b)->ofp.n;
}

static void index_by_ofp(struct xbridge *br)
{
    size_t n = 0;

    for (size_t i = 0; i < br->n_bundles; i++) {
        n += br->bundles[i]->n_ports;
    }
    br->by_ofp = xcalloc(MAX(n, 1), sizeof *br->by_ofp);
    for (size_t i = 0; i < br->n_bundles; i++) {
        for (size_t k = 0; k < br->bundles[i]->n_ports; k++) {
            br->by_ofp[br->n_by_ofp++] = br->bundles[i]->ports[k];
        }
    }
    qsort(br->by_ofp, br->n_by_ofp, sizeof *br->by_ofp, compare_ofp);
}

static void seal_bridge(struct xbridge *br)
{
    index_by_ofp(br);
    br->narrow = xcalloc(MAX(br->n_bundles, 1), sizeof *br->narrow);
    br->wide = xcalloc(MAX(br->n_bundles, 1), sizeof *br->wide);
    for (size_t i = 0; i < br->n_bundles; i++) {
        struct xbundle *b = br->bundles[i];
        if (is_narrow(b)) {
            br->narrow[br->n_narrow++] = b;
        } else {
            br->wide[br->n_wide++] = b;
        }
    }
    qsort(br->narrow, br->n_narrow, sizeof *br->narrow, compare_narrow);
}

/* Makes the indexes of C.  Once, when all bridges, bundles and ports have been added. */
void xconfig_seal(struct xconfig *c)
{
    size_t n_bundles = 0, n_ports = 0, size = 8;

    for (size_t i = 0; i < c->n_bridges; i++) {
        const struct xbridge *br = c->bridges[i];

        n_bundles += br->n_bundles;
        for (size_t j = 0; j < br->n_bundles; j++) {
            n_ports += br->bundles[j]->n_ports;
        }
    }
    while (size < 2 * n_ports) { /* At most half full: probes are short, and an empty place ends each. */
        size *= 2;
    }
    c->by_odp = xcalloc(size, sizeof *c->by_odp);
    c->by_odp_mask = size - 1;
    c->by_id = xcalloc(MAX(n_bundles, 1), sizeof *c->by_id);

    for (size_t i = 0; i < c->n_bridges; i++) {
        struct xbridge *br = c->bridges[i];

        seal_bridge(br);
        for (size_t j = 0; j < br->n_bundles; j++) {
            struct xbundle *b = br->bundles[j];

            c->by_id[c->n_by_id++] = b;
            for (size_t k = 0; k < b->n_ports; k++) {
                if (!odp_port_eq(b->ports[k]->odp, ODPP_NONE)) {
                    index_port(c, b->ports[k]);
                }
            }
        }
    }
    qsort(c->by_id, c->n_by_id, sizeof *c->by_id, compare_bundles);
}

static void bundle_destroy(struct xbundle *b)
{
    for (size_t i = 0; i < b->n_ports; i++) {
        free(b->ports[i]->name);
        free(b->ports[i]);
    }
    free(b->ports);
    free(b->name);
    free(b);
}

/* Frees C, sealed or not, and gives its references to MAC tables back.  Accepts NULL. */
void xconfig_destroy(struct xconfig *c)
{
    if (!c) {
        return;
    }
    for (size_t i = 0; i < c->n_bridges; i++) {
        struct xbridge *br = c->bridges[i];

        for (size_t j = 0; j < br->n_bundles; j++) {
            bundle_destroy(br->bundles[j]);
        }
        mac_table_unref(br->macs);
        tables_unref(br->tables);
        free(br->by_ofp);
        free(br->bundles);
        free(br->narrow);
        free(br->wide);
        free(br->name);
        free(br);
    }
    free(c->bridges);
    free(c->by_odp);
    free(c->by_id);
    free(c);
}

static void destroy_cb(struct rcu_head *head) { xconfig_destroy(CONTAINER_OF(head, struct xconfig, rcu)); }

void xconfig_destroy_rcu(struct xconfig *c)
{
    if (c) {
        call_rcu(&c->rcu, destroy_cb);
    }
}

/* Returns the port that has number ODP in the datapath, or NULL.  C is sealed. */
struct xport *xconfig_port_by_odp(const struct xconfig *c, odp_port_t odp)
{
    struct xport *p;

    for (size_t i = odp_hash(odp) & c->by_odp_mask; (p = c->by_odp[i]) != NULL; i = (i + 1) & c->by_odp_mask) {
        if (odp_port_eq(p->odp, odp)) {
            return p;
        }
    }
    return NULL;
}

/* Returns the bundle with number ID, or NULL.  C is sealed. */
struct xbundle *xconfig_bundle_by_id(const struct xconfig *c, uint32_t id)
{
    size_t low = 0, high = c->n_by_id;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (c->by_id[mid]->id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < c->n_by_id && c->by_id[low]->id == id ? c->by_id[low] : NULL;
}

/* Returns the port of BR that has number OFP, or NULL.  BR is sealed. */
struct xport *xbridge_port_by_ofp(const struct xbridge *br, ofp_port_t ofp)
{
    const struct xport key = { .ofp = ofp }, *keyp = &key;
    struct xport *const *found = bsearch(&keyp, br->by_ofp, br->n_by_ofp, sizeof *br->by_ofp, compare_ofp);

    return found ? *found : NULL;
}

/* Returns bridge NAME, or NULL.  There are few bridges, and only main and control commands ask. */
struct xbridge *xconfig_bridge_by_name(const struct xconfig *c, const char *name)
{
    for (size_t i = 0; i < c->n_bridges; i++) {
        if (!strcmp(c->bridges[i]->name, name)) {
            return c->bridges[i];
        }
    }
    return NULL;
}

size_t xbridge_first_narrow(const struct xbridge *br, uint16_t vlan)
{
    size_t low = 0, high = br->n_narrow;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (br->narrow[mid]->tag < vlan) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

void xlate_outside_init(struct xlate_outside *o, const struct xbridge *br, ofp_port_t no)
{
    o->bundle = (struct xbundle) { .name = br->name, .bridge = (struct xbridge *) br, .vlan_mode = VLAN_TRUNK, .trunks = { .any = true } };
    o->port = (struct xport) { .name = br->name, .ofp = no, .odp = ODPP_NONE, .bundle = &o->bundle };
}
