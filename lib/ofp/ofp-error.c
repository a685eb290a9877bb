/* See ofp-error.h. */
#include <config.h>

#include "lib/ofp/ofp-error.h"

#include <stdbool.h>

struct error_code {
    bool exists;
    uint32_t vendor; /* 0: the OpenFlow document's own. */
    uint16_t type, code;
};

enum { COL_10, COL_13, COL_14, COL_15, N_COLS };

struct error_info {
    const char *name;
    struct error_code codes[N_COLS];
};

#define NONE                                                                                                           \
    {                                                                                                                  \
        false, 0, 0, 0                                                                                                 \
    }
#define STD(TYPE, CODE)                                                                                                \
    {                                                                                                                  \
        true, 0, TYPE, CODE                                                                                            \
    }
#define NX(TYPE, CODE)                                                                                                 \
    {                                                                                                                  \
        true, NX_VENDOR_ID, TYPE, CODE                                                                                 \
    }
#define ONF(TYPE, CODE)                                                                                                \
    {                                                                                                                  \
        true, ONF_VENDOR_ID, TYPE, CODE                                                                                \
    }

static const struct error_info errors[OFP_N_ERRORS] = { [OFPERR_NONE] = { "none", { NONE, NONE, NONE, NONE } },
#define ERROR_INFO(NAME, V10, V13, V14, V15) [OFPERR_##NAME] = { #NAME, { V10, V13, V14, V15 } },
                                                        OFP_ERRORS(ERROR_INFO)
#undef ERROR_INFO
};

const char *ofp_error_name(enum ofp_error error) { return errors[error].name; }

uint32_t ofp_error_type_code(enum ofp_error error, enum ofp_version version, uint16_t *ret_type, uint16_t *ret_code)
{
    int col = COL_10;

    switch (version) {
    case OFP10_VERSION:
        col = COL_10;
        break;
    case OFP13_VERSION:
        col = COL_13;
        break;
    case OFP14_VERSION:
        col = COL_14;
        break;
    case OFP15_VERSION:
        col = COL_15;
        break;
    }
    const struct error_code *c = &errors[error].codes[col];
    if (!c->exists) {
        c = &errors[OFPERR_NXBRC_UNENCODABLE_ERROR].codes[col];
    }
    *ret_type = c->type;
    *ret_code = c->code;
    return c->vendor;
}
