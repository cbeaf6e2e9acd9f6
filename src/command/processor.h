/* SPDX-License-Identifier: MIT */
/* Inputs: how they come in, and whose they are. */
#ifndef JZX_COMMAND_PROCESSOR_H
#define JZX_COMMAND_PROCESSOR_H

#include "command/core.h"

/* Appends an input, of which all but next and its place is set, and records it. With `runs` this
 * thread carries it out unless there is a runner; what that came to is in *run_err (may be NULL).
 * JZX_ERR_CLOSED, also if its inbox is not to be heard any more; JZX_ERR_NO_MEMORY; JZX_ERR_FAILED:
 * it was not accepted, and is still the caller's. */
jzx_err jzx__processor_bring(struct jzx_processor *processor, struct jzx__input *input, bool runs,
                             jzx_err *run_err);

/* In a tick: puts the inputs whose turn it is behind what is queued. The runner's. */
void jzx__processor_take_in(struct jzx_processor *processor);

/* Frees one that was accepted, or is not embedded. */
void jzx__input_free(struct jzx_processor *processor, struct jzx__input *input);

/* Gives up a reference (P8). */
void jzx__processor_release(struct jzx_processor *processor);

#endif
