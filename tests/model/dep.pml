/* Which flows a revalidation round translates again (ofproto/dep.h): a Promela model, for spin.
 *
 * A table has one entry, which N_CHANGES threads change.  A handler translates a packet by it and then installs the flow; rounds are
 * carried out meanwhile, as many as like to be.  Spin tries all ways in which their steps mix.
 *
 * What must hold: when all have done and one round more has been carried out, the flow does what the table says.
 *
 * A macro BROKEN_DEP_... takes one thing out of the protocol.  Each must make spin find an error: see check-model.
 *
 *   change()       mac_table_learn(), then flowcache_changed()
 *   handler()      upcall_batch_begin(), upcall_translate(), ukey_insert() and all until the flow is seen in a dump
 *   one_round()    revalidators.c: round_begin(), and reval_ukey() of the one flow, if it is there by then
 *
 * Steps take place in one order, seen by all.  In the code each publication is a release, and each look an acquire: who sees the
 * sequence or the number sees what was done before it. */

#ifndef N_CHANGES
#define N_CHANGES 2
#endif
#ifndef N_ROUNDS
#define N_ROUNDS 3
#endif

#ifdef BROKEN_DEP_NO_SET
#define HAS_SET false
#else
#define HAS_SET true
#endif
#ifdef BROKEN_DEP_NO_BASE
#define HAS_BASE false
#else
#define HAS_BASE true
#endif

byte table = 0;        /* What the entry says. */
byte seq = 1;          /* flowcache.reval_seq. */
bool changed = false;  /* The number is in flowcache.changed. */
byte base = 1;         /* revalidators.base_seq. */

bool there = false;    /* The flow can be seen. */
byte flow_does, flow_seq;
byte n_done = 0;

proctype change()
{
    atomic { table++ }
#ifdef BROKEN_DEP_SET_FIRST
    changed = true;
    atomic { seq++ }
#else
    atomic { seq++ }
    changed = true;
#endif
    atomic { n_done++ }
}

proctype handler()
{
    byte s, does;
#ifdef BROKEN_DEP_READ_FIRST
    does = table;
    s = seq;
#else
    s = seq;
    does = table;
#endif
    atomic {
        flow_does = does;
        flow_seq = s;
        there = true;
        n_done++
    }
}

inline one_round()
{
#ifdef BROKEN_DEP_SEQ_FIRST
    s = seq;
    atomic { taken = changed; changed = false }
#else
    atomic { taken = changed; changed = false }
    s = seq;
#endif
    atomic {
        seen = there;
        doubtful = (HAS_SET && taken) || (HAS_BASE && flow_seq < base)
    }
    if
    :: seen && doubtful ->
        does = table;
        atomic { flow_does = does; flow_seq = s }
    :: seen && !doubtful -> flow_seq = s
    :: else -> skip
    fi;
    base = s
}

init {
    byte i = 0, s, does;
    bool taken, seen, doubtful;

    atomic {
        run handler();
        do
        :: i < N_CHANGES -> run change(); i++
        :: else -> break
        od;
        i = 0
    }
    do
    :: i < N_ROUNDS -> one_round(); i++
    :: break
    od;
    n_done == N_CHANGES + 1;
    one_round();
    assert(flow_does == table)
}
