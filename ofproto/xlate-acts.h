/* Which of OpenFlow's actions translation carries out. */
#ifndef OFPROTO_XLATE_ACTS_H
#define OFPROTO_XLATE_ACTS_H 1

#include <stddef.h>

#include "lib/ofp/ofp-error.h"

/* Can all of ACTS be carried out?  Else OFPBAC_BAD_TYPE, so that a controller knows; *RET_NAME is the one that cannot. */
enum ofp_error xlate_acts_check(const void *acts, size_t len, const char **ret_name);

#endif
