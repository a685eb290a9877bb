/* How many flows there are that a learn action may have made: those of its table and its cookie.
 *
 * Kept for learn actions with a limit, which must know that number, and with delete_learned, whose flows go when the last such action of
 * that table and cookie goes.  Main keeps it up to date with each transaction; any thread reads.  Part of struct tables. */
#ifndef OFPROTO_LEARNED_H
#define OFPROTO_LEARNED_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct learned_index;
struct tables_txn;
struct tables;

struct learned_cookie {
    uint8_t table_id;
    uint64_t cookie;
};

struct learned {
    struct learned_index *index; /* RCU; NULL: no action needs a count.  Written by main. */
    struct learned_cookie *orphans;
    size_t n_orphans, allocated_orphans;
};

void learned_uninit(struct learned *l); /* Nobody reads any more. */
/* X is about to be published. */
void learned_commit(struct learned *l, const struct tables_txn *x);
/* Any thread, under RCU.  False: no action has asked for that number. */
bool learned_count(const struct learned *l, uint8_t table_id, uint64_t cookie, uint64_t *ret_n);
/* Counts one by one, at VERSION.  Under RCU. */
uint64_t learned_census(const struct tables *t, uint8_t table_id, uint64_t cookie, uint64_t version);
/* Main: of which table and cookie all flows are to be deleted, since their last learn action with delete_learned has gone.  False: no more. */
bool learned_take_orphan(struct learned *l, struct learned_cookie *ret);

#endif
