/* SPDX-License-Identifier: MIT */
/* The output of a processor: a channel (sync/channel.h) of blocks, which fibers and threads receive
 * from. A future waits there with a waiter of its own, in its block:
 *
 *   U1  the waiter of a future is begun once. Its wake, or its begin if that finds something, ends
 *       the wait and settles the future; nobody else touches either.
 *   U2  the promise's place of the future is taken until then, so that its block is there.
 *   U3  a cancel is a claim as any other: it names the epoch of the one wait, and is lost if that
 *       is over. */
#ifndef JZX_COMMAND_OUTPUT_H
#define JZX_COMMAND_OUTPUT_H

#include "command/processor.h"

void jzx__output_init(struct jzx_processor *processor);

/* Frees what nobody has read; nobody waits. */
void jzx__output_deinit(struct jzx_processor *processor);

/* Somebody waits there, or has not yet taken what it waited for. */
bool jzx__output_is_waited(struct jzx_processor *processor);

/* A copy, for the next reader; none if it is closed. JZX_ERR_NO_MEMORY. */
jzx_err jzx__output_push(struct jzx_processor *processor, const jzx_action *action);

#endif
