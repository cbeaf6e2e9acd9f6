/* SPDX-License-Identifier: MIT */
/* Carrying commands out: the middleware, then the command itself. The runner's. */
#ifndef JZX_COMMAND_EXECUTE_H
#define JZX_COMMAND_EXECUTE_H

#include "command/subject.h"

/* Carries out the queue until it is empty, a Terminate that is due included: a tick. */
void jzx__tick_run(struct jzx_processor *processor);

/* A reservation becomes an actor. The error of its create, of its fiber, or of memory: then it is
 * gone. */
jzx_err jzx__subject_spawn(struct jzx_processor *processor, struct jzx__subject *subject,
                           const void *config, size_t len);

/* Takes an actor or a reservation out of the registry, and ends it. */
void jzx__subject_remove(struct jzx_processor *processor, struct jzx__subject *subject);

/* Removes all, and drops what is queued. */
void jzx__subjects_clear(struct jzx_processor *processor);

#endif
