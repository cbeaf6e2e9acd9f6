/* SPDX-License-Identifier: MIT */
/* The registry of command handlers of a loop, and the life of a command.
 *
 *   R1  a handler is never changed or removed once it is there, so that a pointer to it is good for
 *       the life of the loop.
 *   R2  while the registry is not frozen, its pages are written and read under its lock; frozen, it
 *       is not written any more, and read without. */
#ifndef JZX_PROCESS_COMMANDS_H
#define JZX_PROCESS_COMMANDS_H

#include "base/lock.h"
#include "process/process.h"

#define JZX__COMMAND_PAGE 256u

struct jzx__command_page {
    jzx_command_handler handlers[JZX__COMMAND_PAGE]; /* handle is NULL: none */
};

struct jzx__commands {
    struct jzx__lock lock;
    _Atomic uint32_t is_frozen;                         /* Decides; set under the lock, once */
    struct jzx__command_page *pages[JZX__COMMAND_PAGE]; /* by the high byte; NULL: none. The first
                                                         * is always there */
    _Atomic uint32_t process_count;                     /* a gauge, written by any thread */
};

/* Without handlers yet; those below JZX_COMMAND_CUSTOM are put into jzx__commands_first before the
 * loop is used. False without memory. */
bool jzx__commands_open(struct jzx_loop *loop);
jzx_command_handler *jzx__commands_first(const struct jzx_loop *loop);
void jzx__commands_close(struct jzx_loop *loop);

/* NULL: there is none. Any thread. */
const jzx_command_handler *jzx__command_find(struct jzx_loop *loop, uint16_t command);

/* Begins the commands of a step, in the turn of the process and outside of the bracket. Those that
 * could not begin stay in the out, with their error (P4). */
void jzx__commands_dispatch(jzx_context *ctx, struct jzx__process *process);

/* Cancels all commands of the process, in its turn: it goes on with another epoch. False: the turn
 * has lost its worker, and nothing was done. */
bool jzx__commands_cancel(jzx_context *ctx, const struct jzx__process *process);

/* True if the operation is a command. */
bool jzx__op_is_command(const struct jzx__op *op);

/* Of an EXEC that is under way and that nobody can complete yet: who will, and is killed if that is
 * in vain. */
void jzx__command_set_child(struct jzx_loop *loop, jzx_op ref, jzx_actor_id child);

/* In the turn that has begun the command: another operation stands for it from now on, and its own
 * is gone; *is_cancelled says whether somebody has asked for its cancel. False: it is complete. */
bool jzx__command_replace(struct jzx__own *own, jzx_op ref, bool *is_cancelled);

/* As jzx_command_complete, inside. JZX_ERR_NO_SUCH_OP, JZX_ERR_NO_MEMORY. */
jzx_err jzx__command_finish(struct jzx_loop *loop, struct jzx__worker *me, jzx_op ref,
                            const void *data, size_t len, jzx_err err);

#endif
