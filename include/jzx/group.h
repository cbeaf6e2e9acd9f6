/* SPDX-License-Identifier: MIT */
/* Groups: many actors under one name, and ways to send to some or all of them. A group is there
 * while it has members or subscribers; nobody creates or deletes it. Names are as in jzx/name.h,
 * but a space of their own: a group and an actor may have the same name.
 *
 * An actor joins, leaves and subscribes itself, in its turn: those calls take its context.
 * Sending and looking is for any thread, and takes no lock to send. When an actor ends it leaves
 * all its groups, before its cleanup runs. */
#ifndef JZX_GROUP_H
#define JZX_GROUP_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"
#include "jzx/message.h"

#include <stddef.h>
#include <stdint.h>

/* Messages to a subscriber; the payload is a jzx_group_event, the sender the member. LAGGED has no
 * sender: the subscriber has not handled max_group_events of the configuration (64), and what has
 * happened since then was not sent. jzx_group_monitor gives it the members as they are now. */
#define JZX_TAG_GROUP_JOIN 0xFFFF0020u
#define JZX_TAG_GROUP_LEAVE 0xFFFF0021u
#define JZX_TAG_GROUP_LAGGED 0xFFFF0022u

typedef struct jzx_group_event {
    jzx_actor_id actor;           /* who has joined or left; after an exit the id is stale */
    char group[JZX_NAME_MAX + 1]; /* its name */
    uint64_t missed;              /* LAGGED: events that were not sent */
} jzx_group_event;

/* How jzx_route chooses. */
typedef enum jzx_route_policy {
    JZX_ROUTE_ROUND_ROBIN = 0,  /* one after another; one whose mailbox is full is passed by */
    JZX_ROUTE_LEAST_LOADED = 1, /* the one with the fewest messages that wait, as far as the calling
                                 * thread can see: what others have sent and it has not taken in,
                                 * and, if it belongs to the calling worker, all the rest; of equals
                                 * one after another. Looks at all members */
    JZX_ROUTE_HASH = 2,         /* by key: the same member for the same key as long as the members
                                 * stay the same, and when one leaves only its keys move, when one
                                 * joins only keys that move to it. Looks at all members */
    JZX_ROUTE_BROADCAST = 3     /* all */
} jzx_route_policy;

JZX_BEGIN_C

/* Joins a group. Joins are counted: as many leaves are needed. Only the first one makes it a
 * member, and only then can the call fail for memory or limits. In a behaviour or an init.
 * JZX_ERR_INVALID_ARG (a wrong name, not the actor's turn), JZX_ERR_NO_SUCH_ACTOR (from its
 * cleanup), JZX_ERR_MAX_ACTORS (max_groups or max_members_per_group of the configuration is
 * reached), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY; nothing has changed then. */
JZX_API jzx_err jzx_group_join(jzx_context *ctx, const char *group);

/* Takes one join back. JZX_ERR_NO_SUCH_ACTOR if it is no member; JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_group_leave(jzx_context *ctx, const char *group);

/* The groups that the calling actor is a member of, the one it joined last first: as many names as
 * fit in names (NULL if capacity is 0), and in *count how many there are. In its turn only.
 * JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_group_list(jzx_context *ctx, char (*names)[JZX_NAME_MAX + 1], size_t capacity,
                               size_t *count);

/* The members at one moment, each once: as many ids as fit in ids (NULL if capacity is 0), and in
 * *count how many there are, 0 for a group that nobody is in. Any thread. Waits for those who join
 * and leave. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_group_members(jzx_loop *loop, const char *group, jzx_actor_id *ids,
                                  size_t capacity, size_t *count);

/* Subscribes: the members at this moment as jzx_group_members gives them, and from then on a
 * message for each actor that becomes a member or ceases to be one (JZX_TAG_GROUP_JOIN, _LEAVE), in
 * order, each exactly once, the caller's own joins and leaves among them. No mailbox bound refuses
 * these messages, and none is lost for memory: what they need is reserved when somebody joins or
 * subscribes (128 bytes for each member and subscriber), and those calls fail without it.
 * If max_group_events of them wait, one JZX_TAG_GROUP_LAGGED follows, and no other until that is
 * handled. Call this again then: nothing that happened before is missing in what it gives.
 * With ids = NULL it only subscribes, and count may be NULL, too. If the members do not fit into
 * ids it does not subscribe: JZX_ERR_INVALID_ARG, and *count says how many there are. Called again
 * it only gives the members, of which messages that wait may tell once more.
 * In a behaviour or an init. JZX_ERR_INVALID_ARG, JZX_ERR_NO_SUCH_ACTOR (from its cleanup),
 * JZX_ERR_MAX_ACTORS (max_groups), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY; nothing has changed
 * then. */
JZX_API jzx_err jzx_group_monitor(jzx_context *ctx, const char *group, jzx_actor_id *ids,
                                  size_t capacity, size_t *count);

/* Ends the subscription: from here on no message of it is handled, even if it waits already or is
 * stashed; a later subscription begins anew. JZX_ERR_NO_SUCH_ACTOR if there is none;
 * JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_group_demonitor(jzx_context *ctx, const char *group);

/* Sends to every member as jzx_send does, the caller too if it is one. An actor that is a member
 * during the whole call is sent it exactly once; one that joins or leaves meanwhile may be missed.
 * Payloads of more than JZX_MSG_INLINE bytes are copied once for all, and shared (jzx_msg_share):
 * receivers must not write to them. *delivered (may be NULL) is how many mailboxes have accepted
 * it; refusals by single members (full, ending) are counted by jzx_loop_stats and are no error, nor
 * is a group without members. Any thread; never blocks.
 * JZX_ERR_INVALID_ARG as for jzx_send, JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY (for the copy); then
 * nothing was sent and *delivered is untouched. */
JZX_API jzx_err jzx_group_broadcast(jzx_loop *loop, const char *group, jzx_actor_id from,
                                    const void *data, size_t len, uint32_t tag, size_t *delivered);

/* The same with a shared buffer: no copy at all, and the caller keeps its reference. */
JZX_API jzx_err jzx_group_broadcast_shared(jzx_loop *loop, const char *group, jzx_actor_id from,
                                           void *data, uint32_t tag, size_t *delivered);

/* Sends to a member, or to all, as policy says; key is for JZX_ROUTE_HASH. Members that have ended
 * are passed by. Any thread; never blocks. Errors as jzx_send: JZX_ERR_NO_SUCH_ACTOR if there is no
 * member, JZX_ERR_MAILBOX_FULL if all are full (with a key: if the one that has it is), also for a
 * broadcast that reached nobody. jzx_loop_stats counts each mailbox that refused. */
JZX_API jzx_err jzx_route(jzx_loop *loop, const char *group, jzx_route_policy policy, uint64_t key,
                          jzx_actor_id from, const void *data, size_t len, uint32_t tag);

JZX_END_C

#endif
