/* The hand-over of lanes between handlers: a Promela model, for spin.
 *
 * Two handlers, 0 and 1, make a crew.  Each owns the lane of its own number, appends to it the packets of one flow,
 * and may help the other.  When packets come, when anybody lends or gives back, and whether and when either is told to
 * end, is left open: spin tries all.
 *
 * What must hold:
 *   - the packets of a lane are served once and in order (serve_done());
 *   - a lane is in one schedule at a time (holders[]), and is served from there only (serve_take());
 *   - no wakeup is lost: when nothing moves any more, nothing waits, and no lane is abroad (init);
 *   - who is told to end gets back what it lent, serves it, and ends (init);
 *   - nothing is sent to a handler that has ended (memory()), no memory of one that is freed is touched (TOUCH());
 *   - there is no endless run without packets served (label progress_served, with -DNP).
 * A macro BROKEN_... takes one thing out of the protocol.  Each must make spin find an error: see check-model.
 *
 * Each inline stands for the function of its name in ofproto/, but that a step of the model is as small as what others
 * may see of it:
 *
 *   lane_append()                   sched.c: an upcall is queued, wherever the lane is
 *   handler_lend()                  handler-help.c, with crew_hire(), sched_lend(), handler_send(), dispatch_wake()
 *   handler_inbox_run()             handler.c: lanes that were lent to us become guests, ours come home
 *   serve_take(), serve_done()      handler.c: serve(), before and after the pipeline
 *   give_back()                     handler-help.c; handler_return_guests() is what calls it, in handler_run_once()
 *   fall_asleep(), wake_up()        handler.c, with crew_idle(), crew_busy()
 *   handler()                       handler.c: handler_main(), handler_run_once(), finish(), handler_destroy()
 *
 * A handler's policy (when lending pays, when a guest is in the way) is left open where the code may go either way.
 *
 * Memory.  A handler's stores go through a buffer (sb[], first in first out) and reach the other some time later, or
 * when the handler passes a full barrier: that is what x86 does.  Its own loads look there first (MINE).  In the code
 * the barriers are inside of cds_wfcq_enqueue() (an xchg) and crew_idle(); the model has them where they are needed,
 * which is less often. A wakeup (an eventfd) may come late as well, but not before what was stored ahead of it; it
 * stays set until cleared.
 *
 * A push is one step here.  In liburcu it is two, xchg and link; in between, the queue is not empty to whoever asks,
 * and gives nothing out.  A handler that finds its inbox so does not sleep (fall_asleep()), or for 10 ms only
 * (finish()).
 *
 * RCU: handler_lend() and give_back() are read-side critical sections (reading[]), and synchronize_rcu() (GRACE())
 * waits until none is under way and what they stored has arrived. */

#ifndef PACKETS_0
#define PACKETS_0 2 /* That come for lane 0. */
#endif
#ifndef PACKETS_1
#define PACKETS_1 2
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef N_STORES
#define N_STORES 2 /* That a buffer holds. */
#endif

mtype = { APPEND, LENT, BACK, WAKE, RECALLS };

/* Stores of handler N that are under way.  The byte: whose lane, inbox, wakeup. */
chan sb[2] = [N_STORES] of { mtype, byte };

/* Lanes, as others than the owner see them. */
byte appended[2]; /* Packets that ever came into the lane. */
byte taken[2];    /* Of these, those that a server took: the head of the queue, which travels with the lane. */

/* Handlers. */
byte inbox_lent[2];  /* Messages LENT in the inbox. */
bool inbox_guest[2]; /* One of them brings the other's lane. */
bool inbox_back[2];  /* A message BACK brings its own. */
bool idle[2];        /* Its bit of the crew. */
bool wakeup[2];      /* eventfd. */
bool recalls[2];     /* It ends, and wants to hear of each lane that comes back. */
bool stop[2];        /* handler_stop() was called. */
bool reading[2];     /* It is in a read-side critical section. */
byte coming[2];      /* Packets that its channels have, or will have. */

/* What only the properties look at. */
byte served[2];  /* Packets served. */
byte holders[2]; /* Schedules that the lane is in. */
bool ended[2];   /* The thread has ended. */
bool freed[2];

#define OTHER(H) (1 - (H))
/* Memory of handler H is read or written. */
#define TOUCH(H) assert(!freed[H])
/* A full barrier: what was stored has arrived. */
#define BARRIER() empty(sb[me])
/* synchronize_rcu(). */
#define GRACE() (!reading[OTHER(me)] && empty(sb[me]) && empty(sb[OTHER(me)]))
/* A packet waits in the own lane, which is here; in the guest. */
#define OWN_WAITS   (home && mine != taken[me])
#define GUEST_WAITS (appended[OTHER(me)] != taken[OTHER(me)])
#define INBOX_EMPTY (inbox_lent[me] == 0 && !inbox_back[me])

/* Stores of handler ME arrive. */
proctype memory(byte me)
{
    mtype what;
    byte whose;

end:
    do
    :: atomic {
           sb[me] ? what, whose;
           if
           :: what == APPEND -> appended[whose]++
           :: what == LENT ->
               assert(!ended[whose]);
               inbox_lent[whose]++;
               inbox_guest[whose] = true
           :: what == BACK ->
               assert(!ended[whose]);
               inbox_back[whose] = true
           :: what == WAKE ->
               TOUCH(whose);
               wakeup[whose] = true
           :: what == RECALLS -> recalls[whose] = true
           fi;
           what = 0;
           whose = 0
       }
    od
}

/* MINE is how many ME has appended: it sees its own stores at once. */
inline lane_append()
{
    coming[me] > 0 && nfull(sb[me]) ->
    coming[me]--;
    mine++;
    sb[me] ! APPEND, me
}

/* Takes a batch: N_OWN of the own lane, from packet OWN on, and N_GUEST of the guest if there is room. */
inline serve_take()
{
    d_step {
        own = taken[me];
        if
#ifndef BROKEN_SERVE_LENT
        :: OWN_WAITS ->
            assert(holders[me] == 1);
#else
        :: mine != taken[me] ->
#endif
            n_own = (mine - own > BATCH -> BATCH : mine - own);
            taken[me] = own + n_own
        :: else
        fi;
        theirs = taken[OTHER(me)];
        if
        :: guest && n_own < BATCH && GUEST_WAITS ->
            assert(holders[OTHER(me)] == 1);
            n_guest = appended[OTHER(me)] - theirs;
            n_guest = (n_guest > BATCH - n_own -> BATCH - n_own : n_guest);
            taken[OTHER(me)] = theirs + n_guest
        :: else
        fi
    }
}

/* They have been through the pipeline. */
inline serve_done()
{
    if
    :: n_own + n_guest > 0 ->
progress_served:
        d_step {
            if
            :: n_own > 0 ->
                assert(own == served[me]);
                served[me] = own + n_own
            :: else
            fi;
            if
            :: n_guest > 0 ->
                assert(theirs == served[OTHER(me)]);
                served[OTHER(me)] = theirs + n_guest
            :: else
            fi;
            own = 0;
            theirs = 0;
            n_own = 0;
            n_guest = 0
        }
    :: else -> d_step { own = 0; theirs = 0 }
    fi
}

/* Who sleeps is hired by taking its bit away, and then gets one message, with the lane or without. */
inline handler_lend()
{
    if
    :: atomic {
#ifndef BROKEN_HIRE
           OWN_WAITS && idle[OTHER(me)] ->
#else
           OWN_WAITS ->
#endif
           TOUCH(OTHER(me));
           idle[OTHER(me)] = false;
           reading[me] = true
       }
       atomic {
           len(sb[me]) + 2 <= N_STORES ->
           home = false;
           holders[me]--;
           sb[me] ! LENT, OTHER(me);
#ifndef BROKEN_LEND_WAKE
           sb[me] ! WAKE, OTHER(me);
#endif
           reading[me] = false
       }
    :: true /* It does not pay. */
    fi
}

/* Gives the guest back IF_SO. */
inline give_back(if_so)
{
    atomic {
        if_so && nfull(sb[me]) ->
#ifndef BROKEN_FREE
        reading[me] = true;
#endif
        guest = false;
        holders[OTHER(me)]--;
        sb[me] ! BACK, OTHER(me)
    }
    atomic {
#ifndef BROKEN_HELPER_BARRIER
        BARRIER() ->
#endif
        TOUCH(OTHER(me));
        if
        :: GUEST_WAITS -> sb[me] ! WAKE, OTHER(me)
#ifndef BROKEN_RECALLS
        :: !GUEST_WAITS && recalls[OTHER(me)] -> sb[me] ! WAKE, OTHER(me)
        :: !GUEST_WAITS && !recalls[OTHER(me)]
#else
        :: !GUEST_WAITS
#endif
        fi;
        reading[me] = false
    }
}

inline handler_inbox_run()
{
    d_step {
        assert(n_outstanding >= inbox_lent[me]);
        n_outstanding = n_outstanding - inbox_lent[me];
        inbox_lent[me] = 0;
        if
        :: inbox_guest[me] ->
            inbox_guest[me] = false;
            guest = true;
            holders[OTHER(me)]++;
            assert(holders[OTHER(me)] == 1)
        :: else
        fi;
        if
        :: inbox_back[me] ->
            inbox_back[me] = false;
            home = true;
            holders[me]++;
            assert(holders[me] == 1)
        :: else
        fi
    }
}

inline fall_asleep()
{
    atomic {
#ifndef BROKEN_OWNER_BARRIER
        BARRIER() ->
#endif
        idle[me] = true;
        in_idle = true
    }
}

inline wake_up()
{
    d_step {
        if
        :: in_idle ->
            in_idle = false;
            n_outstanding = n_outstanding + (idle[me] -> 0 : 1);
            idle[me] = false
        :: else
        fi
    }
}

proctype handler(byte me)
{
    byte mine;          /* Packets appended. */
    byte own, theirs;   /* The batch in hand. */
    byte n_own, n_guest;
    bool home = true;   /* The own lane is in the schedule. */
    bool guest = false; /* The other's lane is. */
    bool in_idle = false, due = false;
    byte n_outstanding;

    do
    :: stop[me] -> break
    :: else ->
        handler_inbox_run();
        if
        :: OWN_WAITS || guest
        :: else ->
            fall_asleep();
            /* dispatch_wait(). */
            if
#ifndef BROKEN_NO_LOOK
            :: !INBOX_EMPTY
            :: INBOX_EMPTY ->
#else
            :: true ->
#endif
end_asleep:
                if
                :: wakeup[me]
                :: coming[me] > 0 -> due = true
                fi
            fi
        fi;
        wakeup[me] = false;
        atomic {
            wake_up();
            /* The channels: some of what is to come has come. */
            if
            :: due -> due = false; lane_append()
            :: else
            fi;
            do
            :: lane_append()
            :: break
            od;
            handler_inbox_run()
        }
        handler_lend();
        serve_take();
#ifndef BROKEN_BACK_EARLY
        serve_done();
#endif
        /* handler_return_guests(): those that are empty, or all, if there is much work of its own. */
        if
#ifndef BROKEN_KEEP_GUEST
        :: give_back(guest && (!GUEST_WAITS || OWN_WAITS))
        :: !guest || GUEST_WAITS
#else
        :: give_back(guest && OWN_WAITS)
        :: true
#endif
        fi
#ifdef BROKEN_BACK_EARLY
        ;
        serve_done()
#endif
    od;

    /* finish(). */
    sb[me] ! RECALLS, me;
#ifndef BROKEN_RECALLS_BARRIER
    BARRIER();
#endif
    /* Its channels are drained; what comes later comes to another. */
    do
    :: atomic { lane_append() }
    :: atomic { coming[me] = 0; break }
    od;
    do
    :: handler_inbox_run();
        if
        :: give_back(guest)
        :: !guest
        fi;
        serve_take();
        if
        :: n_own > 0 -> serve_done()
        :: n_own == 0 ->
            own = 0;
            theirs = 0;
            if
#ifdef BROKEN_FINISH_LENT
            :: n_outstanding == 0 -> break
#elif defined(BROKEN_FINISH_HIRED)
            :: home -> break
#else
            :: n_outstanding == 0 && home -> break
#endif
            :: else ->
                /* dispatch_pause(), and that for ever. */
                atomic { wakeup[me] -> wakeup[me] = false }
            fi
        fi
    od;
    ended[me] = true;

    /* handler_destroy(). */
    atomic {
#ifndef BROKEN_FREE
        GRACE() ->
#endif
        freed[me] = true
    }
}

inline handler_stop(who)
{
    atomic {
        stop[who] = true;
        wakeup[who] = true
    }
}

/* Starts it all, tells handlers to end or does not, and looks at what is left when nothing moves any more. */
init {
    byte i;

    atomic {
        coming[0] = PACKETS_0;
        coming[1] = PACKETS_1;
        holders[0] = 1;
        holders[1] = 1;
        run memory(0);
        run memory(1);
        run handler(0);
        run handler(1)
    }
    if
    :: handler_stop(0)
    :: handler_stop(1)
    :: handler_stop(0); handler_stop(1)
    :: handler_stop(1); handler_stop(0)
    :: true
    fi;
    atomic {
        timeout ->
        do
        :: i < 2 ->
            assert(coming[i] == 0);
            assert(served[i] == appended[i]);       /* Nothing waits while all sleep. */
            assert(freed[i] == stop[i]);            /* Who was to end did. */
            assert(!inbox_guest[i]);                /* Nothing waits for a helper. */
            assert(holders[i] + inbox_back[i] == 1); /* And no lane is lost. */
            i++
        :: i == 2 -> break
        od
    }
}
