/* libFuzzer target: any bytes as a match in NXM, as ofp_match, as ofp10_match, and as text.
 *
 * What is read without error must survive being written in every version and read again; nothing may be read past the
 * end.  Seeds in seeds/ofp-match are the packaged tool's bytes. */
#include <config.h>

#include <arpa/inet.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-match.h"

static void print(const struct match *m)
{
    struct text t;

    ofp_match_print(text_open(&t), m, 1);
    free(text_close(&t));
}

/* OXM does not say the priority of a tag that is not there. */
static bool same(struct match a, struct match b)
{
    if (!a.flow.vlan[0].tci && !b.flow.vlan[0].tci && (a.mask.vlan[0].tci & b.mask.vlan[0].tci & htons(VLAN_CFI))) {
        a.mask.vlan[0].tci |= htons(VLAN_PCP_MASK);
        b.mask.vlan[0].tci |= htons(VLAN_PCP_MASK);
    }
    return !memcmp(&a, &b, sizeof a);
}

static void survives(const struct match *m)
{
    static const enum ofp_version versions[] = { OFP13_VERSION, OFP14_VERSION, OFP15_VERSION };
    struct buf b = BUF_INITIALIZER;
    struct match again;

    ofp_match_put_nxm(&b, m, NULL);
    if (ofp_match_pull_nxm(b.data, b.len, true, &again, NULL) || memcmp(&again, m, sizeof again)) {
        abort();
    }
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        buf_clear(&b);
        ofp_match_put_oxm(&b, m, versions[i]);
        struct bytes r = { b.data, b.len };
        if (ofp_match_pull_oxm(&r, true, &again) || r.n || !same(again, *m)) {
            abort();
        }
    }
    buf_uninit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ofp_match_cookie cookie;
    struct bytes b = { data, size };
    struct match m;

    if (!ofp_match_pull_nxm(data, size, true, &m, NULL)) {
        survives(&m);
        print(&m);
    }
    if (!ofp_match_pull_nxm(data, size, false, &m, &cookie)) {
        print(&m);
    }
    if (!ofp_match_pull_oxm(&b, true, &m)) {
        survives(&m);
    }
    if (size >= OFP10_MATCH_LEN) {
        ofp_match_from_ofp10(data, &m);
        survives(&m);
        print(&m);
    }
    char *text = strndup((const char *) data, size);
    free(ofp_match_scan(text, &m));
    free(text);
    return 0;
}
