/* Expansion of log patterns.
 *
 * Threads: any; no state but the host's name, which is read at each use since it may change.
 *
 * An escape is `%`, then `-` (left-justify), `0` (pad with zeros), a least width, and a letter.  An unknown letter is
 * copied as it stands, so that a mistaken pattern still gives readable lines. */
#include <config.h>

#include "lib/base/log-pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/util.h"

#define FACILITY_LOCAL0 16
#define MAX_WIDTH       1024 /* Wider is a mistake, or malice. */

void log_buf_init(struct log_buf *b)
{
    b->data = b->stack;
    b->len = 0;
    b->capacity = sizeof b->stack;
    b->stack[0] = '\0';
}

void log_buf_uninit(struct log_buf *b)
{
    if (b->data != b->stack) {
        free(b->data);
    }
}

static void reserve(struct log_buf *b, size_t n)
{
    size_t need = b->len + n + 1;

    if (need > b->capacity) {
        char *data = xmalloc(need * 2);
        memcpy(data, b->data, b->len + 1);
        log_buf_uninit(b);
        b->data = data;
        b->capacity = need * 2;
    }
}

/* Adds the N bytes at DATA. */
void log_buf_add(struct log_buf *b, const char *data, size_t n)
{
    reserve(b, n);
    memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = '\0';
}

static void add_string(struct log_buf *b, const char *s) { log_buf_add(b, s, strlen(s)); }

static void add_fill(struct log_buf *b, char c, size_t n)
{
    reserve(b, n);
    memset(b->data + b->len, c, n);
    b->len += n;
    b->data[b->len] = '\0';
}

static void PRINTF_FORMAT(2, 3) add_format(struct log_buf *b, const char *format, ...)
{
    char s[32];
    va_list args;

    va_start(args, format);
    vsnprintf(s, sizeof s, format, args);
    va_end(args);
    add_string(b, s);
}

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = { "OFF", "EMER", "ERR", "WARN", "INFO", "DBG" };
    return names[level];
}

int log_level_severity(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_OFF:
    case LOG_LEVEL_EMER:
        return 1; /* Alert: 0, emergency, would be broadcast to every terminal. */
    case LOG_LEVEL_ERR:
        return 3;
    case LOG_LEVEL_WARN:
        return 4;
    case LOG_LEVEL_INFO:
        return 5; /* Notice: so does the packaged daemon. */
    case LOG_LEVEL_DBG:
        return 7;
    }
    return 7;
}

/* Adds the time by strftime format FORMAT, after the digits of the millisecond have replaced its '#'s. */
static void add_time(struct log_buf *b, const char *format, size_t n, const struct log_line *line, bool utc)
{
    time_t seconds = (time_t) (line->wall_msec / 1000);
    struct tm tm;
    char digits[4];
    char copy[128];
    char text[256];
    size_t fraction = 0;

    if (n >= sizeof copy) {
        n = sizeof copy - 1;
    }
    snprintf(digits, sizeof digits, "%03u", (unsigned int) (line->wall_msec % 1000) % 1000);
    for (size_t i = 0; i < n; i++) {
        copy[i] = format[i];
        if (format[i] == '#') {
            copy[i] = fraction < 3 ? digits[fraction] : '0';
            fraction++;
        } else {
            fraction = 0;
        }
    }
    copy[n] = '\0';

    if (!(utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm))) {
        return;
    }
    log_buf_add(b, text, strftime(text, sizeof text, copy, &tm));
}

struct escape {
    bool left, zero;
    size_t width;
    char letter;
    const char *format; /* Of %d and %D. */
    size_t format_len;
};

/* Parses the escape after the '%' at P.  Returns the first character after it. */
static const char *parse_escape(const char *p, struct escape *e)
{
    *e = (struct escape){ .format = "%Y-%m-%d %H:%M:%S.###" };
    e->format_len = strlen(e->format);

    if (*p == '-') {
        e->left = true;
        p++;
    }
    if (*p == '0') {
        e->zero = true;
        p++;
    }
    while (isdigit((unsigned char) *p)) {
        e->width = e->width * 10 + (size_t) (*p - '0');
        e->width = MIN(e->width, MAX_WIDTH);
        p++;
    }
    if (!*p) {
        return p;
    }
    e->letter = *p++;
    if ((e->letter == 'd' || e->letter == 'D') && *p == '{') {
        const char *end = strchr(p, '}');
        if (end) {
            e->format = p + 1;
            e->format_len = (size_t) (end - p - 1);
            p = end + 1;
        }
    }
    return p;
}

static void add_host_name(struct log_buf *b)
{
    char host[256];

    if (gethostname(host, sizeof host)) {
        strcpy(host, "unknown");
    }
    host[sizeof host - 1] = '\0';
    add_string(b, host);
}

static void add_subprogram(struct log_buf *b, const struct log_line *line, bool parenthesized)
{
    if (!parenthesized) {
        add_string(b, line->thread[0] ? line->thread : "main");
    } else if (line->thread[0]) {
        add_string(b, "(");
        add_string(b, line->thread);
        add_string(b, ")");
    }
}

static void add_escape(struct log_buf *b, const struct escape *e, const struct log_line *line)
{
    switch (e->letter) {
    case 'A':
        add_string(b, program_name);
        break;
    case 'B':
        add_format(b, "%d",
                   (line->facility < 0 ? FACILITY_LOCAL0 : line->facility) * 8 + log_level_severity(line->level));
        break;
    case 'c':
        add_string(b, line->module);
        break;
    case 'd':
    case 'D':
        add_time(b, e->format, e->format_len, line, e->letter == 'D');
        break;
    case 'E':
        add_host_name(b);
        break;
    case 'm':
        log_buf_add(b, line->text, line->text_len);
        break;
    case 'N':
        add_format(b, "%u", line->serial);
        break;
    case 'n':
        add_string(b, "\n");
        break;
    case 'p':
        add_string(b, log_level_name(line->level));
        break;
    case 'P':
        add_format(b, "%ld", (long) getpid());
        break;
    case 'r':
        add_format(b, "%lld", (long long) line->run_msec);
        break;
    case 't':
    case 'T':
        add_subprogram(b, line, e->letter == 'T');
        break;
    case '\0': /* The pattern ends in the middle of an escape. */
        break;
    default: /* '%' itself, and what is no escape. */
        log_buf_add(b, &e->letter, 1);
        break;
    }
}

/* Pads what was added from offset START on to the escape's width. */
static void justify(struct log_buf *b, size_t start, const struct escape *e)
{
    size_t n = b->len - start;

    if (n >= e->width) {
        return;
    }
    size_t pad = e->width - n;
    add_fill(b, e->zero ? '0' : ' ', pad);
    if (!e->left) {
        memmove(b->data + start + pad, b->data + start, n);
        memset(b->data + start, e->zero ? '0' : ' ', pad);
    }
}

/* Appends LINE, as PATTERN says, to OUT. */
void log_pattern_expand(const char *pattern, const struct log_line *line, struct log_buf *out)
{
    struct escape e;

    for (const char *p = pattern; *p;) {
        if (*p != '%') {
            size_t n = strcspn(p, "%");
            log_buf_add(out, p, n);
            p += n;
            continue;
        }
        size_t start = out->len;
        p = parse_escape(p + 1, &e);
        add_escape(out, &e, line);
        justify(out, start, &e);
    }
}
