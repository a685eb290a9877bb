/* libFuzzer target: any bytes as an OpenFlow message.
 *
 * Each is looked at as it is and, so that the search need not find lengths, with its own length in the header.  Nothing
 * may be read past the end, and whatever a decoder returns must be there: tests/ofp/ofp-msg-text.c touches all of it.
 * Seeds are in seeds/ofp-msg. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-msg.h"
#include "tests/ofp/ofp-msg-text.h"

static void look(const uint8_t *data, size_t size)
{
    size_t fixed;
    char *text;

    if (!ofp_msg_text(data, size, &text, &fixed)) {
        if (fixed > size || !strlen(text)) {
            abort();
        }
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    look(data, size);
    if (size >= OFP_HEADER_LEN && size <= OFP_MSG_MAX_LEN) {
        uint8_t *copy = xmemdup(data, size);
        copy[2] = size >> 8;
        copy[3] = size & 0xff;
        look(copy, size);
        free(copy);
    }
    return 0;
}
