/* SPDX-License-Identifier: MIT */
/* Questions that wait for their answer.
 *
 * The asker has a table of them, which only its own turn touches, also one that has lost its
 * worker. A reference is {generation, index} of a place in the table. The answer is a message of
 * lane ANSWER that counts for no bound, with the reference as its trailer; the deadline is a timer
 * of the asker, of lane DEADLINE, with the reference as its payload. Both are looked at in the
 * asker's turn before they are handled:
 *
 *   Q1  a place is pending from jzx_ask until the first of answer, timeout and cancel; then its
 *       generation goes on. Who comes second finds another generation: an answer is buried, and
 *       the timer was cancelled by who came first.
 *   Q2  no generation comes twice: a place that has used the last one is not used again.
 *   Q3  an answer that is accepted becomes a message of lane USER: it may be looked at again, or
 *       put aside, without being judged again.
 *   Q4  who has no cold record has never asked: an answer to it is buried when it arrives.
 *   Q5  of one question at most one answer waits in the private list: others, and those to
 *       questions that are over, are buried when the owner takes them in, unless the turn of the
 *       asker goes on without it. One that the owner itself sends is judged when it is sent, and
 *       says so (JZX__MSG_EXPECTED): it may still come behind others, into the inbox.
 *
 * Rejected: a table per loop (every answer would have to lock it); matching in the sender's thread
 * (the asker may time out at the same moment). */
#ifndef JZX_ASK_ASK_H
#define JZX_ASK_ASK_H

#include "actor/message.h"
#include "timer/timer.h"

#include "jzx/ask.h"

/* ask.next of a place that is no free one. */
#define JZX__ASK_PENDING UINT32_MAX
#define JZX__ASK_ANSWERED (UINT32_MAX - 2u) /* pending still; an answer waits in the mailbox */
#define JZX__ASK_NONE                                                                              \
    (UINT32_MAX - 1u) /* the end of the free list; a place that is not used again */

/* Questions of one actor that may wait at a time. */
#define JZX__ASKS_MAX (1u << 24)

struct jzx__ask {
    jzx_timer_id timer; /* or JZX_NO_TIMER */
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

#endif
