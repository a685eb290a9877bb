/* What a datapath provider implements.  Each function is specified in dpif.h under the same name. */
#ifndef DPIF_DPIF_PROVIDER_H
#define DPIF_DPIF_PROVIDER_H 1

#include "lib/dpif/dpif.h"

struct dpif {
    const struct dpif_ops *ops;
    char *name;
    struct dpif_features features;
};

struct dpif_session {
    struct dpif *dpif;
};

struct dpif_flow_dump {
    struct dpif *dpif;
};

struct dpif_flow_dump_thread {
    struct dpif_flow_dump *dump;
};

struct dpif_ops {
    const char *type;

    int (*open)(const char *name, struct dpif **ret_dpif, char **ret_error);
    void (*close)(struct dpif *);
    int (*enumerate)(dpif_dp_cb *, void *aux);
    int (*session_open)(struct dpif *, struct dpif_session **);
    void (*session_close)(struct dpif_session *);
    const char *(*session_error)(const struct dpif_session *);

    int (*get_stats)(struct dpif_session *, struct dpif_stats *);
    int (*destroy)(struct dpif_session *);
    int (*set_dispatch)(struct dpif_session *, enum dpif_dispatch, const uint32_t *pids, size_t n_pids);

    int (*port_add)(struct dpif_session *, const char *name, enum dpif_port_type, uint32_t upcall_pid,
                    odp_port_t request, odp_port_t *ret_no);
    int (*port_del)(struct dpif_session *, odp_port_t);
    int (*port_query)(struct dpif_session *, const char *name, odp_port_t no, struct dpif_port *); /* By NAME unless NULL. */
    int (*port_set_pid)(struct dpif_session *, odp_port_t, uint32_t upcall_pid);
    int (*port_dump)(struct dpif_session *, dpif_port_cb *, void *aux);
    int (*port_events_fd)(struct dpif *);
    int (*port_poll)(struct dpif *, dpif_port_event_cb *, void *aux);

    void (*operate)(struct dpif_session *, struct dpif_op *ops[], size_t n_ops);
    int (*flow_get)(struct dpif_session *, const struct ufid *, const struct nlattr *key, size_t key_len,
                    struct dpif_flow *);
    int (*flow_flush)(struct dpif_session *);
    int (*flow_dump_create)(struct dpif *, bool terse, struct dpif_flow_dump **);
    int (*flow_dump_destroy)(struct dpif_flow_dump *);
    struct dpif_flow_dump_thread *(*flow_dump_thread_create)(struct dpif_flow_dump *);
    void (*flow_dump_thread_destroy)(struct dpif_flow_dump_thread *);
    int (*flow_dump_next)(struct dpif_flow_dump_thread *, struct dpif_flow *, int max);

    int (*meter_set)(struct dpif_session *, uint32_t id, const struct dpif_meter *, struct dpif_meter_stats *);
    int (*meter_get)(struct dpif_session *, uint32_t id, struct dpif_meter_stats *);
    int (*meter_del)(struct dpif_session *, uint32_t id);

    int (*channel_open)(struct dpif *, size_t rcvbuf, int *ret_fd, uint32_t *ret_pid);
    void (*channel_close)(struct dpif *, int fd, uint32_t pid);
    int (*channel_set_rcvbuf)(struct dpif *, int fd, size_t rcvbuf);
    uint64_t (*channel_drops)(struct dpif *, int fd);
    int (*upcall_parse)(const struct dpif *, const void *msg, size_t len, struct dpif_upcall *);
};

extern const struct dpif_ops dpif_kernel_ops;
extern const struct dpif_ops dpif_sim_ops;

#endif
