/* Whether the datapath can do what a rule says of connections. */
#ifndef OFPROTO_CT_CHECK_H
#define OFPROTO_CT_CHECK_H 1

#include <stddef.h>

#include "lib/dpif/dpif.h"
#include "lib/ofp/ofp-error.h"

struct match;

/* May a rule match MATCH and do ACTS on a datapath that can do CAN?  Else NXBMC_CT_DATAPATH_SUPPORT or NXBAC_CT_DATAPATH_SUPPORT; *RET_WHAT is
 * what it lacks, for the log. */
enum ofp_error ct_check(const struct match *match, const void *acts, size_t len, const struct dpif_features *can, const char **ret_what);

#endif
