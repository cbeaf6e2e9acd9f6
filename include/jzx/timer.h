/* SPDX-License-Identifier: MIT */
/* Timers: messages that come later, once or again and again.
 *
 * A timer belongs to the actor that it is for, and is gone when that actor ends. Its message is
 * made when it is set, so that nothing can fail when it fires; it is not bounded by mailbox_cap,
 * and waits behind what waits already. A timer never fires early. It fires at a whole millisecond,
 * the first one at or after its time, and later if its worker is busy; see docs/timers.md.
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
#define JZX_TAG_TIMEOUT 0xFFFF0011u

JZX_BEGIN_C

/* Sends a copy of len bytes, as jzx_send does, after delay_ns; 0 means at the next millisecond.
 * The timer's id goes to *timer unless that is NULL.
 * JZX_ERR_INVALID_ARG as jzx_send, JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY:
 * then there is no timer. */
JZX_API jzx_err jzx_send_after(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                               size_t len, uint32_t tag, uint64_t delay_ns, jzx_timer_id *timer);

/* The same every period_ns, first after one period, until it is cancelled or its actor ends.
 * A period of 0 is JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_send_every(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                               size_t len, uint32_t tag, uint64_t period_ns, jzx_repeat repeat,
                               jzx_timer_id *timer);

/* JZX_OK: its message will not be handled any more, even if it waits in the mailbox already.
 * JZX_ERR_TIMER_INVALID: it is being handled or was (and does not repeat), it was cancelled before,
 * its actor has ended, or there never was such a timer. */
JZX_API jzx_err jzx_timer_cancel(jzx_loop *loop, jzx_timer_id timer);

/* In the behaviour, for the message that it handles: how many firings at a fixed rate have been
 * missed since the one that it stands for. 0 for every other message. */
JZX_API uint64_t jzx_timer_missed(const jzx_context *ctx);

/* ---- timers by key: only in the actor's own turn, else JZX_ERR_INVALID_ARG or false ---- */

/* A timer of this actor, to itself, under a key of its choice. Starting one replaces the timer that
 * had the key: that one's message does not come any more. Good for deadlines that move, and for the
 * timeouts of a state. Finding a key takes longer the more keys an actor has.
 * JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY: then the timer that had the key goes on. */
JZX_API jzx_err jzx_timer_start(jzx_context *ctx, uint64_t key, const void *data, size_t len,
                                uint32_t tag, uint64_t delay_ns);
JZX_API jzx_err jzx_timer_start_every(jzx_context *ctx, uint64_t key, const void *data, size_t len,
                                      uint32_t tag, uint64_t period_ns, jzx_repeat repeat);

/* As jzx_timer_cancel. */
JZX_API jzx_err jzx_timer_stop(jzx_context *ctx, uint64_t key);

/* Stops all timers that were started by key. Returns how many. */
JZX_API size_t jzx_timer_stop_all(jzx_context *ctx);

/* True until its last message is handled or it is stopped. */
JZX_API bool jzx_timer_is_active(const jzx_context *ctx, uint64_t key);

/* ---- receive timeout: only in the actor's own turn ---- */

/* Sends this actor a message with tag JZX_TAG_TIMEOUT when it has handled no message of a user for
 * idle_ns, and again after each further idle_ns; 0 means at the next millisecond, JZX_NEVER turns
 * it off. Messages of the runtime (timers among them) do not count.
 * JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY: then it is as it was. */
JZX_API jzx_err jzx_receive_timeout(jzx_context *ctx, uint64_t idle_ns);

/* The message that is being handled shall not count. */
JZX_API void jzx_receive_timeout_ignore(jzx_context *ctx);

JZX_END_C

#endif
