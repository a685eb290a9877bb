/* Memory that cannot fail to be had, string helpers, and the way out on a fatal error.
 *
 * Threads: any.  The program's name is set once by main, before there are threads. */
#include <config.h>

#include "lib/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"

LOG_MODULE(util);

const char *program_name = "ovs-vswitchd";

/* Says so without touching the heap, and aborts: the monitor starts the daemon again. */
static NO_RETURN void out_of_memory(void)
{
    static const char text[] = ": virtual memory exhausted\n";

    if (write(STDERR_FILENO, program_name, strlen(program_name)) < 0 ||
        write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        /* Nobody to tell. */
    }
    abort();
}

static void *check(void *p)
{
    if (unlikely(!p)) {
        out_of_memory();
    }
    return p;
}

/* These are malloc() and its kin, but never return NULL, not even for a size of 0. */
void *xmalloc(size_t size) { return check(malloc(size ? size : 1)); }
void *xcalloc(size_t n, size_t size) { return check(n && size ? calloc(n, size) : calloc(1, 1)); }
void *xzalloc(size_t size) { return xcalloc(1, size); }
void *xrealloc(void *p, size_t size) { return check(realloc(p, size ? size : 1)); }

/* Returns a copy of the SIZE bytes at P, which may be NULL if SIZE is 0. */
void *xmemdup(const void *p, size_t size)
{
    void *copy = xmalloc(size);

    if (size) {
        memcpy(copy, p, size);
    }
    return copy;
}

/* Returns SIZE zeroed bytes whose address is a multiple of ALIGN, a power of 2; to be freed with free(). */
void *xaligned_zalloc(size_t align, size_t size)
{
    void *p;

    if (posix_memalign(&p, MAX(align, sizeof(void *)), size ? size : 1)) {
        out_of_memory();
    }
    return memset(p, 0, size);
}

char *xstrdup(const char *s) { return xmemdup(s, strlen(s) + 1); }

/* Returns the text that printf() would print; to be freed. */
char *xasprintf(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *s = xvasprintf(format, args);
    va_end(args);
    return s;
}

char *xvasprintf(const char *format, va_list args)
{
    char *s;

    if (vasprintf(&s, format, args) < 0) {
        out_of_memory();
    }
    return s;
}

/* Starts text T and returns the stream to print to. */
FILE *text_open(struct text *t)
{
    *t = (struct text){ 0 };
    t->out = check(open_memstream(&t->data, &t->len));
    return t->out;
}

/* Ends text T and returns it, null-terminated; to be freed.  't->len' is its length. */
char *text_close(struct text *t)
{
    bool failed = ferror(t->out);

    if (fclose(t->out) || failed) {
        out_of_memory();
    }
    t->out = NULL;
    return t->data;
}

/* See util.h.  A leading '-' or '+' is allowed, white space and octal are not. */
bool str_to_llong(const char *s, long long min, long long max, long long *ret)
{
    const char *digits = s[0] == '-' || s[0] == '+' ? s + 1 : s;
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    const char *valid = hex ? "0123456789abcdefABCDEF" : "0123456789";

    if (hex) {
        digits += 2;
    }
    /* strtoll() would skip white space and stop at junk in silence: so look first. */
    if (!digits[0] || digits[strspn(digits, valid)]) {
        return false;
    }

    errno = 0;
    long long v = strtoll(s, NULL, hex ? 16 : 10);
    if (errno || v < min || v > max) {
        return false;
    }
    *ret = v;
    return true;
}

/* Takes the last component of ARGV0, which must live as long as the process. */
void set_program_name(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *base = slash ? slash + 1 : argv0;

    if (base[0]) {
        program_name = base;
    }
}

/* See util.h. */
void fatal(int errnum, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *message = xvasprintf(format, args);
    va_end(args);

    /* Once on standard error is enough. */
    free(log_set_spec("console:off"));
    char *text = errnum ? xasprintf("%s (%s)", message, strerror(abs(errnum))) : xstrdup(message);
    fprintf(stderr, "%s: %s\n", program_name, text);
    log_emer("%s", text);
    free(text);
    free(message);
    exit(EXIT_FAILURE);
}
