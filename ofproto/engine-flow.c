/* Control commands about single flows of the datapath: dpctl/add-flow, mod-flow, del-flow, get-flow.
 *
 * For debugging.  What is put here is not ours: revalidation adopts it, and makes of it what the tables say, or deletes it.  They run in
 * the control socket's thread, with a session of their own. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-key.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-ctl.h"
#include "ofproto/engine-private.h"

#define ACTIONS_SIZE (32 * 1024)
#define MAX_WORDS 3

/* What a command says. */
struct flow_args {
    const char *words[MAX_WORDS]; /* Without the datapath's name. */
    int n_words;
    bool clear, may_create, statistics, names, verbose;
};

/* A flow as text says it. */
struct flow_text {
    uint64_t key_memory[ODP_KEY_MAX_SIZE / 8], mask_memory[ODP_KEY_MAX_SIZE / 8], actions_memory[ACTIONS_SIZE / 8];
    struct attrbuf key, mask, actions;
    bool has_ufid;
    struct ufid ufid;
};

/* ---- Arguments. ---- */

static bool take_option(struct flow_args *a, const char *arg)
{
    const struct {
        const char *name;
        bool *value;
    } options[] = { { "--clear", &a->clear },     { "--may-create", &a->may_create }, { "-s", &a->statistics },
                    { "--statistics", &a->statistics }, { "-m", &a->verbose },        { "--more", &a->verbose },
                    { "--names", &a->names },     { "--no-names", NULL } };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (!strcmp(arg, options[i].name)) {
            if (options[i].value) {
                *options[i].value = true;
            } else {
                a->names = false;
            }
            return true;
        }
    }
    return false;
}

/* Takes N words, and before them the name of the datapath if it is said.  Returns false after an error has been answered. */
static bool take_args(struct unixctl_conn *conn, struct engine *e, int argc, const char *argv[], int n, struct flow_args *a)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            if (!take_option(a, argv[i])) {
                unixctl_error(conn, "Unrecognized option %s", argv[i]);
                return false;
            }
        } else if (a->n_words == MAX_WORDS) {
            unixctl_error(conn, "\"%s\" is one argument too many", argv[i]);
            return false;
        } else {
            a->words[a->n_words++] = argv[i];
        }
    }
    if (a->n_words == n + 1) {
        if (!e || !engine_is_datapath(e, a->words[0])) {
            unixctl_error(conn, "no datapath named \"%s\"", a->words[0]);
            return false;
        }
        memmove(&a->words[0], &a->words[1], n * sizeof a->words[0]);
        a->n_words = n;
    }
    if (a->n_words != n) {
        unixctl_error(conn, "\"%s\" takes %d arguments, and before them the datapath's name if you like", argv[0], n);
        return false;
    }
    if (!e) {
        unixctl_error(conn, "there is no datapath");
        return false;
    }
    return true;
}

/* ---- Flows. ---- */

/* Reads KEY and, unless NULL, ACTIONS. */
static char *scan_flow(const char *key, const char *actions, struct flow_text *f)
{
    attrbuf_init(&f->key, f->key_memory, sizeof f->key_memory);
    attrbuf_init(&f->mask, f->mask_memory, sizeof f->mask_memory);
    attrbuf_init(&f->actions, f->actions_memory, sizeof f->actions_memory);
    if (!strncmp(key, "ufid:", 5)) {
        char *ufid = strndup(key, strcspn(key, ", "));
        f->has_ufid = odp_ufid_scan(ufid, &f->ufid);
        free(ufid);
        if (!f->has_ufid) {
            return xstrdup("a ufid is 32 hexadecimal digits");
        }
    }
    char *error = odp_key_scan(key, &f->key, &f->mask);
    return error || !actions ? error : odp_actions_scan(actions, &f->actions);
}

/* A flow that is put without a name gets the one that translation would give it. */
static int name_flow(struct flow_text *f)
{
    struct flow flow, mask;

    if (f->has_ufid) {
        return 0;
    }
    if (odp_key_to_flow(attrbuf_data(&f->key), attrbuf_len(&f->key), &flow) == ODP_FIT_ERROR
        || odp_mask_to_flow(attrbuf_data(&f->mask), attrbuf_len(&f->mask), &flow, &mask) == ODP_FIT_ERROR) {
        return -EINVAL;
    }
    f->ufid = odp_ufid(&flow, &mask);
    f->has_ufid = true;
    return 0;
}

static void fill_op(struct dpif_op *op, enum dpif_op_type type, const struct flow_text *f)
{
    *op = (struct dpif_op) { .type = type };
    op->flow.has_ufid = f->has_ufid;
    op->flow.ufid = f->ufid;
    op->flow.key = attrbuf_data(&f->key);
    op->flow.key_len = attrbuf_len(&f->key);
    op->flow.mask = attrbuf_data(&f->mask);
    op->flow.mask_len = attrbuf_len(&f->mask);
    op->flow.actions = attrbuf_data(&f->actions);
    op->flow.actions_len = attrbuf_len(&f->actions);
}

/* Carries OP out.  0 or -errno. */
static int operate(struct engine *e, struct dpif_op *op)
{
    struct dpif_session *session;
    int error = dpif_session_open(e->dpif, &session);

    if (!error) {
        dpif_operate(session, &op, 1);
        dpif_session_close(session);
        error = op->error;
    }
    return error;
}

static void print_counts(FILE *out, const struct dpif_flow_stats *s)
{
    uint64_t now = clock_msec();

    fprintf(out, "packets:%llu, bytes:%llu, used:", (unsigned long long) s->n_packets, (unsigned long long) s->n_bytes);
    if (s->used) {
        fprintf(out, "%.3fs\n", (now > s->used ? now - s->used : 0) / 1000.0);
    } else {
        fputs("never\n", out);
    }
}

static void answer(struct unixctl_conn *conn, const char *what, const struct flow_args *a, int error, const struct dpif_flow_stats *stats)
{
    struct text t;

    if (error) {
        unixctl_error(conn, "ovs-vswitchd: %s (%s)", what, strerror(-error));
    } else if (a->statistics && stats) {
        print_counts(text_open(&t), stats);
        unixctl_reply_take(conn, text_close(&t));
    } else {
        unixctl_reply(conn, NULL);
    }
}

/* ---- Commands. ---- */

static void put_flow(struct unixctl_conn *conn, int argc, const char *argv[], bool add)
{
    struct engine *e = engine_get();
    struct flow_text *f = xzalloc(sizeof *f);
    struct flow_args a = { 0 };
    struct dpif_op op, get = { .type = DPIF_OP_FLOW_GET };

    if (take_args(conn, e, argc, argv, 2, &a)) {
        char *wrong = scan_flow(a.words[0], a.words[1], f);
        if (wrong) {
            unixctl_error(conn, "ovs-vswitchd: parsing the flow (%s)", wrong);
            free(wrong);
        } else {
            int error = name_flow(f);
            if (!error && a.statistics && !add) {
                fill_op(&get, DPIF_OP_FLOW_GET, f);
                error = operate(e, &get); /* Before they are cleared. */
                error = error == -ENOENT && a.may_create ? 0 : error;
            }
            if (!error) {
                fill_op(&op, add ? DPIF_OP_FLOW_PUT : DPIF_OP_FLOW_MOD, f);
                op.flow.create = a.may_create;
                op.flow.clear = a.clear;
                error = operate(e, &op);
            }
            answer(conn, "updating flow table", &a, error, add ? NULL : &get.flow.stats);
        }
    }
    free(f);
    engine_put(e);
}

static void add_flow(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED) { put_flow(conn, argc, argv, true); }
static void mod_flow(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED) { put_flow(conn, argc, argv, false); }

static void del_flow(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    struct engine *e = engine_get();
    struct flow_text *f = xzalloc(sizeof *f);
    struct flow_args a = { 0 };
    struct dpif_op op;

    if (take_args(conn, e, argc, argv, 1, &a)) {
        char *wrong = scan_flow(a.words[0], NULL, f);
        if (wrong) {
            unixctl_error(conn, "ovs-vswitchd: parsing the flow (%s)", wrong);
            free(wrong);
        } else {
            int error = name_flow(f);
            if (!error) {
                fill_op(&op, DPIF_OP_FLOW_DEL, f);
                op.flow.want_stats = a.statistics;
                error = operate(e, &op);
            }
            answer(conn, "deleting flow", &a, error, &op.flow.stats);
        }
    }
    free(f);
    engine_put(e);
}

static void get_flow(struct unixctl_conn *conn, int argc, const char *argv[], void *aux UNUSED)
{
    struct engine *e = engine_get();
    struct flow_args a = { 0 };
    struct dpif_session *session;
    struct dpif_flow flow;
    struct ufid ufid;
    struct text t;

    if (take_args(conn, e, argc, argv, 1, &a)) {
        if (!odp_ufid_scan(a.words[0], &ufid)) {
            unixctl_error(conn, "\"%s\" is no ufid: it takes 32 hexadecimal digits", a.words[0]);
        } else {
            int error = dpif_session_open(e->dpif, &session);
            if (!error) {
                error = dpif_flow_get(session, &ufid, NULL, 0, &flow);
                if (!error) {
                    engine_print_flow(e, text_open(&t), &flow, a.verbose, a.names);
                    unixctl_reply_take(conn, text_close(&t));
                }
                dpif_session_close(session);
            }
            if (error) {
                answer(conn, "getting flow", &a, error, NULL);
            }
        }
    }
    engine_put(e);
}

void engine_flow_init(void)
{
    unixctl_register("dpctl/add-flow", "[dp] flow actions", 2, 4, add_flow, NULL);
    unixctl_register("dpctl/mod-flow", "[--clear] [--may-create] [-s] [dp] flow actions", 2, 6, mod_flow, NULL);
    unixctl_register("dpctl/del-flow", "[-s] [dp] flow", 1, 3, del_flow, NULL);
    unixctl_register("dpctl/get-flow", "[-m] [--names | --no-names] [dp] ufid", 1, 4, get_flow, NULL);
}
