/* SPDX-License-Identifier: MIT */
/* The gentle stop, and what the loop tells of stalls. */
#ifndef JZX_LOOP_STOP_H
#define JZX_LOOP_STOP_H

#include "actor/loop.h"

/* Asks one actor, or all that the worker owns, to work off what they have and end. */
void jzx__loop_ask_to_end(struct jzx__worker *me, struct jzx__task *task);
void jzx__loop_begin_stop(struct jzx__worker *me);

/* While the loop is stopping: at the deadline reports who is left and closes the loop. On worker 0,
 * once per round. */
void jzx__loop_go_on_stopping(struct jzx__worker *me);

/* When all has ended: says how many messages a gentle stop has left unhandled. */
void jzx__loop_tell_left(struct jzx_loop *loop);

/* True if the above has something to do now. */
bool jzx__loop_has_stop_to_do(const struct jzx_loop *loop);

/* Tells the observer and the log of a turn that takes long. Any thread. */
void jzx__loop_tell_stall(struct jzx__worker *worker, const struct jzx__stall *stall);

/* Tells the log, once in a run, that no thread is left to go on with this worker. */
void jzx__loop_tell_limit(struct jzx__worker *worker);

#endif
