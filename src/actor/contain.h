/* SPDX-License-Identifier: MIT */
/* Fault containment: what a fault in the code of an actor means for it. base/fault.h catches it. */
#ifndef JZX_ACTOR_CONTAIN_H
#define JZX_ACTOR_CONTAIN_H

#include "base/fault.h"

#include <stdbool.h>

struct jzx__turn;
struct jzx_loop;

extern const struct jzx__fault_ops jzx__contain_ops;

/* With a loop that config.contain asks it for. False if it cannot be had. */
bool jzx__contain_open(struct jzx_loop *loop);
void jzx__contain_close(struct jzx_loop *loop);

/* The turn was left by a jump: if by a fault, says so in its exit_text. On its thread. */
void jzx__contain_explain(struct jzx__turn *turn);

/* A cleanup was left by a jump: the log says why. */
void jzx__contain_log_cleanup(struct jzx__turn *turn);

/* The stack of a fault, or of a behaviour that does not return: one line, as much as fits. Nothing
 * without addresses. */
void jzx__contain_log_stack(struct jzx_loop *loop, void *const *stack, size_t count);

#endif
