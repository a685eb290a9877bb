/* The commands ofproto/trace and ofproto/trace-packet-out: see trace.h. */
#include <config.h>

#include <limits.h>
#include <linux/openvswitch.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action.h"
#include "lib/pkt/packet.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine-private.h"
#include "ofproto/reval-flow.h"
#include "ofproto/tables.h"
#include "ofproto/trace.h"
#include "ofproto/xlate-acts.h"

#define MAX_WORDS 4
#define MAX_CT_NEXT 64
#define MAX_FORKS 64 /* Packets that come back, in all. */

/* What the command says. */
struct trace_args {
    bool packet_out;
    const char *words[MAX_WORDS]; /* What is no option: a flow with what is before and behind it; without actions. */
    size_t n_words;
    const char *actions;
    bool generate, consistent;
    bool has_l7;
    uint32_t ct_next[MAX_CT_NEXT];
    size_t n_ct_next;
};

/* One command on its way. */
struct trace_job {
    struct engine *engine;
    struct trace_args args;
    bool side_effects;
    struct text text;
    char *error;
};

/* ---- Arguments. ---- */

/* Takes argv[*I], an option, and what belongs to it.  Returns NULL, or what is wrong. */
static char *take_option(struct trace_args *a, int argc, const char *argv[], int *i)
{
    const char *name = argv[*i] + 1 + (argv[*i][1] == '-');
    bool has_value = !strcmp(name, "ct-next") || !strcmp(name, "l7") || !strcmp(name, "l7-len");
    struct buf l7 = BUF_INITIALIZER;
    long long len;

    if (has_value && *i + 1 >= argc) {
        return xasprintf("%s: what it takes is missing", argv[*i]);
    }
    const char *value = has_value ? argv[++*i] : NULL;
    if (!strcmp(name, "generate")) {
        a->generate = true;
    } else if (!strcmp(name, "consistent") && a->packet_out) {
        a->consistent = true;
    } else if (!strcmp(name, "ct-next")) {
        if (a->n_ct_next == MAX_CT_NEXT) {
            return xasprintf("more than %d times --ct-next", MAX_CT_NEXT);
        }
        return trace_scan_ct_state(value, &a->ct_next[a->n_ct_next++]);
    } else if (!strcmp(name, "l7")) {
        a->has_l7 = true;
        bool ok = trace_scan_hex(value, &l7);
        buf_uninit(&l7);
        return ok ? NULL : xasprintf("\"%s\" is no payload: it takes bytes in hexadecimal", value);
    } else if (!strcmp(name, "l7-len")) {
        a->has_l7 = true;
        return str_to_llong(value, 0, 64000, &len) ? NULL : xasprintf("\"%s\" is no length of a payload: it is 0 to 64000", value);
    } else {
        return xasprintf("%s: unknown option", argv[*i]);
    }
    return NULL;
}

static char *take_args(struct trace_args *a, int argc, const char *argv[])
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            char *error = take_option(a, argc, argv, &i);
            if (error) {
                return error;
            }
        } else if (a->n_words == MAX_WORDS) {
            return xasprintf("too many arguments (\"%s\")", argv[i]);
        } else {
            a->words[a->n_words++] = argv[i];
        }
    }
    if (a->packet_out && a->n_words > 0) {
        a->actions = a->words[--a->n_words];
    }
    if (!a->n_words) {
        return xstrdup(a->packet_out ? "a flow and actions are needed" : "a flow is needed");
    }
    if (a->has_l7 && !a->generate) {
        return xstrdup("a payload is of use with --generate only");
    }
    return NULL;
}

/* ---- The packet. ---- */

/* PACKET is what FRAME is, and keeps what goes along with it. */
static char *use_frame(struct trace_packet *packet, const struct buf *frame)
{
    if (packet_extract(frame->data, frame->len, &packet->flow)) {
        return xasprintf("Packet data too short for Ethernet: %zu bytes", frame->len);
    }
    return NULL;
}

/* Finds out what the words are: [BRIDGE | DATAPATH] FLOW [PACKET].  *RET_FRAME stays empty if there is no packet. */
static char *find_packet(struct trace_job *job, const struct xconfig *config, struct trace_packet *ret, struct buf *ret_frame)
{
    struct trace_args *a = &job->args;
    size_t first = 0, n = a->n_words;
    const struct xbridge *br = n > 1 ? xconfig_bridge_by_name(config, a->words[0]) : NULL;
    char *error;

    if (br || (n > 1 && engine_is_datapath(job->engine, a->words[0]))) {
        first = 1;
    }
    if (n - first > 1) {
        if (a->generate) {
            return xstrdup("a packet is given or generated, not both");
        }
        if (n - first > 2 || !trace_scan_hex(a->words[n - 1], ret_frame)) {
            return first ? xasprintf("Trailing garbage in packet data: \"%s\" is not bytes in hexadecimal", a->words[n - 1])
                         : xasprintf("%s: unknown bridge, nor is it a datapath", a->words[0]);
        }
    }
    if (br) {
        error = trace_scan_br_flow(config, br, a->words[first], ret);
    } else {
        error = trace_scan_odp_flow(config, a->words[first], ret);
    }
    if (error) {
        char *whole = br ? xasprintf("Bad openflow flow syntax: %s: %s", a->words[first], error)
                         : xasprintf("syntax error at %s (or the bridge name was omitted): %s", a->words[first], error);
        free(error);
        return whole;
    }
    return ret_frame->len ? use_frame(ret, ret_frame) : NULL;
}

/* ---- Actions of a packet-out. ---- */

static bool find_port(const char *name, ofp_port_t *ret, void *bridge_)
{
    const struct xbridge *br = bridge_;

    for (size_t i = 0; i < br->n_by_ofp; i++) {
        if (!strcmp(br->by_ofp[i]->name, name)) {
            *ret = br->by_ofp[i]->ofp;
            return true;
        }
    }
    return false;
}

static char *scan_actions(const struct trace_args *a, const struct trace_packet *packet, struct buf *acts)
{
    const struct ofp_act_names names = { .find_port = find_port, .aux = (void *) packet->bridge };
    const struct ofp_check check = { .flow = &packet->flow, .version = a->consistent ? OFP13_VERSION : OFP10_VERSION,
                                     .table = OFP_TABLE_ALL, .n_tables = TABLES_N, .max_ports = OFPP_MAX };
    const char *name;

    char *error = ofp_acts_scan(a->actions, &names, acts);
    if (error) {
        return error;
    }
    enum ofp_error refused = ofp_acts_check(acts->data, acts->len, &check);
    if (refused) {
        return xasprintf("Bad actions: %s", ofp_error_name(refused));
    }
    if (xlate_acts_check(acts->data, acts->len, &name)) {
        return xasprintf("Bad actions: %s is not supported", name);
    }
    return NULL;
}

/* ---- The translation. ---- */


/* Copies that are still to be brought back, in their order. */
struct forks {
    struct xlate_fork *list;
    size_t n;
};

/* Translates PACKET and prints what comes of it; adds to FORKS. */
static void translate(struct trace_job *job, const struct xconfig *config, const struct trace_packet *packet, const struct ofp_act *acts,
                      size_t acts_len, struct forks *forks)
{
    struct xlate_trace *steps = xmalloc(sizeof *steps);
    struct xlate_out *result = xzalloc(sizeof *result);
    uint8_t *memory = xmalloc(XLATE_ACTIONS_SIZE);
    const struct xlate_in in = { .flow = &packet->flow, .port = packet->port, .trace = steps, .acts = acts, .acts_len = acts_len };

    attrbuf_init(&result->actions, memory, XLATE_ACTIONS_SIZE);
    xlate_trace_init(steps);
    steps->side_effects = job->side_effects;
    xlate_from(config, &in, result);
    if (job->side_effects) {
        reval_run_effects(&job->engine->fc, result->effects, result->n_effects, clock_msec());
    }
    trace_print(job->text.out, &(struct trace_result) { packet, steps, result });
    forks->list = xrealloc(forks->list, (forks->n + steps->n_forks) * sizeof *forks->list + 1);
    memcpy(&forks->list[forks->n], steps->forks, steps->n_forks * sizeof *forks->list);
    forks->n += steps->n_forks;
    xlate_trace_uninit(steps);
    free(steps);
    free(memory);
    free(result);
}

/* PACKET, and then its copies as they come back: a rule that sends packets around for ever is followed for a while. */
static void translate_all(struct trace_job *job, const struct xconfig *config, struct trace_packet *packet, const struct buf *acts)
{
    static const struct ofp_act no_action; /* Of a packet-out that drops: that is not that there is no list of actions. */
    const struct ofp_act *list = acts->len ? (const struct ofp_act *) acts->data : job->args.packet_out ? &no_action : NULL;
    struct forks forks = { NULL, 0 };

    text_open(&job->text);
    translate(job, config, packet, list, acts->len, &forks);
    for (size_t i = 0, n_cts = 0; i < forks.n && i < MAX_FORKS; i++) {
        struct xlate_fork *f = &forks.list[i];
        bool chosen = f->conntracked && n_cts < job->args.n_ct_next;
        if (f->conntracked) {
            f->flow.ct_state = chosen ? job->args.ct_next[n_cts] : OVS_CS_F_TRACKED | OVS_CS_F_NEW;
            n_cts++;
        }
        trace_print_fork(job->text.out, f, chosen);
        packet->flow = f->flow;
        translate(job, config, packet, NULL, 0, &forks);
    }
    if (forks.n > MAX_FORKS) {
        fprintf(job->text.out, "\nof %zu packets that come back only the first %d are traced\n", forks.n, MAX_FORKS);
    }
    free(forks.list);
}

/* Under RCU. */
static void trace_with(const struct xconfig *config, void *job_)
{
    struct trace_job *job = job_;
    struct trace_packet *packet = xzalloc(sizeof *packet);
    struct buf frame = BUF_INITIALIZER, acts = BUF_INITIALIZER;

    job->error = config ? find_packet(job, config, packet, &frame) : xstrdup("there is no bridge yet");
    if (!job->error && job->args.packet_out) {
        job->error = scan_actions(&job->args, packet, &acts);
    }
    if (!job->error) {
        job->side_effects = frame.len || job->args.generate;
        translate_all(job, config, packet, &acts);
    }
    buf_uninit(&acts);
    buf_uninit(&frame);
    free(packet);
}

static void run(struct unixctl_conn *conn, int argc, const char *argv[], bool packet_out)
{
    struct trace_job job = { .engine = engine_get(), .args = { .packet_out = packet_out } };

    job.error = take_args(&job.args, argc, argv);
    if (!job.error && !job.engine) {
        job.error = xstrdup("there is no bridge");
    }
    if (!job.error) {
        engine_with_config(job.engine, trace_with, &job);
    }
    if (job.error) {
        unixctl_error(conn, "%s", job.error);
        free(job.error);
    } else {
        unixctl_reply_take(conn, text_close(&job.text));
    }
    engine_put(job.engine);
}

static void trace(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED) { run(conn, argc, argv, false); }
static void trace_packet_out(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED) { run(conn, argc, argv, true); }

void trace_ctl_init(void)
{
    unixctl_register("ofproto/trace", "{[dp_name] odp_flow | bridge br_flow} [OPTIONS...] [-generate|packet]", 1, INT_MAX, trace, NULL);
    unixctl_register("ofproto/trace-packet-out",
                     "[-consistent] {[dp_name] odp_flow | bridge br_flow} [OPTIONS...] [-generate|packet] actions", 2, INT_MAX, trace_packet_out, NULL);
}
