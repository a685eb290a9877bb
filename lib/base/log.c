/* Logging: modules, rate limits, and the way of a line to its destinations.
 *
 * Threads: any.  Writing takes no lock: levels, patterns and the facility are single words that are read once a line,
 * and a line goes out in one write(), which the kernel keeps whole.  Two threads that log at the same time may so
 * appear in the other order than their serial numbers: accepted.  The log's lock (a leaf) guards the tokens of
 * the rate limits, and all that is changed by commands.
 *
 * A message of several lines is logged as several lines with the same serial number: whatever text the outside
 * world gets into a message, each line in the file begins as every line does. */
#include <config.h>

#include "lib/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/log-pattern.h"
#include "lib/base/log-private.h"
#include "lib/base/util.h"

COUNTER_DEFINE(log_write_failed);

#define TOKENS_PER_LINE 60
#define MAX_TOKENS      (5 * TOKENS_PER_LINE)

struct lock log_lock = LOCK_INITIALIZER(RANK_LOG);
struct log_module *log_modules;
int log_facility = -1; /* Not set. */
struct log_dest_info log_dests[N_LOG_DESTS] = {
    [LOG_CONSOLE] = { "console", "%D{%Y-%m-%dT%H:%M:%SZ}|%05N|%c%T|%p|%m" },
    [LOG_SYSLOG] = { "syslog", "ovs|%05N|%c%T|%p|%m" },
    [LOG_FILE] = { "file", "%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m" },
};

static unsigned int last_serial; /* Relaxed. */
static uint64_t start_msec;      /* Set before main(). */
static bool syslog_off;          /* Set before main(). */
static _Thread_local char thread_name[32];

__attribute__((constructor)) static void start(void)
{
    const char *method = getenv("OVS_SYSLOG_METHOD");

    start_msec = clock_msec();
    syslog_off = method && !strcmp(method, "null");
}

/* Recomputes what log_enabled() looks at. */
void log_module_refresh(struct log_module *m)
{
    unsigned char max = LOG_LEVEL_OFF;

    for (int i = 0; i < N_LOG_DESTS; i++) {
        if (i != LOG_FILE || log_file_is_open()) {
            max = MAX(max, m->level[i]);
        }
    }
    __atomic_store_n(&m->max_level, max, __ATOMIC_RELAXED);
}

/* Adds M to the modules, with level INFO everywhere or what was asked for it earlier.  Called before main(). */
void log_module_register(struct log_module *m)
{
    struct log_module **p;

    lock_acquire(&log_lock);
    for (int i = 0; i < N_LOG_DESTS; i++) {
        m->level[i] = LOG_LEVEL_INFO;
    }
    m->honor_rate_limits = true;
    log_spec_apply(m);
    log_module_refresh(m);
    for (p = &log_modules; *p && strcmp((*p)->name, m->name) < 0; p = &(*p)->next) {
        continue;
    }
    m->next = *p;
    *p = m;
    lock_release(&log_lock);
}

/* Names the calling thread in its lines; longer names are cut. */
void log_set_thread_name(const char *name) { snprintf(thread_name, sizeof thread_name, "%s", name); }

static void write_console(const char *data, size_t n)
{
    ssize_t written;

    do {
        written = write(STDERR_FILENO, data, n);
    } while (written < 0 && errno == EINTR);
    if (written != (ssize_t) n) {
        COUNTER_INC(log_write_failed);
    }
}

/* Sends LINE to DEST. */
static void emit(enum log_dest dest, const struct log_line *line)
{
    struct log_buf b;

    log_buf_init(&b);
    log_pattern_expand(__atomic_load_n(&log_dests[dest].pattern, __ATOMIC_ACQUIRE), line, &b);
    switch (dest) {
    case LOG_CONSOLE:
        log_buf_add(&b, "\n", 1);
        write_console(b.data, b.len);
        break;
    case LOG_SYSLOG:
        log_syslog_write(line->facility, log_level_severity(line->level), b.data);
        break;
    case LOG_FILE:
        log_buf_add(&b, "\n", 1);
        log_file_write(b.data, b.len);
        break;
    case N_LOG_DESTS:
        break;
    }
    log_buf_uninit(&b);
}

static bool wanted(const struct log_module *m, enum log_dest dest, enum log_level level)
{
    if (__atomic_load_n(&m->level[dest], __ATOMIC_RELAXED) < level) {
        return false;
    }
    return !(dest == LOG_FILE && !log_file_is_open()) && !(dest == LOG_SYSLOG && syslog_off);
}

/* Sends TEXT, line by line, wherever M's levels say. */
static void write_text(struct log_module *m, enum log_level level, const char *text)
{
    struct log_line line = {
        .module = m->name,
        .level = level,
        .thread = thread_name,
        .serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED),
        .wall_msec = clock_wall_msec(),
        .run_msec = (int64_t) (clock_msec() - start_msec),
        .facility = __atomic_load_n(&log_facility, __ATOMIC_RELAXED),
    };

    do {
        line.text = text;
        line.text_len = strcspn(text, "\n");
        for (enum log_dest dest = 0; dest < N_LOG_DESTS; dest++) {
            if (wanted(m, dest, level)) {
                emit(dest, &line);
            }
        }
        text += line.text_len;
        text += *text == '\n';
    } while (*text);
}

static void PRINTF_FORMAT(3, 0) write_va(struct log_module *m, enum log_level level, const char *format, va_list args)
{
    char stack[512];
    va_list again;

    va_copy(again, args);
    int n = vsnprintf(stack, sizeof stack, format, args);
    if (n >= (int) sizeof stack) {
        char *text = xvasprintf(format, again);
        write_text(m, level, text);
        free(text);
    } else {
        write_text(m, level, n < 0 ? format : stack); /* A bad conversion: better the bare format than nothing. */
    }
    va_end(again);
}

/* Logs a message of module M at LEVEL.  Keeps errno. */
void log_write(struct log_module *m, enum log_level level, const char *format, ...)
{
    int saved_errno = errno;
    va_list args;

    if (log_enabled(m, level)) {
        va_start(args, format);
        write_va(m, level, format, args);
        va_end(args);
    }
    errno = saved_errno;
}

/* Takes a line's tokens from RL.  Returns false if there are too few; else sets *RET_SUPPRESSED to the number of lines
 * that were not written since the last that was, and *RET_SECONDS to the time in which that happened. */
static bool take_tokens(struct log_rate_limit *rl, unsigned int *ret_suppressed, unsigned int *ret_seconds)
{
    unsigned long long now = clock_msec();
    bool ok;

    lock_acquire(&log_lock);
    /* RATE lines a minute are RATE tokens a second.  Time is only taken when it is worth a token. */
    unsigned long long due = (now - rl->last) * rl->rate / 1000;
    if (due) {
        rl->tokens = (unsigned int) MIN(due + rl->tokens, (unsigned long long) MAX_TOKENS);
        rl->last = now;
    }
    ok = rl->tokens >= TOKENS_PER_LINE;
    if (ok) {
        rl->tokens -= TOKENS_PER_LINE;
        *ret_suppressed = rl->suppressed;
        *ret_seconds = (unsigned int) ((now - rl->first_suppressed) / 1000);
        rl->suppressed = 0;
    } else if (!rl->suppressed++) {
        rl->first_suppressed = now;
    }
    lock_release(&log_lock);
    return ok;
}

/* The same as log_write(), but no more often than RL allows. */
void log_write_rl(struct log_module *m, enum log_level level, struct log_rate_limit *rl, const char *format, ...)
{
    int saved_errno = errno;
    unsigned int suppressed = 0, seconds = 0;
    va_list args;

    if (!log_enabled(m, level)) {
        return;
    }
    if (!__atomic_load_n(&m->honor_rate_limits, __ATOMIC_RELAXED) || take_tokens(rl, &suppressed, &seconds)) {
        if (suppressed) {
            log_write(m, level, "Dropped %u log messages in last %u seconds due to excessive rate", suppressed,
                      seconds);
        }
        va_start(args, format);
        write_va(m, level, format, args);
        va_end(args);
    }
    errno = saved_errno;
}

/* See log.h. */
bool log_honor_rate_limits(const char *module, bool honor)
{
    bool all = !module || !strcasecmp(module, "any");
    bool found = all;

    lock_acquire(&log_lock);
    for (struct log_module *m = log_modules; m; m = m->next) {
        if (all || !strcasecmp(m->name, module)) {
            __atomic_store_n(&m->honor_rate_limits, honor, __ATOMIC_RELAXED);
            found = true;
        }
    }
    lock_release(&log_lock);
    return found;
}
