/* Ports of a large world: how they come and go, and how main hears of it.  See big-world.h. */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim.h"
#include "ofproto/engine-private.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"
#include "tests/sim/big-world.h"

/* As engine_set_config(), which would start the threads. */
static void publish(struct big_world *w)
{
    struct flowcache *fc = &w->engine->fc;
    struct xconfig *c = xconfig_create(), *old = fc->config;
    struct xbridge *br = xconfig_add_bridge(c, "br0", w->macs);

    for (unsigned int i = 0; i < w->n_ports; i++) {
        const struct big_port *p = &w->ports[i];
        if (!odp_port_eq(p->no, ODPP_NONE)) {
            char name[16];
            snprintf(name, sizeof name, "p%u", i);
            struct xbundle *b = xbridge_add_bundle(br, name, p->bundle);
            b->vlan_mode = VLAN_ACCESS;
            b->tag = p->vlan;
            xbundle_add_port(b, name, (ofp_port_t) { i + 1 }, p->no);
        }
    }
    xconfig_seal(c);
    c->version = old ? old->version + 1 : 1;
    rcu_assign_pointer(fc->config, c);
    flowcache_revalidate(fc);
    xconfig_destroy_rcu(old);
}

void big_ports_add(struct big_world *w, const unsigned int ports[], unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        struct big_port *p = &w->ports[ports[i]];
        char name[16];
        if (!odp_port_eq(p->no, ODPP_NONE)) {
            continue;
        }
        snprintf(name, sizeof name, "p%u", ports[i]);
        assert_int_equal(engine_port_add(w->engine, name, DPIF_PORT_NETDEV, ODPP_NONE, &p->no), 0);
        assert_int_equal(w->by_odp[p->no.n], BIG_NO_PORT);
        w->by_odp[p->no.n] = ports[i];
        w->n_reused += w->was_used[p->no.n];
        w->was_used[p->no.n] = true;
        p->bundle = w->next_bundle++;
        p->whole = true;
    }
    publish(w);
}

/* The ports are gone from the datapath, or go now: first nothing refers to them any more. */
static void ports_forget(struct big_world *w, const unsigned int ports[], unsigned int n, odp_port_t numbers[])
{
    size_t n_flushed = 0;

    for (unsigned int i = 0; i < n; i++) {
        struct big_port *p = &w->ports[ports[i]];
        numbers[i] = p->no;
        if (!odp_port_eq(p->no, ODPP_NONE)) {
            w->by_odp[p->no.n] = BIG_NO_PORT;
        }
        p->no = ODPP_NONE;
        p->vanished = false;
        p->gen++;
    }
    publish(w);
    for (unsigned int i = 0; i < n; i++) {
        n_flushed += mac_table_flush_bundle(w->macs, w->ports[ports[i]].bundle);
    }
    if (n_flushed) {
        flowcache_revalidate(&w->engine->fc);
    }
}

void big_ports_del(struct big_world *w, const unsigned int ports[], unsigned int n)
{
    odp_port_t *numbers = xcalloc(n, sizeof *numbers);

    big_poll_ports(w);
    ports_forget(w, ports, n, numbers);
    for (unsigned int i = 0; i < n; i++) {
        if (!odp_port_eq(numbers[i], ODPP_NONE)) {
            assert_int_equal(engine_port_del(w->engine, numbers[i]), 0);
        }
    }
    free(numbers);
}

void big_port_vanish(struct big_world *w, unsigned int port)
{
    struct big_port *p = &w->ports[port];
    char name[16];

    if (!odp_port_eq(p->no, ODPP_NONE) && !p->vanished) {
        snprintf(name, sizeof name, "p%u", port);
        assert_int_equal(sim_port_vanish(w->engine->dpif, name), 0);
        p->vanished = true;
    }
}

/* An event may be older than what is there now under its number: what is there decides. */
static void look_at(struct big_world *w, odp_port_t no)
{
    struct dpif_port info;
    unsigned int port = w->by_odp[no.n];

    if (port != BIG_NO_PORT && dpif_port_query_by_number(w->engine->session, no, &info)) {
        ports_forget(w, &port, 1, &no);
        engine_port_gone(w->engine, no);
    }
}

static void port_event(enum dpif_port_event event, const struct dpif_port *port, void *w)
{
    if (event == DPIF_PORT_EVENT_DELETED) {
        look_at(w, port->no);
    }
}

void big_poll_ports(struct big_world *w)
{
    int error;
    while ((error = dpif_port_poll(w->engine->dpif, port_event, w)) != 0) {
        assert_int_equal(error, -ENOBUFS);
        for (unsigned int i = 0; i < w->n_ports; i++) {
            if (!odp_port_eq(w->ports[i].no, ODPP_NONE)) {
                look_at(w, w->ports[i].no);
            }
        }
    }
    for (unsigned int i = 0; i < w->n_ports; i++) {
        assert_false(w->ports[i].vanished);
    }
}
