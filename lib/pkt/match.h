/* What a rule matches: values, and the bits of them that count. */
#ifndef PKT_MATCH_H
#define PKT_MATCH_H 1

#include "lib/pkt/flow.h"

struct match {
    struct flow flow; /* Zero where 'mask' is. */
    struct flow mask;
};

#endif
