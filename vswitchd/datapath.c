/* The one datapath that all bridges share: opened when the first bridge appears, deleted when the last goes.
 *
 * Without the kernel module, or without the right to use it, bridges exist in the database only: their interfaces get the
 * reason as their error, and opening is tried again now and then. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif.h"
#include "ofproto/meter.h"
#include "vswitchd/view.h"
#include "vswitchd/vswitch.h"

LOG_MODULE(bridge_datapath);

#define REOPEN_MS 5000

struct names {
    char **names;
    size_t n;
};

static void collect_name(const char *type, const char *name, void *aux)
{
    struct names *f = aux;

    if (!strcmp(type, "system")) {
        f->names = xrealloc(f->names, (f->n + 1) * sizeof *f->names);
        f->names[f->n++] = xstrdup(name);
    }
}

static void delete_datapath(const char *name)
{
    struct dpif *dpif;
    struct dpif_session *s;
    char *why = NULL;
    int error = dpif_open("system", name, &dpif, &why);

    if (!error) {
        error = dpif_session_open(dpif, &s);
        if (!error) {
            error = dpif_destroy(s);
            dpif_session_close(s);
        }
        dpif_close(dpif);
    }
    if (error) {
        log_warn("could not delete datapath %s (%s)", name, why ? why : strerror(-error));
    } else {
        log_info("deleted datapath %s, which no bridge needs", name);
    }
    free(why);
}

/* Deletes the kernel's datapaths other than ours (as the packaged daemon does: they are leftovers of a configuration that
 * is gone), and ours too unless KEEP_OURS. */
static void delete_stale(bool keep_ours)
{
    struct names f = { 0 };

    dpif_enumerate(collect_name, &f);
    for (size_t i = 0; i < f.n; i++) {
        if (!keep_ours || strcmp(f.names[i], DATAPATH_NAME)) {
            delete_datapath(f.names[i]);
        }
        free(f.names[i]);
    }
    free(f.names);
}

/* The type that the bridges need, or NULL.  All share one datapath, so bridges of another type than the chosen one cannot
 * be had; the type in use is kept while anybody needs it. */
static const char *choose_type(struct vswitch *v)
{
    bool system = false, sim = false;

    for (size_t i = 0; i < v->n_bridges; i++) {
        struct bridge *br = v->bridges[i];
        sim |= !br->config_error && br->wants_sim;
        system |= !br->config_error && !br->wants_sim;
    }
    if (!system && !sim) {
        return NULL;
    }
    bool use_sim = sim && (!system || (v->engine && !strcmp(v->datapath_type, "sim")));
    for (size_t i = 0; i < v->n_bridges; i++) {
        struct bridge *br = v->bridges[i];
        if (!br->config_error && br->wants_sim != use_sim) {
            br->config_error = xasprintf("bridge %s: all bridges share one datapath, whose type is \"%s\"", br->name,
                                         use_sim ? "sim" : "system");
        }
    }
    return use_sim ? "sim" : "system";
}

static void fail(struct vswitch *v, char *why)
{
    if (!v->engine_error || strcmp(v->engine_error, why)) {
        log_err("could not open datapath %s (%s)", DATAPATH_NAME, why);
    }
    free(v->engine_error);
    v->engine_error = why;
    v->next_open = clock_msec() + REOPEN_MS;
}

void datapath_open_if_needed(struct vswitch *v, const struct engine_settings *settings)
{
    const char *type = choose_type(v);
    char *why = NULL;

    if (v->engine && type && strcmp(type, v->datapath_type)) {
        datapath_close(v, true);
    }
    if (v->engine) {
        if (v->settings_failed || memcmp(&v->settings, settings, sizeof *settings)) {
            v->settings = *settings;
            v->settings_failed = engine_apply_settings(v->engine, settings) != 0;
            v->next_open = clock_msec() + REOPEN_MS;
        }
        return;
    }
    if (!type) {
        return;
    }
    int error = engine_create(type, DATAPATH_NAME, settings, &v->engine, &why);
    if (error) {
        v->engine = NULL;
        fail(v, why ? why : xstrdup(strerror(-error)));
        return;
    }
    free(v->engine_error);
    v->engine_error = NULL;
    v->datapath_type = type;
    v->settings = *settings;
    v->settings_failed = false;
    v->checked_stale = true;
    if (!strcmp(type, "system")) {
        delete_stale(true);
    }
    meters_datapath_opened();
    events_watch_datapath(v);
    iface_adopt_all(v);
}

void datapath_close(struct vswitch *v, bool delete)
{
    if (!v->engine) {
        return;
    }
    events_unwatch_datapath(v);
    engine_destroy(v->engine, delete);
    v->engine = NULL;
    iface_datapath_closed(v);
}

void datapath_close_if_idle(struct vswitch *v)
{
    if (v->engine && !choose_type(v)) {
        datapath_close(v, true);
    } else if (!v->engine && !v->checked_stale && !v->n_bridges) {
        /* Nothing is wished, but a predecessor may have left something. */
        delete_stale(false);
        v->checked_stale = true;
    }
}
