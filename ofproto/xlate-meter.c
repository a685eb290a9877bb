/* Meters.  What a meter drops it drops in the datapath, with all that was still to be done to the packet; where that would be too much (in
 * clone, behind a patch port) a fence is around it, as around conntrack (xlate-fence.c). */
#include <config.h>

#include <linux/openvswitch.h>

#include "ofproto/meter.h"
#include "ofproto/xlate-config.h"
#include "ofproto/xlate-pipeline.h"

/* Not inlined: tables may be thousands deep. */
NOINLINE void xlate_meter(struct xlate_ctx *ctx, uint32_t id)
{
    uint32_t odp_id;

    /* Its rules go before the meter does, so if there is none this translation is of a version that is about to be old. */
    if (meters_odp_id(tables_meters(ctx->pipeline->bridge->tables), id, &odp_id)) {
        attrbuf_put_u32(&ctx->out->actions, OVS_ACTION_ATTR_METER, odp_id);
        ctx->n_cts++;
    }
}

uint32_t xlate_slow_meter(const struct xport *port)
{
    const struct tables *t = port->bundle->bridge->tables;
    uint32_t odp_id;

    return t && meters_odp_id(tables_meters(t), OFPM_SLOWPATH, &odp_id) ? odp_id + 1 : 0;
}
