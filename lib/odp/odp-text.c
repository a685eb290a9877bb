/* Taking nested text apart, in place.  Pure functions of the caller's text. */
#include <config.h>

#include "lib/odp/odp-text.h"

#include <stddef.h>
#include <string.h>

char *odp_item_next(char **pos)
{
    char *item = *pos + strspn(*pos, " \t\n");
    int depth = 0;
    char *p;

    if (!*item) {
        return NULL;
    }
    for (p = item; *p && (*p != ',' || depth > 0); p++) {
        if (strchr("([{", *p)) {
            depth++;
        } else if (strchr(")]}", *p)) {
            depth--;
        }
    }
    *pos = p;
    if (*p) {
        *p = '\0';
        *pos = p + 1;
    }
    for (; p > item && strchr(" \t\n", p[-1]); p--) {
        p[-1] = '\0';
    }
    return item;
}

char *odp_item_body(char *item)
{
    size_t name_len = strcspn(item, "(=");
    size_t len = strlen(item);
    int depth = 0;

    if (item[name_len] != '(' || item[len - 1] != ')') {
        return NULL;
    }
    /* The last character must be what closes the first bracket. */
    for (const char *p = item + name_len; *p; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (!depth && p[1]) {
            return NULL;
        }
    }
    if (depth) {
        return NULL;
    }
    item[name_len] = item[len - 1] = '\0';
    return item + name_len + 1;
}

char *odp_item_value(char *item)
{
    char *equals = strchr(item, '=');

    if (!equals || memchr(item, '(', equals - item)) {
        return NULL;
    }
    *equals = '\0';
    return equals + 1;
}
