/* Control command bridge/dump-flows: all rules of a bridge, hidden ones too.
 *
 * It runs in the control socket's thread.  The rules are read under RCU at one version, so that what is told is what was there at one time; then they
 * are held, and printed outside of the read section. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "lib/ofp/ofp-match.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine.h"
#include "ofproto/tables.h"
#include "ofproto/xlate-config.h"

struct listing {
    const char *bridge;
    bool found;
    struct rule **rules; /* A reference each. */
    size_t n, allocated;
};

static bool hold_rule(struct rule *r, void *l_)
{
    struct listing *l = l_;

    if (!rule_try_ref(r)) {
        return true;
    }
    if (l->n == l->allocated) {
        l->allocated = MAX(64, 2 * l->allocated);
        l->rules = xrealloc(l->rules, l->allocated * sizeof *l->rules);
    }
    l->rules[l->n++] = r;
    return true;
}

static void hold_rules(const struct xconfig *config, void *l_)
{
    struct listing *l = l_;
    const struct xbridge *br = config ? xconfig_bridge_by_name(config, l->bridge) : NULL;

    if (br) {
        l->found = true;
        if (br->tables) {
            tables_for_each(br->tables, TABLE_ALL, NULL, tables_version(br->tables), hold_rule, l);
        }
    }
}

/* As the order of their making. */
static int compare_rules(const void *a_, const void *b_)
{
    const struct rule *a = *(struct rule *const *) a_, *b = *(struct rule *const *) b_;

    if (a->table_id != b->table_id) {
        return a->table_id < b->table_id ? -1 : 1;
    }
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static void print_rule(FILE *out, const struct rule *r, uint64_t now, bool offload)
{
    struct match match;

    if (r->table_id) {
        fprintf(out, "table_id=%d, ", r->table_id);
    }
    fprintf(out, "duration=%" PRIu64 "s, n_packets=%" PRIu64 ", n_bytes=%" PRIu64 ", ", (now - r->created) / 1000, rule_packets(r),
            rule_bytes(r));
    if (offload) {
        fputs("n_offload_packets=0, n_offload_bytes=0, ", out); /* Nothing is: there is no offload here. */
    }
    cls_rule_get_match(&r->cls, &match);
    int priority = cls_rule_priority(&r->cls);
    ofp_match_print(out, &match, priority);
    fputs(",actions=", out);
    ofp_acts_print(out, rule_acts(r), r->acts_len, NULL);
    putc('\n', out);
}

static void bridge_dump_flows(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    struct listing l = { .bridge = argv[argc - 1] };
    bool offload = argc > 2;
    struct engine *e;
    struct text t;

    if (offload && strcmp(argv[1], "--offload-stats")) {
        unixctl_error(conn, "Unrecognized option %s", argv[1]);
        return;
    }
    e = engine_get();
    if (e) {
        engine_with_config(e, hold_rules, &l);
        engine_put(e);
    }
    if (!l.found) {
        unixctl_error(conn, "Unknown bridge");
        return;
    }
    FILE *out = text_open(&t);
    uint64_t now = clock_msec();
    if (l.n) {
        qsort(l.rules, l.n, sizeof *l.rules, compare_rules);
    }
    for (size_t i = 0; i < l.n; i++) {
        print_rule(out, l.rules[i], now, offload);
        rule_unref(l.rules[i]);
    }
    free(l.rules);
    unixctl_reply_take(conn, text_close(&t));
}

void tables_ctl_init(void) { unixctl_register("bridge/dump-flows", "[--offload-stats] bridge", 1, 2, bridge_dump_flows, NULL); }
