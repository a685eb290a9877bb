/* A batch of changes to installed flows: deletions and new actions, sent together, their results booked to the ukeys.
 *
 * Belongs to one thread (a revalidator, or whoever purges).  Between the first add and the flush the thread stays in
 * one RCU read section, which keeps the ukeys. */
#ifndef OFPROTO_FLOW_OPS_H
#define OFPROTO_FLOW_OPS_H 1

#include "lib/base/arena.h"
#include "ofproto/flowcache.h"

struct session_pool;

#define FLOW_OPS_MAX 64

struct flow_ops {
    struct flowcache *fc;
    struct session_pool *sessions;
    unsigned int user; /* Of 'sessions'. */
    struct learner *learner; /* The thread's. */
    struct arena arena;
    uint64_t now; /* ms; set by the owner. */
    unsigned int n;
    struct flow_op {
        struct ukey *ukey; /* NULL: a flow that has none. */
        struct dpif_op op;
    } items[FLOW_OPS_MAX];
    uint64_t n_deleted, n_modified, n_failed;
};

/* USER: of SESSIONS.  LEARNER, of the thread, is for what the last packets of a deleted flow teach. */
void flow_ops_init(struct flow_ops *o, struct flowcache *fc, struct session_pool *sessions, unsigned int user, struct learner *learner);
void flow_ops_uninit(struct flow_ops *o);

static inline bool flow_ops_is_full(const struct flow_ops *o) { return o->n == FLOW_OPS_MAX; }

/* Deletes U's flow; U goes on to EVICTING, and leaves the table when the batch is flushed.  The caller has checked that U is INSTALLED
 * or INCONSISTENT, and that there is room. */
void flow_ops_delete(struct flow_ops *o, struct ukey *u) REQUIRES(u->lock);
/* Gives U's flow the LEN bytes of ACTIONS (copied). */
void flow_ops_modify(struct flow_ops *o, struct ukey *u, const void *actions, size_t len) REQUIRES(u->lock);
/* Deletes a flow that we have no ukey for and cannot make one: by UFID if F has one, else by its key (copied). */
void flow_ops_delete_foreign(struct flow_ops *o, const struct dpif_flow *f);
/* What packets of a flow teach beside flows of tables: to be run without the ukey's lock, whose rank is higher than the MAC tables'. */
struct flow_taught {
    struct effect effects[XLATE_MAX_EFFECTS];
    unsigned int n;
    uint64_t used;
};
/* U has forwarded packets of which none was looked at yet, the last as STATS say: teaches what they would have on the slow path.  Then, outside of the
 * lock, flow_ops_end_teaching(). */
void flow_ops_teach(struct flow_ops *o, const struct ukey *u, const struct dpif_flow_stats *stats, struct flow_taught *ret) REQUIRES(u->lock);
void flow_ops_end_teaching(struct flow_ops *o, const struct flow_taught *taught);
/* Carries out and accounts what was added. */
void flow_ops_flush(struct flow_ops *o);

#endif
