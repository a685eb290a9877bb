/* The text of the ct() action.  Private to lib/odp. */
#ifndef ODP_CT_H
#define ODP_CT_H 1

#include <stdio.h>

#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-attr.h"

/* Prints the action whose nest is A. */
void odp_ct_print(FILE *out, const struct odp_attr *a);
/* Reads ARGS, the text inside the parentheses ("" if there are none), and appends the action.  Returns NULL or an
 * error in words, to be freed. */
char *odp_ct_scan(const char *args, struct attrbuf *actions);

#endif
