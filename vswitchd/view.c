/* The snapshot for control commands: see the header.
 *
 * One lock guards the pointer to the current view and its count.  It is held for a few instructions only. */
#include <config.h>

#include "vswitchd/view.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/lock.h"
#include "lib/base/util.h"
#include "ofproto/mac.h"

static struct lock view_lock = LOCK_INITIALIZER(RANK_IO);
static struct view *current GUARDED_BY(view_lock);
static size_t db_cells; /* Relaxed. */

struct view *view_create(size_t n_bridges)
{
    struct view *v = xzalloc(sizeof *v);

    v->n_refs = 1;
    v->bridges = xcalloc(n_bridges ? n_bridges : 1, sizeof *v->bridges);
    return v;
}

void view_bridge_init(struct view_bridge *b, const char *name, struct mac_table *macs, size_t n_ports)
{
    b->name = xstrdup(name);
    b->macs = mac_table_ref(macs);
    b->ports = xcalloc(n_ports ? n_ports : 1, sizeof *b->ports);
    b->n_ports = 0;
}

static void view_destroy(struct view *v)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        struct view_bridge *b = &v->bridges[i];
        for (size_t j = 0; j < b->n_ports; j++) {
            free(b->ports[j].name);
            free(b->ports[j].peer);
        }
        free(b->ports);
        free(b->name);
        mac_table_unref(b->macs);
    }
    free(v->bridges);
    free(v);
}

void view_unref(struct view *v)
{
    if (!v) {
        return;
    }
    lock_acquire(&view_lock);
    bool last = --v->n_refs == 0;
    lock_release(&view_lock);
    if (last) {
        view_destroy(v);
    }
}

void view_publish(struct view *v)
{
    lock_acquire(&view_lock);
    struct view *old = current;
    current = v;
    lock_release(&view_lock);
    view_unref(old);
}

struct view *view_get(void)
{
    lock_acquire(&view_lock);
    struct view *v = current;
    if (v) {
        v->n_refs++;
    }
    lock_release(&view_lock);
    return v ? v : view_create(0);
}

const struct view_bridge *view_bridge_find(const struct view *v, const char *name)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        if (!strcmp(v->bridges[i].name, name)) {
            return &v->bridges[i];
        }
    }
    return NULL;
}

void view_set_db_cells(size_t n) { __atomic_store_n(&db_cells, n, __ATOMIC_RELAXED); }
size_t view_db_cells(void) { return __atomic_load_n(&db_cells, __ATOMIC_RELAXED); }
