/* From the VLAN columns of a Port row to what translation needs: see the header.
 *
 * The defaults are those of ovs-vswitchd.conf.db(5): a tag makes an access port, none makes a trunk; a trunk without
 * trunks carries all VLANs; a native VLAN is always carried. */
#include <config.h>

#include "vswitchd/vlan-config.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"

size_t vlan_set_read(const int64_t *v, size_t n, struct vlan_set *ret)
{
    size_t bad = 0;

    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < n; i++) {
        if (v[i] < 0 || v[i] > 4095) {
            bad++;
        } else {
            ret->bits[v[i] / 64] |= UINT64_C(1) << (v[i] % 64);
        }
    }
    return bad;
}

/* The same, where an empty set means all. */
static size_t read_or_all(const int64_t *v, size_t n, struct vlan_set *ret)
{
    size_t bad = vlan_set_read(v, n, ret);
    /* A set with nothing but nonsense in it is not the wish to carry everything. */
    ret->any = n == 0;
    return bad;
}

static const struct {
    const char *name;
    enum vlan_mode mode;
} modes[] = {
    { "access", VLAN_ACCESS },
    { "trunk", VLAN_TRUNK },
    { "native-tagged", VLAN_NATIVE_TAGGED },
    { "native-untagged", VLAN_NATIVE_UNTAGGED },
    { "dot1q-tunnel", VLAN_DOT1Q_TUNNEL },
};

static char *read_mode(const struct vlan_wish *w, bool has_tag, enum vlan_mode *ret)
{
    *ret = has_tag ? VLAN_ACCESS : VLAN_TRUNK;
    if (!w->vlan_mode) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        if (!strcmp(w->vlan_mode, modes[i].name)) {
            *ret = modes[i].mode;
            return NULL;
        }
    }
    return xasprintf("vlan_mode \"%s\" is unknown; use access, trunk, native-tagged, native-untagged or dot1q-tunnel",
                     w->vlan_mode);
}

static char *read_words(const struct vlan_wish *w, struct vlan_config *ret)
{
    char *error = NULL;

    ret->qinq_tpid = htons(0x88a8);
    if (w->qinq_ethtype && !strcmp(w->qinq_ethtype, "802.1q")) {
        ret->qinq_tpid = htons(0x8100);
    } else if (w->qinq_ethtype && strcmp(w->qinq_ethtype, "802.1ad")) {
        error = xasprintf("qinq-ethtype \"%s\" is unknown; use 802.1ad or 802.1q", w->qinq_ethtype);
    }

    const char *p = w->priority_tags;
    ret->priority_tags = PRIORITY_TAGS_NEVER;
    /* "true" is what older versions of the schema had for if-nonzero. */
    if (p && (!strcmp(p, "if-nonzero") || !strcmp(p, "true"))) {
        ret->priority_tags = PRIORITY_TAGS_IF_NONZERO;
    } else if (p && !strcmp(p, "always")) {
        ret->priority_tags = PRIORITY_TAGS_ALWAYS;
    } else if (p && strcmp(p, "never") && strcmp(p, "false") && !error) {
        error = xasprintf("priority-tags \"%s\" is unknown; use always, if-nonzero or never", p);
    }
    return error;
}

static void keep_first(char **error, char *next)
{
    if (*error) {
        free(next);
    } else {
        *error = next;
    }
}

char *vlan_config_read(const struct vlan_wish *w, struct vlan_config *ret)
{
    char *error = NULL;
    bool has_tag = w->has_tag && w->tag >= 0 && w->tag <= 4095;

    memset(ret, 0, sizeof *ret); /* Padding too: compared as bytes. */
    if (w->has_tag && !has_tag) {
        error = xasprintf("tag %lld is not a VLAN id; use 0 to 4095", (long long) w->tag);
    }
    keep_first(&error, read_mode(w, has_tag, &ret->mode));
    if (ret->mode != VLAN_TRUNK) {
        ret->tag = has_tag ? w->tag : 0;
    }
    if (read_or_all(w->trunks, w->n_trunks, &ret->trunks)) {
        keep_first(&error, xasprintf("trunks has ids that are not VLAN ids; use 0 to 4095"));
    }
    if (read_or_all(w->cvlans, w->n_cvlans, &ret->cvlans)) {
        keep_first(&error, xasprintf("cvlans has ids that are not VLAN ids; use 0 to 4095"));
    }
    if (ret->mode == VLAN_NATIVE_TAGGED || ret->mode == VLAN_NATIVE_UNTAGGED) {
        ret->trunks.bits[ret->tag / 64] |= UINT64_C(1) << (ret->tag % 64);
    }
    keep_first(&error, read_words(w, ret));
    ret->protected = w->protected;
    return error;
}

bool vlan_config_equal(const struct vlan_config *a, const struct vlan_config *b)
{
    return a->mode == b->mode && a->tag == b->tag && a->qinq_tpid == b->qinq_tpid &&
           a->priority_tags == b->priority_tags && a->protected == b->protected && a->trunks.any == b->trunks.any &&
           a->cvlans.any == b->cvlans.any && !memcmp(a->trunks.bits, b->trunks.bits, sizeof a->trunks.bits) &&
           !memcmp(a->cvlans.bits, b->cvlans.bits, sizeof a->cvlans.bits);
}
