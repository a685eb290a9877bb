/* See rcvbuf-budget.h.  Pure arithmetic, without state: any thread. */
#include <config.h>

#include "lib/dpif/rcvbuf-budget.h"

#include <assert.h>

static_assert(!(RCVBUF_MAX & (RCVBUF_MAX - 1)) && !(RCVBUF_MIN & (RCVBUF_MIN - 1)), "halving must lead to the floor");

/* How many queues of SHARE each the budget allows. */
static size_t n_affordable(size_t share) { return RCVBUF_BUDGET / (2 * share); }

size_t rcvbuf_budget_share(size_t n, size_t current)
{
    size_t share = current;

    while (share > RCVBUF_MIN && n > n_affordable(share)) {
        share /= 2;
    }
    while (share < RCVBUF_MAX && n <= n_affordable(2 * share) / 2) {
        share *= 2;
    }
    return share;
}
