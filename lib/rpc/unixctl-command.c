/* The commands of the control socket: their register, the check of arguments, list-commands and version.
 *
 * Commands are registered before the server's thread starts, which only reads the list: no lock.  The texts are those
 * of the existing daemon, since scripts compare them. */
#include <config.h>

#include "lib/rpc/unixctl-private.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "lib/base/version.h"
#include "lib/rpc/unixctl.h"

struct command {
    char *name;
    char *usage; /* NULL: hidden. */
    int min_args, max_args;
    unixctl_func *func;
    void *aux;
};

static struct command *commands; /* Sorted by name. */
static size_t n_commands;

/* Returns the command called NAME, or NULL with *RET_POS where it would belong. */
static struct command *find_command(const char *name, size_t *ret_pos)
{
    size_t low = 0, high = n_commands;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int cmp = strcmp(name, commands[mid].name);
        if (!cmp) {
            return &commands[mid];
        } else if (cmp < 0) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    *ret_pos = low;
    return NULL;
}

/* See unixctl.h.  A name registered again takes the new function. */
void unixctl_register(const char *name, const char *usage, int min_args, int max_args, unixctl_func *func, void *aux)
{
    size_t pos;
    struct command *c = find_command(name, &pos);
    if (c) {
        free(c->name);
        free(c->usage);
    } else {
        commands = xrealloc(commands, (n_commands + 1) * sizeof *commands);
        c = &commands[pos];
        memmove(c + 1, c, (n_commands - pos) * sizeof *c);
        n_commands++;
    }
    *c = (struct command){
        .name = xstrdup(name),
        .usage = usage ? xstrdup(usage) : NULL,
        .min_args = min_args,
        .max_args = max_args,
        .func = func,
        .aux = aux,
    };
}

void unixctl_command_run(struct unixctl_conn *conn, const char *method, json_t *params)
{
    size_t pos;
    const struct command *c = find_command(method, &pos);
    size_t n = json_array_size(params);
    if (!c) {
        unixctl_error(conn, "\"%s\" is not a valid command (use \"list-commands\" to see a list of valid commands)",
                      method);
        return;
    }
    if (n < c->min_args) {
        unixctl_error(conn, "\"%s\" command requires at least %d arguments", method, c->min_args);
        return;
    }
    if (n > c->max_args) {
        unixctl_error(conn, "\"%s\" command takes at most %d arguments", method, c->max_args);
        return;
    }
    const char **argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = c->name;
    for (size_t i = 0; i < n; i++) {
        argv[i + 1] = json_string_value(json_array_get(params, i));
        if (!argv[i + 1]) {
            unixctl_error(conn, "\"%s\" command has non-string argument", method);
            free(argv);
            return;
        }
    }
    c->func(conn, n + 1, argv, c->aux);
    free(argv);
}

static void list_commands(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct text t;
    FILE *out = text_open(&t);
    fprintf(out, "The available commands are:\n");
    for (size_t i = 0; i < n_commands; i++) {
        if (commands[i].usage) {
            fprintf(out, "  %-23s %s\n", commands[i].name, commands[i].usage);
        }
    }
    unixctl_reply_take(conn, text_close(&t));
}

static void version(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    unixctl_reply_take(
        conn, xasprintf("%s (Open vSwitch) %s\nSluice %s\n", program_name, OVS_COMPAT_VERSION, PACKAGE_VERSION));
}

void unixctl_command_init(void)
{
    unixctl_register("list-commands", "", 0, 0, list_commands, NULL);
    unixctl_register("version", "", 0, 0, version, NULL);
}
