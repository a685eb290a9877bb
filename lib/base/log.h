/* Logging in the form that the field's tools expect.
 *
 * A source file declares its module once, `LOG_MODULE(noun);` below its includes, and then uses log_err(),
 * log_warn(), log_info(), log_dbg().  In normal work nothing is logged at WARN or ERR (test suites fail on any).
 * Levels are kept per module and destination (console, syslog, file) and set by -v and vlog/set.  A call whose
 * level is off for all destinations costs one load and one branch.
 *
 * Log lines: `DATE|SEQ|MODULE|LEVEL|TEXT`, from a thread other than main `MODULE(THREAD)`.
 *
 * What can be triggered from outside at any rate (a packet, a message, a kernel error) uses the _rl form: at
 * most RATE_PER_MINUTE lines, with bursts of 5, and a line that says how many were suppressed. */
#ifndef BASE_LOG_H
#define BASE_LOG_H 1

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/compiler.h"

enum log_level { LOG_LEVEL_OFF, LOG_LEVEL_EMER, LOG_LEVEL_ERR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DBG };
enum log_dest { LOG_CONSOLE, LOG_SYSLOG, LOG_FILE, N_LOG_DESTS };

struct log_module {
    const char *name;
    struct log_module *next;           /* In the list of all modules. */
    unsigned char level[N_LOG_DESTS];  /* enum log_level; relaxed atomics. */
    unsigned char max_level;           /* The highest of 'level'. */
    bool honor_rate_limits;
};

struct log_rate_limit {
    unsigned int tokens;       /* 60 a line; guarded by the log's lock. */
    unsigned int rate;         /* Lines a minute. */
    unsigned long long last;   /* ms of the last refill. */
    unsigned int suppressed;   /* Lines since the last that was printed. */
    unsigned long long first_suppressed;
};
#define LOG_RATE_LIMIT(RATE_PER_MINUTE) { .rate = (RATE_PER_MINUTE), .tokens = 5 * 60 }

/* Defines and registers the module of this source file. */
#define LOG_MODULE(NAME)                                                                                     \
    static struct log_module this_module = { .name = #NAME };                                               \
    __attribute__((constructor)) static void log_register_##NAME(void) { log_module_register(&this_module); } \
    extern int log_semicolon_eater_

void log_module_register(struct log_module *m);
void log_write(struct log_module *m, enum log_level level, const char *format, ...) PRINTF_FORMAT(3, 4);
void log_write_rl(struct log_module *m, enum log_level level, struct log_rate_limit *rl, const char *format, ...)
    PRINTF_FORMAT(4, 5);

static inline bool log_enabled(const struct log_module *m, enum log_level level)
{
    return __atomic_load_n(&m->max_level, __ATOMIC_RELAXED) >= level;
}

#define LOG_AT(LEVEL, ...)                                  \
    do {                                                    \
        if (log_enabled(&this_module, LEVEL)) {             \
            log_write(&this_module, LEVEL, __VA_ARGS__);    \
        }                                                   \
    } while (0)
#define LOG_AT_RL(LEVEL, RATE, ...)                             \
    do {                                                        \
        static struct log_rate_limit rl_ = LOG_RATE_LIMIT(RATE);\
        if (log_enabled(&this_module, LEVEL)) {                 \
            log_write_rl(&this_module, LEVEL, &rl_, __VA_ARGS__); \
        }                                                       \
    } while (0)

#define log_emer(...) LOG_AT(LOG_LEVEL_EMER, __VA_ARGS__)
#define log_err(...) LOG_AT(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) LOG_AT(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_dbg(...) LOG_AT(LOG_LEVEL_DBG, __VA_ARGS__)
#define log_err_rl(RATE, ...) LOG_AT_RL(LOG_LEVEL_ERR, RATE, __VA_ARGS__)
#define log_warn_rl(RATE, ...) LOG_AT_RL(LOG_LEVEL_WARN, RATE, __VA_ARGS__)
#define log_info_rl(RATE, ...) LOG_AT_RL(LOG_LEVEL_INFO, RATE, __VA_ARGS__)
#define log_dbg_rl(RATE, ...) LOG_AT_RL(LOG_LEVEL_DBG, RATE, __VA_ARGS__)

/* Applies a specification as of -v and vlog/set: words of `[MODULE][:DEST][:LEVEL]`, or PATTERN:DEST:PATTERN,
 * or FACILITY:NAME.  Unknown modules are accepted (and remembered for modules registered later).  Returns NULL, or an error to be freed. */
char *log_set_spec(const char *spec) WARN_UNUSED_RESULT;
/* Opens (NAME NULL: LOGDIR/PROGRAM.log) or reopens, closes the log file.  0 or -errno. */
int log_file_open(const char *name);
int log_file_reopen(void);
void log_file_close(void);
/* Text of vlog/list and vlog/list-pattern, to be freed. */
char *log_list(void);
char *log_list_patterns(void);
/* Rate limits of MODULE (NULL or "any": of all) on or off.  Returns false if there is no such module. */
bool log_honor_rate_limits(const char *module, bool honor);
/* Sets the name that the calling thread's lines carry; "" for main. */
void log_set_thread_name(const char *name);

#endif
