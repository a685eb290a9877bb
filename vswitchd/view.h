/* What control commands see of the switch: an immutable snapshot, counted.
 *
 * Main publishes one with each configuration; the introspection thread takes a reference to the current one, and so never
 * waits for main.  The engine is lent the same way: who has entered it keeps main from closing it, which happens only when the
 * last bridge goes or the process ends. */
#ifndef VSWITCHD_VIEW_H
#define VSWITCHD_VIEW_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/types.h"

struct mac_table;

struct view_port {
    char *name;
    const char *type; /* "system", "internal", "patch". */
    char *peer;       /* Patch only; else NULL. */
    ofp_port_t ofp;
    odp_port_t odp;   /* ODPP_NONE: not in the datapath. */
    uint32_t bundle_id;
};

struct view_bridge {
    char *name;
    struct mac_table *macs; /* A reference. */
    struct view_port *ports; /* Sorted by name. */
    size_t n_ports;
};

struct view {
    unsigned int n_refs; /* Guarded by view.c's lock. */
    struct view_bridge *bridges; /* Sorted by name. */
    size_t n_bridges;
};

/* Main. */
struct view *view_create(size_t n_bridges);
void view_bridge_init(struct view_bridge *b, const char *name, struct mac_table *macs, size_t n_ports);
/* Makes V (may be NULL) the current one; takes the caller's reference over. */
void view_publish(struct view *v);
/* For memory/show. */
void view_set_db_cells(size_t n);
size_t view_db_cells(void);

/* Any thread. */
struct view *view_get(void); /* The current one, never NULL; to be given to: */
void view_unref(struct view *v);
const struct view_bridge *view_bridge_find(const struct view *v, const char *name);

#endif
