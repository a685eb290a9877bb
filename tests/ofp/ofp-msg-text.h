/* What a message says, as text: for the tests of lib/ofp/ofp-msg*. */
#ifndef TESTS_OFP_MSG_TEXT_H
#define TESTS_OFP_MSG_TEXT_H 1

#include <stddef.h>

#include "lib/ofp/ofp-error.h"

/* Recognizes and decodes the LEN bytes at DATA, a message of a controller.  Returns 0 and text, to be freed, on one
 * line; or the error.  *RET_FIXED is then the length up to which nothing may be missing; what follows is of any length.
 */
enum ofp_error ofp_msg_text(const void *data, size_t len, char **ret_text, size_t *ret_fixed);

#endif
