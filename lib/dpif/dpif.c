/* The datapath: which provider, and what was asked of it.
 *
 * Purpose: hands each call of dpif.h to the provider that the datapath was opened with, and is the one place where
 * requests are logged.
 *
 * Threads and owners: nothing of its own; see dpif.h for who may use what. */
#include <config.h>

#include "lib/dpif/dpif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-provider.h"

LOG_MODULE(dpif);

static const struct dpif_ops *const providers[] = { &dpif_kernel_ops, &dpif_sim_ops };

/* See dpif.h. */
int dpif_open(const char *type, const char *name, struct dpif **ret_dpif, char **ret_error)
{
    char *text = NULL;
    int error = -ENOENT;
    const struct dpif_ops *ops = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
        if (!strcmp(providers[i]->type, type)) {
            ops = providers[i];
        }
    }
    if (ops) {
        error = ops->open(name, ret_dpif, &text);
    } else {
        text = xasprintf("unknown datapath type \"%s\": it must be \"%s\" or \"%s\"", type, providers[0]->type,
                         providers[1]->type);
    }
    if (!error) {
        log_dbg("%s@%s: opened", type, name);
        free(text);
    } else if (ret_error) {
        *ret_error = text ? text : xasprintf("cannot open datapath %s@%s: %s", type, name, strerror(-error));
    } else {
        free(text);
    }
    return error;
}

/* Closes DPIF, whose sessions are closed; accepts NULL.  The datapath stays. */
void dpif_close(struct dpif *dpif)
{
    if (dpif) {
        dpif->ops->close(dpif);
    }
}

/* "ovs-system". */
const char *dpif_name(const struct dpif *dpif) { return dpif->name; }

/* "system" or "sim". */
const char *dpif_type(const struct dpif *dpif) { return dpif->ops->type; }

/* What was found out at open; immutable. */
const struct dpif_features *dpif_features(const struct dpif *dpif) { return &dpif->features; }

/* See dpif.h. */
int dpif_session_open(struct dpif *dpif, struct dpif_session **ret_session)
{
    return dpif->ops->session_open(dpif, ret_session);
}

/* See dpif.h. */
void dpif_session_close(struct dpif_session *s)
{
    if (s) {
        s->dpif->ops->session_close(s);
    }
}

/* The datapath's own words on the last request of S that failed, or NULL if it gave none. */
const char *dpif_session_error(const struct dpif_session *s) { return s->dpif->ops->session_error(s); }

/* Logs that S was asked to do WHAT, with which result; returns that. */
static int logged(const struct dpif_session *s, int error, const char *what, const char *object)
{
    if (log_enabled(&this_module, LOG_LEVEL_DBG)) {
        const char *text = error ? dpif_session_error(s) : NULL;
        log_dbg_rl(600, "%s@%s: %s%s%s: %s%s%s", s->dpif->ops->type, s->dpif->name, what, *object ? " " : "", object,
                   error ? strerror(-error) : "success", text ? ": " : "", text ? text : "");
    }
    return error;
}

/* logged() for a request about port NO. */
static int logged_port(const struct dpif_session *s, int error, const char *what, odp_port_t no)
{
    char number[16];
    snprintf(number, sizeof number, "%u", no.n);
    return logged(s, error, what, number);
}

/* See dpif.h. */
int dpif_get_stats(struct dpif_session *s, struct dpif_stats *ret_stats)
{
    return s->dpif->ops->get_stats(s, ret_stats);
}

/* See dpif.h. */
int dpif_destroy(struct dpif_session *s) { return logged(s, s->dpif->ops->destroy(s), "destroy", ""); }

/* See dpif.h. */
int dpif_set_dispatch(struct dpif_session *s, enum dpif_dispatch mode, const uint32_t *pids, size_t n_pids)
{
    return logged(s, s->dpif->ops->set_dispatch(s, mode, pids, n_pids), "set dispatch",
                  mode == DPIF_DISPATCH_PER_CPU ? "per-cpu" : "per-vport");
}

/* See dpif.h. */
int dpif_port_add(struct dpif_session *s, const char *name, enum dpif_port_type type, uint32_t upcall_pid,
                  odp_port_t request, odp_port_t *ret_no)
{
    return logged(s, s->dpif->ops->port_add(s, name, type, upcall_pid, request, ret_no), "add port", name);
}

/* See dpif.h. */
int dpif_port_del(struct dpif_session *s, odp_port_t no)
{
    return logged_port(s, s->dpif->ops->port_del(s, no), "delete port", no);
}

/* See dpif.h. */
int dpif_port_query_by_name(struct dpif_session *s, const char *name, struct dpif_port *ret_port)
{
    return s->dpif->ops->port_query(s, name, ODPP_NONE, ret_port);
}

/* See dpif.h. */
int dpif_port_query_by_number(struct dpif_session *s, odp_port_t no, struct dpif_port *ret_port)
{
    return s->dpif->ops->port_query(s, NULL, no, ret_port);
}

/* See dpif.h. */
int dpif_port_set_pid(struct dpif_session *s, odp_port_t no, uint32_t upcall_pid)
{
    return logged_port(s, s->dpif->ops->port_set_pid(s, no, upcall_pid), "set upcall pid of port", no);
}

/* See dpif.h. */
int dpif_port_dump(struct dpif_session *s, dpif_port_cb *cb, void *aux) { return s->dpif->ops->port_dump(s, cb, aux); }

/* See dpif.h. */
int dpif_port_events_fd(struct dpif *dpif) { return dpif->ops->port_events_fd(dpif); }

/* See dpif.h. */
int dpif_port_poll(struct dpif *dpif, dpif_port_event_cb *cb, void *aux) { return dpif->ops->port_poll(dpif, cb, aux); }

/* The name of an operation, for the log. */
static const char *op_name(enum dpif_op_type type)
{
    switch (type) {
    case DPIF_OP_FLOW_PUT:
        return "flow put";
    case DPIF_OP_FLOW_MOD:
        return "flow mod";
    case DPIF_OP_FLOW_DEL:
        return "flow del";
    case DPIF_OP_FLOW_GET:
        return "flow get";
    case DPIF_OP_EXECUTE:
        return "execute";
    }
    abort();
}

/* Logs what became of OP. */
static void log_op(const struct dpif_session *s, const struct dpif_op *op)
{
    const char *result = op->error ? strerror(-op->error) : "success";
    if (op->type == DPIF_OP_EXECUTE) {
        log_dbg_rl(600, "%s@%s: %s of a %zu-byte packet: %s", s->dpif->ops->type, s->dpif->name, op_name(op->type),
                   op->execute.packet_len, result);
    } else if (op->flow.has_ufid) {
        /* As `ovs-dpctl dump-flows -m` prints it. */
        uint32_t w[4];
        memcpy(w, &op->flow.ufid, sizeof w);
        log_dbg_rl(600, "%s@%s: %s ufid:%08x-%04x-%04x-%04x-%04x%08x: %s", s->dpif->ops->type, s->dpif->name,
                   op_name(op->type), w[0], w[1] >> 16, w[1] & 0xffff, w[2] >> 16, w[2] & 0xffff, w[3], result);
    } else {
        log_dbg_rl(600, "%s@%s: %s by key: %s", s->dpif->ops->type, s->dpif->name, op_name(op->type), result);
    }
}

/* See dpif.h. */
void dpif_operate(struct dpif_session *s, struct dpif_op *ops[], size_t n_ops)
{
    if (!n_ops) {
        return;
    }
    s->dpif->ops->operate(s, ops, n_ops);
    if (log_enabled(&this_module, LOG_LEVEL_DBG)) {
        for (size_t i = 0; i < n_ops; i++) {
            log_op(s, ops[i]);
        }
    }
}

/* See dpif.h. */
int dpif_flow_get(struct dpif_session *s, const struct ufid *ufid, const struct nlattr *key, size_t key_len,
                  struct dpif_flow *ret_flow)
{
    return s->dpif->ops->flow_get(s, ufid, key, key_len, ret_flow);
}

/* See dpif.h. */
int dpif_flow_flush(struct dpif_session *s) { return logged(s, s->dpif->ops->flow_flush(s), "flow flush", ""); }

/* See dpif.h. */
int dpif_flow_dump_create(struct dpif *dpif, bool terse, struct dpif_flow_dump **ret_dump)
{
    return dpif->ops->flow_dump_create(dpif, terse, ret_dump);
}

/* See dpif.h. */
int dpif_flow_dump_destroy(struct dpif_flow_dump *dump) { return dump->dpif->ops->flow_dump_destroy(dump); }

/* See dpif.h. */
struct dpif_flow_dump_thread *dpif_flow_dump_thread_create(struct dpif_flow_dump *dump)
{
    return dump->dpif->ops->flow_dump_thread_create(dump);
}

/* See dpif.h. */
void dpif_flow_dump_thread_destroy(struct dpif_flow_dump_thread *t) { t->dump->dpif->ops->flow_dump_thread_destroy(t); }

/* See dpif.h. */
int dpif_flow_dump_next(struct dpif_flow_dump_thread *t, struct dpif_flow *flows, int max)
{
    return t->dump->dpif->ops->flow_dump_next(t, flows, max);
}

/* logged() for a request about meter ID. */
static int logged_meter(const struct dpif_session *s, int error, const char *what, uint32_t id)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, id);
    return logged(s, error, what, number);
}

/* See dpif.h.  Without meters: -EOPNOTSUPP. */
int dpif_meter_set(struct dpif_session *s, uint32_t id, const struct dpif_meter *meter, struct dpif_meter_stats *ret_stats)
{
    int error = s->dpif->features.max_meters ? s->dpif->ops->meter_set(s, id, meter, ret_stats) : -EOPNOTSUPP;
    return logged_meter(s, error, "set meter", id);
}

/* See dpif.h. */
int dpif_meter_get(struct dpif_session *s, uint32_t id, struct dpif_meter_stats *ret_stats)
{
    return s->dpif->features.max_meters ? s->dpif->ops->meter_get(s, id, ret_stats) : -EOPNOTSUPP;
}

/* See dpif.h. */
int dpif_meter_del(struct dpif_session *s, uint32_t id)
{
    int error = s->dpif->features.max_meters ? s->dpif->ops->meter_del(s, id) : -EOPNOTSUPP;
    return logged_meter(s, error, "delete meter", id);
}

/* See dpif.h. */
int dpif_channel_open(struct dpif *dpif, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid)
{
    return dpif->ops->channel_open(dpif, rcvbuf, ret_fd, ret_pid);
}

/* See dpif.h. */
void dpif_channel_close(struct dpif *dpif, int fd, uint32_t pid) { dpif->ops->channel_close(dpif, fd, pid); }

/* See dpif.h. */
int dpif_channel_set_rcvbuf(struct dpif *dpif, int fd, size_t rcvbuf)
{
    return dpif->ops->channel_set_rcvbuf(dpif, fd, rcvbuf);
}

/* See dpif.h. */
uint64_t dpif_channel_drops(struct dpif *dpif, int fd) { return dpif->ops->channel_drops(dpif, fd); }

/* See dpif.h. */
int dpif_upcall_parse(const struct dpif *dpif, const void *msg, size_t len, struct dpif_upcall *ret)
{
    return dpif->ops->upcall_parse(dpif, msg, len, ret);
}

/* Calls CB for each datapath of each provider.  Returns 0 or the first -errno; a kernel without the module has none. */
int dpif_enumerate(dpif_dp_cb *cb, void *aux)
{
    int result = 0;
    for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
        int error = providers[i]->enumerate(cb, aux);
        if (error && error != -ENOENT && !result) {
            result = error;
        }
    }
    return result;
}
