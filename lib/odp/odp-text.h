/* Taking text of the form a(b=1,c(2)),d apart.  Private to lib/odp. */
#ifndef ODP_TEXT_H
#define ODP_TEXT_H 1

#include <stdbool.h>

/* Cuts the next item off *POS: up to a comma outside of all brackets.  Leading blanks are skipped.  NULL at the end.
 * The text is written to. */
char *odp_item_next(char **pos);
/* NAME(BODY): ends NAME in place and returns BODY; NULL, with ITEM as it was, if it has another form. */
char *odp_item_body(char *item);
/* NAME=VALUE: likewise. */
char *odp_item_value(char *item);

#endif
