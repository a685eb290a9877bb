/* What the two halves of unixctl share: unixctl.c (server, connections) and unixctl-command.c (commands). */
#ifndef RPC_UNIXCTL_PRIVATE_H
#define RPC_UNIXCTL_PRIVATE_H 1

#include <jansson.h>

#include <stddef.h>

struct unixctl_conn;

/* Bytes of answers that clients may leave unread, all together.  A variable for the sake of its test. */
extern size_t unixctl_max_unread;

/* Runs the command that METHOD and PARAMS, an array, name; or answers on CONN what is wrong with them. */
void unixctl_command_run(struct unixctl_conn *conn, const char *method, json_t *params);

/* Registers list-commands and version. */
void unixctl_command_init(void);

#endif
