/* Reading settings: see the header.
 *
 * A wrong value must not fill the log each time that the database changes, so each text is logged once.  The set of what
 * has been said is bounded; when it is full it starts again. Main only. */
#include <config.h>

#include "vswitchd/settings.h"

#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(bridge_settings);

#define SAID_MAX 512

static void *said; /* Tree of strings. */
static size_t n_said;

static int compare_text(const void *a, const void *b) { return strcmp(a, b); }

void warn_once_uninit(void)
{
    tdestroy(said, free);
    said = NULL;
    n_said = 0;
}

void warn_once(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    if (n_said >= SAID_MAX) {
        warn_once_uninit();
    }
    char **node = tsearch(text, &said, compare_text);
    if (node && *node != text) {
        free(text);
        return;
    }
    log_warn("%s", text);
    if (node) {
        n_said++;
    } else {
        free(text);
    }
}

long long settings_number(settings_get *get, const void *aux, const char *owner, const char *key, long long min,
                          long long max, long long def)
{
    const char *s = get(aux, key);
    long long v;

    if (!s) {
        return def;
    }
    if (str_to_llong(s, min, max, &v)) {
        return v;
    }
    warn_once("%s: %s \"%s\" is not a number from %lld to %lld; using %lld", owner, key, s, min, max, def);
    return def;
}

bool settings_bool(settings_get *get, const void *aux, const char *owner, const char *key, bool def)
{
    const char *s = get(aux, key);

    if (!s) {
        return def;
    }
    if (!strcmp(s, "true") || !strcmp(s, "false")) {
        return !strcmp(s, "true");
    }
    warn_once("%s: %s \"%s\" is neither true nor false; using %s", owner, key, s, def ? "true" : "false");
    return def;
}

static enum dispatch_wish read_dispatch(settings_get *get, const void *aux)
{
    const char *s = get(aux, "upcall-dispatch");

    if (!s || !strcmp(s, "auto")) {
        return DISPATCH_AUTO;
    }
    if (!strcmp(s, "per-cpu")) {
        return DISPATCH_PER_CPU;
    }
    if (!strcmp(s, "per-port")) {
        return DISPATCH_PER_PORT;
    }
    warn_once("Open_vSwitch: upcall-dispatch \"%s\" is unknown; use auto, per-cpu or per-port; using auto", s);
    return DISPATCH_AUTO;
}

/* A count of threads: one above MAX is lowered to it; what is no count, or 0, is 0, which stands for the default. */
static unsigned int read_count(settings_get *get, const void *aux, const char *owner, const char *key, unsigned int max)
{
    const char *s = get(aux, key);
    long long v;

    if (!s) {
        return 0;
    }
    if (str_to_llong(s, 1, max, &v)) {
        return v;
    }
    /* Too large even for a long long: digits all the same. */
    if (str_to_llong(s, 1, LLONG_MAX, &v) ||
        (*s && strspn(s, "0123456789") == strlen(s) && strspn(s, "0") < strlen(s))) {
        warn_once("%s: %s \"%s\" is more than the %u that there can be; using %u", owner, key, s, max, max);
        return max;
    }
    warn_once("%s: %s \"%s\" is not a number from 1 to %u; using as many as suit the CPUs that the process may use",
              owner, key, s, max);
    return 0;
}

void settings_read_engine(settings_get *get, const void *aux, struct engine_settings *ret)
{
    static const struct engine_settings def = ENGINE_SETTINGS_DEFAULT;
    static const char *owner = "Open_vSwitch";

    *ret = def;
    ret->dispatch = read_dispatch(get, aux);
    ret->n_handlers = read_count(get, aux, owner, "n-handler-threads", ENGINE_MAX_THREADS);
    ret->n_revalidators = read_count(get, aux, owner, "n-revalidator-threads", ENGINE_MAX_THREADS);
    ret->flow_limit = settings_number(get, aux, owner, "flow-limit", 0, INT32_MAX, def.flow_limit);
    ret->max_idle_ms = settings_number(get, aux, owner, "max-idle", 500, INT32_MAX, def.max_idle_ms);
    ret->max_revalidator_ms = settings_number(get, aux, owner, "max-revalidator", 100, INT32_MAX,
                                              def.max_revalidator_ms);
}

char *settings_read_upcall_limit(settings_get *get, const void *aux, struct port_limit *ret)
{
    const char *rate = get(aux, "upcall-rate"), *burst = get(aux, "upcall-burst");
    long long r = 0, b;

    *ret = (struct port_limit) { 0 };
    if (!rate) {
        return burst ? xasprintf("upcall-burst \"%s\" without upcall-rate has no effect; set upcall-rate, or remove it", burst)
                     : NULL;
    }
    if (!str_to_llong(rate, 1, PORT_LIMIT_MAX_RATE, &r)) {
        return xasprintf("upcall-rate \"%s\" is not a number from 1 to %d (upcalls a second); no limit is in force", rate,
                         PORT_LIMIT_MAX_RATE);
    }
    *ret = (struct port_limit) { r, port_limit_default_burst(r) };
    if (!burst) {
        return NULL;
    }
    /* That a limit is wanted is clear: a mistake in the lesser half does not open the port to any flood. */
    if (!str_to_llong(burst, 1, PORT_LIMIT_MAX_BURST, &b)) {
        return xasprintf("upcall-burst \"%s\" is not a number from 1 to %d (upcalls at once); using %u", burst,
                         PORT_LIMIT_MAX_BURST, ret->burst);
    }
    ret->burst = b;
    return NULL;
}

bool eth_addr_read(const char *s, struct eth_addr *ret)
{
    struct eth_addr a;
    int end = -1;

    /* sscanf() would skip white space. */
    if (!s || strlen(s) != 17 || strspn(s, "0123456789abcdefABCDEF:") != 17 ||
        sscanf(s, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &a.ea[0], &a.ea[1], &a.ea[2], &a.ea[3], &a.ea[4], &a.ea[5],
               &end) != 6 ||
        end != 17) {
        return false;
    }
    *ret = a;
    return true;
}

bool datapath_id_read(const char *s, uint64_t *ret)
{
    if (!s) {
        return false;
    }
    bool prefixed = !strncasecmp(s, "0x", 2);
    const char *digits = prefixed ? s + 2 : s;
    size_t n = strlen(digits);
    if (n < 1 || n > 16 || (!prefixed && n != 16) || strspn(digits, "0123456789abcdefABCDEF") != n) {
        return false;
    }
    uint64_t v = strtoull(digits, NULL, 16);
    if (!v) {
        return false;
    }
    *ret = v;
    return true;
}
