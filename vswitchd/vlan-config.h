/* The VLAN configuration of one row of the Port table, checked.  Pure. */
#ifndef VSWITCHD_VLAN_CONFIG_H
#define VSWITCHD_VLAN_CONFIG_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ofproto/xlate-config.h"

/* As the row has it; strings may be NULL (unset). */
struct vlan_wish {
    const char *vlan_mode;
    bool has_tag;
    int64_t tag;
    const int64_t *trunks, *cvlans;
    size_t n_trunks, n_cvlans;
    const char *qinq_ethtype, *priority_tags;
    bool protected;
};

struct vlan_config {
    enum vlan_mode mode;
    uint16_t tag;
    struct vlan_set trunks, cvlans;
    be16 qinq_tpid;
    enum priority_tags priority_tags;
    bool protected;
};

/* Fills in *RET, which is usable whatever W says: a value that makes no sense is replaced by its default.  Returns NULL, or
 * what was wrong, in words, naming value and what would be right; to be freed. */
char *vlan_config_read(const struct vlan_wish *w, struct vlan_config *ret);
bool vlan_config_equal(const struct vlan_config *a, const struct vlan_config *b);

/* VLAN ids V[0..N) as a set; ids out of 0..4095 are left out and counted in the result. */
size_t vlan_set_read(const int64_t *v, size_t n, struct vlan_set *ret);

#endif
