/* SPDX-License-Identifier: MIT */
/* Questions that wait for their answer.
 *
 * The asker has a table of them, which only its own turn touches, also one that has lost its
 * worker. A reference is {generation, index} of a place in the table. The answer is a message of
 * lane ANSWER that counts for no bound, with the reference as its trailer; the deadline is a timer
 * of the asker, of lane DEADLINE, with the reference as its payload. Both are looked at in the
 * asker's turn before they are handled, as is the notice that the asked actor has ended: a watch
 * (watch/watch.h) of lane DOWN, which the place holds.
 *
 *   Q1  a place is pending from jzx_ask until the first of answer, notice, timeout and cancel; then
 *       its generation goes on. Who comes second finds another generation: an answer is buried, a
 *       notice is dropped, and the timer was cancelled by who came first.
 *   Q2  no generation comes twice: a place that has used the last one is not used again.
 *   Q3  an answer that is accepted becomes a message of lane USER: it may be looked at again, or
 *       put aside, without being judged again.
 *   Q4  who has no cold record has never asked: an answer to it is buried when it arrives.
 *   Q5  of one question at most one answer waits in the private list: others, and those to
 *       questions that are over, are buried when the owner takes them in, unless the turn of the
 *       asker goes on without it. One that the owner itself sends is judged when it is sent, and
 *       says so (JZX__MSG_EXPECTED): it may still come behind others, into the inbox.
 *   Q6  a place that is pending has a watch, unless the asker asks itself; who settles the question
 *       lets go of it. An asker that ends lets go of all before its mail is buried (watch/Z5).
 *
 * Rejected: one watch for all questions to one actor (its one notice would have to tell of several
 * questions without memory for more); the asked actor telling of the questions that it has not
 * answered (who answers later, or for another, would have to tell it); a table per loop (every
 * answer would have to lock it); matching in the sender's thread (the asker may time out at the
 * same moment). */
#ifndef JZX_ASK_ASK_H
#define JZX_ASK_ASK_H

#include "actor/message.h"
#include "timer/timer.h"
#include "watch/watch.h"

#include "jzx/ask.h"

/* ask.next of a place that is no free one. */
#define JZX__ASK_PENDING UINT32_MAX
#define JZX__ASK_ANSWERED (UINT32_MAX - 2u) /* pending still; an answer waits in the mailbox */
#define JZX__ASK_NONE                                                                              \
    (UINT32_MAX - 1u) /* the end of the free list; a place that is not used again */

/* Questions of one actor that may wait at a time. */
#define JZX__ASKS_MAX (1u << 24)

struct jzx__ask {
    jzx_timer_id timer;       /* or JZX_NO_TIMER */
    struct jzx__watch *watch; /* or NULL: Q6 */
    uint32_t generation;
    uint32_t next; /* free place, or one of the above */
};

struct jzx__asks {
    uint32_t count; /* places that were ever used */
    uint32_t cap;
    uint32_t free; /* or JZX__ASK_NONE */
    struct jzx__ask places[];
};

/* True for the answer to that question, whether it was looked at or not. */
bool jzx__ask_is_answer(struct jzx__message *message, uint64_t ref);

/* The same for the notice that the asked actor has ended. */
bool jzx__ask_is_down(const struct jzx__message *message, uint64_t ref);

#endif
