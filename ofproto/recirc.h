/* Recirculation: where a packet goes on that the datapath brings back.
 *
 * A translation that needs the datapath before it can go on (conntrack is to say what it knows of the packet) freezes: what it had
 * that is not in the packet (bridge, table, registers, action set, stack) becomes a `struct frozen`, that gets a number, and the
 * datapath is told to look the packet up again with that number in its key.  Whoever translates it then, or revalidates its flow, finds the
 * frozen state by the number and resumes there.
 *
 * Numbers are pure.  The same state has the same number however often, and in whatever thread, it is frozen: so a flow that is translated
 * again comes to the same actions.  What is more, it is a hash of the state, so that a restarted daemon gives the same numbers to the same
 * states, and what its predecessor left in the kernel is right as it stands.  (Counting on from the highest number seen would need to know
 * all of the kernel's flows before the first packet, and would make each flow that recirculates new.)  Two states of one hash: the second
 * gets the next free number; that it may get another one in another process costs those flows a change, no more, since
 * each adopted flow is translated anew before it is believed.
 *
 * Who holds a state, and until when.  `life` is one atomic word of two halves: how many datapath flows have the number in their
 * actions (ukey.h), and the tick (recirc_tick(), a second each) at which a translation last came to it.  recirc_tick() ends a state that nobody
 * holds and nobody has come to for RECIRC_LINGER ticks.  That is long enough for packets that are under way with the number when its
 * last flow goes, and for the thread that has just translated to make its flow hold it.
 *
 * Why nobody ends up with a number of nothing.
 *     1. Ending is a compare-and-swap of the very word that was judged, to DEAD.  A translation that comes to the state (also a
 *        compare-and-swap) or a flow that takes hold of it between the judgement and the swap has changed the word, and the swap fails.
 *     2. Nothing leaves DEAD.  Who comes to a dead state does not see it, and makes another one: with another number, as that of the
 *        dead one is taken until it has left the table.
 *     3. A thread that stands still for longer than RECIRC_LINGER between translating and making its flow finds that it cannot take hold
 *        (recirc_try_ref()), and has the flow translated again.
 *     4. What readers found under RCU stays in memory until their section ends: a dead state is freed after a grace period.
 * States are found without a lock; one that is new is inserted, and a dead one removed, under one lock (rank RECIRC, a leaf), held for
 * a few lookups.  That handlers share it is bounded by the number of new states, not of flows. */
#ifndef OFPROTO_RECIRC_H
#define OFPROTO_RECIRC_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/pkt/flow.h"

#define RECIRC_LINGER 10
/* States at a time; more of them than that are the work of rules that copy addresses of a flood into registers. */
#define RECIRC_MAX (1u << 20)

/* A frozen state: what follows must be zero where nothing is, for states are compared as bytes. */
struct frozen {
    be64 metadata;
    be32 regs[FLOW_N_REGS];
    be16 ofp_in_port;
    uint8_t table;
    uint8_t conntracked; /* The datapath's conntrack fields are to be seen; else they are hidden. */
    uint32_t n_stack;
    uint32_t plain_len; /* Bytes of name and stack in 'tail'; a multiple of 8. */
    uint32_t set_len;   /* Of the action set, struct ofp_act, behind it. */
    uint8_t tail[];     /* The bridge's name, ended by a zero, and padding; the stack (struct frozen_value); the set. */
};
_Static_assert(sizeof(struct frozen) % 8 == 0, "what is in its tail is aligned");

/* A value of the stack; 'n_bytes' of it follow, padded to 8. */
struct frozen_value {
    uint64_t n_bytes;
    uint8_t bytes[];
};

static inline size_t frozen_len(const struct frozen *f) { return sizeof *f + f->plain_len + f->set_len; }
static inline const char *frozen_bridge(const struct frozen *f) { return (const char *) f->tail; }

struct recirc;

/* The state that is equal to F, which is copied if there is none yet.  Comes to it: it will be there for RECIRC_LINGER ticks.  NULL: there
 * are too many.  Any thread, under RCU; the result is valid as long. */
struct recirc *recirc_freeze(const struct frozen *f);
uint32_t recirc_id(const struct recirc *r); /* Never 0. */
/* The state of number ID, or NULL.  Any thread, under RCU; valid as long. */
const struct frozen *recirc_find(uint32_t id);

/* Holds R, found under RCU; false if it has ended.  Any thread. */
bool recirc_try_ref(struct recirc *r);
void recirc_unref(struct recirc *r);

/* A second has passed: ends what is of no use any more.  Main, outside of RCU read sections, without a lock. */
void recirc_tick(void);
/* A datapath has been opened: flows of a predecessor may be in it, whose states we do not know before we have seen those of its flows that
 * send packets there.  So it is for RECIRC_LINGER ticks.  Main. */
void recirc_settle(void);
bool recirc_is_settling(void); /* Any thread. */
/* Forgets all ids, whoever uses them.  No other thread does any more; not under RCU. */
void recirc_forget_all(void);
size_t recirc_count(void); /* States that there are. */

#endif
