/* From text to the packet that is traced: see trace.h. */
#include <config.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <linux/openvswitch.h>
#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/odp/odp-key.h"
#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/trace.h"

/* ---- Ports. ---- */

static const struct xport *port_by_name(const struct xbridge *br, const char *name)
{
    for (size_t i = 0; i < br->n_by_ofp; i++) {
        if (!strcmp(br->by_ofp[i]->name, name)) {
            return br->by_ofp[i];
        }
    }
    return NULL;
}

static const struct xport *any_port_by_name(const struct xconfig *c, const char *name)
{
    for (size_t i = 0; i < c->n_bridges; i++) {
        const struct xport *p = port_by_name(c->bridges[i], name);
        if (p) {
            return p;
        }
    }
    return NULL;
}

static void set_port(struct trace_packet *p, const struct xport *port)
{
    p->port = port;
    p->bridge = port->bundle->bridge;
    p->flow.in_port = port->odp;
    p->flow.ofp_in_port = htons(port->ofp.n);
}

/* A packet of port NO, which the bridge does not have: so comes what a controller sends, and what nobody has said a port of. */
static void set_no_port(struct trace_packet *p, const struct xbridge *br, ofp_port_t no)
{
    p->bridge = br;
    xlate_outside_init(&p->outside, br, no);
    p->port = &p->outside.port;
    p->flow.in_port = ODPP_NONE;
    p->flow.ofp_in_port = htons(no.n);
}

/* TEXT with the name of a port that stands behind KEY and before one of END replaced by what NUMBER says of it; to be freed. */
static char *number_port(const char *text, const char *key, const char *end, long long (*number)(const char *name, const void *aux),
                         const void *aux)
{
    const char *start = text;

    while ((start = strstr(start, key)) && start > text && !strchr(", ", start[-1])) {
        start += strlen(key); /* The end of another word. */
    }
    if (!start) {
        return xstrdup(text);
    }
    start += strlen(key);
    size_t n = strcspn(start, end);
    char *name = strndup(start, n);
    long long no = number(name, aux);
    free(name);
    return no < 0 ? xstrdup(text) : xasprintf("%.*s%lld%s", (int) (start - text), text, no, start + n);
}

static long long odp_number(const char *name, const void *config)
{
    const struct xport *p = any_port_by_name(config, name);

    return p && !odp_port_eq(p->odp, ODPP_NONE) ? (long long) p->odp.n : -1;
}

static long long ofp_number(const char *name, const void *bridge)
{
    const struct xport *p = port_by_name(bridge, name);

    return p ? p->ofp.n : -1;
}

/* ---- Flows. ---- */

char *trace_scan_odp_flow(const struct xconfig *config, const char *text, struct trace_packet *ret)
{
    uint64_t memory[ODP_KEY_MAX_SIZE / 8];
    struct attrbuf key;
    struct flow flow;

    attrbuf_init(&key, memory, sizeof memory);
    char *numbered = number_port(text, "in_port(", ")", odp_number, config);
    char *error = odp_key_scan(numbered, &key, NULL);
    free(numbered);
    if (error) {
        return error;
    }
    if (odp_key_to_flow(attrbuf_data(&key), attrbuf_len(&key), &flow) == ODP_FIT_ERROR) {
        return xstrdup("the key is malformed");
    }
    const struct xport *port = xconfig_port_by_odp(config, flow.in_port);
    if (!port) {
        return xasprintf("datapath port %u is in no bridge", flow.in_port.n);
    }
    ret->flow = flow;
    set_port(ret, port);
    return NULL;
}

/* A packet has one value in each field, in fields that such a packet has. */
static char *check_packet(const char *text, const struct match *m)
{
    union ofp_value mask;
    const char *slash = strchr(text, '/');

    if (slash) {
        const char *start = slash;
        while (start > text && !strchr(", ", start[-1])) {
            start--;
        }
        return xasprintf("bad value for %.*s (%.*s: wildcards not allowed here)", (int) strcspn(start, "="), start,
                         (int) strcspn(start + strcspn(start, "=/") + 1, ", "), start + strcspn(start, "=/") + 1);
    }
    while (*text) {
        size_t n = strcspn(text, ", "), name = strcspn(text, "=, ");
        const struct ofp_field *f = ofp_field_by_name(text, name);
        if (f && name < n) {
            ofp_field_get_mask(f, m, &mask);
            if (ofp_value_is_zero(&mask, f->n_bytes)) { /* Such a packet has no such field, and the scanner has left it out. */
                return xasprintf("prerequisites not met for setting %s", f->name);
            }
        }
        text += n + strspn(text + n, ", ");
    }
    return NULL;
}

char *trace_scan_br_flow(const struct xconfig *config UNUSED, const struct xbridge *bridge, const char *text, struct trace_packet *ret)
{
    struct match m;

    char *numbered = number_port(text, "in_port=", ", ", ofp_number, bridge);
    char *error = ofp_match_scan(numbered, &m);
    free(numbered);
    error = error ? error : check_packet(text, &m);
    if (error) {
        return error;
    }
    ofp_port_t no = { m.mask.ofp_in_port ? ntohs(m.flow.ofp_in_port) : OFPP_NONE_N };
    const struct xport *port = xbridge_port_by_ofp(bridge, no);

    ret->flow = m.flow;
    for (unsigned int i = 0; i < FLOW_MAX_VLANS; i++) {
        struct flow_vlan *v = &ret->flow.vlan[i];
        if (flow_vlan_present(v) && !v->tpid) {
            v->tpid = htons(ETH_TYPE_VLAN);
        }
    }
    if (port) {
        set_port(ret, port);
    } else {
        set_no_port(ret, bridge, no);
    }
    return NULL;
}

/* ---- Other things. ---- */

static int digit(char c) { return isdigit((unsigned char) c) ? c - '0' : tolower((unsigned char) c) - 'a' + 10; }

bool trace_scan_hex(const char *text, struct buf *ret)
{
    size_t start = ret->len;

    for (; isspace((unsigned char) *text); text++) {
        continue;
    }
    for (; isxdigit((unsigned char) text[0]) && isxdigit((unsigned char) text[1]); text += 2) {
        buf_put_u8(ret, digit(text[0]) << 4 | digit(text[1]));
        for (; isspace((unsigned char) text[2]); text++) {
            continue;
        }
    }
    if (*text || ret->len == start) {
        buf_truncate(ret, start);
        return false;
    }
    return true;
}

char *trace_scan_ct_state(const char *text, uint32_t *ret)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } flags[] = { { "new", OVS_CS_F_NEW },     { "est", OVS_CS_F_ESTABLISHED }, { "rel", OVS_CS_F_RELATED },
                  { "rpl", OVS_CS_F_REPLY_DIR }, { "inv", OVS_CS_F_INVALID },   { "trk", OVS_CS_F_TRACKED },
                  { "snat", OVS_CS_F_SRC_NAT },  { "dnat", OVS_CS_F_DST_NAT } };
    uint32_t state = 0;

    for (size_t n = 0; *text; text += n) {
        text += strspn(text, ", ");
        n = strcspn(text, ", ");
        size_t i = 0;
        while (i < ARRAY_SIZE(flags) && (strlen(flags[i].name) != n || strncmp(flags[i].name, text, n))) {
            i++;
        }
        if (n && i == ARRAY_SIZE(flags)) {
            return xasprintf("\"%.*s\" is no conntrack state; there are trk, new, est, rel, rpl, inv, snat and dnat", (int) n, text);
        }
        state |= n ? flags[i].bit : 0;
    }
    if (!(state & OVS_CS_F_TRACKED)) {
        return xstrdup("a conntrack state without trk says nothing");
    }
    *ret = state;
    return NULL;
}
