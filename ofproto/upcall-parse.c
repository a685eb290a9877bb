/* Stages "begin" and "parse" of upcall.h. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/util.h"
#include "lib/odp/odp-cookie.h"
#include "lib/odp/odp-key.h"
#include "ofproto/pin.h"
#include "ofproto/upcall.h"

LOG_MODULE(upcall);

void upcall_batch_init(struct upcall_batch *b, struct flowcache *fc, struct session_pool *sessions, unsigned int user,
                       struct upcall_stats *stats)
{
    memset(b, 0, sizeof *b);
    b->fc = fc;
    b->sessions = sessions;
    b->user = user;
    b->stats = stats;
    arena_init(&b->arena, 128 * 1024);
    b->scratch = xmalloc(XLATE_ACTIONS_SIZE);
    b->rules_scratch = xcalloc(XLATE_MAX_RULES, sizeof *b->rules_scratch);
    b->lessons_scratch = xmalloc(LESSONS_SIZE);
    learner_init(&b->learner);
}

void upcall_batch_uninit(struct upcall_batch *b)
{
    arena_uninit(&b->arena);
    free(b->scratch);
    free(b->rules_scratch);
    free(b->lessons_scratch);
    learner_uninit(&b->learner);
}

void upcall_batch_begin(struct upcall_batch *b, uint64_t now)
{
    rcu_read_lock();
    b->now = clock_msec_of(now);
    /* The sequence first: what changes after this makes the batch's flows old, never the other way round. */
    b->reval_seq = flowcache_seq(b->fc);
    b->config = flowcache_config(b->fc);
    b->n = b->n_flows = b->n_ops = b->n_memory = 0;
    b->pins = NULL;
    b->last_pin = &b->pins;
    memset(b->groups, 0, sizeof b->groups);
}

void upcall_batch_end(struct upcall_batch *b)
{
    rcu_read_unlock();
    arena_reset(&b->arena);
    if (b->pins) {
        pin_inbox_put(b->fc->pins, b->pins);
    }
}

/* The flow of the batch that has U's key; a new one if U is the first.  NULL if the key cannot be read. */
static struct upcall_flow *group_find(struct upcall_batch *b, const struct dpif_upcall *u)
{
    uint64_t hash = hash_bytes(u->key, u->key_len, 0);
    unsigned int slot = hash % UPCALL_GROUPS;
    struct upcall_flow *f;

    for (; (f = b->groups[slot]) != NULL; slot = (slot + 1) % UPCALL_GROUPS) {
        if (f->key_hash == hash && f->key_len == u->key_len && !memcmp(f->key, u->key, u->key_len)) {
            UPCALL_COUNT(b->stats, grouped, 1);
            return f;
        }
    }

    struct flow *flow = arena_alloc(&b->arena, sizeof *flow);
    if (odp_key_to_flow(u->key, u->key_len, flow) == ODP_FIT_ERROR) {
        return NULL;
    }
    f = &b->flows[b->n_flows++];
    *f = (struct upcall_flow) { .key = u->key, .key_len = u->key_len, .key_hash = hash, .flow = flow };
    b->groups[slot] = f;
    return f;
}

/* An upcall that a flow has caused.  Returns whether there is something to translate: it is of a flow whose packets are done here. */
static bool parse_action(struct upcall_batch *b, const struct dpif_upcall *u)
{
    struct odp_cookie cookie;

    if (!u->userdata || !odp_cookie_get(mnl_attr_get_payload(u->userdata), mnl_attr_get_payload_len(u->userdata), &cookie)) {
        /* A flow of a predecessor's; revalidation replaces it. */
        UPCALL_COUNT(b->stats, alien_action, 1);
        return false;
    }
    if (cookie.kind == ODP_COOKIE_SLOW) {
        return true;
    }
    UPCALL_COUNT(b->stats, packet_in, 1);
    if (b->fc->pins) {
        *b->last_pin = pin_create(u, &cookie);
        b->last_pin = &(*b->last_pin)->next;
    }
    return false;
}

void upcall_parse(struct upcall_batch *b, struct cell *const cells[], unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        struct upcall *u = &b->upcalls[b->n];
        u->dp = &cells[i]->dp;
        bool missed = u->dp->type == DPIF_UC_MISS;
        if (unlikely(!missed) && !parse_action(b, u->dp)) {
            continue;
        }
        u->flow = group_find(b, u->dp);
        if (unlikely(!u->flow)) {
            UPCALL_COUNT(b->stats, malformed, 1);
            log_info_rl(6, "dropped an upcall whose flow key (%zu bytes) cannot be read", u->dp->key_len);
            continue;
        }
        if (likely(missed)) {
            u->flow->n_missed++;
            u->flow->n_bytes += u->dp->packet_len;
        }
        u->execute = NULL;
        b->n++;
    }
}
