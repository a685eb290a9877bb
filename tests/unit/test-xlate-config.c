/* Unit tests of configuration snapshots: the indexes find every port and bundle and nothing else, at 10,000 ports too,
 * and a snapshot frees all it owns, its references to MAC tables included. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/rcu.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"

static odp_port_t odp(uint32_t n) { return (odp_port_t){ n }; }
static ofp_port_t ofp(uint16_t n) { return (ofp_port_t){ n }; }

static void an_empty_snapshot_finds_nothing(void **state)
{
    struct xconfig *c = xconfig_create();

    xconfig_seal(c);
    assert_null(xconfig_port_by_odp(c, odp(0)));
    assert_null(xconfig_port_by_odp(c, ODPP_NONE));
    assert_null(xconfig_bundle_by_id(c, 0));
    assert_null(xconfig_bundle_by_id(c, 1));
    assert_null(xconfig_bridge_by_name(c, "br0"));
    xconfig_destroy(c);
}

static void a_new_bundle_is_a_trunk_of_all_vlans(void **state)
{
    struct mac_table *macs = mac_table_create();
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", macs);
    struct xbundle *b = xbridge_add_bundle(br, "p1", 9);

    assert_true(br->normal);
    assert_false(br->forward_bpdu);
    assert_false(vlan_set_has(&br->flood_vlans, 0));
    assert_int_equal(b->vlan_mode, VLAN_TRUNK);
    assert_true(vlan_set_has(&b->trunks, 0) && vlan_set_has(&b->trunks, 4095) && vlan_set_has(&b->cvlans, 1));
    assert_int_equal(b->qinq_tpid, htons(0x88a8));
    assert_true(b->floodable);
    assert_false(b->protected);
    assert_ptr_equal(b->bridge, br);
    assert_ptr_equal(br->config, c);
    xconfig_destroy(c); /* Not sealed: as when main gives up half way. */
    mac_table_unref(macs);
    rcu_barrier();
}

static void names_are_copied_and_mac_tables_counted(void **state)
{
    struct mac_table *macs = mac_table_create();
    struct eth_addr a = { { 2, 0, 0, 0, 0, 1 } };
    char name[] = "br0";
    struct xconfig *c1 = xconfig_create(), *c2 = xconfig_create();

    xconfig_add_bridge(c1, name, macs);
    xconfig_add_bridge(c2, name, macs);
    mac_table_unref(macs);
    memset(name, 'x', 3);
    xconfig_seal(c1);
    xconfig_seal(c2);
    xconfig_destroy(c1);
    rcu_barrier();
    struct xbridge *br = xconfig_bridge_by_name(c2, "br0");
    assert_non_null(br);
    rcu_read_lock();
    dep_t deps[MAC_LEARN_DEPS];
    assert_int_equal(mac_table_learn(br->macs, 0, a, 1, 1, deps), 1); /* Still there. */
    rcu_read_unlock();
    xconfig_destroy(c2);
    xconfig_destroy(NULL);
    rcu_barrier();
}

static void patch_ports_are_not_in_the_datapath_index(void **state)
{
    struct mac_table *macs = mac_table_create();
    struct xconfig *c = xconfig_create();
    struct xbridge *br0 = xconfig_add_bridge(c, "br0", macs), *br1 = xconfig_add_bridge(c, "br1", macs);
    struct xport *p0 = xbundle_add_port(xbridge_add_bundle(br0, "p0", 1), "p0", ofp(1), ODPP_NONE);
    struct xport *p1 = xbundle_add_port(xbridge_add_bundle(br1, "p1", 2), "p1", ofp(1), ODPP_NONE);
    struct xport *local = xbundle_add_port(xbridge_add_bundle(br0, "br0", 3), "br0", OFPP_LOCAL, ODPP_LOCAL);

    p0->is_patch = p1->is_patch = true;
    p0->peer = p1;
    p1->peer = p0;
    xconfig_seal(c);
    assert_null(xconfig_port_by_odp(c, ODPP_NONE));
    assert_ptr_equal(xconfig_port_by_odp(c, ODPP_LOCAL), local);
    assert_ptr_equal(xconfig_bundle_by_id(c, 2)->ports[0]->peer->bundle->bridge, br0);
    xconfig_destroy(c);
    mac_table_unref(macs);
    rcu_barrier();
}

/* 10,000 ports over 10 bridges; every hundredth bundle is a bond of 4.  Port numbers and ids in no order. */
static void ten_thousand_ports_are_all_found(void **state)
{
    enum { N = 10000 };
    static struct xport *by_number[N];
    struct mac_table *macs = mac_table_create();
    struct xconfig *c = xconfig_create();
    struct xbundle *b = NULL;

    for (uint32_t i = 0; i < 10; i++) {
        char name[16];

        snprintf(name, sizeof name, "br%u", i);
        xconfig_add_bridge(c, name, macs);
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t no = i * 7919 % N; /* 7919 and N have no common factor: all numbers, shuffled. */
        char name[16];

        snprintf(name, sizeof name, "p%u", no);
        if (i % 100 == 0 || i % 100 > 3) {
            b = xbridge_add_bundle(c->bridges[i % 10], name, 1 + no * 3);
        }
        by_number[no] = xbundle_add_port(b, name, ofp(1 + no), odp(no * 5));
    }
    xconfig_seal(c);

    size_t n_bundles = 0, n_ports = 0;
    for (uint32_t no = 0; no < N; no++) {
        struct xport *p = xconfig_port_by_odp(c, odp(no * 5));

        assert_ptr_equal(p, by_number[no]);
        assert_ptr_equal(xconfig_bundle_by_id(c, p->bundle->id), p->bundle);
        for (uint32_t k = 1; k < 5; k++) {
            assert_null(xconfig_port_by_odp(c, odp(no * 5 + k)));
        }
        assert_null(xconfig_bundle_by_id(c, no * 3));
        n_bundles += xconfig_bundle_by_id(c, 1 + no * 3) != NULL;
    }
    assert_int_equal(n_bundles, c->n_by_id);
    assert_int_equal(n_bundles, N - 3 * 100);
    for (size_t i = 0; i < c->n_by_id; i++) {
        assert_true(!i || c->by_id[i - 1]->id < c->by_id[i]->id);
        n_ports += c->by_id[i]->n_ports;
    }
    assert_int_equal(n_ports, N);
    assert_null(xconfig_port_by_odp(c, ODPP_NONE));
    assert_null(xconfig_port_by_odp(c, odp(N * 5)));
    assert_ptr_equal(xconfig_bridge_by_name(c, "br7"), c->bridges[7]);
    xconfig_destroy(c);
    mac_table_unref(macs);
    rcu_barrier();
}

/* Access ports and tunnels are found by VLAN, in the order in which they were added; the others stand apart. */
static void what_a_flood_has_to_look_at_is_found_by_vlan(void **state)
{
    struct mac_table *macs = mac_table_create();
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", macs);
    char name[16];

    for (uint32_t i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "p%u", i);
        struct xbundle *b = xbridge_add_bundle(br, name, i + 1);
        b->vlan_mode = i % 2500 == 7 ? VLAN_TRUNK : i % 3 ? VLAN_ACCESS : VLAN_DOT1Q_TUNNEL;
        b->tag = 2 * (i % 2500 + 1) % 4095;
    }
    xconfig_seal(c);
    assert_int_equal(br->n_wide, 4);
    assert_int_equal(br->n_narrow, 9996);
    for (size_t i = 0; i < br->n_wide; i++) {
        assert_int_equal(br->wide[i]->order, 7 + 2500 * i);
    }
    size_t n_found = 0;
    for (uint16_t vlan = 0; vlan < 4096; vlan++) {
        size_t first = xbridge_first_narrow(br, vlan), last = first;
        assert_int_equal(first, n_found);
        for (; last < br->n_narrow && br->narrow[last]->tag == vlan; last++) {
            assert_true(last == first || br->narrow[last - 1]->order < br->narrow[last]->order);
        }
        n_found = last;
    }
    assert_int_equal(n_found, br->n_narrow);
    xconfig_destroy(c);
    mac_table_unref(macs);
    rcu_barrier();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_snapshot_finds_nothing),
        cmocka_unit_test(a_new_bundle_is_a_trunk_of_all_vlans),
        cmocka_unit_test(names_are_copied_and_mac_tables_counted),
        cmocka_unit_test(patch_ports_are_not_in_the_datapath_index),
        cmocka_unit_test(ten_thousand_ports_are_all_found),
        cmocka_unit_test(what_a_flood_has_to_look_at_is_found_by_vlan),
    };

    rcu_register_thread();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_unregister_thread();
    return failed;
}
