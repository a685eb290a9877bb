/* What ofproto*.c and ofconn.c share. */
#ifndef OFPROTO_OFPROTO_PRIVATE_H
#define OFPROTO_OFPROTO_PRIVATE_H 1

#include "lib/ofp/ofp-action.h"
#include "lib/ofp/ofp-conn.h"
#include "lib/ofp/ofp-listener.h"
#include "lib/ofp/ofp-msg-flow.h"
#include "lib/ofp/ofp-msg-packet.h"
#include "lib/ofp/ofp-msg-port.h"
#include "lib/ofp/ofp-msg-session.h"
#include "lib/ofp/ofp-msg-table.h"
#include "ofproto/flow-mod.h"
#include "ofproto/group.h"
#include "ofproto/ofproto.h"
#include "ofproto/tables.h"

struct controller;
struct event;
struct monitors;
struct ofconn;
struct snooper;
struct ofconn_rate;
struct pin;

struct ofproto {
    char *name;
    uint32_t id;
    struct ofproto *next; /* Of all of them. */
    struct event_base *base;
    const struct ofproto_ops *ops;
    void *aux;
    uint64_t datapath_id;
    bool uses_liveness; /* There has been a rule, a bucket or a packet-out whose action `bundle' depends on which ports are live. */
    struct tables *tables;
    /* fail-mode.c. */
    bool secure, mode_known;
    bool had_primary;
    bool fallback;          /* The hidden rule is in table 0. */
    uint64_t fallback_said; /* ms: when the log was told last that it is still so. */
    struct event *learn_event; /* Something is to be learned; NULL: cannot be. */
    bool deletes_orphans;
    struct ofp_port *ports; /* Sorted by number. */
    size_t n_ports;
    struct ofp_listener *management, *snoop;
    bool wants_listen;
    uint32_t versions;                                    /* That may be spoken. */
    struct tls *tls;                                      /* For controllers; borrowed, may be NULL. */
    struct controller **controllers;                      /* In the order of the configuration. */
    size_t n_controllers;
    struct snooper *snoopers;                             /* List. */
    size_t bundle_bytes; /* Of all bundles that its clients have opened. */
    struct ofconn *conns; /* List. */
    bool have_generation;
    uint64_t generation;  /* The last that a controller gave with a role. */
    uint64_t last_change; /* Number of the last change of the tables. */
    struct ofconn *served; /* Whose request is being carried out; NULL: nobody's. */
    be32 served_xid;
};

/* Actions that translation carries out, by OpenFlow 1.3's types: output, push_vlan, pop_vlan, set_queue, group, set_nw_ttl, dec_nw_ttl, set_field. */
#define OFPROTO_ACTIONS (1u << 0 | 1u << 17 | 1u << 18 | 1u << 21 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25)

extern struct ofproto *ofproto_all; /* The first of a list.  Main's. */

/* A client: who asked for what, and how it wants to be told. */
struct ofconn {
    struct ofproto *ofproto;
    struct ofconn *next, **prev_next;
    struct ofp_conn *conn;
    struct controller *controller; /* As which it is connected; NULL: at the management socket. */
    bool owns_conn;
    bool primary;                  /* It is told of what happens without having asked. */
    enum ofp_version version;
    enum ofp_role role;
    struct ofp_async async;
    struct ofp_config config;
    enum ofp_flow_format flow_format; /* Of 1.0. */
    enum ofp_packet_in_format packet_in_format;
    bool flow_mod_table_id;
    uint16_t controller_id;
    struct flow_dump *dump;     /* A long answer on its way; the connection is held. */
    struct ofbundle *bundles;   /* That it has opened. */
    struct ofconn_rate *rate;   /* Of packet-ins; NULL: no limit, and none has had to wait. */
    struct monitors *monitors;  /* Of flows; NULL: it never asked. */
};

/* ofconn.c */
/* A client by CONN, which stays the caller's: he hands over what comes. */
struct ofconn *ofconn_create(struct ofproto *o, struct ofp_conn *conn, struct controller *controller);
void ofconn_message(struct ofconn *c, const void *msg, size_t len);
void ofconn_room(struct ofconn *c);
/* The same, and CONN is the ofconn's. */
void ofconn_accept(struct ofproto *o, struct ofp_conn *conn, struct controller *controller);
void ofconn_destroy(struct ofconn *c);
/* Sends and frees what is in B: answers. */
void ofconn_reply(struct ofconn *c, struct buf *b);
void ofconn_finish(struct ofconn *c, struct ofp_reply *r); /* The same for a reply in parts, which it ends. */
void ofconn_error(struct ofconn *c, enum ofp_error error, const void *request, size_t len);
/* To all who want to hear of KIND for REASON (a bit number): PUT appends the message for one of them. */
void ofconn_notify(struct ofproto *o, enum ofp_async_kind kind, unsigned int reason,
                   void (*put)(struct ofconn *c, struct buf *b, const void *what), const void *what);

/* controller.c: a connection of C is no more in the list. */
void controller_conn_gone(struct controller *c);
/* Does C want to be told of KIND for REASON (a bit number)? */
bool ofconn_wants(const struct ofconn *c, enum ofp_async_kind kind, unsigned int reason);
bool ofconn_listens(const struct ofconn *c); /* Of anything at all? */

/* ofconn-rate.c */
/* C may have RATE packet-ins a second, and BURST at once (controller_rate_limit, controller_burst_limit); RATE 0: any number, and what waits goes
 * as fast as C reads, QUEUE_SIZE of them (controller_queue_size; 0: not said, as many as is good). */
void ofconn_set_limits(struct ofconn *c, unsigned int rate, unsigned int burst, unsigned int queue_size);
/* Tells what the limit has done, if there is one: ovs-vswitchd.conf.db(5), Controller Rate Limiting Statistics. */
void ofconn_put_rate_status(const struct ofconn *c, void (*put)(const char *key, const char *value, void *aux), void *aux);
void ofconn_rate_uninit(struct ofconn *c); /* The same, without sending what waits. */
/* Sends P (packet_in_send()), now or when it is its turn.  P stays the caller's. */
void ofconn_rate_send(struct ofconn *c, struct pin *p);
/* C has taken some of its output. */
void ofconn_rate_room(struct ofconn *c);
/* Packet-ins that were dropped. */
uint64_t ofconn_rate_drops(const struct ofconn *c);

/* Requests.  Each carries MSG out and answers; or returns what is wrong, and nothing has changed. */
typedef enum ofp_error ofproto_handler(struct ofconn *c, const struct ofp_msg *msg);

/* ofproto-session.c */
ofproto_handler handle_features, handle_get_config, handle_set_config, handle_barrier, handle_desc, handle_role, handle_get_async,
    handle_set_async, handle_set_flow_format, handle_set_packet_in_format, handle_flow_mod_table_id, handle_set_controller_id;
/* ofproto-port.c */
ofproto_handler handle_port_desc, handle_port_mod, handle_port_stats, handle_queue_stats, handle_queue_config;
/* The ports that were there before stay configured as they were. */
void ofproto_keep_port_configs(struct ofproto *o, const struct ofp_port *old, size_t n_old);
void ofproto_tell_ports(struct ofproto *o, const struct ofp_port *old, size_t n_old);
/* ofproto-table.c */
ofproto_handler handle_table_stats, handle_table_features;
/* ofproto-limit.c */
ofproto_handler handle_table_mod, handle_table_desc;
/* ofproto-none.c */
ofproto_handler handle_tlv_request, handle_tlv_mod;
/* ofproto-group.c */
ofproto_handler handle_group_mod, handle_group_stats, handle_group_desc, handle_group_features;
/* OFPBAC_BAD_OUT_GROUP: ACTS name a group that there is not; GX: as that transaction has made it, or NULL. */
enum ofp_error ofproto_groups_check(const struct ofproto *o, const struct groups_txn *gx, const void *acts, size_t len);
/* Makes MOD's changes, as MSG has them, part of both transactions.  On error they may hold some of them, and are to be rolled back. */
enum ofp_error group_mod_apply(const struct ofp_msg *msg, const struct ofp_group_mod *mod, struct tables_txn *x, struct groups_txn *gx,
                               uint64_t now);
/* Makes the changes of both visible, tells whom it concerns, and ends both. */
void ofproto_commit(struct ofproto *o, struct tables_txn *x, struct groups_txn *gx);
/* ACTS are to be carried out: which ports are live is of interest from now on, if they depend on it. */
void ofproto_note_liveness(struct ofproto *o, const void *acts, size_t len);
/* Deletes all groups, and the rules that use them. */
void ofproto_delete_groups(struct ofproto *o);
/* ofproto-meter.c */
ofproto_handler handle_meter_mod, handle_meter_stats, handle_meter_config, handle_meter_features;
/* OFPMMFC_INVALID_METER: ACTS name a meter that there is not. */
enum ofp_error ofproto_meters_check(const struct ofproto *o, const struct buf *acts);
/* Deletes meter ID, or all (OFPM_ALL), and the rules that use them. */
void ofproto_delete_meters(struct ofproto *o, uint32_t id);
/* ofproto-flow.c */
ofproto_handler handle_flow_mod;
/* Can ACTS, which are for packets of MATCH, be carried out?  ofp_acts_check() and more. */
enum ofp_error ofproto_acts_check(struct buf *acts, const struct ofp_check *check, const struct match *match);
/* Decodes MSG as C speaks.  ACTS gets its actions; the groups that they name are not looked at. */
enum ofp_error flow_mod_decode(const struct ofconn *c, const struct ofp_msg *msg, struct buf *acts, struct flow_mod *ret);
/* Carries FM out, as a transaction of its own, and tells whom it concerns. */
enum ofp_error ofproto_flow_mod(struct ofproto *o, const struct flow_mod *fm);
/* Why C took its rule out of a table, if the transaction was for REASON. */
static inline enum ofp_removed_reason ofproto_change_reason(const struct tables_change *c, enum ofp_removed_reason reason)
{
    return c->evicted ? OFPRR_EVICTION : c->with_group ? OFPRR_GROUP_DELETE : reason;
}
/* X's changes are visible: tells whom it concerns, and ends X. */
void ofproto_committed(struct ofproto *o, struct tables_txn *x, enum ofp_removed_reason reason);
enum ofp_error ofproto_match_decode(const struct ofp_match_ref *ref, struct match *ret, uint64_t *cookie, uint64_t *cookie_mask);
/* ofproto-learn.c */
void ofproto_learn_begin(struct ofproto *o);
void ofproto_learn_end(struct ofproto *o);
/* Deletes what was learned by actions with delete_learned that are gone. */
void ofproto_delete_orphans(struct ofproto *o);
/* ofproto-flow-stats.c */
ofproto_handler handle_flow_stats, handle_flow_counts, handle_aggregate;
void flow_dump_go_on(struct ofconn *c);
void flow_dump_destroy(struct flow_dump *d); /* Accepts NULL. */
/* What is to be said of R; MATCH and ACTIONS hold the bytes. */
void ofproto_describe(struct rule *r, enum ofp_version version, bool nx, uint64_t now, struct buf *match, struct buf *actions,
                      struct ofp_flow_stats *ret);
/* ofproto-packet.c */
ofproto_handler handle_packet_out;
/* What C's version calls the reason of P; -1: it is not told of P at all. */
int packet_in_reason(const struct ofconn *c, const struct pin *p);
void packet_in_send(struct ofconn *c, const struct pin *p);
/* Clients have come, gone, or want something else: tables hand up what somebody wants, and no more. */
void ofproto_update_punts(struct ofproto *o);
/* ofproto-monitor.c */
ofproto_handler handle_flow_monitor, handle_flow_monitor_cancel;
/* X's changes are visible: tells whom has monitors for them; REASON is why rules have left. */
void monitors_tell(struct ofproto *o, const struct tables_txn *x, enum ofp_removed_reason reason);
void monitors_destroy(struct monitors *m); /* Accepts NULL. */
/* ofproto-catchup.c: there may be room for what C's monitors have not told yet. */
void monitors_go_on(struct ofconn *c);
/* ofproto-bundle.c */
ofproto_handler handle_bundle_ctrl, handle_bundle_add;
void ofbundle_destroy_all(struct ofconn *c);

#endif
