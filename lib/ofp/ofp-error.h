/* Errors of OpenFlow: what a decoder finds wrong with a message, and how a version says it on the wire.
 *
 * Functions that read what a controller sent return an enum ofp_error, 0 if all is well.  Pure; any thread. */
#ifndef OFP_ERROR_H
#define OFP_ERROR_H 1

#include <stdint.h>

#include "lib/ofp/ofp-error-list.h"

/* The version bytes of OpenFlow headers. */
enum ofp_version {
    OFP10_VERSION = 1,
    OFP13_VERSION = 4,
    OFP14_VERSION = 5,
    OFP15_VERSION = 6,
};

/* Vendors ("experimenters"). */
#define NX_VENDOR_ID  0x00002320
#define ONF_VENDOR_ID 0x4f4e4600

enum ofp_error {
    OFPERR_NONE = 0,
#define OFP_ERROR_ENUM(NAME, V10, V13, V14, V15) OFPERR_##NAME,
    OFP_ERRORS(OFP_ERROR_ENUM)
#undef OFP_ERROR_ENUM
        OFP_N_ERRORS
};

/* "OFPBMC_BAD_FIELD"; "none" for OFPERR_NONE. */
const char *ofp_error_name(enum ofp_error error);

/* How VERSION says ERROR, which is not OFPERR_NONE.  Returns 0: an ordinary error message with that type and code.
 * Returns a vendor's id: the error is that vendor's.  In 1.0 the message then has type 0xb0c2 and code 0, followed by
 * the id (32 bits), type and code (16 each); from 1.3 on type 0xffff, then *RET_TYPE (16 bits), then the id; *RET_CODE
 * is 0.  A version that cannot say ERROR says NXBRC_UNENCODABLE_ERROR. */
uint32_t ofp_error_type_code(enum ofp_error error, enum ofp_version version, uint16_t *ret_type, uint16_t *ret_code);

#endif
