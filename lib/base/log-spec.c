/* Log levels and patterns as text: what -v and vlog/set take, what vlog/list and vlog/list-pattern print.
 *
 * Threads: any; all under the log's lock.
 *
 * A module that does not exist is accepted, since scripts name modules of the packaged daemon that we have no
 * equal of.  Its levels are remembered, one entry a name.  A pattern that was replaced may still be read by another
 * thread, so patterns are never freed; each text is kept once, however often it is set. */
#include <config.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/log-pattern.h"
#include "lib/base/log-private.h"
#include "lib/base/log.h"
#include "lib/base/util.h"

#define MAX_REMEMBERED 256 /* Names of unknown modules. */

static const char *const facilities[] = { "kern",   "user",   "mail",   "daemon", "auth",   "syslog",
                                          "lpr",    "news",   "uucp",   "clock",  "ftp",    "ntp",
                                          "audit",  "alert",  "clock2", "local0", "local1", "local2",
                                          "local3", "local4", "local5", "local6", "local7" };
/* RFC 5424 has number 10, "security", between clock and ftp, which has no name here. */
static int facility_number(size_t index) { return (int) (index < 10 ? index : index + 1); }

struct remembered {
    struct remembered *next;
    char *module;
    int level[N_LOG_DESTS]; /* -1: not set. */
};
static struct remembered *remembered GUARDED_BY(log_lock);
static unsigned int n_remembered GUARDED_BY(log_lock);

struct kept_pattern {
    struct kept_pattern *next;
    char text[];
};
static struct kept_pattern *kept_patterns GUARDED_BY(log_lock);

static int find_dest(const char *word)
{
    for (int i = 0; i < N_LOG_DESTS; i++) {
        if (!strcasecmp(word, log_dests[i].name)) {
            return i;
        }
    }
    return -1;
}

static int find_level(const char *word)
{
    for (int i = LOG_LEVEL_OFF; i <= LOG_LEVEL_DBG; i++) {
        if (!strcasecmp(word, log_level_name((enum log_level) i))) {
            return i;
        }
    }
    return -1;
}

static void set_levels(struct log_module *m, int dest, int level) REQUIRES(log_lock)
{
    for (int i = 0; i < N_LOG_DESTS; i++) {
        if (dest < 0 || dest == i) {
            __atomic_store_n(&m->level[i], (unsigned char) level, __ATOMIC_RELAXED);
        }
    }
    log_module_refresh(m);
}

/* Gives M the levels that were asked for its name before it existed. */
void log_spec_apply(struct log_module *m)
{
    for (const struct remembered *r = remembered; r; r = r->next) {
        for (int i = 0; i < N_LOG_DESTS; i++) {
            if (r->level[i] >= 0 && !strcasecmp(r->module, m->name)) {
                m->level[i] = (unsigned char) r->level[i];
            }
        }
    }
}

static char *remember(const char *module, int dest, int level) REQUIRES(log_lock)
{
    struct remembered *r;

    for (r = remembered; r && strcasecmp(r->module, module); r = r->next) {
        continue;
    }
    if (!r) {
        if (n_remembered >= MAX_REMEMBERED) {
            return xasprintf("no destination, level, or module \"%s\"", module);
        }
        r = xmalloc(sizeof *r);
        *r = (struct remembered){ .next = remembered, .module = xstrdup(module), .level = { -1, -1, -1 } };
        remembered = r;
        n_remembered++;
    }
    for (int i = 0; i < N_LOG_DESTS; i++) {
        if (dest < 0 || dest == i) {
            r->level[i] = level;
        }
    }
    return NULL;
}

/* Sets LEVEL for MODULE (NULL: all) and destination DEST (-1: all). */
static char *apply(const char *module, int dest, int level)
{
    char *error = NULL;
    bool found = !module;

    lock_acquire(&log_lock);
    for (struct log_module *m = log_modules; m; m = m->next) {
        if (!module || !strcasecmp(m->name, module)) {
            set_levels(m, dest, level);
            found = true;
        }
    }
    if (!found) {
        error = remember(module, dest, level);
    }
    lock_release(&log_lock);
    return error;
}

static bool module_exists(const char *name)
{
    bool found = false;

    lock_acquire(&log_lock);
    for (struct log_module *m = log_modules; m && !found; m = m->next) {
        found = !strcasecmp(m->name, name);
    }
    lock_release(&log_lock);
    return found;
}

static bool is_module_name(const char *word)
{
    for (const char *p = word; *p; p++) {
        if (!isalnum((unsigned char) *p) && *p != '_' && *p != '-') {
            return false;
        }
    }
    return strlen(word) < 64;
}

/* Parses the words in TEXT, which it writes to, and does what they say.  A word that is neither destination nor level nor a module
 * we have is taken for a module of somebody else's if it is the first, as scripts write it; else it is a mistake. */
static char *set_words(char *text)
{
    const char *module = NULL, *first = NULL;
    int dest = -1, level = -1;
    char *save = NULL;

    for (char *word = strtok_r(text, " ,:\t", &save); word; word = strtok_r(NULL, " ,:\t", &save)) {
        int d = find_dest(word), l = find_level(word);

        first = first ? first : word;
        if (d >= 0) {
            if (dest >= 0) {
                return xstrdup("cannot specify multiple destinations");
            }
            dest = d;
        } else if (l >= 0) {
            if (level >= 0) {
                return xstrdup("cannot specify multiple levels");
            }
            level = l;
        } else if (strcasecmp(word, "any")) {
            if (!is_module_name(word) || (word != first && !module_exists(word))) {
                return xasprintf("no destination, level, or module \"%s\"", word);
            }
            if (module) {
                return xstrdup("cannot specify multiple modules");
            }
            module = word;
        }
    }
    return apply(module, dest, level < 0 ? LOG_LEVEL_DBG : level);
}

/* Returns the kept copy of TEXT. */
static const char *keep_pattern(const char *text) REQUIRES(log_lock)
{
    size_t size = strlen(text) + 1;
    struct kept_pattern *k;

    for (k = kept_patterns; k; k = k->next) {
        if (!strcmp(k->text, text)) {
            return k->text;
        }
    }
    k = xmalloc(sizeof *k + size);
    memcpy(k->text, text, size);
    k->next = kept_patterns;
    kept_patterns = k;
    return k->text;
}

/* Handles the part after "PATTERN:", "DEST:PATTERN". */
static char *set_pattern(const char *arg)
{
    size_t n = strcspn(arg, ":");
    char *name = xasprintf("%.*s", (int) n, arg);
    int dest = find_dest(name);
    bool all = !strcasecmp(name, "any");
    char *error = NULL;

    if (dest < 0 && !all) {
        error = xasprintf("unknown destination \"%s\"", name);
    } else if (arg[n] != ':') {
        error = xasprintf("missing pattern for destination \"%s\": use PATTERN:%s:pattern", name, name);
    } else {
        lock_acquire(&log_lock);
        const char *pattern = keep_pattern(arg + n + 1);
        for (int i = 0; i < N_LOG_DESTS; i++) {
            if (all || i == dest) {
                __atomic_store_n(&log_dests[i].pattern, pattern, __ATOMIC_RELEASE);
            }
        }
        lock_release(&log_lock);
    }
    free(name);
    return error;
}

static char *set_facility(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(facilities); i++) {
        if (!strcasecmp(name, facilities[i])) {
            __atomic_store_n(&log_facility, facility_number(i), __ATOMIC_RELAXED);
            return NULL;
        }
    }
    return xstrdup("invalid facility");
}

/* See log.h.  An empty SPEC sets every level to DBG. */
char *log_set_spec(const char *spec)
{
    if (!strncasecmp(spec, "PATTERN:", 8)) {
        return set_pattern(spec + 8);
    }
    if (!strncasecmp(spec, "FACILITY:", 9)) {
        return set_facility(spec + 9);
    }

    char *copy = xstrdup(spec);
    char *error = set_words(copy);
    free(copy);
    return error;
}

/* See log.h. */
char *log_list(void)
{
    struct text t;
    FILE *out = text_open(&t);

    fputs("                 console    syslog    file\n", out);
    fputs("                 -------    ------    ------\n", out);
    lock_acquire(&log_lock);
    for (const struct log_module *m = log_modules; m; m = m->next) {
        fprintf(out, "%-16s  %4s       %4s       %4s", m->name, log_level_name(m->level[LOG_CONSOLE]),
                log_level_name(m->level[LOG_SYSLOG]), log_level_name(m->level[LOG_FILE]));
        fputs(m->honor_rate_limits ? "\n" : "    (rate limiting disabled)\n", out);
    }
    lock_release(&log_lock);
    return text_close(&t);
}

char *log_list_patterns(void)
{
    static const char *const titles[N_LOG_DESTS] = { "CONSOLE", "SYSLOG", "FILE" };
    static const enum log_dest order[N_LOG_DESTS] = { LOG_SYSLOG, LOG_CONSOLE, LOG_FILE };
    struct text t;
    FILE *out = text_open(&t);

    fputs("         prefix                            format\n", out);
    fputs("         ------                            ------\n", out);
    for (int i = 0; i < N_LOG_DESTS; i++) {
        enum log_dest dest = order[i];
        /* What libc's syslog() puts before a message; nothing comes before lines of the others. */
        const char *prefix = dest == LOG_SYSLOG ? "<%B> %D{%h %e %T} %E %A: " : "none";
        fprintf(out, "%-7s  %-32s  %s\n", titles[dest], prefix,
                __atomic_load_n(&log_dests[dest].pattern, __ATOMIC_ACQUIRE));
    }
    return text_close(&t);
}
