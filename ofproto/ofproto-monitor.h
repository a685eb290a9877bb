/* What ofproto-monitor.c and ofproto-catchup.c share: the flow monitors of one connection.
 *
 *     monitors_tell()       each change when it is made ──► updates          ofproto-monitor.c
 *     monitors_go_on()      what is there already; what was not told then    ofproto-catchup.c
 *
 * Changes are numbered (ofproto.last_change); a rule knows the number of the change by which it came into its table, and of that by which its
 * match came to be there, which is another one if it took an older rule's place.
 *
 * A connection that is *behind* is told of no change when it is made, but of deletions of rules that it knows.  It is behind while it is told what is
 * there (OFPFMF_INITIAL), and when it does not read what it is sent: then it is told that it is paused.  Once there is room it catches up: it is
 * told, in the order of their coming, of the rules that have changed since, as they are now, and then that that was all.  So what is kept for a
 * client that does not read does not depend on how many changes are made: it is never more than the rules that it knew, each deleted once. */
#ifndef OFPROTO_MONITOR_H
#define OFPROTO_MONITOR_H 1

#include "ofproto/ofproto-private.h"

struct monitor {
    unsigned int refs; /* Of lists: while a request is carried out there are two. */
    uint32_t id;
    uint16_t flags;            /* OFPFMF_*. */
    bool fresh;                /* What is there is still to be told. */
    struct rule_filter filter; /* Table, match, output. */
};

/* A rule to be told when its turn comes. */
struct catchup_entry {
    uint64_t key;      /* rule->match_since. */
    struct rule *rule; /* A reference; NULL: it is gone. */
};

/* A piece of catching up: rules as they were at change 'until'. */
struct catchup {
    struct catchup_entry *entries; /* Sorted by key; told before 'next'. */
    size_t n, next, allocated;
    uint64_t until;
    bool initial; /* To the fresh monitors; else to the others. */
    struct ofp_reply reply;
};

struct monitors {
    struct monitor **list;
    size_t n;
    bool behind;
    bool paused;    /* And it was told so. */
    uint64_t since; /* Behind: the last change that it was told of. */
    struct catchup *catchup;
    bool wants_initial; /* The connection is held, and 'initial' begun. */
    struct ofp_reply initial;
};

/* Those that have not been told yet what is there, and the others. */
enum { MONITORS_FRESH = 1 << 0, MONITORS_TOLD = 1 << 1 };
/* The flags, together, of those of WHICH that are to be told EVENT of R, which has taken OLD's place (NULL: none); 0: none is. */
unsigned int monitors_flags(const struct monitors *m, const struct rule *r, const struct rule *old, enum ofp_monitor_event event,
                            unsigned int which);
/* Sends U to C as part of REPLY, which is all zero before the first. */
void monitors_update(struct ofconn *c, struct ofp_reply *reply, const struct ofp_monitor_update *u);
/* Sends EVENT of R; with its actions, if FLAGS say so. */
void monitors_update_rule(struct ofconn *c, struct ofp_reply *reply, enum ofp_monitor_event event, struct rule *r, unsigned int flags,
                          enum ofp_removed_reason reason);
/* All of REPLY is sent, and it is all zero again. */
void monitors_flush(struct ofconn *c, struct ofp_reply *reply);

/* ofproto-catchup.c */
/* C does not read: from now on it is told no more but of deletions.  The last change that it was told of is SINCE. */
void monitors_pause(struct ofconn *c, uint64_t since);
/* R is gone.  Does C, which is behind, know of it?  Then its deletion is to be told. */
bool monitors_forget(struct monitors *m, const struct rule *r);
void catchup_destroy(struct catchup *u); /* Accepts NULL. */

#endif
