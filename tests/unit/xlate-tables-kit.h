/* Bridges with OpenFlow tables, from text: flows as for ovs-ofctl, packets as a match that says all of them.
 *
 * A flow is "table=1,priority=5,MATCH actions=ACTIONS"; table and priority stand first, if at all, in this order. */
#ifndef TESTS_XLATE_TABLES_KIT_H
#define TESTS_XLATE_TABLES_KIT_H 1

#include "lib/odp/odp-actions.h"
#include "lib/ofp/ofp-action.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/flow-mod.h"
#include "ofproto/tables.h"
#include "ofproto/xlate-acts.h"
#include "tests/unit/xlate-kit.h"

static inline unsigned int kit_number(const char **s, const char *key, unsigned int otherwise)
{
    size_t n = strlen(key);

    if (strncmp(*s, key, n)) {
        return otherwise;
    }
    unsigned int value = strtoul(*s + n, (char **) s, 0);
    *s += **s == ',';
    return value;
}

/* What makes the flow that TEXT says; ACTS gets its actions. */
static inline struct flow_mod kit_flow_mod(const char *text, struct buf *acts)
{
    struct flow_mod fm = { .command = FLOW_ADD, .filter = { .out_port = OFPP_NONE, .out_group = OFPG_ANY } };

    fm.filter.table_id = kit_number(&text, "table=", 0);
    fm.filter.priority = kit_number(&text, "priority=", OFP_DEFAULT_PRIORITY);
    const char *actions = strstr(text, "actions=");
    assert_non_null(actions);
    char *match = xasprintf("%.*s", (int) (actions - text), text);
    for (size_t n = strlen(match); n && match[n - 1] == ' ';) {
        match[--n] = '\0';
    }
    char *error = ofp_match_scan(match, &fm.filter.match);
    if (!error) {
        error = ofp_acts_scan(actions + strlen("actions="), NULL, acts);
    }
    if (error) {
        fail_msg("%s: %s", text, error);
    }
    free(match);
    ofp_match_normalize(&fm.filter.match);
    fm.spec.acts = (const struct ofp_act *) acts->data;
    fm.spec.acts_len = acts->len;
    return fm;
}

/* As of OpenFlow 1.0, whose actions need not fit the match. */
static inline enum ofp_error kit_check(const struct flow_mod *fm, struct buf *acts)
{
    const char *name;
    const struct ofp_check check = { .flow = &fm->filter.match.flow, .version = OFP10_VERSION, .table = fm->filter.table_id,
                                     .n_tables = TABLES_N, .max_ports = OFPP_MAX };
    enum ofp_error error = ofp_acts_check(acts->data, acts->len, &check);

    return error ? error : xlate_acts_check(acts->data, acts->len, &name);
}

/* Adds the flow, unless a switch would refuse it. */
static inline enum ofp_error kit_try_flow(struct xbridge *br, const char *text)
{
    struct buf acts = BUF_INITIALIZER;
    struct flow_mod fm = kit_flow_mod(text, &acts);
    struct tables_txn x;
    enum ofp_error error = kit_check(&fm, &acts);

    if (!br->tables) {
        br->tables = tables_create();
    }
    if (!error) {
        tables_begin(br->tables, &x);
        error = flow_mod_apply(&x, &fm, 0);
        assert_int_equal(error, OFPERR_NONE);
        tables_commit(&x);
        tables_end(&x);
    }
    buf_uninit(&acts);
    return error;
}

static inline void kit_add_flow(struct xbridge *br, const char *text)
{
    enum ofp_error error = kit_try_flow(br, text);

    if (error) {
        fail_msg("%s: %s", text, ofp_error_name(error));
    }
}

/* The packet that TEXT says, as a match does; its in_port is the datapath's too. */
static inline struct flow kit_packet(const char *text)
{
    struct match m;
    char *error = ofp_match_scan(text, &m);

    if (error) {
        fail_msg("%s: %s", text, error);
    }
    m.flow.in_port.n = ntohs(m.flow.ofp_in_port);
    flow_clear_pipeline(&m.flow);
    if (flow_vlan_present(&m.flow.vlan[0])) {
        m.flow.vlan[0].tpid = htons(ETH_TYPE_VLAN);
    }
    return m.flow;
}

static inline char *kit_actions_text(const struct attrbuf *b)
{
    struct text t;

    odp_actions_print(text_open(&t), attrbuf_data(b), attrbuf_len(b), NULL);
    return text_close(&t);
}

/* What was looked at, without what always is (input port, recirculation, presence and id of a tag). */
static inline char *kit_mask_text(const struct flow *flow, const struct flow *mask)
{
    struct match m = { .flow = *flow, .mask = *mask };
    struct text t;

    m.mask.recirc_id = 0;
    m.mask.in_port.n = 0;
    m.mask.vlan[0].tpid = m.mask.vlan[1].tpid = 0;
    if ((m.mask.vlan[0].tci & htons(VLAN_PCP_MASK)) == 0) {
        m.mask.vlan[0].tci = 0;
    }
    flow_apply_mask(&m.flow, &m.mask);
    ofp_match_print(text_open(&t), &m, OFP_DEFAULT_PRIORITY);
    return text_close(&t);
}

/* Bridges "a" and "b" with these ports, of which 5 and 10 join them.  Of the flows, up to N or NULL, those that begin with "B:" are of the second. */
static inline struct xconfig *kit_two_bridges(const char *a_ports, const char *b_ports, const char *const flows[], size_t n)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *a = kit_add_bridge(c, "a", a_ports), *b = kit_add_bridge(c, "b", b_ports);

    for (size_t i = 0; i < n && flows[i]; i++) {
        bool second = !strncmp(flows[i], "B:", 2);
        kit_add_flow(second ? b : a, flows[i] + 2 * second);
    }
    xconfig_seal(c);
    kit_join(c, 5, 10);
    return c;
}

#endif
