/* Main's work: what is to be done is noted as bits, and done once the loop has run what else is ready, so that a burst of
 * changes costs one reconfiguration.
 *
 * Without the database's lock this process is passive: it has no datapath open and no threads.  Without a connection
 * it goes on as it was; when the database is back, its contents are compared as after any change. */
#include <config.h>

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/base/version.h"
#include "lib/io/affinity.h"
#include "lib/io/loop.h"
#include "lib/nl/nl.h"
#include "ofproto/mac.h"
#include "ofproto/ofproto.h"
#include "vswitchd/settings.h"
#include "vswitchd/view.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(reconfigure);

#define STATUS_RETRY_MS 100
/* Half of the second within which all threads follow a change of the process's CPUs. */
#define AFFINITY_MS 500

void vswitch_want(struct vswitch *v, unsigned int work)
{
    v->work |= work;
    event_active(v->work_event, EV_TIMEOUT, 0);
}

void vswitch_retry_status(struct vswitch *v)
{
    v->retry_status = true;
    struct timeval tv = { .tv_usec = STATUS_RETRY_MS * 1000 };
    event_add(v->status_event, &tv);
}

static void status_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;

    if (v->retry_status) {
        v->retry_status = false;
        vswitch_want(v, WORK_STATUS | WORK_STATISTICS);
    }
}

static void database_changed(void *v) { vswitch_want(v, WORK_RECONFIGURE); }

/* Lets go of the datapath, which stays as it is, and forgets all bridges. */
static void release(struct vswitch *v, bool delete_datapath)
{
    v->managing = false;
    view_publish(NULL);
    datapath_close(v, delete_datapath);
    sync_forget_all(v);
    v->checked_stale = false;
}

static const char *other_config(const void *row, const char *key) { return ovsdb_map_get(row, "other_config", key); }

static void read_settings(struct vswitch *v, const struct ovsdb_row *root, struct engine_settings *ret)
{
    settings_read_engine(other_config, root, ret);
    v->stats_interval_ms =
        settings_number(other_config, root, "Open_vSwitch", "stats-update-interval", 5000, INT32_MAX, 5000);
    if (settings_bool(other_config, root, "Open_vSwitch", "flow-restore-wait", false)) {
        log_info_rl(1, "flow-restore-wait has no effect: flows in the datapath are kept and checked, not flushed");
    }
}

/* What follows from interfaces that have come or gone, up to the snapshots. */
static void settle(struct vswitch *v)
{
    for (size_t i = 0; i < v->n_bridges; i++) {
        local_assign_numbers(v->bridges[i]);
        local_update(v, v->bridges[i]);
    }
    publish(v);
}

static bool may_manage(struct vswitch *v)
{
    if (!ovsdb_is_alive(v->db)) {
        return false;
    }
    if (ovsdb_has_lock(v->db)) {
        v->said_contended = false;
        return true;
    }
    if (ovsdb_lock_contended(v->db)) {
        if (!v->said_contended) {
            log_err("another ovs-vswitchd process is running, disabling this process (pid %ld) until it goes away",
                    (long) getpid());
            v->said_contended = true;
        }
        if (v->managing) {
            release(v, false);
        }
    }
    return false;
}

/* The database's next_cfg has been carried out when the flows in the datapath follow it too: until then a packet may take
 * a flow of before, so whoever waits for cur_cfg waits for a revalidation round. */
struct settling {
    struct vswitch *v;
    int64_t cfg;
    uint64_t order; /* An engine that ends may tell of an earlier one late. */
};

static void settled(void *s_)
{
    struct settling *s = s_;

    if (s->order > s->v->settled_order) {
        s->v->settled_order = s->order;
        s->v->settled_cfg = s->cfg;
        vswitch_want(s->v, WORK_STATUS);
    }
    free(s);
}

/* In a revalidator's thread, or main's when the engine ends. */
static void round_ended(void *s) { loop_post(settled, s); }

static void announce_when_settled(struct vswitch *v, int64_t cfg)
{
    uint64_t order = ++v->settle_order;
    if (v->engine) {
        struct settling *s = xmalloc(sizeof *s);
        *s = (struct settling) { v, cfg, order };
        engine_wait(v->engine, round_ended, s);
    } else {
        v->settled_cfg = cfg;
        v->settled_order = order;
    }
}

static void reconfigure(struct vswitch *v)
{
    struct engine_settings settings;

    if (!may_manage(v)) {
        return;
    }
    const struct ovsdb_row *root = ovsdb_first(v->db, "Open_vSwitch");
    if (!root) {
        log_info_rl(5, "the database has no Open_vSwitch row yet (ovs-vsctl init makes one)");
    } else {
        read_settings(v, root, &settings);
        controllers_read_tls(v, root);
        sync_from_database(v, root);
        datapath_open_if_needed(v, &settings);
        iface_realize_all(v);
        settle(v);
        sync_retire(v);
        datapath_close_if_idle(v);
        announce_when_settled(v, ovsdb_int(root, "next_cfg", 0));
        if (!v->managing) {
            log_info("ovs-vswitchd (Open vSwitch) %s, Sluice %s", OVS_COMPAT_VERSION, PACKAGE_VERSION);
        }
        v->managing = true;
        status_write(v, true);
    }
}

static void work_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;
    unsigned int work = v->work;

    v->work = 0;
    if (work & WORK_RECONFIGURE) {
        reconfigure(v);
        return;
    }
    if (!v->managing) {
        return;
    }
    if (work & WORK_PUBLISH) {
        settle(v);
    }
    status_write(v, work & WORK_STATISTICS);
}

static void tick_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;
    uint64_t now = clock_msec();
    struct dep_set changed = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < v->n_bridges; i++) {
        n += mac_table_expire(v->bridges[i]->macs, now, &changed);
        ofproto_tick(v->bridges[i]->ofproto);
    }
    if (n && v->engine) {
        engine_changed(v->engine, &changed);
    }
    if (v->engine) {
        engine_watch(v->engine);
    }
    if ((v->engine ? v->settings_failed : v->engine_error != NULL) && now >= v->next_open) {
        vswitch_want(v, WORK_RECONFIGURE);
    }
    if (v->managing && now >= v->next_stats) {
        v->next_stats = now + v->stats_interval_ms;
        vswitch_want(v, WORK_STATUS | WORK_STATISTICS);
    }
}

/* What cannot be had now (threads, descriptors) is tried again as other settings are. */
static void affinity_cb(evutil_socket_t fd UNUSED, short what UNUSED, void *v_)
{
    struct vswitch *v = v_;

    if (!affinity_changed()) {
        return;
    }
    if (!v->engine) {
        affinity_apply(NULL, 0);
    } else if (engine_follow_affinity(v->engine)) {
        v->settings_failed = true;
        v->next_open = clock_msec() + STATUS_RETRY_MS;
    }
}

/* Of the command line. */
static void open_tls(struct vswitch *v, const struct tls_config *options)
{
    v->tls_options = *options;
    v->tls = tls_create();
    v->db_tls = tls_create();
    char *error = tls_configure(v->db_tls, options);
    if (error) {
        log_err("TLS for the database: %s", error);
        free(error);
    }
}

void vswitch_init(struct vswitch *v, const char *remote, const struct tls_config *tls, bool enable_sim, void (*ready)(void))
{
    struct ovsdb_callbacks cb = { database_changed, v };
    struct timeval second = { .tv_sec = 1 }, affinity = { .tv_usec = AFFINITY_MS * 1000 };

    memset(v, 0, sizeof *v);
    v->enable_sim = enable_sim;
    v->ready = ready;
    v->stats_interval_ms = 5000;
    int error = nl_sock_open(NETLINK_ROUTE, 0, &v->rtnl);
    if (error) {
        fatal(-error, "could not open a rtnetlink socket");
    }
    v->work_event = event_new(loop_base(), -1, 0, work_cb, v);
    v->status_event = event_new(loop_base(), -1, 0, status_cb, v);
    v->tick_event = event_new(loop_base(), -1, EV_PERSIST, tick_cb, v);
    event_add(v->tick_event, &second);
    affinity_machine();
    v->affinity_event = event_new(loop_base(), -1, EV_PERSIST, affinity_cb, v);
    event_add(v->affinity_event, &affinity);
    events_open(v);
    open_tls(v, tls);
    v->db = ovsdb_open(remote, v->db_tls, "Open_vSwitch", "ovs_vswitchd", vswitch_tables, &cb);
}

void vswitch_uninit(struct vswitch *v, bool cleanup)
{
    release(v, cleanup);
    ovsdb_close(v->db);
    tls_destroy(v->tls);
    tls_destroy(v->db_tls);
    events_close(v);
    event_free(v->affinity_event);
    event_free(v->tick_event);
    event_free(v->status_event);
    event_free(v->work_event);
    nl_sock_close(v->rtnl);
    free(v->engine_error);
    warn_once_uninit();
}
