/* How a log line looks: expansion of the patterns that vlog/set PATTERN takes (ovs-appctl(8)).  Private to log*.c. */
#ifndef BASE_LOG_PATTERN_H
#define BASE_LOG_PATTERN_H 1

#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"

/* A line under construction; 'data' is null-terminated once something was added. */
struct log_buf {
    char *data;
    size_t len, capacity;
    char stack[512]; /* Serves most lines without the heap. */
};
void log_buf_init(struct log_buf *b);
void log_buf_uninit(struct log_buf *b);
void log_buf_add(struct log_buf *b, const char *data, size_t n);

/* What one call of log_write() is about. */
struct log_line {
    const char *module;
    enum log_level level;
    const char *thread; /* "" for main. */
    unsigned int serial;
    int64_t wall_msec;
    int64_t run_msec; /* Since the program started. */
    int facility;     /* 0 to 23, as in RFC 5424; -1: each destination's own. */
    const char *text; /* One line. */
    size_t text_len;
};

void log_pattern_expand(const char *pattern, const struct log_line *line, struct log_buf *out);
const char *log_level_name(enum log_level level); /* "OFF", "EMER" and so on. */
int log_level_severity(enum log_level level);     /* As syslog(3) numbers them. */

#endif
