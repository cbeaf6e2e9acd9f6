/* SPDX-License-Identifier: MIT */
/* The trace of a processor. The runner's. */
#ifndef JZX_COMMAND_TRACE_H
#define JZX_COMMAND_TRACE_H

#include "command/processor.h"

/* Keeps a step, if traces are kept. */
void jzx__trace_note(struct jzx_processor *processor, const jzx_action *action,
                     jzx_outcome outcome);

void jzx__trace_deinit(struct jzx_processor *processor);

#endif
