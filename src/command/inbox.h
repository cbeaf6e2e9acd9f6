/* SPDX-License-Identifier: MIT */
/* The inbox of an async actor, its fiber, and the way back. */
#ifndef JZX_COMMAND_INBOX_H
#define JZX_COMMAND_INBOX_H

#include "command/subject.h"

/* Starts the fiber, unless this is a replay. Errors of jzx_spawn, JZX_ERR_NO_MEMORY. */
jzx_err jzx__inbox_open(struct jzx_inbox *inbox);

/* The actor is removed: nothing more goes in or comes out, and its fiber is killed. */
void jzx__inbox_close(struct jzx_inbox *inbox);

/* A copy of the message for the fiber. JZX_ERR_NO_MEMORY. */
jzx_err jzx__inbox_push(struct jzx_inbox *inbox, const jzx_action *msg);

/* The same of a message whose data is a command, which is copied with its own data. */
jzx_err jzx__inbox_push_command(struct jzx_inbox *inbox, const jzx_action *msg);

/* Gives a roll back as one input if that generation of the inbox still counts, and empties it.
 * JZX_ERR_CLOSED: it does not, and the roll is empty, too. JZX_ERR_NO_MEMORY: it is as it was. */
jzx_err jzx__inbox_give(struct jzx_inbox *inbox, struct jzx__roll *roll, uint64_t generation);

/* The generation that counts from now on. */
uint64_t jzx__inbox_advance(struct jzx_inbox *inbox);

#endif
