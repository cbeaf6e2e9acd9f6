/* SPDX-License-Identifier: MIT */
/* Exec: a process whose result somebody waits for. */
#ifndef JZX_PROCESS_EXEC_H
#define JZX_PROCESS_EXEC_H

#include "process/process.h"

/* The handler of JZX_COMMAND_EXEC. */
jzx_err jzx__exec_handle(jzx_context *ctx, const jzx_command *command, void *data);

/* The process has ended: gives its result, or the error in its place, to who waits for it. */
void jzx__exec_tell(struct jzx__worker *me, struct jzx__process *process,
                    const struct jzx__ending *ending);

#endif
