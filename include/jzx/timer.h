/* SPDX-License-Identifier: MIT */
/* Timers: messages that come later, once or again and again.
 *
 * A timer belongs to the actor that it is for, and is gone when that actor ends. Its message is
 * made when it is set, so that nothing can fail when it fires; it is not bounded by mailbox_cap,
 * and waits behind what waits already. A timer never fires early. It fires at a whole millisecond
 * of the loop's clock, the first one at or after its time, with a delay of 0 the first one strictly
 * after the call; and later if its worker is busy. Those of one millisecond fire in the order in
 * which they were set. Nothing bounds the timers of an actor but memory: an actor that lets others
 * set them has to count them. See docs/timers.md.
 *
 * A behaviour that wants to be reminded:
 *
 *     jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, WAKE_UP, JZX_MS(20), NULL);
 *
 * Every call may be made on any thread unless its comment says otherwise. */
#ifndef JZX_TIMER_H
#define JZX_TIMER_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jzx_loop jzx_loop;
typedef struct jzx_context jzx_context;

/* Names a timer. Never reused within the life of a loop. */
typedef uint64_t jzx_timer_id;
#define JZX_NO_TIMER ((jzx_timer_id)0)

/* How a timer repeats. At most one of its messages waits or is handled at a time: what would have
 * come meanwhile is missed (jzx_timer_missed). */
typedef enum jzx_repeat {
    JZX_FIXED_RATE = 0, /* at set time + 1, 2, 3, ... periods: for clocks and games */
    JZX_FIXED_DELAY = 1 /* a period after the last message was handled: for polling */
} jzx_repeat;

/* The message of a receive timeout. No data, no sender. */
#define JZX_TAG_RECEIVE_TIMEOUT 0xFFFF0011u

JZX_BEGIN_C

/* Sends a copy of len bytes, as jzx_send does, after delay_ns; 0 means at the first whole
 * millisecond after the call, a delay beyond the end of time (JZX_NEVER) never. The delay counts
 * from the call. The timer's id goes to *timer unless that is NULL.
 * JZX_ERR_INVALID_ARG as jzx_send, JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED,
 * JZX_ERR_NO_MEMORY: then there is no timer. */
JZX_API jzx_err jzx_send_after(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                               size_t len, uint32_t tag, uint64_t delay_ns, jzx_timer_id *timer);

/* The same every period_ns, first after one period, until it is cancelled or its actor ends. All
 * its messages share one payload, which stays the timer's: what a behaviour writes into it is
 * there the next time, and jzx_msg_take gives NULL. Also JZX_ERR_INVALID_ARG: a period of 0, an
 * unknown repeat. */
JZX_API jzx_err jzx_send_every(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                               size_t len, uint32_t tag, uint64_t period_ns, jzx_repeat repeat,
                               jzx_timer_id *timer);

/* JZX_OK: its message will not be handled any more, even if it waits in the mailbox already.
 * JZX_ERR_TIMER_INVALID: it is being handled or was (and does not repeat), it was cancelled before,
 * its actor has ended, or there never was such a timer. JZX_ERR_INVALID_ARG: no loop. */
JZX_API jzx_err jzx_timer_cancel(jzx_loop *loop, jzx_timer_id timer);

/* In the behaviour, for the message that it handles: how many firings at a fixed rate were missed
 * since the message before, up to when this one began to be handled; the sum of 1 + missed is the
 * number of periods that have passed. 0 for every other message. */
JZX_API uint64_t jzx_timer_missed(const jzx_context *ctx);

/* ---- timers by key ----
 *
 * Only in the actor's own turn, its init included, its cleanup not, and with the very context that
 * it was given; else JZX_ERR_INVALID_ARG, false or 0. */

/* A timer of this actor, to itself and from itself, under a key of its choice. Starting one
 * replaces the timer that had the key: that one's message does not come any more. Good for
 * deadlines that move, and for the timeouts of a state. An actor's keys are searched one by one:
 * for more than a few dozen, and for timers that others shall cancel, use jzx_send_after and
 * keep the id.
 * JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY, JZX_ERR_NO_SUCH_ACTOR (it works off its queue): then
 * the timer that had the key goes on. */
JZX_API jzx_err jzx_timer_start(jzx_context *ctx, uint64_t key, const void *data, size_t len,
                                uint32_t tag, uint64_t delay_ns);
JZX_API jzx_err jzx_timer_start_every(jzx_context *ctx, uint64_t key, const void *data, size_t len,
                                      uint32_t tag, uint64_t period_ns, jzx_repeat repeat);

/* As jzx_timer_cancel, by key. */
JZX_API jzx_err jzx_timer_stop(jzx_context *ctx, uint64_t key);

/* Stops all timers that were started by key, but not the receive timeout. Returns how many. */
JZX_API size_t jzx_timer_stop_all(jzx_context *ctx);

/* True until its last message begins to be handled, or it is stopped. */
JZX_API bool jzx_timer_is_active(const jzx_context *ctx, uint64_t key);

/* ---- receive timeout: as timers by key, only in the actor's own turn ---- */

/* Sends this actor a message with tag JZX_TAG_RECEIVE_TIMEOUT when the last message that was
 * sent to it was handled idle_ns ago, and again after each further idle_ns; 0 means at the next
 * millisecond, JZX_NEVER turns it off. A call begins a new idle time. Only messages of users count:
 * those of the send calls, questions and answers. Messages of timers, whoever has set them, and all
 * messages of the runtime, whose tags are reserved (see JZX_TAG_RESERVED), do not count.
 * JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY: then it is as it was. */
JZX_API jzx_err jzx_receive_timeout(jzx_context *ctx, uint64_t idle_ns);

/* The message that is being handled shall not count. */
JZX_API void jzx_receive_timeout_ignore(jzx_context *ctx);

JZX_END_C

#endif
