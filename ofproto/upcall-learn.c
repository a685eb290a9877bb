/* Stage "learn" of upcall.h: see lesson.h. */
#include <config.h>

#include <arpa/inet.h>

#include "ofproto/upcall.h"

void upcall_learn(struct upcall_batch *b)
{
    for (unsigned int i = 0; i < b->n_flows; i++) {
        const struct upcall_flow *f = &b->flows[i];
        if (unlikely(f->lessons.len)) {
            learner_teach(&b->learner, &f->lessons, b->now, ntohs(f->flow->tcp_flags));
        }
    }
    learner_flush(&b->learner, true);
}
