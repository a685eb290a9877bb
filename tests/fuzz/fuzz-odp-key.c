/* libFuzzer target: any bytes as a datapath key, as a mask and as actions.
 *
 * What is read without error must survive being written and read again; nothing may be read past the end.  Build with
 * `clang -fsanitize=fuzzer,address,undefined`; seeds are in seeds/odp-key, netlink attributes as the kernel sends
 * them. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/util.h"
#include "lib/odp/odp-actions.h"
#include "lib/odp/odp-key.h"
#include "lib/pkt/flow.h"

static void print_all(const void *data, size_t size)
{
    struct text t;

    for (int verbose = 0; verbose < 2; verbose++) {
        odp_key_print(text_open(&t), data, size, data, size, NULL, verbose);
        free(text_close(&t));
    }
    odp_key_print(text_open(&t), data, size, NULL, 0, NULL, false);
    free(text_close(&t));
    odp_actions_print(text_open(&t), data, size, NULL);
    free(text_close(&t));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t mem[ODP_KEY_MAX_SIZE / 4];
    struct flow flow, mask, again;
    struct attrbuf b;

    print_all(data, size);
    enum odp_key_fit fit = odp_key_to_flow((const struct nlattr *) data, size, &flow);
    if (fit == ODP_FIT_ERROR) {
        return 0;
    }
    attrbuf_init(&b, mem, sizeof mem);
    odp_key_put(&b, &flow);
    if (b.overflow || odp_key_to_flow(attrbuf_data(&b), attrbuf_len(&b), &again) != ODP_FIT_PERFECT) {
        abort();
    }
    if (odp_mask_to_flow((const struct nlattr *) data, size, &flow, &mask) != ODP_FIT_ERROR) {
        attrbuf_init(&b, mem, sizeof mem);
        odp_mask_put(&b, &flow, &mask);
        if (b.overflow || odp_mask_to_flow(attrbuf_data(&b), attrbuf_len(&b), &flow, &again) != ODP_FIT_PERFECT) {
            abort();
        }
    }
    return 0;
}
