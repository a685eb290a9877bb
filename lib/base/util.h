/* Memory that cannot fail to be had, and a few string helpers.
 *
 * The daemon has no useful answer to an exhausted heap: xmalloc and its kin log one line and abort,
 * and the monitor process starts it again.  The hot path does not call them. */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H 1

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/compiler.h"

void *xmalloc(size_t size) MALLOC_LIKE;
void *xcalloc(size_t n, size_t size) MALLOC_LIKE;
void *xzalloc(size_t size) MALLOC_LIKE;
void *xrealloc(void *p, size_t size);
void *xmemdup(const void *p, size_t size) MALLOC_LIKE;
void *xaligned_zalloc(size_t align, size_t size) MALLOC_LIKE;
char *xstrdup(const char *s) MALLOC_LIKE;
char *xasprintf(const char *format, ...) PRINTF_FORMAT(1, 2) MALLOC_LIKE;
char *xvasprintf(const char *format, va_list args) PRINTF_FORMAT(1, 0) MALLOC_LIKE;

/* A stdio stream that writes to memory: text_open() returns the stream, text_close() closes it and
 * returns the text (to be freed by the caller).  Aborts when memory is exhausted. */
struct text {
    char *data;
    size_t len;
    FILE *out;
};
FILE *text_open(struct text *t);
char *text_close(struct text *t);

/* Parses all of S as a base-10 or 0x integer in MIN..MAX.  Returns false, leaving *RET alone, when S is
 * empty, has other characters in it, or is out of range. */
bool str_to_llong(const char *s, long long min, long long max, long long *ret);

/* The program's name as in messages and file names, "ovs-vswitchd" unless set_program_name() was called. */
extern const char *program_name;
void set_program_name(const char *argv0);

/* Prints "PROGRAM: MESSAGE (strerror(ERRNUM))" to stderr, logs it, and exits with status 1.  ERRNUM may be 0. */
void fatal(int errnum, const char *format, ...) PRINTF_FORMAT(2, 3) NO_RETURN;

#endif
