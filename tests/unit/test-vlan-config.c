/* Unit tests of vswitchd/vlan-config.c: from the columns of a Port row to its VLAN configuration. */
#include <config.h>

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vswitchd/vlan-config.h"

static struct vlan_config read_good(struct vlan_wish w)
{
    struct vlan_config c;
    char *error = vlan_config_read(&w, &c);

    assert_null(error);
    return c;
}

static struct vlan_config read_bad(struct vlan_wish w, const char *names)
{
    struct vlan_config c;
    char *error = vlan_config_read(&w, &c);

    assert_non_null(error);
    if (!strstr(error, names)) {
        fail_msg("\"%s\" does not name %s", error, names);
    }
    free(error);
    return c;
}

static void nothing_makes_a_trunk_of_all_vlans(void **state)
{
    struct vlan_config c = read_good((struct vlan_wish) { 0 });

    assert_int_equal(c.mode, VLAN_TRUNK);
    assert_true(vlan_set_has(&c.trunks, 0) && vlan_set_has(&c.trunks, 4095));
    assert_int_equal(c.priority_tags, PRIORITY_TAGS_NEVER);
    assert_int_equal(ntohs(c.qinq_tpid), 0x88a8);
}

static void a_tag_makes_an_access_port(void **state)
{
    struct vlan_config c = read_good((struct vlan_wish) { .has_tag = true, .tag = 10 });

    assert_int_equal(c.mode, VLAN_ACCESS);
    assert_int_equal(c.tag, 10);
}

static void trunks_are_the_only_vlans(void **state)
{
    static const int64_t trunks[] = { 0, 63, 64, 4095 };
    struct vlan_config c = read_good((struct vlan_wish) { .trunks = trunks, .n_trunks = 4 });

    assert_int_equal(c.mode, VLAN_TRUNK);
    for (int vid = 0; vid < 4096; vid++) {
        assert_int_equal(vlan_set_has(&c.trunks, vid), vid == 0 || vid == 63 || vid == 64 || vid == 4095);
    }
}

static void a_native_vlan_is_always_trunked(void **state)
{
    static const int64_t trunks[] = { 20 };
    const char *modes[] = { "native-tagged", "native-untagged" };

    for (int i = 0; i < 2; i++) {
        struct vlan_config c = read_good((struct vlan_wish) {
            .vlan_mode = modes[i], .has_tag = true, .tag = 10, .trunks = trunks, .n_trunks = 1 });
        assert_int_equal(c.mode, i ? VLAN_NATIVE_UNTAGGED : VLAN_NATIVE_TAGGED);
        assert_true(vlan_set_has(&c.trunks, 10) && vlan_set_has(&c.trunks, 20));
        assert_false(vlan_set_has(&c.trunks, 11));
    }
}

static void an_explicit_trunk_has_no_tag(void **state)
{
    struct vlan_config c = read_good((struct vlan_wish) { .vlan_mode = "trunk", .has_tag = true, .tag = 10 });

    assert_int_equal(c.mode, VLAN_TRUNK);
    assert_int_equal(c.tag, 0);
}

static void a_tunnel_has_customer_vlans_and_an_ethertype(void **state)
{
    static const int64_t cvlans[] = { 5 };
    struct vlan_config c = read_good((struct vlan_wish) {
        .vlan_mode = "dot1q-tunnel", .has_tag = true, .tag = 100, .cvlans = cvlans, .n_cvlans = 1,
        .qinq_ethtype = "802.1q" });

    assert_int_equal(c.mode, VLAN_DOT1Q_TUNNEL);
    assert_true(vlan_set_has(&c.cvlans, 5) && !vlan_set_has(&c.cvlans, 6));
    assert_int_equal(ntohs(c.qinq_tpid), 0x8100);
}

static void junk_gets_its_default_and_is_named(void **state)
{
    static const int64_t trunks[] = { -1, 4096, INT64_MAX, INT64_MIN };
    struct vlan_config c;

    c = read_bad((struct vlan_wish) { .has_tag = true, .tag = 4096 }, "4096");
    assert_int_equal(c.mode, VLAN_TRUNK);
    c = read_bad((struct vlan_wish) { .vlan_mode = "hybrid" }, "hybrid");
    assert_int_equal(c.mode, VLAN_TRUNK);
    c = read_bad((struct vlan_wish) { .priority_tags = "maybe" }, "maybe");
    assert_int_equal(c.priority_tags, PRIORITY_TAGS_NEVER);
    c = read_bad((struct vlan_wish) { .qinq_ethtype = "802.1x" }, "802.1x");
    assert_int_equal(ntohs(c.qinq_tpid), 0x88a8);
    /* Nothing but nonsense does not mean everything. */
    c = read_bad((struct vlan_wish) { .trunks = trunks, .n_trunks = 4 }, "trunks");
    assert_false(vlan_set_has(&c.trunks, 1));
}

static void equality_sees_each_field(void **state)
{
    static const int64_t trunks[] = { 7 };
    const struct vlan_config a = read_good((struct vlan_wish) { 0 });
    const struct vlan_wish others[] = {
        { .has_tag = true, .tag = 1 },     { .trunks = trunks, .n_trunks = 1 }, { .cvlans = trunks, .n_cvlans = 1 },
        { .priority_tags = "always" },     { .qinq_ethtype = "802.1q" },        { .protected = true },
        { .vlan_mode = "native-untagged" },
    };

    assert_true(vlan_config_equal(&a, &a));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct vlan_config b = read_good(others[i]);
        assert_false(vlan_config_equal(&a, &b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_makes_a_trunk_of_all_vlans),
        cmocka_unit_test(a_tag_makes_an_access_port),
        cmocka_unit_test(trunks_are_the_only_vlans),
        cmocka_unit_test(a_native_vlan_is_always_trunked),
        cmocka_unit_test(an_explicit_trunk_has_no_tag),
        cmocka_unit_test(a_tunnel_has_customer_vlans_and_an_ethertype),
        cmocka_unit_test(junk_gets_its_default_and_is_named),
        cmocka_unit_test(equality_sees_each_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
