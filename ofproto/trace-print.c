/* What is answered to ofproto/trace: see trace.h.  Form and words are the packaged daemon's, line by line, since people and scripts read them. */
#include <config.h>

#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-key.h"
#include "lib/odp/odp-proto.h"
#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"
#include "ofproto/trace.h"

/* ---- The steps. ---- */

static void put_indent(FILE *out, int level) { fprintf(out, "%*s", 4 * level, ""); }

static void print_bridge(FILE *out, const char *text, int level)
{
    putc('\n', out);
    put_indent(out, level);
    fprintf(out, "%s\n", text);
    put_indent(out, level);
    for (size_t i = strlen(text); i > 0; i--) {
        putc('-', out);
    }
    putc('\n', out);
}

/* What is last in a table, and leads on, is not indented further: chains of tables are long. */
static void print_steps(FILE *out, const struct xlate_step *first, int level)
{
    for (const struct xlate_step *s = first; s; s = s->next) {
        int deeper = s->next != NULL;
        switch (s->kind) {
        case STEP_BRIDGE:
            print_bridge(out, s->text, level + deeper);
            print_steps(out, s->first, level + 2 * deeper);
            break;
        case STEP_TABLE:
            put_indent(out, level + deeper);
            fprintf(out, "%s\n", s->text);
            print_steps(out, s->first, level + 2 * deeper);
            break;
        case STEP_BUCKET:
            put_indent(out, level + 1);
            fprintf(out, "%s\n", s->text);
            print_steps(out, s->first, level + 2);
            break;
        case STEP_ACTION:
            put_indent(out, level + 1);
            fprintf(out, "%s\n", s->text);
            break;
        case STEP_NOTE:
            put_indent(out, level + 1);
            fprintf(out, " -> %s\n", s->text);
            break;
        case STEP_WARNING:
            put_indent(out, level + 1);
            fprintf(out, " >> %s\n", s->text);
            break;
        case STEP_ERROR:
            put_indent(out, level + 1);
            fprintf(out, " >>>> %s <<<<\n", s->text);
            break;
        }
    }
}

/* ---- Flows. ---- */

/* All that FLOW's packet has, and of what goes along with it what is not zero. */
static void exact_match(const struct flow *flow, struct match *ret)
{
    const size_t begin = offsetof(struct flow, eth_src), end = offsetof(struct flow, metadata);
    union ofp_value value;

    ret->flow = *flow;
    odp_mask_exact(flow, &ret->mask);
    memset(&ret->mask, 0, begin);
    memset((uint8_t *) &ret->mask + end, 0, sizeof ret->mask - end);
    ret->mask.is_l3 = flow->is_l3 || flow->recirc_id ? 0xff : 0;
    if (!flow_vlan_present(&flow->vlan[0])) {
        ret->mask.vlan[1].tci = 0; /* What is beneath is of interest if there is a tag. */
    }
    for (int i = 0; i < OFP_N_FIELDS; i++) {
        const struct ofp_field *f = ofp_field(i);
        bool goes_along = f->prereq == OFP_PREREQ_NONE || f->prereq == OFP_PREREQ_CT;
        bool is_wide_register = f->id >= OFP_FIELD_XREG0 && f->id <= OFP_FIELD_XXREG3; /* They are several, each shown by itself. */
        if (!goes_along || is_wide_register || f->id == OFP_FIELD_PACKET_TYPE) {
            continue;
        }
        ofp_field_get(f, flow, &value);
        if (!ofp_value_is_zero(&value, f->n_bytes)) {
            ofp_field_unwildcard(f, flow, &ret->mask);
        }
    }
}

static void print_flow(FILE *out, const struct flow *flow)
{
    struct match m;

    exact_match(flow, &m);
    ofp_match_print(out, &m, OFP_DEFAULT_PRIORITY);
    putc('\n', out);
}

static void print_final(FILE *out, const struct trace_result *r)
{
    fputs("\nFinal flow: ", out);
    if (!r->steps->has_final || !memcmp(&r->steps->final, &r->packet->flow, sizeof(struct flow))) {
        fputs("unchanged\n", out);
    } else {
        print_flow(out, &r->steps->final);
    }
}

/* The mask as the datapath would get it, which cannot say everything.  It is about the datapath's port; who reads this thinks of OpenFlow's. */
static void print_megaflow(FILE *out, const struct trace_result *r)
{
    struct match m = { .flow = r->packet->flow, .mask = r->out->mask };
    uint64_t memory[ODP_KEY_MAX_SIZE / 8];
    struct attrbuf mask;

    attrbuf_init(&mask, memory, sizeof memory);
    odp_mask_put(&mask, &m.flow, &m.mask);
    if (!mask.overflow) {
        odp_mask_to_flow(attrbuf_data(&mask), attrbuf_len(&mask), &r->packet->flow, &m.mask);
    }
    m.mask.in_port.n = 0;
    if (!flow_vlan_present(&m.flow.vlan[0])) {
        m.mask.vlan[1].tci = 0;
    }
    FLOW_MASK_FIELD(&m.mask, ofp_in_port);
    FLOW_MASK_FIELD(&m.mask, is_l3);
    flow_apply_mask(&m.flow, &m.mask);
    fputs("Megaflow: ", out);
    ofp_match_print(out, &m, OFP_DEFAULT_PRIORITY);
    putc('\n', out);
}

static void put_rule_line(FILE *out)
{
    for (int i = 0; i < 79; i++) {
        putc('=', out);
    }
    putc('\n', out);
}

void trace_print_fork(FILE *out, const struct xlate_fork *f, bool chosen)
{
    const struct ofp_field *state = ofp_field(OFP_FIELD_CT_STATE);
    union ofp_value value;

    putc('\n', out);
    put_rule_line(out);
    fprintf(out, "recirc(0x%x)", f->flow.recirc_id);
    if (f->conntracked && chosen) {
        fputs(" - resume conntrack with ct_state=", out);
        ofp_field_get(state, &f->flow, &value);
        ofp_field_print(out, state, &value, NULL);
    } else if (f->conntracked) {
        fputs(" - resume conntrack with default ct_state=trk|new (use --ct-next to customize)", out);
    }
    putc('\n', out);
    put_rule_line(out);
    putc('\n', out);
}

void trace_print(FILE *out, const struct trace_result *r)
{
    fputs("Flow: ", out);
    print_flow(out, &r->packet->flow);
    print_steps(out, r->steps->root.first, 0);
    if (r->steps->cut) {
        fprintf(out, " >> only the first %d steps are shown\n", XLATE_TRACE_MAX_STEPS);
    }
    print_final(out, r);
    print_megaflow(out, r);
    fputs("Datapath actions: ", out);
    odp_actions_print(out, attrbuf_data(&r->out->actions), attrbuf_len(&r->out->actions), NULL);
    putc('\n', out);
}
